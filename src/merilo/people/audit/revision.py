"""Revised items: gold answers that were reviewed and corrected."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Final

import polars as pl

from merilo.atomic_write import unguarded
from merilo.errors import DataError, InputError
from merilo.people.gold import Gold
from merilo.people.gold_file import records
from merilo.people.spelling import unify
from merilo.responses import INPUT_MARK, Responses
from merilo.wording import listed

#: The column of an audit's list that is left empty for the reviewer.
COLUMN: Final = "revised_gold"

_GOLD_COLUMNS: Final = (COLUMN, "revised", "new_gold", "gold", "outputs", "answer")


def read_revisions(
    path: Path, responses: Responses, gold: Gold | None, encoding: str | None = None
) -> dict[int, str]:
    """Read which items were revised, and their new golds.

    The file is the list written by `merilo audit --out` with the new golds filled in, or any other table that has the
    new gold in `revised_gold` (or `gold`) and identifies items by their input fields, by the dataset's `id` or by the
    study's number in `item`.

    Args:
        path: CSV, TSV, JSON or JSONL.
        responses: the study to which the items belong.
        gold: the current gold answers, with the dataset's ids.
        encoding: the file's encoding, if it is not UTF-8 and has no byte order mark.

    Returns:
        Item's number -> new gold, for rows with a new gold.

    Raises:
        InputError: the file cannot be read, has no column of new golds, or does not identify the items.
        DataError: the file names an item that the study does not have, gives one item two golds, or revises no item.
    """
    table = records(path, encoding)
    table = unguarded(table)
    column = next((name for name in _GOLD_COLUMNS if name in table.columns), None)
    if column is None:
        raise InputError(
            f"there is no column {COLUMN} (choose from: {listed(table.columns[1:])})", file=path, row=1
        )
    keys, known = _keys(table, responses, gold, path)
    marked = table.filter(pl.col(column).is_not_null()).select("row", column, *keys)
    if not marked.height:
        raise DataError("has no revised item", file=path, field=column)
    numbers = {tuple(row[1:]): int(row[0]) for row in known.iter_rows()}
    spelling = unify(
        sorted(marked[column].unique()),
        sorted(set(responses.table["answer"].unique()) | _controls(responses)),
    )
    revisions: dict[int, str] = {}
    for row, new, *key in marked.iter_rows():
        number = numbers.get(tuple(key))
        if number is None:
            raise DataError("is an item that this study does not have", file=path, row=row)
        if revisions.setdefault(number, spelling[new]) != spelling[new]:
            raise DataError(
                f"gives item {number} a different new gold answer than a row above", file=path, row=row
            )
    return revisions


def _keys(
    table: pl.DataFrame, responses: Responses, gold: Gold | None, path: Path
) -> tuple[list[str], pl.DataFrame]:
    """Return the columns that identify an item, and the study's items by their values; `item` comes first."""
    columns = [_column(name, table) for name in responses.fields]
    if all(columns):
        return [str(column) for column in columns], responses.items.select("item", *responses.fields)
    ids = gold.answers.filter(pl.col("id").is_not_null()).select("item", "id") if gold else None
    if "id" in table.columns and ids is not None and ids.height:
        return ["id"], ids
    if "item" in table.columns:
        return ["item"], responses.items.select("item", pl.col("item").cast(pl.String).alias("number"))
    raise InputError(
        f"does not identify the items: add the input fields ({listed(responses.fields)}), the "
        "dataset's id, or the study's number in a column 'item'",
        file=path,
        row=1,
    )


def _column(field: str, table: pl.DataFrame) -> str | None:
    """Find the column of an input field; in an audit's list its name has the prefix of inputs."""
    bare = field.removeprefix(INPUT_MARK)
    return next((name for name in (f"INPUT:{bare}", field, bare) if name in table.columns), None)


def _controls(responses: Responses) -> set[str]:
    return set(responses.table["control"].drop_nulls().unique())


def revise(
    responses: Responses, gold: Gold | None, revisions: Mapping[int, str]
) -> tuple[Responses, Gold | None]:
    """Apply corrected golds to a study, including those of control items.

    Args:
        responses: the responses.
        gold: the current gold answers.
        revisions: item's number -> new gold.

    Returns:
        The responses, in which the controls' known answers are the new ones, and the gold.
    """
    schema = {"item": pl.UInt32, "revised": pl.String}
    new = pl.DataFrame(list(revisions.items()), schema=schema, orient="row")
    table = responses.table.join(new, on="item", how="left", maintain_order="left")
    known = pl.when("is_control").then(pl.coalesce("revised", "control"))
    responses = replace(responses, table=table.with_columns(known.alias("control")).drop("revised"))
    if gold is None:
        return responses, None
    answers = gold.answers.join(new, on="item", how="left", maintain_order="left")
    corrected = answers.with_columns(pl.coalesce("revised", "gold").alias("gold")).drop("revised")
    return responses, replace(gold.with_answers(corrected), source=f"{gold.source}, revised")
