"""Files that take long to make: made once for all processes of a test run."""

import contextlib
import fcntl
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from command import printed


def made_for_all(factory: pytest.TempPathFactory, name: str, make: Callable[[Path], None]) -> Path:
    """Return a folder that the first process makes; the others wait for it. Tests must not change it.

    Args:
        factory: pytest's factory of temporary folders.
        name: the folder's name.
        make: fills the empty folder; if it fails, the next process tries again.
    """
    base = factory.getbasetemp()
    root = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
    with (root / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        number = len(list(root.glob(f"{name}-*")))
        done = root / f"{name}.done"
        if not done.exists():
            folder = root / f"{name}-{number}"
            folder.mkdir()
            make(folder)
            done.write_text(folder.name)
    return root / done.read_text()


def made_demo(factory: pytest.TempPathFactory) -> Path:
    """Return the folder in which `merilo demo` ran; `printed.txt` in it holds what it printed."""

    def make(folder: Path) -> None:
        with contextlib.chdir(folder):
            status, screen = printed("demo", "--no-open")
        assert status == 0, screen
        (folder / "printed.txt").write_text(screen, encoding="utf-8")

    return made_for_all(factory, "demo", make)
