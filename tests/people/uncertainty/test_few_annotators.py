"""Studies with a few annotators: bounds that allow for annotators who guess, against brute force and simulation."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from merilo.people.uncertainty.annotator_accuracy import (
    answer_difference,
    clear_third_cumulant,
    guessing_variance,
    individuals,
)
from merilo.people.uncertainty.two_way import influences, two_way
from merilo.people.votes import Votes
from merilo.statistics.intervals import limited_freedom

small_studies = st.lists(
    st.lists(st.integers(0, 2), min_size=3, max_size=4).filter(lambda labels: 0 in labels),
    min_size=2,
    max_size=6,
)


def votes_of(items: list[list[int]]) -> Votes:
    rows = [(i, a, label) for i, labels in enumerate(items) for a, label in enumerate(labels)]
    item, annotator, label = (np.array(column, dtype=np.int32) for column in zip(*rows, strict=True))
    return Votes(item, annotator, label, len(items), 4, 3)


def accuracy(items: list[list[int]]) -> float:
    """The accuracy of plurality by hand: label 0 is correct, tied labels share an item."""
    scores = []
    for labels in items:
        top = max(map(labels.count, labels))
        leaders = {label for label in labels if labels.count(label) == top}
        scores.append((0 in leaders) / len(leaders))
    return float(np.mean(scores))


@settings(deadline=None)
@given(small_studies)
def test_the_change_by_guessing_is_the_mean_over_every_label_that_was_given_in_the_answers_place(
    items: list[list[int]],
) -> None:
    # A label that nobody gave to an item is wrong, so the correct label is among the answers to each item.
    votes = votes_of(items)
    worth = (votes.label == 0).astype(float)
    if worth.min() == 1:
        return  # a label that nobody gave then has the worth of the correct label
    given_labels = {label for one in items for label in one}
    expected = []
    for i, labels in enumerate(items):
        for place in range(len(labels)):
            changed = []
            for label in sorted(given_labels):
                again = [list(one) for one in items]
                again[i][place] = label
                changed.append(accuracy(again))
            expected.append((np.mean(changed) - accuracy(items)) * len(items))
    assert influences(votes, worth).guess == pytest.approx(expected, abs=1e-9)


def test_a_label_tried_by_none_of_the_leading_ones_counts_as_one_that_nobody_gave() -> None:
    # 12 labels on one item: more than are tried one by one.
    label = np.array([0] * 12 + list(range(1, 12)) + [0, 0, 0], dtype=np.int32)
    item = np.array([0] * 23 + [1] * 3, dtype=np.int32)
    annotator = np.array([*range(23), 0, 1, 2], dtype=np.int32)
    votes = Votes(item, annotator, label, 2, 23, 12)
    found = influences(votes, (label == 0).astype(float)).guess
    assert found == pytest.approx(np.zeros(26))  # no single answer changes either item


def test_the_variance_of_guessing_is_that_of_annotators_who_guess_with_a_small_probability() -> None:
    changes = np.array([-0.2, -0.05, -0.1])
    q = 0.5 / 3.5
    probability, value = [], []
    for guesses in product([0, 1], repeat=3):
        mask = np.array(guesses, dtype=bool)
        probability.append(q ** mask.sum() * (1 - q) ** (~mask).sum())
        value.append(changes[mask].sum())
    mean = np.dot(probability, value)
    variance = np.dot(probability, (np.array(value) - mean) ** 2)
    answers = np.repeat(changes / 4, 4)
    found = guessing_variance(np.repeat(np.arange(3), 4), answers, 5)
    assert found.below == pytest.approx(variance)
    assert found.above == 0
    assert guessing_variance(np.repeat(np.arange(3), 4), -answers, 5).above == pytest.approx(variance)


def test_degrees_of_freedom_are_at_most_annotators_minus_one() -> None:
    assert limited_freedom(299, 3) == 2
    assert limited_freedom(1.5, 3) == 1.5
    assert limited_freedom(0.2, 3) == 1
    assert limited_freedom(299, 1) == 299  # with one annotator the interval is over items alone


def test_three_equal_annotators_get_students_quantile_with_two_degrees_of_freedom() -> None:
    """Three annotators with the same errors on the same items do not differ; half an annotator who guesses is added."""
    item, annotator = np.divmod(np.arange(300), 3)
    label = (item % 5 == 0).astype(np.int32)
    votes = Votes(item.astype(np.int32), annotator.astype(np.int32), label, 100, 3, 2)
    found = two_way(votes, (label == 0).astype(float))
    t = stats.t.ppf(0.975, 2)
    p, n = 0.8, 100
    high = (p + t**2 / (2 * n) + t * np.sqrt(p * (1 - p) / n + t**2 / (4 * n**2))) / (1 + t**2 / n)
    assert found.freedom == 2
    assert found.annotator_error == 0
    assert found.interval.high == pytest.approx(high)
    # No annotator alone decides an item, so one who guesses changes nothing.
    low = (p + t**2 / (2 * n) - t * np.sqrt(p * (1 - p) / n + t**2 / (4 * n**2))) / (1 + t**2 / n)
    assert found.interval.low == pytest.approx(low)


def crowd(rng: np.random.Generator, people: int, items: int, guessing: float) -> Votes:
    """Everybody answers everything; label 0 is right; a share of annotators guess one of four labels."""
    accuracy = np.where(rng.random(people) < guessing, 0.25, 0.9)
    right = rng.random((items, people)) < accuracy
    label = np.where(right, 0, rng.integers(1, 4, (items, people))).astype(np.int32).ravel()
    item = np.repeat(np.arange(items, dtype=np.int32), people)
    return Votes(item, np.tile(np.arange(people, dtype=np.int32), items), label, items, people, 4)


def test_three_annotators_of_whom_some_guess_are_covered() -> None:
    rng = np.random.default_rng(0)

    def score(votes: Votes) -> float:
        return influences(votes, (votes.label == 0).astype(float)).value

    truth = np.mean([score(crowd(rng, 3, 400, 0.12)) for _ in range(400)])
    held = bare = 0
    for seed in range(150):
        votes = crowd(rng, 3, 300, 0.12)
        found = two_way(votes, (votes.label == 0).astype(float), resamples=100, seed=seed)
        held += found.interval.low <= truth <= found.interval.high
        reach = 1.96 * found.item_error
        bare += abs(found.value - truth) <= reach
    assert held >= 0.93 * 150 - 5
    assert bare < 0.7 * 150


def test_a_single_person_is_not_beaten_by_a_model_as_good_because_nobody_guessed_in_the_study() -> None:
    """Ten people, of whom 4 % in the population guess: without the allowance a third of the verdicts were false."""
    truth = 0.96 * 0.995 + 0.04 / 4
    held = below = above = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        person = np.argsort(rng.random((200, 10)), axis=1)[:, :5].ravel().astype(np.int32)
        item = np.repeat(np.arange(200), 5).astype(np.int32)
        right = rng.random(1000) < np.where(rng.random(10) < 0.04, 0.25, 0.995)[person]
        votes = Votes(item, person, (~right).astype(np.int32), 200, 10, 4)
        interval = individuals(votes, right.astype(float)).interval
        held += interval.low <= truth <= interval.high
        found = answer_difference(votes, right.astype(float), (rng.random(200) < truth).astype(float))
        below += found.p_below(0) <= 0.025
        above += found.p_above(0) <= 0.025
    assert held >= 51
    assert below <= 4
    assert above <= 4


def test_a_crowd_without_influence_has_no_skewness() -> None:
    """Every item may be decided by all others, while a model fitted again without a group decides otherwise."""
    assert clear_third_cumulant(np.zeros(5)) == 0
    assert clear_third_cumulant(np.zeros(0)) == 0
