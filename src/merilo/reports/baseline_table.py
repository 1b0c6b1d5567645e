"""A baseline as a table for the terminal and for notebooks: about ten rows, or all."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from markupsafe import Markup

from merilo.baselines.baseline import (
    AgreementRecord,
    Baseline,
)
from merilo.baselines.findings import STATUSES, majority_rule
from merilo.baselines.people_table import PEOPLE_ROWS, PeopleTable
from merilo.errors import argument, for_library
from merilo.estimate import Estimate
from merilo.people.cost import paid_work
from merilo.records import Span
from merilo.reports.baseline_facts import (
    REASONS,
    WAYS,
    counted_from,
    ways,
)
from merilo.reports.estimates import OVER_BOTH
from merilo.text import Text, joined
from merilo.wording import shortened

if TYPE_CHECKING:
    from rich.table import Table


class NamedRow(NamedTuple):
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


def _rows(record: Baseline) -> Iterator[NamedRow]:
    main = _main(record)
    for name, one in record.metrics.items():
        for row in _metric(name, one, record.by_majority_alone.get(name)):
            yield row if one.value is None or name in main else row._replace(short=False)
    if single := record.single_person:
        value = (
            _brief(single)
            if single.value is not None
            else Text("not defined: {reason}", reason=single.reason)
        )
        yield NamedRow(Text("single person"), value)
    if any(one.ci95 for one in record.metrics.values()):
        yield NamedRow(Text("95 % intervals"), OVER_BOTH)
    yield from _clusters(record)
    yield from _whole(record, main)
    yield _gold(record)
    yield from _people(record)
    yield from _items(record)
    yield from _reached(record.people) if record.people else ()
    yield from _groups(record.groups)
    yield from _money(record)


def _main(record: Baseline) -> set[str]:
    """Return the names of the declared metrics; the others are of groups of items."""
    declared = (record.declaration or {}).get("metrics")
    main = {str(name) for name in declared} & {*record.metrics} if isinstance(declared, list) else set()
    return main or {*record.main_metrics} or {*list(record.metrics)[:1]}


def _metric(name: str, one: Estimate, alone: Estimate | None) -> Iterator[NamedRow]:
    if one.value is None:
        yield NamedRow(name, Text("not computed: {reason}", reason=one.reason))
        return
    yield NamedRow(name, _brief(one))
    if alone and alone.n and alone.n != one.n:
        yield _under(
            Text("majorities alone"), Text("{estimate} (published procedure)", estimate=_brief(alone))
        )


def _reached(people: PeopleTable) -> Iterator[NamedRow]:
    """Return the rows of the median person, the best people and majorities."""
    for name, one in people.rows().items():
        if name != "one":
            yield NamedRow(
                PEOPLE_ROWS[name],
                Text("{value:.3f}  {of}", value=one.value, of=counted_from(one)),
                short=False,
            )


def _clusters(record: Baseline) -> Iterator[NamedRow]:
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
        yield NamedRow(Text("clusters"), value, short=False)


def _whole(record: Baseline, main: set[str]) -> Iterator[NamedRow]:
    """Return the rows of the whole dataset, of which the items are a sample."""
    if record.sampled is None:
        return
    sampled, items = record.sampled
    yield NamedRow(
        Text("sample"),
        Text(
            "{sampled} of {n:# item|# items}; the metrics above are those of the sample",
            sampled=sampled,
            n=items,
        ),
    )
    for name, one in record.whole_dataset.items():
        value = _brief(one) if one.value is not None else Text("not defined: {reason}", reason=one.reason)
        yield NamedRow(Text("{metric}, whole dataset", metric=name), value, short=name in main)


def _gold(record: Baseline) -> NamedRow:
    gold = record.gold
    if gold is None:
        add = argument("gold", "FILE")
        return NamedRow(
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
    return NamedRow(Text("gold", context="row"), value, short=False)


def _people(record: Baseline) -> Iterator[NamedRow]:
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
    yield NamedRow(Text("responses"), read, short=False)
    value = Text(
        "{n}, {excluded} excluded, {unjudged} not checked by control items",
        n=people.total,
        excluded=people.excluded,
        unjudged=people.unjudged or 0,
    )
    yield NamedRow(Text("annotators"), value)
    yield from _suspects(record)


def _suspects(record: Baseline) -> Iterator[NamedRow]:
    """Return the row with the suspect control items; nothing if there are none."""
    controls = record.controls
    if not controls.suspects:
        return
    value = Text(
        "{suspects} of {n:# control item|# control items}",
        suspects=len(controls.suspects),
        n=controls.total,
    )
    yield NamedRow(Text("suspect controls"), value, short=False)


def _items(record: Baseline) -> Iterator[NamedRow]:
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
    yield NamedRow(
        Text("items", context="row"),
        joined([str(items.total), "" if record.programs else without], ""),
        whole=False,
    )
    decided = [Text("{n} {way}", n=n, way=WAYS[way].short) for way, n in ways(record).items()]
    yield NamedRow(
        Text("items", context="row"),
        Text("{n}: {ways}", n=items.total, ways=joined(decided, ", ")),
        short=False,
    )
    overlap = Text(
        "{before}; after exclusion {after}",
        before=_counts(items.overlap_before_exclusion),
        after=_counts(items.overlap),
    )
    yield NamedRow(Text("overlap"), overlap, short=False)
    if record.programs:
        reason = Text("not computed: the answers are programs")
        if record.scored:
            reason = Text("not computed: the answers were scored elsewhere")
        yield NamedRow(Text("agreement"), reason, short=False)
        return
    rule = majority_rule(agreement.votes_needed)
    majority = Text("{low} of {n} ({share:.1%}); a majority is {rule}", rule=rule, **low)
    yield NamedRow(Text("without majority"), majority, short=False)
    yield from _agreement(agreement)
    yield NamedRow(Text("equal answers"), _counts(agreement.majority_sizes), short=False)


def _agreement(agreement: AgreementRecord) -> Iterator[NamedRow]:
    """Return Krippendorff's alpha with its interval."""
    alpha = agreement.krippendorff_alpha
    told = Text(
        "{value:.3f}{sure}  on {n:# response|# responses}",
        value=alpha,
        sure=_after_space(agreement.ci95),
        n=agreement.n or 0,
    )
    yield NamedRow(Text("Krippendorff's alpha"), Text("not defined") if alpha is None else told)


