"""A baseline in English sentences, for cards, messages and the methods paragraph of a paper."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from merilo.people.cost import paid_work
from merilo.reports.adaptive_prose import adaptive_sentences
from merilo.reports.baseline_facts import MOST_GROUPS, BaselineFacts, CostFacts, MetricFacts, Span
from merilo.reports.estimates import counted
from merilo.reports.metric_names import metric_title

_WHO: Final = {"people": "annotator", "experts": "expert"}

_WAYS: Final = {
    "unanimous": "unanimously",
    "majority": "by a majority",
    "plurality": "by most votes without a majority",
    "skill": "by the larger sum of skill after a tie",
    "top_skill": "by the three most skilled after a tie",
    "glad": "by the abilities that GLAD estimates",
    "dawid_skene": "by the Dawid–Skene model",
    "one_coin": "by a model with one accuracy per annotator",
    "medoid": "by the answer closest to the others after a tie",
}

_COEFFICIENTS: Final = {"krippendorff_alpha": "Krippendorff's alpha", "gwet_ac1": "Gwet's AC1"}

_SYMBOLS: Final = {"USD": "$", "EUR": "€"}


def percent(share: float) -> str:
    """Format a share as a percentage: whole, or with one digit if it is not whole.

    Example:
        >>> percent(0.3), percent(1 / 260)
        ('30%', '0.4%')
    """
    value = round(100 * share, 1)
    return f"{value:.{0 if value == int(value) else 1}f}%"


def money(amount: float, currency: str | None, digits: int = 2) -> str:
    """Format an amount of money.

    Example:
        >>> money(7.25, "USD"), money(7.25, "RUB"), money(1, None)
        ('$7.25', '7.25 RUB', '1.00')
    """
    if currency in _SYMBOLS:
        return f"{_SYMBOLS[currency]}{amount:.{digits}f}"
    return f"{amount:.{digits}f} {currency}" if currency else f"{amount:.{digits}f}"


def interval(span: Span, digits: int = 3) -> str:
    """Format the ends of an interval.

    Example:
        >>> interval((0.4084, 0.7012))
        '0.408 to 0.701'
    """
    return f"{span[0]:.{digits}f} to {span[1]:.{digits}f}"


def conditions(facts: BaselineFacts) -> str:
    """Say what was asked, whom, and under which conditions."""
    told = []
    if facts.simulated:
        told.append("The annotators are simulated, so this estimate says nothing about people.")
    if facts.items is not None:
        told.append(_items(facts, facts.items))
    if facts.people is not None:
        platform = f" of the crowdsourcing platform {facts.platform}" if facts.platform else ""
        plain = " without special training" if facts.conditions.untrained else ""
        were = f"The items were answered by {counted(facts.people, _WHO[facts.role])}{platform}{plain}."
        told += [were, *_asked(facts)]
    told += _rules(facts)
    return " ".join(told)


def _items(facts: BaselineFacts, items: int) -> str:
    title = f" of the dataset {facts.title}" if facts.title else ""
    level = "Expert" if facts.role == "experts" else "Human"
    if (subset := facts.conditions.subset) is None:
        return f"{level} performance was measured on {counted(items, 'item')}{title}."
    size, of, fields = subset
    shown = ", ".join(f"'{field}'" for field in fields)
    several = "s" if len(fields) > 1 else ""
    kept = f" so that the distribution of the field{several} {shown} is kept" if fields else " at random"
    was = "was" if size == 1 else "were"
    rest = "" if size == items else f" Answers were collected for {counted(items, 'item')}."
    return f"Of the {counted(of, 'item')}{title}, {size} {was} drawn{kept}.{rest}"


def _asked(facts: BaselineFacts) -> list[str]:
    overlap = {size: n for size, n in (facts.overlap_before or facts.overlap).items() if size}
    if not overlap:
        return []
    total = counted(sum(size * n for size, n in overlap.items()), "answer")
    least, most = min(overlap), max(overlap)
    if facts.adaptive:
        return [*adaptive_sentences(facts.adaptive, "en"), f"There are {total} in all."]
    if least == most:
        return [f"Each item received {counted(most, 'answer')}, {total} in all."]
    planned = facts.conditions.overlap
    aim = f" ({planned} were planned)" if planned else ""
    return [f"Each item received {least} to {most} answers{aim}, {total} in all."]


def _rules(facts: BaselineFacts) -> list[str]:
    known, told = facts.conditions, []
    if known.planned:
        told.append(
            f"The {_WHO[facts.role]}s saw every item in the form in which models receive it, without solved examples."
        )
    if known.trained is not None:
        told.append(
            f"They first answered training items; those with at least {percent(known.trained)} correct answers were admitted."
        )
    if known.restrictions:
        rules = "; ".join(f"“{rule.rstrip('.')}”" for rule in known.restrictions)
        told.append(
            f"The instruction set {'this rule' if len(known.restrictions) == 1 else 'these rules'}: {rules}."
        )
    if known.time_limit is not None:
        told.append(f"The time limit was {counted(round(known.time_limit), 'second')} per item.")
    if known.skip_own:
        told.append(f"The {_WHO[facts.role]}s skipped items that they might have written themselves.")
    return told


def controls(facts: BaselineFacts) -> str:
    """Say how annotators were checked, and who was excluded."""
    who = _WHO[facts.role]
    if not facts.control_answers:
        return f"There were no control items, so no {who} was excluded." if facts.people else ""
    told = []
    answers = counted(facts.control_answers, "answer")
    if facts.controls:
        told.append(
            f"The tasks included {counted(facts.controls, 'control item')} with a known answer, which received {answers}."
        )
    else:
        told.append(f"Control items with a known answer received {answers}.")
    if facts.threshold is not None and facts.excluded is not None and facts.people is not None:
        if facts.excluded == 0:
            told.append(
                f"No {who} was excluded: all reached an accuracy of at least {percent(facts.threshold)} on the control items."
            )
        else:
            told.append(
                f"{who.capitalize()}s with an accuracy below {percent(facts.threshold)} on the control items were excluded with all their"
                f" answers; this applied to {facts.excluded} of {counted(facts.people, who)}."
            )
    if facts.unchecked:
        told.append(
            f"Another {counted(facts.unchecked, who)} had no or too few control answers and {_were(facts.unchecked)} kept."
        )
    if facts.excluded and facts.answers is not None and facts.overlap:
        told.append(
            f"After exclusion, {counted(facts.answers, 'answer')} {'remains' if facts.answers == 1 else 'remain'}: {_left(facts.overlap)}."
        )
    return " ".join(told)


def exclusion(facts: BaselineFacts) -> str:
    """Say how many were excluded, if nothing else is known about the control items."""
    if not facts.excluded or facts.people is None:
        return ""
    people = counted(facts.people, _WHO[facts.role])
    return f"By the control items, {facts.excluded} of {people} {_were(facts.excluded)} excluded."


def _were(n: int) -> str:
    return "was" if n == 1 else "were"


def _left(overlap: Mapping[int, int]) -> str:
    return ", ".join(f"{size or 'none'} on {counted(n, 'item')}" for size, n in overlap.items())


def aggregation(facts: BaselineFacts) -> str:
    """Say how items were decided, how many had a majority, and what follows for the baseline."""
    if facts.programs:
        return (
            "Every program was run in a sandbox and counts by itself, as right if it passes all tests of its problem; "
            "programs have no consensus."
        )
    told = []
    least, most = min(facts.votes_needed, default=0), max(facts.votes_needed, default=0)
    if most:
        rule = (
            f"at least {counted(least, 'equal answer')}" if least == most else "more than half of the answers"
        )
        told.append(f"A majority is {rule}.")
        if facts.aggregator == "majority" and facts.resolve == "none":
            told.append("Items without a majority are left out of the metric.")
    if facts.ways:
        ways = [
            f"on {counted(n, 'item') if not k else n} {_WAYS[way]}"
            for k, (way, n) in enumerate(facts.ways.items())
        ]
        told.append(f"A consensus was reached {', '.join(ways)}.")
    if facts.unresolved:
        n = facts.unresolved
        told.append(
            f"There is no consensus on {counted(n, 'item')}, which {_were(n)} left out of the metric."
        )
    if facts.low is not None and facts.items:
        told.append(_low(facts, *facts.low, facts.items))
    return " ".join(told)


def _low(facts: BaselineFacts, low: int, allowed: float, items: int) -> str:
    if low == 0:
        return "Every item has a majority."
    share = f"A majority is lacking on {low} of {counted(items, 'item')} ({percent(low / items)})"
    if facts.rejected:
        return f"{share}, more than the allowed {percent(allowed)}: the estimate is not valid and must not be used."
    return f"{share}; up to {percent(allowed)} were allowed."


def agreement(facts: BaselineFacts) -> str:
    """Say how far annotators agree."""
    if not facts.agreement or not facts.agreement_answers:
        return ""
    parts = []
    for name, (value, span) in facts.agreement.items():
        sure = f" (95% confidence interval {interval(span)})" if span else ""
        parts.append(f"{_COEFFICIENTS[name]} is {value:.3f}{sure}")
    return f"On {counted(facts.agreement_answers, 'answer')}, {' and '.join(parts)}."


def results(facts: BaselineFacts) -> str:
    """Say what the consensus and a single annotator score."""
    if not facts.metrics and not facts.groups:
        reason = "the study has no gold answers" if not facts.has_gold else "no metric could be computed"
        return f"No metric is given, because {reason}."
    return " ".join([*(_metric(one, facts) for one in facts.metrics), *_groups(facts)])


def _groups(facts: BaselineFacts) -> list[str]:
    if not facts.groups or facts.group_metric is None:
        return []
    name = metric_title(facts.group_metric).en
    both = any(one.over_both for _, one in facts.groups)
    over = f" over items and {_WHO[facts.role]}s" if both else ""
    sure = f" (with 95% confidence intervals{over})" if any(one.interval for _, one in facts.groups) else ""
    if len(facts.groups) <= MOST_GROUPS:
        groups = "; ".join(_in_group(*one) for one in facts.groups)
        return [f"By group of items, the {name}{sure} is: {groups}."]
    lowest, highest = (
        _in_group(*choose(facts.groups, key=lambda one: one[1].value)) for choose in (min, max)
    )
    return [
        f"Over {counted(len(facts.groups), 'group')} of items, the {name}{sure} ranges from {lowest} to {highest}."
    ]


def _in_group(name: str, one: MetricFacts) -> str:
    sure = f"{interval(one.interval)}{'' if one.over_both else ' over items alone'}; " if one.interval else ""
    return f"{one.value:.3f} in “{name}” ({sure}{counted(one.n, 'item')})"


def _metric(one: MetricFacts, facts: BaselineFacts) -> str:
    who = _WHO[facts.role]
    items = counted(one.n, "item") + (f" in {counted(one.clusters, 'cluster')}" if one.clusters else "")
    sure = named_interval(one, who)
    if facts.programs:
        whose = "people" if facts.role == "people" else "experts"
        return f"The {metric_title(one.name).en} of {whose} is {one.value:.3f} on {items}{sure and f' ({sure})'}."
    told = f"The {metric_title(one.name).en} of the consensus is {one.value:.3f} on {items}{sure and f' ({sure})'}."
    if alone := one.by_majority:
        sure = named_interval(alone, who)
        told += f" On the items with a majority, it is {alone.value:.3f} ({counted(alone.n, 'item')}{sure and f'; {sure}'})."
    if one.dropped:
        n, value = one.dropped
        told += f" If the {counted(n, 'item')} without a consensus counted as wrong, it would be {value:.3f}."
    if one.single:
        mean, span, people, answers = one.single
        sure = f"95% confidence interval over items and {who}s {interval(span)}; " if span else ""
        told += f" A single {who} scores {mean:.3f} on average ({sure}{counted(people, who)}, {counted(answers, 'answer')})."
    return told


def named_interval(one: MetricFacts, who: str) -> str:
    """Return the interval of record with its name; empty without an interval.

    Args:
        one: the metric.
        who: what the annotators are called: "annotator" or "expert".
    """
    if one.interval is None:
        return ""
    over = f"over items and {who}s" if one.over_both else "over items alone"
    return f"95% confidence interval {over} {interval(one.interval)}"


def pay(cost: CostFacts) -> str:
    """Say how long people worked and what they were paid."""
    told = []
    if cost.seconds is not None:
        told.append(f"The median time of an answer is {seconds(cost.seconds)}.")
    if cost.total is None:
        told.append("The export has no data on pay.")
        return " ".join(told)
    pages = f" for {paid_work(cost.pages, cost.answers).en}" if cost.pages else ""
    unknown = "" if cost.currency else " (the export does not name the currency)"
    hourly = ""
    if cost.hourly is not None and cost.hours is not None:
        hourly = f", which is {money(cost.hourly, cost.currency)} per hour of measured time ({cost.hours:.1f} hours in all)"
    told.append(f"The annotation cost {money(cost.total, cost.currency)}{unknown}{pages}{hourly}.")
    return " ".join(told)


def seconds(value: float) -> str:
    """Format a time in seconds.

    Example:
        >>> seconds(26.7), seconds(4.46)
        ('27 seconds', '4.5 seconds')
    """
    return f"{value:.1f} seconds" if value < 10 else counted(round(value), "second")
