"""`merilo leaderboard`: people and models on all datasets, as one page."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from merilo.cli.options import ForceItems, MarginOption
from merilo.cli.output import say, show, working
from merilo.settings import INPUT
from merilo.wording import counted_noun

app = typer.Typer(add_completion=False)


@app.command()
def board_of_people_and_models(
    runs: Annotated[
        list[Path],
        typer.Argument(
            metavar="RUN...",
            help="Models as for 'merilo compare': runs, files of answers (id, answer, sample), or logs of another "
            "harness.",
            show_default=False,
        ),
    ],
    *,
    baselines: Annotated[
        Path,
        typer.Option(
            metavar="DIR",
            help="The folder whose subfolders are human baselines (folders of 'merilo baseline --out').",
            rich_help_panel=INPUT,
        ),
    ],
    out: Annotated[
        Path,
        typer.Option(
            metavar="DIR",
            help="The folder of index.html and leaderboard.json; an earlier leaderboard in it is replaced.",
        ),
    ],
    margin: MarginOption = None,
    force: ForceItems = False,
) -> int:
    """Write one page of people and models on all datasets, sorted by the total score.

    Exit status 1: models answered other items than a baseline, and --force was not given.
    """
    from merilo.models.builtin_respondents import BUILTIN  # noqa: PLC0415 - slow
    from merilo.reports.comparison_page import PAGE, leaderboard  # noqa: PLC0415 - as above

    with working("Comparing people with models"):
        comparison = leaderboard(*runs, baselines=baselines, out=out, margin=margin, force=force)
    for finding in comparison.findings:
        say(finding.sentence)
    builtin = sum(name.endswith(BUILTIN) for name in comparison.models)
    models = counted_noun(len(comparison.models) - builtin, "model", "models")
    if builtin:
        models += f" and {counted_noun(builtin, 'built-in respondent', 'built-in respondents')}"
    show(f"{models} on {counted_noun(len(comparison.datasets), 'dataset', 'datasets')}: {out / PAGE}")
    return 0
