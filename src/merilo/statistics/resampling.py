"""Resampling: bootstrap means, and the random signs of permutation tests."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np

from merilo.statistics.arrays import FloatArray
from merilo.statistics.intervals import DRAWS_AT_ONCE

#: With at most this many distinct values, a resample is drawn as counts of values, at a cost independent of n.
FEW_VALUES: Final = 64


def resampled_means(values: FloatArray, rng: np.random.Generator, resamples: int) -> FloatArray:
    """Compute the means of bootstrap samples.

    The mean of a bootstrap sample depends only on how often each value was drawn, and these counts are multinomial. With
    few distinct values (0 and 1, for example) the counts are drawn; otherwise the single values are. The order of the values
    makes no difference, so an interval does not depend on the names by which annotators are sorted.

    Args:
        values: shape (n,), n at least 1.
        rng: the random generator.
        resamples: the number of bootstrap samples.

    Returns:
        Shape (resamples,).

    Example:
        >>> means = resampled_means(np.array([0.0, 0.0, 1.0, 1.0]), np.random.default_rng(0), 5000)
        >>> round(float(means.mean()), 1), round(float(4 * means.std()), 1)
        (0.5, 1.0)
    """
    n = values.shape[0]
    distinct, counts = np.unique(values, return_counts=True)
    if distinct.shape[0] <= FEW_VALUES:
        drawn_counts: FloatArray = rng.multinomial(n, counts / n, size=resamples).astype(np.float64)
        return np.asarray(drawn_counts @ distinct / n)
    ordered = np.sort(values)
    means = np.empty(resamples)
    for rows in _rows(resamples, n):
        drawn = rng.integers(0, n, size=(rows.stop - rows.start, n), dtype=np.int32)
        means[rows] = ordered[drawn].mean(axis=1)
    return means


def random_signs(n: int, rng: np.random.Generator, resamples: int) -> Iterator[tuple[slice, FloatArray]]:
    """Generate random signs for a permutation test, one permutation a row, in blocks that fit in memory.

    Args:
        n: the number of signs in a permutation.
        rng: the random generator.
        resamples: the number of permutations.

    Yields:
        The slice of permutations, and their signs, -1.0 or 1.0, shape (rows, n).
    """
    for rows in _rows(resamples, n):
        flips = rng.integers(0, 2, size=(rows.stop - rows.start, n), dtype=np.int8)
        yield rows, 2.0 * flips.astype(np.float64) - 1.0


def _rows(resamples: int, width: int) -> Iterator[slice]:
    """Split the resamples into slices of at most `DRAWS_AT_ONCE` cells."""
    step = max(1, DRAWS_AT_ONCE // max(width, 1))
    for start in range(0, resamples, step):
        yield slice(start, min(start + step, resamples))
