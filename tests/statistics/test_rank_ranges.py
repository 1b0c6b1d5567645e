"""Ranges of ranks: every pair has the p-value of the comparison of two models, and the ranges follow from the pairs."""

import numpy as np
import pytest

from merilo.statistics.crossed_difference import NO_ANNOTATORS, crossed_difference
from merilo.statistics.paired_tests import holm
from merilo.statistics.rank_ranges import all_pairs, mean_of_pairs, rank_ranges, told_apart, total_interval


def scores_of(rng: np.random.Generator, models: int, items: int, *, shares: bool) -> np.ndarray:
    difficulty = rng.normal(0, 1, items)
    level = rng.normal(1, 1, models)
    right = rng.random((models, items)) < 1 / (1 + np.exp(-(level[:, None] - difficulty)))
    return np.clip(right * rng.random(items), 0, 1) if shares else right.astype(float)


@pytest.mark.parametrize("shares", [False, True])
@pytest.mark.parametrize("groups", [None, 40, 7])
@pytest.mark.parametrize("seed", [0, 1])
def test_every_pair_has_the_p_value_of_two_models(shares: bool, groups: int | None, seed: int) -> None:
    rng = np.random.default_rng(seed)
    scores = scores_of(rng, 6, 83, shares=shares)
    scores[5] = scores[4]
    if seed:
        scores[3, 60:] = np.nan  # a run that was limited to the first items
    clusters = None if groups is None else rng.integers(0, groups, 83)
    found = all_pairs(scores, clusters)
    for first in range(6):
        for second in range(6):
            both = ~np.isnan(scores[first]) & ~np.isnan(scores[second])
            wanted = crossed_difference(
                scores[second][both],
                scores[first][both],
                NO_ANNOTATORS,
                clusters=None if clusters is None else clusters[both],
            )
            assert found.value[first, second] == pytest.approx(wanted.value, abs=1e-12)
            assert found.p[first, second] == pytest.approx(wanted.p, rel=1e-7, abs=1e-12)
            assert first == second or found.variance[first, second] == pytest.approx(wanted.item_variance)


def test_ranges_count_those_who_are_told_apart_after_holms_correction() -> None:
    scores = scores_of(np.random.default_rng(3), 9, 300, shares=False)
    pairs = all_pairs(scores)
    upper = np.triu_indices(9, 1)
    corrected = dict(zip(zip(*upper, strict=True), holm(pairs.p[upper].tolist()), strict=True))
    means = scores.mean(axis=1)
    for one, found in enumerate(rank_ranges(pairs)):
        told = [
            other
            for other in range(9)
            if other != one and corrected[min(one, other), max(one, other)] <= 0.05
        ]
        assert found.best == 1 + sum(means[other] > means[one] for other in told)
        assert found.worst == 9 - sum(means[other] < means[one] for other in told)
        assert found.best <= 1 + sum(means > means[one]) <= found.worst
    assert told_apart(pairs).sum() > 3


def test_models_without_a_common_item_or_with_one_cluster_are_not_told_apart() -> None:
    apart = np.array([[1.0, 1, 1, np.nan, np.nan], [np.nan, np.nan, np.nan, 0.0, 0.0]])
    assert np.isnan(all_pairs(apart).value[0, 1])
    assert [tuple(one) for one in rank_ranges(all_pairs(apart))] == [(1, 2), (1, 2)]
    together = np.array([[1.0] * 50, [0.0] * 50])
    assert all_pairs(together, np.zeros(50, dtype=np.int64)).p[0, 1] == pytest.approx(1)
    assert rank_ranges(all_pairs(np.empty((0, 5)))) == []


def test_one_dataset_in_one_cluster_leaves_totals_to_the_others() -> None:
    rng = np.random.default_rng(8)
    better, worse = rng.random((2, 2, 400)) < np.array([0.9, 0.2])[:, None, None]
    scores = np.stack([better, worse], axis=1).astype(float)
    apart = all_pairs(scores[0])
    dialogue = all_pairs(scores[1, :, :30], np.zeros(30, dtype=np.int64))
    together = mean_of_pairs([*14 * [apart], dialogue])
    assert dialogue.p[0, 1] == 1
    assert apart.p[0, 1] < together.p[0, 1] < 0.01
    assert [tuple(one) for one in rank_ranges(together)] == [(1, 1), (2, 2)]


def test_a_difference_of_totals_is_the_mean_of_those_of_the_datasets() -> None:
    rng = np.random.default_rng(8)
    parts = [all_pairs(scores_of(rng, 4, n, shares=n == 60)) for n in (60, 500)]
    found = mean_of_pairs(parts)
    assert found.value == pytest.approx((parts[0].value + parts[1].value) / 2)
    assert found.variance == pytest.approx((parts[0].variance + parts[1].variance) / 4)
    assert (found.freedom[np.triu_indices(4, 1)] >= 59).all()
    alone = mean_of_pairs(parts[1:])
    assert alone.p == pytest.approx(parts[1].p, abs=0.02)


def test_the_interval_of_one_dataset_is_its_own_and_stays_in_the_range() -> None:
    assert total_interval([(0.9, 0.8, 0.94)]) == pytest.approx((0.9, 0.8, 0.94))
    mean, low, high = total_interval([(1.0, 0.9, 1.0), (0.99, 0.9, 1.0)])
    assert 0.9 <= low < mean < high <= 1
    assert total_interval([(1.0, 0.9, 1.0)] * 4) == pytest.approx((1.0, 0.95, 1.0))
    mean, low, high = total_interval([(-0.1, -0.3, 0.1), (-0.2, -0.4, 0.0)])
    assert (mean, low, high) == pytest.approx((-0.15, -0.15 - 0.2 / 2**0.5, -0.15 + 0.2 / 2**0.5))
