"""One table of people and models over all datasets: values, numbers of items, verdicts, kinds of human estimates, totals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from merilo.baselines.model_comparison import Match, ModelComparison
from merilo.baselines.model_verdicts import Outcome
from merilo.datasets import dataset, names
from merilo.metrics.total import total_score
from merilo.reports.comparison import number
from merilo.strict_json import Json

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
        low: the lower bound of the interval of record; `None` if there is none.
        high: its upper bound.
        single: the mean score of a single person and its number of items.
        rejected: whether the baseline is rejected.
        simulated: whether its annotators are simulated.
        over_annotators: whether the interval is over items and annotators; otherwise it is over items alone.
    """

    value: float
    n: int | None
    kind: str
    source: str
    low: float | None = None
    high: float | None = None
    single: tuple[float, int] | None = None
    rejected: bool = False
    simulated: bool = False
    over_annotators: bool = True


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
    """

    value: float | None
    n: int | None
    comparison: ModelComparison | None = None
    samples: tuple[int, int] = (1, 1)
    committee: tuple[int, int] = (1, 1)
    main: Mapping[str, float] = field(default_factory=dict)
    reason: str = ""

    def match(self, kind: str) -> Match | None:
        """Return one comparison with people."""
        matches = self.comparison.matches if self.comparison else ()
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
            "value": None if self.value is None else number(self.value),
            "datasets": [*self.counted],
            "missing": [*self.missing],
            "people_on_the_same": None if self.people is None else number(self.people),
        }


@dataclass(frozen=True, slots=True)
class ComparisonTable:
    """People and models over all datasets.

    Attributes:
        columns: the datasets.
        models: mapping from model to its cells by dataset.
        with_total: whether the metrics are those of the total score.
    """

    columns: tuple[TableColumn, ...]
    models: Mapping[str, Mapping[str, ModelCell]]
    with_total: bool = True

    def people_total(self) -> TableTotal:
        """Return people's total over the datasets of the table that count in it."""
        main = {one.key: [*one.main.values()] for one in self._counting() if one.main}
        return TableTotal(_total(main), tuple(main), _missing(main))

    def model_total(self, model: str) -> TableTotal:
        """Return a model's total, and people's on the same datasets."""
        cells = self.models[model]
        columns = [one for one in self._counting() if one.key in cells and cells[one.key].main]
        main = {one.key: [*cells[one.key].main.values()] for one in columns}
        people = {one.key: [*one.main.values()] for one in columns}
        return TableTotal(
            _total(main), tuple(main), _missing(main), _total(people) if all(people.values()) else None
        )

    def _counting(self) -> list[TableColumn]:
        return [one for one in self.columns if one.in_total] if self.with_total else []

    def has_majority(self) -> bool:
        """Whether a model has a majority of several answers."""
        return any(cell.match("majority") for cells in self.models.values() for cell in cells.values())

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
        "value": number(people.value),
        "ci95": None
        if people.low is None or people.high is None
        else [number(people.low), number(people.high)],
        "interval_over": None
        if people.low is None
        else "items and annotators"
        if people.over_annotators
        else "items",
        "n": people.n,
        "kind": people.kind,
        "source": people.source,
        "status": "rejected" if people.rejected else None if people.kind != THIS_BASELINE else "accepted",
        "simulated": people.simulated,
        "single_person": None if single is None else {"value": number(single[0]), "n": single[1]},
        "main_metrics": {name: number(value) for name, value in column.main.items()},
    }


def _cell_json(cell: ModelCell) -> Json:
    majority = cell.match("majority")
    return {
        "value": None if cell.value is None else number(cell.value),
        "n": cell.n,
        "samples": {"fewest": cell.samples[0], "most": cell.samples[1]},
        "beside_consensus": _verdict(cell.match("consensus")),
        "beside_single_person": _verdict(cell.match("single")),
        "maj_at_k": None
        if majority is None
        else {
            "k": [*cell.committee],
            "value": number(majority.difference.second),
            "people": number(majority.difference.first),
            "n": majority.difference.n,
            "beside_majority": _verdict(majority),
        },
        "main_metrics": {name: number(value) for name, value in cell.main.items()},
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
        "p_holm": number(match.corrected, 9),
        "n": match.difference.n,
    }
