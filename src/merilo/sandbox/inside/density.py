"""Filling the holes in a process's memory before it forks.

What an interpreter has freed on its way lies all over its memory, a few blocks on each page, and is what it hands out
first. A forked child that builds its objects there has page after page copied for a few bytes on each. When every hole
is filled, what a child allocates lies side by side, on few pages.
"""

from __future__ import annotations

import ctypes
import sys
from itertools import repeat
from typing import Any

#: What is allocated at most, in rounds of two pools for one size and in bytes, should an allocator be of another kind.
_PATIENCE = 40
_MOST = 2**24

#: Python's own allocator: sizes in steps, from pools whose blocks stand behind a header.
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
        of_a_pool = (_POOL - _HEADER) // size
        for _ in range(_PATIENCE):
            blocks = list(map(_block, repeat(size, 2 * of_a_pool)))
            new = _new_pool(blocks, size * (of_a_pool - 1))
            _filling.append(blocks[: new + 1])
            if new < len(blocks):
                break
        else:
            break  # an allocator of another kind, which has no such pools
    _fill_heap()


def _new_pool(blocks: list[object], span: int) -> int:
    """Where, in blocks that were allocated one after another, a new pool begins; past their end if nowhere.

    From there on stand all blocks of a pool, from its first to its last. A pool with a hole gives less than all, even
    where its first block is among them; and a new pool is begun only when no other has a hole left.
    """
    later = len(blocks) // 2 - 1
    for number, block in enumerate(blocks[:-later]):
        if id(block) % _POOL == _HEADER and id(blocks[number + later]) - id(block) == span:
            return number
    return len(blocks)


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
