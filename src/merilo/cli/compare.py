"""`merilo compare`: compare people with models on the same items."""

from __future__ import annotations

import csv
import io
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Literal, TypeAlias

import typer

from merilo.atomic_write import refuse_existing, write_text
from merilo.baselines.model_answers import BASELINE_FILE, run_outcomes, split_arguments
from merilo.baselines.record import read_record
from merilo.cli.output import emit_json, refuse_json, say, working
from merilo.cli.procedure_options import takes_settings
from merilo.cli.study_options import INPUT, OUTPUT
from merilo.errors import UsageError
from merilo.reports.comparison import ITEM_COLUMNS, baseline_warnings, compare
from merilo.reports.comparison_table import comparison_latex, comparison_markdown
from merilo.reports.dataset_comparisons import (
    DatasetComparisons,
    compare_datasets,
    comparison_page,
    on_one_dataset,
)
from merilo.reports.text_escapes import csv_cell
from merilo.settings import ComparisonSettings
from merilo.strict_json import Json, as_text

app = typer.Typer(add_completion=False)

Form: TypeAlias = Literal["table", "markdown", "latex", "html"]


@app.command()
@takes_settings(of=ComparisonSettings)
def people_against_models(
    paths: Annotated[
        list[Path],
        typer.Argument(
            metavar="BASELINE... RUN...",
            help="Human baselines (folders of 'merilo baseline --out') and models: runs, files of answers "
            "(id, answer, sample), or logs of another harness.",
        ),
    ],
    *,
    data: Annotated[
        Path | None,
        typer.Option(
            help="The items with ids and gold answers, if the baseline was made without them.",
            rich_help_panel=INPUT,
        ),
    ] = None,
    settings: ComparisonSettings,
    form: Annotated[
        Form | None,
        typer.Option(
            "--format",
            help="The form of the table over all datasets; html is a page in both languages.",
            rich_help_panel=OUTPUT,
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Write the table to this new file. Default: standard output.",
            rich_help_panel=OUTPUT,
        ),
    ] = None,
    items_to: Annotated[
        Path | None,
        typer.Option(
            "--items",
            metavar="FILE",
            help="Write the items on which only people or only a model are right: .csv, .json or .jsonl.",
            rich_help_panel=OUTPUT,
        ),
    ] = None,
    details: Annotated[
        bool,
        typer.Option(
            "--details",
            help="Print the tests and the distributions of labels of each model too.",
            rich_help_panel=OUTPUT,
        ),
    ] = False,
    json_to: Annotated[
        str | None,
        typer.Option(
            "--json",
            metavar="FILE|-",
            help="Write the result as one JSON object; - is standard output.",
            rich_help_panel=OUTPUT,
        ),
    ] = None,
) -> int:
    """Compare people with models on the same items: a table over all datasets, verdicts, and with --details the tests.

    Exit status 1: a model's items are not those of the baseline, and --force was not given.
    """
    baselines, models = split_arguments(paths)
    if not models:
        raise UsageError("give a model too: a run, a file of answers or a log")
    needed = [*(one / BASELINE_FILE for one in baselines), *models, *([data] if data else [])]
    refuse_json(json_to, needed)
    for file in filter(None, (out, items_to)):
        refuse_existing(file, force=False, needed=needed)
    if items_to is not None and items_to.suffix.lower() not in _ITEM_FORMS:
        raise UsageError("takes a file that ends in .csv, .json or .jsonl", field="--items")
    one = len(baselines) == 1 and form is None and out is None
    one = one and (
        settings.metric is not None or not read_record(baselines[0]).settings(baselines[0])[1].answer.criteria
    )
    with working("Comparing people with models"):
        if one:
            result = on_one_dataset(compare(baselines[0], models, data=data, settings=settings))
        else:
            result = compare_datasets(baselines, models, data=data, settings=settings)
    if items_to is not None:
        _write_items(items_to, result.item_rows())
    if json_to:
        (alone,) = result.results.values() if one else (result,)
        emit_json(alone.to_dict(), json_to)
    if out is not None:
        write_text(out, _rendered(result, form))
    elif form not in {None, "table"}:
        sys.stdout.write("" if json_to == "-" else _rendered(result, form))
    elif json_to != "-":
        from merilo.cli.compare_table import show_comparisons  # noqa: PLC0415 - the JSON needs no tables

        show_comparisons(result, details=details)
    for sentence in _remarks(result):
        say(sentence)
    return 0


_ITEM_FORMS = frozenset({".csv", ".json", ".jsonl"})


def _write_items(path: Path, rows: list[dict[str, Json]]) -> None:
    match path.suffix.lower():
        case ".json":
            write_text(path, as_text({"items": [*rows]}))
        case ".jsonl":
            write_text(path, "".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in rows))
        case _:
            text = io.StringIO()
            writer = csv.writer(text, lineterminator="\n")
            writer.writerow(ITEM_COLUMNS)
            writer.writerows([_cell(row[name]) for name in ITEM_COLUMNS] for row in rows)
            write_text(path, text.getvalue())


def _cell(value: Json) -> str:
    """Return a cell of the CSV file; several answers are joined by ` | `."""
    text = " | ".join(map(str, value)) if isinstance(value, list) else "" if value is None else str(value)
    return csv_cell(text)


def _remarks(result: DatasetComparisons) -> Iterator[str]:
    """Yield the warnings about the baselines, then those about the models."""
    for one in result.results.values():
        yield from baseline_warnings(one.baseline)
    yield from result.warnings
    for key, compared in result.results.items():
        for model in compared.models:
            name = f"{key}, {model.tests.model}" if len(result.results) > 1 else model.tests.model
            if result.settings.by and model.disagreement.found is None:
                fields = ", ".join(result.settings.by)
                yield f"{name}: no distributions of labels by {fields}: {model.disagreement.reason}"
            file = Path(model.samples.file)
            told = run_outcomes(file if file.is_dir() else file.parent, compared.baseline.declaration.name)
            if told:
                yield f"{name}: {told}; these count as wrong, except requests without a reply"


def _rendered(result: DatasetComparisons, form: Form | None) -> str:
    if form == "html":
        return comparison_page(result)
    if form in {None, "table"}:
        from merilo.cli.compare_table import overview  # noqa: PLC0415 - only for the terminal

        return overview(result.table)
    return comparison_latex(result.table) if form == "latex" else comparison_markdown(result.table)
