"""The thread that writes the log: it takes all entries that wait, and acknowledges them after one commit."""

from __future__ import annotations

import asyncio
import queue
import threading
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from merilo.site.journal import Journal, LogEntry

#: Requests whose events one transaction takes at most.
GROUP: Final = 256


class _Request(NamedTuple):
    """Entries, who waits for them, and the reading of the log on which they were decided."""

    entries: Sequence[LogEntry]
    future: asyncio.Future[None]
    reading: int


class Writer:
    """The thread that writes a log.

    What was decided after an entry that could not be written was decided on events that are not in the log. So all
    that waits then fails together, and the states are read from the log again.

    Args:
        journal: the log; this process is the one that writes it.
        loop: the event loop of the requests.
        read_again: reads the states from the log, in the loop.
    """

    def __init__(
        self, journal: Journal, loop: asyncio.AbstractEventLoop, read_again: Callable[[], None]
    ) -> None:
        self._journal = journal
        self._loop = loop
        self._read_again = read_again
        self._reading = 0  # of the states in the loop
        self._failed = -1  # the latest reading whose entries failed
        self._open = 0
        self._waiting: queue.SimpleQueue[_Request | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._run, name="site writer", daemon=True)
        self._thread.start()

    async def write(self, entries: Sequence[LogEntry]) -> None:
        """Write entries; they, and all before them, are on the disk when this returns.

        Raises:
            Exception: what the database raised; nothing was written.
        """
        if not entries and not self._open:
            return
        future: asyncio.Future[None] = self._loop.create_future()
        self._open += 1
        self._waiting.put(_Request(entries, future, self._reading))
        await future

    def close(self) -> None:
        """Finish what waits and end the thread."""
        self._waiting.put(None)
        self._thread.join()

    def _run(self) -> None:
        while (first := self._waiting.get()) is not None:
            group, last = [first], False
            while len(group) < GROUP and not last:
                try:
                    following = self._waiting.get_nowait()
                except queue.Empty:
                    break
                last = following is None
                if following is not None:
                    group.append(following)
            self._write_group(group)
            if last:
                return

    def _write_group(self, group: Sequence[_Request]) -> None:
        error: BaseException | None = None
        stale = [request for request in group if request.reading <= self._failed]
        fresh = [request for request in group if request.reading > self._failed]
        entries = [entry for request in fresh for entry in request.entries]
        try:
            if entries:
                self._journal.append(entries)
        except Exception as raised:
            error = raised
            self._failed = fresh[0].reading
        try:
            self._loop.call_soon_threadsafe(self._tell, stale, fresh, error)
        except RuntimeError:  # the loop is closed: nobody waits any more
            return

    def _tell(
        self, stale: Sequence[_Request], fresh: Sequence[_Request], error: BaseException | None
    ) -> None:
        self._open -= len(stale) + len(fresh)
        if error is not None and fresh[0].reading == self._reading:
            self._reading += 1
            self._read_again()
        lost = error or OSError("an earlier event could not be written")
        for request in (*stale, *(fresh if error is not None else ())):
            if not request.future.cancelled():
                request.future.set_exception(lost)
        for request in fresh if error is None else ():
            if not request.future.cancelled():
                request.future.set_result(None)
