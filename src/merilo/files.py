"""Reading tables that users supply.

Ordinary rows are read by columns (`merilo.plain_rows`). From the first row that is not ordinary, the standard
library's `csv` reads a block of rows at a time. It is slower, but it gives the number of each row and shows
whether the row is complete, which error messages need.
"""

from __future__ import annotations

import codecs
import csv
import gc
import hashlib
import re
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from io import BufferedReader, TextIOWrapper
from itertools import chain, islice
from pathlib import Path
from stat import S_ISDIR, S_ISREG
from typing import TYPE_CHECKING, Final, NamedTuple

from merilo.errors import InputError
from merilo.wording import shortened, shown

if TYPE_CHECKING:
    # Importing polars takes half a second, so it is loaded only when tables are read.
    import polars as pl


@contextmanager
def collecting_later() -> Iterator[None]:
    """Disable the cyclic garbage collector while many objects without cycles are made.

    It would take most of the time.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


#: Called with the number of bytes read since the last call.
Progress = Callable[[int], None]

#: Rows that are parsed, checked and turned into columns together.
BLOCK: Final = 50_000

#: The longest field that is read, in characters; a field may hold a whole dialogue.
LONGEST_FIELD: Final = 1 << 28

#: Tables with more columns are rejected; annotation tables have far fewer.
MOST_COLUMNS: Final = 10_000

_BYTE_ORDER_MARKS: Final = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)

#: A quoted name of a column, which may hold another table's delimiter.
_QUOTED: Final = re.compile(r'"[^"]*"')

#: The first line of a table for spreadsheets, which names the separator.
_SEPARATOR_LINE: Final = re.compile(r'"?sep=([\t;,|])"?')

_SIGNATURES: Final = (
    (b"PK\x03\x04", "a ZIP archive or an Excel workbook"),
    (b"\xd0\xcf\x11\xe0", "an old Excel workbook"),
    (b"\x1f\x8b", "a gzip archive"),
    (b"%PDF", "a PDF document"),
    (b"\x89PNG", "a picture"),
)


@dataclass(frozen=True, slots=True)
class FileTable:
    """A delimited file as text columns.

    Attributes:
        file: the file's name as the user gave it.
        data: one text column per field; an empty field is null; a blank line is a row of nulls, so that row `i` of the
            table is row `i + first_row` of the file.
        first_row: the number of the first row as spreadsheets count: 2 if the file has a header.
    """

    file: str
    data: pl.DataFrame
    first_row: int = 2


def sha256(path: Path) -> str:
    """Compute the SHA-256 of a file's bytes, in hexadecimal."""
    with opened(path) as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


class Dialect(NamedTuple):
    """How a delimited file is written.

    Attributes:
        encoding: the encoding's name.
        delimiter: tab, semicolon, comma or vertical bar, whichever splits the header into most fields.
        skipped: how many bytes of UTF-8 the first line has if it names the delimiter for spreadsheets; else 0.
    """

    encoding: str
    delimiter: str
    skipped: int

    @property
    def header_row(self) -> int:
        """Return the number of the row of the header, from 1."""
        return 2 if self.skipped else 1


def _dialect(path: Path, encoding: str | None) -> Dialect:
    """Find how a delimited file is written.

    Args:
        path: the file.
        encoding: the encoding, if the user gave it.

    Raises:
        InputError: the file is missing, empty or not a text file.
    """
    with opened(path) as stream:
        head = stream.read(65536)
    if not head.strip():
        raise InputError("the file is empty", file=path)
    for signature, what in _SIGNATURES:
        if head.startswith(signature):
            raise InputError(f"is {what}, not a table of text; export it as TSV or CSV", file=path)
    if encoding is None:
        encoding = next((name for mark, name in _BYTE_ORDER_MARKS if head.startswith(mark)), "utf-8")
        if encoding == "utf-8" and b"\0" in head:
            raise InputError(
                "is not a table of text (it holds zero bytes; of UTF-16 without a mark, declare 'encoding: utf-16-le' "
                "or 'utf-16-be' in the reading)",
                file=path,
            )
    try:
        text = head.decode(encoding, errors="replace")
    except (LookupError, UnicodeError):
        raise InputError(f"there is no text encoding '{encoding}'", file=path) from None
    first = text.lstrip("\ufeff").splitlines(keepends=True)[0]
    if named := _SEPARATOR_LINE.fullmatch(first.rstrip("\r\n")):
        return Dialect(encoding, named[1], len(first.encode("utf-8", "replace")))
    return Dialect(encoding, max("\t;,|", key=_QUOTED.sub("", first).count), 0)


