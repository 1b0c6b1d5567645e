"""Logs of Inspect, HELM and batches, in the shapes that they write."""

import json
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from harness_files import data_of, helm_log, helm_state, items_of, openai_batch, written

from merilo import score
from merilo.datasets import dataset
from merilo.datasets.rendering import render
from merilo.errors import DataError, InputError


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


def prompt_of(item) -> str:
    return render(item, dataset("parus"))


def gemini(path: Path, texts: list[str]) -> Path:
    """The output file of the Gemini API: a key and a GenerateContentResponse, or an error."""
    rows: list[dict[str, Any]] = []
    for item, text in zip(items_of("parus"), texts, strict=True):
        parts = [{"text": "2? 2!", "thought": True}, {"text": text}]
        candidate = {"content": {"parts": parts, "role": "model"}, "finishReason": "STOP", "index": 0}
        rows.append(
            {"key": f"parus-{item.id}", "response": {"candidates": [candidate], "modelVersion": "gemini-x"}}
        )
    return written(path / "results.jsonl", rows)


def vertex(path: Path, texts: list[str]) -> Path:
    """The output of Vertex AI has no key, but the request."""
    rows = [
        {
            "status": "",
            "request": {"contents": [{"role": "user", "parts": [{"text": prompt_of(item)}]}]},
            "response": {"candidates": [{"content": {"parts": [{"text": text}]}, "finishReason": "STOP"}]},
        }
        for item, text in zip(items_of("parus"), texts, strict=True)
    ]
    return written(path / "predictions.jsonl", rows)


def opencompass(path: Path, texts: list[str], *, chat: bool = True) -> Path:
    """`predictions/MODEL/DATASET.json`: a dictionary from row numbers to prompts and predictions."""
    shot = [{"role": "HUMAN", "prompt": "Пример\nОтвет:"}, {"role": "BOT", "prompt": "2"}]
    content = {
        str(place): {
            "origin_prompt": [*shot, {"role": "HUMAN", "prompt": prompt_of(item)}] if chat else f"Пример\nОтвет: 2\n\n{prompt_of(item)}",
            "prediction": text,
            "gold": str(item.outputs),
        }
        for place, (item, text) in enumerate(zip(items_of("parus"), texts, strict=True))
    }  # fmt: skip
    file = path / "predictions" / "org_m" / "my_parus.json"
    file.parent.mkdir(parents=True)
    file.write_text(json.dumps(content, indent=4, ensure_ascii=False), encoding="utf-8")
    return file


def lighteval(path: Path, texts: list[str]) -> Path:
    """`details/MODEL/DATE/details_TASK_DATE.parquet`: a document, a response and metrics in each row."""
    import polars as pl

    rows = [
        {
            "doc": {"query": prompt_of(item), "choices": [" 1", " 2"], "gold_index": 0, "id": str(place), "specific": None},
            "metric": {"acc": 1.0},
            "model_response": {"input": None, "text": [text, "не знаю"], "logprobs": [], "reasonings": ["2?", None]},
        }
        for place, (item, text) in enumerate(zip(items_of("parus"), texts, strict=True))
    ]  # fmt: skip
    date = "2026-01-02T10-20-30.123456"
    file = path / "details" / "org" / "m" / date / f"details_my_parus_{date}.parquet"
    file.parent.mkdir(parents=True)
    pl.DataFrame(rows).write_parquet(file)
    return file


def simple_evals(path: Path, texts: list[str]) -> Path:
    """`*_allresults.json`: the conversations end with the reply."""
    convos = [
        [{"role": "user", "content": prompt_of(item)}, {"role": "assistant", "content": text}]
        for item, text in zip(items_of("parus"), texts, strict=True)
    ]
    file = path / "parus_m_allresults.json"
    content = {"score": 1.0, "metrics": {"chars": 9.5}, "htmls": [""] * 8, "convos": convos, "metadata": None}
    file.write_text(json.dumps(content, indent=2), encoding="utf-8")
    return file


