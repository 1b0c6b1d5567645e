"""Dawid and Skene's model: how every annotator confuses the labels, from their answers alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from merilo.errors import UsageError
from merilo.people.aggregation.consensus import NO_LABEL, TIE, Consensus, Fit, Resolution
from merilo.people.aggregation.known_labels import anchor_labels
from merilo.people.aggregation.open_answers import is_open
from merilo.people.votes import IntArray, Votes, sorting_order
from merilo.statistics.arrays import FloatArray

#: Expected counts and priors are not let below this: a label that an annotator was never seen to confuse stays possible.
SMALLEST = 1e-10

#: How far an annotator's confusions are drawn to their own accuracy, unless the caller says otherwise. Chosen on eight public
#: crowds with truth (`benchmarks/crowds.py`): from 1 to 3 the mean accuracy is the best and moves by less than 0.004.
WEIGHT = 2.0

#: How many answers an annotator is given beforehand, right as often as the crowd's votes agree.
ANSWERS_BEFOREHAND = 4.0

#: The tables of probabilities and of confusions hold at most so many numbers (1.6 GB) each.
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
    """The most probable labels when every annotator has confusions of their own.

    Annotator `a` gives label `g` to an item whose true label is `t` with probability `confusion[a, t, g]`; labels have prior
    probabilities, fitted too. Expectation-maximisation starts from the shares of votes, so there is no seed. Time and
    memory an iteration grow with answers x labels.

    On real crowds the classical model overfits: it takes the dependence of answers on the item for confusions of people. The
    prior draws each annotator's confusions to those of a person who has one accuracy for all labels. An answer then counts as

        log confusion[a, t, g] / (1 + weight) + log coin[a, t, g] * weight / (1 + weight)

    where `coin` is the annotator's accuracy where `g` is `t`, and an equal share of the rest where it is not. Both are fitted
    to the same expected truth. Each row of confusions gets `weight` / 2 answers beforehand, spread as the crowd's votes
    agree; each accuracy four. Weight 0 is the classical model of Dawid and Skene.

    Args:
        votes: the answers, closed ones.
        anchors: shape (items,), the code of the label that is known, -1 where none is.
        weight: how strong the prior is, 0 or more; 0 for the classical model.
        open_answers: whether labels are typed freely; None: told by their number (see `open_answers.is_open`).
        tolerance: stop when an iteration gains less than this in log-likelihood per answer; 0 runs all iterations.
        iterations: stop then at the latest; the fit then says that it did not converge.

    Returns:
        The consensus, with the fit: prior, confusions, and as `quality` the share of an annotator's answers expected to be
        right. `log_likelihood[k]` is that of the parameters of iteration k, with the log density of the prior beside a
        constant; the posterior is that of the last iteration. Items without votes, or whose best labels are equally probable, are unresolved. A label
        that nobody gave and no anchor names has probability 0.

    Raises:
        UsageError: the answers are open (nobody's confusions between so many labels can be learned); an anchor is not a label; a
            parameter is out of range; or there are so many labels that their confusions have no place in memory.

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


def refuse_open_answers(votes: Votes, declared: bool | None = None) -> None:
    """Refuse open answers before anything is computed.

    Raises:
        UsageError: the answers are open.
    """
    if is_open(votes, declared):
        raise UsageError(
            f"Dawid-Skene takes closed answers only: with {votes.labels} different labels it would learn "
            f"{votes.labels**2:,} confusions of every annotator (take one-coin, glad or majority)"
        )


class _Parameters(NamedTuple):
    """What is fitted.

    Attributes:
        prior: shape (k,), of each candidate.
        confusion: shape (k, cells), of true candidate by cell.
        accuracy: shape (annotators,), of the annotator whatever the label.
    """

    prior: FloatArray
    confusion: FloatArray
    accuracy: FloatArray


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
        weight: how strong the prior is.
        agreement: the share of its item's votes that an answer's label has on average: the crowd's accuracy as first seen.
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
                    "normalise the answers, or take one-coin, glad or majority"
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
            # One candidate cannot be confused with another.
            weight=weight if candidates.size > 1 else 0.0,
            agreement=_agreement(votes, answers),
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
        """Prior, confusions and accuracies that make the expected truth and the prior on them most likely."""
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
        """Expected counts of one true candidate by cell, with those given beforehand, shape (cells,)."""
        if not self.weight:
            return np.where(self.given, np.maximum(seen, SMALLEST), 0.0)
        return seen + np.tile(self._beforehand(truth), self.annotators)

    def _beforehand(self, truth: int) -> FloatArray:
        """The answers that a row of confusions is given beforehand, shape (k,)."""
        k = self.candidates.size
        row = np.full(k, (1 - self.agreement) / (k - 1) * self.weight / 2)
        row[truth] = self.agreement * self.weight / 2
        return row

    def _log_table(self, parameters: _Parameters, truth: int) -> FloatArray:
        """What an answer adds to the log-likelihood of a true candidate, by cell, shape (cells,)."""
        with np.errstate(divide="ignore"):
            # Without a prior, a cell that never happens has no probability, and is never looked up.
            own: FloatArray = np.log(parameters.confusion[truth])
        if not self.weight:
            return own
        k = self.candidates.size
        coin = np.repeat(np.log((1 - parameters.accuracy) / (k - 1)), k)
        coin[truth::k] = np.log(parameters.accuracy)
        pooled: FloatArray = (own + self.weight * coin) / (1 + self.weight)
        return pooled

    def _log_prior(self, parameters: _Parameters) -> float:
        """The log density of the prior on confusions and accuracies, beside a constant."""
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
        """The probability of each candidate, shape (k, groups), and the log-likelihood of the parameters."""
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


def _agreement(votes: Votes, answers: NDArray[np.intp]) -> float:
    """The mean share of its item's votes that an answer's label has, kept inside 0 to 1; `answers` are the items' votes."""
    if not len(votes):
        return 0.5
    tally = votes.tally()
    agreeing = float((tally.votes**2 / answers[tally.item]).sum()) / len(votes)
    return min(max(agreeing, 1e-3), 1 - 1e-3)
