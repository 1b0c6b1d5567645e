"""The tasks of a study: items rendered for people by the renderer that makes the prompts of models.

A task is known to a platform by an opaque id. Annotators see the ids of their tasks, so an id must not tell
which tasks are control items. The ids are keyed digests, and the key depends on the gold answers, which
annotators do not have.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from hashlib import blake2b
from typing import Final, Literal, TypeAlias, cast

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
from merilo.items import Item, ItemId, entry_of
from merilo.strict_json import Json
from merilo.studies.item_fields import value_of
from merilo.studies.plan_types import Arm
from merilo.studies.study_folder import StudyFolder
from merilo.wording import listed

TaskKind: TypeAlias = Literal["test", "control", "training"]
AnswerForm: TypeAlias = Literal["labels", "number", "text", "set", "matching", "program"]

#: Forms of answers to the questions of an exam, by the beginning of `meta.type`.
_EXAM_FORMS: Final[dict[str, AnswerForm]] = {"multiple_choice": "set", "matching": "matching"}


@dataclass(frozen=True, slots=True)
class Option:
    """An answer to choose from.

    Attributes:
        sign: what stands before it in the prompt, such as "A" or "Reply 1".
        text: what it says.
    """

    sign: str
    text: str


@dataclass(frozen=True, slots=True)
class StudyTask:
    """One item as it is shown to people.

    Attributes:
        id: the task's id on every platform.
        item: the item's id in the dataset.
        kind: an item of the test, a control item or a training item.
        prompt: the prompt, the same as that of models without shots; media files are named in angle brackets.
        media: the pictures, sounds and films of the prompt.
        form: what an answer looks like.
        labels: the answers to choose from; empty for open answers.
        options: the options in the order of their labels or numbers; empty if only the labels are known.
        listed: the piece of the prompt that lists the options; empty if it names them elsewhere.
        known: the known answer of a control or training item; `None` for an item of the test.
        alternatives: the separator of several known answers in `known`; `None` if it is one answer.
        hint: what is said after a wrong answer to a training item.
        dialogue: the number of the dialogue that the item is a turn of, from 1; 0 if it is no turn.
        turn: its place in the dialogue, from 1.
        authors: who wrote the item, if the plan says which field of `meta` tells it.
        domain: the domain of the item, if its field is given; otherwise empty.
        seconds: the time limit; `None` without.
    """

    id: str
    item: ItemId
    kind: TaskKind
    prompt: str
    media: tuple[Media, ...] = ()
    form: AnswerForm = "text"
    labels: tuple[str, ...] = ()
    options: tuple[Option, ...] = ()
    listed: str = ""
    known: str | None = None
    alternatives: str | None = None
    hint: str | None = None
    dialogue: int = 0
    turn: int = 0
    authors: tuple[str, ...] = ()
    domain: str = ""
    seconds: float | None = None

    @property
    def first_known(self) -> str | None:
        """The known answer that is shown; the first of several."""
        if self.known is None or self.alternatives is None:
            return self.known
        return self.known.split(self.alternatives, maxsplit=1)[0].strip()


@dataclass(frozen=True)
class TaskIds:
    """The ids of a study's tasks.

    Attributes:
        name: the study's name.
        seed: the study's seed.
        items: the items of the test, with their gold answers.
    """

    name: str
    seed: int
    items: tuple[Item, ...]

    @cached_property
    def key(self) -> bytes:
        """The key of the ids; it changes with the study's name, its seed and its items."""
        content = [self.name, self.seed, *(_plain(entry_of(item)) for item in self.items)]
        return blake2b(
            json.dumps(content, sort_keys=True).encode(), digest_size=32, person=b"merilo study"
        ).digest()

    def study(self, arm: str) -> str:
        """The id of the study on platforms.

        An import knows by it the rows of another study and the group of annotators.
        """
        return f"study-{self._digest('study', arm)[:10]}"

    def of(self, kind: TaskKind, item: Item) -> str:
        """The id of a task: 12 hexadecimal digits that tell neither the kind nor the item's own id."""
        return self._digest(kind, json.dumps([item.id, _plain(entry_of(item))], sort_keys=True))[:12]

    def _digest(self, *words: str) -> str:
        return blake2b("\x1f".join(words).encode(), key=self.key, digest_size=16).hexdigest()


