"""Plan a study: its half-widths for the consensus, the single person and agreement, and the number of items and people.

The half-width of an interval varies between studies, because a study estimates the variances from which it computes the
interval. `half_widths` and `agreement_half_widths` return those of many studies of the planned size, so that a plan can
name the mean and the value that a wanted share of the studies does not exceed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from math import ceil, sqrt
from typing import Final, Literal

import numpy as np
import scipy

from merilo.errors import DataError
from merilo.people.agreement import jackknife_interval, krippendorff_alpha
from merilo.people.uncertainty.annotator_accuracy import GUESSERS, GuessingVariance, skewed_wilson, widened
from merilo.people.votes import Votes
from merilo.settings import PowerSettings
from merilo.statistics import FloatArray
from merilo.statistics.intervals import limited_freedom, student_quantile
from merilo.statistics.planning import (
    MORE_ITEMS,
    MOST_ITEMS,
    MOST_PEOPLE,
    ComparisonSize,
    StudyPlan,
    controls,
    fewest,
    independent_discordance,
    items_for_difference,
    items_for_half_width,
    items_for_margin,
    people_for_half_width,
    people_needed,
    precision,
    smallest_difference,
    smallest_margin,
    variances,
)
from merilo.strict_json import Json

Estimated = Literal["consensus", "single_person"]
#: The estimates whose half-widths a plan names, besides agreement.
ESTIMATED: Final[tuple[Estimated, ...]] = ("consensus", "single_person")

#: How many studies a half-width of the consensus or the single person is computed for.
STUDIES: Final = 128
#: Half-widths of the consensus vary by so much more than the distributions in `half_widths`. Found by simulation
#: (`benchmarks/planned_widths.py`).
MORE_VARIED: Final = 1.2
#: How many studies are simulated for agreement, and of how many answers at most and items at least.
SIMULATED: Final = 200
MOST_ANSWERS: Final = 4000
LEAST_ITEMS: Final = 20
#: Multiples of these numbers, without their whole parts, fill a cube evenly.
_EVEN: Final = (0.8566748838545029, 0.7338918566271259, 0.6287067210378087, 0.5385972572236101)


@dataclass(frozen=True, slots=True)
class _Expected:
    """What an interval is computed from.

    Attributes:
        value: the estimate.
        alone: its variance from items, if no two share an annotator.
        alone_error: the standard error with which a study estimates `alone`, beyond that of the value.
        least_alone: the smallest estimate of `alone`.
        shared: the additional variance because items share annotators.
        noise: the variance by chance in the annotators' means, from which a study estimates `shared`.
        third: the sum of the third powers of the annotators' deviations by chance.
        guess: the change of the estimate if one annotator guessed.
        excess: the excess kurtosis of the annotators' means, because each rests on few decisive answers.
    """

    value: float
    alone: float
    alone_error: float
    least_alone: float
    shared: float
    noise: float
    third: float
    guess: float
    excess: float = 0.0


def half_widths(
    plan: StudyPlan, items: int, of: Estimated, *, chance: float = 0.25, level: float = 0.95
) -> FloatArray:
    """Compute the half-widths of an interval in `STUDIES` studies, in increasing order.

    In each study the estimate and the variance from items vary by their standard errors, and the estimated variance of
    the annotators' means by a chi-squared distribution. The interval follows from them as in `two_way` and
    `individuals`. The studies are points spread evenly over the three distributions, so the result is always the same.

    Args:
        plan: the expected properties of the annotators.
        items: the number of items.
        of: the estimate that has the interval.
        chance: the accuracy of an annotator who guesses, for the intervals' allowance for such annotators.
        level: the nominal coverage, in (0, 1).

    Example:
        >>> found = half_widths(StudyPlan(0.9, people=40), 400, "single_person")
        >>> round(float(found.mean()), 3), round(float(np.quantile(found, 0.8)), 3)
        (0.039, 0.043)
    """
    people = _people(plan, items)
    expected = (_consensus if of == "consensus" else _single_person)(plan, items, chance)
    deviation = sqrt(expected.alone + expected.shared)
    q = GUESSERS / (people + GUESSERS)
    found = np.empty(STUDIES)
    points = (0.5 + np.arange(STUDIES)[:, None] * np.array(_EVEN)) % 1
    normal = scipy.special.ndtri(points[:, :3])
    estimates = np.clip(expected.value + deviation * normal[:, 0], 0.0, 1.0)
    scaled = expected.alone * estimates * (1 - estimates) / (expected.value * (1 - expected.value))
    alones = np.maximum(scaled + expected.alone_error * normal[:, 1], max(expected.least_alone, 1 / items**2))
    known = (people - 1) / (1 + expected.excess / 2)
    chi_squared = scipy.special.gammaincinv(known / 2, points[:, 3]) / (known / 2)
    seen = (expected.shared + expected.noise) * chi_squared
    # The standard error of the skewness of normal values (R. Fisher, 1930), more with heavier tails.
    skew_error = sqrt((6 + 9 * expected.excess) * (people - 2) / ((people + 1) * (people + 3)))
    thirds = expected.third + skew_error * normal[:, 2] * seen**1.5 / sqrt(people)
    # Skewness that is not clear is not followed (`clear_third_cumulant`).
    clear = 2 * sqrt(6) / people * seen**1.5
    thirds = np.where(np.abs(thirds) > clear, thirds, 0.0)
    studies = np.column_stack((estimates, alones, seen, thirds)).tolist()
    for study, (p, alone, means, third) in enumerate(studies):
        shared = max(means - expected.noise, 0.0)
        doubt = alone**2 / max(items / plan.cluster_size - 1, 1) + means**2 / (people - 1)
        variance = alone + shared
        skewness = third / variance**1.5 if shared > 0 else 0.0
        freedom = limited_freedom(variance**2 / doubt, people)
        effective = max(p * (1 - p), 1 / items) / variance
        guessing = GuessingVariance(people * q * (1 - q) * expected.guess**2 + q * means, 0.0)
        low, high = widened(
            skewed_wilson(p, effective, student_quantile((1 + level) / 2, freedom), skewness),
            guessing if expected.guess < 0 else GuessingVariance(0.0, guessing.below),
            p,
            effective * variance / alone,
            variances=(alone, shared, variance**2 / freedom),
            level=level,
        )
        found[study] = (high - low) / 2
    if of == "consensus":
        found = found.mean() + MORE_VARIED * (found - found.mean())
    return np.sort(found)


def _people(plan: StudyPlan, items: int) -> int:
    """Return the number of annotators with an answer; without a number in the plan, each answers one item."""
    answers = items * plan.overlap
    return max(answers if plan.people is None else min(plan.people, answers), 2)


def _consensus(plan: StudyPlan, items: int, chance: float) -> _Expected:
    """Compute what the interval of the consensus is computed from."""
    alone, shared, _ = variances(plan, items)
    (score, variance), say, people = plan.decisive, plan.overlap * plan.influence, _people(plan, items)
    # With an even overlap a decisive answer makes or resolves a tie, which is half an item.
    odd = plan.overlap % 2 == 1
    step = 1.0 if odd else 0.5
    noise = third = excess = 0.0
    if plan.people is not None:
        noise = say * step * variance / items
        third = -noise * step * (2 * score - 1) / items
        # The majority's answers to an item count together, which does not make its annotators differ.
        noise *= 1 - 0.5 * (plan.overlap - 1) / max(people - 1, plan.overlap - 1, 1)
        decisive = say / step * items / people
        if variance > 0 and decisive > 0:
            excess = (1 - 3 * variance) / (variance * decisive) * (noise / (noise + shared)) ** 2
    # Others who tie still tie after a guess at a third label. A lead of one vote is lost only to the second label.
    lost = say * (0.5 - score) * (1.0 if odd else 2 * min(chance, 0.5))
    return _Expected(plan.expected, alone, 0.0, 0.0, shared, noise, third, lost / people, excess)


def _single_person(plan: StudyPlan, items: int, chance: float) -> _Expected:
    """Compute what the interval of the single person is computed from: its variance components."""
    value, answers, people = plan.person, items * plan.overlap, _people(plan, items)
    person, item = plan.spread**2, plan.item_spread**2
    rest = max(value * (1 - value) - person - item, 0.0)
    pairs = answers * (plan.overlap - 1) / 2
    item_error = sqrt(2 * item**2 / items + rest**2 / pairs) if pairs else 0.0
    return _Expected(
        value,
        plan.cluster_effect * (item / items + rest / answers),
        plan.cluster_effect * item_error * (1 / items - 1 / answers),
        plan.cluster_effect * (item + rest) / answers,
        person / people,
        0.0 if plan.people is None else rest / answers,
        0.0 if plan.people is None else -rest * (2 * value - 1) / answers**2,
        (chance - value) / people,
    )


def agreement_half_widths(
    plan: StudyPlan, items: int, *, chance: float = 0.25, level: float = 0.95
) -> tuple[float, FloatArray] | None:
    """Simulate studies and compute the half-width of Krippendorff's alpha in each.

    With more than `MOST_ANSWERS` answers, two smaller sizes are simulated. The squared half-width is then a constant,
    which is the annotators' part, plus a part that falls as the number of items grows.

    Args:
        plan: the expected properties of the annotators.
        items: the number of items.
        chance: the accuracy of an annotator who guesses, one in the number of labels.
        level: the nominal coverage, in (0, 1).

    Returns:
        The mean of alpha, and the half-widths in increasing order; `None` if items form clusters or have one answer,
        or if there are too few items or too many answers to an item for a simulation.
    """
    most = MOST_ANSWERS // plan.overlap
    if plan.overlap < 2 or min(items, most) < LEAST_ITEMS or plan.cluster_effect > 1:
        return None
    alpha, found = _simulated(plan, min(items, most), chance, level)
    if items > most:
        _, fewer = _simulated(plan, most // 2, chance, level)
        falling = np.maximum(fewer**2 - found**2, 0.0) / (2 / most - 1 / most)
        found = np.sort(np.sqrt(np.maximum(found**2 - falling * (1 / most - 1 / items), 0.0)))
    return alpha, found


def _simulated(plan: StudyPlan, items: int, chance: float, level: float) -> tuple[float, FloatArray]:
    """Return the mean of alpha in simulated studies, and the half-width in each, in increasing order."""
    rng = np.random.default_rng(0)
    alphas, found = np.empty(SIMULATED), np.empty(SIMULATED)
    for study in range(SIMULATED):
        votes, _ = drawn_study(plan, items, rng, chance)
        alphas[study] = krippendorff_alpha(votes)
        interval = jackknife_interval(votes, confidence=level)
        # Alpha is not defined if all answers have one label.
        found[study] = np.nan if interval is None else (interval.high - interval.low) / 2
    return float(np.nanmean(alphas)), np.sort(np.nan_to_num(found, nan=1.0))


def drawn_study(
    plan: StudyPlan, items: int, rng: np.random.Generator, chance: float = 0.25
) -> tuple[Votes, FloatArray]:
    """Draw a study with this plan: labels are equally frequent, and all wrong answers to an item are the same.

    Args:
        plan: the expected properties of the annotators.
        items: the number of items.
        rng: the source of randomness.
        chance: the accuracy of an annotator who guesses, one in the number of labels.

    Returns:
        The answers, and the score of each, shape (n,).
    """
    people, overlap = max(_people(plan, items), plan.overlap), plan.overlap
    labels = max(round(1 / chance), 2)
    rounds = -(-items // (people // overlap))
    order = rng.permuted(np.tile(np.arange(people, dtype=np.int32), (rounds, 1)), axis=1)
    person = order[:, : people // overlap * overlap].reshape(-1, overlap)[:items].ravel()
    item = np.repeat(np.arange(items, dtype=np.int32), overlap)
    mean, spread = plan.person, plan.item_spread
    easy = np.full(items, mean)
    if spread:
        size = mean * (1 - mean) / spread**2 - 1
        easy = rng.beta(mean * size, (1 - mean) * size, items)
    ability = plan.spread * rng.standard_normal(people)
    right = rng.random(item.size) < easy[item] + ability[person]
    gold, step = rng.integers(0, labels, items), rng.integers(1, labels, items)
    label = np.where(right, gold[item], (gold + step)[item] % labels).astype(np.int32)
    return Votes(item, person, label, items, people, labels), right.astype(np.float64)


@dataclass(frozen=True, slots=True)
class AssuredSize:
    """The size of a study whose interval is narrow enough with the wanted chance.

    Attributes:
        items: the number of items; `None` if no number is enough with these annotators.
        people: the smallest number of annotators with `MORE_ITEMS` times the items of a study whose annotators do not
            differ, if the plan has no number of annotators or too few; `None` otherwise, or if no number is enough.
    """

    items: int | None
    people: int | None


def size_for_assurance(
    plan: StudyPlan,
    half_width: float,
    of: Estimated,
    *,
    assurance: float = 0.8,
    chance: float = 0.25,
    level: float = 0.95,
) -> AssuredSize:
    """Find the size of a study whose half-width is at most the wanted one with the wanted chance.

    Args:
        plan: the expected properties of the annotators; without a number of annotators, it is found too.
        half_width: half the required width.
        of: the estimate that has the interval.
        assurance: the wanted chance, in (0, 1).
        chance: the accuracy of an annotator who guesses.
        level: the nominal coverage, in (0, 1).

    References:
        K. Kelley, S. Maxwell (2003), Sample size for multiple regression: obtaining regression coefficients that are
        accurate, not simply significant. Psychological Methods 8, 305-321 (assurance of a confidence interval's width).

    Example:
        >>> size_for_assurance(StudyPlan(0.9, people=60), 0.04, "consensus").items > 390
        True
    """

    def enough(crowd: StudyPlan, items: int) -> bool:
        found = half_widths(crowd, items, of, chance=chance, level=level)
        return float(np.quantile(found, assurance)) <= half_width

    alone = fewest(lambda items: enough(replace(plan, people=None), items), MOST_ITEMS, least=2)
    items = alone if plan.people is None else fewest(lambda items: enough(plan, items), MOST_ITEMS, least=2)
    if alone is None or (plan.people is not None and items is not None):
        return AssuredSize(items, None)
    several = ceil(alone * MORE_ITEMS)
    people = fewest(
        lambda people: enough(replace(plan, people=people), several), MOST_PEOPLE, least=max(plan.overlap, 2)
    )
    return AssuredSize(several if plan.people is None and people is not None else None, people)


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
    crowd = StudyPlan(
        wanted.expected,
        wanted.overlap,
        wanted.people,
        wanted.spread,
        wanted.cluster_size,
        wanted.icc,
        wanted.item_spread,
    )
    content: dict[str, Json] = {
        "metric": wanted.metric,
        "assumed": {
            **asdict(crowd),
            "cluster_design_effect": round(crowd.cluster_effect, 6),
            "single_person": round(crowd.person, 6),
            "level": wanted.level,
            "power": wanted.power,
            "assurance": wanted.assurance,
        },
    }
    if wanted.items is not None:
        found = precision(crowd, wanted.items, level=wanted.level)
        content["precision"] = {
            "items": wanted.items,
            "half_width": round(found.half_width, 6),
            "design_effect": round(found.design_effect, 6),
            **_precise(crowd, wanted, wanted.items),
            "detectable_difference": smallest_difference(
                crowd, wanted.items, level=wanted.level, power=wanted.power
            ),
            "equality_within": smallest_margin(crowd, wanted.items, level=wanted.level, power=wanted.power),
        }
    if wanted.half_width is not None:
        content["interval"] = {
            **_interval(crowd, wanted.half_width, wanted.level, wanted.each),
            "assured": {name: _assured(crowd, wanted, wanted.half_width, name) for name in ESTIMATED},
        }
    if wanted.difference is not None:
        content["difference"] = {
            "difference": wanted.difference,
            **_comparison(crowd, wanted, wanted.difference, wanted.difference, items_for_difference),
        }
    if wanted.margin is not None:
        content["equivalence"] = {
            "margin": wanted.margin,
            **_comparison(crowd, wanted, wanted.margin, 0.0, items_for_margin),
        }
    plan = controls(
        threshold=wanted.min_control_accuracy,
        chance=wanted.chance,
        skilled=wanted.skilled,
        exclude=wanted.exclude,
        keep=wanted.keep,
    )
    content["controls"] = {
        "a_person": plan.controls,
        "always_from": plan.always_from,
        "right_to_be_kept": plan.pass_mark,
        "threshold": wanted.min_control_accuracy,
        "excluded_at_chance": round(plan.excluded, 6),
        "kept_if_skilled": round(plan.kept, 6),
    }
    return content


def _precise(crowd: StudyPlan, wanted: PowerSettings, items: int) -> dict[str, Json]:
    """Return the half-widths of the single person and of agreement, and those that the assured share of studies has."""

    def assured(found: FloatArray) -> Json:
        return round(float(np.quantile(found, wanted.assurance)), 6)

    found = {
        name: half_widths(crowd, items, name, chance=wanted.chance, level=wanted.level) for name in ESTIMATED
    }
    single = found["single_person"]
    content: dict[str, Json] = {
        "assured_half_width": assured(found["consensus"]),
        "single_person": {
            "expected": round(crowd.person, 6),
            "half_width": round(float(single.mean()), 6),
            "assured_half_width": assured(single),
        },
    }
    if agreement := agreement_half_widths(crowd, items, chance=wanted.chance, level=wanted.level):
        alpha, widths = agreement
        content["krippendorff_alpha"] = {
            "expected": round(alpha, 6),
            "half_width": round(float(widths.mean()), 6),
            "assured_half_width": assured(widths),
        }
    return content


def _assured(crowd: StudyPlan, wanted: PowerSettings, half_width: float, of: Estimated) -> dict[str, Json]:
    size = size_for_assurance(
        crowd, half_width, of, assurance=wanted.assurance, chance=wanted.chance, level=wanted.level
    )
    each = None if size.items is None else people_needed(size.items, crowd.overlap, wanted.each)
    return {"items": size.items, "people_at_least": size.people, "people_at_so_many_items_each": each}


def _comparison(
    crowd: StudyPlan,
    wanted: PowerSettings,
    distance: float,
    true: float,
    sizes: Callable[..., ComparisonSize],
) -> dict[str, Json]:
    """Plan a comparison with a model; by default the errors of people and the model are independent."""
    discordant = wanted.discordant
    if discordant is None:
        discordant = independent_discordance(wanted.expected, true)
    size = sizes(crowd, discordant, distance, level=wanted.level, power=wanted.power)
    return {
        "discordant": round(discordant, 6),
        "discordant_assumed_independent": wanted.discordant is None,
        "items_if_people_do_not_matter": size.items_alone,
        "items": size.items,
        "people_at_least": size.people if crowd.people is None else None,
        "items_each": wanted.each,
        "people_at_so_many_items_each": people_needed(size.items, crowd.overlap, wanted.each),
        "power": round(size.power, 6),
        "design_effect": round(size.design_effect, 6),
    }


def _interval(crowd: StudyPlan, half_width: float, level: float, each: int) -> dict[str, Json]:
    alone = items_for_half_width(replace(crowd, people=None), half_width, level=level)
    content: dict[str, Json] = {
        "half_width": half_width,
        "items_if_people_do_not_matter": alone.items,
        "items_each": each,
    }
    if crowd.people is not None:
        needed = items_for_half_width(crowd, half_width, level=level)
        content["items"] = needed.items
        content["people_at_so_many_items_each"] = people_needed(needed.items, crowd.overlap, each)
        content["design_effect"] = round(needed.design_effect, 6)
        return content
    # The factor 1.5 allows for the variance added by annotators who answer many items.
    several = round(alone.items * MORE_ITEMS)
    fewest = people_for_half_width(crowd, several, half_width, level=level)
    if fewest is None:
        raise DataError(
            f"{several} items do not give a half-width of {half_width:g} with any number of people"
        )
    content["items"] = several
    content["people_at_so_many_items_each"] = people_needed(several, crowd.overlap, each)
    content["people_at_least"] = fewest
    return content
