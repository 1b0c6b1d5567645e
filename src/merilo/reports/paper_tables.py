"""Tables, the methods paragraph and citations for a paper, in LaTeX, Markdown or CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from merilo.reports.baseline_facts import MetricFacts, Span, dataset_title, metric_facts, metric_of
from merilo.reports.bibliography import Source, bibtex, sources
from merilo.reports.json_record import count_at, interval_at, mapping_at, number_at
from merilo.reports.metric_names import metric_title
from merilo.reports.prose import human_baseline_section
from merilo.reports.text_escapes import csv_cell, latex, markdown
from merilo.strict_json import Json
from merilo.text import Language, Text

Format: TypeAlias = Literal["latex", "markdown", "csv"]
SUFFIXES: Final[Mapping[Format, str]] = {"latex": ".tex", "markdown": ".md", "csv": ".csv"}

#: Columns whose cells are numbers and stand to the right.
_TEXT_COLUMNS: Final = frozenset({"metric", "field", "value", "group", "respondents", "interval over"})

#: The column with the kind of interval, and its cells.
_INTERVAL_OVER: Final = "interval over"
_OVER_BOTH: Final = Text("items and annotators")
_ITEMS_ALONE: Final = Text("items alone")


@dataclass(frozen=True, slots=True)
class PaperTable:
    """A table for a paper.

    Attributes:
        name: the name of its file and label.
        caption: its caption.
        columns: the names of its columns.
        rows: its rows; a missing value is an empty text.
    """

    name: str
    caption: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def metric_table(content: Mapping[str, Json], plan: Mapping[str, Json] | None = None) -> PaperTable:
    """Make the table of metrics: the consensus, the majorities alone and a single annotator, each with interval and counts.

    Args:
        content: the JSON of the baseline.
        plan: the content of `study.yaml`, for the dataset's name.
    """
    rows = []
    # With adaptive overlap, a single annotator's answers are only those collected by design.
    adaptive = bool(mapping_at(content, "adaptive"))
    for one in metric_facts(content):
        name = metric_title(one.name).en
        people = _count(count_at(content, "metrics", one.name, "annotators"))
        own = one.single[3] if one.single and not adaptive else None
        answers = _count(own if "." in one.name else count_at(content, "responses", "used"))
        who_answered = "people" if one.name.startswith("pass@") else "consensus"
        rows.append((name, who_answered, _value(one.value), *_ends(one), str(one.n), answers, people))
        if alone := one.by_majority:
            rows.append((name, "majorities alone", _value(alone.value), *_ends(alone), str(alone.n), "", ""))
        if one.single:
            mean, span, who, given = one.single
            items = _count(count_at(content, "metrics", one.name, "single_person", "items"))
            ends = _span(span, _OVER_BOTH)
            rows.append((name, "single annotator", _value(mean), *ends, items, str(given), str(who)))
    title = dataset_title(content, plan)
    caption = f"Human baseline{f' of {title}' if title else ''}: metrics with 95% confidence intervals."
    columns = (
        "metric",
        "respondents",
        "estimate",
        "low",
        "high",
        _INTERVAL_OVER,
        "items",
        "answers",
        "annotators",
    )
    return PaperTable("metrics", caption, columns, tuple(rows))


def group_table(content: Mapping[str, Json], plan: Mapping[str, Json] | None = None) -> PaperTable | None:
    """Make the table by groups of items; `None` if the baseline has no groups.

    Args:
        content: the JSON of the baseline.
        plan: the content of `study.yaml`, for the dataset's name.
    """
    rows = []
    fields = mapping_at(content, "by")
    for field in fields:
        groups = mapping_at(fields, field)
        for value in groups:
            group = mapping_at(groups, value)
            alpha = number_at(group, "agreement", "krippendorff_alpha")
            counts = _value(alpha), _count(count_at(group, "answers"))
            found = [one for name in group if (one := metric_of(name, mapping_at(group, name)))]
            rows += [
                (field, value, metric_title(one.name).en, _value(one.value), *_ends(one), str(one.n), *counts)
                for one in found
            ]
            if not found:
                items = _count(count_at(group, "items"))
                rows.append((field, value, "", "", *_span(None, ""), items, *counts))
    if not rows:
        return None
    title = dataset_title(content, plan)
    caption = f"Human baseline{f' of {title}' if title else ''} by group, with 95% confidence intervals and Krippendorff's alpha."
    columns = (
        "field",
        "value",
        "metric",
        "estimate",
        "low",
        "high",
        _INTERVAL_OVER,
        "items",
        "alpha",
        "answers",
    )
    return PaperTable("groups", caption, columns, tuple(rows))


@dataclass(frozen=True, slots=True)
class ArmRow:
    """A row on experts, people without training or their difference.

    Attributes:
        metric: the metric.
        respondents: who answered.
        value: the estimate.
        span: its interval of record.
        over: what this interval is over.
        n: the number of items.
        decided: the share of items that a rule of votes decided; `None` if it is not known.
    """

    metric: Text
    respondents: Text
    value: float
    span: Span | None
    over: Text | str
    n: int
    decided: float | None


def arm_rows(study: Mapping[str, Json]) -> list[ArmRow]:
    """Return each metric of experts and of people without training, and their difference.

    Args:
        study: the JSON of `merilo experts baseline`.
    """
    rows = [
        ArmRow(
            metric_title(one.name),
            title,
            one.value,
            one.interval,
            _over(one),
            one.n,
            number_at(study, arm, "items", "decided_share"),
        )
        for arm, title in (("experts", Text("experts")), ("people", Text("people without training")))
        for one in metric_facts(mapping_at(study, arm))
    ]
    found = mapping_at(study, "comparison")
    difference, n, span = number_at(found, "difference"), count_at(found, "n"), interval_at(found, "ci95")
    if rows and difference is not None and n:
        over = _ITEMS_ALONE if span else ""
        rows.append(
            ArmRow(rows[0].metric, Text("difference on common items"), difference, span, over, n, None)
        )
    return rows


def arms_table(study: Mapping[str, Json]) -> PaperTable | None:
    """Make the table of an expert study; `None` if there are no experts.

    Args:
        study: the JSON of `merilo experts baseline`.
    """
    rows = tuple(
        (
            one.metric.en,
            one.respondents.en,
            _value(one.value),
            *_span(one.span, one.over),
            str(one.n),
            _value(one.decided),
        )
        for one in arm_rows(study)
    )
    columns = ("metric", "respondents", "estimate", "low", "high", _INTERVAL_OVER, "items", "decided")
    caption = "Experts and people without training, with 95% confidence intervals."
    return PaperTable("arms", caption, columns, rows) if rows else None


def methods_paragraph(
    content: Mapping[str, Json],
    plan: Mapping[str, Json] | None,
    form: Format,
    *,
    language: Language = "en",
    experts: Mapping[str, Json] | None = None,
    platform: str | None = None,
) -> str:
    """Write the methods as one paragraph with citations of the methods used; in CSV it is plain text without citations.

    Args:
        content: the JSON of the baseline.
        plan: the content of `study.yaml`.
        form: `latex`, `markdown` or `csv`.
        language: `ru` or `en`.
        experts: the JSON of `merilo experts baseline`.
        platform: the platform's code, if the baseline's command does not name it.
    """
    text = human_baseline_section(content, plan, language, experts=experts, platform=platform)
    paragraph = " ".join(text.split("\n\n"))
    if form == "csv":
        return paragraph + "\n"
    escape = latex if form == "latex" else markdown
    return f"{escape(paragraph)} {_cited(sources(content, experts), form, language)}\n"


def _cited(found: Sequence[Source], form: Format, language: Language) -> str:
    def mark(source: Source) -> str:
        return f"~\\cite{{{source.key}}}" if form == "latex" else f" [@{source.key}]"

    program, *methods, checklist = found
    listed = ", ".join(f"{source.named(language)}{mark(source)}" for source in methods)
    if language == "ru":
        told = f"Вычисления выполнены программой Merilo{mark(program)}.{f' Методы: {listed}.' if methods else ''}"
        return f"{told} Отчёт составлен по вопросам контрольного списка{mark(checklist)}."
    told = f"The analysis was done with Merilo{mark(program)}.{f' Methods: {listed}.' if methods else ''}"
    return f"{told} The reporting follows {checklist.named(language)}{mark(checklist)}."


def table_text(table: PaperTable, form: Format) -> str:
    """Write a table in a format; text from datasets is escaped for it.

    The LaTeX needs the package `booktabs`.
    """
    return _WRITERS[form](table)


def paper_files(
    content: Mapping[str, Json],
    plan: Mapping[str, Json] | None,
    form: Format,
    *,
    language: Language = "en",
    experts: Mapping[str, Json] | None = None,
    platform: str | None = None,
) -> dict[str, str]:
    """Make everything for the paper: tables, the methods paragraph and the bibliography.

    Args:
        content: the JSON of the baseline.
        plan: the content of `study.yaml`.
        form: `latex`, `markdown` or `csv`.
        language: the language of the methods paragraph.
        experts: the JSON of `merilo experts baseline`.
        platform: the platform's code, if the baseline's command does not name it.

    Returns:
        File name -> content: `metrics`, `groups` if there are groups, `arms` of an expert study, `methods` and `references.bib`.
    """
    tables = [
        metric_table(content, plan),
        group_table(content, plan),
        arms_table(experts) if experts else None,
    ]
    files = {
        f"{table.name}{SUFFIXES[form]}": table_text(table, form) for table in tables if table is not None
    }
    ending = ".txt" if form == "csv" else SUFFIXES[form]
    files[f"methods{ending}"] = methods_paragraph(
        content, plan, form, language=language, experts=experts, platform=platform
    )
    files["references.bib"] = bibtex(sources(content, experts))
    return files


def _latex_table(table: PaperTable) -> str:
    alignment = "".join("l" if name in _TEXT_COLUMNS else "r" for name in table.columns)
    lines = [
        "\\begin{table}",
        "\\centering",
        f"\\caption{{{latex(table.caption)}}}",
        f"\\label{{tab:human-{table.name}}}",
        f"\\begin{{tabular}}{{{alignment}}}",
        "\\toprule",
        " & ".join(latex(name) for name in table.columns) + " \\\\",
        "\\midrule",
        *(" & ".join(latex(cell) for cell in row) + " \\\\" for row in table.rows),
        "\\bottomrule",
        "\\end{tabular}",
        "\\end{table}",
    ]
    return "\n".join(lines) + "\n"


def _markdown_table(table: PaperTable) -> str:
    marks = ["---" if name in _TEXT_COLUMNS else "---:" for name in table.columns]
    rows = [table.columns, marks, *([markdown(cell) for cell in row] for row in table.rows)]
    lines = [f"| {' | '.join(row)} |" for row in rows]
    return "\n".join([*lines, "", markdown(table.caption)]) + "\n"


def _csv_table(table: PaperTable) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(table.columns)
    writer.writerows([csv_cell(cell) for cell in row] for row in table.rows)
    return text.getvalue()


_WRITERS: Final[Mapping[Format, Callable[[PaperTable], str]]] = {
    "latex": _latex_table,
    "markdown": _markdown_table,
    "csv": _csv_table,
}


def _value(value: float | None) -> str:
    return "" if value is None else f"{value:.3f}"


def _over(one: MetricFacts) -> Text | str:
    """Say what the interval of record is over; empty without an interval."""
    return "" if one.interval is None else _OVER_BOTH if one.over_both else _ITEMS_ALONE


def _ends(one: MetricFacts) -> tuple[str, str, str]:
    """Return the bounds of the interval of record, and its kind."""
    return _span(one.interval, _over(one))


def _span(span: Span | None, over: Text | str) -> tuple[str, str, str]:
    if span is None:
        return "", "", ""
    return _value(span[0]), _value(span[1]), over.en if isinstance(over, Text) else over


def _count(n: int | None) -> str:
    return "" if n is None else str(n)
