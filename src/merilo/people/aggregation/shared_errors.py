"""Calibrated confidences: the correlation of annotators' errors on an item, estimated without gold answers.

Models of annotators treat the answers to an item as independent given its true label. People err on the same items, so the
probabilities of these models are too high, and more so the more answers an item has.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from merilo.people.aggregation.candidates import Candidates, sums
from merilo.people.aggregation.consensus import NO_LABEL
from merilo.people.votes import IntArray, Votes
from merilo.statistics.arrays import FloatArray

#: The correlations that are tried; the estimate is interpolated between them.
CORRELATIONS: Final = np.geomspace(0.01, 1.5, 16)

#: The prior on the correlation: log-normal, its median and the standard deviation of its logarithm. It decides where held-out
#: answers say little (with three answers an item a held-out answer is predicted from two). On the eight public crowds of
#: `benchmarks/crowds.py` the estimates are between 0.15 and 0.55 with or without the prior.
MEDIAN: Final = 0.3
LOG_SPREAD: Final = 1.0

#: Limits of the accuracies from which a held-out answer's item is judged, and of those that are fitted to held-out answers.
ACCURACY_LIMITS: Final = (0.02, 0.98)
FITTED_LIMITS: Final = (0.005, 0.995)

#: Pseudo-answers that shrink an annotator's accuracy to the mean of the crowd.
ANSWERS_BEFOREHAND: Final = 4.0

#: Steps of expectation-maximisation for the accuracies: for the first correlation, and for each further one.
FIRST_STEPS, STEPS = 20, 5

#: With more answers than this, the correlation is estimated from the answers to some of the items, drawn with a fixed seed.
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

    Each answer is predicted from the other n - 1 answers to its item. These give log odds between labels by the one-coin
    model. If errors have the correlation r, the n - 1 answers count as (n - 1) / (1 + (n - 2) r) independent ones, so the log
    odds are divided by 1 + (n - 2) r. With q the resulting probability that the held-out answer is the true label, its
    annotator a gives it with probability q p[a] + (1 - q) (1 - p[a]) / m, where m is the number of wrong answers. The
    accuracies p are fitted to the held-out answers for each r. The estimate maximises the likelihood of all held-out answers
    times a weak prior. Gold answers are not used.

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
        C. C. Holmes, S. G. Walker (2017), Assigning a value to a power likelihood in a general Bayesian model, Biometrika
        104(2); C. Guo et al. (2017), On calibration of modern neural networks, ICML (one power for all probabilities).
        M. Stone (1974), Cross-validatory choice and assessment of statistical predictions, JRSS B 36(2).
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
    """Select the answers to items that have another answer and no known label; not more than `MOST_ANSWERS`, by whole items."""
    answers = np.bincount(votes.item, minlength=votes.items)
    usable = np.flatnonzero((answers > 1) & (anchors == NO_LABEL))
    if answers[usable].sum() > MOST_ANSWERS:
        drawn = np.random.default_rng(0).permutation(usable)
        usable = drawn[: max(1, int(np.searchsorted(np.cumsum(answers[drawn]), MOST_ANSWERS)))]
    kept = np.zeros(votes.items, dtype=np.bool_)
    kept[usable] = True
    return votes.where(kept[votes.item])
