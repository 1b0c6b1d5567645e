"""The whole dataset from which a study's items were sampled, divided into strata."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import polars as pl

from merilo.atomic_write import unguarded
from merilo.baselines.item_clusters import field_tables
from merilo.errors import DataError, InputError, UsageError, argument
from merilo.people.gold import Gold
from merilo.responses import INPUT_MARK
from merilo.wording import listed

#: Names of the column with the number of items of a stratum, in a table of strata.
COUNTS: Final = ("count", "items", "n")
#: The name of the stratum's column in a table of strata, if there is one field.
STRATUM: Final = "stratum"
#: The columns of the file of weights that `merilo study create` writes.
WEIGHTS: Final = ("id", "stratum", "weight")
#: A field in the name of a stratum.
_FIELD: Final = re.compile(r"(?:^|, )([^=,]+)=")


@dataclass(frozen=True, slots=True)
class Population:
    """The whole dataset in strata, and the strata of a study's items.

    Attributes:
        source: the name of the file, or a description of where the counts come from.
        fields: the fields whose values define the strata.
        sizes: mapping from stratum to the number of its items in the dataset.
        of: mapping from item number in the study to its stratum; control items have none.
    """

    source: str
    fields: tuple[str, ...]
    sizes: Mapping[str, int]
    of: Mapping[int, str]

    def __post_init__(self) -> None:
        asked = Counter(self.of.values())
        if unknown := sorted(set(asked) - set(self.sizes)):
            raise DataError(
                f"has no items in the {'stratum' if len(unknown) == 1 else 'strata'} "
                f"{_told(unknown)}, in which the study has "
                f"{sum(asked[name] for name in unknown)}: check that the study's items were sampled from this dataset",
                file=self.source,
            )
        for name, n in asked.items():
            if n > self.sizes[name]:
                raise DataError(
                    f"has {_items(self.sizes[name])} in the stratum '{name}', but the study has "
                    f"{n}: the number must be "
                    "that of the whole dataset",
                    file=self.source,
                )

    @property
    def items(self) -> int:
        """Return the number of items of the dataset."""
        return sum(self.sizes.values())

    @property
    def asked(self) -> dict[str, int]:
        """Return the number of the study's items in each stratum, in the order of `sizes`."""
        counts = Counter(self.of.values())
        return {name: counts[name] for name in self.sizes}


def population_of_table(
    table: pl.DataFrame, fields: Sequence[str], *, source: str, items: pl.DataFrame, gold: Gold | None
) -> Population:
    """Build the population from a table: the dataset's items, or its strata with their numbers of items.

    A table of strata has a column `count` (or `items`, `n`) and a row for each stratum. In a table without
    such a column, and in one that has several rows of a stratum, each row is an item.

    Args:
        table: one row per item or per stratum, with a column `row` of row numbers for messages if it is a file.
        fields: the fields whose values define the strata; `domain` finds `meta.domain` too.
        source: the name of the file.
        items: the study's items: `item` and the input fields.
        gold: the gold answers, with the other fields of their file.

    Raises:
        UsageError: no field is named, or the study's items lack a field.
        InputError: the table lacks a field, a row has no value of it, or a count is not a whole number above 0.
        DataError: an item of the study has no value of a field, the study has items in a stratum that the
            table lacks, or more items of a stratum than the table.
    """
    if not fields:
        raise UsageError(
            f"{argument('population')} needs the fields that define strata: {argument('strata', 'FIELD')}"
        )
    columns = [_column(name, table, single=len(fields) == 1, source=source) for name in fields]
    count = next((name for name in COUNTS if name in table.columns and name not in columns), None)
    keys = [_names(fields, values) for values in table.select(columns).iter_rows()]
    rows = table["row"].to_list() if "row" in table.columns else [None] * table.height
    for key, values, row in zip(keys, table.select(columns).iter_rows(), rows, strict=True):
        for name, value in zip(fields, values, strict=True):
            if value is None:
                raise InputError(
                    f"has no value of '{name}', so its stratum is not known", file=source, row=row
                )
        del key
    if count is not None and len(set(keys)) == len(keys):
        sizes = {
            key: _count(value, source, row, count)
            for key, value, row in zip(keys, table[count].to_list(), rows, strict=True)
        }
    else:
        sizes = dict(sorted(Counter(keys).items()))
    return Population(source, tuple(fields), sizes, _strata_of(fields, items, gold))


