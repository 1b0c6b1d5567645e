"""Reading a file of gold answers: a table, or the dataset's own split file."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isnan
from pathlib import Path
from typing import Final, cast

import polars as pl

from merilo.datasets.declaration import Dataset
from merilo.datasets.own_items import own_entries
from merilo.errors import InputError, UsageError, argument
from merilo.files import collecting_later, read_table
from merilo.items import id_of, list_of_records, raw_splits
from merilo.items import laid_open as fields_inside
from merilo.responses import INPUT_MARK
from merilo.strict_json import Json, json_lines, read_json
from merilo.wording import choices, listed

_PREFIXES: Final = ("INPUT:", "OUTPUT:", "GOLDEN:")

#: The fields of a split file's item that may be dictionaries.
_LAID_OPEN: Final = ("inputs", "outputs", "meta")

#: The name of a source that is not a file.
IN_MEMORY: Final = "gold in memory"

#: Names of columns that certainly hold the gold answer, in order of preference.
_CERTAIN: Final = ("gold", "golden", "answer_gold", "outputs", "correct")
#: Names of columns that hold the gold answer if no column has a name in `_CERTAIN`.
_POSSIBLE: Final = ("output", "answer", "label", "target")
#: Names of columns that hold the dataset's own id of an item.
ID_COLUMNS: Final = ("id", "item_id", "gold_id", "idx", "meta.id")


@dataclass(frozen=True, slots=True)
class GoldFile:
    """A file of gold answers: its text columns, and its JSON objects if it is a JSON file.

    Attributes:
        path: the file.
        table: one row per item: `row` (the row number, or the line number in JSONL) and text columns with white space
            folded. For a split file, the keys of `inputs` are columns, the keys of `meta` are columns called
            `meta.<key>`, and `meta.turn` is the position in a dialogue, from 1.
        entries: the JSON objects, one for each row of `table`; empty for CSV and TSV.
        inputs: the columns made from the keys of `inputs`, or `inputs` itself if it is a text; empty for a table.
        criteria: the keys of `outputs` if the outputs are dictionaries; their columns are called `outputs.<key>`.
        headers: mapping from a column of `table` to its name in the file, for names that differ.
    """

    path: Path
    table: pl.DataFrame
    entries: tuple[Mapping[str, Json], ...] = ()
    inputs: tuple[str, ...] = ()
    criteria: tuple[str, ...] = ()
    headers: Mapping[str, str] | None = None

    @property
    def columns(self) -> list[str]:
        """The names of the columns except `row`."""
        return self.table.columns[1:]

    @property
    def id_column(self) -> str | None:
        """The column of the dataset's ids; `None` if there is none."""
        return next((name for name in ID_COLUMNS if name in self.columns), None)

    def header(self, column: str) -> str:
        """Return the name of a column as written in the file."""
        return (self.headers or {}).get(column, column)


def records(path: Path, encoding: str | None = None) -> pl.DataFrame:
    """Read a file of items as text columns with white space folded, and `row`, the row numbers.

    Args:
        path: CSV, TSV, JSONL, Parquet, or JSON: a list of records, or the benchmark's own split file. A platform's
            prefixes (`INPUT:`) are removed from column names unless another column has the name without the prefix.
        encoding: the file's encoding, if it is not UTF-8 and has no byte order mark.

    Raises:
        InputError: the file cannot be read or has no records.
    """
    return read_gold_file(path, encoding).table


def read_gold_file(
    source: Path | Sequence[Mapping[str, Json]], encoding: str | None = None, dataset: Dataset | None = None
) -> GoldFile:
    """Read a file of items, or items in memory, and keep the JSON objects; arguments and errors as for `records`."""
    if not isinstance(source, Path):
        return _of_records(Path(IN_MEMORY), list(enumerate(source, start=1)))
    path = source
    if (entries := own_entries(path, dataset)) is not None:
        return _of_records(path, entries)
    if path.suffix.lower() in {".json", ".jsonl", ".ndjson", ".parquet"}:
        return _of_records(path, _json_records(path))
    data = read_table(path, encoding=encoding).data
    if not data.height:
        raise InputError("has no rows", file=path)
    rows = pl.int_range(2, data.height + 2, dtype=pl.UInt32, eager=True).alias("row")
    table, headers = _as_table(data, rows)
    return GoldFile(path, table, headers=headers)


def _as_table(data: pl.DataFrame, rows: pl.Series) -> tuple[pl.DataFrame, dict[str, str]]:
    """Return the row numbers and the columns without prefixes, white space folded; also return the changed names."""
    # INPUT:text, OUTPUT:text and text may occur together; only one of them can get the name without a prefix.
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
    """Remove a platform's prefix from a column name."""
    return next((name.removeprefix(prefix) for prefix in _PREFIXES if name.startswith(prefix)), name)


def _of_records(path: Path, found: Sequence[tuple[int, Json | Mapping[str, Json]]]) -> GoldFile:
    with collecting_later():
        for row, record in found:
            if not isinstance(record, Mapping):
                raise InputError("is not a JSON object", file=path, row=row)
        entries = tuple(cast("Mapping[str, Json]", record) for _, record in found)
        columns, inputs, criteria = _columns(entries)
        if not columns:
            raise InputError("has no records", file=path)
        if "meta.dialog_id" in columns:
            columns.setdefault("meta.turn", _turns(columns["meta.dialog_id"]))
        data = pl.DataFrame({name: pl.Series(texts, dtype=pl.String) for name, texts in columns.items()})
    rows = pl.Series("row", [row for row, _ in found], dtype=pl.UInt32)
    table, headers = _as_table(data, rows)
    of_inputs = tuple(name for name in table.columns[1:] if headers.get(name, name) in inputs)
    return GoldFile(path, table, entries, of_inputs, criteria, headers)


