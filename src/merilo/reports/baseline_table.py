"""A baseline as a table for the terminal and for notebooks: about ten rows, or all."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final

from markupsafe import Markup

from merilo.baselines.record import (
    AgreementRecord,
    BaselineRecord,
    GroupRecord,
    MetricRecord,
    OnDataset,
    SinglePerson,
    WithoutSuspects,
)
from merilo.baselines.warnings import STATUSES, majority_rule
from merilo.errors import argument, for_library
from merilo.people.cost import paid_work
from merilo.people.uncertainty.two_way import LEAST_ANNOTATORS
from merilo.records import Span
from merilo.reports.estimates import OVER_BOTH, OVER_ITEMS_ALONE, counted, items_in_clusters
from merilo.wording import shortened

if TYPE_CHECKING:
    from rich.table import Table

#: How items were decided, by the name of the step.
_WAYS: Final = {
    "unanimous": "all agree",
    "majority": "majority",
    "plurality": "most votes",
    "skill": "skill",
    "top_skill": "the most skilled",
    "glad": "GLAD",
    "dawid_skene": "Dawid-Skene",
    "medoid": "closest to the others",
    "pooled": "pooled Dawid-Skene",
    "one_coin": "one-coin",
    "unresolved": "unresolved",
    "each_answer": "with every program as a sample, without a consensus",
}

_REASONS: Final = {
    "no_answers": "no answer left after exclusion",
    "no_majority": "no majority",
    "equal": "equal at every step",
}

_COEFFICIENTS: Final = {
    "krippendorff_alpha": "Krippendorff's alpha",
    "fleiss_kappa": "Fleiss' kappa",
    "gwet_ac1": "Gwet's AC1",
}

#: Name and value of a row.
Row = tuple[str, str]


def table(record: BaselineRecord, spoken: Callable[[str], str], *, details: bool = False) -> Table:
    """Build the table of names and values of a baseline.

    Args:
        record: the baseline.
        spoken: writes argument names for the interface in use: `errors.for_library` or `for_command_line`.
        details: show all rows.
    """
    from rich.table import Table  # noqa: PLC0415 - slow to load; needed only to print
    from rich.text import Text  # noqa: PLC0415

    title = f"Human baseline{f' of {record.dataset}' if record.dataset else ''}"
    if record.simulated:
        title += " (simulated annotators)"
    shown = Table(title=Text(title, style="bold"), show_header=False, title_justify="left")
    shown.add_column(style="bold")
    shown.add_column()
    for name, value in rows(record, details=details):
        shown.add_row(Text(name), Text(spoken(value)))
    colour = next((colour for name, (_, colour, _) in STATUSES.items() if name == record.status), "default")
    shown.add_row("status", Text(record.status, style=colour))
    return shown


def rows(record: BaselineRecord, *, details: bool = False) -> list[Row]:
    """Return the names and values of the table, without the status: about ten rows, or all."""
    found = [
        row
        for name, one in record.metrics.items()
        if details or one.value is None or name in _main(record)
        for row in _metric(name, one, details=details)
    ]
    if record.single_person:
        found += _single(record.single_person, details=details)
    elif found and (why := next(iter(record.metrics.values())).single):
        found.append(("single person", f"not defined: {why.reason}"))
    if any(one.over_both or one.single for one in record.metrics.values()):
        found.append(("95 % intervals", f"{OVER_BOTH.en}, unless the row names another"))
    found += [*(_clusters(record) if details else ()), *_whole(record, details=details)]
    if details or record.gold is None:
        found.append(_gold(record))
    found += [*_people(record, details=details), *_items(record, details=details)]
    return [*found, *_groups(record.by), *_money(record, details=details)]


def _main(record: BaselineRecord) -> set[str]:
    """Return the names of the declared metrics; the others are of groups of items."""
    declared = (record.declaration or {}).get("metrics")
    main = {str(name) for name in declared} & {*record.metrics} if isinstance(declared, list) else set()
    return main or {*record.main_metrics} or {*list(record.metrics)[:1]}


def _metric(name: str, one: MetricRecord, *, details: bool) -> list[Row]:
    if one.value is None:
        return [(name, f"not computed: {one.reason}")]
    people = f", {counted(one.annotators, 'annotator')}" if one.annotators else ""
    found = [(name, f"{_brief(one)}{people}")]
    if not one.over_both and one.method_over_both:
        found.append(("  items and annotators", one.method_over_both))
    if details and one.over_both and one.over_items:
        found.insert(1, (f"  {OVER_ITEMS_ALONE.en}", _ends(one.over_items)))
    if other := one.by_other_majority:
        found.append(("  majorities alone", f"{_brief(other)} (published procedure)"))
    if dropped := one.with_dropped:
        on = f"on {counted(dropped.n, 'item')}"
        found += [
            (f"  {dropped.dropped} dropped as wrong", f"{dropped.dropped_counted_as_wrong:.3f}  {on}"),
            ("  dropped by plurality", f"{dropped.dropped_resolved_by_plurality:.3f}  {on}"),
        ]
    return found


def _single(single: SinglePerson, *, details: bool) -> list[Row]:
    people, answers = counted(single.annotators, "annotator"), counted(single.answers, "answer")
    found = [("single person", f"{single.mean:.3f} {_ends(single.ci95)}  {people}, {answers}")]
    if not details:
        return found
    found.append(
        ("  spread beyond chance", f"{single.spread:.3f} {_ends(single.spread_ci95)} over annotators")
    )
    return found + [
        (
            f"  {name} (of {single.with_min_answers})",
            f"{person.value:.3f} {_ends(person.ci95_chosen_among_all)} {OVER_ITEMS_ALONE.en}  on "
            f"{counted(person.n, 'item')}",
        )
        for name, person in (("best", single.best), ("worst", single.worst))
        if person is not None
    ]


def _clusters(record: BaselineRecord) -> list[Row]:
    """Return the row with the clusters of the items; empty if items are independent."""
    clusters = record.clusters
    if clusters is None or not clusters.clusters or clusters.clusters == clusters.items:
        return []
    over = f"blocks of {clusters.block} items" if clusters.block else f"by '{clusters.field}'"
    return [("clusters", f"{clusters.clusters} {over}, of {counted(clusters.items or 0, 'item')}")]


def _whole(record: BaselineRecord, *, details: bool) -> list[Row]:
    """Return the rows of the whole dataset, of which the items are a sample."""
    whole = record.population
    if whole is None:
        return []
    found = [
        (
            "sample",
            f"{whole.sampled} of {counted(whole.items, 'item')}; the metrics above are those of the sample",
        )
    ]
    if details:
        by = f" by {', '.join(whole.fields)}" if whole.fields else ""
        strata = "1 stratum" if len(whole.strata) == 1 else f"{len(whole.strata)} strata"
        found.append(
            (
                "  weights",
                f"{whole.smallest_weight:.3g} to {whole.largest_weight:.3g} in {strata}{by}; "
                f"design effect {whole.design_effect_of_weights:.2f} (Kish)",
            )
        )
    for name, metric in record.metrics.items():
        if metric.dataset and (details or name in _main(record)):
            found += _on_dataset(name, metric.dataset, details=details)
    return found


def _on_dataset(name: str, one: OnDataset, *, details: bool) -> list[Row]:
    if one.value is None:
        return [(f"{name}, whole dataset", f"not defined: {one.reason}")]
    found = [
        (f"{name}, whole dataset", f"{one.value:.3f}{_sure(one)}  for {counted(one.items, 'item')}"),
    ]
    if not details:
        return found
    few = f"not defined: it takes at least {LEAST_ANNOTATORS} annotators"
    alone = _ends(one.over_items) if one.over_items else "-"
    found.append((f"  {OVER_ITEMS_ALONE.en}", alone) if one.over_both else ("  items and annotators", few))
    if single := one.single:
        sure = _ends(single.over_both) if single.over_both else few
        found.append(("  single person", f"{single.mean:.3f} {sure}"))
    return found


def _gold(record: BaselineRecord) -> Row:
    gold = record.gold
    if gold is None:
        return "gold", f"no gold answers, so no accuracy: add {argument('gold', 'FILE')}"
    total = gold.matched + len(gold.items_without_gold) + len(gold.unsolved)
    source = f"column '{gold.column}' of {Path(gold.source).name}" if gold.column else gold.source
    return "gold", f"{gold.matched} of {counted(total, 'item')}, from {source}"


def _people(record: BaselineRecord, *, details: bool) -> list[Row]:
    people, responses = record.annotators, record.responses
    without = people.kept_without_controls or 0
    few = (people.unjudged or 0) - without
    least = record.parameters.get("min_controls")
    unjudged = f", {few} kept with fewer than {least} control answers" if few else ""
    found = [
        ("annotators", f"{people.total}, {people.excluded} excluded, {without} without controls{unjudged}")
    ]
    if not details:
        return found
    gone = {**responses.dropped, "excluded_annotator": responses.dropped.get("excluded_annotator", 0)}
    names = {"excluded_annotator": "excluded annotators"}
    dropped = ", ".join(
        f"{n} {names.get(reason, reason.replace('_', ' '))}" for reason, n in gone.items() if n
    )
    read = f"{responses.total} read = {responses.used} used + {responses.control} control + {dropped or '0 dropped'}"
    return [("responses", read), *found, *_suspects(record)]


def _suspects(record: BaselineRecord) -> list[Row]:
    """Return the row with the suspect control items; empty if there are none."""
    health = record.control_health
    if not health.suspects:
        return []
    without = health.without_suspects
    line = f"{len(health.suspects)} of {counted(health.controls, 'control item')}; without them "
    line += f"{counted(without.judged_differently, 'annotator')} judged differently"
    if without.value is not None:
        line += f", {without.metric} {without.value:.3f}{_sure(without)} on {counted(without.n, 'item')}"
    return [("suspect controls", line)]


def _items(record: BaselineRecord, *, details: bool) -> list[Row]:
    agreement = record.agreement
    low = f"{agreement.low_agreement} of {record.items.total} ({agreement.low_agreement_share:.1%})"
    if not details:
        if record.programs:
            return [("items", str(record.items.total))]
        undecided = record.resolved_by.unresolved
        unresolved = f", {undecided} unresolved" if undecided else ""
        share = f"{agreement.low_agreement} without a majority ({agreement.low_agreement_share:.1%})"
        found = [("items", f"{record.items.total}, {share}{unresolved}")]
        return [*found, *_agreement(agreement)[:1]]
    counts = record.resolved_by.model_dump()
    counts["majority"] -= counts["unanimous"] + counts["plurality"]
    reasons = ", ".join(f"{n} {_REASONS[reason]}" for reason, n in record.unresolved.items())
    names = {**_WAYS, "unresolved": f"unresolved ({reasons})"} if reasons else _WAYS
    found = [
        (
            "items",
            f"{record.items.total}: {', '.join(f'{counts[way]} {name}' for way, name in names.items() if counts[way])}",
        ),
        (
            "overlap",
            f"{_counts(record.items.overlap_before_exclusion)}; after exclusion {_counts(record.items.overlap)}",
        ),
    ]
    if adaptive := record.adaptive:
        found.append(
            (
                "adaptive overlap",
                f"{adaptive.start} to {adaptive.limit}, fixed for {adaptive.items.fixed} random "
                "items; the first people agreed on "
                f"{adaptive.items.agreed} others; {adaptive.answers_per_item:.2f} answers per item",
            )
        )
    if record.programs:
        return [*found, ("agreement", "not computed: the answers are programs")]
    rule = majority_rule(agreement.votes_needed).en
    sizes = ("equal answers", _counts(agreement.majority_sizes))
    return [*found, ("without majority", f"{low}; a majority is {rule}"), *_agreement(agreement), sizes]


def _agreement(agreement: AgreementRecord) -> list[Row]:
    """Return the coefficients with their intervals."""
    found = []
    for name, title in _COEFFICIENTS.items():
        value, interval = getattr(agreement, name), getattr(agreement, f"{name}_ci95")
        sure = f" {_ends(interval)}" if interval else ""
        on = f"  on {counted(agreement.n or 0, 'response')}"
        found.append((title, "not defined" if value is None else f"{value:.3f}{sure}{on}"))
    return found


def _groups(by: Mapping[str, Mapping[str, GroupRecord]]) -> list[Row]:
    """Return a row for each group of items, for the requested fields."""
    found = []
    for field, groups in by.items():
        for value, group in groups.items():
            parts = [counted(group.items, "item")]
            for name, score in list(group.metrics.items())[:1]:
                parts.append(f"{name} {score.value:.3f}{_sure(score)} on {score.n}")
            if group.agreement and group.agreement.krippendorff_alpha is not None:
                parts.append(f"alpha {group.agreement.krippendorff_alpha:.3f}")
            found.append((f"  {field}: {shortened(value, 40)}", ", ".join(parts)))
    return found


def _money(record: BaselineRecord, *, details: bool) -> list[Row]:
    cost, published = record.cost, record.cost.published_way
    currency = f" {cost.currency}" if cost.currency else ""
    found = []
    if cost.total is not None:
        unit = currency or f", currency unknown ({argument('currency')}),"
        work = paid_work(cost.pages or 0, cost.answers).en
        found.append(("cost", f"{cost.total:.3f}{unit} for {work}{_hourly(cost.hourly)}"))
    if details and published.total is not None:
        by_rows = f"{published.total:.3f}{currency}{_hourly(published.hourly)} (by rows, pages counted again)"
        found.append(("  the published way", by_rows))
    if details and cost.median_seconds_per_answer is not None:
        found.append(("median time", f"{cost.median_seconds_per_answer:.1f} s an answer"))
    return found


def _hourly(pay: float | None) -> str:
    return "" if pay is None else f", {pay:.3f} an hour"


def _counts(counts: Mapping[int, int]) -> str:
    return ", ".join(f"{n} of {people}" for people, n in counts.items())


def _brief(one: MetricRecord) -> str:
    return f"{one.value:.3f}{_sure(one)}  on {items_in_clusters(one.n, one.clusters)}"


def _sure(one: MetricRecord | OnDataset | WithoutSuspects) -> str:
    """Format the interval of record; one over items alone has its name after it. Empty without an interval."""
    if one.interval is None:
        return ""
    return f" {_ends(one.interval)}" + ("" if one.over_both else f" {OVER_ITEMS_ALONE.en}")


def _ends(ends: Span | None) -> str:
    return "" if ends is None else f"[{ends.low:.3f}, {ends.high:.3f}]"


_STYLE: Final = Markup(
    """<style>
