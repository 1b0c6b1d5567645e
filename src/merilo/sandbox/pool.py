"""A pool of jailed workers that run programs from one queue.

The pool sends every worker one program to run and one more to run next. It collects reports as they arrive, replaces
lost workers, and gives their programs to other workers.
"""

from __future__ import annotations

import contextlib
import os
import selectors
import time
from collections import deque
from collections.abc import Iterable, Iterator
from types import TracebackType
from typing import Final, Self

from merilo.errors import MissingPartError, UsageError, argument
from merilo.sandbox.backends import Backend
from merilo.sandbox.inside.codec import NotPlainError
from merilo.sandbox.program import CallResult, Check, Execution, Limits, Outcome, Program
from merilo.sandbox.worker_process import (
    QueuedProgram,
    WorkerProcess,
    execution_of,
    lost_its_judge,
    message_of,
    report_of,
)

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


#: The answers of programs whose worker, or whose check's process, was lost each time.
_WORKER_LOST: Final = CallResult(Outcome.EXITED, error="worker lost", message="its worker was lost each time")
_JUDGE_LOST: Final = CallResult(
    Outcome.EXITED, error="judge lost", message="the process of its check was lost each time"
)


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
        UsageError: fewer than one worker.

    Example:
        >>> from merilo.sandbox.backends import NoJail
        >>> from merilo.sandbox.interpreter import interpreter
        >>> program = Program("1", "double = lambda x: 2 * x", "double", ({"x": 2}, {"x": "ab"}))
        >>> with Pool(1, backend=NoJail(interpreter())) as pool:  # no jail: only for programs that you trust
        ...     [execution.texts for execution in pool.run([program])]
        [('4', 'abab')]
    """

    def __init__(self, workers: int | None = None, *, backend: Backend, limits: Limits | None = None) -> None:
        if workers is not None and workers < 1:
            raise UsageError(f"there must be at least one worker, not {workers}", field=argument("workers"))
        self.workers = workers or len(os.sched_getaffinity(0))
        self.backend = backend
        self.limits = limits or Limits()
        self._workers: dict[int, WorkerProcess] = {}
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
            UsageError: the pool is already running, or a test's arguments are not plain values.
        """
        if self._running:
            raise UsageError("this pool is already running programs")
        self._running = True
        try:
            yield from _Run(self, programs).executions()
        finally:
            self._running = False
            for worker in [worker for worker in self._workers.values() if worker.jobs]:
                self.discard(worker)

    def has(self, number: int) -> bool:
        """Return whether the worker with this number is running or starting."""
        return number in self._workers

    def worker(self, number: int) -> WorkerProcess:
        """Return the worker with this number, and start it if it is not running."""
        if number not in self._workers:
            self._workers[number] = WorkerProcess(self.backend, number, self.limits, self._processor(number))
        return self._workers[number]

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

    def discard(self, worker: WorkerProcess) -> None:
        """Kill a worker if it still runs, and remove it from the pool.

        Raises:
            MissingPartError: too many workers in a row were lost before their greeting.
        """
        del self._workers[worker.number]
        complaint = worker.complaint() if worker.greeting is None else ""
        worker.kill()
        if worker.greeting is None and self._running:
            self._false_starts += 1
            if self._false_starts >= _FALSE_STARTS:
                reason = complaint or "without a reason"
                raise MissingPartError(
                    f"{self.backend.name} cannot create a sandbox on this machine "
                    f"({reason}){_REMEDIES.get(self.backend.name, '')}"
                )

    def greeted(self, worker: WorkerProcess) -> None:
        """Record that a worker has sent its greeting."""
        self._false_starts = 0
        self.python = str((worker.greeting or {}).get("python", ""))


