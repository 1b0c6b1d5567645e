"""A baseline in sentences, for the report page, cards, the README, papers and messages.

Each sentence stands here once, in the dictionary of a paragraph, under the name of the fact that it needs: it is left
out if this fact is missing. The facts are computed below the dictionaries; a fact without a sentence is a text itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, TypeAlias

from merilo.baselines.baseline import Baseline, CostRecord
from merilo.estimate import Estimate
from merilo.people.cost import paid_work
from merilo.records import Span
from merilo.reports.baseline_facts import WAYS, BaselineFacts, Role, baseline_facts
from merilo.reports.estimates import group_title, metric_title
from merilo.strict_json import Json
from merilo.text import Language, Money, Text, joined

#: The facts that a sentence needs and has, by name.
Facts: TypeAlias = Mapping[str, Any]
Sentences: TypeAlias = Mapping[str, Text | None]

#: With more groups of items, prose names only the lowest and the highest.
_MOST_GROUPS: Final = 15

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
    "time_limit": Text("The time limit was {time_limit:# second|# seconds} per item."),
    "skip_own": Text(
        "The {role:experts=experts|annotators} skipped items that they might have written themselves, for which there "
        "was an option{skipped}; the others decide these items."
    ),
    "late": Text("Answers after the time limit ({late}) do not count."),
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
    "single": Text("A single {role:experts=expert|annotator} scores {mean:.3f} on average{sure_single}."),
}

#: How long people worked and what they were paid.
_PAY: Final[Sentences] = {
    "seconds": Text("The median time of an answer is {seconds}."),
    "paid": Text("The annotation cost {total}{unknown}{pages}{hourly}."),
    "unpaid": Text("The export has no data on pay."),
}

_WHOLE: Final[Sentences] = {
    "sampled": Text("The estimates above are those of the sample of {sampled:# item|# items}."),
    "weighted": Text("For the whole dataset, they were {weighted}."),
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
    platform: str | None = None,
) -> str:
    """Write the section that the guide asks for.

    Whom, overlap, controls, restrictions, exclusion, aggregation, threshold, agreement,
    results with intervals and counts, time and pay.

    A sentence whose values are missing is left out; missing gold, controls and pay are said to be missing.

    Args:
        record: the baseline, with the other arms of the study.
        plan: the content of `study.yaml`.
        language: `ru` or `en`.
        platform: the code of the platform, such as `toloka`, if the baseline's command does not name it.

    Returns:
        Paragraphs, divided by a blank line.
    """
    told: list[Text] = []
    for name, arm in record.by_arm.items():
        own = [*methods(arm, plan, platform=platform, arm=name), *human_benchmark(arm, name)]
        head = ARM_HEADS.get(name, f"{name}.")
        told += [joined([head, *own[:1]]), *own[1:]] if record.arms else own
    told += filter(None, [arm_differences(record)])
    return "\n\n".join(text.in_language(language) for text in told)


#: What the paragraphs about an arm begin with.
ARM_HEADS: Final = {"people": Text("People without training."), "experts": Text("Experts.")}


def arm_differences(record: Baseline) -> Text | None:
    """Say by how much the consensus of arms differs; `None` without such differences."""
    metric = next(iter(record.main_metrics), "")
    told = [
        Text(
            "{name}: {value:+.3f}{details}",
            name=_difference_name(one.name, metric),
            value=one.value,
            details=_in_brackets(_sure(one.ci95), Text("{n:# item|# items}", n=one.n)),
        )
        for one in record.differences
        if one.value is not None and one.name.endswith(f": {metric}")
    ]
    return (
        Text(
            "Differences between the arms in the {metric} of a majority of as many answers: {differences}.",
            metric=metric_title(metric),
            differences=joined(told, "; "),
        )
        if told
        else None
    )


def _difference_name(name: str, metric: str) -> Text | str:
    arms = name.removesuffix(f": {metric}")
    known = {"experts minus people": Text("experts minus people without training")}
    return known.get(arms, arms)


def methods(
    record: Baseline, plan: Mapping[str, Json] | None, *, platform: str | None = None, arm: str = "people"
) -> list[Text]:
    """Describe how the baseline of an arm was made, and its results, in paragraphs."""
    role: Role = "experts" if arm == "experts" else "people"
    platform = None if role == "experts" else platform
    return [*paragraphs(baseline_facts(record, plan, role=role, platform=platform)), *_whole_dataset(record)]


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


def human_benchmark(record: Baseline, arm: str = "people") -> list[Text]:
    """Say which items give the value of `human_benchmark`, or `human_benchmark_expert`; nothing without a metric."""
    benchmark = record.human_benchmark
    if benchmark is None or not benchmark.metrics or record.item_counts.total is None:
        return []
    return [
        Text(
            "The value of {key} in the dataset's metadata is that of "
            "{items:agreed=the items with a majority only|all items with a consensus}: {n} of {total}.",
            key="human_benchmark_expert" if arm == "experts" else "human_benchmark",
            items=benchmark.items,
            n=next(iter(benchmark.metrics.values())).n,
            total=record.item_counts.total,
        )
    ]


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
    mine, hidden = (record.response_counts.dropped.get(name, 0) for name in ("may_be_mine", "not_shown"))
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
        "skip_own": known.skip_own or mine or hidden,
        "skipped": _in_brackets(
            Text("{n:# time|# times}", n=mine) if mine else "",
            Text("an item was not shown to its author {n:# time|# times}", n=hidden) if hidden else "",
        ),
        "late": record.response_counts.dropped.get("late"),
    }


def _control_facts(facts: BaselineFacts) -> Facts:
    record, annotators = facts.record, facts.record.annotator_counts
    answers, controls = record.response_counts.control, record.controls.total
    people, excluded, share = annotators.total, annotators.excluded, record.min_control_accuracy
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
        "unchecked": annotators.unjudged or 0,
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
            sure=_in_brackets(_sure(found.ci95)),
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
    both = any(one.people for _, one in facts.groups)
    over = Text(" over items and {role:experts=experts|annotators}", role=facts.role) if both else ""
    intervals = Text(" (with 95% confidence intervals{over})", over=over)
    metric = metric_title(facts.group_metric)
    sure = intervals if any(one.ci95 for _, one in facts.groups) else ""
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


def _in_group(name: str, one: Estimate) -> Text:
    alone = "" if one.people else Text(" over items alone")
    return Text(
        "{value:.3f} in “{group}” ({sure}{n:# item|# items})",
        value=one.value,
        group=group_title(name),
        sure=Text("{interval}{alone}; ", interval=interval(one.ci95), alone=alone) if one.ci95 else "",
        n=one.n,
    )


def _metric_facts(name: str, one: Estimate, facts: BaselineFacts) -> Facts:
    record = facts.record
    values: dict[str, Any] = {
        "role": facts.role,
        "metric": metric_title(name),
        "value": one.value,
        "n": one.n,
        "clusters": "",
        "sure": _in_brackets(_named_interval(one.ci95, one.people, facts.role)),
    }
    if record.programs:
        return {**values, "programs": True}
    alone = record.by_majority_alone.get(name)
    if alone and alone.n and alone.n != one.n:
        items = Text("on {n:# item|# items}", n=alone.n)
        sure = _in_brackets(items, _named_interval(alone.ci95, alone.people, facts.role))
        values |= {"alone": alone.value, "sure_alone": sure}
    single = record.single_person
    if single and single.name == name and single.value is not None:
        sure = _in_brackets(_named_interval(single.ci95, over_both=True, role=facts.role))
        values |= {"single": True, "mean": single.value, "sure_single": sure}
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
    told = [
        Text(
            "On the whole dataset, the {metric} of the consensus is {value:.3f}{sure}{single}.",
            metric=metric_title(name),
            value=one.value,
            sure=_in_brackets(_sure(one.ci95)),
            single="",
        )
        for name, one in record.whole_dataset.items()
        if one.value is not None and name in record.main_metrics
    ]
    if record.sampled is None or not told:
        return []
    facts = {
        "sampled": record.sampled[0],
        "weighted": weighting(record),
        "metrics": joined(told),
        "corrected": True,
    }
    return [joined(_told(_WHOLE, facts))]


def weighting(record: Baseline) -> Text:
    """Say how the sample was weighted, as a part of a sentence."""
    return Text("post-stratified to {items:# item|# items} of the dataset", items=record.sampled_from or 0)
