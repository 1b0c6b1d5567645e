"""`merilo study`: design a study of human baselines.

Check its plan and freeze it, send it to a platform, and compute its baseline.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import asdict
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from merilo.cli import study_site
from merilo.cli.options import (
    ArmOption,
    BaselineFolder,
    ComparedModels,
    DetailsOption,
    ForceOption,
    JsonOption,
    LanguageOption,
    MediaOption,
    StudyArgument,
    takes_settings,
)
from merilo.cli.output import check_places, deliver, say, working
from merilo.errors import for_command_line
from merilo.settings import OUTPUT, CreateSettings, InputSettings, Platform
from merilo.studies.study_folder import StudyFolder, changes_since_freeze, open_study
from merilo.wording import counted_noun, listed

if TYPE_CHECKING:
    from merilo.cli.output import Part
    from merilo.site.offline_pages import ExportedPages
    from merilo.studies.platform_files import ExportedStudy

#: The page of the guide that a command's help names.
_DESIGN, _PLATFORMS = "Guide: docs/studies.md", "Guide: docs/study-platforms.md"

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    help="A human baseline from its design on: create a study, freeze its plan, send it to a platform, "
    "import the answers.",
)


@app.command(epilog=_DESIGN)
@takes_settings(of=CreateSettings)
def create(
    data: Annotated[
        Path,
        typer.Argument(
            help="The dataset's items (JSON, JSONL, Parquet), its declaration (YAML), or its folder."
        ),
    ],
    *,
    settings: CreateSettings,
    out: Annotated[Path, typer.Option(help="The new folder of the study.", rich_help_panel=OUTPUT)],
    force: ForceOption = False,
    json_to: JsonOption = None,
) -> int:
    """Make the folder of a study: plan, items, control items, instruction, and the computed plan.

    Edit study.yaml for all other decisions: pay, overlap, time limit, rules. For ruDetox it makes three studies.
    """
    from merilo.cli.study_table import created_parts  # noqa: PLC0415 - NumPy is not needed for --help
    from merilo.studies.creation import create_studies  # noqa: PLC0415

    check_places([data, settings.controls, settings.training], json_to, out, force=force)
    with working("Making the study"):
        created = create_studies(data, out, settings, force=force)
    for project, study in created.items():
        for warning in study.warnings:
            say(f"warning: {project}: {warning}" if project else f"warning: {warning}")
    content = {project: study.to_dict() for project, study in created.items()}

    parts: list[Part] = [part for study in created.values() for part in created_parts(study)]
    if "" not in created:
        parts.append(
            f"People judge pairs in {len(created)} studies. When all have their answers, docs/rudetox.md selects "
            "the pairs that all accept."
        )
    deliver(json_to, lambda: content.get("") or {"studies": {**content}}, parts)
    return 0


@app.command(epilog=_DESIGN)
def validate(study: StudyArgument, *, json_to: JsonOption = None) -> int:
    """Check a study's plan and files, list all problems with their lines, and show the computed plan.

    Exit status 1: there are problems.
    """
    from merilo.cli.study_table import check_parts  # noqa: PLC0415 - NumPy is not needed for --help
    from merilo.studies.plan_checks import validate_study  # noqa: PLC0415

    check_places([study], json_to)
    with working("Checking the study"):
        check = validate_study(study)
    deliver(
        json_to,
        lambda: {
            "valid": check.valid,
            "problems": [
                {**asdict(problem.place), "message": for_command_line(problem.marked)}
                for problem in check.problems
            ],
            "warnings": list(check.warnings),
            "plan": check.figures.to_json() if check.figures else None,
        },
        check_parts(check, study),
    )
    return 0 if check.valid else 1


@app.command(epilog=_DESIGN)
def freeze(
    study: StudyArgument,
    *,
    date: Annotated[str | None, typer.Option(help="The date, YYYY-MM-DD. Default: today.")] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace the record of an earlier freeze.")] = False,
    yes: Annotated[
        bool, typer.Option("--yes", help="Freeze also a study by which no model can be told from people.")
    ] = False,
    json_to: JsonOption = None,
) -> int:
    """Record the date and the hash of the plan before answers are collected (a pre-registration).

    Exit status 1: the study has problems.
    """
    from merilo.studies.plan_checks import freeze_study  # noqa: PLC0415 - NumPy is not needed for --help

    check_places([study], json_to)
    frozen, check = freeze_study(
        study, day=date, force=force, agreed=lambda sentences: yes or _agrees(sentences)
    )
    for warning in check.warnings:
        say(f"warning: {warning}")
    files = counted_noun(len(frozen.files), "file", "files")
    message = f"{study}: the plan is frozen on {frozen.date}; {files}, hash {frozen.hash}"
    deliver(
        json_to,
        lambda: {"date": frozen.date, "hash": frozen.hash, "files": dict(frozen.files)},
        [*(check.figures.verdicts if check.figures else ()), message],
    )
    return 0


def _agrees(sentences: Sequence[str]) -> bool:
    """Ask the author whether to freeze a study without a verdict; without a terminal, nobody agrees."""
    if not sys.stdin.isatty():
        return False
    for sentence in sentences:
        say(sentence)
    return typer.confirm("Freeze this plan nevertheless?", err=True)


@app.command("export", epilog=_PLATFORMS)
def export_(
    study: StudyArgument,
    *,
    platform: Annotated[
        Literal[Platform, "page"],
        typer.Option(
            help="The platform; page: a file for each place of the study, which works without a network."
        ),
    ],
    out: Annotated[Path, typer.Option(help="A new folder for the platform's files.")],
    arm: ArmOption = None,
    language: LanguageOption = None,
    media_url: MediaOption = "",
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
    from merilo.cli.study_table import export_parts, page_parts  # noqa: PLC0415 - the help needs no writers
    from merilo.studies.platform_files import export_study  # noqa: PLC0415
    from merilo.studies.study_tasks import AUTHOR_FIELDS  # noqa: PLC0415

    folder = open_study(study)
    check_places([study], json_to, out, force=force)
    if platform == "page":
        pages = _export_pages(folder, out, arm, language, expert or (), domain or (), force=force)
        deliver(json_to, pages.to_dict, page_parts(pages, out))
        return 0
    export = export_study(
        folder, platform, out, arm=arm, language=language, media_url=media_url, experts=expert or (),
        domains=domain or (), force=force,
    )  # fmt: skip
    _warn_unfrozen(folder)
    if export.author_field is None and folder.plan.arms[export.arm].skip_own:
        say(
            f"the authors of the items are not known (no field of meta is called {listed(AUTHOR_FIELDS)}), so every "
            "expert gets all items and marks their own"
        )
    _name_strangers(folder, export)
    deliver(json_to, export.to_dict, export_parts(export, out))
    return 0


def _name_strangers(folder: StudyFolder, export: ExportedStudy) -> None:
    """Name the experts whom no item names as its author: a misspelled name would leave nothing out."""
    from merilo.studies.study_tasks import authors_of  # noqa: PLC0415 - slow

    authors = sorted({name for item in folder.items() for name in authors_of(item, export.author_field)})
    for sheet in export.sheets:
        if sheet.respondent and sheet.respondent not in authors:
            near = get_close_matches(sheet.respondent, authors, 1)
            hint = f": did you mean '{near[0]}'?" if near else ""
            say(f"no item names '{sheet.respondent}' as its author, so this sheet leaves no item out{hint}")


def _export_pages(
    folder: StudyFolder,
    out: Path,
    arm: str | None,
    language: str | None,
    experts: Sequence[str],
    domains: Sequence[str],
    *,
    force: bool,
) -> ExportedPages:
    from merilo.site.offline_pages import export_pages  # noqa: PLC0415 - slow
    from merilo.site.served_study import load_study  # noqa: PLC0415

    served = load_study(folder, folder.arm(arm)[0])
    return export_pages(served, out, language=language, experts=experts, domains=domains, force=force)


@app.command("import", epilog=_PLATFORMS)
@takes_settings("platform", of=InputSettings, into="source")
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
    source: InputSettings,
    encoding: Annotated[
        str | None,
        typer.Option(
            help="The files' encoding, if it is not UTF-8 and has no byte-order mark.", metavar="NAME"
        ),
    ] = None,
    json_to: JsonOption = None,
) -> int:
    """Import a platform's files into a study. A file that was imported before changes nothing."""
    from merilo.cli.study_table import import_parts  # noqa: PLC0415 - the help needs no readers
    from merilo.studies.study_import import import_files  # noqa: PLC0415

    folder = open_study(study)
    check_places([study, *(files or ())], json_to)
    with working("Importing"):
        imported = import_files(folder, files or (), platform=source.platform, encoding=encoding)
    _warn_unfrozen(folder)
    for name in imported.known:
        say(f"{name}: was imported before and changes nothing")
    for warning in imported.warnings:
        say(f"warning: {warning}")
    deliver(json_to, imported.to_dict, import_parts(imported))
    return 0


