"""Rules for USE: whole variants of the exam, 30 items and 34 points each."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from merilo.datasets.validation.folder import Contents, LocatedItem
from merilo.datasets.validation.report import ValidationReport
from merilo.items import Item

#: The tasks of a variant; task 8 is five questions.
TASKS: Final = (
    *map(str, range(1, 8)),
    *(f"8_{number}" for number in range(5)),
    *map(str, range(9, 27)),
)

#: Points of a variant, and of the tasks that give more than one.
POINTS: Final = 34
_SCORES: Final = {"16": 2, "26": 4}

_TEXT_TASKS: Final = frozenset({"2", "4", "5", "6", "7", "13", "14", "24"})
_CHOICE_TYPES: Final = (
    "multiple_choice_based_on_text",
    "multiple_choice_options_within_text",
    "multiple_choice_independent_options",
)

#: Splits with complete variants; the train split's are incomplete. The hub calls the dev split `validation`.
_WHOLE: Final = ("test", "dev", "validation")


def check_use(contents: Contents, report: ValidationReport) -> None:
    """Check each item, and each variant of the splits with complete variants."""
    variants: dict[tuple[str, object], list[LocatedItem]] = {}
    for place in contents.places:
        for key, fault in _item_faults(place.item):
            report.wrong(place.file, f"{place.path}.{key}", fault)
        if place.split in _WHOLE and (number := place.item.meta.get("variant")) is not None:
            variants.setdefault((place.split, str(number)), []).append(place)
    for (_, variant), places in variants.items():
        for fault in _variant_faults([place.item for place in places]):
            where = places[0].path.split("[")[0]
            report.wrong(places[0].file, where, f"variant {variant} {fault}")


def type_fault(task: str, kind: object) -> str | None:
    """Return what is wrong with the type of a task's item."""
    wanted = ("text",) if task in _TEXT_TASKS else ("matching",) if task == "26" else _CHOICE_TYPES
    return None if kind in wanted else f"must be {' or '.join(wanted)} in task {task}"


def _item_faults(item: Item) -> Iterator[tuple[str, str]]:
    task, variant, score = (item.meta.get(key) for key in ("id_task", "variant", "score"))
    if not isinstance(variant, int) or isinstance(variant, bool):
        yield "meta.variant", "must be the number of the variant"
    if not isinstance(task, str) or task not in TASKS:
        yield "meta.id_task", "must be a text: 1 to 7, 8_0 to 8_4, 9 to 26"
        return
    if fault := type_fault(task, item.meta.get("type")):
        yield "meta.type", fault
    if score != (points := _SCORES.get(task, 1)) or isinstance(score, bool):
        yield "meta.score", f"must be {points} in task {task}"
    if isinstance(item.outputs, str) and (fault := _gold_fault(task, item.outputs)):
        yield "outputs", fault


def _gold_fault(task: str, gold: str) -> str | None:
    if task in _TEXT_TASKS:
        fine = (
            re.fullmatch(r"[^\W\d_]+(?:-[^\W\d_]+)*(,[^\W\d_]+(?:-[^\W\d_]+)*)*", gold)
            and gold == gold.lower()
        )
        return (
            None if fine else "must be lower-case words without spaces, with alternatives separated by commas"
        )
    if not re.fullmatch(r"[0-9]+(,[0-9]+)*", gold):
        return "must be numbers separated by commas without spaces"
    if task == "26" and gold.count(",") != 3:
        return "must be four numbers in task 26"
    if task == "16" and len(set(gold.split(","))) < 2:
        # With a single gold number, any other number would count as one error and earn a point.
        return "must be at least two numbers in task 16"
    return None


def _variant_faults(items: list[Item]) -> Iterator[str]:
    tasks = [str(item.meta.get("id_task")) for item in items]
    if len(items) != len(TASKS):
        yield f"has {len(items)} items, not {len(TASKS)}"
    if missing := [task for task in TASKS if task not in tasks]:
        yield f"lacks task {', '.join(missing)}"
    if twice := [task for task in TASKS if tasks.count(task) > 1]:
        yield f"has task {', '.join(twice)} more than once"
    scores = [score for item in items if isinstance(score := item.meta.get("score"), int)]
    if sum(scores) != POINTS:
        yield f"gives {sum(scores)} points, not {POINTS}"
