"""The cost of a human baseline.

In all, per answer and per hour, by arm and by pool, and the message that reports it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any, Final

import polars as pl

from merilo.baselines.baseline import Baseline, CostRecord, cost_record
from merilo.datasets import names
from merilo.people.cost import cost, paid_work
from merilo.records import mapping_at, number_at
from merilo.reports.baseline_facts import dataset_title
from merilo.reports.prose import hours, human_baseline_section
from merilo.responses import Responses
from merilo.strict_json import Json
from merilo.text import Language, Money, Text, joined

#: Where the guide asks to send the report.
RECIPIENT: Final = "mera@a-ai.ru"

#: Smaller amounts are rounding errors.
_CENT: Final = 0.005

_ARMS: Final = {"people": Text("Basic human baseline"), "experts": Text("Expert human baseline")}


@dataclass(frozen=True, slots=True)
class CostLine:
    """The cost of one arm or pool.

    Attributes:
        name: the arm or the pool's file.
        cost: money and time; its answers are all answers on the paid pages, control items included.
        answers: answers to test items, before exclusion; `None` if they are not known.
    """

    name: str
    cost: CostRecord
    answers: int | None

    @property
    def per_answer(self) -> float | None:
        """The cost of an answer to a test item; control items and answers that were excluded are paid too."""
        return None if self.cost.total is None or not self.answers else self.cost.total / self.answers

    def to_json(self) -> dict[str, Json]:
        """Return the line with its cost per answer, rounded to six places."""
        paid = self.cost
        return {
            "total": paid.total,
            "currency": paid.currency,
            "pages": paid.pages,
            "answers": self.answers,
            "per_answer": None if self.per_answer is None else round(self.per_answer, 6),
            "hours": paid.hours,
            "hourly": paid.hourly,
        }


def arm_cost(name: str, record: Baseline) -> CostLine:
    """Take the cost of an arm from its baseline."""
    overlap = record.item_counts.overlap_before_exclusion
    asked = sum(size * n for size, n in overlap.items()) or record.response_counts.used
    return CostLine(name, record.cost, asked or None)


def pool_costs(responses: pl.DataFrame, currency: str | None = None) -> list[CostLine]:
    """Compute what each pool cost: the answers of one file.

    Pages without a usable answer are in no pool; they count in the total of the study.

    Args:
        responses: the response table, columns as in `responses.SCHEMA`.
        currency: the currency's code.
    """
    lines = []
    for (file,), table in responses.group_by("file", maintain_order=True):
        paid = cost_record(cost(Responses(table, pl.DataFrame(), table.height, {}), currency))
        name = str(file).replace("\\", "/").rsplit("/", 1)[-1]
        lines.append(CostLine(name, paid, int((~table["is_control"]).sum())))
    return lines


def totals(
    lines: Sequence[CostLine], commissions: Mapping[str, float] | None = None
) -> dict[str | None, float]:
    """Add up what was paid by currency; arms without data on pay are left out.

    Args:
        lines: the arms or pools.
        commissions: the platform's commission by name, as a share of the pay, if it is to be added.
    """
    found: dict[str | None, float] = {}
    for line in lines:
        if line.cost.total is not None:
            amount = line.cost.total * (1 + (commissions or {}).get(line.name, 0.0))
            found[line.cost.currency] = found.get(line.cost.currency, 0.0) + amount
    return {currency: round(total, 6) for currency, total in found.items()}


def cost_json(arms: Mapping[str, Baseline], pools: Sequence[CostLine] = ()) -> dict[str, Json]:
    """Return the costs as JSON: `total` by currency, `arms` and `pools`.

    Args:
        arms: the baselines by arm, the main one first, which has the others; see `Baseline.by_arm`.
        pools: the pools; see `pool_costs`.
    """
    lines = [arm_cost(name, content) for name, content in arms.items()]
    return {
        "total": {currency or "unknown": total for currency, total in totals(lines).items()},
        "arms": {line.name: line.to_json() for line in lines},
        "pools": {line.name: line.to_json() for line in pools},
    }


def cost_report(
    arms: Mapping[str, Baseline],
    language: Language,
    *,
    pools: Sequence[CostLine] = (),
    plan: Mapping[str, Json] | None = None,
) -> str:
    """Write the cost report in Markdown: sentences for each arm, and a line for each pool.

    Args:
        arms: the baselines by arm, the main one first, which has the others; see `Baseline.by_arm`.
        language: `ru` or `en`.
        pools: the pools; see `pool_costs`.
        plan: the content of `study.yaml`, with the platform's commission.
    """
    lines = [arm_cost(name, content) for name, content in arms.items()]
    told = [_total(lines, _commissions(plan)), *map(_arm, lines)]
    if len(pools) > 1:
        listed = joined((Text("- {pool}", pool=_pool(line)) for line in pools), "\n")
        told += [joined([Text("By pool:"), listed], "\n\n"), *_in_no_pool(lines, pools)]
    return "\n\n".join(text.in_language(language) for text in told)


def cost_message(
    arms: Mapping[str, Baseline],
    plan: Mapping[str, Json] | None,
    language: Language,
    *,
    pools: Sequence[CostLine] = (),
    platform: str | None = None,
    submitted: bool = False,
) -> str:
    """Write the message that the guide asks to send: costs, and the methodology.

    Args:
        arms: the baselines by arm, the main one first, which has the others; see `Baseline.by_arm`.
        plan: the content of `study.yaml`.
        language: `ru` or `en`.
        pools: the pools; see `pool_costs`.
        platform: the platform's code, for the methodology.
        submitted: whether the dataset is meant for the benchmark. The message goes to its organisers if it
            is, or if it is one of its datasets already; otherwise the author fills in the recipient.
    """
    people = next(iter(arms.values()))
    title = dataset_title(people, plan)
    methodology = human_baseline_section(people, plan, language, platform=platform)
    message = Text(
        "To: {recipient}\nSubject: Human baseline{of}: costs and methodology\n\nHello,\n\n"
        "this message reports the costs and the methodology of the human baseline{of}.\n\n"
        "{costs}\n\nMethodology\n\n{methodology}\n\nBest regards,\nthe authors{of_dataset}\n",
        recipient=RECIPIENT if submitted or people.dataset in names() else "…",
        of=Text(" of {title}", title=title) if title else "",
        of_dataset=Text(" of {title}", title=title) if title else Text(" of the dataset"),
        costs=cost_report(arms, language, pools=pools, plan=plan),
        methodology=methodology,
    )
    return message.in_language(language)


def _in_no_pool(lines: Sequence[CostLine], pools: Sequence[CostLine]) -> list[Text]:
    """Say what was paid for pages without a usable answer, which are in the total and in no pool."""
    paid, counted_pools = totals(lines), totals(pools)
    rest = {currency: total - counted_pools.get(currency, 0.0) for currency, total in paid.items()}
    if paid.keys() != counted_pools.keys() or all(abs(amount) < _CENT for amount in rest.values()):
        return []
    return [Text("Pages without a usable answer, which are in no pool, cost {total}.", total=_amounts(rest))]


def _commissions(plan: Mapping[str, Json] | None) -> dict[str, float]:
    """Return the platform's commission of each arm, as a share of the pay; arms without one are left out."""
    shares = {name: number_at(plan, "arms", name, "pay", "commission") for name in mapping_at(plan, "arms")}
    return {name: share for name, share in shares.items() if share is not None}


