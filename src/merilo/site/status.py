"""How a served study stands: the same computation as `merilo study status`, and what only the site knows.

The site knows the progress, the speed, who came and left, and what is still to be paid.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import exp, sqrt
from statistics import median
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from merilo.errors import DataError
from merilo.participation import Participation
from merilo.people.cost import Cost, cost
from merilo.reports.study_status import StudyStatus, status_of
from merilo.site.annotator_steps import has_answered
from merilo.site.answer_export import (
    answer_reward,
    collected_rows,
    count_people,
    read_answers,
    responses_of,
    table_rows,
)
from merilo.site.served_study import ServedStudy
from merilo.site.state import State
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
PATIENCE: Final = 0.3


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
        silent: people of platforms who may answer and have not.
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
    silent: int
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


def read_counts(state: State) -> SiteCounts:
    """Count the tasks and the people of a study."""
    tests, people = state.rules.tests, state.people
    pending = [sent for _, sent in state.pending if not state.rules.is_training(sent.task)]
    waiting = {assignment.task for assignment in pending if assignment.counts}
    in_hand = [assignment.given for assignment in pending if assignment.given is not None]
    return SiteCounts(
        paused=state.paused,
        items=tests,
        needed=tests * state.rules.overlap,
        unassigned=sum(state.open),
        held=sum(assignment.counts for assignment in pending),
        complete=sum(not needed and task not in waiting for task, needed in enumerate(state.open)),
        in_hand=len(in_hand),
        latest=max(in_hand, default=None),
        stages=tuple(sorted(Counter(person.stage for person in people.values()).items())),
        silent=sum(
            person.from_platform and person.stage == "working" and not has_answered(state, person)
            for person in people.values()
        ),
        controls=sum(person.controls for person in people.values()),
        controls_right=sum(person.controls_right for person in people.values()),
    )


class Worker(NamedTuple):
    """The work of one person.

    Attributes:
        pseudonym: the name under which the answers are exported.
        source: how they came in: link, code, expert, or the platform's name.
        external: their id or name there.
        stage: what they do now.
        reason: why they were stopped or excluded; `None` otherwise.
        answers: answers to items of the test, without skipped ones.
        controls: answers to control items.
        controls_right: right ones among them.
        seconds: the median time of an answer; `None` without answers.
        hasty: whether they are suspiciously fast.
        earned: the pay of all answers; `None` while the pay is not decided.
        last_seen: when they last got or answered a task, or came in, in milliseconds since 1970.
    """

    pseudonym: str
    source: str
    external: str | None
    stage: str
    reason: str | None
    answers: int
    controls: int
    controls_right: int
    seconds: float | None
    hasty: bool
    earned: float | None
    last_seen: int


def read_people(state: State) -> list[Worker]:
    """Read the people of a study, those with most answers first."""
    work = {
        person.id: [
            person.tasks[task].seconds or 0.0
            for task in person.order
            if person.tasks[task].state == "answered"
        ]
        for person in state.people.values()
    }
    judged = [median(seconds) for seconds in work.values() if len(seconds) >= ENOUGH_ANSWERS]
    fastest = min(HASTY_SECONDS, median(judged) / HASTY_FACTOR) if len(judged) >= ENOUGH_PEOPLE else 0.0
    reward, people = answer_reward(state.study), []
    for person in state.people.values():
        seconds = median(work[person.id]) if work[person.id] else None
        count = len(work[person.id])
        people.append(
            Worker(
                pseudonym=person.pseudonym,
                source=person.source,
                external=person.external if person.source != "link" else None,
                stage=person.stage,
                reason=person.reason if person.stage == "excluded" else None,
                answers=sum(
                    state.rules.is_test(task) and person.tasks[task].is_answer for task in person.order
                ),
                controls=person.controls,
                controls_right=person.controls_right,
                seconds=seconds,
                hasty=count >= ENOUGH_ANSWERS and seconds is not None and seconds <= fastest,
                earned=None if reward is None else round(count * reward, 6),
                last_seen=person.last_seen,
            )
        )
    return sorted(people, key=lambda worker: (-worker.answers, worker.pseudonym))


@dataclass(frozen=True, slots=True)
class SiteStatus:
    """How a study stands at one moment.

    Attributes:
        study: the study.
        at: the moment, in milliseconds since 1970.
        counts: the progress and the people's stages.
        status: as `merilo study status` shows it after an import; `None` without answers.
        paid: pay and time of all answers, also of people who were stopped or excluded; `None` without answers.
        times: shape (n,), when the answers to items of the test came that hold a place of their task, in
            milliseconds since 1970.
        people: the people, those with most answers first.
        came: how many people came, stayed and left.
    """

    study: ServedStudy
    at: int
    counts: SiteCounts
    status: StudyStatus | None
    paid: Cost | None
    times: NDArray[np.int64]
    people: Sequence[Worker]
    came: Participation

    @property
    def rate(self) -> AnswerRate | None:
        """The rate of the recent answers; `None` if there is none yet."""
        return answer_rate(self.times, self.at)

    @property
    def end(self) -> tuple[float, float, float] | None:
        """Hours until the study is complete at this rate, and their bounds; `None` if nothing can be said."""
        goes_on = self.counts.missing and not self.counts.paused
        return self.rate.hours_for(self.counts.missing) if self.rate and goes_on else None

    @property
    def left(self) -> tuple[int, float | None]:
        """Answers that will still come, to control items too, by the plan, and their pay; `None` while undecided."""
        missing = self.counts.missing
        checks, _, pay = paid_work(self.study.arm, self.study.folder.plan, missing)
        return missing + checks, pay

    @property
    def hours_left(self) -> float | None:
        """Hours of the people's work for the missing answers, at the median time of an answer."""
        seconds = self.status.cost.median_seconds_per_answer if self.status and self.status.cost else None
        return None if seconds is None else self.counts.missing * seconds / 3600

    @property
    def earned(self) -> float | None:
        """The pay of all answers so far; `None` while the pay is not decided."""
        if self.study.arm.pay.per_page is None:
            return None
        return round(sum(worker.earned or 0.0 for worker in self.people), 6)

    @property
    def final_pay(self) -> float | None:
        """The pay in the end with the platform's commission; `None` while the pay is not decided."""
        pay = self.left[1]
        if self.earned is None or pay is None:
            return None
        return (self.earned + pay) * (1 + (self.study.arm.pay.commission or 0.0))

    @property
    def planned_pay(self) -> float | None:
        """The pay by the plan with the platform's commission; `None` while the pay is not decided."""
        pay = arm_figures(self.study.arm, self.study.folder.plan).pay
        return None if pay is None else pay * (1 + (self.study.arm.pay.commission or 0.0))


