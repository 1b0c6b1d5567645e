"""`merilo compare`: compare people with models on the same items."""

from __future__ import annotations

import csv
import io
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, TypeAlias

import typer

from merilo.cli.options import JsonOption, takes_settings
from merilo.cli.output import check_places, emit_json, say, working
from merilo.errors import UsageError
from merilo.settings import INPUT, OUTPUT, ComparisonSettings
from merilo.strict_json import Json, as_text
from merilo.text import Text

if TYPE_CHECKING:
    from merilo.reports.dataset_comparisons import DatasetComparisons

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
    json_to: JsonOption = None,
) -> int:
    """Compare people with models on the same items: a table over all datasets, verdicts, and with --details the tests.

    Exit status 1: a model's items are not those of the baseline, and --force was not given.
    """
    from merilo.atomic_write import write_text  # noqa: PLC0415 - slow; the help needs only declarations
    from merilo.baselines.model_answers import split_arguments  # noqa: PLC0415
    from merilo.baselines.record import BASELINE_FILE, read_record  # noqa: PLC0415
    from merilo.reports.comparison import compare  # noqa: PLC0415
    from merilo.reports.dataset_comparisons import compare_datasets, on_one_dataset  # noqa: PLC0415

    baselines, models = split_arguments(paths)
    if not models:
        raise UsageError("give a model too: a run, a file of answers or a log")
    needed = [*(one / BASELINE_FILE for one in baselines), *models, data]
    check_places(needed, json_to, out)
    check_places(needed, None, items_to)
    if items_to is not None and items_to.suffix.lower() not in _ITEM_FORMS:
        raise UsageError("takes a file that ends in .csv, .json or .jsonl", field="--items")
    one = len(baselines) == 1 and form is None and out is None
    one = one and (
        settings.metric is not None or not read_record(baselines[0]).settings(baselines[0])[1].answer.criteria
    )
    with working(Text("Comparing people with models")):
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
    from merilo.atomic_write import write_text  # noqa: PLC0415 - slow
    from merilo.reports.comparison import ITEM_COLUMNS  # noqa: PLC0415

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
    from merilo.reports.text_escapes import csv_cell  # noqa: PLC0415 - slow

    text = " | ".join(map(str, value)) if isinstance(value, list) else "" if value is None else str(value)
    return csv_cell(text)


def _remarks(result: DatasetComparisons) -> Iterator[object]:
    """Yield the warnings about the baselines, then those about the models."""
    from merilo.baselines.model_answers import run_outcomes  # noqa: PLC0415 - slow
    from merilo.reports.comparison import baseline_warnings  # noqa: PLC0415

    for one in result.results.values():
        yield from baseline_warnings(one.baseline)
    yield from result.limits()
    for key, compared in result.results.items():
        for model in compared.models:
            name = f"{key}, {model.tests.model}" if len(result.results) > 1 else model.tests.model
            if result.settings.by and model.disagreement.found is None:
                yield Text(
                    "{model}: no distributions of labels by {fields}: {why}",
                    model=name,
                    fields=[*result.settings.by],
                    why=model.disagreement.reason,
                )
            file = Path(model.samples.file)
            told = run_outcomes(file if file.is_dir() else file.parent, compared.baseline.declaration.name)
            if told:
                yield Text(
                    "{model}: {outcomes}; these count as wrong, except requests without a reply",
                    model=name,
                    outcomes=told,
                )


def _rendered(result: DatasetComparisons, form: Form | None) -> str:
    from merilo.reports.comparison_table import comparison_latex, comparison_markdown  # noqa: PLC0415 - slow
    from merilo.reports.dataset_comparisons import comparison_page  # noqa: PLC0415

    if form == "html":
        return comparison_page(result)
    if form in {None, "table"}:
        from merilo.cli.compare_table import overview  # noqa: PLC0415 - only for the terminal

        return overview(result.table)
    return comparison_latex(result.table) if form == "latex" else comparison_markdown(result.table)
