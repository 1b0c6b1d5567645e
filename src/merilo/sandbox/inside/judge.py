"""The process that runs a check against the answers of the program's process.

It never sees an object of the program's making, only plain values. It serves one check after another; each gets a fresh
module. A verdict is a record as the harness writes them, with these words besides:

    ["accepted"]   ["refused", TYPE, MESSAGE]   ["gone"]   ["broken", TYPE, MESSAGE]

`gone`: the program's process ended before it had answered. `broken`: the check itself cannot be executed.
"""

from __future__ import annotations

import builtins
import gc
import json
import os
from _socket import socket  # `socket` loads much, and every fork would pay
from _thread import allocate_lock
from functools import lru_cache
from types import CodeType
from typing import Any

from merilo.sandbox.inside import codec, frames
from merilo.sandbox.inside.harness import LONGEST_MESSAGE

Record = list[str]

#: What happened, the type, the message, the built-in type: more is none of the harness's making.
_PARTS = 4

_FAILURES = {"exception", "memory", "forbidden", "output", "syntax_error", "no_such_function"}


class GoneError(Exception):
    """The program's process answers no more."""


class Candidate:
    """The program's function, as a check sees it: passes arguments there and the result back.

    The program is told what it is asked one call at a time: a later call may give away what was right for an earlier one.

    Args:
        link: the descriptor of the way to the program's process.
        name: the function's name.
        longest: the longest text that a result may be.

    Attributes:
        failure: the last exception of the program's, and the record that it came from.
        gone: whether the program's process answers no more.
    """

    def __init__(self, link: int, name: str, longest: int) -> None:
        self.__name__ = name
        self._link = frames.Stream(link)
        self._longest = longest
        self._turn = allocate_lock()
        self.failure: tuple[Exception, Record] | None = None
        self.gone = False

    def __call__(self, *positional: object, **keywords: object) -> object:
        """Ask the program."""
        record = self.receive(codec.packed((positional, keywords)))
        if record[0] == "completed":
            return codec.loads(record[1])
        error = _raised(record)
        self.failure = (error, record)
        raise error

    def receive(self, request: bytes | None = None) -> Record:
        """Send a request, if any, and read one record, whoever wrote it."""
        try:
            with self._turn:  # a check may ask from several threads
                if request is not None:
                    frames.write(self._link.descriptor, request)
                answer = self._link.read(4 * self._longest + 8 * 1024)
            record = None if answer is None else _record(answer)
        except (OSError, ValueError, RecursionError, frames.BrokenFrameError):
            record = None
        if record is None:
            self.gone = True
            raise GoneError
        return record


def _record(answer: bytes) -> Record | None:
    """The record in these bytes, which are the program's."""
    text = answer.decode("utf-8", "surrogatepass")
    if text[:1] == "+":
        return ["completed", text[1:]]
    record: object = json.loads(text)
    if not isinstance(record, list) or not record or not all(isinstance(part, str) for part in record):
        return None
    return [part[:LONGEST_MESSAGE] for part in record[:_PARTS]] if record[0] in _FAILURES else None


def _raised(record: Record) -> Exception:
    """The program's exception as the check may expect it: of the same built-in type, or of one that is based on it.

    But for the exceptions that end loops: they would end the check's own, over `map(candidate, ...)`, as if all were well.
    """
    name, message, base = ([*record[1:], "", "", ""])[:3]
    kind = _built_in(name) or _built_in(base) or Exception
    if issubclass(kind, (StopIteration, StopAsyncIteration)):
        return RuntimeError(f"the program raised {name}")
    try:
        return kind(message) if kind.__name__ == name else type(name or record[0], (kind,), {})(message)
    except Exception:  # UnicodeDecodeError and its like want more arguments; a name may hold a NUL
        return Exception(f"{name}: {message}")


def _built_in(name: str) -> type[Exception] | None:
    known: object = getattr(builtins, name, None)
    return known if isinstance(known, type) and issubclass(known, Exception) else None


def judge(job: dict[str, Any], link: int, longest: int) -> Record:
    """Run one check.

    Args:
        job: `source`, `context`, `entry_point`, and the `seed` of `random`, which the program does not know.
        link: the descriptor of the way to the program's process.
        longest: the longest text that a result may be.

    Returns:
        The verdict's record.
    """
    candidate = Candidate(link, job["entry_point"], longest)
    import random  # noqa: PLC0415 - how it is loaded, `start` decides

    random.seed(job["seed"])
    module: dict[str, Any] = {"__name__": "check"}
    try:
        exec(_compiled(job["context"]), module)  # noqa: S102 - in the jail, and not the program's
        # Some tests of HumanEval call the function by its name: they must reach the program's, not the prompt's stub.
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
    """A judge's process as the worker sees it: it takes one check after another.

    Args:
        pid: the process.
        link: the way to it.

    Attributes:
        served: how many checks it was given.
    """

    def __init__(self, pid: int, link: socket) -> None:
        self.pid = pid
        self.socket = link
        self.served = 0

    def start(self, job: bytes, program: socket) -> None:
        """Hand over one check, and the socket to the program that answers it; the verdict comes as a frame."""
        self.served += 1
        frames.hand_over(self.socket, b"j", program.fileno())
        frames.write(self.socket.fileno(), job)

    def dismissed(self) -> None:
        """It was killed: let go of it."""
        os.waitpid(self.pid, 0)
        self.socket.close()

    @staticmethod
    def judge_for_ever(worker: socket, longest: int) -> None:
        """The process's life: a check, a verdict, and again, until the worker hangs up."""
        gc.freeze()
        while True:
            handed = frames.take_over(worker)
            job = frames.read(worker.fileno())
            if handed is None or job is None:
                return
            _, link = handed
            verdict = judge(json.loads(job), link, longest)
            os.close(link)
            frames.write(worker.fileno(), json.dumps(verdict).encode("ascii"))
            # A check and its failure refer to themselves, and would keep what this program answered until the next has
            # no memory left.
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
