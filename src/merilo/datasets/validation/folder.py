"""Read a dataset's folder: its files, and the items in them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from merilo.datasets.catalogue import CATALOGUE
from merilo.datasets.declaration import Dataset
from merilo.datasets.validation.report import ValidationReport
from merilo.errors import InputError
from merilo.items import SUFFIXES, Item, faults_of, item_of, raw_splits
from merilo.strict_json import Json, read_json

META: Final = "raw_dataset_meta.json"
OWN: Final = "dataset.yaml"
READMES: Final = {"ru": "raw_readme_ru.json", "en": "raw_readme_en.json"}
SAMPLES: Final = "samples"

#: Names of splits: a file with one of these names must hold items.
SPLITS: Final = ("test", "shots", "train", "dev", "validation", "public_test")

#: The metadata of the card, built from `raw_dataset_meta.json`.
BUILT_META: Final = "dataset_meta.json"

_NOT_ITEMS: Final = (META, BUILT_META, *READMES.values())


@dataclass(frozen=True, slots=True)
class LocatedItem:
    """An item with its location."""

    item: Item
    split: str
    file: str
    path: str


@dataclass(slots=True)
class Contents:
    """The readable contents of a dataset.

    Attributes:
        root: the folder; media are below its `samples/`.
        whole: whether a folder was given, not a single file.
        meta: the content of `raw_dataset_meta.json`; `None` if it is missing or not an object.
        second_form: whether a split is in the newer form, one a file.
        places: every item that could be read.
        declared: the dataset's declaration.
        media: the fields of the inputs that hold media.
    """

    root: Path
    whole: bool
    meta: Mapping[str, Json] | None = None
    second_form: bool = False
    places: list[LocatedItem] = field(default_factory=list)
    declared: Dataset | None = None
    media: frozenset[str] = frozenset()

    @property
    def for_benchmark(self) -> bool:
        """Whether the benchmark's rules for ids hold.

        The dataset is in the catalogue, or has the benchmark's metadata.
        """
        return self.meta is not None or (self.declared is not None and self.declared.name in CATALOGUE)

    def splits(self) -> dict[str, list[LocatedItem]]:
        """Group the items by split."""
        found: dict[str, list[LocatedItem]] = {}
        for place in self.places:
            found.setdefault(place.split, []).append(place)
        return found


def read_contents(path: Path, report: ValidationReport) -> Contents:
    """Read a folder or a single file, and note every fault.

    Raises:
        InputError: the path does not exist.
    """
    if path.is_dir():
        contents = Contents(path, whole=True)
        files = [file for file in sorted(path.iterdir()) if _holds_items(file)]
        if not files:
            report.wrong("", "", "has no items: expected test.json")
    elif path.exists():
        contents = Contents(path.parent, whole=False)
        files = [path]
    else:
        raise InputError("there is no such file or folder", file=path)
    # A single file also needs the metadata in its folder: its items may refer to prompts by number.
    contents.meta = read_object(contents.root / META, report)
    for file in files:
        contents.places += _places(file, contents, report)
    if files and not report.items and not report.problems:
        report.wrong("", "", "has no items: expected test.json")
    return contents


def _holds_items(file: Path) -> bool:
    return file.suffix.lower() in SUFFIXES and file.name not in _NOT_ITEMS and not file.name.startswith(".")


def read_object(file: Path, report: ValidationReport) -> Mapping[str, Json] | None:
    """Read the object in a JSON file; faults are noted, but a missing file is not a fault."""
    if not file.exists() and not file.is_symlink():
        return None
    report.files.append(file.name)
    try:
        content = read_json(file)
    except InputError as error:
        report.unreadable(file.name, error)
        return None
    if not isinstance(content, dict):
        report.wrong(file.name, "", "must be a JSON object")
        return None
    return content


def _places(file: Path, contents: Contents, report: ValidationReport) -> Iterator[LocatedItem]:
    report.files.append(file.name)
    try:
        splits = raw_splits(file)
    except InputError as error:
        if contents.whole and file.stem.lower() not in {*SPLITS, contents.root.resolve().name.lower()}:
            report.note(file.name, "", f"is not read as a file of items: {error.message}")
        else:
            report.unreadable(file.name, error)
        return
    if not splits:
        report.wrong(file.name, "data", "has no items")
    for raw in splits:
        contents.second_form |= raw.where == "data"
        if not isinstance(raw.entries, list):
            report.wrong(file.name, raw.where, "must be a list of items")
            continue
        count = 0
        for where, entry in _entries(raw.entries, raw.where):
            for key, message in (faults := faults_of(entry)):
                report.wrong(file.name, ".".join(filter(None, (where, key))), message)
            if not faults:
                yield LocatedItem(item_of(entry, file=file, where=where), raw.name, file.name, where)
            _note_unknown_keys(entry, where, file.name, report)
            count += 1
        report.items[raw.name] = report.items.get(raw.name, 0) + count
        if not count and raw.name == "test":
            report.wrong(file.name, raw.where, "has no items")
        if 0 < sum(isinstance(entry, list) for entry in raw.entries) < len(raw.entries):
            report.wrong(file.name, raw.where, "mixes dialogues (lists of items) with single items")


def _entries(entries: list[Json], where: str) -> Iterator[tuple[str, Json]]:
    """Yield the entries with their JSON paths; each turn of a dialogue is an entry."""
    for number, entry in enumerate(entries):
        if isinstance(entry, list):
            yield from ((f"{where}[{number}][{turn}]", inner) for turn, inner in enumerate(entry))
        else:
            yield f"{where}[{number}]", entry


def _note_unknown_keys(entry: Json, where: str, file: str, report: ValidationReport) -> None:
    if isinstance(entry, dict):
        if "outputs" not in entry:
            report.wrong(
                file, f"{where}.outputs", "is missing; in a closed test it must be present and empty"
            )
        for key in sorted(entry.keys() - {"instruction", "inputs", "outputs", "meta"}):
            report.note(
                file,
                f"{where}.{key}",
                "is not a field of an item: put your fields under inputs, outputs or meta, or "
                "declare them in dataset.yaml",
            )
