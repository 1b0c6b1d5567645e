"""Inspect's providers as backends, through its mock model and through its OpenAI-compatible provider."""

import asyncio
from typing import Any

import pytest
from asked_models import ask, request
from every import every
from scripted_server import DATED, MODEL, Answers, Fails, ScriptedServer

from merilo.errors import BackendError, UsageError
from merilo.models.asking import ChatMessage, ModelReply
from merilo.models.backends import open_backend

pytest.importorskip("inspect_ai")


@pytest.fixture(autouse=True)
def _key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SCRIPTED_API_KEY", "sk-secret")


def through(server: ScriptedServer, *asked: Any, **others: str) -> list[ModelReply]:
    known = {"base_url": server.url, "max_retries": "0", "timeout": "20", **others}
    return ask(f"inspect/openai-api/scripted/{MODEL}", known, asked)


def test_a_request_is_sent_whole_and_its_reply_read() -> None:
    messages = (
        ChatMessage("system", ("Be short.",)),
        ChatMessage("user", ("1+1?",)),
        ChatMessage("assistant", ("2",)),
        ChatMessage("user", ("2+2?",)),
    )
    schema = '{"type": "object", "properties": {"answer": {"type": "string", "enum": ["4", "5"]}}, "required": ["answer"]}'
    asked = request("", messages=messages, stop=("\n",), max_tokens=9, temperature=0.5, seed=3, schema=schema)
    with ScriptedServer([Answers("4", thought="2+2", usage=(8, 5, 3))]) as server:
        reply = through(server, asked)[0]
    body = server.asked[0].body
    assert [(message["role"], message["content"]) for message in body["messages"]] == [
        ("system", "Be short."),
        ("user", "1+1?"),
        ("assistant", "2"),
        ("user", "2+2?"),
    ]
    assert (body["model"], body["stop"], body["temperature"], body["seed"]) == (MODEL, ["\n"], 0.5, 3)
    form = body["response_format"]["json_schema"]
    assert (form["strict"], form["schema"]["properties"]["answer"]["enum"]) == (True, ["4", "5"])
    assert (reply.text, reply.thought, reply.finish, reply.model) == ("4", "2+2", "stop", DATED)
    assert (reply.prompt_tokens, reply.completion_tokens, reply.thought_tokens) == (8, 5, 3)


def test_a_request_that_fails_is_a_failed_reply() -> None:
    with ScriptedServer([Fails(400, "no such parameter")]) as server:
        reply = through(server)[0]
    assert reply.finish == "failed"
    assert "no such parameter" in str(reply.error)


def test_a_wrong_key_ends_the_run() -> None:
    with ScriptedServer([Fails(401, "wrong key sk-secret")]) as server, pytest.raises(BackendError) as raised:
        through(server)
    assert "rejects the key" in str(raised.value)
    assert "sk-secret" not in str(raised.value)


@every(
    ("name", "message"),
    [
        ("inspect/opnai/gpt-4o", "Inspect has no provider 'opnai'; did you mean openai"),
        ("inspect/openai", "is not of the form inspect/PROVIDER/MODEL"),
        ("inspect/", "is not of the form inspect/PROVIDER/MODEL"),
    ],
)
def test_an_unknown_provider_is_named_with_the_nearest(name: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        open_backend(name, {})


def test_requests_run_at_the_same_time() -> None:
    with ScriptedServer([Answers("A", seconds=0.05)]) as server:
        backend = open_backend(
            f"inspect/openai-api/scripted/{MODEL}", {"base_url": server.url, "num_concurrent": "7"}
        )
        assert backend.concurrency == 7

        async def run() -> None:
            await backend.ask([request(str(number)) for number in range(7)])
            await backend.close()

        asyncio.run(run())
    assert server.most_at_once > 1
