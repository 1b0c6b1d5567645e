"""One table of people and models over all datasets.

Values, numbers of items, verdicts, kinds of human estimates, totals.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from typing import Final, NamedTuple, TypeAlias

from merilo.baselines.model_comparison import Match, ModelComparison, signed
from merilo.baselines.model_verdicts import Outcome
from merilo.datasets import dataset, names
from merilo.metrics.metric import total_score
from merilo.records import Span, rounded
from merilo.reports.comparison import Expense
from merilo.reports.estimates import EMPTY, OVER_ITEMS_ALONE, interval_json
from merilo.reports.human_table import KINDS
from merilo.reports.table import latex, latex_table, markdown, markdown_table
from merilo.statistics.intervals import Interval
from merilo.statistics.paired_tests import Difference
from merilo.strict_json import Json
from merilo.text import Text, joined

#: The marks of verdicts; the first two are ties with people.
MARKS: Final[Mapping[Outcome, str]] = {
    "human_level": "≡",
    "untold": "≈",
    "not_worse": "≥",
    "above": "↑",
    "below": "↓",
}
TIES: Final = ("human_level", "untold")

#: The kind of a human estimate that a baseline of the call gives; the others are those of the catalogue.
THIS_BASELINE: Final = "this baseline"


@dataclass(frozen=True, slots=True)
class PeopleValue:
    """People's main metric on one dataset.

    Attributes:
        value: the metric.
        n: the number of items; `None` if the source does not give it.
        kind: `THIS_BASELINE`, or the provenance of the catalogue.
        source: the folder of the baseline, or the source of the published value.
        interval: the interval of record; `None` if there is none.
        single: the mean score of a single person and its number of items.
        rejected: whether the baseline is rejected.
        simulated: whether its annotators are simulated.
        over_annotators: whether the interval is over items and annotators; otherwise it is over items alone.
        spent: the money and time of all annotators together.
        spent_each: the same with the number of answers in place of that of items.
    """

    value: float
    n: int | None
    kind: str
    source: str
    interval: Span | None = None
    single: tuple[float, int] | None = None
    rejected: bool = False
    simulated: bool = False
    over_annotators: bool = True
    spent: Expense | None = None
    spent_each: Expense | None = None

    def remarks(self) -> list[Text]:
        """Return the kind of the estimate, and whether its annotators are simulated and the baseline rejected."""
        kind = Text("measured by this baseline") if self.kind == THIS_BASELINE else KINDS[self.kind]
        simulated = [Text("simulated annotators")] if self.simulated else []
        return [kind, *simulated, *([Text("rejected baseline")] if self.rejected else [])]


@dataclass(frozen=True, slots=True)
class TableColumn:
    """One dataset of the table.

    Attributes:
        key: the dataset's name.
        title: its title.
        metric: its main metric.
        in_total: whether it counts in the benchmark's total score.
        people: people's value; `None` if none is known.
        main: people's values of all main metrics, for the total.
    """

    key: str
    title: str
    metric: str
    in_total: bool
    people: PeopleValue | None
    main: Mapping[str, float] = field(default_factory=dict)

    @property
    def is_rejected(self) -> bool:
        """Whether people's value comes from a rejected baseline."""
        return self.people is not None and self.people.rejected


@dataclass(frozen=True, slots=True)
class ModelCell:
    """A model's results on one dataset.

    Attributes:
        value: the mean score of the model's single answers; `None` if it is not known.
        n: the number of items.
        comparison: the comparison with people; `None` if there is no baseline.
        samples: the number of answers to an item, the smallest and the largest.
        committee: how many annotators answered an item, the smallest and the largest number: the k of `maj@k`.
        main: the model's values of all main metrics, for the total.
        reason: why there is no value or no comparison.
        interval: the interval of the value, over items.
        spent: money and time; `None` if they are not known.
    """

    value: float | None
    n: int | None
    comparison: ModelComparison | None = None
    samples: tuple[int, int] = (1, 1)
    committee: tuple[int, int] = (1, 1)
    main: Mapping[str, float] = field(default_factory=dict)
    reason: str = ""
    interval: Interval | None = None
    spent: Expense | None = None

    @property
    def marked(self) -> tuple[Match, ...]:
        """The comparisons whose marks stand in the table."""
        return self.comparison.marked if self.comparison else ()

    @property
    def k(self) -> str:
        """The size of the majorities, which may differ between items."""
        low, high = self.committee
        return str(low) if low == high else f"{low}–{high}"

    def match(self, kind: str) -> Match | None:
        """Return one comparison with people or with the first model."""
        matches = self.comparison.every if self.comparison else ()
        return next((one for one in matches if one.kind == kind), None)


