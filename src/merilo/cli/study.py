"""`merilo study`: design a study of human baselines; check its plan and freeze it; `study_answers` has its other commands."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer

from merilo.cli import study_answers, study_site
from merilo.cli.output import emit_json, refuse_json, say, working
from merilo.cli.procedure_options import takes_settings
from merilo.cli.study_options import OUTPUT, ForceOption, JsonOption
from merilo.strict_json import Json
from merilo.studies.plan_types import StudyWishes

if TYPE_CHECKING:
    from merilo.studies.creation import CreatedStudy

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    help="A human baseline from its design on: create a study, freeze its plan, send it to a platform, import the answers.",
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
    """Make the folder of a study: plan, items, control items, instruction, and the computed plan. ruDetox gets three studies."""
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
    content = {project: _created(study) for project, study in made.items()}
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
def validate(
    study: Annotated[Path, typer.Argument(help="The study's folder.")], *, json_to: JsonOption = None
) -> int:
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
    study: Annotated[Path, typer.Argument(help="The study's folder.")],
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


def _created(made: CreatedStudy) -> dict[str, Json]:
    largest = made.subset.largest_deviation
    controls = made.controls
    return {
        "study": made.folder.plan.study,
        "folder": str(made.folder.path),
        "audience": made.source.audience,
        "audience_from": made.source.audience_from,
        "items": {"asked": len(made.subset.items), "of": made.subset.section.of},
        "largest_deviation": None
        if largest is None
        else {"field": largest.field, "value": largest.value, "points": round(largest.deviation, 4)},
        "fields": [field.name for field in made.subset.fields],
        "fields_not_kept": {field.name: field.reason for field in made.subset.dropped},
        "controls": None
        if controls is None
        else {
            "items": len(controls.items),
            "wanted": controls.wanted,
            "checked": controls.check.checked,
            "alike": controls.check.alike,
            "auc": cast(
                "Json",
                {
                    feature.name: {
                        "value": round(feature.auc, 4),
                        "interval": [round(feature.interval.low, 4), round(feature.interval.high, 4)],
                        "level": round(feature.interval.level, 6),
                    }
                    for feature in controls.check.features
                },
            ),
        },
        "examples": {"items": len(made.examples.items), "not_shown": list(made.examples.uncovered)},
        "plan": made.figures.as_json(),
        "warnings": list(made.warnings),
    }


# The commands about the answers: export, import, status, baseline.
app.registered_commands += study_answers.app.registered_commands
# The commands of the annotation site: serve, invite, collect, backup.
app.registered_commands += study_site.app.registered_commands
