"""`merilo datasets`: show dataset declarations; validate, generate and download dataset files."""

from __future__ import annotations

import sys
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer

from merilo.atomic_write import refuse_existing
from merilo.cli.datasets_table import print_declaration, print_list
from merilo.cli.options import ForceOption, JsonOption
from merilo.cli.output import deliver, say, show
from merilo.datasets import CATALOGUE, dataset
from merilo.datasets.declaration import Dataset
from merilo.items import Split, write_splits
from merilo.models.task_export import TaskFormat
from merilo.strict_json import Json
from merilo.text import Text

if TYPE_CHECKING:
    from merilo.datasets.validation.folder import ValidationReport

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    help="List the datasets, show one, validate files, generate items, download from the hub.",
)


@app.command("list")
def list_(*, json_to: JsonOption = None) -> int:
    """List the datasets with their metrics, sizes and published human scores."""
    declared = list(CATALOGUE.values())
    deliver(json_to, lambda: {"datasets": [_as_json(one) for one in declared]}, partial(print_list, declared))
    return 0


@app.command("show")
def show_(
    name: Annotated[str, typer.Argument(help="A dataset's name, or the path of a YAML declaration.")],
    *,
    json_to: JsonOption = None,
) -> int:
    """Show a dataset's declaration: fields, answers, metrics, shots, prompts, human scores and their provenance."""
    declared = dataset(name)
    deliver(json_to, lambda: _as_json(declared), partial(print_declaration, declared))
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
    json_to: JsonOption = None,
) -> int:
    """Check a dataset's files against the rules, and list each kind of problem with its first file and JSON path.

    --json lists all. Exit status 1: there are problems.
    """
    from merilo.datasets.validation import validate as check  # noqa: PLC0415 - the other commands need no rules

    report = check(path, None if name is None else dataset(name))
    deliver(
        json_to,
        lambda: {
            "valid": report.valid,
            "files": list(report.files),
            "items": dict(report.items),
            "problems": [cast("Json", asdict(problem)) for problem in report.problems],
            "notes": [cast("Json", asdict(note)) for note in report.notes],
        },
        partial(_show_report, path, report),
    )
    return 0 if report.valid else 1


def _show_report(path: Path, report: ValidationReport) -> None:
    from merilo.datasets.validation.folder import grouped  # noqa: PLC0415 - the other commands need no rules

    show(*(Text("note: {text}", text=one) for one in grouped(report.notes)), *grouped(report.problems))
    counts = [Text("{n} in {split}", n=n, split=split) for split, n in report.items.items()]
    show(
        Text(
            "{path}: {verdict} (items: {counts}; files: {files}; notes: {notes})",
            path=path,
            verdict=Text("valid", context="files")
            if report.valid
            else Text("invalid: {n:# problem|# problems}", n=len(report.problems)),
            counts=counts or Text("none"),
            files=len(report.files),
            notes=len(report.notes),
        )
    )


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
    force: ForceOption = False,
) -> int:
    """Generate any number of items for a dataset whose answers can be computed."""
    from merilo.datasets.generators import generate_splits  # noqa: PLC0415 - the other commands make no items

    declared = dataset(name)
    place = _file(out, declared)
    count = size if size is not None else max(declared.sizes.values(), default=1)
    refuse_existing(place, force=force)
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
    force: ForceOption = False,
) -> int:
    """Download a dataset from the Hugging Face hub into a JSON file."""
    from merilo.datasets.ready_items import pull as load  # noqa: PLC0415 - only this command uses the network

    declared = dataset(name)
    place = _file(Path() if out is None else out, declared)
    refuse_existing(place, force=force)
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
    force: ForceOption = False,
) -> int:
    """Write a task that lm-eval or Inspect runs with the prompts, solved items and metrics of 'merilo run'.

    Dialogues (ruTiE), programs and the metric J cannot be expressed; exit status 2.
    """
    from merilo.models.task_export.task_folder import (  # noqa: PLC0415 - the other commands render no prompts
        export_task,
        needs_merilo,
    )

    refuse_existing(out, force=force)
    material, command = export_task(
        name, form=form, out=out, data=data, shots=shots, seed=seed, chat=chat, force=force
    )
    say(
        Text(
            "{folder} holds the task {name} with {n:# item|# items}; "
            "{needed:True=Merilo must be installed where it runs|it needs no Merilo where it runs}",
            folder=out,
            name=material.name,
            n=len(material.items),
            needed=needs_merilo(material, form),
        )
    )
    if not material.metrics:
        say(Text("the items have no gold answers, so the task only tells which answers can be read"))
    sys.stdout.write(f"{command}\n")
    return 0


def _file(out: Path, declared: Dataset) -> Path:
    """Return the file to write. In a folder it is named after the dataset, as other commands expect."""
    return out / f"{declared.name}.json" if out.is_dir() or not out.suffix else out


def _write(place: Path, splits: list[Split]) -> None:
    write_splits(place, splits)
    counts = [Text("{n:# item|# items} in {split}", n=len(split), split=split.name) for split in splits]
    say(Text("{file} holds {counts}", file=place, counts=counts))


def _as_json(declared: Dataset) -> dict[str, Json]:
    """Return a declaration as JSON, with the values derived from it."""
    from merilo.datasets.rendering import bare_forms, prompts  # noqa: PLC0415 - the table of 'list' shows no prompts

    content = cast("dict[str, Json]", asdict(declared))
    content["expert"] = declared.expert
    content["bare"] = dict(bare_forms(declared))
    content["prompts"] = {group: list(texts) for group, texts in prompts(declared).items()}
    return content
