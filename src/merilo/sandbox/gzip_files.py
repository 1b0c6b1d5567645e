"""Reading files that may be compressed with gzip, as HumanEval's file is."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from io import BufferedReader
from pathlib import Path
from typing import Final

from merilo.errors import InputError
from merilo.files import opened

MARK: Final = b"\x1f\x8b"

#: The first bytes of unsupported file formats, and the message for each.
_OTHERS: Final = (
    (b"\x28\xb5\x2f\xfd", "is compressed with Zstandard, but only gzip is supported; decompress it first"),
    (b"\xfd7zXZ\x00", "is compressed with xz, but only gzip is supported; decompress it first"),
    (b"BZh", "is compressed with bzip2, but only gzip is supported; decompress it first"),
    (b"PK\x03\x04", "is a ZIP archive, but only gzip is supported; unpack it first"),
    (b"\xff\xfe", "is UTF-16 text, but only UTF-8 is supported; convert it first"),
    (b"\xfe\xff", "is UTF-16 text, but only UTF-8 is supported; convert it first"),
)


def is_packed(path: Path) -> bool:
    """Return whether a file begins with the gzip signature.

    Raises:
        InputError: the file cannot be read, or has an unsupported compression or encoding.
    """
    with opened(path) as stream:
        head = stream.read(8)
    _refuse_others(head, path)
    return head.startswith(MARK)


@contextmanager
def unpacked(path: Path) -> Iterator[BufferedReader | gzip.GzipFile]:
    """Open a file for reading and decompress it if it is a gzip archive.

    Errors of decompression inside the `with` block are raised as `InputError` too.

    Raises:
        InputError: the file cannot be read, is compressed twice, or is an incomplete archive.
    """
    with opened(path) as stream:
        head = stream.read(8)
        _refuse_others(head, path)
        stream.seek(0)
        if not head.startswith(MARK):
            yield stream
            return
        try:
            with gzip.GzipFile(fileobj=stream) as archive:
                inner = archive.read(8)
                _refuse_others(inner, path)
                if inner.startswith(MARK):
                    raise InputError("is compressed twice; decompress it once", file=path)
                archive.seek(0)
                yield archive
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise InputError(f"is an incomplete or damaged gzip archive ({error})", file=path) from None


def _refuse_others(head: bytes, path: Path) -> None:
    for mark, sentence in _OTHERS:
        if head.startswith(mark):
            raise InputError(sentence, file=path)
