"""The ways to put a worker into a jail.

A backend knows the command that starts one worker; everything else (forking per program, limits, the filter) the worker
does itself, so that all backends run programs alike.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Final, Protocol

from merilo.errors import MissingPartError, UsageError
from merilo.sandbox import seccomp
from merilo.sandbox.interpreter import SYSTEM_LIBRARIES, Interpreter, interpreter
from merilo.sandbox.program import Limits
from merilo.sandbox.usernamespace import RootsNamespace

#: Where the worker's own modules lie inside a jail.
HOME: Final = "/merilo"
PACKAGES: Final = "/packages"
SCRATCH: Final = ("/tmp", "/dev/shm")  # noqa: S108 - inside the jail, and only there

_START: Final = "from merilo.sandbox.inside.start import main; main()"
_ARGUMENTS: Final = ("-S", "-s", "-c", _START)

_ENVIRONMENT: Final = {
    "HOME": SCRATCH[0],
    "LANG": "C.UTF-8",
    # Every symbol is bound before the forks: otherwise each program would bind what it uses again.
    "LD_BIND_NOW": "1",
    "PYTHONDONTWRITEBYTECODE": "1",
    "PYTHONHASHSEED": "0",
    "PYTHONUTF8": "1",
    "MKL_NUM_THREADS": "1",
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
}

_DEVICES: Final = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom")
#: What Docker puts into a container, and what of it a program may see.
_COVERS: Final[dict[str, list[str]]] = {
    **{
        path: []
        for path in ("/home", "/media", "/mnt", "/opt", "/proc", "/root", "/run", "/srv", "/sys", "/var")
    },
    "/dev": [*_DEVICES, SCRATCH[1]],
    "/etc": ["/etc/ld.so.cache"],
}
_READABLE: Final = ("/etc/ld.so.cache", "/usr/share/zoneinfo")


@dataclass(frozen=True, slots=True)
class Start:
    """How to start one worker: the command, its environment, descriptors to hand over, settings for the worker."""

    command: list[str]
    environment: dict[str, str]
    descriptors: tuple[int, ...]
    settings: dict[str, object]


class Backend(Protocol):
    """A way to start workers."""

    name: str
    jailed: bool

    def start(self, number: int, limits: Limits) -> Start:
        """What starts the worker of this number; workers that run at the same time have different numbers."""
        ...

    def close(self) -> None:
        """Give back what the backend holds for its workers."""
        ...


class Bubblewrap:
    """Linux namespaces by `bwrap`, which needs no privileges and no service.

    The jail sees the system's libraries and the interpreter's standard library, read-only; no `/proc`, no `/sys`, no
    `/etc`, no home, no network; five harmless devices. Run by root, it takes user ids for its programs that nobody on
    the machine has.

    Raises:
        MissingPartError: `bwrap` is not installed.
    """

    name = "bubblewrap"
    jailed = True

    def __init__(self, python: Interpreter, packages: Path | None = None) -> None:
        self._bwrap = shutil.which("bwrap")
        if self._bwrap is None:
            raise MissingPartError(
                "bubblewrap is not installed: 'apt install bubblewrap' or 'dnf install bubblewrap'"
            )
        if fakes := [device for device in _DEVICES if not Path(device).is_char_device()]:
            # A jail that hands it out would let programs write to it.
            raise MissingPartError(f"{fakes[0]} is not the device that it should be on this machine")
        self._python = python
        self._packages = packages
        self._can_forbid_user_namespaces = "--disable-userns" in _output([self._bwrap, "--help"])
        self._users = RootsNamespace() if os.geteuid() == 0 else None

    def start(self, number: int, limits: Limits) -> Start:
        """See `Backend`."""
        command = [
            str(self._bwrap),
            *self._namespaces(),
            *self._files(),
            "--",
            str(self._python.executable),
            *_ARGUMENTS,
        ]
        user = self._users.user(number) if self._users else None
        return Start(
            command,
            {**_ENVIRONMENT, "PYTHONPATH": HOME},
            (self._users.descriptor,) if self._users else (),
            _settings(limits, user=user, packages=PACKAGES if self._packages else None)
            | {"seal": list(_DEVICES)},
        )

    def close(self) -> None:
        """See `Backend`."""
        if self._users:
            self._users.close()

    def _namespaces(self) -> list[str]:
        words = ["--unshare-ipc", "--unshare-pid", "--unshare-net", "--unshare-uts", "--unshare-cgroup-try"]
        words += ["--hostname", "jail", "--die-with-parent", "--new-session", "--as-pid-1", "--chdir", "/"]
        words += ["--cap-drop", "ALL", "--cap-add", "CAP_SYS_ADMIN"]
        if self._users:
            # The worker takes off root's id for each program, and must still be able to kill what has another.
            words += ["--cap-add", "CAP_SETUID", "--cap-add", "CAP_SETGID", "--cap-add", "CAP_KILL"]
            return [*words, "--userns", str(self._users.descriptor)]
        words += ["--unshare-user", "--uid", "65534", "--gid", "65534"]
        return [*words, "--disable-userns"] if self._can_forbid_user_namespaces else words

    def _files(self) -> list[str]:
        words = []
        for folder in SYSTEM_LIBRARIES:
            if Path(folder).is_symlink():
                words += ["--symlink", str(Path(folder).readlink()), folder]
            elif Path(folder).is_dir():
                words += _read_only(Path(folder))
        for path in self._python.needs:
            words += _read_only(path)
        for path in self._python.hides:
            words += ["--tmpfs", str(path), "--remount-ro", str(path)]
        for name in _READABLE:
            if Path(name).exists():
                words += _read_only(Path(name))
        words += _read_only(_inside(), f"{HOME}/merilo/sandbox/inside")
        if self._packages:
            words += _read_only(self._packages, PACKAGES)
        for device in _DEVICES:
            words += [*_parents(device), "--dev-bind", device, device]
        for folder in SCRATCH:
            words += ["--perms", "0755", "--dir", folder]
        return [*words, "--remount-ro", "/"]


class Docker:
    """A container of the official Python image for each worker.

    Args:
        image: the image to run, with a `python3` of a supported version.
        packages: a folder with packages for the programs.

    Raises:
        MissingPartError: there is no `docker`, or its engine does not answer.
        UsageError: programs could not read the folder of packages.
    """

    name = "docker"
    jailed = True

    def __init__(self, image: str, packages: Path | None = None) -> None:
        docker = shutil.which("docker")
        if docker is None:
            raise MissingPartError("docker is not installed")
        if not _output([docker, "version", "--format", "{{.Server.Version}}"]).strip():
            raise MissingPartError(
                "docker is installed, but its engine does not answer: start it, and allow this user to use it"
            )
        if packages is not None and packages.stat().st_mode & 0o005 != 0o005:
            raise UsageError(
                f"'{packages}' must be readable by everybody: in a container, programs run as nobody",
                field="--packages",
            )
        self._docker = docker
        self._image = image
        self._packages = packages
        self._profile = os.memfd_create("merilo-seccomp")
        os.write(self._profile, json.dumps(seccomp.docker_profile()).encode())

    def start(self, number: int, limits: Limits) -> Start:
        """See `Backend`."""
        del number  # every container is a world of its own
        return Start(
            [
                self._docker,
                *container_arguments(self._image, limits, f"/proc/self/fd/{self._profile}", self._packages),
            ],
            dict(os.environ),  # the client's own: the container gets what its arguments name
            (self._profile,),
            _settings(limits, user=None, packages=PACKAGES if self._packages else None)
            | {"seal": list(_DEVICES), "covers": _COVERS},
        )

    def close(self) -> None:
        """See `Backend`."""
        if self._profile >= 0:
            os.close(self._profile)
            self._profile = -1


def container_arguments(image: str, limits: Limits, profile: str, packages: Path | None) -> list[str]:
    """The words after `docker` that start one worker.

    Args:
        image: the image.
        limits: what one program may use; the container gets that much for one program, and room for the worker.
        profile: a file with the seccomp profile, readable by the client.
        packages: a folder to mount.
    """
    memory = limits.memory_bytes * limits.processes + 2 * limits.scratch_bytes + _WORKERS_MEMORY
    words = ["run", "--rm", "--interactive", "--pull", "missing", "--log-driver", "none"]
    words += [
        "--network",
        "none",
        "--read-only",
        "--cap-drop",
        "ALL",
        "--user",
        "65534:65534",
        "--ipc",
        "private",
    ]
    words += ["--security-opt", "no-new-privileges", "--security-opt", f"seccomp={profile}"]
    words += ["--pids-limit", str(_tasks(limits) + 4), "--memory", str(memory), "--memory-swap", str(memory)]
    words += ["--hostname", "jail", "--workdir", "/"]
    for folder in SCRATCH:
        words += [
            "--tmpfs",
            f"{folder}:rw,nosuid,nodev,noexec,size={limits.scratch_bytes},nr_inodes=4096,mode=1777",
        ]
    words += ["--mount", f"type=bind,source={_inside()},target={HOME}/merilo/sandbox/inside,readonly"]
    if packages:
        words += ["--mount", f"type=bind,source={packages},target={PACKAGES},readonly"]
    for name, value in {**_ENVIRONMENT, "PYTHONPATH": HOME}.items():
        words += ["--env", f"{name}={value}"]
    return [*words, "--entrypoint", "python3", image, *_ARGUMENTS]


_WORKERS_MEMORY: Final = 128 * 2**20


class NoJail:
    """No jail at all: limits and a fork for each program, and nothing that holds a hostile one."""

    name = "none"
    jailed = False

    def __init__(self, python: Interpreter, packages: Path | None = None) -> None:
        self._python = python
        self._packages = packages

    def start(self, number: int, limits: Limits) -> Start:
        """See `Backend`."""
        folder = Path(tempfile.mkdtemp(prefix=f"merilo-unsafe-{number}-"))
        (folder / "merilo" / "sandbox").mkdir(parents=True)
        (folder / "merilo" / "sandbox" / "inside").symlink_to(_inside())
        scratch = folder / "scratch"
        scratch.mkdir()
        settings = _settings(limits, user=None, packages=str(self._packages) if self._packages else None)
        # The kernel counts all processes of a user, and without a jail that is not the program's user alone.
        settings["limits"] = {**_limits(limits), "tasks": None}
        # The worker removes the folder when the pool hangs up, even if nobody is left to do it for the pool.
        settings |= {
            "jailed": False,
            "filter": "",
            "forks": True,
            "scratch": [str(scratch)],
            "home": str(folder),
            "remove": str(folder),
        }
        environment = {
            **_ENVIRONMENT,
            "PYTHONPATH": str(folder),
            "HOME": str(scratch),
            "TMPDIR": str(scratch),
        }
        return Start([str(self._python.executable), *_ARGUMENTS], environment, (), settings)

    def close(self) -> None:
        """See `Backend`."""


def backend(
    name: str = "auto",
    *,
    python: str | None = None,
    packages: Path | None = None,
    unsafe_no_sandbox: bool = False,
) -> Backend:
    """Choose a way to run programs.

    Args:
        name: "bubblewrap", "docker", or "auto" for the first of them that is here.
        python: the Python for the programs, a version or (not with Docker) a path.
        packages: a folder with packages that programs may import.
        unsafe_no_sandbox: run without a jail; nothing else makes this function return a backend without one.

    Raises:
        MissingPartError: no jail works here.
        UsageError: an unknown name, or options that do not go together.
    """
    if packages is not None and not packages.is_dir():
        raise UsageError(f"'{packages}' is no folder", field="--packages")
    folder = packages.resolve() if packages else None
    if unsafe_no_sandbox:
        return NoJail(interpreter(python), folder)
    if name == "bubblewrap":
        return Bubblewrap(interpreter(python), folder)
    if name == "docker":
        return Docker(_image(python), folder)
    if name != "auto":
        raise UsageError(f"there is no backend '{name}': bubblewrap, docker or auto", field="--backend")
    reasons = []
    for make in (lambda: Bubblewrap(interpreter(python), folder), lambda: Docker(_image(python), folder)):
        try:
            return make()
        except MissingPartError as error:
            reasons.append(error.message)
    advice = "" if shutil.which("bwrap") else ": install bubblewrap, or Docker"
    raise MissingPartError(
        f"generated programs run only in a jail, and there is none here ({'; '.join(reasons)}){advice}"
    )


def _image(python: str | None) -> str:
    if python is not None and "/" in python:
        raise UsageError(
            "Docker runs the Python of an image: give a version such as 3.12, not a path", field="--python"
        )
    return f"python:{python or '3.12'}-slim"


def _settings(limits: Limits, *, user: int | None, packages: str | None) -> dict[str, object]:
    filter_program = seccomp.filter_for(several_processes=limits.processes > 1)
    return {
        "limits": _limits(limits),
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


def _limits(limits: Limits) -> dict[str, int | None]:
    """What the kernel bounds for a process, by the worker's names."""
    return {
        "memory": limits.memory_bytes,
        "cpu": limits.cpu_limit,
        "files": limits.open_files,
        "file_size": limits.file_bytes,
        "tasks": _tasks(limits),
        "core": 0,
    }


def _tasks(limits: Limits) -> int:
    """What the kernel counts for one user of a jail: the program's tasks, the judge, the worker, its nursery and its keeper."""
    return limits.processes + limits.threads + 4


def _inside() -> Path:
    return Path(str(files("merilo.sandbox.inside")))


def _read_only(path: Path, target: str | None = None) -> list[str]:
    where = target or str(path)
    return [*_parents(where), "--ro-bind", str(path), where]


def _parents(path: str) -> list[str]:
    """Folders that lead to a mount: bwrap would make them readable by root alone."""
    return [
        word
        for parent in reversed(Path(path).parents[:-1])
        for word in ("--perms", "0755", "--dir", str(parent))
    ]


def _output(command: list[str]) -> str:
    try:
        done = subprocess.run(command, capture_output=True, timeout=20, check=False, stdin=subprocess.DEVNULL)  # noqa: S603 - a fixed command
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.decode("utf-8", "replace")
