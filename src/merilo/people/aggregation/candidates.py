"""Candidate labels of each item as sparse arrays: the labels that it got, and all other labels together."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from merilo.people.aggregation.consensus import NO_LABEL, TIE, Consensus, Fit, modelled
from merilo.people.votes import IntArray, Votes, run_starts, sorting_order
from merilo.statistics import FloatArray

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
        others: shape (groups,), the number of possible labels that nobody gave; for open answers an estimate,
            at least 1.
        wrong_answers: the number of equally likely wrong answers to an item: labels - 1, or an estimate of it.
        open_answers: whether the labels that nobody gave to the item are unknown; the consensus is then never
            such a label.
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
        first_answer = run_starts(code)
        cell_item, cell_label = np.divmod(code[first_answer], max(votes.labels, 1))
        first_cell = run_starts(cell_item)
        group_item = cell_item[first_cell]
        cell_answers = np.diff(first_answer, append=code.size)
        group_cells = np.diff(first_cell, append=cell_item.size)
        cell_group = np.repeat(np.arange(group_item.size), group_cells)
        anchor = anchors[cell_item].astype(np.int64)
        anchored = anchors[group_item] != NO_LABEL
        met = np.bincount(cell_group[anchor == cell_label], minlength=group_item.size)
        return cls(
            annotator=votes.annotator[order].astype(np.intp),
            cell=np.repeat(np.arange(cell_item.size), cell_answers),
            first_answer=first_answer,
            cell_answers=cell_answers,
            cell_label=cell_label,
            cell_group=cell_group,
            first_cell=first_cell,
            first_of_item=first_answer[first_cell],
            group_answers=np.diff(first_answer[first_cell], append=code.size),
            group_item=group_item,
            ruled_out=(anchor != NO_LABEL) & (anchor != cell_label),
            group_anchored=anchored,
            others=np.where(anchored, 1.0 - met, votes.labels - group_cells),
            wrong_answers=float(max(votes.labels - 1, 1)),
            open_answers=open_answers,
            annotators=votes.annotators,
            items=votes.items,
            labels=votes.labels,
        )

    def with_wrong_answers(self, wrong_answers: float) -> Candidates:
        """Return a copy with another number of equally likely wrong answers, 1 or more.

        An item then has `wrong_answers` + 1 possible labels, and `others` is the number of those that nobody
        gave. If the answers are open, at least one label that nobody gave stays possible.
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
            shape (groups,), 0 if there is none; and the log of their normalising constant, shape (groups,).
        """
        odds[self.ruled_out] = -np.inf
        highest = np.maximum.reduceat(odds, self.first_cell) if odds.size else odds
        highest = np.where(self.others > 0, np.maximum(highest, 0.0), highest)
        share = np.exp(odds - highest[self.cell_group])
        other = np.where(self.others > 0, np.exp(-np.maximum(highest, 0.0)), 0.0)
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
            # An open answer that nobody gave has no text: if it is as probable as the best label, the item
            # has no label.
            unnamed = np.full(groups, np.inf) if self.open_answers else self.others
            tied = np.bincount(self.cell_group[among], minlength=groups) + np.where(of_others, unnamed, 0.0)
            # If the only label that nobody gave is the best, its code is 0 + 1 + ... + (labels - 1) minus the
            # given codes.
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
        """Compute the calibrated probability of the most probable label.

        Probabilities are raised to a power and normalised.

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


#: The correlations that are tried; the estimate is interpolated between them.
CORRELATIONS: Final = np.geomspace(0.01, 1.5, 16)

#: The prior on the correlation: log-normal, its median and the standard deviation of its logarithm. It
#: decides where held-out
#: answers say little (with three answers an item a held-out answer is predicted from two). On the eight
#: public crowds of
#: `benchmarks/crowds.py` the estimates are between 0.15 and 0.55 with or without the prior.
MEDIAN: Final = 0.3
LOG_SPREAD: Final = 1.0

#: Limits of the accuracies from which a held-out answer's item is judged, and of those that are fitted to
#: held-out answers.
ACCURACY_LIMITS: Final = (0.02, 0.98)
FITTED_LIMITS: Final = (0.005, 0.995)

#: Pseudo-answers that shrink an annotator's accuracy to the mean of the crowd.
ANSWERS_BEFOREHAND: Final = 4.0

#: Steps of expectation-maximisation for the accuracies: for the first correlation, and for each further one.
FIRST_STEPS, STEPS = 20, 5

#: With more answers than this, the correlation is estimated from the answers to some of the items, drawn with
#: a fixed seed.
MOST_ANSWERS: Final = 20_000


