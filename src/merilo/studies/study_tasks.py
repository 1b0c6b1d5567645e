"""The items of a study as people are asked them, with the prompts that models get, and what files say of items."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from operator import itemgetter
from typing import Final, Literal, TypeAlias, TypeVar, cast

from merilo.datasets.declaration import Dataset
from merilo.datasets.rendering import (
    Media,
    offered_labels,
    option_fields,
    parts,
    render,
    shown_value,
    template,
)
from merilo.errors import DataError, argument
from merilo.items import Item
from merilo.strict_json import Json
from merilo.studies.item_fields import value_of
from merilo.studies.plan import Arm
from merilo.wording import listed

TaskKind: TypeAlias = Literal["test", "control", "training"]
AnswerForm: TypeAlias = Literal["labels", "number", "text", "set", "matching", "program"]

T = TypeVar("T")

MediaKind: TypeAlias = Literal["image", "audio", "video"]

#: Forms of answers to the questions of an exam, by the beginning of `meta.type`.
_EXAM_FORMS: Final[dict[str, AnswerForm]] = {"multiple_choice": "set", "matching": "matching"}


#: The fields of a task that hold the study's id and the task's id. Not `id`: Label Studio writes its own number there.
STUDY: Final = "study"
TASK: Final = "task"
#: The fields of an answer on every platform: the answer, and the mark "I may have written this question" beside it.
ANSWER: Final = "answer"
MINE: Final = "mine"
#: What a table says of a page; and of an answer, beside its task: tables to be filled in, of the site, and imported.
PAGE_FIELDS: Final = ("page", "started", "submitted", "seconds", "reward")
ANSWER_FIELDS: Final = ("respondent", ANSWER, *PAGE_FIELDS)

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


@dataclass(frozen=True, slots=True)
class Option:
    """An answer to choose from.

    Attributes:
        sign: what stands before it in the prompt, such as "A" or "Reply 1".
        text: what it says.
    """

    sign: str
    text: str


@dataclass(frozen=True, eq=False)
class StudyTask:
    r"""An item of a study as people are asked it; what they see is computed when it is first needed.

    Attributes:
        id: the task's id on every platform, which tells neither the item nor its kind.
        item: the item.
        kind: an item of the test, a control item or a training item.
        declared: the dataset.
        arm: the group of annotators; `None` if any.
        author_field: the field of `meta` that names the authors of an item; `None` if authorship is not known.

    Example:
        >>> from merilo.datasets import dataset
        >>> item = Item(1, "Balanced: {inputs}?", "( )", "1", {"id": 1})
        >>> task = StudyTask("8f0c", item, "test", dataset("bps"))
        >>> task.prompt, task.form, task.labels, task.known
        ('Balanced: ( )?', 'labels', ('0', '1'), None)
        >>> item = Item(1, "{premise}\n1. {choice1}\n2. {choice2}", {"premise": "A", "choice1": "B", "choice2": "C"})
        >>> StudyTask("91ab", item, "test", dataset("parus")).options
        (Option(sign='1', text='B'), Option(sign='2', text='C'))
    """

    id: str
    item: Item
    kind: TaskKind
    declared: Dataset
    arm: Arm | None = None
    author_field: str | None = None

    @cached_property
    def prompt(self) -> str:
        """The prompt, the same as that of models without shots; media are named in angle brackets."""
        return render(self.item, self.declared)

    @cached_property
    def media(self) -> tuple[Media, ...]:
        """The pictures, sounds and films of the prompt."""
        pieces = parts(self.item, self.declared) if self.declared.media else ()
        return tuple(dict.fromkeys(part for part in pieces if isinstance(part, Media)))

    @cached_property
    def form(self) -> AnswerForm:
        """What an answer looks like."""
        return form_of(self.item, self.declared)

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """The answers to choose from; empty for open answers."""
        return offered_labels(self.item, self.declared)

    @cached_property
    def _options(self) -> tuple[tuple[Option, ...], str]:
        return _listed_options(self)

    @property
    def options(self) -> tuple[Option, ...]:
        """The options in the order of their labels or numbers; empty if only the labels are known."""
        return self._options[0]

    @property
    def listed(self) -> str:
        """The piece of the prompt that lists the options; empty if it names them elsewhere."""
        return self._options[1]

    @cached_property
    def known(self) -> str | None:
        """The known answer of a control or training item, with all alternatives; `None` for an item of the test.

        Raises:
            DataError: the item has no single answer.
        """
        if self.kind == "test":
            return None
        answer = one_answer(self.item.outputs)
        if isinstance(answer, bool) or not isinstance(answer, str | int | float) or answer == "":
            raise DataError(f"the {self.kind} item {self.item.id!r} has no known answer", field="outputs")
        return str(answer).strip()

    @property
    def alternatives(self) -> str | None:
        """The separator of several known answers in `known`; `None` if it is one answer."""
        return alternatives_of(self.item, self.declared)

    @property
    def first_known(self) -> str | None:
        """The known answer that is shown; the first of several."""
        if self.known is None or self.alternatives is None:
            return self.known
        return self.known.split(self.alternatives, maxsplit=1)[0].strip()

    @property
    def hint(self) -> str | None:
        """What is said after a wrong answer to a training item."""
        hint = self.item.meta.get("hint")
        return hint if isinstance(hint, str) and self.kind == "training" else None

    @property
    def dialogue(self) -> int:
        """The number of the dialogue that the item is a turn of, from 1; 0 if it is no turn."""
        return _number(self.item, "dialog_id")

    @property
    def turn(self) -> int:
        """Its place in the dialogue, from 1; 0 if it is no turn."""
        return _number(self.item, "question_id")

    @property
    def authors(self) -> tuple[str, ...]:
        """Who wrote the item; empty if it is not known."""
        return authors_of(self.item, self.author_field)

    @property
    def domain(self) -> str:
        """The domain of the item; empty if the plan names no field of domains."""
        return domain_of(self.item, self.arm.domain if self.arm else None)

    @property
    def seconds(self) -> float | None:
        """The time limit; `None` without."""
        return self.arm.seconds_for(self.item) if self.arm else None


def _number(item: Item, field: str) -> int:
    value = item.meta.get(field)
    return value + 1 if isinstance(value, int) else 0


def form_of(item: Item, declared: Dataset) -> AnswerForm:
    """Return what an answer to an item looks like: the questions of an exam have several forms."""
    if declared.answer.labels:
        return "labels"
    kind = item.meta.get("type")
    if "grade_norm" in declared.metrics and isinstance(kind, str):
        return next((form for start, form in _EXAM_FORMS.items() if kind.startswith(start)), "text")
    forms: dict[str, AnswerForm] = {"integer": "number", "program": "program"}
    return forms.get(declared.answer.kind, "text")


#: A line of an exam's question that lists an option under its number.
_NUMBERED: Final = re.compile(r"[ \t]*(\d{1,2})\)[ \t]*(\S.*)")

#: What stands before an option: its label, a few words before it, and signs between the label and the option.
_BEFORE: Final = r"([^\n{{}}:;]{{0,30}}?(?<!\w){label}[^\w\n{{}}«\"(]{{1,4}})"
_BETWEEN: Final = r"([;,.]?(?:[ \t]+|\s*\n\s*))"
_END: Final = r"([;,.]?)[ \t]*$"
_ANGLES: Final = re.compile(r"<\w+>")


def _listed_options(task: StudyTask) -> tuple[tuple[Option, ...], str]:
    """Return the options of an item, and the piece of its prompt that lists them.

    A list is found only where the template has it, or where it is one input of the item: a list inside a text that
    is asked about lists no options. Options that have no fields and are named inside a sentence are not found; the
    piece is empty if options that have fields are named there.
    """
    item, declared, form = task.item, task.declared, task.form
    inputs = item.inputs if isinstance(item.inputs, dict) else {"": item.inputs}
    options: tuple[Option, ...] = ()
    listed = ""
    if form == "set":
        for text in (value.strip() for value in inputs.values() if isinstance(value, str)):
            lines = [_NUMBERED.fullmatch(line) for line in text.split("\n")]
            if len(lines) > 1 and all(line and line[1] == str(at) for at, line in enumerate(lines, start=1)):
                options, listed = tuple(Option(line[1], line[2].strip()) for line in lines if line), text
    elif form == "labels":
        labels, by_label = task.labels, option_fields(declared)
        fields = tuple(by_label[label] for label in labels if by_label)
        texts = tuple(shown_value(cast("Json", inputs.get(name))) for name in fields)
        if pieces := _pieces(template(item, declared), labels, fields):
            texts = texts or tuple(text for _, text, _ in pieces)
            listed = "".join(
                before + text + after for (before, _, after), text in zip(pieces, texts, strict=True)
            )
            labels = tuple(before.strip(" \t[(").rstrip(" .):]=—–") for before, _, _ in pieces)
        options = tuple(map(Option, labels, texts)) if texts else ()
    if not all(option.text.strip() and not _ANGLES.search(option.text) for option in options):
        return (), ""
    return (options, listed) if task.prompt.count(listed) == 1 else (options if form == "labels" else (), "")


@lru_cache(256)  # a dataset has few templates and many items
def _pieces(text: str, labels: tuple[str, ...], fields: tuple[str, ...]) -> tuple[tuple[str, str, str], ...]:
    """What stands before each option that a template lists, its field or text, and what follows it."""
    names = [rf"(\{{{name}\}})" for name in fields] or [r"([^\W\d_][^\n{}]*?)"] * len(labels)
    between = _BETWEEN if fields else r"([;,.]?\s*\n\s*)"
    each = [_BEFORE.format(label=re.escape(label)) + name for label, name in zip(labels, names, strict=True)]
    matches = [*re.finditer(r"(?:^|(?<=: ))" + between.join(each) + _END, text, re.MULTILINE)]
    if len(matches) != 1:
        return ()
    groups = matches[0].groups()
    return tuple((groups[at], groups[at + 1], groups[at + 2]) for at in range(0, len(groups), 3))


def one_answer(outputs: Json) -> Json:
    """Return the answer that people give: of gold labels by criteria, the one label of all.

    `None` if the labels differ.

    Example:
        >>> one_answer({"law": "1", "moral": "1"}), one_answer({"law": "1", "moral": "0"}), one_answer("1")
        ('1', None, '1')
    """
    if not isinstance(outputs, dict):
        return outputs
    labels = {str(label) for label in outputs.values()}
    return labels.pop() if len(labels) == 1 else None


def alternatives_of(item: Item, declared: Dataset) -> str | None:
    """Return the separator of an item's known answers; in an exam, a comma divides the parts of most answers."""
    separator = declared.answer.alternatives
    return None if "grade_norm" in declared.metrics and form_of(item, declared) != "text" else separator