@contextmanager
def opened(path: Path) -> Iterator[BufferedReader]:
    """Open a user's file; a read error, also within the block, becomes an `InputError` of one sentence.

    Raises:
        InputError: the file is missing, a folder, a pipe or a device (which cannot be read twice), or not readable.
    """
    try:
        mode = path.stat().st_mode
        if S_ISDIR(mode):
            raise InputError("is a folder, not a file", file=path)
        if not S_ISREG(mode):
            raise InputError(
                "is a pipe or a device, which cannot be read twice; save it as a file", file=path
            )
        with path.open("rb") as stream:
            yield stream
    except FileNotFoundError:
        raise InputError("there is no such file", file=path) from None
    except OSError as error:
        raise InputError(f"cannot be read ({error.strerror})", file=path) from error


def read_text(path: Path, most: int) -> str:
    """Read a file of UTF-8 text whole.

    Raises:
        InputError: the file cannot be read, is larger than `most` bytes or not UTF-8.
    """
    with opened(path) as stream:
        if path.stat().st_size > most:  # before so much memory is reserved
            raise InputError(f"is larger than {most} bytes", file=path)
        content = stream.read()
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"is not UTF-8 text (byte {error.start + 1})", file=path) from error


def read_header(path: Path, encoding: str | None = None) -> list[str]:
    """Read the column names of a delimited file.

    Raises:
        InputError: the file cannot be read, or two columns share a name.
    """
    dialect = _dialect(path, encoding)
    with path.open(encoding=dialect.encoding, newline="") as lines:
        try:
            header = csv.reader(islice(lines, dialect.header_row - 1, None), delimiter=dialect.delimiter)
            return _header(header, path)
        except UnicodeDecodeError as error:
            raise _not_text(error, dialect.encoding, path) from error
        except csv.Error as error:
            raise InputError(f"has no readable header ({error})", file=path, row=1) from None


def read_table(
    path: Path,
    *,
    keep: Callable[[str], bool] = lambda _: True,
    encoding: str | None = None,
    progress: Progress | None = None,
) -> FileTable:
    """Read a TSV, CSV (comma, semicolon or bar) into text columns.

    Args:
        path: the file.
        keep: returns whether a column with this name is wanted; other columns are not held in memory.
        encoding: the encoding; by default, UTF-8 (with or without a byte order mark) or UTF-16 with a byte order mark.
        progress: called with the number of bytes read since the last call.

    Returns:
        The table; white space around a field is kept, empty fields are null, blank lines are left out.

    Raises:
        InputError: the file is not a table, it has another encoding, a row has too few or too many fields, or the file
            ends in the middle of a row.
    """
    import polars as pl  # noqa: PLC0415 - heavy

    dialect = _dialect(path, encoding)
    csv.field_size_limit(LONGEST_FIELD)
    with opened(path) as binary:
        try:
            with _rows(binary, dialect) as reader:
                header = _header(reader, path)
            # Unnamed columns, such as an index that pandas wrote, are no columns.
            wanted = [position for position, name in enumerate(header) if name and keep(name)]
            names = [header[position] for position in wanted]
            parts: list[list[pl.Series]] = [[pl.Series(dtype=pl.String)] for _ in names]
            for block in _all_blocks(binary, dialect, header, wanted, path, progress):
                for column, part in zip(parts, block.get_columns(), strict=True):
                    column.append(part)
        except UnicodeDecodeError as error:
            raise _not_text(error, dialect.encoding, path) from error
    # One column after the other, so that only one of them is there twice.
    parts.reverse()
    data = pl.DataFrame([pl.concat(parts.pop(), rechunk=True).alias(name) for name in names])
    return FileTable(shown(path), data, dialect.header_row + 1)


@contextmanager
def _rows(binary: BufferedReader, dialect: Dialect, width: int = 0) -> Iterator[Iterator[list[str]]]:
    """Yield the rows of a file from its current position, then `_END`; `width` is the number of fields, if known."""
    # A byte order mark, and a line that names the delimiter, occur only at the start.
    start, encoding = binary.tell() == 0, dialect.encoding
    stream = TextIOWrapper(binary, encoding if start or encoding != "utf-8-sig" else "utf-8", newline="")
    lines = islice(stream, dialect.header_row - 1 if start else 0, None)
    plain = _with_plain_quotes(lines, dialect.delimiter, width)
    try:
        yield csv.reader(chain(plain, [_END]), delimiter=dialect.delimiter)
    finally:
        stream.detach()


