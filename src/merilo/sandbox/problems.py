"""Programming problems and completions written for them, and the files that hold both.

Two kinds of file of problems are read. Items of ruHumanEval, in any form that `merilo.items` reads, have a literal list
of keyword arguments as tests and `str(result)` of every call as gold answers. HumanEval's own JSON Lines, plain or
compressed by gzip, have a function `check(candidate)` as test.

Completions are JSON Lines with many rows a problem, read one row at a time.
"""

from __future__ import annotations

import gzip
import json
import re
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from difflib import get_close_matches
from functools import partial
from io import BufferedReader
from itertools import count
from pathlib import Path
from typing import Final

from merilo.datasets.dataset_files import read_split
from merilo.errors import DataError, InputError
from merilo.files import opened, sha256
from merilo.items import Item, ItemId
from merilo.metrics.answers import program_golds, program_tests
from merilo.sandbox.extraction import Extraction, Stub, extract
from merilo.sandbox.program import Call, Check, Program
from merilo.wording import shortened

#: The first bytes of a gzip archive.
_GZIP: Final = b"\x1f\x8b"

#: The first bytes of content that is not read, and what it is.
_OTHERS: Final = {
    _GZIP: "compressed twice; decompress it once",
    b"\x28\xb5\x2f\xfd": "compressed with Zstandard, but only gzip is supported; decompress it first",
    b"\xfd7zXZ\x00": "compressed with xz, but only gzip is supported; decompress it first",
    b"BZh": "compressed with bzip2, but only gzip is supported; decompress it first",
    b"PK\x03\x04": "a ZIP archive, but only gzip is supported; unpack it first",
    b"\xff\xfe": "UTF-16 text, but only UTF-8 is supported; convert it first",
    b"\xfe\xff": "UTF-16 text, but only UTF-8 is supported; convert it first",
}

#: The longest row, and the longest file of problems, that is read, in bytes, before and after decompression.
LONGEST: Final = 1 << 28

#: The longest completion that is run, in characters; a longer one counts as a failed program.
LONGEST_COMPLETION: Final = 1_000_000

#: The fields that name the person who wrote a row; the first one present counts.
PERSON_FIELDS: Final = ("annotator", "respondent")

#: The fields that a row may not have twice.
_FIELDS: Final = ("task_id", "id", "completion", *PERSON_FIELDS, "prompt", "test", "entry_point")


@dataclass(frozen=True, slots=True)
class _Place:
    """The location of a problem or a completion in its file, for messages."""

    file: Path
    row: int | None = None
    prefix: str = ""

    def error(self, message: str, field: str) -> DataError:
        return DataError(message, file=self.file, row=self.row, field=f"{self.prefix}{field}")

    def unreadable(self, message: str) -> InputError:
        return InputError(message, file=self.file, row=self.row)

    def text(self, value: object, field: str) -> str:
        if not isinstance(value, str) or not value.strip():
            what = "missing" if value is None else shortened(repr(value))
            raise self.error(f"must be a text, but is {what}", field)
        return value

    def id(self, value: Mapping[str, object]) -> tuple[ItemId, str]:
        """Return the id of a row, and the field that holds it."""
        field = "task_id" if "task_id" in value else "id"
        name = value.get(field)
        if isinstance(name, bool) or not isinstance(name, int | str) or name == "":
            what = "missing" if name is None else f"not the id of a problem: {shortened(repr(name))}"
            raise self.error(f"is {what}", field)
        return name, field


@contextmanager
def unpacked(path: Path) -> Iterator[BufferedReader | gzip.GzipFile]:
    """Open a file for reading and decompress it if it is a gzip archive.

    Errors of decompression inside the `with` block are raised as `InputError` too.

    Raises:
        InputError: the file cannot be read, is compressed twice, or is an incomplete archive.
    """
    with opened(path) as stream:
        content = gzip.GzipFile(fileobj=stream) if stream.peek(8).startswith(_GZIP) else stream
        try:
            head = content.peek(8)
            for mark, what in _OTHERS.items():
                if head.startswith(mark):
                    raise InputError(f"is {what}", file=path)
            yield content
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise InputError(f"is an incomplete or damaged gzip archive ({error})", file=path) from None


