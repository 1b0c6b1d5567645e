"""One event loop for all calls of a backend: connections belong to the loop in which they were opened."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Protocol, TypeVar

_Result = TypeVar("_Result")


class RunInLoop(Protocol):
    """Runs coroutines to their end, one after another, in the same event loop."""

    def __call__(self, work: Coroutine[object, object, _Result], /) -> _Result:
        """Run a coroutine and return its result. On Ctrl-C the coroutine is cancelled and `KeyboardInterrupt` raised."""


@contextmanager
def event_loop() -> Iterator[RunInLoop]:
    """Open an event loop; in a notebook, whose loop is already running, in a thread of its own.

    Example:
        >>> with event_loop() as run:
        ...     run(asyncio.sleep(0, "done"))
        'done'
    """
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        with asyncio.Runner() as runner:
            yield runner.run
        return
    with ThreadPoolExecutor(1) as thread:
        runner = asyncio.Runner()

        def run(work: Coroutine[object, object, _Result], /) -> _Result:
            result = thread.submit(runner.run, work)
            try:
                return result.result()
            except KeyboardInterrupt:
                loop = runner.get_loop()
                loop.call_soon_threadsafe(_cancel_all, loop)
                raise

        try:
            yield run
        finally:
            thread.submit(runner.close).result()


def _cancel_all(loop: asyncio.AbstractEventLoop) -> None:
    for task in asyncio.all_tasks(loop):
        task.cancel()
