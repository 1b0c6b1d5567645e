"""`merilo baseline`: make a human baseline from raw annotation."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from merilo.atomic_write import write_text
from merilo.cli.options import (
    AnonymiseOption,
    BaselineFolder,
    CommonItemsOption,
    ComparedModels,
    DetailsOption,
    Exports,
    ForceOption,
    JsonOption,
    MarginOption,
    input_files,
    read_exports,
    takes_settings,
)
from merilo.cli.output import check_places, emit_json, interval, number, say, show, show_table, working
from merilo.settings import INPUT, InputSettings, Settings
from merilo.strict_json import as_text
from merilo.text import Text

if TYPE_CHECKING:
    from merilo.baselines.arms import Arms
    from merilo.reports.baseline import BaselineResult
    from merilo.statistics.intervals import Interval

#: The value of --arm by which every file is an arm.
ARM_FILES: Final = "files"
#: The arms in a folder of --out.
ARMS_FILE: Final = "arms.json"

app = typer.Typer(add_completion=False)


@app.command()
@takes_settings(
    of=InputSettings,
    into="given",
    most_used=(
        *("dataset", "gold", "answer", "skills", "min_control_accuracy", "by"),
        *("out", "details", "json_to"),
    ),
)
@takes_settings()
def make(
    files: Exports,
    *,
    given: InputSettings,
    model: ComparedModels = None,
    common_items: CommonItemsOption = False,
    margin: MarginOption = None,
    arm: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN|FILE",
            help="Compare arms of the study, such as lay people and experts: a table of annotator and arm, a column of "
            "the exports, or 'files', each of which is an arm.",
            rich_help_panel=INPUT,
        ),
    ] = None,
    settings: Settings,
    out: BaselineFolder = None,
    anonymise: AnonymiseOption = False,
    force: ForceOption = False,
    details: DetailsOption = False,
    json_to: JsonOption = None,
) -> int:
    """Make a human baseline from raw annotation.

    Exit status 1: the baseline was made and is rejected.
    """
    from merilo.baselines.consensus_scorer import settings_for  # noqa: PLC0415 - slow; the help needs only declarations
    from merilo.datasets import dataset  # noqa: PLC0415
    from merilo.reports.baseline import baseline  # noqa: PLC0415

    check_places(input_files([*files, *(model or ())], given), json_to, out, force=force)
    declared = dataset(given.dataset) if given.dataset else None
    # Report wrong settings before reading a long file.
    settings_for(declared, settings)
    if margin is not None:
        from merilo.baselines.model_verdicts import Margin  # noqa: PLC0415 - needed only with models

        Margin(margin)
    responses = read_exports(files, given, declared)
    with working(Text("Making a baseline of {n:,} answers", n=responses.table.height)):
        made = baseline(
            responses, dataset=given.dataset, gold=given.gold, gold_column=given.gold_column, skills=given.skills,
            models=model or (), common_items=common_items, margin=margin, population=given.population,
            strata=given.fields_of_strata, recode_gold=given.recode_gold, keep_ambiguous=given.keep_ambiguous,
            settings=settings, anonymise=anonymise,
        )  # fmt: skip
    compared_arms = _arms(made, files, given, arm) if arm else None
    return finish(
        made, out, force=force, details=details, compared=bool(model), json_to=json_to, arms=compared_arms
    )


def _arms(made: BaselineResult, files: list[Path], given: InputSettings, chosen: str) -> Arms:
    """Compare the arms that the option names."""
    from merilo.baselines.arms import (  # noqa: PLC0415 - slow; few baselines have arms
        arm_estimates,
        arms_of_column,
        arms_of_files,
        read_arms,
    )

    if chosen == ARM_FILES:
        found = arms_of_files(made.details.responses)
    elif Path(chosen).is_file():
        found = read_arms(Path(chosen), given.encoding)
    else:
        found = arms_of_column(read_exports(files, replace(given, answer=chosen, recode=())))
    return arm_estimates(made.details, found)


def finish(
    made: BaselineResult,
    out: Path | None,
    *,
    force: bool,
    details: bool,
    compared: bool,
    json_to: str | None,
    arms: Arms | None = None,
) -> int:
    """Save and print a baseline; return the exit status.

    Args:
        made: the baseline.
        out: the folder for its files.
        force: whether an existing one may be replaced.
        details: whether all rows of the table are printed.
        compared: whether it is compared with models.
        json_to: where the JSON goes.
        arms: the arms of the study, which the folder gets as a file of its own.
    """
    # Without a folder, to_dict compares the models.
    with working(Text("Checking annotators and writing results")):
        content = made.save(out, force=force) if out else made.to_dict() if json_to or compared else {}
    if arms is not None:
        content = {**content, "arms": arms.to_dict()}
        if out:
            write_text(out / ARMS_FILE, as_text(arms.to_dict()))
    result = made.details
    for warning in (*result.warnings, *result.reasons):
        say(warning)
    if json_to:
        emit_json(content, json_to)
    if json_to != "-":
        from rich.console import Console  # noqa: PLC0415 - the JSON needs no tables

        from merilo.baselines.signal_counts import signal_sentences  # noqa: PLC0415
        from merilo.errors import for_command_line  # noqa: PLC0415
        from merilo.reports.baseline_table import table  # noqa: PLC0415

        shown = made.record if details else made.without_quality
        Console(highlight=False).print(table(shown, for_command_line, details=details))
        for sentence in signal_sentences(shown.signals) if shown.signals else ():
            show(sentence)
        if arms is not None:
            _show_arms(arms)
        if out:
            show(Text("The report: {file}", file=out / "report.html"))
    if made.comparisons:
        _finish_models(made, printed=json_to != "-")
    return 1 if result.status == "rejected" else 0


def _show_arms(arms: Arms) -> None:
    """Print a column for each arm, and the differences of each pair."""

    def cell(value: float, sure: Interval | None) -> str:
        return f"{number(value, '.3f')}{interval(sure)}"

    rows = [
        (Text("single person"), *(cell(*one.single) for one in arms.arms)),
        (Text("consensus", context="column"), *(cell(*one.consensus) for one in arms.arms)),
        (Text("annotators", context="row"), *(str(one.annotators) for one in arms.arms)),
        (Text("answers", context="column"), *(str(one.answers) for one in arms.arms)),
        (Text("items", context="row"), *(str(one.items) for one in arms.arms)),
    ]
    show_table(rows, ["", *(one.name for one in arms.arms)], title=Text("Arms"))
    for one in arms.differences:
        for name, found, p in (
            (Text("single person"), one.single, one.corrected[0]),
            (Text("majority of as many answers"), one.consensus, one.corrected[1]),
        ):
            show(
                Text(
                    "{second} minus {first}, {who}: {value:+.3f}{sure}, p = {p:.2g} after Holm’s correction, "
                    "{n:# item|# items}",
                    second=one.second,
                    first=one.first,
                    who=name,
                    value=found.value,
                    sure=interval(found.interval(), "+.3f"),
                    p=p,
                    n=found.n,
                ),
                wrap=True,
            )


def _finish_models(made: BaselineResult, *, printed: bool) -> None:
    """Print the comparisons with models and their warnings; without models, their slow modules are not imported."""
    from merilo.cli.compare_table import show_tests  # noqa: PLC0415
    from merilo.reports.comparison import sentences  # noqa: PLC0415

    if printed:
        show_tests(made.comparisons, made.details.declaration.metrics[0])
    if made.status == "rejected":
        say(Text("the baseline is rejected, so the comparison with models is not valid"))
    for comparison in made.comparisons:
        for sentence in sentences(comparison):
            say(f"{comparison.model}: {sentence}")
    for echo in made.assistance if printed else ():
        show(echo.sentence())
        if doubt := echo.doubt():
            show(doubt)
