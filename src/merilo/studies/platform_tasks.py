"""The tasks of a study as the files of a platform.

Toloka, ABC Elementary, Label Studio, Mechanical Turk, or a plain table.

No file shows a gold answer of the test. Text of a dataset is written as text everywhere, so no markup of it is run.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import groupby
from typing import Any, Final, Literal, TypeAlias

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from merilo.atomic_write import guarded_text
from merilo.datasets.rendering import Media
from merilo.settings import Platform
from merilo.strict_json import Json, indented
from merilo.studies.instruction import SKIP_OWN, html_of
from merilo.studies.plan_types import Arm
from merilo.studies.study_folder import StudyFolder
from merilo.studies.study_tasks import AnswerForm, StudyTask, common_form, interleaved, pages
from merilo.text import Language, Text


@cache
def study_templates() -> Environment:
    """Return the templates; the filter `cell` escapes a text for a cell of Mechanical Turk."""
    environment = Environment(
        loader=PackageLoader("merilo.studies"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters["cell"] = mturk_cell
    return environment


def mturk_cell(text: str) -> Markup:
    """Return a text as HTML for a cell of the batch of Mechanical Turk.

    Example:
        >>> mturk_cell("<b>1</b> ${x}") == "&lt;b&gt;1&lt;/b&gt; &#36;{x}"
        True
    """
    escaped = escape(text).replace("$", Markup("&#36;")).replace("\r\n", "\n").replace("\n", Markup("<br>"))
    return Markup("").join(
        letter if ord(letter) < 0x10000 else Markup(f"&#{ord(letter)};")  # noqa: S704 - a number
        for letter in map(Markup, escaped)
    )


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


@dataclass(frozen=True, kw_only=True)
class Outgoing:
    """The tasks of a study for one group of annotators, or for one expert.

    Attributes:
        study: the id of the study and the group, which every task carries.
        folder: the study.
        arm: the group.
        language: the language of the instruction and of the page.
        tests: the items of the test.
        controls: the control items.
        training: the training items.
        media_url: the address of the folder `samples/`; empty if media keep their paths.
        respondent: the expert whom the sheet is for; empty if anybody may answer.
    """

    study: str
    folder: StudyFolder
    arm: Arm
    language: Language
    tests: tuple[StudyTask, ...]
    controls: tuple[StudyTask, ...] = ()
    training: tuple[StudyTask, ...] = ()
    media_url: str = ""
    respondent: str = ""

    @cached_property
    def instruction(self) -> str:
        """The instruction as HTML without scripts."""
        return html_of(self.folder.instruction(self.language))

    @property
    def mine(self) -> str:
        """The text of the option "skip the question, because I may have written it"; empty without the option."""
        return SKIP_OWN[self.language] if self.arm.skip_own else ""

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
            shown.field: media_kind(shown.path)
            for task in (*self.tests, *self.controls, *self.training)
            for shown in task.media
        }

    @property
    def untold_limit(self) -> str:
        """The time limit, or the longest of several, if the instruction does not state it; else empty."""
        limit = f"{max(self.arm.limits):g}" if self.arm.limits else ""
        stated = re.search(rf"(?<![\d.,]){re.escape(limit)}(?![\d.,]*\d)", self.instruction)
        return "" if stated else limit

    @property
    def untold_option(self) -> bool:
        """Whether there is an option to skip own items that the instruction does not state."""
        return bool(self.mine) and self.mine.casefold() not in self.instruction.casefold()

    def feedback(self, task: StudyTask) -> str:
        """Return what is said after a wrong answer to a training item."""
        answer = Text("The right answer: {answer}", answer=task.first_known or "")
        return task.hint or answer.in_language(self.language)

    def shown(self, task: StudyTask) -> dict[str, str]:
        """The fields of a task that annotators see, by name: the ids, the prompt, the addresses of media."""
        addresses = {media.field: self.address(media) for media in task.media}
        return {
            STUDY: self.study,
            TASK: task.id,
            "prompt": task.prompt,
            **{f"media_{field}": addresses.get(field, "") for field in self.media},
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


def _page(name: str, outgoing: Outgoing, **values: object) -> str:
    def said(text: str, **fields: Any) -> str:  # noqa: ANN401 - whatever a sentence counts or names
        return Text(text, **fields).in_language(outgoing.language)

    return study_templates().get_template(f"{name}.j2").render(outgoing=outgoing, _=said, **values)


def instruction_body(outgoing: Outgoing) -> str:
    """Return the instruction of a group of annotators as HTML.

    With its time limit and its option to skip own items, unless stated.
    """
    return _page("instruction.html", outgoing)


def _pages(outgoing: Outgoing) -> dict[str, str]:
    """Return the instruction as a page, and the training items with the right answer folded below each of them."""
    pages = {"instruction.html": _page("page.html", outgoing)}
    return {**pages, "training.html": _page("training.html", outgoing)} if outgoing.training else pages


def toloka_files(outgoing: Outgoing) -> dict[str, str]:
    """Return the files of a Toloka project by name.

    `project.json` has the fields of the platform's project: the instruction as HTML, the specifications of
    input and output, and the interface for the Template Builder.

    `tasks.tsv` holds the known answers of control items in `GOLDEN:answer`, because the platform checks
    people with them and does not show them; the items of the test have no known answer there.
    """
    files = {
        "tasks.tsv": _toloka_table(outgoing, outgoing.mixed),
        "instruction.html": instruction_body(outgoing),
        "project.json": indented(_toloka_project(outgoing)) + "\n",
    }
    if outgoing.training:
        files["training.tsv"] = _toloka_table(outgoing, outgoing.training)
    return files


def _toloka_table(outgoing: Outgoing, tasks: Sequence[StudyTask]) -> str:
    columns = list(outgoing.shown(tasks[0]))
    header = [*(f"INPUT:{name}" for name in columns), "GOLDEN:answer", "HINT:text"]
    return tab_separated(header, (_toloka_row(outgoing, task) for task in tasks))


def _toloka_row(outgoing: Outgoing, task: StudyTask) -> list[str]:
    hint = outgoing.feedback(task) if task.kind == "training" else ""
    return [*outgoing.shown(task).values(), task.first_known or "", hint]


def tab_separated(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table as TSV; a field with a line break, tab or quotation mark is put in quotation marks."""
    text = io.StringIO()
    writer = csv.writer(text, delimiter="\t", lineterminator="\n")
    writer.writerow(header)
    writer.writerows(rows)
    return text.getvalue()


