"""The range of the number of wrong golds.

If all annotators contradict a gold, either it is wrong or the item has a wrong answer that attracts people (a lure).
A single item cannot distinguish the two; all items together can to some degree, because lures leave traces: most of
them deceive some annotators and not others, whereas the answers to an item with a wrong gold agree as well as those
to other items.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from merilo.people.audit.gold_model import truth_cells
from merilo.people.votes import IntArray, Votes
from merilo.statistics import FloatArray

#: The kinds of items: the share of the annotators who know the truth, and the share of wrong answers that are the
#: lure. No lure deceives more than nine tenths of the annotators: one that deceives all cannot be distinguished from
#: a wrong gold.
KNOWN: Final = np.array([0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.96, 0.99])
SHARES: Final = (0.2, 0.5, 0.65, 0.8, 0.95)

#: The shares of wrong golds that are tried; at most half.
RATES: Final = np.concatenate(([0.0], np.geomspace(0.001, 0.5, 25)))

#: A rate is in the range if its log likelihood is at most this much below the largest one (half the 98 % quantile of
#: chi-squared with one degree of freedom); the count at that rate varies by this many standard deviations. With 1.92
#: and 1.645 the range misses the number in 10 % of simulated studies of hard items with ten answers and four labels.
MOST_BELOW, DEVIATIONS = 2.71, 1.96

#: A range wider than this share of the golds says nothing.
WIDEST = 0.5

_STEPS, _TOLERANCE, _ROUNDED = 150, 1e-4, 0.005

#: The least likelihood, so that thousands of answers against a gold do not make it 0.
_LEAST = 1e-200


@dataclass(frozen=True, slots=True)
class GoldRange:
    """The range of the number of wrong golds, meant to hold in at least 95 % of studies.

    Attributes:
        low: the smallest number; 0 if lures explain the answers without any wrong gold.
        high: the largest number.
    """

    low: int
    high: int


def wrong_gold_range(votes: Votes, gold: IntArray, *, options: int | None = None) -> GoldRange | None:
    """Compute the range of the number of wrong golds that the answers allow if any item may have a lure.

    An item's answers are independent draws: the truth with probability p, otherwise the item's lure with probability
    s, otherwise one of the wrong labels. The distribution of (p, s) over the grid of `KNOWN` and `SHARES` is free,
    and is the same whether the gold is right or wrong; a wrong gold is one of the other labels at random. For each
    share e of wrong golds the distribution that fits best is found by expectation and maximisation. The range
    contains the counts expected at all e whose profile likelihood is not rejected, with their own deviation.

    Args:
        votes: the answers, at most one per annotator and item.
        gold: shape (items,), codes of the golds, -1 if the gold is not known.
        options: the number of possible labels of an item; by default, the number of labels in the study.

    Returns:
        The range; `None` without gold, or if the range would be wider than half of the golds.

    Example:
        Five annotators agree with the gold on nine items and contradict it on the tenth:

        >>> item, annotator = np.divmod(np.arange(50, dtype=np.int32), 5)
        >>> votes = Votes(item, annotator, np.zeros(50, np.int32), 10, 5, 4)
        >>> wrong_gold_range(votes, np.array([0] * 9 + [1], np.int32))
        GoldRange(low=0, high=1)
    """
    options = max(2, votes.labels if options is None else options)
    if not (gold >= 0).any():
        return None
    right, wrong, items = _likelihoods(votes, gold, options)
    weight = np.full(right.shape[1], 1 / right.shape[1])
    fits = []
    for rate in RATES:
        fit, weight = _fit(right, wrong, items, float(rate), weight)
        fits.append(fit)
    likelihood, expected, deviation = np.array(fits).T
    (inside,) = np.nonzero(likelihood >= likelihood.max() - MOST_BELOW)
    least, most = inside[0], inside[-1]
    golds = int(items.sum())
    # Expected numbers next to an integer are rounded to it.
    low = max(0, int(np.floor(expected[least] - DEVIATIONS * deviation[least] + _ROUNDED)))
    high = min(golds, int(np.ceil(expected[most] + DEVIATIONS * deviation[most] - _ROUNDED)))
    return GoldRange(low, high) if high - low <= WIDEST * golds else None


def _likelihoods(votes: Votes, gold: IntArray, options: int) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Compute the likelihood of each kind of item if its gold is right and if it is wrong.

    Items with the same answers up to the names of labels are combined.

    Returns:
        Shape (patterns, kinds) twice, and (patterns,), the number of items with gold.
    """
    cells = truth_cells(votes, gold, options, SHARES)
    known = cells.gold_known
    answers = np.bincount(votes.item, minlength=votes.items)[cells.item]
    of_truth = cells.count[:, None] * np.log(KNOWN) + (answers - cells.count)[:, None] * np.log1p(-KNOWN)
    logs = (of_truth[:, :, None] + cells.lure[:, None, :]).reshape(cells.item.size, -1)
    peak = np.maximum.reduceat(logs.max(axis=1)[cells.ordered], cells.starts)
    chances = np.exp(logs - peak[cells.item, None])
    parts = [
        cells.cells_of_item @ (chances * times[:, None])
        for times in (cells.is_gold, ~cells.is_gold * cells.times / (options - 1))
    ]
    both = np.log(np.maximum(np.concatenate(parts, axis=1)[known], _LEAST)).round(9)
    patterns, items = np.unique(both, axis=0, return_counts=True)
    right, wrong = np.split(np.exp(patterns), 2, axis=1)
    return right, wrong, items.astype(np.float64)


def _fit(
    right: FloatArray, wrong: FloatArray, items: FloatArray, rate: float, weight: FloatArray
) -> tuple[tuple[float, float, float], FloatArray]:
    """Fit the distribution of kinds at one rate.

    Returns:
        The log likelihood, the expected number of wrong golds and its standard deviation; and the distribution.
    """
    chances = (1 - rate) * right + rate * wrong
    # A weight of exactly 0 would stay 0 at all further rates.
    weight = 0.999 * weight + 0.001 / weight.size
    likelihood = -np.inf
    for _ in range(_STEPS):
        density = chances @ weight
        last, likelihood = likelihood, float(items @ np.log(density))
        if likelihood - last < _TOLERANCE:
            break
        weight = weight * ((items / density) @ chances) / items.sum()
    doubt = np.minimum(1.0, rate * (wrong @ weight) / (chances @ weight))
    return (likelihood, float(items @ doubt), float(np.sqrt(items @ (doubt * (1 - doubt))))), weight
