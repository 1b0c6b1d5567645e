"""Read Label Studio's JSON-MIN, CSV and TSV exports: one record per annotation, with inputs and answers side by side.

These exports do not say which fields are answers. In JSON-MIN, Label Studio writes the inputs, then the task's `id`, then
the answers, then `annotator`. The columns of its CSV are sorted by name; there a column is an answer if it differs
between annotations of one task.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import takewhile
from pathlib import Path
from typing import Final

import polars as pl

from merilo.errors import InputError, UsageError, argument
from merilo.files import Table
from merilo.people.platforms.export import (
    CONTROL_FIELDS,
    Columns,
    Export,
    SeveralAnswersError,
    column,
    json_text,
    moment,
    number,
    unread,
)
from merilo.strict_json import Json, parse_json
from merilo.wording import listed, shown

_REQUIRED: Final = ("annotator", "annotation_id")

#: Label Studio's own fields of a task and its annotation; each project chooses the names of inputs and answers.
_OWN: Final = frozenset({*_REQUIRED, "id", "created_at", "updated_at", "lead_time", "agreement"})

_SOURCES: Final = {"submitted": "created_at", "page_seconds": "lead_time"}

#: The keys of a region that hold the answer.
_VALUES: Final = ("choices", "text", "rating", "number", "datetime", "taxonomy", "labels")


def recognises(header: Sequence[str]) -> bool:
    """Return whether a header, or a record's fields, are those of a flat Label Studio export."""
    return {*_REQUIRED, "lead_time"} <= set(header)


def is_minimal(record: Mapping[str, object]) -> bool:
    """Return whether a record of a JSON export is in JSON-MIN: an annotation, not a task with annotations."""
    return set(_REQUIRED) <= record.keys() and "annotations" not in record


def read_records(records: Sequence[Mapping[str, Json]], path: Path, columns: Columns) -> Export:
    """Read a JSON-MIN export.

    Args:
        records: the export's records, in the file's order.
        path: the file.
        columns: the columns that the user named; only the answer's is used.

    Raises:
        InputError: a record is not an annotation.
        UsageError: several fields may be the answer and none was chosen.
    """
    for row, record in enumerate(records, start=1):
        if not is_minimal(record):
            raise InputError("is not an annotation of Label Studio's JSON-MIN export", file=path, row=row)
    names = dict.fromkeys(name for record in records for name in record)
    data = pl.DataFrame(
        {
            name: pl.Series([json_text(record.get(name)) for record in records], dtype=pl.String)
            for name in names
        }
    )
    answered = dict.fromkeys(name for record in records for name in _after_id(list(record)))
    return read(Table(shown(path), data, first_row=1), columns, list(answered))


def _after_id(names: Sequence[str]) -> Sequence[str]:
    """Return the fields between `id` and `annotator`; none if `id` comes first, because it is an input field then."""
    if "id" not in names or names[0] == "id":
        return ()
    return [
        name
        for name in takewhile(lambda name: name != "annotator", names[names.index("id") + 1 :])
        if name not in _OWN
    ]


def read(table: Table, columns: Columns, answered: Sequence[str] = ()) -> Export:
    """Read a flat export.

    Args:
        table: the text columns.
        columns: the columns that the user named; only the answer's is used.
        answered: the fields that are known to be answers; if empty, they are found by their values.

    Raises:
        InputError: a required column is missing, or there are no input fields.
        UsageError: several fields may be the answer and none was chosen, or the chosen field is missing.
    """
    data = table.data
    for name in _REQUIRED:
        if name not in data.columns:
            raise InputError(
                "is not a Label Studio export: this column is missing", file=table.file, field=name
            )
    others = [name for name in data.columns if name not in {*_OWN, *CONTROL_FIELDS}]
    answers = list(answered) or _varying(data, others)
    answer = _answer(columns.answer, answers, others, table.file)
    inputs = [name for name in others if name not in {*answers, answer}]
    if not inputs:
        raise InputError("the export has no input fields", file=table.file)
    written = data.with_columns(pl.col(answer).map_elements(plain_value, return_dtype=pl.String))
    known = pl.coalesce(column(data, name) for name in CONTROL_FIELDS)
    rows = written.select(
        pl.col("annotator").alias("respondent"),
        pl.col(answer).alias("answer"),
        known.alias("control"),
        known.is_not_null().alias("is_control"),
        pl.col("annotation_id").alias("page"),
        pl.lit(None, dtype=pl.Datetime("ms")).alias("started"),
        moment(column(data, "created_at")).alias("submitted"),
        number(column(data, "lead_time")).alias("page_seconds"),
        pl.lit(None, dtype=pl.Float64).alias("page_reward"),
        pl.lit(None, dtype=pl.String).alias("dropped"),
    ).with_row_index("row", offset=table.first_row)
    return Export(
        file=table.file,
        inputs=data.select(inputs),
        rows=rows,
        answer_field=answer,
        answer_fields=tuple(dict.fromkeys([*answers, answer])),
        project=listed(sorted(inputs), 50),
        unread=unread(data, rows, _SOURCES, table.file),
    )


def _varying(data: pl.DataFrame, names: Sequence[str]) -> list[str]:
    """Return the columns that differ between annotations of one task; inputs never differ."""
    if "id" not in data.columns or not names:
        return []
    counts = data.filter(pl.col("id").is_not_null()).group_by("id").agg(pl.col(names).n_unique()).drop("id")
    return [name for name in names if counts.height and counts[name].max() != 1]


def _answer(chosen: str | None, answers: Sequence[str], others: Sequence[str], file: str) -> str:
    if chosen is not None:
        if chosen in others:
            return chosen
        raise UsageError(
            f"there is no answer column '{chosen}' (choose from: {listed(answers or others)})", file=file
        )
    if len(answers) == 1:
        return answers[0]
    if len(answers) > 1:
        raise SeveralAnswersError(answers, file)
    raise UsageError(
        "the answer column cannot be recognised (no task has two different annotations): name it with "
        f"{argument('answer')} (choose from: {listed(others)})",
        file=file,
    )


def plain_value(text: str) -> str:
    """Convert an answer in Label Studio's JSON to one text; several choices are joined by commas.

    Example:
        >>> plain_value('{"choices": ["A", "B"]}'), plain_value('[{"rating": 4}]'), plain_value("A")
        ('A,B', '4', 'A')
    """
    if not text.startswith(("[", "{")):
        return text
    try:
        content = parse_json(text, file="")
    except InputError:
        return text
    regions = content if isinstance(content, list) else [content]
    found = [_region(region) for region in regions]
    return ",".join(part for part in found if part is not None) if None not in found and found else text


def _region(region: Json) -> str | None:
    if isinstance(region, str):
        return region
    if not isinstance(region, dict):
        return None
    value = next((region[name] for name in _VALUES if name in region), None)
    if isinstance(value, list):
        return ",".join(str(json_text(part)) for part in value) or None
    return json_text(value)
