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


def write(descriptor: int, *parts: bytes | memoryview) -> None:
    """Send one message, in parts or whole, however often the kernel takes only some of it."""
    length = 0
    for part in parts:  # not `sum`, which a program may have replaced
        length += len(part)
    waiting = [memoryview(part) for part in (_LENGTH.pack(length), *parts) if len(part)]
    while waiting:
        taken = os.writev(descriptor, waiting)
        while waiting and taken >= len(waiting[0]):
            taken -= len(waiting.pop(0))
        if waiting:
            waiting[0] = waiting[0][taken:]


def read(descriptor: int, longest: int | None = None) -> bytes | None:
    """Wait for one message.

    Returns:
        The message, or `None` when the other side has closed.

    Raises:
        BrokenFrameError: a message longer than `longest`, or cut off in the middle.
    """
    head = exactly(descriptor, _LENGTH.size)
    if head is None:
        return None
    (length,) = _LENGTH.unpack(head)
    if longest is not None and length > longest:
        raise BrokenFrameError(f"a message of {length} bytes, where {longest} are allowed")
    body = exactly(descriptor, length)
    if body is None:
        raise BrokenFrameError("cut off")
    return body


class Slate:
    """Memory for what one program must not find of another: read into without a copy, wiped after use.

    A forked program inherits the worker's memory, freed objects included, and may search it. So whatever belongs to a
    program or tells a right answer is held by the worker on a slate and nowhere else.
    """

    _USUAL = 2**16

    def __init__(self) -> None:
        self._memory = bytearray(self._USUAL)
        self._used = 0

    @property
    def content(self) -> memoryview:
        """What was read since the last wipe."""
        return memoryview(self._memory)[: self._used]

    def fill(self, descriptor: int, size: int) -> None:
        """Read exactly so many bytes.

        Raises:
            BrokenFrameError: the other side closed before.
        """
        self.reserve(size)
        while self._used < size:
            if not self.add(descriptor, size - self._used):
                raise BrokenFrameError("cut off")

    def fill_from_frame(self, descriptor: int, longest: int) -> None:
        """Read one message; nothing is there if the other side has closed."""
        head = exactly(descriptor, _LENGTH.size)
        if head is None:
            return
        (length,) = _LENGTH.unpack(head)
        if length > longest:
            raise BrokenFrameError(f"a message of {length} bytes, where {longest} are allowed")
        self.fill(descriptor, length)

    def reserve(self, size: int) -> None:
        """Make room, on an empty slate."""
        if size > len(self._memory):
            self._memory = bytearray(size)

    def add(self, descriptor: int, most: int) -> int:
        """Read what is there, at most so many bytes; returns how many."""
        count = os.readv(descriptor, [memoryview(self._memory)[self._used : self._used + most]])
        self._used += count
        return count

    def wipe(self) -> None:
        """Leave nothing."""
        self._memory[: self._used] = bytes(self._used)
        if self._used > self._USUAL:
            self._memory = bytearray(self._USUAL)
        self._used = 0


def exactly(descriptor: int, size: int) -> bytes | None:
    """Wait for that many bytes.

    Returns:
        The bytes, or `None` when the other side has closed.

    Raises:
        BrokenFrameError: the other side closed in the middle.
    """
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
