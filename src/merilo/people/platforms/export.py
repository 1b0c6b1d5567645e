"""What every platform's reader answers with, and what readers share."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches

import polars as pl

from merilo.errors import InputError, UsageError
from merilo.files import listed


@dataclass(frozen=True, slots=True)
class Columns:
    """What the user says about the columns of a file.

    Attributes:
        answer: the column of the answer; the platform's only one when not given.
        item: the columns that make an item (plain tables).
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
    """One file of a platform, its columns named as Merilo names them.

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
        count: how many rows the file held, where that differs from `rows`.
    """

    file: str
    inputs: pl.DataFrame
    rows: pl.DataFrame
    answer_field: str
    answer_fields: tuple[str, ...]
    project: str
    currency: str | None = None
    renamed: dict[str, str] = field(default_factory=dict)


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
        raise InputError(f"there is no column of answers ({prefix}...)", file=file)
    shown = [name.removeprefix(prefix) for name in names]
    if chosen is not None:
        full = chosen if chosen.startswith(prefix) else prefix + chosen
        if full in names:
            return full
        near = get_close_matches(chosen.removeprefix(prefix), shown, n=1)
        hint = f", did you mean '{near[0]}'?" if near else ""
        raise UsageError(
            f"there is no answer column '{chosen}'{hint} (there are: {listed(shown)})", file=file
        )
    filled = [name for name in names if data[name].null_count() < data.height]
    if len(filled) > 1:
        raise UsageError(
            f"there are several answer columns, choose one with --answer: {listed(shown, 50)}", file=file
        )
    return filled[0] if filled else names[0]


def moment(text: pl.Expr) -> pl.Expr:
    """A time as platforms write it: `2023-09-29T06:44:05.190`, `2023-11-10 09:25:22`, with a zone or without.

    What is not a time becomes null: a missing time loses a duration, never an answer. A time of day alone stands on
    1970-01-01.
    """
    plain = (
        text.str.strip_chars()
        .str.replace("T", " ", literal=True)
        .str.replace(r"(Z|[+-]\d\d:?\d\d)$", "")
        .str.replace(r"^(\d{1,2}:\d\d)", "1970-01-01 $1")
    )
    return pl.coalesce(
        plain.str.to_datetime("%Y-%m-%d %H:%M:%S%.f", time_unit="ms", strict=False),
        plain.str.to_datetime("%d.%m.%Y %H:%M:%S%.f", time_unit="ms", strict=False),
        plain.str.to_datetime("%Y-%m-%d %H:%M", time_unit="ms", strict=False),
    )


def number(text: pl.Expr) -> pl.Expr:
    """A number as platforms write it, with a point or a comma; what is not a finite number becomes null."""
    value = text.str.strip_chars().str.replace(",", ".", literal=True).cast(pl.Float64, strict=False)
    return pl.when(value.is_finite()).then(value)
