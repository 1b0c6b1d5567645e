"""What a metric answers with: a value, how many items stand behind it, how sure it is, and each item's share."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from merilo.items import ItemId
from merilo.statistics.intervals import Interval


@dataclass(frozen=True, slots=True)
class Score:
    """A metric's answer. A number is never given without the count of items behind it.

    Attributes:
        name: the metric's name: "acc", "f1_macro", "pass@1".
        value: the metric on these items.
        n: how many items it was computed on.
        interval: the 95 % interval, where the metric has one.
        per_item: each item's contribution, where the metric is made of such; empty for those that are not (MCC, macro F1).
    """

    name: str
    value: float
    n: int
    interval: Interval | None = None
    per_item: Mapping[ItemId, float] = field(default_factory=dict)
