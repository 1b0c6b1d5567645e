"""Read the answers to one dataset in a submission and report all errors."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from merilo.datasets import Dataset
from merilo.errors import InputError
from merilo.items import Item, ItemId
from merilo.metrics.answers import AnswerContentError, AnswerTypeError, Given, kind_of, read_answer
from merilo.strict_json import Json, parse_json
from merilo.submissions.archive import shown
from merilo.submissions.faults import Fault, Faults, fault

#: Every JSON value follows one of these characters; their count bounds the memory that parsing takes.
MAX_VALUES: Final = 3_000_000

#: A document, its position in `data.test`, and its place in a dialogue.
_Document: TypeAlias = "tuple[Json, int, int | None]"


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
    def refused(cls, found: Fault) -> Answers:
        """Make a result without answers, with one fault as the reason."""
        return cls({}, (found,), 1)


def parse_file(content: bytes, file: str) -> tuple[Json, Fault | None]:
    """Parse a file of a submission in bounded memory: strict JSON in UTF-8.

    Returns:
        (the JSON, `None`), or (`None`, the fault) if the file cannot be read.
    """
    if sum(map(content.count, (b"{", b"[", b",", b":"))) > MAX_VALUES:
        return None, fault("unreadable_file", "в нём слишком много значений", "it has too many values")
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        return None, fault(
            "unreadable_file",
            f"это не текст в UTF-8 (байт {error.start + 1})",
            f"it is not UTF-8 text (byte {error.start + 1})",
        )
    try:
        return parse_json(text, file=file), None
    except InputError as error:
        return None, fault("unreadable_file", f"это не строгий JSON: {_reason(error)}", f"it {error.message}")


def _reason(error: InputError) -> str:
    """Return in Russian why `parse_json` failed."""
    match error.__cause__:
        case json.JSONDecodeError() as found:
            return f"ошибка в строке {found.lineno}, столбец {found.colno}"
        case UnicodeEncodeError():
            return "половина суррогатной пары"
        case RecursionError():
            return "слишком глубокая вложенность"
        case _:
            return "NaN, бесконечность, повторённый ключ или слишком длинное число"


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
        return Answers.refused(fault("no_data_field"))
    documents = data.get("test")
    if not isinstance(documents, list):
        return Answers.refused(fault("no_split"))
    reader = _Reader(dataset, items)
    for document in _documents(documents, in_dialogues=dataset.shots.earlier_turns):
        reader.take(*document)
    return reader.answers()


def _documents(entries: list[Json], *, in_dialogues: bool) -> Iterator[_Document]:
    for position, entry in enumerate(entries):
        if in_dialogues and isinstance(entry, list):
            yield from ((turn, position, number) for number, turn in enumerate(entry))
        else:
            yield entry, position, None


class _Reader:
    """Reader of answer documents, one at a time."""

    def __init__(self, dataset: Dataset, items: Sequence[Item]) -> None:
        self._dataset = dataset
        self._items = items
        self._known = {str(item.id): item.id for item in items}
        if dataset.shots.earlier_turns:
            self._known.update(
                {turn: item.id for item in items if (turn := _turn(dict(item.meta))) is not None}
            )
        self._given: dict[ItemId, Given] = {}
        self._seen: set[ItemId] = set()
        self._faults = Faults()
        self._nameless = 0
        self._unknown = 0

    def take(self, document: Json, position: int, turn: int | None) -> None:
        """Read one document and note its faults, without raising an error."""
        if not isinstance(document, dict):
            self._faults.note("no_outputs_field_for_doc", position=position, turn=turn)
            self._nameless += 1
            return
        if "outputs" not in document:
            self._faults.note("no_outputs_field_for_doc", position=position, turn=turn)
        meta = document.get("meta")
        if not isinstance(meta, dict):
            self._faults.note("no_meta_field_for_doc", position=position, turn=turn)
            self._nameless += 1
            return
        name = self._name(meta)
        if name is None:
            fields = "id" if not self._dataset.shots.earlier_turns else "id | dialog_id, question_id"
            self._faults.note("no_id_field_for_doc", fields, fields, position=position, turn=turn)
            self._nameless += 1
            return
        item = self._known.get(name)
        if item is None:
            self._unknown += 1
        elif item in self._seen:
            self._faults.note(
                "doc_parse_output_error",
                "на этот вопрос уже есть ответ",
                "this item already has an answer",
                position=position,
                turn=turn,
                id=item,
            )
        else:
            self._seen.add(item)
            if "outputs" in document:
                self._read(document["outputs"], item, position, turn)

    def answers(self) -> Answers:
        """Return the answers read, and report missing items."""
        missing = [item.id for item in self._items if item.id not in self._seen]
        # Answers whose item is unknown are reported already; do not report their items as missing too.
        if len(missing) > self._nameless:
            for id_ in missing:
                self._faults.note("no_id", shown(str(id_)), shown(str(id_)), id=id_)
        return Answers(self._given, tuple(self._faults.listed), self._faults.count, self._unknown)

    def _name(self, meta: dict[str, Json]) -> str | None:
        if (number := meta.get("id")) is not None:
            return str(number)
        return _turn(meta) if self._dataset.shots.earlier_turns else None

    def _read(self, outputs: Json, item: ItemId, position: int, turn: int | None) -> None:
        try:
            self._given[item] = read_answer(self._dataset.answer, outputs)
        except AnswerTypeError as error:
            kind = f"{_EXPECTED[self._dataset.answer.kind]}, а не {_RUSSIAN_KINDS[kind_of(outputs)]}"
            self._faults.note(
                "doc_output_type_error",
                f"нужно: {kind}",
                str(error),
                position=position,
                turn=turn,
                id=item,
            )
        except AnswerContentError as error:
            rule = _CONTENT[self._dataset.answer.kind]
            self._faults.note(
                "doc_parse_output_error", rule, str(error), position=position, turn=turn, id=item
            )


def _turn(meta: dict[str, Json]) -> str | None:
    if "dialog_id" not in meta or "question_id" not in meta:
        return None
    return f"{meta['dialog_id']}/{meta['question_id']}"


_EXPECTED: Final = {
    "choice": "строка",
    "integer": "строка",
    "text": "строка",
    "criteria": "словарь по критериям",
    "program": "список генераций",
}
_RUSSIAN_KINDS: Final = {
    "true or false": "логическое значение",
    "a number": "число",
    "a text": "строка",
    "a list": "список",
    "a dictionary": "словарь",
    "null": "null",
}
_CONTENT: Final = {
    "criteria": "нужны все критерии, у каждого — «0» или «1»",
    "program": "нужна хотя бы одна генерация, и каждая — список строк и null, по одному на тест",
}
