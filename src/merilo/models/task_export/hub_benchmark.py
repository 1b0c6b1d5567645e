"""`eval.yaml` of a benchmark's own repository on the Hugging Face hub, which registers it and lets Inspect run it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import yaml

from merilo.datasets.declaration import Dataset
from merilo.datasets.own_items import QuestionRow, own_file, read_rows
from merilo.datasets.rendering import PLACEHOLDER, option_fields
from merilo.errors import UsageError
from merilo.strict_json import Json

HUB_FILE: Final = "eval.yaml"


def hub_benchmark(declared: Dataset) -> str:
    """Return the content of `eval.yaml` for a dataset whose declaration names the columns of its file.

    Args:
        declared: the dataset.

    Raises:
        UsageError: the file cannot say how the dataset is asked; the message names the reason.
        InputError: the file of the items cannot be read.
    """
    file = own_file(declared)
    rows = read_rows(file) if file else None
    columns = declared.items
    if columns is None or not rows:
        raise _refused(
            declared, "its declaration names no file of questions ('merilo datasets new' writes one)"
        )
    options = option_fields(declared) if columns.options else {}
    asked = {name: columns.fields.get(name, name) for name in declared.fields if name not in options.values()}
    used = [*asked.values(), *columns.options, *columns.gold]
    if declared.media:
        raise _refused(declared, "its items have pictures or sounds")
    if nested := next((name for name in used if name not in rows[0].values or "." in name), None):
        raise _refused(declared, f"the column {nested} is inside another one; give it a column of its own")
    if len(columns.gold) != 1 or columns.gold_after or not asked:
        raise _refused(declared, "the gold answer is not the whole content of one column")
    _refuse_gold(declared, rows, columns.gold[0])
    *context, question = asked.values()
    fields: dict[str, Json] = {"input": question, "target": columns.gold[0]}
    if options:
        fields["choices"] = columns.options[0] if len(columns.options) == 1 else [*columns.options]
        template = "\n\n".join([*(f"{{{name}}}" for name in context), "{prompt}"]) if context else ""
    else:
        template = _template(declared, asked, question)
    if context:
        fields["metadata"] = [*context]
    solvers: list[Json] = [{"name": "prompt_template", "args": {"template": template}}] if template else []
    solvers.append({"name": "multiple_choice" if options else "generate"})
    task: dict[str, Json] = {
        "id": declared.name,
        "config": "default",
        "split": declared.splits[0] if declared.splits else "test",
        "field_spec": fields,
        "solvers": solvers,
        "scorers": [_scorer(declared)],
    }
    content: dict[str, Json] = {
        "name": declared.title,
        "description": declared.about or f"{len(rows)} items; metric {declared.metrics[0]}",
        "evaluation_framework": "inspect-ai",
        "tasks": [task],
    }
    return yaml.safe_dump(content, allow_unicode=True, sort_keys=False, width=110)


def _refuse_gold(declared: Dataset, rows: list[QuestionRow], column: str) -> None:
    """Refuse gold answers that Inspect would read as others: it takes letters, numbers from 0, and whole texts."""
    values = [row.values.get(column) for row in rows]
    form, kind = declared.items.gold_is if declared.items else None, declared.answer.kind
    if declared.items and declared.items.options:
        whole = all(isinstance(one, int) and not isinstance(one, bool) for one in values)
        letters = all(isinstance(one, str) and one.strip() in declared.answer.labels for one in values)
        if {*declared.items.gold} & {*declared.items.options} or not (
            (form == "from-0" and whole) or (form == "letter" and letters)
        ):
            raise _refused(
                declared, f"the column {column} must hold capital letters of options or whole numbers from 0"
            )
    elif kind == "choice" and not all(str(one) in declared.answer.labels for one in values):
        raise _refused(declared, f"the column {column} must hold the labels of the answers")
    elif kind not in {"choice", "integer", "text"} or not all(
        isinstance(one, str | int) and not isinstance(one, bool) for one in values
    ):
        raise _refused(declared, f"the column {column} must hold one text or whole number")


def _template(declared: Dataset, asked: Mapping[str, str], question: str) -> str:
    """Return the first prompt as Inspect fills it in: `{prompt}` is the question, other fields are columns."""
    (first, *_) = next(iter(declared.prompts.values()))
    named = {**asked, next(name for name, column in asked.items() if column == question): "prompt"}
    return PLACEHOLDER.sub(
        lambda found: f"{{{named.get(found[1], found[1])}}}" if found[1] else found[0], first
    )


def _scorer(declared: Dataset) -> Json:
    if declared.items and declared.items.options:
        return {"name": "choice"}
    if declared.answer.kind == "integer":
        return {"name": "match", "args": {"numeric": True}}
    if declared.answer.kind == "choice":
        return {"name": "match", "args": {"location": "begin"}}
    return {"name": "f1" if declared.metrics[0] == "f1" else "exact"}


def _refused(declared: Dataset, why: str) -> UsageError:
    return UsageError(f"{HUB_FILE} cannot say how {declared.title} is asked: {why}")
