"""The server's time, which does not jump when the computer's clock is set."""

from __future__ import annotations

import time
from typing import Final

#: A log that ends later than this many milliseconds from now was written under a wrong clock.
_WRONG: Final = 3_600_000


class ServerClock:
    """Milliseconds since 1970 that never run backwards in one process.

    The wall clock is read once; afterwards a clock counts that nobody sets and that goes on while the computer sleeps.
    If the wall clock is a little behind the latest time in the log, the clock starts there, so that no task seems to be
    sent before an earlier one. A log that ends an hour ahead or more was written under a wrong clock: its times spoil
    no later ones.

    Args:
        latest: the latest time in the log, in milliseconds since 1970.

    Example:
        >>> soon = ServerClock().now() + 60_000
        >>> ServerClock(latest=soon).now() >= soon, ServerClock(latest=4_102_444_800_000).now() < soon
        (True, True)
    """

    def __init__(self, latest: int = 0) -> None:
        wall = time.time_ns() // 1_000_000
        self._start = latest if wall < latest < wall + _WRONG else wall
        self._begun = _ticks()

    def now(self) -> int:
        """Return the time, in milliseconds since 1970."""
        return self._start + (_ticks() - self._begun) // 1_000_000


def _ticks() -> int:
    """Return the nanoseconds since the computer was started."""
    boot = getattr(time, "CLOCK_BOOTTIME", None)
    return time.monotonic_ns() if boot is None else time.clock_gettime_ns(boot)
