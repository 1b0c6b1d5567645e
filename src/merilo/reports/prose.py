"""A baseline in sentences, for the report page, cards, the README, papers and messages.

Each sentence stands here once.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from merilo.baselines.record import AdaptiveRecord, BaselineRecord, CostRecord, MetricRecord, PopulationRecord
from merilo.people.cost import paid_work
from merilo.records import Span
from merilo.reports.baseline_facts import COEFFICIENTS, WAYS, BaselineFacts, baseline_facts
from merilo.reports.json_record import count_at, list_at, mapping_at, number_at, text_at, value_at
from merilo.reports.metric_names import group_title, metric_title
from merilo.reports.text_escapes import one_line
from merilo.strict_json import Json
from merilo.text import Language, Money, Text, joined

#: With more groups of items, prose names only the lowest and the highest.
_MOST_GROUPS: Final = 15

#: The beginning of a test's description in the JSON -> its name.
_TESTS: Final = {
    "McNemar's exact test": Text("McNemar's exact test"),
    "sign-flip permutation test": Text("sign-flip permutation test"),
    "Tango's score test": Text("Tango's score test"),
    "Student's test": Text("Student's test"),
}


def human_baseline_section(
    record: BaselineRecord,
    plan: Mapping[str, Json] | None,
    language: Language,
    *,
    experts: Mapping[str, Json] | None = None,
    platform: str | None = None,
) -> str:
    """Write the section that the guide asks for.

    Whom, overlap, controls, restrictions, exclusion, aggregation, threshold, agreement,
    results with intervals and counts, time and pay.

    A sentence whose values are missing is left out; missing gold, controls and pay are said to be missing.

    Args:
        record: the baseline of people without training.
        plan: the content of `study.yaml`.
        language: `ru` or `en`.
        experts: for an expert dataset, the JSON of `merilo experts baseline`, or of both arms.
        platform: the code of the platform, such as `toloka`, if the baseline's command does not name it.

    Returns:
        Paragraphs, divided by a blank line.
    """
    people = methods(record, plan, platform=platform)
    if experts is None:
        people += human_benchmark(record)
    else:
        people = _headed(Text("People without training."), people)
        people += _headed(Text("Experts."), _expert_paragraphs(experts, plan))
        people += comparison(experts)
    return "\n\n".join(text.in_language(language) for text in people)


def methods(
    record: BaselineRecord, plan: Mapping[str, Json] | None, *, platform: str | None = None
) -> list[Text]:
    """Describe how the baseline was made, and its results, in paragraphs."""
    return [*paragraphs(baseline_facts(record, plan, platform=platform)), *_whole_dataset(record)]


def paragraphs(facts: BaselineFacts) -> list[Text]:
    """Write the paragraphs about one group of people; empty ones are left out."""
    parts = (_conditions, _controls, _aggregation, _agreement, _results)
    return [joined(told) for told in (*(part(facts) for part in parts), pay(facts.record.cost)) if told]


def human_benchmark(record: BaselineRecord) -> list[Text]:
    """Say which items give the value of `human_benchmark`; nothing without a metric."""
    benchmark = record.human_benchmark
    if benchmark is None or not benchmark.metrics or record.items.total is None:
        return []
    return [
        Text(
            "The value of human_benchmark in the dataset's metadata is that of "
            "{items:agreed=the items with a majority only|all items with a consensus}: {n} of {total}.",
            items=benchmark.items,
            n=next(iter(benchmark.metrics.values())).n,
            total=record.items.total,
        )
    ]


def _headed(head: Text, told: list[Text]) -> list[Text]:
    return [joined([head, *told[:1]]), *told[1:]]


def _in_brackets(parts: Iterable[object]) -> Text | str:
    """Join details in brackets, after a space; nothing without a detail."""
    held = [part for part in parts if part != ""]
    return Text(" ({details})", details=joined(held, "; ")) if held else ""


def interval(span: Span) -> Text:
    """Format the ends of an interval."""
    return Text("{low:.3f} to {high:.3f}", low=span[0], high=span[1])


def _sure(span: Span | None) -> Text | str:
    return Text("95% confidence interval {interval}", interval=interval(span)) if span else ""


def _named_interval(span: Span | None, over_both: object, role: str) -> Text | str:
    """Return an interval with its name; nothing without an interval."""
    if span is None:
        return ""
    if over_both:
        return Text(
            "95% confidence interval over items and {role:experts=experts|annotators} {interval}",
            role=role,
            interval=interval(span),
        )
    return Text("95% confidence interval over items alone {interval}", interval=interval(span))


def seconds(value: float) -> Text:
    """Format a time in seconds, whole from 10 seconds on.

    Example:
        >>> seconds(26.7).en, seconds(4.46).en
        ('27 seconds', '4.5 seconds')
    """
    return Text("{n:# second|# seconds}", n=round(value, 1) if value < 10 else round(value))


def hours(value: float) -> Text:
    """Format a time in hours, whole from 10 hours on.

    Example:
        >>> hours(8.44).en, hours(21.4).en
        ('8.4 hours', '21 hours')
    """
    return Text("{n:# hour|# hours}", n=round(value, 1) if value < 10 else round(value))


def _conditions(facts: BaselineFacts) -> list[Text]:
    """Say what was asked, whom, and under which conditions."""
    told, record = [], facts.record
    if record.simulated:
        told.append(Text("The annotators are simulated, so this estimate says nothing about people."))
    if record.items.total is not None:
        told += _items(facts, record.items.total)
    if record.annotators.total is not None:
        told.append(
            Text(
                "The items were answered by {people} {role:experts=expert|annotator}{people:|s}{platform}{plain}.",
                people=record.annotators.total,
                role=facts.role,
                platform=Text(" of the crowdsourcing platform {platform}", platform=facts.platform)
                if facts.platform
                else "",
                plain=Text(" without special training") if facts.conditions.untrained else "",
            )
        )
        told += _asked(facts)
    return told + _rules(facts)


def _items(facts: BaselineFacts, items: int) -> list[Text]:
    title = Text(" of the dataset {title}", title=facts.title) if facts.title else ""
    if (subset := facts.conditions.subset) is None:
        return [
            Text(
                "{role:experts=Expert|Human} performance was measured on {items:# item|# items}{title}.",
                role=facts.role,
                items=items,
                title=title,
            )
        ]
    size, of, fields = subset
    kept = Text(
        " so that the distribution of the {n:field|fields} {fields} is kept",
        n=len(fields),
        fields=[Text("'{name}'", name=field) for field in fields],
    )
    drawn = Text(
        "Of the {of:# item|# items}{title}, {size} {size:was|were} drawn{how}.",
        of=of,
        title=title,
        size=size,
        how=kept if fields else Text(" at random"),
    )
    return [
        drawn,
        *([] if size == items else [Text("Answers were collected for {n:# item|# items}.", n=items)]),
    ]


def _asked(facts: BaselineFacts) -> list[Text]:
    overlap = {size: n for size, n in facts.overlap_asked.items() if size}
    if not overlap:
        return []
    total, least, most = sum(size * n for size, n in overlap.items()), min(overlap), max(overlap)
    if facts.record.adaptive:
        return [
            *adaptive_overlap(facts.record.adaptive),
            Text("There are {n:# answer|# answers} in all.", n=total),
        ]
    if least == most:
        return [
            Text(
                "Each item received {each:# answer|# answers}, {n:# answer|# answers} in all.",
                each=most,
                n=total,
            )
        ]
    planned = facts.conditions.overlap
    return [
        Text(
            "Each item received {least} to {most} answers{planned}, {n:# answer|# answers} in all.",
            least=least,
            most=most,
            planned=Text(" ({n} were planned)", n=planned) if planned else "",
            n=total,
        )
    ]


def adaptive_overlap(adaptive: AdaptiveRecord) -> list[Text]:
    """Describe adaptive overlap, the answers that it took, and what is computed from which answers."""
    start, limit = adaptive.start, adaptive.limit
    told = [
        Text(
            "The overlap was adaptive: {start:# person|# people} answered an item, and further people, up to {limit}, "
            "if the answers were not all equal.",
            start=start,
            limit=limit,
        )
    ]
    if adaptive.fixed_share:
        told.append(
            Text(
                "{limit} people answered each item of a random {share:%} ({n:# item|# items}) in any case.",
                limit=limit,
                share=adaptive.fixed_share,
                n=adaptive.items.fixed,
            )
        )
    told += [
        Text("An item received {mean:.2f} answers on average.", mean=adaptive.answers_per_item or 0.0),
        Text(
            "Agreement and the scores of single people are computed from the {n:# answer|# answers} that "
            "{n:was|were} asked for whatever the other people answered, because items on which "
            "people disagree have more "
            "answers.",
            n=adaptive.answers_by_design,
        ),
    ]
    if 2 * start > limit:
        told.append(
            Text(
                "{start:# equal answer is|# equal answers are} a majority of {limit}, so the "
                "consensus does not depend on "
                "the answers that were not asked for.",
                start=start,
                limit=limit,
            )
        )
    else:
        told.append(
            Text(
                "{start:# equal answer is|# equal answers are} not a majority of {limit}: the "
                "consensus can differ from that of "
                "{limit} people, which is not corrected; it differs on {changed} of {checked:# "
                "item|# items} with fixed overlap on "
                "which the first {start} people agreed.",
                start=start,
                limit=limit,
                changed=adaptive.check.changed,
                checked=adaptive.check.items,
            )
        )
    return told


def adaptive_design(adaptive: AdaptiveRecord) -> Text:
    """Name the design and the mean number of answers, without a full stop."""
    return Text(
        "adaptive overlap {start} to {limit}{fixed}; {mean:.2f} answers per item on average",
        start=adaptive.start,
        limit=adaptive.limit,
        fixed=Text(", fixed for a random {share:%} of the items", share=adaptive.fixed_share)
        if adaptive.fixed_share
        else "",
        mean=adaptive.answers_per_item or 0.0,
    )


def _rules(facts: BaselineFacts) -> list[Text]:
    known, told = facts.conditions, []
    if known.planned:
        told.append(
            Text(
                "The {role:experts=experts|annotators} saw every item in the form in which models receive it, without "
                "solved examples.",
                role=facts.role,
            )
        )
    if known.trained is not None:
        told.append(
            Text(
                "They first answered training items; those with at least {share:%} correct answers were admitted.",
                share=known.trained,
            )
        )
    if known.restrictions:
        told.append(
            Text(
                "The instruction set {n:this rule|these rules}: {rules}.",
                n=len(known.restrictions),
                rules=joined((Text("“{rule}”", rule=rule) for rule in known.restrictions), "; "),
            )
        )
    if known.time_limit is not None:
        told.append(_time_limit(known.time_limit))
    if known.skip_own:
        told.append(
            Text(
                "The {role:experts=experts|annotators} skipped items that they might have written themselves.",
                role=facts.role,
            )
        )
    return told


def _time_limit(limit: float) -> Text:
    return Text("The time limit was {n:# second|# seconds} per item.", n=round(limit))


def _controls(facts: BaselineFacts) -> list[Text]:
    """Say how annotators were checked, and who was excluded."""
    record, annotators = facts.record, facts.record.annotators
    if not record.responses.control:
        none = Text(
            "There were no control items, so no {role:experts=expert|annotator} was excluded.",
            role=facts.role,
        )
        return [none] if annotators.total else []
    told = [
        Text(
            "The tasks included {n:# control item|# control items} with a known answer, which received "
            "{answers:# answer|# answers}.",
            n=record.control_health.controls,
            answers=record.responses.control,
        )
        if record.control_health.controls
        else Text(
            "Control items with a known answer received {answers:# answer|# answers}.",
            answers=record.responses.control,
        )
    ]
    values: dict[str, Any] = {
        "role": facts.role,
        "share": annotators.min_control_accuracy,
        "excluded": annotators.excluded,
        "people": annotators.total,
    }
    if None not in values.values() and annotators.excluded == 0:
        told.append(
            Text(
                "No {role:experts=expert|annotator} was excluded: all reached an accuracy of at least {share:%} on the "
                "control items.",
                **values,
            )
        )
    elif None not in values.values():
        told.append(
            Text(
                "{role:experts=Experts|Annotators} with an accuracy below {share:%} on the control "
                "items were excluded with "
                "all their answers; this applied to {excluded} of {people} {role:experts=expert|annotator}{people:|s}.",
                **values,
            )
        )
    if annotators.unchecked:
        told.append(
            Text(
                "Another {n} {role:experts=expert|annotator}{n:|s} had no or too few control "
                "answers and {n:was|were} kept.",
                n=annotators.unchecked,
                role=facts.role,
            )
        )
    if annotators.excluded and record.responses.used is not None and facts.overlap:
        told.append(
            Text(
                "After exclusion, {n:# answer remains|# answers remain}: {left}.",
                n=record.responses.used,
                left=joined(
                    (
                        Text("{size} on {n:# item|# items}", size=size, n=n)
                        if size
                        else Text("none on {n:# item|# items}", n=n)
                        for size, n in facts.overlap.items()
                    ),
                    ", ",
                ),
            )
        )
    return told


def _exclusion(facts: BaselineFacts) -> list[Text]:
    """Say how many were excluded, if nothing else is known about the control items."""
    annotators = facts.record.annotators
    if not annotators.excluded or annotators.total is None:
        return []
    return [
        Text(
            "By the control items, {excluded} of {people} "
            "{role:experts=expert|annotator}{people:|s} {excluded:was|were} "
            "excluded.",
            excluded=annotators.excluded,
            people=annotators.total,
            role=facts.role,
        )
    ]


def _aggregation(facts: BaselineFacts) -> list[Text]:
    """Say how items were decided, how many had a majority, and what follows for the baseline."""
    record, agreement = facts.record, facts.record.agreement
    if record.programs:
        return [
            Text(
                "Every program was run in a sandbox and counts by itself, as right if it passes "
                "all tests of its problem; "
                "programs have no consensus."
            )
        ]
    told = []
    least, most = min(agreement.votes_needed, default=0), max(agreement.votes_needed, default=0)
    if most:
        told.append(
            Text("A majority is at least {n:# equal answer|# equal answers}.", n=least)
            if least == most
            else Text("A majority is more than half of the answers.")
        )
        if (record.parameters.get("aggregator"), record.parameters.get("resolve")) == ("majority", "none"):
            told.append(Text("Items without a majority are left out of the metric."))
    if facts.ways:
        told.append(_decided(facts.ways))
    if record.resolved_by.unresolved:
        told.append(
            Text(
                "There is no consensus on {n:# item|# items}, which {n:was|were} left out of the metric.",
                n=record.resolved_by.unresolved,
            )
        )
    low, allowed, items = agreement.low_agreement, agreement.max_low_agreement, record.items.total
    if low is not None and allowed is not None and items:
        told.append(_without_majority(low, items, allowed, rejected=record.status == "rejected"))
    return told


def _decided(ways: Mapping[str, int]) -> Text:
    (first, n), *others = ways.items()
    rest = joined((Text(", on {n} {way}", n=n, way=WAYS[way].phrase) for way, n in others), "")
    if first == "unanimous":
        return Text("A consensus was reached on {n:# item|# items} unanimously{rest}.", n=n, rest=rest)
    return Text(
        "A consensus was reached on {n:# item|# items} {way}{rest}.", n=n, way=WAYS[first].phrase, rest=rest
    )


def _without_majority(low: int, items: int, allowed: float, *, rejected: bool) -> Text:
    values: dict[str, Any] = {"low": low, "items": items, "share": low / items, "allowed": allowed}
    if low == 0:
        return Text("Every item has a majority.")
    if rejected:
        return Text(
            "A majority is lacking on {low} of {items:# item|# items} ({share:%}), more than the "
            "allowed {allowed:%}: the "
            "estimate is not valid and must not be used.",
            **values,
        )
    return Text(
        "A majority is lacking on {low} of {items:# item|# items} ({share:%}); up to {allowed:%} were allowed.",
        **values,
    )


def _agreement(facts: BaselineFacts) -> list[Text]:
    """Say how far annotators agree."""
    found = facts.record.agreement
    parts = [
        Text(
            "{coefficient} is {value:.3f}{sure}",
            coefficient=COEFFICIENTS[name],
            value=getattr(found, name),
            sure=_in_brackets([_sure(getattr(found, f"{name}_ci95"))]),
        )
        for name in ("krippendorff_alpha", "gwet_ac1")
        if getattr(found, name) is not None
    ]
    if not parts or not found.n:
        return []
    return [
        Text(
            "Agreement of the {role:experts=experts|annotators} on {n:# answer|# answers}: {coefficients}.",
            role=facts.role,
            n=found.n,
            coefficients=joined(parts, ", "),
        )
    ]


def _results(facts: BaselineFacts) -> list[Text]:
    """Say what the consensus and a single annotator score."""
    metrics = facts.record.main_metrics
    if metrics or facts.groups:
        return [
            *(text for name, one in metrics.items() for text in _metric(name, one, facts)),
            *_groups(facts),
        ]
    if facts.record.gold is not None or facts.record.metrics:
        return [Text("No metric is given, because no metric could be computed.")]
    return [Text("No metric is given, because the study has no gold answers.")]


def _groups(facts: BaselineFacts) -> list[Text]:
    if not facts.groups or facts.group_metric is None:
        return []
    both = any(one.over_both for _, one in facts.groups)
    over = Text(" over items and {role:experts=experts|annotators}", role=facts.role) if both else ""
    intervals = Text(" (with 95% confidence intervals{over})", over=over)
    metric = metric_title(facts.group_metric)
    sure = intervals if any(one.interval for _, one in facts.groups) else ""
    if len(facts.groups) <= _MOST_GROUPS:
        groups = joined((_in_group(*one) for one in facts.groups), "; ")
        return [
            Text(
                "By group of items, the {metric}{sure} is: {groups}.", metric=metric, sure=sure, groups=groups
            )
        ]
    lowest, highest = (
        _in_group(*choose(facts.groups, key=lambda one: one[1].value or 0.0)) for choose in (min, max)
    )
    return [
        Text(
            "Over {n:# group|# groups} of items, the {metric}{sure} ranges from {lowest} to {highest}.",
            n=len(facts.groups),
            metric=metric,
            sure=sure,
            lowest=lowest,
            highest=highest,
        )
    ]


def _in_group(name: str, one: MetricRecord) -> Text:
    alone = "" if one.over_both else Text(" over items alone")
    return Text(
        "{value:.3f} in “{group}” ({sure}{n:# item|# items})",
        value=one.value,
        group=group_title(name),
        sure=Text("{interval}{alone}; ", interval=interval(one.interval), alone=alone)
        if one.interval
        else "",
        n=one.n,
    )


def _metric(name: str, one: MetricRecord, facts: BaselineFacts) -> list[Text]:
    clusters = Text(" in {n:# cluster|# clusters}", n=one.clusters) if one.clusters else ""
    values: dict[str, Any] = {
        "metric": metric_title(name),
        "value": one.value,
        "n": one.n,
        "clusters": clusters,
        "sure": _in_brackets([_named_interval(one.interval, one.over_both, facts.role)]),
    }
    if facts.record.programs:
        return [
            Text(
                "The {metric} of {role:experts=experts|people} is {value:.3f} on {n:# item|# items}{clusters}{sure}.",
                role=facts.role,
                **values,
            )
        ]
    told = [
        Text("The {metric} of the consensus is {value:.3f} on {n:# item|# items}{clusters}{sure}.", **values)
    ]
    if alone := one.by_other_majority:
        items = Text("on {n:# item|# items}", n=alone.n)
        told.append(
            Text(
                "On the items with a majority, it is {value:.3f}{details}.",
                value=alone.value,
                details=_in_brackets([items, _named_interval(alone.interval, alone.over_both, facts.role)]),
            )
        )
    if (dropped := one.with_dropped) and dropped.dropped and dropped.dropped_counted_as_wrong is not None:
        told.append(
            Text(
                "If the {n:# item|# items} without a consensus counted as wrong, it would be {value:.3f}.",
                n=dropped.dropped,
                value=dropped.dropped_counted_as_wrong,
            )
        )
    single = one.single
    if single and single.mean is not None and single.annotators and single.answers:
        counts = Text(
            "{people} {role:experts=expert|annotator}{people:|s}, {answers:# answer|# answers}",
            people=single.annotators,
            role=facts.role,
            answers=single.answers,
        )
        told.append(
            Text(
                "A single {role:experts=expert|annotator} scores {mean:.3f} on average{details}.",
                role=facts.role,
                mean=single.mean,
                details=_in_brackets([_named_interval(single.ci95, over_both=True, role=facts.role), counts]),
            )
        )
    return told


def pay(cost: CostRecord) -> list[Text]:
    """Say how long people worked and what they were paid."""
    told = []
    if (median := cost.median_seconds_per_answer) is not None:
        told.append(Text("The median time of an answer is {seconds}.", seconds=seconds(median)))
    if cost.total is None:
        return [*told, Text("The export has no data on pay.")]
    hourly: Text | str = ""
    if cost.hourly is not None and cost.hours is not None:
        hourly = Text(
            ", which is {hourly} per hour of measured time ({hours} in all)",
            hourly=Money(cost.hourly, cost.currency),
            hours=hours(cost.hours),
        )
    told.append(
        Text(
            "The annotation cost {total}{unknown}{pages}{hourly}.",
            total=Money(cost.total, cost.currency),
            unknown="" if cost.currency else Text(" (the export does not name the currency)"),
            pages=Text(" for {pages}", pages=paid_work(cost.pages, cost.answers)) if cost.pages else "",
            hourly=hourly,
        )
    )
    return told


def _whole_dataset(record: BaselineRecord) -> list[Text]:
    """Say what the metrics are on the whole dataset; nothing if the items are not a sample of it."""
    population = record.population
    estimates = {
        name: one.dataset
        for name, one in record.main_metrics.items()
        if one.dataset is not None and one.dataset.value is not None
    }
    if population is None or not estimates:
        return []
    told = [
        Text("The estimates above are those of the sample of {n:# item|# items}.", n=population.sampled),
        Text("For the whole dataset, they were {weighted}.", weighted=weighting(population)),
    ]
    if empty := len(population.without_responses):
        told.append(Text("{n:# stratum|# strata} without responses {n:is|are} not included.", n=empty))
    for name, one in estimates.items():
        single: Text | str = ""
        if one.single is not None and one.single.mean is not None:
            single = Text(
                "; a single annotator scores {mean:.3f}{sure}",
                mean=one.single.mean,
                sure=_in_brackets([_sure(one.single.over_both)]),
            )
        told.append(
            Text(
                "On the whole dataset, the {metric} of the consensus is {value:.3f}{sure}{single}.",
                metric=metric_title(name),
                value=one.value,
                sure=_in_brackets([_sure(one.over_both)]),
                single=single,
            )
        )
    told.append(
        Text(
            "The intervals are over items and annotators; the part from items has a finite-population correction."
        )
    )
    return [joined(told)]


def weighting(population: PopulationRecord) -> Text:
    """Say how the sample was weighted, as a part of a sentence."""
    fields = [one_line(field) for field in population.fields]
    return Text(
        "post-stratified to {items:# item|# items} of the dataset in {strata:# stratum|# strata}{by}; weights of items "
        "{low:.3g} to {high:.3g}",
        items=population.items_of_estimate or population.items,
        strata=len(population.strata),
        by=Text(" by {fields}", fields=fields) if fields else "",
        low=population.smallest_weight or 0.0,
        high=population.largest_weight or 0.0,
    )


def _expert_paragraphs(study: Mapping[str, Json], plan: Mapping[str, Json] | None) -> list[Text]:
    own = mapping_at(study, "experts")
    if not own:  # the experts' own baseline, without a comparison
        return paragraphs(baseline_facts(BaselineRecord.of_json(dict(study)), plan, role="experts"))
    paid = [joined(pay(BaselineRecord.of_json(dict(study)).cost))] if mapping_at(study, "cost") else []
    if text_at(own, "protocol") == "out-of-bag":
        return [joined(_out_of_bag(own)), *paid]
    if "resolved_by" in own:
        return paragraphs(baseline_facts(BaselineRecord.of_json(dict(own)), plan, role="experts"))
    counts: Json = {"total": own.get("annotators"), "excluded": own.get("excluded")}
    record = BaselineRecord.of_json({**own, "dataset": study.get("dataset"), "annotators": counts})
    facts = baseline_facts(record, plan, role="experts")
    return [joined([*_conditions(facts), *_exclusion(facts)]), joined(_results(facts)), *paid]


def comparison(study: Mapping[str, Json]) -> list[Text]:
    """Describe the difference between experts and people without training; nothing if they were not compared.

    Args:
        study: the JSON of `merilo experts baseline`.
    """
    found = mapping_at(study, "comparison")
    n = count_at(found, "n")
    values: dict[str, Any] = {name: number_at(found, name) for name in ("experts", "people", "difference")}
    if not n or None in values.values():
        return []
    metric = next(iter(mapping_at(study, "experts", "metrics")), None)
    p, test = number_at(found, "p"), text_at(found, "test") or ""
    test_name = next((name for start, name in _TESTS.items() if test.startswith(start)), "")
    tested = (
        joined([Text("p < {p:.3f}", p=0.001) if p < 0.001 else Text("p = {p:.3f}", p=p), test_name], ", ")
        if p is not None
        else ""
    )
    over_both = "annotators" in (text_at(found, "interval") or "")
    sure = _named_interval(ends(value_at(found, "ci95")), over_both=over_both, role="annotators")
    return [
        Text(
            "On the {n:# item|# items} that both groups answered, the {metric} is {experts:.3f} for "
            "experts and {people:.3f} for "
            "people without training. The difference is {difference:.3f}{details}.",
            n=n,
            metric=metric_title(metric) if metric else Text("mean score"),
            details=_in_brackets([sure, tested]),
            **values,
        )
    ]


def metrics_at(content: Mapping[str, Json], key: str) -> dict[str, MetricRecord]:
    """Return the metrics below a key of the JSON of an expert study, those with a value."""
    metrics = mapping_at(content, key)
    records = {name: MetricRecord.of_json(metrics[name]) for name in metrics}
    return {name: one for name, one in records.items() if one.value is not None}


def ends(interval: Json) -> Span | None:
    """Return the ends of an interval in the JSON of an expert study."""
    return MetricRecord.of_json({"ci95": interval}).over_items


def _out_of_bag(experts: Mapping[str, Json]) -> list[Text]:
    """Describe experts who skip their own questions, and what they score.

    Args:
        experts: the object `experts` of the JSON of `merilo experts baseline`, with the protocol `out-of-bag`.
    """
    total, decided = count_at(experts, "items", "total"), count_at(experts, "items", "decided")
    told = [_who(experts), *_asked_experts(experts)]
    if limit := number_at(experts, "design", "time_limit_seconds"):
        told.append(_time_limit(limit))
    used = count_at(experts, "answers", "counted")
    if used is not None:
        told.append(
            Text(
                "The consensus is based on {n:# answer|# answers}{left_out}.",
                n=used,
                left_out=joined(_left_out(experts), ""),
            )
        )
    least = count_at(experts, "design", "min_answers")
    told.append(
        Text(
            "The consensus is the answer of {decision:majority=more than half|most} of the experts "
            "who answered the item{least}.",
            decision=text_at(experts, "design", "decision"),
            least=Text("; at least {n:# answer is|# answers are} required", n=least) if least else "",
        )
    )
    if total is not None and decided is not None:
        told.append(
            Text(
                "In this way {decided} of {total:# item|# items} {decided:was|were} decided.",
                decided=decided,
                total=total,
            )
        )
        told += _kept(experts, total - decided)
    share = number_at(experts, "items", "decided_share")
    ruled = Text("this rule decided {share:%} of the items", share=share) if share is not None else ""
    told += [
        Text(
            "The {metric} of the experts is {value:.3f} on {n:# item|# items}{details}.",
            metric=metric_title(name),
            value=one.value,
            n=one.n,
            details=_in_brackets([_named_interval(one.interval, one.over_both, "experts"), ruled]),
        )
        for name, one in metrics_at(experts, "metrics").items()
    ]
    value, alone = number_at(experts, "decided_by_rule", "value"), count_at(experts, "decided_by_rule", "n")
    if value is not None and alone and decided != total:
        told.append(
            Text(
                "On the {n:# item|# items} that this rule decided, it would be {value:.3f}.",
                n=alone,
                value=value,
            )
        )
    return told + _domains(experts)


def _experts(experts: Mapping[str, Json]) -> dict[str, int]:
    counts = mapping_at(experts, "experts")
    return {one_line(name): n for name, n in counts.items() if isinstance(n, int)}


def _who(experts: Mapping[str, Json]) -> Text:
    counts = _experts(experts)
    if not counts:
        return Text("Experts answered the items.")
    if len(counts) == 1:
        return Text("The items were answered by {n:# expert|# experts}.", n=next(iter(counts.values())))
    shown = joined((Text("{n} for {domain}", n=n, domain=name) for name, n in counts.items()), ", ")
    return Text("Experts of each domain answered its items ({experts}).", experts=shown)


def _asked_experts(experts: Mapping[str, Json]) -> list[Text]:
    """Say which items experts were asked, and whether all of them answered all of these."""
    counts = _experts(experts)
    people, complete = count_at(experts, "people", "total"), count_at(experts, "people", "answered_all")
    domains = 0 if len(counts) < 2 else 1 if sum(counts.values()) <= (people or 0) else 2
    if people is not None and people == complete:
        return [
            Text(
                "Each expert answered all items{domains:0=|1= of their domain|2= of their domains} "
                "except those that they might "
                "have written, for which there was an option to skip.",
                domains=domains,
            )
        ]
    told = [
        Text(
            "Experts were asked to answer all items{domains:0=|1= of their domain|2= of their "
            "domains} except those that they "
            "might have written, for which there was an option to skip.",
            domains=domains,
        )
    ]
    if people is None or complete is None:
        return told
    values: dict[str, Any] = {
        "complete": complete,
        "people": people,
        "lack": count_at(experts, "people", "unanswered") or 0,
    }
    told.append(
        Text(
            "{complete} of {people:# expert|# experts} answered all of these items; "
            "{lack:# answer is|# answers are} missing.",
            **values,
        )
        if complete
        else Text(
            "None of {people:# expert|# experts} answered all of these items; {lack:# answer is|# "
            "answers are} missing.",
            **values,
        )
    )
    return told


def _kept(experts: Mapping[str, Json], rest: int) -> list[Text]:
    """Say how the items were decided that the rule did not decide."""
    votes, late, skill = (
        len(list_at(experts, "items", "fallback", name)) for name in ("votes", "late", "skill")
    )
    wrong = len(list_at(experts, "items", "counted_as_wrong"))
    parts = [
        Text("{n} {n:was|were} decided by the most votes", n=votes) if votes else "",
        Text("{n} {n:was|were} decided with the answers after the time limit", n=late) if late else "",
        Text("{n} {n:was|were} decided by the accuracy of the experts who answered", n=skill)
        if skill
        else "",
        Text("{n} {n:counts|count} as wrong", n=wrong) if wrong else "",
    ]
    if not rest or not any(parts):
        return []
    return [
        Text(
            "The {n:item|items} that this rule did not decide {n:was|were} kept: {how}.",
            n=rest,
            how=joined(parts, ", "),
        )
    ]


def _left_out(experts: Mapping[str, Json]) -> list[Text]:
    """Say which answers the consensus does not count; each phrase continues a sentence."""
    hidden, late = (count_at(experts, "answers", name) or 0 for name in ("not_shown", "late"))
    mine = (count_at(experts, "answers", "may_be_mine") or 0) - hidden
    told = []
    if mine:
        told.append(Text("; experts skipped an item as possibly their own {n:# time|# times}", n=mine))
    if hidden:
        told.append(Text("; an item was not shown to the expert who wrote it {n:# time|# times}", n=hidden))
    if late:
        told.append(
            Text(
                "; answers after the time limit ({n}) {late:keep=count too|wrong=count as wrong|do not count}",
                n=late,
                late=text_at(experts, "design", "late"),
            )
        )
    return told


def _domains(experts: Mapping[str, Json]) -> list[Text]:
    """Return the score of each domain with its number of items, if there are several domains."""
    scores = metrics_at(experts, "by_domain")
    if len(scores) < 2:
        return []
    shown = (
        Text("{domain} {value:.3f} ({n:# item|# items})", domain=one_line(name), value=one.value, n=one.n)
        for name, one in scores.items()
    )
    return [Text("By domain: {domains}.", domains=joined(shown, ", "))]
