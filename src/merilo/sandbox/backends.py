"""Backends: the kinds of jail that workers run in.

A backend gives the command that starts one worker. The worker itself does everything else (forking for each program,
limits, the filter), so that programs run in the same way on all backends.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Final, TypeAlias, cast

from merilo.errors import MissingPartError, UsageError, argument
from merilo.sandbox import seccomp
from merilo.sandbox.interpreter import SYSTEM_LIBRARIES, Interpreter, interpreter
from merilo.sandbox.program import Limits

#: The folder of the worker's own modules inside a jail.
HOME: Final = "/merilo"
PACKAGES: Final = "/packages"
SCRATCH: Final = ("/tmp", "/dev/shm")  # noqa: S108 - inside the jail, and only there
_START: Final = "from merilo.sandbox.inside.worker import main; main()"
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


def settings_for(limits: Limits, *, packages: Path | None, **changes: object) -> dict[str, object]:
    """Return the worker's settings.

    Args:
        limits: what one program may use.
        packages: the folder of packages on this machine, if any.
        changes: settings with other values than in a jail that is complete when the worker starts.
    """
    filter_program = seccomp.filter_for(several_processes=limits.processes > 1)
    return {
        "limits": {
            "memory": limits.memory_bytes,
            "cpu": limits.cpu_limit,
            "files": limits.open_files,
            "file_size": limits.file_bytes,
            "tasks": tasks(limits),
            "signals": SIGNALS,
            "core": 1,  # bytes: with 0, the kernel may still pass the memory to a program that collects cores
        },
        "wall": limits.wall_seconds,
        "output": limits.output_bytes,
        "answers": limits.output_bytes + 64 * 1024,  # of a program, with the frames around them
        "filter": filter_program.hex(),
        "forks": limits.processes > 1,
        "user": None,
        "scratch": list(SCRATCH),
        "scratch_bytes": limits.scratch_bytes,
        "packages": PACKAGES if packages else None,
        "jailed": True,
        "home": HOME,
        "remove": None,
        "seal": list(DEVICES),
        "covers": {},
        **changes,
    }


def tasks(limits: Limits) -> int:
    """Return the limit on tasks of a jail's user.

    The program's, the judge, the worker, the fork server and the init process.
    """
    return limits.processes + limits.threads + 4


def inside_folder() -> Path:
    """Return the folder of the worker's own modules on this machine."""
    return Path(str(files("merilo.sandbox.inside")))


