"""Groups of people as arms of one study: lay people and experts, with and without tools or time, in one table."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from merilo.baselines.evidence import Evidence
from merilo.baselines.people_table import counted_points
from merilo.baselines.study_input import IN_MEMORY
from merilo.errors import DataError, InputError, UsageError, argument
from merilo.files import read_table
from merilo.people.uncertainty.annotator_accuracy import individuals
from merilo.people.uncertainty.two_way import (
    LEAST_ANNOTATORS,
    Ballots,
    ItemInfluences,
    answer_influences,
    as_many_each,
    groups_apart,
    influences,
    two_way,
)
from merilo.people.votes import Votes
from merilo.records import Ends, Number, Record, Span, rounded
from merilo.responses import Responses
from merilo.statistics import FloatArray
from merilo.statistics.crossed_difference import CrossedDifference
from merilo.statistics.paired_tests import holm
from merilo.text import Text
from merilo.wording import listed, shown

#: Columns of a table of arms.
_PERSON: Final = ("annotator", "respondent", "worker", "worker_id", "id")
_ARM: Final = ("arm", "group")
#: With more arms, the column rather names people.
MOST_ARMS: Final = 12
#: The source of a division in which every file is an arm.
ARM_FILES: Final = "files"


@dataclass(frozen=True, slots=True)
class ArmDivision:
    """Which annotator is in which arm.

    Attributes:
        source: where this is from: a file, a column of the exports, or the exports themselves (`ARM_FILES`).
        of: annotator -> arm.
    """

    source: str
    of: Mapping[str, str]

    def renamed(self, names: Mapping[str, str]) -> ArmDivision:
        """Return the division of annotators with other names; those without one are left out."""
        return ArmDivision(self.source, {names[who]: arm for who, arm in self.of.items() if who in names})


ArmSource: TypeAlias = str | Path | Mapping[str, str] | ArmDivision | None


class ArmValue(Record):
    """A metric of an arm."""

    value: Number = None
    over_both: Ends = None


class ArmEstimate(Record):
    """One arm, with its annotators' answers that count on items with gold.

    `single` is the expected score of one person, `consensus` that of the most votes of each item, ties shared.
    """

    arm: str
    annotators: int = 0
    answers: int = 0
    items: int = 0
    single: ArmValue = Field(default=ArmValue(), alias="single_person")
    consensus: ArmValue = ArmValue()


class PairValue(Record):
    """A difference between two arms, second minus first, over items and both arms' annotators.

    `p_holm` is corrected over all pairs; only the difference is given if an arm has too few annotators.
    """

    difference: Number = None
    over_both: Ends = None
    p: float | None = None
    p_holm: float | None = None


class ArmDifference(Record):
    """Two arms on the items that both answered: one person, and a majority of as many answers of either arm.

    Without common items there is no difference.
    """

    first: str
    second: str
    items: int = 0
    single: PairValue = PairValue()
    consensus: PairValue = PairValue()


class ArmDifferences(Record):
    """The pairs of arms of a baseline, and the names of arms without answers that count."""

    metric: str = ""
    differences: tuple[ArmDifference, ...] = ()
    without_answers: tuple[str, ...] = ()


class Arms(ArmDifferences):
    """The arms of a baseline, in the order of their names, and their pairs."""

    arms: tuple[ArmEstimate, ...] = ()


def arm_estimates(evidence: Evidence, of: Mapping[str, str]) -> Arms:
    """Compare the arms of a baseline with each other by the crossed test.

    Args:
        evidence: what the baseline of all answers rests on.
        of: mapping from annotator to arm.

    Raises:
        DataError: an annotator has no arm, there are not two arms with answers that count, no two arms share an item,
            or the metric is not a mean of the points of single answers.
    """
    judged = evidence.declaration.judged
    found = counted_points(evidence, scored=True)
    if isinstance(found, Text):
        raise DataError(f"arms cannot be compared: {found.en}")
    votes, score = found
    names = [str(name) for name in evidence.pool.everyone.annotators]
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
    apart = [_difference(sides[one], sides[other]) for one, other in pairs]
    if not any(apart):
        raise DataError(
            f"the arms {listed(arms, 5)} share no item: the columns that identify an item may differ between them"
        )
    single = _corrected([None if one is None else (one[0], one[2]) for one in apart])
    # Answers that were scored elsewhere have no consensus.
    consensus = _corrected([None if one is None or judged else (one[1], one[2]) for one in apart])
    return Arms(
        metric=evidence.declaration.metrics[0],
        arms=tuple(_estimate(name, *side, judged=judged) for name, side in zip(arms, sides, strict=True)),
        differences=tuple(
            ArmDifference(
                first=arms[one],
                second=arms[other],
                items=pair[0].n if (pair := apart[at]) else 0,
                single=single[at],
                consensus=consensus[at],
            )
            for at, (one, other) in enumerate(pairs)
        ),
        without_answers=tuple(sorted(set(of.values()) - set(arms))),
    )


def _estimate(name: str, votes: Votes, score: FloatArray, *, judged: bool) -> ArmEstimate:
    single, crowd = individuals(votes, score), two_way(votes, score, resamples=0)
    enough = single.annotators >= LEAST_ANNOTATORS
    return ArmEstimate(
        arm=name,
        annotators=single.annotators,
        answers=single.answers,
        items=single.items,
        single_person=ArmValue(value=single.mean, over_both=Span.of(single.interval if enough else None)),
        consensus=ArmValue()
        if judged
        else ArmValue(value=crowd.value, over_both=Span.of(crowd.interval if enough else None)),
    )


def _difference(
    first: tuple[Votes, FloatArray], second: tuple[Votes, FloatArray]
) -> tuple[CrossedDifference, CrossedDifference, bool] | None:
    """Return the difference of one person and of a majority of as many answers, and whether they have intervals.

    They are on the common items; `None` without any.
    """
    common: NDArray[np.bool_] = np.logical_and(
        *(np.bincount(votes.item, minlength=votes.items) > 0 for votes, _ in (first, second))
    )
    if not common.any():
        return None
    sides = [(votes.where(common[votes.item]), score[common[votes.item]]) for votes, score in (first, second)]
    clusters = first[0].cluster
    people = [(votes, _person_influence(votes, score)) for votes, score in sides]
    chosen = as_many_each(sides[0][0], sides[1][0])
    fewer = [(votes.where(mask), score[mask]) for (votes, score), mask in zip(sides, chosen, strict=True)]
    crowds = [(votes, influences(votes, score, unseen=np.zeros(votes.items))) for votes, score in fewer]
    *_, single = groups_apart(people[0], people[1], clusters=clusters)
    *_, majority = groups_apart(crowds[0], crowds[1], clusters=clusters)
    enough = min(np.unique(votes.annotator).shape[0] for votes, _ in fewer) >= LEAST_ANNOTATORS
    return single, majority, enough


def _person_influence(votes: Votes, score: FloatArray) -> ItemInfluences:
    """Return the influence of every answer on the expected score of one answer to each item."""
    ballots = Ballots.of(votes, score, np.ones(len(votes)), np.zeros(votes.items))
    of_item = (ballots.totals * ballots.worth).sum(axis=1) / ballots.totals.sum(axis=1)
    value = float(of_item.mean())

    def pulls(rows: slice) -> FloatArray:
        totals, worth = ballots.alternatives(rows)
        return np.asarray((totals * worth).sum(axis=-1) / totals.sum(axis=-1) - value)

    answer, guess = answer_influences(votes, ballots, of_item - value, pulls)
    none = np.zeros(len(votes))
    return ItemInfluences(value, of_item.shape[0], of_item - value, answer, ballots.place, guess, none)


def _corrected(pairs: Sequence[tuple[CrossedDifference, bool] | None]) -> list[PairValue]:
    """Return the differences of one kind, with Holm's correction over the pairs that are tested."""
    tested = [at for at, pair in enumerate(pairs) if pair is not None and pair[1]]
    p_holm = dict(zip(tested, holm([one[0].p for at in tested if (one := pairs[at])]), strict=True))
    values = []
    for at, pair in enumerate(pairs):
        if pair is None:
            values.append(PairValue())
        elif at not in p_holm:
            values.append(PairValue(difference=pair[0].value))
        else:
            values.append(
                PairValue(
                    difference=pair[0].value,
                    over_both=Span.of(pair[0].interval()),
                    p=rounded(pair[0].p, 9),
                    p_holm=rounded(p_holm[at], 9),
                )
            )
    return values


