"""Joining the rows of a file of gold answers to a pool's items."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from merilo.bilingual import BilingualText, counted, counted_en, listed_ru
from merilo.errors import DataError
from merilo.people.gold_file import GoldFile
from merilo.people.gold_keys import GOLD, ID, ITEM, KEY, Key, Sides, by_name, input_fields
from merilo.wording import listed, shortened, shown


@dataclass(frozen=True, slots=True)
class Joined:
    """The items of a pool joined to rows of a file of gold answers.

    Attributes:
        pairs: one row per item with a gold answer, in the pool's order: the file's columns, `AT`, `GOLD`, `ID` (null if
            another item has the same id) and `ITEM`.
        columns: the file's columns matched to the pool's input fields.
        without_gold: the numbers of the items that match no row.
        unused: the numbers of the rows that match no item.
        warnings: how columns with different names were matched, and which fields of joined items differ.
    """

    pairs: pl.DataFrame
    columns: tuple[str, ...]
    without_gold: tuple[int, ...]
    unused: tuple[int, ...]
    warnings: tuple[BilingualText, ...]


def join(file: GoldFile, rows: pl.DataFrame, items: pl.DataFrame, answers: set[str]) -> Joined:
    """Join rows with a gold answer to items.

    Rows are joined by id if both sides have ids and the input fields common to both sides agree. Otherwise they are
    joined by these fields. Fields with different names are matched by their values, and a warning names them.

    Args:
        file: the file.
        rows: the rows of its table with a gold answer, with `AT`, `GOLD` and `ID`.
        items: `item` and the input fields.
        answers: the columns of gold answers, which are not inputs.

    Raises:
        DataError: two items of the file have the same id, no row matches an item, two rows give one item different gold
            answers, or the common fields do not identify the row of an item.
    """
    _refuse_doubled_ids(file, rows, answers)
    ambiguous: DataError | None = None
    best = 0
    for key in Sides(file, rows, items, answers).ways():
        keyed_items, keyed_rows = items.with_columns(key.of_items), rows.with_columns(key.of_rows)
        matched = keyed_items.join(keyed_rows, on=KEY, how="semi").height
        # A longer key may resolve ambiguous rows, but must still match at least half as many items.
        if not matched or 2 * matched < best:
            continue
        try:
            warnings = _refuse_ambiguity(file, keyed_rows, keyed_items, key, answers)
        except DataError as error:
            ambiguous, best = ambiguous or error, max(best, matched)
            continue
        return _joined(file, keyed_rows, keyed_items, key, warnings)
    raise ambiguous or _nothing_matches(file, rows, items, answers)


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
            f"has the same id '{shortened(doubled[ID][0])}' as row {first}, but another item or another gold answer",
            file=file.path,
            row=second,
            field=file.header(file.id_column),
        )


def _refuse_ambiguity(
    file: GoldFile, rows: pl.DataFrame, items: pl.DataFrame, key: Key, answers: set[str]
) -> tuple[BilingualText, ...]:
    """Raise an error if rows give one item different gold answers, or if the key does not identify the row of an item.

    Returns:
        A warning if rows repeat an item with the same gold answer.
    """
    asked = rows.join(items, on=KEY, how="semi", maintain_order="left")
    _refuse_shared_row(file, asked, items, key)
    doubled = asked.filter(pl.col(KEY).is_duplicated())
    if not doubled.height:
        return ()
    others = [name for name in file.columns if name not in {*key.columns, *answers, file.id_column}]
    unseen = [name for name in others if name in file.inputs]
    varied = [pl.col(name).n_unique().over(KEY) > 1 for name in unseen]
    for two in (
        doubled.filter(pl.col(GOLD).n_unique().over(KEY) > 1),
        doubled.filter(pl.any_horizontal(varied)) if varied else doubled.clear(),
    ):
        if two.height:
            raise _two_rows(file, two.filter(pl.col(KEY) == two[KEY][0]), key, unseen or others)
    row = doubled["row"].sort()[1]
    extra = doubled.height - doubled[KEY].n_unique()
    differing = [
        name for name in others if doubled.select((pl.col(name).n_unique().over(KEY) > 1).any()).item()
    ]
    first = f"; the first is taken, and they differ in {listed(differing)}" if differing else ""
    first_ru = f"; взята первая, строки различаются полями: {listed_ru(differing)}" if differing else ""
    return (
        BilingualText(
            f"{shown(file.path)}, row {row}: repeats an item with the same answer "
            f"({counted_en(extra, 'such row', 'such rows')}){first}",
            f"файл {shown(file.path)}, строка {row}: вопрос повторён с тем же эталонным ответом (всего "
            f"{counted(extra, 'такая строка', 'такие строки', 'таких строк')}){first_ru}",
        ),
    )


def _refuse_shared_row(file: GoldFile, asked: pl.DataFrame, items: pl.DataFrame, key: Key) -> None:
    """Raise an error if several items of the pool match one row."""
    shared = items.join(asked, on=KEY, how="semi", maintain_order="left").filter(pl.col(KEY).is_duplicated())
    if not shared.height:
        return
    two = shared.filter(pl.col(KEY) == shared[KEY][0])[:2]
    differing = [name for name in input_fields(items) if name != KEY and two[name].n_unique() > 1]
    lacking = [name for name in differing if not by_name([name], file.columns)]
    difference = f"{listed(lacking)}, which the file lacks" if lacking else listed(differing)
    row = asked.filter(pl.col(KEY) == two[KEY][0])["row"][0]
    raise DataError(
        f"matches several items of the pool (items {two['item'][0]} and {two['item'][1]}): they have the same "
        f"{listed(key.fields)} and differ in {difference}",
        file=file.path,
        row=row,
    )


def _two_rows(file: GoldFile, same: pl.DataFrame, key: Key, others: Sequence[str]) -> DataError:
    """Build the error for two rows that match one item; rows with different gold answers are preferred as the example."""
    two = same.unique(GOLD, keep="first", maintain_order=True)[:2]
    if two.height < 2:
        two = same.unique(others, keep="first", maintain_order=True)[:2]
    first, second = two["row"]
    golds = [f"'{shortened(text)}'" for text in two[GOLD]]
    differing = [name for name in others if two[name].n_unique() > 1]
    if not differing:
        text = shortened(two[KEY][0].replace("\x1f", " "))
        return DataError(
            f"gives '{text}' the gold answer {golds[1]}, but row {first} gives {golds[0]}",
            file=file.path,
            row=second,
        )
    answers = (
        f"different gold answers ({golds[0]}, {golds[1]})" if golds[0] != golds[1] else "the same gold answer"
    )
    return DataError(
        f"has the same {listed(key.fields)} as row {first} and {answers}: the rows differ in "
        f"{listed(differing)}, which the pool does not have",
        file=file.path,
        row=second,
    )


def _joined(
    file: GoldFile, rows: pl.DataFrame, items: pl.DataFrame, key: Key, warnings: tuple[BilingualText, ...]
) -> Joined:
    first = rows.unique(KEY, keep="first", maintain_order=True)
    asked = items.select(pl.col("item").alias(ITEM), KEY)
    joined = asked.join(first, on=KEY, how="left", maintain_order="left")
    found = joined.filter(pl.col(GOLD).is_not_null())
    name, remark = shown(file.path), key.remark
    remarks = [BilingualText(f"{name}: {remark.en}", f"файл {name}: {remark.ru}")] if remark else []
    return Joined(
        found,
        key.columns,
        tuple(joined.filter(pl.col(GOLD).is_null())[ITEM]),
        tuple(rows.join(asked, on=KEY, how="anti", maintain_order="left")["row"]),
        (*remarks, *warnings),
    )


def _nothing_matches(file: GoldFile, rows: pl.DataFrame, items: pl.DataFrame, answers: set[str]) -> DataError:
    """Build the error that no row matches: the fields of both sides, and the first values of a field that both have."""
    fields = input_fields(items)
    columns = list(file.inputs) or [name for name in file.columns if name not in answers]
    named = by_name(fields, [name for name in file.columns if name not in answers])
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
