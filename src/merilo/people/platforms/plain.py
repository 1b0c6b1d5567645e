"""A plain table of responses, one row a response: CSV, TSV, Parquet or JSONL, with columns that the user names."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import polars as pl

from merilo.errors import InputError, UsageError
from merilo.files import Progress, Table, listed, read_table
from merilo.people.platforms.export import Columns, Export, moment, number

#: Names that are understood without being told, in order of preference.
USUAL: Final[Mapping[str, tuple[str, ...]]] = {
    "item": ("item", "item_id", "task", "task_id", "question_id", "id"),
    "annotator": ("respondent", "annotator", "annotator_id", "worker", "worker_id", "user", "user_id"),
    "answer": ("answer", "label", "response", "output"),
    "control": ("control", "golden", "gold_control"),
    "page": ("page", "assignment", "assignment_id"),
    "started": ("started", "start", "date_start"),
    "submitted": ("submitted", "end", "date_end"),
    "seconds": ("page_seconds", "seconds", "time_spent"),
    "reward": ("page_reward", "reward"),
}

_BINARY: Final = (".parquet", ".pq")
_LINES: Final = (".jsonl", ".ndjson")


def is_other_format(path: Path) -> bool:
    """Whether a file is a table in a format without a delimited header."""
    return path.suffix.lower() in (*_BINARY, *_LINES)


def load(path: Path, *, encoding: str | None = None, progress: Progress | None = None) -> Table:
    """Read a table of any of the plain formats into text columns.

    Raises:
        InputError: the file is not what its name says.
    """
    suffix = path.suffix.lower()
    if suffix in _BINARY:
        return _parquet(path)
    if suffix in _LINES:
        return _json_lines(path, progress)
    return read_table(path, encoding=encoding, progress=progress)


def read(table: Table, columns: Columns) -> Export:
    """Read one plain table.

    Args:
        table: the file's text columns.
        columns: the user's names for what is needed; usual names are found without.

    Raises:
        UsageError: a needed column was neither named nor found.
    """
    data = table.data.with_row_index("row of file", offset=2)
    items = list(columns.item) or [_find(data, "item", None, table.file, needed=True)]
    for name in items:
        _find(data, "item", name, table.file, needed=True)
    annotator = _find(data, "annotator", columns.annotator, table.file, needed=True)
    answer = _find(data, "answer", columns.answer, table.file, needed=True)
    optional = {
        what: _find(data, what, getattr(columns, what), table.file, needed=False)
        for what in ("control", "page", "started", "submitted", "seconds", "reward")
    }

    def column(what: str) -> pl.Expr:
        name = optional[what]
        return pl.col(name) if name else pl.lit(None, dtype=pl.String)

    return Export(
        file=table.file,
        inputs=data.select(items),
        rows=data.select(
            pl.col(annotator).alias("respondent"),
            pl.col(answer).alias("answer"),
            column("control").alias("control"),
            column("control").is_not_null().alias("is_control"),
            column("page").alias("page"),
            moment(column("started")).alias("started"),
            moment(column("submitted")).alias("submitted"),
            number(column("seconds")).alias("page_seconds"),
            number(column("reward")).alias("page_reward"),
            pl.lit(None, dtype=pl.String).alias("dropped"),
            pl.col("row of file").alias("row"),
        ),
        answer_field=answer,
        answer_fields=(answer,),
        project=listed(items, 50),
    )


def _find(data: pl.DataFrame, what: str, named: str | None, file: str, *, needed: bool) -> str:
    """The column for one purpose; an empty string where there is none and none is needed."""
    if named is not None:
        if named in data.columns:
            return named
        raise UsageError(
            f"there is no such column (there are: {listed(data.columns[1:])})", file=file, field=named
        )
    found = next((name for name in USUAL[what] if name in data.columns), "")
    if needed and not found:
        raise UsageError(
            f"no column of the {what} was found; name it with --{what} (there are: {listed(data.columns[1:])})",
            file=file,
        )
    return found


def _parquet(path: Path) -> Table:
    try:
        data = pl.read_parquet(path)
    except FileNotFoundError:
        raise InputError("there is no such file", file=path) from None
    except (pl.exceptions.PolarsError, OSError) as error:
        raise InputError(
            f"is not a readable Parquet file ({str(error).splitlines()[0]})", file=path
        ) from None
    texts = [_text_column(column) for column in data.get_columns()]
    return Table(str(path), pl.DataFrame(texts).with_columns(pl.all().replace("", None)))


def _text_column(column: pl.Series) -> pl.Series:
    if column.dtype.is_nested():
        values = [
            None if value is None else json.dumps(_plain(value), ensure_ascii=False) for value in column
        ]
        return pl.Series(column.name, values, dtype=pl.String)
    return column.cast(pl.String)


def _plain(value: object) -> object:
    return value.to_list() if isinstance(value, pl.Series) else value


def _json_lines(path: Path, progress: Progress | None) -> Table:
    records: list[dict[str, str | None]] = []
    names: dict[str, None] = {}
    try:
        with path.open("rb") as stream:
            for row, line in enumerate(stream, start=1):
                record = _json_record(line, path, row)
                names.update(dict.fromkeys(record))
                records.append(record)
                if progress is not None:
                    progress(len(line))
    except FileNotFoundError:
        raise InputError("there is no such file", file=path) from None
    except OSError as error:
        raise InputError(f"cannot be read ({error.strerror})", file=path) from error
    if not any(records):
        raise InputError("the file is empty", file=path)
    data = pl.DataFrame(
        {name: pl.Series([record.get(name) for record in records], dtype=pl.String) for name in names}
    )
    return Table(str(path), data)


def _json_record(line: bytes, path: Path, row: int) -> dict[str, str | None]:
    if not line.strip():
        return {}
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        raise InputError("is not readable JSON (is the file cut off?)", file=path, row=row) from None
    if not isinstance(record, dict):
        raise InputError("is not a JSON object", file=path, row=row)
    return {name: _field(value) for name, value in record.items()}


def _field(value: object) -> str | None:
    if value is None or value == "":
        return None
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
