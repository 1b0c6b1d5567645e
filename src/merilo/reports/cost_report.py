"""The cost of a human baseline: in all, per answer and per hour, by arm and by pool, and the message that reports it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import fsum
from typing import Final

import polars as pl

from merilo.baselines.warnings import counted
from merilo.bilingual import BilingualText, Language
from merilo.datasets import names
from merilo.people.cost import cost, paid_work
from merilo.reports import baseline_prose_en as en
from merilo.reports import baseline_prose_ru as ru
from merilo.reports.adaptive_prose import adaptive_design, adaptive_facts
from merilo.reports.baseline_facts import dataset_title
from merilo.reports.estimates import counted as counted_en
from merilo.reports.json_record import count_at, counts_at, mapping_at, number_at, text_at
from merilo.reports.readme_section import human_baseline_section
from merilo.responses import Responses
from merilo.strict_json import Json

#: Where the guide asks to send the report.
RECIPIENT: Final = "mera@a-ai.ru"

_ARMS: Final = {
    "people": ("Базовый human baseline", "Basic human baseline"),
    "experts": ("Экспертный human baseline", "Expert human baseline"),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class CostLine:
    """The cost of one arm or pool; unknown values are `None`.

    Attributes:
        name: the arm (`people`, `experts`) or the pool's file.
        total: what was paid, over pages; a page is paid once.
        currency: the currency's code.
        pages: paid pages.
        answers: answers to test items, before exclusion.
        hours: the measured time on the pages.
        hourly: the pay for an hour of measured time.
        published: the total and the hourly pay as published tables compute them.
        design: the adaptive overlap and the mean number of answers; `None` with fixed overlap.
        rows: all answers on the paid pages, control items included.
    """

    name: str
    total: float | None
    currency: str | None
    pages: int | None
    answers: int | None
    hours: float | None
    hourly: float | None
    published: tuple[float, float | None] | None = None
    design: BilingualText | None = None
    rows: int | None = None

    @property
    def per_answer(self) -> float | None:
        """The cost of an answer to a test item; control items and answers that were excluded are paid too."""
        return None if self.total is None or not self.answers else self.total / self.answers

    def to_json(self) -> dict[str, Json]:
        """Return the line with its cost per answer, rounded to six places."""
        return {
            "total": self.total,
            "currency": self.currency,
            "pages": self.pages,
            "answers": self.answers,
            "per_answer": None if self.per_answer is None else round(self.per_answer, 6),
            "hours": self.hours,
            "hourly": self.hourly,
        }


def arm_cost(name: str, content: Mapping[str, Json]) -> CostLine:
    """Take the cost of an arm from the JSON of its baseline.

    Args:
        name: the arm: `people` or `experts`.
        content: the JSON.
    """
    overlap = counts_at(content, "items", "overlap_before_exclusion")
    asked = (
        sum(size * n for size, n in overlap.items())
        or count_at(content, "responses", "used")
        or sum(count_at(content, "experts", "answers", kind) or 0 for kind in ("counted", "late"))
        or None
    )
    published = number_at(content, "cost", "published_way", "total")
    return CostLine(
        name,
        number_at(content, "cost", "total"),
        text_at(content, "cost", "currency"),
        count_at(content, "cost", "pages"),
        asked,
        number_at(content, "cost", "hours"),
        number_at(content, "cost", "hourly"),
        None if published is None else (published, number_at(content, "cost", "published_way", "hourly")),
        adaptive_design(adaptive) if (adaptive := adaptive_facts(content)) else None,
        count_at(content, "cost", "answers"),
    )


def pool_costs(responses: pl.DataFrame, currency: str | None = None) -> list[CostLine]:
    """Compute what each pool cost: the answers of one file.

    Pages without a usable answer are in no pool; they count in the total of the study.

    Args:
        responses: the response table, columns as in `responses.SCHEMA`.
        currency: the currency's code.
    """
    lines = []
    for (file,), table in responses.group_by("file", maintain_order=True):
        found = cost(Responses(table, pl.DataFrame(), table.height, {}), currency)
        asked = int((~table["is_control"]).sum())
        lines.append(
            CostLine(
                str(file).replace("\\", "/").rsplit("/", 1)[-1],
                found.total,
                found.currency,
                found.pages,
                asked,
                found.hours,
                found.hourly,
                rows=found.answers,
            )
        )
    return lines


def totals(lines: Sequence[CostLine]) -> dict[str | None, float]:
    """Add up what was paid by currency; arms without data on pay are left out."""
    found: dict[str | None, list[float]] = {}
    for line in lines:
        if line.total is not None:
            found.setdefault(line.currency, []).append(line.total)
    return {currency: round(fsum(parts), 6) for currency, parts in found.items()}


def cost_json(arms: Mapping[str, Mapping[str, Json]], pools: Sequence[CostLine] = ()) -> dict[str, Json]:
    """Return the costs as JSON: `total` by currency, `arms` and `pools`.

    Args:
        arms: `people` and, for an expert dataset, `experts` -> the JSON of the baseline.
        pools: the pools; see `pool_costs`.
    """
    lines = [arm_cost(name, content) for name, content in arms.items()]
    return {
        "total": {currency or "unknown": total for currency, total in totals(lines).items()},
        "arms": {line.name: line.to_json() for line in lines},
        "pools": {line.name: line.to_json() for line in pools},
    }


def cost_report(
    arms: Mapping[str, Mapping[str, Json]],
    language: Language,
    *,
    pools: Sequence[CostLine] = (),
    plan: Mapping[str, Json] | None = None,
) -> str:
    """Write the cost report in Markdown: sentences for each arm, and a line for each pool.

    Args:
        arms: `people` and, for an expert dataset, `experts` -> the JSON of the baseline.
        language: `ru` or `en`.
        pools: the pools; see `pool_costs`.
        plan: the content of `study.yaml`, with the platform's commission.
    """
    lines = [arm_cost(name, content) for name, content in arms.items()]
    told = [_total(lines, language, _commissions(plan)), *(_arm(line, language) for line in lines)]
    if len(pools) > 1:
        told.append("\n".join([_POOLS[language], "", *(f"- {_pool(line, language)}" for line in pools)]))
        told += _in_no_pool(lines, pools, language)
    return "\n\n".join(told)


def _in_no_pool(lines: Sequence[CostLine], pools: Sequence[CostLine], language: Language) -> list[str]:
    """Say what was paid for pages without a usable answer, which are in the total and in no pool."""
    paid, counted_pools = totals(lines), totals(pools)
    rest = {currency: total - counted_pools.get(currency, 0.0) for currency, total in paid.items()}
    if paid.keys() != counted_pools.keys() or all(abs(amount) < _CENT for amount in rest.values()):
        return []
    if language == "ru":
        shown = " и ".join(_money_ru(amount, currency) for currency, amount in rest.items())
        return [f"За страницы без пригодных ответов, которые не вошли ни в один пул, выплачено {shown}."]
    shown = " and ".join(_money_en(amount, currency) for currency, amount in rest.items())
    return [f"Pages without a usable answer, which are in no pool, cost {shown}."]


#: Smaller amounts are rounding errors.
_CENT: Final = 0.005

_POOLS: Final = {"ru": "По пулам:", "en": "By pool:"}


def cost_message(
    arms: Mapping[str, Mapping[str, Json]],
    plan: Mapping[str, Json] | None,
    language: Language,
    *,
    pools: Sequence[CostLine] = (),
    experts: Mapping[str, Json] | None = None,
    platform: str | None = None,
    submitted: bool = False,
) -> str:
    """Write the message that the guide asks to send: costs, and the methodology.

    Args:
        arms: `people` and, for an expert dataset, `experts` -> the JSON of the baseline.
        plan: the content of `study.yaml`.
        language: `ru` or `en`.
        pools: the pools; see `pool_costs`.
        experts: the JSON of `merilo experts baseline`, for the methodology.
        platform: the platform's code, for the methodology.
        submitted: whether the dataset is meant for the benchmark. The message goes to its organisers if it is, or if it is one of its
            datasets already; otherwise the author fills in the recipient.
    """
    people = arms.get("people", {})
    recipient = RECIPIENT if submitted or text_at(people, "dataset") in names() else "…"
    title = dataset_title(people, plan)
    section = human_baseline_section(
        people, plan, language, experts=experts or arms.get("experts"), platform=platform
    )
    body = cost_report(arms, language, pools=pools, plan=plan)
    if language == "ru":
        of = f" датасета {title}" if title else ""
        return (
            f"Кому: {recipient}\nТема: Human baseline{of}: затраты и методология\n\nЗдравствуйте!\n\n"
            f"Сообщаем о затратах на human baseline{of} и о методологии.\n\n{body}\n\nМетодология\n\n{section}\n\n"
            f"С уважением,\nавторы{of or ' датасета'}\n"
        )
    of = f" of {title}" if title else ""
    return (
        f"To: {recipient}\nSubject: Human baseline{of}: costs and methodology\n\nHello,\n\n"
        f"this message reports the costs and the methodology of the human baseline{of}.\n\n{body}\n\nMethodology\n\n{section}\n\n"
        f"Best regards,\nthe authors{of or ' of the dataset'}\n"
    )


def _commissions(plan: Mapping[str, Json] | None) -> dict[str, float]:
    """Return the platform's commission of each kind of arm, as a share of the pay; arms without one are left out."""
    found = {}
    for name in mapping_at(plan, "arms") if plan else ():
        share = number_at(plan or {}, "arms", name, "pay", "commission")
        if share is not None:
            found["experts" if text_at(plan or {}, "arms", name, "kind") == "expert" else "people"] = share
    return found


