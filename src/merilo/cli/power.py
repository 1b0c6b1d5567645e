"""`merilo power`: plan how many items, people and control items a study needs."""

from __future__ import annotations

import typer
from rich.console import Console
from rich.table import Table

from merilo.cli.output import emit_json
from merilo.cli.procedure_options import takes_settings
from merilo.cli.study_options import JsonOption
from merilo.settings import PowerSettings
from merilo.statistics.planning import power as plan_study
from merilo.strict_json import Json

app = typer.Typer(add_completion=False)


@app.command()
@takes_settings(of=PowerSettings)
def plan(*, settings: PowerSettings, json_to: JsonOption = None) -> int:
    """Plan a study: how many items, annotators and control items an interval, a difference or equivalence needs.

    Exit status 1: no number of items or control items is enough, or annotators are too few.
    """
    content = plan_study(settings)
    if json_to:
        emit_json(content, json_to)
    if json_to != "-":
        _show(content)
    return 0


_SAYS = {
    "precision": "With {items} items: half-width {half_width:.4f}, design effect {design_effect:.2f}",
    "difference": "To detect a difference of {difference:g} if {discordant:.3f} of items are discordant: ",
    "equivalence": "To show that a model without a true difference is at human level (within ±{margin:g}) if "
    "{discordant:.3f} of "
    "items are discordant: ",
    "controls": "{a_person} control answers per annotator ({right_to_be_kept} correct to be kept at "
    "{threshold:g}) exclude one who "
    "guesses in {excluded_at_chance:.1%} of cases and keep a skilled one in {kept_if_skilled:.1%}; "
    "{always_from} or more always suffice",
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
            f"consensus {assumed['expected']:g} at overlap {assumed['overlap']}, single annotator "
            f"{assumed['single_person']:.3f} "
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
    work = (
        f"; the answers take {values['people_at_so_many_items_each']} annotators at "
        f"{values['items_each']} items each"
    )
    alone = f"{values['items_if_people_do_not_matter']} items if annotators do not differ; {values['items']} items"
    if values["people_at_least"] is not None:
        return f"{alone} with at least {values['people_at_least']} annotators{work}"
    return f"{alone} with these annotators (design effect {values['design_effect']:.2f}){work}"


def _interval_text(values: dict[str, Json]) -> str:
    work = (
        f"; the answers take {values['people_at_so_many_items_each']} annotators at "
        f"{values['items_each']} items each"
    )
    text = (
        f"For a half-width of {values['half_width']:g}: {values['items_if_people_do_not_matter']} "
        "items if no two share an "
        f"annotator; {values['items']} items"
    )
    if "people_at_least" in values:
        return f"{text} with at least {values['people_at_least']} annotators{work}"
    return f"{text} with these annotators (design effect {values['design_effect']:.2f}){work}"
