"""The table of human baselines: published values and the user's own studies, as JSON, Markdown, LaTeX and a page."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import yaml
from markupsafe import Markup

from merilo.baselines.baseline import Baseline, read_record
from merilo.datasets import dataset, names
from merilo.datasets.declaration import HumanFigure
from merilo.errors import DataError
from merilo.estimate import Estimate
from merilo.records import Number, Record
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


class OwnValue(Record):
    """What an own study measured.

    Attributes:
        estimate: the study's value of the metric.
        by_majority_alone: that by majorities alone, if they leave items out.
        people: the annotators that were not excluded.
        krippendorff_alpha: their agreement.
        cost: what they were paid in all.
        currency: the currency; `None` if it is not known.
        status: the status of the baseline.
        simulated: whether the annotators are simulated.
        folder: the folder as given.
    """

    estimate: Estimate
    by_majority_alone: Estimate | None
    people: int | None
    krippendorff_alpha: Number
    cost: Number
    currency: str | None
    status: str
    simulated: bool
    folder: str


class HumanRow(Record):
    """One metric of one dataset, in a table and in JSON.

    Attributes:
        dataset: the dataset's name.
        title: its name as the benchmark writes it.
        metric: the metric; empty if an own study has none.
        own: the user's study; `None` if there is none, or it has no value of the metric.
        test: mapping from version of the benchmark to the number of items in its test; empty if it is not known, and
            but for the first row of a dataset.
        published: the published values of this metric.
        published_by_group: the published values of groups, if the dataset has no others.
    """

    dataset: str
    title: str
    metric: str
    own: OwnValue | None
    test: dict[str, int]
    published: tuple[HumanFigure, ...]
    published_by_group: tuple[HumanFigure, ...]


def read_study(folder: Path) -> OwnStudy:
    """Read a study from a folder of `merilo baseline --out` or `merilo report --out`.

    Raises:
        InputError: the folder holds no record of a baseline.
    """
    return OwnStudy(folder, read_record(folder))


def human_rows(studies: Sequence[OwnStudy]) -> list[HumanRow]:
    """Return the rows of the table: the catalogue in its order, then studies of other datasets.

    A dataset has a row for each of its metrics, and as many sets of rows as it has studies.
    """
    rows = []
    for name in names():
        own = [study for study in studies if study.record.dataset == name]
        rows += [*_catalogue_rows(name, own or [None])]
    for study in studies:
        record, name = study.record, study.record.dataset or ""
        if name not in names():
            measured = [metric for metric, estimate in record.metrics.items() if estimate.value is not None]
            beside: dict[str, Any] = {"test": {}, "published": (), "published_by_group": ()}
            title = name or study.folder.name
            rows += [
                HumanRow(dataset=name, title=title, metric=metric, own=_own(study, metric), **beside)
                for metric in [*record.main_metrics] or measured or [""]
            ]
    return rows


def _catalogue_rows(name: str, studies: Sequence[OwnStudy | None]) -> Iterator[HumanRow]:
    """Yield the rows of a dataset of the catalogue: its metrics with each study, published values with the first."""
    declared, by_group = dataset(name), group_figures().get(dataset(name).title, ())
    # A text of ruEthics is an item for each of its questions, and the published table counts texts.
    asked = len({figure.metric.partition(".")[0] for figure in by_group}) or 1
    test = {version: size // asked for version, size in declared.sizes.items()}
    known = {figure.metric for figure in declared.human}
    metrics = [metric for metric in declared.metrics if by_group or not known or metric in known]
    for study in studies:
        for metric in metrics:
            first = study is studies[0]
            yield HumanRow(
                dataset=name,
                title=declared.title,
                metric=metric,
                own=_own(study, metric) if study else None,
                test=test if metric == metrics[0] else {},
                published=tuple(figure for figure in declared.human if first and figure.metric == metric),
                published_by_group=by_group if first else (),
            )


def _own(study: OwnStudy, metric: str) -> OwnValue | None:
    """Return the study's value of a metric; `None` without one."""
    record, estimate = study.record, study.record.metrics.get(metric)
    if estimate is None or estimate.value is None:
        return None
    return OwnValue(
        estimate=estimate,
        by_majority_alone=majority_alone(record, metric),
        people=record.annotator_counts.kept,
        krippendorff_alpha=record.agreement.krippendorff_alpha,
        cost=record.cost.total,
        currency=record.cost.currency,
        status=record.status,
        simulated=record.simulated,
        folder=shown(study.folder),
    )


def group_figures() -> dict[str, tuple[HumanFigure, ...]]:
    """Return the published values by group of the datasets that have them, by the dataset's title."""
    by_title = {
        declared.title: tuple(figure for figure in declared.human if figure.metric not in declared.metrics)
        for declared in map(dataset, names())
    }
    return {title: figures for title, figures in by_title.items() if figures}


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
    above = [None, *(row.dataset for row in rows)]
    cells = tuple(
        (row.title if row.dataset != before else "", *_cells(row), *_own_cells(row.own, beside))
        for row, before in zip(rows, above, strict=False)
    )
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
    by_group = row.published_by_group
    figures = row.published or by_group
    sizes = dict.fromkeys(EMPTY if figure.n is None else str(figure.n) for figure in figures)
    values: Cell = joined([Text("{value:.3f}", value=figure.value) for figure in row.published], "; ")
    return (
        f"{len(by_group)} {row.metric.upper()}" if by_group else row.metric or None,
        "***" if by_group else values if row.published else None,
        joined(dict.fromkeys(KINDS[figure.provenance] for figure in figures), "; ") if figures else None,
        "; ".join(sizes) or None,
        _test_sizes(row.test),
    )


def _own_cells(own: OwnValue | None, beside: Path | None) -> tuple[Cell, ...]:
    """Return the cells of the user's own study; empty ones without it."""
    if own is None:
        return ("",) * 7
    alone = own.by_majority_alone
    remarks = [
        Text("simulated") if own.simulated else "",
        status(own.status) if own.status != "accepted" else "",
        Text("by majorities: {alone:.3f}, n = {n}", alone=alone.value, n=alone.n) if alone else "",
    ]
    report = Path(own.folder) / "report.html"
    link = Link(Path(own.folder).name, str(os.path.relpath(report, beside) if beside else report))
    money = None if own.cost is None else Money(own.cost, own.currency)
    estimate, alpha = own.estimate, own.krippendorff_alpha
    return estimate, estimate.n, own.people, alpha, money, joined(remarks, "; "), link


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
                f"has no human figure to publish: it is {status(record.status)}",
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
