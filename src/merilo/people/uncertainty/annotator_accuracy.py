"""The accuracy of individual annotators, as opposed to the accuracy of their consensus, and its variance components.

A consensus of five annotators is usually better than most of the five. A model that answers each item once should be
compared with the accuracy of a single annotator and its spread, not with the consensus.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from typing import Final

import numpy as np
from numpy.typing import NDArray

from merilo.errors import DataError
from merilo.people.votes import IntArray, Votes
from merilo.statistics import FloatArray
from merilo.statistics.crossed_difference import (
    CrossedDifference,
    SharedPart,
    crossed_difference,
    skewed_quantile,
)
from merilo.statistics.intervals import (
    ONE_CLUSTER,
    Interval,
    chi_squared_quantile,
    cluster_count,
    cluster_design_effect,
    exact_interval,
    limited_freedom,
    student_quantile,
    wilson_form,
)

#: A variance of scores below this is the rounding error of one that is 0.
ROUNDING: Final = 1e-9
#: How many annotators who guess are assumed in addition to those of the study.
GUESSERS: Final = 0.5
#: The same for a test about single persons, whose interval is not skewed as Wilson's is. From 1.5 on, false
#: verdicts stay at 3.5 % in each direction (`benchmarks/bad_crowds.py`).
GUESSERS_TESTED: Final = 2.0


@dataclass(frozen=True, slots=True)
class GuessingVariance:
    """The variance of an estimate if some of its annotators might have guessed.

    Attributes:
        below: the variance caused by annotators whose guessing would lower the estimate.
        above: the variance caused by annotators whose guessing would raise the estimate.
    """

    below: float
    above: float


def guessing_variance(
    annotator: IntArray | NDArray[np.intp],
    change: FloatArray,
    annotators: int,
    *,
    guessers: float = GUESSERS,
) -> GuessingVariance:
    """Compute the variance of an estimate if each annotator were one who guesses with a small probability.

    With P annotators the probability is q = G / (P + G): G annotators who guess are added to those of the study,
    by default half a one. If guessing changes the estimate by g_j for annotator j, the variance is q (1 - q) times the
    sum of g_j².

    Args:
        annotator: shape (n,), the annotator's code of each answer.
        change: shape (n,), the change of the estimate if the answer were a random label.
        annotators: the number of codes.
        guessers: how many annotators who guess are added.

    References:
        H. Jeffreys (1946), An invariant form for the prior probability in estimation problems. Proceedings of the Royal
        Society A 186, 453-461 (observations are added to each outcome).

    Example:
        >>> found = guessing_variance(np.arange(3), np.array([-0.1, -0.1, 0.0]), 3)
        >>> round(found.below, 6), found.above
        (0.002449, 0.0)
    """
    present = np.bincount(annotator, minlength=annotators) > 0
    changes = np.bincount(annotator, weights=change, minlength=annotators)[present]
    q = guessers / (changes.shape[0] + guessers)
    below, above = np.minimum(changes, 0.0), np.maximum(changes, 0.0)
    return GuessingVariance(q * (1 - q) * float(below @ below), q * (1 - q) * float(above @ above))


def clear_third_cumulant(sums: FloatArray) -> float:
    """Compute the third cumulant of a sum over annotators; 0 unless their contributions are clearly skewed.

    In a crowd of equals the skewness of P contributions is chance with the standard deviation √(6 / P); to follow it
    would make every interval wider. It is clear beyond two of these.

    Args:
        sums: shape (annotators,), the contribution of each; 0 for those without answers.

    Example:
        >>> round(clear_third_cumulant(np.array([0.1] * 20 + [-1.0])), 2)
        -0.98
        >>> clear_third_cumulant(np.array([-0.2, 0.1, 0.1]))
        0.0
    """
    present = sums[sums != 0]
    spread = float((present**2).mean()) if present.size else 0.0
    skewness = float((present**3).mean()) / spread**1.5 if spread > 0 else 0.0
    return float((sums**3).sum()) if abs(skewness) > 2 * np.sqrt(6 / max(present.size, 1)) else 0.0


def skewed_wilson(p: float, effective: float, quantile: float, skewness: float) -> tuple[float, float]:
    """Compute Wilson's interval with each quantile corrected for the skewness that annotators cause.

    Args:
        p: the proportion, in [0, 1].
        effective: the effective number of items.
        quantile: the quantile of the statistic if it were not skewed.
        skewness: the skewness of the estimate, below 0 if a few annotators are much worse than the others.

    References:
        P. Hall (1992), On the removal of skewness by transformation. J. Royal Statistical Society B 54, 221-228.
    """
    low, high = (wilson_form(p, effective, skewed_quantile(quantile, side * skewness)) for side in (-1, 1))
    return float(low[0]), float(high[1])


def widened(
    bounds: tuple[float, float],
    guessing: GuessingVariance,
    p: float,
    effective: float,
    *,
    variances: tuple[float, float, float],
    level: float,
) -> tuple[float, float]:
    """Move the bounds outwards by the variance that annotators who guess would add to that of the study's annotators.

    The variance assumed for guessing is not estimated, so it does not reduce the degrees of freedom.

    Args:
        bounds: the interval of a proportion, in [0, 1].
        guessing: the variance if annotators guess.
        p: the proportion, in [0, 1].
        effective: the effective number of items without shared annotators.
        variances: the variance from items, the additional variance because items share annotators, and the
            denominator of Satterthwaite's formula.
        level: the nominal coverage, in (0, 1).
    """
    from_items, shared, doubt = variances
    moved = []
    for side, assumed in enumerate((guessing.below, guessing.above)):
        both = from_items + assumed + shared
        t = student_quantile((1 + level) / 2, max(both**2 / doubt, 1.0))
        moved.append(wilson_form(p, effective * from_items / both, t)[side])
    return min(bounds[0], moved[0]), max(bounds[1], moved[1])


@dataclass(frozen=True, slots=True)
class Components:
    """The variance components of answers' scores.

    Attributes:
        person: the variance between annotators.
        item: the variance between items; within clusters, if items form clusters.
        rest: the residual variance.
        cluster: the variance between clusters of items; 0 if items are independent.
        cell: the variance between the combinations of an annotator and a cluster.
    """

    person: float
    item: float
    rest: float
    cluster: float = 0.0
    cell: float = 0.0


def components(votes: Votes, score: FloatArray) -> Components:
    """Estimate the variance components of annotators and items from products of pairs of answers.

    There are three kinds of pairs of answers: by one annotator to different items, by different annotators to one item,
    and by different annotators to different items. The mean product of the first or the second kind, minus that of the
    third, estimates the variance between annotators or items. Each pair counts once, so the estimates allow unequal
    numbers of answers.

    If items form clusters, the kinds of pairs are: one annotator or two; to one item, to two items of one
    cluster, or to items of two clusters. Their mean products give the variances between annotators, clusters,
    items within clusters, and combinations of an annotator and a cluster.

    Args:
        votes: the answers.
        score: shape (n,), the score of each answer.

    References:
        S. Searle, G. Casella, C. McCulloch (1992), Variance components, chapter 5 (unbalanced data).
    """
    if votes.cluster is not None:
        return _clustered_components(votes, score)
    n = len(votes)
    centred = score - score.mean()
    answered = np.bincount(votes.annotator, minlength=votes.annotators).astype(np.float64)
    overlap = np.bincount(votes.item, minlength=votes.items).astype(np.float64)
    of_person = np.bincount(votes.annotator, weights=centred, minlength=votes.annotators)
    of_item = np.bincount(votes.item, weights=centred, minlength=votes.items)
    squares = float(centred @ centred)
    by_person, by_item = float(of_person @ of_person), float(of_item @ of_item)
    persons_pairs, items_pairs = float(answered @ answered) - n, float(overlap @ overlap) - n
    others = float(n * n) - persons_pairs - items_pairs - n
    apart = (squares - by_person - by_item) / others if others > 0 else 0.0
    person = max((by_person - squares) / persons_pairs - apart, 0.0) if persons_pairs > 0 else 0.0
    item = max((by_item - squares) / items_pairs - apart, 0.0) if items_pairs > 0 else 0.0
    return Components(person, item, max(squares / n - apart - person - item, 0.0))


def person_effects(votes: Votes, parts: Components) -> FloatArray:
    """Compute the design effect of each annotator's mean score: 1 + (mean cluster size - 1) * correlation in a cluster.

    The mean size of the annotator's clusters is weighted by size.

    References:
        L. Kish (1965), Survey sampling, section 5.4.
    """
    total = parts.item + parts.rest + parts.cluster + parts.cell
    if votes.cluster is None or total <= 0:
        return np.ones(votes.annotators)
    cell = np.unique(votes.annotator * np.int64(votes.items) + votes.unit, return_counts=True)
    of_person, size = cell[0] // max(votes.items, 1), cell[1].astype(np.float64)
    answered = np.maximum(np.bincount(votes.annotator, minlength=votes.annotators), 1)
    mean_size = np.bincount(of_person, weights=size**2, minlength=votes.annotators) / answered
    correlation = (parts.cluster + parts.cell) / total
    return np.asarray(1 + np.maximum(mean_size - 1, 0.0) * correlation)


def _clustered_components(votes: Votes, score: FloatArray) -> Components:
    """Estimate the variance components as `components` describes, if items form clusters."""
    n = float(len(votes))
    centred = score - score.mean()

    def products(codes: NDArray[np.int32]) -> tuple[float, float]:
        """Return the sum of products of pairs with one code, and the number of such pairs."""
        sums, sizes = np.bincount(codes, weights=centred), np.bincount(codes).astype(np.float64)
        return float(sums @ sums), float(sizes @ sizes)

    def mean(total: float, pairs: float) -> float | None:
        return total / pairs if pairs > 0 else None

    (by_person, persons), (by_item, items) = products(votes.annotator), products(votes.item)
    by_cluster, clusters = products(votes.unit)
    sums, sizes = votes.cell_sums(centred)
    by_cell, cells, squares = float(sums @ sums), float(sizes @ sizes), float(centred @ centred)
    apart = mean(by_cell - by_person - by_cluster, n * n - persons - clusters + cells) or 0.0
    one_person = mean(by_person - by_cell, persons - cells)
    within = mean(by_cell - squares, cells - n)
    one_item = mean(by_item - squares, items - n)
    one_cluster = mean(by_cluster - by_item - by_cell + squares, clusters - items - cells + n)
    person = max((apart if one_person is None else one_person) - apart, 0.0)
    cluster = max((apart if one_cluster is None else one_cluster) - apart, 0.0)
    item = max((apart + cluster if one_item is None else one_item) - apart - cluster, 0.0)
    cell = max((0.0 if within is None else within - apart) - person - cluster, 0.0)
    rest = max(squares / n - apart - person - cluster - item - cell, 0.0)
    return Components(person, item, rest, cluster, cell)


def clustered_variance(votes: Votes, each: FloatArray, parts: Components) -> float:
    """Compute the variance of a weighted mean because of clusters and of annotators in clusters.

    0 if items are independent.

    Args:
        votes: the answers.
        each: shape (n,), the weights.
        parts: the variance components of the averaged scores.
    """
    if votes.cluster is None:
        return 0.0
    of_cluster, (of_cell, _) = np.bincount(votes.unit, weights=each), votes.cell_sums(each)
    return parts.cluster * float(of_cluster @ of_cluster) + parts.cell * float(of_cell @ of_cell)


def cluster_effect_of(votes: Votes, deviations: FloatArray) -> tuple[int | None, float]:
    """Compute the number of clusters of the items with votes, and the design effect of a mean over these items.

    Args:
        votes: the answers.
        deviations: as for `cluster_design_effect`, of the items with votes.

    Returns:
        The number, `None` if items are independent; and the design effect, then 1.

    Raises:
        DataError: all items belong to one cluster.
    """
    if votes.cluster is None:
        return None, 1.0
    codes = votes.cluster[np.unique(votes.item)]
    clusters = cluster_count(codes)
    if clusters == codes.shape[0]:
        return None, 1.0
    if clusters == 1:
        raise DataError(ONE_CLUSTER)
    return clusters, cluster_design_effect(deviations, codes)


#: Annotators with fewer answers are not considered for best, worst and quantiles.
MIN_ANSWERS: Final = 10


@dataclass(frozen=True, slots=True)
class Person:
    """The estimated accuracy of one annotator.

    Attributes:
        annotator: the annotator's code.
        n: the number of items with gold answers that they answered.
        value: the mean score of their answers.
        shrunk: the value shrunk towards the mean of all annotators, in proportion to its sampling error.
        deviation: the standard deviation of their scores; `None` if all scores are 0 or 1.
        among: the number of annotators from whom this one may have been selected as best or worst.
        level: the nominal coverage of the intervals.
        bounds: the smallest and the largest possible value of the metric.
        design_effect: the factor by which the variance of the value grows because items of one cluster depend on each
            other; 1 if items are independent.
    """

    annotator: int
    n: int
    value: float
    shrunk: float
    deviation: float | None
    among: int
    level: float = 0.95
    bounds: tuple[float, float] = (0.0, 1.0)
    design_effect: float = 1.0

    @property
    def interval(self) -> Interval:
        """The interval of this annotator alone: Clopper-Pearson for scores of 0 and 1, Student's for other scores.

        If items form clusters, the number of items is divided by the design effect.

        References:
            E. Korn, B. Graubard (1998), Confidence intervals for proportions with small expected number of positive
            counts estimated from survey data. Survey Methodology 24, 193-201.
        """
        return self._interval(self.level)

    @property
    def simultaneous(self) -> Interval:
        """The interval with simultaneous coverage of all annotators (Šidák), valid for the best and the worst too."""
        return self._interval(self.level ** (1 / self.among))

    def _interval(self, level: float) -> Interval:
        if self.deviation is None:
            effect = self.design_effect
            return exact_interval(round(self.value * self.n) / effect, self.n / effect, level)
        deviation = self.deviation * sqrt(self.design_effect)
        return _student(self.value, deviation, self.n, level, self.bounds)


@dataclass(frozen=True, slots=True)
class Individuals:
    """The accuracy of single annotators and its distribution.

    Attributes:
        mean: the expected metric if one answer is drawn at random for every item.
        interval: the interval of the mean, over annotators and items together.
        spread: the standard deviation of true accuracy between annotators, with the sampling error removed.
        spread_interval: the interval of the spread.
        annotators: the number of annotators who answered.
        answers: the number of their answers.
        items: the number of items that they answered.
        min_answers: the smallest number of answers with which an annotator is included in `people`.
        people: the annotators with at least `min_answers` answers, from the lowest to the highest value.
    """

    mean: float
    interval: Interval
    spread: float
    spread_interval: Interval
    annotators: int
    answers: int
    items: int
    min_answers: int
    people: tuple[Person, ...]

    @property
    def best(self) -> Person | None:
        """The annotator with the highest value; of several, the one with the most answers."""
        return self.people[-1] if self.people else None

    @property
    def worst(self) -> Person | None:
        """The annotator with the lowest value; of several, the one with the most answers."""
        return min(self.people, key=lambda person: (person.value, -person.n)) if self.people else None


def individuals(
    votes: Votes,
    score: FloatArray,
    *,
    own: FloatArray | None = None,
    bounds: tuple[float, float] = (0.0, 1.0),
    min_answers: int = MIN_ANSWERS,
    level: float = 0.95,
) -> Individuals:
    """Estimate the accuracy of single annotators, who may have answered different numbers of items.

    The mean is the expected metric if one answer is drawn at random for every item: all items have equal
    weight, divided equally among their answers. It is the estimate to compare with a model that answers every
    item once. Its variance is the sum of the contributions of annotators, items (and their clusters) and
    residuals (`components`). Its interval is Wilson's with the effective number of items that this variance
    implies, and with Student's quantile.

    Args:
        votes: the answers.
        score: shape (n,), the score of each answer alone; for macro F1 and correlations its influence, the mean of
            which is the metric (`merilo.metrics.worth`).
        own: shape (n,), the contribution of each answer to the metric of its own annotator; `score` by default.
        bounds: the smallest and the largest possible value of the metric.
        min_answers: annotators with fewer answers are not considered for best and worst.
        level: the nominal coverage, in (0, 1).

    Returns:
        The mean, the spread between annotators, and the annotators with enough answers.

    Raises:
        DataError: there are no answers.

    References:
        S. Searle, G. Casella, C. McCulloch (1992), Variance components, chapter 5 (unbalanced data).
        Z. Šidák (1967), Rectangular confidence regions for the means of multivariate normal distributions.

    Example:
        >>> item, annotator = np.divmod(np.arange(200), 5)
        >>> votes = Votes(item.astype(np.int32), annotator.astype(np.int32), np.zeros(200, np.int32), 40, 5, 1)
        >>> result = individuals(votes, (np.arange(200) % 4 > 0).astype(float))
        >>> round(result.mean, 9), result.annotators, result.best.n
        (0.75, 5, 40)
    """
    if not len(votes):
        raise DataError(
            "no answer is to an item with a gold answer: the accuracy of single annotators is not defined"
        )
    parts = components(votes, score)
    each = drawn_answer(votes)
    mean = float(each @ score)
    spread, spread_interval = _spread(votes, score, parts, level)
    return Individuals(
        mean,
        _mean_interval(votes, each, score, parts, bounds=bounds, level=level),
        spread,
        spread_interval,
        int(np.unique(votes.annotator).shape[0]),
        len(votes),
        int(np.unique(votes.item).shape[0]),
        min_answers,
        _people(
            votes,
            score if own is None else own,
            mean,
            parts,
            bounds=bounds,
            min_answers=min_answers,
            level=level,
        ),
    )


def drawn_answer(votes: Votes) -> FloatArray:
    """Compute the weight of each answer if one is drawn for every item, shape (n,).

    The weights sum to 1, and the answers to one item have equal weights.
    """
    overlap = np.bincount(votes.item, minlength=votes.items)
    items = max(int((overlap > 0).sum()), 1)
    return np.asarray(1.0 / (overlap[votes.item] * items))


def mean_variance(votes: Votes, each: FloatArray, parts: Components) -> tuple[float, float]:
    """Compute the variance of a weighted mean over annotators and items, and its degrees of freedom.

    With few annotators the variance between them is estimated poorly and dominates the degrees of freedom.

    Args:
        votes: the answers.
        each: shape (n,), the weights, which sum to 1.
        parts: the variance components of the averaged scores.

    References:
        F. Satterthwaite (1946), An approximate distribution of estimates of variance components. Biometrics 2, 110-114.
    """
    of_person = np.bincount(votes.annotator, weights=each, minlength=votes.annotators)
    of_item = np.bincount(votes.item, weights=each, minlength=votes.items)
    answered = np.bincount(votes.annotator, minlength=votes.annotators)
    people, items = 1 / float(of_person @ of_person), int((of_item > 0).sum())
    by_person = parts.person * float(of_person @ of_person)
    by_item = parts.item * float(of_item @ of_item)
    by_rest = parts.rest * float(each @ each)
    variance = by_person + by_item + by_rest
    present = answered > 0
    noise = parts.rest * float((of_person[present] ** 2 / answered[present]).sum())
    if votes.cluster is not None:
        of_cluster = np.bincount(votes.unit, weights=each)
        of_cell, _ = votes.cell_sums(each)
        items = int((of_cluster > 0).sum())
        by_item += parts.cluster * float(of_cluster @ of_cluster)
        by_cell = parts.cell * float(of_cell @ of_cell)
        variance = by_person + by_item + by_rest + by_cell
        noise += by_cell
    doubt = (by_person + noise) ** 2 / max(people - 1, 1) + by_item**2 / max(items - 1, 1)
    return variance, variance**2 / doubt if doubt > 0 else float(len(votes))


def _mean_interval(
    votes: Votes,
    each: FloatArray,
    score: FloatArray,
    parts: Components,
    *,
    bounds: tuple[float, float],
    level: float,
) -> Interval:
    """Compute the interval of a weighted mean of answers' scores, with an allowance for annotators who guess."""
    mean = float(each @ score)
    low, width = bounds[0], bounds[1] - bounds[0]
    variance, freedom = mean_variance(votes, each, parts)
    p = min(max((mean - low) / width, 0.0), 1.0)
    items = float(np.unique(votes.item).shape[0])
    effective = p * (1 - p) * width**2 / variance if variance > 0 and 0 < p < 1 else items
    method = "variance components of people and items (Wilson's form)"
    freedom = limited_freedom(freedom, int(np.unique(votes.annotator).shape[0]))
    of_person = np.bincount(votes.annotator, weights=each, minlength=votes.annotators)
    sums = np.bincount(votes.annotator, weights=each * (score - mean), minlength=votes.annotators)
    third = clear_third_cumulant(sums.astype(np.float64)) if parts.person > ROUNDING else 0.0
    skewness = third / variance**1.5 if variance > 0 else 0.0
    shared = parts.person * float(of_person @ of_person) / width**2
    alone = max(variance / width**2 - shared, 1 / items**2)
    bottom, top = widened(
        skewed_wilson(p, effective, student_quantile((1 + level) / 2, max(freedom, 1.0)), skewness),
        guessing_variance(
            votes.annotator, each * change_by_guessing(votes, score, bounds) / width, votes.annotators
        ),
        p,
        effective * max(variance / width**2, alone) / alone if variance > 0 else items,
        variances=(alone, shared, (variance / width**2) ** 2 / freedom if variance > 0 else alone**2 / items),
        level=level,
    )
    return Interval(low + width * bottom, low + width * top, level, method)


