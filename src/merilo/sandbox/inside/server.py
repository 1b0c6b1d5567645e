"""The warm worker: forks once per program, and watches from outside the program's process.

It runs inside the jail and speaks with the pool over its standard input and output:

    pool -> worker    a frame with the settings (JSON), then jobs: `JOB` with two lengths, the program's part (marshalled, for
                      the harness), and the judge's part (JSON; empty if there is no check)
    worker -> pool    a frame with a greeting (JSON), then a frame for each job: `REPORT`, then what the program said or the
                      judge's verdict

Nothing that a program says is interpreted here, and nothing that one program may not know of another, or of the right
answers, is in this process when it forks: see `frames.Slate`. A program gets a process that is the first of its own PID
namespace, no capabilities, limits set by the kernel, and an empty scratch folder; at its end the whole namespace is
killed.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import json
import marshal
import os
import select
import signal
import struct
import sys
import time
from _socket import socketpair
from typing import Any, NoReturn

from merilo.sandbox.inside import frames, harness, kernel
from merilo.sandbox.inside.judge import Referee

#: The lengths of a job's two parts.
JOB = struct.Struct("<II")

#: cause, wait status, wall seconds, processor seconds, peak bytes; then the program's answers or the judge's verdict.
REPORT = struct.Struct("<BiddQ")

ENDED, TIMED_OUT, OVERFLOWED = range(3)

#: A judge is replaced after so many checks: whatever they have left behind goes with it.
CHECKS_PER_JUDGE = 5000

#: Seconds that a judge gets to notice that the program is gone.
_GRACE = 0.5

_LONGEST_VERDICT = 2**16

_FILES_IN_SCRATCH = 4096

#: Loaded before the fork: what programs import most. Each one more makes every fork slower.
COMMON_MODULES = (
    "bisect", "collections", "copy", "functools", "heapq", "itertools", "math", "operator", "random", "re", "string",
    "typing",
)  # fmt: skip


class Server:
    """One worker: reads jobs, runs them one after another, reports.

    Args:
        settings: `limits`, `wall`, `output`, `answers`, `filter`, `user`, `scratch`, `scratch_bytes`, `packages`,
            `seal`, `jailed`, `home`, `remove`; see `merilo.sandbox.backends`.
        jobs: the descriptor that jobs come from.
        reports: the descriptor that reports go to.
    """

    def __init__(self, settings: dict[str, Any], jobs: int, reports: int) -> None:
        self.settings = settings
        self.jobs = jobs
        self.reports = reports
        self.limits: dict[str, int | None] = settings["limits"]
        self.longest: int = settings["output"]
        self.kernel = kernel.Kernel() if settings["jailed"] else None
        self.mounts_scratch = False
        self._untouched: dict[str, tuple[int, ...]] = {}
        self.referee: Referee | None = None
        self._children: set[int] = set()
        self._program = frames.Slate()
        self._check = frames.Slate()
        self._said = frames.Slate()

    def enter(self) -> dict[str, object]:
        """Take the worker's place in the jail: namespaces of its own, an empty scratch, the filter.

        Returns:
            What holds, for the greeting.
        """
        facts: dict[str, object] = {
            "python": "{}.{}.{}".format(*sys.version_info),
            "jailed": self.kernel is not None,
        }
        if self.kernel is not None:
            facts["namespaces"] = _enter_namespaces(self.kernel)
            self.kernel.gain_no_privileges()
            for path in self.settings["seal"]:
                self.kernel.seal(path)
            self._mount_scratch()
            if self.settings["filter"]:
                self.kernel.install_filter(bytes.fromhex(self.settings["filter"]))
            facts["filter"] = bool(self.settings["filter"])
            facts["scratch"] = "mounted" if self.mounts_scratch else "swept"
        for name in COMMON_MODULES:
            importlib.import_module(name)
        if self.settings["packages"]:
            sys.path.append(self.settings["packages"])
        harness.provide_exit()
        return facts

    def serve(self) -> NoReturn:
        """Run jobs until the pool hangs up."""
        gc.collect()
        gc.disable()
        gc.freeze()
        while True:
            head = frames.exactly(self.jobs, JOB.size)
            if head is None:
                self._leave()
            of_program, of_check = JOB.unpack(head)
            self._program.fill(self.jobs, of_program)
            report = self._run_check(of_check) if of_check else self._run_calls()
            self._sweep()
            frames.write(self.reports, report, self._said.content)
            for slate in (self._program, self._check, self._said):
                slate.wipe()

    def fork(self) -> int:
        """`os.fork`; in the jail the child is the first of its own PID namespace, and dies with the worker."""
        if self.kernel is not None:
            return self.kernel.fork_into_new_pid_namespace()
        pid = os.fork()
        if pid:
            self._children.add(pid)
        return pid

    def become_a_child(self, limits: dict[str, int | None]) -> None:
        """In a child: give up what the worker holds, its rights and its name; take limits."""
        os.close(self.jobs)
        os.close(self.reports)
        if self.referee is not None:
            self.referee.socket.close()
        harness.prepare_process(limits)
        user = self.settings["user"]
        if user is not None:
            os.setgroups([])
            os.setresgid(user, user, user)
            os.setresuid(user, user, user)
        if self.kernel is not None:
            self.kernel.drop_capabilities()
        else:
            os.setsid()

    def _run_calls(self) -> bytes:
        ours, theirs = os.pipe()
        started = time.monotonic()
        pid = self.fork()
        if pid == 0:
            os.close(ours)
            self._be_the_program(theirs, harness.answer_calls)
        os.close(theirs)
        cause = self._read_answers(ours, started + self.settings["wall"])
        os.close(ours)
        return self._report(pid, started, cause)

    def _run_check(self, of_check: int) -> bytes:
        if self.referee is not None and self.referee.served >= CHECKS_PER_JUDGE:
            self._dismiss_referee()
        if self.referee is None:
            self.referee = self._appoint_referee()
        judges, programs = socketpair()
        started = time.monotonic()
        pid = self.fork()
        if pid == 0:
            judges.close()
            self._be_the_program(programs.detach(), harness.serve_calls)
        programs.close()
        # Only now: the program's process must not hold what tells the right answers.
        self._check.fill(self.jobs, of_check)
        cause = ENDED
        try:
            self.referee.start(self._check.content, judges)
            cause = self._await_verdict(self.referee, pid, started + self.settings["wall"])
        except (OSError, frames.BrokenFrameError):
            self._dismiss_referee()
        judges.close()
        return self._report(pid, started, cause)

    def _be_the_program(self, descriptor: int, answer: harness.Answering) -> NoReturn:
        """The child's life."""
        try:
            self.become_a_child(self.limits)
            os.chdir(self.settings["scratch"][0])
            job = marshal.loads(self._program.content)  # noqa: S302 - the pool wrote it
            answer(job, descriptor, self.longest)
        except MemoryError:
            os.write(descriptor, harness.OUT_OF_MEMORY)
        finally:
            os._exit(0)

    def _appoint_referee(self) -> Referee:
        ours, theirs = socketpair()
        pid = self.fork()
        if pid == 0:
            try:
                ours.close()
                self._program.wipe()
                self.become_a_child({**self.limits, "cpu": None})
                Referee.judge_for_ever(theirs, self.longest)
            finally:
                os._exit(1)
        theirs.close()
        return Referee(pid, ours)

    def _dismiss_referee(self) -> None:
        if self.referee is not None:
            self.referee.dismiss()
            self.referee = None

    def _read_answers(self, descriptor: int, deadline: float) -> int:
        """Take what the program says until it closes, its time is up, or it says too much; returns the cause."""
        waiting = select.poll()
        waiting.register(descriptor, select.POLLIN)
        waiting.register(self.jobs, 0)
        room: int = self.settings["answers"]
        self._said.reserve(room)
        while room:
            events = dict(waiting.poll(max(0.0, deadline - time.monotonic()) * 1000))
            if self.jobs in events:
                self._leave()
            if not events:
                return TIMED_OUT
            taken = self._said.add(descriptor, min(room, 2**16))
            if not taken:
                return ENDED
            room -= taken
        return OVERFLOWED

    def _await_verdict(self, referee: Referee, pid: int, deadline: float) -> int:
        waiting = select.poll()
        waiting.register(referee.socket, select.POLLIN)
        waiting.register(self.jobs, 0)
        cause = ENDED
        for until in (deadline, deadline + _GRACE):
            events = dict(waiting.poll(max(0.0, until - time.monotonic()) * 1000))
            if self.jobs in events:
                self._leave()
            if events:
                self._said.fill_from_frame(referee.socket.fileno(), _LONGEST_VERDICT)
                return cause
            cause = TIMED_OUT
            os.kill(pid, signal.SIGKILL)
        self._dismiss_referee()
        return cause

    def _report(self, pid: int, started: float, cause: int) -> bytes:
        """Kill what is left of the program, and put together the report's head."""
        os.kill(pid, signal.SIGKILL)
        if self.kernel is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(pid, signal.SIGKILL)
        _, status, used = os.wait4(pid, 0)
        self._children.discard(pid)
        seconds = time.monotonic() - started
        return REPORT.pack(cause, status, seconds, used.ru_utime + used.ru_stime, used.ru_maxrss * 1024)

    def _leave(self) -> NoReturn:
        """The pool has hung up: with the worker goes everything."""
        for child in self._children:
            with contextlib.suppress(OSError):
                os.killpg(child, signal.SIGKILL)
        if self.settings["remove"]:
            _remove(self.settings["remove"])
        os._exit(0)

    def _mount_scratch(self) -> None:
        try:
            for path in self.settings["scratch"]:
                self._mount(path)
        except OSError:
            return  # a container that forbids mounting: what it provides is swept file by file
        self.mounts_scratch = True

    def _mount(self, path: str) -> None:
        if self.kernel is not None:
            self.kernel.mount_scratch(path, self.settings["scratch_bytes"], _FILES_IN_SCRATCH)
            self._untouched[path] = _state(path)

    def _sweep(self) -> None:
        """Empty the scratch folders, and leave nothing on the folders themselves, which a program may own."""
        for path in self.settings["scratch"]:
            if self.mounts_scratch and self.kernel is not None:
                # The state alone misses a file made within the same tick of the kernel's clock.
                if _state(path) != self._untouched[path] or os.listdir(path):  # noqa: PTH208 - pathlib would be loaded for this alone
                    self.kernel.unmount(path)
                    self._mount(path)
            elif names := os.listdir(path):  # noqa: PTH208 - as above
                for name in names:
                    _remove(os.path.join(path, name))  # noqa: PTH118 - as above
                if os.listdir(path):  # noqa: PTH208 - as above
                    os._exit(1)  # something that cannot be removed: the pool starts a fresh worker


