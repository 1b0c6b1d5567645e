"""Ranks of many respondents on the same items: all pairs at once, and for each respondent the range of its rank.

Each pair is tested by the statistic of two models in `crossed_difference`, computed for all pairs by products of
matrices: a hundred models on twenty datasets are about a hundred thousand pairs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf
from typing import Final, NamedTuple

import numpy as np
import scipy.special
from numpy.typing import NDArray

from merilo.statistics import FloatArray
from merilo.statistics.crossed_difference import FLOOR, LEAST, MOST_WIDENED, SYMMETRIC
from merilo.statistics.intervals import (
    ASSUMED_CORRELATION,
    assumed_cluster_effect,
    cluster_count,
    quantile_of,
    wilson_form,
)
from merilo.statistics.paired_tests import SAME, holm

#: The simultaneous error rate of all ranges of one table.
ALPHA: Final = 0.05


@dataclass(frozen=True, slots=True)
class AllPairs:
    """The differences of every two of m respondents.

    Attributes:
        value: shape (m, m), the score of the row's respondent less that of the column's on their common items; NaN
            without a common item.
        variance: shape (m, m), the variance of the difference over items.
        freedom: shape (m, m), its degrees of freedom.
        p: shape (m, m), the two-sided p-value of no difference; 1 without a common item.
    """

    value: FloatArray
    variance: FloatArray
    freedom: FloatArray
    p: FloatArray


class RankRange(NamedTuple):
    """The smallest and the largest rank that a respondent may have, 1 is the best."""

    best: int
    worst: int


def all_pairs(scores: FloatArray, clusters: NDArray[np.integer] | None = None) -> AllPairs:
    """Compare every two respondents by their scores on the items that both answered.

    The p-values are those of `crossed_difference(first, second, NO_ANNOTATORS, clusters=clusters)`: McNemar's
    asymptotic test for scores of 0 and 1, otherwise Student's test, with the design effect of clusters.

    Args:
        scores: shape (m, n), the contribution of each of n items to the score of m respondents; NaN for an item
            without an answer. For a metric that is not a mean over items, the contributions are its influences.
        clusters: shape (n,), codes of the clusters of items; by default, items are independent.

    Example:
        >>> pairs = all_pairs(np.array([[1.0, 1, 1, 0, 1, 1, 1, 1], [0.0, 0, 0, 0, 0, 0, 1, 1]]))
        >>> float(pairs.value[0, 1]), round(float(pairs.p[0, 1]), 4)
        (0.625, 0.0253)
    """
    size = scores.shape[0]
    answered = ~np.isnan(scores)
    found = AllPairs(
        np.full((size, size), np.nan), np.ones((size, size)), np.ones((size, size)), np.ones((size, size))
    )
    if not size:
        return found
    if answered.all():
        groups, of_row = answered[:1], np.zeros(size, dtype=np.int64)
    else:
        groups, of_row = np.unique(answered, axis=0, return_inverse=True)
        of_row = of_row.ravel()
    for first in range(groups.shape[0]):
        for second in range(first, groups.shape[0]):
            items = np.flatnonzero(groups[first] & groups[second])
            if not items.size:
                continue
            rows = np.flatnonzero((of_row == first) | (of_row == second))
            block = _complete_pairs(
                scores[np.ix_(rows, items)], None if clusters is None else clusters[items]
            )
            cross = (of_row[rows][:, None] == first) & (of_row[rows][None, :] == second)
            cross |= cross.T
            target = np.ix_(rows, rows)
            for name in AllPairs.__slots__:
                whole, part = getattr(found, name), getattr(block, name)
                whole[target] = np.where(cross, part, whole[target])
    np.fill_diagonal(found.value, 0.0)
    np.fill_diagonal(found.p, 1.0)
    return found


def mean_of_pairs(parts: Sequence[AllPairs]) -> AllPairs:
    """Compare respondents by the mean of their scores on several datasets with items of their own.

    Args:
        parts: the comparison on each dataset, all of the same respondents; at least one.

    References:
        F. Satterthwaite (1946), An approximate distribution of estimates of variance components. Biometrics 2, 110-114
        (degrees of freedom of a sum of variances).
    """
    value = np.mean([one.value for one in parts], axis=0)
    variances = np.array([one.variance for one in parts]) / len(parts) ** 2
    freedoms = np.array([one.freedom for one in parts])
    variance = variances.sum(axis=0)
    doubt = (variances**2 / freedoms).sum(axis=0)
    freedom = np.maximum(variance**2 / np.where(doubt > 0, doubt, np.inf), 1.0)
    freedom = np.where(doubt > 0, freedom, np.inf)
    p = _two_sided(value / np.sqrt(variance), freedom)
    np.fill_diagonal(p, 1.0)
    return AllPairs(value, variance, freedom, np.where(np.isnan(p), 1.0, p))


def rank_ranges(pairs: AllPairs, alpha: float = ALPHA) -> list[RankRange]:
    """Compute the range of every respondent's rank from the significant differences.

    The p-values of all pairs are corrected by Holm's method. A respondent's best rank is 1 plus the number of those who
    score significantly higher, its worst rank is the number of respondents less those who score significantly lower.
    If no pair is told the wrong way round, every true rank is inside its range, so that all ranges together hold with
    probability 1 - `alpha` or more.

    Args:
        pairs: the comparison of every two respondents.
        alpha: the probability that any of the ranges misses the respondent's rank.

    Returns:
        The range of each respondent, in the order of the rows.

    References:
        M. Klein, T. Wright, J. Wieczorek (2020), A joint confidence region for an overall ranking of populations.
        J. Royal Statistical Society C 69, 589-606 (ranges of ranks that hold together).

    Example:
        >>> scores = np.array([[1.0] * 60, [1.0] * 58 + [0.0] * 2, [0.0] * 60])
        >>> [tuple(one) for one in rank_ranges(all_pairs(scores))]
        [(1, 2), (1, 2), (3, 3)]
    """
    size = pairs.value.shape[0]
    above = told_apart(pairs, alpha)
    better, worse = above.sum(axis=0), above.sum(axis=1)
    return [RankRange(1 + int(better[one]), size - int(worse[one])) for one in range(size)]


def told_apart(pairs: AllPairs, alpha: float = ALPHA) -> NDArray[np.bool_]:
    """Return for each pair whether the row's respondent scores significantly higher than the column's, shape (m, m)."""
    size = pairs.value.shape[0]
    upper = np.triu_indices(size, 1)
    corrected = np.ones((size, size))
    corrected[upper] = holm(pairs.p[upper].tolist())
    corrected = np.minimum(corrected, corrected.T)
    return np.asarray((corrected <= alpha) & (np.nan_to_num(pairs.value) > 0))


def _complete_pairs(scores: FloatArray, clusters: NDArray[np.integer] | None) -> AllPairs:
    """Compare every two of m respondents who all answered the same n items."""
    size, n = scores.shape
    means = scores.mean(axis=1)
    value = np.subtract.outer(means, means)
    value[np.abs(value) < SAME] = 0.0
    centred = scores - means[:, None]
    squares = _apart(centred)
    effect, freedom = _cluster_effects(centred, squares, squares + n * value**2, clusters)
    alone = squares / (n - 1) / n if n > 1 else np.ones((size, size))
    variance = np.maximum(alone * effect, (FLOOR / n) ** 2 * effect)
    binary = np.isin(scores, (0.0, 1.0)).all(axis=1)
    both = np.logical_and.outer(binary, binary)
    by_cluster = bool(np.isfinite(freedom).any())
    of_items = np.where(np.isinf(freedom), float(max(n - 1, 1)), freedom)
    with np.errstate(divide="ignore", invalid="ignore"):
        apart = squares + n * value**2
        rights = np.where(apart > 0, n * value / np.sqrt(np.where(apart > 0, apart, 1.0) * effect), 0.0)
        if by_cluster:
            rest = 1 / rights**2 - effect / n
            student = np.where(rest > 0, np.sqrt((1 - 1 / n) / np.where(rest > 0, rest, 1.0)), np.inf)
            rights = np.where(rights == 0, 0.0, np.copysign(student, rights))
        students = _without_skewness(value / np.sqrt(variance), _skewness(centred, variance, n))
        statistic = np.where(both, rights, students)
    p = _two_sided(statistic, np.where(both, freedom, of_items))
    if clusters is not None and n > 1 and cluster_count(clusters) == 1:
        # One cluster shows nothing of the variance between clusters; a mean of datasets takes the assumed one.
        p = np.ones_like(p)
    return AllPairs(value, variance, of_items, p)


def _apart(centred: FloatArray) -> FloatArray:
    """Return the sum of squared differences of every two rows."""
    products = centred @ centred.T
    own = np.diag(products)
    squares = np.maximum(own[:, None] + own[None, :] - 2 * products, 0.0)
    squares[squares < SAME] = 0.0
    return np.asarray(squares)


def _cluster_effects(
    centred: FloatArray, squares: FloatArray, counts: FloatArray, clusters: NDArray[np.integer] | None
) -> tuple[FloatArray, FloatArray]:
    """Return `intervals.cluster_robust_effect` of the differences of every pair; infinite freedom without clusters.

    The degrees of freedom are a ratio of polynomials in the correlation within clusters, whose coefficients depend on
    the clusters' sizes alone.

    Args:
        centred: shape (m, n), the scores less their means.
        squares: shape (m, m), the sums of squared deviations of the differences.
        counts: shape (m, m), the sums of squared differences.
        clusters: shape (n,), codes.
    """
    n = centred.shape[1]
    free = np.full_like(squares, np.inf)
    if clusters is None:
        return np.ones_like(squares), free
    _, codes, each = np.unique(clusters, return_inverse=True, return_counts=True)
    groups = each.shape[0]
    if groups == n:
        return np.ones_like(squares), free
    if groups == 1:
        return np.full_like(squares, assumed_cluster_effect(codes)), np.ones_like(squares)
    sizes = each.astype(np.float64)
    share, weighted = sizes / n, float(sizes @ sizes) / n
    scale = 1 / (1 - share)
    sums = np.zeros((centred.shape[0], groups))
    np.add.at(sums.T, codes, centred.T)
    between = _apart(sums * np.sqrt(scale))
    known = squares > 0
    effect = np.where(
        known, between / np.where(known, squares, 1.0) * (n - 1) / n, assumed_cluster_effect(codes)
    )
    shown = np.clip((effect - 1) / (weighted - 1), 0.0, 1.0) if weighted > 1 else np.zeros_like(effect)
    c = np.where(known, shown, ASSUMED_CORRELATION)
    # The covariances of `cluster_robust_effect`: each is a polynomial in the correlation c, lowest power first.
    own = np.array([sizes, sizes**2 - sizes])
    total = own.sum(axis=1)
    diagonal = share**2 * total[:, None] - 2 * share * own
    shares, mixed, trace = float(scale @ share**2), own @ (scale * share), (own + diagonal) @ scale
    squared = np.polynomial.polynomial.polymul
    both = 2 * shares * _summed(own, scale) + 2 * squared(mixed, mixed) + shares**2 * squared(total, total)
    both = both - 4 * shares * squared(total, mixed)
    both = both + _summed(own + diagonal, scale**2) - _summed(diagonal, scale**2)
    freedom = np.polynomial.polynomial.polyval(c, trace) ** 2 / np.polynomial.polynomial.polyval(c, both)
    effect = np.maximum(effect, LEAST / np.maximum(counts, LEAST))
    return effect, np.maximum(np.minimum(freedom, float(groups - 1)), 1.0)


def _summed(lines: FloatArray, weight: FloatArray) -> FloatArray:
    """Return the coefficients of the weighted sum of squares of first-degree polynomials, shape (2, clusters)."""
    first, second = lines
    return np.array([weight @ first**2, 2 * weight @ (first * second), weight @ second**2])


def _skewness(centred: FloatArray, variance: FloatArray, n: int) -> FloatArray:
    """Return the third cumulant of each pair's mean difference, divided by the third power of its standard error."""
    square = centred * centred
    third = (square * centred).sum(axis=1)
    mixed = square @ centred.T
    cubes = third[:, None] - 3 * mixed + 3 * mixed.T - third[None, :]
    return np.asarray(cubes / n**3 / (variance * np.sqrt(variance)))


