"""The variance over annotators from fits without groups of annotators, against brute force and simulation."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from merilo.people.aggregation.dawid_skene import dawid_skene
from merilo.people.uncertainty.two_way import RefittedVariance, annotator_groups, refitted_variance, two_way
from merilo.people.votes import Votes
from merilo.statistics.crossed_difference import heavy_tails


@settings(deadline=None)
@given(st.integers(2, 5), st.integers(1, 6), st.integers(0, 10_000))
def test_the_variance_is_the_jackknifes_without_products_of_one_item(
    groups: int, items: int, seed: int
) -> None:
    change = np.random.default_rng(seed).integers(-1, 2, (groups, items)).astype(float)
    total = 0.0
    for g in range(groups):
        for h in range(groups):
            share = 1 - 1 / groups if g == h else -1 / groups
            total += share * sum(
                change[g, i] * change[h, j] for i in range(items) for j in range(items) if i != j
            )
    found = refitted_variance(change, 9)
    assert found.variance == pytest.approx(max(total, 0) * 1 / items**2, abs=1e-12)
    assert found.doubt == pytest.approx(found.variance**2 / (groups - 1) * heavy_tails(9))


def test_groups_have_about_equal_numbers_of_answers_and_leave_nobody_out() -> None:
    rng = np.random.default_rng(0)
    annotator = np.repeat(np.arange(40), rng.integers(0, 60, 40)).astype(np.int32)
    zero = np.zeros_like(annotator)
    group = annotator_groups(
        Votes(np.arange(annotator.size, dtype=np.int32), annotator, zero, annotator.size, 40, 1)
    )
    answered = np.bincount(annotator, minlength=40)
    assert ((group >= 0) == (answered > 0)).all()
    assert set(group[group >= 0]) == set(range(12))
    sizes = np.bincount(group[annotator])
    assert sizes.max() < 1.5 * sizes.min()


def test_three_annotators_make_three_groups() -> None:
    votes = Votes(*np.array([[0, 0, 0], [0, 1, 2], [0, 0, 0]], dtype=np.int32), 1, 3, 1)
    assert sorted(annotator_groups(votes).tolist()) == [0, 1, 2]


def crowd(rng: np.random.Generator, items: int = 200, people: int = 15) -> tuple[Votes, np.ndarray]:
    """Two labels; a fifth of the annotators guess; five answers an item. The right label of each item is returned."""
    ability = np.where(rng.random(people) < 0.2, 0.5, 0.75)
    right = rng.integers(0, 2, items)
    who = np.argsort(rng.random((items, people)), axis=1)[:, :5]
    label = np.where(rng.random((items, 5)) < ability[who], right[:, None], 1 - right[:, None])
    item = np.repeat(np.arange(items), 5)
    columns = (column.astype(np.int32) for column in (item, who.ravel(), label.ravel()))
    return Votes(*columns, items, people, 2), right


@pytest.mark.thorough
def test_refits_make_the_standard_error_of_dawid_skene_large_enough() -> None:
    rng = np.random.default_rng(3)
    values, fixed, refitted = [], [], []
    for _ in range(60):
        votes, right = crowd(rng)
        consensus = dawid_skene(votes, tolerance=1e-5)
        own = consensus.label == right
        values.append(own.mean())
        group = annotator_groups(votes)
        change = [
            own.astype(float)
            - (dawid_skene(votes.where(group[votes.annotator] != g), tolerance=1e-5).label == right)
            for g in range(12)
        ]
        worth = (votes.label == right[votes.item]).astype(float)
        quality = np.clip(consensus.fit.quality, 0.01, 0.99)
        weight = np.maximum(np.log(quality / (1 - quality)), 1e-6)[votes.annotator]
        for errors, more in ((fixed, None), (refitted, refitted_variance(np.array(change), 15))):
            found = two_way(votes, worth, weight=weight, value=values[-1], refitted=more, resamples=0)
            errors.append(found.item_error**2 + found.annotator_error**2)
    spread = np.std(values)
    assert np.sqrt(np.mean(fixed)) < 0.95 * np.sqrt(np.mean(refitted))
    assert np.sqrt(np.mean(refitted)) > 0.95 * spread


def test_a_smaller_refitted_variance_changes_nothing_and_a_larger_one_widens() -> None:
    votes, right = crowd(np.random.default_rng(1))
    worth = (votes.label == right[votes.item]).astype(float)
    bare = two_way(votes, worth, resamples=0)
    assert two_way(votes, worth, refitted=RefittedVariance(0.0, 0.0), resamples=0) == bare
    wide = two_way(votes, worth, refitted=RefittedVariance(0.01, 0.01**2 / 11), resamples=0)
    assert wide.annotator_error == pytest.approx(0.1)
    assert wide.design_effect == pytest.approx(1 + 0.01 / wide.item_error**2)
    assert wide.interval.low < bare.interval.low
    assert wide.interval.high > bare.interval.high
