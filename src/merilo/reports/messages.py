"""The texts that the author of a study hands in: the section of the cards, the cost report, the message with both."""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce
from typing import Final

from merilo.baselines.baseline import Baseline
from merilo.people.cost import paid_work
from merilo.reports.facts import PlannedBaseline, arm_name, facts, group_tables, hours, metric_title
from merilo.reports.table import Section, estimate_text, render
from merilo.strict_json import Json, dict_at, number_at, text_at
from merilo.text import Language, Money, Text, joined

#: Where the guide asks to send the report.
RECIPIENT: Final = "mera@a-ai.ru"

#: What the paragraphs about an arm begin with.
ARM_HEADS: Final = {"people": Text("People."), "experts": Text("Experts.")}
_ARMS: Final = {"people": Text("Basic human baseline"), "experts": Text("Expert human baseline")}

#: The sections of the methodology, in the order of telling.
_METHODOLOGY: Final = ("result", "people", "items", "agreement", "cost")


def arms_of(
    baseline: Baseline, plan: Mapping[str, Json] | None, *, submitted: bool = False
) -> dict[str, PlannedBaseline]:
    """Return the baseline of every arm by name, the main one first, with the plan.

    Args:
        baseline: the baseline, with the other arms of the study.
        plan: the content of `study.yaml`.
        submitted: whether the dataset is meant for the benchmark, whose metadata hold a human value.
    """
    return {
        name: PlannedBaseline(
            arm, plan or {}, "experts" if name == "experts" else "people", submitted=submitted
        )
        for name, arm in baseline.by_arm.items()
    }


def human_baseline(arms: Mapping[str, PlannedBaseline], language: Language) -> str:
    """Write the section "Human baseline" of a dataset's card in Markdown, with every detail that the guide asks for.

    A sentence whose values are missing is left out; missing gold, controls and pay are said to be missing.

    Args:
        arms: as of `arms_of`.
        language: the language.
    """
    sections: list[Section] = []
    for name, arm in arms.items():
        head = (ARM_HEADS.get(name, Text("{name}.", name=name)),) if len(arms) > 1 else ()
        for section in facts(arm, *_METHODOLOGY):
            tables = tuple(group_tables(arm.record)) if section.name == "result" else ()
            sections.append(Section("", sentences=(*head, *section.sentences), tables=tables))
            head = ()
    if differences := arm_differences(next(iter(arms.values())).record):
        sections.append(Section("", sentences=(differences,)))
    return render([part for part in sections if part.sentences or part.tables], "markdown", language)


def arm_differences(baseline: Baseline) -> Text | None:
    """Say by how much the consensus of arms differs; `None` without such differences."""
    metric = next(iter(baseline.main_metrics), "")
    known = {"experts minus people": Text("experts minus people")}
    differences = [
        (difference.name.removesuffix(f": {metric}"), difference)
        for difference in baseline.differences
        if difference.value is not None and difference.name.endswith(f": {metric}")
    ]
    if not differences:
        return None
    texts = (
        Text(
            "{name}: {estimate} on {n:# item|# items}",
            name=known.get(name, name),
            estimate=estimate_text(difference),
            n=difference.n,
        )
        for name, difference in differences
    )
    return Text(
        "Differences between the arms in the {metric} of a majority of as many answers: {differences}.",
        metric=metric_title(metric),
        differences=joined(texts, "; "),
    )


def cost_report(arms: Mapping[str, PlannedBaseline], language: Language) -> str:
    """Write what a study cost in Markdown: in all, and each arm with its hourly pay.

    Args:
        arms: as of `arms_of`.
        language: the language.
    """
    texts = [_total(arms), *(_arm(name, arm) for name, arm in arms.items())]
    return render([Section("", sentences=(text,)) for text in texts], "markdown", language)


