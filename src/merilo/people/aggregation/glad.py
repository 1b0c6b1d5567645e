"""GLAD: abilities of annotators and difficulties of items from the answers alone."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from merilo.errors import UsageError
from merilo.people.aggregation import Consensus, Fit, Resolution, is_open
from merilo.people.aggregation.candidates import Candidates, sums, wrong_answers
from merilo.people.votes import Votes
from merilo.statistics import FloatArray

#: How many earlier steps the approximation of the Hessian uses.
MEMORY: Final = 10

#: The diagonal is recomputed once in this many iterations: it costs half an evaluation and saves several.
REFRESH: Final = 5

#: A step must gain at least this share of the decrease predicted by the slope (Armijo's condition).
SUFFICIENT: Final = 1e-4

#: The longest step of a variable: a longer step may reach the basin of another minimum, or overflow an exponential.
LONGEST: Final = 1.0

#: The number of halvings of a step after which the slope is considered rounding noise.
HALVINGS: Final = 40

#: Mean of the normal priors on ability and on log beta; their standard deviation is 1.
PRIOR_MEAN: Final = 1.0

#: With at most this many closed answers, several starting points are tried. With open answers, wrong answers rarely
#: coincide, and other starting points gain at most 0.1 in log-likelihood.
SEVERAL_STARTS: Final = 50_000

#: The maximum number of iterations.
ITERATIONS: Final = 500

#: A function that returns its value and gradient at a point.
Gradient: TypeAlias = Callable[[FloatArray], tuple[float, FloatArray]]


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
    function: Gradient,
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

    References:
        J. Nocedal, S. Wright, Numerical Optimization (2006), algorithm 7.4, with their initial matrix replaced by the
        inverse of `curvature`.
    """
    point = start
    value, gradient = function(point)
    steps: deque[tuple[FloatArray, FloatArray, float]] = deque(maxlen=MEMORY)
    values: list[float] = []
    for iteration in range(iterations):
        if iteration % REFRESH == 0:
            scale = 1 / curvature(point)
        direction = _direction(gradient, steps, scale)
        slope = dot(gradient, direction)
        flat = slope > -2 * tolerance
        step = None if flat else _step(function, point, value, direction, slope)
        if step is None:
            # If the function does not decrease along its gradient, only rounding errors are left.
            return Minimum(point, (*values, value), flat or -slope <= 1e-10 * max(1.0, abs(value)))
        new_point, value, new_gradient = step
        moved, turned = new_point - point, new_gradient - gradient
        bend = dot(moved, turned)
        if bend > 1e-12 * dot(moved, moved):
            steps.append((moved, turned, 1 / bend))
        point, gradient = new_point, new_gradient
        values.append(value)
    return Minimum(point, tuple(values), converged=False)


def dot(left: FloatArray, right: FloatArray) -> float:
    """Compute the inner product without BLAS, whose threads slow it down on vectors of this size."""
    return float(np.einsum("i,i->", left, right))


def _direction(
    gradient: FloatArray, steps: deque[tuple[FloatArray, FloatArray, float]], scale: FloatArray
) -> FloatArray:
    """Compute the quasi-Newton direction (two-loop recursion)."""
    direction, shares = -gradient, []
    for moved, turned, inverse_bend in reversed(steps):
        shares.append(inverse_bend * dot(moved, direction))
        direction -= shares[-1] * turned
    direction *= scale
    for (moved, turned, inverse_bend), share in zip(steps, reversed(shares), strict=True):
        direction += moved * (share - inverse_bend * dot(turned, direction))
    return direction


def _step(
    function: Gradient, point: FloatArray, value: float, direction: FloatArray, slope: float
) -> tuple[FloatArray, float, FloatArray] | None:
    """Find a sufficient step by halving the direction, which is first cut to the longest step; `None` without one."""
    length = min(1.0, LONGEST / float(np.abs(direction).max()))
    for _ in range(HALVINGS):
        new_point = point + length * direction
        new_value, new_gradient = function(new_point)
        if new_value <= value + SUFFICIENT * length * slope:
            return new_point, new_value, new_gradient
        length /= 2
    return None


