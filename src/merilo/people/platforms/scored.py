"""Plain tables of answers that were scored elsewhere, and tables with one row a person and a column an item."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import polars as pl

from merilo.errors import InputError, UsageError, argument
from merilo.files import Table
from merilo.metrics.pass_at_k import FAILED, PASSED
from merilo.people.platforms.export import ROW, Columns, number
from merilo.wording import choices, listed

#: How tables write that an answer is right or wrong, in lower case.
_RIGHT: Final = ("1", "1.0", "true", "yes", "correct", "right", "passed", "да", "верно")
_WRONG: Final = ("0", "0.0", "false", "no", "incorrect", "wrong", "failed", "нет", "неверно")

#: The columns of a long table made from a wide one.
_ITEM: Final = "item"
_SCORE: Final = "score"
_PERSON: Final = "annotator"


def is_score(column: pl.Series) -> bool:
    """Return whether a text column holds nothing but right and wrong, and both or at least one of them.

    Example:
        >>> is_score(pl.Series(["1", "0", None])), is_score(pl.Series(["1", "2"]))
        (True, False)
    """
    texts = column.drop_nulls().str.strip_chars().str.to_lowercase()
    return bool(len(texts)) and bool(texts.is_in([*_RIGHT, *_WRONG]).all())


def verdicts(table: Table, columns: Columns) -> Table:
    """Replace the column of scores by verdicts, with one row for all attempts of a person at an item.

    A row without a score is no answer. The best of the attempts counts; the seconds of attempts are added.

    Raises:
        UsageError: there is no such column.
        InputError: a score is neither right nor wrong, or an attempt has no number.
    """
    data = table.data if ROW in table.data.columns else table.data.with_row_index(ROW, offset=table.first_row)
    score = str(columns.score)
    for name in (score, columns.attempt):
        if name is not None and name not in data.columns:
            raise UsageError(
                f"there is no such column ({choices(name, data.columns)})", file=table.file, field=name
            )
    text = pl.col(score).str.strip_chars().str.to_lowercase()
    strange = data.filter(text.is_not_null() & (text != "") & ~text.is_in([*_RIGHT, *_WRONG]))
    if strange.height:
        raise InputError(
            f"'{strange[score][0]}' is not a score: answers are right (1, true) or wrong (0, false)",
            file=table.file,
            row=int(strange[ROW][0]),
            field=score,
        )
    if columns.attempts is not None and columns.attempt is None:
        raise UsageError(
            f"{argument('attempts')} needs {argument('attempt', 'COLUMN')}, the number of the attempt"
        )
    data = data.filter(text.is_not_null() & (text != ""))
    if columns.attempt is not None:
        data = _best(data, columns, table.file)
    right = pl.col(score).str.strip_chars().str.to_lowercase().is_in([*_RIGHT])
    verdict = pl.when(right).then(pl.lit(PASSED)).otherwise(pl.lit(FAILED)).alias(score)
    return replace(table, data=data.with_columns(verdict))


def _best(data: pl.DataFrame, columns: Columns, file: str) -> pl.DataFrame:
    """Keep one row for all counted attempts of a person at an item: the first right one, else the last."""
    from merilo.people.platforms.plain import found_column  # noqa: PLC0415 - that module imports this one

    score, attempt = str(columns.score), str(columns.attempt)
    tried = data.with_columns(number(pl.col(attempt)).alias("\x1ftry"))
    unknown = tried.filter(pl.col("\x1ftry").is_null())
    if unknown.height:
        raise InputError(
            f"'{unknown[attempt][0] or ''}' is not the number of an attempt",
            file=file,
            row=int(unknown[ROW][0]),
            field=attempt,
        )
    items = list(columns.item) or [found_column(data, "item", None, file)]
    pair = [*items, found_column(data, "annotator", columns.annotator, file)]
    # Attempts may count from 0 or over all tasks, so their ranks count.
    tried = tried.with_columns(pl.col("\x1ftry").rank("dense").over(pair).alias("\x1frank"))
    if columns.attempts is not None:
        tried = tried.filter(pl.col("\x1frank") <= columns.attempts)
    seconds = found_column(data, "seconds", columns.seconds, file)
    if seconds:
        whole = number(pl.col(seconds)).sum().over(pair)
        tried = tried.with_columns(whole.cast(pl.String).alias(seconds))
    right = pl.col(score).str.strip_chars().str.to_lowercase().is_in([*_RIGHT])
    best = tried.sort(~right, "\x1frank", maintain_order=True).unique(pair, keep="first", maintain_order=True)
    wrong = tried.sort("\x1frank", descending=True, maintain_order=True).unique(
        pair, keep="first", maintain_order=True
    )
    solved = best.filter(right)
    others = wrong.join(solved, on=pair, how="anti", nulls_equal=True)
    return pl.concat([solved, others]).sort(ROW).drop("\x1ftry", "\x1frank")


def long(table: Table, columns: Columns) -> tuple[Table, Columns]:
    """Turn a table with one row a person and a column an item into one with a row an answer.

    The columns of `item` are the items; by default, all that hold nothing but right and wrong. If all of them do, and
    no column of answers is meant, the answers are scores.

    Raises:
        UsageError: no column of items was found, or a named one is missing.
    """
    data = table.data.with_row_index(ROW, offset=table.first_row)
    for name in (*columns.item, columns.annotator):
        if name is not None and name not in data.columns:
            raise UsageError(
                f"there is no such column ({choices(name, table.data.columns)})", file=table.file, field=name
            )
    scores = items_of_wide(table.data, columns)
    items = list(columns.item) or scores
    if len(items) < 2:
        raise UsageError(
            f"{argument('wide')} found no columns of items with 1 and 0: name them with {argument('item', 'COLUMN')} "
            f"(choose from: {listed(table.data.columns)})",
            file=table.file,
        )
    from merilo.people.platforms.plain import guess  # noqa: PLC0415 - that module imports this one

    rest = table.data.drop(items)
    person = guess(rest, columns).annotator
    who = pl.col(person) if person else pl.format("row {}", pl.col(ROW))
    chosen = data.select(ROW, who.alias(_PERSON), *items)
    answers = chosen.unpivot(items, index=[ROW, _PERSON], variable_name=_ITEM, value_name=_SCORE)
    answers = answers.filter(pl.col(_SCORE).is_not_null()).sort(ROW, maintain_order=True)
    named = Columns(item=(_ITEM,), annotator=_PERSON, answer=_SCORE)
    if set(items) <= set(scores):
        named = replace(named, score=_SCORE)
    return Table(table.file, answers, table.first_row), named


def items_of_wide(data: pl.DataFrame, columns: Columns) -> list[str]:
    """Return the columns that hold nothing but right and wrong."""
    return [name for name in data.columns if name and name != columns.annotator and is_score(data[name])]
