"""The result of every platform's reader, and functions that the readers share."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Final, Literal

import polars as pl

from merilo.errors import InputError, UsageError, argument
from merilo.responses import Unread
from merilo.strict_json import Json
from merilo.wording import listed

#: Where platforms without control items of their own keep the known answer of one: a field of what was shown.
CONTROL_FIELDS: Final = ("golden", "control")


@dataclass(frozen=True, slots=True)
class Columns:
    """The columns of a file that the user named.

    Attributes:
        answer: the column of the answer; the platform's only one when not given.
        item: the columns that make an item; on platforms that name their columns, all that was shown when not given.
        annotator: the column of the annotator's id (plain tables).
        control: the column of control items' known answers (plain tables).
        page: the column of what was answered and paid together (plain tables).
        started: the column of the time when the page was opened (plain tables).
        submitted: the column of the time when the page was sent (plain tables).
        seconds: the column of the seconds that the page took (plain tables).
        reward: the column of what the page paid (plain tables).
    """

    answer: str | None = None
    item: tuple[str, ...] = ()
    annotator: str | None = None
    control: str | None = None
    page: str | None = None
    started: str | None = None
    submitted: str | None = None
    seconds: str | None = None
    reward: str | None = None


@dataclass(frozen=True, slots=True)
class Export:
    """One file of a platform, with Merilo's column names.

    Attributes:
        file: the file's name.
        inputs: the items' input fields, a row a response.
        rows: `respondent`, `answer`, `control`, `is_control`, `page`, `started`, `submitted`, `page_seconds`,
            `page_reward`, `dropped` (a reason, or null) and `row`, a row a response.
        answer_field: the column that the answers stand in.
        answer_fields: every column that could have been chosen.
        project: what two exports of one project have in common, in words.
        currency: the currency of the rewards, where the platform has one.
        renamed: answers that the reader rewrote.
        unread: times and rewards that could not be read.
        absent: what the platform usually exports and this file has no column for; see `Responses`.
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
    absent: tuple[str, ...] = ()


class SeveralAnswersError(UsageError):
    """A file has several columns of answers and none was chosen.

    Attributes:
        names: the columns, without the platform's prefix.
    """

    def __init__(self, names: Sequence[str], file: str) -> None:
        super().__init__(
            f"there are several answer columns, choose one with {argument('answer')}: {listed(names, 50)}",
            file=file,
        )
        self.names = tuple(names)


def require(header: Sequence[str], names: Iterable[str], file: str) -> None:
    """Refuse a table that lacks a column.

    Raises:
        InputError: names the missing column and what the table has instead.
    """
    for name in names:
        if name not in header:
            raise InputError(
                f"there is no such column; the file has {listed(list(header))}", file=file, field=name
            )


