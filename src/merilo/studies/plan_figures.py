"""The plan of a study in figures, before money is spent: answers, pages, people, hours, pay, and what it can tell."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import ceil, inf
from typing import Annotated, Final, TypeAlias

from pydantic import PlainSerializer

from merilo.datasets.declaration import Dataset
from merilo.errors import UsageError, for_command_line, for_library
from merilo.metrics.registry import metric_of
from merilo.records import Record
from merilo.statistics.planning import (
    FEWEST_ANNOTATORS,
    StudyPlan,
    half_width,
    people_needed,
    smallest_difference,
    smallest_margin,
)
from merilo.studies.known_answers import wanted_controls
from merilo.studies.plan import Arm, Plan
from merilo.text import plain_number
from merilo.wording import counted_noun

#: The accuracy of guessing where answers are numbers or texts; the power computation needs it above 0.
_LEAST_CHANCE: Final = 0.02

#: Currency -> an hourly pay that is probably a mistake.
_ABSURD_PAY: Final = {"USD": 200, "EUR": 200, "GBP": 200, "RUB": 20_000}

#: A number that JSON has with two digits, or with six.
Rough: TypeAlias = Annotated[
    float | None, PlainSerializer(lambda value: None if value is None else round(value, 2))
]
Fine: TypeAlias = Annotated[
    float | None, PlainSerializer(lambda value: None if value is None else round(value, 6))
]


class ArmFigures(Record):
    """The computed values of an arm.

    Attributes:
        answers: answers to test items.
        control_answers: answers to control items.
        pages: pages that are paid.
        people: annotators.
        tasks_per_person: test and control items that an annotator answers, on average.
        controls_per_person: control items that an annotator answers, on average.
        hours: hours of all annotators, training included.
        hours_per_person: hours of one annotator.
        pay: the pay of all pages; `None` while it is not decided.
        hourly_pay: the pay of an hour; `None` while it is not decided.
        currency: the currency's code.
        half_width: half the width of the expected confidence interval, as `merilo power` computes it; `None` if the
            metric has no formula.
        detectable: the smallest difference from a model that is found with the plan's power; `None` if there is none.
        equality_within: the smallest margin within which equality can be shown with the plan's power.
    """

    answers: int
    control_answers: int
    pages: int
    people: int
    tasks_per_person: Fine
    controls_per_person: Fine
    hours: Rough
    hours_per_person: Rough
    pay: Rough
    hourly_pay: Rough
    currency: str
    half_width: Fine = None
    detectable: Fine = None
    equality_within: Fine = None


class PlanFigures(Record):
    """The computed plan.

    Attributes:
        arms: name -> figures of the arm.
        controls: the control items that the study has.
        controls_wanted: those of the plan: an annotator who answers all items gets each once; 0 without control items.
        metric: the main metric.
        verdicts: what an arm can tell of a model, a sentence each.
        without_verdict: those of `verdicts` by which no model can be told from people.
        notes: what the author should know, a sentence each.
    """

    arms: dict[str, ArmFigures]
    controls: int
    controls_wanted: int
    metric: str
    verdicts: tuple[str, ...]
    without_verdict: tuple[str, ...]
    notes: tuple[str, ...]


def plan_figures(
    plan: Plan, declared: Dataset, *, controls_there: int, training_there: int = 0
) -> PlanFigures:
    """Compute the computed plan.

    A task is a test item or a control item. Of `every` tasks one is a control item, none twice to one person. A person
    who answers n test items therefore answers n / (every - 1) control items, at most those that there are. A task is
    paid as its share of a page.

    Args:
        plan: the plan.
        declared: the dataset.
        controls_there: the number of control items of the study.
        training_there: the number of training items, which take time but are not paid.
    """
    items = plan.subset.size
    arms = {name: arm_figures(arm, plan, controls_there, training_there) for name, arm in plan.arms.items()}
    metric = plan.baseline.metric or declared.metrics[0]
    wanted = wanted_controls(items, plan.controls.every) if plan.controls else 0
    notes = [*_control_notes(plan, controls_there, wanted)]
    scored = metric_of(metric, declared.answer.kind)
    if not (scored.exact and scored.unit is None):
        notes.append(f"no interval is expected for {metric}: only shares of right answers have a formula")
    else:
        for name, arm in plan.arms.items():
            try:
                arms[name] = _with_precision(plan, arm, arms[name])
            except UsageError as error:
                notes.append(f"{name}: no interval is expected, because {for_library(error.marked)}")
    verdicts = {
        f"{name}: {sentence}.": can_tell
        for name, arm in plan.arms.items()
        if not arm.skip_own  # such people answer different items, so no model is compared with them
        for can_tell, sentence in [_verdict(plan, arms[name], declared)]
    }
    return PlanFigures(
        arms=arms,
        controls=controls_there,
        controls_wanted=wanted,
        metric=metric,
        verdicts=tuple(verdicts),
        without_verdict=tuple(sentence for sentence, can_tell in verdicts.items() if not can_tell),
        notes=(*notes, *_pay_notes(plan, arms)),
    )


def arm_figures(arm: Arm, plan: Plan, controls: int, training: int = 0) -> ArmFigures:
    """Compute the figures of a group of annotators.

    Args:
        arm: the group.
        plan: the plan.
        controls: the number of control items.
        training: the number of training items.
    """
    answers, people = plan.subset.size * arm.overlap, _people(arm, plan)
    checks, pages, pay = paid_work(arm, plan, answers, controls)
    hours = (answers + checks + training * people) / arm.items_per_hour
    return ArmFigures(
        answers=answers,
        control_answers=checks,
        pages=pages,
        people=people,
        tasks_per_person=(answers + checks) / people,
        controls_per_person=checks / people,
        hours=hours,
        hours_per_person=hours / people,
        pay=pay,
        hourly_pay=None if pay is None else pay / hours,
        currency=arm.pay.currency,
    )


def _people(arm: Arm, plan: Plan) -> int:
    items = plan.subset.size
    # An expert of one domain answers no more items than it has.
    own = plan.subset.per_domain if arm.domain and plan.subset.per_domain else items
    return arm.people or people_needed(items, arm.overlap, min(arm.items_per_person, own, items))


def paid_work(arm: Arm, plan: Plan, answers: int, controls: int) -> tuple[int, int, float | None]:
    """Compute the paid work that answers to items of the test bring.

    Args:
        arm: the group of annotators.
        plan: the plan; of `controls.every` tasks one is a control item.
        answers: answers to items of the test.
        controls: the number of control items, which nobody answers twice.

    Returns:
        Answers to control items, pages, and the pay of all tasks; `None` while the pay is not decided.
    """
    each = plan.subset.size * arm.overlap / _people(arm, plan)  # answers of one person
    share = min(1 / (plan.controls.every - 1), controls / each) if plan.controls else 0.0
    checks = ceil(answers * share - 1e-9)
    pages, page = ceil((answers + checks) / arm.items_per_page), arm.pay.per_page
    return checks, pages, None if page is None else (answers + checks) * page / arm.items_per_page


def chance_of(declared: Dataset) -> float:
    """Return the accuracy of guessing: one in the number of labels.

    A small number where answers are numbers or texts.
    """
    labels = len(declared.answer.labels)
    return max(1 / labels, _LEAST_CHANCE) if labels else _LEAST_CHANCE


def _control_notes(plan: Plan, there: int, wanted: int) -> Iterator[str]:
    if plan.controls is None:
        yield "there are no control items: annotators who guess cannot be found by them"
    elif there < wanted:
        yield (
            f"there {'is' if there == 1 else 'are'} {there} of {wanted} control items "
            f"({1 / plan.controls.every:.0%} of the tasks): add solved items that are not in the test"
        )


def _with_precision(plan: Plan, arm: Arm, figures: ArmFigures) -> ArmFigures:
    """Add the expected precision of the estimate."""
    assumed, items = plan.assumptions, plan.subset.size
    crowd = StudyPlan(assumed.expected, arm.overlap, max(figures.people, arm.overlap, 2), assumed.spread)
    wanted = {"level": assumed.level, "power": assumed.power}
    precision = {
        "half_width": half_width(crowd, items, level=assumed.level),
        "detectable": smallest_difference(crowd, items, **wanted),
        "equality_within": smallest_margin(crowd, items, **wanted),
    }
    return figures.model_copy(update=precision)


def _verdict(plan: Plan, figures: ArmFigures, declared: Dataset) -> tuple[bool, str]:
    """Say whether a model can be told from people, and within which margin equality can be shown."""
    who = counted_noun(figures.people, "person", "people")
    what = counted_noun(plan.subset.size, "item", "items")
    least, within = figures.detectable, figures.equality_within
    can_tell = figures.people >= FEWEST_ANNOTATORS
    equality = f"; with {what}, "
    if not can_tell:
        verdict = f"with {who} no model can be told from people (at least {FEWEST_ANNOTATORS} are needed)"
    elif figures.half_width is None:
        verdict = f"with {who} a model can be told from people"
    else:
        equality, can_tell = (
            "; ",
            least is not None and least <= plan.assumptions.expected - chance_of(declared),
        )
        verdict = f"with {what} and {who} " + (
            f"a model can be told from people from a difference of {least:.2f} on"
            if can_tell
            else "not even a model that guesses can be told from people"
        )
    if figures.half_width is None:
        return can_tell, verdict
    if within is None:
        return can_tell, f"{verdict}{equality}equality cannot be shown"
    only = " only" if within > plan.baseline.margin else ""
    return can_tell, f"{verdict}{equality}equality can be shown within ±{ceil(100 * within) / 100:.2f}{only}"


def _pay_notes(plan: Plan, arms: Mapping[str, ArmFigures]) -> Iterator[str]:
    """List the arms whose pay is not decided, is below the minimum or is probably a mistake."""
    absurd = []
    for name, arm in plan.arms.items():
        least, hourly, page = arm.pay.minimum_per_hour, arms[name].hourly_pay, arm.pay.per_page
        if hourly is None or page is None:
            yield f"{name}: the pay is not decided (arms.{name}.pay.per_page)"
        elif least is not None and hourly < least:
            enough = f"at least {ceil(100 * page * least / hourly) / 100:.2f}" if hourly else "more"
            yield (
                f"{name}: people earn {hourly:.2f} {arm.pay.currency} an hour at {arm.items_per_hour:g} tasks an hour, "
                f"below the minimum of {least:.2f} (arms.{name}.pay.minimum_per_hour): pay {enough} for a page "
                f"(arms.{name}.pay.per_page)"
            )
        elif not hourly or hourly > _ABSURD_PAY.get(arm.pay.currency, inf):
            absurd.append(f"{name} earn {_money(arm.pay.currency, hourly) if hourly else 'nothing'}")
    if absurd:
        yield f"is the pay of an hour right? {', '.join(absurd)} (pay.per_page, items_per_page, items_per_hour)"


def plan_page(plan: Plan, figures: PlanFigures, warnings: Sequence[str]) -> str:
    """Write the computed plan as Markdown."""
    lines = [f"# Plan of the study {plan.study}", ""]
    subset = plan.subset
    whole = (
        f"all {subset.size} items" if subset.size == subset.of else f"{subset.size} of the {subset.of} items"
    )
    dataset = plan.study if plan.dataset.endswith(".yaml") else plan.dataset
    lines += [f"Annotators answer {whole} of {dataset}. The seed of every draw is {plan.seed}.", ""]
    names = list(figures.arms)
    lines += [f"| value | {' | '.join(names)} |", f"| --- |{' ---: |' * len(names)}"]
    lines += [f"| {name} | {' | '.join(cells)} |" for name, cells in plan_rows(plan, figures)]
    lines += ["", *plan_sentences(figures), ""]
    if warnings:
        lines += [
            "## Warnings",
            "",
            *(f"- {text}" for text in dict.fromkeys(map(for_command_line, warnings))),
            "",
        ]
    return "\n".join(lines)


def plan_rows(plan: Plan, figures: PlanFigures) -> list[tuple[str, list[str]]]:
    """Return the table of the plan: the name of a value, and the value for each arm."""
    arms = [(plan.arms[name], arm) for name, arm in figures.arms.items()]
    rows = [
        ("audience", [str(arm.kind) for arm, _ in arms]),
        ("overlap", [str(arm.overlap) for arm, _ in arms]),
        ("answers to items", [str(arm.answers) for _, arm in arms]),
        ("answers to control items", [str(arm.control_answers) for _, arm in arms]),
        ("pages", [str(arm.pages) for _, arm in arms]),
        ("annotators", [str(arm.people) for _, arm in arms]),
        ("tasks per annotator", [f"{arm.tasks_per_person:.1f}" for _, arm in arms]),
        ("hours", [f"{arm.hours:.1f}" for _, arm in arms]),
        ("hours per annotator", [f"{arm.hours_per_person:.1f}" for _, arm in arms]),
        ("pay", [_money(arm.currency, arm.pay) for _, arm in arms]),
        ("hourly pay", [_money(arm.currency, arm.hourly_pay) for _, arm in arms]),
    ]
    if any(arm.half_width is not None for arm in figures.arms.values()):
        expected = f"{plan.assumptions.expected:g} ± "
        rows.append(
            (
                f"expected interval of {figures.metric}",
                [
                    "—" if arm.half_width is None else f"{expected}{arm.half_width:.3f}"
                    for arm in figures.arms.values()
                ],
            )
        )
    return rows


def plan_sentences(figures: PlanFigures) -> list[str]:
    """Return sentences on the number of control items, and on what the study can tell of a model."""
    there = counted_noun(figures.controls, "control item", "control items")
    asked = f"The study has {there}; the plan asks for {figures.controls_wanted}."
    return [*([asked] if figures.controls_wanted else []), *figures.verdicts]


def _money(currency: str, amount: float | None) -> str:
    return "not decided" if amount is None else f"{plain_number(amount, '.2f')} {currency}"