def cost_text(arms: Mapping[str, PlannedBaseline], language: Language) -> str:
    """Write the message that the guide asks to send: costs, and the methodology.

    It goes to the organisers of the benchmark if the dataset is meant for it, or is one of its datasets already;
    otherwise the author fills in the recipient.

    Args:
        arms: as of `arms_of`.
        language: the language.
    """
    people = next(iter(arms.values()))
    message = Text(
        "To: {recipient}\nSubject: Human baseline{of}: costs and methodology\n\nHello,\n\n"
        "this message reports the costs and the methodology of the human baseline{of}.\n\n"
        "{costs}\n\nMethodology\n\n{methodology}\n\nBest regards,\nthe authors{of_dataset}\n",
        recipient=RECIPIENT if people.of_benchmark else "…",
        of=Text(" of {title}", title=people.title) if people.title else "",
        of_dataset=Text(" of {title}", title=people.title) if people.title else Text(" of the dataset"),
        costs=cost_report(arms, language),
        methodology=human_baseline(arms, language),
    )
    return message.in_language(language)


def _commissions(arms: Mapping[str, PlannedBaseline]) -> dict[str, float]:
    """Return the platform's commission on the pay of each kind of arm, as a share; arms without one are left out."""
    plan = next(iter(arms.values())).plan
    shares = {}
    for name in dict_at(plan, "arms"):
        share = number_at(plan, "arms", name, "pay", "commission")
        if share is not None:
            shares["experts" if text_at(plan, "arms", name, "kind") == "expert" else "people"] = share
    return shares


def _total(arms: Mapping[str, PlannedBaseline]) -> Text:
    """Say what the whole project cost, with the platform's commission where the plan has it."""
    paid = {name: study.record.cost for name, study in arms.items() if study.record.cost.total is not None}
    if not paid:
        return Text("There are no data on pay.")
    shares = _commissions(arms)
    sums: dict[str | None, float] = {}
    for name, cost in paid.items():
        sums[cost.currency] = sums.get(cost.currency, 0.0) + (cost.total or 0.0) * (1 + shares.get(name, 0.0))
    amounts = [_amount(amount, currency) for currency, amount in sums.items()]
    total = reduce(lambda first, second: Text("{first} and {second}", first=first, second=second), amounts)
    commission = Text("without the platform's commission, which is not in the data")
    if paid.keys() <= shares.keys():
        commission = Text("with the platform's commission")
    elif with_one := [arm_name(name) for name in paid if name in shares]:
        commission = Text(
            "with the platform's commission for {arms} only: the plan has no other", arms=with_one
        )
    return Text(
        "The total cost of the whole project is {total}, {commission}.", total=total, commission=commission
    )


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


def _arm(name: str, study: PlannedBaseline) -> Text:
    """Say what an arm was paid in all, for an answer to a test item, and for an hour."""
    record, arm = study.record, _ARMS.get(name, name)
    cost = record.cost
    if cost.total is None:
        return Text("{arm}: there are no data on pay.", arm=arm)
    answers = (
        sum(size * n for size, n in record.item_counts.overlap_before_exclusion.items())
        or record.response_counts.used
    )
    sentences = [
        Text(
            "{arm}: {total} was paid{pages}{answers}.",
            arm=arm,
            total=_amount(cost.total, cost.currency),
            pages=Text(" for {pages}", pages=paid_work(cost.pages, cost.answers)) if cost.pages else "",
            answers=Text(
                "; with {n:# answer|# answers} to test items, an answer cost {each} on average",
                n=answers,
                each=each(cost.total / answers, cost.currency),
            )
            if answers
            else "",
        )
    ]
    if cost.hourly is None or cost.hours is None:
        sentences.append(Text("Times were not measured, so the hourly pay is not known."))
    else:
        hourly = Money(cost.hourly, cost.currency)
        sentences.append(
            Text(
                "The hourly pay by measured time ({hours}) was {hourly}.",
                hours=hours(cost.hours),
                hourly=hourly,
            )
        )
    return joined(sentences)
