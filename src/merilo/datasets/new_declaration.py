"""`merilo datasets new`: make the declaration of a dataset from a file of questions, a folder or the hub."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from merilo.atomic_write import refuse_existing, write_bytes, write_text
from merilo.datasets.custom import declaration_text
from merilo.datasets.declaration import Dataset, ItemColumns
from merilo.datasets.folders import folder_dataset, is_folder_dataset
from merilo.datasets.guessing import NONE, Guess, Wishes, guess
from merilo.datasets.own_items import (
    QUESTION_SUFFIXES,
    QuestionRow,
    media_content,
    media_path,
    read_rows,
    read_splits,
)
from merilo.datasets.ready_items import hub_rows
from merilo.datasets.rendering import in_english
from merilo.errors import InputError, MeriloError, UsageError, argument
from merilo.items import Item, laid_open, read_split
from merilo.text import Language
from merilo.wording import choices, listed, shown

#: Splits of the hub that are asked, and those of solved items, in order of preference.
_ASKED: Final = ("test", "validation", "dev", "train")
_SOLVED: Final = ("shots", "dev", "validation", "train")


@dataclass(frozen=True, slots=True)
class NewDeclaration:
    """A declaration that was written.

    Attributes:
        path: its file.
        guess: what it says, and why.
        declared: the dataset, with the paths of its files.
        items: the items as they will be asked.
        solved: how many solved items there are beside them.
        written: the other files that were written.
    """

    path: Path
    guess: Guess
    declared: Dataset
    items: tuple[Item, ...]
    solved: int
    written: tuple[Path, ...]


def new_declaration(
    source: str,
    wishes: Wishes,
    *,
    out: Path | None = None,
    shots: Path | None = None,
    split: str | None = None,
    config: str | None = None,
    revision: str | None = None,
    force: bool = False,
) -> NewDeclaration:
    """Read questions, guess the declaration, and write it.

    Args:
        source: a file, which stays as it is; or a folder of the `datasets` package or a repository of the hub, whose
            rows are written beside the declaration.
        wishes: what is not to be guessed.
        out: the declaration, or a folder for `dataset.yaml`. Default: NAME.yaml beside a file, else NAME/dataset.yaml
            in the current folder.
        shots: a file of solved items with the same columns.
        split: the split of the hub or folder that is asked.
        config: the configuration on the hub.
        revision: a commit, branch or tag on the hub.
        force: replace existing files.

    Raises:
        UsageError: something could not be guessed; the message names the option for it.
        InputError: the source cannot be read, or its rows are not items.
        OutputError: a file exists or cannot be written.
    """
    file = Path(source)
    if file.is_file():
        if given := next((name for name, value in (("split", split), ("config", config)) if value), None):
            raise UsageError(f"a file has one split: leave {argument(given)} out", field=argument(given))
        place = _place(out, file.with_suffix(".yaml"))
        refuse_existing(place, force=force)
        return _declare(place, {"test": file, **({"shots": shots} if shots else {})}, wishes)
    if is_folder_dataset(file):
        place = _place(out, file / "dataset.yaml")
        refuse_existing(place, force=force)
        return _declare_folder(file, place, wishes)
    suffix = file.suffix.lower()
    if not file.exists() and (suffix in QUESTION_SUFFIXES or (suffix and "/" not in source)):
        raise InputError("there is no such file", file=file)
    wishes = replace(wishes, name=wishes.name or file.resolve().name)
    place = _place(out, Path(str(wishes.name)) / "dataset.yaml")
    refuse_existing(place, force=force)
    rows = _hub_rows(source, split, config, revision)
    files = {name: place.parent / f"{name}.jsonl" for name in rows}
    for path in files.values():
        refuse_existing(path, force=force)
    written: list[Path] = []
    try:
        for name, path in files.items():
            written += _write_rows(path, rows[name])
        made = _declare(place, files, wishes)
    except MeriloError:
        for path in written:
            path.unlink(missing_ok=True)
        raise
    return replace(made, written=(*written, *made.written))


def _place(out: Path | None, default: Path) -> Path:
    if out is None:
        return default
    return out if out.suffix in {".yaml", ".yml"} else out / "dataset.yaml"


def _declare_folder(folder: Path, place: Path, wishes: Wishes) -> NewDeclaration:
    """Write the declaration that a folder's metadata give, but for its name and groups."""
    made = folder_dataset(folder)
    declared, columns = made.declared, made.declared.items or ItemColumns()
    if wishes.group is not None:
        group = None if wishes.group == NONE else f"{declared.metrics[0]}.{{{wishes.group}}}"
        declared = replace(declared, extra=group)
    if wishes.cluster is not None:
        declared = replace(declared, cluster=None if wishes.cluster == NONE else wishes.cluster)
    splits = read_splits(Path(str(columns.file)), declared)
    items = splits.get("test", next(iter(splits.values()))).items
    for field in (*declared.fields_of_groups, *filter(None, [declared.cluster])):
        if all(item.value(field) is None for item in items):
            known = dict.fromkeys(name for item in items for name, _ in laid_open(item.meta))
            raise UsageError(f"no item has the field '{field}' ({choices(field, [*known])})")
    relative = replace(columns, file=_near(columns.file, place), shots=_near(columns.shots, place))
    write_text(place, declaration_text(replace(declared, items=relative)))
    solved = len(read_split(Path(columns.shots))) if columns.shots else 0
    language: Language = "en" if in_english(declared, items) else "ru"
    return NewDeclaration(
        place, Guess(declared, language, made.notes, ready=True), declared, items, solved, ()
    )


