"""An expert study in sentences: the experts' answers out of bag, and the difference from people without training."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from merilo.baselines.warnings import counted, form
from merilo.reports import baseline_prose_en as en
from merilo.reports import baseline_prose_ru as ru
from merilo.reports.baseline_facts import MetricFacts, metric_facts
from merilo.reports.estimates import counted as counted_en
from merilo.reports.json_record import count_at, interval_at, list_at, mapping_at, number_at, text_at
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
        title = metric_title(metric) if metric else None
        name = title.ru if title else "среднее значение"
        sure = (
            f"95%-й доверительный интервал с учётом выбора только вопросов — {ru.interval(span)}"
            if span
            else ""
        )
        tested = f"p {_p(p).replace('.', ',')}" if p is not None else ""
        russian = next((title for start, title in _TESTS_RU.items() if test and test.startswith(start)), "")
        detail = "; ".join(filter(None, [sure, ", ".join(filter(None, [tested, russian if tested else ""]))]))
        return (
            f"На {items} есть согласованные ответы обеих групп, {name} составляет {ru.decimal(experts)} у экспертов"
            f" и {ru.decimal(people)} у людей без специальной подготовки. Разность равна {ru.decimal(difference)}"
            f"{f' ({detail})' if detail else ''}."
        )
    name = f" by {metric_title(metric).en}" if metric else ""
    sure = f"95% confidence interval over items alone {en.interval(span)}" if span else ""
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
    told.append(_asked_ru(experts))
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
        told += _kept_ru(experts, total - decided)
    share = number_at(experts, "items", "decided_share")
    for one in metric_facts(experts):
        name, where = metric_title(one.name).ru, f"{one.n} {form(one.n, 'вопросе', 'вопросах', 'вопросах')}"
        ruled = f"по этому правилу решено {ru.percent(share)} вопросов" if share is not None else ""
        sure = "; ".join(filter(None, [ru.named_interval(one, "экспертов"), ruled]))
        told.append(
            f"{name[0].upper()}{name[1:]} экспертов на {where} составляет {ru.decimal(one.value)}{f' ({sure})' if sure else ''}."
        )
    value, alone = number_at(experts, "decided_by_rule", "value"), count_at(experts, "decided_by_rule", "n")
    if value is not None and alone and decided != total:
        where = f"{alone} {form(alone, 'вопросе, решённом', 'вопросах, решённых', 'вопросах, решённых')}"
        told.append(f"Только на {where} по этому правилу, получилось бы {ru.decimal(value)}.")
    return " ".join(told + _domains(experts, "ru"))


def _who_ru(experts: Mapping[str, Json]) -> str:
    counts = _experts(experts)
    if not counts:
        return "На вопросы отвечали эксперты."
    if len(counts) == 1:
        n = next(iter(counts.values()))
        return f"На вопросы {form(n, 'отвечал', 'отвечали', 'отвечали')} {counted(n, 'эксперт', 'эксперта', 'экспертов')}."
    shown = ", ".join(f"{name} — {n}" for name, n in counts.items())
    return f"На вопросы отвечали эксперты по доменам: {shown}."


def _domain_of(experts: Mapping[str, Json]) -> int:
    """Return 0 without domains, 1 if every expert has one domain, 2 if some have several."""
    counts, people = _experts(experts), count_at(experts, "people", "total") or 0
    return 0 if len(counts) < 2 else 1 if sum(counts.values()) <= people else 2


def _asked_ru(experts: Mapping[str, Json]) -> str:
    """Say which items experts were asked, and whether all of them answered all of these."""
    whose = ("", " своего домена", " своих доменов")[_domain_of(experts)]
    option = "для них был вариант «пропустить вопрос, так как он, возможно, был придуман мной»"
    people, complete = count_at(experts, "people", "total"), count_at(experts, "people", "answered_all")
    if people is not None and people == complete:
        return (
            f"Каждый эксперт ответил на все вопросы{whose}, кроме тех, которые мог придумать сам: {option}."
        )
    told = f"Эксперты должны были ответить на все вопросы{whose}, кроме тех, которые могли придумать сами: {option}."
    if people is None or complete is None:
        return told
    lack = counted(count_at(experts, "people", "unanswered") or 0, "ответа", "ответов", "ответов")
    if not complete:
        return f"{told} Ни один эксперт не ответил на все такие вопросы; не хватает {lack}."
    verb = form(complete, "ответил", "ответили", "ответили")
    of = form(people, "эксперта", "экспертов", "экспертов")
    return f"{told} На все такие вопросы {verb} {complete} из {people} {of}; не хватает {lack}."


def _kept_ru(experts: Mapping[str, Json], rest: int) -> list[str]:
    """Say how the items were decided that the rule did not decide."""
    votes, late, skill = (
        len(list_at(experts, "items", "fallback", name)) for name in ("votes", "late", "skill")
    )
    wrong = len(list_at(experts, "items", "counted_as_wrong"))
    parts = [
        f"{votes} {form(votes, 'решён', 'решены', 'решено')} по наибольшему числу голосов" if votes else "",
        f"{late} {form(late, 'решён', 'решены', 'решено')} с учётом ответов после истечения времени" if late else "",
        f"{skill} {form(skill, 'решён', 'решены', 'решено')} по точности ответивших экспертов" if skill else "",
        f"{wrong} {form(wrong, 'засчитан как ошибка', 'засчитаны как ошибки', 'засчитано как ошибки')}" if wrong else "",
    ]  # fmt: skip
    told = ", ".join(filter(None, parts))
    which = form(
        rest,
        "Вопрос, который это правило не решило, не отброшен",
        *2 * ("Вопросы, которые это правило не решило, не отброшены",),
    )
    return [f"{which}: {told}."] if rest and told else []


def _left_out_ru(experts: Mapping[str, Json]) -> str:
    mine, late = count_at(experts, "answers", "may_be_mine") or 0, count_at(experts, "answers", "late") or 0
    hidden = count_at(experts, "answers", "not_shown") or 0
    mine -= hidden
    told = ""
    if mine:
        told += f"; {mine} {form(mine, 'раз', 'раза', 'раз')} эксперты пропустили вопрос, который мог быть придуман ими"
    if hidden:
        told += f"; {hidden} {form(hidden, 'раз', 'раза', 'раз')} вопрос не показан эксперту, который его придумал"
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
    told.append(_asked_en(experts))
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
        told += _kept_en(experts, total - decided)
    share = number_at(experts, "items", "decided_share")
    for one in metric_facts(experts):
        ruled = f"this rule decided {en.percent(share)} of the items" if share is not None else ""
        sure = "; ".join(filter(None, [en.named_interval(one, "expert"), ruled]))
        told.append(
            f"The {metric_title(one.name).en} of the experts is {one.value:.3f} on {counted_en(one.n, 'item')}{f' ({sure})' if sure else ''}."
        )
    value, alone = number_at(experts, "decided_by_rule", "value"), count_at(experts, "decided_by_rule", "n")
    if value is not None and alone and decided != total:
        told.append(f"On the {counted_en(alone, 'item')} that this rule decided, it would be {value:.3f}.")
    return " ".join(told + _domains(experts, "en"))


def _asked_en(experts: Mapping[str, Json]) -> str:
    """Say which items experts were asked, and whether all of them answered all of these."""
    whose = ("", " of their domain", " of their domains")[_domain_of(experts)]
    besides = (
        f"all items{whose} except those that they might have written, for which there was an option to skip"
    )
    people, complete = count_at(experts, "people", "total"), count_at(experts, "people", "answered_all")
    if people is not None and people == complete:
        return f"Each expert answered {besides}."
    told = f"Experts were asked to answer {besides}."
    if people is None or complete is None:
        return told
    missing = count_at(experts, "people", "unanswered") or 0
    lack = f"{counted_en(missing, 'answer')} {'is' if missing == 1 else 'are'} missing"
    return (
        f"{told} {complete or 'None'} of {counted_en(people, 'expert')} answered all of these items; {lack}."
    )


def _kept_en(experts: Mapping[str, Json], rest: int) -> list[str]:
    """Say how the items were decided that the rule did not decide."""
    votes, late, skill = (
        len(list_at(experts, "items", "fallback", name)) for name in ("votes", "late", "skill")
    )
    wrong = len(list_at(experts, "items", "counted_as_wrong"))
    parts = [
        f"{votes} by the most votes" if votes else "",
        f"{late} with the answers after the time limit" if late else "",
        f"{skill} by the accuracy of the experts who answered" if skill else "",
    ]
    told = (
        [f"{told} {'was' if votes + late + skill == 1 else 'were'} decided"]
        if (told := ", ".join(filter(None, parts)))
        else []
    )
    told += [f"{wrong} {'counts' if wrong == 1 else 'count'} as wrong"] if wrong else []
    which = f"The {'item' if rest == 1 else 'items'} that this rule did not decide {'was' if rest == 1 else 'were'} kept"
    return [f"{which}: {', and '.join(told)}."] if rest and told else []


def _left_out_en(experts: Mapping[str, Json]) -> str:
    mine, late = count_at(experts, "answers", "may_be_mine") or 0, count_at(experts, "answers", "late") or 0
    hidden = count_at(experts, "answers", "not_shown") or 0
    mine -= hidden
    told = ""
    if hidden:
        told += f"; an item was not shown to the expert who wrote it {counted_en(hidden, 'time')}"
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
