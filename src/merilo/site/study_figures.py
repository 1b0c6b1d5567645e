"""The figures of the author's overview: progress, speed, agreement, people, pay and remaining cost.

Counts come from small tables and are read at every look. What needs all answers (`collected_figures`) is
computed again only if these counts show that something was answered, given or judged in the meantime.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import exp, sqrt
from typing import Final

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, and_, case, distinct, func, select

from merilo.participation import Participation
from merilo.site.collected_figures import CollectedFigures, open_responses
from merilo.site.people_counts import Presence, participation
from merilo.site.schema import ERASED, PERSON, RESPONSE, STUDY, TASK, TEST
from merilo.site.served_study import ServedStudy
from merilo.statistics.intervals import quantile_of
from merilo.studies.plan_figures import arm_figures, paid_work

#: The recent time whose answers give the rate, in milliseconds.
WINDOW: Final = 3_600_000
#: The shortest time from the first answer on that gives a rate, in milliseconds.
SHORTEST: Final = 600_000
#: The window is divided into so many parts, from whose differences the uncertainty follows.
PARTS: Final = 12
#: Fewer recent answers give no rate.
FEWEST: Final = 10
#: If the bounds differ by more than this factor, there is no expected end.
VAGUE: Final = 20.0


@dataclass(frozen=True, slots=True)
class AnswerRate:
    """The rate of the recent answers.

    Attributes:
        answers: answers in the window.
        minutes: the length of the window.
        per_hour: answers in an hour.
        low: the lower bound of the 95 % interval of `per_hour`.
        high: the upper bound.
    """

    answers: int
    minutes: float
    per_hour: float
    low: float
    high: float

    def hours_for(self, answers: int) -> tuple[float, float, float] | None:
        """Return the hours until so many answers have come, and the bounds; `None` if the bounds tell nothing."""
        if self.high > VAGUE * self.low:
            return None
        return answers / self.per_hour, answers / self.high, answers / self.low


def answer_rate(times: NDArray[np.int64], now: int) -> AnswerRate | None:
    """Compute the rate of the answers of the last hour; if they are fewer than 10, of all since the first answer.

    The window is divided into 12 parts. The variance of the count n is phi n, where phi is the variance of
    the parts' counts divided by their mean, and at least 1 as for a Poisson process. The interval is  rate *
    exp(± t sqrt(phi / n)),  with Student's quantile t of 11 degrees of freedom. It holds if people go on as
    in the window: it cannot know that the night comes.

    Args:
        times: shape (n,), when the answers came, in milliseconds since 1970, in any order.
        now: the time, in milliseconds since 1970.

    Returns:
        The rate; `None` with fewer than 10 answers, or within 10 minutes after the first answer.
    """
    if not times.size:
        return None
    ago = now - times
    since_first = int(ago.max())
    if since_first < SHORTEST:
        return None
    for window in (min(WINDOW, since_first), since_first):
        recent = ago[(ago >= 0) & (ago < window)]
        n = int(recent.size)
        if n >= FEWEST:
            break
    if n < FEWEST:
        return None
    counts = np.bincount(recent * PARTS // window, minlength=PARTS)[:PARTS]
    phi = max(1.0, float(counts.var(ddof=1) / counts.mean()))
    rate = n * 3_600_000 / window
    factor = exp(quantile_of(0.975, PARTS - 1) * sqrt(phi / n))
    return AnswerRate(n, window / 60_000, rate, rate / factor, rate * factor)


def progress_points(times: NDArray[np.int64], now: int, points: int = 60) -> list[tuple[float, int]]:
    """Return how the number of answers grew from the first answer until now.

    Args:
        times: shape (n,), when the answers came, in milliseconds since 1970.
        now: the time, in milliseconds since 1970.
        points: how many points to return at most.

    Returns:
        Hours since the first answer, and the answers until then; empty without answers.
    """
    if not times.size:
        return []
    first = int(times.min())
    last = max(now, int(times.max()))
    if last == first:
        return [(0.0, int(times.size))]
    moments = np.linspace(first, last, points)
    counts = np.searchsorted(np.sort(times), moments, side="right")
    return [
        ((moment - first) / 3_600_000, int(n))
        for moment, n in zip(moments.tolist(), counts.tolist(), strict=True)
    ]


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
        hours: hours of the people's work for the missing answers, at the median time of an answer; `None`
            without answers.
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
        end: hours until the study is complete at this rate, and their bounds; `None` if nothing can be said,
            if the study is paused or complete.
        remaining: the work and pay that are left.
        planned_pay: the pay by the plan; `None` while it is not decided.
        minimum_hourly: the least pay of an hour by the plan; `None` without one.
        commission: the platform's commission, as a share of the pay; `None` if the plan has none.
        currency: the currency of the pay.
        points: hours since the first answer, and the answers until then.
    """

    at: int
    counts: SiteCounts
    collected: CollectedFigures
    rate: AnswerRate | None
    end: tuple[float, float, float] | None
    remaining: RemainingWork
    planned_pay: float | None
    minimum_hourly: float | None
    commission: float | None
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
    def more(self) -> int:
        """The answers that will still come, to control items too."""
        return self.remaining.answers + self.remaining.controls

    @property
    def final_pay(self) -> float | None:
        """The pay in the end, the platform's commission not included; `None` while the pay is not decided."""
        if self.earned is None or self.remaining.pay is None:
            return None
        return self.earned + self.remaining.pay

    @property
    def participation(self) -> Participation:
        """How many people came, stayed and left."""
        return participation(
            (
                Presence(
                    one.person.stage,
                    one.person.before,
                    one.tasks,
                    one.last_seen,
                    one.person.completion is not None,
                )
                for one in self.collected.people
            ),
            self.at,
        )

    @property
    def flagged(self) -> int:
        """The number of people with suspicious speed."""
        return sum(one.flag is not None for one in self.collected.people)


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
    planned = arm_figures(arm, plan)
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
        planned_pay=planned.pay,
        minimum_hourly=arm.pay.minimum_per_hour,
        commission=arm.pay.commission,
        currency=arm.pay.currency,
        points=tuple(progress_points(collected.times, now if counts.missing else 0)),
    )
