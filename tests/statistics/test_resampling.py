"""Bootstrap means have the same moments as means of explicit draws."""

import numpy as np
import pytest

from merilo.statistics.intervals import random_signs, resampled_means


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
