"""What goes into a paper: every estimate with its interval and counts, hostile text escaped, methods cited."""

import csv
import io
import re
from typing import Any

import pytest
from every import every
from report_contents import CONTENT, STUDY, record

from merilo.reports.paper import (
    Format,
    arms_table,
    group_table,
    methods_paragraph,
    metric_table,
    paper_files,
    sources,
    table_text,
)

HOSTILE = '=HYPERLINK("x")|a & 50% \\input{/etc/passwd} $x$ <script>alert(1)</script> `c` [l](u)'
GROUPED: dict[str, Any] = {
    **CONTENT,
    "by": {
        "domain": {
            HOSTILE: {
                "items": 40, "answers": 200, "agreement": {"krippendorff_alpha": 0.4}, "acc": {"value": 0.5, "ci95": [0.3, 0.7], "n": 39},
            },
            "law": {"items": 60, "answers": 300, "agreement": {"krippendorff_alpha": None}},
        }
    },
}  # fmt: skip


def rows(text: str) -> list[list[str]]:
    return list(csv.reader(io.StringIO(text)))


def test_every_estimate_has_its_interval_and_counts() -> None:
    assert rows(table_text(metric_table(record()), "csv")) == [
        [
            "metric",
            "respondents",
            "estimate",
            "low",
            "high",
            "interval over",
            "items",
            "answers",
            "annotators",
        ],
        ["accuracy", "consensus", "0.560", "0.408", "0.701", "items and annotators", "99", "492", "26"],
        ["accuracy", "majorities alone", "0.704", "0.533", "0.831", "items and annotators", "54", "", ""],
        [
            "accuracy",
            "single annotator",
            "0.460",
            "0.331",
            "0.595",
            "items and annotators",
            "99",
            "492",
            "26",
        ],
    ]


def test_the_latex_table_is_ready_for_a_paper() -> None:
    text = table_text(metric_table(record()), "latex")
    assert text.startswith(
        "\\begin{table}\n\\centering\n\\caption{Human baseline of LCS: metrics with 95\\% confidence intervals.}"
    )
    assert "accuracy & consensus & 0.560 & 0.408 & 0.701 & items and annotators & 99 & 492 & 26 \\\\" in text
    assert text.count("\\begin{") == text.count("\\end{") == 2


def test_groups_without_gold_keep_their_items_and_answers() -> None:
    table = group_table(record(GROUPED))
    assert table is not None
    assert [row[1:] for row in table.rows] == [
        (HOSTILE, "accuracy", "0.500", "0.300", "0.700", "items alone", "39", "0.400", "200"),
        ("law", "", "", "", "", "", "60", "", "300"),
    ]
    assert group_table(record()) is None


def test_an_expert_study_has_both_arms_and_their_difference() -> None:
    table = arms_table(record(STUDY))
    assert table is not None
    assert [row[:3] for row in table.rows] == [
        ("people", "accuracy", "0.560"),
        ("experts", "accuracy", "0.925"),
        ("experts minus people: acc", "", "0.342"),
        ("experts minus people: acc of one person", "", "0.300"),
    ]
    assert arms_table(record()) is None
    assert set(paper_files(record(STUDY), None, "csv")) == {
        "metrics.csv",
        "arms.csv",
        "methods.txt",
        "references.bib",
    }


def test_text_of_the_dataset_stays_text_in_every_format() -> None:
    table = group_table(record(GROUPED))
    assert table is not None
    tex = table_text(table, "latex")
    assert r"\textbackslash{}input\{/etc/passwd\} \$x\$ \textless{}script\textgreater{}" in tex
    row = next(line for line in table_text(table, "markdown").splitlines() if "HYPERLINK" in line)
    assert len(re.findall(r"(?<!\\)\|", row)) == 11
    assert "<script" not in row.replace("\\<", "")
    assert rows(table_text(table, "csv"))[1][1] == f"'{HOSTILE}"


@pytest.mark.parametrize(
    ("changes", "keys"),
    [
        ({}, ["merilo", "krippendorff2011", "searle1992", "whitehill2009", "wei2025"]),
        ({"resolved_by": {}}, ["merilo", "krippendorff2011", "searle1992", "wei2025"]),
        ({"agreement": {}, "metrics": {}, "resolved_by": {"dawid_skene": 5}}, ["merilo", "dawid1979", "wei2025"]),
        (
            {"agreement": {}, "resolved_by": {}, "metrics": {"acc": {"interval": "Wilson score", "interval_items_and_annotators": "two-way bootstrap over items"}}},
            ["merilo", "wilson1927", "owen2007", "wei2025"],
        ),
    ],
)  # fmt: skip
def test_the_methods_that_were_used_are_cited(changes: dict[str, Any], keys: list[str]) -> None:
    assert [source.key for source in sources(record(**changes))] == keys


@every("form", ["latex", "markdown", "csv"])
def test_the_methods_are_one_paragraph(form: Format) -> None:
    text = methods_paragraph(record(), None, form)
    assert text.count("\n") == 1
    cited = {"latex": "Merilo~\\cite{merilo}", "markdown": "Merilo [@merilo]"}
    assert form == "csv" or cited[form] in text
    assert "29 annotators of the crowdsourcing platform Toloka" in text


def test_the_russian_paragraph_names_methods_in_russian() -> None:
    text = methods_paragraph(record(), None, "markdown", language="ru")
    assert text.endswith(
        "Вычисления выполнены программой Merilo [@merilo]. Методы: альфа Криппендорфа [@krippendorff2011],"
        " компоненты дисперсии отдельных разметчиков [@searle1992], модель GLAD [@whitehill2009]."
        " Отчёт составлен по вопросам контрольного списка [@wei2025].\n"
    )


def test_every_citation_is_in_the_bibliography() -> None:
    files = paper_files(record({**GROUPED, "arms": STUDY["arms"]}), None, "latex")
    cited = set(re.findall(r"\\cite\{(\w+)\}", files["methods.tex"]))
    assert cited
    assert cited == set(re.findall(r"^@\w+\{(\w+),$", files["references.bib"], re.MULTILINE))
    assert files["references.bib"].count("{") == files["references.bib"].count("}")


def test_a_baseline_without_gold_gives_a_table_without_rows() -> None:
    assert metric_table(record(metrics={})).rows == ()
    assert "No metric is given" in methods_paragraph(record(metrics={}, gold=None), None, "markdown")
