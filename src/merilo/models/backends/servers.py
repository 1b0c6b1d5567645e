"""Servers of models: attempts and their errors, and connections through the vendors' SDKs.

The SDKs' typed requests and replies and their retries are not used: `Attempts` counts attempts, a reply of
the wrong shape must not pass for one with empty fields, and a request takes a third to half of the processor
time (benchmarks/asking.py).
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import time
from abc import ABC, abstractmethod
from base64 import b64encode
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from email.utils import parsedate_to_datetime
from importlib import import_module
from random import Random
from typing import Any, Final, cast
from urllib.parse import parse_qsl, unquote_to_bytes, urlsplit, urlunsplit

from merilo.errors import BackendError, MissingPartError, UsageError, argument
from merilo.models.asking import Abilities, ModelReply, Request
from merilo.models.backends.model_arguments import ServerArguments
from merilo.models.run_folder import without_secrets
from merilo.strict_json import Json
from merilo.wording import shortened

#: Back-off in seconds: this after the first failure, twice as much after each further one, up to the longest.
FIRST_WAIT: Final = 0.5
LONGEST_WAIT: Final = 60.0
#: If a server asks for a longer wait than this, the run ends; the same command resumes it later.
LONGEST_RETRY_AFTER: Final = 900.0


class TryAgain(Exception):  # noqa: N818 - it is no error for the caller
    """A failure that may not occur again if the request is sent again.

    Args:
        reason: what went wrong, for the log.
        retry_after: the seconds that the server asks to wait.
    """

    def __init__(self, reason: str, retry_after: float | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.retry_after = retry_after


class Unreachable(TryAgain):
    """Nothing answers at the server's address."""


@dataclass(slots=True)
class Attempts:
    """Sends requests, again where that may help; shared by all requests of a backend.

    Args:
        address: the server's address, for messages.
        max_retries: how many times a request is sent again.
        model: the model asked for, for messages.
        key: the environment variable with the key.
        has_key: whether it is set.
        secrets: texts that no message may quote.
        clock: the time in seconds; for tests.
        sleep: waits for seconds; for tests.
        chance: returns a random number from 0 to 1, for the jitter.
    """

    address: str
    max_retries: int
    model: str = ""
    key: str = ""
    has_key: bool = True
    secrets: tuple[str, ...] = ()
    clock: Callable[[], float] = time.monotonic
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    chance: Callable[[], float] = Random().random  # noqa: S311 - not for secrets
    _answered: bool = False
    _paused_until: float = 0.0

    async def reply(self, send: Callable[[], Awaitable[ModelReply]]) -> ModelReply:
        """Send a request until it is answered or has failed for good.

        Args:
            send: sends it once; raises `TryAgain` if another attempt may help.

        Raises:
            BackendError: nothing answers at the address, or the server asks for a very long wait.
        """
        started = self.clock()
        attempt = 0
        while True:
            attempt += 1
            while (seconds := self._paused_until - self.clock()) > 0:
                await self.sleep(seconds)
            try:
                reply = await send()
            except TryAgain as failure:
                last = attempt > self.max_retries
                if isinstance(failure, Unreachable) and (last or not self._answered):
                    raise BackendError(f"{self.address} cannot be reached: {failure.reason}") from failure
                if last:
                    times = "1 attempt" if attempt == 1 else f"{attempt} attempts"
                    reply = ModelReply(finish="failed", error=f"{failure.reason} ({times})")
                else:
                    await self._wait(failure, attempt)
                    continue
            self._answered = self._answered or reply.finish != "failed"
            return replace(reply, attempts=attempt, seconds=self.clock() - started)

    def settle(self, status: int, content: bytes, headers: Mapping[str, str]) -> ModelReply:
        """Return the reply that an error amounts to: refused, too long, or failed for good.

        Raises:
            TryAgain: another attempt may be answered.
            BackendError: a wrong key, an unknown model or address, no credit.
        """
        try:
            message, code = error_of(object_of(content))
        except TryAgain:
            message, code = (
                re.sub(r"<[^>]*>", " ", content.decode("utf-8", "replace")) or "no reason given",
                "",
            )
        return self.judge(status, message, code, headers)

    def judge(self, status: int, message: str, code: str, headers: Mapping[str, str]) -> ModelReply:
        """Return what `settle` returns, for an error whose body was read already."""
        for secret in self.secrets:
            message = message.replace(secret, "***")
        reason = f"status {status}: {shortened(message, 300)}"
        if status != 429 and (_TOO_LONG.search(message) or "context_length" in code or status == 413):
            return ModelReply(finish="too_long", error=_by_how_much(message) or reason)
        if status < 500 and status != 429 and (_FILTERED.search(message) or _FILTERED.search(code)):
            return ModelReply(finish="refusal", error=reason)
        self._end_the_run(status, message, code, reason)
        if status in {408, 409, 425, 429} or status >= 500:
            raise TryAgain(reason, seconds_to_wait(headers))
        return ModelReply(finish="failed", error=reason)

    def _end_the_run(self, status: int, message: str, code: str, reason: str) -> None:
        if status == 401:  # the server's own message may quote the key
            what = f"rejects the key in {self.key}" if self.has_key else f"needs a key: set {self.key}"
            raise BackendError(f"{self.address} {what} (status 401)")
        if status == 403:
            raise BackendError(
                f"{self.address} does not let the key in {self.key} use {self.model!r} (status 403)"
            )
        if status in {404, 405}:
            unknown = f"does not know the model {self.model!r}, or " if status == 404 else ""
            hint = "" if "/v1/" in self.address else "; most servers have it below /v1"
            raise BackendError(f"{self.address} {unknown}is not the API's address ({reason}){hint}")
        if status == 402 or (
            status in {400, 429} and (_NO_CREDIT.search(message) or _NO_CREDIT.search(code))
        ):
            raise BackendError(f"{self.address} accepts no more requests for this key: {reason}")

    async def _wait(self, failure: TryAgain, attempt: int) -> None:
        asked = failure.retry_after
        if asked is not None and asked > LONGEST_RETRY_AFTER:
            raise BackendError(
                f"{self.address} asks to wait {asked:.0f} seconds before the next request ({failure.reason}); "
                "run the same command again then"
            )
        if asked is not None:
            # A limit concerns every request, not this one alone.
            self._paused_until = max(self._paused_until, self.clock() + asked)
            return
        longest = min(FIRST_WAIT * 2.0 ** (attempt - 1), LONGEST_WAIT)
        await self.sleep(longest * (0.5 + self.chance() / 2))


