"""`merilo scale`: people and models on one scale."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from merilo.atomic_write import refuse_existing, write_text
from merilo.cli.output import emit_json, refuse_json, say, working
from merilo.reports.ability_scale import item_response
from merilo.statistics.item_response import ItemModel

app = typer.Typer(add_completion=False)


@app.command()
def people_and_models(
    baseline: Annotated[Path, typer.Argument(help="The human baseline: a folder written by 'merilo baseline --out'.")],
    responses: Annotated[list[Path] | None, typer.Argument(help="The models' answers, one file per model, as 'merilo compare' reads them.")] = None,
    *,
    model: Annotated[ItemModel, typer.Option(help="The item-response model: equal discrimination of all items (rasch), or one for each item (2pl).")] = "rasch",
    data: Annotated[Path | None, typer.Option(help="The items with ids and gold answers, if the baseline was made without them.")] = None,
    chart: Annotated[Path | None, typer.Option(help="Draw people, models and items on one axis: an SVG file.")] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace an existing chart.")] = False,
    json_to: Annotated[str | None, typer.Option("--json", metavar="FILE|-", help="Write the result as one JSON object; - is standard output.")] = None,
) -> int:  # fmt: skip
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
        from merilo.cli.scale_table import show  # noqa: PLC0415 - the JSON needs no tables

        show(result.scale)
    for warning in result.warnings:
        say(warning)
    return 0
