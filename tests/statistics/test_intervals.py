"""Intervals, held against scipy and against their own definition."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binomtest, bootstrap

from merilo.statistics.intervals import (
    bootstrap_interval,
    mean_interval,
    random_signs,
    resampled_means,
    wilson,
)

counts = st.integers(1, 5000).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))


@settings(deadline=None)
@given(counts, st.sampled_from([0.8, 0.9, 0.95, 0.99]))
def test_wilson_is_scipys(count: tuple[int, int], level: float) -> None:
    successes, n = count
    oracle = binomtest(successes, n).proportion_ci(level, method="wilson")
    ours = wilson(successes, n, level)
    assert ours.low == pytest.approx(oracle.low, abs=1e-12)
    assert ours.high == pytest.approx(oracle.high, abs=1e-12)
    assert ours.level == level


@settings(deadline=None)
@given(counts)
def test_wilson_holds_the_share_and_mirrors(count: tuple[int, int]) -> None:
    successes, n = count
    ours, mirror = wilson(successes, n), wilson(n - successes, n)
    assert 0 <= ours.low <= successes / n <= ours.high <= 1
    assert ours.low == pytest.approx(1 - mirror.high)


def test_all_right_of_a_hundred() -> None:
    interval = wilson(100, 100)
    assert (round(interval.low, 3), interval.high) == (0.963, 1.0)


def test_of_nothing_nothing_is_known() -> None:
    interval = wilson(0, 0)
    assert (interval.low, interval.high) == (0.0, 1.0)


@pytest.mark.parametrize(("successes", "n", "level"), [(-1, 3, 0.95), (4, 3, 0.95), (1, 3, 1.0), (1, 3, 0.0)])
def test_impossible_counts_are_refused(successes: int, n: int, level: float) -> None:
    with pytest.raises(ValueError, match=r"are impossible|must be between"):
        wilson(successes, n, level)


@settings(max_examples=10, deadline=None)
@given(st.integers(0, 2**32), st.integers(20, 80))
def test_the_bootstrap_of_a_mean_is_near_scipys(seed: int, n: int) -> None:
    values = np.random.default_rng(seed).choice([0.0, 0.25, 2 / 3, 1.0], n)
    ours = mean_interval(values)
    assert ours is not None
    oracle = bootstrap((values,), np.mean, method="BCa", n_resamples=2000, rng=seed).confidence_interval
    assert ours.low == pytest.approx(oracle.low, abs=0.06)
    assert ours.high == pytest.approx(oracle.high, abs=0.06)


def test_the_bootstrap_of_a_proportion_is_wilsons_interval() -> None:
    estimates = np.random.default_rng(0).binomial(500, 0.9, 20_000) / 500
    ours, exact = bootstrap_interval(estimates, 0.9, "items", units=500), wilson(450, 500)
    assert (ours.low, ours.high) == pytest.approx((exact.low, exact.high), abs=1e-3)


def test_a_correlations_interval_is_that_of_a_share_on_a_scale_twice_as_long() -> None:
    estimates = np.random.default_rng(0).binomial(200, 0.8, 2000) / 200
    share = bootstrap_interval(estimates, 0.8, "items", units=200)
    correlation = bootstrap_interval(2 * estimates - 1, 0.6, "items", units=200, bounds=(-1.0, 1.0))
    assert (correlation.low, correlation.high) == pytest.approx((2 * share.low - 1, 2 * share.high - 1))


@pytest.mark.parametrize(("n", "right"), [(4, 0.8), (10, 0.9), (200, 0.96)])
def test_partial_scores_are_covered_where_few_units_or_few_errors_are_seen(n: int, right: float) -> None:
    rng = np.random.default_rng(n)
    truth, held, studies = right + (1 - right) * 0.5, 0, 200
    for _ in range(studies):
        # A variant of the exam is the mean of 30 questions; elsewhere a unit is one item.
        shape = (n, 30 if n < 200 else 1)
        scores = np.where(rng.random(shape) < right, 1.0, rng.choice([0.2, 0.8], shape))
        interval = mean_interval(scores.mean(axis=1), resamples=300)
        held += interval is not None and interval.low <= truth <= interval.high
    assert held / studies > 0.89


def test_scores_of_nought_and_one_are_a_proportion() -> None:
    assert mean_interval([1.0] * 30 + [0.0] * 10) == wilson(30, 40)


def test_equal_scores_are_not_called_certain() -> None:
    assert mean_interval([1.0] * 100, clusters=[0] * 100) == wilson(100, 100)
    assert mean_interval([0.0] * 100) == wilson(0, 100)


def test_a_single_dialogue_is_drawn_in_blocks_of_neighbours() -> None:
    stretches = [1.0] * 40 + [0.0] * 40 + [1.0] * 40
    mixed = [1.0, 0.0, 1.0] * 40
    streaky, even = mean_interval(stretches, ["dialogue"] * 120), mean_interval(mixed, ["dialogue"] * 120)
    assert streaky is not None
    assert even is not None
    assert "blocks of 5 items" in streaky.method
    assert streaky.high - streaky.low > 3 * (even.high - even.low)


@settings(deadline=None)
@given(st.lists(st.floats(0, 1), min_size=1, max_size=40), st.data())
def test_every_interval_stays_in_the_range_of_the_scores(values: list[float], data: st.DataObject) -> None:
    clusters = data.draw(st.none() | st.lists(st.integers(0, 4), min_size=len(values), max_size=len(values)))
    interval = mean_interval(values, clusters, resamples=50)
    if interval is None:
        assert np.ptp(values) < 1e-9 or len(values) < 5, "equal scores tell nothing of their spread"
        return
    assert -1e-9 <= interval.low <= interval.high <= 1 + 1e-9


def test_of_no_items_there_is_no_interval() -> None:
    assert mean_interval([]) is None


def test_clusters_that_all_score_alike_are_not_called_certain() -> None:
    values, dialogues = [0.0, 1.0] * 30, [number // 10 for number in range(60)]
    found, independent = mean_interval(values, dialogues), wilson(30, 60)
    assert found is not None
    assert found.low < independent.low < independent.high < found.high


@pytest.mark.parametrize("distinct", [2, 5, 500], ids=["right and wrong", "few values", "many values"])
def test_resampled_means_have_the_moments_of_draws_with_replacement(distinct: int) -> None:
    values = np.random.default_rng(1).integers(0, distinct, 300) / distinct
    means = resampled_means(values, np.random.default_rng(2), 20_000)
    assert means.mean() == pytest.approx(values.mean(), abs=4 * values.std() / np.sqrt(300 * 20_000))
    assert means.std() == pytest.approx(values.std() / np.sqrt(300), rel=0.03)


def test_counting_values_and_drawing_them_give_one_distribution() -> None:
    few = np.repeat([0.0, 0.3, 1.0], [20, 50, 30])
    # A jitter too small to matter makes every value its own, and so takes the other way.
    many = few + np.linspace(0, 1e-9, 100)
    counted = resampled_means(few, np.random.default_rng(1), 20_000)
    drawn = resampled_means(many, np.random.default_rng(1), 20_000)
    for probability in (0.025, 0.25, 0.5, 0.75, 0.975):
        assert np.quantile(counted, probability) == pytest.approx(np.quantile(drawn, probability), abs=0.011)


def test_the_seed_decides_every_draw() -> None:
    values = np.arange(100.0)
    first, second, third = (resampled_means(values, np.random.default_rng(seed), 50) for seed in (3, 3, 4))
    assert (first == second).all()
    assert (first != third).any()


@pytest.mark.parametrize("distinct", [3, 500])
def test_the_order_of_the_values_makes_no_difference(distinct: int) -> None:
    values = np.random.default_rng(1).integers(0, distinct, 1000) / distinct
    first, second = (resampled_means(one, np.random.default_rng(0), 50) for one in (values, values[::-1]))
    assert (first == second).all()


def test_random_signs_cover_every_resample_in_pieces() -> None:
    pieces = list(random_signs(3_000_000, np.random.default_rng(0), 3))
    assert [signs.shape for _, signs in pieces] == [(1, 3_000_000)] * 3
    assert set(np.unique(pieces[0][1])) == {-1.0, 1.0}
