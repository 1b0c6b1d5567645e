"""The logarithm of the beta function on arrays, without SciPy: a small study must not pay for its start."""

from __future__ import annotations

import numpy as np

from merilo.people.aggregation.consensus import FloatArray

#: Arguments are moved up by so many before the series is used.
_SHIFT = 8


def log_beta(a: FloatArray, b: FloatArray) -> FloatArray:
    """Compute log B(a, b) elementwise.

    Args:
        a: above 0, any shape that broadcasts with `b`.
        b: above 0.

    Returns:
        log(gamma(a) gamma(b) / gamma(a + b)), to about ten digits.

    References:
        Stirling's series after a shift of the argument: M. Abramowitz, I. Stegun, Handbook of Mathematical Functions (1964),
        6.1.15 and 6.1.41.
    """
    result: FloatArray = _log_gamma(a) + _log_gamma(b) - _log_gamma(a + b)
    return result


def _log_gamma(x: FloatArray) -> FloatArray:
    """The logarithm of the gamma function above 0."""
    product = x.copy()
    for step in range(1, _SHIFT):
        product = product * (x + step)
    z = x + _SHIFT
    inverse = 1 / (z * z)
    series = (1 / 12 - inverse * (1 / 360 - inverse * (1 / 1260 - inverse * (1 / 1680 - inverse / 1188)))) / z
    result: FloatArray = (z - 0.5) * np.log(z) - z + 0.5 * np.log(2 * np.pi) + series - np.log(product)
    return result