def choose_answer(data: pl.DataFrame, prefix: str, chosen: str | None, file: str) -> str:
    """Find the column of the answer.

    Args:
        data: the file's columns.
        prefix: what the platform writes before an answer's name.
        chosen: the user's choice, with the prefix or without it.
        file: the file's name.

    Returns:
        The column's full name: the one chosen, or the only one that holds an answer.

    Raises:
        InputError: the file has no column of answers.
        UsageError: there are several and none was chosen, or the one chosen is not there.
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


def known_answer(data: pl.DataFrame, answer: str) -> tuple[pl.Expr, pl.Expr]:
    """The known answer of a control item, and whether a row is one: any `GOLDEN:*` makes it so.

    Args:
        data: the file's columns.
        answer: the full name of the answer's column; the known answer stands in the `GOLDEN:*` of the same name.
    """
    golden = [name for name in data.columns if name.startswith("GOLDEN:")]
    is_control = (
        pl.any_horizontal(pl.col(name).is_not_null() for name in golden) if golden else pl.lit(value=False)
    )
    return column(data, f"GOLDEN:{answer.removeprefix('OUTPUT:')}"), is_control


def column(data: pl.DataFrame, name: str | None) -> pl.Expr:
    """A column that may be missing; then it is null."""
    return pl.col(name) if name in data.columns else pl.lit(None, dtype=pl.String)


def json_text(value: Json) -> str | None:
    """A JSON value as a text: strings as they are, nothing for `null` and the empty string.

    Example:
        >>> json_text("A"), json_text(4), json_text(["A"]), json_text(""), json_text(None)
        ('A', '4', '["A"]', None, None)
    """
    if value is None or value == "":
        return None
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


#: How platforms write a time, the usual ways first.
_MOMENTS: Final = (
    "%Y-%m-%d %H:%M:%S%.f",
    "%Y-%m-%d %H:%M",
    "%d.%m.%Y %H:%M:%S%.f",
    "%d.%m.%Y %H:%M",
    "%Y/%m/%d %H:%M:%S%.f",
)
#: Exports whose times are all written in one of these need no further look.
_WITHOUT_ZONE: Final = ("%Y-%m-%dT%H:%M:%S%.f", "%Y-%m-%d %H:%M:%S%.f")
_ZONE: Final = r"(:\d\d(?:[.,]\d+)?)\s*(?:Z|UTC|GMT|[+-]\d\d(?::?\d\d)?)$"
_OFFSET: Final = r":\d\d(?:[.,]\d+)?\s*([+-])(\d\d):?(\d\d)?$"


def moment(text: pl.Expr) -> pl.Expr:
    """A time as platforms write it: `2023-09-29T06:44:05.190`, `2023-11-10 09:25:22`, with a zone or without.

    What is not a time becomes null: a missing time loses a duration, never an answer. A time with a zone becomes UTC; a
    time of day alone stands on 1970-01-01.
    """
    return text.map_batches(_moments, return_dtype=pl.Datetime("ms"), is_elementwise=True)


def _moments(texts: pl.Series) -> pl.Series:
    for form in _WITHOUT_ZONE:
        found = texts.str.strip_chars().str.to_datetime(form, time_unit="ms", strict=False)
        if found.null_count() == texts.null_count():
            return found
    written = pl.col("text").str.strip_chars()
    sign = pl.when(written.str.extract(_OFFSET, 1) == "-").then(-1).otherwise(1)
    hours, minutes = (written.str.extract(_OFFSET, group).cast(pl.Int64).fill_null(0) for group in (2, 3))
    plain = (
        written.str.replace(_ZONE, "${1}")
        .str.replace("T", " ", literal=True)
        .str.replace(r"^(\d{1,2}:\d\d)", "1970-01-01 $1")
    )
    table = (
        texts.rename("text")
        .to_frame()
        .select(plain, offset=pl.duration(minutes=sign * (hours * 60 + minutes)))
    )
    found = pl.Series("text", [None], dtype=pl.Datetime("ms")).new_from_index(0, len(texts))
    # A format is tried only where the ones before it have failed: a million rows are written in one way.
    for form in _MOMENTS:
        if found.null_count() == table["text"].null_count():
            break
        found = found.fill_null(table["text"].str.to_datetime(form, time_unit="ms", strict=False))
    return found - table["offset"]


def number(text: pl.Expr) -> pl.Expr:
    """A number as platforms write it, with a point or a comma; what is not a finite number from 0 on becomes null."""
    value = text.str.strip_chars().str.replace(",", ".", literal=True).cast(pl.Float64, strict=False)
    return pl.when(value.is_finite() & (value >= 0) & (value < _MOST)).then(value)


#: No page pays so much or takes so long; the sum of pages must be a number.
_MOST: Final = 1e15


def unread(
    data: pl.DataFrame, rows: pl.DataFrame, sources: Mapping[str, str | None], file: str
) -> tuple[Unread, ...]:
    """Find what a reader could not read.

    Args:
        data: the file's text columns, a row a response.
        rows: the same as read.
        sources: a column of `rows` -> the column of `data` that it was read from; those that are missing are passed over.
        file: the file's name.
    """
    found = []
    for name, source in sources.items():
        if source not in data.columns:
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