def _total(lines: Sequence[CostLine], language: Language, commissions: Mapping[str, float]) -> str:
    """Say what the whole project cost, with the platform's commission if the plan has it for every arm that was paid."""
    paid = [line for line in lines if line.total is not None]
    known = bool(paid) and all(line.name in commissions for line in paid)
    if known:
        lines = [replace(line, total=(line.total or 0.0) * (1 + commissions[line.name])) for line in paid]
    found = totals(lines)
    if not found:
        return "Сведений об оплате нет." if language == "ru" else "There are no data on pay."
    if language == "ru":
        total = " и ".join(_money_ru(amount, name) for name, amount in found.items())
        if known:
            return f"Общие затраты на весь проект — {total}, вместе с комиссией платформы."
        return f"Общие затраты на весь проект — {total}, без комиссии платформы: её в данных нет."
    total = " and ".join(_money_en(amount, name) for name, amount in found.items())
    if known:
        return f"The total cost of the whole project is {total}, with the platform's commission."
    return f"The total cost of the whole project is {total}, without the platform's commission, which is not in the data."


def _money_ru(amount: float, currency: str | None) -> str:
    return ru.money(amount, currency) + ("" if currency else " (валюта не указана)")


def _money_en(amount: float, currency: str | None) -> str:
    return en.money(amount, currency) + ("" if currency else " (currency not known)")


