"""One file of answers as Merilo's columns (`Export`), whatever program wrote it, and its times and numbers.

`loading` makes a table of texts of any file; `forms` reads those of known platforms, `label_studio` those of Label
Studio, `plain` all others. `merilo.people.reading` makes the responses of a study of them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final, Literal

import polars as pl

from merilo.files import FileTable
from merilo.responses import Unread
from merilo.settings import Platform

#: The platforms' display names.
NAMES: Final[Mapping[Platform, str]] = {
    "toloka": "Toloka",
    "abc": "ABC Elementary",
    "label-studio": "Label Studio",
    "mturk": "Amazon Mechanical Turk",
    "table": "a plain table",
}


#: The column of row numbers, while a reader splits or joins rows.
ROW: Final = "\x1frow"

#: The input field with the known answer of a control item, for platforms without control items.
CONTROL_FIELDS: Final = ("golden", "control")

#: The column of the response table -> what a value in it is, and its name in a reading.
PARSED: Final[Mapping[str, tuple[Literal["time", "seconds", "reward"], str]]] = {
    "started": ("time", "started"),
    "submitted": ("time", "submitted"),
    "page_seconds": ("seconds", "seconds"),
    "page_reward": ("reward", "reward"),
}


@dataclass(frozen=True, slots=True)
class Export:
    """One file of a platform, with Merilo's column names.

    Attributes:
        file: the file's name.
        inputs: the items' input fields, one row per response.
        rows: `respondent`, `answer`, `control`, `is_control`, `page`, `started`, `submitted`, `page_seconds`,
            `page_reward`, `dropped` (a reason, or null), `row` and, if the file has arms, `arm`, one row per response.
        answer_field: the column of the answers.
        answer_fields: all answer columns that the user could have chosen.
        currency: the currency of the rewards, if the platform has one.
        unread: times and rewards that could not be read.
        scored: whether the answers were scored elsewhere; see `Responses`.
    """

    file: str
    inputs: pl.DataFrame
    rows: pl.DataFrame
    answer_field: str
    answer_fields: tuple[str, ...]
    currency: str | None = None
    unread: tuple[Unread, ...] = ()
    scored: bool = False


def export_of_columns(
    table: FileTable,
    data: pl.DataFrame,
    places: Mapping[str, str | None],
    inputs: Mapping[str, str],
    known: pl.Expr,
    *,
    is_control: pl.Expr | None = None,
    dropped: pl.Expr | None = None,
) -> Export:
    """Build an export from text columns with one response per row.

    Args:
        table: the table as it was read.
        data: its columns, rewritten by the reader if needed, with the rows' numbers in `ROW`.
        places: `respondent`, `answer`, `page`, `started`, `submitted`, `page_seconds`, `page_reward`, `arm` -> the
            column.
        inputs: the columns of the input fields -> the fields' names.
        known: the known answer of a control item.
        is_control: whether the row is a control item; by default, whether its known answer is there.
        dropped: the reason why a row is no response.
    """
    data = in_seconds(data, places.get("page_seconds"))
    texts = {name: column(data, places.get(name)) for name in ("respondent", "answer", "page", *PARSED)}
    parsed = {
        name: moment(texts[name])
        if what == "time"
        else number(texts[name], LONGEST_PAGE if what == "seconds" else _MOST)
        for name, (what, _) in PARSED.items()
    }
    names = (str(places["respondent"]), str(places["answer"]))
    header = pl.all_horizontal(pl.col(name) == name for name in names if name in data.columns)
    why = pl.when(header).then(pl.lit(HEADER))
    rows = data.select(
        respondent=texts["respondent"],
        answer=texts["answer"],
        control=known,
        is_control=known.is_not_null() if is_control is None else is_control,
        page=texts["page"],
        **parsed,
        dropped=why if dropped is None else pl.coalesce(why, dropped),
        row=pl.col(ROW).cast(pl.UInt32),
        **({"arm": pl.col(arm)} if (arm := places.get("arm")) else {}),
    )
    fields = data.select(pl.col(name).alias(field) for name, field in inputs.items())
    timed = rows.with_columns(page_seconds=_seconds())
    answer, unread = str(places["answer"]), tuple(_unread(data, rows, timed, places, table.file))
    return Export(table.file, fields, timed, answer, (answer,), unread=unread)


def _seconds() -> pl.Expr:
    """Return the seconds of each page: the platform's duration or else that of its times, which may cross midnight."""
    seconds = (pl.col("submitted") - pl.col("started")).dt.total_milliseconds() / 1000
    of_day = (pl.col("started").dt.year() == 1970) & (pl.col("submitted").dt.year() == 1970)
    crossing = pl.when(of_day & (seconds < 0)).then(seconds + 24 * 3600).otherwise(seconds)
    possible = pl.when(crossing.is_between(0, LONGEST_PAGE)).then(crossing)
    return pl.coalesce("page_seconds", possible)


