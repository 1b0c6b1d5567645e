"""Majority and plurality vote, and the cascade that resolves ties: by the voters' skill, then by GLAD's abilities."""

from __future__ import annotations

from dataclasses import replace
from typing import Final, TypeAlias, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from merilo.errors import UsageError
from merilo.people.aggregation import NO_LABEL, Consensus, Fit, Resolution
from merilo.people.aggregation.glad import glad
from merilo.people.votes import IntArray, Votes, run_starts
from merilo.statistics import FloatArray

#: Sums whose relative difference is smaller are equal: the rounding error of a sum depends on the order of its terms.
EQUAL: Final = 1e-9

#: How many equal votes make a majority: one number for all items, or shape (items,).
MinVotes: TypeAlias = "int | NDArray[np.int64]"

#: How many of the most skilled annotators decide if the sums of skill over all voters are equal.
MOST_SKILLED: Final = 3


def majority(votes: Votes, min_votes: MinVotes = 3) -> Consensus:
    """Choose the label with more votes than any other, if it has at least `min_votes` votes.

    Raises:
        UsageError: `min_votes` is below 1.

    Example:
        >>> votes = Votes(*np.array([[0, 0, 0, 1, 1], [0, 1, 2, 0, 1], [1, 1, 0, 0, 1]]), 2, 3, 2)
        >>> consensus = majority(votes, min_votes=2)
        >>> consensus.label.tolist(), [Resolution(way).name for way in consensus.how]
        ([1, -1], ['MAJORITY', 'UNRESOLVED'])
    """
    decided = plurality(votes, min_votes)
    agreeing = decided.confidence * np.bincount(votes.item, minlength=votes.items)
    enough = agreeing > np.asarray(min_votes) - 0.5
    return Consensus.of(np.where(enough, decided.label, NO_LABEL), decided.how, decided.confidence)


def plurality(votes: Votes, min_votes: MinVotes = 3) -> Consensus:
    """Choose the label with more votes than any other; from `min_votes` votes on it is called a majority.

    Raises:
        UsageError: `min_votes` is below 1.
    """
    if np.min(min_votes, initial=1) < 1:
        raise UsageError(f"a majority takes at least 1 vote, not {np.min(min_votes)}")
    tally = votes.tally()
    most = np.zeros(votes.items, dtype=np.int64)
    first = run_starts(tally.item)
    if first.size:
        most[tally.item[first]] = np.maximum.reduceat(tally.votes, first)
    leading = tally.votes == most[tally.item]
    alone = np.bincount(tally.item[leading], minlength=votes.items) == 1
    label = np.full(votes.items, NO_LABEL, dtype=np.int32)
    winning = leading & alone[tally.item]
    label[tally.item[winning]] = tally.label[winning]
    unanimous = most == np.bincount(votes.item, minlength=votes.items)
    ways = [Resolution.UNANIMOUS, Resolution.MAJORITY]
    how = np.select([unanimous, most >= min_votes], ways, default=Resolution.PLURALITY)
    return Consensus.of(label, how, share_of_votes(votes, label))


def resolve_by_skill(
    votes: Votes, skill: ArrayLike, min_votes: MinVotes = 3, *, ability: FloatArray | None = None
) -> Consensus:
    """Aggregate by plurality; resolve ties by the sum of skill, then by skill among the three most skilled.

    Labels are ranked by votes, then by the sum of their voters' skill. Only the first two are compared; equal sums pass
    to the next step. Annotators of equal skill are ranked by ability when the three are selected. If ability is unknown
    or equal too, all annotators level with the third are included, so row order never decides.

    Args:
        votes: the answers.
        skill: shape (annotators,), larger is better; NaN means unknown and is replaced by the mean of the known values.
        min_votes: the number of votes from which the winning label is called a majority.
        ability: shape (annotators,), ranks annotators of equal skill (in the cascade it is GLAD's ability).

    Raises:
        UsageError: `skill` does not have one finite number or NaN for each annotator, or `min_votes` is below 1.

    Example:
        >>> votes = Votes(*np.array([[0, 0, 0, 0], [0, 1, 2, 3], [0, 0, 1, 1]]), 1, 4, 2)
        >>> resolve_by_skill(votes, [90, 60, 80, 75]).label.tolist()
        [1]
    """
    known = known_skill(skill, votes.annotators)
    decided = resolve_by_weight(plurality(votes, min_votes), votes, known, Resolution.SKILL)
    tied = votes.where(decided.label[votes.item] == NO_LABEL)
    best = most_skilled(tied, known, ability)
    return resolve_by_weight(decided, votes, known, Resolution.TOP_SKILL, asked=best)


