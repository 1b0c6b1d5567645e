"""Read batch CSV files of Amazon Mechanical Turk: one row per assignment, inputs in `Input.*`, answers in `Answer.*`.

Three forms of answers are read: one column per answer, one column of true and false per option of a question
(`Answer.question.option`), and all answers of an assignment as JSON in `Answer.taskAnswers`.
"""

from __future__ import annotations

import json
from typing import Final

import polars as pl

from merilo.errors import InputError
from merilo.files import Table
from merilo.people.platforms.export import (
    CONTROL_FIELDS,
    Columns,
    Export,
    choose_answer,
    column,
    moment,
    number,
    require,
    unread,
)
from merilo.strict_json import Json, parse_json
from merilo.wording import listed

REQUIRED: Final = ("HITId", "WorkerId")

_KEPT: Final = frozenset(
    {
        *REQUIRED,
        "AssignmentId",
        "AssignmentStatus",
        "AcceptTime",
        "SubmitTime",
        "WorkTimeInSeconds",
        "Reward",
        "Reject",
    }
)

_SOURCES: Final = {
    "started": "AcceptTime",
    "submitted": "SubmitTime",
    "page_seconds": "WorkTimeInSeconds",
    "page_reward": "Reward",
}

_ALL_ANSWERS: Final = "Answer.taskAnswers"

_MONTHS: Final = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")

#: `Thu Oct 09 07:30:20 PDT 2025`: month, day, time, zone, year.
_TIME: Final = r"^\w{3} (\w{3}) +(\d{1,2}) (\d\d:\d\d:\d\d) ([A-Z]{3,4}) (\d{4})$"
_ZONES: Final = {
    "UTC": "+0000", "GMT": "+0000", "PST": "-0800", "PDT": "-0700", "MST": "-0700", "MDT": "-0600",
    "CST": "-0600", "CDT": "-0500", "EST": "-0500", "EDT": "-0400",
}  # fmt: skip


def recognises(header: list[str]) -> bool:
    """Return whether a header is Mechanical Turk's."""
    return set(REQUIRED) <= set(header) and any(name.startswith("Answer.") for name in header)


def wanted(name: str) -> bool:
    """Return whether a column is needed."""
    return name in _KEPT or name.startswith(("Input.", "Answer."))


def read(table: Table, columns: Columns) -> Export:
    """Read the CSV of one batch.

    Args:
        table: the file's text columns.
        columns: the columns that the user named; only the answer's is used.

    Raises:
        InputError: a required column is missing, or `Answer.taskAnswers` is not valid JSON.
        UsageError: assignments have several answers and the user chose none.
    """
    require(table.data.columns, REQUIRED, table.file)
    controls = [f"Input.{name}" for name in CONTROL_FIELDS]
    inputs = [name for name in table.data.columns if name.startswith("Input.") and name not in controls]
    if not inputs:
        require(table.data.columns, ("Input.*",), table.file)
    data = questions_of(table)
    answer = choose_answer(data, "Answer.", columns.answer, table.file)
    known = pl.coalesce(column(data, name) for name in controls)
    refused = (column(data, "AssignmentStatus").str.to_lowercase() == "rejected").fill_null(
        value=False
    ) | column(data, "Reject").is_not_null()
    rows = data.select(
        pl.col("WorkerId").alias("respondent"),
        pl.col(answer).alias("answer"),
        known.alias("control"),
        known.is_not_null().alias("is_control"),
        column(data, "AssignmentId").alias("page"),
        moment(_iso(column(data, "AcceptTime"))).alias("started"),
        moment(_iso(column(data, "SubmitTime"))).alias("submitted"),
        number(column(data, "WorkTimeInSeconds")).alias("page_seconds"),
        number(column(data, "Reward").str.strip_chars().str.strip_prefix("$")).alias("page_reward"),
        pl.when(refused).then(pl.lit("rejected")).alias("dropped"),
    ).with_row_index("row", offset=table.first_row)
    return Export(
        file=table.file,
        inputs=data.select(pl.col(name).alias(name.removeprefix("Input.")) for name in inputs),
        rows=rows,
        answer_field=answer,
        answer_fields=tuple(name for name in data.columns if name.startswith("Answer.")),
        project=listed(sorted(inputs), 50),
        currency="USD",
        unread=unread(data, rows, _SOURCES, table.file),
    )


