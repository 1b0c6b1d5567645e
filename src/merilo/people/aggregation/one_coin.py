"""The one-coin model: one accuracy for each annotator, for both open and closed answers."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final, NamedTuple

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from merilo.errors import UsageError
from merilo.people.aggregation.candidates import (
    Candidates,
    consensus_of,
    sums,
)
from merilo.people.aggregation.consensus import NO_LABEL, Consensus, Fit, anchor_labels, is_open
from merilo.people.votes import IntArray, Votes
from merilo.statistics import FloatArray

#: Pseudo-counts of the prior on the crowd's mean accuracy: all answers, and the right ones among them.
ANSWERS_BEFOREHAND: Final = 3.0
RIGHT_BEFOREHAND: Final = 2.0

#: The strengths of the prior on accuracies that are tried, in answers.
STRENGTHS: Final = np.geomspace(1.0, 500.0, 40)

#: The prior probability that two wrong answers coincide is 1 / 10, with the weight of five pairs.
WRONG_BEFOREHAND: Final = 10.0
PAIRS_BEFOREHAND: Final = 5.0

#: Rounds in which the prior and the number of wrong answers are estimated again.
ROUNDS: Final = 10

#: A round that moves the mean accuracy, and the logs of strength and of wrong answers, by less than this is the last.
STEADY: Final = 0.01

#: The weight of an answer of somebody who guesses.
_LEAST_LOG_ODDS: Final = 1e-6


class OneCoinParameters(NamedTuple):
    """The parameters that all annotators of a pool share.

    Attributes:
        accuracy: the mean of the beta prior on an annotator's accuracy, 0 to 1.
        strength: the weight of this prior, in answers.
        wrong_answers: the number m of equally likely wrong answers to an item; two wrong answers coincide
            with probability 1 / m.
    """

    accuracy: float
    strength: float
    wrong_answers: float


def one_coin(
    votes: Votes,
    *,
    anchors: ArrayLike | None = None,
    open_answers: bool | None = None,
    tolerance: float = 1e-8,
    iterations: int = 1000,
) -> Consensus:
    """Aggregate by the one-coin model, in which each annotator has one accuracy for all items.

    Annotator `a` is right with probability `p[a]`; otherwise they give each of `m` wrong answers with equal
    probability. An item's candidates are the labels that it got and "none of these", so time and memory grow
    with the number of answers and not with that of labels. Accuracies have a beta prior, whose mean and
    strength are estimated from the crowd (empirical Bayes), so an annotator with few answers has an accuracy
    close to the mean. With closed answers `m` is labels - 1. With open answers it is estimated: 1 / m is the
    share of pairs of wrong answers to one item that coincide, and m is at most labels - 1. Items with a
    single answer do not contribute to the accuracies. Expectation-maximisation starts from the shares of
    votes, so there is no seed.

    Args:
        votes: the answers.
        anchors: shape (items,), the code of the known label, -1 if unknown.
        open_answers: whether labels are typed freely; if None, inferred from their number (see `is_open`).
        tolerance: stop when an iteration gains less than this in log-likelihood per answer; 0 runs all iterations.
        iterations: the maximum number of iterations in each round of expectation-maximisation; a fit that reaches it is
            marked as not converged.

    Returns:
        The consensus, with the fit: fitted accuracies as `quality` (the crowd's mean for annotators without
        answers) and `m` as `wrong_answers`. Confidences are calibrated for correlated errors
        (`candidates.error_correlation`). `log_likelihood` is that of the last round and includes the log
        density of the prior. Items without votes, or whose best labels are equally probable, are unresolved.

    Raises:
        UsageError: an anchor is not a label, the number of anchors is not the number of items, or a parameter
            is out of range.

    References:
        Y. Zhang et al., Spectral Methods Meet EM: A Provably Optimal Algorithm for Crowdsourcing, JMLR 17, 2016 (the
        one-coin model); the sparse candidates, the prior and the estimate of `m` are Merilo's.

    Example:
        >>> votes = Votes(*np.array([[0, 0, 0, 1, 1, 1], [0, 1, 2, 0, 1, 2], [1, 1, 0, 0, 0, 1]]), 2, 3, 2)
        >>> consensus = one_coin(votes)
        >>> consensus.label.tolist(), consensus.fit.converged, consensus.fit.quality.argmin()
        ([1, 0], True, np.int64(2))
    """
    known = anchor_labels(anchors, votes)
    opened = is_open(votes, open_answers)
    return fit_one_coin(votes, known, opened, tolerance=tolerance, iterations=iterations).consensus(
        votes, known, tolerance
    )


def wrong_answers(
    votes: Votes, *, anchors: ArrayLike | None = None, open_answers: bool | None = None
) -> float:
    """Estimate the number of equally likely wrong answers to an item.

    Args:
        votes: the answers.
        anchors: shape (items,), the code of the known label, -1 if unknown.
        open_answers: whether labels are typed freely; if None, inferred from their number.

    Returns:
        With closed answers labels - 1; with open answers the inverse of the probability that two wrong
        answers coincide, from 1 to labels - 1.
    """
    if not is_open(votes, open_answers):
        return float(max(votes.labels - 1, 1))
    known = anchor_labels(anchors, votes)
    return fit_one_coin(votes, known, True, tolerance=1e-6, iterations=200).candidates.wrong_answers


def log_odds(accuracy: FloatArray, wrong_answers: float) -> FloatArray:
    """Return the log odds of a correct answer against one particular of the equally likely wrong ones.

    Accuracies are limited to 0.01 to 0.99. The log odds are positive: of somebody who guesses, or worse, they are
    negligible.
    """
    limited = np.clip(accuracy, 0.01, 0.99)
    return np.asarray(np.maximum(np.log(limited / (1 - limited) * wrong_answers), _LEAST_LOG_ODDS))


class OneCoinFit(NamedTuple):
    """The fitted one-coin model.

    Attributes:
        candidates: the candidates of each item, with the estimated number of wrong answers.
        probability: shape (cells,), the probability of each cell's label.
        other: shape (groups,), the probability of each single label that nobody gave, 0 if there is none.
        accuracy: shape (annotators,), the accuracies.
        history: the objective after each iteration of the last round.
        converged: whether the last round met the tolerance.
    """

    candidates: Candidates
    probability: FloatArray
    other: FloatArray
    accuracy: FloatArray
    history: tuple[float, ...]
    converged: bool

    def consensus(self, votes: Votes, known: IntArray, tolerance: float) -> Consensus:
        """Decide every item; the arguments are those of the fit."""
        fit = Fit(
            model="one-coin",
            quality=self.accuracy,
            log_likelihood=self.history,
            converged=self.converged,
            tolerance=tolerance,
            prior=np.full(votes.labels, 1 / max(votes.labels, 1)),
            wrong_answers=self.candidates.wrong_answers,
        )
        probabilities = self.probability, self.other
        return consensus_of(self.candidates, votes, known, probabilities, accuracy=self.accuracy, fit=fit)


def fit_one_coin(
    votes: Votes, known: IntArray, opened: bool, *, tolerance: float = 1e-8, iterations: int = 1000
) -> OneCoinFit:
    """Fit the model without deciding the items.

    Accuracies and the parameters that all annotators share are estimated in turn until the latter are stable.

    Args:
        votes: the answers.
        known: shape (items,), the code of the known label, -1 if unknown.
        opened: whether labels are typed freely.
        tolerance: as for `one_coin`.
        iterations: as for `one_coin`.

    Raises:
        UsageError: a parameter is out of range.
    """
    if iterations < 1 or not tolerance >= 0:
        raise UsageError("the one-coin model takes at least 1 iteration and a tolerance of 0 or more")
    model = _Model.of(votes, known, opened)
    start = model.shares_of_votes()
    crowd = model.crowd(start, ANSWERS_BEFOREHAND)
    for _ in range(ROUNDS):
        used = crowd
        model = replace(model, candidates=model.candidates.with_wrong_answers(used.wrong_answers))
        found = model.maximise(start, used, tolerance, iterations)
        crowd = model.crowd(found.probability, used.strength)
        start = found.probability
        if np.allclose(np.log(crowd), np.log(used), rtol=0, atol=STEADY):
            break
    return found


@dataclass(frozen=True, slots=True)
class _Model:
    """The candidates, and the answers that are informative about their annotators' accuracy.

    Attributes:
        candidates: the candidates of each item.
        telling: shape (n,), true for informative answers: the item has another answer too, or its label is known.
        answers: shape (annotators,), the number of each annotator's informative answers.
    """

    candidates: Candidates
    telling: NDArray[np.bool_]
    answers: FloatArray

    @classmethod
    def of(cls, votes: Votes, anchors: IntArray, opened: bool) -> _Model:
        candidates = Candidates.of(votes, anchors, open_answers=opened)
        telling_group = (candidates.group_answers > 1) | (anchors[candidates.group_item] != NO_LABEL)
        telling = np.repeat(telling_group, candidates.group_answers)
        answers = np.bincount(candidates.annotator[telling], minlength=votes.annotators).astype(np.float64)
        return cls(candidates, telling, answers)

    def shares_of_votes(self) -> FloatArray:
        """Compute each cell's share of its item's votes, shape (cells,); 0 if an anchor rules the cell out."""
        model = self.candidates
        share = model.cell_answers / model.group_answers[model.cell_group]
        return np.where(model.ruled_out, 0.0, share)

    def right(self, probability: FloatArray) -> FloatArray:
        """Compute the expected number of each annotator's informative answers that are right, shape (annotators,)."""
        model = self.candidates
        return np.bincount(
            model.annotator[self.telling],
            probability[model.cell][self.telling],
            minlength=model.annotators,
        ).astype(np.float64)

    def accuracy(self, probability: FloatArray, crowd: OneCoinParameters) -> FloatArray:
        """Run the M step: estimate accuracies from the expected truth and the prior, shape (annotators,)."""
        expected: FloatArray = (self.right(probability) + crowd.strength * crowd.accuracy) / (
            self.answers + crowd.strength
        )
        return expected

    def expect(self, accuracy: FloatArray, crowd: OneCoinParameters) -> tuple[FloatArray, FloatArray, float]:
        """Run the E step: probabilities of cells and of other labels.

        The log-likelihood includes the prior's density.
        """
        model = self.candidates
        wrong = np.log1p(-accuracy) - np.log(model.wrong_answers)
        odds = sums((np.log(accuracy) - wrong)[model.annotator], model.first_answer)
        probability, other, log_total = model.posterior(odds)
        choices = np.diff(model.first_cell, append=model.cell.max(initial=-1) + 1) + model.others
        right, left = crowd.strength * crowd.accuracy, crowd.strength * (1 - crowd.accuracy)
        objective = (
            log_total.sum()
            - np.log(choices).sum()
            + wrong[model.annotator].sum()
            + (right * np.log(accuracy) + left * np.log1p(-accuracy)).sum()
            - accuracy.size * scipy.special.betaln(right + 1, left + 1)
        )
        return probability, other, float(objective)

    def maximise(
        self, start: FloatArray, crowd: OneCoinParameters, tolerance: float, iterations: int
    ) -> OneCoinFit:
        """Run expectation-maximisation under a fixed prior, starting from the probabilities of cells."""
        accuracy = self.accuracy(start, crowd)
        probability, other, objective = self.expect(accuracy, crowd)
        history = [objective]
        answers = self.candidates.annotator.size
        converged = not answers
        while not converged and len(history) < iterations:
            accuracy = self.accuracy(probability, crowd)
            probability, other, objective = self.expect(accuracy, crowd)
            history.append(objective)
            converged = tolerance > 0 and history[-1] - history[-2] < tolerance * answers
        return OneCoinFit(self.candidates, probability, other, accuracy, tuple(history), converged)

    def crowd(self, probability: FloatArray, strength: float) -> OneCoinParameters:
        """Estimate the prior from the expected numbers of correct answers, and the number of wrong answers."""
        right, answers = self.right(probability), self.answers
        weight = 1 / (answers + strength)
        mean = float(
            ((right * weight).sum() * strength + RIGHT_BEFOREHAND)
            / ((answers * weight).sum() * strength + ANSWERS_BEFOREHAND)
        )
        hits, misses = STRENGTHS[:, None] * mean, STRENGTHS[:, None] * (1 - mean)
        left = np.maximum(answers - right, 0.0)
        evidence = (
            scipy.special.betaln(hits + right, misses + left) - scipy.special.betaln(hits, misses)
        ).sum(axis=1)
        return OneCoinParameters(
            mean, float(STRENGTHS[int(evidence.argmax())]), self._wrong_answers(probability)
        )

    def _wrong_answers(self, probability: FloatArray) -> float:
        """Estimate the number of equally likely wrong answers from how often two wrong answers coincide."""
        model = self.candidates
        if not model.open_answers:
            return model.wrong_answers
        group = model.group_answers[model.cell_group]
        pairs, rest = _pairs(model.cell_answers), _pairs(group - model.cell_answers)
        coincide = float(((1 - probability) * pairs).sum())
        none = 1 - sums(probability, model.first_cell)
        both = float((probability * rest).sum() + (none * _pairs(model.group_answers)).sum())
        found = (both + PAIRS_BEFOREHAND) / (coincide + PAIRS_BEFOREHAND / WRONG_BEFOREHAND)
        return float(min(max(found, 1.0), max(model.labels - 1, 1)))


def _pairs(answers: NDArray[np.intp]) -> FloatArray:
    """Compute the number of pairs of answers."""
    return answers * (answers - 1) / 2.0
