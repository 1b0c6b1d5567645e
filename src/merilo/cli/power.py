"""`merilo power`: plan how many items, people and control items a study needs."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from merilo.cli.output import emit_json
from merilo.statistics.planning import power as plan_study
from merilo.strict_json import Json

app = typer.Typer(add_completion=False)

_FIGURE = "The estimate"
_PEOPLE = "The people"
_CONTROLS = "Control items"
_OUTPUT = "Output"


@app.command()
def plan(
    *,
    metric: Annotated[str, typer.Option(help="The metric: acc or em (both are shares of correct answers).", rich_help_panel=_FIGURE)] = "acc",
    expected: Annotated[float, typer.Option(help="The expected score of the consensus.", rich_help_panel=_FIGURE)] = 0.9,
    half_width: Annotated[float | None, typer.Option(help="The wanted half-width of the confidence interval.", rich_help_panel=_FIGURE)] = None,
    difference: Annotated[float | None, typer.Option(help="The difference between people and a model that the study must detect.", rich_help_panel=_FIGURE)] = None,
    margin: Annotated[float | None, typer.Option(help="The margin within which the study must show that a model is at human level, if it is.", rich_help_panel=_FIGURE)] = None,
    discordant: Annotated[float | None, typer.Option(help="The share of items that only one of the two answers correctly. Default: as if errors were independent.", rich_help_panel=_FIGURE)] = None,
    items: Annotated[int | None, typer.Option(min=1, help="Compute the precision for this number of items.", rich_help_panel=_FIGURE)] = None,
    level: Annotated[float, typer.Option(help="The intervals' nominal coverage.", rich_help_panel=_FIGURE)] = 0.95,
    power: Annotated[float, typer.Option(help="The probability of detecting the difference, or of showing equivalence.", rich_help_panel=_FIGURE)] = 0.8,
    overlap: Annotated[int, typer.Option(min=1, help="How many annotators answer an item.", rich_help_panel=_PEOPLE)] = 5,
    people: Annotated[int | None, typer.Option(min=2, help="How many annotators there are. Default: enough to make their share of the variance negligible.", rich_help_panel=_PEOPLE)] = None,
    spread: Annotated[float, typer.Option(help="The standard deviation of accuracy between single annotators.", rich_help_panel=_PEOPLE)] = 0.1,
    cluster_size: Annotated[float, typer.Option(help="How many items form a cluster, such as questions about one text.", rich_help_panel=_FIGURE)] = 1.0,
    icc: Annotated[float, typer.Option(help="The correlation of items' scores within a cluster, from 0 to 1.", rich_help_panel=_FIGURE)] = 0.0,
    each: Annotated[int, typer.Option(min=1, help="How many items one annotator answers.", rich_help_panel=_PEOPLE)] = 50,
    min_control_accuracy: Annotated[float, typer.Option(help="Exclude annotators whose accuracy on control items is lower.", rich_help_panel=_CONTROLS)] = 0.5,
    chance: Annotated[float, typer.Option(help="The expected accuracy of random guessing.", rich_help_panel=_CONTROLS)] = 0.25,
    skilled: Annotated[float, typer.Option(help="The accuracy on control items of an annotator who should be kept.", rich_help_panel=_CONTROLS)] = 0.85,
    exclude: Annotated[float, typer.Option(help="The probability of excluding an annotator who guesses.", rich_help_panel=_CONTROLS)] = 0.95,
    keep: Annotated[float, typer.Option(help="The probability of keeping a skilled annotator.", rich_help_panel=_CONTROLS)] = 0.95,
    json_to: Annotated[str | None, typer.Option("--json", metavar="FILE|-", help="Write the result as one JSON object; - is standard output.", rich_help_panel=_OUTPUT)] = None,
) -> int:  # fmt: skip
    """Plan a study: the number of items for an interval, a difference or equivalence, of annotators, and of control items.

    Exit status 1: no number of items or control items is enough, or annotators are too few.
    """
    content = plan_study(
        metric=metric,
        expected=expected,
        half_width=half_width,
        difference=difference,
        margin=margin,
        discordant=discordant,
        items=items,
        level=level,
        power=power,
        overlap=overlap,
        people=people,
        spread=spread,
        cluster_size=cluster_size,
        icc=icc,
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
    "difference": "To detect a difference of {difference:g} if {discordant:.3f} of items are discordant: ",
    "equivalence": "To show that a model without a true difference is at human level (within ±{margin:g}) if {discordant:.3f} of "
    "items are discordant: ",
    "controls": "{a_person} control answers per annotator ({right_to_be_kept} correct to be kept at {threshold:g}) exclude one who "
    "guesses in {excluded_at_chance:.1%} of cases and keep a skilled one in {kept_if_skilled:.1%}; {always_from} or more always suffice",
}


def _show(content: dict[str, Json]) -> None:
    """Print the plan on standard output."""
    table = Table(show_header=False, title="Plan of a study", title_justify="left", title_style="bold")
    table.add_column(style="bold")
    table.add_column()
    assumed = content["assumed"]
    if isinstance(assumed, dict):
        crowd = f"{assumed['people']} annotators" if assumed["people"] else "enough annotators"
        table.add_row(
            "assumed",
            f"consensus {assumed['expected']:g} at overlap {assumed['overlap']}, single annotator {assumed['single_person']:.3f} "
            f"± {assumed['spread']:g}, {crowd}{_clusters_text(assumed)}",
        )
    interval = content.get("interval")
    if isinstance(interval, dict):
        table.add_row("interval", _interval_text(interval))
    for name, text in _SAYS.items():
        values = content.get(name)
        if isinstance(values, dict):
            said = text.format(**values)
            table.add_row(
                name, f"{said}{_size_text(values)}" if name in {"difference", "equivalence"} else said
            )
    Console(highlight=False).print(table)


def _clusters_text(assumed: dict[str, Json]) -> str:
    if assumed["cluster_design_effect"] == 1:
        return ""
    return (
        f", clusters of {assumed['cluster_size']:g} items with a correlation of {assumed['icc']:g} "
        f"(design effect {assumed['cluster_design_effect']:.2f})"
    )


def _size_text(values: dict[str, Json]) -> str:
    work = f"; the answers take {values['people_at_so_many_items_each']} annotators at {values['items_each']} items each"
    alone = f"{values['items_if_people_do_not_matter']} items if annotators do not differ; {values['items']} items"
    if values["people_at_least"] is not None:
        return f"{alone} with at least {values['people_at_least']} annotators{work}"
    return f"{alone} with these annotators (design effect {values['design_effect']:.2f}){work}"


def _interval_text(values: dict[str, Json]) -> str:
    work = f"; the answers take {values['people_at_so_many_items_each']} annotators at {values['items_each']} items each"
    text = (
        f"For a half-width of {values['half_width']:g}: {values['items_if_people_do_not_matter']} items if no two share an "
        f"annotator; {values['items']} items"
    )
    if "people_at_least" in values:
        return f"{text} with at least {values['people_at_least']} annotators{work}"
    return f"{text} with these annotators (design effect {values['design_effect']:.2f}){work}"
