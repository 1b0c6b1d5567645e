"""The form of an item: its prompt as HTML, the fields of its answer, and the answer that a sent form holds."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from markupsafe import Markup, escape

from merilo.models.answer_rules import letters_asked
from merilo.site.served_study import ServedStudy
from merilo.studies.platform_tasks import ANSWER, PATTERNS, media_kind
from merilo.studies.study_tasks import StudyTask
from merilo.text import Language, Text, markup

FieldKind: TypeAlias = Literal["labels", "number", "text", "choices", "list", "letters", "program"]

#: The longest answer and the longest comment, in characters.
LONGEST_ANSWER: Final = 50_000
LONGEST_COMMENT: Final = 2_000

#: A line that begins with the number of an option.
_OPTION: Final = re.compile(r"^\s*(\d{1,2})\)", re.MULTILINE)

#: A line of a table or of aligned columns.
_COLUMNS: Final = re.compile(r"^.*(?:\t|\S {3,}\S|\|.*\|).*$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class ItemField:
    """The field of an answer.

    Attributes:
        kind: how the answer is given: one of the labels; a number; a line of text; options to tick; numbers
            in a line; a number for each letter; a program.
        options: the labels, the numbers of the options, or the letters.
        pattern: what an answer in a line must look like, for browsers and the server; empty for any text.
    """

    kind: FieldKind
    options: tuple[str, ...] = ()
    pattern: str = ""

    @property
    def short(self) -> bool:
        """Whether the options stand side by side."""
        return all(len(option) <= 3 for option in self.options)

    @property
    def own_keys(self) -> bool:
        """Whether an option is chosen by the key of its own sign; otherwise by its place."""
        return all(len(option) == 1 and option.isalnum() for option in self.options)


def field_of(task: StudyTask) -> ItemField:
    r"""Return the field of a task. It depends on what the person reads and not on the answer.

    Example:
        >>> field_of(StudyTask("a", 1, "test", "Text\n1) one\n2) two", form="set"))
        ItemField(kind='choices', options=('1', '2'), pattern='')
    """
    match task.form:
        case "labels":
            return ItemField("labels", task.labels)
        case "set":
            return _set_field(task.prompt)
        case "matching":
            return _matching_field(task.prompt)
        case "number":
            return ItemField("number", pattern=PATTERNS["number"])
        case form:
            return ItemField("program" if form == "program" else "text")


def _set_field(prompt: str) -> ItemField:
    numbers = tuple(dict.fromkeys(_OPTION.findall(prompt)))
    if len(numbers) > 1 and numbers == tuple(str(n) for n in range(1, len(numbers) + 1)):
        return ItemField("choices", numbers)
    return ItemField("list", pattern=PATTERNS["set"])


def _matching_field(prompt: str) -> ItemField:
    letters = letters_asked(prompt)
    if not letters:
        return ItemField("list", pattern=PATTERNS["matching"])
    return ItemField("letters", letters, r"\s*\d{1,3}\s*")


def is_fixed_width(task: StudyTask) -> bool:
    r"""Return whether a prompt is shown in letters of one width: programs, and tables made of signs.

    Example:
        >>> is_fixed_width(StudyTask("a", 1, "test", "| x | y |\n| 1 | 2 |"))
        True
    """
    return task.form == "program" or len(_COLUMNS.findall(task.prompt)) > 1


def prompt_html(study: ServedStudy, task: StudyTask, language: Language) -> Markup:
    """Return the prompt as HTML: text as text, and media where the prompt names them."""
    named = {str(one): one for one in task.media}
    if not named:
        return escape(task.prompt)
    html = Markup()
    for piece in re.split("(" + "|".join(map(re.escape, named)) + ")", task.prompt):
        if piece not in named:
            html += escape(piece)
            continue
        name = study.media_name(named[piece].path)
        address = f"/s/{study.key}/media/{name}"
        kind = media_kind(named[piece].path)
        if name not in study.media:
            html += Markup("<strong>[{}]</strong>").format(markup("The task's file was not found", language))
        elif kind == "image":
            html += Markup('<img src="{}" alt="{}">').format(address, markup("Picture of the task", language))
        elif kind == "audio":
            html += Markup('<audio controls preload="auto" src="{}"></audio>').format(address)
        else:
            html += Markup('<video controls preload="metadata" src="{}"></video>').format(address)
    return html


def answer_in(field: ItemField, form: Mapping[str, Sequence[str]]) -> tuple[str, Text | None]:
    """Read the answer of a sent form.

    Args:
        field: the field of the task.
        form: name of a field of the form -> its values.

    Returns:
        The answer, and what is wrong with it; `None` if nothing is.
    """
    values = [
        value.replace("\r\n", "\n").replace("\r", "\n").replace("\0", "") for value in form.get(ANSWER, ())
    ]
    if sum(map(len, values)) > LONGEST_ANSWER:
        return "", Text("The answer is longer than 50,000 characters. Shorten it and send it again.")
    if field.kind == "choices":
        answer = ",".join(number for number in field.options if number in values)
    elif field.kind == "letters":
        numbers = [value.strip() for value in values]
        if len(numbers) != len(field.options) or not all(re.fullmatch(field.pattern, n) for n in numbers):
            return "", Text("Each letter needs one number.")
        answer = ",".join(numbers)
    else:
        answer = values[0] if values else ""
        answer = answer.rstrip() if field.kind == "program" else answer.strip()
    if not answer.strip() or (field.kind == "labels" and answer not in field.options):
        return "", Text("The answer is missing. Give an answer and send it again.")
    if field.kind in {"number", "list"} and not re.fullmatch(field.pattern, answer):
        if field.kind == "number":
            return "", Text("The answer must be a whole number, for example 12 or −5.")
        return "", Text("The answer must be numbers separated by commas, for example 1,3.")
    if field.kind == "number":
        answer = re.sub("[−–]", "-", answer)
    return answer, None
