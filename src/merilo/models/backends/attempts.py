"""Sending a request again: exponential back-off with jitter, the server's own `Retry-After`, and what ends a run."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from random import Random
from typing import Final

from merilo.errors import BackendError
from merilo.models.asking import ModelReply
from merilo.models.backends.rate_limits import RateLimiter

#: Back-off in seconds: this after the first failure, twice as much after each further one, up to the longest.
FIRST_WAIT: Final = 0.5
LONGEST_WAIT: Final = 60.0
#: If a server asks for a longer wait than this, the run ends; the same command resumes it later.
LONGEST_RETRY_AFTER: Final = 900.0
#: The run ends if the server refuses this many requests as wrong before it answers any.
REFUSED_IN_A_ROW: Final = 10


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
        limiter: what lets requests through.
        address: the server's address, for messages.
        max_retries: how many times a request is sent again.
        clock: the time in seconds; for tests.
        sleep: waits for seconds; for tests.
        chance: returns a random number from 0 to 1, for the jitter.
    """

    limiter: RateLimiter
    address: str
    max_retries: int
    clock: Callable[[], float] = time.monotonic
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    chance: Callable[[], float] = Random().random  # noqa: S311 - not for secrets
    _answered: bool = False
    _refused: int = 0

    async def reply(self, send: Callable[[], Awaitable[ModelReply]], tokens: int) -> ModelReply:
        """Send a request until it is answered or has failed for good.

        Args:
            send: sends it once; raises `TryAgain` if another attempt may help.
            tokens: about how many tokens request and reply have.

        Raises:
            BackendError: nothing answers at the address, or the server asks for a very long wait, or refuses every request as wrong.
        """
        started = self.clock()
        attempt = 0
        while True:
            attempt += 1
            await self.limiter.admit(tokens)
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
            self.limiter.correct(tokens, _counted(reply))
            return replace(reply, attempts=attempt, seconds=self.clock() - started)

    def refuse(self, reason: str) -> ModelReply:
        """Return the failed reply of a request that the server calls wrong; sending it again would not help.

        Raises:
            BackendError: the server has answered no request so far and refused several.
        """
        self._refused += 1
        if not self._answered and self._refused >= REFUSED_IN_A_ROW:
            raise BackendError(f"{self.address} refused the first {self._refused} requests: {reason}")
        return ModelReply(finish="failed", error=reason)

    async def _wait(self, failure: TryAgain, attempt: int) -> None:
        asked = failure.retry_after
        if asked is not None and asked > LONGEST_RETRY_AFTER:
            raise BackendError(
                f"{self.address} asks to wait {asked:.0f} seconds before the next request ({failure.reason}); "
                "run the same command again then"
            )
        if asked is not None:
            self.limiter.pause(asked)  # a limit concerns every request, not this one alone
            return
        longest = min(FIRST_WAIT * 2.0 ** (attempt - 1), LONGEST_WAIT)
        await self.sleep(longest * (0.5 + self.chance() / 2))


def _counted(reply: ModelReply) -> int | None:
    if reply.prompt_tokens is None and reply.completion_tokens is None:
        return None
    return (reply.prompt_tokens or 0) + (reply.completion_tokens or 0)
