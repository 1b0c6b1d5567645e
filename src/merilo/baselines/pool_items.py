"""Fields of a study's items: clusters that share a value, and the items of a dataset in a platform's columns."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from math import ceil
from typing import Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray
from pydantic import Field

from merilo.datasets.declaration import Dataset
from merilo.datasets.rendering import spread
from merilo.datasets.solvers import SOLVERS
from merilo.errors import DataError, UsageError, argument
from merilo.items import Item, laid_open, named_field
from merilo.people.decision import PoolVotes
from merilo.people.gold import Gold, is_id
from merilo.records import Record
from merilo.responses import INPUT_MARK
from merilo.strict_json import Json
from merilo.wording import choices

_META = "meta."


class ItemClusters(Record):
    """The clusters that the items of a study form.

    Attributes:
        field: the field whose values are the clusters.
        given_by: who named the field: the dataset, which declares it, or the user by an option.
        items: the number of items.
        clusters: the number of clusters; 0 if no item has the field, which the dataset declares.
        items_without_field: the number of items without a value, each of which is a cluster of its own.
        block: the number of neighbouring items in a cluster, if all items belong to one dialogue; otherwise `None`.
        code: mapping from item number to the code of its cluster, not in the JSON; empty if every cluster is one item,
            or without the field.
    """

    field: str
    given_by: Literal["dataset", "option"]
    items: int
    clusters: int = 0
    items_without_field: int = 0
    block: int | None = None
    code: dict[int, int] | None = Field(default=None, exclude=True)

    def codes(self, numbers: Iterable[int]) -> NDArray[np.int32] | None:
        """Return the cluster of each item; `None` if items are independent.

        Args:
            numbers: the items' numbers; those without a code get clusters of their own.
        """
        if not self.code:
            return None
        members = [self.code.get(number, _alone(number)) for number in numbers]
        return np.unique(members, return_inverse=True)[1].astype(np.int32)


def find_clusters(
    chosen: str | None, declared: str | None, numbers: Sequence[int], tables: Sequence[pl.DataFrame]
) -> ItemClusters | None:
    """Group items by the values of a field.

    Args:
        chosen: the field that the user chose; it has priority.
        declared: the field that the dataset declares.
        numbers: the items' numbers.
        tables: tables with `item` and the items' fields; the first one with the field is used. `text` finds
            `meta.text` too.

    Returns:
        The clusters; `None` if neither field is given. If all items have the same value of a declared field
        (one dialogue), blocks of ceil(n^(1/3)) neighbouring items are the clusters.

    Raises:
        UsageError: there is no field `chosen`.
        DataError: all items have the same value of `chosen`.

    References:
        H. Künsch (1989), The jackknife and the bootstrap for general stationary observations. Annals of Statistics 17,
        1217-1241 (blocks).
    """
    name = chosen or declared
    if name is None:
        return None
    n = len(numbers)
    column = column_of(name, tables)
    value = dict(column.iter_rows()) if column is not None else {}
    value = {number: value.get(number) for number in numbers}
    if all(text is None for text in value.values()):
        if chosen is None:
            return ItemClusters(
                field=name, given_by="dataset", items=n, clusters=0, items_without_field=0, block=None
            )
        raise unknown_field("cluster", name, tables)
    code: dict[str | None, int] = {}
    codes = {
        number: code.setdefault(text, len(code)) if text is not None else _alone(number)
        for number, text in value.items()
    }
    without = sum(text is None for text in value.values())
    clusters = len(code) + without
    grouped = ItemClusters(
        field=name, given_by="option" if chosen else "dataset", items=n, clusters=clusters,
        items_without_field=without, block=None,
    )  # fmt: skip
    if clusters == n:
        return grouped
    if clusters > 1:
        return grouped.model_copy(update={"code": codes})
    if chosen is not None:
        raise DataError(
            f"{argument('cluster', name, given=name)}: all {n} items have the same value, so there is no interval over "
            "items: at least two clusters are needed"
        )
    block = ceil(n ** (1 / 3))
    blocks = {number: place // block for place, number in enumerate(sorted(numbers))}
    return grouped.model_copy(update={"clusters": ceil(n / block), "block": block, "code": blocks})


def _alone(number: int) -> int:
    """Return the code of the cluster that holds only this item."""
    return -number - 1


def unknown_field(option: str, name: str, tables: Sequence[pl.DataFrame]) -> UsageError:
    """Return the error that names the fields of the tables, because none is called `name`."""
    known = dict.fromkeys(column for table in tables for column in table.columns if column != "item")
    return UsageError(f"{argument(option)}: there is no field '{name}' ({choices(name, [*known])})")


def field_tables(items: pl.DataFrame, gold: Gold | None) -> list[pl.DataFrame]:
    """Return the tables of the items' fields: what annotators saw, and the other columns of the gold answers."""
    return [items, *([gold.fields] if gold and gold.fields is not None else [])]


