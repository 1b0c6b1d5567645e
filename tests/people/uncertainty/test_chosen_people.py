"""The best people of a study: their own score is too high, and the estimate allows for it."""

import numpy as np
import pytest

from merilo.people.uncertainty.chosen_people import ChosenPeople, chosen_people
from merilo.people.votes import Votes


def crowd(able: np.ndarray, items: int, overlap: int, seed: int) -> tuple[Votes, np.ndarray]:
    """People of these accuracies answer items of equal difficulty; label 0 is right."""
    rng = np.random.default_rng(seed)
    person = np.argsort(rng.random((items, able.size)), axis=1)[:, :overlap].ravel()
    item = np.repeat(np.arange(items), overlap)
    label = np.where(rng.random(item.size) < able[person], 0, rng.integers(1, 4, item.size))
    columns = (column.astype(np.int32) for column in (item, person, label))
    return Votes(*columns, items, able.size, 4), (label == 0).astype(float)


def chosen(votes: Votes, score: np.ndarray, **more: int) -> tuple[ChosenPeople, ChosenPeople]:
    found = chosen_people(votes, score, **more)
    assert found is not None
    return found


def test_the_best_of_equals_is_no_better_than_the_others() -> None:
    best, tenth = chosen(*crowd(np.full(30, 0.8), 150, 5, 1))
    assert best.observed > 0.9
    assert best.value < 0.86
    assert best.interval.low < 0.8
    assert (len(best.people), len(tenth.people), best.among) == (1, 3, 30)
    assert best.people[0] == tenth.people[0]


def test_somebody_clearly_better_keeps_their_score() -> None:
    able = np.r_[np.full(9, 0.5), 0.97]
    best, _ = chosen(*crowd(able, 200, 10, 2))
    assert best.people == (9,)
    assert best.value == pytest.approx(0.97, abs=0.03)
    assert best.interval.low > 0.85


def test_people_who_guess_do_not_make_the_best_look_better() -> None:
    able = np.r_[np.full(20, 0.25), np.full(20, 0.8)]
    best, _ = chosen(*crowd(able, 200, 5, 3))
    assert best.people[0] >= 20
    assert best.value < best.observed
    assert best.interval.low <= 0.8 <= best.interval.high


@pytest.mark.parametrize(("spread", "people"), [(0.0, 20), (0.12, 20), (0.12, 6)])
def test_the_interval_covers_the_chosen_person_on_other_items(spread: float, people: int) -> None:
    """60 studies: fewer than 51 covered has a probability of 0.1 % at 95 %."""
    rng = np.random.default_rng(people)
    hits, too_high = 0, []
    for at in range(60):
        able = np.clip(rng.normal(0.75, spread, people), 0.02, 0.99)
        best, _ = chosen(*crowd(able, 80, min(people, 5), at))
        true = float(able[best.people[0]])
        hits += best.interval.low <= true <= best.interval.high
        too_high.append((best.observed - true, best.value - true))
    assert hits >= 51
    observed, estimated = np.mean(too_high, axis=0)
    assert observed > 0.01
    assert abs(estimated) < observed


def test_with_few_people_or_few_answers_nobody_is_chosen() -> None:
    assert chosen_people(*crowd(np.full(2, 0.8), 50, 2, 1)) is None
    assert chosen_people(*crowd(np.full(30, 0.8), 20, 3, 1)) is None  # two answers a person


def test_shares_of_points_are_estimated_within_0_and_1() -> None:
    votes, score = crowd(np.full(12, 0.7), 100, 4, 5)
    best, _ = chosen(votes, 0.4 + 0.5 * score)
    assert 0.4 < best.interval.low < best.value < best.interval.high < 1
    assert best.value < best.observed


def test_the_same_seed_gives_the_same_interval() -> None:
    votes, score = crowd(np.full(12, 0.7), 100, 4, 5)
    assert chosen(votes, score) == chosen(votes, score)
    assert chosen(votes, score)[0].interval != chosen(votes, score, seed=9)[0].interval
