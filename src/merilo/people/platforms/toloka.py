"""Toloka: a TSV with a row an answer; `INPUT:*` was shown, `OUTPUT:*` was answered, `GOLDEN:*` stands on control items.

Older exports are separated by semicolons and have `ASSIGNMENT:worker_id` and no other `ASSIGNMENT:*` column: there is no
time and no reward, and often no control item.
"""

from __future__ import annotations

from typing import Final

import polars as pl

from merilo.files import Table, listed
from merilo.people.platforms.export import (
    Columns,
    Export,
    choose_answer,
    column,
    known_answer,
    moment,
    number,
    require,
    unread,
)

REQUIRED: Final = ("ASSIGNMENT:worker_id",)

_SOURCES: Final = {
    "started": "ASSIGNMENT:started",
    "submitted": "ASSIGNMENT:submitted",
    "page_reward": "ASSIGNMENT:reward",
}

#: What an export usually has, and how the columns begin that hold it.
_USUAL: Final = {
    "time": ("ASSIGNMENT:started", "ASSIGNMENT:submitted"),
    "reward": ("ASSIGNMENT:reward",),
    "page": ("ASSIGNMENT:assignment_id",),
    "control": ("GOLDEN:",),
}

#: An assignment in these states was never answered.
UNANSWERED: Final = ("ACTIVE", "SKIPPED", "EXPIRED")


def recognises(header: list[str]) -> bool:
    """Whether a header is Toloka's."""
    names = set(header)
    return "ASSIGNMENT:worker_id" in names and bool({"ASSIGNMENT:started", "ASSIGNMENT:task_id"} & names)


def resembles(header: list[str]) -> bool:
    """Whether a header has Toloka's columns of what was shown and answered, whatever else it lacks."""
    return all(any(name.startswith(prefix) for name in header) for prefix in ("INPUT:", "OUTPUT:"))


def wanted(name: str) -> bool:
    """Whether a column is needed."""
    return name.startswith(("INPUT:", "OUTPUT:", "GOLDEN:")) or name in {
        "ASSIGNMENT:assignment_id",
        "ASSIGNMENT:worker_id",
        "ASSIGNMENT:status",
        "ASSIGNMENT:started",
        "ASSIGNMENT:submitted",
        "ASSIGNMENT:reward",
    }


def read(table: Table, columns: Columns) -> Export:
    """Read one Toloka export.

    Args:
        table: the file's text columns.
        columns: what the user says of columns; only the answer's is used.

    Raises:
        InputError: a column that every Toloka export has is missing.
        UsageError: several answer columns and no choice among them.
    """
    data = table.data
    require(data.columns, REQUIRED, table.file)
    inputs = [name for name in data.columns if name.startswith("INPUT:")]
    if not inputs:
        require(data.columns, ("INPUT:*",), table.file)
    answer = choose_answer(data, "OUTPUT:", columns.answer, table.file)
    control, is_control = known_answer(data, answer)
    status = column(data, "ASSIGNMENT:status").str.to_uppercase()
    rows = data.select(
        pl.col("ASSIGNMENT:worker_id").alias("respondent"),
        pl.col(answer).alias("answer"),
        control.alias("control"),
        is_control.alias("is_control"),
        column(data, "ASSIGNMENT:assignment_id").alias("page"),
        moment(column(data, "ASSIGNMENT:started")).alias("started"),
        moment(column(data, "ASSIGNMENT:submitted")).alias("submitted"),
        pl.lit(None, dtype=pl.Float64).alias("page_seconds"),
        number(column(data, "ASSIGNMENT:reward")).alias("page_reward"),
        pl.when(status == "REJECTED")
        .then(pl.lit("rejected"))
        .when(status.is_in(UNANSWERED))
        .then(pl.lit("not_submitted"))
        .alias("dropped"),
    ).with_row_index("row", offset=table.first_row)
    return Export(
        file=table.file,
        inputs=data.select(pl.col(name).alias(name.removeprefix("INPUT:")) for name in inputs),
        rows=rows,
        answer_field=answer,
        answer_fields=tuple(name for name in data.columns if name.startswith("OUTPUT:")),
        project=listed(sorted(inputs), 50),
        currency="USD",
        unread=unread(data, rows, _SOURCES, table.file),
        absent=tuple(what for what, prefixes in _USUAL.items() if not _has(data, prefixes)),
    )


def _has(data: pl.DataFrame, prefixes: tuple[str, ...]) -> bool:
    return any(name.startswith(prefixes) for name in data.columns)
