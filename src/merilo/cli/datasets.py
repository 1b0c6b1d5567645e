"""`merilo datasets`: show dataset declarations; validate, generate and download dataset files."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer

from merilo.atomic_write import refuse_existing
from merilo.cli.options import ForceOption, JsonOption, takes_settings
from merilo.cli.output import check_places, deliver, say
from merilo.datasets import CATALOGUE, dataset
from merilo.datasets.declaration import Dataset, ItemColumns
from merilo.datasets.guessing import Wishes
from merilo.datasets.rendering import bare_forms, harness_prompts, option_fields, prompts, render
from merilo.errors import for_library
from merilo.items import Split, write_splits
from merilo.reports.table import Cell, Section, Table
from merilo.settings import INPUT, OUTPUT
from merilo.strict_json import Json
from merilo.wording import counted_noun

if TYPE_CHECKING:
    from merilo.cli.output import Part
    from merilo.datasets.new_declaration import NewDeclaration
    from merilo.datasets.validation.folder import Contents

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    help="List the datasets, show one, validate files, generate items, download from the hub.",
)


@app.command("list")
def list_(*, json_to: JsonOption = None) -> int:
    """List the datasets with their metrics, sizes and published human scores."""
    declared = list(CATALOGUE.values())
    deliver(json_to, lambda: {"datasets": [_as_json(entry) for entry in declared]}, _list_parts(declared))
    return 0


@app.command("show")
def show_(
    name: Annotated[str, typer.Argument(help="A dataset's name, or the path of a YAML declaration.")],
    *,
    json_to: JsonOption = None,
) -> int:
    """Show a dataset's declaration: fields, answers, metrics, shots, prompts, human scores and their provenance."""
    declared = dataset(name)
    deliver(json_to, lambda: _as_json(declared), _declaration_parts(declared))
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
        _report_lines(path, report),
    )
    return 0 if report.valid else 1


def _report_lines(path: Path, report: Contents) -> Iterator[str]:
    from merilo.datasets.validation.folder import grouped  # noqa: PLC0415 - the other commands need no rules

    yield from (f"note: {note}" for note in grouped(report.notes))
    yield from grouped(report.problems)
    counts = ", ".join(f"{n} in {split}" for split, n in report.items.items()) or "none"
    invalid = f"invalid: {counted_noun(len(report.problems), 'problem', 'problems')}"
    rest = f"(items: {counts}; files: {len(report.files)}; notes: {len(report.notes)})"
    yield f"{path}: {'valid' if report.valid else invalid} {rest}"


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
    from merilo.datasets.bundled_items import pull as load  # noqa: PLC0415 - only this command uses the network

    declared = dataset(name)
    place = _file(Path() if out is None else out, declared)
    refuse_existing(place, force=force)
    splits = load(declared, source=source, revision=revision)
    _write(place, splits)
    return 0


@app.command()
@takes_settings(of=Wishes)
def new(
    source: Annotated[
        Path,
        typer.Argument(
            metavar="FILE|FOLDER",
            help="Questions in JSON, JSONL, CSV, TSV or Parquet; or a folder with raw_dataset_meta.json.",
        ),
    ],
    *,
    settings: Wishes,
    shots: Annotated[
        Path | None, typer.Option(help="A file of solved items with the same columns.", rich_help_panel=INPUT)
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            help="The declaration (.yaml), or a folder for dataset.yaml. Default: beside the file.",
            rich_help_panel=OUTPUT,
        ),
    ] = None,
    force: ForceOption = False,
    json_to: JsonOption = None,
) -> int:
    """Write the declaration of your own dataset: guess its columns from the data and show three items as asked.

    The data stay as they are.
    """
    from merilo.datasets.new_declaration import new_declaration  # noqa: PLC0415 - imports Pydantic and PyYAML

    check_places([source], json_to, out, force=force)
    written = new_declaration(source, settings, out=out, shots=shots, force=force)
    deliver(
        json_to,
        lambda: {
            "declaration": str(written.path),
            "items": len(written.items),
            "shots": written.solved,
            "language": written.language,
            "notes": [for_library(note) for note in written.notes],
            "dataset": _as_json(written.declared),
        },
        _new_parts(written),
    )
    return 0


