"""Exports of Toloka, ABC Elementary and Amazon Mechanical Turk: tables with fixed column names, one declaration each.

Toloka: TSV, one row per answer, with `INPUT:*`, `OUTPUT:*` and, on control items, `GOLDEN:*`. Older exports
are separated by semicolons and have `ASSIGNMENT:worker_id` as the only `ASSIGNMENT:*` column: they lack times
and rewards, and often control items.

ABC Elementary: the same prefixes, one row per person; inputs and answers may be whole dialogues in JSON. In a
dialogue, each turn is an item, identified by its position and its texts: a dialogue may repeat a question
with a different meaning.

Mechanical Turk: CSV of a batch, one row per assignment. Three forms of answers are read: one column per
answer, one column of true and false per option of a question (`Answer.question.option`), and all answers of
an assignment as JSON in `Answer.taskAnswers`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

import polars as pl

from merilo.errors import InputError, UsageError, argument
from merilo.file_reading import Reading
from merilo.files import FileTable as Table
from merilo.people.platforms.export import (
    CONTROL_FIELDS,
    ROW,
    Export,
    choose_answer,
    column,
    export_of_columns,
    json_text,
    named_columns,
    named_places,
    options_text,
    require,
)
from merilo.strict_json import Json, parse_json
from merilo.wording import listed

#: The state of an assignment that stands for any text in its column.
_ANY: Final = "*"


@dataclass(frozen=True, slots=True)
class TableForm:
    """The columns of a platform's exports.

    Attributes:
        inputs: the prefix of input fields.
        answers: the prefix of answers.
        places: `respondent`, `page`, `started`, `submitted`, `page_seconds`, `page_reward` -> the column.
        states: column -> state of an assignment in capital letters -> why its row is no response.
        other_names: another name of a column -> its name.
        golden: the prefix of known answers of control items; `None` if they are input fields (`CONTROL_FIELDS`).
        currency: the currency of the rewards.
        money_sign: what precedes the number of a reward.
        laid_open: rewrites the answers of a table to one column per question.
        turns: splits the rows of whole dialogues; returns the rows and the answers that it rewrote.
    """

    inputs: str
    answers: str
    places: Mapping[str, str]
    states: Mapping[str, Mapping[str, str]]
    other_names: Mapping[str, str] = field(default_factory=dict)
    golden: str | None = "GOLDEN:"
    currency: str | None = None
    money_sign: str = ""
    laid_open: Callable[[Table], pl.DataFrame] | None = None
    turns: Callable[[Table, Sequence[str], str], tuple[pl.DataFrame, dict[str, str]]] | None = None

    def wants(self, name: str) -> bool:
        """Check whether a column is needed."""
        prefixes = (self.inputs, self.answers, *([self.golden] if self.golden else []))
        return name.startswith(prefixes) or name in {*self.places.values(), *self.states, *self.other_names}

    def read(self, table: Table, reading: Reading) -> Export:
        """Read one export.

        Args:
            table: the file's text columns.
            reading: the columns that the user named; the answer's and those of `columns` are used.

        Raises:
            InputError: a required column is missing, or JSON in a cell is invalid.
            UsageError: there are several answer columns and the user chose none.
        """
        places = {**self.places, **named_places(reading, table)}
        kept = [name for name in table.data.columns if self.wants(name) or name in named_columns(reading)]
        data = table.data.select(kept).with_row_index(ROW, offset=table.first_row)
        if places["respondent"] not in data.columns:
            data = data.rename({old: new for old, new in self.other_names.items() if old in data.columns})
        if places["respondent"] not in data.columns:
            raise UsageError(
                f"there is no column '{places['respondent']}': name the column of annotators with "
                f"{argument('annotator')} (choose from: {listed(table.data.columns, 30)})",
                file=table.file,
            )
        project = self._fields(data)
        if not project:
            require(data.columns, (f"{self.inputs}*",), table.file)
        if self.laid_open is not None:
            data = self.laid_open(replace(table, data=data))
        if self.money_sign:
            reward = column(data, places["page_reward"]).str.strip_chars().str.strip_prefix(self.money_sign)
            data = data.with_columns(reward.alias(places["page_reward"]))
        answer = choose_answer(data, self.answers, next(iter(reading.answer), None), table.file)
        answers = tuple(name for name in data.columns if name.startswith(self.answers))
        data, renamed = (
            self.turns(replace(table, data=data), project, answer) if self.turns is not None else (data, {})
        )
        known, is_control = self._known(data, answer)
        reasons = [_reason(column(data, name), states) for name, states in self.states.items()]
        found = export_of_columns(
            table,
            data,
            {**places, "answer": answer},
            {name: name.removeprefix(self.inputs) for name in self._fields(data)},
            known,
            is_control=is_control,
            dropped=pl.coalesce(reasons),
        )
        return replace(
            found,
            answer_fields=answers,
            project=listed(sorted(project), 50),
            currency=self.currency,
            renamed=renamed,
        )

    def _fields(self, data: pl.DataFrame) -> list[str]:
        controls = [] if self.golden else [f"{self.inputs}{name}" for name in CONTROL_FIELDS]
        return [name for name in data.columns if name.startswith(self.inputs) and name not in controls]

    def _known(self, data: pl.DataFrame, answer: str) -> tuple[pl.Expr, pl.Expr | None]:
        """Return each row's known answer, and whether the row is a control item: one with any known answer."""
        if self.golden is None:
            return pl.coalesce(column(data, f"{self.inputs}{name}") for name in CONTROL_FIELDS), None
        golden = [pl.col(name).is_not_null() for name in data.columns if name.startswith(self.golden)]
        is_control = pl.any_horizontal(golden) if golden else pl.lit(value=False)
        return column(data, f"{self.golden}{answer.removeprefix(self.answers)}"), is_control


