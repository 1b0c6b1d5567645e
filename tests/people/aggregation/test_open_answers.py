"""Open answers: the aggregators that accept them, and the accuracy of majority and GLAD on pools with typical faults."""

from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from open_pools import open_pool

from merilo.errors import UsageError
from merilo.people.aggregation import Consensus, is_open
from merilo.people.aggregation.candidates import wrong_answers
from merilo.people.aggregation.glad import glad
from merilo.people.aggregation.majority import plurality
from merilo.people.decision import PoolVotes, decide
from merilo.people.votes import MOST_CLOSED_LABELS, Encoding, Votes
from merilo.settings import Settings

FAULTS = ["slips", "near misses", "attractive"]


def votes_with(labels: int) -> Votes:
    codes = np.arange(labels, dtype=np.int32)
    return Votes(codes, codes * 0, codes, labels, 1, labels)


def pool_of(votes: Votes) -> PoolVotes:
    everyone = Encoding(
        votes,
        pl.Series(range(votes.items)),
        pl.Series(map(str, range(votes.annotators))),
        pl.Series(map(str, range(votes.labels))),
    )
    every = np.ones(len(votes), dtype=bool)
    return PoolVotes(everyone, every, every, every, np.full(votes.annotators, np.nan))


def test_more_labels_than_a_list_has_are_open_unless_the_dataset_says_otherwise() -> None:
    assert not is_open(votes_with(MOST_CLOSED_LABELS))
    assert is_open(votes_with(MOST_CLOSED_LABELS + 1))
    assert not is_open(votes_with(MOST_CLOSED_LABELS + 1), declared=False)
    assert is_open(votes_with(2), declared=True)


def test_dawid_skene_refuses_open_answers_and_says_what_to_take() -> None:
    pool = pool_of(open_pool("slips").votes)
    with pytest.raises(UsageError, match=r"closed answers only: .* different labels .*use glad"):
        decide(pool, Settings(aggregator="dawid-skene"))
    few = pool_of(votes_with(3))
    decide(few, Settings(aggregator="dawid-skene"))
    with pytest.raises(UsageError, match="closed answers only"):
        decide(replace(few, declared_open=True), Settings(aggregator="dawid-skene"))


def share_right(consensus: Consensus, truth: np.ndarray) -> float:
    return float((consensus.label == truth).mean())


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("seed", range(2))
def test_glad_beats_the_most_votes(fault: str, seed: int) -> None:
    pool = open_pool(fault, seed=seed)
    by_votes, able = (share_right(model(pool.votes), pool.truth) for model in (plurality, glad))
    assert able >= by_votes
    assert able > 0.9


@pytest.mark.parametrize("fault", FAULTS)
def test_where_glad_claims_more_than_099_it_is_right_that_often(fault: str) -> None:
    claimed, right = [], []
    for seed in range(5):
        pool = open_pool(fault, seed=seed)
        found = glad(pool.votes)
        sure = found.confidence > 0.99
        claimed.append(sure.sum())
        right.append((found.label == pool.truth)[sure].sum())
    assert sum(claimed) > 400
    assert sum(right) / sum(claimed) > 0.985


def test_one_items_slips_do_not_change_another_items_confidence() -> None:
    """The same answers with different strings for each item: only the number of distinct strings changes."""
    votes = open_pool("near misses", largest=160).votes
    cells = votes.item.astype(np.int64) * votes.labels + votes.label
    renamed = np.unique(cells, return_inverse=True)[1].astype(np.int32)
    separate = Votes(
        votes.item, votes.annotator, renamed, votes.items, votes.annotators, int(renamed.max()) + 1
    )
    assert separate.labels > 5 * votes.labels
    first, second = glad(votes), glad(separate)
    assert second.confidence == pytest.approx(first.confidence, abs=1e-6, nan_ok=True)
    assert wrong_answers(separate) == pytest.approx(wrong_answers(votes))


def crowd(seed: int, *, wrong: int, labels: int, items: int = 2000) -> Votes:
    """Forty annotators of different accuracy; each item has its own `wrong` wrong answers, equally likely."""
    rng = np.random.default_rng(seed)
    accuracy = rng.beta(8, 4, 40)
    item = np.repeat(np.arange(items), 6)
    annotator = np.concatenate([rng.choice(40, 6, replace=False) for _ in range(items)])
    truth = rng.integers(0, labels, items)
    right = rng.random(item.size) < accuracy[annotator]
    label = (truth[item] + np.where(right, 0, rng.integers(1, wrong + 1, item.size))) % labels
    columns = (np.asarray(column, dtype=np.int32) for column in (item, annotator, label))
    return Votes(*columns, items, 40, labels)


@pytest.mark.parametrize("wrong", [2, 6, 40])
def test_the_number_of_wrong_answers_is_found_again(wrong: int) -> None:
    votes = crowd(wrong, wrong=wrong, labels=500)
    assert wrong_answers(votes) == pytest.approx(wrong, rel=0.1)


def test_closed_answers_have_one_wrong_answer_less_than_labels() -> None:
    assert wrong_answers(crowd(0, wrong=3, labels=4)) == 3
