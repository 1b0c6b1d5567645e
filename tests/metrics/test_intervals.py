"""Intervals, held against scipy and against their own definition."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest

from merilo.metrics.intervals import wilson

counts = st.integers(1, 5000).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))


@given(counts, st.sampled_from([0.8, 0.9, 0.95, 0.99]))
def test_wilson_is_scipys(count: tuple[int, int], level: float) -> None:
    successes, n = count
    oracle = binomtest(successes, n).proportion_ci(level, method="wilson")
    ours = wilson(successes, n, level)
    assert ours.low == pytest.approx(oracle.low, abs=1e-12)
    assert ours.high == pytest.approx(oracle.high, abs=1e-12)
    assert ours.level == level


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
    with pytest.raises(ValueError, match=r"cannot be|must lie"):
        wilson(successes, n, level)
