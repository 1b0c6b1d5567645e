"""Write the files of a Toloka project: tasks with control items, training, the instruction and the interface.

`project.json` has the fields of the platform's project: the instruction as HTML, the specifications of input and output, and
the interface for the Template Builder. Its text component shows the prompt as text, so no markup of a dataset is run.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Sequence

from merilo.strict_json import Json, indented
from merilo.studies.instruction_html import feedback, instruction_body
from merilo.studies.outgoing import PATTERNS, STUDY, TASK, Outgoing
from merilo.studies.study_tasks import StudyTask


def toloka_files(outgoing: Outgoing) -> dict[str, str]:
    """Return the files of a Toloka project by name.

    `tasks.tsv` holds the known answers of control items in `GOLDEN:answer`, because the platform checks people with them and
    does not show them; the items of the test have no known answer there.
    """
    files = {
        "tasks.tsv": _table(outgoing, outgoing.mixed),
        "instruction.html": instruction_body(outgoing),
        "project.json": indented(_project(outgoing)) + "\n",
    }
    if outgoing.training:
        files["training.tsv"] = _table(outgoing, outgoing.training)
    return files


def _table(outgoing: Outgoing, tasks: Sequence[StudyTask]) -> str:
    columns = list(outgoing.shown(tasks[0]))
    header = [*(f"INPUT:{name}" for name in columns), "GOLDEN:answer", "HINT:text"]
    return tab_separated(header, (_row(outgoing, task) for task in tasks))


def _row(outgoing: Outgoing, task: StudyTask) -> list[str]:
    hint = feedback(outgoing, task.first_known or "", task.hint) if task.kind == "training" else ""
    return [*outgoing.shown(task).values(), task.first_known or "", hint]


def tab_separated(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table as TSV; a field with a line break, tab or quotation mark is put in quotation marks."""
    text = io.StringIO()
    writer = csv.writer(text, delimiter="\t", lineterminator="\n")
    writer.writerow(header)
    writer.writerows(rows)
    return text.getvalue()


def _project(outgoing: Outgoing) -> dict[str, Json]:
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
        "view": {"type": "view.list", "items": [*_shown(outgoing), *_fields(outgoing, beside=beside)]},
        "plugins": [{"type": "plugin.toloka", "layout": {"kind": "scroll", "taskWidth": 700}}],
    }
    return {
        "public_name": outgoing.title,
        "public_description": outgoing.title,
        "public_instructions": instruction_body(outgoing),
        "task_spec": {
            "input_spec": inputs,
            "output_spec": outputs,
            "view_spec": {
                "type": "tb",
                "config": json.dumps(config, ensure_ascii=False),
            },
        },
        "assignments_issuing_type": "AUTOMATED",
    }


def _shown(outgoing: Outgoing) -> list[Json]:
    shown: list[Json] = [{"type": "view.text", "content": _data("input", "prompt")}]
    for name, kind in outgoing.media.items():
        shown.append({"type": f"view.{kind}", "url": _data("input", f"media_{name}")})
    return shown


def _fields(outgoing: Outgoing, *, beside: bool) -> list[Json]:
    """The field of the answer and, beside an open answer, the mark "may be mine" that makes the answer needless."""
    field: dict[str, Json] = {"data": _data("output", "answer"), "label": outgoing.word("answer")}
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
