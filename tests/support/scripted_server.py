"""A model server on loopback that answers as its script says: right, late, wrong, or not at all.

It speaks OpenAI's chat and completions (with `echo` and `logprobs`) and Anthropic's messages, and records what it was asked:

    with ScriptedServer() as server:                                   # answers "A" to everything
        ...
    with ScriptedServer([Fails(500), Answers("B")]) as server: ...     # one act a request, the last one for all that follow
    with ScriptedServer(lambda asked: Answers(asked.text[-1])) as server: ...

It runs in a thread of its own, so that synchronous tests may use it as well as asynchronous ones.
"""

from __future__ import annotations

import asyncio
import json
import re
import threading
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from itertools import pairwise
from math import exp, log
from types import TracebackType
from typing import Any, Literal

from aiohttp import web

MODEL = "scripted-model"
#: What the server says that it is: the dated name of the model.
DATED = "scripted-model-2026-01-01"

CHAT, COMPLETIONS, MESSAGES = "/v1/chat/completions", "/v1/completions", "/v1/messages"


@dataclass(frozen=True)
class Asked:
    """One request as it came: the number counts from 1, names of headers are in lower case."""

    number: int
    path: str
    body: dict[str, Any]
    headers: dict[str, str]
    query: str = ""

    @property
    def text(self) -> str:
        """All texts of the messages, or the prompt."""
        if "messages" not in self.body:
            return str(self.body.get("prompt", ""))
        texts = [str(self.body["system"])] if "system" in self.body else []
        for message in self.body["messages"]:
            content = message["content"]
            parts = [{"text": content}] if isinstance(content, str) else content
            texts += [part["text"] for part in parts if "text" in part]
        return "\n".join(texts)


@dataclass(frozen=True)
class Answers:
    """A reply in the right shape.

    `usage` is what the server states (prompt, completion, thought tokens), true or not; `None` leaves it out.
    """

    text: str | None = "A"
    thought: str | None = None
    finish: str | None = None
    refusal: str | None = None
    usage: tuple[int, int, int] | None = (7, 3, 0)
    seconds: float = 0.0


@dataclass(frozen=True)
class Fails:
    """An error with a status, as vendors word it."""

    status: int
    message: str = "internal error"
    code: str | None = None
    headers: dict[str, str] = field(default_factory=dict)


def limits(retry_after: str) -> Fails:
    """A limit of requests, with the time to wait."""
    return Fails(429, "too many requests", "rate_limit_exceeded", {"Retry-After": retry_after})


@dataclass(frozen=True)
class Raw:
    """Bytes as they are; half a line, another encoding, a page of HTML."""

    content: bytes
    status: int = 200
    content_type: str = "application/json"


@dataclass(frozen=True)
class Stalls:
    """No answer at all, until the server is closed."""


@dataclass(frozen=True)
class Drops:
    """The start of an answer, and then the connection is closed."""

    content: bytes = b'{"id": "1", "choi'


Act = Answers | Fails | Raw | Stalls | Drops
Script = Callable[[Asked], Act] | Sequence[Act]

#: How the server lies about log-probabilities: not at all; each is the next (or the one before) token's; none are given;
#: positive; the same for every text; `echo` is ignored.
Likelihoods = Literal["right", "shifted", "shifted back", "missing", "positive", "constant", "no echo"]


