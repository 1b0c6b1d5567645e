"""What one person, the majority of k people and any of k people reach, for every k up to the overlap and beyond it.

Every group of k of an item's answers is as probable as every other, so the score of an item is exact: the mean over all
its groups, without drawing any. The curve has the interval of record, over items and annotators together.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import sqrt
from typing import Final, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln, xlogy

from merilo.people.uncertainty.annotator_accuracy import individuals
from merilo.people.uncertainty.two_way import (
    LEAST_ANNOTATORS,
    Ballots,
    Influence,
    two_way_of,
)
from merilo.people.votes import Votes
from merilo.statistics import FloatArray
from merilo.statistics.intervals import Interval

#: How a group of people answers: by the label with most votes, or right if one of them is.
Rule: TypeAlias = Literal["majority", "any"]

#: The curve ends at the largest k for which at least this share of the items has k answers.
ENOUGH_ITEMS: Final = 0.8
#: Larger groups are not computed: they differ little, and their number of ways exceeds what floats hold exactly.
MOST_PEOPLE: Final = 25
#: Beyond the overlap the curve is shown up to this multiple of it, if the overlap is at least `LEAST_EXTRAPOLATED`.
BEYOND: Final = 2
LEAST_EXTRAPOLATED: Final = 3

#: The kinds of items of the extrapolation: the share of people who know the truth, and the share of the others who
#: give one and the same wrong label.
_KNOWN: Final = np.array([0.02, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.98, 0.995])
_SAME: Final = np.array([0.0, 0.25, 0.5, 0.75, 1.0])
#: The most labels of an item that the extrapolation tells apart; further ones would change it little.
_MOST_LABELS: Final = 8
_STEPS: Final = 300
_REFITS: Final = 25


@dataclass(frozen=True, slots=True)
class PanelPoint:
    """One point of the curve.

    Attributes:
        rule: how the group answers.
        k: the number of people.
        value: the expected score.
        n: the number of items with at least k answers; of an extrapolated point, those of the last point before it.
        interval: the interval over items and annotators; `None` with fewer than three annotators.
        extrapolated: whether k is beyond the overlap.
    """

    rule: Rule
    k: int
    value: float
    n: int
    interval: Interval | None
    extrapolated: bool = False


@dataclass(frozen=True, slots=True)
class PanelCurve:
    """The curve of a panel.

    Attributes:
        overlap: the largest k that enough items have answers for.
        annotators: the number of people who answered.
        majority: the points of a majority, k from 1; the first is the single person.
        any: the points of the best of k answers, k from 1.
    """

    overlap: int
    annotators: int
    majority: tuple[PanelPoint, ...]
    any: tuple[PanelPoint, ...]

    def points(self, *, extrapolated: bool = True) -> Iterator[PanelPoint]:
        """Yield all points, of the majority first."""
        yield from (one for one in (*self.majority, *self.any) if extrapolated or not one.extrapolated)


def panel_curve(votes: Votes, score: FloatArray, *, options: int | None = None, seed: int = 0) -> PanelCurve:
    """Compute the curve of a panel.

    Args:
        votes: the answers, at most one per annotator and item.
        score: shape (n,), the points of each answer, 0 to 1; equal labels of an item have equal points.
        options: how many labels an item may have; by default, the number of labels given.
        seed: random seed of the resamples of items for the extrapolation.

    Raises:
        DataError: there are no answers, or all items belong to one cluster.

    References:
        W. Hoeffding (1948), A class of statistics with asymptotically normal distribution. Annals of Mathematical
        Statistics 19, 293-325 (the mean over all groups).
        M. Chen et al. (2021), Evaluating large language models trained on code, section 2.1 (any of k).

    Example:
        Three people, of whom two are right on each item:

        >>> item, person = np.divmod(np.arange(60, dtype=np.int32), 3)
        >>> label = (person == 2).astype(np.int32)
        >>> curve = panel_curve(Votes(item, person, label, 20, 3, 2), 1.0 - label)
        >>> [round(one.value, 3) for one in curve.majority if not one.extrapolated]
        [0.667, 0.667, 1.0]
        >>> [round(one.value, 3) for one in curve.any if not one.extrapolated]
        [0.667, 1.0, 1.0]
    """
    single = individuals(votes, score)
    answers = np.bincount(votes.item, minlength=votes.items)
    asked = answers[answers > 0]
    overlap = max(k for k in range(1, MOST_PEOPLE + 1) if k == 1 or (asked >= k).mean() >= ENOUGH_ITEMS)
    enough = single.annotators >= LEAST_ANNOTATORS
    first = (single.mean, single.items, single.interval if enough else None)
    curves = {}
    rules: tuple[Rule, ...] = ("majority", "any")
    for rule in rules:
        points = [PanelPoint(rule, 1, *first)]
        for k in range(2, overlap + 1):
            inside = (answers >= k)[votes.item]
            group, worth = votes.where(inside), score[inside]
            influence = group_influence(group, worth, k, rule)
            # Items have only so many groups of different people.
            most = len(group) / k
            interval = two_way_of(group, influence, most=most, resamples=0).interval if enough else None
            points.append(PanelPoint(rule, k, influence.value, influence.scored, interval))
        curves[rule] = points
    binary = bool(np.isin(score, (0.0, 1.0)).all())
    if binary and overlap >= LEAST_EXTRAPOLATED:
        further = _extrapolated(votes, score, overlap, options or votes.labels, seed)
        for rule in rules:
            last = curves[rule][-1]
            curves[rule] += [_moved(last, k, *further[rule, k]) for k in _beyond(overlap)]
    return PanelCurve(overlap, single.annotators, tuple(curves["majority"]), tuple(curves["any"]))


def group_influence(votes: Votes, score: FloatArray, k: int, rule: Rule = "majority") -> Influence:
    """Compute the expected score of k random answers to each item, and the influence of every answer on their mean.

    The influence is that of `merilo.people.uncertainty.two_way.influences`, with one difference: any of k is right by a
    single answer, so that an answer to an item that nobody solved is also replaced by the right one.

    Args:
        votes: the answers; every item with answers has at least k.
        score: shape (n,), the points of each answer, 0 to 1.
        k: the number of answers in a group.
        rule: how the group answers.
    """
    ballots = Ballots.of(votes, score, np.ones(len(votes)), np.zeros(votes.items))
    of_item = group_scores(ballots.totals, ballots.worth, k, rule)
    value = float(of_item.mean())
    unsolved = (ballots.worth.max(axis=1) < 1) & (rule == "any")
    labels = int(np.unique(votes.label).shape[0])
    middle, reach, guess = np.zeros((3, len(votes)))
    for rows in ballots.pieces():
        totals, worth = ballots.alternatives(rows)
        other = group_scores(totals, np.broadcast_to(worth, totals.shape), k, rule)
        # The last label tried is one that nobody gave: on these items it may be the right one.
        last = worth[:, 0].copy()
        last[unsolved[ballots.place[rows]], -1] = 1.0
        right = group_scores(totals[:, -1], last, k, rule)
        most, least = np.maximum(other.max(axis=1), right), other.min(axis=1)
        middle[rows], reach[rows] = (most + least) / 2, most - least
        guess[rows] = (other * ballots.chances(rows, labels)).sum(axis=1) + (right - other[:, -1]) / labels
    answer = of_item[ballots.place] - middle
    if reach.any():
        answer -= reach * (answer.sum() / reach.sum())
    guess -= of_item[ballots.place]
    none = np.zeros(len(votes))
    return Influence(value, of_item.shape[0], of_item - value, answer, ballots.place, guess, none)


def group_scores(totals: FloatArray, worth: FloatArray, k: int, rule: Rule = "majority") -> FloatArray:
    """Compute the expected score of k answers drawn from an item's answers without replacement.

    Tied labels share the item.

    Args:
        totals: shape (..., labels), how many answers have each label; at least k of an item.
        worth: the same shape, the points of each label.
        k: the number of answers in a group.
        rule: how the group answers.

    Returns:
        Shape (...).

    Example:
        >>> totals, worth = np.array([[2.0, 2.0, 1.0]]), np.array([[1.0, 0.0, 0.0]])
        >>> group_scores(totals, worth, 3).round(4).tolist(), group_scores(totals, worth, 3, "any").tolist()
        ([0.4333], [0.9])
    """
    labels = totals.shape[-1]
    counts, points = totals.reshape(-1, labels), worth.reshape(-1, labels)
    # Most items have the same counts as others, up to the names of labels.
    _, first, kind = np.unique(_kind(counts, points), return_index=True, return_inverse=True)
    counts, points = counts[first], points[first]
    ways = np.stack([_choose(counts, taken) for taken in range(k + 1)], axis=-1)
    found = _majority(ways, points, k) if rule == "majority" else _best(counts, points, k)
    found = found / _choose(counts.sum(axis=1), k)
    return np.asarray(found[kind].reshape(totals.shape[:-1]))


def _kind(counts: FloatArray, points: FloatArray) -> NDArray[np.uint64]:
    """Hash the pairs of counts and points of each row, whatever their order; shape (rows,).

    References:
        G. Steele, D. Lea, C. Flood (2014), Fast splittable pseudorandom number generators. OOPSLA 2014, 453-472
        (the function that mixes the bits of a pair).
    """
    key = (counts.astype(np.uint64) << np.uint64(32)) + np.round(points * 1e9).astype(np.uint64)
    key += np.uint64(0x9E3779B97F4A7C15)
    key = (key ^ (key >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    key = (key ^ (key >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    key ^= key >> np.uint64(31)
    return np.asarray(np.where(counts > 0, key, np.uint64(0)).sum(axis=1, dtype=np.uint64))


def _choose(n: FloatArray, k: int) -> FloatArray:
    """Return the number of ways to choose k of n, 0 if n is less than k."""
    found = np.ones(np.shape(n))
    for step in range(k):
        found = found * np.maximum(n - step, 0.0) / (step + 1)
    return found


def _majority(ways: FloatArray, worth: FloatArray, k: int) -> FloatArray:
    """Sum the score of all groups of k answers, shape (items,).

    For each number of votes of the leading labels, the labels are added one by one, with the sums over all groups so
    far by their number of answers and of leading labels: how many groups there are, and the points of their leaders.

    Args:
        ways: shape (items, labels, k + 1), the weight of choosing 0 to k answers of each label.
        worth: shape (items, labels).
        k: the number of answers in a group.
    """
    items, labels, _ = ways.shape
    total = np.zeros(items)
    for votes in range(1, k + 1):
        most = k // votes
        groups = np.zeros((items, k + 1, most + 1))
        groups[:, 0, 0] = 1.0
        points = np.zeros_like(groups)
        for label in range(labels):
            of = ways[:, label, :]
            if not of[:, 1].any():
                continue
            more_groups, more_points = np.zeros_like(groups), np.zeros_like(points)
            for taken in range(votes):
                weight = of[:, taken, None, None]
                more_groups[:, taken:] += weight * groups[:, : k + 1 - taken]
                more_points[:, taken:] += weight * points[:, : k + 1 - taken]
            weight = of[:, votes, None, None]
            led = groups[:, : k + 1 - votes, :-1]
            more_groups[:, votes:, 1:] += weight * led
            gained = points[:, : k + 1 - votes, :-1] + worth[:, label, None, None] * led
            more_points[:, votes:, 1:] += weight * gained
            groups, points = more_groups, more_points
        total += (points[:, k, 1:] / np.arange(1, most + 1)).sum(axis=1)
    return total


def _best(counts: FloatArray, worth: FloatArray, k: int) -> FloatArray:
    """Sum the largest points of all groups of k answers, shape (items,)."""
    order = np.argsort(-worth, axis=1, kind="stable")
    counts, worth = (np.take_along_axis(one, order, axis=1) for one in (counts, worth))
    below = counts.sum(axis=1)
    total = np.zeros(counts.shape[0])
    for label in range(counts.shape[1]):
        left = below - counts[:, label]
        total += worth[:, label] * (_choose(below, k) - _choose(left, k))
        below = left
    return total


def _beyond(overlap: int) -> range:
    return range(overlap + 1, min(BEYOND * overlap, MOST_PEOPLE) + 1)


def _moved(last: PanelPoint, k: int, change: float, error: float) -> PanelPoint:
    """Return the point at k: the last one plus the change that the model of items expects, with its error."""
    value = min(max(last.value + change, 0.0), 1.0)
    interval = None
    if last.interval is not None:
        sides = (last.value - last.interval.low, last.interval.high - last.value)
        # The model is one of many that fit: half of its change is doubted in either direction.
        low, high = (sqrt(side**2 + (1.96 * error) ** 2 + (change / 2) ** 2) for side in sides)
        method = f"{last.interval.method}, extrapolated by a model of the items"
        interval = Interval(max(value - low, 0.0), min(value + high, 1.0), last.interval.level, method)
    return PanelPoint(last.rule, k, value, last.n, interval, extrapolated=True)


def _extrapolated(
    votes: Votes, score: FloatArray, overlap: int, options: int, seed: int
) -> dict[tuple[Rule, int], tuple[float, float]]:
    """Estimate how far the curve moves from the overlap to each k beyond it, and the standard error over items.

    An item's answers are independent draws: the truth with probability p, else one wrong label with probability s, else
    any of the other wrong labels. The distribution of (p, s) over a grid is free, and fitted by expectation and
    maximisation (B. Efron (2016), Empirical Bayes deconvolution estimates. Biometrika 103, 1-20).

    Returns:
        Rule and k -> the change and its standard error.
    """
    labels = max(2, min(options, _MOST_LABELS))
    p, s = (one.ravel() for one in np.meshgrid(_KNOWN, _SAME if labels > 2 else _SAME[-1:]))
    shares = np.column_stack([p, (1 - p) * s, *[(1 - p) * (1 - s) / max(labels - 2, 1)] * (labels - 2)])
    ballots = Ballots.of(votes, score, np.ones(len(votes)), np.zeros(votes.items))
    likelihood = _likelihood(ballots, p, s, labels)
    patterns, place = np.unique(likelihood.round(9), axis=0, return_inverse=True)
    place = place.ravel()
    codes = place if votes.cluster is None else votes.cluster[ballots.answered]
    rng = np.random.default_rng(seed)
    weights = [_fitted(patterns, np.bincount(place, minlength=patterns.shape[0]).astype(np.float64))]
    units, unit = np.unique(codes, return_inverse=True) if votes.cluster is not None else (place, None)
    for _ in range(_REFITS):
        drawn = np.bincount(rng.integers(0, units.shape[0], units.shape[0]), minlength=units.shape[0])
        times = drawn if unit is None else drawn[unit]
        again = np.bincount(place, weights=times, minlength=patterns.shape[0]).astype(np.float64)
        weights.append(_fitted(patterns, again, weights[0]))
    mixtures = np.stack(weights)
    found: dict[tuple[Rule, int], tuple[float, float]] = {}
    reached = {k: _of_kinds(shares, p, k) for k in (overlap, *_beyond(overlap))}
    rules: tuple[Rule, ...] = ("majority", "any")
    for at, rule in enumerate(rules):
        start = mixtures @ reached[overlap][at]
        for k in _beyond(overlap):
            change = mixtures @ reached[k][at] - start
            found[rule, k] = float(change[0]), float(change[1:].std())
    return found


def _likelihood(ballots: Ballots, p: FloatArray, s: FloatArray, labels: int) -> FloatArray:
    """Return the likelihood of each item's answers if it is of each kind, up to a factor: shape (items, kinds)."""
    right = (ballots.totals * ballots.worth).sum(axis=1)
    wrong = np.where(ballots.worth > 0, 0.0, ballots.totals)
    others = wrong.sum(axis=1)
    logs = right[:, None] * np.log(p) + others[:, None] * np.log1p(-p)
    # The same wrong label may be any of those given, or one that nobody gave.
    lure = np.maximum(s, 1e-6)
    spread = np.maximum((1 - s) / max(labels - 2, 1), 1e-6)
    same = np.zeros((right.shape[0], p.shape[0]))
    given = (wrong > 0).sum(axis=1)
    for slot in range(wrong.shape[1]):
        votes = wrong[:, slot, None]
        chance = np.exp(votes * np.log(lure) + (others[:, None] - votes) * np.log(spread))
        same += np.where(votes > 0, chance, 0.0)
    unseen = np.maximum(labels - 1 - given, 0)[:, None]
    same += unseen * np.exp(others[:, None] * np.log(spread))
    logs += np.log(np.maximum(same, 1e-300))
    return np.asarray(np.exp(logs - logs.max(axis=1, keepdims=True)))


def _fitted(patterns: FloatArray, times: FloatArray, start: FloatArray | None = None) -> FloatArray:
    """Fit the distribution of kinds; shape (kinds,)."""
    kinds = patterns.shape[1]
    weight = np.full(kinds, 1 / kinds) if start is None else 0.99 * start + 0.01 / kinds
    before = -np.inf
    for _ in range(_STEPS):
        density = patterns @ weight
        likelihood = float(times @ np.log(np.maximum(density, 1e-300)))
        if likelihood - before < 1e-3:
            break
        before = likelihood
        weight = weight * ((times / density) @ patterns) / times.sum()
    return weight


def _of_kinds(shares: FloatArray, p: FloatArray, k: int) -> tuple[FloatArray, FloatArray]:
    """Return what a majority and any of k people reach on each kind of item, shape (kinds,) each."""
    taken = np.arange(k + 1)
    logs = xlogy(taken, shares[..., None]) - gammaln(taken + 1)
    right = np.zeros_like(shares)
    right[:, 0] = 1.0
    majority = _majority(np.exp(logs), right, k) * np.exp(gammaln(k + 1))
    return majority, 1 - (1 - p) ** k
