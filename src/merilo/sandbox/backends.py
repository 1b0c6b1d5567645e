"""Backends: the kinds of jail that workers run in.

A backend gives the command that starts one worker. The worker itself does everything else (forking for each program,
limits, the filter), so that programs run in the same way on all backends.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path
from typing import Final

from merilo.errors import MissingPartError, UsageError, argument
from merilo.sandbox.docker import Docker, image_of
from merilo.sandbox.interpreter import SYSTEM_LIBRARIES, Interpreter, interpreter
from merilo.sandbox.launch import (
    ARGUMENTS,
    DEVICES,
    ENVIRONMENT,
    HOME,
    PACKAGES,
    SCRATCH,
    Backend,
    Start,
    inside_folder,
    kernel_limits,
    output_of,
    settings_for,
)
from merilo.sandbox.program import Limits
from merilo.sandbox.usernamespace import RootsNamespace

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
        """See `Backend`."""
        command = [
            str(self._bwrap),
            *self._namespaces(),
            *self._files(),
            "--",
            str(self._python.executable),
            *ARGUMENTS,
        ]
        user = self._users.user(number) if self._users else None
        return Start(
            command,
            {**ENVIRONMENT, "PYTHONPATH": HOME},
            (self._users.descriptor,) if self._users else (),
            settings_for(limits, user=user, packages=PACKAGES if self._packages else None)
            | {"seal": list(DEVICES)},
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
        """See `Backend`."""
        folder = Path(tempfile.mkdtemp(prefix=f"merilo-unsafe-{number}-"))
        (folder / "merilo" / "sandbox").mkdir(parents=True)
        (folder / "merilo" / "sandbox" / "inside").symlink_to(inside_folder())
        scratch = folder / "scratch"
        scratch.mkdir()
        settings = settings_for(limits, user=None, packages=str(self._packages) if self._packages else None)
        # This limit counts all processes of a user; without a jail, they include processes other than the program's.
        settings["limits"] = {**kernel_limits(limits), "tasks": None}
        # The worker removes the folder when the pool closes its end, even if the pool's process was killed.
        settings |= {
            "jailed": False,
            "filter": "",
            "forks": True,
            "scratch": [str(scratch)],
            "home": str(folder),
            "remove": str(folder),
        }
        environment = {
            **ENVIRONMENT,
            "PYTHONPATH": str(folder),
            "HOME": str(scratch),
            "TMPDIR": str(scratch),
        }
        return Start([str(self._python.executable), *ARGUMENTS], environment, (), settings)

    def close(self) -> None:
        """See `Backend`."""


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
    if name == "bubblewrap":
        return Bubblewrap(interpreter(python), folder)
    if name == "docker":
        return Docker(image_of(python), folder)
    if name != "auto":
        raise UsageError(
            f"there is no backend '{name}' (choose from: bubblewrap, docker, auto)", field=argument("backend")
        )
    reasons: list[MissingPartError] = []
    for make in (lambda: Bubblewrap(interpreter(python), folder), lambda: Docker(image_of(python), folder)):
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
