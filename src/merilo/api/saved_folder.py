"""Writing a result as a folder of tables and a JSON file."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

import polars as pl

from merilo.atomic_write import new_folder, refuse_existing
from merilo.strict_json import Json, as_text


def save_folder(
    folder: str | Path,
    name: str,
    content: dict[str, Json],
    tables: Mapping[str, pl.DataFrame | None],
    *,
    force: bool,
    needed: Iterable[Path],
) -> dict[str, Json]:
    """Write a folder that appears only when it is complete.

    Args:
        folder: the new folder.
        name: the name of the JSON file.
        content: its content.
        tables: mapping from a file's name to its table; `None` writes no file.
        force: replace an existing folder.
        needed: the input files of the result, which must not be inside the folder.

    Returns:
        The content.

    Raises:
        OutputError: the folder exists and `force` is not given, or it contains an input file.
    """
    refuse_existing(Path(folder), force=force, needed=needed)
    with new_folder(Path(folder), force=force) as place:
        (place / name).write_text(as_text(content), encoding="utf-8")
        for file, table in tables.items():
            if table is not None:
                table.write_csv(place / file)
    return content
