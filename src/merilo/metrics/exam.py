"""The state exam in Russian (USE): points by the exam's rules, and the variants that count."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Final, NamedTuple
from unicodedata import normalize

from merilo.errors import DataError
from merilo.items import Item
from merilo.metrics.answers import Answer, Given

#: A complete variant: part 1 of the exam of 2019.
VARIANT_ITEMS: Final = 30
VARIANT_POINTS: Final = 34

#: The tasks of a complete variant, in their order.
TASKS: Final = (*map(str, range(1, 8)), *(f"8_{part}" for part in range(5)), *map(str, range(9, 27)))

#: The task in which an answer with one wrong number still earns a point.
_LENIENT_TASK: Final = "16"
#: Russian letters typed as a letter and a mark, and as one. A list, because Unicode normalisation takes quadratic time
#: on a long run of combining marks.
_COMPOSED: Final = tuple(
    (two, normalize("NFC", two))
    for two in (
        "\N{CYRILLIC SMALL LETTER I}\N{COMBINING BREVE}",
        "\N{CYRILLIC CAPITAL LETTER I}\N{COMBINING BREVE}",
        "\N{CYRILLIC SMALL LETTER IE}\N{COMBINING DIAERESIS}",
        "\N{CYRILLIC CAPITAL LETTER IE}\N{COMBINING DIAERESIS}",
    )
)


class Question(NamedTuple):
    """The properties of an exam item that the rules use.

    Attributes:
        task: the number of the task in the variant: "1" .. "26", "8_0" .. "8_4".
        variant: the variant to which the item belongs.
        most: the points for a correct answer, `meta.score`.
        kind: "text", "matching", or "multiple_choice" with or without its subtype.
        gold: the gold answer: words or numbers separated by commas.
    """

    task: str
    variant: str
    most: int
    kind: str
    gold: str


def question(item: Item) -> Question:
    """Return what the rules use of an item.

    Raises:
        DataError: its meta lacks id_task, variant, score or type.
    """
    task, variant, most, kind = (item.meta.get(key) for key in ("id_task", "variant", "score", "type"))
    if not (
        isinstance(task, str | int) and isinstance(variant, str | int) and isinstance(most, int) and most > 0
    ):
        raise DataError(
            f"item {item.id!r} needs id_task, variant and score in its meta to be scored as an exam"
        )
    if kind not in {"text", "matching"} and not str(kind).startswith("multiple_choice"):
        raise DataError(f"item {item.id!r}: the exam has no tasks of type '{kind}'")
    return Question(str(task), str(variant), most, str(kind), str(item.outputs or ""))


def most(item: Item) -> float:
    """Return the points of a correct answer to an item."""
    return float(question(item).most)


def points(_: Answer, item: Item, answer: Given) -> float:
    """Return the points of an answer, see `points_of`; an unanswered question has the answer ""."""
    return points_of(question(item), str(answer))


def points_of(item: Question, answer: str) -> float:
    """Return the points that an answer earns.

    - text: 1 if the answer's letters, lower-case, are those of one of the gold's comma-separated alternatives.
      The Russian letters io and ie are different: an answer that may be written with either needs both among the
      alternatives.
    - multiple_choice: 1 if the set of comma-separated numbers is the gold's.
    - task 16: 2 for the gold's set; 1 if one number is wrong, or one is missing, or one is too many; else 0. The rule
      assumes a gold answer of at least two numbers, as in the exam: with a gold answer of one number, any other
      single number would count as "one wrong". Validation of the dataset rejects such a gold answer.
    - matching (task 26): 1 for each position that agrees with the gold, if there are as many numbers as in the gold;
      else 0. With a shorter or longer answer it is unknown which position is missing or added, so positions cannot be
      compared: "8,1,9" for the gold answer "8,1,9,7" earns 0, not 3.

    An answer of white space earns 0. Numbers are compared as text: " 3" differs from "3".

    References:
        The grading system in the dataset's description, sections "Grading System" and "Data Fields".

    Example:
        >>> matching = Question("26", "29", 4, "matching", "8,1,9,7")
        >>> points_of(matching, "8,1,9,7"), points_of(matching, "8,9,1,7"), points_of(matching, "8,1,9")
        (4.0, 2.0, 0.0)
    """
    if not answer.strip():
        return 0.0
    if item.kind == "text":
        return float(bool(letters(answer)) and letters(answer) in map(letters, item.gold.split(",")))
    if item.kind == "matching":
        numbers, true = answer.split(","), item.gold.split(",")
        return float(sum(map(str.__eq__, numbers, true))) if len(numbers) == len(true) else 0.0
    chosen, right = set(answer.split(",")), set(item.gold.split(","))
    if item.task != _LENIENT_TASK:
        return float(chosen == right)
    return 2.0 if chosen == right else float(len(right - chosen) <= 1 and len(chosen - right) <= 1)


def letters(text: str) -> str:
    """Reduce a text to its letters, in lower case.

    The Russian letters short i and io are kept, whether typed as one character or two, and differ from i and ie; a
    stress mark is dropped.

    Example:
        >>> letters("All-in, 2 times!")
        'allintimes'
    """
    for two, composed in _COMPOSED:
        text = text.replace(two, composed)
    return "".join(filter(str.isalpha, text)).lower()


def complete_rows(items: Sequence[Item]) -> list[int]:
    """Return the places of the items of complete variants: 30 items worth 34 points, with no task twice."""
    questions = [question(item) for item in items]
    variants: dict[str, list[Question]] = defaultdict(list)
    for member in questions:
        variants[member.variant].append(member)
    complete = {
        variant
        for variant, members in variants.items()
        if len(members) == len({member.task for member in members}) == VARIANT_ITEMS
        and sum(member.most for member in members) == VARIANT_POINTS
    }
    return [row for row, asked in enumerate(questions) if asked.variant in complete]


def incomplete_variants(items: Sequence[Item]) -> dict[str, list[str]]:
    """Map each incomplete variant to the tasks that it lacks.

    A variant that lacks no task is still incomplete if it has a task twice, an unknown task, or a wrong total
    of points.

    Example:
        >>> meta = {"variant": 7, "score": 1, "type": "text"}
        >>> incomplete_variants([Item(n, "", "", "a", {**meta, "id_task": task}) for n, task in enumerate(TASKS[:-2])])
        {'7': ['25', '26']}
    """
    complete = set(complete_rows(items))
    tasks: dict[str, set[str]] = defaultdict(set)
    for row, item in enumerate(items):
        if row not in complete:
            tasks[question(item).variant].add(question(item).task)
    return {variant: [task for task in TASKS if task not in there] for variant, there in tasks.items()}


def lacking(items: Sequence[Item], answers: Sequence[Given]) -> str | None:
    """Say which tasks the first variants lack, if no answer belongs to a complete variant."""
    if answers:
        return None
    reason = f"no complete variant ({VARIANT_ITEMS} items, {VARIANT_POINTS} points) was answered"
    short = {variant: tasks for variant, tasks in incomplete_variants(items).items() if tasks}
    parts = [f"variant {name} lacks tasks {', '.join(tasks)}" for name, tasks in [*short.items()][:3]]
    more = [f"and {len(short) - 3} more variants lack tasks"] if len(short) > 3 else []
    return "; ".join([reason, *parts, *more])


def steps(_: Answer, item: Item, answer: Given) -> list[str]:
    """Explain how the exam's rules judge one answer."""
    asked, text = question(item), str(answer)
    if not text.strip():
        return ["no answer: 0 points"]
    rule = "rule of task 16" if asked.task == _LENIENT_TASK else f"rule of type {asked.kind}"
    if asked.kind == "text":
        shapes = ", ".join(repr(letters(part)) for part in asked.gold.split(","))
        return [
            f"{rule}: answer {text!r}, reduced to lower-case letters: {letters(text)!r}",
            f"gold alternatives, reduced in the same way: {shapes}",
        ]
    numbers, true = text.split(","), asked.gold.split(",")
    if asked.kind != "matching":
        chosen, right = set(numbers), set(true)
        return [
            f"{rule}: chosen {sorted(chosen)}, gold {sorted(right)}, in any order",
            f"missing: {sorted(right - chosen) or 'none'}; wrong or extra: {sorted(chosen - right) or 'none'}",
        ]
    if len(numbers) != len(true):
        return [f"{rule}: {len(numbers)} numbers were given, {len(true)} were expected"]
    return [
        f"{rule}, position {place}: {number!r}, gold {other!r}: {'agrees' if number == other else 'differs'}"
        for place, (number, other) in enumerate(zip(numbers, true, strict=True), start=1)
    ]
