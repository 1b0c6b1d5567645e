"""Each annotator compared with all others on the same items, and whether the answers change over time."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from merilo.people.quality import Work
from merilo.people.votes import run_starts
from merilo.statistics import FloatArray
from merilo.statistics.paired_tests import holm


def normal_below(z: float) -> float:
    """P(Z <= z) for a standard normal Z."""
    return 0.5 * math.erfc(-z / math.sqrt(2.0))


def holm_of_tested(p: FloatArray) -> FloatArray:
    """Compute Holm's adjusted p-values over the annotators who could be tested.

    Args:
        p: shape (m,); NaN means "not tested" and is not part of the family.

    Returns:
        Shape (m,), NaN if `p` is NaN.

    Example:
        >>> holm_of_tested(np.array([0.01, 0.04, np.nan, 0.03])).round(2).tolist()
        [0.03, 0.06, nan, 0.06]
    """
    adjusted = np.full(p.shape, np.nan)
    tested = ~np.isnan(p)
    adjusted[tested] = holm(p[tested].tolist())
    return adjusted


#: Shares are counted in sixtieths: exact for 2 to 7 answers per item, and a lattice on which convolution is fast.
STEPS = 60

#: Up to this many items per annotator and this many answers in total the null distribution is exact; beyond, the
#: normal approximation is used.
EXACT_ITEMS, EXACT_ANSWERS = 500, 50_000

FEWEST_ITEMS = 3


@dataclass(frozen=True, slots=True)
class PeerAgreement:
    """One annotator's agreement with the others.

    Attributes:
        items: items that at least one other annotator answered.
        agreement: mean share of the others who gave the same answer, NaN without such items.
        expected: the expected agreement of an annotator drawn at random from those who answered the same items.
        p: one-sided p-value: probability of agreement this low or lower if the annotator's answers were like the
            others'; NaN with fewer than three items.
    """

    items: int
    agreement: float
    expected: float
    p: float


@dataclass(frozen=True, slots=True)
class Sharing:
    """Each answer compared with the other answers to its item.

    Attributes:
        row: shape (m,), rows of the work: first answers to items that at least one other annotator answered.
        share: shape (m,), share of the others who gave the same answer.
        with_most: shape (m,), true if the answer is (one of) the most common among the others.
    """

    row: NDArray[np.int64]
    share: FloatArray
    with_most: NDArray[np.bool_]


def sharing(work: Work) -> Sharing:
    """Compare every answer with the other annotators' answers to the same item (controls are left out)."""
    rows = work.rows_of_items()
    votes = work.votes.where(np.isin(np.arange(len(work)), rows))
    tally, own = votes.tally(), votes.agreeing()
    answers = np.bincount(votes.item, minlength=votes.items)[votes.item]
    top, second = np.zeros((2, votes.items), np.int64)
    ranked = np.lexsort((tally.votes, tally.item))
    item, count = tally.item[ranked], tally.votes[ranked]
    last = np.r_[run_starts(item)[1:], item.size] - 1 if item.size else np.zeros(0, np.intp)
    top[item[last]] = count[last]
    several = last[(last > 0) & (item[last - 1] == item[last])]
    second[item[several]] = count[several - 1]
    # Among the others, the annotator's own label has one vote less; the other labels keep all their votes.
    rival = np.where(own == top[votes.item], second[votes.item], top[votes.item])
    shared = answers > 1
    share = (own - 1)[shared] / (answers - 1)[shared]
    return Sharing(rows[shared], share, (own - 1 >= rival)[shared])


def peer_agreement(work: Work) -> list[PeerAgreement]:
    """Compute leave-one-out agreement of every annotator, with an exact test against the others on the same items.

    The null hypothesis: on each item the annotator's answer is equally likely to be any of the answers given to it.
        Then the share of the others who agree is a draw from the shares of that item, and the distribution of the sum
        over items is a convolution.

    Args:
        work: the answers; controls are left out.

    Returns:
        One `PeerAgreement` per annotator, in the order of their codes.
    """
    beside = sharing(work)
    item = work.votes.item[beside.row].astype(np.int64)
    person = work.votes.annotator[beside.row]
    by_item = np.argsort(item, kind="stable")
    starts = np.searchsorted(item[by_item], np.arange(work.votes.items + 1))
    steps = np.rint(beside.share * STEPS).astype(np.int64)
    n = np.maximum(1, np.diff(starts))
    mean = np.bincount(item, steps, work.votes.items) / n
    variance = np.bincount(item, steps.astype(np.float64) ** 2, work.votes.items) / n - mean**2
    by_person = np.argsort(person, kind="stable")
    bounds = np.searchsorted(person[by_person], np.arange(work.votes.annotators + 1))
    exact = beside.row.size <= EXACT_ANSWERS
    shares = _shares_of_items(steps[by_item], starts) if exact else []
    result = []
    for code in range(work.votes.annotators):
        mine = by_person[bounds[code] : bounds[code + 1]]
        if mine.size == 0:
            result.append(PeerAgreement(0, float("nan"), float("nan"), float("nan")))
            continue
        own, items = int(steps[mine].sum()), item[mine]
        expected, spread = float(mean[items].sum()), float(np.sqrt(max(0.0, variance[items].sum())))
        if mine.size < FEWEST_ITEMS:
            p = float("nan")
        elif exact and mine.size <= EXACT_ITEMS:
            p = _at_most(own, [shares[i] for i in items.tolist()])
        else:
            p = normal_below((own + 0.5 - expected) / spread) if spread > 0 else 1.0
        result.append(
            PeerAgreement(int(mine.size), float(beside.share[mine].mean()), expected / (STEPS * mine.size), p)
        )
    return result


def _shares_of_items(steps: NDArray[np.int64], starts: NDArray[np.intp]) -> list[list[tuple[int, float]]]:
    """For each item, every distinct value of its answers with its probability, ascending.

    Args:
        steps: shape (n,), the values, grouped by item.
        starts: shape (items + 1,), the start of each item's values.
    """
    values = steps.tolist()
    result = []
    for start, end in pairwise(starts.tolist()):
        counts = Counter(values[start:end])
        result.append([(value, counts[value] / (end - start)) for value in sorted(counts)])
    return result


def _at_most(total: int, draws: Sequence[Sequence[tuple[int, float]]]) -> float:
    """P(sum <= total), the sum made of one draw from each list of (value, probability), values ascending."""
    chances = np.ones(1)
    for values in draws:
        grown = np.zeros(chances.size + values[-1][0])
        for value, chance in values:
            grown[value : value + chances.size] += chances * chance
        chances = grown
    return min(1.0, float(chances[: total + 1].sum()))


#: Up to this many answers of an annotator the rank-sum distribution is exact; beyond, normal with a
#: correction for ties.
EXACT_RANKS = 20

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
    if n <= EXACT_RANKS:
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
