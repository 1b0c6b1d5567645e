"""The contribution of single answers to a metric.

A mean over items is a sum of contributions. A statistic of all answers is not, but to first order it is the sum of each
answer's influence (the von Mises expansion), which is what an interval over items and annotators needs. This module
gives both in one form, so that the code that varies annotators does not depend on the metric.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from merilo.items import Item
from merilo.metrics.answers import gold_label
from merilo.metrics.metric import Statistic
from merilo.metrics.registry import Scoring, fitting, metric_of
from merilo.metrics.scoring import (
    Part,
    cells_of,
    influences_on,
    items_alike,
    most_points,
    points,
)
from merilo.statistics import FloatArray, IntArray
from merilo.statistics.intervals import cluster_codes

#: An answer that no annotator gave.
_UNSEEN: Final = "\0"


@dataclass(frozen=True, slots=True)
class Worth:
    """The contribution of answers to a score.

    Attributes:
        value: the metric at the weights that were given (`weight` of `worth`).
        answer: shape (n,), the contribution of the item if this answer were its answer; the mean over items at the
            given weights is `value`.
        unseen: shape (items,), the same for an answer that no annotator gave.
        alike: the effective number of correct-or-wrong items behind the score, used if all answers are correct or all
            are wrong.
    """

    value: float
    answer: FloatArray
    unseen: FloatArray
    alike: float


def item_points(scoring: Scoring, items: Sequence[Item], answers: Sequence[str]) -> FloatArray:
    """Return the share of an item's points that each answer earns, shape (n,).

    By the exam's rules, or else by exact match, the dataset's own if it declares one.

    Args:
        scoring: the dataset's declaration.
        items: shape (n,), the item that each answer belongs to; items may repeat.
        answers: shape (n,).
    """
    kind = scoring.answer.kind
    declared = [metric_of(name, kind) for name in scoring.metrics]
    metric = next((metric for metric in declared if metric.most or metric.exact), None) or metric_of(
        next(name for name in ("em", "acc", *scoring.metrics) if name in fitting(kind)), kind
    )
    return points(scoring.answer, metric, items, answers) / most_points(metric, items)


def worth(
    scoring: Scoring,
    part: Part,
    items: Sequence[Item],
    *,
    place: IntArray,
    answers: Sequence[str],
    weight: FloatArray,
    sample: IntArray | None = None,
) -> Worth:
    """Compute the contribution of each answer to a score, at the given weights.

    Args:
        scoring: the dataset's declaration.
        part: the score.
        items: the items that `place` refers to.
        place: shape (n,), the position of each answer's item in `items`; an item may have several answers.
        answers: shape (n,).
        weight: shape (n,), 0 or more: the weight of each answer within its item; 1 for the consensus answer and 0 for
            others gives the score of the consensus, 1 / (answers of the item) gives the expected score of a randomly
            drawn answer.
        sample: shape (n,), the sample of each answer of a model, from 0; by default, an item's answers are drawn
            independently of those to the other items of its unit.

    References:
        R. von Mises (1947), On the asymptotic distribution of differentiable statistical functions. Annals of
        Mathematical Statistics 18, 309-348.

    Example:
        >>> from merilo.metrics.answers import Answer
        >>> items = [Item(1, "", "", "a"), Item(2, "", "", "b")]
        >>> answers, weight = ["a", "b", "b"], np.array([0.5, 0.5, 1.0])
        >>> scoring = Scoring(name="", answer=Answer(kind="label"), metrics=("acc",))
        >>> part, place = Part("acc", metric_of("acc", "label"), (0, 1)), np.array([0, 0, 1])
        >>> score = worth(scoring, part, items, place=place, answers=answers, weight=weight)
        >>> score.value, score.answer.tolist()
        (0.75, [1.0, 0.0, 1.0])
    """
    total = float(weight.sum())
    if part.metric.statistic:
        gold = [gold_label(item, part.criterion) for item in items]
        return _of_statistic(part.metric.statistic, gold, place=place, answers=answers, weight=weight)
    earned = points(scoring.answer, part.metric, [items[row] for row in place.tolist()], answers)
    if part.metric.whole:
        shares = earned / most_points(part.metric, items)[place]
        return _of_units(
            part, items, shares, place, weight, np.zeros_like(place) if sample is None else sample
        )
    # The mean over items of points times these factors is the mean over units.
    rows, most, factor = list(part.rows), most_points(part.metric, items), np.zeros(len(items))
    unit = cluster_codes([part.metric.unit_of(items[row]) for row in rows])
    of_unit = np.bincount(unit, most[rows])
    factor[rows] = len(rows) / (len(of_unit) * of_unit[unit])
    earned = earned * factor[place]
    value = float(earned @ weight) / total if total > 0 else 0.0
    if part.metric.most is None:
        return Worth(value, earned, np.zeros(len(items)), total)
    mean = float(most[place] @ weight) / total if total > 0 else 1.0
    # A grade is a ratio: points earned to points that could be earned, of which questions have 1 to 4. As a mean of
    # points it would vary with the questions' points even if every answer is correct.
    pull = value * (1 - most / mean)
    return Worth(value, earned + pull[place], pull, total)


def _of_units(  # noqa: PLR0917 - the columns of answers
    part: Part,
    items: Sequence[Item],
    earned: FloatArray,
    place: IntArray,
    weight: FloatArray,
    sample: IntArray,
) -> Worth:
    """Compute the influences on the share of units whose answers are all right, to first order."""
    n, samples = len(items), int(sample.max(initial=0)) + 1
    cell = place * samples + sample
    total, points_of_cell = (np.bincount(cell, each, n * samples) for each in (weight, weight * earned))
    right = np.divide(points_of_cell, total, out=np.zeros(n * samples), where=total > 0).reshape(n, samples)
    answered = (total > 0).reshape(n, samples)
    members: dict[Hashable, list[int]] = defaultdict(list)
    for row in part.rows:
        members[part.metric.unit_of(items[row])].append(row)
    values, own, scale = [], np.full(n, np.nan), np.zeros((n, samples))
    for rows in members.values():
        begun = answered[rows].any(axis=0)
        if begun.any():
            values.append(right[rows].prod(axis=0)[begun].mean())
            own[rows] = values[-1] / np.count_nonzero(answered[rows].any(axis=1))
            for row in rows:
                scale[row] = np.prod([right[other] for other in rows if other != row], axis=0) / begun.sum()
    value = float(np.mean(values or [0.0]))
    per_unit = np.count_nonzero(answered.any(axis=1)) / max(len(values), 1)
    own, scale = np.where(np.isnan(own), value, own * per_unit), scale * per_unit
    unseen = own - (scale * right).mean(axis=1)
    answer = own[place] + scale[place, sample] * (earned - right[place, sample])
    return Worth(value, answer, unseen, float(len(values)))


def _of_statistic(
    statistic: Statistic,
    gold: Sequence[str],
    *,
    place: IntArray,
    answers: Sequence[str],
    weight: FloatArray,
) -> Worth:
    """Compute the influences on a statistic: its change if a small share of all weight moves to one more item."""
    total, n = float(weight.sum()), len(answers)
    if not total > 0:
        return Worth(0.0, np.zeros(n), np.zeros(len(gold)), 0.0)
    pairs = zip((gold[row] for row in place.tolist()), answers, strict=True)
    cell, true, answered = cells_of([*pairs, *((label, _UNSEEN) for label in gold)])
    share: FloatArray = np.bincount(cell[:n], weight / total, len(true)).astype(np.float64)
    value, change = influences_on(statistic, true, answered, share)
    counts: FloatArray = np.bincount(cluster_codes(gold)[place], weight).astype(np.float64)
    return Worth(value, value + change[cell[:n]], value + change[cell[n:]], items_alike(counts[counts > 0]))
