"""A baseline as a table for the terminal and for notebooks: about ten rows, or all."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from markupsafe import Markup

from merilo.baselines.baseline import (
    AgreementRecord,
    Baseline,
    GroupRecord,
    MetricRecord,
    OnDataset,
    SinglePerson,
)
from merilo.baselines.findings import STATUSES, majority_rule
from merilo.baselines.people_table import PEOPLE_ROWS, PeopleTable
from merilo.errors import argument, for_library
from merilo.people.cost import paid_work
from merilo.people.uncertainty.two_way import LEAST_ANNOTATORS
from merilo.records import Span
from merilo.reports.baseline_facts import (
    REASONS,
    WAYS,
    counted_from,
    ways,
)
from merilo.reports.estimates import OVER_BOTH, OVER_ITEMS_ALONE
from merilo.text import Text, joined
from merilo.wording import shortened

if TYPE_CHECKING:
    from rich.table import Table


class Row(NamedTuple):
    """A row of the table.

    Attributes:
        name: its name.
        value: its value.
        short: whether the short table has it.
        whole: whether the table with all details has it.
    """

    name: Text | str
    value: Text | str
    short: bool = True
    whole: bool = True


def table(record: Baseline, spoken: Callable[[str], str], *, details: bool = False) -> Table:
    """Build the table of names and values of a baseline.

    Args:
        record: the baseline.
        spoken: writes argument names for the interface in use: `errors.for_library` or `for_command_line`.
        details: show all rows.
    """
    from rich.table import Table  # noqa: PLC0415 - slow to load; needed only to print
    from rich.text import Text as Cell  # noqa: PLC0415

    shown = Table(title=Cell(str(_title(record)), style="bold"), show_header=False, title_justify="left")
    shown.add_column(style="bold")
    shown.add_column()
    for name, value in rows(record, details=details):
        shown.add_row(Cell(str(name)), Cell(spoken(str(value))))
    status, colour = _status(record)
    shown.add_row(str(Text("status")), Cell(str(status), style=colour))
    return shown


def rows(record: Baseline, *, details: bool = False) -> list[tuple[Text | str, Text | str]]:
    """Return the names and values of the table, without the status: about ten rows, or all."""
    return [(row.name, row.value) for row in _rows(record) if (row.whole if details else row.short)]


def _title(record: Baseline) -> Text:
    return Text(
        "Human baseline{name}{simulated}",
        name=Text(" of {name}", name=record.dataset) if record.dataset else "",
        simulated=Text(" (simulated annotators)") if record.simulated else "",
    )


def _status(record: Baseline) -> tuple[Text | str, str]:
    """Return the name of the status, and its colour."""
    known = {str(name): (text, colour) for name, (text, colour, _) in STATUSES.items()}
    return known.get(record.status, (record.status, "default"))


def _rows(record: Baseline) -> Iterator[Row]:
    main = _main(record)
    for name, one in record.metrics.items():
        for row in _metric(name, one):
            yield row if one.value is None or name in main else row._replace(short=False)
    if record.single_person:
        yield from _single(record.single_person)
    elif (first := next(iter(record.metrics.values()), None)) and first.single:
        yield Row(Text("single person"), Text("not defined: {reason}", reason=first.single.reason))
    if any(one.over_both or one.single for one in record.metrics.values()):
        yield Row(Text("95 % intervals"), Text("{over}, unless the row names another", over=OVER_BOTH))
    yield from _clusters(record)
    yield from _whole(record, main)
    yield _gold(record)
    yield from _people(record)
    yield from _items(record)
    yield from _reached(record.people) if record.people else ()
    yield from _groups(record.by)
    yield from _money(record)


def _main(record: Baseline) -> set[str]:
    """Return the names of the declared metrics; the others are of groups of items."""
    declared = (record.declaration or {}).get("metrics")
    main = {str(name) for name in declared} & {*record.metrics} if isinstance(declared, list) else set()
    return main or {*record.main_metrics} or {*list(record.metrics)[:1]}


def _metric(name: str, one: MetricRecord) -> Iterator[Row]:
    if one.value is None:
        yield Row(name, Text("not computed: {reason}", reason=one.reason))
        return
    people = Text(", {n:# annotator|# annotators}", n=one.annotators) if one.annotators else ""
    yield Row(name, joined([_brief(one), people], ""))
    if one.over_both and one.over_items:
        yield _under(OVER_ITEMS_ALONE, _ends(one.over_items), short=False)
    elif one.method_over_both:
        yield _under(Text("items and annotators"), one.method_over_both)
    if other := one.by_other_majority:
        yield _under(
            Text("majorities alone"), Text("{estimate} (published procedure)", estimate=_brief(other))
        )
    if dropped := one.with_dropped:
        for title, value in (
            (Text("{n} dropped as wrong", n=dropped.dropped), dropped.dropped_counted_as_wrong),
            (Text("dropped by plurality"), dropped.dropped_resolved_by_plurality),
        ):
            yield _under(title, Text("{value:.3f}  on {n:# item|# items}", value=value, n=dropped.n))


def _single(single: SinglePerson) -> Iterator[Row]:
    yield Row(
        Text("single person"),
        Text(
            "{value:.3f} {interval}  {n:# annotator|# annotators}, {answers:# answer|# answers}",
            value=single.mean,
            interval=_ends(single.ci95),
            n=single.annotators,
            answers=single.answers,
        ),
    )
    spread = Text(
        "{value:.3f} {interval} over annotators", value=single.spread, interval=_ends(single.spread_ci95)
    )
    yield _under(Text("spread beyond chance"), spread, short=False)
    for title, person in (
        (Text("best (of {n})", n=single.with_min_answers), single.best),
        (Text("worst (of {n})", n=single.with_min_answers), single.worst),
    ):
        if person:
            value = Text(
                "{value:.3f} {interval} {over}  on {n:# item|# items}",
                value=person.value,
                interval=_ends(person.ci95_chosen_among_all),
                over=OVER_ITEMS_ALONE,
                n=person.n,
            )
            yield _under(title, value, short=False)


def _reached(people: PeopleTable) -> Iterator[Row]:
    """Return the rows of the median person, the best people and majorities."""
    for name, one in people.rows().items():
        if name != "one":
            yield Row(
                PEOPLE_ROWS[name],
                Text("{value:.3f}  {of}", value=one.value, of=counted_from(one)),
                short=False,
            )


def _clusters(record: Baseline) -> Iterator[Row]:
    """Return the row with the clusters of the items; nothing if items are independent."""
    clusters = record.clusters
    if clusters and clusters.clusters and clusters.clusters != clusters.items:
        value = Text(
            "{clusters} {over}, of {n:# item|# items}",
            clusters=clusters.clusters,
            over=Text("blocks of {n:# item|# items}", n=clusters.block)
            if clusters.block
            else Text("by '{field}'", field=clusters.field),
            n=clusters.items or 0,
        )
        yield Row(Text("clusters"), value, short=False)


def _whole(record: Baseline, main: set[str]) -> Iterator[Row]:
    """Return the rows of the whole dataset, of which the items are a sample."""
    whole = record.population
    if whole is None:
        return
    sample = Text(
        "{sampled} of {n:# item|# items}; the metrics above are those of the sample",
        sampled=whole.sampled,
        n=whole.items,
    )
    yield Row(Text("sample"), sample)
    weights = Text(
        "{low:.3g} to {high:.3g} in {n:# stratum|# strata}{by}; design effect {effect:.2f} (Kish)",
        low=whole.smallest_weight,
        high=whole.largest_weight,
        n=len(whole.strata),
        by=Text(" by {fields}", fields=whole.fields) if whole.fields else "",
        effect=whole.design_effect_of_weights,
    )
    yield _under(Text("weights"), weights, short=False)
    for name, metric in record.metrics.items():
        for row in _on_dataset(name, metric.dataset) if metric.dataset else ():
            yield row if name in main else row._replace(short=False)


def _on_dataset(name: str, one: OnDataset) -> Iterator[Row]:
    title = Text("{metric}, whole dataset", metric=name)
    if one.value is None:
        yield Row(title, Text("not defined: {reason}", reason=one.reason))
        return
    yield Row(
        title,
        Text("{value:.3f}{sure}  for {n:# item|# items}", value=one.value, sure=_sure(one), n=one.items),
    )
    few = Text("not defined: it takes at least {n:# annotator|# annotators}", n=LEAST_ANNOTATORS)
    if one.over_both:
        yield _under(OVER_ITEMS_ALONE, _ends(one.over_items) or "-", short=False)
    else:
        yield _under(Text("items and annotators"), few, short=False)
    if single := one.single:
        sure = _ends(single.over_both) or few
        value = Text("{value:.3f} {interval}", value=single.mean, interval=sure)
        yield _under(Text("single person"), value, short=False)


def _gold(record: Baseline) -> Row:
    gold = record.gold
    if gold is None:
        add = argument("gold", "FILE")
        return Row(
            Text("gold", context="row"), Text("no gold answers, so no accuracy: add {option}", option=add)
        )
    value = Text(
        "{matched} of {n:# item|# items}, from {source}",
        matched=gold.matched,
        n=gold.matched + len(gold.items_without_gold) + len(gold.unsolved),
        source=Text("column '{column}' of {file}", column=gold.column, file=Path(gold.source).name)
        if gold.column
        else gold.source,
    )
    return Row(Text("gold", context="row"), value, short=False)


def _people(record: Baseline) -> Iterator[Row]:
    people, responses = record.annotator_counts, record.response_counts
    gone = {**responses.dropped, "excluded_annotator": responses.dropped.get("excluded_annotator", 0)}
    dropped = [Text("{n} {reason}", n=n, reason=REASONS.get(why, why)) for why, n in gone.items() if n]
    read = Text(
        "{total} read = {used} used + {control} control + {dropped}",
        total=responses.total,
        used=responses.used,
        control=responses.control,
        dropped=dropped or Text("0 dropped"),
    )
    yield Row(Text("responses"), read, short=False)
    value = Text(
        "{n}, {excluded} excluded, {unjudged} not checked by control items",
        n=people.total,
        excluded=people.excluded,
        unjudged=people.unjudged or 0,
    )
    yield Row(Text("annotators"), value)
    yield from _suspects(record)


def _suspects(record: Baseline) -> Iterator[Row]:
    """Return the row with the suspect control items; nothing if there are none."""
    controls = record.controls
    if not controls.suspects:
        return
    value = Text(
        "{suspects} of {n:# control item|# control items}",
        suspects=len(controls.suspects),
        n=controls.total,
    )
    yield Row(Text("suspect controls"), value, short=False)


def _items(record: Baseline) -> Iterator[Row]:
    items, agreement = record.item_counts, record.agreement
    low: dict[str, Any] = {
        "low": agreement.low_agreement,
        "share": agreement.low_agreement_share,
        "n": items.total,
    }
    unresolved = record.resolved_by.unresolved
    without = Text(
        ", {low} without a majority ({share:.1%}){unresolved}",
        unresolved=Text(", {n} unresolved", n=unresolved) if unresolved else "",
        **low,
    )
    yield Row(
        Text("items", context="row"),
        joined([str(items.total), "" if record.programs else without], ""),
        whole=False,
    )
    decided = [Text("{n} {way}", n=n, way=WAYS[way].short) for way, n in ways(record).items()]
    yield Row(
        Text("items", context="row"),
        Text("{n}: {ways}", n=items.total, ways=joined(decided, ", ")),
        short=False,
    )
    overlap = Text(
        "{before}; after exclusion {after}",
        before=_counts(items.overlap_before_exclusion),
        after=_counts(items.overlap),
    )
    yield Row(Text("overlap"), overlap, short=False)
    if record.programs:
        reason = Text("not computed: the answers are programs")
        if record.scored:
            reason = Text("not computed: the answers were scored elsewhere")
        yield Row(Text("agreement"), reason, short=False)
        return
    rule = majority_rule(agreement.votes_needed)
    majority = Text("{low} of {n} ({share:.1%}); a majority is {rule}", rule=rule, **low)
    yield Row(Text("without majority"), majority, short=False)
    yield from _agreement(agreement)
    yield Row(Text("equal answers"), _counts(agreement.majority_sizes), short=False)


def _agreement(agreement: AgreementRecord) -> Iterator[Row]:
    """Return Krippendorff's alpha with its interval."""
    alpha = agreement.krippendorff_alpha
    told = Text(
        "{value:.3f}{sure}  on {n:# response|# responses}",
        value=alpha,
        sure=_after_space(agreement.krippendorff_alpha_ci95),
        n=agreement.n or 0,
    )
    yield Row(Text("Krippendorff's alpha"), Text("not defined") if alpha is None else told)


