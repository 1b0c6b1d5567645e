"""A study's folder: the plan, the files that it names, its tasks, and the record of a frozen plan."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import date
from functools import cached_property
from hashlib import blake2b, shake_256
from hashlib import sha256 as sha256_of
from pathlib import Path
from typing import Final

from pydantic_core import from_json, to_jsonable_python

from merilo.atomic_write import unguarded_text, write_text
from merilo.datasets import dataset
from merilo.datasets.dataset_files import read_split
from merilo.datasets.declaration import Dataset
from merilo.datasets.rendering import render
from merilo.errors import DataError, InputError, OutputError, UsageError, argument
from merilo.files import collecting_later, opened, sha256
from merilo.items import Item, entry_of, item_of
from merilo.records import Object, Record
from merilo.strict_json import Json, indented
from merilo.studies.plan import (
    CONTROLS_FILE,
    FROZEN_FILE,
    ITEMS_FILE,
    STUDY_FILE,
    TRAINING_FILE,
    WEIGHTS_FILE,
    Arm,
    Plan,
    plan_path,
    read_lined_yaml,
    read_plan,
)
from merilo.studies.study_tasks import StudyTask, TaskKind, author_field
from merilo.version import __version__
from merilo.wording import listed


@dataclass(frozen=True)
class StudyFolder:
    """A study's folder with its plan; the files are read when they are asked for.

    Attributes:
        path: the folder.
        plan: the content of `study.yaml`.
    """

    path: Path
    plan: Plan

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

    def arm(self, name: str | None) -> tuple[str, Arm]:
        """Find a group of annotators: by its name, else `people`, else the only one.

        Raises:
            UsageError: the plan has no such group, or several and none is called `people`.
        """
        arms = self.plan.arms
        wanted = name or ("people" if "people" in arms or len(arms) != 1 else next(iter(arms)))
        if wanted not in arms:
            raise UsageError(
                f"the study has no arm '{wanted}', only {listed(list(arms))}", field=argument("arm")
            )
        return wanted, arms[wanted]

    def items(self) -> list[Item]:
        """Read the items that annotators answer.

        Raises:
            InputError: the file cannot be read as items; the message names the line or the item.
        """
        return [*self._items]

    @cached_property
    def _items(self) -> list[Item]:
        return _read_items(self.path / ITEMS_FILE)

    def controls(self) -> list[Item]:
        """Read the control items as `items` does; an empty list without controls."""
        return _read_items(self.path / CONTROLS_FILE) if self.plan.controls else []

    def training(self) -> list[Item]:
        """Read the training items as `items` does; an empty list without training."""
        return _read_items(self.path / TRAINING_FILE) if self.plan.training else []

    def tasks(self, arm: str | None = None) -> tuple[StudyTask, ...]:
        """Read the items as people are asked them: those of the test, then control items, then training items.

        Annotators see the ids of their tasks, so an id must not tell which tasks are control items. It begins with a
        letter: spreadsheets write other digits as numbers.

        Args:
            arm: the group of annotators, whose domains and time limits the tasks have; none by default.

        Raises:
            InputError: a file of the study cannot be read.
        """
        declared, items, group = self.declared(), self.items(), self.plan.arms[arm] if arm else None
        authors = author_field(items)
        kinds: tuple[tuple[TaskKind, list[Item], str | None], ...] = (
            ("test", items, authors),
            ("control", self.controls(), authors),
            ("training", self.training(), None),
        )
        tasks: list[StudyTask] = []
        with collecting_later():
            for kind, solved, field in kinds:
                # The key follows from the items of the test, but not from those with known answers.
                known = "" if kind == "test" else json.dumps([*map(entry_of, solved)], sort_keys=True)
                ids = shake_256(self.key + f"{kind}{known}".encode()).hexdigest(6 * len(solved))
                tasks += [
                    StudyTask(f"t{ids[12 * at + 1 : 12 * at + 12]}", item, kind, declared, group, field)
                    for at, item in enumerate(solved)
                ]
        return tuple(tasks)

    def arm_id(self, arm: str) -> str:
        """Return the id of the study and a group on platforms, by which an import knows rows of another study."""
        words = "\x1f".join(("study", arm))
        return f"study-{blake2b(words.encode(), key=self.key, digest_size=16).hexdigest()[:10]}"

    @cached_property
    def key(self) -> bytes:
        """The key of all ids: of the study's name, its seed and its items with their answers, which nobody has."""
        content = json.dumps([self.plan.study, self.plan.seed, *map(entry_of, self._items)], sort_keys=True)
        return blake2b(content.encode(), digest_size=32, person=b"merilo study").digest()

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

    def weights(self) -> dict[str, float]:
        """Read the weights of the items, by the item's id as text.

        Raises:
            InputError: the file cannot be read, or a weight is not a number.
        """
        path = self.path / WEIGHTS_FILE
        try:
            rows = list(csv.DictReader(io.StringIO(path.read_text(encoding="utf-8-sig"))))
        except (OSError, UnicodeDecodeError, csv.Error) as error:
            raise InputError(f"cannot be read ({error})", file=path) from error
        by_item: dict[str, float] = {}
        for number, row in enumerate(rows, start=2):
            try:
                by_item[unguarded_text(row["id"])] = float(row["weight"])
            except (KeyError, TypeError, ValueError):
                raise InputError("must have an id, a stratum and a weight", file=path, row=number) from None
        return by_item

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


