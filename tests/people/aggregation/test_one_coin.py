"""The one-coin model against its formula, and on annotators with known accuracy."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from simulated_votes import small_votes

from merilo.people.aggregation import NO_LABEL, one_coin, wrong_answers
from merilo.people.votes import Votes


def posterior_by_the_formula(votes: Votes, accuracy: np.ndarray, anchors: np.ndarray) -> np.ndarray:
    """Every label of every item, one answer at a time: correct with probability p, each of the other labels with equal probability."""
    table = np.full((votes.items, votes.labels), 1 / votes.labels)
    for item, annotator, label in zip(votes.item, votes.annotator, votes.label, strict=True):
        p = accuracy[annotator]
        for truth in range(votes.labels):
            table[item, truth] *= p if truth == label else (1 - p) / max(votes.labels - 1, 1)
    for item in np.flatnonzero(anchors != NO_LABEL):
        table[item] = np.arange(votes.labels) == anchors[item]
    return table / table.sum(1, keepdims=True)


@given(votes=small_votes(min_labels=2), data=st.data())
def test_the_posterior_of_closed_answers_is_that_of_the_formula(votes: Votes, data: st.DataObject) -> None:
    anchors = np.array(
        data.draw(st.lists(st.integers(-1, votes.labels - 1), min_size=votes.items, max_size=votes.items))
    )
    consensus = one_coin(votes, anchors=anchors)
    fit = consensus.fit
    table = posterior_by_the_formula(votes, fit.quality, anchors)
    assert fit.posterior == pytest.approx(table, abs=1e-9)
    assert fit.wrong_answers == votes.labels - 1
    for item, label in enumerate(consensus.label):
        if label != NO_LABEL:
            assert table[item, label] == pytest.approx(table[item].max())
            assert consensus.confidence[item] == pytest.approx(fit.calibrated_posterior[item, label])
        elif item in votes.item:
            assert (table[item] > table[item].max() - 1e-6).sum() > 1


@given(votes=small_votes(min_labels=2))
def test_the_objective_never_falls_within_a_round(votes: Votes) -> None:
    history = one_coin(votes, tolerance=0, iterations=30).fit.log_likelihood
    assert all(later >= earlier - 1e-9 for earlier, later in pairwise(history))


def crowd(seed: int, *, wrong: int, labels: int, items: int = 2000) -> tuple[Votes, np.ndarray, np.ndarray]:
    """Forty annotators of different accuracy; each item has its own `wrong` wrong answers, equally likely."""
    rng = np.random.default_rng(seed)
    accuracy = rng.beta(8, 4, 40)
    item = np.repeat(np.arange(items), 6)
    annotator = np.concatenate([rng.choice(40, 6, replace=False) for _ in range(items)])
    truth = rng.integers(0, labels, items)
    right = rng.random(item.size) < accuracy[annotator]
    label = (truth[item] + np.where(right, 0, rng.integers(1, wrong + 1, item.size))) % labels
    columns = (np.asarray(column, dtype=np.int32) for column in (item, annotator, label))
    return Votes(*columns, items, 40, labels), truth, accuracy


@pytest.mark.parametrize("wrong", [2, 6, 40])
def test_accuracies_and_the_number_of_wrong_answers_are_found_again(wrong: int) -> None:
    votes, truth, accuracy = crowd(wrong, wrong=wrong, labels=500)
    consensus = one_coin(votes)
    assert consensus.fit.wrong_answers == pytest.approx(wrong, rel=0.1)
    assert wrong_answers(votes) == pytest.approx(wrong, rel=0.1)
    assert consensus.fit.quality == pytest.approx(accuracy, abs=0.08)
    right = (consensus.label == truth).mean()
    assert right > 0.9
    assert np.nanmean(consensus.confidence) == pytest.approx(right, abs=0.02)


def test_closed_answers_have_one_wrong_answer_less_than_labels() -> None:
    votes, truth, _ = crowd(0, wrong=3, labels=4)
    assert wrong_answers(votes) == one_coin(votes).fit.wrong_answers == 3
    assert (one_coin(votes).label == truth).mean() > 0.9


def test_a_person_of_few_answers_counts_nearly_as_the_crowds_mean() -> None:
    votes, _, accuracy = crowd(1, wrong=5, labels=500)
    extra = Votes(
        np.append(votes.item, 0), np.append(votes.annotator, 40), np.append(votes.label, 499), 2000, 42, 500
    )
    quality = one_coin(extra).fit.quality
    mean = accuracy.mean()
    assert mean - 0.15 < quality[40] < mean, "one wrong answer"
    assert quality[41] == pytest.approx(mean, abs=0.05), "no answer"


def test_lone_answers_do_not_make_anybody_sure() -> None:
    n = 500
    alone = Votes(np.arange(n), np.zeros(n, dtype=int), np.arange(n), n, 1, n)
    consensus = one_coin(alone)
    assert (consensus.label == np.arange(n)).all()
    assert consensus.confidence == pytest.approx(np.full(n, 2 / 3), abs=0.01)
