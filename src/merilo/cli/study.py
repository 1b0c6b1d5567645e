"""`merilo study`: design a study of human baselines.

Check its plan and freeze it, send it to a platform, and compute its baseline.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from merilo.atomic_write import write_files
from merilo.cli import study_site
from merilo.cli.output import OutFolder, emit_json, refuse_json, say, working
from merilo.cli.procedure_options import takes_settings
from merilo.cli.study_options import (
    OUTPUT,
    AnonymiseOption,
    ArmOption,
    DetailsOption,
    EncodingOption,
    ForceOption,
    JsonOption,
    StudyArgument,
)
from merilo.errors import UsageError
from merilo.people.platforms import Platform
from merilo.studies.plan_types import StudyWishes
from merilo.studies.study_folder import StudyFolder, open_study

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    help="A human baseline from its design on: create a study, freeze its plan, send it to a platform, "
    "import the answers.",
)


@app.command()
@takes_settings(of=StudyWishes)
def create(
    data: Annotated[Path, typer.Argument(help="The dataset's items (JSON, JSONL, Parquet), or its folder.")],
    *,
    settings: StudyWishes,
    out: Annotated[Path, typer.Option(help="The new folder of the study.", rich_help_panel=OUTPUT)],
    force: ForceOption = False,
    json_to: JsonOption = None,
) -> int:
    """Make the folder of a study: plan, items, control items, instruction, and the computed plan.

    For ruDetox it makes three studies.
    """
    from merilo.atomic_write import refuse_existing  # noqa: PLC0415 - NumPy is not needed for --help
    from merilo.studies.creation import create_studies  # noqa: PLC0415
    from merilo.studies.study_source import JUDGED  # noqa: PLC0415

    inputs = [data, *(path for path in (settings.controls, settings.training) if path is not None)]
    refuse_existing(out, force=force, needed=inputs)
    refuse_json(json_to, inputs)
    with working("Making the study"):
        made = create_studies(data, out, settings, force=force)
    for project, study in made.items():
        for warning in study.warnings:
            say(f"warning: {project}: {warning}" if project else f"warning: {warning}")
    content = {project: study.to_dict() for project, study in made.items()}
    if json_to:
        emit_json(content.get("") or {"studies": {**content}}, json_to)
    if json_to != "-":
        from merilo.cli.study_table import show_created  # noqa: PLC0415 - the JSON needs no tables

        for study in made.values():
            show_created(study)
        if "" not in made:
            asked = " ".join(f"--files {project}={out / project}" for project in made)
            sys.stdout.write(
                f"People judge {len(made)} studies. When all have their answers: merilo recipe run {JUDGED} {asked}\n"
            )
    return 0


@app.command()
def validate(study: StudyArgument, *, json_to: JsonOption = None) -> int:
    """Check a study's plan and files, list all problems with their lines, and show the computed plan.

    Exit status 1: there are problems.
    """
    from merilo.studies.plan_checks import validate_study  # noqa: PLC0415 - NumPy is not needed for --help

    refuse_json(json_to, [study])
    with working("Checking the study"):
        check = validate_study(study)
    if json_to:
        emit_json(
            {
                "valid": check.valid,
                "problems": [
                    {"file": one.file, "line": one.row, "field": one.field, "message": one.message}
                    for one in check.problems
                ],
                "warnings": list(check.warnings),
                "plan": check.figures.as_json() if check.figures else None,
            },
            json_to,
        )
    if json_to != "-":
        from merilo.cli.study_table import show_plan_figures  # noqa: PLC0415 - the JSON needs no tables

        if check.valid and check.study is not None and check.figures is not None:
            show_plan_figures(check.study.plan, check.figures)
        for warning in check.warnings:
            sys.stdout.write(f"warning: {warning}\n")
        for problem in check.problems:
            sys.stdout.write(f"{problem}\n")
        count = len(check.problems)
        verdict = "valid" if check.valid else f"invalid: {count} problem{'' if count == 1 else 's'}"
        sys.stdout.write(f"{study}: {verdict}\n")
    return 0 if check.valid else 1


@app.command()
def freeze(
    study: StudyArgument,
    *,
    date: Annotated[str | None, typer.Option(help="The date, YYYY-MM-DD. Default: today.")] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace the record of an earlier freeze.")] = False,
    json_to: JsonOption = None,
) -> int:
    """Record the date and the hash of the plan before answers are collected (a pre-registration).

    Exit status 1: the study has problems.
    """
    from merilo.studies.plan_checks import freeze_study  # noqa: PLC0415 - NumPy is not needed for --help

    refuse_json(json_to, [study])
    with working("Freezing the plan"):
        frozen, check = freeze_study(study, day=date, force=force)
    for warning in check.warnings:
        say(f"warning: {warning}")
    if json_to:
        emit_json({"date": frozen.date, "hash": frozen.hash, "files": dict(frozen.files)}, json_to)
    if json_to != "-":
        sys.stdout.write(
            f"{study}: the plan is frozen on {frozen.date}; {len(frozen.files)} files, hash {frozen.hash}\n"
        )
    return 0


@app.command("export")
def export_(
    study: StudyArgument,
    *,
    platform: Annotated[Platform, typer.Option(help="The platform.")],
    out: Annotated[Path, typer.Option(help="A new folder for the platform's files.")],
    arm: ArmOption = None,
    language: Annotated[
        str | None,
        typer.Option(metavar="ru|en", help="The language of the instruction. Default: the plan's first."),
    ] = None,
    media_url: Annotated[
        str, typer.Option(metavar="URL", help="The URL of the folder samples/, for images, audio and video.")
    ] = "",
    author_field: Annotated[
        str | None,
        typer.Option(
            metavar="FIELD",
            help="The field of meta with an item's authors. Default: author, authors, created_by, expert "
            "or annotator.",
        ),
    ] = None,
    expert: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="An expert who gets a sheet without their own items; may be given several times. "
            "Default: all authors.",
        ),
    ] = None,
    domain: Annotated[
        list[str] | None,
        typer.Option(
            metavar="DOMAIN",
            help="A domain whose items are written; may be given several times. Default: those in which "
            "the expert wrote items.",
        ),
    ] = None,
    force: ForceOption = False,
    json_to: JsonOption = None,
) -> int:
    """Write a study's tasks, control items, training and instruction in the format of a platform.

    The gold answers of the test are never exported. The known answers of control items are exported only for Toloka.
    """
    from merilo.studies.study_export import export_study  # noqa: PLC0415 - the help needs no writers

    folder = open_study(study)
    refuse_json(json_to, _files(folder))
    OutFolder.checked(out, force=force, needed=_files(folder))
    made = export_study(
        folder, platform, out, arm=arm, language=language, media_url=media_url, author_field=author_field,
        experts=expert or (), domains=domain or (), force=force,
    )  # fmt: skip
    _warn_unfrozen(folder)
    if made.author_field is None and folder.plan.arms[made.arm].skip_own:
        say(
            "the authors of the items are not known, so every expert gets all items and marks "
            "their own: name the field of meta "
            "with --author-field"
        )
    if json_to:
        emit_json(made.to_dict(), json_to)
    if json_to != "-":
        from merilo.cli.study_table import show_export  # noqa: PLC0415 - the JSON needs no tables

        show_export(made, out)
    return 0


@app.command("import")
def import_(
    study: StudyArgument,
    files: Annotated[
        list[Path] | None,
        typer.Argument(
            help="Files that the platform exported. Default: compute the answers again from those imported "
            "before."
        ),
    ] = None,
    *,
    platform: Annotated[
        Platform | None, typer.Option(help="The platform of the files. Default: recognised by their header.")
    ] = None,
    encoding: EncodingOption = None,
    json_to: JsonOption = None,
) -> int:
    """Import a platform's files into a study. A file that was imported before changes nothing."""
    from merilo.studies.collected import import_files  # noqa: PLC0415 - the help needs no readers

    folder = open_study(study)
    refuse_json(json_to, [*_files(folder), *(files or ())])
    with working("Importing"):
        made = import_files(folder, files or (), platform=platform, encoding=encoding)
    _warn_unfrozen(folder)
    for name in made.known:
        say(f"{name}: was imported before and changes nothing")
    if json_to:
        emit_json(made.to_dict(), json_to)
    if json_to != "-":
        from merilo.cli.study_table import show_import  # noqa: PLC0415 - the JSON needs no tables

        show_import(made)
    return 0


