"""The process that programs are forked from: warm, small, and without any knowledge of programs or answers.

A fork marks every page of the process that forks, and each page that it writes on afterwards costs it a fault; and a
forked program inherits all its memory, freed objects included, and may search it. So the worker, which reads jobs and
takes answers, is not what is forked. The nursery is started by it once, before the first job, and does nothing else than
this, for one program after another:

    worker -> nursery   one byte, `CALLS` or `REQUESTS`, and with it the descriptor of the program's link (`SCM_RIGHTS`)
    worker -> nursery   one byte more: the program is over, whatever it does
    nursery -> worker   `END`, when nothing of the program is left

The program's process reads what it is to run from its link, when it has given up all rights.
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
from _socket import socket, socketpair  # `socket` loads much, and every fork would pay for it
from typing import TYPE_CHECKING, Any

from merilo.sandbox.inside import frames, harness

if TYPE_CHECKING:
    from merilo.sandbox.inside.kernel import Kernel

#: How the program's function is asked: all calls at once, or a judge's requests one by one.
CALLS, REQUESTS = b"c", b"r"

#: Wait status, wall seconds, processor seconds, peak bytes.
END = struct.Struct("<iddQ")


class ChildSetup:
    """What a child goes through in the jail: its own PID namespace, limits, and the loss of all rights.

    Args:
        kernel: the system calls for a jail; `None` without one.
        user: the id that the child takes off root's for; `None` where it has no root's.
        limits: the kernel's limits, by name; see `merilo.sandbox.launch`.
    """

    def __init__(self, kernel: Kernel | None, user: int | None, limits: dict[str, int | None]) -> None:
        self._kernel = kernel
        self._user = user
        self._inherited = _bounds(limits, ("file_size", "tasks", "core", "signals"))
        self._own = _bounds(limits, ("memory", "files", "cpu"))

    def prepare(self) -> None:
        """Take on what all children of this process inherit."""
        for limit, bounds in self._inherited:
            resource.setrlimit(limit, bounds)
        if self._user is not None:
            os.setgroups([])
            os.setresgid(self._user, self._user, self._user)

    def fork(self) -> int:
        """`os.fork`; in the jail the child is the first of its own PID namespace, and with it dies all that it starts."""
        return os.fork() if self._kernel is None else self._kernel.fork_into_new_pid_namespace()

    def settle(self, *, for_ever: bool = False) -> None:
        """In the child of a prepared process: take the other limits, give up every right.

        Args:
            for_ever: whether its processor time is without limit.
        """
        for limit, bounds in self._own:
            if not for_ever or limit != resource.RLIMIT_CPU:
                resource.setrlimit(limit, bounds)
        if self._user is not None:
            os.setresuid(self._user, self._user, self._user)
        os.setsid()  # a signal to one's group passes the borders of PID namespaces
        if self._kernel is not None:
            self._kernel.drop_capabilities()
        gc.enable()

    def kill(self, pid: int) -> None:
        """End a child, and everything that it started."""
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
    """The kernel's limits of these names, as far as they are not lower already."""
    found = []
    for name in names:
        value = limits[name]
        if value is not None:
            hard = resource.getrlimit(_LIMITS[name])[1]
            bound = value if hard == resource.RLIM_INFINITY else min(value, hard)
            found.append((_LIMITS[name], (bound, bound)))
    return found


class Nursery:
    """The nursery as the worker sees it.

    Args:
        birth: how it forks.
        settings: the worker's; `output` and `scratch` are used.
        not_to_keep: descriptors of the worker that nothing else may hold.
    """

    def __init__(self, birth: ChildSetup, settings: dict[str, Any], not_to_keep: tuple[int, ...]) -> None:
        ours, theirs = socketpair()
        self.pid = birth.fork()
        if self.pid == 0:
            try:
                ours.close()
                for descriptor in not_to_keep:
                    os.close(descriptor)
                _raise_for_ever(theirs, birth, settings)
            finally:
                os._exit(1)
        theirs.close()
        self._control = ours

    def start(self, asked: bytes) -> socket:
        """Start a program's process; returns the worker's end of its link."""
        ours, theirs = socketpair()
        frames.hand_over(self._control, asked, theirs.fileno())
        theirs.close()
        return ours

    def end(self) -> bytes:
        """Kill the program that was started last, with all that it left; returns its `END`.

        Raises:
            BrokenFrameError: the nursery itself is lost.
        """
        self._control.send(b".")
        ended = frames.exactly(self._control.fileno(), END.size)
        if ended is None:
            raise frames.BrokenFrameError("the nursery is lost")
        return ended

    def close(self) -> None:
        """End the nursery, and the program in it."""
        self._control.close()
        os.waitpid(self.pid, 0)

    def forget(self) -> None:
        """In a child of the worker's: let go."""
        self._control.close()


def _open_nothing() -> None:
    """Give a program standard streams of its own: flags and locks on what it shared with others would outlive it."""
    nowhere = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(nowhere, descriptor)
    os.close(nowhere)


def _raise_for_ever(control: socket, birth: ChildSetup, settings: dict[str, Any]) -> None:
    """The nursery's life: until the worker hangs up."""
    scratch: str = settings["scratch"][0]
    longest: int = settings["output"]
    to_worker = control.fileno()
    birth.prepare()
    gc.collect()
    gc.disable()
    gc.freeze()
    while True:
        order = frames.take_over(control)
        if order is None:
            return
        asked, link = order
        started = time.monotonic()
        pid = birth.fork()
        if pid == 0:
            # The child's life. It costs what it touches, hence no more than these few lines before the program's own.
            try:
                os.close(to_worker)
                _open_nothing()
                birth.settle()
                os.chdir(scratch)
                answer = harness.answer_calls if asked == CALLS else harness.serve_calls
                stream = frames.Stream(link)
                answer(marshal.loads(stream.read() or b""), stream, longest)  # noqa: S302 - the pool wrote it
            except MemoryError:
                os.write(link, harness.OUT_OF_MEMORY)
            finally:
                os._exit(0)
        os.close(link)
        over = os.read(to_worker, 1)
        birth.kill(pid)
        _, status, used = os.wait4(pid, 0)
        if not over:
            return
        processor = used.ru_utime + used.ru_stime
        os.write(to_worker, END.pack(status, time.monotonic() - started, processor, used.ru_maxrss * 1024))
