"""Chat over HTTP with servers of OpenAI's kind: OpenAI, vLLM, SGLang, Ollama, llama.cpp, OpenRouter, `transformers serve` and others."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from merilo.errors import DataError
from merilo.models.asking import Abilities, ChatMessage, Finish, ModelReply, Request
from merilo.models.backends.attempts import TryAgain
from merilo.models.backends.generated_text import cut_at_stop, split_at_mark
from merilo.models.backends.model_arguments import BackendArguments
from merilo.models.backends.pictures import read_picture
from merilo.models.backends.rate_limits import RateLimits
from merilo.models.backends.single_requests import ServerBackend
from merilo.models.backends.vendor_clients import (
    SERVER_ARGUMENTS,
    ServerSettings,
    VendorClient,
    openai_client,
)
from merilo.strict_json import Json

OPENAI_URL: Final = "https://api.openai.com/v1"
OPENAI_KEY: Final = "OPENAI_API_KEY"

#: lm-eval's arguments that change nothing for chat are accepted, so that its command lines work as they are.
CHAT_ARGUMENTS: Final = (
    *SERVER_ARGUMENTS,
    "images",
    "reasoning_effort",
    "enable_thinking",
    "think_end_token",
    "sampling",
    "tokenizer_backend",
    "tokenized_requests",
    "batch_size",
    "eos_string",
)

#: OpenAI's models that think take no stop strings and no sampling parameters.
_THINKS: Final = re.compile(r"^(?:o\d|gpt-5)")
#: The API takes no more stop strings; answers are cut at the others here.
MOST_STOPS: Final = 4

_FINISHES: Final[Mapping[str, Finish]] = {
    "stop": "stop",
    "eos_token": "stop",
    "stop_sequence": "stop",
    "length": "length",
    "content_filter": "refusal",
}


@dataclass(frozen=True, slots=True)
class ChatSettings:
    """How a chat server is asked.

    Attributes:
        name: the backend's name.
        tokens_field: what the server calls the most tokens of an answer.
        stops: whether it takes stop strings; otherwise answers are cut here.
        sampling: whether it takes temperature, top_p and a seed.
        images: whether the model takes pictures.
        extra: fields that are sent with every request.
        think_end: the mark that ends a thought within the text, if the user names one.
    """

    name: str
    tokens_field: str
    stops: bool
    sampling: bool
    images: bool
    extra: Mapping[str, Json]
    think_end: str | None


class ChatCompletions(ServerBackend):
    """A model behind a chat server of OpenAI's kind; a `ModelBackend`.

    Args:
        server: the server.
        settings: how it is asked.
        limits: its limits a minute.
        media_folder: the folder that the paths of pictures are below.
    """

    def __init__(
        self, server: ServerSettings, settings: ChatSettings, limits: RateLimits, media_folder: Path | None
    ) -> None:
        self._server = server
        self._settings = settings
        self._media_folder = media_folder
        self._client: VendorClient = openai_client(server, limits, "/chat/completions")

    @property
    def name(self) -> str:
        """The backend's name."""
        return self._settings.name

    @property
    def abilities(self) -> Abilities:
        """Generation; pictures if the model takes them."""
        return Abilities(frozenset({"generate"}), frozenset({"image"} if self._settings.images else ()))

    async def _ask(self, request: Request) -> ModelReply:
        if request.choices:
            return ModelReply(finish="failed", error=f"{self.name} gives no log-likelihoods")
        try:
            body = self._body(request)
        except DataError as error:
            return ModelReply(finish="failed", error=str(error), attempts=0)
        return await self._client.reply(body, self._reader(request), estimated_tokens(request))

    def _body(self, request: Request) -> dict[str, Json]:
        body: dict[str, Json] = {
            "model": self._server.model,
            "messages": [self._message(message) for message in request.messages],
            **self._settings.extra,
        }
        most = request.max_tokens or self._server.max_tokens
        if most is not None:
            body[self._settings.tokens_field] = most
        if request.stop and self._settings.stops:
            body["stop"] = list(request.stop[:MOST_STOPS])
        if self._settings.sampling:
            body["temperature"] = request.temperature
            if request.top_p is not None:
                body["top_p"] = request.top_p
            if request.seed is not None:
                body["seed"] = request.seed
        return body

    def _message(self, message: ChatMessage) -> dict[str, Json]:
        if all(isinstance(part, str) for part in message.parts):
            return {"role": message.role, "content": message.text}
        content: list[Json] = []
        for part in message.parts:
            if isinstance(part, str):
                content.append({"type": "text", "text": part})
            elif not self._settings.images:
                raise DataError(
                    f"the item shows {part}, and {self.name} takes no pictures (images=true if the model does)"
                )
            else:
                url = read_picture(part, self._media_folder).data_url
                content.append({"type": "image_url", "image_url": {"url": url}})
        return {"role": message.role, "content": content}

    def _reader(self, request: Request) -> Callable[[dict[str, Json]], ModelReply]:
        stop = request.stop if not self._settings.stops else request.stop[MOST_STOPS:]

        def read(body: dict[str, Json]) -> ModelReply:
            return read_chat(body, stop, self._settings.think_end)

        return read


