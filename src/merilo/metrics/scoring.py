"""The scorer for people and models: the only place where answers meet gold.

Scores do not depend on who answered.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, NamedTuple, cast

import numpy as np

from merilo.errors import DataError
from merilo.items import Item, ItemId
from merilo.metrics.answers import Answer, Given, gold_label, require_gold
from merilo.metrics.detox import NO_RATER, Rater, Ratings, rating_steps
from merilo.metrics.metric import NEGLIGIBLE, Judgement, Metric, Score, Statistic
from merilo.metrics.registry import Scoring, metric_of
from merilo.statistics import FloatArray, IntArray
from merilo.statistics.crossed import Influence, of_mean
from merilo.statistics.intervals import DRAWS_AT_ONCE, cluster_codes, interval_over_items
from merilo.strict_json import Json

#: The share of weight by which a statistic is probed; below `NEGLIGIBLE`, so that no label appears or vanishes.
_STEP: Final = NEGLIGIBLE / 100

#: What stands for each criterion of the answer in the name of a group's metric.
CRITERION: Final = "{criterion}"


class Part(NamedTuple):
    """One named score and its items.

    Attributes:
        name: the score's name: "acc", "acc.anatomy", "correct.virtue", "grade_norm.task8_0".
        metric: how it is computed.
        rows: the positions of its items in the list of items.
        criterion: the key of the gold's dictionary, if the gold has one label per criterion.
    """

    name: str
    metric: Metric
    rows: tuple[int, ...]
    criterion: str | None = None


@dataclass(frozen=True, slots=True)
class Scores:
    """The values of all metrics of a dataset for a set of answers.

    Attributes:
        main: the dataset's metrics that could be computed, in the order of its declaration.
        extra: the metrics by group: "acc.anatomy", "correct.virtue", "grade_norm.task8_0".
        missing: metric -> why it could not be computed.
    """

    main: Mapping[str, Score]
    extra: Mapping[str, Score] = field(default_factory=dict)
    missing: Mapping[str, str] = field(default_factory=dict)

    def all(self) -> dict[str, Score]:
        """Main and extra metrics together, main first."""
        return {**self.main, **self.extra}

    def to_dict(self) -> dict[str, Json]:
        """Return the scores as JSON, including metrics that could not be computed."""
        missing: dict[str, Json] = {
            name: {"value": None, "n": 0, "ci95": None, "reason": reason}
            for name, reason in self.missing.items()
        }
        return {**missing, **{name: score.to_dict() for name, score in self.all().items()}}


def parts(scoring: Scoring, items: Sequence[Item]) -> tuple[list[Part], list[Part]]:
    """Return the main scores in the declared order, and those by group, for a complete set of answers to these items.

    Items that lack the field of the groups are in no group; if their answer has criteria, they are in one group.

    Raises:
        DataError: an item lacks data that its metric needs.
    """
    kind = scoring.answer.kind
    if kind == "criteria":
        metric = metric_of(scoring.metrics[0], kind)
        return [], [
            Part(name.replace(CRITERION, criterion), metric, rows, criterion)
            for name, rows in _groups(scoring, items, range(len(items))).items()
            for criterion in scoring.answer.criteria
        ]
    main = [Part(name, metric, _rows(metric, items)) for name, metric in _metrics(scoring).items()]
    if scoring.extra is None:
        return main, []
    metric = metric_of(scoring.extra.partition(".")[0], kind)
    grouped = _groups(scoring, items, _rows(metric, items))
    return main, [Part(name, metric, rows) for name, rows in grouped.items()]


def _metrics(scoring: Scoring) -> dict[str, Metric]:
    return {name: metric_of(name, scoring.answer.kind) for name in scoring.metrics}


def _rows(metric: Metric, items: Sequence[Item]) -> tuple[int, ...]:
    return tuple(range(len(items)) if metric.counted is None else metric.counted(items))


def _groups(scoring: Scoring, items: Sequence[Item], rows: Sequence[int]) -> dict[str, tuple[int, ...]]:
    """Map the name of each group's metric to the positions of its items, sorted by name, numbers by value."""
    fields = scoring.fields_of_groups
    by_values: dict[str, list[int]] = defaultdict(list)
    for row in rows:
        by_values[repr([items[row].value(name) for name in fields])].append(row)
    grouped: dict[str, list[int]] = defaultdict(list)
    for members in by_values.values():
        name = items[members[0]].fill(scoring.extra) or CRITERION
        if not any(f"{{{field}}}" in name for field in fields):
            grouped[name] += members
        elif scoring.answer.kind == "criteria":
            grouped[CRITERION] += members
    return {name: tuple(sorted(grouped[name])) for name in sorted(grouped, key=_order)}


