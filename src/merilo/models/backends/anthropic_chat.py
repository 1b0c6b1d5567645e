"""Chat with Anthropic's messages."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from merilo.errors import DataError, UsageError, argument
from merilo.models.asking import Abilities, ChatMessage, Finish, ModelReply, Request
from merilo.models.backends.attempts import TryAgain
from merilo.models.backends.chat_http import clean, count_of, estimated_tokens, object_in
from merilo.models.backends.generated_text import cut_at_stop
from merilo.models.backends.model_arguments import BackendArguments
from merilo.models.backends.pictures import read_picture
from merilo.models.backends.rate_limits import RateLimits
from merilo.models.backends.single_requests import ServerBackend
from merilo.models.backends.vendor_clients import SERVER_ARGUMENTS, ServerSettings, anthropic_client
from merilo.strict_json import Json

ANTHROPIC_URL: Final = "https://api.anthropic.com"
ANTHROPIC_KEY: Final = "ANTHROPIC_API_KEY"
ANTHROPIC_ARGUMENTS: Final = (*SERVER_ARGUMENTS, "thinking", "effort", "sampling", "batch_size")

#: The API needs a limit of tokens with every request.
MOST_TOKENS: Final = 1024

_FINISHES: Final[Mapping[str, Finish]] = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "refusal": "refusal",
}


class AnthropicChat(ServerBackend):
    """A model behind Anthropic's API; a `ModelBackend`.

    Args:
        server: the server.
        limits: its limits a minute.
        sampling: whether temperature and top_p are sent; models that think refuse them.
        extra: fields that are sent with every request.
        media_folder: the folder that the paths of pictures are below.
    """

    def __init__(
        self,
        server: ServerSettings,
        limits: RateLimits,
        sampling: bool,
        extra: Mapping[str, Json],
        media_folder: Path | None,
    ) -> None:
        self._server = server
        self._sampling = sampling
        self._extra = extra
        self._media_folder = media_folder
        self._client = anthropic_client(server, limits)

    @property
    def name(self) -> str:
        """The backend's name."""
        return "anthropic-chat"

    @property
    def abilities(self) -> Abilities:
        """Generation, with pictures."""
        return Abilities(frozenset({"generate"}), frozenset({"image"}))

    async def _ask(self, request: Request) -> ModelReply:
        if request.choices:
            return ModelReply(finish="failed", error=f"{self.name} gives no log-likelihoods")
        try:
            body = self._body(request)
        except DataError as error:
            return ModelReply(finish="failed", error=str(error), attempts=0)
        return await self._client.reply(body, self._reader(request), estimated_tokens(request))

    def _body(self, request: Request) -> dict[str, Json]:
        system = "\n\n".join(message.text for message in request.messages if message.role == "system")
        body: dict[str, Json] = {
            "model": self._server.model,
            "messages": [self._message(message) for message in request.messages if message.role != "system"],
            "max_tokens": request.max_tokens or self._server.max_tokens,
            **self._extra,
        }
        if system:
            body["system"] = system
        if stops := [mark for mark in request.stop if mark.strip()]:
            body["stop_sequences"] = list(stops)
        if self._sampling:
            body["temperature"] = request.temperature
            if request.top_p is not None:
                body["top_p"] = request.top_p
        return body

    def _message(self, message: ChatMessage) -> dict[str, Json]:
        if all(isinstance(part, str) for part in message.parts):
            return {"role": message.role, "content": message.text}
        content: list[Json] = []
        for part in message.parts:
            if isinstance(part, str):
                if part.strip():  # the API refuses texts of white space alone
                    content.append({"type": "text", "text": part})
                continue
            picture = read_picture(part, self._media_folder)
            source: Json = {"type": "base64", "media_type": picture.kind, "data": picture.base64}
            content.append({"type": "image", "source": source})
        return {"role": message.role, "content": content}

    def _reader(self, request: Request) -> Callable[[dict[str, Json]], ModelReply]:
        # The API refuses stop strings of white space alone; answers are cut at them here.
        stop = [mark for mark in request.stop if not mark.strip()]
        return lambda body: read_message(body, stop)


def read_message(body: Mapping[str, Json], stop: Sequence[str]) -> ModelReply:
    """Read the body of a message.

    Args:
        body: the body.
        stop: the stop strings that the server was not sent.

    Raises:
        TryAgain: the body has the wrong shape.
    """
    blocks = body.get("content")
    if not isinstance(blocks, list) or not all(isinstance(block, dict) for block in blocks):
        raise TryAgain("the reply has no content")
    texts = {kind: _texts(blocks, kind) for kind in ("text", "thinking")}
    finish = _FINISHES.get(str(body.get("stop_reason")), "other")
    text, cut = cut_at_stop("".join(texts["text"]), stop)
    counts = object_in(body, "usage")
    details = object_in(counts, "output_tokens_details")
    model = body.get("model")
    return ModelReply(
        text=text,
        thought="".join(texts["thinking"]) or None,
        finish="stop" if cut and finish != "refusal" else finish,
        prompt_tokens=_prompt_tokens(counts),
        completion_tokens=count_of(counts.get("output_tokens")),
        thought_tokens=count_of(details.get("thinking_tokens")),
        model=clean(model) if isinstance(model, str) else None,
    )


def _texts(blocks: Sequence[Json], kind: str) -> list[str]:
    return [
        clean(str(block.get(kind, "")))
        for block in blocks
        if isinstance(block, dict) and block.get("type") == kind
    ]


def _prompt_tokens(counts: Mapping[str, Json]) -> int | None:
    """Tokens of the request: those read from the cache and written to it are counted apart."""
    fresh = count_of(counts.get("input_tokens"))
    if fresh is None:
        return None
    cached = (counts.get("cache_read_input_tokens"), counts.get("cache_creation_input_tokens"))
    return fresh + sum(count_of(number) or 0 for number in cached)


def open_anthropic(args: BackendArguments, limits: RateLimits, media_folder: Path | None) -> AnthropicChat:
    """Open `anthropic-chat`.

    Raises:
        UsageError: an argument has the wrong value.
        BackendError: the key is missing.
        MissingPartError: the extra `models` is not installed.
    """
    server = ServerSettings.of(args, ANTHROPIC_KEY, ANTHROPIC_URL, MOST_TOKENS)
    server = replace(server, url=server.url.removesuffix("/v1"))  # the SDK's paths begin with it
    extra: dict[str, Json] = {}
    thinking = args.text("thinking")
    if thinking in {"adaptive", "disabled"}:
        extra["thinking"] = {"type": thinking}
    elif thinking is not None:
        if not thinking.isascii() or not thinking.isdecimal():
            message = f"thinking takes adaptive, disabled or a number of tokens, not {thinking!r}"
            raise UsageError(message, field=argument("model_args"))
        extra["thinking"] = {"type": "enabled", "budget_tokens": int(thinking)}
    if effort := args.text("effort"):
        extra["output_config"] = {"effort": effort}
    sampling = args.flag("sampling", thinking in {None, "disabled"})
    return AnthropicChat(server, limits, sampling, extra, media_folder)