def error_correlation(
    votes: Votes,
    accuracy: FloatArray,
    *,
    anchors: IntArray,
    wrong_answers: float,
    open_answers: bool,
) -> float:
    """Estimate the correlation of annotators' errors on an item by predicting held-out answers.

    Each answer is predicted from the other n - 1 answers to its item. These give log odds between labels by
    the one-coin model. If errors have the correlation r, the n - 1 answers count as (n - 1) / (1 + (n - 2) r)
    independent ones, so the log odds are divided by 1 + (n - 2) r. With q the resulting probability that the
    held-out answer is the true label, its annotator a gives it with probability q p[a] + (1 - q) (1 - p[a]) /
    m, where m is the number of wrong answers. The accuracies p are fitted to the held-out answers for each r.
    The estimate maximises the likelihood of all held-out answers times a weak prior. Gold answers are not used.

    Args:
        votes: the answers.
        accuracy: shape (annotators,), the expected share of right answers of each annotator; NaN if unknown.
        anchors: shape (items,), known labels, -1 if unknown; items with a known label are left out.
        wrong_answers: the number m of equally likely wrong answers to an item.
        open_answers: whether labels are typed freely.

    Returns:
        The correlation, from 0.01 to 1.5; the median of the prior if no item has two answers.

    References:
        R. T. Clemen, R. L. Winkler (1985), Limits for the precision and value of information from dependent sources,
        Operations Research 33(2) (n dependent sources count as n / (1 + (n - 1) r) independent ones).
        C. C. Holmes, S. G. Walker (2017), Assigning a value to a power likelihood in a general Bayesian
        model, Biometrika 104(2); C. Guo et al. (2017), On calibration of modern neural networks, ICML (one
        power for all probabilities). M. Stone (1974), Cross-validatory choice and assessment of statistical
        predictions, JRSS B 36(2).
    """
    votes = _informative(votes, anchors)
    if not len(votes):
        return MEDIAN
    candidates = Candidates.of(votes, np.full(votes.items, NO_LABEL, np.int32), open_answers=open_answers)
    candidates = candidates.with_wrong_answers(wrong_answers)
    annotator = candidates.annotator
    answers = np.bincount(annotator, minlength=votes.annotators)
    known = np.where(np.isnan(accuracy), 0.0, accuracy)
    mean = float((known * answers).sum()) / max(float(answers[~np.isnan(accuracy)].sum()), 1.0)
    shrunk = (np.where(np.isnan(accuracy), mean, accuracy) * answers + ANSWERS_BEFOREHAND * mean) / (
        answers + ANSWERS_BEFOREHAND
    )
    start = np.clip(shrunk, *ACCURACY_LIMITS)
    gain = (np.log(start) - np.log1p(-start) + np.log(wrong_answers))[annotator]
    evidence = HeldOutEvidence.of(candidates, gain)
    fitted, steps = start, FIRST_STEPS
    support = np.empty(CORRELATIONS.size)
    for place, correlation in enumerate(CORRELATIONS):
        belief = evidence.belief(float(correlation))
        fitted, likelihood = _fit(
            annotator, belief, fitted, answers, wrong_answers=wrong_answers, steps=steps
        )
        support[place] = likelihood - 0.5 * (np.log(correlation / MEDIAN) / LOG_SPREAD) ** 2
        steps = STEPS
    return _highest(support)


def evidence_power(answers: NDArray[np.intp], correlation: float) -> FloatArray:
    """Compute by how much the log odds of an item are multiplied: 1 / (1 + (answers - 1) correlation).

    Args:
        answers: shape (items,), the number of answers to each item.
        correlation: the correlation of errors.

    Returns:
        Shape (items,), 1 for items with at most one answer.

    Example:
        >>> evidence_power(np.array([0, 1, 5, 21]), 0.25).tolist()
        [1.0, 1.0, 0.5, 0.16666666666666666]
    """
    return np.asarray(1.0 / (1.0 + np.maximum(answers - 1, 0) * correlation), dtype=np.float64)


def consensus_of(
    candidates: Candidates,
    votes: Votes,
    anchors: IntArray,
    probabilities: tuple[FloatArray, FloatArray],
    *,
    accuracy: FloatArray,
    fit: Fit,
) -> Consensus:
    """Decide every item by the probabilities of its candidates, calibrated for correlated errors.

    Args:
        candidates: the candidates of each item.
        votes: the answers.
        anchors: shape (items,), known labels, -1 if unknown.
        probabilities: of each cell's label, shape (cells,), and of each single label that nobody gave, shape (groups,).
        accuracy: shape (annotators,), the expected share of right answers of each annotator; NaN if unknown.
        fit: the model.
    """
    correlation = error_correlation(
        votes,
        accuracy,
        anchors=anchors,
        wrong_answers=candidates.wrong_answers,
        open_answers=candidates.open_answers,
    )
    power = evidence_power(np.bincount(votes.item, minlength=votes.items), correlation)
    label = candidates.most_probable(anchors, *probabilities)
    confidence = candidates.calibrated_confidence(label, anchors, *probabilities, power)
    posterior = candidates.table(anchors, *probabilities)
    fit = replace(fit, posterior=posterior, error_correlation=correlation, power=power)
    return modelled(label, confidence, anchors, fit)


