"""GLAD against its formula, against crowd-kit, and on annotators with known ability."""

import numpy as np
import pandas as pd
import pytest
from crowdkit.aggregation import GLAD
from hypothesis import given
from hypothesis import strategies as st
from simulated_votes import glad_votes, small_votes

from merilo.people.aggregation import NO_LABEL
from merilo.people.aggregation.glad import GladLikelihood, glad
from merilo.people.votes import Votes

# crowd-kit's own way with pandas; nothing of ours.
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning:crowdkit")


def joint(votes: Votes, ability: np.ndarray, beta: np.ndarray) -> np.ndarray:
    """Probability of the answers to each item together with each possible truth, by the formula of the paper."""
    table = np.full((votes.items, votes.labels), 1 / votes.labels)
    for item, annotator, label in zip(votes.item, votes.annotator, votes.label, strict=True):
        right = 1 / (1 + np.exp(-ability[annotator] * beta[item]))
        for truth in range(votes.labels):
            table[item, truth] *= right if truth == label else (1 - right) / (votes.labels - 1)
    return table


def objective(votes: Votes, ability: np.ndarray, beta: np.ndarray) -> float:
    """Marginal log-likelihood and the log density of the N(1, 1) priors, over items that have votes."""
    answered = np.isin(np.arange(votes.items), votes.item)
    parameters = np.concatenate([ability, np.log(beta[answered])])
    prior = -0.5 * ((parameters - 1) ** 2 + np.log(2 * np.pi)).sum()
    return np.log(joint(votes, ability, beta).sum(1)[answered]).sum() + prior


@given(votes=small_votes(min_labels=2))
def test_the_objective_and_the_posterior_are_those_of_the_paper(votes: Votes) -> None:
    consensus = glad(votes)
    fit = consensus.fit
    assert fit is not None
    beta = 1 / fit.difficulty
    assert fit.log_likelihood[-1] == pytest.approx(objective(votes, fit.quality, beta), abs=1e-8)
    table = joint(votes, fit.quality, beta)
    for item, (label, row) in enumerate(
        zip(consensus.label, table / table.sum(1, keepdims=True), strict=True)
    ):
        if label != NO_LABEL:
            assert row[label] == pytest.approx(row.max(), abs=1e-9)
            assert consensus.confidence[item] == pytest.approx(row[label], abs=1e-9)
        else:
            assert item not in votes.item or (row > row.max() - 1e-6).sum() > 1


@given(votes=small_votes(min_labels=2), seed=st.integers(0, 99))
def test_the_gradient_is_the_slope_of_the_objective(votes: Votes, seed: int) -> None:
    likelihood = GladLikelihood.of(votes)
    point = np.random.default_rng(seed).normal(0.5, 1, likelihood.start().size)
    _, gradient = likelihood.value_and_gradient(point)
    for k in range(point.size):
        step = np.zeros(point.size)
        step[k] = 1e-5
        rise = likelihood.value_and_gradient(point + step)[0] - likelihood.value_and_gradient(point - step)[0]
        assert gradient[k] == pytest.approx(rise / 2e-5, abs=1e-5)


@pytest.mark.parametrize(("seed", "guessing"), [(0, 0.0), (1, 0.7)])
def test_the_objective_is_at_least_as_good_as_crowd_kits(seed: int, guessing: float) -> None:
    votes = glad_votes(
        seed, items=40 + seed, annotators=6 + seed, labels=2 + seed % 3, overlap=4, guessing=guessing
    )
    frame = pd.DataFrame({"task": votes.item, "worker": votes.annotator, "label": votes.label})
    theirs = GLAD(n_iter=100).fit(frame)
    ability = np.ones(votes.annotators)
    ability[theirs.alphas_.index] = theirs.alphas_
    beta = np.exp(theirs.betas_.sort_index().to_numpy())
    assert frame["label"].nunique() == votes.labels
    assert glad(votes).fit.log_likelihood[-1] >= objective(votes, ability, beta) - 1e-9


def test_who_answers_against_the_truth_still_tells_it() -> None:
    # Two labels; three people agree, the fourth always says the opposite.
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 2, 60)
    given_labels = np.stack([truth, truth, truth, 1 - truth], axis=1)
    item, annotator = np.divmod(np.arange(240), 4)
    votes = Votes(item, annotator, given_labels.reshape(-1), 61, 4, 2)
    alone = Votes(
        np.append(item, 60), np.append(annotator, 3), np.append(given_labels.reshape(-1), 0), 61, 4, 2
    )
    assert glad(votes).fit.quality[3] < -1
    assert glad(alone).label[60] == 1, "the one label that nobody gave is the most probable"


def test_free_answers_need_no_table_of_items_by_labels() -> None:
    n = 30_000
    item = np.repeat(np.arange(n), 3)
    label = item.copy()
    label[::3] = np.roll(label[::3], 1)
    votes = Votes(item, np.tile(np.arange(3), n), label, n, 3, n)
    assert (glad(votes).label == np.arange(n)).all()