def arms_of_files(responses: Responses) -> dict[str, str]:
    """Return the file of each annotator as their arm, such as the tables of answers of a study's arms.

    Raises:
        DataError: an annotator has answers in two files.
    """
    return _one_each(
        (str(who), Path(str(file)).stem)
        for who, file in responses.table.select("respondent", "file").unique(maintain_order=True).iter_rows()
    )


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


def arm_division(given: ArmSource, encoding: str | None = None) -> ArmDivision | None:
    """Return the division that an argument gives: a table of annotators and arms, a mapping, or a division.

    Raises:
        InputError: as `read_arms`.
        DataError: as `read_arms`.
        UsageError: the argument is none of these.
    """
    if given is None or isinstance(given, ArmDivision):
        return given
    if isinstance(given, str | Path):
        return ArmDivision(shown(Path(given)), read_arms(Path(given), encoding))
    if isinstance(given, Mapping):
        return ArmDivision(IN_MEMORY, {str(who): str(arm) for who, arm in given.items()})
    raise UsageError("takes a file or a mapping from annotator to arm", field=argument("arm"))


def _one_each(pairs: Iterable[tuple[str, str]]) -> dict[str, str]:
    found: dict[str, str] = {}
    for who, arm in pairs:
        if found.setdefault(who, arm) != arm:
            raise DataError(f"annotator {who} is in two arms: '{found[who]}' and '{arm}'")
    return found
