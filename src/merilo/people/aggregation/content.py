"""Ties decided by what the answers say: free texts by their medoid, lists of numbers number by number."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import numpy as np

from merilo.metrics.squad import token_f1
from merilo.people.aggregation import NO_LABEL, Consensus, Resolution
from merilo.people.aggregation.majority import EQUAL, plurality, share_of_votes
from merilo.people.votes import Votes

_LIST_OF_NUMBERS: Final = re.compile(r"\d+(?:,\d+)*")


def break_ties_by_medoid(consensus: Consensus, votes: Votes, texts: Sequence[str]) -> Consensus:
    """Give every item whose answers tie the tied answer with the largest sum of token F1 to the item's answers.

    Items whose tied answers are equally similar to the others stay as they were.

    Args:
        consensus: the consensus so far; only items whose most frequent answers have equally many votes are changed.
        votes: the answers that count.
        texts: shape (labels,), the labels' texts.

    References:
        L. Kaufman, P. Rousseeuw (1987), Clustering by means of medoids.

    Example:
        >>> votes = Votes(*np.array([[0, 0, 0], [0, 1, 2], [0, 1, 2]]), 1, 3, 3)
        >>> texts = ["Count Leo Tolstoy", "Leo Tolstoy", "Tolstoy"]
        >>> break_ties_by_medoid(plurality(votes), votes, texts).label.tolist()
        [1]
    """
    tied = plurality(votes, 1).how == Resolution.UNRESOLVED
    label = np.full(votes.items, NO_LABEL, dtype=np.int32)
    for item, counts in labels_of_items(votes.where(tied[votes.item])).items():
        leading = [code for code, n in counts.items() if n == max(counts.values())]
        sums = [
            sum(n * token_f1(texts[code], texts[other]) for other, n in counts.items()) for code in leading
        ]
        closest = [code for code, total in zip(leading, sums, strict=True) if total > max(sums) - EQUAL]
        if len(closest) == 1:
            label[item] = closest[0]
    medoid = Consensus.of(label, Resolution.MEDOID, share_of_votes(votes, label))
    return consensus.where(label != NO_LABEL, medoid)


def labels_of_items(votes: Votes) -> dict[int, dict[int, int]]:
    """Return label -> number of votes for every item with votes."""
    counts: dict[int, dict[int, int]] = {}
    for item, label, n in zip(*(column.tolist() for column in votes.tally()), strict=True):
        counts.setdefault(item, {})[label] = n
    return counts


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
        parts = [_winner(((numbers[at], n) for numbers, n in lists), needed) for at in range(int(length[0]))]
    else:
        options = sorted({number for numbers, _ in lists for number in numbers}, key=int)
        parts = [_winner(((a if a in numbers else "", n) for numbers, n in lists), needed) for a in options]
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
