"""`merilo datasets`: show dataset declarations; validate, generate and download dataset files."""

from __future__ import annotations

import sys
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, cast

import typer

from merilo.cli.datasets_table import print_declaration, print_list
from merilo.datasets import CATALOGUE, dataset
from merilo.datasets.declaration import Dataset
from merilo.items import Split, write_splits
from merilo.models.task_export import TaskFormat
from merilo.strict_json import Json

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    help="List the datasets, show one, validate files, generate items, download from the hub.",
)

JsonOption = Annotated[
    str | None,
    typer.Option(
        "--json", metavar="FILE|-", help="Write the result as one JSON object; - is standard output."
    ),
]


@app.command("list")
def list_(*, json: JsonOption = None) -> int:
    """List the datasets with their metrics, sizes and published human scores."""
    declared = list(CATALOGUE.values())
    if json is None:
        print_list(declared)
    else:
        _emit({"datasets": [_as_json(one) for one in declared]}, json)
    return 0


@app.command()
def show(
    name: Annotated[str, typer.Argument(help="A dataset's name, or the path of a YAML declaration.")],
    *,
    json: JsonOption = None,
) -> int:
    """Show a dataset's declaration: fields, answers, metrics, shots, prompts, human scores and their provenance."""
    declared = dataset(name)
    if json is None:
        print_declaration(declared)
    else:
        _emit(_as_json(declared), json)
    return 0


@app.command()
def validate(
    path: Annotated[Path, typer.Argument(help="A dataset's folder, or one file of items.")],
    *,
    name: Annotated[
        str | None,
        typer.Option(
            "--dataset", help="The dataset, if it cannot be recognised by the name of the file or folder."
        ),
    ] = None,
    json: JsonOption = None,
) -> int:
    """Check a dataset's files against the rules, and list each kind of problem with its first file and JSON path.

    --json lists all. Exit status 1: there are problems.
    """
    from merilo.datasets.validation import validate as check  # noqa: PLC0415 - the other commands need no rules
    from merilo.datasets.validation.folder import grouped  # noqa: PLC0415

    report = check(path, None if name is None else dataset(name))
    if json is not None:
        _emit(
            {
                "valid": report.valid,
                "files": list(report.files),
                "items": dict(report.items),
                "problems": [cast("Json", asdict(problem)) for problem in report.problems],
                "notes": [cast("Json", asdict(note)) for note in report.notes],
            },
            json,
        )
        return 0 if report.valid else 1
    for note in grouped(report.notes):
        sys.stdout.write(f"note: {note}\n")
    for problem in grouped(report.problems):
        sys.stdout.write(f"{problem}\n")
    counted = ", ".join(f"{count} in {split}" for split, count in report.items.items()) or "none"
    found = len(report.problems)
    verdict = "valid" if report.valid else f"invalid: {found} problem{'' if found == 1 else 's'}"
    sys.stdout.write(
        f"{path}: {verdict} (items: {counted}; files: {len(report.files)}; notes: {len(report.notes)})\n"
    )
    return 0 if report.valid else 1


@app.command()
def generate(
    name: Annotated[str, typer.Argument(help="bps, lcs, rumodar, rumultiar or simplear.")],
    *,
    seed: Annotated[
        int, typer.Option(help="The random seed. The same seed gives the same file, byte for byte.")
    ],
    out: Annotated[
        Path, typer.Option(help="The file to write (.json, .jsonl, .parquet), or a folder for NAME.json.")
    ],
    size: Annotated[
        int | None, typer.Option(help="How many items. Default: as many as in the benchmark's test.")
    ] = None,
    shots: Annotated[int, typer.Option(help="How many solved items to add as shots; JSON only.")] = 0,
    force: Annotated[bool, typer.Option("--force", help="Replace an existing file.")] = False,
) -> int:
    """Generate any number of items for a dataset whose answers can be computed."""
    from merilo.datasets.generators import generate_splits  # noqa: PLC0415 - the other commands make no items

    declared = dataset(name)
    place = _file(out, declared)
    count = size if size is not None else max(declared.sizes.values(), default=1)
    _refuse_existing(place, force=force)
    _write(place, generate_splits(declared.name, count, seed, shots=shots))
    return 0


