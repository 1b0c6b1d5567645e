"""Majority and plurality vote; ties resolved by the voters' skill, or by the free answer closest to the others."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from merilo.errors import UsageError
from merilo.people.aggregation.consensus import NO_LABEL, Consensus, Resolution
from merilo.people.votes import IntArray, Votes, run_starts
from merilo.statistics import FloatArray

#: Sums whose relative difference is smaller are equal, because the rounding error of a sum depends on the
#: order of its terms.
EQUAL = 1e-9

#: How many equal votes make a majority: one number for all items, or shape (items,).
MinVotes: TypeAlias = "int | NDArray[np.int64]"

#: How many of the most skilled annotators decide if the sums of skill over all voters are equal.
MOST_SKILLED = 3

_LIST_OF_NUMBERS: Final = re.compile(r"\d+(?:,\d+)*")


def majority(votes: Votes, min_votes: MinVotes = 3) -> Consensus:
    """Choose the label with more votes than any other, if it has at least `min_votes` votes.

    Args:
        votes: the answers.
        min_votes: how many votes make a majority, one number or shape (items,); items without a majority are
            unresolved.

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
    """Choose the label with more votes than any other, without a minimum number of votes.

    Args:
        votes: the answers.
        min_votes: the number of votes from which the winning label is called a majority.

    Returns:
        The consensus: unanimous, majority, plurality, or unresolved if the leading labels have equally many votes.

    Raises:
        UsageError: `min_votes` is below 1.
    """
    return _plurality(votes, min_votes)[0]


def resolve_by_skill(
    votes: Votes, skill: ArrayLike, min_votes: MinVotes = 3, *, ability: FloatArray | None = None
) -> Consensus:
    """Aggregate by plurality; resolve ties by the sum of skill, then by skill among the three most skilled.

    Labels are ranked by votes, then by the sum of their voters' skill. Only the first two are compared. If
    their sums are equal, the item passes to the next step. Annotators of equal skill are ranked by ability
    when the three are selected. If ability is unknown or equal too, all annotators level with the third are
    included, so row order never decides.

    Args:
        votes: the answers.
        skill: shape (annotators,), larger is better; NaN means unknown and is replaced by the mean of the known values.
        min_votes: the number of votes from which the winning label is called a majority.
        ability: shape (annotators,), ranks annotators of equal skill (in the cascade it is GLAD's ability).

    Returns:
        The consensus: unanimous, majority, plurality, skill, top_skill or unresolved.

    Raises:
        UsageError: `skill` does not have one finite number or NaN for each annotator, or `min_votes` is below 1.

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
    """Replace unknown skill by the mean of the known values, shape (annotators,); by 0 if no value is known.

    Raises:
        UsageError: the number of values is not the number of annotators, or a value is infinite.
    """
    numbers = np.array(skill, dtype=np.float64)
    if numbers.shape != (annotators,) or np.isinf(numbers).any():
        raise UsageError(
            f"skill takes one number for each of the {annotators} annotators, or NaN if it is unknown"
        )
    unknown = np.isnan(numbers)
    numbers[unknown] = numbers[~unknown].mean() if not unknown.all() else 0.0
    return numbers


def _rank(skill: FloatArray, ability: FloatArray | None) -> NDArray[np.int64]:
    """Rank annotators by skill, then by ability, shape (annotators,); equal annotators share a rank."""
    keys = [skill] if ability is None else [ability, skill]
    order = np.lexsort(keys)
    differs = np.any([key[order][1:] != key[order][:-1] for key in keys], axis=0)
    rank = np.empty(skill.size, dtype=np.int64)
    rank[order] = np.cumsum(np.r_[False, differs][: skill.size])
    return rank


def most_skilled(votes: Votes, rank: NDArray[np.int64]) -> Votes:
    """Select the votes of each item's three most skilled annotators, and of all annotators level with the third.

    Args:
        votes: the answers.
        rank: shape (annotators,), the annotators' ranks, larger is more skilled.
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
    """Resolve items without a label by votes, then by the sum of the voters' weight.

    An item gets its first label in this order if that label is ahead of the second.

    Args:
        consensus: the consensus so far; its labels are kept.
        votes: the answers.
        weight: shape (annotators,), the weight of an annotator's vote if labels have equally many votes.
        how: the resolution recorded for items that this step resolves.
        asked: the answers that count in this step; all answers by default.

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
    first = run_starts(item)
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
    """Compute the label's share of each item's votes, shape (items,); NaN if there is no label."""
    answers = np.bincount(votes.item, minlength=votes.items)
    agreeing = np.bincount(votes.item[votes.label == label[votes.item]], minlength=votes.items)
    return np.where(label == NO_LABEL, np.nan, agreeing / np.maximum(answers, 1))


def _weighed(
    votes: Votes, weight: FloatArray
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.intp], FloatArray]:
    """Compute item, label, number of votes and sum of the voters' weight for each (item, label) pair with votes."""
    cells, place = np.unique(votes.item.astype(np.int64) * votes.labels + votes.label, return_inverse=True)
    total = np.bincount(place, weights=weight[votes.annotator], minlength=cells.size).astype(np.float64)
    item, label = np.divmod(cells, votes.labels)
    return item, label, np.bincount(place, minlength=cells.size), total


