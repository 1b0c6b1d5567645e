"""Problems that programs are asked to solve, and the files that hold them.

Two kinds of file are read, each plain or compressed by gzip: ruHumanEval's items (a split `{"data": ...}`, a list, or
JSON Lines), whose tests are a literal list of keyword arguments and whose gold is `str(result)` of every call; and
HumanEval's own JSON Lines, whose test is a function `check(candidate)`.
"""

from __future__ import annotations

import ast
import gzip
import json
import re
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, cast

from merilo.errors import DataError, InputError
from merilo.files import shortened
from merilo.items import ItemId, Json
from merilo.sandbox.extraction import Stub
from merilo.sandbox.program import Call, Check, Program

#: The longest file of problems that is read, in bytes, after decompression: an archive may unfold without end.
LONGEST_FILE: Final = 1 << 28

_GZIP: Final = b"\x1f\x8b"


@dataclass(frozen=True, slots=True)
class Problem:
    """One problem.

    Attributes:
        id: the item's id, or HumanEval's `task_id`.
        stub: what the respondent was asked to complete.
        tests: the calls, or the check.
        gold: `str(result)` of every call; empty for a check, `None` where the test is closed.
        canonical: the solution that comes with the problem, if one does.
    """

    id: ItemId
    stub: Stub
    tests: tuple[Call, ...] | Check
    gold: tuple[str, ...] | None
    canonical: str | None = None

    @property
    def is_closed(self) -> bool:
        """Whether its gold is not here, so that programs can be run but not judged."""
        return self.gold is None

    def program(self, key: str, source: str, seed: int = 0) -> Program:
        """The program `source` and how it is tested, to be known as `key`."""
        return Program(key, source, self.stub.entry_point, self.tests, seed)


def read_problems(path: Path) -> dict[str, Problem]:
    """Read a file of problems.

    Args:
        path: the file.

    Returns:
        The problems in the file's order, by the text of their id.

    Raises:
        InputError: the file cannot be read as problems at all.
        DataError: a problem has no tests, no gold for a test, tests that are no literal, an entry point that its stub
            does not define, or the id of another.
    """
    problems: dict[str, Problem] = {}
    for row in _rows(_text(path), path):
        problem = _problem(row)
        if str(problem.id) in problems:
            raise row.error(
                f"the id {json.dumps(problem.id, ensure_ascii=False)} is another problem's too", "id"
            )
        problems[str(problem.id)] = problem
    if not problems:
        raise InputError("holds no problems", file=path)
    return problems


@dataclass(frozen=True, slots=True)
class _Row:
    """One problem as it stands in its file."""

    value: Mapping[str, Json]
    file: Path
    line: int | None
    path: str = ""

    def error(self, message: str, field: str) -> DataError:
        return DataError(message, file=self.file, row=self.line, field=f"{self.path}{field}")

    def text(self, value: Json, field: str) -> str:
        if not isinstance(value, str) or not value.strip():
            raise self.error(
                "must be a text and is " + ("missing" if value is None else _shown(value)), field
            )
        return value


def _text(path: Path) -> str:
    try:
        data = path.read_bytes() if path.stat().st_size <= LONGEST_FILE else None
        if data is not None and data.startswith(_GZIP):
            with gzip.open(path) as stream:
                data = stream.read(LONGEST_FILE + 1)
    except FileNotFoundError:
        raise InputError("there is no such file", file=path) from None
    except IsADirectoryError:
        raise InputError("is a folder, not a file", file=path) from None
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise InputError(f"is not a whole gzip archive ({error})", file=path) from None
    except OSError as error:
        raise InputError(f"cannot be read ({error.strerror})", file=path) from error
    if data is None or len(data) > LONGEST_FILE:
        raise InputError(
            f"holds more than {LONGEST_FILE >> 20} MiB, which no set of problems does", file=path
        )
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise InputError(f"is not UTF-8 text (byte 0x{data[error.start]:02x})", file=path, row=line) from None
    if not text.strip():
        raise InputError("the file is empty", file=path)
    return text


def _rows(text: str, path: Path) -> Iterator[_Row]:
    first = text.lstrip().split("\n", 1)[0]
    try:
        head: Json = json.loads(first)
    except (ValueError, RecursionError):
        head = None
    if isinstance(head, dict) and "data" not in head:
        yield from _json_lines(text, path)
        return
    try:
        whole: Json = json.loads(text)
    except json.JSONDecodeError as error:
        raise InputError(
            f"is neither JSON nor JSON Lines ({error.msg})", file=path, row=error.lineno
        ) from None
    except (ValueError, RecursionError):
        raise InputError(
            "is no JSON that can be read (nested too deeply, or a number too long)", file=path
        ) from None
    yield from _items(whole, path)


def _json_lines(text: str, path: Path) -> Iterator[_Row]:
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            value: Json = json.loads(line)
        except (ValueError, RecursionError) as error:
            what = (
                error.msg
                if isinstance(error, json.JSONDecodeError)
                else "nested too deeply, or a number too long"
            )
            raise InputError(
                f"is not a row of JSON ({what}); is the file cut off?", file=path, row=number
            ) from None
        if not isinstance(value, dict):
            raise InputError(f"must be an object and is {_shown(value)}", file=path, row=number)
        yield _Row(value, path, number)


