"""Scratch folders for programs: in memory, limited in size, and empty before each program."""

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
        paths: the folders.
        size: the capacity of each folder in bytes.
        kernel: the system calls for a jail; `None` without a jail, where folders are emptied file by file.

    Attributes:
        is_mounted: whether this worker has mounted each folder. If a container forbids mounting, the container's own
            folders are emptied file by file.
    """

    def __init__(self, paths: list[str], size: int, kernel: Kernel | None) -> None:
        self._paths = paths
        self._size = size
        self._kernel = kernel
        self._untouched: dict[str, tuple[int, ...]] = {}
        self.is_mounted = False

    def mount(self) -> None:
        """Mount an empty tmpfs on each path, if that is allowed."""
        if self._kernel is None:
            return
        try:
            for path in self._paths:
                self._mount(path, self._kernel)
        except OSError:
            return
        self.is_mounted = True

    def sweep(self) -> None:
        """Empty the folders; a mounted folder that was changed is mounted anew, which also resets its mode and times.

        Raises:
            OSError: a folder cannot be emptied.
        """
        for path in self._paths:
            if self.is_mounted and self._kernel is not None:
                # The state alone misses a file created within the same tick of the kernel's clock.
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
    """Return a folder's mode and times, which show whether it was changed."""
    status = os.stat(path)
    return status.st_mode, status.st_atime_ns, status.st_mtime_ns, status.st_ctime_ns


def remove(path: str) -> None:
    """Remove a file or a folder, ignoring errors."""
    with contextlib.suppress(OSError):
        if os.path.isdir(path) and not os.path.islink(path):
            from shutil import rmtree  # noqa: PLC0415 - imports many modules and is rarely needed

            rmtree(path, ignore_errors=True)
        else:
            os.unlink(path)
