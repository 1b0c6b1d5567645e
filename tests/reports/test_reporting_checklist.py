"""The checklist of Wei et al.: at least 53 of 71 questions follow from a planned study, and nothing is guessed."""

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from report_contents import CONTENT, STUDY, record

from merilo.errors import DataError
from merilo.reports.checklist import (
    QUESTIONS,
    checklist_json,
    checklist_latex,
    checklist_markdown,
    reporting_checklist,
)

FULL: dict[str, Any] = {
    **CONTENT,
    "responses": {
        "total": 750,
        "control": 250,
        "used": 492,
        "dropped": {"excluded_annotator": 8, "not_submitted": 2},
    },
}
PLAN: dict[str, Any] = {
    "study": "lcs-2026",
    "dataset": "lcs",
    "languages": ["ru", "en"],
    "seed": 7,
    "arms": {"people": {"kind": "basic", "overlap": 5, "items_per_page": 20, "pay": {"per_page": 0.029, "currency": "USD"}, "time_limit": None, "skip_own": False}},
    "restrictions": [{"ru": "Не используйте нейросети.", "en": "Do not use neural networks."}],
    "subset": {"all": False, "size": 100, "of": 500, "fields": ["length"], "method": "balanced"},
    "controls": {"file": "controls.jsonl", "share": 0.05, "every": 20, "min_accuracy": 0.5},
    "training": {"file": "training.jsonl", "threshold": 0.8, "feedback": True},
    "instruction": {"ru": "instruction_ru.md", "en": "instruction_en.md"},
    "assumptions": {"expected": 0.9, "power": 0.8},
    "baseline": {"margin": 0.02},
    "checklist": {"1.9": ""},
    "publication": {"data": None, "code": None},
}  # fmt: skip
FROZEN = {"date": "2026-11-22", "hash": "ab12"}


def test_there_are_71_questions() -> None:
    assert len(QUESTIONS) == 71


def test_a_planned_study_answers_at_least_53_questions() -> None:
    found = checklist_json(reporting_checklist(record(FULL), PLAN, frozen=FROZEN))
    assert found["answered"] == 53
    without_training = {key: value for key, value in PLAN.items() if key != "training"}
    assert (
        checklist_json(reporting_checklist(record(FULL), without_training, frozen=FROZEN))["answered"] == 53
    )
    published = {
        **PLAN,
        "publication": {"data": "https://example.org/hb", "materials": "https://example.org/study"},
    }
    assert checklist_json(reporting_checklist(record(FULL), published, frozen=FROZEN))["answered"] == 57


def test_what_only_the_author_knows_is_left_to_the_author() -> None:
    found = checklist_json(reporting_checklist(record(FULL), PLAN, frozen=FROZEN))
    assert found["open"] == [
        "0.1", "0.2", "0.3", "0.4", "0.10", "1.6", "1.9", "2.3.2", "2.4", "2.6.2", "2.6.2.1", "3.1.1", "4.6", "5.1.1", "5.2", "5.2.1", "5.2.2", "5.3",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("number", "answer", "detail"),
    [
        ("0.8", "500", ""),
        ("1.1", "26", "whose answers count, of 29"),
        ("1.2.1", "random sample (balanced)", "the distribution of length is kept; seed 7"),
        ("1.3", "5 on 100 items", "before exclusion"),
        ("1.4", "25.9 on average", "control items included"),
        ("1.8.1", "0.02 (margin for equivalence); power 0.8", ""),
        ("1.10", "yes", "the plan was frozen on 2026-11-22, hash ab12"),
        ("2.2", "crowd", "Toloka"),
        ("2.3.1", "at least 80% correct answers to training items", ""),
        ("2.7.1", "$0.86", "total pay by measured time"),
        ("2.7.3", "yes", "0.029 a page"),
        ("3.1", "20 a page", "control items included"),
        ("3.2.2", "3 of 29 annotators, 8 answers", ""),
        (
            "3.4",
            "partial",
            "the same prompt; people also read an instruction, models may get solved examples",
        ),
        ("3.4.1", "no", "the values of people are not adjusted for the instruction they read"),
        ("3.5", "partial", "rules for people: Do not use neural networks"),
        ("4.1.1", "not applicable", ""),
        ("5.1.4", "forbidden, not measured", "the instruction forbids them; their use was not checked"),
    ],
)
def test_answers_follow_from_the_study(number: str, answer: str, detail: str) -> None:
    own = reporting_checklist(record(FULL), PLAN, frozen=FROZEN)[number]
    assert (own.answer, own.detail) == (answer, detail)


def test_help_by_ai_is_answered_from_the_rules_the_echoes_and_the_signals() -> None:
    echo = {"model": "robot", "missed": 30, "annotators": 40, "named": [{"annotator": "p1"}]}
    signals = {
        "annotators": 40,
        "answers": 900,
        "measured": 890,
        "watched": 40,
        "pastes": 3,
        "copies": 1,
        "returns": 2,
    }
    checklist = reporting_checklist(
        record({**FULL, "echoes": [echo], "signals": signals}), PLAN, frozen=FROZEN
    )
    own = checklist["5.1.4"]
    assert own.answer == "forbidden, measured"
    assert own.detail == (
        "the instruction forbids them; 1 of 40 annotators repeats the wrong answers of robot more often than their own "
        "errors and those of the others explain (it is wrong on 30 items); 3 of 40 annotators pasted into an answer, 1 copied text of a page, 2 left the window and then answered; 10 answers have no signals, because "
        "JavaScript was off or failed"
    )
    assert checklist["3.5.1"].answer.endswith("and by signals of help by AI, without consequences")