def _with_plain_quotes(lines: Iterable[str], delimiter: str, width: int) -> Iterator[str]:
    """Yield lines in which quotation marks that open no field are written as text.

    A mark opens a field only if its closing one stands before a delimiter or the end of a line. A file that ends in a
    field without a closing mark is cut, unless its lines are rows without it.
    """
    rest, waiting = iter(lines), deque[str]()
    while (line := waiting.popleft() if waiting else next(rest, None)) is not None:
        place = 0 if '"' in line else len(line)
        while place < len(line) and line[place] not in "\r\n":
            end: int | None = place
            if line[place] == '"':
                following: list[str] = []
                while (end := _closed("".join((line, *following)), place, delimiter)) is None:
                    more = waiting.popleft() if waiting else next(rest, None)
                    if more is None:
                        break
                    following.append(more)
                    while '"' not in following[-1] and (
                        more := waiting.popleft() if waiting else next(rest, None)
                    ):
                        following.append(more)
                whole = (line, *following)
                rows = all(part.count(delimiter) + 1 == width for part in whole if part.strip())
                if end == 0 or (end is None and rows and whole[-1].endswith(("\n", "\r"))):
                    waiting.extendleft(reversed(following))
                    stop = _end_of_text(line, place, delimiter)
                    text = line[place:stop].replace('"', '""')
                    line = f'{line[:place]}"{text}"{line[stop:]}'
                    end = place + len(text) + 2
                else:
                    line = "".join((line, *following))
                    end = len(line) if end is None else end
            place = line.find(delimiter, end) + 1 or len(line)
        yield line


def _end_of_text(line: str, place: int, delimiter: str) -> int:
    """Return where a field without quotation marks ends."""
    ends = (at for mark in (delimiter, "\r", "\n") if (at := line.find(mark, place)) >= 0)
    return min(ends, default=len(line))


#: A quoted field up to the mark that may close it.
_INSIDE: Final = re.compile(r'"[^"]*(?:""[^"]*)*')


def _closed(text: str, place: int, delimiter: str) -> int | None:
    """Return where a quoted field ends; 0 if its mark opens no field, `None` if it is not closed in the text."""
    match = _INSIDE.match(text, place)
    end = match.end() if match else len(text)
    if end >= len(text):
        return None
    return end + 1 if text[end + 1 : end + 2] in {"", delimiter, "\r", "\n"} else 0


def _all_blocks(  # noqa: PLR0917 - one file
    binary: BufferedReader,
    dialect: Dialect,
    header: list[str],
    wanted: list[int],
    path: Path,
    progress: Progress | None,
) -> Iterator[pl.DataFrame]:
    """Read the wanted columns block by block, named by position: ordinary rows by columns, other rows by `csv`."""
    from merilo.plain_rows import ordinary_rows  # noqa: PLC0415 - heavy

    read, row = 0, dialect.header_row + 1
    binary.seek(0)
    if codecs.lookup(dialect.encoding).name in {"utf-8", "utf-8-sig"}:
        for rows in ordinary_rows(binary, dialect.delimiter, len(header), wanted, dialect.skipped):
            yield rows.data
            row += rows.data.height
            if progress is not None:
                progress(rows.end - read)
            read = rows.end
    binary.seek(read)
    with _rows(binary, dialect, len(header)) as reader:
        if not read:
            next(reader)
        for block in _blocks(reader, header, path, row):
            yield _columns(block, wanted)
            if progress is not None:
                progress(binary.tell() - read)
                read = binary.tell()


#: A line appended after the file. It is parsed as a separate row, unless the file ends inside a quoted field:
#: then it becomes
#: part of that field. The `csv` module does not report this error itself.
_END: Final = "\0end\0"

_CUT_IN_QUOTES: Final = "the file ends in the middle of a quoted field; export it again"


def _blocks(
    reader: Iterator[list[str]], header: list[str], path: Path, start: int
) -> Iterator[list[list[str]]]:
    """Yield complete, checked rows in blocks; `start` is the number of the first row."""
    width, ended = len(header), False
    last: list[str] | None = None
    while not ended:
        # Read one row more than a block, to know before the check whether these are the file's last rows.
        rows = [] if last is None else [last]
        try:
            rows.extend(islice(reader, BLOCK + 1 - len(rows)))
        except csv.Error as error:
            raise InputError(f"is not a readable row ({error})", file=path, row=start + len(rows)) from None
        ended = len(rows) <= BLOCK or rows[-1] == [_END]
        last = rows.pop()
        if ended and last != [_END]:
            raise InputError(_CUT_IN_QUOTES, file=path, row=start + len(rows))
        if set(map(len, rows)) != {width}:
            rows = _checked(rows, start, header, path, ended=ended)
        if rows:
            yield rows
        start += len(rows)


def _checked(
    rows: list[list[str]], start: int, header: list[str], path: Path, *, ended: bool
) -> list[list[str]]:
    """Check that every row has as many fields as the header.

    A blank line becomes a row of nulls, so that later rows keep their numbers.
    """
    width = len(header)
    least = width - _trailing(header)
    checked = []
    for number, fields in enumerate(rows, start=start):
        own = fields[:width] if not any(fields[width:]) else fields
        if not own or len(own) == width or least <= len(own) < width:
            checked.append(own + [""] * (width - len(own)))
            continue
        _refuse_row(fields, header, number, path, at_end=ended and number == start + len(rows) - 1)
    return checked


