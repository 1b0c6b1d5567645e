"""How a served study stands: the same computation as `merilo study status`, and what only the site knows.

The site knows the progress, the speed, who came and left, and what is still to be paid.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from math import exp, sqrt
from statistics import median
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from merilo.errors import DataError
from merilo.participation import Participation
from merilo.reports.study_status import StudyStatus, status_of
from merilo.site.answer_export import (
    answer_reward,
    collected_rows,
    count_people,
    read_answers,
    responses_of,
)
from merilo.site.served_study import ServedStudy
from merilo.site.state import Person, State
from merilo.statistics.crossed import student_quantile
from merilo.studies.plan_figures import arm_figures, paid_work

if TYPE_CHECKING:
    from merilo.site.annotation_site import AnnotationSite

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

#: A person's speed is marked after at least so many answers, if at least `ENOUGH_PEOPLE` people can be compared and
#: the median time is below `HASTY_SECONDS` and at most a third (`HASTY_FACTOR`) of the median person's.
#: 2 seconds for an item: J. Huang, P. Curran, J. Keeney, E. Poposki, R. DeShon (2012), Detecting and deterring
#: insufficient effort responding to surveys. Journal of Business and Psychology 27, 99-114.
ENOUGH_ANSWERS: Final = 10
ENOUGH_PEOPLE: Final = 5
HASTY_SECONDS: Final = 2.0
HASTY_FACTOR: Final = 3.0

#: A computation is repeated at the earliest after so many times its own duration.
REST: Final = 20.0

#: Seconds that a page waits for a new computation.
PATIENCE: Final = 0.2


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
    factor = exp(student_quantile(0.975, PARTS - 1) * sqrt(phi / n))
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


class Worker(NamedTuple):
    """The work of one person.

    Attributes:
        person: the person, without their tasks.
        seconds: the median time of an answer; `None` without answers.
        hasty: whether they are suspiciously fast.
        earned: the pay of all answers; `None` while the pay is not decided.
    """

    person: Person
    seconds: float | None
    hasty: bool
    earned: float | None


def read_people(state: State) -> list[Worker]:
    """Read the people of a study, those with most answers first."""
    people, reward = [*state.people.values()], answer_reward(state.study)
    middles = {person.id: median(person.seconds) for person in people if person.seconds}
    judged = {person.id for person in people if len(person.seconds) >= ENOUGH_ANSWERS}
    fastest = (
        min(HASTY_SECONDS, median(middles[name] for name in judged) / HASTY_FACTOR)
        if len(judged) >= ENOUGH_PEOPLE
        else 0.0
    )
    workers = [
        Worker(
            person=replace(person, tasks={}, order=[], open=set()),
            seconds=middles.get(person.id),
            hasty=person.id in judged and middles[person.id] <= fastest,
            earned=None if reward is None else round(len(person.seconds) * reward, 6),
        )
        for person in people
    ]
    return sorted(workers, key=lambda worker: (-worker.person.answers, worker.person.pseudonym))


@dataclass(frozen=True, slots=True)
class SiteStatus:
    """How a study stands at one moment.

    Attributes:
        study: the study.
        at: the moment, in milliseconds since 1970.
        paused: whether the author paused the study.
        complete: items with all answers.
        in_hand: tasks that people have before them, control items among them.
        times: shape (n,), when the answers to items of the test came that hold a place of their task, in
            milliseconds since 1970.
        people: the people, those with most answers first.
        came: how many people came, stayed and left.
        status: as `merilo study status` shows it after an import; `None` without answers.
    """

    study: ServedStudy
    at: int
    paused: bool
    complete: int
    in_hand: int
    times: NDArray[np.int64]
    people: Sequence[Worker]
    came: Participation
    status: StudyStatus | None = None

    @property
    def needed(self) -> int:
        """The answers that the items need."""
        return self.study.rules.tests * self.study.rules.overlap

    @property
    def answered(self) -> int:
        """The answers to items of the test that hold a place of their task."""
        return int(self.times.size)

    @property
    def missing(self) -> int:
        """The answers that the items still need."""
        return self.needed - self.answered

    @property
    def rate(self) -> AnswerRate | None:
        """The rate of the recent answers; `None` if there is none yet."""
        return answer_rate(self.times, self.at)

    @property
    def end(self) -> tuple[float, float, float] | None:
        """Hours until the study is complete at this rate, and their bounds; `None` if nothing can be said."""
        return self.rate.hours_for(self.missing) if self.rate and self.missing and not self.paused else None

    @property
    def left(self) -> tuple[int, float | None]:
        """Answers that will still come, to control items too, by the plan, and their pay; `None` while undecided."""
        checks, _, pay = paid_work(
            self.study.arm, self.study.folder.plan, self.missing, self.study.rules.controls
        )
        return self.missing + checks, pay

    @property
    def hours(self) -> float:
        """Hours of work on all answers, also of people who were stopped or excluded."""
        return sum(sum(worker.person.seconds) for worker in self.people) / 3600

    @property
    def hours_left(self) -> float | None:
        """Hours of the people's work for the missing answers, at the median time of an answer."""
        seconds = self.status.cost.median_seconds_per_answer if self.status and self.status.cost else None
        return None if seconds is None else self.missing * seconds / 3600

    @property
    def earned(self) -> float | None:
        """The pay of all answers so far; `None` while the pay is not decided."""
        if self.study.arm.pay.per_page is None:
            return None
        return round(sum(worker.earned or 0.0 for worker in self.people), 6)

    @property
    def hourly(self) -> float | None:
        """The pay of an hour of work; `None` without answers, or while the pay is not decided."""
        return self.earned / self.hours if self.earned is not None and self.hours else None

    def with_commission(self, pay: float | None) -> float | None:
        """Return a pay with the platform's commission."""
        return None if pay is None else pay * (1 + (self.study.arm.pay.commission or 0.0))

    @property
    def final_pay(self) -> float | None:
        """The pay in the end with the platform's commission; `None` while the pay is not decided."""
        pay = self.left[1]
        return None if self.earned is None or pay is None else self.with_commission(self.earned + pay)

    @property
    def planned_pay(self) -> float | None:
        """The pay by the plan with the platform's commission; `None` while the pay is not decided."""
        return self.with_commission(
            arm_figures(self.study.arm, self.study.folder.plan, self.study.rules.controls).pay
        )


