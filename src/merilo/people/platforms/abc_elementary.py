"""Read ABC Elementary exports: one row per person, with inputs and answers that may be whole dialogues in JSON.

In a dialogue, each turn is an item, identified by its position and its texts: a dialogue may repeat a question with a
different meaning.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Final

import polars as pl

from merilo.errors import InputError
from merilo.files import Table
from merilo.people.platforms.export import (
    Columns,
    Export,
    choose_answer,
    column,
    known_answer,
    moment,
    number,
    require,
    unread,
)
from merilo.strict_json import Json, parse_json
from merilo.wording import listed

#: "answer_2" in an answer means the second choice of the turn.
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

_SOURCES: Final = {
    "started": "ASSIGNMENT:date_start",
    "submitted": "ASSIGNMENT:date_end",
    "page_seconds": "ASSIGNMENT:time_spent",
    "page_reward": "ASSIGNMENT:reward",
}

_REFUSED: Final = ("REJECTED", "DECLINED", "RETURNED")


def recognises(header: list[str]) -> bool:
    """Return whether a header is ABC Elementary's."""
    return bool({"ASSIGNMENT:date_start", "ASSIGNMENT:time_spent", "ASSIGNMENT:result_id"} & set(header))


def wanted(name: str) -> bool:
    """Return whether a column is needed."""
    return name in _KEPT or name.startswith(("INPUT:", "OUTPUT:", "GOLDEN:"))


def read(table: Table, columns: Columns) -> Export:
    """Read one ABC Elementary export.

    Args:
        table: the file's text columns.
        columns: the columns that the user named; only the answer's is used.

    Raises:
        InputError: a required column is missing, or a dialogue is invalid.
        UsageError: there are several answer columns and the user chose none.
    """
    data = table.data.with_row_index("row", offset=table.first_row)
    if "ASSIGNMENT:worker_id" not in data.columns:
        require(data.columns, ("ASSIGNMENT:user_id",), table.file)
        data = data.rename({"ASSIGNMENT:user_id": "ASSIGNMENT:worker_id"})
    inputs = [name for name in data.columns if name.startswith("INPUT:")]
    if not inputs:
        require(data.columns, ("INPUT:*",), table.file)
    answer = choose_answer(data, "OUTPUT:", columns.answer, table.file)
    project = listed(sorted(inputs), 50)
    renamed: dict[str, str] = {}
    dialogue = _dialogue(data, inputs, answer)
    if dialogue:
        data, renamed = _turns(data, dialogue, answer, table.file)
        inputs = [name for name in data.columns if name.startswith("INPUT:")]
    rows = _rows(data, answer)
    return Export(
        file=table.file,
        inputs=data.select(pl.col(name).alias(name.removeprefix("INPUT:")) for name in inputs),
        rows=rows,
        answer_field=answer,
        answer_fields=tuple(name for name in table.data.columns if name.startswith("OUTPUT:")),
        project=project,
        renamed=renamed,
        unread=unread(data, rows, _SOURCES, table.file),
    )


def _rows(data: pl.DataFrame, answer: str) -> pl.DataFrame:
    control, is_control = known_answer(data, answer)
    refused = pl.any_horizontal(
        column(data, name).str.to_uppercase().is_in(_REFUSED)
        for name in ("ASSIGNMENT:status", "ACCEPT:verdict")
    )
    return data.select(
        pl.col("ASSIGNMENT:worker_id").alias("respondent"),
        pl.col(answer).alias("answer"),
        control.alias("control"),
        is_control.alias("is_control"),
        column(data, "ASSIGNMENT:assignment_id").alias("page"),
        moment(column(data, "ASSIGNMENT:date_start")).alias("started"),
        moment(column(data, "ASSIGNMENT:date_end")).alias("submitted"),
        number(column(data, "ASSIGNMENT:time_spent")).alias("page_seconds"),
        number(column(data, "ASSIGNMENT:reward")).alias("page_reward"),
        pl.when(refused).then(pl.lit("rejected")).alias("dropped"),
        "row",
    )


def _dialogue(data: pl.DataFrame, inputs: list[str], answer: str) -> str | None:
    """Return the one input column whose first non-empty value is a JSON list, if the answers are lists as well."""
    lists = [name for name in (*inputs, answer) if _begins_a_list(data[name])]
    return lists[0] if len(lists) == 2 and lists[1] == answer else None


def _begins_a_list(texts: pl.Series) -> bool:
    first = texts.drop_nulls().head(1).to_list()
    return bool(first) and first[0].lstrip().startswith("[")


def _turns(data: pl.DataFrame, shown: str, answer: str, file: str) -> tuple[pl.DataFrame, dict[str, str]]:
    """Split each person's row into one row per turn."""
    fields: dict[str, None] = {}
    rows: list[dict[str, object]] = []
    renamed: dict[str, str] = {}
    golden = f"GOLDEN:{answer.removeprefix('OUTPUT:')}"
    others = [name for name in data.columns if name not in {shown, answer} and not name.startswith("GOLDEN:")]
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
                    golden: _choice(known, texts),
                }
            )
    names = [*others, "INPUT:turn", *(f"INPUT:{name}" for name in fields), answer, golden]
    schema = {name: pl.UInt32 if name == "row" else pl.String for name in names}
    return pl.DataFrame(rows, schema=schema), renamed


def _pairs(
    shown: str, answered: str, file: str, row: int
) -> Iterator[tuple[int, dict[str, str], str | None, str | None]]:
    """Yield (turn, its texts, the answer, the gold answer of a control turn) for one person's dialogue."""
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


def _list(text: str, file: str, row: int, column: str) -> list[Json]:
    try:
        value = parse_json(text, file=file, row=row)
    except InputError as error:
        raise InputError(error.message, file=file, row=row, field=column) from None
    if not isinstance(value, list):
        raise InputError("is not a list of turns", file=file, row=row, field=column)
    return value


def _text(value: object) -> str | None:
    if value is None or value == "":
        return None
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _choice(reply: str | None, texts: dict[str, str]) -> str | None:
    """Convert `answer_2` to `2` if the turn offers a choice of that name."""
    match = _CHOICE.fullmatch(reply) if reply is not None and reply in texts else None
    return match.group(1) if match else reply
