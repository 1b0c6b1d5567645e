"""The candidates of each item: the labels that it got, and all others together, as sparse arrays."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from merilo.people.aggregation.consensus import NO_LABEL, TIE
from merilo.people.votes import IntArray, Votes, sorting_order
from merilo.statistics.arrays import FloatArray

#: Above so many items x labels the table of probabilities is not made; labels are, from the answers given.
LARGEST_POSTERIOR = 200_000_000


@dataclass(frozen=True, slots=True)
class Candidates:
    """Answers sorted by item and label; memory grows with the answers, whatever the number of labels.

    A cell is an item with one label that somebody gave it. A group is an item that has votes.

    Attributes:
        annotator: shape (n,), the annotator of each answer.
        cell: shape (n,), which cell an answer belongs to.
        first_answer: shape (cells,), where a cell's answers begin.
        cell_answers: shape (cells,), how many answers it has.
        cell_label: shape (cells,).
        cell_group: shape (cells,), the cell's place among the items that have votes.
        first_cell: shape (groups,), where the cells of an item with votes begin.
        first_of_item: shape (groups,), where its answers begin.
        group_answers: shape (groups,), how many answers the item has.
        group_item: shape (groups,), the item.
        ruled_out: shape (cells,), true where an anchor says that it is another label.
        group_anchored: shape (groups,), true where the item's label is known.
        others: shape (groups,), how many labels that nobody gave are still possible; for open answers an estimate, at least 1.
        wrong_answers: how many wrong answers an item has, equally likely: labels - 1, or an estimate of it.
        open_answers: whether labels that nobody gave to the item are unknown: they can then be no item's label.
        annotators: how many annotators there are.
        items: how many items there are.
        labels: how many labels there are.
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
        """Sort the answers once, so that everything after is sums over neighbours.

        Args:
            votes: the answers.
            anchors: shape (items,), known labels, -1 where unknown.
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
        """The same with another number of equally likely wrong answers, 1 or more: what is left of them and the right one.

        At least one answer that nobody gave stays possible where answers are open.
        """
        given = np.diff(self.first_cell, append=self.cell_label.size)
        left = np.maximum(wrong_answers + 1 - given, 1.0 if self.open_answers else 0.0)
        return replace(
            self, wrong_answers=wrong_answers, others=np.where(self.group_anchored, self.others, left)
        )

    def posterior(self, odds: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """The probability of each candidate from its log odds against a single label that nobody gave.

        Args:
            odds: shape (cells,); changed where an anchor rules the cell out.

        Returns:
            The probability of each cell's label, shape (cells,); of each single label that nobody gave, shape (groups,),
            meaningless where `others` is 0; and the log of the sum that both were divided by, shape (groups,).
        """
        odds[self.ruled_out] = -np.inf
        highest = np.maximum.reduceat(odds, self.first_cell) if odds.size else odds
        highest = np.where(self.others > 0, np.maximum(highest, 0.0), highest)
        share = np.exp(odds - highest[self.cell_group])
        other = np.exp(-np.where(self.others > 0, highest, 0.0))
        total = sums(share, self.first_cell) + self.others * other
        return share / total[self.cell_group], other / total, np.log(total) + highest

    def most_probable(
        self, anchors: IntArray, probability: FloatArray, other: FloatArray
    ) -> tuple[IntArray, FloatArray]:
        """The most probable label of each item and its probability, shapes (items,); no label on a tie.

        Args:
            anchors: shape (items,), known labels, -1 where unknown.
            probability: shape (cells,), of each cell's label.
            other: shape (groups,), of each single label that nobody gave, 0 where there is none.
        """
        label = np.full(self.items, NO_LABEL, dtype=np.int32)
        confidence = np.full(self.items, np.nan)
        if probability.size:
            groups = self.group_item.size
            best = np.maximum(np.maximum.reduceat(probability, self.first_cell), other)
            among = probability >= best[self.cell_group] - TIE
            of_others = other >= best - TIE
            # Nobody can name an open answer that nobody gave: where it is as probable as the best one, there is no label.
            unnamed = np.full(groups, np.inf) if self.open_answers else self.others
            tied = np.bincount(self.cell_group[among], minlength=groups) + np.where(of_others, unnamed, 0.0)
            # Where the one label that nobody gave is the best, it is what the given ones leave of 0 + 1 + ... + (labels - 1).
            given = np.bincount(self.cell_group, self.cell_label, minlength=groups)
            chosen = self.labels * (self.labels - 1) // 2 - given.astype(np.int64)
            chosen[self.cell_group[among]] = self.cell_label[among]
            decided = tied == 1
            label[self.group_item[decided]] = chosen[decided]
            confidence[self.group_item[decided]] = best[decided]
        anchored = anchors != NO_LABEL
        label[anchored] = anchors[anchored]
        confidence[anchored] = 1.0
        return label, confidence

    def table(self, anchors: IntArray, probability: FloatArray, other: FloatArray) -> FloatArray | None:
        """The probability of every label of every item, shape (items, labels).

        None where the table would be too large. None for open answers, too: there it would say what one item's candidates
        mean to the strings of all other items.
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
    """Sums over runs of neighbours that begin at `first`."""
    return np.add.reduceat(values, first) if first.size else np.zeros(0)
