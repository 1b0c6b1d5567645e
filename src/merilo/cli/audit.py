"""`merilo audit`: find gold answers that are probably wrong, and wrong answers that are typing errors."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from merilo.baselines.pipeline import Settings, baseline
from merilo.baselines.provenance import provenance
from merilo.cli.exports import command_line, gold_of, reading, typed_freely, votes_option
from merilo.cli.output import OutFolder, emit_json, named, refuse_json, say, working
from merilo.cli.study_options import (
    COLUMNS,
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
    PlatformOption,
    RecodeOption,
    SkillsOption,
)
from merilo.datasets import dataset
from merilo.people import platforms
from merilo.people.audit.revision import read_revisions, revise
from merilo.people.audit.study_audit import audit_study
from merilo.people.controls import read_skills
from merilo.people.decision import Resolve
from merilo.people.duplicates import Repeats
from merilo.people.platforms import Columns
from merilo.people.recoding import read_recoding, recoding_files
from merilo.people.recoding import recode as recode_answers
from merilo.reports.audit import audit_summary, contested_table, findings_table
from merilo.strict_json import Json, as_text

app = typer.Typer(add_completion=False)

_PROCEDURE = "Procedure of the figure before and after revision"


@app.command()
def audit(
    files: Exports,
    *,
    platform: PlatformOption = None,
    dataset_name: DatasetOption = None,
    gold: GoldOption = None,
    gold_column: GoldColumnOption = None,
    revised: Annotated[Path | None, typer.Option(help="Items with a new gold (the list of --out, filled in, will do): the figure is scored again, before and after.", rich_help_panel=INPUT)] = None,
    answer: AnswerOption = None,
    recode: RecodeOption = None,
    skills: SkillsOption = None,
    encoding: EncodingOption = None,
    choice: Annotated[bool | None, typer.Option("--choice/--open", help="Whether answers are a choice among labels, of which none is another one mistyped, or typed freely; by default a choice up to five labels.", rich_help_panel=INPUT)] = None,
    metric: Annotated[str | None, typer.Option(help="The main metric; the dataset's own when not given, and without a dataset acc (or em, f1, f1_macro, mcc).", rich_help_panel=_PROCEDURE)] = None,
    alternatives: Annotated[str | None, typer.Option(help="What divides several right answers inside a gold cell, where no dataset says it.", metavar="TEXT", rich_help_panel=_PROCEDURE)] = None,
    min_control_accuracy: Annotated[float, typer.Option(help="Annotators below it on control items are excluded from the figure.", rich_help_panel=_PROCEDURE)] = 0.5,
    min_controls: Annotated[int, typer.Option(help="With fewer control answers an annotator cannot be judged and is kept.", rich_help_panel=_PROCEDURE)] = 1,
    min_votes: Annotated[str, typer.Option(metavar="majority|N", help="How many equal votes make a majority: more than half of the overlap, or a number.", rich_help_panel=_PROCEDURE)] = "majority",
    resolve: Annotated[Resolve, typer.Option(help="Items without a majority, as in merilo baseline.", rich_help_panel=_PROCEDURE)] = "cascade",
    repeats: Annotated[Repeats, typer.Option(help="An annotator's second, different answer to an item.", rich_help_panel=_PROCEDURE)] = "refuse",
    item: ItemOption = None,
    annotator: AnnotatorOption = None,
    control: ControlOption = None,
    page: Annotated[str | None, typer.Option(help="The column of pages: what was answered together.", rich_help_panel=COLUMNS)] = None,
    limit: Annotated[int, typer.Option(min=0, help="How many items to print; the files hold all.", rich_help_panel=OUTPUT)] = 20,
    out: Annotated[Path | None, typer.Option(help="A new folder for the list: audit.csv, to go through and give back with --revised, contested.csv (items without gold on which people disagree) and audit.json.", rich_help_panel=OUTPUT)] = None,
    force: ForceOption = False,
    json_to: JsonOption = None,
) -> int:  # fmt: skip
    """List the items whose gold is probably wrong, and tell typing errors from errors of the dataset."""
    inputs = [
        *files,
        *(path for path in (gold, revised, skills) if path),
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
        resolve=resolve,
        repeats=repeats,
    )
    columns = Columns(
        answer=answer,
        item=tuple(item or ()),
        annotator=annotator,
        control=control,
        page=page,
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
        known = gold_of(responses, declared, gold, gold_column, encoding, alternatives=alternatives)
    skilled = read_skills(skills, encoding) if skills else None
    with working(f"Making a baseline of {responses.table.height:,} answers"):
        before = baseline(responses, settings, dataset=declared, gold=known, skills=skilled)
    after, now, gold_now = None, before.responses, known
    changes = read_revisions(revised, responses, known, encoding) if revised else {}
    if changes:
        now, gold_now = revise(before.responses, known, changes)
        with working("Making the baseline after revision"):
            after = baseline(now, settings, dataset=declared, gold=gold_now, skills=skilled)
    closed = True if settings.labels else None
    with working("Comparing answers with gold"):
        study = audit_study(now, gold_now, choice=closed if choice is None else choice)
    options: dict[str, Json] = {
        "platform": platform, "dataset": dataset_name, "gold": named(gold), "gold_column": gold_column,
        "revised": named(revised), "answer": answer, "recode": list(recode or []), "skills": named(skills), "encoding": encoding,
        "metric": metric, "alternatives": alternatives, "min_control_accuracy": min_control_accuracy, "min_controls": min_controls,
        "min_votes": settings.min_votes, "resolve": resolve, "repeats": repeats, "item": list(item or []),
        "annotator": annotator, "control": control, "page": page,
    }  # fmt: skip
    command = command_line("audit", files, options, _DEFAULTS)
    made = provenance(
        command + ("" if choice is None else " --choice" if choice else " --open"),
        inputs,
        {**options, "choice": choice},
    )
    content = audit_summary(study, before, after, len(changes), made)
    if folder:
        with folder.filled() as hidden:
            findings_table(study).write_csv(hidden / "audit.csv")
            if study.audit.contested:
                contested_table(study).write_csv(hidden / "contested.csv")
            (hidden / "audit.json").write_text(as_text(content), encoding="utf-8")
    if not study.audit.golds:
        say(
            "no item has a gold: only the items on which people disagree can be listed (add --gold FILE to look for wrong golds)"
        )
    if json_to:
        emit_json(content, json_to)
    if json_to != "-":
        from merilo.cli.audit_table import show  # noqa: PLC0415 - the JSON needs no tables

        show(study, before, after, limit=limit, out=out)
    return 0


_DEFAULTS: dict[str, Json] = {
    "min_control_accuracy": 0.5,
    "min_controls": 1,
    "min_votes": "majority",
    "resolve": "cascade",
    "repeats": "refuse",
}
