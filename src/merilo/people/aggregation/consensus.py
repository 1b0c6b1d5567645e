"""The result of aggregation: a label for each item, how it was resolved, and the fitted model."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import IntEnum

import numpy as np
from numpy.typing import ArrayLike, NDArray

from merilo.errors import UsageError
from merilo.people.votes import MOST_CLOSED_LABELS, IntArray, Votes
from merilo.statistics import FloatArray

#: The code for a missing label.
NO_LABEL = -1

#: Probabilities that differ by less than this are a tie.
TIE = 1e-9

#: A label with at least this share of the votes is expected on some items; with a share of items below this part of its
#: share of votes, a model has lost it. On eight public crowds the part is 0.5 to 1.
COMMON, LOST = 0.05, 1 / 5

#: Divisors are at least this.
SMALLEST_SUM = float(np.finfo(np.float64).tiny)


class Resolution(IntEnum):
    """How an item was resolved."""

    UNRESOLVED = 0
    """No answers, or a tie that no step resolved."""
    UNANIMOUS = 1
    """All votes are for one label."""
    MAJORITY = 2
    """More votes than any other label, and at least as many as required for a majority."""
    PLURALITY = 3
    """More votes than any other label, but fewer than a majority requires."""
    SKILL = 4
    """A tie of votes, resolved by the larger sum of skill."""
    TOP_SKILL = 5
    """A tie of votes, resolved by the larger sum of skill among the three most skilled annotators."""
    GLAD = 6
    """GLAD: in a cascade the larger sum of abilities, otherwise the most probable label under the model."""
    DAWID_SKENE = 7
    """The most probable label under Dawid and Skene's model."""
    ANCHOR = 8
    """The label was known beforehand (a control item)."""
    ONE_COIN = 9
    """The most probable label under the one-coin model."""
    MEDOID = 10
    """A tie of free answers, broken by the answer most similar to the others."""
    EACH_ANSWER = 11
    """Every answer counts by itself, because programs have no consensus."""
    POOLED = 12
    """The label that Dawid and Skene's model with a pooled confusion matrix, one-coin and the votes support most."""
    PARTS = 13
    """No whole answer has a majority, but each number of a set, or each position of a sequence, has one."""
    WEIGHTED_MEDIAN = 14
    """The median of the answers on an ordered scale, weighted by the annotators' expected accuracies."""


@dataclass(frozen=True, slots=True)
class Fit:
    """A model of annotators fitted to their votes.

    Attributes:
        model: "dawid-skene", "pooled" (Dawid-Skene with a pooled confusion matrix), "one-coin" or "glad".
        quality: shape (annotators,). Dawid-Skene: the expected share of correct answers, NaN for annotators
            without answers. One-coin: the probability of a correct answer, the crowd's mean for annotators
            without answers. GLAD: the ability alpha; 0 means guessing, and below 0 the annotator tends to
            avoid the true label.
        log_likelihood: the objective after each iteration: the marginal log-likelihood, plus the log density
            of the priors if the model has priors.
        converged: whether the last iteration met the tolerance; false if the maximum number of iterations was
            reached first.
        tolerance: the tolerance of the convergence criterion.
        prior: shape (labels,), the prior probability of each label.
        posterior: shape (items, labels), the probability of each label under the model; for an item without
            votes it is the prior. On real crowds these probabilities are too high; see
            `calibrated_posterior`. None for open answers, and if the table would exceed 1.6 GB.
        anchored: the number of items whose label was known in advance.
        difficulty: shape (items,), GLAD only: 1 / beta, larger is harder; 1 / e (the prior) for an item without votes.
        confusion: shape (annotators, labels, labels), Dawid-Skene only: `[a, t, g]` is the probability that
            annotator `a` gives label `g` if `t` is true; NaN for annotators without answers and for labels
            that cannot be true. None if the table would exceed 1.6 GB.
        wrong_answers: one-coin and GLAD: the number m of equally likely wrong answers to an item. It is
            labels - 1; for open answers it is estimated from the probability 1 / m that two wrong answers to
            an item coincide.
        error_correlation: the correlation of annotators' errors on an item (see `candidates.error_correlation`).
        power: shape (items,), the power to which an item's probabilities are raised to calibrate them:
            1 / (1 + (answers - 1) * error_correlation).
    """

    model: str
    quality: FloatArray
    log_likelihood: tuple[float, ...]
    converged: bool
    tolerance: float
    prior: FloatArray
    posterior: FloatArray | None = None
    anchored: int = 0
    difficulty: FloatArray | None = None
    confusion: FloatArray | None = None
    wrong_answers: float | None = None
    error_correlation: float = float("nan")
    power: FloatArray | None = None

    @property
    def calibrated_posterior(self) -> FloatArray | None:
        """The posterior calibrated for correlated errors, shape (items, labels).

        The order of an item's labels is the same.

        Its largest value is the confidence in the label. None if there is no posterior.
        """
        if self.posterior is None or self.power is None:
            return self.posterior
        # Without any answer, Dawid-Skene has no probabilities: such rows stay 0.
        highest = np.maximum(self.posterior.max(axis=1, initial=0.0, keepdims=True), SMALLEST_SUM)
        raised = (self.posterior / highest) ** self.power[:, None]
        return np.asarray(raised / np.maximum(raised.sum(axis=1, keepdims=True), SMALLEST_SUM))

    @property
    def iterations(self) -> int:
        """The number of iterations."""
        return len(self.log_likelihood)


