"""Rules for items: ids, fields, answers, shots that do not repeat the test; and for USE, whole variants of the exam."""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from merilo.datasets.declaration import Dataset
from merilo.datasets.program_literals import program_golds, program_tests
from merilo.datasets.validation.folder import Contents, LocatedItem
from merilo.datasets.validation.media import media_fault, media_paths
from merilo.datasets.validation.report import ValidationReport
from merilo.errors import DataError
from merilo.items import Item
from merilo.strict_json import Json

_SHOWN_IDS: Final = 10


def check_ids(contents: Contents, report: ValidationReport) -> None:
    """Check that no two ids are written alike.

    In the benchmark they must also count from 1 over the test and the shots.
    """
    seen: dict[str, LocatedItem] = {}
    strict = contents.for_benchmark
    for place in contents.places:
        number, where = place.item.id, f"{place.path}.meta.id"
        if (first := seen.get(str(number))) is not None:
            report.wrong(place.file, where, f"{number} is also the id of {first.file}, {first.path}")
        elif strict and not isinstance(number, int) and "id" in place.item.meta:
            report.wrong(place.file, where, f"must be a whole number, not {number!r}")
        seen.setdefault(str(number), place)
    numbers = {place.item.id: place for place in seen.values() if isinstance(place.item.id, int)}
    wanted = set(range(1, len(numbers) + 1))
    # Without the test, shots do not start at 1, because the test has the first ids.
    if strict and (extra := numbers.keys() - wanted) and "test" in contents.splits():
        first = numbers[min(extra)]
        report.wrong(
            first.file,
            f"{first.path}.meta.id",
            f"ids must run from 1 to {len(numbers)} through the test and the shots together:"
            f" {_some(wanted - numbers.keys())} {'is' if len(extra) == 1 else 'are'} missing,"
            f" {_some(extra)} {'occurs' if len(extra) == 1 else 'occur'} instead",
        )


def _some(numbers: set[int]) -> str:
    shown = ", ".join(map(str, sorted(numbers)[:_SHOWN_IDS]))
    return shown + (f" and {len(numbers) - _SHOWN_IDS} more" if len(numbers) > _SHOWN_IDS else "")


def check_fields(contents: Contents, report: ValidationReport) -> None:
    """Check that all items have the same fields; for a known dataset, the declared fields."""
    shapes = Counter(_shape(place.item) for place in contents.places)
    if not shapes:
        return
    declared = contents.declared
    usual = shapes.most_common(1)[0][0] if declared is None else (frozenset(declared.fields) or None)
    for place in contents.places:
        shape = _shape(place.item)
        if shape != usual:
            report.wrong(
                place.file, f"{place.path}.inputs", f"must be {_named(usual)}, but is {_named(shape)}"
            )


def _shape(item: Item) -> frozenset[str] | None:
    return None if isinstance(item.inputs, str) else frozenset(item.inputs)


def _named(shape: frozenset[str] | None) -> str:
    return "a text" if shape is None else f"an object with {', '.join(sorted(shape)) or 'no fields'}"


def check_shots(contents: Contents, report: ValidationReport) -> None:
    """Check that shots repeat no question and no medium of the test."""
    test = [place for place in contents.places if place.split == "test"]
    questions = {_question(place.item): place for place in test}
    media = _TestMedia(test, contents)
    for place in contents.places:
        if place.split == "test":
            continue
        if (same := questions.get(_question(place.item))) is not None:
            report.wrong(
                place.file, f"{place.path}.inputs", f"repeats the question of {same.file}, {same.path}"
            )
        for field, path in media_paths(place.item, contents).items():
            if (same := media.place_of(path)) is not None:
                report.wrong(
                    place.file,
                    f"{place.path}.inputs.{field}",
                    f"repeats a medium of {same.file}, {same.path}",
                )


def _question(item: Item) -> str:
    """Return the question in one letter case and with normalised white space."""
    text = (
        item.inputs
        if isinstance(item.inputs, str)
        else json.dumps(item.inputs, ensure_ascii=False, sort_keys=True)
    )
    return re.sub(r"\s+", " ", text).strip().casefold()


class _TestMedia:
    """Index of the test's media by path and by bytes: a copy under another name is the same medium.

    Bytes that several media of the test share are ignored, because they identify no single medium.
    """

    def __init__(self, test: Sequence[LocatedItem], contents: Contents) -> None:
        self._root = contents.root
        self._by_path: dict[str, LocatedItem] = {}
        for place in test:
            for path in media_paths(place.item, contents).values():
                self._by_path.setdefault(path, place)
        digests = {path: self._digest(path) for path in self._by_path}
        shared = Counter(digests.values())
        self._by_digest = {
            digest: self._by_path[path] for path, digest in digests.items() if shared[digest] == 1
        }

    def place_of(self, path: str) -> LocatedItem | None:
        """Return the place in the test of the medium at a path."""
        if (place := self._by_path.get(path)) is not None or not self._by_path:
            return place
        digest = self._digest(path)
        return None if digest is None else self._by_digest.get(digest)

    def _digest(self, path: str) -> str | None:
        """Return the digest of a medium; `None` if it cannot be read, which the rules for media report."""
        if media_fault(path, self._root) is not None:
            return None
        with (self._root / path).open("rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()


def check_answers(contents: Contents, report: ValidationReport) -> None:
    """Check that gold answers are of the kind that the dataset declares."""
    declared = contents.declared
    if declared is None:
        return
    for place in contents.places:
        if place.item.outputs is not None and (fault := _answer_fault(place.item, declared)):
            report.wrong(place.file, f"{place.path}.outputs", fault)
        if declared.answer.kind == "program":
            _check_program(place, report)


def _answer_fault(item: Item, declared: Dataset) -> str | None:
    answer, gold = declared.answer, item.outputs
    if answer.kind == "criteria":
        return _criteria_fault(gold, answer.criteria, answer.labels)
    if answer.kind == "program":
        return None if isinstance(gold, list | str) else "must be a list of results, one per test"
    if not isinstance(gold, str):
        return "must be a text"
    if answer.kind == "choice" and gold not in answer.labels:
        return f"must be one of {', '.join(answer.labels)}, not '{gold[:30]}'"
    if answer.kind == "integer" and not re.fullmatch(r"-?[0-9]+", gold):
        return f"must be a whole number, not '{gold[:30]}'"
    return None


def _criteria_fault(gold: Json, criteria: Sequence[str], labels: Sequence[str]) -> str | None:
    if not isinstance(gold, Mapping) or set(gold) != set(criteria):
        return f"must be an object with {', '.join(criteria)}"
    wrong = [name for name in criteria if gold[name] not in labels]
    return f"{wrong[0]} must be one of {', '.join(labels)}" if wrong else None


def _check_program(place: LocatedItem, report: ValidationReport) -> None:
    try:
        tests = program_tests(place.item)
        golds = None if place.item.outputs is None else program_golds(place.item)
    except DataError as error:
        report.wrong(place.file, f"{place.path}.{error.place.field}", error.message)
        return
    if golds is not None and len(golds) != len(tests):
        report.wrong(place.file, f"{place.path}.outputs", f"has {len(golds)} results for {len(tests)} tests")


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
