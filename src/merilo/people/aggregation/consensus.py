"""The result of aggregation: a label for each item, how it was resolved, and the fitted model."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from merilo.people.votes import MOST_CLOSED_LABELS, IntArray, Votes
from merilo.statistics import FloatArray

#: The code for a missing label.
NO_LABEL = -1

#: Probabilities that differ by less than this are a tie.
TIE = 1e-9

#: A label with at least this share of the votes is expected on some items; with a share of items below this part of its
#: share of votes, a model has lost it. On eight public crowds the part is 0.5 to 1.
COMMON, LOST = 0.05, 1 / 5


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
    MEDOID = 8
    """A tie of free answers, broken by the answer most similar to the others."""
    EACH_ANSWER = 9
    """Every answer counts by itself, because programs have no consensus."""
    POOLED = 10
    """The label that Dawid and Skene's model with a pooled confusion matrix and the votes support most."""
    PARTS = 11
    """No whole answer has a majority, but each number of a set, or each position of a sequence, has one."""
    WEIGHTED_MEDIAN = 12
    """The median of the answers on an ordered scale, weighted by the annotators' expected accuracies."""


@dataclass(frozen=True, slots=True)
class Fit:
    """A model of annotators fitted to their votes.

    Attributes:
        model: "dawid-skene", "pooled" (Dawid-Skene with a pooled confusion matrix) or "glad".
        quality: shape (annotators,). Dawid-Skene: the expected share of correct answers, NaN for annotators
            without answers. GLAD: the ability alpha; 0 means guessing, and below 0 the annotator tends to
            avoid the true label.
        log_likelihood: the objective after each iteration: the marginal log-likelihood, plus the log density
            of the priors if the model has priors.
        converged: whether the last iteration met the tolerance; false if the maximum number of iterations was
            reached first.
        tolerance: the tolerance of the convergence criterion.
        prior: shape (labels,), the prior probability of each label.
        posterior: shape (items, labels), the probability of each label under the model; for an item without
            votes it is the prior. On real crowds these probabilities are too high. None for open answers, and if
            the table would exceed 1.6 GB.
        difficulty: shape (items,), GLAD only: 1 / beta, larger is harder; 1 / e (the prior) for an item without votes.
        confusion: shape (annotators, labels, labels), Dawid-Skene only: `[a, t, g]` is the probability that
            annotator `a` gives label `g` if `t` is true; NaN for annotators without answers and for labels
            that cannot be true. None if the table would exceed 1.6 GB.
        wrong_answers: GLAD: the number m of equally likely wrong answers to an item. It is
            labels - 1; for open answers it is estimated from the probability 1 / m that two wrong answers to
            an item coincide.
    """

    model: str
    quality: FloatArray
    log_likelihood: tuple[float, ...]
    converged: bool
    tolerance: float
    prior: FloatArray
    posterior: FloatArray | None = None
    difficulty: FloatArray | None = None
    confusion: FloatArray | None = None
    wrong_answers: float | None = None

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
        confidence: shape (items,): the model's probability of the label, or, without a model, the label's share of the
            item's votes; NaN if there is no label.
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


def modelled(label: IntArray, confidence: FloatArray, fit: Fit) -> Consensus:
    """Build the consensus of a model.

    Args:
        label: shape (items,), the most probable labels, -1 if there is none.
        confidence: shape (items,), their probabilities.
        fit: the model.
    """
    way = Resolution[fit.model.upper().replace("-", "_")]
    how = np.where(label == NO_LABEL, Resolution.UNRESOLVED, way).astype(np.int8)
    return Consensus(label, how, confidence, fit)


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