def _toloka_project(outgoing: Outgoing) -> dict[str, Json]:
    beside = bool(outgoing.mine) and outgoing.form != "labels"
    inputs: dict[str, Json] = {
        STUDY: {"type": "string", "required": True, "hidden": True},
        TASK: {"type": "string", "required": True, "hidden": True},
        "prompt": {"type": "string", "required": True},
        **{f"media_{name}": {"type": "string", "required": False} for name in outgoing.media},
    }
    answer: dict[str, Json] = {"type": "string", "required": not beside}
    if outgoing.labels:
        answer["allowed_values"] = [*outgoing.labels]
    outputs: dict[str, Json] = {"answer": answer}
    if beside:
        outputs["mine"] = {"type": "boolean", "required": False}
    config: dict[str, Json] = {
        "view": {
            "type": "view.list",
            "items": [*_toloka_inputs(outgoing), *_toloka_fields(outgoing, beside=beside)],
        },
        "plugins": [{"type": "plugin.toloka", "layout": {"kind": "scroll", "taskWidth": 700}}],
    }
    return {
        "public_name": outgoing.folder.plan.study,
        "public_description": outgoing.folder.plan.study,
        "public_instructions": instruction_body(outgoing),
        "task_spec": {
            "input_spec": inputs,
            "output_spec": outputs,
            "view_spec": {"type": "tb", "config": json.dumps(config, ensure_ascii=False)},
        },
        "assignments_issuing_type": "AUTOMATED",
    }


