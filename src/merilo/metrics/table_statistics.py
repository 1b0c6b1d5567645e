"""Statistics of gold and answers together: macro F1, and Matthews', Pearson's and Spearman's correlations."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite, nan

import numpy as np

from merilo.errors import DataError
from merilo.metrics.metric import NEGLIGIBLE
from merilo.statistics import FloatArray, IntArray


def f1_macro(gold: Sequence[str], answers: Sequence[str], weight: FloatArray) -> FloatArray:
    """Compute macro F1: the unweighted mean of F1 over all labels that occur in gold or answers.

        F1(label) = 2 TP / (gold count + answer count)

    An answer that is not a label of the dataset counts as an additional label with F1 = 0, as in scikit-learn, so an
    invalid answer costs more than a wrong label.

    References:
        scikit-learn, `sklearn.metrics.f1_score(average="macro")`.

    Example:
        >>> f1_macro("1221", "1211", np.ones((1, 4))).round(4).tolist()
        [0.7333]
    """
    codes, true, answered = _coded(gold, answers)
    right = true == answered
    both = _by_label(true, weight, codes) + _by_label(answered, weight, codes)
    present = both > NEGLIGIBLE * weight.sum(axis=1, keepdims=True)
    f1 = np.divide(
        2 * _by_label(true[right], weight[:, right], codes), both, out=np.zeros_like(both), where=present
    )
    return np.asarray(f1.sum(axis=1) / np.maximum(present.sum(axis=1), 1))


def mcc(gold: Sequence[str], answers: Sequence[str], weight: FloatArray) -> FloatArray:
    """Compute the Matthews correlation coefficient, in its form for any number of labels.

    With the share c of correct answers, t_k of items of gold label k and p_k of answers k:

        MCC = (c - sum t_k p_k) / sqrt((1 - sum p_k^2) (1 - sum t_k^2))

    If all gold labels or all answers are the same, the root is 0 and the coefficient is defined as 0, as in
    scikit-learn.

    References:
        J. Gorodkin (2004), Comparing two K-category assignments by a K-category correlation coefficient.
        scikit-learn, `sklearn.metrics.matthews_corrcoef`.

    Example:
        >>> mcc("1001", "1011", np.ones((1, 4))).round(4).tolist()
        [0.5774]
    """
    codes, true, answered = _coded(gold, answers)
    share = weight / np.maximum(weight.sum(axis=1, keepdims=True), np.finfo(float).tiny)
    t, p = _by_label(true, share, codes), _by_label(answered, share, codes)
    right = share[:, true == answered].sum(axis=1)
    x, y = 1 - (p * p).sum(axis=1), 1 - (t * t).sum(axis=1)
    defined = np.minimum(x, y) > NEGLIGIBLE
    above, root = right - (t * p).sum(axis=1), np.sqrt(np.maximum(x * y, 0))
    return np.asarray(np.divide(above, root, out=np.zeros_like(x), where=defined))


def _coded(gold: Sequence[str], answers: Sequence[str]) -> tuple[int, IntArray, IntArray]:
    """Encode labels as integers; return the number of labels, and the codes of gold and answers."""
    codes: dict[str, int] = {}
    true, answered = (
        np.array([codes.setdefault(label, len(codes)) for label in labels], dtype=np.int64)
        for labels in (gold, answers)
    )
    return len(codes), true, answered


def _by_label(label: IntArray, weight: FloatArray, labels: int) -> FloatArray:
    """Sum the weights of cells by label, shape (rows, labels)."""
    sums = np.zeros((weight.shape[0], labels))
    if label.size:
        order = np.argsort(label, kind="stable")
        present, first = np.unique(label[order], return_index=True)
        sums[:, present] = np.add.reduceat(weight[:, order], first, axis=1)
    return sums


def pearson(gold: Sequence[str], answers: Sequence[str], weight: FloatArray) -> FloatArray:
    """Compute Pearson's correlation of answers and gold; 0 if either does not vary.

    An answer that is not a number takes the mean of the others, so that it adds nothing to the correlation.

    Raises:
        DataError: a gold answer is not a number.

    References:
        SciPy, `scipy.stats.pearsonr`.

    Example:
        >>> pearson("123", "132", np.ones((1, 3))).tolist()
        [0.5]
    """
    return _correlation(*_numbers(gold, answers), weight)


def spearman(gold: Sequence[str], answers: Sequence[str], weight: FloatArray) -> FloatArray:
    """Compute Spearman's correlation: Pearson's of the ranks, in which equal numbers share their mean rank.

    Errors and unreadable answers are those of `pearson`.

    References:
        SciPy, `scipy.stats.spearmanr`.

    Example:
        >>> spearman(["1", "2", "30"], ["1.5", "2,5", "3"], np.ones((1, 3))).round(6).tolist()
        [1.0]
    """
    x, y = _numbers(gold, answers)
    return _correlation(_ranks(x, weight), _ranks(y, weight), weight)


def _numbers(gold: Sequence[str], answers: Sequence[str]) -> tuple[FloatArray, FloatArray]:
    x, y = (np.array([_number(text) for text in texts]) for texts in (gold, answers))
    if np.isnan(x).any():
        raise DataError(
            f"a correlation needs numbers, but a gold answer is {gold[int(np.isnan(x).argmax())]!r}"
        )
    return x, y


def _number(text: str) -> float:
    try:
        value = float(text.strip().replace(",", "."))
    except ValueError:
        return nan
    return value if isfinite(value) else nan


def _ranks(values: FloatArray, weight: FloatArray) -> FloatArray:
    """Return mean ranks under the weights of each row, shape (rows, cells); without a number, nan."""
    read = ~np.isnan(values)
    distinct, code = np.unique(values[read], return_inverse=True)
    sums = np.zeros((weight.shape[0], distinct.size))
    for place, cell in enumerate(np.flatnonzero(read)):
        sums[:, code[place]] += weight[:, cell]
    ranks = np.full(weight.shape, nan)
    ranks[:, read] = (np.cumsum(sums, axis=1) - sums / 2)[:, code]
    return ranks


def _correlation(x: FloatArray, y: FloatArray, weight: FloatArray) -> FloatArray:
    """Compute the weighted correlation of each row; values are (rows, cells) or (cells,), weights (rows, cells)."""
    (x, vx), (y, vy) = (_centred(values, weight) for values in (x, y))
    together = (weight * x * y).sum(axis=1)
    where = (vx > 0) & (vy > 0)
    return np.asarray(np.divide(together, np.sqrt(vx * vy), out=np.zeros_like(vx), where=where))


def _centred(values: FloatArray, weight: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the deviations from the weighted mean, and their sum of squares; 0 if it is negligible."""
    read = ~np.isnan(values)
    number, counted = np.where(read, values, 0.0), np.where(read, weight, 0.0)
    total = np.maximum(counted.sum(axis=1), np.finfo(float).tiny)
    deviation = np.where(read, values - ((counted * number).sum(axis=1) / total)[:, None], 0.0)
    square = (counted * deviation**2).sum(axis=1)
    most = np.maximum((deviation**2).max(axis=1, initial=0.0), np.finfo(float).tiny)
    return deviation, np.where(square > NEGLIGIBLE * most * total, square, 0.0)
