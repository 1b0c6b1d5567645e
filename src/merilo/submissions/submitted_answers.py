"""The answers to one dataset in a submission, and the benchmark's twelve kinds of errors in them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from merilo.datasets import Dataset
from merilo.errors import InputError
from merilo.items import Item, ItemId
from merilo.metrics.answers import AnswerError, Given, read_answer
from merilo.strict_json import Json, parse_json
from merilo.submissions.archive import shown
from merilo.text import Given as GivenText
from merilo.text import Text, joined

#: Kind -> its message; each error fills in `{what}`.
_SENTENCES: Final = {
    "unreadable_zip": Text("the archive is refused: {what}"),
    "no_task": Text("the archive has no file {what} with answers to this dataset"),
    "extension": Text("the file {what} has the wrong extension: it must end in .json"),
    "unreadable_file": Text("the file cannot be read: {what}"),
    "no_data_field": Text("the file has no field 'data' with a dictionary of splits"),
    "no_split": Text("the field 'data' has no list 'test'"),
    "no_outputs_field_for_doc": Text("the answer has no field 'outputs'"),
    "no_meta_field_for_doc": Text("the answer has no dictionary 'meta'"),
    "no_id_field_for_doc": Text("'meta' does not identify the item: {what}"),
    "no_id": Text("there is no answer to item {what}"),
    "doc_output_type_error": Text("the answer is of the wrong type: {what}"),
    "doc_parse_output_error": Text("the answer cannot be read: {what}"),
}

#: All kinds, in the order of the checks.
KINDS: Final = tuple(_SENTENCES)

#: At most this many errors of a dataset are listed; further errors are only counted.
MAX_LISTED: Final = 1000

#: Every JSON value follows one of these characters; their count bounds the memory that parsing takes.
MAX_VALUES: Final = 3_000_000


@dataclass(frozen=True, slots=True)
class Fault:
    """One error of a submission.

    Attributes:
        kind: the error's name in the benchmark.
        what: what the message names: a file, an item, a reason.
        position: the place of the answer in `data.test`, from 0.
        turn: the place in the dialogue, from 0, if answers are grouped by dialogue.
        id: the item, if it is known.
    """

    kind: str
    what: Text | str = ""
    position: int | None = None
    turn: int | None = None
    id: ItemId | None = None

    @property
    def message(self) -> Text:
        """What is wrong, a sentence."""
        return Text(_SENTENCES[self.kind].english, what=self.what)

    @property
    def path(self) -> str | None:
        """The JSON path of the answer: `data.test[3]`, `data.test[0][17]`."""
        if self.position is None:
            return None
        turn = "" if self.turn is None else f"[{self.turn}]"
        return f"data.test[{self.position}]{turn}"

    @property
    def line(self) -> Text:
        """The error as one line of text.

        Example:
            >>> Fault("no_id", "17", id=17).line.en
            'no_id: there is no answer to item 17'
        """
        return joined([f"{self.kind}:", f"{self.path}:" if self.path else "", self.message])

    def content(self) -> dict[str, Json]:
        """Return the error as JSON."""
        place = {"position": self.position, "turn": self.turn, "id": self.id, "path": self.path}
        known = {key: value for key, value in place.items() if value is not None}
        return {"type": self.kind, **known, "message": {"ru": self.message.ru, "en": self.message.en}}


@dataclass(slots=True)
class Answers:
    """A submission's answers to one dataset.

    Attributes:
        given: item id -> answer, for the answers that could be read.
        faults: what is wrong, in the order of the file, missing items last; at most `MAX_LISTED`.
        fault_count: how many faults there are.
        unknown: how many answers match no item of the test; they are left out.
    """

    given: dict[ItemId, Given] = field(default_factory=dict)
    faults: list[Fault] = field(default_factory=list)
    fault_count: int = 0
    unknown: int = 0

    def with_fault(
        self,
        kind: str,
        what: Text | str = "",
        position: int | None = None,
        turn: int | None = None,
        item: ItemId | None = None,
    ) -> Answers:
        """Add a fault."""
        self.fault_count += 1
        if len(self.faults) < MAX_LISTED:
            self.faults.append(Fault(kind, what, position, turn, item))
        return self


def parse_file(content: bytes, file: str) -> tuple[Json, Text | None]:
    """Parse a file of a submission in bounded memory: strict JSON in UTF-8.

    Returns:
        (the JSON, `None`), or (`None`, why the file cannot be read).
    """
    if sum(map(content.count, (b"{", b"[", b",", b":"))) > MAX_VALUES:
        return None, Text("it has too many values")
    try:
        return parse_json(content.decode("utf-8-sig"), file=file), None
    except UnicodeDecodeError as error:
        return None, Text("it is not UTF-8 text (byte {byte})", byte=error.start + 1)
    except InputError as error:
        # The decoder explains more, but only in English.
        return None, GivenText({"en": f"it {error.message}", "ru": _why_not_json(error).ru})


def _why_not_json(error: InputError) -> Text:
    match error.__cause__:
        case json.JSONDecodeError() as cause:
            return Text(
                "it is not strict JSON: error in line {line}, column {column}",
                line=cause.lineno,
                column=cause.colno,
            )
        case UnicodeEncodeError():
            return Text("it is not strict JSON: unpaired surrogate")
        case RecursionError():
            return Text("it is not strict JSON: nested too deeply")
    return Text("it is not strict JSON: NaN, infinity, a repeated key or a number that is too long")


def read_answers(content: Json, dataset: Dataset, items: Sequence[Item]) -> Answers:
    """Read the answers to one dataset and collect all errors.

    Args:
        content: what the file holds: `{"data": {"test": [{"outputs": ..., "meta": {"id": ...}}]}}`; ruTiE's turns may
            come as one list per dialogue, identified by `dialog_id` and `question_id`.
        dataset: the declaration.
        items: the items of the test.
    """
    answers, seen, nameless = Answers(), set[ItemId](), 0
    data = content.get("data") if isinstance(content, dict) else None
    if not isinstance(data, dict):
        return answers.with_fault("no_data_field")
    documents = data.get("test")
    if not isinstance(documents, list):
        return answers.with_fault("no_split")
    in_turns = dataset.shots.earlier_turns
    known = {str(item.id): item.id for item in items}
    if in_turns:
        known |= {name: item.id for item in items if (name := _turn(item.meta)) is not None}
    for position, turn, document in _documents(documents, in_turns=in_turns):
        entry = document if isinstance(document, dict) else {}
        if "outputs" not in entry:
            answers.with_fault("no_outputs_field_for_doc", "", position, turn)
        name = _name(answers, document, position, turn, in_turns=in_turns)
        if name is None:
            nameless += 1
        elif (item := known.get(name)) is None:
            answers.unknown += 1
        elif item in seen:
            twice = Text("this item already has an answer")
            answers.with_fault("doc_parse_output_error", twice, position, turn, item)
        else:
            seen.add(item)
            try:
                if "outputs" in entry:
                    answers.given[item] = read_answer(dataset.answer, entry["outputs"])
            except AnswerError as error:
                kind = "doc_output_type_error" if error.of_type else "doc_parse_output_error"
                answers.with_fault(kind, error.reason, position, turn, item)
    missing = [item.id for item in items if item.id not in seen]
    # Answers whose item is unknown are reported already; do not report their items as missing too.
    for missed in missing if len(missing) > nameless else ():
        answers.with_fault("no_id", shown(str(missed)), None, None, missed)
    return answers


def _documents(documents: Sequence[Json], *, in_turns: bool) -> Iterator[tuple[int, int | None, Json]]:
    """Yield each document with its position and its turn in a dialogue."""
    for position, entry in enumerate(documents):
        if in_turns and isinstance(entry, list):
            yield from ((position, turn, document) for turn, document in enumerate(entry))
        else:
            yield position, None, entry


def _name(answers: Answers, document: Json, position: int, turn: int | None, *, in_turns: bool) -> str | None:
    """Return the id of a document's item as text; `None`, with a fault, without one."""
    if not isinstance(document, dict):
        return None
    if not isinstance(meta := document.get("meta"), dict):
        answers.with_fault("no_meta_field_for_doc", "", position, turn)
        return None
    if (number := meta.get("id")) is not None:
        return str(number)
    if in_turns and (name := _turn(meta)) is not None:
        return name
    fields = "id | dialog_id, question_id" if in_turns else "id"
    answers.with_fault("no_id_field_for_doc", fields, position, turn)
    return None


def _turn(meta: Mapping[str, Json]) -> str | None:
    if "dialog_id" not in meta or "question_id" not in meta:
        return None
    return f"{meta['dialog_id']}/{meta['question_id']}"
