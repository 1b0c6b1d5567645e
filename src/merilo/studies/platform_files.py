"""The files of a study that are uploaded to a platform: Toloka, ABC Elementary, Label Studio, Mechanical Turk, a table.

What comes back is read by `platform_rows` and `study_import`.

No file shows a gold answer of the test. Text of a dataset is written as text everywhere, so no markup of it is run.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import groupby
from pathlib import Path
from typing import Final

from pydantic_core import to_jsonable_python

from merilo.atomic_write import guarded_text, new_folder, write_files
from merilo.datasets.rendering import Media
from merilo.errors import DataError, InputError, OutputError, UsageError, argument
from merilo.files import read_table, sha256
from merilo.people.platforms import NAMES
from merilo.settings import Platform
from merilo.strict_json import Json, indented
from merilo.studies.instruction import SKIP_OWN, instruction_html, mturk_cell, written
from merilo.studies.plan import Arm, plan_path
from merilo.studies.study_folder import StudyFolder
from merilo.studies.study_tasks import (
    ANSWER,
    ANSWER_FIELDS,
    MINE,
    PATTERNS,
    STUDY,
    TASK,
    AnswerForm,
    MediaKind,
    StudyTask,
    expert_domains,
    in_domains,
    interleaved,
    media_kind,
    nothing_left,
    pages,
)
from merilo.text import Language, Text
from merilo.wording import listed

#: What describes an exported folder.
EXPORT_FILE: Final = "export.json"


@dataclass(frozen=True, slots=True)
class ExportedSheet:
    """The files for everybody, or for one expert.

    Attributes:
        folder: their folder below the export; empty if they are for everybody.
        respondent: the expert; empty if anybody may answer.
        tests: items of the test.
        left_out: items of the test that the expert wrote.
        domains: the domains of the items; empty if they are not divided by domain.
        files: names of the files.
    """

    folder: str
    respondent: str
    tests: int
    left_out: int
    domains: tuple[str, ...]
    files: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ExportedStudy:
    """The result of an export.

    Attributes:
        platform: the platform.
        arm: the group of annotators.
        overlap: how many people must answer a task.
        controls: control items in each sheet.
        training: training items in each sheet.
        sheets: the sheets.
        author_field: the field of `meta` by which experts' own items were left out; `None` if authorship is not known.
    """

    platform: Platform
    arm: str
    overlap: int
    controls: int
    training: int
    sheets: tuple[ExportedSheet, ...]
    author_field: str | None = None

    def to_dict(self) -> dict[str, Json]:
        """Return the description as JSON; it names no known answer and tells no author of an item."""
        content: dict[str, Json] = to_jsonable_python(self)
        return content


def export_study(
    folder: StudyFolder,
    platform: Platform,
    out: Path,
    *,
    arm: str | None = None,
    language: str | None = None,
    media_url: str = "",
    experts: Sequence[str] = (),
    domains: Sequence[str] = (),
    force: bool = False,
) -> ExportedStudy:
    """Write the files of a study for a platform into a new folder.

    Args:
        folder: the study.
        platform: the platform.
        out: the folder.
        arm: the group of annotators; `people` by default.
        language: the language of the instruction; by default, the first of the plan.
        media_url: the address of the folder `samples/`, for datasets with pictures and sounds.
        experts: experts who get a sheet; by default, all authors.
        domains: the domains whose items are written. By default, if the plan has domains, each expert gets
            those in which they wrote items; without known authors, each domain has a sheet.
        force: replace an existing folder.

    Returns:
        What was exported.

    Raises:
        UsageError: the plan has no such arm, language or domain, or experts are named in an arm that skips nothing.
        DataError: the platform cannot show the tasks, an item cannot be rendered, or
            an expert wrote all items.
        OutputError: the folder exists or cannot be written.
    """
    name, group = folder.arm(arm)
    if experts and not group.skip_own:
        raise UsageError(
            f"{argument('expert')} needs an arm with skip_own: true in study.yaml, and '{name}' has none"
        )
    if language is not None and language not in folder.plan.instruction:
        raise UsageError(
            f"the study has no instruction in '{language}', only in {listed(list(folder.plan.instruction))}",
            field=argument("language"),
        )
    tasks = folder.tasks(name)
    tests, solved, training = (
        tuple(task for task in tasks if task.kind == kind) for kind in ("test", "control", "training")
    )
    everybody = Sheet(
        folder=folder,
        arm_name=name,
        language="en" if (language or folder.plan.languages[0]) == "en" else "ru",
        tests=tests,
        controls=solved,
        training=training,
        media_url=media_url,
    )
    _refuse_unfit(everybody, platform)
    field = tests[0].author_field if group.skip_own else None
    sheets: list[ExportedSheet] = []
    texts: dict[str, bytes] = {}
    cut = _cut(everybody, experts, domains, known=field is not None)
    for number, (sheet, chosen, left_out) in enumerate(cut, start=1):
        place, whose = _subfolder(number, sheet.respondent or "-".join(chosen)), sheet.respondent
        files = PLATFORM_FILES[platform](sheet)
        texts |= {Path(place, file).as_posix(): text.encode() for file, text in files.items()}
        sheets.append(ExportedSheet(place, whose, len(sheet.tests), left_out, chosen, tuple(files)))
    controls = 0 if everybody.dialogue else len(solved)
    export = ExportedStudy(platform, name, group.overlap, controls, len(training), tuple(sheets), field)
    described = {"study": everybody.study, "plan_sha256": sha256(plan_path(folder.path)), **export.to_dict()}
    if force:
        _refuse_filled(out)
    with new_folder(out, force=force) as hidden:
        write_files(hidden, {**texts, EXPORT_FILE: (indented(described) + "\n").encode()})
    return export


def _refuse_filled(out: Path) -> None:
    """Refuse to replace tables that people have filled in.

    Raises:
        OutputError: a table below the folder has answers, or another program saved it in a form that cannot be read.
    """
    for path in sorted(out.rglob("tasks*.csv")):
        try:
            table = read_table(path, keep="answer".__eq__).data
        except InputError as error:
            raise OutputError(
                "was changed and cannot be read: export to another folder", file=path
            ) from error
        if "answer" in table.columns and (table["answer"].str.strip_chars() != "").any():
            raise OutputError("has answers: import it, or export to another folder", file=path)


def _refuse_unfit(sheet: Sheet, platform: Platform) -> None:
    if not sheet.tests:
        raise DataError("the study has no items to export")
    if sheet.dialogue and platform not in {"abc", "table"}:
        raise DataError(
            f"the items are turns of dialogues, which one person must answer in order, and {NAMES[platform]} shows "
            f"tasks in any order; export to ABC Elementary ({argument('platform', 'abc', given='abc')}) or to tables "
            f"({argument('platform', 'csv', given='csv')})"
        )


def _cut(
    everybody: Sheet, experts: Sequence[str], domains: Sequence[str], *, known: bool
) -> list[tuple[Sheet, tuple[str, ...], int]]:
    """Return the tasks of each expert without their own items, else those of each domain, else all.

    With their domains, and the number of items that were left out.
    """
    there = tuple(sorted({task.domain for task in everybody.tests} - {""}))
    if strange := [name for name in domains if name not in there]:
        why = f"choose from: {listed(there)}" if there else "the plan names no field of domains"
        raise UsageError(f"there is no domain '{strange[0]}' ({why})", field=argument("domain"))
    authors = sorted({author for task in everybody.tests for author in task.authors})
    sheets = []
    for name in dict.fromkeys(experts) or (authors if known else []):
        chosen = expert_domains(everybody.tests, name, domains)
        scope = [task for task in everybody.tests if not chosen or task.domain in chosen]
        tests = tuple(task for task in scope if name not in task.authors)
        if tests:
            own = _known_of(replace(everybody, tests=tests, respondent=name), chosen)
            sheets.append((own, chosen, len(scope) - len(tests)))
        elif scope and (not domains or experts):
            raise nothing_left(everybody.tests, name, chosen)
    for domain in () if sheets else domains or there:
        tests = tuple(task for task in everybody.tests if task.domain == domain)
        sheets.append((_known_of(replace(everybody, tests=tests), (domain,)), (domain,), 0))
    return sheets or [(everybody, (), 0)]


def _known_of(sheet: Sheet, domains: Sequence[str]) -> Sheet:
    """Return a sheet with the control and training items of its domains, without control items of its expert."""
    controls, training = (in_domains(tasks, domains) for tasks in (sheet.controls, sheet.training))
    foreign = tuple(task for task in controls if sheet.respondent not in task.authors)
    return replace(sheet, controls=foreign, training=training)


def _subfolder(number: int, whose: str) -> str:
    """The folder of a sheet; a name of a person or a domain keeps only letters and digits."""
    name = re.sub(r"[^\w]+", "-", whose).strip("-")[:40]
    return f"{number:02d}-{name or 'expert'}" if whose else ""


@dataclass(frozen=True, kw_only=True)
class Sheet:
    """The tasks of a group of annotators as a platform shows them, to everybody or to one expert.

    Attributes:
        folder: the study.
        arm_name: the group.
        language: the language of the instruction and of the page.
        tests: the items of the test.
        controls: the control items.
        training: the training items.
        media_url: the address of the folder `samples/`; empty if media keep their paths.
        respondent: the expert whom the sheet is for; empty if anybody may answer.
    """

    folder: StudyFolder
    arm_name: str
    language: Language
    tests: tuple[StudyTask, ...]
    controls: tuple[StudyTask, ...] = ()
    training: tuple[StudyTask, ...] = ()
    media_url: str = ""
    respondent: str = ""

    @property
    def arm(self) -> Arm:
        """The group in the plan."""
        return self.folder.plan.arms[self.arm_name]

    @cached_property
    def study(self) -> str:
        """The id of the study and the group, which every task carries."""
        return self.folder.arm_id(self.arm_name)

    @cached_property
    def instruction(self) -> str:
        """The instruction as HTML without scripts."""
        return instruction_html(self.folder.instruction(self.language), self.arm, self.language)

    @property
    def mine(self) -> str:
        """The text of the option "skip the question, because I may have written it"; empty without the option."""
        return SKIP_OWN[self.language] if self.arm.skip_own else ""

    @cached_property
    def mixed(self) -> list[StudyTask]:
        """The items of the test with control items between them at regular intervals; a dialogue is not interrupted."""
        return interleaved(self.tests, () if self.dialogue else self.controls)

    @cached_property
    def dialogue(self) -> bool:
        """Whether the items are turns of dialogues, which one person answers in order."""
        return any(task.dialogue for task in self.tests)

    @cached_property
    def form(self) -> AnswerForm:
        """The form of answer that the interface offers: the tasks' own, or free text if they differ."""
        forms = {task.form for task in (*self.tests, *self.controls)}
        return forms.pop() if len(forms) == 1 else "text"

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
        tasks = (*self.tests, *self.controls, *self.training)
        return {shown.field: media_kind(shown.path) for task in tasks for shown in task.media}

    def feedback(self, task: StudyTask) -> str:
        """Return what is said after a wrong answer to a training item."""
        answer = Text("The right answer: {answer}", answer=task.first_known or "")
        return task.hint or answer.in_language(self.language)

    def shown(self, task: StudyTask) -> dict[str, str]:
        """The fields of a task that annotators see, by name: the ids, the prompt, the addresses of media."""
        addresses = {media.field: self._address(media) for media in task.media}
        return {
            STUDY: self.study,
            TASK: task.id,
            "prompt": task.prompt,
            **{f"media_{field}": addresses.get(field, "") for field in self.media},
        }

    def _address(self, media: Media) -> str:
        return f"{self.media_url.rstrip('/')}/{media.path}" if self.media_url else media.path


