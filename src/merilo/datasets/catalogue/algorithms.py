"""Brackets, subsequences and arithmetic: answers that a program can compute."""

from __future__ import annotations

from typing import Final

from merilo.datasets.catalogue.sources import measured, measured_as_accuracy
from merilo.datasets.declaration import Answer, Dataset, Shots

BPS: Final = Dataset(
    name="bps",
    title="BPS",
    about="Whether a sequence of brackets is balanced",
    pool_fields={"inputs": ("parentheses",)},
    answer=Answer(kind="choice", labels=("0", "1")),
    metrics=("acc",),
    shots=Shots(count=1),
    sizes={"1.0": 1000, "1.2": 1000},
    skills=("Common domain knowledge",),
    human=(measured("acc", 1.0, 100),),
)

LCS: Final = Dataset(
    name="lcs",
    title="LCS",
    about="The length of the longest common subsequence of two words",
    pool_fields={"inputs": ("string1", "string2")},
    answer=Answer(kind="choice", labels=tuple("0123456789")),
    metrics=("acc",),
    shots=Shots(count=1),
    splits=("public_test", "test"),
    sizes={"1.0": 500, "1.2": 500},
    in_total=True,
    gold="closed",
    skills=("Common domain knowledge",),
    human=(measured("acc", 0.704, 54),),
)

RUMODAR: Final = Dataset(
    name="rumodar",
    title="ruModAr",
    about="An operation to be found in five solved lines and applied to a sixth",
    answer=Answer(kind="integer"),
    metrics=("em",),
    splits=("public_test", "test"),
    sizes={"1.0": 6000, "1.2": 6000},
    in_total=True,
    gold="closed",
    skills=("Common domain knowledge",),
    human=(measured_as_accuracy(0.999, 1794),),
)

RUMULTIAR: Final = Dataset(
    name="rumultiar",
    title="ruMultiAr",
    about="The value of an expression of several operations and brackets",
    answer=Answer(kind="integer"),
    metrics=("em",),
    shots=Shots(count=1),
    sizes={"1.0": 1024, "1.2": 1024},
    in_total=True,
    gold="closed",
    skills=("Common domain knowledge",),
    human=(measured_as_accuracy(1.0, 519),),
)

SIMPLEAR: Final = Dataset(
    name="simplear",
    title="SimpleAr",
    about="The sum of two numbers",
    answer=Answer(kind="integer"),
    metrics=("em",),
    shots=Shots(count=2),
    sizes={"1.0": 1000, "1.2": 1000},
    skills=("Common domain knowledge",),
    human=(measured_as_accuracy(1.0, 200),),
)

DATASETS: Final = (BPS, LCS, RUMODAR, RUMULTIAR, SIMPLEAR)
