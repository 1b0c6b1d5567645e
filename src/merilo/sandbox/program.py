"""An untrusted program, its tests and its execution, and the messages in which they reach a worker and come back.

Neither holds gold answers: the pool returns what a program answered, and `merilo.sandbox.ledger` compares it with the
gold answers. The worker writes the head of a report, which can be trusted. The program writes the answers, which may be
any bytes and show only what the program answered. The judge writes the verdict of a check.
"""

from __future__ import annotations

import json
import marshal
import os
import signal
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from hashlib import sha256
from secrets import token_hex
from typing import Final

from merilo.sandbox.inside import messages
from merilo.sandbox.inside.messages import ENDED, LENGTH, OVERFLOWED, REPORT, TIMED_OUT

MEBIBYTE = 2**20

#: A value that can be passed between two processes: `None`, `bool`, `int`, `float`, `complex`, `str`, `bytes`, `range`,
#: and lists, tuples, dictionaries, sets and frozen sets of such values. See `merilo.sandbox.inside.codec` for
#: the encoding.
Plain = object

#: The keyword arguments of one test call.
Call = Mapping[str, Plain]


def new_judge_seed() -> str:
    """Draw a seed for the checks of a job: 128 random bits as text, which no program can guess."""
    return token_hex(16)


class Outcome(Enum):
    """How a program ended; of an execution, that it completed its calls does not say that its answers were correct."""

    #: Every call returned (and `str` of the result could be taken); the check returned.
    COMPLETED = "completed"
    #: The check rejected the answers: it raised an exception that did not come from the program.
    REFUSED = "refused"
    #: The program raised: `error` names the type.
    EXCEPTION = "exception"
    #: It used up its wall time or its processor time.
    TIMEOUT = "timeout"
    #: It used up its memory.
    MEMORY = "memory"
    #: The jail refused an operation, and the program did not handle the refusal.
    FORBIDDEN = "forbidden"
    #: Its answers exceed the limit on output.
    OUTPUT = "output"
    #: It could not be compiled.
    SYNTAX_ERROR = "syntax_error"
    #: It ran and defined no function with the entry point's name.
    NO_SUCH_FUNCTION = "no_such_function"
    #: Its process ended before it had answered: it exited, crashed, or was killed; `error` says how.
    EXITED = "exited"
    #: Verdict: every answer is the gold answer, or the check accepted them.
    PASSED = "passed"
    #: Verdict: an answer is not the gold answer, or the check rejected them.
    WRONG_ANSWER = "wrong_answer"
    #: Verdict: every call returned, but the gold answers are not public.
    NOT_JUDGED = "not_judged"
    #: Verdict: the completion is too long to be run.
    TOO_LONG = "too_long"


