"""Which spellings are the same answer: labels, rules, and the dataset's metric."""

from pathlib import Path

import polars as pl
import pytest
from command import merilo
from exports import row, toloka, written
from hypothesis import given
from hypothesis import strategies as st

from merilo.datasets import dataset
from merilo.datasets.declaration import undeclared
from merilo.errors import UsageError
from merilo.people.spelling import (
    RULES,
    SETS,
    canonical,
    classes,
    key_of,
    rules_of,
    spelled_as_compared,
    unify,
)
from merilo.responses import SCHEMA, Responses


def test_numbers_lose_an_empty_fraction_and_nothing_else() -> None:
    assert unify(["7", "7.0", "7,00", "7.5", "-3.0", "1e0"]) == {
        "7": "7", "7.0": "7", "7,00": "7", "7.5": "7.5", "-3.0": "-3", "1e0": "1e0",
    }  # fmt: skip


def test_truth_values_become_the_labels_in_use() -> None:
    assert unify(["True", "0", "1"])["True"] == "1"
    assert unify(["True", "false"]) == {"True": "true", "false": "false"}
    assert unify(["Да", "true"], ["Да", "Нет"]) == {"Да": "Да", "true": "Да"}
    assert unify(["1", "0"], ["Да", "Нет"]) == {"1": "Да", "0": "Нет"}


def test_words_are_not_truth_values_where_no_such_labels_are_used() -> None:
    assert unify(["да", "возможно"], ["A", "B"]) == {"да": "да", "возможно": "возможно"}


def test_a_word_among_other_labels_is_no_truth_value() -> None:
    assert unify(["3", "1", "yes"]) == {"3": "3", "1": "1", "yes": "yes"}


#: Answers that are one label typed in many ways, and answers that only look like it.
TYPED = st.sampled_from(
    [
        "0",
        "1",
        "true",
        "True",
        "TRUE",
        "false",
        "Да",
        "да",
        "Нет",
        "нет",
        "yes",
        "No",
        "YES",
        "1.0",
        "1.00",
        "0,0",
        "01",
        "a",
        "A",
        "b",
    ]
) | st.text(max_size=4)


@given(st.lists(TYPED, max_size=8), st.lists(TYPED.filter(bool), max_size=4))
def test_every_answer_gets_a_label_and_labels_stay_themselves(written: list[str], labels: list[str]) -> None:
    mapping = unify(written, labels)
    assert set(mapping) == set(written)
    assert all(mapping[text] == text for text in written if text in labels)
    again = unify(mapping.values(), labels)
    assert all(again[label] == label for label in mapping.values())


NUMBERS = rules_of(["numbers"])
WORDS = rules_of(["words"])


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
        ["1234.567", "1234,567"],
    ],
)
def test_one_number_in_many_writings_is_one_class(same: list[str]) -> None:
    assert {canonical(text, NUMBERS) for text in same} == {same[0]}


@pytest.mark.parametrize(
    "text",
    [
        "1,234",
        "12,345",
        "1.2.3",
        "1,2,3",
        "1 00",
        "12 3456",
        "abc",
        "5 кг",
        "1/2",
        "--5",
        "",
        "nan",
        "inf",
        "1e9999",
    ],
)
def test_what_is_no_number_or_might_be_two_stays_as_it_is(text: str) -> None:
    assert canonical(text, ["number"]) == text


@given(
    value=st.decimals(allow_nan=False, allow_infinity=False, places=4, min_value=-(10**12), max_value=10**12)
)
def test_a_number_keeps_its_value(value) -> None:
    from decimal import Decimal

    for text in (str(value), f"{value:,}".replace(",", " "), str(value).replace(".", ",") + "0"):
        assert Decimal(canonical(text, NUMBERS)) == value


@pytest.mark.parametrize(
    "same",
    [
        ["еж", "Ёж", "«ёж»", " ЁЖ. ", "„еж“!", "'ёж'…"],
        ["из-за", "Из–за", "из—за;"],
        ["до свидания", "До \n свидания!"],
    ],
)
def test_one_word_in_many_spellings_is_one_class(same: list[str]) -> None:
    assert {canonical(text, WORDS) for text in same} == {same[0]}


def test_yes_and_no_are_one_and_zero_only_when_asked() -> None:
    assert [canonical(text, ["truth"]) for text in ("True", "нет", "да", "может быть")] == [
        "1",
        "0",
        "1",
        "может быть",
    ]
    assert canonical("True", WORDS) == "true"


