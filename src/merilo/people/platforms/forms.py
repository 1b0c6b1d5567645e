"""The exports of Toloka, ABC Elementary, Mechanical Turk and Label Studio: a declaration of columns each."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

import polars as pl

from merilo.errors import InputError, UsageError, argument
from merilo.file_reading import Reading
from merilo.files import FileTable
from merilo.people.platforms import (
    CONTROL_FIELDS,
    PARSED,
    ROW,
    Export,
    column,
    export_of_columns,
    label_studio,
    numbered,
)
from merilo.people.platforms.loading import json_text, options_text
from merilo.settings import Platform
from merilo.strict_json import Json, parse_json
from merilo.wording import choices, listed

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
        laid_open: rewrites a table to one column per question, with the platform's prefixes.
        turns: splits the rows of whole dialogues.
        value: converts a text of the answer column.
        all_columns: whether every column of a file is needed, because names have no prefixes yet.
    """

    inputs: str
    answers: str
    places: Mapping[str, str]
    states: Mapping[str, Mapping[str, str]]
    other_names: Mapping[str, str] = field(default_factory=dict)
    golden: str | None = "GOLDEN:"
    currency: str | None = None
    laid_open: Callable[[FileTable, Reading], pl.DataFrame] | None = None
    turns: Callable[[FileTable, Sequence[str], str], pl.DataFrame] | None = None
    value: Callable[[str], str] | None = None
    all_columns: bool = False

    def wants(self, name: str) -> bool:
        """Check whether a column is needed."""
        prefixes = (self.inputs, self.answers, *([self.golden] if self.golden else []))
        return name.startswith(prefixes) or name in {*self.places.values(), *self.states, *self.other_names}

    def read(self, table: FileTable, reading: Reading) -> Export:
        """Read one export.

        Args:
            table: the file's text columns.
            reading: the columns that the user named; the answer's and those of `columns` are used.

        Raises:
            InputError: a required column is missing, or JSON in a cell is invalid.
            UsageError: there are several answer columns and the user chose none.
        """
        places: dict[str, str | None] = {**self.places, **named_places(reading, table)}
        data = numbered(table)
        if self.laid_open is not None:
            data = self.laid_open(replace(table, data=data), reading)
        data = data.select(
            name for name in data.columns if self.wants(name) or name == ROW or name in named_columns(reading)
        )
        who = str(places["respondent"])
        if who not in data.columns:
            data = data.rename({old: new for old, new in self.other_names.items() if old in data.columns})
        if who not in data.columns:
            raise UsageError(
                f"there is no column '{who}': name the column of annotators with {argument('annotator')} (choose "
                f"from: {listed(table.data.columns, 30)})",
                file=table.file,
            )
        if not self._fields(data):
            what = f"there is no such column (columns: {listed(table.data.columns)})"
            raise InputError(what, file=table.file, field=f"{self.inputs}*")
        answer = choose_answer(data, self.answers, next(iter(reading.answer), None), table.file)
        answers = tuple(name for name in data.columns if name.startswith(self.answers))
        if self.value is not None:
            data = data.with_columns(self._values(replace(table, data=data), answer))
        if self.turns is not None:
            data = self.turns(replace(table, data=data), self._fields(data), answer)
        known, is_control = self._known(data, answer)
        export = export_of_columns(
            table,
            data,
            {**places, "answer": answer},
            {name: name.removeprefix(self.inputs) for name in self._fields(data)},
            known,
            is_control=is_control,
            dropped=pl.coalesce(_reason(column(data, name), states) for name, states in self.states.items()),
        )
        # Only the prefixes of platforms are part of a column's name.
        shown = [name.removeprefix(label_studio.ANSWER) for name in (answer, *answers)]
        return replace(export, answer_field=shown[0], answer_fields=tuple(shown[1:]), currency=self.currency)

    def _fields(self, data: pl.DataFrame) -> list[str]:
        controls = [] if self.golden else [f"{self.inputs}{name}" for name in CONTROL_FIELDS]
        return [name for name in data.columns if name.startswith(self.inputs) and name not in controls]

    def _known(self, data: pl.DataFrame, answer: str) -> tuple[pl.Expr, pl.Expr | None]:
        """Return each row's known answer, and whether the row is a control item: one with any known answer."""
        if self.golden is None:
            return pl.coalesce(column(data, f"{self.inputs}{name}") for name in CONTROL_FIELDS), None
        golden = [pl.col(name).is_not_null() for name in data.columns if name.startswith(self.golden)]
        known = column(data, f"{self.golden}{answer.removeprefix(self.answers)}")
        return known, pl.any_horizontal(golden) if golden else pl.lit(value=False)

    def _values(self, table: FileTable, answer: str) -> pl.Series:
        values: list[str | None] = []
        for row, text in table.data.select(ROW, answer).iter_rows():
            try:
                values.append(None if text is None or self.value is None else self.value(text))
            except InputError as error:
                name = answer.removeprefix(self.answers)
                raise InputError(error.message, file=table.file, row=row, field=name) from None
        return pl.Series(answer, values, dtype=pl.String)