def _read_items(path: Path) -> list[Item]:
    """Read a file of items, the common case fast; the strict reader names the fault of any other file."""
    try:
        with collecting_later(), opened(path) as stream:
            items = [item_of(from_json(line, cache_strings="keys"), file=path, where="") for line in stream]
    except (OSError, ValueError, InputError):
        items = []
    return items if items and len({item.id for item in items}) == len(items) else list(read_split(path))


def item_lines(items: Iterable[Item], declared: Dataset) -> str:
    """Serialise items as JSON Lines, each with its prompt for whoever reads the file.

    The id comes first in `meta`, also of turns of a dialogue.

    Raises:
        DataError: a prompt names a field that the item does not have.
    """
    entries = (
        {**entry_of(replace(item, meta={"id": item.id, **item.meta})), "prompt": render(item, declared)}
        for item in items
    )
    return "".join(json.dumps(entry, ensure_ascii=False, allow_nan=False) + "\n" for entry in entries)


#: Sections that may be filled in after the plan was frozen: they are answers about the study, not decisions.
OPEN_SECTIONS: Final = ("checklist", "publication")


class FrozenPlan(Record):
    """The record of a frozen plan.

    Attributes:
        date: the date, as given or of the day: `2026-11-22`.
        hash: the SHA-256 of all hashes below.
        merilo: the version that wrote it.
        files: name of a file in the folder -> its SHA-256.
        plan: the content of `study.yaml`.
    """

    date: str
    hash: str
    merilo: str = ""
    files: dict[str, str]
    plan: Object


class PlanChange(Record):
    """A difference from the frozen plan.

    Attributes:
        what: the key of `study.yaml`, or a file's name.
        frozen: what it was; `None` if it did not exist. Of a file: its hash.
        now: what it is; `None` if it does not exist any more.
        decision: whether it is a decision that should not change, not an answer that is filled in later.
    """

    what: str
    frozen: str | None
    now: str | None
    decision: bool

    def __str__(self) -> str:
        if self.frozen is None:
            return f"{self.what}: {self.now} was added"
        if self.now is None:
            return f"{self.what}: {self.frozen} was removed"
        return f"{self.what}: {self.frozen} was changed to {self.now}"


def freeze_plan(study: StudyFolder, *, day: str | None = None, force: bool = False) -> FrozenPlan:
    """Write `frozen.json`: the date, the hashes of `study.yaml` and of the files that it names, and the plan itself.

    Args:
        study: the study.
        day: the date, `YYYY-MM-DD`. Default: today.
        force: replace an earlier record.

    Raises:
        OutputError: the plan is frozen already and `force` is not given.
        UsageError: the date is not a date, or is in the future.
        InputError: a file that the plan names is missing.
    """
    path = study.path / FROZEN_FILE
    if path.exists() and not force:
        earlier = read_frozen(study.path)
        when = f" on {earlier.date}" if earlier else ""
        raise OutputError(
            f"the plan was frozen{when}; to replace the record, give {argument('force')}", file=path
        )
    stamped = freeze_date(day)
    files = {name: sha256(study.path / name) for name in _planned_files(study)}
    frozen = FrozenPlan(
        date=stamped, hash=combined_hash(files), merilo=__version__, files=files, plan=_content(study.path)
    )
    write_text(path, indented(frozen.to_json()) + "\n")
    return frozen


