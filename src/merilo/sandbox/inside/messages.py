"""What the processes of the sandbox send to each other: framed messages, and values as JSON text.

A frame is four bytes of length, then the message.

Of a value, only data is encoded: no code, class or method. A value of a subclass is encoded as its built-in base, and a
number of NumPy as a number of Python. Any other object can be encoded as an `Opaque`, which equals only itself.

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
import os
import struct
import sys
from _socket import (  # `socket` imports many modules, which would slow down every fork
    CMSG_SPACE,
    SCM_RIGHTS,
    SOL_SOCKET,
    socket,
)
from collections.abc import Callable, Iterable, Iterator
from importlib import import_module
from itertools import islice
from json.encoder import encode_basestring_ascii
from typing import Any

#: The length of a message.
LENGTH = struct.Struct("<I")
_RIGHTS = struct.Struct("i")

#: Cause, wait status, wall seconds, processor seconds, peak bytes; then the program's answers or the judge's verdict.
REPORT = struct.Struct("<BiddQ")

ENDED, TIMED_OUT, OVERFLOWED = range(3)


class BrokenFrameError(Exception):
    """A frame is cut off or longer than allowed."""


def frame(message: bytes) -> bytes:
    r"""Return the bytes of one framed message.

    Example:
        >>> frame(b"ab")
        b'\x02\x00\x00\x00ab'
    """
    return LENGTH.pack(len(message)) + message


def write(descriptor: int, *parts: bytes) -> None:
    """Send the parts as one message, repeating partial writes until all of it is sent."""
    message = frame(parts[0] if len(parts) == 1 else b"".join(parts))
    taken = os.write(descriptor, message)
    while taken < len(message):
        taken += os.write(descriptor, memoryview(message)[taken:])


def read(descriptor: int, longest: int | None = None) -> bytes | None:
    """Wait for one message, and read nothing beyond it: a process forked later would inherit what is read ahead.

    Returns:
        The message, or `None` if the other side has closed.

    Raises:
        BrokenFrameError: the message is longer than `longest` bytes, or cut off.
    """
    head = exactly(descriptor, LENGTH.size)
    if head is None:
        return None
    (length,) = LENGTH.unpack(head)
    if longest is not None and length > longest:
        raise BrokenFrameError(f"a message of {length} bytes, but only {longest} are allowed")
    message = exactly(descriptor, length)
    if message is None:
        raise BrokenFrameError("cut off")
    return message


def split(data: bytearray) -> list[bytes]:
    r"""Remove the whole messages at the start of the data, and return them.

    Example:
        >>> data = bytearray(frame(b"ab") + b"\x02\x00")
        >>> split(data), data
        ([b'ab'], bytearray(b'\x02\x00'))
    """
    messages, position = [], 0
    while len(data) - position >= LENGTH.size:
        end = position + LENGTH.size + LENGTH.unpack_from(data, position)[0]
        if end > len(data):
            break
        messages.append(bytes(data[position + LENGTH.size : end]))
        position = end
    del data[:position]
    return messages


def record_of(message: bytes) -> list[str] | None:
    """Parse a record, which is untrusted: a list of texts, the first of which says what happened.

    "+" and a text mean a call that returned. Any other record is JSON; `None` if it is malformed.
    """
    try:
        text = message.decode("utf-8", "surrogatepass")
        record: object = ["completed", text[1:]] if text[:1] == "+" else json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(record, list) or not record or not all(isinstance(part, str) for part in record):
        return None
    return record


def hand_over(link: socket, byte: bytes, descriptor: int) -> None:
    """Send one byte together with a descriptor."""
    link.sendmsg([byte], [(SOL_SOCKET, SCM_RIGHTS, _RIGHTS.pack(descriptor))])


def take_over(link: socket) -> tuple[bytes, int] | None:
    """Receive the byte and the descriptor that `hand_over` sent; `None` if the other side has closed."""
    byte, ancillary, _, _ = link.recvmsg(1, CMSG_SPACE(_RIGHTS.size))
    return (byte, _RIGHTS.unpack(ancillary[0][2])[0]) if ancillary else None


def exactly(descriptor: int, size: int) -> bytes | None:
    """Wait for exactly `size` bytes.

    Returns:
        The bytes, or `None` if the other side has closed.

    Raises:
        BrokenFrameError: the other side closed before all bytes had arrived.
    """
    data = os.read(descriptor, min(size, 2**20)) if size else b""
    if len(data) == size:
        return data
    if not data:
        return None
    parts = bytearray(data)
    while len(parts) < size:
        more = os.read(descriptor, min(size - len(parts), 2**20))
        if not more:
            raise BrokenFrameError("cut off")
        parts += more
    return bytes(parts)


#: An iterator or generator is encoded as its values; one with more values than this is refused.
LONGEST_ITERATOR = 100_000

_SMALL = 2**63


class NotPlainError(Exception):
    """A value cannot be encoded, or a text is not an encoded value."""


class Opaque:
    """Placeholder for an object in the other process that is not a plain value.

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
        raise TypeError(f"a {self.kind} is not a plain value, so its truth value is not known here")


