"""Sections and tables in their five forms."""

from __future__ import annotations

import csv
import io
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from parsed_page import ParsedPage
from rich.console import Console

from merilo.estimate import Estimate
from merilo.reports.table import (
    Bar,
    Form,
    Link,
    Percent,
    Section,
    Table,
    csv_cell,
    latex,
    print_parts,
    render,
)
from merilo.text import Language, Money, Text, joined

_TABLE = Table(
    Text("metric"),
    (Text("metric"), Text("estimate"), Text("share"), Text("cost")),
    (
        ("acc", Estimate(name="acc", value=0.725, ci95=(0.6, 0.8), n=40), Percent(0.125), Money(2.5, "USD")),
        ("f1_macro", Estimate(name="f1", reason="no gold"), None, None),
    ),
)
_SECTION = Section(
    "result", Text("consensus"), (Text("{x:.3f}", x=0.5),), (Text("{x:.1%}", x=0.031),), (_TABLE,)
)


@pytest.mark.parametrize(
    ("form", "language", "shown"),
    [
        ("terminal", "en", ["acc      0.725 [0.600, 0.800] 12.5% $2.50", " —     — ", "- 3.1%"]),
        ("html", "en", ['<td class="n" data-head="estimate">0.725 [0.600,\xa00.800]</td>', "<p>0.500</p>", "<li>3.1%</li>"]),
        ("html", "ru", ['<td class="n" data-head="оценка">0,725 [0,600;\xa00,800]</td>', "<p>0,500</p>"]),
        ("markdown", "en", ["| --- | ---: | ---: | ---: |\n| acc | 0.725 [0.600, 0.800] | 12.5% | $2.50 |"]),
        ("latex", "en", [r"\begin{tabular}{lrrr}", r"acc & 0.725 [0.600, 0.800] & 12.5\% & \$2.50 \\", r"f1\_macro"]),
        ("csv", "en", ['metric,estimate,"estimate, low","estimate, high",share,cost\nacc,0.725,0.6,0.8,0.125,2.5\n']),
    ],
)  # fmt: skip
def test_each_form_shows_sentences_and_cells(form: Form, language: Language, shown: list[str]) -> None:
    text = render([_SECTION], form, language)
    for part in shown:
        assert part in text


def test_a_terminal_breaks_no_word_and_sets_numbers_to_the_right() -> None:
    head = ("what", "share", "p", "kind")
    rows = (("length: quartile 2", Percent(0.25), joined(["< 0.001"]), "official statistics"),)
    table = Table("", head, rows, ("A note.",))

    def lines(width: int) -> list[str]:
        stream = io.StringIO()
        print_parts([table], Console(file=stream, width=width))
        return [line.rstrip() for line in stream.getvalue().splitlines()]

    assert lines(60)[2:5] == ["length: quartile 2   25% < 0.001 official statistics", "", "A note."]
    assert lines(45)[2:4] == [
        "length: quartile 2   25% < 0.001 official",
        "                                 statistics",
    ]
    assert lines(40)[:3] == ["what  length: quartile 2", "share 25%", "p     < 0.001"]


def test_a_link_stays_a_link_on_pages_and_in_markdown() -> None:
    table = Table(Text("study"), (), ((Link("a<b", "hb/report.html"), 1),))
    assert '<a href="hb/report.html">a&lt;b</a>' in render([Section("s", tables=(table,))], "html")
    assert r"[a\<b](<hb/report.html>)" in render([Section("s", tables=(table,))], "markdown")
    assert r"a\textless{}b & 1" in render([Section("s", tables=(table,))], "latex")


#: As the Hugging Face hub and GitHub read it.
_MARKDOWN = MarkdownIt("commonmark").enable(["table", "strikethrough"])


def test_a_column_of_bars_stands_on_pages_alone() -> None:
    estimate = Estimate(value=-0.1, ci95=(-0.3, 0.1), n=9)
    row = ("a", Bar.of(estimate, -0.5, 0.5, line=0), estimate)
    section = Section(
        "s", tables=(Table(Text("{x}", x=""), (Text("metric"), Text("share"), Text("estimate")), (row,)),)
    )
    assert '<rect class="band" x="20.00%" width="40.00%"' in render([section], "html")
    for form in ("terminal", "markdown", "latex", "csv"):
        text = render([section], form)
        assert "share" not in text
        assert "-0.1" in text or "−0.1" in text


@given(st.text(alphabet=st.characters(codec="utf-8")))
def test_no_text_of_a_dataset_is_markup(text: str) -> None:
    section = Section(
        "s", tables=(Table(Text("{x}", x=""), (Text("item", context="column"), "n"), ((text, 1),)),)
    )
    page = ParsedPage(render([section], "html"))
    assert page.tags <= {"section", "div", "table", "caption", "tr", "th", "td"}
    rows = list(csv.reader(io.StringIO(render([section], "csv"))))
    assert len(rows) == 2
    assert not rows[1][0].startswith(("=", "+", "@"))
    assert "\n" not in render([section], "latex").split("\\midrule\n")[1].split("\n\\bottomrule")[0]


@given(st.text())
def test_no_character_is_a_command_in_latex(text: str) -> None:
    escaped = latex(text)
    plain = re.sub(r"\$-\$|\\(?:[a-z]+\{\}|[{}$&#%_])", "", escaped)
    assert not set(plain) & set('\\{}$&#%_^<>|"')
    assert "\n" not in escaped


@given(st.text())
def test_no_character_is_markup_in_markdown(text: str) -> None:
    table = Table(Text("{x}", x=text), (Text("{x}", x=text),), ((text,),))
    section = Section("s", Text("{x}", x=text), tables=(table,))
    page = ParsedPage(_MARKDOWN.render(render([section], "markdown")))
    assert page.tags <= {"h2", "p", "strong", "table", "thead", "tbody", "tr", "th", "td"}


@given(st.text())
def test_no_cell_is_a_formula(text: str) -> None:
    cell = csv_cell(text)
    assert not re.match(r"\s*[=@\t\r]", cell)
    assert not re.match(r"\s*[+-]", cell) or re.fullmatch(
        r"[+-]?\d+(\.\d+)?(e[+-]?\d+)?", cell, re.IGNORECASE
    )