def change_by_guessing(votes: Votes, score: FloatArray, bounds: tuple[float, float]) -> FloatArray:
    """Return the change of each answer's score if a random label took its place, shape (n,).

    One of the labels that were given gets the largest score on an item, and the others the smallest.
    """
    low, high = bounds
    random: FloatArray = low + (high - low) / max(np.unique(votes.label).shape[0], 1) - score
    return random


def _people(
    votes: Votes,
    score: FloatArray,
    mean: float,
    parts: Components,
    *,
    bounds: tuple[float, float],
    min_answers: int,
    level: float,
) -> tuple[Person, ...]:
    """Estimate the accuracy of the annotators with enough answers, sorted from the lowest to the highest."""
    answered = np.bincount(votes.annotator, minlength=votes.annotators)
    sums = np.bincount(votes.annotator, weights=score, minlength=votes.annotators)
    squares = np.bincount(votes.annotator, weights=score**2, minlength=votes.annotators)
    chosen = np.flatnonzero(answered >= max(min_answers, 1))
    binary = bool(np.isin(score, (0.0, 1.0)).all())
    effects = person_effects(votes, parts)
    people = []
    for code in chosen.tolist():
        n = int(answered[code])
        value = float(sums[code]) / n
        deviation = (
            None if binary else sqrt(max(float(squares[code]) / n - value**2, 0.0) * n / max(n - 1, 1))
        )
        effect = float(effects[code])
        chance = (parts.item + parts.rest + parts.cluster + parts.cell) * effect
        pull = parts.person / (parts.person + chance / n) if parts.person > 0 else 0.0
        shrunk = mean + pull * (value - mean)
        people.append(Person(code, n, value, shrunk, deviation, chosen.shape[0], level, bounds, effect))
    return tuple(sorted(people, key=lambda person: (person.value, person.n, -person.annotator)))


