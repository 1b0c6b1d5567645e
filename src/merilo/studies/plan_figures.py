"""The plan of a study in figures, before money is spent: answers, pages, people, hours, pay, and what it can tell."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from math import ceil
from typing import Final, cast

from merilo.datasets.declaration import Dataset
from merilo.errors import UsageError, for_command_line, for_library
from merilo.metrics.registry import metric_of
from merilo.statistics.planning import (
    FEWEST_ANNOTATORS,
    StudyPlan,
    half_width,
    people_needed,
    smallest_difference,
    smallest_margin,
)
from merilo.strict_json import Json
from merilo.studies.known_answers import wanted_controls
from merilo.studies.plan_types import Arm, Study
from merilo.wording import counted_noun

#: The accuracy of guessing where answers are numbers or texts; the power computation needs it above 0.
_LEAST_CHANCE: Final = 0.02


@dataclass(frozen=True, slots=True)
class ArmFigures:
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
    """

    answers: int
    control_answers: int
    pages: int
    people: int
    tasks_per_person: float
    controls_per_person: float
    hours: float
    hours_per_person: float
    pay: float | None
    hourly_pay: float | None
    currency: str


@dataclass(frozen=True, slots=True)
class PrecisionFigures:
    """The expected precision of an arm's estimate, as `merilo power` computes it.

    Attributes:
        expected: the assumed accuracy of the consensus.
        half_width: half the width of its confidence interval.
        detectable: the smallest difference from a model that is found with the plan's power; `None` if there is none.
        margin: the plan's margin for equivalence.
        equality_within: the smallest margin within which equality can be shown with the plan's power.
    """

    expected: float
    half_width: float
    detectable: float | None
    margin: float
    equality_within: float | None


@dataclass(frozen=True, slots=True)
class PlanFigures:
    """The computed plan.

    Attributes:
        items: items that annotators answer.
        of: items of the dataset.
        arms: name -> figures of the arm.
        controls: the control items that the study has.
        controls_wanted: those of the plan: an annotator who answers all items gets each once; 0 without control items.
        precision: name of the arm -> its precision; empty if the metric has no formula.
        metric: the main metric.
        verdicts: what an arm can tell of a model, a sentence each.
        without_verdict: those of `verdicts` by which no model can be told from people.
        notes: what the author should know, a sentence each.
    """

    items: int
    of: int
    arms: dict[str, ArmFigures]
    controls: int
    controls_wanted: int
    precision: dict[str, PrecisionFigures]
    metric: str
    verdicts: tuple[str, ...]
    without_verdict: tuple[str, ...]
    notes: tuple[str, ...]

    def as_json(self) -> dict[str, Json]:
        """Return the figures as JSON; money and hours are rounded to 2 digits, shares to 6."""
        return cast("dict[str, Json]", _rounded(asdict(self)))


def plan_figures(
    plan: Study, declared: Dataset, *, controls_there: int, training_there: int = 0
) -> PlanFigures:
    """Compute the computed plan.

    A task is a test item or a control item. Of `every` tasks one is a control item, so A answers to test items bring
    A / (every - 1) answers to control items. A page is paid once for each annotator who answers it.

    Args:
        plan: the plan.
        declared: the dataset.
        controls_there: the number of control items of the study.
        training_there: the number of training items, which take time but are not paid.
    """
    items = plan.subset.size
    arms = {name: arm_figures(arm, plan, training_there) for name, arm in plan.arms.items()}
    metric = plan.baseline.metric or declared.metrics[0]
    wanted = wanted_controls(items, plan.controls.every) if plan.controls else 0
    notes = [*_control_notes(plan, arms, controls_there, wanted)]
    precise: dict[str, PrecisionFigures] = {}
    scored = metric_of(metric, declared.answer.kind)
    share = scored.exact and scored.unit is None
    if not share:
        notes.append(f"no interval is expected for {metric}: only shares of right answers have a formula")
    for name, arm in plan.arms.items() if share else ():
        try:
            precise[name] = _precision(plan, arm, arms[name].people, items)
        except UsageError as error:
            notes.append(f"{name}: no interval is expected, because {for_library(error.marked)}")
    verdicts = [
        (sentence, can_tell)
        for name, arm in plan.arms.items()
        if not arm.skip_own  # such people answer different items, so no model is compared with them
        for can_tell, sentence in [_verdict(name, arms[name].people, items, precise.get(name), declared)]
    ]
    notes += [
        f"{name}: the pay is not decided (arms.{name}.pay.per_page)"
        for name, figures in arms.items()
        if figures.pay is None
    ]
    notes += _pay_notes(plan, arms)
    return PlanFigures(
        items,
        plan.subset.of,
        arms,
        controls_there,
        wanted,
        precise,
        metric,
        verdicts=tuple(sentence for sentence, _ in verdicts),
        without_verdict=tuple(sentence for sentence, can_tell in verdicts if not can_tell),
        notes=tuple(notes),
    )