def _order(name: str) -> list[str]:
    return [text.zfill(9) if text.isdecimal() else text for text in re.split(r"(\d+)", name)]


def score(
    scoring: Scoring, items: Sequence[Item], answers: Mapping[ItemId, Given], *, rater: Rater | None = None
) -> Scores:
    """Score one answer to each item, as `score_samples` scores several.

    Args:
        scoring: the dataset's declaration.
        items: the items with their gold answers, in the order of the file.
        answers: item id -> answer (`merilo.metrics.answers.read_answer`).
        rater: rates rewritten sentences; without a rater, J and its parts are missing.

    Raises:
        DataError: an answered item has no gold answer (a closed test), or lacks data that its metric needs.

    Example:
        >>> items = [Item(1, "{inputs}", "()", "1"), Item(2, "{inputs}", "(", "0")]
        >>> scoring = Scoring(name="", answer=Answer(kind="label"), metrics=("acc",))
        >>> score(scoring, items, {1: "1", 2: "1"}).main["acc"].value
        0.5
    """
    return score_samples(
        scoring, items, {item: {"": answer} for item, answer in answers.items()}, rater=rater
    )


def score_samples(
    scoring: Scoring,
    items: Sequence[Item],
    answers: Mapping[ItemId, Mapping[str, Given]],
    *,
    rater: Rater | None = None,
) -> Scores:
    """Score answers to a dataset's items; an item, or a unit of items, counts once, with the mean of its samples.

    Items without an answer are left out, and `n` of each score is the number of items that remain. The exception are
    metrics of units, such as the variants of an exam: there an unanswered item earns 0 in each sample that has any
    answer to its unit. Answers to unknown items are ignored; the code that reads a file reports both cases.

    Args:
        scoring: the dataset's declaration.
        items: the items with their gold answers, in the order of the file.
        answers: item id -> sample -> answer; a sample has the same name in all items that it answers.
        rater: as for `score`.

    Raises:
        DataError: as `score`.
    """
    answered = [item for item in items if item.id in answers]
    if not scoring.rated:
        require_gold(scoring.answer, answered, scoring.name)
    ratings = None
    if rater and any(metric.ratings for metric in _metrics(scoring).values()):
        pairs = [(str(item.inputs), str(text)) for item in answered for text in answers[item.id].values()]
        ratings = rater.rate([source for source, _ in pairs], [text for _, text in pairs])
    sheet = _Sheet(scoring, items, answers, answered, ratings)
    main, extra = parts(scoring, items)
    scored = {part.name: sheet.score(part, sheet.counted(part)) for part in main}
    grouped = {part.name: sheet.score(part, counted) for part in extra if (counted := sheet.counted(part))}
    return Scores(
        {name: value for name, value in scored.items() if isinstance(value, Score)},
        {name: value for name, value in grouped.items() if isinstance(value, Score)},
        {name: value for name, value in scored.items() if isinstance(value, str)},
    )


