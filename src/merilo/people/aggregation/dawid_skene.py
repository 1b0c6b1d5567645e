"""Dawid and Skene's model: confusion matrices of annotators, estimated from their answers alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from merilo.errors import UsageError
from merilo.people.aggregation.candidates import error_correlation, evidence_power
from merilo.people.aggregation.consensus import (
    NO_LABEL,
    TIE,
    Consensus,
    Fit,
    anchor_labels,
    is_open,
    modelled,
)
from merilo.people.votes import IntArray, Votes, sorting_order
from merilo.statistics.arrays import FloatArray

#: Lower limit of expected counts and priors, so that a confusion that was never observed keeps a positive probability.
SMALLEST = 1e-10

#: Default strength of shrinkage of an annotator's confusions to their accuracy. Chosen on eight public crowds with gold answers
#: (`benchmarks/crowds.py`): the mean accuracy is highest from 1 to 3 and varies by less than 0.004 in this range.
WEIGHT = 2.0

#: Pseudo-count of the prior on an annotator's accuracy; the prior mean is the agreement of the crowd's votes.
ANSWERS_BEFOREHAND = 4.0

#: The largest number of cells in the table of probabilities and in that of confusions (1.6 GB each).
LARGEST_TABLE = 200_000_000


def dawid_skene(
    votes: Votes,
    *,
    anchors: ArrayLike | None = None,
    weight: float = WEIGHT,
    open_answers: bool | None = None,
    tolerance: float = 1e-8,
    iterations: int = 1000,
) -> Consensus:
    """Aggregate by Dawid and Skene's model, in which every annotator has their own confusion matrix.

    Annotator `a` gives label `g` to an item whose true label is `t` with probability `confusion[a, t, g]`. The prior
    probabilities of labels are fitted too. Expectation-maximisation starts from the shares of votes, so there is no seed. Time
    and memory of an iteration grow with answers x labels.

    On real crowds the classical model overfits: it explains the difficulty of items by confusions of annotators. The prior
    shrinks each annotator's confusion matrix to that of an annotator with one accuracy for all labels. The log-likelihood of
    an answer is then

        log confusion[a, t, g] / (1 + weight) + log coin[a, t, g] * weight / (1 + weight)

    where `coin` is the annotator's accuracy if `g` equals `t`; otherwise it is one minus the accuracy, divided equally among
    the other labels. Both are fitted to the same expected truth. The prior adds `weight` / 2 pseudo-answers to each row of a
    confusion matrix, distributed by the agreement of the crowd's votes, and four to each accuracy. Weight 0 gives the
    classical model of Dawid and Skene.

    Args:
        votes: the answers, which must be closed.
        anchors: shape (items,), the code of the known label, -1 if unknown.
        weight: the strength of the prior, 0 or more; 0 for the classical model.
        open_answers: whether labels are typed freely; if None, inferred from their number (see `is_open`).
        tolerance: stop when an iteration gains less than this in log-likelihood per answer; 0 runs all iterations.
        iterations: the maximum number of iterations; a fit that reaches it is marked as not converged.

    Returns:
        The consensus, with the fit: prior, confusions, and as `quality` the expected share of an annotator's correct answers.
        Confidences are calibrated for correlated errors (`candidates.error_correlation`); `posterior` is that of the model.
        `log_likelihood[k]` belongs to the parameters of iteration k and includes the log density of the prior up to a
        constant; the posterior is that of the last iteration. Items without votes, or whose best labels are equally
        probable, are unresolved. A label that neither an annotator nor an anchor gave has probability 0.

    Raises:
        UsageError: the answers are open (confusions between so many labels cannot be estimated); an anchor is not a label; a
            parameter is out of range; or there are so many labels that the confusions do not fit in memory.

    References:
        A. P. Dawid, A. M. Skene, Maximum Likelihood Estimation of Observer Error-Rates Using the EM Algorithm, Journal of the
        Royal Statistical Society C 28(1), 1979.

    Example:
        >>> votes = Votes(*np.array([[0, 0, 0, 1, 1, 1], [0, 1, 2, 0, 1, 2], [1, 1, 0, 0, 0, 1]]), 2, 3, 2)
        >>> consensus = dawid_skene(votes, weight=0)
        >>> consensus.label.tolist(), consensus.fit.converged, consensus.fit.quality.round(3).tolist()
        ([1, 0], True, [1.0, 1.0, 0.0])
    """
    if iterations < 1 or not tolerance >= 0 or not 0 <= weight < np.inf:
        raise UsageError(
            "Dawid-Skene takes at least 1 iteration, a tolerance of 0 or more and a weight of 0 or more"
        )
    refuse_open_answers(votes, open_answers)
    known = anchor_labels(anchors, votes)
    model = _Model.of(votes, known, weight)
    parameters = model.maximise(model.shares_of_votes())
    share, log_likelihood = model.expect(parameters)
    history = [log_likelihood]
    converged = not len(votes)
    while not converged and len(history) < iterations:
        parameters = model.maximise(share)
        share, log_likelihood = model.expect(parameters)
        history.append(log_likelihood)
        converged = tolerance > 0 and history[-1] - history[-2] < tolerance * len(votes)
    label, quality = model.most_probable(share, known), model.quality(share)
    correlation = error_correlation(
        votes, quality, anchors=known, wrong_answers=max(votes.labels - 1.0, 1.0), open_answers=False
    )
    power = evidence_power(np.bincount(votes.item, minlength=votes.items), correlation)
    fit = Fit(
        model="dawid-skene",
        quality=quality,
        log_likelihood=tuple(history),
        converged=converged,
        tolerance=tolerance,
        prior=model.full_prior(parameters),
        posterior=model.posterior(share, parameters, known),
        confusion=model.full_confusion(parameters),
        error_correlation=correlation,
        power=power,
    )
    return modelled(label, model.calibrated_confidence(label, known, share, power), known, fit)


def refuse_open_answers(votes: Votes, declared: bool | None = None) -> None:
    """Raise an error for open answers before anything is computed.

    Raises:
        UsageError: the answers are open.
    """
    if is_open(votes, declared):
        raise UsageError(
            f"Dawid-Skene takes closed answers only: with {votes.labels} different labels it would estimate "
            f"{votes.labels**2:,} confusion probabilities of every annotator (use one-coin, glad or majority)"
        )


class _Parameters(NamedTuple):
    """The fitted parameters.

    Attributes:
        prior: shape (k,), the prior probability of each candidate.
        confusion: shape (k, cells), the probability of each cell given the true candidate.
        accuracy: shape (annotators,), each annotator's accuracy over all labels.
    """

    prior: FloatArray
    confusion: FloatArray
    accuracy: FloatArray


@dataclass(frozen=True, slots=True)
class _Model:
    """Answers sorted by item, restricted to the labels that can be true.

    Attributes:
        item: shape (n,), the index of the answer's item in `answered`, ascending.
        cell: shape (n,), annotator x k + candidate: the answer's column in the table of confusions.
        given: shape (cells,), true for the cells that occur.
        answered: shape (groups,), the items that have votes.
        anchor: shape (groups,), the known candidate, -1 if unknown.
        candidates: shape (k,), the labels given by an annotator or an anchor.
        annotators: the number of annotators.
        items: the number of items.
        labels: the number of all labels.
        weight: the strength of the prior.
        agreement: the mean share of an item's votes that agree with an answer: the initial estimate of the crowd's accuracy.
    """

    item: NDArray[np.intp]
    cell: NDArray[np.intp]
    given: NDArray[np.bool_]
    answered: NDArray[np.intp]
    anchor: NDArray[np.intp]
    candidates: NDArray[np.intp]
    annotators: int
    items: int
    labels: int
    weight: float
    agreement: float

    @classmethod
    def of(cls, votes: Votes, anchors: IntArray, weight: float) -> _Model:
        possible = np.bincount(votes.label, minlength=votes.labels)
        possible += np.bincount(anchors[anchors != NO_LABEL], minlength=votes.labels)
        candidates = np.flatnonzero(possible)
        answers = np.bincount(votes.item, minlength=votes.items)
        answered = np.flatnonzero(answers)
        for what, cells in (
            ("probabilities of labels", answered.size * candidates.size),
            ("confusions of annotators", votes.annotators * candidates.size**2),
        ):
            if cells > LARGEST_TABLE:
                raise UsageError(
                    f"Dawid-Skene's {what} would take {cells * 8 / 1e9:.0f} GB with {candidates.size} labels: "
                    "normalise the answers, or use one-coin, glad or majority"
                )
        place = np.full(votes.labels + 1, NO_LABEL, dtype=np.intp)
        place[candidates] = np.arange(candidates.size)
        item, annotator, label = votes.item, votes.annotator, votes.label
        if item.size and (item[1:] < item[:-1]).any():
            order = sorting_order(item)
            item, annotator, label = item[order], annotator[order], label[order]
        cell = annotator.astype(np.intp) * candidates.size + place[label]
        return cls(
            item=np.repeat(np.arange(answered.size), answers[answered]),
            cell=cell,
            given=np.bincount(cell, minlength=votes.annotators * candidates.size) > 0,
            answered=answered,
            # Index -1 (no anchor) reads the last element of `place`, which is -1.
            anchor=place[anchors[answered]],
            candidates=candidates,
            annotators=votes.annotators,
            items=votes.items,
            labels=votes.labels,
            # One candidate cannot be confused with another.
            weight=weight if candidates.size > 1 else 0.0,
            agreement=_agreement(votes, answers),
        )

    def shares_of_votes(self) -> FloatArray:
        """Compute each candidate's share of an item's votes, shape (k, groups)."""
        k, groups = self.candidates.size, self.answered.size
        label = self.cell % max(k, 1)
        counts = (
            np.bincount(label * groups + self.item, minlength=k * groups)
            .reshape(k, groups)
            .astype(np.float64)
        )
        return self._anchored(counts / counts.sum(axis=0))

    def maximise(self, share: FloatArray) -> _Parameters:
        """Run the M step: estimate prior, confusions and accuracies from the expected truth and the prior on them."""
        k = self.candidates.size
        prior = np.maximum(share.mean(axis=1), SMALLEST) if self.item.size else np.zeros(k)
        confusion = np.empty((k, self.given.size))
        right = np.zeros(self.annotators)
        for truth, probability in enumerate(share):
            seen: FloatArray = np.bincount(
                self.cell, weights=probability[self.item], minlength=self.given.size
            ).astype(np.float64)
            right += seen[truth :: max(k, 1)]
            counts = self._with_prior(seen, truth).reshape(self.annotators, -1)
            total = counts.sum(axis=1, keepdims=True)
            confusion[truth] = (counts / np.where(total > 0, total, 1.0)).reshape(-1)
        answers = np.bincount(self.cell // max(k, 1), minlength=self.annotators)
        accuracy = (right + ANSWERS_BEFOREHAND * self.agreement) / (answers + ANSWERS_BEFOREHAND)
        return _Parameters(prior, confusion, accuracy)

    def _with_prior(self, seen: FloatArray, truth: int) -> FloatArray:
        """Add the prior's pseudo-counts to the expected counts of one true candidate, shape (cells,)."""
        if not self.weight:
            return np.where(self.given, np.maximum(seen, SMALLEST), 0.0)
        return seen + np.tile(self._beforehand(truth), self.annotators)

    def _beforehand(self, truth: int) -> FloatArray:
        """Return the prior's pseudo-counts for one row of a confusion matrix, shape (k,)."""
        k = self.candidates.size
        row = np.full(k, (1 - self.agreement) / (k - 1) * self.weight / 2)
        row[truth] = self.agreement * self.weight / 2
        return row

    def _log_table(self, parameters: _Parameters, truth: int) -> FloatArray:
        """Compute the log-likelihood of an answer given the true candidate, by cell, shape (cells,)."""
        with np.errstate(divide="ignore"):
            # Without a prior, cells that do not occur have probability 0, but they are never looked up.
            own: FloatArray = np.log(parameters.confusion[truth])
        if not self.weight:
            return own
        k = self.candidates.size
        coin = np.repeat(np.log((1 - parameters.accuracy) / (k - 1)), k)
        coin[truth::k] = np.log(parameters.accuracy)
        pooled: FloatArray = (own + self.weight * coin) / (1 + self.weight)
        return pooled

    def _log_prior(self, parameters: _Parameters) -> float:
        """Compute the log density of the prior on confusions and accuracies, up to a constant."""
        if not self.weight:
            return 0.0
        rows = parameters.confusion.reshape(self.candidates.size, self.annotators, -1)
        confusions = sum(
            float((np.log(row) @ self._beforehand(truth)).sum()) for truth, row in enumerate(rows)
        )
        hits, misses = np.log(parameters.accuracy), np.log1p(-parameters.accuracy)
        coins = ANSWERS_BEFOREHAND * float((self.agreement * hits + (1 - self.agreement) * misses).sum())
        return (confusions + self.weight * coins) / (1 + self.weight)

    def expect(self, parameters: _Parameters) -> tuple[FloatArray, float]:
        """Run the E step: each candidate's probability, shape (k, groups), and the log-likelihood of the parameters."""
        share = np.empty((self.candidates.size, self.answered.size))
        for truth in range(self.candidates.size):
            table = self._log_table(parameters, truth)
            share[truth] = np.bincount(self.item, weights=table[self.cell], minlength=self.answered.size)
            share[truth] += np.log(parameters.prior[truth])
        if not self.item.size:
            return share, 0.0
        anchored = self.anchor != NO_LABEL
        highest = share.max(axis=0)
        highest[anchored] = share[self.anchor[anchored], np.flatnonzero(anchored)]
        share -= highest
        np.exp(share, out=share)
        share = self._anchored(share)
        total = share.sum(axis=0)
        share /= total
        return share, float(np.log(total).sum() + highest.sum()) + self._log_prior(parameters)

    def _anchored(self, share: FloatArray) -> FloatArray:
        """Set the probability of known labels to 1, in place."""
        known = np.flatnonzero(self.anchor != NO_LABEL)
        share[:, known] = 0.0
        share[self.anchor[known], known] = 1.0
        return share

    def most_probable(self, share: FloatArray, anchors: IntArray) -> IntArray:
        """Find the most probable label of each item; on a tie there is no label."""
        label = np.full(self.items, NO_LABEL, dtype=np.int32)
        if self.answered.size:
            best = share.max(axis=0)
            decided = (share >= best - TIE).sum(axis=0) == 1
            label[self.answered[decided]] = self.candidates[share.argmax(axis=0)[decided]]
        return np.where(anchors == NO_LABEL, label, anchors).astype(np.int32)

    def calibrated_confidence(
        self, label: IntArray, anchors: IntArray, share: FloatArray, power: FloatArray
    ) -> FloatArray:
        """Compute the calibrated probability of each item's most probable label, shape (items,); NaN without a label."""
        confidence = np.full(self.items, np.nan)
        if self.answered.size:
            raised = (share / share.max(axis=0)) ** power[self.answered]
            confidence[self.answered] = 1 / raised.sum(axis=0)
        confidence[label == NO_LABEL] = np.nan
        confidence[anchors != NO_LABEL] = 1.0
        return confidence

    def posterior(self, share: FloatArray, parameters: _Parameters, anchors: IntArray) -> FloatArray | None:
        """Build the table of label probabilities, shape (items, labels); None if it would be too large."""
        if self.items * self.labels > LARGEST_TABLE:
            return None
        table = np.tile(self.full_prior(parameters), (self.items, 1))
        table[self.answered[:, None], self.candidates] = share.T
        anchored = np.flatnonzero(anchors != NO_LABEL)
        table[anchored] = 0.0
        table[anchored, anchors[anchored]] = 1.0
        return table

    def quality(self, share: FloatArray) -> FloatArray:
        """Compute each annotator's expected share of correct answers, shape (annotators,); NaN without answers."""
        k = max(self.candidates.size, 1)
        annotator, label = np.divmod(self.cell, k)
        right = np.bincount(annotator, weights=share[label, self.item], minlength=self.annotators)
        answers = np.bincount(annotator, minlength=self.annotators)
        return np.where(answers > 0, right / np.maximum(answers, 1), np.nan)

    def full_prior(self, parameters: _Parameters) -> FloatArray:
        """Expand the prior to all labels, shape (labels,)."""
        prior = np.zeros(self.labels)
        prior[self.candidates] = parameters.prior / max(parameters.prior.sum(), SMALLEST)
        return prior

    def full_confusion(self, parameters: _Parameters) -> FloatArray | None:
        """Expand the confusions to all labels, shape (annotators, labels, labels); None if they would be too large."""
        if self.annotators * self.labels**2 > LARGEST_TABLE:
            return None
        k = self.candidates.size
        table = np.full((self.annotators, self.labels, self.labels), np.nan)
        if not k:
            return table
        answering = np.flatnonzero(self.given.reshape(self.annotators, k).any(axis=1))
        compact = parameters.confusion.reshape(k, self.annotators, k).transpose(1, 0, 2)[answering]
        table[np.ix_(answering, self.candidates)] = 0.0
        table[np.ix_(answering, self.candidates, self.candidates)] = compact
        return table


def _agreement(votes: Votes, answers: NDArray[np.intp]) -> float:
    """Compute the mean share of an item's votes that agree with an answer, clipped to [0.001, 0.999].

    Args:
        votes: the answers.
        answers: shape (items,), the number of votes of each item.
    """
    if not len(votes):
        return 0.5
    tally = votes.tally()
    agreeing = float((tally.votes**2 / answers[tally.item]).sum()) / len(votes)
    return min(max(agreeing, 1e-3), 1 - 1e-3)
