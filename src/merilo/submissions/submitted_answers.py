"""The answers to one dataset in a submission, and the benchmark's twelve kinds of errors in them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from merilo.datasets import Dataset
from merilo.errors import InputError
from merilo.items import Item, ItemId
from merilo.metrics.answers import AnswerContentError, AnswerTypeError, Given, read_answer
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


@dataclass(frozen=True, slots=True)
class Answers:
    """A submission's answers to one dataset.

    Attributes:
        given: item id -> answer, for the answers that could be read.
        faults: what is wrong, in the order of the file, missing items last; at most `MAX_LISTED`.
        fault_count: how many faults there are.
        unknown: how many answers match no item of the test; they are left out.
    """

    given: dict[ItemId, Given]
    faults: tuple[Fault, ...] = ()
    fault_count: int = 0
    unknown: int = 0

    @classmethod
    def refused(cls, fault: Fault) -> Answers:
        """Make a result without answers, with one fault as the reason."""
        return cls({}, (fault,), 1)


def parse_file(content: bytes, file: str) -> tuple[Json, Fault | None]:
    """Parse a file of a submission in bounded memory: strict JSON in UTF-8.

    Returns:
        (the JSON, `None`), or (`None`, the fault) if the file cannot be read.
    """
    if sum(map(content.count, (b"{", b"[", b",", b":"))) > MAX_VALUES:
        return None, Fault("unreadable_file", Text("it has too many values"))
    try:
        return parse_json(content.decode("utf-8-sig"), file=file), None
    except UnicodeDecodeError as error:
        encoded = Text("it is not UTF-8 text (byte {byte})", byte=error.start + 1)
        return None, Fault("unreadable_file", encoded)
    except InputError as error:
        # The decoder explains more, but only in English.
        explained = GivenText({"en": f"it {error.message}", "ru": _why_not_json(error).ru})
        return None, Fault("unreadable_file", explained)


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
    data = content.get("data") if isinstance(content, dict) else None
    if not isinstance(data, dict):
        return Answers.refused(Fault("no_data_field"))
    documents = data.get("test")
    if not isinstance(documents, list):
        return Answers.refused(Fault("no_split"))
    reader = _Reader(dataset, items)
    for position, entry in enumerate(documents):
        if dataset.shots.earlier_turns and isinstance(entry, list):
            for number, turn in enumerate(entry):
                reader.take(turn, position, number)
        else:
            reader.take(entry, position, None)
    return reader.answers()


class _Reader:
    """Reader of answer documents, one at a time."""

    def __init__(self, dataset: Dataset, items: Sequence[Item]) -> None:
        self._form = dataset.answer
        self._has_turns = dataset.shots.earlier_turns
        self._id_fields = "id | dialog_id, question_id" if self._has_turns else "id"
        self._items = items
        self._known = {str(item.id): item.id for item in items}
        if self._has_turns:
            self._known |= {turn: item.id for item in items if (turn := _turn(dict(item.meta))) is not None}
        self._given: dict[ItemId, Given] = {}
        self._seen: set[ItemId] = set()
        self._faults: list[Fault] = []
        self._fault_count = 0
        self._nameless = 0
        self._unknown = 0

    def take(self, document: Json, position: int, turn: int | None) -> None:
        """Read one document and note its faults, without raising an error."""
        place = position, turn
        if not isinstance(document, dict):
            self._note("no_outputs_field_for_doc", "", *place)
            self._nameless += 1
            return
        meta, name = document.get("meta"), None
        if "outputs" not in document:
            self._note("no_outputs_field_for_doc", "", *place)
        if not isinstance(meta, dict):
            self._note("no_meta_field_for_doc", "", *place)
        elif (name := self._name(meta)) is None:
            self._note("no_id_field_for_doc", self._id_fields, *place)
        if name is None:
            self._nameless += 1
        elif (item := self._known.get(name)) is None:
            self._unknown += 1
        elif item in self._seen:
            self._note("doc_parse_output_error", Text("this item already has an answer"), *place, item)
        else:
            self._seen.add(item)
            if "outputs" in document:
                try:
                    self._given[item] = read_answer(self._form, document["outputs"])
                except AnswerTypeError as error:
                    self._note("doc_output_type_error", error.reason, *place, item)
                except AnswerContentError as error:
                    self._note("doc_parse_output_error", error.reason, *place, item)

    def answers(self) -> Answers:
        """Return the answers read, and report missing items."""
        missing = [item.id for item in self._items if item.id not in self._seen]
        # Answers whose item is unknown are reported already; do not report their items as missing too.
        if len(missing) > self._nameless:
            for name in missing:
                self._note("no_id", shown(str(name)), item=name)
        return Answers(self._given, tuple(self._faults), self._fault_count, self._unknown)

    def _note(
        self,
        kind: str,
        what: Text | str,
        position: int | None = None,
        turn: int | None = None,
        item: ItemId | None = None,
    ) -> None:
        self._fault_count += 1
        if len(self._faults) < MAX_LISTED:
            self._faults.append(Fault(kind, what, position, turn, item))

    def _name(self, meta: dict[str, Json]) -> str | None:
        if (number := meta.get("id")) is not None:
            return str(number)
        return _turn(meta) if self._has_turns else None


def _turn(meta: dict[str, Json]) -> str | None:
    if "dialog_id" not in meta or "question_id" not in meta:
        return None
    return f"{meta['dialog_id']}/{meta['question_id']}"
