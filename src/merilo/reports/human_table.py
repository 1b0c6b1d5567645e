"""The table of human baselines: published values and the user's own studies, as JSON, Markdown, LaTeX and a page."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Final, NamedTuple

import yaml
from markupsafe import Markup

from merilo.baselines.baseline import Baseline, read_record
from merilo.datasets import dataset, names
from merilo.datasets.declaration import HumanFigure
from merilo.errors import DataError
from merilo.estimate import Estimate
from merilo.reports.facts import group_title, majority_alone, status
from merilo.reports.html_page import html_page
from merilo.reports.table import EMPTY, Cell, Form, Link, Section, Table, render
from merilo.strict_json import Json
from merilo.text import LANGUAGES, Language, Money, Text, joined
from merilo.wording import shown

#: The kinds of published figures.
KINDS: Final = {
    "measured": Text("measured"),
    "literature": Text("from the literature"),
    "official statistics": Text("official statistics"),
    "by definition": Text("by definition"),
}


class OwnStudy(NamedTuple):
    """The user's own study of a dataset: its folder as given, and the record in it."""

    folder: Path
    record: Baseline


class HumanRow(NamedTuple):
    """One metric of one dataset.

    Attributes:
        dataset: the dataset's name.
        title: its name as the benchmark writes it.
        metric: the metric; empty if the dataset's values are in the detail table.
        published: the published values of this metric.
        test: mapping from version of the benchmark to the number of items in its test; empty if it is not known.
        study: the user's study; `None` if there is none.
        first: whether this is the first row of the dataset.
        by_group: the published values of groups, if the dataset has no others; they are in a table of their own.
    """

    dataset: str
    title: str
    metric: str
    study: OwnStudy | None
    first: bool
    published: tuple[HumanFigure, ...] = ()
    test: Mapping[str, int] = MappingProxyType({})
    by_group: tuple[HumanFigure, ...] = ()

    @property
    def own(self) -> Estimate | None:
        """Return the study's value of this metric; `None` without one."""
        estimate = self.study.record.metrics.get(self.metric) if self.study else None
        return estimate if estimate and estimate.value is not None else None

    @property
    def alone(self) -> Estimate | None:
        """Return the study's value of this metric by majorities alone, if they leave items out."""
        return majority_alone(self.study.record, self.metric) if self.study else None


def read_study(folder: Path) -> OwnStudy:
    """Read a study from a folder of `merilo baseline --out` or `merilo report --out`.

    Raises:
        InputError: the folder holds no record of a baseline.
    """
    return OwnStudy(folder, read_record(folder))


def human_rows(studies: Sequence[OwnStudy]) -> list[HumanRow]:
    """Return the rows of the table: the catalogue in its order, then studies of other datasets.

    A dataset has a row for each of its metrics, and as many sets of rows as it has studies. A dataset whose published
    figures are all by group (ruEthics) has rows without published figures; see `group_figures`.

    Args:
        studies: the user's studies.
    """
    known = names()
    rows = [
        row
        for name in known
        for row in _catalogue_rows(
            name, [own_study for own_study in studies if own_study.record.dataset == name] or [None]
        )
    ]
    for study in studies:
        own = study.record.dataset or ""
        if own not in known:
            measured = [name for name, metric in study.record.metrics.items() if metric.value is not None]
            metrics = [*study.record.main_metrics] or measured or [""]
            title = own or study.folder.name
            rows += [HumanRow(own, title, metric, study, not at) for at, metric in enumerate(metrics)]
    return rows


