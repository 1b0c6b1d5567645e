"""The exports of Label Studio as a table whose columns have the prefixes of inputs and answers.

A list of tasks with their annotations in JSON, or one record per annotation (JSON-MIN, CSV, TSV). The flat exports have
inputs and answers side by side and do not say which fields are answers. In JSON-MIN, Label Studio writes the inputs,
then the task's `id`, then the answers, then `annotator`. The columns of its CSV are sorted by name; there a column is
an answer if it differs between annotations of one task.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import takewhile
from pathlib import Path
from typing import Any, Final

import polars as pl

from merilo.errors import InputError, UsageError, argument
from merilo.file_reading import Reading
from merilo.files import FileTable
from merilo.people.platforms import CONTROL_FIELDS, ROW
from merilo.people.platforms.loading import options_text, text_columns
from merilo.strict_json import Json, parse_json, read_json
from merilo.wording import choices, listed, shown

#: The prefixes of inputs and answers, which the projects' own names of fields never have.
INPUT: Final = "\x1finput."
ANSWER: Final = "\x1fanswer."

#: The column that marks a cancelled annotation.
CANCELLED: Final = "\x1fcancelled"

_REQUIRED: Final = ("annotator", "annotation_id")

#: Label Studio's own fields of a task and its annotation; each project chooses the names of inputs and answers.
_OWN: Final = frozenset({
    *_REQUIRED, ROW, CANCELLED, "id", "created_at", "updated_at", "lead_time", "agreement"
})  # fmt: skip

#: The keys of a region that hold the answer.
_VALUES: Final = ("choices", "text", "rating", "number", "datetime", "taxonomy", "selected")

#: Keys of an answer that marks a part of the item.
_REGION: Final = frozenset({
    "start", "end", "startOffset", "endOffset", "x", "y", "points", "vertices", "rle", "sequence", "ranges", "bbox"
})  # fmt: skip
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


def load(path: Path) -> FileTable:
    """Read an export in JSON: tasks with `data` and `annotations`, or JSON-MIN.

    Raises:
        InputError: the file is not such an export, or an answer marks a part of the item.
    """
    content = read_json(path)
    tasks = [task for task in content if isinstance(task, dict)] if isinstance(content, list) else []
    if not isinstance(content, list) or len(tasks) < len(content):
        raise InputError("is not a Label Studio export: expected a list of tasks", file=path)
    minimal = bool(tasks) and _is_minimal(tasks[0])
    rows: list[dict[str, Json]] = []
    answered = dict.fromkeys(name for task in tasks for name in _after_id([*task])) if minimal else {}
    for row, task in enumerate(tasks, start=1):
        if minimal:
            if not _is_minimal(task):
                what = "is not an annotation of Label Studio's JSON-MIN export"
                raise InputError(what, file=path, row=row)
            rows.append({f"{ANSWER if n in answered else ''}{n}": v for n, v in task.items()} | {ROW: row})
            continue
        try:
            rows += [{**annotation, ROW: row} for annotation in _annotations(task)]
        except InputError as error:
            raise InputError(error.message, file=path, row=row, field="annotations") from None
    if not rows:
        raise InputError("no task has an annotation", file=path)
    return FileTable(shown(path), text_columns(rows), first_row=1)


def _annotations(task: Mapping[str, Any]) -> Iterator[dict[str, Json]]:
    """Yield a record for each annotation of a task: its inputs, its answers by tag, and what else it says."""
    data, annotations = task.get("data"), task.get("annotations")
    asked = {f"{INPUT}{name}": text for name, text in data.items()} if isinstance(data, dict) else {}
    for annotation in annotations if isinstance(annotations, list) else []:
        if not isinstance(annotation, dict):
            continue
        results, by = annotation.get("result"), annotation.get("completed_by")
        answers: dict[str, list[Json]] = {}
        for result in results if isinstance(results, list) else []:
            value = result.get("value") if isinstance(result, dict) else None
            if isinstance(value, dict):
                values = _values(value)
                if values is None:
                    raise InputError(_MARKS_A_PART)
                answers.setdefault(f"{ANSWER}{result.get('from_name', 'answer')}", []).extend(values)
        if answers:
            yield {
                **asked,
                **{tag: options_text(options) for tag, options in answers.items()},
                "annotator": by.get("id", by.get("email")) if isinstance(by, dict) else by,
                "annotation_id": annotation.get("id"),
                "created_at": annotation.get("created_at"),
                "lead_time": annotation.get("lead_time"),
                CANCELLED: "cancelled" if annotation.get("was_cancelled") else None,
            }


def _after_id(names: Sequence[str]) -> Sequence[str]:
    """Return the fields between `id` and `annotator`; none if `id` comes first, because it is an input field then."""
    if "id" not in names or names[0] == "id":
        return ()
    between = takewhile(lambda name: name != "annotator", names[names.index("id") + 1 :])
    return [name for name in between if name not in _OWN]


def laid_open(table: FileTable, reading: Reading) -> pl.DataFrame:
    """Give the columns of an export the prefixes of inputs and answers.

    Raises:
        InputError: a required column is missing.
        UsageError: no field can be recognised as the answer, or the chosen field is missing.
    """
    data = table.data
    for name in _REQUIRED:
        if name not in data.columns:
            what = f"there is no such column (columns: {listed(field_names(table))})"
            raise InputError(what, file=table.file, field=name)
    if any(name.startswith(INPUT) for name in data.columns):
        return data
    known = [name.removeprefix(ANSWER) for name in data.columns if name.startswith(ANSWER)]
    data = data.rename({f"{ANSWER}{name}": name for name in known})
    others = [name for name in data.columns if name not in _OWN]
    answers, chosen = known or _varying(data, others), next(iter(reading.answer), None)
    if chosen is not None and chosen not in others:
        raise UsageError(
            f"there is no answer column '{chosen}' ({choices(chosen, answers or others)})", file=table.file
        )
    if chosen is None and not answers:
        raise UsageError(
            "the answer column cannot be recognised (no task has two different annotations): name it with "
            f"{argument('answer')} (choose from: {listed(others)})",
            file=table.file,
        )
    return data.rename({name: f"{ANSWER if name in {*answers, chosen} else INPUT}{name}" for name in others})


def _varying(data: pl.DataFrame, names: Sequence[str]) -> list[str]:
    """Return the columns that differ between annotations of one task; inputs never differ."""
    names = [name for name in names if name not in CONTROL_FIELDS]
    if "id" not in data.columns or not names:
        return []
    counts = data.filter(pl.col("id").is_not_null()).group_by("id").agg(pl.col(names).n_unique())
    return [name for name in names if counts.height and counts[name].max() != 1]


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
    parts = [_values(region) for region in (content if isinstance(content, list) else [content])]
    return text if None in parts else options_text([value for part in parts for value in part or []]) or text


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


def field_names(table: FileTable) -> list[str]:
    """Return the names of inputs and answers as the project calls them."""
    bare = (name.removeprefix(INPUT).removeprefix(ANSWER) for name in table.data.columns)
    return [name for name in bare if name not in _OWN - {"id", *_REQUIRED}]
