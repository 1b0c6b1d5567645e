"""What holds for every model of annotators, whatever it assumes about them."""

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from simulated_votes import glad_votes, small_votes

from merilo.errors import UsageError
from merilo.people.aggregation import Consensus, Resolution
from merilo.people.aggregation.dawid_skene import dawid_skene, pooled_dawid_skene
from merilo.people.aggregation.glad import glad
from merilo.people.votes import Votes

every_model = pytest.mark.parametrize("model", [dawid_skene, pooled_dawid_skene, glad])
Model = Callable[..., Consensus]


@every_model
@given(votes=small_votes())
def test_anything_can_be_fitted(model: Model, votes: Votes) -> None:
    consensus = model(votes)
    fit = consensus.fit
    assert fit.converged
    assert np.isfinite(fit.log_likelihood).all()
    silent = ~np.isin(np.arange(votes.items), votes.item)
    assert (consensus.how[silent] == Resolution.UNRESOLVED).all()
    assert np.isfinite(fit.quality[np.unique(votes.annotator)]).all()
    sure = consensus.confidence[~np.isnan(consensus.confidence)]
    assert ((sure > 0) & (sure <= 1)).all()


@every_model
def test_the_order_of_the_rows_changes_nothing(model: Model) -> None:
    votes = glad_votes(3, items=200, annotators=20, labels=4, overlap=5)
    shuffled = np.random.default_rng(0).permutation(len(votes))
    rows = (column[shuffled] for column in (votes.item, votes.annotator, votes.label))
    one, other = model(votes), model(Votes(*rows, votes.items, votes.annotators, votes.labels))
    assert (one.label == other.label).all()
    assert other.confidence == pytest.approx(one.confidence, abs=1e-6, nan_ok=True)


@every_model
def test_wrong_parameters_are_refused(model: Model) -> None:
    votes = Votes(*np.array([[0, 1], [0, 1], [0, 1]]), 2, 2, 2)
    with pytest.raises(UsageError, match="at least 1 iteration"):
        model(votes, iterations=0)


@pytest.mark.parametrize("model", [dawid_skene, glad])
def test_the_objective_never_falls_and_running_out_of_iterations_is_said(model: Model) -> None:
    votes = glad_votes(2, items=100, annotators=10, labels=3, overlap=5)
    short, long = model(votes, iterations=3).fit, model(votes).fit
    assert (short.converged, len(short.log_likelihood), long.converged) == (False, 3, True)
    assert long.log_likelihood[-1] > short.log_likelihood[-1]
    assert (np.diff(long.log_likelihood) >= 0).all()
