"""Solvers against slower algorithms, and against the golds of real pools."""

from functools import cache
from pathlib import Path

import pytest
from every import every
from exports import csv_rows
from hypothesis import given
from hypothesis import strategies as st

from merilo.datasets.solvers import SOLVERS, solve_arithmetic, solve_bps, solve_lcs, solve_rumodar
from merilo.errors import DataError

BRACKETS = st.text(alphabet="()[]{}", max_size=14)
WORDS = st.text(alphabet="ABCD", min_size=1, max_size=12)


def balanced_by_cancelling(brackets: str) -> bool:
    """A sequence is balanced when removing neighbours of one kind leaves nothing."""
    while (shorter := brackets.replace("()", "").replace("[]", "").replace("{}", "")) != brackets:
        brackets = shorter
    return not brackets


def balanced_sequences() -> st.SearchStrategy[str]:
    return st.recursive(
        st.just(""),
        lambda inner: st.tuples(st.sampled_from(["()", "[]", "{}"]), inner, inner).map(
            lambda part: part[0][0] + part[1] + part[0][1] + part[2]
        ),
        max_leaves=12,
    )


def lcs_by_recursion(first: str, second: str) -> int:
    @cache
    def length(i: int, j: int) -> int:
        if i == len(first) or j == len(second):
            return 0
        if first[i] == second[j]:
            return 1 + length(i + 1, j + 1)
        return max(length(i + 1, j), length(i, j + 1))

    return length(0, 0)


@given(BRACKETS | balanced_sequences())
def test_bps_agrees_with_cancelling_neighbours(brackets: str) -> None:
    assert solve_bps(" ".join(brackets)) == str(int(balanced_by_cancelling(brackets)))


@given(WORDS, WORDS)
def test_lcs_agrees_with_the_definition(first: str, second: str) -> None:
    assert solve_lcs(f"{first} {second}") == str(lcs_by_recursion(first, second))


EXPRESSIONS = st.recursive(
    st.integers(-9, 9).map(lambda number: f"({number})"),
    lambda inner: st.tuples(inner, st.sampled_from("+-*"), inner).map(lambda parts: f"({' '.join(parts)})"),
    max_leaves=12,
)


@given(EXPRESSIONS)
def test_rumultiar_agrees_with_the_interpreter(expression: str) -> None:
    assert solve_arithmetic(f"{expression} = ") == str(eval(expression))


@given(
    st.sampled_from("+-*"),
    st.integers(-3, 3),
    st.lists(st.tuples(st.integers(10, 999), st.integers(10, 999)), min_size=2, max_size=6),
)
def test_rumodar_finds_what_is_added_to_the_operation(
    sign: str, added: int, pairs: list[tuple[int, int]]
) -> None:
    lines = [f"{a} {sign} {b} -> {eval(f'{a} {sign} {b}') + added}" for a, b in pairs]
    open_line, answer = lines[-1].rsplit(" ", 1)
    assert solve_rumodar("\n".join([*lines[:-1], open_line])) == answer


@every(
    ("name", "text", "fault"),
    [
        ("bps", "( a )", "not a bracket"),
        ("lcs", "ONE", "two words"),
        ("lcs", "ONE TWO THREE", "two words"),
        ("simplear", "1 + ", "not an arithmetic expression"),
        ("simplear", "", "not an arithmetic expression"),
        ("rumultiar", "1 / 0 = ", "divides by zero"),
        ("rumultiar", "1 / 2 = ", "not an integer"),
        ("rumultiar", "2 ** 9 = ", "other than"),
        ("rumultiar", "True + 1 = ", "something else"),
        ("rumultiar", "__import__('os').getcwd() = ", "something else"),
        ("rumultiar", "-" * 300 + "1 = ", "nested deeper"),
        ("rumultiar", "~" * 900 + "1 = ", "something else"),
        ("rumultiar", "(" * 900 + "1" + ")" * 900, "not an arithmetic"),
        ("rumultiar", "9" * 2001, "longer than"),
        ("rumodar", "1 + 1 -> 2\n2 + 2 -> 5\n3 + 3 ->", "fit one operation"),
        ("rumodar", "3 + 3 ->", "fit one operation"),
        ("rumodar", "3 ^ 3 ->", "not a line"),
        ("rumodar", "", "not a line"),
        ("rumodar", "1 + 1 ->\n2 + 2 ->", "no result"),
    ],
)
def test_what_is_not_a_question_is_refused_with_a_sentence(name: str, text: str, fault: str) -> None:
    with pytest.raises(DataError, match=fault):
        SOLVERS[name](text)


@pytest.mark.parametrize(("name", "gold"), [("bps", "GOLDEN:correct"), ("lcs", "GOLDEN:length")])
def test_the_control_items_of_real_pools_have_the_answer_of_the_solver(
    name: str, gold: str, pools: Path
) -> None:
    (export,) = (pools / name).glob("assignments_*.tsv")
    controls = [row for row in csv_rows(export) if row[gold]]
    assert controls
    for row in controls:
        columns = [value for column, value in row.items() if column.startswith("INPUT:")]
        assert SOLVERS[name](" ".join(columns)) == row[gold]