def _spread(votes: Votes, score: FloatArray, parts: Components, level: float) -> tuple[float, Interval]:
    """Estimate the standard deviation between annotators, without sampling error, and its chi-squared interval.

    The degrees of freedom are reduced if the annotators' accuracies have heavier tails than the normal distribution.
    """
    answered = np.bincount(votes.annotator, minlength=votes.annotators).astype(np.float64)
    sums = np.bincount(votes.annotator, weights=score, minlength=votes.annotators)[answered > 0]
    n = answered[answered > 0]
    effects = person_effects(votes, parts)[answered > 0]
    chance = (parts.item + parts.rest + parts.cluster + parts.cell) * effects
    by_chance = float(n @ chance) / float(n @ n)
    variances = n * n * parts.person + n * chance
    total = float(variances.sum())
    people = total**2 / float(variances @ variances) if total > 0 else float(n.shape[0])
    method = "chi squared over people (less chance)"
    spread = sqrt(parts.person)
    if people <= 1.5:
        return spread, Interval(0.0, 0.5, level, method)
    freedom = 2 / (2 / (people - 1) + _excess(sums / n) / people)
    both = parts.person + by_chance
    low, high = (
        sqrt(max(both * freedom / chi_squared_quantile(at, freedom) - by_chance, 0.0))
        for at in ((1 + level) / 2, (1 - level) / 2)
    )
    # The standard deviation of values in [0, 1] is at most 0.5.
    return spread, Interval(min(low, spread), min(max(high, spread), 0.5), level, method)


