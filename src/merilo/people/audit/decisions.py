"""What an author decided about gold answers after reading the items, and the gold answers that follow.

A decision is `wrong` (with the new gold answer, if there is one), `ambiguous` or `fine`. One file holds them: the
filled-in `audit.csv` of `merilo audit`, which its page for reviewing items also writes.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, Literal, TypeAlias, get_args

import polars as pl

from merilo.atomic_write import unguarded
from merilo.errors import DataError, InputError
from merilo.files import sha256
from merilo.people.gold import Gold
from merilo.people.gold_file import records
from merilo.people.spelling import unify
from merilo.responses import INPUT_MARK, Responses
from merilo.strict_json import Json
from merilo.wording import listed, shortened, shown

Decision: TypeAlias = Literal["wrong", "ambiguous", "fine"]
DECISIONS: Final[tuple[Decision, ...]] = get_args(Decision)

#: The columns of an audit's list that are left empty for the reviewer.
DECISION_COLUMN, COLUMN = "decision", "revised_gold"

#: Columns of new gold answers; the last three only in a file without decisions, where they are not the old ones.
_NEW_GOLD: Final = (COLUMN, "revised", "new_gold")
_GOLD_COLUMNS: Final = (*_NEW_GOLD, "gold", "outputs", "answer")

#: The reason under which answers to dropped control items are counted.
LEFT_OUT: Final = "dropped_control"


@dataclass(frozen=True, slots=True)
class GoldDecisions:
    """The decisions about the gold answers of a study.

    Attributes:
        source: the name of the file.
        sha256: the hash of the file.
        decided: item's number -> the decision.
        revised: item's number -> the new gold answer, of items decided as wrong.
        keep_ambiguous: whether ambiguous items keep their gold answer and are scored.
    """

    source: str
    sha256: str
    decided: Mapping[int, Decision]
    revised: Mapping[int, str]
    keep_ambiguous: bool = False

    def of(self, decision: Decision) -> tuple[int, ...]:
        """Return the numbers of the items with this decision."""
        return tuple(sorted(number for number, given in self.decided.items() if given == decision))

    @property
    def unanswered(self) -> tuple[int, ...]:
        """Return the items whose gold answer is wrong and has no replacement, which are not scored."""
        return tuple(number for number in self.of("wrong") if number not in self.revised)

    @property
    def dropped(self) -> frozenset[int]:
        """Return all items that are not scored: `unanswered`, and ambiguous items unless they are kept."""
        return frozenset((*self.unanswered, *(() if self.keep_ambiguous else self.of("ambiguous"))))


def read_decisions(
    path: Path,
    responses: Responses,
    gold: Gold | None,
    encoding: str | None = None,
    *,
    labels: Collection[str] = (),
    keep_ambiguous: bool = False,
) -> GoldDecisions:
    """Read the decisions about a study's gold answers.

    The file is the list written by `merilo audit --out`, filled in by hand or saved by its page, or any other table
    that has the decision in `decision` or the new gold answer in `revised_gold`, and identifies items by their input
    fields, by the dataset's `id` or by the study's number in `item`. A row without a decision and with a new gold
    answer is decided as wrong; a row with neither is not decided.

    Args:
        path: CSV, TSV, JSON or JSONL.
        responses: the study to which the items belong.
        gold: the current gold answers, with the dataset's ids.
        encoding: the file's encoding, if it is not UTF-8 and has no byte order mark.
        labels: the labels of the dataset; a new gold answer must be one of them. By default, any text.
        keep_ambiguous: whether ambiguous items are scored.

    Returns:
        The decisions.

    Raises:
        InputError: the file cannot be read, has no column of decisions or new gold answers, or does not identify the
            items.
        DataError: a decision is none of the three, contradicts another cell or row, names an item that the study does
            not have or was made about another gold answer; or the file has no decision.
    """
    table = unguarded(records(path, encoding))
    decided = DECISION_COLUMN in table.columns
    column = next((name for name in (_NEW_GOLD if decided else _GOLD_COLUMNS) if name in table.columns), None)
    if column is None:
        if not decided:
            raise InputError(
                f"there is no column {COLUMN} (choose from: {listed(table.columns[1:])})", file=path, row=1
            )
        column, table = COLUMN, table.with_columns(pl.lit(None, pl.String).alias(COLUMN))
    if not decided:
        table = table.with_columns(pl.lit(None, pl.String).alias(DECISION_COLUMN))
    keys, known = _keys(table, responses, gold, path)
    marked = table.filter(pl.col(column).is_not_null() | pl.col(DECISION_COLUMN).is_not_null())
    if not marked.height:
        raise DataError("has no revised item", file=path, field=DECISION_COLUMN if decided else column)
    numbers = {tuple(row[1:]): int(row[0]) for row in known.iter_rows()}
    told = known_golds(responses, gold)
    written = {*responses.table["answer"].unique(), *responses.table["control"].drop_nulls().unique()}
    spelling = unify(
        sorted(marked[column].drop_nulls().unique()), sorted({*written, *told.values(), *labels})
    )
    old = "gold" if "gold" in marked.columns and column != "gold" else None
    found: dict[int, tuple[Decision, str | None]] = {}
    for line in marked.iter_rows(named=True):
        row, new = int(line["row"]), line[column]
        number = numbers.get(tuple(line[key] for key in keys))
        if number is None:
            raise DataError("is an item that this study does not have", file=path, row=row)
        decision = _decision(line[DECISION_COLUMN], new, path, row)
        new = None if new is None else spelling[new]
        current = told.get(number)
        if old and line[old] is not None and current is not None and _folded(line[old]) != _folded(current):
            raise DataError(
                f"was decided about the gold answer '{shortened(line[old])}', and item {number} has "
                f"'{shortened(current)}'",
                file=path,
                row=row,
                field=old,
            )
        if labels and new is not None and new not in labels:
            raise DataError(
                f"'{shortened(new)}' is not a label of the dataset ({listed(sorted(labels))})",
                file=path,
                row=row,
                field=column,
            )
        if new is not None and new == current:
            if decided and line[DECISION_COLUMN] is not None:
                raise DataError("is the old gold answer", file=path, row=row, field=column)
            decision, new = "fine", None
        if found.setdefault(number, (decision, new)) != (decision, new):
            raise DataError(
                f"gives item {number} a different new gold answer than a row above"
                if found[number][0] == decision
                else f"decides item {number} differently from a row above",
                file=path,
                row=row,
            )
    return GoldDecisions(
        shown(path),
        sha256(path),
        {number: decision for number, (decision, _) in found.items()},
        {number: new for number, (_, new) in found.items() if new is not None},
        keep_ambiguous,
    )


def _decision(given: str | None, new: str | None, path: Path, row: int) -> Decision:
    if given is None:
        return "wrong"
    decision = given.casefold()
    if decision not in DECISIONS:
        raise DataError(
            f"'{shortened(given)}' is none of {', '.join(DECISIONS)}",
            file=path,
            row=row,
            field=DECISION_COLUMN,
        )
    if new is not None and decision != "wrong":
        raise DataError(
            f"is decided as {decision} and has a new gold answer", file=path, row=row, field=DECISION_COLUMN
        )
    return decision


def _folded(text: str) -> str:
    return " ".join(text.split()).casefold()


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


def known_golds(responses: Responses, gold: Gold | None) -> dict[int, str]:
    """Return the gold of every item that has one, by number.

    From the file or the solver, or the control's known answer.
    """
    controls = responses.table.filter(pl.col("is_control") & pl.col("control").is_not_null())
    known = {
        int(number): str(answer)
        for number, answer in controls.select("item", "control").unique("item", keep="first").iter_rows()
    }
    if gold:
        known |= dict(gold.answers.drop_nulls("gold").select("item", "gold").iter_rows())
    return known


def recode_gold(
    responses: Responses, gold: Gold | None, decisions: GoldDecisions
) -> tuple[Responses, Gold | None]:
    """Apply decisions to a study, also to the known answers of its control items.

    Args:
        responses: the responses.
        gold: the current gold answers.
        decisions: the decisions.

    Returns:
        The responses, in which the controls' known answers are the new ones and the answers to dropped controls are
        left out, and the gold without the dropped items.

    Raises:
        DataError: a gold answer of several parts is replaced by a text that does not have these parts, or no gold
            answer is left.
    """
    dropped = sorted(decisions.dropped)
    gone = pl.col("is_control") & pl.col("item").is_in(pl.Series(dropped, dtype=pl.UInt32).implode())
    responses = responses.without(gone, LEFT_OUT)
    schema = {"item": pl.UInt32, "revised": pl.String}
    new = pl.DataFrame(list(decisions.revised.items()), schema=schema, orient="row")
    table = responses.table.join(new, on="item", how="left", maintain_order="left")
    known = pl.when("is_control").then(pl.coalesce("revised", "control"))
    responses = replace(responses, table=table.with_columns(known.alias("control")).drop("revised"))
    if gold is None:
        return responses, None
    left = gold.answers.filter(~pl.col("item").is_in(pl.Series(dropped, dtype=pl.UInt32).implode()))
    if gold.answers.height and not left.height:
        raise DataError("no gold answer is left: every item is dropped", file=decisions.source)
    answers = left.join(new, on="item", how="left", maintain_order="left")
    corrected = answers.with_columns(pl.coalesce("revised", "gold").alias("gold")).drop("revised")
    items = {number: item for number, item in gold.items.items() if number not in decisions.dropped}
    for number, text in decisions.revised.items():
        if number in items and not isinstance(items[number].outputs, str):
            outputs = _parts(text, items[number].outputs, number, decisions.source)
            items[number] = replace(items[number], outputs=outputs)
    recoded = replace(gold, items=items).with_answers(corrected)
    return responses, replace(recoded, source=f"{gold.source}, revised")


def _parts(text: str, old: Json, number: int, source: str) -> Json:
    """Read a new gold answer of the same form as the old one, which is no text."""
    try:
        new: Json = json.loads(text)
    except ValueError:
        new = None
    both = isinstance(new, dict) and isinstance(old, dict) and set(new) == set(old)
    if not both and not (isinstance(new, list) and isinstance(old, list)):
        raise DataError(
            f"the new gold answer of item {number} must be JSON of the same form as the old one: "
            f"{shortened(json.dumps(old, ensure_ascii=False))}",
            file=source,
            field=COLUMN,
        )
    return new
