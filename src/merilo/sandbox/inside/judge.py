"""The process that runs a check against the answers of the program's process.

It receives only plain values from the program, never its objects. It runs one check after another, each in a
new module. A verdict is a record of the harness or one of these:

    ["accepted"]   ["refused", TYPE, MESSAGE]   ["gone"]   ["broken", TYPE, MESSAGE]

`gone`: the program's process ended without answering. `broken`: the source of the check cannot be executed.
"""

from __future__ import annotations

import builtins
import gc
import json
import os
from _socket import socket  # `socket` imports many modules, which would slow down every fork
from _thread import allocate_lock
from functools import lru_cache
from types import CodeType
from typing import Any

from merilo.sandbox.inside import messages
from merilo.sandbox.inside.harness import LONGEST_MESSAGE

Record = list[str]

#: Items of a record: what happened, type, message, built-in type. The harness writes no more.
_PARTS = 4

_FAILURES = {"exception", "memory", "forbidden", "output", "syntax_error", "no_such_function"}


class GoneError(Exception):
    """The program's process has ended or sent an invalid record."""


class Candidate:
    """Proxy of the program's function for a check: it sends the arguments to the program and returns the result.

    Calls are sent one at a time, because the arguments of a later call may reveal the expected result of an
    earlier one.

    Args:
        link: the descriptor of the link to the program's process.
        name: the function's name.
        longest: the longest text of a result, in characters.

    Attributes:
        failure: the program's last exception, and the record that it was made from.
        gone: whether the program's process has ended or sent an invalid record.
    """

    def __init__(self, link: int, name: str, longest: int) -> None:
        self.__name__ = name
        self._link = link
        self._longest = longest
        self._turn = allocate_lock()
        self.failure: tuple[Exception, Record] | None = None
        self.gone = False

    def __call__(self, *positional: object, **keywords: object) -> object:
        """Call the program's function.

        Raises:
            GoneError: the program's process has ended or sent an invalid record.
            Exception: the program raised; see `_raised` for the type.
        """
        record = self.receive(messages.packed((positional, keywords)))
        if record[0] == "completed":
            return messages.loads(record[1])
        error = _raised(record)
        self.failure = (error, record)
        raise error

    def receive(self, request: bytes | None = None) -> Record:
        """Send a request, if any, and read one record, which is untrusted.

        Raises:
            GoneError: the program's process has ended or sent an invalid record.
        """
        try:
            with self._turn:  # a check may call from several threads
                if request is not None:
                    messages.write(self._link, request)
                record = _record(messages.read(self._link, 4 * self._longest + 8 * 1024))
        except (OSError, messages.BrokenFrameError):
            record = None
        if record is None:
            self.gone = True
            raise GoneError
        return record


def _record(answer: bytes | None) -> Record | None:
    """Parse a record from the program; `None` if there is none or it is malformed."""
    record = None if answer is None else messages.record_of(answer)
    if record is None or record[0] == "completed":
        # A record of JSON cannot say that the call returned.
        return record if answer and answer[:1] == b"+" else None
    return [part[:LONGEST_MESSAGE] for part in record[:_PARTS]] if record[0] in _FAILURES else None


def _raised(record: Record) -> Exception:
    """Return the program's exception for the check: of the same built-in type, or of a new subclass of it.

    `StopIteration` becomes a `RuntimeError`, because it would silently end a loop of the check over
    `map(candidate, ...)`.
    """
    name, message, base = ([*record[1:], "", "", ""])[:3]
    kind = _built_in(name) or _built_in(base) or Exception
    if issubclass(kind, (StopIteration, StopAsyncIteration)):
        return RuntimeError(f"the program raised {name}")
    try:
        return kind(message) if kind.__name__ == name else type(name or record[0], (kind,), {})(message)
    except Exception:  # UnicodeDecodeError and others need more arguments; a name may hold a NUL
        return Exception(f"{name}: {message}")


def _built_in(name: str) -> type[Exception] | None:
    known: object = getattr(builtins, name, None)
    return known if isinstance(known, type) and issubclass(known, Exception) else None


def judge(job: dict[str, Any], link: int, longest: int) -> Record:
    """Run one check.

    Args:
        job: `source`, `context`, `entry_point`, and the `seed` of `random`, which the program does not know.
        link: the descriptor of the link to the program's process.
        longest: the longest text of a result, in characters.

    Returns:
        The record of the verdict.
    """
    candidate = Candidate(link, job["entry_point"], longest)
    import random  # noqa: PLC0415 - `start` controls how it is loaded

    random.seed(job["seed"])
    module: dict[str, Any] = {"__name__": "check"}
    try:
        exec(_compiled(job["context"]), module)  # noqa: S102 - runs in the jail, and is not the program's source
        # Some HumanEval tests call the function by name; the call must reach the program, not the prompt's stub.
        module[job["entry_point"]] = candidate
        exec(_compiled(job["source"]), module)  # noqa: S102 - as above
        check = module["check"]
    except BaseException as error:
        return ["broken", type(error).__name__, str(error)[:200]]
    try:
        loaded = candidate.receive()
        if loaded[0] != "completed":
            return loaded
        check(candidate)
    except BaseException as error:
        return _verdict(candidate, error)
    return ["gone"] if candidate.gone else ["accepted"]


class Referee:
    """The worker's handle of a judge process, which runs one check after another.

    Args:
        pid: the process id.
        link: the socket to the process.

    Attributes:
        served: how many checks it was sent.
    """

    def __init__(self, pid: int, link: socket) -> None:
        self.pid = pid
        self.socket = link
        self.served = 0

    def start(self, job: bytes, program: socket) -> None:
        """Send one check with the socket to the program that it tests; the verdict arrives as a frame."""
        self.served += 1
        messages.hand_over(self.socket, b"j", program.fileno())
        messages.write(self.socket.fileno(), job)

    def dismissed(self) -> None:
        """Reap the process after it was killed, and close its socket."""
        os.waitpid(self.pid, 0)
        self.socket.close()

    @staticmethod
    def judge_for_ever(worker: socket, longest: int) -> None:
        """Run checks and send their verdicts until the worker closes the socket."""
        gc.freeze()
        while True:
            handed = messages.take_over(worker)
            job = messages.read(worker.fileno())
            if handed is None or job is None:
                return
            _, link = handed
            verdict = judge(json.loads(job), link, longest)
            os.close(link)
            messages.write(worker.fileno(), json.dumps(verdict).encode("ascii"))
            # A check and its exception form reference cycles. Without a collection, they would keep this
            # program's answers
            # in memory during the next checks.
            gc.collect()


def _verdict(candidate: Candidate, error: BaseException) -> Record:
    if candidate.gone:
        return ["gone"]
    if candidate.failure is not None and error is candidate.failure[0]:
        return candidate.failure[1]
    try:
        return ["refused", type(error).__name__, str(error)[:200]]
    except BaseException:
        return ["refused", "Exception", ""]


@lru_cache(maxsize=1024)
def _compiled(source: str) -> CodeType:
    return compile(source, "<check>", "exec", dont_inherit=True)
