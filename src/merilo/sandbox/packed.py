"""Files that may be packed by gzip, as HumanEval's are."""

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


def is_packed(path: Path) -> bool:
    """Whether a file begins as a gzip archive does.

    Raises:
        InputError: the file cannot be read.
    """
    with opened(path) as stream:
        return stream.read(len(MARK)) == MARK


@contextmanager
def unpacked(path: Path) -> Iterator[BufferedReader | gzip.GzipFile]:
    """Open a file, or what is packed in it; what cannot be read, now or in the block, is said in one sentence.

    Raises:
        InputError: the file cannot be read, or is no whole archive.
    """
    with opened(path) as stream:
        packed = stream.read(len(MARK)) == MARK
        stream.seek(0)
        if not packed:
            yield stream
            return
        try:
            with gzip.GzipFile(fileobj=stream) as archive:
                yield archive
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise InputError(f"is not a whole gzip archive ({error})", file=path) from None