def test_pay_by_the_answer_at_the_rate_of_a_page_is_the_planned_pay() -> None:
    plan = {**PLAN, "arms": {"people": {**PLAN["arms"]["people"], "pay": {"per_page": 0.5}}}}
    by_answer = {**FULL, "cost": {"total": 5.0, "pages": 200, "answers": 200}}
    own = reporting_checklist(record(by_answer), plan, frozen=FROZEN)["2.7.3"]
    assert (own.answer, own.detail) == ("yes", "0.5 a page")


def test_screening_by_the_platform_is_not_denied() -> None:
    without_training = {key: value for key, value in PLAN.items() if key != "training"}
    found = reporting_checklist(record(FULL), without_training)
    assert not {"2.3", "2.3.1", "2.3.2"} & set(found)
    assert [found[number].answer for number in ("2.6", "2.6.1", "2.6.2")] == [
        "no",
        "not applicable",
        "not applicable",
    ]


def test_without_a_plan_and_data_nothing_is_claimed() -> None:
    found = reporting_checklist(record({}), None)
    assert set(found) == {"4.1", "4.1.1", "5.4"}


def test_a_comparison_with_a_model_answers_the_questions_about_models() -> None:
    estimate = {"value": 0.5, "n": 90}
    row = {"dataset": "d", "model": "m", "beside": "consensus", "score": estimate, "people": estimate, "difference": estimate}  # fmt: skip
    models = [row]
    found = reporting_checklist(record(FULL, models=models), PLAN)
    assert [found[number].answer for number in ("0.9", "4.1", "4.1.1", "4.2")] == [
        "90", "yes", "paired on the same items, over items and annotators", "yes",
    ]  # fmt: skip


def test_experts_who_skip_their_own_items_are_told() -> None:
    found = reporting_checklist(record({**FULL, "arms": STUDY["arms"]}), PLAN)
    assert found["2.4"].answer == "partial"
    assert found["2.5"].answer == "yes"


def test_pay_that_differs_from_the_plan_is_not_called_equal() -> None:
    content = {**FULL, "cost": {**FULL["cost"], "total": 9.0}}
    found = reporting_checklist(record(content), PLAN)
    assert "2.7.3" not in found


def test_the_author_answers_and_the_study_is_told_beside() -> None:
    answered = {**PLAN, "checklist": {"1.9": "yes: board 12", "1.1": "30", "5.1.1": " "}}
    found = reporting_checklist(record(FULL), answered)
    assert (found["1.9"].answer, found["1.9"].source) == ("yes: board 12", "author")
    assert (found["1.1"].answer, found["1.1"].detail, found["1.1"].source) == (
        "30",
        "from the study: 26 (whose answers count, of 29)",
        "author",
    )
    assert "5.1.1" not in found


def test_an_answer_to_a_question_that_does_not_exist_is_refused() -> None:
    with pytest.raises(DataError, match=r"study\.yaml, checklist\.9\.9: there is no question 9\.9"):
        reporting_checklist(record(FULL), {**PLAN, "checklist": {"9.9": "yes"}})


def test_every_form_has_all_questions_and_the_count() -> None:
    found = reporting_checklist(record(FULL), {**PLAN, "checklist": {"1.9": "yes"}}, frozen=FROZEN)
    content = checklist_json(found)
    assert [item["number"] for item in content["items"]] == list(QUESTIONS)  # type: ignore[union-attr,index,call-overload]
    assert json.loads(json.dumps(content)) == content
    for text in (checklist_markdown(found), checklist_latex(found)):
        assert "54 of 71 questions are answered (1 of them by the author); 17 are left to the author." in text
    table = checklist_markdown(found)
    for number, question in QUESTIONS.items():
        assert f"| {number} | {question} |" in table


HOSTILE = "a|b & 50% \\input{x} $y$ <script> [l](u)\n# h"


def test_hostile_answers_stay_text() -> None:
    found = reporting_checklist(record(FULL), {**PLAN, "checklist": {"1.9": HOSTILE}})
    row = next(line for line in checklist_markdown(found).splitlines() if line.startswith("| 1.9 "))
    assert len(re.findall(r"(?<!\\)\|", row)) == 5
    assert "\\<script\\>" in row
    tex = next(line for line in checklist_latex(found).splitlines() if line.startswith("1.9 "))
    assert r"a\textbar{}b \& 50\% \textbackslash{}input\{x\} \$y\$ \textless{}script\textgreater{}" in tex


def test_the_table_compiles(tmp_path: Path) -> None:
    compiler = shutil.which("pdflatex") or shutil.which("lualatex") or shutil.which("tectonic")
    if compiler is None:
        pytest.skip("no LaTeX is installed")
    found = reporting_checklist(record(FULL), {**PLAN, "checklist": {"1.9": HOSTILE}})
    body = checklist_latex(found)
    (tmp_path / "t.tex").write_text(
        f"\\documentclass{{article}}\\usepackage[T1]{{fontenc}}\\usepackage{{longtable,booktabs}}\\begin{{document}}{body}\\end{{document}}",
        encoding="utf-8",
    )
    command = [compiler, *([] if "tectonic" in compiler else ["-interaction=nonstopmode"]), "t.tex"]
    assert subprocess.run(command, cwd=tmp_path, capture_output=True, check=False).returncode == 0
