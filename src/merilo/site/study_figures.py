"""The figures of the author's overview: progress, agreement, people, pay and remaining cost.

Counts come from small tables and are read at every look. What needs all answers (`collected_figures`) is computed again only if these counts
show that something was answered, given or judged in the meantime.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass

from sqlalchemy import Connection, Engine, and_, case, distinct, func, select

from merilo.site.answer_rate import AnswerRate, answer_rate, progress_points
from merilo.site.collected_figures import CollectedFigures, open_responses
from merilo.site.schema import ERASED, PERSON, RESPONSE, STUDY, TASK, TEST
from merilo.site.served_study import ServedStudy
from merilo.strict_json import Json
from merilo.studies.plan_figures import paid_work


@dataclass(frozen=True, slots=True)
class SiteCounts:
    """The counts that are read at every look.

    Attributes:
        paused: whether the author paused the study.
        items: items of the test.
        needed: answers that the items need.
        unassigned: answers for which nobody has the item.
        held: answers for which somebody has the item, or will get it as a later turn of a dialogue.
        complete: items with all answers.
        in_hand: tasks that people have before them, control items among them.
        latest: when the latest of these was sent, in milliseconds since 1970.
        stages: stage -> people.
        controls: answers to control items.
        controls_right: right ones among them.
    """

    paused: bool
    items: int
    needed: int
    unassigned: int
    held: int
    complete: int
    in_hand: int
    latest: int | None
    stages: tuple[tuple[str, int], ...]
    controls: int
    controls_right: int

    @property
    def answered(self) -> int:
        """The answers to items of the test that hold a place of their task."""
        return self.needed - self.unassigned - self.held

    @property
    def missing(self) -> int:
        """The answers that the items still need."""
        return self.needed - self.answered


@dataclass(frozen=True, slots=True)
class RemainingWork:
    """The work and pay that are left.

    Attributes:
        answers: missing answers to items of the test.
        controls: answers to control items that will come with them, by the plan.
        pay: the pay of all these; `None` while it is not decided.
        hours: hours of the people's work for the missing answers, at the median time of an answer; `None` without answers.
    """

    answers: int
    controls: int
    pay: float | None
    hours: float | None


@dataclass(frozen=True, slots=True)
class StudyFigures:
    """The figures of a study at one moment.

    Attributes:
        at: the moment, in milliseconds since 1970.
        counts: the progress and the people's stages.
        collected: agreement, the people's work and the pay so far.
        rate: the rate of the recent answers; `None` if there is none yet.
        end: hours until the study is complete at this rate, and their bounds; `None` if nothing can be said, if the study is paused or
            complete.
        remaining: the work and pay that are left.
        currency: the currency of the pay.
        points: hours since the first answer, and the answers until then.
    """

    at: int
    counts: SiteCounts
    collected: CollectedFigures
    rate: AnswerRate | None
    end: tuple[float, float, float] | None
    remaining: RemainingWork
    currency: str
    points: tuple[tuple[float, int], ...]

    @property
    def earned(self) -> float | None:
        """The pay of all answers so far; `None` while the pay is not decided."""
        if self.remaining.pay is None:
            return None
        paid = self.collected.paid
        return 0.0 if paid is None else paid.total

    @property
    def flagged(self) -> int:
        """The number of people with suspicious speed."""
        return sum(one.flag is not None for one in self.collected.people)

    def to_dict(self) -> dict[str, Json]:
        """Return the figures as JSON, without the single people."""
        counts, found = self.counts, self.collected
        agreement = found.agreement
        hours = found.paid.hours if found.paid else None
        return {
            "paused": counts.paused,
            "items": counts.items,
            "complete": counts.complete,
            "needed": counts.needed,
            "answered": counts.answered,
            "in_hand": counts.in_hand,
            "rate": None if self.rate is None else {**asdict(self.rate)},
            "end_hours": None if self.end is None else list(self.end),
            "alpha": agreement.alpha,
            "low_agreement": agreement.low_agreement,
            "max_low_agreement": agreement.most_low_agreement,
            "counted": agreement.counted,
            "stages": dict(counts.stages),
            "flagged": self.flagged,
            "controls": counts.controls,
            "controls_right": counts.controls_right,
            "earned": self.earned,
            "hours": hours,
            "hourly": found.paid.hourly if found.paid else None,
            "median_seconds": found.collected.median_seconds if found.collected else None,
            "remaining": {**asdict(self.remaining)},
            "currency": self.currency,
        }


@contextmanager
def snapshot(engine: Engine) -> Iterator[Connection]:
    """Open a transaction that reads one state of the database, whatever others write meanwhile."""
    with engine.connect() as connection:
        if connection.dialect.name == "postgresql":
            connection = connection.execution_options(isolation_level="REPEATABLE READ")  # noqa: PLW2901
        with connection.begin():
            yield connection


def read_counts(connection: Connection, study: ServedStudy) -> SiteCounts:
    """Read the counts.

    Args:
        connection: a transaction that reads one state.
        study: the registered study.
    """
    number = study.rules.study
    tests = and_(TASK.c.study == number, TASK.c.kind == TEST)
    items, needed, unassigned, full = connection.execute(
        select(
            func.count(), func.coalesce(func.sum(TASK.c.needed), 0), func.coalesce(func.sum(TASK.c.open), 0),
            func.coalesce(func.sum(case((TASK.c.open == 0, 1), else_=0)), 0),
        ).where(tests)
    ).one()  # fmt: skip
    mine = and_(open_responses(study), RESPONSE.c.place > 0)
    in_hand, held, latest = connection.execute(
        select(
            func.count(RESPONSE.c.given), func.coalesce(func.sum(case((RESPONSE.c.counts, 1), else_=0)), 0),
            func.max(RESPONSE.c.given),
        ).where(mine)
    ).one()  # fmt: skip
    waiting = connection.scalar(
        select(func.count(distinct(RESPONSE.c.task)))
        .select_from(RESPONSE)
        .join(TASK, and_(TASK.c.study == RESPONSE.c.study, TASK.c.number == RESPONSE.c.task))
        .where(mine, RESPONSE.c.counts, TASK.c.open == 0)
    )
    people = connection.execute(
        select(
            PERSON.c.stage, func.count().label("people"), func.sum(PERSON.c.controls).label("controls"),
            func.sum(PERSON.c.controls_right).label("right"),
        ).where(PERSON.c.study == number, PERSON.c.stage != ERASED).group_by(PERSON.c.stage).order_by(PERSON.c.stage)
    ).all()  # fmt: skip
    paused = connection.scalar(select(STUDY.c.paused).where(STUDY.c.id == number))
    return SiteCounts(
        paused=bool(paused),
        items=items,
        needed=int(needed),
        unassigned=int(unassigned),
        held=int(held),
        complete=int(full) - int(waiting or 0),
        in_hand=int(in_hand),
        latest=latest,
        stages=tuple((row.stage, int(row.people)) for row in people),
        controls=sum(int(row.controls) for row in people),
        controls_right=sum(int(row.right) for row in people),
    )


def figures_at(study: ServedStudy, counts: SiteCounts, collected: CollectedFigures, now: int) -> StudyFigures:
    """Put the figures of one moment together.

    Args:
        study: the study.
        counts: the counts of this moment.
        collected: what followed from all answers when these counts were read last with other values.
        now: the moment, in milliseconds since 1970.
    """
    plan, arm = study.folder.plan, study.arm
    checks, _, pay = paid_work(arm, plan, counts.missing)
    seconds = collected.collected.median_seconds if collected.collected else None
    rate = answer_rate(collected.times, now)
    goes_on = bool(counts.missing) and not counts.paused
    return StudyFigures(
        at=now,
        counts=counts,
        collected=collected,
        rate=rate,
        end=rate.hours_for(counts.missing) if rate and goes_on else None,
        remaining=RemainingWork(
            counts.missing,
            checks,
            pay,
            None if seconds is None else counts.missing * seconds / 3600,
        ),
        currency=arm.pay.currency,
        points=tuple(progress_points(collected.times, now if counts.missing else 0)),
    )
