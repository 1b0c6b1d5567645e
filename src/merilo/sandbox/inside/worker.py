"""The worker: it sets up its part of the jail, then runs one job after another and reports each.

It runs inside the jail and exchanges these messages with the pool over its standard input and output:

    pool -> worker    a frame with the settings (JSON), then a frame for each job: the length of the program's part,
                      that part (marshalled, for the harness), and the judge's (JSON; empty if there is no check)
    worker -> pool    a frame with a greeting (JSON), then a frame for each job: `REPORT`, then the program's answers or
                      the judge's verdict

For each job, it starts a program's process, watches it from outside, and does not interpret its answers. The process is
process 1 of its own PID namespace. It has no capabilities, limits enforced by the kernel, and empty scratch folders.
When the program ends, the whole namespace is killed.

Every program's process inherits what the worker has loaded. This saves it one-time work of Python (the parser's types,
method caches), but each additional page of memory makes each fork slower.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import select
import sys
import time
from _socket import socket, socketpair  # `socket` imports many modules
from collections.abc import Iterator
from typing import Any, NoReturn

from merilo.sandbox.inside import fork_server, harness, messages
from merilo.sandbox.inside.judge import Referee
from merilo.sandbox.inside.kernel import CLONE_NEWIPC, CLONE_NEWNS, CLONE_NEWPID, CLONE_NEWUSER, Kernel
from merilo.sandbox.inside.messages import ENDED, LENGTH, OVERFLOWED, REPORT, TIMED_OUT

#: The modules that programs import most often.
COMMON_MODULES = (
    "bisect", "collections", "copy", "functools", "heapq", "itertools", "math", "operator", "random", "re", "string",
    "typing",
)  # fmt: skip

_REHEARSALS = 20

#: Checks after which a judge is replaced, which removes any state that they have left in it.
CHECKS_PER_JUDGE = 5000

#: Seconds after a program's deadline in which a judge may report its end, or the worker may read answers sent in time.
_GRACE = 0.5

_LONGEST_VERDICT = 2**16

#: Files in a scratch folder.
_FILES = 4096


def main() -> None:
    """Read the settings from standard input, set up the jail, send the greeting, and run jobs."""
    os.closerange(3, 64)  # descriptors left open by the parent would be open in every program
    jobs, reports = os.dup(0), os.dup(1)
    nowhere = os.open(os.devnull, os.O_RDWR)
    settings: dict[str, Any] = json.loads(messages.read(jobs) or b"{}")
    if settings["processor"] is not None:
        with contextlib.suppress(OSError):  # the processor has gone offline
            os.sched_setaffinity(0, {settings["processor"]})
    calls = Kernel() if settings["jailed"] else None
    scratch = Scratch(settings["scratch"], settings["scratch_bytes"])
    try:
        if calls is not None:
            enter(settings, calls, scratch)
    except OSError as error:
        messages.write(reports, json.dumps({"error": str(error)}).encode("ascii"))
        return
    warm_up(settings["packages"], forks=settings["forks"])
    for descriptor in (0, 1, 2):
        os.dup2(nowhere, descriptor)
    os.close(nowhere)
    sys.path[:] = [path for path in sys.path if path not in ("", settings["home"])]
    server = Server(
        settings, jobs, reports, fork_server.ChildSetup(calls, settings["user"], settings["limits"]), scratch
    )
    greeting = {"python": "{}.{}.{}".format(*sys.version_info)}
    messages.write(reports, json.dumps(greeting).encode("ascii"))
    server.serve()


def enter(settings: dict[str, Any], calls: Kernel, scratch: Scratch) -> None:
    """Set up the worker's part of the jail: its own namespaces, empty scratch folders, the filter.

    Args:
        settings: `covers`, `seal`, `filter` and `scratch` are used; see `merilo.sandbox.backends`.
        calls: the system calls for a jail.
        scratch: the folders that programs write to.

    Raises:
        OSError: a part of the jail cannot be set up.
    """
    _enter_namespaces(calls)
    calls.gain_no_privileges()
    with contextlib.suppress(OSError):  # a container may forbid all mounting
        _cover(settings["covers"], settings["scratch"][0], calls)
    for path in settings["seal"]:
        calls.seal(path)
    scratch.mount(calls)
    if settings["filter"]:
        calls.install_filter(bytes.fromhex(settings["filter"]))


def _cover(covers: dict[str, list[str]], scratch: str, calls: Kernel) -> None:
    """Hide folders that the backend could not leave out of the jail."""
    for path, visible in covers.items():
        if os.path.isdir(path):
            by_way_of = os.path.join(scratch, "cover")
            os.mkdir(by_way_of)
            calls.cover(path, visible, by_way_of)
            os.rmdir(by_way_of)


def warm_up(packages: str | None, *, forks: bool) -> None:
    """Import common modules, and run the harness until Python has filled its caches.

    Args:
        packages: the folder of packages that programs may import, if any.
        forks: whether programs may fork.
    """
    with contextlib.nullcontext() if forks else _no_hooks_on_forks():
        for name in COMMON_MODULES:
            importlib.import_module(name)
    if packages:
        sys.path.append(packages)
    harness.provide_exit()
    # Since 3.12, the first seed that is a text imports SHA-512; a judge with little memory left could not.
    sys.modules["random"].Random("")
    # Python specializes the bytecode of a function only after several calls.
    for _ in range(_REHEARSALS):
        harness.rehearse()


@contextlib.contextmanager
def _no_hooks_on_forks() -> Iterator[None]:
    """Keep `random` from reseeding itself at every fork: the harness seeds it for each program."""
    register = os.register_at_fork
    os.register_at_fork = lambda **_: None
    try:
        yield
    finally:
        os.register_at_fork = register


def _enter_namespaces(calls: Kernel) -> None:
    """Become process 1 of a new PID namespace, with new mount and IPC namespaces.

    If the backend has not given the worker the privilege, the worker creates a user namespace too.
    """
    wanted = CLONE_NEWPID | CLONE_NEWNS | CLONE_NEWIPC
    user, group = os.getuid(), os.getgid()
    try:
        calls.unshare(wanted)
    except PermissionError:
        calls.unshare(wanted | CLONE_NEWUSER)
        maps = (("setgroups", "deny"), ("uid_map", f"{user} {user} 1"), ("gid_map", f"{group} {group} 1"))
        for name, text in maps:
            with open(f"/proc/self/{name}", "w") as file:
                file.write(text)
    with contextlib.suppress(PermissionError):  # a container may forbid all mounting
        calls.keep_mounts_private()
    calls.hide()
    pid = os.fork()
    if pid:
        # The init process only waits: when it ends, the kernel kills the worker and its programs.
        os.closerange(0, 64)
        os.waitpid(pid, 0)
        os._exit(0)
    calls.die_with_parent()


class Scratch:
    """The scratch folders of one worker: in memory, limited in size, and empty before each program.

    Args:
        paths: the folders.
        size: the capacity of each folder in bytes.
    """

    def __init__(self, paths: list[str], size: int) -> None:
        self._paths = paths
        self._size = size
        self._kernel: Kernel | None = None
        self._untouched: dict[str, tuple[int, ...]] = {}

    def mount(self, kernel: Kernel) -> None:
        """Mount an empty tmpfs on each path, if that is allowed; otherwise folders are emptied file by file."""
        with contextlib.suppress(OSError):
            for path in self._paths:
                self._mount(path, kernel)
            self._kernel = kernel

    def sweep(self) -> None:
        """Empty the folders; a mounted folder that was changed is mounted anew, which also resets its mode and times.

        Raises:
            OSError: a folder cannot be emptied.
        """
        for path in self._paths:
            if self._kernel is not None:
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


class Server:
    """One worker, which runs jobs one after another and reports each.

    Args:
        settings: `wall`, `output`, `answers`, `scratch`, `remove`; see `merilo.sandbox.backends`.
        jobs: the descriptor that jobs come from.
        reports: the descriptor that reports go to.
        setup: the setup of child processes.
        scratch: the folders that programs write to.
    """

    def __init__(
        self,
        settings: dict[str, Any],
        jobs: int,
        reports: int,
        setup: fork_server.ChildSetup,
        scratch: Scratch,
    ) -> None:
        self._settings = settings
        self._jobs = jobs
        self._reports = reports
        self._setup = setup
        self._scratch = scratch
        self._fork_server = fork_server.ForkServer(setup, settings, (jobs, reports))
        self._referee: Referee | None = None

    def serve(self) -> NoReturn:
        """Run jobs until the pool closes its end."""
        while True:
            job = messages.read(self._jobs)
            if job is None:
                self._leave()
            end_of_program = LENGTH.size + LENGTH.unpack_from(job)[0]
            program, check = job[LENGTH.size : end_of_program], job[end_of_program:]
            started = time.monotonic()
            if check:
                cause, payload, end = self._run_check(program, check, started + self._settings["wall"])
            else:
                cause, payload, end = self._run_calls(program, started + self._settings["wall"])
            self._scratch.sweep()
            messages.write(self._reports, REPORT.pack(cause, *fork_server.END.unpack(end)), payload)

    def _run_calls(self, program: bytes, deadline: float) -> tuple[int, bytes, bytes]:
        """Run a program's calls; return the cause of its end, its answers, and its packed `END`."""
        link = self._fork_server.start(fork_server.CALLS)
        _hand_over(program, link)
        cause, payload = self._read_answers(link.fileno(), deadline)
        end = self._fork_server.end()
        link.close()
        return cause, payload, end

    def _run_check(self, program: bytes, check: bytes, deadline: float) -> tuple[int, bytes, bytes]:
        """Run a check; return the cause of the program's end, the judge's verdict, and the packed `END`."""
        if self._referee is not None and self._referee.served >= CHECKS_PER_JUDGE:
            self._dismiss_referee()
        if self._referee is None:
            self._referee = self._appoint_referee()
        link = self._fork_server.start(fork_server.REQUESTS)
        cause, verdict, end = ENDED, b"", None
        try:
            _hand_over(program, link)
            self._referee.start(check, link)
            cause, verdict, end = self._await_verdict(self._referee, deadline)
        except (OSError, messages.BrokenFrameError):
            self._dismiss_referee()
        link.close()
        return cause, verdict, end or self._fork_server.end()

    def _appoint_referee(self) -> Referee:
        ours, theirs = socketpair()
        pid = self._setup.fork()
        if pid == 0:
            try:
                ours.close()
                os.close(self._jobs)
                os.close(self._reports)
                self._fork_server.forget()
                self._setup.prepare()
                self._setup.settle(for_ever=True)
                Referee.judge_for_ever(theirs, self._settings["output"])
            finally:
                os._exit(1)
        theirs.close()
        return Referee(pid, ours)

    def _dismiss_referee(self) -> None:
        if self._referee is not None:
            self._setup.kill(self._referee.pid)
            self._referee.dismissed()
            self._referee = None

    def _read_answers(self, link: int, deadline: float) -> tuple[int, bytes]:
        """Read the program's answers until it closes the link, reaches the deadline, or exceeds the output limit."""
        room: int = self._settings["answers"]
        payload = bytearray()
        while len(payload) < room:
            # A busy worker may read late what was sent in time.
            if not self._has_input(link, deadline) or time.monotonic() > deadline + _GRACE:
                return TIMED_OUT, bytes(payload)
            try:
                part = os.read(link, min(room - len(payload), 2**16))
            except ConnectionResetError:  # the program ended without reading all of its input
                part = b""
            if not part:
                return ENDED, bytes(payload)
            payload += part
        return OVERFLOWED, bytes(payload)

    def _await_verdict(self, referee: Referee, deadline: float) -> tuple[int, bytes, bytes | None]:
        """Wait for a verdict; return the cause, the verdict, and the packed `END` if the program was killed here."""
        link, cause, end = referee.socket.fileno(), ENDED, None
        if not self._has_input(link, deadline):
            cause, end = TIMED_OUT, self._fork_server.end()
        verdict = None
        if end is None or self._has_input(link, deadline + _GRACE):
            verdict = messages.read(link, _LONGEST_VERDICT)
        if verdict is None:  # the judge has ended or is stuck, and the next check needs a new one
            self._dismiss_referee()
        return cause, verdict or b"", end

    def _has_input(self, link: int, until: float) -> bool:
        """Wait for input on a link; leave if the pool closes its end meanwhile."""
        waiting = select.poll()
        waiting.register(link, select.POLLIN)
        waiting.register(self._jobs, 0)
        events = dict(waiting.poll(max(0.0, until - time.monotonic()) * 1000))
        if self._jobs in events:
            self._leave()
        return bool(events)

    def _leave(self) -> NoReturn:
        """End the judge, the fork server and this worker, after the pool has closed its end."""
        self._dismiss_referee()
        self._fork_server.close()
        if self._settings["remove"]:
            remove(self._settings["remove"])
        os._exit(0)


def _hand_over(program: bytes, link: socket) -> None:
    """Send a program to its process.

    Errors are ignored: a process that has ended is noticed when its answers are read.
    """
    with contextlib.suppress(OSError):
        messages.write(link.fileno(), program)
