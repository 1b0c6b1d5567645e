"""Tables, the methods paragraph with citations and the bibliography for a paper, in LaTeX, Markdown or CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Final, Literal, NamedTuple, TypeAlias

from merilo.baselines.baseline import Baseline
from merilo.estimate import Estimate
from merilo.records import (
    Span,
)
from merilo.reports.baseline_facts import dataset_title
from merilo.reports.estimates import metric_title
from merilo.reports.prose import human_baseline_section
from merilo.reports.table import csv_cell, latex, latex_table, markdown, markdown_table
from merilo.strict_json import Json
from merilo.text import Language, Text, joined, plain_number
from merilo.version import __version__

Format: TypeAlias = Literal["latex", "markdown", "csv"]
SUFFIXES: Final[Mapping[Format, str]] = {"latex": ".tex", "markdown": ".md", "csv": ".csv"}

#: Columns whose cells are numbers and stand to the right.
_TEXT_COLUMNS: Final = frozenset({"metric", "field", "value", "group", "respondents", "interval over"})

#: The column with the kind of interval, and its cells.
_INTERVAL_OVER: Final = "interval over"
_ESTIMATE: Final = ("estimate", "low", "high", _INTERVAL_OVER)
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


def metric_table(record: Baseline, plan: Mapping[str, Json] | None = None) -> PaperTable:
    """Make the table of metrics.

    The consensus, the majorities alone and a single annotator, each with interval and counts.

    Args:
        record: the baseline.
        plan: the content of `study.yaml`, for the dataset's name.
    """
    rows = []
    for key, one in record.metrics.items():
        if one.value is None:
            continue
        name = metric_title(key).en
        answers = "" if "." in key else _count(record.response_counts.used)
        who = "people" if key.startswith("pass@") else "consensus"
        rows.append((name, who, _value(one.value), *_ends(one), str(one.n), answers, _count(one.people)))
        alone, single = record.by_majority_alone.get(key), record.single_person
        if alone and alone.n and alone.n != one.n:
            rows.append((name, "majorities alone", _value(alone.value), *_ends(alone), str(alone.n), "", ""))
        if single and single.name == key and single.value is not None:
            counts = str(single.n), "", _count(single.people)
            rows.append((name, "single annotator", _value(single.value), *_ends(single), *counts))
    caption = f"Human baseline{_of(record, plan)}: metrics with 95% confidence intervals."
    columns = ("metric", "respondents", *_ESTIMATE, "items", "answers", "annotators")
    return PaperTable("metrics", caption, columns, tuple(rows))


def group_table(record: Baseline, plan: Mapping[str, Json] | None = None) -> PaperTable | None:
    """Make the table by groups of items; `None` if the baseline has no groups.

    Args:
        record: the baseline.
        plan: the content of `study.yaml`, for the dataset's name.
    """
    rows = []
    for one in record.groups:
        group, _, name = one.name.rpartition(": ")
        if one.value is not None:
            rows.append((group, metric_title(name).en, _value(one.value), *_ends(one), str(one.n)))
    caption = f"Human baseline{_of(record, plan)} by group, with 95% confidence intervals."
    columns = ("group", "metric", *_ESTIMATE, "items")
    return PaperTable("groups", caption, columns, tuple(rows)) if rows else None


def _of(record: Baseline, plan: Mapping[str, Json] | None) -> str:
    title = dataset_title(record, plan)
    return f" of {title}" if title else ""


def arms_table(record: Baseline) -> PaperTable | None:
    """Make the table of the arms of a study and their differences; `None` without arms."""
    rows = [
        (
            arm,
            metric_title(name).en,
            _value(one.value),
            *_ends(one),
            str(one.n),
            _count(arm_record.annotator_counts.used),
        )
        for arm, arm_record in record.by_arm.items()
        for name, one in arm_record.main_metrics.items()
    ] + [
        (one.name, "", _value(one.value), *_span(one.ci95, _OVER_BOTH), str(one.n), _count(one.people))
        for one in record.differences
    ]
    columns = ("respondents", "metric", *_ESTIMATE, "items", "annotators")
    caption = "Arms of the study, with 95% confidence intervals."
    return PaperTable("arms", caption, columns, tuple(rows)) if record.arms else None


def methods_paragraph(
    record: Baseline,
    plan: Mapping[str, Json] | None,
    form: Format,
    *,
    language: Language = "en",
    platform: str | None = None,
) -> str:
    """Write the methods as one paragraph with citations of the methods used; in CSV it is plain text without citations.

    Args:
        record: the baseline.
        plan: the content of `study.yaml`.
        form: `latex`, `markdown` or `csv`.
        language: `ru` or `en`.
        platform: the platform's code, if the baseline's command does not name it.
    """
    text = human_baseline_section(record, plan, language, platform=platform)
    paragraph = " ".join(text.split("\n\n"))
    if form == "csv":
        return paragraph + "\n"
    escape = latex if form == "latex" else markdown
    return f"{escape(paragraph)} {_cited(sources(record), form).in_language(language)}\n"


def _cited(found: Sequence[Source], form: Format) -> Text:
    def mark(source: Source) -> str:
        return f"~\\cite{{{source.key}}}" if form == "latex" else f" [@{source.key}]"

    program, *methods, checklist = found
    used = joined((Text("{method}{mark}", method=one.method, mark=mark(one)) for one in methods), ", ")
    told = [
        Text("The analysis was done with Merilo{mark}.", mark=mark(program)),
        Text("Methods: {methods}.", methods=used) if methods else "",
        Text("The reporting follows {method}{mark}.", method=checklist.method, mark=mark(checklist)),
    ]
    return joined(told)


def table_text(table: PaperTable, form: Format) -> str:
    """Write a table in a format; text from datasets is escaped for it.

    The LaTeX needs the package `booktabs`.
    """
    return _WRITERS[form](table)


def paper_files(
    record: Baseline,
    plan: Mapping[str, Json] | None,
    form: Format,
    *,
    language: Language = "en",
    platform: str | None = None,
) -> dict[str, str]:
    """Make everything for the paper: tables, the methods paragraph and the bibliography.

    Args:
        record: the baseline.
        plan: the content of `study.yaml`.
        form: `latex`, `markdown` or `csv`.
        language: the language of the methods paragraph.
        platform: the platform's code, if the baseline's command does not name it.

    Returns:
        File name -> content: `metrics`, `groups` and `arms` if there are any, `methods`
        and `references.bib`.
    """
    tables = [
        metric_table(record, plan),
        group_table(record, plan),
        arms_table(record),
    ]
    contents = {
        f"{table.name}{SUFFIXES[form]}": table_text(table, form) for table in tables if table is not None
    }
    ending = ".txt" if form == "csv" else SUFFIXES[form]
    contents[f"methods{ending}"] = methods_paragraph(record, plan, form, language=language, platform=platform)
    contents["references.bib"] = bibtex(record, sources(record))
    return contents


class Source(NamedTuple):
    """A source of a method.

    Attributes:
        key: the key of its BibTeX entry.
        method: what it is the source of, in a phrase.
    """

    key: str
    method: Text


#: The sources of methods; their entries are in `references.bib`.
_SOURCES: Final = {
    "alpha": Source("krippendorff2011", Text("Krippendorff's alpha")),
    "wilson": Source("wilson1927", Text("Wilson's score interval")),
    "two_way": Source("owen2007", Text("the bootstrap over items and annotators")),
    "components": Source("searle1992", Text("the variance components of single annotators")),
    "glad": Source("whitehill2009", Text("GLAD", context="method")),
    "dawid_skene": Source("dawid1979", Text("the Dawid–Skene model")),
    "mcnemar": Source("mcnemar1947", Text("McNemar's exact test")),
    "tango": Source("tango1998", Text("Tango's interval of a paired difference")),
    "checklist": Source("wei2025", Text("the reporting checklist")),
}

#: The entry of the program itself.
_PROGRAM: Final = """\
@software{{merilo,
  author = {{{{The Merilo authors}}}},
  title = {{Merilo: human baselines for benchmarks}},
  version = {{{version}}}
}}
"""


def sources(record: Baseline) -> list[Source]:
    """Return the sources of the methods that a baseline used, and of its reporting checklist; the program comes first.

    Args:
        record: the baseline.
    """
    metrics, resolved = record.metrics.values(), record.resolved_by
    tests: list[str] = []
    tested = any(isinstance(text, str) and "McNemar" in text for text in tests)
    aggregator = record.parameters.get("aggregator")
    used = {
        "alpha": record.agreement.krippendorff_alpha is not None,
        "wilson": any(one.ci95 for one in metrics),
        "two_way": any(one.ci95 and one.people for one in metrics),
        "glad": resolved.glad or aggregator == "glad",
        "dawid_skene": resolved.dawid_skene
        or resolved.pooled
        or resolved.weighted_median
        or aggregator == "dawid-skene",
        "mcnemar": tested,
        "tango": tested,
        "checklist": True,
    }
    program = Source("merilo", joined(["Merilo"]))
    return [program, *(_SOURCES[name] for name, is_used in used.items() if is_used)]


def bibtex(record: Baseline, found: Sequence[Source]) -> str:
    """Return the BibTeX file of the sources of a baseline."""
    version = (record.provenance.versions.get("merilo") if record.provenance else None) or __version__
    kept = "".join(sign for sign in version if sign.isalnum() or sign in ".+-")
    entries = (files("merilo.reports") / "templates" / "references.bib").read_text("utf-8").split("\n\n")
    known = {entry.partition("{")[2].partition(",")[0]: f"{entry.rstrip()}\n" for entry in entries}
    return "\n".join([_PROGRAM.format(version=kept), *(known[one.key] for one in found if one.key in known)])


def _latex_table(table: PaperTable) -> str:
    columns = "".join("l" if name in _TEXT_COLUMNS else "r" for name in table.columns)
    lines = [
        "\\begin{table}",
        "\\centering",
        f"\\caption{{{latex(table.caption)}}}",
        f"\\label{{tab:human-{table.name}}}",
        *latex_table(columns, [*map(latex, table.columns)], ([*map(latex, row)] for row in table.rows)),
        "\\end{table}",
    ]
    return "\n".join(lines) + "\n"


def _markdown_table(table: PaperTable) -> str:
    right = [name not in _TEXT_COLUMNS for name in table.columns]
    lines = markdown_table(table.columns, ([*map(markdown, row)] for row in table.rows), right)
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
    return "" if value is None else plain_number(value, ".3f")


def _over(one: Estimate) -> Text | str:
    """Say what the interval of record is over; empty without an interval."""
    return "" if one.ci95 is None else _OVER_BOTH if one.people else _ITEMS_ALONE


def _ends(one: Estimate) -> tuple[str, str, str]:
    """Return the bounds of the interval of record, and its kind."""
    return _span(one.ci95, _over(one))


def _span(span: Span | None, over: Text | str) -> tuple[str, str, str]:
    if span is None:
        return "", "", ""
    return _value(span[0]), _value(span[1]), over.en if isinstance(over, Text) else over


def _count(n: int | None) -> str:
    return "" if n is None else str(n)
