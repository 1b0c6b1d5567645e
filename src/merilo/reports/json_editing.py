"""Set values in the text of a JSON file and keep every other byte: order of keys, indent, escapes, line ends, final newline."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from merilo.errors import DataError, InputError
from merilo.strict_json import Json, parse_json

_SPACE: Final = re.compile(r"[ \t\r\n]*")
_DECODER: Final = json.JSONDecoder()
_MARK: Final = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class _Member:
    """A member of an object: its key, and where its key and value begin and end in the text."""

    key: str
    key_start: int
    key_end: int
    start: int
    end: int


def decoded_object(raw: bytes, file: str) -> tuple[str, dict[str, Json]]:
    """Decode the file of a JSON object.

    Args:
        raw: the file's bytes; a byte-order mark is allowed.
        file: the file's name, for messages.

    Returns:
        The text without the byte-order mark, and the object.

    Raises:
        InputError: the bytes are not UTF-8, or not strict JSON.
        DataError: the JSON is not an object.
    """
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"is not UTF-8 text (byte {error.start + 1})", file=file) from error
    content = parse_json(text, file=file)
    if not isinstance(content, dict):
        raise DataError("must be a JSON object", file=file)
    return text, content


def encoded_like(raw: bytes, text: str) -> bytes:
    """Encode an edited text with the byte-order mark of the original bytes, if they have one."""
    return (_MARK if raw.startswith(_MARK) else b"") + text.encode("utf-8")


def with_members(text: str, values: Mapping[str, Json], *, inside: str | None = None) -> str:
    """Set members of an object in a JSON text and keep everything else as it is.

    A value that the object already has is replaced in its place, other members are added behind the last one, written as the file
    writes its own: line ends, indent, the space after a colon, and escapes of letters if the file has them.

    Args:
        text: a strict JSON object.
        values: key -> new value.
        inside: the key of the object whose members are set, below the outer object; if it is missing or no object, it is made.

    Returns:
        The new text.

    Example:
        >>> with_members('{"b": 1,  "a": {"x": 1}}', {"y": 0.5}, inside="a")
        '{"b": 1,  "a": {"x": 1, "y": 0.5}}'
        >>> with_members('{"b": 1}', {"y": 0.5}, inside="a")
        '{"b": 1, "a": {"y": 0.5}}'
    """
    outer = _space(text, 0)
    if inside is None:
        return _set(text, outer, values, "")
    found = next((one for one in _members(text, outer) if one.key == inside), None)
    if found is None or text[found.start] != "{" or not _members(text, found.start):
        return _set(text, outer, {inside: dict(values)}, "")
    return _set(text, found.start, values, _indent(text, outer))


def _set(text: str, opening: int, values: Mapping[str, Json], outer_indent: str) -> str:
    """Set members of the object that begins at a place.

    Args:
        text: the whole text.
        opening: the place of the object's brace.
        values: key -> new value.
        outer_indent: what stands before a member of the object around this one.
    """
    for key, value in values.items():
        members = _members(text, opening)
        own = next((one for one in members if one.key == key), None)
        indent = _indent(text, opening)
        step = indent.removeprefix(outer_indent) if "\n" in outer_indent else indent.lstrip("\r\n")
        if own is not None:
            text = text[: own.start] + _written(value, text, indent, step) + text[own.end :]
        elif members:
            last = members[-1]
            between = text[last.key_end : last.start]
            added = f",{indent or ' '}{_string(key, text)}{between}{_written(value, text, indent, step)}"
            text = text[: last.end] + added + text[last.end :]
        else:
            content = _written({key: value}, text, "", "    ")
            text = text[:opening] + content + text[_end(text, opening) :]
    return text


def _written(value: Json, text: str, indent: str, step: str) -> str:
    """Write a value; objects have a line a member if members of the file have lines of their own."""
    if isinstance(value, str):
        return _string(value, text)
    if not isinstance(value, dict) or not value:
        return json.dumps(value, ensure_ascii=_escapes(text), allow_nan=False)
    parts = [
        f"{_string(key, text)}: {_written(inner, text, indent + step, step)}" for key, inner in value.items()
    ]
    if "\n" not in indent:
        return "{" + ", ".join(parts) + "}"
    inner_indent = indent + step
    return "{" + inner_indent + f",{inner_indent}".join(parts) + indent + "}"


def _string(value: str, text: str) -> str:
    return json.dumps(value, ensure_ascii=_escapes(text))


def _escapes(text: str) -> bool:
    """Check whether a file writes letters beyond ASCII as escapes."""
    return text.isascii() and "\\u" in text


def _indent(text: str, opening: int) -> str:
    """Return the white space before an object's members: a line end and an indent, or nothing."""
    return text[opening + 1 : _space(text, opening + 1)]


def _members(text: str, opening: int) -> list[_Member]:
    """Return the members of the object that begins at a place; the text is known to be JSON."""
    found = []
    place = _space(text, opening + 1)
    while text[place] != "}":
        key, key_end = _DECODER.raw_decode(text, place)
        start = _space(text, _space(text, key_end) + 1)
        _, end = _DECODER.raw_decode(text, start)
        found.append(_Member(key, place, key_end, start, end))
        place = _space(text, end)
        if text[place] == ",":
            place = _space(text, place + 1)
    return found


def _end(text: str, start: int) -> int:
    return _DECODER.raw_decode(text, start)[1]


def _space(text: str, place: int) -> int:
    found = _SPACE.match(text, place)
    return found.end() if found else place
