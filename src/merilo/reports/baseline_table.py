"""A baseline as a table for the terminal."""

from __future__ import annotations

from collections.abc import Callable
from math import isnan
from pathlib import Path

from rich.markup import escape
from rich.table import Table

from merilo.baselines.pipeline import Baseline
from merilo.baselines.warnings import STATUSES, majority_rule
from merilo.errors import argument
from merilo.people.aggregation import Resolution
from merilo.people.agreement import Agreement
from merilo.people.collection_design import CollectedDesign
from merilo.people.cost import paid_work
from merilo.reports.controls import suspects_line
from merilo.reports.estimates import counted, lines, record_text
from merilo.reports.whole_dataset import whole_dataset_lines
from merilo.wording import shortened

_WAYS = {
    Resolution.UNANIMOUS: "all agree",
    Resolution.MAJORITY: "majority",
    Resolution.PLURALITY: "most votes",
    Resolution.SKILL: "skill",
    Resolution.TOP_SKILL: "the most skilled",
    Resolution.GLAD: "GLAD",
    Resolution.DAWID_SKENE: "Dawid-Skene",
    Resolution.MEDOID: "closest to the others",
    Resolution.ONE_COIN: "one-coin",
    Resolution.UNRESOLVED: "unresolved",
    Resolution.EACH_ANSWER: "with every program as a sample, without a consensus",
}


_COEFFICIENTS = {
    "krippendorff_alpha": "Krippendorff's alpha",
    "fleiss_kappa": "Fleiss' kappa",
    "gwet_ac1": "Gwet's AC1",
}


def table(baseline: Baseline, spoken: Callable[[str], str]) -> Table:
    """Build the table of names and values of a baseline.

    Args:
        baseline: the baseline.
        spoken: writes argument names for the interface in use: `errors.for_library` or `for_command_line`.
    """
    title = f"Human baseline{f' of {baseline.settings.dataset}' if baseline.settings.dataset else ''}"
    if baseline.simulated:
        title += " (simulated annotators)"
    found = Table(title=title, show_header=False, title_justify="left", title_style="bold")
    found.add_column(style="bold")
    found.add_column()
    for name, value in rows(baseline):
        found.add_row(name, spoken(value))
    _, colour, _ = STATUSES[baseline.status]
    found.add_row("status", f"[{colour}]{baseline.status}[/{colour}]")
    return found


def rows(baseline: Baseline) -> list[tuple[str, str]]:
    """Return the names and values of the table as Rich markup, without the status."""
    return [
        *_estimates(baseline),
        *_clusters(baseline),
        *whole_dataset_lines(baseline.whole),
        *_gold(baseline),
        *_people(baseline),
        *_items(baseline),
        *_money(baseline),
    ]


def _estimates(baseline: Baseline) -> list[tuple[str, str]]:
    return lines(baseline.estimates)


def _clusters(baseline: Baseline) -> list[tuple[str, str]]:
    """Return the row with the clusters of the items; empty if items are independent."""
    clusters = baseline.clusters
    if clusters is None or not clusters.code:
        return []
    over = f"blocks of {clusters.block} items" if clusters.block else f"by '{clusters.field}'"
    return [("clusters", escape(f"{clusters.clusters} {over}, of {counted(clusters.items, 'item')}"))]


def _gold(baseline: Baseline) -> list[tuple[str, str]]:
    """Return the row with the source of the gold answers."""
    gold = baseline.gold
    if gold is None:
        return [("gold", f"no gold answers, so no accuracy: add {argument('gold', 'FILE')}")]
    total = gold.answers.height + len(gold.without_gold) + len(gold.unsolved)
    source = f"column '{gold.column}' of {Path(gold.source).name}" if gold.column else gold.source
    return [("gold", escape(f"{gold.answers.height} of {counted(total, 'item')}, from {source}"))]


def _people(baseline: Baseline) -> list[tuple[str, str]]:
    table, responses = baseline.annotators, baseline.responses
    control = int(responses.table["is_control"].sum())
    gone = {
        **responses.dropped,
        "excluded annotators": responses.table.height - control - baseline.used.height,
    }
    dropped = ", ".join(f"{n} {reason.replace('_', ' ')}" for reason, n in gone.items() if n) or "0 dropped"
    return [
        (
            "responses",
            f"{responses.rows_read} read = {baseline.used.height} used + {control} control + {dropped}",
        ),
        (
            "annotators",
            f"{table.height}, {table['excluded'].sum()} excluded, {_unjudged(baseline)}",
        ),
        *([("suspect controls", escape(suspects))] if (suspects := suspects_line(baseline)) else []),
    ]


