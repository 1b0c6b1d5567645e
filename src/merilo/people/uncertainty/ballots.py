"""Deciding an item again with another answer in one annotator's place."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from merilo.people.votes import Votes
from merilo.statistics.arrays import FloatArray

#: Totals closer than this are a tie, because the rounding error of a sum depends on the order of its terms.
_EQUAL: Final = 1e-9
#: How many of an item's leading labels an answer is replaced by when its influence is computed.
_ALTERNATIVES: Final = 8
#: Upper limit of the cells processed at once, which bounds the memory of re-aggregation.
_CELLS_AT_ONCE: Final = 4_000_000


@dataclass(frozen=True, slots=True)
class Ballots:
    """Votes as a matrix with one row an item and one column (slot) for each of the item's labels.

    The last slot is a label that nobody gave: it has no votes, and its worth is that of an unseen label.

    Attributes:
        place: shape (n,), the row of each answer's item.
        slot: shape (n,), the column of each answer's label.
        weight: shape (n,), the weight of each answer.
        totals: shape (rows, slots), the sum of weights of each label.
        worth: shape (rows, slots), the score of the item if this label were its consensus.
        answered: shape (rows,), the codes of the items.
        items: the number of all items.
    """

    place: NDArray[np.intp]
    slot: NDArray[np.intp]
    weight: FloatArray
    totals: FloatArray
    worth: FloatArray
    answered: NDArray[np.int64]
    items: int

    @staticmethod
    def of(votes: Votes, worth: FloatArray, weight: FloatArray, unseen: FloatArray) -> Ballots:
        """Build the matrix from votes; `worth` and `weight` have shape (n,), `unseen` has shape (items,)."""
        cell = votes.item.astype(np.int64) * max(votes.labels, 1) + votes.label
        cells, cell_of = np.unique(cell, return_inverse=True)
        _, first, place_of_cell = np.unique(
            cells // max(votes.labels, 1), return_index=True, return_inverse=True
        )
        slot_of_cell = np.arange(cells.shape[0]) - first[place_of_cell]
        shape = (first.shape[0], int(slot_of_cell.max(initial=-1)) + 2)
        place, slot = place_of_cell[cell_of], slot_of_cell[cell_of]
        totals = np.zeros(shape)
        np.add.at(totals, (place, slot), weight)
        answered = cells[first] // max(votes.labels, 1)
        values = np.repeat(unseen[answered][:, None], shape[1], axis=1)
        values[place, slot] = worth
        return Ballots(place, slot, weight, totals, values, answered, votes.items)

    def needed(self, min_votes: int | NDArray[np.int64]) -> NDArray[np.int64] | None:
        """Return the number of votes that a consensus needs, shape (items with votes,); `None` for plurality."""
        if not np.any(min_votes):
            return None
        return np.broadcast_to(min_votes, self.items)[self.answered]

    @property
    def _has_many(self) -> bool:
        """Whether an item has so many labels that not all of them are tried."""
        return bool(self.totals.shape[1] > _ALTERNATIVES + 2)

    @staticmethod
    def outcome(
        totals: FloatArray, worth: FloatArray, needed: NDArray[np.int64] | None
    ) -> tuple[FloatArray, NDArray[np.bool_]]:
        """Compute the items' scores and which items count; labels are along the last axis."""
        top = totals.max(axis=-1, keepdims=True)
        leading = totals >= top - _EQUAL * np.abs(top)
        leaders = leading.sum(axis=-1)
        scores = (leading * worth).sum(axis=-1) / leaders
        if needed is not None:
            return scores, (leaders == 1) & (top[..., 0] >= needed - _EQUAL)
        return scores, np.ones(scores.shape, dtype=np.bool_)

    def pieces(self) -> list[slice]:
        """Split the answers into slices whose re-aggregation fits in memory."""
        slots = self.totals.shape[1]
        step = max(1, _CELLS_AT_ONCE // (slots * min(slots, _ALTERNATIVES + 2)))
        return [slice(start, start + step) for start in range(0, self.place.shape[0], step)]

    def exchanged(
        self, rows: slice, needed: NDArray[np.int64] | None
    ) -> tuple[FloatArray, NDArray[np.bool_]]:
        """Compute the outcomes with each answer replaced by every label tried, including its own and an unseen one."""
        place, slot, weight = self.place[rows], self.slot[rows], self.weight[rows]
        answers, slots = place.shape[0], self.totals.shape[1]
        if self._has_many:
            leading = np.argsort(-self.totals[place], axis=1, kind="stable")[:, :_ALTERNATIVES]
            tried = np.column_stack([leading, slot, np.full(answers, slots - 1)])
        else:
            tried = np.broadcast_to(np.arange(slots), (answers, slots))
        row = np.arange(answers)
        without = self.totals[place]
        without[row, slot] -= weight
        without[np.abs(without) < _EQUAL] = 0.0
        exchanged = np.repeat(without[:, None, :], tried.shape[1], axis=1)
        exchanged[row[:, None], np.arange(tried.shape[1]), tried] += weight[:, None]
        own = None if needed is None else needed[place][:, None]
        scores, counted = self.outcome(exchanged, self.worth[place][:, None, :], own)
        # Unused slots of an item act as the label that nobody gave, so they only repeat its outcome.
        return scores, counted

    def chances(self, rows: slice, labels: int) -> FloatArray:
        """Compute the probability of each label that `exchanged` tries if every one of `labels` is equally probable."""
        slots = self.totals.shape[1]
        columns, most = (_ALTERNATIVES + 2, _ALTERNATIVES) if self._has_many else (slots, slots)
        used = np.minimum((self.totals[self.place[rows]] > 0).sum(axis=1), most)
        chances: FloatArray = (np.arange(columns) < used[:, None]) / max(labels, 1)
        chances[:, -1] = 1 - chances[:, :-1].sum(axis=1)
        return chances
