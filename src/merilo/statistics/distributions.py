"""Binomial tails and quantiles of Student's t and chi-squared distributions, computed by `scipy.special`.

`import scipy` takes milliseconds. It loads `scipy.special` on first use, so commands that compute no interval start
faster.
"""

from __future__ import annotations

from math import isinf
from statistics import NormalDist

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


def quantile_of(probability: float, freedom: float) -> float:
    """Compute a quantile of Student's t distribution, or of the normal distribution if `freedom` is infinite.

    Example:
        >>> round(quantile_of(0.975, float("inf")), 3)
        1.96
    """
    return NormalDist().inv_cdf(probability) if isinf(freedom) else student_quantile(probability, freedom)


def student_above(statistic: float, freedom: float) -> float:
    """Compute the probability that a variable with Student's t distribution is above `statistic`.

    Args:
        statistic: the statistic; may be infinite.
        freedom: degrees of freedom, above 0, not necessarily whole.

    Example:
        >>> round(student_above(2.776, 4), 3)
        0.025
    """
    if isinf(statistic):
        return 0.0 if statistic > 0 else 1.0
    return float(scipy.special.stdtr(freedom, -statistic))


def noncentral_above(statistic: float, freedom: float, shift: float) -> float:
    """Compute the probability that a noncentral t variable is above `statistic`: the power of a t test.

    Above 10,000 degrees of freedom the normal distribution is used.

    Args:
        statistic: the critical value.
        freedom: degrees of freedom, above 0.
        shift: the noncentrality parameter: the true value in standard errors.

    Example:
        >>> round(noncentral_above(student_quantile(0.975, 20), 20, 2.945), 2)
        0.8
    """
    if freedom > 10_000:
        return NormalDist().cdf(shift - statistic)
    return 1.0 - float(scipy.special.nctdtr(freedom, shift, statistic))


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


def limited_freedom(freedom: float, annotators: int) -> float:
    """Limit degrees of freedom to the number of annotators minus 1, and to at least 1.

    Satterthwaite's degrees of freedom can be as large as the number of items if the estimated variance
    between annotators is 0 by chance. Surveys use the number of sampled clusters minus 1; here the clusters
    are the annotators. With one annotator the variance is over items alone, and its degrees of freedom stay.

    Args:
        freedom: the degrees of freedom by Satterthwaite's formula.
        annotators: the number of annotators.

    References:
        E. Korn, B. Graubard (1998), Confidence intervals for proportions with small expected number of positive
        counts estimated from survey data. Survey Methodology 24, 193-201.

    Example:
        >>> limited_freedom(80.0, 3), limited_freedom(17.5, 24), limited_freedom(80.0, 1)
        (2.0, 17.5, 80.0)
    """
    return max(min(freedom, float(annotators - 1)) if annotators > 1 else freedom, 1.0)
