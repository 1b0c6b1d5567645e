"""Equivalent answers form one class; the rules and their effects are recorded."""

from pathlib import Path

import polars as pl
import pytest
from command import merilo
from exports import row, toloka, written
from hypothesis import given
from hypothesis import strategies as st

from merilo.errors import UsageError
from merilo.people.spelling import RULES, SETS, canonical, classes, rules_of

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


def test_a_rule_that_does_not_exist_is_wrong_usage(tmp_path: Path) -> None:
    pool = written(tmp_path / "p.tsv", toloka([row("q", "1", "w")]))
    assert merilo("baseline", pool, "--normalise", "stemming").status == 2


def test_every_rule_is_documented() -> None:
    page = (Path(__file__).resolve().parents[2] / "docs" / "aggregation.md").read_text(encoding="utf-8")
    for name, rule in RULES.items():
        assert f"`{name}` | {rule.says.split(';')[0]}" in page
    for name in SETS:
        assert f"`{name}` " in page
