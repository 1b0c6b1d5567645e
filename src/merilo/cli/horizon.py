"""`merilo horizon`: the time that items take people of which a model solves half."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from merilo.cli.options import ForceOption, JsonOption, takes_settings
from merilo.cli.output import check_places, deliver, say, show, show_data, working
from merilo.errors import UsageError
from merilo.settings import INPUT, OUTPUT, HorizonSettings
from merilo.text import Text, own_language

if TYPE_CHECKING:
    from merilo.baselines.time_horizon import TimeHorizons

app = typer.Typer(add_completion=False)


@app.command()
@takes_settings(of=HorizonSettings)
def time_horizon(
    baseline: Annotated[
        Path,
        typer.Argument(
            help="The human baseline: a folder written by 'merilo baseline --out', with people's times."
        ),
    ],
    runs: Annotated[
        list[Path],
        typer.Argument(metavar="RUN...", help="Models: runs, files of answers, or logs of another harness."),
    ],
    *,
    data: Annotated[
        Path | None,
        typer.Option(
            help="The items with ids and gold answers, if the baseline was made without them.",
            rich_help_panel=INPUT,
        ),
    ] = None,
    settings: HorizonSettings,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Write the table and the picture as a page in both languages (.html), or the picture (.svg, .pdf, "
            ".png).",
            rich_help_panel=OUTPUT,
        ),
    ] = None,
    force: ForceOption = False,
    json_to: JsonOption = None,
) -> int:
    """Estimate the time that items take people of which a model solves half: its time horizon.

    Exit status 1: no model has a horizon or a bound of it.
    """
    from merilo.atomic_write import write_bytes  # noqa: PLC0415 - slow; the help needs only declarations
    from merilo.reports.horizon import horizon  # noqa: PLC0415

    suffix = "" if out is None else out.suffix.lower()
    if out is not None and suffix not in {".html", ".svg", ".pdf", ".png"}:
        raise UsageError("takes a file that ends in .html, .svg, .pdf or .png", field="--out")
    check_places([baseline, *runs, data], json_to, out, force=force)
    with working(Text("Estimating item times and horizons")):
        result = horizon(baseline, runs, data=data, settings=settings)
    if out is not None:
        content = result.page().encode() if suffix == ".html" else result.chart(suffix, own_language())
        write_bytes(out, content)
    deliver(json_to, result.to_dict, partial(_show, result.found))
    for warning in result.found.warnings:
        say(warning)
    return 0 if any(one.seconds is not None or one.bound is not None for one in result.found.models) else 1


def _show(found: TimeHorizons) -> None:
    from merilo.reports.horizon import horizon_notes, horizon_table  # noqa: PLC0415 - slow

    show_data(horizon_table(found))
    show(*horizon_notes(found), wrap=True)
