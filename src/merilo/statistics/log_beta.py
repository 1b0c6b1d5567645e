"""The logarithm of the beta function, for whole arrays, without the cost of loading SciPy."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

FloatArray = NDArray[np.float64]

#: Stirling's series is used from here on; smaller arguments are raised by as much.
_LARGE: Final = 10.0

#: Coefficients of 1 / x, 1 / x^3, ... in Stirling's series.
_SERIES: Final = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360, 1 / 156)

_HALF_LOG_TWO_PI: Final = 0.5 * float(np.log(2 * np.pi))


def log_gamma(x: ArrayLike) -> FloatArray:
    """The logarithm of the gamma function.

    Args:
        x: any shape, above 0.

    Returns:
        The same shape; absolute error below 1e-13 up to 100, and relative error below 1e-14 beyond.

    References:
        M. Abramowitz, I. Stegun, Handbook of Mathematical Functions (1964), 6.1.15 and 6.1.41.

    Example:
        >>> round(float(log_gamma(5.0)), 12) == round(float(np.log(24)), 12)
        True
    """
    value = np.asarray(x, dtype=np.float64)
    small = value < _LARGE
    raised = np.where(small, value + _LARGE, value)
    product = np.ones_like(value)
    for step in range(int(_LARGE)):
        product = np.where(small, product * (value + step), product)
    inverse = 1 / raised
    square, series = inverse * inverse, np.zeros_like(raised)
    for coefficient in reversed(_SERIES):
        series = series * square + coefficient
    stirling = (raised - 0.5) * np.log(raised) - raised + _HALF_LOG_TWO_PI + series * inverse
    return np.asarray(stirling - np.log(product), dtype=np.float64)


def log_beta(a: ArrayLike, b: ArrayLike) -> FloatArray:
    """The logarithm of the beta function of `a` and `b`, both above 0; shapes are broadcast."""
    first, second = np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64)
    return np.asarray(log_gamma(first) + log_gamma(second) - log_gamma(first + second))