class _Sheet(NamedTuple):
    """The answers to items, scored part by part."""

    scoring: Scoring
    items: Sequence[Item]
    answers: Mapping[ItemId, Mapping[str, Given]]
    answered: Sequence[Item]
    ratings: Ratings | None

    def counted(self, part: Part) -> list[tuple[Item, str]]:
        """Return each item that counts with each sample: those of its answers, or of all answers to its unit."""
        items, unit_of = [self.items[row] for row in part.rows], part.metric.unit_of
        if part.metric.unit is None:
            return [(item, sample) for item in items for sample in self.answers.get(item.id, ())]
        begun: dict[Hashable, dict[str, None]] = defaultdict(dict)
        for item in self.answered:
            begun[unit_of(item)] |= dict.fromkeys(self.answers[item.id])
        return [(item, sample) for item in items for sample in begun.get(unit_of(item), ())]

    def score(self, part: Part, counted: Sequence[tuple[Item, str]]) -> Score | str:
        """Score a part on its items and samples that count, or return the reason why it cannot be computed."""
        metric, items = part.metric, [item for item, _ in counted]
        answers = [self.answers.get(item.id, {}).get(sample, "") for item, sample in counted]
        if metric.lacking and (reason := metric.lacking(items or self.items, answers)):
            return reason
        if metric.statistic:
            return self._statistic(part, metric.statistic, items, answers)
        if metric.ratings is None:
            earned = points(self.scoring.answer, metric, items, answers)
        elif self.ratings is None:
            return NO_RATER
        else:
            rated = [(item.id, sample) for item in self.answered for sample in self.answers[item.id]]
            place = {pair: row for row, pair in enumerate(rated)}
            earned = metric.ratings(self.ratings)[[place[item.id, sample] for item, sample in counted]]
        code, own, clusters = self._samples(items)
        if metric.unit is None or not items:
            of_mean_points = mean_score(
                part.name, np.bincount(code, earned) / np.bincount(code), own, clusters
            )
            return replace(of_mean_points, answers=_several(items, own))
        values = _unit_values(metric, counted, earned)
        over = f"{metric.unit.removesuffix('_id')}s"
        mean = float(values.mean())
        interval = interval_over_items(mean, of_mean(values), over=over) if len(values) > 1 else None
        shown = earned if part.name == metric.name else earned / most_points(metric, items)
        of_items = (np.bincount(code, shown) / np.bincount(code)).tolist()
        per_item = dict(zip(own, of_items, strict=True))
        given = sum(sample in self.answers.get(item.id, ()) for item, sample in counted)
        return Score(part.name, mean, len(own), interval, per_item, answers=_several(items, own) and given)

    def _statistic(
        self, part: Part, statistic: Statistic, items: Sequence[Item], answers: Sequence[Given]
    ) -> Score:
        """Return a statistic of gold and answers, with its interval from the influence of each item; 0 without items.

        Where all answers are correct or all are wrong, items count as fewer if labels are rare (`items_alike`).
        """
        if not items:
            return Score(part.name, 0.0, 0)
        gold = [gold_label(item, part.criterion) for item in items]
        texts = answers
        if part.criterion is not None:
            texts = [cast("Mapping[str, str]", answer)[part.criterion] for answer in answers]
        cell, true, answered = cells_of(zip(gold, cast("list[str]", texts), strict=True))
        code, own, clusters = self._samples(items)
        weight = 1 / np.bincount(code)[code]
        share = np.bincount(cell, weight).astype(np.float64) / len(own)
        value, change = influences_on(statistic, true, answered, share)
        alike = items_alike(np.bincount(cluster_codes(gold), weight).astype(np.float64))
        of_item = np.bincount(code, change[cell] * weight).astype(np.float64) / len(own)
        influence = Influence(of_item, alike=alike)
        interval = interval_over_items(value, influence, clusters, bounds=part.metric.bounds)
        several = _several(items, own)
        return Score(part.name, value, len(own), interval, {}, shared_clusters(clusters), several)

    def _samples(self, items: Sequence[Item]) -> tuple[IntArray, list[ItemId], list[Hashable] | None]:
        """Return the code of the item that each sample belongs to, and the ids and clusters by code."""
        own = {item.id: item for item in items}
        clusters = clusters_for([*own.values()], self.scoring.cluster)
        return cluster_codes([item.id for item in items]), [*own], clusters