@app.command()
def status(
    study: StudyArgument,
    *,
    arm: ArmOption = None,
    show_estimate: Annotated[
        bool,
        typer.Option(
            "--show-estimate",
            help="Also show the main metric so far. Stopping a study because of it biases the result.",
        ),
    ] = False,
    json_to: JsonOption = None,
) -> int:
    """Show the progress of a study: answers, missing overlap, annotators, agreement, speed and pay."""
    from merilo.reports.study_status import study_status  # noqa: PLC0415 - slow

    folder = open_study(study)
    refuse_json(json_to, _files(folder))
    with working("Reading the answers"):
        found = study_status(folder, arm=arm, estimate=show_estimate)
    if (folder.path / "site.db").is_file():
        say(
            "these are imported answers: 'merilo study collect' and 'merilo study import' add "
            "those on the site, and the author's "
            "pages show them at once"
        )
    if found.estimate:
        say("the estimate is not final: stopping a study because of it biases the result")
    if json_to:
        emit_json(found.to_dict(), json_to)
    if json_to != "-":
        from merilo.cli.study_table import show_status  # noqa: PLC0415 - the JSON needs no tables

        show_status(found)
    return 0


@app.command("baseline")
def baseline_(
    study: StudyArgument,
    *,
    arm: ArmOption = None,
    model: Annotated[
        list[Path] | None,
        typer.Option(
            help="A model's answers (id, answer, sample), or the log of another harness; may be given "
            "several times."
        ),
    ] = None,
    common_items: Annotated[
        bool,
        typer.Option(
            "--common-items",
            help="If a model did not answer all items, compare on the items that both answered.",
        ),
    ] = False,
    margin: Annotated[
        float | None,
        typer.Option(
            help="The largest difference from a model that counts as none, for the verdict 'at human "
            "level'. Default: that of the study's frozen plan."
        ),
    ] = None,
    out: Annotated[Path | None, typer.Option(help="A new folder for the report and all tables.")] = None,
    anonymise: AnonymiseOption = False,
    force: ForceOption = False,
    details: DetailsOption = False,
    json_to: JsonOption = None,
) -> int:
    """Make the baseline of a study with the settings of its frozen plan.

    Exit status 1: the baseline was made and must be rejected.
    """
    from merilo.reports.study_baseline import frozen_plan, study_baseline  # noqa: PLC0415 - slow
    from merilo.studies.study_export import arm_of  # noqa: PLC0415 - the same

    study_folder = open_study(study)
    name, group = arm_of(study_folder, arm)
    folder = OutFolder.checked(out, force=force, needed=[*_files(study_folder), *(model or [])])
    refuse_json(json_to, [*_files(study_folder), *(model or [])])
    if margin is not None and not model:
        raise UsageError("--margin is for a comparison with models: give --model FILE")
    _warn_unfrozen(study_folder)
    _warn_changes(study_folder)
    if frozen_plan(study_folder).arms.get(name, group).skip_own:
        if model:
            raise UsageError(
                f"models are compared with people, not with the arm '{name}' that skips its own items",
                field="--model",
            )
        return _experts(study_folder, name, folder, json_to)
    with working("Making the baseline"):
        made = study_baseline(
            study_folder,
            arm=name,
            models=model or (),
            common_items=common_items,
            margin=margin,
            anonymise=anonymise,
        )
        content = (
            made.save(folder.path, force=folder.force)
            if folder
            else made.to_dict()
            if json_to or model
            else {}
        )
    for warning in (*made.details.warnings, *made.details.reasons):
        say(str(warning))
    if json_to:
        emit_json(content, json_to)
    if json_to != "-":
        from rich.console import Console  # noqa: PLC0415 - the JSON needs no tables

        from merilo.errors import for_command_line  # noqa: PLC0415
        from merilo.reports.baseline_table import table  # noqa: PLC0415

        console = Console(highlight=False)
        console.print(table(made.without_quality, for_command_line, details=details))
        if out:
            console.print(f"The report: {out / 'report.html'}", soft_wrap=True, markup=False)
        if made.comparisons:
            from merilo.cli.compare_table import show_tests as show_models  # noqa: PLC0415 - the same

            show_models(made.comparisons, made.details.declaration.metrics[0])
    return 1 if made.status == "rejected" else 0


