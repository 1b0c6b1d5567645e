"""Dawid and Skene's model: confusion matrices of annotators, estimated from their answers alone.

`dawid_skene` is the classical model. `pooled_dawid_skene` is the recommended one: annotators share a pooled confusion
matrix, and the labels are a compromise of the model with the votes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from merilo.errors import UsageError
from merilo.people.aggregation import NO_LABEL, TIE, Consensus, Fit, Resolution, is_open
from merilo.people.aggregation.candidates import log_odds
from merilo.people.aggregation.glad import glad
from merilo.people.votes import Votes, sorting_order
from merilo.statistics import FloatArray

#: Lower limit of expected counts and priors, so that a confusion that was never observed keeps a positive probability.
SMALLEST: Final = 1e-10

#: Pseudo-answers that the pooled matrix adds to each row of an annotator's confusion matrix.
SHARED_ANSWERS: Final = 8.0

#: Pseudo-answers that the crowd's agreement adds to each row of the pooled matrix.
ANSWERS_BEFOREHAND: Final = 2.0

#: The part of an item's expected truth, from which confusions are estimated, that are its shares of votes.
PART_OF_VOTES: Final = 0.25

#: The largest number of cells in the table of probabilities and in that of confusions (1.6 GB each).
LARGEST_TABLE: Final = 200_000_000

#: The prior probability of each candidate, shape (k,), and the confusions, shape (annotators x k, k): the probability
#: of each cell given the true candidate.
_Parameters: TypeAlias = tuple[FloatArray, FloatArray]


def dawid_skene(
    votes: Votes, *, open_answers: bool | None = None, tolerance: float = 1e-8, iterations: int = 1000
) -> Consensus:
    """Aggregate by Dawid and Skene's model, in which every annotator has their own confusion matrix.

    Annotator `a` gives label `g` to an item whose true label is `t` with probability `confusion[a, t, g]`. The prior
    probabilities of labels are fitted too. Expectation-maximisation starts from the shares of votes, so there is no
    seed. Time and memory of an iteration grow with answers x labels. On crowds with few answers of each annotator the
    model overfits: it explains the difficulty of items by confusions of annotators. Prefer `pooled_dawid_skene`.

    Args:
        votes: the answers, which must be closed.
        open_answers: whether labels are typed freely; if None, inferred from their number (see `is_open`).
        tolerance: stop when an iteration gains less than this in log-likelihood per answer; 0 runs all iterations.
        iterations: the maximum number of iterations; a fit that reaches it is marked as not converged.

    Returns:
        The consensus, with the fit. Items without votes, or whose best labels are equally probable, are unresolved. A
        label that nobody gave has probability 0.

    Raises:
        UsageError: the answers are open (confusions between so many labels cannot be estimated); a parameter
            is out of range; or there are so many labels that the confusions do not fit in memory.

    References:
        A. P. Dawid, A. M. Skene, Maximum Likelihood Estimation of Observer Error-Rates Using the EM
        Algorithm, Journal of the Royal Statistical Society C 28(1), 1979.

    Example:
        >>> votes = Votes(*np.array([[0, 0, 0, 1, 1, 1], [0, 1, 2, 0, 1, 2], [1, 1, 0, 0, 0, 1]]), 2, 3, 2)
        >>> consensus = dawid_skene(votes)
        >>> consensus.label.tolist(), consensus.fit.converged, consensus.fit.quality.round(3).tolist()
        ([1, 0], True, [1.0, 1.0, 0.0])
    """
    answers = _Answers.of(votes, open_answers)
    _check_iterations(tolerance, iterations)
    share, log_likelihood = answers.expected(answers.classical(answers.shares))
    history = [log_likelihood]
    converged = not len(votes)
    while not converged and len(history) < iterations:
        share, log_likelihood = answers.expected(answers.classical(share))
        history.append(log_likelihood)
        converged = tolerance > 0 and history[-1] - history[-2] < tolerance * len(votes)
    return answers.consensus("dawid-skene", share, share, history, converged=converged)


def pooled_dawid_skene(
    votes: Votes,
    *,
    open_answers: bool | None = None,
    tolerance: float = 1e-4,
    iterations: int = 200,
    scale: ArrayLike | None = None,
) -> Consensus:
    """Aggregate by Dawid and Skene's model with a pooled confusion matrix, mixed with the votes.

    Rows of an annotator's confusion matrix are shrunk towards those of the crowd's pooled matrix, which can
    say that all of these annotators over-answer a label; the class prior then need not. Its diagonal is at
    least the crowd's agreement: otherwise a label that is rarely or never true becomes the class of the items
    that are hard. Confusions are estimated from a mixture of the expected truth with the shares of votes, so
    that the model does not follow its own errors. An item's label has the largest sum of twice its
    probability under the model and its share of votes.

    With V the shares of votes, z the expected truth (at first V), A the mean agreement of the votes, and n[a,
    t, g] the sum of r[i, t] over the items on which `a` answered `g`, each iteration computes

        r = (1 - e) z + e V                                                                    (e = PART_OF_VOTES)
        m[t, g] ~ sum over a of n[a, t, g] s / (n[a, t] + s)  +  b B[t, g]                      (s = SHARED_ANSWERS)
        m[t, t] = max(m[t, t], A), the rest of the row in proportion
        confusion[a, t, g] = (n[a, t, g] + s m[t, g]) / (n[a, t] + s)
        prior[t] ~ sum over i of r[i, t] + 1
        z[i, t] ~ prior[t] * product over a of confusion[a, t, y(a, i)]

    where B has A on its diagonal and equal shares elsewhere, and b is `ANSWERS_BEFOREHAND`. The constants lie
    in the middle of a range in which accuracy on eight public crowds and on simulated crowds with rare labels
    hardly varies (`benchmarks/crowds.py`).

    On an ordered scale the label is the weighted median of the item's answers: no more than half of the weight lies
    below it, and no more than half above it. An answer weighs the log odds of its annotator's expected accuracy
    (`log_odds`). If the weight is divided into two halves, the two labels beside the gap are medians, and that of them
    with the larger sum wins.

    Args:
        votes: the answers, which must be closed.
        open_answers: whether labels are typed freely; if None, inferred from their number (see `is_open`).
        tolerance: stop when no probability of a label changes by more than this; 0 runs all iterations.
        iterations: the maximum number of iterations; a fit that reaches it is marked as not converged.
        scale: shape (labels,), the places of labels on an ordered scale; `None` if labels are names.

    Returns:
        The consensus, with the fit as in `dawid_skene`. The log-likelihood is no objective here and may fall.

    Raises:
        UsageError: as `dawid_skene`.

    Example:
        >>> votes = Votes(*np.array([[0, 0, 0, 1, 1, 1], [0, 1, 2, 0, 1, 2], [1, 1, 0, 0, 0, 1]]), 2, 3, 2)
        >>> consensus = pooled_dawid_skene(votes)
        >>> consensus.label.tolist(), consensus.fit.quality.round(2).tolist()
        ([1, 0], [0.58, 0.58, 0.42])
    """
    answers = _Answers.of(votes, open_answers)
    _check_iterations(tolerance, iterations)
    share, history, converged = answers.shares, list[float](), not len(votes)
    while True:
        mixed = (1 - PART_OF_VOTES) * share + PART_OF_VOTES * answers.shares
        last, (share, log_likelihood) = share, answers.expected(answers.pooled(mixed))
        history.append(log_likelihood)
        converged = converged or (tolerance > 0 and float(np.abs(share - last).max(initial=0.0)) < tolerance)
        if converged or len(history) == iterations:
            break
    support = 2 * share + answers.shares
    return answers.consensus("pooled", share, support, history, converged=converged, scale=scale)


def auto(votes: Votes, *, open_answers: bool | None = None, scale: ArrayLike | None = None) -> Consensus:
    """Aggregate by the recommended model: `pooled_dawid_skene` for closed answers, `glad` for open ones."""
    if is_open(votes, open_answers):
        return glad(votes, open_answers=True)
    return pooled_dawid_skene(votes, open_answers=False, scale=scale)


def _check_iterations(tolerance: float, iterations: int) -> None:
    if iterations < 1 or not tolerance >= 0:
        raise UsageError("Dawid-Skene takes at least 1 iteration and a tolerance of 0 or more")


@dataclass(frozen=True, slots=True)
class _Answers:
    """Closed answers, restricted to the items that have votes and the k labels that can be true.

    Attributes:
        votes: the answers.
        candidates: shape (k,), the labels given by an annotator.
        answered: shape (groups,), the items that have votes.
        shares: shape (groups, k), the shares of votes.
        item: shape (n,), the position in `answered` of each answer's item, ascending.
        cell: shape (n,), annotator x k + candidate of each answer.
        agreement: the mean share of an item's votes that agree with an answer, from 0.001 to 0.999.
    """

    votes: Votes
    candidates: NDArray[np.intp]
    answered: NDArray[np.intp]
    shares: FloatArray
    item: NDArray[np.intp]
    cell: NDArray[np.intp]
    agreement: float

    @classmethod
    def of(cls, votes: Votes, open_answers: bool | None) -> _Answers:
        if is_open(votes, open_answers):
            raise UsageError(
                f"Dawid-Skene takes closed answers only: with {votes.labels} different labels it would estimate "
                f"{votes.labels**2:,} confusion probabilities of every annotator (use glad or majority)"
            )
        possible = np.bincount(votes.label, minlength=votes.labels) > 0
        answers = np.bincount(votes.item, minlength=votes.items) > 0
        candidates, answered = np.flatnonzero(possible), np.flatnonzero(answers)
        k = candidates.size
        if (cells := max(answered.size * k, votes.annotators * k**2)) > LARGEST_TABLE:
            raise UsageError(
                f"Dawid-Skene's probabilities would take {cells * 8 / 1e9:.0f} GB with {k} labels: "
                "normalise the answers, or use glad or majority"
            )
        item, label = (np.cumsum(answers) - 1)[votes.item], (np.cumsum(possible) - 1)[votes.label]
        annotator = votes.annotator
        if item.size and (item[1:] < item[:-1]).any():
            order = sorting_order(item)
            item, label, annotator = item[order], label[order], annotator[order]
        counts = np.bincount(item * k + label, minlength=answered.size * k).reshape(answered.size, k)
        shares = counts / counts.sum(axis=1, keepdims=True)
        agreement = np.clip((counts * shares).sum() / len(votes), 1e-3, 1 - 1e-3) if len(votes) else 0.5
        cell = annotator.astype(np.intp) * k + label
        return cls(votes, candidates, answered, shares, item, cell, float(agreement))

    def seen(self, share: FloatArray) -> FloatArray:
        """Return how often each cell is expected with each candidate as the truth, shape (annotators, k, k)."""
        people, k = self.votes.annotators, self.candidates.size
        counts = [np.bincount(self.cell, weights=row[self.item], minlength=people * k) for row in share.T]
        return np.array(counts, np.float64).T.reshape(people, k, k)

    def classical(self, share: FloatArray) -> _Parameters:
        """Estimate prior and confusions from the expected truth alone."""
        seen = self.seen(share)
        people, k, _ = seen.shape
        occurs = np.bincount(self.cell, minlength=people * k).reshape(people, k, 1) > 0
        counts = np.where(occurs, np.maximum(seen, SMALLEST), 0.0)
        total = counts.sum(axis=1, keepdims=True)
        confusion = (counts / np.where(total > 0, total, 1.0)).reshape(people * k, k)
        prior: FloatArray = np.maximum(share.sum(axis=0) / max(len(share), 1), SMALLEST)
        return prior, confusion

    def pooled(self, share: FloatArray) -> _Parameters:
        """Estimate prior and confusions, those of annotators shrunk towards the pooled ones."""
        seen = self.seen(share)
        people, k, _ = seen.shape
        answers = seen.sum(axis=1, keepdims=True)
        before = np.full((k, k), (1 - self.agreement) / max(k - 1, 1))
        np.fill_diagonal(before, self.agreement)
        pool = (seen * (SHARED_ANSWERS / (answers + SHARED_ANSWERS))).sum(axis=0)
        pool += ANSWERS_BEFOREHAND * before
        pool /= pool.sum(axis=0)
        right = np.diagonal(pool)
        low = right < self.agreement
        pool[:, low] *= (1 - self.agreement) / (1 - right[low])
        pool[low, low] = self.agreement
        confusion = (seen + SHARED_ANSWERS * pool) / (answers + SHARED_ANSWERS)
        prior = share.sum(axis=0) + 1
        return prior / prior.sum(), confusion.reshape(people * k, k)

    def expected(self, parameters: _Parameters) -> tuple[FloatArray, float]:
        """Compute the probability of each candidate of each item, shape (groups, k), and the log-likelihood."""
        prior, confusion = parameters
        if not self.shares.size:
            return np.zeros_like(self.shares), 0.0
        with np.errstate(divide="ignore"):
            # The classical model gives cells that do not occur probability 0, but they are never looked up.
            table = np.log(confusion)
        groups = self.answered.size
        support = [np.bincount(self.item, weights=row[self.cell], minlength=groups) for row in table.T]
        share = np.stack(support, axis=1) + np.log(prior)
        highest = share.max(axis=1)
        share = np.exp(share - highest[:, None])
        total = share.sum(axis=1)
        return share / total[:, None], float(np.log(total).sum() + highest.sum())

    def consensus(
        self,
        model: str,
        share: FloatArray,
        support: FloatArray,
        history: list[float],
        *,
        converged: bool,
        scale: ArrayLike | None = None,
    ) -> Consensus:
        """Label each item by the largest support; on a scale only medians of its answers are compared."""
        votes = self.votes
        label, confidence = np.full(votes.items, NO_LABEL, dtype=np.int32), np.full(votes.items, np.nan)
        quality, how = self._quality(share), Resolution[model.upper().replace("-", "_")]
        if share.size:
            if scale is not None:
                support = np.where(self._medians(quality, np.asarray(scale)), support, -np.inf)
                how = Resolution.WEIGHTED_MEDIAN
            chosen, best = support.argmax(axis=1), support.max(axis=1)
            decided = (support >= best[:, None] - TIE).sum(axis=1) == 1
            label[self.answered[decided]] = self.candidates[chosen[decided]]
            confidence[self.answered] = share[np.arange(chosen.size), chosen]
        return Consensus.of(label, how, confidence, Fit(model, quality, tuple(history), converged))

    def _medians(self, quality: FloatArray, scale: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Which labels are weighted medians of the answers to an item, shape (groups, k)."""
        k = self.candidates.size
        weight = log_odds(quality, max(self.votes.labels - 1.0, 1.0))[self.cell // k]
        order = np.argsort(scale[self.candidates], kind="stable")
        cells = np.bincount(self.item * k + self.cell % k, weights=weight, minlength=self.answered.size * k)
        weights = cells.reshape(self.answered.size, k)[:, order]
        below = weights.cumsum(axis=1)
        half = below[:, -1:] / 2
        close = TIE * half
        median = np.empty_like(weights, dtype=np.bool_)
        median[:, order] = (weights > 0) & (below >= half - close) & (below - weights <= half + close)
        return median

    def _quality(self, share: FloatArray) -> FloatArray:
        """Compute each annotator's expected share of correct answers, shape (annotators,); NaN without answers."""
        right = self.seen(share).trace(axis1=1, axis2=2)
        answers = np.bincount(self.votes.annotator, minlength=self.votes.annotators)
        return np.where(answers > 0, right / np.maximum(answers, 1), np.nan)