class Collected(Opaque):
    """Placeholder for a collection in the other process (a deque, a dictionary view, an array), with its values.

    Attributes:
        values: the values in the collection.
    """

    def __init__(self, kind: str, text: str, values: list[object]) -> None:
        super().__init__(kind, text)
        self.values = values

    def __iter__(self) -> Iterator[object]:
        return iter(self.values)

    def __len__(self) -> int:
        return len(self.values)


def dumps(value: object, *, opaque: bool = False) -> str:
    """Encode a value as text.

    Args:
        value: the value.
        opaque: whether an object that is not a plain value is encoded as an `Opaque`, instead of being refused.

    Raises:
        NotPlainError: the value cannot be encoded.

    Example:
        >>> dumps({"x": (1, 2.5)})
        '{"d": ["x", {"t": [1, 2.5]}]}'
    """
    try:
        return _text(value, opaque)
    except RecursionError:
        raise NotPlainError("the value is nested too deeply") from None


def loads(text: str | bytes) -> object:
    """Decode a text, which may come from an untrusted program.

    Raises:
        NotPlainError: the text is not an encoded value.

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
    """Encode a value for a process that trusts the sender, in a form that is fast to read.

    Raises:
        NotPlainError: the value cannot be encoded.
    """
    try:
        return b"m" + marshal.dumps(value, 2)  # type: ignore[arg-type]  # `marshal` raises ValueError for other types
    except ValueError:  # a subclass, a range, or an object that is not a plain value
        return b"j" + dumps(value).encode("ascii")


def unpacked(packet: bytes) -> object:
    """Decode a packet, which must come from `packed`: reading an untrusted packet is unsafe.

    Example:
        >>> unpacked(packed({"x": (1, 2.5)}))
        {'x': (1, 2.5)}
    """
    return marshal.loads(packet[1:]) if packet[:1] == b"m" else loads(packet[1:])  # noqa: S302 - see above


def _text(value: object, opaque: bool) -> str:
    # The commonest types come first, because every page that a freshly forked process writes costs a copy.
    kind = type(value)
    if kind is str:
        return encode_basestring_ascii(value)  # type: ignore[arg-type]  # a str, by the line above
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
    # Calling the base types' own methods keeps a subclass from overriding what is read.
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
    raise NotPlainError(f"a {type(value).__name__} is not a plain value")


def _seen_from_outside(value: object) -> str:
    kind = type(value)
    if kind.__module__ == "numpy" and getattr(value, "shape", None) == ():
        return _text(value.item(), opaque=True)  # type: ignore[attr-defined]  # a NumPy number
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


#: Modules whose collections are encoded with their values; types of other modules may behave in any way.
_COLLECTING = frozenset({"builtins", "collections", "array", "numpy"})

#: Plain number types that are not built in, and their modules.
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