@dataclass(frozen=True, slots=True)
class TableTotal:
    """A total score.

    Attributes:
        value: the mean over datasets of the mean of their main metrics; `None` without datasets.
        counted: the datasets that it is computed over.
        missing: the datasets that a complete total needs too.
        people: people's total over the same datasets, for a model; `None` if people lack one of them.
    """

    value: float | None
    counted: tuple[str, ...]
    missing: tuple[str, ...]
    people: float | None = None

    def to_dict(self) -> dict[str, Json]:
        """Return the total as JSON."""
        return {
            "value": None if self.value is None else rounded(self.value),
            "datasets": [*self.counted],
            "missing": [*self.missing],
            "people_on_the_same": None if self.people is None else rounded(self.people),
        }


@dataclass(frozen=True, slots=True)
class ComparisonTable:
    """People and models over all datasets.

    Attributes:
        columns: the datasets.
        models: mapping from model to its cells by dataset.
        with_total: whether the metrics are those of the total score.
        family: the number of comparisons whose p-values are corrected together; see `Comparison.family`.
        pairs: the same number for the comparisons with the first model.
    """

    columns: tuple[TableColumn, ...]
    models: Mapping[str, Mapping[str, ModelCell]]
    with_total: bool = True
    family: int = 0
    pairs: int = 0

    def people_total(self) -> TableTotal:
        """Return people's total over the datasets of the table that count in it; rejected baselines do not count."""
        main = {one.key: [*one.main.values()] for one in self._counting() if one.main and not one.is_rejected}
        return TableTotal(_total(main), tuple(main), _missing(main))

    def model_total(self, model: str) -> TableTotal:
        """Return a model's total, and people's on the same datasets."""
        cells = self.models[model]
        columns = [one for one in self._counting() if one.key in cells and cells[one.key].main]
        main = {one.key: [*cells[one.key].main.values()] for one in columns}
        people = {one.key: [] if one.is_rejected else [*one.main.values()] for one in columns}
        return TableTotal(
            _total(main), tuple(main), _missing(main), _total(people) if all(people.values()) else None
        )

    def _counting(self) -> list[TableColumn]:
        return [one for one in self.columns if one.in_total] if self.with_total else []

    def has_majority(self) -> bool:
        """Whether a model has a majority of several answers."""
        return any(map(self.people_majority, (one.key for one in self.columns)))

    def people_majority(self, key: str) -> Difference | None:
        """Return the comparison of majorities on a dataset, which has that of people; `None` if no model has one."""
        cells = (cells[key] for cells in self.models.values() if key in cells)
        return next((match.difference for cell in cells if (match := cell.match("majority"))), None)

    def to_dict(self) -> dict[str, Json]:
        """Return the table as JSON."""
        return {
            "columns": [
                {"dataset": one.key, "title": one.title, "metric": one.metric, "in_total": one.in_total}
                for one in self.columns
            ],
            "people": {one.key: _people_json(one) for one in self.columns},
            "models": [
                {"model": name, "datasets": {key: _cell_json(cell) for key, cell in cells.items()}}
                for name, cells in self.models.items()
            ],
        }

    def spent(self) -> dict[tuple[str, str], Expense]:
        """Return money and time by model; without a model, of all people (`consensus`) and of one (`single`).

        They are over the datasets of which people's are known, or over all without people. Empty unless a model's are
        known, and people's if there are people.
        """
        known = [one for one in self.columns if one.people and one.people.spent and one.people.spent_each]
        columns = known or [
            one for one in self.columns if one.people is None or one.people.kind != THIS_BASELINE
        ]
        keys = {one.key for one in columns}
        models = {
            (name, ""): [cell.spent for key, cell in cells.items() if key in keys and cell.spent]
            for name, cells in self.models.items()
        }
        if not any(models.values()):
            return {}
        people = {
            ("", "consensus"): [one.people.spent for one in known if one.people and one.people.spent],
            ("", "single"): [one.people.spent_each for one in known if one.people and one.people.spent_each],
        }
        return {name: Expense.sum(parts) for name, parts in (people | models).items() if parts}

    def totals(self) -> Json:
        """Return the totals as JSON; `None` if the metrics are not those of the total."""
        if not self.with_total:
            return None
        models: dict[str, Json] = {name: self.model_total(name).to_dict() for name in self.models}
        people = self.people_total().to_dict()
        del people["people_on_the_same"]
        return {"people": people, "models": models}


