"""Times, numbers and JSON values as exports write them, and any table as columns of texts."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

import polars as pl

from merilo.errors import InputError
from merilo.strict_json import Json

#: If all times of an export have one of these formats, the other formats are not tried.
_WITHOUT_ZONE: Final = ("%Y-%m-%dT%H:%M:%S%.f", "%Y-%m-%d %H:%M:%S%.f")
#: The platforms' formats of times, most common first; the offset from UTC follows.
_MOMENTS: Final = (
    "%Y-%m-%d %H:%M:%S%.f", "%Y-%m-%d %H:%M", "%d.%m.%Y %H:%M:%S%.f", "%d.%m.%Y %H:%M", "%Y/%m/%d %H:%M:%S%.f",
    "%Y %b %d %H:%M:%S",
)  # fmt: skip
_OFFSET: Final = r"(:\d\d(?:\.\d+)?)\s*([+-]\d\d(?::?\d\d)?)$"
#: `Thu Oct 09 07:30:20 PDT 2025`, as Mechanical Turk writes times.
_YEAR_AT_THE_END: Final = r"^\w{3} (\w{3} +\d{1,2} \d\d:\d\d:\d\d [A-Z]{3,4}) (\d{4})$"
_ZONES: Final = {
    "Z": "+0000", "UTC": "+0000", "GMT": "+0000", "PST": "-0800", "PDT": "-0700", "MST": "-0700", "MDT": "-0600",
    "CST": "-0600", "CDT": "-0500", "EST": "-0500", "EDT": "-0400",
}  # fmt: skip

#: Larger rewards and durations are treated as unreadable, so that sums over pages stay finite.
_MOST: Final = 1e15


def moment(text: pl.Expr) -> pl.Expr:
    """Parse a time in the platforms' formats, such as `2023-09-29T06:44:05.190` or `2023-11-10 09:25:22`.

    Other texts become null, so that an invalid time affects only the duration and not the answer. A time with a zone is
    converted to UTC; a time of day gets the date 1970-01-01.
    """
    return text.map_batches(_moments, return_dtype=pl.Datetime("ms"), is_elementwise=True)


def _moments(texts: pl.Series) -> pl.Series:
    for form in _WITHOUT_ZONE:
        times = texts.str.strip_chars().str.to_datetime(form, time_unit="ms", strict=False)
        if times.null_count() == texts.null_count():
            return times
    text = pl.col("text")
    zone = text.str.extract(r"\d\s*([A-Z]+)$").replace_strict(_ZONES, default="")
    in_zone, with_offset = text.str.replace(r"\s*[A-Z]+$", "") + zone, text.str.replace(_OFFSET, "$1$2")
    written = (
        texts.alias("text").to_frame()
        .select(text.str.strip_chars().str.replace(_YEAR_AT_THE_END, "$2 $1"))
        .select(pl.when(zone != "").then(in_zone).otherwise(text))
        .select(text.str.replace(r"(\d)T(\d)", "$1 $2").str.replace(r"^(\d{1,2}:\d\d)", "1970-01-01 $1"))
        .select(pl.when(text.str.contains(_OFFSET)).then(with_offset).otherwise(text + "+0000"))
        .to_series()
    )  # fmt: skip
    times = pl.Series([None], dtype=pl.Datetime("ms", "UTC")).new_from_index(0, len(texts))
    # A format is tried only on rows that earlier formats did not parse, because most exports use a single format.
    for form in _MOMENTS:
        if times.null_count() == texts.null_count():
            break
        times = times.fill_null(written.str.to_datetime(f"{form}%#z", time_unit="ms", strict=False))
    return times.dt.replace_time_zone(None)


def number(text: pl.Expr) -> pl.Expr:
    """Parse a number with a decimal point or comma; other texts, negative and infinite numbers become null."""
    value = text.str.strip_chars().str.replace(",", ".", literal=True).cast(pl.Float64, strict=False)
    return pl.when(value.is_finite() & (value >= 0) & (value < _MOST)).then(value)


def in_seconds(data: pl.DataFrame, name: str | None) -> pl.DataFrame:
    """Convert a column whose name ends in `ms` from milliseconds to seconds."""
    if not name or not re.search(r"(?:^|[_\W])(?:ms|msec|millis|milliseconds|мс)$|[a-zа-я]M[sS]$", name):
        return data
    return data.with_columns((number(pl.col(name)) / 1000).cast(pl.String).alias(name))


def column(data: pl.DataFrame, name: str | None) -> pl.Expr:
    """Return a column, or nulls if it is missing."""
    return pl.col(name) if name in data.columns else pl.lit(None, dtype=pl.String)


def json_text(value: object) -> str | None:
    """Convert a JSON value to text: strings are unchanged; `null` and the empty string become `None`.

    Example:
        >>> json_text("A"), json_text(4), json_text(["A"]), json_text(""), json_text(None)
        ('A', '4', '["A"]', None, None)
    """
    if value is None or value == "":
        return None
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


def options_text(options: Sequence[Json]) -> str | None:
    """Convert chosen options to text: one option as it is, several as a JSON list.

    Example:
        >>> options_text(["A"]), options_text(["A", "B"]), options_text([])
        ('A', '["A", "B"]', None)
    """
    return json_text([*options] if len(options) > 1 else options[0] if options else None)


def text_columns(records: Sequence[Mapping[str, Json]]) -> pl.DataFrame:
    """Return JSON objects as a table of text columns, one for each key, in order of first appearance."""
    names = dict.fromkeys(name for record in records for name in record if name)
    return pl.DataFrame(
        {
            name: pl.Series([json_text(record.get(name)) for record in records], dtype=pl.String)
            for name in names
        }
    )


def as_texts(data: pl.DataFrame, file: Path | str) -> pl.DataFrame:
    """Convert every column of a table to text, and empty texts to null; a column without a name is left out.

    Raises:
        InputError: a column has values that cannot be converted to text.
    """
    columns = [
        _text_column(column, file)
        for column in data.get_columns()
        if column.name and not re.fullmatch(r"__index_level_\d+__", column.name)
    ]
    return pl.DataFrame(columns).with_columns(pl.all().replace("", None))


def _text_column(column: pl.Series, file: Path | str) -> pl.Series:
    """Convert any column to text: structures and lists to JSON, times to UTC, durations to seconds."""
    kind = column.dtype
    if kind.is_nested():
        plain = (value.to_list() if isinstance(value, pl.Series) else value for value in column)
        texts = [None if v is None else json.dumps(v, ensure_ascii=False, default=str) for v in plain]
        return pl.Series(column.name, texts, dtype=pl.String)
    if isinstance(kind, pl.Duration):
        column = column.dt.total_microseconds() / 1_000_000
    elif isinstance(kind, pl.Datetime) and kind.time_zone:
        column = column.dt.convert_time_zone("UTC").dt.replace_time_zone(None)
    try:
        return column.cast(pl.String)
    except pl.exceptions.PolarsError:
        raise InputError(
            f"has values of type {kind}, which cannot be read as text", file=file, field=column.name
        ) from None
