"""`merilo.power`: plan how many items, annotators and control items a study needs."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from merilo.errors import DataError, UsageError, argument
from merilo.settings import PowerSettings
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


def power(settings: PowerSettings | None = None, **chosen: object) -> dict[str, Json]:
    """Plan a study: items for a target interval or difference, annotators, and control items for each annotator.

    Args:
        settings: what is assumed and wanted; by default, the defaults of `PowerSettings`.
        chosen: single settings by name, such as `half_width=0.05`; `docs/commands.md` explains each as an option.

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
    chosen_settings = PowerSettings.of(chosen, settings)
    metric, level, power = chosen_settings.metric, chosen_settings.level, chosen_settings.power
    if metric not in EXACT:
        raise UsageError(
            f"{argument('metric')} takes one of {', '.join(EXACT)}, not '{metric}': others have no formula"
        )
    for name, share in (("level", level), ("power", power)):
        if not 0 < share < 1:
            raise UsageError(f"{argument(name)} takes a share between 0 and 1, not {share:g}")
    return _plan(chosen_settings)


def _plan(wanted: PowerSettings) -> dict[str, Json]:
    level, power, each = wanted.level, wanted.power, wanted.each
    crowd = StudyPlan(
        wanted.expected, wanted.overlap, wanted.people, wanted.spread, wanted.cluster_size, wanted.icc
    )
    assumed = ("expected", "overlap", "people", "spread", "cluster_size", "icc")
    content: dict[str, Json] = {
        "metric": wanted.metric,
        "assumed": {
            **{name: getattr(wanted, name) for name in assumed},
            "cluster_design_effect": round(crowd.cluster_effect, 6),
            "single_person": round(crowd.person, 6),
            "level": level,
            "power": power,
        },
    }
    if wanted.items is not None:
        content["precision"] = _precision(crowd, wanted.items, level)
    if wanted.half_width is not None:
        content["interval"] = _interval(crowd, wanted.half_width, level, each)
    if (difference := wanted.difference) is not None:
        shared = _discordant(wanted, difference)
        size = items_for_difference(crowd, shared, difference, level=level, power=power)
        content["difference"] = {
            "difference": difference,
            "discordant": round(shared, 6),
            "discordant_assumed_independent": wanted.discordant is None,
            **_size(size, crowd, each),
        }
    if (margin := wanted.margin) is not None:
        shared = _discordant(wanted, 0.0)
        size = items_for_margin(crowd, shared, margin, level=level, power=power)
        content["equivalence"] = {
            "margin": margin,
            "discordant": round(shared, 6),
            "discordant_assumed_independent": wanted.discordant is None,
            **_size(size, crowd, each),
        }
    needed = controls(
        threshold=wanted.min_control_accuracy,
        chance=wanted.chance,
        skilled=wanted.skilled,
        exclude=wanted.exclude,
        keep=wanted.keep,
    )
    content["controls"] = _controls(needed, wanted.min_control_accuracy)
    return content


def _discordant(wanted: PowerSettings, difference: float) -> float:
    """Return the share of discordant items: the given one, or that of independent errors."""
    if wanted.discordant is not None:
        return wanted.discordant
    return independent_discordance(wanted.expected, difference)


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