def main_metrics(key: str) -> tuple[str, ...]:
    """Return the main metrics of a dataset of the catalogue; empty for others."""
    return dataset(key).metrics if key in names() else ()


def published_value(key: str, metric: str) -> PeopleValue | None:
    """Return the catalogue's human value of a metric; `None` if there is none."""
    if key not in names():
        return None
    found = next((one for one in dataset(key).human if one.metric == metric), None)
    return None if found is None else PeopleValue(found.value, found.n, found.provenance, found.source)


def _total(main: Mapping[str, Sequence[float]]) -> float | None:
    return total_score(main) if main else None


def _missing(counted: Mapping[str, object]) -> tuple[str, ...]:
    return tuple(name for name in names() if dataset(name).in_total and name not in counted)


def _people_json(column: TableColumn) -> Json:
    people = column.people
    if people is None:
        return None
    single = people.single
    return {
        "value": rounded(people.value),
        "ci95": None if people.interval is None else [rounded(end) for end in people.interval],
        "interval_over": _over(people),
        "n": people.n,
        "kind": people.kind,
        "source": people.source,
        "status": "rejected" if people.rejected else None if people.kind != THIS_BASELINE else "accepted",
        "simulated": people.simulated,
        "per_item": people.spent.to_json() if people.spent else None,
        "single_person": None if single is None else {"value": rounded(single[0]), "n": single[1]},
        "main_metrics": {name: rounded(value) for name, value in column.main.items()},
    }


def _over(people: PeopleValue) -> str | None:
    if people.interval is None:
        return None
    return "items and annotators" if people.over_annotators else "items"


def _cell_json(cell: ModelCell) -> Json:
    majority = cell.match("majority")
    return {
        "value": None if cell.value is None else rounded(cell.value),
        "n": cell.n,
        "ci95": interval_json(cell.interval),
        "per_item": cell.spent.to_json() if cell.spent else None,
        "samples": {"fewest": cell.samples[0], "most": cell.samples[1]},
        "beside_consensus": _verdict(cell.match("consensus")),
        "beside_single_person": _verdict(cell.match("single")),
        "beside_first_model": _verdict(cell.match("first")),
        "maj_at_k": None
        if majority is None
        else {
            "k": [*cell.committee],
            "value": rounded(majority.difference.second),
            "people": rounded(majority.difference.first),
            "n": majority.difference.n,
            "beside_majority": _verdict(majority),
        },
        "main_metrics": {name: rounded(value) for name, value in cell.main.items()},
        "reason": cell.reason or None,
    }


def _verdict(match: Match | None) -> Json:
    if match is None or match.verdict is None:
        return None
    outcome = match.verdict.outcome
    return {
        "verdict": outcome,
        "significant": match.verdict.significant,
        "tie": outcome in TIES,
        "p_holm": rounded(match.corrected, 9),
        "n": match.difference.n,
    }


#: Whom a model is compared with, after the mark.
_BESIDE: Final = {
    "consensus": Text("consensus", context="beside"),
    "single": Text("single person", context="beside"),
    "majority": Text("majority of people", context="beside"),
}

#: What the marks mean.
MARK_NAMES: Final[dict[Outcome, Text]] = {
    "human_level": Text("equivalent within the margin"),
    "untold": Text("above or below cannot be told by this study"),
    "not_worse": Text("not worse by the margin"),
    "above": Text("above", context="mark"),
    "below": Text("below", context="mark"),
}


#: The lines of a cell.
Lines: TypeAlias = tuple[Text | str, ...]


class GridRow(NamedTuple):
    """One row of the table: who, and the lines of each cell.

    Attributes:
        name: who it is about.
        cells: the lines of each cell, one cell a dataset and the total last.
        human: whether it is about people.
        ties: for each cell, whether a test did not distinguish the model from people.
    """

    name: Text | str
    cells: tuple[Lines, ...]
    human: bool
    ties: tuple[bool, ...]


def heads(table: ComparisonTable) -> list[tuple[Text | str, str]]:
    """Return the title and the metric of each column; the total is last."""
    total = [(Text("total", context="score"), "")] if table.with_total else []
    return [*((one.title, one.metric) for one in table.columns), *total]


