"""GLAD: abilities of annotators and difficulties of items from the answers alone; the cascade that ends with it."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple, TypeAlias, cast

import numpy as np
from numpy.typing import ArrayLike

from merilo.errors import UsageError
from merilo.people.aggregation.candidates import Candidates, sums, wrong_answers
from merilo.people.aggregation.consensus import NO_LABEL, Consensus, Fit, Resolution, is_open, modelled
from merilo.people.aggregation.majority import (
    MinVotes,
    known_skill,
    plurality,
    resolve_by_skill,
    resolve_by_weight,
)
from merilo.people.votes import Votes
from merilo.statistics import FloatArray

#: How many earlier steps the approximation of the Hessian uses.
MEMORY = 10

#: The diagonal is recomputed once in this many iterations: it costs half an evaluation and saves several.
REFRESH = 5

#: A step must gain at least this share of the decrease predicted by the slope (Armijo's condition).
SUFFICIENT = 1e-4

#: The longest step of a variable: a longer step may reach the basin of another minimum, or overflow an exponential.
LONGEST = 1.0

#: The number of halvings of a step after which the slope is considered rounding noise.
HALVINGS = 40


class Minimum(NamedTuple):
    """The result of a minimisation.

    Attributes:
        point: shape (n,), the best point found.
        values: the function's value after each iteration, descending.
        converged: whether the expected gain of one more step fell below the tolerance.
    """

    point: FloatArray
    values: tuple[float, ...]
    converged: bool


def minimise(
    function: Callable[[FloatArray], tuple[float, FloatArray]],
    curvature: Callable[[FloatArray], FloatArray],
    start: FloatArray,
    *,
    tolerance: float,
    iterations: int,
) -> Minimum:
    """Minimise a function by L-BFGS with a diagonal initial matrix that is recomputed along the way.

    Args:
        function: returns the value and the gradient, shape (n,), at a point.
        curvature: returns the approximate second derivatives at a point, shape (n,), positive.
        start: shape (n,), the starting point.
        tolerance: stop when the expected gain of one more step is below this.
        iterations: the maximum number of iterations.

    Returns:
        The minimum. The result is deterministic.

    References:
        J. Nocedal, S. Wright, Numerical Optimization (2006), algorithm 7.4, with their initial matrix replaced by the
        inverse of `curvature`.
    """
    point = start
    value, gradient = function(point)
    history: deque[tuple[FloatArray, FloatArray, float]] = deque(maxlen=MEMORY)
    values: list[float] = []
    scale = 1 / curvature(point)
    for iteration in range(iterations):
        if iteration and iteration % REFRESH == 0:
            scale = 1 / curvature(point)
        direction = _direction(gradient, history, scale)
        slope = dot(gradient, direction)
        if slope > -2 * tolerance:
            values.append(value)
            return Minimum(point, tuple(values), converged=True)
        taken = _step(function, point, value, direction, slope)
        if taken is None:
            # The function does not decrease along its gradient: only rounding errors are left.
            values.append(value)
            return Minimum(point, tuple(values), converged=-slope <= 1e-10 * max(1.0, abs(value)))
        new_point, value, new_gradient = taken
        moved, turned = new_point - point, new_gradient - gradient
        bend = dot(moved, turned)
        if bend > 1e-12 * dot(moved, moved):
            history.append((moved, turned, 1 / bend))
        point, gradient = new_point, new_gradient
        values.append(value)
    return Minimum(point, tuple(values), converged=False)


def dot(left: FloatArray, right: FloatArray) -> float:
    """Compute the inner product without BLAS, whose threads slow it down on vectors of this size."""
    return float(np.einsum("i,i->", left, right))


def _direction(
    gradient: FloatArray, history: deque[tuple[FloatArray, FloatArray, float]], scale: FloatArray
) -> FloatArray:
    """Compute the quasi-Newton direction (two-loop recursion)."""
    direction = -gradient
    shares = []
    for moved, turned, inverse_bend in reversed(history):
        share = inverse_bend * dot(moved, direction)
        direction -= share * turned
        shares.append(share)
    direction *= scale
    for (moved, turned, inverse_bend), share in zip(history, reversed(shares), strict=True):
        direction += moved * (share - inverse_bend * dot(turned, direction))
    return direction


def _step(
    function: Callable[[FloatArray], tuple[float, FloatArray]],
    point: FloatArray,
    value: float,
    direction: FloatArray,
    slope: float,
) -> tuple[FloatArray, float, FloatArray] | None:
    """Find a sufficient step by halving the direction, which is first cut to the longest step.

    None if there is none.
    """
    length = min(1.0, LONGEST / float(np.abs(direction).max()))
    for _ in range(HALVINGS):
        new_point = point + length * direction
        new_value, new_gradient = function(new_point)
        if new_value <= value + SUFFICIENT * length * slope:
            return new_point, new_value, new_gradient
        length /= 2
    return None


#: Mean of the normal priors on ability and on log beta; their standard deviation is 1.
PRIOR_MEAN = 1.0

#: With at most this many closed answers, several starting points are tried. With open answers, wrong answers
#: rarely coincide, and
#: other starting points gain at most 0.1 in log-likelihood.
SEVERAL_STARTS = 50_000

#: The maximum number of iterations, and the tolerance of a fit that starts from a maximum nearby.
ITERATIONS = 500
NEARBY_TOLERANCE = 1e-7

#: A function that returns its value and gradient at a point.
Gradient: TypeAlias = Callable[[FloatArray], tuple[float, FloatArray]]


def glad(
    votes: Votes,
    *,
    open_answers: bool | None = None,
    tolerance: float = 1e-9,
    iterations: int = ITERATIONS,
    fit: Fit | None = None,
) -> Consensus:
    """Aggregate by GLAD, a model of annotators' abilities and items' difficulties.

    Annotator `j` answers item `i` right with probability sigma(alpha_j * beta_i), and otherwise gives each of
    the other labels with equal probability. With open answers, the number of wrong answers is estimated from
    how often two wrong answers to one item coincide (`candidates.wrong_answers`). All labels have equal prior
    probability; alpha and log beta have normal priors of mean 1 and variance 1.

    The marginal likelihood (over the unknown labels) times the priors is maximised directly, over all alpha
    and log beta at once. The E and M steps of the paper maximise the same objective but stop far from its
    maximum. The start is the mean of the priors, so there is no seed. Time and memory grow with the number of
    answers. The objective may have several local maxima, and on a small pool it often does. With up to 50,000
    closed answers, further starting points are tried and the best maximum is kept.

    Args:
        votes: the answers.
        open_answers: whether labels are typed freely; if None, inferred from their number (see `is_open`).
        tolerance: stop when the expected gain of one more step is below this in log-likelihood per answer.
        iterations: the maximum number of iterations; a fit that reaches it is marked as not converged.
        fit: the model already fitted to these votes, if available; it is not fitted again.

    Returns:
        The consensus, with the fit: ability alpha as `quality`, 1 / beta as `difficulty`. Items without votes,
        or whose best labels are equally probable, are unresolved.

    Raises:
        UsageError: a parameter is out of range, or `fit` is not a fit of GLAD.

    References:
        J. Whitehill et al., Whose Vote Should Count More: Optimal Integration of Labels from Labelers of
        Unknown Expertise, NIPS 2009.

    Example:
        >>> votes = Votes(*np.array([[0, 0, 0, 1, 1, 1], [0, 1, 2, 0, 1, 2], [1, 1, 0, 0, 0, 1]]), 2, 3, 2)
        >>> consensus = glad(votes)
        >>> consensus.label.tolist(), consensus.fit.converged, consensus.fit.quality.argmin()
        ([1, 0], True, np.int64(2))
    """
    if iterations < 1 or not tolerance > 0:
        raise UsageError("GLAD takes at least 1 iteration and a tolerance above 0")
    wrong = None
    if is_open(votes, open_answers):
        wrong = fit.wrong_answers if fit else wrong_answers(votes, open_answers=True)
    likelihood = GladLikelihood.of(votes, wrong)
    found = _found_before(likelihood, fit) if fit else _best(likelihood, tolerance, iterations)
    return _consensus(likelihood, votes, found, fit.tolerance if fit else tolerance)


def _found_before(likelihood: GladLikelihood, fit: Fit) -> Minimum:
    """Restore the maximum from an existing fit."""
    if fit.difficulty is None:
        raise UsageError(f"GLAD cannot continue from a fit of {fit.model}")
    point = np.concatenate([fit.quality, -np.log(fit.difficulty[likelihood.candidates.group_item])])
    return Minimum(point, tuple(-value for value in fit.log_likelihood), fit.converged)


def fitted_nearby(votes: Votes, fit: Fit, *, open_answers: bool | None = None) -> Fit:
    """Fit GLAD to most of the votes of an existing fit, from that fit's maximum.

    Unlike `glad`, it stays at this maximum and computes no labels.

    Args:
        votes: the answers, in the codes of those to which `fit` was fitted.
        fit: the existing fit.
        open_answers: as in `glad`.
    """
    wrong = fit.wrong_answers if is_open(votes, open_answers) else None
    likelihood = GladLikelihood.of(votes, wrong)
    found = minimise(
        likelihood.value_and_gradient,
        likelihood.curvature,
        _found_before(likelihood, fit).point,
        tolerance=NEARBY_TOLERANCE * max(len(votes), 1),
        iterations=ITERATIONS,
    )
    return replace(fit, quality=found.point[: votes.annotators])


@dataclass(frozen=True, slots=True)
class GladLikelihood:
    """GLAD's objective with the sign reversed, as a function of (alpha of each annotator, log beta of each item).

    With d = alpha_j * beta_i, an answer multiplies the odds of its own label by exp(d) * (labels - 1), and
    every label's likelihood by (1 - sigma(d)) / (labels - 1). Therefore only the labels that somebody gave
    (the cells) need separate sums, and all other labels of an item share one.

    Attributes:
        candidates: the labels given to each item, and the number of other possible labels.
        cell_gain: shape (cells,), the contribution of a cell's answers to its log odds in addition to d.
        choices: shape (groups,), the number of possible labels of an item, which have equal prior probability.
    """

    candidates: Candidates
    cell_gain: FloatArray
    choices: FloatArray

    @classmethod
    def of(cls, votes: Votes, wrong_answers: float | None = None) -> GladLikelihood:
        """Sort the answers and build the objective.

        Args:
            votes: the answers.
            wrong_answers: the number of equally likely wrong answers to an item if answers are open; None if
                they are closed.
        """
        candidates = Candidates.of(votes, open_answers=wrong_answers is not None)
        choices = np.full(candidates.group_item.size, float(max(votes.labels, 1)))
        if wrong_answers is not None:
            candidates = candidates.with_wrong_answers(wrong_answers)
            given = np.diff(candidates.first_cell, append=candidates.cell_label.size)
            choices = given + candidates.others
        return cls(candidates, candidates.cell_answers * np.log(candidates.wrong_answers), choices)

    def start(self) -> FloatArray:
        """Return the mean of the priors, shape (annotators + items with votes,)."""
        return np.full(self.candidates.annotators + self.candidates.group_item.size, PRIOR_MEAN)

    def value_and_gradient(self, point: FloatArray) -> tuple[float, FloatArray]:
        """Compute the negative log of likelihood times priors, and its gradient."""
        beta, d = self._products(point)
        tail = np.exp(-np.abs(d))
        right = np.where(d >= 0, 1.0, tail) / (1 + tail)
        softplus = np.maximum(d, 0) + np.log1p(tail)
        probability, _, log_total = self._posterior(d)
        gain = (
            log_total.sum()
            - softplus.sum()
            - d.size * np.log(self.candidates.wrong_answers)
            - np.log(self.choices).sum()
        )
        away = point - PRIOR_MEAN
        value = gain - 0.5 * float(np.einsum("i,i->", away, away)) - 0.5 * point.size * np.log(2 * np.pi)
        slope = probability[self.candidates.cell] - right
        gradient = away
        gradient[: self.candidates.annotators] -= np.bincount(
            self.candidates.annotator, slope * beta, minlength=self.candidates.annotators
        )
        gradient[self.candidates.annotators :] -= sums(slope * d, self.candidates.first_of_item)
        return -float(value), gradient

    def curvature(self, point: FloatArray) -> FloatArray:
        """Compute the second derivatives for known true labels; they are at least 1, the contribution of the priors."""
        beta, d = self._products(point)
        tail = np.exp(-np.abs(d))
        spread = tail / (1 + tail) ** 2
        second = np.ones_like(point)
        second[: self.candidates.annotators] += np.bincount(
            self.candidates.annotator, spread * beta * beta, minlength=self.candidates.annotators
        )
        second[self.candidates.annotators :] += sums(spread * d * d, self.candidates.first_of_item)
        return second

    def probabilities(self, point: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Compute the probability of each cell's label, shape (cells,), and of each single other label.

        Shape (groups,).
        """
        probability, other, _ = self._posterior(self._products(point)[1])
        return probability, other

    def _products(self, point: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Compute beta of each answer's item, and alpha times beta, both of shape (n,)."""
        beta = np.repeat(np.exp(point[self.candidates.annotators :]), self.candidates.group_answers)
        return beta, point[: self.candidates.annotators][self.candidates.annotator] * beta

    def _posterior(self, d: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Compute the probability of each cell and of each single other label, and the log normalising constant."""
        return self.candidates.posterior(sums(d, self.candidates.first_answer) + self.cell_gain)


def _best(likelihood: GladLikelihood, tolerance: float, iterations: int) -> Minimum:
    """Find the best maximum over the starting points tried for a pool of this size."""
    candidates = likelihood.candidates
    if candidates.labels < 2:
        # With a single label the answers carry no information, so the maximum is that of the priors.
        start = likelihood.start()
        return Minimum(start, (0.5 * start.size * float(np.log(2 * np.pi)),), converged=True)
    answers = candidates.annotator.size

    def minimum_from(start: FloatArray, gradient_of: Gradient) -> Minimum:
        return minimise(
            gradient_of,
            likelihood.curvature,
            start,
            tolerance=tolerance * max(answers, 1),
            iterations=iterations,
        )

    def abilities_only(point: FloatArray) -> tuple[float, FloatArray]:
        value, gradient = likelihood.value_and_gradient(point)
        gradient[candidates.annotators :] = 0
        return value, gradient

    mean = likelihood.start()
    starts = [mean]
    if answers <= SEVERAL_STARTS and not candidates.open_answers:
        doubtful, easy = mean.copy(), mean.copy()
        doubtful[: candidates.annotators] = 0.1
        doubtful[candidates.annotators :] = 0.0
        easy[: candidates.annotators] = 2.0
        starts += [minimum_from(mean, abilities_only).point, doubtful, easy]
    minima = [minimum_from(start, likelihood.value_and_gradient) for start in starts]
    return min(minima, key=lambda minimum: minimum.values[-1])


def _consensus(likelihood: GladLikelihood, votes: Votes, found: Minimum, tolerance: float) -> Consensus:
    """Compute labels, abilities and difficulties at the maximum."""
    point, candidates = found.point, likelihood.candidates
    probability, other = likelihood.probabilities(point)
    difficulty = np.full(votes.items, np.exp(-PRIOR_MEAN))
    difficulty[candidates.group_item] = np.exp(-point[votes.annotators :])
    fit = Fit(
        model="glad",
        quality=point[: votes.annotators].copy(),
        log_likelihood=tuple(-value for value in found.values),
        converged=found.converged,
        tolerance=tolerance,
        prior=np.full(votes.labels, 1 / max(votes.labels, 1)),
        posterior=candidates.table(probability, other),
        difficulty=difficulty,
        wrong_answers=candidates.wrong_answers,
    )
    label = candidates.most_probable(probability, other)
    return modelled(label, candidates.confidence(label, probability, other), fit)


def cascade(
    votes: Votes,
    *,
    everyone: Votes | None = None,
    skill: ArrayLike | None = None,
    open_answers: bool | None = None,
    min_votes: MinVotes = 3,
    fit: Fit | None = None,
) -> Consensus:
    """Aggregate by plurality; resolve ties by skill, then by the three most skilled, then by GLAD's abilities.

    The label with the most votes wins. A tie goes to the larger sum of skill, then to the larger sum of skill among the
    three most skilled annotators, then to the larger sum of GLAD's abilities. Labels are ranked by votes,
    then by the sum. Only the first two are compared, and equal sums pass to the next step. Annotators of
    equal skill are ranked by GLAD's ability when the three are selected. An item still tied after the last
    step is unresolved; row order and alphabetical order never decide.

    Args:
        votes: the answers that count: answers to the items to be decided, without excluded annotators.
        everyone: all answers of the pool in the same codes, including answers to control items and by excluded
            annotators. GLAD is fitted to them. `votes` by default.
        skill: shape (annotators,), larger is better, NaN if unknown (see `resolve_by_skill`); without it the two steps
            that use skill are skipped.
        open_answers: whether labels are typed freely; if None, inferred from their number (see `is_open`).
        min_votes: the number of votes from which the winning label is called a majority.
        fit: GLAD's fit to `everyone`, if it is already available.

    Returns:
        The consensus, with GLAD's fit to `everyone` if skill left a tie.

    Raises:
        UsageError: `skill` does not fit the votes, or `min_votes` is below 1.

    Example:
        >>> import numpy as np
        >>> tie = [[0, 0, 1, 1, 1, 2, 2, 2], [0, 1, 0, 1, 2, 0, 1, 2], [0, 1, 0, 1, 0, 1, 0, 1]]
        >>> consensus = cascade(Votes(*np.array(tie), 3, 3, 2))
        >>> consensus.label.tolist(), Resolution(consensus.how[0]).name
        ([0, 0, 1], 'GLAD')
    """
    decided = plurality(votes, min_votes)
    if skill is not None:
        decided = resolve_by_weight(decided, votes, known_skill(skill, votes.annotators), Resolution.SKILL)
    if not (decided.label[votes.item] == NO_LABEL).any():
        return replace(decided, fit=fit)
    pool = votes if everyone is None else everyone
    fit = fit or cast("Fit", glad(pool, open_answers=open_answers).fit)
    if skill is not None:
        decided = resolve_by_skill(votes, skill, min_votes, ability=fit.quality)
    return replace(resolve_by_weight(decided, votes, fit.quality, Resolution.GLAD), fit=fit)
