"""A difference between people and a model with its uncertainty over items and annotators together.

An interval over items alone is about the annotators of this study. The difference would also change with other
annotators. Here the variance because items share annotators is added, by a design effect: the ratio of the variance
over items and annotators to the variance over items alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from typing import Final

import numpy as np

from merilo.statistics.arrays import FloatArray
from merilo.statistics.distributions import student_above, student_quantile
from merilo.statistics.intervals import Interval
from merilo.statistics.paired_tests import SAME, detectable_difference, tango, tango_statistic

#: The smallest standard error from items, in items: with it, the interval of two sides that never differ is about Tango's.
FLOOR: Final = 2.0


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
        annotators: the number of annotators.
    """

    value: float
    n: int
    discordant: tuple[int, int] | None
    mean_square: float
    item_variance: float
    annotator_variance: float
    freedom: float
    annotators: int

    @property
    def design_effect(self) -> float:
        """The ratio of the variance over items and annotators to the variance over items alone, at least 1."""
        return 1 + self.annotator_variance / self.item_variance

    @property
    def standard_error(self) -> float:
        """The standard error over items and annotators together."""
        return sqrt(self.item_variance + self.annotator_variance)

    @property
    def method(self) -> str:
        """The name of the test and of the interval."""
        form = "Student's test" if self.discordant is None else "Tango's score test"
        return f"{form} over items and annotators"

    def interval(self, level: float = 0.95) -> Interval:
        """Compute the interval of the difference over items and annotators.

        For scores of 0 and 1 it is Tango's interval with the counts divided by the design effect and with Student's
        quantile; otherwise it is Student's. It contains the interval over items alone, because the design effect is at
        least 1 and Student's quantile is at least the normal one.

        Args:
            level: the nominal coverage, in (0, 1).

        References:
            J. Rao, A. Scott (1992), A simple method for the analysis of clustered binary data. Biometrics 48, 577-585
            (counts divided by the design effect).
            T. Tango (1998), as for `tango`.
        """
        t = student_quantile((1 + level) / 2, self.freedom)
        if self.discordant is not None:
            effect = self.design_effect
            better, worse = self.discordant
            found = tango(better / effect, worse / effect, self.n / effect, level, quantile=t)
            return Interval(found.low, found.high, level, "Tango's score interval over items and annotators")
        reach = t * self.standard_error
        method = "Student's interval over items and annotators"
        return Interval(max(-1.0, self.value - reach), min(1.0, self.value + reach), level, method)

    def statistic(self, at: float) -> float:
        """Compute the test statistic of the hypothesis that the true difference is `at`.

        It is beyond Student's quantile exactly if `at` is outside the interval.
        """
        if self.discordant is None:
            return (self.value - at) / self.standard_error
        return tango_statistic(*self.discordant, self.n, at) / sqrt(self.design_effect)

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
        """Compute the smallest true difference that this study detects with the given power, for other annotators too."""
        return detectable_difference(
            self.mean_square,
            self.n,
            level=level,
            power=power,
            annotator_variance=self.annotator_variance,
            freedom=self.freedom,
        )


def crossed_difference(
    first: FloatArray,
    second: FloatArray,
    *,
    annotator_variance: float,
    annotator_doubt: float,
    annotators: int,
    item_variance: float = 0.0,
) -> CrossedDifference:
    """Compute the difference between two sides with its uncertainty over items and annotators.

    The degrees of freedom are Satterthwaite's for the sum of the two variances.

    Args:
        first: shape (n,), the people's score of each item, n at least 1.
        second: shape (n,), the model's score of each item.
        annotator_variance: the variance of the difference because items share annotators.
        annotator_doubt: the square of that variance's estimate divided by its degrees of freedom.
        annotators: the number of annotators.
        item_variance: a variance from items that is used if it is larger than that of the item differences.

    Raises:
        ValueError: the arrays are empty or differ in length.

    References:
        F. Satterthwaite (1946), An approximate distribution of estimates of variance components. Biometrics 2, 110-114.

    Example:
        >>> same = crossed_difference(np.ones(100), np.ones(100), annotator_variance=0, annotator_doubt=0, annotators=5)
        >>> round(same.interval().low, 3), round(same.interval().high, 3), same.p
        (-0.038, 0.038, 1.0)
    """
    if first.shape != second.shape or not first.shape[0]:
        raise ValueError("the arrays must have equal length and at least one score")
    n = first.shape[0]
    apart = np.where(np.abs(second - first) < SAME, 0.0, second - first)
    binary = bool(np.isin(first, (0.0, 1.0)).all() and np.isin(second, (0.0, 1.0)).all())
    own = float(apart.var(ddof=1)) / n if n > 1 else 1.0
    from_items = max(own, item_variance, (FLOOR / n) ** 2)
    doubt = from_items**2 / max(n - 1, 1) + annotator_doubt
    freedom = (from_items + annotator_variance) ** 2 / doubt
    return CrossedDifference(
        float(apart.mean()),
        n,
        (int((apart > 0).sum()), int((apart < 0).sum())) if binary else None,
        float((apart**2).mean()),
        from_items,
        annotator_variance,
        min(max(freedom, 1.0), float(max(n - 1, 1))),
        annotators,
    )
