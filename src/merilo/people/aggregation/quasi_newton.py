"""A minimiser for smooth functions of many variables whose curvature is known roughly, variable by variable."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from merilo.statistics.arrays import FloatArray

#: How many earlier steps the approximation of the curvature remembers.
MEMORY = 10

#: The diagonal is computed anew in every so many iterations: it costs half an evaluation and saves several.
REFRESH = 5

#: A step must gain this share of what the slope promises (Armijo's condition).
SUFFICIENT = 1e-4

#: No variable moves further in one step: a longer one may leave the valley that it started in, or overflow an exponential.
LONGEST = 1.0

#: Halvings of a step before the slope is believed to be rounding noise.
HALVINGS = 40


class Minimum(NamedTuple):
    """Where a minimisation ended.

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
    """Minimise by L-BFGS on top of a diagonal that is renewed along the way.

    Args:
        function: value and gradient, shape (n,), at a point.
        curvature: shape (n,), positive: about the second derivative by each variable at a point.
        start: shape (n,), where to begin.
        tolerance: stop when one more step promises less than this.
        iterations: stop then at the latest.

    Returns:
        The minimum. Equal input gives equal output.

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
            # The function does not fall along its own slope: only rounding is left.
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
    """The inner product, without BLAS: its threads cost more than they give on vectors of this size."""
    return float(np.einsum("i,i->", left, right))


def _direction(
    gradient: FloatArray, history: deque[tuple[FloatArray, FloatArray, float]], scale: FloatArray
) -> FloatArray:
    """The quasi-Newton direction (two-loop recursion)."""
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
    """The longest of 1, 1/2, 1/4, ... of the direction (cut to the longest step) that gains enough; none where nothing does."""
    length = min(1.0, LONGEST / float(np.abs(direction).max()))
    for _ in range(HALVINGS):
        new_point = point + length * direction
        new_value, new_gradient = function(new_point)
        if new_value <= value + SUFFICIENT * length * slope:
            return new_point, new_value, new_gradient
        length /= 2
    return None