def _toloka_inputs(outgoing: Outgoing) -> list[Json]:
    shown: list[Json] = [{"type": "view.text", "content": _data("input", "prompt")}]
    for name, kind in outgoing.media.items():
        shown.append({"type": f"view.{kind}", "url": _data("input", f"media_{name}")})
    return shown


def _toloka_fields(outgoing: Outgoing, *, beside: bool) -> list[Json]:
    """The field of the answer and, beside an open answer, the mark "may be mine" that makes the answer needless."""
    field: dict[str, Json] = {
        "data": _data("output", "answer"),
        "label": Text("Answer").in_language(outgoing.language),
    }
    needed: Json = {"type": "condition.required", "data": _data("output", "answer")}
    if outgoing.labels:
        field["type"] = "field.radio-group"
        field["options"] = [{"label": label, "value": label} for label in outgoing.labels]
    elif outgoing.form in PATTERNS:
        field["type"] = "field.text"
        pattern: Json = {
            "type": "condition.schema",
            "data": _data("output", "answer"),
            "schema": {"type": "string", "pattern": f"^{PATTERNS[outgoing.form]}$"},
        }
        needed = {"type": "condition.all", "conditions": [needed, pattern]}
    else:
        field["type"] = "field.textarea"
    if not beside:
        return [{**field, "validation": needed}]
    marked: Json = {"type": "condition.equals", "data": _data("output", "mine"), "to": True}
    mark: Json = {"type": "field.checkbox", "data": _data("output", "mine"), "label": outgoing.mine}
    return [{**field, "validation": {"type": "condition.any", "conditions": [needed, marked]}}, mark]


def _data(side: str, name: str) -> dict[str, Json]:
    return {"type": f"data.{side}", "path": name}


def abc_files(outgoing: Outgoing) -> dict[str, str]:
    """Return the files of an ABC Elementary project by name.

    `tasks.tsv` has a row for each task or, if the items are turns of dialogues, a row for each dialogue with
    a JSON list in `INPUT:dialog`. It holds no known answer; an import takes those of control items from the study.
    """
    return {"tasks.tsv": "\ufeff" + _abc_table(outgoing), **_pages(outgoing)}


def _abc_table(outgoing: Outgoing) -> str:
    if not outgoing.dialogue:
        tasks = outgoing.mixed
        header = [f"INPUT:{name}" for name in outgoing.shown(tasks[0])]
        header += ["INPUT:labels"] if outgoing.labels else []
        labels = [json.dumps(outgoing.labels, ensure_ascii=False)] if outgoing.labels else []
        return tab_separated(header, ([*outgoing.shown(task).values(), *labels] for task in tasks))
    dialogues = [list(turns) for _, turns in groupby(outgoing.tests, key=lambda task: task.dialogue)]
    return tab_separated(["INPUT:dialog"], ([_abc_turns(outgoing, turns)] for turns in dialogues))


def _abc_turns(outgoing: Outgoing, turns: list[StudyTask]) -> str:
    return json.dumps([outgoing.shown(task) for task in turns], ensure_ascii=False)


#: The columns that a respondent or another platform fills in.
_FILLED: Final = ("respondent", "answer", "page", "started", "submitted", "seconds", "reward")


def csv_files(outgoing: Outgoing) -> dict[str, str]:
    """Return the files of a plain study by name.

    `tasks.csv` has a row for each task and empty columns for the answers. It begins with a byte-order mark, so that
    spreadsheets read it as UTF-8, and holds no known answer.
    """
    return {"tasks.csv": _plain_table(outgoing), **_pages(outgoing)}


