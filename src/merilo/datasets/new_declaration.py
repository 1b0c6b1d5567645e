"""`merilo datasets new`: make the declaration of a dataset from a file of questions or a folder of the benchmark."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from merilo.atomic_write import refuse_existing, write_text
from merilo.datasets.custom import declaration_text
from merilo.datasets.dataset_files import (
    QuestionRow,
    absent_fields,
    media_path,
    read_rows,
    read_splits,
    unanswerable,
)
from merilo.datasets.declaration import Dataset, ItemColumns
from merilo.datasets.folders import META, folder_dataset, is_folder_dataset
from merilo.datasets.guessing import NONE, Wishes, guess
from merilo.datasets.rendering import in_english
from merilo.datasets.validation.folder import Violation, grouped
from merilo.errors import InputError, UsageError
from merilo.items import Item, laid_open
from merilo.text import Language
from merilo.wording import choices, shown

_NAME: Final = "dataset.yaml"


@dataclass(frozen=True, slots=True)
class NewDeclaration:
    """A declaration that was written.

    Attributes:
        path: its file.
        declared: the dataset, with the paths of its files.
        language: the language of its prompts.
        notes: what the user should check.
        items: the items as they will be asked.
        solved: how many solved items there are beside them.
        folder: whether it is that of a folder of the benchmark, whose items need no columns.
    """

    path: Path
    declared: Dataset
    language: Language
    notes: Sequence[str]
    items: tuple[Item, ...]
    solved: int
    folder: bool


def new_declaration(
    source: Path, wishes: Wishes, *, out: Path | None = None, shots: Path | None = None, force: bool = False
) -> NewDeclaration:
    """Read questions, guess the declaration, and write it.

    Args:
        source: a file, which stays as it is; or a folder with the benchmark's metadata.
        wishes: what is not to be guessed.
        out: the declaration, or a folder for `dataset.yaml`. Default: NAME.yaml beside a file.
        shots: a file of solved items with the same columns.
        force: replace an existing declaration.

    Raises:
        UsageError: something could not be guessed; the message names the option for it.
        InputError: the source cannot be read, or its rows are not items.
        OutputError: the declaration exists or cannot be written.
    """
    folder = is_folder_dataset(source)
    if not folder and not source.is_file():
        none = f"has no {META}: give a file of questions" if source.is_dir() else "there is no such file"
        raise InputError(none, file=source)
    place = out or (source / _NAME if folder else source.with_suffix(".yaml"))
    place = place if place.suffix in {".yaml", ".yml"} else place / _NAME
    refuse_existing(place, force=force)
    if folder:
        declared, notes = folder_dataset(source)
        declared, language = _grouped(declared, wishes), wishes.language
    else:
        rows = read_rows(source)
        if rows is None:
            raise UsageError(f"is in the benchmark's format already, {_instead(source)}", file=source)
        declared, language, notes = guess(rows, wishes, source)
        solved = None if shots is None else str(shots)
        columns = replace(declared.items or ItemColumns(), file=str(source), shots=solved)
        declared = replace(declared, items=columns)
        for path in filter(None, (source, shots)):
            _check_media(read_rows(path) or [], declared, path)
    columns = declared.items or ItemColumns()
    # Every row is read before anything is written.
    splits = read_splits(Path(str(columns.file)), declared)
    items = splits.get("test", next(iter(splits.values()))).items
    for _, field in absent_fields(items, declared):
        known = dict.fromkeys(name for item in items for name, _ in laid_open(item.meta))
        raise UsageError(f"no item has the field '{field}' ({choices(field, [*known])})")
    faults = unanswerable(items, declared)
    notes = [
        *notes,
        *grouped([Violation("", f"item {item.id}", f"{name} {why}".strip()) for item, name, why in faults]),
    ]
    near = replace(columns, file=_near(columns.file, place), shots=_near(columns.shots, place))
    write_text(place, declaration_text(replace(declared, items=near)))
    language = language or ("en" if in_english(declared, items) else "ru")
    return NewDeclaration(place, declared, language, notes, items, len(splits.get("shots", ())), folder)


def _instead(source: Path) -> str:
    if is_folder_dataset(source.parent):
        return f"give its folder: merilo datasets new {shown(source.parent)}"
    return f"so its declaration needs no columns; check it with: merilo datasets validate {shown(source)}"


def _grouped(declared: Dataset, wishes: Wishes) -> Dataset:
    """Return a folder's dataset with the groups and clusters that a user names."""
    group = None if wishes.group == NONE else f"{declared.metrics[0]}.{{{wishes.group}}}"
    cluster = None if wishes.cluster == NONE else wishes.cluster
    return replace(
        declared,
        extra=declared.extra if wishes.group is None else group,
        cluster=declared.cluster if wishes.cluster is None else cluster,
    )


def _near(file: str | None, place: Path) -> str | None:
    """Return the path of a file from the folder of the declaration."""
    return file and Path(os.path.relpath(Path(file).resolve(), place.parent.resolve())).as_posix()


def _check_media(rows: Sequence[QuestionRow], declared: Dataset, file: Path) -> None:
    """Check that every picture or sound of the rows is a file below `samples/`, beside the file of the rows."""
    columns = declared.items or ItemColumns()
    for row in rows:
        for field in declared.media:
            path = media_path(row.values.get(columns.fields.get(field, field)))
            if path is not None and not (file.parent / path).is_file():
                none = f"names a file that does not exist: {path}"
                raise InputError(none, file=file, row=row.number, field=field)