def _groups(by: Mapping[str, Mapping[str, GroupRecord]]) -> Iterator[Row]:
    """Return a row for each group of items, for the requested fields."""
    for field, groups in by.items():
        for value, group in groups.items():
            parts = [Text("{n:# item|# items}", n=group.items)]
            for name, score in list(group.metrics.items())[:1]:
                parts.append(
                    Text(
                        "{metric} {value:.3f}{sure} on {n}",
                        metric=name,
                        value=score.value,
                        sure=_sure(score),
                        n=score.n,
                    )
                )
            if group.agreement and group.agreement.krippendorff_alpha is not None:
                parts.append(Text("alpha {value:.3f}", value=group.agreement.krippendorff_alpha))
            yield _under(f"{field}: {shortened(value, 40)}", joined(parts, ", "))


def _money(record: Baseline) -> Iterator[Row]:
    cost, published = record.cost, record.cost.published_way
    known = f" {cost.currency}" if cost.currency else ""
    if cost.total is not None:
        value = Text(
            "{total:.3f}{currency} for {work}{hourly}",
            total=cost.total,
            currency=known or Text(", currency unknown ({option}),", option=argument("currency")),
            work=paid_work(cost.pages or 0, cost.answers),
            hourly=_hourly(cost.hourly),
        )
        yield Row(Text("cost"), value)
    if published.total is not None:
        value = Text(
            "{total:.3f}{currency}{hourly} (by rows, pages counted again)",
            total=published.total,
            currency=known,
            hourly=_hourly(published.hourly),
        )
        yield _under(Text("the published way"), value, short=False)
    if cost.median_seconds_per_answer is not None:
        value = Text("{seconds:.1f} s an answer", seconds=cost.median_seconds_per_answer)
        yield Row(Text("median time"), value, short=False)


