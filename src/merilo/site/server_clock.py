"""The time of the server, which does not jump when the computer's clock is set."""

from __future__ import annotations

import time

from sqlalchemy import Connection, func, select

from merilo.site.schema import EVENT, PERSON, RESPONSE


class ServerClock:
    """Milliseconds since 1970 that never run backwards.

    The wall clock is read once; afterwards the monotonic clock counts. If the wall clock is behind the latest stored time, the clock starts
    at the stored time, so that no task seems to be sent before an earlier one.

    Args:
        latest: the latest time in the database, in milliseconds since 1970.

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


def latest_time(connection: Connection) -> int:
    """Return the latest time at which something was stored, in milliseconds since 1970; 0 for an empty database."""
    columns = (RESPONSE.c.given, RESPONSE.c.answered, PERSON.c.created, EVENT.c.at)
    return max(connection.scalar(select(func.max(column))) or 0 for column in columns)
