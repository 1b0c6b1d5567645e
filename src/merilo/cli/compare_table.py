"""Print comparisons of people and models on the terminal."""

from __future__ import annotations

import io
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, TypeAlias

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from merilo.baselines.model_comparison import Match, ModelComparison, signed, verdict_sentence
from merilo.cli.output import interval, number, show, show_table
from merilo.records import Span
from merilo.reports.comparison import Comparison
from merilo.reports.comparison_table import (
    ComparisonTable,
    TableColumn,
    TableTotal,
    mark_of,
    notes,
)
from merilo.reports.dataset_comparisons import DatasetComparisons
from merilo.reports.estimates import OVER_ITEMS_ALONE
from merilo.statistics.intervals import Interval
from merilo.text import Text, joined

_BESIDE: Final = {
    "consensus": Text("consensus", context="beside"),
    "single": Text("single person", context="beside"),
    "majority": Text("majority of people", context="beside"),
    "first": Text("first model", context="beside"),
}

#: The least width of the column of names, and the usual width of a dataset's column and of the others, in characters.
_NAMES: Final = 18
_COLUMN: Final = 29
_OTHER: Final = 16

#: With more verdict sentences, they are details.
_MOST_SENTENCES: Final = 6


def show_comparisons(found: DatasetComparisons, *, details: bool) -> None:
    """Print the table over all datasets and a few verdict sentences; tests and conditions are details."""
    sys.stdout.write(overview(found.table))
    if details:
        for key, result in found.results.items():
            if len(found.results) > 1:
                show("", f"== {key} ==")
            show_tests([one.tests for one in result.models], result.metric)
            _show_conditions(result)
        return
    told = [
        joined([f"{key}:", verdict] if len(found.results) > 1 else [verdict])
        for key, result in found.results.items()
        for one in result.models
        for match in one.tests.marked
        if match.verdict and (verdict := verdict_sentence(match, one.tests.model))
    ]
    if len(told) > _MOST_SENTENCES:
        show(Text("Verdicts in words and tests: --details."))
    else:
        show(*told, wrap=True)


