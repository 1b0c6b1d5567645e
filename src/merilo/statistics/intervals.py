"""Intervals of means and shares by formulas and resampling, the quantiles that they use, and clusters of items."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from math import ceil, isinf, sqrt
from statistics import NormalDist
from typing import Final

import numpy as np
import scipy
from numpy.typing import NDArray

from merilo.statistics import FloatArray

#: With so many items of the rarer outcome, the observed and the assumed design effect have equal weights; about z² / 2.
RARE_ITEMS: Final = 2.0

#: The correlation of the items of a cluster if all scores are equal; correlations of questions about one text
#: are smaller.
ASSUMED_CORRELATION: Final = 0.5

#: Why there is no interval over items if all of them are of one cluster.
ONE_CLUSTER: Final = (
    "all items belong to one cluster, so there is no interval over items: at least two clusters are needed"
)


def cluster_count(clusters: NDArray[np.integer]) -> int:
    """Count the distinct clusters of items, from codes of shape (n,)."""
    return int(np.unique(clusters).shape[0])


def assumed_cluster_effect(clusters: NDArray[np.integer]) -> float:
    """Compute the design effect of clusters with the assumed correlation, if the scores do not show any other.

    With the mean size of the clusters, weighted by size:  1 + (mean size - 1) * ASSUMED_CORRELATION.

    Args:
        clusters: shape (n,), codes.

    References:
        L. Kish (1965), Survey sampling, section 5.4.

    Example:
        >>> assumed_cluster_effect(np.array([0, 0, 0, 1]))
        1.75
    """
    sizes = np.unique(clusters, return_counts=True)[1].astype(np.float64)
    return 1 + (float(sizes @ sizes) / float(sizes.sum()) - 1) * ASSUMED_CORRELATION


def cluster_design_effect(deviations: FloatArray, clusters: NDArray[np.integer]) -> float:
    """Compute the factor by which the variance of a mean grows because items of one cluster depend on each other.

    With deviations d of the items from the mean, their sums D over the G clusters and n items:

        observed = (G / (G - 1)) sum(D^2) / ((n / (n - 1)) sum(d^2)),  at least 1

    is the ratio of the cluster-robust variance of the mean (linearised, so that clusters may differ in size)
    to the variance of independent items. If nearly all items have the same score, the few others do not show
    how clusters depend. With s = sum(d^2), which is about the number of the few other items, the result is therefore

        (s^2 observed + RARE_ITEMS^2 assumed) / (s^2 + RARE_ITEMS^2)

    with `assumed_cluster_effect`, which is the result if there are no others.

    Args:
        deviations: shape (n,), item scores of a range of 1, less their mean.
        clusters: shape (n,), codes.

    Returns:
        The design effect, at least 1; exactly 1 if every cluster is one item, and infinite for a single
        cluster of several.

    References:
        L. Kish (1965), Survey sampling, chapters 5 and 6 (design effect; variance of a ratio over clusters).
        J. Rao, A. Scott (1992), A simple method for the analysis of clustered binary data. Biometrics 48, 577-585.

    Example:
        >>> scores, texts = np.repeat([0.0, 1.0], 150), np.repeat(np.arange(60), 5)
        >>> round(cluster_design_effect(scores - 0.5, texts), 2)
        5.07
    """
    n = deviations.shape[0]
    _, codes = np.unique(clusters, return_inverse=True)
    groups = int(codes.max(initial=-1)) + 1
    if groups == n:
        return 1.0
    if groups == 1:
        return float("inf")
    assumed, square = assumed_cluster_effect(codes), float(deviations @ deviations)
    if square <= 0:
        return assumed
    sums = np.bincount(codes, weights=deviations, minlength=groups)
    observed: float = float(sums @ sums) / square * (groups / (groups - 1)) * ((n - 1) / n)
    weight = square**2 / (square**2 + RARE_ITEMS**2)
    return weight * max(observed, 1.0) + (1 - weight) * assumed


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
        freedom: degrees of freedom, above 0, not necessarily whole; if infinite, the distribution is normal.

    Example:
        >>> round(student_above(2.776, 4), 3)
        0.025
    """
    if isinf(statistic):
        return 0.0 if statistic > 0 else 1.0
    if isinf(freedom):
        return float(scipy.special.ndtr(-statistic))
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