def _plain(entry: dict[str, Json]) -> Json:
    return {name: entry[name] for name in ("instruction", "inputs", "outputs")} | {"meta": entry["meta"]}


@dataclass(frozen=True, slots=True)
class StudyTasks:
    """All tasks of a study.

    Attributes:
        ids: the ids.
        tests: the items of the test.
        controls: the control items.
        training: the training items.
    """

    ids: TaskIds
    tests: tuple[StudyTask, ...]
    controls: tuple[StudyTask, ...]
    training: tuple[StudyTask, ...]


def study_tasks(
    folder: StudyFolder, *, author_field: str | None = None, arm: Arm | None = None
) -> StudyTasks:
    """Make the tasks of a study, in the order of its files.

    Args:
        folder: the study.
        author_field: the field of `meta` that names the authors of an item: a text or a list of texts.
        arm: the group of annotators, whose plan names the field of domains and the time limits.

    Raises:
        InputError: a file of the study cannot be read.
        DataError: an item cannot be rendered, or a control or training item has no known answer.
    """
    items, declared = folder.items(), folder.declared()
    ids = TaskIds(folder.plan.study, folder.plan.seed, tuple(items))
    return StudyTasks(
        ids,
        tuple(tasks_of(items, "test", declared, ids, author_field=author_field, arm=arm)),
        tuple(tasks_of(folder.controls(), "control", declared, ids, author_field=author_field, arm=arm)),
        tuple(tasks_of(folder.training(), "training", declared, ids, arm=arm)),
    )


def tasks_of(
    items: Iterable[Item],
    kind: TaskKind,
    declared: Dataset,
    ids: TaskIds,
    *,
    author_field: str | None = None,
    arm: Arm | None = None,
) -> list[StudyTask]:
    """Make the tasks of items, in the order of the items.

    Args:
        items: the items.
        kind: what they are in the study.
        declared: the dataset.
        ids: the ids of the study's tasks.
        author_field: the field of `meta` that names the authors of an item.
        arm: the group of annotators.

    Raises:
        DataError: an item has no file for a picture or sound, or a control or training item has no known answer.

    Example:
        >>> from merilo.datasets import dataset
        >>> item = Item(1, "Balanced: {inputs}?", "( )", "1", {"id": 1})
        >>> (task,) = tasks_of([item], "test", dataset("bps"), TaskIds("bps", 0, (item,)))
        >>> task.prompt, task.form, task.labels, task.known
        ('Balanced: ( )?', 'labels', ('0', '1'), None)
    """
    tasks = []
    for item in items:
        prompt = render(item, declared)
        media = [part for part in parts(item, declared) if isinstance(part, Media)] if declared.media else []
        dialogue, turn = item.meta.get("dialog_id"), item.meta.get("question_id")
        hint, form = item.meta.get("hint"), form_of(item, declared)
        options, listed = listed_options(item, declared, form, prompt)
        task = StudyTask(
            id=ids.of(kind, item),
            item=item.id,
            kind=kind,
            prompt=prompt,
            media=tuple(dict.fromkeys(media)),
            form=form,
            labels=offered_labels(item, declared),
            options=options,
            listed=listed,
            known=None if kind == "test" else known_answer_of(item, kind),
            alternatives=None if kind == "test" else alternatives_of(item, declared),
            hint=hint if isinstance(hint, str) and kind == "training" else None,
            dialogue=dialogue + 1 if isinstance(dialogue, int) else 0,
            turn=turn + 1 if isinstance(turn, int) else 0,
            authors=authors_of(item, author_field),
            domain=domain_of(item, arm.domain if arm else None),
            seconds=arm.seconds_for(item) if arm else None,
        )
        tasks.append(task)
    return tasks


def form_of(item: Item, declared: Dataset) -> AnswerForm:
    """Return what an answer to an item looks like: the questions of an exam have several forms."""
    answer = declared.answer
    if answer.labels:
        return "labels"
    if answer.kind == "integer":
        return "number"
    if answer.kind == "program":
        return "program"
    kind = item.meta.get("type")
    if "grade_norm" in declared.metrics and isinstance(kind, str):
        return next((form for start, form in _EXAM_FORMS.items() if kind.startswith(start)), "text")
    return "text"


#: A line of an exam's question that lists an option under its number.
_NUMBERED: Final = re.compile(r"[ \t]*(\d{1,2})\)[ \t]*(\S.*)")

