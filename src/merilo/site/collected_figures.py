"""What follows from all answers of a study: agreement, the people's work and speed, pay.

It is computed only after a change.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import isfinite
from typing import Any, Final, Literal, TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray
from sqlalchemy import ColumnElement, Connection, Engine, Row, and_, func, literal_column, select

from merilo.baselines.consensus_scorer import declared, settings_for
from merilo.baselines.steps import agreement_of, without_majority
from merilo.errors import DataError
from merilo.people.cost import Cost, cost
from merilo.people.decision import pool_votes
from merilo.people.quality import READING_LIMIT, StudyWork, Work, study_work
from merilo.people.quality.controls import judged_annotators
from merilo.people.quality.peers import sharing
from merilo.people.recoding import settle
from merilo.people.spelling import may_be_mine, same_answers
from merilo.reports.study_status import StudyStatus, status_of
from merilo.responses import Responses
from merilo.settings import Settings
from merilo.site.answer_export import (
    SITE_TASK,
    answer_reward,
    collected_rows,
    read_answers,
    responses_of,
    table_rows,
)
from merilo.site.database import snapshot
from merilo.site.schema import ERASED, OPEN, PERSON, RESPONSE
from merilo.site.served_study import ServedStudy

#: Answers that a person gives before their speed is judged.
ENOUGH_ANSWERS: Final = 10

#: People with enough answers, without whom nobody is compared with the others.
ENOUGH_PEOPLE: Final = 5

#: A median time below so many seconds, and so many times below that of the median person, is suspicious.
HASTY_SECONDS: Final = 2.0
HASTY_FACTOR: Final = 3.0


@dataclass(frozen=True, slots=True)
class SpeedFlag:
    """Suspicious speed of one person.

    Attributes:
        times_faster: how many times faster than the median person.
        characters_per_second: the reading speed that the times imply, in characters a second, if it is faster
            than anyone can read; `None` otherwise.
        answers: the answers that were compared.
    """

    times_faster: float
    characters_per_second: float | None
    answers: int


def speed_flags(work: Work) -> dict[int, SpeedFlag]:
    """Find people whose speed is suspicious.

    A person with at least `ENOUGH_ANSWERS` answers is flagged for either of these:

    * at least `ENOUGH_PEOPLE` people can be compared, and their median time is below 2 seconds and at most a third of
      that of the median person;
    * in the median, more than `READING_LIMIT` characters a second.

    Args:
        work: the answers with their seconds and, if known, the length of the texts.

    Returns:
        Code of a person -> flag.

    References:
        J. Huang, P. Curran, J. Keeney, E. Poposki, R. DeShon (2012), Detecting and deterring insufficient
        effort responding to surveys. Journal of Business and Psychology 27, 99-114: 2 seconds for an item.
    """
    if work.seconds is None:
        return {}
    characters = np.full(len(work), np.nan) if work.characters is None else work.characters
    seconds = pl.col("seconds")
    people = (
        pl.DataFrame({"person": work.votes.annotator, "seconds": work.seconds, "length": characters})
        .filter(seconds.is_finite() & (seconds > 0))
        .group_by("person")
        .agg(answers=pl.len(), seconds=seconds.median(), speed=(pl.col("length") / seconds).median())
        .filter(pl.col("answers") >= ENOUGH_ANSWERS)
        .with_columns(faster=seconds.median() / seconds)
        .sort("person")
    )
    flags = {}
    for code, answers, median, speed, faster in people.iter_rows():
        impossible = speed > READING_LIMIT
        hasty = median < HASTY_SECONDS and faster >= HASTY_FACTOR
        if impossible or (people.height >= ENOUGH_PEOPLE and hasty):
            flags[code] = SpeedFlag(faster, speed if impossible else None, answers)
    return flags


def planned_settings(study: ServedStudy) -> Settings:
    """Return the settings of the baseline in the frozen plan."""
    return settings_for(study.declared, study.folder.plan.settings(study.arm))


def comparable_responses(study: ServedStudy, responses: Responses) -> Responses:
    """Bring equal answers to one spelling, as the baseline does.

    Raises:
        UsageError: the answers are programs, which are not compared as texts.
    """
    settings = planned_settings(study)
    asked = responses.items.select("item", SITE_TASK).iter_rows()
    types = {item: kind for item, task in asked if (kind := study.types.get(study.numbers[task])) is not None}
    dataset, least = declared(study.declared, settings), settings.min_control_score
    spelled, *_ = same_answers(responses, None, dataset, types, min_control_score=least, skip=False)
    return settle(spelled, settings.repeats)


def skipped_texts(answers: pl.Series) -> list[str]:
    """Return the distinct answers that mean "skip, it may be mine"."""
    return [text for text in answers.drop_nulls().unique().to_list() if may_be_mine(text)]


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
        person: the row of the table `person`.
        answers: answers to items of the test, without skipped ones.
        tasks: all answers, those to control items too.
        skipped: skipped items of the test.
        median_seconds: the median time of an answer; `None` without answers.
        agreement: the mean share of the others who gave the same answer; `None` if nobody else answered the same items.
        compared: the items that others answered too.
        flag: suspicious speed; `None` without it.
        earned: the pay of all answers; `None` while the pay is not decided.
        last_seen: when the person last got or answered a task, or came in, in milliseconds since 1970.
    """

    person: Row[Any]
    answers: int
    tasks: int
    skipped: int
    median_seconds: float | None
    agreement: float | None
    compared: int
    flag: SpeedFlag | None
    earned: float | None
    last_seen: int

    @property
    def pseudonym(self) -> str:
        """The name under which the answers are exported."""
        return str(self.person.pseudonym)

    @property
    def control_accuracy(self) -> float | None:
        """The accuracy on control items; `None` without them."""
        return self.person.controls_right / self.person.controls if self.person.controls else None


