"""Read Label Studio exports in JSON: a list of tasks with their annotations, or JSON-MIN."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import polars as pl

from merilo.errors import InputError, UsageError
from merilo.people.platforms import label_studio_flat
from merilo.people.platforms.export import (
    CONTROL_FIELDS,
    Columns,
    Export,
    SeveralAnswersError,
    json_text,
    moment,
    number,
    unread,
)
from merilo.strict_json import Json, read_json
from merilo.wording import choices, listed, shown


def read(path: Path, columns: Columns) -> Export:
    """Read one Label Studio export in JSON: tasks with `data` and `annotations`, or JSON-MIN.

    Args:
        path: the file.
        columns: the columns that the user named; only the answer's (the control tag's name) is used.

    Raises:
        InputError: the file is not such an export.
        UsageError: tasks have several answers and the user chose none.
    """
    tasks = _tasks(path)
    if tasks and label_studio_flat.is_minimal(tasks[0][1]):
        return label_studio_flat.read_records([task for _, task in tasks], path, columns)
    names = list(dict.fromkeys(tag for _, task in tasks for tag, *_ in _results(task)))
    if not names:
        raise InputError("no task has an annotation", file=path)
    answer = columns.answer or names[0]
    if columns.answer is None and len(names) > 1:
        raise SeveralAnswersError(names, shown(path))
    if answer not in names:
        raise UsageError(f"there is no answer column '{answer}' ({choices(answer, names)})", file=path)
    inputs: list[dict[str, str | None]] = []
    rows: list[dict[str, object]] = []
    for row, task in tasks:
        data = task.get("data")
        texts = data if isinstance(data, dict) else {}
        fields_shown = {name: json_text(value) for name, value in texts.items() if name not in CONTROL_FIELDS}
        known = next((json_text(texts[name]) for name in CONTROL_FIELDS if name in texts), None)
        for tag, annotation, value in _results(task):
            if tag == answer:
                inputs.append(fields_shown)
                rows.append(_row(row, annotation, value, known))
    fields = list(dict.fromkeys(name for record in inputs for name in record))
    schema = {
        "respondent": pl.String,
        "answer": pl.String,
        "control": pl.String,
        "is_control": pl.Boolean,
        "page": pl.String,
        "started": pl.String,
        "submitted": pl.String,
        "page_seconds": pl.String,
        "page_reward": pl.Float64,
        "dropped": pl.String,
        "row": pl.UInt32,
    }
    if not fields:
        raise InputError("no task has input data", file=path)
    written = pl.DataFrame(rows, schema=schema)
    rows_read = written.with_columns(
        moment(pl.col("started")), moment(pl.col("submitted")), number(pl.col("page_seconds"))
    )
    return Export(
        file=shown(path),
        inputs=pl.DataFrame(inputs, schema=dict.fromkeys(fields, pl.String)),
        rows=rows_read,
        answer_field=answer,
        answer_fields=tuple(names),
        project=listed(sorted(fields), 50),
        unread=unread(
            written, rows_read, {"submitted": "submitted", "page_seconds": "page_seconds"}, shown(path)
        ),
    )


def _row(row: int, annotation: Mapping[str, Json], value: str | None, known: str | None) -> dict[str, object]:
    by = annotation.get("completed_by")
    person = by.get("id", by.get("email")) if isinstance(by, dict) else by
    seconds = annotation.get("lead_time")
    return {
        "respondent": None if person is None else str(person),
        "answer": value,
        "control": known,
        "is_control": known is not None,
        "page": str(annotation.get("id", "")) or None,
        "started": None,
        "submitted": json_text(annotation.get("created_at")),
        "page_seconds": None if seconds is None else str(seconds),
        "page_reward": None,
        "dropped": "not_submitted" if annotation.get("was_cancelled") else None,
        "row": row,
    }


def _tasks(path: Path) -> list[tuple[int, dict[str, Json]]]:
    content = read_json(path)
    tasks = [task for task in content if isinstance(task, dict)] if isinstance(content, list) else []
    if not isinstance(content, list) or len(tasks) < len(content):
        raise InputError("is not a Label Studio export: expected a list of tasks", file=path)
    return list(enumerate(tasks, start=1))


def _results(task: Mapping[str, Json]) -> Iterator[tuple[str, Mapping[str, Json], str | None]]:
    """Yield (tag's name, annotation, answer) for every answer to a task."""
    annotations = task.get("annotations")
    for annotation in annotations if isinstance(annotations, list) else []:
        if not isinstance(annotation, dict):
            continue
        results = annotation.get("result")
        for result in results if isinstance(results, list) else []:
            value = result.get("value") if isinstance(result, dict) else None
            if isinstance(result, dict) and isinstance(value, dict):
                yield str(result.get("from_name", "answer")), annotation, _value(value)


def _value(value: Mapping[str, Json]) -> str | None:
    """Convert `{"choices": ["1"]}` to `1`; several choices are joined by commas."""
    content = next(iter(value.values()), None)
    if isinstance(content, list):
        return ",".join(str(part) for part in content) or None
    return json_text(content)


def field_names(path: Path) -> list[str]:
    """Return the field names of a record: inputs and answers of a task, or the fields of a JSON-MIN record.

    Raises:
        InputError: the file is not a Label Studio export.
    """
    tasks = [task for _, task in _tasks(path)]
    if tasks and label_studio_flat.is_minimal(tasks[0]):
        return list(dict.fromkeys(name for task in tasks for name in task))
    data = (task.get("data") for task in tasks)
    shown_fields = dict.fromkeys(name for texts in data if isinstance(texts, dict) for name in texts)
    return [*shown_fields, *dict.fromkeys(tag for task in tasks for tag, *_ in _results(task))]