class _Run:
    """One job of a pool: its queue, its workers and the executions not yet yielded."""

    def __init__(self, pool: Pool, programs: Iterable[Program]) -> None:
        self._pool = pool
        self._programs = iter(programs)
        self._again: deque[QueuedProgram] = deque()
        self._workers: set[WorkerProcess] = set()
        self._done: deque[Execution] = deque()
        self._selector = selectors.DefaultSelector()

    def executions(self) -> Iterator[Execution]:
        """Send programs to workers and yield executions until all programs have ended."""
        with contextlib.closing(self._selector):
            while True:
                self._feed()
                while self._done:
                    yield self._done.popleft()
                if not any(worker.jobs for worker in self._workers):
                    return
                self._listen()
                self._watch()

    def _feed(self) -> None:
        """Give every worker one program, then every worker one more to run next."""
        for depth in range(_AHEAD):
            for number in range(self._pool.workers):
                known = self._pool.has(number)
                if known and len(self._pool.worker(number).jobs) > depth:
                    continue
                job = self._next()
                if job is None:
                    return
                worker = self._pool.worker(number)
                self._attend(worker)
                worker.send(job)
                self._await_room(worker)

    def _next(self) -> QueuedProgram | None:
        if self._again:
            return self._again.popleft()
        program = next(self._programs, None)
        if program is None:
            return None
        try:
            return QueuedProgram(program, message_of(program))
        except NotPlainError as error:
            raise UsageError(
                f"a test of program '{program.id}' has arguments that are not plain values: {error}"
            ) from error

    def _attend(self, worker: WorkerProcess) -> None:
        if worker not in self._workers:
            self._workers.add(worker)
            self._selector.register(worker.output, selectors.EVENT_READ, worker)

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
            if worker not in self._workers:
                continue
            if key.fd == worker.input:
                worker.flush()
                self._await_room(worker)
            else:
                self._receive(worker)

    def _receive(self, worker: WorkerProcess) -> None:
        was_up = worker.greeting is not None
        messages, alive = worker.receive()
        if worker.greeting is not None and not was_up:
            self._pool.greeted(worker)
        for message in messages:
            self._report(worker.finished(), message)
        if not alive:
            self._lose(worker, _WORKER_LOST)

    def _report(self, job: QueuedProgram, message: bytes) -> None:
        report = report_of(message)
        if lost_its_judge(report, job.program):
            self._try_again(job, _JUDGE_LOST)
        else:
            self._done.append(execution_of(report, job.program, self._pool.limits, job.attempts))

    def _watch(self) -> None:
        """Kill workers that are stuck: a worker should have killed its program long before this deadline."""
        now, limit = time.monotonic(), self._pool.limits.wall_seconds
        start = _START.get(self._pool.backend.name, _START["bubblewrap"])
        for worker in list(self._workers):
            patience = limit + GRACE + (start if worker.greeting is None else 0.0)
            if worker.jobs and now - worker.since > patience:
                message = f"more than {limit:g} s, and the worker was stuck"
                self._lose(worker, CallResult(Outcome.TIMEOUT, message=message))

    def _lose(self, worker: WorkerProcess, verdict: CallResult) -> None:
        """Remove a lost worker: the program that it was running counts as tried once more.

        The ones queued behind it do not.
        """
        self._workers.discard(worker)
        for descriptor in (worker.input, worker.output):
            if descriptor in self._selector.get_map():
                self._selector.unregister(descriptor)
        jobs = list(worker.jobs)
        blamed = jobs[:1] if worker.greeting is not None else []
        for job in reversed(jobs[len(blamed) :]):
            job.attempts -= 1
            self._again.appendleft(job)
        self._pool.discard(worker)
        for job in blamed:
            self._try_again(job, verdict)

    def _try_again(self, job: QueuedProgram, verdict: CallResult) -> None:
        if job.attempts < ATTEMPTS:
            self._again.appendleft(job)
            return
        answers = () if isinstance(job.program.tests, Check) else (verdict,) * len(job.program.tests)
        end = verdict.outcome, answers, verdict.error, verdict.message
        self._done.append(Execution(job.program.id, *end, attempts=job.attempts))
