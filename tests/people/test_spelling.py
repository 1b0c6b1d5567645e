"""Answers that the dataset's metric treats as equal are votes for one label."""

import polars as pl
import pytest

from merilo.datasets import dataset
from merilo.metrics.plain_dataset import PlainDataset, undeclared
from merilo.people.spelling import key_of, spelled_as_compared
from merilo.responses import SCHEMA, Responses


def plain(name: str) -> PlainDataset:
    declared = dataset(name)
    return PlainDataset(declared.name, declared.metrics, declared.answer, declared.extra)


def study(answers: list[str], control: str | None = None) -> Responses:
    rows = {
        "item": [1] * len(answers),
        "respondent": [f"w{place}" for place in range(len(answers))],
        "sample": [1] * len(answers),
        "answer": answers,
        "control": [control] * len(answers),
        "is_control": [control is not None] * len(answers),
        "file": ["f"] * len(answers),
        "row": list(range(len(answers))),
    }
    table = pl.DataFrame(rows).select(
        (pl.col(name) if name in rows else pl.lit(None)).cast(dtype).alias(name)
        for name, dtype in SCHEMA.items()
    )
    return Responses(
        table, pl.DataFrame({"item": [1], "q": ["?"]}, schema_overrides={"item": pl.UInt32}), 1, {}
    )


@pytest.mark.parametrize("name", ["rumultiar", "simplear", "rumodar", "lcs", "bps"])
@pytest.mark.parametrize("typed", ["007", "+7", "7", "7.0", "\u00a07", "\u202f7 "])
def test_a_number_is_one_answer_however_it_is_written(name: str, typed: str) -> None:
    assert spelled_as_compared(study([typed]), plain(name)).table["answer"].to_list() == ["7"]


def test_the_minus_of_typography_is_a_minus() -> None:
    assert (
        spelled_as_compared(study(["\u22125", "-5"]), plain("rumultiar")).table["answer"].to_list()
        == ["-5"] * 2
    )


def test_free_texts_take_the_spelling_that_most_people_used() -> None:
    found = spelled_as_compared(study(["Пушкин", "пушкин.", "Пушкин", "ПУШКИН", "Гоголь"]), plain("chegeka"))
    assert found.table["answer"].to_list() == ["Пушкин"] * 4 + ["Гоголь"]
    assert found.renamed == {"ПУШКИН": "Пушкин", "пушкин.": "Пушкин"}


@pytest.mark.parametrize(
    ("kind", "typed", "kept"),
    [
        ("multiple_choice_based_on_text", "3, 1", "1,3"),
        ("multiple_choice_based_on_text", "3 1 3", "1,3"),
        ("multiple_choice_options_within_text", "1;2", "1,2"),
        ("matching", "8, 1, 9, 7", "8,1,9,7"),
        ("matching", "1,8", "1,8"),
        ("text", "Праздничного", "Праздничного"),
    ],
)
def test_the_exam_compares_sets_sequences_and_words(kind: str, typed: str, kept: str) -> None:
    assert spelled_as_compared(study([typed]), plain("use"), {1: kind}).table["answer"].to_list() == [kept]


def test_words_of_the_exam_are_equal_by_their_letters() -> None:
    key = key_of(plain("use"))
    assert key is not None
    assert key("Все-таки", "text") == key("всетаки", "text") != key("всётаки", "text")


def test_a_control_item_accepts_every_alternative_of_its_known_answer() -> None:
    found = spelled_as_compared(
        study(["лев толстой", "Чехов"], control="Толстой;Лев Толстой"), plain("multiq")
    )
    right = (found.table["answer"] == found.table["control"]).to_list()
    assert right == [True, False]


def test_labels_without_a_dataset_are_left_as_they_are() -> None:
    assert spelled_as_compared(study(["007", "7"]), undeclared()).table["answer"].to_list() == ["007", "7"]
