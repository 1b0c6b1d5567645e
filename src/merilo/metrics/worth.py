"""The contribution of single answers to a metric.

A mean over items is a sum of contributions. Macro F1 and the Matthews correlation are not, but to first order they
are the sum of each answer's influence (the von Mises expansion), which is what an interval over items and annotators
needs. This module gives both in one form, so that the code that resamples annotators does not depend on the metric.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from merilo.datasets.declaration import Dataset
from merilo.items import Item
from merilo.metrics import classification, exam, squad
from merilo.metrics.pass_at_k import PASSED
from merilo.metrics.scoring import CRITERION, exam_item, exam_items, gold_label, groups
from merilo.statistics import FloatArray, IntArray

#: Metrics that are a mean over items.
MEANS: Final = ("acc", "em", "f1", "grade_norm")

#: Metrics that depend on all labels together.
OF_LABELS: Final = ("f1_macro", "mcc")

#: Shares of one label alone add up to 1 only up to rounding.
_ROUNDING: Final = 1e-12

#: The metric of a part `grade_norm.task...`: the mean share of the task's points.
TASK: Final = "task"


@dataclass(frozen=True, slots=True)
class NamedPart:
    """One named score and its items.

    Attributes:
        name: the score's name: "acc", "acc.anatomy", "correct.virtue", "grade_norm.task8_0".
        metric: how it is computed: one of `MEANS`, `OF_LABELS` or `TASK`.
        rows: the positions of its items in the list of items.
        criterion: the key of the gold's dictionary, if the gold has one label per criterion.
    """

    name: str
    metric: str
    rows: tuple[int, ...]
    criterion: str | None = None

    @property
    def is_mean(self) -> bool:
        """Whether the score is a mean over items."""
        return self.metric not in OF_LABELS

    @property
    def bounds(self) -> tuple[float, float]:
        """The smallest and the largest value of the metric."""
        return (-1.0, 1.0) if self.metric == "mcc" else (0.0, 1.0)


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


def parts(dataset: Dataset, items: Sequence[Item]) -> tuple[list[NamedPart], list[NamedPart]]:
    """Return the main and extra scores that `merilo.metrics.scoring.score` gives, with their items.

    Metrics that need more than an answer's text (programs, classifiers) are left out.

    Args:
        dataset: the declaration.
        items: the items with gold.

    Returns:
        The main parts in the declared order, and those by group.
    """
    if dataset.answer.kind == "criteria":
        named = [
            NamedPart(group.replace(CRITERION, criterion), "mcc", tuple(rows), criterion)
            for group, rows in groups(dataset, items).items()
            for criterion in dataset.answer.criteria
        ]
        return [], named
    everything = tuple(range(len(items)))
    main = [
        NamedPart(metric, metric, _sat_rows(dataset, items) if metric == "grade_norm" else everything)
        for metric in dataset.metrics
        if metric in MEANS or metric in OF_LABELS
    ]
    if dataset.extra is None:
        return main, []
    metric = dataset.extra.partition(".")[0]
    if metric == "grade_norm":
        by_task: dict[str, list[int]] = {}
        for row in _sat_rows(dataset, items):
            by_task.setdefault(str(items[row].meta.get("id_task")), []).append(row)
        named = [NamedPart(f"grade_norm.task{task}", TASK, tuple(rows)) for task, rows in by_task.items()]
        return main, named
    return main, [NamedPart(name, metric, tuple(rows)) for name, rows in groups(dataset, items).items()]


def _sat_rows(dataset: Dataset, items: Sequence[Item]) -> tuple[int, ...]:
    """Return the positions of the items of complete exam variants."""
    complete = exam.complete_variants(exam_items(dataset, items))
    inside = {item.id for members in complete.values() for item in members}
    return tuple(row for row, item in enumerate(items) if item.id in inside)


def points(dataset: Dataset, part: NamedPart, items: Sequence[Item], answers: Sequence[str]) -> FloatArray:
    """Return the points of each answer under a metric that is a mean over items.

    Args:
        dataset: the declaration.
        part: the score; `part.is_mean` must hold.
        items: shape (n,), the item that each answer belongs to; items may repeat.
        answers: shape (n,).

    Returns:
        Shape (n,). For `grade_norm` the points times 30 / 34, so that the mean over a variant's items is its grade.
    """
    if part.metric in {"grade_norm", TASK}:
        graded = [exam_item(dataset, item) for item in items]
        earned = [exam.points(item, answer) for item, answer in zip(graded, answers, strict=True)]
        if part.metric == TASK:
            return np.array([got / item.most for got, item in zip(earned, graded, strict=True)])
        return np.array(earned, dtype=np.float64) * (exam.VARIANT_ITEMS / exam.VARIANT_POINTS)
    if part.metric.startswith("pass@"):
        return np.array([answer == PASSED for answer in answers], dtype=np.float64)
    gold, separator = [gold_label(item, part.criterion) for item in items], dataset.answer.alternatives
    if dataset.answer.kind == "text" and part.metric in {"f1", "em"}:
        rule = squad.f1_points if part.metric == "f1" else squad.em_points
        return np.array(rule(answers, gold, separator))
    return np.array(classification.hits(answers, gold, separator))


def item_points(dataset: Dataset, items: Sequence[Item], answers: Sequence[str]) -> FloatArray:
    """Return the points of answers from 0 to 1, shape (n,), by the first metric that scores single items.

    Args:
        dataset: the declaration.
        items: shape (n,), the item that each answer belongs to; items may repeat.
        answers: shape (n,).
    """
    metric = TASK if "grade_norm" in dataset.metrics else "em" if dataset.answer.kind == "text" else "acc"
    return points(dataset, NamedPart(metric, metric, ()), items, answers)


def worth(
    dataset: Dataset,
    part: NamedPart,
    items: Sequence[Item],
    *,
    place: IntArray,
    answers: Sequence[str],
    weight: FloatArray,
) -> Worth:
    """Compute the contribution of each answer to a score, at the given weights.

    Args:
        dataset: the declaration.
        part: the score.
        items: the items that `place` refers to.
        place: shape (n,), the position of each answer's item in `items`; an item may have several answers.
        answers: shape (n,).
        weight: shape (n,), 0 or more: the weight of each answer within its item; 1 for the consensus answer and 0 for
            others gives the score of the consensus, 1 / (answers of the item) gives the expected score of a randomly
            drawn answer.

    References:
        R. von Mises (1947), On the asymptotic distribution of differentiable statistical functions. Annals of
        Mathematical Statistics 18, 309-348.

    Example:
        >>> from merilo.datasets.declaration import undeclared
        >>> items = [Item(1, "", "", "a"), Item(2, "", "", "b")]
        >>> answers, weight = ["a", "b", "b"], np.array([0.5, 0.5, 1.0])
        >>> part, place = NamedPart("acc", "acc", (0, 1)), np.array([0, 0, 1])
        >>> found = worth(undeclared(), part, items, place=place, answers=answers, weight=weight)
        >>> found.value, found.answer.tolist()
        (0.75, [1.0, 0.0, 1.0])
    """
    total = float(weight.sum())
    if part.is_mean:
        earned = points(dataset, part, [items[row] for row in place.tolist()], answers)
        value = float(earned @ weight) / total if total > 0 else 0.0
        if part.metric == "grade_norm":
            most = np.array([exam_item(dataset, item).most for item in items], dtype=np.float64)
            mean = float(most[place] @ weight) / total if total > 0 else 1.0
            # The grade is a ratio: points earned to points that could be earned, of which questions have 1 to 4. As a
            # mean of points it would vary with the questions' points even if every answer is correct.
            pull = value * (1 - most / mean)
            return Worth(value, earned + pull[place], pull, total)
        return Worth(value, earned, np.zeros(len(items)), total)
    codes: dict[str, int] = {}
    gold = np.array(
        [codes.setdefault(gold_label(item, part.criterion), len(codes)) for item in items], dtype=np.int64
    )
    given = np.array([codes.setdefault(answer, len(codes)) for answer in answers], dtype=np.int64)
    table = _Table(gold, gold[place], given, weight / total if total > 0 else weight, len(codes), total)
    return _f1_worth(table) if part.metric == "f1_macro" else _mcc_worth(table)


@dataclass(frozen=True, slots=True)
class _Table:
    """Gold labels of items, and the weighted pairs of gold and answer.

    Attributes:
        gold: shape (items,).
        true: shape (n,), the gold label of each answer's item.
        given: shape (n,), the label of each answer.
        share: shape (n,), the answers' weights, which sum to 1.
        labels: how many labels there are.
        total: the sum of the original weights: the number of items of the score.
    """

    gold: IntArray
    true: IntArray
    given: IntArray
    share: FloatArray
    labels: int
    total: float

    def of_gold(self) -> FloatArray:
        """The share of items with each gold label, shape (labels,)."""
        return np.bincount(self.true, self.share, self.labels).astype(np.float64)

    def of_answers(self) -> FloatArray:
        """The share of answers with each label, shape (labels,)."""
        return np.bincount(self.given, self.share, self.labels).astype(np.float64)


def _f1_worth(table: _Table) -> Worth:
    """Compute the influences for macro F1.

    An item of gold g answered a adds (2 [g = a] / b_g - F_g / b_g - F_a / b_a) / labels, b = gold + answers.
    """
    gold = table.of_gold()
    both = gold + table.of_answers()
    right = table.true == table.given
    present = both > 0
    f1 = np.divide(
        2 * np.bincount(table.true, table.share * right, table.labels),
        both,
        out=np.zeros(table.labels),
        where=present,
    )
    inverse = np.divide(1.0, both, out=np.zeros(table.labels), where=present)
    k = max(int(present.sum()), 1)
    value = float(f1.sum()) / k
    pull = f1 * inverse
    answer = value + (2 * right * inverse[table.true] - pull[table.true] - pull[table.given]) / k
    alike = classification.items_alike("f1_macro", gold[present] * table.total) if present.any() else 0.0
    return Worth(value, answer, value - pull[table.gold] / k, alike)


def _mcc_worth(table: _Table) -> Worth:
    """Compute the influences for the Matthews correlation (c - s) / sqrt(x y).

    The derivative with respect to adding an item with gold g and answer a.
    """
    t, p = table.of_gold(), table.of_answers()
    c, s = float(table.share @ (table.true == table.given)), float(t @ p)
    x, y = 1 - float(p @ p), 1 - float(t @ t)
    if min(x, y) <= _ROUNDING:
        return Worth(0.0, np.zeros(len(table.given)), np.zeros(len(table.gold)), table.total)
    root = float(np.sqrt(x * y))
    value = (c - s) / root

    def influence(true: IntArray, hit: FloatArray, p_of: FloatArray, t_of: FloatArray) -> FloatArray:
        above = (hit - c) - (p[true] + t_of - 2 * s)
        below = -(p_of - float(p @ p)) / x - (t[true] - float(t @ t)) / y
        return np.asarray(value + above / root - value * below)

    hit = (table.true == table.given).astype(np.float64)
    answer = influence(table.true, hit, p[table.given], t[table.given])
    nothing = np.zeros(len(table.gold))
    alike = classification.items_alike("mcc", t * table.total)
    return Worth(value, answer, influence(table.gold, nothing, nothing, nothing), alike)