def _new_parts(written: NewDeclaration) -> Iterator[Part]:
    """Yield what was guessed, three items as they are asked, and the next commands."""
    yield Table("", (), tuple(_guesses(written)), tuple(written.notes))
    for place in sorted({0, len(written.items) // 2, len(written.items) - 1}):
        item = written.items[place]
        yield f"Item {item.id}, gold answer: {'none' if item.outputs is None else item.outputs}"
        yield textwrap.indent(render(item, written.declared), "  ") + "\n"
    name = written.path.parent if written.path.name == "dataset.yaml" else written.path
    yield f"{written.path} is written; edit it where a guess is wrong. Next:"
    yield f"  merilo study create {name} --out study"
    yield f"  merilo run --model random --datasets {name} --out run"
    yield f"  merilo baseline ANSWERS.csv --dataset {name} --out baseline"


def _guesses(written: NewDeclaration) -> Iterator[tuple[str, Cell]]:
    declared = written.declared
    columns = declared.items or ItemColumns()
    options = [*option_fields(declared).values()]
    names = [columns.fields.get(name, name) for name in declared.fields if name not in options]
    yield "items", len(written.items)
    if written.solved:
        yield "solved items", written.solved
    yield "id", columns.id or ("id" if written.folder else "numbers of rows")
    yield "question", ", ".join(names)
    shown = ", ".join(columns.options) or ", ".join(option_fields(declared).values())
    yield "options", shown or "none"
    gold = ", ".join(columns.gold)
    gold += f", read as: {columns.gold_is}" if columns.gold_is else ""
    gold += f", after {columns.gold_after}" if columns.gold_after else ""
    closed = all(item.outputs is None for item in written.items)
    yield "gold answers", gold or ("none" if closed else "outputs")
    yield "answer", _answer(declared)
    yield "metrics", ", ".join(declared.metrics)
    yield "metric by group", declared.extra or "none"
    yield "clusters", f"items with the same {declared.cluster}" if declared.cluster else "none"
    yield "skills", f"{', '.join(declared.skills) or 'none'}: {_people(declared)}"
    yield "language", written.language


def _file(out: Path, declared: Dataset) -> Path:
    """Return the file to write. In a folder it is named after the dataset, as other commands expect."""
    return out / f"{declared.name}.json" if out.is_dir() or not out.suffix else out


def _write(place: Path, splits: list[Split]) -> None:
    write_splits(place, splits)
    counts = [f"{counted_noun(len(split), 'item', 'items')} in {split.name}" for split in splits]
    say(f"{place} holds {', '.join(counts)}")


def _as_json(declared: Dataset) -> dict[str, Json]:
    """Return a declaration as JSON, with the values derived from it."""
    content = cast("dict[str, Json]", asdict(declared))
    content["expert"] = declared.expert
    content["bare"] = dict(bare_forms(declared))
    content["harness"] = None if (harness := harness_prompts(declared)) is None else asdict(harness)
    content["prompts"] = {group: list(texts) for group, texts in prompts(declared).items()}
    return content


def _list_parts(datasets: Sequence[Dataset]) -> Iterator[Part]:
    """Yield the datasets (the test of the newest version), a line for each published human score, in 80 columns."""
    head = ("Dataset", "Answer", "Metric", "Human", "of", "Provenance", "Test", "Total", "People")
    rows: list[tuple[Cell, ...]] = []
    for declared in datasets:
        first, *others = _figures(declared)
        test = [*declared.sizes.values()][-1] if declared.sizes else None
        total, people = "yes" if declared.in_total else "no", "experts" if declared.expert else "anybody"
        rows.append((declared.title, _labels(declared), *first, test, total, people))
        rows += [("", "", *figure, "", "", "") for figure in others]
    yield Table("", head, tuple(rows))
    yield "Details of one dataset: merilo datasets show NAME"


def _labels(declared: Dataset) -> str:
    """Return a short description of the answer: the labels, or the first and last label, or the kind."""
    labels = declared.answer.labels
    if declared.answer.kind != "choice":
        return declared.answer.kind
    return " ".join(labels) if len(labels) < 4 else f"{labels[0]}–{labels[-1]}"


def _figures(declared: Dataset) -> list[tuple[Cell, ...]]:
    """Return metric, value, items and provenance of each human score; of scores of groups, the lowest and highest."""
    figures = declared.human
    unknown = [metric for metric in declared.metrics if metric not in {figure.metric for figure in figures}]
    if figures and len(unknown) == len(declared.metrics):
        values, name = sorted(figure.value for figure in figures), declared.metrics[0]
        ends = (f"{name}, from", values[0]), (f"{name}, to", values[-1])
        return [(*end, figures[0].n, figures[0].provenance) for end in ends]
    known = [(figure.metric, figure.value, figure.n, figure.provenance) for figure in figures]
    return [*known, *((metric, None, None, "") for metric in unknown)]


def _declaration_parts(declared: Dataset) -> Iterator[Part]:
    """Yield a dataset's full declaration."""
    yield Section(
        "about", sentences=(f"{declared.title}: {declared.about}" if declared.about else declared.title,)
    )
    yield Table("", (), tuple(_facts(declared)))
    if declared.human:
        sources = list(dict.fromkeys(figure.source for figure in declared.human))
        several = len(sources) > 1
        rows = (
            (
                *(figure.metric, figure.value, figure.n, figure.provenance),
                f"[{sources.index(figure.source) + 1}]" if several else None,
            )
            for figure in declared.human
        )
        notes = (f"[{n}] {text}" if several else f"Source: {text}" for n, text in enumerate(sources, start=1))
        head = ("Metric", "Value", "Items", "Provenance", "Source")
        yield Table("Published human scores", head, tuple(rows), tuple(notes))
    for group, texts in prompts(declared).items():
        of_group = f" for {group}" if group else ""
        yield f"Prompts{of_group}: {len(texts)}, the first\n{texts[0]}\n"


def _facts(declared: Dataset) -> Iterator[tuple[str, Cell]]:
    yield "inputs", ", ".join(declared.fields) or f"a text, in prompts {{{declared.placeholder}}}"
    if declared.media:
        yield "media", ", ".join(declared.media)
    yield "answer", _answer(declared)
    yield "metrics", ", ".join(declared.metrics)
    if declared.extra:
        yield "metric by group", declared.extra
    if declared.cluster:
        yield "clusters", f"items with the same {declared.cluster}"
    yield "shots", _shots(declared)
    yield "stops at", ", ".join(map(repr, declared.stop))
    if declared.prompts_by:
        yield "prompts by", f"meta.{declared.prompts_by}"
    yield "splits", ", ".join(declared.splits)
    for version, size in declared.sizes.items():
        yield f"test in v{version}", counted_noun(size, "item", "items")
    yield "test", declared.gold
    yield "in total score", "yes" if declared.in_total else "no"
    yield "skills", ", ".join(declared.skills)
    yield "people to ask", _people(declared)


def _people(declared: Dataset) -> str:
    return "experts, and untrained people separately" if declared.expert else "any adult"


def _answer(declared: Dataset) -> str:
    answer = declared.answer
    if answer.kind == "criteria":
        return f"{'/'.join(answer.labels)} for each of {', '.join(answer.criteria)}"
    if answer.kind == "choice":
        return f"one of {' '.join(answer.labels)}"
    if "grade_norm" in declared.metrics:
        return (
            f"text: words, alternatives by '{answer.alternatives}'\nmultiple_choice: numbers by ',' in any order\n"
            "matching: four numbers by ',' in the order of the places"
        )
    return answer.kind + (f", alternatives by '{answer.alternatives}'" if answer.alternatives else "")


def _shots(declared: Dataset) -> str:
    if declared.shots.earlier_turns:
        return "the earlier turns of the dialogue"
    same = f", of the same {declared.shots.same}" if declared.shots.same else ""
    return f"{declared.shots.count}{same}"