def _page_of(name: str, sheet: Sheet, **values: object) -> str:
    return written(name, sheet.language, **{"sheet": sheet, "instruction": sheet.instruction, **values})


def _pages(sheet: Sheet) -> dict[str, str]:
    """Return the instruction as a page, and the training items with the right answer folded below each of them."""
    training = {"training.html": _page_of("training.html", sheet)} if sheet.training else {}
    return {"instruction.html": _page_of("page.html", sheet), **training}


def _table(header: Sequence[str], rows: Iterable[Sequence[str]], delimiter: str, end: str = "\n") -> str:
    """Return a table as text; a field with a line break, a delimiter or a quotation mark is put in quotation marks."""
    text = io.StringIO()
    csv.writer(text, delimiter=delimiter, lineterminator=end).writerows([header, *rows])
    return text.getvalue()


def _toloka_files(sheet: Sheet) -> dict[str, str]:
    """Return the files of a Toloka project by name.

    `project.json` has the fields of the platform's project: the instruction as HTML, the specifications of
    input and output, and the interface for the Template Builder.

    `tasks.tsv` holds the known answers of control items in `GOLDEN:answer`, because the platform checks
    people with them and does not show them; the items of the test have no known answer there.
    """
    files = {
        "tasks.tsv": _toloka_table(sheet, sheet.mixed),
        "instruction.html": sheet.instruction,
        "project.json": indented(_toloka_project(sheet)) + "\n",
    }
    if sheet.training:
        files["training.tsv"] = _toloka_table(sheet, sheet.training)
    return files


