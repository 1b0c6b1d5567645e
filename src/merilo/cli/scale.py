"""`merilo scale`: people and models on one scale."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from merilo.atomic_write import refuse_existing, write_text
from merilo.baselines.ability_scale import AbilityScale
from merilo.cli.output import emit_json, refuse_json, say, working
from merilo.reports.ability_scale import item_response, misfits, separating
from merilo.reports.estimates import counted
from merilo.statistics.intervals import Interval
from merilo.statistics.item_response import ItemModel
from merilo.wording import listed

app = typer.Typer(add_completion=False)


@app.command()
def people_and_models(
    baseline: Annotated[
        Path, typer.Argument(help="The human baseline: a folder written by 'merilo baseline --out'.")
    ],
    responses: Annotated[
        list[Path] | None,
        typer.Argument(help="The models' answers, one file per model, as 'merilo compare' reads them."),
    ] = None,
    *,
    model: Annotated[
        ItemModel,
        typer.Option(
            help="The item-response model: equal discrimination of all items (rasch), or not (2pl)."
        ),
    ] = "rasch",
    data: Annotated[
        Path | None,
        typer.Option(help="The items with ids and gold answers, if the baseline was made without them."),
    ] = None,
    chart: Annotated[
        Path | None, typer.Option(help="Draw people, models and items on one axis: an SVG file.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace an existing chart.")] = False,
    json_to: Annotated[
        str | None,
        typer.Option(
            "--json", metavar="FILE|-", help="Write the result as one JSON object; - is standard output."
        ),
    ] = None,
) -> int:
    """Put people, models and items on one scale: an item-response model of the people's answers."""
    files = responses or []
    needed = [baseline / "baseline.json", *files, *([data] if data else [])]
    refuse_json(json_to, needed)
    if chart:
        refuse_existing(chart, force=force, needed=needed)
    with working("Fitting the item-response model"):
        result = item_response(baseline, files, model=model, data=data)
    if chart:
        write_text(chart, result.chart())
    if json_to:
        emit_json(result.to_dict(), json_to)
    if json_to != "-":
        _show(result.scale)
    for warning in result.warnings:
        say(warning)
    return 0


_NAMES = {"rasch": "Rasch model", "2pl": "two-parameter model"}


def _show(scale: AbilityScale) -> None:
    """Print the scale on standard output."""
    console = Console(highlight=False)
    people, fit = scale.people, scale.fit
    table = Table(
        title=f"People and models on one scale ({_NAMES[fit.model]})",
        title_justify="left",
        title_style="bold",
    )
    table.add_column("")
    for head in ("ability", "people below", "score"):
        table.add_column(head, justify="right", no_wrap=True)
    at = (people.median, people.median_interval), (people.best_tenth, people.best_tenth_interval)
    table.add_row("median person", _text(*at[0]), "50%", f"{people.median_score:.3f}")
    if scale.ranked:
        table.add_row("best tenth, from", _text(*at[1]), "90%", f"{people.best_tenth_score:.3f}")
    for one in scale.models:
        found = one.location
        low, high = found.below_interval.low, found.below_interval.high
        table.add_row(
            escape(one.model),
            _text(found.ability, found.interval),
            escape(f"{found.below:.0%} [{low:.0%}, {high:.0%}]") if scale.ranked else "-",
            f"{found.expected_score:.3f}",
        )
    console.print(table)
    console.print("\n".join(_lines(scale)), markup=False)


def _lines(scale: AbilityScale) -> list[str]:
    told, asked, names = scale.information, scale.fit.answers > 0, scale.baseline.names
    lines = [
        f"{counted(len(scale.baseline.annotators), 'annotator')}, spread of ability "
        f"{scale.people.spread:.2f} logits; score: the "
        "expected share of correct answers to all items",
        f"{counted(int(asked.sum()), 'item')}: {float(told.too_easy[asked].mean()):.0%} too easy and "
        f"{float(told.too_hard[asked].mean()):.0%} too hard to tell people apart",
    ]
    if scale.why_no_ranks:
        lines.append(str(scale.why_no_ranks))
    if odd := misfits(scale):
        lines.append(
            f"answers to {counted(len(odd), 'item')} depend on ability less than the model says: "
            f"{listed([names[place][:40] for place in odd], 5)}"
        )
    for one in scale.models:
        worse, better = separating(scale, one)
        for rows, verb in ((worse, "fails"), (better, "solves")):
            if rows:
                lines.append(
                    f"{one.model} {verb} {counted(len(rows), 'item')} unlike people of its ability: "
                    f"{listed([names[one.places[row]][:40] for row in rows], 5)}"
                )
    return lines


def _text(ability: float, interval: Interval) -> str:
    return escape(f"{ability:+.2f} [{interval.low:+.2f}, {interval.high:+.2f}]")
