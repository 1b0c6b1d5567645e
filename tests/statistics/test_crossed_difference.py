"""Differences over items and annotators, against SciPy, published examples and simulation."""

from math import sqrt

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize, stats

from merilo.statistics.crossed_difference import NO_ANNOTATORS, SharedPart, crossed_difference, heavy_tails
from merilo.statistics.intervals import cluster_robust_effect
from merilo.statistics.paired_tests import compare_scores, detectable_difference, tango, tango_statistic

#: Every item has annotators of its own.
NOBODY = SharedPart(0.0, 0.0, 0.0, 1000)


def sides(better: int, worse: int, n: int) -> tuple[np.ndarray, np.ndarray]:
    first, second = np.ones(n), np.ones(n)
    first[:better] = 0
    second[better : better + worse] = 0
    return first, second


def test_tangos_interval_is_that_of_a_published_example() -> None:
    # Fagerland, Lydersen, Laake (2014), Recommended tests and confidence intervals for paired binomial proportions,
    # Statistics in Medicine 33, 2850-2875: airway hyper-responsiveness before and after transplantation, 7 and 1 of 21.
    found = tango(7, 1, 21)
    assert (round(found.low, 3), round(found.high, 3)) == (0.026, 0.517)


def test_two_identical_sides_have_tangos_interval() -> None:
    interval = crossed_difference(np.ones(100), np.ones(100), NOBODY).interval()
    assert interval.high == pytest.approx(tango(0, 0, 100).high, abs=0.002) == pytest.approx(0.037, abs=0.002)
    assert interval.low == -interval.high
    shares = crossed_difference(np.full(100, 0.8), np.full(100, 0.8), NOBODY).interval()
    assert shares.high == pytest.approx(0.04, abs=0.001)


@settings(deadline=None)
@given(
    st.integers(0, 30), st.integers(0, 30), st.floats(0, 1e-3), st.floats(0, 1e-6), st.floats(-1e-5, 1e-5),
    st.booleans(),
)  # fmt: skip
def test_the_interval_is_never_narrower_than_over_items_alone(
    better: int, worse: int, variance: float, doubt: float, third: float, partial: bool
) -> None:
    first, second = sides(better, worse, 100)
    if partial:
        first = first * 0.9
    alone = compare_scores(first, second).interval
    both = crossed_difference(first, second, SharedPart(variance, doubt, third, 8)).interval()
    assert both.low <= alone.low + 1e-9
    assert both.high >= alone.high - 1e-9


@settings(deadline=None)
@given(
    st.integers(0, 20), st.integers(0, 20), st.floats(0, 1e-3), st.floats(-1e-5, 1e-5), st.booleans(),
    st.floats(-0.3, 0.3),
)  # fmt: skip
def test_a_hypothesis_is_rejected_exactly_if_it_is_outside_the_interval(
    better: int, worse: int, variance: float, third: float, partial: bool, at: float
) -> None:
    first, second = sides(better, worse, 100)
    if partial:
        second = second * 0.95
    found = crossed_difference(first, second, SharedPart(variance, variance**2 / 7, third, 8))
    interval = found.interval(0.9)
    if abs(at - interval.low) > 1e-4:
        assert (found.p_above(at) <= 0.05) == (at < interval.low)
    if abs(at - interval.high) > 1e-4:
        assert (found.p_below(at) <= 0.05) == (at > interval.high)


def test_without_shared_annotators_the_tests_are_scipys() -> None:
    rng = np.random.default_rng(0)
    # Differences without skewness: Student's interval is not corrected.
    apart = 0.8 * rng.random(40)
    first = rng.random(80)
    second = first + np.concatenate([apart, -apart]) + 0.05
    found = crossed_difference(first, second, NOBODY)
    theirs = stats.ttest_rel(second, first)
    assert found.p == pytest.approx(theirs.pvalue)
    bounds = theirs.confidence_interval(0.95)
    assert (found.interval().low, found.interval().high) == pytest.approx((bounds.low, bounds.high))
    for bound in (-0.1, 0.1):
        above = stats.ttest_1samp(second - first, bound, alternative="greater").pvalue
        below = stats.ttest_1samp(second - first, bound, alternative="less").pvalue
        assert (found.p_above(bound), found.p_below(bound)) == pytest.approx((above, below))
    assert found.p_within(0.1) == pytest.approx(max(found.p_above(-0.1), found.p_below(0.1)))


