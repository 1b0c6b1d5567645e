"""The server's time, which does not jump when the computer's clock is set."""

from __future__ import annotations

import time


class ServerClock:
    """Milliseconds since 1970 that never run backwards.

    The wall clock is read once; afterwards the monotonic clock counts. If the wall clock is behind the latest
    time in the log, the clock starts there, so that no task seems to be sent before an earlier one.

    Args:
        latest: the latest time in the log, in milliseconds since 1970.

    Example:
        >>> clock = ServerClock(latest=4_102_444_800_000)
        >>> clock.now() >= 4_102_444_800_000
        True
    """

    def __init__(self, latest: int = 0) -> None:
        self._start = max(time.time_ns() // 1_000_000, latest)
        self._monotonic = time.monotonic_ns()

    def now(self) -> int:
        """Return the time, in milliseconds since 1970."""
        return self._start + (time.monotonic_ns() - self._monotonic) // 1_000_000
