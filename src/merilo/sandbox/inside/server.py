"""The worker: for each job, it starts a program's process, watches it from outside, and reports.

It runs inside the jail and exchanges these messages with the pool over its standard input and output:

    pool -> worker    a frame with the settings (JSON), then jobs: `JOB` with two lengths, the program's part
    (marshalled, for
                      the harness), and the judge's part (JSON; empty if there is no check)
    worker -> pool    a frame with a greeting (JSON), then a frame for each job: `REPORT`, then the program's answers or
                      the judge's verdict

The worker does not interpret a program's answers. A program's process is process 1 of its own PID namespace. It has no
capabilities, limits enforced by the kernel, and empty scratch folders. When the program ends, the whole namespace is
killed.
"""

from __future__ import annotations

import contextlib
import os
import select
import struct
import time
from _socket import socket, socketpair  # `socket` imports many modules
from typing import Any, NoReturn

from merilo.sandbox.inside import fork_server, framing
from merilo.sandbox.inside.judge import Referee
from merilo.sandbox.inside.scratch import Scratch, remove

#: The lengths of a job's two parts.
JOB = struct.Struct("<II")

#: Cause, wait status, wall seconds, processor seconds, peak bytes; then the program's answers or the judge's verdict.
REPORT = struct.Struct("<BiddQ")

ENDED, TIMED_OUT, OVERFLOWED = range(3)

#: Checks after which a judge is replaced, which removes any state that they have left in it.
CHECKS_PER_JUDGE = 5000

#: Seconds after a program's deadline in which a judge may report its end, or the worker may read answers sent in time.
_GRACE = 0.5

_LONGEST_VERDICT = 2**16


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
            head = framing.exactly(self._jobs, JOB.size)
            if head is None:
                self._leave()
            of_program, of_check = JOB.unpack(head)
            program = framing.exactly(self._jobs, of_program) or b""
            check = framing.exactly(self._jobs, of_check) or b""
            started = time.monotonic()
            if check:
                cause, payload, end = self._run_check(program, check, started + self._settings["wall"])
            else:
                cause, payload, end = self._run_calls(program, started + self._settings["wall"])
            self._scratch.sweep()
            framing.write(self._reports, REPORT.pack(cause, *fork_server.END.unpack(end)), payload)

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
        except (OSError, framing.BrokenFrameError):
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
        waiting = select.poll()
        waiting.register(link, select.POLLIN)
        waiting.register(self._jobs, 0)
        room: int = self._settings["answers"]
        payload = bytearray()
        while len(payload) < room:
            events = dict(waiting.poll(max(0.0, deadline - time.monotonic()) * 1000))
            if self._jobs in events:
                self._leave()
            # A busy worker may read late what was sent in time.
            if not events or time.monotonic() > deadline + _GRACE:
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
        waiting = select.poll()
        waiting.register(referee.socket, select.POLLIN)
        waiting.register(self._jobs, 0)
        cause, end = ENDED, None
        for until in (deadline, deadline + _GRACE):
            events = dict(waiting.poll(max(0.0, until - time.monotonic()) * 1000))
            if self._jobs in events:
                self._leave()
            if events:
                verdict = framing.read(referee.socket.fileno(), _LONGEST_VERDICT)
                if verdict is None:  # the judge has ended, and the next check needs a new one
                    self._dismiss_referee()
                return cause, verdict or b"", end
            if end is None:
                cause, end = TIMED_OUT, self._fork_server.end()
        self._dismiss_referee()
        return cause, b"", end

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
        framing.write(link.fileno(), program)