def test_few_annotators_limit_the_degrees_of_freedom() -> None:
    rng = np.random.default_rng(4)
    first, second = rng.random((2, 200))
    second = second - (second - first).mean() + 0.03
    three = crossed_difference(first, second, SharedPart(0.0, 0.0, 0.0, 3))
    error = stats.sem(second - first)
    assert three.freedom == 2
    assert three.p == pytest.approx(2 * stats.t.sf(0.03 / error, 2), rel=0.02)
    assert three.interval().high >= 0.03 + 0.999 * stats.t.ppf(0.975, 2) * error


def test_the_design_effect_divides_the_counts() -> None:
    first, second = sides(12, 4, 200)
    alone = crossed_difference(first, second, NOBODY)
    shared = SharedPart(alone.item_variance * 1.5, 0.0, 0.0, 30)
    found = crossed_difference(first, second, shared)
    assert found.design_effect == pytest.approx(2.5)
    t = stats.t.ppf(0.975, found.freedom)
    by_hand = tango(12 / 2.5, 4 / 2.5, 200 / 2.5, quantile=t)
    assert (found.interval().low, found.interval().high) == pytest.approx((by_hand.low, by_hand.high))
    assert found.statistic(0) == pytest.approx((12 - 4) / sqrt(16) / sqrt(2.5))


@pytest.mark.parametrize("at", [-0.2, -0.05, 0.0, 0.1])
def test_tangos_statistic_uses_the_most_likely_nuisance_parameter(at: float) -> None:
    better, worse, n = 6.5, 2.5, 50.0

    def unlikely(q: float) -> float:
        return -(worse * np.log(q) + better * np.log(q + at) + (n - better - worse) * np.log(1 - 2 * q - at))

    low, high = max(0.0, -at) + 1e-12, (1 - at) / 2 - 1e-12
    q = optimize.minimize_scalar(unlikely, bounds=(low, high), method="bounded", options={"xatol": 1e-12}).x
    by_hand = (better - worse - n * at) / sqrt(n * (2 * q + at * (1 - at)))
    assert tango_statistic(better, worse, n, at) == pytest.approx(by_hand, abs=1e-4)


def test_a_long_tail_of_bad_annotators_moves_the_bound_on_its_side_only() -> None:
    first, second = np.random.default_rng(1).random((2, 100))
    second = first + np.concatenate([apart := (second - first)[:50], -apart])
    even = crossed_difference(first, second, SharedPart(1e-3, 1e-7, 0.0, 20))
    skewed = crossed_difference(first, second, SharedPart(1e-3, 1e-7, 3e-5, 20))
    assert skewed.interval().high > even.interval().high
    assert skewed.interval().low == pytest.approx(even.interval().low)


def test_the_skewed_interval_covers_the_mean_of_a_skewed_distribution_more_often() -> None:
    rng = np.random.default_rng(2)
    held = np.zeros(2)
    for _ in range(400):
        drawn = -rng.exponential(size=12) / 10
        third = float(((drawn - drawn.mean()) ** 3).sum()) / 12**3
        variance = float(drawn.var(ddof=1)) / 12
        flat = np.linspace(-1e-3, 1e-3, 1000) + drawn.mean()
        for place, cumulant in enumerate((0.0, third)):
            part = SharedPart(variance, variance**2 / 11 / heavy_tails(12), cumulant, 12)
            interval = crossed_difference(np.zeros(1000), flat, part).interval()
            held[place] += interval.low <= -0.1 <= interval.high
    assert held[1] > held[0] + 8
    assert held[1] / 400 > 0.9


@pytest.mark.parametrize(("variance", "people"), [(0.0, 5), (1e-4, 20), (1e-3, 40)])
def test_the_detectable_difference_is_detected_with_power_0_8(variance: float, people: int) -> None:
    n, discordant = 400, 0.2
    freedom = 1 / ((discordant / n) ** 2 / n + variance**2 / people) * (discordant / n + variance) ** 2
    difference = detectable_difference(discordant, n, annotator_variance=variance, freedom=freedom)
    assert difference is not None
    null = sqrt(discordant / n + variance)
    true = sqrt((discordant - difference**2) / n + variance)
    power = stats.nct.sf(stats.t.ppf(0.975, freedom) * null / true, freedom, difference / true)
    assert power == pytest.approx(0.8, abs=0.015)


