"""The writer of the site: one thread that puts what many requests write into few transactions.

A sync to the disk costs more than everything else in saving an answer, so the writer takes all operations that wait, runs them in one transaction and
acknowledges them after the commit. An operation that fails takes nobody with it: the group is undone and its operations are run again one by
one. If the connection to PostgreSQL is lost, the group is run once again as a whole; without a database, all of it fails.
"""

from __future__ import annotations

import asyncio
import queue
import threading
from collections.abc import Callable
from typing import Any, Final, TypeVar

from sqlalchemy import Connection, Engine

from merilo.site.database import writing

Result = TypeVar("Result")

#: Operations of one transaction at most.
GROUP: Final = 256

#: How often an operation that met another transaction is tried.
ATTEMPTS: Final = 8

#: SQLSTATEs of PostgreSQL for transactions that another one undid: serialization failure and deadlock.
_RETRIED: Final = frozenset({"40001", "40P01"})

#: Beginnings of PostgreSQL's SQLSTATEs for a lost connection, a server that stops or starts, and a connection that hung.
_LOST: Final = ("08", "57P", "25P03")


class Writer:
    """The thread that writes to the site's database.

    Args:
        engine: the database.
        loop: the event loop of the requests, to which results are handed.
    """

    def __init__(self, engine: Engine, loop: asyncio.AbstractEventLoop) -> None:
        self._engine = engine
        self._loop = loop
        self._waiting: queue.SimpleQueue[_Operation | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._run, name="site writer", daemon=True)
        self._thread.start()

    async def run(self, operation: Callable[[Connection], Result]) -> Result:
        """Run an operation in a transaction; it is on the disk when this returns.

        Args:
            operation: what is done; it must be safe to run again if its transaction was undone.

        Raises:
            Exception: what the operation raised, or the database.
        """
        future: asyncio.Future[Any] = self._loop.create_future()
        self._waiting.put(_Operation(operation, future))
        result: Result = await future
        return result

    def close(self) -> None:
        """Finish what waits and end the thread."""
        self._waiting.put(None)
        self._thread.join()

    def _run(self) -> None:
        while (first := self._waiting.get()) is not None:
            group, last = [first], False
            while len(group) < GROUP:
                try:
                    following = self._waiting.get_nowait()
                except queue.Empty:
                    break
                if following is None:
                    last = True
                    break
                group.append(following)
            self._loop_safely(_run_group(self._engine, group))
            if last:
                return

    def _loop_safely(self, outcomes: list[_Outcome]) -> None:
        try:
            self._loop.call_soon_threadsafe(_tell, outcomes)
        except RuntimeError:  # the loop is closed: nobody waits any more
            return


class _Operation:
    """An operation, and who waits for it."""

    __slots__ = ("call", "future")

    def __init__(self, call: Callable[[Connection], Any], future: asyncio.Future[Any]) -> None:
        self.call = call
        self.future = future


_Outcome = tuple[asyncio.Future[Any], Any, BaseException | None]


def _run_group(engine: Engine, group: list[_Operation]) -> list[_Outcome]:
    """Run operations in one transaction; if one of them fails, each in a transaction of its own."""
    for attempt in range(ATTEMPTS):
        try:
            with writing(engine) as connection:
                results = [one.call(connection) for one in group]
        except Exception as error:
            lost = _is_lost(error)
            undone = getattr(getattr(error, "orig", error), "sqlstate", None) in _RETRIED
            if (undone and attempt + 1 < ATTEMPTS) or (lost and attempt == 0):
                continue
            if lost or len(group) == 1:  # without a database, each operation alone would fail too
                return [(one.future, None, error) for one in group]
            return [outcome for one in group for outcome in _run_group(engine, [one])]
        return [(one.future, result, None) for one, result in zip(group, results, strict=True)]
    raise AssertionError  # every attempt returns or continues


def _is_lost(error: Exception) -> bool:
    """Whether PostgreSQL cannot be reached, or has cut the connection."""
    original = getattr(error, "orig", error)
    if type(original).__name__ in {"OperationalError", "InterfaceError"} and hasattr(original, "sqlstate"):
        return original.sqlstate is None or original.sqlstate.startswith(_LOST)
    return bool(str(getattr(original, "sqlstate", None) or "").startswith(_LOST))


def _tell(outcomes: list[_Outcome]) -> None:
    for future, result, error in outcomes:
        if future.cancelled():
            continue
        if error is None:
            future.set_result(result)
        else:
            future.set_exception(error)
