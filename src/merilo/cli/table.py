"""`merilo table`: a table of the human baselines of datasets."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Literal

import typer

from merilo.cli.options import ForceOption, JsonOption
from merilo.cli.output import check_places, emit_json
from merilo.text import Language

app = typer.Typer(add_completion=False)


@app.command()
def print_table(
    folders: Annotated[
        list[Path] | None,
        typer.Argument(
            help="Folders of your own baselines (merilo baseline --out, or merilo report).",
            show_default=False,
        ),
    ] = None,
    *,
    form: Annotated[
        Literal["markdown", "latex", "html", "csv", "eval-yaml"],
        typer.Option(
            "--format",
            help="The format; html has both languages, eval-yaml is your studies for Inspect Evals.",
        ),
    ] = "markdown",
    language: Annotated[Language, typer.Option(help="The language of Markdown and LaTeX.")] = "en",
    out: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write the table to this file. Default: standard output."),
    ] = None,
    force: ForceOption = False,
    json_to: JsonOption = None,
) -> int:
    """Print a table of human baselines: the published values with their provenance, and your own studies.

    The interval of a study covers items and annotators. Links to reports start from the folder of --out.
    """
    from merilo.atomic_write import write_text  # noqa: PLC0415 - slow
    from merilo.baselines.baseline import BASELINE_FILE  # noqa: PLC0415
    from merilo.reports.human_table import (  # noqa: PLC0415
        eval_yaml,
        human_rows,
        read_study,
        table_text,
    )

    studies = [read_study(folder) for folder in folders or []]
    check_places([study.folder / BASELINE_FILE for study in studies], json_to, out, force=force)
    rows = human_rows(studies)
    beside = None if out is None else out.parent
    text = eval_yaml(studies) if form == "eval-yaml" else table_text(rows, form, language, beside=beside)
    if json_to:
        emit_json({"rows": [row.to_json() for row in rows]}, json_to)
    if out is not None:
        write_text(out, text)
    elif json_to != "-":
        sys.stdout.write(text)
    return 0
