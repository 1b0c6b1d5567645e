"""What follows from all answers of a study: agreement, the people's work, pay. It takes time, so it is computed only after a change."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import isfinite
from typing import Final, Literal, TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray
from sqlalchemy import ColumnElement, Connection, and_, func, literal_column, select

from merilo.baselines.steps import agreement_of, without_majority
from merilo.errors import DataError
from merilo.people.collection_design import asked_by_design
from merilo.people.cost import Cost, cost
from merilo.people.decision import pool_votes
from merilo.people.quality.controls import judged_annotators
from merilo.people.quality.peers import sharing
from merilo.people.quality.work import StudyWork, study_work
from merilo.responses import Responses
from merilo.site.answer_export import answer_reward
from merilo.site.collected_responses import (
    AnsweredTasks,
    SitePerson,
    TaskColumns,
    comparable_responses,
    planned_settings,
    read_answers,
    responses_of,
    skipped_texts,
)
from merilo.site.schema import ERASED, OPEN, PERSON, RESPONSE
from merilo.site.served_study import ServedStudy
from merilo.site.speed_flags import SpeedFlag, speed_flags
from merilo.statistics.intervals import wilson

#: Why there is no agreement yet.
NoAgreement: TypeAlias = Literal["", "no_answers", "all_below", "programs"]


@dataclass(frozen=True, slots=True)
class CollectedAgreement:
    """The agreement of the answers that the baseline would count now.

    Attributes:
        alpha: Krippendorff's alpha; `None` if it is not defined.
        low_agreement: the share of answered items without a majority; `None` without answers that count.
        most_low_agreement: the share above which the plan rejects the baseline.
        answers: answers to items of the test in the table of collected answers, without skipped ones.
        counted: those of people whom the baseline would not exclude.
        why: why there is no agreement.
    """

    alpha: float | None
    low_agreement: float | None
    most_low_agreement: float
    answers: int
    counted: int
    why: NoAgreement = ""


@dataclass(frozen=True, slots=True)
class PersonFigures:
    """The work of one person.

    Attributes:
        id: the number in the database.
        pseudonym: the name under which the answers are exported.
        source: how the person came in.
        stage: what comes next for the person.
        reason: why the person was stopped or excluded.
        answers: answers to items of the test, without skipped ones.
        skipped: skipped items of the test.
        controls: answers to control items.
        controls_right: right answers to control items.
        control_low: the lower bound of Wilson's 95 % interval of the accuracy on control items; `None` without them.
        control_high: the upper bound.
        median_seconds: the median time of an answer; `None` without answers.
        agreement: the mean share of the others who gave the same answer; `None` if nobody else answered the same items.
        compared: the items that others answered too.
        flag: suspicious speed; `None` without it.
        stored_flag: what the database says about it.
        earned: the pay of all answers; `None` while the pay is not decided.
        last_seen: when the person last got or answered a task, or came in, in milliseconds since 1970.
    """

    id: int
    pseudonym: str
    source: str
    stage: str
    reason: str | None
    answers: int
    skipped: int
    controls: int
    controls_right: int
    control_low: float | None
    control_high: float | None
    median_seconds: float | None
    agreement: float | None
    compared: int
    flag: SpeedFlag | None
    stored_flag: str | None
    earned: float | None
    last_seen: int

    @property
    def control_accuracy(self) -> float | None:
        """The accuracy on control items; `None` without them."""
        return self.controls_right / self.controls if self.controls else None


@dataclass(frozen=True, slots=True)
class CollectedFigures:
    """What follows from all answers.

    Attributes:
        agreement: the agreement of the answers that the baseline would count now.
        people: the people, those with most answers first.
        paid: pay and time of all answers, also of people who were stopped or excluded; `None` without answers.
        collected: pay and time of the table of collected answers, as `merilo study status` tells them after its import; `None` without
            answers.
        times: shape (n,), when the answers to items of the test came that hold a place of their task, in milliseconds since 1970.
    """

    agreement: CollectedAgreement
    people: tuple[PersonFigures, ...]
    paid: Cost | None
    collected: Cost | None
    times: NDArray[np.int64]


def people_of(connection: Connection, study: ServedStudy) -> dict[int, SitePerson]:
    """Read the people of a study by their numbers, without erased ones."""
    columns = (
        PERSON.c.id, PERSON.c.pseudonym, PERSON.c.source, PERSON.c.stage, PERSON.c.reason, PERSON.c.controls,
        PERSON.c.controls_right, PERSON.c.flagged, PERSON.c.created,
    )  # fmt: skip
    here = and_(PERSON.c.study == study.rules.study, PERSON.c.stage != ERASED)
    rows = connection.execute(select(*columns).where(here)).all()
    return {row.id: SitePerson(*row) for row in rows}


def collected_figures(connection: Connection, study: ServedStudy, tasks: TaskColumns) -> CollectedFigures:
    """Compute what follows from all answers.

    Args:
        connection: a transaction that reads.
        study: the registered study.
        tasks: its tasks, from `task_columns`.
    """
    people = people_of(connection, study)
    answers = read_answers(connection, study, people)
    table = answers.table
    latest = (
        select(RESPONSE.c.person, func.max(RESPONSE.c.given).label("given"))
        .where(open_responses(study))
        .group_by(RESPONSE.c.person)
    )
    opened = {row.person: row.given for row in connection.execute(latest)}
    collected = table.filter(pl.col("left_out") == "")
    everything = _read(study, table, tasks)
    kept = everything if collected.height == table.height else _read(study, collected, tasks)
    holding = table.filter(pl.col("counts") & (pl.col("task") < study.rules.tests))
    return CollectedFigures(
        _agreement(study, kept, collected),
        _people(study, answers, everything, tasks, opened),
        None if everything is None else everything.paid,
        None if kept is None else kept.paid,
        holding["answered"].to_numpy(),
    )


def open_responses(study: ServedStudy) -> ColumnElement[bool]:
    """Select the tasks of a study that were given and not answered.

    The sum keeps SQLite from searching all responses of the study: the index of open responses is much smaller.
    """
    return and_(RESPONSE.c.study + 0 == study.rules.study, RESPONSE.c.state == literal_column(f"'{OPEN}'"))


@dataclass(frozen=True, slots=True)
class _Read:
    """Answers as responses.

    Attributes:
        responses: as they were given.
        same: with one spelling for equal answers; `None` if the answers are programs.
        paid: their pay and time.
    """

    responses: Responses
    same: Responses | None
    paid: Cost


def _read(study: ServedStudy, table: pl.DataFrame, tasks: TaskColumns) -> _Read | None:
    if not table.height:
        return None
    try:
        responses = responses_of(study, table, tasks)
    except DataError:  # every answer is blank
        return None
    # Programs are run in the baseline; as texts they cannot be compared.
    programs = study.declared.answer.kind == "program"
    same = None if programs else comparable_responses(study, responses, tasks)
    return _Read(responses, same, cost(responses, study.arm.pay.currency))


def _agreement(study: ServedStudy, kept: _Read | None, collected: pl.DataFrame) -> CollectedAgreement:
    most = study.folder.plan.baseline.max_low_agreement
    tests = collected.filter(pl.col("task") < study.rules.tests)
    given = tests.filter(~pl.col("answer").is_in(skipped_texts(tests["answer"])))
    empty = CollectedAgreement(None, None, most, given.height, 0)
    if kept is None or not tests.height:
        return replace(empty, why="no_answers")
    if (same := kept.same) is None:
        return replace(empty, why="programs", counted=given.height)
    settings = planned_settings(study)
    try:
        judged = judged_annotators(
            same, min_control_accuracy=settings.min_control_accuracy, min_controls=settings.min_controls
        )
    except DataError:
        return replace(empty, why="all_below")
    pool = pool_votes(same, judged, settings.design)
    alpha = agreement_of(pool, settings, intervals=False).krippendorff_alpha
    items = same.table.filter(~pl.col("is_control"))["item"].n_unique()
    _, undecided = without_majority(pool, settings, items)
    out = judged.filter("excluded")["annotator"].to_list()
    return CollectedAgreement(
        alpha if isfinite(alpha) else None,
        undecided / items,
        most,
        given.height,
        given.filter(~pl.col("pseudonym").is_in(out)).height,
    )


def _people(
    study: ServedStudy,
    answers: AnsweredTasks,
    read: _Read | None,
    tasks: TaskColumns,
    opened: Mapping[int, int | None],
) -> tuple[PersonFigures, ...]:
    table = answers.table
    test = pl.col("task") < study.rules.tests
    skipped = test & pl.col("answer").is_in(skipped_texts(table["answer"]))
    done = {
        who: rest
        for who, *rest in table.group_by("person")
        .agg((test & ~skipped).sum().alias("answers"), skipped.sum().alias("skipped"), pl.len(), pl.col("answered").max())
        .iter_rows()
    }  # fmt: skip
    seconds, shares, flags = _compared(study, read, tasks)
    reward = answer_reward(study)
    found = []
    for number, one in answers.people.items():
        given, skips, rows, latest = done.get(number, (0, 0, 0, None))
        bounds = wilson(one.controls_right, one.controls) if one.controls else None
        share, compared = shares.get(one.pseudonym, (None, 0))
        found.append(
            PersonFigures(
                number, one.pseudonym, one.source, one.stage, one.reason, given, skips, one.controls, one.controls_right,
                bounds.low if bounds else None, bounds.high if bounds else None, seconds.get(one.pseudonym), share, compared,
                flags.get(one.pseudonym), one.flagged, None if reward is None else round(rows * reward, 6),
                max(one.created, latest or 0, opened.get(number) or 0),
            )
        )  # fmt: skip
    return tuple(sorted(found, key=lambda one: (-one.answers, one.pseudonym)))


_Compared: TypeAlias = tuple[dict[str, float | None], dict[str, tuple[float, int]], dict[str, SpeedFlag]]


def _compared(study: ServedStudy, read: _Read | None, tasks: TaskColumns) -> _Compared:
    """Median seconds, agreement with the others and its items, and suspicious speed, each by pseudonym."""
    if read is None:
        return {}, {}, {}
    judged = judged_annotators(read.responses, min_control_accuracy=0.0)
    seconds = dict(judged.select("annotator", "median_seconds").iter_rows())
    if read.same is None:  # programs are not compared with each other
        return seconds, {}, _flags(study_work(read.responses), read.responses, tasks)
    work, design = study_work(read.same), planned_settings(study).design
    asked = None if design is None else asked_by_design(read.same, design)
    beside = sharing(replace(work.work, by_design=asked))
    person = work.work.votes.annotator[beside.row]
    items = np.bincount(person, minlength=len(work.annotators))
    sums = np.bincount(person, beside.share, len(work.annotators))
    shares = {
        name: (float(sums[code] / items[code]), int(items[code]))
        for code, name in enumerate(work.annotators)
        if items[code]
    }
    return seconds, shares, _flags(work, read.same, tasks)


def _flags(work: StudyWork, responses: Responses, tasks: TaskColumns) -> dict[str, SpeedFlag]:
    lengths = responses.items.join(tasks.table.drop("id"), on="code", how="left", maintain_order="left")
    length = (
        responses.table.select("item")
        .join(lengths.select("item", "length"), on="item", how="left", maintain_order="left")["length"]
        .to_numpy()
    )
    found = speed_flags(replace(work.work, characters=length))
    return {work.annotators[code]: flag for code, flag in found.items()}


_KEYS: Final[Mapping[str, Callable[[PersonFigures], str | float | None]]] = {
    "pseudonym": lambda one: one.pseudonym,
    "source": lambda one: one.source,
    "stage": lambda one: one.stage,
    "answers": lambda one: one.answers,
    "controls": lambda one: one.control_accuracy,
    "seconds": lambda one: one.median_seconds,
    "agreement": lambda one: one.agreement,
    "flag": lambda one: one.flag.times_faster if one.flag else None,
    "earned": lambda one: one.earned,
    "seen": lambda one: one.last_seen,
}

#: The columns by which people can be sorted.
SORTED_BY: Final = tuple(_KEYS)


def sorted_people(people: Sequence[PersonFigures], by: str, *, descending: bool) -> tuple[PersonFigures, ...]:
    """Sort people by a column; those without a value come last.

    Args:
        people: the people.
        by: a name of `SORTED_BY`.
        descending: whether large values come first.
    """
    key = _KEYS[by]
    known = [(value, one) for one in people if (value := key(one)) is not None]
    rest = [one for one in people if key(one) is None]
    known.sort(key=lambda pair: pair[0], reverse=descending)
    return (*(one for _, one in known), *rest)