def _plurality(votes: Votes, min_votes: MinVotes) -> tuple[Consensus, NDArray[np.int64]]:
    """Compute the consensus by plurality, and the number of votes of each item's leading label."""
    if np.min(min_votes, initial=1) < 1:
        raise UsageError(f"a majority takes at least 1 vote, not {np.min(min_votes)}")
    tally = votes.tally()
    most = np.zeros(votes.items, dtype=np.int64)
    first = run_starts(tally.item)
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


def break_ties_by_medoid(
    consensus: Consensus, votes: Votes, texts: Sequence[str], similarity: Callable[[str, str], float]
) -> Consensus:
    """Give every item whose answers tie the tied answer that is most similar to all answers of the item.

    Args:
        consensus: the consensus so far; only items whose most frequent answers have equally many votes are changed.
        votes: the answers that count.
        texts: shape (labels,), the labels' texts.
        similarity: how similar two texts are, 0 to 1: token F1 for free answers.

    Returns:
        The consensus. Items whose tied answers are equally similar to the others stay as they were.

    References:
        L. Kaufman, P. Rousseeuw (1987), Clustering by means of medoids.

    Example:
        >>> from merilo.metrics.squad import token_f1
        >>> votes = Votes(*np.array([[0, 0, 0], [0, 1, 2], [0, 1, 2]]), 1, 3, 3)
        >>> texts = ["Count Leo Tolstoy", "Leo Tolstoy", "Tolstoy"]
        >>> break_ties_by_medoid(plurality(votes), votes, texts, token_f1).label.tolist()
        [1]
    """
    tied = np.bincount(votes.item, minlength=votes.items) > 0
    tied &= plurality(votes, 1).how == Resolution.UNRESOLVED
    if not tied.any():
        return consensus
    label, how = consensus.label.copy(), consensus.how.copy()
    tally = votes.where(tied[votes.item]).tally()
    starts = np.flatnonzero(np.diff(tally.item, prepend=-1))
    for cells in np.split(np.arange(tally.item.size), starts[1:]):
        codes, counts = tally.label[cells], tally.votes[cells]
        leading = codes[counts == counts.max()]
        sums = [
            sum(
                float(n) * similarity(texts[code], texts[other])
                for other, n in zip(codes.tolist(), counts.tolist(), strict=True)
            )
            for code in leading.tolist()
        ]
        closest = [
            code for code, total in zip(leading.tolist(), sums, strict=True) if total > max(sums) - EQUAL
        ]
        if len(closest) == 1:
            label[tally.item[cells[0]]] = closest[0]
            how[tally.item[cells[0]]] = Resolution.MEDOID
    return replace(consensus, label=label, how=how, confidence=share_of_votes(votes, label))


def majority_of_parts(answers: Mapping[str, int], needed: int, *, ordered: bool) -> tuple[str, float] | None:
    """Decide each part of answers that are lists of numbers by majority.

    In a set, each number that somebody chose is decided by itself: in or out. In a sequence, the length is decided
    first, and then each position by the answers of this length.

    Args:
        answers: answer -> number of votes; answers that are not numbers separated by commas do not count.
        needed: how many equal votes decide a part.
        ordered: whether the answers are sequences; otherwise sets.

    Returns:
        The list of the decided numbers, and the smallest share of all votes that decided one of its parts; `None`
        if a part has no majority, or no number is in the set.

    Example:
        >>> majority_of_parts({"1,2": 1, "1,3": 1, "2,3": 1}, 2, ordered=False)
        ('1,2,3', 0.6666666666666666)
        >>> majority_of_parts({"5,1,3": 1, "5,2,3": 1, "5,2,4": 1}, 2, ordered=True)
        ('5,2,3', 0.6666666666666666)
    """
    lists = [(answer.split(","), n) for answer, n in answers.items() if _LIST_OF_NUMBERS.fullmatch(answer)]
    if ordered:
        length = _winner(((str(len(numbers)), n) for numbers, n in lists), needed)
        if length is None:
            return None
        lists = [(numbers, n) for numbers, n in lists if str(len(numbers)) == length[0]]
        parts = [
            _winner(((numbers[place], n) for numbers, n in lists), needed) for place in range(int(length[0]))
        ]
    else:
        options = sorted({one for numbers, _ in lists for one in numbers}, key=int)
        parts = [
            _winner(((one if one in numbers else "", n) for numbers, n in lists), needed) for one in options
        ]
    decided = [part for part in parts if part is not None]
    chosen = [number for number, _ in decided if number]
    if len(decided) < len(parts) or not chosen:
        return None
    return ",".join(chosen), min(n for _, n in decided) / sum(answers.values())


def _winner(votes: Iterable[tuple[str, int]], needed: int) -> tuple[str, int] | None:
    """Return the value with most votes and their number; `None` if it is not alone or has fewer than are needed."""
    counts: Counter[str] = Counter()
    for value, n in votes:
        counts[value] += n
    first, second = (*counts.most_common(2), ("", 0), ("", 0))[:2]
    return first if first[1] >= needed and first[1] > second[1] else None
