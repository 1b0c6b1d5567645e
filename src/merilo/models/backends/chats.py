"""Chat with servers of OpenAI's kind (OpenAI, vLLM, SGLang, Ollama and others) and with Anthropic's."""

from __future__ import annotations

import re
from abc import abstractmethod
from base64 import b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from merilo.datasets.rendering import Media
from merilo.errors import DataError, UsageError, argument
from merilo.models.asking import FINISHES, Abilities, ChatMessage, ModelReply, Request
from merilo.models.backends.model_arguments import BackendArguments
from merilo.models.backends.servers import (
    SERVER_ARGUMENTS,
    RateLimits,
    ServerBackend,
    ServerSettings,
    TryAgain,
)
from merilo.strict_json import Json
from merilo.wording import shown


def split_at_mark(text: str, mark: str | None) -> tuple[str | None, str]:
    """Split a generated text after the mark that ends its thought, lm-eval's `think_end_token`.

    Args:
        text: the text as generated.
        mark: the mark; without it the text stays whole, and the known marks are found when the answer is extracted.

    Returns:
        The thought, `None` if there is no mark in the text, and the answer without white space before it.

    Example:
        >>> split_at_mark("2 + 2 is 4. ### 4", "###")
        ('2 + 2 is 4.', '4')
        >>> split_at_mark("4", "###")
        (None, '4')
    """
    before, found, after = text.rpartition(mark) if mark else ("", "", text)
    return (before.strip(), after.lstrip()) if found else (None, text)


def cut_at_stop(text: str, stop: Sequence[str]) -> tuple[str, bool]:
    r"""Cut a text before the first stop string, as a server does that was sent them.

    Returns:
        The text, and whether it was cut.

    Example:
        >>> cut_at_stop("A\nB", ["\n"])
        ('A', True)
    """
    places = [place for mark in stop if mark and (place := text.find(mark)) >= 0]
    return (text[: min(places)], True) if places else (text, False)


#: What files of each kind start with.
_SIGNATURES: Final = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
)


@dataclass(frozen=True, slots=True)
class Picture:
    """A picture.

    Attributes:
        kind: its media type, such as `image/png`.
        base64: its bytes.
    """

    kind: str
    base64: str

    @property
    def data_url(self) -> str:
        """The picture as a URL."""
        return f"data:{self.kind};base64,{self.base64}"


def read_picture(media: Media, folder: Path | None) -> Picture:
    """Read a picture below a folder.

    Args:
        media: the medium of the item.
        folder: the folder that its path is below.

    Raises:
        DataError: there is no folder, no such file below it, or it is not a PNG, JPEG, GIF or WebP picture.
    """
    if folder is None:
        raise DataError(f"the item shows {media}, and no folder of media is given")
    path = folder / media.path
    # Links are followed before the check, so that none leads out of the folder.
    if not path.resolve().is_relative_to(folder.resolve()):
        raise DataError(f"{shown(media.path)} is not below {shown(folder)}")
    try:
        content = path.read_bytes()
    except (OSError, ValueError) as error:
        raise DataError(
            f"{shown(path)} cannot be read: {getattr(error, 'strerror', None) or error}"
        ) from error
    for signature, kind in _SIGNATURES:
        if content.startswith(signature):
            return Picture(kind, b64encode(content).decode())
    if content.startswith(b"RIFF") and content[8:12] == b"WEBP":
        return Picture("image/webp", b64encode(content).decode())
    raise DataError(f"{shown(path)} is not a PNG, JPEG, GIF or WebP picture")


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


class ChatBackend(ServerBackend):
    """A model behind a chat server."""

    _media_folder: Path | None = None

    async def _ask(self, request: Request) -> ModelReply:
        if request.choices:
            return ModelReply(finish="failed", error=f"{self.name} gives no log-likelihoods")
        try:
            body = self._body(request)
        except DataError as error:
            return ModelReply(finish="failed", error=str(error), attempts=0)
        return await self._reply(body, lambda found: self._read(found, request), estimated_tokens(request))

    @abstractmethod
    def _body(self, request: Request) -> dict[str, Json]:
        """Return what is sent."""

    @abstractmethod
    def _read(self, body: dict[str, Json], request: Request) -> ModelReply:
        """Read the body of a reply."""

    @abstractmethod
    def _picture(self, part: Media) -> Json:
        """Return a picture as a part of a message."""

    def _message(self, message: ChatMessage) -> dict[str, Json]:
        if all(isinstance(part, str) for part in message.parts):
            return {"role": message.role, "content": message.text}
        content: list[Json] = [
            {"type": "text", "text": part} if isinstance(part, str) else self._picture(part)
            for part in message.parts
        ]
        return {"role": message.role, "content": content}


