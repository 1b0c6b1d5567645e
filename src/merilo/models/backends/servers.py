"""Servers of models behind the vendors' SDKs, which send a request again, time it out and type its errors.

Requests go through the SDK's `post`: its typed methods take twice the processor time, and they take a reply of the
wrong shape for one with empty fields.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import time
from abc import ABC, abstractmethod
from base64 import b64encode
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any, ClassVar, Final
from urllib.parse import parse_qsl, unquote_to_bytes, urlsplit, urlunsplit

from pydantic import AliasPath, BaseModel, BeforeValidator, Field

from merilo.datasets.rendering import Media
from merilo.errors import BackendError, DataError, UsageError, argument, missing_extra
from merilo.models.asking import FINISHES, Abilities, ChatMessage, ModelReply, Request
from merilo.models.backends.model_arguments import ChatArguments, CompletionArguments, ServerArguments
from merilo.models.run_folder import without_secrets
from merilo.strict_json import Json
from merilo.wording import shortened, shown

#: What the SDKs are for.
_NEEDED: Final = "a model behind a server"

#: If a server asks for a longer wait than the SDKs keep to, the run ends; the same command resumes it later.
LONGEST_RETRY_AFTER: Final = 120

#: OpenAI's API takes no more stop strings; answers are cut at the others here.
MOST_STOPS: Final = 4

#: What an address may end with beside its base: lm-eval takes the whole address of the API.
_PATHS: Final = re.compile(r"/(?:v1/messages|chat/completions|completions|messages)$")
#: The words of servers for a prompt that does not fit, and for a filter; only OpenAI has codes for them.
_TOO_LONG: Final = re.compile(
    r"context.?(length|size|window|limit)|too long|maximum (model )?length", re.IGNORECASE
)
_FILTERED: Final = re.compile(r"content.?(filter|policy|management)|moderation|flagged", re.IGNORECASE)


def _text(content: object) -> object:
    """Join a content of several parts; replace unpaired surrogates, which a file of UTF-8 cannot hold."""
    if isinstance(content, list):
        content = "".join(str(part.get("text") or "") for part in content if isinstance(part, dict))
    return (
        content.encode("utf-8", "surrogatepass").decode("utf-8", "replace")
        if isinstance(content, str)
        else content
    )


def _count(value: object) -> object:
    """Return a count of tokens; `None` for anything that is not a whole number of at least 0."""
    return value if type(value) is int and value >= 0 else None


#: A text of a reply.
ReplyText = Annotated[str, BeforeValidator(_text)]
#: A count of tokens, of which servers state many kinds of nonsense.
Count = Annotated[int | None, BeforeValidator(_count)]


class ServerReply(BaseModel):
    """The body of a server's reply, as far as it is read: subclasses declare each API's fields."""

    model: ReplyText = ""


class OpenAIReply(ServerReply):
    """What every API of OpenAI's kind states of a reply."""

    finish_reason: str | None = Field(None, validation_alias=AliasPath("choices", 0, "finish_reason"))
    prompt_tokens: Count = Field(None, validation_alias=AliasPath("usage", "prompt_tokens"))
    completion_tokens: Count = Field(None, validation_alias=AliasPath("usage", "completion_tokens"))
    thought_tokens: Count = Field(
        None, validation_alias=AliasPath("usage", "completion_tokens_details", "reasoning_tokens")
    )


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
    before, separator, after = text.rpartition(mark) if mark else ("", "", text)
    return (before.strip(), after.lstrip()) if separator else (None, text)


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


@dataclass(frozen=True, slots=True)
class Vendor:
    """A vendor of models, whose SDK also connects to other servers of its kind.

    Attributes:
        name: the SDK's package.
        client: the name of its class.
        url: the vendor's own address.
        key: the environment variable with the key; it is needed at the vendor's own address only.
    """

    name: str
    client: str
    url: str
    key: str


