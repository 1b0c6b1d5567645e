"""Gold answers of a pool's items: joined from a file on ids or fields of equal names, or computed by a solver."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final, NamedTuple, cast

import polars as pl

from merilo.datasets.declaration import Dataset
from merilo.errors import DataError, InputError, argument
from merilo.files import collecting_later
from merilo.items import Item, ItemId, id_of, laid_open, named_field
from merilo.people.gold_file import (
    GOLD_COLUMNS,
    ID_COLUMNS,
    GoldFile,
    gold_column,
    header_of,
    may_be_ids,
    read_gold_file,
)
from merilo.people.platforms.loading import json_text
from merilo.records import Record
from merilo.responses import INPUT_MARK
from merilo.strict_json import Json
from merilo.wording import listed, shortened, shown

#: Columns of a table that are read as whole numbers, as in `meta` of the exam's split.
_WHOLE: Final = ("score", "variant")
_WHOLE_NUMBER: Final = re.compile(r"0|-?[1-9]\d{0,17}")

#: A number that an id may be, of no more digits than numbers keep.
_NUMBER_AS_ID: Final = r"^-?\d{1,15}(?:\.\d{1,14})?(?:[eE]\+?\d{1,2})?$"
_LARGEST_EXACT: Final = 1e15

#: Columns added to the file's columns in the joined table: the row's position in the file's table, the gold answer, the
#: dataset's id, the item's number in the pool, and the key that is compared.
_AT, _GOLD, _ID, _ITEM, _KEY = "\x1fat", "\x1fgold", "\x1fid", "\x1fitem", "\x1fkey"

#: Ids identify the same items on both sides if, for at least this share of the common ids, the input fields agree.
_SAME_IDS: Final = 0.9


class GoldRecord(Record):
    """Where gold answers come from, and the items and rows without their counterpart.

    Attributes:
        source: the name of the file, or a description of the solver.
        column: the column of the file from which the gold answers were taken; `None` for a solver.
        matched: how many items have a gold answer.
        items_without_gold: the numbers of the pool's items without a gold answer, except those in `unsolved`.
        unsolved: the numbers of the items that the solver cannot answer.
        rows_without_item: the numbers of the file's rows that match no item of the pool.
        joined: the field of the pool and the column of the file on which they were joined, if their names differ and no
            declaration says that they are the same; else empty. An empty column stands for the numbers of the rows.
        withheld: whether the answers themselves were left out, because the gold of the dataset is closed.
    """

    source: str = ""
    column: str | None = None
    matched: int = 0
    items_without_gold: tuple[int, ...] = ()
    unsolved: tuple[int, ...] = ()
    rows_without_item: tuple[int, ...] = ()
    joined: tuple[str, ...] = ()
    withheld: bool = False


@dataclass(frozen=True, slots=True)
class Gold:
    """The gold answers of a pool's items.

    Attributes:
        answers: one row per item with a gold answer: `item`, `gold` (text; a dictionary of criteria as JSON; null if
            withheld), `id` (the dataset's id if no other item has the same id, else null).
        facts: where they come from.
        fields: the other fields of the file for these items, including `meta.*`: `item` and text columns;
            `None` without a file.
        items: mapping from item number in the pool to the scorer's item, for each item with a gold answer.
    """

    answers: pl.DataFrame
    facts: GoldRecord
    fields: pl.DataFrame | None = None
    items: Mapping[int, Item] = field(default_factory=dict)

    @property
    def withheld(self) -> bool:
        """Return whether the answers themselves were left out."""
        return self.facts.withheld

    def named(self, source: str) -> Gold:
        """Return a copy with another name of the source."""
        return replace(self, facts=self.facts.model_copy(update={"source": source}))

    def with_answers(self, answers: pl.DataFrame) -> Gold:
        """Return a copy with other gold answers of the same items, which are replaced in `items` too."""
        items = dict(self.items)
        for number, text in answers.select("item", "gold").iter_rows():
            item = items.get(number)
            if item is not None and isinstance(item.outputs, str) and item.outputs != text:
                items[number] = replace(item, outputs=text)
        return replace(self, answers=answers, items=items)

    def without_answers(self, fields: Collection[str]) -> Gold:
        """Return a copy without gold answers, and without other fields of the file than these; ids stay.

        Args:
            fields: names of fields, such as `meta.domain`, or the last name of a path. Others are ignored.
        """
        table = self.fields
        if table is not None:
            columns = {named_field(name, table.columns) for name in fields} - {"item"}
            table = table.select("item", *(name for name in table.columns if name in columns))
        items = {}
        for number, item in self.items.items():
            meta = dict(laid_open(item.meta))
            names = filter(None, (named_field(name, meta) for name in fields))
            items[number] = Item(item.id, "", {}, None, {name: meta[name] for name in names})
        hidden = self.answers.with_columns(pl.lit(None, pl.String).alias("gold"))
        facts = self.facts.model_copy(update={"withheld": True})
        return replace(self, answers=hidden, facts=facts, fields=table, items=items)

    def with_numbers(self, names: Collection[str]) -> Gold:
        """Return a copy in which numbers stand for the values of these fields of `meta`, one for equal values."""
        gold = self
        for name in names:
            values = {number: item.meta[name] for number, item in gold.items.items() if name in item.meta}
            codes: dict[str | None, str] = {}
            code_of = {
                number: codes.setdefault(json_text(v), str(len(codes) + 1)) for number, v in values.items()
            }
            items = {
                number: replace(item, meta={**item.meta, name: code_of[number]})
                if number in code_of
                else item
                for number, item in gold.items.items()
            }
            table, column = gold.fields, f"meta.{name}"
            if table is not None and code_of:
                coded = pl.col("item").replace_strict(code_of, default=None, return_dtype=pl.String)
                inside = [other for other in table.columns if other.startswith(f"{column}.")]
                table = table.drop(inside).with_columns(coded.alias(column))
            gold = replace(gold, items=items, fields=table)
        return gold


def solved_gold(items: pl.DataFrame, solve: Callable[[str], str], name: str) -> Gold:
    """Compute the gold answers with a solver; items that the solver cannot answer get no gold answer.

    Args:
        items: `item` and the input fields.
        solve: the dataset's solver, which takes an item's input texts, joined by spaces, without a column of ids.
        name: the dataset's name.

    Raises:
        DataError: the solver can answer no item.
    """
    fields = input_fields(items)
    # The item's number in the pool is not part of the question.
    asked = [place for place, name in enumerate(fields) if not is_id(name)] or range(len(fields))
    solved: dict[int, Item] = {}
    reasons: dict[int, str] = {}
    for number, *values in items.iter_rows():
        texts = [text or "" for text in values]
        try:
            answer = solve(" ".join(texts[place] for place in asked))
        except DataError as error:
            reasons[number] = error.message
            continue
        solved[number] = Item(number, "", dict(zip(fields, texts, strict=True)), answer)
    if reasons and not solved:
        number, reason = next(iter(reasons.items()))
        raise DataError(f"the solver of {name} can answer no item; item {number}: {reason}")
    rows = [(number, item.outputs, None) for number, item in solved.items()]
    schema = {"item": pl.UInt32, "gold": pl.String, "id": pl.String}
    answers = pl.DataFrame(rows, schema=schema, orient="row")
    facts = GoldRecord(
        source=f"the solver of {name}", column=None, matched=answers.height, items_without_gold=(),
        unsolved=tuple(reasons), rows_without_item=(),
    )  # fmt: skip
    return Gold(answers, facts, items=solved)


def read_gold(
    source: Path | Sequence[Mapping[str, Json]],
    items: pl.DataFrame,
    *,
    answer: str = "",
    column: str | None = None,
    encoding: str | None = None,
    dataset: Dataset | None = None,
    alternatives: str | None = None,
) -> Gold:
    """Read gold answers and join them to a pool's items, with white space folded.

    Items are joined on the id if both sides have one, otherwise on the fields of the pool that the file has under the
    same names, otherwise on a field and a column of other names that plainly hold the same ids or texts.

    Args:
        source: CSV, TSV, JSONL, Parquet, or JSON: a list of records, or the benchmark's own split file; or
            records in memory.
        items: `item` and the input fields, white space folded.
        answer: the name of the pool's answer column; a gold column of the same name is taken.
        column: the column of the gold answers, if it cannot be found by name.
        encoding: the file's encoding, if it is not UTF-8 and has no byte order mark.
        dataset: the dataset; one's own is read by the columns that its declaration names.
        alternatives: the separator of several gold answers in one cell; a cell with several gold answers
            keeps its spelling.

    Raises:
        InputError: the file cannot be read, has no column of gold answers or none of the pool, or an answer has a wrong
            type.
        UsageError: the file has no column `column`.
        DataError: no row matches an item, two rows give one item different gold answers, the fields do not
            identify the row of an item, or two items have the same id.
    """
    if not items.height:
        place = source if isinstance(source, Path) else None
        raise DataError("no item needs a gold answer: every response is to a control item", file=place)
    file, form = read_gold_file(source, encoding, dataset), dataset.answer if dataset else None
    kind = form.kind if form else None
    columns = [*file.inputs, *(name for name in file.columns if name not in file.inputs)]
    shared = _by_name(input_fields(items), [name for name in columns if not name.startswith("outputs.")])
    other = {} if shared else _under_another_name(file, items, {column, answer}, dataset)
    joinable = shared or other or file.inputs or (file.id_column and any(map(is_id, input_fields(items))))
    gold, rivals = gold_column(
        file,
        [*shared.values(), *other.values()],
        answer=answer,
        column=column,
        criteria=kind == "criteria",
        also="" if joinable else f"; it {_no_column(file, items, dataset)}",
    )
    texts = file.table[gold]
    if gold == "outputs":
        texts = _without_lists(file, texts, kind, alternatives or (form.alternatives if form else None))
    ids = file.id_column or _own_ids(file, items, [*shared.values(), *other.values()])
    identity = pl.lit(None, pl.String) if ids is None else pl.col(ids)
    rows = file.table.with_columns(texts.alias(_GOLD), identity.alias(_ID)).with_row_index(_AT)
    rows = rows.filter(pl.col(_GOLD).is_not_null())
    if not rows.height:
        raise DataError(
            "no row has a gold answer in this column (closed tests are published without gold answers)",
            file=file.path,
            field=file.header(gold),
        )
    _refuse_doubled_ids(file, rows, {gold, *rivals})
    criteria = dataset.fields_of_groups if dataset and kind == "criteria" else ()
    sides = _Sides(file, rows, items, frozenset({gold, *rivals}), dataset, other)
    key, joined = _join(sides, [f"meta.{name}" for name in criteria])
    pairs = joined.filter(pl.col(_GOLD).is_not_null())
    others = [name for name in file.columns if name not in {gold, *key.columns}]
    number = pl.col(_ITEM).alias("item")
    return Gold(
        answers=pairs.select(number, pl.col(_GOLD).alias("gold"), pl.col(_ID).alias("id")),
        facts=_facts(file, gold, key, rows, joined),
        fields=pairs.select(number, *(name for name in others if name != "item")),
        items=_scorer_items(file, pairs, items, gold, others, kind),
    )


def _facts(file: GoldFile, gold: str, key: _Key, rows: pl.DataFrame, joined: pl.DataFrame) -> GoldRecord:
    """Return where the gold answers come from, once they are joined by a key."""
    lacking = joined.filter(pl.col(_GOLD).is_null())
    facts = GoldRecord(
        source=shown(file.path),
        column=file.header(gold),
        matched=joined.height - lacking.height,
        items_without_gold=tuple(lacking[_ITEM]),
        unsolved=(),
        rows_without_item=tuple(rows.filter(~pl.col(_AT).is_in(key.used))["row"]),
    )
    names = key.fields[0].removeprefix(INPUT_MARK), file.header(key.columns[0])
    return facts.model_copy(update={"joined": names}) if key.renamed else facts


def input_fields(items: pl.DataFrame) -> list[str]:
    """Return the names of a pool's input fields."""
    return [name for name in items.columns if name != "item"]


def is_id(field: str) -> bool:
    """Check whether an input field has a name typical of item ids."""
    return _bare_field(field) in ID_COLUMNS


def _whole(ids: pl.Expr) -> pl.Expr:
    """Write a whole number as 7, which spreadsheets and programs write as 007, 7.0 and 7E+00; other ids stay."""
    number = pl.when(ids.str.contains(_NUMBER_AS_ID)).then(ids).cast(pl.Float64, strict=False)
    whole = (number == number.floor()) & (number < _LARGEST_EXACT)
    return pl.when(whole).then(number.cast(pl.Int64, strict=False).cast(pl.String)).otherwise(ids)


def _bare_field(name: str) -> str:
    return name.removeprefix(INPUT_MARK).casefold()


def _by_name(fields: Sequence[str], columns: Sequence[str]) -> dict[str, str]:
    """Find the column of each field by its name, ignoring letter case and the prefix of an input."""
    folded = {name.casefold(): name for name in reversed(columns)}
    same: dict[str, str] = {}
    for name in fields:
        column = name if name in columns else folded.get(name.casefold()) or folded.get(_bare_field(name))
        if column is not None and column not in same.values():
            same[name] = column
    return same


def _under_another_name(
    file: GoldFile, items: pl.DataFrame, answers: Collection[str | None], dataset: Dataset | None
) -> dict[str, str]:
    """Find a column of the file that holds a field of the pool under another name: its ids, or else all its values."""
    fields = input_fields(items)
    columns = [n for n in file.columns if not n.startswith("outputs.") and n not in {"instruction", *answers}]
    declared = dataset.items.id if dataset and dataset.items else None
    ids = [n for n in columns if may_be_ids(n) and not file.table[n].drop_nulls().is_duplicated().any()]
    ids.sort(key=lambda name: (name != file.id_column, may_be_ids(name)))
    ours = [name for name in fields if may_be_ids(_bare_field(name)) or name == declared]
    for name in ours:
        asked = {*items.select(_whole(pl.col(name))).to_series().drop_nulls()}
        known = file.table.select(_whole(pl.col(ids)))
        if same := next((column for column in ids if not asked.isdisjoint(known[column])), None):
            return {name: same}
    if len(fields) == 1:
        values = {*items[fields[0]].drop_nulls()}
        texts = [name for name in columns if name.casefold() not in GOLD_COLUMNS]
        equal = [name for name in texts if {*file.table[name].drop_nulls()} == values]
        if len(equal) == 1:
            return {fields[0]: equal[0]}
    # Ids of which none is the same: the error shows them.
    return {ours[0]: ids[0]} if len(ours) == len(fields) == 1 and ids[:1] == [file.id_column] else {}


def _no_column(file: GoldFile, items: pl.DataFrame, dataset: Dataset | None) -> str:
    """Say that a file has no column of the pool, and what to rename."""
    fields = listed(list(map(_bare_field, input_fields(items))))
    return (
        f"has no column of the pool: items have {fields}, the file has {listed(header_of(file, dataset))}; rename its "
        f"columns to those of the pool, or give both an id and name it with {argument('item')}"
    )


def _own_ids(file: GoldFile, items: pl.DataFrame, shared: Sequence[str]) -> str | None:
    """Return the column of the only field of the items if it holds different words or numbers: the items' ids."""
    if len(input_fields(items)) != 1 or not shared:
        return None
    texts = file.table[shared[0]]
    words = texts.str.contains(r"^\S{1,64}$").fill_null(value=False).all()
    return shared[0] if words and texts.n_unique() == texts.len() else None


def _without_lists(file: GoldFile, texts: pl.Series, kind: str | None, separator: str | None) -> pl.Series:
    """Write outputs that are lists as texts: several gold answers, or results of a program's tests."""
    outputs = [entry.get("outputs") for entry in file.entries]
    known: list[str | None] = texts.to_list()
    for at, value in enumerate(outputs):
        if not isinstance(value, list) or (kind == "program" and any(value)):
            continue
        if any(value) and (not separator or any(isinstance(part, list | dict) for part in value)):
            row = file.table["row"][at]
            raise InputError(
                "is a list, but one gold answer is expected", file=file.path, row=row, field="outputs"
            )
        known[at] = (separator or "").join(filter(None, map(json_text, value))) or None
    return pl.Series(known, dtype=pl.String)


def _refuse_doubled_ids(file: GoldFile, rows: pl.DataFrame, answers: Collection[str]) -> None:
    if file.id_column is None:
        return
    compared = file.inputs or [name for name in file.columns if name not in answers]
    distinct = rows.drop_nulls(_ID).unique([_ID, _GOLD, *compared], keep="first", maintain_order=True)
    doubled = distinct.filter(pl.col(_ID).is_duplicated())
    if doubled.height:
        first, second = doubled.filter(pl.col(_ID) == doubled[_ID][0])["row"][:2]
        raise DataError(
            f"has the same id '{shortened(doubled[_ID][0])}' as row {first}, but another item or another gold answer",
            file=file.path,
            row=second,
            field=file.header(file.id_column),
        )


class _Key(NamedTuple):
    """A join key of items and rows.

    Attributes:
        fields: the pool's fields.
        columns: the file's columns.
        separator: what stands between the texts of several fields.
        ids: whether the columns hold ids, in which 7.0, 007 and 7E+00 are 7.
        used: the positions of the rows that match an item, once the key is joined.
        renamed: whether a column holds a field under another name, which only its values show.
    """

    fields: tuple[str, ...]
    columns: tuple[str, ...]
    separator: str = "\x1f"
    ids: bool = False
    used: tuple[int, ...] = ()
    renamed: bool = False

    def of(self, table: pl.DataFrame, names: Sequence[str]) -> pl.DataFrame:
        """Add the key, made of these columns of the table."""
        texts = [pl.col(name).fill_null("") for name in names]
        if self.ids:
            texts = [_whole(text) for text in texts]
        return table.with_columns(pl.concat_str(texts, separator=self.separator).alias(_KEY))


class _Sides(NamedTuple):
    """What is joined: the rows of a file that have a gold answer, and the items of a pool.

    Attributes:
        file: the file.
        rows: its rows.
        items: `item` and the input fields.
        answers: the columns that hold gold answers.
        dataset: the dataset, if it is declared.
        other: a field of the items -> the column that holds it under another name.
    """

    file: GoldFile
    rows: pl.DataFrame
    items: pl.DataFrame
    answers: frozenset[str]
    dataset: Dataset | None
    other: Mapping[str, str]

    def both(self, key: _Key) -> tuple[pl.DataFrame, pl.DataFrame]:
        """Return the items and the rows with the key."""
        return key.of(self.items, key.fields), key.of(self.rows, key.columns)


def _join(sides: _Sides, scored_by: Collection[str]) -> tuple[_Key, pl.DataFrame]:
    """Join by the first key that identifies the row of every item that it matches.

    Returns:
        The key, and one row per item, in the pool's order: `_ITEM` and the matching row's columns, null if none does.

    Raises:
        DataError: no row matches an item, two rows give one item different gold answers, or the common fields do not
            identify the row of an item.
    """
    ambiguous: DataError | None = None
    keys = list(_keys(sides))
    for key in keys:
        items, rows = sides.both(key)
        rows = rows.join(items, on=_KEY, how="semi", maintain_order="left")
        if not rows.height:
            continue
        try:
            _refuse_several_items(
                sides, rows, items.join(rows, on=_KEY, how="semi", maintain_order="left"), key
            )
            _refuse_several_rows(sides, rows, key, scored_by)
        except DataError as error:
            ambiguous = ambiguous or error
            continue
        first = rows.unique(_KEY, keep="first", maintain_order=True)
        numbered = items.select(pl.col("item").alias(_ITEM), _KEY)
        joined = numbered.join(first, on=_KEY, how="left", maintain_order="left")
        return key._replace(used=tuple(rows[_AT])), joined
    raise ambiguous or _nothing_matches(sides, any_key=bool(keys))


def _keys(sides: _Sides) -> Iterator[_Key]:
    """Yield the keys, best first: the id, the fields of equal names, and these with fields of `meta`."""
    file, fields = sides.file, input_fields(sides.items)
    free = [n for n in file.columns if n not in sides.answers and not n.startswith("outputs.")]
    ours = [name for name in fields if not is_id(name)]
    asked = [n for n in free if n not in {file.id_column, "instruction"} and not n.startswith("meta.")]
    named = _by_name(ours, asked)
    # The dataset declares under which names pools show its fields.
    declared = sides.dataset.pool_fields.items() if sides.dataset else ()
    named |= {
        shown[0]: own for own, shown in declared if len(shown) == 1 and shown[0] in ours and own in asked
    }
    by_name = _Key(tuple(named), tuple(named.values()))
    if file.id_column in free:
        for name in filter(is_id, fields):
            key = _Key((name,), (str(file.id_column),), ids=True)
            if _same_items(sides, key, by_name):
                yield from (key, key._replace(ids=False))
    if named:
        yield by_name
    if "inputs" in file.inputs and "inputs" not in named.values():
        # A split file may have one text, of which the pool shows the parts.
        yield _Key(tuple(ours), ("inputs",), " ")
    metas = {name.removeprefix("meta."): name for name in free if name not in file.inputs}
    more = {name: metas[own] for name, own in _by_name([n for n in ours if n not in named], [*metas]).items()}
    if more:
        # Fields of `meta` that the pool shows distinguish items with the same inputs.
        yield _Key((*named, *more), (*named.values(), *more.values()))
    for name, column in sides.other.items():
        declared_id = sides.dataset and sides.dataset.items and sides.dataset.items.id == name
        key = _Key((name,), (column,), ids=may_be_ids(column) is not None, renamed=not declared_id)
        yield from (key, key._replace(ids=False))


def _same_items(sides: _Sides, by_id: _Key, by_name: _Key) -> bool:
    """Return whether items with the same id have the same texts; ids that number other items join nothing."""
    if not by_name.fields:
        return True
    fields, columns = (*by_id.fields, *by_name.fields), (*by_id.columns, *by_name.columns)
    keys = (by_id, by_id._replace(fields=fields, columns=columns))
    same, equal = (items.join(rows, on=_KEY, how="semi").height for items, rows in map(sides.both, keys))
    return equal >= _SAME_IDS * same


def _refuse_several_items(sides: _Sides, rows: pl.DataFrame, items: pl.DataFrame, key: _Key) -> None:
    shared = items.filter(pl.col(_KEY).is_duplicated())
    if not shared.height:
        return
    two = shared.filter(pl.col(_KEY) == shared[_KEY][0])[:2]
    differing = [name for name in input_fields(sides.items) if two[name].n_unique() > 1]
    lacking = [name for name in differing if not _by_name([name], sides.file.columns)]
    what = f"{listed(lacking)}, which the file lacks" if lacking else listed(differing)
    raise DataError(
        f"matches several items of the pool (items {two['item'][0]} and {two['item'][1]}): they have the same "
        f"{listed(key.fields)} and differ in {what}",
        file=sides.file.path,
        row=rows.filter(pl.col(_KEY) == two[_KEY][0])["row"][0],
    )


def _refuse_several_rows(sides: _Sides, rows: pl.DataFrame, key: _Key, scored_by: Collection[str]) -> None:
    """Raise an error if rows of one key have several gold answers, or differ in what tells items apart."""
    doubled = rows.filter(pl.col(_KEY).is_duplicated())
    taken = {*sides.answers, *key.columns, sides.file.id_column}
    others = [name for name in sides.file.columns if name not in taken]
    unseen = [name for name in others if name in sides.file.inputs]
    for names in ([_GOLD], unseen, [name for name in others if name in scored_by]):
        several = (pl.col(name).n_unique().over(_KEY) > 1 for name in names)
        varied = doubled.filter(pl.any_horizontal(False, *several))
        if not varied.height:
            continue
        same = varied.filter(pl.col(_KEY) == varied[_KEY][0]).unique(names, keep="first", maintain_order=True)
        first, second = same[:2].rows(named=True)
        gold = f"another gold answer ('{shortened(second[_GOLD])}', not '{shortened(first[_GOLD])}')"
        what = "the same gold answer" if first[_GOLD] == second[_GOLD] else gold
        if differing := [name for name in unseen or others if first[name] != second[name]]:
            what += f"; the rows differ in {listed(differing)}, which the pool does not have: add "
            what += listed([f"a column '{name.rpartition('.')[2]}'" for name in differing])
        said = f"has the same {listed(key.fields)} as row {first['row']} and {what}"
        raise DataError(said, file=sides.file.path, row=second["row"])


def _nothing_matches(sides: _Sides, *, any_key: bool) -> DataError | InputError:
    """Build the error that no row matches, with the columns or first values of both sides."""
    file, fields = sides.file, input_fields(sides.items)
    if not any_key and not (file.id_column and any(map(is_id, fields))):
        return InputError(_no_column(file, sides.items, sides.dataset), file=file.path, row=1)
    columns = [name for name in file.columns if name not in sides.answers]
    theirs = [name for name in columns if name in file.inputs] or columns
    begins = [_first_values(sides.items, fields), _first_values(sides.rows, theirs)]
    said = f"the pool begins with {begins[0]}; the file begins with {begins[1]}"
    return DataError(f"no row matches an item of the pool: {said}", file=file.path)


def _first_values(table: pl.DataFrame, names: Sequence[str]) -> str:
    first = {name: texts[0] for name in names if len(texts := table[name].drop_nulls())}
    values = [f"{name.removeprefix(INPUT_MARK)} '{shortened(text)}'" for name, text in first.items()]
    return listed(values, 5) or "nothing"


def _scorer_items(  # noqa: PLR0917 - one table of pairs
    file: GoldFile,
    pairs: pl.DataFrame,
    items: pl.DataFrame,
    gold: str,
    others: Sequence[str],
    kind: str | None,
) -> dict[int, Item]:
    """Build the scorer's items for the items that have a gold answer, by their numbers in the pool.

    Items of a split file keep their `inputs` and `meta`. Items of a table get the pool's input fields as
    `inputs` and the table's other columns as `meta`.
    """
    numbers = pairs.select(pl.col(_ITEM).alias("item"))
    shown_texts = numbers.join(items, on="item", how="left", maintain_order="left").drop("item").fill_null("")
    instructions = pairs["instruction"] if "instruction" in pairs.columns else [None] * pairs.height
    typed = kind in {"criteria", "program"} or (file.criteria and gold == "outputs")
    metas = pairs.select(_ITEM, _AT, *(name for name in others if name != "instruction"))
    names = [name.removeprefix("meta.") for name in metas.columns]
    scored: dict[int, Item] = {}
    with collecting_later():
        rows = zip(
            _ids(file, pairs), instructions, shown_texts.iter_rows(named=True), pairs[_GOLD], strict=True
        )
        for cells, (identity, said, asked, text) in zip(metas.rows(), rows, strict=True):
            number, inputs, outputs = cells[0], cast("Any", asked), cast("Any", text)
            meta = {
                n: _number(n, cell) for n, cell in zip(names[2:], cells[2:], strict=True) if cell is not None
            }
            entry: Mapping[str, Any] = file.entries[cells[1]] if file.entries else {}
            instruction = entry.get("instruction", said)
            if file.inputs:
                inputs = own if isinstance(own := entry.get("inputs"), dict | str) else asked
                rest = {n: entry[n] for n in entry if n not in {"instruction", "inputs", "outputs"}}
                meta = own if isinstance(own := entry.get("meta"), dict) else rest
                outputs = _outputs(entry.get("outputs"), text, kind) if typed else text
            written = instruction if isinstance(instruction, str) else ""
            scored[number] = Item(identity, written, inputs, outputs, meta)
    return scored


def _number(name: str, text: str) -> int | str:
    return int(text) if name in _WHOLE and _WHOLE_NUMBER.fullmatch(text) else text


def _ids(file: GoldFile, pairs: pl.DataFrame) -> list[ItemId]:
    """Return the items' ids from the file; an item without an id gets its number in the pool.

    A table has only texts: its ids become whole numbers if all of them are written as whole numbers.
    """
    known: list[ItemId | None] = pairs[_ID].to_list()
    if file.entries:
        places = zip(pairs[_AT], known, strict=True)
        known = [_typed_id(file.entries[at], file.id_column or "", text) for at, text in places]
    elif all(text is None or _WHOLE_NUMBER.fullmatch(str(text)) for text in known):
        known = [None if text is None else int(text) for text in known]
    taken = set(known)
    return [
        identity if identity is not None else number if number not in taken else f"item {number}"
        for number, identity in zip(pairs[_ITEM], known, strict=True)
    ]


def _typed_id(entry: Mapping[str, Any], column: str, text: ItemId | None) -> ItemId | None:
    """Return the id of an entry with its own type, a whole number or a text."""
    meta = entry.get("meta")
    identity = id_of(meta) if isinstance(meta, dict) else None
    identity = entry.get(column) if identity is None else identity
    if type(identity) is int or (type(identity) is str and identity):
        return identity
    return int(identity) if isinstance(identity, float) and identity.is_integer() else text


def _outputs(value: Json, text: str, kind: str | None) -> Json:
    """Return a gold answer: a dictionary of criteria with numbers as texts, a program's results, or the text."""
    if not isinstance(value, dict):
        return value if kind == "program" else text
    return {
        name: str(label) if isinstance(label, int) and not isinstance(label, bool) else label
        for name, label in value.items()
    }
