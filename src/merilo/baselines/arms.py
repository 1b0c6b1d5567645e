"""Groups of people as arms of one study: lay people and experts, with and without tools or time, in one table."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from merilo.baselines.panel import counted_points
from merilo.baselines.pipeline import Baseline
from merilo.errors import DataError, InputError
from merilo.files import read_table
from merilo.people.uncertainty.annotator_accuracy import individuals
from merilo.people.uncertainty.panel_curve import group_influence
from merilo.people.uncertainty.two_way import (
    LEAST_ANNOTATORS,
    as_many_each,
    groups_apart,
    influences,
    two_way,
)
from merilo.people.votes import Votes
from merilo.records import Span, rounded
from merilo.responses import Responses
from merilo.statistics import FloatArray
from merilo.statistics.crossed_difference import CrossedDifference
from merilo.statistics.intervals import Interval
from merilo.statistics.paired_tests import holm
from merilo.strict_json import Json
from merilo.text import Text
from merilo.wording import listed

#: Columns of a table of arms.
_PERSON: Final = ("annotator", "respondent", "worker", "worker_id", "id")
_ARM: Final = ("arm", "group")
#: With more arms, the column rather names people.
MOST_ARMS: Final = 12


@dataclass(frozen=True, slots=True)
class ArmEstimate:
    """One arm, with its people's answers that count on items with gold.

    Attributes:
        name: the arm.
        annotators: how many people answered.
        answers: their answers.
        items: the items that they answered.
        single: the expected score of one person, and its interval.
        consensus: the score of the most votes of each item, ties shared, and its interval.
    """

    name: str
    annotators: int
    answers: int
    items: int
    single: tuple[float, Interval | None]
    consensus: tuple[float, Interval | None]

    def to_json(self) -> dict[str, Json]:
        """Return the arm as JSON."""
        pairs: dict[str, Json] = {}
        for name, (value, interval) in (("single_person", self.single), ("consensus", self.consensus)):
            ends = Span.of(interval)
            pairs[name] = {
                "value": rounded(value),
                "ci95_items_and_annotators": [*ends] if ends else None,
            }
        return {
            "arm": self.name,
            "annotators": self.annotators,
            "answers": self.answers,
            "items": self.items,
            **pairs,
        }


@dataclass(frozen=True, slots=True)
class ArmDifference:
    """Two arms on the items that both answered, second minus first, over items and both arms' people.

    Attributes:
        first: the name of the first arm.
        second: the name of the second arm.
        single: the difference of one person.
        consensus: the difference of a majority of as many answers of either arm.
        corrected: the p-values of both after Holm's correction over all pairs, each kind by itself.
    """

    first: str
    second: str
    single: CrossedDifference
    consensus: CrossedDifference
    corrected: tuple[float, float]

    def to_json(self) -> dict[str, Json]:
        """Return the difference as JSON."""
        found: dict[str, Json] = {"first": self.first, "second": self.second, "items": self.single.n}
        for name, one, p in zip(
            ("single_person", "consensus"), (self.single, self.consensus), self.corrected, strict=True
        ):
            found[name] = {
                "difference": rounded(one.value),
                "ci95_items_and_annotators": [*(Span.of(one.interval()) or ())],
                "p": rounded(one.p, 9),
                "p_holm": rounded(p, 9),
            }
        return found


@dataclass(frozen=True, slots=True)
class Arms:
    """The arms of a baseline.

    Attributes:
        metric: the metric.
        arms: the arms, by name.
        differences: each pair of arms.
    """

    metric: str
    arms: tuple[ArmEstimate, ...]
    differences: tuple[ArmDifference, ...]

    def to_dict(self) -> dict[str, Json]:
        """Return the arms as JSON."""
        return {
            "metric": self.metric,
            "arms": [one.to_json() for one in self.arms],
            "differences": [one.to_json() for one in self.differences],
        }


def arm_estimates(baseline: Baseline, of: Mapping[str, str]) -> Arms:
    """Compare the arms of a baseline with each other by the crossed test.

    Args:
        baseline: the baseline of all answers.
        of: mapping from annotator to arm.

    Raises:
        DataError: an annotator has no arm, there are not two arms with answers that count, two arms share no item, or
            the metric is not a mean of the points of single answers.
    """
    found = counted_points(baseline)
    if isinstance(found, Text):
        raise DataError(f"arms cannot be compared: {found.en}")
    votes, score = found
    names = [str(name) for name in baseline.pool.everyone.annotators]
    present = {names[code] for code in np.unique(votes.annotator).tolist()}
    if without := sorted(present - set(of)):
        raise DataError(f"{len(without)} of {len(present)} annotators have no arm ({listed(without, 5)})")
    arms = sorted({of[name] for name in present})
    if not 2 <= len(arms) <= MOST_ARMS:
        raise DataError(
            f"takes 2 to {MOST_ARMS} arms with answers that count, not {len(arms)} ({listed(arms, 5)})"
        )
    code = np.array([arms.index(of[name]) if name in present else -1 for name in names])
    sides = [
        (votes.where(inside), score[inside])
        for inside in (code[votes.annotator] == at for at in range(len(arms)))
    ]
    pairs = list(combinations(range(len(arms)), 2))
    apart = [_difference(sides[one], sides[other], arms[one], arms[other]) for one, other in pairs]
    single = holm([one.p for one, _ in apart])
    consensus = holm([one.p for _, one in apart])
    return Arms(
        baseline.declaration.metrics[0],
        tuple(_estimate(name, *side) for name, side in zip(arms, sides, strict=True)),
        tuple(
            ArmDifference(arms[one], arms[other], *apart[at], (single[at], consensus[at]))
            for at, (one, other) in enumerate(pairs)
        ),
    )


def _estimate(name: str, votes: Votes, score: FloatArray) -> ArmEstimate:
    single, crowd = individuals(votes, score), two_way(votes, score, resamples=0)
    enough = single.annotators >= LEAST_ANNOTATORS
    return ArmEstimate(
        name,
        single.annotators,
        single.answers,
        single.items,
        (single.mean, single.interval if enough else None),
        (crowd.value, crowd.interval if enough else None),
    )


def _difference(
    first: tuple[Votes, FloatArray], second: tuple[Votes, FloatArray], name: str, other: str
) -> tuple[CrossedDifference, CrossedDifference]:
    """Return the difference of one person and of a majority of as many answers, on the common items."""
    common: NDArray[np.bool_] = np.logical_and(
        *(np.bincount(votes.item, minlength=votes.items) > 0 for votes, _ in (first, second))
    )
    if not common.any():
        raise DataError(
            f"the arms '{name}' and '{other}' share no item: the columns that identify an item may differ between them"
        )
    sides = [(votes.where(common[votes.item]), score[common[votes.item]]) for votes, score in (first, second)]
    clusters = first[0].cluster
    people = [(votes, group_influence(votes, score, 1)) for votes, score in sides]
    chosen = as_many_each(sides[0][0], sides[1][0])
    fewer = [(votes.where(mask), score[mask]) for (votes, score), mask in zip(sides, chosen, strict=True)]
    crowds = [(votes, influences(votes, score, unseen=np.zeros(votes.items))) for votes, score in fewer]
    *_, single = groups_apart(people[0], people[1], clusters=clusters)
    *_, majority = groups_apart(crowds[0], crowds[1], clusters=clusters)
    return single, majority


def arms_of_files(responses: Responses) -> dict[str, str]:
    """Return the file of each annotator as their arm, such as the tables of answers of a study's arms.

    Raises:
        DataError: an annotator has answers in two files.
    """
    return _one_each(
        (str(who), Path(str(file)).stem)
        for who, file in responses.table.select("respondent", "file").unique(maintain_order=True).iter_rows()
    )


def arms_of_column(responses: Responses) -> dict[str, str]:
    """Return the arm of each annotator, from the same files read with the column of arms as the answers.

    Raises:
        DataError: an annotator has two arms.
    """
    rows = responses.table.select("respondent", "answer").drop_nulls().unique(maintain_order=True)
    return _one_each((str(who), str(arm)) for who, arm in rows.iter_rows())


def read_arms(path: Path, encoding: str | None = None) -> dict[str, str]:
    """Read a table of annotators and their arms.

    Args:
        path: a delimited file with the columns `annotator` and `arm`.
        encoding: the encoding, if it is not UTF-8 and has no byte order mark.

    Raises:
        InputError: a column is missing, or a cell is empty.
        DataError: an annotator has two arms.
    """
    table = read_table(path, encoding=encoding).data
    columns = []
    for known in (_PERSON, _ARM):
        there = [name for name in known if name in table.columns]
        if not there:
            raise InputError(
                f"there is no column of this name (expected one of: {', '.join(known)})",
                file=path,
                field=known[0],
            )
        columns.append(there[0])
    pairs = []
    for row, (who, arm) in enumerate(table.select(columns).iter_rows(), start=2):
        if not str(who or "").strip() or not str(arm or "").strip():
            raise InputError("the annotator or the arm is empty", file=path, row=row)
        pairs.append((str(who).strip(), str(arm).strip()))
    return _one_each(pairs)


def _one_each(pairs: Iterable[tuple[str, str]]) -> dict[str, str]:
    found: dict[str, str] = {}
    for who, arm in pairs:
        if found.setdefault(who, arm) != arm:
            raise DataError(f"annotator {who} is in two arms: '{found[who]}' and '{arm}'")
    return found
