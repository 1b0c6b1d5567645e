"""Study design: the numbers of items, annotators and control items that a precision or a comparison takes.

`power` is the whole plan, as `merilo power` prints it. `smallest_margin` and `smallest_difference` tell what a study of
a given size can show of a model, `study_size` what would answer what a study could not.

The interval of a planned study is that of `merilo.statistics.crossed` with the variances that it would have:
theta (1 - theta) / I from the items, times the design effect of their clusters, and h^2 s^2 A m (m - 1) / I^2 from the
A annotators, each of whom answers m = k I / A items. Here s is the spread of their accuracy, h the value of `pivotal`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from functools import partial
from math import ceil, exp, floor, lgamma, log, log10, sqrt
from typing import Final, Literal

from merilo.errors import DataError, UsageError, argument
from merilo.settings import PowerSettings
from merilo.statistics.crossed import GUESSERS, Crossed, student_quantile
from merilo.statistics.intervals import at_least, at_most
from merilo.strict_json import Json

#: Upper limits of the searches for a number of items, annotators and control items.
MOST_ITEMS: Final = 10_000_000
MOST_PEOPLE: Final = 100_000
MOST_CONTROLS: Final = 1000

#: With fewer annotators no model is told from people.
FEWEST_ANNOTATORS: Final = 10

#: Without a number of annotators, a plan has so many times the items of a study whose annotators do not differ.
MORE_ITEMS: Final = 1.5

#: Rounds in which the size of a further study is computed again from its degrees of freedom.
_ROUNDS: Final = 30


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
        chance: the accuracy of an annotator who guesses.
    """

    expected: float
    overlap: int = 5
    people: int | None = None
    spread: float = 0.1
    cluster_size: float = 1.0
    icc: float = 0.0
    chance: float = 0.25

    def __post_init__(self) -> None:
        if self.people is not None and self.people < max(self.overlap, 2):
            raise UsageError(
                f"{self.people} annotators are too few for {self.overlap} answers per item and an estimate of their "
                f"spread: {argument('people')} takes a number of at least {max(self.overlap, 2)}"
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
        low, high = 0.0, 1.0
        for _ in range(60):
            middle = (low + high) / 2
            below = consensus_accuracy(middle, self.overlap) < self.expected
            low, high = (middle, high) if below else (low, middle)
        return (low + high) / 2

    def crossed(
        self, items: int, of: Literal["consensus", "person"] = "consensus", own: float = 0.0
    ) -> Crossed:
        """Return the uncertainty that a study of this size would have.

        Args:
            items: the number of items.
            of: the consensus, or a single person.
            own: one item's variance; by default, that of an item that is right or wrong.
        """
        k, people = self.overlap, self.people or items * self.overlap
        each = k * items / people
        if of == "consensus":
            value, say = self.expected, pivotal(self.person, k)
            own = own or value * (1 - value)
            shared = (say * self.spread) ** 2 * people * each * max(each - 1, 0.0) / items**2
            guess = say * k / people * (self.chance - self.person)
        else:
            value = self.person
            own = max(value * (1 - value) - self.spread**2, 1e-9) / k
            shared, guess = self.spread**2 / people, (self.chance - value) / people
        variance = self.cluster_effect * own / items
        q = GUESSERS / (people + GUESSERS)
        below = q * (1 - q) * people * guess**2
        freedom = max(min(items / self.cluster_size, people) - 1, 1)
        worth = max(value * (1 - value), 1 / items) / variance
        return Crossed(
            value,
            people,
            variance,
            shared if self.people else 0.0,
            (below, 0.0) if self.people else (0.0, 0.0),
            worth,
            freedom,
            (0.0, 1.0),
        )


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
    divided = _divided(overlap - 1, person)
    return divided if overlap % 2 == 1 else divided / 2


def _divided(votes: int, person: float) -> float:
    """Compute C(n, k) (p q)^k with k = n / 2 rounded down: of a tie, or a lead by one vote for an odd number."""
    half = votes // 2
    if not half or not 0 < person < 1:
        return 0.0 if half else 1.0
    ways = lgamma(votes + 1) - lgamma(half + 1) - lgamma(votes - half + 1)
    return exp(ways + half * log(person * (1 - person)))


def half_width(
    plan: StudyPlan, items: int, of: Literal["consensus", "person"] = "consensus", *, level: float = 0.95
) -> float:
    """Compute half the width of the interval that a study of this size would have.

    Example:
        >>> round(half_width(StudyPlan(0.9, people=40), 400), 3)
        0.046
    """
    low, high = plan.crossed(items, of).interval(level) or (0.0, 1.0)
    return (high - low) / 2


# Comparison with a model


def independent_discordance(people: float, difference: float) -> float:
    """Compute the share of items on which only one side is right, if errors of people and model are independent.

    Example:
        >>> round(independent_discordance(0.9, 0.05), 3)
        0.22
    """
    model = people - difference
    return people * (1 - model) + model * (1 - people)


def shown(
    plan: StudyPlan,
    items: int,
    discordant: float,
    distance: float,
    quantiles: tuple[float, float],
    *,
    true: float,
) -> bool:
    """Return whether a study of this size detects a difference, or shows equivalence within a margin.

    The standard error must be at most  distance / (t_test + t_power).

    Args:
        plan: the expected properties of the annotators.
        items: the number of items.
        discordant: the share of items on which only one of the two sides is right.
        distance: the difference, or the margin.
        quantiles: the probabilities of the test's quantile and of the power's.
        true: the true difference of accuracies.

    References:
        R. J. Connor (1987), Sample size for testing differences in proportions for the paired-sample design.
        Biometrics 43, 207-211 (the variance of the items).
        S. Julious (2004), Sample sizes for clinical trials with normal data. Statistics in Medicine 23, 1921-1986.
    """
    difference = plan.crossed(items, own=max(discordant - true**2, 0.0) or 1e-12)
    error = sqrt(difference.items_variance + difference.shared_variance + difference.guess_variance[0])
    return distance >= error * sum(student_quantile(p, difference.freedom) for p in quantiles)


def _for_difference(level: float, power: float) -> tuple[float, float]:
    return (1 + level) / 2, power


def _for_margin(level: float, power: float) -> tuple[float, float]:
    return level, (1 + power) / 2


def smallest_margin(plan: StudyPlan, items: int, *, level: float = 0.95, power: float = 0.8) -> float | None:
    """Find the smallest margin within which equality with a model is shown if there is no true difference.

    The errors of people and the model are assumed to be independent.

    Returns:
        The margin, rounded up to three digits; `None` if even a margin of 1 is not enough.
    """
    share, tests = independent_discordance(plan.expected, 0.0), _for_margin(level, power)
    margin = fewest(lambda n: shown(plan, items, share, n / 1000, tests, true=0.0), 999)
    return None if margin is None else margin / 1000


def smallest_difference(
    plan: StudyPlan, items: int, *, level: float = 0.95, power: float = 0.8
) -> float | None:
    """Find the smallest difference from a less accurate model that is detected; errors are assumed independent.

    Returns:
        The difference, rounded up to three digits; `None` if not even a model that is always wrong is told from people.
    """

    def enough(n: int) -> bool:
        share = independent_discordance(plan.expected, n / 1000)
        return shown(plan, items, share, n / 1000, _for_difference(level, power), true=n / 1000)

    difference = fewest(enough, max(int(1000 * plan.expected), 1))
    return None if difference is None else difference / 1000


@dataclass(frozen=True, slots=True)
class StudySize:
    """The approximate size of a study.

    Attributes:
        items: the number of items, rounded up to two digits if it is more than the study at hand has.
        annotators: the number of annotators, rounded up likewise.
    """

    items: int
    annotators: int


def study_size(difference: Crossed, items: int, margin: float | None = None) -> StudySize | None:
    """Estimate the study that answers with power 0.8 what this one cannot, if the observed difference is the true one.

    The standard error must be at most |difference| / (t_0.975 + t_0.8) for the two-sided test, or, to show equivalence,
    (margin - |difference|) / (t_0.95 + t_0.9). The variances fall as 1 / items and 1 / annotators; of the sizes that
    reach it, that with the smallest sum of relative growths is taken.

    Args:
        difference: the difference in the study at hand.
        items: its number of items.
        margin: the margin, in (0, 1); by default, the two-sided test.

    Returns:
        The size; `None` if it is above `MOST_ITEMS`, if no size would do, or if this study is large enough.
    """
    distance = abs(difference.value) if margin is None else margin - abs(difference.value)
    if distance < 1e-6:
        return None
    tests = _for_difference(0.95, 0.8) if margin is None else _for_margin(0.95, 0.8)
    variances, people = (difference.items_variance, difference.shared_variance), difference.people or 0
    freedom, grown = difference.freedom, (1.0, 1.0)
    for _ in range(_ROUNDS):
        grown = _growth(*variances, (distance / sum(student_quantile(p, freedom) for p in tests)) ** 2)
        freedom = max(min([items * grown[0], *([people * grown[1]] if people else [])]) - 1, 1.0)
    wanted = items * grown[0], people * grown[1]
    if max(wanted) > MOST_ITEMS or max(grown) <= 1:
        return None
    size = [_two_digits(n) if more > 1 else round(n) for n, more in zip(wanted, grown, strict=True)]
    return StudySize(*size)


def _growth(items: float, people: float, wanted: float) -> tuple[float, float]:
    """Compute how many times more items and annotators give the wanted variance; neither number becomes smaller."""
    if items + people <= wanted:
        return 1.0, 1.0
    both = sqrt(items) + sqrt(people)
    more_items, more_people = sqrt(items) * both / wanted, sqrt(people) * both / wanted
    if more_items < 1:
        return 1.0, people / (wanted - items)
    return (items / (wanted - people), 1.0) if more_people < 1 else (more_items, more_people)


def _two_digits(number: float) -> int:
    """Round a number up to two digits.

    Example:
        >>> _two_digits(1234.5), _two_digits(97), _two_digits(7.2)
        (1300, 97, 8)
    """
    step: int = 10 ** max(floor(log10(max(number, 1.0))) - 1, 0)
    return ceil(ceil(number - 1e-9) / step) * step


# Control items


@dataclass(frozen=True, slots=True)
class ControlPlan:
    """The number of control items that each annotator must answer.

    Attributes:
        controls: the smallest number of control items that meets both requirements.
        always_from: the smallest number from which every number meets both requirements. The required number of correct
            answers is rounded up to a whole number, so slightly more control items can be worse than slightly fewer.
        pass_mark: the number of correct answers out of `controls` that an annotator needs to be kept.
        excluded: the probability that a guessing annotator is excluded, with `controls` control items.
        retained: the probability that a skilled annotator is kept, with `controls` control items.
    """

    controls: int
    always_from: int
    pass_mark: int
    excluded: float
    retained: float


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
        >>> plan.controls, plan.pass_mark, round(plan.excluded, 3), round(plan.retained, 3)
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
    n, last_bad = good[0], max(set(range(1, MOST_CONTROLS + 1)) - set(good), default=0)
    mark = pass_mark(n, threshold)
    return ControlPlan(n, last_bad + 1, mark, at_most(mark - 1, n, chance), at_least(mark, n, skilled))


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


def people_needed(items: int, overlap: int, each: int) -> int:
    """Compute how many annotators are needed if each of them answers `each` items.

    Example:
        >>> people_needed(400, 5, 30)
        67
    """
    return max(ceil(items * overlap / each), overlap)


# The plan


def power(settings: PowerSettings | None = None, **chosen: object) -> dict[str, Json]:
    """Plan a study: items for a target interval or difference, annotators, and control items for each annotator.

    Args:
        settings: what is assumed and wanted; by default, the defaults of `PowerSettings`.
        chosen: single settings by name, such as `half_width=0.05`; `merilo power --help` explains each.

    Returns:
        The plan, as `merilo power --json` prints it: `assumed`, `controls`, and `precision`, `interval`, `difference`,
        `equivalence` if requested.

    Raises:
        UsageError: a parameter is out of range.
        DataError: no number of items or control items is sufficient, or these annotators are too few.

    Example:
        >>> plan = power(difference=0.05)
        >>> plan["difference"]["items"] > 100
        True
    """
    wanted = PowerSettings.of(chosen, settings)
    names = ("expected", "overlap", "people", "spread", "cluster_size", "icc", "chance")
    plan = StudyPlan(**{name: getattr(wanted, name) for name in names})
    level, strength = wanted.level, wanted.power
    content: dict[str, Json] = {
        "assumed": {
            **asdict(plan),
            "cluster_design_effect": round(plan.cluster_effect, 6),
            "single_person": round(plan.person, 6),
            "level": level,
            "power": strength,
        },
    }
    if (items := wanted.items) is not None:
        content["precision"] = {
            "items": items,
            "half_width": round(half_width(plan, items, level=level), 6),
            "single_person_half_width": round(half_width(plan, items, "person", level=level), 6),
            "detectable_difference": smallest_difference(plan, items, level=level, power=strength),
            "equality_within": smallest_margin(plan, items, level=level, power=strength),
        }
    if (width := wanted.half_width) is not None:
        content["interval"] = {
            "half_width": width,
            **_size(
                plan,
                lambda crowd, items: half_width(crowd, items, level=level) <= width,
                f"a half-width of {width:g}",
                wanted.each,
            ),
        }
    for name, distance, true in (
        ("difference", wanted.difference, wanted.difference or 0.0),
        ("equivalence", wanted.margin, 0.0),
    ):
        if distance is None:
            continue
        equal = name == "equivalence"
        tests = (_for_margin if equal else _for_difference)(level, strength)
        share = wanted.discordant or independent_discordance(plan.expected, true)
        if not true <= share:
            raise UsageError(
                f"{argument('discordant')}, the share of items that only one side answers correctly, must be at least "
                f"the difference {true:g}"
            )
        enough = partial(shown, discordant=share, distance=distance, quantiles=tests, true=true)
        what = f"equivalence within {distance:g}" if equal else f"a difference of {distance:g}"
        content[name] = {
            "margin" if equal else "difference": distance,
            "discordant": round(share, 6),
            "discordant_assumed_independent": wanted.discordant is None,
            **_size(plan, enough, what, wanted.each),
        }
    content["controls"] = _controls(wanted)
    return content


def _size(plan: StudyPlan, enough: Callable[[StudyPlan, int], bool], what: str, each: int) -> dict[str, Json]:
    """Find the number of items with these annotators; without a number of annotators, find it too.

    Raises:
        DataError: no number of items, or of annotators, is enough.
    """
    alone = fewest(lambda items: enough(replace(plan, people=None), items), MOST_ITEMS, least=2)
    if alone is None:
        raise DataError(f"{what} needs more than {MOST_ITEMS} items")
    # The factor 1.5 allows for the variance added by annotators who answer many items.
    several = ceil(alone * MORE_ITEMS)
    people = fewest(
        lambda n: enough(replace(plan, people=n), several), MOST_PEOPLE, least=max(plan.overlap, 2)
    )
    items = fewest(lambda n: enough(plan, n), MOST_ITEMS, least=2) if plan.people else several
    if items is None or (people is None and not plan.people):
        more = f"at least {people}" if people else f"more than {MOST_PEOPLE}"
        raise DataError(
            f"annotators, not items, are the limit: {plan.people or 'any number of'} annotators do not give {what}; "
            f"with {several} items {more} annotators are needed"
        )
    crowd = plan if plan.people else replace(plan, people=people)
    accuracy = crowd.crossed(items)
    return {
        "items_if_people_do_not_matter": alone,
        "items": items,
        "people_at_least": None if plan.people else people,
        "items_each": each,
        "people_at_so_many_items_each": people_needed(items, plan.overlap, each),
        "design_effect": round(1 + accuracy.shared_variance / accuracy.items_variance, 6),
    }


def _controls(wanted: PowerSettings) -> Json:
    names = ("chance", "skilled", "exclude", "keep")
    plan = controls(threshold=wanted.min_control_accuracy, **{name: getattr(wanted, name) for name in names})
    return {
        "a_person": plan.controls,
        "always_from": plan.always_from,
        "right_to_be_kept": plan.pass_mark,
        "threshold": wanted.min_control_accuracy,
        "excluded_at_chance": round(plan.excluded, 6),
        "kept_if_skilled": round(plan.retained, 6),
    }
