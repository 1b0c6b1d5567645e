"""The few distributions that intervals and tests need, without the half second that importing SciPy costs."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from math import exp, inf, lgamma, log, log1p, sqrt
from typing import Final

_STEPS: Final = 100_000
_TINY: Final = 1e-300
_HALVINGS: Final = 200


def regularised_beta(a: float, b: float, x: float) -> float:
    """The regularised incomplete beta function I_x(a, b), by Lentz's continued fraction.

    Args:
        a: the first shape, above 0.
        b: the second shape, above 0.
        x: where, in [0, 1].

    Returns:
        The probability that a Beta(a, b) variable is at most `x`, to about 1e-12.

    References:
        NIST Digital Library of Mathematical Functions, 8.17.22.

    Example:
        >>> round(regularised_beta(2, 3, 0.5), 4)
        0.6875
    """
    if x <= 0:
        return 0.0
    if x >= 1:
        return 1.0
    if x > (a + 1) / (a + b + 2):
        return 1.0 - regularised_beta(b, a, 1 - x)
    front = exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log1p(-x)) / a
    return min(1.0, front * _fraction(a, b, x))


def _fraction(a: float, b: float, x: float) -> float:
    """The continued fraction of I_x(a, b), evaluated forwards."""
    c, d = 1.0, 1 / _away_from_zero(1 - (a + b) * x / (a + 1))
    value = d
    for m in range(1, _STEPS):
        for term in (
            m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
            -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)),
        ):
            d = 1 / _away_from_zero(1 + term * d)
            c = _away_from_zero(1 + term / c)
            value *= c * d
        if abs(c * d - 1) < 1e-15:
            break
    return value


def _away_from_zero(number: float) -> float:
    return number if abs(number) > _TINY else _TINY


def at_least(successes: int, n: int, p: float) -> float:
    """The probability of at least `successes` of `n` independent trials that each succeed with probability `p`.

    Example:
        >>> round(at_least(2, 3, 0.5), 3)
        0.5
    """
    if successes <= 0:
        return 1.0
    if successes > n:
        return 0.0
    return regularised_beta(successes, n - successes + 1, p)


def at_most(successes: int, n: int, p: float) -> float:
    """The probability of at most `successes` of `n` independent trials that each succeed with probability `p`.

    Example:
        >>> round(at_most(0, 3, 0.5), 3)
        0.125
    """
    if successes < 0:
        return 0.0
    if successes >= n:
        return 1.0
    return regularised_beta(n - successes, successes + 1, 1 - p)


@lru_cache(maxsize=4096)
def student_cdf(t: float, freedom: float) -> float:
    """The distribution function of Student's t; the degrees of freedom need not be whole."""
    tail = regularised_beta(freedom / 2, 0.5, freedom / (freedom + t * t)) / 2
    return 1 - tail if t > 0 else tail


def student_quantile(probability: float, freedom: float) -> float:
    """The quantile of Student's t.

    Args:
        probability: in (0, 1).
        freedom: degrees of freedom, above 0, not necessarily whole.

    Example:
        >>> round(student_quantile(0.975, 4), 3)
        2.776
    """
    if probability == 0.5:
        return 0.0
    if probability < 0.5:
        return -student_quantile(1 - probability, freedom)
    # With x = freedom / (freedom + t^2) the upper tail is I_x(freedom / 2, 1 / 2) / 2, which grows with x.
    x = root(lambda at: regularised_beta(freedom / 2, 0.5, at) / 2 - (1 - probability))
    return sqrt(freedom * (1 - x) / x) if x > 0 else inf


def chi_squared_cdf(x: float, freedom: float) -> float:
    """The distribution function of chi squared, by the series of the incomplete gamma function."""
    if x <= 0:
        return 0.0
    shape, half = freedom / 2, x / 2
    if half <= 0:
        # Half of the smallest number there is, is nothing.
        return 0.0
    term = total = 1.0
    for step in range(1, _STEPS):
        term *= half / (shape + step)
        total += term
        if term < total * 1e-16:
            break
    logarithm = shape * log(half) - half - lgamma(shape + 1) + log(total)
    return min(1.0, exp(min(logarithm, 0.0)))


def chi_squared_quantile(probability: float, freedom: float) -> float:
    """The quantile of chi squared.

    Args:
        probability: in (0, 1).
        freedom: degrees of freedom, above 0, not necessarily whole.

    Example:
        >>> round(chi_squared_quantile(0.95, 1), 3)
        3.841
    """
    # With y in [0, 1] and x = freedom * y / (1 - y) the half line is searched as an interval.
    y = root(lambda at: chi_squared_cdf(freedom * at / (1 - at), freedom) - probability if at < 1 else 1.0)
    return freedom * y / (1 - y)


def root(function: Callable[[float], float]) -> float:
    """Where a function that grows on [0, 1] crosses zero: halving and the Illinois rule in turn.

    Args:
        function: grows on [0, 1]; where it is nowhere below 0 the answer is 0, where nowhere above, 1.
    """
    low, high = 0.0, 1.0
    below, above = function(low), function(high)
    if below >= 0 or above <= 0:
        return low if below >= 0 else high
    for step in range(_HALVINGS):
        if high - low <= 1e-15 * high:
            break
        middle = (low + high) / 2 if step % 3 == 2 else low - below * (high - low) / (above - below)
        value = function(middle)
        if value == 0:
            return middle
        if value < 0:
            low, below, above = middle, value, above / 2
        else:
            high, above, below = middle, value, below / 2
    return (low + high) / 2