def cluster_robust_effect(deviations: FloatArray, clusters: NDArray[np.integer]) -> tuple[float, float]:
    """Compute the design effect of clusters without bias, and the degrees of freedom of the variance with it.

    `cluster_design_effect` never falls below 1, which protects intervals, but makes a test with Student's quantile too
    careful: the quantile accounts already for variances that are estimated too small. Here the variance is CR2, which
    has no bias if clusters differ in size: with the share h of the items that a cluster has and the sum D of its
    deviations d,

        (n - 1) / n  sum(D^2 / (1 - h)) / sum(d^2)

    The degrees of freedom are Satterthwaite's under the correlation within clusters that this effect shows, in
    [0, 1]; for clusters of one size they are the number of clusters minus 1.

    Args:
        deviations: shape (n,), item scores of a range of 1, less their mean.
        clusters: shape (n,), codes of two clusters or more.

    Returns:
        The design effect, `assumed_cluster_effect` if all deviations are 0; and the degrees of freedom.

    References:
        R. Bell, D. McCaffrey (2002), Bias reduction in standard errors for linear regression with multi-stage samples.
        Survey Methodology 28, 169-181.
        G. Imbens, M. Kolesár (2016), Robust standard errors in small samples: some practical advice. Review of
        Economics and Statistics 98, 701-712 (the correlation of the degrees of freedom).

    Example:
        >>> apart, texts = np.tile([0.5, -0.5, 0.5, -0.5, -0.5], 12), np.repeat(np.arange(12), 5)
        >>> effect, freedom = cluster_robust_effect(apart - apart.mean(), texts)
        >>> round(effect, 3), round(freedom, 3)
        (0.0, 11.0)
    """
    n = deviations.shape[0]
    _, codes, counts = np.unique(clusters, return_inverse=True, return_counts=True)
    sizes, square = counts.astype(np.float64), float(deviations @ deviations)
    share, weighted = sizes / n, float(sizes @ sizes) / n
    effect, correlation = assumed_cluster_effect(codes), ASSUMED_CORRELATION
    if square > 0:
        sums = np.bincount(codes, weights=deviations)
        effect = float((sums**2 / (1 - share)).sum()) / square * (n - 1) / n
        correlation = min(max((effect - 1) / (weighted - 1), 0.0), 1.0) if weighted > 1 else 0.0
    # Covariances of the sums under this correlation: own - h own' - h' own + h h' total, each over a root of 1 - h.
    own = (1 - correlation) * sizes + correlation * sizes**2
    total, scale = float(own.sum()), 1 / (1 - share)
    diagonal = share**2 * total - 2 * share * own
    squares, shares, mixed = (float(scale @ one) for one in (own**2, share**2, share * own))
    trace = float(scale @ (own + diagonal))
    both = 2 * squares * shares + 2 * mixed**2 + (total * shares) ** 2 - 4 * total * shares * mixed
    both += float(scale**2 @ ((own + diagonal) ** 2 - diagonal**2))
    return effect, trace**2 / both


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


#: The number of bootstrap resamples.
RESAMPLES: Final = 2000
#: If the resampled means span less than this, they are equal up to rounding.
ALIKE: Final = 1e-12
#: Bounds the memory of the draws: 4 million 4-byte indices and as many gathered doubles.
DRAWS_AT_ONCE: Final = 4_000_000


@dataclass(frozen=True, slots=True)
class Interval:
    """A confidence interval.

    Attributes:
        low: the lower bound.
        high: the upper bound.
        level: the nominal coverage, 0.95 by default.
        method: the method in words: "Wilson score", "bootstrap over items (percentile, 2000 resamples)".
    """

    low: float
    high: float
    level: float = 0.95
    method: str = ""


