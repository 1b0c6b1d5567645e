"""The warm worker: forks once per program, and watches from outside the program's process.

It runs inside the jail and speaks with the pool over its standard input and output, in frames:

    pool -> worker    the settings (JSON), then jobs: one letter ("c" calls, "k" check), four bytes of length, the program's
                      part (JSON, for the harness), and for a check the judge's part (JSON)
    worker -> pool    a greeting (JSON), then one report for each job: `REPORT`, what the program said, the judge's verdict

Nothing that a program says is interpreted here. A program gets a process that is the first of its own PID namespace,
no capabilities, limits set by the kernel, and an empty scratch folder; at its end the whole namespace is killed.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import json
import os
import platform
import select
import shutil
import signal
import socket
import struct
import sys
import time
from typing import Any, NoReturn

from merilo.sandbox.inside import frames, harness, kernel
from merilo.sandbox.inside.judge import judge

#: cause, wait status, wall seconds, processor seconds, peak bytes, length of the answers; the verdict is what is left.
REPORT = struct.Struct("<BiddQI")

ENDED, TIMED_OUT, OVERFLOWED = range(3)

#: A judge is replaced after so many checks: whatever they have left behind goes with it.
CHECKS_PER_JUDGE = 500

#: Seconds that a judge gets to notice that the program is gone.
_GRACE = 0.5

#: Loaded before the fork: what programs import most. Each one more makes every fork slower.
COMMON_MODULES = (
    "bisect", "collections", "copy", "functools", "heapq", "itertools", "math", "operator", "random", "re", "string",
    "typing",
)  # fmt: skip


class Judge:
    """A judge's process and the socket to it."""

    def __init__(self, server: Server) -> None:
        self.socket, theirs = socket.socketpair()
        self.served = 0
        self.pid = server.fork()
        if self.pid == 0:
            self.socket.close()
            os.close(server.jobs)
            os.close(server.reports)
            harness.prepare_process({**server.limits, "cpu": None})
            server.drop_rights()
            _judge_for_ever(theirs, server.longest)
        theirs.close()

    def start(self, job: bytes, program: socket.socket) -> None:
        """Hand over one check and the socket to the program that answers it."""
        self.served += 1
        self.socket.sendmsg(
            [b"j"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, struct.pack("i", program.fileno()))]
        )
        frames.write(self.socket.fileno(), job)

    def end(self) -> None:
        """Kill it."""
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        self.socket.close()


def _judge_for_ever(pool: socket.socket, longest: int) -> NoReturn:
    try:
        while True:
            _, ancillary, _, _ = pool.recvmsg(1, socket.CMSG_SPACE(4))
            if not ancillary:
                break
            (descriptor,) = struct.unpack("i", ancillary[0][2][:4])
            job = frames.read(pool.fileno())
            verdict = judge(json.loads(job or b"{}"), descriptor, longest)
            os.close(descriptor)
            frames.write(pool.fileno(), json.dumps(verdict).encode("ascii"))
    finally:
        os._exit(1)