def simple_evals_page(path: Path, texts: list[str]) -> Path:
    """The HTML report, whose messages are escaped."""
    from html import escape

    def message(role: str, text: str) -> str:
        return (
            f'<div class="message {role}">\n <div class="role">\n {role}\n </div>\n'
            f' <div class="content">\n <pre>{escape(text)}</pre>\n </div>\n</div>'
        )

    examples = (
        f"<h3>Prompt conversation</h3>\n{message('user', prompt_of(item))}\n<h3>Sampled message</h3>\n"
        f"{message('assistant', text)}\n<h3>Results</h3>\n<p>Score: 1</p>\n<hr>"
        for item, text in zip(items_of("parus"), texts, strict=True)
    )
    file = path / "parus_m.html"
    file.write_text(
        "<!DOCTYPE html>\n<html><body><h1>Examples</h1>" + "".join(examples) + "</body></html>",
        encoding="utf-8",
    )
    return file


@pytest.mark.parametrize(
    ("make", "harness", "by", "model"),
    [
        (gemini, "a Gemini batch", "key", "gemini-x"),
        (vertex, "a Gemini batch", "inputs", None),
        (opencompass, "OpenCompass", "inputs", "org_m"),
        (partial(opencompass, chat=False), "OpenCompass", "inputs", "org_m"),
        (lighteval, "LightEval", "inputs", "org/m"),
        (simple_evals, "simple-evals", "inputs", None),
        (simple_evals_page, "simple-evals", "inputs", None),
    ],
)
def test_replies_of_each_harness_are_read(
    make, harness: str, by: str, model: str | None, tmp_path: Path
) -> None:
    """One reply is wrong, one cannot be read, and one has signs that a page escapes."""
    texts = [f"Думаю.\n\nОтвет: **{item.outputs}**" for item in items_of("parus")]
    texts[0] = f"Ответ: {3 - int(items_of('parus')[0].outputs)}"
    texts[1] = "трудно сказать"
    texts[2] = f"<i>2 & 1</i> нет. {texts[2]}"
    found = scored(make(tmp_path, texts))
    log = found.answers.log
    assert (log.harness, log.model, dict(log.matched).keys()) == (harness, model, {by})
    assert (found.answered, found.metrics["acc"].value) == (8, 6 / 8)


@pytest.mark.parametrize("form", ["PPL", "CLP", "LightEval"])
def test_the_likeliest_choice_is_the_answer(form: str, tmp_path: Path) -> None:
    """OpenCompass writes perplexities by label, or a probability of each choice; LightEval log-likelihoods."""
    import polars as pl

    items = items_of("parus")
    content, rows = {}, []
    for place, item in enumerate(items):
        prompt, gold = prompt_of(item), int(item.outputs)
        if form == "PPL":
            measures = {
                f"label: {label}": {
                    "testing input": f"{prompt} {label}",
                    "prompt": f"{prompt} {label}",
                    "PPL": 1.5 + (label != gold),
                }
                for label in (1, 2)
            }
            content[str(place)] = {
                "origin_prompt": f"{prompt} 1",
                **measures,
                "prediction": gold,
                "gold": gold,
            }
        else:
            chances = [0.3, 0.7] if gold == 2 else [0.6, 0.4]
            content[str(place)] = {
                "testing input": prompt,
                "prompt": prompt,
                "choices": ["1", "2"],
                "prediction": chances,
                "pred_label": gold - 1,
                "gold": gold,
            }
            rows.append(
                {
                    "doc": {"query": prompt, "choices": [" 1", " 2"], "gold_index": gold - 1},
                    "model_response": {"text": [], "logprobs": chances},
                }
            )
    file = tmp_path / ("d.parquet" if form == "LightEval" else "p.json")
    if form == "LightEval":
        pl.DataFrame(rows).write_parquet(file)
    else:
        file.write_text(json.dumps(content, indent=4), encoding="utf-8")
    found = scored(file)
    assert (found.answered, found.metrics["acc"].value) == (8, 1)


