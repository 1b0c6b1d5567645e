"""The folders that a program may write to: in memory, of bounded size, and empty before each program."""

from __future__ import annotations

import contextlib
import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from merilo.sandbox.inside.kernel import Kernel

_FILES = 4096


class Scratch:
    """The scratch folders of one worker.

    Args:
        paths: where they are.
        size: bytes that each may hold.
        kernel: the system calls for a jail; `None` without one, where folders are swept file by file.

    Attributes:
        is_mounted: whether each is a mount of this worker's own. A container may forbid mounting: then what it provides
            is swept.
    """

    def __init__(self, paths: list[str], size: int, kernel: Kernel | None) -> None:
        self._paths = paths
        self._size = size
        self._kernel = kernel
        self._untouched: dict[str, tuple[int, ...]] = {}
        self.is_mounted = False

    def mount(self) -> None:
        """Put an empty folder in memory on each path, where that is allowed."""
        if self._kernel is None:
            return
        try:
            for path in self._paths:
                self._mount(path, self._kernel)
        except OSError:
            return
        self.is_mounted = True

    def sweep(self) -> None:
        """Empty the folders, and leave nothing on the folders themselves, which a program may own.

        Raises:
            OSError: something cannot be removed.
        """
        for path in self._paths:
            if self.is_mounted and self._kernel is not None:
                # The state alone misses a file made within the same tick of the kernel's clock.
                if _state(path) != self._untouched[path] or os.listdir(path):
                    self._kernel.unmount(path)
                    self._mount(path, self._kernel)
            elif names := os.listdir(path):
                for name in names:
                    remove(os.path.join(path, name))
                if os.listdir(path):
                    raise OSError(f"'{path}' cannot be emptied")

    def _mount(self, path: str, kernel: Kernel) -> None:
        kernel.mount_scratch(path, self._size, _FILES)
        self._untouched[path] = _state(path)


def _state(path: str) -> tuple[int, ...]:
    """What a folder's owner can change of it, and what any change leaves behind."""
    found = os.stat(path)
    return found.st_mode, found.st_atime_ns, found.st_mtime_ns, found.st_ctime_ns


def remove(path: str) -> None:
    """Remove a file or a folder, as far as that goes."""
    with contextlib.suppress(OSError):
        if os.path.isdir(path) and not os.path.islink(path):
            from shutil import rmtree  # noqa: PLC0415 - loads much, and is seldom needed

            rmtree(path, ignore_errors=True)
        else:
            os.unlink(path)
