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
from merilo.models.asking import Request
from merilo.models.prompter import TARGET_DELIMITER, Prompter, shots_of
from merilo.models.task_export import TaskFormat
from merilo.models.task_export.exported_scores import ITEMS_FILE, TASK_FILE
from merilo.settings import RunSettings
from merilo.strict_json import Json, dumped
from merilo.version import __version__
from merilo.wording import counted_noun

#: The metric of every exported task: the share of items with an answer that can be read.
ANSWERED: Final = "answered"

#: Metrics that need only the label of the answer and the gold label.
OF_LABELS: Final = ("acc", "em", "f1_macro", "mcc")


@dataclass(frozen=True, slots=True)
class TaskMaterial:
    """Everything that a task folder is made of.

    Attributes:
        declared: the dataset.
        declaration: its name, or the path of its declaration.
        items: the items.
        requests: the request of each item, with its shots; all have the same mode and sampling.
        metrics: names of the metrics, those of groups last; empty without gold.
        prompter: what made the requests.
    """

    declared: Dataset
    declaration: str
    items: Sequence[Item]
    requests: Sequence[Request]
    metrics: Sequence[str]
    prompter: Prompter

    @property
    def name(self) -> str:
        """The name of the task, of its files and of its function: letters, digits and underscores."""
        return "merilo_" + re.sub(r"\W+", "_", self.declared.name)

    @property
    def compares(self) -> bool:
        """Whether the log-likelihoods of labels are compared; otherwise answers are generated."""
        return bool(self.requests[0].choices)

    def rows(self) -> Iterator[str]:
        """Yield the lines of the data, one JSON object an item.

        `choices` are the labels that are compared, `scored` pairs of a metric and the gold label that it compares; both
        are empty if the answer is generated. `scored` is JSON in a text, because rows need columns of one type.
        """
        for item, request in zip(self.items, self.requests, strict=True):
            labels = [choice.removeprefix(TARGET_DELIMITER) for choice in request.choices]
            scored = [*_scored(self.declared, item)] if self.metrics and labels else []
            content = {"id": str(item.id), "prompt": request.prompt, "choices": labels}
            text = json.dumps(scored, ensure_ascii=False)
            yield json.dumps(content | {"scored": text}, ensure_ascii=False) + "\n"


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
    for item in items:
        if isinstance(item.inputs, dict) and any(item.inputs.get(name) for name in declared.media):
            media = f"a file for <{declared.media[0]}>, which an exported task cannot hold"
            raise DataError(f"item {item.id} has {media}")
    groups = metric_names(declared, items) if all(map(has_gold, items)) else ()
    metrics = tuple(dict.fromkeys(name for group in groups for name in group))
    requests = [*map(prompter.request, items)]
    return TaskMaterial(declared, declaration, items, requests, metrics, prompter)


def inexpressible(declared: Dataset) -> str | None:
    """Return why a task file cannot express a dataset; `None` if it can."""
    if declared.shots.earlier_turns:
        return "each question is asked with the model's own answers before it, but harnesses ask in any order"
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
            asks = f"{metric} needs more than labels ({argument('chat', given=True)} asks for texts)"
            raise UsageError(f"{declared.title} cannot be exported for log-likelihoods: {asks}")
        yield metric, gold
    if group is not None:
        yield group, gold


_README: Final = """# {name}

{title}: {count} items in {prompts}, with {shots} before each question, {kind}.
Each row of `{name}.jsonl` holds its complete prompt, so the harness adds no shots of its own.
Written by Merilo {version}.

Metrics: {metrics}; `{answered}` is the share of answers that can be read.
{needs}

    {command}
"""
_NEEDS: Final = """\
The answers are read and scored by Merilo, which must be installed where the task runs: `pip install merilo`."""
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
    alone = not needs_merilo(material, form)
    if form == "inspect" and material.compares:
        raise UsageError("Inspect compares no log-likelihoods: prompts for it are made for chat models")
    command = _command(material, form)
    name = material.name
    texts = {f"{name}.jsonl": "".join(material.rows()), "README.md": _readme(material, command, alone=alone)}
    if form == "lm-eval":
        texts |= {
            f"{name}.yaml": _lm_eval_yaml(material),
            f"{name}.py": _lm_eval_scores(material, alone=alone),
        }
    else:
        texts["task.py"] = _INSPECT_TASK.format(name=name)
    if not alone:
        texts[TASK_FILE] = dumped(_scored_task(folder, material))
    for file, text in texts.items():
        (folder / file).write_text(text, encoding="utf-8")
    return command


def needs_merilo(material: TaskMaterial, form: TaskFormat) -> bool:
    """Return whether Merilo must be installed where the task runs."""
    return form == "inspect" or not material.compares


