"""The single person: how well one annotator answers alone, which is another figure than the consensus of many.

A consensus of five is better than most of the five. To set a model's one answer beside it compares a person with a
committee; the figure that belongs beside one answer of a model is the single person's, with its spread.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt
from typing import Final

import numpy as np

from merilo.errors import DataError
from merilo.people.votes import Votes
from merilo.statistics.arrays import FloatArray
from merilo.statistics.distributions import chi_squared_quantile, student_quantile
from merilo.statistics.intervals import Interval, exact_interval, wilson_form

#: With fewer answers a person is nobody's best or worst.
MIN_ANSWERS: Final = 10


@dataclass(frozen=True, slots=True)
class Person:
    """One annotator's figure.

    Attributes:
        annotator: the annotator's code.
        n: how many items they answered that have gold.
        value: the mean score of their answers.
        shrunk: the value drawn towards the mean of all as far as chance explains the distance.
        deviation: the standard deviation of their scores; `None` where each is 0 or 1.
        among: from how many people this one may have been chosen.
        level: the nominal coverage of the intervals.
        bounds: between which the metric lies.
    """

    annotator: int
    n: int
    value: float
    shrunk: float
    deviation: float | None
    among: int
    level: float = 0.95
    bounds: tuple[float, float] = (0.0, 1.0)

    @property
    def interval(self) -> Interval:
        """Of this person by themselves: exact for right and wrong answers, Student's for other scores."""
        return self._interval(self.level)

    @property
    def simultaneous(self) -> Interval:
        """Wide enough to hold for all people at once, and so for whoever was chosen as best or worst."""
        return self._interval(self.level ** (1 / self.among))

    def _interval(self, level: float) -> Interval:
        if self.deviation is None:
            return exact_interval(round(self.value * self.n), self.n, level)
        return _student(self.value, self.deviation, self.n, level, self.bounds)


@dataclass(frozen=True, slots=True)
class Individuals:
    """What single people reach.

    Attributes:
        mean: the metric of one answer drawn at random from those that an item got, on every item.
        interval: of the mean, over people and items together.
        spread: the standard deviation between people's true figures; what chance adds to it is taken out.
        spread_interval: of the spread.
        annotators: how many people answered.
        answers: how many answers they gave.
        items: how many items they answered.
        min_answers: how many answers the best, the worst and the quantiles ask of a person.
        people: who has as many, by value from the worst to the best.
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
        """The person with the highest value, of equals the one with most answers."""
        return self.people[-1] if self.people else None

    @property
    def worst(self) -> Person | None:
        """The person with the lowest value, of equals the one with most answers."""
        return min(self.people, key=lambda person: (person.value, -person.n)) if self.people else None


@dataclass(frozen=True, slots=True)
class Components:
    """Where the differences between answers come from, as variances.

    Attributes:
        person: between people.
        item: between items.
        rest: what neither explains.
    """

    person: float
    item: float
    rest: float


def individuals(
    votes: Votes,
    score: FloatArray,
    *,
    own: FloatArray | None = None,
    bounds: tuple[float, float] = (0.0, 1.0),
    min_answers: int = MIN_ANSWERS,
    level: float = 0.95,
) -> Individuals:
    """What single people reach, however unequally many items each of them answered.

    The mean is that of one answer drawn at random for every item: each item counts once, and its answers share it. It is
    the number to set beside a model that answers every item once. Its variance adds what people, items and the rest
    contribute (`components`); its interval is Wilson's with as many items as this variance is worth, and Student's quantile.

    Args:
        votes: the answers.
        score: shape (n,), what each answer scores by itself; for macro F1 and correlations its influence, the mean of
            which is the metric (`merilo.metrics.worth`).
        own: shape (n,), what each answer adds to the metric of its own annotator; `score` when not given.
        bounds: between which the metric lies.
        min_answers: with fewer answers nobody is named best or worst.
        level: the nominal coverage, in (0, 1).

    Returns:
        The mean, the spread between people, and everybody with enough answers.

    Raises:
        DataError: there are no answers.

    References:
        S. Searle, G. Casella, C. McCulloch (1992), Variance components, chapter 5 (unbalanced data).
        Z. Šidák (1967), Rectangular confidence regions for the means of multivariate normal distributions.

    Example:
        >>> item, annotator = np.divmod(np.arange(200), 5)
        >>> votes = Votes(item.astype(np.int32), annotator.astype(np.int32), np.zeros(200, np.int32), 40, 5, 1)
        >>> result = individuals(votes, (np.arange(200) % 4 > 0).astype(float))
        >>> result.mean, result.annotators, result.best.n
        (0.75, 5, 40)
    """
    if not len(votes):
        raise DataError("there are no answers with gold: single people have no figure")
    parts = components(votes, score)
    each = drawn_answer(votes)
    mean = float(each @ score)
    spread, spread_interval = _spread(votes, score, parts, level)
    return Individuals(
        mean,
        _mean_interval(votes, each, mean, parts, bounds=bounds, level=level),
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
    """The weight of each answer, shape (n,), when one is drawn for every item: they sum to 1, those of an item alike."""
    overlap = np.bincount(votes.item, minlength=votes.items)
    items = max(int((overlap > 0).sum()), 1)
    return np.asarray(1.0 / (overlap[votes.item] * items))


def mean_variance(votes: Votes, each: FloatArray, parts: Components) -> tuple[float, float]:
    """The variance of a weighted mean of answers over other people and other items, and its degrees of freedom.

    Few people say little about how people differ, so their part of the variance decides the degrees of freedom.

    Args:
        votes: the answers.
        each: shape (n,), the weights, which sum to 1.
        parts: the variance components of what is averaged.

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
    doubt = (by_person + noise) ** 2 / max(people - 1, 1) + by_item**2 / max(items - 1, 1)
    return variance, variance**2 / doubt if doubt > 0 else float(len(votes))


