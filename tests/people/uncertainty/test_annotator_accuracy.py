"""Single annotators: their mean, spread, best and worst, against brute force and simulation."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from merilo.errors import DataError
from merilo.people.uncertainty.annotator_accuracy import (
    components,
    individuals,
)
from merilo.people.votes import Votes


def study(pairs: list[tuple[int, int]]) -> Votes:
    item, annotator = (np.array(column, dtype=np.int32) for column in zip(*pairs, strict=True))
    return Votes(item, annotator, np.zeros_like(item), int(item.max()) + 1, int(annotator.max()) + 1, 1)


def simulated(items: int, people: int, overlap: int, spread: float, seed: int) -> tuple[Votes, np.ndarray]:
    rng = np.random.default_rng(seed)
    ability = np.clip(rng.normal(0.75, spread, people), 0, 1)
    ease = rng.uniform(-0.15, 0.15, items)
    chosen = np.argsort(rng.random((items, people)), axis=1)[:, :overlap].ravel()
    item = np.repeat(np.arange(items), overlap)
    score = (rng.random(item.shape[0]) < np.clip(ability[chosen] + ease[item], 0, 1)).astype(float)
    return study(list(zip(item.tolist(), chosen.tolist(), strict=True))), score


@settings(deadline=None)
@given(
    st.sets(st.tuples(st.integers(0, 6), st.integers(0, 5)), min_size=2, max_size=25).map(sorted),
    st.integers(0, 1000),
)
def test_components_are_the_mean_products_of_all_pairs_of_answers(
    pairs: list[tuple[int, int]], seed: int
) -> None:
    score = np.random.default_rng(seed).integers(0, 2, len(pairs)).astype(float)
    products: dict[str, list[float]] = {"person": [], "item": [], "neither": []}
    for i, (item, person) in enumerate(pairs):
        for j, (other_item, other_person) in enumerate(pairs):
            if i != j:
                kind = "person" if person == other_person else "item" if item == other_item else "neither"
                products[kind].append((score[i] - score.mean()) * (score[j] - score.mean()))
    apart = np.mean(products["neither"]) if products["neither"] else 0.0
    found = components(study(pairs), score)
    for kind, value in (("person", found.person), ("item", found.item)):
        expected = max(np.mean(products[kind]) - apart, 0.0) if products[kind] else 0.0
        assert value == pytest.approx(expected, abs=1e-12)


def test_the_mean_of_people_and_its_interval_hold_over_many_studies() -> None:
    # Clipping is rare, so the mean ability is used as the true value.
    covered = 0
    for seed in range(200):
        result = individuals(*simulated(120, 20, 5, 0.08, seed))
        covered += result.interval.low <= 0.75 <= result.interval.high
    assert 0.89 <= covered / 200 <= 0.99


def test_the_spread_is_that_of_true_abilities_and_not_of_chance() -> None:
    found = [individuals(*simulated(300, 20, 5, 0.1, seed)).spread ** 2 for seed in range(60)]
    none = [individuals(*simulated(300, 20, 5, 0.0, seed)) for seed in range(60)]
    assert np.sqrt(np.mean(found)) == pytest.approx(0.1, rel=0.12)
    assert np.mean([result.spread for result in none]) < 0.03
    assert np.mean([result.spread_interval.low == 0 for result in none]) > 0.9


def test_the_spreads_interval_holds_over_many_studies() -> None:
    results = [individuals(*simulated(300, 20, 5, 0.1, seed)).spread_interval for seed in range(150)]
    assert np.mean([interval.low <= 0.1 <= interval.high for interval in results]) > 0.9


def test_a_persons_interval_is_clopper_and_pearsons() -> None:
    votes = study([(item, 0) for item in range(25)] + [(item, 1) for item in range(25)])
    score = np.r_[np.ones(20), np.zeros(5), np.ones(25)]
    worst, best = individuals(votes, score).people
    for person, right in ((worst, 20), (best, 25)):
        for level, interval in ((0.95, person.interval), (0.95**0.5, person.simultaneous)):
            theirs = stats.binomtest(right, 25).proportion_ci(level, method="exact")
            assert (interval.low, interval.high) == pytest.approx((theirs.low, theirs.high), abs=1e-9)


def test_whoever_is_chosen_as_best_is_covered_by_the_simultaneous_interval() -> None:
    plain = simultaneous = 0
    for seed in range(200):
        votes, score = simulated(40, 40, 40, 0.0, seed)
        rng = np.random.default_rng(seed)
        score = (rng.random(len(votes)) < 0.75).astype(float)
        best = individuals(votes, score).best
        assert best is not None
        plain += best.interval.low <= 0.75
        simultaneous += best.simultaneous.low <= 0.75
    assert simultaneous / 200 >= 0.93
    assert plain < simultaneous


def test_the_best_of_equals_is_drawn_back_to_the_mean() -> None:
    votes, score = simulated(200, 30, 5, 0.0, 3)
    result = individuals(votes, score)
    assert result.best is not None
    assert abs(result.best.shrunk - result.mean) < abs(result.best.value - result.mean) / 2


def test_few_answers_make_nobody_best_or_worst_and_still_count_in_the_mean() -> None:
    votes = study([(item, 0) for item in range(30)] + [(0, 1), (1, 1)])
    result = individuals(votes, np.r_[np.ones(15), np.zeros(15), 1.0, 1.0], min_answers=10)
    assert [person.annotator for person in result.people] == [0]
    assert result.annotators == 2
    assert individuals(study([(0, 0)]), np.ones(1)).best is None


def test_nobody_at_all_is_an_error() -> None:
    empty = Votes(*(np.zeros(0, np.int32) for _ in range(3)), 0, 0, 0)
    with pytest.raises(DataError, match="no answer is to an item with a gold answer"):
        individuals(empty, np.zeros(0))


def test_partial_scores_get_students_interval() -> None:
    votes = study([(item, 0) for item in range(20)])
    score = np.linspace(0.2, 0.8, 20)
    (person,) = individuals(votes, score).people
    theirs = stats.t.interval(0.95, 19, score.mean(), stats.sem(score))
    assert (person.interval.low, person.interval.high) == pytest.approx(theirs, abs=1e-6)
