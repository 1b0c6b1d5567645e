"""`merilo.power`: plan how many items, annotators and control items a study needs."""

from __future__ import annotations

from dataclasses import replace
from typing import Final, Literal

from merilo.errors import DataError, UsageError, argument
from merilo.statistics.comparison_planning import ComparisonSize, items_for_difference, items_for_margin
from merilo.statistics.power import (
    ControlPlan,
    StudyPlan,
    controls,
    independent_discordance,
    items_for_half_width,
    people_for_half_width,
    people_needed,
    precision,
)
from merilo.strict_json import Json

#: Metrics that are shares of correct answers.
EXACT: Final = ("acc", "em")


def power(
    *,
    metric: Literal["acc", "em"] | str = "acc",
    expected: float = 0.9,
    half_width: float | None = None,
    difference: float | None = None,
    margin: float | None = None,
    discordant: float | None = None,
    items: int | None = None,
    level: float = 0.95,
    power: float = 0.8,
    overlap: int = 5,
    people: int | None = None,
    spread: float = 0.1,
    cluster_size: float = 1.0,
    icc: float = 0.0,
    each: int = 50,
    min_control_accuracy: float = 0.5,
    chance: float = 0.25,
    skilled: float = 0.85,
    exclude: float = 0.95,
    keep: float = 0.95,
) -> dict[str, Json]:
    """Plan a study: items for a target interval or difference, annotators, and control items for each annotator.

    Args:
        metric: "acc" or "em", which are shares of correct answers.
        expected: the accuracy that the consensus is expected to reach.
        half_width: the target half-width of the interval.
        difference: the difference between annotators and a model that the study must detect.
        margin: the margin within which the study must show that a model is at human level, if it is.
        discordant: the share of items that only one of the two answers correctly; by default, errors are assumed independent.
        items: a number of items for which the precision is computed.
        level: the confidence level of the intervals.
        power: the probability of detecting the difference, or of showing equivalence.
        overlap: how many annotators answer an item.
        people: the number of annotators; by default, enough to make their share of the variance negligible.
        spread: the standard deviation of accuracy between single annotators.
        cluster_size: how many items form a cluster, such as questions about one text.
        icc: the intra-cluster correlation of items' scores, or of their differences from a model.
        each: how many items one annotator answers.
        min_control_accuracy: annotators with a lower accuracy on control items are excluded.
        chance: the accuracy of random guessing.
        skilled: the accuracy on control items of annotators who should be kept.
        exclude: the probability of excluding an annotator who guesses.
        keep: the probability of keeping a skilled annotator.

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
    if metric not in EXACT:
        raise UsageError(
            f"{argument('metric')} takes one of {', '.join(EXACT)}, not '{metric}': others have no formula"
        )
    for name, share in (("level", level), ("power", power)):
        if not 0 < share < 1:
            raise UsageError(f"{argument(name)} takes a share between 0 and 1, not {share:g}")
    crowd = StudyPlan(expected, overlap, people, spread, cluster_size, icc)
    content: dict[str, Json] = {
        "metric": metric,
        "assumed": {
            "expected": expected,
            "overlap": overlap,
            "people": people,
            "spread": spread,
            "cluster_size": cluster_size,
            "icc": icc,
            "cluster_design_effect": round(crowd.cluster_effect, 6),
            "single_person": round(crowd.person, 6),
            "level": level,
            "power": power,
        },
    }
    if items is not None:
        content["precision"] = _precision(crowd, items, level)
    if half_width is not None:
        content["interval"] = _interval(crowd, half_width, level, each)
    if difference is not None:
        shared = independent_discordance(expected, difference) if discordant is None else discordant
        content["difference"] = {
            "difference": difference,
            "discordant": round(shared, 6),
            "discordant_assumed_independent": discordant is None,
            **_size(items_for_difference(crowd, shared, difference, level=level, power=power), crowd, each),
        }
    if margin is not None:
        shared = independent_discordance(expected, 0.0) if discordant is None else discordant
        content["equivalence"] = {
            "margin": margin,
            "discordant": round(shared, 6),
            "discordant_assumed_independent": discordant is None,
            **_size(items_for_margin(crowd, shared, margin, level=level, power=power), crowd, each),
        }
    content["controls"] = _controls(
        controls(threshold=min_control_accuracy, chance=chance, skilled=skilled, exclude=exclude, keep=keep),
        min_control_accuracy,
    )
    return content


def _precision(crowd: StudyPlan, items: int, level: float) -> dict[str, Json]:
    found = precision(crowd, items, level=level)
    return {
        "items": items,
        "half_width": round(found.half_width, 6),
        "design_effect": round(found.design_effect, 6),
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
    several = round(alone.items * 1.5)
    fewest = people_for_half_width(crowd, several, half_width, level=level)
    if fewest is None:
        raise DataError(
            f"{several} items do not give a half-width of {half_width:g} with any number of people"
        )
    content["items"] = several
    content["people_at_so_many_items_each"] = people_needed(several, crowd.overlap, each)
    content["people_at_least"] = fewest
    return content


def _size(size: ComparisonSize, crowd: StudyPlan, each: int) -> dict[str, Json]:
    return {
        "items_if_people_do_not_matter": size.items_alone,
        "items": size.items,
        "people_at_least": size.people if crowd.people is None else None,
        "items_each": each,
        "people_at_so_many_items_each": people_needed(size.items, crowd.overlap, each),
        "power": round(size.power, 6),
        "design_effect": round(size.design_effect, 6),
    }


def _controls(plan: ControlPlan, threshold: float) -> dict[str, Json]:
    return {
        "a_person": plan.controls,
        "always_from": plan.always_from,
        "right_to_be_kept": plan.pass_mark,
        "threshold": threshold,
        "excluded_at_chance": round(plan.excluded, 6),
        "kept_if_skilled": round(plan.kept, 6),
    }
