"""ABC Elementary: rows whose input and answer may be whole dialogues in JSON, one row a person.

A dialogue's item is a turn: its place in the dialogue together with its texts, because a dialogue may ask the same
question twice and mean another thing.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Final

import polars as pl

from merilo.errors import InputError
from merilo.files import Table, listed
from merilo.people.platforms.export import Columns, Export, choose_answer, moment, number, require

#: "answer_2" in an answer names the second of the choices that the turn offers.
_CHOICE: Final = re.compile(r"(?:answer|choice|option)_(\w+)")

_KEPT: Final = frozenset(
    {
        "ASSIGNMENT:assignment_id",
        "ASSIGNMENT:worker_id",
        "ASSIGNMENT:user_id",
        "ASSIGNMENT:status",
        "ASSIGNMENT:date_start",
        "ASSIGNMENT:date_end",
        "ASSIGNMENT:time_spent",
        "ASSIGNMENT:reward",
        "ACCEPT:verdict",
    }
)

_REFUSED: Final = ("REJECTED", "DECLINED", "RETURNED")


def recognises(header: list[str]) -> bool:
    """Whether a header is ABC Elementary's."""
    return bool({"ASSIGNMENT:date_start", "ASSIGNMENT:time_spent", "ASSIGNMENT:result_id"} & set(header))


def wanted(name: str) -> bool:
    """Whether a column is needed."""
    return name in _KEPT or name.startswith(("INPUT:", "OUTPUT:", "GOLDEN:"))


def read(table: Table, columns: Columns) -> Export:
    """Read one ABC Elementary export.

    Args:
        table: the file's text columns.
        columns: what the user says of columns; only the answer's is used.

    Raises:
        InputError: a column that every such export has is missing, or a dialogue is broken.
        UsageError: several answer columns and no choice among them.
    """
    data = table.data.with_row_index("row", offset=2)
    if "ASSIGNMENT:worker_id" not in data.columns:
        require(data.columns, ("ASSIGNMENT:user_id",), table.file)
        data = data.rename({"ASSIGNMENT:user_id": "ASSIGNMENT:worker_id"})
    inputs = [name for name in data.columns if name.startswith("INPUT:")]
    if not inputs:
        require(data.columns, ("INPUT:*",), table.file)
    answer = choose_answer(data, "OUTPUT:", columns.answer, table.file)
    project = listed(sorted(inputs), 50)
    renamed: dict[str, str] = {}
    if _is_dialogue(data, inputs, answer):
        data, renamed = _turns(data, inputs[0], answer, table.file)
        inputs = [name for name in data.columns if name.startswith("INPUT:")]
        control = "GOLDEN:*turn"
    else:
        control = f"GOLDEN:{answer.removeprefix('OUTPUT:')}"
    return Export(
        file=table.file,
        inputs=data.select(pl.col(name).alias(name.removeprefix("INPUT:")) for name in inputs),
        rows=_rows(data, answer, control),
        answer_field=answer,
        answer_fields=tuple(name for name in table.data.columns if name.startswith("OUTPUT:")),
        project=project,
        renamed=renamed,
    )


def _rows(data: pl.DataFrame, answer: str, control: str) -> pl.DataFrame:
    def column(name: str) -> pl.Expr:
        return pl.col(name) if name in data.columns else pl.lit(None, dtype=pl.String)

    refused = column("ASSIGNMENT:status").str.to_uppercase().is_in(_REFUSED) | column(
        "ACCEPT:verdict"
    ).str.to_uppercase().is_in(_REFUSED)
    return data.select(
        pl.col("ASSIGNMENT:worker_id").alias("respondent"),
        pl.col(answer).alias("answer"),
        column(control).alias("control"),
        column(control).is_not_null().alias("is_control"),
        column("ASSIGNMENT:assignment_id").alias("page"),
        moment(column("ASSIGNMENT:date_start")).alias("started"),
        moment(column("ASSIGNMENT:date_end")).alias("submitted"),
        number(column("ASSIGNMENT:time_spent")).alias("page_seconds"),
        number(column("ASSIGNMENT:reward")).alias("page_reward"),
        pl.when(refused).then(pl.lit("rejected")).alias("dropped"),
        "row",
    )


def _is_dialogue(data: pl.DataFrame, inputs: list[str], answer: str) -> bool:
    """One input column whose first filled field is a JSON list, and answers that are lists as well."""
    if len(inputs) != 1:
        return False
    firsts = (data[name].drop_nulls().head(1).to_list() for name in (inputs[0], answer))
    return all(first and first[0].lstrip().startswith("[") for first in firsts)


def _turns(data: pl.DataFrame, shown: str, answer: str, file: str) -> tuple[pl.DataFrame, dict[str, str]]:
    """A row a person becomes a row a turn."""
    fields: dict[str, None] = {}
    rows: list[dict[str, object]] = []
    renamed: dict[str, str] = {}
    others = [name for name in data.columns if name not in {shown, answer}]
    for record in data.iter_rows(named=True):
        shared = {name: record[name] for name in others}
        if record[shown] is None or record[answer] is None:
            rows.append({**shared, answer: None})
            continue
        for turn, texts, reply, known in _pairs(record[shown], record[answer], file, record["row"]):
            fields.update(dict.fromkeys(texts))
            kept = _choice(reply, texts)
            if reply is not None and kept is not None and kept != reply:
                renamed[reply] = kept
            rows.append(
                {
                    **shared,
                    "INPUT:turn": str(turn),
                    **{f"INPUT:{name}": text for name, text in texts.items()},
                    answer: kept,
                    "GOLDEN:*turn": _choice(known, texts),
                }
            )
    names = [*others, "INPUT:turn", *(f"INPUT:{name}" for name in fields), answer, "GOLDEN:*turn"]
    schema = {name: pl.UInt32 if name == "row" else pl.String for name in names}
    return pl.DataFrame(rows, schema=schema), renamed


def _pairs(
    shown: str, answered: str, file: str, row: int
) -> Iterator[tuple[int, dict[str, str], str | None, str | None]]:
    """(turn, its texts, the answer, the known answer of a control turn) of one person's dialogue."""
    turns, replies = _list(shown, file, row, "INPUT"), _list(answered, file, row, "OUTPUT")
    if len(turns) != len(replies):
        raise InputError(
            f"the dialogue has {len(turns)} turns and {len(replies)} answers",
            file=file,
            row=row,
            field="OUTPUT",
        )
    for place, (turn, reply) in enumerate(zip(turns, replies, strict=True), start=1):
        if not isinstance(turn, dict):
            raise InputError(
                f"turn {place} of the dialogue is not an object", file=file, row=row, field="INPUT"
            )
        texts = {name: _text(value) or "" for name, value in turn.items() if name not in {"golden", "gold"}}
        value = reply.get("answer") if isinstance(reply, dict) else reply
        yield place, texts, _text(value), _text(turn.get("golden", turn.get("gold")))


def _list(text: str, file: str, row: int, column: str) -> list[object]:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        raise InputError("is not readable JSON", file=file, row=row, field=column) from None
    if not isinstance(value, list):
        raise InputError("is not a list of turns", file=file, row=row, field=column)
    return value


def _text(value: object) -> str | None:
    if value is None or value == "":
        return None
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _choice(reply: str | None, texts: dict[str, str]) -> str | None:
    """`answer_2` becomes `2` where the turn offers a choice of that name."""
    match = _CHOICE.fullmatch(reply) if reply is not None and reply in texts else None
    return match.group(1) if match else reply