def _toloka_table(sheet: Sheet, tasks: Sequence[StudyTask]) -> str:
    header = [*(f"INPUT:{name}" for name in sheet.shown(tasks[0])), "GOLDEN:answer", "HINT:text"]
    hints = (sheet.feedback(task) if task.kind == "training" else "" for task in tasks)
    rows = (
        [*sheet.shown(task).values(), task.first_known or "", hint]
        for task, hint in zip(tasks, hints, strict=True)
    )
    return _table(header, rows, "\t")


def _toloka_project(sheet: Sheet) -> dict[str, Json]:
    beside = bool(sheet.mine) and sheet.form != "labels"
    media: dict[str, Json] = {f"media_{name}": {"type": "string", "required": False} for name in sheet.media}
    inputs: dict[str, Json] = {
        STUDY: {"type": "string", "required": True, "hidden": True},
        TASK: {"type": "string", "required": True, "hidden": True},
        "prompt": {"type": "string", "required": True},
        **media,
    }
    answer: dict[str, Json] = {"type": "string", "required": not beside}
    if sheet.labels:
        answer["allowed_values"] = [*sheet.labels]
    outputs: dict[str, Json] = {ANSWER: answer}
    if beside:
        outputs[MINE] = {"type": "boolean", "required": False}
    shown: list[Json] = [{"type": "view.text", "content": _data("input", "prompt")}]
    shown += [
        {"type": f"view.{kind}", "url": _data("input", f"media_{name}")} for name, kind in sheet.media.items()
    ]
    config: dict[str, Json] = {
        "view": {"type": "view.list", "items": [*shown, *_toloka_fields(sheet, beside=beside)]},
        "plugins": [{"type": "plugin.toloka", "layout": {"kind": "scroll", "taskWidth": 700}}],
    }
    return {
        "public_name": sheet.folder.plan.study,
        "public_description": sheet.folder.plan.study,
        "public_instructions": sheet.instruction,
        "task_spec": {
            "input_spec": inputs,
            "output_spec": outputs,
            "view_spec": {"type": "tb", "config": json.dumps(config, ensure_ascii=False)},
        },
        "assignments_issuing_type": "AUTOMATED",
    }