def _groups(groups: Sequence[Estimate]) -> Iterator[NamedRow]:
    """Return a row for each estimate of a group of items."""
    for one in groups:
        value = _brief(one) if one.value is not None else one.reason or "-"
        yield _under(shortened(one.name, 60), value)


def _money(record: Baseline) -> Iterator[NamedRow]:
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
        yield NamedRow(Text("cost"), value)
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
        yield NamedRow(Text("median time"), value, short=False)


def _under(name: Text | str, value: Text | str, *, short: bool = True) -> NamedRow:
    """Return a row below the one that it belongs to."""
    return NamedRow(joined(["  ", name], ""), value, short)


def _hourly(pay: float | None) -> Text | str:
    return "" if pay is None else Text(", {pay:.3f} an hour", pay=pay)


def _counts(counts: Mapping[int, int]) -> Text:
    return joined((Text("{n} of {people}", n=n, people=people) for people, n in counts.items()), ", ")


def _brief(one: Estimate) -> Text:
    people = Text(", {n:# annotator|# annotators}", n=one.people) if one.people else ""
    return Text(
        "{value:.3f}{sure}  on {n:# item|# items}{clusters}",
        value=one.value,
        sure=_after_space(one.ci95),
        n=one.n,
        clusters=people,
    )


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
    if headline is None or headline.value is None or headline.ci95 is None:
        return Markup("")
    return charts.interval_bar(headline.value, *headline.ci95).__html__()
