"""Export a dataset as a task of another harness.

A folder with every item's complete prompt, and what its answer is scored against.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Final

import yaml

from merilo.atomic_write import new_folder
from merilo.datasets.declaration import Dataset
from merilo.errors import DataError, UsageError, argument
from merilo.items import Item, Split, write_splits
from merilo.metrics.scoring import CRITERION, RATED, gold_label, groups, has_gold, metric_names
from merilo.models.asked_datasets import item_sources
from merilo.models.prompter import TARGET_DELIMITER, Prompter, shots_of
from merilo.models.task_export import TaskFormat
from merilo.models.task_export.exported_scores import ITEMS_FILE, TASK_FILE
from merilo.settings import RunSettings
from merilo.strict_json import Json, dumped
from merilo.version import __version__

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
        scored: pairs of a metric and the gold label that it compares; empty if the answer is generated or
            there is no gold.
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
        return (
            "each question is asked with the model's own answers to the questions before it, which "
            "harnesses ask in any order"
        )
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
                f"{declared.title} cannot be exported for log-likelihoods: {metric} needs more "
                f"than labels ({argument('chat', given=True)} asks for texts)"
            )
        yield metric, gold
    if group is not None:
        yield group, gold


_NEEDS: Final = (
    "The answers are read and scored by Merilo, which must be installed where the task runs: `pip "
    "install merilo`."
)
_NEEDS_NOT: Final = "The task needs no Merilo where it runs."

_LM_EVAL_SCORES: Final = '''"""Scores of {name} for lm-eval: the extraction and the metrics of Merilo."""

import json
from pathlib import Path

from merilo.models.task_export.exported_scores import ExportedTask

TASK = ExportedTask(Path(__file__).parent)


def load(**_):
    from datasets import Dataset, DatasetDict

    lines = Path(__file__).with_suffix(".jsonl").read_text(encoding="utf-8").split("\\n")
    return DatasetDict(test=Dataset.from_list([json.loads(line) for line in lines if line]))


process_results = TASK.process_results
'''

_INSPECT_TASK: Final = '''"""{name} for Inspect, with the prompts, the extraction and the metrics of Merilo."""

from merilo.models.task_export.inspect_scoring import inspect_task

from inspect_ai import task


@task
def {name}():
    return inspect_task(__file__)
'''


def write_task(folder: Path, material: TaskMaterial, form: TaskFormat) -> str:
    """Write the files of a task into a folder that exists.

    Args:
        folder: the folder.
        material: the items with their prompts.
        form: the harness.

    Returns:
        The command that runs the task, as a sentence's end.

    Raises:
        UsageError: Inspect was chosen, which compares no log-likelihoods.
    """
    alone = form == "lm-eval" and bool(material.rows[0].choices)
    if form == "inspect" and material.rows[0].choices:
        raise UsageError("Inspect compares no log-likelihoods: prompts for it are made for chat models")
    (folder / f"{material.name}.jsonl").write_text(
        "".join(row.line() for row in material.rows), encoding="utf-8"
    )
    if form == "lm-eval":
        (folder / f"{material.name}.yaml").write_text(_lm_eval_yaml(material), encoding="utf-8")
        (folder / f"{material.name}.py").write_text(_lm_eval_scores(material, alone=alone), encoding="utf-8")
    else:
        (folder / "task.py").write_text(_INSPECT_TASK.format(name=material.name), encoding="utf-8")
    if not alone:
        _write_scored(folder, material)
    command = _command(material, form)
    (folder / "README.md").write_text(_readme(material, command, alone=alone), encoding="utf-8")
    return command


def needs_merilo(material: TaskMaterial, form: TaskFormat) -> bool:
    """Return whether Merilo must be installed where the task runs."""
    return form == "inspect" or not material.rows[0].choices


def _write_scored(folder: Path, material: TaskMaterial) -> None:
    """Write what Merilo needs to score answers.

    The items with gold, the dataset, the metrics, the limits of generation.
    """
    path = Path(material.declaration)
    custom = path / "dataset.yaml" if path.is_dir() else path
    if custom.suffix in {".yaml", ".yml"} and custom.is_file():
        shutil.copyfile(custom, folder / "dataset.yaml")
        name = "dataset.yaml"
    else:
        name = material.declared.name
    write_splits(folder / ITEMS_FILE, [Split("test", material.items)])
    (folder / TASK_FILE).write_text(
        dumped(
            {
                "dataset": name,
                "metrics": [*material.metrics],
                "name": material.name,
                "max_tokens": material.max_tokens,
                "temperature": material.temperature,
                "stop": [*material.stop],
            }
        ),
        encoding="utf-8",
    )


def _lm_eval_yaml(material: TaskMaterial) -> str:
    generated = not material.rows[0].choices
    content: dict[str, object] = {
        "task": material.name,
        "dataset_path": material.name,
        "test_split": "test",
        "output_type": "generate_until" if generated else "multiple_choice",
        "doc_to_text": "prompt",
        "target_delimiter": " ",
        "num_fewshot": 0,
    }
    if generated:
        content["doc_to_target"] = ""
        content["generation_kwargs"] = {
            "until": [*material.stop],
            "max_gen_toks": material.max_tokens,
            "do_sample": material.temperature > 0,
            "temperature": material.temperature,
        }
    else:
        content |= {"doc_to_choice": "choices", "doc_to_target": 0}
    text = yaml.safe_dump(content, sort_keys=False, allow_unicode=True)
    lines = [
        f"custom_dataset: !function {material.name}.load",
        f"process_results: !function {material.name}.process_results",
        "metric_list:",
    ]
    for number, metric in enumerate((*material.metrics, ANSWERED)):
        aggregation = "mean" if metric == ANSWERED else f"!function {material.name}.aggregate_{number}"
        lines += [
            f"  - metric: {json.dumps(metric, ensure_ascii=False)}",
            f"    aggregation: {aggregation}",
            "    higher_is_better: true",
        ]
    return text + "\n".join([*lines, "metadata:", "  version: 1.0", ""])


def _lm_eval_scores(material: TaskMaterial, *, alone: bool) -> str:
    """Return the module of a task, with one aggregation for each metric: `aggregate_0` and so on."""
    if alone:
        text = (files("merilo.models.task_export") / "likelihood_scores.py").read_text(encoding="utf-8")
    else:
        text = _LM_EVAL_SCORES.format(name=material.name)
    return text + "\n" + "".join(_aggregations(material, alone=alone))


def _aggregations(material: TaskMaterial, *, alone: bool) -> Iterator[str]:
    for number, metric in enumerate(material.metrics):
        if alone:
            of_group = "mcc" if material.declared.answer.criteria else metric.partition(".")[0]
            yield f"aggregate_{number} = {of_group}\n"
        else:
            yield f"aggregate_{number} = TASK.aggregation({metric!r})\n"


def _command(material: TaskMaterial, form: TaskFormat) -> str:
    if form == "inspect":
        return "cd DIR && inspect eval task.py --model MODEL"
    chat = " --apply_chat_template" if material.chat else ""
    return (
        f"lm_eval --include_path DIR --tasks {material.name} --model MODEL --model_args ... "
        f"--log_samples --output_path OUT{chat}"
    )


def _readme(material: TaskMaterial, command: str, *, alone: bool) -> str:
    shots = (
        "no solved items"
        if not material.shots
        else f"{material.shots} solved item{'s' if material.shots > 1 else ''}"
    )
    kind = "log-likelihoods of the labels" if material.rows[0].choices else "generated answers"
    metrics = (
        ", ".join(material.metrics)
        or "none, because the items have no gold answers: pack the answers into a submission"
    )
    return (
        f"# {material.name}\n\n{material.declared.title}: {len(material.rows)} items with {shots} "
        f"before each question, {kind}.\n"
        f"Each row of `{material.name}.jsonl` holds its complete prompt, so the harness adds no shots of its own.\n"
        f"Written by Merilo {__version__}.\n\nMetrics: {metrics}; `{ANSWERED}` is the share of "
        "answers that can be read.\n"
        f"{_NEEDS_NOT if alone else _NEEDS}\n\n    {command}\n"
    )


def export_task(
    dataset: str,
    *,
    form: TaskFormat,
    out: str | Path,
    data: str | Path | None = None,
    shots: int | None = None,
    seed: int = 0,
    chat: bool = False,
    force: bool = False,
) -> tuple[TaskMaterial, str]:
    """Write a task folder that lm-eval or Inspect runs, as `merilo datasets export` does.

    Args:
        dataset: a dataset's name, or the path of a YAML declaration.
        form: the harness.
        out: the new folder.
        data: the items with their solved items; by default, those of a custom declaration's folder, else the
            bundled ones.
        shots: how many solved items precede a question; by default, as many as the dataset declares.
        seed: random seed for the choice of solved items.
        chat: whether answers are generated by a chat model; always so for Inspect.
        force: whether an existing folder may be replaced.

    Returns:
        What was written, and the command that runs it.

    Raises:
        UsageError: the dataset cannot be expressed as a task, or shots do not fit it.
        InputError: the items cannot be read.
        DataError: there are no items or too few solved ones.
        OutputError: the folder exists, or cannot be written.
    """
    (source,) = item_sources([dataset], None if data is None else Path(data))
    settings = RunSettings(shots=shots, seed=seed)
    conversation = chat or form == "inspect"
    solved = shots_of(source.file, source.declared, split=source.split.name)
    prompter = Prompter(source.declared, solved, settings, chat=conversation)
    material = task_material(source.declared, dataset, source.split.items, prompter)
    with new_folder(Path(out), force=force) as folder:
        command = write_task(folder, material, form).replace("DIR", str(out))
    return material, command
