"""Counts and intervals of estimates as text."""

from __future__ import annotations

from typing import Final

from merilo.metrics.score import Score
from merilo.people.uncertainty.two_way import TwoWay, interval_of_record
from merilo.records import rounded
from merilo.statistics.intervals import Interval
from merilo.strict_json import Json
from merilo.text import Text

#: The names of the two kinds of intervals. The first is the interval of record, which needs a name only in
#: column heads.
OVER_BOTH: Final = Text("over items and annotators")
OVER_ITEMS_ALONE: Final = Text("over items alone")

#: A cell without a value.
EMPTY: Final = "—"


def counted(n: int, noun: str) -> str:
    """Format a number with its noun in the singular or plural.

    Example:
        >>> counted(1, "item"), counted(2, "item")
        ('1 item', '2 items')
    """
    return f"{n} {noun}{'' if n == 1 else 's'}"


def items_in_clusters(n: int, clusters: int | None) -> str:
    """Format a number of items with the number of their clusters, if they form any.

    Example:
        >>> items_in_clusters(645, 215), items_in_clusters(1, None)
        ('645 items in 215 clusters', '1 item')
    """
    return counted(n, "item") + (f" in {counted(clusters, 'cluster')}" if clusters else "")


def interval_json(interval: Interval | None) -> Json:
    """Convert an interval to a pair; null without an interval."""
    return None if interval is None else [rounded(interval.low), rounded(interval.high)]


def record_text(score: Score, crowd: TwoWay | None) -> str:
    """Format the interval of record; one over items alone has its name after it. Empty without an interval."""
    interval = interval_of_record(score, crowd)
    if interval is None:
        return ""
    return interval_text(interval) + ("" if crowd else f" {OVER_ITEMS_ALONE.en}")


def interval_text(interval: Interval) -> str:
    """Format an interval as "[0.500, 0.700]"."""
    return f"[{interval.low:.3f}, {interval.high:.3f}]"
