"""Simulated annotators, for demonstrating and testing the pipeline. Their results do not describe real people."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from typing import Final

#: How the ids of simulated annotators begin; a baseline that meets such an id says that it is simulated.
SIMULATED_PREFIX: Final = "simulated-"


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of annotator.

    Attributes:
        name: its name, which is part of the annotators' ids.
        care: the probability of an honest attempt; otherwise a label is drawn at random.
        skill: the probability that an honest attempt at the easiest item is correct.
        seconds: the usual time for one item.
    """

    name: str
    care: float
    skill: float
    seconds: float


CAREFUL: Final = Kind("careful", care=1.0, skill=0.99, seconds=24.0)
HASTY: Final = Kind("hasty", care=0.9, skill=0.93, seconds=9.0)
GUESSING: Final = Kind("guessing", care=0.05, skill=0.6, seconds=2.5)


@dataclass(frozen=True, slots=True)
class SimulatedItem:
    """An item as the simulation needs it.

    Attributes:
        gold: the gold answer.
        labels: the labels from which a random answer is drawn.
        difficulty: from 0 (easiest) to 1 (an honest attempt is correct half as often).
    """

    gold: str
    labels: tuple[str, ...]
    difficulty: float = 0.0


def simulated_answer(item: SimulatedItem, kind: Kind, random: Random) -> str:
    """Draw an annotator's answer to an item.

    Args:
        item: the item.
        kind: the kind of annotator.
        random: the random generator.
    """
    if random.random() >= kind.care:
        return random.choice(item.labels)
    right = kind.skill * (1 - item.difficulty / 2)
    return item.gold if random.random() < right else near_miss(item.gold, item.labels, random)


def simulated_seconds(kind: Kind, random: Random) -> float:
    """Draw the time that an annotator takes for an item, in seconds: log-normal around the usual time."""
    return kind.seconds * random.lognormvariate(0, 0.35)


def near_miss(gold: str, labels: Sequence[str], random: Random) -> str:
    """Draw a counting error: off by one or two, rarely more; never the gold answer.

    Labels that are not numbers are drawn with equal probability.
    """
    others = [label for label in labels if label != gold]
    if not gold.isdecimal():
        return random.choice(others or [gold])
    wrong = [int(gold) + step for step in (-2, -1, -1, -1, 1, 1, 1, 2) if int(gold) + step >= 0]
    return random.choice([text for text in map(str, wrong) if text in labels] or others or [str(wrong[0])])
