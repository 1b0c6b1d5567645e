"""GLAD: abilities of annotators and difficulty of items, from their answers alone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from merilo.errors import UsageError
from merilo.people.aggregation.consensus import NO_LABEL, TIE, Consensus, Fit, FloatArray, Resolution
from merilo.people.aggregation.known_labels import anchor_labels
from merilo.people.aggregation.quasi_newton import Minimum, minimise
from merilo.people.votes import IntArray, Votes, sorting_order

#: Mean of the normal priors, of standard deviation 1, on ability and on log beta.
PRIOR_MEAN = 1.0

#: Up to so many answers several starts are tried.
SEVERAL_STARTS = 50_000

#: A function's value and gradient at a point.
Gradient: TypeAlias = Callable[[FloatArray], tuple[float, FloatArray]]

#: Above so many items x labels the table of probabilities is not made; labels are, from the answers given.
LARGEST_POSTERIOR = 200_000_000


def glad(
    votes: Votes, *, anchors: ArrayLike | None = None, tolerance: float = 1e-9, iterations: int = 500
) -> Consensus:
    """The most probable labels when able annotators and easy items make right answers.

    Annotator `j` answers item `i` right with probability sigma(alpha_j * beta_i), and otherwise gives any of the other labels
    alike. Every label is as likely beforehand; alpha and log beta have normal priors of mean 1 and variance 1.
    The marginal likelihood (over the unknown labels) times the priors is maximised directly, over all of alpha
    and log beta at once: the E and M steps of the paper climb the same hill and stop long before its top. The start is the
    priors' mean, so there is no seed; time and memory grow with the number of answers. The hill may have several tops, and on
    a small pool it often has: up to 50,000 answers further starts are tried, and the highest top found is kept.

    Args:
        votes: the answers.
        anchors: shape (items,), the code of the label that is known, -1 where none is.
        tolerance: stop when one more step promises to gain less than this in log-likelihood per answer.
        iterations: stop then at the latest; the fit then says that it did not converge.

    Returns:
        The consensus, with the fit: ability alpha as `quality`, 1 / beta as `difficulty`. Items without votes, or whose best
        labels are equally probable, are unresolved.

    Raises:
        UsageError: an anchor is not a label, or there is not one an item.

    References:
        J. Whitehill et al., Whose Vote Should Count More: Optimal Integration of Labels from Labelers of Unknown Expertise,
        NIPS 2009.

    Example:
        >>> votes = Votes(*np.array([[0, 0, 0, 1, 1, 1], [0, 1, 2, 0, 1, 2], [1, 1, 0, 0, 0, 1]]), 2, 3, 2)
        >>> consensus = glad(votes)
        >>> consensus.label.tolist(), consensus.fit.converged, consensus.fit.quality.argmin()
        ([1, 0], True, np.int64(2))
    """
    return _fitted(votes, anchors, tolerance, iterations)[0]


def fit_glad(
    votes: Votes, *, anchors: ArrayLike | None = None, tolerance: float = 1e-9, iterations: int = 500
) -> Fit:
    """The model behind `glad` alone: abilities and difficulties. Parameters and errors are those of `glad`."""
    return _fitted(votes, anchors, tolerance, iterations)[1]


def _fitted(
    votes: Votes, anchors: ArrayLike | None, tolerance: float, iterations: int
) -> tuple[Consensus, Fit]:
    """Check the parameters, climb, and read the answer off."""
    if iterations < 1 or not tolerance > 0:
        raise UsageError("GLAD takes at least 1 iteration and a tolerance above 0")
    known = anchor_labels(anchors, votes)
    likelihood = GladLikelihood.of(votes, known)
    return _consensus(likelihood, votes, known, _best(likelihood, tolerance, iterations), tolerance)


@dataclass(frozen=True, slots=True)
class GladLikelihood:
    """The negative of what GLAD maximises, as a function of (alpha of each annotator, log beta of each item).

    With d = alpha_j * beta_i, an answer multiplies the odds of its own label by exp(d) * (labels - 1), and every label's
    likelihood by (1 - sigma(d)) / (labels - 1). So only labels that somebody gave (`cells`) need a sum of their own, and all the
    others of an item share one.

    Attributes:
        annotator: shape (n,), answers sorted by item and label.
        cell: shape (n,), which cell an answer belongs to.
        first_answer: shape (cells,), where a cell's answers begin.
        cell_label: shape (cells,).
        cell_group: shape (cells,), the cell's place among the items that have votes.
        first_cell: shape (groups,), where the cells of an item with votes begin.
        first_of_item: shape (groups,), where its answers begin.
        cell_gain: shape (cells,), what a cell's answers add to its log odds beside d.
        group_answers: shape (groups,), how many answers the item has.
        group_item: shape (groups,), the item.
        closed: shape (cells,), true where an anchor says that it is another label.
        others: shape (groups,), how many labels that nobody gave are still possible.
        annotators: how many annotators there are.
        items: how many items there are.
        labels: how many labels there are.
    """

    annotator: NDArray[np.intp]
    cell: NDArray[np.intp]
    first_answer: NDArray[np.intp]
    cell_label: NDArray[np.int64]
    cell_group: NDArray[np.intp]
    first_cell: NDArray[np.intp]
    first_of_item: NDArray[np.intp]
    cell_gain: FloatArray
    group_answers: NDArray[np.intp]
    group_item: NDArray[np.int64]
    closed: NDArray[np.bool_]
    others: NDArray[np.int64]
    annotators: int
    items: int
    labels: int

    @classmethod
    def of(cls, votes: Votes, anchors: IntArray) -> GladLikelihood:
        """Sort the answers once, so that everything after is sums over neighbours."""
        code = votes.item.astype(np.int64) * votes.labels + votes.label
        order = sorting_order(code)
        code = code[order]
        begins = np.r_[True, code[1:] != code[:-1]][: code.size]
        first_answer = np.flatnonzero(begins)
        cell_item, cell_label = np.divmod(code[first_answer], max(votes.labels, 1))
        opens = np.r_[True, cell_item[1:] != cell_item[:-1]][: cell_item.size]
        first_cell = np.flatnonzero(opens)
        group_item = cell_item[first_cell]
        cell_group = np.cumsum(opens) - 1
        anchor = anchors[cell_item].astype(np.int64)
        closed = (anchor != NO_LABEL) & (anchor != cell_label)
        given = np.diff(np.r_[first_cell, cell_item.size])
        met = np.bincount(cell_group[anchor == cell_label], minlength=group_item.size)
        others = np.where(anchors[group_item] == NO_LABEL, votes.labels - given, 1 - met)
        return cls(
            annotator=votes.annotator[order].astype(np.intp),
            cell=np.cumsum(begins) - 1,
            first_answer=first_answer,
            cell_label=cell_label,
            cell_group=cell_group,
            first_cell=first_cell,
            first_of_item=first_answer[first_cell],
            cell_gain=np.diff(first_answer, append=code.size) * _log_wrong(votes.labels),
            group_answers=np.diff(first_answer[first_cell], append=code.size),
            group_item=group_item,
            closed=closed,
            others=others,
            annotators=votes.annotators,
            items=votes.items,
            labels=votes.labels,
        )

    def start(self) -> FloatArray:
        """The mean of the priors, shape (annotators + items with votes,)."""
        return np.full(self.annotators + self.group_item.size, PRIOR_MEAN)

    def value_and_gradient(self, point: FloatArray) -> tuple[float, FloatArray]:
        """The negative log of likelihood times priors, and its gradient."""
        beta, d = self._products(point)
        tail = np.exp(-np.abs(d))
        right = np.where(d >= 0, 1.0, tail) / (1 + tail)
        softplus = np.maximum(d, 0) + np.log1p(tail)
        probability, _, log_total = self._posterior(d)
        gain = (
            log_total.sum()
            - softplus.sum()
            - d.size * _log_wrong(self.labels)
            - self.group_item.size * np.log(self.labels)
        )
        away = point - PRIOR_MEAN
        value = gain - 0.5 * float(np.einsum("i,i->", away, away)) - 0.5 * point.size * np.log(2 * np.pi)
        slope = probability[self.cell] - right
        gradient = away
        gradient[: self.annotators] -= np.bincount(self.annotator, slope * beta, minlength=self.annotators)
        gradient[self.annotators :] -= _sums(slope * d, self.first_of_item)
        return -float(value), gradient

    def curvature(self, point: FloatArray) -> FloatArray:
        """The second derivatives if the true labels were known, always at least the priors' 1."""
        beta, d = self._products(point)
        tail = np.exp(-np.abs(d))
        spread = tail / (1 + tail) ** 2
        second = np.ones_like(point)
        second[: self.annotators] += np.bincount(
            self.annotator, spread * beta * beta, minlength=self.annotators
        )
        second[self.annotators :] += _sums(spread * d * d, self.first_of_item)
        return second

    def probabilities(self, point: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Of each cell's label, shape (cells,), and of each single label that nobody gave, shape (groups,)."""
        probability, other, _ = self._posterior(self._products(point)[1])
        return probability, np.where(self.others > 0, other, 0.0)

    def _products(self, point: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Beta of each answer's item, and alpha times beta, shape (n,) both."""
        beta = np.repeat(np.exp(point[self.annotators :]), self.group_answers)
        return beta, point[: self.annotators][self.annotator] * beta

    def _posterior(self, d: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Probability of each cell, of each single other label, and the log of what they were divided by."""
        odds = _sums(d, self.first_answer) + self.cell_gain
        odds[self.closed] = -np.inf
        highest = np.maximum.reduceat(odds, self.first_cell) if odds.size else odds
        highest = np.where(self.others > 0, np.maximum(highest, 0.0), highest)
        share = np.exp(odds - highest[self.cell_group])
        other = np.exp(-np.where(self.others > 0, highest, 0.0))
        total = _sums(share, self.first_cell) + self.others * other
        return share / total[self.cell_group], other / total, np.log(total) + highest


def _log_wrong(labels: int) -> float:
    """Log of how many wrong labels there are."""
    return float(np.log(max(labels - 1, 1)))


def _best(likelihood: GladLikelihood, tolerance: float, iterations: int) -> Minimum:
    """The highest top that is reached from the starts that the size allows."""
    if likelihood.labels < 2:
        # No answer could have been another, so the priors stand as they are.
        start = likelihood.start()
        return Minimum(start, (0.5 * start.size * float(np.log(2 * np.pi)),), converged=True)
    answers = likelihood.annotator.size

    def climb(start: FloatArray, gradient_of: Gradient) -> Minimum:
        return minimise(
            gradient_of,
            likelihood.curvature,
            start,
            tolerance=tolerance * max(answers, 1),
            iterations=iterations,
        )

    def abilities_only(point: FloatArray) -> tuple[float, FloatArray]:
        value, gradient = likelihood.value_and_gradient(point)
        gradient[likelihood.annotators :] = 0
        return value, gradient

    mean = likelihood.start()
    starts = [mean]
    if answers <= SEVERAL_STARTS:
        doubtful, easy = mean.copy(), mean.copy()
        doubtful[: likelihood.annotators] = 0.1
        doubtful[likelihood.annotators :] = 0.0
        easy[: likelihood.annotators] = 2.0
        starts += [climb(mean, abilities_only).point, doubtful, easy]
    tops = [climb(start, likelihood.value_and_gradient) for start in starts]
    return min(tops, key=lambda top: top.values[-1])


def _sums(values: FloatArray, first: NDArray[np.intp]) -> FloatArray:
    """Sums over runs of neighbours that begin at `first`."""
    return np.add.reduceat(values, first) if first.size else np.zeros(0)


def _consensus(
    likelihood: GladLikelihood,
    votes: Votes,
    anchors: IntArray,
    found: Minimum,
    tolerance: float,
) -> tuple[Consensus, Fit]:
    """Read labels, abilities and difficulties off the point that was found."""
    point = found.point
    probability, other = likelihood.probabilities(point)
    difficulty = np.full(votes.items, np.exp(-PRIOR_MEAN))
    difficulty[likelihood.group_item] = np.exp(-point[votes.annotators :])
    posterior = None
    if votes.items * votes.labels <= LARGEST_POSTERIOR:
        posterior = _table(likelihood, anchors, probability, other)
    label, confidence = _most_probable(likelihood, anchors, probability, other)
    how = np.select(
        [label == NO_LABEL, anchors != NO_LABEL],
        [Resolution.UNRESOLVED, Resolution.ANCHOR],
        default=Resolution.GLAD,
    ).astype(np.int8)
    fit = Fit(
        model="glad",
        posterior=posterior,
        quality=point[: votes.annotators].copy(),
        log_likelihood=tuple(-value for value in found.values),
        converged=found.converged,
        tolerance=tolerance,
        anchored=int((anchors != NO_LABEL).sum()),
        prior=np.full(votes.labels, 1 / max(votes.labels, 1)),
        difficulty=difficulty,
    )
    return Consensus(label, how, confidence, fit), fit


def _table(
    likelihood: GladLikelihood, anchors: IntArray, probability: FloatArray, other: FloatArray
) -> FloatArray:
    """The probability of every label of every item, shape (items, labels)."""
    table = np.full((likelihood.items, likelihood.labels), 1 / max(likelihood.labels, 1))
    table[likelihood.group_item] = other[:, None]
    table[likelihood.group_item[likelihood.cell_group], likelihood.cell_label] = probability
    anchored = np.flatnonzero(anchors != NO_LABEL)
    table[anchored] = 0.0
    table[anchored, anchors[anchored]] = 1.0
    return table


def _most_probable(
    likelihood: GladLikelihood, anchors: IntArray, probability: FloatArray, other: FloatArray
) -> tuple[IntArray, FloatArray]:
    """The most probable label of each item and its probability; no label on a tie."""
    label = np.full(likelihood.items, NO_LABEL, dtype=np.int32)
    confidence = np.full(likelihood.items, np.nan)
    if probability.size:
        groups = likelihood.group_item.size
        best = np.maximum(np.maximum.reduceat(probability, likelihood.first_cell), other)
        among = probability >= best[likelihood.cell_group] - TIE
        of_others = other >= best - TIE
        tied = np.bincount(likelihood.cell_group[among], minlength=groups) + of_others * likelihood.others
        # Where the one label that nobody gave is the best, it is what the given ones leave of 0 + 1 + ... + (labels - 1).
        given = np.bincount(likelihood.cell_group, likelihood.cell_label, minlength=groups)
        chosen = likelihood.labels * (likelihood.labels - 1) // 2 - given.astype(np.int64)
        chosen[likelihood.cell_group[among]] = likelihood.cell_label[among]
        decided = tied == 1
        label[likelihood.group_item[decided]] = chosen[decided]
        confidence[likelihood.group_item[decided]] = best[decided]
    anchored = anchors != NO_LABEL
    label[anchored] = anchors[anchored]
    confidence[anchored] = 1.0
    return label, confidence
