"""Dawid and Skene's model: confusion matrices of annotators, estimated from their answers alone.

`dawid_skene` is the classical model. `pooled_dawid_skene` is the recommended one: annotators share a pooled
confusion matrix, and the labels are a compromise of the model with the votes.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from merilo.errors import UsageError
from merilo.people.aggregation.candidates import log_odds
from merilo.people.aggregation.consensus import (
    NO_LABEL,
    TIE,
    Consensus,
    Fit,
    Resolution,
    is_open,
    modelled,
)
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


def dawid_skene(
    votes: Votes,
    *,
    open_answers: bool | None = None,
    tolerance: float = 1e-8,
    iterations: int = 1000,
) -> Consensus:
    """Aggregate by Dawid and Skene's model, in which every annotator has their own confusion matrix.

    Annotator `a` gives label `g` to an item whose true label is `t` with probability `confusion[a, t, g]`. The prior
    probabilities of labels are fitted too. Expectation-maximisation starts from the shares of votes, so there
    is no seed. Time and memory of an iteration grow with answers x labels. On crowds with few answers of each
    annotator the model overfits: it explains the difficulty of items by confusions of annotators. Prefer
    `pooled_dawid_skene`.

    Args:
        votes: the answers, which must be closed.
        open_answers: whether labels are typed freely; if None, inferred from their number (see `is_open`).
        tolerance: stop when an iteration gains less than this in log-likelihood per answer; 0 runs all iterations.
        iterations: the maximum number of iterations; a fit that reaches it is marked as not converged.

    Returns:
        The consensus, with the fit: prior, confusions, and as `quality` the expected share of an annotator's
        correct answers. `log_likelihood[k]` belongs to the parameters of iteration k. Items
        without votes, or whose best labels are equally probable, are unresolved. A label that nobody gave has
        probability 0.

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
    parameters = answers.classical(answers.shares)
    share, log_likelihood = answers.expected(parameters)
    history = [log_likelihood]
    converged = not len(votes)
    while not converged and len(history) < iterations:
        parameters = answers.classical(share)
        share, log_likelihood = answers.expected(parameters)
        history.append(log_likelihood)
        converged = tolerance > 0 and history[-1] - history[-2] < tolerance * len(votes)
    return answers.consensus(
        "dawid-skene",
        share=share,
        decisive=share,
        parameters=parameters,
        history=history,
        tolerance=tolerance,
        converged=converged,
    )


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
    share, history, converged = answers.shares, [], not len(votes)
    while True:
        parameters = answers.pooled((1 - PART_OF_VOTES) * share + PART_OF_VOTES * answers.shares)
        last, (share, log_likelihood) = share, answers.expected(parameters)
        history.append(log_likelihood)
        converged = converged or (tolerance > 0 and float(np.abs(share - last).max(initial=0.0)) < tolerance)
        if converged or len(history) == iterations:
            break
    return answers.consensus(
        "pooled",
        share=share,
        decisive=2 * share + answers.shares,
        parameters=parameters,
        history=history,
        tolerance=tolerance,
        converged=converged,
        scale=scale,
    )


def auto(
    votes: Votes,
    *,
    open_answers: bool | None = None,
    scale: ArrayLike | None = None,
) -> Consensus:
    """Aggregate by the recommended model: `pooled_dawid_skene` for closed answers, `glad` for open ones.

    The arguments are those of the model. Open answers have no scale.
    """
    if is_open(votes, open_answers):
        return glad(votes, open_answers=True)
    return pooled_dawid_skene(votes, open_answers=False, scale=scale)


def _check_iterations(tolerance: float, iterations: int) -> None:
    if iterations < 1 or not tolerance >= 0:
        raise UsageError("Dawid-Skene takes at least 1 iteration and a tolerance of 0 or more")


