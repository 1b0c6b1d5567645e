"""Candidate labels of each item as sparse arrays: the labels that it got, and all other labels together."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from merilo.people.aggregation import NO_LABEL, TIE, is_open
from merilo.people.votes import IntArray, Votes, run_starts, sorting_order
from merilo.statistics import FloatArray

#: The prior on the accuracy of all annotators: pseudo-answers, and the right ones among them.
ANSWERS_BEFOREHAND: Final = 3.0
RIGHT_BEFOREHAND: Final = 2.0

#: The prior probability that two wrong answers coincide is 1 / 10, with the weight of five pairs.
WRONG_BEFOREHAND: Final = 10.0
PAIRS_BEFOREHAND: Final = 5.0

#: Rounds in which the number of wrong answers is estimated again at most; the last one moves its logarithm by less.
ROUNDS: Final = 100
STEADY: Final = 0.01

#: The weight of an answer of somebody who guesses.
_LEAST_LOG_ODDS: Final = 1e-6


@dataclass(frozen=True, slots=True)
class Candidates:
    """Answers sorted by item and label; memory grows with the number of answers and not with that of labels.

    A cell is a pair of an item and a label that somebody gave it. A group is an item that has votes.

    Attributes:
        votes: the answers.
        annotator: shape (n,), the annotator of each answer.
        cell: shape (n,), the cell of each answer.
        first_answer: shape (cells,), the index of the cell's first answer.
        cell_answers: shape (cells,), the number of the cell's answers.
        cell_label: shape (cells,), the cell's label.
        cell_group: shape (cells,), the cell's group.
        first_cell: shape (groups,), the index of the group's first cell.
        group_answers: shape (groups,), the number of the group's answers.
        group_item: shape (groups,), the group's item.
        others: shape (groups,), the number of possible labels that nobody gave; for open answers an estimate,
            at least 1.
        wrong_answers: the number of equally likely wrong answers to an item: labels - 1, or an estimate of it.
        open_answers: whether the labels that nobody gave to the item are unknown; the consensus is then never
            such a label.
    """

    votes: Votes
    annotator: NDArray[np.intp]
    cell: NDArray[np.intp]
    first_answer: NDArray[np.intp]
    cell_answers: NDArray[np.intp]
    cell_label: NDArray[np.int64]
    cell_group: NDArray[np.intp]
    first_cell: NDArray[np.intp]
    group_answers: NDArray[np.intp]
    group_item: NDArray[np.int64]
    others: FloatArray
    wrong_answers: float
    open_answers: bool

    @classmethod
    def of(
        cls, votes: Votes, wrong_answers: float | None = None, *, open_answers: bool = False
    ) -> Candidates:
        """Sort the answers by item and label, so that all later computations are sums over consecutive runs.

        Args:
            votes: the answers.
            wrong_answers: the number of equally likely wrong answers to an item; by default labels - 1.
            open_answers: whether the answers are open.
        """
        code = votes.item.astype(np.int64) * votes.labels + votes.label
        order = sorting_order(code)
        code = code[order]
        first_answer = run_starts(code)
        cell_item, cell_label = np.divmod(code[first_answer], max(votes.labels, 1))
        first_cell = run_starts(cell_item)
        cell_answers = np.diff(first_answer, append=code.size)
        candidates = cls(
            votes,
            annotator=votes.annotator[order].astype(np.intp),
            cell=np.repeat(np.arange(cell_item.size), cell_answers),
            first_answer=first_answer,
            cell_answers=cell_answers,
            cell_label=cell_label,
            cell_group=np.repeat(np.arange(first_cell.size), np.diff(first_cell, append=cell_item.size)),
            first_cell=first_cell,
            group_answers=np.diff(first_answer[first_cell], append=code.size),
            group_item=cell_item[first_cell],
            others=np.zeros(first_cell.size),
            wrong_answers=0.0,
            open_answers=open_answers,
        )
        return candidates.with_wrong_answers(wrong_answers or max(votes.labels - 1, 1))

    def with_wrong_answers(self, wrong_answers: float) -> Candidates:
        """Return a copy with another number of equally likely wrong answers, 1 or more.

        An item then has `wrong_answers` + 1 possible labels, and `others` is the number of those that nobody
        gave. If the answers are open, at least one label that nobody gave stays possible.
        """
        labels = wrong_answers + 1 if self.open_answers else self.votes.labels
        left = np.maximum(labels - self.labels_given, 1.0 if self.open_answers else 0.0)
        return replace(self, wrong_answers=float(wrong_answers), others=left)

    @property
    def labels_given(self) -> NDArray[np.intp]:
        """How many labels each item got, shape (groups,)."""
        return np.diff(self.first_cell, append=self.cell_label.size)

    def posterior(self, odds: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Compute the probability of each candidate from its log odds against a single label that nobody gave.

        Args:
            odds: shape (cells,).

        Returns:
            The probability of each cell's label, shape (cells,); the probability of each single label that nobody gave,
            shape (groups,), 0 if there is none; and the log of their normalising constant, shape (groups,).
        """
        highest = np.maximum.reduceat(odds, self.first_cell) if odds.size else odds
        highest = np.where(self.others > 0, np.maximum(highest, 0.0), highest)
        share = np.exp(odds - highest[self.cell_group])
        other = np.where(self.others > 0, np.exp(-np.maximum(highest, 0.0)), 0.0)
        total = sums(share, self.first_cell) + self.others * other
        return share / total[self.cell_group], other / total, np.log(total) + highest

    def most_probable(self, probability: FloatArray, other: FloatArray) -> tuple[IntArray, FloatArray]:
        """Find the most probable label of each item and its probability, shape (items,); on a tie there is no label.

        Args:
            probability: shape (cells,), the probability of each cell's label.
            other: shape (groups,), the probability of each single label that nobody gave, 0 if there is none.
        """
        items, labels = self.votes.items, self.votes.labels
        label, confidence = np.full(items, NO_LABEL, dtype=np.int32), np.full(items, np.nan)
        if not probability.size:
            return label, confidence
        groups = self.group_item.size
        best = np.maximum(np.maximum.reduceat(probability, self.first_cell), other)
        among = probability >= best[self.cell_group] - TIE
        # An open answer that nobody gave has no text: if it is as probable as the best label, the item has no label.
        unnamed = np.full(groups, np.inf) if self.open_answers else self.others
        tied = np.bincount(self.cell_group[among], minlength=groups)
        tied = tied + np.where(other >= best - TIE, unnamed, 0.0)
        # If the only label that nobody gave is the best, its code is 0 + 1 + ... + (labels - 1) minus the given codes.
        label_codes = np.bincount(self.cell_group, self.cell_label, minlength=groups)
        chosen = labels * (labels - 1) // 2 - label_codes.astype(np.int64)
        chosen[self.cell_group[among]] = self.cell_label[among]
        label[self.group_item[tied == 1]] = chosen[tied == 1]
        confidence[self.group_item] = best
        return label, confidence