@given(text=st.text(max_size=20), names=st.lists(st.sampled_from([*RULES, *SETS])))
def test_applying_rules_twice_changes_nothing_more(text: str, names: list[str]) -> None:
    rules = rules_of(names)
    once = canonical(text, rules)
    assert all(canonical(canonical(text, [rule]), [rule]) == canonical(text, [rule]) for rule in rules)
    assert bool(once.strip()) == bool(text.strip()), "no answer becomes empty"


def test_a_class_is_called_by_its_most_frequent_spelling_and_rules_count_what_they_change() -> None:
    made = classes(["еж", "Ёж", "ёж", "лис"], [1, 3, 3, 1], ["case", "yo"])
    assert made.classes == {"еж": "Ёж", "Ёж": "Ёж", "ёж": "Ёж", "лис": "лис"}
    assert made.changed == {"case": 1, "yo": 2}


def test_an_unknown_rule_is_refused_with_the_known_ones() -> None:
    with pytest.raises(UsageError, match="numbers, words, white_space"):
        rules_of(["stemming"])


def test_people_who_typed_one_number_in_five_ways_agree(tmp_path: Path) -> None:
    typed = ["1000", "1 000", "1000,0", "+1000", "999"]
    rows = [row("q", answer, f"w{n}") for n, answer in enumerate(typed)]
    rows += [row("c", answer, f"w{n}", golden="1 000") for n, answer in enumerate(typed)]
    pool = written(tmp_path / "p.tsv", toloka(rows))
    gold = written(tmp_path / "gold.csv", "question,gold\nq,1000.000\n")
    apart = merilo("baseline", pool, "--gold", gold, "--resolve", "none", "--json", "-").json
    assert apart["agreement"]["low_agreement"] == 1
    assert apart["normalisation_rules"] == {}
    found = merilo("baseline", pool, "--gold", gold, "--normalise", "numbers", "--json", "-").json
    assert found["annotators"]["excluded"] == 1, "the control's known answer is in the class of theirs"
    assert found["resolved_by"]["unanimous"] == 1
    assert found["metrics"]["acc"]["value"] == 1.0
    assert found["normalisation_rules"]["number"] > 0
    assert len(set(found["normalisation"].values())) == 1
    assert found["provenance"]["parameters"]["normalise"] == ["numbers"]
    assert "--normalise numbers" in found["provenance"]["command"]


def test_words_agree_across_case_and_quotes_and_the_files_keep_one_spelling(tmp_path: Path) -> None:
    rows = [row("q", answer, f"w{n}") for n, answer in enumerate(["Ёж", "«ёж»", "еж.", "Ёж", "лис"])]
    pool = written(tmp_path / "p.tsv", toloka(rows))
    outcome = merilo("baseline", pool, "--normalise", "words", "--out", tmp_path / "out", "--json", "-")
    assert outcome.status == 0
    consensus = pl.read_parquet(tmp_path / "out" / "consensus.parquet")
    assert consensus["label"].to_list() == ["Ёж"]
    assert outcome.json["normalisation"] == {"«ёж»": "Ёж", "еж.": "Ёж"}


def test_every_rule_is_documented() -> None:
    page = (Path(__file__).resolve().parents[2] / "docs" / "aggregation.md").read_text(encoding="utf-8")
    for name, rule in RULES.items():
        assert f"`{name}` | {rule.says.split(';')[0]}" in page
    for name in SETS:
        assert f"`{name}` " in page


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
    assert spelled_as_compared(study([typed]), dataset(name)).table["answer"].to_list() == ["7"]


def test_the_minus_of_typography_is_a_minus() -> None:
    assert (
        spelled_as_compared(study(["\u22125", "-5"]), dataset("rumultiar")).table["answer"].to_list()
        == ["-5"] * 2
    )


def test_free_texts_take_the_spelling_that_most_people_used() -> None:
    found = spelled_as_compared(
        study(["Пушкин", "пушкин.", "Пушкин", "ПУШКИН", "Гоголь"]), dataset("chegeka")
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
    assert spelled_as_compared(study([typed]), dataset("use"), {1: kind}).table["answer"].to_list() == [kept]


def test_words_of_the_exam_are_equal_by_their_letters() -> None:
    key = key_of(dataset("use"))
    assert key is not None
    assert key("Все-таки", "text") == key("всетаки", "text") != key("всётаки", "text")


def test_a_control_item_accepts_every_alternative_of_its_known_answer() -> None:
    found = spelled_as_compared(
        study(["лев толстой", "Чехов"], control="Толстой;Лев Толстой"), dataset("multiq")
    )
    right = (found.table["answer"] == found.table["control"]).to_list()
    assert right == [True, False]


def test_labels_without_a_dataset_are_left_as_they_are() -> None:
    assert spelled_as_compared(study(["007", "7"]), undeclared()).table["answer"].to_list() == ["007", "7"]
