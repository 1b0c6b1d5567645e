"""Print comparisons of people with models on the terminal."""

from __future__ import annotations

import io
import shutil
import sys
from collections.abc import Iterable, Iterator, Sequence
from math import isfinite
from typing import Final

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from merilo.baselines.model_comparison import Match, ModelComparison, verdict_sentence
from merilo.baselines.model_disagreement import ModelDisagreement
from merilo.cli.output import interval, number, show, show_table
from merilo.people.disagreement import MEASURES, Disagreement
from merilo.reports.comparison_table import (
    ComparisonTable,
    ModelCell,
    PeopleValue,
    TableColumn,
    TableTotal,
    mark_of,
    notes,
)
from merilo.reports.dataset_comparisons import DatasetComparisons
from merilo.reports.estimates import OVER_BOTH, OVER_ITEMS_ALONE
from merilo.text import Text, joined
from merilo.wording import listed

_HEADS: Final = {
    "consensus": Text("consensus vs answers"),
    "single": Text("annotator vs answer"),
    "majority": Text("majority vs majority"),
}

#: The least width of the column of names, and the usual width of a dataset's column and of the total's, in characters.
_NAMES: Final = 18
_COLUMN: Final = 22
_TOTAL: Final = 16

#: With more verdict sentences, they are details.
_MOST_SENTENCES: Final = 6


def show_comparisons(found: DatasetComparisons, *, details: bool) -> None:
    """Print the table over all datasets and a few verdict sentences; tests and distributions of labels are details."""
    sys.stdout.write(overview(found.table))
    if details:
        for key, result in found.results.items():
            if len(found.results) > 1:
                show("", f"== {key} ==")
            show_tests([one.tests for one in result.models], result.metric)
            _show_disagreement([one.disagreement for one in result.models])
        return
    verdicts = [
        verdict_sentence(match, one.tests.model)
        for result in found.results.values()
        for one in result.models
        for match in one.tests.matches
        if match.verdict
    ]
    if len(verdicts) > _MOST_SENTENCES:
        verdicts = [Text("Verdicts in words, tests and label distributions: --details.")]
    show(*verdicts)