def sums(values: FloatArray, first: NDArray[np.intp]) -> FloatArray:
    """Sum consecutive runs of values that begin at the indices `first`."""
    return np.add.reduceat(values, first) if first.size else np.zeros(0)


def wrong_answers(votes: Votes, *, open_answers: bool | None = None) -> float:
    """Estimate the number m of equally likely wrong answers to an item, from 1 to labels - 1.

    With closed answers it is labels - 1. With open answers 1 / m is the share of pairs of wrong answers to one item
    that coincide. Which answers are wrong is estimated as if all annotators had the same accuracy: the probability
    of each answer, the accuracy and m are computed in turn until m is stable, starting from the shares of votes.
    """
    if not is_open(votes, open_answers):
        return float(max(votes.labels - 1, 1))
    candidates = Candidates.of(votes, open_answers=True)
    answers = candidates.group_answers[candidates.cell_group]
    probability = candidates.cell_answers / answers
    telling = candidates.cell_answers * (answers > 1)
    wrong = candidates.wrong_answers
    for _ in range(ROUNDS):
        before, wrong = wrong, _coincidences(candidates, probability)
        if abs(np.log(wrong / before)) < STEADY:
            break
        right = (float(telling @ probability) + RIGHT_BEFOREHAND) / (telling.sum() + ANSWERS_BEFOREHAND)
        candidates = candidates.with_wrong_answers(wrong)
        gain = max(float(np.log(right / (1 - right) * wrong)), 0.0)
        probability, _, _ = candidates.posterior(np.asarray(gain * candidates.cell_answers, np.float64))
    return wrong


def _coincidences(candidates: Candidates, probability: FloatArray) -> float:
    """Estimate the number of wrong answers from how often two wrong answers to an item coincide."""

    def pairs(answers: NDArray[np.intp]) -> FloatArray:
        return answers * (answers - 1) / 2.0

    rest = candidates.group_answers[candidates.cell_group] - candidates.cell_answers
    coincide = float(((1 - probability) * pairs(candidates.cell_answers)).sum())
    none = 1 - sums(probability, candidates.first_cell)
    both = float((probability * pairs(rest)).sum() + (none * pairs(candidates.group_answers)).sum())
    estimate = (both + PAIRS_BEFOREHAND) / (coincide + PAIRS_BEFOREHAND / WRONG_BEFOREHAND)
    return float(min(max(estimate, 1.0), max(candidates.votes.labels - 1, 1)))


def log_odds(accuracy: FloatArray, wrong_answers: float) -> FloatArray:
    """Return the log odds of a correct answer against one particular of the equally likely wrong ones.

    Accuracies are limited to 0.01 to 0.99. The log odds are positive: of somebody who guesses, or worse, they are
    negligible.
    """
    limited = np.clip(accuracy, 0.01, 0.99)
    return np.asarray(np.maximum(np.log(limited / (1 - limited) * wrong_answers), _LEAST_LOG_ODDS))
