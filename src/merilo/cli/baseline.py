"""`merilo baseline`: make a human baseline from raw annotation."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from merilo.baselines.declared import settings_for
from merilo.cli.output import OutFolder, emit_json, reading, refuse_json, say, working
from merilo.cli.procedure_options import takes_settings
from merilo.cli.study_options import (
    MODELS,
    OUTPUT,
    AnnotatorOption,
    AnonymiseOption,
    AnswerOption,
    ControlOption,
    DatasetOption,
    DetailsOption,
    EncodingOption,
    Exports,
    ForceOption,
    GoldColumnOption,
    GoldOption,
    ItemOption,
    JsonOption,
    PageOption,
    PlatformOption,
    PopulationOption,
    RecodeOption,
    RewardOption,
    SecondsOption,
    SkillsOption,
    StartedOption,
    StrataOption,
    SubmittedOption,
    fields_of_strata,
)
from merilo.datasets import dataset
from merilo.errors import for_command_line
from merilo.people.reading import read_responses
from merilo.people.recoding import recoding_files
from merilo.reports.baseline import baseline
from merilo.settings import Settings

app = typer.Typer(add_completion=False)


@app.command()
@takes_settings(
    most_used=(
        "dataset_name",
        "gold",
        "answer",
        "skills",
        "min_control_accuracy",
        "by",
        "out",
        "details",
        "json_to",
    )
)
def make(
    files: Exports,
    *,
    platform: PlatformOption = None,
    dataset_name: DatasetOption = None,
    gold: GoldOption = None,
    gold_column: GoldColumnOption = None,
    answer: AnswerOption = None,
    item: ItemOption = None,
    recode: RecodeOption = None,
    skills: SkillsOption = None,
    model: Annotated[
        list[Path] | None,
        typer.Option(
            help="A model's answers (id, answer, sample), or the log of another harness; may be given "
            "several times.",
            rich_help_panel=MODELS,
        ),
    ] = None,
    common_items: Annotated[
        bool,
        typer.Option(
            "--common-items",
            help="If a model did not answer all items, compare on the items that both answered.",
            rich_help_panel=MODELS,
        ),
    ] = False,
    margin: Annotated[
        float | None,
        typer.Option(
            help="The largest difference from a model that counts as none, for the verdict 'at human "
            "level'. Default: that of the study's frozen plan.",
            rich_help_panel=MODELS,
        ),
    ] = None,
    population: PopulationOption = None,
    strata: StrataOption = None,
    encoding: EncodingOption = None,
    settings: Settings,
    annotator: AnnotatorOption = None,
    control: ControlOption = None,
    page: PageOption = None,
    started: StartedOption = None,
    submitted: SubmittedOption = None,
    seconds: SecondsOption = None,
    reward: RewardOption = None,
    out: Annotated[
        Path | None, typer.Option(help="A new folder for the report and all tables.", rich_help_panel=OUTPUT)
    ] = None,
    anonymise: AnonymiseOption = False,
    force: ForceOption = False,
    details: DetailsOption = False,
    json_to: JsonOption = None,
) -> int:
    """Make a human baseline from raw annotation.

    Exit status 1: the baseline was made and is rejected.
    """
    inputs = [
        *files,
        *(path for path in (gold, skills, population) if path),
        *(model or []),
        *recoding_files(recode or ()),
    ]
    folder = OutFolder.checked(out, force=force, needed=inputs)
    refuse_json(json_to, inputs)
    declared = dataset(dataset_name) if dataset_name else None
    # Report wrong settings before reading a long file.
    settings_for(declared, settings)
    if margin is not None:
        from merilo.baselines.model_verdicts import Margin  # noqa: PLC0415 - needed only with models

        Margin(margin)
    with reading(files) as progress:
        responses = read_responses(
            files, platform=platform, dataset=declared, item=item, annotator=annotator, answer=answer, control=control,
            page=page, started=started, submitted=submitted, seconds=seconds, reward=reward, encoding=encoding,
            recode=recode or (), progress=progress,
        )  # fmt: skip
    with working(f"Making a baseline of {responses.table.height:,} answers"):
        made = baseline(
            responses, dataset=dataset_name, gold=gold, gold_column=gold_column, skills=skills, models=model or (),
            common_items=common_items, margin=margin, population=population, strata=fields_of_strata(strata),
            settings=settings, anonymise=anonymise,
        )  # fmt: skip
    # A checked folder may be replaced; without a folder, to_dict compares the models.
    with working("Checking annotators and writing results"):
        content = (
            made.save(folder.path, force=folder.force)
            if folder
            else made.to_dict()
            if json_to or model
            else {}
        )
    result = made.details
    for warning in (*result.warnings, *result.reasons):
        say(str(warning))
    if json_to:
        emit_json(content, json_to)
    if json_to != "-":
        from rich.console import Console  # noqa: PLC0415 - the JSON needs no tables

        from merilo.reports.baseline_table import table  # noqa: PLC0415

        console = Console(highlight=False)
        console.print(table(made.without_quality, for_command_line, details=details))
        if out:
            console.print(f"The report: {out / 'report.html'}", soft_wrap=True, markup=False)
        if made.comparisons:
            from merilo.cli.compare_table import show_tests as show_models  # noqa: PLC0415 - the same

            show_models(made.comparisons, result.declaration.metrics[0])
    if made.comparisons:
        from merilo.reports.comparison import sentences  # noqa: PLC0415 - needed only with models

        if result.status == "rejected":
            say("the baseline is rejected, so the comparison with models is not valid")
        for comparison in made.comparisons:
            for sentence in sentences(comparison):
                say(f"{comparison.model}: {sentence}")
    return 1 if result.status == "rejected" else 0
