"""The computed plan as a page in Markdown."""

from __future__ import annotations

from collections.abc import Sequence

from merilo.errors import for_command_line
from merilo.studies.plan_figures import ArmFigures, PlanFigures
from merilo.studies.plan_types import Arm, Study


def plan_page(plan: Study, figures: PlanFigures, warnings: Sequence[str]) -> str:
    """Write the computed plan as Markdown."""
    lines = [f"# Plan of the study {plan.study}", ""]
    whole = f"all {figures.items} items" if plan.subset.all else f"{figures.items} of the {figures.of} items"
    lines += [f"Annotators answer {whole} of {plan.dataset}. The seed of every draw is {plan.seed}.", ""]
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
    arms = figures.arms
    rows: list[tuple[str, list[str]]] = [
        ("audience", [str(plan.arms[name].kind) for name in arms]),
        ("overlap", [_overlap(plan.arms[name]) for name in arms]),
        (
            "answers to items",
            [_of_range(arm.answers, arm.least_answers, arm.most_answers) for arm in arms.values()],
        ),
        ("answers to control items", [str(arm.control_answers) for arm in arms.values()]),
        ("pages", [str(arm.pages) for arm in arms.values()]),
        ("annotators", [str(arm.people) for arm in arms.values()]),
        ("tasks per annotator", [f"{arm.tasks_per_person:.1f}" for arm in arms.values()]),
        ("hours", [f"{arm.hours:.1f}" for arm in arms.values()]),
        ("hours per annotator", [f"{arm.hours_per_person:.1f}" for arm in arms.values()]),
        ("pay", [_pay(arm) for arm in arms.values()]),
        ("hourly pay", [_money(arm.hourly_pay, arm.currency) for arm in arms.values()]),
    ]
    if figures.precision:
        found = [figures.precision.get(name) for name in arms]
        rows.append((f"expected interval of {figures.metric}", [f"{one.expected:g} ± {one.half_width:.3f}" if one else "—" for one in found]))  # fmt: skip
        rows.append(("detectable difference from a model", [f"{one.detectable:.3f}" if one and one.detectable else "—" for one in found]))  # fmt: skip
        rows.append(("equality can be shown within", [f"± {one.equivalence_margin:.3f}" if one else "—" for one in found]))  # fmt: skip
    return rows


def plan_sentences(figures: PlanFigures) -> list[str]:
    """Return sentences on the number of control items and on the margin."""
    found = []
    checked = figures.controls
    if checked is not None:
        unit = "control item" if checked.there == 1 else "control items"
        share = f"The study has {checked.there} {unit}; the plan asks for {checked.by_share}."
        needed = (
            f" The power computation asks for {checked.per_person} control answers per annotator."
            if checked.per_person is not None
            else ""
        )
        found.append(share + needed)
    for name, one in figures.precision.items():
        enough = one.margin >= one.equivalence_margin
        found.append(
            f"{name}: with the margin {one.margin:g}, equality with a model {'can' if enough else 'cannot'} be expected to be "
            f"shown; the smallest margin for it is {one.equivalence_margin:.3f}."
        )
    return found


def _overlap(arm: Arm) -> str:
    if arm.adaptive is None:
        return str(arm.overlap)
    return f"{arm.adaptive.start} to {arm.adaptive.limit}, adaptive"


def _of_range(expected: int, least: int, most: int) -> str:
    return str(expected) if least == most else f"{expected} ({least} to {most})"


def _pay(arm: ArmFigures) -> str:
    if arm.pay is None or arm.least_pay is None or arm.most_pay is None or arm.least_pay == arm.most_pay:
        return _money(arm.pay, arm.currency)
    return f"{arm.pay:.2f} ({arm.least_pay:.2f} to {arm.most_pay:.2f}) {arm.currency}"


def _money(amount: float | None, currency: str) -> str:
    return "not decided" if amount is None else f"{amount:.2f} {currency}"