def _turns(dialogues: Sequence[str | None]) -> list[str | None]:
    """Number each item within its dialogue, from 1, as pools of whole dialogues do."""
    place = pl.int_range(1, pl.len() + 1).over("dialogue")
    known = pl.when(pl.col("dialogue").is_not_null()).then(place)
    return pl.DataFrame({"dialogue": dialogues}).select(known.cast(pl.String)).to_series().to_list()


def _json_records(path: Path) -> list[tuple[int, Json]]:
    """Read the records with their numbers (line numbers in JSONL)."""
    match path.suffix.lower():
        case ".json":
            return list(enumerate(list_of_records(read_json(path), path), start=1))
        case ".parquet":
            (split,) = raw_splits(path)
            return list(enumerate(list_of_records(split.entries, path), start=1))
        case _:
            return list(json_lines(path))


def _columns(
    entries: Sequence[Mapping[str, Json]],
) -> tuple[dict[str, list[str | None]], tuple[str, ...], tuple[str, ...]]:
    """Convert entries to columns of texts; each key of `inputs`, `outputs` (criteria) and `meta` becomes a column.

    Returns:
        The columns by name, the names of the input columns, and the criteria.
    """
    columns: dict[str, list[str | None]] = {}
    inputs: tuple[str, ...] = ()
    criteria: tuple[str, ...] = ()
    for name in _keys(entries):
        if name == "instruction":
            continue
        values = [entry.get(name) for entry in entries]
        if name == "meta":
            values = [dict(fields_inside(value)) if isinstance(value, dict) else value for value in values]
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
                # The prefix prevents a field of `meta` from being taken for an answer.
                column = key if name == "inputs" else f"{name}.{key}"
                columns[column] = [text_of(inner.get(key)) for inner in laid_open]
        if not keys or any(value is not None for value in values):
            columns[name] = [text_of(value) for value in values]
    return columns, inputs, criteria


def _keys(entries: Sequence[Mapping[str, Json]]) -> tuple[str, ...]:
    """Return the keys of all entries in order of first appearance."""
    keys: dict[str, None] = {}
    for entry in entries:
        if not entry.keys() <= keys.keys():
            keys.update(dict.fromkeys(entry))
    return tuple(keys)


def text_of(value: Json) -> str | None:
    """Convert a JSON value to text; NaN from a Parquet file becomes an empty cell."""
    if value is None or type(value) is str:
        return value
    if isinstance(value, str):  # of a type of its own, such as NumPy's
        return str(value)
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

    A name in `_CERTAIN` takes precedence over the name of the pool's answer column.

    Args:
        file: the file.
        fields: the columns with the pool's input fields; they are not considered.
        answer: the name of the pool's answer column.
        column: the column that the user named.
        criteria: whether an answer of the dataset is a dictionary of all criteria.

    Returns:
        The column, and the other columns that could be gold answers and are not empty.

    Raises:
        UsageError: the file has no column `column`.
        InputError: no column has a name known for gold answers.
    """
    names = file.columns
    if column is not None:
        for name in (column, bare(column), f"outputs.{column}"):
            if name in names:
                return name, ()
        raise UsageError(f"there is no column '{column}' ({choices(column, names)})", file=file.path)
    taken = {*fields, *(file.inputs if file.entries else ())}
    free = [name for name in names if name not in taken and not name.startswith("meta.")]
    asked = bare(answer)
    # If each criterion has its own answer, the whole `outputs` is not a single gold answer.
    certain = [name for name in _CERTAIN if name != "outputs" or criteria or not file.criteria]
    wanted = (
        f"GOLDEN:{asked}", f"outputs.{asked}", *certain, asked, f"OUTPUT:{asked}", *_POSSIBLE
    )  # fmt: skip
    by_name = {name.casefold(): name for name in reversed(free)}
    found = list(dict.fromkeys(by_name[name.casefold()] for name in wanted if name.casefold() in by_name))
    filled = [name for name in found if file.table[name].null_count() < file.table.height]
    if found:
        best = (filled or found)[0]
        whole = {"outputs"} if best.startswith("outputs.") else set()
        others = tuple(name for name in filled if name != best and name not in whole)
        sure = {name.casefold() for name in certain}
        rivals = [name for name in others if {name.casefold(), best.casefold()} <= sure]
        if rivals and not file.table[rivals[0]].equals(file.table[best], check_names=False):
            raise InputError(
                f"the columns {listed([best, *rivals])} may all hold the gold answers: choose one with "
                f"{argument('gold_column')}",
                file=file.path,
                row=1,
            )
        return best, others
    if file.criteria:
        raise InputError(
            f"has a gold answer for each of {listed(file.criteria)}; choose one of them with {argument('gold_column')}",
            file=file.path,
            field="outputs",
        )
    rest = [name for name in free if name.casefold() not in {*ID_COLUMNS, "instruction"}]
    if len(rest) == 1:
        return rest[0], ()
    raise InputError(
        f"no column of gold answers was found: name it with {argument('gold_column')} (choose from: {listed(names)})",
        file=file.path,
        row=1,
    )
