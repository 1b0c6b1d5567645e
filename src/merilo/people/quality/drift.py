"""Learning and fatigue: does a person answer better, or worse, as the work goes on?"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from merilo.people.quality.chance import normal_below
from merilo.people.quality.peers import sharing
from merilo.people.quality.work import Work
from merilo.statistics.arrays import FloatArray

#: Up to so many answers the rank-sum distribution is counted out; beyond, normal with the correction for ties.
EXACT_ANSWERS = 20

FEWEST_ANSWERS = 6


@dataclass(frozen=True, slots=True)
class Drift:
    """How one person's answers change over time.

    An answer is good when it is right on a control, or the most common among the others on an item.

    Attributes:
        answers: answers that could be judged so.
        early: share of good ones in the first half of the person's time, NaN with fewer than two answers.
        late: the same in the second half.
        z: how far the good answers stand towards the end (above 0: learning; below: fatigue), in standard deviations
            of their rank sum; 0 where all are good or none.
        p: two-sided rank-sum test (Wilcoxon's) of good answers against the others in order of time; NaN with fewer than
            six answers, or where all are good or none.
    """

    answers: int
    early: float
    late: float
    z: float
    p: float


@dataclass(frozen=True, slots=True)
class PooledDrift:
    """All people together: the sum of their rank sums, each around its own expectation (van Elteren's test).

    Attributes:
        annotators: how many people could be tested.
        z: above 0 the pool learns as it works, below 0 it tires.
        p: two-sided, normal.
    """

    annotators: int
    z: float
    p: float


def drift(work: Work) -> tuple[list[Drift], PooledDrift]:
    """Learning and fatigue of every annotator, and of all together.

    Args:
        work: the answers, controls included.

    Returns:
        One `Drift` an annotator in the order of their codes, and the pooled test.
    """
    beside = sharing(work)
    controls = np.flatnonzero(work.control)
    row = np.concatenate((beside.row, controls))
    good = np.concatenate((beside.with_most, work.correct[controls]))
    person = work.votes.annotator[row]
    ranked = np.lexsort((work.order[row], person))
    bounds = np.searchsorted(person[ranked], np.arange(work.votes.annotators + 1))
    result, total, variance, tested = [], 0.0, 0.0, 0
    for code in range(work.votes.annotators):
        mine = ranked[bounds[code] : bounds[code + 1]]
        one, excess, spread = _of_one(work.order[row[mine]], good[mine])
        result.append(one)
        if not math.isnan(one.p):
            # Divided by the number of answers, so that one tireless person does not speak for all.
            total += excess / mine.size
            variance += (spread / mine.size) ** 2
            tested += 1
    z = total / math.sqrt(variance) if variance > 0 else 0.0
    p = 2 * normal_below(-abs(z)) if tested else float("nan")
    return result, PooledDrift(tested, z, p)


def _of_one(order: FloatArray, good: NDArray[np.bool_]) -> tuple[Drift, float, float]:
    """One person's drift, the excess of the rank sum over its expectation, and its standard deviation."""
    n, k = int(good.size), int(good.sum())
    if n < 2:
        return Drift(n, float("nan"), float("nan"), 0.0, float("nan")), 0.0, 0.0
    early, late = float(good[: n // 2].mean()), float(good[n // 2 :].mean())
    doubled = _doubled_ranks(order)
    excess = float(doubled[good].sum()) / 2 - k * (n + 1) / 2
    spread = math.sqrt(k * (n - k) / (n - 1) * float((doubled / 2).var())) if 0 < k < n else 0.0
    if n < FEWEST_ANSWERS or spread == 0.0:
        return Drift(n, early, late, 0.0, float("nan")), 0.0, 0.0
    if n <= EXACT_ANSWERS:
        p = _exact(tuple(doubled.tolist()), k, int(doubled[good].sum()))
    else:
        p = 2 * normal_below(-max(0.0, abs(excess) - 0.5) / spread)
    return Drift(n, early, late, excess / spread, min(1.0, p)), excess, spread


def _doubled_ranks(order: FloatArray) -> NDArray[np.int64]:
    """Twice the mid-ranks of the times: integers even where answers of one page tie."""
    _, inverse, count = np.unique(order, return_inverse=True, return_counts=True)
    before = np.cumsum(count) - count
    return (2 * before + count + 1)[inverse].astype(np.int64)


@lru_cache(maxsize=1024)
def _rank_sums(doubled: tuple[int, ...], k: int) -> FloatArray:
    """How likely each sum of `k` of these doubled ranks is, every choice of `k` alike."""
    ways = np.zeros((k + 1, sum(doubled) + 1))
    ways[0, 0] = 1.0
    for rank in doubled:
        ways[1:, rank:] += ways[:-1, : ways.shape[1] - rank].copy()
    return np.asarray(ways[k] / ways[k].sum())


def _exact(doubled: tuple[int, ...], k: int, total: int) -> float:
    chances = _rank_sums(tuple(sorted(doubled)), k)
    middle = k * (len(doubled) + 1)
    far = np.abs(np.arange(chances.size) - middle) >= abs(total - middle)
    return float(chances[far].sum())
