"""Sizes of studies that compare people with models: in planning, and what would tell what a study could not."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import ceil, floor, inf, log10, sqrt
from typing import Final

from merilo.errors import DataError, UsageError, argument
from merilo.statistics.crossed_difference import CrossedDifference, heavy_tails
from merilo.statistics.distributions import limited_freedom, noncentral_above, quantile_of, student_quantile
from merilo.statistics.paired_tests import tango_statistic
from merilo.statistics.power import MOST_ITEMS, MOST_PEOPLE, StudyPlan, fewest, variances

#: Without a number of annotators, a plan has so many times the items of a study whose annotators do not differ.
MORE_ITEMS: Final = 1.5
#: By so many standard errors the test statistic is nearer to 0 than with known variances: the annotators' variance and
#: skewness are estimated, and never below 0. Found by simulation: without it the power is 0.73 to 0.75 in
#: place of 0.80.
ESTIMATED: Final = 0.15


@dataclass(frozen=True, slots=True)
class ComparisonSize:
    """The size of a study that compares people with a model.

    Attributes:
        items: the number of items.
        items_alone: the number of items if annotators did not differ.
        people: the smallest number of annotators that is enough with `MORE_ITEMS` times `items_alone` items; `None` if
            the plan has no spread between annotators to allow for.
        power: the power with this size.
        design_effect: the factor by which the variance grows because items share annotators.
    """

    items: int
    items_alone: int
    people: int | None
    power: float
    design_effect: float


@dataclass(frozen=True, slots=True)
class _Question:
    """A test whose power is planned: that of a difference, or that of equivalence within a margin."""

    plan: StudyPlan
    discordant: float
    distance: float
    level: float
    equivalence: bool

    def power(self, plan: StudyPlan, items: int) -> float:
        """Compute the power with these annotators and items."""
        true = 0.0 if self.equivalence else self.distance
        from_items = plan.cluster_effect * (self.discordant - true**2) / items
        _, shared, doubt = variances(plan, items)
        total = from_items + shared
        doubt *= heavy_tails(plan.people) if plan.people else 1.0
        units = items / plan.cluster_size
        freedom = total**2 / (from_items**2 / max(units - 1, 1) + doubt) if total > 0 else inf
        freedom = limited_freedom(freedom, plan.people or 1)
        effect = 1 + shared / from_items if from_items > 0 else 1.0
        # The score test takes the variance that the hypothesis allows, times the design effect.
        null = (
            _score_variance(self.discordant, true, self.distance if self.equivalence else 0.0)
            / items
            * effect
            * plan.cluster_effect
        )
        quantile = quantile_of(self.level if self.equivalence else (1 + self.level) / 2, freedom)
        if total <= 0:
            return 1.0 if self.distance > quantile * sqrt(null) else 0.0
        shift = self.distance / sqrt(total)
        if plan.people is not None and not self.equivalence:
            shift -= ESTIMATED
        found = noncentral_above(quantile * sqrt(null / total), freedom, shift)
        return max(2 * found - 1, 0.0) if self.equivalence else found


def power_of_difference(
    plan: StudyPlan, items: int, discordant: float, difference: float, *, level: float = 0.95
) -> float:
    """Compute the probability that the test over items and annotators detects a difference from a model.

    The test is that of `CrossedDifference`: Tango's statistic divided by the root of the design effect, with Student's
    quantile. Its power is that of a t test: the noncentral t distribution with the true difference in standard errors.

    Args:
        plan: the expected properties of the annotators.
        items: the number of items.
        discordant: the share of items on which only one of the two sides is right; at least the difference.
        difference: the true difference of accuracies.
        level: one minus the significance level of the two-sided test.

    References:
        R. Connor (1987), Sample size for testing differences in proportions for the paired-sample design.
        S. Julious (2004), Sample sizes for clinical trials with normal data. Statistics in Medicine 23, 1921-1986.

    Example:
        >>> round(power_of_difference(StudyPlan(0.9), 689, 0.22, 0.05), 2)
        0.8
    """
    return _Question(plan, discordant, difference, level, equivalence=False).power(plan, items)


def power_of_equivalence(
    plan: StudyPlan, items: int, discordant: float, margin: float, *, level: float = 0.95
) -> float:
    """Compute the probability that two one-sided tests show equivalence if there is no true difference.

    Args:
        plan: the expected properties of the annotators.
        items: the number of items.
        discordant: the share of items on which only one of the two sides is right.
        margin: the margin.
        level: one minus the significance level of each one-sided test.

    References:
        J. Liu, H. Hsueh, E. Hsieh, J. Chen (2002), Tests for equivalence or non-inferiority for paired binary data.
        Statistics in Medicine 21, 231-245.

    Example:
        >>> round(power_of_equivalence(StudyPlan(0.9), 1000, 0.1, 0.03), 2)
        0.81
    """
    return _Question(plan, discordant, margin, level, equivalence=True).power(plan, items)


def items_for_difference(
    plan: StudyPlan, discordant: float, difference: float, *, level: float = 0.95, power: float = 0.8
) -> ComparisonSize:
    """Find the size of a study that detects a difference from a model with the given power.

    Args:
        plan: the expected properties of the annotators; without a number of annotators, it is found too.
        discordant: the share of items on which only one of the two sides is right; at least the difference.
        difference: the true difference of accuracies.
        level: one minus the significance level of the two-sided test.
        power: the probability of detecting the difference.

    Raises:
        UsageError: the difference is not in (0, 1), or is larger than the share of discordant items.
        DataError: these annotators do not reach the power with any number of items, or the difference takes more items
            than `MOST_ITEMS`.
    """
    if not 0 < difference < 1:
        raise UsageError(f"{argument('difference')} takes a number between 0 and 1, not {difference:g}")
    if not difference <= discordant <= 1:
        raise UsageError(
            f"{argument('discordant')}, the share of items that only one side answers correctly, "
            f"must be at least the difference {difference:g}"
        )
    question = _Question(plan, discordant, difference, level, equivalence=False)
    return _size(question, power, f"a difference of {difference:g}", "detected")


def items_for_margin(
    plan: StudyPlan, discordant: float, margin: float, *, level: float = 0.95, power: float = 0.8
) -> ComparisonSize:
    """Find the size of a study that shows equivalence within a margin if there is no true difference.

    Args:
        plan: the expected properties of the annotators; without a number of annotators, it is found too.
        discordant: the share of items on which only one of the two sides is right, in (0, 1].
        margin: the margin.
        level: one minus the significance level of each one-sided test.
        power: the probability of showing equivalence.

    Raises:
        UsageError: the margin or the share is out of range.
        DataError: these annotators do not reach the power with any number of items, or the margin takes more items than
            `MOST_ITEMS`.
    """
    if not 0 < margin < 1:
        raise UsageError(f"{argument('margin')} takes a difference between 0 and 1, not {margin:g}")
    if not 0 < discordant <= 1:
        raise UsageError(f"{argument('discordant')} takes a share above 0 and at most 1, not {discordant:g}")
    question = _Question(plan, discordant, margin, level, equivalence=True)
    return _size(question, power, f"equivalence within {margin:g}", "shown")


def _size(question: _Question, power: float, what: str, seen: str) -> ComparisonSize:
    plan = question.plan
    alone = _items(question, replace(plan, people=None), power)
    if alone is None:
        raise DataError(f"{what} needs more than {MOST_ITEMS} items")
    several = round(alone * MORE_ITEMS)
    people = fewest(
        lambda n: question.power(replace(plan, people=n), several) >= power,
        MOST_PEOPLE,
        least=max(plan.overlap, 2),
    )
    if plan.people is None:
        if people is None:
            raise DataError(f"with {several} items, {what} is not {seen} by any number of people")
        items: int | None = several
        chosen = replace(plan, people=people)
    else:
        items, chosen = _items(question, plan, power), plan
    if items is None:
        best = question.power(plan, MOST_ITEMS)
        raise DataError(
            f"annotators, not items, are the limit: with {plan.people} annotators and any number "
            f"of items {what} is {seen} with "
            f"a probability of at most {best:.2f}; "
            + (
                f"with {several} items at least {people} annotators are needed ({people - (plan.people or 0)} more)"
                if people is not None
                else f"more than {MOST_PEOPLE} annotators are needed"
            )
        )
    _, shared, _ = variances(chosen, items)
    true = 0.0 if question.equivalence else question.distance
    rest = chosen.cluster_effect * (question.discordant - true**2) / items
    return ComparisonSize(
        items, alone, people, question.power(chosen, items), 1 + shared / rest if rest > 0 else 1.0
    )


def _items(question: _Question, plan: StudyPlan, power: float) -> int | None:
    enough: Callable[[int], bool] = lambda items: question.power(plan, items) >= power  # noqa: E731
    return fewest(enough, MOST_ITEMS, least=2)


def _score_variance(discordant: float, true: float, at: float) -> float:
    """Compute the variance of one item's difference that Tango's statistic uses at the hypothesis `at`."""
    better, worse = (discordant + true) / 2, (discordant - true) / 2
    gap = true - at
    if gap == 0:
        return discordant - true**2
    return (gap / tango_statistic(better, worse, 1.0, at)) ** 2


_ROUNDS: Final = 30


@dataclass(frozen=True, slots=True)
class StudySize:
    """The approximate size of a study.

    Attributes:
        items: the number of items, rounded up to two digits if it is more than the study at hand has.
        annotators: the number of annotators, rounded up likewise.
    """

    items: int
    annotators: int


def size_for_margin(found: CrossedDifference, margin: float, *, power: float = 0.8) -> StudySize | None:
    """Estimate the study that shows equivalence within a margin if the true difference is the observed one.

    The standard error must be at most  (margin - |difference|) / (t_0.95 + t_{(1 + power) / 2}).

    Args:
        found: the study at hand; its variances and its numbers of items and annotators are used.
        margin: the margin, in (0, 1).
        power: the probability of showing equivalence.

    Returns:
        The size; `None` if it is above `MOST_ITEMS`, if the difference is outside the margin, or if this
        study is large enough.

    References:
        S. Julious (2004), Sample sizes for clinical trials with normal data. Statistics in Medicine 23, 1921-1986.
    """
    return _study_size(
        found, margin - abs(found.value), lambda freedom: _quantiles(freedom, 0.95, (1 + power) / 2)
    )


def size_for_difference(found: CrossedDifference, *, power: float = 0.8) -> StudySize | None:
    """Estimate the study that detects the observed difference, if it is the true one, by the two-sided test at 5 %.

    The standard error must be at most  |difference| / (t_0.975 + t_power).

    Args:
        found: the study at hand.
        power: the probability of detecting the difference.

    Returns:
        The size; `None` if it is above `MOST_ITEMS`, if the difference is 0, or if this study is large enough.
    """
    return _study_size(found, abs(found.value), lambda freedom: _quantiles(freedom, 0.975, power))


def _quantiles(freedom: float, test: float, power: float) -> float:
    return student_quantile(test, freedom) + student_quantile(power, freedom)


def _study_size(
    found: CrossedDifference, distance: float, quantiles: Callable[[float], float]
) -> StudySize | None:
    """Find the sizes with the smallest sum of relative growths.

    The two variances fall as 1 / items and 1 / annotators.
    """
    if distance <= 0:
        return None
    items, people = found.item_variance, found.annotator_variance
    freedom, grown = found.freedom, (1.0, 1.0)
    for _ in range(_ROUNDS):
        grown = _growth(items, people, (distance / quantiles(freedom)) ** 2)
        more = max(found.n * grown[0] - 1, 1.0), max(found.annotators * grown[1] - 1, 1.0)
        parts = items / grown[0], people / grown[1]
        freedom = max(sum(parts) ** 2 / (parts[0] ** 2 / more[0] + parts[1] ** 2 / more[1]), 1.0)
    wanted = found.n * grown[0], found.annotators * grown[1]
    if max(wanted) > MOST_ITEMS or max(grown) <= 1:
        return None
    size = [
        _two_digits(number) if more > 1 else round(number) for number, more in zip(wanted, grown, strict=True)
    ]
    return StudySize(*size)


def _growth(items: float, people: float, wanted: float) -> tuple[float, float]:
    """Compute how many times more items and annotators give the wanted variance; neither number becomes smaller."""
    if items + people <= wanted:
        return 1.0, 1.0
    both = sqrt(items) + sqrt(people)
    more_items, more_people = sqrt(items) * both / wanted, sqrt(people) * both / wanted
    if more_items < 1:
        return 1.0, people / (wanted - items)
    if more_people < 1:
        return items / (wanted - people), 1.0
    return more_items, more_people


def _two_digits(number: float) -> int:
    """Round a number up to two digits.

    Example:
        >>> _two_digits(1234.5), _two_digits(97), _two_digits(7.2)
        (1300, 97, 8)
    """
    step: int = 10 ** max(floor(log10(max(number, 1.0))) - 1, 0)
    return ceil(ceil(number - 1e-9) / step) * step
