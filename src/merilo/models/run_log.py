"""The log of a run: every reply of the model, appended to one file a dataset as it arrives.

A log is JSON Lines, one record a reply. Records reach the operating system at once, so that a killed process
loses none of them, and the disk in batches (`RunLog.sync`). If the writer was killed within a line, or the
disk was full, the last line is incomplete: it is moved to a file beside the log, and its request is asked again.
"""

from __future__ import annotations

import fcntl
import json
import math
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import fields
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple, cast, get_args

from merilo.datasets.declaration import Dataset
from merilo.errors import InputError, OutputError
from merilo.models.asking import Finish, ModelReply, Replies, Request
from merilo.strict_json import Json

if TYPE_CHECKING:
    # Importing Polars takes half a second: it is loaded only when a log is read.
    import polars as pl

#: The folder of the logs in a run's folder.
LOG_FOLDER: Final = "log"

#: The file whose lock shows that a process writes the run.
_LOCK: Final = "lock"

#: Where the incomplete last line of a log is kept.
_CUT: Final = ".cut"

#: The columns of tokens.
TOKENS: Final = ("prompt_tokens", "completion_tokens", "thought_tokens")

#: Bytes of a log's end that are read to find its last line end.
_BLOCK: Final = 1 << 16

_ENCODER: Final = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False)

_REPLY_FIELDS: Final = tuple(field.name for field in fields(ModelReply))


class Earlier(NamedTuple):
    """What an earlier command of the same run received for a request.

    Attributes:
        request: the hash of the request that was asked.
        reply: the reply; `None` if replies are not kept in memory.
    """

    request: str
    reply: ModelReply | None = None


def log_path(run: Path, dataset: str) -> Path:
    """Return the log of a dataset in a run's folder."""
    return run / LOG_FOLDER / f"{dataset}.jsonl"


class RunLog:
    """The logs of a run, open for appending; `open_log` makes it.

    Args:
        run: the run's folder.

    Attributes:
        cut: a sentence for each incomplete line that was found when logs were opened.
        unsynced: how many records were appended since the last `sync`.
    """

    def __init__(self, run: Path) -> None:
        self._run = run
        self._files: dict[str, int] = {}
        self._sizes: dict[str, int] = {}
        self.cut: list[str] = []
        self.unsynced = 0

    def earlier(self, dataset: str, *, replies: bool = False) -> tuple[dict[tuple[str, int], Earlier], float]:
        """Return the requests of a dataset that were answered before, and what all replies cost in US dollars.

        Requests that failed for good have no answer and are not among them; replaced replies have cost too.

        Args:
            dataset: the dataset.
            replies: whether to keep the replies in memory, for dialogues, whose later requests hold the
                earlier answers.

        Returns:
            (item, sample) -> what was received; and the cost.

        Raises:
            InputError: the log is not one of this version.
            OutputError: the log cannot be written.
        """
        self._open(dataset)
        names = () if replies else ("item", "sample", "request", "finish", "cost")
        table = read_log(log_path(self._run, dataset), names, latest=False)
        answered: dict[tuple[str, int], Earlier] = {}
        for row in table.iter_rows(named=True):
            key = row["item"], row["sample"]
            answered.pop(key, None)
            if row["finish"] != "failed":
                answered[key] = Earlier(row["request"], reply_of(row) if replies else None)
        return answered, float(table["cost"].sum() or 0.0)

    def append(self, request: Request, reply: ModelReply, cost: float | None = None) -> None:
        """Append the reply to a request.

        Args:
            request: the request.
            reply: the reply.
            cost: its price in US dollars; `None` if it is not known.

        Raises:
            OutputError: the log cannot be written; an incomplete record is removed from it.
        """
        self._open(request.dataset)
        line = encoded(request, reply, cost)
        file = self._files[request.dataset]
        try:
            left = memoryview(line)
            while left:
                # If the disk becomes full within the record, the next write raises the error.
                left = left[os.write(file, left) :]
        except OSError as error:
            with suppress(OSError):
                os.ftruncate(file, self._sizes[request.dataset])
            raise self._refusal(request.dataset, error) from error
        self._sizes[request.dataset] += len(line)
        self.unsynced += 1

    def sync(self) -> None:
        """Flush all appended records to the disk.

        Raises:
            OutputError: a log cannot be written.
        """
        self.unsynced = 0
        for dataset, file in list(self._files.items()):
            try:
                os.fsync(file)
            except OSError as error:
                raise self._refusal(dataset, error) from error

    def close(self) -> None:
        """Flush all records to the disk and close the files.

        Raises:
            OutputError: a log cannot be written.
        """
        try:
            self.sync()
        finally:
            for file in self._files.values():
                os.close(file)
            self._files.clear()

    def _open(self, dataset: str) -> None:
        if dataset in self._files:
            return
        path = log_path(self._run, dataset)
        try:
            file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o666)
            self._files[dataset] = file
            size, whole = os.fstat(file).st_size, whole_length(file)
            if whole < size:
                aside = path.with_suffix(_CUT)
                with aside.open("ab") as stream:
                    stream.write(os.pread(file, size - whole, whole) + b"\n")
                os.ftruncate(file, whole)
                self.cut.append(f"{_cut_off(path, size - whole)}; it is now in {aside.name}")
        except OSError as error:
            raise self._refusal(dataset, error) from error
        self._sizes[dataset] = whole

    def _refusal(self, dataset: str, error: OSError) -> OutputError:
        advice = "the replies before it are kept, and the same command resumes the run"
        reason = f"the log cannot be written ({error.strerror or error}); {advice}"
        return OutputError(reason, file=log_path(self._run, dataset))


