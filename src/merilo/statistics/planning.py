"""Study design: the numbers of items, annotators and control items that a required precision or comparison takes.

`smallest_margin` and `smallest_difference` tell what a study of a given size can show of a model;
`size_for_margin` and `size_for_difference` tell what would answer what a study could not. `merilo.people.power` has
the half-widths that depend on how a study estimates its variances.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import ceil, exp, floor, inf, lgamma, log, log10, sqrt
from typing import Final

import numpy as np
import scipy

from merilo.errors import DataError, UsageError, argument
from merilo.statistics.crossed_difference import CrossedDifference, heavy_tails
from merilo.statistics.intervals import (
    at_least,
    at_most,
    limited_freedom,
    noncentral_above,
    quantile_of,
    student_quantile,
)
from merilo.statistics.paired_tests import tango_statistic

#: Upper limits of the searches for a number of items, annotators and control items.
MOST_ITEMS: Final = 10_000_000
MOST_PEOPLE: Final = 100_000
MOST_CONTROLS: Final = 1000

#: With fewer annotators no model is told from people.
FEWEST_ANNOTATORS: Final = 10


@dataclass(frozen=True, slots=True)
class StudyPlan:
    """The expected properties of a study's annotators.

    Attributes:
        expected: the expected accuracy of the consensus.
        overlap: the number of answers for each item.
        people: the number of annotators; `None` if every annotator answers one item only.
        spread: the standard deviation of individual accuracy between annotators.
        cluster_size: the mean number of items in a cluster, such as questions about one text, weighted by size.
        icc: the intra-cluster correlation of the items' scores, or of their differences from a model.
        item_spread: the standard deviation of a single annotator's accuracy between items; 0 if items are equally hard.
    """

    expected: float
    overlap: int = 5
    people: int | None = None
    spread: float = 0.1
    cluster_size: float = 1.0
    icc: float = 0.0
    item_spread: float = 0.0

    def __post_init__(self) -> None:
        if self.people is not None and self.people < max(self.overlap, 2):
            raise UsageError(
                f"{self.people} annotators are too few for {self.overlap} answers per item and an estimate of their "
                f"spread: {argument('people')} takes a number of at least {max(self.overlap, 2)}"
            )
        if self.item_spread**2 >= 0.98 * self.person * (1 - self.person) > 0:
            raise UsageError(
                f"{argument('item_spread')} {self.item_spread:g} is too large: single annotators with accuracy "
                f"{self.person:.3f} allow less than {sqrt(self.person * (1 - self.person)):.3f}"
            )

    @property
    def cluster_effect(self) -> float:
        """The factor by which the items' variance grows because items of one cluster depend on each other.

        References:
            L. Kish (1965), Survey sampling, section 5.4:  1 + (cluster size - 1) * correlation.
        """
        return 1 + (self.cluster_size - 1) * self.icc

    @property
    def person(self) -> float:
        """The individual accuracy at which the consensus of `overlap` equal annotators has the expected accuracy."""
        return _solve(lambda p: consensus_accuracy(p, self.overlap, self.item_spread) - self.expected)

    @property
    def influence(self) -> float:
        """The increase of consensus accuracy per unit of one annotator's accuracy (see `pivotal`)."""
        return pivotal(self.person, self.overlap, self.item_spread)

    @property
    def decisive(self) -> tuple[float, float]:
        """The mean and the variance of a single answer's score on the items that it decides; these are hard items."""
        beta = _beta(self.person, self.item_spread)
        if beta is None:
            return self.person, self.person * (1 - self.person)
        right, wrong = (shape + (self.overlap - 1) // 2 for shape in beta)
        both = right + wrong
        return right / both, right * wrong / (both * (both + 1))


@dataclass(frozen=True, slots=True)
class Precision:
    """The expected precision of a study of a given size.

    Attributes:
        items: the number of items.
        half_width: half the width of the confidence interval of the consensus accuracy.
        design_effect: the factor by which the variance grows because items share annotators.
    """

    items: int
    half_width: float
    design_effect: float


@dataclass(frozen=True, slots=True)
class ControlPlan:
    """The number of control items that each annotator must answer.

    Attributes:
        controls: the smallest number of control items that meets both requirements.
        always_from: the smallest number from which every number meets both requirements. The required number of correct
            answers is rounded up to a whole number, so slightly more control items can be worse than slightly fewer.
        pass_mark: the number of correct answers out of `controls` that an annotator needs to be kept.
        excluded: the probability that a guessing annotator is excluded, with `controls` control items.
        kept: the probability that a skilled annotator is kept, with `controls` control items.
    """

    controls: int
    always_from: int
    pass_mark: int
    excluded: float
    kept: float


def consensus_accuracy(person: float, overlap: int, item_spread: float = 0.0) -> float:
    """Compute the majority accuracy of equally accurate, independent annotators; ties are right half the time.

    All wrong answers to an item are assumed to be the same. This is the worst case: wrong answers spread over several
    labels outvote the right one less often. If items are not equally hard, the accuracy has a beta distribution between
    them.

    References:
        M. de Condorcet (1785), Essai sur l'application de l'analyse.

    Example:
        >>> round(consensus_accuracy(0.8, 5), 3), round(consensus_accuracy(0.8, 5, 0.2), 3)
        (0.942, 0.86)
    """
    tie = _divided(overlap, person, item_spread) / 2 if overlap % 2 == 0 else 0.0
    beta = _beta(person, item_spread)
    if beta is None:
        return at_least(overlap // 2 + 1, overlap, person) + tie
    special = scipy.special
    right = np.arange(overlap // 2 + 1, overlap + 1)
    ways = -special.betaln(overlap - right + 1, right + 1) - log(overlap + 1)
    chances = special.betaln(right + beta[0], overlap - right + beta[1]) - special.betaln(*beta)
    return float(np.exp(ways + chances).sum()) + tie


def _beta(person: float, item_spread: float) -> tuple[float, float] | None:
    """Return the parameters of the accuracy's distribution between items; `None` if items are equally hard."""
    variance = person * (1 - person)
    if item_spread == 0 or variance == 0:
        return None
    size = max(variance / item_spread**2 - 1, 0.01)
    return person * size, (1 - person) * size


def pivotal(person: float, overlap: int, item_spread: float = 0.0) -> float:
    """Compute the derivative of the consensus accuracy with respect to one annotator's accuracy.

    With an odd overlap it is the probability that the other annotators tie. With an even overlap it is half the
    probability that the leading label of the other annotators is ahead by one vote.
    """
    others = overlap - 1
    divided = _divided(others, person, item_spread)
    return divided if others % 2 == 0 else divided / 2


def _divided(votes: int, person: float, item_spread: float = 0.0) -> float:
    """Compute C(n, k) (p q)^k with k = n / 2 rounded down, as a mean over items.

    It is the probability of a tie for an even number of votes, and of a lead by one vote for an odd number.
    """
    half = votes // 2
    if half and not 0 < person < 1:
        return 0.0
    ways = lgamma(votes + 1) - lgamma(half + 1) - lgamma(votes - half + 1)
    if not half:
        return 1.0
    beta = _beta(person, item_spread)
    if beta is None:
        return exp(ways + half * log(person * (1 - person)))
    right, wrong = beta
    return exp(ways + scipy.special.betaln(right + half, wrong + half) - scipy.special.betaln(right, wrong))


def precision(plan: StudyPlan, items: int, *, level: float = 0.95) -> Precision:
    """Compute the expected precision of the consensus accuracy for a given number of items.

    The variance is the sum of  D θ(1 - θ) / I  for the items, with the design effect D of their clusters, and
     h² s² A m (m - 1) / I²  for the A annotators, each of whom answers m = k I / A items. Here s is the
     spread of their accuracy and h the value of `pivotal`. The interval is
    Wilson's with the number of items divided by the design effect, and with Student's quantile at
    Satterthwaite's degrees of freedom, at most A - 1, as in `uncertainty.two_way`.

    Args:
        plan: the expected properties of the annotators.
        items: the number of items.
        level: the nominal coverage, in (0, 1).
    """
    p = plan.expected
    from_items, shared, doubt = variances(plan, items)
    units = items / plan.cluster_size
    freedom = (from_items + shared) ** 2 / (from_items**2 / max(units - 1, 1) + doubt)
    effect = 1 + shared / from_items
    t = student_quantile((1 + level) / 2, limited_freedom(freedom, plan.people or 1))
    n = items / (effect * plan.cluster_effect)
    half = t * sqrt(p * (1 - p) / n + t * t / (4 * n * n)) / (1 + t * t / n)
    return Precision(items, half, effect)


def variances(plan: StudyPlan, items: int) -> tuple[float, float, float]:
    """Compute the variance of the consensus accuracy from items and from annotators (see `precision`).

    Returns:
        The two variances; and the square of the second one divided by its degrees of freedom, a term of Satterthwaite's
        formula. Without a number of annotators the last two are 0.
    """
    from_items = plan.cluster_effect * plan.expected * (1 - plan.expected) / items
    if plan.people is None:
        return from_items, 0.0, 0.0
    each = plan.overlap * items / plan.people
    shared = (plan.influence * plan.spread) ** 2 * plan.people * each * max(each - 1, 0.0) / items**2
    return from_items, shared, shared**2 / (plan.people - 1)


def items_for_half_width(plan: StudyPlan, half_width: float, *, level: float = 0.95) -> Precision:
    """Find the smallest number of items at which the interval is at most as wide as required.

    Args:
        plan: the expected properties of the annotators.
        half_width: half the required width.
        level: the nominal coverage, in (0, 1).

    Raises:
        UsageError: the half-width is not between 0 and 0.5.
        DataError: this number of annotators cannot reach the half-width with any number of items.

    Example:
        >>> items_for_half_width(StudyPlan(0.9), 0.03).items
        390
    """
    items = fewest(lambda n: precision(plan, n, level=level).half_width <= half_width, MOST_ITEMS)
    if items is None:
        most = precision(plan, MOST_ITEMS, level=level).half_width
        raise DataError(
            f"a half-width of {half_width:g} needs more than {MOST_ITEMS} items"
            if plan.people is None
            else f"{plan.people} annotators with a spread of {plan.spread:g} give a half-width of at least {most:.3g} "
            f"with any number of items: {half_width:g} needs more annotators"
        )
    return precision(plan, items, level=level)


def people_for_half_width(
    plan: StudyPlan, items: int, half_width: float, *, level: float = 0.95
) -> int | None:
    """Find the smallest number of annotators for the half-width; `None` if there are too few items."""

    def enough(people: int) -> bool:
        return precision(replace(plan, people=people), items, level=level).half_width <= half_width

    return fewest(enough, MOST_PEOPLE, least=max(plan.overlap, 2))


def independent_discordance(expected: float, difference: float) -> float:
    """Compute the share of items on which only one side is right, assuming independent errors.

    Real errors are usually positively correlated, so this is a cautious, high estimate.

    Example:
        >>> round(independent_discordance(0.9, 0.05), 3)
        0.22
    """
    other = max(expected - difference, 0.0)
    return expected * (1 - other) + other * (1 - expected)


def controls(
    *,
    threshold: float = 0.5,
    chance: float = 0.25,
    skilled: float = 0.85,
    exclude: float = 0.95,
    keep: float = 0.95,
) -> ControlPlan:
    """Find how many control items separate guessing from skilled annotators, by exact binomial probabilities.

    An annotator whose accuracy on control items is below the threshold is excluded. An annotator exactly at
    the threshold is kept, as in `merilo baseline`.

    Args:
        threshold: the accuracy on control items below which an annotator is excluded.
        chance: the expected accuracy of random guessing.
        skilled: the accuracy of an annotator who should be kept.
        exclude: the required probability of excluding a guessing annotator.
        keep: the required probability of keeping a skilled annotator.

    Raises:
        UsageError: a share is outside (0, 1), or `skilled` is not above `chance`.
        DataError: no number of control items up to `MOST_CONTROLS` meets both requirements: the threshold does not lie
            well between `chance` and `skilled`.

    Example:
        >>> plan = controls(chance=0.5, skilled=0.9, threshold=0.7)
        >>> plan.controls, plan.pass_mark, round(plan.excluded, 3), round(plan.kept, 3)
        (13, 10, 0.954, 0.966)
    """
    if skilled <= chance:
        raise UsageError(f"{argument('skilled')} {skilled:g} must be above {argument('chance')} {chance:g}")

    def separates(n: int) -> bool:
        mark = pass_mark(n, threshold)
        return at_most(mark - 1, n, chance) >= exclude and at_least(mark, n, skilled) >= keep

    good = [n for n in range(1, MOST_CONTROLS + 1) if separates(n)]
    if not good:
        raise DataError(
            f"no number of control items up to {MOST_CONTROLS} excludes annotators with accuracy {chance:g} and keeps "
            f"annotators with accuracy {skilled:g} at the threshold {threshold:g}: choose a "
            "threshold well between the two"
        )
    fewest = good[0]
    last_bad = max(set(range(1, MOST_CONTROLS + 1)) - set(good), default=0)
    mark = pass_mark(fewest, threshold)
    return ControlPlan(
        fewest, last_bad + 1, mark, at_most(mark - 1, fewest, chance), at_least(mark, fewest, skilled)
    )


def pass_mark(n: int, threshold: float) -> int:
    """Compute how many of `n` control answers must be right for an accuracy at or above the threshold.

    Example:
        >>> pass_mark(5, 0.5), pass_mark(4, 0.5), pass_mark(10, 0.7)
        (3, 2, 7)
    """
    return next(right for right in range(n + 1) if not right / n < threshold)


def fewest(enough: Callable[[int], bool], most: int, least: int = 1) -> int | None:
    """Find the smallest sufficient number by bisection; every larger number must be sufficient too.

    Returns:
        The number; `None` if even `most` is not sufficient.
    """
    if not enough(most):
        return None
    low, high = least, most
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle + 1, high)
    return low


def _solve(function: Callable[[float], float]) -> float:
    """Find the zero of an increasing function on [0, 1] by bisection."""
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if function(middle) < 0 else (low, middle)
    return (low + high) / 2


def people_needed(items: int, overlap: int, each: int) -> int:
    """Compute how many annotators are needed if each of them answers `each` items.

    Example:
        >>> people_needed(400, 5, 30)
        67
    """
    return max(ceil(items * overlap / each), overlap)


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
        UsageError: the difference is larger than the share of discordant items.
        DataError: these annotators do not reach the power with any number of items, or the difference takes more items
            than `MOST_ITEMS`.
    """
    if not difference <= discordant <= 1:
        raise UsageError(
            f"{argument('discordant')}, the share of items that only one side answers correctly, "
            f"must be at least the difference {difference:g}"
        )
    question = _Question(plan, discordant, difference, level, equivalence=False)
    return _comparison_size(question, power, f"a difference of {difference:g}", "detected")


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
        DataError: these annotators do not reach the power with any number of items, or the margin takes more items than
            `MOST_ITEMS`.
    """
    question = _Question(plan, discordant, margin, level, equivalence=True)
    return _comparison_size(question, power, f"equivalence within {margin:g}", "shown")


def _comparison_size(question: _Question, power: float, what: str, seen: str) -> ComparisonSize:
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
            f"annotators, not items, are the limit: with {plan.people} annotators and any number of items {what} is "
            f"{seen} with a probability of at most {best:.2f}; "
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


def smallest_margin(plan: StudyPlan, items: int, *, level: float = 0.95, power: float = 0.8) -> float | None:
    """Find the smallest margin within which equality with a model is shown if there is no true difference.

    It inverts `items_for_margin`; the errors of people and the model are assumed to be independent.

    Returns:
        The margin, rounded up to three digits; `None` if even a margin of 1 is not enough.

    Example:
        >>> smallest_margin(StudyPlan(0.9), 1000)
        0.04
    """
    discordant = independent_discordance(plan.expected, 0.0)

    def enough(thousandths: int) -> bool:
        question = _Question(plan, discordant, thousandths / 1000, level, equivalence=True)
        return question.power(plan, items) >= power

    found = fewest(enough, 999)
    return None if found is None else found / 1000


def smallest_difference(
    plan: StudyPlan, items: int, *, level: float = 0.95, power: float = 0.8
) -> float | None:
    """Find the smallest difference from a less accurate model that is detected.

    It inverts `items_for_difference`; the errors of people and the model are assumed to be independent.

    Returns:
        The difference, rounded up to three digits; `None` if not even a model that is always wrong is told from people.

    Example:
        >>> smallest_difference(StudyPlan(0.9), 1000)
        0.041
    """

    def enough(thousandths: int) -> bool:
        difference = thousandths / 1000
        discordant = independent_discordance(plan.expected, difference)
        return _Question(plan, discordant, difference, level, equivalence=False).power(plan, items) >= power

    found = fewest(enough, max(int(1000 * plan.expected), 1))
    return None if found is None else found / 1000


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
    return quantile_of(test, freedom) + quantile_of(power, freedom)


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
