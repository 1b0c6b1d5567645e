"""The influence of every answer on an estimate from people's votes: what `merilo.statistics.crossed` takes."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from merilo.people.votes import Votes
from merilo.statistics import FloatArray
from merilo.statistics.crossed import Influence

#: How many of an item's leading labels an answer is replaced by.
_ALTERNATIVES: Final = 8
#: How many cells of vote counts are computed at once, which bounds the memory.
_CELLS_AT_ONCE: Final = 4_000_000


def consensus_influence(
    votes: Votes,
    worth: FloatArray,
    unseen: FloatArray,
    *,
    min_votes: int | NDArray[np.integer] = 0,
    share: FloatArray | None = None,
) -> tuple[float, Influence] | None:
    """Compute the score of the consensus, and the influence of every answer on it by deciding its item again.

    An answer is replaced by each label of its item and by one that nobody gave. Its influence is the item's score
    minus the middle of the scores that these give, centred so that the influences sum to 0: the part of the
    score that depends on this annotator alone.

    Args:
        votes: the answers.
        worth: shape (n,), the score of the item if this answer were its consensus.
        unseen: shape (items,), the score of the item with a label that nobody gave.
        min_votes: how many votes a consensus needs, one number or shape (items,); items whose leading label has fewer
            votes, or ties, are left out. With 0 the leading label decides, and tied labels share the item.
        share: shape (items,), the weight of each item in the estimate; equal by default.

    Returns:
        The score, and the influence, its `items` those with votes in the order of their codes; `None` if no item has a
        consensus.
    """
    counts = _VoteCounts(votes, worth, unseen, min_votes)
    scores, counted = counts.decided(counts.totals, counts.needed)
    of_item = (np.ones(votes.items) if share is None else share)[counts.items] * counted
    if not of_item.sum() > 0:
        return None
    of_item = of_item / of_item.sum()
    value = float(of_item @ scores)
    unit = np.where(of_item > 0, of_item, of_item.sum() / max(np.count_nonzero(of_item), 1))
    items = of_item * (scores - value)
    # All answers of one label to an item have the same influence.
    answers, guess, reach = np.zeros((3, len(counts.place)))
    labels = max(len(np.unique(votes.label)), 1)
    for cells in counts.pieces():
        other, other_counted = counts.replaced(cells)
        place = counts.place[cells]
        moved = np.where(other_counted, other - value, 0.0) * unit[place][:, None]
        most, least = moved.max(axis=1), moved.min(axis=1)
        answers[cells], reach[cells] = items[place] - (most + least) / 2, most - least
        guess[cells] = (moved * counts.chances(cells, labels)).sum(axis=1) - items[place]
    if reach.any():
        answers -= reach * (answers[counts.cell].sum() / reach[counts.cell].sum())
    return value, Influence(items, answers[counts.cell], votes.item, votes.annotator, guess[counts.cell])


class _VoteCounts:
    """The votes for each label of each item: a row an item, a column a label, the last one a label nobody gave."""

    def __init__(
        self,
        votes: Votes,
        worth: FloatArray,
        unseen: FloatArray,
        min_votes: int | NDArray[np.integer],
    ) -> None:
        width = max(votes.labels, 1)
        cells, self.cell = np.unique(votes.item.astype(np.int64) * width + votes.label, return_inverse=True)
        #: The row and the column of each label of each item that has votes.
        self.items, first, self.place = np.unique(cells // width, return_index=True, return_inverse=True)
        self.column = np.arange(len(cells)) - first[self.place]
        shape = len(self.items), int(self.column.max(initial=-1)) + 2
        self.totals = np.zeros(shape, dtype=np.int32)
        self.totals[self.place, self.column] = np.bincount(self.cell)
        self.worth = np.repeat(unseen[self.items][:, None], shape[1], axis=1)
        self.worth[self.place[self.cell], self.column[self.cell]] = worth
        needed = np.broadcast_to(min_votes, votes.items)[self.items]
        self.needed = needed if np.any(needed) else None
        #: Not all labels are tried where an item has many.
        self.many = shape[1] > _ALTERNATIVES + 2

    def decided(
        self, totals: NDArray[np.int32], needed: NDArray[np.integer] | None, worth: FloatArray | None = None
    ) -> tuple[FloatArray, NDArray[np.bool_]]:
        """Return the scores of items and which of them count, from their totals; labels are along the last axis."""
        top = totals.max(axis=-1, keepdims=True)
        leading = totals == top
        leaders = leading.sum(axis=-1)
        scores = (leading * (self.worth if worth is None else worth)).sum(axis=-1) / leaders
        if needed is None:
            return scores, np.ones(scores.shape, dtype=np.bool_)
        return scores, (leaders == 1) & (top[..., 0] >= needed)

    def pieces(self) -> list[slice]:
        """Split the labels of items so that the tables of each piece fit in memory."""
        slots = self.totals.shape[1]
        step = max(1, _CELLS_AT_ONCE // (slots * min(slots, _ALTERNATIVES + 2)))
        return [slice(start, start + step) for start in range(0, len(self.place), step)]

    def replaced(self, rows: slice) -> tuple[FloatArray, NDArray[np.bool_]]:
        """Decide the items with each label tried in the place of one answer of these, shape (rows, labels tried)."""
        place, column = self.place[rows], self.column[rows]
        answer, slots = np.arange(len(place)), self.totals.shape[1]
        tried = np.broadcast_to(np.arange(slots), (len(place), slots))
        if self.many:
            leading = np.argsort(-self.totals[place], axis=1, kind="stable")[:, :_ALTERNATIVES]
            tried = np.column_stack([leading, column, np.full(len(place), slots - 1)])
        totals = self.totals[place]
        totals[answer, column] -= 1
        totals = np.repeat(totals[:, None, :], tried.shape[1], axis=1)
        totals[answer[:, None], np.arange(tried.shape[1]), tried] += 1
        needed = None if self.needed is None else self.needed[place][:, None]
        return self.decided(totals, needed, self.worth[place][:, None, :])

    def chances(self, rows: slice, labels: int) -> FloatArray:
        """Return the probability of each label that `replaced` tries if all `labels` are equally probable."""
        slots = self.totals.shape[1]
        columns, most = (_ALTERNATIVES + 2, _ALTERNATIVES) if self.many else (slots, slots)
        used = np.minimum((self.totals[self.place[rows]] > 0).sum(axis=1), most)
        chances: FloatArray = (np.arange(columns) < used[:, None]) / labels
        chances[:, -1] = 1 - chances[:, :-1].sum(axis=1)
        return chances


def by_cluster(influence: Influence, votes: Votes) -> Influence:
    """Return the influence with clusters in place of items, if the items of the votes form clusters.

    Args:
        influence: its `items` are those with votes, in the order of their codes.
        votes: the answers.
    """
    if votes.cluster is None:
        return influence
    return influence.clustered(votes.cluster[np.unique(votes.item)], votes.unit)


def drawn_answer(votes: Votes) -> FloatArray:
    """Compute the weight of each answer if one is drawn for every item, shape (n,); the weights sum to 1."""
    each = 1 / np.bincount(votes.item, minlength=votes.items)[votes.item]
    return np.asarray(each / each.sum())


def person_influence(
    votes: Votes, score: FloatArray, *, bounds: tuple[float, float] = (0.0, 1.0)
) -> tuple[float, Influence]:
    """Compute the expected score of one answer drawn for every item, and the influence of every answer on it.

    Args:
        votes: the answers, at least one.
        score: shape (n,), the score of each answer alone.
        bounds: the smallest and the largest possible score; who guesses has the largest for one of the labels.
    """
    each = drawn_answer(votes)
    value = float(each @ score)
    answers = each * (score - value)
    random = bounds[0] + (bounds[1] - bounds[0]) / max(len(np.unique(votes.label)), 1)
    items = np.bincount(np.unique(votes.item, return_inverse=True)[1], weights=answers)
    return value, Influence(
        items.astype(np.float64), answers, votes.item, votes.annotator, each * (random - score)
    )


def as_many_each(first: Votes, second: Votes) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Choose as many answers of each group to each item: of the group with more answers, random ones.

    A majority of more answers is right more often, so that groups with unequal numbers of answers differ although
    their people do not.

    Args:
        first: the answers of the first group.
        second: the answers of the second group to the same items.

    Returns:
        Masks of the answers, shapes (answers of the first,) and (answers of the second,).

    Example:
        >>> three, two = (np.array(codes, np.int32) for codes in ([0, 0, 0], [0, 0]))
        >>> first, second = Votes(three, three, three, 1, 1, 1), Votes(two, two, two, 1, 1, 1)
        >>> [int(mask.sum()) for mask in as_many_each(first, second)]
        [2, 2]
    """
    rng = np.random.default_rng(0)
    counts = [np.bincount(side.item, minlength=first.items) for side in (first, second)]
    fewest = np.minimum(*counts)
    masks = []
    for side, count in zip((first, second), counts, strict=True):
        order = np.lexsort((rng.random(len(side)), side.item))
        start = np.cumsum(count) - count
        mask = np.zeros(len(side), dtype=np.bool_)
        mask[order] = np.arange(len(side)) - start[side.item[order]] < fewest[side.item[order]]
        masks.append(mask)
    return masks[0], masks[1]
