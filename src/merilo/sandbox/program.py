"""A program that nobody trusts, what it is asked, and what became of it.

The types that pass between whoever scores programs and the pool that runs them. Nothing here runs anything, and nothing
here knows the right answer: the pool says what a program answered, the comparison is made where the gold is.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from secrets import token_hex

from merilo.errors import UsageError

MEBIBYTE = 2**20

#: A value that may cross between two processes: `None`, `bool`, `int`, `float`, `complex`, `str`, `bytes`, `range`,
#: and lists, tuples, dictionaries, sets and frozen sets of such values. See `merilo.sandbox.inside.codec` for the encoding.
Plain = object

#: The keyword arguments of one test call.
Call = Mapping[str, Plain]


def new_judge_seed() -> str:
    """Draw a seed for the checks of a job: 128 random bits as text, which no program can guess."""
    return token_hex(16)


class Outcome(Enum):
    """What became of a program, or of one of its calls. No outcome says that an answer was right."""

    COMPLETED = "completed"
    """The call returned (and `str` of the result could be taken); the check returned."""
    REFUSED = "refused"
    """The check found the answers wrong: it raised, and not because the program had."""
    EXCEPTION = "exception"
    """The program raised: `error` names the type."""
    TIMEOUT = "timeout"
    """It used up its wall time or its processor time."""
    MEMORY = "memory"
    """It used up its memory."""
    FORBIDDEN = "forbidden"
    """It did what the jail does not allow, and did not survive the refusal."""
    OUTPUT = "output"
    """It answered with more than may leave the jail."""
    SYNTAX_ERROR = "syntax_error"
    """It could not be compiled."""
    NO_SUCH_FUNCTION = "no_such_function"
    """It ran and defined nothing callable of the asked name."""
    EXITED = "exited"
    """Its process ended before it had answered: it left, crashed, or was killed; `error` says how."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What one program may use.

    Attributes:
        wall_seconds: from its start to its end, compilation and all calls together; watched from outside its process.
        cpu_seconds: processor time, whole seconds; by default the wall time rounded up and one more.
        memory_bytes: address space of each of its processes.
        processes: how many processes it may be, itself included. With 1 it can neither fork nor execute.
        threads: how many threads more than one a program may have.
        open_files: how many descriptors it may hold.
        file_bytes: size of a file that it writes.
        scratch_bytes: size of each of its two private temporary folders (`/tmp` and `/dev/shm`); a property of the jail,
            shared by nobody else.
        output_bytes: what all its answers together may take on their way out.

    Raises:
        UsageError: a limit that is not positive.

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
        for name in (
            "wall_seconds",
            "memory_bytes",
            "processes",
            "open_files",
            "file_bytes",
            "scratch_bytes",
            "output_bytes",
        ):
            if not getattr(self, name) > 0:
                raise UsageError(f"must be greater than 0, not {getattr(self, name)}", field=name)
        if self.threads < 0 or (self.cpu_seconds is not None and self.cpu_seconds < 1):
            raise UsageError("threads must be 0 or more, and cpu_seconds 1 or more")

    @property
    def cpu_limit(self) -> int:
        """Seconds of processor time, whole."""
        return self.cpu_seconds if self.cpu_seconds is not None else int(-(-self.wall_seconds // 1)) + 1


@dataclass(frozen=True, slots=True)
class Check:
    """A test in the manner of HumanEval: source that defines `check(candidate)`, which asserts.

    It runs in another process than the program. Its `candidate` passes the arguments of every call to the program and
    the result back, as plain values only, so that no object of the program's making takes part in a comparison.

    Attributes:
        source: the source that defines `check`.
        context: source that is executed before it in the same module, for the names that the test uses besides
            `candidate` (HumanEval's own prompt: some of its tests call functions that the prompt defines).
    """

    source: str
    context: str = ""


@dataclass(frozen=True, slots=True)
class Program:
    """One program to run and how to ask it.

    Attributes:
        id: whatever the caller knows it by; comes back in the execution.
        source: the whole program. Any text: NUL bytes, lone surrogates and nonsense have an outcome too.
        entry_point: the name of the function that is called.
        tests: keyword arguments, one mapping a call; or a check.
        seed: the state of `random` at the program's start. Runs with the same seed give the same answers; a retry that
            wants other luck passes another.
        judge_seed: the state of `random` in the process of a check. It must be a secret from the program: whoever knows it
            knows the tests that a check draws at random. A fresh one is drawn when not given.

    Raises:
        UsageError: no call at all: such a program has no outcome.

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
class Answer:
    """What one call gave.

    Attributes:
        outcome: `COMPLETED` exactly when there is a text.
        text: `str(result)`, as the program's process made it; `None` where the call failed or was not reached.
        error: the type of what the program raised (`ZeroDivisionError`), or how its process ended (`SIGSEGV`).
        message: the first of what it said, shortened.
    """

    outcome: Outcome
    text: str | None = None
    error: str = ""
    message: str = ""


@dataclass(frozen=True, slots=True)
class Execution:
    """What became of one program.

    Attributes:
        id: the program's.
        outcome: `COMPLETED` when every call returned, or the check did; otherwise what failed first.
        answers: one for each test call, in order; empty for a check.
        error: as in `Answer`, of what failed first.
        message: as in `Answer`.
        seconds: wall time of the program's process, from its start to its end.
        cpu_seconds: processor time of the process and the children it waited for.
        peak_bytes: largest resident size.
        attempts: how often it was started; more than 1 when a worker was lost under it.

    Example:
        >>> Execution("1", Outcome.COMPLETED, (Answer(Outcome.COMPLETED, "4"),)).texts
        ('4',)
    """

    id: str
    outcome: Outcome
    answers: tuple[Answer, ...] = field(default=())
    error: str = ""
    message: str = ""
    seconds: float = 0.0
    cpu_seconds: float = 0.0
    peak_bytes: int = 0
    attempts: int = 1

    @property
    def texts(self) -> tuple[str | None, ...]:
        """`str(result)` of every call, `None` where it failed: the form that submissions use."""
        return tuple(answer.text for answer in self.answers)
