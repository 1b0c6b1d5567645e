"""JSON, read strictly: ambiguous input is rejected with an error, never guessed; and values at paths inside it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from math import isfinite
from pathlib import Path
from typing import Any, Final, NoReturn, TypeAlias, cast

from merilo.errors import InputError, for_command_line
from merilo.files import opened, read_text

#: A JSON value.
Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | None"


#: A surrogate as JSON writes it, of which every other may be missing.
_SURROGATE: Final = re.compile(r"\\u[dD]")

#: Larger files are rejected; files of answers are far smaller.
LARGEST_FILE: Final = 1 << 30


def read_json(path: Path) -> Json:
    """Read a JSON file strictly.

    Raises:
        InputError: the file is missing, too large, not UTF-8 or not JSON; NaN, a repeated key in one object, an
        unpaired surrogate and excessive nesting are rejected too.
    """
    return parse_json(read_text(path, LARGEST_FILE), file=path)


def parse_json(text: str, *, file: object, row: int | None = None) -> Json:
    """Parse JSON strictly, as `read_json` does.

    Args:
        text: the JSON.
        file: the file it came from, for the message.
        row: the line it came from, if each line is a JSON document.
    """
    try:
        value = json.loads(text, parse_constant=_refuse_constant, object_pairs_hook=_object)
        if _SURROGATE.search(text):
            json.dumps(value, ensure_ascii=False).encode()
    except json.JSONDecodeError as error:
        where = f"position {error.pos + 1}" if row else f"line {error.lineno}, column {error.colno}"
        hint = (
            "; JSON Lines are read from a file named .jsonl" if row is None and _is_next_line(error) else ""
        )
        message = f"is not JSON: {error.msg.lower().removesuffix(' at')} at {where}{hint}"
        raise InputError(message, file=file, row=row) from error
    except UnicodeEncodeError as error:
        raise InputError("is not JSON: unpaired surrogate (\\ud…)", file=file, row=row) from error
    except ValueError as error:
        raise InputError(f"is not JSON: {error}", file=file, row=row) from error
    except RecursionError as error:
        raise InputError("cannot be read as JSON: nested too deeply", file=file, row=row) from error
    return cast("Json", value)


def json_lines(path: Path, progress: Callable[[int], None] | None = None) -> Iterator[tuple[int, Json]]:
    """Read a file of JSON values, one per line, strictly; blank lines are skipped.

    Args:
        path: the file.
        progress: called with the number of bytes read since the last call.

    Yields:
        The number of the line, from 1, and its value.

    Raises:
        InputError: the file cannot be read, or a line is not UTF-8 or not JSON.
    """
    with opened(path) as stream:
        for row, line in enumerate(stream, start=1):
            try:
                text = line.decode("utf-8-sig" if row == 1 else "utf-8")
            except UnicodeDecodeError:
                raise InputError("is not UTF-8 text", file=path, row=row) from None
            if text.strip():
                yield row, parse_json(text, file=path, row=row)
            if progress is not None:
                progress(len(line))


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON number")


def _is_next_line(error: json.JSONDecodeError) -> bool:
    """Check whether the first line is a complete value and more follows on the next."""
    return error.msg == "Extra data" and error.lineno > 1 and error.colno == 1


def _object(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    content = dict(pairs)
    if len(content) < len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                raise ValueError(f"the key '{key[:60]}' occurs twice in one object")
            seen.add(key)
    return content


def as_text(content: Json) -> str:
    """Format a result as the text of a JSON file.

    Indented, arguments named as on the command line, one line break at the end.
    """
    return for_command_line(indented(content)) + "\n"


def indented(content: Json) -> str:
    """Serialise JSON as Merilo prints and writes results: indent of two spaces, letters not escaped.

    Raises:
        ValueError: a number is infinite or not a number.
    """
    return json.dumps(content, ensure_ascii=False, indent=2, allow_nan=False)


def dumped(content: Json) -> str:
    """Serialise JSON in the style of the benchmark's files: indent of four spaces, letters not escaped."""
    return json.dumps(content, ensure_ascii=False, indent=4, allow_nan=False) + "\n"


#: An object.
Row: TypeAlias = "Mapping[str, Json]"


def at(value: Json | Row, *path: str | int) -> Json:
    """Return the value at a path of keys and positions; `None` if there is none.

    Example:
        >>> at({"choices": [{"text": "B"}]}, "choices", 0, "text"), at({"choices": []}, "choices", 0, "text")
        ('B', None)
    """
    inner: Any = value
    for step in path:
        if isinstance(step, str):
            inner = inner.get(step) if isinstance(inner, dict) else None
        else:
            inner = inner[step] if isinstance(inner, list) and step < len(inner) else None
    return cast("Json", inner)


def text_at(value: Json | Row, *path: str | int) -> str:
    """Return the text at a path, or an empty text for anything else."""
    text = at(value, *path)
    return text if isinstance(text, str) else ""


def dict_at(value: Json | Row, *path: str | int) -> dict[str, Json]:
    """Return the object at a path, or an empty one for anything else."""
    content = at(value, *path)
    return content if isinstance(content, dict) else {}


def list_at(value: Json | Row, *path: str | int) -> list[Json]:
    """Return the list at a path, or an empty one for anything else."""
    content = at(value, *path)
    return content if isinstance(content, list) else []


def dicts_at(value: Json | Row, *path: str | int) -> list[dict[str, Json]]:
    """Return the objects of the list at a path; an empty object for anything else in it."""
    return [dict_at(inner) for inner in list_at(value, *path)]


def number_at(value: Json | Row, *path: str | int) -> float | None:
    """Return the finite number at a path."""
    number = at(value, *path)
    if isinstance(number, bool) or not isinstance(number, int | float) or not isfinite(number):
        return None
    return float(number)


def count_at(value: Json | Row, *path: str | int) -> int | None:
    """Return the whole number at a path."""
    number = at(value, *path)
    return number if isinstance(number, int) and not isinstance(number, bool) else None