def _rows(path: Path, *, in_memory: bool) -> Iterator[tuple[_Place, dict[str, object]]]:
    """Yield the objects of JSON Lines with their places; `in_memory` limits the length of the whole file."""
    with unpacked(path) as stream:
        room = LONGEST
        for row in count(1):
            place = _Place(path, row)
            line = stream.readline(room)
            if len(line) == room:
                what = "which is too large for a file of problems" if in_memory else "in one row"
                raise place.unreadable(f"holds more than {LONGEST >> 20} MiB, {what}")
            if not line:
                return
            room -= len(line) if in_memory else 0
            if line.strip():
                yield place, _object(line, place)


def _object(line: bytes, place: _Place) -> dict[str, object]:
    try:
        text = line.decode("utf-8-sig" if place.row == 1 else "utf-8")
        value: object = json.loads(text, object_pairs_hook=partial(_once, place))
    except UnicodeDecodeError as error:
        byte = f"0x{error.object[error.start]:02x}"
        raise place.unreadable(f"is not UTF-8 text (byte {byte}); convert the file first") from None
    except json.JSONDecodeError as error:
        hint = "" if line.endswith(b"\n") else ": the file ends in the middle of a row"
        if place.row == 1 and line.strip() in {b"[", b"{"}:
            hint = "; JSON Lines hold a whole object in every row"
        raise place.unreadable(f"is not a row of JSON ({error.msg}){hint}") from None
    except (ValueError, RecursionError):
        reason = "cannot be read as JSON (it is nested too deeply, or a number is too long)"
        raise place.unreadable(reason) from None
    if not isinstance(value, dict):
        raise place.unreadable(f"must be an object, not {shortened(repr(value))}")
    return value


def _once(place: _Place, pairs: list[tuple[str, object]]) -> dict[str, object]:
    fields = dict(pairs)
    if len(fields) < len(pairs):
        names = [name for name, _ in pairs]
        for name in _FIELDS:
            if names.count(name) > 1:
                raise place.error("occurs twice in the row", name)
    return fields


@dataclass(frozen=True, slots=True)
class Problem:
    """One programming problem.

    Attributes:
        id: the item's id, or HumanEval's `task_id`.
        stub: the stub to complete.
        tests: the calls, or the check.
        gold: the gold answers, `str(result)` of every call; empty for a check, `None` if they are not public.
        canonical: the reference solution, if the file has one.
    """

    id: ItemId
    stub: Stub
    tests: tuple[Call, ...] | Check
    gold: tuple[str, ...] | None
    canonical: str | None = None

    @property
    def is_closed(self) -> bool:
        """Whether the gold answers are missing, so that programs can be run but not judged."""
        return self.gold is None

    def program(self, key: str, source: str, seed: int = 0, judge_seed: str | None = None) -> Program:
        """Return the program with this source and the problem's tests, with `key` as its id.

        With the same `judge_seed`, all programs of a problem get the same random tests.
        """
        own = None if judge_seed is None else f"{judge_seed}/{self.id}"
        return Program(key, source, self.stub.entry_point, self.tests, seed, own)


def read_problems(path: Path) -> dict[str, Problem]:
    """Read a file of problems.

    Args:
        path: the file.

    Returns:
        The problems by their id as text, in the file's order.

    Raises:
        InputError: the file cannot be read, or holds no problems.
        DataError: a problem has no tests, no gold answer for a test, tests that are not a literal, an entry point that
            its stub does not define, or the id of another problem.
    """
    if path.is_file() and path.stat().st_size > LONGEST:
        reason = f"holds more than {LONGEST >> 20} MiB, which is too large for a file of problems"
        raise InputError(reason, file=path)
    problems: dict[str, Problem] = {}
    for place, problem in _with_checks(path) if _is_human_eval(path) else _with_calls(path):
        if str(problem.id) in problems:
            raise place.error(f"another problem also has the id {problem.id!r}", "id")
        problems[str(problem.id)] = problem
    if not problems:
        raise InputError("holds no problems", file=path)
    return problems


