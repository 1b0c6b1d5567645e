"""Labels known in advance: control items can anchor a model."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from merilo.errors import UsageError
from merilo.people.aggregation.consensus import NO_LABEL
from merilo.people.votes import IntArray, Votes


def anchor_labels(anchors: ArrayLike | None, votes: Votes) -> IntArray:
    """Check anchors and return the known label of each item, shape (items,), -1 if unknown.

    Raises:
        UsageError: the number of anchors is not the number of items, or an anchor is not a label.
    """
    if anchors is None:
        return np.full(votes.items, NO_LABEL, dtype=np.int32)
    codes = np.asarray(anchors)
    if codes.shape != (votes.items,):
        raise UsageError(
            f"anchors take one label for each of the {votes.items} items, or -1 if it is unknown"
        )
    if codes.size and not (codes.min() >= NO_LABEL and codes.max() < votes.labels):
        raise UsageError(f"an anchor is a label's code from 0 to {votes.labels - 1}, or -1")
    return codes.astype(np.int32)