def _excess(values: FloatArray) -> float:
    """Compute the excess kurtosis; negative values become 0."""
    centred = values - values.mean()
    second = float((centred**2).mean())
    return max(float((centred**4).mean()) / second**2 - 3, 0.0) if second > 1e-12 else 0.0


def _student(value: float, deviation: float, n: int, level: float, bounds: tuple[float, float]) -> Interval:
    """Compute Student's interval of a mean, clipped to the bounds; with a single answer it is the whole range."""
    low, high = bounds
    if n < 2:
        return Interval(low, high, level, "Student")
    reach = student_quantile((1 + level) / 2, n - 1) * deviation / sqrt(n)
    return Interval(max(low, value - reach), min(high, value + reach), level, "Student")


def answer_difference(votes: Votes, people: FloatArray, model: FloatArray) -> CrossedDifference:
    """Compute the difference of single answers, model minus people, with the variance components of its answers.

    On each item the mean score of the annotators is compared with the mean score of the model's samples. The variance
    between annotators is the part that more items do not remove.

    Args:
        votes: the answers.
        people: shape (n,), the score of each answer.
        model: shape (items,), the model's score of each item.

    References:
        F. Satterthwaite (1946), An approximate distribution of estimates of variance components. Biometrics 2, 110-114.
        S. Searle, G. Casella, C. McCulloch (1992), Variance components, chapter 5 (unbalanced data).

    Example:
        >>> item, annotator = np.divmod(np.arange(200), 5)
        >>> votes = Votes(item.astype(np.int32), annotator.astype(np.int32), np.zeros(200, np.int32), 40, 5, 1)
        >>> found = answer_difference(votes, (np.arange(200) % 4 > 0).astype(float), np.ones(40))
        >>> found.value, found.n, found.annotators
        (0.25, 40, 5)
    """
    parts, each = components(votes, model[votes.item] - people), drawn_answer(votes)
    answered = np.bincount(votes.annotator, minlength=votes.annotators)
    overlap = np.bincount(votes.item, minlength=votes.items)
    of_person = np.bincount(votes.annotator, weights=each, minlength=votes.annotators)[answered > 0]
    asked = overlap > 0
    concentration = float(of_person @ of_person)
    shared = parts.person * concentration
    # Chance in the annotators' means, from which the variance between annotators is estimated.
    noise = parts.rest * float((of_person**2 / answered[answered > 0]).sum())
    if votes.cluster is not None:
        of_cell, _ = votes.cell_sums(each)
        noise += parts.cell * float(of_cell @ of_cell)
    apart = model[votes.item] - people
    sums = np.bincount(votes.annotator, weights=each * (apart - float(each @ apart)))
    of_item = np.bincount(votes.item, weights=people, minlength=votes.items)[asked] / overlap[asked]
    # Points of single answers are between 0 and 1; who guesses lowers the people's score and raises the difference.
    change = -each * change_by_guessing(votes, people, (0.0, 1.0))
    guessing = guessing_variance(votes.annotator, change, votes.annotators, guessers=GUESSERS_TESTED)
    part = SharedPart(
        shared,
        (shared + noise) ** 2 / max(1 / concentration - 1, 1),
        float((sums**3).sum()) if shared > 0 else 0.0,
        of_person.shape[0],
        guessing.below,
        guessing.above,
    )
    from_items = parts.item / of_item.shape[0] + parts.rest * float(each @ each)
    from_items += clustered_variance(votes, each, parts)
    clusters = None if votes.cluster is None else votes.cluster[asked]
    return crossed_difference(of_item, model[asked], part, item_variance=from_items, clusters=clusters)
