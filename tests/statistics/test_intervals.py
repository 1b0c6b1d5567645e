"""Intervals over items, binomial tails and Holm's correction, held against SciPy, statsmodels and exact fractions."""

from __future__ import annotations

from fractions import Fraction
from math import comb

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.proportion import proportion_confint

from merilo.statistics.crossed import Influence, holm, of_mean
from merilo.statistics.intervals import (
    at_least,
    at_most,
    exact_interval,
    interval_over_items,
    wilson,
)

counts = st.integers(1, 5000).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))


@pytest.mark.parametrize(("ours", "theirs"), [(wilson, "wilson"), (exact_interval, "beta")])
@settings(deadline=None)
@given(count=counts, level=st.sampled_from([0.8, 0.9, 0.95, 0.99]))
def test_intervals_of_shares_are_those_of_statsmodels(
    ours, theirs: str, count: tuple[int, int], level: float
) -> None:
    found = ours(*count, level)
    expected = proportion_confint(*count, alpha=1 - level, method=theirs)
    assert (found.low, found.high) == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize(("successes", "n", "level"), [(-1, 3, 0.95), (4, 3, 0.95), (1, 3, 1.0), (1, 3, 0.0)])
def test_impossible_counts_are_refused(successes: int, n: int, level: float) -> None:
    with pytest.raises(ValueError, match=r"are impossible|must be between"):
        wilson(successes, n, level)


@given(st.integers(0, 60), st.integers(-1, 61), st.fractions(0, 1, max_denominator=1024))
def test_binomial_tails_are_sums_of_exact_probabilities(n: int, successes: int, p: Fraction) -> None:
    each = [comb(n, k) * p**k * (1 - p) ** (n - k) for k in range(n + 1)]
    lower = sum(each[: successes + 1])
    assert at_most(successes, n, float(p)) == pytest.approx(float(lower), rel=1e-9, abs=1e-14)
    assert at_least(successes + 1, n, float(p)) == pytest.approx(float(1 - lower), rel=1e-9, abs=1e-14)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=30))
def test_holms_correction_is_that_of_statsmodels(p_values: list[float]) -> None:
    assert holm(p_values) == pytest.approx(multipletests(p_values, method="holm")[1].tolist())


def ends(scores: list[float] | np.ndarray, clusters: list[object] | None = None) -> tuple[float, float]:
    values = np.asarray(scores, dtype=float)
    assert interval_over_items(0.0, Influence(np.zeros(0))) is None
    found = interval_over_items(float(values.mean()), of_mean(values), clusters)
    assert found is not None
    return found.low, found.high


@given(st.lists(st.floats(0, 1), min_size=2, max_size=40), st.data())
def test_every_interval_stays_in_the_range_of_the_scores(values: list[float], data: st.DataObject) -> None:
    labels = st.lists(st.integers(0, 5), min_size=len(values), max_size=len(values))
    low, high = ends(values, data.draw(st.none() | labels))
    assert 0 <= low <= np.mean(values) + 1e-9
    assert np.mean(values) - 1e-9 <= high <= 1


def test_items_of_one_text_tell_less_and_a_dialogue_is_divided_into_blocks() -> None:
    scores, texts = np.tile([1.0, 1.0, 0.0], 40), np.repeat(np.arange(40), 3)
    grouped = np.sort(scores)
    alone, together = ends(grouped), ends(grouped, texts.tolist())
    assert together[1] - together[0] > alone[1] - alone[0]
    stretches, even = ends(grouped, ["dialogue"] * 120), ends(scores, ["dialogue"] * 120)
    assert stretches[1] - stretches[0] > even[1] - even[0]