def _scored_task(folder: Path, material: TaskMaterial) -> dict[str, Json]:
    """Write the items with gold and a custom declaration; return the dataset, metrics and limits of generation."""
    path = Path(material.declaration)
    custom = path / "dataset.yaml" if path.is_dir() else path
    name = material.declared.name
    if custom.suffix in {".yaml", ".yml"} and custom.is_file():
        name = "dataset.yaml"
        shutil.copyfile(custom, folder / name)
    write_splits(folder / ITEMS_FILE, [Split("test", tuple(material.items))])
    asked = material.requests[0]
    return {
        "dataset": name,
        "metrics": [*material.metrics],
        "name": material.name,
        "max_tokens": asked.max_tokens,
        "temperature": asked.temperature,
        "stop": [*asked.stop],
    }


class _Function(str):
    """A function of the task's module, which lm-eval's YAML names by a tag."""


class _Dumper(yaml.SafeDumper):
    """Writes functions with lm-eval's tag."""


_Dumper.add_representer(_Function, lambda dumper, name: dumper.represent_scalar("!function", str(name)))


def _lm_eval_yaml(material: TaskMaterial) -> str:
    name, asked = material.name, material.requests[0]
    content: dict[str, object] = {
        "task": name,
        "dataset_path": name,
        "test_split": "test",
        "output_type": "multiple_choice" if material.compares else "generate_until",
        "doc_to_text": "prompt",
        "target_delimiter": " ",
        "num_fewshot": 0,
    }
    if material.compares:
        content |= {"doc_to_choice": "choices", "doc_to_target": 0}
    else:
        content["doc_to_target"] = ""
        content["generation_kwargs"] = {
            "until": [*asked.stop],
            "max_gen_toks": asked.max_tokens,
            "do_sample": asked.temperature > 0,
            "temperature": asked.temperature,
        }
    content["custom_dataset"] = _Function(f"{name}.load")
    content["process_results"] = _Function(f"{name}.process_results")
    functions = [(metric, _Function(f"{name}.aggregate_{n}")) for n, metric in enumerate(material.metrics)]
    content["metric_list"] = [
        {"metric": metric, "aggregation": aggregation, "higher_is_better": True}
        for metric, aggregation in (*functions, (ANSWERED, "mean"))
    ]
    content["metadata"] = {"version": 1.0}
    return yaml.dump(content, Dumper=_Dumper, sort_keys=False, allow_unicode=True)


def _lm_eval_scores(material: TaskMaterial, *, alone: bool) -> str:
    """Return the module of a task, with one aggregation for each metric: `aggregate_0` and so on."""
    lines = []
    for number, metric in enumerate(material.metrics):
        of_group = "mcc" if material.declared.answer.criteria else metric.partition(".")[0]
        value = of_group if alone else f"TASK.aggregation({metric!r})"
        lines.append(f"aggregate_{number} = {value}\n")
    if alone:
        text = (files("merilo.models.task_export") / "likelihood_scores.py").read_text(encoding="utf-8")
    else:
        text = _LM_EVAL_SCORES.format(name=material.name)
    return text + "\n" + "".join(lines)


def _command(material: TaskMaterial, form: TaskFormat) -> str:
    if form == "inspect":
        return "cd DIR && inspect eval task.py --model MODEL"
    chat = " --apply_chat_template" if material.prompter.chat else ""
    return (
        f"lm_eval --include_path DIR --tasks {material.name} --model MODEL --model_args ... "
        f"--log_samples --output_path OUT{chat}"
    )


def _readme(material: TaskMaterial, command: str, *, alone: bool) -> str:
    shots = material.prompter.shot_count
    none = "none, because the items have no gold answers: pack the answers into a submission"
    return _README.format(
        name=material.name,
        title=material.declared.title,
        count=len(material.items),
        prompts="the prompts of the benchmark's harness"
        if material.prompter.form == "harness"
        else "Merilo's prompts",
        shots=counted_noun(shots, "solved item", "solved items") if shots else "no solved items",
        kind="log-likelihoods of the labels" if material.compares else "generated answers",
        version=__version__,
        metrics=", ".join(material.metrics) or none,
        answered=ANSWERED,
        needs=_NEEDS_NOT if alone else _NEEDS,
        command=command,
    )


def export_task(
    dataset: str,
    *,
    form: TaskFormat,
    out: str | Path,
    data: str | Path | None = None,
    settings: RunSettings,
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
        settings: the form of the requests, and the choice of solved items.
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
    conversation = chat or form == "inspect"
    solved = shots_of(source.file, source.declared, split=source.split.name)
    items = source.split.items
    prompter = Prompter(source.declared, solved, settings, chat=conversation, items=items)
    material = task_material(source.declared, dataset, items, prompter)
    with new_folder(Path(out), force=force) as folder:
        command = write_task(folder, material, form).replace("DIR", str(out))
    return material, command
