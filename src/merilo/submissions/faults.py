"""The benchmark's twelve kinds of submission errors, with their locations and messages in two languages."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from merilo.bilingual import Language
from merilo.items import ItemId
from merilo.strict_json import Json

Kind: TypeAlias = Literal[
    "unreadable_zip",
    "no_task",
    "extension",
    "unreadable_file",
    "no_data_field",
    "no_split",
    "no_outputs_field_for_doc",
    "no_meta_field_for_doc",
    "no_id_field_for_doc",
    "no_id",
    "doc_output_type_error",
    "doc_parse_output_error",
]

#: Kind -> its message in Russian and English. Each fault fills in `{what}`.
_SENTENCES: Final[dict[Kind, tuple[str, str]]] = {
    "unreadable_zip": ("архив не принят: {what}", "the archive is refused: {what}"),
    "no_task": (
        "в архиве нет файла {what} с ответами на этот датасет",
        "the archive has no file {what} with answers to this dataset",
    ),
    "extension": (
        "у файла {what} не то расширение: нужно .json",
        "the file {what} has the wrong extension: it must end in .json",
    ),
    "unreadable_file": ("файл не читается: {what}", "the file cannot be read: {what}"),
    "no_data_field": (
        "в файле нет поля «data» со словарём сплитов",
        "the file has no field 'data' with a dictionary of splits",
    ),
    "no_split": ("в поле «data» нет списка «test»", "the field 'data' has no list 'test'"),
    "no_outputs_field_for_doc": ("у ответа нет поля «outputs»", "the answer has no field 'outputs'"),
    "no_meta_field_for_doc": ("у ответа нет словаря «meta»", "the answer has no dictionary 'meta'"),
    "no_id_field_for_doc": (
        "в «meta» нет идентификатора вопроса: {what}",
        "'meta' does not identify the item: {what}",
    ),
    "no_id": ("нет ответа на вопрос {what}", "there is no answer to item {what}"),
    "doc_output_type_error": ("ответ не того типа: {what}", "the answer is of the wrong type: {what}"),
    "doc_parse_output_error": ("ответ не удалось разобрать: {what}", "the answer cannot be read: {what}"),
}

#: At most this many errors of a dataset are listed; further errors are only counted.
MAX_LISTED: Final = 1000

#: All kinds, in the order of the checks.
KINDS: Final = tuple(_SENTENCES)


@dataclass(frozen=True, slots=True)
class Message:
    """A sentence in both languages.

    Attributes:
        ru: in Russian.
        en: in English.
    """

    ru: str
    en: str

    def told(self, language: Language) -> str:
        """Return the sentence in the given language."""
        return self.ru if language == "ru" else self.en


@dataclass(frozen=True, slots=True)
class Fault:
    """One error of a submission.

    Attributes:
        kind: the error's name in the benchmark.
        message: what is wrong, a sentence.
        position: the place of the answer in `data.test`, from 0.
        turn: the place in the dialogue, from 0, if answers are grouped by dialogue.
        id: the item, if it is known.
    """

    kind: Kind
    message: Message
    position: int | None = None
    turn: int | None = None
    id: ItemId | None = None

    @property
    def path(self) -> str | None:
        """The JSON path of the answer: `data.test[3]`, `data.test[0][17]`."""
        if self.position is None:
            return None
        turn = "" if self.turn is None else f"[{self.turn}]"
        return f"data.test[{self.position}]{turn}"

    def told(self, language: Language) -> str:
        """Return the error as one line of text."""
        where = f"{self.path}: " if self.path else ""
        return f"{self.kind}: {where}{self.message.told(language)}"

    def content(self) -> dict[str, Json]:
        """Return the error as JSON."""
        message: dict[str, Json] = {"ru": self.message.ru, "en": self.message.en}
        content: dict[str, Json] = {
            "type": self.kind,
            "position": self.position,
            "turn": self.turn,
            "id": self.id,
            "path": self.path,
            "message": message,
        }
        return {key: value for key, value in content.items() if value is not None}


class Faults:
    """The errors of one dataset: the first `MAX_LISTED` errors, and the count of all.

    Attributes:
        listed: the first `MAX_LISTED` errors.
        count: how many errors there are.
    """

    def __init__(self, *listed: Fault) -> None:
        self.listed: list[Fault] = list(listed)
        self.count = len(listed)

    def note(
        self,
        kind: Kind,
        ru: str = "",
        en: str = "",
        *,
        position: int | None = None,
        turn: int | None = None,
        id: ItemId | None = None,  # noqa: A002 - the benchmark's own word
    ) -> None:
        """Add an error; the arguments are those of `fault`."""
        self.count += 1
        if len(self.listed) < MAX_LISTED:
            self.listed.append(fault(kind, ru, en, position=position, turn=turn, id=id))


def fault(
    kind: Kind,
    ru: str = "",
    en: str = "",
    *,
    position: int | None = None,
    turn: int | None = None,
    id: ItemId | None = None,  # noqa: A002 - the benchmark's own word
) -> Fault:
    """Make a fault; the texts replace `{what}` in the kind's message.

    Example:
        >>> fault("no_id", "17", "17", id=17).told("en")
        'no_id: there is no answer to item 17'
    """
    russian, english = _SENTENCES[kind]
    return Fault(
        kind, Message(russian.replace("{what}", ru), english.replace("{what}", en)), position, turn, id
    )
