"""Logs of Inspect in the shapes that it writes."""

import json
from pathlib import Path
from typing import Any

import pytest
from harness_files import data_of, inspect_log, inspect_sample, items_of

from merilo import score
from merilo.errors import DataError


def scored(log: Path, name: str = "parus"):
    return score(log, dataset=name, data=data_of(name, log.parent))


def sample(item, text: str, **other: Any) -> dict[str, Any]:
    inputs = json.dumps(dict(item.inputs), ensure_ascii=False)
    return inspect_sample(item.id, text, **{"input": inputs, "target": str(item.outputs), **other})


def test_outcomes_are_counted(tmp_path: Path) -> None:
    samples = [
        inspect_sample("1", "1"),
        inspect_sample("2", "Я размыш", finish="max_tokens"),
        inspect_sample("3", "", finish="content_filter"),
        inspect_sample("4", "", error="timeout"),
        inspect_sample("5", ""),
        inspect_sample("6", "не знаю, что и сказать"),
    ]
    found = scored(inspect_log(tmp_path / "log.json", samples))
    counts = found.answers.outcomes
    assert counts["failed"] == counts["truncated"] == counts["empty"] == 1
    assert counts["refused"] >= 1
    assert found.unanswered == (4, 7, 8)
    told = "1 of 6 requests failed, which leaves its item without an answer"
    assert any(told in sentence for sentence in found.answers.sentences())


def test_a_log_whose_requests_all_failed_is_refused(tmp_path: Path) -> None:
    log = inspect_log(tmp_path / "log.json", [inspect_sample(str(at), "", error="no") for at in range(1, 9)])
    with pytest.raises(DataError, match="all 8 requests to items failed"):
        scored(log)


def test_a_json_log_of_inspect_is_read_without_inspect(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(__import__("sys").modules, "inspect_ai", None)
    samples = [sample(item, f"Ответ: {item.outputs}") for item in items_of("parus")]
    found = scored(inspect_log(tmp_path / "log.json", samples))
    assert found.metrics["acc"].value == 1
    assert (found.answers.source.task, found.answers.source.model) == ("my_task", "org/m")


def test_thought_and_epochs_of_inspect(tmp_path: Path) -> None:
    item = items_of("parus")[0]
    parts = [{"type": "reasoning", "reasoning": "2? 2? 2?"}, {"type": "text", "text": "1"}]
    first = sample(item, "1")
    first["output"]["choices"][0]["message"]["content"] = parts
    failed = sample(item, "", epoch=2, error={"message": "boom", "traceback": ""})
    found = scored(inspect_log(tmp_path / "log.json", [first, failed], status="error"))
    assert [(row.item, row.answer) for row in found.answers.rows] == [("1", "1")]
    assert found.answers.outcomes == {"answered": 1, "failed": 1}
    assert any("ended with the status 'error'" in note for note in found.answers.source.notes)


def test_how_the_model_was_asked_is_read_where_a_log_says_it(tmp_path: Path) -> None:
    (item,) = items_of("parus")[:1]
    said = [{"role": "system", "content": "Answer with a digit."}, {"role": "user", "content": "?"}]
    samples = [sample(item, "1", messages=said)]
    plan = {"config": {"temperature": 0.3, "max_tokens": 99}}
    asked = scored(inspect_log(tmp_path / "inspect.json", samples, plan=plan)).answers.source.asked
    assert asked == {"temperature": 0.3, "token_limit": 99, "system_prompt": "Answer with a digit."}
    silent = scored(inspect_log(tmp_path / "silent.json", [sample(item, "1")])).answers.source.asked
    assert silent == {}