def quick_status(state: State, now: int) -> SiteStatus:
    """Tell how a served study stands, without its agreement, which takes long."""
    counted = (task for person in state.people.values() for task in person.tasks.values() if task.counts)
    pending = [task for _, task in state.pending if not state.rules.is_training(task.task)]
    waiting = {task.task for task in pending if task.counts}
    return SiteStatus(
        study=state.study,
        at=now,
        paused=state.paused,
        complete=sum(not needed and task not in waiting for task, needed in enumerate(state.open)),
        in_hand=sum(task.given is not None for task in pending),
        times=np.array([task.answered for task in counted if task.state == "answered"], dtype=np.int64),
        people=read_people(state),
        came=count_people(state, now),
    )


def site_status(state: State, now: int, *, estimate: bool = False) -> SiteStatus:
    """Compute how a served study stands.

    Args:
        state: the study.
        now: the time, in milliseconds since 1970.
        estimate: also compute the main metric so far.
    """
    study, status = state.study, None
    rows = collected_rows(state, read_answers(state))
    if rows.height:
        with suppress(DataError):  # every answer is blank
            responses = responses_of(study, rows, with_inputs=True)
            status = status_of(study.folder, study.arm_name, responses, estimate=estimate)
    return replace(quick_status(state, now), status=status)


@dataclass(eq=False)
class _Kept:
    """The latest status of a study, and the computation of the next one."""

    status: SiteStatus | None = None
    due: float = 0.0
    task: asyncio.Task[None] | None = None


class Statuses:
    """The latest status of each study of a server process, computed at most a twentieth of the time.

    Args:
        site: the site.
    """

    def __init__(self, site: AnnotationSite) -> None:
        self._site = site
        self._kept: dict[str, _Kept] = {}

    def forget(self, study: ServedStudy) -> None:
        """Compute the status again at the next request: the author changed something."""
        self._kept.pop(study.key, None)

    async def of(self, study: ServedStudy) -> SiteStatus:
        """Return the status; if a new one is not due or takes too long, an earlier one, or a quick one.

        Raises:
            RefusedRequestError: the database cannot be read.
        """
        latest = self._kept.setdefault(study.key, _Kept())
        if latest.task is None or (latest.task.done() and time.monotonic() >= latest.due):
            latest.task = asyncio.create_task(self._compute(study, latest))
        await asyncio.wait({latest.task}, timeout=PATIENCE)
        if latest.task.done():
            latest.task.result()
        if latest.status is None:
            return quick_status(self._site.states[study.key], self._site.clock.now())
        return latest.status

    async def _compute(self, study: ServedStudy, latest: _Kept) -> None:
        began, now = time.monotonic(), self._site.clock.now()
        latest.status = await self._site.read(study, lambda state: site_status(state, now))
        latest.due = time.monotonic() + REST * (time.monotonic() - began)
