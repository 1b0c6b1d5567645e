"""All agreement coefficients, for a whole study and for groups of its items."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from merilo.errors import UsageError
from merilo.people.agreement.alpha import krippendorff_alpha
from merilo.people.agreement.jackknife import intervals as jackknife_intervals
from merilo.people.agreement.kappa import fleiss_kappa, gwet_ac1
from merilo.people.votes import Votes
from merilo.settings import Level
from merilo.statistics.intervals import Interval


@dataclass(frozen=True, slots=True)
class Agreement:
    """Agreement of the annotators. Coefficients that are not defined are NaN.

    Attributes:
        items: items with at least one answer.
        answers: how many answers there are.
        krippendorff_alpha: Krippendorff's alpha.
        fleiss_kappa: Fleiss' kappa.
        gwet_ac1: Gwet's AC1.
        intervals: the coefficients' intervals by name, if they were requested and are defined.
        majority_sizes: votes of an item's most frequent label -> items, the largest first.
    """

    items: int
    answers: int
    krippendorff_alpha: float
    fleiss_kappa: float
    gwet_ac1: float
    intervals: dict[str, Interval]
    majority_sizes: dict[int, int]


def measure(
    votes: Votes,
    *,
    level: Level = "nominal",
    values: ArrayLike | None = None,
    intervals: bool = True,
) -> Agreement:
    """Compute all agreement coefficients.

    Args:
        votes: the answers.
        level: the level of measurement of Krippendorff's alpha; the other two take labels as names.
        values: shape (labels,), the numbers behind the labels, for the interval level.
        intervals: whether to compute intervals.

    Example:
        >>> votes = Votes(*np.array([[0, 0, 1, 1, 2, 2], [0, 1, 0, 1, 0, 1], [0, 0, 1, 1, 0, 1]]), 3, 2, 2)
        >>> found = measure(votes, intervals=False)
        >>> round(found.krippendorff_alpha, 3), found.majority_sizes
        (0.444, {2: 2, 1: 1})
    """
    return Agreement(
        items=int(np.unique(votes.item).size),
        answers=len(votes),
        krippendorff_alpha=krippendorff_alpha(votes, level, values=values),
        fleiss_kappa=fleiss_kappa(votes),
        gwet_ac1=gwet_ac1(votes),
        intervals=jackknife_intervals(votes, level=level, values=values) if intervals else {},
        majority_sizes=majority_sizes(votes),
    )


def majority_sizes(votes: Votes) -> dict[int, int]:
    """Votes of an item's most frequent label -> how many items, the largest first; items without votes are left out."""
    tally = votes.tally()
    if not tally.item.size:
        return {}
    first = np.flatnonzero(np.r_[True, tally.item[1:] != tally.item[:-1]])
    sizes, items = np.unique(np.maximum.reduceat(tally.votes, first), return_counts=True)
    return {int(size): int(n) for size, n in zip(sizes[::-1], items[::-1], strict=True)}


def agreement_by(
    votes: Votes,
    groups: Sequence[str | None],
    *,
    level: Level = "nominal",
    values: ArrayLike | None = None,
    intervals: bool = True,
) -> dict[str, Agreement]:
    """Compute all agreement coefficients within each group of items.

    Args:
        votes: the answers.
        groups: a name for each item (its domain, or any other field), length `votes.items`; items with `None` are in
            no group.
        level: as for `measure`.
        values: as for `measure`.
        intervals: as for `measure`.

    Returns:
        group -> agreement, sorted by name; a group without answers is left out.

    Raises:
        UsageError: the number of names differs from the number of items.
    """
    if len(groups) != votes.items:
        raise UsageError(f"expected one group name for each of the {votes.items} items, not {len(groups)}")
    names = sorted({name for name in groups if name is not None})
    code = {name: number for number, name in enumerate(names)}
    group = np.array([-1 if name is None else code[name] for name in groups], dtype=np.int64)[votes.item]
    found = {}
    for name in names:
        within = votes.where(group == code[name])
        if len(within):
            found[name] = measure(within, level=level, values=values, intervals=intervals)
    return found
