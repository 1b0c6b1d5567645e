"""Binomial tails and quantiles of Student's t and chi-squared distributions, computed by `scipy.special`.

`import scipy` takes milliseconds. It loads `scipy.special` on first use, so commands that compute no interval start
faster.
"""

from __future__ import annotations

import scipy


def at_least(successes: int, n: int, p: float) -> float:
    """Compute the probability of at least `successes` successes in `n` independent trials with success probability `p`.

    Example:
        >>> round(at_least(2, 3, 0.5), 3)
        0.5
    """
    if successes <= 0:
        return 1.0
    if successes > n:
        return 0.0
    return float(scipy.special.betainc(successes, n - successes + 1, p))


def at_most(successes: int, n: int, p: float) -> float:
    """Compute the probability of at most `successes` successes in `n` independent trials with success probability `p`.

    Example:
        >>> round(at_most(0, 3, 0.5), 3)
        0.125
    """
    return at_least(n - successes, n, 1 - p)


def student_quantile(probability: float, freedom: float) -> float:
    """Compute a quantile of Student's t distribution.

    Args:
        probability: in (0, 1).
        freedom: degrees of freedom, above 0, not necessarily whole.

    Example:
        >>> round(student_quantile(0.975, 4), 3)
        2.776
    """
    return float(scipy.special.stdtrit(freedom, probability))


def chi_squared_quantile(probability: float, freedom: float) -> float:
    """Compute a quantile of the chi-squared distribution.

    Args:
        probability: in (0, 1).
        freedom: degrees of freedom, above 0, not necessarily whole.

    Example:
        >>> round(chi_squared_quantile(0.95, 1), 3)
        3.841
    """
    return 2 * float(scipy.special.gammaincinv(freedom / 2, probability))
