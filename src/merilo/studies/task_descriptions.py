"""What annotators are told about a dataset of the catalogue: the task, the meaning of labels, the form of an answer, solved examples."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from importlib.resources import files
from typing import Any

from merilo.bilingual import BilingualText
from merilo.datasets.declaration import Dataset
from merilo.datasets.rendering import group, prompts, template
from merilo.items import Item


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskDescription:
    """What annotators are told about a dataset.

    Attributes:
        task: what to do.
        answer: how to write an answer; `None` if the kind of the answer says it.
        labels: a label, or several separated by commas -> their meaning.
        examples: solved items written for Merilo, which show every label and every form of prompt.
    """

    task: BilingualText
    answer: BilingualText | None = None
    labels: Mapping[str, BilingualText] = field(default_factory=dict)
    examples: tuple[Item, ...] = ()


@cache
def task_descriptions() -> Mapping[str, TaskDescription]:
    """Read the descriptions of all datasets of the catalogue, by the dataset's name."""
    import yaml  # noqa: PLC0415 - needed only where an instruction is written

    text = (files("merilo.studies") / "instructions.yaml").read_text(encoding="utf-8")
    known: dict[str, dict[str, Any]] = yaml.safe_load(text)
    return {name: _description(entry) for name, entry in known.items()}


def _description(entry: Mapping[str, Any]) -> TaskDescription:
    return TaskDescription(
        task=BilingualText(**entry["task"]),
        answer=BilingualText(**entry["answer"]) if "answer" in entry else None,
        labels={label: BilingualText(**meaning) for label, meaning in entry.get("labels", {}).items()},
        examples=tuple(
            Item(
                f"example-{number}", one.get("prompt", 0), one["inputs"], one["outputs"], one.get("meta", {})
            )
            for number, one in enumerate(entry.get("examples", ()), start=1)
        ),
    )


def written_examples(declared: Dataset, test: Sequence[Item]) -> list[Item]:
    """Return Merilo's own examples of a dataset, each with its own template, else that of a test item of the same form.

    Args:
        declared: the dataset.
        test: the items of the test.
    """
    known = task_descriptions().get(declared.name)
    like = {group(item, declared): item for item in reversed(test)}
    found = []
    for item in known.examples if known else ():
        form = group(item, declared)
        if form in like and not isinstance(item.instruction, str):
            found.append(replace(item, instruction=template(like[form], declared)))
        elif isinstance(item.instruction, str) or form in prompts(declared):
            found.append(item)
    return found