def cascade(
    votes: Votes,
    *,
    everyone: Votes | None = None,
    skill: ArrayLike | None = None,
    open_answers: bool | None = None,
    min_votes: MinVotes = 3,
) -> Consensus:
    """Aggregate by plurality; resolve ties by skill, then by the three most skilled, then by GLAD's abilities.

    The label with the most votes wins. A tie goes to the larger sum of skill, then to the larger sum of skill among the
    three most skilled annotators, then to the larger sum of GLAD's abilities. Labels are ranked by votes,
    then by the sum. Only the first two are compared, and equal sums pass to the next step. Annotators of
    equal skill are ranked by GLAD's ability when the three are selected. An item still tied after the last
    step is unresolved; row order and alphabetical order never decide.

    Args:
        votes: the answers that count: answers to the items to be decided, without excluded annotators.
        everyone: all answers of the pool in the same codes, including answers to control items and by excluded
            annotators. GLAD is fitted to them. `votes` by default.
        skill: shape (annotators,), larger is better, NaN if unknown (see `resolve_by_skill`); without it the two steps
            that use skill are skipped.
        open_answers: whether labels are typed freely; if None, inferred from their number (see `is_open`).
        min_votes: the number of votes from which the winning label is called a majority.

    Returns:
        The consensus, with GLAD's fit to `everyone` if skill left a tie.

    Raises:
        UsageError: `skill` does not fit the votes, or `min_votes` is below 1.

    Example:
        >>> tie = [[0, 0, 1, 1, 1, 2, 2, 2], [0, 1, 0, 1, 2, 0, 1, 2], [0, 1, 0, 1, 0, 1, 0, 1]]
        >>> consensus = cascade(Votes(*np.array(tie), 3, 3, 2))
        >>> consensus.label.tolist(), Resolution(consensus.how[0]).name
        ([0, 0, 1], 'GLAD')
    """
    decided = plurality(votes, min_votes)
    if skill is not None:
        decided = resolve_by_weight(decided, votes, known_skill(skill, votes.annotators), Resolution.SKILL)
    if not (decided.label[votes.item] == NO_LABEL).any():
        return decided
    pool = votes if everyone is None else everyone
    fit = cast("Fit", glad(pool, open_answers=open_answers).fit)
    if skill is not None:
        decided = resolve_by_skill(votes, skill, min_votes, ability=fit.quality)
    return replace(resolve_by_weight(decided, votes, fit.quality, Resolution.GLAD), fit=fit)


def known_skill(skill: ArrayLike, annotators: int) -> FloatArray:
    """Replace unknown skill by the mean of the known values, shape (annotators,); by 0 if no value is known."""
    numbers = np.array(skill, dtype=np.float64)
    if numbers.shape != (annotators,) or np.isinf(numbers).any():
        raise UsageError(
            f"skill takes one number for each of the {annotators} annotators, or NaN if it is unknown"
        )
    unknown = np.isnan(numbers)
    numbers[unknown] = 0.0 if unknown.all() else numbers[~unknown].mean()
    return numbers


def most_skilled(votes: Votes, skill: FloatArray, ability: FloatArray | None = None) -> Votes:
    """Select the votes of each item's three most skilled annotators, and of all annotators level with the third."""
    keys = np.column_stack([skill] if ability is None else [skill, ability])
    rank = np.unique(keys, axis=0, return_inverse=True)[1].ravel()
    order = np.lexsort((-rank[votes.annotator], votes.item))
    answers = np.bincount(votes.item, minlength=votes.items)
    third = np.cumsum(answers) - answers + np.minimum(answers, MOST_SKILLED) - 1
    last = rank[votes.annotator[order]][third[answers > 0]]
    least = np.zeros(votes.items, dtype=np.int64)
    least[answers > 0] = last
    return votes.where(rank[votes.annotator] >= least[votes.item])


def resolve_by_weight(
    consensus: Consensus, votes: Votes, weight: FloatArray, how: Resolution, asked: Votes | None = None
) -> Consensus:
    """Resolve items without a label by votes, then by the sum of the voters' weight.

    An item gets its first label in this order if that label is ahead of the second.

    Args:
        consensus: the consensus so far; its labels stay.
        votes: the answers.
        weight: shape (annotators,), the weight of an annotator's vote if labels have equally many votes.
        how: the resolution recorded for items that this step resolves.
        asked: the answers that count in this step; all answers by default.
    """
    asked = votes if asked is None else asked
    tied = asked.where(consensus.label[asked.item] == NO_LABEL)
    if not len(tied):
        return consensus
    code = tied.item.astype(np.int64) * tied.labels + tied.label
    cells, place, count = np.unique(code, return_inverse=True, return_counts=True)
    total = np.bincount(place, weights=weight[tied.annotator], minlength=cells.size)
    order = np.lexsort((cells, -total, -count, cells // tied.labels))
    cells, count, total = cells[order], count[order], total[order]
    item, label = np.divmod(cells, tied.labels)
    first = run_starts(item)
    second = np.minimum(first + 1, item.size - 1)
    alone = np.diff(first, append=item.size) == 1
    scale = np.maximum(np.abs(total[first]), np.abs(total[second]))
    leads = alone | (count[first] > count[second]) | (total[first] - total[second] > EQUAL * scale)
    chosen = first[leads]
    labels = consensus.label.copy()
    labels[item[chosen]] = label[chosen]
    resolved = labels != consensus.label
    return consensus.where(
        resolved, Consensus.of(labels, np.full_like(consensus.how, how), share_of_votes(votes, labels))
    )


def share_of_votes(votes: Votes, label: IntArray) -> FloatArray:
    """Compute the label's share of each item's votes, shape (items,); NaN if there is no label."""
    answers = np.bincount(votes.item, minlength=votes.items)
    agreeing = np.bincount(votes.item[votes.label == label[votes.item]], minlength=votes.items)
    return np.where(label == NO_LABEL, np.nan, agreeing / np.maximum(answers, 1))