def freeze_date(day: str | None) -> str:
    """Return the date of a freeze as it is recorded; by default, today.

    Raises:
        UsageError: the text is not a date, or the date is in the future.
    """
    today = date.today()
    try:
        stamped = today if day is None else date.fromisoformat(day)
    except ValueError:
        raise UsageError(f"{argument('date')} takes a date such as 2026-11-22, not '{day}'") from None
    if stamped > today:
        raise UsageError(f"{argument('date')}: {stamped} is in the future (today is {today})")
    return stamped.isoformat()


def _planned_files(study: StudyFolder) -> list[str]:
    """List the files that the plan consists of, `study.yaml` first."""
    plan = study.plan
    names = [STUDY_FILE, ITEMS_FILE, WEIGHTS_FILE, *plan.instruction.values()]
    names += [CONTROLS_FILE] if plan.controls else []
    names += [TRAINING_FILE] if plan.training else []
    if (study.path / plan.dataset).is_file():
        names.append(plan.dataset)
    return list(dict.fromkeys(names))


def combined_hash(files: Mapping[str, str]) -> str:
    """Return one hash for several files: the SHA-256 of lines `HASH  NAME`, sorted by name."""
    lines = "".join(f"{files[name]}  {name}\n" for name in sorted(files))
    return sha256_of(lines.encode()).hexdigest()


def read_frozen(folder: Path) -> FrozenPlan | None:
    """Read the record of a frozen plan; `None` if the plan is not frozen.

    Raises:
        InputError: the record is damaged.
    """
    path = folder / FROZEN_FILE
    if not path.exists():
        return None
    frozen = FrozenPlan.read(path)
    if combined_hash(frozen.files) != frozen.hash:
        raise InputError(
            "the hash does not follow from the files' hashes: the record was edited", file=path, field="hash"
        )
    return frozen


def changes_since_freeze(folder: Path) -> list[PlanChange]:
    """List what differs from the frozen plan: keys of `study.yaml`, then other files. Comments do not count.

    Returns:
        The differences; none if the plan was not frozen.

    Raises:
        InputError: the record or a file cannot be read.
    """
    frozen = read_frozen(folder)
    if frozen is None:
        return []
    files = [name for name in frozen.files if name != STUDY_FILE]
    before = dict(_leaves(frozen.plan)) | {name: frozen.files[name][:12] for name in files}
    now = dict(_leaves(_content(folder)))
    now |= {name: sha256(folder / name)[:12] for name in files if (folder / name).is_file()}
    return [
        PlanChange(
            what=key,
            frozen=before.get(key),
            now=now.get(key),
            decision=key.partition(".")[0] not in OPEN_SECTIONS,
        )
        for key in before | now
        if before.get(key) != now.get(key)
    ]


def refuse_changed(folder: StudyFolder) -> None:
    """Check that the plan is frozen and that no decision was changed since, before people are asked.

    Raises:
        InputError: the record of the frozen plan is damaged.
        DataError: the plan is not frozen, or a decision of it or a file was changed.
    """
    if read_frozen(folder.path) is None:
        raise DataError(
            "the plan is not frozen, and answers are collected only for a frozen plan: run 'merilo study freeze' first",
            file=folder.path,
        )
    changes = [change for change in changes_since_freeze(folder.path) if change.decision]
    if changes:
        more = f" (and {len(changes) - 1} more)" if len(changes) > 1 else ""
        raise DataError(
            f"the study was changed after the freeze: {changes[0]}{more}; restore it, or make a new study",
            file=folder.path,
        )


def _content(folder: Path) -> dict[str, Json]:
    """Return the content of `study.yaml` as JSON has it: YAML also knows dates, and keys that are not texts."""
    content = read_lined_yaml(folder / STUDY_FILE).content
    plain: dict[str, Json] = to_jsonable_python(content) if isinstance(content, dict) else {}
    return plain


def _leaves(value: Json, path: str = "") -> Iterator[tuple[str, str]]:
    if isinstance(value, dict) and value:
        for key, inner in value.items():
            yield from _leaves(inner, f"{path}.{key}" if path else key)
    elif isinstance(value, list) and value:
        for number, inner in enumerate(value):
            yield from _leaves(inner, f"{path}[{number}]")
    else:
        yield path, indented(value)
