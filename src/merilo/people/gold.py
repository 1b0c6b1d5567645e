"""The right answers: from a file, joined on what people were shown, or from the dataset's own solver."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations
from pathlib import Path
from typing import Final

import polars as pl

from merilo.errors import DataError, InputError, UsageError
from merilo.files import listed, read_table, shortened, shown
from merilo.people.labels import unify
from merilo.responses import INPUT_MARK
from merilo.strict_json import Json, json_lines, read_json

_PREFIXES: Final = ("INPUT:", "OUTPUT:", "GOLDEN:")

#: Names that a column of right answers may have, in order of preference.
_GOLD_COLUMNS: Final = ("gold", "golden", "outputs", "output", "answer", "label", "target", "correct")
_ID_COLUMNS: Final = ("id", "item_id", "gold_id")


@dataclass(frozen=True, slots=True)
class Gold:
    """The right answers of a pool's items.

    Attributes:
        answers: a row for each item that has one: `item`, `gold`, `id` (the dataset's id, or null).
        source: the file, or the solver, in words.
        without_gold: the numbers of the pool's items that have none.
        unused: the rows of the file that match no item of the pool.
        warnings: what the reader should know.
        fields: the file's other fields of those items, `meta.*` among them: `item` and text columns; `None` without a file.
    """

    answers: pl.DataFrame
    source: str
    without_gold: tuple[int, ...] = ()
    unused: tuple[int, ...] = ()
    warnings: tuple[str, ...] = ()
    fields: pl.DataFrame | None = None


def solved_gold(items: pl.DataFrame, solve: Callable[[Sequence[str]], str], name: str) -> Gold:
    """Compute the right answers.

    Args:
        items: `item` and the input fields.
        solve: the dataset's solver, which takes an item's input texts in order.
        name: the dataset's name.

    Raises:
        DataError: an item is none of the dataset's.
    """
    rows = []
    for number, *texts in items.iter_rows():
        try:
            rows.append((number, solve([text or "" for text in texts]), None))
        except DataError as error:
            raise DataError(f"item {number} is not an item of {name}: {error.message}") from error
    schema = {"item": pl.UInt32, "gold": pl.String, "id": pl.String}
    return Gold(pl.DataFrame(rows, schema=schema, orient="row"), f"the solver of {name}")


def read_gold(
    path: Path,
    items: pl.DataFrame,
    *,
    answer: str = "",
    column: str | None = None,
    labels: Sequence[str] = (),
    encoding: str | None = None,
) -> Gold:
    """Read right answers and join them to a pool's items on the inputs, white space folded.

    Args:
        path: CSV, TSV, JSONL, or JSON: a list of records, or the benchmark's own split file.
        items: `item` and the input fields, white space folded.
        answer: the name of the pool's answer column; a gold column of the same name is taken.
        column: the column of the right answers, where its name does not tell.
        labels: the answers' labels, to whose spelling the right answers are brought.
        encoding: the file's encoding, where it is neither UTF-8 nor marked.

    Raises:
        InputError: the file cannot be read, or has no column of right answers.
        UsageError: `column` is not there.
        DataError: two rows give one item two answers, or nothing matches.
    """
    if not items.height:
        raise DataError(
            "no item is left to take a right answer: every response is to a control item", file=path
        )
    table = records(path, encoding)
    fields = [name for name in items.columns if name != "item"]
    gold = _gold_column(table, [_named(name, table) for name in fields], answer, column, path)
    inputs = _matching_columns(table, items, fields, gold)
    key = pl.concat_str([pl.col(name).fill_null("") for name in inputs], separator=_separator(inputs)).alias(
        "key"
    )
    others = [name for name in table.columns if name not in {"row", gold, *inputs}]
    rows = table.select(
        "row",
        key,
        pl.col(gold).alias("gold"),
        _id(table).alias("id"),
        *(pl.col(name).alias(f"\x1f{name}") for name in others),
    ).filter(pl.col("gold").is_not_null())
    if not rows.height:
        raise DataError("no row has a right answer here (closed tests come without)", file=path, field=gold)
    mapping = unify(sorted(rows["gold"].unique()), list(labels))
    rows = rows.with_columns(pl.col("gold").replace(mapping))
    warnings = _refuse_contradictions(rows, path)
    rows = rows.unique("key", keep="first", maintain_order=True)
    asked = items.select(
        "item",
        pl.concat_str([pl.col(name).fill_null("") for name in fields], separator=_separator(inputs)).alias(
            "key"
        ),
    )
    joined = asked.join(rows, on="key", how="left", maintain_order="left")
    found = joined.filter(pl.col("gold").is_not_null())
    if not found.height:
        raise DataError(
            f"no row matches an item of the pool: the pool shows '{shortened(asked['key'][0])}', the file begins with "
            f"'{shortened(rows['key'][0])}'",
            file=path,
        )
    unused = rows.join(asked, on="key", how="anti", maintain_order="left")
    return Gold(
        found.select("item", "gold", "id"),
        shown(path),
        tuple(joined.filter(pl.col("gold").is_null())["item"]),
        tuple(unused["row"]),
        warnings,
        found.select("item", *(pl.col(f"\x1f{name}").alias(name) for name in others if name != "item")),
    )


def _separator(inputs: Sequence[str]) -> str:
    """Whole inputs in one text are joined by a space, as the benchmark's own string inputs are."""
    return " " if list(inputs) == ["inputs"] else "\x1f"


def records(path: Path, encoding: str | None = None) -> pl.DataFrame:
    """Read a file of items as text columns, white space folded, and `row`, the rows' numbers.

    Args:
        path: CSV, TSV, JSONL, or JSON: a list of records, or the benchmark's own split file. A platform's prefixes
            (`INPUT:`) are taken off the columns' names where the bare name is free.
        encoding: the file's encoding, where it is neither UTF-8 nor marked.

    Raises:
        InputError: the file cannot be read, or holds no records.
    """
    if path.suffix.lower() in {".json", ".jsonl", ".ndjson"}:
        found = _json_records(path)
        names = list(dict.fromkeys(name for _, record in found for name in record))
        if not names:
            raise InputError("holds no records", file=path)
        data = pl.DataFrame(
            {name: pl.Series([record.get(name) for _, record in found], dtype=pl.String) for name in names}
        )
        rows = pl.Series("row", [row for row, _ in found], dtype=pl.UInt32)
    else:
        data = read_table(path, encoding=encoding).data
        if not data.height:
            raise InputError("holds no rows", file=path)
        rows = pl.int_range(2, data.height + 2, dtype=pl.UInt32, eager=True).alias("row")
    bare = {name: _bare(name) for name in data.columns}
    # INPUT:text and OUTPUT:text may stand side by side: only the first keeps the bare name.
    seen: set[str] = set()
    names_kept = {}
    for name, short in bare.items():
        free = name if short in seen else short
        names_kept[name] = f"{INPUT_MARK}{free}" if free == "row" else free
        seen.add(short)
    folded = pl.all().str.replace_all(r"\s+", " ").str.strip_chars().replace("", None)
    return rows.to_frame().hstack(data.rename(names_kept).with_columns(folded))


def _bare(name: str) -> str:
    return next((name.removeprefix(prefix) for prefix in _PREFIXES if name.startswith(prefix)), name)


def _json_records(path: Path) -> list[tuple[int, dict[str, str | None]]]:
    """The number of each record (of its line in JSONL), and its fields."""
    if path.suffix.lower() == ".json":
        found = list(enumerate(_list_of_records(read_json(path), path), start=1))
    else:
        found = list(json_lines(path))
    return [(row, _flat(record, path, row)) for row, record in found]


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


def _flat(record: Json, path: Path, row: int) -> dict[str, str | None]:
    """A record's fields as texts; the benchmark's `inputs`, `outputs` by criterion and `meta` are laid open."""
    if not isinstance(record, dict):
        raise InputError("is not a JSON object", file=path, row=row)
    flat: dict[str, Json] = {}
    for name, value in record.items():
        if name in {"inputs", "meta"} and isinstance(value, Mapping):
            flat.update(value if name == "inputs" else _of_meta(value))
        elif name == "outputs" and isinstance(value, Mapping):
            flat.update({f"outputs.{criterion}": answer for criterion, answer in value.items()})
        else:
            flat[name] = value
    return {name: _text(value) for name, value in flat.items() if name != "instruction"}


def _of_meta(meta: Mapping[str, Json]) -> dict[str, Json]:
    """The id, and the other fields with the mark of `meta` before their names, so that none is taken for an answer."""
    return {"id": meta.get("id"), **{f"meta.{name}": value for name, value in meta.items() if name != "id"}}


def _text(value: Json) -> str | None:
    if value is None:
        return None
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _gold_column(
    table: pl.DataFrame, fields: Sequence[str], answer: str, column: str | None, path: Path
) -> str:
    names = [name for name in table.columns if name != "row"]
    if column is not None:
        for name in (column, _bare(column), f"outputs.{column}"):
            if name in names:
                return name
        raise UsageError(f"there is no column '{column}' (there are: {listed(names)})", file=path)
    free = [name for name in names if name not in fields]
    asked = _bare(answer)
    for name in (f"GOLDEN:{asked}", asked, f"OUTPUT:{asked}", f"outputs.{asked}", *_GOLD_COLUMNS):
        match = next((own for own in free if own.casefold() == name.casefold()), None)
        if match is not None:
            return match
    rest = [name for name in free if name.casefold() not in _ID_COLUMNS and not name.startswith("meta.")]
    if len(rest) == 1:
        return rest[0]
    raise InputError(
        f"no column of right answers was found; name it with --gold-column (there are: {listed(names)})",
        file=path,
        row=1,
    )


def _id(table: pl.DataFrame) -> pl.Expr:
    """The dataset's own id of each row, or null."""
    name = next((name for name in _ID_COLUMNS if name in table.columns), None)
    return pl.lit(None, pl.String) if name is None else pl.col(name)


def _matching_columns(
    table: pl.DataFrame, items: pl.DataFrame, fields: Sequence[str], gold: str
) -> list[str]:
    """The file's columns that hold the pool's inputs: by name, as one text, or by what stands in them."""
    named = [_named(name, table) for name in fields]
    if all(name in table.columns for name in named):
        return named
    if "inputs" in table.columns:
        return ["inputs"]
    candidates = [
        name for name in table.columns if name not in {"row", gold} and not name.startswith("meta.")
    ]
    held = {name: set(table[name].drop_nulls()) for name in candidates}
    shown = {name: set(items[name].drop_nulls()) for name in fields}
    if len(candidates) < len(fields) or len(candidates) > 8 or len(fields) > 5:
        return list(candidates[: len(fields)])
    common = {(field, name): len(shown[field] & held[name]) for field in fields for name in candidates}
    return list(
        max(
            permutations(candidates, len(fields)),
            key=lambda order: sum(common[pair] for pair in zip(fields, order, strict=True)),
        )
    )


def _named(field: str, table: pl.DataFrame) -> str:
    """What the file calls an input field that the study had to set apart from its own columns."""
    return field if field in table.columns else field.removeprefix(INPUT_MARK)


def _refuse_contradictions(rows: pl.DataFrame, path: Path) -> tuple[str, ...]:
    doubled = rows.filter(pl.col("key").is_duplicated())
    if not doubled.height:
        return ()
    two = doubled.filter(pl.col("gold").n_unique().over("key") > 1).head(1)
    if two.height:
        same = doubled.filter(pl.col("key") == two["key"][0]).unique("gold", maintain_order=True).head(2)
        first, second = same.iter_rows(named=True)
        raise DataError(
            f"gives '{shortened(first['key'])}' the answer {second['gold']!r} where row {first['row']} gives "
            f"{first['gold']!r}",
            file=path,
            row=second["row"],
        )
    row = doubled["row"].sort()[1]
    extra = doubled.height - doubled["key"].n_unique()
    return (f"{path}, row {row}: repeats an item with the same answer ({extra} such rows)",)
