"""The values that may cross between two processes, as JSON text.

Nothing but data crosses: no code, no class, no method. A value of a subclass crosses as its plain base, NumPy's numbers as
Python's; what is no plain value at all crosses as an `Opaque`, which equals nothing but itself.

    text in JSON              value
    null, true, 1, 1.5, "a"   None, bool, an integer of at most 64 bits, float (NaN and Infinity too), str
    [...]                     list
    {"t": [...]}              tuple          {"d": [k, v, k, v]}   dict
    {"s": [...]}              set            {"f": [...]}          frozenset
    {"i": "hex"}              other integer  {"b": "hex"}          bytes (and bytearray, memoryview)
    {"n": [type, text]}       Decimal, Fraction
    {"c": [re, im]}           complex        {"r": [a, b, step]}   range
    {"g": [...]}              iterator       {"e": 0}              Ellipsis
    {"o": [type, text]}       Opaque         {"o": [type, text, [...]]}   Collected
"""

from __future__ import annotations

import json
import marshal
import sys
from collections.abc import Callable, Iterable, Iterator
from importlib import import_module
from itertools import islice
from json.encoder import encode_basestring_ascii
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


class Collected(Opaque):
    """Stands for a collection that stayed in the other process (a deque, a view of a dictionary, an array): its values came along.

    Attributes:
        values: what it holds.
    """

    def __init__(self, kind: str, text: str, values: list[object]) -> None:
        super().__init__(kind, text)
        self.values = values

    def __iter__(self) -> Iterator[object]:
        return iter(self.values)

    def __len__(self) -> int:
        return len(self.values)


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
        return _text(value, opaque)
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
        ArithmeticError,
        RecursionError,
    ) as error:
        raise NotPlainError(f"not an encoded value: {type(error).__name__}") from None


def packed(value: object) -> bytes:
    """A value for a process that trusts the sender: read without a parser.

    Raises:
        NotPlainError: a value that cannot cross.
    """
    try:
        return b"m" + marshal.dumps(value, 2)  # type: ignore[arg-type]  # what it cannot take it refuses
    except ValueError:  # a subclass, a range, or nothing plain at all
        return b"j" + dumps(value).encode("ascii")


def unpacked(packet: bytes) -> object:
    """The value of a packet, which must come from `packed`: a hostile one could do anything.

    Example:
        >>> unpacked(packed({"x": (1, 2.5)}))
        {'x': (1, 2.5)}
    """
    return marshal.loads(packet[1:]) if packet[:1] == b"m" else loads(packet[1:])  # noqa: S302 - see above


def _text(value: object, opaque: bool) -> str:
    # Written out piece by piece: a program's process is freshly forked, and every page that it touches costs it.
    kind = type(value)
    if kind is str:
        return encode_basestring_ascii(value)  # type: ignore[arg-type]  # a text: asked in the line above
    if value is None or kind is bool:
        return _CONSTANTS[value]  # type: ignore[index]  # one of the three
    if kind is int:
        assert isinstance(value, int)  # noqa: S101 - tells the type checker what the line above says
        return str(value) if -_SMALL < value < _SMALL else f'{{"i": "{value:x}"}}'
    if kind is float:
        return _of_float(value)  # type: ignore[arg-type]  # as above
    if kind is list:
        assert isinstance(value, list)  # noqa: S101 - as above
        return _row(value, opaque)
    return _other(value, opaque)


_CONSTANTS = {None: "null", True: "true", False: "false"}


def _row(values: Iterable[object], opaque: bool) -> str:
    return f"[{', '.join([_text(part, opaque) for part in values])}]"


def _of_float(value: float) -> str:
    text = float.__repr__(value)
    return {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}.get(text, text)


def _other(value: object, opaque: bool) -> str:
    # Unbound methods of the base types: a subclass does not get to say what it holds.
    if isinstance(value, dict):
        return f'{{"d": {_row([part for pair in dict.items(value) for part in pair], opaque)}}}'
    for tag, base, iterate in _CONTAINERS:
        if isinstance(value, base):
            row = _row(iterate(value), opaque)
            return row if tag is None else f'{{"{tag}": {row}}}'
    if isinstance(value, str):
        return encode_basestring_ascii(str.__str__(value))
    if isinstance(value, int):
        return _text(int.__pos__(value), opaque)
    if isinstance(value, float):
        return _of_float(float.__pos__(value))
    return _rare(value, opaque)


_CONTAINERS: tuple[tuple[str | None, type, Callable[..., Iterator[object]]], ...] = (
    ("t", tuple, tuple.__iter__),
    (None, list, list.__iter__),
    ("s", set, set.__iter__),
    ("f", frozenset, frozenset.__iter__),
)


def _rare(value: object, opaque: bool) -> str:
    if isinstance(value, (bytes, bytearray, memoryview)):
        return f'{{"b": "{bytes(value).hex()}"}}'
    if isinstance(value, complex):
        return f'{{"c": [{_of_float(value.real)}, {_of_float(value.imag)}]}}'
    if isinstance(value, range):
        return f'{{"r": ["{value.start}", "{value.stop}", "{value.step}"]}}'
    if value is Ellipsis:
        return '{"e": 0}'
    for name, module in _NUMBERS.items():
        if module in sys.modules and isinstance(value, getattr(sys.modules[module], name)):
            return f'{{"n": ["{name}", "{value}"]}}'
    if opaque:
        return _seen_from_outside(value)
    raise NotPlainError(f"a {type(value).__name__} is no plain value")


def _seen_from_outside(value: object) -> str:
    kind = type(value)
    if kind.__module__ == "numpy" and getattr(value, "shape", None) == ():
        return _text(value.item(), opaque=True)  # type: ignore[attr-defined]  # a number of NumPy's
    if hasattr(kind, "__index__") and not hasattr(kind, "__iter__"):  # NumPy's arrays have both, and no index
        return _text(int(value.__index__()), opaque=True)  # type: ignore[attr-defined]  # as above
    if hasattr(kind, "__next__"):
        return f'{{"g": {_row(_values(value), opaque=True)}}}'
    seen: list[object] = [str(kind.__name__)[:100], repr(value)[:200]]
    if kind.__module__ in _COLLECTING and hasattr(kind, "__iter__"):
        seen.append(_values(value))
    return f'{{"o": {_row(seen, opaque=True)}}}'


def _values(value: object) -> list[object]:
    values = list(islice(value, LONGEST_ITERATOR + 1))  # type: ignore[call-overload]  # it iterates
    if len(values) > LONGEST_ITERATOR:
        raise NotPlainError("an iterator that does not end")
    return values


#: Where the types are at home whose values are taken along; a program's own type may be anything.
_COLLECTING = frozenset({"builtins", "collections", "array", "numpy"})

#: Numbers that are plain but no built-in type, and the modules that they come from.
_NUMBERS = {"Decimal": "decimal", "Fraction": "fractions"}


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
    "n": lambda content: getattr(import_module(_NUMBERS[content[0]]), content[0])(content[1]),
    "o": lambda content: _opaque(*content),
}


def _opaque(kind: str, text: str, values: list[object] | None = None) -> Opaque:
    if values is None:
        return Opaque(str(kind), str(text))
    return Collected(str(kind), str(text), list(map(_decoded, values)))
