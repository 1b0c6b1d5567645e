"""Read a dataset's folder: its files and the items in them, and the report of what is wrong with them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from merilo.datasets.dataset_files import own_entries
from merilo.datasets.declaration import CATALOGUE, Dataset
from merilo.datasets.folders import META
from merilo.errors import InputError
from merilo.items import SUFFIXES, Item, RawSplit, faults_of, item_of, raw_splits
from merilo.strict_json import Json, read_json

OWN: Final = "dataset.yaml"
READMES: Final = {"ru": "raw_readme_ru.json", "en": "raw_readme_en.json"}

#: Names of splits: a file with one of these names must hold items.
SPLITS: Final = ("test", "shots", "train", "dev", "validation", "public_test")

#: Files beside the data that hold no items; `dataset_meta.json` is the card's metadata, built from `META`.
_NOT_ITEMS: Final = (META, "dataset_meta.json", *READMES.values())
_NO_ITEMS: Final = "has no items: expected test.json"


@dataclass(frozen=True, slots=True)
class Violation:
    """A fault and its location.

    Attributes:
        file: the file below the folder that was validated.
        path: the JSON path inside it, such as `data.test[3].meta.id`; empty for the file itself.
        message: what is wrong and what is expected.
    """

    file: str
    path: str
    message: str

    def __str__(self) -> str:
        """Return the fault as one line; control characters are escaped."""
        line = ": ".join(filter(None, (", ".join(filter(None, (self.file, self.path))), self.message)))
        return "".join(sign if sign.isprintable() else repr(sign)[1:-1] for sign in line)

    @property
    def order(self) -> tuple[str, list[tuple[int, str]], str]:
        """Return the key that sorts faults in the order of the file: `data[2]` before `data[10]`."""
        steps = re.split(r"(\d{1,18})", self.path)
        return self.file, [(int(step), "") if step.isdecimal() else (0, step) for step in steps], self.message


def grouped(violations: Sequence[Violation]) -> list[str]:
    """Return a line for each kind of fault: its first place, and how many more places have it.

    Faults of one kind are in the same file, at the same path but for the numbers, with the same message but for numbers
    and quoted values.
    """
    groups: dict[tuple[str, str, str], list[Violation]] = {}
    for fault in violations:
        kind = fault.file, re.sub(r"\d+", "", fault.path), re.sub(r"'[^']*'|\d+", "", fault.message)
        groups.setdefault(kind, []).append(fault)
    return [
        str(same[0])
        + (f" (and {len(same) - 1} more like this, the last at {same[-1].path})" if same[1:] else "")
        for same in groups.values()
    ]


@dataclass(frozen=True, slots=True)
class LocatedItem:
    """An item with its location."""

    item: Item
    split: str
    file: str
    path: str

    @property
    def fields(self) -> frozenset[str]:
        """The fields of the item's inputs; empty if they are a text."""
        return frozenset(self.item.inputs) if isinstance(self.item.inputs, Mapping) else frozenset()


@dataclass(slots=True)
class Contents:
    """The readable contents of a dataset, and the problems and notes found in one pass.

    Attributes:
        root: the folder; media are below its `samples/`.
        whole: whether a folder was given, not a single file.
        problems: violations of rules.
        notes: possible mistakes that violate no rule.
        files: the files that were read.
        items: how many items each split holds.
        meta: the content of `raw_dataset_meta.json`; `None` if it is missing or not an object.
        second_form: whether a split is in the newer form, one a file.
        places: every item that could be read.
        declared: the dataset's declaration.
        media: the fields of the inputs that hold media.
    """

    root: Path
    whole: bool
    problems: list[Violation] = field(default_factory=list)
    notes: list[Violation] = field(default_factory=list)
    files: list[str] = field(default_factory=list)
    items: dict[str, int] = field(default_factory=dict)
    meta: Mapping[str, Json] | None = None
    second_form: bool = False
    places: list[LocatedItem] = field(default_factory=list)
    declared: Dataset | None = None
    media: frozenset[str] = frozenset()

    @property
    def valid(self) -> bool:
        """Whether no rule is violated."""
        return not self.problems

    def wrong(self, file: str, path: str, message: str) -> None:
        """Add a problem."""
        self.problems.append(Violation(file, path, message))

    def note(self, file: str, path: str, message: str) -> None:
        """Add a note."""
        self.notes.append(Violation(file, path, message))

    def unreadable(self, file: str, error: InputError) -> None:
        """Add the problem of a file that cannot be read."""
        row = f"row {error.place.row}" if error.place.row else ""
        self.wrong(file, ", ".join(filter(None, (row, error.place.field))), error.message)

    @property
    def for_benchmark(self) -> bool:
        """Whether the benchmark's rules for ids hold.

        The dataset is in the catalogue, or has the benchmark's metadata.
        """
        return self.meta is not None or (self.declared is not None and self.declared.name in CATALOGUE)

    def wrong_item(self, place: LocatedItem, key: str, message: str) -> None:
        """Add a problem of an item."""
        self.wrong(place.file, f"{place.path}.{key}", message)

    def read_object(self, name: str) -> Mapping[str, Json] | None:
        """Read the object in a JSON file; faults are noted, but a missing file is not a fault."""
        file = self.root / name
        if not file.exists() and not file.is_symlink():
            return None
        self.files.append(name)
        try:
            content = read_json(file)
        except InputError as error:
            self.unreadable(name, error)
            return None
        if not isinstance(content, dict):
            self.wrong(name, "", "must be a JSON object")
            return None
        return content