def quick_status(state: State, now: int) -> SiteStatus:
    """Tell how a served study stands, without agreement, pay and time, which take long."""
    rows = (row for person in state.people.values() for row in person.tasks.values() if row.counts)
    times = [row.answered for row in rows if row.state == "answered"]
    return SiteStatus(
        study=state.study,
        at=now,
        counts=read_counts(state),
        status=None,
        paid=None,
        times=np.array(times, dtype=np.int64),
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
    study, table = state.study, read_answers(state)
    counted = collected_rows(state, table)
    status = None
    if counted.height:
        try:
            responses = responses_of(study, counted, with_inputs=True)
            status = status_of(study.folder, study.arm_name, responses, estimate=estimate)
        except DataError:  # every answer is blank
            status = None
    return replace(quick_status(state, now), status=status, paid=_paid(study, table))


def _paid(study: ServedStudy, table: pl.DataFrame) -> Cost | None:
    """Pay and time of all answers; `None` if there are none, or all of them are blank."""
    try:
        return (
            cost(responses_of(study, table_rows(study, table)), study.arm.pay.currency)
            if table.height
            else None
        )
    except DataError:
        return None


@dataclass(eq=False)
class _Kept:
    """The latest status of a study, and the computation of the next one."""

    found: SiteStatus | None = None
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
        if latest.found is None:
            return quick_status(self._site.states[study.key], self._site.clock.now())
        return latest.found

    async def _compute(self, study: ServedStudy, latest: _Kept) -> None:
        began, now = time.monotonic(), self._site.clock.now()
        latest.found = await self._site.read(study, lambda state: site_status(state, now))
        latest.due = time.monotonic() + REST * (time.monotonic() - began)
