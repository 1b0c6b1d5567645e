"""The pool's handle of one worker process: sends jobs and receives reports without blocking.

The worker writes the head of a report, which can be trusted. The program writes the answers, which may be any bytes and
show only what the program answered. The judge writes the verdict of a check.
"""

from __future__ import annotations

import contextlib
import json
import marshal
import os
import shutil
import signal
import struct
import subprocess
import time
from collections import deque
from dataclasses import dataclass
from hashlib import sha256
from typing import Final

from merilo.errors import MissingPartError
from merilo.sandbox.backends import Backend, Start
from merilo.sandbox.inside import codec, framing
from merilo.sandbox.inside.server import ENDED, JOB, OVERFLOWED, REPORT, TIMED_OUT
from merilo.sandbox.program import CallResult, Check, Execution, Limits, Outcome, Program, new_judge_seed

_LENGTH: Final = struct.Struct("<I")

#: The first words of a record that reports a failure, in the answers of a program.
_FAILURES: Final = {
    "exception": Outcome.EXCEPTION,
    "memory": Outcome.MEMORY,
    "forbidden": Outcome.FORBIDDEN,
    "output": Outcome.OUTPUT,
    "syntax_error": Outcome.SYNTAX_ERROR,
    "no_such_function": Outcome.NO_SUCH_FUNCTION,
}

#: The first words of a record that reports a failure, in the verdict of a judge.
_REFUSALS: Final = {**_FAILURES, "refused": Outcome.REFUSED, "broken": Outcome.REFUSED}


@dataclass(frozen=True, slots=True)
class WorkerReport:
    """A worker's report, parsed; `payload` holds the program's answers or the judge's verdict."""

    cause: int
    status: int
    seconds: float
    cpu_seconds: float
    peak_bytes: int
    payload: bytes


def report_of(message: bytes) -> WorkerReport:
    """Parse one report."""
    cause, status, seconds, cpu_seconds, peak_bytes = REPORT.unpack_from(message)
    return WorkerReport(cause, status, seconds, cpu_seconds, peak_bytes, message[REPORT.size :])


def lost_its_judge(report: WorkerReport, program: Program) -> bool:
    """Return whether a check has no verdict although the program did not fail.

    So that the program must be run again.
    """
    return isinstance(program.tests, Check) and report.cause == ENDED and not report.payload


def execution_of(report: WorkerReport, program: Program, limits: Limits, attempts: int) -> Execution:
    """Build the execution of a program from its worker's report."""
    if isinstance(program.tests, Check):
        answers: tuple[CallResult, ...] = ()
        first = _verdict(report) or _ending(report, limits)
    else:
        answers = _answers(report.payload, len(program.tests))
        if missing := len(program.tests) - len(answers):
            answers += (_ending(report, limits),) * missing
        failed = (answer for answer in answers if answer.outcome is not Outcome.COMPLETED)
        first = next(failed, CallResult(Outcome.COMPLETED))
    return Execution(
        id=program.id,
        outcome=first.outcome,
        answers=answers,
        error=first.error,
        message=first.message,
        seconds=report.seconds,
        cpu_seconds=report.cpu_seconds,
        peak_bytes=report.peak_bytes,
        attempts=attempts,
    )


def _ending(report: WorkerReport, limits: Limits) -> CallResult:
    """Return how the process ended, as the answer to the calls that it did not answer."""
    if report.cause == TIMED_OUT:
        return CallResult(Outcome.TIMEOUT, message=f"more than {limits.wall_seconds:g} s")
    if report.cause == OVERFLOWED:
        return CallResult(Outcome.OUTPUT, message=f"more than {limits.output_bytes} bytes")
    code = os.waitstatus_to_exitcode(report.status)
    if code >= 0:
        return CallResult(Outcome.EXITED, error=f"exit {code}", message="exited before it had answered")
    if -code in {signal.SIGXCPU, signal.SIGKILL} and report.cpu_seconds >= limits.cpu_limit - 0.5:
        return CallResult(Outcome.TIMEOUT, message=f"more than {limits.cpu_limit} s of processor time")
    name = _signal_name(-code)
    return CallResult(
        Outcome.FORBIDDEN if name == "SIGSYS" else Outcome.EXITED, error=name, message="killed by a signal"
    )


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _verdict(report: WorkerReport) -> CallResult | None:
    record = _record(report.payload)
    if record is None or report.cause == TIMED_OUT:
        return None
    return CallResult(Outcome.COMPLETED) if record[0] == "accepted" else _failure(record, _REFUSALS)


