"""Chat with servers of OpenAI's kind: what is sent, what is read, and what becomes of every way to fail."""

import json
from base64 import b64decode
from pathlib import Path

import pytest
from asked_models import ask, request
from every import every
from scripted_server import (
    CHAT,
    DATED,
    MODEL,
    Act,
    Answers,
    Asked,
    Drops,
    Fails,
    Raw,
    ScriptedServer,
    Stalls,
    chat_body,
    half_a_line,
    limits,
)

from merilo.datasets.rendering import Media
from merilo.errors import BackendError, MissingPartError
from merilo.models.asking import ChatMessage, ModelReply
from merilo.models.backends.model_arguments import ChatArguments
from merilo.models.backends.servers import OPENAI, server_address

LOCAL = "local-chat-completions"
PICTURE = b"\x89PNG\r\n\x1a\n" + b"picture"


def arguments(server: ScriptedServer, **others: str) -> dict[str, str]:
    return {"model": MODEL, "base_url": server.url, "max_retries": "2", "timeout": "20", **others}


def reply_to(*acts: Act, **others: str) -> ModelReply:
    """The reply to one request, where the server's acts follow each other."""
    with ScriptedServer(acts) as server:
        return ask(LOCAL, arguments(server, **others))[0]


def test_a_reply_holds_text_thought_tokens_and_the_dated_name() -> None:
    reply = reply_to(Answers("B", thought="A or B?", usage=(11, 9, 6)))
    assert (reply.text, reply.thought, reply.finish, reply.model) == ("B", "A or B?", "stop", DATED)
    assert (reply.prompt_tokens, reply.completion_tokens, reply.thought_tokens) == (11, 9, 6)
    assert reply.attempts == 1
    assert reply.seconds > 0


@every(("stated", "finish"), [("eos_token", "stop"), ("content_filter", "refusal"), ("tool_calls", "other")])
def test_why_a_model_stopped_is_kept(stated: str, finish: str) -> None:
    assert reply_to(Answers("A", finish=stated)).finish == finish


def test_everything_that_a_request_says_is_sent() -> None:
    with ScriptedServer() as server:
        asked = request(
            "",
            messages=(
                ChatMessage("system", ("Be short.",)),
                ChatMessage("user", ("1+1?",)),
                ChatMessage("assistant", ("2",)),
                ChatMessage("user", ("2+2?",)),
            ),
            stop=("\n", "."),
            max_tokens=32,
            temperature=0.6,
            seed=7,
        )
        ask(LOCAL, arguments(server), [asked])
    assert server.asked[0].body == {
        "model": MODEL,
        "messages": [
            {"role": "system", "content": "Be short."},
            {"role": "user", "content": "1+1?"},
            {"role": "assistant", "content": "2"},
            {"role": "user", "content": "2+2?"},
        ],
        "stop": ["\n", "."],
        "max_tokens": 32,
        "temperature": 0.6,
        "seed": 7,
    }