def _trailing(header: list[str]) -> int:
    """Return how many columns at the end rows may leave out: those without a name, and the requester's of a batch.

    Batches of Mechanical Turk end in Approve and Reject, which a requester fills in.
    """
    names = list(reversed(header))
    answered = (place for place, name in enumerate(names) if name.startswith("Answer."))
    return max(
        next((place for place, name in enumerate(names) if name), 0),
        next(answered, 0) if "HITId" in header else 0,
    )


def _columns(rows: list[list[str]], wanted: list[int]) -> pl.DataFrame:
    import polars as pl  # noqa: PLC0415 - heavy

    columns = list(zip(*rows, strict=True))
    return pl.DataFrame(
        [
            pl.Series(str(position), columns[position], dtype=pl.String).replace("", None)
            for position in wanted
        ]
    )


def _refuse_row(fields: list[str], header: list[str], row: int, path: Path, *, at_end: bool) -> None:
    if at_end and len(fields) < len(header):
        raise InputError(
            f"the file ends in the middle of a row ({len(fields)} of {len(header)} fields); export it again",
            file=path,
            row=row,
            field=header[len(fields) - 1] if fields else None,
        )
    raise InputError(f"has {len(fields)} fields, but the header has {len(header)}", file=path, row=row)


def _header(reader: Iterator[list[str]], path: Path) -> list[str]:
    header = [name.strip().lstrip("\ufeff") for name in next(reader, [])]
    if header and _END in header[-1]:
        raise InputError(_CUT_IN_QUOTES, file=path, row=1)
    if not any(header):
        raise InputError("the first row is empty; it must name the columns", file=path, row=1)
    refuse_too_wide(header, path)
    doubled, times = Counter(name for name in header if name).most_common(1)[0]
    if times > 1:
        raise InputError("two columns have this name", file=path, row=1, field=doubled)
    return header


def refuse_too_wide(header: Sequence[str], path: Path) -> None:
    """Raise an error for a table with too many columns, which take more memory than rows.

    Raises:
        InputError: there are more than `MOST_COLUMNS`.
    """
    if len(header) > MOST_COLUMNS:
        raise InputError(f"has {len(header)} columns; at most {MOST_COLUMNS} are read", file=path)


def _not_text(error: UnicodeDecodeError, encoding: str, path: Path) -> InputError:
    """Build the error for the first undecodable byte; decoding is by blocks, so the line number is found separately."""
    line, guess = None, ""
    if encoding.startswith("utf-8"):
        guess = "; it may be Windows-1251: save it as UTF-8 (in Excel as 'CSV UTF-8')"
        with path.open("rb") as stream:
            for number, text in enumerate(stream, start=1):
                if text.decode(encoding, "replace").encode(encoding) != text:
                    line = number
                    break
    byte = error.object[error.start : error.start + 1].hex()
    return InputError(f"is not {encoding.upper()} text (byte 0x{byte}){guess}", file=path, row=line)


#: Reads the Parquet file on its standard input.
_PROBE: Final = "import sys, polars; polars.read_parquet(sys.stdin.buffer)"


def read_parquet(path: Path, *, own: bool = False) -> pl.DataFrame:
    """Read a Parquet file that may be damaged; Polars then raises an error, panics or ends the process.

    Args:
        path: the file.
        own: whether Merilo wrote the file. Other files are first read in a separate process.

    Raises:
        InputError: the file is missing or not a readable Parquet file.
    """
    import subprocess  # noqa: PLC0415 - only for Parquet files
    import sys  # noqa: PLC0415

    import polars as pl  # noqa: PLC0415 - heavy

    with opened(path) as stream:
        if not own:
            command = [sys.executable, "-P", "-c", _PROBE]
            probe = subprocess.run(command, stdin=stream, capture_output=True, check=False)  # noqa: S603 - fixed
            if probe.returncode:
                said = probe.stderr.decode(errors="replace").strip().splitlines()
                named = (line for line in reversed(said) if line.startswith("polars.exceptions."))
                raise _unreadable_parquet(path, next(named, ""))
            stream.seek(0)
        try:
            return pl.read_parquet(stream)
        except pl.exceptions.PolarsError as error:
            raise _unreadable_parquet(path, str(error)) from error
        except BaseException as error:
            if type(error).__name__ != "PanicException":  # which is a BaseException
                raise
            raise _unreadable_parquet(path, "") from None


def _unreadable_parquet(path: Path, said: str) -> InputError:
    why = (
        shortened(said.removeprefix("polars.exceptions.").partition(": ")[2] or said, 120) or "it is damaged"
    )
    return InputError(f"is not a readable Parquet file ({why})", file=path)
