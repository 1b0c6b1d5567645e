"""Majority votes, and ties broken by the skill of those who voted."""

from __future__ import annotations

from dataclasses import replace
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from merilo.errors import UsageError
from merilo.people.aggregation.consensus import NO_LABEL, Consensus, Resolution
from merilo.people.votes import IntArray, Votes
from merilo.statistics.arrays import FloatArray

#: Sums closer than this, relatively, are equal: fractions add up differently in a different order.
EQUAL = 1e-9

#: How many equal votes make a majority: of every item, or shape (items,).
MinVotes: TypeAlias = "int | NDArray[np.int64]"

#: How many of the most skilled are asked when the sums of all are equal.
MOST_SKILLED = 3


def majority(votes: Votes, min_votes: MinVotes = 3) -> Consensus:
    """The label with more votes than any other, where it has enough of them.

    Args:
        votes: the answers.
        min_votes: how many votes make a majority, one number or shape (items,); items where no label has so many stay unresolved.

    Returns:
        The consensus: unanimous, majority or unresolved.

    Raises:
        UsageError: `min_votes` is below 1.

    Example:
        >>> votes = Votes(*np.array([[0, 0, 0, 1, 1], [0, 1, 2, 0, 1], [1, 1, 0, 0, 1]]), 2, 3, 2)
        >>> consensus = majority(votes, min_votes=2)
        >>> consensus.label.tolist(), [Resolution(way).name for way in consensus.how]
        ([1, -1], ['MAJORITY', 'UNRESOLVED'])
    """
    consensus, votes_for = _plurality(votes, min_votes)
    too_few = votes_for < min_votes
    return Consensus(
        label=np.where(too_few, NO_LABEL, consensus.label).astype(np.int32),
        how=np.where(too_few, Resolution.UNRESOLVED, consensus.how).astype(np.int8),
        confidence=np.where(too_few, np.nan, consensus.confidence),
    )


def plurality(votes: Votes, min_votes: MinVotes = 3) -> Consensus:
    """The label with more votes than any other, however few.

    Args:
        votes: the answers.
        min_votes: from how many votes on it is called a majority.

    Returns:
        The consensus: unanimous, majority, plurality, or unresolved where the first two labels have equally many.

    Raises:
        UsageError: `min_votes` is below 1.
    """
    return _plurality(votes, min_votes)[0]


def resolve_by_skill(
    votes: Votes, skill: ArrayLike, min_votes: MinVotes = 3, *, ability: FloatArray | None = None
) -> Consensus:
    """Most votes; on a tie the larger sum of skill; else the same among the three most skilled.

    Labels are ranked by votes, then by the sum of their voters' skill. Only the first two are compared; where their sums are
    equal the item passes to the next step. Among people of equal skill the more able belong to the three; where that is
    unknown or equal too, all who equal the third are asked along with them: the order of the rows never decides.

    Args:
        votes: the answers.
        skill: shape (annotators,), larger is better; NaN is unknown and counts as the mean of the known ones, so that
            nobody gains or loses by it.
        min_votes: from how many votes on the most votes are called a majority.
        ability: shape (annotators,), what tells people of equal skill apart (GLAD's, in the cascade).

    Returns:
        The consensus: unanimous, majority, plurality, skill, top_skill or unresolved.

    Raises:
        UsageError: `skill` has not one number an annotator, or `min_votes` is below 1.

    Example:
        >>> votes = Votes(*np.array([[0, 0, 0, 0], [0, 1, 2, 3], [0, 0, 1, 1]]), 1, 4, 2)
        >>> resolve_by_skill(votes, [90, 60, 80, 75]).label.tolist()
        [1]
    """
    known = known_skill(skill, votes.annotators)
    consensus = resolve_by_weight(plurality(votes, min_votes), votes, known, Resolution.SKILL)
    tied = votes.where(consensus.label[votes.item] == NO_LABEL)
    return resolve_by_weight(
        consensus, votes, known, Resolution.TOP_SKILL, asked=most_skilled(tied, _rank(known, ability))
    )


def known_skill(skill: ArrayLike, annotators: int) -> FloatArray:
    """Skill of shape (annotators,) with the mean of the known ones for the unknown; 0 where none is known.

    Raises:
        UsageError: there is not one number an annotator, or one is infinite.
    """
    numbers = np.array(skill, dtype=np.float64)
    if numbers.shape != (annotators,) or np.isinf(numbers).any():
        raise UsageError(
            f"skill takes one number for each of the {annotators} annotators, or NaN where it is unknown"
        )
    unknown = np.isnan(numbers)
    numbers[unknown] = numbers[~unknown].mean() if not unknown.all() else 0.0
    return numbers


