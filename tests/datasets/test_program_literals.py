"""Tests and golds of programming problems are read as literals and not executed."""

import pytest
from every import every
from hypothesis import given
from hypothesis import strategies as st

from merilo.errors import DataError
from merilo.items import Item
from merilo.metrics.answers import LONGEST_LITERAL, literal_list, program_golds, program_tests
from merilo.strict_json import Json

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=5)
    | st.binary(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.tuples(inner, inner) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=6,
)  # fmt: skip


def problem(tests: Json, outputs: Json = None) -> Item:
    return Item(1, "{function}", {"function": "def f(n):", "tests": tests}, outputs, {"id": 1})


@given(st.lists(st.dictionaries(st.sampled_from(["n", "words", "x"]), VALUES)))
def test_tests_are_read_as_they_were_written(cases: list[dict[str, object]]) -> None:
    assert program_tests(problem(repr(cases))) == cases


@given(st.lists(VALUES.map(str), min_size=1))
def test_golds_are_read_from_a_list_and_from_its_literal(golds: list[str]) -> None:
    assert program_golds(problem("[]", list(golds))) == golds
    assert program_golds(problem("[]", repr(golds))) == golds


def test_golds_repeated_for_every_sample_are_read_once() -> None:
    assert program_golds(problem("[]", [["1", "2"], ["1", "2"]])) == ["1", "2"]
    assert program_golds(problem("[]", [3, "4"])) == ["3", "4"]


@every(
    "text",
    [
        "[__import__('os').system('true')]",
        "[open('/etc/passwd').read()]",
        "[x for x in (1, 2)]",
        "['a' * 10 ** 9]",
        "[10 ** 10 ** 10]",
        "[" * 5000,
        "[{[]: 1}]",
        "[" + "9" * 5000 + "]",
        "[1, ",
        "",
        "\x00",
        "(1, 2)",
        "5",
    ],
)
def test_what_is_not_a_list_of_literals_is_refused_and_not_run(text: str) -> None:
    with pytest.raises(DataError, match="tests: "):
        literal_list(text, what="tests")


def test_a_literal_of_absurd_length_is_refused_unread() -> None:
    with pytest.raises(DataError, match="longer than"):
        literal_list("[" + "1," * LONGEST_LITERAL, what="tests")


@every("tests", ["[1]", "[{1: 2}]", "[{'a b': 2}]", 5, None])
def test_tests_must_be_dictionaries_of_arguments(tests: Json) -> None:
    with pytest.raises(DataError, match="must be a list"):
        program_tests(problem(tests))


def test_golds_must_be_a_list() -> None:
    with pytest.raises(DataError, match="outputs: must be a list"):
        program_golds(problem("[]", None))