OPENAI: Final = Vendor("openai", "AsyncOpenAI", "https://api.openai.com/v1", "OPENAI_API_KEY")
ANTHROPIC: Final = Vendor("anthropic", "AsyncAnthropic", "https://api.anthropic.com", "ANTHROPIC_API_KEY")


def server_address(args: ServerArguments, vendor: Vendor, path: str, *, own: bool) -> str:
    """Return the address that requests are sent to.

    Args:
        args: the backend's arguments.
        vendor: the vendor.
        path: the API's path below the base of the address.
        own: whether the address is the vendor's own if none is given.

    Raises:
        UsageError: the address is missing or is none.
    """
    if args.base_url is None and not own:
        raise UsageError("the backend needs base_url=...", field=argument("model_args"))
    address = (args.base_url or vendor.url).strip()
    try:
        parts = urlsplit(address)
        valid = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:  # half of an IPv6 address, or a port that is no number
        valid = False
    if not valid:
        shown = shortened(address.partition("?")[0])
        wrong = f"base_url takes an address that starts with http:// or https://, not {shown!r}"
        raise UsageError(wrong, field=argument("model_args"))
    base = _PATHS.sub("", parts.path.rstrip("/"))
    if path.startswith("/v1/"):
        base = base.removesuffix("/v1")
    return urlunsplit(parts._replace(path=base + path, fragment=""))


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


