"""Logs of Inspect, HELM and batches, in the shapes that they write."""

import json
from pathlib import Path
from typing import Any

import pytest
from harness_files import data_of, helm_log, helm_state, items_of, openai_batch, written

from merilo import score
from merilo.errors import DataError


def scored(log: Path, name: str = "parus"):
    return score(log, dataset=name, data=data_of(name, log.parent))


def inspect_sample(item, text: str, **other: Any) -> dict[str, Any]:
    return {
        "id": item.id,
        "epoch": 1,
        "input": json.dumps(dict(item.inputs), ensure_ascii=False),
        "target": str(item.outputs),
        "messages": [{"role": "user", "content": "?"}],
        "output": {"model": "m", "choices": [{"message": {"role": "assistant", "content": text}, "stop_reason": "stop"}], "completion": text},
        "metadata": {},
        **other,
    }  # fmt: skip


def inspect_json(path: Path, samples: list[dict[str, Any]], **other: Any) -> Path:
    header = {"eval_id": "e", "run_id": "r", "task": "my_task", "model": "org/m", "dataset": {}}
    path.write_text(
        json.dumps({"version": 2, "status": "success", "eval": header, "samples": samples, **other}),
        encoding="utf-8",
    )
    return path


def test_outcomes_of_a_batch_are_counted(tmp_path: Path) -> None:
    items = items_of("parus")
    rows = [
        openai_batch("1", "1"),
        openai_batch("2", "Я размыш", finish="length"),
        openai_batch("3", None, refusal="I cannot help with that."),
        openai_batch("4", "", finish="content_filter"),
        openai_batch("5", None, status=429),
        {
            "id": "b",
            "custom_id": "6",
            "response": None,
            "error": {"code": "batch_expired", "message": "This request expired."},
        },
        openai_batch("7", ""),
        openai_batch("8", "не знаю, что и сказать"),
    ]
    found = scored(written(tmp_path / "batch.jsonl", rows))
    log = found.answers.log
    assert log.outcomes["failed"] == 2
    assert log.outcomes["truncated"] == 1
    assert log.outcomes["refused"] >= 2
    assert log.outcomes["empty"] == 1
    assert found.unanswered == (5, 6)
    assert (log.harness, log.model) == ("OpenAI's Batch API", "gpt-x-2026")
    assert any(
        "2 of 8 requests failed, which leave their items without an answer" in told
        for told in log.sentences()
    )
    assert len(items) == 8


def test_bodies_of_the_responses_api_are_read(tmp_path: Path) -> None:
    output = [
        {"type": "reasoning", "summary": []},
        {"type": "message", "content": [{"type": "output_text", "text": "Ответ: 1"}]},
    ]
    row = {
        "custom_id": "1",
        "response": {
            "status_code": 200,
            "body": {"object": "response", "status": "completed", "model": "m", "output": output},
        },
        "error": None,
    }
    assert scored(written(tmp_path / "batch.jsonl", [row])).answers.matched.given == {1: "1"}


def test_results_of_anthropics_batches_are_read(tmp_path: Path) -> None:
    content = [{"type": "thinking", "thinking": "1 or 2"}, {"type": "text", "text": "1"}]
    rows = [
        {
            "custom_id": "1",
            "result": {
                "type": "succeeded",
                "message": {"model": "claude", "stop_reason": "end_turn", "content": content},
            },
        },
        {
            "custom_id": "2",
            "result": {"type": "errored", "error": {"type": "error", "error": {"message": "Overloaded"}}},
        },
        {"custom_id": "3", "result": {"type": "expired"}},
    ]
    found = scored(written(tmp_path / "batch.jsonl", rows))
    assert found.answers.matched.given == {1: "1"}
    assert found.answers.log.outcomes == {"answered": 1, "failed": 2}
    assert found.answers.log.harness == "Anthropic's Message Batches"


def test_a_batch_whose_requests_all_failed_is_refused(tmp_path: Path) -> None:
    log = written(tmp_path / "batch.jsonl", [openai_batch(str(at), None, status=500) for at in range(1, 9)])
    with pytest.raises(DataError, match="all 8 requests to items failed"):
        scored(log)


def test_completions_of_helm_are_found_by_their_inputs(tmp_path: Path) -> None:
    items = items_of("parus")
    found = scored(
        helm_log(
            tmp_path / "scenario_state.json",
            [helm_state("parus", item, f" {item.outputs}") for item in items],
        )
    )
    assert found.metrics["acc"].value == 1
    assert (found.answers.log.harness, found.answers.log.model) == ("HELM", "org/model")
    assert dict(found.answers.log.matched) == {"inputs": 8}


def test_letters_of_helm_stand_for_the_options_that_they_name(tmp_path: Path) -> None:
    item = items_of("parus")[0]
    swapped = {"A": item.inputs["choice2"], "B": item.inputs["choice1"]}
    found = scored(helm_log(tmp_path / "s.json", [helm_state("parus", item, " A", output_mapping=swapped)]))
    assert found.answers.matched.given == {1: "2"}


def test_perturbed_instances_and_failed_requests_of_helm_are_left_out(tmp_path: Path) -> None:
    items = items_of("parus")
    states = [helm_state("parus", item, str(item.outputs)) for item in items[:3]]
    states[1]["instance"]["perturbation"] = {"name": "typos"}
    states[2]["result"] = {"success": False, "completions": [], "error": "timeout"}
    found = scored(helm_log(tmp_path / "s.json", states))
    assert found.answers.matched.given == {1: items[0].outputs}
    assert "1 request with a perturbed instance is left out" in found.answers.log.notes


def test_a_json_log_of_inspect_is_read_without_inspect(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(__import__("sys").modules, "inspect_ai", None)
    samples = [inspect_sample(item, f"Ответ: {item.outputs}") for item in items_of("parus")]
    found = scored(inspect_json(tmp_path / "log.json", samples))
    assert found.metrics["acc"].value == 1
    assert (found.answers.log.task, found.answers.log.model) == ("my_task", "org/m")


def test_letters_of_inspects_multiple_choice_are_labels(tmp_path: Path) -> None:
    samples = []
    for item in items_of("parus"):
        choices = [item.inputs["choice1"], item.inputs["choice2"]]
        samples.append(
            inspect_sample(
                item,
                f"So it is.\n\nANSWER: {'AB'[int(item.outputs) - 1]}",
                choices=choices,
                input=item.inputs["premise"],
            )
        )
    assert scored(inspect_json(tmp_path / "log.json", samples)).metrics["acc"].value == 1


def test_thought_and_epochs_of_inspect(tmp_path: Path) -> None:
    item = items_of("parus")[0]
    parts = [{"type": "reasoning", "reasoning": "2? 2? 2?"}, {"type": "text", "text": "1"}]
    first = inspect_sample(item, "1")
    first["output"]["choices"][0]["message"]["content"] = parts
    failed = inspect_sample(item, "", epoch=2, error={"message": "boom", "traceback": ""})
    found = scored(inspect_json(tmp_path / "log.json", [first, failed], status="error"))
    assert found.answers.matched.given == {1: "1"}
    assert found.answers.log.outcomes == {"answered": 1, "failed": 1}
    assert any("ended with the status 'error'" in note for note in found.answers.log.notes)