def column_of(name: str, tables: Sequence[pl.DataFrame]) -> pl.DataFrame | None:
    """Return `item` and the values of a field as text from the first table that has it; `None` if no table has it."""
    for table in tables:
        columns = [column for column in table.columns if column != "item"]
        column = f"{_META}{name}" if name not in columns and f"{_META}{name}" in columns else name
        if (known := named_field(column, columns)) is not None:
            return table.select("item", pl.col(known).cast(pl.String).alias("value"))
    return None


def fields_of(items: Mapping[int, Item]) -> pl.DataFrame:
    """Return the fields of items as a table of texts: `item`, `inputs`, and the others of `meta` as `meta.NAME`."""
    rows = [
        {
            **{f"{_META}{name}": value for name, value in laid_open(item.meta)},
            **(item.inputs if isinstance(item.inputs, Mapping) else {}),
        }
        for item in items.values()
    ]
    names = dict.fromkeys(name for row in rows for name in row if name != "item")
    texts = {name: [None if row.get(name) is None else str(row[name]) for row in rows] for name in names}
    return pl.DataFrame({"item": list(items), **texts}, schema_overrides=dict.fromkeys(names, pl.String))


def with_clusters(pool: PoolVotes, clusters: ItemClusters | None) -> PoolVotes:
    """Return the votes with the clusters of their items."""
    everyone = pool.everyone
    codes = clusters.codes(map(int, everyone.items)) if clusters else None
    if codes is None:
        return pool
    return replace(pool, everyone=replace(everyone, votes=replace(everyone.votes, cluster=codes)))


def items_of_pool(dataset: Dataset, items: Sequence[Item]) -> tuple[Item, ...] | None:
    """Convert the items of a platform's pool to those of a dataset, with the dataset's fields and prompts.

    The pool's columns become the dataset's fields (`Dataset.pool_fields` names those that are called
    otherwise), and its other columns `meta`. Turns of a dialogue are numbered. Prompts are assigned as in a
    study, with seed 0.

    Args:
        dataset: the declaration.
        items: the pool's items in order, with its columns as `inputs`.

    Returns:
        The items; `None` if the pool lacks a field of the dataset, or people were asked other questions than
        the dataset's.
    """
    if not items or dataset.rated:
        return None
    converted: list[Item] = []
    dialogue = turn = 0
    for item in items:
        columns = _columns(item)
        inputs = _inputs(dataset, columns)
        if inputs is None:
            return None
        meta: dict[str, Json] = {**{name: columns[name] for name in columns}, **item.meta, "id": item.id}
        if dataset.shots.earlier_turns and "dialog_id" not in meta:
            place = str(meta.pop("turn", turn + 1))
            if not place.isdecimal():
                return None
            dialogue += int(place) <= turn
            turn = int(place)
            meta |= {"dialog_id": dialogue, "question_id": turn}
        converted.append(Item(item.id, "", inputs, item.outputs, meta))
    try:
        return tuple(spread(converted, dataset, seed=0))
    except DataError:
        return None


def _columns(item: Item) -> dict[str, str]:
    """Return the texts of a pool's item by column; an empty column counts as missing."""
    inputs = {"inputs": item.inputs} if isinstance(item.inputs, str) else item.inputs
    return {
        name.removeprefix(INPUT_MARK): str(text) for name, text in inputs.items() if text not in (None, "")
    }


def _inputs(dataset: Dataset, columns: dict[str, str]) -> str | dict[str, Json] | None:
    """Take the inputs of a dataset's item out of a pool's columns; `None` if a field that prompts show is missing."""
    inputs: dict[str, Json] = {}
    for name in dataset.fields or ("inputs",):
        known = [(name,), dataset.pool_fields.get(name, (name,))]
        if not dataset.fields:
            known.append((dataset.placeholder,))
            # The solver has computed the gold answer from all columns, so they are the question.
            known += (
                [tuple(column for column in columns if not is_id(column))] if dataset.name in SOLVERS else []
            )
        present = next((names for names in known if names and set(names) <= columns.keys()), None)
        if present is not None:
            inputs[name] = " ".join(columns.pop(column) for column in present)
        elif name not in dataset.hidden:
            return None
    return inputs if dataset.fields else str(inputs["inputs"])
