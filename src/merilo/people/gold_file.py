"""Reading a file of gold answers: a table, or the dataset's own split file, as columns of texts."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final, cast

import polars as pl

from merilo.datasets.dataset_files import own_entries, read_rows
from merilo.datasets.declaration import Dataset
from merilo.errors import InputError, UsageError, argument
from merilo.files import collecting_later, read_table
from merilo.items import id_of, list_of_records, raw_splits
from merilo.items import laid_open as fields_inside
from merilo.people.platforms.loading import text_columns
from merilo.responses import INPUT_MARK
from merilo.strict_json import Json, json_lines, read_json
from merilo.wording import choices, listed

_PREFIXES: Final = ("INPUT:", "OUTPUT:", "GOLDEN:")

#: The name of a source that is not a file.
IN_MEMORY: Final = "gold in memory"

#: Names of columns that certainly hold the gold answer, in order of preference.
_CERTAIN: Final = ("gold", "golden", "answer_gold", "outputs", "correct")
#: Names of columns that hold the gold answer if no column has a name in `_CERTAIN`.
_POSSIBLE: Final = ("output", "answer", "label", "target")
#: All of them.
GOLD_COLUMNS: Final = frozenset(_CERTAIN + _POSSIBLE)
#: Names of columns that hold the dataset's own id of an item.
ID_COLUMNS: Final = ("id", "item_id", "gold_id", "idx", "meta.id")
#: All names under which a pool and a file of gold answers may have the items' ids, without case and punctuation,
#: in order of preference.
_ANY_IDS: Final = (
    *("id", "itemid", "goldid", "idx", "metaid", "qid", "questionid", "taskid", "item"),
    *("question", "task", "questionnumber", "number", "no"),
)


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
        headers: mapping from a column of `table` to its name in the file, for names that differ; an empty name of ids
            that are the numbers of the rows.
    """

    path: Path
    table: pl.DataFrame
    entries: tuple[Mapping[str, Json], ...] = ()
    inputs: tuple[str, ...] = ()
    criteria: tuple[str, ...] = ()
    headers: Mapping[str, str] = field(default_factory=dict)

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
        return self.headers.get(column, column)


def read_gold_file(
    source: Path | Sequence[Mapping[str, Json]], encoding: str | None = None, dataset: Dataset | None = None
) -> GoldFile:
    """Read a file of items, or items in memory, as text columns with white space folded, and keep the JSON objects.

    Args:
        source: CSV, TSV, JSONL, Parquet, or JSON: a list of records, or the benchmark's own split file. A platform's
            prefixes (`INPUT:`) are removed from column names unless another column has the name without the prefix.
        encoding: the file's encoding, if it is not UTF-8 and has no byte order mark.
        dataset: one's own dataset, whose declaration names the columns.

    Raises:
        InputError: the file cannot be read or has no records.
    """
    if not isinstance(source, Path):
        return _of_records(Path(IN_MEMORY), list(enumerate(source, start=1)))
    if dataset and dataset.items and (entries := own_entries(source, dataset)) is not None:
        file = _of_records(source, entries)
        return replace(file, headers={**file.headers, **dataset.items.fields, "id": dataset.items.id or ""})
    match source.suffix.lower():
        case ".json":
            return _of_records(source, list(enumerate(list_of_records(read_json(source), source), start=1)))
        case ".parquet":
            (split,) = raw_splits(source)
            return _of_records(source, list(enumerate(list_of_records(split.entries, source), start=1)))
        case ".jsonl" | ".ndjson":
            return _of_records(source, list(json_lines(source)))
    data = read_table(source, encoding=encoding).data
    if not data.height:
        raise InputError("has no rows", file=source)
    table, headers = _as_table(data, range(2, data.height + 2))
    return GoldFile(source, table, headers=headers)


def _as_table(data: pl.DataFrame, rows: Sequence[int]) -> tuple[pl.DataFrame, dict[str, str]]:
    """Return the row numbers and the columns without prefixes, white space folded; also return the changed names."""
    # INPUT:text, OUTPUT:text and text may occur together; only one of them can get the name without a prefix.
    taken, names = {"row", *data.columns}, {}
    for name in data.columns:
        free = name if bare(name) in taken and name != "row" else bare(name)
        while free == "row" or (free != name and free in taken):
            free = f"{INPUT_MARK}{free}"
        taken.add(free)
        names[name] = free
    folded = pl.all().str.replace_all(r"\s+", " ").str.strip_chars().replace("", None)
    table = data.rename(names).select(pl.Series("row", rows, pl.UInt32), folded)
    return table, {new: name for name, new in names.items() if new != name}


def may_be_ids(name: str) -> int | None:
    """Return the rank, from 1, of a name under which files have ids, such as `qid` or `question`; `None` for others."""
    plain = re.sub(r"[\W_]+", "", bare(name).casefold())
    return _ANY_IDS.index(plain) + 1 if plain in _ANY_IDS else None


def header_of(file: GoldFile, dataset: Dataset | None) -> list[str]:
    """Return the names of the columns as the file has them, before a declaration gives them others."""
    rows = read_rows(file.path) if own_entries(file.path, dataset) is not None else None
    return [*rows[0].values] if rows else [file.header(name) for name in file.columns]


