"""A model's answers to the items of a baseline, from a file of answers or from the folder of a run."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from pathlib import Path

from merilo.baselines.baseline_reader import StoredBaseline
from merilo.baselines.model_answers import Samples, read_samples
from merilo.errors import InputError
from merilo.models.harness_logs.log_formats import copied_name
from merilo.models.run_answers import OUTCOMES
from merilo.models.run_folder import DatasetRecord, inputs_hash, is_run, read_run
from merilo.strict_json import json_lines
from merilo.wording import listed


def run_file(path: Path, dataset: str | None) -> Path:
    """Return the file of answers that a path means: for the folder of a run, its file of the dataset.

    Args:
        path: a file of answers, or the folder of a run.
        dataset: the dataset's name; without it, the run must have one dataset.

    Raises:
        UsageError: the run has no answers to the dataset.
        InputError: the run's answers have not been written.
    """
    if not is_run(path):
        return path
    folder = read_run(path)
    name = folder.dataset_named(dataset or None)
    file = folder.answers_file(name)
    if not file.is_file():
        raise InputError(f"has no {file.name}: the same 'merilo run' writes it", file=path)
    return file


def read_model(path: Path, crowd: StoredBaseline) -> Samples:
    """Read a model's answers from a file or from the folder of a run, as `read_samples` does.

    Raises:
        UsageError: the run has no answers to the baseline's dataset.
        InputError: the answers cannot be read, or the run asked other items.
    """
    name = crowd.declaration.name
    file = run_file(path, name)
    found = read_samples(file, crowd)
    if not is_run(file.parent):
        return found
    folder = read_run(file.parent)
    record = folder.record.datasets.get(file.stem)
    if record is not None:
        _refuse_other_items(record, crowd, file)
        unasked = sum(name not in found.answers for name in record.hashes)
        found = replace(found, unasked=unasked)
    return replace(found, model=folder.model)


def model_file_name(path: Path) -> str:
    """Return the name of a copy of a model's file of answers: answers of a run are named after its model."""
    if is_run(path.parent):
        return re.sub(r"[^\w.-]+", "__", read_run(path.parent).model) + ".jsonl"
    return copied_name(path)


def run_outcomes(path: Path, dataset: str | None) -> str:
    """Describe the answers of a run that are none, such as "2 refused, 1 truncated"; empty if there are none or it is no run.

    Args:
        path: a file of answers, or the folder of a run.
        dataset: the dataset's name.
    """
    if not is_run(path):
        return ""
    folder = read_run(path)
    name = folder.dataset_named(dataset or None)
    programs = folder.path / f"{name}.completions.jsonl"
    counts = Counter(
        str(entry.get("outcome"))
        for _, entry in json_lines(programs if programs.is_file() else folder.path / f"{name}.jsonl")
        if isinstance(entry, dict)
    )
    asked = folder.record.datasets[name].requests
    told = [f"{counts[one]} {one.replace('_', ' ')}" for one in OUTCOMES[1:] if counts[one]]
    absent = asked - sum(counts.values())
    return ", ".join([*told, *([f"{absent} without a reply"] if absent > 0 else [])])


def _refuse_other_items(record: DatasetRecord, crowd: StoredBaseline, file: Path) -> None:
    """Refuse a run whose items have the ids of the baseline's items and other texts."""
    other = [
        name
        for name, item in zip(crowd.names, crowd.items, strict=True)
        # Items made from the columns of an export have no instruction, and their texts may be shortened.
        if item.instruction
        and name in record.hashes
        and record.hashes[name].partition("-")[0] != inputs_hash(item)
    ]
    if other:
        raise InputError(
            f"the run asked other items than the baseline: the inputs of {len(other)} items differ ({listed(other, 5)})",
            file=file,
        )
