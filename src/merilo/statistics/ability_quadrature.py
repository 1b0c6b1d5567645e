"""The E-step of an item-response model: the posterior of each respondent's ability by adaptive quadrature."""

from __future__ import annotations

from dataclasses import dataclass
from math import pi, sqrt

import numpy as np
import scipy

from merilo.statistics.arrays import FloatArray, IntArray


@dataclass(slots=True)
class ItemParameters:
    """Parameters for abilities with mean 0 and variance 1: slopes a, intercepts d, and the distribution of both."""

    slope: FloatArray
    intercept: FloatArray
    centre: float
    variance: float
    usual: float


class AnswerRows:
    """Answers sorted by respondent, with the quadrature of each respondent's ability."""

    def __init__(
        self, respondent: IntArray, item: IntArray, score: FloatArray, shape: tuple[int, int]
    ) -> None:
        order = np.argsort(respondent, kind="stable")
        self.respondent, self.item = respondent[order], item[order]
        self.score = score[order]
        self.shape = shape
        rows, ones = np.arange(len(score)), np.ones(len(score))
        self.of_respondent = scipy.sparse.csr_matrix((ones, (self.respondent, rows)), (shape[0], len(score)))
        self.of_item = scipy.sparse.csr_matrix((ones, (self.item, rows)), (shape[1], len(score)))
        self.answered = np.bincount(self.respondent, minlength=shape[0])
        self.mode = np.zeros(shape[0])

    def width(self, parameters: ItemParameters, steps: int) -> FloatArray:
        """Move the abilities' posterior modes by Newton steps; return the posterior standard deviation at them."""
        slope, intercept = parameters.slope[self.item], parameters.intercept[self.item]
        information = np.ones(self.shape[0])
        for _ in range(steps):
            p = scipy.special.expit(slope * self.mode[self.respondent] + intercept)
            information = 1.0 + self.of_respondent @ (slope**2 * p * (1 - p))
            step = (self.of_respondent @ (slope * (self.score - p)) - self.mode) / information
            self.mode = self.mode + np.clip(step, -1.0, 1.0)
        return np.asarray(1 / np.sqrt(information))

    def expect(self, parameters: ItemParameters, nodes: int, steps: int = 1) -> Expectation:
        """Compute the posterior of each ability by adaptive quadrature: nodes around its mode, as wide as its spread."""
        node, weight = np.polynomial.hermite_e.hermegauss(nodes)
        width = self.width(parameters, steps)
        theta = self.mode[:, None] + width[:, None] * node
        at = np.repeat(theta, self.answered, axis=0)
        linear = parameters.slope[self.item, None] * at
        linear += parameters.intercept[self.item, None]
        p = scipy.special.expit(linear)
        # log P(y) = y η - log(1 + e^η), and log(1 + e^η) is computed from the sign of η, so that nothing overflows.
        each = self.score[:, None] * linear - np.maximum(linear, 0.0)
        each += np.log(np.maximum(p, 1 - p))
        joint = self.of_respondent @ each - theta**2 / 2 + np.log(weight / sqrt(2 * pi)) + node**2 / 2
        joint += np.log(width)[:, None]
        top = joint.max(axis=1, keepdims=True)
        posterior = np.exp(joint - top)
        total = posterior.sum(axis=1, keepdims=True)
        posterior /= total
        return Expectation(
            float((top + np.log(total)).sum()),
            (posterior * theta).sum(axis=1),
            (posterior * theta**2).sum(axis=1),
            p,
            np.repeat(posterior, self.answered, axis=0),
            at,
        )


@dataclass(frozen=True, slots=True)
class Expectation:
    """What the E-step finds.

    Attributes:
        log_likelihood: the marginal log-likelihood.
        mean: shape (respondents,), the posterior mean of each ability.
        second: shape (respondents,), the posterior mean of its square.
        p: shape (n, nodes), the probability of a correct answer at each node.
        weight: shape (n, nodes), the posterior weight of the node.
        theta: shape (n, nodes), the ability at the node.
    """

    log_likelihood: float
    mean: FloatArray
    second: FloatArray
    p: FloatArray
    weight: FloatArray
    theta: FloatArray

    def derivatives(self, answers: AnswerRows) -> tuple[FloatArray, FloatArray]:
        """Return sums by item of the residual and θ times it, shape (items, 2), and of PQ, θPQ and θ²PQ, shape (items, 3)."""
        # The weights of an answer's nodes sum to 1.
        weighted = self.weight * self.p
        variance = weighted - weighted * self.p
        own = self.mean[answers.respondent]
        every = np.ones(self.p.shape[1])
        sums = answers.of_item @ np.column_stack(
            [
                answers.score - weighted @ every,
                answers.score * own - np.einsum("ij,ij->i", weighted, self.theta),
                variance @ every,
                np.einsum("ij,ij->i", variance, self.theta),
                np.einsum("ij,ij,ij->i", variance, self.theta, self.theta),
            ]
        )
        return sums[:, :2], sums[:, 2:]

    def lost_information(self, answers: AnswerRows) -> FloatArray:
        """Return by item the posterior covariance of the score (y - P, θ (y - P)), shape (items, 3) (Louis 1982)."""
        residual = answers.score[:, None] - self.p
        at_theta = residual * self.theta
        first, second = (self.weight * residual).sum(axis=1), (self.weight * at_theta).sum(axis=1)
        return np.asarray(
            answers.of_item
            @ np.column_stack(
                [
                    (self.weight * residual**2).sum(axis=1) - first**2,
                    (self.weight * residual * at_theta).sum(axis=1) - first * second,
                    (self.weight * at_theta**2).sum(axis=1) - second**2,
                ]
            )
        )


def fit_statistics(answers: AnswerRows, expected: Expectation) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Compute infit, outfit and infit as a normal value by Wilson and Hilferty's cube root.

    Squared residuals and their variances are averaged over each ability's posterior. Both averages have the same
    expectation, so that 1 is expected even of respondents with few answers, whose estimated ability would be too close
    to their own answers.
    """
    p, weight, y = expected.p, expected.weight, answers.score[:, None]
    square, variance = (y - p) ** 2, np.maximum(p * (1 - p), 1e-12)
    sums = answers.of_item @ np.column_stack(
        [
            (weight * square).sum(axis=1),
            (weight * variance).sum(axis=1),
            (weight * np.minimum(square / variance, 1e4)).sum(axis=1),
            (weight * variance * (1 - 4 * np.minimum(variance, 0.25))).sum(axis=1),
            np.ones(len(answers.score)),
        ]
    )
    with np.errstate(divide="ignore", invalid="ignore"):
        infit, outfit = sums[:, 0] / sums[:, 1], sums[:, 2] / sums[:, 4]
        deviation = np.sqrt(sums[:, 3]) / sums[:, 1]
        z = np.where(deviation > 1e-9, (np.cbrt(infit) - 1) * 3 / deviation + deviation / 3, 0.0)
    return infit, outfit, z
