"""Write the folder of an exported task."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path
from typing import Final

import yaml

from merilo.errors import UsageError
from merilo.items import Split, write_splits
from merilo.models.task_export.exported_rows import ANSWERED, TaskMaterial
from merilo.models.task_export.exported_scores import ITEMS_FILE, TASK_FILE
from merilo.models.task_export.task_format import TaskFormat
from merilo.strict_json import dumped
from merilo.version import __version__

_NEEDS: Final = "The answers are read and scored by Merilo, which must be installed where the task runs: `pip install merilo`."
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
    """Write what Merilo needs to score answers: the items with gold, the dataset, the metrics, the limits of generation."""
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
    return f"lm_eval --include_path DIR --tasks {material.name} --model MODEL --model_args ... --log_samples --output_path OUT{chat}"


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
        f"# {material.name}\n\n{material.declared.title}: {len(material.rows)} items with {shots} before each question, {kind}.\n"
        f"Each row of `{material.name}.jsonl` holds its complete prompt, so the harness adds no shots of its own.\n"
        f"Written by Merilo {__version__}.\n\nMetrics: {metrics}; `{ANSWERED}` is the share of answers that can be read.\n"
        f"{_NEEDS_NOT if alone else _NEEDS}\n\n    {command}\n"
    )
