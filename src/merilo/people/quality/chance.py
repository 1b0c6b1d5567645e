"""Null distributions and multiple-testing correction over annotators."""

from __future__ import annotations

import math

import numpy as np

from merilo.statistics.arrays import FloatArray
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
