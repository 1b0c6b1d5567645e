"""The distributions against SciPy's."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import special, stats

from merilo.statistics.distributions import (
    at_least,
    at_most,
    chi_squared_cdf,
    chi_squared_quantile,
    regularised_beta,
    student_cdf,
    student_quantile,
)
from merilo.statistics.intervals import exact_interval

probabilities = st.floats(0.001, 0.999)


@given(st.floats(0.05, 5000), st.floats(0.05, 5000), st.floats(0, 1))
def test_the_incomplete_beta_is_scipys(a: float, b: float, x: float) -> None:
    assert regularised_beta(a, b, x) == pytest.approx(special.betainc(a, b, x), rel=1e-8, abs=1e-11)


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


@given(st.floats(-60, 60), st.floats(0.8, 2000))
def test_students_distribution_is_scipys(t: float, freedom: float) -> None:
    assert student_cdf(t, freedom) == pytest.approx(stats.t.cdf(t, freedom), rel=1e-7, abs=1e-11)


@given(st.floats(0, 3000), st.floats(0.5, 2000))
def test_chi_squareds_distribution_is_scipys(x: float, freedom: float) -> None:
    assert chi_squared_cdf(x, freedom) == pytest.approx(stats.chi2.cdf(x, freedom), rel=1e-7, abs=1e-10)


@given(probabilities, st.floats(0.8, 2000))
def test_chi_squareds_quantile_is_scipys(probability: float, freedom: float) -> None:
    assert chi_squared_quantile(probability, freedom) == pytest.approx(
        stats.chi2.ppf(probability, freedom), rel=1e-6, abs=1e-9
    )
