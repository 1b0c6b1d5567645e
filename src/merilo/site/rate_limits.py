"""Limits on how often something may be tried."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from typing import Final

#: Keys that are remembered at most; the oldest are forgotten first.
_KEYS: Final = 10_000


class RateLimit:
    """At most so many tries of one key within a window of time.

    Args:
        most: how many tries.
        seconds: the length of the window.
        clock: seconds that never run backwards.

    Example:
        >>> now = 0.0
        >>> limit = RateLimit(2, 60, lambda: now)
        >>> [limit.allows("a") for _ in range(3)], limit.allows("b"), limit.wait("a")
        ([True, True, False], True, 60.0)
    """

    def __init__(self, most: int, seconds: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._most, self._seconds, self._clock = most, seconds, clock
        self._tries: dict[str, deque[float]] = {}

    def allows(self, key: str) -> bool:
        """Count a try, and return whether it is within the limit; a refused try is not counted."""
        if self.wait(key) > 0:
            return False
        self._tries.setdefault(key, deque()).append(self._clock())
        while len(self._tries) > _KEYS:
            del self._tries[next(iter(self._tries))]
        return True

    def wait(self, key: str) -> float:
        """Return the seconds until the next try is allowed; 0 if it is allowed now."""
        tries = self._tries.get(key)
        if tries is None:
            return 0.0
        now = self._clock()
        while tries and tries[0] + self._seconds <= now:
            tries.popleft()
        if not tries:
            del self._tries[key]
        return tries[0] + self._seconds - now if len(tries) >= self._most else 0.0

    def forget(self, key: str) -> None:
        """Start again with a key, for example after the right password."""
        self._tries.pop(key, None)