def glad(
    votes: Votes, *, open_answers: bool | None = None, tolerance: float = 1e-9, iterations: int = ITERATIONS
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

    Returns:
        The consensus, with the fit: ability alpha as `quality`, 1 / beta as `difficulty`. Items without votes,
        or whose best labels are equally probable, are unresolved.

    Raises:
        UsageError: a parameter is out of range.

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
    opened = is_open(votes, open_answers)
    likelihood = GladLikelihood.of(votes, wrong_answers(votes, open_answers=True) if opened else None)
    best = _best(likelihood, tolerance, iterations)
    candidates, point = likelihood.candidates, best.point
    probability, other = likelihood.probabilities(point)
    difficulty = np.full(votes.items, np.exp(-PRIOR_MEAN))
    difficulty[candidates.group_item] = np.exp(-point[votes.annotators :])
    fit = Fit(
        "glad",
        point[: votes.annotators].copy(),
        tuple(-value for value in best.values),
        best.converged,
        difficulty,
    )
    label, confidence = candidates.most_probable(probability, other)
    return Consensus.of(label, Resolution.GLAD, confidence, fit)


@dataclass(frozen=True, slots=True)
class GladLikelihood:
    """GLAD's objective with the sign reversed, as a function of (alpha of each annotator, log beta of each item).

    With d = alpha_j * beta_i, an answer multiplies the odds of its own label by exp(d) * (labels - 1), and
    every label's likelihood by (1 - sigma(d)) / (labels - 1). Therefore only the labels that somebody gave
    (the cells) need separate sums, and all other labels of an item share one.

    Attributes:
        candidates: the labels given to each item, and the number of other possible labels.
        people: the number of annotators, whose abilities are the first part of a point.
        first_of_item: shape (groups,), the index of the item's first answer.
        cell_gain: shape (cells,), the contribution of a cell's answers to its log odds in addition to d.
        constant: the part of the log-likelihood that no parameter changes.
    """

    candidates: Candidates
    people: int
    first_of_item: NDArray[np.intp]
    cell_gain: FloatArray
    constant: float

    @classmethod
    def of(cls, votes: Votes, wrong_answers: float | None = None) -> GladLikelihood:
        """Sort the answers and build the objective.

        Args:
            votes: the answers.
            wrong_answers: the number of equally likely wrong answers to an item if answers are open; None if
                they are closed.
        """
        candidates = Candidates.of(votes, wrong_answers, open_answers=wrong_answers is not None)
        log_wrong = np.log(candidates.wrong_answers)
        # All possible labels of an item have equal prior probability.
        choices = candidates.labels_given + candidates.others
        size = votes.annotators + choices.size
        constant = -len(votes) * log_wrong - np.log(choices).sum() - 0.5 * size * np.log(2 * np.pi)
        first = candidates.first_answer[candidates.first_cell]
        return cls(candidates, votes.annotators, first, candidates.cell_answers * log_wrong, float(constant))

    def start(self) -> FloatArray:
        """Return the mean of the priors, shape (annotators + items with votes,)."""
        return np.full(self.people + self.candidates.group_item.size, PRIOR_MEAN)

    def value_and_gradient(self, point: FloatArray) -> tuple[float, FloatArray]:
        """Compute the negative log of likelihood times priors, and its gradient."""
        beta, d = self._products(point)
        tail = np.exp(-np.abs(d))
        right = np.where(d >= 0, 1.0, tail) / (1 + tail)
        softplus = np.maximum(d, 0) + np.log1p(tail)
        probability, _, log_total = self._posterior(d)
        gradient = point - PRIOR_MEAN
        value = log_total.sum() - softplus.sum() + self.constant - 0.5 * dot(gradient, gradient)
        slope = probability[self.candidates.cell] - right
        gradient[: self.people] -= np.bincount(self.candidates.annotator, slope * beta, self.people)
        gradient[self.people :] -= sums(slope * d, self.first_of_item)
        return -float(value), gradient

    def curvature(self, point: FloatArray) -> FloatArray:
        """Compute the second derivatives for known true labels; they are at least 1, the contribution of the priors."""
        beta, d = self._products(point)
        tail = np.exp(-np.abs(d))
        spread = tail / (1 + tail) ** 2
        second = np.ones_like(point)
        second[: self.people] += np.bincount(self.candidates.annotator, spread * beta * beta, self.people)
        second[self.people :] += sums(spread * d * d, self.first_of_item)
        return second

    def probabilities(self, point: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Compute the probability of each cell's label and of each single other label, shapes (cells,), (groups,)."""
        return self._posterior(self._products(point)[1])[:2]

    def _products(self, point: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Compute beta of each answer's item, and alpha times beta, both of shape (n,)."""
        beta = np.repeat(np.exp(point[self.people :]), self.candidates.group_answers)
        return beta, point[: self.people][self.candidates.annotator] * beta

    def _posterior(self, d: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Compute the probability of each cell and of each single other label, and the log normalising constant."""
        return self.candidates.posterior(sums(d, self.candidates.first_answer) + self.cell_gain)


def _best(likelihood: GladLikelihood, tolerance: float, iterations: int) -> Minimum:
    """Find the best maximum over the starting points tried for a pool of this size."""
    people, votes, mean = likelihood.people, likelihood.candidates.votes, likelihood.start()
    if votes.labels < 2:
        # With a single label the answers carry no information, so the maximum is that of the priors.
        return Minimum(mean, (0.5 * mean.size * float(np.log(2 * np.pi)),), converged=True)

    def minimum_from(start: FloatArray, function: Gradient = likelihood.value_and_gradient) -> Minimum:
        limit = tolerance * max(len(votes), 1)
        return minimise(function, likelihood.curvature, start, tolerance=limit, iterations=iterations)

    def abilities_only(point: FloatArray) -> tuple[float, FloatArray]:
        value, gradient = likelihood.value_and_gradient(point)
        gradient[people:] = 0
        return value, gradient

    starts = [mean]
    if len(votes) <= SEVERAL_STARTS and not likelihood.candidates.open_answers:
        doubtful, easy = mean.copy(), mean.copy()
        doubtful[:people], doubtful[people:], easy[:people] = 0.1, 0.0, 2.0
        starts += [minimum_from(mean, abilities_only).point, doubtful, easy]
    return min(map(minimum_from, starts), key=lambda minimum: minimum.values[-1])
