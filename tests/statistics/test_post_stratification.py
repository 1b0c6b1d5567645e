"""Post-stratified means: their variance against every sample that could be drawn, and against textbooks."""

from itertools import combinations, product

import numpy as np
import pytest

from merilo.statistics.post_stratification import StratifiedSample, bounded_interval, stratified_variance


def test_the_estimated_variance_is_unbiased_over_every_stratified_sample() -> None:
    population = [np.array([0.0, 1.0, 1.0, 0.5, 1.0]), np.array([0.0, 0.0, 1.0, 0.25])]
    drawn = (3, 2)
    estimates, variances = [], []
    for first, second in product(combinations(range(5), drawn[0]), combinations(range(4), drawn[1])):
        values = np.concatenate([population[0][list(first)], population[1][list(second)]])
        sample = StratifiedSample(np.repeat([0, 1], drawn), np.array([5.0, 4.0]))
        estimates.append(float(sample.share @ values))
        variances.append(stratified_variance(values, sample, pooled_items=0).corrected)
    assert np.mean(estimates) == pytest.approx(np.concatenate(population).mean())
    assert np.mean(variances) == pytest.approx(np.var(estimates))


def test_a_worked_example_by_hand() -> None:
    # Two strata of 40 and 60 items; 4 and 3 sampled, with 3 and 1 right.
    sample = StratifiedSample(np.array([0, 0, 0, 0, 1, 1, 1]), np.array([40.0, 60.0]))
    values = np.array([1.0, 1.0, 1.0, 0.0, 1.0, 0.0, 0.0])
    assert float(sample.share @ values) == pytest.approx(0.4 * 0.75 + 0.6 / 3)
    found = stratified_variance(values, sample, pooled_items=0)
    by_hand = 0.16 * (1 - 4 / 40) * 0.25 / 4 + 0.36 * (1 - 3 / 60) * (1 / 3) / 3
    assert found.corrected == pytest.approx(by_hand)
    assert found.uncorrected == pytest.approx(0.16 * 0.25 / 4 + 0.36 * (1 / 3) / 3)
    parts = 0.009, by_hand - 0.009
    assert found.freedom == pytest.approx(by_hand**2 / (parts[0] ** 2 / 3 + parts[1] ** 2 / 2))


def test_a_fully_sampled_dataset_has_no_variance_from_items() -> None:
    sample = StratifiedSample(np.array([0, 0, 1]), np.array([2.0, 1.0]))
    found = stratified_variance(np.array([0.0, 1.0, 1.0]), sample)
    assert found.corrected == 0
    assert found.uncorrected > 0
    span = bounded_interval(
        2 / 3, found.corrected, found.freedom, bounds=(0, 1), most=np.inf, alike=np.inf, method=""
    )
    assert (span.low, span.high) == (2 / 3, 2 / 3)


def test_a_stratum_with_one_item_takes_the_variance_of_the_others() -> None:
    sample = StratifiedSample(np.array([0, 0, 1]), np.array([10.0, 30.0]))
    found = stratified_variance(np.array([0.0, 1.0, 1.0]), sample)
    assert found.uncorrected == pytest.approx(0.25**2 * 0.5 / 2 + 0.75**2 * 0.5)


def test_two_hard_items_do_not_leave_one_degree_of_freedom_beside_an_easy_stratum() -> None:
    sample = StratifiedSample(np.repeat([0, 1], (60, 2)), np.array([900.0, 100.0]))
    values = np.array([1.0] * 61 + [0.0])
    assert stratified_variance(values, sample, pooled_items=0).freedom == pytest.approx(1)
    assert stratified_variance(values, sample).freedom > 4


def test_equal_weights_have_no_design_effect_and_unequal_ones_that_of_kish() -> None:
    alike = StratifiedSample(np.array([0, 0, 1, 1]), np.array([6.0, 6.0]))
    assert (alike.design_effect, alike.effective_items) == (1, 4)
    apart = StratifiedSample(np.array([0, 0, 1, 1]), np.array([2.0, 6.0]))
    weight = np.array([1.0, 1.0, 3.0, 3.0])
    assert apart.weight.tolist() == weight.tolist()
    assert apart.design_effect == pytest.approx(4 * (weight**2).sum() / weight.sum() ** 2)


@pytest.mark.parametrize("bounds", [(0.0, 1.0), (-1.0, 1.0)])
def test_the_interval_stays_within_the_bounds_and_has_a_width_at_them(bounds: tuple[float, float]) -> None:
    at_top = bounded_interval(bounds[1], 0.0, 50, bounds=bounds, most=100, alike=60, method="")
    assert bounds[0] < at_top.low < at_top.high == bounds[1]
    inside = bounded_interval(0.6, 0.002, 50, bounds=bounds, most=1000, alike=60, method="")
    assert bounds[0] < inside.low < 0.6 < inside.high < bounds[1]
