"""Minimisation of smooth functions of many variables with an approximately known diagonal of the Hessian."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from merilo.statistics.arrays import FloatArray

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
    """Find a sufficient step by halving the direction, which is first cut to the longest step; None if there is none."""
    length = min(1.0, LONGEST / float(np.abs(direction).max()))
    for _ in range(HALVINGS):
        new_point = point + length * direction
        new_value, new_gradient = function(new_point)
        if new_value <= value + SUFFICIENT * length * slope:
            return new_point, new_value, new_gradient
        length /= 2
    return None
