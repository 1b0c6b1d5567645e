"""The texts that the author of a study hands in: the section of the cards, the cost report, the message with both."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce
from typing import Final

from merilo.baselines.baseline import Baseline
from merilo.reports.facts import PlannedBaseline, amount, arm_name, difference_tables, facts, group_tables
from merilo.reports.table import Section, render
from merilo.strict_json import Json, dict_at, number_at, text_at
from merilo.text import Language, Text

#: Where the guide asks to send the report.
RECIPIENT: Final = "mera@a-ai.ru"

#: What the paragraphs about an arm begin with.
ARM_HEADS: Final = {"people": Text("Basic human baseline."), "experts": Text("Expert human baseline.")}

#: The sections of the methodology, in the order of telling.
_METHODOLOGY: Final = ("result", "people", "items", "agreement")


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


def human_baseline(
    arms: Mapping[str, PlannedBaseline], language: Language, names: Sequence[str] = (*_METHODOLOGY, "cost")
) -> str:
    """Write the section "Human baseline" of a dataset's card in Markdown, with every detail that the guide asks for.

    A sentence whose values are missing is left out; missing gold, controls and pay are said to be missing.

    Args:
        arms: as of `arms_of`.
        language: the language.
        names: the sections that are wanted.
    """
    sections: list[Section] = []
    for name, arm in arms.items():
        head = (arm_head(name),) if len(arms) > 1 else ()
        for section in facts(arm, *names):
            tables = tuple(group_tables(arm.record)) if section.name == "result" else ()
            sections.append(Section("", sentences=(*head, *section.sentences), tables=tables))
            head = ()
    sections.append(Section("", tables=tuple(difference_tables(next(iter(arms.values())).record))))
    return render([part for part in sections if part.sentences or part.tables], "markdown", language)


def arm_head(name: str) -> Text:
    """Return what the paragraphs about an arm begin with."""
    return ARM_HEADS.get(name, Text("{name}.", name=name))


def cost_report(arms: Mapping[str, PlannedBaseline], language: Language) -> str:
    """Write what a study cost in Markdown: in all, and each arm with its hourly pay.

    Args:
        arms: as of `arms_of`.
        language: the language.
    """
    sections = [Section("", sentences=(_total(arms),))]
    for name, arm in arms.items():
        sections += [
            section._replace(title=None, sentences=(arm_head(name), *section.sentences))
            for section in facts(arm, "cost")
        ]
    return render(sections, "markdown", language)


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
        methodology=human_baseline(arms, language, _METHODOLOGY),
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
    amounts = [amount(money, currency) for currency, money in sums.items()]
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
