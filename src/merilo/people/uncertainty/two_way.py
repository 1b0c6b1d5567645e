"""Confidence interval of a human baseline over items and annotators together.

A study's estimate would change with other items and with other annotators. An interval over items alone covers only
the first source of variance. One annotator answers many items, so a careless or a very skilled annotator affects many
items at once. The more items each annotator answers, the larger the second source of variance.

The interval covers the value that another sample of annotators would reach on another sample of items, both
drawn in the same way and with the same overlap. docs/uncertainty.md describes the method and its measured coverage.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import sqrt
from typing import Final

import numpy as np
from numpy.typing import NDArray

from merilo.errors import DataError
from merilo.metrics.metric import Score
from merilo.people.uncertainty.annotator_accuracy import (
    ROUNDING,
    clear_third_cumulant,
    cluster_effect_of,
    guessing_variance,
    skewed_wilson,
    widened,
)
from merilo.people.votes import IntArray, Votes
from merilo.statistics import FloatArray
from merilo.statistics.crossed_difference import (
    CrossedDifference,
    SharedPart,
    crossed_difference,
    heavy_tails,
)
from merilo.statistics.intervals import (
    RESAMPLES,
    Interval,
    limited_freedom,
    resampled_means,
    student_quantile,
)

#: With fewer annotators no interval over annotators is reported, because they cannot show how much annotators differ.
LEAST_ANNOTATORS: Final = 3


#: Totals closer than this are a tie, because the rounding error of a sum depends on the order of its terms.
_EQUAL: Final = 1e-9
#: How many of an item's leading labels an answer is replaced by when its influence is computed.
_ALTERNATIVES: Final = 8
#: Upper limit of the cells processed at once, which bounds the memory of re-aggregation.
_CELLS_AT_ONCE: Final = 4_000_000


@dataclass(frozen=True, slots=True)
class Ballots:
    """Votes as a matrix with one row an item and one column (slot) for each of the item's labels.

    The last slot is a label that nobody gave: it has no votes, and its worth is that of an unseen label.

    Attributes:
        place: shape (n,), the row of each answer's item.
        slot: shape (n,), the column of each answer's label.
        weight: shape (n,), the weight of each answer.
        totals: shape (rows, slots), the sum of weights of each label.
        worth: shape (rows, slots), the score of the item if this label were its consensus.
        answered: shape (rows,), the codes of the items.
        items: the number of all items.
    """

    place: NDArray[np.intp]
    slot: NDArray[np.intp]
    weight: FloatArray
    totals: FloatArray
    worth: FloatArray
    answered: NDArray[np.int64]
    items: int

    @staticmethod
    def of(votes: Votes, worth: FloatArray, weight: FloatArray, unseen: FloatArray) -> Ballots:
        """Build the matrix from votes; `worth` and `weight` have shape (n,), `unseen` has shape (items,)."""
        cell = votes.item.astype(np.int64) * max(votes.labels, 1) + votes.label
        cells, cell_of = np.unique(cell, return_inverse=True)
        _, first, place_of_cell = np.unique(
            cells // max(votes.labels, 1), return_index=True, return_inverse=True
        )
        slot_of_cell = np.arange(cells.shape[0]) - first[place_of_cell]
        shape = (first.shape[0], int(slot_of_cell.max(initial=-1)) + 2)
        place, slot = place_of_cell[cell_of], slot_of_cell[cell_of]
        totals = np.zeros(shape)
        np.add.at(totals, (place, slot), weight)
        answered = cells[first] // max(votes.labels, 1)
        values = np.repeat(unseen[answered][:, None], shape[1], axis=1)
        values[place, slot] = worth
        return Ballots(place, slot, weight, totals, values, answered, votes.items)

    def needed(self, min_votes: int | NDArray[np.int64]) -> NDArray[np.int64] | None:
        """Return the number of votes that a consensus needs, shape (items with votes,); `None` for plurality."""
        if not np.any(min_votes):
            return None
        return np.broadcast_to(min_votes, self.items)[self.answered]

    @property
    def _has_many(self) -> bool:
        """Whether an item has so many labels that not all of them are tried."""
        return bool(self.totals.shape[1] > _ALTERNATIVES + 2)

    @staticmethod
    def outcome(
        totals: FloatArray, worth: FloatArray, needed: NDArray[np.int64] | None
    ) -> tuple[FloatArray, NDArray[np.bool_]]:
        """Compute the items' scores and which items count; labels are along the last axis."""
        top = totals.max(axis=-1, keepdims=True)
        leading = totals >= top - _EQUAL * np.abs(top)
        leaders = leading.sum(axis=-1)
        scores = (leading * worth).sum(axis=-1) / leaders
        if needed is not None:
            return scores, (leaders == 1) & (top[..., 0] >= needed - _EQUAL)
        return scores, np.ones(scores.shape, dtype=np.bool_)

    def pieces(self) -> list[slice]:
        """Split the answers into slices whose re-aggregation fits in memory."""
        slots = self.totals.shape[1]
        step = max(1, _CELLS_AT_ONCE // (slots * min(slots, _ALTERNATIVES + 2)))
        return [slice(start, start + step) for start in range(0, self.place.shape[0], step)]

    def exchanged(
        self, rows: slice, needed: NDArray[np.int64] | None
    ) -> tuple[FloatArray, NDArray[np.bool_]]:
        """Compute the outcomes with each answer replaced by every label tried, including its own and an unseen one."""
        exchanged, worth = self.alternatives(rows)
        own = None if needed is None else needed[self.place[rows]][:, None]
        # Unused slots of an item act as the label that nobody gave, so they only repeat its outcome.
        return self.outcome(exchanged, worth, own)

    def alternatives(self, rows: slice) -> tuple[FloatArray, FloatArray]:
        """Return the totals with each answer replaced by every label tried, and the worth of these labels.

        Shape (answers, labels tried, slots), and (answers, 1, slots).
        """
        place, slot, weight = self.place[rows], self.slot[rows], self.weight[rows]
        answers, slots = place.shape[0], self.totals.shape[1]
        if self._has_many:
            leading = np.argsort(-self.totals[place], axis=1, kind="stable")[:, :_ALTERNATIVES]
            tried = np.column_stack([leading, slot, np.full(answers, slots - 1)])
        else:
            tried = np.broadcast_to(np.arange(slots), (answers, slots))
        row = np.arange(answers)
        without = self.totals[place]
        without[row, slot] -= weight
        without[np.abs(without) < _EQUAL] = 0.0
        exchanged = np.repeat(without[:, None, :], tried.shape[1], axis=1)
        exchanged[row[:, None], np.arange(tried.shape[1]), tried] += weight[:, None]
        return exchanged, self.worth[place][:, None, :]

    def removed(self, rows: slice, needed: NDArray[np.int64] | None) -> tuple[FloatArray, NDArray[np.bool_]]:
        """Compute the outcomes without each answer."""
        place, slot = self.place[rows], self.slot[rows]
        without = self.totals[place]
        without[np.arange(place.shape[0]), slot] -= self.weight[rows]
        without[np.abs(without) < _EQUAL] = 0.0
        return self.outcome(without, self.worth[place], None if needed is None else needed[place])

    def chances(self, rows: slice, labels: int) -> FloatArray:
        """Compute the probability of each label that `exchanged` tries if every one of `labels` is equally probable."""
        slots = self.totals.shape[1]
        columns, most = (_ALTERNATIVES + 2, _ALTERNATIVES) if self._has_many else (slots, slots)
        used = np.minimum((self.totals[self.place[rows]] > 0).sum(axis=1), most)
        chances: FloatArray = (np.arange(columns) < used[:, None]) / max(labels, 1)
        chances[:, -1] = 1 - chances[:, :-1].sum(axis=1)
        return chances


#: The number of groups of annotators, each left out once. More groups take longer and change the coverage little.
GROUPS: Final = 12


@dataclass(frozen=True, slots=True)
class RefittedVariance:
    """The variance because items share annotators, from fits without groups of annotators.

    Attributes:
        variance: the variance of the estimate.
        doubt: its square divided by its degrees of freedom, a term of Satterthwaite's formula.
    """

    variance: float
    doubt: float


def annotator_groups(votes: Votes, groups: int = GROUPS) -> NDArray[np.int64]:
    """Divide annotators into groups with about equal numbers of answers.

    Args:
        votes: the answers.
        groups: the largest number of groups.

    Returns:
        Shape (annotators,), the group of each annotator; -1 for annotators without answers.

    Example:
        >>> votes = Votes(*(np.array(c, np.int32) for c in ([0, 1, 2, 0, 1, 0], [0, 0, 0, 1, 1, 3], [0] * 6)), 3, 4, 1)
        >>> annotator_groups(votes, 2).tolist()
        [0, 1, -1, 1]
    """
    answered = np.bincount(votes.annotator, minlength=votes.annotators)
    order = np.argsort(-answered, kind="stable")[: int((answered > 0).sum())]
    groups = max(min(groups, order.shape[0]), 1)
    # Dealt forwards and backwards in turn: the group of the busiest annotator does not get the busiest of each round.
    dealt = np.concatenate([np.arange(groups), np.arange(groups)[::-1]])
    found = np.full(votes.annotators, -1, dtype=np.int64)
    found[order] = dealt[np.arange(order.shape[0]) % (2 * groups)]
    return found


def refitted_variance(change: FloatArray, annotators: int) -> RefittedVariance:
    """Compute the grouped jackknife variance over annotators, without the chance in single items.

    With G groups and D_gi the change of item i's score when group g is left out, the jackknife variance of the mean is
    (G - 1) / G times the sum over g of (D_g - D)², divided by the square of the number of items; D_g is the
    sum over items and D the mean of D_g. Products of two changes of the same item are left out, because the
    variance over items contains them.

    Args:
        change: shape (groups, items), the score of each item minus its score without each group; groups at least 2.
        annotators: the number of annotators.

    References:
        B. Efron, C. Stein (1981), The jackknife estimate of variance. Annals of Statistics 9, 586-596.
        J. Shao, D. Tu (1995), The jackknife and bootstrap, section 2.3 (grouped jackknife).
        A. Owen (2007), The pigeonhole bootstrap. Annals of Applied Statistics 1, 386-411.

    Example:
        >>> change = np.array([[1.0, 1.0, 0.0], [0.0, 0.0, 0.0], [0.0, 0.0, 0.0]])
        >>> round(refitted_variance(change, 3).variance, 4)
        0.1481
    """
    groups, items = change.shape
    totals, squares = change.sum(axis=1), float((change**2).sum())
    of_item = change.sum(axis=0)
    within = float(totals @ totals) - squares
    between = float(totals.sum()) ** 2 - float(totals @ totals) - (float(of_item @ of_item) - squares)
    variance = max((within - between / (groups - 1)) * (groups - 1) / groups, 0.0) / items**2
    return RefittedVariance(variance, variance**2 / (groups - 1) * heavy_tails(annotators))


@dataclass(frozen=True, slots=True)
class ItemInfluences:
    """The first-order influence of every item and every answer on the estimate.

    Attributes:
        value: the estimate: the mean worth of the consensus over the scored items.
        scored: the number of items with a consensus that counts.
        item: shape (items with votes,), the influence of each item on the estimate; the influences sum to 0.
        answer: shape (n,), the difference between the score of the answer's item and its score with a typical answer in
            the same place, found by aggregating the item again; the differences sum to 0.
        place: shape (n,), the position in `item` of each answer's item.
        guess: shape (n,), the difference between the score of the answer's item with a random label in the
            answer's place and its score.
        gain: shape (n,), the difference between the score of the answer's item and its score without the answer.
    """

    value: float
    scored: int
    item: FloatArray
    answer: FloatArray
    place: NDArray[np.intp]
    guess: FloatArray
    gain: FloatArray


@dataclass(frozen=True, slots=True)
class TwoWay:
    """An estimate with its uncertainty over items and annotators.

    Attributes:
        value: the estimate.
        n: the number of scored items.
        annotators: the number of annotators who answered.
        interval: the interval over items and annotators together.
        item_error: the standard error from items alone.
        annotator_error: the additional standard error because items share annotators.
        design_effect: the ratio of the variance to the variance if no two items shared an annotator.
        freedom: the degrees of freedom of the interval's Student quantile.
        resamples: the number of bootstrap resamples.
        seed: the random seed of the bootstrap resamples.
        clusters: the number of clusters that the scored items form; `None` if items are independent.
        cluster_effect: the factor by which the items' variance grows because items of one cluster depend on each other.
    """

    value: float
    n: int
    annotators: int
    interval: Interval
    item_error: float
    annotator_error: float
    design_effect: float
    freedom: float
    resamples: int
    seed: int
    clusters: int | None = None
    cluster_effect: float = 1.0


def interval_of_record(score: Score, crowd: TwoWay | None) -> Interval | None:
    """Return the interval that every table, text and plot shows for a metric.

    Args:
        score: the metric of the consensus, with its interval over items alone.
        crowd: the same metric with its uncertainty over items and annotators; `None` if it is not defined.

    Returns:
        The interval over items and annotators; without it, the one over items alone, which is then shown by its name.
    """
    return crowd.interval if crowd else score.interval


def two_way(
    votes: Votes,
    worth: FloatArray,
    *,
    min_votes: int | NDArray[np.int64] = 0,
    weight: FloatArray | None = None,
    unseen: FloatArray | None = None,
    value: float | None = None,
    alike: float | None = None,
    refitted: RefittedVariance | None = None,
    exclusion: float = 0.0,
    bounds: tuple[float, float] = (0.0, 1.0),
    level: float = 0.95,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> TwoWay:
    """Compute the interval of a consensus estimate over items and annotators together.

    Items and annotators are resampled with replacement, independently of each other. The estimate of a resample is the
    original estimate plus the influence of the drawn items and annotators. The variance that items alone
    cause is first removed from the annotators' influence; otherwise the bootstrap would count it twice. The
    design effect is the bootstrap variance over both, divided by the bootstrap variance over items. The
    interval is Wilson's with the number of items divided by the design effect and with Student's quantile. It
    stays inside `bounds` and does not shrink to a point if every item is right. Few annotators often include
    nobody who guesses: the degrees of freedom are at most the number of annotators minus 1, and each bound
    allows for half an annotator more, who guesses (`guessing_variance`), and for the skewness that annotators cause.

    If items form clusters (`Votes.cluster`), clusters take the place of items: the variance over items is multiplied by
    `cluster_design_effect`, and two answers of one annotator tell how annotators differ only if they are to items of
    different clusters.

    Args:
        votes: the answers that the consensus was computed from.
        worth: shape (n,), the score of the item if this answer were its consensus: 1 or 0 for accuracy.
        min_votes: the number of votes that a consensus needs, one number or shape (items,). Items whose
            leading label has fewer votes, or whose leading labels tie, are left out of the estimate. With 0
            no item is left out, and an item with tied labels scores the mean of their worth.
        weight: shape (n,), above 0, the weight of each answer; 1 by default. Cannot be combined with `min_votes`.
        unseen: shape (items,), the score of each item with a label that nobody gave; by default the smallest worth.
        value: the published estimate, if ties were resolved by another rule; by default the estimate of this rule.
        alike: the effective number of items scored 0 or 1 if all items score the same; by default the number of scored
            items. It is smaller for macro F1 with rare labels.
        refitted: the variance because items share annotators if a model decides and is fitted again without groups of
            annotators; it is used if it is larger than the variance with fixed weights.
        exclusion: the variance of the logarithm of the number of answers, because other annotators would not be
            excluded in the same number; a consensus of fewer answers is worse.
        bounds: the smallest and the largest possible value of the metric: (0, 1), or (-1, 1) for correlations.
        level: the nominal coverage, in (0, 1).
        resamples: the number of bootstrap resamples; with 0, the variances of the bootstrap are computed exactly.
        seed: random seed for the bootstrap resamples.

    Returns:
        The estimate with its interval.

    Raises:
        DataError: no item has a consensus, or all items belong to one cluster.
        ValueError: both `min_votes` and `weight` are given.

    References:
        B. Efron, C. Stein (1981), The jackknife estimate of variance. Annals of Statistics 9, 586-596.
        A. Owen (2007), The pigeonhole bootstrap. Annals of Applied Statistics 1, 386-411.
        F. Satterthwaite (1946), An approximate distribution of estimates of variance components. Biometrics 2, 110-114.
        E. Korn, B. Graubard (1998), Confidence intervals for proportions with small expected number of positive
        counts estimated from survey data. Survey Methodology 24, 193-201.

    Example:
        >>> item, annotator = np.divmod(np.arange(500), 5)
        >>> right = np.random.default_rng(0).random(500) < 0.8
        >>> votes = Votes(*(a.astype(np.int32) for a in (item, annotator, right)), 100, 5, 2)
        >>> result = two_way(votes, right.astype(float))
        >>> result.n, result.annotators, result.interval.low < result.value < result.interval.high
        (100, 5, True)
    """
    influence = influences(votes, worth, min_votes=min_votes, weight=weight, unseen=unseen)
    low, high = bounds[0] - _EQUAL, bounds[1] + _EQUAL
    bounded = worth.size == 0 or (float(worth.min()) >= low and float(worth.max()) <= high)
    return two_way_of(
        votes,
        influence,
        value=value,
        alike=alike,
        refitted=refitted,
        exclusion=exclusion,
        bounds=bounds,
        bounded=bounded,
        level=level,
        resamples=resamples,
        seed=seed,
    )


def two_way_of(
    votes: Votes,
    influence: ItemInfluences,
    *,
    value: float | None = None,
    alike: float | None = None,
    most: float | None = None,
    refitted: RefittedVariance | None = None,
    exclusion: float = 0.0,
    bounds: tuple[float, float] = (0.0, 1.0),
    bounded: bool = True,
    level: float = 0.95,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> TwoWay:
    """Compute the interval of an estimate from its influences; see `two_way`, which has the same arguments.

    Args:
        votes: the answers.
        influence: the influences of items and answers on the estimate.
        value: as in `two_way`.
        alike: as in `two_way`.
        most: the largest effective number of items scored 0 or 1, if large deviations of single items are so rare that
            a study may have none.
        refitted: as in `two_way`.
        exclusion: as in `two_way`.
        bounds: as in `two_way`.
        bounded: whether the scores of all items are within the bounds.
        level: as in `two_way`.
        resamples: as in `two_way`.
        seed: as in `two_way`.

    Raises:
        DataError: all items belong to one cluster.
    """
    shared, spread, freedom_cost = _annotators(votes, influence)
    rng = np.random.default_rng(seed)
    low, high = bounds
    width = high - low
    estimate = influence.value if value is None else value
    n = influence.scored
    floor = (width / n) ** 2
    clusters, cluster_effect = cluster_effect_of(votes, influence.item / width)
    if resamples:
        item_draws = resampled_means(influence.item, rng, resamples) * sqrt(cluster_effect)
        person_draws = resampled_means(spread, rng, resamples) * spread.shape[0]
        item_variance = max(float(item_draws.var()), floor * cluster_effect)
        both = float((item_draws + person_draws).var())
    else:
        over_items = cluster_effect * float(influence.item.var()) / influence.item.shape[0]
        item_variance = max(over_items, floor * cluster_effect)
        both = over_items + float(spread.var()) * spread.shape[0]
    effect = max(1.0, both / item_variance) if shared > 0 else 1.0
    if refitted is not None and refitted.variance > shared:
        shared, freedom_cost = refitted.variance, max(freedom_cost, refitted.doubt)
        effect = max(effect, 1 + shared / item_variance)
    people = int(np.unique(votes.annotator).shape[0])
    fewer = exclusion * (float(influence.gain.sum()) / influence.item.shape[0]) ** 2
    shared, effect = shared + fewer, effect + fewer / item_variance
    freedom_cost += fewer**2 / max(people - 1, 1)
    total = item_variance + shared
    freedom = total**2 / (item_variance**2 / max((clusters or n) - 1, 1) + freedom_cost)
    p = min(max((estimate - low) / width, 0.0), 1.0)
    effective = _items_worth(influence, p, width, n if alike is None else alike, bounded=bounded)
    if most is not None:
        effective = min(effective, most)
    effective /= effect * cluster_effect
    limited = limited_freedom(freedom, people)
    sums = np.bincount(votes.annotator, weights=influence.answer, minlength=votes.annotators)
    third = clear_third_cumulant(sums / influence.item.shape[0]) if shared > ROUNDING * item_variance else 0.0
    bottom, top = widened(
        skewed_wilson(p, effective, student_quantile((1 + level) / 2, limited), third / total**1.5),
        guessing_variance(votes.annotator, influence.guess / influence.item.shape[0], votes.annotators),
        p,
        effective * effect,
        variances=(item_variance, shared, total**2 / freedom),
        level=level,
    )
    drawn = f"{resamples} resamples, seed {seed}" if resamples else "exact variances"
    over = "items" if clusters is None else f"{clusters} clusters of items"
    method = f"two-way bootstrap over {over} and annotators (Wilson's form, {drawn})"
    return TwoWay(
        estimate,
        n,
        people,
        Interval(low + width * bottom, low + width * top, level, method),
        sqrt(item_variance),
        sqrt(shared),
        effect,
        limited,
        resamples,
        seed,
        clusters,
        cluster_effect,
    )


def shared_part(votes: Votes, influence: ItemInfluences) -> SharedPart:
    """Compute the part of an estimate's uncertainty because items share annotators.

    Args:
        votes: the answers.
        influence: their influences, by `influences`.
    """
    shared, _, doubt = _annotators(votes, influence)
    sums = np.bincount(votes.annotator, weights=influence.answer, minlength=votes.annotators)
    third = float(((sums / influence.item.shape[0]) ** 3).sum()) if shared > 0 else 0.0
    people = int(np.unique(votes.annotator).shape[0])
    guessing = guessing_variance(votes.annotator, influence.guess / influence.item.shape[0], votes.annotators)
    return SharedPart(float(shared), float(doubt), third, people, guessing.below, guessing.above)


def influences(
    votes: Votes,
    worth: FloatArray,
    *,
    min_votes: int | NDArray[np.int64] = 0,
    weight: FloatArray | None = None,
    unseen: FloatArray | None = None,
) -> ItemInfluences:
    """Compute the influence of every answer by aggregating its item again with other answers in its place.

    The possible scores of an item with other answers in this place have a midpoint. The influence of an answer is the
    item's score minus this midpoint, centred so that a typical answer has influence 0. It measures the part of the
    consensus that depends on this annotator alone. If the other annotators of the item already decide it, the influence
    is 0.

    Args:
        votes: the answers.
        worth: shape (n,), the score of the item if this answer were its consensus.
        min_votes: as in `two_way`.
        weight: as in `two_way`.
        unseen: as in `two_way`.

    Returns:
        The influences.

    Raises:
        DataError: no item has a consensus.
        ValueError: both `min_votes` and `weight` are given.
    """
    if np.any(min_votes) and weight is not None:
        raise ValueError("min_votes and weight cannot be combined, because min_votes counts unweighted votes")
    of_unseen = np.full(votes.items, float(worth.min(initial=0.0))) if unseen is None else unseen
    ballots = Ballots.of(votes, worth, np.ones(len(votes)) if weight is None else weight, of_unseen)
    needed = ballots.needed(min_votes)
    scores, counted = ballots.outcome(ballots.totals, ballots.worth, needed)
    scored = int(counted.sum())
    if not scored:
        raise DataError("no item has a consensus, so there is no estimate")
    value = float(scores[counted].mean())
    share = scored / counted.shape[0]
    item = np.where(counted, scores - value, 0.0) / share
    gain = np.zeros(len(votes))
    for rows in ballots.pieces():
        fewer, fewer_counted = ballots.removed(rows, needed)
        gain[rows] = item[ballots.place[rows]] - np.where(fewer_counted, fewer - value, 0.0) / share

    def pulls(rows: slice) -> FloatArray:
        other, other_counted = ballots.exchanged(rows, needed)
        return np.asarray(np.where(other_counted, other - value, 0.0) / share)

    answer, guess = answer_influences(votes, ballots, item, pulls)
    return ItemInfluences(value, scored, item, answer, ballots.place, guess, gain)


def answer_influences(
    votes: Votes, ballots: Ballots, item: FloatArray, pulls: Callable[[slice], FloatArray]
) -> tuple[FloatArray, FloatArray]:
    """Compute the influence of every answer, and the change of the estimate if it were a random label.

    Args:
        votes: the answers.
        ballots: the same as a matrix.
        item: shape (items with votes,), the influence of each item.
        pulls: returns the influences of the items of these answers with each of `Ballots.alternatives` in its place,
            shape (answers, labels tried).

    Returns:
        `ItemInfluences.answer` and `ItemInfluences.guess`.
    """
    middle, reach, guess = np.zeros((3, len(votes)))
    # The labels of these votes: votes on other items may have more.
    labels = int(np.unique(votes.label).shape[0])
    for rows in ballots.pieces():
        other = pulls(rows)
        guess[rows] = (other * ballots.chances(rows, labels)).sum(axis=1) - item[ballots.place[rows]]
        most, least = other.max(axis=1), other.min(axis=1)
        middle[rows], reach[rows] = (most + least) / 2, most - least
    answer = item[ballots.place] - middle
    if reach.any():
        answer -= reach * (answer.sum() / reach.sum())
    return answer, guess


def _annotators(votes: Votes, influence: ItemInfluences) -> tuple[float, FloatArray, float]:
    """Estimate the variance from shared annotators.

    The share of each annotator and the term of Satterthwaite's formula.

    The variance of the annotators' influence is estimated by the mean product of two influences of one annotator on
    different items, minus that of two different annotators on different items. The effect of the items cancels out. If
    items form clusters, the products are of influences on items of different clusters.
    """
    n, items = len(votes), influence.item.shape[0]
    answer = influence.answer
    place = influence.place if votes.cluster is None else votes.unit
    answered = np.bincount(votes.annotator, minlength=votes.annotators).astype(np.float64)
    overlap = np.bincount(place).astype(np.float64)
    of_person = np.bincount(votes.annotator, weights=answer, minlength=votes.annotators)
    of_item = np.bincount(place, weights=answer)
    of_cell, size = votes.cell_sums(answer)
    squares, own, people = float(of_cell @ of_cell), float(size @ size), int((answered > 0).sum())
    same = float(answered @ answered) - own
    different = n * n - float(answered @ answered) - float(overlap @ overlap) + own
    present = of_person[answered > 0]
    if same <= 0 or different <= 0 or people < 2:
        return 0.0, np.zeros(max(people, 1)), 0.0
    within = (float(of_person @ of_person) - squares) / same
    between = (
        answer.sum() ** 2 - float(of_person @ of_person) - float(of_item @ of_item) + squares
    ) / different
    ability = max(within - between, 0.0)
    shared = ability * same / items**2
    observed = float(of_person @ of_person) * people / (people - 1)
    noise = max(observed - ability * float(answered @ answered), 0.0) / n
    variances = (answered**2 * ability + answered * noise) / items**2
    scale = sqrt(shared / (float(present @ present) / items**2)) if shared > 0 else 0.0
    return shared, present / items * scale, float(variances @ variances) * people / (people - 1)


def _items_worth(influence: ItemInfluences, p: float, width: float, alike: float, *, bounded: bool) -> float:
    """Compute the effective number of items: items scored 0 or 1 whose mean has the same variance as the estimate.

    If all scores are within the bounds, the effective number is at least the number of scored items.
    Influences on macro F1 or a correlation can lie outside the bounds, and the effective number is then smaller.
    """
    square = float(influence.item @ influence.item) / influence.item.shape[0] ** 2 / width**2
    if square <= 0 or not 0 < p < 1:
        return max(min(alike, float(influence.scored)), 1.0)
    worth: float = p * (1 - p) / square
    return max(worth, float(influence.scored) if bounded else 1.0)


def as_many_each(first: Votes, second: Votes, seed: int = 0) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Choose as many answers of each group to each item: of the group with more answers, random ones.

    A majority of more answers is right more often, so that groups with unequal numbers of answers differ although
    their people do not.

    Args:
        first: the answers of the first group.
        second: the answers of the second group to the same items.
        seed: random seed of the choice.

    Returns:
        Masks of the answers, shapes (answers of the first,) and (answers of the second,).

    Example:
        >>> three, two = (np.array(codes, np.int32) for codes in ([0, 0, 0], [0, 0]))
        >>> first, second = Votes(three, three, three, 1, 1, 1), Votes(two, two, two, 1, 1, 1)
        >>> [int(mask.sum()) for mask in as_many_each(first, second)]
        [2, 2]
    """
    rng = np.random.default_rng(seed)
    counts = [np.bincount(side.item, minlength=first.items) for side in (first, second)]
    fewest = np.minimum(*counts)
    masks = []
    for side, count in zip((first, second), counts, strict=True):
        order = np.lexsort((rng.random(len(side)), side.item))
        start = np.cumsum(count) - count
        mask = np.zeros(len(side), dtype=np.bool_)
        mask[order] = np.arange(len(side)) - start[side.item[order]] < fewest[side.item[order]]
        masks.append(mask)
    return masks[0], masks[1]


def group_difference(
    first: tuple[Votes, FloatArray], second: tuple[Votes, FloatArray], *, clusters: IntArray | None = None
) -> tuple[FloatArray, FloatArray, CrossedDifference]:
    """Compare the consensus of two groups of people on the same items, over items and both groups' annotators.

    The same rule decides for both groups: most votes, and tied labels share the item; all items count, each by as
    many answers of either group (`as_many_each`). The variances because items share annotators add up.

    Args:
        first: the votes of the first group, and the points of each answer, shape (n,).
        second: the same of the second group; the codes of items are those of the first.
        clusters: shape (items,), codes of the clusters of items; by default, items are independent.

    Returns:
        The points of each item by either group, shape (items,), and the difference, second minus first.

    Example:
        >>> item, person = np.divmod(np.arange(200, dtype=np.int32), 5)
        >>> votes = Votes(item, person, np.zeros(200, np.int32), 40, 5, 2)
        >>> _, _, found = group_difference((votes, np.ones(200)), (votes, np.ones(200)))
        >>> found.value, found.annotators, round(found.p, 2)
        (0.0, 9, 1.0)
    """
    sides = [
        (votes.where(mask), worth[mask])
        for (votes, worth), mask in zip((first, second), as_many_each(first[0], second[0]), strict=True)
    ]
    found = [(votes, influences(votes, worth, unseen=np.zeros(votes.items))) for votes, worth in sides]
    return groups_apart(found[0], found[1], clusters=clusters)


def groups_apart(
    first: tuple[Votes, ItemInfluences],
    second: tuple[Votes, ItemInfluences],
    *,
    clusters: IntArray | None = None,
) -> tuple[FloatArray, FloatArray, CrossedDifference]:
    """Compare any two estimates by two groups of people on the same items, over items and both groups' annotators.

    Args:
        first: the votes of the first group, and their influences on its estimate.
        second: the same of the second group, on the same items.
        clusters: as in `group_difference`.

    Returns:
        As `group_difference`.
    """
    ours, theirs = (one.item + one.value for _, one in (first, second))
    parts = [shared_part(votes, one) for votes, one in (first, second)]
    # One degree of freedom is lost in each group.
    people = sum(part.annotators for part in parts) - 1
    doubt = sum(part.doubt * heavy_tails(part.annotators) for part in parts) / heavy_tails(people)
    shared = SharedPart(
        sum(part.variance for part in parts),
        doubt,
        parts[1].third_cumulant - parts[0].third_cumulant,
        people,
        parts[1].below + parts[0].above,
        parts[1].above + parts[0].below,
    )
    asked = np.unique(first[0].item)
    codes = None if clusters is None else clusters[asked]
    return ours, theirs, crossed_difference(ours, theirs, shared, clusters=codes)
