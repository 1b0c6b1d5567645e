"""Requests of a run written for a vendor's batch API, and its results read into the run's log."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from command import Outcome, merilo
from every import every
from scripted_server import MODEL, Answers, ScriptedServer, chat_body, messages_body

OPENAI, ANTHROPIC = "local-chat-completions", "anthropic-chat"

#: What is told apart between a log of single requests and one of a batch: times alone.
TIMES = {"seconds", "when"}


@pytest.fixture(autouse=True)
def _no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY"):
        monkeypatch.delenv(variable, raising=False)


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Items with ids that no batch API takes as they are."""
    names = ["пример 1", "a/b", "x" * 80 + "1", "x" * 80 + "2", "5"]
    items = [
        {"instruction": "Вопрос {inputs}", "inputs": f"номер {n}", "outputs": str(n), "meta": {"id": name}}
        for n, name in enumerate(names)
    ]
    (tmp_path / "lcs.json").write_text(json.dumps({"data": {"test": items}}), encoding="utf-8")
    return tmp_path


def run(backend: str, data: Path, out: Path, *words: object, url: str = "http://nowhere/v1") -> Outcome:
    return merilo(
        *("run", "--model", backend, "--model-args", f"model={MODEL},base_url={url},num_concurrent=1"),
        *("--datasets", "lcs", "--data", data, "--shots", "0", "--samples", "2", "--temperature", "0.5"),
        *("--out", out, *words),
    )


def written(file: Path) -> list[dict[str, Any]]:
    text = file.read_text("utf-8")
    return (
        json.loads(text)["requests"]
        if text.startswith('{"requests"')
        else list(map(json.loads, text.splitlines()))
    )


def answer(text: str) -> Answers:
    """What the model says to a prompt: the number of the item, with a thought."""
    return Answers(re.findall(r"номер (\d)", text)[-1], thought="думаю", usage=(11, 9, 4))


def result(row: dict[str, Any]) -> dict[str, Any]:
    """The result of a request, as the vendor writes it."""
    body = row.get("body") or row["params"]
    reply = answer(body["messages"][-1]["content"])
    if "params" in row:
        return {
            "custom_id": row["custom_id"],
            "result": {"type": "succeeded", "message": messages_body(reply, "1")},
        }
    return {
        "id": "batch_req_1",
        "custom_id": row["custom_id"],
        "response": {"status_code": 200, "request_id": "r", "body": chat_body(reply, "1")},
        "error": None,
    }


def results(requests: Path, to: Path, act: Callable[[dict[str, Any]], dict[str, Any]] = result) -> Path:
    rows = [act(row) for row in written(requests)]
    to.write_text("".join(json.dumps(row) + "\n" for row in reversed(rows)), encoding="utf-8")
    return to


def log(out: Path) -> list[dict[str, Any]]:
    rows = map(json.loads, (out / "log" / "lcs.jsonl").read_text("utf-8").splitlines())
    kept = [{name: value for name, value in row.items() if name not in TIMES} for row in rows]
    return sorted(kept, key=lambda row: (row["item"], row["sample"]))


