"""Files of any kind as tables of texts: delimited text, Parquet, JSON, JSON lines, and logs of Inspect and Prodigy."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from math import isnan
from pathlib import Path
from typing import Any, Final

import polars as pl

from merilo.errors import InputError, argument
from merilo.files import FileTable, Progress, read_parquet, read_table, refuse_too_wide
from merilo.strict_json import Json, json_lines, read_json
from merilo.wording import shown

_BINARY: Final = (".parquet", ".pq")
_LINES: Final = (".jsonl", ".ndjson")

#: The columns of the samples of a log of Inspect.
INSPECT: Final = ("item", "annotator", "score", "seconds", "attempt")


def is_delimited(path: Path) -> bool:
    """Return whether a file is a table of delimited text, by its name."""
    return path.suffix.lower() not in (*_BINARY, *_LINES, ".json")


@contextmanager
def with_advice() -> Iterator[None]:
    """Advise to declare the encoding of a file that is not UTF-8: a reading can do so."""
    try:
        yield
    except InputError as error:
        cause = error.__cause__
        if not isinstance(cause, UnicodeDecodeError) or not cause.encoding.startswith("utf-8"):
            raise
        advice = (
            f"{error.marked}, or name it: 'encoding: cp1251' in a reading, {argument('encoding', 'cp1251')} of study "
            "import"
        )
        raise InputError(advice, file=error.place.file, row=error.place.row) from error


def load(
    path: Path,
    *,
    encoding: str | None = None,
    keep: Callable[[str], bool] = lambda _: True,
    progress: Progress | None = None,
) -> FileTable:
    """Read a table of any kind into text columns.

    Args:
        path: the file.
        encoding: the encoding of delimited text, if it is not UTF-8 and has no byte-order mark.
        keep: returns whether a column of delimited text with this name is wanted.
        progress: called with the number of bytes read since the last call.

    Raises:
        InputError: the file is not in the format that its name says.
    """
    suffix = path.suffix.lower()
    if suffix in _BINARY:
        return FileTable(shown(path), as_texts(read_parquet(path), path))
    if suffix in _LINES:
        return of_records(path, dict(json_lines(path, progress)))
    if suffix == ".json":
        content = read_json(path)
        content = (_of_inspect(content, path) or content) if isinstance(content, dict) else content
        if not isinstance(content, list):
            raise InputError("is not a JSON list of records", file=path)
        return of_records(path, dict(enumerate(content, start=1)))
    return _without_qualtrics_rows(read_table(path, keep=keep, encoding=encoding, progress=progress))


def _without_qualtrics_rows(table: FileTable) -> FileTable:
    """Leave out the two rows after the header of Qualtrics, which hold the questions' texts and their ids."""
    ids = [text for text in table.data.row(1) if text] if table.data.height > 1 else []
    if not ids or not all(text.startswith('{"ImportId":') for text in ids):
        return table
    return replace(table, data=table.data[2:], first_row=table.first_row + 2)


def of_records(path: Path, records: Mapping[int, Json]) -> FileTable:
    """Make a table of JSON objects by their rows; a row without an object has nulls, and others keep their numbers."""
    objects: dict[int, Mapping[str, Json]] = {}
    for row, value in records.items():
        if not isinstance(value, dict):
            raise InputError("is not a JSON object", file=path, row=row)
        objects[row] = _of_prodigy(value)
    names = dict.fromkeys(name for record in objects.values() for name in record if name)
    if not names:
        raise InputError("the file is empty", file=path)
    refuse_too_wide(list(names), path)
    rows: Sequence[Mapping[str, Json]] = [objects.get(row, {}) for row in range(1, max(objects) + 1)]
    return FileTable(shown(path), text_columns(rows), first_row=1)


def _of_inspect(log: Mapping[str, Any], path: Path) -> list[Json]:
    """Return the samples of a log of Inspect as scored answers, if a person solved them as its human agent.

    The person is `annotator` of the log's metadata, or else the file's name.
    """
    task, plan, samples = (log.get(name) for name in ("eval", "plan", "samples"))
    if not isinstance(task, dict) or not isinstance(samples, list):
        return []
    solvers = [task.get("solver"), plan.get("steps") if isinstance(plan, dict) else None]
    if "human" not in json.dumps(solvers):
        return []
    metadata = task.get("metadata")
    who = (metadata.get("annotator") if isinstance(metadata, dict) else None) or path.stem
    answers: list[Json] = []
    for sample in samples:
        if not isinstance(sample, dict):
            raise InputError("has a sample that is not an object", file=path)
        scores = sample.get("scores")
        first = next(iter(scores.values()), None) if isinstance(scores, dict) else None
        value = first.get("value") if isinstance(first, dict) else None
        right = {"C": 1, "I": 0}.get(value, value) if isinstance(value, str) else value
        seconds = sample.get("working_time", sample.get("total_time"))
        values = (sample.get("id"), who, right, seconds, sample.get("epoch"))
        answers.append(dict(zip(INSPECT, values, strict=True)))
    return answers


def _of_prodigy(record: dict[str, Json]) -> Mapping[str, Json]:
    """Return a choice task of Prodigy with its chosen option in `accept`: none where it was rejected or ignored."""
    chosen, config = record.get("accept"), record.get("config")
    if not isinstance(chosen, list) or "options" not in record:
        return record
    many = isinstance(config, dict) and config.get("choice_style") == "multiple"
    options = chosen[0] if len(chosen) == 1 and not many else chosen or None
    who = record.get("_annotator_id") or record.get("_session_id")
    accepted: Json = options if record.get("answer") == "accept" else None
    return {**({"annotator": who} if who else {}), **record, "accept": accepted}


# Values and tables as texts


def json_text(value: Any) -> str | None:  # noqa: ANN401 - a value of JSON, or of NumPy
    """Convert a JSON value to text: strings are unchanged; `null`, NaN and the empty string become `None`.

    Example:
        >>> json_text("A"), json_text(2), json_text(True), json_text(""), json_text({"x": [1]})
        ('A', '2', 'true', None, '{"x": [1]}')
    """
    if getattr(value, "shape", None) == ():  # a scalar of NumPy
        value = value.item()
    if value is None or value == "" or (isinstance(value, float) and isnan(value)):
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
