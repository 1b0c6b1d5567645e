"""Statistics of closed answers and gold together: macro F1 and the Matthews correlation."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

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
