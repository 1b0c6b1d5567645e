"""Programming problems, and the files that hold them.

Two kinds of file are read. Items of ruHumanEval, in any form that `merilo.items` reads, have a literal list of keyword
arguments as tests and `str(result)` of every call as gold answers. HumanEval's own JSON Lines, plain or compressed by
gzip, have a function `check(candidate)` as test.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from merilo.datasets.program_literals import program_golds, program_tests
from merilo.errors import DataError, InputError
from merilo.items import Item, ItemId, read_split
from merilo.sandbox.extraction import Stub
from merilo.sandbox.gzip_files import is_packed, unpacked
from merilo.sandbox.program import Call, Check, Program
from merilo.strict_json import Json, parse_json
from merilo.wording import shortened

#: The longest file that is read, in bytes, before and after decompression.
LONGEST_FILE: Final = 1 << 28


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
    problems: dict[str, Problem] = {}
    if _is_human_eval(path):
        for row, value in _json_lines(path):
            problem = _with_check(_Place(path, row), value)
            if str(problem.id) in problems:
                raise _Place(path, row).error(f"another problem also has the id {problem.id!r}", "task_id")
            problems[str(problem.id)] = problem
    else:
        for item in read_split(path):
            place = _Place(path, prefix=f"item {item.id}, ")
            if str(item.id) in problems:
                raise place.error("another item has the same id", "meta.id")
            problems[str(item.id)] = _with_calls(place, item)
    if not problems:
        raise InputError("holds no problems", file=path)
    return problems


@dataclass(frozen=True, slots=True)
class _Place:
    """The location of a problem in its file, for messages."""

    file: Path
    row: int | None = None
    prefix: str = ""

    def error(self, message: str, field: str) -> DataError:
        return DataError(message, file=self.file, row=self.row, field=f"{self.prefix}{field}")

    def text(self, value: Json, field: str) -> str:
        if not isinstance(value, str) or not value.strip():
            what = "missing" if value is None else shortened(repr(value))
            raise self.error(f"must be a text, but is {what}", field)
        return value


def _is_human_eval(path: Path) -> bool:
    """Return whether the first line of a file is an object with HumanEval's fields."""
    packed = is_packed(path)
    with unpacked(path) as stream:
        if not packed and os.fstat(stream.fileno()).st_size > LONGEST_FILE:
            raise _too_long(path)
        head = next(filter(bytes.strip, iter(lambda: stream.readline(LONGEST_FILE), b"")), b"")
    if not head:
        raise InputError("the file is empty", file=path)
    try:
        first = parse_json(head.decode("utf-8-sig"), file=path)
    except (UnicodeDecodeError, InputError):
        first = None
    names = first.keys() if isinstance(first, dict) else frozenset[str]()
    if "completion" in names and names.isdisjoint({"prompt", "test", "inputs"}):
        raise InputError("holds completions, not problems", file=path)
    # The items of a study have a rendered prompt beside the benchmark's own keys.
    known = not names.isdisjoint({"prompt", "test", "task_id"}) and "inputs" not in names
    if packed and not known:
        raise InputError(
            "is compressed, but only HumanEval's own JSON Lines may be; decompress it first", file=path
        )
    return known


def _json_lines(path: Path) -> Iterator[tuple[int, Mapping[str, Json]]]:
    with unpacked(path) as stream:
        data = stream.read(LONGEST_FILE + 1)
    if len(data) > LONGEST_FILE:
        raise _too_long(path)
    for row, line in enumerate(data.split(b"\n"), 1):
        if not line.strip():
            continue
        try:
            value = parse_json(line.decode("utf-8-sig"), file=path, row=row)
        except UnicodeDecodeError as error:
            message = f"is not UTF-8 text (byte 0x{line[error.start]:02x})"
            raise InputError(message, file=path, row=row) from None
        if not isinstance(value, dict):
            raise InputError(f"must be an object, not {shortened(repr(value))}", file=path, row=row)
        yield row, value


def _too_long(path: Path) -> InputError:
    return InputError(
        f"holds more than {LONGEST_FILE >> 20} MiB, which is too large for a file of problems", file=path
    )


def _with_check(place: _Place, value: Mapping[str, Json]) -> Problem:
    field = "task_id" if "task_id" in value else "id"
    name = value.get(field)
    if isinstance(name, bool) or not isinstance(name, int | str) or name == "":
        what = "missing" if name is None else shortened(repr(name))
        raise place.error(f"must be a number or a text, but is {what}", field)
    prompt = place.text(value.get("prompt"), "prompt")
    test = value.get("test")
    if not isinstance(test, str) or not re.search(r"^def[ \t]+check[ \t]*\(", test, re.MULTILINE):
        raise place.error("has no tests: it must define check(candidate)", "test")
    stub = _stub(place, prompt, value.get("entry_point"), "entry_point")
    canonical = value.get("canonical_solution")
    return Problem(
        name, stub, Check(test, context=prompt), (), canonical if isinstance(canonical, str) else None
    )


def _with_calls(place: _Place, item: Item) -> Problem:
    if isinstance(item.inputs, str):
        raise place.error("must be an object with function and tests, not a text", "inputs")
    function = place.text(item.inputs.get("function"), "inputs.function")
    if item.inputs.get("tests") in (None, "", []):
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
    if isinstance(item.outputs, list) and _differ(item.outputs):
        raise place.error("the lists of results differ, but all must be the same gold answers", "outputs")
    stub = _stub(place, function, item.meta.get("entry_point"), "meta.entry_point")
    canonical = item.meta.get("canonical_solution")
    return Problem(item.id, stub, tests, gold, canonical if isinstance(canonical, str) else None)


def _differ(outputs: list[Json]) -> bool:
    """Return whether the outputs are lists that differ, although each should hold the same gold answers."""
    return any(isinstance(each, list) for each in outputs) and any(each != outputs[0] for each in outputs)


def _stub(place: _Place, prompt: str, entry_point: Json, field: str) -> Stub:
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
        raise place.error(
            f"the function {name} is async, and the results of async calls cannot be compared", field
        )
    return stub