def wilson(successes: int, n: int, level: float = 0.95) -> Interval:
    """Compute Wilson's score interval of a proportion of independent items.

    With p = successes / n and z the normal quantile of (1 + level) / 2:

        (p + z^2 / 2n  ±  z * sqrt(p (1 - p) / n + z^2 / 4n^2)) / (1 + z^2 / n)

    Unlike p ± z * s it stays inside [0, 1] and does not shrink to a point at 0 or 1.

    Args:
        successes: the number of items answered correctly, 0 .. n.
        n: the number of items. With 0 items the interval is [0, 1].
        level: the nominal coverage, in (0, 1).

    Raises:
        ValueError: `successes` is outside 0 .. n, or `level` is outside (0, 1).

    References:
        E. B. Wilson (1927), Probable inference, the law of succession, and statistical inference. JASA 22, 209-212.

    Example:
        >>> interval = wilson(100, 100)
        >>> round(interval.low, 3), interval.high
        (0.963, 1.0)
    """
    if not 0 <= successes <= n:
        raise ValueError(f"{successes} successes of {n} items are impossible")
    if not 0 < level < 1:
        raise ValueError(f"the level must be between 0 and 1, not {level}")
    if n == 0:
        return Interval(0.0, 1.0, level, "Wilson score")
    z = NormalDist().inv_cdf((1 + level) / 2)
    low, high = wilson_form(successes / n, n, z)
    return Interval(low, high, level, "Wilson score")


def exact_interval(successes: float, n: float, level: float = 0.95) -> Interval:
    """Compute Clopper and Pearson's interval of a proportion.

    Its coverage is at least the nominal level for any number of trials.

    Args:
        successes: the number of successes, 0 .. n; divided by a design effect, it need not be whole.
        n: the number of trials.
        level: the nominal coverage, in (0, 1).

    References:
        C. Clopper, E. Pearson (1934), The use of confidence or fiducial limits. Biometrika 26, 404-413.

    Example:
        >>> interval = exact_interval(9, 10)
        >>> round(interval.low, 3), round(interval.high, 4)
        (0.555, 0.9975)
    """
    tail, failures = (1 - level) / 2, n - successes
    low = 0.0 if successes == 0 else float(scipy.special.betaincinv(successes, failures + 1, tail))
    high = 1.0 if failures == 0 else float(scipy.special.betaincinv(successes + 1, failures, 1 - tail))
    return Interval(low, high, level, "Clopper-Pearson")


def wilson_form(p: float, n: float, t: float) -> tuple[float, float]:
    """Compute the bounds of Wilson's interval from a proportion, an effective number of items and a quantile.

    Args:
        p: the proportion, in [0, 1].
        n: the effective number of items scored 0 or 1, above 0, not necessarily whole.
        t: the quantile of the normal distribution or of Student's t.

    Example:
        >>> [round(bound, 3) for bound in wilson_form(1.0, 100, 1.96)]
        [0.963, 1.0]
    """
    centre = p + t * t / (2 * n)
    spread = t * sqrt(p * (1 - p) / n + t * t / (4 * n * n))
    scale = 1 + t * t / n
    # At p = 0 and p = 1 the bound is exactly 0 or 1; floating point would give 1e-17 or 0.9999999999999999.
    low = 0.0 if p == 0 else max(0.0, (centre - spread) / scale)
    return low, 1.0 if p == 1 else min(1.0, (centre + spread) / scale)