def _experts(study: StudyFolder, arm: str, folder: OutFolder | None, json_to: str | None) -> int:
    """The baseline of experts who skip their own questions."""
    from merilo.reports.study_baseline import expert_study  # noqa: PLC0415 - only expert tests need it

    with working("Making the experts' baseline"):
        made = expert_study(study, arm=arm)
    if folder:
        with folder.filled() as hidden:
            write_files(hidden, made.to_files())
    if json_to:
        emit_json(made.summary, json_to)
    if json_to != "-":
        from merilo.cli.experts import show_baselines  # noqa: PLC0415 - the JSON needs no tables

        show_baselines(made.summary, folder.path if folder else None)
    return 0


def _files(folder: StudyFolder) -> list[Path]:
    """The files of a study that no output may replace."""
    return [path for path in folder.path.iterdir() if path.is_file()]


def _warn_unfrozen(folder: StudyFolder) -> None:
    if not folder.frozen:
        say("the plan is not frozen: 'merilo study freeze' records it before answers are collected")


def _warn_changes(folder: StudyFolder) -> None:
    from merilo.reports.study_baseline import plan_changes  # noqa: PLC0415 - slow

    for change in plan_changes(folder):
        say(f"differs from the frozen plan, whose settings are used: {change}")


# The commands of the annotation site: serve, invite, collect, backup.
app.registered_commands += study_site.app.registered_commands
