"""Which spellings are the same answer: labels, numbers, yes and no, sets, and the dataset's metric."""

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from merilo.datasets import Answer, Dataset, dataset
from merilo.datasets.declaration import undeclared
from merilo.file_reading import Reading
from merilo.people.spelling import answer_keys, key_of, plain_key, same_answers
from merilo.responses import SCHEMA, Responses


def spelled(answers: list[str], declared: Dataset | None = None, **named: object) -> list[str]:
    responses = study(answers, **named)
    return same_answers(responses, None, declared or undeclared())[0].table["answer"].to_list()


@pytest.mark.parametrize(
    "same",
    [
        ["1", "1.0", "1,0", "+1", " 1 ", "01", "1.", "1e0", "1,"],
        ["1000", "1 000", "1\u00a0000", "1\u202f000,0", "1'000", "1000.00", "1e3"],
        ["-5", "−5", "–5.0", "-5,00"],
        ["0.5", ".5", "0,5", "0,50", "+0.5"],
        ["0.125", "0,125"],
        ["1234567.8", "1 234 567,8", "1234567,8"],
        ["0", "-0", "0.0", "00"],
        ["yes", "Yes", " YES ", "yes.", "Yes ."],
        ["й", "и\u0306", "Й."],
        ["a b", "A  b", "a\nb"],
    ],
)
def test_one_answer_in_many_spellings(same: list[str]) -> None:
    assert {plain_key(text) for text in same} == {same[0]}


@pytest.mark.parametrize(
    "text",
    [
        "1,234",
        "12,345",
        "1.2.3",
        "1,2,3",
        "1 00",
        "5 кг",
        "1/2",
        "--5",
        "nan",
        "inf",
        "1e999",
        "-" + "9" * 1_000_000,
    ],
)
def test_what_is_no_number_or_might_be_two_stays_as_it_is(text: str) -> None:
    assert plain_key(text) == text


@given(
    value=st.decimals(allow_nan=False, allow_infinity=False, places=4, min_value=-(10**12), max_value=10**12)
)
def test_a_number_keeps_its_value(value) -> None:
    from decimal import Decimal

    for text in (str(value), f"{value:,}".replace(",", " "), str(value).replace(".", ",") + "0"):
        assert Decimal(plain_key(text)) == value


def test_long_numbers_that_differ_in_the_last_digit_are_two_answers() -> None:
    assert len({plain_key(f"{'1' * 40}{digit}{end}") for digit in "123" for end in ("", ".0")}) == 3


@given(text=st.text(min_size=1, max_size=20))
def test_a_key_is_its_own_key(text: str) -> None:
    assert plain_key(plain_key(text)) == plain_key(text) or text.endswith((".", " "))


@pytest.mark.parametrize("pair", [("1", "0"), ("yes", "No"), ("TRUE", "false"), ("да", "Нет"), ("Y", "n")])
def test_yes_and_no_are_one_and_zero_where_all_answers_are_such(pair: tuple[str, str]) -> None:
    texts = [("", text) for text in (*pair, "1", "0")]
    assert [*answer_keys(texts, undeclared(), []).values()][:2] == ["1", "0"]
    among_others = answer_keys([*texts, ("", "maybe")], undeclared(), [])
    assert len({among_others["", "1"], among_others["", "yes"] if "yes" in pair else "yes"}) == 2


@pytest.mark.parametrize(
    ("typed", "read"),
    [
        ("АВСD", "ABCD"),
        ("ВD", "ВD"),  # "В" is on the key of D
        ("ФИСВ", "ФИСВ"),
        ("АБВГ", "АБВГ"),
    ],
)
def test_a_cyrillic_letter_is_the_latin_one_that_it_looks_like_unless_it_may_be_another(
    typed: str, read: str
) -> None:
    answer = Answer(kind="choice", labels=("A", "B", "C", "D"))
    assert "".join(spelled([*typed], Dataset(name="", title="", metrics=("acc",), answer=answer))) == read