.merilo-baseline { max-width: 720px; }
.merilo-baseline [lang=ru] { display: none; }
.merilo-baseline table { border-collapse: collapse; margin: .5em 0; }
.merilo-baseline td { padding: .15em .8em .15em 0; text-align: left; vertical-align: top; }
.merilo-baseline svg { display: block; width: 100%; }
.merilo-baseline svg text { fill: #5d6b7c; font-size: 13px; }
.merilo-baseline .axis { stroke: #5d6b7c; }
.merilo-baseline .band { fill: #2563c9; opacity: .3; }
.merilo-baseline .mark { fill: #2563c9; stroke: #fff; stroke-width: 2; }
</style>"""
)


def baseline_html(record: BaselineRecord) -> str:
    """Render the baseline as HTML without scripts: status, plot of the main metric with its interval, and tables."""
    name = record.dataset
    title = Markup("<b>Human baseline{}: {}</b>").format(f" of {name}" if name else "", record.status)
    if record.simulated:
        title += Markup(" (simulated annotators)")
    return str(
        Markup(
            '<div class="merilo-baseline">{}{}{}<table>{}</table>'
            "<details><summary>Details</summary><table>{}</table></details></div>"
        ).format(_STYLE, title, _plot(record), _rows(record), _rows(record, details=True))
    )


def _rows(record: BaselineRecord, *, details: bool = False) -> Markup:
    return Markup("").join(
        Markup("<tr><td>{}</td><td>{}</td></tr>").format(name, for_library(value))
        for name, value in rows(record, details=details)
    )


def _plot(record: BaselineRecord) -> Markup:
    from merilo.reports import charts  # noqa: PLC0415 - only notebooks draw

    headline = next(iter(record.metrics.values()), None)
    if headline is None or headline.value is None or headline.interval is None:
        return Markup("")
    return charts.interval_bar(headline.value, *headline.interval).__html__()
