"""The built-in datasets: the 21 of the human-baseline table, and two that came with version 1.2 of the benchmark.

Formats, sizes and results are those of MERA (MIT licence).
"""

from __future__ import annotations

from types import MappingProxyType
from typing import Final

from merilo.datasets.catalogue import algorithms, ethics, knowledge, language, programs

#: Name -> declaration, in the alphabetical order of names.
CATALOGUE: Final = MappingProxyType(
    {
        declared.name: declared
        for declared in sorted(
            (
                *algorithms.DATASETS,
                *ethics.DATASETS,
                *knowledge.DATASETS,
                *language.DATASETS,
                *programs.DATASETS,
            ),
            key=lambda declared: declared.name,
        )
    }
)