def _small(amount: float) -> int:
    """Return how many digits show a cost per answer with two significant ones."""
    digits = 2
    while amount and round(amount, digits) < 10 ** (1 - digits) and digits < 6:
        digits += 1
    return digits


def _arm(line: CostLine, language: Language) -> str:
    name = _ARMS.get(line.name, (line.name, line.name))[language != "ru"]
    if line.total is None:
        return (
            f"{name}: сведений об оплате нет." if language == "ru" else f"{name}: there are no data on pay."
        )
    if language == "ru":
        told = f"{name}: выплачено {_money_ru(line.total, line.currency)}"
        told += f" за {paid_work(line.pages, line.rows).ru}" if line.pages else ""
        if line.per_answer is not None and line.answers:
            each = ru.money(line.per_answer, line.currency, _small(line.per_answer))
            answers = counted(line.answers, "ответ", "ответа", "ответов")
            told += f"; получено {answers} на вопросы теста, в среднем {each} за ответ"
        told += f" ({line.design.ru})" if line.design else ""
        return f"{told}. {_hourly_ru(line)}{_published_ru(line)}"
    told = f"{name}: {_money_en(line.total, line.currency)} was paid"
    told += f" for {paid_work(line.pages, line.rows).en}" if line.pages else ""
    if line.per_answer is not None and line.answers:
        each = en.money(line.per_answer, line.currency, _small(line.per_answer))
        told += f"; with {counted_en(line.answers, 'answer')} to test items, an answer cost {each} on average"
        told += f" ({line.design.en})" if line.design else ""
    return f"{told}. {_hourly_en(line)}{_published_en(line)}"


def _hourly_ru(line: CostLine) -> str:
    if line.hourly is None or line.hours is None:
        return "Время работы не измерено, поэтому почасовая оплата неизвестна."
    return f"Почасовая оплата по измеренному времени ({ru.hours(line.hours)}) составила {ru.money(line.hourly, line.currency)}."


def _hourly_en(line: CostLine) -> str:
    if line.hourly is None or line.hours is None:
        return "Times were not measured, so the hourly pay is not known."
    return f"The hourly pay by measured time ({line.hours:.1f} hours) was {en.money(line.hourly, line.currency)}."


def _published_ru(line: CostLine) -> str:
    if line.published is None:
        return ""
    total, hourly = line.published
    rate = f" и {ru.money(hourly, line.currency)} за час" if hourly is not None else ""
    return (
        " Если считать так, как в опубликованных таблицах, где оплата страницы прибавляется за каждый вопрос теста на ней,"
        f" получится {ru.money(total, line.currency)}{rate}."
    )


def _published_en(line: CostLine) -> str:
    if line.published is None:
        return ""
    total, hourly = line.published
    rate = f" and {en.money(hourly, line.currency)} per hour" if hourly is not None else ""
    return (
        " The way of the published tables, which adds the pay of a page for every test item on it, gives"
        f" {en.money(total, line.currency)}{rate}."
    )


def _pool(line: CostLine, language: Language) -> str:
    if language == "ru":
        n = line.answers or 0
        told = f"{line.name}: {counted(n, 'ответ', 'ответа', 'ответов')} на вопросы теста"
        told += f", выплачено {_money_ru(line.total, line.currency)}" if line.total is not None else ""
        if line.hourly is not None and line.hours is not None:
            told += f", {ru.money(line.hourly, line.currency)} за час ({ru.hours(line.hours)})"
        return f"{told}."
    told = f"{line.name}: {counted_en(line.answers or 0, 'answer')} to test items"
    told += f", {_money_en(line.total, line.currency)} paid" if line.total is not None else ""
    if line.hourly is not None and line.hours is not None:
        told += f", {en.money(line.hourly, line.currency)} per hour ({line.hours:.1f} hours)"
    return f"{told}."
