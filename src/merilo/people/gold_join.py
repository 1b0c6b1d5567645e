"""Joining the rows of a file of right answers to a pool's items."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
import polars as pl
from scipy.optimize import linear_sum_assignment

from merilo.errors import DataError
from merilo.files import listed, shortened, shown
from merilo.people.gold_file import ID_COLUMNS, GoldFile
from merilo.responses import INPUT_MARK

#: Columns of the joined table beside those of the file, whose names are the users' own: the row's place in the file's
#: table, the right answer, the dataset's id, and the pool's number of the item.
AT: Final = "\x1fat"
GOLD: Final = "\x1fgold"
ID: Final = "\x1fid"
ITEM: Final = "\x1fitem"
_KEY: Final = "\x1fkey"
_TEXT: Final = "\x1ftext"

#: Share of the ids found in both whose input fields must agree for them to be ids of the same items.
_SAME_IDS: Final = 0.9
#: Share of the distinct values of a field that must stand in a column for the two to be matched by their values.
_SAME_VALUES: Final = 0.5


@dataclass(frozen=True, slots=True)
class Joined:
    """Items with their rows.

    Attributes:
        pairs: a row for each item that has a right answer, in the pool's order: the file's columns, `AT`, `GOLD`, `ID`
            (null where it is not the item's alone) and `ITEM`.
        columns: the file's columns that hold the pool's input fields.
        without_gold: the numbers of the items that match no row.
        unused: the numbers of the rows that match no item.
        warnings: how the columns were matched where names do not tell, and what does not agree.
    """

    pairs: pl.DataFrame
    columns: tuple[str, ...]
    without_gold: tuple[int, ...]
    unused: tuple[int, ...]
    warnings: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Key:
    """What items and rows are compared by.

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


def _key(pairs: Mapping[str, str], remark: str | None = None) -> _Key:
    """The key of fields and the columns that hold them."""
    fields, columns = tuple(pairs), tuple(pairs.values())
    return _Key(fields, columns, _texts(fields, "\x1f"), _texts(columns, "\x1f"), remark)


def _texts(names: Sequence[str], separator: str) -> pl.Expr:
    return pl.concat_str([pl.col(name).fill_null("") for name in names], separator=separator).alias(_KEY)


def input_columns(file: GoldFile, items: pl.DataFrame) -> dict[str, str]:
    """The pool's input fields that the file has under the same name: field -> column, in the pool's order.

    Letter case and the mark of a field that is called like one of Merilo's own columns make no difference.
    """
    columns = [*file.inputs, *(name for name in file.columns if name not in file.inputs)]
    return _by_name(_fields(items), [name for name in columns if not name.startswith("outputs.")])


def _fields(items: pl.DataFrame) -> list[str]:
    return [name for name in items.columns if name != "item"]


def _bare_field(name: str) -> str:
    return name.removeprefix(INPUT_MARK).casefold()


def _by_name(fields: Sequence[str], columns: Sequence[str]) -> dict[str, str]:
    exact = set(columns)
    folded = {name.casefold(): name for name in reversed(columns)}
    found: dict[str, str] = {}
    for name in fields:
        column = name if name in exact else folded.get(name.casefold()) or folded.get(_bare_field(name))
        if column is not None and column not in found.values():
            found[name] = column
    return found


def join(file: GoldFile, rows: pl.DataFrame, items: pl.DataFrame, answers: set[str]) -> Joined:
    """Join rows with a right answer to items.

    An id that both sides have decides, if the input fields that both sides have agree. Otherwise these fields decide.
    Fields of other names are matched by their values, and the warnings say which.

    Args:
        file: the file.
        rows: the rows of its table that have a right answer, with `AT`, `GOLD` and `ID`.
        items: `item` and the input fields.
        answers: the columns of right answers, which hold no input.

    Raises:
        DataError: two items of the file have one id, nothing matches, two rows give one item two answers, or the
            fields of both sides do not tell which row is an item's.
    """
    _refuse_doubled_ids(file, rows, answers)
    ambiguous: DataError | None = None
    best = 0
    for key in _Sides(file, rows, items, answers).ways():
        keyed_items, keyed_rows = items.with_columns(key.of_items), rows.with_columns(key.of_rows)
        matched = keyed_items.join(keyed_rows, on=_KEY, how="semi").height
        # A longer key may tell apart what a shorter one does not, but must not lose the items on the way.
        if not matched or 2 * matched < best:
            continue
        try:
            warnings = _refuse_ambiguity(file, keyed_rows, keyed_items, key, answers)
        except DataError as error:
            ambiguous, best = ambiguous or error, max(best, matched)
            continue
        return _joined(file, keyed_rows, keyed_items, key, warnings)
    raise ambiguous or _nothing_matches(file, rows, items, answers)


class _Sides:
    """The fields of a pool and the columns of a file, and the ways to match them.

    Attributes:
        texts: the pool's fields without ids.
        named: those that the file has under the same name -> the column.
    """

    def __init__(self, file: GoldFile, rows: pl.DataFrame, items: pl.DataFrame, answers: set[str]) -> None:
        self._rows, self._items = rows, items
        fields = _fields(items)
        known = [name for name in file.columns if name not in answers and not name.startswith("outputs.")]
        self._id = file.id_column if file.id_column in known else None
        self._ids = [name for name in fields if _bare_field(name) in ID_COLUMNS]
        known = [name for name in known if name != self._id]
        self._inputs = [name for name in known if name in file.inputs] if file.inputs else known
        self._metas = {name.removeprefix("meta."): name for name in known if name not in file.inputs}
        self.texts = [name for name in fields if name not in self._ids]
        self.named = _by_name(self.texts, [name for name in self._inputs if not name.startswith("meta.")])

    def ways(self) -> Iterator[_Key]:
        """The ways to join, best first."""
        if self._id is not None:
            for name in self._ids:
                if (key := self._by_id(name, self._id)) is not None:
                    yield key
        yield from self._by_fields()

    def _by_fields(self) -> Iterator[_Key]:
        if self.named:
            yield _key(self.named)
        if (whole := self._whole()) is not None:
            yield whole
        # What a pool shows of `meta` tells apart items that have the same inputs.
        free = [name for name in self.texts if name not in self.named]
        more = {name: self._metas[own] for name, own in _by_name(free, list(self._metas)).items()}
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

    def _whole(self) -> _Key | None:
        """The benchmark's text `inputs` against all that the pool shows, joined by spaces."""
        if "inputs" not in self._inputs or "inputs" in self.named.values() or not self.texts:
            return None
        fields = tuple(self.texts)
        remark = f"the file's text 'inputs' was matched with the pool's {listed(fields)}, joined by spaces"
        return _Key(
            fields,
            ("inputs",),
            _texts(fields, " "),
            _texts(["inputs"], " "),
            remark if len(fields) > 1 else None,
        )

    def _by_id(self, name: str, column: str) -> _Key | None:
        """The key of an id; nothing where the pool's id and the file's name different items."""
        key = _Key((name,), (column,), _plain_id(name), _plain_id(column))
        ours = self._items.with_columns(key.of_items)
        theirs = self._rows.with_columns(key.of_rows)
        same = ours.join(theirs.select(_KEY), on=_KEY, how="semi").filter(pl.col(_KEY) != "").height
        if not same:
            return None
        for other in self._by_fields():
            agreeing = _with_text(ours, other.of_items).join(
                _with_text(theirs, other.of_rows), on=[_KEY, _TEXT], how="semi"
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
        least = np.array([[max(1, min(len(shown), len(held))) for held in theirs] for shown in ours])
        common = np.where(common >= _SAME_VALUES * least, common, 0)
        pairs = sorted(
            zip(*linear_sum_assignment(common, maximize=True), strict=True), key=lambda at: -common[at]
        )
        found: dict[str, str] = {}
        matched = self._matched(self.named) if self.named else 0
        for at in pairs:
            longer = {**found, fields[at[0]]: columns[at[1]]}
            # Numbers that count something on both sides have common values and join nothing.
            if common[at] and (count := self._matched({**self.named, **longer})) and 2 * count >= matched:
                found, matched = longer, count
        return found

    def _matched(self, pairs: Mapping[str, str]) -> int:
        key = _key(pairs)
        return (
            self._items.select(key.of_items).join(self._rows.select(key.of_rows), on=_KEY, how="semi").height
        )


def _plain_id(name: str) -> pl.Expr:
    """An id without the empty fraction that some programs add to whole numbers."""
    return pl.col(name).str.replace(r"^(-?\d+)\.0+$", "$1").alias(_KEY)


def _with_text(table: pl.DataFrame, text: pl.Expr) -> pl.DataFrame:
    return table.with_columns(text.alias(_TEXT))


def _disagreement(name: str, column: str, count: int) -> str | None:
    if not count:
        return None
    return (
        f"items were joined on the pool's '{name}' and the file's '{column}', though other fields of "
        f"{count} {'item differs' if count == 1 else 'items differ'}"
    )


def _refuse_doubled_ids(file: GoldFile, rows: pl.DataFrame, answers: set[str]) -> None:
    if file.id_column is None or file.id_column in answers:
        return
    shown_columns = file.inputs or [name for name in file.columns if name not in answers]
    distinct = rows.filter(pl.col(ID).is_not_null() & pl.col(ID).is_duplicated()).unique(
        [ID, GOLD, *shown_columns], keep="first", maintain_order=True
    )
    doubled = distinct.filter(pl.col(ID).is_duplicated())
    if doubled.height:
        first, second = doubled.filter(pl.col(ID) == doubled[ID][0])["row"][:2]
        raise DataError(
            f"has the id '{shortened(doubled[ID][0])}' of row {first}, and is another item or has another answer",
            file=file.path,
            row=second,
            field=file.header(file.id_column),
        )


def _refuse_ambiguity(
    file: GoldFile, rows: pl.DataFrame, items: pl.DataFrame, key: _Key, answers: set[str]
) -> tuple[str, ...]:
    """Refuse rows that give one item two answers, and items of which the key does not tell the row.

    Returns:
        A warning where rows repeat an item with the same answer.
    """
    asked = rows.join(items, on=_KEY, how="semi", maintain_order="left")
    _refuse_shared_row(file, asked, items, key)
    doubled = asked.filter(pl.col(_KEY).is_duplicated())
    if not doubled.height:
        return ()
    others = [name for name in file.columns if name not in {*key.columns, *answers, file.id_column}]
    unseen = [name for name in others if name in file.inputs]
    varied = [pl.col(name).n_unique().over(_KEY) > 1 for name in unseen]
    for two in (
        doubled.filter(pl.col(GOLD).n_unique().over(_KEY) > 1),
        doubled.filter(pl.any_horizontal(varied)) if varied else doubled.clear(),
    ):
        if two.height:
            raise _two_rows(file, two.filter(pl.col(_KEY) == two[_KEY][0]), key, unseen or others)
    row = doubled["row"].sort()[1]
    extra = doubled.height - doubled[_KEY].n_unique()
    differing = [
        name for name in others if doubled.select((pl.col(name).n_unique().over(_KEY) > 1).any()).item()
    ]
    first = f"; the first is taken, and they differ in {listed(differing)}" if differing else ""
    return (
        f"{shown(file.path)}, row {row}: repeats an item with the same answer ({extra} such rows){first}",
    )


def _refuse_shared_row(file: GoldFile, asked: pl.DataFrame, items: pl.DataFrame, key: _Key) -> None:
    """Refuse several items of the pool that match one row."""
    shared = items.join(asked, on=_KEY, how="semi", maintain_order="left").filter(
        pl.col(_KEY).is_duplicated()
    )
    if not shared.height:
        return
    two = shared.filter(pl.col(_KEY) == shared[_KEY][0])[:2]
    differing = [name for name in _fields(items) if name != _KEY and two[name].n_unique() > 1]
    row = asked.filter(pl.col(_KEY) == two[_KEY][0])["row"][0]
    raise DataError(
        f"is the right answer of several items of the pool (items {two['item'][0]} and {two['item'][1]}): they have the "
        f"same {listed(key.fields)} and differ in {listed(differing)}, which the file lacks",
        file=file.path,
        row=row,
    )


def _two_rows(file: GoldFile, same: pl.DataFrame, key: _Key, others: Sequence[str]) -> DataError:
    """Two rows that one item of the pool matches: with different answers if there are such."""
    two = same.unique(GOLD, keep="first", maintain_order=True)[:2]
    if two.height < 2:
        two = same.unique(others, keep="first", maintain_order=True)[:2]
    first, second = two["row"]
    golds = [f"'{shortened(text)}'" for text in two[GOLD]]
    differing = [name for name in others if two[name].n_unique() > 1]
    if not differing:
        text = shortened(two[_KEY][0].replace("\x1f", " "))
        return DataError(
            f"gives '{text}' the answer {golds[1]} where row {first} gives {golds[0]}",
            file=file.path,
            row=second,
        )
    answers = (
        f"different right answers ({golds[0]}, {golds[1]})"
        if golds[0] != golds[1]
        else "the same right answer"
    )
    return DataError(
        f"has the same {listed(key.fields)} as row {first} and {answers}: the pool does not show "
        f"{listed(differing)}, in which the rows differ",
        file=file.path,
        row=second,
    )


def _joined(
    file: GoldFile, rows: pl.DataFrame, items: pl.DataFrame, key: _Key, warnings: tuple[str, ...]
) -> Joined:
    first = rows.unique(_KEY, keep="first", maintain_order=True)
    asked = items.select(pl.col("item").alias(ITEM), _KEY)
    joined = asked.join(first, on=_KEY, how="left", maintain_order="left")
    found = joined.filter(pl.col(GOLD).is_not_null())
    remarks = [f"{shown(file.path)}: {key.remark}"] if key.remark else []
    return Joined(
        found,
        key.columns,
        tuple(joined.filter(pl.col(GOLD).is_null())[ITEM]),
        tuple(rows.join(asked, on=_KEY, how="anti", maintain_order="left")["row"]),
        (*remarks, *warnings),
    )


def _nothing_matches(file: GoldFile, rows: pl.DataFrame, items: pl.DataFrame, answers: set[str]) -> DataError:
    """The fields of both sides, and the first value of each side for one field that both have."""
    fields = _fields(items)
    columns = list(file.inputs) or [name for name in file.columns if name not in answers]
    named = _by_name(fields, [name for name in file.columns if name not in answers])
    ours = [name for name in fields if name not in named]
    theirs = [name for name in columns if name not in named.values()]
    if named:
        strange = [name for name, column in named.items() if not set(items[name]) & set(rows[column])]
        name = (strange or list(named))[0]
        what = (
            f"both have {listed(list(named))}, but '{name}' differs: {_first(items, name, rows, named[name])}"
        )
    elif theirs == ["inputs"]:
        what = f"the pool's {listed(ours)} differs from the file's 'inputs': {_first(items, ours[0], rows, 'inputs')}"
        ours = theirs = []
    else:
        what = "they have no field in common"
    only = [
        f"only the {side} has {listed(names)}" for side, names in (("pool", ours), ("file", theirs)) if names
    ]
    return DataError(f"no row matches an item of the pool: {'; '.join([what, *only])}", file=file.path)


def _first(items: pl.DataFrame, name: str, rows: pl.DataFrame, column: str) -> str:
    ours, theirs = (table[own].drop_nulls() for table, own in ((items, name), (rows, column)))
    texts = [shortened(values[0]) if len(values) else "" for values in (ours, theirs)]
    return f"the pool begins with '{texts[0]}', the file with '{texts[1]}'"
