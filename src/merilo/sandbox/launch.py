"""What every backend needs to start a worker: the command's words, the environment, and the worker's settings."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Final, Protocol

from merilo.sandbox import seccomp
from merilo.sandbox.program import Limits

#: Where the worker's own modules lie inside a jail.
HOME: Final = "/merilo"
PACKAGES: Final = "/packages"
SCRATCH: Final = ("/tmp", "/dev/shm")  # noqa: S108 - inside the jail, and only there
_START: Final = "from merilo.sandbox.inside.start import main; main()"
ARGUMENTS: Final = ("-S", "-s", "-c", _START)
#: Signals that may wait at a time, and timers that may be set: the kernel keeps memory for each, by the hundred thousand.
SIGNALS: Final = 1024
ENVIRONMENT: Final = {
    "HOME": SCRATCH[0],
    "LANG": "C.UTF-8",
    # Every symbol is bound before the forks: otherwise each program would bind what it uses again.
    "LD_BIND_NOW": "1",
    # Otherwise each thread would reserve 128 MiB of addresses, and four would be all that the limit on memory allows.
    "MALLOC_ARENA_MAX": "1",
    "PYTHONDONTWRITEBYTECODE": "1",
    "PYTHONHASHSEED": "0",
    "PYTHONUTF8": "1",
    "MKL_NUM_THREADS": "1",
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
}
#: Not /dev/zero: mapped, it is memory that escapes the limits.
DEVICES: Final = ("/dev/null", "/dev/full", "/dev/random", "/dev/urandom")


@dataclass(frozen=True, slots=True)
class Start:
    """How to start one worker: the command, its environment, descriptors to hand over, settings for the worker."""

    command: list[str]
    environment: dict[str, str]
    descriptors: tuple[int, ...]
    settings: dict[str, object]


class Backend(Protocol):
    """A way to start workers.

    Attributes:
        name: of the kind of jail.
        jailed: whether it is one.
        python: the version of the Python that programs get, as far as it is known before a worker is up.
    """

    name: str
    jailed: bool
    python: str

    def start(self, number: int, limits: Limits) -> Start:
        """What starts the worker of this number; workers that run at the same time have different numbers."""
        ...

    def close(self) -> None:
        """Give back what the backend holds for its workers."""
        ...


def settings_for(limits: Limits, *, user: int | None, packages: str | None) -> dict[str, object]:
    """The worker's settings, as for a jail of bubblewrap's.

    Args:
        limits: what one program may use.
        user: the id that programs take; `None` where the worker has no other to give.
        packages: where the worker sees the folder of packages, if any.
    """
    filter_program = seccomp.filter_for(several_processes=limits.processes > 1)
    return {
        "limits": kernel_limits(limits),
        "wall": limits.wall_seconds,
        "output": limits.output_bytes,
        "filter": filter_program.hex(),
        "forks": limits.processes > 1,
        "user": user,
        "scratch": list(SCRATCH),
        "scratch_bytes": limits.scratch_bytes,
        "packages": packages,
        "jailed": True,
        "home": HOME,
        "remove": None,
        "seal": [],
        "covers": {},
    }


def kernel_limits(limits: Limits) -> dict[str, int | None]:
    """What the kernel bounds for a process, by the worker's names."""
    return {
        "memory": limits.memory_bytes,
        "cpu": limits.cpu_limit,
        "files": limits.open_files,
        "file_size": limits.file_bytes,
        "tasks": tasks(limits),
        "signals": SIGNALS,
        "core": 1,  # bytes: with 0, the kernel may still pass the memory to a program that collects cores
    }


def tasks(limits: Limits) -> int:
    """What the kernel counts for one user of a jail: the program's tasks, the judge, the worker, its nursery and its keeper."""
    return limits.processes + limits.threads + 4


def inside_folder() -> Path:
    """The folder of the worker's own modules, on this machine."""
    return Path(str(files("merilo.sandbox.inside")))


def output_of(command: list[str]) -> str:
    """What a command prints; nothing where it cannot be run."""
    try:
        done = subprocess.run(command, capture_output=True, timeout=20, check=False, stdin=subprocess.DEVNULL)  # noqa: S603 - a fixed command
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.decode("utf-8", "replace")
