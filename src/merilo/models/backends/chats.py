"""Chat with servers of OpenAI's kind (OpenAI, vLLM, SGLang, Ollama and others) and with Anthropic's."""

from __future__ import annotations

import re
from abc import abstractmethod
from base64 import b64encode
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from pydantic import AliasPath, BaseModel, Field

from merilo.datasets.rendering import Media
from merilo.errors import DataError
from merilo.models.asking import FINISHES, Abilities, ChatMessage, ModelReply, Request
from merilo.models.backends.model_arguments import AnthropicArguments, ChatArguments
from merilo.models.backends.servers import (
    ANTHROPIC,
    OPENAI,
    Count,
    OpenAIReply,
    ReplyText,
    ServerBackend,
    ServerReply,
    server_address,
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


def read_picture(media: Media, folder: Path | None) -> tuple[str, str]:
    """Read a picture below a folder.

    Args:
        media: the medium of the item.
        folder: the folder that its path is below.

    Returns:
        Its media type, such as `image/png`, and its bytes in base64.

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
            return kind, b64encode(content).decode()
    if content.startswith(b"RIFF") and content[8:12] == b"WEBP":
        return "image/webp", b64encode(content).decode()
    raise DataError(f"{shown(path)} is not a PNG, JPEG, GIF or WebP picture")


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
        return await self._reply(body, lambda form: self._read(form, request))

    @abstractmethod
    def _body(self, request: Request) -> dict[str, Json]:
        """Return what is sent."""

    @abstractmethod
    def _read(self, form: Any, request: Request) -> ModelReply:  # noqa: ANN401 - the backend's own form
        """Return the reply to a request."""

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


class _Message(BaseModel):
    content: ReplyText | None = None
    refusal: ReplyText | None = None
    reasoning_content: ReplyText | None = None
    reasoning: ReplyText | None = None


class ChatReply(OpenAIReply):
    """A reply of OpenAI's chat completions."""

    message: _Message = Field(validation_alias=AliasPath("choices", 0, "message"))


class ChatCompletions(ChatBackend):
    """A model behind a chat server of OpenAI's kind; a `ModelBackend`.

    Args:
        name: `openai-chat-completions` or `local-chat-completions`.
        given: the backend's arguments.
        media_folder: the folder that the paths of pictures are below.

    Raises:
        UsageError: an argument has the wrong value.
        MissingPartError: the extra `models` is not installed.
    """

    _form = ChatReply

    def __init__(self, name: str, given: Mapping[str, str], media_folder: Path | None) -> None:
        of_openai = name == "openai-chat-completions"
        args = self._args = ChatArguments.read(name, given, OPENAI.key)
        thinks = of_openai and bool(_THINKS.match(args.model))
        self._images = of_openai if args.images is None else args.images
        self._stops = not thinks
        self._sampling = not thinks if args.sampling is None else args.sampling
        self._tokens_field = "max_completion_tokens" if of_openai else "max_tokens"
        self._media_folder = media_folder
        self._extra: dict[str, Json] = {}
        if args.reasoning_effort:
            self._extra["reasoning_effort"] = args.reasoning_effort
        if args.enable_thinking is not None:
            self._extra["chat_template_kwargs"] = {"enable_thinking": args.enable_thinking}
        abilities = Abilities(frozenset({"generate"}), frozenset({"image"} if self._images else ()))
        url = server_address(args, OPENAI, "/chat/completions", own=of_openai)
        super().__init__(name, abilities, args, vendor=OPENAI, url=url)

    def _body(self, request: Request) -> dict[str, Json]:
        messages: list[Json] = [self._message(message) for message in request.messages]
        body: dict[str, Json] = {"model": self.model, "messages": messages, **self._extra}
        if most := request.max_tokens or self._args.max_gen_toks:
            body[self._tokens_field] = most
        if request.stop and self._stops:
            body["stop"] = list(request.stop[:MOST_STOPS])
        return body | (sampling_of(request) if self._sampling else {}) | self._args.added

    def _picture(self, part: Media) -> Json:
        if not self._images:
            raise DataError(
                f"the item shows {part}, and {self.name} takes no pictures (images=true if the model does)"
            )
        kind, content = read_picture(part, self._media_folder)
        return {"type": "image_url", "image_url": {"url": f"data:{kind};base64,{content}"}}

    def _read(self, form: ChatReply, request: Request) -> ModelReply:
        message = form.message
        finish = FINISHES.get(form.finish_reason or "", "other")
        thought, text = message.reasoning_content or message.reasoning, message.content or ""
        if message.refusal:
            return form.counted(ModelReply(text=text or message.refusal, thought=thought, finish="refusal"))
        if thought is None:
            thought, text = split_at_mark(text, self._args.think_end_token)
        text, cut = cut_at_stop(text, request.stop[MOST_STOPS:] if self._stops else request.stop)
        return form.counted(ModelReply(text=text, thought=thought, finish="stop" if cut else finish))


def sampling_of(request: Request) -> dict[str, Json]:
    """Return the parameters of sampling in the words of OpenAI's API."""
    seed: dict[str, Json] = {} if request.seed is None else {"seed": request.seed}
    return {"temperature": request.temperature, **seed}


class _Block(BaseModel):
    text: ReplyText = ""
    thinking: ReplyText = ""


class Message(ServerReply):
    """A reply of Anthropic's messages. Tokens read from the cache and written to it are counted apart."""

    content: list[_Block]
    stop_reason: str | None = None
    fresh: Count = Field(None, validation_alias=AliasPath("usage", "input_tokens"))
    cache_read: Count = Field(None, validation_alias=AliasPath("usage", "cache_read_input_tokens"))
    cache_creation: Count = Field(None, validation_alias=AliasPath("usage", "cache_creation_input_tokens"))
    completion_tokens: Count = Field(None, validation_alias=AliasPath("usage", "output_tokens"))
    thought_tokens: Count = Field(
        None, validation_alias=AliasPath("usage", "output_tokens_details", "thinking_tokens")
    )


class AnthropicChat(ChatBackend):
    """A model behind Anthropic's API; a `ModelBackend`. Models that think refuse a temperature.

    Args:
        given: the backend's arguments.
        media_folder: the folder that the paths of pictures are below.

    Raises:
        UsageError: an argument has the wrong value.
        MissingPartError: the extra `models` is not installed.
    """

    _form = Message

    def __init__(self, given: Mapping[str, str], media_folder: Path | None) -> None:
        args = self._args = AnthropicArguments.read("anthropic-chat", given, ANTHROPIC.key)
        self._media_folder = media_folder
        self._extra: dict[str, Json] = {}
        self._budget = args.thinking if isinstance(args.thinking, int) else 0
        if isinstance(args.thinking, int):
            self._extra["thinking"] = {"type": "enabled", "budget_tokens": args.thinking}
        elif args.thinking is not None:
            self._extra["thinking"] = {"type": args.thinking}
        if args.effort:
            self._extra["output_config"] = {"effort": args.effort}
        self._sampling = args.thinking in {None, "disabled"} if args.sampling is None else args.sampling
        abilities = Abilities(frozenset({"generate"}), frozenset({"image"}))
        url = server_address(args, ANTHROPIC, "/v1/messages", own=True)
        super().__init__("anthropic-chat", abilities, args, vendor=ANTHROPIC, url=url)

    def _body(self, request: Request) -> dict[str, Json]:
        system = "\n\n".join(message.text for message in request.messages if message.role == "system")
        most = request.max_tokens or self._args.max_gen_toks
        body: dict[str, Json] = {
            "model": self.model,
            "messages": [self._message(message) for message in request.messages if message.role != "system"],
            # The API refuses a limit that the budget of thought would use up.
            "max_tokens": most if most > self._budget else most + self._budget,
            **self._extra,
        }
        if system:
            body["system"] = system
        if stops := [mark for mark in request.stop if mark.strip()]:
            body["stop_sequences"] = list(stops)
        return body | (sampling_of(replace(request, seed=None)) if self._sampling else {}) | self._args.added

    def _message(self, message: ChatMessage) -> dict[str, Json]:
        # The API refuses texts of white space alone.
        parts = tuple(part for part in message.parts if not isinstance(part, str) or part.strip())
        if any(not isinstance(part, str) for part in parts):
            message = replace(message, parts=parts)
        return super()._message(message)

    def _picture(self, part: Media) -> Json:
        kind, content = read_picture(part, self._media_folder)
        return {"type": "image", "source": {"type": "base64", "media_type": kind, "data": content}}

    def _read(self, form: Message, request: Request) -> ModelReply:
        finish = FINISHES.get(form.stop_reason or "", "other")
        # The API refuses stop strings of white space alone; answers are cut at them here.
        stops = [mark for mark in request.stop if not mark.strip()]
        text, cut = cut_at_stop("".join(block.text for block in form.content), stops)
        cached = (form.cache_read or 0) + (form.cache_creation or 0)
        return ModelReply(
            text=text,
            thought="".join(block.thinking for block in form.content) or None,
            finish="stop" if cut and finish != "refusal" else finish,
            prompt_tokens=None if form.fresh is None else form.fresh + cached,
            completion_tokens=form.completion_tokens,
            thought_tokens=form.thought_tokens,
        )