def output_of(command: list[str]) -> str:
    """Return the output of a command; empty if it cannot be run or takes too long."""
    try:
        done = subprocess.run(  # noqa: S603 - a fixed command
            command, capture_output=True, timeout=20, check=False, stdin=subprocess.DEVNULL
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.decode("utf-8", "replace")


#: Above the ranges of ids that distributions assign to users and containers.
FIRST_ID: Final = 1_835_363_696
IDS: Final = 4096

#: A separate process creates the namespace, because `unshare` affects its caller and forking this process is
#: unsafe if it
#: has threads. The separate process forbids nested user namespaces, and waits for a line of input before it ends.
_MAKER: Final = """
import ctypes, sys
if ctypes.CDLL(None, use_errno=True).unshare(0x10000000):
    sys.exit("unshare: error %d" % ctypes.get_errno())
print(flush=True)
sys.stdin.readline()
try:
    open("/proc/sys/user/max_user_namespaces", "w").write("0")
except OSError:
    pass
print(flush=True)
sys.stdin.readline()
"""


class RootsNamespace:
    """A user namespace in which id 0 is this machine's root without privileges outside.

    Ids from 1 belong to no account.

    Attributes:
        descriptor: an open descriptor of the namespace.

    Raises:
        MissingPartError: the kernel refuses to create user namespaces.
    """

    def __init__(self) -> None:
        with subprocess.Popen(  # noqa: S603 - our own interpreter and the text above
            [sys.executable, "-I", "-S", "-c", _MAKER],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        ) as maker:
            try:
                self.descriptor = self._made_by(maker)
            except OSError as error:
                raise MissingPartError(
                    f"the kernel refuses to create user namespaces for the sandbox ({error})"
                ) from error

    def _made_by(self, maker: subprocess.Popen[bytes]) -> int:
        assert maker.stdin is not None  # noqa: S101 - both are pipes
        assert maker.stdout is not None  # noqa: S101 - as above
        if not maker.stdout.readline():
            raise OSError("unshare was refused")
        process = Path("/proc") / str(maker.pid)
        for name in ("uid_map", "gid_map"):
            (process / name).write_text(f"0 0 1\n1 {FIRST_ID} {IDS}\n")
        maker.stdin.write(b"\n")
        maker.stdin.flush()
        maker.stdout.readline()
        descriptor = os.open(process / "ns" / "user", os.O_RDONLY | os.O_CLOEXEC)
        maker.stdin.write(b"\n")
        maker.stdin.flush()
        return descriptor

    def user(self, number: int) -> int:
        """Return the id, inside the namespace, for the programs of the worker with this number."""
        return 1 + number % IDS

    def close(self) -> None:
        """Close the descriptor; the namespace exists until the last jail in it ends."""
        if self.descriptor >= 0:
            os.close(self.descriptor)
            self.descriptor = -1


#: Folders of a container that the worker hides from programs, each with the paths in it that stay visible.
_COVERS: Final[dict[str, list[str]]] = {
    **{
        path: []
        for path in ["/home", "/media", "/mnt", "/opt", "/proc", "/root", "/run", "/srv", "/sys", "/var"]
    },
    "/dev": [*DEVICES, SCRATCH[1]],
    "/etc": ["/etc/ld.so.cache"],
}


class Docker:
    """A container of the official Python image for each worker.

    Args:
        image: the image to run, with a `python3` of a supported version.
        packages: a folder with packages for the programs.

    Raises:
        MissingPartError: `docker` is not installed, or its engine does not answer.
        UsageError: the folder of packages is not readable by everybody.
    """

    name = "docker"
    jailed = True

    def __init__(self, image: str, packages: Path | None = None) -> None:
        docker = shutil.which("docker")
        if docker is None:
            raise MissingPartError("docker is not installed")
        if not output_of([docker, "version", "--format", "{{.Server.Version}}"]).strip():
            raise MissingPartError(
                "docker is installed, but its engine does not answer: start it, or allow this user to use it"
            )
        if packages is not None and packages.stat().st_mode & 0o005 != 0o005:
            raise UsageError(
                f"'{packages}' must be readable by everybody, because programs in a container run as the user nobody",
                field=argument("packages"),
            )
        self.python = image.rpartition("/")[2].removeprefix("python:")
        self._docker = docker
        self._image = image
        self._packages = packages
        self._profile = os.memfd_create("merilo-seccomp")
        os.write(self._profile, json.dumps(seccomp.docker_profile()).encode())

    def start(self, number: int, limits: Limits) -> Start:
        """Return how to start the worker with this number; workers that run at a time have different numbers."""
        del number  # every container is separate: the number is not needed
        return Start(
            [
                self._docker,
                *container_arguments(self._image, limits, f"/proc/self/fd/{self._profile}", self._packages),
            ],
            dict(os.environ),  # for Docker's client; the container gets only the variables in its arguments
            (self._profile,),
            settings_for(limits, packages=self._packages, covers=_COVERS),
        )

    def close(self) -> None:
        """Release what is held for the workers."""
        if self._profile >= 0:
            os.close(self._profile)
            self._profile = -1


def container_arguments(image: str, limits: Limits, profile: str, packages: Path | None) -> list[str]:
    """Return the arguments of `docker` that start one worker.

    Args:
        image: the image.
        limits: what one program may use; the container gets as much for one program, and additional memory
            for the worker.
        profile: a file with the seccomp profile, readable by the client.
        packages: a folder to mount.
    """
    memory = limits.memory_bytes * limits.processes + 2 * limits.scratch_bytes + _WORKERS_MEMORY
    words = [
        *_CONTAINER.split(),
        "--security-opt",
        f"seccomp={profile}",
        "--pids-limit",
        str(tasks(limits) + 4),
    ]
    words += ["--memory", str(memory), "--memory-swap", str(memory)]
    options = f"rw,nosuid,nodev,noexec,size={limits.scratch_bytes},nr_inodes=4096,mode=1777"
    for folder in SCRATCH:
        words += ["--tmpfs", f"{folder}:{options}"]
    words += ["--mount", f"type=bind,source={inside_folder()},target={HOME}/merilo/sandbox/inside,readonly"]
    if packages:
        words += ["--mount", f"type=bind,source={packages},target={PACKAGES},readonly"]
    for name, value in {**ENVIRONMENT, "PYTHONPATH": HOME}.items():
        words += ["--env", f"{name}={value}"]
    return [*words, "--entrypoint", "python3", image, *ARGUMENTS]


_WORKERS_MEMORY: Final = 128 * 2**20

#: What every container is given, whatever the limits.
_CONTAINER: Final = (
    "run --rm --interactive --pull missing --log-driver none --network none --read-only --cap-drop ALL --ipc private "
    "--user 65534:65534 --security-opt no-new-privileges --hostname jail --workdir /"
)


def image_of(python: str | None) -> str:
    """Return the name of the official image for a version of Python.

    Raises:
        UsageError: `python` is a path.
    """
    if python is not None and "/" in python:
        raise UsageError(
            "Docker runs the Python of an image: give a version such as 3.12, not a path",
            field=argument("python"),
        )
    return f"python:{python or '3.12'}-slim"


_READABLE: Final = ("/etc/ld.so.cache", "/usr/share/zoneinfo")


class Bubblewrap:
    """Linux namespaces by `bwrap`, which needs no privileges and no service.

    The jail sees the system's libraries and the interpreter's standard library, read-only; no `/proc`, no `/sys`, no
    `/etc`, no home, no network; four harmless devices. If root runs it, programs get user ids that no account of the
    machine has.

    Raises:
        MissingPartError: `bwrap` is not installed, or a device file of this machine is not the expected device.
    """

    name = "bubblewrap"
    jailed = True

    def __init__(self, python: Interpreter, packages: Path | None = None) -> None:
        self._bwrap = shutil.which("bwrap")
        if self._bwrap is None:
            raise MissingPartError(
                "bubblewrap is not installed: 'apt install bubblewrap' or 'dnf install bubblewrap'"
            )
        if fakes := [device for device in DEVICES if not Path(device).is_char_device()]:
            # If it is a regular file, programs in the jail could write to it.
            raise MissingPartError(f"{fakes[0]} is not the expected device on this machine")
        self.python = python.version
        self._python = python
        self._packages = packages
        self._can_forbid_user_namespaces = "--disable-userns" in output_of([self._bwrap, "--help"])
        self._users = RootsNamespace() if os.geteuid() == 0 else None

    def start(self, number: int, limits: Limits) -> Start:
        """Return how to start the worker with this number."""
        inside = ["--", str(self._python.executable), *ARGUMENTS]
        user = self._users.user(number) if self._users else None
        return Start(
            [str(self._bwrap), *self._namespaces(), *self._files(), *inside],
            {**ENVIRONMENT, "PYTHONPATH": HOME},
            (self._users.descriptor,) if self._users else (),
            settings_for(limits, packages=self._packages, user=user),
        )

    def close(self) -> None:
        """Release what is held for the workers."""
        if self._users:
            self._users.close()

    def _namespaces(self) -> list[str]:
        words = ["--unshare-ipc", "--unshare-pid", "--unshare-net", "--unshare-uts", "--unshare-cgroup-try"]
        words += ["--hostname", "jail", "--die-with-parent", "--new-session", "--as-pid-1", "--chdir", "/"]
        words += ["--cap-drop", "ALL", "--cap-add", "CAP_SYS_ADMIN"]
        if self._users:
            # The worker gives each program another user id than root's, and must still be able to kill it.
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
        words += _read_only(inside_folder(), f"{HOME}/merilo/sandbox/inside")
        if self._packages:
            words += _read_only(self._packages, PACKAGES)
        for device in DEVICES:
            words += [*_parents(device), "--dev-bind", device, device]
        for folder in SCRATCH:
            words += ["--perms", "0755", "--dir", folder]
        return [*words, "--remount-ro", "/"]


class NoJail:
    """No jail: each program gets its own process and limits, but a hostile program can do anything else."""

    name = "none"
    jailed = False

    def __init__(self, python: Interpreter, packages: Path | None = None) -> None:
        self.python = python.version
        self._python = python
        self._packages = packages

    def start(self, number: int, limits: Limits) -> Start:
        """Return how to start the worker with this number."""
        folder = Path(tempfile.mkdtemp(prefix=f"merilo-unsafe-{number}-"))
        (folder / "merilo" / "sandbox").mkdir(parents=True)
        (folder / "merilo" / "sandbox" / "inside").symlink_to(inside_folder())
        scratch = folder / "scratch"
        scratch.mkdir()
        settings = settings_for(
            limits,
            packages=None,
            jailed=False,
            filter="",
            forks=True,
            scratch=[str(scratch)],
            home=str(folder),
            # The worker removes the folder when the pool closes its end, even if the pool's process was killed.
            remove=str(folder),
        )
        settings["packages"] = str(self._packages) if self._packages else None
        # The limit on tasks counts all processes of a user; without a jail, they include other programs.
        settings["limits"] = {**cast("dict[str, object]", settings["limits"]), "tasks": None}
        own = {"PYTHONPATH": str(folder), "HOME": str(scratch), "TMPDIR": str(scratch)}
        return Start([str(self._python.executable), *ARGUMENTS], ENVIRONMENT | own, (), settings)

    def close(self) -> None:
        """Release what is held for the workers."""


#: A kind of jail, which starts workers: its `name`, whether it is `jailed`, and the `python` of programs, as precisely
#: as it is known before a worker runs.
Backend: TypeAlias = Bubblewrap | Docker | NoJail


def backend(
    name: str = "auto",
    *,
    python: str | None = None,
    packages: Path | None = None,
    unsafe_no_sandbox: bool = False,
) -> Backend:
    """Choose a backend.

    Args:
        name: "bubblewrap", "docker", or "auto" for the first of them that is available.
        python: the Python for the programs, a version or (not with Docker) a path.
        packages: a folder with packages that programs may import.
        unsafe_no_sandbox: run without a jail; nothing else makes this function return a backend without one.

    Raises:
        MissingPartError: no jail works on this machine.
        UsageError: the name is unknown, or an option is invalid for the backend.
    """
    if packages is not None and not packages.is_dir():
        raise UsageError(f"'{packages}' is not a folder", field=argument("packages"))
    folder = packages.resolve() if packages else None
    if unsafe_no_sandbox:
        return NoJail(interpreter(python), folder)
    kinds: dict[str, Callable[[], Backend]] = {
        "bubblewrap": lambda: Bubblewrap(interpreter(python), folder),
        "docker": lambda: Docker(image_of(python), folder),
    }
    if name in kinds:
        return kinds[name]()
    if name != "auto":
        raise UsageError(
            f"there is no backend '{name}' (choose from: bubblewrap, docker, auto)", field=argument("backend")
        )
    reasons: list[MissingPartError] = []
    for make in kinds.values():
        try:
            return make()
        except MissingPartError as error:
            reasons.append(error)
    if reasons[0].place.field == "python" and shutil.which("bwrap"):
        # The jail is available; only the requested Python is missing.
        raise reasons[0]
    advice = "" if shutil.which("bwrap") else ": install bubblewrap, or Docker"
    why = "; ".join(reason.marked for reason in reasons)
    raise MissingPartError(
        f"generated programs run only in a sandbox, and none works on this machine ({why}){advice}"
    )


def _read_only(path: Path, target: str | None = None) -> list[str]:
    where = target or str(path)
    return [*_parents(where), "--ro-bind", str(path), where]


def _parents(path: str) -> list[str]:
    """Return arguments that create the parents of a mount; by default, bwrap makes them readable only by root."""
    return [
        word
        for parent in reversed(Path(path).parents[:-1])
        for word in ("--perms", "0755", "--dir", str(parent))
    ]
