"""Logs of other harnesses in the shapes that the harnesses write."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from merilo.datasets import dataset
from merilo.datasets.ready_items import examples
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


def openai_batch(
    custom_id: str, text: str | None, *, status: int = 200, finish: str = "stop", **message: Any
) -> dict[str, Any]:
    """A row of the output of OpenAI's Batch API."""
    choice = {
        "index": 0,
        "message": {"role": "assistant", "content": text, "refusal": None, **message},
        "finish_reason": finish,
    }
    body = {"id": "chatcmpl-1", "object": "chat.completion", "model": "gpt-x-2026", "choices": [choice]}
    failed = {"error": {"message": "Rate limit reached", "type": "requests", "code": "rate_limit_exceeded"}}
    response = {"status_code": status, "request_id": "r", "body": body if status == 200 else failed}
    return {"id": f"batch_req_{custom_id}", "custom_id": custom_id, "response": response, "error": None}  # fmt: skip


def helm_state(name: str, item: Item, text: str, **other: Any) -> dict[str, Any]:
    """A request state of HELM with a completion."""
    prompt = render(item, dataset(name))
    return {
        "instance": {
            "input": {"text": prompt},
            "references": [{"output": {"text": str(item.outputs)}, "tags": ["correct"]}],
            "split": "test",
            "id": f"id{item.id}00",
        },
        "train_trial_index": 0,
        "request": {"model": "org/model", "prompt": prompt, "num_completions": 1},
        "result": {
            "success": True,
            "embedding": [],
            "completions": [
                {"text": text, "logprob": -1.0, "tokens": [], "finish_reason": {"reason": "stop"}}
            ],
            "cached": False,
        },
        "num_train_instances": 0,
        "prompt_truncated": False,
        **other,
    }


def helm_log(path: Path, states: Sequence[Mapping[str, Any]]) -> Path:
    spec = {"method": "generation", "model": "org/model", "max_tokens": 5}
    path.write_text(
        json.dumps({"adapter_spec": spec, "request_states": states}, ensure_ascii=False), encoding="utf-8"
    )
    return path
