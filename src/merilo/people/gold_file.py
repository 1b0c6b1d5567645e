"""Reading a file of gold answers: a table, or the dataset's own split file."""

from __future__ import annotations

import gc
import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from math import isnan
from pathlib import Path
from typing import Final, cast

import polars as pl

from merilo.errors import InputError, UsageError, argument
from merilo.files import read_table
from merilo.items import raw_splits
from merilo.responses import INPUT_MARK
from merilo.strict_json import Json, json_lines, read_json
from merilo.wording import listed

_PREFIXES: Final = ("INPUT:", "OUTPUT:", "GOLDEN:")

#: The fields of a split file's item that may be dictionaries.
_LAID_OPEN: Final = ("inputs", "outputs", "meta")

#: Names of columns that certainly hold the gold answer, in order of preference.
CERTAIN: Final = ("gold", "golden", "answer_gold", "outputs", "correct")
#: Names of columns that hold the gold answer if no column has a name in `CERTAIN`.
_POSSIBLE: Final = ("output", "answer", "label", "target")
#: Names of columns that hold the dataset's own id of an item.
ID_COLUMNS: Final = ("id", "item_id", "gold_id", "idx", "meta.id")


@dataclass(frozen=True, slots=True)
class GoldFile:
    """A file of right answers as text columns, and as its JSON where it has one.

    Attributes:
        path: the file.
        table: a row an item: `row` (its number, or its line in JSONL) and text columns, white space folded. In a split
            file the keys of `inputs` are columns, and those of `meta` are columns called `meta.<key>`; `meta.turn` is the
            place in a dialogue, from 1.
        entries: the JSON objects, one for each row of `table`; empty for CSV and TSV.
        inputs: the columns that are the keys of `inputs`, or `inputs` itself where it is a text; empty for a table.
        criteria: the keys of `outputs` where these are dictionaries; their columns are called `outputs.<key>`.
        headers: column of `table` -> its name in the file, where they differ.
    """

    path: Path
    table: pl.DataFrame
    entries: tuple[Mapping[str, Json], ...] = ()
    inputs: tuple[str, ...] = ()
    criteria: tuple[str, ...] = ()
    headers: Mapping[str, str] | None = None

    @property
    def columns(self) -> list[str]:
        """The names of the columns, without `row`."""
        return self.table.columns[1:]

    @property
    def id_column(self) -> str | None:
        """The column of the dataset's own ids, where there is one."""
        return next((name for name in ID_COLUMNS if name in self.columns), None)

    def header(self, column: str) -> str:
        """The name of a column as the file has it."""
        return (self.headers or {}).get(column, column)


def records(path: Path, encoding: str | None = None) -> pl.DataFrame:
    """Read a file of items as text columns, white space folded, and `row`, the rows' numbers.

    Args:
        path: CSV, TSV, JSONL, Parquet, or JSON: a list of records, or the benchmark's own split file. A platform's
            prefixes (`INPUT:`) are taken off the columns' names where the bare name is free.
        encoding: the file's encoding, where it is neither UTF-8 nor marked.

    Raises:
        InputError: the file cannot be read, or holds no records.
    """
    return read_gold_file(path, encoding).table


def read_gold_file(path: Path, encoding: str | None = None) -> GoldFile:
    """Read a file of items with its JSON; arguments and errors as for `records`."""
    if path.suffix.lower() in {".json", ".jsonl", ".ndjson", ".parquet"}:
        return _json_file(path)
    data = read_table(path, encoding=encoding).data
    if not data.height:
        raise InputError("holds no rows", file=path)
    rows = pl.int_range(2, data.height + 2, dtype=pl.UInt32, eager=True).alias("row")
    table, headers = _as_table(data, rows)
    return GoldFile(path, table, headers=headers)


