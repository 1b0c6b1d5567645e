from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
import scipy
from hypothesis import given
from hypothesis import strategies as st

from merilo.statistics.crossed import (
    GUESSERS,
    Influence,
    apart,
    crossed,
    of_mean,
    student_above,
    student_quantile,
    wilson_form,
)

LEVELS = st.sampled_from([0.8, 0.9, 0.95, 0.99])


def one_person(seed: int, items: int = 40, people: int = 8) -> tuple[float, Influence]:
    """Return the accuracy of a drawn answer and its influences, in a study where every person answers every item."""
    rng = np.random.default_rng(seed)
    skill, easy = rng.uniform(0.4, 1.0, people), rng.uniform(0.3, 1.0, items)
    item, person = np.divmod(np.arange(items * people), people)
    right = (rng.random(items * people) < skill[person] * easy[item]).astype(float)
    value = float(right.mean())
    answers = (right - value) / right.size
    guess = (0.5 - right) / right.size
    return value, Influence(np.bincount(item, answers), answers, item, person, guess)


@pytest.mark.parametrize("freedom", [1, 2, 3, 8, 21, 99, 1999])
def test_students_distribution_is_scipys(freedom: int) -> None:
    for at in (-8.0, -1.0, 0.0, 0.3, 1.96, 5.0):
        assert student_above(at, freedom) == pytest.approx(scipy.special.stdtr(freedom, -at), abs=1e-12)
    for probability in (0.9, 0.975, 0.995):
        expected = scipy.special.stdtrit(freedom, probability)
        assert student_quantile(probability, freedom) == pytest.approx(expected, rel=1e-9)


def test_without_annotators_items_scored_0_or_1_have_wilsons_interval() -> None:
    scores = np.repeat([1.0, 0.0], [170, 30])
    found = crossed(0.85, of_mean(scores))
    # The variance is that of a sample, with n - 1.
    assert found.worth == pytest.approx(199)
    assert found.interval() == pytest.approx(wilson_form(0.85, 199, student_quantile(0.975, 199)))


@pytest.mark.parametrize("value", [0.0, 1.0])
def test_equal_items_have_the_interval_of_as_many_right_or_wrong_items(value: float) -> None:
    ends = crossed(value, of_mean(np.full(100, value))).interval()
    assert ends == pytest.approx(wilson_form(value, 100, student_quantile(0.975, 99)))


def test_two_sides_that_never_differ_are_apart_by_at_most_two_items() -> None:
    same = of_mean(np.tile([1.0, 0.0], 50))
    low, high = crossed(0.0, apart(same, same), (-1.0, 1.0)).interval() or (0, 0)
    assert -0.04 < low < 0 < high < 0.04


@given(st.integers(0, 30), LEVELS)
def test_a_hypothesis_is_rejected_exactly_if_it_is_outside_the_interval(seed: int, level: float) -> None:
    found = crossed(*one_person(seed))
    low, high = found.interval(level) or (0.0, 0.0)
    for at, inside in ((low + 1e-6, True), (high - 1e-6, True), (low - 1e-6, False), (high + 1e-6, False)):
        if 0 < at < 1:
            assert (found.p(at) >= 1 - level) is inside
    assert found.p_above(low - 1e-6) < (1 - level) / 2 < found.p_above(low + 1e-6)
    assert found.p(found.value) == 1


def test_equivalence_is_found_exactly_if_the_interval_at_90_percent_lies_within_the_margin() -> None:
    found = crossed(0.01, of_mean(np.tile([0.1, -0.1], 500))._replace(alike=1000), (-1.0, 1.0))
    low, high = found.interval(0.9) or (0.0, 0.0)
    assert found.p_within(high + 1e-6) < 0.05 < found.p_within(high - 1e-6)
    assert -high < low