def _under(name: Text | str, value: Text | str, *, short: bool = True) -> Row:
    """Return a row below the one that it belongs to."""
    return Row(joined(["  ", name], ""), value, short)


def _hourly(pay: float | None) -> Text | str:
    return "" if pay is None else Text(", {pay:.3f} an hour", pay=pay)


def _counts(counts: Mapping[int, int]) -> Text:
    return joined((Text("{n} of {people}", n=n, people=people) for people, n in counts.items()), ", ")


def _brief(one: MetricRecord) -> Text:
    return Text(
        "{value:.3f}{sure}  on {n:# item|# items}{clusters}",
        value=one.value,
        sure=_sure(one),
        n=one.n,
        clusters=Text(" in {n:# cluster|# clusters}", n=one.clusters) if one.clusters else "",
    )


def _sure(one: MetricRecord | OnDataset) -> Text | str:
    """Format the interval of record; one over items alone has its name after it. Empty without an interval."""
    alone = one.interval and not one.over_both
    return joined([_after_space(one.interval), *([" ", OVER_ITEMS_ALONE] if alone else [])], "")


def _after_space(span: Span | None) -> Text | str:
    return joined([" ", _ends(span)], "") if span else ""


def _ends(span: Span | None) -> Text | str:
    return Text("[{low:.3f}, {high:.3f}]", low=span.low, high=span.high) if span else ""


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


