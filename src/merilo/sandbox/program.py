"""Types for an untrusted program, its tests and its execution.

Scoring code and the pool exchange these types. They hold no gold answers: the pool returns what a program answered, and
`merilo.sandbox.ledger` compares it with the gold answers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from enum import Enum
from secrets import token_hex

from merilo.errors import UsageError

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
    """How a program or one of its calls ended. No outcome says that an answer was correct."""

    COMPLETED = "completed"
    """The call returned (and `str` of the result could be taken); the check returned."""
    REFUSED = "refused"
    """The check rejected the answers: it raised an exception that did not come from the program."""
    EXCEPTION = "exception"
    """The program raised: `error` names the type."""
    TIMEOUT = "timeout"
    """It used up its wall time or its processor time."""
    MEMORY = "memory"
    """It used up its memory."""
    FORBIDDEN = "forbidden"
    """The jail refused an operation, and the program did not handle the refusal."""
    OUTPUT = "output"
    """Its answers exceed the limit on output."""
    SYNTAX_ERROR = "syntax_error"
    """It could not be compiled."""
    NO_SUCH_FUNCTION = "no_such_function"
    """It ran and defined no function with the entry point's name."""
    EXITED = "exited"
    """Its process ended before it had answered: it exited, crashed, or was killed; `error` says how."""


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

    Raises:
        UsageError: a limit is not positive.

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

    def __post_init__(self) -> None:
        for limit in fields(self):
            value = getattr(self, limit.name)
            bound = -1 if limit.name == "threads" else 0
            if value is not None and not value > bound:
                raise UsageError(f"must be greater than {bound}, not {value}", field=limit.name)

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
            `candidate` (the prompt, because some tests of HumanEval call functions that the prompt defines).
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

    Raises:
        UsageError: there are no tests.

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

    def __post_init__(self) -> None:
        if not self.tests:
            raise UsageError(f"program '{self.id}' has no tests")


@dataclass(frozen=True, slots=True)
class CallResult:
    """The result of one call.

    Attributes:
        outcome: `COMPLETED` exactly when there is a text.
        text: `str(result)`, computed in the program's process; `None` if the call failed or was not reached.
        error: the type of the exception (`ZeroDivisionError`), or how the process ended (`SIGSEGV`).
        message: the message of that error, shortened.
    """

    outcome: Outcome
    text: str | None = None
    error: str = ""
    message: str = ""


@dataclass(frozen=True, slots=True)
class Execution:
    """The outcome of one program, with its answers and the resources that it used.

    Attributes:
        id: the program's id.
        outcome: `COMPLETED` if every call or the check returned; otherwise the outcome of the first failure.
        answers: one for each test call, in order; empty for a check.
        error: as in `CallResult`, for the first failure.
        message: as in `CallResult`, for the first failure.
        seconds: wall time of the program's process, from its start to its end.
        cpu_seconds: processor time of the process and the children it waited for.
        peak_bytes: largest resident set size.
        attempts: how often it was started; more than 1 if its worker was lost.

    Example:
        >>> Execution("1", Outcome.COMPLETED, (CallResult(Outcome.COMPLETED, "4"),)).texts
        ('4',)
    """

    id: str
    outcome: Outcome
    answers: tuple[CallResult, ...] = field(default=())
    error: str = ""
    message: str = ""
    seconds: float = 0.0
    cpu_seconds: float = 0.0
    peak_bytes: int = 0
    attempts: int = 1

    @property
    def texts(self) -> tuple[str | None, ...]:
        """`str(result)` of every call, `None` if the call failed, as submissions use it."""
        return tuple(answer.text for answer in self.answers)
