"""`merilo baseline`: make a human baseline from raw annotation."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from merilo.cli.options import (
    BaselineFolder,
    ComparedModels,
    DetailsOption,
    Exports,
    ForceOption,
    JsonOption,
    input_files,
    read_exports,
    takes_settings,
)
from merilo.cli.output import check_places, emit_json, refuse_idle, say, show, working
from merilo.settings import INPUT, InputSettings, Settings

if TYPE_CHECKING:
    from merilo.baselines.baseline import Baseline

app = typer.Typer(add_completion=False)


@app.command()
@takes_settings(of=InputSettings, into="source")
@takes_settings()
def make(
    files: Exports,
    *,
    source: InputSettings,
    model: ComparedModels = None,
    arm: Annotated[
        str | None,
        typer.Option(metavar="COLUMN", help="The column of arms, or 'files'.", rich_help_panel=INPUT),
    ] = None,
    other: Annotated[
        list[Path] | None,
        typer.Option(metavar="FILE", help="Their answers elsewhere; repeatable.", rich_help_panel=INPUT),
    ] = None,
    settings: Settings,
    out: BaselineFolder = None,
    force: ForceOption = False,
    details: DetailsOption = False,
    json_to: JsonOption = None,
) -> int:
    """Make a human baseline from raw annotation.

    Exit status 1: the baseline was made and is rejected.
    """
    from merilo.baselines.study_input import refuse_unknown_metric  # noqa: PLC0415 - slow; the help needs only declarations
    from merilo.datasets import dataset  # noqa: PLC0415
    from merilo.reports.baseline import baseline  # noqa: PLC0415

    check_places(input_files([*files, *(model or ()), *(other or ())], source), json_to, out, force=force)
    refuse_idle(out, json_to, force=force, details=details)
    # Report wrong settings before reading a long file.
    if source.dataset:
        dataset(source.dataset)
    refuse_unknown_metric(settings)
    responses = read_exports(files, source)
    column = responses.origin.reading.columns.arm if responses.origin else None
    with working(f"Making a baseline of {responses.table.height:,} answers"):
        computed = baseline(
            responses, dataset=source.dataset, gold=source.gold, gold_column=source.gold_column, skills=source.skills,
            models=model or (), arm=arm or column, other=other or (), settings=settings,
        )  # fmt: skip
    return finish(computed, out, force=force, details=details, json_to=json_to)


def finish(computed: Baseline, out: Path | None, *, force: bool, details: bool, json_to: str | None) -> int:
    """Save and print a baseline; return the exit status.

    Args:
        computed: the baseline.
        out: the folder for its files.
        force: whether an existing one may be replaced.
        details: whether all rows of the table are printed.
        json_to: where the JSON goes.
    """
    with working("Checking annotators and writing results"):
        content = computed.save(out, force=force) if out else computed.to_json()
    if json_to:
        emit_json(content, json_to)
    if json_to == "-":
        for finding in computed.findings:
            say(finding.sentence)
    else:
        from merilo.reports.facts import (  # noqa: PLC0415 - as above
            PlannedBaseline,
            arm_sections,
            facts,
        )

        planned = PlannedBaseline(computed)
        sections = facts(planned, *(() if details else ("result",)))
        if not details and computed.doubtful is not None and computed.doubtful.height:
            sections += [section._replace(tables=()) for section in facts(planned, "doubtful")]
        show(*sections, *arm_sections(computed))
        if computed.gold is None:
            say("there is no metric without gold answers: add --gold FILE")
        if out:
            show(f"The report: {out / 'report.html'}")
    if computed.models:
        _finish_models(computed, printed=json_to != "-")
    return 1 if computed.status == "rejected" else 0


def _finish_models(computed: Baseline, *, printed: bool) -> None:
    """Print the models beside people; without models, their slow modules are not imported."""
    from merilo.reports.comparison import Comparison  # noqa: PLC0415
    from merilo.reports.comparison_page import sections  # noqa: PLC0415

    if printed:
        show(*sections(Comparison(rows=computed.models), narrow=True))
    if computed.status == "rejected":
        say("the baseline is rejected, so the comparison with models is not valid")
    for sentence in computed.beside_models.limits if computed.beside_models else ():
        say(sentence)
    for echo in computed.echoes if printed else ():
        if not echo.reason:
            show(echo.sentence())