class ServerBackend(ABC):
    """A backend whose requests go to one server, one in a call; subclasses answer one request.

    Args:
        name: the backend's name.
        arguments: its arguments.
        media: dataset -> the folder that the paths of its pictures are below.

    Raises:
        UsageError: an argument has the wrong value.
        MissingPartError: the extra `models` is not installed.
    """

    batch_size = 1
    _args: ServerArguments
    _arguments: ClassVar[type[ServerArguments]]
    _form: ClassVar[type[ServerReply]]
    _vendor: ClassVar[Vendor]
    _path: ClassVar[str]

    def __init__(self, name: str, arguments: Mapping[str, str], media: Mapping[str, Path]) -> None:
        vendor, self._of_vendor = self._vendor, not name.startswith("local-")
        args = self._args = self._arguments.read(name, arguments, vendor.key)
        url = server_address(args, vendor, self._path, own=self._of_vendor)
        try:
            self._sdk: Any = import_module(vendor.name)
        except ImportError as error:
            raise missing_extra(_NEEDED, "models", error) from error
        self.name, self.model, self.concurrency = name, args.model, args.num_concurrent
        self._address, self._media = without_secrets(url), media
        self.abilities, self._extra = self._configured()
        parts = urlsplit(url)
        user, _, host = parts.netloc.rpartition("@")
        self._url = urlunsplit(parts._replace(netloc=host))
        basic = b64encode(unquote_to_bytes(user)).decode()
        self._key = os.environ.get(vendor.key)
        self._has_address = args.base_url is not None
        try:
            http = self._sdk.DefaultAioHttpClient(
                verify=args.ca_cert_path or args.verify_certificate,
                timeout=args.timeout,
                event_hooks={"response": [self._refuse_what_is_no_reply]},
            )
        except RuntimeError as error:  # the SDK alone is installed, without its client for many connections
            raise missing_extra(_NEEDED, "models", error) from error
        self._client = getattr(self._sdk, vendor.client)(
            api_key=self._key or "none",
            max_retries=args.max_retries,
            timeout=args.timeout,
            http_client=http,
            default_headers={"Authorization": f"Basic {basic}"} if user else None,
        )

    @abstractmethod
    def _configured(self) -> tuple[Abilities, dict[str, Json]]:
        """Return what the arguments decide: what the backend can do, and fields of every body."""

    async def ask(self, requests: Sequence[Request]) -> Sequence[ModelReply]:
        """Answer requests, in their order.

        Raises:
            BackendError: what ends the run.
        """
        if not (self._key or self._has_address):
            where = f"set the environment variable {self._vendor.key}"
            raise BackendError(f"{self._vendor.url} needs a key: {where}")
        return await asyncio.gather(*(self._ask(request) for request in requests))

    async def close(self) -> None:
        """Close the connections."""
        await self._client.close()

    async def _ask(self, request: Request) -> ModelReply:
        """Answer one request."""
        if request.choices:
            return ModelReply(finish="failed", error=f"{self.name} gives no log-likelihoods")
        try:
            body = self._body(request)
        except DataError as error:
            return ModelReply(finish="failed", error=str(error), attempts=0)
        return await self._reply(body, lambda form: self._read(form, request))

    def _message(self, message: ChatMessage, dataset: str) -> dict[str, Json]:
        """Return a message as both vendors take it; beside pictures, they refuse texts of white space alone."""
        if all(isinstance(part, str) for part in message.parts):
            return {"role": message.role, "content": message.text}
        content: list[Json] = [
            {"type": "text", "text": part}
            if isinstance(part, str)
            else self._picture(*read_picture(part, self._media.get(dataset)))
            for part in message.parts
            if not isinstance(part, str) or part.strip()
        ]
        return {"role": message.role, "content": content}

    def _picture(self, kind: str, content: str) -> Json:
        """Return a picture as a part of a message."""
        raise NotImplementedError

    @abstractmethod
    def _body(self, request: Request) -> dict[str, Json]:
        """Return what is sent."""

    @abstractmethod
    def _read(self, form: Any, request: Request) -> ModelReply:  # noqa: ANN401 - the backend's own form
        """Return the reply to a request."""

    async def _reply(self, body: dict[str, Json], read: Callable[[Any], ModelReply]) -> ModelReply:
        """Send a request and read its reply.

        Args:
            body: what is sent.
            read: makes the reply of the body, which has the backend's form.

        Raises:
            BackendError: what ends the run.
        """
        from httpx2 import Response  # noqa: PLC0415 - an extra, which the SDK brings

        started = time.monotonic()
        try:
            response = await self._client.post(self._url, cast_to=Response, body=body)
            sent, form = response.request, response.extensions["reply"]
            reply = replace(read(form), model=form.model or None)
        except self._sdk.APIStatusError as error:
            sent, reply = error.request, self._settled(error)
        except self._sdk.APIConnectionError as error:
            sent, reply = error.request, self._unanswered(error)
        attempts = 1 + int(sent.headers.get("x-stainless-retry-count", 0))
        return replace(reply, attempts=attempts, seconds=time.monotonic() - started)

    async def _refuse_what_is_no_reply(self, response: Any) -> None:  # noqa: ANN401 - an extra's type
        """Give a reply without an answer the status of an error, so that the SDK sends the request again.

        Proxies answer with a page or half a reply and status 200, and so do gateways with an error.
        """
        if not response.is_success:
            return
        content = await response.aread()
        try:
            response.extensions["reply"] = self._form.model_validate(json.loads(content))
        except (ValueError, RecursionError):
            response.status_code, response.extensions["reply"] = 502, None

    def _settled(self, error: Any) -> ModelReply:  # noqa: ANN401 - each SDK has a class of its own
        """Return the reply that an error of the server amounts to: refused, too long, or failed for good."""
        status, (message, code) = error.status_code, self._words_of(error)
        if "reply" in error.response.extensions:
            return ModelReply(finish="failed", error=f"the reply cannot be read: {shortened(message, 80)!r}")
        reason = f"status {status}: {shortened(message, 300)}"
        if status in {400, 413, 422} and (status == 413 or _TOO_LONG.search(f"{code} {message}")):
            return ModelReply(finish="too_long", error=reason)
        if status < 500 and status != 429 and _FILTERED.search(f"{code} {message}"):
            return ModelReply(finish="refusal", error=reason)
        self._end_the_run(error, status, code, reason)
        return ModelReply(finish="failed", error=reason)

    def _end_the_run(self, error: Any, status: int, code: str, reason: str) -> None:  # noqa: ANN401 - as above
        key, wait = self._vendor.key, error.response.headers.get("retry-after", "")
        what = ""
        if status == 401:  # the server's own message may quote the key
            what = f"rejects the key in {key}" if self._key else f"needs a key: set {key}"
            what += " (status 401)"
        elif status == 403:
            what = f"does not let the key in {key} use {self.model!r} (status 403)"
        elif status in {404, 405}:
            hint = "" if "/v1/" in self._address else "; most servers have it below /v1"
            what = f"does not know the model {self.model!r}, or is not the API's address ({reason}){hint}"
        elif status == 402 or "insufficient_quota" in code:
            what = f"accepts no more requests for this key: {reason}"
        elif wait.isdecimal() and int(wait) > LONGEST_RETRY_AFTER:
            again = "run the same command again then"
            what = f"asks to wait {wait} seconds before the next request ({reason}); {again}"
        if what:
            raise BackendError(f"{self._address} {what}")

    def _words_of(self, error: Any) -> tuple[str, str]:  # noqa: ANN401 - as above
        """Return the message and the codes of an error, without keys."""
        body = error.body
        detail = body.get("error", body) if isinstance(body, dict) else body
        message, code = re.sub(r"<[^>]*>", " ", str(detail or "an empty body")), ""
        if isinstance(detail, dict):
            message = str(detail.get("message") or detail.get("detail") or detail)
            code = f"{detail.get('code')} {detail.get('type')}"
        values = [value for name, value in parse_qsl(urlsplit(self._url).query) if name != "api-version"]
        for secret in filter(None, (self._key, *values)):
            message = message.replace(secret, "***")
        return message, code

    def _unanswered(self, error: BaseException) -> ModelReply:
        from aiohttp import ClientConnectorError  # noqa: PLC0415 - an extra

        causes = [error]
        while (cause := causes[-1].__cause__) is not None:
            causes.append(cause)
        reason = shortened(str(causes[-1]) or type(causes[-1]).__name__, 200)
        if any(isinstance(cause, ClientConnectorError) for cause in causes):
            raise BackendError(f"{self._address} cannot be reached: {reason}") from error
        if any(isinstance(cause, TimeoutError) for cause in causes):
            return ModelReply(finish="failed", error=f"no reply within {self._client.timeout:g} seconds")
        return ModelReply(finish="failed", error=f"the connection failed: {reason}")


