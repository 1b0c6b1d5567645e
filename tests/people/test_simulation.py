"""Simulated annotators: the pool is arranged as a study would be, and the export is reproducible."""

import csv
import io
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from merilo.errors import UsageError
from merilo.people.simulation import CAREFUL, GUESSING, HASTY, Panel, SimulatedItem, toloka_export


def export(items: int, panel: Panel, seed: int) -> list[dict[str, str]]:
    questions = [SimulatedItem((f"q{n}",), str(n % 2)) for n in range(items)]
    controls = [SimulatedItem((f"c{n}",), str(n % 2)) for n in range(5)]
    text = toloka_export(
        questions, controls, columns=["text"], answer="answer", labels=["0", "1"], panel=panel, seed=seed
    )
    return list(csv.DictReader(io.StringIO(text), delimiter="\t"))


@given(st.integers(1, 40), st.integers(1, 6), st.integers(1, 4), st.integers(0, 9))
@settings(max_examples=40, deadline=None)
def test_each_item_meets_exactly_as_many_different_people_as_planned(
    items: int, overlap: int, page: int, seed: int
) -> None:
    panel = Panel(people=((CAREFUL, 4), (HASTY, 2), (GUESSING, 2)), overlap=overlap, page=page)
    tests = [row for row in export(items, panel, seed) if not row["GOLDEN:answer"]]
    met = Counter((row["INPUT:text"], row["ASSIGNMENT:worker_id"]) for row in tests)
    assert set(met.values()) == {1}
    assert Counter(item for item, _ in met) == {f"q{n}": overlap for n in range(items)}


def test_every_page_holds_one_control_item() -> None:
    pages = Counter(row["ASSIGNMENT:assignment_id"] for row in export(30, Panel(), 1) if row["GOLDEN:answer"])
    assert set(pages.values()) == {1}
    assert len(pages) == 75


def test_the_careful_are_right_and_the_guessing_are_not() -> None:
    right: Counter[str] = Counter()
    answers: Counter[str] = Counter()
    for row in export(300, Panel(people=((CAREFUL, 5), (GUESSING, 5)), overlap=10), 2):
        if row["GOLDEN:answer"]:
            kind = row["ASSIGNMENT:worker_id"].split("-")[1]
            answers[kind] += 1
            right[kind] += row["OUTPUT:answer"] == row["GOLDEN:answer"]
    assert right["careful"] / answers["careful"] > 0.95
    assert 0.4 < right["guessing"] / answers["guessing"] < 0.65


def test_the_same_seed_gives_the_same_export() -> None:
    assert export(10, Panel(), 3) == export(10, Panel(), 3) != export(10, Panel(), 4)


def test_too_few_people_for_the_overlap() -> None:
    with pytest.raises(UsageError, match="overlap of 5"):
        export(3, Panel(people=((CAREFUL, 4),)), 1)
