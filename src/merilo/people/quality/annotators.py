"""The quality of annotators.

Speed, repeated answers, all other checks, flags and the exclusion, one row per annotator.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np
from numpy.typing import NDArray

from merilo.people.quality import Work
from merilo.people.quality.controls import ControlAccuracy, ExclusionRule, control_accuracy
from merilo.people.quality.peers import (
    Drift,
    PeerAgreement,
    PooledDrift,
    drift,
    holm_of_tested,
    peer_agreement,
)
from merilo.statistics import FloatArray
from merilo.statistics.intervals import at_least
from merilo.text import Text

#: More characters a second than anyone can read: a fast reader reaches 25 to 30, skimming 60.
READING_LIMIT = 100.0

#: Scales the median absolute deviation to the standard deviation of normal data.
MAD_TO_SD = 1.4826

#: Lower bound of the spread: differences in pace of a tenth never count as large, even in a very uniform pool.
LEAST_SPREAD = 0.1


@dataclass(frozen=True, slots=True)
class Pace:
    """The speed of one annotator.

    Attributes:
        pages: pages with a known time.
        seconds: median seconds per page, NaN without such pages.
        times_faster: how many times faster than the typical annotator on pages of the same length; below 1, slower.
        z: the same on the logarithmic scale, in robust standard deviations over annotators; below 0, faster.
        fast_pages: share of pages faster than all but one in a thousand pages of an average annotator.
        characters_per_second: median reading speed implied by the times; NaN if lengths are unknown.
        hasty: `z` at or below -3 and at least twice as fast as the typical annotator.
        unreadable: faster than anyone can read.
    """

    pages: int
    seconds: float
    times_faster: float
    z: float
    fast_pages: float
    characters_per_second: float
    hasty: bool
    unreadable: bool

    @property
    def too_fast(self) -> bool:
        """Whether the annotator is flagged for either reason."""
        return self.hasty or self.unreadable


_UNKNOWN = Pace(
    0, float("nan"), float("nan"), float("nan"), float("nan"), float("nan"), hasty=False, unreadable=False
)


def pace(work: Work, *, reading_limit: float = READING_LIMIT) -> list[Pace]:
    """Compute the pace of every annotator compared with the others.

    The logarithm of the seconds per page is regressed on the logarithm of the text length by least absolute
    deviations. An annotator's pace is the median of their residuals; annotators are compared by the median and the
    median absolute deviation of these medians.

    Args:
        work: the answers, with pages and seconds; without them every pace is unknown.
        reading_limit: a reading speed, in characters per second, that is impossible for people.

    Returns:
        One `Pace` per annotator, in the order of their codes.
    """
    people = work.votes.annotators
    if work.seconds is None or len(work) == 0:
        return [_UNKNOWN] * people
    person, seconds, characters = _pages(work, work.seconds)
    if person.size == 0:
        return [_UNKNOWN] * people
    residual = _residuals(np.log(seconds), np.log(np.maximum(1.0, characters)))
    pages = np.bincount(person, minlength=people)
    own = _medians(residual, person, people)
    known = own[~np.isnan(own)]
    centre = float(np.median(known))
    between = max(LEAST_SPREAD, MAD_TO_SD * float(np.median(np.abs(known - centre))))
    within = MAD_TO_SD * float(np.median(np.abs(residual - own[person])))
    # One page in a thousand of an average annotator lies below this.
    floor = centre - 3.09 * math.hypot(between, within)
    median_seconds, reading = (_medians(values, person, people) for values in (seconds, characters / seconds))
    fast = np.bincount(person[residual < floor], minlength=people) / np.maximum(pages, 1)
    result = []
    for code, (count, middle) in enumerate(zip(pages.tolist(), own.tolist(), strict=True)):
        if count == 0:
            result.append(_UNKNOWN)
            continue
        error = 1.2533 * within / math.sqrt(count)
        z = (middle - centre) / math.hypot(between, error)
        speed = float(reading[code])
        result.append(
            Pace(
                count,
                float(median_seconds[code]),
                math.exp(centre - middle),
                z,
                float(fast[code]),
                speed,
                hasty=z <= -3.0 and middle - centre <= -math.log(2.0),
                unreadable=not math.isnan(speed) and speed > reading_limit,
            )
        )
    return result


def _medians(values: FloatArray, group: NDArray[np.int32], groups: int) -> FloatArray:
    """Compute the median of each group's values, shape (groups,).

    NaN for a group without values, or with an unknown value.
    """
    ordered = values[np.lexsort((values, group))]
    size = np.bincount(group, minlength=groups)
    start = np.cumsum(size) - size
    last = np.maximum(start + size - 1, 0)
    low, high = start + np.maximum(size - 1, 0) // 2, start + size // 2
    inside = np.minimum(np.stack((low, high, last)), max(ordered.size - 1, 0))
    lower, upper, largest = ordered[inside]
    # Unknown values are sorted to the end.
    known = (size > 0) & ~np.isnan(largest)
    return np.asarray(np.where(known, (lower + upper) / 2, np.nan), dtype=np.float64)


def _pages(work: Work, seconds: FloatArray) -> tuple[NDArray[np.int32], FloatArray, FloatArray]:
    """Compute annotator, seconds and characters of pages with a known time.

    An answer without a page counts as a page.
    """
    page = np.arange(len(work)) if work.page is None else work.page
    characters = np.full(len(work), np.nan) if work.characters is None else work.characters
    timed = np.flatnonzero(np.isfinite(seconds) & (seconds > 0))
    _, first, inverse = np.unique(page[timed], return_index=True, return_inverse=True)
    total = np.bincount(inverse, characters[timed], first.size).astype(np.float64)
    rows = timed[first]
    return work.votes.annotator[rows], seconds[rows], total


def _residuals(y: FloatArray, x: FloatArray) -> FloatArray:
    """Residuals of `y` after regression on `x` by least absolute deviations (reweighted least squares)."""
    usable = np.isfinite(x)
    if usable.sum() < 10 or np.ptp(x[usable]) < 1e-9:
        return y - float(np.median(y))
    across, up = x[usable] - x[usable].mean(), y[usable]
    weight: FloatArray = np.ones(across.size)
    line: FloatArray = np.zeros(2)
    for _ in range(30):
        sloped = weight * across
        square = np.array([[weight.sum(), sloped.sum()], [sloped.sum(), sloped @ across]])
        line = np.linalg.solve(square + 1e-9 * np.eye(2), np.array([weight @ up, sloped @ up]))
        weight = 1.0 / np.maximum(1e-3, np.abs(up - line[0] - line[1] * across))
    # The slope is limited to 0 to 1: longer texts take no less time, and at most time in proportion to their length.
    slope = min(1.0, max(0.0, float(line[1])))
    left = y - slope * np.where(usable, x - x[usable].mean(), 0.0)
    return left - float(np.median(left))


#: Up to this many answers in total the probability of the longest run is exact; beyond, by Poisson clumping.
EXACT_ANSWERS = 50_000


@dataclass(frozen=True, slots=True)
class Repetition:
    """How much one annotator repeats one answer (one position, if the options have a fixed order).

    Attributes:
        answers: answers given, controls included.
        label: code of the most frequent answer; -1 without answers.
        share: its share of the annotator's answers, NaN without answers.
        share_p: probability that any answer is this frequent if all are drawn from the pool's distribution of answers
            (binomial tail times the number of labels).
        run: length of the longest run of one answer, in order of time.
        run_p: probability of a run at least this long under the same distribution.
    """

    answers: int
    label: int
    share: float
    share_p: float
    run: int
    run_p: float


def repetition(work: Work) -> list[Repetition]:
    """Compute how much every annotator repeats one answer.

    Args:
        work: the answers; the pool's distribution is that of all of them.

    Returns:
        One `Repetition` per annotator, in the order of their codes.
    """
    votes = work.votes
    if len(votes) == 0:
        return [Repetition(0, -1, float("nan"), float("nan"), 0, float("nan"))] * votes.annotators
    pool = np.bincount(votes.label, minlength=votes.labels) / len(votes)
    # Of many free answers most are as rare as each other: they are reckoned once.
    chances, labels_per_chance = np.unique(pool, return_counts=True)
    exact = len(votes) <= EXACT_ANSWERS
    ranked = np.lexsort((np.arange(len(votes)), work.order, votes.annotator))
    bounds = np.searchsorted(votes.annotator[ranked], np.arange(votes.annotators + 1))
    result = []
    for code in range(votes.annotators):
        mine = votes.label[ranked[bounds[code] : bounds[code + 1]]]
        if mine.size == 0:
            result.append(Repetition(0, -1, float("nan"), float("nan"), 0, float("nan")))
            continue
        given, count = np.unique(mine, return_counts=True)
        favourite, times = int(given[count.argmax()]), int(count.max())
        often = at_least(times, mine.size, float(pool[favourite]))
        run = longest_run(mine)
        chance = (
            run_probability(run, mine.size, pool)
            if exact
            else _clumping(run, mine.size, chances, labels_per_chance)
        )
        result.append(
            Repetition(
                int(mine.size),
                favourite,
                times / mine.size,
                min(1.0, often * votes.labels),
                run,
                chance,
            )
        )
    return result


def longest_run(labels: NDArray[np.int32]) -> int:
    """Return the length of the longest run of one label.

    Example:
        >>> longest_run(np.array([1, 1, 0, 0, 0, 1], dtype=np.int32))
        3
    """
    if labels.size == 0:
        return 0
    edges = np.concatenate(([0], np.flatnonzero(np.diff(labels)) + 1, [labels.size]))
    return int(np.diff(edges).max())


def run_probability(run: int, n: int, chances: NDArray[np.float64]) -> float:
    """P(some label comes `run` or more times in a row among `n` independent draws), exact.

    With `alive_t(l)` the chance that no such run was completed by draw t and that draw t is l, and `new_t(l)`
    the chance that besides a run of l begins at t::

        new_t(l)   = p_l (sum over m of alive_{t-1}(m) - alive_{t-1}(l))
        alive_t(l) = p_l alive_{t-1}(l) + new_t(l) - new_{t-run+1}(l) p_l^(run-1)

    Args:
        run: the length of the run, at least 1.
        n: the number of draws.
        chances: shape (labels,), the labels' probabilities.

    Returns:
        The probability.

    Example:
        >>> run_probability(2, 2, np.array([0.5, 0.5]))
        0.5
    """
    if run > n:
        return 0.0
    if run <= 1:
        return 1.0 if n else 0.0
    # Labels with equal probability share one row, so that many distinct open answers cost no more than a few labels;
    # only the last `run` draws are stored.
    p, times = np.unique(chances[chances > 0], return_counts=True)
    closing = p ** (run - 1)
    begun = np.zeros((run, p.size))
    begun[0] = alive = p.copy()
    for t in range(1, n):
        new = p * (times @ alive - alive)
        alive = p * alive + new
        begun[t % run] = new
        if t >= run - 1:
            alive = np.maximum(0.0, alive - begun[(t - run + 1) % run] * closing)
    return min(1.0, max(0.0, 1.0 - float(times @ alive)))


def _clumping(run: int, n: int, chances: NDArray[np.float64], labels: NDArray[np.intp]) -> float:
    """Compute the probability of such a run by Poisson clumping.

    It holds for runs that are rare enough to be nearly independent.

    `labels` says how many labels have each of the chances.
    """
    if run > n:
        return 0.0
    starts = (n - run) * (1 - chances) + 1
    return -math.expm1(-float((labels * starts * chances**run).sum()))


#: The significance level of the tests, after Holm's correction over all annotators tested.
LEVEL = 0.05

#: From these odds on, an annotator's controls count as guessed.
GUESSING_ODDS = 3.0

#: Flag -> its description for reports.
FLAGS: Final[Mapping[str, Text]] = {
    "guessing": Text("accuracy on controls is closer to random guessing than to the accuracy of the others"),
    "disagrees": Text("agreement with the others is lower than chance explains"),
    "too_fast": Text(
        "much faster than the others on pages of the same length, or faster than anyone can read"
    ),
    "one_answer": Text("gives one answer more often than chance explains"),
    "long_run": Text("repeats one answer in a row for longer than chance explains"),
    "fatigue": Text("answers get worse over time"),
    "learning": Text("answers get better over time"),
}


@dataclass(frozen=True, slots=True)
class AnnotatorQuality:
    """The quality of one annotator's work.

    Attributes:
        annotator: the pseudonymous id.
        answers: answers given, controls included.
        controls: accuracy on controls.
        peers: agreement with the others.
        pace: speed compared with the others.
        repetition: how much one answer is repeated.
        drift: learning and fatigue.
        ability: by the name of the model ("auto", "dawid-skene", "one-coin", "glad"), the ability that it fitted.
        flags: reasons for a review, keys of `FLAGS`; a flag alone does not exclude the annotator.
        excluded_by: the rule that excludes the annotator's answers, in words; `None` if they are kept.
    """

    annotator: str
    answers: int
    controls: ControlAccuracy
    peers: PeerAgreement
    pace: Pace
    repetition: Repetition
    drift: Drift
    ability: Mapping[str, float] = field(default_factory=dict)
    flags: tuple[str, ...] = ()
    excluded_by: str | None = None


@dataclass(frozen=True, slots=True)
class ScreeningTest:
    """One test applied to every annotator, with the number of hits expected by chance.

    Attributes:
        flag: the flag that the test sets; the test `unreadable` (nobody can read so fast) sets `too_fast` as well.
        tested: how many annotators could be tested.
        below_level: how many p-values are below the level without correction; of the speeds, how many are 3 robust
            deviations above the others, or above what anyone can read.
        expected_by_chance: how many of these are expected by chance under the null hypothesis.
        flagged: how many of these are flagged: after Holm's correction, or if they are also twice as fast as
            the others.
    """

    flag: str
    tested: int
    below_level: int
    expected_by_chance: float
    flagged: int


@dataclass(frozen=True, slots=True)
class PeopleQuality:
    """The quality of a study's annotators.

    Attributes:
        annotators: one row per annotator, in the order of their codes.
        tests: the tests, with the number of annotators tested, found and expected by chance.
        pooled_drift: learning or fatigue of all annotators together.
        guess: the probability of guessing a control correctly that the tests used.
        level: the significance level of the tests.
    """

    annotators: tuple[AnnotatorQuality, ...]
    tests: tuple[ScreeningTest, ...]
    pooled_drift: PooledDrift
    guess: float
    level: float = LEVEL


def people_quality(
    work: Work,
    names: Sequence[str],
    *,
    rule: ExclusionRule | None = None,
    guess: float | None = None,
    abilities: Mapping[str, FloatArray] | None = None,
    level: float = LEVEL,
) -> PeopleQuality:
    """Compute all quality measures of every annotator.

    The p-values of each test are corrected by Holm's method over the annotators, so that in a study of honest
    annotators the test sets any flag in at most one study of twenty. The number of p-values below the level without
    the correction, and the number expected by chance, are reported too.

    Args:
        work: the answers, controls included.
        names: shape (annotators,), the ids behind the codes.
        rule: the exclusion rule; by default `ExclusionRule()`.
        guess: the probability of guessing a control correctly; by default one over the number of labels.
        abilities: name of a model -> shape (annotators,), the abilities that it fitted, NaN for annotators without
            answers.
        level: the family-wise level of each test.

    Returns:
        The quality of all annotators.
    """
    rule = rule or ExclusionRule()
    guess = 1.0 / max(1, work.votes.labels) if guess is None else guess
    controls = control_accuracy(work, guess=guess, wanted=rule.min_control_accuracy)
    peers, speeds, repeats = peer_agreement(work), pace(work), repetition(work)
    drifts, pooled = drift(work)
    out = rule.excluded([one.right for one in controls], [one.answers for one in controls])
    signs, tests = _screen(
        controls=controls, peers=peers, speeds=speeds, repeats=repeats, drifts=drifts, level=level
    )
    answers = np.bincount(work.votes.annotator, minlength=work.votes.annotators).tolist()
    rows = tuple(
        AnnotatorQuality(
            annotator=name,
            answers=answers[code],
            controls=controls[code],
            peers=peers[code],
            pace=speeds[code],
            repetition=repeats[code],
            drift=drifts[code],
            ability={model: float(values[code]) for model, values in (abilities or {}).items()},
            flags=tuple(flag for flag in FLAGS if code in signs[flag]),
            excluded_by=str(rule) if out[code] else None,
        )
        for code, name in enumerate(names)
    )
    return PeopleQuality(rows, tests, pooled, guess, level)


def _screen(
    *,
    controls: list[ControlAccuracy],
    peers: list[PeerAgreement],
    speeds: list[Pace],
    repeats: list[Repetition],
    drifts: list[Drift],
    level: float,
) -> tuple[dict[str, set[int]], tuple[ScreeningTest, ...]]:
    """Return the flags of every annotator, and the summary of every test."""
    tested = {
        "disagrees": [row.p for row in peers],
        "one_answer": [row.share_p for row in repeats],
        "long_run": [row.run_p for row in repeats],
        "drift": [row.p for row in drifts],
    }
    signs: dict[str, set[int]] = {flag: set() for flag in FLAGS}
    signs["guessing"] = {
        code for code, row in enumerate(controls) if row.can_tell and row.guessing_odds >= GUESSING_ODDS
    }
    signs["too_fast"] = {code for code, row in enumerate(speeds) if row.too_fast}
    account = []
    for name, values in tested.items():
        p = np.array(values, dtype=np.float64)
        hit = set(np.flatnonzero(holm_of_tested(p) < level).tolist())
        if name == "drift":
            signs["learning"] = {code for code in hit if drifts[code].z > 0}
            signs["fatigue"] = hit - signs["learning"]
        else:
            signs[name] = hit
        known = int((~np.isnan(p)).sum())
        account.append(ScreeningTest(name, known, int((p < level).sum()), known * level, len(hit)))
    timed = [row.z for row in speeds if not math.isnan(row.z)]
    # One in 741 normal values lies below three standard deviations.
    fast = sum(z <= -3 for z in timed)
    account.append(
        ScreeningTest("too_fast", len(timed), fast, len(timed) * 0.00135, sum(row.hasty for row in speeds))
    )
    read = sum(not math.isnan(row.characters_per_second) for row in speeds)
    unreadable = sum(row.unreadable for row in speeds)
    account.append(ScreeningTest("unreadable", read, unreadable, 0.0, unreadable))
    return signs, tuple(account)
