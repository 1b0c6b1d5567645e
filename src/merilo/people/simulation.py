"""Simulated annotators, for demonstrating and testing the pipeline. Their results do not describe real people.

The panel answers a pool as on the platform: a page has several items and one control item, the overlap sets how many
annotators answer each item, and no annotator gets an item twice.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from random import Random
from typing import Final, TypeAlias

from merilo.errors import UsageError

#: How the ids of simulated annotators begin; a baseline that meets such an id says that it is simulated.
SIMULATED_PREFIX: Final = "simulated-"

#: Draws the answer of a failed attempt: (gold answer, all labels, random generator) -> answer.
Slip: TypeAlias = Callable[[str, Sequence[str], Random], str]

_FIRST_PAGE: Final = datetime(2026, 1, 12, 9, 0)
_REWARD: Final = "0.0300000000"


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
        inputs: the text of each input column.
        gold: the gold answer.
        difficulty: from 0 (easiest) to 1 (an honest attempt is correct half as often).
    """

    inputs: tuple[str, ...]
    gold: str
    difficulty: float = 0.0


@dataclass(frozen=True, slots=True)
class Panel:
    """The simulated annotators and how the pool is arranged.

    Attributes:
        people: the number of annotators of each kind.
        overlap: how many annotators answer an item.
        page: the number of test items on a page; each page has one control item in addition.
    """

    people: tuple[tuple[Kind, int], ...] = ((CAREFUL, 14), (HASTY, 7), (GUESSING, 3))
    overlap: int = 5
    page: int = 2


def near_miss(gold: str, labels: Sequence[str], random: Random) -> str:
    """Draw a counting error: off by one or two, rarely more; never the gold answer.

    Labels that are not numbers are drawn with equal probability.
    """
    if not gold.isdecimal():
        return random.choice([label for label in labels if label != gold] or [gold])
    wrong = [int(gold) + step for step in (-2, -1, -1, -1, 1, 1, 1, 2) if int(gold) + step >= 0]
    return random.choice([text for text in map(str, wrong) if text in labels] or [str(wrong[0])])


def toloka_export(
    questions: Sequence[SimulatedItem],
    control_items: Sequence[SimulatedItem],
    *,
    columns: Sequence[str],
    answer: str,
    labels: Sequence[str],
    panel: Panel = Panel(),
    slip: Slip = near_miss,
    seed: int,
) -> str:
    """Simulate a panel's answers, in the format of a Toloka export.

    Args:
        questions: the items.
        control_items: the control items; every page has one, and their use is spread as evenly as possible.
        columns: the names of the input columns.
        answer: the name of the answer column.
        labels: the labels from which a random answer is drawn.
        panel: the simulated annotators.
        slip: draws the answer of a failed honest attempt.
        seed: the random seed; the same seed gives the same file.

    Returns:
        A TSV whose annotators' ids all begin with `simulated-`.

    Raises:
        UsageError: there are fewer annotators than the overlap, or no control items.
    """
    random = Random(seed)
    people = [(kind, number) for kind, count in panel.people for number in range(1, count + 1)]
    if len(people) < panel.overlap:
        raise UsageError(
            f"an overlap of {panel.overlap} needs at least as many annotators, not {len(people)}"
        )
    if not control_items:
        raise UsageError("the panel needs at least one control item")
    text = io.StringIO()
    writer = csv.writer(text, delimiter="\t", lineterminator="\n")
    writer.writerow([
        *(f"INPUT:{name}" for name in columns), f"OUTPUT:{answer}", f"GOLDEN:{answer}", "HINT:text",
        "ASSIGNMENT:assignment_id", "ASSIGNMENT:worker_id", "ASSIGNMENT:status", "ASSIGNMENT:started",
        "ASSIGNMENT:submitted", "ASSIGNMENT:reward",
    ])  # fmt: skip
    clock = dict.fromkeys(people, _FIRST_PAGE)
    met = dict.fromkeys(people, 0)
    pages = _pages(len(questions), panel, len(people), random)
    for number, (person, chosen) in enumerate(pages, start=1):
        kind, place = people[person]
        control = control_items[(person * 7 + met[kind, place]) % len(control_items)]
        met[kind, place] += 1
        shown = [(questions[index], False) for index in chosen]
        shown.insert(random.randrange(len(shown) + 1), (control, True))
        seconds = sum(kind.seconds * random.lognormvariate(0, 0.35) for _ in shown)
        started = clock[kind, place]
        submitted = started + timedelta(seconds=round(seconds, 3))
        clock[kind, place] = submitted + timedelta(seconds=random.randrange(2, 40))
        for question, is_control in shown:
            writer.writerow([
                *question.inputs,
                _reply(question, kind, labels, slip, random),
                question.gold if is_control else "",
                "",
                f"page-{number:05d}",
                f"{SIMULATED_PREFIX}{kind.name}-{place:02d}",
                "APPROVED",
                started.isoformat(timespec="milliseconds"),
                submitted.isoformat(timespec="milliseconds"),
                _REWARD,
            ])  # fmt: skip
    return text.getvalue()


def _pages(items: int, panel: Panel, people: int, random: Random) -> Iterator[tuple[int, list[int]]]:
    """Yield (annotator, items) of every page: `overlap` different annotators answer each item, with equal work."""
    groups = [list(range(start, min(start + panel.page, items))) for start in range(0, items, panel.page)]
    load = [0] * people
    pages = []
    for group in groups:
        ranked = sorted(range(people), key=lambda person: (load[person], random.random()))
        for person in ranked[: panel.overlap]:
            load[person] += 1
            pages.append((person, group))
    random.shuffle(pages)
    yield from pages


def _reply(question: SimulatedItem, kind: Kind, labels: Sequence[str], slip: Slip, random: Random) -> str:
    if random.random() >= kind.care:
        return random.choice(labels)
    right = kind.skill * (1 - question.difficulty / 2)
    return question.gold if random.random() < right else slip(question.gold, labels, random)
