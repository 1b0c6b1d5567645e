"""`merilo power`: before the study, how many items, people and control items."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from merilo.cli.output import emit_json
from merilo.errors import DataError, UsageError
from merilo.statistics.power import (
    ControlPlan,
    Crowd,
    controls,
    independent_discordance,
    items_for_difference,
    items_for_half_width,
    people_for_half_width,
    people_needed,
    precision,
)
from merilo.strict_json import Json

app = typer.Typer(add_completion=False)

#: Metrics that are shares of right answers.
_EXACT = ("acc", "em")

_FIGURE = "The figure"
_PEOPLE = "The people"
_CONTROLS = "Control items"
_OUTPUT = "Output"


@app.command()
def plan(
    *,
    metric: Annotated[str, typer.Option(help="acc or em: shares of right answers.", rich_help_panel=_FIGURE)] = "acc",
    expected: Annotated[float, typer.Option(help="What the consensus is expected to reach.", rich_help_panel=_FIGURE)] = 0.9,
    half_width: Annotated[float | None, typer.Option(help="How far the interval may reach to either side.", rich_help_panel=_FIGURE)] = None,
    difference: Annotated[float | None, typer.Option(help="The difference between people and a model that must be seen.", rich_help_panel=_FIGURE)] = None,
    discordant: Annotated[float | None, typer.Option(help="The share of items that only one of the two has right; as if errors were independent when not given.", rich_help_panel=_FIGURE)] = None,
    items: Annotated[int | None, typer.Option(min=1, help="What so many items would give.", rich_help_panel=_FIGURE)] = None,
    level: Annotated[float, typer.Option(help="The intervals' nominal coverage.", rich_help_panel=_FIGURE)] = 0.95,
    power: Annotated[float, typer.Option(help="How often the difference is to be found.", rich_help_panel=_FIGURE)] = 0.8,
    overlap: Annotated[int, typer.Option(min=1, help="How many people answer an item.", rich_help_panel=_PEOPLE)] = 5,
    people: Annotated[int | None, typer.Option(min=2, help="How many people there are; without it, as many as are needed not to matter.", rich_help_panel=_PEOPLE)] = None,
    spread: Annotated[float, typer.Option(help="The standard deviation of single people's accuracy.", rich_help_panel=_PEOPLE)] = 0.1,
    each: Annotated[int, typer.Option(min=1, help="How many items one person answers.", rich_help_panel=_PEOPLE)] = 50,
    min_control_accuracy: Annotated[float, typer.Option(help="People below it on control items are excluded.", rich_help_panel=_CONTROLS)] = 0.5,
    chance: Annotated[float, typer.Option(help="The accuracy of who guesses.", rich_help_panel=_CONTROLS)] = 0.25,
    skilled: Annotated[float, typer.Option(help="The accuracy on controls of who should be kept.", rich_help_panel=_CONTROLS)] = 0.85,
    exclude: Annotated[float, typer.Option(help="How surely who guesses is to be excluded.", rich_help_panel=_CONTROLS)] = 0.95,
    keep: Annotated[float, typer.Option(help="How surely the skilled are to be kept.", rich_help_panel=_CONTROLS)] = 0.95,
    json_to: Annotated[str | None, typer.Option("--json", metavar="FILE|-", help="The result as one JSON object; - is standard output.", rich_help_panel=_OUTPUT)] = None,
) -> int:  # fmt: skip
    """Plan a study: items for a wanted interval or difference, people, and control items a person.

    Exit status 1: what is wanted cannot be had, on any number of items or control items.
    """
    if metric not in _EXACT:
        raise UsageError(f"--metric takes one of {', '.join(_EXACT)}, not '{metric}': others have no formula")
    for name, share in (("--level", level), ("--power", power)):
        if not 0 < share < 1:
            raise UsageError(f"{name} takes a share between 0 and 1, not {share:g}")
    crowd = Crowd(expected, overlap, people, spread)
    content: dict[str, Json] = {
        "metric": metric,
        "assumed": {
            "expected": expected,
            "overlap": overlap,
            "people": people,
            "spread": spread,
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
            "items": items_for_difference(shared, difference, level=level, power=power),
        }
    content["controls"] = _controls(
        controls(threshold=min_control_accuracy, chance=chance, skilled=skilled, exclude=exclude, keep=keep),
        min_control_accuracy,
    )
    if json_to:
        emit_json(content, json_to)
    if json_to != "-":
        _show(content)
    return 0


def _precision(crowd: Crowd, items: int, level: float) -> dict[str, Json]:
    found = precision(crowd, items, level=level)
    return {
        "items": items,
        "half_width": round(found.half_width, 6),
        "design_effect": round(found.design_effect, 6),
    }


def _interval(crowd: Crowd, half_width: float, level: float, each: int) -> dict[str, Json]:
    alone = items_for_half_width(
        Crowd(crowd.expected, crowd.overlap, None, crowd.spread), half_width, level=level
    )
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
    # Half as many items again leave room for what sharing people adds.
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


def _controls(plan: ControlPlan, threshold: float) -> dict[str, Json]:
    return {
        "a_person": plan.controls,
        "always_from": plan.always_from,
        "right_to_be_kept": plan.pass_mark,
        "threshold": threshold,
        "excluded_at_chance": round(plan.excluded, 6),
        "kept_if_skilled": round(plan.kept, 6),
    }


_SAYS = {
    "precision": "With {items} items: half-width {half_width:.4f}, design effect {design_effect:.2f}",
    "difference": "To see a difference of {difference:g} where {discordant:.3f} of items tell the two apart: {items} items",
    "controls": "{a_person} control answers a person ({right_to_be_kept} right to be kept at {threshold:g}): who guesses is "
    "excluded with {excluded_at_chance:.1%}, the skilled are kept with {kept_if_skilled:.1%}; from {always_from} on any number will do",
}


def _show(content: dict[str, Json]) -> None:
    """Print the plan on standard output."""
    table = Table(show_header=False, title="Plan of a study", title_justify="left", title_style="bold")
    table.add_column(style="bold")
    table.add_column()
    assumed = content["assumed"]
    if isinstance(assumed, dict):
        crowd = f"{assumed['people']} people" if assumed["people"] else "people enough"
        table.add_row(
            "assumed",
            f"consensus {assumed['expected']:g} of {assumed['overlap']} an item, single person {assumed['single_person']:.3f} "
            f"± {assumed['spread']:g}, {crowd}",
        )
    interval = content.get("interval")
    if isinstance(interval, dict):
        table.add_row("interval", _interval_text(interval))
    for name, text in _SAYS.items():
        values = content.get(name)
        if isinstance(values, dict):
            table.add_row(name, text.format(**values))
    Console(highlight=False).print(table)


def _interval_text(values: dict[str, Json]) -> str:
    work = f"; the work itself is that of {values['people_at_so_many_items_each']} people at {values['items_each']} items each"
    text = (
        f"For a half-width of {values['half_width']:g}: {values['items_if_people_do_not_matter']} items if no two shared a "
        f"person; {values['items']} items"
    )
    if "people_at_least" in values:
        return f"{text} with at least {values['people_at_least']} people{work}"
    return f"{text} with these people (design effect {values['design_effect']:.2f}){work}"
