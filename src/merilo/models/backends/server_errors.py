"""What a model server's errors mean: try again, a reply without an answer, or the end of the run."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from typing import Final, cast

from merilo.errors import BackendError
from merilo.models.asking import ModelReply
from merilo.models.backends.attempts import Attempts, TryAgain
from merilo.strict_json import Json
from merilo.wording import shortened

_TOO_LONG: Final = re.compile(
    r"context.?length|context window|context limit|context size|maximum model length|prompt is too long|too many (input )?tokens"
    r"|longer than the (model's )?(context|maximum)|exceeds? the (available|maximum|model's) (context|number of tokens|input)",
    re.IGNORECASE,
)
_FILTERED: Final = re.compile(
    r"content.?(filter|policy|management policy)|moderation|flagged|responsible.?ai|safety system|usage policies",
    re.IGNORECASE,
)
_NO_CREDIT: Final = re.compile(
    r"insufficient.?quota|credit balance|billing|payment required|spending limit", re.IGNORECASE
)

#: How servers state the limit of the context and what was asked, in the order of the groups `limit`, `asked` and `reply`.
_LENGTHS: Final = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        r"maximum context length is (?P<limit>\d+) tokens.*?(?:resulted in|requested|has|contains) (?:about |at least )?(?P<asked>\d+)",
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
    """Return the seconds that a server asks to wait (`Retry-After` in seconds or as a date, `retry-after-ms`), `None` if it does not."""
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
    message = (
        error.get("message")
        or error.get("detail")
        or body.get("message")
        or json.dumps(error, ensure_ascii=False)
    )
    return str(message), f"{error.get('code') or ''} {error.get('type') or ''}"


class ServerErrors:
    """Sorts the errors of one server.

    Args:
        url: the server's address, for messages.
        model: the model asked for.
        key: the environment variable with the key.
        has_key: whether it was set.
        attempts: counts the requests that the server calls wrong.
    """

    def __init__(self, url: str, model: str, key: str, has_key: bool, attempts: Attempts) -> None:
        self._url = url
        self._model = model
        self._key = key
        self._has_key = has_key
        self._attempts = attempts

    def settle(self, status: int, content: bytes, headers: Mapping[str, str]) -> ModelReply:
        """Return the reply that an error amounts to: refused, too long, or failed for good.

        Raises:
            TryAgain: another attempt may be answered.
            BackendError: a wrong key, an unknown model or address, no credit.
        """
        try:
            body = object_of(content)
        except TryAgain:
            message, code = (
                re.sub(r"<[^>]*>", " ", content.decode("utf-8", "replace")) or "no reason given",
                "",
            )
        else:
            message, code = error_of(body)
        return self.judge(status, message, code, headers)

    def judge(self, status: int, message: str, code: str, headers: Mapping[str, str]) -> ModelReply:
        """Return what `settle` returns, for an error whose body was read already."""
        reason = f"status {status}: {shortened(message, 300)}"
        if status != 429 and (_TOO_LONG.search(message) or "context_length" in code or status == 413):
            return ModelReply(finish="too_long", error=_by_how_much(message) or reason)
        if status < 500 and status != 429 and (_FILTERED.search(message) or _FILTERED.search(code)):
            return ModelReply(finish="refusal", error=reason)
        self._end_the_run(status, message, code, reason)
        if status in {408, 409, 425, 429} or status >= 500:
            raise TryAgain(reason, seconds_to_wait(headers))
        return self._attempts.refuse(reason)

    def _end_the_run(self, status: int, message: str, code: str, reason: str) -> None:
        if status == 401:  # the server's own message may quote the key
            what = f"rejects the key in {self._key}" if self._has_key else f"needs a key: set {self._key}"
            raise BackendError(f"{self._url} {what} (status 401)")
        if status == 403:
            raise BackendError(
                f"{self._url} does not let the key in {self._key} use {self._model!r} (status 403)"
            )
        if status == 404:
            raise BackendError(
                f"{self._url} does not know the model {self._model!r}, or is not the API's address ({reason})"
            )
        if status == 405:
            raise BackendError(f"{self._url} is not the API's address ({reason})")
        if status == 402 or (
            status in {400, 429} and (_NO_CREDIT.search(message) or _NO_CREDIT.search(code))
        ):
            raise BackendError(f"{self._url} accepts no more requests for this key: {reason}")


def _by_how_much(message: str) -> str | None:
    for pattern in _LENGTHS:
        if found := pattern.search(message):
            asked = int(found["asked"]) + int(found.groupdict().get("reply") or 0)
            limit = int(found["limit"])
            return too_long(asked, limit) if asked > limit else None
    return None
