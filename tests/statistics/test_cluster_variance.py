"""The variance of means over clusters of items, held against the brute-force bootstrap of clusters and planted correlations."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scored import f1_macro, passed

from merilo.errors import DataError
from merilo.metrics.label_comparison import compare_labels
from merilo.metrics.registry import metric_of
from merilo.statistics.crossed_difference import SharedPart, crossed_difference
from merilo.statistics.intervals import assumed_cluster_effect, cluster_design_effect, mean_interval, wilson
from merilo.statistics.paired_tests import compare_scores, tango

MCC = metric_of("mcc", "label")

NOBODY = SharedPart(0.0, 0.0, 0.0, 50)


def correlated(rng: np.random.Generator, texts: int, size: int, share: float, right: float) -> np.ndarray:
    """Scores of 0 and 1 with this intra-cluster correlation: with probability `share`, a score is that of its text."""
    of_text = rng.random(texts) < right
    own = rng.random((texts, size)) < right
    return np.where(rng.random((texts, size)) < np.sqrt(share), of_text[:, None], own).ravel().astype(float)


def bootstrap_variance(scores: np.ndarray, codes: np.ndarray, rng: np.random.Generator) -> float:
    """Draw whole clusters with replacement, one after the other."""
    members = [np.flatnonzero(codes == code) for code in np.unique(codes)]
    means = []
    for _ in range(4000):
        drawn = np.concatenate([members[one] for one in rng.integers(0, len(members), len(members))])
        means.append(scores[drawn].mean())
    return float(np.var(means))


def test_the_design_effect_is_that_of_a_bootstrap_of_clusters() -> None:
    rng = np.random.default_rng(3)
    sizes = rng.integers(1, 9, 80)
    codes = np.repeat(np.arange(80), sizes)
    scores = (rng.random(codes.size) < np.repeat(rng.beta(2, 1, 80), sizes)).astype(float)
    effect = cluster_design_effect(scores - scores.mean(), codes)
    independent = float(scores.var()) / scores.size
    assert effect == pytest.approx(bootstrap_variance(scores, codes, rng) / independent, rel=0.1)


def test_the_design_effect_is_kishs_for_a_planted_correlation() -> None:
    rng = np.random.default_rng(5)
    found = []
    for _ in range(200):
        scores = correlated(rng, 100, 6, 0.3, 0.7)
        found.append(cluster_design_effect(scores - scores.mean(), np.repeat(np.arange(100), 6)))
    assert np.mean(found) == pytest.approx(1 + 5 * 0.3, abs=0.08)


@given(st.lists(st.integers(0, 4), min_size=2, max_size=40), st.data())
def test_the_design_effect_is_at_least_1_and_ignores_names_and_order(codes, data) -> None:
    scores = np.array(
        data.draw(st.lists(st.sampled_from([0.0, 0.5, 1.0]), min_size=len(codes), max_size=len(codes)))
    )
    clusters, deviations = np.array(codes), scores - scores.mean()
    effect = cluster_design_effect(deviations, clusters)
    order = np.random.default_rng(0).permutation(len(codes))
    assert effect >= 1
    assert cluster_design_effect(deviations[order], 7 - clusters[order]) == pytest.approx(effect)


def test_clusters_of_one_item_each_have_no_design_effect() -> None:
    scores = np.array([0.0, 1.0, 1.0, 0.0, 1.0])
    assert cluster_design_effect(scores - scores.mean(), np.arange(5)) == 1.0
    assert mean_interval(scores, list("abcde")) == wilson(3, 5)
    assert compare_scores(scores, 1 - scores, clusters=np.arange(5)) == compare_scores(scores, 1 - scores)
    assert crossed_difference(scores, 1 - scores, NOBODY, clusters=np.arange(5)) == crossed_difference(
        scores, 1 - scores, NOBODY
    )


def test_if_all_answers_are_right_a_correlation_of_one_half_is_assumed() -> None:
    codes = np.repeat(np.arange(60), 5)
    assert cluster_design_effect(np.zeros(300), codes) == assumed_cluster_effect(codes) == 3
    found = mean_interval(np.ones(300), codes.tolist())
    assert found is not None
    assert (found.low, found.high) == pytest.approx((wilson(100, 100).low, 1.0))
    assert "60 clusters" in found.method
    assert (
        f1_macro(["A", "B"] * 150, ["A", "B"] * 150, codes.tolist()).interval
        == f1_macro(["A", "B"] * 50, ["A", "B"] * 50).interval
    )


@pytest.mark.parametrize("wrong", [0, 1, 2, 4, 10])
def test_a_few_wrong_answers_in_different_texts_do_not_show_that_items_are_independent(wrong: int) -> None:
    codes, scores = np.repeat(np.arange(60), 5), np.ones(300)
    scores[5 * np.arange(wrong)] = 0
    found = mean_interval(scores, codes.tolist())
    assert found is not None
    assert wilson(100, 100).low - 0.01 < found.low or wrong > 2
    assert found.low < wilson(300 - wrong, 300).low


def test_the_interval_over_clusters_holds_the_true_mean() -> None:
    rng, held, alone = np.random.default_rng(8), 0, 0
    for _ in range(400):
        scores = correlated(rng, 40, 8, 0.4, 0.85)
        found, plain = mean_interval(scores, np.repeat(np.arange(40), 8).tolist()), mean_interval(scores)
        assert found is not None
        assert plain is not None
        held += found.low <= 0.85 <= found.high
        alone += plain.low <= 0.85 <= plain.high
    assert held / 400 > 0.92
    assert alone / 400 < 0.8


def test_shares_of_points_have_an_interval_over_clusters_too() -> None:
    values = np.repeat([0.2, 0.9, 0.6, 0.7, 0.4, 0.8], 20)
    shared, alone = mean_interval(values, np.repeat(np.arange(6), 20).tolist()), mean_interval(values)
    assert shared is not None
    assert alone is not None
    assert shared.high - shared.low > 3 * (alone.high - alone.low)
    assert mean_interval([0.5] * 10, [0, 0, 1, 1, 2, 2, 3, 3, 4, 4]) is None


def test_pass_at_k_takes_clusters() -> None:
    counts = [(10, 10)] * 20 + [(10, 0)] * 20
    shared = passed(counts, 1, np.repeat(np.arange(8), 5).tolist()).interval
    alone = passed(counts, 1).interval
    assert shared is not None
    assert alone is not None
    assert shared.low < alone.low < alone.high < shared.high


def test_tangos_interval_takes_the_counts_divided_by_the_design_effect() -> None:
    rng = np.random.default_rng(2)
    codes = np.repeat(np.arange(50), 4)
    people, model = correlated(rng, 50, 4, 0.5, 0.9), correlated(rng, 50, 4, 0.5, 0.8)
    found = compare_scores(people, model, clusters=codes)
    apart = model - people
    effect = cluster_design_effect(apart - apart.mean(), codes)
    better, worse = float((apart > 0).sum()), float((apart < 0).sum())
    expected = tango(better / effect, worse / effect, 200 / effect, quantile=2.0096)
    assert (found.interval.low, found.interval.high) == pytest.approx((expected.low, expected.high), abs=1e-4)
    assert f"design effect {effect:.2f}" in found.interval.method
    both = crossed_difference(people, model, NOBODY, clusters=codes)
    assert both.total_effect == pytest.approx(effect)
    assert (both.interval().low, both.interval().high) == pytest.approx(
        (expected.low, expected.high), abs=1e-3
    )
    assert both.clusters == 50


def test_a_difference_over_clusters_and_annotators_has_the_sum_of_both_variances() -> None:
    rng = np.random.default_rng(4)
    codes = np.repeat(np.arange(30), 5)
    people, model = rng.random(150), np.repeat(rng.random(30), 5)
    alone = crossed_difference(people, model, NOBODY, clusters=codes)
    both = crossed_difference(people, model, SharedPart(0.001, 1e-7, 0.0, 20), clusters=codes)
    assert both.standard_error**2 == pytest.approx(alone.standard_error**2 + 0.001)
    assert both.interval().high - both.interval().low > alone.interval().high - alone.interval().low
    apart = model - people
    sums = np.bincount(codes, weights=apart - apart.mean())
    robust = 30 / 29 * float(sums @ sums) / 150**2
    assert alone.standard_error**2 == pytest.approx(robust, rel=0.05)


def test_the_conditional_test_flips_whole_clusters() -> None:
    people = np.ones(12)
    model = np.array([0.0] * 4 + [1.0] * 8)
    codes = np.repeat(np.arange(3), 4)
    found = compare_scores(people, model, clusters=codes)
    # One cluster differs: its two signs are equally probable.
    assert found.test.p == 1.0
    assert "by cluster" in found.test.method
    assert compare_scores(people, model).test.p == 0.125


def test_labels_are_swapped_by_cluster() -> None:
    gold, first = list("AABB") * 6, list("AABB") * 6
    second = list("BBBB") * 2 + list("AABB") * 4
    codes = np.repeat(np.arange(6), 4)
    found = compare_labels(MCC, first, second, gold, clusters=codes)
    # Two clusters differ: of the four swaps, two give the observed difference or its opposite.
    assert found.test.p == 0.5
    assert "6 clusters of items" in found.interval.method
    plain = compare_labels(MCC, first, second, gold)
    assert found.value == plain.value
    assert found.interval.low < plain.interval.low
    assert compare_labels(MCC, first, second, gold, clusters=np.arange(24)) == plain


def test_one_cluster_has_no_interval_over_items() -> None:
    codes = np.zeros(20, dtype=np.int64)
    people, model = np.ones(20), np.array([0.0, 1.0] * 10)
    for compared in (
        lambda: compare_scores(people, model, clusters=codes),
        lambda: crossed_difference(people, model, NOBODY, clusters=codes),
        lambda: compare_labels(MCC, ["A", "B"] * 10, ["A"] * 20, ["A", "B"] * 10, clusters=codes),
    ):
        with pytest.raises(DataError, match="at least two clusters"):
            compared()