def _toloka_fields(sheet: Sheet, *, beside: bool) -> list[Json]:
    """The field of the answer and, beside an open answer, the mark "may be mine" that makes the answer needless."""
    data = _data("output", ANSWER)
    field: dict[str, Json] = {"data": data, "label": Text("Answer").in_language(sheet.language)}
    needed: Json = {"type": "condition.required", "data": data}
    if sheet.labels:
        field["type"] = "field.radio-group"
        field["options"] = [{"label": label, "value": label} for label in sheet.labels]
    elif sheet.form in PATTERNS:
        field["type"] = "field.text"
        schema: Json = {"type": "string", "pattern": f"^{PATTERNS[sheet.form]}$"}
        pattern: Json = {"type": "condition.schema", "data": data, "schema": schema}
        needed = {"type": "condition.all", "conditions": [needed, pattern]}
    else:
        field["type"] = "field.textarea"
    if not beside:
        return [{**field, "validation": needed}]
    marked: Json = {"type": "condition.equals", "data": _data("output", MINE), "to": True}
    mark: Json = {"type": "field.checkbox", "data": _data("output", MINE), "label": sheet.mine}
    return [{**field, "validation": {"type": "condition.any", "conditions": [needed, marked]}}, mark]


def _data(side: str, name: str) -> dict[str, Json]:
    return {"type": f"data.{side}", "path": name}


def _abc_files(sheet: Sheet) -> dict[str, str]:
    """Return the files of an ABC Elementary project by name.

    `tasks.tsv` has a row for each task or, if the items are turns of dialogues, a row for each dialogue with
    a JSON list in `INPUT:dialog`. It holds no known answer; an import takes those of control items from the study.
    """
    if sheet.dialogue:
        dialogues = (list(turns) for _, turns in groupby(sheet.tests, key=lambda task: task.dialogue))
        rows = [[json.dumps([*map(sheet.shown, turns)], ensure_ascii=False)] for turns in dialogues]
        return {"tasks.tsv": "\ufeff" + _table(["INPUT:dialog"], rows, "\t"), **_pages(sheet)}
    labels = {"labels": json.dumps(sheet.labels, ensure_ascii=False)} if sheet.labels else {}
    shown = [{**sheet.shown(task), **labels} for task in sheet.mixed]
    table = _table([f"INPUT:{name}" for name in shown[0]], ([*row.values()] for row in shown), "\t")
    return {"tasks.tsv": "\ufeff" + table, **_pages(sheet)}


