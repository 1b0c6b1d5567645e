"""The table of human baselines: published values and the user's own studies, as JSON, Markdown, LaTeX and a page."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NamedTuple

from markupsafe import Markup

from merilo.baselines.baseline import Baseline, read_record
from merilo.baselines.findings import STATUSES
from merilo.datasets import dataset, names
from merilo.datasets.declaration import HumanFigure
from merilo.estimate import Estimate
from merilo.reports.estimates import EMPTY, OVER_ITEMS_ALONE
from merilo.reports.html_page import page_environment
from merilo.reports.table import latex, latex_table, markdown, markdown_table
from merilo.strict_json import Json
from merilo.text import Language, Text, decimal
from merilo.wording import shown

#: The kinds of published figures.
KINDS: Final = {
    "measured": Text("measured"),
    "literature": Text("from the literature"),
    "official statistics": Text("official statistics"),
    "by definition": Text("by definition"),
}

#: The statuses that the table notes.
_STATUSES: Final[dict[str, Text]] = {
    name: text for name, (text, *_) in STATUSES.items() if name != "accepted"
}


class OwnStudy(NamedTuple):
    """The user's own study of a dataset: its folder as given, and the record in it."""

    folder: Path
    record: Baseline


@dataclass(frozen=True, slots=True)
class HumanRow:
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
    published: tuple[HumanFigure, ...]
    test: Mapping[str, int]
    study: OwnStudy | None
    first: bool
    by_group: tuple[HumanFigure, ...] = ()

    @property
    def own(self) -> Estimate | None:
        """Return the study's value of this metric."""
        own = self.study.record.metrics.get(self.metric) if self.study else None
        return own if own and own.value is not None else None


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
    rows: list[HumanRow] = []
    known = names()
    for name in known:
        declared = dataset(name)
        by_group = tuple(one for one in declared.human if one.metric not in declared.metrics)
        # A text of ruEthics is an item for each of its questions, and the published table counts texts.
        asked = len({one.metric.partition(".")[0] for one in by_group}) or 1
        test = {version: size // asked for version, size in declared.sizes.items()}
        metrics = [
            metric
            for metric in declared.metrics
            if not declared.human or by_group or any(one.metric == metric for one in declared.human)
        ]
        for at, study in enumerate([one for one in studies if one.record.dataset == name] or [None]):
            rows += [
                HumanRow(
                    name,
                    declared.title,
                    metric,
                    tuple(one for one in declared.human if one.metric == metric) if not at else (),
                    test if not position else {},
                    study,
                    not position,
                    by_group if not at else (),
                )
                for position, metric in enumerate(metrics)
            ]
    for study in studies:
        own = study.record.dataset or ""
        if own not in known:
            title = own or study.folder.name
            metrics = [name for name, one in study.record.metrics.items() if one.value is not None] or [""]
            rows += [
                HumanRow(own, title, metric, (), {}, study, not position)
                for position, metric in enumerate(metrics)
            ]
    return rows


def group_figures() -> dict[str, tuple[HumanFigure, ...]]:
    """Return the published values by group of the datasets that have them, by the dataset's title."""
    found = {}
    for name in names():
        declared = dataset(name)
        figures = tuple(one for one in declared.human if one.metric not in declared.metrics)
        if figures:
            found[declared.title] = figures
    return found


def table_json(rows: Sequence[HumanRow]) -> Json:
    """Return the table as JSON: one object per row."""
    return [
        {
            "dataset": row.dataset,
            "title": row.title,
            "metric": row.metric,
            "test": {**row.test},
            "published": [
                {"value": one.value, "n": one.n, "kind": one.provenance, "source": one.source}
                for one in row.published
            ],
            "published_by_group": {one.metric: one.value for one in row.by_group},
            "own": _own_json(row.study, row.own) if row.study and row.own else None,
        }
        for row in rows
    ]


def _own_json(study: OwnStudy, own: Estimate) -> dict[str, Json]:
    record, alone = study.record, study.record.by_majority_alone.get(own.name)
    return {
        "value": own.value,
        "ci95": None if own.ci95 is None else [*own.ci95],
        "interval_over": "items and annotators" if own.people else "items",
        "n": own.n,
        "by_majority_alone": {"value": alone.value, "n": alone.n}
        if alone and alone.value is not None
        else None,
        "people": record.annotator_counts.kept,
        "krippendorff_alpha": record.agreement.krippendorff_alpha,
        "cost": record.cost.total,
        "currency": record.cost.currency,
        "status": record.status,
        "simulated": record.simulated,
        "folder": shown(study.folder),
    }


#: The version of the benchmark that the published table describes.
_PUBLISHED: Final = "1.0"

_HEADS: Final = (
    Text("Dataset"),
    Text("Metric"),
    Text("Published"),
    Text("Kind"),
    Text("Samples in human evaluation with MV"),
    Text("Samples in test set"),
    Text("Own study"),
    Text("95 % interval over items and annotators"),
    Text("Items of own study"),
    Text("People"),
    Text("Alpha"),
    Text("Cost"),
    Text("Report"),
)


def _cells(row: HumanRow, language: Language) -> list[str]:
    """Return the texts of a row but the last, not escaped."""
    figures = row.published or row.by_group
    kinds = [KINDS[one.provenance].in_language(language) for one in figures]
    values = "***" if row.by_group else "; ".join(decimal(one.value, 3, language) for one in row.published)
    cells = [
        row.title if row.first else "",
        f"{len(row.by_group)} {row.metric.upper()}" if row.by_group else row.metric or EMPTY,
        values or EMPTY,
        "; ".join(kinds if len({*kinds}) > 1 else kinds[:1]) or EMPTY,
        "; ".join(dict.fromkeys(str(one.n) if one.n is not None else EMPTY for one in figures)) or EMPTY,
        _test_sizes(row.test),
    ]
    if row.study is None or row.own is None:
        return [*cells, *([""] * 6)]
    return [*cells, *_own_cells(row.study, row.own, language)]


def _own_cells(study: OwnStudy, own: Estimate, language: Language) -> list[str]:
    record = study.record
    value = decimal(own.value or 0.0, 3, language)
    alone = record.by_majority_alone.get(own.name)
    if alone and alone.n and alone.n != own.n:
        told = Text("(by majorities: {alone:.3f}, n = {n})", alone=alone.value, n=alone.n)
        value += f" {told.in_language(language)}"
    remarks: list[Text] = [
        *([Text("simulated")] if record.simulated else []),
        *filter(None, [_STATUSES.get(record.status)]),
    ]
    if remarks:
        value += f" [{', '.join(one.in_language(language) for one in remarks)}]"
    bounds = EMPTY
    if own.ci95:
        bounds = "–".join(decimal(end, 3, language) for end in own.ci95)
        if not own.people:
            bounds += f" ({OVER_ITEMS_ALONE.in_language(language)})"
    people, alpha, cost = record.annotator_counts.kept, record.agreement.krippendorff_alpha, record.cost
    return [
        value,
        bounds,
        str(own.n),
        EMPTY if people is None else str(people),
        EMPTY if alpha is None else decimal(alpha, 2, language),
        EMPTY if cost.total is None else f"{decimal(cost.total, 2, language)} {cost.currency or ''}".strip(),
    ]


def _test_sizes(sizes: Mapping[str, int]) -> str:
    """Format the size of the published table, that of version 1.0, and other sizes with their version."""
    texts = [str(sizes[_PUBLISHED])] if _PUBLISHED in sizes else []
    others = {n: version for version, n in sizes.items() if n != sizes.get(_PUBLISHED)}
    return " ".join(
        [*texts, *(f"({n} in v{version})" if texts else f"{n} (v{version})" for n, version in others.items())]
    )


def _link(study: OwnStudy | None, beside: Path | None) -> str:
    """Return the path of the study's report, relative to the folder of the table."""
    if study is None:
        return EMPTY
    report = study.folder / "report.html"
    return shown(os.path.relpath(report, beside) if beside else report)


def _matrix(
    figures: Sequence[HumanFigure],
) -> tuple[list[str], list[str], dict[tuple[str, str], HumanFigure]]:
    """Split names such as `correct.virtue` into columns and rows of a table."""
    cells = {}
    for one in figures:
        column, _, line = one.metric.rpartition(".")
        cells[line, column] = one
    return sorted({line for line, _ in cells}), list(dict.fromkeys(c for _, c in cells)), cells


def _value(figure: HumanFigure | None, language: Language) -> str:
    return EMPTY if figure is None else decimal(figure.value, 3, language)


def table_markdown(rows: Sequence[HumanRow], language: Language = "en", *, beside: Path | None = None) -> str:
    """Render the table in Markdown.

    Args:
        rows: the rows.
        language: the language of the heads and words.
        beside: the folder that the table is written to, from which links start.
    """
    cells = []
    for row in rows:
        linked = ""
        if row.study and row.own:
            linked = f"[{markdown(row.study.folder.name)}](<{_link(row.study, beside)}>)"
        cells.append([*map(markdown, _cells(row, language)), linked])
    lines = markdown_table([head.in_language(language) for head in _HEADS], cells)
    for title, columns, groups in _group_cells(language):
        sides = [[*map(markdown, row)] for row in groups]
        lines += ["", f"**{markdown(title)}**", "", *markdown_table(columns, sides)]
    return "\n".join(lines) + "\n"


def table_latex(rows: Sequence[HumanRow], language: Language = "en") -> str:
    """Render the table in LaTeX, for the package `booktabs`; the column of links is left out.

    Args:
        rows: the rows.
        language: the language of the heads and words.
    """
    heads = [_latex(head.in_language(language)) for head in _HEADS[:-1]]
    lines = latex_table("llllrrllrrrl", heads, ([*map(_latex, _cells(row, language))] for row in rows))
    for title, columns, groups in _group_cells(language):
        sides = [[*map(_latex, row)] for row in groups]
        shape = f"l{'r' * (len(columns) - 1)}"
        lines += ["", f"% {title}", *latex_table(shape, [*map(_latex, columns)], sides)]
    return "\n".join(lines) + "\n"


def _group_cells(language: Language) -> Iterator[tuple[str, list[str], list[list[str]]]]:
    """Return the title, the heads and the cells of each table of groups."""
    for title, figures in group_figures().items():
        sides, columns, found = _matrix(figures)
        rows = [[side, *(_value(found.get((side, one)), language) for one in columns)] for side in sides]
        yield title, ["", *columns], rows


def _latex(text: str) -> str:
    return latex(text).replace("–", "--").replace("—", "---")


def table_html(rows: Sequence[HumanRow], *, beside: Path | None = None) -> str:
    """Render the table as a page in both languages, without scripts.

    Args:
        rows: the rows.
        beside: the folder that the page is written to, from which links start.
    """
    body = []
    for row in rows:
        link = Markup("")
        if row.study is not None and row.own is not None:
            link = Markup('<a href="{}">{}</a>').format(_link(row.study, beside), row.study.folder.name)
        pairs = zip(_cells(row, "en"), _cells(row, "ru"), strict=True)
        sources = "; ".join(one.source for one in row.published)
        body.append({"cells": [*pairs], "link": link, "first": row.first, "source": sources})
    details = [(title, *_matrix(figures)) for title, figures in group_figures().items()]
    template = page_environment().get_template("human_table.html.j2")
    return template.render(heads=_HEADS, body=body, details=details)