class ScriptedServer:
    """The server; a context manager, and its `url` ends in /v1."""

    def __init__(self, script: Script = (Answers(),), likelihoods: Likelihoods = "right") -> None:
        self._script = script
        self._likelihoods = likelihoods
        self._stopped = asyncio.Event()
        self._started = threading.Event()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self.asked: list[Asked] = []
        self.port = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    @property
    def asked_twice(self) -> list[str]:
        """The texts that came more than once."""
        return [text for text, times in Counter(asked.text for asked in self.asked).items() if times > 1]

    def __enter__(self) -> ScriptedServer:
        self._thread.start()
        assert self._started.wait(30), "the scripted server did not start"
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End the server, as a machine that goes down; twice does no harm."""
        if self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._stopped.set)
            self._thread.join(30)

    def _serve(self) -> None:
        self._loop.run_until_complete(self._run())
        self._loop.close()

    async def _run(self) -> None:
        application = web.Application(client_max_size=1 << 26)
        for path in (CHAT, COMPLETIONS, MESSAGES):
            application.router.add_post(path, self._handle)
        runner = web.AppRunner(application, handler_cancellation=True, shutdown_timeout=0.1)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        self.port = runner.addresses[0][1]
        self._started.set()
        await self._stopped.wait()
        await runner.cleanup()

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        asked = Asked(
            len(self.asked) + 1,
            request.path,
            await request.json(),
            {name.lower(): value for name, value in request.headers.items()},
            request.rel_url.raw_query_string,
        )
        self.asked.append(asked)
        return await self._act(asked, request)

    async def _act(self, asked: Asked, request: web.Request) -> web.StreamResponse:
        act = self._next(asked)
        if isinstance(act, Fails):
            return web.json_response(error_body(act), status=act.status, headers=act.headers)
        if isinstance(act, Raw):
            return web.Response(body=act.content, status=act.status, content_type=act.content_type)
        if isinstance(act, Stalls):
            await self._stopped.wait()
            return web.Response(status=503)
        if isinstance(act, Drops):
            response = web.StreamResponse(
                headers={"Content-Length": "1000", "Content-Type": "application/json"}
            )
            await response.prepare(request)
            await response.write(act.content)
            assert request.transport is not None
            request.transport.close()
            return response
        if act.seconds:
            await asyncio.sleep(act.seconds)
        return web.json_response(self._body(asked, act))

    def _next(self, asked: Asked) -> Act:
        if callable(self._script):
            return self._script(asked)
        return self._script[min(asked.number, len(self._script)) - 1]

    def _body(self, asked: Asked, act: Answers) -> dict[str, Any]:
        if asked.path == CHAT:
            return chat_body(act, str(asked.number))
        if asked.path == MESSAGES:
            return messages_body(act, str(asked.number))
        return completion_body(act, asked, self._likelihoods)


def error_body(act: Fails) -> dict[str, Any]:
    error = {"message": act.message, "type": act.code or "server_error", "param": None, "code": act.code}
    return {"type": "error", "error": error}


def _openai_body(
    name: str, kind: str, choice: dict[str, Any], usage: tuple[int, int, int] | None
) -> dict[str, Any]:
    body = {"id": name, "object": kind, "created": 1_767_225_600, "model": DATED, "choices": [choice]}
    if usage is not None:
        prompt, completion, thought = usage
        body["usage"] = {
            "prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion,
            "completion_tokens_details": {"reasoning_tokens": thought},
        }  # fmt: skip
    return body


def chat_body(act: Answers, number: str) -> dict[str, Any]:
    """A reply of OpenAI's chat completions."""
    message: dict[str, Any] = {"role": "assistant", "content": act.text, "refusal": act.refusal}
    if act.thought is not None:
        message["reasoning_content"] = act.thought
    choice = {"index": 0, "message": message, "finish_reason": act.finish or "stop", "logprobs": None}
    return _openai_body(f"chatcmpl-{number}", "chat.completion", choice, act.usage)


def messages_body(act: Answers, number: str) -> dict[str, Any]:
    """A reply of Anthropic's messages."""
    content: list[dict[str, Any]] = []
    if act.thought is not None:
        content.append({"type": "thinking", "thinking": act.thought, "signature": "s"})
    if act.text is not None:
        content.append({"type": "text", "text": act.text})
    body: dict[str, Any] = {
        "id": f"msg_{number}", "type": "message", "role": "assistant", "model": DATED, "content": content,
        "stop_reason": act.finish or "end_turn", "stop_sequence": None,
    }  # fmt: skip
    if act.usage is not None:
        body["usage"] = {"input_tokens": act.usage[0], "output_tokens": act.usage[1]}
    return body


