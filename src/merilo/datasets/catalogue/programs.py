"""Programs to be written from their description."""

from __future__ import annotations

from typing import Final

from merilo.datasets.catalogue.sources import solvable
from merilo.datasets.declaration import Answer, Dataset

_PASS: Final = ("pass@1", "pass@5", "pass@10")
_STOP: Final = ("\nclass", "\ndef", "\n#", "\nif", "\nprint")

RUHUMANEVAL: Final = Dataset(
    name="ruhumaneval",
    title="ruHumanEval",
    about="A Python function to be written from its signature and description",
    fields=("function", "tests"),
    hidden=("tests",),
    answer=Answer(kind="program"),
    metrics=_PASS,
    stop=_STOP,
    splits=("test",),
    sizes={"1.0": 164, "1.2": 164},
    skills=("Expert domain knowledge",),
    human=tuple(map(solvable, _PASS)),
)

RUCODEEVAL: Final = Dataset(
    name="rucodeeval",
    title="ruCodeEval",
    about="A Python function to be written from its signature and description, problems kept closed",
    fields=("function", "tests"),
    hidden=("tests",),
    answer=Answer(kind="program"),
    metrics=_PASS,
    stop=_STOP,
    sizes={"1.2": 164},
    in_total=True,
    gold="closed",
    skills=("Expert domain knowledge",),
    human=tuple(map(solvable, _PASS)),
)

DATASETS: Final = (RUHUMANEVAL, RUCODEEVAL)
