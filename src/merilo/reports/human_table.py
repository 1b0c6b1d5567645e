"""The table of human baselines: published values and the user's own studies, as JSON, Markdown, LaTeX and a page."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from markupsafe import Markup

from merilo.baselines.record import MetricRecord
from merilo.baselines.warnings import STATUSES
from merilo.datasets import dataset, names
from merilo.datasets.declaration import HumanFigure
from merilo.errors import InputError
from merilo.reports.charts import page_environment
from merilo.reports.estimates import OVER_ITEMS_ALONE
from merilo.reports.hb.verification import COSTS_FILE, METRICS_FILE
from merilo.reports.text_escapes import latex, markdown
from merilo.strict_json import Json, read_json
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

_EMPTY: Final = "—"

#: The files that hold the summary of a baseline, in a folder of `merilo baseline` or of `merilo report`.
SUMMARIES: Final = ("baseline.json", METRICS_FILE)


@dataclass(frozen=True, slots=True)
class OwnFigure:
    """One metric of the user's own study.

    Attributes:
        value: the metric of the consensus on all items with a consensus.
        low: the lower bound of the interval of record.
        high: the upper bound.
        n: the number of items.
        by_majority: the value and number of items by majorities only, which published tables give; `None` if it is the same.
        over_annotators: whether the interval is over items and annotators; otherwise it is over items alone.
    """

    value: float
    low: float | None
    high: float | None
    n: int
    by_majority: tuple[float, int] | None
    over_annotators: bool = True


@dataclass(frozen=True, slots=True)
class OwnStudy:
    """The user's own study of a dataset.

    Attributes:
        folder: the folder as given.
        summary: the file in it that holds the summary.
        dataset: the dataset's name; empty if the study names none.
        status: the status of the baseline, see `warnings.STATUSES`.
        simulated: whether its annotators are simulated.
        figures: mapping from metric to figure.
        people: the number of annotators whose answers count.
        alpha: Krippendorff's alpha; `None` if it is not defined.
        cost: the total cost; `None` if it is not known.
        currency: the currency of the cost.
    """

    folder: Path
    summary: Path
    dataset: str
    status: str
    simulated: bool
    figures: Mapping[str, OwnFigure]
    people: int | None
    alpha: float | None
    cost: float | None
    currency: str | None


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
    def own(self) -> OwnFigure | None:
        """Return the study's value of this metric."""
        return self.study.figures.get(self.metric) if self.study else None


def read_study(folder: Path) -> OwnStudy:
    """Read the values of a study.

    Args:
        folder: a folder of `merilo baseline --out` or `merilo report --out`.

    Raises:
        InputError: the folder holds no summary of a baseline.
    """
    path = next((folder / name for name in SUMMARIES if (folder / name).is_file()), None)
    if path is None:
        raise InputError("is not a baseline folder: baseline.json is missing", file=folder)
    content = read_json(path)
    if not isinstance(content, dict) or not isinstance(content.get("metrics"), dict):
        raise InputError("is not the summary of a baseline", file=path)
    # In a folder of merilo report, the cost is in a separate file.
    costs = folder / COSTS_FILE
    paid = read_json(costs) if path.name == METRICS_FILE and costs.is_file() else content
    annotators, agreement = (_object(content.get(name)) for name in ("annotators", "agreement"))
    cost = _object(_object(paid).get("cost"))
    total, excluded = _count(annotators.get("total")), _count(annotators.get("excluded"))
    currency = cost.get("currency")
    return OwnStudy(
        folder,
        path,
        str(content.get("dataset") or ""),
        str(content.get("status")),
        content.get("simulated") is True,
        {
            name: figure
            for name, one in _object(content["metrics"]).items()
            if (figure := _figure(_object(one))) is not None
        },
        None if total is None else total - (excluded or 0),
        _float(agreement.get("krippendorff_alpha")),
        _float(cost.get("total")),
        currency if isinstance(currency, str) else None,
    )


def _object(value: Json) -> Mapping[str, Json]:
    return value if isinstance(value, dict) else {}


