"""Join keys of a pool's items and the rows of a file of gold answers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
import polars as pl
import scipy

from merilo.people.gold_file import ID_COLUMNS, GoldFile
from merilo.responses import INPUT_MARK
from merilo.wording import listed

#: Columns of the joined table beside those of the file, whose names are the users' own: the row's place in the file's
#: table, the right answer, the dataset's id, and the pool's number of the item.
AT: Final = "\x1fat"
GOLD: Final = "\x1fgold"
ID: Final = "\x1fid"
ITEM: Final = "\x1fitem"
KEY: Final = "\x1fkey"
_TEXT: Final = "\x1ftext"

#: Share of the ids found in both whose input fields must agree for them to be ids of the same items.
_SAME_IDS: Final = 0.9
#: Share of the distinct values of a field that must stand in a column for the two to be matched by their values.
_SAME_VALUES: Final = 0.5


@dataclass(frozen=True, slots=True)
class Key:
    """A join key of items and rows.

    Attributes:
        fields: the pool's fields.
        columns: the file's columns.
        of_items: the key of an item.
        of_rows: the key of a row.
        remark: how the columns were matched, where their names do not tell.
    """

    fields: tuple[str, ...]
    columns: tuple[str, ...]
    of_items: pl.Expr
    of_rows: pl.Expr
    remark: str | None = None


def _key(pairs: Mapping[str, str], remark: str | None = None) -> Key:
    """The key of fields and the columns that hold them."""
    fields, columns = tuple(pairs), tuple(pairs.values())
    return Key(fields, columns, _texts(fields, "\x1f"), _texts(columns, "\x1f"), remark)


def _texts(names: Sequence[str], separator: str) -> pl.Expr:
    return pl.concat_str([pl.col(name).fill_null("") for name in names], separator=separator).alias(KEY)


def input_columns(file: GoldFile, items: pl.DataFrame) -> dict[str, str]:
    """The pool's input fields that the file has under the same name: field -> column, in the pool's order.

    Letter case and the mark of a field that is called like one of Merilo's own columns make no difference.
    """
    columns = [*file.inputs, *(name for name in file.columns if name not in file.inputs)]
    return by_name(input_fields(items), [name for name in columns if not name.startswith("outputs.")])


def input_fields(items: pl.DataFrame) -> list[str]:
    """The names of a pool's input fields."""
    return [name for name in items.columns if name != "item"]


def is_id(field: str) -> bool:
    """Whether an input field is called like an id of items."""
    return _bare_field(field) in ID_COLUMNS


def _bare_field(name: str) -> str:
    return name.removeprefix(INPUT_MARK).casefold()


def by_name(fields: Sequence[str], columns: Sequence[str]) -> dict[str, str]:
    """Find the column of each field by its name, in any letter case and without the mark of an input."""
    exact = set(columns)
    folded = {name.casefold(): name for name in reversed(columns)}
    found: dict[str, str] = {}
    for name in fields:
        column = name if name in exact else folded.get(name.casefold()) or folded.get(_bare_field(name))
        if column is not None and column not in found.values():
            found[name] = column
    return found


