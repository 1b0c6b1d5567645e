"""The ledger of a job: a file of verdicts, from which an interrupted job resumes.

A ledger is JSON Lines: a header that describes what was judged and how, then one line a verdict. Lines are appended and
synced in batches. If the writer was killed in the middle of the last line, that line is dropped and its program is
judged again.
"""

from __future__ import annotations

import fcntl
import json
import os
import re
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from hashlib import sha256
from itertools import takewhile
from pathlib import Path
from sys import intern
from typing import IO, Final

from merilo.errors import InputError, OutputError, UsageError
from merilo.sandbox.problems import Problem
from merilo.sandbox.program import Check, Execution, Outcome
from merilo.strict_json import Json


def judged(problem: Problem, execution: Execution) -> Execution:
    """Return an execution with its verdict as the outcome, by comparing the answers with the gold answers.

    A program passes if `str(result)` equals the gold answer for every test, or if the check accepted it. Otherwise the
    first failed test determines the outcome.

    Example:
        >>> from merilo.sandbox.extraction import Stub
        >>> problem = Problem(1, Stub.read("def f(x):", "f"), ({"x": 1}, {"x": 2}), ("1", "2"))
        >>> judged(problem, Execution("a", Outcome.COMPLETED, ("1", "3"))).outcome
        <Outcome.WRONG_ANSWER: 'wrong_answer'>
    """
    outcome, gold = execution.outcome, problem.gold
    if isinstance(problem.tests, Check) or gold is None:
        completed = Outcome.NOT_JUDGED if problem.is_closed else Outcome.PASSED
        verdicts = {Outcome.COMPLETED: completed, Outcome.REFUSED: Outcome.WRONG_ANSWER}
        return replace(execution, outcome=verdicts.get(outcome, outcome))
    if outcome is Outcome.COMPLETED and execution.texts == gold:
        return replace(execution, outcome=Outcome.PASSED)
    answered = takewhile(lambda pair: pair[0] is not None, zip(execution.texts, gold, strict=True))
    if any(text != true for text, true in answered):
        return replace(execution, outcome=Outcome.WRONG_ANSWER, error="", message="")
    return execution


#: The format's name in the header; the number increases when the meaning of the lines changes.
FORMAT: Final = "merilo verdicts 2"

#: The value of the header's "answers" if long answers are shortened; see `Ledger.append`.
SHORTENED: Final = "shortened"

#: Total characters of a program's answers, over all its tests, that are kept in full if answers are shortened.
LONGEST_ANSWERS: Final = 4000

#: Characters kept of each answer beyond that total.
_KEPT: Final = 100

#: A SHA-256; messages say only that the file has changed and do not print it.
_HASH: Final = re.compile(r"[0-9a-f]{64}")

#: Appended verdicts, and seconds since the last sync, after which the ledger is synced.
BATCH: Final = 256
SECONDS: Final = 1.0


@dataclass(frozen=True, slots=True)
class Verdict:
    """The verdict on a program, as far as it is kept in memory; the ledger's file holds the answers.

    Attributes:
        outcome: the outcome of the latest run.
        error: the error of the latest run.
        attempts: how often the program was judged.
        position: the byte offset of its latest line in the ledger.
    """

    outcome: Outcome
    error: str
    attempts: int
    position: int


class Ledger:
    """The verdicts of one job.

    Args:
        stream: the file, open for reading and appending.
        header: the file's first line.
        path: the file's path, for messages; `None` for a temporary file.

    Attributes:
        verdicts: the verdicts so far, by program key.
        header: the file's first line.
        resumed: how many programs already had a verdict when the ledger was opened.
    """

    def __init__(self, stream: IO[bytes], header: Mapping[str, Json], path: Path | None = None) -> None:
        self._stream = stream
        self._path = path
        self._unsynced = 0
        self._synced = time.monotonic()
        self.verdicts: dict[str, Verdict] = {}
        self.header = header
        self.resumed = 0

    def append(self, problem: str, execution: Execution) -> None:
        """Append the verdict on a program, its judged execution, whose id is the program's key.

        If the header's "answers" is `SHORTENED`, the answers of a program are kept in full up to a total of
        `LONGEST_ANSWERS` characters. Each answer beyond that is an object with its first characters, its length and its
        SHA-256.

        Raises:
            OutputError: the file cannot be written.
        """
        line: dict[str, Json] = {
            "program": execution.id,
            "problem": problem,
            "result": execution.outcome.value,
            "error": execution.error,
            "message": execution.message,
            "texts": _shortened(execution.texts) if self._shortens else list(execution.texts),
            "seconds": round(execution.seconds, 6),
        }
        try:
            position = self._stream.seek(0, os.SEEK_END)
            self._stream.write(_encoded(line))
        except OSError as error:
            raise self._refusal(error) from error
        self._record(execution.id, execution.outcome, execution.error, position)
        self._unsynced += 1
        if self._unsynced >= BATCH or time.monotonic() - self._synced > SECONDS:
            self.sync()

    def sync(self) -> None:
        """Flush all appended verdicts to the disk.

        Raises:
            OutputError: the file cannot be written.
        """
        try:
            self._stream.flush()
            os.fsync(self._stream.fileno())
        except OSError as error:
            raise self._refusal(error) from error
        self._unsynced, self._synced = 0, time.monotonic()

    @property
    def _shortens(self) -> bool:
        return self.header.get("answers") == SHORTENED

    def _refusal(self, error: OSError) -> OutputError:
        return OutputError(f"the verdicts cannot be written ({error.strerror})", file=self._path)

    def texts(self, key: str) -> list[str | None]:
        """Return the program's answer to each call, read from the ledger's file.

        Raises:
            UsageError: this ledger shortens long answers.
        """
        if self._shortens:
            raise UsageError("stores long answers shortened, but they are needed in full", file=self._path)
        self._stream.flush()
        self._stream.seek(self.verdicts[key].position)
        line = json.loads(self._stream.readline())
        return list(line["texts"])

    def _record(self, key: str, outcome: Outcome, error: str, position: int) -> None:
        before = self.verdicts.get(key)
        attempts = 1 if before is None else before.attempts + 1
        self.verdicts[key] = Verdict(outcome, intern(error), attempts, position)

    def replay(self, lines: Iterator[tuple[int, dict[str, Json]]], path: Path) -> None:
        """Load the verdicts that an earlier process wrote.

        Raises:
            InputError: a line is not a verdict.
        """
        for number, (position, line) in enumerate(lines, 2):
            try:
                self._record(str(line["program"]), Outcome(line["result"]), str(line["error"]), position)
            except (KeyError, ValueError):
                raise InputError("is not a verdict written by this version", file=path, row=number) from None
        self.resumed = len(self.verdicts)


