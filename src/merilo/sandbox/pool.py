"""A pool of jailed workers that run programs from one queue.

The pool sends every worker one program to run and one more to run next, without blocking. It collects reports as they
arrive, replaces lost workers, and gives their programs to other workers.
"""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import shutil
import subprocess
import time
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from types import TracebackType
from typing import Final, Self

from merilo.errors import MissingPartError, UsageError, argument
from merilo.sandbox.backends import Backend, Start
from merilo.sandbox.inside import messages
from merilo.sandbox.program import Check, Execution, Limits, Outcome, Program, execution_of, message_of

#: How often a program is started if its worker is lost each time; after that, the program counts as the cause.
ATTEMPTS: Final = 3

#: Seconds beyond a program's wall time after which its worker counts as stuck: it should have killed the program.
GRACE: Final = 10.0

#: Seconds that a worker may take to send its greeting; Docker may have to download the image first.
_START: Final = {"bubblewrap": 60.0, "docker": 600.0}

#: Advice for the case that an installed backend does not work.
_REMEDIES: Final = {
    "bubblewrap": ": allow users to create namespaces (the sysctls user.max_user_namespaces, "
    "kernel.unprivileged_userns_clone and "
    "kernel.apparmor_restrict_unprivileged_userns), or install Docker and choose "
    + argument("backend", "docker", given="docker")
}

#: Consecutive workers lost before their greeting after which the jail counts as not working on this machine.
_FALSE_STARTS: Final = 3

#: Programs sent to a worker at a time: one to run and one to run next, so that a worker never waits for the pool.
_AHEAD: Final = 2

#: The ends of programs whose worker, or whose check's process, was lost each time.
_WORKER_LOST: Final = (Outcome.EXITED, "worker lost", "its worker was lost each time")
_JUDGE_LOST: Final = (Outcome.EXITED, "judge lost", "the process of its check was lost each time")

#: How the lines of advice begin that Docker's client prints after an error.
_ADVICE = ("See 'docker", "Run 'docker")

#: Seconds that a worker may take to end by itself after the pool has closed its input.
_PATIENCE = 5.0


@dataclass(slots=True)
class QueuedProgram:
    """A program to run, its encoded message, and how often it was sent to a worker."""

    program: Program
    message: bytes
    attempts: int = 0


class WorkerProcess:
    """A worker process and the jobs that were sent to it.

    Args:
        backend: the backend that jails it.
        number: its number, unique among the workers that run at the same time.
        limits: what one program may use.
        processor: the only processor that it runs on; any if not given.

    Attributes:
        jobs: jobs sent and not yet reported, oldest first; the worker runs the first one.
        since: when the worker began the first job, in seconds of the monotonic clock.
        python: the version of the programs' Python; `None` until the worker's greeting arrives.
    """

    def __init__(self, backend: Backend, number: int, limits: Limits, processor: int | None = None) -> None:
        self.number = number
        self.jobs: deque[QueuedProgram] = deque()
        self.since = 0.0
        self.python: str | None = None
        start = backend.start(number, limits)
        self._left = start.settings.get("remove")
        self._process = _spawned(start)
        assert self._process.stdin is not None  # noqa: S101 - all three are pipes
        assert self._process.stdout is not None  # noqa: S101 - as above
        self.input = self._process.stdin.fileno()
        self.output = self._process.stdout.fileno()
        os.set_blocking(self.input, False)
        os.set_blocking(self.output, False)
        self._incoming = bytearray()
        settings = start.settings | {"processor": processor}
        self._outgoing = bytearray(messages.frame(json.dumps(settings).encode()))

    @property
    def pid(self) -> int:
        """The process id, on this machine, of the worker's outermost process."""
        return self._process.pid

    @property
    def has_to_send(self) -> bool:
        """Whether there is data that the worker has not taken yet."""
        return bool(self._outgoing)

    def send(self, job: QueuedProgram) -> None:
        """Queue one more job for the worker."""
        if not self.jobs:
            self.since = time.monotonic()
        job.attempts += 1
        self.jobs.append(job)
        self._outgoing += job.message
        self.flush()

    def flush(self) -> None:
        """Write as much data as the worker takes without blocking."""
        with contextlib.suppress(BlockingIOError, BrokenPipeError):
            while self._outgoing:
                del self._outgoing[: os.write(self.input, memoryview(self._outgoing)[: 2**20])]

    def receive(self) -> tuple[list[bytes], bool]:
        """Read the data that has arrived.

        Returns:
            The complete messages, and whether the worker is still alive.

        Raises:
            MissingPartError: the greeting says that the jail could not be set up.
        """
        alive = True
        try:
            part = os.read(self.output, 2**16)
            alive = bool(part)
            self._incoming += part
        except BlockingIOError:
            pass
        reports = messages.split(self._incoming)
        if reports and self.python is None:
            self._greet(reports.pop(0))
        return reports, alive

    def finished(self) -> QueuedProgram:
        """Remove and return the first job, after its report."""
        job = self.jobs.popleft()
        self.since = time.monotonic()
        return job

    def complaint(self) -> str:
        """Return the last line of a lost worker's standard error that is not Docker's advice.

        Empty if there is none.
        """
        assert self._process.stderr is not None  # noqa: S101 - a pipe
        os.set_blocking(self._process.stderr.fileno(), False)
        with contextlib.suppress(BlockingIOError, OSError):
            lines = (
                os.read(self._process.stderr.fileno(), 2**16).decode("utf-8", "replace").strip().splitlines()
            )
            return next((line for line in reversed(lines) if line and not line.startswith(_ADVICE)), "")
        return ""

    def end(self) -> None:
        """Close the worker's input and wait for it to end; kill it if it does not end in time."""
        assert self._process.stdin is not None  # noqa: S101 - as above
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.close()
        try:
            self._process.wait(_PATIENCE)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._close()

    def kill(self) -> None:
        """Kill the worker, and wait until all processes of its jail have ended."""
        self._process.kill()
        self._process.wait()
        os.set_blocking(self.output, True)
        with contextlib.suppress(OSError):
            # The worker inside the jail holds the other end: end of file means that the jail is gone.
            while os.read(self.output, 2**16):
                pass
        self._close()

    def _close(self) -> None:
        """Close the pipes and remove the folder that a killed worker without a jail leaves behind."""
        if self._left is not None:
            shutil.rmtree(str(self._left), ignore_errors=True)
        for stream in (self._process.stdin, self._process.stdout, self._process.stderr):
            if stream is not None:
                with contextlib.suppress(BrokenPipeError):
                    stream.close()

    def _greet(self, message: bytes) -> None:
        greeting = json.loads(message)
        if "error" in greeting:
            raise MissingPartError(f"the sandbox does not work on this machine: {greeting['error']}")
        self.python = greeting["python"]
        self.since = time.monotonic()