def authors_of(item: Item, field: str | None) -> tuple[str, ...]:
    """Return who wrote an item, by a field of `meta` that holds a text or a list of texts; empty if it is not known."""
    value = item.meta.get(field) if field else None
    values = value if isinstance(value, list) else [value]
    return tuple(str(name).strip() for name in values if isinstance(name, str | int) and str(name).strip())


def domain_of(item: Item, field: str | None) -> str:
    """Return the domain of an item, from `meta` or the inputs; empty if there is none."""
    value = value_of(item, field) if field else None
    return "" if value is None else str(value).strip()


def in_domains(tasks: Sequence[StudyTask], domains: Collection[str]) -> tuple[StudyTask, ...]:
    """Return the control or training items for people of some domains, or all: those of no domain are for everybody."""
    return tuple(task for task in tasks if not domains or task.domain in domains or not task.domain)


def expert_domains(tests: Sequence[StudyTask], name: str, domains: Sequence[str]) -> tuple[str, ...]:
    """Return the domains whose items a named expert gets, in their order; empty if the items have none.

    Those asked for, else those in which the expert wrote items, else all.
    """
    there = sorted({task.domain for task in tests} - {""})
    wrote = {task.domain for task in tests if name in task.authors}.intersection(there)
    return tuple(domain for domain in there if domain in (domains or wrote or there))


