"""`merilo power`: plan how many items, people and control items a study needs."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from merilo.api.planning import power as plan_study
from merilo.cli.output import emit_json
from merilo.strict_json import Json

app = typer.Typer(add_completion=False)

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
    content = plan_study(
        metric=metric,
        expected=expected,
        half_width=half_width,
        difference=difference,
        discordant=discordant,
        items=items,
        level=level,
        power=power,
        overlap=overlap,
        people=people,
        spread=spread,
        each=each,
        min_control_accuracy=min_control_accuracy,
        chance=chance,
        skilled=skilled,
        exclude=exclude,
        keep=keep,
    )
    if json_to:
        emit_json(content, json_to)
    if json_to != "-":
        _show(content)
    return 0


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