def _is_human_eval(path: Path) -> bool:
    """Return whether the first row of a file is an object with HumanEval's fields."""
    try:
        place, first = next(_rows(path, in_memory=True), (None, {}))
    except InputError as error:
        if error.place.row is None:
            raise
        place, first = _Place(path), {}
    if place is None:
        raise InputError("the file is empty", file=path)
    if "completion" in first and first.keys().isdisjoint({"prompt", "test", "inputs"}):
        raise InputError("holds completions, not problems", file=path)
    # The items of a study have a rendered prompt beside the benchmark's own keys.
    known = not first.keys().isdisjoint({"prompt", "test", "task_id"}) and "inputs" not in first
    with unpacked(path) as content:
        if isinstance(content, gzip.GzipFile) and not known:
            reason = "is compressed, but only HumanEval's own JSON Lines may be; decompress it first"
            raise InputError(reason, file=path)
    return known


def _with_checks(path: Path) -> Iterator[tuple[_Place, Problem]]:
    for place, value in _rows(path, in_memory=True):
        name, _ = place.id(value)
        prompt, test = place.text(value.get("prompt"), "prompt"), value.get("test")
        if not isinstance(test, str) or not re.search(r"^def[ \t]+check[ \t]*\(", test, re.MULTILINE):
            raise place.error("has no tests: it must define check(candidate)", "test")
        stub = _stub(place, prompt, value.get("entry_point"), "entry_point")
        canonical = _text_or_none(value.get("canonical_solution"))
        yield place, Problem(name, stub, Check(test, context=stub.preamble), (), canonical)


def _with_calls(path: Path) -> Iterator[tuple[_Place, Problem]]:
    for item in read_split(path):
        place = _Place(path, prefix=f"item {item.id}, ")
        if isinstance(item.inputs, str):
            raise place.error("must be an object with function and tests, not a text", "inputs")
        function = place.text(item.inputs.get("function"), "inputs.function")
        tests, gold = _calls(place, item)
        stub = _stub(place, function, item.meta.get("entry_point"), "meta.entry_point")
        canonical = _text_or_none(item.meta.get("canonical_solution"))
        yield place, Problem(item.id, stub, tests, gold, canonical)


