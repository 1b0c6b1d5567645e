"""`merilo study`: design a study of human baselines; check its plan and freeze it; `study_answers` has its other commands."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, cast

import typer

from merilo.cli import study_answers, study_site
from merilo.cli.output import emit_json, refuse_json, say, working
from merilo.strict_json import Json

if TYPE_CHECKING:
    from merilo.studies.creation import CreatedStudy

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    help="A human baseline from its design on: create a study, freeze its plan, send it to a platform, import the answers.",
)

JsonOption = Annotated[
    str | None,
    typer.Option("--json", metavar="FILE|-", help="The result as one JSON object; - is standard output."),
]

_ITEMS = "Items"
_PEOPLE = "People"
_KNOWN = "Items with known answers"
_OUTPUT = "Output"


@app.command()
def create(
    data: Annotated[Path, typer.Argument(help="The dataset's items (JSON, JSONL, Parquet), or its folder.")],
    *,
    out: Annotated[Path, typer.Option(help="The new folder of the study.", rich_help_panel=_OUTPUT)],
    dataset: Annotated[str | None, typer.Option(help="A name of 'merilo datasets list', or the path of a declaration. Default: taken from the data.", rich_help_panel=_ITEMS)] = None,
    split: Annotated[str | None, typer.Option(help="The split of the items. Default: test.", rich_help_panel=_ITEMS)] = None,
    size: Annotated[int | None, typer.Option(help="How many items to draw. Default: all items if there are at most 3,000, otherwise 1,000.", rich_help_panel=_ITEMS)] = None,
    all_items: Annotated[bool, typer.Option("--all-items", help="Use all items, whatever the size of the dataset.", rich_help_panel=_ITEMS)] = False,
    per_domain: Annotated[int | None, typer.Option(help="Draw this number of items from each domain (the guide's draw for experts); the first --field is the domain.", rich_help_panel=_ITEMS)] = None,
    field: Annotated[list[str] | None, typer.Option(help="A field whose distribution the drawn items keep; may be given several times. Default: every field that can be kept.", rich_help_panel=_ITEMS)] = None,
    audience: Annotated[Literal["basic", "expert"] | None, typer.Option(help="Whom to ask. Default: taken from the dataset's knowledge skills.", rich_help_panel=_PEOPLE)] = None,
    overlap: Annotated[int, typer.Option(help="How many annotators answer an item.", rich_help_panel=_PEOPLE)] = 5,
    adaptive: Annotated[str | None, typer.Option(metavar="START:LIMIT[:SHARE]", help="Adaptive overlap, for studies on Merilo's own site: START people answer an item, more people up to LIMIT if they disagree; a random SHARE of the items (default: 0.1) gets LIMIT answers in any case. For example 3:5.", rich_help_panel=_PEOPLE)] = None,
    expert_overlap: Annotated[int | None, typer.Option(help="How many experts answer an item. Default: as --overlap.", rich_help_panel=_PEOPLE)] = None,
    items_per_page: Annotated[int, typer.Option(help="Tasks on a page, control items included.", rich_help_panel=_PEOPLE)] = 20,
    items_per_person: Annotated[int, typer.Option(help="Items per annotator, on average.", rich_help_panel=_PEOPLE)] = 50,
    pay_per_page: Annotated[float | None, typer.Option(help="Pay for a page.", rich_help_panel=_PEOPLE)] = None,
    expert_pay_per_page: Annotated[float | None, typer.Option(help="Pay for a page of an expert.", rich_help_panel=_PEOPLE)] = None,
    currency: Annotated[str, typer.Option(help="The currency's code.", rich_help_panel=_PEOPLE)] = "USD",
    time_limit: Annotated[float | None, typer.Option(help="Seconds for a task.", rich_help_panel=_PEOPLE)] = None,
    restriction: Annotated[list[str] | None, typer.Option(help="A rule in addition to the default ones, in one language, or in Russian and English with | between them; may be given several times.", rich_help_panel=_PEOPLE)] = None,
    controls: Annotated[Path | None, typer.Option(help="A file of items with known answers. Default: the dataset's shots.", rich_help_panel=_KNOWN)] = None,
    control_share: Annotated[float, typer.Option(help="The share of control items.", rich_help_panel=_KNOWN)] = 0.05,
    training: Annotated[Path | None, typer.Option(help="A file of training items, which annotators answer first, with feedback.", rich_help_panel=_KNOWN)] = None,
    expected: Annotated[float, typer.Option(help="The expected accuracy of the consensus.", rich_help_panel=_PEOPLE)] = 0.9,
    name: Annotated[str | None, typer.Option(help="The study's name. Default: the dataset's name.", rich_help_panel=_OUTPUT)] = None,
    seed: Annotated[int, typer.Option(min=0, help="The seed of every draw.", rich_help_panel=_ITEMS)] = 0,
    force: Annotated[bool, typer.Option("--force", help="Replace an existing --out.", rich_help_panel=_OUTPUT)] = False,
    json_to: JsonOption = None,
) -> int:  # fmt: skip
    """Make the folder of a study: plan, items, control items, instruction, and the computed plan. ruDetox gets three studies."""
    from merilo.api.study import StudyWishes, create_studies  # noqa: PLC0415 - NumPy is not needed for --help
    from merilo.atomic_write import refuse_existing  # noqa: PLC0415
    from merilo.studies.pair_judging import JUDGED  # noqa: PLC0415

    inputs = [data, *(path for path in (controls, training) if path is not None)]
    refuse_existing(out, force=force, needed=inputs)
    refuse_json(json_to, inputs)
    wishes = StudyWishes(
        dataset=dataset, split=split, name=name, audience=audience, size=size, all_items=all_items,
        per_domain=per_domain, fields=tuple(field or ()), controls=controls, control_share=control_share,
        training=training, restrictions=tuple(restriction or ()), overlap=overlap, expert_overlap=expert_overlap, adaptive=adaptive,
        items_per_page=items_per_page, items_per_person=items_per_person, pay_per_page=pay_per_page,
        expert_pay_per_page=expert_pay_per_page, currency=currency, time_limit=time_limit, expected=expected, seed=seed,
    )  # fmt: skip
    with working("Making the study"):
        made = create_studies(data, out, wishes, force=force)
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
    from merilo.api.study import validate_study  # noqa: PLC0415 - NumPy is not needed for --help

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
    from merilo.api.study import freeze_study  # noqa: PLC0415 - NumPy is not needed for --help

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