def baseline_text(record: Baseline) -> str:
    """Render the table as text, as printing a baseline shows it."""
    from rich.console import Console  # noqa: PLC0415 - slow to load; needed only to print

    text = io.StringIO()
    Console(file=text, width=100, highlight=False, color_system=None).print(table(record, for_library))
    return text.getvalue().rstrip("\n")


def baseline_html(record: Baseline) -> str:
    """Render the baseline as HTML without scripts: status, plot of the main metric with its interval, and tables."""
    title = Markup("<b>{}: {}</b>").format(_title(record), _status(record)[0])
    return str(
        Markup(
            '<div class="merilo-baseline">{}{}{}<table>{}</table>'
            "<details><summary>{}</summary><table>{}</table></details></div>"
        ).format(
            _STYLE,
            title,
            _plot(record),
            _html_rows(record),
            Text("Details"),
            _html_rows(record, details=True),
        )
    )


def _html_rows(record: Baseline, *, details: bool = False) -> Markup:
    return Markup("").join(
        Markup("<tr><td>{}</td><td>{}</td></tr>").format(name, for_library(str(value)))
        for name, value in rows(record, details=details)
    )


def _plot(record: Baseline) -> Markup:
    from merilo.reports import charts  # noqa: PLC0415 - only notebooks draw

    headline = next(iter(record.metrics.values()), None)
    if headline is None or headline.value is None or headline.interval is None:
        return Markup("")
    return charts.interval_bar(headline.value, *headline.interval).__html__()
