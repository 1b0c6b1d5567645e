"""Item-response models: abilities of respondents and difficulties of items on one axis.

P(respondent i answers item j correctly) = σ(a_j (θ_i - b_j)), with abilities θ normal among people. In the Rasch model
every discrimination a_j is 1; in the two-parameter model they differ. All numbers are logits: one unit
multiplies the odds of a correct answer by e. The average person has ability 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import pi, sqrt
from typing import Final, Literal, TypeAlias

import numpy as np
import scipy
from numpy.typing import NDArray

from merilo.errors import DataError
from merilo.statistics import FloatArray, IntArray

ItemModel: TypeAlias = Literal["rasch", "2pl"]

#: The fewest respondents from whose answers a distribution of abilities is estimated.
LEAST_RESPONDENTS: Final = 3
#: The standard deviation of the log-normal prior of discriminations; BILOG's default.
_DISCRIMINATION_SD: Final = 0.5
#: Bounds of the spread of abilities, in logits, and of the largest step of a parameter in one iteration.
_LEAST_SPREAD, _MOST_SPREAD, _LONGEST_STEP = 1e-3, 20.0, 2.0


@dataclass(frozen=True, slots=True)
class ItemResponseFit:
    """A fitted item-response model.

    Attributes:
        model: "rasch" or "2pl".
        difficulty: shape (items,), in logits; `nan` for items without answers. Without shrinkage, items answered only
            correctly or only incorrectly have an infinite difficulty.
        difficulty_error: shape (items,), its standard error.
        discrimination: shape (items,), relative to the geometric mean of all items; 1 in the Rasch model.
        discrimination_error: shape (items,), its standard error; 0 in the Rasch model.
        intercept_variance: shape (items,), the posterior variance of an item's intercept -a_j b_j.
        ability: shape (respondents,), the expected ability given the answers (EAP), in logits.
        ability_error: shape (respondents,), its posterior standard deviation.
        spread: the standard deviation of abilities among respondents, in logits.
        effective: the number of perfectly measured respondents that would fix the average ability equally well.
        effective_spread: the same for the spread.
        answers: shape (items,), the number of answers to each item.
        right: shape (items,), the sum of their scores.
        infit: shape (items,), the weighted mean square of residuals; 1 is expected of items with many answers, less of
            items with few.
        outfit: shape (items,), the unweighted mean square of residuals.
        infit_z: shape (items,), infit as a standard normal value.
        log_likelihood: the marginal log-likelihood of all answers.
        iterations: the number of EM iterations.
        converged: whether the parameters changed less than the tolerance in the last iteration.
    """

    model: ItemModel
    difficulty: FloatArray
    difficulty_error: FloatArray
    discrimination: FloatArray
    discrimination_error: FloatArray
    intercept_variance: FloatArray
    ability: FloatArray
    ability_error: FloatArray
    spread: float
    effective: float
    effective_spread: float
    answers: IntArray
    right: FloatArray
    infit: FloatArray
    outfit: FloatArray
    infit_z: FloatArray
    log_likelihood: float
    iterations: int
    converged: bool


def fit_item_response(
    respondent: NDArray[np.signedinteger],
    item: NDArray[np.signedinteger],
    score: FloatArray,
    *,
    respondents: int,
    items: int,
    model: ItemModel = "rasch",
    shrink: bool = True,
    nodes: int = 11,
    tolerance: float = 1e-3,
    iterations: int = 500,
) -> ItemResponseFit:
    """Fit an item-response model by marginal maximum likelihood.

    The EM algorithm of Bock and Aitkin: the E-step integrates each respondent's ability out by adaptive Gauss-Hermite
    quadrature (Liu and Pierce), the M-step is a Newton step for slopes and intercepts. The mean and the variance of
    abilities are estimated too in each M-step and then absorbed by the parameters (parameter expansion), because EM is
    otherwise slow where respondents answer many items. Missing answers are left out.

    With few answers to an item its difficulty has no finite estimate, or a noisy one. With `shrink`, intercepts have a
    normal prior whose mean and variance are estimated from all items (empirical Bayes), and logarithms of
    discriminations one with an estimated mean and the standard deviation 0.5.

    Args:
        respondent: shape (n,), codes 0 .. respondents-1.
        item: shape (n,), codes 0 .. items-1; a respondent answers an item at most once.
        score: shape (n,), 1 for a correct answer, 0 for an incorrect one; a share of correct answers may lie between.
        respondents: the number of respondents.
        items: the number of items.
        model: "rasch", or "2pl" with a discrimination for each item.
        shrink: whether item parameters have the priors above.
        nodes: the number of quadrature nodes.
        tolerance: the largest change of a parameter at which the fit has converged, in logits.
        iterations: the largest number of EM iterations.

    Raises:
        DataError: there are fewer than three respondents or fewer than two items, or all answers are correct or all
            incorrect.

    References:
        G. Rasch (1960), Probabilistic models for some intelligence and attainment tests.
        R. D. Bock, M. Aitkin (1981), Marginal maximum likelihood estimation of item parameters. Psychometrika
        46, 443-459. Q. Liu, D. Pierce (1994), A note on Gauss-Hermite quadrature. Biometrika 81, 624-629.
        C. Liu, D. Rubin, Y. N. Wu (1998), Parameter expansion to accelerate EM. Biometrika 85, 755-770.
        T. Louis (1982), Finding the observed information matrix when using the EM algorithm. JRSS B 44, 226-233.
        R. Mislevy (1986), Bayes modal estimation in item response models. Psychometrika 51, 177-195.
        B. Wright, G. Masters (1982), Rating scale analysis, chapter 5 (infit and outfit).
    """
    counts = np.bincount(item, minlength=items)
    right = np.bincount(item, weights=score, minlength=items).astype(np.float64)
    _check(respondent, counts, score)
    informative = counts > 0 if shrink else (right > 0) & (right < counts)
    kept = informative[item]
    answers = AnswerRows(
        respondent[kept].astype(np.int64), item[kept].astype(np.int64), score[kept], (respondents, items)
    )
    parameters = _start(right, counts, informative, shrink=shrink)
    few, done, converged = min(5, nodes), 0, False
    at = few
    for done in range(1, iterations + 1):
        expected = answers.expect(parameters, at, 5 if done == 1 else 1)
        change = _maximise(parameters, expected, answers, informative, model=model, shrink=shrink)
        if change < tolerance:
            if at == nodes:
                converged = True
                break
            at = nodes
    return _fitted(
        answers,
        parameters,
        informative,
        counts,
        right,
        model=model,
        nodes=nodes,
        done=done,
        converged=converged,
    )


def _check(
    respondent: NDArray[np.signedinteger], counts: NDArray[np.signedinteger], score: FloatArray
) -> None:
    people, asked = len(np.unique(respondent)), int((counts > 0).sum())
    if people < LEAST_RESPONDENTS:
        raise DataError(
            f"an item-response model needs answers of at least {LEAST_RESPONDENTS} respondents; there are {people}"
        )
    if asked < 2:
        raise DataError(f"an item-response model needs at least 2 items; there is {asked}")
    if score.min() == score.max() and score.min() in {0.0, 1.0}:
        kind = "correct" if score.min() else "incorrect"
        raise DataError(
            f"all {len(score)} answers are {kind}, so they say nothing about difficulties or abilities"
        )


def _start(
    right: FloatArray, counts: NDArray[np.signedinteger], informative: NDArray[np.bool_], *, shrink: bool
) -> ItemParameters:
    share = (right + 0.5) / (counts + 1.0)
    intercept = np.where(informative, np.log(share / (1 - share)), 0.0)
    known = intercept[informative]
    return ItemParameters(
        np.ones(len(right)),
        intercept,
        float(known.mean()) if len(known) else 0.0,
        max(float(known.var()), 0.25) if shrink else float("inf"),
        0.0,
    )


def _maximise(
    parameters: ItemParameters,
    expected: Expectation,
    answers: AnswerRows,
    informative: NDArray[np.bool_],
    *,
    model: ItemModel,
    shrink: bool,
) -> float:
    """Make one M-step; return the largest change of a parameter."""
    gradient, curvature = expected.derivatives(answers)
    slope, prior = parameters.slope, 1 / parameters.variance
    by_intercept = gradient[:, 0] - (parameters.intercept - parameters.centre) * prior
    by_slope = slope * gradient[:, 1]
    c = np.where(informative, curvature[:, 0] + prior, 1.0)
    b, a = slope * curvature[:, 1], slope**2 * curvature[:, 2]
    by_intercept = np.where(informative, by_intercept, 0.0)
    if model == "rasch":
        # One slope for all items: its equation after the intercepts are eliminated (Schur complement).
        pivot = float(a.sum() - (b**2 / c).sum())
        common = float(by_slope.sum() - (b * by_intercept / c).sum()) / max(pivot, 1e-9)
        log_step = np.full(len(slope), float(np.clip(common, -_LONGEST_STEP, _LONGEST_STEP)))
    else:
        weight = 1 / _DISCRIMINATION_SD**2 if shrink else 0.0
        by_slope = by_slope - (np.log(slope) - parameters.usual) * weight
        pivots = np.maximum(a + weight - b**2 / c, 1e-9)
        log_step = np.clip((by_slope - b * by_intercept / c) / pivots, -0.5, 0.5)
        log_step = np.where(informative, log_step, 0.0)
    step = np.clip((by_intercept - b * log_step) / c, -_LONGEST_STEP, _LONGEST_STEP)
    before = (slope.copy(), parameters.intercept.copy())
    answered = np.bincount(answers.respondent, minlength=answers.shape[0]) > 0
    mean = float(expected.mean[answered].mean())
    deviation = sqrt(max(float(expected.second[answered].mean()) - mean**2, 1e-6))
    grown = np.clip(slope * np.exp(log_step), _LEAST_SPREAD, _MOST_SPREAD)
    parameters.intercept = np.where(informative, parameters.intercept + step + grown * mean, 0.0)
    parameters.slope = np.clip(grown * deviation, _LEAST_SPREAD, _MOST_SPREAD)
    if shrink:
        _learn_priors(parameters, c, informative)
    moved = np.maximum(np.abs(parameters.slope - before[0]), np.abs(parameters.intercept - before[1]))
    return float(moved[informative].max()) if informative.any() else 0.0


def _learn_priors(parameters: ItemParameters, precision: FloatArray, informative: NDArray[np.bool_]) -> None:
    """Estimate the mean and variance of intercepts, adding what is not known of each, and the usual slope."""
    intercept = parameters.intercept[informative]
    parameters.centre = float(intercept.mean())
    unknown = float((1 / precision[informative]).mean())
    parameters.variance = max(float(((intercept - parameters.centre) ** 2).mean()) + unknown, 1e-3)
    parameters.usual = float(np.log(parameters.slope[informative]).mean())


def _fitted(
    answers: AnswerRows,
    parameters: ItemParameters,
    informative: NDArray[np.bool_],
    counts: NDArray[np.signedinteger],
    right: FloatArray,
    *,
    model: ItemModel,
    nodes: int,
    done: int,
    converged: bool,
) -> ItemResponseFit:
    expected = answers.expect(parameters, nodes, 3)
    _, curvature = expected.derivatives(answers)
    lost = expected.lost_information(answers)
    slope, intercept = parameters.slope, parameters.intercept
    usual = float(np.exp(np.log(slope[informative]).mean())) if informative.any() else 1.0
    prior = 1 / parameters.variance
    c = np.maximum(curvature[:, 0] - lost[:, 0] + prior, 1e-9)
    if model == "rasch":
        variance = 1 / c
        slope_error = np.zeros(len(slope))
        # b = -d in logits, because abilities are measured in the same logits.
        difficulty_error = np.sqrt(variance)
    else:
        weight = 1 / _DISCRIMINATION_SD**2 / slope**2 if np.isfinite(parameters.variance) else 0.0
        a = curvature[:, 2] - lost[:, 2] + weight
        b = curvature[:, 1] - lost[:, 1]
        determinant = np.maximum(a * c - b**2, 1e-12)
        variance, slope_variance, covariance = a / determinant, c / determinant, -b / determinant
        slope_error = np.sqrt(slope_variance)
        # The delta method for b = -d / a.
        ratio = intercept / slope
        spread = (variance - 2 * ratio * covariance + ratio**2 * slope_variance) / slope**2
        difficulty_error = usual * np.sqrt(np.maximum(spread, 0.0))
    difficulty = -intercept / slope * usual
    unknown = ~informative
    difficulty = np.where(unknown, np.where(right > 0, -np.inf, np.inf), difficulty)
    difficulty = np.where(counts == 0, np.nan, difficulty)
    deviation = np.sqrt(np.maximum(expected.second - expected.mean**2, 0.0))
    answered = np.bincount(answers.respondent, minlength=answers.shape[0]) > 0
    reliability = np.maximum(1 - deviation[answered] ** 2, 0.0)
    infit, outfit, z = fit_statistics(answers, expected)
    blank = np.where(unknown, np.nan, 1.0)
    return ItemResponseFit(
        model,
        difficulty,
        difficulty_error * blank,
        slope / usual * blank,
        slope_error / usual * blank,
        np.where(unknown, parameters.variance if counts.any() else 0.0, variance),
        expected.mean * usual,
        deviation * usual,
        usual,
        float(reliability.sum()),
        float((reliability**2).sum()),
        counts.astype(np.int64),
        right,
        infit,
        outfit,
        z,
        expected.log_likelihood,
        done,
        converged,
    )


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
        """Compute the posterior of each ability by adaptive quadrature.

        Nodes around its mode, as wide as its spread.
        """
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
        """Return sums by item of the residual and θ times it, shape (items, 2), and of PQ, θPQ and θ²PQ.

        Shape (items, 3).
        """
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