def test_labels_of_a_dataset_are_the_spelling() -> None:
    asked = Dataset(name="d", title="d", metrics=("acc",), answer=Answer(kind="choice", labels=("Да", "Нет")))
    assert spelled(["true", "0", "НЕТ", "может быть"], asked) == ["Да", "Нет", "Нет", "может быть"]


def test_an_answer_is_written_as_most_people_write_it() -> None:
    assert spelled(["neg", "Neg", "Neg", "pos", "pos."]) == ["Neg", "Neg", "Neg", "pos", "pos"]


def test_what_was_merged_and_what_is_missing_is_told() -> None:
    responses, _, merged = same_answers(study(["a", "a", "A", "NA", "NA"]), None, undeclared())
    assert responses.dropped == {"missing": 2}
    assert (merged.spelling, merged.counts, merged.missing) == ({"A": "a"}, {"A": 1}, {"NA": 2})


def test_labels_of_an_order_are_never_missing() -> None:
    assert spelled(["None", "some"], order=("None", "some")) == ["None", "some"]


def test_lists_in_json_are_sets() -> None:
    assert len({*spelled(['["A", "B"]', '["B", "A"]', '["b", "A", "A"]'])}) == 1
    assert len({*spelled(['["A"]', "A"])}) == 1
    assert len({*spelled(["A, B", "B,A"], set_separator=",")}) == 1
    assert len({*spelled(["A, B", "B,A"])}) == 2


@pytest.mark.parametrize(
    "text", ["Пропустить вопрос, так как он, возможно, был придуман мной", "Skip: this may be mine", "n/k"]
)
def test_what_may_be_mine_is_no_vote(text: str) -> None:
    found, *_ = same_answers(study(["A", text], skip=("N/K",)), None, undeclared())
    assert found.dropped == {"may_be_mine": 1}


def study(answers: list[str], control: str | None = None, **named: object) -> Responses:
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
    items = pl.DataFrame({"item": [1], "q": ["?"]}, schema_overrides={"item": pl.UInt32})
    return Responses(table, items, 1, {}, reading=Reading().named(**named))


@pytest.mark.parametrize("name", ["rumultiar", "simplear", "rumodar"])
@pytest.mark.parametrize("typed", ["007", "+7", "7", "7.0", "\u00a07", "\u202f7 "])
def test_a_number_is_one_answer_however_it_is_written(name: str, typed: str) -> None:
    assert spelled([typed], dataset(name)) == ["7"]


def test_free_texts_take_the_spelling_that_most_people_used() -> None:
    found, *_ = same_answers(
        study(["Пушкин", "пушкин.", "Пушкин", "ПУШКИН", "Гоголь"]), None, dataset("chegeka")
    )
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
    found, *_ = same_answers(study([typed]), None, dataset("use"), {1: kind})
    assert found.table["answer"].to_list() == [kept]


def test_words_of_the_exam_are_equal_by_their_letters() -> None:
    key = key_of(dataset("use"))
    assert key("Все-таки", "text") == key("всетаки", "text") != key("всётаки", "text")


def test_a_control_item_accepts_every_alternative_of_its_known_answer() -> None:
    found, *_ = same_answers(
        study(["лев толстой", "Чехов"], control="Толстой;Лев Толстой"), None, dataset("multiq")
    )
    right = (found.table["answer"] == found.table["control"]).to_list()
    assert right == [True, False]


#: Without the Cyrillic letters that look Latin, which depend on the other texts.
LETTERS = st.characters(max_codepoint=1200, exclude_characters="авекмнорстухіАВЕКМНОРСТУХІ")


@given(texts=st.lists(st.text(LETTERS, max_size=8), max_size=30))
def test_keys_of_many_texts_are_those_of_each(texts: list[str]) -> None:
    keys = answer_keys([("", text) for text in texts], undeclared(), ["no label of these"])
    assert keys == {("", text): key_of(undeclared())(text, "") for text in texts}
