"""Files that several tests start from: made once in a process, or once for all processes of a test run."""

import contextlib
import fcntl
import functools
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from command import printed


def made_once(make: Callable[..., Path]) -> Callable[..., Path]:
    """Decorate a function that writes files below an empty folder and returns a path below it.

    The first call with some arguments makes the files. Later calls with equal arguments write the same bytes below the
    folder that they name, so that a test may change its files. The arguments must be hashable.
    """
    known: dict[object, tuple[dict[Path, bytes], Path]] = {}

    @functools.wraps(make)
    def write(folder: Path, *arguments: object, **named: object) -> Path:
        key = (arguments, tuple(sorted(named.items())))
        if key not in known:
            before = set(folder.rglob("*"))
            result = make(folder, *arguments, **named).relative_to(folder)
            made = (path for path in folder.rglob("*") if path.is_file() and path not in before)
            known[key] = {path.relative_to(folder): path.read_bytes() for path in made}, result
        else:
            files, result = known[key]
            for path, content in files.items():
                (folder / path).parent.mkdir(parents=True, exist_ok=True)
                (folder / path).write_bytes(content)
        return folder / result

    return write


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