def _total(lines: Sequence[CostLine], commissions: Mapping[str, float]) -> Text:
    """Say what the whole project cost.

    The platform's commission is included if the plan has it for every arm that was paid.
    """
    paid = [line for line in lines if line.cost.total is not None]
    if not paid:
        return Text("There are no data on pay.")
    if all(line.name in commissions for line in paid):
        return Text(
            "The total cost of the whole project is {total}, with the platform's commission.",
            total=_amounts(totals(paid, commissions)),
        )
    return Text(
        "The total cost of the whole project is {total}, without the platform's commission, which is not in the data.",
        total=_amounts(totals(paid)),
    )


def _amounts(totals: Mapping[str | None, float]) -> Text:
    amounts = [_amount(amount, currency) for currency, amount in totals.items()]
    return reduce(lambda first, second: Text("{first} and {second}", first=first, second=second), amounts)


def _amount(amount: float, currency: str | None) -> Text:
    if currency is None:
        return Text("{amount} (currency not known)", amount=Money(amount, currency))
    return joined([Money(amount, currency)])


def each(amount: float, currency: str | None) -> Money:
    """Return a cost per answer or item with so many digits that two are significant."""
    digits = 2
    while amount and round(amount, digits) < 10 ** (1 - digits) and digits < 6:
        digits += 1
    return Money(amount, currency, digits)


def _arm(line: CostLine) -> Text:
    name, paid = _ARMS.get(line.name, line.name), line.cost
    if paid.total is None:
        return Text("{arm}: there are no data on pay.", arm=name)
    answers: Text | str = ""
    if line.per_answer is not None:
        answers = Text(
            "; with {n:# answer|# answers} to test items, an answer cost {each} on average",
            n=line.answers,
            each=each(line.per_answer, paid.currency),
        )
    told = [
        Text(
            "{arm}: {total} was paid{pages}{answers}.",
            arm=name,
            total=_amount(paid.total, paid.currency),
            pages=Text(" for {pages}", pages=paid_work(paid.pages, paid.answers)) if paid.pages else "",
            answers=answers,
        )
    ]
    if paid.hourly is None or paid.hours is None:
        told.append(Text("Times were not measured, so the hourly pay is not known."))
    else:
        told.append(Text("The hourly pay by measured time ({hours}) was {hourly}.", **_hourly(paid)))
    if (published := paid.published_way).total is not None:
        hourly = published.hourly
        told.append(
            Text(
                "The way of the published tables, which adds the pay of a page for every test item on "
                "it, gives {total}{hourly}.",
                total=Money(published.total, paid.currency),
                hourly=""
                if hourly is None
                else Text(" and {hourly} per hour", hourly=Money(hourly, paid.currency)),
            )
        )
    return joined(told)


def _hourly(paid: CostRecord) -> dict[str, Any]:
    return {"hours": hours(paid.hours or 0.0), "hourly": Money(paid.hourly or 0.0, paid.currency)}


def _pool(line: CostLine) -> Text:
    paid, timed = line.cost, line.cost.hourly is not None and line.cost.hours is not None
    return Text(
        "{pool}: {n:# answer|# answers} to test items{paid}{hourly}.",
        pool=line.name,
        n=line.answers or 0,
        paid="" if paid.total is None else Text(", {total} paid", total=_amount(paid.total, paid.currency)),
        hourly=Text(", {hourly} per hour ({hours})", **_hourly(paid)) if timed else "",
    )
