"""Messages of known length on a descriptor: four bytes of length, then the message."""

from __future__ import annotations

import os
import struct

_LENGTH = struct.Struct("<I")


class BrokenFrameError(Exception):
    """A frame that ends too early or is longer than it may be."""


def frame(message: bytes) -> bytes:
    r"""The bytes of one message.

    Example:
        >>> frame(b"ab")
        b'\x02\x00\x00\x00ab'
    """
    return _LENGTH.pack(len(message)) + message


def write(descriptor: int, message: bytes) -> None:
    """Send one message, however often the kernel takes only a part of it."""
    view = memoryview(frame(message))
    while view:
        view = view[os.write(descriptor, view) :]


def read(descriptor: int, longest: int | None = None) -> bytes | None:
    """Wait for one message.

    Returns:
        The message, or `None` when the other side has closed.

    Raises:
        BrokenFrameError: a message longer than `longest`, or cut off in the middle.
    """
    head = _exactly(descriptor, _LENGTH.size)
    if head is None:
        return None
    (length,) = _LENGTH.unpack(head)
    if longest is not None and length > longest:
        raise BrokenFrameError(f"a message of {length} bytes, where {longest} are allowed")
    body = _exactly(descriptor, length)
    if body is None:
        raise BrokenFrameError("cut off")
    return body


def _exactly(descriptor: int, size: int) -> bytes | None:
    """That many bytes; `None` if there is none at all."""
    first = os.read(descriptor, size) if size else b""
    if len(first) == size:
        return first
    if not first:
        return None
    parts = bytearray(first)
    while len(parts) < size:
        more = os.read(descriptor, min(size - len(parts), 2**20))
        if not more:
            raise BrokenFrameError("cut off")
        parts += more
    return bytes(parts)
