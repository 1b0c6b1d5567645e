"""Aggregation: from votes to a consensus. Its types: how an item was resolved, the consensus and the model behind it.

`majority` counts votes and resolves ties, `content` compares what tied answers say, `dawid_skene` and `glad` are models
of annotators. `merilo.people.decision` chooses between them for a pool.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import IntEnum

import numpy as np
from numpy.typing import ArrayLike, NDArray

from merilo.people.votes import MOST_CLOSED_LABELS, IntArray, Votes
from merilo.statistics import FloatArray

#: The code for a missing label.
NO_LABEL = -1

#: Probabilities that differ by less than this are a tie.
TIE = 1e-9


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
        quality: shape (annotators,). Dawid-Skene: the expected share of correct answers, NaN without answers. GLAD: the
            ability alpha; 0 means guessing, below 0 the annotator tends to avoid the true label.
        log_likelihood: the objective after each iteration: the marginal log-likelihood, plus the log density of the
            priors if the model has priors.
        converged: whether the last iteration met the tolerance.
        difficulty: shape (items,), GLAD only: 1 / beta, larger is harder; 1 / e (the prior) for an item without votes.
    """

    model: str
    quality: FloatArray
    log_likelihood: tuple[float, ...]
    converged: bool
    difficulty: FloatArray | None = None

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

    @classmethod
    def of(cls, label: IntArray, how: ArrayLike, confidence: FloatArray, fit: Fit | None = None) -> Consensus:
        """Build a consensus in which items without a label are unresolved and have no confidence."""
        none = label == NO_LABEL
        ways = np.where(none, Resolution.UNRESOLVED, how).astype(np.int8)
        return cls(label, ways, np.where(none, np.nan, confidence), fit)

    def where(self, items: ArrayLike, other: Consensus) -> Consensus:
        """Return this consensus with these items, shape (items,), decided as in the other; the fit stays."""
        pairs = ((self.label, other.label), (self.how, other.how), (self.confidence, other.confidence))
        label, how, confidence = (np.where(items, new, old) for old, new in pairs)
        return replace(self, label=label, how=how, confidence=confidence)


def is_open(votes: Votes, declared: bool | None = None) -> bool:
    """Return whether answers are open (typed freely): as declared, else with more than `MOST_CLOSED_LABELS` labels.

    Example:
        >>> answers = np.arange(25)
        >>> votes = Votes(answers, answers, answers, 25, 25, 25)
        >>> is_open(votes), is_open(votes, declared=False)
        (True, False)
    """
    return votes.labels > MOST_CLOSED_LABELS if declared is None else declared
