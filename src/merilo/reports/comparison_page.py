"""The forms of a comparison: sections for terminal, Markdown, LaTeX and CSV, and the page, which is the board too."""

from __future__ import annotations

import hashlib
from base64 import b64encode
from collections.abc import Sequence
from importlib.resources import files
from typing import Final

from markupsafe import Markup

from merilo.baselines.comparison import plain
from merilo.baselines.row import Row, Verdict, headlines
from merilo.datasets import dataset, names
from merilo.errors import for_command_line
from merilo.reports.comparison import Comparison
from merilo.reports.html_page import page_environment
from merilo.reports.human_table import KINDS
from merilo.reports.table import Cell, Section, Table, estimate_text
from merilo.text import Money, Text, joined
from merilo.wording import listed

#: Verdicts in a word or two, as tables have them.
VERDICTS: Final[dict[Verdict, Text]] = {
    "above": Text("above", context="verdict"),
    "equal": Text("level", context="verdict"),
    "not_worse": Text("not worse", context="verdict"),
    "below": Text("below", context="verdict"),
    "untold": Text("cannot be told", context="verdict"),
}


def sections(comparison: Comparison, *, narrow: bool = False) -> list[Section]:
    """Return a comparison as sections: a sentence a model, the table, the totals, and what limits it.

    Args:
        comparison: the comparison.
        narrow: leave out the columns of what the sentences say, for a terminal.
    """
    sentences = tuple(named_sentence(row, comparison.rows) for row in headlines(comparison.rows))
    single = len(sentences) == 1
    tables = [rows_table(comparison.rows, narrow=narrow)]
    if comparison.has_total:
        tables.append(totals_table(comparison))
    result = [
        Section("comparison", None, sentences if single else (), () if single else sentences, tuple(tables))
    ]
    if limits := comparison.limits:
        result.append(Section("limits", Text("What limits the comparison"), remarks=tuple(limits)))
    return result


def named_sentence(row: Row, rows: Sequence[Row]) -> Text:
    """Return the sentence of a row, after the dataset if there are several."""
    several = len({other.dataset for other in rows}) > 1
    return joined([f"{title_of(row.dataset)}: ", row.sentence], "") if several else row.sentence


def rows_table(rows: Sequence[Row], *, narrow: bool = False) -> Table:
    """Return the table of rows; columns that would be empty are left out, and the dataset if there is one.

    Args:
        rows: the rows.
        narrow: leave out differences and p, which the sentences have, and times of people without a model's price.
    """
    models_only, datasets = any(row.other for row in rows), {row.dataset for row in rows}
    columns: dict[Text, list[Cell]] = {
        Text("dataset"): [title_of(row.dataset) for row in rows] if len(datasets) > 1 else [],
        Text("model"): [row.model for row in rows],
        Text("beside"): [beside(row) for row in rows],
        Text("first model") if models_only else Text("people"): [
            row.people.value if row.people else None for row in rows
        ],
        Text("score"): [row.score.value for row in rows],
        Text("difference"): [] if narrow else [row.difference for row in rows],
        Text("p"): [] if narrow else [p_value(row) for row in rows],
        Text("items"): [row.score.n for row in rows],
        Text("verdict"): [verdict(row) for row in rows],
        Text("person, seconds"): [
            None if row.seconds is None else plain(row.seconds, 1)
            for row in (() if narrow and not any(other.usd for other in rows) else rows)
        ],
        Text("model, price"): [None if row.usd is None else Money(row.usd, "USD", 4) for row in rows],
    }
    shown = {head: cells for head, cells in columns.items() if any(cell is not None for cell in cells)}
    first = headlines(rows)
    return Table(
        Text("Models") if models_only else Text("People and models"),
        tuple(shown),
        tuple(zip(*shown.values(), strict=True)),
        (*(named_sentence(row, rows) for row in rows if row not in first), *notes(rows)),
    )


def notes(rows: Sequence[Row]) -> list[Text]:
    """Return how the numbers were computed, in sentences."""
    sentences = []
    if any(row.beside == "consensus" and row.difference.value is not None for row in rows):
        sentences.append(
            Text(
                "The consensus of several people is beside single answers of a model, which favours the people."
            )
        )
    most = max(
        sum(row.beside == kind and row.p is not None for row in rows)
        for kind in ("consensus", "person", "model")
    )
    if most > 1:
        sentences.append(
            Text("p is corrected by Holm’s method over {n:# comparison|# comparisons} of a kind.", n=most)
        )
    return sentences


def totals_table(comparison: Comparison) -> Table:
    """Return the total scores."""
    rows = tuple(
        (total.model or Text("people, consensus"), total.value, len(total.datasets), total.people)
        for total in comparison.totals
    )
    head = (Text("model"), Text("total", context="score"), Text("datasets"), Text("people on the same"))
    return Table(Text("Total score"), head, rows, tuple(missing(comparison)))


def missing(comparison: Comparison) -> list[Text]:
    """Return what a complete total needs."""
    if not comparison.missing:
        return []
    lacking = [title_of(name) for name in comparison.missing]
    return [
        Text(
            "A complete total needs {n:# more dataset|# more datasets}: {names}.",
            n=len(lacking),
            names=listed(lacking, 30),
        )
    ]


def title_of(key: str) -> str:
    """Return the title of a dataset of the catalogue; other datasets have their name."""
    return dataset(key).title if key in names() else key


def beside(row: Row) -> Text | str:
    """Return with whom a row compares."""
    if row.difference.value is None and row.people and row.people.reason:
        return KINDS[row.people.reason]
    return row.other or (
        Text("consensus") if row.beside == "consensus" else Text("one person", context="beside")
    )


def verdict(row: Row) -> Text | None:
    """Return the verdict of a row in a word or two."""
    return VERDICTS[row.verdict] if row.verdict else None


def p_value(row: Row) -> Text | None:
    """Return the p-value of a row."""
    if row.p is None:
        return None
    return Text("< 0.001") if row.p < 0.001 else Text("{p:.3g}", p=row.p)


def comparison_page(comparison: Comparison) -> str:
    """Render the page in English and Russian; without its script, which sorts the board, it is complete."""
    script = (files("merilo.reports") / "templates" / "comparison.js").read_text("utf-8")
    ends = [end for row in comparison.rows for end in (row.difference.ci95 or ())]
    margins = [row.margin for row in comparison.rows if row.margin]
    reach = max([0.05, *map(abs, ends), *margins])
    rendered = (
        page_environment()
        .get_template("comparison.html.j2")
        .render(
            comparison=comparison,
            rows={key: [row for row in comparison.rows if row.dataset == key] for key in comparison.datasets},
            totals={total.model: total for total in comparison.totals if comparison.has_total},
            notes=notes(comparison.rows),
            missing=missing(comparison),
            reach=min(reach * 1.05, 1.0),
            title_of=title_of,
            headlines=headlines,
            beside=beside,
            verdict=verdict,
            p_value=p_value,
            plain=estimate_text,
            kinds=KINDS,
            money=Money,
            script=Markup(script),  # noqa: S704 - a file of this package
            script_hash=b64encode(hashlib.sha256(script.encode()).digest()).decode(),
        )
    )
    return for_command_line(rendered)