class SeveralAnswersError(UsageError):
    """A file has several answer columns and the user chose none.

    Attributes:
        names: the columns, without the platform's prefix.
    """

    def __init__(self, names: Sequence[str], file: str) -> None:
        super().__init__(
            f"there are several answer columns: name one with {argument('answer')} (choose from: {listed(names, 50)})",
            file=file,
        )
        self.names = tuple(names)


def choose_answer(data: pl.DataFrame, prefix: str, chosen: str | None, file: str) -> str:
    """Find the answer column among those with a platform's prefix: the user's choice, or the only one with answers.

    Raises:
        InputError: the file has no answer column.
        UsageError: there are several answer columns and the user chose none, or the chosen column is missing.
    """
    names = {name.removeprefix(prefix): name for name in data.columns if name.startswith(prefix)}
    if not names:
        raise InputError(f"there is no answer column ({prefix}...)", file=file)
    if chosen is not None:
        bare = chosen.removeprefix(prefix)
        if bare not in names:
            raise UsageError(f"there is no answer column '{chosen}' ({choices(bare, [*names])})", file=file)
        return names[bare]
    filled = [name for name in names.values() if data[name].null_count() < data.height]
    if len(filled) > 1:
        raise SeveralAnswersError([*names], file)
    return (filled or [*names.values()])[0]


def named_places(reading: Reading, table: FileTable) -> dict[str, str]:
    """Return the columns that a reading names in an export whose other columns have fixed names, by what they hold.

    Raises:
        UsageError: a column is missing, or what it holds has a fixed place in such exports.
    """
    fixed = [name for name in ("control", "score", "attempt", "skipped") if getattr(reading.columns, name)]
    if fixed:
        raise UsageError(
            f"exports of this platform have a fixed place for {listed(fixed)}: leave it out, or read them with "
            "'platform: table'",
            file=table.file,
            field=f"columns.{fixed[0]}",
        )
    places = {place: getattr(reading.columns, name) for place, (_, name) in PARSED.items()}
    places |= {"page": reading.columns.page, "arm": reading.columns.arm}
    places["respondent"] = next(iter(reading.annotator), None)
    for name in filter(None, places.values()):
        if name not in table.data.columns:
            what = f"there is no such column (columns: {listed(table.data.columns, 30)})"
            raise UsageError(what, file=table.file, field=name)
    return {place: name for place, name in places.items() if name}


def named_columns(reading: Reading) -> set[str]:
    """Return the columns besides inputs and answers that a reading names."""
    of_columns = reading.columns.model_dump(exclude={"score"}).values()
    return {*reading.annotator, *filter(None, of_columns)}


def _reason(state: pl.Expr, reasons: Mapping[str, str]) -> pl.Expr:
    if _ANY in reasons:
        return pl.when(state.is_not_null()).then(pl.lit(reasons[_ANY]))
    return state.str.to_uppercase().replace_strict(reasons, default=None, return_dtype=pl.String)


# Dialogues of ABC Elementary

#: "answer_2" in an answer means the second choice of the turn.
_CHOICE: Final = re.compile(r"(?:answer|choice|option)_(\w+)")


def _turns(table: FileTable, inputs: Sequence[str], answer: str) -> pl.DataFrame:
    """Split each person's row into one row per turn, if one input and the answers are lists."""
    data, golden = table.data, f"GOLDEN:{answer.removeprefix('OUTPUT:')}"
    first = {name: (data[name].drop_nulls().head(1).to_list() or [""])[0] for name in (*inputs, answer)}
    lists = [name for name, text in first.items() if text.lstrip().startswith("[")]
    if len(lists) != 2 or lists[1] != answer:
        return data
    asked = lists[0]
    others = [name for name in data.columns if name not in lists and not name.startswith("GOLDEN:")]
    rows: list[dict[str, object]] = []
    for record in data.iter_rows(named=True):
        shared = {name: record[name] for name in others}
        if record[asked] is None or record[answer] is None:
            rows.append({**shared, answer: None})
            continue
        for texts, reply, known in _pairs(record[asked], record[answer], table.file, record[ROW]):
            rows.append({**shared, **texts, answer: reply, golden: known})
    names = dict.fromkeys((*others, "INPUT:turn", *(name for row in rows for name in row), answer, golden))
    return pl.DataFrame(rows, schema={name: pl.UInt32 if name == ROW else pl.String for name in names})