def _text_or_none(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _calls(place: _Place, item: Item) -> tuple[tuple[Call, ...], tuple[str, ...] | None]:
    """Return the calls of an item, and its gold answers, if they are public."""
    if isinstance(item.inputs, str) or not item.inputs.get("tests"):
        raise place.error("has no tests", "inputs.tests")
    try:
        tests = tuple(program_tests(item))
        gold = None if item.outputs is None else tuple(program_golds(item))
    except DataError as error:
        raise place.error(error.message, error.place.field or "inputs") from None
    if not tests:
        raise place.error("has no tests", "inputs.tests")
    if gold is not None and len(gold) != len(tests):
        raise place.error(f"has {len(gold)} results for {len(tests)} tests", "outputs")
    rows = item.outputs if isinstance(item.outputs, list) else []
    if any(isinstance(row, list) for row in rows) and any(row != rows[0] for row in rows):
        raise place.error("the lists of results differ, but all must be the same gold answers", "outputs")
    return tests, gold


def _stub(place: _Place, prompt: str, entry_point: object, field: str) -> Stub:
    if entry_point is None:
        defined = re.findall(r"^(?:async[ \t]+)?def[ \t]+(\w+)", prompt, re.MULTILINE)
        if not defined:
            raise place.error("is missing, and the stub does not define a function", field)
        entry_point = defined[-1]
    name = place.text(entry_point, field)
    if not name.isidentifier():
        raise place.error(f"is not the name of a function: {shortened(name)}", field)
    stub = Stub.read(prompt, name)
    if stub is None:
        raise place.error(f"the function {name} is not defined in the stub", field)
    if re.search(rf"^async[ \t]+def[ \t]+{re.escape(name)}\b", stub.prompt, re.MULTILINE):
        reason = f"the function {name} is async, and the results of async calls cannot be compared"
        raise place.error(reason, field)
    return stub


@dataclass(frozen=True, slots=True)
class Generation:
    """One program that a model or a person wrote for one problem.

    Attributes:
        row: its line in the file.
        problem: the problem that it should solve.
        completion: the completion's text; `None` if it is longer than `LONGEST_COMPLETION`.
        annotator: the person who wrote it; `None` if the file names nobody.
    """

    row: int
    problem: Problem
    completion: str | None
    annotator: str | None = None

    def extraction(self) -> Extraction | None:
        """Extract the program from the completion; `None` if the completion is too long to be run."""
        return None if self.completion is None else extract(self.completion, self.problem.stub)


@dataclass(frozen=True, slots=True)
class Census:
    """A file of completions, as a first pass over it found it, before any program is run.

    Attributes:
        file: the file.
        sha256: the SHA-256 of its bytes, in hexadecimal.
        counts: how many generations each problem has, zeros included, in the problems' order.
        too_long: the rows whose completion is too long to be run.
    """

    file: Path
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
    first: Generation | None = None
    answered: dict[tuple[str, str], int] = {}
    for generation in read_completions(path, problems):
        name, person, row = str(generation.problem.id), generation.annotator, generation.row
        counts[name] += 1
        if generation.completion is None:
            too_long.append(row)
        first = first or generation
        if (first.annotator is None) != (person is None):
            named, nameless = (first.row, row) if person is None else (row, first.row)
            message = f"is missing, but row {named} names a person; name one in all rows or in none"
            raise _Place(path, nameless).error(message, PERSON_FIELDS[0])
        if person is not None and (before := answered.setdefault((person, name), row)) != row:
            raise _Place(path, row).error(
                f"{shortened(person)} has a program for problem {shortened(name)} in row {before} already; "
                "keep one program per person and problem",
                PERSON_FIELDS[0],
            )
    if first is None:
        raise InputError("holds no completions", file=path)
    return Census(path, sha256(path), counts, tuple(too_long))


def read_completions(path: Path, problems: Mapping[str, Problem]) -> Iterator[Generation]:
    """Read the rows of a file of completions, one at a time.

    A row is an object with the problem's id as `task_id` (or `id`), and `completion`. If a person wrote it, the row
    also has `annotator` (or `respondent`).

    Raises:
        InputError: as for `count_completions`.
        DataError: a row has no completion, names an unknown problem, or holds an invalid name of a person.
    """
    for place, value in _rows(path, in_memory=False):
        name, field = place.id(value)
        problem = problems.get(str(name))
        if problem is None:
            near = get_close_matches(str(name)[:100], problems, n=1)
            hint = f", did you mean {near[0]!r}" if near else f"; the first is {next(iter(problems))!r}"
            reason = f"{shortened(repr(name))} is not one of the {len(problems)} problems{hint}"
            raise place.error(reason, field)
        completion = value.get("completion")
        if not isinstance(completion, str):
            shown = shortened(json.dumps(completion, ensure_ascii=False))
            what = shown if "completion" in value else "missing"
            raise place.error(f"must be the text that the model wrote, but is {what}", "completion")
        readable = completion if len(completion) <= LONGEST_COMPLETION else None
        yield Generation(place.row or 0, problem, readable, _annotator(value, place))


def _annotator(value: Mapping[str, object], place: _Place) -> str | None:
    """Return the person who wrote a row, if it names one; a number is accepted as a name."""
    field = next((name for name in PERSON_FIELDS if name in value), None)
    if field is None:
        return None
    name = value[field]
    if isinstance(name, bool) or not isinstance(name, int | str) or not str(name).strip():
        what = "empty" if name in (None, "") else f"not a name of a person: {shortened(repr(name))}"
        raise place.error(f"is {what}", field)
    return str(name)
