"""The uncertainty of every estimate: over items (or clusters of items) and annotators together.

An estimate would change with other items and with other annotators. Its variance has three parts, which stand in
`crossed` and nowhere else:

1. items: the sum of the squared influences of items, or of clusters of items;
2. annotators: what the answers of one annotator to different items have in common;
3. a guesser: a few annotators often include nobody who guesses, so each end of the interval allows for half an
   annotator more who might.

The interval has Wilson's form with the number of right-or-wrong items that this variance is worth, and Student's
quantile with at most one degree of freedom less than there are annotators. `p` inverts the same interval. Consensus,
one person, group, difference, whole dataset and agreement all use it; they differ only in their influences.
docs/uncertainty.md has the measured coverage.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from math import atan, copysign, cos, erfc, hypot, inf, isinf, pi, sin, sqrt
from statistics import NormalDist
from typing import Final, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from merilo.estimate import Estimate
from merilo.records import Span
from merilo.statistics import FloatArray

Codes: TypeAlias = NDArray[np.integer]

#: Fewer annotators cannot show how much annotators differ: there is no interval then.
LEAST_ANNOTATORS: Final = 3
#: How many annotators who guess are assumed in addition to those of the study.
GUESSERS: Final = 0.5
#: The correlation of the items of a cluster that is assumed where all items score the same.
ASSUMED_CORRELATION: Final = 0.5
#: With more degrees of freedom Student's distribution is taken for the normal one.
_NORMAL: Final = 2000
#: A statistic beyond this is infinite.
_FAR: Final = 1e6
#: The smallest probability whose normal quantile is taken.
_LEAST: Final = 1e-300

_NONE: Final = np.zeros(0)
_NOBODY: Final = np.zeros(0, dtype=np.int64)


class Influence(NamedTuple):
    """How much each item and each answer moves an estimate, in units of the estimate.

    For the mean of item scores s over n items, the influence of an item is (s - mean) / n. The influence of an answer
    is that of its item's score minus what the score would be with a typical answer in its place: for the
    accuracy of a randomly drawn answer, (right - mean) / (n * answers of the item); for a consensus, 0 if the other
    answers of the item decide it anyway. Weights of items multiply all influences.

    Attributes:
        items: shape (units,), of each item or cluster of items; they sum to about 0.
        answers: shape (n,), of each answer; they sum to about 0. Empty if nobody answers, as for a model.
        unit: shape (n,), the code of each answer's item or cluster; any integers.
        person: shape (n,), the code of each answer's annotator; any integers, the same for one person everywhere.
        guess: shape (n,), the change of the estimate if the answer were a random label.
        alike: how many right-or-wrong items the estimate is worth if all items score the same; 0: as many as `items`.
    """

    items: FloatArray
    answers: FloatArray = _NONE
    unit: Codes = _NOBODY
    person: Codes = _NOBODY
    guess: FloatArray = _NONE
    alike: float = 0.0

    def times(self, factor: float) -> Influence:
        """Return the influence on the estimate times a factor: -1 for the side that a difference subtracts."""
        return self._replace(
            items=self.items * factor, answers=self.answers * factor, guess=self.guess * factor
        )

    def clustered(self, of_item: Codes, of_answer: Codes) -> Influence:
        """Return the influence with clusters of items in place of items.

        Args:
            of_item: shape (items,), the cluster of each of `items`.
            of_answer: shape (n,), the cluster of each answer's item.
        """
        _, code, sizes = np.unique(of_item, return_inverse=True, return_counts=True)
        effect = 1 + (float(sizes @ sizes) / max(sizes.sum(), 1) - 1) * ASSUMED_CORRELATION
        return self._replace(
            items=np.bincount(code, weights=self.items).astype(np.float64),
            unit=of_answer,
            alike=(self.alike or len(self.items)) / effect,
        )


def of_mean(scores: FloatArray) -> Influence:
    """Return the influence of items on the mean of their scores, shape (n,): for one model, or for no annotators."""
    return Influence((scores - scores.mean()) / len(scores))


def apart(first: Influence, second: Influence) -> Influence:
    """Return the influence on the difference of two estimates on the same items, second minus first.

    The answers of both sides count. Where one person answers for both (a person beside the consensus, two
    prompts with one crowd), equal codes in `person` let the two pulls cancel or add up; crowds of different people
    need different codes. A model has no answers.

    Args:
        first: the influence on the first estimate; its `items` are those of the second, in the same order.
        second: the influence on the second estimate.
    """
    sides = (first.times(-1), second)
    answers, unit, person, guess = (
        np.concatenate([getattr(side, name) for side in sides])
        for name in ("answers", "unit", "person", "guess")
    )
    alike = min(side.alike or len(side.items) for side in sides)
    return Influence(second.items - first.items, answers, unit, person, guess, alike)


class Crossed(NamedTuple):
    """An estimate with its uncertainty over items and annotators.

    Attributes:
        value: the estimate.
        people: the number of annotators; `None` if nobody answers.
        items_variance: the variance because of the choice of items.
        shared_variance: the additional variance because an annotator answers several items.
        guess_variance: the additional variance to the lower and to the upper end, if annotators might guess.
        worth: the number of right-or-wrong items with the same variance over items.
        freedom: the degrees of freedom of Student's quantile.
        bounds: the smallest and the largest possible value.
    """

    value: float
    people: int | None
    items_variance: float
    shared_variance: float
    guess_variance: tuple[float, float]
    worth: float
    freedom: float
    bounds: tuple[float, float]

    @property
    def undefined(self) -> bool:
        """Whether there are too few annotators, or one unit of items, for an interval or a test."""
        return self.freedom < 1 or (self.people is not None and self.people < LEAST_ANNOTATORS)

    def interval(self, level: float = 0.95) -> tuple[float, float] | None:
        """Return the ends of the interval; `None` with fewer than three annotators, or one item or cluster."""
        if self.undefined:
            return None
        t = student_quantile((1 + level) / 2, self.freedom)
        low, width = self._scale
        bottom, top = (min(max(self._end(t, side), 0.0), 1.0) for side in (0, 1))
        return low + width * bottom, low + width * top

    def p(self, at: float = 0.0) -> float:
        """Return the two-sided p-value of the hypothesis that the true value is `at`.

        It is below 1 - level exactly if `at` lies outside the interval of this level; 1 without an interval.
        """
        return min(1.0, 2 * student_above(abs(self._statistic(at)), self.freedom))

    def p_above(self, bound: float) -> float:
        """Return the one-sided p-value of the hypothesis that the true value is at most `bound`."""
        return student_above(self._statistic(bound), self.freedom)

    def p_within(self, margin: float) -> float:
        """Return the p-value of equivalence, that the true value is within -margin .. margin.

        References:
            D. Schuirmann (1987), A comparison of the two one-sided tests procedure and the power approach for assessing
            the equivalence of average bioavailability. J. Pharmacokinetics and Biopharmaceutics 15, 657-680.
        """
        return max(self.p_above(-margin), student_above(-self._statistic(margin), self.freedom))

    def estimate(self, name: str, n: int) -> Estimate:
        """Return the record of the estimate with its 95 % interval; `n` is the number of items behind it."""
        ends, reason = self.interval(), None
        if ends is None and self.people is not None and self.people < LEAST_ANNOTATORS:
            reason = (
                f"no interval: it takes at least {LEAST_ANNOTATORS} annotators, and {self.people} answered"
            )
        elif ends is None:
            reason = "no interval: it takes at least two items, or clusters of items"
        span = Span(*(round(end, 6) for end in ends)) if ends else None
        return Estimate(name=name, value=self.value, ci95=span, n=n, people=self.people, reason=reason)

    @property
    def _scale(self) -> tuple[float, float]:
        return self.bounds[0], self.bounds[1] - self.bounds[0]

    def _share(self, value: float) -> float:
        low, width = self._scale
        return min(max((value - low) / width, 0.0), 1.0)

    def _end(self, t: float, side: int) -> float:
        """Return the lower or upper end on the scale from 0 to 1 with the quantile t; it may lie outside.

        The distances of Wilson's end and of the assumed guessers add as squares. The guessers' variance is assumed, not
        estimated, so it has the normal quantile of the same probability.
        """
        p, width = self._share(self.value), self._scale[1]
        n = self.worth * self.items_variance / (self.items_variance + self.shared_variance)
        reach = wilson_form(p, n, t)[side] - p
        if assumed := self.guess_variance[side]:
            z = -NormalDist().inv_cdf(max(student_above(t, self.freedom), _LEAST))
            reach = hypot(reach, z * sqrt(assumed) / width)
        reach = abs(reach)
        return p + reach if side else p - reach

    def _statistic(self, at: float) -> float:
        """Return the quantile with which the interval ends at `at`, below 0 if `at` is above the value."""
        p, true = self._share(self.value), self._share(at)
        if self.undefined or p == true:
            return 0.0
        side, low, high = int(true > p), 0.0, 1.0
        while abs(self._end(high, side) - p) < abs(true - p):
            low, high = high, 2 * high
            if high > _FAR:
                return copysign(inf, p - true)
        for _ in range(60):
            middle = (low + high) / 2
            short = abs(self._end(middle, side) - p) < abs(true - p)
            low, high = (middle, high) if short else (low, middle)
        return copysign(high, p - true)


def crossed(value: float, influence: Influence, bounds: tuple[float, float] = (0.0, 1.0)) -> Crossed:
    """Compute the uncertainty of an estimate from the influences of its items and answers.

    With the influence u of each of I items (or clusters) and a of each answer, over P annotators:

        items      I / (I - 1) * sum of u^2, at least the square of one item (range / alike)
        shared     the products of a of two answers of one annotator to different items, summed, each less the
                   mean product of two annotators' answers to different items; at least 0
        guessers   q (1 - q) * sum over annotators of (change if they guessed)^2, with q = 1/2 / (P + 1/2);
                   for the lower end the changes down, for the upper end those up

    The degrees of freedom are Satterthwaite's for the sum of the first two, where annotators with unequal numbers of
    answers count as fewer; at most P - 1 and I - 1.

    Args:
        value: the estimate.
        influence: the influences, in units of the estimate.
        bounds: the smallest and the largest possible value: (0, 1), (-1, 1) of a correlation or a difference.

    References:
        A. C. Cameron, J. Gelbach, D. Miller (2011), Robust inference with multiway clustering. Journal of Business &
        Economic Statistics 29, 238-249 (sums by both ways, less the sum of their cells).
        F. Satterthwaite (1946), An approximate distribution of estimates of variance components. Biometrics 2, 110-114.
        E. B. Wilson (1927), Probable inference, the law of succession, and statistical inference. JASA 22, 209-212.
        E. Korn, B. Graubard (1998), Confidence intervals for proportions with small expected number of positive
        counts estimated from survey data. Survey Methodology 24, 193-201 (the effective number of items).

    Example:
        >>> right = np.repeat([1.0, 0.0], [80, 20])
        >>> low, high = crossed(0.8, of_mean(right)).interval()
        >>> round(low, 3), round(high, 3)
        (0.709, 0.868)
    """
    width, units = bounds[1] - bounds[0], max(len(influence.items), 1)
    alike = max(influence.alike or units, 1.0)
    own = float(influence.items @ influence.items) * units / max(units - 1, 1)
    floor = (width / alike) ** 2
    p = min(max((value - bounds[0]) / width, 0.0), 1.0)
    spread = p * (1 - p) * width**2
    worth = min(spread / own if own > 0 and spread > 0 else inf, max(spread / floor, alike))
    items = max(own, floor)
    if not len(influence.answers):
        return Crossed(value, None, items, 0.0, (0.0, 0.0), worth, units - 1, bounds)
    shared, people, effective = _shared(influence)
    doubt = items**2 / max(units - 1, 1) + shared**2 / max(effective - 1, 1)
    freedom = min(max((items + shared) ** 2 / doubt, 1), units - 1, people - 1)
    return Crossed(value, people, items, shared, _guessing(influence), worth, freedom, bounds)


def _shared(influence: Influence) -> tuple[float, int, float]:
    """Return the shared variance, the number of annotators, and how many of equal work they are worth."""
    answers, n = influence.answers, float(len(influence.answers))
    _, person, answered = np.unique(influence.person, return_inverse=True, return_counts=True)
    _, unit, asked = np.unique(influence.unit, return_inverse=True, return_counts=True)
    _, cell, both = np.unique(unit * len(answered) + person, return_inverse=True, return_counts=True)
    of_person, of_unit, of_cell = (
        float((np.bincount(code, answers) ** 2).sum()) for code in (person, unit, cell)
    )
    persons, units, cells = (
        float((count.astype(np.float64) ** 2).sum()) for count in (answered, asked, both)
    )
    others = n * n - persons - units + cells
    apart = (answers.sum() ** 2 - of_person - of_unit + of_cell) / others if others > 0 else 0.0
    shared = of_person - of_cell - apart * (persons - cells)
    return max(shared, 0.0), len(answered), persons**2 / float((answered.astype(np.float64) ** 4).sum())


def _guessing(influence: Influence) -> tuple[float, float]:
    """Return the variance to the lower and to the upper end if each annotator might be one who guesses."""
    _, person = np.unique(influence.person, return_inverse=True)
    change = np.bincount(person, influence.guess)
    q = GUESSERS / (len(change) + GUESSERS)
    down, up = np.minimum(change, 0.0), np.maximum(change, 0.0)
    return q * (1 - q) * float(down @ down), q * (1 - q) * float(up @ up)


def wilson_form(p: float, n: float, t: float) -> tuple[float, float]:
    """Compute the ends of Wilson's interval from a proportion, an effective number of items and a quantile.

    Unlike p ± t * s it stays inside [0, 1] and does not shrink to a point at 0 or 1.

    Args:
        p: the proportion, in [0, 1].
        n: the effective number of items scored 0 or 1, above 0, not necessarily whole.
        t: the quantile of the normal distribution or of Student's t.

    Example:
        >>> [round(bound, 3) for bound in wilson_form(1.0, 100, 1.96)]
        [0.963, 1.0]
    """
    centre = p + t * t / (2 * n)
    spread = t * sqrt(p * (1 - p) / n + t * t / (4 * n * n))
    scale = 1 + t * t / n
    # At p = 0 and p = 1 the end is exactly 0 or 1; floating point would give 1e-17 or 0.9999999999999999.
    low = 0.0 if p == 0 else max(0.0, (centre - spread) / scale)
    return low, 1.0 if p == 1 else min(1.0, (centre + spread) / scale)


def student_above(statistic: float, freedom: float) -> float:
    """Compute the probability that a variable with Student's t distribution is above `statistic`.

    By the finite series for whole degrees of freedom, which spares the import of SciPy.

    Args:
        statistic: the statistic; may be infinite.
        freedom: degrees of freedom, at least 1, rounded down to a whole number; above 2,000 the normal distribution.

    References:
        M. Abramowitz, I. Stegun (1964), Handbook of mathematical functions, 26.7.3 and 26.7.4.

    Example:
        >>> round(student_above(2.776, 4), 3)
        0.025
    """
    if isinf(statistic):
        return 0.0 if statistic > 0 else 1.0
    if freedom > _NORMAL:
        return erfc(statistic / sqrt(2)) / 2
    n = max(int(freedom), 1)
    angle = atan(statistic / sqrt(n))
    square = cos(angle) ** 2
    odd = n % 2
    term, total = (cos(angle), 0.0) if odd else (1.0, 0.0)
    for step in range(2 if odd else 1, n, 2):
        total += term
        term *= square * step / (step + 1)
    inside = 2 / pi * (angle + sin(angle) * total) if odd else sin(angle) * total
    return min(max((1 - inside) / 2, 0.0), 1.0)


def student_quantile(probability: float, freedom: float) -> float:
    """Compute a quantile of Student's t distribution, by bisection of `student_above`.

    Args:
        probability: in (0.5, 1).
        freedom: degrees of freedom, as in `student_above`.

    Example:
        >>> round(student_quantile(0.975, 4), 3), round(student_quantile(0.975, 100_000), 3)
        (2.776, 1.96)
    """
    return _student_quantile(probability, int(freedom))


@lru_cache
def _student_quantile(probability: float, freedom: int) -> float:
    if freedom > _NORMAL:
        return NormalDist().inv_cdf(probability)
    low, high = 0.0, 1.0
    while student_above(high, freedom) > 1 - probability:
        low, high = high, high * 2
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if student_above(middle, freedom) > 1 - probability else (low, middle)
    return high


def holm(p_values: Sequence[float]) -> list[float]:
    """Adjust p-values for the number of comparisons by Holm's method.

    The smallest p-value is multiplied by the number of comparisons m, the next by m - 1, and so on. An adjusted p-value
    is never smaller than the one before it.

    References:
        S. Holm (1979), A simple sequentially rejective multiple test procedure.

    Example:
        >>> [round(p, 3) for p in holm([0.01, 0.04, 0.03])]
        [0.03, 0.06, 0.06]
    """
    order = sorted(range(len(p_values)), key=lambda place: p_values[place])
    corrected, least = [0.0] * len(p_values), 0.0
    for rank, place in enumerate(order):
        least = max(least, min(1.0, (len(p_values) - rank) * p_values[place]))
        corrected[place] = least
    return corrected
