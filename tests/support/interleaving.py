"""Transactions that run at the same time on PostgreSQL, statement by statement, in an order that the test chooses.

Each transaction runs in a thread with a connection of its own and stops before every statement and before its commit. When all threads have
stopped, ended or wait for a lock of the database, one of those that stopped is chosen to go one step on. So an order of statements can
be repeated, and all orders can be tried.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any

import psycopg
from sqlalchemy import Connection, Engine, create_engine
from sqlalchemy.engine import make_url

Operation = Callable[[Connection], object]

#: Seconds between two questions whether a thread waits for a lock, and the questions before the test gives up.
_ASK_AGAIN = 0.002
_QUESTIONS = 20_000


class _Participant(threading.Thread):
    """A transaction that waits before each step for its turn."""

    def __init__(self, address: str, changed: threading.Condition, write: Callable[[Engine], object]) -> None:
        super().__init__(daemon=True)
        self._changed = changed
        self._write = write
        self.open_gate = True  # until the transaction begins
        self.stopped = False
        self.ended = False
        self.process = 0
        self.result: object = None
        self.error: BaseException | None = None
        self.engine = create_engine("postgresql+psycopg://", creator=lambda: self._connect(address))
        self.engine.connect().close()  # what SQLAlchemy asks a new server is no step
        self.open_gate = False

    def run(self) -> None:
        try:
            self.result = self._write(self.engine)
        except BaseException as error:
            self.error = error
        finally:
            self.open_gate = True
            self.engine.dispose()
            with self._changed:
                self.ended = True
                self._changed.notify_all()

    def step(self) -> None:
        """Stop until it is this transaction's turn."""
        if self.open_gate:
            return
        with self._changed:
            self.stopped = True
            self._changed.notify_all()
            while self.stopped:
                self._changed.wait()

    def _connect(self, address: str) -> psycopg.Connection[Any]:
        participant = self

        class Cursor(psycopg.Cursor[Any]):
            def execute(self, *arguments: Any, **named: Any) -> Any:
                participant.step()
                return super().execute(*arguments, **named)

            def executemany(self, *arguments: Any, **named: Any) -> Any:
                participant.step()
                return super().executemany(*arguments, **named)

        class Steps(psycopg.Connection[Any]):
            def commit(self) -> None:
                participant.step()
                super().commit()

        url = make_url(address)
        made = Steps.connect(
            host=url.query["host"], user=url.username, dbname=url.database, cursor_factory=Cursor
        )
        self.process = made.info.backend_pid
        return made


def run_interleaved(
    address: str, writes: Sequence[Callable[[Engine], object]], choose: Callable[[int], int]
) -> list[object]:
    """Run transactions at the same time in a chosen order of their statements.

    Args:
        address: the database.
        writes: what each thread does with its own engine, in one transaction or several.
        choose: called with the number of threads that can go on; returns which one does.

    Returns:
        The result of each, or the error that it raised.
    """
    changed = threading.Condition()
    everyone = [_Participant(address, changed, write) for write in writes]
    url = make_url(address)
    with psycopg.connect(
        host=url.query["host"], user=url.username, dbname=url.database, autocommit=True
    ) as asking:
        for one in everyone:
            one.start()
        try:
            while True:
                _let_them_stop(asking, changed, everyone)
                ready = [one for one in everyone if one.stopped]
                if not ready:
                    break
                _let_go(changed, [ready[choose(len(ready))]])
        finally:
            for one in everyone:
                one.open_gate = True
            _let_go(changed, everyone)
            for one in everyone:
                one.join()
    return [one.error or one.result for one in everyone]


def _let_go(changed: threading.Condition, chosen: Sequence[_Participant]) -> None:
    with changed:
        for one in chosen:
            one.stopped = False
        changed.notify_all()


def _let_them_stop(
    asking: psycopg.Connection[Any], changed: threading.Condition, everyone: Sequence[_Participant]
) -> None:
    """Wait until every thread has stopped, ended or waits for a lock, and at least one has stopped if any is left."""
    for _ in range(_QUESTIONS):
        with changed:
            running = [one for one in everyone if not one.stopped and not one.ended]
            if not running:
                return
            changed.wait(_ASK_AGAIN)
            running = [one for one in running if not one.stopped and not one.ended]
        blocked = [one for one in running if _is_blocked(asking, one.process)]
        if len(blocked) == len(running) and any(one.stopped for one in everyone):
            return
    raise AssertionError("the transactions wait for each other and none goes on")


def _is_blocked(asking: psycopg.Connection[Any], process: int) -> bool:
    row = asking.execute("SELECT cardinality(pg_blocking_pids(%s)) > 0", (process,)).fetchone()
    return bool(row and row[0])


def every_order(run: Callable[[Callable[[int], int]], None]) -> int:
    """Run a function once for every sequence of choices that it can make, and return how many there are."""
    runs, planned = 0, []
    while True:
        made: list[tuple[int, int]] = []  # each choice, and of how many

        def choose(of: int, planned: Sequence[int] = planned, made: list[tuple[int, int]] = made) -> int:
            made.append((planned[len(made)] if len(made) < len(planned) else 0, of))
            return made[-1][0]

        run(choose)
        runs += 1
        while made and made[-1][0] + 1 == made[-1][1]:
            made.pop()
        if not made:
            return runs
        planned = [choice for choice, _ in made[:-1]] + [made[-1][0] + 1]