@dataclass(frozen=True, slots=True)
class Limits:
    """What one program may use.

    Attributes:
        wall_seconds: from its start to its end, compilation and all calls together; watched from outside its process.
        cpu_seconds: processor time, whole seconds; by default the wall time rounded up and one more.
        memory_bytes: address space of each of its processes.
        processes: how many processes it may use, including its first. With 1 it can neither fork nor execute.
        threads: how many additional threads a program may have.
        open_files: how many descriptors it may hold.
        file_bytes: largest size of a file that it writes.
        scratch_bytes: size of each of its two private temporary folders (`/tmp` and `/dev/shm`); a property
            of the jail, shared by nobody else.
        output_bytes: total size of all its answers.

    Example:
        >>> Limits(wall_seconds=2.5).cpu_limit
        4
    """

    wall_seconds: float = 3.0
    cpu_seconds: int | None = None
    memory_bytes: int = 512 * MEBIBYTE
    processes: int = 1
    threads: int = 16
    open_files: int = 64
    file_bytes: int = 16 * MEBIBYTE
    scratch_bytes: int = 64 * MEBIBYTE
    output_bytes: int = MEBIBYTE

    @property
    def cpu_limit(self) -> int:
        """Seconds of processor time, whole."""
        return self.cpu_seconds if self.cpu_seconds is not None else int(-(-self.wall_seconds // 1)) + 1


@dataclass(frozen=True, slots=True)
class Check:
    """A test as in HumanEval: source that defines `check(candidate)`, which contains assertions.

    It does not run in the program's process. Its `candidate` sends the arguments of every call to the program
    and returns the result. Both are plain values only, so that the check never compares objects that the
    program has made.

    Attributes:
        source: the source that defines `check`.
        context: source that is executed before `source` in the same module, for names that the test uses besides
            `candidate` (what precedes the prompt's function, because some tests of HumanEval call the functions there).
    """

    source: str
    context: str = ""


@dataclass(frozen=True, slots=True)
class Program:
    """One program to run and its tests.

    Attributes:
        id: the caller's name for the program, repeated in its execution.
        source: the whole program. Any text has an outcome, even with NUL bytes or lone surrogates.
        entry_point: the name of the function that is called.
        tests: keyword arguments, one mapping a call; or a check.
        seed: the seed of `random` at the program's start. Use the same seed to repeat a run, and another one for a
            retry.
        judge_seed: the seed of `random` in the process of a check. The program must not know it, because it determines
            the tests that a check draws at random. By default, a new one is drawn.

    Example:
        >>> program = Program("1", "double = lambda x: 2 * x", "double", ({"x": 2}, {"x": "ab"}))
        >>> program.seed
        0
    """

    id: str
    source: str
    entry_point: str
    tests: tuple[Call, ...] | Check
    seed: int = 0
    judge_seed: str | None = None


@dataclass(frozen=True, slots=True)
class Execution:
    """How one program ended, with its answers and the resources that it used.

    Attributes:
        id: the program's id.
        outcome: `COMPLETED` if every call or the check returned; otherwise the outcome of the first failure.
        texts: `str(result)` of every call, in order, `None` if the call failed or was not reached; empty for a check.
        error: of the first failure, the type of the exception (`ZeroDivisionError`), or how the process ended
            (`SIGSEGV`).
        message: the message of that error, shortened.
        seconds: wall time of the program's process, from its start to its end.
        cpu_seconds: processor time of the process and the children it waited for.
        peak_bytes: largest resident set size.
        attempts: how often it was started; more than 1 if its worker was lost.
    """

    id: str
    outcome: Outcome
    texts: tuple[str | None, ...] = ()
    error: str = ""
    message: str = ""
    seconds: float = 0.0
    cpu_seconds: float = 0.0
    peak_bytes: int = 0
    attempts: int = 1


#: An outcome, its error and its message.
_End = tuple[Outcome, str, str]

#: The first words of a record that reports a failure, in the answers of a program.
_FAILURES: Final = {
    outcome.value: outcome
    for outcome in (
        Outcome.EXCEPTION,
        Outcome.MEMORY,
        Outcome.FORBIDDEN,
        Outcome.OUTPUT,
        Outcome.SYNTAX_ERROR,
        Outcome.NO_SUCH_FUNCTION,
    )
}

#: The first words of a record that reports a failure, in the verdict of a judge.
_REFUSALS: Final = {**_FAILURES, "refused": Outcome.REFUSED, "broken": Outcome.REFUSED}


def message_of(program: Program) -> bytes:
    """Encode a program for the worker."""
    calls: list[bytes] = []
    judges_part = b""
    if isinstance(program.tests, Check):
        # Hashed, so that every Python can encode the seed.
        drawn = new_judge_seed() if program.judge_seed is None else program.judge_seed
        seed = sha256(drawn.encode("utf-8", "surrogatepass")).hexdigest()
        test = {
            "source": program.tests.source,
            "context": program.tests.context,
            "entry_point": program.entry_point,
            "seed": seed,
        }
        judges_part = json.dumps(test).encode("ascii")
    else:
        calls = [messages.packed(dict(call)) for call in program.tests]
    # All supported versions of Python read and write version 2 of the format identically.
    programs_part = marshal.dumps((program.source, program.entry_point, program.seed, calls), 2)
    return messages.frame(LENGTH.pack(len(programs_part)) + programs_part + judges_part)


def execution_of(report: bytes, program: Program, limits: Limits, attempts: int = 1) -> Execution | None:
    """Build the execution of a program from its worker's report.

    Returns:
        The execution; `None` if its check has no verdict although the program did not fail, so that it must be run
        again.
    """
    cause, status, seconds, cpu_seconds, peak_bytes = REPORT.unpack_from(report)
    payload = report[REPORT.size :]
    first: _End | None = None
    texts: tuple[str | None, ...] = ()
    if isinstance(program.tests, Check):
        if cause == ENDED and not payload:
            return None
        first = None if cause == TIMED_OUT else _end(messages.record_of(payload), "accepted", _REFUSALS)
    else:
        texts, first = _answers(payload, len(program.tests))
    outcome, error, message = first or _end_of_process(cause, status, cpu_seconds, limits)
    return Execution(program.id, outcome, texts, error, message, seconds, cpu_seconds, peak_bytes, attempts)


def _end_of_process(cause: int, status: int, cpu_seconds: float, limits: Limits) -> _End:
    """Return how the process ended, for the calls that it did not answer."""
    if cause == TIMED_OUT:
        return Outcome.TIMEOUT, "", f"more than {limits.wall_seconds:g} s"
    if cause == OVERFLOWED:
        return Outcome.OUTPUT, "", f"more than {limits.output_bytes} bytes"
    code = os.waitstatus_to_exitcode(status)
    if code >= 0:
        return Outcome.EXITED, f"exit {code}", "exited before it had answered"
    if -code in {signal.SIGXCPU, signal.SIGKILL} and cpu_seconds >= limits.cpu_limit - 0.5:
        return Outcome.TIMEOUT, "", f"more than {limits.cpu_limit} s of processor time"
    named = -code in set(signal.Signals)
    name = signal.Signals(-code).name if named else f"signal {-code}"
    return Outcome.FORBIDDEN if name == "SIGSYS" else Outcome.EXITED, name, "killed by a signal"


def _answers(payload: bytes, calls: int) -> tuple[tuple[str | None, ...], _End | None]:
    """Return the answers in a sequence of frames, and their end; `None` if a call was not answered by a valid frame."""
    texts: list[str | None] = []
    first: _End | None = None
    for message in messages.split(bytearray(payload))[:calls]:
        record = messages.record_of(message)
        end = _end(record, "completed", _FAILURES)
        if record is None or end is None:
            break
        texts.append(record[1] if end[0] is Outcome.COMPLETED else None)
        if first is None and end[0] is not Outcome.COMPLETED:
            first = end
    missing = calls - len(texts)
    return (*texts, *[None] * missing), first if first or missing else (Outcome.COMPLETED, "", "")


def _end(record: list[str] | None, success: str, failures: Mapping[str, Outcome]) -> _End | None:
    """Return what a record says, `None` of any other record; its texts are untrusted, and are shortened."""
    if record is None:
        return None
    if record[0] == success:
        # "completed" needs the answer.
        return (Outcome.COMPLETED, "", "") if success == "accepted" or len(record) == 2 else None
    if record[0] not in failures:
        return None
    error, message = [*record[1:], "", ""][:2]
    return failures[record[0]], _printable(error, 100), _printable(message, 500)


def _printable(text: str, longest: int) -> str:
    return "".join(letter if letter.isprintable() else " " for letter in text[:longest])
