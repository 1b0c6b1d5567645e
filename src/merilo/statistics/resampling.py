"""Drawing again from what was seen: bootstrap means, and the signs and swaps of permutation tests."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np

from merilo.statistics.arrays import FloatArray
from merilo.statistics.intervals import DRAWS_AT_ONCE

#: Up to so many different values a resample is drawn as counts of values, which costs nothing per item.
FEW_VALUES: Final = 64


def resampled_means(values: FloatArray, rng: np.random.Generator, resamples: int) -> FloatArray:
    """Means of bootstrap samples.

    A sample of n draws with replacement has the mean of its values' counts, and these counts are multinomial. Where
    there are few different values (right and wrong), the counts are drawn; otherwise the draws are.

    Args:
        values: shape (n,), n at least 1.
        rng: where the randomness comes from.
        resamples: how many samples to draw.

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
    means = np.empty(resamples)
    for rows in _rows(resamples, n):
        drawn = rng.integers(0, n, size=(rows.stop - rows.start, n), dtype=np.int32)
        means[rows] = values[drawn].mean(axis=1)
    return means


def random_signs(n: int, rng: np.random.Generator, resamples: int) -> Iterator[tuple[slice, FloatArray]]:
    """Matrices of random signs, a row a permutation, in pieces that fit in memory.

    Args:
        n: how many signs a permutation has.
        rng: where the randomness comes from.
        resamples: how many permutations there are.

    Yields:
        Which permutations, and their signs, -1.0 or 1.0, shape (rows, n).
    """
    for rows in _rows(resamples, n):
        flips = rng.integers(0, 2, size=(rows.stop - rows.start, n), dtype=np.int8)
        yield rows, 2.0 * flips.astype(np.float64) - 1.0


def _rows(resamples: int, width: int) -> Iterator[slice]:
    """Slices of the resamples so that no piece has more than `DRAWS_AT_ONCE` cells."""
    step = max(1, DRAWS_AT_ONCE // max(width, 1))
    for start in range(0, resamples, step):
        yield slice(start, min(start + step, resamples))
