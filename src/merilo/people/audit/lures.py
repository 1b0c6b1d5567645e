"""Sums over the wrong labels that may be an item's lure: the wrong answer that attracts people."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from merilo.statistics.arrays import FloatArray


def lure_sums(
    item: NDArray[np.int64], strength: FloatArray, others: NDArray[np.int64], rest: NDArray[np.intp]
) -> FloatArray:
    """Compute the log of the sum of exp(strength) over all labels that may be the lure when a cell's label is the truth.

    The truth itself cannot be the lure. Its term is not subtracted from the full sum, because it may dominate the sum
    and cancel the other terms numerically (for example if fifty annotators agree).

    Args:
        item: shape (m,), the named cells' items, ascending.
        strength: shape (m,), the evidence that a cell is the lure; 0 for labels without votes.
        others: shape (items,), the number of labels without votes.
        rest: the items with at least one label without votes.

    Returns:
        Shape (m + len(rest),): for named cells, then for "any other label".
    """
    total = np.full(others.size, -np.inf)
    without_top = np.full(others.size, -np.inf)
    top = np.zeros(item.size, dtype=np.bool_)
    if item.size:
        starts = np.flatnonzero(np.r_[True, item[1:] != item[:-1]])
        named = item[starts]
        total[named] = np.logaddexp.reduceat(strength, starts)
        ranked = np.lexsort((strength, item))
        top[ranked[np.r_[starts[1:], item.size] - 1]] = True
        without_top[named] = np.logaddexp.reduceat(np.where(top, -np.inf, strength), starts)
    with np.errstate(divide="ignore"):
        unnamed, one_less = np.log(others), np.log(np.maximum(0, others - 1))
        below = np.where(top, -1.0, strength - total[item])
        left = np.where(top, without_top[item], total[item] + np.log1p(-np.exp(below)))
    return np.concatenate((np.logaddexp(left, unnamed[item]), np.logaddexp(total[rest], one_less[rest])))
