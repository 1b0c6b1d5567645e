"""Simulated annotators answer as their kind says, and the same seed gives the same answers."""

from random import Random

from hypothesis import given
from hypothesis import strategies as st

from merilo.people.simulation import (
    CAREFUL,
    GUESSING,
    SimulatedItem,
    near_miss,
    simulated_answer,
    simulated_seconds,
)

YES_OR_NO = SimulatedItem("1", ("0", "1"))


def share_right(item: SimulatedItem, kind: object, answers: int = 2000) -> float:
    random = Random(1)
    return sum(simulated_answer(item, kind, random) == item.gold for _ in range(answers)) / answers  # type: ignore[arg-type]


def test_the_careful_are_right_and_the_guessing_are_not() -> None:
    assert share_right(YES_OR_NO, CAREFUL) > 0.95
    assert 0.45 < share_right(YES_OR_NO, GUESSING) < 0.6


def test_the_hardest_item_is_answered_correctly_half_as_often() -> None:
    hard = SimulatedItem("1", ("0", "1"), difficulty=1.0)
    assert 0.45 < share_right(hard, CAREFUL) < 0.55


@given(st.integers(0, 9), st.integers(0, 99))
def test_a_near_miss_is_another_label(gold: int, seed: int) -> None:
    labels = [str(number) for number in range(10)]
    missed = near_miss(str(gold), labels, Random(seed))
    assert missed in labels
    assert missed != str(gold)
    assert near_miss("yes", ["yes", "no"], Random(seed)) == "no"


def test_the_same_seed_gives_the_same_answers_and_times() -> None:
    def drawn(seed: int) -> list[object]:
        random = Random(seed)
        return [
            (simulated_answer(YES_OR_NO, GUESSING, random), simulated_seconds(GUESSING, random))
            for _ in range(9)
        ]

    assert drawn(3) == drawn(3) != drawn(4)