def _rank(skill: FloatArray, ability: FloatArray | None) -> NDArray[np.int64]:
    """Places of annotators by skill, then by ability, shape (annotators,); equals share a place."""
    keys = np.stack([skill] if ability is None else [skill, ability])
    return np.unique(keys, axis=1, return_inverse=True)[1].reshape(-1).astype(np.int64)


def most_skilled(votes: Votes, rank: NDArray[np.int64]) -> Votes:
    """The votes of each item's three most skilled annotators, and of all who are as skilled as the third.

    Args:
        votes: the answers.
        rank: shape (annotators,), the annotators' places, larger is more skilled.
    """
    order = np.lexsort((-rank[votes.annotator], votes.item))
    item = votes.item[order]
    first = np.searchsorted(item, np.arange(votes.items))
    answers = np.bincount(item, minlength=votes.items)
    answered = answers > 0
    last = np.zeros(votes.items, dtype=np.int64)
    last[answered] = rank[votes.annotator[order]][(first + np.minimum(answers, MOST_SKILLED) - 1)[answered]]
    return votes.where(rank[votes.annotator] >= last[votes.item])


def resolve_by_weight(
    consensus: Consensus, votes: Votes, weight: FloatArray, how: Resolution, asked: Votes | None = None
) -> Consensus:
    """Give items without a label the first by votes, then by the sum of its voters' weight, if it leads the second.

    Args:
        consensus: what is decided already stays.
        votes: the answers.
        weight: shape (annotators,), what a vote weighs when votes are equally many.
        how: what to call items that this step resolves.
        asked: those of the answers that count in this step; all when not given.

    Returns:
        The consensus after this step.
    """
    asked = votes if asked is None else asked
    tied = asked.where(consensus.label[asked.item] == NO_LABEL)
    if not len(tied):
        return consensus
    item, label, count, total = _weighed(tied, weight)
    order = np.lexsort((label, -total, -count, item))
    item, label, count, total = item[order], label[order], count[order], total[order]
    first = np.flatnonzero(np.r_[True, item[1:] != item[:-1]])
    second = np.minimum(first + 1, item.size - 1)
    alone = np.r_[first[1:], item.size] - first == 1
    scale = np.maximum(np.abs(total[first]), np.abs(total[second]))
    leads = alone | (count[first] > count[second]) | (total[first] - total[second] > EQUAL * scale)
    chosen = first[leads]
    new_label, new_how = consensus.label.copy(), consensus.how.copy()
    new_label[item[chosen]] = label[chosen]
    new_how[item[chosen]] = how
    return replace(consensus, label=new_label, how=new_how, confidence=share_of_votes(votes, new_label))


def share_of_votes(votes: Votes, label: IntArray) -> FloatArray:
    """The share of each item's votes that its label got, shape (items,); NaN where there is no label."""
    answers = np.bincount(votes.item, minlength=votes.items)
    agreeing = np.bincount(votes.item[votes.label == label[votes.item]], minlength=votes.items)
    return np.where(label == NO_LABEL, np.nan, agreeing / np.maximum(answers, 1))


def _weighed(
    votes: Votes, weight: FloatArray
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.intp], FloatArray]:
    """Cells of items and labels that got votes: item, label, votes, sum of the voters' weight."""
    cells, place = np.unique(votes.item.astype(np.int64) * votes.labels + votes.label, return_inverse=True)
    total = np.bincount(place, weights=weight[votes.annotator], minlength=cells.size).astype(np.float64)
    item, label = np.divmod(cells, votes.labels)
    return item, label, np.bincount(place, minlength=cells.size), total


def _plurality(votes: Votes, min_votes: MinVotes) -> tuple[Consensus, NDArray[np.int64]]:
    """The consensus by the most votes, and how many votes the first label of each item has."""
    if np.min(min_votes, initial=1) < 1:
        raise UsageError(f"a majority takes at least 1 vote, not {np.min(min_votes)}")
    tally = votes.tally()
    most = np.zeros(votes.items, dtype=np.int64)
    first = (
        np.flatnonzero(np.r_[True, tally.item[1:] != tally.item[:-1]])
        if tally.item.size
        else np.zeros(0, np.intp)
    )
    if first.size:
        most[tally.item[first]] = np.maximum.reduceat(tally.votes, first)
    leading = tally.votes == most[tally.item]
    leaders = np.bincount(tally.item[leading], minlength=votes.items)
    answers = np.bincount(votes.item, minlength=votes.items)
    decided = leaders == 1
    label = np.full(votes.items, NO_LABEL, dtype=np.int32)
    winning = leading & decided[tally.item]
    label[tally.item[winning]] = tally.label[winning]
    how = np.select(
        [~decided, most == answers, most >= min_votes],
        [Resolution.UNRESOLVED, Resolution.UNANIMOUS, Resolution.MAJORITY],
        default=Resolution.PLURALITY,
    ).astype(np.int8)
    return Consensus(label, how, share_of_votes(votes, label)), most