@dataclass(frozen=True, slots=True)
class Consensus:
    """The annotators' consensus on every item.

    Attributes:
        label: shape (items,), the label's code, or -1 if there is none.
        how: shape (items,), codes of `Resolution`.
        confidence: shape (items,): the model's probability of the label, calibrated for correlated errors (see
            `candidates.error_correlation`), or, without a model, the label's share of the item's votes; NaN
            if there is no label.
        fit: the model that was fitted, if any.
    """

    label: IntArray
    how: NDArray[np.int8]
    confidence: FloatArray
    fit: Fit | None = None

    def resolved_by(self) -> dict[Resolution, int]:
        """Count the items resolved in each way; ways that did not occur have the count 0."""
        counts = np.bincount(self.how, minlength=len(Resolution))
        return {way: int(counts[way]) for way in Resolution}

    def decided_by(self, way: Resolution) -> tuple[int, int]:
        """Return how many items were decided in this way, and how many were decided at all."""
        ways = self.resolved_by()
        return ways[way], sum(ways.values()) - ways[Resolution.UNRESOLVED]


def lost_labels(fit: Fit, votes: Votes) -> list[int]:
    """Find the labels that a model gives to hardly any item although they have at least 5 % of the votes.

    With a fitted class prior a model may explain a label away as an error of all annotators.

    Args:
        fit: the model.
        votes: the answers to which it was fitted.

    Returns:
        The codes of labels whose mean probability is below a fifth of their share of the votes; none without
        probabilities, as for open answers.
    """
    answered = np.bincount(votes.item, minlength=votes.items) > 0
    if fit.posterior is None or not answered.any():
        return []
    share = np.bincount(votes.label, minlength=votes.labels) / len(votes)
    probability = fit.posterior[answered].mean(axis=0)
    return np.flatnonzero((share >= COMMON) & (probability < LOST * share)).tolist()


def against_the_votes(consensus: Consensus, votes: Votes) -> tuple[int, int]:
    """Count the items whose label is not among those with most votes, and the items with votes and a label."""
    tally = votes.tally()
    most = np.zeros(votes.items, dtype=np.int64)
    np.maximum.at(most, tally.item, tally.votes)
    own = np.bincount(votes.item[votes.label == consensus.label[votes.item]], minlength=votes.items)
    decided = (most > 0) & (consensus.label != NO_LABEL)
    return int((decided & (own < most)).sum()), int(decided.sum())


def modelled(label: IntArray, confidence: FloatArray, anchors: IntArray, fit: Fit) -> Consensus:
    """Build the consensus of a model, the fit with the number of items whose label was known.

    Args:
        label: shape (items,), the most probable labels, -1 if there is none.
        confidence: shape (items,), their calibrated probabilities.
        anchors: shape (items,), known labels, -1 if unknown.
        fit: the model.
    """
    how = np.select(
        [label == NO_LABEL, anchors != NO_LABEL],
        [Resolution.UNRESOLVED, Resolution.ANCHOR],
        default=Resolution[fit.model.upper().replace("-", "_")],
    ).astype(np.int8)
    return Consensus(label, how, confidence, replace(fit, anchored=int((anchors != NO_LABEL).sum())))


def anchor_labels(anchors: ArrayLike | None, votes: Votes) -> IntArray:
    """Check anchors and return the known label of each item, shape (items,), -1 if unknown.

    Raises:
        UsageError: the number of anchors is not the number of items, or an anchor is not a label.
    """
    if anchors is None:
        return np.full(votes.items, NO_LABEL, dtype=np.int32)
    codes = np.asarray(anchors)
    if codes.shape != (votes.items,):
        raise UsageError(
            f"anchors take one label for each of the {votes.items} items, or -1 if it is unknown"
        )
    if codes.size and not (codes.min() >= NO_LABEL and codes.max() < votes.labels):
        raise UsageError(f"an anchor is a label's code from 0 to {votes.labels - 1}, or -1")
    return codes.astype(np.int32)


def is_open(votes: Votes, declared: bool | None = None) -> bool:
    """Determine whether the answers are open (typed freely) or closed (chosen from a list).

    Args:
        votes: the answers.
        declared: what the dataset declares. If None, more than `MOST_CLOSED_LABELS` labels mean open answers.

    Example:
        >>> import numpy as np
        >>> answers = np.arange(25)
        >>> votes = Votes(answers, answers, answers, 25, 25, 25)
        >>> is_open(votes), is_open(votes, declared=False)
        (True, False)
    """
    return votes.labels > MOST_CLOSED_LABELS if declared is None else declared
