"""Estimates for a whole population from a sample of it: post-stratification with finite-population correction.

A sample may have a larger share of some strata than the population, by design or by chance. Every sampled
item then gets the weight of the items that it represents: the number of items of its stratum in the
population, divided by the number in the sample.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import sqrt
from typing import Final

import numpy as np

from merilo.statistics import FloatArray, IntArray
from merilo.statistics.intervals import Interval, student_quantile, wilson_form

#: How many items with the mean variance of all strata are added to those of each stratum.
POOLED_ITEMS: Final = 3.0


@dataclass(frozen=True)
class StratifiedSample:
    """Items sampled from a population in strata.

    Attributes:
        stratum: shape (n,), the code of each sampled item's stratum, 0 .. strata - 1; every stratum has at least one.
        sizes: shape (strata,), the number of items of each stratum in the population.
    """

    stratum: IntArray
    sizes: FloatArray

    @cached_property
    def drawn(self) -> FloatArray:
        """The number of sampled items of each stratum, shape (strata,)."""
        return np.bincount(self.stratum, minlength=self.sizes.shape[0]).astype(np.float64)

    @cached_property
    def weight(self) -> FloatArray:
        """The number of items of the population that each item represents, shape (n,)."""
        return np.asarray((self.sizes / self.drawn)[self.stratum], dtype=np.float64)

    @cached_property
    def share(self) -> FloatArray:
        """The weights divided by their sum, shape (n,)."""
        return np.asarray(self.weight / self.weight.sum(), dtype=np.float64)

    @cached_property
    def unsampled(self) -> FloatArray:
        """The share of its stratum that was not sampled, for each item, shape (n,).

        The finite-population correction.
        """
        return np.asarray((1 - self.drawn / self.sizes)[self.stratum], dtype=np.float64)

    @property
    def effective_items(self) -> float:
        """Kish's effective number of items: of equal weight, with which a mean has the same variance."""
        effective: float = 1 / float(self.share @ self.share)
        return effective

    @property
    def design_effect(self) -> float:
        """Kish's design effect of weighting: the ratio of the variance to that with equal weights, at least 1.

        References:
            L. Kish (1965), Survey sampling, section 11.7.
        """
        return float(self.stratum.shape[0]) / self.effective_items


@dataclass(frozen=True, slots=True)
class SampledVariance:
    """The variance of a post-stratified mean because of the choice of items.

    Attributes:
        corrected: the variance with finite-population correction: 0 if all items were sampled.
        uncorrected: the variance without it.
        freedom: the degrees of freedom, at least 1.
    """

    corrected: float
    uncorrected: float
    freedom: float


def stratified_variance(
    values: FloatArray, sample: StratifiedSample, *, pooled_items: float = POOLED_ITEMS
) -> SampledVariance:
    """Compute the variance of the post-stratified mean of items' values, given the sample's sizes of strata.

    With W the share of a stratum in the population, f its sampled share and s² the variance of its n values,
    the variance is the sum of W² (1 - f) s² / n. Few items tell little about s²: three of an easy stratum are all
    right, and two of a hard one give a variance with one degree of freedom, which makes an interval as wide as the
    range. So s² is the mean of the stratum's own variance, with the weight n - 1, and the mean variance of all
    strata, with the weight `pooled_items`. A stratum with one item has no variance of its own; if no stratum has two
    items, all take the variance of all values.

    Args:
        values: shape (n,), the value of each item; for a ratio or another smooth metric, its influence.
        sample: the strata.
        pooled_items: the weight of the mean variance of all strata, at least 0; with 0, the estimate is unbiased.

    References:
        W. Cochran (1977), Sampling techniques, sections 5.3 and 5A.9.
        D. Holt, T. Smith (1979), Post stratification. Journal of the Royal Statistical Society A 142, 33-46.
        F. Satterthwaite (1946), An approximate distribution of estimates of variance components. Biometrics 2, 110-114.

    Example:
        >>> sample = StratifiedSample(np.array([0, 0, 1, 1]), np.array([4.0, 16.0]))
        >>> found = stratified_variance(np.array([0.0, 1.0, 1.0, 1.0]), sample, pooled_items=0)
        >>> round(found.corrected, 6), round(found.uncorrected, 6)
        (0.005, 0.01)
    """
    drawn, strata = sample.drawn, sample.sizes.shape[0]
    mean = np.bincount(sample.stratum, weights=values, minlength=strata) / drawn
    squares = np.bincount(
        sample.stratum, weights=(values - mean[sample.stratum]) ** 2, minlength=strata
    ).astype(np.float64)
    own = drawn - 1
    pairs = float(own.sum())
    pooled = float(squares.sum()) / pairs if pairs > 0 else float(np.var(values, ddof=min(1, strata - 1)))
    lent = np.where(own > 0, pooled_items, max(pooled_items, 1.0))
    known = own + lent
    parts = (sample.sizes / sample.sizes.sum()) ** 2 * (squares + lent * pooled) / known / drawn
    corrected = parts * (1 - drawn / sample.sizes)
    doubt = float((corrected**2 / known).sum())
    total = float(corrected.sum())
    freedom = total**2 / doubt if doubt > 0 else max(pairs, 1.0)
    return SampledVariance(total, float(parts.sum()), max(freedom, 1.0))


def bounded_interval(
    value: float,
    variance: float,
    freedom: float,
    *,
    bounds: tuple[float, float],
    most: float,
    alike: float,
    method: str,
    level: float = 0.95,
) -> Interval:
    """Compute an interval of Wilson's form with the number of items that has the estimated variance.

    Args:
        value: the estimate.
        variance: its variance; 0 only if nothing varies.
        freedom: the degrees of freedom of Student's quantile.
        bounds: the smallest and the largest possible value.
        most: the largest effective number of items; infinite if the estimate is known exactly.
        alike: the effective number of items if the estimate lies at a bound, where its variance is not known.
        method: the description of the method.
        level: the nominal coverage.

    References:
        E. Korn, B. Graubard (1998), Confidence intervals for proportions with small expected number of positive counts
        estimated from survey data. Survey Methodology 24, 193-201.
    """
    low, width = bounds[0], bounds[1] - bounds[0]
    p = min(max((value - low) / width, 0.0), 1.0)
    spread = p * (1 - p) * width**2
    effective = min(spread / variance if variance > 0 else most, most) if spread > 0 else alike
    if np.isinf(effective):
        return Interval(value, value, level, method)
    t = student_quantile((1 + level) / 2, max(freedom, 1.0))
    bottom, top = wilson_form(p, max(effective, 1.0), t)
    return Interval(low + width * bottom, low + width * top, level, method)


def standard_error(variance: float) -> float:
    """Return the square root of a variance; of a variance below 0 by rounding, 0."""
    return sqrt(max(variance, 0.0))
