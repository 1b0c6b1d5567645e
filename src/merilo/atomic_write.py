"""Writing files and folders that must not be half-written, and tables that a spreadsheet must not run."""

from __future__ import annotations

import os
import re
import secrets
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

from merilo.errors import OutputError

if TYPE_CHECKING:
    # Half a second that writing a file must not cost: loaded where tables are made.
    import polars as pl


@contextmanager
def new_folder(path: Path, *, force: bool = False) -> Iterator[Path]:
    """Fill a folder that appears whole or not at all.

    Everything is written into a hidden folder beside `path`, which takes its place when the block ends well.

    Args:
        path: the folder to make.
        force: replace an existing folder or file.

    Yields:
        The hidden folder to write into.

    Raises:
        OutputError: `path` exists and `force` is not given, or it cannot be written.
    """
    refuse_existing(path, force=force)
    hidden = _beside(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        hidden.mkdir()
        yield hidden
        _replace(hidden, path)
    except OSError as error:
        raise OutputError(f"cannot be written ({error.strerror})", file=path) from error
    finally:
        shutil.rmtree(hidden, ignore_errors=True)


def _replace(new: Path, path: Path) -> None:
    """Put `new` in the place of `path`; the old folder goes only when the new one stands."""
    if not (path.exists() or path.is_symlink()):
        new.rename(path)
        return
    old = _beside(path)
    path.rename(old)
    try:
        new.rename(path)
    except BaseException:
        old.rename(path)
        raise
    if old.is_dir() and not old.is_symlink():
        shutil.rmtree(old, ignore_errors=True)
    else:
        old.unlink()


def _beside(path: Path) -> Path:
    """A new hidden name in the same folder."""
    return path.parent / f".{path.name[:60]}-{secrets.token_hex(4)}"


def refuse_existing(path: Path, *, force: bool, needed: Iterable[Path] = ()) -> None:
    """Never overwrite what the user has, unless told to; and never what the work reads, or the folder it runs in.

    Args:
        path: the file or folder that will be made.
        force: whether an existing one may be replaced.
        needed: the files that the work reads.

    Raises:
        OutputError: `path` exists and `force` is not given; or it is or holds what is needed.
    """
    try:
        there = path.exists() or path.is_symlink()
    except OSError as error:
        raise OutputError(f"cannot be written ({error.strerror})", file=path) from error
    if there and not force:
        raise OutputError("exists already; choose another place or give --force", file=path)
    place = _real(path)
    for one in needed:
        if _real(one).is_relative_to(place):
            raise OutputError(
                f"would be replaced together with {one}, which is read; choose another place", file=path
            )
    if _real(Path()).is_relative_to(place):
        raise OutputError("is the folder that the command runs in; choose another place", file=path)


def refuse_unwritable(path: Path) -> None:
    """Say before long work that its result could not be written.

    Args:
        path: the file that will be made, with the folders above it.

    Raises:
        OutputError: it is a folder, or the folder that is there may not be written.
    """
    place = _real(path)
    if place.is_dir():
        raise OutputError("is a folder; name a file", file=path)
    if place.exists() and not place.is_file():
        return
    folder = next(parent for parent in place.parents if parent.exists())
    if not folder.is_dir():
        raise OutputError(f"cannot be written ({folder} is no folder)", file=path)
    if not os.access(folder, os.W_OK | os.X_OK):
        raise OutputError(f"cannot be written ({folder} may not be changed)", file=path)


def _real(path: Path) -> Path:
    # Path.resolve raises on a symlink that points to itself.
    return Path(os.path.realpath(path))


def write_text(path: Path, text: str) -> None:
    """Write a file so that a reader sees the old content or the new, never a part.

    A link stays, and the file behind it is replaced; a pipe or a device is written to and stays what it is.

    Raises:
        OutputError: the file cannot be written.
    """
    place = _real(path)
    hidden = _beside(place)
    try:
        if place.exists() and not place.is_file():
            place.write_text(text, encoding="utf-8", newline="")
            return
        place.parent.mkdir(parents=True, exist_ok=True)
        with hidden.open("x", encoding="utf-8", newline="") as stream:
            stream.write(text)
            stream.flush()
            os.fsync(stream.fileno())
        hidden.replace(place)
    except OSError as error:
        raise OutputError(f"cannot be written ({error.strerror})", file=path) from error
    finally:
        with suppress(OSError):
            hidden.unlink()


#: Where a text begins like this, a spreadsheet would run it as a formula; numbers are let be.
_FORMULA: Final = r"([=@\t\r]|[+-][^0-9.,])"


def guarded(table: pl.DataFrame) -> pl.DataFrame:
    """A table for a spreadsheet: a text or a name that it would run as a formula gets an apostrophe before it."""
    import polars.selectors as cs  # noqa: PLC0415 - heavy

    return table.with_columns(cs.string().str.replace(f"^{_FORMULA}", "'${1}")).rename(
        {name: f"'{name}" for name in table.columns if re.match(_FORMULA, name)}
    )


def unguarded(table: pl.DataFrame) -> pl.DataFrame:
    """A table whose texts lose the apostrophes that `guarded` gave them."""
    import polars.selectors as cs  # noqa: PLC0415 - heavy

    return table.with_columns(cs.string().str.replace(f"^'{_FORMULA}", "${1}"))