class ChatCompletions(ChatBackend):
    """A model behind a chat server of OpenAI's kind; a `ModelBackend`.

    Args:
        name: `openai-chat-completions` or `local-chat-completions`.
        args: the backend's arguments.
        limits: its limits a minute.
        media_folder: the folder that the paths of pictures are below.

    Raises:
        UsageError: an argument has the wrong value.
        BackendError: the key is missing.
        MissingPartError: the extra `models` is not installed.
    """

    def __init__(
        self, name: str, args: BackendArguments, limits: RateLimits, media_folder: Path | None
    ) -> None:
        of_openai = name == "openai-chat-completions"
        server = ServerSettings.of(args, OPENAI_KEY, OPENAI_URL if of_openai else None)
        thinks = of_openai and bool(_THINKS.match(server.model))
        self._images = args.flag("images", of_openai)
        self._stops = not thinks
        self._sampling = args.flag("sampling", not thinks)
        self._tokens_field = "max_completion_tokens" if of_openai else "max_tokens"
        self._think_end = args.text("think_end_token")
        self._media_folder = media_folder
        self._extra: dict[str, Json] = {}
        if effort := args.text("reasoning_effort"):
            self._extra["reasoning_effort"] = effort
        if args.text("enable_thinking") is not None:
            self._extra["chat_template_kwargs"] = {"enable_thinking": args.flag("enable_thinking", True)}
        abilities = Abilities(frozenset({"generate"}), frozenset({"image"} if self._images else ()))
        super().__init__(name, abilities, server, limits, vendor="openai", path="/chat/completions")

    def _body(self, request: Request) -> dict[str, Json]:
        body: dict[str, Json] = {
            "model": self._server.model,
            "messages": [self._message(message) for message in request.messages],
            **self._extra,
        }
        most = request.max_tokens or self._server.max_tokens
        if most is not None:
            body[self._tokens_field] = most
        if request.stop and self._stops:
            body["stop"] = list(request.stop[:MOST_STOPS])
        if self._sampling:
            body["temperature"] = request.temperature
            if request.top_p is not None:
                body["top_p"] = request.top_p
            if request.seed is not None:
                body["seed"] = request.seed
        return body

    def _picture(self, part: Media) -> Json:
        if not self._images:
            raise DataError(
                f"the item shows {part}, and {self.name} takes no pictures (images=true if the model does)"
            )
        return {"type": "image_url", "image_url": {"url": read_picture(part, self._media_folder).data_url}}

    def _read(self, body: dict[str, Json], request: Request) -> ModelReply:
        stop = request.stop[MOST_STOPS:] if self._stops else request.stop
        return read_chat(body, stop, self._think_end)


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
    finish = FINISHES.get(str(choice.get("finish_reason")), "other")
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


ANTHROPIC_URL: Final = "https://api.anthropic.com"
ANTHROPIC_KEY: Final = "ANTHROPIC_API_KEY"
ANTHROPIC_ARGUMENTS: Final = (*SERVER_ARGUMENTS, "thinking", "effort", "sampling", "batch_size")

#: The API needs a limit of tokens with every request.
MOST_TOKENS: Final = 1024


class AnthropicChat(ChatBackend):
    """A model behind Anthropic's API; a `ModelBackend`. Models that think refuse temperature and top_p.

    Args:
        args: the backend's arguments.
        limits: its limits a minute.
        media_folder: the folder that the paths of pictures are below.

    Raises:
        UsageError: an argument has the wrong value.
        BackendError: the key is missing.
        MissingPartError: the extra `models` is not installed.
    """

    def __init__(self, args: BackendArguments, limits: RateLimits, media_folder: Path | None) -> None:
        server = ServerSettings.of(args, ANTHROPIC_KEY, ANTHROPIC_URL, MOST_TOKENS)
        server = replace(server, url=server.url.removesuffix("/v1"))  # the SDK's paths begin with it
        self._media_folder = media_folder
        self._extra: dict[str, Json] = {}
        thinking = args.text("thinking")
        if thinking in {"adaptive", "disabled"}:
            self._extra["thinking"] = {"type": thinking}
        elif thinking is not None:
            if not thinking.isascii() or not thinking.isdecimal():
                message = f"thinking takes adaptive, disabled or a number of tokens, not {thinking!r}"
                raise UsageError(message, field=argument("model_args"))
            self._extra["thinking"] = {"type": "enabled", "budget_tokens": int(thinking)}
        if effort := args.text("effort"):
            self._extra["output_config"] = {"effort": effort}
        self._sampling = args.flag("sampling", thinking in {None, "disabled"})
        abilities = Abilities(frozenset({"generate"}), frozenset({"image"}))
        super().__init__("anthropic-chat", abilities, server, limits, vendor="anthropic", path="/v1/messages")

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
        # The API refuses texts of white space alone.
        parts = tuple(part for part in message.parts if not isinstance(part, str) or part.strip())
        if any(not isinstance(part, str) for part in parts):
            message = replace(message, parts=parts)
        return super()._message(message)

    def _picture(self, part: Media) -> Json:
        picture = read_picture(part, self._media_folder)
        source: Json = {"type": "base64", "media_type": picture.kind, "data": picture.base64}
        return {"type": "image", "source": source}

    def _read(self, body: dict[str, Json], request: Request) -> ModelReply:
        # The API refuses stop strings of white space alone; answers are cut at them here.
        return read_message(body, [mark for mark in request.stop if not mark.strip()])


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
    finish = FINISHES.get(str(body.get("stop_reason")), "other")
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
