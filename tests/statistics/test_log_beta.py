"""The logarithms of gamma and beta, held against scipy."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from scipy import special

from merilo.statistics.log_beta import log_beta, log_gamma

ABOVE_ZERO = st.floats(min_value=1e-6, max_value=1e7)


@given(ABOVE_ZERO)
def test_the_logarithm_of_gamma_is_scipys(x: float) -> None:
    assert np.isclose(log_gamma(x), special.gammaln(x), rtol=1e-13, atol=1e-13)


@given(st.lists(ABOVE_ZERO, min_size=1, max_size=5), ABOVE_ZERO)
def test_the_logarithm_of_beta_is_scipys(a: list[float], b: float) -> None:
    # The three logarithms cancel: what is lost is rounding of the largest of them.
    largest = max(special.gammaln(max(a) + b), 1.0)
    assert np.allclose(log_beta(a, b), special.betaln(a, b), rtol=1e-12, atol=1e-14 * largest)
