"""The common result type of the platforms' readers, and functions shared by the readers."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Final, Literal

import polars as pl

from merilo.errors import InputError, UsageError, argument
from merilo.file_reading import Reading
from merilo.files import FileTable as Table
from merilo.responses import Unread
from merilo.strict_json import Json
from merilo.wording import listed

#: The column of row numbers, while a reader splits or joins rows.
ROW: Final = "\x1frow"

#: The input field with the known answer of a control item, for platforms without control items.
CONTROL_FIELDS: Final = ("golden", "control")


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
        project: a property that is equal in all exports of one project, with its description.
        currency: the currency of the rewards, if the platform has one.
        renamed: answers that the reader rewrote.
        unread: times and rewards that could not be read.
        scored: whether the answers were scored elsewhere; see `Responses`.
    """

    file: str
    inputs: pl.DataFrame
    rows: pl.DataFrame
    answer_field: str
    answer_fields: tuple[str, ...]
    project: str
    currency: str | None = None
    renamed: dict[str, str] = field(default_factory=dict)
    unread: tuple[Unread, ...] = ()
    scored: bool = False


def export_of_columns(
    table: Table,
    data: pl.DataFrame,
    places: Mapping[str, str | None],
    inputs: Mapping[str, str],
    known: pl.Expr,
    *,
    is_control: pl.Expr | None = None,
    dropped: pl.Expr | None = None,
) -> Export:
    """Build an export from the text columns of a table with one response per row.

    Args:
        table: the table as it was read.
        data: its columns, rewritten by the reader if needed; the rows are those of `table`, or have their
            numbers in `ROW`.
        places: `respondent`, `answer`, `page`, `started`, `submitted`, `page_seconds`, `page_reward` -> the column.
        inputs: the columns of the input fields -> the fields' names.
        known: the known answer of a control item.
        is_control: whether the row is a control item; by default, whether its known answer is there.
        dropped: the reason why a row is no response.
    """
    row = pl.col(ROW) if ROW in data.columns else pl.int_range(table.first_row, table.first_row + pl.len())
    found = {name: column(data, places.get(name)) for name in ("respondent", "answer", "page", *_WHAT)}
    rows = data.select(
        found["respondent"].alias("respondent"),
        found["answer"].alias("answer"),
        known.alias("control"),
        (known.is_not_null() if is_control is None else is_control).alias("is_control"),
        found["page"].alias("page"),
        moment(found["started"]).alias("started"),
        moment(found["submitted"]).alias("submitted"),
        number(found["page_seconds"]).alias("page_seconds"),
        number(found["page_reward"]).alias("page_reward"),
        (pl.lit(None, pl.String) if dropped is None else dropped).alias("dropped"),
        row.cast(pl.UInt32).alias("row"),
    )
    answer = str(places["answer"])
    return Export(
        file=table.file,
        inputs=data.select(pl.col(name).alias(field) for name, field in inputs.items()),
        rows=rows,
        answer_field=answer,
        answer_fields=(answer,),
        project=listed(sorted(inputs), 50),
        unread=_unread(data, rows, places, table.file),
    )


class SeveralAnswersError(UsageError):
    """A file has several answer columns and the user chose none.

    Attributes:
        names: the columns, without the platform's prefix.
    """

    def __init__(self, names: Sequence[str], file: str) -> None:
        super().__init__(
            f"there are several answer columns: name one with {argument('answer')} (choose from: {listed(names, 50)})",
            file=file,
        )
        self.names = tuple(names)


def require(header: Sequence[str], names: Iterable[str], file: str) -> None:
    """Check that a table has the required columns.

    Raises:
        InputError: a column is missing; the message lists the columns of the table.
    """
    for name in names:
        if name not in header:
            raise InputError(
                f"there is no such column (columns: {listed(list(header))})", file=file, field=name
            )


def choose_answer(data: pl.DataFrame, prefix: str, chosen: str | None, file: str) -> str:
    """Find the answer column.

    Args:
        data: the file's columns.
        prefix: the platform's prefix of answer columns.
        chosen: the user's choice, with or without the prefix.
        file: the file's name.

    Returns:
        The column's full name: the chosen column, or the only column with answers.

    Raises:
        InputError: the file has no answer column.
        UsageError: there are several answer columns and the user chose none, or the chosen column is missing.
    """
    names = [name for name in data.columns if name.startswith(prefix)]
    if not names:
        raise InputError(f"there is no answer column ({prefix}...)", file=file)
    shown = [name.removeprefix(prefix) for name in names]
    if chosen is not None:
        full = chosen if chosen.startswith(prefix) else prefix + chosen
        if full in names:
            return full
        near = get_close_matches(chosen.removeprefix(prefix), shown, n=1)
        hint = f", did you mean '{near[0]}'?" if near else ""
        raise UsageError(
            f"there is no answer column '{chosen}'{hint} (choose from: {listed(shown)})", file=file
        )
    filled = [name for name in names if data[name].null_count() < data.height]
    if len(filled) > 1:
        raise SeveralAnswersError(shown, file)
    return filled[0] if filled else names[0]


def column(data: pl.DataFrame, name: str | None) -> pl.Expr:
    """Return a column, or nulls if it is missing."""
    return pl.col(name) if name in data.columns else pl.lit(None, dtype=pl.String)


