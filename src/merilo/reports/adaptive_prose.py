"""Sentences on adaptive overlap: the design, the answers that it took, and what was computed from which answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from merilo.bilingual import BilingualText, Language, counted, counted_en, form
from merilo.people.collection_design import CollectedDesign
from merilo.reports.json_numbers import rounded
from merilo.reports.json_record import count_at, mapping_at, number_at
from merilo.strict_json import Json


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


def adaptive_json(found: CollectedDesign | None) -> Json:
    """Return the adaptive overlap as JSON; null with fixed overlap."""
    if found is None:
        return None
    overlap = found.design.overlap
    return {
        "start": overlap.start,
        "limit": overlap.limit,
        "fixed_share": overlap.fixed_share,
        "seed": found.design.seed,
        "items": {"fixed": found.fixed, "agreed": found.agreed, "widened": found.widened},
        "answers_per_item": rounded(found.answers_per_item),
        "answers_by_design": found.by_design,
        "fewer_answers": found.fewer,
        "more_answers": found.more,
        "decided_early": overlap.decides_early,
        "check": {"items": found.checked, "changed": found.changed},
    }


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


def adaptive_design(facts: AdaptiveFacts) -> BilingualText:
    """Name the design and the mean number of answers, without a full stop."""
    share = f"{100 * facts.fixed_share:g} %"
    en = f"adaptive overlap {facts.start} to {facts.limit}, fixed for a random {share} of the items"
    ru = f"адаптивное перекрытие от {facts.start} до {facts.limit}, постоянное для случайных {share} вопросов"
    if not facts.fixed_share:
        en, ru = (
            f"adaptive overlap {facts.start} to {facts.limit}",
            f"адаптивное перекрытие от {facts.start} до {facts.limit}",
        )
    mean = f"{facts.answers_per_item:.2f}"
    return BilingualText(
        f"{en}; {mean} answers per item on average",
        f"{ru}; в среднем {mean.replace('.', ',')} ответа на вопрос",
    )


def adaptive_sentences(facts: AdaptiveFacts, language: Language) -> list[str]:
    """Describe the design, the answers that it took, and what is computed from which answers.

    Args:
        facts: the facts.
        language: `ru` or `en`.
    """
    return _russian(facts) if language == "ru" else _english(facts)


def _english(facts: AdaptiveFacts) -> list[str]:
    start, limit = facts.start, facts.limit
    told = [
        f"The overlap was adaptive: {start} people answered an item, and further people, up to {limit}, if the answers were not all equal."
    ]
    if facts.fixed_share:
        share = f"{100 * facts.fixed_share:g} %"
        told.append(
            f"{limit} people answered each item of a random {share} ({counted_en(facts.fixed, 'item', 'items')}) in any case."
        )
    told += [
        f"An item received {facts.answers_per_item:.2f} answers on average.",
        f"Agreement and the scores of single people are computed from the {counted_en(facts.by_design, 'answer', 'answers')} that were asked for whatever "
        "the other people answered, because items on which people disagree have more answers.",
    ]
    told.append(
        f"{start} equal answers are a majority of {limit}, so the consensus does not depend on the answers that were not asked for."
        if facts.decides_early
        else f"{start} equal answers are not a majority of {limit}: the consensus can differ from that of {limit} people, which is not "
        f"corrected; it differs on {facts.changed} of {facts.checked} items with fixed overlap on which the first {start} people agreed."
    )
    return told


def _russian(facts: AdaptiveFacts) -> list[str]:
    start, limit = facts.start, facts.limit
    people = counted(start, "человек", "человека", "человек")
    told = [
        f"Перекрытие было адаптивным: на вопрос {form(start, 'отвечал', 'отвечали', 'отвечали')} {people}, а если их ответы не совпадали — "
        f"ещё несколько, всего не больше {limit}."
    ]
    if facts.fixed_share:
        share = f"{100 * facts.fixed_share:g} %".replace(".", ",")
        items = counted(facts.fixed, "вопрос", "вопроса", "вопросов")
        told.append(f"На случайные {share} вопросов ({items}) в любом случае отвечало {limit} человек.")
    answers = form(facts.by_design, "ответу, запрошенному", "ответам, запрошенным", "ответам, запрошенным")
    told += [
        f"В среднем на вопрос получено {f'{facts.answers_per_item:.2f}'.replace('.', ',')} ответа.",
        f"Согласие и оценки отдельных людей вычислены по {facts.by_design} {answers} независимо от ответов других людей: на вопросы, "
        "вызывающие разногласия, ответов больше.",
    ]
    equal = counted(start, "одинаковый ответ", "одинаковых ответа", "одинаковых ответов")
    told.append(
        f"{equal} — большинство из {limit}, поэтому согласованный ответ не зависит от незапрошенных ответов."
        if facts.decides_early
        else f"{equal} — не большинство из {limit}: согласованный ответ может отличаться от ответа {limit} человек, и это не исправлено; среди "
        f"вопросов с постоянным перекрытием, на которые первые разметчики ответили одинаково, он отличается на {facts.changed} из {facts.checked}."
    )
    return told