def _answers(payload: bytes, calls: int) -> tuple[CallResult, ...]:
    """Return the answers in a sequence of frames, up to the first malformed one."""
    answers: list[CallResult] = []
    position = 0
    while len(answers) < calls and len(payload) - position >= _LENGTH.size:
        (length,) = _LENGTH.unpack_from(payload, position)
        position += _LENGTH.size + length
        record = _record(payload[position - length : position]) if position <= len(payload) else None
        if record is None:
            break
        completed = record[0] == "completed" and len(record) == 2
        answer = CallResult(Outcome.COMPLETED, text=record[1]) if completed else _failure(record, _FAILURES)
        if answer is None:
            break
        answers.append(answer)
    return tuple(answers)


def _failure(record: list[str], words: dict[str, Outcome]) -> CallResult | None:
    """Return the answer for a record of a failure, or `None` for any other record.

    The program wrote the texts of the record, so they are shortened.
    """
    if record[0] not in words:
        return None
    error, message = [*record[1:], "", ""][:2]
    return CallResult(words[record[0]], error=_printable(error, 100), message=_printable(message, 500))


def _printable(text: str, longest: int) -> str:
    return "".join(letter if letter.isprintable() else " " for letter in text[:longest])


def _record(payload: bytes) -> list[str] | None:
    """Parse one record, a non-empty list of texts; `None` if the bytes are malformed."""
    try:
        text = payload.decode("utf-8", "surrogatepass")
        if text[:1] == "+":
            return ["completed", text[1:]]
        record = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(record, list) or not record or not all(isinstance(part, str) for part in record):
        return None
    return record


#: How the lines of advice begin that Docker's client prints after an error.
_ADVICE = ("See 'docker", "Run 'docker")

#: Seconds that a worker may take to end by itself after the pool has closed its input.
_PATIENCE = 5.0


@dataclass(slots=True)
class QueuedProgram:
    """A program to run, its encoded message, and how often it was sent to a worker."""

    program: Program
    message: bytes
    attempts: int = 0


