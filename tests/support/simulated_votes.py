"""Votes of simulated annotators, and Hypothesis strategies for small ones."""

import numpy as np
from hypothesis import strategies as st

from merilo.people.votes import Votes


def glad_votes(
    seed: int, *, items: int, annotators: int, labels: int, overlap: int, guessing: float = 0.0
) -> tuple[Votes, np.ndarray, np.ndarray, np.ndarray]:
    """Votes as GLAD thinks they come about, the true labels, the abilities and the betas.

    A share `guessing` of the annotators has ability 0.
    """
    rng = np.random.default_rng(seed)
    ability = rng.normal(1, 1, annotators)
    ability[rng.random(annotators) < guessing] = 0
    beta = np.exp(rng.normal(0, 1, items))
    truth = rng.integers(0, labels, items)
    item = np.repeat(np.arange(items), overlap)
    annotator = np.concatenate([rng.choice(annotators, overlap, replace=False) for _ in range(items)])
    right = rng.random(item.size) < 1 / (1 + np.exp(-ability[annotator] * beta[item]))
    wrong = (truth[item] + rng.integers(1, max(labels, 2), item.size)) % labels
    label = np.where(right, truth[item], wrong)
    return (
        Votes(*(x.astype(np.int32) for x in (item, annotator, label)), items, annotators, labels),
        truth,
        ability,
        beta,
    )


def ordered_votes(
    rng: np.random.Generator,
    *,
    labels: int = 5,
    items: int = 200,
    annotators: int = 24,
    overlap: int = 5,
    error: float = 0.7,
    biased: float = 0.0,
    guessing: float = 0.0,
    middle: bool = False,
) -> tuple[Votes, np.ndarray]:
    """Votes on a scale and the true labels; some people do several times the work of others.

    An answer is the truth plus an error of the item, one of the annotator and one of the answer, rounded.

    Args:
        rng: random numbers.
        labels: how many labels the scale has.
        items: how many items.
        annotators: how many people.
        overlap: how many of them answer an item.
        error: the median standard deviation of a person's errors, in labels.
        biased: the share of people who answer a label too high, or all too low.
        guessing: the share of people who give random labels.
        middle: whether labels in the middle are more frequently true; otherwise all are equally frequent.
    """
    truth = rng.integers(0, labels, items)
    if middle:
        truth = np.clip(np.round(rng.normal((labels - 1) / 2, labels / 5, items)), 0, labels - 1).astype(int)
    spread = error * np.exp(0.4 * rng.standard_normal(annotators))
    bias = 0.15 * rng.standard_normal(annotators)
    bias += np.where(rng.random(annotators) < biased, rng.choice([-1, 1], annotators), 0)
    guesses = rng.random(annotators) < guessing
    busy = 0.7 * rng.standard_normal(annotators) + rng.gumbel(size=(items, annotators))
    annotator = np.argsort(-busy, axis=1)[:, :overlap].ravel()
    item = np.repeat(np.arange(items), overlap)
    seen = truth + 0.3 * rng.standard_normal(items)
    label = np.round(seen[item] + bias[annotator] + spread[annotator] * rng.standard_normal(item.size))
    label = np.where(guesses[annotator], rng.integers(0, labels, item.size), np.clip(label, 0, labels - 1))
    columns = (column.astype(np.int32) for column in (item, annotator, label))
    return Votes(*columns, items, annotators, labels), truth


def shared_majority(votes: Votes, truth: np.ndarray) -> float:
    """Accuracy of the most frequent answer over items with a known truth; answers that tie share the item."""
    counts = votes.counts()
    best = (counts == counts.max(axis=1, keepdims=True)) & (counts > 0)
    share = best / np.maximum(best.sum(axis=1, keepdims=True), 1)
    known = np.flatnonzero(truth != -1)
    return float(np.where(truth[known] >= 0, share[known, np.maximum(truth[known], 0)], 0.0).mean())


@st.composite
def small_votes(draw: st.DrawFn, min_labels: int = 1) -> Votes:
    """Anything at all: items, annotators and labels without votes, one of each, none."""
    items, annotators = draw(st.integers(1, 5)), draw(st.integers(1, 5))
    labels = draw(st.integers(min_labels, 4))
    pairs = draw(
        st.lists(
            st.tuples(st.integers(0, items - 1), st.integers(0, annotators - 1)), unique=True, max_size=20
        )
    )
    given = draw(st.lists(st.integers(0, labels - 1), min_size=len(pairs), max_size=len(pairs)))
    item, annotator = np.array(pairs, dtype=np.int32).reshape(-1, 2).T
    return Votes(item, annotator, np.array(given, dtype=np.int32), items, annotators, labels)
