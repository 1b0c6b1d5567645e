"""The state exam in Russian (USE): points by the exam's rules, and their share of the maximum."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final
from unicodedata import normalize

from merilo.items import ItemId
from merilo.metrics.score import Judgement, Score
from merilo.statistics.intervals import mean_interval

#: A complete variant: part 1 of the exam of 2019.
VARIANT_ITEMS: Final = 30
VARIANT_POINTS: Final = 34

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


@dataclass(frozen=True, slots=True)
class ExamItem:
    """The properties of an item that the rules use.

    Attributes:
        id: the item's id.
        task: the number of the task in the variant: "1" .. "26", "8_0" .. "8_4".
        variant: the variant to which the item belongs.
        most: the points for a correct answer, `meta.score`.
        kind: "text", "matching", or "multiple_choice" with or without its subtype.
        gold: the gold answer: words or numbers separated by commas.

    Raises:
        ValueError: the kind is none of these.
    """

    id: ItemId
    task: str
    variant: int | str
    most: int
    kind: str
    gold: str

    def __post_init__(self) -> None:
        if self.kind not in {"text", "matching"} and not self.kind.startswith("multiple_choice"):
            raise ValueError(f"the exam has no tasks of type '{self.kind}'")


def points(item: ExamItem, answer: str | None) -> int:
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

    A missing answer and an answer of white space earn 0. Numbers are compared as text: " 3" differs from "3".

    Args:
        item: the item.
        answer: the answer; `None` if there is none.

    References:
        The grading system in the dataset's description, sections "Grading System" and "Data Fields".

    Example:
        >>> matching = ExamItem(899, "26", 29, 4, "matching", "8,1,9,7")
        >>> points(matching, "8,1,9,7"), points(matching, "8,9,1,7"), points(matching, "8,1,9")
        (4, 2, 0)
    """
    if answer is None or not answer.strip():
        return 0
    if item.kind == "text":
        return int(bool(letters(answer)) and letters(answer) in map(letters, item.gold.split(",")))
    if item.kind == "matching":
        given, true = answer.split(","), item.gold.split(",")
        return sum(map(str.__eq__, given, true)) if len(given) == len(true) else 0
    chosen, right = set(answer.split(",")), set(item.gold.split(","))
    if item.task != _LENIENT_TASK:
        return int(chosen == right)
    if chosen == right:
        return 2
    return int(len(right - chosen) <= 1 and len(chosen - right) <= 1)


def letters(text: str) -> str:
    """Reduce a text to its letters, in lower case.

    The Russian letters short i and io are kept, whether typed as one character or two, and differ from i and ie; a
    stress mark is dropped.

    Example:
        >>> letters("All-in, 2 times!")
        'allintimes'
    """
    for two, one in _COMPOSED:
        text = text.replace(two, one)
    return "".join(filter(str.isalpha, text)).lower()


def complete_variants(items: Iterable[ExamItem]) -> dict[int | str, list[ExamItem]]:
    """Return the complete variants: 30 items worth 34 points in total, with no task twice. Others are left out."""
    variants: dict[int | str, list[ExamItem]] = defaultdict(list)
    for item in items:
        variants[item.variant].append(item)
    return {
        variant: members
        for variant, members in variants.items()
        if len(members) == len({item.task for item in members}) == VARIANT_ITEMS
        and sum(item.most for item in members) == VARIANT_POINTS
    }


def grade_norm(items: Sequence[ExamItem], answers: Mapping[ItemId, str], *, seed: int = 0) -> Score:
    """Compute the mean over complete variants of the share of points earned.

        grade_norm = mean over variants of (sum of points / 34)

    A question left blank earns 0, as in the exam; a variant without any answer does not count.
    The interval is a bootstrap over variants (`bootstrap_interval`): a single variant has none.

    Args:
        items: all items of the test: completeness of a variant depends on the test, not on the answers.
        answers: item id -> answer.
        seed: random seed for the bootstrap.

    Returns:
        The score; `n` counts items, `per_item` the points of each (0 .. 4). Without a complete variant, value and n
        are 0.

    Example:
        >>> grade_norm([], {}).n
        0
    """
    sat = _sat(items, answers)
    earned = {item.id: float(points(item, answers.get(item.id))) for members in sat for item in members}
    shares = [sum(earned[item.id] for item in members) / VARIANT_POINTS for members in sat]
    value = sum(shares) / len(shares) if shares else 0.0
    interval = mean_interval(shares, seed=seed, over="variants") if len(shares) > 1 else None
    return Score("grade_norm", value, len(earned), interval, earned)