def bare(name: str) -> str:
    """Remove a platform's prefix from a column name."""
    return next((name.removeprefix(prefix) for prefix in _PREFIXES if name.startswith(prefix)), name)


def _of_records(path: Path, numbered: Sequence[tuple[int, Json | Mapping[str, Json]]]) -> GoldFile:
    with collecting_later():
        for row, record in numbered:
            if not isinstance(record, Mapping):
                raise InputError("is not a JSON object", file=path, row=row)
        entries = tuple(cast("Mapping[str, Json]", record) for _, record in numbered)
        flat = [_flat(entry) for entry in entries]
        texts = text_columns(flat)
        if not texts.width:
            raise InputError("has no records", file=path)
        if "meta.dialog_id" in texts.columns and "meta.turn" not in texts.columns:
            # Pools of whole dialogues number the turns from 1.
            place = pl.int_range(1, pl.len() + 1).over("meta.dialog_id").cast(pl.String)
            turn = pl.when(pl.col("meta.dialog_id").is_not_null()).then(place)
            texts = texts.with_columns(turn.alias("meta.turn"))
    table, headers = _as_table(texts, [row for row, _ in numbered])
    asked = [entry.get("inputs") for entry in entries]
    inputs = {name for each in asked if isinstance(each, dict) for name in each}
    if any(isinstance(each, str) for each in asked):
        inputs.add("inputs")
    of_inputs = tuple(name for name in table.columns[1:] if headers.get(name, name) in inputs)
    criteria = dict.fromkeys(
        name for entry in entries if isinstance(outputs := entry.get("outputs"), dict) for name in outputs
    )
    return GoldFile(path, table, entries, of_inputs, tuple(criteria), headers)


def _flat(entry: Mapping[str, Json]) -> dict[str, Json]:
    """Return an entry whose `inputs`, `outputs` (criteria) and `meta` have a field for each key."""
    flat: dict[str, Json] = {}
    for name, value in entry.items():
        if name == "instruction":
            continue
        if name not in {"inputs", "outputs", "meta"} or not isinstance(value, dict):
            flat[name] = value
            continue
        if name == "outputs":
            flat[name] = value if any(value.values()) else None
        # The prefix prevents a field of `meta` from being taken for an answer.
        fields = dict(fields_inside(value)) if name == "meta" else value
        flat |= {key if name == "inputs" else f"{name}.{key}": inner for key, inner in fields.items()}
        if name == "meta" and (identity := id_of(fields)) is not None:
            flat["id"] = identity
            flat.pop("meta.id", None)
    return flat


def gold_column(
    file: GoldFile,
    fields: Sequence[str],
    *,
    answer: str = "",
    column: str | None = None,
    criteria: bool = False,
    also: str = "",
) -> tuple[str, tuple[str, ...]]:
    """Find the column of gold answers.

    A name in `_CERTAIN` takes precedence over the name of the pool's answer column.

    Args:
        file: the file.
        fields: the columns with the pool's input fields; they are not considered.
        answer: the name of the pool's answer column.
        column: the column that the user named.
        criteria: whether an answer of the dataset is a dictionary of all criteria.
        also: what else is wrong with the file, for the message.

    Returns:
        The column, and the other columns that could be gold answers and are not empty.

    Raises:
        UsageError: the file has no column `column`.
        InputError: no column has a name known for gold answers, or two that differ have one.
    """
    if column is not None:
        for name in (column, bare(column), f"outputs.{column}"):
            if name in file.columns:
                return name, ()
        raise UsageError(f"there is no column '{column}' ({choices(column, file.columns)})", file=file.path)
    taken = {*fields, *(file.inputs if file.entries else ())}
    free = [name for name in file.columns if name not in taken and not name.startswith("meta.")]
    asked = bare(answer)
    # If each criterion has its own answer, the whole `outputs` is not a single gold answer.
    certain = [name for name in _CERTAIN if name != "outputs" or criteria or not file.criteria]
    wanted = (f"GOLDEN:{asked}", f"outputs.{asked}", *certain, asked, f"OUTPUT:{asked}", *_POSSIBLE)
    by_name = {name.casefold(): name for name in reversed(free)}
    fitting = list(dict.fromkeys(by_name[name.casefold()] for name in wanted if name.casefold() in by_name))
    if not fitting:
        rest = [name for name in free if name.casefold() not in {*ID_COLUMNS, "instruction"}]
        if file.criteria or len(rest) != 1:
            what = f"has a gold answer for each of {listed(file.criteria)}; choose one of them with"
            none = "no column of gold answers was found: name it with"
            raise InputError(
                f"{what if file.criteria else none} {argument('gold_column')} (columns: {listed(file.columns)})"
                + also,
                file=file.path,
            )
        return rest[0], ()
    filled = [name for name in fitting if file.table[name].null_count() < file.table.height]
    best, *others = filled or fitting
    if best.startswith("outputs."):
        others = [name for name in others if name != "outputs"]
    for rival in others:
        both_certain = {rival.casefold(), best.casefold()} <= {name.casefold() for name in certain}
        if both_certain and not file.table[rival].equals(file.table[best], check_names=False):
            raise InputError(
                f"the columns {listed([best, rival])} may all hold the gold answers: choose one with "
                f"{argument('gold_column')}",
                file=file.path,
            )
    return best, tuple(others)
