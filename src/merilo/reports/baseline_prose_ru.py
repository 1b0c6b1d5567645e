"""A baseline in Russian sentences, for cards and messages."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from merilo.baselines.warnings import counted, form
from merilo.people.cost import paid_work
from merilo.reports.adaptive_prose import adaptive_sentences
from merilo.reports.baseline_facts import MOST_GROUPS, BaselineFacts, CostFacts, MetricFacts, Span
from merilo.reports.metric_names import group_ru, metric_title

#: Between a number and its unit.
_FIXED: Final = "\N{NO-BREAK SPACE}"

#: Who answered: nominative singular, genitive singular, genitive plural.
_WHO: Final = {
    "people": ("разметчик", "разметчика", "разметчиков"),
    "experts": ("эксперт", "эксперта", "экспертов"),
}
_PLURAL: Final = {"people": "разметчики", "experts": "эксперты"}

_WAYS: Final = {
    "unanimous": "все ответили одинаково",
    "majority": "большинством голосов",
    "plurality": "относительным большинством голосов",
    "skill": "при равенстве голосов по сумме навыков",
    "top_skill": "при равенстве голосов по сумме навыков трёх самых надёжных",
    "glad": "по способностям из модели GLAD",
    "dawid_skene": "моделью Дэвида — Скина",
    "one_coin": "моделью с одной точностью на разметчика",
    "medoid": "при равенстве голосов по близости к остальным ответам",
}

_COEFFICIENTS: Final = {"krippendorff_alpha": "альфа Криппендорфа", "gwet_ac1": "AC1 Гвета"}

#: After one, two and five.
_CURRENCIES: Final = {
    "USD": ("доллар США", "доллара США", "долларов США"),
    "RUB": ("рубль", "рубля", "рублей"),
    "EUR": ("евро", "евро", "евро"),
}


def decimal(value: float, digits: int = 3) -> str:
    """Format a number with a decimal comma.

    Example:
        >>> decimal(0.5604), decimal(-0.25, 2)
        ('0,560', '−0,25')
    """
    return f"{value:.{digits}f}".replace(".", ",").replace("-", "\N{MINUS SIGN}")


def percent(share: float) -> str:
    """Format a share as a percentage: whole, or with one digit if it is not whole.

    Example:
        >>> percent(0.3).replace(chr(160), " "), percent(1 / 260).replace(chr(160), " ")
        ('30 %', '0,4 %')
    """
    value = round(100 * share, 1)
    return f"{decimal(value, 0 if value == int(value) else 1)}{_FIXED}%"


def money(amount: float, currency: str | None, digits: int = 2) -> str:
    """Format an amount of money: a whole one without a fraction; a decimal fraction governs the genitive singular.

    Example:
        >>> [money(amount, "RUB").replace(chr(160), " ") for amount in (7.25, 2000, 860000)]
        ['7,25 рубля', '2000 рублей', '860 000 рублей']
    """
    whole = round(amount, digits) == int(amount)
    text = f"{amount:,.{0 if whole else digits}f}".replace(",", _FIXED if abs(amount) >= 10_000 else "")
    text = text.replace(".", ",").replace("-", "−")
    if currency is None:
        return text
    forms = _CURRENCIES.get(currency)
    unit = currency if forms is None else form(abs(int(amount)), *forms) if whole else forms[1]
    return f"{text}{_FIXED}{unit}"


def interval(span: Span, digits: int = 3) -> str:
    """Format the ends of an interval."""
    return f"от {decimal(span[0], digits)} до {decimal(span[1], digits)}"


def conditions(facts: BaselineFacts) -> str:
    """Say what was asked, whom, and under which conditions."""
    noun = _WHO[facts.role]
    told = []
    if facts.simulated:
        told.append("Разметчики смоделированы программой, поэтому эта оценка ничего не говорит о людях.")
    if facts.items is not None:
        told.append(_items(facts, facts.items))
    if facts.people is not None:
        whom = counted(facts.people, *noun)
        verb = form(facts.people, "отвечал", "отвечали", "отвечали")
        platform = f" краудсорсинговой платформы {facts.platform}" if facts.platform else ""
        plain = " без специальной подготовки" if facts.conditions.untrained else ""
        told.append(f"На вопросы {verb} {whom}{platform}{plain}.")
        told += _asked(facts)
    told += _rules(facts)
    return " ".join(told)


def _items(facts: BaselineFacts, items: int) -> str:
    title = f" датасета {facts.title}" if facts.title else ""
    if (subset := facts.conditions.subset) is None:
        where = f"{items} {form(items, 'вопросе', 'вопросах', 'вопросах')}"
        level = "Уровень экспертов измерен" if facts.role == "experts" else "Уровень человека измерен"
        return f"{level} на {where}{title}."
    size, of, fields = subset
    kept = f" с сохранением распределения по {_fields(fields)}" if fields else " случайным образом"
    drawn = form(size, "отобран", "отобраны", "отобрано")
    rest = "" if size == items else f" Ответы получены на {counted(items, 'вопрос', 'вопроса', 'вопросов')}."
    of_noun = form(of, "вопроса", "вопросов", "вопросов")
    return f"Из {of} {of_noun}{title} {drawn} {counted(size, 'вопрос', 'вопроса', 'вопросов')}{kept}.{rest}"


def _fields(fields: tuple[str, ...]) -> str:
    shown = ", ".join(f"«{field}»" for field in fields)
    return f"{'полю' if len(fields) == 1 else 'полям'} {shown}"


def _asked(facts: BaselineFacts) -> list[str]:
    overlap = {size: n for size, n in (facts.overlap_before or facts.overlap).items() if size}
    if not overlap:
        return []
    total = counted(sum(size * n for size, n in overlap.items()), "ответ", "ответа", "ответов")
    least, most = min(overlap), max(overlap)
    if facts.adaptive:
        return [*adaptive_sentences(facts.adaptive, "ru"), f"Всего получено {total}."]
    if least == most:
        return [f"Перекрытие — {counted(most, 'ответ', 'ответа', 'ответов')} на вопрос, всего {total}."]
    planned = facts.conditions.overlap
    aim = f" при запланированных {planned}" if planned else ""
    return [f"Перекрытие — от {least} до {most} ответов на вопрос{aim}, всего {total}."]


def _rules(facts: BaselineFacts) -> list[str]:
    known, told = facts.conditions, []
    who = _PLURAL[facts.role]
    if known.planned:
        told.append(
            f"{who.capitalize()} видели каждый вопрос в том же виде, в каком его получает модель, но без примеров решения."
        )
    if known.trained is not None:
        told.append(
            f"Сначала они решали тренировочные задания; к основным заданиям допускали тех, кто верно решил не менее {percent(known.trained)}."
        )
    if known.restrictions:
        rules = "; ".join(f"«{rule.rstrip('.')}»" for rule in known.restrictions)
        told.append(f"Инструкция устанавливала {form_of_rules(len(known.restrictions))}: {rules}.")
    if known.time_limit is not None:
        seconds = round(known.time_limit)
        told.append(
            f"На вопрос отводилось не более {seconds} {form(seconds, 'секунды', 'секунд', 'секунд')}."
        )
    if known.skip_own:
        told.append("Вопросы, которые мог придумать сам отвечающий, он пропускал.")
    return told


def form_of_rules(n: int) -> str:
    """Return the noun for a number of restrictions, without the number."""
    return "ограничение" if n == 1 else "ограничения"


def controls(facts: BaselineFacts) -> str:
    """Say how annotators were checked, and who was excluded."""
    one, of_one, of_many = _WHO[facts.role]
    if not facts.control_answers:
        return (
            f"Контрольных заданий не было, поэтому все {_PLURAL[facts.role]} учтены." if facts.people else ""
        )
    answers = counted(facts.control_answers, "ответ", "ответа", "ответов")
    told = []
    if facts.controls:
        n = facts.controls
        told.append(
            f"К вопросам {form(n, 'добавлено', 'добавлены', 'добавлено')} {counted(n, 'контрольное задание', 'контрольных задания', 'контрольных заданий')}"
            f" с известным ответом; на них получено {answers}."
        )
    else:
        told.append(f"На контрольные задания с известным ответом получено {answers}.")
    if facts.threshold is not None and facts.excluded is not None and facts.people is not None:
        below = f"{_PLURAL[facts.role].capitalize()} с точностью на контрольных заданиях ниже {percent(facts.threshold)}"
        if facts.excluded == 0:
            told.append(
                f"Ни один {one} не исключён: точность на контрольных заданиях у всех не ниже {percent(facts.threshold)}."
            )
        else:
            gone = form(facts.excluded, "исключён", "исключены", "исключено")
            of_people = f"{facts.people} {form(facts.people, of_one, of_many, of_many)}"
            told.append(
                f"{below} исключались вместе со всеми своими ответами: {gone} {facts.excluded} из {of_people}."
            )
    if facts.unchecked:
        kept = form(facts.unchecked, "учтён", "учтены", "учтено")
        told.append(
            f"Ещё {kept} {counted(facts.unchecked, one, of_one, of_many)}, у {form(facts.unchecked, 'которого', 'которых', 'которых')}"
            " ответов на контрольные задания нет или слишком мало."
        )
    if facts.excluded and facts.answers is not None and facts.overlap:
        told.append(f"После исключения {_left(facts.answers, facts.overlap)}.")
    return " ".join(told)


def exclusion(facts: BaselineFacts) -> str:
    """Say how many were excluded, if nothing else is known about the control items."""
    if not facts.excluded or facts.people is None:
        return ""
    _, of_one, of_many = _WHO[facts.role]
    gone = form(facts.excluded, "исключён", "исключены", "исключено")
    return f"По контрольным заданиям {gone} {facts.excluded} из {facts.people} {form(facts.people, of_one, of_many, of_many)}."


def _left(answers: int, overlap: Mapping[int, int]) -> str:
    kept = form(answers, "учтён", "учтены", "учтено")
    parts = [
        f"по {size} на {counted(n, 'вопрос', 'вопроса', 'вопросов')}" for size, n in overlap.items() if size
    ]
    lost = overlap.get(0, 0)
    rest = f", на {counted(lost, 'вопрос', 'вопроса', 'вопросов')} ответов не осталось" if lost else ""
    return f"{kept} {counted(answers, 'ответ', 'ответа', 'ответов')}: {', '.join(parts)}{rest}"


def aggregation(facts: BaselineFacts) -> str:
    """Say how items were decided, how many had a majority, and what follows for the baseline."""
    if facts.programs:
        return (
            "Каждая программа запущена в песочнице и учитывается отдельно: она верна, если проходит все тесты своей задачи. "
            "Согласованного ответа у программ нет."
        )
    told = []
    least, most = min(facts.votes_needed, default=0), max(facts.votes_needed, default=0)
    if most:
        votes = f"{least} {form(least, 'голоса', 'голосов', 'голосов')}"
        rule = f"не менее {votes}" if least == most else "больше половины голосов"
        if facts.aggregator == "majority":
            told.append(f"Согласованным считается ответ, за который подано {rule}.")
        else:
            told.append(f"Большинством считается {rule} за один ответ.")
        if facts.aggregator == "majority" and facts.resolve == "none":
            told.append("Вопросы без такого ответа в метрику не входят.")
    if facts.ways:
        told.append(_decided(facts.ways))
    if facts.unresolved:
        n = facts.unresolved
        told.append(
            f"Без согласованного ответа {form(n, 'остался', 'остались', 'осталось')} {counted(n, 'вопрос', 'вопроса', 'вопросов')};"
            f" в метрику {form(n, 'он не вошёл', 'они не вошли', 'они не вошли')}."
        )
    if facts.low is not None and facts.items:
        told.append(_low(facts, *facts.low, facts.items))
    return " ".join(told)


def _decided(ways: Mapping[str, int]) -> str:
    (first, n), *others = ways.items()
    items = counted(n, "вопрос", "вопроса", "вопросов")
    verb = form(n, "решён", "решены", "решено")
    phrase = _WAYS[first]
    start = f"{phrase[0].upper()}{phrase[1:]} {verb} {items}"
    if first == "unanimous":
        start = f"На {items} {phrase}"
    return "; ".join([start, *(f"{_WAYS[way]} — {count}" for way, count in others)]) + "."


def _low(facts: BaselineFacts, low: int, allowed: float, items: int) -> str:
    if low == 0:
        return "Большинство голосов набралось на каждом вопросе."
    where = f"{low} {form(low, 'вопросе', 'вопросах', 'вопросах')} из {items} ({percent(low / items)})"
    if facts.rejected:
        return (
            f"Большинство голосов не набралось на {where} при допустимой доле {percent(allowed)},"
            " поэтому оценка признана некорректной и использовать её нельзя."
        )
    return f"Большинство голосов не набралось на {where} при допустимой доле {percent(allowed)}."


def agreement(facts: BaselineFacts) -> str:
    """Say how far annotators agree."""
    if not facts.agreement or not facts.agreement_answers:
        return ""
    parts = []
    for name, (value, span) in facts.agreement.items():
        sure = f" (95%-й доверительный интервал {interval(span)})" if span else ""
        parts.append(f"{_COEFFICIENTS[name]} — {decimal(value)}{sure}")
    n = facts.agreement_answers
    answers = f"{n} {form(n, 'ответу', 'ответам', 'ответам')}"
    who = "разметчиков" if facts.role == "people" else "экспертов"
    return f"Согласие {who}, вычисленное по {answers}: {', '.join(parts)}."


def results(facts: BaselineFacts) -> str:
    """Say what the consensus and a single annotator score."""
    if not facts.metrics and not facts.groups:
        reason = (
            "эталонных ответов в исследовании нет" if not facts.has_gold else "вычислить метрику не удалось"
        )
        return f"Значение метрики не приводится: {reason}."
    return " ".join([*(_metric(one, facts) for one in facts.metrics), *_groups(facts)])


def _groups(facts: BaselineFacts) -> list[str]:
    if not facts.groups or facts.group_metric is None:
        return []
    name = metric_title(facts.group_metric).ru
    both = any(one.over_both for _, one in facts.groups)
    over = f" с учётом выбора вопросов и {_WHO[facts.role][2]}" if both else ""
    told = any(one.interval for _, one in facts.groups)
    sure = f" (в скобках — 95%-е доверительные интервалы{over})" if told else ""
    if len(facts.groups) <= MOST_GROUPS:
        return [
            f"По группам вопросов {name}{sure} составляет: {'; '.join(_in_group(*one) for one in facts.groups)}."
        ]
    lowest, highest = (
        _in_group(*choose(facts.groups, key=lambda one: one[1].value)) for choose in (min, max)
    )
    groups = f"{len(facts.groups)} {form(len(facts.groups), 'группе', 'группам', 'группам')}"
    return [
        f"По {groups} вопросов {name}{sure} меняется от наименьшего значения ({lowest}) до наибольшего ({highest})."
    ]


def _in_group(name: str, one: MetricFacts) -> str:
    alone = "" if one.over_both else " с учётом выбора только вопросов"
    sure = f"{interval(one.interval)}{alone}; " if one.interval else ""
    return (
        f"«{group_ru(name)}» — {decimal(one.value)} ({sure}{counted(one.n, 'вопрос', 'вопроса', 'вопросов')})"
    )


def _metric(one: MetricFacts, facts: BaselineFacts) -> str:
    name = metric_title(one.name).ru
    items = f"{one.n} {form(one.n, 'вопросе', 'вопросах', 'вопросах')}"
    if one.clusters:
        items += f" в {one.clusters} {form(one.clusters, 'кластере', 'кластерах', 'кластерах')}"
    sure = named_interval(one, _WHO[facts.role][2])
    if facts.programs:
        whose = "людей" if facts.role == "people" else "экспертов"
        return f"{name[0].upper()}{name[1:]} {whose} на {items} составляет {decimal(one.value)}{sure and f' ({sure})'}."
    told = f"{name[0].upper()}{name[1:]} согласованных ответов на {items} составляет {decimal(one.value)}{sure and f' ({sure})'}."
    if alone := one.by_majority:
        where = f"{alone.n} {form(alone.n, 'вопросе', 'вопросах', 'вопросах')}"
        sure = named_interval(alone, _WHO[facts.role][2])
        told += f" Если учитывать только вопросы с большинством голосов, получается {decimal(alone.value)} (на {where}{sure and f'; {sure}'})."
    if one.dropped:
        n, value = one.dropped
        told += f" Если считать ошибками {counted(n, 'вопрос', 'вопроса', 'вопросов')} без согласованного ответа, получается {decimal(value)}."
    if one.single:
        mean, span, people, answers = one.single
        who = counted(people, *_WHO[facts.role])
        over = f"с учётом выбора вопросов и {_WHO[facts.role][2]}"
        sure = f"95%-й доверительный интервал {over} — {interval(span)}; " if span else ""
        told += (
            f" Для отдельного {_WHO[facts.role][1]} это значение в среднем составляет {decimal(mean)}"
            f" ({sure}{who}, {counted(answers, 'ответ', 'ответа', 'ответов')})."
        )
    return told


def named_interval(one: MetricFacts, who: str) -> str:
    """Return the interval of record with its name; empty without an interval.

    Args:
        one: the metric.
        who: what the annotators are called, in the genitive: "разметчиков" or "экспертов".
    """
    if one.interval is None:
        return ""
    over = f"вопросов и {who}" if one.over_both else "только вопросов"
    return f"95%-й доверительный интервал с учётом выбора {over} — {interval(one.interval)}"


def pay(cost: CostFacts) -> str:
    """Say how long people worked and what they were paid."""
    told = []
    if cost.seconds is not None:
        told.append(f"Медианное время ответа — {seconds(cost.seconds)}.")
    if cost.total is not None:
        pages = f" за {paid_work(cost.pages, cost.answers).ru}" if cost.pages else ""
        unknown = "" if cost.currency else " (валюта в выгрузке не указана)"
        hourly = ""
        if cost.hourly is not None and cost.hours is not None:
            hourly = (
                f", то есть {money(cost.hourly, cost.currency)} за час работы по измеренному времени"
                f" (всего {hours(cost.hours)})"
            )
        told.append(f"За разметку выплачено {money(cost.total, cost.currency)}{unknown}{pages}{hourly}.")
    else:
        told.append("Сведений об оплате в выгрузке нет.")
    return " ".join(told)


def seconds(value: float) -> str:
    """Format a time in seconds.

    Example:
        >>> seconds(26.7).replace(chr(160), " "), seconds(4.46).replace(chr(160), " ")
        ('27 секунд', '4,5 секунды')
    """
    if value < 10:
        return f"{decimal(value, 1)}{_FIXED}секунды"
    return counted(round(value), "секунда", "секунды", "секунд").replace(" ", _FIXED)


def hours(value: float) -> str:
    """Format a time in hours, whole from 10 hours on.

    Example:
        >>> hours(8.44).replace(chr(160), " "), hours(21.4).replace(chr(160), " ")
        ('8,4 часа', '21 час')
    """
    if value < 10:
        return f"{decimal(value, 1)}{_FIXED}часа"
    return counted(round(value), "час", "часа", "часов").replace(" ", _FIXED)
