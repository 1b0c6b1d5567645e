"""`merilo baseline`: from raw annotation to a human baseline."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

import typer

from merilo.baselines.model_comparison import ModelComparison
from merilo.baselines.pipeline import Settings, baseline
from merilo.baselines.provenance import provenance
from merilo.baselines.quality import study_quality
from merilo.cli.output import OutFolder, emit_json, named, refuse_json, say, working
from merilo.cli.study import command_line, gold_of, reading, typed_freely, votes_option
from merilo.cli.study_options import (
    INPUT,
    OUTPUT,
    AnnotatorOption,
    AnonymiseOption,
    AnswerOption,
    ControlOption,
    DatasetOption,
    EncodingOption,
    Exports,
    ForceOption,
    GoldColumnOption,
    GoldOption,
    ItemOption,
    JsonOption,
    PageOption,
    PlatformOption,
    RecodeOption,
    RewardOption,
    SecondsOption,
    SkillsOption,
    StartedOption,
    SubmittedOption,
)
from merilo.datasets import dataset
from merilo.errors import UsageError
from merilo.people import platforms, pseudonyms
from merilo.people.agreement import Level
from merilo.people.controls import read_skills
from merilo.people.decision import Aggregator, Resolve
from merilo.people.duplicates import Repeats
from merilo.people.platforms import Columns
from merilo.people.recoding import read_recoding, recoding_files
from merilo.people.recoding import recode as recode_answers
from merilo.reports.comparison import sentences
from merilo.reports.summary import summary
from merilo.strict_json import Json

app = typer.Typer(add_completion=False)

_PROCEDURE = "Procedure"


@app.command()
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
    model: Annotated[list[Path] | None, typer.Option(help="A model's answers (id, answer, and sample for several) to set beside the people; may be given several times.", rich_help_panel=INPUT)] = None,
    common_items: Annotated[bool, typer.Option("--common-items", help="Compare models on the items that both answered where these are not all.", rich_help_panel=INPUT)] = False,
    encoding: EncodingOption = None,
    currency: Annotated[str | None, typer.Option(help="The currency of rewards, where the platform does not say it.", rich_help_panel=INPUT)] = None,
    metric: Annotated[str | None, typer.Option(help="The main metric; the dataset's own when not given, and without a dataset acc (or em, f1, f1_macro, mcc).", rich_help_panel=_PROCEDURE)] = None,
    alternatives: Annotated[str | None, typer.Option(help="What divides several right answers inside a gold cell, where no dataset says it.", metavar="TEXT", rich_help_panel=_PROCEDURE)] = None,
    min_control_accuracy: Annotated[float, typer.Option(help="Annotators below it on control items are excluded.", rich_help_panel=_PROCEDURE)] = 0.5,
    min_controls: Annotated[int, typer.Option(help="With fewer control answers an annotator cannot be judged and is kept.", rich_help_panel=_PROCEDURE)] = 1,
    min_votes: Annotated[str, typer.Option(metavar="majority|N", help="How many equal votes make a majority: more than half of the overlap, or a number.", rich_help_panel=_PROCEDURE)] = "majority",
    max_low_agreement: Annotated[float, typer.Option(help="The share of items without a majority above which the baseline is rejected.", rich_help_panel=_PROCEDURE)] = 0.3,
    aggregator: Annotated[Aggregator, typer.Option(help="What turns votes into labels: most votes, or a model of the annotators.", rich_help_panel=_PROCEDURE)] = "majority",
    resolve: Annotated[Resolve, typer.Option(help="Items left open: left out (none, the published procedure); decided by most votes and then skill; by most votes and then GLAD; or by all of these in turn (cascade). An item stays unresolved if its sums are equal at every step, or if no answer is left after exclusion.", rich_help_panel=_PROCEDURE)] = "cascade",
    anchor_controls: Annotated[bool, typer.Option("--anchor-controls", help="Let the models know the right answers of control items.", rich_help_panel=_PROCEDURE)] = False,
    normalise: Annotated[list[str] | None, typer.Option(help="Free answers: rules by which spellings are one answer (numbers, words, or single rules; may be given several times).", rich_help_panel=_PROCEDURE)] = None,
    by: Annotated[list[str] | None, typer.Option(help="A field of the items (of the inputs, or of the gold's file: domain finds meta.domain): agreement and the figure are told for each of its values; may be given several times.", rich_help_panel=_PROCEDURE)] = None,
    level: Annotated[Level, typer.Option(help="What labels are to Krippendorff's alpha: names, places in an order, or numbers.", rich_help_panel=_PROCEDURE)] = "nominal",
    repeats: Annotated[Repeats, typer.Option(help="An annotator's second, different answer to an item.", rich_help_panel=_PROCEDURE)] = "refuse",
    annotator: AnnotatorOption = None,
    control: ControlOption = None,
    page: PageOption = None,
    started: StartedOption = None,
    submitted: SubmittedOption = None,
    seconds: SecondsOption = None,
    reward: RewardOption = None,
    out: Annotated[Path | None, typer.Option(help="A new folder for the report and all tables.", rich_help_panel=OUTPUT)] = None,
    anonymise: AnonymiseOption = False,
    force: ForceOption = False,
    json_to: JsonOption = None,
) -> int:  # fmt: skip
    """Make a human baseline from raw annotation.

    Exit status 1: the baseline was made and must be rejected.
    """
    inputs = [
        *files,
        *(path for path in (gold, skills) if path),
        *(model or []),
        *recoding_files(recode or ()),
    ]
    folder = OutFolder.checked(out, force=force, needed=inputs)
    refuse_json(json_to, inputs)
    declared = dataset(dataset_name) if dataset_name else None
    settings = Settings(
        dataset=declared.name if declared else None,
        metric=metric,
        alternatives=alternatives,
        labels=declared.answer.labels if declared else (),
        min_control_accuracy=min_control_accuracy,
        min_controls=min_controls,
        min_votes=votes_option(min_votes),
        max_low_agreement=max_low_agreement,
        aggregator=aggregator,
        resolve=resolve,
        anchor_controls=anchor_controls,
        normalise=tuple(normalise or ()),
        by=tuple(by or ()),
        level=level,
        repeats=repeats,
        currency=currency,
        open_answers=not declared.answer.labels if declared else None,
    )
    columns = Columns(
        answer=answer,
        item=tuple(item or ()),
        annotator=annotator,
        control=control,
        page=page,
        started=started,
        submitted=submitted,
        seconds=seconds,
        reward=reward,
    )
    with reading(files) as progress:
        responses = platforms.read(
            files,
            platform=platform,
            columns=columns,
            labels=settings.labels,
            encoding=encoding,
            progress=progress,
            as_typed=typed_freely(declared),
        )
    responses = recode_answers(responses, read_recoding(recode or (), encoding))
    with working("Reading gold answers"):
        found = gold_of(responses, declared, gold, gold_column, encoding, alternatives=alternatives)
    skilled = read_skills(skills, encoding) if skills else None
    if anonymise:
        responses, skilled = pseudonyms.anonymise(responses, skilled, pseudonyms.key_of(files))
        found = pseudonyms.gold_without_folders(found) if found else None
    if model and not found:
        raise UsageError("--model is compared on right answers, and none are known: give --gold")
    with working(f"Making a baseline of {responses.table.height:,} answers"):
        result = baseline(responses, settings, dataset=declared, gold=found, skills=skilled)
    options: dict[str, Json] = {
        "platform": platform, "dataset": dataset_name, "gold": named(gold), "gold_column": gold_column,
        "answer": answer, "recode": list(recode or []), "anonymise": anonymise, "skills": named(skills), "model": [named(path) for path in model or []], "common_items": common_items, "encoding": encoding, "currency": currency, "metric": metric, "alternatives": alternatives,
        "min_control_accuracy": min_control_accuracy, "min_controls": min_controls, "min_votes": settings.min_votes,
        "max_low_agreement": max_low_agreement, "aggregator": aggregator, "resolve": resolve,
        "anchor_controls": anchor_controls, "normalise": list(normalise or []), "by": list(by or []), "level": level, "repeats": repeats, "item": list(item or []),
        "annotator": annotator, "control": control, "page": page, "started": started, "submitted": submitted,
        "seconds": seconds, "reward": reward,
    }  # fmt: skip
    made = provenance(command_line("baseline", files, options, _DEFAULTS), inputs, options)
    if anonymise:
        made = made.without_folders()
    with working("Checking annotators and other procedures"):
        quality = study_quality(result)
    content = summary(result, made, quality)
    comparisons: list[ModelComparison] = []
    if folder or model:
        from merilo.reports.folder import write_folder  # noqa: PLC0415 - only who asks for files pays for them

        with working("Writing the report"), folder.filled() if folder else TemporaryDirectory() as place:
            content, comparisons = write_folder(
                Path(place), result, content, quality, models=model or (), common_items=common_items
            )
    for warning in (*result.warnings, *result.reasons):
        say(warning.en)
    if json_to:
        emit_json(content, json_to)
    if json_to != "-":
        from merilo.cli.baseline_table import show  # noqa: PLC0415 - the JSON needs no tables

        show(result, out)
        if comparisons:
            from merilo.cli.compare_table import show as show_models  # noqa: PLC0415 - the same

            show_models(comparisons, result.declaration.metrics[0])
    if comparisons and result.status == "rejected":
        say("the baseline is rejected, so the comparison with models is not valid")
    for comparison in comparisons:
        for sentence in sentences(comparison):
            say(f"{comparison.model}: {sentence}")
    return 0 if result.status == "accepted" else 1


_DEFAULTS: dict[str, Json] = {
    "min_control_accuracy": 0.5,
    "min_controls": 1,
    "min_votes": "majority",
    "max_low_agreement": 0.3,
    "aggregator": "majority",
    "resolve": "cascade",
    "anchor_controls": False,
    "level": "nominal",
    "repeats": "refuse",
    "common_items": False,
    "anonymise": False,
}