@app.command(epilog=_PLATFORMS)
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
    check_places([study], json_to)
    with working("Reading the answers"):
        progress = study_status(folder, arm=arm, estimate=show_estimate)
    if (folder.path / "site.db").is_file():
        say(
            "these are imported answers: 'merilo study collect' and 'merilo study import' add those on the site, and "
            "the author's page shows them"
        )
    if progress.estimate:
        say("the estimate is not final: stopping a study because of it biases the result")
    deliver(json_to, progress.to_dict, progress.parts())
    return 0


@app.command("baseline", epilog=_PLATFORMS)
def baseline_(
    study: StudyArgument,
    *,
    arm: ArmOption = None,
    model: ComparedModels = None,
    out: BaselineFolder = None,
    force: ForceOption = False,
    details: DetailsOption = False,
    json_to: JsonOption = None,
) -> int:
    """Make the baseline of a study with the settings of its frozen plan.

    Exit status 1: the baseline was made and must be rejected.
    """
    from merilo.cli.baseline import finish  # noqa: PLC0415 - slow
    from merilo.reports.study_baseline import study_baseline  # noqa: PLC0415

    folder = open_study(study)
    check_places([study, *(model or ())], json_to, out, force=force)
    _warn_unfrozen(folder)
    for change in changes_since_freeze(folder.path):
        if change.decision:
            say(f"differs from the frozen plan, whose settings are used: {change}")
    with working("Making the baseline"):
        baseline = study_baseline(folder, arm=arm, models=model or ())
    return finish(baseline, out, force=force, details=details, json_to=json_to)


def _warn_unfrozen(folder: StudyFolder) -> None:
    if not folder.frozen:
        say("the plan is not frozen: 'merilo study freeze' records it before answers are collected")


# The commands of the annotation site: serve, invite, collect, backup.
app.registered_commands += study_site.app.registered_commands