_TOO_LONG: Final = re.compile(
    r"context.?length|context window|context limit|context size|maximum model length|prompt is too "
    r"long|too many (input )?tokens"
    r"|longer than the (model's )?(context|maximum)|exceeds? the (available|maximum|model's) "
    r"(context|number of tokens|input)",
    re.IGNORECASE,
)
_FILTERED: Final = re.compile(
    r"content.?(filter|policy|management policy)|moderation|flagged|responsible.?ai|safety system|usage policies",
    re.IGNORECASE,
)
_NO_CREDIT: Final = re.compile(
    r"insufficient.?quota|credit balance|billing|payment required|spending limit", re.IGNORECASE
)

#: How servers state the limit of the context and what was asked, in the order of the groups `limit`, `asked`
#: and `reply`.
_LENGTHS: Final = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        r"maximum context length is (?P<limit>\d+) tokens.*?(?:resulted in|requested|has|contains) "
        r"(?:about |at least )?(?P<asked>\d+)",
        r"too long: (?P<asked>\d+) tokens > (?P<limit>\d+)",
        r"context limit: (?P<asked>\d+) \+ (?P<reply>\d+) > (?P<limit>\d+)",
        r"length (?P<asked>\d+)\) is longer than the maximum model length of (?P<limit>\d+)",
        r"\((?P<asked>\d+)(?: tokens)?\).*?(?:context (?:length|size|window)|maximum)[^\d]*(?P<limit>\d+)",
        r"(?P<asked>\d+)(?: input)? tokens.*?(?:context (?:length|size|window)|maximum|limit)[^\d]*(?P<limit>\d+)",
    )
)


def too_long(asked: int, limit: int) -> str:
    """Word a context that is too long, with by how much.

    Example:
        >>> too_long(2100, 2048)
        "2100 tokens are 52 too many for the model's context of 2048"
    """
    return f"{asked} tokens are {asked - limit} too many for the model's context of {limit}"


def object_of(content: bytes) -> dict[str, Json]:
    """Read the JSON object of a reply.

    Raises:
        TryAgain: the reply is empty, a page of HTML, half an object, not UTF-8, or no object.
    """
    if not content.strip():
        raise TryAgain("the reply is empty")
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise TryAgain("the reply is not UTF-8 text") from error
    if text.lstrip().startswith("<"):
        raise TryAgain(f"the reply is a page, not JSON: {shortened(re.sub(r'<[^>]*>', ' ', text), 80)!r}")
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise TryAgain(f"the reply is not JSON or was cut off: {shortened(text, 80)!r}") from error
    if not isinstance(value, dict):
        raise TryAgain(f"the reply is not a JSON object: {shortened(text, 80)!r}")
    return cast("dict[str, Json]", value)


def seconds_to_wait(headers: Mapping[str, str]) -> float | None:
    """Return the seconds that a server asks to wait (`Retry-After` in seconds or as a date, `retry-after-ms`).

    `None` if it does not.
    """
    for name, per_second in (("retry-after-ms", 1000.0), ("retry-after", 1.0)):
        value = headers.get(name, "")
        try:
            seconds = float(value) / per_second
        except ValueError:
            continue
        return seconds if 0 <= seconds < float("inf") else None
    try:
        return max(0.0, parsedate_to_datetime(headers.get("retry-after", "")).timestamp() - time.time())
    except (TypeError, ValueError, IndexError, OverflowError):
        return None


def error_of(body: Mapping[str, Json]) -> tuple[str, str]:
    """Return the message and the code of an error's body, as OpenAI, Anthropic, vLLM, FastAPI and others shape it."""
    error = body.get("error", body)
    if not isinstance(error, dict):
        return str(error), ""
    message = error.get("message") or error.get("detail") or body.get("message")
    return str(
        message or json.dumps(error, ensure_ascii=False)
    ), f"{error.get('code') or ''} {error.get('type') or ''}"


