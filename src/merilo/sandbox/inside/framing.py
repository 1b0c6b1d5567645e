"""Length-prefixed messages on a descriptor: four bytes of length, then the message."""

from __future__ import annotations

import os
import struct
from _socket import (  # `socket` imports many modules, which would slow down every fork
    CMSG_SPACE,
    SCM_RIGHTS,
    SOL_SOCKET,
    socket,
)

_LENGTH = struct.Struct("<I")
_RIGHTS = struct.Struct("i")


class BrokenFrameError(Exception):
    """A frame is cut off or longer than allowed."""


def frame(message: bytes) -> bytes:
    r"""Return the bytes of one framed message.

    Example:
        >>> frame(b"ab")
        b'\x02\x00\x00\x00ab'
    """
    return _LENGTH.pack(len(message)) + message


def write(descriptor: int, *parts: bytes) -> None:
    """Send the parts as one message, repeating partial writes until all of it is sent."""
    message = parts[0] if len(parts) == 1 else b"".join(parts)
    message = _LENGTH.pack(len(message)) + message
    taken = os.write(descriptor, message)
    while taken < len(message):
        taken += os.write(descriptor, memoryview(message)[taken:])


def read(descriptor: int, longest: int | None = None) -> bytes | None:
    """Wait for one message.

    Returns:
        The message, or `None` if the other side has closed.

    Raises:
        BrokenFrameError: the message is longer than `longest` bytes, or cut off.
    """
    head = exactly(descriptor, _LENGTH.size)
    if head is None:
        return None
    return _body(descriptor, _LENGTH.unpack(head)[0], b"", longest)


def _body(descriptor: int, length: int, start: bytes, longest: int | None) -> bytes:
    """Read what is missing of a message of `length` bytes that begins with `start`."""
    if longest is not None and length > longest:
        raise BrokenFrameError(f"a message of {length} bytes, but only {longest} are allowed")
    rest = exactly(descriptor, length - len(start))
    if rest is None:
        raise BrokenFrameError("cut off")
    return start + rest if start else rest


class Stream:
    """Buffered reader of the messages on one descriptor; one system call may read several messages.

    Args:
        descriptor: the descriptor; nothing else may read from it.
    """

    _AT_ONCE = 4096

    def __init__(self, descriptor: int) -> None:
        self.descriptor = descriptor
        self._ahead = b""

    def read(self, longest: int | None = None) -> bytes | None:
        """Wait for one message, as the function `read` does."""
        while len(self._ahead) < _LENGTH.size:
            more = os.read(self.descriptor, self._AT_ONCE)
            if not more:
                if self._ahead:
                    raise BrokenFrameError("cut off")
                return None
            self._ahead += more
        length = _LENGTH.unpack_from(self._ahead)[0]
        end = _LENGTH.size + length
        start = self._ahead[_LENGTH.size : end]
        self._ahead = self._ahead[end:]
        return start if len(start) == length else _body(self.descriptor, length, start, longest)


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
    first = os.read(descriptor, min(size, 2**20)) if size else b""
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
