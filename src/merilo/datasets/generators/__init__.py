"""Items made to measure: the generated datasets in any size, the same bytes for the same seed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from random import Random
from types import MappingProxyType
from typing import Final, TypeAlias

from merilo.datasets.catalogue import CATALOGUE
from merilo.datasets.generators.arithmetic import rumodar, rumultiar, simplear
from merilo.datasets.generators.brackets import bps
from merilo.datasets.generators.question import Question
from merilo.datasets.generators.subsequences import lcs
from merilo.datasets.rendering import spread
from merilo.datasets.solvers import SOLVERS
from merilo.errors import UsageError
from merilo.items import Item

#: A generator draws so many questions from a source of randomness.
Generator: TypeAlias = Callable[[int, Random], Iterator[Question]]

GENERATORS: Final[Mapping[str, Generator]] = MappingProxyType(
    {
        "bps": bps,
        "lcs": lcs,
        "rumodar": rumodar,
        "rumultiar": rumultiar,
        "simplear": simplear,
    }
)


def generate(name: str, size: int, seed: int) -> list[Item]:
    """Make the items of a generated dataset.

    Args:
        name: one of `GENERATORS`, in any letter case.
        size: how many items.
        seed: where the randomness starts; the same seed gives the same items, to the byte.

    Returns:
        Items with ids from 1, the gold answers computed by the dataset's solver, its prompts spread evenly over them.

    Raises:
        UsageError: where the dataset is not a generated one, or cannot be so large.

    Example:
        >>> [item.outputs for item in generate("bps", 4, seed=1)].count("1")
        2
    """
    key = name.lower()
    if key not in GENERATORS:
        raise UsageError(f"'{name}' cannot be generated, only {', '.join(GENERATORS)}")
    if size < 1:
        raise UsageError(f"a dataset of {size} items cannot be made; ask for 1 or more")
    # The name is part of the seed, so that equal seeds do not tie datasets together.
    questions = GENERATORS[key](size, Random(f"{key} {seed}"))  # noqa: S311 - reproducible on purpose, not a secret
    solve = SOLVERS[key]
    items = [
        Item(
            id=number,
            instruction="",
            inputs=question.text,
            outputs=solve(question.text),
            meta={"id": number, **question.meta},
        )
        for number, question in enumerate(questions, start=1)
    ]
    return spread(items, CATALOGUE[key], seed=seed)