def _pairs(
    asked: str, answered: str, file: str, row: int
) -> Iterator[tuple[dict[str, str], str | None, str | None]]:
    """Yield (inputs, the answer, the gold answer of a control turn) for each turn of one person's dialogue."""
    turns, replies = (_parsed(text, file, row, n) for text, n in ((asked, "INPUT"), (answered, "OUTPUT")))
    if not isinstance(turns, list) or not isinstance(replies, list):
        wrong = "OUTPUT" if isinstance(turns, list) else "INPUT"
        raise InputError("is not a list of turns", file=file, row=row, field=wrong)
    if len(turns) != len(replies):
        what = f"the dialogue has {len(turns)} turns and {len(replies)} answers"
        raise InputError(what, file=file, row=row, field="OUTPUT")
    for place, (turn, reply) in enumerate(zip(turns, replies, strict=True), start=1):
        if not isinstance(turn, dict):
            what = f"turn {place} of the dialogue is not an object"
            raise InputError(what, file=file, row=row, field="INPUT")
        texts = {name: json_text(v) or "" for name, v in turn.items() if name not in {"golden", "gold"}}
        value, known = reply.get("answer") if isinstance(reply, dict) else reply, turn.get("golden")
        # `answer_2` is `2` if the turn offers a choice of that name.
        answers = [
            match[1] if text in texts and (match := _CHOICE.fullmatch(text)) else text
            for text in (
                json_text(value) or "",
                json_text(turn.get("gold") if known is None else known) or "",
            )
        ]
        inputs = {f"INPUT:{name}": text for name, text in texts.items()}
        yield {"INPUT:turn": str(place), **inputs}, answers[0] or None, answers[1] or None


def _parsed(text: str, file: str, row: int, name: str) -> Json:
    try:
        return parse_json(text, file=file, row=row)
    except InputError as error:
        raise InputError(error.message, file=file, row=row, field=name) from None


# Answers of Mechanical Turk

_ALL_ANSWERS: Final = "Answer.taskAnswers"


def questions_of(table: FileTable, _reading: Reading | None = None) -> pl.DataFrame:
    """Return a batch of Mechanical Turk with one column `Answer.NAME` for each question, and rewards as numbers.

    Raises:
        InputError: `Answer.taskAnswers` is not valid JSON.
    """
    data = table.data.with_columns(pl.col(r"^Reward$").str.strip_chars().str.strip_prefix("$"))
    if _ALL_ANSWERS in data.columns:
        records = [
            _answers(text, table.file, row) if text is not None else {}
            for row, text in enumerate(data[_ALL_ANSWERS], start=table.first_row)
        ]
        names = dict.fromkeys(name for record in records for name in record)
        columns = [
            pl.Series(f"Answer.{name}", [record.get(name) for record in records], pl.String) for name in names
        ]
        data = data.drop(_ALL_ANSWERS).with_columns(columns)
    groups: dict[str, list[str]] = {}
    for name in data.columns:
        stem, _, option = name.removeprefix("Answer.").partition(".")
        if name.startswith("Answer.") and stem and option:
            groups.setdefault(f"Answer.{stem}", []).append(name)
    for question, several in groups.items():
        # True and false in `Answer.toxic.yes` and `Answer.toxic.no` become `Answer.toxic`: one option or a JSON list.
        truth = all({*data[name].drop_nulls().str.to_lowercase()} <= {"true", "false"} for name in several)
        if len(several) > 1 and question not in data.columns and truth:
            options = [name.removeprefix(f"{question}.") for name in several]
            rows = data.select(pl.col(several).str.to_lowercase() == "true").rows()
            chosen = [[name for name, mark in zip(options, row, strict=True) if mark] for row in rows]
            texts = pl.Series(question, map(options_text, chosen), dtype=pl.String)
            data = data.with_columns(texts).drop(several)
    return data


def _answers(text: str, file: str, row: int) -> dict[str, str | None]:
    """Convert `[{"sentiment": {"label": "Positive"}}]` to a dictionary of texts."""
    value = _parsed(text, file, row, _ALL_ANSWERS)
    answers: dict[str, str | None] = {}
    for part in value if isinstance(value, list) else [value]:
        if not isinstance(part, dict):
            raise InputError("is not a list of JSON objects", file=file, row=row, field=_ALL_ANSWERS)
        answers |= {name: _text(element) for name, element in part.items()}
    return answers


def _text(value: Json) -> str | None:
    """Convert the answer of a page element to text: a text, options with true and false, or a label."""
    if isinstance(value, dict):
        if value and all(isinstance(mark, bool) for mark in value.values()):
            return options_text([name for name, chosen in value.items() if chosen])
        if len(value) == 1 and next(iter(value)) in {"label", "labels"}:
            return _text(next(iter(value.values())))
    if isinstance(value, list) and all(isinstance(part, str) for part in value):
        return options_text(value)
    return json_text(value)


# The declarations

_REJECTED: Final = "rejected"

TABLE_FORMS: Final[Mapping[Platform, TableForm]] = {
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
        laid_open=questions_of,
    ),
    "label-studio": TableForm(
        inputs=label_studio.INPUT,
        answers=label_studio.ANSWER,
        places={
            "respondent": "annotator",
            "page": "annotation_id",
            "submitted": "created_at",
            "page_seconds": "lead_time",
        },
        states={label_studio.CANCELLED: {_ANY: "not_submitted"}},
        golden=None,
        laid_open=label_studio.laid_open,
        value=label_studio.plain_value,
        all_columns=True,
    ),
}  # fmt: skip