def _spawned(start: Start) -> subprocess.Popen[bytes]:
    try:
        return subprocess.Popen(  # noqa: S603 - the backend's command
            start.command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=start.environment,
            pass_fds=start.descriptors,
            start_new_session=True,  # the pool, not the worker, handles Ctrl+C
            bufsize=0,
        )
    except OSError as error:
        raise MissingPartError(f"'{start.command[0]}' does not start: {error.strerror}") from error


class Pool:
    """Jailed workers, started when first needed and ended by `close` or at the end of a `with` block.

    One pool runs one job at a time, in the thread that iterates over it. When the process that holds the pool
    ends, even by SIGKILL, its workers and all their programs end too.

    Args:
        workers: how many; by default, one for each processor that this process may use.
        backend: the kind of jail; see `merilo.sandbox.backends.backend`.
        limits: what one program may use.

    Attributes:
        python: the version of the Python that programs run on; empty until a worker has sent its greeting.

    Raises:
        MissingPartError: no jail works on this machine; raised by the first `run` if only starting a worker shows it.

    Example:
        >>> from merilo.sandbox.backends import NoJail
        >>> from merilo.sandbox.interpreter import interpreter
        >>> program = Program("1", "double = lambda x: 2 * x", "double", ({"x": 2}, {"x": "ab"}))
        >>> with Pool(1, backend=NoJail(interpreter())) as pool:  # no jail: only for programs that you trust
        ...     [execution.texts for execution in pool.run([program])]
        [('4', 'abab')]
    """

    def __init__(self, workers: int | None = None, *, backend: Backend, limits: Limits | None = None) -> None:
        self.workers = workers or len(os.sched_getaffinity(0))
        self.backend = backend
        self.limits = limits or Limits()
        self._workers: dict[int, WorkerProcess] = {}
        self._selector = selectors.DefaultSelector()
        self._programs: Iterator[Program] = iter(())
        self._again: deque[QueuedProgram] = deque()
        self._done: deque[Execution] = deque()
        self._false_starts = 0
        self._running = False
        self.python = ""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End every worker and all its processes."""
        for worker in self._workers.values():
            worker.kill() if worker.jobs else worker.end()
        self._workers.clear()
        self._selector.close()
        self.backend.close()

    @property
    def pids(self) -> list[int]:
        """The process ids, on this machine, of the workers' outermost processes."""
        return [worker.pid for worker in self._workers.values()]

    def run(self, programs: Iterable[Program]) -> Iterator[Execution]:
        """Run programs; each gets exactly one execution.

        Args:
            programs: the iterable is consumed only as fast as workers take programs.

        Yields:
            Executions, in the order in which programs end.

        Raises:
            MissingPartError: no jail works on this machine.
            UsageError: the pool is already running.
        """
        if self._running:
            raise UsageError("this pool is already running programs")
        self._running = True
        self._programs = iter(programs)
        try:
            while True:
                self._feed()
                while self._done:
                    yield self._done.popleft()
                if not any(worker.jobs for worker in self._workers.values()):
                    return
                self._listen()
                self._watch()
        finally:
            self._running = False
            self._again.clear()
            self._done.clear()
            for worker in [worker for worker in self._workers.values() if worker.jobs]:
                self._discard(worker)

    def _feed(self) -> None:
        """Give every worker one program, then every worker one more to run next; start workers that are missing."""
        for depth in range(_AHEAD):
            for number in range(self.workers):
                worker = self._workers.get(number)
                if worker is not None and len(worker.jobs) > depth:
                    continue
                job = self._next()
                if job is None:
                    return
                if worker is None:
                    worker = WorkerProcess(self.backend, number, self.limits, self._processor(number))
                    self._workers[number] = worker
                    self._selector.register(worker.output, selectors.EVENT_READ, worker)
                worker.send(job)
                self._await_room(worker)

    def _next(self) -> QueuedProgram | None:
        if self._again:
            return self._again.popleft()
        program = next(self._programs, None)
        return None if program is None else QueuedProgram(program, message_of(program))

    def _await_room(self, worker: WorkerProcess) -> None:
        """Watch the worker's input for writability only while there is data to send."""
        waits = worker.input in self._selector.get_map()
        if worker.has_to_send and not waits:
            self._selector.register(worker.input, selectors.EVENT_WRITE, worker)
        elif waits and not worker.has_to_send:
            self._selector.unregister(worker.input)

    def _listen(self) -> None:
        for key, _ in self._selector.select(1.0):
            worker: WorkerProcess = key.data
            if worker is not self._workers.get(worker.number):
                continue
            if key.fd == worker.input:
                worker.flush()
                self._await_room(worker)
            else:
                self._receive(worker)

    def _receive(self, worker: WorkerProcess) -> None:
        reports, alive = worker.receive()
        if worker.python is not None:
            self._false_starts, self.python = 0, worker.python
        for report in reports:
            job = worker.finished()
            execution = execution_of(report, job.program, self.limits, job.attempts)
            if execution is None:
                self._try_again(job, _JUDGE_LOST)
            else:
                self._done.append(execution)
        if not alive:
            self._lose(worker, _WORKER_LOST)

    def _watch(self) -> None:
        """Kill workers that are stuck: a worker should have killed its program long before this deadline."""
        now, limit = time.monotonic(), self.limits.wall_seconds
        start = _START.get(self.backend.name, _START["bubblewrap"])
        for worker in list(self._workers.values()):
            patience = limit + GRACE + (start if worker.python is None else 0.0)
            if worker.jobs and now - worker.since > patience:
                self._lose(worker, (Outcome.TIMEOUT, "", f"more than {limit:g} s, and the worker was stuck"))

    def _lose(self, worker: WorkerProcess, end: tuple[Outcome, str, str]) -> None:
        """Remove a lost worker: the program that it was running counts as tried once more.

        The ones queued behind it do not.
        """
        jobs = list(worker.jobs)
        blamed = jobs[:1] if worker.python is not None else []
        for job in reversed(jobs[len(blamed) :]):
            job.attempts -= 1
            self._again.appendleft(job)
        self._discard(worker)
        for job in blamed:
            self._try_again(job, end)

    def _try_again(self, job: QueuedProgram, end: tuple[Outcome, str, str]) -> None:
        if job.attempts < ATTEMPTS:
            self._again.appendleft(job)
            return
        outcome, error, message = end
        calls = 0 if isinstance(job.program.tests, Check) else len(job.program.tests)
        texts = (None,) * calls
        self._done.append(Execution(job.program.id, outcome, texts, error, message, attempts=job.attempts))

    def _processor(self, number: int) -> int | None:
        """Return the processor that a worker is pinned to, or `None` if it may run on any.

        A worker consists of several processes that run in turn; switching between them is much cheaper on one
        processor. If there are fewer workers than processors, the kernel schedules better without pinning.
        Docker's workers are not pinned because its engine may run on another machine.
        """
        processors = sorted(os.sched_getaffinity(0))
        if self.workers != len(processors) or self.backend.name == "docker":
            return None
        return processors[number]

    def _discard(self, worker: WorkerProcess) -> None:
        """Kill a worker if it still runs, and remove it from the pool.

        Raises:
            MissingPartError: too many workers in a row were lost before their greeting.
        """
        del self._workers[worker.number]
        for descriptor in (worker.input, worker.output):
            if descriptor in self._selector.get_map():
                self._selector.unregister(descriptor)
        complaint = worker.complaint() if worker.python is None else ""
        worker.kill()
        if worker.python is None and self._running:
            self._false_starts += 1
            if self._false_starts >= _FALSE_STARTS:
                raise MissingPartError(
                    f"{self.backend.name} cannot create a sandbox on this machine "
                    f"({complaint or 'without a reason'}){_REMEDIES.get(self.backend.name, '')}"
                )
