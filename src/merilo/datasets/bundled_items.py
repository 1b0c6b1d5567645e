"""Items that Merilo does not read from a user's file: its bundled examples, and datasets of the Hugging Face hub.

The hub is read by the `datasets` package, which also takes any folder laid out as a repository.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from logging import ERROR, getLogger
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final, cast

from merilo.datasets.declaration import Dataset
from merilo.errors import InputError, UsageError, missing_extra
from merilo.items import Item, Split, dialogue_lengths, item_of, ready_splits
from merilo.strict_json import Json

#: The folder of the examples, a file for each dataset.
BUNDLED: Final = Path(__file__).parent / "examples"


def examples(declared: Dataset) -> Mapping[str, Split]:
    """Read the bundled examples of a dataset: a test, and shots if the dataset has them.

    Raises:
        UsageError: the dataset is not one of the catalogue.

    Example:
        >>> from merilo.datasets import dataset
        >>> len(examples(dataset("use"))["test"])
        30
    """
    path = BUNDLED / f"{declared.name}.json"
    if not path.is_file():
        raise UsageError(f"Merilo includes no examples of '{declared.name}'")
    return ready_splits(path)


#: The repository of the benchmark's datasets on the hub, one configuration per dataset.
REPOSITORY: Final = "MERA-evaluation/MERA"


def pull(
    declared: Dataset, *, source: str = REPOSITORY, revision: str | None = None, cache: str | None = None
) -> list[Split]:
    """Load every split of a dataset.

    Args:
        declared: the dataset; its name is the configuration's.
        source: a repository of the hub, or a folder laid out as one.
        revision: a commit, branch or tag of the repository.
        cache: the folder for downloads; by default, the package's own, and none for a local folder.

    Returns:
        The splits, the test first.

    Raises:
        MissingPartError: the `datasets` package is not installed.
        InputError: the source has no such dataset, cannot be reached, or a row is not a valid item.
    """
    try:
        import datasets as hub  # noqa: PLC0415 - heavy, and an extra
    except ImportError as error:
        raise missing_extra("reading from the hub", "hub") from error
    hub.disable_progress_bars()
    # The package knows a local folder by its name alone, and would give the rows of an earlier version of its files.
    folder = TemporaryDirectory() if cache is None and Path(source).is_dir() else nullcontext(cache)
    with folder as place, _without_log("huggingface_hub"):
        try:
            loaded = hub.load_dataset(source, declared.name, revision=revision, cache_dir=place)
            splits = [split_of(str(name), [*rows], file=source) for name, rows in loaded.items()]
        except (OSError, ValueError, RuntimeError, hub.exceptions.DatasetsError) as error:
            reason = " ".join(str(error.__cause__ or error).split())[:300]
            raise InputError(f"'{declared.name}' cannot be loaded: {reason}", file=source) from error
    return sorted(splits, key=lambda split: split.name != "test")


@contextmanager
def _without_log(name: str) -> Iterator[None]:
    """Keep warnings of a package off the screen: each of its attempts to reach the hub would be one."""
    logger = getLogger(name)
    level = logger.level
    logger.setLevel(ERROR)
    try:
        yield
    finally:
        logger.setLevel(level)


def split_of(name: str, rows: Iterable[Mapping[str, Json]], *, file: object) -> Split:
    """Make a split from the hub's rows.

    Columns of the hub have one type for all rows: a field that an item lacks is null there and is left out here.

    Raises:
        InputError: a row is not a valid item.
    """
    items = tuple(_item(row, f"{name}[{number}]", file) for number, row in enumerate(rows))
    return Split(name, items, lengths=dialogue_lengths(items))


def _item(row: Mapping[str, Json], where: str, file: object) -> Item:
    entry: dict[str, Json] = dict(row)
    for key in ("inputs", "meta", "outputs"):
        value = entry.get(key)
        if isinstance(value, dict):
            entry[key] = {name: inner for name, inner in value.items() if inner is not None}
    return item_of(cast("Json", entry), file=file, where=where)
