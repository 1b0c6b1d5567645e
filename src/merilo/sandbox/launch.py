"""What every backend needs to start a worker: the command, the environment, and the worker's settings."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Final, Protocol

from merilo.sandbox import seccomp
from merilo.sandbox.program import Limits

#: The folder of the worker's own modules inside a jail.
HOME: Final = "/merilo"
PACKAGES: Final = "/packages"
SCRATCH: Final = ("/tmp", "/dev/shm")  # noqa: S108 - inside the jail, and only there
_START: Final = "from merilo.sandbox.inside.start import main; main()"
ARGUMENTS: Final = ("-S", "-s", "-c", _START)
#: Most pending signals and timers: the kernel allocates memory for each and would otherwise allow 100,000s of them.
SIGNALS: Final = 1024
ENVIRONMENT: Final = {
    "HOME": SCRATCH[0],
    "LANG": "C.UTF-8",
    # Bind every symbol before the forks: otherwise each program would bind the symbols that it uses again.
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
#: /dev/zero is left out: a mapping of it is memory that escapes the limits.
DEVICES: Final = ("/dev/null", "/dev/full", "/dev/random", "/dev/urandom")


@dataclass(frozen=True, slots=True)
class Start:
    """How to start one worker: the command, its environment, descriptors to pass on, and the worker's settings."""

    command: list[str]
    environment: dict[str, str]
    descriptors: tuple[int, ...]
    settings: dict[str, object]


class Backend(Protocol):
    """A kind of jail, which starts workers.

    Attributes:
        name: the name of the kind of jail.
        jailed: whether programs are jailed at all.
        python: the version of Python for programs, as precisely as it is known before a worker runs.
    """

    name: str
    jailed: bool
    python: str

    def start(self, number: int, limits: Limits) -> Start:
        """Return how to start the worker with this number; workers that run at the same time have different numbers."""
        ...

    def close(self) -> None:
        """Release the resources that the backend holds for its workers."""
        ...


def settings_for(limits: Limits, *, user: int | None, packages: str | None) -> dict[str, object]:
    """Return the worker's settings, with the values for a jail of bubblewrap.

    Args:
        limits: what one program may use.
        user: the user id for programs; `None` if the worker cannot change it.
        packages: the path of the folder of packages as the worker sees it, if any.
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
    """Return the kernel's limits for a process, by the names that the worker uses."""
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
    """Return the limit on tasks of a jail's user: the program's, the judge, the worker, the fork server and the init process."""
    return limits.processes + limits.threads + 4


def inside_folder() -> Path:
    """Return the folder of the worker's own modules on this machine."""
    return Path(str(files("merilo.sandbox.inside")))


def output_of(command: list[str]) -> str:
    """Return the output of a command; empty if it cannot be run or takes too long."""
    try:
        done = subprocess.run(command, capture_output=True, timeout=20, check=False, stdin=subprocess.DEVNULL)  # noqa: S603 - a fixed command
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.decode("utf-8", "replace")
