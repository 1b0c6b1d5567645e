"""`merilo audit`: find gold answers that are probably wrong, and wrong answers that are typing errors."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from merilo.baselines.audit import audit as find_wrong_golds
from merilo.cli.output import OutFolder, emit_json, reading, refuse_json, say, working
from merilo.cli.procedure_options import takes_settings
from merilo.cli.study_options import (
    INPUT,
    OUTPUT,
    AnnotatorOption,
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
    SkillsOption,
)
from merilo.people.reading import read_responses
from merilo.people.recoding import recoding_files
from merilo.settings import Settings

app = typer.Typer(add_completion=False)


@app.command()
@takes_settings(
    "metric", "alternatives", "min_control_accuracy", "min_controls", "min_votes", "resolve", "repeats"
)
def audit(
    files: Exports,
    *,
    platform: PlatformOption = None,
    dataset_name: DatasetOption = None,
    gold: GoldOption = None,
    gold_column: GoldColumnOption = None,
    revised: Annotated[Path | None, typer.Option(help="Items with corrected gold answers, for example the filled-in audit.csv of --out: the baseline is scored before and after the revision.", rich_help_panel=INPUT)] = None,
    answer: AnswerOption = None,
    recode: RecodeOption = None,
    skills: SkillsOption = None,
    other: Annotated[list[Path] | None, typer.Option(help="An export of another dataset that the same annotators answered: whether they agree with the others is then judged on it too; may be given several times.", rich_help_panel=INPUT)] = None,
    encoding: EncodingOption = None,
    choice: Annotated[bool | None, typer.Option("--choice/--open", help="Answers are a choice among labels, none of which is a typing error, or were typed freely. Default: a choice if there are at most five labels.", rich_help_panel=INPUT)] = None,
    settings: Settings,
    item: ItemOption = None,
    annotator: AnnotatorOption = None,
    control: ControlOption = None,
    page: PageOption = None,
    limit: Annotated[int, typer.Option(min=0, help="How many items to print; the files have all of them.", rich_help_panel=OUTPUT)] = 20,
    out: Annotated[Path | None, typer.Option(help="A new folder for the results: audit.csv (the list to review and give back with --revised), contested.csv (items without gold on which people disagree) and audit.json.", rich_help_panel=OUTPUT)] = None,
    force: ForceOption = False,
    json_to: JsonOption = None,
) -> int:  # fmt: skip
    """List the items whose gold answer is probably wrong, and separate typing errors from dataset errors."""
    inputs = [
        *files,
        *(path for path in (gold, revised, skills) if path),
        *(other or ()),
        *recoding_files(recode or ()),
    ]
    folder = OutFolder.checked(out, force=force, needed=inputs)
    refuse_json(json_to, inputs)
    with reading(files) as progress:
        responses = read_responses(
            files, platform=platform, dataset=dataset_name, item=item, annotator=annotator, answer=answer, control=control,
            page=page, encoding=encoding, recode=recode or (), progress=progress,
        )  # fmt: skip
    with working(f"Comparing {responses.table.height:,} answers with gold"):
        result = find_wrong_golds(
            responses, dataset=dataset_name, gold=gold, gold_column=gold_column, revised=revised, skills=skills, others=other or (), choice=choice,
            settings=settings,
        )  # fmt: skip
    study = result.details
    if folder:
        result.save(folder.path, force=folder.force)
    if not study.audit.golds:
        say(
            "no item has a gold: only the items on which people disagree can be listed (add --gold FILE to look for wrong golds)"
        )
    if json_to:
        emit_json(result.to_dict(), json_to)
    if json_to != "-":
        from merilo.cli.audit_table import show  # noqa: PLC0415 - the JSON needs no tables

        show(study, result.before, result.after, limit=limit, out=out)
    return 0
