"""The result of a metric: its value, number of items, confidence interval and contribution of each item."""

from __future__ import annotations

from collections.abc import Mapping
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
