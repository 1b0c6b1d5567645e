"""What aggregation answers with: a label for each item, how it was reached, and the model behind it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from merilo.people.votes import IntArray
from merilo.statistics.arrays import FloatArray

#: The code of "no label".
NO_LABEL = -1

#: Probabilities closer than this are a tie.
TIE = 1e-9


class Resolution(IntEnum):
    """How an item's label was reached."""

    UNRESOLVED = 0
    """No answers, or a tie that no step could break."""
    UNANIMOUS = 1
    """All agree."""
    MAJORITY = 2
    """More votes than any other label, and enough of them."""
    PLURALITY = 3
    """More votes than any other label, though fewer than a majority asks for."""
    SKILL = 4
    """A tie of votes, broken by the larger sum of skill."""
    TOP_SKILL = 5
    """The same among the three most skilled."""
    GLAD = 6
    """GLAD: the larger sum of abilities in a cascade, the most probable label otherwise."""
    DAWID_SKENE = 7
    """The most probable label under Dawid and Skene's model."""
    ANCHOR = 8
    """The label was known beforehand (a control item)."""
    ONE_COIN = 9
    """The most probable label under the one-coin model."""
    MEDOID = 10
    """A tie of free answers, broken by the answer most similar to the others."""


@dataclass(frozen=True, slots=True)
class Fit:
    """A model of annotators fitted to their votes.

    Attributes:
        model: "dawid-skene", "one-coin" or "glad".
        posterior: shape (items, labels), the probability of each label; an item without votes has the prior's. None for open
            answers and where the table would pass 1.6 GB.
        quality: shape (annotators,). Dawid-Skene: the share of the annotator's answers expected to be right, NaN for who
            gave none. One-coin: the probability that an answer of theirs is right, the crowd's mean for who gave none. GLAD:
            the ability alpha; 0 is guessing, below 0 is answering against the truth.
        log_likelihood: the objective after each iteration: the marginal log-likelihood, with the log density of the priors
            where the model has them.
        converged: whether the last iteration met the tolerance; never true because the iterations ran out.
        tolerance: what was asked of the last iteration.
        anchored: how many items had their label known beforehand.
        prior: shape (labels,), the probability of each label before any vote.
        difficulty: shape (items,), GLAD only: 1 / beta, larger is harder; the prior's 1 / e for an item without votes.
        confusion: shape (annotators, labels, labels), Dawid-Skene only: `[a, t, g]` is the probability that annotator `a` gives
            label `g` where `t` is true; NaN for who gave no answer and for labels that cannot be true. None where the table would
            pass 1.6 GB.
        wrong_answers: one-coin and GLAD: how many equally likely wrong answers an item has: labels - 1, or with open answers the
            estimate that two wrong answers to an item coincide once in so many pairs.
    """

    model: str
    posterior: FloatArray | None
    quality: FloatArray
    log_likelihood: tuple[float, ...]
    converged: bool
    tolerance: float
    anchored: int
    prior: FloatArray
    difficulty: FloatArray | None = None
    confusion: FloatArray | None = None
    wrong_answers: float | None = None

    @property
    def iterations(self) -> int:
        """How many iterations were run."""
        return len(self.log_likelihood)


@dataclass(frozen=True, slots=True)
class Consensus:
    """The answer of the people to every item.

    Attributes:
        label: shape (items,), the label's code, or -1 where there is none.
        how: shape (items,), codes of `Resolution`.
        confidence: shape (items,): the model's probability of the label, or, without a model, the share of the item's votes
            that it got; NaN where there is no label.
        fit: the model that was fitted on the way, if any.
    """

    label: IntArray
    how: NDArray[np.int8]
    confidence: FloatArray
    fit: Fit | None = None

    def resolved_by(self) -> dict[Resolution, int]:
        """How many items were resolved in each way; ways that never happened stand with 0."""
        counts = np.bincount(self.how, minlength=len(Resolution))
        return {way: int(counts[way]) for way in Resolution}
