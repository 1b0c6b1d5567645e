"""Read the ordinary rows of a delimited file column by column.

A row is ordinary if it has as many fields as the header, and quotes occur only around whole fields and doubled inside
them. Every CSV reader splits such rows into the same fields, so the fast reader of Polars can be used. This
reader stops at the first block with any other row, and the slower reader of `merilo.files` continues from there.
"""

from __future__ import annotations

import codecs
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from io import BufferedReader
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import polars as pl

#: The number of bytes in a block.
CHUNK: Final = 16 << 20

_NEWLINE: Final = ord("\n")
_RETURN: Final = ord("\r")
_QUOTE: Final = ord('"')

Places = NDArray[np.intp]


@dataclass(frozen=True, slots=True)
class Rows:
    """A block of consecutive ordinary rows.

    Attributes:
        data: the wanted columns as text, named by their positions; an empty field is null.
        end: the byte offset in the file at which the next row begins.
    """

    data: pl.DataFrame
    end: int


def ordinary_rows(
    stream: BufferedReader, delimiter: str, width: int, wanted: Sequence[int], skipped: int = 0
) -> Iterator[Rows]:
    """Read ordinary rows of UTF-8 text, from the start of a file up to the first block with any other row.

    Args:
        stream: the file, at its start.
        delimiter: the character between fields, in ASCII.
        width: the number of fields in the header. A table of one column has no ordinary rows, because a blank
            line may be a field.
        wanted: the positions of the columns to keep, ascending.
        skipped: how many bytes stand before the header, after a byte order mark.

    Yields:
        The rows block by block, without the header.
    """
    if width < 2 or not wanted:
        return
    start = len(codecs.BOM_UTF8) if stream.read(3) == codecs.BOM_UTF8 else 0
    start += skipped
    stream.seek(start)
    rest, header = b"", True
    while True:
        read = stream.read(CHUNK)
        chunk = rest + read
        # The last row may lack a line end.
        closing = b"" if len(read) == CHUNK or not chunk or chunk.endswith(b"\n") else b"\n"
        end = _end_of_ordinary_rows(chunk + closing, ord(delimiter), width)
        data = _columns((chunk + closing)[:end], delimiter, width, wanted) if end else None
        if data is None:
            return
        rest, start = chunk[end:], start + min(end, len(chunk))
        yield Rows(data[1:] if header else data, start)
        header = False


def _end_of_ordinary_rows(chunk: bytes, delimiter: int, width: int) -> int:
    """Find the end of the last complete row of a chunk; 0 if no row is complete, or if a row is not ordinary."""
    text = np.frombuffer(chunk, dtype=np.uint8)
    ends = np.flatnonzero((text == delimiter) | (text == _NEWLINE))
    quotes = np.flatnonzero(text == _QUOTE) if b'"' in chunk else np.zeros(0, dtype=np.intp)
    if quotes.size:
        ends = ends[np.searchsorted(quotes, ends) % 2 == 0]
    last = np.flatnonzero(text[ends] == _NEWLINE)
    # Every row has `width` fields: every `width`-th field end is a line end, and no other field end is.
    if not last.size or not np.array_equal(last, np.arange(width - 1, last.size * width, width)):
        return 0
    end = int(ends[last[-1]]) + 1
    if not _quotes_are_ordinary(text, quotes[quotes < end], delimiter):
        return 0
    rows = chunk[:end]
    if b"\0" in rows or (b"\r" in rows and rows.count(b"\r") != rows.count(b"\r\n")):
        return 0
    try:
        rows.decode("utf-8")
    except UnicodeDecodeError:
        return 0
    return end


def _quotes_are_ordinary(text: NDArray[np.uint8], quotes: Places, delimiter: int) -> bool:
    """Check that quotes are even in number and occur only around whole fields and doubled inside them."""
    opening, closing = quotes[::2], quotes[1::2]
    doubled = opening[1:] == closing[:-1] + 1
    before = text[opening - 1]
    begins = (opening == 0) | (before == delimiter) | (before == _NEWLINE)
    begins[1:] |= doubled
    after = text[closing + 1]
    ends = (after == delimiter) | (after == _NEWLINE) | (after == _RETURN)
    ends[:-1] |= doubled
    return bool(begins.all() and ends.all())


def _columns(rows: bytes, delimiter: str, width: int, wanted: Sequence[int]) -> pl.DataFrame | None:
    """Parse the wanted columns of ordinary rows with Polars; `None` if Polars finds other fields."""
    import polars as pl  # noqa: PLC0415 - heavy

    header = delimiter.join(map(str, range(width))) + "\n"
    names = [str(place) for place in wanted]
    try:
        data = pl.read_csv(header.encode() + rows, separator=delimiter, columns=names, infer_schema=False)
    except pl.exceptions.PolarsError:
        return None
    return data.with_columns(pl.when(pl.col(name) != "").then(pl.col(name)).alias(name) for name in names)
