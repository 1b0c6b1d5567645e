"""Votes of simulated annotators, and Hypothesis strategies for small ones."""

import numpy as np
from hypothesis import strategies as st

from merilo.people.votes import Votes


def glad_votes(
    seed: int, *, items: int, annotators: int, labels: int, overlap: int, guessing: float = 0.0
) -> Votes:
    """Votes as GLAD thinks they come about; a share `guessing` of the annotators has ability 0."""
    rng = np.random.default_rng(seed)
    ability = rng.normal(1, 1, annotators)
    ability[rng.random(annotators) < guessing] = 0
    beta = np.exp(rng.normal(0, 1, items))
    truth = rng.integers(0, labels, items)
    item = np.repeat(np.arange(items), overlap)
    annotator = np.concatenate([rng.choice(annotators, overlap, replace=False) for _ in range(items)])
    right = rng.random(item.size) < 1 / (1 + np.exp(-ability[annotator] * beta[item]))
    wrong = (truth[item] + rng.integers(1, max(labels, 2), item.size)) % labels
    columns = (item, annotator, np.where(right, truth[item], wrong))
    return Votes(*(column.astype(np.int32) for column in columns), items, annotators, labels)


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
