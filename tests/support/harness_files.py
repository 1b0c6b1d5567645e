"""Logs of other harnesses in the shapes that the harnesses write."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from merilo.datasets import dataset
from merilo.datasets.bundled_items import examples
from merilo.datasets.rendering import render
from merilo.items import Item, entry_of, write_splits


def items_of(name: str) -> list[Item]:
    return list(examples(dataset(name))["test"].items)


def data_of(name: str, folder: Path) -> Path:
    """The bundled items of a dataset, as a file."""
    path = folder / f"{name}.json"
    write_splits(path, list(examples(dataset(name)).values()))
    return path


def written(path: Path, rows: Sequence[Mapping[str, Any]]) -> Path:
    """A file of JSON lines."""
    path.write_text("".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in rows), encoding="utf-8")
    return path


def lm_eval_choice(place: int, name: str, item: Item, likeliest: str, **other: Any) -> dict[str, Any]:
    """A row of lm-eval 0.4.13 with log-likelihoods of the dataset's labels."""
    declared = dataset(name)
    labels = declared.answer.labels
    scores = [["-0.5" if label == likeliest else "-2.5", "False"] for label in labels]
    prompt = render(item, declared)
    return {
        "doc_id": place,
        "doc": entry_of(item),
        "target": str(item.outputs),
        "arguments": {f"gen_args_{at}": {"arg_0": prompt, "arg_1": f" {label}"} for at, label in enumerate(labels)},
        "resps": [[score] for score in scores],
        "filtered_resps": scores,
        "filter": "none",
        "metrics": ["acc"],
        "doc_hash": "0" * 64,
        "acc": float(likeliest == str(item.outputs)),
        **other,
    }  # fmt: skip


def lm_eval_text(place: int, name: str, item: Item, *texts: str, **other: Any) -> dict[str, Any]:
    """A row of lm-eval 0.4.13 with generated texts."""
    return {
        "doc_id": place,
        "doc": entry_of(item),
        "target": str(item.outputs),
        "arguments": {"gen_args_0": {"arg_0": render(item, dataset(name)), "arg_1": {"until": ["\n"]}}},
        "resps": [[*texts]],
        "filtered_resps": [texts[0]],
        "filter": "none",
        **other,
    }


def inspect_sample(
    name: object, text: str, *, finish: str = "stop", error: str = "", **other: Any
) -> dict[str, Any]:
    """A sample of Inspect of which nothing is known but the id and the reply, or the error."""
    message = {"role": "assistant", "content": text}
    output = {"model": "m", "choices": [{"message": message, "stop_reason": finish}], "completion": text}
    failed = {"error": {"message": error, "traceback": ""}} if error else {}
    return {"id": name, "epoch": 1, "input": "", "target": "", "messages": [], "output": output, "metadata": {}, **failed, **other}  # fmt: skip


def inspect_log(path: Path, samples: Sequence[Mapping[str, Any]], **other: Any) -> Path:
    header = {"eval_id": "e", "run_id": "r", "task": "my_task", "model": "org/m", "dataset": {}}
    content = {"version": 2, "status": "success", "eval": header, "samples": samples, **other}
    path.write_text(json.dumps(content), encoding="utf-8")
    return path
