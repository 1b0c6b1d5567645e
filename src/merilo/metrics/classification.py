"""Metrics of closed answers: accuracy, exact match, macro F1, Matthews correlation."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from merilo.items import ItemId
from merilo.metrics.score import Judgement, Score
from merilo.statistics import FloatArray, IntArray
from merilo.statistics.intervals import (
    ALIKE,
    DRAWS_AT_ONCE,
    RESAMPLES,
    Interval,
    assumed_cluster_effect,
    bootstrap_interval,
    cluster_codes,
    mean_interval,
    wilson_form,
)


def acc(
    answers: Sequence[str],
    gold: Sequence[str],
    ids: Sequence[ItemId] | None = None,
    clusters: Sequence[Hashable] | None = None,
    *,
    separator: str | None = None,
    name: str = "acc",
    seed: int = 0,
) -> Score:
    """Compute accuracy: the share of answers equal to the gold answer, character for character.

        acc = |{i: answer_i = gold_i}| / n

    Answers are not normalised: " A" differs from "A". Without items the value is 0 and there is no interval.

    Args:
        answers: shape (n,).
        gold: shape (n,).
        ids: shape (n,), the items' ids; by default 0 .. n-1.
        clusters: shape (n,), equal for items that share a text or a dialogue.
        separator: the separator of several gold answers in a gold text; `None` if each gold text is one answer.
        name: the name of the score, such as "acc.Physics" for a part of a dataset.
        seed: random seed for the interval's bootstrap, which is used only for clustered items.

    Raises:
        ValueError: the sequences differ in length.

    References:
        scikit-learn, `sklearn.metrics.accuracy_score`.

    Example:
        >>> score = acc(["1", "2", "1"], ["1", "2", "2"])
        >>> round(score.value, 3), score.n, score.interval.method
        (0.667, 3, 'Wilson score')
    """
    right = hits(answers, gold, separator)
    names: Sequence[ItemId] = range(len(right)) if ids is None else ids
    value = sum(right) / len(right) if right else 0.0
    per_item = dict(zip(names, right, strict=True))
    return Score(name, value, len(right), mean_interval(right, clusters, seed=seed), per_item)


def hits(answers: Sequence[str], gold: Sequence[str], separator: str | None = None) -> list[float]:
    """Return the accuracy of each answer: 1 if it equals the gold answer or one of its alternatives, else 0.

    Args:
        answers: shape (n,).
        gold: shape (n,).
        separator: the separator of several gold answers in a gold text; `None` if each gold text is one answer.

    Raises:
        ValueError: the sequences differ in length.

    Example:
        >>> hits(["1", "b"], ["1", "a; b"], ";")
        [1.0, 1.0]
    """
    pairs = zip(answers, gold, strict=True)
    if separator is None:
        return [float(answer == true) for answer, true in pairs]
    return [
        float(answer == true or answer in map(str.strip, true.split(separator))) for answer, true in pairs
    ]


def em(
    answers: Sequence[str],
    gold: Sequence[str],
    ids: Sequence[ItemId] | None = None,
    clusters: Sequence[Hashable] | None = None,
    *,
    separator: str | None = None,
    seed: int = 0,
) -> Score:
    """Compute exact match of generated answers: the same as `acc`, under the name used for open answers.

    The exact match of CheGeKa and MultiQ, which folds case and punctuation, is `merilo.metrics.squad.em`.

    Example:
        >>> em(["12", "-7"], ["12", "7"]).value
        0.5
    """
    return acc(answers, gold, ids, clusters, separator=separator, name="em", seed=seed)


def judge_equal(answer: str, gold: str, metric: str = "acc") -> Judgement:
    """Explain how `acc` and `em` judge one answer.

    Example:
        >>> judge_equal("A ", "A").points
        0.0
    """
    same = answer == gold
    steps = [f"answer {answer!r}, gold {gold!r}: compared character for character"]
    if same:
        steps.append("equal: 1 of 1")
    elif answer.strip().casefold() == gold.strip().casefold():
        steps.append(
            "they differ only in case or surrounding white space, which this metric does not ignore: 0 of 1"
        )
    else:
        steps.append("not equal: 0 of 1")
    return Judgement(metric, float(same), 1.0, tuple(steps))


def f1_macro(
    answers: Sequence[str], gold: Sequence[str], clusters: Sequence[Hashable] | None = None, *, seed: int = 0
) -> Score:
    """Compute macro F1: the unweighted mean of F1 over all labels that occur in gold or answers.

        F1(label) = 2 TP / (gold count + answer count)

    An answer that is not a label of the dataset counts as an additional label with F1 = 0, as in scikit-learn, so an
    invalid answer costs more than a wrong label. The interval is a bootstrap over items (or clusters) in
    Wilson's form. If all answers are correct or all are wrong, every resample is the same; Wilson's interval
    of the accuracy is used instead, with fewer items if labels are rare (`items_alike`), and its method says so.

    Args:
        answers: shape (n,).
        gold: shape (n,).
        clusters: shape (n,), equal for items that share a text.
        seed: random seed for the bootstrap resamples.

    Raises:
        ValueError: the sequences differ in length.

    References:
        scikit-learn, `sklearn.metrics.f1_score(average="macro")`.

    Example:
        >>> round(f1_macro(["1", "2", "1"], ["1", "2", "2"]).value, 4)
        0.6667
    """
    table = _Cells.of(answers, gold)
    value = float(_macro_f1(table, table.counts[np.newaxis])[0]) if table.n else 0.0
    interval = _resampled(table, _macro_f1, clusters, seed)
    if interval is None and value in (0.0, 1.0) and table.n:
        interval = _all_alike("f1_macro", table, value, clusters)
    return Score("f1_macro", value, table.n, interval)


def mcc(
    answers: Sequence[str],
    gold: Sequence[str],
    clusters: Sequence[Hashable] | None = None,
    *,
    name: str = "mcc",
    seed: int = 0,
) -> Score:
    """Compute the Matthews correlation coefficient, in its form for any number of labels.

    With c correct answers of n, t_k items of gold label k and p_k answers k:

        MCC = (c n - sum t_k p_k) / sqrt((n^2 - sum p_k^2) (n^2 - sum t_k^2))

    If all gold labels or all answers are the same, the root is 0 and the coefficient is defined as 0, as in
    scikit-learn. The interval is a bootstrap over items (or clusters) in Wilson's form. If all answers are
    correct or all are wrong (1 or -1), it is Wilson's for `items_alike`; it is `None` if all resamples agree otherwise.

    Args:
        answers: shape (n,).
        gold: shape (n,).
        clusters: shape (n,), equal for items that share a text.
        name: the name of the score, such as "correct.virtue".
        seed: random seed for the bootstrap resamples.

    Raises:
        ValueError: the sequences differ in length.

    References:
        J. Gorodkin (2004), Comparing two K-category assignments by a K-category correlation coefficient.
        scikit-learn, `sklearn.metrics.matthews_corrcoef`.

    Example:
        >>> mcc(["1", "0", "1", "1"], ["1", "0", "0", "1"]).value
        0.5773502691896258
    """
    table = _Cells.of(answers, gold)
    value = float(_correlation(table, table.counts[np.newaxis])[0]) if table.n else 0.0
    if abs(value) > 1 - ALIKE:
        return Score(name, value, table.n, _all_alike("mcc", table, value, clusters))
    interval = _resampled(table, _correlation, clusters, seed)
    return Score(name, value, table.n, interval)


def items_alike(metric: str, counts: FloatArray) -> float:
    """Compute the effective number of items scored 0 or 1 if all answers are correct or all are wrong.

    If one answer of the n_k with label k is wrong, accuracy loses 1 / n. Macro F1 of K labels loses more if
    the label is rare, because all labels have equal weight; the correlation loses 1 / (n (1 - sum p_k^2)) on
    a scale from -1 to 1.

    Args:
        metric: "f1_macro" or "mcc".
        counts: shape (labels,), how many items have each gold label; 0 for labels that occur only in answers.

    Returns:
        K^2 / sum(1 / n_k) for macro F1, 2 n (1 - sum (n_k / n)^2) for the correlation, at most n.

    Example:
        >>> items_alike("f1_macro", np.array([50, 50])), items_alike("mcc", np.array([98, 2])) < 8
        (100.0, True)
    """
    n = float(counts.sum())
    if n <= 0:
        return 0.0
    if metric == "mcc":
        return n * min(2 * (1 - float((counts / n) @ (counts / n))), 1.0)
    return min(len(counts) ** 2 / float((1 / np.maximum(counts, 1.0)).sum()), n)


def label_figures(metric: str, gold: IntArray, answer: IntArray, counts: IntArray) -> FloatArray:
    """Compute `f1_macro` or `mcc` for many contingency tables (gold x answer) at once.

    Args:
        metric: "f1_macro" or "mcc".
        gold: shape (cells,), label codes from 0 on.
        answer: shape (cells,), label codes from 0 on.
        counts: shape (tables, cells), how many items each table has in each cell.

    Returns:
        Shape (tables,).

    Example:
        >>> codes = np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1])
        >>> label_figures("mcc", *codes, np.array([[1, 1, 0, 2], [2, 0, 0, 2]])).round(4).tolist()
        [0.5774, 1.0]
    """
    labels = int(max(gold.max(initial=-1), answer.max(initial=-1))) + 1
    table = _Cells(gold, answer, counts[0], labels, np.zeros(0, np.int64))
    return {"f1_macro": _macro_f1, "mcc": _correlation}[metric](table, counts)


@dataclass(frozen=True, slots=True)
class _Cells:
    """The non-empty cells of the contingency table of gold and answer.

    Attributes:
        gold: shape (cells,), label codes.
        answer: shape (cells,), label codes.
        counts: shape (cells,), items in each cell.
        labels: how many labels there are.
        cell: shape (n,), the cell of each item.
    """

    gold: IntArray
    answer: IntArray
    counts: IntArray
    labels: int
    cell: IntArray

    @property
    def n(self) -> int:
        return len(self.cell)

    @classmethod
    def of(cls, answers: Sequence[str], gold: Sequence[str]) -> _Cells:
        codes: dict[str, int] = {}
        cells: dict[tuple[int, int], int] = {}
        cell = np.fromiter(
            (
                cells.setdefault(
                    (codes.setdefault(true, len(codes)), codes.setdefault(answer, len(codes))), len(cells)
                )
                for answer, true in zip(answers, gold, strict=True)
            ),
            np.int64,
        )
        pairs = np.array(list(cells), dtype=np.int64).reshape(-1, 2)
        return cls(pairs[:, 0], pairs[:, 1], np.bincount(cell, minlength=len(cells)), len(codes), cell)


def _by_label(label: IntArray, counts: IntArray, labels: int) -> FloatArray:
    """Sum the counts of cells by label, shape (rows, labels)."""
    added = np.zeros((counts.shape[0], labels))
    order = np.argsort(label, kind="stable")
    present, first = np.unique(label[order], return_index=True)
    added[:, present] = np.add.reduceat(counts[:, order], first, axis=1)
    return added


def _macro_f1(table: _Cells, counts: IntArray) -> FloatArray:
    """Compute macro F1 of each row of cell counts, shape (rows,)."""
    right = table.gold == table.answer
    both = _by_label(table.gold, counts, table.labels) + _by_label(table.answer, counts, table.labels)
    hits = (
        _by_label(table.gold[right], counts[:, right], table.labels) if right.any() else np.zeros_like(both)
    )
    f1 = np.divide(2 * hits, both, out=np.zeros_like(both), where=both > 0)
    return np.asarray(f1.sum(axis=1) / (both > 0).sum(axis=1))


def _correlation(table: _Cells, counts: IntArray) -> FloatArray:
    """Compute the Matthews correlation of each row of cell counts, shape (rows,)."""
    true = _by_label(table.gold, counts, table.labels)
    given = _by_label(table.answer, counts, table.labels)
    n = true.sum(axis=1)
    right = counts[:, table.gold == table.answer].sum(axis=1)
    root = np.sqrt((n**2 - (given**2).sum(axis=1)) * (n**2 - (true**2).sum(axis=1)))
    above = right * n - (true * given).sum(axis=1)
    return np.asarray(np.divide(above, root, out=np.zeros_like(root), where=root > 0))


def _resampled(
    table: _Cells,
    metric: Callable[[_Cells, IntArray], FloatArray],
    clusters: Sequence[Hashable] | None,
    seed: int,
) -> Interval | None:
    """Percentile bootstrap of a metric of the table; `None` if all resamples agree."""
    if not table.n or len(table.counts) == 1:
        return None
    rng = np.random.default_rng(seed)
    codes = None if clusters is None else cluster_codes(clusters)
    shared = codes is not None and 1 < int(codes.max()) + 1 < table.n
    step = max(1, DRAWS_AT_ONCE // table.n)
    estimates = np.empty(RESAMPLES)
    for start in range(0, RESAMPLES, step):
        rows = min(step, RESAMPLES - start)
        if shared and codes is not None:
            counts = _drawn_clusters(table, codes, rng, rows)
        else:
            # Resampling n items is equivalent to a multinomial draw of the cell counts.
            counts = rng.multinomial(table.n, table.counts / table.n, size=rows)
        estimates[start : start + rows] = metric(table, counts)
    if np.ptp(estimates) < ALIKE:
        return None
    value = float(metric(table, table.counts[np.newaxis])[0])
    over, units = ("items", table.n) if not shared or codes is None else ("clusters", int(codes.max()) + 1)
    bounds = (-1.0 if metric is _correlation else 0.0, 1.0)
    return bootstrap_interval(estimates, value, over, units=units, bounds=bounds, seed=seed)


def _all_alike(metric: str, table: _Cells, value: float, clusters: Sequence[Hashable] | None) -> Interval:
    """Compute Wilson's interval if all answers are correct or all are wrong; the items of clusters count as fewer."""
    gold = np.bincount(table.gold, table.counts, table.labels).astype(np.float64)
    low, width = (-1.0, 2.0) if metric == "mcc" else (0.0, 1.0)
    z = NormalDist().inv_cdf(0.975)
    codes = None if clusters is None else cluster_codes(clusters)
    effect = 1.0 if codes is None or not codes.max(initial=0) else assumed_cluster_effect(codes)
    alike = items_alike(metric, gold) / effect
    bottom, top = wilson_form(float(round((value - low) / width)), alike, z)
    method = "Wilson score of accuracy (all right or all wrong, rare labels counted as fewer items)"
    return Interval(low + width * bottom, low + width * top, 0.95, method)


def _drawn_clusters(table: _Cells, codes: IntArray, rng: np.random.Generator, rows: int) -> IntArray:
    """Compute the cell counts of resamples of whole clusters, shape (rows, cells)."""
    m = int(codes.max()) + 1
    times = rng.multinomial(m, np.full(m, 1 / m), size=rows)
    order = np.argsort(table.cell, kind="stable")
    first = np.searchsorted(table.cell[order], np.arange(len(table.counts)))
    return np.asarray(np.add.reduceat(times[:, codes[order]], first, axis=1))