def read_contents(path: Path, declared: Dataset | None = None) -> Contents:
    """Read a folder or a single file, and note every fault.

    Args:
        path: the folder or file.
        declared: the dataset, whose declaration may name the columns of the file.

    Raises:
        InputError: the path does not exist.
    """
    if path.is_dir():
        contents, files = Contents(path, whole=True), [*filter(_holds_items, sorted(path.iterdir()))]
    elif path.exists():
        contents, files = Contents(path.parent, whole=False), [path]
    else:
        raise InputError("there is no such file or folder", file=path)
    # A single file also needs the metadata in its folder: its items may refer to prompts by number.
    contents.meta = contents.read_object(META)
    for file in files:
        contents.places += _places(file, contents, declared)
    if not files or (not contents.items and contents.valid):
        contents.wrong("", "", _NO_ITEMS)
    return contents


def _holds_items(file: Path) -> bool:
    return file.suffix.lower() in SUFFIXES and file.name not in _NOT_ITEMS and not file.name.startswith(".")


def _places(file: Path, contents: Contents, declared: Dataset | None) -> Iterator[LocatedItem]:
    name = file.name
    contents.files.append(name)
    try:
        own = own_entries(file, declared)
        splits = raw_splits(file) if own is None else [RawSplit("test", [entry for _, entry in own])]
    except InputError as error:
        if contents.whole and file.stem.lower() not in {*SPLITS, contents.root.resolve().name.lower()}:
            contents.note(name, "", f"is not read as a file of items: {error.message}")
        else:
            contents.unreadable(name, error)
        return
    if not splits:
        contents.wrong(name, "data", "has no items")
    for raw in splits:
        contents.second_form |= raw.where == "data"
        if not isinstance(raw.entries, list):
            contents.wrong(name, raw.where, "must be a list of items")
            continue
        entries = [*_entries(raw.entries, raw.where)]
        for where, entry in entries:
            for key, message in (faults := faults_of(entry)):
                contents.wrong(name, ".".join(filter(None, (where, key))), message)
            if not faults:
                yield LocatedItem(item_of(entry, file=file, where=where), raw.name, name, where)
            _check_keys(entry, where, name, contents)
        contents.items[raw.name] = contents.items.get(raw.name, 0) + len(entries)
        if not entries and raw.name == "test":
            contents.wrong(name, raw.where, "has no items")
        if 0 < sum(isinstance(entry, list) for entry in raw.entries) < len(raw.entries):
            contents.wrong(name, raw.where, "mixes dialogues (lists of items) with single items")


def _entries(entries: list[Json], where: str) -> Iterator[tuple[str, Json]]:
    """Yield the entries with their JSON paths; each turn of a dialogue is an entry."""
    for number, entry in enumerate(entries):
        if isinstance(entry, list):
            yield from ((f"{where}[{number}][{turn}]", inner) for turn, inner in enumerate(entry))
        else:
            yield f"{where}[{number}]", entry


def _check_keys(entry: Json, where: str, file: str, contents: Contents) -> None:
    if not isinstance(entry, dict):
        return
    if "outputs" not in entry:
        contents.wrong(file, f"{where}.outputs", "is missing; in a closed test it must be present and empty")
    for key in sorted(entry.keys() - {"instruction", "inputs", "outputs", "meta"}):
        instead = f"put your fields under inputs, outputs or meta, or declare them in {OWN}"
        contents.note(file, f"{where}.{key}", f"is not a field of an item: {instead}")