def _several(samples: Sequence[Item], items: Sequence[ItemId]) -> int | None:
    return len(samples) if len(samples) > len(items) else None


def points(form: Answer, metric: Metric, items: Sequence[Item], answers: Sequence[Given]) -> FloatArray:
    """Return the points of each answer, shape (n,); `items` are those that the answers belong to.

    Raises:
        DataError: the metric has no points of single answers.
    """
    if metric.points is None:
        raise DataError(f"the metric '{metric.name}' gives no points for single answers")
    pairs = zip(items, answers, strict=True)
    return np.array([metric.points(form, item, answer) for item, answer in pairs], dtype=np.float64)


def most_points(metric: Metric, items: Sequence[Item]) -> FloatArray:
    """Return the most points of each item, shape (n,)."""
    return np.array([1.0 if metric.most is None else metric.most(item) for item in items])


def _unit_values(metric: Metric, counted: Sequence[tuple[Item, str]], earned: FloatArray) -> FloatArray:
    """Return the share of points of each unit, or whether it earned all of them; the mean of its samples."""
    most = most_points(metric, [item for item, _ in counted])
    of_row = [(metric.unit_of(item), sample) for item, sample in counted]
    attempt = cluster_codes(of_row)
    share = np.bincount(attempt, earned) / np.bincount(attempt, most)
    whole = np.bincount(attempt, earned < most) == 0
    unit = cluster_codes([unit for unit, _ in dict.fromkeys(of_row)])
    return np.asarray(np.bincount(unit, whole if metric.whole else share) / np.bincount(unit))


def mean_score(
    name: str,
    values: Sequence[float] | FloatArray,
    ids: Sequence[ItemId],
    clusters: Sequence[Hashable] | None = None,
) -> Score:
    """Return the mean of points of items, with its interval over items; 0 without items.

    Args:
        name: the metric's name.
        values: shape (n,), from 0 to 1.
        ids: shape (n,), the items' ids.
        clusters: shape (n,), equal for items of one cluster; by default, items are independent.
    """
    earned = np.asarray(values, dtype=np.float64)
    per_item = dict(zip(ids, earned.tolist(), strict=True))
    value = float(earned.mean()) if len(earned) else 0.0
    interval = interval_over_items(value, of_mean(earned), clusters) if len(earned) else None
    return Score(name, value, len(earned), interval, per_item, shared_clusters(clusters))


def cells_of(pairs: Iterable[tuple[str, str]]) -> tuple[IntArray, list[str], list[str]]:
    """Return the cell of each pair of gold and answer, and the gold and the answer of each cell."""
    cells: dict[tuple[str, str], int] = {}
    cell = np.fromiter((cells.setdefault(pair, len(cells)) for pair in pairs), np.int64)
    return cell, [gold for gold, _ in cells], [answer for _, answer in cells]


