"""Chat with Anthropic's messages."""

from base64 import b64encode
from pathlib import Path

import pytest
from asked_models import ask, request
from every import every
from scripted_server import DATED, MODEL, Answers, Drops, Fails, Raw, ScriptedServer

from merilo.datasets.rendering import Media
from merilo.errors import UsageError
from merilo.models.asking import ChatMessage, ModelReply

PICTURE = b"\xff\xd8\xff\xe0 jpeg"


def arguments(server: ScriptedServer, **others: str) -> dict[str, str]:
    return {"model": MODEL, "base_url": server.url, "max_retries": "2", "timeout": "20", **others}


def reply_to(*acts: Answers | Fails | Raw | Drops, **others: str) -> ModelReply:
    with ScriptedServer(acts) as server:
        return ask("anthropic-chat-completions", arguments(server, **others))[0]


def test_a_reply_holds_text_thought_tokens_and_the_dated_name() -> None:
    reply = reply_to(Answers("B", thought="A or B?", usage=(11, 9, 0)))
    assert (reply.text, reply.thought, reply.finish, reply.model) == ("B", "A or B?", "stop", DATED)
    assert (reply.prompt_tokens, reply.completion_tokens) == (11, 9)


@every(
    ("stated", "finish"),
    [("end_turn", "stop"), ("stop_sequence", "stop"), ("max_tokens", "length"), ("refusal", "refusal")],
)
def test_why_a_model_stopped_is_kept(stated: str, finish: str) -> None:
    assert reply_to(Answers("A", finish=stated)).finish == finish


def test_the_system_prompt_stands_apart_and_stops_of_white_space_are_kept_here(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-secret")
    messages = (ChatMessage("system", ("Be short.",)), ChatMessage("user", ("2+2?",)))
    with ScriptedServer([Answers("4\nfour")]) as server:
        asked = request("", messages=messages, stop=("\n", "###"), temperature=0.5)
        reply = ask("anthropic-chat", arguments(server), [asked])[0]
    assert reply.text == "4"
    assert server.asked[0].body == {
        "model": MODEL,
        "system": "Be short.",
        "messages": [{"role": "user", "content": "2+2?"}],
        "max_tokens": 1024,
        "stop_sequences": ["###"],
        "temperature": 0.5,
    }
    assert server.asked[0].headers["authorization"] == "Bearer sk-ant-secret"


@every(
    ("given", "sent"),
    [
        ({"thinking": "2048"}, {"thinking": {"type": "enabled", "budget_tokens": 2048}}),
        (
            {"thinking": "adaptive", "effort": "low"},
            {"thinking": {"type": "adaptive"}, "output_config": {"effort": "low"}},
        ),
    ],
)
def test_a_model_that_thinks_gets_no_temperature(given: dict[str, str], sent: dict[str, object]) -> None:
    with ScriptedServer() as server:
        ask("anthropic-chat", arguments(server, **given))
    assert {
        key: value
        for key, value in server.asked[0].body.items()
        if key not in {"model", "messages", "max_tokens"}
    } == sent


@every(("most", "sent"), [(2048, 4096), (2049, 2049), (None, 3072)])
def test_the_limit_of_tokens_leaves_room_for_the_budget_of_thought(most: int | None, sent: int) -> None:
    with ScriptedServer() as server:
        ask("anthropic-chat", arguments(server, thinking="2048"), [request("?", max_tokens=most)])
    assert server.asked[0].body["max_tokens"] == sent


def test_thinking_takes_a_number_of_tokens() -> None:
    with (
        ScriptedServer() as server,
        pytest.raises(UsageError, match="thinking must be 'adaptive' or 'disabled' or a whole number"),
    ):
        ask("anthropic-chat", arguments(server, thinking="a lot"))


@every(
    ("failure", "reason"),
    [
        (Fails(529, "Overloaded", "overloaded_error"), "status 529: Overloaded"),
        (Drops(), "the connection failed"),
        (Raw(b"{}"), "the reply cannot be read"),
        (Raw(b'{"content": "A"}'), "the reply cannot be read"),
        (Raw(b'{"content": [null]}'), "the reply cannot be read"),
    ],
)
def test_a_passing_failure_is_asked_again_and_a_lasting_one_is_a_failed_reply(
    failure: Fails, reason: str
) -> None:
    assert reply_to(failure, Answers("A")).attempts == 2
    failed = reply_to(failure)
    assert (failed.finish, failed.attempts) == ("failed", 3)
    assert reason in str(failed.error)


def test_pictures_are_sent_with_their_kind(tmp_path: Path) -> None:
    (tmp_path / "a.jpg").write_bytes(PICTURE)
    shown = request("", messages=(ChatMessage("user", (Media("image", "a.jpg"), "What is it?")),))
    with ScriptedServer() as server:
        ask("anthropic-chat", arguments(server), [shown], media_folder=tmp_path)
    picture, question = server.asked[0].body["messages"][0]["content"]
    assert question == {"type": "text", "text": "What is it?"}
    data = b64encode(PICTURE).decode()
    assert picture["source"] == {"type": "base64", "media_type": "image/jpeg", "data": data}
