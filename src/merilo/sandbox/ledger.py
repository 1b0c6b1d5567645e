"""The ledger of a job: a file of executions, from which an interrupted job resumes.

A ledger is JSON Lines: a header that describes what was judged and how, then one line for each run of a program.
Lines are appended and synced in batches. If the writer was killed in the middle of the last line, that line is dropped
and its program is run again.
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
from hashlib import sha256
from itertools import count
from pathlib import Path
from sys import intern
from typing import IO, Final

from merilo.errors import InputError, OutputError, UsageError
from merilo.sandbox.program import Execution, Outcome
from merilo.strict_json import Json

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

#: Appended lines, and seconds since the last sync, after which the ledger is synced.
BATCH: Final = 256
SECONDS: Final = 1.0


class Ledger:
    """The executions of one job.

    Args:
        stream: the file, open for reading and appending.
        header: the file's first line.
        path: the file's path, for messages; `None` for a temporary file.

    Attributes:
        executions: the latest judged execution of each program, by its key, without the answers; its `attempts` say how
            often the program was judged.
        header: the file's first line.
        resumed: how many programs already had been judged when the ledger was opened.
    """

    def __init__(self, stream: IO[bytes], header: Mapping[str, Json], path: Path | None = None) -> None:
        self._stream = stream
        self._path = path
        self._unsynced = 0
        self._synced = time.monotonic()
        self._positions: dict[str, int] = {}
        self.executions: dict[str, Execution] = {}
        self.header = header
        self.resumed = 0

    def append(self, problem: str, execution: Execution) -> None:
        """Append the judged execution of a program, whose id is the program's key.

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
        with self._writing():
            position = self._stream.seek(0, os.SEEK_END)
            self._stream.write(_encoded(line))
        self._record(execution.id, execution.outcome, execution.error, position)
        self._unsynced += 1
        if self._unsynced >= BATCH or time.monotonic() - self._synced > SECONDS:
            self.sync()

    def sync(self) -> None:
        """Flush all appended lines to the disk.

        Raises:
            OutputError: the file cannot be written.
        """
        with self._writing():
            self._stream.flush()
            os.fsync(self._stream.fileno())
        self._unsynced, self._synced = 0, time.monotonic()

    @contextmanager
    def _writing(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            reason = f"the verdicts cannot be written ({error.strerror})"
            raise OutputError(reason, file=self._path) from error

    @property
    def _shortens(self) -> bool:
        return self.header.get("answers") == SHORTENED

    def texts(self, key: str) -> list[str | None]:
        """Return the program's answer to each call, read from the ledger's file, which must not shorten them."""
        self._stream.flush()
        self._stream.seek(self._positions[key])
        return list(json.loads(self._stream.readline())["texts"])

    def _record(self, key: str, outcome: Outcome, error: str, position: int) -> None:
        before = self.executions.get(key)
        attempts = 1 if before is None else before.attempts + 1
        self.executions[key] = Execution(key, outcome, error=intern(error), attempts=attempts)
        self._positions[key] = position

    def resume(self, chosen: Mapping[str, Json]) -> None:
        """Load what an earlier process wrote, or write the header of a new ledger.

        Args:
            chosen: entries of the header whose earlier values are kept.

        Raises:
            UsageError: the file holds the verdicts of another job.
            InputError: the file is not a ledger.
        """
        self._stream.seek(0)
        line = self._stream.readline()
        start = _encoded({"format": FORMAT})[:-2] + b","
        if not line.endswith(b"\n") and line[: len(start)] == start[: len(line)]:
            # A new file, or the header was being written when the writer was killed.
            self._stream.truncate(0)
            self._stream.write(_encoded(self.header))
            self.sync()
            return
        header = _object(line)
        if header is None or header.get("format") != FORMAT:
            raise InputError("is not a file of verdicts written by this version", file=self._path, row=1)
        for name in {**header, **self.header}:
            if name not in header or (name not in chosen and header[name] != self.header.get(name)):
                change = _change(name, header.get(name), self.header.get(name))
                reason = f"holds the verdicts of another job: {change}; choose another folder"
                raise UsageError(reason, file=self._path)
        self.header = header
        for row in count(2):
            position = self._stream.tell()
            verdict = _object(self._stream.readline())
            if verdict is None:
                # Only the line being written when the writer was killed can be broken, and no synced line follows it.
                self._stream.truncate(position)
                break
            try:
                key, outcome = str(verdict["program"]), Outcome(verdict["result"])
                self._record(key, outcome, str(verdict["error"]), position)
            except (KeyError, ValueError):
                reason = "is not a verdict written by this version"
                raise InputError(reason, file=self._path, row=row) from None
        self.resumed = len(self.executions)


@contextmanager
def open_ledger(
    path: Path | None, header: Mapping[str, Json], chosen: Mapping[str, Json] | None = None
) -> Iterator[Ledger]:
    """Open the ledger of a job: create it, or resume an existing one.

    Args:
        path: the file; by default, a temporary file that is deleted afterwards.
        header: what is judged and how; executions are reused only if all of it is unchanged.
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
        ledger.resume(chosen)
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


def _object(line: bytes) -> dict[str, Json] | None:
    """Parse a whole line; `None` if it is cut off or no object."""
    try:
        value = json.loads(line) if line.endswith(b"\n") else None
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def _change(name: str, old: Json, new: Json) -> str:
    if all(isinstance(each, str) and _HASH.fullmatch(each) for each in (old, new)):
        return f"the {name} have changed since"
    was, now = (json.dumps(each, ensure_ascii=False) for each in (old, new))
    return f"{name} was {was} and is now {now}"
