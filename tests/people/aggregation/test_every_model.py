"""What holds for every model of annotators, whatever it assumes about them."""

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from simulated_votes import glad_votes, small_votes

from merilo.errors import UsageError
from merilo.people.aggregation import (
    NO_LABEL,
    Consensus,
    Resolution,
    auto,
    auto_and_one_coin,
    dawid_skene,
    glad,
    one_coin,
    pooled_dawid_skene,
)
from merilo.people.votes import Votes

every_model = pytest.mark.parametrize("model", [dawid_skene, pooled_dawid_skene, one_coin, glad])
Model = Callable[..., Consensus]


@every_model
@given(votes=small_votes())
def test_anything_can_be_fitted(model: Model, votes: Votes) -> None:
    consensus = model(votes)
    fit = consensus.fit
    assert fit.converged
    assert np.isfinite(fit.log_likelihood).all()
    if len(votes) and votes.labels > 1:
        assert fit.posterior.sum(1) == pytest.approx(np.ones(votes.items))
    silent = ~np.isin(np.arange(votes.items), votes.item)
    assert (consensus.how[silent] == Resolution.UNRESOLVED).all()
    assert np.isfinite(fit.quality[np.unique(votes.annotator)]).all()
    sure = consensus.confidence[~np.isnan(consensus.confidence)]
    assert ((sure > 0) & (sure <= 1)).all()


@every_model
def test_control_items_anchor_the_model(model: Model) -> None:
    """Two camps of equal size: only the known labels say which is right."""
    item, annotator = np.divmod(np.arange(24), 4)
    votes = Votes(item, annotator, np.array([[0, 0, 1, 1]] * 6).reshape(-1), 6, 4, 2)
    assert model(votes).label.tolist() == [NO_LABEL] * 6
    anchored = model(votes, anchors=[1, 1, 1, -1, -1, -1])
    assert anchored.label.tolist() == [1] * 6
    assert (anchored.how == Resolution.ANCHOR).tolist() == [True] * 3 + [False] * 3
    assert anchored.fit.anchored == 3


@every_model
def test_the_order_of_the_rows_changes_nothing(model: Model) -> None:
    votes, *_ = glad_votes(3, items=200, annotators=20, labels=4, overlap=5)
    shuffled = np.random.default_rng(0).permutation(len(votes))
    rows = (column[shuffled] for column in (votes.item, votes.annotator, votes.label))
    other = model(Votes(*rows, votes.items, votes.annotators, votes.labels))
    assert other.fit.posterior == pytest.approx(model(votes).fit.posterior, abs=1e-6)


@every_model
def test_wrong_parameters_are_refused(model: Model) -> None:
    votes = Votes(*np.array([[0, 1], [0, 1], [0, 1]]), 2, 2, 2)
    with pytest.raises(UsageError, match="each of the 2 items"):
        model(votes, anchors=[1])
    with pytest.raises(UsageError, match="from 0 to 1"):
        model(votes, anchors=[1, 2])
    with pytest.raises(UsageError, match="at least 1 iteration"):
        model(votes, iterations=0)


@pytest.mark.parametrize("open_answers", [False, True])
def test_the_recommended_model_may_share_the_fit_of_one_coin(open_answers: bool) -> None:
    votes, *_ = glad_votes(5, items=80, annotators=12, labels=3, overlap=5)
    anchors = np.where(np.arange(votes.items) < 5, 1, NO_LABEL)
    together = auto_and_one_coin(votes, anchors=anchors, open_answers=open_answers)
    for found, model in zip(together, (auto, one_coin), strict=True):
        alone = model(votes, anchors=anchors, open_answers=open_answers)
        assert found.label.tolist() == alone.label.tolist()
        assert found.confidence.tolist() == alone.confidence.tolist()
        assert found.fit.log_likelihood == alone.fit.log_likelihood