def _csv_files(sheet: Sheet) -> dict[str, str]:
    """Return the files of a plain study by name.

    `tasks.csv` has a row for each task and empty columns for the answers. It begins with a byte-order mark, so that
    spreadsheets read it as UTF-8, and holds no known answer.
    """
    empty = dict.fromkeys((*ANSWER_FIELDS, *([MINE] if sheet.mine and not sheet.labels else [])), "")
    labels = {"labels": " | ".join(sheet.labels)} if sheet.labels else {}
    rows = []
    for number, page in enumerate(pages(sheet.mixed, sheet.arm.items_per_page), start=1):
        for task in page:
            shown = {name: guarded_text(text) for name, text in {**sheet.shown(task), **labels}.items()}
            rows.append({**shown, **empty, "respondent": sheet.respondent, "page": str(number)})
    table = _table([*rows[0]], ([*row.values()] for row in rows), ",", "\r\n")
    return {"tasks.csv": "\ufeff" + table, **_pages(sheet)}


def _label_studio_files(sheet: Sheet) -> dict[str, str]:
    """Return the files of a Label Studio project by name.

    `tasks.json` holds no known answer, because the community edition checks nobody with them and shows all
    data of a task. The element `Text` of the labelling configuration shows a prompt as text, so no markup of it is
    run. Labels of one sign are their own keys: by default, Label Studio numbers the options, so key 1 would choose 0.
    """
    tasks: list[Json] = [{"data": {**sheet.shown(task)}} for task in sheet.mixed]
    labels = [label for label in sheet.labels if label != sheet.mine]
    keys = all(len(label) == 1 and label.isascii() and label.isalnum() for label in labels)
    return {
        "tasks.json": indented(tasks) + "\n",
        "labels.xml": _page_of("label_studio.xml", sheet, keys=labels if keys else []),
        **_pages(sheet),
        "instruction.html": sheet.instruction,
    }


def _mturk_files(sheet: Sheet) -> dict[str, str]:
    """Return the files of a Mechanical Turk project by name: the CSV of a batch and its HTML layout.

    Mechanical Turk puts the cells of the CSV into the layout as HTML. Every cell is therefore written as HTML
    that shows a text: markup characters, the dollar sign of placeholders and characters that the platform's
    CSV cannot hold are character references.

    A page (HIT) is a row of the CSV and shows `items_per_page` tasks. If the last page is shorter, it has a
    CSV and a layout of its own. No file holds a known answer: a browser would show it.
    """
    files = _pages(sheet)
    instruction = files.pop("instruction.html") and sheet.instruction.replace("$", "&#36;")
    whole = pages(sheet.mixed, sheet.arm.items_per_page)
    for size in dict.fromkeys(map(len, whole)):
        mark, pattern = "" if size == len(whole[0]) else f"-{size}", PATTERNS.get(sheet.form)
        cells = [_mturk_cells(sheet, page) for page in whole if len(page) == size]
        files[f"tasks{mark}.csv"] = _table([*cells[0]], ([*row.values()] for row in cells), ",")
        files[f"layout{mark}.html"] = _page_of(
            "mturk.html", sheet, size=size, instruction=instruction, pattern=pattern
        )
    return files


def _mturk_cells(sheet: Sheet, page: Sequence[StudyTask]) -> dict[str, str]:
    """Return the cells of a page by the names of their columns."""
    cells = {
        f"{name}_{place}": mturk_cell(text)
        for place, task in enumerate(page, start=1)
        for name, text in sheet.shown(task).items()
        if name != STUDY
    }
    return {STUDY: sheet.study, **cells}


#: Platform -> what writes its files by name.
PLATFORM_FILES: Final[Mapping[Platform, Callable[[Sheet], dict[str, str]]]] = {
    "toloka": _toloka_files,
    "abc": _abc_files,
    "label-studio": _label_studio_files,
    "mturk": _mturk_files,
    "table": _csv_files,
}
