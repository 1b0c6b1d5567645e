"""What the prose of a card or paper tells about a baseline, taken from its JSON and from the plan of the study."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from merilo.datasets.catalogue import CATALOGUE
from merilo.datasets.declaration import is_metric
from merilo.reports.json_record import (
    count_at,
    counts_at,
    interval_at,
    list_at,
    mapping_at,
    number_at,
    text_at,
    value_at,
)
from merilo.reports.text_escapes import one_line
from merilo.strict_json import Json
from merilo.text import LANGUAGES, Given, Language

Span: TypeAlias = tuple[float, float]

#: With more groups of items, prose names only the lowest and the highest.
MOST_GROUPS: Final = 15

#: Who answered: people without training, or experts.
Role: TypeAlias = Literal["people", "experts"]

_PLATFORMS: Final = {
    "toloka": "Toloka",
    "abc": "ABC Elementary",
    "label-studio": "Label Studio",
    "mturk": "Amazon Mechanical Turk",
}

#: How items were decided, in the order of telling; the number of plain majorities is what the other ways leave of `majority`.
WAYS: Final = (
    "unanimous",
    "majority",
    "plurality",
    "skill",
    "top_skill",
    "glad",
    "dawid_skene",
    "one_coin",
    "medoid",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricFacts:
    """A metric of the consensus.

    Attributes:
        name: our name of the metric.
        value: its value.
        n: on how many items.
        over_items: the 95 % interval over items.
        over_both: the 95 % interval over items and annotators.
        by_majority: the same metric by majorities alone, if these are not all items.
        single: the mean of one annotator's answers, its interval, the number of annotators and of answers.
        dropped: items left out of the metric, and the value if they counted as wrong.
        clusters: how many clusters the items form; `None` if they are independent.
    """

    name: str
    value: float
    n: int
    over_items: Span | None
    over_both: Span | None
    by_majority: MetricFacts | None
    single: tuple[float, Span | None, int, int] | None
    dropped: tuple[int, float] | None
    clusters: int | None = None

    @property
    def interval(self) -> Span | None:
        """Return the interval of record: over items and annotators, or over items alone if that is not defined."""
        return self.over_both or self.over_items


@dataclass(frozen=True, slots=True, kw_only=True)
class ConditionFacts:
    """Under which conditions people answered, by the plan; empty without a plan.

    Attributes:
        planned: whether there is a plan.
        trained: whether people answered training items first, and with which share of right answers they were admitted.
        restrictions: the rules, without full stops.
        time_limit: seconds for an item.
        skip_own: whether people skipped items that they may have written.
        overlap: the planned number of answers an item.
        items_per_page: tasks on a page.
        subset: the number of drawn items, of how many, and the fields whose distribution was kept; `None` if all were asked.
        control_share: the planned share of control items.
        untrained: whether the plan asks people without special training.
    """

    planned: bool = False
    trained: float | None = None
    restrictions: tuple[Given, ...] = ()
    time_limit: float | None = None
    skip_own: bool = False
    overlap: int | None = None
    items_per_page: int | None = None
    subset: tuple[int, int, tuple[str, ...]] | None = None
    control_share: float | None = None
    untrained: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class CostFacts:
    """Time and money.

    Attributes:
        total: what was paid.
        currency: the currency's code, if it is known.
        pages: paid pages.
        answers: answers on these pages, control items included.
        hours: the time on the pages.
        hourly: the pay for an hour.
        seconds: the median time of an answer.
    """

    total: float | None
    currency: str | None
    pages: int | None
    answers: int | None
    hours: float | None
    hourly: float | None
    seconds: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class AdaptiveFacts:
    """Adaptive overlap in the JSON of a baseline.

    Attributes:
        start: how many people answer an item at first.
        limit: how many people answer it at most.
        fixed_share: the share of items with fixed overlap.
        fixed: how many items have it.
        agreed: how many other items the first people agreed on.
        answers_per_item: the mean number of answers to an item.
        by_design: answers from which agreement and the scores of single people are computed.
        decides_early: whether `start` equal answers are a majority of `limit`.
        checked: items with fixed overlap on which the first people agreed.
        changed: those of them on which all people decided for another answer.
    """

    start: int
    limit: int
    fixed_share: float
    fixed: int
    agreed: int
    answers_per_item: float
    by_design: int
    decides_early: bool
    checked: int
    changed: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SampleFacts:
    """The sample of a dataset that people answered, and the metrics on the whole dataset.

    Attributes:
        items: the number of items of the dataset in strata with responses.
        sampled: the number of items of the study.
        fields: the fields that define the strata.
        strata: the number of strata.
        weights: the smallest and the largest weight of an item.
        empty: the number of strata without responses.
        values: mapping from main metric to its value, its interval over items and annotators, and the mean and interval of
            single annotators, if they are known.
    """

    items: int
    sampled: int
    fields: tuple[str, ...]
    strata: int
    weights: Span
    empty: int
    values: Mapping[str, tuple[float, Span | None, float | None, Span | None]]


@dataclass(frozen=True, slots=True, kw_only=True)
class BaselineFacts:
    """A baseline of one group. What is not known is `None` or empty.

    Attributes:
        role: who answered.
        title: the dataset's name as it is published.
        simulated: whether the annotators are simulated.
        rejected: whether the baseline is rejected.
        platform: the name of the platform.
        people: the number of annotators.
        used: how many annotators gave answers that count.
        excluded: how many of them were excluded.
        unchecked: how many had no or too few control answers and were kept.
        threshold: the accuracy on control items below which annotators were excluded.
        controls: the number of control items.
        control_answers: answers to them.
        items: items that people answered.
        consensus: items with a consensus.
        answers: answers that count.
        overlap: answers an item -> items, after exclusion.
        overlap_before: the same before exclusion.
        adaptive: the adaptive overlap; `None` with fixed overlap.
        programs: whether the answers are programs, which have no consensus.
        ways: how many items each step decided.
        unresolved: items without a consensus.
        votes_needed: equal votes that make a majority -> items.
        aggregator: the aggregation method, from the settings.
        resolve: what happened to items without a majority, from the settings.
        low: items without a majority, and the share of these that was allowed.
        agreement: coefficient -> its value and interval.
        agreement_answers: answers that the coefficients are computed from.
        metrics: the metrics, main ones first.
        groups: the values of the metric by group, each under the group's name.
        group_metric: the metric that `groups` has.
        has_gold: whether there are gold answers.
        cost: time and money.
        conditions: the conditions, by the plan.
    """

    role: Role
    title: str | None
    simulated: bool
    rejected: bool
    platform: str | None
    people: int | None
    used: int | None
    excluded: int | None
    unchecked: int
    threshold: float | None
    controls: int | None
    control_answers: int | None
    items: int | None
    consensus: int | None
    answers: int | None
    overlap: Mapping[int, int]
    overlap_before: Mapping[int, int]
    adaptive: AdaptiveFacts | None
    programs: bool
    ways: Mapping[str, int]
    unresolved: int
    votes_needed: Mapping[int, int]
    aggregator: str
    resolve: str
    low: tuple[int, float] | None
    agreement: Mapping[str, tuple[float, Span | None]]
    agreement_answers: int | None
    metrics: tuple[MetricFacts, ...]
    groups: tuple[tuple[str, MetricFacts], ...]
    group_metric: str | None
    has_gold: bool
    cost: CostFacts
    conditions: ConditionFacts


def baseline_facts(
    content: Mapping[str, Json],
    plan: Mapping[str, Json] | None = None,
    *,
    role: Role = "people",
    platform: str | None = None,
) -> BaselineFacts:
    """Take the facts from the JSON of a baseline, complete or as `merilo experts baseline` gives it.

    Args:
        content: the JSON.
        plan: the content of `study.yaml`.
        role: who answered; also the name of their arm in the plan.
        platform: the platform's code, such as `toloka`; by default the one that the baseline's command named.
    """
    code = platform or text_at(content, "provenance", "parameters", "platform")
    share = number_at(content, "agreement", "max_low_agreement")
    low = count_at(content, "agreement", "low_agreement")
    annotators = content.get("annotators")
    metrics = metric_facts(content)
    groups = [(_group_name(one.name), one) for one in metrics if "." in one.name]
    return BaselineFacts(
        role=role,
        title=dataset_title(content, plan),
        simulated=content.get("simulated") is True,
        rejected=content.get("status") == "rejected",
        platform=_PLATFORMS.get(code) if code else None,
        people=annotators if isinstance(annotators, int) else count_at(content, "annotators", "total"),
        used=count_at(content, "annotators", "used"),
        excluded=count_at(content, "excluded")
        if isinstance(annotators, int)
        else count_at(content, "annotators", "excluded"),
        # Who has no control answers is among those with too few; a file of an older version may lack the latter.
        unchecked=max(
            count_at(content, "annotators", name) or 0 for name in ("kept_without_controls", "unjudged")
        ),
        threshold=number_at(content, "annotators", "min_control_accuracy"),
        controls=count_at(content, "control_health", "controls"),
        control_answers=count_at(content, "responses", "control"),
        items=count_at(content, "items", "total"),
        programs=bool(count_at(content, "resolved_by", "each_answer")),
        consensus=count_at(content, "items", "consensus"),
        answers=count_at(content, "responses", "used"),
        overlap=counts_at(content, "items", "overlap"),
        overlap_before=counts_at(content, "items", "overlap_before_exclusion"),
        adaptive=adaptive_facts(content),
        ways=_ways(content),
        unresolved=count_at(content, "resolved_by", "unresolved") or 0,
        votes_needed=counts_at(content, "agreement", "votes_needed"),
        aggregator=text_at(content, "provenance", "parameters", "aggregator") or "majority",
        resolve=text_at(content, "provenance", "parameters", "resolve") or "cascade",
        low=(low, share) if low is not None and share is not None else None,
        agreement={
            name: (value, interval_at(content, "agreement", f"{name}_ci95"))
            for name in ("krippendorff_alpha", "gwet_ac1")
            if (value := number_at(content, "agreement", name)) is not None
        },
        agreement_answers=count_at(content, "agreement", "n"),
        metrics=tuple(one for one in metrics if "." not in one.name),
        groups=tuple(groups),
        group_metric=_group_metric(content, groups),
        has_gold=content.get("gold") is not None or bool(mapping_at(content, "metrics")),
        cost=cost_facts(content),
        conditions=_conditions(plan, role),
    )


def adaptive_facts(content: Mapping[str, Json]) -> AdaptiveFacts | None:
    """Take the adaptive overlap from the JSON of a baseline; `None` with fixed overlap."""
    if not mapping_at(content, "adaptive"):
        return None

    def count(*keys: str) -> int:
        return count_at(content, "adaptive", *keys) or 0

    return AdaptiveFacts(
        start=count("start"),
        limit=count("limit"),
        fixed_share=number_at(content, "adaptive", "fixed_share") or 0.0,
        fixed=count("items", "fixed"),
        agreed=count("items", "agreed"),
        answers_per_item=number_at(content, "adaptive", "answers_per_item") or 0.0,
        by_design=count("answers_by_design"),
        decides_early=2 * count("start") > count("limit"),
        checked=count("check", "items"),
        changed=count("check", "changed"),
    )


def sample_facts(content: Mapping[str, Json]) -> SampleFacts | None:
    """Take the facts from the JSON of a baseline; `None` if the items are not a sample of a larger dataset."""
    population = mapping_at(content, "population")
    items, sampled = count_at(population, "items_of_estimate"), count_at(population, "sampled")
    least, most = number_at(population, "smallest_weight"), number_at(population, "largest_weight")
    if items is None or sampled is None or least is None or most is None:
        return None
    values = {}
    metrics = mapping_at(content, "metrics")
    for name in metrics:
        value = number_at(metrics, name, "dataset", "value")
        if value is not None and "." not in name:
            values[name] = (
                value,
                interval_at(metrics, name, "dataset", "ci95_items_and_annotators"),
                number_at(metrics, name, "dataset", "single_person", "mean"),
                interval_at(metrics, name, "dataset", "single_person", "ci95_items_and_annotators"),
            )
    return SampleFacts(
        items=items,
        sampled=sampled,
        fields=tuple(one_line(str(one)) for one in list_at(population, "fields")),
        strata=len(list_at(population, "strata")),
        weights=(least, most),
        empty=len(list_at(population, "without_responses")),
        values=values,
    )


def cost_facts(content: Mapping[str, Json]) -> CostFacts:
    """Take time and money from the key `cost`."""
    return CostFacts(
        total=number_at(content, "cost", "total"),
        currency=text_at(content, "cost", "currency"),
        pages=count_at(content, "cost", "pages"),
        answers=count_at(content, "cost", "answers"),
        hours=number_at(content, "cost", "hours"),
        hourly=number_at(content, "cost", "hourly"),
        seconds=number_at(content, "cost", "median_seconds_per_answer"),
    )


def metric_facts(content: Mapping[str, Json]) -> tuple[MetricFacts, ...]:
    """Take every metric that has a value, main ones first."""
    metrics = mapping_at(content, "metrics")
    found = (metric_of(name, mapping_at(metrics, name)) for name in metrics)
    return tuple(one for one in found if one is not None)


def metric_of(name: str, content: Mapping[str, Json]) -> MetricFacts | None:
    """Take one metric from its JSON object; `None` if it has no value."""
    value, n = number_at(content, "value"), count_at(content, "n")
    if value is None or n is None:
        return None
    alone = metric_of(name, mapping_at(content, "by_majority_alone"))
    dropped, wrong = (
        count_at(content, "with_dropped_items", "dropped"),
        number_at(content, "with_dropped_items", "dropped_counted_as_wrong"),
    )
    return MetricFacts(
        name=name,
        value=value,
        n=n,
        over_items=interval_at(content, "ci95"),
        over_both=interval_at(content, "ci95_items_and_annotators"),
        by_majority=alone if alone and alone.n and alone.n != n else None,
        single=_single(mapping_at(content, "single_person")),
        dropped=(dropped, wrong) if dropped and wrong is not None else None,
        clusters=count_at(content, "clusters"),
    )


def dataset_title(content: Mapping[str, Json], plan: Mapping[str, Json] | None) -> str | None:
    """Return the dataset's name as it is published."""
    name = text_at(content, "dataset") or text_at(content, "declaration", "name") or text_at(plan, "dataset")
    known = CATALOGUE.get(name.lower()) if name else None
    return known.title if known else (one_line(name) if name else None)


