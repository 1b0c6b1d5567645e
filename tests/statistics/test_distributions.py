"""The distributions against exact fractions, SciPy's own distributions and the normal limit."""

from fractions import Fraction
from math import comb
from statistics import NormalDist

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from merilo.statistics.intervals import (
    at_least,
    at_most,
    chi_squared_quantile,
    exact_interval,
    student_quantile,
)

probabilities = st.floats(0.001, 0.999)


@given(st.integers(0, 60), st.integers(-1, 61), st.fractions(0, 1, max_denominator=1024))
def test_binomial_tails_are_sums_of_exact_probabilities(n: int, successes: int, p: Fraction) -> None:
    each = [comb(n, k) * p**k * (1 - p) ** (n - k) for k in range(n + 1)]
    lower = sum(each[: successes + 1])
    assert at_most(successes, n, float(p)) == pytest.approx(float(lower), rel=1e-9, abs=1e-14)
    assert at_least(successes + 1, n, float(p)) == pytest.approx(float(1 - lower), rel=1e-9, abs=1e-14)


@given(st.integers(0, 400), st.integers(-1, 401), probabilities)
def test_binomial_tails_are_scipys(n: int, successes: int, p: float) -> None:
    assert at_most(successes, n, p) == pytest.approx(stats.binom.cdf(successes, n, p), rel=1e-8, abs=1e-12)
    assert at_least(successes, n, p) == pytest.approx(
        stats.binom.sf(successes - 1, n, p), rel=1e-8, abs=1e-12
    )


@given(
    st.integers(1, 500).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))),
    st.sampled_from([0.8, 0.95, 0.999]),
)
def test_the_exact_interval_is_scipys(counts: tuple[int, int], level: float) -> None:
    theirs = stats.binomtest(*counts).proportion_ci(level, method="exact")
    ours = exact_interval(*counts, level)
    assert (ours.low, ours.high) == pytest.approx((theirs.low, theirs.high), abs=1e-9)


@given(probabilities, st.floats(0.8, 2000))
def test_students_quantile_is_scipys(probability: float, freedom: float) -> None:
    assert student_quantile(probability, freedom) == pytest.approx(
        stats.t.ppf(probability, freedom), rel=1e-6, abs=1e-7
    )


@given(probabilities, st.floats(1e9, 1e18))
def test_students_quantile_is_the_normals_where_freedom_is_without_limit(
    probability: float, freedom: float
) -> None:
    normal = NormalDist().inv_cdf(probability)
    assert student_quantile(probability, freedom) == pytest.approx(normal, rel=1e-6, abs=1e-7)


@given(probabilities, st.floats(0.8, 2000))
def test_chi_squareds_quantile_is_scipys(probability: float, freedom: float) -> None:
    assert chi_squared_quantile(probability, freedom) == pytest.approx(
        stats.chi2.ppf(probability, freedom), rel=1e-6, abs=1e-9
    )