def is_weights(table: pl.DataFrame) -> bool:
    """Check whether a table is the file `weights.csv` of a study."""
    return set(WEIGHTS) <= set(table.columns)


def population_of_weights(table: pl.DataFrame, *, source: str, items: Mapping[int, str]) -> Population:
    """Build the population from the weights of a study's items, which add up to the dataset's items in every stratum.

    Args:
        table: the columns `id`, `stratum` ("domain=law, answer=A") and `weight` as texts.
        source: the name of the file.
        items: mapping from item number to the item's id.

    Raises:
        InputError: a weight is not a number above 0.
        DataError: an item has no weight.
    """
    sums: dict[str, float] = {}
    weights: dict[str, tuple[str, float]] = {}
    for row, (name, stratum, weight) in enumerate(unguarded(table).select(WEIGHTS).iter_rows(), start=2):
        try:
            value = float(weight)
        except (TypeError, ValueError):
            value = 0.0
        if stratum is None or name is None or not 0 < value < float("inf"):
            raise InputError("must have an id, a stratum and a weight above 0", file=source, row=row)
        weights[str(name)] = str(stratum), value
        sums[str(stratum)] = sums.get(str(stratum), 0.0) + value
    fields = _FIELD.findall(next(iter(sums), ""))
    if without := sorted(name for name in items.values() if name not in weights):
        raise DataError(f"has no weight of {_items(len(without))} ({listed(without, 5)})", file=source)
    sizes = {name: round(total) for name, total in sorted(sums.items())}
    return Population(source, tuple(fields), sizes, {item: weights[name][0] for item, name in items.items()})


def _strata_of(fields: Sequence[str], items: pl.DataFrame, gold: Gold | None) -> dict[int, str]:
    """Return the stratum of each of the study's items."""
    table = items.select("item")
    tables = field_tables(items, gold)
    for place, name in enumerate(fields):
        named = [
            (one, column)
            for one in tables
            for column in (name, f"{INPUT_MARK}{name}", f"meta.{name}")
            if column in one.columns and column != "item"
        ]
        if not named:
            known = [column for one in tables for column in one.columns if column != "item"]
            raise UsageError(
                f"{argument('strata')}: the study's items have no field '{name}' (choose from: "
                f"{listed(known)}); a field that "
                f"annotators did not see must be in the file of {argument('gold')}"
            )
        one, column = named[0]
        values = one.select("item", pl.col(column).cast(pl.String).alias(f"\x1f{place}"))
        table = table.join(values, on="item", how="left", maintain_order="left")
    without = table.filter(pl.any_horizontal(pl.exclude("item").is_null()))
    if without.height:
        raise DataError(
            f"{_items(without.height)} of the study {'has' if without.height == 1 else 'have'} no value of "
            f"{' or '.join(fields)} (numbers {listed([str(n) for n in without['item']], 5)}), so "
            "their strata are not known",
            field=argument("strata"),
        )
    return {int(item): _names(fields, values) for item, *values in table.iter_rows()}


def _column(name: str, table: pl.DataFrame, *, single: bool, source: str) -> str:
    for column in (name, f"meta.{name}", *([STRATUM] if single else [])):
        if column in table.columns:
            return column
    known = [column for column in table.columns if column != "row"]
    raise InputError(
        f"has no field '{name}' (its fields: {listed(known)})", file=source, field=argument("strata")
    )


def _count(value: object, source: str, row: int | None, column: str) -> int:
    try:
        number = int(str(value))
    except ValueError:
        number = 0
    if number < 1:
        raise InputError(
            f"must be the number of items of the stratum, not '{value}'", file=source, row=row, field=column
        )
    return number


def _names(fields: Sequence[str], values: Sequence[object]) -> str:
    return ", ".join(f"{name}={value}" for name, value in zip(fields, values, strict=True))


def _told(names: Sequence[str]) -> str:
    return listed([f"'{name}'" for name in names], 5)


def _items(n: int) -> str:
    return f"{n} item{'' if n == 1 else 's'}"
