"""The variance because items share annotators if a model of annotators decides and is fitted again without some of them.

A model estimates how accurate each annotator is. Other annotators would not only give other answers: the model would also
weigh the remaining answers otherwise. Deciding single items again with fixed weights leaves out this part.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from merilo.people.votes import Votes
from merilo.statistics.arrays import FloatArray
from merilo.statistics.crossed_difference import heavy_tails

#: The number of groups of annotators, each left out once. More groups take longer and change the coverage little.
GROUPS: Final = 12


@dataclass(frozen=True, slots=True)
class RefittedVariance:
    """The variance because items share annotators, from fits without groups of annotators.

    Attributes:
        variance: the variance of the estimate.
        doubt: its square divided by its degrees of freedom, a term of Satterthwaite's formula.
    """

    variance: float
    doubt: float


def annotator_groups(votes: Votes, groups: int = GROUPS) -> NDArray[np.int64]:
    """Divide annotators into groups with about equal numbers of answers.

    Args:
        votes: the answers.
        groups: the largest number of groups.

    Returns:
        Shape (annotators,), the group of each annotator; -1 for annotators without answers.

    Example:
        >>> votes = Votes(*(np.array(c, np.int32) for c in ([0, 1, 2, 0, 1, 0], [0, 0, 0, 1, 1, 3], [0] * 6)), 3, 4, 1)
        >>> annotator_groups(votes, 2).tolist()
        [0, 1, -1, 1]
    """
    answered = np.bincount(votes.annotator, minlength=votes.annotators)
    order = np.argsort(-answered, kind="stable")[: int((answered > 0).sum())]
    groups = max(min(groups, order.shape[0]), 1)
    # Dealt forwards and backwards in turn: the group of the busiest annotator does not get the busiest of each round.
    dealt = np.concatenate([np.arange(groups), np.arange(groups)[::-1]])
    found = np.full(votes.annotators, -1, dtype=np.int64)
    found[order] = dealt[np.arange(order.shape[0]) % (2 * groups)]
    return found


def refitted_variance(change: FloatArray, annotators: int) -> RefittedVariance:
    """Compute the grouped jackknife variance over annotators, without the chance in single items.

    With G groups and D_gi the change of item i's score when group g is left out, the jackknife variance of the mean is
    (G - 1) / G times the sum over g of (D_g - D)², divided by the square of the number of items; D_g is the sum over items
    and D the mean of D_g. Products of two changes of the same item are left out, because the variance over items contains
    them.

    Args:
        change: shape (groups, items), the score of each item minus its score without each group; groups at least 2.
        annotators: the number of annotators.

    References:
        B. Efron, C. Stein (1981), The jackknife estimate of variance. Annals of Statistics 9, 586-596.
        J. Shao, D. Tu (1995), The jackknife and bootstrap, section 2.3 (grouped jackknife).
        A. Owen (2007), The pigeonhole bootstrap. Annals of Applied Statistics 1, 386-411.

    Example:
        >>> change = np.array([[1.0, 1.0, 0.0], [0.0, 0.0, 0.0], [0.0, 0.0, 0.0]])
        >>> round(refitted_variance(change, 3).variance, 4)
        0.1481
    """
    groups, items = change.shape
    totals, squares = change.sum(axis=1), float((change**2).sum())
    of_item = change.sum(axis=0)
    within = float(totals @ totals) - squares
    between = float(totals.sum()) ** 2 - float(totals @ totals) - (float(of_item @ of_item) - squares)
    variance = max((within - between / (groups - 1)) * (groups - 1) / groups, 0.0) / items**2
    return RefittedVariance(variance, variance**2 / (groups - 1) * heavy_tails(annotators))
