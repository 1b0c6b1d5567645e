"""Check a dataset's files against the benchmark's rules: all problems in one pass, each with file and JSON path."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from merilo.datasets import dataset
from merilo.datasets.custom import read_declaration
from merilo.datasets.dataset_files import own_file
from merilo.datasets.declaration import CATALOGUE, Dataset
from merilo.datasets.folders import META
from merilo.datasets.validation.folder import OWN, Contents, Violation, read_contents
from merilo.datasets.validation.item_rules import check_items
from merilo.datasets.validation.metadata import check_metadata, check_readmes
from merilo.datasets.validation.prompts import check_prompts, media_fields
from merilo.errors import InputError

__all__ = ["Contents", "Violation", "validate"]


def validate(path: Path, declared: Dataset | None = None) -> Contents:
    """Check a dataset's folder, or a single file of items.

    Args:
        path: the folder, the file, or a declaration that names it.
        declared: the dataset's declaration; by default found by its name, or in `dataset.yaml` beside the data.

    Returns:
        Everything that was found.

    Raises:
        InputError: there is nothing at the path.
    """
    if path.suffix in {".yaml", ".yml"}:
        declared = dataset(str(path))
        path = own_file(declared) or path.parent
    elif declared is None and (path / OWN).is_file() and not (path / META).is_file():
        with suppress(InputError):  # the fault of a declaration is reported with those of the items
            own = dataset(str(path))
            declared, path = (own, own_file(own) or path) if own.items else (None, path)
    contents = read_contents(path, declared)
    contents.declared = declared or _known(path, contents)
    contents.media = media_fields(contents)
    for check in (check_metadata, check_readmes, check_prompts, check_items):
        check(contents)
    contents.problems = sorted(set(contents.problems), key=lambda problem: problem.order)
    contents.notes = sorted(set(contents.notes), key=lambda note: note.order)
    return contents


def _known(path: Path, contents: Contents) -> Dataset | None:
    own = contents.root / OWN
    if own.is_file():
        contents.files.append(OWN)
        try:
            return read_declaration(own)
        except InputError as error:
            contents.wrong(OWN, "", error.message)
    named = str(contents.meta.get("dataset_name")) if contents.meta else ""
    for name in (named, path.name, path.stem, contents.root.resolve().name):
        if name.lower() in CATALOGUE:
            return CATALOGUE[name.lower()]
    # Only items of the exam have these fields.
    exam = any({"id_task", "variant"} <= place.item.meta.keys() for place in contents.places)
    return CATALOGUE["use"] if exam else None
