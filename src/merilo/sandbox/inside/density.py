"""Filling the holes in a process's memory before it forks.

What an interpreter has freed on its way lies all over its memory, a few blocks on each page, and is what it hands out
first. A forked child that builds its objects there has page after page copied for a few bytes on each. When every hole
is filled, what a child allocates lies side by side, on few pages.
"""

from __future__ import annotations

import ctypes
import sys
from typing import Any

#: What is allocated at most, in blocks of one size and in bytes, should an allocator be of another kind.
_PATIENCE = 20_000
_MOST = 2**24

#: Python's own allocator: sizes in steps, from pools whose first block stands behind a header.
_STEP, _LARGEST = 16, 512
_POOL = 2**14 if sys.version_info >= (3, 10) else 2**12
_HEADER = 48

#: The C library's: after that many large blocks it has come to the end of its memory. Sizes to fill, largest first.
_LARGE, _LARGE_HOLES = 120_000, 16
_SIZES = (*range(2**16, 2**12, -(2**12)), *range(2**12, 2**10, -(2**8)), *range(2**10, 2**4, -(2**4)))

#: What fills the holes, for as long as the process lives.
_filling: list[object] = []


def fill_holes() -> None:
    """Take every free block that lies between others, for good; what is allocated from here on lies together."""
    for size in range(_STEP, _LARGEST + 1, _STEP):
        for _ in range(_PATIENCE):
            block = _block(size)
            _filling.append(block)
            if id(block) % _POOL == _HEADER:
                break
    _fill_heap()


def _block(size: int) -> object:
    """An object that takes one block of this size."""
    if size == _STEP:
        return object()
    if size == 2 * _STEP:
        return float(size)
    return bytes(size - sys.getsizeof(b""))


def _fill_heap() -> None:
    library: Any = ctypes.PyDLL(None)
    allocate, free = library.malloc, library.free
    allocate.restype, allocate.argtypes = ctypes.c_void_p, [ctypes.c_size_t]
    free.argtypes = [ctypes.c_void_p]
    large = [allocate(_LARGE) or 0 for _ in range(_LARGE_HOLES)]
    end = max(large)
    room = _MOST
    for size in _SIZES:
        while room > 0:
            block: int | None = allocate(size)
            room -= size
            if block is None or block > end:
                free(block)
                break
    for block in large:
        free(block)  # a hole of this size is no worse than the end
