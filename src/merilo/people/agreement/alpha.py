"""Krippendorff's alpha for any number of answers per item, on three levels of measurement."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from merilo.errors import UsageError
from merilo.people.votes import Votes
from merilo.settings import Level
from merilo.statistics.arrays import FloatArray


def krippendorff_alpha(votes: Votes, level: Level = "nominal", *, values: ArrayLike | None = None) -> float:
    """Compute Krippendorff's alpha: 1 - observed disagreement / disagreement expected by chance.

    Items may have any number of answers; those with fewer than two are left out. Time and
    memory grow with the number of votes, not with items x labels or labels squared.

    Args:
        votes: the answers.
        level: the distance between two labels: "nominal" (0 or 1), "ordinal" (by the answers between them, in the
            order of the codes), "interval" (by the squared difference of `values`).
        values: shape (labels,), the number behind each label, used for "interval" only; by default the codes
            themselves.

    Returns:
        Alpha: 1 is full agreement, 0 what chance gives, below 0 systematic disagreement. NaN if it is not defined: no
        item has two answers, or all comparable answers have the same label.

    Raises:
        UsageError: `level` is not one of the three, or `values` does not give one finite number per label.

    References:
        K. Krippendorff, Computing Krippendorff's Alpha-Reliability (2011).

    Example:
        >>> votes = Votes(*np.array([[0, 0, 1, 1, 2, 2], [0, 1, 0, 1, 0, 1], [0, 0, 1, 1, 0, 1]]), 3, 2, 2)
        >>> round(krippendorff_alpha(votes), 4)
        0.4444
    """
    answers = np.bincount(votes.item, minlength=votes.items)
    kept = answers[votes.item] >= 2
    item, label = votes.item[kept], votes.label[kept]
    totals = np.bincount(label, minlength=votes.labels).astype(np.float64)
    n = totals.sum()
    if n < 2 or np.count_nonzero(totals) < 2:
        return float("nan")
    if level == "nominal":
        within = _nominal_disagreement(item, label, answers, votes.labels)
        expected = n * n - float(totals @ totals)
    else:
        number = _numbers_of_labels(totals, level, values)
        within = _interval_disagreement(item, number[label], answers)
        expected = 2 * float(n * (totals @ number**2))
    if expected == 0:
        return float("nan")
    return float(1 - within * (n - 1) / expected)


def _nominal_disagreement(
    item: NDArray[np.int32], label: NDArray[np.int32], answers: NDArray[np.intp], labels: int
) -> float:
    """Number of ordered pairs of different labels within an item, divided by its number of answers minus one."""
    cell = item.astype(np.int64) * labels + label
    if answers.size * labels <= 8 * cell.size + 1024:
        same = np.bincount(cell)
        cells = np.flatnonzero(same)
        same = same[cells]
    else:
        cells, same = np.unique(cell, return_counts=True)
    agreeing = np.bincount(cells // labels, weights=same.astype(np.float64) ** 2, minlength=answers.size)
    pairable = answers >= 2
    m = answers[pairable].astype(np.float64)
    return float(((m * m - agreeing[pairable]) / (m - 1)).sum())


def _interval_disagreement(item: NDArray[np.int32], number: FloatArray, answers: NDArray[np.intp]) -> float:
    """Squared differences over ordered pairs within an item, divided by its number of answers minus one."""
    pairable = answers >= 2
    m = answers[pairable].astype(np.float64)
    mean = np.bincount(item, weights=number, minlength=answers.size) / np.maximum(answers, 1)
    # Centred on each item's mean, so that large equal numbers cancel exactly.
    spread = np.bincount(item, weights=(number - mean[item]) ** 2, minlength=answers.size)[pairable]
    return float((2 * m * spread / (m - 1)).sum())


def _numbers_of_labels(totals: FloatArray, level: str, values: ArrayLike | None) -> FloatArray:
    """Return the numbers whose squared differences are the distances of this level, centred on their mean."""
    if level == "ordinal":
        # Krippendorff's ordinal distance is the difference of the labels' middle ranks.
        number = np.cumsum(totals) - totals / 2
    elif level == "interval":
        number = (
            np.arange(totals.size, dtype=np.float64) if values is None else np.array(values, dtype=np.float64)
        )
    else:
        raise UsageError(
            f"there is no level of measurement '{level}' (choose from: nominal, ordinal, interval)"
        )
    if number.shape != totals.shape or not np.isfinite(number).all():
        raise UsageError(f"the interval level needs one finite number for each of the {totals.size} labels")
    centred: FloatArray = number - (totals @ number) / totals.sum()
    return centred
