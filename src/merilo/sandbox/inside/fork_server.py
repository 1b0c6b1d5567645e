"""The fork server: a small process with modules preloaded, from which the processes of programs are forked.

After a fork, each page that the parent writes to costs it a page fault. A forked program also inherits all
memory of its parent, freed objects included, and may search it. So programs are not forked from the worker,
which reads jobs and answers, but from the fork server, which holds neither. The worker starts it once, before
the first job. For each program, they exchange these messages:

    worker -> fork server   one byte, `CALLS` or `REQUESTS`, with the descriptor of the program's link (`SCM_RIGHTS`)
    worker -> fork server   one more byte: kill the program
    fork server -> worker   `END`, when all processes of the program have ended

The program's process gives up all privileges and then reads the program from its link.
"""

from __future__ import annotations

import contextlib
import gc
import marshal
import os
import resource
import signal
import struct
import time
from _socket import socket, socketpair  # `socket` imports many modules, which would slow down every fork
from typing import TYPE_CHECKING, Any

from merilo.sandbox.inside import harness, messages

if TYPE_CHECKING:
    from merilo.sandbox.inside.kernel import Kernel

#: How the program's function is called: with all calls of the job, or with a judge's requests one by one.
CALLS, REQUESTS = b"c", b"r"

#: The message at a program's end: wait status, wall seconds, processor seconds, peak bytes.
END = struct.Struct("<iddQ")


class ChildSetup:
    """Setup of a child process in the jail: its own PID namespace, limits, and no privileges.

    Args:
        kernel: the system calls for a jail; `None` without one.
        user: the user id that the child takes in place of root's; `None` if it does not run as root.
        limits: the kernel's limits, by name; see `merilo.sandbox.backends.settings_for`.
    """

    def __init__(self, kernel: Kernel | None, user: int | None, limits: dict[str, int | None]) -> None:
        self._kernel = kernel
        self._user = user
        self._inherited = _bounds(limits, ("file_size", "tasks", "core", "signals"))
        self._own = _bounds(limits, ("memory", "files", "cpu"))

    def prepare(self) -> None:
        """Set the limits and user ids that all children of this process inherit."""
        for limit, bounds in self._inherited:
            resource.setrlimit(limit, bounds)
        if self._user is not None:
            os.setgroups([])
            os.setresgid(self._user, self._user, self._user)

    def fork(self) -> int:
        """Fork as `os.fork` does; in the jail, the child is process 1 of a new PID namespace, which ends with it."""
        return os.fork() if self._kernel is None else self._kernel.fork_into_new_pid_namespace()

    def settle(self, *, for_ever: bool = False) -> None:
        """Set the remaining limits and give up all privileges; call it in a child after `prepare`.

        Args:
            for_ever: whether the child has no limit on its processor time.
        """
        for limit, bounds in self._own:
            if not for_ever or limit != resource.RLIMIT_CPU:
                resource.setrlimit(limit, bounds)
        if self._user is not None:
            os.setresuid(self._user, self._user, self._user)
        os.setsid()  # a signal to the process group would cross PID namespaces
        if self._kernel is not None:
            self._kernel.drop_capabilities()
        gc.enable()

    def kill(self, pid: int) -> None:
        """Kill a child and all processes that it started."""
        os.kill(pid, signal.SIGKILL)
        if self._kernel is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(pid, signal.SIGKILL)


_LIMITS = {
    "memory": resource.RLIMIT_AS,
    "cpu": resource.RLIMIT_CPU,
    "files": resource.RLIMIT_NOFILE,
    "file_size": resource.RLIMIT_FSIZE,
    "tasks": resource.RLIMIT_NPROC,
    "core": resource.RLIMIT_CORE,
    "signals": resource.RLIMIT_SIGPENDING,
}


def _bounds(limits: dict[str, int | None], names: tuple[str, ...]) -> list[tuple[int, tuple[int, int]]]:
    """Return the kernel's limits with these names, lowered to the present hard limits if these are lower."""
    bounds = []
    for name in names:
        value = limits[name]
        if value is not None:
            hard = resource.getrlimit(_LIMITS[name])[1]
            bound = value if hard == resource.RLIM_INFINITY else min(value, hard)
            bounds.append((_LIMITS[name], (bound, bound)))
    return bounds


class ForkServer:
    """The worker's handle of the fork server.

    Args:
        setup: the setup of child processes.
        settings: the worker's settings; `output` and `scratch` are used.
        not_to_keep: the worker's descriptors, which the fork server closes.
    """

    def __init__(self, setup: ChildSetup, settings: dict[str, Any], not_to_keep: tuple[int, ...]) -> None:
        ours, theirs = socketpair()
        self.pid = setup.fork()
        if self.pid == 0:
            try:
                ours.close()
                for descriptor in not_to_keep:
                    os.close(descriptor)
                _serve_forks(theirs, setup, settings)
            finally:
                os._exit(1)
        theirs.close()
        self._control = ours

    def start(self, asked: bytes) -> socket:
        """Start a program's process and return the worker's end of its link."""
        ours, theirs = socketpair()
        messages.hand_over(self._control, asked, theirs.fileno())
        theirs.close()
        return ours

    def end(self) -> bytes:
        """Kill the program that was started last, with all its processes, and return its `END` message.

        Raises:
            BrokenFrameError: the fork server has ended.
        """
        self._control.send(b".")
        ended = messages.exactly(self._control.fileno(), END.size)
        if ended is None:
            raise messages.BrokenFrameError("the fork server has ended")
        return ended

    def close(self) -> None:
        """End the fork server and its present program."""
        self._control.close()
        os.waitpid(self.pid, 0)

    def forget(self) -> None:
        """Close the control socket, in a child of the worker."""
        self._control.close()


def _open_nothing() -> None:
    """Open new standard streams for a program: flags and locks set on shared ones would outlast the program."""
    nowhere = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(nowhere, descriptor)
    os.close(nowhere)


def _serve_forks(control: socket, setup: ChildSetup, settings: dict[str, Any]) -> None:
    """Fork a process for each program until the worker closes the control socket."""
    scratch: str = settings["scratch"][0]
    longest: int = settings["output"]
    to_worker = control.fileno()
    setup.prepare()
    gc.collect()
    gc.disable()
    gc.freeze()
    while True:
        order = messages.take_over(control)
        if order is None:
            return
        asked, link = order
        started = time.monotonic()
        pid = setup.fork()
        if pid == 0:
            # In the child, every page written costs a copy, so little runs before the program itself.
            try:
                os.close(to_worker)
                _open_nothing()
                setup.settle()
                os.chdir(scratch)
                answer = harness.answer_calls if asked == CALLS else harness.serve_calls
                answer(marshal.loads(messages.read(link) or b""), link, longest)  # noqa: S302 - the pool wrote it
            except MemoryError:
                os.write(link, harness.OUT_OF_MEMORY)
            finally:
                os._exit(0)
        os.close(link)
        over = os.read(to_worker, 1)
        setup.kill(pid)
        _, status, used = os.wait4(pid, 0)
        if not over:
            return
        processor = used.ru_utime + used.ru_stime
        os.write(to_worker, END.pack(status, time.monotonic() - started, processor, used.ru_maxrss * 1024))
