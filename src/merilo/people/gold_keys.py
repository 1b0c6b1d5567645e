"""Join keys of a pool's items and the rows of a file of gold answers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
import polars as pl
import scipy

from merilo.bilingual import BilingualText, counted, counted_en, listed_ru
from merilo.people.gold_file import ID_COLUMNS, GoldFile
from merilo.responses import INPUT_MARK
from merilo.wording import listed

#: Columns added to the file's columns in the joined table: the row's position in the file's table, the gold answer, the
#: dataset's id, and the item's number in the pool.
AT: Final = "\x1fat"
GOLD: Final = "\x1fgold"
ID: Final = "\x1fid"
ITEM: Final = "\x1fitem"
KEY: Final = "\x1fkey"
_TEXT: Final = "\x1ftext"

#: Ids identify the same items on both sides if, for at least this share of the common ids, the input fields agree.
_SAME_IDS: Final = 0.9
#: A field and a column are matched by their values if at least this share of distinct values is common to both.
_SAME_VALUES: Final = 0.5


@dataclass(frozen=True, slots=True)
class Key:
    """A join key of items and rows.

    Attributes:
        fields: the pool's fields.
        columns: the file's columns.
        of_items: expression that computes the key of an item.
        of_rows: expression that computes the key of a row.
        remark: how columns with different names were matched, or what differs; `None` if there is nothing to tell.
    """

    fields: tuple[str, ...]
    columns: tuple[str, ...]
    of_items: pl.Expr
    of_rows: pl.Expr
    remark: BilingualText | None = None


def _key(pairs: Mapping[str, str], remark: BilingualText | None = None) -> Key:
    """Build the key from a mapping of fields to columns."""
    fields, columns = tuple(pairs), tuple(pairs.values())
    return Key(fields, columns, _texts(fields, "\x1f"), _texts(columns, "\x1f"), remark)


def _texts(names: Sequence[str], separator: str) -> pl.Expr:
    return pl.concat_str([pl.col(name).fill_null("") for name in names], separator=separator).alias(KEY)


def input_columns(file: GoldFile, items: pl.DataFrame) -> dict[str, str]:
    """Map the pool's input fields to the file's columns of the same name, in the pool's order.

    Letter case is ignored, and so is the prefix of a field that has the name of one of Merilo's own columns.
    """
    columns = [*file.inputs, *(name for name in file.columns if name not in file.inputs)]
    return by_name(input_fields(items), [name for name in columns if not name.startswith("outputs.")])


def input_fields(items: pl.DataFrame) -> list[str]:
    """Return the names of a pool's input fields."""
    return [name for name in items.columns if name != "item"]


def is_id(field: str) -> bool:
    """Check whether an input field has a name typical of item ids."""
    return _bare_field(field) in ID_COLUMNS


def _bare_field(name: str) -> str:
    return name.removeprefix(INPUT_MARK).casefold()


def by_name(fields: Sequence[str], columns: Sequence[str]) -> dict[str, str]:
    """Find the column of each field by its name, ignoring letter case and the prefix of an input."""
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
        named: mapping from these fields to the file's columns of the same name.
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
        """Yield the possible join keys, best first."""
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
            remark = _matched_by_values(guessed)
            if self.named:
                yield _key({**self.named, **guessed}, remark)
            yield _key(guessed, remark)

    def _whole(self) -> Key | None:
        """Build the key that compares the text `inputs` of the file with all fields of the pool joined by spaces."""
        if "inputs" not in self._inputs or "inputs" in self.named.values() or not self.texts:
            return None
        fields = tuple(self.texts)
        remark = BilingualText(
            f"the file's text 'inputs' was matched with the pool's {listed(fields)}, joined by spaces",
            f"текст inputs файла сопоставлен с полями пула ({listed_ru(fields)}), соединёнными через пробел",
        )
        return Key(
            fields,
            ("inputs",),
            _texts(fields, " "),
            _texts(["inputs"], " "),
            remark if len(fields) > 1 else None,
        )

    def _by_id(self, name: str, column: str) -> Key | None:
        """Build the key of an id; return `None` if the same ids identify different items in the pool and the file."""
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
        alone = BilingualText(
            f"items were joined on the pool's '{name}' and the file's '{column}' only: they have no other field in common",
            f"вопросы сопоставлены только по полю «{name}» пула и столбцу «{column}» файла: других общих полей нет",
        )
        return replace(key, remark=alone)

    def _by_values(self, fields: Sequence[str]) -> dict[str, str]:
        """Match fields and columns with different names that have the same values."""
        taken = {"instruction", *self.named.values()}
        columns = [name for name in self._inputs if name not in taken and not name.startswith("meta.")]
        if not fields or not columns:
            return {}
        ours = [set(self._items[name].drop_nulls()) for name in fields]
        theirs = [set(self._rows[name].drop_nulls()) for name in columns]
        common = np.array([[len(shown & held) for held in theirs] for shown in ours])
        # Weighted by length in characters, so that texts are matched before numbers that happen to occur on both sides.
        weight = np.array([[sum(map(len, shown & held)) for held in theirs] for shown in ours])
        least = np.array([[max(1, min(len(shown), len(held))) for held in theirs] for shown in ours])
        weight = np.where(common >= _SAME_VALUES * least, weight, 0)
        assigned = zip(*scipy.optimize.linear_sum_assignment(weight, maximize=True), strict=True)
        pairs = sorted(assigned, key=lambda at: -weight[at])
        found: dict[str, str] = {}
        matched = self._matched(self.named) if self.named else 0
        for at in pairs:
            longer = {**found, fields[at[0]]: columns[at[1]]}
            # Columns with common values may be unrelated; if so, few items have both values in the same row.
            if weight[at] and (count := self._matched({**self.named, **longer})) and 2 * count >= matched:
                found, matched = longer, count
        return found

    def _matched(self, pairs: Mapping[str, str]) -> int:
        key = _key(pairs)
        return (
            self._items.select(key.of_items).join(self._rows.select(key.of_rows), on=KEY, how="semi").height
        )


def _plain_id(name: str) -> pl.Expr:
    """Remove the zero fraction that some programs add to whole numbers."""
    return pl.col(name).str.replace(r"^(-?\d+)\.0+$", "$1").alias(KEY)


def _with_text(table: pl.DataFrame, text: pl.Expr) -> pl.DataFrame:
    return table.with_columns(text.alias(_TEXT))


def _disagreement(name: str, column: str, count: int) -> BilingualText | None:
    if not count:
        return None
    return BilingualText(
        f"items were joined on the pool's '{name}' and the file's '{column}', although other fields of "
        f"{counted_en(count, 'item', 'items')} differ",
        f"вопросы сопоставлены по полю «{name}» пула и столбцу «{column}» файла, хотя остальные поля "
        f"{counted(count, 'вопроса', 'вопросов', 'вопросов')} различаются",
    )


def _matched_by_values(pairs: Mapping[str, str]) -> BilingualText:
    matched = [f"the pool's '{name}' with the file's '{column}'" for name, column in pairs.items()]
    matched_ru = [f"поле «{name}» пула со столбцом «{column}» файла" for name, column in pairs.items()]
    return BilingualText(
        f"columns were matched by their values, not by their names: {listed(matched)}",
        f"столбцы сопоставлены по значениям, а не по названиям: {listed_ru(matched_ru)}",
    )
