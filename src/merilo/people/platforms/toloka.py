"""Read Toloka exports: TSV, one row per answer, with `INPUT:*`, `OUTPUT:*` and, on control items, `GOLDEN:*`.

Older exports are separated by semicolons and have `ASSIGNMENT:worker_id` as the only `ASSIGNMENT:*` column: they
lack times and rewards, and often control items.
"""

from __future__ import annotations

from typing import Final

import polars as pl

from merilo.files import Table
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
from merilo.wording import listed

REQUIRED: Final = ("ASSIGNMENT:worker_id",)

_SOURCES: Final = {
    "started": "ASSIGNMENT:started",
    "submitted": "ASSIGNMENT:submitted",
    "page_reward": "ASSIGNMENT:reward",
}

#: Parts of a usual export, and the prefixes of their columns.
_USUAL: Final = {
    "time": ("ASSIGNMENT:started", "ASSIGNMENT:submitted"),
    "reward": ("ASSIGNMENT:reward",),
    "page": ("ASSIGNMENT:assignment_id",),
    "control": ("GOLDEN:",),
}

#: States of assignments without answers.
UNANSWERED: Final = ("ACTIVE", "SKIPPED", "EXPIRED")


def recognises(header: list[str]) -> bool:
    """Return whether a header is Toloka's."""
    names = set(header)
    return "ASSIGNMENT:worker_id" in names and bool({"ASSIGNMENT:started", "ASSIGNMENT:task_id"} & names)


def resembles(header: list[str]) -> bool:
    """Return whether a header has Toloka's input and output columns, even if other columns are missing."""
    return all(any(name.startswith(prefix) for name in header) for prefix in ("INPUT:", "OUTPUT:"))


def wanted(name: str) -> bool:
    """Return whether a column is needed."""
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
        columns: the columns that the user named; only the answer's is used.

    Raises:
        InputError: a required column is missing.
        UsageError: there are several answer columns and the user chose none.
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