def test_the_shared_variance_is_the_products_of_two_answers_of_one_person_to_different_items() -> None:
    value, influence = one_person(3)
    products: dict[bool, list[float]] = {True: [], False: []}
    for a, b in permutations(range(len(influence.answers)), 2):
        if influence.unit[a] != influence.unit[b]:
            same = bool(influence.person[a] == influence.person[b])
            products[same].append(float(influence.answers[a] * influence.answers[b]))
    expected = sum(products[True]) - len(products[True]) * float(np.mean(products[False]))
    assert crossed(value, influence).shared_variance == pytest.approx(expected)


def test_guessers_move_the_end_on_their_side_only() -> None:
    value, influence = one_person(1)
    worse = influence._replace(guess=np.full(len(influence.answers), -0.5 / len(influence.answers)))
    without = influence._replace(guess=np.zeros(len(influence.answers)))
    low, high = crossed(value, worse).interval() or (0, 0)
    plain_low, plain_high = crossed(value, without).interval() or (0, 0)
    assert low < plain_low
    assert high == plain_high
    q = GUESSERS / (8 + GUESSERS)
    assert crossed(value, worse).guess_variance[0] == pytest.approx(q * (1 - q) * 8 * (0.5 / 8) ** 2)


@given(st.integers(0, 20), st.sampled_from([0.5, 3.0]))
def test_the_interval_scales_with_its_influences(seed: int, factor: float) -> None:
    value, influence = one_person(seed)
    plain = crossed(value, influence).interval()
    scaled = crossed(factor * value, influence.times(factor), (0.0, factor)).interval()
    assert scaled == pytest.approx(tuple(factor * end for end in plain or ()))


def test_clusters_of_single_items_change_nothing_and_clusters_of_alike_items_widen() -> None:
    value, influence = one_person(2)
    alone = influence.clustered(np.arange(40) + 7, influence.unit)
    assert crossed(value, alone).interval() == pytest.approx(crossed(value, influence).interval())
    ordered = influence.items.argsort().argsort() // 4
    # Codes of any size mean the same.
    together = influence.clustered(ordered * 1000 - 5, ordered[influence.unit] * 1000 - 5)
    assert crossed(value, together).items_variance > 2 * crossed(value, influence).items_variance
    assert crossed(value, together).freedom == 7
    everything = influence.clustered(np.zeros(40, dtype=int), np.zeros(320, dtype=int))
    assert crossed(value, everything).shared_variance == pytest.approx(0, abs=1e-12)


def test_a_person_on_both_sides_of_a_difference_cancels() -> None:
    _, influence = one_person(4)
    nothing = crossed(0.0, apart(influence, influence), (-1.0, 1.0))
    assert nothing.shared_variance == pytest.approx(0)
    others = influence._replace(person=influence.person + 100)
    both = crossed(0.0, apart(influence, others), (-1.0, 1.0))
    assert both.people == 16
    assert both.shared_variance > crossed(0.5, influence).shared_variance


def test_a_difference_to_a_model_has_the_annotators_of_the_people() -> None:
    value, influence = one_person(4)
    model = of_mean(np.tile([1.0, 0.0], 20))
    found = crossed(0.5 - value, apart(influence, model), (-1.0, 1.0))
    assert found.people == 8
    assert found.shared_variance == pytest.approx(crossed(value, influence).shared_variance)
    # Guessers lower the people's value, which raises the difference.
    down, up = crossed(value, influence).guess_variance
    assert found.guess_variance == (pytest.approx(up), pytest.approx(down))


@pytest.mark.parametrize("people", [1, 2])
def test_fewer_than_three_annotators_have_no_interval_and_no_test(people: int) -> None:
    value, influence = one_person(0, people=people)
    found = crossed(value, influence)
    assert found.interval() is None
    assert found.p(0.99) == 1
    record = found.estimate("acc", 40)
    assert record.ci95 is None
    assert record.reason == f"no interval: it takes at least 3 annotators, and {people} answered"
    assert crossed(*one_person(0, people=5)).freedom == 4
