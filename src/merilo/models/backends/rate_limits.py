"""Limits of requests and tokens a minute, kept before a request is sent.

Each limit is a token bucket, which fills evenly; a request takes one request and its tokens from the buckets. The buckets are small (a tenth of a second's
worth, at least one request), so that requests are spread over the minute: servers enforce a limit a minute in shorter steps too. In no
minute are more requests sent than the limit, and at most one request more than the limit of tokens.

The tokens of a request are estimated before it is sent and corrected after its reply. No kept library allows the correction (aiolimiter 1.3,
pyrate-limiter 4.5).
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from merilo.errors import UsageError, argument


@dataclass(frozen=True, slots=True)
class RateLimits:
    """The most that a backend may ask a minute.

    Attributes:
        requests_per_minute: requests, repeated ones included; `None` for no limit.
        tokens_per_minute: tokens of requests and replies together; `None` for no limit.

    Raises:
        UsageError: a limit is not positive.
    """

    requests_per_minute: float | None = None
    tokens_per_minute: float | None = None

    def __post_init__(self) -> None:
        for name in ("requests_per_minute", "tokens_per_minute"):
            value = getattr(self, name)
            if value is not None and not value > 0:
                raise UsageError("takes a positive number", field=argument(name))


@dataclass(slots=True)
class _Bucket:
    """The rest of a limit. It is below zero after a request that needed more than the bucket holds."""

    capacity: float
    per_second: float
    left: float
    filled_at: float

    @classmethod
    def of(cls, per_minute: float | None, now: float) -> _Bucket | None:
        """Make a full bucket, `None` without a limit; with what it holds at first, a minute allows no more than the limit."""
        if per_minute is None:
            return None
        capacity = max(1.0, per_minute / 600)
        per_second = (per_minute - capacity + 1) / 60 if per_minute > 1 else per_minute / 60
        return cls(capacity, per_second, capacity, now)

    def fill(self, now: float) -> None:
        self.left = min(self.capacity, self.left + (now - self.filled_at) * self.per_second)
        self.filled_at = now

    def seconds_until(self, amount: float) -> float:
        """Return the seconds until the amount is there, or until the bucket is full if it cannot hold as much."""
        return max(0.0, (min(amount, self.capacity) - self.left) / self.per_second)


class RateLimiter:
    """Keeps limits, and the pause that a server asked for; shared by all requests of a backend.

    Requests are let through in the order in which they came.

    Args:
        limits: the limits.
        clock: the time in seconds; for tests.
        sleep: waits for seconds; for tests.
    """

    def __init__(
        self,
        limits: RateLimits,
        *,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._clock = clock
        self._sleep = sleep
        now = clock()
        self._requests = _Bucket.of(limits.requests_per_minute, now)
        self._tokens = _Bucket.of(limits.tokens_per_minute, now)
        self._closed_until = now
        self._turn = asyncio.Lock()

    async def admit(self, tokens: int) -> None:
        """Wait until a request of about so many tokens (with its reply) may be sent, and count it."""
        if self._requests is None and self._tokens is None and self._clock() >= self._closed_until:
            return
        async with self._turn:
            while (seconds := self._wait_for(tokens)) > 1e-9:
                await self._sleep(seconds)
            if self._requests is not None:
                self._requests.left -= 1
            if self._tokens is not None:
                self._tokens.left -= tokens

    def correct(self, estimated: int, counted: int | None) -> None:
        """Replace the estimate of a request's tokens by the server's count; `None` keeps the estimate."""
        if self._tokens is not None and counted is not None:
            self._tokens.left += estimated - counted

    def pause(self, seconds: float) -> None:
        """Send nothing for some seconds, as the server asked."""
        self._closed_until = max(self._closed_until, self._clock() + seconds)

    def _wait_for(self, tokens: int) -> float:
        now = self._clock()
        wait = self._closed_until - now
        for bucket, amount in ((self._requests, 1), (self._tokens, tokens)):
            if bucket is not None:
                bucket.fill(now)
                wait = max(wait, bucket.seconds_until(amount))
        return wait