def json_text(value: Json) -> str | None:
    """Convert a JSON value to text: strings are unchanged; `null` and the empty string become `None`.

    Example:
        >>> json_text("A"), json_text(4), json_text(["A"]), json_text(""), json_text(None)
        ('A', '4', '["A"]', None, None)
    """
    if value is None or value == "":
        return None
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def options_text(options: Sequence[Json]) -> str | None:
    """Convert chosen options to text: one option as it is, several as a JSON list.

    Example:
        >>> options_text(["A"]), options_text(["A", "B"]), options_text([])
        ('A', '["A", "B"]', None)
    """
    return json_text([*options] if len(options) > 1 else options[0] if options else None)


#: What a reading names -> the column of an export's rows.
_NAMED: Final = {
    "page": "page",
    "started": "started",
    "submitted": "submitted",
    "seconds": "page_seconds",
    "reward": "page_reward",
}


def named_places(reading: Reading, table: Table) -> dict[str, str]:
    """Return the columns that a reading names in an export whose other columns have fixed names, by what they hold.

    Raises:
        UsageError: a column is missing, or what it holds has a fixed place in such exports.
    """
    fixed = [name for name in ("control", "score", "attempt", "skipped") if getattr(reading.columns, name)]
    if fixed:
        raise UsageError(
            f"exports of this platform have a fixed place for {listed(fixed)}: leave it out, or read them with "
            "'platform: table'",
            file=table.file,
            field=f"columns.{fixed[0]}",
        )
    places = {place: getattr(reading.columns, name) for name, place in _NAMED.items()}
    places["respondent"] = next(iter(reading.annotator), None)
    for name in (*places.values(), reading.columns.arm):
        if name is not None and name not in table.data.columns:
            raise UsageError(
                f"there is no such column (columns: {listed(table.data.columns, 30)})",
                file=table.file,
                field=name,
            )
    return {place: name for place, name in places.items() if name}


def named_columns(reading: Reading) -> set[str]:
    """Return the columns besides inputs and answers that a reading names."""
    of_columns = reading.columns.model_dump(exclude={"score"}).values()
    return {*reading.annotator, *filter(None, of_columns)}


def text_columns(records: Sequence[Mapping[str, Json]]) -> pl.DataFrame:
    """Return JSON objects as a table of text columns, one for each key, in order of first appearance."""
    names = dict.fromkeys(name for record in records for name in record)
    return pl.DataFrame(
        {name: pl.Series([json_text(one.get(name)) for one in records], dtype=pl.String) for name in names}
    )


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


def moment(text: pl.Expr) -> pl.Expr:
    """Parse a time in the platforms' formats, such as `2023-09-29T06:44:05.190` or `2023-11-10 09:25:22`.

    A time may have a zone.

    Other texts become null, so that an invalid time affects only the duration and not the answer. A time with a zone is
    converted to UTC; a time of day gets the date 1970-01-01.
    """
    return text.map_batches(_moments, return_dtype=pl.Datetime("ms"), is_elementwise=True)


def _moments(texts: pl.Series) -> pl.Series:
    for form in _WITHOUT_ZONE:
        found = texts.str.strip_chars().str.to_datetime(form, time_unit="ms", strict=False)
        if found.null_count() == texts.null_count():
            return found
    text = pl.col("text")
    zone = text.str.extract(r"\d\s*([A-Z]+)$").replace_strict(_ZONES, default="")
    written = (
        texts.rename("text")
        .to_frame()
        .select(text.str.strip_chars().str.replace(_YEAR_AT_THE_END, "$2 $1"))
        .select(pl.when(zone != "").then(text.str.replace(r"\s*[A-Z]+$", "") + zone).otherwise(text))
        .select(text.str.replace(r"(\d)T(\d)", "$1 $2").str.replace(r"^(\d{1,2}:\d\d)", "1970-01-01 $1"))
        .select(
            pl.when(text.str.contains(_OFFSET))
            .then(text.str.replace(_OFFSET, "$1$2"))
            .otherwise(text + "+0000")
        )
        .to_series()
    )
    found = pl.Series([None], dtype=pl.Datetime("ms", "UTC")).new_from_index(0, len(texts))
    # A format is tried only on rows that earlier formats did not parse, because most exports use a single format.
    for form in _MOMENTS:
        if found.null_count() == texts.null_count():
            break
        found = found.fill_null(written.str.to_datetime(f"{form}%#z", time_unit="ms", strict=False))
    return found.dt.replace_time_zone(None)


def number(text: pl.Expr) -> pl.Expr:
    """Parse a number with a decimal point or comma; other texts, negative and infinite numbers become null."""
    value = text.str.strip_chars().str.replace(",", ".", literal=True).cast(pl.Float64, strict=False)
    return pl.when(value.is_finite() & (value >= 0) & (value < _MOST)).then(value)


#: Larger rewards and durations are treated as unreadable, so that sums over pages stay finite.
_MOST: Final = 1e15


def _unread(
    data: pl.DataFrame, rows: pl.DataFrame, places: Mapping[str, str | None], file: str
) -> tuple[Unread, ...]:
    """Find the times and numbers of the text columns `data` that are missing in the parsed columns `rows`."""
    found = []
    for name in _WHAT:
        source = places.get(name)
        if source is None or source not in data.columns:
            continue
        lost = rows.select("row").filter((data[source].str.strip_chars() != "") & rows[name].is_null())
        if lost.height:
            first = lost["row"][0]
            text = data[source].filter(rows["row"] == first)[0]
            found.append(Unread(_WHAT[name], source, lost["row"].n_unique(), file, first, text))
    return tuple(found)


_WHAT: Final[Mapping[str, Literal["time", "seconds", "reward"]]] = {
    "started": "time",
    "submitted": "time",
    "page_seconds": "seconds",
    "page_reward": "reward",
}
