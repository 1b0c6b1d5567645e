"""The interval over items and annotators: against brute force, closed forms and simulation."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from merilo.errors import DataError
from merilo.people.uncertainty.two_way import influences, two_way
from merilo.people.votes import Votes
from merilo.statistics.intervals import wilson


def votes_of(rows: list[tuple[int, int, int]]) -> Votes:
    item, annotator, label = (np.array(column, dtype=np.int32) for column in zip(*rows, strict=True))
    return Votes(item, annotator, label, int(item.max()) + 1, int(annotator.max()) + 1, int(label.max()) + 1)


def crowd(
    items: int, overlap: int, people: int, abilities: np.ndarray, seed: int
) -> tuple[Votes, np.ndarray]:
    """Every item has its own annotators; label 0 is correct, 1 to 3 are wrong."""
    rng = np.random.default_rng(seed)
    chosen = np.argsort(rng.random((items, people)), axis=1)[:, :overlap].ravel()
    item = np.repeat(np.arange(items), overlap)
    right = rng.random(items * overlap) < abilities[chosen]
    label = np.where(right, 0, rng.integers(1, 4, items * overlap))
    columns = (column.astype(np.int32) for column in (item, chosen, label))
    return Votes(*columns, items, people, int(label.max()) + 1), right.astype(float)


studies = st.lists(
    st.lists(
        st.tuples(st.integers(0, 7), st.integers(0, 3)),
        min_size=1,
        max_size=6,
        unique_by=lambda vote: vote[0],
    ),
    min_size=2,
    max_size=12,
).map(lambda items: votes_of([(i, *vote) for i, votes in enumerate(items) for vote in votes]))


def decided(labels: list[int], min_votes: int) -> float | None:
    """The score of one item by hand if label 0 is correct; None if the item is left out."""
    counts = Counter(labels)
    top = max(counts.values())
    leaders = [label for label, count in counts.items() if count == top]
    if min_votes:
        return float(leaders == [0]) if len(leaders) == 1 and top >= min_votes else None
    return (0 in leaders) / len(leaders)


def by_hand(votes: Votes, min_votes: int) -> tuple[float, list[float], list[float]]:
    items: dict[int, list[tuple[int, int]]] = {}
    for row, (item, label) in enumerate(zip(votes.item.tolist(), votes.label.tolist(), strict=True)):
        items.setdefault(item, []).append((row, label))
    scores = {i: decided([label for _, label in rows], min_votes) for i, rows in items.items()}
    counted = [score for score in scores.values() if score is not None]
    value, share = float(np.mean(counted)), len(counted) / len(items)

    def pull(score: float | None) -> float:
        return 0.0 if score is None else (score - value) / share

    middle, reach, own = [0.0] * len(votes), [0.0] * len(votes), [0.0] * len(votes)
    for i, rows in items.items():
        for row, _ in rows:
            others = [label for other, label in rows if other != row]
            tried = {label for _, label in rows} | {99}
            pulls = [pull(decided([*others, label], min_votes)) for label in tried]
            middle[row], reach[row] = (max(pulls) + min(pulls)) / 2, max(pulls) - min(pulls)
            own[row] = pull(scores[i])
    answer = np.array(own) - middle
    if sum(reach) > 0:
        answer = answer - np.array(reach) * (answer.sum() / sum(reach))
    return value, [pull(scores[i]) for i in sorted(items)], answer.tolist()


@settings(deadline=None)
@given(studies, st.sampled_from([0, 1, 2, 3]))
def test_influences_are_those_of_deciding_every_item_again_by_hand(votes: Votes, min_votes: int) -> None:
    worth = (votes.label == 0).astype(float)
    try:
        influence = influences(votes, worth, min_votes=min_votes)
    except DataError:
        assert all(
            decided(votes.label[votes.item == item].tolist(), min_votes) is None
            for item in np.unique(votes.item)
        )
        return
    if worth.max() == worth.min():
        return  # a label that nobody gave has then no worth of its own, and every influence is 0
    value, item, answer = by_hand(votes, min_votes)
    assert influence.value == pytest.approx(value)
    assert influence.item == pytest.approx(item, abs=1e-9)
    assert influence.answer == pytest.approx(answer, abs=1e-9)


@settings(deadline=None)
@given(studies, st.integers(0, 3))
def test_the_interval_holds_the_figure_and_is_no_narrower_than_wilsons(votes: Votes, min_votes: int) -> None:
    worth = (votes.label == 0).astype(float)
    try:
        result = two_way(votes, worth, min_votes=min_votes, resamples=200)
    except DataError:
        return
    assert 0 <= result.interval.low <= result.value + 1e-12
    assert result.value - 1e-12 <= result.interval.high <= 1
    if min_votes and result.n > 0:
        items_only = wilson(round(result.value * result.n), result.n)
        assert result.interval.low <= items_only.low + 1e-9
        assert result.interval.high >= items_only.high - 1e-9


def test_where_no_two_items_share_an_annotator_the_interval_is_wilsons_with_students_quantile() -> None:
    rng = np.random.default_rng(0)
    right = rng.random(3000) < 0.7
    item = np.repeat(np.arange(1000), 3)
    votes = Votes(
        item.astype(np.int32), np.arange(3000, dtype=np.int32), right.astype(np.int32), 1000, 3000, 2
    )
    result = two_way(votes, right.astype(float))
    items_only = wilson(round(result.value * 1000), 1000)
    assert result.design_effect == 1
    assert result.annotator_error == 0
    assert (result.interval.low, result.interval.high) == pytest.approx(
        (items_only.low, items_only.high), abs=1e-4
    )


def test_a_crowd_of_unequal_people_makes_the_interval_wider() -> None:
    equal = two_way(*crowd(400, 5, 20, np.full(20, 0.75), 1))
    unequal = two_way(*crowd(400, 5, 20, np.tile([0.55, 0.95], 10), 1))
    assert equal.design_effect < 1.6
    assert unequal.design_effect > 2
    assert unequal.annotator_error > unequal.item_error


def test_an_interval_does_not_collapse_where_every_item_is_right() -> None:
    votes, worth = crowd(100, 5, 24, np.ones(24), 0)
    interval = two_way(votes, worth).interval
    assert interval.high == 1
    # Wilson's bound with Student's quantile; no single guess overturns five equal answers.
    assert interval.low == pytest.approx(100 / (100 + stats.t.ppf(0.975, 23) ** 2))


@pytest.mark.parametrize("overlap", [3, 5])
def test_the_standard_error_is_the_spread_of_figures_over_many_studies(overlap: int) -> None:
    rng = np.random.default_rng(5)
    values, errors = [], []
    for seed in range(250):
        abilities = np.clip(rng.normal(0.75, 0.15, 15), 0.05, 1)
        result = two_way(*crowd(200, overlap, 15, abilities, seed), resamples=50)
        values.append(result.value)
        errors.append(result.item_error**2 + result.annotator_error**2)
    assert np.sqrt(np.mean(errors)) == pytest.approx(np.std(values), rel=0.12)


@pytest.mark.thorough
def test_coverage_is_near_the_nominal_where_items_alone_fall_far_short() -> None:
    rng = np.random.default_rng(9)
    abilities = [np.clip(rng.normal(0.72, 0.15, 24), 0.05, 1) for _ in range(300)]
    truth = np.mean(
        [
            two_way_value(*crowd(400, 5, 24, np.clip(rng.normal(0.72, 0.15, 24), 0.05, 1), 10_000 + s))
            for s in range(600)
        ]
    )
    both = alone = 0
    for seed, ability in enumerate(abilities):
        result = two_way(*crowd(400, 5, 24, ability, seed), resamples=300)
        items_only = wilson(round(result.value * result.n), result.n)
        both += result.interval.low <= truth <= result.interval.high
        alone += items_only.low <= truth <= items_only.high
    assert 0.91 <= both / 300 <= 0.985
    assert alone / 300 < 0.85


def two_way_value(votes: Votes, worth: np.ndarray) -> float:
    return influences(votes, worth).value


def test_weights_break_ties_as_a_cascade_by_skill_does() -> None:
    votes = votes_of([(0, 0, 0), (0, 1, 1), (1, 0, 1), (1, 1, 0), (2, 0, 0), (2, 1, 0)])
    worth = (votes.label == 0).astype(float)
    skill = np.array([0.9, 0.4])
    assert influences(votes, worth).value == pytest.approx((0.5 + 0.5 + 1) / 3)
    assert influences(votes, worth, weight=1 + 1e-3 * skill[votes.annotator]).value == pytest.approx(2 / 3)


def test_a_least_number_of_votes_and_weights_do_not_go_together() -> None:
    votes, worth = crowd(10, 3, 5, np.full(5, 0.8), 0)
    with pytest.raises(ValueError, match="cannot be combined"):
        two_way(votes, worth, min_votes=2, weight=np.ones(30))


def test_one_annotator_and_one_item_are_answered_and_nothing_at_all_is_an_error() -> None:
    alone = two_way(votes_of([(i, 0, i % 2) for i in range(20)]), np.arange(20) % 2.0)
    assert alone.annotators == 1
    assert alone.design_effect == 1
    single = two_way(votes_of([(0, a, 0) for a in range(3)]), np.ones(3))
    assert single.n == 1
    with pytest.raises(DataError, match="no item has a consensus"):
        two_way(votes_of([(0, 0, 0), (0, 1, 1)]), np.array([1.0, 0.0]), min_votes=2)


def test_metrics_on_another_scale_keep_its_bounds() -> None:
    votes, worth = crowd(60, 5, 12, np.full(12, 0.9), 0)
    unit, signed = two_way(votes, worth), two_way(votes, 2 * worth - 1, bounds=(-1, 1))
    assert signed.interval.low == pytest.approx(2 * unit.interval.low - 1, abs=1e-9)
    assert signed.interval.high == pytest.approx(2 * unit.interval.high - 1, abs=1e-9)


def test_an_item_with_very_many_different_answers_is_decided_in_bounded_memory() -> None:
    rng = np.random.default_rng(0)
    rows = [(0, a, int(rng.integers(0, 400))) for a in range(1000)] + [(1, a, a % 3) for a in range(1000)]
    votes = votes_of(rows)
    assert two_way(votes, (votes.label == 0).astype(float), resamples=50).n == 2