def grid(table: ComparisonTable) -> list[GridRow]:
    """Return the rows of the table: people on top, then models."""
    columns, filler = table.columns, ((),) if table.with_total else ()

    def of_people(name: Text, cells: Iterable[Lines], last: tuple[Lines, ...]) -> GridRow:
        shown = (*cells, *last)
        return GridRow(name, shown, True, (False,) * len(shown))

    def of_model(name: Text | str, cells: Iterable[Lines], last: tuple[Lines, ...], *kinds: str) -> GridRow:
        ties = (*(_is_tie(held.get(one.key), kinds) for one in columns), *(False for _ in filler))
        return GridRow(name, (*cells, *last), False, ties)

    people = table.people_total()
    total = (_total_cell(people),) if table.with_total else ()
    rows = []
    if any(one.people for one in columns):
        rows.append(of_people(Text("people, consensus"), (_people(one.people) for one in columns), total))
    if any(one.people and one.people.single for one in columns):
        rows.append(
            of_people(Text("people, single person"), (_single(one.people) for one in columns), filler)
        )
    if table.has_majority():
        cells = (_people_majority(table, one) for one in columns)
        rows.append(of_people(Text("people, majority"), cells, filler))
    for model, held in table.models.items():
        answers = [_answers(held.get(one.key)) for one in columns]
        majorities = [_majority(held.get(one.key)) for one in columns]
        total = (_total_cell(table.model_total(model), people),) if table.with_total else ()
        name = Text("{model}, single answers", model=model) if any(majorities) else model
        rows.append(of_model(name, answers, total, "consensus", "single", "first"))
        if any(majorities):
            rows.append(of_model(f"{model}, maj@k", majorities, filler, "majority"))
    return rows


def notes(table: ComparisonTable) -> list[Text]:
    """Return the sentences below the table.

    The marks, the kinds of human values, and the missing datasets of the total.
    """
    used = {
        outcome
        for cells in table.models.values()
        for cell in cells.values()
        for match in cell.marked
        if match.verdict
        for outcome in (match.verdict.outcome, match.verdict.significant)
    }
    found = []
    cells = [cell for held in table.models.values() for cell in held.values()]
    if first := next((match.beside for cell in cells for match in cell.marked if match.beside), ""):
        found.append(Text("Differences and marks: beside {first}, over items.", first=first))
    marks = [
        Text("{mark} {name}", mark=mark, name=MARK_NAMES[name])
        for name, mark in MARKS.items()
        if name in used
    ]
    if marks:
        several = reduce(lambda first, second: Text("{first}; {second}", first=first, second=second), marks)
        found.append(Text("{marks}.", marks=several))
    if marks and (table.family or table.pairs):
        found.append(
            Text(
                "One correction (Holm) is over all {n:# comparison|# comparisons} of the table.",
                n=table.family or table.pairs,
            )
        )
    if used & {"human_level", "untold"}:
        found.append(Text("≡ and ≈ count as ties; ≈ does not show that the two are equal."))
    if any(one.people and one.people.kind != THIS_BASELINE for one in table.columns):
        found.append(
            Text(
                "Published human values come from other items or annotators; models are beside them without a test."
            )
        )
    if table.with_total:
        missing = [dataset(name).title for name in table.people_total().missing]
        rejected = [one.title for one in table.columns if one.in_total and one.people and one.people.rejected]
        if rejected:
            found.append(Text("Rejected baselines do not count in people’s total: {names}.", names=rejected))
        # A total of the benchmark means nothing beside a dataset that is not its own.
        if missing and {one.key for one in table.columns} <= set(names()):
            found.append(
                Text(
                    "A complete total needs {n:# more dataset|# more datasets}: {names}.",
                    n=len(missing),
                    names=", ".join(missing),
                )
            )
    return found


def comparison_markdown(table: ComparisonTable) -> str:
    """Render the table in Markdown."""
    titles = [
        "<br>".join(markdown(_english(one)) for one in (title, metric) if one)
        for title, metric in heads(table)
    ]
    rows = (
        [
            markdown(_english(row.name)),
            *("<br>".join(markdown(_english(line)) for line in cell) for cell in row.cells),
        ]
        for row in grid(table)
    )
    lines = markdown_table(["", *titles], rows)
    return "\n".join([*lines, "", *(markdown(one.en) + "  " for one in notes(table))]).rstrip() + "\n"


_LATEX_MARKS: Final = {
    "≡": r"$\equiv$",
    "≈": r"$\approx$",
    "≥": r"$\geq$",
    "↑": r"$\uparrow$",
    "↓": r"$\downarrow$",
    "–": "--",
    "—": "---",
}