@dataclass(frozen=True, slots=True)
class HeldOutEvidence:
    """The log odds of the labels of each item, with and without each answer.

    Attributes:
        candidates: the candidates of each item; every item has at least two answers.
        odds: shape (cells,), the log odds of each cell's label against a label that nobody gave.
        left: shape (n,), the log odds of each answer's label without this answer.
        top: shape (cells,), true for one label with the largest log odds of each item.
    """

    candidates: Candidates
    odds: FloatArray
    left: FloatArray
    top: NDArray[np.bool_]

    @classmethod
    def of(cls, candidates: Candidates, gain: FloatArray) -> HeldOutEvidence:
        """Sum the evidence.

        Args:
            candidates: the candidates of each item; every item has at least two answers.
            gain: shape (n,), by how much an answer raises the log odds of its label, in the order of `candidates`.
        """
        odds = sums(gain, candidates.first_answer)
        ranked = np.lexsort((odds, candidates.cell_group))
        top = np.zeros(odds.size, dtype=np.bool_)
        top[ranked[np.r_[candidates.first_cell[1:], odds.size] - 1]] = True
        return cls(candidates, odds, odds[candidates.cell] - gain, top)

    def belief(self, correlation: float) -> FloatArray:
        """Compute the probability of each answer's label from the other answers to its item, shape (n,).

        Args:
            correlation: the correlation of errors.
        """
        candidates = self.candidates
        group, cell = candidates.cell_group, candidates.cell
        power = evidence_power(candidates.group_answers - 1, correlation)[group]
        raised = power * self.odds
        highest = raised[self.top]
        highest = np.where(candidates.others > 0, np.maximum(highest, 0.0), highest)
        share = np.exp(raised - highest[group])
        unnamed = candidates.others * np.exp(-highest)
        # The rest is not computed as total - share for the largest share, which would cancel.
        below = sums(np.where(self.top, 0.0, share), candidates.first_cell) + unnamed
        rest = below[group] + np.where(self.top, 0.0, share[self.top][group] - share)
        own = np.exp(power[cell] * self.left - highest[group[cell]])
        return np.asarray(own / np.maximum(own + rest[cell], np.finfo(float).tiny))


def _fit(
    annotator: NDArray[np.intp],
    belief: FloatArray,
    accuracy: FloatArray,
    answers: NDArray[np.intp],
    *,
    wrong_answers: float,
    steps: int,
) -> tuple[FloatArray, float]:
    """Fit accuracies to held-out answers; the accuracies, shape (annotators,), and the log-likelihood."""
    wrong = (1.0 - belief) / wrong_answers
    for _ in range(steps):
        own = accuracy[annotator]
        right = belief * own
        share = right / (right + wrong * (1.0 - own))
        expected = np.bincount(annotator, share, accuracy.size) + ANSWERS_BEFOREHAND * share.mean()
        accuracy = np.clip(expected / (answers + ANSWERS_BEFOREHAND), *FITTED_LIMITS)
    own = accuracy[annotator]
    return accuracy, float(np.log(belief * own + wrong * (1.0 - own)).sum())


def _highest(support: FloatArray) -> float:
    """Find the correlation of the largest support, by a parabola through it and its neighbours on the log scale."""
    place = int(support.argmax())
    log, step = np.log(CORRELATIONS), np.log(CORRELATIONS[1] / CORRELATIONS[0])
    if not 0 < place < support.size - 1:
        return float(CORRELATIONS[place])
    before, at, after = support[place - 1 : place + 2]
    bend = before - 2 * at + after
    return float(np.exp(log[place] + (0.5 * step * (before - after) / bend if bend < 0 else 0.0)))


def _informative(votes: Votes, anchors: IntArray) -> Votes:
    """Select the answers to items that have another answer and no known label.

    Not more than `MOST_ANSWERS`, by whole items.
    """
    answers = np.bincount(votes.item, minlength=votes.items)
    usable = np.flatnonzero((answers > 1) & (anchors == NO_LABEL))
    if answers[usable].sum() > MOST_ANSWERS:
        drawn = np.random.default_rng(0).permutation(usable)
        usable = drawn[: max(1, int(np.searchsorted(np.cumsum(answers[drawn]), MOST_ANSWERS)))]
    kept = np.zeros(votes.items, dtype=np.bool_)
    kept[usable] = True
    return votes.where(kept[votes.item])