def _as_table(data: pl.DataFrame, rows: pl.Series) -> tuple[pl.DataFrame, dict[str, str]]:
    """The columns under their bare names, white space folded, behind the rows' numbers; and the names that changed."""
    # INPUT:text and OUTPUT:text may stand side by side, and beside text: only one of them has the bare name.
    taken, kept = {"row", *(name for name in data.columns if bare(name) == name)}, {}
    for name in data.columns:
        free = bare(name)
        if free == "row" or (free != name and free in taken):
            free = f"{INPUT_MARK}row" if free == "row" else name
            while free in taken:
                free = f"{INPUT_MARK}{free}"
        taken.add(free)
        kept[name] = free
    folded = pl.all().str.replace_all(r"\s+", " ").str.strip_chars().replace("", None)
    table = rows.to_frame().hstack(data.rename(kept).with_columns(folded))
    return table, {new: name for name, new in kept.items() if new != name}


def bare(name: str) -> str:
    """A column's name without the prefix of a platform."""
    return next((name.removeprefix(prefix) for prefix in _PREFIXES if name.startswith(prefix)), name)


def _json_file(path: Path) -> GoldFile:
    with collecting_later():
        found = _json_records(path)
        for row, record in found:
            if not isinstance(record, dict):
                raise InputError("is not a JSON object", file=path, row=row)
        entries = tuple(cast("dict[str, Json]", record) for _, record in found)
        columns, inputs, criteria = _columns(entries)
        if not columns:
            raise InputError("holds no records", file=path)
        if "meta.dialog_id" in columns:
            columns.setdefault("meta.turn", _turns(columns["meta.dialog_id"]))
        data = pl.DataFrame({name: pl.Series(texts, dtype=pl.String) for name, texts in columns.items()})
    rows = pl.Series("row", [row for row, _ in found], dtype=pl.UInt32)
    table, headers = _as_table(data, rows)
    of_inputs = tuple(name for name in table.columns[1:] if headers.get(name, name) in inputs)
    return GoldFile(path, table, entries, of_inputs, criteria, headers)


def _turns(dialogues: Sequence[str | None]) -> list[str | None]:
    """The place of each item in its dialogue, from 1, as a pool of whole dialogues shows it."""
    places: Counter[str | None] = Counter()
    found: list[str | None] = []
    for dialogue in dialogues:
        places[dialogue] += 1
        found.append(None if dialogue is None else str(places[dialogue]))
    return found


@contextmanager
def collecting_later() -> Iterator[None]:
    """Disable the cyclic garbage collector while many objects without cycles are made; it would take most of the time."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def _json_records(path: Path) -> list[tuple[int, Json]]:
    """Read the records with their numbers (line numbers in JSONL)."""
    match path.suffix.lower():
        case ".json":
            return list(enumerate(_list_of_records(read_json(path), path), start=1))
        case ".parquet":
            (split,) = raw_splits(path)
            return list(enumerate(_list_of_records(split.entries, path), start=1))
        case _:
            return list(json_lines(path))


def _list_of_records(content: Json, path: Path) -> list[Json]:
    """The records of `[...]`, `{"data": [...]}`, `{"data": {"test": [...]}}`; dialogues are laid end to end."""
    while isinstance(content, dict):
        inner = content.get("data", content.get("test"))
        if inner is None and len(content) == 1:
            inner = next(iter(content.values()))
        if inner is None:
            raise InputError("holds no list of items", file=path)
        content = inner
    if not isinstance(content, list):
        raise InputError("holds no list of items", file=path)
    return [turn for record in content for turn in (record if isinstance(record, list) else [record])]


def _columns(
    entries: Sequence[Mapping[str, Json]],
) -> tuple[dict[str, list[str | None]], tuple[str, ...], tuple[str, ...]]:
    """The entries as columns of texts; the benchmark's `inputs`, `outputs` by criterion and `meta` are laid open.

    Returns:
        The columns by name, the names of those that hold inputs, and the criteria.
    """
    columns: dict[str, list[str | None]] = {}
    inputs: tuple[str, ...] = ()
    criteria: tuple[str, ...] = ()
    for name in _keys(entries):
        if name == "instruction":
            continue
        values = [entry.get(name) for entry in entries]
        laid_open = (
            [value if isinstance(value, dict) else {} for value in values] if name in _LAID_OPEN else []
        )
        keys = _keys(laid_open)
        if name == "outputs":
            criteria = keys
            values = [
                value if not isinstance(value, dict) or any(value.values()) else None for value in values
            ]
        elif laid_open:
            values = [None if isinstance(value, dict) else value for value in values]
        if name == "inputs":
            inputs = keys if all(value is None for value in values) else (*keys, name)
        if name == "meta" and any(ids := [text_of(id_of(meta)) for meta in laid_open]):
            columns["id"] = ids
        for key in keys:
            if (name, key) != ("meta", "id"):
                # The prefix keeps a field of `meta` from being mistaken for an answer.
                column = key if name == "inputs" else f"{name}.{key}"
                columns[column] = [text_of(inner.get(key)) for inner in laid_open]
        if not keys or any(value is not None for value in values):
            columns[name] = [text_of(value) for value in values]
    return columns, inputs, criteria


def _keys(entries: Sequence[Mapping[str, Json]]) -> tuple[str, ...]:
    """The keys of all entries, in the order in which they first appear."""
    keys: dict[str, None] = {}
    for entry in entries:
        if not entry.keys() <= keys.keys():
            keys.update(dict.fromkeys(entry))
    return tuple(keys)


def id_of(meta: Mapping[str, Json]) -> Json:
    """The dataset's own id of an item; a turn of a dialogue may be known by `dialog_id` and `question_id` instead."""
    number = meta.get("id")
    if number is None and {"dialog_id", "question_id"} <= meta.keys():
        return f"{meta['dialog_id']}/{meta['question_id']}"
    return number