def _catalogue_rows(name: str, studies: Sequence[OwnStudy | None]) -> Iterator[HumanRow]:
    """Yield the rows of a dataset of the catalogue: its metrics with each study, published values with the first."""
    declared, by_group = dataset(name), group_figures().get(dataset(name).title, ())
    # A text of ruEthics is an item for each of its questions, and the published table counts texts.
    asked = len({figure.metric.partition(".")[0] for figure in by_group}) or 1
    test = {version: size // asked for version, size in declared.sizes.items()}
    published = {figure.metric for figure in declared.human}
    shown = [
        declared_metric
        for declared_metric in declared.metrics
        if by_group or not published or declared_metric in published
    ]
    for at, study in enumerate(studies):
        for place, metric in enumerate(shown):
            row = HumanRow(name, declared.title, metric, study, first=not place, test={} if place else test)
            figures = tuple(figure for figure in declared.human if figure.metric == metric)
            yield row if at else row._replace(published=figures, by_group=by_group)


def group_figures() -> dict[str, tuple[HumanFigure, ...]]:
    """Return the published values by group of the datasets that have them, by the dataset's title."""
    by_title = {
        declared.title: tuple(figure for figure in declared.human if figure.metric not in declared.metrics)
        for declared in map(dataset, names())
    }
    return {title: figures for title, figures in by_title.items() if figures}


def table_json(rows: Sequence[HumanRow]) -> Json:
    """Return the table as JSON: one object per row."""
    return [
        {
            "dataset": row.dataset,
            "title": row.title,
            "metric": row.metric,
            "test": {**row.test},
            "published": [
                {"value": figure.value, "n": figure.n, "kind": figure.provenance, "source": figure.source}
                for figure in row.published
            ],
            "published_by_group": {figure.metric: figure.value for figure in row.by_group},
            "own": _own_json(row),
        }
        for row in rows
    ]


def _own_json(row: HumanRow) -> dict[str, Json] | None:
    if row.study is None or row.own is None:
        return None
    record, own, alone = row.study.record, row.own, row.alone
    return {
        "value": own.value,
        "ci95": None if own.ci95 is None else [*own.ci95],
        "n": own.n,
        "by_majority_alone": {"value": alone.value, "n": alone.n} if alone else None,
        "people": record.annotator_counts.kept,
        "krippendorff_alpha": record.agreement.krippendorff_alpha,
        "cost": record.cost.total,
        "currency": record.cost.currency,
        "status": record.status,
        "simulated": record.simulated,
        "folder": shown(row.study.folder),
    }


#: The version of the benchmark that the published table describes.
_PUBLISHED: Final = "1.0"

_HEADS: Final = (
    Text("Dataset"), Text("Metric"), Text("Published"), Text("Kind"), Text("Samples in human evaluation with MV"),
    Text("Samples in test set"), Text("Own study"), Text("Items of own study"), Text("People"), Text("Alpha"),
    Text("Cost"), Text("Remarks"), Text("Report"),
)  # fmt: skip


def human_table(rows: Sequence[HumanRow], *, beside: Path | None = None) -> list[Section]:
    """Return the table as sections: the datasets, and the published values by group.

    Args:
        rows: the rows.
        beside: the folder that the table is written to, from which links start.
    """
    note = Text(
        "Published values with their kind, and beside them those of own studies, with 95% confidence intervals. Values "
        "of different kinds should not be compared as if all were measured."
    )
    cells = tuple((*_cells(row), *_own_cells(row, beside)) for row in rows)
    tables = [Table(Text("Human baselines by dataset"), _HEADS, cells, (note,))]
    for title, figures in group_figures().items():
        values = {}
        for figure in figures:
            column, _, side = figure.metric.rpartition(".")
            values[side, column] = figure.value
        columns = [*dict.fromkeys(column for _, column in values)]
        sides = sorted({side for side, _ in values})
        lines = tuple(
            (group_title(side), *(values.get((side, column)) for column in columns)) for side in sides
        )
        tables.append(Table(Text("{title}", title=title), ("", *map(group_title, columns)), lines))
    return [Section("human", tables=tuple(tables))]


def _cells(row: HumanRow) -> tuple[Cell, ...]:
    """Return the cells of the published values."""
    figures = row.published or row.by_group
    sizes = dict.fromkeys(EMPTY if figure.n is None else str(figure.n) for figure in figures)
    values: Cell = joined([Text("{value:.3f}", value=figure.value) for figure in row.published], "; ")
    return (
        row.title if row.first else "",
        f"{len(row.by_group)} {row.metric.upper()}" if row.by_group else row.metric or None,
        "***" if row.by_group else values if row.published else None,
        joined(dict.fromkeys(KINDS[figure.provenance] for figure in figures), "; ") if figures else None,
        "; ".join(sizes) or None,
        _test_sizes(row.test),
    )


def _own_cells(row: HumanRow, beside: Path | None) -> tuple[Cell, ...]:
    """Return the cells of the user's own study; empty ones without it."""
    study, own, alone = row.study, row.own, row.alone
    if study is None or own is None:
        return ("",) * 7
    record, cost = study.record, study.record.cost
    remarks = [
        Text("simulated") if record.simulated else "",
        status(record) if record.status != "accepted" else "",
        Text("by majorities: {alone:.3f}, n = {n}", alone=alone.value, n=alone.n) if alone else "",
    ]
    report = study.folder / "report.html"
    link = Link(study.folder.name, shown(os.path.relpath(report, beside) if beside else report))
    money = None if cost.total is None else Money(cost.total, cost.currency)
    people, alpha = record.annotator_counts.kept, record.agreement.krippendorff_alpha
    return own, own.n, people, alpha, money, joined(remarks, "; "), link


def _test_sizes(sizes: Mapping[str, int]) -> Text | None:
    """Format the size of the published table, that of version 1.0, and other sizes with their version."""
    known = sizes.get(_PUBLISHED)
    others = {n: version for version, n in sizes.items() if n != known}
    texts: list[Text | str] = [str(known)] if known else []
    for n, version in others.items():
        in_version = Text("{n} (v{version})", n=n, version=version)
        texts.append(Text("({n} in v{version})", n=n, version=version) if known else in_version)
    return joined(texts) if texts else None


def eval_yaml(studies: Sequence[OwnStudy]) -> str:
    """Return own studies as `human_baseline` of the file eval.yaml that describes an evaluation of Inspect Evals.

    What that form has no field for stands in comments, in a form in which it could be added.

    Raises:
        DataError: there is no study, or a study has no value: it is rejected, simulated or without gold.
    """
    if not studies:
        raise DataError("eval.yaml holds your own studies: name their folders")
    parts = []
    for study in studies:
        record = study.record
        name, estimate = next(iter(record.main_metrics.items()), ("", Estimate()))
        if estimate.value is None or record.status == "rejected" or record.simulated:
            raise DataError(
                f"has no human figure to publish: it is {status(record)}",
                file=shown(study.folder),
                field=name or None,
            )
        beside: dict[str, Json] = {
            "ci95": estimate.ci95 and [round(bound, 4) for bound in estimate.ci95],
            "items": estimate.n,
            "annotators": estimate.people or record.annotator_counts.used,
        }
        if record.people and record.people.metric == name and (person := record.people.rows().get("median")):
            beside["median_annotator"] = person.value
        figure = {
            "metric": name,
            "score": round(estimate.value, 4),
            "source": f"{study.folder.name}/report.html",
        }
        comments = [f"# {line}" for line in _yaml(beside).splitlines()]
        parts.append(
            "\n".join([f"# {record.dataset}", _yaml({"human_baseline": figure}).rstrip(), *comments])
        )
    return "\n\n".join(parts) + "\n"


def _yaml(content: Mapping[str, object]) -> str:
    return yaml.safe_dump(dict(content), allow_unicode=True, sort_keys=False, default_flow_style=None)


def table_text(
    rows: Sequence[HumanRow], form: Form, language: Language = "en", *, beside: Path | None = None
) -> str:
    """Render the table; HTML is a page in both languages.

    Args:
        rows: the rows.
        form: the form.
        language: the language of the other forms.
        beside: as of `human_table`.
    """
    sections = human_table(rows, beside=beside)
    if form != "html":
        return render(sections, form, language) + "\n"
    title = Text("Human baselines")
    heading = Markup("<header><h1>{}</h1></header>\n{}")
    bodies = {}
    for each in LANGUAGES:
        tables = Markup(render(sections, "html", each))  # noqa: S704 - escaped
        bodies[each] = heading.format(title.in_language(each), tables)
    return html_page(
        title, bodies, style="main, nav { max-width: 84rem; } main { padding: 2rem; } .t { min-width: 3rem; }"
    )
