"""The arms of a study as tables: a column for each arm, and the differences of each pair."""

from __future__ import annotations

from merilo.baselines.baseline import Baseline
from merilo.baselines.findings import STATUSES
from merilo.records import Span
from merilo.reports.estimates import EMPTY, DataTable
from merilo.text import Money, Text, joined


def arm_name(name: str) -> Text | str:
    """Return what an arm is called in tables: that of a plan in words, others as they are."""
    return {"people": Text("people without training"), "experts": Text("experts")}.get(name, name)


def arm_tables(record: Baseline) -> tuple[DataTable, ...]:
    """Return the table of the arms and, with gold answers, that of the differences between them."""
    arms, statuses = record.by_arm, {str(name): text for name, (text, *_) in STATUSES.items()}
    columns = [
        (
            statuses.get(one.status, one.status),
            next((_value(metric.value, metric.ci95) for metric in one.main_metrics.values()), EMPTY),
            _value(one.single_person.value, one.single_person.ci95) if one.single_person else EMPTY,
            f"{one.item_counts.consensus or 0} / {one.item_counts.total or 0}",
            f"{one.annotator_counts.used or 0} / {one.annotator_counts.total or 0}",
            str(one.response_counts.used or 0),
            str(
                one.response_counts.dropped.get("may_be_mine", 0)
                + one.response_counts.dropped.get("not_shown", 0)
            ),
            _value(one.agreement.krippendorff_alpha, one.agreement.ci95),
            EMPTY if one.cost.total is None else joined([Money(one.cost.total, one.cost.currency)]),
        )
        for one in arms.values()
    ]
    heads = (
        Text("status"),
        Text("consensus", context="column"),
        Text("single person"),
        Text("items with a consensus"),
        Text("annotators used"),
        Text("answers", context="column"),
        Text("own items skipped"),
        Text("Krippendorff's alpha"),
        Text("cost"),
    )
    rows = tuple((head, *cells) for head, *cells in zip(heads, *columns, strict=True))
    estimates = DataTable(Text("Arms of the study"), ("", *map(arm_name, arms)), rows)
    if not record.differences:
        return (estimates,)
    differences = DataTable(
        Text("Differences between the arms"),
        (
            "",
            Text("difference", context="column"),
            Text("95 % interval"),
            Text("items", context="column"),
        ),
        tuple(
            (
                one.name,
                EMPTY if one.value is None else Text("{value:+.3f}", value=one.value),
                Text("[{low:+.3f}, {high:+.3f}]", low=one.ci95[0], high=one.ci95[1])
                if one.ci95
                else one.reason or EMPTY,
                str(one.n),
            )
            for one in record.differences
        ),
    )
    return estimates, differences


def _value(value: float | None, ends: Span | None) -> Text | str:
    if value is None:
        return EMPTY
    if ends is None:
        return Text("{value:.3f}", value=value)
    return Text("{value:.3f} [{low:.3f}, {high:.3f}]", value=value, low=ends[0], high=ends[1])