def task_grades(items: Sequence[ExamItem], answers: Mapping[ItemId, str], *, seed: int = 0) -> list[Score]:
    """Compute `grade_norm.task{id_task}` for every task: the mean share of its points over complete variants.

    The arguments are those of `grade_norm`. The scores are in the order of the tasks: 1, .. 7, 8_0, .. 8_4, 9, .. 26.

    Example:
        >>> task_grades([], {})
        []
    """
    by_task: dict[str, list[ExamItem]] = defaultdict(list)
    for members in _sat(items, answers):
        for item in members:
            by_task[item.task].append(item)
    scores = []
    for task in sorted(by_task, key=_task_order):
        shares = {item.id: points(item, answers.get(item.id)) / item.most for item in by_task[task]}
        value = sum(shares.values()) / len(shares)
        interval = mean_interval(list(shares.values()), seed=seed, over="variants")
        scores.append(Score(f"grade_norm.task{task}", value, len(shares), interval, shares))
    return scores


def task_names(items: Iterable[ExamItem]) -> list[str]:
    """Return the names of the scores that `task_grades` gives if every complete variant has an answer."""
    tasks = {item.task for members in complete_variants(items).values() for item in members}
    return [f"grade_norm.task{task}" for task in sorted(tasks, key=_task_order)]


def judge(item: ExamItem, answer: str | None) -> Judgement:
    """Explain how the exam's rules judge one answer.

    Example:
        >>> judge(ExamItem(1, "16", 1, 2, "multiple_choice", "1,2,4"), "1,2").points
        1.0
    """
    earned = points(item, answer)
    if answer is None or not answer.strip():
        steps = ["no answer: 0 points"]
    elif item.kind == "text":
        shapes = ", ".join(repr(letters(text)) for text in item.gold.split(","))
        steps = [
            f"answer {answer!r}, reduced to lower-case letters: {letters(answer)!r}",
            f"gold alternatives, reduced in the same way: {shapes}",
        ]
    elif item.kind == "matching":
        steps = _matching_steps(answer, item.gold)
    else:
        steps = _choice_steps(item, answer)
    rule = "rule of task 16" if item.task == _LENIENT_TASK else f"rule of type {item.kind}"
    steps.append(f"{rule}: {earned} of {item.most}")
    return Judgement("grade_norm", float(earned), float(item.most), tuple(steps))


def _matching_steps(answer: str, gold: str) -> list[str]:
    given, true = answer.split(","), gold.split(",")
    if len(given) != len(true):
        return [f"{len(given)} numbers were given, {len(true)} were expected"]
    return [
        f"position {place}: {one!r}, gold {other!r}: {'agrees' if one == other else 'differs'}"
        for place, (one, other) in enumerate(zip(given, true, strict=True), start=1)
    ]


def _choice_steps(item: ExamItem, answer: str) -> list[str]:
    chosen, right = set(answer.split(",")), set(item.gold.split(","))
    return [
        f"chosen {sorted(chosen)}, gold {sorted(right)}, in any order",
        f"missing: {sorted(right - chosen) or 'none'}; wrong or extra: {sorted(chosen - right) or 'none'}",
    ]


#: The tasks of a complete variant, in their order.
TASKS: Final = (*map(str, range(1, 8)), *(f"8_{part}" for part in range(5)), *map(str, range(9, 27)))


def incomplete_variants(items: Iterable[ExamItem]) -> dict[int | str, list[str]]:
    """Map each incomplete variant (see `complete_variants`) to the tasks that it lacks.

    A variant that lacks no task is still incomplete if it has a task twice, an unknown task, or a wrong total
    of points.

    Example:
        >>> first = [ExamItem(n, task, 7, 1, "text", "a") for n, task in enumerate(TASKS[:-2])]
        >>> incomplete_variants(first)
        {7: ['25', '26']}
    """
    found = list(items)
    complete = complete_variants(found)
    tasks: dict[int | str, set[str]] = defaultdict(set)
    for item in found:
        if item.variant not in complete:
            tasks[item.variant].add(item.task)
    return {variant: [task for task in TASKS if task not in there] for variant, there in tasks.items()}


def _sat(items: Sequence[ExamItem], answers: Mapping[ItemId, str]) -> list[list[ExamItem]]:
    return [
        members
        for members in complete_variants(items).values()
        if any(item.id in answers for item in members)
    ]


def _task_order(task: str) -> tuple[int, str, str]:
    number, _, part = task.partition("_")
    return (int(number), part, task) if number.isdecimal() else (VARIANT_POINTS, part, task)