def _items(whole: Json, path: Path) -> Iterator[_Row]:
    """The items of a split: `{"data": {"test": [...]}}`, `{"data": [...]}` or a bare list."""
    data = whole.get("data") if isinstance(whole, dict) else whole
    prefix = "data" if isinstance(whole, dict) else ""
    if isinstance(data, dict):
        name = "test" if "test" in data else next(iter(data), "")
        prefix, data = f"{prefix}.{name}", data.get(name)
    if not isinstance(data, list):
        raise InputError(
            'holds no list of items where one is expected ({"data": {"test": [...]}})', file=path
        )
    for number, value in enumerate(data):
        if not isinstance(value, dict):
            raise InputError(
                f"must be an object and is {_shown(value)}", file=path, field=f"{prefix}[{number}]"
            )
        yield _Row(value, path, None, f"{prefix}[{number}].")


def _problem(row: _Row) -> Problem:
    if "prompt" in row.value:
        return _with_check(row)
    if "inputs" in row.value:
        return _with_calls(row)
    raise row.error(
        "is neither an item (inputs, outputs, meta) nor HumanEval's (prompt, test, entry_point)", "prompt"
    )


def _with_check(row: _Row) -> Problem:
    field = "task_id" if "task_id" in row.value else "id"
    prompt = row.text(row.value["prompt"], "prompt")
    test = row.value.get("test")
    if not isinstance(test, str) or not re.search(r"^def[ \t]+check[ \t]*\(", test, re.MULTILINE):
        raise row.error("has no tests: it must define check(candidate)", "test")
    stub = _stub(row, prompt, row.value.get("entry_point"), "entry_point")
    canonical = row.value.get("canonical_solution")
    return Problem(
        _id(row, row.value.get(field), field),
        stub,
        Check(test, context=prompt),
        (),
        canonical if isinstance(canonical, str) else None,
    )


def _with_calls(row: _Row) -> Problem:
    inputs, meta = row.value["inputs"], row.value.get("meta")
    if not isinstance(inputs, dict):
        raise row.error(f"must hold function and tests, and is {_shown(inputs)}", "inputs")
    if not isinstance(meta, dict):
        raise row.error("must hold id and entry_point, and is missing", "meta")
    function = row.text(inputs.get("function"), "inputs.function")
    tests = _calls(row, inputs.get("tests"))
    canonical = meta.get("canonical_solution")
    return Problem(
        _id(row, meta.get("id"), "meta.id"),
        _stub(row, function, meta.get("entry_point"), "meta.entry_point"),
        tests,
        _gold(row, row.value.get("outputs"), len(tests)),
        canonical if isinstance(canonical, str) else None,
    )


def _id(row: _Row, value: Json, field: str) -> ItemId:
    if isinstance(value, bool) or not isinstance(value, int | str) or value == "":
        raise row.error(
            "must be a number or a text and is " + ("missing" if value is None else _shown(value)), field
        )
    return value


def _stub(row: _Row, prompt: str, entry_point: Json, field: str) -> Stub:
    if entry_point is None:
        defined = re.findall(r"^(?:async[ \t]+)?def[ \t]+(\w+)", prompt, re.MULTILINE)
        if not defined:
            raise row.error("is missing, and the stub defines no function", field)
        entry_point = defined[-1]
    name = row.text(entry_point, field)
    if not name.isidentifier():
        raise row.error(f"is no name of a function: {shortened(name)}", field)
    stub = Stub.read(prompt, name)
    if stub is None:
        raise row.error(f"the function {name} is not defined in the stub", field)
    return stub


def _calls(row: _Row, tests: Json) -> tuple[Call, ...]:
    """Each test's keyword arguments, from a literal or from JSON's own list."""
    field = "inputs.tests"
    value: object = tests
    if isinstance(tests, str) and tests.strip():
        try:
            value = ast.literal_eval(tests.strip())
        except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
            message = f"is no literal list of keyword arguments: {shortened(tests)}"
            raise row.error(message, field) from None
    if not value:
        raise row.error("has no tests", field)
    if not isinstance(value, list | tuple):
        raise row.error(f"must be a list of keyword arguments and is {_shown(value)}", field)
    for number, call in enumerate(value):
        if not isinstance(call, dict) or not all(isinstance(name, str) for name in call):
            message = f"must be keyword arguments ({{'name': value}}) and is {_shown(call)}"
            raise row.error(message, f"{field}[{number}]")
    return tuple(cast("list[Call]", value))


def _gold(row: _Row, outputs: Json, tests: int) -> tuple[str, ...] | None:
    """`str(result)` of every test; the list may stand once, or once a generation."""
    if outputs is None or outputs in ("", [], {}):
        return None
    if not isinstance(outputs, list):
        raise row.error(f"must be a list of results and is {_shown(outputs)}", "outputs")
    if all(isinstance(each, list) for each in outputs):
        if any(each != outputs[0] for each in outputs):
            raise row.error("the lists of results differ, and all of them should be the gold", "outputs")
        outputs = cast("list[Json]", outputs[0])
    if len(outputs) != tests:
        raise row.error(f"has {len(outputs)} results for {tests} tests", "outputs")
    return tuple(map(str, outputs))


def _shown(value: object) -> str:
    return shortened(repr(value))
