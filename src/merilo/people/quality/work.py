"""The annotators' work as arrays: every answer with its time, duration, page, and whether it was a control."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from merilo.people.votes import Votes
from merilo.statistics.arrays import FloatArray

BoolArray = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Work:
    """The answers of a study, controls included, with their order, pages and times.

    Row `i` of every array belongs to the answer in row `i` of `votes`.

    Attributes:
        votes: the answers; of several by one annotator to one item, the first counts.
        control: shape (n,), true if the item is a control.
        correct: shape (n,), true if the answer to a control is correct; used only for controls.
        order: shape (n,), when the answer was given, in any unit that sorts (answers of one page may tie).
        page: shape (n,), codes of the pages on which answers were given together; `None` when unknown.
        seconds: shape (n,), seconds spent on the answer's page (the same on all of its rows), NaN when unknown.
        characters: shape (n,), length of the item's text in characters, NaN when unknown.
        by_design: shape (n,), true for answers that were asked for whatever the others answered; only they are compared with the others.
            `None` if all were, because the overlap is fixed.
    """

    votes: Votes
    control: BoolArray
    correct: BoolArray
    order: FloatArray
    page: NDArray[np.int64] | None = None
    seconds: FloatArray | None = None
    characters: FloatArray | None = None
    by_design: BoolArray | None = None

    def __len__(self) -> int:
        return len(self.votes)

    def rows_of_items(self) -> NDArray[np.int64]:
        """Select the rows of test items (no controls), with only each annotator's first answer to an item."""
        rows = np.flatnonzero(~self.control)
        rows = rows[np.argsort(self.order[rows], kind="stable")]
        pair = self.votes.annotator[rows].astype(np.int64) * max(1, self.votes.items) + self.votes.item[rows]
        _, first = np.unique(pair, return_index=True)
        return np.sort(rows[first])


def work_of(
    votes: Votes,
    *,
    correct: dict[int, bool] | None = None,
    order: FloatArray | None = None,
) -> Work:
    """Build a `Work` from votes alone.

    Args:
        votes: the answers.
        correct: row -> whether that answer to a control is correct; other rows are not controls.
        order: when each answer was given; by default the order of the rows.

    Returns:
        The work, without pages and times.
    """
    control = np.zeros(len(votes), dtype=np.bool_)
    right = np.zeros(len(votes), dtype=np.bool_)
    for row, truth in (correct or {}).items():
        control[row], right[row] = True, truth
    return Work(votes, control, right, np.arange(len(votes), dtype=np.float64) if order is None else order)
