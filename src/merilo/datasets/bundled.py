"""The examples included in Merilo: items written for it, for every dataset of the catalogue."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from merilo.datasets.declaration import Dataset
from merilo.errors import UsageError
from merilo.items import Split, read_splits

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
    return read_splits(path)
