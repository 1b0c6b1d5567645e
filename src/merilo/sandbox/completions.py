"""Completions written by a model or by people: JSON Lines with many rows a problem, read one row at a time."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from io import BufferedReader
from pathlib import Path
from typing import Final

from merilo.errors import DataError, InputError
from merilo.files import sha256
from merilo.sandbox.extraction import Extraction, extract
from merilo.sandbox.gzip_files import unpacked
from merilo.sandbox.problems import Problem
from merilo.wording import shortened

#: The longest completion that is run, in characters; a longer one counts as a failed program.
LONGEST_COMPLETION: Final = 1_000_000

#: The fields that name the person who wrote a row; the first one present counts.
PERSON_FIELDS: Final = ("annotator", "respondent")

#: The longest row that is read, in bytes.
LONGEST_ROW: Final = 1 << 28


@dataclass(frozen=True, slots=True)
class Generation:
    """One program that a model or a person wrote for one problem.

    Attributes:
        row: its line in the file.
        problem: the problem that it should solve.
        completion: the completion's text; `None` if it is longer than `LONGEST_COMPLETION`.
        length: the completion's length in characters.
        annotator: the person who wrote it; `None` if the file names nobody.
    """

    row: int
    problem: Problem
    completion: str | None
    length: int
    annotator: str | None = None

    def extraction(self) -> Extraction | None:
        """Extract the program from the completion; `None` if the completion is too long to be run."""
        return None if self.completion is None else extract(self.completion, self.problem.stub)


@dataclass(frozen=True, slots=True)
class Census:
    """Counts from a first pass over a file of completions, before any program is run.

    Attributes:
        sha256: the SHA-256 of the file's bytes, in hexadecimal.
        counts: how many generations each problem has, zeros included, in the problems' order.
        too_long: the rows whose completion is too long to be run.
    """

    sha256: str
    counts: Mapping[str, int]
    too_long: tuple[int, ...]

    @property
    def generations(self) -> int:
        """The total number of generations."""
        return sum(self.counts.values())


def count_completions(path: Path, problems: Mapping[str, Problem]) -> Census:
    """Check every row of a file and count the generations of every problem.

    Raises:
        InputError: the file cannot be read, is empty, ends in the middle of a row, or is not JSON Lines.
        DataError: a row has no completion, or names an unknown problem; some rows name a person and others do not; a
            person has two programs for one problem.
    """
    counts = dict.fromkeys(problems, 0)
    too_long = []
    people = _People(path)
    for generation in read_completions(path, problems):
        counts[str(generation.problem.id)] += 1
        people.meet(generation)
        if generation.completion is None:
            too_long.append(generation.row)
    if not any(counts.values()):
        raise InputError("holds no completions", file=path)
    return Census(sha256(path), counts, tuple(too_long))


def read_completions(path: Path, problems: Mapping[str, Problem]) -> Iterator[Generation]:
    """Read the rows of a file of completions, one at a time.

    A row is an object with the problem's id as `task_id` (or `id`), and `completion`. If a person wrote it, the row also has
    `annotator` (or `respondent`).

    Raises:
        InputError: as for `count_completions`.
        DataError: a row has no completion, names an unknown problem, or holds an invalid name of a person.
    """
    with unpacked(path) as lines:
        row = 0
        while line := _line(lines, path, row + 1):
            row += 1
            if line.strip():
                yield _generation(line, row, path, problems)


def _line(lines: BufferedReader | gzip.GzipFile, path: Path, row: int) -> bytes:
    line = lines.readline(LONGEST_ROW)
    if len(line) == LONGEST_ROW:
        raise InputError(f"is longer than {LONGEST_ROW >> 20} MiB; is it JSON Lines?", file=path, row=row)
    return line.removeprefix(b"\xef\xbb\xbf") if row == 1 else line


def _generation(line: bytes, row: int, path: Path, problems: Mapping[str, Problem]) -> Generation:
    try:
        value: object = json.loads(line.decode("utf-8"), object_pairs_hook=_object)
    except UnicodeDecodeError as error:
        message = f"is not UTF-8 text (byte 0x{line[error.start]:02x}); convert the file first"
        raise InputError(message, file=path, row=row) from None
    except json.JSONDecodeError as error:
        ended = "" if line.endswith(b"\n") else ": the file ends in the middle of a row"
        if row == 1 and line.strip() in {b"[", b"{"}:
            ended = "; JSON Lines hold a whole object in every row"
        raise InputError(f"is not a row of JSON ({error.msg}){ended}", file=path, row=row) from None
    except _TwiceError as error:
        raise DataError("occurs twice in the row", file=path, row=row, field=str(error)) from None
    except (ValueError, RecursionError):
        message = "cannot be read as JSON (it is nested too deeply, or a number is too long)"
        raise InputError(message, file=path, row=row) from None
    if not isinstance(value, dict):
        message = f"must be an object with task_id and completion, not {shortened(repr(value))}"
        raise InputError(message, file=path, row=row)
    field = "task_id" if "task_id" in value else "id"
    problem = _problem(value.get(field), field, row, path, problems)
    completion = value.get("completion")
    if not isinstance(completion, str):
        what = (
            "missing" if "completion" not in value else shortened(json.dumps(completion, ensure_ascii=False))
        )
        raise DataError(
            f"must be the text that the model wrote, but is {what}", file=path, row=row, field="completion"
        )
    kept = completion if len(completion) <= LONGEST_COMPLETION else None
    return Generation(row, problem, kept, len(completion), _annotator(value, row, path))


def _annotator(value: Mapping[str, object], row: int, path: Path) -> str | None:
    """Return the person who wrote a row, if it names one; a number is accepted as a name."""
    field = next((name for name in PERSON_FIELDS if name in value), None)
    if field is None:
        return None
    name = value[field]
    if isinstance(name, bool) or not isinstance(name, int | str) or not str(name).strip():
        what = "empty" if name in (None, "") else f"not a name of a person: {shortened(repr(name))}"
        raise DataError(f"is {what}", file=path, row=row, field=field)
    return str(name)


class _People:
    """Check of the people in a file: all rows name a person or none does, and nobody answers a problem twice."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._first: Generation | None = None
        self._rows: dict[tuple[str, str], int] = {}

    def meet(self, generation: Generation) -> None:
        """Check one row against the rows before it.

        Raises:
            DataError: only some rows name a person, or this person already has a program for the problem.
        """
        first = self._first = self._first or generation
        if (first.annotator is None) != (generation.annotator is None):
            named, nameless = (first, generation) if generation.annotator is None else (generation, first)
            raise DataError(
                f"is missing, but row {named.row} names a person; name one in all rows or in none",
                file=self._path,
                row=nameless.row,
                field=PERSON_FIELDS[0],
            )
        if generation.annotator is None:
            return
        problem = str(generation.problem.id)
        before = self._rows.setdefault((generation.annotator, problem), generation.row)
        if before != generation.row:
            raise DataError(
                f"{shortened(generation.annotator)} has a program for problem {shortened(problem)} in row {before} already; "
                "keep one program per person and problem",
                file=self._path,
                row=generation.row,
                field=PERSON_FIELDS[0],
            )


class _TwiceError(Exception):
    """A JSON object contains a field twice."""


def _object(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        for name in ("task_id", "id", "completion", *PERSON_FIELDS):
            if names.count(name) > 1:
                raise _TwiceError(name)
    return found


def _problem(name: object, field: str, row: int, path: Path, problems: Mapping[str, Problem]) -> Problem:
    if name is None or isinstance(name, bool) or not isinstance(name, int | str):
        what = "missing" if name is None else f"not the id of a problem: {shortened(repr(name))}"
        raise DataError(f"is {what}", file=path, row=row, field=field)
    problem = problems.get(str(name))
    if problem is None:
        near = get_close_matches(str(name)[:100], problems, n=1)
        hint = f", did you mean {near[0]!r}" if near else f"; the first is {next(iter(problems))!r}"
        message = f"{shortened(repr(name))} is not one of the {len(problems)} problems{hint}"
        raise DataError(message, file=path, row=row, field=field)
    return problem
