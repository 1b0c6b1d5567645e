"""Groups of annotators on the same items: the level of each, whether they differ, what a new one would reach."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy.special import fdtrc

from merilo.errors import DataError
from merilo.statistics.intervals import Interval, student_quantile

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

RESAMPLES: Final = 400

#: How far levels of groups usually differ, in points from 0 to 1.
USUAL_SPREAD: Final = 0.1

#: The fewest groups from which the difference between groups is estimated.
FEWEST: Final = 3


@dataclass(frozen=True, slots=True)
class Levels:
    """The mean score of a single person of each group, if all groups answered all items.

    Attributes:
        value: shape (groups,).
        error: shape (groups,), the standard errors over annotators, with the items as they are.
        people: shape (groups,), the number of annotators.
    """

    value: FloatArray
    error: FloatArray
    people: IntArray

    def interval(self, group: int, level: float = 0.95) -> Interval | None:
        """Return Student's interval of a group over its annotators; `None` for a single annotator."""
        if self.people[group] < 2:
            return None
        reach = student_quantile((1 + level) / 2, int(self.people[group]) - 1) * float(self.error[group])
        value = float(self.value[group])
        return Interval(value - reach, value + reach, level, "Student over annotators")


@dataclass(frozen=True, slots=True)
class Heterogeneity:
    """How groups differ.

    Attributes:
        mean: the mean level of groups.
        interval: its interval.
        spread: the standard deviation of true levels between groups.
        p: the p-value of the hypothesis that all groups have the same level.
        share: the share of the variance of the observed levels that is between groups, 0 to 1.
        prediction: the interval that holds the true level of a new group.
    """

    mean: float
    interval: Interval
    spread: float
    p: float
    share: float
    prediction: Interval


def group_levels(
    scores: FloatArray, items: IntArray, groups: IntArray, people: IntArray, *, seed: int = 0
) -> Levels:
    """Estimate the level of each group from an additive model of items and groups.

    The model is  score = item + group.  A level is the group's effect plus the mean item effect, so that groups with
    different items are comparable. The error is that of a bootstrap of annotators within groups, times the square root
    of G / (G - 1) for G annotators.

    Args:
        scores: shape (n,), points of answers.
        items: shape (n,), codes of items.
        groups: shape (n,), codes of groups, 0 to k - 1.
        people: shape (n,), codes of annotators; an annotator belongs to one group.
        seed: random seed.

    Raises:
        DataError: groups that share no items, not even through other groups, cannot be compared.
    """
    count = int(groups.max()) + 1
    weights = np.ones(len(scores))
    value = _levels(scores, items, groups, weights, count)
    _, person = np.unique(people, return_inverse=True)
    home = np.zeros(int(person.max()) + 1, dtype=np.int64)
    home[person] = groups
    size = np.bincount(home, minlength=count)
    generator = np.random.default_rng(seed)
    members = [np.flatnonzero(home == group) for group in range(count)]
    drawn = []
    for _ in range(RESAMPLES):
        times = np.zeros(len(home))
        for own in members:
            times += np.bincount(generator.choice(own, len(own)), minlength=len(home))
        drawn.append(_levels(scores, items, groups, times[person], count))
    least = np.maximum(size, 2)
    error = np.nanstd(np.array(drawn), axis=0, ddof=1) * np.sqrt(least / (least - 1))
    return Levels(value, error, size)


def _levels(
    scores: FloatArray, items: IntArray, groups: IntArray, weights: FloatArray, count: int
) -> FloatArray:
    """Return the levels by weighted least squares: item effects are swept out of scores and groups."""
    width = int(items.max()) + 1
    held = np.zeros((width, count))
    np.add.at(held, (items, groups), weights)
    total = held.sum(axis=1)
    kept = total > 0
    earned = np.bincount(items, weights * scores, width)
    by_group = np.bincount(groups, weights * scores, count)
    share = held[kept] / total[kept, None]
    matrix = np.diag(held.sum(axis=0)) - held[kept].T @ share
    if np.linalg.matrix_rank(matrix) < count - 1:
        raise DataError(
            "some groups share no items with the others, not even through a third: they cannot be compared"
        )
    effect = np.linalg.pinv(matrix) @ (by_group - share.T @ earned[kept])
    of_items = (earned[kept] - held[kept] @ effect) / total[kept]
    return np.asarray(effect + of_items.mean(), dtype=np.float64)


