"""Dawid and Skene's model against crowd-kit, against its formula, and on annotators with known confusions."""

import numpy as np
import pandas as pd
import pytest
from crowdkit.aggregation import DawidSkene
from hypothesis import given, settings
from hypothesis import strategies as st
from simulated_votes import small_votes

from merilo.errors import UsageError
from merilo.people.aggregation import NO_LABEL, Resolution
from merilo.people.aggregation.candidates import log_odds
from merilo.people.aggregation.dawid_skene import auto, dawid_skene, pooled_dawid_skene
from merilo.people.votes import Votes, sorting_order

# crowd-kit's own way with pandas; nothing of ours.
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning:crowdkit")


def crowd_kits(votes: Votes, iterations: int) -> DawidSkene:
    frame = pd.DataFrame({"task": votes.item, "worker": votes.annotator, "label": votes.label})
    # A tolerance below any loss: all iterations are run.
    return DawidSkene(n_iter=iterations, tol=-np.inf).fit(frame)


def table(theirs: DawidSkene, votes: Votes) -> np.ndarray:
    return theirs.probas_.reindex(
        index=range(votes.items), columns=range(votes.labels), fill_value=0.0
    ).to_numpy()


@given(votes=small_votes(), iterations=st.integers(1, 8))
@settings(deadline=None)
def test_labels_and_their_probabilities_are_crowd_kits_after_the_same_iterations(
    votes: Votes, iterations: int
) -> None:
    if not len(votes):
        return
    ours = dawid_skene(votes, iterations=iterations, tolerance=0)
    theirs = table(crowd_kits(votes, iterations), votes)
    assert ours.fit.iterations == iterations
    decided = np.flatnonzero(ours.label != NO_LABEL)
    assert (ours.label[decided] == theirs[decided].argmax(1)).all()
    assert ours.confidence[decided] == pytest.approx(theirs[decided].max(1), abs=2e-10)
    two = np.sort(theirs, axis=1)[:, -2:] if votes.labels > 1 else np.tile([0.0, 1.0], (votes.items, 1))
    assert (two[:, 1] - two[:, 0] < 1e-6)[(ours.label == NO_LABEL) & (theirs.sum(1) > 0)].all()


@given(votes=small_votes())
def test_the_log_likelihood_never_falls(votes: Votes) -> None:
    history = np.array(dawid_skene(votes).fit.log_likelihood)
    # Counts below 1e-10 are lifted to it, which may cost that much.
    assert (np.diff(history) > -1e-7).all()


def pooled_by_the_formula(votes: Votes, iterations: int) -> tuple[np.ndarray, np.ndarray]:
    """The expected truth of the pooled model and the shares of votes, computed with loops over answers."""
    seen = np.unique(votes.label)
    k, place = seen.size, {int(label): n for n, label in enumerate(seen)}
    rows = [
        (int(item), int(annotator), place[int(label)])
        for item, annotator, label in zip(votes.item, votes.annotator, votes.label, strict=True)
    ]
    shares = np.zeros((votes.items, k))
    for item, _, label in rows:
        shares[item, label] += 1
    answered = shares.sum(1) > 0
    shares[answered] /= shares[answered].sum(1, keepdims=True)
    agreement = min(max(float(np.mean([shares[item, label] for item, _, label in rows])), 1e-3), 1 - 1e-3)
    before = np.full((k, k), (1 - agreement) / max(k - 1, 1))
    np.fill_diagonal(before, agreement)
    truth = shares.copy()
    for _ in range(iterations):
        mixed = 0.75 * truth + 0.25 * shares
        counts = np.zeros((votes.annotators, k, k))
        for item, annotator, label in rows:
            counts[annotator, :, label] += mixed[item]
        pool = 2 * before
        for own in counts:
            for true in range(k):
                pool[true] += own[true] * 8 / (own[true].sum() + 8)
        pool /= pool.sum(1, keepdims=True)
        for true in range(k):
            if pool[true, true] < agreement:
                pool[true] *= (1 - agreement) / (1 - pool[true, true])
                pool[true, true] = agreement
        confusion = (counts + 8 * pool) / (counts.sum(2, keepdims=True) + 8)
        prior = mixed[answered].sum(0) + 1
        truth = np.tile(prior / prior.sum(), (votes.items, 1))
        for item, annotator, label in rows:
            truth[item] *= confusion[annotator, :, label]
        truth /= truth.sum(1, keepdims=True)
    return truth, shares


