"""Study design: the numbers of items, annotators and control items that a required precision takes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import ceil, exp, lgamma, log, sqrt
from typing import Final

from merilo.errors import DataError, UsageError, argument
from merilo.statistics.distributions import at_least, at_most, limited_freedom, student_quantile

#: Upper limits of the searches for a number of items, annotators and control items.
MOST_ITEMS: Final = 10_000_000
MOST_PEOPLE: Final = 100_000
MOST_CONTROLS: Final = 1000


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
    """

    expected: float
    overlap: int = 5
    people: int | None = None
    spread: float = 0.1
    cluster_size: float = 1.0
    icc: float = 0.0

    def __post_init__(self) -> None:
        if not 0 < self.expected < 1:
            raise UsageError(
                f"{argument('expected')} takes an accuracy between 0 and 1, not {self.expected:g}"
            )
        if not 0 <= self.spread <= 0.5:
            raise UsageError(
                f"{argument('spread')} takes a standard deviation from 0 to 0.5, not {self.spread:g}"
            )
        if not 1 <= self.cluster_size <= MOST_ITEMS:
            raise UsageError(
                f"{argument('cluster_size')} takes a number of items of at least 1, not {self.cluster_size:g}"
            )
        if not 0 <= self.icc <= 1:
            raise UsageError(f"{argument('icc')} takes a correlation from 0 to 1, not {self.icc:g}")
        if self.overlap < 1:
            raise UsageError(f"{argument('overlap')} takes a number of at least 1")
        if self.people is not None and self.people < max(self.overlap, 2):
            raise UsageError(
                f"{self.people} annotators are too few for {self.overlap} answers per item and an "
                "estimate of their spread: "
                f"{argument('people')} takes a number of at least {max(self.overlap, 2)}"
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
        return _solve(lambda p: consensus_accuracy(p, self.overlap) - self.expected)

    @property
    def influence(self) -> float:
        """The increase of consensus accuracy per unit of one annotator's accuracy (see `pivotal`)."""
        return pivotal(self.person, self.overlap)


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


def consensus_accuracy(person: float, overlap: int) -> float:
    """Compute the majority accuracy of equally accurate, independent annotators; ties are right half the time.

    All wrong answers to an item are assumed to be the same. This is the worst case: wrong answers spread over several
    labels outvote the right one less often.

    References:
        M. de Condorcet (1785), Essai sur l'application de l'analyse.

    Example:
        >>> round(consensus_accuracy(0.8, 5), 3)
        0.942
    """
    tie = _divided(overlap, person) / 2 if overlap % 2 == 0 else 0.0
    return at_least(overlap // 2 + 1, overlap, person) + tie


def pivotal(person: float, overlap: int) -> float:
    """Compute the derivative of the consensus accuracy with respect to one annotator's accuracy.

    With an odd overlap it is the probability that the other annotators tie. With an even overlap it is half the
    probability that the leading label of the other annotators is ahead by one vote.
    """
    others = overlap - 1
    return _divided(others, person) if others % 2 == 0 else _divided(others, person) / 2


def _divided(votes: int, person: float) -> float:
    """Compute C(n, k) (p q)^k with k = n / 2 rounded down.

    It is the probability of a tie for an even number of votes, and of a lead by one vote for an odd number.
    """
    half = votes // 2
    if half and not 0 < person < 1:
        return 0.0
    ways = lgamma(votes + 1) - lgamma(half + 1) - lgamma(votes - half + 1)
    return exp(ways + half * log(person * (1 - person))) if half else 1.0


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
    if not 0 < half_width < 0.5:
        raise UsageError(f"{argument('half_width')} takes a number between 0 and 0.5, not {half_width:g}")
    items = fewest(lambda n: precision(plan, n, level=level).half_width <= half_width, MOST_ITEMS)
    if items is None:
        most = precision(plan, MOST_ITEMS, level=level).half_width
        raise DataError(
            f"a half-width of {half_width:g} needs more than {MOST_ITEMS} items"
            if plan.people is None
            else f"{plan.people} annotators with a spread of {plan.spread:g} give a half-width of at "
            f"least {most:.3g} with any number of "
            f"items: {half_width:g} needs more annotators"
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
    for name, share in (
        ("chance", chance),
        ("skilled", skilled),
        ("exclude", exclude),
        ("keep", keep),
    ):
        if not 0 < share < 1:
            raise UsageError(f"{argument(name)} takes a share between 0 and 1, not {share:g}")
    if not 0 < threshold <= 1:
        raise UsageError(f"{argument('min_control_accuracy')} takes a share above 0, not {threshold:g}")
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
        fewest,
        last_bad + 1,
        mark,
        at_most(mark - 1, fewest, chance),
        at_least(mark, fewest, skilled),
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