def test_outcomes_of_a_gemini_batch_are_counted(tmp_path: Path) -> None:
    def answered(reason: str, text: str = "1") -> dict[str, Any]:
        return {"candidates": [{"content": {"parts": [{"text": text}]}, "finishReason": reason}]}

    rows = [
        {"key": "1", "response": answered("STOP")},
        {"key": "2", "response": answered("MAX_TOKENS", "Сложу")},
        {"key": "3", "response": answered("SAFETY", "")},
        {"key": "4", "response": {"promptFeedback": {"blockReason": "OTHER"}}},
        {"key": "5", "error": {"code": 429, "message": "Quota exceeded"}},
    ]
    log = scored(written(tmp_path / "b.jsonl", rows)).answers.log
    assert log.outcomes == {"answered": 1, "truncated": 1, "refused": 2, "failed": 1}


def test_a_task_that_asks_everything_twice_gives_two_samples(tmp_path: Path) -> None:
    file = simple_evals(tmp_path, [str(item.outputs) for item in items_of("parus")])
    content = json.loads(file.read_text(encoding="utf-8"))
    file.write_text(json.dumps({**content, "convos": content["convos"] * 2}), encoding="utf-8")
    found = scored(file)
    assert found.answered == 8
    assert any("the first of each is scored, 8 are left out" in note for note in found.answers.log.notes)


@pytest.mark.parametrize(
    ("name", "content", "told"),
    [
        ("s.jsonl", '{"task_id": "HumanEval/0", "solution": "def f(): pass"}\n', "programs of evalplus"),
        ("r.json", '{"date": "d", "hash": "h", "eval": {"HumanEval/0": [{"base_status": "pass"}]}}', "programs of evalplus"),
        ("o.json", '{"0": {"origin_prompt": [[{"role": "HUMAN", "prompt": "?"}]], "prediction": ["1"]}}', "several rounds are not read"),
        ("o.json", '{"0": {"origin_prompt": "?", "prediction": "1"', "is not JSON"),
        ("g.jsonl", '{"key": "1", "response": {"candidates": []}}\n{"id": 1}\n', "row 2: is not a row of a Gemini batch"),
        ("e.json", '{"score": 1, "htmls": [], "convos": [[{"role": "user", "content": "?"}]]}', "row 1: the conversation does not end with a reply"),
        ("e.json", '{"score": 1, "htmls": [], "convos": []}', "holds no answers"),
    ],
)  # fmt: skip
def test_files_that_hold_no_replies_say_so(name: str, content: str, told: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(content, encoding="utf-8")
    with pytest.raises((DataError, InputError), match=told):
        scored(tmp_path / name)


def test_a_cut_file_of_lighteval_is_one_sentence(tmp_path: Path) -> None:
    file = lighteval(tmp_path, ["1"] * 8)
    whole = file.read_bytes()
    file.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(InputError, match="is not a readable Parquet file"):
        scored(file)


def test_how_the_model_was_asked_is_read_where_a_log_says_it(tmp_path: Path) -> None:
    (item,) = items_of("parus")[:1]
    said = [{"role": "system", "content": "Answer with a digit."}, {"role": "user", "content": "?"}]
    samples = [inspect_sample(item, "1", messages=said)]
    plan = {"config": {"temperature": 0.3, "max_tokens": 99}}
    asked = scored(inspect_json(tmp_path / "inspect.json", samples, plan=plan)).answers.log.asked
    assert asked == {"temperature": 0.3, "token_limit": 99, "system_prompt": "Answer with a digit."}
    silent = scored(inspect_json(tmp_path / "silent.json", [inspect_sample(item, "1")])).answers.log.asked
    assert silent == {}
