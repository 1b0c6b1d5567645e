"""The time of the server, which does not jump when the computer's clock is set."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final

from sqlalchemy import Connection, func, select

from merilo.site.schema import EVENT, PERSON, RESPONSE

#: Milliseconds by which the clock is set back at most: it then stands still for so long. A greater step back
#: is not followed.
SET_BACK: Final = 5_000


class ServerClock:
    """Milliseconds since 1970 that never run backwards.

    The wall clock is read once; afterwards the monotonic clock counts. If the wall clock is behind the latest
    stored time, the clock starts at the stored time, so that no task seems to be sent before an earlier one.

    Several server processes on one database must agree on the time, because one of them sends a task and
    another one takes the answer. On PostgreSQL they therefore start from the time of the database's server
    and follow it, so that their own computers' clocks do not matter.

    Args:
        latest: the latest time in the database, in milliseconds since 1970.
        wall: the time at which the clock starts if it is later. Default: this computer's time.

    Example:
        >>> clock = ServerClock(latest=4_102_444_800_000)
        >>> clock.now() >= 4_102_444_800_000
        True
    """

    def __init__(self, latest: int = 0, wall: int | None = None) -> None:
        self._start = max(time.time_ns() // 1_000_000 if wall is None else wall, latest)
        self._monotonic = time.monotonic_ns()
        self._shown = 0

    def now(self) -> int:
        """Return the time, in milliseconds since 1970."""
        self._shown = max(self._shown, self._start + (time.monotonic_ns() - self._monotonic) // 1_000_000)
        return self._shown

    def follow(self, read: Callable[[], int]) -> None:
        """Set the clock by another one.

        The other clock is read between two moments of this one, and this one is changed only if the other's
        time lies outside them. So a slow network does not disturb the clock. It is set forward at once, and
        back by standing still, for `SET_BACK` at most.

        Args:
            read: returns the other clock's time, in milliseconds since 1970.
        """
        before = self.now()
        told = read()
        after = self.now()
        if told > after:
            self._start += told - after
        elif before - SET_BACK <= told < before:
            self._start -= before - told


def site_clock(connection: Connection) -> ServerClock:
    """Return a clock that starts at the time of the site.

    The database's server tells it, unless something later is stored.
    """
    return ServerClock(latest_time(connection), _database_time(connection))


def follow_database(clock: ServerClock, connection: Connection) -> None:
    """Set a clock by the clock of PostgreSQL's server; SQLite has none of its own."""
    if connection.dialect.name == "postgresql":
        clock.follow(lambda: _database_time(connection) or 0)


def _database_time(connection: Connection) -> int | None:
    if connection.dialect.name != "postgresql":
        return None
    told = "SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint"
    return int(connection.exec_driver_sql(told).scalar_one())


def latest_time(connection: Connection) -> int:
    """Return the latest time at which something was stored, in milliseconds since 1970; 0 for an empty database."""
    columns = (RESPONSE.c.given, RESPONSE.c.answered, PERSON.c.created, EVENT.c.at)
    return max(connection.scalar(select(func.max(column))) or 0 for column in columns)