def _unjudged(baseline: Baseline) -> str:
    """Describe how many annotators were kept without being judged, and why."""
    table, least = baseline.annotators, baseline.settings.min_controls
    without = int((table["controls"] == 0).sum())
    few = int((~table["judged"]).sum()) - without
    return f"{without} without controls" + (
        f", {few} kept with fewer than {least} control answers" if few else ""
    )


def _items(baseline: Baseline) -> list[tuple[str, str]]:
    ways = ", ".join(f"{n} {_WAYS[way]}" for way, n in baseline.resolved_by.items() if n and way in _WAYS)
    if reasons := ", ".join(f"{one.items} {one.reason.en}" for one in baseline.unresolved):
        ways = ways.replace(_WAYS[Resolution.UNRESOLVED], f"{_WAYS[Resolution.UNRESOLVED]} ({reasons})")
    return [
        ("items", f"{baseline.items}: {ways}"),
        (
            "overlap",
            f"{_overlap(baseline.diagnosis.overlap_before)}; after exclusion {_overlap(baseline.diagnosis.overlap)}",
        ),
        *_adaptive(baseline.diagnosis.adaptive),
        *_majorities(baseline),
        *_groups(baseline),
    ]


def _majorities(baseline: Baseline) -> list[tuple[str, str]]:
    if baseline.programs:
        return [("agreement", "not computed: the answers are programs")]
    return [
        (
            "without majority",
            f"{baseline.low_agreement} of {baseline.items} ({baseline.low_agreement_share:.1%}); a majority is "
            f"{majority_rule(baseline.decided.votes_needed).en}",
        ),
        *_agreement(baseline.agreement),
    ]


def _adaptive(found: CollectedDesign | None) -> list[tuple[str, str]]:
    if found is None:
        return []
    overlap = found.design.overlap
    return [
        (
            "adaptive overlap",
            f"{overlap.start} to {overlap.limit}, fixed for {found.fixed} random items; the first people agreed on {found.agreed} others; "
            f"{found.answers_per_item:.2f} answers per item",
        )
    ]


def _agreement(agreement: Agreement) -> list[tuple[str, str]]:
    """Return the coefficients with their intervals, and the items by the size of their majority."""
    rows = []
    for name, title in _COEFFICIENTS.items():
        value, interval = getattr(agreement, name), agreement.intervals.get(name)
        sure = f" \\[{interval.low:.3f}, {interval.high:.3f}]" if interval else ""
        rows.append(
            (
                title,
                "not defined"
                if isnan(value)
                else f"{value:.3f}{sure}  on {counted(agreement.answers, 'response')}",
            )
        )
    sizes = ", ".join(f"{n} of {size}" for size, n in agreement.majority_sizes.items())
    return [*rows, ("equal answers", sizes)]


def _groups(baseline: Baseline) -> list[tuple[str, str]]:
    """Return a row for each group of items, for the requested fields."""
    rows = []
    for field, groups in baseline.by.items():
        for value, group in groups.items():
            parts = [counted(group.items, "item")]
            if group.score:
                sure = f" \\{record_text(group.score, group.two_way)}" if group.interval else ""
                parts.append(f"{group.score.name} {group.score.value:.3f}{sure} on {group.score.n}")
            if group.agreement and not isnan(group.agreement.krippendorff_alpha):
                parts.append(f"alpha {group.agreement.krippendorff_alpha:.3f}")
            rows.append((f"  {escape(field)}: {escape(shortened(value, 40))}", ", ".join(parts)))
    return rows


def _overlap(counts: dict[int, int]) -> str:
    return ", ".join(f"{n} of {people}" for people, n in counts.items())


def _money(baseline: Baseline) -> list[tuple[str, str]]:
    cost = baseline.cost
    rows = []
    published = f" {cost.currency}" if cost.currency else ""
    unit = f" {cost.currency}" if cost.currency else f", currency unknown ({argument('currency')}),"
    if cost.total is not None:
        hourly = f", {cost.hourly:.3f} an hour" if cost.hourly is not None else ""
        rows.append(("cost", f"{cost.total:.3f}{unit} for {paid_work(cost.pages, cost.answers).en}{hourly}"))
    if cost.published_total is not None:
        hourly = f", {cost.published_hourly:.3f} an hour" if cost.published_hourly is not None else ""
        rows.append(
            (
                "  the published way",
                f"{cost.published_total:.3f}{published}{hourly} (by rows, pages counted again)",
            )
        )
    if cost.median_seconds is not None:
        rows.append(("median time", f"{cost.median_seconds:.1f} s an answer"))
    return rows