def _group_name(name: str) -> str:
    """Return the group of a metric such as `acc.physics`; `correct.virtue` is a group as a whole."""
    base, _, group = name.partition(".")
    return one_line(group if is_metric(base) else name)


def _group_metric(content: Mapping[str, Json], groups: Sequence[tuple[str, MetricFacts]]) -> str | None:
    if not groups:
        return None
    base = groups[0][1].name.partition(".")[0]
    declared = list_at(content, "declaration", "metrics")
    return base if is_metric(base) else str(declared[0]) if declared else base


def _single(single: Mapping[str, Json]) -> tuple[float, Span | None, int, int] | None:
    mean, people, answers = (
        number_at(single, "mean"),
        count_at(single, "annotators"),
        count_at(single, "answers"),
    )
    if mean is None or not people or not answers:
        return None
    return mean, interval_at(single, "ci95"), people, answers


def _ways(content: Mapping[str, Json]) -> dict[str, int]:
    counts = {name: count_at(content, "resolved_by", name) or 0 for name in WAYS}
    counts["majority"] -= counts["unanimous"] + counts["plurality"]
    return {name: n for name, n in counts.items() if n > 0}


def _conditions(plan: Mapping[str, Json] | None, role: Role) -> ConditionFacts:
    if plan is None:
        return ConditionFacts()
    size, of = count_at(plan, "subset", "size"), count_at(plan, "subset", "of")
    drawn = size is not None and of is not None and size < of
    # An even draw keeps the distribution of no field.
    even = text_at(plan, "subset", "method") == "even"
    kept = () if even else list_at(plan, "subset", "fields")
    fields = tuple(one_line(str(field)) for field in kept)
    return ConditionFacts(
        planned=True,
        trained=number_at(plan, "training", "threshold"),
        restrictions=tuple(filter(None, map(_restriction, list_at(plan, "restrictions")))),
        time_limit=number_at(plan, "arms", role, "time_limit"),
        skip_own=value_at(plan, "arms", role, "skip_own") is True,
        overlap=count_at(plan, "arms", role, "overlap"),
        items_per_page=count_at(plan, "arms", role, "items_per_page"),
        subset=(size, of, fields) if drawn and size is not None and of is not None else None,
        control_share=number_at(plan, "controls", "share"),
        untrained=text_at(plan, "arms", role, "kind") in {"basic", "untrained"},
    )


def _restriction(one: Json) -> Given | None:
    """Return a rule of the plan without its full stop; `None` if it has no text."""
    given = one if isinstance(one, dict) else {"ru": one, "en": one}
    texts: dict[Language, str] = {
        language: text.rstrip(".")
        for language in LANGUAGES
        if (text := one_line(text_at(given, language) or ""))
    }
    return Given(texts) if texts else None