#: What stands before an option: its label, a few words before it, and signs between the label and the option.
_BEFORE: Final = r"([^\n{{}}:;]{{0,30}}?(?<!\w){label}[^\w\n{{}}«\"(]{{1,4}})"
_BETWEEN: Final = r"([;,.]?(?:[ \t]+|\s*\n\s*))"
_END: Final = r"([;,.]?)[ \t]*$"
_ANGLES: Final = re.compile(r"<\w+>")


def listed_options(
    item: Item, declared: Dataset, form: AnswerForm, prompt: str
) -> tuple[tuple[Option, ...], str]:
    r"""Return the options of an item, and the piece of its prompt that lists them.

    A list is found only where the template has it, or where it is one input of the item: a list inside a text that
    is asked about lists no options.

    Args:
        item: the item.
        declared: its dataset.
        form: what an answer looks like.
        prompt: the item's prompt.

    Returns:
        Options that have no fields and are named inside a sentence are not found; the piece is empty if options that
        have fields are named there.

    Example:
        >>> from merilo.datasets import dataset
        >>> asked = Item(1, "{premise}\n1. {choice1}\n2. {choice2}", {"premise": "A", "choice1": "B", "choice2": "C"})
        >>> listed_options(asked, dataset("parus"), "labels", "A\n1. B\n2. C")
        ((Option(sign='1', text='B'), Option(sign='2', text='C')), '1. B\n2. C')
    """
    inputs = item.inputs if isinstance(item.inputs, dict) else {"": item.inputs}
    options: tuple[Option, ...] = ()
    listed = ""
    if form == "set":
        for text in (value.strip() for value in inputs.values() if isinstance(value, str)):
            lines = [_NUMBERED.fullmatch(line) for line in text.split("\n")]
            if len(lines) > 1 and all(line and line[1] == str(at) for at, line in enumerate(lines, start=1)):
                options, listed = tuple(Option(line[1], line[2].strip()) for line in lines if line), text
    elif form == "labels":
        labels, by_label = offered_labels(item, declared), option_fields(declared)
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
    return (options, listed) if prompt.count(listed) == 1 else (options if form == "labels" else (), "")


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


def known_answer_of(item: Item, kind: TaskKind) -> str:
    """Return the known answer of a control or training item, with all of its alternatives.

    Raises:
        DataError: the item has no single answer.
    """
    known = one_answer(item.outputs)
    if isinstance(known, bool) or not isinstance(known, str | int | float) or known == "":
        raise DataError(f"the {kind} item {item.id!r} has no known answer", field="outputs")
    return str(known).strip()


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


def common_form(tasks: Sequence[StudyTask]) -> AnswerForm:
    """Return the form of answer that the interface of a project offers: the tasks' own, or free text if they differ."""
    forms = {task.form for task in tasks}
    return forms.pop() if len(forms) == 1 else "text"


def interleaved(tests: Sequence[StudyTask], controls: Sequence[StudyTask]) -> list[StudyTask]:
    """Put control items between the items of the test at regular intervals; each control item once.

    Example:
        >>> def task(name: str) -> StudyTask:
        ...     return StudyTask(name, name, "test", name)
        >>> [one.id for one in interleaved([task("a"), task("b"), task("c"), task("d")], [task("X"), task("Y")])]
        ['a', 'X', 'b', 'c', 'Y', 'd']
    """
    if not controls:
        return list(tests)
    placed: list[StudyTask] = []
    taken = 0
    for place, control in enumerate(controls):
        until = (2 * place + 1) * len(tests) // (2 * len(controls))
        placed += [*tests[taken:until], control]
        taken = until
    return [*placed, *tests[taken:]]


def pages(tasks: Sequence[StudyTask], size: int) -> list[list[StudyTask]]:
    """Split tasks into pages of `size` tasks; the last page may be shorter."""
    return [list(tasks[start : start + size]) for start in range(0, len(tasks), size)]


#: The fields of `meta` that usually name the authors of an item.
AUTHOR_FIELDS: Final = ("author", "authors", "created_by", "expert", "annotator")


def author_field(items: Sequence[Item]) -> str | None:
    """Return the first usual field of authors that an item has; `None` if authorship is not known."""
    there = {field for item in items for field in item.meta}
    return next((field for field in AUTHOR_FIELDS if field in there), None)