@dataclass(frozen=True, slots=True)
class _Parameters:
    """The fitted parameters.

    Attributes:
        prior: shape (k,), the prior probability of each candidate.
        confusion: shape (cells, k), the probability of each cell given the true candidate.
    """

    prior: FloatArray
    confusion: FloatArray


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
        possible = np.bincount(votes.label, minlength=votes.labels)
        candidates = np.flatnonzero(possible)
        k = candidates.size
        answers = np.bincount(votes.item, minlength=votes.items)
        answered = np.flatnonzero(answers)
        for what, cells in (
            ("probabilities of labels", answered.size * k),
            ("confusions of annotators", votes.annotators * k**2),
        ):
            if cells > LARGEST_TABLE:
                raise UsageError(
                    f"Dawid-Skene's {what} would take {cells * 8 / 1e9:.0f} GB with {k} labels: "
                    "normalise the answers, or use glad or majority"
                )
        group, place = np.cumsum(answers > 0) - 1, np.cumsum(possible > 0) - 1
        item, label = group[votes.item], place[votes.label]
        if item.size and (item[1:] < item[:-1]).any():
            order = sorting_order(item)
            item, label, annotator = item[order], label[order], votes.annotator[order]
        else:
            annotator = votes.annotator
        cell = annotator.astype(np.intp) * k + label
        counts = (
            np.bincount(item * k + label, minlength=answered.size * k)
            .reshape(answered.size, k)
            .astype(np.float64)
        )
        agreeing = float((counts**2 / counts.sum(axis=1, keepdims=True)).sum()) / max(len(votes), 1)
        shares = counts / counts.sum(axis=1, keepdims=True)
        agreement = min(max(agreeing, 1e-3), 1 - 1e-3) if len(votes) else 0.5
        return cls(votes, candidates, answered, shares, item, cell, agreement)

    def seen(self, share: FloatArray) -> FloatArray:
        """Return how often each cell is expected with each candidate as the truth, shape (cells, k)."""
        cells = self.votes.annotators * self.candidates.size
        counts = [np.bincount(self.cell, weights=one[self.item], minlength=cells) for one in share.T]
        return np.stack(counts, axis=1) if counts else np.zeros((cells, 0))

    def classical(self, share: FloatArray) -> _Parameters:
        """Estimate prior and confusions from the expected truth alone."""
        k = self.candidates.size
        seen = self.seen(share)
        occurs = np.bincount(self.cell, minlength=seen.shape[0]) > 0
        counts = np.where(occurs[:, None], np.maximum(seen, SMALLEST), 0.0).reshape(
            self.votes.annotators, k, k
        )
        total = counts.sum(axis=1, keepdims=True)
        confusion = (counts / np.where(total > 0, total, 1.0)).reshape(self.votes.annotators * k, k)
        prior = np.maximum(share.mean(axis=0), SMALLEST) if share.size else np.zeros(k)
        return _Parameters(prior, confusion)

    def pooled(self, share: FloatArray) -> _Parameters:
        """Estimate prior and confusions, those of annotators shrunk towards the pooled ones."""
        k = self.candidates.size
        seen = self.seen(share).reshape(self.votes.annotators, k, k)
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
        return _Parameters(prior / prior.sum(), confusion.reshape(self.votes.annotators * k, k))

    def expected(self, parameters: _Parameters) -> tuple[FloatArray, float]:
        """Compute each candidate's probability, shape (groups, k), and the log-likelihood of the parameters."""
        with np.errstate(divide="ignore"):
            # The classical model gives cells that do not occur probability 0, but they are never looked up.
            table = np.log(parameters.confusion)
        support = [
            np.bincount(self.item, weights=one[self.cell], minlength=self.answered.size) for one in table.T
        ]
        share: FloatArray = np.zeros_like(self.shares)
        if support:
            share = np.stack(support, axis=1).astype(np.float64) + np.log(parameters.prior)
        if not share.size:
            return share, 0.0
        highest = share.max(axis=1)
        share = np.exp(share - highest[:, None])
        total = share.sum(axis=1)
        return share / total[:, None], float(np.log(total).sum() + highest.sum())

    def consensus(
        self,
        model: str,
        *,
        share: FloatArray,
        decisive: FloatArray,
        parameters: _Parameters,
        history: list[float],
        tolerance: float,
        converged: bool,
        scale: ArrayLike | None = None,
    ) -> Consensus:
        """Label each item by the largest decisive value, with the probability of the label.

        On a scale only the medians of the item's answers are compared.
        """
        votes = self.votes
        label, confidence = np.full(votes.items, NO_LABEL, dtype=np.int32), np.full(votes.items, np.nan)
        quality = self._quality(share)
        if share.size:
            if scale is not None:
                decisive = np.where(self._medians(quality, np.asarray(scale)), decisive, -np.inf)
            chosen, best = decisive.argmax(axis=1), decisive.max(axis=1)
            decided = (decisive >= best[:, None] - TIE).sum(axis=1) == 1
            label[self.answered[decided]] = self.candidates[chosen[decided]]
            confidence[self.answered] = share[np.arange(chosen.size), chosen]
        confidence[label == NO_LABEL] = np.nan
        prior = np.zeros(votes.labels)
        prior[self.candidates] = parameters.prior / max(parameters.prior.sum(), SMALLEST)
        fit = Fit(
            model=model,
            posterior=self._posterior(share, prior),
            quality=quality,
            log_likelihood=tuple(history),
            converged=converged,
            tolerance=tolerance,
            prior=prior,
            confusion=self._confusion(parameters),
        )
        found = modelled(label, confidence, fit)
        if scale is None:
            return found
        by_model = found.how == Resolution[model.upper().replace("-", "_")]
        return replace(found, how=np.where(by_model, Resolution.WEIGHTED_MEDIAN, found.how).astype(np.int8))

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

    def _posterior(self, share: FloatArray, prior: FloatArray) -> FloatArray | None:
        """Build the table of label probabilities, shape (items, labels); None if it would be too large."""
        votes = self.votes
        if votes.items * votes.labels > LARGEST_TABLE:
            return None
        table = np.tile(prior, (votes.items, 1))
        table[self.answered[:, None], self.candidates] = share
        return table

    def _quality(self, share: FloatArray) -> FloatArray:
        """Compute each annotator's expected share of correct answers, shape (annotators,); NaN without answers."""
        k = max(self.candidates.size, 1)
        right = (
            self.seen(share).reshape(self.votes.annotators, k, k).trace(axis1=1, axis2=2)
            if share.size
            else 0.0
        )
        answers = np.bincount(self.votes.annotator, minlength=self.votes.annotators)
        return np.where(answers > 0, right / np.maximum(answers, 1), np.nan)

    def _confusion(self, parameters: _Parameters) -> FloatArray | None:
        """Expand the confusions to all labels, shape (annotators, labels, labels); None if they would be too large."""
        votes, k = self.votes, self.candidates.size
        if votes.annotators * votes.labels**2 > LARGEST_TABLE:
            return None
        table = np.full((votes.annotators, votes.labels, votes.labels), np.nan)
        answering = np.flatnonzero(np.bincount(votes.annotator, minlength=votes.annotators))
        if k and answering.size:
            compact = parameters.confusion.reshape(self.votes.annotators, k, k).transpose(0, 2, 1)[answering]
            table[np.ix_(answering, self.candidates)] = 0.0
            table[np.ix_(answering, self.candidates, self.candidates)] = compact
        return table
