"""A difference between people and a model, or two models, with its uncertainty over items and annotators together.

An interval over items alone is about the annotators of this study. The difference would also change with other
annotators. Here the variance because items share annotators is added, by a design effect: the ratio of the variance
over items and annotators to the variance over items alone.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import copysign, inf, isfinite, sqrt
from statistics import NormalDist
from typing import Final

import numpy as np
from numpy.typing import NDArray

from merilo.errors import DataError
from merilo.statistics import FloatArray
from merilo.statistics.intervals import (
    ONE_CLUSTER,
    Interval,
    cluster_count,
    cluster_design_effect,
    cluster_robust_effect,
    limited_freedom,
    quantile_of,
    student_above,
)
from merilo.statistics.paired_tests import SAME, detectable_difference, tango, tango_statistic

#: The smallest standard error from items, in items: with it, the interval of two sides that never differ is
#: about Tango's.
FLOOR: Final = 2.0
#: The smallest variance of two models' counts of right answers to clustered items, in items.
LEAST: Final = 1.0
#: Smaller skewness counts as none, because the inverse transformation divides by it.
SYMMETRIC: Final = 1e-4
#: The factor by which skewness widens one side of the interval at most.
MOST_WIDENED: Final = 1.3
#: The method of an interval with one annotator.
ONE_ANNOTATOR: Final = "one annotator says nothing about others"
#: The excess kurtosis assumed for the annotators' influences: careful annotators with a few who guess.
EXCESS: Final = 2.0


@dataclass(frozen=True, slots=True)
class SharedPart:
    """What items share because they share annotators.

    Attributes:
        variance: the variance of an estimate because items share annotators.
        doubt: the square of the estimated variance divided by its degrees of freedom, a term of
            Satterthwaite's formula.
        third_cumulant: the third cumulant of the estimate because annotators differ.
        annotators: the number of annotators; 0 if two models are compared.
        below: the variance if annotators might have guessed who would lower the estimate.
        above: the variance if annotators might have guessed who would raise the estimate.
    """

    variance: float
    doubt: float
    third_cumulant: float
    annotators: int
    below: float = 0.0
    above: float = 0.0

    def above_zero(self) -> SharedPart:
        """Return the part with the mean and the doubt that its variance has, given that it cannot be below 0.

        The estimate of a small variance component is often 0 or nearly so by chance, and Satterthwaite's degrees of
        freedom then fall to 1, which makes an interval as wide as the range. The normal distribution of the estimate,
        truncated at 0, gives a mean above 0 and a smaller doubt.

        Example:
            >>> part = SharedPart(0.0, 0.5, 0.0, 12).above_zero()
            >>> round(part.variance, 3), round(part.doubt, 3)
            (0.798, 0.182)
        """
        if self.doubt <= 0:
            return self
        spread, normal = sqrt(2 * self.doubt), NormalDist()
        at = self.variance / spread
        ratio = normal.pdf(at) / normal.cdf(at)
        return replace(
            self,
            variance=self.variance + spread * ratio,
            doubt=self.doubt * (1 - at * ratio - ratio**2),
        )


#: The shared part of two models' answers.
NO_ANNOTATORS: Final = SharedPart(0.0, 0.0, 0.0, 0)


@dataclass(frozen=True, slots=True)
class CrossedDifference:
    """The difference between two sides on the same items, over items and annotators together.

    Attributes:
        value: second minus first.
        n: the number of items.
        discordant: the numbers of items on which only the second and only the first is right; `None` if one of the two
            has shares of points, not only 0 and 1.
        mean_square: the mean square of the item differences.
        item_variance: the variance of the difference from items alone, at least (2 / n)².
        annotator_variance: the additional variance because items share annotators.
        freedom: the degrees of freedom of Student's distribution.
        annotators: the number of annotators; 0 if two models are compared, whose answers have no shared part.
        clusters: the number of clusters of items; `None` if items are independent.
        cluster_effect: the factor by which the items' variance grows because items of one cluster depend on
            each other; it is part of `item_variance`. Of two models, it may be below 1.
        skewness: the skewness of the estimate: its third cumulant divided by the third power of the standard
            error. It is positive if a few annotators are much worse than the others. Tango's statistic
            accounts for the items' skewness itself, so that for scores of 0 and 1 only the annotators' part counts.
        below: the annotators' variance to the lower bound if some of them might have guessed.
        above: the same to the upper bound.
    """

    value: float
    n: int
    discordant: tuple[int, int] | None
    mean_square: float
    item_variance: float
    annotator_variance: float
    freedom: float
    annotators: int
    skewness: float = 0.0
    clusters: int | None = None
    cluster_effect: float = 1.0
    below: float = 0.0
    above: float = 0.0

    @property
    def design_effect(self) -> float:
        """The ratio of the variance over items and annotators to the variance over items alone, at least 1."""
        return 1 + self.annotator_variance / self.item_variance

    @property
    def total_effect(self) -> float:
        """The ratio of the variance over items and annotators to the variance over independent items, at least 1."""
        return self.design_effect * self.cluster_effect

    @property
    def units(self) -> str:
        """What the difference is estimated over: "items", or "120 clusters of items"."""
        return "items" if self.clusters is None else f"{self.clusters} clusters of items"

    @property
    def standard_error(self) -> float:
        """The standard error over items and annotators together."""
        return sqrt(self.item_variance + self.annotator_variance)

    @property
    def method(self) -> str:
        """The name of the test and of the interval."""
        form = "Student's test" if self.discordant is None else "Tango's score test"
        return f"{form} over {self.over}"

    @property
    def over(self) -> str:
        """What the interval and the test are over: "items and annotators", or "items" if two models are compared."""
        return f"{self.units} and annotators" if self.annotators else self.units

    def interval(self, level: float = 0.95) -> Interval:
        """Compute the interval of the difference over items and annotators.

        For scores of 0 and 1 it is Tango's interval with the counts divided by the design effect and with Student's
        quantile; otherwise it is Student's. For two models on clusters of items, Tango's interval has the quantile
        that makes its test of no difference the same as Student's. If the estimate is skewed, Hall's transformation
        moves the bound on the side of the long tail away; the other bound stays. A bound moves away too if annotators
        who guess would cause a larger variance on its side than the study's annotators do. The interval contains the
        interval over items alone, because the design effect is at least 1 and Student's quantile is at least the normal
        one; except for two models on clusters. With one annotator the interval is [-1, 1].

        Args:
            level: the nominal coverage, in (0, 1).

        References:
            J. Rao, A. Scott (1992), A simple method for the analysis of clustered binary data. Biometrics 48, 577-585
            (counts divided by the design effect).
            T. Tango (1998), as for `tango`.
            P. Hall (1992), On the removal of skewness by transformation. J. Royal Statistical Society B 54, 221-228.
        """
        if self.annotators == 1:
            return Interval(-1.0, 1.0, level, ONE_ANNOTATOR)
        t = quantile_of((1 + level) / 2, self.freedom)
        below = max(skewed_quantile(t, -self.skewness), t * self._growth(self.below))
        above = max(skewed_quantile(t, self.skewness), t * self._growth(self.above))
        if self.discordant is not None:
            effect = self.total_effect
            better, worse = self.discordant
            counts = better / effect, worse / effect, self.n / effect
            if self._studentised:
                below = above = 1 / sqrt((1 - 1 / self.n) / t**2 + effect / self.n)
            low = tango(*counts, level, quantile=below).low
            high = tango(*counts, level, quantile=above).high
            return Interval(low, high, level, f"Tango's score interval over {self.over}")
        error, method = self.standard_error, f"Student's interval over {self.over}"
        low, high = self.value - below * error, self.value + above * error
        return Interval(max(-1.0, low), min(1.0, high), level, method)

    def statistic(self, at: float) -> float:
        """Compute the test statistic of the hypothesis that the true difference is `at`.

        It is beyond Student's quantile exactly if `at` is outside the interval. With one annotator it is 0, so that no
        hypothesis is rejected.
        """
        if self.annotators == 1:
            return 0.0
        if self.discordant is None:
            found = (self.value - at) / self.standard_error
        else:
            found = tango_statistic(*self.discordant, self.n, at) / sqrt(self.total_effect)
            if self._studentised and found:
                rest = 1 / found**2 - self.total_effect / self.n
                found = copysign(sqrt((1 - 1 / self.n) / rest) if rest > 0 else inf, found)
        smaller = found / self._growth(self.below if found > 0 else self.above)
        return min(_without_skewness(found, self.skewness), smaller, key=abs)

    @property
    def _studentised(self) -> bool:
        """Whether Tango's statistic is taken for Student's: two models on clusters of items.

        Tango's variance is that of the hypothesis. Student's distribution belongs to the variance about the mean, which
        is smaller, so that with few clusters its quantile is too large for Tango's statistic. At a difference of 0 the
        two statistics T and t of n items with the design effect e are related by 1 / T² = (1 - 1 / n) / t² + e / n.
        """
        return self.clusters is not None and not self.annotators

    def _growth(self, assumed: float) -> float:
        """Return the factor by which the standard error grows with an assumed variance of the annotators."""
        both = self.item_variance + max(assumed, self.annotator_variance)
        return sqrt(both / (self.item_variance + self.annotator_variance))

    @property
    def p(self) -> float:
        """The two-sided p-value of no difference."""
        return min(1.0, 2 * student_above(abs(self.statistic(0.0)), self.freedom))

    def p_above(self, bound: float) -> float:
        """Compute the one-sided p-value of the hypothesis that the true difference is at most `bound`."""
        return student_above(self.statistic(bound), self.freedom)

    def p_below(self, bound: float) -> float:
        """Compute the one-sided p-value of the hypothesis that the true difference is at least `bound`."""
        return student_above(-self.statistic(bound), self.freedom)

    def p_within(self, margin: float) -> float:
        """Compute the p-value of equivalence: the larger one of the two one-sided tests.

        Args:
            margin: the largest difference that counts as none, in (0, 1).

        References:
            D. Schuirmann (1987), A comparison of the two one-sided tests procedure and the power approach for assessing
            the equivalence of average bioavailability. J. Pharmacokinetics and Biopharmaceutics 15, 657-680.
        """
        return max(self.p_above(-margin), self.p_below(margin))

    def detectable(self, *, level: float = 0.95, power: float = 0.8) -> float | None:
        """Compute the smallest true difference that this study detects with the given power, for other annotators too.

        Returns:
            The difference; `None` if there is none, or with one annotator.
        """
        if self.annotators == 1:
            return None
        return detectable_difference(
            self.mean_square,
            self.n / self.cluster_effect,
            level=level,
            power=power,
            annotator_variance=self.annotator_variance,
            freedom=self.freedom,
            largest=None if self.discordant else 1.0,
        )


def crossed_difference(
    first: FloatArray,
    second: FloatArray,
    shared: SharedPart,
    *,
    item_variance: float = 0.0,
    clusters: NDArray[np.integer] | None = None,
) -> CrossedDifference:
    """Compute the difference between two sides with its uncertainty over items and annotators.

    The degrees of freedom are Satterthwaite's for the sum of the two variances, with `heavy_tails` of the
    annotators, and at most the number of annotators minus 1. For two models with one right or wrong answer to each of
    independent items they are infinite: the statistic at 0 is then that of McNemar's asymptotic test, whose error rate
    is closer to the nominal one than that of the exact test (Fagerland, Lydersen and Laake).

    Args:
        first: shape (n,), the people's score of each item, n at least 1.
        second: shape (n,), the model's score of each item.
        shared: the part of the difference's uncertainty because items share annotators.
        item_variance: a variance from items that is used if it is larger than that of the item differences.
        clusters: shape (n,), codes of the clusters of items; by default, items are independent. The variance
            of the item differences is then multiplied by `cluster_design_effect`, and clusters count in the
            degrees of freedom. For two models it is multiplied by `cluster_robust_effect`, with its degrees of freedom.

    Raises:
        ValueError: the arrays are empty or differ in length.
        DataError: all items belong to one cluster.

    References:
        F. Satterthwaite (1946), An approximate distribution of estimates of variance components. Biometrics 2, 110-114.
        M. Fagerland, S. Lydersen, P. Laake (2013), The McNemar test for binary matched-pairs data. BMC Medical
        Research Methodology 13, 91.

    Example:
        >>> same = crossed_difference(np.ones(100), np.ones(100), SharedPart(0, 0, 0, 500))
        >>> round(same.interval().low, 3), round(same.interval().high, 3), same.p
        (-0.038, 0.038, 1.0)
    """
    if first.shape != second.shape or not first.shape[0]:
        raise ValueError("the arrays must have equal length and at least one score")
    n = first.shape[0]
    apart = np.where(np.abs(second - first) < SAME, 0.0, second - first)
    binary = bool(np.isin(first, (0.0, 1.0)).all() and np.isin(second, (0.0, 1.0)).all())
    units, effect, robust = n, 1.0, inf
    if clusters is not None:
        units = cluster_count(clusters)
        if units == 1 and n > 1:
            raise DataError(ONE_CLUSTER)
        if shared.annotators or units == n:
            effect = cluster_design_effect(apart - apart.mean(), clusters)
        else:
            effect, robust = cluster_robust_effect(apart - apart.mean(), clusters)
            effect = max(effect, LEAST / max(float(apart @ apart), LEAST))
    own = float(apart.var(ddof=1)) / n if n > 1 else 1.0
    from_items = max(own * effect, item_variance, (FLOOR / n) ** 2 * effect)
    third = shared.third_cumulant + (0.0 if binary else float(((apart - apart.mean()) ** 3).mean()) / n**2)
    freedom = inf
    if shared.annotators or not binary or units < n:
        doubt = from_items**2 / max(units - 1, 1) + shared.doubt * heavy_tails(max(shared.annotators, 1))
        freedom = (from_items + shared.variance) ** 2 / doubt
        freedom = limited_freedom(min(freedom, robust, float(max(units - 1, 1))), shared.annotators)
    return CrossedDifference(
        float(apart.mean()),
        n,
        (int((apart > 0).sum()), int((apart < 0).sum())) if binary else None,
        float((apart**2).mean()),
        from_items,
        shared.variance,
        freedom,
        shared.annotators,
        third / (from_items + shared.variance) ** 1.5,
        units if units < n else None,
        effect,
        shared.below,
        shared.above,
    )


def heavy_tails(annotators: int) -> float:
    """Compute the factor by which the variance of the annotators' variance grows if a few of them are much worse.

    The variance of an estimated variance is proportional to 2 / (n - 1) + k / n, with the excess kurtosis k.
    Few annotators do not show their kurtosis, so `EXCESS` is assumed.

    Example:
        >>> round(heavy_tails(24), 2)
        1.96
    """
    return 1 + EXCESS * (annotators - 1) / (2 * annotators)


def _without_skewness(statistic: float, skewness: float) -> float:
    """Remove the skewness from a statistic by Hall's transformation, if that brings it nearer to 0."""
    if abs(skewness) < SYMMETRIC or skewness * statistic >= 0 or not isfinite(statistic):
        return statistic
    moved = statistic + skewness * statistic**2 / 3 + skewness**2 * statistic**3 / 27 + skewness / 6
    # The transformation is exact to the order of its terms; its constant may not change the side.
    moved = min(moved, 0.0) if statistic < 0 else max(moved, 0.0)
    # The larger part of the statistic is kept: with few annotators the estimated skewness is mostly chance.
    if abs(moved) < abs(statistic) / MOST_WIDENED:
        return statistic / MOST_WIDENED
    return moved if abs(moved) < abs(statistic) else statistic


def skewed_quantile(quantile: float, skewness: float) -> float:
    """Compute the quantile of a statistic below 0 with this skewness, as a positive number.

    The inverse transformation.
    """
    if skewness < SYMMETRIC:
        return quantile
    power = 1 - skewness * (quantile + skewness / 6)
    return min(max(quantile, 3 / skewness * (1 - float(np.cbrt(power)))), MOST_WIDENED * quantile)