def _by_how_much(message: str) -> str | None:
    for pattern in _LENGTHS:
        if found := pattern.search(message):
            asked = int(found["asked"]) + int(found.groupdict().get("reply") or 0)
            limit = int(found["limit"])
            return too_long(asked, limit) if asked > limit else None
    return None


#: What an address may end with beside its base: lm-eval takes the whole address of the API.
_PATHS: Final = re.compile(r"/(?:v1/messages|chat/completions|completions|messages)$")


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


class ServerBackend(ABC):
    """A backend whose requests go to one server, one in a call; subclasses answer one request.

    Args:
        name: the backend's name.
        abilities: what it can do.
        args: its arguments.
        vendor: whose SDK connects to it.
        url: the address that requests are sent to.

    Raises:
        MissingPartError: the extra `models` is not installed.
    """

    batch_size = 1

    def __init__(
        self,
        name: str,
        abilities: Abilities,
        args: ServerArguments,
        *,
        vendor: Vendor,
        url: str,
    ) -> None:
        try:
            sdk: Any = import_module(vendor.name)
        except ImportError as error:
            raise missing_models_extra(error, "a model behind a server") from error
        from httpx2 import URL  # noqa: PLC0415 - an extra, which the SDK brings

        self.name, self.model, self.abilities = name, args.model, abilities
        self.concurrency = args.num_concurrent
        self._timeout = args.timeout
        address = URL(url)
        self._url = address.copy_with(userinfo=b"")
        self._http = sdk.DefaultAioHttpClient(
            verify=args.ca_cert_path or args.verify_certificate, timeout=args.timeout
        )
        key = os.environ.get(vendor.key)
        client = getattr(sdk, vendor.client)(api_key=key or "none", http_client=self._http)
        # Values that are not text are the SDK's marks for headers to leave out.
        headers = {**client.auth_headers, **client.default_headers}
        self._http.headers.update({key: value for key, value in headers.items() if isinstance(value, str)})
        if address.userinfo:
            self._http.headers["authorization"] = (
                f"Basic {b64encode(unquote_to_bytes(address.userinfo)).decode()}"
            )
        values = [value for name, value in parse_qsl(urlsplit(url).query) if name != "api-version"]
        secrets = tuple(filter(None, (key, *values)))
        self._attempts = Attempts(
            without_secrets(url), args.max_retries, args.model, vendor.key, bool(key), secrets
        )
        # The vendor's own address answers nobody without a key; other servers may.
        self._needs = vendor if args.base_url is None and not key else None

    async def ask(self, requests: Sequence[Request]) -> Sequence[ModelReply]:
        """Answer requests, in their order.

        Raises:
            BackendError: what ends the run.
        """
        if self._needs is not None:
            where = f"set the environment variable {self._needs.key}"
            raise BackendError(f"{self._needs.url} needs a key: {where}")
        if len(requests) == 1:
            return [await self._ask(requests[0])]  # the usual call: no task is needed
        return await asyncio.gather(*(self._ask(request) for request in requests))

    async def close(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    @abstractmethod
    async def _ask(self, request: Request) -> ModelReply:
        """Answer one request."""

    async def _reply(
        self, body: dict[str, Json], read: Callable[[dict[str, Json]], ModelReply]
    ) -> ModelReply:
        """Send a request, again where that may help, and read its reply.

        Args:
            body: what is sent.
            read: reads the body of a reply; raises `TryAgain` if it has the wrong shape.

        Raises:
            BackendError: what ends the run.
        """

        async def once() -> ModelReply:
            found = await self._post(body)
            return found if isinstance(found, ModelReply) else read(found)

        return await self._attempts.reply(once)

    async def _post(self, body: dict[str, Json]) -> dict[str, Json] | ModelReply:
        try:
            async with asyncio.timeout(self._timeout):
                status, content, headers = await self._send(body)
        except TimeoutError as error:
            raise TryAgain(f"no reply within {self._timeout:g} seconds") from error
        except UnicodeEncodeError as error:
            return ModelReply(finish="failed", error=f"the request cannot be sent: {error.reason}")
        if not 200 <= status < 300:
            return self._attempts.settle(status, content, headers)
        found = object_of(content)
        if "error" in found and found["error"] and not found.get("choices") and not found.get("content"):
            # Some gateways put an error into a reply of status 200.
            message, code = error_of(found)
            number = re.search(r"\b[45]\d\d\b", code)
            return self._attempts.judge(int(number[0]) if number else 500, message, code, headers)
        return found

    async def _send(self, body: dict[str, Json]) -> tuple[int, bytes, Mapping[str, str]]:
        from httpx2 import HTTPError  # noqa: PLC0415 - an extra

        content = json.dumps(body, ensure_ascii=False).encode()
        try:
            response = await self._http.post(self._url, content=content)
        except HTTPError as error:
            raise transport_failure(error) from error
        return response.status_code, response.content, response.headers


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