@app.command()
def pull(
    name: Annotated[str, typer.Argument(help="The dataset's name.")],
    *,
    out: Annotated[
        Path | None,
        typer.Option(help="The file to write, or a folder for NAME.json. Default: the current folder."),
    ] = None,
    source: Annotated[
        str, typer.Option(help="A repository of the hub, or a local folder with the same layout.")
    ] = "MERA-evaluation/MERA",
    revision: Annotated[str | None, typer.Option(help="A commit, branch or tag of the repository.")] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace an existing file.")] = False,
) -> int:
    """Download a dataset from the Hugging Face hub into a JSON file."""
    from merilo.datasets.hub import pull as load  # noqa: PLC0415 - only this command uses the network

    declared = dataset(name)
    place = _file(Path() if out is None else out, declared)
    _refuse_existing(place, force=force)
    splits = load(declared, source=source, revision=revision)
    _write(place, splits)
    return 0


@app.command()
def export(
    name: Annotated[str, typer.Argument(help="A dataset's name, or the path of a YAML declaration.")],
    *,
    form: Annotated[TaskFormat, typer.Option("--format", help="The harness that runs the task.")],
    out: Annotated[Path, typer.Option(help="The new folder of the task.")],
    data: Annotated[
        Path | None,
        typer.Option(help="The items, with solved items for shots. Default: the items included in Merilo."),
    ] = None,
    shots: Annotated[
        int | None,
        typer.Option(help="Solved items before each question. Default: as many as the dataset declares."),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="The random seed of the choice of solved items.")] = 0,
    chat: Annotated[
        bool,
        typer.Option(
            "--chat",
            help="For chat models: answers are generated, without stop strings. Inspect's tasks are always for them.",
        ),
    ] = False,
    force: Annotated[bool, typer.Option("--force", help="Replace an existing folder.")] = False,
) -> int:
    """Write a task that lm-eval or Inspect runs with the prompts, solved items and metrics of 'merilo run'.

    Dialogues (ruTiE), programs and the metric J cannot be expressed; exit status 2.
    """
    from merilo.models.task_export.task_folder import (  # noqa: PLC0415 - the other commands render no prompts
        export_task,
        needs_merilo,
    )

    _refuse_existing(out, force=force)
    material, command = export_task(
        name, form=form, out=out, data=data, shots=shots, seed=seed, chat=chat, force=force
    )
    needed = (
        "Merilo must be installed where it runs"
        if needs_merilo(material, form)
        else "it needs no Merilo where it runs"
    )
    sys.stderr.write(
        f"merilo: {out} holds the task {material.name} with {len(material.rows)} items; {needed}\n"
    )
    if not material.metrics:
        sys.stderr.write(
            "merilo: the items have no gold answers, so the task only tells which answers can be read\n"
        )
    sys.stdout.write(f"{command}\n")
    return 0


def _file(out: Path, declared: Dataset) -> Path:
    """Return the file to write. In a folder it is named after the dataset, as other commands expect."""
    return out / f"{declared.name}.json" if out.is_dir() or not out.suffix else out


def _write(place: Path, splits: list[Split]) -> None:
    write_splits(place, splits)
    counted = ", ".join(
        f"{len(split)} {'item' if len(split) == 1 else 'items'} in {split.name}" for split in splits
    )
    sys.stderr.write(f"merilo: {place} holds {counted}\n")


def _refuse_existing(place: Path, *, force: bool) -> None:
    from merilo.atomic_write import refuse_existing  # noqa: PLC0415 - imports Polars

    refuse_existing(place, force=force)


def _as_json(declared: Dataset) -> dict[str, Json]:
    """Return a declaration as JSON, with the values derived from it."""
    from merilo.datasets.rendering import bare_forms, prompts  # noqa: PLC0415 - the table of 'list' shows no prompts

    content = cast("dict[str, Json]", asdict(declared))
    content["expert"] = declared.expert
    content["bare"] = dict(bare_forms(declared))
    content["prompts"] = {group: list(texts) for group, texts in prompts(declared).items()}
    return content


def _emit(content: dict[str, Json], where: str) -> None:
    from merilo.cli.output import emit_json  # noqa: PLC0415 - imports Polars, which tables do not need

    emit_json(content, where)
