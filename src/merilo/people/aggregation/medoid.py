"""Ties between free answers, broken by the answer that is closest to the others."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final

import numpy as np

from merilo.people.aggregation.consensus import Consensus, Resolution
from merilo.people.aggregation.majority import plurality, share_of_votes
from merilo.people.votes import Votes

#: Sums of similarities closer than this are equal.
_EQUAL: Final = 1e-9


def break_ties_by_medoid(
    consensus: Consensus, votes: Votes, texts: Sequence[str], similarity: Callable[[str, str], float]
) -> Consensus:
    """Give every item whose answers tie the tied answer that is most similar to all answers of the item.

    Args:
        consensus: the consensus so far; only items whose most frequent answers have equally many votes are changed.
        votes: the answers that count.
        texts: shape (labels,), the labels' texts.
        similarity: how similar two texts are, 0 to 1: token F1 for free answers.

    Returns:
        The consensus. Items whose tied answers are equally similar to the others stay as they were.

    References:
        L. Kaufman, P. Rousseeuw (1987), Clustering by means of medoids.

    Example:
        >>> from merilo.metrics.squad import token_f1
        >>> votes = Votes(*np.array([[0, 0, 0], [0, 1, 2], [0, 1, 2]]), 1, 3, 3)
        >>> texts = ["граф Лев Толстой", "Лев Толстой", "Толстой"]
        >>> break_ties_by_medoid(plurality(votes), votes, texts, token_f1).label.tolist()
        [1]
    """
    tied = np.bincount(votes.item, minlength=votes.items) > 0
    tied &= plurality(votes, 1).how == Resolution.UNRESOLVED
    if not tied.any():
        return consensus
    label, how = consensus.label.copy(), consensus.how.copy()
    tally = votes.where(tied[votes.item]).tally()
    starts = np.flatnonzero(np.diff(tally.item, prepend=-1))
    for cells in np.split(np.arange(tally.item.size), starts[1:]):
        codes, counts = tally.label[cells], tally.votes[cells]
        leading = codes[counts == counts.max()]
        sums = [
            sum(
                float(n) * similarity(texts[code], texts[other])
                for other, n in zip(codes.tolist(), counts.tolist(), strict=True)
            )
            for code in leading.tolist()
        ]
        closest = [
            code for code, total in zip(leading.tolist(), sums, strict=True) if total > max(sums) - _EQUAL
        ]
        if len(closest) == 1:
            label[tally.item[cells[0]]] = closest[0]
            how[tally.item[cells[0]]] = Resolution.MEDOID
    return replace(consensus, label=label, how=how, confidence=share_of_votes(votes, label))