def _reason(state: pl.Expr, reasons: Mapping[str, str]) -> pl.Expr:
    if _ANY in reasons:
        return pl.when(state.is_not_null()).then(pl.lit(reasons[_ANY]))
    return state.str.to_uppercase().replace_strict(reasons, default=None, return_dtype=pl.String)


# Dialogues of ABC Elementary

#: "answer_2" in an answer means the second choice of the turn.
_CHOICE: Final = re.compile(r"(?:answer|choice|option)_(\w+)")


def _turns(table: Table, inputs: Sequence[str], answer: str) -> tuple[pl.DataFrame, dict[str, str]]:
    """Split each person's row into one row per turn, if one input and the answers are lists."""
    data, renamed = table.data, dict[str, str]()
    lists = [name for name in (*inputs, answer) if _begins_a_list(data[name])]
    if len(lists) != 2 or lists[1] != answer:
        return data, renamed
    asked, golden = lists[0], f"GOLDEN:{answer.removeprefix('OUTPUT:')}"
    fields: dict[str, None] = {}
    rows: list[dict[str, object]] = []
    others = [name for name in data.columns if name not in {asked, answer} and not name.startswith("GOLDEN:")]
    for record in data.iter_rows(named=True):
        shared = {name: record[name] for name in others}
        if record[asked] is None or record[answer] is None:
            rows.append({**shared, answer: None})
            continue
        for turn, texts, reply, known in _pairs(record[asked], record[answer], table.file, record[ROW]):
            fields.update(dict.fromkeys(texts))
            kept = _choice(reply, texts)
            if reply is not None and kept is not None and kept != reply:
                renamed[reply] = kept
            told = {"INPUT:turn": str(turn), **{f"INPUT:{name}": text for name, text in texts.items()}}
            rows.append({**shared, **told, answer: kept, golden: _choice(known, texts)})
    names = [*others, "INPUT:turn", *(f"INPUT:{name}" for name in fields), answer, golden]
    schema = {name: pl.UInt32 if name == ROW else pl.String for name in names}
    return pl.DataFrame(rows, schema=schema), renamed


def _begins_a_list(texts: pl.Series) -> bool:
    first = texts.drop_nulls().head(1).to_list()
    return bool(first) and first[0].lstrip().startswith("[")


def _pairs(
    asked: str, answered: str, file: str, row: int
) -> Iterator[tuple[int, dict[str, str], str | None, str | None]]:
    """Yield (turn, its texts, the answer, the gold answer of a control turn) for one person's dialogue."""
    turns, replies = _list(asked, file, row, "INPUT"), _list(answered, file, row, "OUTPUT")
    if len(turns) != len(replies):
        what = f"the dialogue has {len(turns)} turns and {len(replies)} answers"
        raise InputError(what, file=file, row=row, field="OUTPUT")
    for place, (turn, reply) in enumerate(zip(turns, replies, strict=True), start=1):
        if not isinstance(turn, dict):
            raise InputError(
                f"turn {place} of the dialogue is not an object", file=file, row=row, field="INPUT"
            )
        texts = {
            name: json_text(value) or "" for name, value in turn.items() if name not in {"golden", "gold"}
        }
        value = reply.get("answer") if isinstance(reply, dict) else reply
        yield place, texts, json_text(value), json_text(turn.get("golden", turn.get("gold")))


def _list(text: str, file: str, row: int, name: str) -> list[Json]:
    value = _parsed(text, file, row, name)
    if not isinstance(value, list):
        raise InputError("is not a list of turns", file=file, row=row, field=name)
    return value


def _parsed(text: str, file: str, row: int, name: str) -> Json:
    try:
        return parse_json(text, file=file, row=row)
    except InputError as error:
        raise InputError(error.message, file=file, row=row, field=name) from None


def _choice(reply: str | None, texts: Mapping[str, str]) -> str | None:
    """Convert `answer_2` to `2` if the turn offers a choice of that name."""
    match = _CHOICE.fullmatch(reply) if reply is not None and reply in texts else None
    return match.group(1) if match else reply


# Answers of Mechanical Turk

_ALL_ANSWERS: Final = "Answer.taskAnswers"