class Server:
    """One worker: reads jobs, runs them one after another, reports.

    Args:
        settings: `limits`, `wall`, `output`, `filter`, `user`, `scratch`, `scratch_bytes`, `packages`, `jailed`.
        jobs: the descriptor that jobs come from.
        reports: the descriptor that reports go to.
    """

    def __init__(self, settings: dict[str, Any], jobs: int, reports: int) -> None:
        self.settings = settings
        self.jobs = jobs
        self.reports = reports
        self.limits: dict[str, int | None] = settings["limits"]
        self.longest: int = settings["output"]
        self.jailed: bool = settings["jailed"]
        self.kernel = kernel.Kernel() if self.jailed else None
        self.mounts_scratch = False
        self.judge: Judge | None = None
        self._children: set[int] = set()

    def enter(self) -> dict[str, object]:
        """Take the worker's place in the jail: namespaces of its own, an empty scratch, the filter.

        Returns:
            What holds, for the greeting.
        """
        facts: dict[str, object] = {"python": platform.python_version(), "jailed": self.jailed}
        if self.kernel is not None:
            facts["namespaces"] = _enter_namespaces(self.kernel)
            self.kernel.hide()
            self.kernel.gain_no_privileges()
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
            job = frames.read(self.jobs)
            if job is None:
                self._leave()
            (length,) = struct.unpack_from("<I", job, 1)
            program, check = job[5 : 5 + length], job[5 + length :]
            report = self._run_check(program, check) if job[:1] == b"k" else self._run_calls(program)
            self._sweep()
            frames.write(self.reports, report)

    def fork(self) -> int:
        """`os.fork`; in the jail the child is the first of its own PID namespace, and dies with the worker."""
        if self.kernel is not None:
            return self.kernel.fork_into_new_pid_namespace()
        pid = os.fork()
        if pid:
            self._children.add(pid)
        return pid

    def drop_rights(self) -> None:
        """In the child: no user's name but the program's, no capability."""
        user = self.settings["user"]
        if user is not None:
            os.setgroups([])
            os.setresgid(user, user, user)
            os.setresuid(user, user, user)
        if self.kernel is not None:
            self.kernel.drop_capabilities()
        else:
            os.setsid()

    def _run_calls(self, program: bytes) -> bytes:
        ours, theirs = os.pipe()
        started = time.monotonic()
        pid = self.fork()
        if pid == 0:
            os.close(ours)
            self._be_the_program(program, theirs, harness.answer_calls)
        os.close(theirs)
        cause, answers = self._read_answers(ours, started + self.settings["wall"])
        os.close(ours)
        return self._report(pid, started, cause, answers, b"")

    def _run_check(self, program: bytes, check: bytes) -> bytes:
        if self.judge is not None and self.judge.served >= CHECKS_PER_JUDGE:
            self._dismiss_judge()
        if self.judge is None:
            self.judge = Judge(self)
        judges, programs = socket.socketpair()
        started = time.monotonic()
        pid = self.fork()
        if pid == 0:
            judges.close()
            self._be_the_program(program, programs.detach(), harness.serve_calls)
        programs.close()
        cause, verdict = ENDED, b""
        try:
            self.judge.start(check, judges)
            judges.close()
            cause, verdict = self._await_verdict(self.judge, pid, started + self.settings["wall"])
        except (OSError, frames.BrokenFrameError):
            self._dismiss_judge()
        return self._report(pid, started, cause, b"", verdict)

    def _be_the_program(self, program: bytes, descriptor: int, answer: harness.Answering) -> NoReturn:
        """The child's life: give up what the worker holds, then run."""
        try:
            os.close(self.jobs)
            os.close(self.reports)
            if self.judge is not None:
                self.judge.socket.close()
            harness.prepare_process(self.limits)
            self.drop_rights()
            os.chdir(self.settings["scratch"][0])
            answer(json.loads(program), descriptor, self.longest)
        finally:
            os._exit(0)

    def _read_answers(self, descriptor: int, deadline: float) -> tuple[int, bytes]:
        """What the program says until it closes, its time is up, or it says too much."""
        waiting = select.poll()
        waiting.register(descriptor, select.POLLIN)
        waiting.register(self.jobs, 0)
        answers = bytearray()
        while True:
            events = dict(waiting.poll(max(0.0, deadline - time.monotonic()) * 1000))
            if self.jobs in events:
                self._leave()
            if not events:
                return TIMED_OUT, bytes(answers)
            part = os.read(descriptor, 2**16)
            if not part:
                return ENDED, bytes(answers)
            answers += part
            if len(answers) > self.settings["answers"]:
                return OVERFLOWED, bytes(answers[: self.settings["answers"]])

    def _await_verdict(self, referee: Judge, pid: int, deadline: float) -> tuple[int, bytes]:
        waiting = select.poll()
        waiting.register(referee.socket, select.POLLIN)
        waiting.register(self.jobs, 0)
        cause = ENDED
        for until in (deadline, deadline + _GRACE):
            events = dict(waiting.poll(max(0.0, until - time.monotonic()) * 1000))
            if self.jobs in events:
                self._leave()
            if events:
                return cause, frames.read(referee.socket.fileno(), 2**16) or b""
            cause = TIMED_OUT
            os.kill(pid, signal.SIGKILL)
        self._dismiss_judge()
        return cause, b""

    def _dismiss_judge(self) -> None:
        if self.judge is not None:
            self.judge.end()
            self.judge = None

    def _report(self, pid: int, started: float, cause: int, answers: bytes, verdict: bytes) -> bytes:
        """Kill what is left of the program, and put together the report."""
        os.kill(pid, signal.SIGKILL)
        if self.kernel is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(pid, signal.SIGKILL)
        _, status, used = os.wait4(pid, 0)
        self._children.discard(pid)
        wall = time.monotonic() - started
        head = REPORT.pack(
            cause, status, wall, used.ru_utime + used.ru_stime, used.ru_maxrss * 1024, len(answers)
        )
        return head + answers + verdict

    def _leave(self) -> NoReturn:
        """The pool has hung up: with the worker goes everything."""
        for child in self._children:
            with contextlib.suppress(OSError):
                os.killpg(child, signal.SIGKILL)
        if self.settings["remove"]:
            shutil.rmtree(self.settings["remove"], ignore_errors=True)
        os._exit(0)

    def _mount_scratch(self) -> None:
        assert self.kernel is not None  # noqa: S101 - the caller asked
        try:
            for path in self.settings["scratch"]:
                self.kernel.mount_scratch(path, self.settings["scratch_bytes"], _FILES_IN_SCRATCH)
        except OSError:
            return  # a container that forbids mounting: what it provides is swept file by file
        self.mounts_scratch = True

    def _sweep(self) -> None:
        """Empty the scratch folders."""
        for path in self.settings["scratch"]:
            if not os.listdir(path):  # noqa: PTH208 - pathlib would be loaded for this alone
                continue
            if self.mounts_scratch and self.kernel is not None:
                self.kernel.unmount(path)
                self.kernel.mount_scratch(path, self.settings["scratch_bytes"], _FILES_IN_SCRATCH)
                continue
            for name in os.listdir(path):  # noqa: PTH208 - as above
                _remove(os.path.join(path, name))  # noqa: PTH118 - as above
            if os.listdir(path):  # noqa: PTH208 - as above
                os._exit(1)  # something that cannot be removed: the pool starts a fresh worker


_FILES_IN_SCRATCH = 4096


def _remove(path: str) -> None:
    if os.path.isdir(path) and not os.path.islink(path):  # noqa: PTH112, PTH114 - as above
        shutil.rmtree(path, ignore_errors=True)
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
        for name, text in (
            ("setgroups", "deny"),
            ("uid_map", f"{user} {user} 1"),
            ("gid_map", f"{group} {group} 1"),
        ):
            with open(f"/proc/self/{name}", "w") as file:  # noqa: PTH123 - as above
                file.write(text)
        how = "made"
    pid = os.fork()
    if pid:
        os.closerange(0, 64)
        os.waitpid(pid, 0)
        os._exit(0)
    calls.die_with_parent()
    return how


def main() -> None:
    """Read the settings from standard input, take place, greet, and serve."""
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
