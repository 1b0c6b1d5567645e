"""Write `study.yaml`: every value of a plan, with comments that say what may be edited."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Final

import yaml

from merilo.settings import AdaptiveOverlap
from merilo.studies.checklist_questions import AUTHOR_QUESTIONS
from merilo.studies.plan_types import Arm, ControlsPlan, Study, TrainingPlan

_HEAD: Final = """\
# Plan of a human baseline. Edit what you like, then check it:
#   merilo study validate {folder}
# and before the first answer is collected, record it with its date and hash:
#   merilo study freeze {folder}
# Explanation of every key: docs/studies.md
"""

#: Key of an arm -> what it decides.
_ARM_KEYS: Final = {
    "kind": "basic: any adults; untrained: any adults on an expert test; expert",
    "overlap": "answers to every item",
    "adaptive": "null: as many answers to every item; or {start: 3, limit: 5, fixed_share: 0.1}, for studies on Merilo's own site",
    "items_per_page": "tasks on a page, control items included",
    "items_per_person": "test items that one person answers, on average",
    "items_per_hour": "tasks in an hour; 30 unless you have measured it",
    "people": "number of annotators; null: enough for items_per_person",
    "pay": "null while it is not decided",
    "time_limit": "seconds for a task; null: no limit",
    "skip_own": "whether annotators skip items that they may have written",
    "domain": "field of the items with the domain, for experts of domains; null: everybody gets all items",
}


def plan_text(plan: Study, *, folder: str, notes: Mapping[str, Sequence[str]]) -> str:
    """Write a plan as YAML with comments; `read_plan` gives the same plan.

    Args:
        plan: the plan.
        folder: the study's folder, for the comment at the top.
        notes: top-level key -> comments to put above it.
    """
    parts = [_HEAD.format(folder=folder)]

    def section(key: str, body: str) -> None:
        comments = "".join(f"# {line}\n" for line in notes.get(key, ()))
        parts.append(f"{comments}{body.rstrip()}\n")

    section("study", f"study: {_value(plan.study)}")
    section(
        "dataset",
        f"dataset: {_value(plan.dataset)}    # a name of 'merilo datasets list', or the file of a declaration",
    )
    section("languages", f"languages: {_value(list(plan.languages))}")
    section("seed", f"seed: {plan.seed}")
    source = plan.source
    section(
        "source",
        f"source:\n  file: {_value(source.file)}\n  sha256: {_value(source.sha256)}\n  split: {_value(source.split)}",
    )
    section("arms", "arms:\n" + "".join(_arm(name, arm) for name, arm in plan.arms.items()))
    rules = "".join(f"  - ru: {_value(rule.ru)}\n    en: {_value(rule.en)}\n" for rule in plan.restrictions)
    section(
        "restrictions",
        f"# Rules for annotators; the instruction must contain them.\nrestrictions:{_body(rules)}",
    )
    section("subset", _subset(plan))
    section("controls", _controls(plan.controls))
    section("training", _training(plan.training))
    files = "".join(f"  {name}: {_value(file)}\n" for name, file in plan.instruction.items())
    section("instruction", f"instruction:\n{files}")
    section("assumptions", _assumptions(plan))
    section("baseline", _baseline(plan))
    section("checklist", _checklist(plan))
    section("publication", _publication(plan))
    return "\n".join(parts)


def _value(value: object) -> str:
    """One YAML value on one line."""
    text = yaml.safe_dump(value, allow_unicode=True, width=10**9, default_flow_style=True, sort_keys=False)
    return text.removesuffix("...\n").strip()


def _body(lines: str) -> str:
    return f"\n{lines}" if lines else " []"


def _arm(name: str, arm: Arm) -> str:
    lines = [f"  {_value(name)}:"]
    for key, meaning in _ARM_KEYS.items():
        value = getattr(arm, key)
        if key == "pay":
            value = {
                "per_page": arm.pay.per_page,
                "currency": arm.pay.currency,
                "commission": arm.pay.commission,
            }
        elif isinstance(value, AdaptiveOverlap):
            value = {"start": value.start, "limit": value.limit, "fixed_share": value.fixed_share}
        text = _value(value)
        lines.append(f"    {f'{key}: {text}':<36}  # {meaning}")
    return "\n".join(lines) + "\n"


def _subset(plan: Study) -> str:
    subset = plan.subset
    lines = [
        "# Which items are asked. The draw is made by 'merilo study create'; to draw again, create the study again.",
        "subset:",
        f"  all: {_value(subset.all)}",
        f"  size: {subset.size}",
        f"  of: {subset.of}",
        f"  fields: {_value(list(subset.fields))}    # kept fields: subset.csv and subset.svg show each before and after",
        f"  method: {subset.method}",
    ]
    if subset.per_domain is not None:
        lines.append(f"  per_domain: {subset.per_domain}")
    return "\n".join(lines)


def _controls(section: ControlsPlan | None) -> str:
    if section is None:
        return "# Items with known answers, placed among the items to check annotators; null: none.\ncontrols: null"
    return "\n".join(
        [
            "# Items with known answers, placed among the items to check annotators; null: none.",
            "controls:",
            f"  file: {_value(section.file)}",
            f"  share: {_value(section.share)}",
            f"  every: {section.every}            # one task in so many is a control item, at regular intervals, never twice to one person",
            f"  min_accuracy: {_value(section.min_accuracy)}    # annotators below it are excluded",
        ]
    )


def _training(section: TrainingPlan | None) -> str:
    comment = "# Items answered first, with feedback: {file: training.jsonl, threshold: 0.8, feedback: true}, or null.\n"
    if section is None:
        return f"{comment}training: null"
    return (
        f"{comment}training:\n  file: {_value(section.file)}\n  threshold: {_value(section.threshold)}\n"
        f"  feedback: {_value(section.feedback)}"
    )


def _assumptions(plan: Study) -> str:
    assumed = plan.assumptions
    return "\n".join(
        [
            "# The assumptions of the computed plan; see 'merilo power'.",
            "assumptions:",
            f"  expected: {_value(assumed.expected)}    # accuracy of the consensus",
            f"  spread: {_value(assumed.spread)}      # standard deviation of accuracy between annotators",
            f"  skilled: {_value(assumed.skilled)}    # accuracy on control items of annotators who should be kept",
            f"  level: {_value(assumed.level)}      # nominal coverage of intervals",
            f"  power: {_value(assumed.power)}       # probability of detecting a difference",
        ]
    )


def _baseline(plan: Study) -> str:
    chosen = plan.baseline
    lines = [
        "# Settings of the baseline, decided before answers are seen; as 'merilo baseline' takes them.",
        "baseline:",
    ]
    for name, value in asdict(chosen).items():
        lines.append(f"  {name}: {_value(list(value) if isinstance(value, tuple) else value)}")
    return "\n".join(lines)


def _checklist(plan: Study) -> str:
    lines = [
        "# Answers that only you can give for the reporting checklist of Wei et al. (2025), by its numbers.",
        "# Leave empty what you do not know: it is reported as not answered. These may be filled in after the freeze.",
        "checklist:",
    ]
    for number in dict.fromkeys([*AUTHOR_QUESTIONS, *plan.checklist]):
        question = AUTHOR_QUESTIONS.get(number)
        comment = f"    # {question}" if question else ""
        lines.append(f'  "{number}": {_text(plan.checklist.get(number, ""))}{comment}')
    return "\n".join(lines)


_PUBLISHED: Final = {
    "paper": "link to the paper",
    "data": "link to the anonymised answers",
    "code": "link to the analysis code",
    "registration": "link to the registered plan",
    "contact": "whom to write",
}


def _publication(plan: Study) -> str:
    lines = ["# What is published, and where. These may be filled in after the freeze.", "publication:"]
    for name in dict.fromkeys([*_PUBLISHED, *plan.publication]):
        comment = f"    # {_PUBLISHED[name]}" if name in _PUBLISHED else ""
        lines.append(f"  {_value(name)}: {_text(plan.publication.get(name) or '')}{comment}")
    return "\n".join(lines)


def _text(text: str) -> str:
    return _value(text) if text else '""'
