"""The rows of an exported task: every item with its complete prompt, and what its answer is scored against."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from merilo.datasets.declaration import Dataset
from merilo.errors import DataError, UsageError, argument
from merilo.items import Item
from merilo.metrics.scoring import CRITERION, RATED, gold_label, groups, has_gold, metric_names
from merilo.models.prompter import TARGET_DELIMITER, Prompter
from merilo.strict_json import Json

#: The metric of every exported task: the share of items with an answer that can be read.
ANSWERED: Final = "answered"

#: Metrics that need only the label of the answer and the gold label.
OF_LABELS: Final = ("acc", "em", "f1_macro", "mcc")


@dataclass(frozen=True, slots=True)
class ExportedRow:
    """One row of the data.

    Attributes:
        id: the item's id as text.
        prompt: the complete prompt, with its shots.
        choices: the labels whose log-likelihoods are compared; empty if the answer is generated.
        scored: pairs of a metric and the gold label that it compares; empty if the answer is generated or there is no gold.
    """

    id: str
    prompt: str
    choices: tuple[str, ...] = ()
    scored: tuple[tuple[str, str], ...] = ()

    def line(self) -> str:
        """Return the row as a line of JSON; `scored` is JSON in a text, because rows need columns of one type."""
        content: dict[str, Json] = {"id": self.id, "prompt": self.prompt, "choices": [*self.choices]}
        content["scored"] = json.dumps([[*pair] for pair in self.scored], ensure_ascii=False)
        return json.dumps(content, ensure_ascii=False) + "\n"


@dataclass(frozen=True, slots=True)
class TaskMaterial:
    """Everything that a task folder is made of.

    Attributes:
        declared: the dataset.
        declaration: its name, or the path of its declaration.
        items: the items.
        rows: their rows.
        metrics: names of the metrics, those of groups last; empty without gold.
        shots: how many solved items precede each question.
        mode: whether choices are compared or answers are generated.
        stop: what ends a generated answer.
        max_tokens: the most tokens of a generated answer.
        temperature: the temperature of generation.
        chat: whether the prompts are for chat models.
    """

    declared: Dataset
    declaration: str
    items: tuple[Item, ...]
    rows: tuple[ExportedRow, ...]
    metrics: tuple[str, ...]
    shots: int
    mode: str
    stop: tuple[str, ...]
    max_tokens: int | None
    temperature: float
    chat: bool

    @property
    def name(self) -> str:
        """The name of the task, of its files and of its function: letters, digits and underscores."""
        return "merilo_" + re.sub(r"\W+", "_", self.declared.name)


def task_material(
    declared: Dataset, declaration: str, items: Sequence[Item], prompter: Prompter
) -> TaskMaterial:
    """Render the items of a task.

    Args:
        declared: the dataset.
        declaration: its name, or the path of its declaration.
        items: the items.
        prompter: makes the requests, the same as those of `merilo run`.

    Raises:
        UsageError: a task file cannot express the dataset.
        DataError: there are no items, an item has a picture, sound or film, or an item's prompt cannot be rendered.
    """
    if (reason := inexpressible(declared)) is not None:
        raise UsageError(f"{declared.title} cannot be exported: {reason}; use merilo run")
    if not items:
        raise DataError(f"{declared.title} has no items to export")
    requests = [prompter.request(item) for item in items]
    for item in items:
        if (
            declared.media
            and isinstance(item.inputs, dict)
            and any(item.inputs.get(name) for name in declared.media)
        ):
            raise DataError(
                f"item {item.id} has a file for <{declared.media[0]}>, which an exported task cannot hold"
            )
    open_gold = all(map(has_gold, items))
    names = [name for group in metric_names(declared, items) for name in group] if open_gold else []
    rows = tuple(
        ExportedRow(
            str(item.id),
            request.prompt,
            tuple(choice.removeprefix(TARGET_DELIMITER) for choice in request.choices),
            tuple(_scored(declared, item)) if open_gold and request.choices else (),
        )
        for item, request in zip(items, requests, strict=True)
    )
    first = requests[0]
    return TaskMaterial(
        declared,
        declaration,
        tuple(items),
        rows,
        tuple(dict.fromkeys(names)),
        prompter.shot_count,
        first.mode,
        first.stop,
        first.max_tokens,
        first.temperature,
        prompter.chat,
    )


def inexpressible(declared: Dataset) -> str | None:
    """Return why a task file cannot express a dataset; `None` if it can."""
    if declared.shots.earlier_turns:
        return "each question is asked with the model's own answers to the questions before it, which harnesses ask in any order"
    if declared.answer.kind == "program":
        return "its programs must run in the sandbox"
    if set(RATED) & set(declared.metrics):
        return f"its metric {declared.metrics[0].upper()} needs three classifiers"
    return None


def _scored(declared: Dataset, item: Item) -> Iterator[tuple[str, str]]:
    """Yield each metric of an item's label with the gold label."""
    group = next(iter(groups(declared, [item])), None) if declared.extra else None
    if declared.answer.criteria:
        for criterion in declared.answer.criteria:
            yield (group or CRITERION).replace(CRITERION, criterion), gold_label(item, criterion)
        return
    gold = gold_label(item)
    for metric in declared.metrics:
        if metric not in OF_LABELS:
            raise UsageError(
                f"{declared.title} cannot be exported for log-likelihoods: {metric} needs more than labels ({argument('chat', given=True)} asks for texts)"
            )
        yield metric, gold
    if group is not None:
        yield group, gold
