"""`merilo compare`: compare people with models, and models with each other, on the same items."""

from __future__ import annotations

import csv
import io
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final, Literal, TypeAlias

import typer

from merilo.cli.options import JsonOption, takes_settings
from merilo.cli.output import check_places, emit_json, say, working
from merilo.errors import UsageError
from merilo.settings import INPUT, OUTPUT, ComparisonSettings
from merilo.strict_json import Json, as_text
from merilo.text import Text

if TYPE_CHECKING:
    from merilo.reports.comparison import Comparison
    from merilo.reports.dataset_comparisons import DatasetComparisons

app = typer.Typer(add_completion=False)

Form: TypeAlias = Literal["table", "markdown", "latex", "html"]


@app.command()
@takes_settings(of=ComparisonSettings)
def people_and_models_compared(
    paths: Annotated[
        list[Path],
        typer.Argument(
            metavar="[BASELINE]... RUN...",
            help="Human baselines (folders of 'merilo baseline --out'), if there are any, and models: runs, files of "
            "answers (id, answer, sample), or logs of another harness.",
        ),
    ],
    *,
    dataset: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Without baselines and runs: the dataset of the answers, a name or the path of a YAML declaration.",
            rich_help_panel=INPUT,
        ),
    ] = None,
    data: Annotated[
        Path | None,
        typer.Option(
            help="The items with ids and gold answers, if the baseline was made without them, or if there are neither "
            "baselines nor runs.",
            rich_help_panel=INPUT,
        ),
    ] = None,
    settings: ComparisonSettings,
    form: Annotated[
        Form | None,
        typer.Option(
            "--format",
            help="The form of the table over all datasets; html is a page in both languages. Default: by the suffix of "
            "--out.",
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
    chart: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Draw the differences with their intervals, one row a dataset: a new .svg, .pdf or .png file.",
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
            help="Print the tests of each model and how people and models were asked too.",
            rich_help_panel=OUTPUT,
        ),
    ] = False,
    json_to: JsonOption = None,
) -> int:
    """Compare people with models, and the other models with the first one, on the same items.

    Exit status 1: models answered other items than the baseline or the first model, and --force was not given.
    """
    from merilo.atomic_write import write_bytes, write_text  # noqa: PLC0415 - slow; the help needs only declarations
    from merilo.baselines.baseline import BASELINE_FILE  # noqa: PLC0415
    from merilo.baselines.model_answers import split_arguments  # noqa: PLC0415

    baselines, models = split_arguments(paths)
    needed = [*(one / BASELINE_FILE for one in baselines), *models, data]
    check_places(needed, json_to, out)
    for place in (items_to, chart):
        check_places(needed, None, place)
    _refuse_suffix(items_to, "--items", ".csv", ".json", ".jsonl")
    _refuse_suffix(chart, "--chart", ".svg", ".pdf", ".png")
    if dataset is not None and baselines:
        raise UsageError("is for models without a baseline, which knows its dataset", field="--dataset")
    if form is None and out is not None:
        form = _FORMS.get(out.suffix.lower())
    whole = form is not None or out is not None
    with working(Text("Comparing people with models")):
        result, alone = _compared(baselines, models, dataset, data, settings, whole=whole)
    if items_to is not None:
        _write_items(items_to, result.item_rows())
    if chart is not None:
        write_bytes(chart, result.chart(chart.suffix.lower(), "en"))
    if json_to:
        emit_json((alone or result).to_dict(), json_to)
    if out is not None:
        write_text(out, _rendered(result, form))
    elif form not in {None, "table"}:
        sys.stdout.write("" if json_to == "-" else _rendered(result, form))
    elif json_to != "-":
        from merilo.cli.compare_table import show_comparisons  # noqa: PLC0415 - the JSON needs no tables

        show_comparisons(result, details=details)
    for sentence in _remarks(result, every=details):
        say(sentence)
    return 0


def _compared(
    baselines: list[Path],
    models: list[Path],
    dataset: str | None,
    data: Path | None,
    settings: ComparisonSettings,
    *,
    whole: bool,
) -> tuple[DatasetComparisons, Comparison | None]:
    """Compare people and models; also return the comparison if it is on one dataset and the table is not asked for."""
    from merilo.baselines.baseline import read_record  # noqa: PLC0415 - slow
    from merilo.reports.comparison import compare  # noqa: PLC0415
    from merilo.reports.dataset_comparisons import compare_datasets, on_one_dataset  # noqa: PLC0415

    if len(baselines) == 1 and models and not whole:
        folder = baselines[0]
        if settings.metric is not None or not read_record(folder).parsed_settings(folder)[1].answer.criteria:
            alone = compare(folder, models, data=data, settings=settings)
            return on_one_dataset(alone), alone
    result = compare_datasets(baselines, models, dataset=dataset, data=data, settings=settings)
    if baselines or whole or len(result.table.columns) > 1 or not result.results:
        return result, None
    (alone,) = result.results.values()
    return on_one_dataset(alone), alone


def _refuse_suffix(path: Path | None, option: str, *known: str) -> None:
    if path is not None and path.suffix.lower() not in known:
        raise UsageError(f"takes a file that ends in {', '.join(known[:-1])} or {known[-1]}", field=option)


_FORMS: Final[dict[str, Form]] = {".md": "markdown", ".tex": "latex", ".html": "html"}


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
    from merilo.reports.table import csv_cell  # noqa: PLC0415 - slow

    text = " | ".join(map(str, value)) if isinstance(value, list) else "" if value is None else str(value)
    return csv_cell(text)


def _remarks(result: DatasetComparisons, *, every: bool) -> Iterator[object]:
    """Yield the warnings about the baselines, then those about the models."""
    from merilo.baselines.model_answers import run_outcomes  # noqa: PLC0415 - slow
    from merilo.reports.comparison import baseline_warnings  # noqa: PLC0415

    for one in result.results.values():
        yield from baseline_warnings(one.baseline)
    yield from result.limits(every=every)
    for key, compared in result.results.items():
        for model in compared.models:
            name = f"{key}, {model.tests.model}" if len(result.results) > 1 else model.tests.model
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