def _without_skewness(statistic: FloatArray, skewness: FloatArray) -> FloatArray:
    """Apply `crossed_difference._without_skewness` to every pair."""
    kept = (np.abs(skewness) < SYMMETRIC) | (skewness * statistic >= 0) | ~np.isfinite(statistic)
    moved = statistic + skewness * statistic**2 / 3 + skewness**2 * statistic**3 / 27 + skewness / 6
    moved = np.where(statistic < 0, np.minimum(moved, 0.0), np.maximum(moved, 0.0))
    least = statistic / MOST_WIDENED
    moved = np.where(np.abs(moved) < np.abs(least), least, moved)
    return np.where(kept | (np.abs(moved) >= np.abs(statistic)), statistic, moved)


def _two_sided(statistic: FloatArray, freedom: FloatArray) -> FloatArray:
    far = -np.abs(statistic)
    normal = np.isinf(freedom)
    tail = np.where(normal, scipy.special.ndtr(far), scipy.special.stdtr(np.where(normal, 1.0, freedom), far))
    return np.asarray(np.minimum(2 * tail, 1.0))


def total_interval(parts: Sequence[tuple[float, float, float]]) -> tuple[float, float, float]:
    """Compute the mean of independent estimates and its interval from their intervals.

    The standard error of each estimate is taken from the width of its interval, which does not shrink to 0 at 0 or 1.
    The interval of a mean between 0 and 1 is Wilson's form with the number of items that gives the mean's standard
    error, inside the means of the estimates' bounds; otherwise the distances of the bounds from the estimates are added
    as independent errors.

    Args:
        parts: estimate, lower and upper bound of the 95 % interval of each dataset; at least one.

    Returns:
        The mean with its lower and upper bound.

    Example:
        >>> mean, low, high = total_interval([(0.5, 0.4, 0.6), (0.9, 0.8, 0.95)])
        >>> round(mean, 3), round(low, 3), round(high, 3)
        (0.7, 0.634, 0.758)
    """
    n = len(parts)
    mean = sum(value for value, _, _ in parts) / n
    if n == 1:
        return parts[0]
    quantile = quantile_of(0.975, inf)
    variance = sum(((high - low) / (2 * quantile)) ** 2 for _, low, high in parts) / n**2
    if 0 < mean < 1 and variance > 0:
        low, high = wilson_form(mean, mean * (1 - mean) / variance, quantile)
        return (
            mean,
            max(low, sum(one for _, one, _ in parts) / n),
            min(high, sum(one for _, _, one in parts) / n),
        )
    below = sum((value - low) ** 2 for value, low, _ in parts) ** 0.5 / n
    above = sum((high - value) ** 2 for value, _, high in parts) ** 0.5 / n
    return mean, mean - below, mean + above