@contextmanager
def open_ledger(
    path: Path | None, header: Mapping[str, Json], chosen: Mapping[str, Json] | None = None
) -> Iterator[Ledger]:
    """Open the ledger of a job: create it, or resume an existing one.

    Args:
        path: the file; by default, a temporary file that is deleted afterwards.
        header: what is judged and how; verdicts are reused only if all of it is unchanged.
        chosen: further entries of a new ledger's header; an existing ledger keeps its own values (see `Ledger.header`).

    Raises:
        UsageError: the file holds the verdicts of another job.
        InputError: the file is not a ledger.
        OutputError: the file cannot be written, or another process is writing it.
    """
    chosen = chosen or {}
    header = {"format": FORMAT, **header, **chosen}
    if path is None:
        with tempfile.TemporaryFile() as stream:
            yield Ledger(stream, header)
        return
    with _locked(path) as stream:
        ledger = Ledger(stream, header, path)
        size = os.fstat(stream.fileno()).st_size
        if size == 0 or _has_cut_header(stream):
            stream.truncate(0)
            stream.write(_encoded(header))
            ledger.sync()
        else:
            ledger.header = _header(stream, path)
            _compare(ledger.header, header, chosen, path)
            ledger.replay(_whole_lines(stream), path)
        try:
            yield ledger
        finally:
            ledger.sync()


@contextmanager
def _locked(path: Path) -> Iterator[IO[bytes]]:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        stream = path.open("a+b")
    except OSError as error:
        raise OutputError(f"cannot be written ({error.strerror or error})", file=path) from error
    try:
        try:
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise OutputError("another process is writing it; wait until it ends", file=path) from None
        yield stream
    finally:
        # `sync` has reported any write error with the file's name; `close` would repeat it without the name.
        with suppress(OSError):
            stream.close()


def _shortened(texts: Sequence[str | None]) -> list[Json]:
    """Return a program's answers; those beyond a total of `LONGEST_ANSWERS` characters are replaced by their hash."""
    stored: list[Json] = []
    room = LONGEST_ANSWERS
    for text in texts:
        room -= len(text or "")
        if text is None or room >= 0:
            stored.append(text)
            continue
        digest = sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
        stored.append({"start": text[:_KEPT], "length": len(text), "sha256": digest})
    return stored


def _encoded(line: Mapping[str, Json]) -> bytes:
    # Lone surrogates in a program's answers can be written only as escapes.
    return json.dumps(line, separators=(",", ":")).encode("ascii") + b"\n"


def _has_cut_header(stream: IO[bytes]) -> bool:
    """Return whether the file holds only an incomplete header of a ledger, which may be overwritten."""
    stream.seek(0)
    line = stream.readline(1 << 20)
    ours = _encoded({"format": FORMAT})[:-2] + b","
    return not line.endswith(b"\n") and line[: len(ours)] == ours[: len(line)]


def _header(stream: IO[bytes], path: Path) -> dict[str, Json]:
    stream.seek(0)
    try:
        header = json.loads(stream.readline())
    except ValueError:
        header = None
    if not isinstance(header, dict) or header.get("format") != FORMAT:
        raise InputError("is not a file of verdicts written by this version", file=path, row=1)
    return header


def _compare(
    old: Mapping[str, Json], new: Mapping[str, Json], chosen: Mapping[str, Json], path: Path
) -> None:
    """Raise an error if the ledger holds the verdicts of another job."""
    differing = [
        name
        for name in {**old, **new}
        if name not in old or (name not in chosen and old[name] != new.get(name))
    ]
    if differing:
        name = differing[0]
        raise UsageError(
            f"holds the verdicts of another job: {_change(name, old.get(name), new.get(name))}; choose another folder",
            file=path,
        )


def _change(name: str, old: Json, new: Json) -> str:
    if all(isinstance(each, str) and _HASH.fullmatch(each) for each in (old, new)):
        return f"the {name} have changed since"
    return (
        f"{name} was {json.dumps(old, ensure_ascii=False)} and is now {json.dumps(new, ensure_ascii=False)}"
    )


def _whole_lines(stream: IO[bytes]) -> Iterator[tuple[int, dict[str, Json]]]:
    """Yield the lines after the header with their byte offsets, and truncate the file at an incomplete line."""
    while True:
        position = stream.tell()
        line = stream.readline()
        try:
            value = json.loads(line) if line.endswith(b"\n") else None
        except ValueError:
            value = None
        if not isinstance(value, dict):
            # Only the line being written when the writer was killed can be broken, and no synced line follows it.
            stream.truncate(position)
            stream.seek(position)
            return
        yield position, value