@every(("backend", "name"), [(OPENAI, "requests.jsonl"), (ANTHROPIC, "requests.json")])
def test_a_batch_gives_the_same_run_as_asking(
    backend: str, name: str, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    requests, batch, asked = tmp_path / name, tmp_path / f"{backend}-batch", tmp_path / f"{backend}-asked"
    wrote = run(backend, data, batch, "--write-batch", requests)
    assert (wrote.status, wrote.out) == (0, "")
    assert f"{requests} holds 10 requests for the vendor's batch API" in wrote.err
    ids = [row["custom_id"] for row in written(requests)]
    assert len(set(ids)) == 10
    assert all(re.fullmatch(r"[A-Za-z0-9_-]{1,64}", one) for one in ids)
    read = run(backend, data, batch, "--read-batch", results(requests, tmp_path / f"{name}-results"))
    assert read.status == 0, read.err
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-secret")
    with ScriptedServer(lambda asked: answer(asked.text)) as server:
        assert run(backend, data, asked, url=server.url).status == 0
    assert log(batch) == log(asked)
    assert len(log(batch)) == 10
    assert (batch / "lcs.jsonl").read_bytes() == (asked / "lcs.jsonl").read_bytes()
    bodies = [row.get("body") or row["params"] for row in written(requests)]
    assert sorted(map(json.dumps, bodies)) == sorted(json.dumps(one.body) for one in server.asked)
    # Read twice, a file changes nothing; and nothing is left to write.
    assert run(backend, data, batch, "--read-batch", tmp_path / f"{name}-results").status == 0
    assert len(log(batch)) == 10
    assert "no request is left for a batch" in run(backend, data, batch, "--write-batch", tmp_path / "no").err


def failing(row: dict[str, Any]) -> dict[str, Any]:
    """A request that is too long, one that expired, one that the server failed, and replies to the others."""
    number = re.findall(r"номер (\d)", (row.get("body") or row["params"])["messages"][-1]["content"])[-1]
    long = {
        "message": "prompt is too long: 9 tokens > 5 maximum",
        "type": "invalid_request_error",
        "code": None,
    }
    name = {"custom_id": row["custom_id"]}
    if "params" in row:
        kinds: dict[str, dict[str, Any]] = {
            "0": {"type": "errored", "error": {"type": "error", "error": long}},
            "1": {"type": "expired"},
            "2": {
                "type": "errored",
                "error": {"type": "error", "error": {"type": "api_error", "message": "oops"}},
            },
        }
        return {**name, "result": kinds[number]} if number in kinds else result(row)
    kinds = {
        "0": {"response": {"status_code": 400, "body": {"error": long}}, "error": None},
        "1": {"response": None, "error": {"code": "batch_expired", "message": "expired"}},
        "2": {"response": {"status_code": 500, "body": {"error": {"message": "oops"}}}, "error": None},
    }
    return {**name, **kinds[number]} if number in kinds else result(row)


@every("backend", [OPENAI, ANTHROPIC])
def test_what_failed_in_a_batch_is_written_into_the_next_one(
    backend: str, data: Path, tmp_path: Path
) -> None:
    first, second, out = (tmp_path / f"{backend}-{name}" for name in ("first", "second", "run"))
    run(backend, data, out, "--write-batch", first)
    read = run(
        backend, data, out, "--read-batch", results(first, tmp_path / "results", failing), "--json", "-"
    )
    assert read.status == 1
    outcomes = read.json["datasets"]["lcs"]["outcomes"]
    assert {name: count for name, count in outcomes.items() if count} == {
        "answered": 4,
        "too_long": 2,
        "failed": 4,
    }
    assert "2 failed: expired" in read.err
    assert "--write-batch FILE writes them into another batch" in read.err
    run(backend, data, out, "--write-batch", second)
    assert len(written(second)) == 4
    assert {row["custom_id"] for row in written(second)} < {row["custom_id"] for row in written(first)}
    assert run(backend, data, out, "--read-batch", results(second, tmp_path / "results")).status == 0


def test_results_of_other_requests_are_counted_and_refused_if_all_are(data: Path, tmp_path: Path) -> None:
    run(OPENAI, data, tmp_path / "run", "--write-batch", tmp_path / "b.jsonl")
    made = results(tmp_path / "b.jsonl", tmp_path / "r.jsonl")
    # The same items with another prompt.
    refused = run(OPENAI, data, tmp_path / "other", "--read-batch", made, "--system", "Отвечай кратко.")
    assert refused.status == 2
    assert "10 of 10 results are of requests that this run does not ask (lcs-" in refused.complaint
    fewer = run(OPENAI, data, tmp_path / "fewer", "--read-batch", made, "--limit", "2")
    assert fewer.status == 0
    assert "6 of 10 results are of requests that this run does not ask" in fewer.err


@every(
    ("content", "told"),
    [
        ('{"custom_id": "a", "body": {}}', "row 1: is not a result of a batch"),
        ('{"response": {}}', "row 1: is not a result of a batch"),
        ('\n{"custom_id": "a", "resp', "row 2"),
        ("[1]", "row 1: is not a result of a batch"),
    ],
)
def test_a_file_that_holds_no_results_is_refused(content: str, told: str, data: Path, tmp_path: Path) -> None:
    (tmp_path / "r.jsonl").write_text(content)
    refused = run(OPENAI, data, tmp_path / "run", "--read-batch", tmp_path / "r.jsonl")
    assert refused.status == 2
    assert told in refused.complaint


def test_what_a_batch_cannot_hold_is_refused_and_leaves_no_folder(data: Path, tmp_path: Path) -> None:
    file = tmp_path / "b.jsonl"
    words = ["run", "--out", tmp_path / "run", "--write-batch", file, "--datasets"]
    given = ["--model", OPENAI, "--model-args", f"model={MODEL},base_url=http://nowhere/v1"]
    for more, told in (
        (["rutie", *given], "leave out ruTiE"),
        (["lcs", "--model", "random"], "random has no batches"),
        (
            ["lcs", *given, "--read-batch", data / "lcs.json"],
            "--write-batch and --read-batch exclude each other",
        ),
    ):
        refused = merilo(*words, *more)
        assert (refused.status, told in refused.complaint) == (2, True), refused.err
        assert not (tmp_path / "run").exists()
        assert not file.exists()
    paid = ["--price-in", "1", "--price-out", "1", "--max-usd", "0.001"]
    refused = merilo(*words, "lcs", *given, *paid)
    assert refused.status == 2
    assert "--max-usd: the requests may cost more" in refused.complaint
    assert merilo(*words, "lcs", *given, "--max-requests", "3").status == 0
    assert len(written(file)) == 3
    assert "exists" in merilo(*words, "lcs", *given).complaint


def test_the_samples_of_programs_survive(tmp_path: Path) -> None:
    given = ["--model", OPENAI, "--model-args", f"model={MODEL},base_url=http://nowhere/v1"]
    words = ["run", *given, "--datasets", "ruhumaneval,use", "--limit", "2", "--out", tmp_path / "run"]
    merilo(*words, "--write-batch", tmp_path / "b.jsonl")

    def say(row: dict[str, Any]) -> dict[str, Any]:
        body = chat_body(Answers(f"    return {row['custom_id'].split('-')[-2]}"), "1")
        return {"custom_id": row["custom_id"], "response": {"status_code": 200, "body": body}}

    read = merilo(
        *words, "--read-batch", results(tmp_path / "b.jsonl", tmp_path / "r.jsonl", say), "--json", "-"
    )
    assert read.json["datasets"]["ruhumaneval"]["outcomes"]["not_asked"] == 0
    rows = [
        json.loads(line)
        for line in (tmp_path / "run" / "ruhumaneval.completions.jsonl").open(encoding="utf-8")
    ]
    assert [row["completion"].split()[-1] for row in rows] == [str(row["sample"]) for row in rows]
    assert len(rows) == 20