def _near(file: str | None, place: Path) -> str | None:
    """Return the path of a file from the folder of the declaration."""
    return (
        None
        if file is None
        else Path(os.path.relpath(Path(file).resolve(), place.parent.resolve())).as_posix()
    )


def _hub_rows(
    source: str, split: str | None, config: str | None, revision: str | None
) -> dict[str, list[dict[str, Any]]]:
    """Return the rows of the split that is asked, and those of a split of solved items."""
    found = hub_rows(source, config=config, revision=revision)
    if split is not None and split not in found:
        raise UsageError(
            f"{source} has no split '{split}' (it has {listed([*found])})", field=argument("split")
        )
    asked = split or next((name for name in _ASKED if name in found), next(iter(found)))
    solved = next((name for name in _SOLVED if name in found and name != asked), None)
    return {"test": found[asked], **({"shots": found[solved]} if solved else {})}


def _write_rows(path: Path, rows: Sequence[Mapping[str, Any]]) -> list[Path]:
    """Write rows as JSON Lines, and the pictures and sounds in them as files; return all files."""
    written, lines = [path], []
    for row in rows:
        line = dict(row)
        for name, value in row.items():
            if (content := media_content(value)) is not None:
                line[name] = str(media_path(value))
                written.append(path.parent / line[name])
                write_bytes(written[-1], content[0])
            elif isinstance(value, Mapping) and value.keys() == {"bytes", "path"}:
                line[name] = None
        lines.append(json.dumps(line, ensure_ascii=False, default=str))
    write_text(path, "".join(f"{line}\n" for line in lines))
    return written


def _declare(place: Path, files: Mapping[str, Path], wishes: Wishes) -> NewDeclaration:
    """Guess the declaration of a file and write it, with the pictures that the rows contain or name."""
    file = files["test"]
    rows = read_rows(file)
    if rows is None:
        beside = file.parent if is_folder_dataset(file.parent) else None
        instead = (
            f"give its folder: merilo datasets new {shown(beside)}"
            if beside
            else f"so its declaration needs no columns; check it with: merilo datasets validate {shown(file)}"
        )
        raise UsageError(f"is in the benchmark's format already, {instead}", file=file)
    guessed = guess(rows, wishes, file)
    columns = guessed.declared.items or ItemColumns()
    near = {
        name: Path(os.path.relpath(path.resolve(), place.parent.resolve())).as_posix()
        for name, path in files.items()
    }
    shots = str(files["shots"]) if "shots" in files else None
    declared = replace(guessed.declared, items=replace(columns, file=str(file), shots=shots))
    # Every row is read before anything is written.
    splits = read_splits(file, declared)
    contents: dict[str, bytes] = {}
    for path in files.values():
        contents |= dict(_media_files(read_rows(path) or [], declared, path))
    written = []
    for name, content in contents.items():
        if not (file.parent / name).exists():
            write_bytes(file.parent / name, content)
            written.append(file.parent / name)
    relative = replace(columns, file=near["test"], shots=near.get("shots"))
    write_text(place, declaration_text(replace(declared, items=relative)))
    items, solved = splits["test"].items, len(splits.get("shots", ()))
    return NewDeclaration(place, guessed, declared, items, solved, tuple(written))


def _media_files(rows: Sequence[QuestionRow], declared: Dataset, file: Path) -> Iterator[tuple[str, bytes]]:
    """Yield the path below the file's folder and the content of each picture or sound of the rows."""
    columns = declared.items or ItemColumns()
    for row in rows:
        for field in declared.media:
            value = row.values.get(columns.fields.get(field, field))
            path = media_path(value)
            if path is None:
                continue
            content = media_content(value)
            beside = file.parent / str(value)
            if content is None and not beside.is_file():
                raise InputError("names a file that does not exist", file=file, row=row.number, field=field)
            yield path, content[0] if content else beside.read_bytes()
