"""Answer sheets: files of answers by item id.

Read are

- a submission's file of one dataset (`{"data": {"test": [{"outputs": ..., "meta": {"id": ...}}]}}`),
- JSON: a list of `{"id": ..., "answer": ...}`, or a dictionary from ids to answers,
- JSONL: the same records, one a line,
- CSV and TSV with columns `id` and `answer`,
- the `consensus.csv` of a baseline's folder, where an empty `label` is an item without a consensus.

Ids are compared as text. What a file's form says is undone (a table holds no types: its program results and criteria
are JSON inside the cell; JSON may write an integer answer as a number); the answer itself is left as it was given.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from merilo.atomic_write import unguarded
from merilo.errors import InputError
from merilo.items import Item, ItemId
from merilo.metrics.answers import (
    AnswerContentError,
    AnswerForm,
    AnswerTypeError,
    Given,
    read_answer,
)
from merilo.strict_json import Json, parse_json, read_json

_ID_NAMES: Final = ("id", "item", "item_id", "meta.id")
_ANSWER_NAMES: Final = ("answer", "outputs", "output", "response")

#: The columns that tell a baseline's table of the consensus, and the answers in it.
_CONSENSUS: Final = frozenset({"item", "id", "label", "resolved_by"})
_CONSENSUS_ANSWER: Final = "label"


@dataclass(frozen=True, slots=True)
class Sheet:
    """Answers as read from a file, before they are matched to items.

    Attributes:
        file: the file's name.
        answers: id as text -> the answer as JSON.
        rows: id as text -> the row (of a table, or line of JSONL) or the position from 1 (of a JSON list).
    """

    file: str
    answers: dict[str, Json]
    rows: dict[str, int]


@dataclass(frozen=True, slots=True)
class Matched:
    """Answers matched to items.

    Attributes:
        given: item id -> answer.
        unanswered: items without an answer, in the order of the items.
        unknown: ids of answers to no item, as the file writes them, in its order.
    """

    given: dict[ItemId, Given]
    unanswered: tuple[ItemId, ...]
    unknown: tuple[str, ...]


def read_sheet(path: Path) -> Sheet:
    """Read a file of answers.

    Raises:
        InputError: the file cannot be read, has no ids or answers where they should be, or answers an item twice.
    """
    match path.suffix.lower():
        case ".json":
            records = _json_records(read_json(path), path)
        case ".jsonl":
            records = _line_records(path)
        case _:
            records = _table_records(path)
    sheet = Sheet(str(path), {}, {})
    for name, answer, row in records:
        if name in sheet.answers:
            raise InputError(
                f"item {name[:60]!r} is answered twice, here and in row {sheet.rows[name]}",
                file=path,
                row=row,
            )
        sheet.answers[name], sheet.rows[name] = answer, row
    return sheet


def match(sheet: Sheet, items: Sequence[Item], form: AnswerForm) -> Matched:
    """Match answers to items.

    Args:
        sheet: the answers.
        items: the items of the dataset.
        form: the form of an answer.

    Raises:
        InputError: an answer is not of the dataset's type, or cannot be read.
    """
    ids = {str(item.id): item.id for item in items}
    for item in items:
        if {"dialog_id", "question_id"} <= item.meta.keys():
            ids.setdefault(f"{item.meta['dialog_id']}/{item.meta['question_id']}", item.id)
    given: dict[ItemId, Given] = {}
    unknown = []
    for name, answer in sheet.answers.items():
        if name not in ids:
            unknown.append(name)
            continue
        try:
            given[ids[name]] = read_answer(form, _of_form(form, answer))
        except (AnswerTypeError, AnswerContentError, InputError) as error:
            raise InputError(
                f"the answer to item {name[:60]!r}: {error}", file=sheet.file, row=sheet.rows[name]
            ) from error
    return Matched(given, tuple(item.id for item in items if item.id not in given), tuple(unknown))


def _of_form(form: AnswerForm, answer: Json) -> Json:
    """Undo the file format's encoding of an answer."""
    if form.kind in {"criteria", "program"} and isinstance(answer, str) and answer.lstrip()[:1] in {"{", "["}:
        return parse_json(answer, file="answer")
    if form.kind == "criteria" and isinstance(answer, str | int) and not isinstance(answer, bool):
        # One answer to the question is held against each of the criteria.
        return dict.fromkeys(form.criteria, str(answer))
    if isinstance(answer, int) and not isinstance(answer, bool):
        return str(answer)
    return answer