@dataclass(frozen=True, slots=True)
class CollectedFigures:
    """What follows from all answers.

    Attributes:
        agreement: the agreement of the answers that the baseline would count now.
        people: the people, those with most answers first.
        paid: pay and time of all answers, also of people who were stopped or excluded; `None` without answers.
        collected: pay and time of the table of collected answers, as `merilo study status` tells them after
            its import; `None` without answers.
        times: shape (n,), when the answers to items of the test came that hold a place of their task, in
            milliseconds since 1970.
    """

    agreement: CollectedAgreement
    people: tuple[PersonFigures, ...]
    paid: Cost | None
    collected: Cost | None
    times: NDArray[np.int64]


def collected_figures(connection: Connection, study: ServedStudy) -> CollectedFigures:
    """Compute what follows from all answers.

    Args:
        connection: a transaction that reads.
        study: the registered study.
    """
    here = and_(PERSON.c.study == study.rules.study, PERSON.c.stage != ERASED)
    people = connection.execute(select(PERSON).where(here)).all()
    table = read_answers(connection, study)
    latest = (
        select(RESPONSE.c.person, func.max(RESPONSE.c.given).label("given"))
        .where(open_responses(study))
        .group_by(RESPONSE.c.person)
    )
    opened = {row.person: row.given for row in connection.execute(latest)}
    collected = table.filter(pl.col("left_out") == "")
    everything = _read(study, table)
    kept = everything if collected.height == table.height else _read(study, collected)
    holding = table.filter(pl.col("counts") & (pl.col("task") < study.rules.tests))
    return CollectedFigures(
        _agreement(study, kept, collected),
        _people(study, people, table, everything, opened),
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


def _read(study: ServedStudy, table: pl.DataFrame) -> _Read | None:
    if not table.height:
        return None
    try:
        responses = responses_of(study, table_rows(study, table))
    except DataError:  # every answer is blank
        return None
    # Programs are run in the baseline; as texts they cannot be compared.
    programs = study.declared.answer.kind == "program"
    same = None if programs else comparable_responses(study, responses)
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
    pool = pool_votes(same, judged)
    alpha = agreement_of(pool, settings, interval=False).krippendorff_alpha
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
    people: Sequence[Row[Any]],
    table: pl.DataFrame,
    read: _Read | None,
    opened: Mapping[int, int | None],
) -> tuple[PersonFigures, ...]:
    test = pl.col("task") < study.rules.tests
    skipped = test & pl.col("answer").is_in(skipped_texts(table["answer"]))
    done = table.group_by("person").agg(
        (test & ~skipped).sum().alias("answers"),
        skipped.sum().alias("skipped"),
        pl.len().alias("all"),
        pl.col("answered").max().alias("latest"),
    )
    work = {row["person"]: row for row in done.iter_rows(named=True)}
    nothing = {"answers": 0, "skipped": 0, "all": 0, "latest": None}
    seconds, shares, flags = _compared(study, read)
    reward = answer_reward(study)
    found = []
    for person in people:
        own, name = work.get(person.id, nothing), person.pseudonym
        share, compared = shares.get(name, (None, 0))
        found.append(
            PersonFigures(
                person=person,
                answers=own["answers"],
                tasks=own["all"],
                skipped=own["skipped"],
                median_seconds=seconds.get(name),
                agreement=share,
                compared=compared,
                flag=flags.get(name),
                earned=None if reward is None else round(own["all"] * reward, 6),
                last_seen=max(person.created, own["latest"] or 0, opened.get(person.id) or 0),
            )
        )
    return tuple(sorted(found, key=lambda one: (-one.answers, one.pseudonym)))