class OpenAIServer(ServerBackend):
    """A backend with an API of OpenAI's kind."""

    _args: ChatArguments | CompletionArguments
    _vendor = OPENAI
    _stops = _sampling = True
    _tokens_field = "max_tokens"

    def _settings(self, request: Request) -> dict[str, Json]:
        """Return what is sent beside the text."""
        body: dict[str, Json] = {}
        if most := request.max_tokens or self._args.max_gen_toks:
            body[self._tokens_field] = most
        if request.stop and self._stops:
            body["stop"] = list(request.stop[:MOST_STOPS])
        if self._sampling:
            body["temperature"] = request.temperature
        if self._sampling and request.seed is not None:
            body["seed"] = request.seed
        return body | self._args.added

    def _finished(self, form: OpenAIReply, request: Request, text: str, thought: str | None) -> ModelReply:
        """Return the reply with a text, cut at the stop strings that the server was not sent."""
        if thought is None:
            thought, text = split_at_mark(text, self._args.think_end_token)
        text, cut = cut_at_stop(text, request.stop[MOST_STOPS:] if self._stops else request.stop)
        return ModelReply(
            text=text,
            thought=thought,
            finish="stop" if cut else FINISHES.get(form.finish_reason or "", "other"),
            prompt_tokens=form.prompt_tokens,
            completion_tokens=form.completion_tokens,
            thought_tokens=form.thought_tokens,
        )
