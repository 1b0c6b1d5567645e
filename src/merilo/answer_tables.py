"""Read files of answers by item id, for `merilo score`, `merilo submission` and `merilo compare`.

The accepted files are:

- a submission's file of one dataset (`{"data": {"test": [{"outputs": ..., "meta": {"id": ...}}]}}`), also
  without `data`,
- JSON: a list of `{"id": ..., "answer": ...}`, or a dictionary from ids to answers,
- JSONL and Parquet: the same records,
- CSV and TSV with columns `id` and `answer`,
- the `consensus.csv` of a baseline's folder, in which an empty `label` means that the item has no consensus.

The id may also be called `item_id`, `meta.id` or `item`, and the answer `outputs`, `output` or `response`, in
any letter case. A record may have a `sample`: the name of this answer among several answers to the item.

A field `reply` in place of the answer holds whole replies of a model, in which the answer is still to be found; a
record of a reply may have a `finish_reason`, and the `options` as the model saw them.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import repeat
from pathlib import Path
from typing import Final, NamedTuple

from merilo.atomic_write import unguarded
from merilo.errors import InputError
from merilo.files import opened, read_header, read_parquet, read_table
from merilo.items import id_of
from merilo.strict_json import Json, json_lines, read_json
from merilo.wording import listed

_IDS: Final = ("id", "item_id", "meta.id", "item")
_ANSWERS: Final = ("answer", "outputs", "output", "response")
_REPLY: Final = "reply"

#: The part of a file in which the name of the first record's answer stands.
_HEAD: Final = 1 << 16

#: A text in JSON, cut off perhaps, with the colon after a name; or a bracket.
_JSON_MARKS: Final = re.compile(r'"((?:[^"\\]|\\.)*)"?(\s*:)?|([\[{])|([\]}])')

#: The prefixes of a platform's columns.
_PREFIXES: Final = ("input:", "output:")

#: The columns that identify a baseline's consensus table, and its column of answers.
_CONSENSUS: Final = frozenset({"item", "id", "label", "resolved_by"})
_CONSENSUS_ANSWER: Final = "label"


class ItemAnswer(NamedTuple):
    """One answer to an item, as a file has it or as it was read in a model's reply.

    Attributes:
        row: the row of a table, the line of JSONL, or the position from 1 in another file.
        item: the item's id as text.
        answer: the answer as written; an empty text if there is none. For a program, the text of the reply.
        sample: the number or name of this answer among several to the item; `None` if the file has no samples.
        finish: why a reply ended, as the file says it.
        options: the options that the model saw, as written in the file.
        outcome: whether there is an answer in a reply, and if not, why.
        rule: the rule that found the answer in a reply, or the reason why there is none.
    """

    row: int
    item: str
    answer: Json
    sample: str | int | None = None
    finish: str | None = None
    options: Json = None
    outcome: str = "answered"
    rule: str = ""


class OtherColumnsError(InputError):
    """A file is no table of answers by item: it has no column of ids or of answers."""


def read_item_answers(path: Path, *, replies: bool = False) -> Iterator[ItemAnswer]:
    """Read a file of answers in the order of the file.

    Args:
        path: the file. Its suffix determines the format; files other than JSON, JSONL and Parquet are read as
            CSV or TSV.
        replies: whether a field `reply` is preferred to an answer.

    Raises:
        InputError: the file cannot be read, or a record has no id or no answer.
    """
    match path.suffix.lower():
        case ".json":
            return _of_json(read_json(path), path, replies=replies)
        case ".jsonl" | ".ndjson":
            return (item_answer(entry, path, row, replies=replies) for row, entry in json_lines(path))
        case ".parquet":
            return _of_json([*read_parquet(path).iter_rows(named=True)], path, replies=replies)
        case _:
            return _of_table(path, replies=replies)


def read_sheet(path: Path) -> list[ItemAnswer]:
    """Read a file of answers; several answers to an item are told apart by their `sample`.

    Raises:
        InputError: the file cannot be read, lacks ids or answers, or holds two answers to an item as the same sample.
    """
    return [*each_once(read_item_answers(path), path)]


def each_once(
    records: Iterable[ItemAnswer], file: object, *, uncounted: bool = False
) -> Iterator[ItemAnswer]:
    """Yield answers under ids without space around them, and refuse a second one to an item as the same sample.

    Args:
        records: the answers.
        file: where they come from, for messages.
        uncounted: whether an item may have several answers without a sample.

    Raises:
        InputError: an item is answered twice.
    """
    rows: dict[tuple[str, str], int] = {}
    for record in records:
        if (name := record.item.strip()) != record.item:
            record = record._replace(item=name)  # noqa: PLW2901
        if not (uncounted and record.sample is None):
            first = rows.setdefault((record.item, sample_of(record)), record.row)
            if first != record.row:
                twice = f"item {record.item[:60]!r} is answered twice, here and in row {first}"
                hint = "" if record.sample else "; tell several answers to an item apart by a field 'sample'"
                raise InputError(f"{twice}{hint}", file=file, row=record.row)
        yield record


def sample_of(answer: ItemAnswer) -> str:
    """Return the name of an answer among several to its item; that of a single answer is 1."""
    return "1" if answer.sample in {None, ""} else str(answer.sample)


def holds_replies(path: Path) -> bool:
    """Check whether a file has replies and no answers, by the names of its first record's fields.

    Raises:
        InputError: the file cannot be read.
    """
    if not path.is_file():
        return False
    match path.suffix.lower():
        case ".parquet":
            names = read_parquet(path).columns
        case ".json" | ".jsonl" | ".ndjson":
            with opened(path) as stream:
                names = _names_of_records(stream.read(_HEAD).decode("utf-8", "replace"))
        case _:
            names = read_header(path)
    bare = set(map(_bare, names))
    return _REPLY in bare and not bare & {*_ANSWERS}


def _names_of_records(head: str) -> list[str]:
    """Return the names of the outermost replies and answers in JSON."""
    names_at: dict[int, list[str]] = defaultdict(list)
    depth = 0
    for name, colon, opening, closing in _JSON_MARKS.findall(head):
        depth += bool(opening) - bool(closing)
        if colon and _bare(name) in {_REPLY, *_ANSWERS}:
            names_at[depth].append(name)
    return names_at[min(names_at)] if names_at else []


def _of_json(content: Json, path: Path, *, replies: bool) -> Iterator[ItemAnswer]:
    if isinstance(content, dict) and content.keys() == {"test"}:
        content = {"data": content}
    data = content.get("data") if isinstance(content, dict) else content
    if isinstance(content, dict) and not isinstance(data, dict | list):
        for row, (name, answer) in enumerate(content.items(), start=1):
            yield ItemAnswer(row, name, answer)
        return
    entries = data.get("test") if isinstance(data, dict) else data
    if isinstance(data, dict) and not isinstance(entries, list):
        raise InputError("has no list 'test' under 'data'", file=path)
    if not isinstance(entries, list):
        raise InputError(
            "has no answers: expected a list of {'id', 'answer'}, a dictionary from ids to "
            "answers, or a submission's file",
            file=path,
        )
    # In a submission's file, the turns of a dialogue are a nested list.
    nested = isinstance(content, dict)
    flat = [turn for entry in entries for turn in (entry if nested and isinstance(entry, list) else [entry])]
    for row, entry in enumerate(flat, start=1):
        yield item_answer(entry, path, row, replies=replies)


def item_answer(entry: Json, path: Path, row: int, *, replies: bool = False) -> ItemAnswer:
    """Read one record of an id and an answer.

    Args:
        entry: the record.
        path: its file, for messages.
        row: its row.
        replies: whether a field `reply` is preferred to an answer.

    Raises:
        InputError: it has no id or no answer.
    """
    if not isinstance(entry, dict):
        raise InputError("is not a record with an id and an answer", file=path, row=row)
    fields = _fields(tuple(entry), replies=replies)
    item, answer, sample, finish, options = (None if name is None else entry[name] for name in fields)
    if item is None and isinstance(meta := entry.get("meta"), dict):
        item = id_of(meta)
    if not isinstance(item, str | int) or isinstance(item, bool):
        raise InputError("has no 'id'", file=path, row=row)
    if fields.answer is None:
        raise InputError("has no 'answer'", file=path, row=row)
    sample, finish = (None if value is None else str(value) for value in (sample, finish))
    return ItemAnswer(row, str(item), answer, sample, finish, options)


def _of_table(path: Path, *, replies: bool) -> Iterator[ItemAnswer]:
    table = read_table(path).data
    if set(table.columns) >= _CONSENSUS:
        # Undecided items have no answer, which differs from an empty answer; items without an id have no gold
        # answer either.
        decided = unguarded(table.select("id", _CONSENSUS_ANSWER)).with_row_index("row", offset=2)
        for row, item, answer in decided.drop_nulls().iter_rows():
            yield ItemAnswer(row, item, answer)
        return
    fields = _fields(tuple(table.columns), replies=replies)
    if fields.item is None or fields.answer is None:
        raise OtherColumnsError(
            f"needs columns 'id' and 'answer'; it has {listed(table.columns)[:200]}", file=path, row=1
        )
    rows = zip(*(repeat(None) if name is None else table[name] for name in fields), strict=False)
    for row, (item, answer, sample, finish, options) in enumerate(rows, start=2):
        if item is None and answer is None:
            continue
        if item is None:
            raise InputError("has an answer but no id", file=path, row=row, field=fields.item)
        # An empty cell is an empty answer: the question was shown and left blank.
        yield ItemAnswer(row, item, answer or "", sample, finish, options)


class _Fields(NamedTuple):
    """The names of the fields of a record, or of the columns of a table."""

    item: str | None
    answer: str | None
    sample: str | None
    finish: str | None
    options: str | None


@lru_cache(256)  # the records of a file have few sets of names
def _fields(names: tuple[str, ...], *, replies: bool) -> _Fields:
    name_of = {_bare(name): name for name in reversed(names)}
    answers = (_REPLY, *_ANSWERS) if replies else (*_ANSWERS, _REPLY)
    known = (_IDS, answers, ("sample",), ("finish_reason",), ("options",))
    return _Fields(*(next((name_of[name] for name in names if name in name_of), None) for names in known))


def _bare(name: str) -> str:
    """Return a column's name in lower case without a platform's prefix."""
    name = name.lower()
    return next((name.removeprefix(prefix) for prefix in _PREFIXES if name.startswith(prefix)), name)