def questions_of(table: Table) -> pl.DataFrame:
    """Return a batch of Mechanical Turk with one column `Answer.NAME` for each question.

    Whatever form the answers are in.

    Raises:
        InputError: `Answer.taskAnswers` is not valid JSON.
    """
    data = table.data
    if _ALL_ANSWERS in data.columns:
        records = [
            _answers(text, table.file, row) if text is not None else {}
            for row, text in enumerate(data[_ALL_ANSWERS], start=table.first_row)
        ]
        found = {
            f"Answer.{name}": pl.Series([record.get(name) for record in records], dtype=pl.String)
            for name in dict.fromkeys(name for record in records for name in record)
        }
        data = data.drop(_ALL_ANSWERS).with_columns(**found)
    groups: dict[str, list[str]] = {}
    for name in data.columns:
        stem, _, option = name.removeprefix("Answer.").partition(".")
        if name.startswith("Answer.") and stem and option:
            groups.setdefault(f"Answer.{stem}", []).append(name)
    for question, names in groups.items():
        # True and false in `Answer.toxic.yes` and `Answer.toxic.no` become `Answer.toxic`: one option or a JSON list.
        truth = all({*data[name].drop_nulls().str.to_lowercase()} <= {"true", "false"} for name in names)
        if len(names) < 2 or question in data.columns or not truth:
            continue
        options = [
            pl.when(pl.col(name).str.to_lowercase() == "true").then(pl.lit(name.removeprefix(f"{question}.")))
            for name in names
        ]
        chosen = pl.concat_str(options, separator="\x1f", ignore_nulls=True).replace("", None)
        several = pl.concat_str(pl.lit('["'), chosen.str.replace_all("\x1f", '", "'), pl.lit('"]'))
        chosen = pl.when(chosen.str.contains("\x1f")).then(several).otherwise(chosen)
        data = data.with_columns(chosen.alias(question)).drop(names)
    return data


def _answers(text: str, file: str, row: int) -> dict[str, str | None]:
    """Convert `[{"sentiment": {"label": "Positive"}}]` to a dictionary of texts."""
    value = _parsed(text, file, row, _ALL_ANSWERS)
    answers: dict[str, str | None] = {}
    for part in value if isinstance(value, list) else [value]:
        if not isinstance(part, dict):
            raise InputError("is not a list of JSON objects", file=file, row=row, field=_ALL_ANSWERS)
        answers |= {name: _text(one) for name, one in part.items()}
    return answers


def _text(value: Json) -> str | None:
    """Convert the answer of a page element to text: a text, options with true and false, or a label."""
    if isinstance(value, dict):
        if value and all(isinstance(one, bool) for one in value.values()):
            return options_text([name for name, chosen in value.items() if chosen])
        if len(value) == 1 and next(iter(value)) in {"label", "labels"}:
            return _text(next(iter(value.values())))
    if isinstance(value, list) and all(isinstance(one, str) for one in value):
        return options_text(value)
    return (
        value
        if isinstance(value, str) and value
        else None
        if value in {None, ""}
        else json.dumps(value, ensure_ascii=False)
    )


# The declarations

_REJECTED: Final = "rejected"

TABLE_FORMS: Final[Mapping[str, TableForm]] = {
    "toloka": TableForm(
        inputs="INPUT:",
        answers="OUTPUT:",
        places={
            "respondent": "ASSIGNMENT:worker_id",
            "page": "ASSIGNMENT:assignment_id",
            "started": "ASSIGNMENT:started",
            "submitted": "ASSIGNMENT:submitted",
            "page_reward": "ASSIGNMENT:reward",
        },
        states={
            "ASSIGNMENT:status": {
                "REJECTED": _REJECTED, "ACTIVE": "not_submitted", "SKIPPED": "not_submitted", "EXPIRED": "not_submitted"
            }
        },
        currency="USD",
    ),
    "abc": TableForm(
        inputs="INPUT:",
        answers="OUTPUT:",
        places={
            "respondent": "ASSIGNMENT:worker_id",
            "page": "ASSIGNMENT:assignment_id",
            "started": "ASSIGNMENT:date_start",
            "submitted": "ASSIGNMENT:date_end",
            "page_seconds": "ASSIGNMENT:time_spent",
            "page_reward": "ASSIGNMENT:reward",
        },
        states=dict.fromkeys(
            ("ASSIGNMENT:status", "ACCEPT:verdict"), dict.fromkeys(("REJECTED", "DECLINED", "RETURNED"), _REJECTED)
        ),
        other_names={"ASSIGNMENT:user_id": "ASSIGNMENT:worker_id"},
        turns=_turns,
    ),
    "mturk": TableForm(
        inputs="Input.",
        answers="Answer.",
        places={
            "respondent": "WorkerId",
            "page": "AssignmentId",
            "started": "AcceptTime",
            "submitted": "SubmitTime",
            "page_seconds": "WorkTimeInSeconds",
            "page_reward": "Reward",
        },
        states={"AssignmentStatus": {"REJECTED": _REJECTED}, "Reject": {_ANY: _REJECTED}},
        golden=None,
        currency="USD",
        money_sign="$",
        laid_open=questions_of,
    ),
}  # fmt: skip