def arm_figures(arm: Arm, plan: Study, training: int = 0) -> ArmFigures:
    """Compute the figures of a group of annotators.

    Args:
        arm: the group.
        plan: the plan.
        training: the number of training items.
    """
    items = plan.subset.size
    answers = items * arm.overlap
    checks, pages, pay = paid_work(arm, plan, answers)
    # An expert of one domain answers no more items than it has.
    own = plan.subset.per_domain if arm.domain and plan.subset.per_domain else items
    people = arm.people or people_needed(items, arm.overlap, min(arm.items_per_person, own, items))
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


def paid_work(arm: Arm, plan: Study, answers: int) -> tuple[int, int, float | None]:
    """Compute the paid work that answers to items of the test bring.

    Args:
        arm: the group of annotators.
        plan: the plan; of `controls.every` tasks one is a control item.
        answers: answers to items of the test.

    Returns:
        Answers to control items, pages, and the pay of these pages; `None` while the pay is not decided.
    """
    checks = ceil(answers / (plan.controls.every - 1)) if plan.controls else 0
    pages = ceil((answers + checks) / arm.items_per_page)
    return checks, pages, None if arm.pay.per_page is None else pages * arm.pay.per_page


def chance_of(declared: Dataset) -> float:
    """Return the accuracy of guessing: one in the number of labels.

    A small number where answers are numbers or texts.
    """
    labels = len(declared.answer.labels)
    return max(1 / labels, _LEAST_CHANCE) if labels else _LEAST_CHANCE


def _control_notes(plan: Study, arms: Mapping[str, ArmFigures], there: int, wanted: int) -> Iterator[str]:
    if plan.controls is None:
        yield "there are no control items: annotators who guess cannot be found by them"
        return
    every = plan.controls.every
    if there < wanted:
        yield (
            f"there {'is' if there == 1 else 'are'} {there} of {wanted} control items "
            f"({1 / every:.0%} of the tasks): add solved items that are not in the test"
        )
    if there < (most := ceil(max(arm.controls_per_person for arm in arms.values()))):
        yield (
            f"an annotator would meet {most} control items, but there are only {there}: no control item "
            f"may come twice to one person, so nobody may answer more than {there * every} tasks"
        )


def _precision(plan: Study, arm: Arm, people: int, items: int) -> PrecisionFigures:
    assumed = plan.assumptions
    crowd = StudyPlan(assumed.expected, arm.overlap, max(people, arm.overlap, 2), assumed.spread)
    wanted = {"level": assumed.level, "power": assumed.power}
    return PrecisionFigures(
        expected=assumed.expected,
        half_width=half_width(crowd, items, level=assumed.level),
        detectable=smallest_difference(crowd, items, **wanted),
        margin=plan.baseline.margin,
        equality_within=smallest_margin(crowd, items, **wanted),
    )