#: The words that the scripted language model knows; every other token is rare.
VOCABULARY = tuple(
    re.findall(r" \w+", " the a of is in and to blue green red day night cold yes no A B C D 1 2 3 4")
)


def tokens_of(text: str) -> list[str]:
    """Words with the spaces before them; joined they are the text."""
    return re.findall(r"\s*\S+|\s+$", text)


def _score(before: str, token: str) -> float:
    number = int.from_bytes(sha256(f"{before}\0{token}".encode()).digest()[:4]) / 2**32
    return 4 * number if token in VOCABULARY else -6 + 2 * number


def token_logprob(before: str, token: str) -> float:
    """The log-probability of a token after another: a bigram model whose numbers come from hashes."""
    everything = sum(exp(_score(before, word)) for word in VOCABULARY) + 1.0
    return _score(before, token) - log(everything)


def best_token(before: str) -> str:
    """The token that the bigram model takes after another."""
    return max(VOCABULARY, key=lambda word: _score(before, word))


def true_loglikelihood(context: str, continuation: str) -> float:
    """The log-likelihood of a continuation under the bigram model."""
    tokens = tokens_of(context + continuation)
    start = len(tokens_of(context))
    return sum(token_logprob(before, token) for before, token in list(pairwise(tokens))[start - 1 :])


def _shown(tokens: list[str], likelihoods: Likelihoods) -> list[float | None]:
    values: list[float | None] = [None, *(token_logprob(before, token) for before, token in pairwise(tokens))]
    if likelihoods in ("positive", "constant"):
        return [value and (-value if likelihoods == "positive" else -1.5) for value in values]
    return {"shifted": [*values[1:], None], "shifted back": [None, *values[:-1]]}.get(likelihoods, values)


def completion_body(act: Answers, asked: Asked, likelihoods: Likelihoods) -> dict[str, Any]:
    """A reply of OpenAI's completions; without a prescribed text it generates from the bigram model."""
    prompt = str(asked.body["prompt"])
    most = int(asked.body.get("max_tokens") or 16)
    echo = bool(asked.body.get("echo")) and likelihoods != "no echo"
    generated: list[str] = []
    if act == Answers():
        last = (tokens_of(prompt) or [""])[-1]
        for _ in range(most):
            generated.append(best_token((generated or [last])[-1]))
    else:
        generated = tokens_of(act.text or "")[:most]
    tokens = (tokens_of(prompt) if echo else []) + generated
    choice: dict[str, Any] = {
        "index": 0,
        "text": "".join(tokens) if act.text is not None else None,
        "finish_reason": act.finish or ("length" if len(generated) == most else "stop"),
        "logprobs": None,
    }
    if asked.body.get("logprobs") is not None and likelihoods != "missing":
        every = tokens if echo else [prompt, *tokens]
        values = _shown(every, likelihoods)[not echo :]
        best = [best_token(before) for before in ["", *every]]
        tops = [
            value and {token: value, other: token_logprob(before, other)}
            for before, token, value, other in zip(["", *every], tokens, values, best, strict=False)
        ]
        choice["logprobs"] = {
            "tokens": tokens, "token_logprobs": values, "top_logprobs": tops,
            "text_offset": [sum(map(len, tokens[:place])) for place in range(len(tokens))],
        }  # fmt: skip
    usage = None if act.usage is None else (len(tokens_of(prompt)), len(generated), 0)
    return _openai_body(f"cmpl-{asked.number}", "text_completion", choice, usage)


def half_a_line() -> Raw:
    """Half of a right answer, with status 200."""
    whole = json.dumps(chat_body(Answers(), "1")).encode()
    return Raw(whole[: len(whole) // 2])
