"""`merilo judge`: a model that judges texts in place of people."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from merilo.cli.options import ForceOption, JsonOption, takes_settings
from merilo.cli.output import check_places, deliver, say, show, show_data, working
from merilo.errors import UsageError
from merilo.settings import INPUT, OUTPUT, JudgeSettings
from merilo.text import Text

if TYPE_CHECKING:
    from merilo.baselines.judging import Judging

app = typer.Typer(add_completion=False)


@app.command()
@takes_settings(of=JudgeSettings)
def judge(
    baseline: Annotated[
        Path,
        typer.Argument(
            help="The baseline of people's judgements: a folder written by 'merilo baseline --out'."
        ),
    ],
    *,
    model: Annotated[
        Path,
        typer.Option(
            "--judge",
            metavar="RUN",
            help="The judge over all texts: a run, or a file of answers (id, answer, sample).",
            rich_help_panel=INPUT,
        ),
    ],
    data: Annotated[
        Path | None,
        typer.Option(
            help="The texts with ids and fields, if the judge's answers are a file, or the texts of a run were moved.",
            rich_help_panel=INPUT,
        ),
    ] = None,
    settings: JudgeSettings,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Write the verdict, the scores and their picture as a page in both languages (.html).",
            rich_help_panel=OUTPUT,
        ),
    ] = None,
    force: ForceOption = False,
    json_to: JsonOption = None,
) -> int:
    """Test whether a model may judge texts in place of people, and correct its scores by people's.

    Exit status 1: the judge is refused.
    """
    from merilo.atomic_write import write_text  # noqa: PLC0415 - slow; the help needs only declarations
    from merilo.reports.judging import judge as test_judge  # noqa: PLC0415
    from merilo.reports.judging import refusal  # noqa: PLC0415

    if out is not None and out.suffix.lower() != ".html":
        raise UsageError("takes a file that ends in .html", field="--out")
    check_places([baseline / "baseline.json", model, data], json_to, out, force=force)
    with working(Text("Testing the judge")):
        result = test_judge(baseline, model, data=data, settings=settings)
    found = result.details
    if out is not None:
        write_text(out, result.page())
    deliver(json_to, result.to_dict, partial(_show, found))
    for note in found.notes:
        say(note)
    for reason in found.reasons:
        say(refusal(found, reason))
    return 0 if found.accepted else 1


def _show(found: Judging) -> None:
    """Print the test and the scores on standard output."""
    from merilo.reports.judging import difference_sentences, scores_table, test_sentence, test_table  # noqa: PLC0415

    show_data(test_table(found))
    if found.test.tested:
        show(test_sentence(found.test), wrap=True)
    show_data(scores_table(found))
    show(*difference_sentences(found))
