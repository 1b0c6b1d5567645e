"""Gold answers: read from a file and joined on the input fields or ids, or computed by the dataset's solver."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

import polars as pl

from merilo.bilingual import BilingualText, counted, counted_en, listed_ru
from merilo.errors import DataError, InputError, argument
from merilo.items import Item
from merilo.metrics.answers import AnswerForm
from merilo.people.gold_file import GoldFile, gold_column, read_gold_file, records, text_of
from merilo.people.gold_items import scorer_items
from merilo.people.gold_join import join
from merilo.people.gold_keys import AT, GOLD, ID, ITEM, input_columns, input_fields, is_id
from merilo.people.spelling import Normalisation, canonical, unify
from merilo.wording import listed, shown

__all__ = ["Gold", "read_gold", "records", "solved_gold"]

#: Words that other programs write into an empty cell.
_EMPTY_WORDS: Final = ("nan", "none", "null", "n/a", "<na>")


@dataclass(frozen=True, slots=True)
class Gold:
    """The gold answers of a pool's items.

    Attributes:
        answers: one row per item with a gold answer: `item`, `gold` (text; a dictionary of criteria as JSON), `id` (the
            dataset's id if no other item has the same id, else null).
        source: the name of the file, or a description of the solver.
        without_gold: the numbers of the pool's items without a gold answer, except those in `unsolved`.
        unused: the numbers of the file's rows that match no item of the pool.
        warnings: warnings for the user, in English and Russian.
        fields: the other fields of the file for these items, including `meta.*`: `item` and text columns; `None` without a
            file.
        items: mapping from item number in the pool to the scorer's item, for each item with a gold answer.
        column: the column of the file from which the gold answers were taken; `None` for a solver.
        unsolved: the numbers of the items that the solver cannot answer.
        withheld: whether the answers themselves were left out, because the gold of the dataset is closed: `gold` in `answers` is null.
    """

    answers: pl.DataFrame
    source: str
    without_gold: tuple[int, ...] = ()
    unused: tuple[int, ...] = ()
    warnings: tuple[BilingualText, ...] = ()
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
            kept = self.fields.select(
                "item", *(name for name in self.fields.columns if name in {*fields} - {"item"})
            )
        items = {
            number: Item(
                item.id, "", {}, None, {name: item.meta[name] for name in fields if name in item.meta}
            )
            for number, item in self.items.items()
        }
        hidden = self.answers.with_columns(pl.lit(None, pl.String).alias("gold"))
        return replace(self, answers=hidden, warnings=(), fields=kept, items=items, withheld=True)


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
    rows: list[tuple[int, str, None]] = []
    found: dict[int, Item] = {}
    reasons: dict[int, str] = {}
    for number, *values in items.iter_rows():
        texts = [text or "" for text in values]
        try:
            answer = solve([texts[place] for place in asked])
        except DataError as error:
            reasons[number] = error.message
            continue
        rows.append((number, answer, None))
        found[number] = Item(number, "", dict(zip(fields, texts, strict=True)), answer)
    if reasons and not rows:
        number, reason = next(iter(reasons.items()))
        raise DataError(f"the solver of {name} can answer no item; item {number}: {reason}")
    schema = {"item": pl.UInt32, "gold": pl.String, "id": pl.String}
    return Gold(
        pl.DataFrame(rows, schema=schema, orient="row"),
        f"the solver of {name}",
        warnings=(_unsolved(reasons, items.height, name),) if reasons else (),
        items=found,
        unsolved=tuple(reasons),
    )


def _unsolved(reasons: Mapping[int, str], total: int, name: str) -> BilingualText:
    """Build the warning with the number of items without a gold answer and, in English, the first reasons."""
    first = "; ".join(f"item {number}: {reason}" for number, reason in list(reasons.items())[:3])
    rest = f"; and {len(reasons) - 3} more" if len(reasons) > 3 else ""
    numbers = listed_ru([str(number) for number in reasons], 10)
    return BilingualText(
        f"the solver of {name} cannot answer {len(reasons)} of {total} items, which are not scored ({first}{rest})",
        f"программа-решатель датасета {name} не может ответить на {counted(len(reasons), 'вопрос', 'вопроса', 'вопросов')} "
        f"из {total}; в оценку они не входят (номера: {numbers})",
    )


def read_gold(
    path: Path,
    items: pl.DataFrame,
    *,
    answer: str = "",
    column: str | None = None,
    labels: Sequence[str] = (),
    encoding: str | None = None,
    form: AnswerForm | None = None,
    alternatives: str | None = None,
) -> Gold:
    """Read gold answers and join them to a pool's items, with white space folded.

    Items are joined on the dataset's id if the pool shows it, otherwise on the input fields that both sides have. If the
    columns were not matched by name, `warnings` describes how they were matched.

    Args:
        path: CSV, TSV, JSONL, Parquet, or JSON: a list of records, or the benchmark's own split file.
        items: `item` and the input fields, white space folded.
        answer: the name of the pool's answer column; a gold column of the same name is taken.
        column: the column of the gold answers, if it cannot be found by name.
        labels: the labels of the pool's answers; gold answers are rewritten to their spelling.
        encoding: the file's encoding, if it is not UTF-8 and has no byte order mark.
        form: the form of an answer, if the dataset is declared. Gold answers of kind "text" keep their spelling.
        alternatives: the separator of several gold answers in one cell; a cell with several gold answers keeps its spelling.

    Raises:
        InputError: the file cannot be read, has no column of gold answers, or an answer has a wrong type.
        UsageError: the file has no column `column`.
        DataError: no row matches an item, two rows give one item different gold answers, the fields do not identify the row
            of an item, or two items have the same id.
    """
    if not items.height:
        raise DataError("no item needs a gold answer: every response is to a control item", file=path)
    file = read_gold_file(path, encoding)
    kind = form.kind if form else None
    separator = alternatives or (form.alternatives if form else None)
    shared = list(input_columns(file, items).values())
    gold, passed = gold_column(file, shared, answer=answer, column=column, criteria=kind == "criteria")
    rows = _gold_rows(file, gold, kind, separator, _numbers(file, items))
    if kind not in {"text", "program"} and not _is_whole_dictionary(file, gold):
        rows = _unified(rows, labels, separator)
    joined = join(file, rows, items, {gold, *passed})
    found = joined.pairs
    others = [name for name in file.columns if name not in {gold, "item", *joined.columns}]
    warnings = [*joined.warnings, *_empty_words(found, labels, file)]
    if passed:
        names = listed([f"'{file.header(name)}'" for name in passed])
        names_ru = listed_ru([f"«{file.header(name)}»" for name in passed])
        taken = BilingualText(
            f"{shown(path)}: gold answers were taken from the column '{file.header(gold)}', not from {names} "
            f"(choose another with {argument('gold_column')})",
            f"файл {shown(path)}: эталонные ответы взяты из столбца «{file.header(gold)}», а не из {names_ru} "
            f"(другой столбец можно выбрать так: {argument('gold_column')})",
        )
        warnings.insert(0, taken)
    return Gold(
        found.select(pl.col(ITEM).alias("item"), pl.col(GOLD).alias("gold"), pl.col(ID).alias("id")),
        shown(path),
        joined.without_gold,
        joined.unused,
        tuple(warnings),
        found.select(pl.col(ITEM).alias("item"), *others),
        scorer_items(file, joined, items, gold, kind),
        file.header(gold),
    )


def _numbers(file: GoldFile, items: pl.DataFrame) -> str | None:
    """Return the column of the only field of the items if it holds different whole numbers, which are then their ids."""
    fields, columns = input_fields(items), [*input_columns(file, items).values()]
    if len(fields) != 1 or not columns:
        return None
    texts = file.table[columns[0]]
    numbers = (
        texts.dtype == pl.String and texts.str.contains(r"^(0|[1-9]\d{0,17})$").fill_null(value=False).all()
    )
    return columns[0] if numbers and texts.n_unique() == texts.len() else None


def _gold_rows(
    file: GoldFile, gold: str, kind: str | None, separator: str | None, numbers: str | None
) -> pl.DataFrame:
    """Select the rows with a gold answer, and add the columns `AT`, `GOLD` and `ID`."""
    texts = file.table[gold]
    if gold == "outputs" and (lists := _lists(file, kind, separator)):
        texts = pl.Series([lists.get(at, text) for at, text in enumerate(texts)], dtype=pl.String)
    ids = file.id_column or numbers
    identity = pl.lit(None, pl.String) if ids is None else pl.col(ids)
    rows = (
        file.table.with_columns(texts.alias(GOLD), identity.alias(ID))
        .with_row_index(AT)
        .filter(pl.col(GOLD).is_not_null())
    )
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
            raise InputError(
                "is a list, but one gold answer is expected",
                file=file.path,
                row=file.table["row"][at],
                field="outputs",
            )
    return found


def _is_whole_dictionary(file: GoldFile, gold: str) -> bool:
    return gold == "outputs" and bool(file.criteria)


def _unified(rows: pl.DataFrame, labels: Sequence[str], separator: str | None) -> pl.DataFrame:
    """Rewrite gold answers to the spelling of the labels; a cell with several gold answers is unchanged."""
    texts = [text for text in rows[GOLD].unique() if not (separator and separator in text)]
    mapping = {text: label for text, label in unify(sorted(texts), list(labels)).items() if text != label}
    if not mapping:
        return rows
    return rows.with_columns(pl.col(GOLD).replace(mapping))


def _empty_words(found: pl.DataFrame, labels: Sequence[str], file: GoldFile) -> list[BilingualText]:
    """Warn about gold answers such as "nan", which some programs write into empty cells."""
    known = {label.casefold() for label in labels}
    words = [word for word in _EMPTY_WORDS if word not in known]
    strange = found.filter(pl.col(GOLD).str.to_lowercase().is_in(words))
    if not strange.height:
        return []
    place, row, text, rows = shown(file.path), strange["row"][0], strange[GOLD][0], strange.height
    return [
        BilingualText(
            f"{place}, row {row}: the gold answer is '{text}', which some programs write into an empty cell "
            f"({counted_en(rows, 'such row', 'such rows')})",
            f"файл {place}, строка {row}: эталонный ответ — «{text}», а так некоторые программы заполняют пустые ячейки "
            f"(всего {counted(rows, 'такая строка', 'такие строки', 'таких строк')})",
        )
    ]


def normalise_gold(gold: Gold, made: Normalisation) -> Gold:
    """Rewrite gold answers to the spelling of their class; others are unchanged."""
    if not made.rules:
        return gold
    spelling = {canonical(text, made.rules): kept for text, kept in made.classes.items()}
    texts = gold.answers["gold"].drop_nulls().unique().to_list()
    new = [spelling.get(canonical(text, made.rules), text) for text in texts]
    if not texts:
        return gold
    return gold.with_answers(gold.answers.with_columns(pl.col("gold").replace(texts, new)))
