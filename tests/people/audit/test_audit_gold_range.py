"""The range of the number of wrong golds, against brute force and in simulated studies with and without lures."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from merilo.people.audit.findings import audit
from merilo.people.audit.gold_range import KNOWN, SHARES, GoldRange, _likelihoods, wrong_gold_range
from merilo.people.votes import Votes


def votes_of(item: np.ndarray, person: np.ndarray, label: np.ndarray, items: int, people: int) -> Votes:
    return Votes(*(one.astype(np.int32) for one in (item, person, label)), items, people, 4)


def study(
    seed: int, lures: float, wrong: float, *, overlap: int = 5, items: int = 200
) -> tuple[Votes, np.ndarray, int]:
    """Items with four labels; on some of them most people choose the wrong answer that gets four fifths of the errors."""
    rng = np.random.default_rng(seed)
    people = 25
    item = np.repeat(np.arange(items), overlap)
    person = np.argsort(rng.random((items, people)), axis=1)[:, :overlap].ravel()
    lured = rng.random(items) < lures
    known = np.where(lured, rng.uniform(0.05, 0.3, items), rng.beta(9, 1, items))
    off = np.where(lured[item] & (rng.random(item.size) < 0.8), 1, rng.integers(1, 4, item.size))
    label = np.where(rng.random(item.size) < known[item], 0, off)
    bad = rng.random(items) < wrong
    gold = np.where(bad, rng.integers(1, 4, items), 0).astype(np.int32)
    return votes_of(item, person, label, items, people), gold, int(bad.sum())


@given(st.lists(st.integers(0, 2), min_size=1, max_size=6), st.integers(0, 2), st.integers(0, 3))
@settings(deadline=None)
def test_the_likelihood_of_a_pattern_is_the_sum_over_truths_and_lures(
    labels: list[int], gold: int, extra: int
) -> None:
    options, people = 3 + extra, len(labels)
    votes = Votes(
        np.zeros(people, np.int32),
        np.arange(people, dtype=np.int32),
        np.array(labels, np.int32),
        1,
        people,
        3,
    )
    right, wrong, items = _likelihoods(votes, np.array([gold], np.int32), options)
    expected = np.zeros((2, KNOWN.size * len(SHARES)))
    for kind, (known, share) in enumerate(product(KNOWN, SHARES)):
        for truth, lure in product(range(options), repeat=2):
            if truth == lure:
                continue
            even = (1 - share) / (options - 1)
            chance = 1 / (options - 1)
            for label in labels:
                chance *= known if label == truth else (1 - known) * (even + share * (label == lure))
            expected[int(truth != gold), kind] += chance / (1 if truth == gold else options - 1)
    assert items.tolist() == [1]
    found = np.concatenate((right, wrong))
    assert found / found.max() == pytest.approx(expected / expected.max(), rel=1e-6)


def test_lures_without_any_wrong_gold_give_no_number_but_a_range_from_0_and_a_list() -> None:
    modelled = []
    for seed in range(6):
        votes, gold, _ = study(seed, lures=0.12, wrong=0.0)
        found = audit(votes, gold, [f"p{person}" for person in range(25)], list("abcd"))
        modelled.append(found.probable)
        assert found.wrong_golds is not None
        assert found.wrong_golds.low == 0
        assert found.expected_wrong is None
        assert 0 < found.to_review() <= len(found.findings)
        assert found.findings[0].gold_wrong > 0.3
    assert np.mean(modelled) > 4  # what the probabilities add up to, although no gold is wrong


@pytest.mark.parametrize(("lures", "wrong"), [(0.0, 0.0), (0.0, 0.05), (0.12, 0.0), (0.12, 0.05)])
@pytest.mark.parametrize("overlap", [3, 10])
def test_the_range_holds_the_number_of_wrong_golds(lures: float, wrong: float, overlap: int) -> None:
    held, widths = 0, []
    for seed in range(12):
        votes, gold, number = study(seed, lures, wrong, overlap=overlap)
        bounds = wrong_gold_range(votes, gold)
        assert bounds is not None
        held += bounds.low <= number <= bounds.high
        widths.append(bounds.high - bounds.low)
    assert held >= 11
    assert np.mean(widths) < (30 if lures else 16)


def test_without_lures_or_wrong_golds_the_range_ends_near_0() -> None:
    highs = [wrong_gold_range(*study(seed, 0.0, 0.0, overlap=10)[:2]).high for seed in range(6)]
    assert max(highs) <= 3


def test_many_golds_that_all_of_many_people_deny_cannot_all_be_lures() -> None:
    """No lure deceives more than nine tenths of the people: twenty items without one answer for the gold are not lures."""
    item, person = np.divmod(np.arange(200 * 12), 12)
    votes = votes_of(item, person, np.zeros(item.size), 200, 12)
    gold = (np.arange(200) < 20).astype(np.int32)
    found = audit(votes, gold, [f"p{person}" for person in range(12)], list("abcd"))
    assert found.wrong_golds is not None
    assert 10 <= found.wrong_golds.low <= 20 <= found.wrong_golds.high <= 22
    assert found.expected_wrong == pytest.approx(20, abs=0.5)


def test_answers_at_random_bound_no_number() -> None:
    rng = np.random.default_rng(0)
    item, person = np.divmod(np.arange(60 * 5), 5)
    votes = votes_of(item, person, rng.integers(0, 4, item.size), 60, 5)
    assert wrong_gold_range(votes, rng.integers(0, 4, 60).astype(np.int32)) is None


def test_thousands_of_answers_against_a_gold_do_not_underflow() -> None:
    item, person = np.divmod(np.arange(3 * 9000), 9000)
    votes = votes_of(item, person, np.zeros(item.size), 3, 9000)
    assert wrong_gold_range(votes, np.array([0, 0, 1], np.int32)) == GoldRange(1, 1)


def test_without_gold_there_is_no_range() -> None:
    votes = votes_of(np.zeros(2), np.arange(2), np.zeros(2), 1, 2)
    assert wrong_gold_range(votes, np.array([-1], np.int32)) is None
    assert wrong_gold_range(Votes(*np.zeros((3, 0), np.int32), 0, 0, 0), np.zeros(0, np.int32)) is None