def _plain_table(outgoing: Outgoing) -> str:
    tasks = outgoing.mixed
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\r\n")
    marks = ["mine"] if outgoing.mine and not outgoing.labels else []
    choices = ["labels"] if outgoing.labels else []
    writer.writerow([*outgoing.shown(tasks[0]), *choices, *_FILLED, *marks])
    for number, page in enumerate(pages(tasks, outgoing.arm.items_per_page), start=1):
        for task in page:
            shown = [guarded_text(value) for value in outgoing.shown(task).values()]
            labels = [guarded_text(" | ".join(outgoing.labels))] if choices else []
            empty = ["" for _ in (*_FILLED[3:], *marks)]
            writer.writerow([*shown, *labels, outgoing.respondent, "", str(number), *empty])
    return "\ufeff" + text.getvalue()


def label_studio_files(outgoing: Outgoing) -> dict[str, str]:
    """Return the files of a Label Studio project by name.

    `tasks.json` holds no known answer, because the community edition checks nobody with them and shows all
    data of a task.
    """
    return {
        "tasks.json": indented(label_studio_tasks(outgoing)) + "\n",
        "labels.xml": label_studio_labels(outgoing),
        **_pages(outgoing),
        "instruction.html": instruction_body(outgoing),
    }


def label_studio_tasks(outgoing: Outgoing) -> list[Json]:
    """Return the tasks as Label Studio imports them."""
    return [{"data": {**outgoing.shown(task)}} for task in outgoing.mixed]


def label_studio_labels(outgoing: Outgoing) -> str:
    """Return the labelling configuration: its element `Text` shows a prompt as text, so no markup of it is run.

    Labels of one sign are their own keys. By default, Label Studio numbers the options, so key 1 would choose 0.
    """
    labels = [label for label in outgoing.labels if label != outgoing.mine]
    keys = all(len(label) == 1 and label.isascii() and label.isalnum() for label in labels)
    return _page("label_studio.xml", outgoing, keys=labels if keys else [])


def mturk_files(outgoing: Outgoing) -> dict[str, str]:
    """Return the files of a Mechanical Turk project by name: the CSV of a batch and its HTML layout.

    Mechanical Turk puts the cells of the CSV into the layout as HTML. Every cell is therefore written as HTML
    that shows a text: markup characters, the dollar sign of placeholders and characters that the platform's
    CSV cannot hold are character references.

    A page (HIT) is a row of the CSV and shows `items_per_page` tasks. If the last page is shorter, it has a
    CSV and a layout of its own. No file holds a known answer: a browser would show it.
    """
    files = _pages(outgoing)
    del files["instruction.html"]
    whole = pages(outgoing.mixed, outgoing.arm.items_per_page)
    for size in dict.fromkeys(map(len, whole)):
        mark = "" if size == len(whole[0]) else f"-{size}"
        files[f"tasks{mark}.csv"] = _mturk_table(outgoing, [page for page in whole if len(page) == size])
        files[f"layout{mark}.html"] = _mturk_layout(outgoing, size)
    return files


def _mturk_layout(outgoing: Outgoing, size: int) -> str:
    return _page(
        "mturk.html",
        outgoing,
        size=size,
        instruction=instruction_body(outgoing).replace("$", "&#36;"),
        pattern=PATTERNS.get(outgoing.form),
    )


def _mturk_cells(outgoing: Outgoing, page: Sequence[StudyTask]) -> dict[str, str]:
    """Return the cells of a page by the names of their columns."""
    cells = {
        f"{name}_{place}": mturk_cell(text)
        for place, task in enumerate(page, start=1)
        for name, text in outgoing.shown(task).items()
        if name != STUDY
    }
    return {STUDY: outgoing.study, **cells}


def _mturk_table(outgoing: Outgoing, rows: Sequence[Sequence[StudyTask]]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    cells = [_mturk_cells(outgoing, page) for page in rows]
    writer.writerow(cells[0])
    writer.writerows(row.values() for row in cells)
    return text.getvalue()


#: Platform -> what writes its files by name.
PLATFORM_FILES: Final[Mapping[Platform, Callable[[Outgoing], dict[str, str]]]] = {
    "toloka": toloka_files,
    "abc": abc_files,
    "label-studio": label_studio_files,
    "mturk": mturk_files,
    "table": csv_files,
}
