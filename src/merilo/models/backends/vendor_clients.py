"""Connections through the vendors' SDKs: their aiohttp clients, keys and headers; requests and replies are plain JSON.

The SDKs' typed requests and replies and their retries are not used: `Attempts` counts attempts, a reply of the wrong shape must not pass
for one with empty fields, and a request takes a third to half of the processor time (benchmarks/asking.py).
"""

from __future__ import annotations

import asyncio
import json
import os
import re
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from merilo.errors import BackendError, MissingPartError, UsageError, argument
from merilo.models.asking import ModelReply
from merilo.models.backends.attempts import Attempts, TryAgain, Unreachable
from merilo.models.backends.model_arguments import BackendArguments
from merilo.models.backends.rate_limits import RateLimiter, RateLimits
from merilo.models.backends.server_errors import ServerErrors, error_of, object_of
from merilo.strict_json import Json
from merilo.wording import shortened

if TYPE_CHECKING:
    from httpx2 import AsyncClient

#: The arguments of every backend that talks to a server.
SERVER_ARGUMENTS: Final = (
    "model",
    "pretrained",
    "base_url",
    "num_concurrent",
    "max_retries",
    "timeout",
    "max_gen_toks",
    "verify_certificate",
    "ca_cert_path",
)
_PATHS: Final = re.compile(r"/(?:v1/messages|chat/completions|completions|messages)/?$")


@dataclass(frozen=True, slots=True)
class ServerSettings:
    """The settings of a server.

    Attributes:
        model: the model's name.
        url: the address that the SDK's paths are below.
        key: the environment variable with the key.
        key_needed: whether the backend cannot work without it.
        concurrency: requests at the same time.
        max_retries: how many times a request is sent again.
        timeout: the longest wait for a whole reply, in seconds.
        max_tokens: the most tokens of an answer for requests that name none; `None` leaves it to the server.
        verify: whether certificates are checked, or the file of the authorities to check them with.
    """

    model: str
    url: str
    key: str
    key_needed: bool
    concurrency: int
    max_retries: int
    timeout: float
    max_tokens: int | None
    verify: bool | str

    @classmethod
    def of(
        cls, args: BackendArguments, key: str, url: str | None, max_tokens: int | None = None
    ) -> ServerSettings:
        """Read the settings from a backend's arguments.

        Args:
            args: the arguments.
            key: the environment variable with the key; it is needed at the vendor's own address only.
            url: the vendor's own address; `None` if `base_url` must be given.
            max_tokens: the most tokens of an answer if `max_gen_toks` is not given.

        Raises:
            UsageError: an argument is missing or has the wrong value.
            BackendError: the key is needed and missing.
        """
        given = args.text("base_url") if url else args.needed("base_url")
        address = _PATHS.sub("", given or url or "").rstrip("/")
        if not re.match(r"https?://[^/]", address):
            message = (
                f"base_url takes an address that starts with http:// or https://, not {shortened(address)!r}"
            )
            raise UsageError(message, field=argument("model_args"))
        settings = cls(
            model=args.needed("model", "pretrained"),
            url=address,
            key=key,
            key_needed=given is None,
            concurrency=args.whole("num_concurrent", 16, least=1),
            max_retries=args.whole("max_retries", 5),
            timeout=args.seconds("timeout", 300),
            max_tokens=args.whole("max_gen_toks", max_tokens or 0) or None,
            verify=args.text("ca_cert_path") or args.flag("verify_certificate", True),
        )
        if settings.key_needed and not os.environ.get(key):
            raise BackendError(f"{address} needs a key: set the environment variable {key}")
        return settings

    @property
    def has_key(self) -> bool:
        """Whether the key is in the environment."""
        return bool(os.environ.get(self.key))


#: Sends JSON and returns status, body and headers.
Send = Callable[[dict[str, Json]], Awaitable[tuple[int, bytes, Mapping[str, str]]]]


