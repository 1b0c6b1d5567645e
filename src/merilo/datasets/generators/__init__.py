"""Generate datasets of any size; the same seed gives the same bytes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from random import Random
from types import MappingProxyType
from typing import Final, TypeAlias

from merilo.datasets.catalogue import CATALOGUE
from merilo.datasets.generators.arithmetic import rumodar, rumultiar, simplear
from merilo.datasets.generators.brackets import bps
from merilo.datasets.generators.question import GeneratedQuestion
from merilo.datasets.generators.subsequences import lcs
from merilo.datasets.rendering import spread
from merilo.datasets.solvers import SOLVERS
from merilo.errors import UsageError
from merilo.items import Item, Split

#: A generator draws a given number of questions with a random number generator.
Generator: TypeAlias = Callable[[int, Random], Iterator[GeneratedQuestion]]

GENERATORS: Final[Mapping[str, Generator]] = MappingProxyType(
    {
        "bps": bps,
        "lcs": lcs,
        "rumodar": rumodar,
        "rumultiar": rumultiar,
        "simplear": simplear,
    }
)

#: The largest number of items in one run: all items are held in memory.
LARGEST: Final = 1_000_000

#: How many times questions are drawn again if they repeat questions of the test.
_ROUNDS: Final = 20


def generate(name: str, size: int, seed: int) -> list[Item]:
    """Make the items of a generated dataset.

    Args:
        name: one of `GENERATORS`, in any letter case.
        size: how many items.
        seed: random seed; the same seed gives the same items, to the byte.

    Returns:
        Items with ids from 1, the gold answers computed by the dataset's solver, its prompts spread evenly over them.

    Raises:
        UsageError: the dataset is not a generated one, or cannot be so large.

    Example:
        >>> [item.outputs for item in generate("bps", 4, seed=1)].count("1")
        2
    """
    return list(generate_splits(name, size, seed)[0])


def generate_splits(name: str, size: int, seed: int, *, shots: int = 0) -> list[Split]:
    """Make a test, and shots that repeat none of its questions.

    Args:
        name: one of `GENERATORS`, in any letter case.
        size: how many items the test has.
        seed: random seed; the test is the same with and without shots.
        shots: how many items the shots have; their ids follow those of the test.

    Returns:
        The test, and the shots if any are wanted.

    Raises:
        UsageError: the dataset is not a generated one, or cannot be so large.

    Example:
        >>> [len(split) for split in generate_splits("lcs", 20, seed=1, shots=3)]
        [20, 3]
    """
    key = name.lower()
    if key not in GENERATORS:
        raise UsageError(f"'{name}' cannot be generated (choose from: {', '.join(GENERATORS)})")
    if size < 1 or shots < 0:
        raise UsageError(
            f"a dataset of {size} items and {shots} shots cannot be made: ask for at least 1 item"
        )
    if size + shots > LARGEST:
        raise UsageError(
            f"{size + shots} items are too many for one run: make at most {LARGEST} at once, with several seeds"
        )
    # The name is part of the seed, so that datasets with equal seeds are independent.
    test = list(GENERATORS[key](size, Random(f"{key} {seed}")))  # noqa: S311 - reproducible on purpose, not a secret
    splits = [Split("test", _items(key, test, 1, seed))]
    if shots:
        splits.append(Split("shots", _items(key, _fresh(key, shots, seed, test), size + 1, seed)))
    return splits


def _fresh(key: str, count: int, seed: int, test: Sequence[GeneratedQuestion]) -> list[GeneratedQuestion]:
    """Draw questions that are not in the test."""
    asked = {question.text for question in test}
    random = Random(f"{key} shots {seed}")  # noqa: S311 - as above
    found: dict[str, GeneratedQuestion] = {}
    for _ in range(_ROUNDS):
        drawn = (question for question in GENERATORS[key](count, random) if question.text not in asked)
        found |= {question.text: question for question in drawn}
        if len(found) >= count:
            return list(found.values())[:count]
    raise UsageError(f"the test leaves too few questions for {count} shots: ask for a smaller test")


def _items(key: str, questions: Sequence[GeneratedQuestion], first: int, seed: int) -> tuple[Item, ...]:
    """Make items with the solver's answers, and assign prompts evenly."""
    solve = SOLVERS[key]
    items = [
        Item(
            id=number,
            instruction="",
            inputs=question.text,
            outputs=solve(question.text),
            meta={"id": number, **question.meta},
        )
        for number, question in enumerate(questions, start=first)
    ]
    return tuple(spread(items, CATALOGUE[key], seed=seed))
