"""Paired comparison of two respondents on the same items: difference, interval, test and detectable difference."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import product
from math import comb, copysign, inf, sqrt
from statistics import NormalDist
from typing import Final

import numpy as np
from numpy.typing import NDArray

from merilo.errors import DataError
from merilo.statistics import FloatArray
from merilo.statistics.intervals import (
    ONE_CLUSTER,
    Interval,
    at_most,
    cluster_count,
    cluster_design_effect,
    quantile_of,
    random_signs,
    student_quantile,
)

#: Random permutations drawn when there are too many to enumerate.
PERMUTATIONS: Final = 10_000
#: With at most this many differing items, all sign patterns are enumerated (65,536 at most).
EXACT_UP_TO: Final = 16
#: Smaller differences count as zero, because the rounding error of a sum depends on the order of its terms.
SAME: Final = 1e-9


@dataclass(frozen=True, slots=True)
class PairedTest:
    """The result of a test of the null hypothesis of no difference.

    Attributes:
        p: the two-sided p-value: the probability of a difference at least as large under the null hypothesis.
        method: the name of the test.
    """

    p: float
    method: str


@dataclass(frozen=True, slots=True)
class Difference:
    """The difference between two respondents on the same items.

    Attributes:
        first: the mean score of the first respondent.
        second: the mean score of the second respondent.
        n: the number of items.
        value: `second` minus `first`.
        interval: the confidence interval of the difference, over items.
        test: the test of no difference.
        better: the number of items on which the second respondent scores higher.
        worse: the number of items on which the second respondent scores lower.
        detectable: the smallest true difference that a comparison on these items detects with power 0.8; `None` if both
            respondents score the same on every item.
    """

    first: float
    second: float
    n: int
    value: float
    interval: Interval
    test: PairedTest
    better: int
    worse: int
    detectable: float | None


def compare_scores(
    first: FloatArray,
    second: FloatArray,
    *,
    clusters: NDArray[np.integer] | None = None,
    level: float = 0.95,
    seed: int = 0,
) -> Difference:
    """Compare two respondents by their scores on the same items.

    Scores of 0 and 1 are compared by McNemar's exact test, with Tango's score interval of the difference. Other scores
    are compared by the sign-flip permutation test, with Student's interval of the mean difference.

    If items form clusters, the sign-flip test flips all differences of a cluster together, for scores of 0
    and 1 too. Tango's interval takes the counts divided by `cluster_design_effect`, and both intervals have
    Student's quantile with one degree of freedom less than there are clusters.

    Args:
        first: shape (n,), n at least 1.
        second: shape (n,).
        clusters: shape (n,), codes of the clusters of items; by default, items are independent.
        level: the nominal coverage, in (0, 1).
        seed: random seed for the permutations, if they are drawn.

    Raises:
        ValueError: the arrays are empty or differ in length.
        DataError: all items belong to one cluster.

    References:
        J. Rao, A. Scott (1992), A simple method for the analysis of clustered binary data. Biometrics 48, 577-585.

    Example:
        >>> people, model = np.array([1.0] * 90 + [0.0] * 10), np.array([1.0] * 80 + [0.0] * 20)
        >>> difference = compare_scores(people, model)
        >>> round(difference.value, 2), round(difference.test.p, 4), difference.test.method
        (-0.1, 0.002, "McNemar's exact test")
    """
    if first.shape != second.shape or not first.shape[0]:
        raise ValueError("the arrays must have equal length and at least one score")
    n = first.shape[0]
    apart = second - first
    apart = np.where(np.abs(apart) < SAME, 0.0, apart)
    better, worse = int((apart > 0).sum()), int((apart < 0).sum())
    binary = bool(np.isin(first, (0.0, 1.0)).all() and np.isin(second, (0.0, 1.0)).all())
    value = float(apart.mean())
    n_effective = float(n)
    if clusters is not None and (units := cluster_count(clusters)) < n:
        test, interval, effect = _clustered(apart, clusters, units, level=level, seed=seed, binary=binary)
        n_effective = n / effect
    elif binary:
        test = PairedTest(mcnemar(better, worse), "McNemar's exact test")
        interval = tango(better, worse, n, level)
    else:
        test, interval = sign_flip(apart, seed=seed), _student(apart, level)
    return Difference(
        float(first.mean()),
        float(second.mean()),
        n,
        value,
        interval,
        test,
        better,
        worse,
        detectable_difference(float((apart**2).mean()), n_effective, level=level),
    )


def mcnemar(better: int, worse: int) -> float:
    """Compute the p-value of McNemar's exact test.

    The test uses only the items on which exactly one of the two respondents is right. Under the null hypothesis each
    respondent is the right one with probability one half.

    Args:
        better: the number of items on which only the second is right.
        worse: the number of items on which only the first is right.

    Returns:
        The two-sided p-value of the binomial distribution with probability one half; 1 if no item differs.

    References:
        Q. McNemar (1947), Note on the sampling error of the difference between correlated proportions.

    Example:
        >>> mcnemar(1, 9)
        0.021484375
    """
    n, fewer = better + worse, min(better, worse)
    if n <= 1000:
        return min(1.0, 2 * sum(comb(n, k) for k in range(fewer + 1)) / (1 << n))
    return min(1.0, 2 * at_most(fewer, n, 0.5))


def sign_flip(differences: FloatArray, *, permutations: int = PERMUTATIONS, seed: int = 0) -> PairedTest:
    """Run the sign-flip permutation test of paired differences.

    Under the null hypothesis each difference has either sign with equal probability. With at most 16
    differing items all sign patterns are enumerated. With more, patterns are drawn at random, and p is (1 +
    as extreme) / (1 + drawn).

    Args:
        differences: shape (n,).
        permutations: the number of permutations to draw.
        seed: random seed for the permutations.

    References:
        B. Phipson, G. Smyth (2010), Permutation p-values should never be zero.

    Example:
        >>> sign_flip(np.array([0.5, 0.25, 0.5, 0.0])).p
        0.25
    """
    apart = differences[np.abs(differences) > SAME]
    observed = abs(float(apart.sum())) - SAME
    if apart.shape[0] <= EXACT_UP_TO:
        signs = np.array(list(product((-1.0, 1.0), repeat=apart.shape[0])))
        extreme = np.abs(signs @ apart) >= observed
        return PairedTest(float(extreme.mean()), "sign-flip permutation test (exact)")
    rng = np.random.default_rng(seed)
    count = sum(
        int((np.abs(signs @ apart) >= observed).sum())
        for _, signs in random_signs(apart.shape[0], rng, permutations)
    )
    method = f"sign-flip permutation test ({permutations} permutations, seed {seed})"
    return PairedTest((1 + count) / (1 + permutations), method)


def tango(
    better: float, worse: float, n: float, level: float = 0.95, *, quantile: float | None = None
) -> Interval:
    """Compute Tango's score interval of a difference between paired proportions.

    The interval is the set of differences D that the score test does not reject:

        |better - worse - n D| <= z sqrt(n (2 q + D (1 - D)))

    where q is the maximum-likelihood estimate, given D, of the probability that only the first is right. The interval
    stays inside [-1, 1] and does not shrink to a point if no item differs.

    Args:
        better: the number of items on which only the second is right; divided by a design effect, it need not be whole.
        worse: the number of items on which only the first is right.
        n: the number of items.
        level: the nominal coverage, in (0, 1).
        quantile: z, if it is not the normal quantile of `level`.

    References:
        T. Tango (1998), Equivalence test and confidence interval for the difference in proportions for the
        paired-sample design. Statistics in Medicine 17, 891-908.

    Example:
        >>> interval = tango(0, 0, 100)
        >>> round(interval.low, 3), round(interval.high, 3)
        (-0.037, 0.037)
    """
    z = NormalDist().inv_cdf((1 + level) / 2) if quantile is None else quantile
    value = (better - worse) / n

    def distance(difference: float) -> float:
        return tango_statistic(better, worse, n, difference)

    low = -1.0 if value <= -1 else _crossing(lambda at: distance(at) - z, -1.0, value)
    high = 1.0 if value >= 1 else _crossing(lambda at: distance(at) + z, value, 1.0)
    return Interval(low, high, level, "Tango's score interval")


def tango_statistic(better: float, worse: float, n: float, difference: float) -> float:
    """Compute Tango's score statistic of the hypothesis that the difference of two paired proportions is `difference`.

    At a difference of 0 it is McNemar's statistic (better - worse) / sqrt(better + worse).

    Args:
        better: the number of items on which only the second is right, not necessarily whole.
        worse: the number of items on which only the first is right.
        n: the number of items.
        difference: the hypothetical difference, second minus first, in [-1, 1].

    References:
        T. Tango (1998), as for `tango`, equation 2.

    Example:
        >>> round(tango_statistic(9, 1, 100, 0.0), 3)
        2.53
    """
    b = (2 * n + worse - better) * difference - better - worse
    fitted = (sqrt(max(b * b - 8 * n * (-worse * difference * (1 - difference)), 0.0)) - b) / (4 * n)
    variance = n * (2 * fitted + difference * (1 - difference))
    gap = better - worse - n * difference
    if variance <= 0:
        return 0.0 if abs(gap) < SAME else copysign(inf, gap)
    return gap / sqrt(variance)


def detectable_difference(
    mean_square: float,
    n: float,
    *,
    level: float = 0.95,
    power: float = 0.8,
    annotator_variance: float = 0.0,
    freedom: float = inf,
    largest: float | None = None,
) -> float | None:
    """Compute the smallest true difference that a paired comparison detects with the given power.

    The difference d solves  d = t_level sqrt(m / n + v) + t_power sqrt((m - d^2) / n + v),  where m is the
    mean square of the item differences and v the variance because items share annotators. For scores of 0 and
    1, m is the share of items on which only one of the two is right. With v = 0 and normal quantiles this is
    Connor's formula.

    Args:
        mean_square: the mean square of the item differences.
        n: the number of items, divided by the design effect if they form clusters.
        level: one minus the significance level of the two-sided test.
        power: the probability of detecting the difference.
        annotator_variance: the variance of the difference because items share annotators; 0 for fixed annotators.
        freedom: the degrees of freedom of the quantiles; normal quantiles by default.
        largest: the largest possible difference; by default, that of scores of 0 and 1 with this mean square.

    Returns:
        The difference; `None` if no item differs, or if even the largest possible difference would not be detected.

    References:
        R. Connor (1987), Sample size for testing differences in proportions for the paired-sample design.
        S. Julious (2004), Sample sizes for clinical trials with normal data. Statistics in Medicine 23, 1921-1986.

    Example:
        >>> round(detectable_difference(0.2, 500), 3)
        0.056
    """
    if mean_square <= 0 or n < 1:
        return None
    t_level, t_power = quantile_of((1 + level) / 2, freedom), quantile_of(power, freedom)
    most = min(sqrt(mean_square), mean_square) if mean_square <= 1 else sqrt(mean_square)
    if largest is not None:
        most = largest

    def surplus(d: float) -> float:
        null, true = mean_square / n, max(mean_square - d * d, 0.0) / n
        return d - t_level * sqrt(null + annotator_variance) - t_power * sqrt(true + annotator_variance)

    if surplus(most) < 0:
        return None
    return _crossing(lambda d: -surplus(d), 0.0, most)


def holm(p_values: Sequence[float]) -> list[float]:
    """Adjust p-values for the number of comparisons by Holm's method.

    The smallest p-value is multiplied by the number of comparisons m, the next by m - 1, and so on. An adjusted p-value
    is never smaller than the one before it.

    References:
        S. Holm (1979), A simple sequentially rejective multiple test procedure.

    Example:
        >>> [round(p, 3) for p in holm([0.01, 0.04, 0.03])]
        [0.03, 0.06, 0.06]
    """
    order = sorted(range(len(p_values)), key=lambda place: p_values[place])
    corrected, least = [0.0] * len(p_values), 0.0
    for rank, place in enumerate(order):
        least = max(least, min(1.0, (len(p_values) - rank) * p_values[place]))
        corrected[place] = least
    return corrected


def _clustered(
    apart: FloatArray, clusters: NDArray[np.integer], units: int, *, level: float, seed: int, binary: bool
) -> tuple[PairedTest, Interval, float]:
    """Return the test and the interval of a difference over clusters of items, and their design effect."""
    if units == 1:
        raise DataError(ONE_CLUSTER)
    n, mean = apart.shape[0], float(apart.mean())
    effect = cluster_design_effect(apart - mean, clusters)
    test = sign_flip(np.bincount(clusters, weights=apart).astype(np.float64), seed=seed)
    quantile = student_quantile((1 + level) / 2, units - 1)
    method = f"{{}} over {units} clusters of items (design effect {effect:.2f})"
    if binary:
        counts = float((apart > 0).sum()) / effect, float((apart < 0).sum()) / effect, n / effect
        found = tango(*counts, level, quantile=quantile)
        interval = replace(found, method=method.format(found.method))
    else:
        reach = quantile * sqrt(float(apart.var(ddof=1)) / n * effect)
        low, high = max(-1.0, mean - reach), min(1.0, mean + reach)
        interval = Interval(low, high, level, method.format("Student, paired"))
    return PairedTest(test.p, f"{test.method} by cluster"), interval, effect


def _student(apart: FloatArray, level: float) -> Interval:
    """Compute Student's interval of a mean difference of scores in [0, 1]; for a single item it is [-1, 1]."""
    n = apart.shape[0]
    if n < 2:
        return Interval(-1.0, 1.0, level, "Student, paired")
    mean = float(apart.mean())
    reach = student_quantile((1 + level) / 2, n - 1) * float(apart.std(ddof=1)) / sqrt(n)
    return Interval(max(-1.0, mean - reach), min(1.0, mean + reach), level, "Student, paired")


def _crossing(function: Callable[[float], float], low: float, high: float) -> float:
    """Find the zero of a decreasing function by bisection."""
    for _ in range(100):
        middle = (low + high) / 2
        if function(middle) > 0:
            low = middle
        else:
            high = middle
    return (low + high) / 2
