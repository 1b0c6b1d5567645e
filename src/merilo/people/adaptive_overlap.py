"""Adaptive overlap: few people answer an item first, and more people if they do not agree.

`start` people answer an item. If their answers are equal, the item is complete; otherwise it gets one answer after another, up to
`limit`. On a random share of the items, `limit` people answer in any case.

Items on which people disagree have more answers, so a statistic over all answers is biased towards these items, and the mean score of an
item's answers depends on when the item stopped. Two kinds of answers are free of this: the first `start` answers to an item, which were
asked for before any answer was known, and all answers to an item of the random share. `answers_by_design` selects them; with fixed overlap
the same selection keeps every answer.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def answers_by_design(
    item: NDArray[np.integer], order: NDArray[np.integer], *, start: int, fixed: NDArray[np.bool_]
) -> NDArray[np.bool_]:
    """Mark the answers that were asked for whatever the others answered.

    Args:
        item: shape (n,), the item of each answer, codes from 0.
        order: shape (n,), ascending in time.
        start: how many people answer an item at first.
        fixed: shape (items,), the items with fixed overlap.

    Returns:
        Shape (n,): the first `start` answers to each item, and all answers to items with fixed overlap.

    Example:
        >>> item, order = np.array([0, 0, 0, 1, 1, 1]), np.array([3, 1, 2, 4, 5, 6])
        >>> answers_by_design(item, order, start=2, fixed=np.array([False, True])).tolist()
        [False, True, True, True, True, True]
    """
    ranked = np.lexsort((order, item))
    sorted_items = item[ranked]
    begins = np.flatnonzero(np.diff(sorted_items, prepend=-1))
    place = np.empty(item.shape[0], dtype=np.int64)
    place[ranked] = np.arange(item.shape[0]) - np.repeat(begins, np.diff(begins, append=item.shape[0]))
    chosen: NDArray[np.bool_] = (place < start) | fixed[item]
    return chosen
