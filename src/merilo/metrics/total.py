"""The benchmark's total score."""

from __future__ import annotations

from collections.abc import Mapping, Sequence


def total_score(main: Mapping[str, Sequence[float]]) -> float:
    """Compute the mean over datasets of the mean of each dataset's main metrics.

    Args:
        main: the values of the main metrics of every dataset that counts towards the total.

    Returns:
        The total; 0 without datasets.

    Raises:
        ValueError: a dataset has no main metric.

    Example:
        >>> total_score({"RCB": [0.6, 0.8], "LCS": [0.5]})
        0.6
    """
    if not all(main.values()):
        raise ValueError("a dataset without a main metric cannot count towards the total")
    means = [sum(values) / len(values) for values in main.values()]
    return sum(means) / len(means) if means else 0.0