def read_chat(body: Mapping[str, Json], stop: Sequence[str], think_end: str | None) -> ModelReply:
    """Read the body of a chat reply.

    Args:
        body: the body.
        stop: the stop strings that the server was not sent.
        think_end: the mark that ends a thought within the text, if the user names one.

    Raises:
        TryAgain: the body has the wrong shape.
    """
    choice = first_choice(body)
    message = choice.get("message")
    if not isinstance(message, dict):
        raise TryAgain("the reply's choice has no message")
    finish = _FINISHES.get(str(choice.get("finish_reason")), "other")
    refusal, content = message.get("refusal"), text_of(message.get("content"))
    thought = text_of(message.get("reasoning_content")) or text_of(message.get("reasoning"))
    if isinstance(refusal, str) and refusal:
        return counted(ModelReply(text=content or clean(refusal), thought=thought, finish="refusal"), body)
    if content is None:
        if finish == "stop":
            return counted(ModelReply(thought=thought, finish="failed", error="the reply has no text"), body)
        content = ""
    if thought is None:
        thought, content = split_at_mark(content, think_end)
    content, cut = cut_at_stop(content, stop)
    return counted(ModelReply(text=content, thought=thought, finish="stop" if cut else finish), body)


def first_choice(body: Mapping[str, Json]) -> Mapping[str, Json]:
    """Return the only choice of a reply.

    Raises:
        TryAgain: there is none.
    """
    choices = body.get("choices")
    if not isinstance(choices, list) or not choices or not isinstance(choices[0], dict):
        raise TryAgain("the reply has no choices")
    return choices[0]


def text_of(content: Json) -> str | None:
    """Return the text of a message's content, which is a text or a list of parts; `None` if it has none."""
    if isinstance(content, list):
        texts = [
            part["text"] for part in content if isinstance(part, dict) and isinstance(part.get("text"), str)
        ]
        return clean("".join(map(str, texts))) if texts else None
    return clean(content) if isinstance(content, str) else None


def clean(text: str) -> str:
    """Replace unpaired surrogates, which JSON can hold and a file of UTF-8 cannot."""
    return text.encode("utf-8", "surrogatepass").decode("utf-8", "replace")


def count_of(value: Json) -> int | None:
    """Return a count of tokens; `None` for anything that is not a whole number of at least 0."""
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def counted(reply: ModelReply, body: Mapping[str, Json]) -> ModelReply:
    """Return a reply with the tokens and the model's name that a body of OpenAI's kind states."""
    counts = object_in(body, "usage")
    details = object_in(counts, "completion_tokens_details")
    model = body.get("model")
    return replace(
        reply,
        prompt_tokens=count_of(counts.get("prompt_tokens")),
        completion_tokens=count_of(counts.get("completion_tokens")),
        thought_tokens=count_of(details.get("reasoning_tokens", counts.get("reasoning_tokens"))),
        model=clean(model) if isinstance(model, str) else None,
    )


def object_in(body: Mapping[str, Json], name: str) -> Mapping[str, Json]:
    """Return a field that is an object; an empty one if it is anything else."""
    value = body.get(name)
    return value if isinstance(value, dict) else {}


def estimated_tokens(request: Request) -> int:
    """Estimate the tokens of a request and its reply, for the limit a minute, at two and a half characters a token."""
    text = sum(len(message.text) for message in request.messages) or len(request.prompt)
    return round(text / 2.5) + (request.max_tokens or 256)


def open_chat(
    name: str, args: BackendArguments, limits: RateLimits, media_folder: Path | None
) -> ChatCompletions:
    """Open `openai-chat-completions` or `local-chat-completions`.

    Raises:
        UsageError: an argument has the wrong value.
        BackendError: the key is missing.
        MissingPartError: the extra `models` is not installed.
    """
    of_openai = name == "openai-chat-completions"
    server = ServerSettings.of(args, OPENAI_KEY, OPENAI_URL if of_openai else None)
    thinks = of_openai and bool(_THINKS.match(server.model))
    extra: dict[str, Json] = {}
    if effort := args.text("reasoning_effort"):
        extra["reasoning_effort"] = effort
    if args.text("enable_thinking") is not None:
        extra["chat_template_kwargs"] = {"enable_thinking": args.flag("enable_thinking", True)}
    settings = ChatSettings(
        name=name,
        tokens_field="max_completion_tokens" if of_openai else "max_tokens",
        stops=not thinks,
        sampling=args.flag("sampling", not thinks),
        images=args.flag("images", of_openai),
        extra=extra,
        think_end=args.text("think_end_token"),
    )
    return ChatCompletions(server, settings, limits, media_folder)
