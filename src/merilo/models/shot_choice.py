"""Solved items before the question: where they come from, and which of them an item gets."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from random import Random
from typing import Final

from merilo.datasets.declaration import Dataset
from merilo.errors import DataError, UsageError, argument
from merilo.items import SUFFIXES, Item, read_split, read_splits
from merilo.metrics.scoring import has_gold
from merilo.models.prompt_settings import PromptSettings

#: The splits that hold solved items, the best first.
SHOT_SPLITS: Final = ("shots", "train", "public_test", "validation")


def shots_of(path: Path, declared: Dataset, *, split: str = "test") -> tuple[Item, ...]:
    """Find the solved items for a file of items.

    They are, in this order: a split of the same file; a file beside it that is named after such a split (`shots.json`
    beside `test.json`); and, for a dataset that has no split but the test (ruHateSpeech), those items of the test
    itself that have a gold answer.

    Args:
        path: the file of the items that are asked.
        declared: their dataset.
        split: the split that is asked.

    Returns:
        The items, in the order of their file; empty if there are none.

    Raises:
        InputError: a file cannot be read.
    """
    splits = read_splits(path)
    for name in SHOT_SPLITS:
        if name in splits and name != split and len(splits[name]):
            return splits[name].items
    if path.stem not in SHOT_SPLITS:
        for beside in _beside(path):
            return read_split(beside, beside.stem if beside.suffix != ".json" else None).items
    if declared.splits == ("test",) and declared.shots.count and split in splits:
        return tuple(item for item in splits[split] if has_gold(item))
    return ()


def _beside(path: Path) -> Iterator[Path]:
    """Find files named after splits, in a folder in which every file is one split of the same dataset."""
    if path.stem.lower() != "test":
        return
    for name in SHOT_SPLITS:
        for suffix in (path.suffix, *SUFFIXES):
            if (found := path.with_name(f"{name}{suffix}")).is_file():
                yield found


def shown_gold(item: Item, declared: Dataset) -> str:
    """Return the answer that a solved item shows: the gold answer, or its first alternative.

    Raises:
        DataError: the item has no gold answer, or one that is not a text.

    Example:
        >>> from merilo.datasets import dataset
        >>> shown_gold(Item(1, "", {}, "Пушкин; А. С. Пушкин"), dataset("chegeka"))
        'Пушкин'
    """
    gold = item.outputs
    if isinstance(gold, int) and not isinstance(gold, bool):
        gold = str(gold)
    if not has_gold(item) or not isinstance(gold, str) or not gold.strip():
        raise DataError(
            f"item {item.id} of {declared.title} is used as a shot, but has no gold answer", field="outputs"
        )
    separator = declared.answer.alternatives
    # In the exam, commas divide alternatives only in tasks of type "text", and the numbers of one answer elsewhere.
    one_answer = "grade_norm" in declared.metrics and item.meta.get("type") != "text"
    if separator is not None and not one_answer:
        gold = next(filter(None, map(str.strip, gold.split(separator))), gold)
    return gold.strip()


def shot_count(declared: Dataset, settings: PromptSettings) -> int:
    """Return how many solved items stand before a question.

    Raises:
        UsageError: the dataset cannot have any.
    """
    if settings.as_people:
        return 0
    count = declared.shots.count if settings.shots is None else settings.shots
    if count and (reason := _why_never(declared)):
        raise UsageError(f"{declared.title} has no shots: {reason}; ask it with {_no_shots()}")
    return count


def _why_never(declared: Dataset) -> str | None:
    if declared.shots.earlier_turns:
        return "an item follows the earlier turns of its dialogue"
    if declared.answer.kind == "criteria":
        return f"its gold answer has {len(declared.answer.criteria)} criteria, and a model is asked for one label"
    if declared.answer.kind == "program":
        return "a problem is shown without solved ones"
    return None


def _no_shots() -> str:
    return argument("shots", "0", given=0)


def _counted(count: int) -> str:
    return f"{count} {'shot' if count == 1 else 'shots'}"


class ShotDeck:
    """The solved items of a dataset, and the choice of those that precede an item.

    Each item gets its own shots at random, because the first shot gives the instruction: over all items, every prompt of the
    shots is used about equally often. The choice depends only on the dataset, the seed and the item; with one shot more, the
    earlier ones stay the same.

    Args:
        declared: the dataset.
        shots: the solved items.
        count: how many each item gets.
        seed: random seed.

    Raises:
        UsageError: shots are wanted, but the data has none.
        DataError: a shot has no gold answer, or lacks the field that shots share with an item.
    """

    def __init__(self, declared: Dataset, shots: Sequence[Item], count: int, seed: int) -> None:
        self._declared = declared
        self._count = count
        self._seed = seed
        if not count:
            self._by_field: Mapping[str, Sequence[Item]] = {}
            return
        if not shots:
            wanted = f"{_counted(count)} an item"
            if declared.shots.count:
                raise DataError(
                    f"{declared.title} is asked with {wanted}, but its data has no solved items: add them as a split"
                    f" 'shots' or 'train', or use {_no_shots()}"
                )
            raise UsageError(
                f"{declared.title} has no shots, so it cannot be asked with {wanted}: use {_no_shots()}"
            )
        found: dict[str, list[Item]] = {}
        for shot in shots:
            shown_gold(shot, declared)
            found.setdefault(self._shared(shot), []).append(shot)
        self._by_field = found

    def choose(self, item: Item) -> tuple[Item, ...]:
        """Return the shots of an item, in the order in which they are shown.

        Raises:
            DataError: there are too few, the item itself (the same question) not counted.
        """
        if not self._count:
            return ()
        shared = self._shared(item)
        known = self._by_field.get(shared, ())
        chosen: list[Item] = []
        for shot in self._drawn(known, item):
            if shot.inputs != item.inputs and all(shot.inputs != other.inputs for other in chosen):
                chosen.append(shot)
                if len(chosen) == self._count:
                    return tuple(chosen)
        field = self._declared.shots.same
        where = f" with {field} '{shared}'" if field else ""
        raise DataError(
            f"item {item.id} of {self._declared.title} needs {_counted(self._count)}{where},"
            f" but there {'is' if len(chosen) == 1 else 'are'} {len(chosen) or 'none'}"
            f" besides the item itself (lower {argument('shots', 'N')}, or add solved items)"
        )

    def _shared(self, item: Item) -> str:
        """Return the value of the field that shots share with an item."""
        field = self._declared.shots.same
        if field is None:
            return ""
        value = item.meta.get(field)
        if not isinstance(value, str | int) or isinstance(value, bool):
            raise DataError(
                f"item {item.id} of {self._declared.title} has no {field}, by which its shots are chosen",
                field=f"meta.{field}",
            )
        return str(value)

    def _drawn(self, known: Sequence[Item], item: Item) -> Iterator[Item]:
        """Draw without replacement, one at a time, so that a larger number of shots begins with the same ones."""
        random = Random(f"shots {self._declared.name} {self._seed} {item.id}")  # noqa: S311 - reproducible on purpose
        moved: dict[int, int] = {}
        for left in range(len(known), 0, -1):
            place = random.randrange(left)
            yield known[moved.get(place, place)]
            moved[place] = moved.get(left - 1, left - 1)
