"""Learning and fatigue: whether an annotator's answers get better or worse over time."""

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

#: Up to this many answers the rank-sum distribution is exact; beyond, normal with a correction for ties.
EXACT_ANSWERS = 20

FEWEST_ANSWERS = 6


@dataclass(frozen=True, slots=True)
class Drift:
    """How one annotator's answers change over time.

    An answer is good if it is correct on a control, or the most common one among the others on an item.

    Attributes:
        answers: answers that could be judged in this way.
        early: share of good answers in the first half of the annotator's time, NaN with fewer than two answers.
        late: the same in the second half.
        z: how much later the good answers come than expected (above 0: learning; below 0: fatigue), in standard
            deviations of their rank sum; 0 if all or none are good.
        p: two-sided rank-sum test (Wilcoxon's) of good answers against the others in order of time; NaN with fewer
            than
        six answers, or if all or none are good.
    """

    answers: int
    early: float
    late: float
    z: float
    p: float


@dataclass(frozen=True, slots=True)
class PooledDrift:
    """The drift of all annotators together: van Elteren's test, the stratified rank-sum test.

    Attributes:
        annotators: how many annotators could be tested.
        z: above 0: learning; below 0: fatigue.
        p: two-sided p-value, by the normal approximation.
    """

    annotators: int
    z: float
    p: float


def drift(work: Work) -> tuple[list[Drift], PooledDrift]:
    """Test for learning and fatigue of every annotator, and of all together.

    Args:
        work: the answers, controls included.

    Returns:
        One `Drift` per annotator in the order of their codes, and the pooled test.
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
            # Divided by the number of answers, so that one very active annotator does not dominate.
            total += excess / mine.size
            variance += (spread / mine.size) ** 2
            tested += 1
    z = total / math.sqrt(variance) if variance > 0 else 0.0
    p = 2 * normal_below(-abs(z)) if tested else float("nan")
    return result, PooledDrift(tested, z, p)


def _of_one(order: FloatArray, good: NDArray[np.bool_]) -> tuple[Drift, float, float]:
    """Compute one annotator's drift, the excess of the rank sum over its expectation, and its standard deviation."""
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
    """Compute twice the mid-ranks of the times, which are integers even if answers of one page tie."""
    _, inverse, count = np.unique(order, return_inverse=True, return_counts=True)
    before = np.cumsum(count) - count
    return (2 * before + count + 1)[inverse].astype(np.int64)


@lru_cache(maxsize=1024)
def _rank_sums(doubled: tuple[int, ...], k: int) -> FloatArray:
    """Probability of each sum of `k` of these doubled ranks, all choices of `k` being equally likely."""
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
