"""Dawid and Skene's model: how every annotator confuses the labels, from their answers alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from merilo.errors import UsageError
from merilo.people.aggregation.consensus import NO_LABEL, TIE, Consensus, Fit, FloatArray, Resolution
from merilo.people.aggregation.known_labels import anchor_labels
from merilo.people.votes import IntArray, Votes, sorting_order

#: Expected counts and priors are not let below this: a label that an annotator was never seen to confuse stays possible.
SMALLEST = 1e-10

#: The tables of probabilities and of confusions hold at most so many numbers (1.6 GB) each.
LARGEST_TABLE = 200_000_000


def dawid_skene(
    votes: Votes, *, anchors: ArrayLike | None = None, tolerance: float = 1e-8, iterations: int = 1000
) -> Consensus:
    """The most probable labels when every annotator has confusions of their own.

    Annotator `a` gives label `g` to an item whose true label is `t` with probability `confusion[a, t, g]`; labels have prior
    probabilities, fitted too. Expectation-maximisation starts from the shares of votes, so there is no seed. Time and
    memory an iteration grow with answers x labels.

    Args:
        votes: the answers.
        anchors: shape (items,), the code of the label that is known, -1 where none is.
        tolerance: stop when an iteration gains less than this in log-likelihood per answer; 0 runs all iterations.
        iterations: stop then at the latest; the fit then says that it did not converge.

    Returns:
        The consensus, with the fit: prior, confusions, and as `quality` the share of an annotator's answers expected to be
        right. `log_likelihood[k]` is that of the parameters of iteration k, and the posterior is that of the
        parameters returned. Items without votes, or whose best labels are equally probable, are unresolved. A label
        that nobody gave and no anchor names has probability 0.

    Raises:
        UsageError: an anchor is not a label, or there are so many labels that their confusions have no place in memory.

    References:
        A. P. Dawid, A. M. Skene, Maximum Likelihood Estimation of Observer Error-Rates Using the EM Algorithm, Journal of the
        Royal Statistical Society C 28(1), 1979.

    Example:
        >>> votes = Votes(*np.array([[0, 0, 0, 1, 1, 1], [0, 1, 2, 0, 1, 2], [1, 1, 0, 0, 0, 1]]), 2, 3, 2)
        >>> consensus = dawid_skene(votes)
        >>> consensus.label.tolist(), consensus.fit.converged, consensus.fit.quality.round(3).tolist()
        ([1, 0], True, [1.0, 1.0, 0.0])
    """
    if iterations < 1 or not tolerance >= 0:
        raise UsageError("Dawid-Skene takes at least 1 iteration and a tolerance of 0 or more")
    known = anchor_labels(anchors, votes)
    model = _Model.of(votes, known)
    parameters = model.maximise(model.shares_of_votes())
    share, log_likelihood = model.expect(parameters)
    history = [log_likelihood]
    converged = not len(votes)
    while not converged and len(history) < iterations:
        parameters = model.maximise(share)
        share, log_likelihood = model.expect(parameters)
        history.append(log_likelihood)
        converged = tolerance > 0 and history[-1] - history[-2] < tolerance * len(votes)
    label, confidence = model.most_probable(share, known)
    how = np.select(
        [label == NO_LABEL, known != NO_LABEL],
        [Resolution.UNRESOLVED, Resolution.ANCHOR],
        default=Resolution.DAWID_SKENE,
    ).astype(np.int8)
    fit = Fit(
        model="dawid-skene",
        posterior=model.posterior(share, parameters, known),
        quality=model.quality(share),
        log_likelihood=tuple(history),
        converged=converged,
        tolerance=tolerance,
        anchored=int((known != NO_LABEL).sum()),
        prior=model.full_prior(parameters),
        confusion=model.full_confusion(parameters),
    )
    return Consensus(label, how, confidence, fit)


class _Parameters(NamedTuple):
    """Prior, shape (k,), and confusions: of true candidate by cell, shape (k, cells)."""

    prior: FloatArray
    confusion: FloatArray


@dataclass(frozen=True, slots=True)
class _Model:
    """Answers sorted by item, over the labels that can be true.

    Attributes:
        item: shape (n,), the answer's item among those answered, ascending.
        cell: shape (n,), annotator x candidates + label: a row of the table of confusions.
        given: shape (cells,), which of these ever happen.
        answered: shape (groups,), the items that have votes.
        anchor: shape (groups,), the candidate that is known, -1 where none is.
        candidates: shape (k,), the labels that somebody gave or an anchor names.
        annotators: how many annotators there are.
        items: how many items there are.
        labels: how many labels there are, possible or not.
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

    @classmethod
    def of(cls, votes: Votes, anchors: IntArray) -> _Model:
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
                    "normalise the answers, or take majority or GLAD"
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
            # The last place of `place` stands for -1, no anchor.
            anchor=place[anchors[answered]],
            candidates=candidates,
            annotators=votes.annotators,
            items=votes.items,
            labels=votes.labels,
        )

    def shares_of_votes(self) -> FloatArray:
        """The share of each candidate among an item's votes, shape (k, groups)."""
        k, groups = self.candidates.size, self.answered.size
        label = self.cell % max(k, 1)
        counts = (
            np.bincount(label * groups + self.item, minlength=k * groups)
            .reshape(k, groups)
            .astype(np.float64)
        )
        return self._anchored(counts / counts.sum(axis=0))

    def maximise(self, share: FloatArray) -> _Parameters:
        """Prior and confusions that make the expected truth most likely."""
        prior = np.maximum(share.mean(axis=1), SMALLEST) if self.item.size else np.zeros(self.candidates.size)
        confusion = np.empty((self.candidates.size, self.given.size))
        for truth, probability in enumerate(share):
            seen = np.bincount(self.cell, weights=probability[self.item], minlength=self.given.size)
            seen = np.where(self.given, np.maximum(seen, SMALLEST), 0.0).reshape(self.annotators, -1)
            total = seen.sum(axis=1, keepdims=True)
            confusion[truth] = (seen / np.where(total > 0, total, 1.0)).reshape(-1)
        return _Parameters(prior, confusion)

    def expect(self, parameters: _Parameters) -> tuple[FloatArray, float]:
        """The probability of each candidate, shape (k, groups), and the log-likelihood of the parameters."""
        share = np.empty((self.candidates.size, self.answered.size))
        with np.errstate(divide="ignore"):
            # A cell that never happens has no probability, and is never looked up.
            for truth, row in enumerate(parameters.confusion):
                share[truth] = np.bincount(
                    self.item, weights=np.log(row)[self.cell], minlength=self.answered.size
                )
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
        return share, float(np.log(total).sum() + highest.sum())

    def _anchored(self, share: FloatArray) -> FloatArray:
        """The same with certainty where the label is known; changes its argument."""
        known = np.flatnonzero(self.anchor != NO_LABEL)
        share[:, known] = 0.0
        share[self.anchor[known], known] = 1.0
        return share

    def most_probable(self, share: FloatArray, anchors: IntArray) -> tuple[IntArray, FloatArray]:
        """The most probable label of each item and its probability; no label on a tie."""
        label = np.full(self.items, NO_LABEL, dtype=np.int32)
        confidence = np.full(self.items, np.nan)
        if self.answered.size:
            best = share.max(axis=0)
            decided = (share >= best - TIE).sum(axis=0) == 1
            label[self.answered[decided]] = self.candidates[share.argmax(axis=0)[decided]]
            confidence[self.answered[decided]] = best[decided]
        anchored = anchors != NO_LABEL
        label[anchored] = anchors[anchored]
        confidence[anchored] = 1.0
        return label, confidence

    def posterior(self, share: FloatArray, parameters: _Parameters, anchors: IntArray) -> FloatArray | None:
        """The probability of each label of each item, shape (items, labels), where that fits."""
        if self.items * self.labels > LARGEST_TABLE:
            return None
        table = np.tile(self.full_prior(parameters), (self.items, 1))
        table[self.answered[:, None], self.candidates] = share.T
        anchored = np.flatnonzero(anchors != NO_LABEL)
        table[anchored] = 0.0
        table[anchored, anchors[anchored]] = 1.0
        return table

    def quality(self, share: FloatArray) -> FloatArray:
        """The share of each annotator's answers expected to be right, shape (annotators,); NaN for who gave none."""
        k = max(self.candidates.size, 1)
        annotator, label = np.divmod(self.cell, k)
        right = np.bincount(annotator, weights=share[label, self.item], minlength=self.annotators)
        answers = np.bincount(annotator, minlength=self.annotators)
        return np.where(answers > 0, right / np.maximum(answers, 1), np.nan)

    def full_prior(self, parameters: _Parameters) -> FloatArray:
        """The prior over all labels, shape (labels,)."""
        prior = np.zeros(self.labels)
        prior[self.candidates] = parameters.prior / max(parameters.prior.sum(), SMALLEST)
        return prior

    def full_confusion(self, parameters: _Parameters) -> FloatArray | None:
        """The confusions over all labels, shape (annotators, labels, labels), where that fits."""
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