def nothing_left(tests: Sequence[StudyTask], name: str, chosen: Sequence[str]) -> DataError:
    """Return the error for an expert who wrote all items of their domains."""
    of_some = {*chosen} < {task.domain for task in tests}
    where = (
        f"{listed(list(chosen))} (name other domains with {argument('domain')})" if of_some else "the study"
    )
    return DataError(f"the expert '{name}' wrote all items of {where}: no item is left to answer")


def interleaved(tests: Sequence[T], controls: Sequence[T]) -> list[T]:
    """Put control items between the items of the test at regular intervals; each control item once.

    Example:
        >>> interleaved("abcd", "XY")
        ['a', 'X', 'b', 'c', 'Y', 'd']
    """
    # A control item stands in the middle of its stretch of the test, before the item there.
    places = [(2 * at + 1) * len(tests) // (2 * len(controls)) for at in range(len(controls))]
    marked = [(place, 0, task) for place, task in zip(places, controls, strict=True)]
    marked += [(place, 1, task) for place, task in enumerate(tests)]
    return [task for _, _, task in sorted(marked, key=itemgetter(0, 1))]


def pages(tasks: Sequence[T], size: int) -> list[Sequence[T]]:
    """Split tasks into pages of `size` tasks; the last page may be shorter."""
    return [tasks[start : start + size] for start in range(0, len(tasks), size)]


def media_kind(path: str) -> MediaKind:
    """Tell the kind of a medium by its file's name.

    Example:
        >>> media_kind("samples/1.WAV"), media_kind("samples/1.png")
        ('audio', 'image')
    """
    return next((kind for suffix, kind in _SUFFIXES.items() if path.lower().endswith(suffix)), "image")


#: The fields of `meta` that usually name the authors of an item.
AUTHOR_FIELDS: Final = ("author", "authors", "created_by", "expert", "annotator")


def author_field(items: Sequence[Item]) -> str | None:
    """Return the first usual field of authors that an item has; `None` if authorship is not known."""
    there = {field for item in items for field in item.meta}
    return next((field for field in AUTHOR_FIELDS if field in there), None)
