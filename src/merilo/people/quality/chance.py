"""What chance alone would do, for many people at once."""

from __future__ import annotations

import math

import numpy as np

from merilo.statistics.arrays import FloatArray
from merilo.statistics.comparison import holm


def normal_below(z: float) -> float:
    """P(Z <= z) for a standard normal Z."""
    return 0.5 * math.erfc(-z / math.sqrt(2.0))


def holm_of_tested(p: FloatArray) -> FloatArray:
    """Holm's adjusted p-values over the people who could be tested.

    Args:
        p: shape (m,); NaN stands for "not tested" and does not count into the family.

    Returns:
        Shape (m,), NaN where `p` is NaN.

    Example:
        >>> holm_of_tested(np.array([0.01, 0.04, np.nan, 0.03])).round(2).tolist()
        [0.03, 0.06, nan, 0.06]
    """
    adjusted = np.full(p.shape, np.nan)
    tested = ~np.isnan(p)
    adjusted[tested] = holm(p[tested].tolist())
    return adjusted
