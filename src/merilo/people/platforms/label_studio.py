"""Read Label Studio exports.

A list of tasks with their annotations in JSON, or one record per annotation (JSON-MIN, CSV, TSV).

The flat exports have inputs and answers side by side and do not say which fields are answers. In JSON-MIN,
Label Studio writes the inputs, then the task's `id`, then the answers, then `annotator`. The columns of its
CSV are sorted by name; there a column is an answer if it differs between annotations of one task.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import takewhile
from pathlib import Path
from typing import Final

import polars as pl

from merilo.errors import InputError, UsageError, argument
from merilo.file_reading import Reading
from merilo.files import FileTable as Table
from merilo.people.platforms.export import (
    CONTROL_FIELDS,
    ROW,
    Export,
    SeveralAnswersError,
    column,
    export_of_columns,
    options_text,
    require,
    text_columns,
)
from merilo.strict_json import Json, parse_json, read_json
from merilo.wording import choices, listed, shown

_REQUIRED: Final = ("annotator", "annotation_id")

#: Label Studio's own fields of a task and its annotation; each project chooses the names of inputs and answers.
_OWN: Final = frozenset({*_REQUIRED, "id", "created_at", "updated_at", "lead_time", "agreement"})

_PLACES: Final = {
    "respondent": "annotator",
    "page": "annotation_id",
    "submitted": "created_at",
    "page_seconds": "lead_time",
}

#: The prefix of input fields beside an annotation's own.
_INPUT: Final = "\x1f"

#: The keys of a region that hold the answer.
_VALUES: Final = ("choices", "text", "rating", "number", "datetime", "taxonomy", "selected")

#: Keys of an answer that marks a part of the item.
_REGION: Final = frozenset(
    (
        "start",
        "end",
        "startOffset",
        "endOffset",
        "x",
        "y",
        "points",
        "vertices",
        "rle",
        "sequence",
        "ranges",
        "bbox",
    )
)
_MARKS_A_PART: Final = (
    "the answers are spans or regions of the item, which are not compared: only answers to the whole item are, such "
    "as choices, ratings and texts"
)


def is_label_studio(content: Json) -> bool:
    """Return whether JSON is an export of Label Studio: tasks with annotations, or JSON-MIN."""
    first = content[0] if isinstance(content, list) and content else None
    return isinstance(first, dict) and ("annotations" in first or _is_minimal(first))


def _is_minimal(record: Mapping[str, object]) -> bool:
    """Return whether a record of a JSON export is in JSON-MIN: an annotation, not a task with annotations."""
    return set(_REQUIRED) <= record.keys() and "annotations" not in record


def _after_id(names: Sequence[str]) -> Sequence[str]:
    """Return the fields between `id` and `annotator`; none if `id` comes first, because it is an input field then."""
    if "id" not in names or names[0] == "id":
        return ()
    return [
        name
        for name in takewhile(lambda name: name != "annotator", names[names.index("id") + 1 :])
        if name not in _OWN
    ]


def read_table(table: Table, reading: Reading, answered: Sequence[str] = ()) -> Export:
    """Read a flat export.

    Args:
        table: the text columns.
        reading: the columns that the user named; only the answer's is used.
        answered: the fields that are known to be answers; if empty, they are found by their values.

    Raises:
        InputError: a required column is missing, or there are no input fields.
        UsageError: several fields may be the answer and none was chosen, or the chosen field is missing.
    """
    data = table.data
    require(data.columns, _REQUIRED, table.file)
    others = [name for name in data.columns if name not in {*_OWN, *CONTROL_FIELDS}]
    answers = list(answered) or _varying(data, others)
    answer = _answer(next(iter(reading.answer), None), answers, others, table.file)
    inputs = [name for name in others if name not in {*answers, answer}]
    if not inputs:
        raise InputError("the export has no input fields", file=table.file)
    found = export_of_columns(
        table,
        data.with_columns(_plain_values(table, answer)),
        {**_PLACES, "answer": answer},
        {name: name for name in inputs},
        pl.coalesce(column(data, name) for name in CONTROL_FIELDS),
    )
    return replace(found, answer_fields=tuple(dict.fromkeys([*answers, answer])))


def _plain_values(table: Table, answer: str) -> pl.Series:
    found: list[str | None] = []
    for row, text in enumerate(table.data[answer], start=table.first_row):
        try:
            found.append(None if text is None else plain_value(text))
        except InputError as error:
            raise InputError(error.message, file=table.file, row=row, field=answer) from None
    return pl.Series(answer, found, dtype=pl.String)


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
    """Convert an answer in Label Studio's JSON to text: one choice as it is, several as a JSON list.

    Raises:
        InputError: the answer marks a part of the item.

    Example:
        >>> plain_value('{"choices": ["A", "B"]}'), plain_value('[{"rating": 4}]'), plain_value("A")
        ('["A", "B"]', '4', 'A')
    """
    if not text.startswith(("[", "{")):
        return text
    try:
        content = parse_json(text, file="")
    except InputError:
        return text
    found = [_values(region) for region in (content if isinstance(content, list) else [content])]
    values = [value for one in found for value in one or []]
    return options_text(values) or text if None not in found else text


def _values(region: Json) -> list[Json] | None:
    """Return the values of a part of an answer; `None` if it has none that are known."""
    if isinstance(region, str):
        return [region]
    if not isinstance(region, dict):
        return None
    if _REGION & region.keys():
        raise InputError(_MARKS_A_PART)
    value = next((region[name] for name in _VALUES if name in region), None)
    return [*value] if isinstance(value, list) else None if value is None else [value]


def read(path: Path, reading: Reading) -> Export:
    """Read one Label Studio export in JSON: tasks with `data` and `annotations`, or JSON-MIN.

    Args:
        path: the file.
        reading: the columns that the user named; only the answer's (the control tag's name) is used.

    Raises:
        InputError: the file is not such an export.
        UsageError: tasks have several answers and the user chose none.
    """
    tasks = _tasks(path)
    if tasks and _is_minimal(tasks[0][1]):
        for row, record in tasks:
            if not _is_minimal(record):
                raise InputError("is not an annotation of Label Studio's JSON-MIN export", file=path, row=row)
        records = [record for _, record in tasks]
        answered = dict.fromkeys(name for record in records for name in _after_id(list(record)))
        return read_table(Table(shown(path), text_columns(records), first_row=1), reading, list(answered))
    results = _all_results(tasks, path)
    names = list(dict.fromkeys(tag for found in results.values() for tag, *_ in found))
    if not names:
        raise InputError("no task has an annotation", file=path)
    answer = next(iter(reading.answer), names[0])
    if not reading.answer and len(names) > 1:
        raise SeveralAnswersError(names, shown(path))
    if answer not in names:
        raise UsageError(f"there is no answer column '{answer}' ({choices(answer, names)})", file=path)
    rows: list[dict[str, Json]] = []
    fields: dict[str, None] = {}
    for row, task in tasks:
        data = task.get("data")
        texts = data if isinstance(data, dict) else {}
        asked = {f"{_INPUT}{name}": text for name, text in texts.items() if name not in CONTROL_FIELDS}
        known = next((texts[name] for name in CONTROL_FIELDS if name in texts), None)
        for tag, annotation, value in results[row]:
            if tag == answer:
                fields.update(dict.fromkeys(asked))
                rows.append({**asked, **_own(annotation), ROW: row, "answer": value, "known": known})
    if not fields:
        raise InputError("no task has input data", file=path)
    written = text_columns(rows)
    found = export_of_columns(
        Table(shown(path), written),
        written.with_columns(pl.col(ROW).cast(pl.UInt32)),
        {**_PLACES, "answer": "answer"},
        {name: name.removeprefix(_INPUT) for name in fields},
        pl.col("known"),
        dropped=pl.col("dropped"),
    )
    return replace(found, answer_field=answer, answer_fields=tuple(names))


def _own(annotation: Mapping[str, Json]) -> dict[str, Json]:
    """Return what an annotation says besides the answer, by the columns of the flat exports."""
    by = annotation.get("completed_by")
    return {
        "annotator": by.get("id", by.get("email")) if isinstance(by, dict) else by,
        "annotation_id": annotation.get("id"),
        "created_at": annotation.get("created_at"),
        "lead_time": annotation.get("lead_time"),
        "dropped": "not_submitted" if annotation.get("was_cancelled") else None,
    }


def _tasks(path: Path) -> list[tuple[int, dict[str, Json]]]:
    content = read_json(path)
    tasks = [task for task in content if isinstance(task, dict)] if isinstance(content, list) else []
    if not isinstance(content, list) or len(tasks) < len(content):
        raise InputError("is not a Label Studio export: expected a list of tasks", file=path)
    return list(enumerate(tasks, start=1))


def _all_results(
    tasks: Sequence[tuple[int, Mapping[str, Json]]], path: Path
) -> dict[int, list[tuple[str, Mapping[str, Json], str | None]]]:
    """Return the results of every task by its row."""
    found = {}
    for row, task in tasks:
        try:
            found[row] = list(_results(task))
        except InputError as error:
            raise InputError(error.message, file=path, row=row, field="annotations") from None
    return found


def _results(task: Mapping[str, Json]) -> Iterator[tuple[str, Mapping[str, Json], str | None]]:
    """Yield (tag's name, annotation, answer) for every answer to a task.

    Raises:
        InputError: an answer marks a part of the item, or is of an unknown kind.
    """
    annotations = task.get("annotations")
    for annotation in annotations if isinstance(annotations, list) else []:
        if not isinstance(annotation, dict):
            continue
        results = annotation.get("result")
        values: dict[str, list[Json]] = {}
        for result in results if isinstance(results, list) else []:
            value = result.get("value") if isinstance(result, dict) else None
            if isinstance(result, dict) and isinstance(value, dict):
                own = _values(value)
                if own is None:
                    raise InputError(_MARKS_A_PART)
                values.setdefault(str(result.get("from_name", "answer")), []).extend(own)
        for tag, several in values.items():
            yield tag, annotation, options_text(several)


def field_names(path: Path) -> list[str]:
    """Return the field names of a record: inputs and answers of a task, or the fields of a JSON-MIN record.

    Raises:
        InputError: the file is not a Label Studio export.
    """
    tasks = [task for _, task in _tasks(path)]
    if tasks and _is_minimal(tasks[0]):
        return list(dict.fromkeys(name for task in tasks for name in task))
    data = (task.get("data") for task in tasks)
    shown_fields = dict.fromkeys(name for texts in data if isinstance(texts, dict) for name in texts)
    return [*shown_fields, *dict.fromkeys(_tags(tasks))]


def _tags(tasks: Sequence[Mapping[str, Json]]) -> Iterator[str]:
    for task in tasks:
        yield from (tag for tag, *_ in _results(task))
