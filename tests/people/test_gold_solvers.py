"""Gold answers computed by the dataset's solver."""

from pathlib import Path

import pytest
from command import merilo
from exports import row, toloka, written
from gold_files import golds, pool

from merilo.datasets.solvers import solver
from merilo.errors import DataError
from merilo.people.gold import solved_gold


def test_a_solver_gives_items_by_the_pools_numbers() -> None:
    gold = solved_gold(pool(string1=["ABC"], string2=["BC"]), solver("lcs"), "lcs")
    assert golds(gold) == ["2"]
    assert gold.column is None
    item = gold.items[1]
    assert (item.id, item.inputs, item.outputs) == (1, {"string1": "ABC", "string2": "BC"}, "2")


def test_items_that_a_solver_cannot_answer_have_no_gold() -> None:
    items = pool(inputs=["4 / 2 = ", "1 / 2 = ", "1 / 0 = ", "x", "1 / 3 = ", "7 - 9 = "])
    gold = solved_gold(items, solver("rumultiar"), "rumultiar")
    assert golds(gold) == ["2", "-2"]
    assert gold.unsolved == (2, 3, 4, 5)
    assert gold.without_gold == ()
    assert sorted(gold.items) == [1, 6]
    (warning,) = gold.warnings
    assert "cannot answer 4 of 6 items, which are not scored" in warning.en
    assert (
        "item 2: the value of '1 / 2' is not an integer; item 3: the expression divides by zero" in warning.en
    )
    assert "(items 2, 3, 4, 5; item 2:" in warning.en


def test_a_solver_that_answers_nothing_is_of_another_dataset() -> None:
    with pytest.raises(DataError, match="the solver of lcs can answer no item; item 1: expected two words"):
        solved_gold(pool(text=["one", "one two three"]), solver("lcs"), "lcs")


def test_a_column_of_ids_is_no_part_of_the_question() -> None:
    items = pool(idx=["1", "2"], string1=["ABC", "AB"], string2=["BC", "CD"])
    assert golds(solved_gold(items, solver("lcs"), "lcs")) == ["2", "0"]


def test_typographic_signs_are_those_of_arithmetic() -> None:
    items = pool(inputs=["7 − 9 =", "2 × 3 =", "8 ÷ 2 =", "(−3)\u00a0* 2 = "])
    assert golds(solved_gold(items, solver("rumultiar"), "rumultiar")) == ["-2", "6", "4", "-6"]


def test_a_baseline_leaves_out_what_the_solver_cannot_answer(tmp_path: Path) -> None:
    sums = {"2 + 2 = ": "4", "1 / 2 = ": "0.5"}
    rows = [row(text, answer, f"w{n}") for text, answer in sums.items() for n in range(3)]
    path = written(tmp_path / "pool.tsv", toloka(rows))
    outcome = merilo("baseline", path, "--dataset", "rumultiar", "--json", "-")
    assert outcome.status == 0
    assert "cannot answer 1 of 2 items" in outcome.err
    found = outcome.json
    (metric,) = found["metrics"].values()
    assert (metric["n"], metric["value"]) == (1, 1.0)
    assert found["gold"]["unsolved"] == [2]
    assert found["gold"]["column"] is None


def test_the_column_of_the_right_answers_stands_in_the_json(tmp_path: Path) -> None:
    rows = [row(f"q{n}", "A", f"w{person}") for n in range(2) for person in range(3)]
    path = written(tmp_path / "pool.tsv", toloka(rows))
    gold = written(tmp_path / "gold.csv", "question,answer,gold\nq0,B,A\nq1,B,A\n")
    outcome = merilo("baseline", path, "--gold", gold, "--json", "-")
    assert outcome.json["gold"]["column"] == "gold"
    assert outcome.json["metrics"]["acc"]["value"] == 1.0
    assert "taken from the column 'gold', not from 'answer'" in outcome.err


def test_the_terminal_says_where_the_right_answers_come_from(tmp_path: Path) -> None:
    rows = [row(f"q{n}", "A", f"w{person}") for n in range(3) for person in range(3)]
    path = written(tmp_path / "pool.tsv", toloka(rows))
    gold = written(tmp_path / "gold.csv", "question,gold\nq0,A\nq1,A\n")
    shown = merilo("baseline", path, "--gold", gold).out
    assert "2 of 3 items, from column 'gold' of gold.csv" in shown
    assert "no gold answers, so no accuracy: add --gold FILE" in merilo("baseline", path).out