def overview(table: ComparisonTable) -> str:
    """Return the table as text; columns that do not fit beside each other continue in another table below."""
    width = shutil.get_terminal_size().columns
    stream = io.StringIO()
    console = Console(file=stream, width=width, highlight=False)
    columns = [_Column(table, one) for one in table.columns]
    kinds = [kind for kind in ("consensus", "single") if any(one.has(kind) for one in columns)]
    rows = [*_people_rows(table, columns), *_model_rows(table, columns, kinds)]
    titles = [one.head() for one in columns] + (
        [str(Text("total", context="score"))] if table.with_total else []
    )
    fitting = max(1, (width - _NAMES) // _COLUMN)
    if table.with_total and width - _NAMES - (len(titles) - 1) * _COLUMN >= _TOTAL:
        fitting = len(titles)
    for start in range(0, len(titles), fitting):
        part = slice(start, start + fitting)
        title = None if start else str(Text("People and models"))
        drawn = Table(title=title, title_justify="left", title_style="bold")
        drawn.add_column("", overflow="fold")
        for name in titles[part]:
            drawn.add_column(escape(name), justify="right", no_wrap=True)
        for name, cells in rows:
            drawn.add_row(escape(name), *map(escape, cells[part]))
        console.print(drawn)
    console.print("\n".join(map(str, _remarks(table, kinds))), markup=False)
    return stream.getvalue()


class _Column:
    """One dataset of the table: its number of items stands in the head if it is that of every value."""

    def __init__(self, table: ComparisonTable, column: TableColumn) -> None:
        self._column = column
        self.people = column.people
        self.majority = table.people_majority(column.key)
        self._cells = {name: cells[column.key] for name, cells in table.models.items() if column.key in cells}
        values = [self.people, *self._cells.values()]
        counts = {one.n for one in values if one and one.n is not None}
        if self.people and self.people.single:
            counts.add(self.people.single[1])
        if self.majority:
            counts.add(self.majority.n)
        self._n = counts.pop() if len(counts) == 1 else None

    def head(self) -> str:
        """Return the title, the metric and the number of items."""
        items = [] if self._n is None else [f"n = {self._n}"]
        return "\n".join([self._column.title, ", ".join([*filter(None, [self._column.metric]), *items])])

    def has(self, kind: str) -> bool:
        """Whether a model is compared with people in this way."""
        return any(cell.match(kind) for cell in self._cells.values())

    def cell(self, model: str) -> ModelCell | None:
        """Return a model's results."""
        return self._cells.get(model)

    def value(self, value: float, n: int | None, *more: str) -> str:
        """Format a value with what belongs to it, and with its number of items if the head has none."""
        items = [] if n is None or n == self._n else [f"n = {n}"]
        return " ".join([number(value, ".3f"), *filter(None, [*more, *items])])


def _people_rows(table: ComparisonTable, columns: Sequence[_Column]) -> Iterator[tuple[str, list[str]]]:
    total, filler = table.people_total(), [""] if table.with_total else []
    last = [_total(total)] if table.with_total else []
    cells = [
        one.value(one.people.value, one.people.n, _interval(one.people)) if one.people else "—"
        for one in columns
    ]
    yield str(Text("people, consensus")), [*cells, *last]
    if any(one.people and one.people.single for one in columns):
        singles = [
            one.value(*one.people.single) if one.people and one.people.single else "—" for one in columns
        ]
        yield str(Text("people, single person")), [*singles, *filler]
    if table.has_majority():
        majorities = [
            one.value(one.majority.first, one.majority.n) if one.majority else "—" for one in columns
        ]
        yield str(Text("people, majority")), [*majorities, *filler]


def _model_rows(
    table: ComparisonTable, columns: Sequence[_Column], kinds: Sequence[str]
) -> Iterator[tuple[str, list[str]]]:
    for model in table.models:
        held = [(one, one.cell(model)) for one in columns]
        last = [_total(table.model_total(model))] if table.with_total else []
        yield model, [*(_answers(one, cell, kinds) for one, cell in held), *last]
        majorities = [
            (one, cell, cell.match("majority")) if cell else (one, cell, None) for one, cell in held
        ]
        if any(match for _, _, match in majorities):
            sizes = {cell.k for _, cell, match in majorities if cell and match}
            told = [
                one.value(
                    match.difference.second,
                    match.difference.n,
                    mark_of(match),
                    f"k = {cell.k}" if len(sizes) > 1 else "",
                )
                if cell and match
                else ""
                for one, cell, match in majorities
            ]
            name = f"{model}, maj@{sizes.pop() if len(sizes) == 1 else 'k'}"
            yield name, [*told, *([""] if table.with_total else [])]


def _answers(column: _Column, cell: ModelCell | None, kinds: Sequence[str]) -> str:
    if cell is None or cell.value is None:
        return "—" if cell is None else str(Text("no score"))
    marks = [mark_of(cell.match(kind)) or "·" for kind in kinds] if cell.comparison else []
    return column.value(cell.value, cell.n, *marks)


def _interval(people: PeopleValue) -> str:
    if people.interval is None:
        return ""
    alone = "" if people.over_annotators else f" {OVER_ITEMS_ALONE}"
    low, high = (number(end, ".3f") for end in (people.interval.low, people.interval.high))
    return f"[{low}–{high}]{alone}"


def _total(total: TableTotal) -> str:
    if total.value is None:
        return "—"
    return f"{number(total.value, '.3f')} ({len(total.counted)}/{len(total.counted) + len(total.missing)})"


def _remarks(table: ComparisonTable, kinds: Sequence[str]) -> Iterator[Text]:
    """Yield the sentences below the table."""
    if kinds:
        yield Text(
            "Marks: {beside:consensus=beside the consensus of people|single=beside a single person|"
            "first beside the consensus of people, then beside a single person}.",
            beside="both" if len(kinds) > 1 else kinds[0],
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
    people = table.people_total()
    for model in table.models if table.with_total else ():
        total = table.model_total(model)
        if total.people is not None and total.counted != people.counted:
            yield Text("{model}: people on the same datasets {value:.3f}.", model=model, value=total.people)


def show_tests(comparisons: Iterable[ModelComparison], metric: str) -> None:
    """Print the verdicts, the differences and the tests of each model."""
    for comparison in comparisons:
        matches = comparison.matches
        show(*(verdict_sentence(match, comparison.model) for match in matches if match.verdict))
        show_table(
            zip(_ROWS, *map(_column, matches), strict=True),
            ["", *(_HEADS[match.kind] for match in matches)],
            title=Text(
                "People and {model}: {metric}, with 95 % intervals", model=comparison.model, metric=metric
            ),
        )
        show(*_lines(comparison), wrap=True)


_ROWS: Final = (
    Text("people", context="row"),
    Text("model", context="row"),
    Text("difference", context="row"),
    joined([" ", OVER_BOTH]),
    "p",
    Text("p, Holm"),
    Text("detectable"),
    Text("for these annotators"),
    joined([" ", OVER_ITEMS_ALONE]),
    "  p",
    Text("items", context="row"),
)


def _column(match: Match) -> tuple[object, ...]:
    difference, crossed = match.difference, match.crossed
    clusters = (
        Text(" in {n:# cluster|# clusters}", n=crossed.clusters) if crossed and crossed.clusters else ""
    )
    return (
        number(difference.first, ".3f"),
        number(difference.second, ".3f"),
        number(difference.value, "+.3f"),
        interval(match.both, "+.3f").strip() or "-",
        number(match.p, ".3g") if crossed else "-",
        number(match.corrected, ".3g"),
        "-" if match.detectable is None else number(match.detectable, ".3f"),
        "",
        interval(difference.interval, "+.3f").strip(),
        number(difference.test.p, ".3g"),
        f"{difference.n}{clusters}",
    )


def _lines(comparison: ModelComparison) -> Iterator[Text]:
    for match in comparison.matches:
        alone = Text("{test} for these annotators", test=match.difference.test.method)
        yield Text(
            "{comparison}: {tests}; the model is better on {better:# item|# items}, worse on {worse}",
            comparison=_HEADS[match.kind],
            tests=joined([match.crossed.method, alone], ", ") if match.crossed else alone,
            better=match.difference.better,
            worse=match.difference.worse,
        )
    if comparison.rank:
        share, sure = comparison.rank
        yield Text(
            "the model is above {share:.0%}{interval} of {n:# annotator|# annotators} by their true scores "
            "(chance removed)",
            share=share,
            interval=interval(sure, ".0%"),
            n=comparison.people,
        )


def _show_disagreement(models: Sequence[ModelDisagreement]) -> None:
    """Print a table for each model that has one, and groups below it."""
    for one in models:
        if one.found is None:
            continue
        show_table(
            _distributions(one.found),
            ["", Text("model", context="column"), "95 %", Text("people", context="column")],
            title=Text("Distribution of labels, people and {model}", model=one.model),
        )
        for name, groups in one.groups.items():
            heads = [
                *("", Text("items", context="column"), Text("agreement", context="column")),
                *(Text("ceiling"), Text("distance")),
            ]
            rows = [
                (
                    value,
                    found.items,
                    number(found.agreement.value, ".3f"),
                    number(found.agreement.ceiling or 0, ".3f"),
                    number(found.distance.value, "+.3f"),
                )
                for value, found in groups.items()
            ]
            show_table(rows, heads, title=Text("By {field}", field=name))
        if one.even:
            show(
                Text(
                    "people split evenly on {n:# item|# items}, which are ambiguous: {names}",
                    n=len(one.even),
                    names=listed([name[:40] for name in one.even], 5),
                )
            )


def _distributions(found: Disagreement) -> Iterator[tuple[object, ...]]:
    for name, one in found.measures().items():
        if isfinite(one.value):
            ceiling = "-" if one.ceiling is None else number(one.ceiling, ".3f")
            yield MEASURES[name], number(one.value, ".3f"), interval(one.interval).strip() or "-", ceiling
    yield Text("items", context="row"), found.items, "", ""