def overview(table: ComparisonTable) -> str:
    """Return the table as text; columns that do not fit beside each other continue in another table below."""
    width = shutil.get_terminal_size().columns
    stream = io.StringIO()
    console = Console(file=stream, width=width, highlight=False)
    kinds = [kind for kind in ("consensus", "single", "first") if any(_marked(table, kind))]
    majorities = {
        model: {cell.k for cell in cells.values() if cell.match("majority")}
        for model, cells in table.models.items()
    }
    columns = [_dataset_column(table, one, kinds, majorities) for one in table.columns]
    names = {_CONSENSUS: Text("people, consensus"), _SINGLE: Text("people, single person")}
    names |= {_MAJORITY: Text("people, majority")}
    if table.with_total:
        totals = {_CONSENSUS: _total(table.people_total())}
        totals |= {(model, ""): _total(table.model_total(model)) for model in table.models}
        columns.append((str(Text("total", context="score")), totals))
    columns += _spent_columns(table)
    wanted = [*names, *((model, kind) for model in table.models for kind in ("", "first", "maj"))]
    rows = [row for row in wanted if any(cells.get(row, "—") != "—" for _, cells in columns)]
    others = len(columns) - len(table.columns)
    fitting = max(1, (width - _NAMES) // _COLUMN)
    if width - _NAMES - len(table.columns) * _COLUMN >= others * _OTHER:
        fitting = len(columns)
    for start in range(0, len(columns), fitting):
        part = columns[start : start + fitting]
        people = any(one.people for one in table.columns)
        title = None if start else str(Text("People and models") if people else Text("Models"))
        drawn = Table(title=title, title_justify="left", title_style="bold")
        drawn.add_column("", overflow="fold")
        for head, _ in part:
            drawn.add_column(escape(head), justify="right", no_wrap=True)
        for row in rows:
            if start and not any(row in cells for _, cells in part):
                continue
            model, kind = row
            sizes = majorities.get(model, set())
            name = {
                "maj": f"{model}, maj@{next(iter(sizes)) if len(sizes) == 1 else 'k'}",
                "first": Text("  minus the first"),
            }.get(kind, model)
            drawn.add_row(
                escape(str(names.get(row, name))), *(escape(cells.get(row, "")) for _, cells in part)
            )
        console.print(drawn)
    console.print("\n".join(map(str, _remarks(table, kinds))), markup=False)
    return stream.getvalue()


def _marked(table: ComparisonTable, kind: str) -> Iterator[Match]:
    """Yield the comparisons of a kind that have marks in the table."""
    for cells in table.models.values():
        for cell in cells.values():
            yield from (match for match in cell.marked if match.kind == kind)


#: A row: the model, which is empty for people, and what is shown of it.
_Row: TypeAlias = tuple[str, str]
_CONSENSUS, _SINGLE, _MAJORITY = ("", "consensus"), ("", "single"), ("", "majority")


def _dataset_column(
    table: ComparisonTable, column: TableColumn, kinds: Sequence[str], majorities: Mapping[str, set[str]]
) -> tuple[str, dict[_Row, str]]:
    """Return the head and the cells of a dataset.

    The number of items stands in the head if it is that of every value, else in the cells.
    """
    values: dict[_Row, tuple[float, int | None, list[str]]] = {}
    cells = dict.fromkeys([_CONSENSUS, *((model, "") for model in table.models)], "—")
    if people := column.people:
        alone = "" if people.over_annotators else f" {OVER_ITEMS_ALONE}"
        values[_CONSENSUS] = people.value, people.n, [_interval(people.interval) + alone]
        if people.single:
            values[_SINGLE] = *people.single, []
    if both := table.people_majority(column.key):
        values[_MAJORITY] = both.first, both.n, []
    for model, held in table.models.items():
        if (cell := held.get(column.key)) is None:
            continue
        if cell.value is None:
            cells[model, ""] = str(Text("no score"))
        else:
            beside = [kind for kind in kinds if kind != "first"] if cell.comparison else []
            marks = [mark_of(cell.match(kind)) or "·" for kind in beside]
            values[model, ""] = cell.value, cell.n, [_interval(cell.interval), *marks]
        for match in cell.marked:
            if match.kind == "majority":
                size = [f"k = {cell.k}"] if len(majorities[model]) > 1 else []
                values[model, "maj"] = match.difference.second, match.difference.n, [mark_of(match), *size]
            elif match.kind == "first":
                numbers = (match.difference.value, match.interval.low, match.interval.high)
                difference, low, high = map(signed, numbers)
                cells[model, "first"] = f"{difference} [{low}…{high}] {mark_of(match)}"
    counts = {n for _, n, _ in values.values() if n is not None}
    items = [f"n = {next(iter(counts))}"] if len(counts) == 1 else []
    for row, (value, n, more) in values.items():
        own = [f"n = {n}"] if n is not None and not items else []
        cells[row] = " ".join([number(value, ".3f"), *filter(None, [*more, *own])])
    return "\n".join([column.title, ", ".join([*filter(None, [column.metric]), *items])]), cells


def _interval(found: Interval | Span | None) -> str:
    return "" if found is None else f"[{number(found.low, '.3f')}–{number(found.high, '.3f')}]"


def _spent_columns(table: ComparisonTable) -> Iterator[tuple[str, dict[_Row, str]]]:
    """Yield columns of money and time per item, if they are known of people and models."""
    spent = table.spent()
    cost = {row: str(joined([one.cost_each])) for row, one in spent.items() if one.cost_each}
    seconds = {
        row: number(one.seconds_each, ".1f") for row, one in spent.items() if one.seconds_each is not None
    }
    for head, cells in ((Text("cost\nper item"), cost), (Text("seconds\nper item"), seconds)):
        if cells:
            yield str(head), cells


def _total(total: TableTotal) -> str:
    if total.value is None:
        return "—"
    return f"{number(total.value, '.3f')} ({len(total.counted)}/{len(total.counted) + len(total.missing)})"


def _remarks(table: ComparisonTable, kinds: Sequence[str]) -> Iterator[Text]:
    """Yield the sentences below the table."""
    if people := [kind for kind in kinds if kind != "first"]:
        yield Text(
            "Marks: {beside:consensus=beside the consensus of people|single=beside a single person|"
            "first beside the consensus of people, then beside a single person}.",
            beside="both" if len(people) > 1 else people[0],
        )
    if table.has_majority():
        yield Text("maj@k: the majority of k answers, beside the majority of k people.")
    yield from notes(table)
    kept: dict[tuple[Text, ...], list[str]] = {}
    for one in table.columns:
        if one.people:
            kept.setdefault(tuple(one.people.remarks()), []).append(one.title)
    for remarks, titles in kept.items():
        yield Text("People, {titles}: {remarks}.", titles=titles, remarks=[*remarks])
    people_total = table.people_total()
    for model in table.models if table.with_total else ():
        total = table.model_total(model)
        if total.people is not None and total.counted != people_total.counted:
            yield Text("{model}: people on the same datasets {value:.3f}.", model=model, value=total.people)


def show_tests(comparisons: Sequence[ModelComparison], metric: str) -> None:
    """Print a row for each difference with its tests, and the verdicts."""
    rows: list[tuple[object, ...]] = []
    methods: dict[Text, tuple[Text, Text]] = {}
    for one in comparisons:
        for match in one.every:
            difference, crossed = match.difference, match.crossed
            rows.append(
                (
                    one.model if match is one.every[0] else "",
                    number(difference.second, ".3f"),
                    joined([_BESIDE[match.kind], number(difference.first, ".3f")]),
                    f"{number(difference.value, '+.3f')}{interval(match.interval, '+.3f')}",
                    number(match.corrected, ".2g"),
                    number(difference.test.p, ".2g"),
                    f"{difference.better}, {difference.worse}",
                    Text("{n} in {clusters:# cluster|# clusters}", n=difference.n, clusters=crossed.clusters)
                    if crossed and crossed.clusters
                    else difference.n,
                )
            )
            exact = joined([difference.test.method])
            if not match.beside:
                exact = Text("{test} for these annotators", test=difference.test.method)
            methods[_BESIDE[match.kind]] = joined([crossed.method]) if crossed else exact, exact
    if not rows:
        return
    heads = (
        *(Text("model", context="column"), metric, Text("beside"), Text("difference, 95 %")),
        *(Text("p, Holm"), Text("p 2"), "+, −", "n"),
    )
    show_table(rows, heads, left=(0, 2), dense=True)
    for name, (test, exact) in methods.items():
        show(Text("{beside}: p by {test}; p 2 by {exact}", beside=name, test=test, exact=exact), wrap=True)
    show(Text("+, −: items on which the model is better, and worse."))
    show(
        *(verdict_sentence(match, one.model) for one in comparisons for match in one.every if match.verdict),
        wrap=True,
    )


def _show_conditions(result: Comparison) -> None:
    """Print how people and models were asked, and name the differences."""
    asked = result.conditions
    if asked is None:
        return
    rows = [(name, *cells) for name, cells in asked.rows()]
    heads = ["", Text("people", context="column"), *asked.models]
    show_table(rows, heads, title=Text("Conditions"), left=range(len(heads)))
    show(*(asked.sentence(name) for name in asked.models), wrap=True)