@every(
    ("name", "others", "added"),
    [
        (LOCAL, {"response_format": '{"type": "json_object"}'}, {"response_format": {"type": "json_object"}}),
        (LOCAL, {"temperature": 0.5}, {"temperature": 0.5}),
        ("local-completions", {"response_format": '{"type": "text"}'}, {"response_format": {"type": "text"}}),
        ("anthropic-chat", {"service_tier": "standard_only"}, {"service_tier": "standard_only"}),
    ],
)
def test_top_k_and_fields_of_the_body_s_own_are_sent(
    name: str, others: dict, added: dict, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-secret")
    extra = {"min_p": 0.1, **{key: value for key, value in others.items() if key != "response_format"}}
    given = {"top_k": "20", "extra_body": json.dumps(extra)}
    if "response_format" in others:
        given["response_format"] = others["response_format"]
    with ScriptedServer() as server:
        ask(name, arguments(server, **given), [request("?", max_tokens=9)])
    body = server.asked[0].body
    assert body["top_k"] == 20
    assert body.items() >= {"min_p": 0.1, **added}.items()


def test_an_answer_is_cut_at_the_stop_strings_that_the_api_has_no_room_for() -> None:
    with ScriptedServer([Answers("one#two")]) as server:
        reply = ask(LOCAL, arguments(server), [request("?", stop=("\n", "a", "b", "c", "#"))])[0]
    assert reply.text == "one"
    assert server.asked[0].body["stop"] == ["\n", "a", "b", "c"]


def test_models_of_openai_that_think_get_no_stop_and_no_temperature(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    with ScriptedServer([Answers("A\nB")]) as server:
        known = arguments(server, model="gpt-5-mini", reasoning_effort="low")
        reply = ask("openai-chat-completions", known, [request("?", stop=("\n",), max_tokens=9)])[0]
    body = server.asked[0].body
    assert reply.text == "A"
    assert body.keys() == {"model", "messages", "max_completion_tokens", "reasoning_effort"}
    assert server.asked[0].headers["authorization"] == "Bearer sk-secret"


def test_replies_come_in_the_order_of_requests_however_they_arrive() -> None:
    def slow_first(asked: Asked) -> Answers:
        return Answers(asked.text, seconds=0.2 if asked.text == "0" else 0.0)

    with ScriptedServer(slow_first) as server:
        replies = ask(LOCAL, arguments(server), [request(str(number)) for number in range(8)])
    assert [reply.text for reply in replies] == [str(number) for number in range(8)]
    assert server.asked_twice == []


PASSING = [
    (Fails(500), "status 500: internal error"),
    (Fails(503), "status 503"),
    (Fails(529), "status 529"),
    (limits("0"), "status 429: too many requests"),
    (Drops(), "the connection failed"),
    (Stalls(), "no reply within 0.5 seconds"),
    (half_a_line(), "the reply cannot be read: "),
    (Raw(b""), "the reply cannot be read: 'an empty body'"),
    (Raw(b'"\xff\xfe"'), "the reply cannot be read"),
    (Raw(b"<html><h1>Bad gateway</h1></html>", content_type="text/html"), "cannot be read: 'Bad gateway'"),
    (Raw(b"[1, 2]"), "the reply cannot be read"),
    (Raw(json.dumps(chat_body(Answers(), "1")).encode() * 2), "the reply cannot be read"),
    (Raw(b"{}"), "the reply cannot be read"),
    (Raw(b'{"choices": []}'), "the reply cannot be read"),
    (Raw(b'{"choices": [{"index": 0}]}'), "the reply cannot be read"),
    (Raw(b'{"error": {"message": "upstream", "code": 502}}'), "the reply cannot be read: 'upstream'"),
]


@every(("failure", "reason"), PASSING)
def test_a_passing_failure_is_asked_again_and_a_lasting_one_is_a_failed_reply(
    failure: Act, reason: str
) -> None:
    mended = reply_to(failure, Answers("A"), timeout="0.5", max_retries="1")
    assert (mended.text, mended.finish, mended.attempts) == ("A", "stop", 2)
    failed = reply_to(failure, timeout="0.5", max_retries="1")
    assert (failed.finish, failed.attempts, failed.text) == ("failed", 2, "")
    assert reason in str(failed.error)


FULL = "This model's maximum context length is 5 tokens. However, your messages resulted in 7 tokens."


@every(
    ("failure", "finish"),
    [
        (Fails(400, "no such field"), "failed"),
        (Fails(422, "<image> is not supported"), "failed"),
        (Fails(400, FULL, "context_length_exceeded"), "too_long"),
        (Fails(400, FULL), "too_long"),
        (Fails(400, "prompt is too long: 7 tokens > 5 maximum", "invalid_request_error"), "too_long"),
        (Fails(400, "the request exceeds the available context size", "exceed_context_size_error"), "too_long"),
        (Fails(413, "request entity too large"), "too_long"),
        (Fails(400, "The response was filtered due to the content management policy", "content_filter"), "refusal"),
        (Fails(403, "Your input was flagged by moderation"), "refusal"),
    ],
)  # fmt: skip
def test_a_request_that_the_server_does_not_take_is_asked_once(failure: Fails, finish: str) -> None:
    reply = reply_to(failure)
    assert (reply.finish, reply.attempts) == (finish, 1)
    assert reply.error == f"status {failure.status}: {failure.message}"


def test_the_server_s_own_wait_is_kept_to(monkeypatch: pytest.MonkeyPatch) -> None:
    waits: list[float] = []

    async def sleep(seconds: float) -> None:
        waits.append(seconds)

    monkeypatch.setattr("anyio.sleep", sleep)
    assert reply_to(limits("7"), limits("90"), Answers("A")).attempts == 3
    assert waits == [7, 90]


@every(
    ("answers", "finish", "text", "thought"),
    [
        (Answers(None, thought="I see"), "stop", "", "I see"),
        (Answers(None, thought="Let me see", finish="length"), "length", "", "Let me see"),
        (Answers(None, refusal="I cannot help with that."), "refusal", "I cannot help with that.", None),
    ],
)
def test_a_reply_without_text_is_empty_truncated_or_a_refusal(
    answers: Answers, finish: str, text: str, thought: str | None
) -> None:
    reply = reply_to(answers)
    assert (reply.finish, reply.text, reply.thought, reply.attempts) == (finish, text, thought, 1)


@every(
    ("failure", "message"),
    [
        (
            Fails(401, "Incorrect API key provided: sk-s**t"),
            r"needs a key: set OPENAI_API_KEY \(status 401\)",
        ),
        (Fails(403, "no"), "does not let the key in OPENAI_API_KEY use 'scripted-model'"),
        (
            Fails(404, "no such model"),
            "does not know the model 'scripted-model', or is not the API's address",
        ),
        (Fails(402, "pay"), "accepts no more requests for this key: status 402: pay"),
        (
            Fails(429, "You exceeded your current quota", "insufficient_quota"),
            "accepts no more requests for this key",
        ),
        (limits("5000"), "asks to wait 5000 seconds .* run the same command again then"),
    ],
)
def test_what_concerns_every_request_ends_the_run(failure: Fails, message: str) -> None:
    with ScriptedServer([failure]) as server, pytest.raises(BackendError, match=message) as raised:
        ask(LOCAL, arguments(server))
    assert server.url in str(raised.value)
    assert len(server.asked) == (3 if failure.code == "insufficient_quota" else 1)


def test_a_wrong_key_is_never_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    with (
        ScriptedServer([Fails(401, "Incorrect API key provided: sk-secret")]) as server,
        pytest.raises(BackendError, match="rejects the key in OPENAI_API_KEY") as raised,
    ):
        ask(LOCAL, arguments(server))
    assert "sk-secret" not in str(raised.value)


def test_nothing_at_the_address_is_said_with_the_address() -> None:
    with ScriptedServer() as server:
        gone = server.url
    with pytest.raises(BackendError, match=f"{gone}/chat/completions cannot be reached"):
        ask(LOCAL, {"model": MODEL, "base_url": gone})


def test_an_sdk_without_its_client_is_a_missing_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    def without_aiohttp(**_: object) -> None:
        raise RuntimeError("To use the aiohttp client ...")

    monkeypatch.setattr("openai.DefaultAioHttpClient", without_aiohttp)
    with pytest.raises(MissingPartError, match=r"needs the extra 'models': pip install '\.\[models\]'"):
        ask(LOCAL, {"model": MODEL, "base_url": "http://127.0.0.1:9/v1"})


def test_the_vendors_own_address_needs_a_key() -> None:
    with pytest.raises(
        BackendError,
        match=r"https://api.openai.com/v1 needs a key: set the environment variable OPENAI_API_KEY",
    ):
        ask("openai-chat-completions", {"model": "gpt-4o"})


@every(
    ("ending", "query"),
    [
        ("", ""),
        ("/", ""),
        ("/chat/completions", ""),
        ("/chat/completions/", ""),
        ("?api-version=1", "api-version=1"),
        ("/?a=b&c=#top", "a=b&c="),
        ("/chat/completions?key=s/v1/", "key=s/v1/"),
    ],
)
def test_the_address_may_be_the_apis_or_that_of_its_path_as_in_lm_eval(ending: str, query: str) -> None:
    with ScriptedServer() as server:
        assert ask(LOCAL, {"model": MODEL, "base_url": server.url + ending})[0].text == "A"
    assert (server.asked[0].path, server.asked[0].query) == (CHAT, query)


@every(
    ("base", "address"),
    [
        ("http://[::1]:8000/v1", "http://[::1]:8000/v1/chat/completions"),
        ("HTTPS://host", "https://host/chat/completions"),
        ("https://host/openai/deployments/d?api-version=2", "https://host/openai/deployments/d/chat/completions?api-version=2"),
    ],
)  # fmt: skip
def test_the_api_s_path_is_joined_to_the_path_of_the_address(base: str, address: str) -> None:
    args = ChatArguments(model=MODEL, base_url=base)
    assert server_address(args, OPENAI, "/chat/completions", own=False) == address


def test_an_address_without_the_version_says_where_the_api_usually_is() -> None:
    with ScriptedServer() as server, pytest.raises(BackendError, match="most servers have it below /v1"):
        ask(LOCAL, arguments(server, base_url=server.url.removesuffix("/v1")))


@every("usage", [{"prompt_tokens": -4, "completion_tokens": "9"}, None, [], {"prompt_tokens": True}])
def test_usage_that_is_no_count_is_no_count(usage: object) -> None:
    body = chat_body(Answers("A", usage=None), "1") | {"usage": usage}
    reply = reply_to(Raw(json.dumps(body).encode()))
    assert (reply.text, reply.prompt_tokens, reply.completion_tokens) == ("A", None, None)


def test_half_a_surrogate_pair_can_be_written_to_a_log() -> None:
    body = json.dumps(chat_body(Answers("A\ud83d"), "1")).encode()
    assert reply_to(Raw(body)).text.encode() == "A\ufffd\ufffd\ufffd".encode()


def test_pictures_are_sent_as_data_urls(tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(PICTURE)
    shown = request("", messages=(ChatMessage("user", ("See: ", Media("image", "a.png"), " What is it?")),))
    with ScriptedServer() as server:
        ask(LOCAL, arguments(server, images="true"), [shown], media_folder=tmp_path)
    text, picture, question = server.asked[0].body["messages"][0]["content"]
    assert (text["text"], question["text"]) == ("See: ", " What is it?")
    start, _, content = picture["image_url"]["url"].partition(",")
    assert start == "data:image/png;base64"
    assert b64decode(content) == PICTURE
