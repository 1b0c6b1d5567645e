"""The estimate for the whole dataset in sentences, for the methods paragraph, cards and the checklist."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from merilo.bilingual import counted, counted_en
from merilo.reports.json_record import (
    count_at,
    interval_at,
    list_at,
    mapping_at,
    number_at,
)
from merilo.reports.metric_names import metric_title
from merilo.reports.text_escapes import one_line
from merilo.strict_json import Json

Span = tuple[float, float]


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


def weighting(facts: SampleFacts) -> str:
    """Say in English how the sample was weighted, as a part of a sentence."""
    by = f" by {', '.join(facts.fields)}" if facts.fields else ""
    return (
        f"post-stratified to {counted_en(facts.items, 'item', 'items')} of the dataset in "
        f"{counted_en(facts.strata, 'stratum', 'strata')}{by}; weights of items {facts.weights[0]:.3g} to {facts.weights[1]:.3g}"
    )


def sample_paragraph(content: Mapping[str, Json], language: str) -> str:
    """Say what the metrics are on the whole dataset; empty if the items are not a sample of it."""
    facts = sample_facts(content)
    if facts is None or not facts.values:
        return ""
    return _russian(facts) if language == "ru" else _english(facts)


def _english(facts: SampleFacts) -> str:
    lost = (
        f" {counted_en(facts.empty, 'stratum', 'strata')} without responses {'is' if facts.empty == 1 else 'are'} not included."
        if facts.empty
        else ""
    )
    told = [
        f"The estimates above are those of the sample of {counted_en(facts.sampled, 'item', 'items')}. For the whole dataset, they "
        f"were {weighting(facts)}.{lost}"
    ]
    for name, (value, span, mean, other) in facts.values.items():
        single = f"; a single annotator scores {mean:.3f}{_sure(other)}" if mean is not None else ""
        told.append(
            f"On the whole dataset, the {metric_title(name).en} of the consensus is {value:.3f}{_sure(span)}{single}."
        )
    told.append(
        "The intervals are over items and annotators; the part from items has a finite-population correction."
    )
    return " ".join(told)


def _russian(facts: SampleFacts) -> str:
    strata = counted(facts.strata, "страте", "стратам", "стратам")
    by = f" (поля: {', '.join(facts.fields)})" if facts.fields else ""
    lost = (
        f" {counted(facts.empty, 'страта', 'страты', 'страт')} без ответов в оценку не "
        f"{'вошла' if facts.empty % 10 == 1 and facts.empty % 100 != 11 else 'вошли'}."
        if facts.empty
        else ""
    )
    told = [
        f"Приведённые выше оценки относятся к выборке ({counted(facts.sampled, 'вопрос', 'вопроса', 'вопросов')}). Оценка для всего "
        f"датасета ({counted(facts.items, 'вопрос', 'вопроса', 'вопросов')}) получена постстратификацией по {strata}{by}; "
        f"вес вопроса — от {_ru(facts.weights[0], 3)} до {_ru(facts.weights[1], 3)}.{lost}"
    ]
    for name, (value, span, mean, other) in facts.values.items():
        single = f"; для отдельного разметчика — {_ru(mean)}{_sure_ru(other)}" if mean is not None else ""
        told.append(
            f"На всём датасете {metric_title(name).ru} согласованных ответов составляет {_ru(value)}{_sure_ru(span)}{single}."
        )
    told.append(
        "Интервалы учитывают выбор вопросов и разметчиков; часть, связанная с вопросами, взята с поправкой на конечный объём датасета."
    )
    return " ".join(told)


def _sure(span: Span | None) -> str:
    return f" (95% confidence interval {span[0]:.3f} to {span[1]:.3f})" if span else ""


def _sure_ru(span: Span | None) -> str:
    return f" (95%-й доверительный интервал от {_ru(span[0])} до {_ru(span[1])})" if span else ""


def _ru(value: float, digits: int = 0) -> str:
    return (f"{value:.{digits}g}" if digits else f"{value:.3f}").replace(".", ",")