def _float(value: Json) -> float | None:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def _count(value: Json) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _figure(content: Mapping[str, Json]) -> OwnFigure | None:
    one = MetricRecord.of_json(dict(content))
    if one.value is None:
        return None
    low, high = one.interval or (None, None)
    majority = one.by_majority
    return OwnFigure(
        one.value,
        low,
        high,
        one.n,
        (majority.value, majority.n) if majority and majority.value is not None else None,
        over_annotators=one.over_both is not None,
    )


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
        for at, study in enumerate([one for one in studies if one.dataset == name] or [None]):
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
        if study.dataset not in known:
            title = study.dataset or study.folder.name
            metrics = [*study.figures] or [""]
            rows += [
                HumanRow(study.dataset, title, metric, (), {}, study, not position)
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
            "own": None
            if row.own is None or row.study is None
            else {
                "value": row.own.value,
                "ci95": None if row.own.low is None else [row.own.low, row.own.high],
                "interval_over": "items and annotators" if row.own.over_annotators else "items",
                "n": row.own.n,
                "by_majority_alone": None
                if row.own.by_majority is None
                else {"value": row.own.by_majority[0], "n": row.own.by_majority[1]},
                "people": row.study.people,
                "krippendorff_alpha": row.study.alpha,
                "cost": row.study.cost,
                "currency": row.study.currency,
                "status": row.study.status,
                "simulated": row.study.simulated,
                "folder": shown(row.study.folder),
            },
        }
        for row in rows
    ]


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
        f"{len(row.by_group)} {row.metric.upper()}" if row.by_group else row.metric or _EMPTY,
        values or _EMPTY,
        "; ".join(kinds if len({*kinds}) > 1 else kinds[:1]) or _EMPTY,
        "; ".join(dict.fromkeys(str(one.n) if one.n is not None else _EMPTY for one in figures)) or _EMPTY,
        _test_sizes(row.test),
    ]
    if row.study is None or row.own is None:
        return [*cells, *([""] * 6)]
    return [*cells, *_own_cells(row.study, row.own, language)]


def _own_cells(study: OwnStudy, own: OwnFigure, language: Language) -> list[str]:
    value = decimal(own.value, 3, language)
    if own.by_majority is not None and own.by_majority[1] != own.n:
        alone, n = own.by_majority
        value += " " + Text("(by majorities: {alone:.3f}, n = {n})", alone=alone, n=n).in_language(language)
    remarks: list[Text] = [
        *([Text("simulated")] if study.simulated else []),
        *filter(None, [_STATUSES.get(study.status)]),
    ]
    if remarks:
        value += f" [{', '.join(one.ru if language == 'ru' else one.en for one in remarks)}]"
    bounds = _EMPTY
    if own.low is not None and own.high is not None:
        bounds = f"{decimal(own.low, 3, language)}–{decimal(own.high, 3, language)}"
        if not own.over_annotators:
            bounds += f" ({OVER_ITEMS_ALONE.in_language(language)})"
    return [
        value,
        bounds,
        str(own.n),
        _EMPTY if study.people is None else str(study.people),
        _EMPTY if study.alpha is None else decimal(study.alpha, 2, language),
        _EMPTY
        if study.cost is None
        else f"{decimal(study.cost, 2, language)} {study.currency or ''}".strip(),
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
        return "—"
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
    return _EMPTY if figure is None else decimal(figure.value, 3, language)


def table_markdown(rows: Sequence[HumanRow], language: Language = "en", *, beside: Path | None = None) -> str:
    """Render the table in Markdown.

    Args:
        rows: the rows.
        language: the language of the heads and words.
        beside: the folder that the table is written to, from which links start.
    """
    lines = _markdown_head([head.in_language(language) for head in _HEADS])
    for row in rows:
        linked = ""
        if row.study and row.own:
            linked = f"[{markdown(row.study.folder.name)}](<{_link(row.study, beside)}>)"
        lines.append("| " + " | ".join([*map(markdown, _cells(row, language)), linked]) + " |")
    for title, figures in group_figures().items():
        sides, columns, cells = _matrix(figures)
        lines += ["", f"**{markdown(title)}**", "", *_markdown_head(["", *columns])]
        for side in sides:
            values = [_value(cells.get((side, column)), language) for column in columns]
            lines.append(f"| {markdown(side)} | " + " | ".join(values) + " |")
    return "\n".join(lines) + "\n"


def _markdown_head(heads: Sequence[str]) -> list[str]:
    return ["| " + " | ".join(heads) + " |", "|" + " --- |" * len(heads)]


def table_latex(rows: Sequence[HumanRow], language: Language = "en") -> str:
    """Render the table in LaTeX, for the package `booktabs`; the column of links is left out.

    Args:
        rows: the rows.
        language: the language of the heads and words.
    """
    heads = [head.in_language(language) for head in _HEADS[:-1]]
    lines = _tabular("llllrrllrrrl", heads, (_cells(row, language) for row in rows))
    for title, figures in group_figures().items():
        sides, columns, cells = _matrix(figures)
        values = ([side, *(_value(cells.get((side, one)), language) for one in columns)] for side in sides)
        lines += ["", f"% {title}", *_tabular(f"l{'r' * len(columns)}", ["", *columns], values)]
    return "\n".join(lines) + "\n"


def _tabular(columns: str, heads: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    lines = [" & ".join(map(_latex, row)) + r" \\" for row in (heads, *rows)]
    return [
        rf"\begin{{tabular}}{{{columns}}}",
        r"\toprule",
        lines[0],
        r"\midrule",
        *lines[1:],
        r"\bottomrule",
        r"\end{tabular}",
    ]


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
