"""The responses of one file, as the reader of its platform returns them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

import polars as pl

from merilo.errors import InputError, UsageError, argument
from merilo.file_reading import Reading
from merilo.files import FileTable
from merilo.people.platforms.values import column, in_seconds, moment, number
from merilo.responses import Unread
from merilo.wording import choices, listed

#: The column of row numbers, while a reader splits or joins rows.
ROW: Final = "\x1frow"

#: The input field with the known answer of a control item, for platforms without control items.
CONTROL_FIELDS: Final = ("golden", "control")

#: The column of the response table -> what a value in it is, and its name in a reading.
_PARSED: Final[Mapping[str, tuple[Literal["time", "seconds", "reward"], str]]] = {
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
    texts = {name: column(data, places.get(name)) for name in ("respondent", "answer", "page", *_PARSED)}
    parsed = {
        name: (moment if what == "time" else number)(texts[name]) for name, (what, _) in _PARSED.items()
    }
    rows = data.select(
        respondent=texts["respondent"],
        answer=texts["answer"],
        control=known,
        is_control=known.is_not_null() if is_control is None else is_control,
        page=texts["page"],
        **parsed,
        dropped=pl.lit(None, pl.String) if dropped is None else dropped,
        row=pl.col(ROW).cast(pl.UInt32),
        **({"arm": pl.col(arm)} if (arm := places.get("arm")) else {}),
    )
    fields = data.select(pl.col(name).alias(field) for name, field in inputs.items())
    answer, unread = str(places["answer"]), tuple(_unread(data, rows, places, table.file))
    return Export(table.file, fields, rows, answer, (answer,), unread=unread)


def _unread(
    data: pl.DataFrame, rows: pl.DataFrame, places: Mapping[str, str | None], file: str
) -> Iterable[Unread]:
    """Find the times and numbers of the text columns `data` that are missing in the parsed columns `rows`."""
    for name, (what, _) in _PARSED.items():
        source = places.get(name)
        if source is None or source not in data.columns or not rows[name].null_count():
            continue
        lost = rows.select("row", text=data[source]).filter(
            (pl.col("text").str.strip_chars() != "") & rows[name].is_null()
        )
        if lost.height:
            yield Unread(what, source, lost["row"].n_unique(), file, lost["row"][0], lost["text"][0])


def numbered(table: FileTable) -> pl.DataFrame:
    """Return the columns of a table with the rows' numbers in `ROW`, unless they are there."""
    return table.data if ROW in table.data.columns else table.data.with_row_index(ROW, offset=table.first_row)


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


def choose_answer(data: pl.DataFrame, prefix: str, chosen: str | None, file: str) -> str:
    """Find the answer column among those with a platform's prefix: the user's choice, or the only one with answers.

    Raises:
        InputError: the file has no answer column.
        UsageError: there are several answer columns and the user chose none, or the chosen column is missing.
    """
    names = {name.removeprefix(prefix): name for name in data.columns if name.startswith(prefix)}
    if not names:
        raise InputError(f"there is no answer column ({prefix}...)", file=file)
    if chosen is not None:
        bare = chosen.removeprefix(prefix)
        if bare not in names:
            raise UsageError(f"there is no answer column '{chosen}' ({choices(bare, [*names])})", file=file)
        return names[bare]
    filled = [name for name in names.values() if data[name].null_count() < data.height]
    if len(filled) > 1:
        raise SeveralAnswersError([*names], file)
    return (filled or [*names.values()])[0]


def named_places(reading: Reading, table: FileTable) -> dict[str, str]:
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
    places = {place: getattr(reading.columns, name) for place, (_, name) in _PARSED.items()}
    places |= {"page": reading.columns.page, "arm": reading.columns.arm}
    places["respondent"] = next(iter(reading.annotator), None)
    for name in filter(None, places.values()):
        if name not in table.data.columns:
            what = f"there is no such column (columns: {listed(table.data.columns, 30)})"
            raise UsageError(what, file=table.file, field=name)
    return {place: name for place, name in places.items() if name}


def named_columns(reading: Reading) -> set[str]:
    """Return the columns besides inputs and answers that a reading names."""
    of_columns = reading.columns.model_dump(exclude={"score"}).values()
    return {*reading.annotator, *filter(None, of_columns)}