def _verdict(
    name: str, people: int, items: int, precise: PrecisionFigures | None, declared: Dataset
) -> tuple[bool, str]:
    """Say whether a model can be told from people, and within which margin equality can be shown."""
    who, what = counted_noun(people, "person", "people"), counted_noun(items, "item", "items")
    can_tell = people >= FEWEST_ANNOTATORS
    if not can_tell:
        said = f"with {who} no model can be told from people (at least {FEWEST_ANNOTATORS} are needed)"
    elif precise is None:
        said = f"with {who} a model can be told from people"
    elif precise.detectable is None or precise.detectable > precise.expected - chance_of(declared):
        can_tell = False
        said = f"with {what} and {who} not even a model that guesses can be told from people"
    else:
        said = f"with {what} and {who} a model can be told from people from a difference of {precise.detectable:.2f} on"
    if precise is not None:
        said += "; " if f"with {what}" in said else f"; with {what}, "
        if precise.equality_within is None:
            said += "equality cannot be shown"
        else:
            only = " only" if precise.equality_within > precise.margin else ""
            said += f"equality can be shown within ±{ceil(100 * precise.equality_within) / 100:.2f}{only}"
    return can_tell, f"{name}: {said}."


def _rounded(value: object, name: str = "") -> object:
    if isinstance(value, dict):
        return {key: _rounded(inner, str(key)) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_rounded(inner) for inner in value]
    if isinstance(value, float):
        return round(value, 2 if name in {"pay", "hourly_pay", "hours", "hours_per_person"} else 6)
    return value


def _pay_notes(plan: Study, arms: Mapping[str, ArmFigures]) -> Iterator[str]:
    """List the arms whose planned pay is below the minimum, with the pay that reaches it."""
    for name, arm in plan.arms.items():
        least, hourly, page = arm.pay.minimum_per_hour, arms[name].hourly_pay, arm.pay.per_page
        if least is None or hourly is None or page is None or hourly >= least:
            continue
        enough = f"at least {ceil(100 * page * least / hourly) / 100:.2f}" if hourly else "more"
        yield (
            f"{name}: people earn {hourly:.2f} {arm.pay.currency} an hour at {arm.items_per_hour:g} tasks an hour, "
            f"below the minimum of {least:.2f} (arms.{name}.pay.minimum_per_hour): pay {enough} for a page "
            f"(arms.{name}.pay.per_page)"
        )


def plan_page(plan: Study, figures: PlanFigures, warnings: Sequence[str]) -> str:
    """Write the computed plan as Markdown."""
    lines = [f"# Plan of the study {plan.study}", ""]
    whole = (
        f"all {figures.items} items"
        if figures.items == figures.of
        else f"{figures.items} of the {figures.of} items"
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


def plan_rows(plan: Study, figures: PlanFigures) -> list[tuple[str, list[str]]]:
    """Return the table of the plan: the name of a value, and the value for each arm."""

    def row(name: str, cell: Callable[[ArmFigures], str]) -> tuple[str, list[str]]:
        return name, [cell(arm) for arm in figures.arms.values()]

    rows = [
        ("audience", [str(plan.arms[name].kind) for name in figures.arms]),
        ("overlap", [str(plan.arms[name].overlap) for name in figures.arms]),
        row("answers to items", lambda arm: str(arm.answers)),
        row("answers to control items", lambda arm: str(arm.control_answers)),
        row("pages", lambda arm: str(arm.pages)),
        row("annotators", lambda arm: str(arm.people)),
        row("tasks per annotator", lambda arm: f"{arm.tasks_per_person:.1f}"),
        row("hours", lambda arm: f"{arm.hours:.1f}"),
        row("hours per annotator", lambda arm: f"{arm.hours_per_person:.1f}"),
        row("pay", lambda arm: _money(arm.currency, arm.pay)),
        row("hourly pay", lambda arm: _money(arm.currency, arm.hourly_pay)),
    ]
    if figures.precision:
        known = (figures.precision.get(arm) for arm in figures.arms)
        cells = ["—" if arm is None else f"{arm.expected:g} ± {arm.half_width:.3f}" for arm in known]
        rows.append((f"expected interval of {figures.metric}", cells))
    return rows


def plan_sentences(figures: PlanFigures) -> list[str]:
    """Return sentences on the number of control items, and on what the study can tell of a model."""
    there = counted_noun(figures.controls, "control item", "control items")
    asked = f"The study has {there}; the plan asks for {figures.controls_wanted}."
    return [*([asked] if figures.controls_wanted else []), *figures.verdicts]


def _money(currency: str, amount: float | None) -> str:
    return "not decided" if amount is None else f"{amount:.2f} {currency}"
