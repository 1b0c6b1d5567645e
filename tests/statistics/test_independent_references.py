"""The same quantities by independent software on generated inputs: statsmodels.

`krippendorff` is in tests/people/test_agreement.py, scikit-learn in tests/metrics/test_classification.py, crowd-kit in
tests/people/aggregation.
"""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from statsmodels.stats.contingency_tables import mcnemar as mcnemar_of_statsmodels
from statsmodels.stats.inter_rater import fleiss_kappa as fleiss_of_statsmodels
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.proportion import proportion_confint

from merilo.people.agreement import fleiss_kappa
from merilo.people.votes import Votes
from merilo.statistics.intervals import exact_interval, wilson
from merilo.statistics.paired_tests import holm, mcnemar

counts = st.integers(1, 5000).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))


@pytest.mark.parametrize(("ours", "theirs"), [(wilson, "wilson"), (exact_interval, "beta")])
@settings(deadline=None)
@given(count=counts, level=st.sampled_from([0.8, 0.9, 0.95, 0.99]))
def test_intervals_of_shares_are_those_of_statsmodels(
    ours, theirs: str, count: tuple[int, int], level: float
) -> None:
    found = ours(*count, level)
    assert (found.low, found.high) == pytest.approx(
        proportion_confint(*count, alpha=1 - level, method=theirs), abs=1e-9
    )


@settings(deadline=None)
@given(better=st.integers(0, 1500), worse=st.integers(0, 1500), same=st.integers(0, 50))
def test_mcnemars_test_is_that_of_statsmodels(better: int, worse: int, same: int) -> None:
    found = mcnemar_of_statsmodels([[same, better], [worse, same]], exact=True)
    # statsmodels divides by 0 without a difference.
    assert mcnemar(better, worse) == pytest.approx(found.pvalue if better + worse else 1.0, rel=1e-7)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=30))
def test_holms_correction_is_that_of_statsmodels(p_values: list[float]) -> None:
    assert holm(p_values) == pytest.approx(multipletests(p_values, method="holm")[1].tolist())


@given(
    seed=st.integers(0, 2**32), items=st.integers(2, 40), overlap=st.integers(2, 6), labels=st.integers(2, 5)
)
def test_fleiss_kappa_is_that_of_statsmodels(seed: int, items: int, overlap: int, labels: int) -> None:
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, labels, items)
    label = np.where(
        rng.random((items, overlap)) < 0.6, truth[:, None], rng.integers(0, labels, (items, overlap))
    )
    item, annotator = np.divmod(np.arange(items * overlap), overlap)
    votes = Votes(item, annotator, label.ravel(), items, overlap, labels)
    counted = votes.counts()
    if (counted.sum(axis=0) > 0).sum() > 1:
        assert fleiss_kappa(votes) == pytest.approx(fleiss_of_statsmodels(counted))