class VendorClient:
    """A connection to a server through a vendor's SDK.

    Args:
        settings: the server.
        limits: its limits a minute.
        send: sends a request by the SDK's client.
        close: closes that client.
        path: the path that requests are sent to, for messages.
    """

    def __init__(
        self,
        settings: ServerSettings,
        limits: RateLimits,
        send: Send,
        close: Callable[[], Awaitable[None]],
        path: str,
    ) -> None:
        self.url = settings.url + path
        self.attempts = Attempts(RateLimiter(limits), self.url, settings.max_retries)
        self._send = send
        self.close = close
        self._timeout = settings.timeout
        self._errors = ServerErrors(self.url, settings.model, settings.key, settings.has_key, self.attempts)

    async def reply(
        self, body: dict[str, Json], read: Callable[[dict[str, Json]], ModelReply], tokens: int
    ) -> ModelReply:
        """Send a request, again where that may help, and read its reply.

        Args:
            body: what is sent.
            read: reads the body of a reply; raises `TryAgain` if it has the wrong shape.
            tokens: about how many tokens request and reply have.

        Raises:
            BackendError: what ends the run.
        """

        async def once() -> ModelReply:
            found = await self._post(body)
            return found if isinstance(found, ModelReply) else read(found)

        return await self.attempts.reply(once, tokens)

    async def _post(self, body: dict[str, Json]) -> dict[str, Json] | ModelReply:
        try:
            async with asyncio.timeout(self._timeout):
                status, content, headers = await self._send(body)
        except TimeoutError as error:
            raise TryAgain(f"no reply within {self._timeout:g} seconds") from error
        except UnicodeEncodeError as error:
            return ModelReply(finish="failed", error=f"the request cannot be sent: {error.reason}")
        if not 200 <= status < 300:
            return self._errors.settle(status, content, headers)
        found = object_of(content)
        if "error" in found and found["error"] and not found.get("choices") and not found.get("content"):
            # Some gateways put an error into a reply of status 200.
            message, code = error_of(found)
            number = re.search(r"\b[45]\d\d\b", code)
            return self._errors.judge(int(number[0]) if number else 500, message, code, headers)
        return found


def transport_failure(error: BaseException) -> TryAgain:
    """Return the reason to try again for a failure of the connection: `Unreachable` if no connection was made."""
    from aiohttp import (  # noqa: PLC0415 - an extra
        ClientConnectorError,
        InvalidURL,
        ServerDisconnectedError,
    )

    causes = list(_causes(error))
    for cause in causes:
        if isinstance(cause, ClientConnectorError | InvalidURL):
            return Unreachable(shortened(str(cause), 200))
    if any(isinstance(cause, ServerDisconnectedError) for cause in causes):
        return TryAgain("the server closed the connection")
    if any(isinstance(cause, TimeoutError) for cause in causes):
        return TryAgain("the connection timed out")
    return TryAgain(f"the connection failed: {shortened(str(causes[-1]) or type(causes[-1]).__name__, 200)}")


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def missing_models_extra(error: ImportError, needed: str) -> MissingPartError:
    """Return the error for an SDK that is not installed."""
    return MissingPartError(f"{needed} needs the extra 'models': pip install 'merilo[models]' ({error})")


def openai_client(settings: ServerSettings, limits: RateLimits, path: str) -> VendorClient:
    """Connect to a server of OpenAI's kind.

    Args:
        settings: the server.
        limits: its limits a minute.
        path: `/chat/completions` or `/completions`.

    Raises:
        MissingPartError: the extra `models` is not installed.
    """
    try:
        from openai import AsyncOpenAI, DefaultAioHttpClient  # noqa: PLC0415 - an extra
    except ImportError as error:
        raise missing_models_extra(error, "a model behind a server") from error
    http = DefaultAioHttpClient(verify=settings.verify, timeout=settings.timeout)
    key = os.environ.get(settings.key) or "none"
    client = AsyncOpenAI(api_key=key, base_url=settings.url, http_client=http)
    return _connected(settings, limits, path, http, {**client.auth_headers, **client.default_headers})


def anthropic_client(settings: ServerSettings, limits: RateLimits) -> VendorClient:
    """Connect to a server with Anthropic's messages.

    Raises:
        MissingPartError: the extra `models` is not installed.
    """
    try:
        from anthropic import AsyncAnthropic, DefaultAioHttpClient  # noqa: PLC0415 - an extra
    except ImportError as error:
        raise missing_models_extra(error, "a model of Anthropic's") from error
    http = DefaultAioHttpClient(verify=settings.verify, timeout=settings.timeout)
    key = os.environ.get(settings.key) or "none"
    client = AsyncAnthropic(api_key=key, base_url=settings.url, http_client=http)
    return _connected(
        settings, limits, "/v1/messages", http, {**client.auth_headers, **client.default_headers}
    )


def _connected(
    settings: ServerSettings,
    limits: RateLimits,
    path: str,
    http: AsyncClient,
    headers: Mapping[str, object],
) -> VendorClient:
    """Join an SDK's aiohttp client and its headers; values that are not text are the SDK's marks for headers to leave out."""
    from httpx2 import URL, HTTPError  # noqa: PLC0415 - an extra

    url = URL(settings.url + path)
    http.headers.update({name: value for name, value in headers.items() if isinstance(value, str)})

    async def send(body: dict[str, Json]) -> tuple[int, bytes, Mapping[str, str]]:
        content = json.dumps(body, ensure_ascii=False).encode()
        try:
            response = await http.post(url, content=content)
        except HTTPError as error:
            raise transport_failure(error) from error
        return response.status_code, response.content, response.headers

    return VendorClient(settings, limits, send, http.aclose, path)