class Sides:
    """The fields of a pool and the columns of a file, and the ways to match them.

    Attributes:
        texts: the pool's fields without ids.
        named: those that the file has under the same name -> the column.
    """

    def __init__(self, file: GoldFile, rows: pl.DataFrame, items: pl.DataFrame, answers: set[str]) -> None:
        self._rows, self._items = rows, items
        fields = input_fields(items)
        known = [name for name in file.columns if name not in answers and not name.startswith("outputs.")]
        self._id = file.id_column if file.id_column in known else None
        self._ids = [name for name in fields if is_id(name)]
        known = [name for name in known if name != self._id]
        self._inputs = [name for name in known if name in file.inputs] if file.inputs else known
        self._metas = {name.removeprefix("meta."): name for name in known if name not in file.inputs}
        self.texts = [name for name in fields if name not in self._ids]
        self.named = by_name(self.texts, [name for name in self._inputs if not name.startswith("meta.")])

    def ways(self) -> Iterator[Key]:
        """The ways to join, best first."""
        if self._id is not None:
            for name in self._ids:
                if (key := self._by_id(name, self._id)) is not None:
                    yield key
        yield from self._by_fields()

    def _by_fields(self) -> Iterator[Key]:
        if self.named:
            yield _key(self.named)
        if (whole := self._whole()) is not None:
            yield whole
        # Fields of `meta` that the pool shows distinguish items with the same inputs.
        free = [name for name in self.texts if name not in self.named]
        more = {name: self._metas[own] for name, own in by_name(free, list(self._metas)).items()}
        if more:
            yield _key({**self.named, **more})
        guessed = self._by_values(free)
        if guessed:
            told = listed(
                [f"the pool's '{name}' with the file's '{column}'" for name, column in guessed.items()]
            )
            remark = f"columns were matched by their values, not by their names: {told}"
            if self.named:
                yield _key({**self.named, **guessed}, remark)
            yield _key(guessed, remark)

    def _whole(self) -> Key | None:
        """The benchmark's text `inputs` against all that the pool shows, joined by spaces."""
        if "inputs" not in self._inputs or "inputs" in self.named.values() or not self.texts:
            return None
        fields = tuple(self.texts)
        remark = f"the file's text 'inputs' was matched with the pool's {listed(fields)}, joined by spaces"
        return Key(
            fields,
            ("inputs",),
            _texts(fields, " "),
            _texts(["inputs"], " "),
            remark if len(fields) > 1 else None,
        )

    def _by_id(self, name: str, column: str) -> Key | None:
        """The key of an id; nothing where the pool's id and the file's name different items."""
        key = Key((name,), (column,), _plain_id(name), _plain_id(column))
        ours = self._items.with_columns(key.of_items)
        theirs = self._rows.with_columns(key.of_rows)
        same = ours.join(theirs.select(KEY), on=KEY, how="semi").filter(pl.col(KEY) != "").height
        if not same:
            return None
        for other in self._by_fields():
            agreeing = _with_text(ours, other.of_items).join(
                _with_text(theirs, other.of_rows), on=[KEY, _TEXT], how="semi"
            )
            if agreeing.height >= _SAME_IDS * same:
                columns = (column, *other.columns)
                return replace(
                    key, columns=columns, remark=_disagreement(name, column, same - agreeing.height)
                )
            matched = _with_text(ours, other.of_items).join(
                _with_text(theirs, other.of_rows), on=_TEXT, how="semi"
            )
            if self.named or matched.height:
                return None
        alone = f"items were joined on the pool's '{name}' and the file's '{column}' alone: no other field is in both"
        return replace(key, remark=alone)

    def _by_values(self, fields: Sequence[str]) -> dict[str, str]:
        """Fields and columns that hold the same values, though their names differ."""
        taken = {"instruction", *self.named.values()}
        columns = [name for name in self._inputs if name not in taken and not name.startswith("meta.")]
        if not fields or not columns:
            return {}
        ours = [set(self._items[name].drop_nulls()) for name in fields]
        theirs = [set(self._rows[name].drop_nulls()) for name in columns]
        common = np.array([[len(shown & held) for held in theirs] for shown in ours])
        # By their characters, so that texts are matched before numbers that count something on both sides.
        weight = np.array([[sum(map(len, shown & held)) for held in theirs] for shown in ours])
        least = np.array([[max(1, min(len(shown), len(held))) for held in theirs] for shown in ours])
        weight = np.where(common >= _SAME_VALUES * least, weight, 0)
        assigned = zip(*scipy.optimize.linear_sum_assignment(weight, maximize=True), strict=True)
        pairs = sorted(assigned, key=lambda at: -weight[at])
        found: dict[str, str] = {}
        matched = self._matched(self.named) if self.named else 0
        for at in pairs:
            longer = {**found, fields[at[0]]: columns[at[1]]}
            # Columns of common values may still be of different things: then few items have both values in one row.
            if weight[at] and (count := self._matched({**self.named, **longer})) and 2 * count >= matched:
                found, matched = longer, count
        return found

    def _matched(self, pairs: Mapping[str, str]) -> int:
        key = _key(pairs)
        return (
            self._items.select(key.of_items).join(self._rows.select(key.of_rows), on=KEY, how="semi").height
        )


def _plain_id(name: str) -> pl.Expr:
    """An id without the empty fraction that some programs add to whole numbers."""
    return pl.col(name).str.replace(r"^(-?\d+)\.0+$", "$1").alias(KEY)


def _with_text(table: pl.DataFrame, text: pl.Expr) -> pl.DataFrame:
    return table.with_columns(text.alias(_TEXT))


def _disagreement(name: str, column: str, count: int) -> str | None:
    if not count:
        return None
    return (
        f"items were joined on the pool's '{name}' and the file's '{column}', though other fields of "
        f"{count} {'item differs' if count == 1 else 'items differ'}"
    )
