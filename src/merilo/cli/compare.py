"""`merilo compare`: compare people with models on the same items."""

from __future__ import annotations

import csv
import io
import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Final, Literal, TypeAlias

import typer

from merilo.api.comparison import ComparisonResult, compare
from merilo.api.dataset_comparisons import DatasetComparisons, compare_datasets
from merilo.atomic_write import refuse_existing, write_text
from merilo.baselines.model_answers import BASELINE_FILE, run_outcomes, split_arguments
from merilo.baselines.record import read_record
from merilo.cli.output import emit_json, refuse_json, say, working
from merilo.cli.study_options import INPUT, OUTPUT
from merilo.errors import UsageError
from merilo.reports.comparison import baseline_warnings, sentences
from merilo.reports.opposite_items import COLUMNS, opposite_rows, rows_as_cells
from merilo.strict_json import Json, as_text

COMPARISON: Final = "Comparison"

app = typer.Typer(add_completion=False)

Form: TypeAlias = Literal["table", "markdown", "latex", "html"]


@app.command()
def people_against_models(
    paths: Annotated[list[Path], typer.Argument(metavar="BASELINE... RUN...", help="Human baselines (folders written by 'merilo baseline --out') and models: runs of 'merilo run', files of answers (id, answer, and sample if there are several per item; CSV, TSV, JSON or JSONL), or logs of lm-eval, Inspect, HELM or a batch.")],
    *,
    data: Annotated[Path | None, typer.Option(help="The items with ids and gold answers, if the baseline was made without them.", rich_help_panel=INPUT)] = None,
    metric: Annotated[str | None, typer.Option(help="A metric that suits the answers (acc, em, f1, f1_macro, mcc, grade_norm). Default: the baseline's.", rich_help_panel=COMPARISON)] = None,
    margin: Annotated[float | None, typer.Option(help="The largest difference that counts as none, for the verdict 'at human level': 0.02. Default: the margin of the study's frozen plan, if there is one.", rich_help_panel=COMPARISON)] = None,
    force: Annotated[bool, typer.Option("--force", help="If the items differ, compare on those that both answered.", rich_help_panel=INPUT)] = False,
    min_answers: Annotated[int, typer.Option(min=1, help="Annotators with fewer answers are left out of the model's percentile rank among annotators.", rich_help_panel=INPUT)] = 10,
    by: Annotated[list[str] | None, typer.Option(metavar="FIELD", help="Compare the distributions of labels for each value of this field of the items too (may be repeated).", rich_help_panel=COMPARISON)] = None,
    cluster: Annotated[str | None, typer.Option(metavar="FIELD", help="A field of the items, such as a text: items with the same value form a cluster, which every interval and test takes into account. Default: the baseline's.", rich_help_panel=COMPARISON)] = None,
    seed: Annotated[int, typer.Option(min=0, help="The random seed of permutations and bootstrap resamples.", rich_help_panel=COMPARISON)] = 0,
    form: Annotated[Form | None, typer.Option("--format", help="The form of the table over all datasets; html is a page in both languages.", rich_help_panel=OUTPUT)] = None,
    out: Annotated[Path | None, typer.Option(metavar="FILE", help="Write the table to this new file. Default: standard output.", rich_help_panel=OUTPUT)] = None,
    items_to: Annotated[Path | None, typer.Option("--items", metavar="FILE", help="Write the items on which people or a model alone are right: a new file, .csv, .json or .jsonl.", rich_help_panel=OUTPUT)] = None,
    json_to: Annotated[str | None, typer.Option("--json", metavar="FILE|-", help="Write the result as one JSON object; - is standard output.", rich_help_panel=OUTPUT)] = None,
) -> int:  # fmt: skip
    """Compare people with models on the same items: a verdict, differences with intervals, tests, detectable differences.

    Several baselines and models give one table over all datasets. Exit status 1: a model's items are not those of the baseline, and --force was
    not given.
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
    options = _Options(data, metric, margin, force, min_answers, tuple(by or ()), cluster, seed)
    one = len(baselines) == 1 and form is None and out is None
    one = one and (
        metric is not None or not read_record(baselines[0]).settings(baselines[0])[1].answer.criteria
    )
    with working("Comparing people with models"):
        result = options.of_one(baselines[0], models) if one else options.of_several(baselines, models)
    if items_to is not None:
        _write_items(items_to, _item_rows(result))
    if json_to:
        emit_json(result.to_dict(), json_to)
    if isinstance(result, ComparisonResult):
        _show(result, by=options.by, quiet=json_to == "-")
    else:
        _show_datasets(result, form or "table", out, by=options.by, quiet=json_to == "-")
    return 0


@dataclass(frozen=True, slots=True)
class _Options:
    """The options that both kinds of comparison take."""

    data: Path | None
    metric: str | None
    margin: float | None
    force: bool
    min_answers: int
    by: tuple[str, ...]
    cluster: str | None
    seed: int

    def of_one(self, baseline: Path, models: Sequence[Path]) -> ComparisonResult:
        return compare(
            baseline,
            models,
            data=self.data,
            metric=self.metric,
            margin=self.margin,
            force=self.force,
            min_answers=self.min_answers,
            by=self.by,
            cluster=self.cluster,
            seed=self.seed,
        )

    def of_several(self, baselines: Sequence[Path], models: Sequence[Path]) -> DatasetComparisons:
        return compare_datasets(
            baselines,
            models,
            data=self.data,
            metric=self.metric,
            margin=self.margin,
            force=self.force,
            min_answers=self.min_answers,
            by=self.by,
            cluster=self.cluster,
            seed=self.seed,
        )


_ITEM_FORMS = frozenset({".csv", ".json", ".jsonl"})


def _item_rows(result: ComparisonResult | DatasetComparisons) -> list[dict[str, Json]]:
    if isinstance(result, DatasetComparisons):
        return result.item_rows()
    key = result.baseline.declaration.name or result.baseline.folder
    return opposite_rows(key, result.baseline, result.samples, result.opposites)


def _write_items(path: Path, rows: list[dict[str, Json]]) -> None:
    match path.suffix.lower():
        case ".json":
            write_text(path, as_text({"items": [*rows]}))
        case ".jsonl":
            write_text(path, "".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in rows))
        case _:
            text = io.StringIO()
            writer = csv.writer(text, lineterminator="\n")
            writer.writerow(COLUMNS)
            writer.writerows(rows_as_cells(rows))
            write_text(path, text.getvalue())


def _show(result: ComparisonResult, *, by: Sequence[str], quiet: bool, name: str = "") -> None:
    """Print the comparisons on one dataset; the sentences go to standard error."""
    if not quiet:
        from merilo.cli.compare_table import show  # noqa: PLC0415 - the JSON needs no tables

        show(result.found, result.metric)
        from merilo.cli.disagreement_table import show_disagreement  # noqa: PLC0415 - as above

        show_disagreement(result.disagreements)
    for warning in baseline_warnings(result.baseline):
        say(warning)
    if by:
        for apart in result.disagreements:
            if apart.found is None:
                say(f"{name}{apart.model}: no distributions of labels by {', '.join(by)}: {apart.reason}")
    for comparison in result.found:
        for sentence in sentences(comparison):
            say(f"{name}{comparison.model}: {sentence}")
    for sample, comparison in zip(result.samples, result.found, strict=True):
        file = Path(sample.file)
        place = file if file.is_dir() else file.parent
        if told := run_outcomes(place, result.baseline.declaration.name):
            say(f"{name}{comparison.model}: {told}; these count as wrong, except requests without a reply")


def _show_datasets(
    result: DatasetComparisons, form: Form, out: Path | None, *, by: Sequence[str], quiet: bool
) -> None:
    """Print every dataset, and print or write the table over all of them."""
    tests = form == "table" and out is None and not quiet
    for key, one in result.results.items():
        if tests:
            sys.stdout.write(f"\n== {key} ==\n")
            sys.stdout.flush()
        _show(one, by=by, quiet=not tests, name=f"{key}, ")
    for key, model, why in result.skipped:
        say(f"{key}: {model} is not compared: {why.en}")
    if out is None and quiet:
        return
    text = _rendered(result, form)
    if out is not None:
        write_text(out, text)
    else:
        sys.stdout.write(text)


def _rendered(result: DatasetComparisons, form: Form) -> str:
    if form == "html":
        from merilo.reports.comparison_page import comparison_page  # noqa: PLC0415 - only for the page

        return comparison_page(result.table, result.page_parts(), result.skipped)
    if form == "table":
        from merilo.cli.comparison_grid import rendered_grid  # noqa: PLC0415 - only for the terminal

        return rendered_grid(result.table)
    from merilo.reports.comparison_table_text import comparison_latex, comparison_markdown  # noqa: PLC0415 - as above

    return comparison_latex(result.table) if form == "latex" else comparison_markdown(result.table)
