"""Read the JSON of other harnesses' logs.

Logs are read less strictly than answers: NaN and infinite numbers, which harnesses write for metrics, are accepted, and half of a surrogate
pair, which a model's text may hold, becomes U+FFFD. A last line that is cut off is reported and left out.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, cast

from merilo.errors import InputError
from merilo.files import opened
from merilo.strict_json import LARGEST_FILE, Json

#: Longer lines are rejected; a row with a prompt of a million tokens is far shorter.
LONGEST_LINE: Final = 1 << 26

_READ_AT_ONCE: Final = 1 << 20


@dataclass
class LogLines:
    """The rows of a log with one JSON object per line, or of a JSON list.

    Attributes:
        path: the file.
        cut_off: the number of the last line if it is cut off; known after the rows were read.
    """

    path: Path
    cut_off: int | None = field(default=None, init=False)

    def __iter__(self) -> Iterator[tuple[int, Mapping[str, Json]]]:
        """Yield the number of each row, from 1, and the row.

        Raises:
            InputError: a line is too long, not UTF-8, or not a JSON object; the last line may be cut off.
        """
        with opened(self.path) as stream:
            start = stream.read(64).lstrip(b"\xef\xbb\xbf \t\r\n")
            stream.seek(0)
            if start.startswith(b"["):
                yield from self._list()
                return
            for row, line in enumerate(iter(lambda: stream.readline(LONGEST_LINE + 1), b""), start=1):
                if len(line) > LONGEST_LINE:
                    raise InputError(f"is longer than {LONGEST_LINE >> 20} MB", file=self.path, row=row)
                complete = line.endswith(b"\n")
                if not line.strip(b"\xef\xbb\xbf \t\r\n"):
                    continue
                try:
                    value = parse_log(line, file=self.path, row=row)
                except InputError:
                    if complete:
                        raise
                    self.cut_off = row
                    return
                if not isinstance(value, dict):
                    raise InputError("is not a JSON object", file=self.path, row=row)
                yield row, value

    def _list(self) -> Iterator[tuple[int, Mapping[str, Json]]]:
        content = read_log(self.path)
        for row, value in enumerate(content if isinstance(content, list) else [], start=1):
            if not isinstance(value, dict):
                raise InputError("is not a JSON object", file=self.path, row=row)
            yield row, value


def read_log(path: Path) -> Json:
    """Read a log that is one JSON document.

    Raises:
        InputError: the file is missing, too large, not UTF-8 or not JSON.
    """
    with opened(path) as stream:
        content = stream.read(LARGEST_FILE + 1)
    if len(content) > LARGEST_FILE:
        raise InputError(f"is larger than {LARGEST_FILE} bytes", file=path)
    return parse_log(content, file=path)


def parse_log(content: bytes, *, file: object, row: int | None = None) -> Json:
    r"""Parse the JSON of a log.

    Args:
        content: the JSON in UTF-8.
        file: the file it came from, for the message.
        row: the line it came from, if each line is a JSON document.

    Raises:
        InputError: the content is not UTF-8 or not JSON.

    Example:
        >>> parse_log(rb'{"a": NaN, "b": "x\ud83d"}', file="log")["b"] == "x\ufffd"
        True
    """
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"is not UTF-8 text (byte {error.start + 1})", file=file, row=row) from None
    try:
        value = cast("Json", json.loads(text, strict=False))
        return _with_whole_letters(value) if "\\ud" in text or "\\uD" in text else value
    except json.JSONDecodeError as error:
        what = error.msg.lower().removesuffix(" at")
        where = f"position {error.pos + 1}" if row else f"line {error.lineno}, column {error.colno}"
        cut = "; the file may be cut off" if row is None and error.pos >= len(text.rstrip()) - 1 else ""
        raise InputError(f"is not JSON: {what} at {where}{cut}", file=file, row=row) from None
    except RecursionError:
        raise InputError("cannot be read as JSON: nested too deeply", file=file, row=row) from None
    except ValueError as error:
        raise InputError(f"is not JSON: {error}", file=file, row=row) from None


def head_of(path: Path, most: int = _READ_AT_ONCE) -> bytes:
    """Return the first bytes of a file without a byte order mark and leading white space.

    Raises:
        InputError: the file is missing, a folder, a pipe or a device.
    """
    with opened(path) as stream:
        return stream.read(most).removeprefix(b"\xef\xbb\xbf").lstrip()


def first_line(path: Path) -> Mapping[str, Json] | None:
    """Return the first row of a file of JSON objects, one per line; `None` if the first line is not one."""
    try:
        return next((row for _, row in LogLines(path)), None)
    except InputError:
        return None


def _with_whole_letters(value: Json) -> Json:
    """Replace halves of surrogate pairs in all texts by U+FFFD."""
    match value:
        case str():
            return value.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
        case list():
            return [_with_whole_letters(one) for one in value]
        case dict():
            return {str(_with_whole_letters(name)): _with_whole_letters(one) for name, one in value.items()}
        case _:
            return value
