"""Write files and folders atomically, and protect tables from formula injection in spreadsheets."""

from __future__ import annotations

import os
import re
import secrets
import shutil
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING, Final

from merilo.errors import OutputError, argument

if TYPE_CHECKING:
    # Importing Polars takes half a second: it is loaded only when tables are made.
    import polars as pl


@contextmanager
def new_folder(path: Path, *, force: bool = False) -> Iterator[Path]:
    """Create a folder atomically: either all of its files appear or none.

    Everything is written into a hidden folder beside `path`, which is renamed to `path` if the block ends without an
    error.

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


def write_files(folder: Path, files: Mapping[str, bytes]) -> None:
    """Write files into a folder, with the subfolders that their names contain.

    Args:
        folder: the folder; it is made if it does not exist.
        files: the contents by name below the folder, with `/` between a subfolder and a name.
    """
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


def _replace(new: Path, path: Path) -> None:
    """Rename `new` to `path`; the old folder is deleted only after the new one is in place."""
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
    """Return a new hidden name in the same folder."""
    return path.parent / f".{path.name[:60]}-{secrets.token_hex(4)}"


def refuse_existing(path: Path, *, force: bool, needed: Iterable[Path] = ()) -> None:
    """Refuse to overwrite an existing path unless `force` is given, and always an input file or the working directory.

    Args:
        path: the file or folder that will be made.
        force: whether an existing one may be replaced.
        needed: the input files of the command.

    Raises:
        OutputError: `path` exists and `force` is not given; or it is or contains an input file or the working
            directory.
    """
    try:
        there = path.exists() or path.is_symlink()
    except OSError as error:
        raise OutputError(f"cannot be written ({error.strerror})", file=path) from error
    if there and not force:
        raise OutputError(
            f"exists already; choose another place or give {argument('force', given=True)}", file=path
        )
    place = _real(path)
    for file in needed:
        if _real(file).is_relative_to(place):
            raise OutputError(
                f"would be overwritten together with the input file {file}; choose another place", file=path
            )
    if _real(Path()).is_relative_to(place):
        raise OutputError("is the current working directory; choose another place", file=path)


def refuse_unwritable(path: Path) -> None:
    """Check before a long computation that its result can be written.

    Args:
        path: the file that will be made, with the folders above it.

    Raises:
        OutputError: the path is a folder, or its folder is not writable.
    """
    place = _real(path)
    if place.is_dir():
        raise OutputError("is a folder; name a file", file=path)
    if place.exists() and not place.is_file():
        return
    folder = next(parent for parent in place.parents if parent.exists())
    if not folder.is_dir():
        raise OutputError(f"cannot be written ({folder} is not a folder)", file=path)
    if not os.access(folder, os.W_OK | os.X_OK):
        raise OutputError(f"cannot be written (no permission to write to {folder})", file=path)


def _real(path: Path) -> Path:
    # Path.resolve raises on a symlink that points to itself.
    return Path(os.path.realpath(path))


#: Who may read a new file, apart from the umask: everybody, or its owner alone.
ANYBODY: Final = 0o666
OWNER: Final = 0o600


def write_text(path: Path, text: str, mode: int = ANYBODY) -> None:
    """Write a file atomically: a reader sees the old content or the new one, never a part.

    For a symbolic link the target file is replaced and the link is kept; a pipe or a device is written to directly.

    Args:
        path: the file.
        text: its content.
        mode: who may read it.

    Raises:
        OutputError: the file cannot be written.
    """
    write_bytes(path, text.encode("utf-8"), mode)


def write_bytes(path: Path, content: bytes, mode: int = ANYBODY) -> None:
    """Write a file atomically, as `write_text` does.

    Raises:
        OutputError: the file cannot be written.
    """
    with replaced(path, mode) as stream:
        stream.write(content)


@contextmanager
def replaced(path: Path, mode: int = ANYBODY) -> Iterator[IO[bytes]]:
    """Open a file that replaces `path` when the block ends without an error, as `write_text` does.

    Args:
        path: the file.
        mode: who may read it.

    Raises:
        OutputError: the file cannot be written.
    """
    place = _real(path)
    hidden = _beside(place)
    try:
        if place.exists() and not place.is_file():
            with place.open("wb") as stream:
                yield stream
            return
        place.parent.mkdir(parents=True, exist_ok=True)
        with open(hidden, "xb", opener=lambda name, flags: os.open(name, flags, mode)) as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        hidden.replace(place)
    except OSError as error:
        raise OutputError(f"cannot be written ({error.strerror})", file=path) from error
    finally:
        with suppress(OSError):
            hidden.unlink()


#: A spreadsheet may run a text that begins like this as a formula, unless it is a number. The minus of typography and
#: the signs of full width count too.
_SIGNS: Final = "=+\\-@\u2212\uff1d\uff0b\uff0d\uff20"
_FORMULA: Final = f"[ \t\r\n]*[{_SIGNS}]|[\t\r\n]"
_NUMBER: Final = (
    "[+\\-\u2212]?(?:[0-9]+|[0-9]{1,3}(?:[ \u00a0\u202f][0-9]{3})+)?(?:[.,][0-9]+)?(?:[eE][+-]?[0-9]+)?"
)

#: What ends a cell in one dialect of CSV or another.
_SEPARATORS: Final = ';,|\t"'
_NO_NUMBER: Final = f"(?=[{_SIGNS}])(?!{_NUMBER}(?:[{_SEPARATORS}]|$))"
_AFTER_SEPARATOR: Final = re.compile(f"(?<=[{_SEPARATORS}])('*){_NO_NUMBER}")
_GUARDED_AFTER_SEPARATOR: Final = re.compile(f"(?<=[{_SEPARATORS}])'('*){_NO_NUMBER}")


def guarded_text(text: str) -> str:
    """Put an apostrophe before a text that a spreadsheet would run as a formula; numbers stay as they are.

    Apostrophes before it count as its beginning, so that `unguarded_text` restores every text exactly.

    Example:
        >>> guarded_text("=1+2"), guarded_text("-0.5"), guarded_text("-1+cmd"), guarded_text("'@a")
        ("'=1+2", '-0.5', "'-1+cmd", "''@a")
    """
    return f"'{text}" if _is_formula(text) else text


def unguarded_text(text: str) -> str:
    """Remove the apostrophe that `guarded_text` put before a text."""
    return text[1:] if text.startswith("'") and _is_formula(text) else text


def _is_formula(text: str) -> bool:
    bare = text.lstrip("'")
    return re.match(_FORMULA, bare) is not None and re.fullmatch(_NUMBER, bare) is None


def guarded(table: pl.DataFrame) -> pl.DataFrame:
    """Put an apostrophe before each text or column name that a spreadsheet would run as a formula."""
    import polars as pl  # noqa: PLC0415 - heavy
    import polars.selectors as cs  # noqa: PLC0415

    text = cs.string()
    marked = pl.when(_are_formulas(text)).then(text.str.replace("^", "'")).otherwise(text)
    return table.with_columns(marked).rename({name: guarded_text(name) for name in table.columns})


def unguarded(table: pl.DataFrame) -> pl.DataFrame:
    """Remove the apostrophes that `guarded` added."""
    import polars as pl  # noqa: PLC0415 - heavy
    import polars.selectors as cs  # noqa: PLC0415

    text = cs.string()
    marked = text.str.starts_with("'") & _are_formulas(text)
    return table.with_columns(pl.when(marked).then(text.str.slice(1)).otherwise(text))


def guarded_csv(table: pl.DataFrame) -> str:
    """Return a table as CSV that runs no formula in any dialect: `guarded`, and every text is in quotation marks.

    Where another dialect may take a sign for the end of a cell, what follows is guarded too: `x;=1` is `x;'=1`.
    `unguarded_csv` restores the texts.
    """
    return _replaced(guarded(table), _AFTER_SEPARATOR, r"'\1").write_csv(quote_style="non_numeric")


def unguarded_csv(table: pl.DataFrame) -> pl.DataFrame:
    """Remove the apostrophes that `guarded_csv` added."""
    return unguarded(_replaced(table, _GUARDED_AFTER_SEPARATOR, r"\1"))


def _replaced(table: pl.DataFrame, pattern: re.Pattern[str], by: str) -> pl.DataFrame:
    import polars.selectors as cs  # noqa: PLC0415 - heavy

    columns = []
    for column in table.select(cs.string()):
        texts = column.filter(column.str.contains(f"[{_SEPARATORS}]'*[{_SIGNS}]")).unique().to_list()
        columns.append(column.replace(texts, [pattern.sub(by, text) for text in texts]) if texts else column)
    return table.with_columns(columns)


def _are_formulas(text: pl.Expr) -> pl.Expr:
    bare = text.str.strip_chars_start("'")
    return bare.str.contains(f"^(?:{_FORMULA})") & ~bare.str.contains(f"^(?:{_NUMBER})$")
