"""The values that may cross between two processes, as JSON text.

Nothing but data crosses: no code, no class, no method. A value of a subclass crosses as its plain base; what is no plain
value at all crosses as an `Opaque`, which equals nothing but itself.

    text in JSON              value
    null, true, 1, 1.5, "a"   None, bool, an integer of at most 64 bits, float (NaN and Infinity too), str
    [...]                     list
    {"t": [...]}              tuple          {"d": [k, v, k, v]}   dict
    {"s": [...]}              set            {"f": [...]}          frozenset
    {"i": "hex"}              other integer  {"b": "hex"}          bytes
    {"c": [re, im]}           complex        {"r": [a, b, step]}   range
    {"g": [...]}              iterator       {"e": 0}              Ellipsis
    {"o": [type, text]}       Opaque
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any

#: An iterator or generator crosses as its values; one that does not end after so many does not cross.
LONGEST_ITERATOR = 100_000

_SMALL = 2**63


class NotPlainError(Exception):
    """A value that cannot cross, or a text that is no encoded value."""


class Opaque:
    """Stands for an object that stayed in the other process.

    Attributes:
        kind: the name of its type.
        text: its `repr` there, shortened.
    """

    def __init__(self, kind: str, text: str) -> None:
        self.kind = kind
        self.text = text

    def __repr__(self) -> str:
        return self.text

    def __bool__(self) -> bool:
        raise TypeError(f"a {self.kind} is no plain value and has no truth here")


def dumps(value: object, *, opaque: bool = False) -> str:
    """The text of a value.

    Args:
        value: the value.
        opaque: whether an object that is no plain value crosses as an `Opaque`, instead of being refused.

    Raises:
        NotPlainError: a value that cannot cross.

    Example:
        >>> dumps({"x": (1, 2.5)})
        '{"d": ["x", {"t": [1, 2.5]}]}'
    """
    try:
        return json.dumps(_encoded(value, opaque))
    except RecursionError:
        raise NotPlainError("the value is nested too deeply") from None


def loads(text: str | bytes) -> object:
    """The value of a text.

    Raises:
        NotPlainError: a text that is no encoded value, whoever wrote it.

    Example:
        >>> loads('{"d": ["x", {"t": [1, 2.5]}]}')
        {'x': (1, 2.5)}
    """
    try:
        return _decoded(json.loads(text))
    except (
        ValueError,
        TypeError,
        KeyError,
        IndexError,
        AttributeError,
        OverflowError,
        RecursionError,
    ) as error:
        raise NotPlainError(f"not an encoded value: {type(error).__name__}") from None


def _encoded(value: object, opaque: bool) -> object:
    kind = type(value)
    if value is None or kind is str or kind is bool or kind is float:
        return value
    if kind is int:
        assert isinstance(value, int)  # noqa: S101 - tells the type checker what the line above says
        return value if -_SMALL < value < _SMALL else {"i": format(value, "x")}
    if kind is list:
        assert isinstance(value, list)  # noqa: S101 - as above
        return [_encoded(part, opaque) for part in value]
    return _encoded_other(value, opaque)


def _encoded_other(value: object, opaque: bool) -> object:
    # Unbound methods of the base types: a subclass does not get to say what it holds.
    if isinstance(value, dict):
        flat = [part for pair in dict.items(value) for part in pair]
        return {"d": [_encoded(part, opaque) for part in flat]}
    for tag, base, iterate in _CONTAINERS:
        if isinstance(value, base):
            parts = [_encoded(part, opaque) for part in iterate(value)]
            return parts if tag is None else {tag: parts}
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, int):
        return _encoded(int.__pos__(value), opaque)
    if isinstance(value, float):
        return float.__pos__(value)
    return _encoded_rare(value, opaque)


_CONTAINERS: tuple[tuple[str | None, type, Callable[..., Iterator[object]]], ...] = (
    ("t", tuple, tuple.__iter__),
    (None, list, list.__iter__),
    ("s", set, set.__iter__),
    ("f", frozenset, frozenset.__iter__),
)


def _encoded_rare(value: object, opaque: bool) -> object:
    if isinstance(value, bytes):
        return {"b": bytes.hex(value)}
    if isinstance(value, complex):
        return {"c": [value.real, value.imag]}
    if isinstance(value, range):
        return {"r": [str(part) for part in (value.start, value.stop, value.step)]}
    if value is Ellipsis:
        return {"e": 0}
    if opaque:
        return _seen_from_outside(value)
    raise NotPlainError(f"a {type(value).__name__} is no plain value")


def _seen_from_outside(value: object) -> object:
    kind = type(value)
    if hasattr(kind, "__index__"):
        return _encoded(int(value.__index__()), opaque=True)  # type: ignore[attr-defined]  # asked for one line above
    if hasattr(kind, "__next__"):
        values = list(islice(value, LONGEST_ITERATOR + 1))  # type: ignore[call-overload]  # an iterator
        if len(values) > LONGEST_ITERATOR:
            raise NotPlainError("an iterator that does not end")
        return {"g": [_encoded(part, opaque=True) for part in values]}
    return {"o": [str(kind.__name__)[:100], repr(value)[:200]]}


def _decoded(data: object) -> object:
    if isinstance(data, list):
        return [_decoded(part) for part in data]
    if not isinstance(data, dict):
        return data
    ((tag, content),) = data.items()
    if tag == "d":
        parts = [_decoded(part) for part in content]
        return dict(zip(parts[::2], parts[1::2]))  # noqa: B905 - `strict` came with Python 3.10
    return _READERS[tag](content)


_READERS: dict[str, Callable[[Any], object]] = {
    "t": lambda content: tuple(map(_decoded, content)),
    "s": lambda content: set(map(_decoded, content)),
    "f": lambda content: frozenset(map(_decoded, content)),
    "g": lambda content: iter([_decoded(part) for part in content]),
    "i": lambda content: int(content, 16),
    "b": bytes.fromhex,
    "c": lambda content: complex(*content),
    "r": lambda content: range(*(int(part) for part in content)),
    "e": lambda _: Ellipsis,
    "o": lambda content: Opaque(str(content[0]), str(content[1])),
}
