"""Candidate labels of each item as sparse arrays: the labels that it got, and all other labels together."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from merilo.people.aggregation.consensus import NO_LABEL, TIE
from merilo.people.votes import IntArray, Votes, sorting_order
from merilo.statistics.arrays import FloatArray

#: With more items x labels than this, only the consensus labels are computed and not the table of probabilities.
LARGEST_POSTERIOR = 200_000_000


@dataclass(frozen=True, slots=True)
class Candidates:
    """Answers sorted by item and label; memory grows with the number of answers and not with that of labels.

    A cell is a pair of an item and a label that somebody gave it. A group is an item that has votes.

    Attributes:
        annotator: shape (n,), the annotator of each answer.
        cell: shape (n,), the cell of each answer.
        first_answer: shape (cells,), the index of the cell's first answer.
        cell_answers: shape (cells,), the number of the cell's answers.
        cell_label: shape (cells,), the cell's label.
        cell_group: shape (cells,), the cell's group.
        first_cell: shape (groups,), the index of the group's first cell.
        first_of_item: shape (groups,), the index of the group's first answer.
        group_answers: shape (groups,), the number of the group's answers.
        group_item: shape (groups,), the group's item.
        ruled_out: shape (cells,), true if the item is anchored to another label.
        group_anchored: shape (groups,), true if the item's label is known.
        others: shape (groups,), the number of possible labels that nobody gave; for open answers an estimate, at least 1.
        wrong_answers: the number of equally likely wrong answers to an item: labels - 1, or an estimate of it.
        open_answers: whether the labels that nobody gave to the item are unknown; the consensus is then never such a label.
        annotators: the number of annotators.
        items: the number of items.
        labels: the number of labels.
    """

    annotator: NDArray[np.intp]
    cell: NDArray[np.intp]
    first_answer: NDArray[np.intp]
    cell_answers: NDArray[np.intp]
    cell_label: NDArray[np.int64]
    cell_group: NDArray[np.intp]
    first_cell: NDArray[np.intp]
    first_of_item: NDArray[np.intp]
    group_answers: NDArray[np.intp]
    group_item: NDArray[np.int64]
    ruled_out: NDArray[np.bool_]
    group_anchored: NDArray[np.bool_]
    others: FloatArray
    wrong_answers: float
    open_answers: bool
    annotators: int
    items: int
    labels: int

    @classmethod
    def of(cls, votes: Votes, anchors: IntArray, *, open_answers: bool = False) -> Candidates:
        """Sort the answers by item and label, so that all later computations are sums over consecutive runs.

        Args:
            votes: the answers.
            anchors: shape (items,), known labels, -1 if unknown.
            open_answers: whether the answers are open.
        """
        code = votes.item.astype(np.int64) * votes.labels + votes.label
        order = sorting_order(code)
        code = code[order]
        begins = np.r_[True, code[1:] != code[:-1]][: code.size]
        first_answer = np.flatnonzero(begins)
        cell_item, cell_label = np.divmod(code[first_answer], max(votes.labels, 1))
        opens = np.r_[True, cell_item[1:] != cell_item[:-1]][: cell_item.size]
        first_cell = np.flatnonzero(opens)
        group_item = cell_item[first_cell]
        cell_group = np.cumsum(opens) - 1
        anchor = anchors[cell_item].astype(np.int64)
        anchored = anchors[group_item] != NO_LABEL
        left = votes.labels - np.diff(first_cell, append=cell_item.size)
        met = np.bincount(cell_group[anchor == cell_label], minlength=group_item.size)
        return cls(
            annotator=votes.annotator[order].astype(np.intp),
            cell=np.cumsum(begins) - 1,
            first_answer=first_answer,
            cell_answers=np.diff(first_answer, append=code.size),
            cell_label=cell_label,
            cell_group=cell_group,
            first_cell=first_cell,
            first_of_item=first_answer[first_cell],
            group_answers=np.diff(first_answer[first_cell], append=code.size),
            group_item=group_item,
            ruled_out=(anchor != NO_LABEL) & (anchor != cell_label),
            group_anchored=anchored,
            others=np.where(anchored, 1.0 - met, left),
            wrong_answers=float(max(votes.labels - 1, 1)),
            open_answers=open_answers,
            annotators=votes.annotators,
            items=votes.items,
            labels=votes.labels,
        )

    def with_wrong_answers(self, wrong_answers: float) -> Candidates:
        """Return a copy with another number of equally likely wrong answers, 1 or more.

        An item then has `wrong_answers` + 1 possible labels, and `others` is the number of those that nobody gave. If the
        answers are open, at least one label that nobody gave stays possible.
        """
        given = np.diff(self.first_cell, append=self.cell_label.size)
        left = np.maximum(wrong_answers + 1 - given, 1.0 if self.open_answers else 0.0)
        return replace(
            self, wrong_answers=wrong_answers, others=np.where(self.group_anchored, self.others, left)
        )

    def posterior(self, odds: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Compute the probability of each candidate from its log odds against a single label that nobody gave.

        Args:
            odds: shape (cells,); modified in place for cells that an anchor rules out.

        Returns:
            The probability of each cell's label, shape (cells,); the probability of each single label that nobody gave,
            shape (groups,), undefined if `others` is 0; and the log of their normalising constant, shape (groups,).
        """
        odds[self.ruled_out] = -np.inf
        highest = np.maximum.reduceat(odds, self.first_cell) if odds.size else odds
        highest = np.where(self.others > 0, np.maximum(highest, 0.0), highest)
        share = np.exp(odds - highest[self.cell_group])
        other = np.exp(-np.where(self.others > 0, highest, 0.0))
        total = sums(share, self.first_cell) + self.others * other
        return share / total[self.cell_group], other / total, np.log(total) + highest

    def most_probable(self, anchors: IntArray, probability: FloatArray, other: FloatArray) -> IntArray:
        """Find the most probable label of each item, shape (items,); on a tie there is no label.

        Args:
            anchors: shape (items,), known labels, -1 if unknown.
            probability: shape (cells,), the probability of each cell's label.
            other: shape (groups,), the probability of each single label that nobody gave, 0 if there is none.
        """
        label = np.full(self.items, NO_LABEL, dtype=np.int32)
        if probability.size:
            groups = self.group_item.size
            best = np.maximum(np.maximum.reduceat(probability, self.first_cell), other)
            among = probability >= best[self.cell_group] - TIE
            of_others = other >= best - TIE
            # An open answer that nobody gave has no text: if it is as probable as the best label, the item has no label.
            unnamed = np.full(groups, np.inf) if self.open_answers else self.others
            tied = np.bincount(self.cell_group[among], minlength=groups) + np.where(of_others, unnamed, 0.0)
            # If the only label that nobody gave is the best, its code is 0 + 1 + ... + (labels - 1) minus the given codes.
            given = np.bincount(self.cell_group, self.cell_label, minlength=groups)
            chosen = self.labels * (self.labels - 1) // 2 - given.astype(np.int64)
            chosen[self.cell_group[among]] = self.cell_label[among]
            decided = tied == 1
            label[self.group_item[decided]] = chosen[decided]
        return np.where(anchors == NO_LABEL, label, anchors).astype(np.int32)

    def calibrated_confidence(
        self,
        label: IntArray,
        anchors: IntArray,
        probability: FloatArray,
        other: FloatArray,
        power: FloatArray,
    ) -> FloatArray:
        """Compute the calibrated probability of the most probable label: probabilities are raised to a power and normalised.

        Args:
            label: shape (items,), the most probable labels, -1 if there is none.
            anchors: shape (items,), known labels, -1 if unknown.
            probability: shape (cells,), the probability of each cell's label.
            other: shape (groups,), the probability of each single label that nobody gave.
            power: shape (items,), above 0.

        Returns:
            Shape (items,), 1 for known labels, NaN for items without a label.
        """
        found = np.full(self.items, np.nan)
        if probability.size:
            other = np.where(self.others > 0, other, 0.0)
            best = np.maximum(np.maximum.reduceat(probability, self.first_cell), other)
            exponent = power[self.group_item]
            share = (probability / best[self.cell_group]) ** exponent[self.cell_group]
            total = sums(share, self.first_cell) + self.others * (other / best) ** exponent
            found[self.group_item] = 1 / total
        found[label == NO_LABEL] = np.nan
        found[anchors != NO_LABEL] = 1.0
        return found

    def table(self, anchors: IntArray, probability: FloatArray, other: FloatArray) -> FloatArray | None:
        """Build the table of the probabilities of every label of every item, shape (items, labels).

        Returns None if the table would be too large. It also returns None for open answers, because an item's
        probabilities are not defined for the strings given to other items.
        """
        if self.open_answers or self.items * self.labels > LARGEST_POSTERIOR:
            return None
        table = np.full((self.items, self.labels), 1 / max(self.labels, 1))
        table[self.group_item] = other[:, None]
        table[self.group_item[self.cell_group], self.cell_label] = probability
        anchored = np.flatnonzero(anchors != NO_LABEL)
        table[anchored] = 0.0
        table[anchored, anchors[anchored]] = 1.0
        return table


def sums(values: FloatArray, first: NDArray[np.intp]) -> FloatArray:
    """Sum consecutive runs of values that begin at the indices `first`."""
    return np.add.reduceat(values, first) if first.size else np.zeros(0)
