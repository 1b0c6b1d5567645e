"""The arms of a study beside each other: a column for each arm, and the differences between them."""

from __future__ import annotations

from collections.abc import Iterator

from merilo.baselines.arms import EVERYBODY, EXPERTS, PEOPLE
from merilo.baselines.baseline import Baseline
from merilo.estimate import Estimate
from merilo.reports.facts import status
from merilo.reports.table import Bar, Cell, Section, Table
from merilo.text import Money, Text


def arm_name(name: str) -> Text | str:
    """Return what an arm is called in tables: that of a plan in words, others as they are."""
    names = {PEOPLE: Text("people without training"), EXPERTS: Text("experts"), EVERYBODY: Text("everybody")}
    return names.get(name, name)


def arm_sections(baseline: Baseline) -> Iterator[Section]:
    """Yield the section on the arms; none if the study has one group of annotators."""
    if not baseline.arms:
        return
    arms = baseline.by_arm
    columns = [[value for _, value in _facts(arm)] for arm in arms.values()]
    names = [name for name, _ in _facts(baseline)]
    rows = tuple((name, *cells) for name, *cells in zip(names, *columns, strict=True))
    tables = [Table(Text("Arms of the study"), ("", *map(arm_name, arms)), rows)]
    if differences := baseline.differences:
        heads = ("", Text("from {low:g} to {high:g}", low=-1, high=1), Text("difference", context="column"))
        lines = tuple(
            (difference.name, Bar.of(difference, -1, 1, line=0), difference, difference.n)
            for difference in differences
        )
        reasons = tuple(
            Text("{name}: {reason}.", name=difference.name, reason=difference.reason)
            for difference in differences
            if difference.reason
        )
        title = Text("Differences between the arms")
        tables.append(Table(title, (*heads, Text("items", context="column")), lines, reasons))
    yield Section("arms", Text("Arms of the study"), tables=tuple(tables))


def _facts(arm: Baseline) -> Iterator[tuple[Text, Cell]]:
    """Yield what is known of an arm: names and values."""
    counts, people, responses = arm.item_counts, arm.annotator_counts, arm.response_counts
    metric, single = next(iter(arm.main_metrics.values()), None), arm.single_person
    alpha, cost = arm.agreement.krippendorff_alpha, arm.cost
    yield Text("status"), status(arm)
    yield Text("consensus", context="column"), metric
    yield Text("single person"), single
    yield Text("items with a consensus"), f"{counts.consensus or 0} / {counts.total or 0}"
    yield Text("annotators used"), f"{people.used or 0} / {people.total or 0}"
    yield Text("answers", context="column"), responses.used
    skipped = sum(responses.dropped.get(why, 0) for why in ("may_be_mine", "not_shown"))
    yield Text("own items skipped"), skipped
    ends = arm.agreement.ci95
    yield Text("Krippendorff's alpha"), Estimate(value=alpha, ci95=ends) if alpha is not None else None
    yield Text("cost"), None if cost.total is None else Money(cost.total, cost.currency)
