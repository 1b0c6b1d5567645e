"""Gold answers of a pool's items: joined from a file on ids or input fields, or computed by the dataset's solver."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final, NamedTuple

import polars as pl

from merilo.datasets.declaration import Dataset
from merilo.errors import DataError, InputError
from merilo.files import collecting_later
from merilo.items import Item, ItemId, id_of
from merilo.metrics.answers import Answer
from merilo.people.gold_file import ID_COLUMNS, GoldFile, gold_column, read_gold_file, text_of
from merilo.responses import INPUT_MARK
from merilo.strict_json import Json
from merilo.wording import listed, shortened, shown

#: Columns of a table that are read as whole numbers, as in `meta` of the exam's split.
_WHOLE: Final = ("score", "variant")
_WHOLE_NUMBER: Final = re.compile(r"0|-?[1-9]\d{0,17}")

#: Columns added to the file's columns in the joined table: the row's position in the file's table, the gold answer, the
#: dataset's id, the item's number in the pool, and the keys that are compared.
_AT, _GOLD, _ID, _ITEM, _KEY, _TEXT = "\x1fat", "\x1fgold", "\x1fid", "\x1fitem", "\x1fkey", "\x1ftext"

#: Ids identify the same items on both sides if, for at least this share of the common ids, the input fields agree.
_SAME_IDS: Final = 0.9


@dataclass(frozen=True, slots=True)
class Gold:
    """The gold answers of a pool's items.

    Attributes:
        answers: one row per item with a gold answer: `item`, `gold` (text; a dictionary of criteria as JSON), `id` (the
            dataset's id if no other item has the same id, else null).
        source: the name of the file, or a description of the solver.
        without_gold: the numbers of the pool's items without a gold answer, except those in `unsolved`.
        unused: the numbers of the file's rows that match no item of the pool.
        fields: the other fields of the file for these items, including `meta.*`: `item` and text columns;
            `None` without a file.
        items: mapping from item number in the pool to the scorer's item, for each item with a gold answer.
        column: the column of the file from which the gold answers were taken; `None` for a solver.
        unsolved: the numbers of the items that the solver cannot answer.
        withheld: whether the answers themselves were left out, because the gold of the dataset is closed:
            `gold` in `answers` is null.
    """

    answers: pl.DataFrame
    source: str
    without_gold: tuple[int, ...] = ()
    unused: tuple[int, ...] = ()
    fields: pl.DataFrame | None = None
    items: Mapping[int, Item] = field(default_factory=dict)
    column: str | None = None
    unsolved: tuple[int, ...] = ()
    withheld: bool = False

    def with_answers(self, answers: pl.DataFrame) -> Gold:
        """Return a copy with other gold answers, which are replaced in `items` too.

        Args:
            answers: columns as in `answers`, the same items.
        """
        items = dict(self.items)
        for number, text in answers.select("item", "gold").iter_rows():
            item = items.get(number)
            if item is not None and isinstance(item.outputs, str) and item.outputs != text:
                items[number] = replace(item, outputs=text)
        return replace(self, answers=answers, items=items)

    def without_answers(self, fields: Collection[str]) -> Gold:
        """Return a copy without gold answers, and without other fields of the file than these; ids are kept.

        Args:
            fields: names of columns of `fields`, such as `meta.domain`. Names that it lacks are ignored.
        """
        kept = None
        if self.fields is not None:
            kept = self.fields.select("item", *(n for n in self.fields.columns if n in {*fields} - {"item"}))
        items = {
            number: Item(item.id, "", {}, None, {n: item.meta[n] for n in fields if n in item.meta})
            for number, item in self.items.items()
        }
        hidden = self.answers.with_columns(pl.lit(None, pl.String).alias("gold"))
        return replace(self, answers=hidden, fields=kept, items=items, withheld=True)


def solved_gold(items: pl.DataFrame, solve: Callable[[Sequence[str]], str], name: str) -> Gold:
    """Compute the gold answers with a solver; items that the solver cannot answer get no gold answer.

    Args:
        items: `item` and the input fields.
        solve: the dataset's solver, which takes an item's input texts in order, without a column of ids.
        name: the dataset's name.

    Raises:
        DataError: the solver can answer no item.
    """
    fields = input_fields(items)
    # The item's number in the pool is not part of the question.
    asked = [place for place, name in enumerate(fields) if not is_id(name)] or range(len(fields))
    found: dict[int, Item] = {}
    reasons: dict[int, str] = {}
    for number, *values in items.iter_rows():
        texts = [text or "" for text in values]
        try:
            answer = solve([texts[place] for place in asked])
        except DataError as error:
            reasons[number] = error.message
            continue
        found[number] = Item(number, "", dict(zip(fields, texts, strict=True)), answer)
    if reasons and not found:
        number, reason = next(iter(reasons.items()))
        raise DataError(f"the solver of {name} can answer no item; item {number}: {reason}")
    answers = pl.DataFrame(
        [(number, item.outputs, None) for number, item in found.items()],
        schema={"item": pl.UInt32, "gold": pl.String, "id": pl.String},
        orient="row",
    )
    source = f"the solver of {name}"
    return Gold(answers, source, items=found, unsolved=tuple(reasons))


def read_gold(
    source: Path | Sequence[Mapping[str, Json]],
    items: pl.DataFrame,
    *,
    answer: str = "",
    column: str | None = None,
    encoding: str | None = None,
    form: Answer | None = None,
    dataset: Dataset | None = None,
    alternatives: str | None = None,
) -> Gold:
    """Read gold answers and join them to a pool's items, with white space folded.

    Items are joined on the id if both sides have one, otherwise on the fields of the pool that the file has under the
    same names.

    Args:
        source: CSV, TSV, JSONL, Parquet, or JSON: a list of records, or the benchmark's own split file; or
            records in memory.
        items: `item` and the input fields, white space folded.
        answer: the name of the pool's answer column; a gold column of the same name is taken.
        column: the column of the gold answers, if it cannot be found by name.
        encoding: the file's encoding, if it is not UTF-8 and has no byte order mark.
        form: the form of an answer, if the dataset is declared.
        dataset: the dataset, if the file is to be read by the columns that its declaration names.
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
    file = read_gold_file(source, encoding, dataset)
    kind = form.kind if form else None
    separator = alternatives or (form.alternatives if form else None)
    columns = [*file.inputs, *(name for name in file.columns if name not in file.inputs)]
    shared = _by_name(input_fields(items), [name for name in columns if not name.startswith("outputs.")])
    gold, passed = gold_column(
        file, [*shared.values()], answer=answer, column=column, criteria=kind == "criteria"
    )
    rows = _gold_rows(file, gold, kind, separator, _own_ids(file, items, [*shared.values()]))
    scored_by = (
        [f"meta.{name}" for name in dataset.fields_of_groups] if dataset and kind == "criteria" else []
    )
    declared = dataset.pool_fields.items() if dataset else ()
    renamed = {columns[0]: name for name, columns in declared if len(columns) == 1}
    joined = _Join(file, rows, items, {gold, *passed}, scored_by, renamed=renamed).run()
    pairs = joined.items.filter(pl.col(_GOLD).is_not_null())
    others = [name for name in file.columns if name not in {gold, *joined.columns}]
    number = pl.col(_ITEM).alias("item")
    return Gold(
        answers=pairs.select(number, pl.col(_GOLD).alias("gold"), pl.col(_ID).alias("id")),
        source=shown(file.path),
        without_gold=tuple(joined.items.filter(pl.col(_GOLD).is_null())[_ITEM]),
        unused=joined.unused,
        fields=pairs.select(number, *(name for name in others if name != "item")),
        items=_scorer_items(file, pairs, items, gold, others, kind=kind),
        column=file.header(gold),
    )


def input_fields(items: pl.DataFrame) -> list[str]:
    """Return the names of a pool's input fields."""
    return [name for name in items.columns if name != "item"]


def is_id(field: str) -> bool:
    """Check whether an input field has a name typical of item ids."""
    return _bare_field(field) in ID_COLUMNS


def _bare_field(name: str) -> str:
    return name.removeprefix(INPUT_MARK).casefold()


def _by_name(fields: Sequence[str], columns: Sequence[str]) -> dict[str, str]:
    """Find the column of each field by its name, ignoring letter case and the prefix of an input."""
    folded = {name.casefold(): name for name in reversed(columns)}
    found: dict[str, str] = {}
    for name in fields:
        column = name if name in columns else folded.get(name.casefold()) or folded.get(_bare_field(name))
        if column is not None and column not in found.values():
            found[name] = column
    return found


def _own_ids(file: GoldFile, items: pl.DataFrame, shared: Sequence[str]) -> str | None:
    """Return the column of the only field of the items if it holds different words or numbers.

    These are then the items' ids.
    """
    if len(input_fields(items)) != 1 or not shared:
        return None
    texts = file.table[shared[0]]
    words = texts.dtype == pl.String and texts.str.contains(r"^\S{1,64}$").fill_null(value=False).all()
    return shared[0] if words and texts.n_unique() == texts.len() else None


def _gold_rows(
    file: GoldFile, gold: str, kind: str | None, separator: str | None, own: str | None
) -> pl.DataFrame:
    """Select the rows with a gold answer, and add the columns `_AT`, `_GOLD` and `_ID`; repeated ids are null."""
    texts = file.table[gold]
    if gold == "outputs" and (lists := _lists(file, kind, separator)):
        texts = pl.Series([lists.get(at, text) for at, text in enumerate(texts)], dtype=pl.String)
    ids = file.id_column or own
    identity = pl.lit(None, pl.String) if ids is None else pl.col(ids)
    rows = file.table.with_columns(texts.alias(_GOLD), identity.alias(_ID)).with_row_index(_AT)
    rows = rows.filter(pl.col(_GOLD).is_not_null())
    if not rows.height:
        raise DataError(
            "no row has a gold answer in this column (closed tests are published without gold answers)",
            file=file.path,
            field=file.header(gold),
        )
    return rows


def _lists(file: GoldFile, kind: str | None, separator: str | None) -> dict[int, str | None]:
    """Convert outputs that are lists (several gold answers, or results of a program's tests) to texts, by row."""
    found: dict[int, str | None] = {}
    for at, entry in enumerate(file.entries):
        outputs = entry.get("outputs")
        if not isinstance(outputs, list):
            continue
        if not any(outputs):
            found[at] = None
        elif kind == "program":
            found[at] = text_of(outputs)
        elif separator and not any(isinstance(one, list | dict) for one in outputs):
            found[at] = separator.join(text for one in outputs if (text := text_of(one)))
        else:
            row = file.table["row"][at]
            raise InputError(
                "is a list, but one gold answer is expected", file=file.path, row=row, field="outputs"
            )
    return found


class _Key(NamedTuple):
    """A join key of items and rows.

    Attributes:
        fields: the pool's fields.
        columns: the file's columns.
        of_items: expression that computes the key of an item.
        of_rows: expression that computes the key of a row.
    """

    fields: tuple[str, ...]
    columns: tuple[str, ...]
    of_items: pl.Expr
    of_rows: pl.Expr

    @staticmethod
    def of(pairs: Mapping[str, str]) -> _Key:
        """Build the key from a mapping of fields to columns."""
        fields, columns = tuple(pairs), tuple(pairs.values())
        return _Key(fields, columns, _texts(fields, "\x1f"), _texts(columns, "\x1f"))


def _texts(names: Sequence[str], separator: str) -> pl.Expr:
    return pl.concat_str([pl.col(name).fill_null("") for name in names], separator=separator).alias(_KEY)


class _Joined(NamedTuple):
    """The items of a pool joined to rows of a file of gold answers.

    Attributes:
        items: one row per item, in the pool's order: `_ITEM`, and the matching row's columns, `_AT`, `_GOLD` and `_ID`;
            these are null if no row matches.
        columns: the file's columns matched to the pool's input fields.
        unused: the numbers of the rows that match no item.
    """

    items: pl.DataFrame
    columns: tuple[str, ...]
    unused: tuple[int, ...]


class _Join:
    """The join of rows with a gold answer to the items of a pool: by id, or by fields of equal names."""

    def __init__(
        self,
        file: GoldFile,
        rows: pl.DataFrame,
        items: pl.DataFrame,
        answers: set[str],
        scored_by: Collection[str] = (),
        *,
        renamed: Mapping[str, str],
    ) -> None:
        self.file, self.rows, self.items, self.answers, self.scored_by = file, rows, items, answers, scored_by
        fields = input_fields(items)
        known = [name for name in file.columns if name not in answers and not name.startswith("outputs.")]
        self.id = file.id_column if file.id_column in known else None
        known = [name for name in known if name != self.id]
        self.ids = [name for name in fields if is_id(name)]
        texts = [name for name in fields if name not in self.ids]
        shown = [name for name in known if not name.startswith("meta.") and name != "instruction"]
        self.named = _by_name(texts, shown)
        # The dataset declares under which names pools show its fields.
        self.named |= {name: own for name, own in renamed.items() if name in texts and own in shown}
        metas = {name.removeprefix("meta."): name for name in known if name not in file.inputs}
        # Fields of `meta` that the pool shows distinguish items with the same inputs.
        free = [name for name in texts if name not in self.named]
        self.metas = {name: metas[own] for name, own in _by_name(free, list(metas)).items()}
        # A split file may have one text, of which the pool shows the parts.
        self.whole = texts if "inputs" in file.inputs and "inputs" not in self.named.values() else []

    def run(self) -> _Joined:
        """Join by the first key that identifies the row of every item that it matches.

        Raises:
            DataError: two items of the file have the same id, no row matches an item, two rows give one item
                different gold answers, or the common fields do not identify the row of an item.
        """
        self._refuse_doubled_ids()
        ambiguous: DataError | None = None
        for key in self._keys():
            items, rows = self.items.with_columns(key.of_items), self.rows.with_columns(key.of_rows)
            if not items.join(rows, on=_KEY, how="semi").height:
                continue
            try:
                self._refuse_ambiguous(rows, items, key)
            except DataError as error:
                ambiguous = ambiguous or error
                continue
            first = rows.unique(_KEY, keep="first", maintain_order=True)
            joined = items.select(pl.col("item").alias(_ITEM), _KEY).join(
                first, on=_KEY, how="left", maintain_order="left"
            )
            unused = rows.join(items, on=_KEY, how="anti", maintain_order="left")["row"]
            return _Joined(joined, key.columns, tuple(unused))
        raise ambiguous or self._nothing_matches()

    def _keys(self) -> Iterator[_Key]:
        """Yield the keys, best first: the id, the fields of equal names, and these with fields of `meta`."""
        if self.id is not None:
            for name in self.ids:
                # Some programs add a zero fraction to whole numbers.
                pair = (
                    pl.col(one).str.replace(r"^(-?\d+)\.0+$", "$1").alias(_KEY) for one in (name, self.id)
                )
                key = _Key((name,), (self.id,), *pair)
                if self._same_items(key):
                    yield key
        if self.named:
            yield _Key.of(self.named)
        if self.whole:
            yield _Key(tuple(self.whole), ("inputs",), _texts(self.whole, " "), _texts(["inputs"], " "))
        if self.metas:
            yield _Key.of({**self.named, **self.metas})

    def _same_items(self, key: _Key) -> bool:
        """Return whether items with the same id have the same texts; ids that number other items join nothing."""
        if not self.named:
            return True
        ours, theirs = self.items.with_columns(key.of_items), self.rows.with_columns(key.of_rows)
        same = ours.join(theirs, on=_KEY, how="semi").height
        texts = _Key.of(self.named)
        asked = ours.with_columns(texts.of_items.alias(_TEXT))
        agreeing = asked.join(
            theirs.with_columns(texts.of_rows.alias(_TEXT)), on=[_KEY, _TEXT], how="semi"
        ).height
        return agreeing >= _SAME_IDS * same

    # What is refused

    def _refuse_doubled_ids(self) -> None:
        if self.id is None:
            return
        compared = self.file.inputs or [name for name in self.file.columns if name not in self.answers]
        known = self.rows.filter(pl.col(_ID).is_not_null())
        distinct = known.unique([_ID, _GOLD, *compared], keep="first", maintain_order=True)
        doubled = distinct.filter(pl.col(_ID).is_duplicated())
        if doubled.height:
            first, second = doubled.filter(pl.col(_ID) == doubled[_ID][0])["row"][:2]
            raise DataError(
                f"has the same id '{shortened(doubled[_ID][0])}' as row {first}, but another item "
                "or another gold answer",
                file=self.file.path,
                row=second,
                field=self.file.header(self.id),
            )

    def _refuse_ambiguous(self, rows: pl.DataFrame, items: pl.DataFrame, key: _Key) -> None:
        """Raise an error if a key matches one row to several items, or different rows to one item."""
        path = self.file.path
        asked = rows.join(items, on=_KEY, how="semi", maintain_order="left")
        shared = items.join(asked, on=_KEY, how="semi", maintain_order="left")
        shared = shared.filter(pl.col(_KEY).is_duplicated())
        if shared.height:
            two = shared.filter(pl.col(_KEY) == shared[_KEY][0])[:2]
            differing = [name for name in input_fields(self.items) if two[name].n_unique() > 1]
            lacking = [name for name in differing if not _by_name([name], self.file.columns)]
            difference = f"{listed(lacking)}, which the file lacks" if lacking else listed(differing)
            raise DataError(
                f"matches several items of the pool (items {two['item'][0]} and {two['item'][1]}): they have the same "
                f"{listed(key.fields)} and differ in {difference}",
                file=path,
                row=asked.filter(pl.col(_KEY) == two[_KEY][0])["row"][0],
            )
        doubled = asked.filter(pl.col(_KEY).is_duplicated())
        known = {*key.columns, *self.answers, self.file.id_column}
        others = [name for name in self.file.columns if name not in known]
        unseen = [name for name in others if name in self.file.inputs]
        for names in ([_GOLD], unseen):
            varied = pl.any_horizontal(False, *(pl.col(name).n_unique().over(_KEY) > 1 for name in names))
            if (two := doubled.filter(varied)).height:
                two = two.filter(pl.col(_KEY) == two[_KEY][0]).unique(
                    names, keep="first", maintain_order=True
                )[:2]
                (one, other), (first, second) = two[_GOLD], two["row"]
                what = (
                    f"another gold answer ('{shortened(other)}', not '{shortened(one)}')"
                    if one != other
                    else "the same gold answer"
                )
                differing = [name for name in unseen or others if two[name].n_unique() > 1]
                if differing:
                    what += f"; the rows differ in {listed(differing)}, which the pool does not have"
                raise DataError(
                    f"has the same {listed(key.fields)} as row {first} and {what}", file=path, row=second
                )
        counts = doubled.group_by(_KEY).agg(pl.col(others).n_unique())
        different = [name for name in others if (counts[name] > 1).any()]
        if unknown := [name for name in different if name in self.scored_by]:
            raise DataError(
                f"has the same {listed(key.fields)} as other rows and another {listed(unknown)}, on which the metric "
                f"depends: add a column '{unknown[0].removeprefix('meta.')}' to the answers",
                file=path,
                row=doubled["row"].sort()[1],
            )

    def _nothing_matches(self) -> DataError | InputError:
        """Build the error that no row matches, with the columns and first values of both sides."""
        columns = [name for name in self.file.columns if name not in self.answers]
        shown = [name for name in columns if name in self.file.inputs] or columns
        if not (self.named or self.metas or self.whole or (self.id and self.ids)):
            ours = listed(list(map(_bare_field, input_fields(self.items))))
            return InputError(
                f"has no column of the pool: items have {ours}, the file has "
                f"{listed(self.file.columns)}; give both an id, or fields of equal names",
                file=self.file.path,
                row=1,
            )
        ours = _first_values(self.items, input_fields(self.items))
        return DataError(
            f"no row matches an item of the pool: the pool begins with {ours}; the file begins with "
            f"{_first_values(self.rows, shown)}",
            file=self.file.path,
        )


def _first_values(table: pl.DataFrame, names: Sequence[str]) -> str:
    first = {name: texts[0] for name in names if len(texts := table[name].drop_nulls())}
    return listed([f"{name} '{shortened(text)}'" for name, text in first.items()], 5) or "nothing"


def _scorer_items(
    file: GoldFile,
    pairs: pl.DataFrame,
    items: pl.DataFrame,
    gold: str,
    others: Sequence[str],
    *,
    kind: str | None,
) -> dict[int, Item]:
    """Build the scorer's items for the items that have a gold answer, by their numbers in the pool.

    Items of a split file keep their `inputs` and `meta`. Items of a table get the pool's input fields as
    `inputs` and the table's other columns as `meta`.
    """
    asked = pairs.select(pl.col(_ITEM).alias("item")).join(
        items, on="item", how="left", maintain_order="left"
    )
    inputs: list[Any] = asked.drop("item").fill_null("").to_dicts()
    entries = [file.entries[at] for at in pairs[_AT]] if file.entries else []
    instructions = (
        [entry.get("instruction") for entry in entries]
        if entries
        else pairs["instruction"]
        if "instruction" in file.columns
        else [None] * pairs.height
    )
    outputs: list[Json] = pairs[_GOLD].to_list()
    with collecting_later():
        if file.inputs:
            inputs = [
                own if isinstance(own := entry.get("inputs"), dict | str) else shown_texts
                for entry, shown_texts in zip(entries, inputs, strict=True)
            ]
            metas = [_meta(entry) for entry in entries]
            if kind in {"criteria", "program"} or (file.criteria and gold == "outputs"):
                outputs = [
                    _outputs(entry.get("outputs"), text, kind)
                    for entry, text in zip(entries, outputs, strict=True)
                ]
        else:
            kept = [name for name in others if name != "instruction"]
            bare = [name.removeprefix("meta.") for name in kept]
            metas = [
                {
                    name: _number(cell) if name in _WHOLE else cell
                    for name, cell in zip(bare, cells, strict=True)
                    if cell is not None
                }
                for _, *cells in pairs.select(_ITEM, *kept).rows()
            ]
        written = [
            one if isinstance(one, str | int) and not isinstance(one, bool) else "" for one in instructions
        ]
        made = map(Item, _ids(file, pairs), written, inputs, outputs, metas)
        return dict(zip(pairs[_ITEM].to_list(), made, strict=True))


def _meta(entry: Mapping[str, Json]) -> Mapping[str, Json]:
    """Return an item's `meta`; without one, its fields that are not part of the question."""
    meta = entry.get("meta")
    if isinstance(meta, dict):
        return meta
    return {name: entry[name] for name in entry if name not in {"instruction", "inputs", "outputs"}}


def _number(text: str) -> int | str:
    return int(text) if _WHOLE_NUMBER.fullmatch(text) else text


def _ids(file: GoldFile, pairs: pl.DataFrame) -> list[ItemId]:
    """Return the items' ids from the file; an item without an id gets its number in the pool.

    A table has only texts: its ids become whole numbers if all of them are written as whole numbers.
    """
    numbers, texts = pairs[_ITEM].to_list(), pairs[_ID].to_list()
    known: list[ItemId | None] = texts
    if file.entries:
        column = file.id_column or ""
        known = [
            _typed_id(file.entries[at], column, text) for at, text in zip(pairs[_AT], texts, strict=True)
        ]
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


def _outputs(value: Json, text: Json, kind: str | None) -> Json:
    """Return a gold answer: a dictionary of criteria with numbers as texts, a program's results, or the text."""
    if not isinstance(value, dict):
        return value if kind == "program" else text
    return {
        name: str(label) if isinstance(label, int) and not isinstance(label, bool) else label
        for name, label in value.items()
    }