def mean_interval(
    values: Sequence[float] | FloatArray,
    clusters: Sequence[Hashable] | None = None,
    *,
    over: str = "items",
    level: float = 0.95,
    seed: int = 0,
    resamples: int = RESAMPLES,
) -> Interval | None:
    """Compute the confidence interval of a mean of item scores in [0, 1], by the method that suits the items.

    - Independent items, all scored 0 or 1: `wilson`.
    - Independent items with other scores: bootstrap over items (`bootstrap_interval`).
    - Items that share a text or a dialogue: `wilson_form` with the number of items divided by
    `cluster_design_effect`, and
      Student's quantile with one degree of freedom less than there are clusters.
    - A single cluster (one dialogue): circular block bootstrap over its items in their order, with blocks of
      ceil(n^(1/3)) items, because neighbouring items depend on each other and there is no second cluster to draw.
    - All items scored 0, or all scored 1: `wilson`, because all resamples would be equal and the bootstrap interval
      would have zero width. The items of several clusters are then divided by `assumed_cluster_effect`.

    Args:
        values: shape (n,), one score an item, in the order of the dataset.
        clusters: shape (n,), equal values for items of one cluster; by default the items are independent.
        over: the unit of the values, in the plural, for the interval's method: "items", "variants".
        level: the nominal coverage, in (0, 1).
        seed: random seed for the bootstrap resamples.
        resamples: the number of resamples.

    Returns:
        The interval; `None` if there are no items, or if all items have the same score strictly between 0 and 1.

    References:
        B. Efron, R. Tibshirani (1993), An introduction to the bootstrap, chapter 13 (bootstrap standard errors).
        D. Politis, J. Romano (1992), A circular block-resampling procedure for stationary data.

    Example:
        >>> interval = mean_interval([0.0, 0.5, 1.0, 0.5] * 25)
        >>> interval.low < 0.5 < interval.high, interval.method
        (True, "bootstrap over items (Wilson's form, 2000 resamples, seed 0)")
    """
    scores = np.asarray(values, dtype=np.float64)
    n = len(scores)
    if n == 0:
        return None
    codes = None if clusters is None else cluster_codes(clusters)
    independent = codes is None or int(codes.max()) + 1 == n
    binary = bool(np.isin(scores, (0.0, 1.0)).all())
    several = codes is not None and 0 < int(codes.max()) < n - 1
    if binary and ((scores.min() == scores.max() and not several) or independent):
        return wilson(int(scores.sum()), n, level)
    if several and codes is not None:
        return _of_clusters(scores, codes, level)
    if independent:
        sums, sizes, draws, drawn = scores, np.ones(n), n, over
    else:
        sums, sizes, draws, drawn = _blocks(scores)
    means = _resampled_ratios(sums, sizes, draws, np.random.default_rng(seed), resamples)
    if np.ptp(means) < ALIKE:
        if independent:
            return None
        return mean_interval(scores, over=over, level=level, seed=seed, resamples=resamples)
    return bootstrap_interval(means, float(scores.mean()), drawn, units=draws, level=level, seed=seed)


def bootstrap_interval(
    estimates: FloatArray,
    value: float,
    over: str,
    *,
    units: int,
    bounds: tuple[float, float] = (0.0, 1.0),
    level: float = 0.95,
    seed: int = 0,
) -> Interval:
    """Compute an interval of Wilson's form from bootstrap estimates.

    The number of items in Wilson's formula is the number of items scored 0 or 1 whose mean has the same
    variance: with p the value rescaled to [0, 1] and v the variance of its estimates, n = p (1 - p) / v. The
    quantile is Student's with `units` - 1 degrees of freedom. Near the bounds of the metric, and with few
    units, the percentile interval covers the true value in 70 to 90 % of samples; this interval covers it in
    about 95 % (docs/uncertainty.md).

    Args:
        estimates: shape (resamples,); at least two of them must differ.
        value: the estimate from the original sample.
        over: the resampled unit, in the plural: "items", "variants".
        units: the number of units in each resample, 2 or more.
        bounds: the smallest and the largest possible value of the metric.
        level: the nominal coverage, in (0, 1).
        seed: the random seed of the estimates; recorded in the interval's method.

    Example:
        >>> estimates = np.random.default_rng(0).binomial(100, 0.9, 2000) / 100
        >>> interval = bootstrap_interval(estimates, 0.9, "items", units=100)
        >>> round(interval.low, 2), round(interval.high, 2)
        (0.82, 0.95)
    """
    low, width = bounds[0], bounds[1] - bounds[0]
    p = min(max((value - low) / width, 0.0), 1.0)
    variance = float(estimates.var()) / width**2 * units / max(units - 1, 1)
    n = p * (1 - p) / variance if 0 < p < 1 else float(units)
    bottom, top = wilson_form(p, n, student_quantile((1 + level) / 2, max(units - 1, 1)))
    method = f"bootstrap over {over} (Wilson's form, {len(estimates)} resamples, seed {seed})"
    return Interval(low + width * bottom, low + width * top, level, method)


def cluster_codes(clusters: Sequence[Hashable]) -> NDArray[np.int64]:
    """Encode clusters as integers 0 .. m-1 in order of first appearance, shape (n,)."""
    codes: dict[Hashable, int] = {}
    return np.fromiter((codes.setdefault(name, len(codes)) for name in clusters), np.int64, len(clusters))