def comparison_latex(table: ComparisonTable) -> str:
    """Render the table in LaTeX, for the package `booktabs`."""
    titles = [_stacked([title, metric]) for title, metric in heads(table)]
    rows = [(row.human, [_latex(_english(row.name)), *map(_stacked, row.cells)]) for row in grid(table)]
    parts = [[cells for human, cells in rows if human is people] for people in (True, False)]
    lines = latex_table(f"l{'r' * len(titles)}", ["", *titles], *filter(None, parts))
    return "\n".join([*lines, "", *(_latex(one.en) for one in notes(table))]) + "\n"


def _stacked(lines: Sequence[Text | str]) -> str:
    told = [_latex(_english(one)) for one in lines if one]
    # An interval after a line break would be read as the break's optional argument without the braces.
    return r"\begin{tabular}[t]{@{}r@{}}" + r" \\ {}".join(told) + r"\end{tabular}" if told else ""


def _latex(text: str) -> str:
    found = latex(text)
    for sign, command in _LATEX_MARKS.items():
        found = found.replace(sign, command)
    return found


def _number(value: float, n: int | None) -> Lines:
    """Return a value, and the number of its items if it is known."""
    return Text("{value:.3f}", value=value), *([] if n is None else [f"n = {n}"])


def _people(people: PeopleValue | None) -> Lines:
    if people is None:
        return (EMPTY,)
    value, *n = _number(people.value, people.n)
    return (value, *_interval(people), *n, *people.remarks())


def _interval(people: PeopleValue) -> Lines:
    """Return the interval of record; one over items alone has its name after it."""
    alone = "" if people.over_annotators else joined([" ", OVER_ITEMS_ALONE], "")
    return _span(people.interval, alone)


def _single(people: PeopleValue | None) -> Lines:
    single = people.single if people else None
    return (EMPTY,) if single is None else _number(*single)


def _people_majority(table: ComparisonTable, column: TableColumn) -> Lines:
    match = table.people_majority(column.key)
    return (EMPTY,) if match is None else _number(match.first, match.n)


def _answers(cell: ModelCell | None) -> Lines:
    if cell is None:
        return (EMPTY,)
    if cell.value is None:
        return (Text("no score"),)
    value, *n = _number(cell.value, cell.n)
    beside = [_beside(one) for one in cell.marked if one.kind != "majority"]
    return (value, *_span(cell.interval), *n, *(one for one in beside if one))


def _span(interval: Interval | Span | None, alone: Text | str = "") -> Lines:
    if interval is None:
        return ()
    return (Text("[{low:.3f}–{high:.3f}]{alone}", low=interval.low, high=interval.high, alone=alone),)


def _majority(cell: ModelCell | None) -> Lines:
    match = cell.match("majority") if cell else None
    if cell is None or match is None:
        return ()
    value, *_ = _number(match.difference.second, None)
    return value, f"k = {cell.k}, n = {match.difference.n}", _beside(match)


def _beside(match: Match | None) -> Text | str:
    if match and match.beside:
        return Text(
            "{mark} {value} [{low}, {high}]",
            mark=mark_of(match),
            value=signed(match.difference.value),
            low=signed(match.interval.low),
            high=signed(match.interval.high),
        )
    return joined([mark_of(match), _BESIDE[match.kind]]) if match and match.verdict else ""


def mark_of(match: Match | None) -> str:
    """Return the mark of a verdict; empty without one. A significant difference within the margin has two."""
    if match is None or match.verdict is None:
        return ""
    outcome, significant = match.verdict.outcome, match.verdict.significant
    return MARKS[outcome] + (MARKS[significant] if significant and outcome == "human_level" else "")


def _is_tie(cell: ModelCell | None, kinds: Sequence[str]) -> bool:
    found = [one for one in cell.marked if one.kind in kinds] if cell else []
    return any(one.verdict is not None and one.verdict.outcome in TIES for one in found)


def _total_cell(total: TableTotal, people: TableTotal | None = None) -> Lines:
    if total.value is None:
        return (EMPTY,)
    every = len(total.counted) + len(total.missing)
    counts = Text("{n} of {all:# dataset|# datasets}", n=len(total.counted), all=every)
    lines = *_number(total.value, None), counts
    if people is None or people.counted == total.counted or total.people is None:
        return lines
    return *lines, Text("people on the same: {value:.3f}", value=total.people)


def _english(line: Text | str) -> str:
    return line if isinstance(line, str) else line.en
