"""Conversion of the items of a file of gold answers to the scorer's items."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final

import polars as pl

from merilo.garbage_collection import collecting_later
from merilo.items import Item, ItemId, id_of
from merilo.people.gold_file import GoldFile
from merilo.people.gold_join import Joined
from merilo.people.gold_keys import AT, GOLD, ID, ITEM
from merilo.strict_json import Json

#: Columns of a table that are read as whole numbers, as in `meta` of the exam's split.
_WHOLE: Final = ("score", "variant")
_WHOLE_NUMBER: Final = re.compile(r"0|-?[1-9]\d{0,17}")


def scorer_items(
    file: GoldFile, joined: Joined, items: pl.DataFrame, gold: str, kind: str | None
) -> dict[int, Item]:
    """Build the scorer's items for the items that have a gold answer.

    Items of a split file keep their `inputs` and `meta`. Items of a table get the pool's input fields as `inputs` and the
    table's other columns as `meta`.

    Args:
        file: the file.
        joined: the file's rows joined to the pool's items.
        items: `item` and the pool's input fields.
        gold: the column of gold answers.
        kind: the kind of the dataset's answers, if the dataset is declared.

    Returns:
        Mapping from item number in the pool to the item.
    """
    found = joined.pairs
    with collecting_later():
        ids = _ids(file, found)
        if file.inputs:
            outputs = _outputs(file, found, gold, kind)
            made = _of_entries(file, found, ids, _shown(found, items), outputs)
        else:
            others = [name for name in file.columns if name not in {gold, "instruction", *joined.columns}]
            made = _of_table(file, found, ids, _shown(found, items), others)
        return dict(zip(found[ITEM].to_list(), made, strict=True))


def _shown(found: pl.DataFrame, items: pl.DataFrame) -> pl.DataFrame:
    """Select the pool's input fields of each item."""
    numbers = found.select(pl.col(ITEM).alias("item"))
    shown = numbers.join(items, on="item", how="left", maintain_order="left").drop("item")
    return shown.select(pl.all().fill_null(""))


def _of_entries(
    file: GoldFile, found: pl.DataFrame, ids: Sequence[ItemId], shown: pl.DataFrame, outputs: Sequence[Json]
) -> list[Item]:
    made = []
    for place, (at, identity, right) in enumerate(zip(found[AT].to_list(), ids, outputs, strict=True)):
        entry = file.entries[at]
        inputs, meta = entry.get("inputs"), entry.get("meta")
        if not isinstance(inputs, dict | str):
            inputs = shown.row(place, named=True)
        if not isinstance(meta, dict):
            meta = {name: entry[name] for name in entry if name not in {"instruction", "inputs", "outputs"}}
        made.append(Item(identity, _instruction(entry.get("instruction")), inputs, right, meta))
    return made


def _of_table(
    file: GoldFile, found: pl.DataFrame, ids: Sequence[ItemId], shown: pl.DataFrame, others: Sequence[str]
) -> list[Item]:
    instructions: Sequence[str | int]
    if file.entries:
        instructions = [_instruction(file.entries[at].get("instruction")) for at in found[AT]]
    elif "instruction" in file.columns:
        instructions = found["instruction"].fill_null("").to_list()
    else:
        instructions = [""] * found.height
    fields, names = shown.columns, [name.removeprefix("meta.") for name in others]
    whole = [name in _WHOLE for name in names]
    metas = found.select(others).rows() if others else [()] * found.height
    return [
        Item(
            identity,
            instruction,
            dict(zip(fields, texts, strict=True)),
            gold,
            {
                name: _number(value) if numeric else value
                for name, numeric, value in zip(names, whole, values, strict=True)
                if value is not None
            },
        )
        for identity, instruction, texts, gold, values in zip(
            ids, instructions, shown.rows(), found[GOLD], metas, strict=True
        )
    ]


def _number(text: str) -> int | str:
    return int(text) if _WHOLE_NUMBER.fullmatch(text) else text


def _ids(file: GoldFile, found: pl.DataFrame) -> list[ItemId]:
    """Return the items' ids from the file; an item without an id gets its number in the pool.

    A table has only texts: its ids become whole numbers if all of them are written as whole numbers.
    """
    numbers, texts = found[ITEM].to_list(), found[ID].to_list()
    known: list[ItemId | None] = texts
    if file.entries:
        column = file.id_column or ""
        known = [_typed_id(file.entries[at], column, text) for at, text in zip(found[AT], texts, strict=True)]
    elif all(text is None or _WHOLE_NUMBER.fullmatch(text) for text in texts):
        known = [None if text is None else int(text) for text in texts]
    taken = set(known)
    return [
        identity if identity is not None else number if number not in taken else f"item {number}"
        for number, identity in zip(numbers, known, strict=True)
    ]


def _typed_id(entry: Mapping[str, Json], column: str, text: str | None) -> ItemId | None:
    meta = entry.get("meta")
    identity = id_of(meta) if isinstance(meta, dict) else None
    if identity is None:
        identity = entry.get(column)
    if type(identity) is int or (type(identity) is str and identity):
        return identity
    return int(identity) if isinstance(identity, float) and identity.is_integer() else text


def _instruction(value: Json) -> str | int:
    return value if isinstance(value, str | int) and not isinstance(value, bool) else ""


def _outputs(file: GoldFile, found: pl.DataFrame, gold: str, kind: str | None) -> list[Json]:
    """Return the gold answers: dictionaries of criteria with numbers as texts, a program's results, or texts."""
    texts: list[Json] = found[GOLD].to_list()
    if kind not in {"criteria", "program"} and not (file.criteria and gold == "outputs"):
        return texts
    values = [file.entries[at].get("outputs") for at in found[AT]]
    return [
        _labels(value) if isinstance(value, dict) else value if kind == "program" else text
        for value, text in zip(values, texts, strict=True)
    ]


def _labels(criteria: Mapping[str, Json]) -> Json:
    return {
        name: str(label) if isinstance(label, int) and not isinstance(label, bool) else label
        for name, label in criteria.items()
    }