def influences_on(
    statistic: Statistic, true: Sequence[str], answered: Sequence[str], share: FloatArray
) -> tuple[float, FloatArray]:
    """Return a statistic of a table, and its change per share of weight that moves to each cell.

    Args:
        statistic: the statistic.
        true: shape (cells,), the gold answer of each cell.
        answered: shape (cells,), the answer of each cell.
        share: shape (cells,), the share of all weight in each cell.

    References:
        R. von Mises (1947), On the asymptotic distribution of differentiable statistical functions. Annals of
        Mathematical Statistics 18, 309-348.
    """
    value = float(statistic(true, answered, share[np.newaxis])[0])
    change, step = np.empty(len(share)), max(1, DRAWS_AT_ONCE // len(share))
    for start in range(0, len(share), step):
        rows = np.arange(start, min(start + step, len(share)))
        probes = np.repeat(share[np.newaxis] * (1 - _STEP), rows.size, axis=0)
        probes[np.arange(rows.size), rows] += _STEP
        change[rows] = (statistic(true, answered, probes) - value) / _STEP
    # The mean at the given weights is the value, up to the rounding of the probes.
    return value, change - share @ change


def items_alike(counts: FloatArray) -> float:
    """Compute the effective number of items scored 0 or 1 if all answers are correct or all are wrong.

    If one answer of the n_k with label k is wrong, accuracy loses 1 / n. A statistic in which all K labels have equal
    weight loses more if the label is rare: K^2 / sum(1 / n_k), at most n.

    Args:
        counts: shape (labels,), how many items have each gold label; 0 for labels that occur only in answers.

    Example:
        >>> items_alike(np.array([50, 50])), items_alike(np.array([98, 2])) < 8
        (100.0, True)
    """
    n = float(counts.sum())
    return min(len(counts) ** 2 / float((1 / np.maximum(counts, 1.0)).sum()), n) if n > 0 else 0.0


def explain(scoring: Scoring, item: Item, answer: Given, *, rater: Rater | None = None) -> list[Judgement]:
    """Explain how one item's answer is judged by each metric that is computed item by item.

    A statistic depends on all items together; for it the comparison of the answer with the gold answer is explained.

    Raises:
        DataError: as `score`.
    """
    form = scoring.answer
    if not scoring.rated:
        require_gold(form, [item], scoring.name)
    if isinstance(answer, Mapping):
        return [
            _compared(f"{scoring.metrics[0]}, {name}", answer[name], gold_label(item, name))
            for name in form.criteria
        ]
    return [
        judged
        for metric in _metrics(scoring).values()
        if (judged := _judged(metric, form, item, answer, rater)) is not None
    ]


def _judged(metric: Metric, form: Answer, item: Item, answer: Given, rater: Rater | None) -> Judgement | None:
    """Explain one metric's judgement; `None` if the metric needs more samples than there are."""
    name = metric.name
    if metric.statistic:
        return _compared(name, str(answer), gold_label(item))
    if metric.ratings:
        if rater is None:
            raise DataError(f"J {NO_RATER}")
        ratings = rater.rate([str(item.inputs)], [str(answer)])
        steps = rating_steps(str(item.inputs), str(answer), ratings) if name == "j" else ()
        return Judgement(name, float(metric.ratings(ratings)[0]), 1.0, tuple(steps))
    if metric.unit is None and metric.lacking and metric.lacking([item], [answer]):
        return None
    earned = float(points(form, metric, [item], [answer])[0])
    most = float(most_points(metric, [item])[0])
    if metric.steps is None:
        compared = _compared(name, str(answer), gold_label(item))
        return replace(compared, points=earned, most=most)
    return Judgement(name, earned, most, (*metric.steps(form, item, answer), f"{earned:g} of {most:g}"))


def _compared(metric: str, answer: str, gold: str) -> Judgement:
    """Explain a comparison character for character."""
    same = answer == gold
    folded = answer.strip().casefold() == gold.strip().casefold()
    differ = "; they differ only in case or surrounding white space" if folded and not same else ""
    return Judgement(metric, float(same), 1.0, (f"answer {answer!r}, gold {gold!r}{differ}",))


def clusters_for(items: Sequence[Item], field: str | None) -> list[Hashable] | None:
    """Return the cluster of each item; `None` if items are independent: without a field, or if no item has it.

    Args:
        items: the items; one without the field is a cluster of its own.
        field: the field of `meta` or `inputs` that items of one cluster share.

    Example:
        >>> clusters_for([Item(1, "", {"text": "A"}), Item(2, "", {"text": "A"}), Item(3, "", {})], "text")
        ['A', 'A', ('without', 2)]
    """
    values = [item.value(field) for item in items] if field else []
    if all(value is None for value in values):
        return None
    return [("without", place) if value is None else str(value) for place, value in enumerate(values)]


def shared_clusters(clusters: Sequence[Hashable] | None) -> int | None:
    """Count the clusters; `None` if every item is a cluster of its own."""
    count = len(set(clusters or ()))
    return count if count and clusters is not None and count < len(clusters) else None