def questions_of(table: Table) -> pl.DataFrame:
    """Return a batch with one column `Answer.NAME` for each question, whatever form the answers are in.

    Raises:
        InputError: `Answer.taskAnswers` is not valid JSON.
    """
    return _one_column_a_question(_laid_open(table))


def _iso(text: pl.Expr) -> pl.Expr:
    """Convert `Thu Oct 09 07:30:20 PDT 2025` to `2025-10-09 07:30:20-0700`; other texts are kept."""
    text = text.str.strip_chars()
    month, day, time, zone, year = (text.str.extract(_TIME, group) for group in range(1, 6))
    number_of = month.replace_strict(list(_MONTHS), [f"{place:02}" for place in range(1, 13)], default=None)
    offset = zone.replace_strict(_ZONES, default=None)
    written = pl.concat_str(
        year, pl.lit("-"), number_of, pl.lit("-"), day.str.zfill(2), pl.lit(" "), time, offset
    )
    return pl.coalesce(written, text)


def _laid_open(table: Table) -> pl.DataFrame:
    """Return the table with one column per answer in `Answer.taskAnswers`."""
    if _ALL_ANSWERS not in table.data.columns:
        return table.data
    records: list[dict[str, str | None]] = []
    for row, text in enumerate(table.data[_ALL_ANSWERS], start=table.first_row):
        records.append(_answers(text, table.file, row) if text is not None else {})
    names = dict.fromkeys(name for record in records for name in record)
    found = pl.DataFrame(
        {
            f"Answer.{name}": pl.Series([record.get(name) for record in records], dtype=pl.String)
            for name in names
        }
    )
    others = table.data.drop(_ALL_ANSWERS, *(name for name in found.columns if name in table.data))
    return others.hstack(found) if names else others


def _answers(text: str, file: str, row: int) -> dict[str, str | None]:
    """Convert `[{"sentiment": {"label": "Positive"}}]` to a dictionary of texts."""
    try:
        value = parse_json(text, file=file, row=row)
    except InputError as error:
        raise InputError(error.message, file=file, row=row, field=_ALL_ANSWERS) from None
    parts = value if isinstance(value, list) else [value]
    answers: dict[str, str | None] = {}
    for part in parts:
        if not isinstance(part, dict):
            raise InputError("is not a list of JSON objects", file=file, row=row, field=_ALL_ANSWERS)
        answers |= {name: _text(one) for name, one in part.items()}
    return answers


def _text(value: Json) -> str | None:
    """Convert the answer of a page element to text: a text, options with true and false, or a label."""
    if value is None or value == "":
        return None
    if isinstance(value, str):
        return value
    if isinstance(value, dict):
        if value and all(isinstance(one, bool) for one in value.values()):
            return ",".join(name for name, chosen in value.items() if chosen) or None
        if len(value) == 1 and next(iter(value)) in {"label", "labels"}:
            return _text(next(iter(value.values())))
    if isinstance(value, list) and all(isinstance(one, str) for one in value):
        return ",".join(map(str, value)) or None
    return json.dumps(value, ensure_ascii=False)


def _one_column_a_question(data: pl.DataFrame) -> pl.DataFrame:
    """Merge options: true and false in `Answer.toxic.yes` and `Answer.toxic.no` become `Answer.toxic`, the chosen options."""
    groups: dict[str, list[str]] = {}
    for name in data.columns:
        stem, dot, option = name.removeprefix("Answer.").partition(".")
        if name.startswith("Answer.") and stem and dot and option:
            groups.setdefault(f"Answer.{stem}", []).append(name)
    for question, names in groups.items():
        if len(names) < 2 or question in data.columns or not all(_is_truth(data[name]) for name in names):
            continue
        chosen = pl.concat_str(
            (
                pl.when(pl.col(name).str.to_lowercase() == "true").then(
                    pl.lit(name.removeprefix(f"{question}."))
                )
                for name in names
            ),
            separator=",",
            ignore_nulls=True,
        ).replace("", None)
        data = data.with_columns(chosen.alias(question)).drop(names)
    return data


def _is_truth(texts: pl.Series) -> bool:
    return set(texts.drop_nulls().str.to_lowercase()) <= {"true", "false"}