_Compared: TypeAlias = tuple[dict[str, float | None], dict[str, tuple[float, int]], dict[str, SpeedFlag]]


def _compared(study: ServedStudy, read: _Read | None) -> _Compared:
    """Median seconds, agreement with the others and its items, and suspicious speed, each by pseudonym."""
    if read is None:
        return {}, {}, {}
    judged = judged_annotators(read.responses, min_control_accuracy=0.0)
    seconds = dict(judged.select("annotator", "median_seconds").iter_rows())
    if read.same is None:  # programs are not compared with each other
        return seconds, {}, _flags(study, study_work(read.responses), read.responses)
    work = study_work(read.same)
    beside = sharing(work.work)
    person = work.work.votes.annotator[beside.row]
    items = np.bincount(person, minlength=len(work.annotators))
    sums = np.bincount(person, beside.share, len(work.annotators))
    shares = {
        name: (float(sums[code] / items[code]), int(items[code]))
        for code, name in enumerate(work.annotators)
        if items[code]
    }
    return seconds, shares, _flags(study, work, read.same)


def _flags(study: ServedStudy, work: StudyWork, responses: Responses) -> dict[str, SpeedFlag]:
    lengths = responses.items.join(
        study.asked.select(pl.col("code").alias(SITE_TASK), "length"),
        on=SITE_TASK,
        how="left",
        maintain_order="left",
    )
    length = (
        responses.table.select("item")
        .join(lengths.select("item", "length"), on="item", how="left", maintain_order="left")["length"]
        .to_numpy()
    )
    found = speed_flags(replace(work.work, characters=length))
    return {work.annotators[code]: flag for code, flag in found.items()}


def estimate_so_far(engine: Engine, study: ServedStudy) -> StudyStatus:
    """Compute the status of a served study with its estimate, which its author sees only on request.

    The same computation as `merilo study status --show-estimate` after an import, but nothing is imported.

    Args:
        engine: the site's database.
        study: the registered study.

    Raises:
        DataError: there are no answers yet.
    """
    with snapshot(engine) as connection:
        rows = collected_rows(connection, study, read_answers(connection, study))
    return status_of(study.folder, study.arm_name, responses_of(study, rows, with_inputs=True), estimate=True)