@given(votes=small_votes(), iterations=st.integers(1, 5))
@settings(deadline=None)
def test_the_pooled_model_is_its_formula(votes: Votes, iterations: int) -> None:
    if not len(votes):
        return
    ours = pooled_dawid_skene(votes, iterations=iterations, tolerance=0)
    truth, shares = pooled_by_the_formula(votes, iterations)
    seen, answered = np.unique(votes.label), np.unique(votes.item)
    for item in answered:
        if ours.label[item] != NO_LABEL:
            best = (2 * truth + shares)[item].argmax()
            assert seen[best] == ours.label[item]
            assert ours.confidence[item] == pytest.approx(truth[item, best], abs=1e-9)
            assert ours.how[item] == Resolution.POOLED


def test_the_recommended_model_follows_the_kind_of_answers() -> None:
    votes = Votes(*np.array([[0, 0, 0, 1, 1, 1], [0, 1, 2, 0, 1, 2], [1, 1, 0, 0, 0, 1]]), 2, 3, 2)
    assert (auto(votes).how == Resolution.POOLED).all()
    assert auto(votes, open_answers=True).fit.model == "glad"


@given(votes=small_votes(min_labels=2), scale=st.permutations(range(4)))
@settings(deadline=None)
def test_on_a_scale_the_label_has_the_smallest_weighted_distance_to_the_answers(
    votes: Votes, scale: list[int]
) -> None:
    places = np.array(scale[: votes.labels], dtype=np.float64)
    ours = auto(votes, open_answers=False, scale=places)
    odds = log_odds(ours.fit.quality, max(votes.labels - 1.0, 1.0))
    for item in np.unique(votes.item):
        inside = votes.item == item
        given, weight = places[votes.label[inside]], odds[votes.annotator[inside]]
        distance = np.array([weight @ np.abs(given - place) for place in given])
        best = np.unique(votes.label[inside][distance <= distance.min() + 1e-9])
        assert ours.label[item] in best or (ours.label[item] == NO_LABEL and best.size == 2)
        if ours.label[item] != NO_LABEL:
            assert ours.how[item] == Resolution.WEIGHTED_MEDIAN


def test_two_equal_halves_of_a_scale_are_left_open() -> None:
    votes = Votes(np.repeat(np.arange(3), 4), np.tile(np.arange(4), 3), np.array([0, 0, 2, 2, 2, 2, 0, 0, 0, 0, 2, 2]), 3, 4, 3)  # fmt: skip
    found = auto(votes.where(votes.item < 2), scale=[0, 1, 2])
    assert found.label.tolist() == [NO_LABEL, NO_LABEL, NO_LABEL]


def test_many_labels_are_refused() -> None:
    n = 100_000
    free = Votes(np.arange(n), np.zeros(n, dtype=int), np.arange(n), n, 1, n)
    with pytest.raises(UsageError, match="takes closed answers only"):
        dawid_skene(free)
    with pytest.raises(UsageError, match="normalise the answers"):
        dawid_skene(free, open_answers=False)


@given(codes=st.lists(st.integers(0, 2**40), max_size=50))
def test_sorting_by_sixteen_bits_is_sorting(codes: list[int]) -> None:
    numbers = np.array(codes, dtype=np.int64)
    assert sorting_order(numbers).tolist() == np.argsort(numbers, kind="stable").tolist()