def _json_records(content: Json, path: Path) -> Iterator[tuple[str, Json, int]]:
    if isinstance(content, dict) and isinstance(data := content.get("data"), dict | list):
        documents = data.get("test") if isinstance(data, dict) else data
        if not isinstance(documents, list):
            raise InputError("has no list 'test' under 'data'", file=path)
        flat = [turn for entry in documents for turn in (entry if isinstance(entry, list) else [entry])]
        yield from (_record(entry, path, number) for number, entry in enumerate(flat, start=1))
    elif isinstance(content, list):
        yield from (_record(entry, path, number) for number, entry in enumerate(content, start=1))
    elif isinstance(content, dict):
        yield from ((name, answer, number) for number, (name, answer) in enumerate(content.items(), start=1))
    else:
        raise InputError(
            "has no answers: expected a list of {'id', 'answer'}, a dictionary from ids to answers, or a submission's file",
            file=path,
        )


def _line_records(path: Path) -> Iterator[tuple[str, Json, int]]:
    try:
        lines = path.read_bytes().decode("utf-8-sig").split("\n")
    except FileNotFoundError:
        raise InputError("there is no such file", file=path) from None
    except OSError as error:
        raise InputError(f"cannot be read ({error.strerror})", file=path) from error
    except UnicodeDecodeError as error:
        raise InputError(f"is not UTF-8 text (byte {error.start + 1})", file=path) from error
    for row, line in enumerate(lines, start=1):
        if line.strip():
            yield _record(parse_json(line, file=path, row=row), path, row)


def _table_records(path: Path) -> Iterator[tuple[str, Json, int]]:
    from merilo.files import read_table  # noqa: PLC0415 - Polars costs half a second that JSON does not need

    table = read_table(path).data
    if set(table.columns) >= _CONSENSUS:
        # Undecided items have no answer here, which is not an empty one; items without an id have no gold either.
        decided = (
            unguarded(table.select("id", _CONSENSUS_ANSWER)).with_row_index("row", offset=2).drop_nulls()
        )
        for row, name, answer in decided.iter_rows():
            yield name, answer, row
        return
    columns = [
        next((name for name in table.columns if name.lower() in wanted), None)
        for wanted in (_ID_NAMES, _ANSWER_NAMES)
    ]
    if columns[0] is None or columns[1] is None:
        raise InputError(
            f"needs columns 'id' and 'answer'; it has {', '.join(table.columns)[:200]}", file=path, row=1
        )
    for row, (name, answer) in enumerate(table.select(columns).iter_rows(), start=2):
        if name is None and answer is None:
            continue
        if name is None:
            raise InputError("has an answer but no id", file=path, row=row, field=columns[0])
        # An empty cell is an empty answer: the question was seen and left blank.
        yield name, answer or "", row


def _record(entry: Json, path: Path, row: int) -> tuple[str, Json, int]:
    if not isinstance(entry, dict):
        raise InputError("is not a record with an id and an answer", file=path, row=row)
    name = next((entry[key] for key in _ID_NAMES if key in entry), None)
    meta = entry.get("meta")
    if name is None and isinstance(meta, dict):
        name = meta.get("id")
        if name is None and {"dialog_id", "question_id"} <= meta.keys():
            name = f"{meta['dialog_id']}/{meta['question_id']}"
    if not isinstance(name, str | int) or isinstance(name, bool):
        raise InputError("has no 'id'", file=path, row=row)
    key = next((key for key in _ANSWER_NAMES if key in entry), None)
    if key is None:
        raise InputError("has no 'answer'", file=path, row=row)
    return str(name), entry[key], row
