"""Parsing of a worker's reports.

The worker writes the head of a report, which can be trusted. The program writes the answers, which may be any bytes and
show only what the program answered. The judge writes the verdict of a check.
"""

from __future__ import annotations

import json
import os
import signal
import struct
from dataclasses import dataclass
from typing import Final

from merilo.sandbox.inside.server import ENDED, OVERFLOWED, REPORT, TIMED_OUT
from merilo.sandbox.program import CallResult, Check, Execution, Limits, Outcome, Program

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
    """Return whether a check has no verdict although the program did not fail, so that the program must be run again."""
    return isinstance(program.tests, Check) and report.cause == ENDED and not report.payload


def execution_of(report: WorkerReport, program: Program, limits: Limits, attempts: int) -> Execution:
    """Build the execution of a program from its worker's report."""
    ending = _ending(report, limits)
    if isinstance(program.tests, Check):
        answers: tuple[CallResult, ...] = ()
        first = _verdict(report, ending)
    else:
        answers = _answers(report.payload, len(program.tests), ending)
        first = next(
            (answer for answer in answers if answer.outcome is not Outcome.COMPLETED),
            CallResult(Outcome.COMPLETED),
        )
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


def _verdict(report: WorkerReport, ending: CallResult) -> CallResult:
    record = _record(report.payload)
    if record is None or report.cause == TIMED_OUT:
        return ending
    if record[0] == "accepted":
        return CallResult(Outcome.COMPLETED)
    return _failure(record, _REFUSALS) or ending


def _answers(payload: bytes, calls: int, ending: CallResult) -> tuple[CallResult, ...]:
    answers: list[CallResult] = []
    for record in _records(payload, calls):
        completed = record[0] == "completed" and len(record) == 2
        answer = CallResult(Outcome.COMPLETED, text=record[1]) if completed else _failure(record, _FAILURES)
        if answer is None:
            break
        answers.append(answer)
    return (*answers, *[ending] * (calls - len(answers)))


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


def _records(payload: bytes, most: int) -> list[list[str]]:
    """Return the records in a sequence of frames, up to the first malformed one; reads at most `most` of them."""
    records: list[list[str]] = []
    position = 0
    while len(records) < most and len(payload) - position >= _LENGTH.size:
        (length,) = _LENGTH.unpack_from(payload, position)
        position += _LENGTH.size
        record = _record(payload[position : position + length]) if position + length <= len(payload) else None
        if record is None:
            break
        records.append(record)
        position += length
    return records


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
