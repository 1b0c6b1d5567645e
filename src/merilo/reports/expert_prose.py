"""An expert study in sentences: the experts' answers out of bag, and the difference from people without training."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from merilo.baselines.warnings import counted, form
from merilo.reports import baseline_prose_en as en
from merilo.reports import baseline_prose_ru as ru
from merilo.reports.baseline_facts import MetricFacts, metric_facts
from merilo.reports.estimates import counted as counted_en
from merilo.reports.json_record import count_at, interval_at, mapping_at, number_at, text_at
from merilo.reports.metric_names import metric_title
from merilo.reports.text_escapes import one_line
from merilo.strict_json import Json

_TESTS_RU: Final = {
    "McNemar's exact test": "точный критерий Мак-Немара",
    "sign-flip permutation test": "перестановочный критерий",
}


def experts_paragraph(experts: Mapping[str, Json], language: str) -> str:
    """Describe the experts' answers out of bag and what they score.

    Args:
        experts: the object `experts` of the JSON of `merilo experts baseline`, with the protocol `out-of-bag`.
        language: `ru` or `en`.
    """
    return (_russian if language == "ru" else _english)(experts)


def comparison_paragraph(study: Mapping[str, Json], language: str) -> str:
    """Describe the difference between experts and people without training; empty if they were not compared.

    Args:
        study: the JSON of `merilo experts baseline`.
        language: `ru` or `en`.
    """
    found = mapping_at(study, "comparison")
    n, both = count_at(found, "n"), [number_at(found, name) for name in ("experts", "people", "difference")]
    experts, people, difference = both
    if not n or experts is None or people is None or difference is None:
        return ""
    span, p, test = interval_at(found, "ci95"), number_at(found, "p"), text_at(found, "test")
    metric = next(iter(mapping_at(study, "experts", "metrics")), None)
    if language == "ru":
        items = f"{n} {form(n, 'вопросе, на который', 'вопросах, на которые', 'вопросах, на которые')}"
        name = f" по метрике {metric_title(metric).en}" if metric else ""
        sure = f"95%-й доверительный интервал {ru.interval(span)}" if span else ""
        tested = f"p {_p(p).replace('.', ',')}" if p is not None else ""
        russian = next((title for start, title in _TESTS_RU.items() if test and test.startswith(start)), "")
        detail = "; ".join(filter(None, [sure, ", ".join(filter(None, [tested, russian if tested else ""]))]))
        return (
            f"На {items} есть согласованные ответы обеих групп, средний балл{name} составляет {ru.decimal(experts)} у экспертов"
            f" и {ru.decimal(people)} у людей без специальной подготовки. Разность равна {ru.decimal(difference)}"
            f"{f' ({detail})' if detail else ''}."
        )
    name = f" by {metric_title(metric).en}" if metric else ""
    sure = f"95% confidence interval {en.interval(span)}" if span else ""
    tested = f"p {_p(p)}{f', {test}' if test else ''}" if p is not None else ""
    detail = "; ".join(filter(None, [sure, tested]))
    return (
        f"On the {counted_en(n, 'item')} that both groups decided, the mean score{name} is {experts:.3f} for experts and {people:.3f} for"
        f" people without training. The difference is {difference:.3f}{f' ({detail})' if detail else ''}."
    )


def _p(p: float) -> str:
    return "< 0.001" if p < 0.001 else f"= {p:.3f}"


def _russian(experts: Mapping[str, Json]) -> str:
    total, decided = count_at(experts, "items", "total"), count_at(experts, "items", "decided")
    told = [_who_ru(experts)]
    told.append(
        "Каждый эксперт отвечал на все вопросы своего домена, кроме тех, которые мог придумать сам: для них был вариант"
        " «пропустить вопрос, так как он, возможно, был придуман мной»."
    )
    if limit := number_at(experts, "design", "time_limit_seconds"):
        n = round(limit)
        told.append(f"На вопрос отводилось не более {n} {form(n, 'секунды', 'секунд', 'секунд')}.")
    used = count_at(experts, "answers", "counted")
    if used is not None:
        told.append(
            f"{form(used, 'Учтён', 'Учтены', 'Учтено')} {counted(used, 'ответ', 'ответа', 'ответов')}{_left_out_ru(experts)}."
        )
    least = count_at(experts, "design", "min_answers")
    votes = "больше половины" if text_at(experts, "design", "decision") == "majority" else "больше всего"
    whose = (
        f"; для этого нужно не менее {least} {form(least, 'ответа', 'ответов', 'ответов')}" if least else ""
    )
    told.append(
        f"Согласованным считается ответ, который дали {votes} экспертов, ответивших на вопрос{whose}."
    )
    if total is not None and decided is not None:
        verb = form(decided, "решён", "решены", "решено")
        told.append(f"Так {verb} {decided} из {total} {form(total, 'вопроса', 'вопросов', 'вопросов')}.")
    for one in metric_facts(experts):
        name, where = metric_title(one.name).ru, f"{one.n} {form(one.n, 'вопросе', 'вопросах', 'вопросах')}"
        sure = f" ({_sure_ru(one)})" if one.over_both or one.over_items else ""
        told.append(
            f"{name[0].upper()}{name[1:]} экспертов на {where} составляет {ru.decimal(one.value)}{sure}."
        )
    wrong = number_at(experts, "undecided_counted_as_wrong")
    if wrong is not None and total and decided is not None and decided < total:
        told.append(
            f"Если считать нерешённые вопросы ошибками, получается {ru.decimal(wrong)} (на {total} {form(total, 'вопросе', 'вопросах', 'вопросах')})."
        )
    return " ".join(told + _domains(experts, "ru"))


def _sure_ru(one: MetricFacts) -> str:
    """Name the interval: over items and experts if it is defined."""
    if one.over_both:
        return f"95%-й доверительный интервал по вопросам и экспертам {ru.interval(one.over_both)}"
    return f"95%-й доверительный интервал по вопросам {ru.interval(one.over_items)}" if one.over_items else ""


def _sure_en(one: MetricFacts) -> str:
    """Name the interval: over items and experts if it is defined."""
    if one.over_both:
        return f"95% confidence interval over items and experts {en.interval(one.over_both)}"
    return f"95% confidence interval over items {en.interval(one.over_items)}" if one.over_items else ""


def _who_ru(experts: Mapping[str, Json]) -> str:
    counts = _experts(experts)
    if not counts:
        return "На вопросы отвечали эксперты."
    if len(counts) == 1:
        n = next(iter(counts.values()))
        return f"На вопросы {form(n, 'отвечал', 'отвечали', 'отвечали')} {counted(n, 'эксперт', 'эксперта', 'экспертов')}."
    shown = ", ".join(f"{name} — {n}" for name, n in counts.items())
    return f"На вопросы отвечали эксперты по доменам: {shown}."


def _left_out_ru(experts: Mapping[str, Json]) -> str:
    mine, late = count_at(experts, "answers", "may_be_mine") or 0, count_at(experts, "answers", "late") or 0
    told = ""
    if mine:
        told += f"; {mine} {form(mine, 'раз', 'раза', 'раз')} эксперты пропустили вопрос, который мог быть придуман ими"
    if late:
        fate = {"keep": "засчитаны", "wrong": "засчитаны как ошибки"}.get(
            text_at(experts, "design", "late") or "", "не учтены"
        )
        told += f"; ответы после истечения времени ({late}) {fate}"
    return told


def _english(experts: Mapping[str, Json]) -> str:
    total, decided = count_at(experts, "items", "total"), count_at(experts, "items", "decided")
    counts = _experts(experts)
    if not counts:
        told = ["Experts answered the items."]
    elif len(counts) == 1:
        told = [f"The items were answered by {counted_en(next(iter(counts.values())), 'expert')}."]
    else:
        shown = ", ".join(f"{n} for {name}" for name, n in counts.items())
        told = [f"Experts of each domain answered its items ({shown})."]
    told.append(
        "Each expert answered all items of their domain except those that they might have written, for which there was an option to skip."
    )
    if limit := number_at(experts, "design", "time_limit_seconds"):
        told.append(f"The time limit was {counted_en(round(limit), 'second')} per item.")
    used = count_at(experts, "answers", "counted")
    if used is not None:
        told.append(f"The consensus is based on {counted_en(used, 'answer')}{_left_out_en(experts)}.")
    least = count_at(experts, "design", "min_answers")
    votes = "more than half" if text_at(experts, "design", "decision") == "majority" else "most"
    whose = (
        f"; at least {counted_en(least, 'answer')} {'is' if least == 1 else 'are'} required" if least else ""
    )
    told.append(f"The consensus is the answer of {votes} of the experts who answered the item{whose}.")
    if total is not None and decided is not None:
        told.append(
            f"In this way {decided} of {counted_en(total, 'item')} {'was' if decided == 1 else 'were'} decided."
        )
    for one in metric_facts(experts):
        sure = f" ({_sure_en(one)})" if one.over_both or one.over_items else ""
        told.append(
            f"The {metric_title(one.name).en} of the experts is {one.value:.3f} on {counted_en(one.n, 'item')}{sure}."
        )
    wrong = number_at(experts, "undecided_counted_as_wrong")
    if wrong is not None and total and decided is not None and decided < total:
        told.append(
            f"If undecided items counted as wrong, it would be {wrong:.3f} (on {counted_en(total, 'item')})."
        )
    return " ".join(told + _domains(experts, "en"))


def _left_out_en(experts: Mapping[str, Json]) -> str:
    mine, late = count_at(experts, "answers", "may_be_mine") or 0, count_at(experts, "answers", "late") or 0
    told = ""
    if mine:
        told += f"; experts skipped an item as possibly their own {counted_en(mine, 'time')}"
    if late:
        fate = {"keep": "count too", "wrong": "count as wrong"}.get(
            text_at(experts, "design", "late") or "", "do not count"
        )
        told += f"; answers after the time limit ({late}) {fate}"
    return told


def _experts(experts: Mapping[str, Json]) -> dict[str, int]:
    counts = mapping_at(experts, "experts")
    return {one_line(name): n for name, n in counts.items() if isinstance(n, int)}


def _domains(experts: Mapping[str, Json], language: str) -> list[str]:
    """Return the score of each domain with its number of items, if there are several domains."""
    domains = mapping_at(experts, "by_domain")
    found: list[tuple[str, MetricFacts]] = []
    for name in domains:
        facts = metric_facts({"metrics": {"score": domains[name]}})
        found += [(one_line(name), one) for one in facts]
    if len(found) < 2:
        return []
    if language == "ru":
        shown = ", ".join(f"{name} — {ru.decimal(one.value)} (вопросов: {one.n})" for name, one in found)
        return [f"По доменам: {shown}."]
    shown = ", ".join(f"{name} {one.value:.3f} ({counted_en(one.n, 'item')})" for name, one in found)
    return [f"By domain: {shown}."]