def text_of(value: Json) -> str | None:
    """A JSON value as text; the NaN of a Parquet file is an empty cell."""
    if value is None or type(value) is str:
        return value
    if type(value) is int:
        return str(value)
    if isinstance(value, float) and isnan(value):
        return None
    return json.dumps(value, ensure_ascii=False, default=str)


def gold_column(
    file: GoldFile,
    fields: Sequence[str],
    *,
    answer: str = "",
    column: str | None = None,
    criteria: bool = False,
) -> tuple[str, tuple[str, ...]]:
    """Find the column of gold answers.

    A name in `CERTAIN` takes precedence over the name of the pool's answer column.

    Args:
        file: the file.
        fields: the columns that hold the pool's input fields; no right answer is looked for in them.
        answer: the name of the pool's answer column.
        column: the column that the user named.
        criteria: whether an answer of the dataset is a whole dictionary of criteria.

    Returns:
        The column, and the other columns that could have been meant and hold something.

    Raises:
        UsageError: `column` is not there.
        InputError: no column has a name of right answers.
    """
    names = file.columns
    if column is not None:
        for name in (column, bare(column), f"outputs.{column}"):
            if name in names:
                return name, ()
        raise UsageError(f"there is no column '{column}' (there are: {listed(names)})", file=file.path)
    taken = {*fields, *(file.inputs if file.entries else ())}
    free = [name for name in names if name not in taken and not name.startswith("meta.")]
    asked = bare(answer)
    # If each criterion has its own answer, the whole `outputs` is not a single gold answer.
    certain = [name for name in CERTAIN if name != "outputs" or criteria or not file.criteria]
    wanted = (
        f"GOLDEN:{asked}", f"outputs.{asked}", *certain, asked, f"OUTPUT:{asked}", *_POSSIBLE
    )  # fmt: skip
    by_name = {name.casefold(): name for name in reversed(free)}
    found = list(dict.fromkeys(by_name[name.casefold()] for name in wanted if name.casefold() in by_name))
    filled = [name for name in found if file.table[name].null_count() < file.table.height]
    if found:
        best = (filled or found)[0]
        whole = {"outputs"} if best.startswith("outputs.") else set()
        return best, tuple(name for name in filled if name != best and name not in whole)
    if file.criteria:
        raise InputError(
            f"holds an answer for each of {listed(file.criteria)}; name one of them with {argument('gold_column')}",
            file=file.path,
            field="outputs",
        )
    rest = [name for name in free if name.casefold() not in {*ID_COLUMNS, "instruction"}]
    if len(rest) == 1:
        return rest[0], ()
    raise InputError(
        f"no column of right answers was found; name it with {argument('gold_column')} (there are: {listed(names)})",
        file=file.path,
        row=1,
    )