def _unread(
    data: pl.DataFrame,
    rows: pl.DataFrame,
    timed: pl.DataFrame,
    places: Mapping[str, str | None],
    file: str,
) -> Iterable[Unread]:
    """Find the times and numbers of the text columns `data` that are missing in the parsed columns `rows`.

    In `timed`, durations come from times too: two times may be no duration.
    """
    for name, (what, _) in PARSED.items():
        source = places.get(name)
        if source is None or source not in data.columns or not rows[name].null_count():
            continue
        yield from _first_unread(rows, (pl.lit(data[source])), rows[name].is_null(), what, source, file)
    between = [str(places.get(name)) for name in ("started", "submitted")]
    if timed["page_seconds"].null_count() and {*between} <= {*data.columns}:
        both = rows["started"].is_not_null() & rows["submitted"].is_not_null()
        text = pl.concat_str([pl.lit(data[name]) for name in between], separator=" – ")
        lost = both & timed["page_seconds"].is_null() & rows["page_seconds"].is_null()
        yield from _first_unread(rows, text, lost, "seconds", " – ".join(between), file)


def _first_unread(  # noqa: PLR0917 - one kind of value
    rows: pl.DataFrame,
    text: pl.Expr,
    lost: pl.Series,
    what: Literal["time", "seconds", "reward"],
    source: str,
    file: str,
) -> Iterable[Unread]:
    first = rows.select("row", "dropped", text=text).filter(
        lost, pl.col("text").str.strip_chars() != "", pl.col("dropped").ne_missing(HEADER)
    )
    if first.height:
        yield Unread(what, source, first["row"].n_unique(), file, first["row"][0], first["text"][0])


def numbered(table: FileTable) -> pl.DataFrame:
    """Return the columns of a table with the rows' numbers in `ROW`, unless they are there."""
    return table.data if ROW in table.data.columns else table.data.with_row_index(ROW, offset=table.first_row)


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

#: Larger rewards are treated as unreadable, so that sums over pages stay finite.
_MOST: Final = 1e15
#: Longer durations in seconds are treated as unreadable: nobody works on a page for more than 30 days.
LONGEST_PAGE: Final = 30 * 24 * 3600.0

#: Why a row that repeats the header is no response: files that were put together have several.
HEADER: Final = "header"


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
    times = times.dt.replace_time_zone(None)
    return times if times.null_count() == texts.null_count() else times.fill_null(_since_1970(texts))


def _since_1970(texts: pl.Series) -> pl.Series:
    """Parse seconds since 1970, of 10 digits, and milliseconds, of 13 digits."""
    text = texts.str.strip_chars()
    seconds = text.set(~text.str.contains(r"^\d{10}(\.\d+)?$"), None).cast(pl.Float64) * 1000
    milliseconds = text.set(~text.str.contains(r"^\d{13}$"), None).cast(pl.Float64)
    return milliseconds.fill_null(seconds).cast(pl.Int64).cast(pl.Datetime("ms"))


def number(text: pl.Expr, most: float = _MOST) -> pl.Expr:
    """Parse a number with a decimal point or comma; other texts, negative and larger numbers become null."""
    value = text.str.strip_chars().str.replace(",", ".", literal=True).cast(pl.Float64, strict=False)
    return pl.when(value.is_finite() & (value >= 0) & (value < most)).then(value)


def in_seconds(data: pl.DataFrame, name: str | None) -> pl.DataFrame:
    """Convert a column whose name ends in `ms` from milliseconds to seconds."""
    if not name or not re.search(r"(?:^|[_\W])(?:ms|msec|millis|milliseconds|мс)$|[a-zа-я]M[sS]$", name):
        return data
    return data.with_columns((number(pl.col(name)) / 1000).cast(pl.String).alias(name))


def column(data: pl.DataFrame, name: str | None) -> pl.Expr:
    """Return a column, or nulls if it is missing."""
    return pl.col(name) if name in data.columns else pl.lit(None, dtype=pl.String)