def test_annotators_make_the_detectable_difference_larger() -> None:
    first, second = sides(30, 10, 400)
    alone = crossed_difference(first, second, NOBODY).detectable()
    shared = crossed_difference(first, second, SharedPart(5e-4, 5e-4**2 / 10, 0.0, 11)).detectable()
    assert alone is not None
    assert shared is not None
    assert shared > 1.5 * alone
    assert crossed_difference(np.ones(50), np.ones(50), NOBODY).detectable() is None


def test_what_has_no_items_or_no_pairs_is_refused() -> None:
    with pytest.raises(ValueError, match="at least one score"):
        crossed_difference(np.ones(0), np.ones(0), NOBODY)
    with pytest.raises(ValueError, match="equal length"):
        crossed_difference(np.ones(3), np.ones(2), NOBODY)


def clustered_sides(sizes: np.ndarray, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng, codes = np.random.default_rng(seed), np.repeat(np.arange(sizes.size), sizes)
    shared = rng.standard_normal(sizes.size)[codes]
    first, second = ((rng.standard_normal(codes.size) + shared > -0.3).astype(float) for _ in range(2))
    return first, second, codes


@pytest.mark.parametrize("seed", range(8))
def test_two_models_on_clusters_of_one_size_have_students_test_of_the_cluster_means(seed: int) -> None:
    first, second, codes = clustered_sides(np.full(11, 6), seed)
    found = crossed_difference(first, second, NO_ANNOTATORS, clusters=codes)
    means = (second - first).reshape(11, 6).mean(axis=1)
    assert found.p == pytest.approx(stats.ttest_1samp(means, 0).pvalue)
    assert found.freedom == pytest.approx(10)


@given(st.lists(st.integers(1, 9), min_size=2, max_size=12), st.integers(0, 1000))
@settings(max_examples=60, deadline=None)
def test_the_test_of_two_models_on_clusters_rejects_what_its_interval_leaves_out(
    sizes: list[int], seed: int
) -> None:
    first, second, codes = clustered_sides(np.array(sizes), seed)
    found = crossed_difference(first, second, NO_ANNOTATORS, clusters=codes)
    interval = found.interval()
    assert -1 <= interval.low <= found.value <= interval.high <= 1
    for at in np.linspace(-0.95, 0.95, 20):
        if min(abs(at - interval.low), abs(at - interval.high)) > 1e-6:
            assert (found.p_above(at) < 0.025) == (at < interval.low)
            assert (found.p_below(at) < 0.025) == (at > interval.high)


@pytest.mark.parametrize("seed", range(5))
def test_the_freedom_of_unequal_clusters_is_satterthwaites_of_the_whole_covariance(seed: int) -> None:
    sizes = np.random.default_rng(seed).integers(1, 12, 9)
    first, second, codes = clustered_sides(sizes, seed)
    apart = second - first - (second - first).mean()
    effect, freedom = cluster_robust_effect(apart, codes)
    share, mean_size = sizes / sizes.sum(), sizes @ sizes / sizes.sum()
    alike = np.clip((effect - 1) / (mean_size - 1), 0, 1)
    left = (np.eye(9) - np.outer(share, np.ones(9))) / np.sqrt(1 - share)[:, None]
    covariance = left @ np.diag((1 - alike) * sizes + alike * sizes**2) @ left.T
    assert freedom == pytest.approx(np.trace(covariance) ** 2 / (covariance**2).sum())
    residual = np.array([apart[codes == code].sum() for code in range(9)])
    variance = (residual**2 / (1 - share)).sum() / sizes.sum() ** 2
    assert effect == pytest.approx(variance / (apart.var(ddof=1) / sizes.sum()))


def test_two_models_of_equal_score_on_few_clusters_differ_in_a_twentieth_of_studies() -> None:
    rng, rejected = np.random.default_rng(5), 0
    for _ in range(1500):
        codes = np.repeat(np.arange(12), 10)
        shared = rng.standard_normal(12)[codes] + rng.standard_normal(120)
        first, second = ((rng.random(120) < 1 / (1 + np.exp(-shared))).astype(float) for _ in range(2))
        rejected += crossed_difference(first, second, NO_ANNOTATORS, clusters=codes).p <= 0.05
    assert 0.035 <= rejected / 1500 <= 0.065
