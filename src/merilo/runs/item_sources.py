"""Where the items of a dataset are: in a folder or a file, in a study, a baseline or an earlier run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Final

from merilo.datasets import dataset as find_dataset
from merilo.datasets.bundled_items import BUNDLED
from merilo.datasets.dataset_files import own_file, read_split, read_splits
from merilo.datasets.declaration import Dataset
from merilo.errors import InputError, UsageError, argument
from merilo.items import SUFFIXES, Item, Split, dialogue_lengths, split_file
from merilo.metrics.answers import has_gold
from merilo.models.run_folder import DatasetRecord
from merilo.strict_json import read_json, text_at
from merilo.studies.study_folder import open_study
from merilo.wording import shown

#: The items of a baseline, in its folder beside its record.
BASELINE_ITEMS: Final = "raw/items.jsonl"
#: The declaration of their dataset, if it is not of the catalogue.
BASELINE_DECLARATION: Final = "raw/dataset.yaml"
_BASELINE_RECORD: Final = "baseline.json"

#: What the record of a run names in place of their file.
BUNDLED_NAME: Final = "included in Merilo"


@dataclass(frozen=True)
class ItemSource:
    """Where the items of a dataset come from.

    Attributes:
        declared: the dataset.
        declaration: its name, or the path of its declaration.
        split: the items.
        file: the file of the items.
        study: the folder of the study that they belong to.
    """

    declared: Dataset
    declaration: str
    split: Split
    file: Path
    study: Path | None = None

    @cached_property
    def shots(self) -> tuple[Item, ...]:
        """The solved items beside them; none of a study, whose people saw none."""
        return () if self.study else shots_of(self.file, self.declared, split=self.split.name)

    @property
    def of_baseline(self) -> bool:
        """Whether they are the items that people answered for a baseline."""
        folder = self.file.parent.parent
        return self.file == folder / BASELINE_ITEMS and _is_baseline(folder)

    @property
    def place(self) -> str:
        """The file of the items, as a record names it."""
        return BUNDLED_NAME if self.file.is_relative_to(BUNDLED) else shown(self.file)


def item_sources(datasets: Sequence[str], data: Path | None = None) -> list[ItemSource]:
    """Find the items of datasets.

    Args:
        datasets: names of the catalogue, or paths of declarations.
        data: a folder with `<name>.json` or `<name>/test.json` for each dataset, the folder of a baseline,
            which names its dataset, or a file; of several datasets, those that are not in the folder may have a
            declaration that names their file. By default, the file or folder of a declaration, else the items included
            in Merilo.

    Raises:
        UsageError: no dataset is named, or one is named twice.
        InputError: a file is missing or cannot be read.
    """
    if not datasets and data is not None and _is_baseline(data):
        own = data / BASELINE_DECLARATION
        known = str(own) if own.is_file() else text_at(read_json(data / _BASELINE_RECORD), "dataset")
        datasets = [known] if known else []
    if not datasets:
        raise UsageError("name at least one dataset", field=argument("datasets"))
    sources: list[ItemSource] = []
    for name in datasets:
        declared = find_dataset(name)
        if any(source.declared.name == declared.name for source in sources):
            raise UsageError(f"{declared.title} is named twice", field=argument("datasets"))
        file = items_file(name, declared, data, alone=len(datasets) == 1)
        sources.append(ItemSource(declared, name, read_split(file, declared), file))
    return sources


def items_file(name: str, declared: Dataset, data: Path | None, *, alone: bool) -> Path:
    """Find the items of a dataset in a folder, or beside its declaration."""
    if data is not None and data.is_file():
        if not alone:
            several = "is one file, but several datasets are named; name a folder"
            raise UsageError(several, field=argument("data"))
        return data
    if data is not None and _is_baseline(data):
        data = data / BASELINE_ITEMS
        if data.is_file():
            return data
    if data is not None and not data.is_dir():
        if _is_baseline(data.parent.parent):
            why = f"its pool lacks fields of {declared.title}, or asked people another question"
            raise InputError(f"this baseline has no items that a model can be asked: {why}", file=data)
        raise InputError("there is no such file or folder of items", file=data)
    if data is None and declared.items is not None and declared.items.file is not None:
        if (named := own_file(declared)) is None:
            missing = (
                f"there is no such file, which the declaration of {declared.title} names as 'items.file'"
            )
            raise InputError(
                f"{missing}; name another with {argument('data', 'FILE')}", file=declared.items.file
            )
        return named
    is_file = Path(name).suffix in {".yaml", ".yml"}
    own = Path(name).parent if is_file else Path(name)
    if data is None and (is_file or (own / "dataset.yaml").is_file()):
        file = split_file(own.parent, own.name) or split_file(own, "test")
    else:
        folder = data or BUNDLED
        file = split_file(folder, declared.name)
        file = file or (split_file(folder, "test") if alone else own_file(declared))
    if file:
        return file
    expected = f"expected {declared.name}.json or {declared.name}/test.json"
    raise InputError(f"has no items of {declared.title}: {expected}", file=data or own)


def _is_baseline(folder: Path) -> bool:
    return (folder / _BASELINE_RECORD).is_file()


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
    splits = read_splits(path, declared)
    for name in SHOT_SPLITS:
        if name in splits and name != split and len(splits[name]):
            return splits[name].items
    # In a folder with a file called `test`, every file is one split of the same dataset.
    names = SHOT_SPLITS if path.stem.lower() == "test" else ()
    for beside in (path.with_name(name + suffix) for name in names for suffix in (path.suffix, *SUFFIXES)):
        if beside.is_file():
            return read_split(beside, declared, beside.stem if beside.suffix != ".json" else None).items
    if declared.splits == ("test",) and declared.shots.count and split in splits:
        return tuple(item for item in splits[split] if has_gold(item))
    return ()


def source_of(record: DatasetRecord, data: Path | None = None) -> ItemSource:
    """Find the items of a dataset of a run.

    Args:
        record: what was asked.
        data: a folder or file of items, if they are no longer where they were.

    Raises:
        InputError: the items are not there.
    """
    if record.study is not None and data is None:
        return study_source(Path(record.study))
    declared = find_dataset(record.declaration)
    bundled = BUNDLED if record.data == BUNDLED_NAME else None
    place = data or bundled
    file = items_file(record.declaration, declared, place, alone=True) if place else Path(record.data)
    if not file.is_file():
        raise InputError(
            f"the items of {record.title} are no longer there: name their folder with {argument('data', 'DIR')}",
            file=file,
        )
    return ItemSource(declared, record.declaration, read_split(file, declared), file)


def study_source(path: Path, datasets: Sequence[str] = ()) -> ItemSource:
    """Find the items of a study, which are asked exactly as people saw them.

    Args:
        path: the study's folder.
        datasets: the name of its dataset, or nothing.

    Raises:
        UsageError: another dataset is named.
        InputError: there is no study, or its items cannot be read.
    """
    folder = open_study(path)
    declared = folder.declared()
    if datasets and [find_dataset(name).name for name in datasets] != [declared.name]:
        raise UsageError(
            f"the study {shown(folder.path)} is about {declared.title}; leave {argument('datasets')} out"
        )
    items = tuple(folder.items())
    split = Split("test", items, lengths=dialogue_lengths(items))
    own = folder.path / folder.plan.dataset
    name = str(own) if own.exists() else folder.plan.dataset
    return ItemSource(declared, name, split, folder.path / "items.jsonl", folder.path)
