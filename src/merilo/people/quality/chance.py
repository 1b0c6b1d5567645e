"""What chance alone would do: exact binomial tails, the normal tail, and many tests at once.

Written on NumPy alone: the screening of people runs in every `merilo baseline`, and SciPy would double its start.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]


def binomial_pmf(n: int, p: float) -> FloatArray:
    """Probabilities of 0 .. n successes in `n` trials of chance `p`, shape (n + 1,).

    Example:
        >>> binomial_pmf(2, 0.5).tolist()
        [0.25, 0.5, 0.25]
    """
    if p <= 0.0 or p >= 1.0:
        certain = np.zeros(n + 1)
        certain[n if p >= 1.0 else 0] = 1.0
        return certain
    successes = np.arange(n + 1, dtype=np.float64)
    log_factorial = np.concatenate(([0.0], np.cumsum(np.log(np.arange(1, n + 1, dtype=np.float64)))))
    log_ways = log_factorial[n] - log_factorial - log_factorial[::-1]
    chances: FloatArray = np.exp(log_ways + successes * math.log(p) + (n - successes) * math.log1p(-p))
    return chances


def at_least(k: int, n: int, p: float) -> float:
    """P(X >= k) for X ~ Binomial(n, p), exact.

    Example:
        >>> round(at_least(9, 10, 0.5), 6)
        0.010742
    """
    return min(1.0, float(binomial_pmf(n, p)[max(k, 0) :].sum()))


def at_most(k: int, n: int, p: float) -> float:
    """P(X <= k) for X ~ Binomial(n, p), exact.

    Example:
        >>> round(at_most(1, 10, 0.5), 6)
        0.010742
    """
    return min(1.0, float(binomial_pmf(n, p)[: k + 1].sum()))


def normal_below(z: float) -> float:
    """P(Z <= z) for a standard normal Z."""
    return 0.5 * math.erfc(-z / math.sqrt(2.0))


def holm(p: FloatArray) -> FloatArray:
    """Holm's adjusted p-values: the family-wise error over the whole list stays below the level they are read at.

    Args:
        p: shape (m,); NaN stands for "not tested" and does not count into the family.

    Returns:
        Shape (m,), NaN where `p` is NaN.

    References:
        Holm (1979), A simple sequentially rejective multiple test procedure.

    Example:
        >>> holm(np.array([0.01, 0.04, np.nan, 0.03])).round(2).tolist()
        [0.03, 0.06, nan, 0.06]
    """
    adjusted = np.full(p.shape, np.nan)
    tested = np.flatnonzero(~np.isnan(p))
    ranked = tested[np.argsort(p[tested], kind="stable")]
    factor = np.arange(ranked.size, 0, -1)
    adjusted[ranked] = np.minimum(1.0, np.maximum.accumulate(p[ranked] * factor))
    return adjusted