@contextmanager
def open_log(run: Path) -> Iterator[RunLog]:
    """Open the logs of a run for appending, and lock the run's folder against other processes.

    Args:
        run: the run's folder; it is made if it does not exist.

    Raises:
        OutputError: the folder cannot be written, or another process is writing it.
    """
    folder = run / LOG_FOLDER
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock = os.open(folder / _LOCK, os.O_RDWR | os.O_CREAT, 0o666)
    except OSError as error:
        raise OutputError(f"cannot be written ({error.strerror or error})", file=run) from error
    try:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            busy = "another process is writing this run; wait until it ends, or choose another folder"
            raise OutputError(busy, file=run) from None
        log = RunLog(run)
        try:
            yield log
        finally:
            log.close()
    finally:
        os.close(lock)


def encoded(request: Request, reply: ModelReply, cost: float | None) -> bytes:
    """Return a record as a line of the log."""
    record: dict[str, Json] = {
        "dataset": request.dataset,
        "item": str(request.item),
        "sample": request.sample,
        "request": request.sha256,
        **{name: cast("Json", getattr(reply, name)) for name in _REPLY_FIELDS},
        # JSON has no infinity; a choice of probability 0 has the log-likelihood null.
        "loglikelihoods": [value if math.isfinite(value) else None for value in reply.loglikelihoods],
        "cost": cost,
        "when": datetime.now(UTC).isoformat(timespec="milliseconds"),
    }
    # Unpaired surrogates cannot be stored as UTF-8.
    return (_ENCODER.encode(record) + "\n").encode("utf-8", "replace")


def reply_of(row: Mapping[str, object]) -> ModelReply:
    """Return the reply of a record; the inverse of `encoded`."""
    known = {name: row[name] for name in _REPLY_FIELDS}
    values = cast("list[float | None]", row["loglikelihoods"] or [])
    known["loglikelihoods"] = tuple(-math.inf if value is None else value for value in values)
    return ModelReply(**cast("dict[str, Any]", known))


def read_log(path: Path, columns: tuple[str, ...] = (), *, latest: bool = True) -> pl.DataFrame:
    """Read the log of a dataset; an incomplete last line is left out (`cut_line` finds it).

    Args:
        path: the log.
        columns: the columns to read; by default, all.
        latest: keep only the latest record of each sample of an item; a request that failed is asked again by
            the next command.

    Returns:
        A row for each record, in the order of the log: the columns of `log_schema`.

    Raises:
        InputError: the file cannot be read, or a line is not a record of this version; the message names the line.
    """
    import polars as pl  # noqa: PLC0415 - takes half a second

    schema = {name: kind for name, kind in log_schema().items() if not columns or name in columns}
    content = _whole(path)
    try:
        table = pl.read_ndjson(content, schema=schema) if content else pl.DataFrame(schema=schema)
    except pl.exceptions.PolarsError:
        raise _bad_line(content, path) from None
    if table["item"].has_nulls() or table["sample"].has_nulls():
        raise _bad_line(content, path)
    return table.unique(["item", "sample"], keep="last", maintain_order=True) if latest else table


def replies_of_run(run: Path, declared: Dataset) -> Replies:
    """Read the replies to a dataset from the log of a run.

    Raises:
        InputError: the log cannot be read.
    """
    names = ("item", "sample", "text", "finish", "error", "model", *TOKENS, "loglikelihoods", "cost")
    return Replies(declared, read_log(log_path(run, declared.name), names).rename({"cost": "usd"}))


def cut_line(path: Path) -> str:
    """Return a sentence on the incomplete last line of a log; nothing if the log is complete or does not exist."""
    try:
        with path.open("rb") as stream:
            size, whole = os.fstat(stream.fileno()).st_size, whole_length(stream.fileno())
    except OSError:
        return ""
    return f"{_cut_off(path, size - whole)}; it is left out" if whole < size else ""


def _cut_off(path: Path, length: int) -> str:
    return f"{path}: the last line is cut off after {length} bytes"


def whole_length(file: int) -> int:
    """Return the length in bytes of a file's complete lines."""
    end = os.fstat(file).st_size
    while end > 0:
        start = max(0, end - _BLOCK)
        at = os.pread(file, end - start, start).rfind(b"\n")
        if at >= 0:
            return start + at + 1
        end = start
    return 0


def log_schema() -> dict[str, pl.DataType | type[pl.DataType]]:
    """Return the columns of a log with their types."""
    import polars as pl  # noqa: PLC0415 - takes half a second

    return {
        "item": pl.String,
        "sample": pl.Int64,
        **dict.fromkeys(("request", "text", "thought", "finish"), pl.String),
        "loglikelihoods": pl.List(pl.Float64),
        **dict.fromkeys(TOKENS, pl.Int64),
        "seconds": pl.Float64,
        "attempts": pl.Int64,
        **dict.fromkeys(("error", "model"), pl.String),
        "cost": pl.Float64,
        "when": pl.String,
    }


def _whole(path: Path) -> bytes:
    """Return the complete lines of a log; nothing if there is no log."""
    try:
        with path.open("rb") as stream:
            return stream.read(whole_length(stream.fileno()))
    except FileNotFoundError:
        return b""
    except OSError as error:
        raise InputError(f"cannot be read ({error.strerror})", file=path) from error


def _bad_line(content: bytes, path: Path) -> InputError:
    """Build the error for the first line that is not a record."""
    lines = content.splitlines()
    row = next((row for row, line in enumerate(lines, 1) if not _is_record(line)), len(lines))
    return InputError("is not a record of a run's log written by this version", file=path, row=row)


def _is_record(line: bytes) -> bool:
    try:
        value = json.loads(line)
        known = isinstance(value["item"], str) and isinstance(value["sample"], int)
        return known and value["finish"] in get_args(Finish) and isinstance(value["text"], str)
    except (ValueError, KeyError, TypeError):
        return False
