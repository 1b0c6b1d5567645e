"""The result of a metric: its value, number of items, confidence interval and contribution of each item.

Its judgement of one answer; the total score.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from merilo.items import ItemId
from merilo.statistics.intervals import Interval
from merilo.strict_json import Json


@dataclass(frozen=True, slots=True)
class Score:
    """The result of a metric.

    Attributes:
        name: the metric's name: "acc", "f1_macro", "pass@1".
        value: the metric on these items.
        n: how many items it was computed on.
        interval: the 95 % confidence interval, if the metric has one.
        per_item: the contribution of each item; empty for metrics that are not a mean over items (MCC, macro F1).
        clusters: how many clusters these items form; `None` if the items are independent.
    """

    name: str
    value: float
    n: int
    interval: Interval | None = None
    per_item: Mapping[ItemId, float] = field(default_factory=dict)
    clusters: int | None = None

    def to_dict(self) -> dict[str, Json]:
        """Return the score as JSON: value, count, interval and method."""
        interval = self.interval
        return {
            "value": self.value,
            "n": self.n,
            "ci95": None if interval is None else [interval.low, interval.high],
            "interval": None if interval is None else interval.method,
        }


@dataclass(frozen=True, slots=True)
class Judgement:
    """The points that one answer earned under one rule, and why.

    Attributes:
        metric: the metric: "acc", "f1", "grade_norm".
        points: the points that the answer earned.
        most: the maximum number of points.
        steps: the steps of the rule on this answer, in order, one sentence each.
    """

    metric: str
    points: float
    most: float
    steps: tuple[str, ...]


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