def _of_clusters(scores: FloatArray, codes: NDArray[np.int64], level: float) -> Interval | None:
    """Compute the interval of a mean over clustered items.

    `None` if all have the same score strictly between 0 and 1.
    """
    mean, clusters = float(scores.mean()), int(codes.max()) + 1
    deviations = scores - mean
    square = float(deviations @ deviations)
    if np.ptp(scores) < ALIKE and 0 < mean < 1:
        return None
    effect = cluster_design_effect(deviations, codes)
    n = len(scores) ** 2 * mean * (1 - mean) / square if 0 < mean < 1 else float(len(scores))
    # The design effect of equal scores is assumed, not estimated from the clusters.
    freedom = clusters - 1 if square > 0 else float("inf")
    low, high = wilson_form(mean, n / effect, quantile_of((1 + level) / 2, freedom))
    return Interval(
        low, high, level, f"Wilson's form over {clusters} clusters of items (design effect {effect:.2f})"
    )


def _blocks(scores: FloatArray) -> tuple[FloatArray, FloatArray, int, str]:
    """Compute sums and sizes of all circular blocks, the number of blocks in a resample and the name of the unit."""
    n = len(scores)
    length = ceil(n ** (1 / 3))
    ring = np.concatenate([[0.0], np.cumsum(np.concatenate([scores, scores[: length - 1]]))])
    return (
        ring[length:] - ring[:-length],
        np.full(n, float(length)),
        ceil(n / length),
        f"blocks of {length} items",
    )


def _resampled_ratios(
    sums: FloatArray, sizes: FloatArray, draws: int, rng: np.random.Generator, resamples: int
) -> FloatArray:
    """Draw `draws` units with replacement and divide their total sum by their total size, shape (resamples,)."""
    estimates = np.empty(resamples)
    step = max(1, DRAWS_AT_ONCE // draws)
    for start in range(0, resamples, step):
        rows = min(step, resamples - start)
        drawn = rng.integers(0, len(sums), size=(rows, draws), dtype=np.int32)
        estimates[start : start + rows] = sums[drawn].sum(axis=1) / sizes[drawn].sum(axis=1)
    return estimates


#: With at most this many distinct values, a resample is drawn as counts of values, at a cost independent of n.
FEW_VALUES: Final = 64


def resampled_means(values: FloatArray, rng: np.random.Generator, resamples: int) -> FloatArray:
    """Compute the means of bootstrap samples.

    The mean of a bootstrap sample depends only on how often each value was drawn, and these counts are
    multinomial. With few distinct values (0 and 1, for example) the counts are drawn; otherwise the single
    values are. The order of the values makes no difference, so an interval does not depend on the names by
    which annotators are sorted.

    Args:
        values: shape (n,), n at least 1.
        rng: the random generator.
        resamples: the number of bootstrap samples.

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
    ordered = np.sort(values)
    means = np.empty(resamples)
    for rows in _rows(resamples, n):
        drawn = rng.integers(0, n, size=(rows.stop - rows.start, n), dtype=np.int32)
        means[rows] = ordered[drawn].mean(axis=1)
    return means


def random_signs(n: int, rng: np.random.Generator, resamples: int) -> Iterator[tuple[slice, FloatArray]]:
    """Generate random signs for a permutation test, one permutation a row, in blocks that fit in memory.

    Args:
        n: the number of signs in a permutation.
        rng: the random generator.
        resamples: the number of permutations.

    Yields:
        The slice of permutations, and their signs, -1.0 or 1.0, shape (rows, n).
    """
    for rows in _rows(resamples, n):
        flips = rng.integers(0, 2, size=(rows.stop - rows.start, n), dtype=np.int8)
        yield rows, 2.0 * flips.astype(np.float64) - 1.0


def _rows(resamples: int, width: int) -> Iterator[slice]:
    """Split the resamples into slices of at most `DRAWS_AT_ONCE` cells."""
    step = max(1, DRAWS_AT_ONCE // max(width, 1))
    for start in range(0, resamples, step):
        yield slice(start, min(start + step, resamples))
