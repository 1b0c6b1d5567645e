"""A study's folder: the plan, and the files that it names."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, cast

from merilo.datasets import dataset
from merilo.datasets.declaration import Dataset
from merilo.datasets.rendering import render
from merilo.errors import InputError, UsageError
from merilo.items import Item, entry_of, item_of
from merilo.strict_json import Json, json_lines
from merilo.studies.plan_file import plan_path, read_plan
from merilo.studies.plan_types import FROZEN_FILE, ITEMS_FILE, WEIGHTS_FILE, Study

#: The apostrophe before a text that a spreadsheet would run as a formula.
_GUARD: Final = re.compile(r"^'(?=[=+@\t\r-])")


@dataclass(frozen=True, slots=True)
class StudyItem:
    """An item of a study with the text that annotators read.

    Attributes:
        item: the item, with its gold answer.
        prompt: the rendered prompt without shots, as a model reads it; media files are named in angle brackets.
    """

    item: Item
    prompt: str


@dataclass(frozen=True, slots=True)
class ItemWeight:
    """The weight of a drawn item in an estimate for the whole dataset.

    Attributes:
        stratum: the group of items that it represents.
        weight: the number of items of the dataset that it represents.
    """

    stratum: str
    weight: float


@dataclass(frozen=True, slots=True)
class StudyFolder:
    """A study's folder with its plan; the files are read when they are asked for.

    Attributes:
        path: the folder.
        plan: the content of `study.yaml`.
    """

    path: Path
    plan: Study

    def declared(self) -> Dataset:
        """Return the declaration of the study's dataset.

        Raises:
            InputError: the plan names no dataset that exists, or its declaration cannot be read.
        """
        name = self.plan.dataset
        own = self.path / name
        try:
            return dataset(str(own) if own.exists() else name)
        except UsageError as error:
            raise InputError(error.marked, file=plan_path(self.path), field="dataset") from error

    def items(self) -> list[StudyItem]:
        """Read the items that annotators answer.

        Raises:
            InputError: the file cannot be read; the message names the line.
        """
        return read_study_items(self.path / ITEMS_FILE)

    def controls(self) -> list[StudyItem]:
        """Read the control items; an empty list without controls.

        Raises:
            InputError: the file cannot be read; the message names the line.
        """
        return read_study_items(self.path / self.plan.controls.file) if self.plan.controls else []

    def training(self) -> list[StudyItem]:
        """Read the training items; an empty list without training.

        Raises:
            InputError: the file cannot be read; the message names the line.
        """
        return read_study_items(self.path / self.plan.training.file) if self.plan.training else []

    def instruction(self, language: str) -> str:
        """Read the instruction in Markdown.

        Raises:
            InputError: the plan names no instruction in this language, or the file cannot be read.
        """
        names: Mapping[str, str] = {str(key): name for key, name in self.plan.instruction.items()}
        if language not in names:
            raise InputError(
                f"the study has no instruction in '{language}', only in {', '.join(names)}",
                file=plan_path(self.path),
                field="instruction",
            )
        path = self.path / names[language]
        try:
            return path.read_text(encoding="utf-8-sig")
        except (OSError, UnicodeDecodeError) as error:
            raise InputError(f"cannot be read ({error})", file=path) from error

    def weights(self) -> dict[str, ItemWeight]:
        """Read the weights of the items, by the item's id as text.

        Raises:
            InputError: the file cannot be read, or a weight is not a number.
        """
        path = self.path / WEIGHTS_FILE
        try:
            rows = list(csv.DictReader(io.StringIO(path.read_text(encoding="utf-8-sig"))))
        except (OSError, UnicodeDecodeError, csv.Error) as error:
            raise InputError(f"cannot be read ({error})", file=path) from error
        found: dict[str, ItemWeight] = {}
        for number, row in enumerate(rows, start=2):
            try:
                found[_GUARD.sub("", row["id"])] = ItemWeight(row["stratum"], float(row["weight"]))
            except (KeyError, TypeError, ValueError):
                raise InputError("must have an id, a stratum and a weight", file=path, row=number) from None
        return found

    @property
    def frozen(self) -> bool:
        """Whether the plan was frozen."""
        return (self.path / FROZEN_FILE).is_file()


def open_study(path: Path) -> StudyFolder:
    """Open a study's folder.

    Args:
        path: the folder, or its `study.yaml`.

    Raises:
        InputError: there is no study, or its plan has a fault.
    """
    return StudyFolder(plan_path(path).parent, read_plan(path))


def read_study_items(path: Path) -> list[StudyItem]:
    """Read a file of items: JSON Lines, an item a line, with its prompt.

    Raises:
        InputError: the file cannot be read, a line is not an item, or two items share an id; the message
            names the line.
    """
    found: list[StudyItem] = []
    seen: set[str] = set()
    for row, entry in json_lines(path):
        item = item_of(entry, file=f"{path}, row {row}", where="")
        prompt = cast("dict[str, Json]", entry).get("prompt")
        if not isinstance(prompt, str):
            raise InputError("must be the text that annotators read", file=path, row=row, field="prompt")
        if str(item.id) in seen:
            raise InputError(f"two items have the id {item.id!r}", file=path, row=row)
        seen.add(str(item.id))
        found.append(StudyItem(item, prompt))
    return found


def study_items(items: Sequence[Item], declared: Dataset) -> list[StudyItem]:
    """Render items as annotators and models read them.

    Raises:
        DataError: a prompt names a field that the item does not have.
    """
    return [StudyItem(item, render(item, declared)) for item in items]


def item_lines(items: Sequence[StudyItem]) -> str:
    """Serialise items as JSON Lines; the inverse of `read_study_items`."""
    return "".join(
        json.dumps({**_entry(one.item), "prompt": one.prompt}, ensure_ascii=False, allow_nan=False) + "\n"
        for one in items
    )


def _entry(item: Item) -> dict[str, Json]:
    """An entry with the id first in `meta`, also for turns of a dialogue."""
    return entry_of(replace(item, meta={"id": item.id, **item.meta}))
