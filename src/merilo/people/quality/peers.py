"""Each annotator compared with all others on the same items."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from merilo.people.quality import Work
from merilo.people.votes import Votes, run_starts
from merilo.statistics import FloatArray


def agreement_with_others(votes: Votes) -> FloatArray:
    """Compute how often the other annotators of an item give the same answer as each annotator.

    Args:
        votes: the answers, at most one per annotator and item.

    Returns:
        Shape (annotators,): the mean, over an annotator's items, of the share of the others who gave the same answer;
        NaN without an item that somebody else answered.

    Example:
        >>> votes = Votes(*np.array([[0, 0, 0, 1], [0, 1, 2, 2], [0, 0, 1, 1]]), 2, 3, 2)
        >>> agreement_with_others(votes).tolist()
        [0.5, 0.5, 0.0]
    """
    others = np.bincount(votes.item, minlength=votes.items)[votes.item] - 1
    shared = others > 0
    share = (votes.agreeing()[shared] - 1) / others[shared]
    person = votes.annotator[shared]
    items = np.bincount(person, minlength=votes.annotators)
    total = np.bincount(person, share, votes.annotators)
    return np.where(items > 0, total / np.maximum(items, 1), np.nan)


@dataclass(frozen=True, slots=True)
class Sharing:
    """Each answer compared with the other answers to its item.

    Attributes:
        row: shape (m,), rows of the work: first answers to items that at least one other annotator answered.
        share: shape (m,), share of the others who gave the same answer.
        with_most: shape (m,), true if the answer is (one of) the most common among the others.
    """

    row: NDArray[np.int64]
    share: FloatArray
    with_most: NDArray[np.bool_]


def sharing(work: Work) -> Sharing:
    """Compare every answer with the other annotators' answers to the same item (controls are left out)."""
    rows = work.rows_of_items()
    votes = work.votes.where(np.isin(np.arange(len(work)), rows))
    tally, own = votes.tally(), votes.agreeing()
    answers = np.bincount(votes.item, minlength=votes.items)[votes.item]
    top, second = np.zeros((2, votes.items), np.int64)
    ranked = np.lexsort((tally.votes, tally.item))
    item, count = tally.item[ranked], tally.votes[ranked]
    last = np.r_[run_starts(item)[1:], item.size] - 1 if item.size else np.zeros(0, np.intp)
    top[item[last]] = count[last]
    several = last[(last > 0) & (item[last - 1] == item[last])]
    second[item[several]] = count[several - 1]
    # Among the others, the annotator's own label has one vote less; the other labels keep all their votes.
    rival = np.where(own == top[votes.item], second[votes.item], top[votes.item])
    shared = answers > 1
    share = (own - 1)[shared] / (answers - 1)[shared]
    return Sharing(rows[shared], share, (own - 1 >= rival)[shared])
