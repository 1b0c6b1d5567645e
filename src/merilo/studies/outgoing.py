"""The data of a study for a platform, before they are written in its format."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Final, Literal, TypeAlias

from merilo.bilingual import Language
from merilo.datasets.rendering import Media
from merilo.studies.study_tasks import AnswerForm, StudyTask, common_form, interleaved

MediaKind: TypeAlias = Literal["image", "audio", "video"]

#: The fields of a task that hold the study's id and the task's id. Not `id`: Label Studio writes its own number there.
STUDY: Final = "study"
TASK: Final = "task"
#: The fields of an answer on every platform: the answer, and the mark "I may have written this question" beside it.
ANSWER: Final = "answer"
MINE: Final = "mine"

#: The pattern of the answers of a form, as JavaScript and Python read it.
PATTERNS: Final[Mapping[AnswerForm, str]] = {
    "number": r"\s*(?:-|−|–)?\d+([.,]\d+)?\s*",
    "set": r"\s*\d+(\s*,\s*\d+)*\s*",
    "matching": r"\s*\d+(\s*,\s*\d+)*\s*",
}

_SUFFIXES: Final[Mapping[str, MediaKind]] = {
    **dict.fromkeys((".mp3", ".wav", ".ogg", ".flac", ".m4a"), "audio"),
    **dict.fromkeys((".mp4", ".webm", ".mov", ".avi"), "video"),
}

#: Short texts of a page of tasks.
WORDS: Final[Mapping[Language, Mapping[str, str]]] = {
    "ru": {
        "instruction": "Инструкция",
        "answer": "Ответ",
        "choose": "Выберите ответ",
        "send": "Отправить",
        "training": "Тренировочные задания",
        "show": "Показать правильный ответ",
        "right": "Правильный ответ: {}",
        "limit": "На одно задание даётся не более {} с.",
        "mine": "Если вы хотя бы подозреваете, что вопрос придумали вы, обязательно выберите «{}».",
    },
    "en": {
        "instruction": "Instruction",
        "answer": "Answer",
        "choose": "Choose an answer",
        "send": "Submit",
        "training": "Training tasks",
        "show": "Show the right answer",
        "right": "The right answer: {}",
        "limit": "The time limit is {} s for a task.",
        "mine": "If you have the slightest suspicion that you wrote a question yourself, you must choose “{}”.",
    },
}


@dataclass(frozen=True, kw_only=True)
class Outgoing:
    """The tasks of a study for one group of annotators, or for one expert.

    Attributes:
        study: the study's id, which every task carries.
        title: the name of the project on the platform.
        language: the language of the instruction and of the page.
        instruction: the instruction as HTML without scripts.
        tests: the items of the test.
        controls: the control items.
        training: the training items.
        page: tasks on a page.
        reward: the pay for a page; `None` if it is not decided.
        time_limit: seconds for a task; `None` without a limit.
        mine: the text of the option "skip the question, because I may have written it"; empty without the option.
        media_url: the address of the folder `samples/`; empty if media keep their paths.
        respondent: the expert whom the sheet is for; empty if anybody may answer.
    """

    study: str
    title: str
    language: Language
    instruction: str
    tests: tuple[StudyTask, ...]
    controls: tuple[StudyTask, ...] = ()
    training: tuple[StudyTask, ...] = ()
    page: int = 1
    reward: float | None = None
    time_limit: float | None = None
    mine: str = ""
    media_url: str = ""
    respondent: str = ""

    @cached_property
    def mixed(self) -> list[StudyTask]:
        """The items of the test with control items between them at regular intervals; a dialogue is not interrupted."""
        return list(self.tests) if self.dialogue else interleaved(self.tests, self.controls)

    @cached_property
    def dialogue(self) -> bool:
        """Whether the items are turns of dialogues, which one person answers in order."""
        return any(task.dialogue for task in self.tests)

    @cached_property
    def form(self) -> AnswerForm:
        """The form of answer that the interface offers."""
        return common_form([*self.tests, *self.controls])

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """The labels to choose from, with the option "may be mine" at the end; empty for open answers."""
        if self.form != "labels":
            return ()
        labels = tuple(dict.fromkeys(label for task in self.tests for label in task.labels))
        return (*labels, self.mine) if self.mine else labels

    @cached_property
    def media(self) -> dict[str, MediaKind]:
        """The media fields of the tasks: field -> kind."""
        return {
            one.field: media_kind(one.path)
            for task in (*self.tests, *self.controls, *self.training)
            for one in task.media
        }

    def word(self, name: str, *values: object) -> str:
        """A short text in the page's language."""
        return WORDS[self.language][name].format(*values)

    def shown(self, task: StudyTask) -> dict[str, str]:
        """The fields of a task that annotators see, by name: the ids, the prompt, the addresses of media."""
        there = {one.field: self.address(one) for one in task.media}
        return {
            STUDY: self.study,
            TASK: task.id,
            "prompt": task.prompt,
            **{f"media_{field}": there.get(field, "") for field in self.media},
        }

    def address(self, media: Media) -> str:
        """The address of a medium."""
        return f"{self.media_url.rstrip('/')}/{media.path}" if self.media_url else media.path


def media_kind(path: str) -> MediaKind:
    """Tell the kind of a medium by its file's name.

    Example:
        >>> media_kind("samples/1.WAV"), media_kind("samples/1.png")
        ('audio', 'image')
    """
    return next((kind for suffix, kind in _SUFFIXES.items() if path.lower().endswith(suffix)), "image")