def components(votes: Votes, score: FloatArray) -> Components:
    """Estimate how much people and items differ, from products of pairs of answers.

    Two answers of one person to different items share the person; two of different people to one item share the
    item; two of different people to different items share nothing. The mean product of each kind of pair, less that of
    the last, is the variance of what is shared. No pair is used twice over, so that unequal numbers do no harm.

    Args:
        votes: the answers.
        score: shape (n,).
    """
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


def standing(values: Sequence[float], of: float) -> tuple[float, Interval]:
    """Where a figure stands among people: the share of them below it, those level with it counted as half.

    Args:
        values: shape (people,), what each person reaches on the items they answered.
        of: the figure to place; see `standings` where everybody answered items of their own.

    Returns:
        The share, and Wilson's interval of it over people.

    Example:
        >>> standing([0.6, 0.7, 0.8, 0.9], 0.8)[0]
        0.625
    """
    return standings(values, [of] * len(values))


def standings(values: Sequence[float], rivals: Sequence[float]) -> tuple[float, Interval]:
    """The share of people whose rival does better on the same items, ties counted as half.

    Args:
        values: shape (people,), what each person reaches on the items they answered.
        rivals: shape (people,), what the other reaches on each person's items.

    Returns:
        The share, and Wilson's interval of it over people.

    Raises:
        DataError: there are no people.
    """
    if not len(values):
        raise DataError("nobody answered enough items to be compared with")
    difference = np.asarray(rivals, dtype=np.float64) - np.asarray(values, dtype=np.float64)
    level_with = np.abs(difference) < 1e-9
    n = difference.shape[0]
    share = float(((difference > 0) & ~level_with).sum() + level_with.sum() / 2) / n
    return share, _wilson(share, n, 0.95, n - 1.0, "Wilson's form over people")


def _mean_interval(
    votes: Votes,
    each: FloatArray,
    mean: float,
    parts: Components,
    *,
    bounds: tuple[float, float],
    level: float,
) -> Interval:
    """The interval of a weighted mean of answers."""
    low, width = bounds[0], bounds[1] - bounds[0]
    variance, freedom = mean_variance(votes, each, parts)
    p = min(max((mean - low) / width, 0.0), 1.0)
    items = float(np.unique(votes.item).shape[0])
    effective = p * (1 - p) * width**2 / variance if variance > 0 and 0 < p < 1 else items
    method = "variance components of people and items (Wilson's form)"
    found = _wilson(p, effective, level, freedom, method)
    return Interval(low + width * found.low, low + width * found.high, level, method)


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
    """Everybody with enough answers, from the worst to the best."""
    answered = np.bincount(votes.annotator, minlength=votes.annotators)
    sums = np.bincount(votes.annotator, weights=score, minlength=votes.annotators)
    squares = np.bincount(votes.annotator, weights=score**2, minlength=votes.annotators)
    chosen = np.flatnonzero(answered >= max(min_answers, 1))
    binary = bool(np.isin(score, (0.0, 1.0)).all())
    chance = parts.item + parts.rest
    people = []
    for code in chosen.tolist():
        n = int(answered[code])
        value = float(sums[code]) / n
        deviation = (
            None if binary else sqrt(max(float(squares[code]) / n - value**2, 0.0) * n / max(n - 1, 1))
        )
        pull = parts.person / (parts.person + chance / n) if parts.person > 0 else 0.0
        shrunk = mean + pull * (value - mean)
        people.append(Person(code, n, value, shrunk, deviation, chosen.shape[0], level, bounds))
    return tuple(sorted(people, key=lambda person: (person.value, person.n, -person.annotator)))


def _spread(votes: Votes, score: FloatArray, parts: Components, level: float) -> tuple[float, Interval]:
    """The standard deviation between people with an interval by chi squared, less what chance puts there.

    Fewer degrees of freedom stand in for people's figures with longer tails than the normal has.
    """
    answered = np.bincount(votes.annotator, minlength=votes.annotators).astype(np.float64)
    sums = np.bincount(votes.annotator, weights=score, minlength=votes.annotators)[answered > 0]
    n = answered[answered > 0]
    chance = parts.item + parts.rest
    by_chance = chance * float(n.sum()) / float(n @ n)
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
    # Scores in [0, 1] cannot differ by more than half and half.
    return spread, Interval(min(low, spread), min(max(high, spread), 0.5), level, method)


def _excess(values: FloatArray) -> float:
    """The excess kurtosis, 0 where it would be below the normal's."""
    centred = values - values.mean()
    second = float((centred**2).mean())
    return max(float((centred**4).mean()) / second**2 - 3, 0.0) if second > 1e-12 else 0.0


def _student(value: float, deviation: float, n: int, level: float, bounds: tuple[float, float]) -> Interval:
    """Student's interval of a mean of scores within bounds; of one answer nothing is known."""
    low, high = bounds
    if n < 2:
        return Interval(low, high, level, "Student")
    reach = student_quantile((1 + level) / 2, n - 1) * deviation / sqrt(n)
    return Interval(max(low, value - reach), min(high, value + reach), level, "Student")


def _wilson(p: float, n: float, level: float, freedom: float, method: str) -> Interval:
    """Wilson's interval for a number of trials that need not be whole, with Student's quantile."""
    t = student_quantile((1 + level) / 2, max(freedom, 1.0))
    low, high = wilson_form(p, n, t)
    return Interval(low, high, level, method)
