"""The table of human baselines as Markdown, LaTeX and a page in both languages."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from markupsafe import Markup, escape

from merilo.baselines.warnings import STATUSES
from merilo.bilingual import Language
from merilo.datasets.declaration import HumanFigure
from merilo.reports.charts import page_environment
from merilo.reports.estimates import OVER_ITEMS_ALONE
from merilo.reports.human_table import HumanRow, OwnStudy, group_figures
from merilo.wording import shown

#: The statuses that the table notes.
_STATUSES: Final = {name: (text.en, text.ru) for name, (text, *_) in STATUSES.items() if name != "accepted"}

#: The kinds of published figures in English and Russian.
KINDS: Final = {
    "measured": ("measured", "измерено"),
    "literature": ("from the literature", "из литературы"),
    "official statistics": ("official statistics", "официальная статистика"),
    "by definition": ("by definition", "по определению"),
}

#: The version of the benchmark that the published table describes.
_PUBLISHED: Final = "1.0"

_HEADS: Final = (
    ("Dataset", "Датасет"),
    ("Metric", "Метрика"),
    ("Published", "Опубликовано"),
    ("Kind", "Происхождение"),
    ("Samples in human evaluation with MV", "Вопросов с большинством голосов"),
    ("Samples in test set", "Вопросов в тесте"),
    ("Own study", "Своё исследование"),
    ("95 % interval over items and annotators", "95%-й интервал по вопросам и разметчикам"),
    ("Items of own study", "Вопросов в своём исследовании"),
    ("People", "Людей"),
    ("Alpha", "Альфа"),
    ("Cost", "Стоимость"),
    ("Report", "Отчёт"),
)


def _cells(row: HumanRow, language: Language, link: str) -> list[str]:
    """Return the texts of a row, not escaped."""
    ru = language == "ru"
    empty = "—"

    def plain(value: float, digits: int = 3) -> str:
        text = f"{value:.{digits}f}"
        return text.replace(".", ",") if ru else text

    shown_figures = row.published or row.by_group
    kinds = [KINDS[one.provenance][ru] for one in shown_figures]
    metric = f"{len(row.by_group)} {row.metric.upper()}" if row.by_group else row.metric
    values = "***" if row.by_group else "; ".join(plain(one.value) for one in row.published)
    cells = [
        row.title if row.first else "",
        metric or empty,
        values or empty,
        "; ".join(kinds if len({*kinds}) > 1 else kinds[:1]) or empty,
        "; ".join(dict.fromkeys(str(one.n) if one.n is not None else empty for one in shown_figures))
        or empty,
        _test_sizes(row.test),
    ]
    own, study = row.own, row.study
    if study is None or own is None:
        return [*cells, *([""] * 7)]
    value = plain(own.value)
    if own.by_majority is not None and own.by_majority[1] != own.n:
        words = ("by majorities", "по большинству")[ru]
        value += f" ({words}: {plain(own.by_majority[0])}, n = {own.by_majority[1]})"
    notes = [
        *([("simulated", "смоделировано")[ru]] if study.simulated else []),
        *(text[ru] for name, text in _STATUSES.items() if study.status == name),
    ]
    if notes:
        value += f" [{', '.join(notes)}]"
    bounds = empty if own.low is None or own.high is None else f"{plain(own.low)}–{plain(own.high)}"
    if bounds != empty and not own.over_annotators:
        bounds = f"{bounds} ({(OVER_ITEMS_ALONE.ru if ru else OVER_ITEMS_ALONE.en)})"
    cost = empty if study.cost is None else f"{plain(study.cost, 2)} {study.currency or ''}".strip()
    return [
        *cells,
        value,
        bounds,
        str(own.n),
        empty if study.people is None else str(study.people),
        empty if study.alpha is None else plain(study.alpha, 2),
        cost,
        link,
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
    return "—" if figure is None else f"{figure.value:.3f}".replace(".", "," if language == "ru" else ".")


def table_markdown(rows: Sequence[HumanRow], language: Language = "en", *, beside: Path | None = None) -> str:
    """Render the table in Markdown.

    Args:
        rows: the rows.
        language: the language of the heads and words.
        beside: the folder that the table is written to, from which links start.
    """
    ru = language == "ru"
    lines = ["| " + " | ".join(head[ru] for head in _HEADS) + " |", "|" + " --- |" * len(_HEADS)]
    for row in rows:
        texts = [_markdown(cell) for cell in _cells(row, language, "")[:-1]]
        target = _link(row.study, beside)
        linked = f"[{_markdown(row.study.folder.name)}](<{target}>)" if row.study and row.own else ""
        lines.append("| " + " | ".join([*texts, linked]) + " |")
    for title, figures in group_figures().items():
        sides, columns, cells = _matrix(figures)
        lines += ["", f"**{_markdown(title)}**", "", "| | " + " | ".join(columns) + " |"]
        lines.append("|" + " --- |" * (len(columns) + 1))
        for side in sides:
            values = [_value(cells.get((side, column)), language) for column in columns]
            lines.append(f"| {_markdown(side)} | " + " | ".join(values) + " |")
    return "\n".join(lines) + "\n"


def _markdown(text: str) -> str:
    """Escape text for a cell of a Markdown table."""
    folded = " ".join(text.split())
    for sign in "\\`*_[]<>|#":
        folded = folded.replace(sign, f"\\{sign}" if sign not in "<>" else {"<": "&lt;", ">": "&gt;"}[sign])
    return folded


_LATEX: Final = {
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "$": r"\$", "&": r"\&", "#": r"\#", "%": r"\%", "_": r"\_",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "–": "--", "—": "---",
}  # fmt: skip


def _latex(text: str) -> str:
    return "".join(_LATEX.get(sign, sign) for sign in " ".join(text.split()))


def table_latex(rows: Sequence[HumanRow], language: Language = "en") -> str:
    """Render the table in LaTeX, for the package `booktabs`; the column of links is left out.

    Args:
        rows: the rows.
        language: the language of the heads and words.
    """
    ru = language == "ru"
    heads = [_latex(head[ru]) for head in _HEADS[:-1]]
    lines = [r"\begin{tabular}{llllrrllrrrl}", r"\toprule", " & ".join(heads) + r" \\", r"\midrule"]
    lines += [" & ".join(map(_latex, _cells(row, language, "")[:-1])) + r" \\" for row in rows]
    lines += [r"\bottomrule", r"\end{tabular}"]
    for title, figures in group_figures().items():
        sides, columns, cells = _matrix(figures)
        lines += ["", f"% {title}", rf"\begin{{tabular}}{{l{'r' * len(columns)}}}", r"\toprule"]
        lines += [" & ".join(["", *map(_latex, columns)]) + r" \\", r"\midrule"]
        for side in sides:
            values = [_latex(_value(cells.get((side, column)), language)) for column in columns]
            lines.append(" & ".join([_latex(side), *values]) + r" \\")
        lines += [r"\bottomrule", r"\end{tabular}"]
    return "\n".join(lines) + "\n"


def table_html(rows: Sequence[HumanRow], *, beside: Path | None = None) -> str:
    """Render the table as a page in both languages, without scripts.

    Args:
        rows: the rows.
        beside: the folder that the page is written to, from which links start.
    """
    environment = page_environment()
    body = []
    for row in rows:
        link = Markup("")
        if row.study is not None and row.own is not None:
            link = Markup('<a href="{}">{}</a>').format(_link(row.study, beside), row.study.folder.name)
        pairs = zip(_cells(row, "en", "")[:-1], _cells(row, "ru", "")[:-1], strict=True)
        texts = [
            escape(en)
            if en == ru
            else Markup('<span lang="en">{}</span><span lang="ru">{}</span>').format(en, ru)
            for en, ru in pairs
        ]
        sources = "; ".join(one.source for one in row.published)
        body.append({"cells": [*texts, link], "first": row.first, "source": sources})
    tables = {title: _matrix(figures) for title, figures in group_figures().items()}
    details = [(title, sides, columns, cells) for title, (sides, columns, cells) in tables.items()]
    return environment.get_template("human_table.html.j2").render(heads=_HEADS, body=body, details=details)
