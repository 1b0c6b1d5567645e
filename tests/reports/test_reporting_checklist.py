"""The checklist of Wei et al.: a planned study answers most of its 71 questions, and nothing is guessed."""

import re
from typing import Any

import pytest
from every import every
from report_contents import CONTENT, record

from merilo.errors import DataError
from merilo.reports.checklist import answers, checklist_markdown, questions
from merilo.studies.plan import author_questions

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
    "subset": {"size": 100, "of": 500, "fields": ["length"], "method": "balanced"},
    "controls": {"every": 20},
    "training": {"threshold": 0.8, "feedback": True},
    "instruction": {"ru": "instruction_ru.md", "en": "instruction_en.md"},
    "assumptions": {"expected": 0.9, "power": 0.8},
    "baseline": {"margin": 0.02},
    "checklist": {"1.9": ""},
    "publication": {"data": None, "code": None},
}  # fmt: skip
FROZEN = {"date": "2026-11-22", "hash": "ab12"}


def test_the_questions_have_the_numbers_that_a_plan_may_answer() -> None:
    assert len(questions()) == 71
    assert [*questions()] == author_questions()["numbers"].split()


def test_what_only_the_author_knows_is_left_to_the_author() -> None:
    found = answers(record(FULL), PLAN, frozen=FROZEN)
    assert [number for number in questions() if number not in found] == [
        "0.1", "0.2", "0.3", "0.4", "0.10", "1.6", "1.9", "2.3.2", "2.4", "2.6.2", "2.6.2.1", "3.1.1", "4.6", "5.1.1",
        "5.2", "5.2.1", "5.2.2", "5.3",
    ]  # fmt: skip
    assert set(answers(record({}), None)) == {"4.1", "4.1.1", "5.4"}


ANSWERS = {
    "0.8": "500",
    "1.1": "26 whose answers count, of 29",
    "1.2.1": "random sample (balanced); the distribution of length is kept; seed 7",
    "1.3": "5 on 100 items",
    "1.4": "25.9 on average, control items included",
    "1.8.1": "0.02 (margin for equivalence); power 0.8",
    "1.10": "yes: the plan was frozen on 2026-11-22, hash ab12",
    "2.1": "yes: adults without special training",
    "2.2": "crowd: Toloka",
    "2.3.1": "at least 80% correct answers to training items",
    "2.7.1": "$0.86: total pay by measured time",
    "2.7.3": "yes: 0.029 a page",
    "3.1": "3 a page on average, control items included",
    "3.2.2": "3 of 29 annotators, 8 answers",
    "3.4": "partial: the same prompt; people also read an instruction, models may get solved examples",
    "3.5": "partial: rules for people: Do not use neural networks",
    "4.1.1": "not applicable",
    "5.1.4": "forbidden, not measured: the instruction forbids them",
}


@every("number", ANSWERS)
def test_answers_follow_from_the_study(number: str) -> None:
    assert answers(record(FULL), PLAN, frozen=FROZEN)[number].text == ANSWERS[number]


def test_pay_by_the_answer_at_the_rate_of_a_page_is_the_planned_pay_and_other_pay_is_not_called_equal() -> (
    None
):
    plan = {**PLAN, "arms": {"people": {**PLAN["arms"]["people"], "pay": {"per_page": 0.5}}}}
    by_answer = {**FULL, "cost": {"total": 5.0, "pages": 200, "answers": 200}}
    assert answers(record(by_answer), plan)["2.7.3"].text == "yes: 0.5 a page"
    assert "2.7.3" not in answers(record({**FULL, "cost": {**FULL["cost"], "total": 9.0}}), PLAN)


def test_screening_by_the_platform_is_not_denied() -> None:
    without_training = {key: value for key, value in PLAN.items() if key != "training"}
    found = answers(record(FULL), without_training)
    assert not {"2.3", "2.3.1", "2.3.2"} & set(found)
    assert [found[number].text for number in ("2.6", "2.6.1")] == ["no", "not applicable"]


def test_the_author_answers_and_the_study_is_told_beside() -> None:
    own = {**PLAN, "checklist": {"1.9": "yes: board 12", "1.1": "30", "5.1.1": " "}}
    found = answers(record(FULL), own)
    assert found["1.9"] == ("yes: board 12", "author")
    assert found["1.1"] == ("30 (from the study: 26 whose answers count, of 29)", "author")
    assert "5.1.1" not in found
    with pytest.raises(DataError, match=r"study\.yaml, checklist\.9\.9: there is no question 9\.9"):
        answers(record(FULL), {**PLAN, "checklist": {"9.9": "yes"}})


def test_a_plan_with_values_of_other_types_leaves_the_question_to_the_author() -> None:
    found = answers(record(FULL), {**PLAN, "subset": {"size": "many", "of": 500}, "training": "none"})
    assert "1.2.1" not in found


def test_the_table_has_every_question_and_hostile_answers_stay_text() -> None:
    hostile = "a|b & 50% <script> [l](u) {{ 7 * 7 }}\n# h"
    table = checklist_markdown(answers(record(FULL), {**PLAN, "checklist": {"1.9": hostile}}, frozen=FROZEN))
    assert "54 of 71 questions are answered (1 of them by the author); 17 are left to the author." in table
    for number, question in questions().items():
        assert f"| {number} | {question.text} |" in table
    row = next(line for line in table.splitlines() if line.startswith("| 1.9 "))
    assert len(re.findall(r"(?<!\\)\|", row)) == 5
    assert "\\<script\\>" in row
    assert "7 \\* 7" in row
