"""Typing errors are mistyped correct answers; all others are different answers."""

import string

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from merilo.people.typing_errors import typing_error, within_one_edit

words = st.text(alphabet="abcdeабвгд", max_size=6)


def distance(one: str, two: str) -> int:
    """Damerau-Levenshtein (optimal string alignment) by the book."""
    table = [[i + j if not i * j else 0 for j in range(len(two) + 1)] for i in range(len(one) + 1)]
    for i in range(1, len(one) + 1):
        for j in range(1, len(two) + 1):
            table[i][j] = min(
                table[i - 1][j] + 1, table[i][j - 1] + 1, table[i - 1][j - 1] + (one[i - 1] != two[j - 1])
            )
            if i > 1 and j > 1 and one[i - 1] == two[j - 2] and one[i - 2] == two[j - 1]:
                table[i][j] = min(table[i][j], table[i - 2][j - 2] + 1)
    return table[-1][-1]


@given(words, words)
def test_one_edit_is_a_damerau_levenshtein_distance_of_one(one: str, two: str) -> None:
    assert within_one_edit(one, two) == (distance(one, two) <= 1)


@given(st.integers(-(10**6), 10**6), st.integers(1, 5))
def test_a_factor_of_ten_is_found_both_ways(value: int, power: int) -> None:
    assume(abs(value) > 9)
    assert typing_error(str(value * 10**power), str(value)) == "power_of_ten"
    assert typing_error(str(value), str(value * 10**power)) == "power_of_ten"


@pytest.mark.parametrize(
    ("answer", "right", "kind"),
    [
        ("12", "12.0", "notation"),
        ("1 000", "1000", "notation"),
        ("3,5", "3.5", "notation"),
        ("-7", "7", "sign"),
        ("150", "15", "power_of_ten"),
        ("0.15", "15", "power_of_ten"),
        *((text, "1234", "one_character") for text in ("1324", "1235", "1834", "134", "12334")),
        ("1000", "999", None),
        ("7", "4", None),
        ("5", "50", "power_of_ten"),
        ("50", "5", None),
        ("10", "9", None),
        ("−7", "7", "sign"),
        ("7.0", "7", "notation"),
        ("5678", "1234", None),
        ("-13", "12", None),
        ("москва", "Москва", "case"),
        ("Vjcrdf", "Москва", "layout"),
        ("ф", "a", "layout"),
        ("Ф", "A", "layout"),
        ("С", "C", "alphabet"),
        ("Моксва", "Москва", "one_character"),
        ("Москв", "Москва", "one_character"),
        ("ёлка.", "елка", "notation"),
        ("A", "B", None),
        ("Да", "Нет", None),
        ("кот", "кит", None),
        ("", "1", None),
        ("1e5", "100000", "notation"),
    ],
)
def test_kinds_of_typing_error(answer: str, right: str, kind: str | None) -> None:
    assert typing_error(answer, right) == kind


@given(st.text(alphabet=string.printable + "٣½∞", max_size=30))
def test_reading_a_number_never_fails(text: str) -> None:
    typing_error(text, "12")


def test_a_number_of_a_million_digits_is_no_trap() -> None:
    huge = "9" * 1_000_000
    assert typing_error(huge, "12") is None


@given(st.integers(0, 9), st.integers(0, 9))
def test_a_count_from_0_to_9_is_never_mistyped(answer: int, right: int) -> None:
    assert typing_error(str(answer), str(right)) is None