def _state(path: str) -> tuple[int, ...]:
    """What a folder's owner can change of it, and what any change leaves behind."""
    found = os.stat(path)  # noqa: PTH116 - as above
    return found.st_mode, found.st_atime_ns, found.st_mtime_ns, found.st_ctime_ns


def _remove(path: str) -> None:
    with contextlib.suppress(OSError):
        if os.path.isdir(path) and not os.path.islink(path):  # noqa: PTH112, PTH114 - as above
            from shutil import rmtree  # noqa: PLC0415 - loads much, and every fork would pay for it

            rmtree(path, ignore_errors=True)
        else:
            os.unlink(path)  # noqa: PTH108 - as above


def _enter_namespaces(calls: kernel.Kernel) -> str:
    """Become the first process of a PID namespace that this worker owns, with mounts and shared memory of its own.

    Returns:
        "given" if whoever started the worker gave it the right to, "made" if it made a user namespace for it.
    """
    wanted = kernel.CLONE_NEWPID | kernel.CLONE_NEWNS | kernel.CLONE_NEWIPC
    user, group = os.getuid(), os.getgid()
    try:
        calls.unshare(wanted)
        how = "given"
    except PermissionError:
        calls.unshare(wanted | kernel.CLONE_NEWUSER)
        maps = (("setgroups", "deny"), ("uid_map", f"{user} {user} 1"), ("gid_map", f"{group} {group} 1"))
        for name, text in maps:
            with open(f"/proc/self/{name}", "w") as file:  # noqa: PTH123 - as above
                file.write(text)
        how = "made"
    with contextlib.suppress(PermissionError):  # a container may forbid all mounting, and then keeps its own
        calls.keep_mounts_private()
    calls.hide()
    pid = os.fork()
    if pid:
        # The keeper: its end is the end of all.
        os.closerange(0, 64)
        os.waitpid(pid, 0)
        os._exit(0)
    calls.die_with_parent()
    return how


def main() -> None:
    """Read the settings from standard input, take place, greet, and serve."""
    os.closerange(3, 64)  # what starts a worker may have left something open, for every program to find
    jobs, reports = os.dup(0), os.dup(1)
    nowhere = os.open(os.devnull, os.O_RDWR)
    settings = json.loads(frames.read(jobs) or b"{}")
    server = Server(settings, jobs, reports)
    try:
        facts = server.enter()
    except OSError as error:
        frames.write(reports, json.dumps({"error": str(error)}).encode("ascii"))
        return
    for descriptor in (0, 1, 2):
        os.dup2(nowhere, descriptor)
    os.close(nowhere)
    sys.path[:] = [path for path in sys.path if path not in ("", settings["home"])]
    frames.write(reports, json.dumps(facts).encode("ascii"))
    server.serve()
