"""A baseline in sentences, for the report page, cards, the README, papers and messages.

Each sentence stands here once, in the dictionary of a paragraph, under the name of the fact that it needs: it is left
out if this fact is missing. The facts are computed below the dictionaries; a fact without a sentence is a text itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, TypeAlias

from merilo.baselines.baseline import Baseline, CostRecord, MetricRecord, PopulationRecord
from merilo.people.cost import paid_work
from merilo.records import Span, count_at, list_at, mapping_at, number_at, text_at, value_at
from merilo.reports.baseline_facts import WAYS, BaselineFacts, baseline_facts
from merilo.reports.estimates import group_title, metric_title
from merilo.reports.table import one_line
from merilo.strict_json import Json
from merilo.text import Language, Money, Text, joined

#: The facts that a sentence needs and has, by name.
Facts: TypeAlias = Mapping[str, Any]
Sentences: TypeAlias = Mapping[str, Text | None]

#: With more groups of items, prose names only the lowest and the highest.
_MOST_GROUPS: Final = 15

#: The beginning of a test's description in the JSON -> its name.
_TESTS: Final = {
    "McNemar's exact test": Text("McNemar's exact test"),
    "sign-flip permutation test": Text("sign-flip permutation test"),
    "Tango's score test": Text("Tango's score test"),
    "Student's test": Text("Student's test"),
}

_TIME_LIMIT: Final = Text("The time limit was {time_limit:# second|# seconds} per item.")

#: What was asked, whom, and under which conditions.
_CONDITIONS: Final[Sentences] = {
    "simulated": Text("The annotators are simulated, so this estimate says nothing about people."),
    "whole": Text(
        "{role:experts=Expert|Human} performance was measured on {items:# item|# items}{title}.",
    ),
    "drawn": Text("Of the {of:# item|# items}{title}, {drawn} {drawn:was|were} drawn{how}."),
    "other_items": Text("Answers were collected for {items:# item|# items}."),
    "people": Text(
        "The items were answered by {people} {role:experts=expert|annotator}{people:|s}{platform}{plain}."
    ),
    "each": Text("Each item received {each:# answer|# answers}, {answers:# answer|# answers} in all."),
    "most": Text(
        "Each item received {least} to {most} answers{planned}, {answers:# answer|# answers} in all."
    ),
    "same_form": Text(
        "The {role:experts=experts|annotators} saw every item in the form in which models receive it, without "
        "solved examples."
    ),
    "trained": Text(
        "They first answered training items; those with at least {trained:%} correct answers were admitted."
    ),
    "rules": Text("The instruction set {number:this rule|these rules}: {rules}."),
    "time_limit": _TIME_LIMIT,
    "skip_own": Text(
        "The {role:experts=experts|annotators} skipped items that they might have written themselves."
    ),
}

#: How annotators were checked, and who was excluded.
_CONTROLS: Final[Sentences] = {
    "no_controls": Text("There were no control items, so no {role:experts=expert|annotator} was excluded."),
    "controls": Text(
        "The tasks included {controls:# control item|# control items} with a known answer, which received "
        "{answers:# answer|# answers}."
    ),
    "uncounted_controls": Text("Control items with a known answer received {answers:# answer|# answers}."),
    "none_excluded": Text(
        "No {role:experts=expert|annotator} was excluded: all reached an accuracy of at least {share:%} on the "
        "control items."
    ),
    "some_excluded": Text(
        "{role:experts=Experts|Annotators} with an accuracy below {share:%} on the control items were excluded "
        "with all their answers; this applied to {excluded} of {people} "
        "{role:experts=expert|annotator}{people:|s}."
    ),
    "unchecked": Text(
        "Another {unchecked} {role:experts=expert|annotator}{unchecked:|s} had no or too few control answers "
        "and {unchecked:was|were} kept."
    ),
    "left": Text("After exclusion, {used:# answer remains|# answers remain}: {left}."),
}

#: How items were decided, how many had a majority, and what follows for the baseline.
_AGGREGATION: Final[Sentences] = {
    "programs": Text(
        "Every program was run in a sandbox and counts by itself, as right if it passes all tests of its "
        "problem; programs have no consensus."
    ),
    "scored": Text(
        "The answers were scored elsewhere: each is right or wrong and counts by itself; there is no consensus."
    ),
    "equal": Text("A majority is at least {equal:# equal answer|# equal answers}."),
    "half": Text("A majority is more than half of the answers."),
    "left_out": Text("Items without a majority are left out of the metric."),
    "unanimous": Text("A consensus was reached on {first:# item|# items} unanimously{rest}."),
    "way": Text("A consensus was reached on {first:# item|# items} {way}{rest}."),
    "unresolved": Text(
        "There is no consensus on {unresolved:# item|# items}, which {unresolved:was|were} left out of the metric."
    ),
    "all_agree": Text("Every item has a majority."),
    "rejected": Text(
        "A majority is lacking on {low} of {items:# item|# items} ({share:%}), more than the allowed {allowed:%}: "
        "the estimate is not valid and must not be used."
    ),
    "accepted": Text(
        "A majority is lacking on {low} of {items:# item|# items} ({share:%}); up to {allowed:%} were allowed."
    ),
}

#: What the consensus and a single annotator score by a metric.
_METRIC: Final[Sentences] = {
    "programs": Text(
        "The {metric} of {role:experts=experts|people} is {value:.3f} on {n:# item|# items}{clusters}{sure}."
    ),
    "consensus": Text("The {metric} of the consensus is {value:.3f} on {n:# item|# items}{clusters}{sure}."),
    "alone": Text("On the items with a majority, it is {alone:.3f}{sure_alone}."),
    "dropped": Text(
        "If the {dropped:# item|# items} without a consensus counted as wrong, it would be {wrong:.3f}."
    ),
    "single": Text("A single {role:experts=expert|annotator} scores {mean:.3f} on average{sure_single}."),
}

#: How long people worked and what they were paid.
_PAY: Final[Sentences] = {
    "seconds": Text("The median time of an answer is {seconds}."),
    "paid": Text("The annotation cost {total}{unknown}{pages}{hourly}."),
    "unpaid": Text("The export has no data on pay."),
}

#: Experts who skip their own questions: who they are, what they were asked, how their answers became a consensus.
_OUT_OF_BAG: Final[Sentences] = {
    "uncounted": Text("Experts answered the items."),
    "of_one_domain": Text("The items were answered by {of_one_domain:# expert|# experts}."),
    "of_domains": Text("Experts of each domain answered its items ({of_domains})."),
    "all_complete": Text(
        "Each expert answered all items{domains:0=|1= of their domain|2= of their domains} except those that "
        "they might have written, for which there was an option to skip."
    ),
    "asked": Text(
        "Experts were asked to answer all items{domains:0=|1= of their domain|2= of their domains} except those "
        "that they might have written, for which there was an option to skip."
    ),
    "some_complete": Text(
        "{complete} of {people:# expert|# experts} answered all of these items; "
        "{lack:# answer is|# answers are} missing."
    ),
    "none_complete": Text(
        "None of {people:# expert|# experts} answered all of these items; {lack:# answer is|# answers are} missing."
    ),
    "time_limit": _TIME_LIMIT,
    "used": Text("The consensus is based on {used:# answer|# answers}{left_out}."),
    "decision": Text(
        "The consensus is the answer of {decision:majority=more than half|most} of the experts who answered the "
        "item{least}."
    ),
    "total": Text("In this way {decided} of {total:# item|# items} {decided:was|were} decided."),
    "kept": Text("The {rest:item|items} that this rule did not decide {rest:was|were} kept: {kept}."),
}

_WHOLE: Final[Sentences] = {
    "sampled": Text("The estimates above are those of the sample of {sampled:# item|# items}."),
    "weighted": Text("For the whole dataset, they were {weighted}."),
    "empty": Text("{empty:# stratum|# strata} without responses {empty:is|are} not included."),
    "metrics": None,
    "corrected": Text(
        "The intervals are over items and annotators; the part from items has a finite-population correction."
    ),
}


def _told(sentences: Sentences, facts: Facts) -> list[Text]:
    """Return the sentences whose facts are known; a fact is missing if it is `None`, false or empty."""
    return [
        facts[name] if sentence is None else Text(sentence.english, context=sentence.context, **facts)
        for name, sentence in sentences.items()
        if facts.get(name)
    ]


def human_baseline_section(
    record: Baseline,
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


def methods(record: Baseline, plan: Mapping[str, Json] | None, *, platform: str | None = None) -> list[Text]:
    """Describe how the baseline was made, and its results, in paragraphs."""
    return [*paragraphs(baseline_facts(record, plan, platform=platform)), *_whole_dataset(record)]


def paragraphs(facts: BaselineFacts) -> list[Text]:
    """Write the paragraphs about one group of people; empty ones are left out."""
    parts = (
        _told(_CONDITIONS, _condition_facts(facts)),
        _told(_CONTROLS, _control_facts(facts)),
        _told(_AGGREGATION, _aggregation_facts(facts)),
        agreement(facts),
        _results(facts),
        pay(facts.record.cost),
    )
    return [joined(told) for told in parts if told]


def main_result(record: Baseline) -> list[Text]:
    """Return the sentence about the main metric; empty if no metric has a value."""
    facts = baseline_facts(record)
    return [
        _told(_METRIC, _metric_facts(name, one, facts))[0]
        for name, one in list(record.main_metrics.items())[:1]
    ]


def human_benchmark(record: Baseline) -> list[Text]:
    """Say which items give the value of `human_benchmark`; nothing without a metric."""
    benchmark = record.human_benchmark
    if benchmark is None or not benchmark.metrics or record.item_counts.total is None:
        return []
    return [
        Text(
            "The value of human_benchmark in the dataset's metadata is that of "
            "{items:agreed=the items with a majority only|all items with a consensus}: {n} of {total}.",
            items=benchmark.items,
            n=next(iter(benchmark.metrics.values())).n,
            total=record.item_counts.total,
        )
    ]


def _headed(head: Text, told: list[Text]) -> list[Text]:
    return [joined([head, *told[:1]]), *told[1:]]


def _in_brackets(*parts: object) -> Text | str:
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


def _condition_facts(facts: BaselineFacts) -> Facts:
    record, known = facts.record, facts.conditions
    items, people = record.item_counts.total, record.annotator_counts.total
    drawn, of, fields = known.subset or (None, None, ())
    overlap = {size: n for size, n in facts.overlap_asked.items() if size and people is not None}
    least, most = min(overlap, default=0), max(overlap, default=0)
    kept = Text(
        " so that the distribution of the {n:field|fields} {fields} is kept",
        n=len(fields),
        fields=[Text("'{name}'", name=field) for field in fields],
    )
    rules = (Text("“{rule}”", rule=rule) for rule in known.restrictions)
    return {
        "role": facts.role,
        "simulated": record.simulated,
        "items": items,
        "title": Text(" of the dataset {title}", title=facts.title) if facts.title else "",
        "whole": items is not None and not drawn,
        "drawn": drawn if items is not None else None,
        "of": of,
        "how": kept if fields else Text(" at random"),
        "other_items": items is not None and drawn and drawn != items,
        "people": people,
        "platform": Text(" of the crowdsourcing platform {platform}", platform=facts.platform)
        if facts.platform
        else "",
        "plain": Text(" without special training") if known.untrained else "",
        "answers": sum(size * n for size, n in overlap.items()),
        "each": most if least == most else None,
        "least": least,
        "most": most if least != most else None,
        "planned": Text(" ({n} were planned)", n=known.overlap) if known.overlap else "",
        "same_form": known.planned,
        "trained": known.trained,
        "number": len(known.restrictions),
        "rules": joined(rules, "; ") if known.restrictions else None,
        "time_limit": known.time_limit and round(known.time_limit),
        "skip_own": known.skip_own,
    }


def _control_facts(facts: BaselineFacts) -> Facts:
    record, annotators = facts.record, facts.record.annotator_counts
    answers, controls = record.response_counts.control, record.control_health.controls
    people, excluded, share = annotators.total, annotators.excluded, annotators.min_control_accuracy
    if not answers:
        return {"role": facts.role, "no_controls": people}
    known = None not in {people, excluded, share}
    left = (
        Text("{size} on {n:# item|# items}", size=size, n=n)
        if size
        else Text("none on {n:# item|# items}", n=n)
        for size, n in facts.overlap.items()
    )
    return {
        "role": facts.role,
        "answers": answers,
        "controls": controls,
        "uncounted_controls": not controls,
        "share": share,
        "people": people,
        "excluded": excluded,
        "none_excluded": known and not excluded,
        "some_excluded": known and excluded,
        "unchecked": annotators.unchecked,
        "used": record.response_counts.used,
        "left": joined(left, ", ")
        if excluded and record.response_counts.used is not None and facts.overlap
        else None,
    }


def _aggregation_facts(facts: BaselineFacts) -> Facts:
    record, agreement = facts.record, facts.record.agreement
    if record.programs:
        return {"scored": True} if record.scored else {"programs": True}
    least, most = min(agreement.votes_needed, default=0), max(agreement.votes_needed, default=0)
    procedure = record.parameters.get("aggregator"), record.parameters.get("resolve")
    (way, first), *others = facts.ways.items() or [("", 0)]
    low, allowed, items = agreement.low_agreement, agreement.max_low_agreement, record.item_counts.total
    known = low is not None and allowed is not None and items
    return {
        "equal": most if least == most else None,
        "half": least != most,
        "left_out": most and procedure == ("majority", "none"),
        "first": first,
        "unanimous": way == "unanimous",
        "way": WAYS[way].phrase if way not in {"", "unanimous"} else None,
        "rest": joined((Text(", on {n} {way}", n=n, way=WAYS[name].phrase) for name, n in others), ""),
        "unresolved": record.resolved_by.unresolved,
        "low": low,
        "items": items,
        "share": (low or 0) / (items or 1),
        "allowed": allowed,
        "all_agree": known and not low,
        "rejected": known and low and record.status == "rejected",
        "accepted": known and low and record.status != "rejected",
    }


def agreement(facts: BaselineFacts) -> list[Text]:
    """Say how far annotators agree."""
    found = facts.record.agreement
    if found.krippendorff_alpha is None or not found.n:
        return []
    return [
        Text(
            "Agreement of the {role:experts=experts|annotators} on {n:# answer|# answers}: Krippendorff's alpha is "
            "{value:.3f}{sure}.",
            role=facts.role,
            n=found.n,
            value=found.krippendorff_alpha,
            sure=_in_brackets(_sure(found.krippendorff_alpha_ci95)),
        )
    ]


def _results(facts: BaselineFacts) -> list[Text]:
    """Say what the consensus and a single annotator score."""
    metrics = facts.record.main_metrics
    if metrics or facts.groups:
        told = (_told(_METRIC, _metric_facts(name, one, facts)) for name, one in metrics.items())
        return [*(text for texts in told for text in texts), *_groups(facts)]
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


def _metric_facts(name: str, one: MetricRecord, facts: BaselineFacts) -> Facts:
    values: dict[str, Any] = {
        "role": facts.role,
        "metric": metric_title(name),
        "value": one.value,
        "n": one.n,
        "clusters": Text(" in {n:# cluster|# clusters}", n=one.clusters) if one.clusters else "",
        "sure": _in_brackets(_named_interval(one.interval, one.over_both, facts.role)),
    }
    if facts.record.programs:
        return {**values, "programs": True}
    if alone := one.by_other_majority:
        items = Text("on {n:# item|# items}", n=alone.n)
        sure = _in_brackets(items, _named_interval(alone.interval, alone.over_both, facts.role))
        values |= {"alone": alone.value, "sure_alone": sure}
    if (dropped := one.with_dropped) and dropped.dropped_counted_as_wrong is not None:
        values |= {"dropped": dropped.dropped, "wrong": dropped.dropped_counted_as_wrong}
    single = one.single
    if single and single.mean is not None and single.annotators and single.answers:
        counts = Text(
            "{people} {role:experts=expert|annotator}{people:|s}, {answers:# answer|# answers}",
            people=single.annotators,
            role=facts.role,
            answers=single.answers,
        )
        sure = _in_brackets(_named_interval(single.ci95, over_both=True, role=facts.role), counts)
        values |= {"single": True, "mean": single.mean, "sure_single": sure}
    return {**values, "consensus": True}


def pay(cost: CostRecord) -> list[Text]:
    """Say how long people worked and what they were paid."""
    paid, median = cost.total is not None, cost.median_seconds_per_answer
    facts: dict[str, Any] = {"seconds": None if median is None else seconds(median), "unpaid": not paid}
    if paid:
        hourly = (
            Text(
                ", which is {hourly} per hour of measured time ({hours} in all)",
                hourly=Money(cost.hourly, cost.currency),
                hours=hours(cost.hours),
            )
            if cost.hourly is not None and cost.hours is not None
            else ""
        )
        facts |= {
            "paid": True,
            "total": Money(cost.total or 0.0, cost.currency),
            "unknown": "" if cost.currency else Text(" (the export does not name the currency)"),
            "pages": Text(" for {pages}", pages=paid_work(cost.pages, cost.answers)) if cost.pages else "",
            "hourly": hourly,
        }
    return _told(_PAY, facts)


def _whole_dataset(record: Baseline) -> list[Text]:
    """Say what the metrics are on the whole dataset; nothing if the items are not a sample of it."""
    population = record.population
    told = []
    for name, metric in record.main_metrics.items():
        one = metric.dataset
        if one is None or one.value is None:
            continue
        single: Text | str = ""
        if one.single is not None and one.single.mean is not None:
            single = Text(
                "; a single annotator scores {mean:.3f}{sure}",
                mean=one.single.mean,
                sure=_in_brackets(_sure(one.single.over_both)),
            )
        told.append(
            Text(
                "On the whole dataset, the {metric} of the consensus is {value:.3f}{sure}{single}.",
                metric=metric_title(name),
                value=one.value,
                sure=_in_brackets(_sure(one.over_both)),
                single=single,
            )
        )
    if population is None or not told:
        return []
    facts = {
        "sampled": population.sampled,
        "weighted": weighting(population),
        "empty": len(population.without_responses),
        "metrics": joined(told),
        "corrected": True,
    }
    return [joined(_told(_WHOLE, facts))]


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
        return paragraphs(baseline_facts(Baseline.of_json(dict(study)), plan, role="experts"))
    paid = [joined(pay(Baseline.of_json(dict(study)).cost))] if mapping_at(study, "cost") else []
    if text_at(own, "protocol") == "out-of-bag":
        return [joined(_out_of_bag(own)), *paid]
    if "resolved_by" in own:
        return paragraphs(baseline_facts(Baseline.of_json(dict(own)), plan, role="experts"))
    counts: Json = {"total": own.get("annotators"), "excluded": own.get("excluded")}
    record = Baseline.of_json({**own, "dataset": study.get("dataset"), "annotators": counts})
    facts = baseline_facts(record, plan, role="experts")
    conditions = _told(_CONDITIONS, _condition_facts(facts))
    people, excluded = record.annotator_counts.total, record.annotator_counts.excluded
    if people is not None and excluded:
        conditions.append(
            Text(
                "By the control items, {excluded} of {people} {role:experts=expert|annotator}{people:|s} "
                "{excluded:was|were} excluded.",
                excluded=excluded,
                people=people,
                role=facts.role,
            )
        )
    return [joined(conditions), joined(_results(facts)), *paid]


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
            details=_in_brackets(sure, tested),
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
    told = _told(_OUT_OF_BAG, _out_of_bag_facts(experts, total, decided))
    share = number_at(experts, "items", "decided_share")
    ruled = Text("this rule decided {share:%} of the items", share=share) if share is not None else ""
    told += [
        Text(
            "The {metric} of the experts is {value:.3f} on {n:# item|# items}{details}.",
            metric=metric_title(name),
            value=one.value,
            n=one.n,
            details=_in_brackets(_named_interval(one.interval, one.over_both, "experts"), ruled),
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
    domains = [
        Text("{domain} {value:.3f} ({n:# item|# items})", domain=one_line(name), value=one.value, n=one.n)
        for name, one in metrics_at(experts, "by_domain").items()
    ]
    return [*told, Text("By domain: {domains}.", domains=joined(domains, ", "))] if len(domains) > 1 else told


def _out_of_bag_facts(experts: Mapping[str, Json], total: int | None, decided: int | None) -> Facts:
    """Return what the sentences about experts need.

    Args:
        experts: as of `_out_of_bag`.
        total: the number of items.
        decided: the number of items that the rule of votes decided.
    """
    counts = {one_line(name): n for name, n in mapping_at(experts, "experts").items() if isinstance(n, int)}
    people, complete = count_at(experts, "people", "total"), count_at(experts, "people", "answered_all")
    by_domain = (Text("{n} for {domain}", n=n, domain=name) for name, n in counts.items())
    limit, least = (number_at(experts, "design", key) for key in ("time_limit_seconds", "min_answers"))
    rest = (total or 0) - (decided or 0) if total is not None and decided is not None else 0
    kept = joined(_by_count(_KEPT, _kept_counts(experts)), ", ")
    return {
        "uncounted": not counts,
        "of_one_domain": next(iter(counts.values())) if len(counts) == 1 else None,
        "of_domains": joined(by_domain, ", ") if len(counts) > 1 else None,
        "domains": 0 if len(counts) < 2 else 1 if sum(counts.values()) <= (people or 0) else 2,
        "people": people,
        "complete": complete,
        "lack": count_at(experts, "people", "unanswered") or 0,
        "all_complete": people is not None and people == complete,
        "asked": people is None or people != complete,
        "some_complete": people is not None and complete and people != complete,
        "none_complete": people and complete == 0,
        "time_limit": limit and round(limit),
        "used": count_at(experts, "answers", "counted"),
        "left_out": joined(_left_out(experts), ""),
        "decision": text_at(experts, "design", "decision") or "plurality",
        "least": Text("; at least {n:# answer is|# answers are} required", n=int(least)) if least else "",
        "total": total if decided is not None else None,
        "decided": decided,
        "rest": rest,
        "kept": kept if rest and kept.english else None,
    }


#: What decided the items that the rule did not decide, by the key of their list in the JSON.
_KEPT: Final = {
    "votes": Text("{n} {n:was|were} decided by the most votes"),
    "late": Text("{n} {n:was|were} decided with the answers after the time limit"),
    "skill": Text("{n} {n:was|were} decided by the accuracy of the experts who answered"),
    "wrong": Text("{n} {n:counts|count} as wrong"),
}


def _kept_counts(experts: Mapping[str, Json]) -> dict[str, int]:
    """Return how many items each way decided that the rule of votes did not decide."""
    counts = {name: len(list_at(experts, "items", "fallback", name)) for name in ("votes", "late", "skill")}
    return {**counts, "wrong": len(list_at(experts, "items", "counted_as_wrong"))}


def _left_out(experts: Mapping[str, Json]) -> list[Text]:
    """Say which answers the consensus does not count; each phrase continues a sentence."""
    hidden, late = (count_at(experts, "answers", name) or 0 for name in ("not_shown", "late"))
    mine = (count_at(experts, "answers", "may_be_mine") or 0) - hidden
    phrases = {
        "mine": Text("; experts skipped an item as possibly their own {n:# time|# times}"),
        "hidden": Text("; an item was not shown to the expert who wrote it {n:# time|# times}"),
        "late": Text(
            "; answers after the time limit ({n}) {late:keep=count too|wrong=count as wrong|do not count}"
        ),
    }
    counts = {"mine": mine, "hidden": hidden, "late": late}
    return _by_count(phrases, counts, late=text_at(experts, "design", "late"))


def _by_count(
    phrases: Mapping[str, Text], counts: Mapping[str, int], *, late: str | None = None
) -> list[Text]:
    """Return the phrases whose count is not 0, with it."""
    return [Text(text.english, n=counts[name], late=late) for name, text in phrases.items() if counts[name]]
