"""The curve of success by time: against a likelihood by brute force, and its intervals."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit

from merilo.statistics.item_times import ItemTimes
from merilo.statistics.success_curve import fit_curve


def world(
    items: int, error: float, seed: int = 4, slope: float = 1.5
) -> tuple[ItemTimes, np.ndarray, np.ndarray]:
    """Measured times of items, the model's successes, and the true log times; the true horizon is e⁵ seconds."""
    random = np.random.default_rng(seed)
    truth = random.normal(4, 1, items)
    measured = truth + error * random.normal(size=items)
    success = (random.random(items) < expit(-slope * (truth - 5))).astype(float)
    errors = np.full(items, max(error, 1e-6) ** 2)
    return ItemTimes(4, 1, 0.0, 1, 0.0, measured, errors, np.zeros((items, 1))), success, truth


def test_the_curve_maximises_the_likelihood_over_true_times() -> None:
    times, success, _ = world(300, 0.8)
    found = fit_curve(times, np.arange(300), success)
    measured, error = times.measured, 0.8
    spread = (measured.var() - error**2) ** 0.5
    grid = np.linspace(-3, 11, 2001)
    weight = np.exp(
        -((grid - measured.mean()) ** 2) / (2 * spread**2) - (measured[:, None] - grid) ** 2 / (2 * error**2)
    )
    weight /= weight.sum(axis=1, keepdims=True)

    def against(at: np.ndarray) -> float:
        p = weight @ expit(at[0] - at[1] * grid)
        return -float((success * np.log(p) + (1 - success) * np.log(1 - p)).sum())

    logit, slope = minimize(against, [4.0, 1.0], method="BFGS").x
    assert found.slope == pytest.approx(slope, rel=0.02)
    assert found.horizon(0.5) == pytest.approx(logit / slope, abs=0.01)


def test_a_fit_that_takes_times_as_exact_is_too_flat() -> None:
    times, success, truth = world(3000, 1.0)
    item = np.arange(3000)
    right = fit_curve(times, item, success)
    exact = fit_curve(
        ItemTimes(4, 1, 0, 1, 0, times.measured, times.error * 0 + 1e-9, times.shared), item, success
    )
    ideal = fit_curve(ItemTimes(4, 1, 0, 1, 0, truth, times.error * 0 + 1e-9, times.shared), item, success)
    assert right.slope == pytest.approx(ideal.slope, rel=0.15)
    assert right.horizon(0.5) == pytest.approx(5, abs=0.15)
    assert exact.slope < 0.75 * right.slope
    assert exact.horizon(0.5) > 5.3


def test_the_interval_holds_the_times_that_the_curve_does_not_refute() -> None:
    times, success, _ = world(80, 0.5)
    found = fit_curve(times, np.arange(80), success)
    low, high = found.interval(0.5)
    assert low < found.horizon(0.5) < high
    below, above = found.band(np.array([low, high]))
    # At its ends the pointwise band reaches one half.
    assert below[0] == pytest.approx(0.5, abs=1e-6)
    assert above[1] == pytest.approx(0.5, abs=1e-6)
    assert found.horizon(0.8) < found.horizon(0.5) < found.horizon(0.2)
    assert found.share(np.array([found.horizon(0.8)]))[0] == pytest.approx(0.8)


def test_a_slope_that_is_not_significant_leaves_the_interval_open() -> None:
    times, success, _ = world(40, 0.5, slope=0.3, seed=8)
    found = fit_curve(times, np.arange(40), success)
    assert abs(found.slope) < 2 * found.slope_error
    assert not np.isfinite(found.interval(0.5)).all()


def test_items_of_a_cluster_widen_the_interval() -> None:
    times, success, _ = world(60, 0.3)
    item = np.repeat(np.arange(60), 4)
    twice = fit_curve(times, item, success[item], clusters=item)
    alone = fit_curve(times, item, success[item])
    assert twice.slope == pytest.approx(alone.slope)
    assert twice.slope_error > 1.7 * alone.slope_error


def test_people_who_are_shared_widen_the_interval_and_do_not_move_the_curve() -> None:
    times, success, _ = world(100, 0.3)
    shared = ItemTimes(4, 1, 0.5, 1, 0.0, times.measured, times.error, np.full((100, 5), 0.2))
    alone, both = (fit_curve(one, np.arange(100), success) for one in (times, shared))
    assert both.horizon(0.5) == alone.horizon(0.5)
    widths = [np.diff(one.interval(0.5))[0] for one in (alone, both)]
    # Five people with a spread of 0.5 shift every time by a common error of 0.22.
    assert widths[1] > widths[0] + 0.1


def test_a_model_that_solves_exactly_the_quick_items_has_a_horizon_between() -> None:
    truth = np.linspace(0, 8, 60)
    times = ItemTimes(4, 2, 0.0, 1, 0.0, truth, np.full(60, 1e-6), np.zeros((60, 1)))
    found = fit_curve(times, np.arange(60), (truth < 5).astype(float))
    low, high = found.interval(0.5)
    assert 4.5 < low <= found.horizon(0.5) <= high < 5.5