class WorkerProcess:
    """A worker process and the jobs that were sent to it.

    Args:
        backend: the backend that jails it.
        number: its number, unique among the workers that run at the same time.
        limits: what one program may use.
        processor: the only processor that it runs on; any if not given.

    Attributes:
        jobs: jobs sent and not yet reported, oldest first; the worker runs the first one.
        since: when the worker began the first job, in seconds of the monotonic clock.
        greeting: the facts in the worker's greeting; `None` until the greeting arrives.
    """

    def __init__(self, backend: Backend, number: int, limits: Limits, processor: int | None = None) -> None:
        self.number = number
        self.jobs: deque[QueuedProgram] = deque()
        self.since = 0.0
        self.greeting: dict[str, object] | None = None
        start = backend.start(number, limits)
        self._left = start.settings.get("remove")
        self._process = _spawned(start)
        assert self._process.stdin is not None  # noqa: S101 - all three are pipes
        assert self._process.stdout is not None  # noqa: S101 - as above
        self.input = self._process.stdin.fileno()
        self.output = self._process.stdout.fileno()
        os.set_blocking(self.input, False)
        os.set_blocking(self.output, False)
        self._incoming = bytearray()
        settings = start.settings | {"answers": answers_limit(limits), "processor": processor}
        self._outgoing = bytearray(framing.frame(json.dumps(settings).encode()))

    @property
    def pid(self) -> int:
        """The process id, on this machine, of the worker's outermost process."""
        return self._process.pid

    @property
    def has_to_send(self) -> bool:
        """Whether there is data that the worker has not taken yet."""
        return bool(self._outgoing)

    def send(self, job: QueuedProgram) -> None:
        """Queue one more job for the worker."""
        if not self.jobs:
            self.since = time.monotonic()
        job.attempts += 1
        self.jobs.append(job)
        self._outgoing += job.message
        self.flush()

    def flush(self) -> None:
        """Write as much data as the worker takes without blocking."""
        with contextlib.suppress(BlockingIOError, BrokenPipeError):
            while self._outgoing:
                del self._outgoing[: os.write(self.input, memoryview(self._outgoing)[: 2**20])]

    def receive(self) -> tuple[list[bytes], bool]:
        """Read the data that has arrived.

        Returns:
            The complete messages, and whether the worker is still alive.

        Raises:
            MissingPartError: the greeting says that the jail could not be set up.
        """
        alive = True
        try:
            part = os.read(self.output, 2**16)
            alive = bool(part)
            self._incoming += part
        except BlockingIOError:
            pass
        messages = []
        while len(self._incoming) >= _LENGTH.size:
            (length,) = _LENGTH.unpack_from(self._incoming)
            if len(self._incoming) < _LENGTH.size + length:
                break
            messages.append(bytes(self._incoming[_LENGTH.size : _LENGTH.size + length]))
            del self._incoming[: _LENGTH.size + length]
        if messages and self.greeting is None:
            self._greet(messages.pop(0))
        return messages, alive

    def finished(self) -> QueuedProgram:
        """Remove and return the first job, after its report."""
        job = self.jobs.popleft()
        self.since = time.monotonic()
        return job

    def complaint(self) -> str:
        """Return the last line of a lost worker's standard error that is not Docker's advice.

        Empty if there is none.
        """
        assert self._process.stderr is not None  # noqa: S101 - a pipe
        os.set_blocking(self._process.stderr.fileno(), False)
        with contextlib.suppress(BlockingIOError, OSError):
            lines = (
                os.read(self._process.stderr.fileno(), 2**16).decode("utf-8", "replace").strip().splitlines()
            )
            return next((line for line in reversed(lines) if line and not line.startswith(_ADVICE)), "")
        return ""

    def end(self) -> None:
        """Close the worker's input and wait for it to end; kill it if it does not end in time."""
        assert self._process.stdin is not None  # noqa: S101 - as above
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.close()
        try:
            self._process.wait(_PATIENCE)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._close()

    def kill(self) -> None:
        """Kill the worker, and wait until all processes of its jail have ended."""
        self._process.kill()
        self._process.wait()
        os.set_blocking(self.output, True)
        with contextlib.suppress(OSError):
            # The worker inside the jail holds the other end: end of file means that the jail is gone.
            while os.read(self.output, 2**16):
                pass
        self._close()

    def _close(self) -> None:
        """Close the pipes and remove the folder that a killed worker without a jail leaves behind."""
        if self._left is not None:
            shutil.rmtree(str(self._left), ignore_errors=True)
        for stream in (self._process.stdin, self._process.stdout, self._process.stderr):
            if stream is not None:
                with contextlib.suppress(BrokenPipeError):
                    stream.close()

    def _greet(self, message: bytes) -> None:
        greeting = json.loads(message)
        if "error" in greeting:
            raise MissingPartError(f"the sandbox does not work on this machine: {greeting['error']}")
        self.greeting = greeting
        self.since = time.monotonic()


def _spawned(start: Start) -> subprocess.Popen[bytes]:
    try:
        return subprocess.Popen(  # noqa: S603 - the backend's command
            start.command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=start.environment,
            pass_fds=start.descriptors,
            start_new_session=True,  # the pool, not the worker, handles Ctrl+C
            bufsize=0,
        )
    except OSError as error:
        raise MissingPartError(f"'{start.command[0]}' does not start: {error.strerror}") from error


def answers_limit(limits: Limits) -> int:
    """Return how many bytes a program's process may write: its answers and the frames around them."""
    return limits.output_bytes + 64 * 1024


def _judge_seed(program: Program) -> str:
    """Return the seed of the judge's `random`, hashed so that every Python can encode it."""
    seed = new_judge_seed() if program.judge_seed is None else program.judge_seed
    return sha256(seed.encode("utf-8", "surrogatepass")).hexdigest()


def message_of(program: Program) -> bytes:
    """Encode a job for the worker.

    Raises:
        codec.NotPlainError: an argument is not a plain value.
    """
    calls: list[bytes] = []
    judges_part = b""
    if isinstance(program.tests, Check):
        test = {
            "source": program.tests.source,
            "context": program.tests.context,
            "entry_point": program.entry_point,
            "seed": _judge_seed(program),
        }
        judges_part = json.dumps(test).encode("ascii")
    else:
        calls = [codec.packed(dict(call)) for call in program.tests]
    # All supported versions of Python read and write version 2 of the format identically.
    programs_part = marshal.dumps((program.source, program.entry_point, program.seed, calls), 2)
    return JOB.pack(len(programs_part), len(judges_part)) + programs_part + judges_part
