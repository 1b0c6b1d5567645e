"""The estimates of a study as lines of text."""

from __future__ import annotations

from typing import Final

from merilo.baselines.estimates import Estimate, Estimates, why_items_alone
from merilo.metrics.score import Score
from merilo.people.uncertainty.two_way import TwoWay, interval_of_record
from merilo.records import rounded
from merilo.statistics.intervals import Interval
from merilo.strict_json import Json
from merilo.text import Text

#: The names of the two kinds of intervals. The first is the interval of record, which needs a name only in column heads.
OVER_BOTH: Final = Text("over items and annotators")
OVER_ITEMS_ALONE: Final = Text("over items alone")


def lines(estimates: Estimates) -> list[tuple[str, str]]:
    """Return the estimates as rows (name, value) of the terminal table."""
    rows = [row for name, one in estimates.main.items() for row in _metric_lines(name, one)]
    rows += [(f"  {name}", _brief(one.score, one.two_way)) for name, one in estimates.extra.items()]
    rows += [(name, f"not computed: {reason}") for name, reason in estimates.missing.items()]
    rows += _single_lines(estimates.headline)
    if any(one.two_way or one.single for one in estimates.all().values()):
        rows.append(("95 % intervals", f"{OVER_BOTH.en}, unless the row names another"))
    return rows


def _metric_lines(name: str, estimate: Estimate) -> list[tuple[str, str]]:
    crowd, score = estimate.two_way, estimate.score
    people = f", {counted(crowd.annotators, 'annotator')}" if crowd else ""
    rows = [(name, f"{_brief(score, crowd)}{people}")]
    if crowd and score.interval:
        rows.append((f"  {OVER_ITEMS_ALONE.en}", _text(score.interval)))
    elif reason := why_items_alone(estimate):
        rows.append(("  items and annotators", reason.en))
    if estimate.published and estimate.published_differs:
        brief = _brief(estimate.published, estimate.published_two_way)
        rows.append(("  majorities alone", f"{brief} (published procedure)"))
    if bounds := estimate.bounds:
        on = f"on {counted(bounds.n, 'item')}"
        rows += [
            (f"  {bounds.dropped} dropped as wrong", f"{bounds.dropped_wrong:.3f}  {on}"),
            ("  dropped by plurality", f"{bounds.plurality:.3f}  {on}"),
        ]
    return rows


def _single_lines(headline: Estimate | None) -> list[tuple[str, str]]:
    if headline is None:
        return []
    if headline.single is None:
        return [("single person", f"not defined: {headline.no_single}")] if headline.no_single else []
    single = headline.single
    rows = [
        (
            "single person",
            f"{single.mean:.3f} {_text(single.interval)}  {counted(single.annotators, 'annotator')}, "
            f"{counted(single.answers, 'answer')}",
        ),
        ("  spread beyond chance", f"{single.spread:.3f} {_text(single.spread_interval)} over annotators"),
    ]
    return rows + [
        (
            f"  {name} (of {person.among})",
            f"{person.value:.3f} {_text(person.simultaneous)} {OVER_ITEMS_ALONE.en}  on {counted(person.n, 'item')}",
        )
        for name, person in (("best", single.best), ("worst", single.worst))
        if person is not None
    ]


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


def _brief(score: Score, crowd: TwoWay | None) -> str:
    sure = f" \\{record_text(score, crowd)}" if interval_of_record(score, crowd) else ""
    return f"{score.value:.3f}{sure}  on {items_in_clusters(score.n, score.clusters)}"


def record_text(score: Score, crowd: TwoWay | None) -> str:
    """Format the interval of record; one over items alone has its name after it. Empty without an interval."""
    interval = interval_of_record(score, crowd)
    if interval is None:
        return ""
    return interval_text(interval) + ("" if crowd else f" {OVER_ITEMS_ALONE.en}")


def interval_text(interval: Interval) -> str:
    """Format an interval as "[0.500, 0.700]"."""
    return f"[{interval.low:.3f}, {interval.high:.3f}]"


def _text(interval: Interval) -> str:
    # Rich reads an unescaped square bracket as markup.
    return f"\\{interval_text(interval)}"