def heterogeneity(levels: Levels, level: float = 0.95) -> Heterogeneity:
    """Estimate how groups differ: Paule and Mandel's variance, Hartung and Knapp's interval, Welch's test.

    The prediction takes the expected variance between groups given their levels, with a half-normal prior of scale
    `USUAL_SPREAD` for its root: an estimate of 0, which a few groups often give, would make it too narrow.

    Raises:
        DataError: there are fewer than `FEWEST` groups, or one has a single annotator.

    References:
        R. Paule, J. Mandel (1982), Consensus values and weighting factors. Journal of Research of the NBS 87, 377-385.
        J. Hartung, G. Knapp (2001), A refined method for the meta-analysis of controlled clinical trials with binary
            outcome. Statistics in Medicine 20, 3875-3889.
        B. Welch (1951), On the comparison of several mean values. Biometrika 38, 330-336.
        J. Higgins, S. Thompson, D. Spiegelhalter (2009), A re-evaluation of random-effects meta-analysis. JRSS A 172.
    """
    value, count = levels.value, len(levels.value)
    if count < FEWEST:
        raise DataError(f"the difference between groups needs at least {FEWEST} of them")
    if levels.people.min() < 2:
        raise DataError("a group of one annotator has no error over annotators")
    variance = np.maximum(levels.error**2, 1e-12)
    between = _paule_mandel(value, variance)
    weight = 1 / (variance + between)
    mean = float(weight @ value / weight.sum())
    own = float(weight @ (value - mean) ** 2) / ((count - 1) * weight.sum())
    reach = student_quantile((1 + level) / 2, count - 1) * float(np.sqrt(own))
    wide = student_quantile((1 + level) / 2, count - 1) * float(np.sqrt(_expected(value, variance) + own))
    typical = (count - 1) * (1 / variance).sum() / ((1 / variance).sum() ** 2 - (1 / variance**2).sum())
    return Heterogeneity(
        mean,
        Interval(mean - reach, mean + reach, level, "Hartung-Knapp over groups"),
        float(np.sqrt(between)),
        _welch(value, variance, levels.people),
        float(between / (between + typical)),
        Interval(mean - wide, mean + wide, level, "prediction for a new group"),
    )


def _expected(value: FloatArray, variance: FloatArray) -> float:
    """Return the expected variance between groups, on a grid, with the mean integrated out."""
    roots = np.linspace(0, 5 * USUAL_SPREAD, 201)
    total = variance + roots[:, None] ** 2
    weight = 1 / total
    mean = (weight * value).sum(axis=1) / weight.sum(axis=1)
    fit = (
        np.log(total).sum(axis=1)
        + np.log(weight.sum(axis=1))
        + (weight * (value - mean[:, None]) ** 2).sum(axis=1)
    )
    logs = -0.5 * (fit + (roots / USUAL_SPREAD) ** 2)
    shares = np.exp(logs - logs.max())
    return float(shares @ roots**2 / shares.sum())


def _paule_mandel(value: FloatArray, variance: FloatArray) -> float:
    """Return the variance between groups at which the weighted sum of squares equals its expectation."""

    def surplus(between: float) -> float:
        weight = 1 / (variance + between)
        mean = weight @ value / weight.sum()
        return float(weight @ (value - mean) ** 2) - (len(value) - 1)

    if surplus(0.0) <= 0:
        return 0.0
    low, high = 0.0, float(np.ptp(value) ** 2) + 1e-9
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if surplus(middle) > 0 else (low, middle)
    return (low + high) / 2


def _welch(value: FloatArray, variance: FloatArray, people: IntArray) -> float:
    """Return the p-value of Welch's test of equal means."""
    count, weight = len(value), 1 / variance
    mean = weight @ value / weight.sum()
    slack = float((((1 - weight / weight.sum()) ** 2) / (people - 1)).sum())
    statistic = (
        float(weight @ (value - mean) ** 2) / (count - 1) / (1 + 2 * (count - 2) * slack / (count**2 - 1))
    )
    return float(fdtrc(count - 1, (count**2 - 1) / (3 * slack), statistic))
