"""The ledger of a job: every verdict on disk before it counts, so that a killed job goes on where it was.

A ledger is JSON Lines: a first line that says what was judged and how, then a line a verdict, appended and synced in
batches. A last line that was cut off by the end of its writer is dropped; its program is judged again.
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
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import IO, Final

from merilo.errors import InputError, OutputError, UsageError
from merilo.sandbox.verdicts import Result, Verdict
from merilo.strict_json import Json

#: The first line's mark; the number grows when the lines change their meaning.
FORMAT: Final = "merilo verdicts 2"

#: The header's word for a ledger that holds long answers shortened; see `Ledger.append`.
SHORTENED: Final = "shortened"

#: Characters of a program's answers that a ledger of shortened answers holds whole, all its tests together.
LONGEST_ANSWERS: Final = 4000

#: Characters that are kept of an answer that goes beyond.
_KEPT: Final = 100

#: A file's SHA-256, which tells a person only that the file is another.
_HASH: Final = re.compile(r"[0-9a-f]{64}")

#: Verdicts and seconds after which what was appended is synced.
BATCH: Final = 256
SECONDS: Final = 1.0


@dataclass(frozen=True, slots=True)
class Standing:
    """What is held in memory of a program's verdict.

    Attributes:
        result: its latest verdict's.
        error: its latest verdict's.
        attempts: how often it was judged.
        position: where its latest line begins in the ledger.
        first: the result of its first verdict.
    """

    result: Result
    error: str
    attempts: int
    position: int
    first: Result


class Ledger:
    """The verdicts of one job.

    Args:
        stream: the file, open for reading and appending, positioned behind its last whole line.
        standings: what the file already says.
        header: what the file's first line says.
        path: the file's name, for messages; a nameless temporary file has none.
    """

    def __init__(
        self,
        stream: IO[bytes],
        standings: dict[str, Standing],
        header: Mapping[str, Json],
        path: Path | None = None,
    ) -> None:
        self._stream = stream
        self._path = path
        self._unsynced = 0
        self._synced = time.monotonic()
        self._interned: dict[str, str] = {}
        self.standings = standings
        self.header = header
        self.resumed = len(standings)

    def append(self, key: str, problem: str, verdict: Verdict) -> None:
        """Write down a verdict on the program known as `key`.

        Where the header's "answers" are `SHORTENED`, the answers of a program are kept whole up to `LONGEST_ANSWERS`
        characters; from there on, each is an object with its first characters, its length and its SHA-256.

        Raises:
            OutputError: the disk does not take it.
        """
        line: dict[str, Json] = {
            "program": key,
            "problem": problem,
            "result": verdict.result.value,
            "error": verdict.error,
            "message": verdict.message,
            "texts": _shortened(verdict.texts) if self._shortens else list(verdict.texts),
            "seconds": round(verdict.seconds, 6),
        }
        try:
            position = self._stream.seek(0, os.SEEK_END)
            self._stream.write(_encoded(line))
        except OSError as error:
            raise self._refusal(error) from error
        self._stand(key, verdict.result, verdict.error, position)
        self._unsynced += 1
        if self._unsynced >= BATCH or time.monotonic() - self._synced > SECONDS:
            self.sync()

    def sync(self) -> None:
        """Bring everything to the disk.

        Raises:
            OutputError: the disk does not take it.
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
        """What the program answered to each call, read back from the disk.

        Raises:
            UsageError: this ledger holds long answers shortened.
        """
        if self._shortens:
            raise UsageError("holds long answers shortened, and they are needed whole", file=self._path)
        self._stream.flush()
        self._stream.seek(self.standings[key].position)
        line = json.loads(self._stream.readline())
        return list(line["texts"])

    def _stand(self, key: str, result: Result, error: str, position: int) -> None:
        before = self.standings.get(key)
        error = self._interned.setdefault(error, error)
        self.standings[key] = Standing(
            result,
            error,
            1 if before is None else before.attempts + 1,
            position,
            result if before is None else before.first,
        )

    def replay(self, lines: Iterator[tuple[int, dict[str, Json]]], path: Path) -> None:
        """Take in what an earlier process wrote.

        Raises:
            InputError: a line is no verdict.
        """
        for number, (position, line) in enumerate(lines, 2):
            try:
                self._stand(str(line["program"]), Result(line["result"]), str(line["error"]), position)
            except (KeyError, ValueError):
                raise InputError("is no verdict that this version wrote", file=path, row=number) from None
        self.resumed = len(self.standings)


@contextmanager
def open_ledger(
    path: Path | None, header: Mapping[str, Json], chosen: Mapping[str, Json] | None = None
) -> Iterator[Ledger]:
    """Open the ledger of a job, a new one or one to go on with.

    Args:
        path: the file; a nameless temporary one when not given, of which nothing remains.
        header: what is judged and how: all that must be the same for a verdict to stand.
        chosen: what else stands in the header of a new ledger; one to go on with keeps its own (see `Ledger.header`).

    Raises:
        UsageError: the file holds the verdicts of another job.
        InputError: the file is no ledger.
        OutputError: the file cannot be written, or another process writes it.
    """
    chosen = chosen or {}
    header = {"format": FORMAT, **header, **chosen}
    if path is None:
        with tempfile.TemporaryFile() as stream:
            yield Ledger(stream, {}, header)
        return
    with _locked(path) as stream:
        ledger = Ledger(stream, {}, header, path)
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
            raise OutputError("another process is writing it; wait for its end", file=path) from None
        yield stream
    finally:
        # Whoever wrote has synced, and said so where the disk did not take it: closing would say it without a name.
        with suppress(OSError):
            stream.close()


def _shortened(texts: Sequence[str | None]) -> list[Json]:
    """The answers of a program, those that go beyond `LONGEST_ANSWERS` characters altogether by their hash."""
    kept: list[Json] = []
    room = LONGEST_ANSWERS
    for text in texts:
        room -= len(text or "")
        if text is None or room >= 0:
            kept.append(text)
            continue
        digest = sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
        kept.append({"start": text[:_KEPT], "length": len(text), "sha256": digest})
    return kept


def _encoded(line: Mapping[str, Json]) -> bytes:
    # Lone surrogates in what a program said can only be written escaped.
    return json.dumps(line, separators=(",", ":")).encode("ascii") + b"\n"


def _has_cut_header(stream: IO[bytes]) -> bool:
    """Whether the first line is the beginning of ours, and not whole; what somebody else wrote is not ours to replace."""
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
        raise InputError("is no file of verdicts that this version wrote", file=path, row=1)
    return header


def _compare(
    old: Mapping[str, Json], new: Mapping[str, Json], chosen: Mapping[str, Json], path: Path
) -> None:
    """Refuse to go on with the verdicts of another job."""
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
    """The lines behind the header with their positions; a cut last one is taken away."""
    while True:
        position = stream.tell()
        line = stream.readline()
        try:
            value = json.loads(line) if line.endswith(b"\n") else None
        except ValueError:
            value = None
        if not isinstance(value, dict):
            # Only what was being written when its writer died can be broken: nothing behind it was synced.
            stream.truncate(position)
            stream.seek(position)
            return
        yield position, value
