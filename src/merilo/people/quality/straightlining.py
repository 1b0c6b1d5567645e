"""Straightlining: the share of the most frequent answer and the longest run, each with its probability."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from merilo.people.quality.work import Work
from merilo.statistics.distributions import at_least

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

    With `alive_t(l)` the chance that no such run was completed by draw t and that draw t is l, and `new_t(l)` the chance
    that besides a run of l begins at t::

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
    """Compute the probability of such a run by Poisson clumping, for runs that are rare enough to be nearly independent.

    `labels` says how many labels have each of the chances.
    """
    if run > n:
        return 0.0
    starts = (n - run) * (1 - chances) + 1
    return -math.expm1(-float((labels * starts * chances**run).sum()))
