"""The time at which a model solves a given share of items: a logistic curve on item times that are known with errors.

A fit that takes measured times as exact finds a curve that is too flat, because the errors spread the items along the
axis, so that a time away from the middle of the items is wrong. Here the probability of an item's success is the mean
of the logistic curve over the item's true log time given its measurement: a structural model, by Gauss-Hermite
quadrature. The variance is a sandwich over items, plus what items share because they share people, plus that of the
estimated error variance. The interval holds the times at which the curve is not significantly different from the share
(Fieller).

References:
    T. Kwa and others (2025), Measuring AI ability to complete long tasks. arXiv:2503.14499 (the 50 % time horizon).
    R. Carroll, D. Ruppert, L. Stefanski, C. Crainiceanu (2006), Measurement error in nonlinear models, chapter 8
    (structural likelihood).
    L. Papke, J. Wooldridge (1996), Econometric methods for fractional response variables. J. Applied Econometrics 11,
    619-632 (a share of successes as the response).
    E. Fieller (1954), Some problems in interval estimation. J. Royal Statistical Society B 16, 175-185.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import exp, inf, log, sqrt
from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy import optimize, special

from merilo.statistics import FloatArray
from merilo.statistics.intervals import student_quantile
from merilo.statistics.item_times import ItemTimes

#: Nodes and weights of the quadrature.
_NODES, _DENSITY = np.polynomial.hermite_e.hermegauss(21)
_WEIGHTS: Final = _DENSITY / _DENSITY.sum()
#: The step of numerical derivatives; the change of the logarithm of the errors' variance.
_STEP: Final = 1e-4
_MOVED: Final = 0.2
#: The standard deviation of a normal prior of the slope, in logits per unit of log time: without it, there is no finite
#: slope if the model solves all quick items and fails all long ones.
_LOOSE: Final = 6.0


@dataclass(frozen=True, slots=True)
class SuccessCurve:
    """The share of items that a model solves, by the time that they take a person.

    The share at the log time x is 1 / (1 + exp(slope (x - middle) - logit)).

    Attributes:
        center: the log time at which `logit` is taken.
        logit: the logit of the share at `center`.
        slope: by how much the logit falls when the time grows e-fold.
        covariance: shape (2, 2), of `logit` and `slope`.
        freedom: the degrees of freedom of Student's quantile.
    """

    center: float
    logit: float
    slope: float
    covariance: FloatArray
    freedom: float

    def horizon(self, share: float) -> float:
        """Return the log time at which the model solves this share of items."""
        return self.center + (self.logit - _logit(share)) / self.slope

    def share(self, at: FloatArray) -> FloatArray:
        """Return the share of items solved at these log times, shape of `at`."""
        return np.asarray(special.expit(self.logit - self.slope * (at - self.center)))

    def band(self, at: FloatArray, level: float = 0.95) -> tuple[FloatArray, FloatArray]:
        """Return pointwise bounds of `share`, each of the shape of `at`."""
        x = at - self.center
        (a, b), (_, c) = self.covariance
        reach = student_quantile((1 + level) / 2, self.freedom) * np.sqrt(a - 2 * x * b + x**2 * c)
        middle = self.logit - self.slope * x
        return np.asarray(special.expit(middle - reach)), np.asarray(special.expit(middle + reach))

    @property
    def slope_error(self) -> float:
        """The standard error of the slope."""
        return sqrt(float(self.covariance[1, 1]))

    def interval(self, share: float, level: float = 0.95) -> tuple[float, float]:
        """Return the log times at which the curve is not significantly different from a share; ends may be infinite."""
        q = student_quantile((1 + level) / 2, self.freedom) ** 2
        (a, b), (_, c) = self.covariance
        height = self.logit - _logit(share)
        # (height - slope x)² <= q (a - 2 b x + c x²)
        second, first, zeroth = self.slope**2 - q * c, -2 * (height * self.slope - q * b), height**2 - q * a
        inside = first**2 - 4 * second * zeroth
        if inside <= 0:
            return -inf, inf
        roots = sorted((-first + sign * sqrt(inside)) / (2 * second) for sign in (-1, 1))
        if second > 0:
            return self.center + roots[0], self.center + roots[1]
        # The slope is not significant: the set is two rays, of which the one with the estimate has falling curves.
        at = height / self.slope
        return (self.center + roots[1], inf) if at >= roots[1] else (-inf, self.center + roots[0])


def _logit(share: float) -> float:
    return log(share / (1 - share))


def fit_curve(
    times: ItemTimes,
    item: NDArray[np.int64],
    success: FloatArray,
    *,
    clusters: NDArray[np.int64] | None = None,
) -> SuccessCurve:
    """Fit the share of solved items to their times.

    Args:
        times: the items' times.
        item: shape (n,), the items that the model answered.
        success: shape (n,), the share of the model's answers to each that are right.
        clusters: shape (n,), codes of the items' clusters; by default, items are independent.
    """
    measured, error = times.measured[item], times.error[item]
    center = float(measured.mean())
    x = measured - center
    fit = _Stacked(x, error, success)
    params = fit.solve()
    jacobian, scores = fit.derivatives(params)
    codes = np.arange(item.shape[0]) if clusters is None else np.unique(clusters, return_inverse=True)[1]
    of_cluster = np.zeros((int(codes.max()) + 1, 4))
    np.add.at(of_cluster, codes, scores)
    n = of_cluster.shape[0]
    inverse: FloatArray = np.linalg.inv(jacobian).astype(np.float64)
    influence = -of_cluster @ inverse.T
    influence *= sqrt(n / max(n - 3, 1))
    covariance = influence.T @ influence
    shared, people = _shared_people(fit, params, inverse, times, item)
    noise = np.zeros((2, 2))
    if 0 < times.noise_error < inf:
        change = (
            _Stacked(x, error * exp(_MOVED), success).solve()
            - _Stacked(x, error * exp(-_MOVED), success).solve()
        )
        moved = change[2:] / (2 * _MOVED)
        noise = np.outer(moved, moved) * times.noise_error**2
    parts = [covariance[2:, 2:], shared]
    logit, slope = float(params[2]), float(params[3])
    of_horizon = _of_horizon(logit, slope)
    first, second = (float(of_horizon @ one @ of_horizon) for one in parts)
    doubt = first**2 / max(n - 3, 1) + second**2 / max(people - 1, 0.5)
    freedom = (first + second) ** 2 / doubt if doubt > 0 else float(max(n - 3, 1))
    return SuccessCurve(center, logit, slope, parts[0] + parts[1] + noise, freedom)


def _of_horizon(logit: float, slope: float) -> FloatArray:
    """Return the derivatives of the log horizon of one half by `logit` and `slope`."""
    return np.array([1 / slope, -logit / slope**2]) if slope else np.array([1.0, 0.0])


def _shared_people(
    fit: _Stacked, params: FloatArray, inverse: FloatArray, times: ItemTimes, item: NDArray[np.int64]
) -> tuple[FloatArray, float]:
    """Return the covariance of the curve because items share people, and the effective number of people.

    Products of an item's change with itself are left out, because the variance over items has them. Few people tell
    their variance badly, and more often too small than too large: it is increased by (P + 1) / (P - 1).
    """
    by_measured = -(fit.score_by_measured(params) @ inverse.T)[:, 2:]
    of_person = times.shared[item]
    change = by_measured.T @ of_person
    covariance = change @ change.T - np.einsum("ia,ij,ib->ab", by_measured, of_person**2, by_measured)
    weight = np.abs(_of_horizon(float(params[2]), float(params[3])) @ change)
    people = float(weight.sum() ** 2 / max(float(weight @ weight), 1e-300))
    values, vectors = np.linalg.eigh(covariance)
    few = (people + 1) / max(people - 1, 0.5)
    kept = vectors @ np.diag(np.maximum(values, 0.0)) @ vectors.T
    return np.asarray(kept * times.person_spread**2 * few), people


class _Stacked:
    """The estimating equations of the distribution of true times and of the curve.

    Parameters: the mean and the log spread of true times, the logit at 0, and the slope.
    """

    def __init__(self, x: FloatArray, error: FloatArray, success: FloatArray) -> None:
        self.x, self.error, self.success = x, error, success

    def solve(self) -> FloatArray:
        first = optimize.minimize(
            lambda p: -self._times(p, self.x).sum(), [0.0, log(max(float(self.x.std()), 1e-3))], method="BFGS"
        ).x
        mean, spread = float(first[0]), float(np.exp(first[1]))
        trust = spread**2 / (spread**2 + self.error)
        nodes = (mean + trust * (self.x - mean))[:, None] + np.sqrt(trust * self.error)[:, None] * _NODES
        params = np.array([float(special.logit(np.clip(self.success.mean(), 0.02, 0.98))), 0.5])
        value, step_down, curvature = self._curve(params, nodes)
        for _ in range(100):
            step = np.linalg.solve(curvature + 1e-9 * np.eye(2), step_down)
            scale = 1.0
            while True:
                new = params + scale * step
                found = self._curve(new, nodes)
                if found[0] >= value - 1e-12 or scale < 1e-6:
                    break
                scale /= 2
            change = float(np.abs(new - params).max())
            params, (value, step_down, curvature) = new, found
            if change < 1e-9:
                break
        return np.array([mean, first[1], *params])

    def _curve(self, params: FloatArray, nodes: FloatArray) -> tuple[float, FloatArray, FloatArray]:
        """Return the pseudo-likelihood, its gradient and the expected information."""
        each = special.expit(params[0] - params[1] * nodes)
        p = np.clip(each @ _WEIGHTS, 1e-12, 1 - 1e-12)
        slope = each * (1 - each)
        by = np.stack([slope @ _WEIGHTS, -(slope * nodes) @ _WEIGHTS], axis=1)
        value = float((self.success * np.log(p) + (1 - self.success) * np.log1p(-p)).sum())
        rest = (self.success - p) / (p * (1 - p))
        prior = np.array([0.0, 1 / _LOOSE**2])
        information = (by / (p * (1 - p))[:, None]).T @ by + np.diag(prior)
        return value - float(params @ (prior * params)) / 2, by.T @ rest - prior * params, information

    def _times(self, params: FloatArray, x: FloatArray) -> FloatArray:
        variance = np.exp(2 * params[1]) + self.error
        return np.asarray(-0.5 * np.log(variance) - 0.5 * (x - params[0]) ** 2 / variance)

    def _scores(self, params: FloatArray, x: FloatArray) -> FloatArray:
        """Return every item's estimating functions, shape (n, 4)."""
        mean, spread = params[0], np.exp(params[1])
        variance = spread**2 + self.error
        rest = (x - mean) / variance
        first = np.stack([rest, spread**2 * (rest**2 - 1 / variance)], axis=1)
        trust = spread**2 / variance
        nodes = (mean + trust * (x - mean))[:, None] + np.sqrt(trust * self.error)[:, None] * _NODES
        each = special.expit(params[2] - params[3] * nodes)
        p = np.clip(each @ _WEIGHTS, 1e-12, 1 - 1e-12)
        slope = each * (1 - each)
        by = np.stack([slope @ _WEIGHTS, -(slope * nodes) @ _WEIGHTS], axis=1)
        return np.concatenate([first, by * ((self.success - p) / (p * (1 - p)))[:, None]], axis=1)

    def derivatives(self, params: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the derivatives of the summed scores by the parameters, shape (4, 4), and the scores."""
        jacobian = np.stack(
            [
                (self._scores(params + step, self.x) - self._scores(params - step, self.x)).sum(axis=0)
                / (2 * _STEP)
                for step in np.eye(4) * _STEP
            ],
            axis=1,
        )
        jacobian[3, 3] -= 1 / _LOOSE**2
        return jacobian, self._scores(params, self.x)

    def score_by_measured(self, params: FloatArray) -> FloatArray:
        """Return the derivative of every item's scores by its measured time, shape (n, 4)."""
        return (self._scores(params, self.x + _STEP) - self._scores(params, self.x - _STEP)) / (2 * _STEP)
