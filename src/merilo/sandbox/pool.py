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
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from merilo.errors import MissingPartError, UsageError, argument
from merilo.sandbox.backends import backend
from merilo.sandbox.inside.codec import NotPlainError
from merilo.sandbox.launch import Backend
from merilo.sandbox.program import Answer, Check, Execution, Limits, Outcome, Program
from merilo.sandbox.worker_process import Job, Lane, message_of
from merilo.sandbox.worker_report import execution_of, lost_its_judge, report_of

#: How often a program is started if its worker is lost each time; after that, the program counts as the cause.
ATTEMPTS: Final = 3

#: Seconds beyond a program's wall time after which its worker counts as stuck: it should have killed the program.
GRACE: Final = 10.0

#: Seconds that a worker may take to send its greeting; Docker may have to download the image first.
_START: Final = {"bubblewrap": 60.0, "docker": 600.0}

#: Advice for the case that an installed backend does not work.
_REMEDIES: Final = {
    "bubblewrap": ": let users make namespaces (the sysctls user.max_user_namespaces, kernel.unprivileged_userns_clone and "
    "kernel.apparmor_restrict_unprivileged_userns), or install Docker and ask for "
    + argument("backend", "docker", given="docker")
}

#: Consecutive workers lost before their greeting after which the jail counts as not working on this machine.
_FALSE_STARTS: Final = 3

#: Programs sent to a worker at a time: one to run and one to run next, so that a worker never waits for the pool.
_AHEAD: Final = 2


class Pool:
    """Jailed workers, started when first needed and ended by `close` or at the end of a `with` block.

    One pool runs one job at a time, in the thread that iterates over it. When the process that holds the pool ends, even
    by SIGKILL, its workers and all their programs end too.

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
        self._lanes: dict[int, Lane] = {}
        self._false_starts = 0
        self._running = False
        self.python = ""

    @classmethod
    def open(
        cls,
        workers: int | None = None,
        *,
        limits: Limits | None = None,
        name: str = "auto",
        python: str | None = None,
        packages: Path | None = None,
        unsafe_no_sandbox: bool = False,
    ) -> Self:
        """Open a pool on a backend chosen by name; takes the arguments of `merilo.sandbox.backends.backend`."""
        chosen = backend(name, python=python, packages=packages, unsafe_no_sandbox=unsafe_no_sandbox)
        return cls(workers, backend=chosen, limits=limits)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End every worker and all its processes."""
        for lane in self._lanes.values():
            lane.kill() if lane.jobs else lane.end()
        self._lanes.clear()
        self.backend.close()

    @property
    def pids(self) -> list[int]:
        """The process ids, on this machine, of the workers' outermost processes."""
        return [lane.pid for lane in self._lanes.values()]

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
            raise UsageError("this pool is running programs already")
        self._running = True
        try:
            yield from _Run(self, programs).executions()
        finally:
            self._running = False
            for lane in [lane for lane in self._lanes.values() if lane.jobs]:
                self.discard(lane)

    def has(self, number: int) -> bool:
        """Return whether the worker with this number is running or starting."""
        return number in self._lanes

    def lane(self, number: int) -> Lane:
        """Return the worker with this number, and start it if it is not running."""
        if number not in self._lanes:
            self._lanes[number] = Lane(self.backend, number, self.limits, self._processor(number))
        return self._lanes[number]

    def _processor(self, number: int) -> int | None:
        """Return the processor that a worker is pinned to, or `None` if it may run on any.

        A worker consists of several processes that run in turn; switching between them is much cheaper on one processor.
        If there are fewer workers than processors, the kernel schedules better without pinning. Docker's workers are not
        pinned because its engine may run on another machine.
        """
        processors = sorted(os.sched_getaffinity(0))
        if self.workers != len(processors) or self.backend.name == "docker":
            return None
        return processors[number]

    def discard(self, lane: Lane) -> None:
        """Kill a worker if it still runs, and remove it from the pool.

        Raises:
            MissingPartError: too many workers in a row were lost before their greeting.
        """
        del self._lanes[lane.number]
        complaint = lane.complaint() if lane.greeting is None else ""
        lane.kill()
        if lane.greeting is None and self._running:
            self._false_starts += 1
            if self._false_starts >= _FALSE_STARTS:
                reason = complaint or "it gave no reason"
                raise MissingPartError(
                    f"{self.backend.name} makes no jail on this machine ({reason}){_REMEDIES.get(self.backend.name, '')}"
                )

    def greeted(self, lane: Lane) -> None:
        """Record that a worker has sent its greeting."""
        self._false_starts = 0
        self.python = str((lane.greeting or {}).get("python", ""))


class _Run:
    """One job of a pool: its queue, its workers and the executions not yet yielded."""

    def __init__(self, pool: Pool, programs: Iterable[Program]) -> None:
        self._pool = pool
        self._programs = iter(programs)
        self._again: deque[Job] = deque()
        self._lanes: set[Lane] = set()
        self._done: deque[Execution] = deque()
        self._selector = selectors.DefaultSelector()

    def executions(self) -> Iterator[Execution]:
        """Send programs to workers and yield executions until all programs have ended."""
        with contextlib.closing(self._selector):
            while True:
                self._feed()
                while self._done:
                    yield self._done.popleft()
                if not any(lane.jobs for lane in self._lanes):
                    return
                self._listen()
                self._watch()

    def _feed(self) -> None:
        """Give every worker one program, then every worker one more to run next."""
        for depth in range(_AHEAD):
            for number in range(self._pool.workers):
                known = self._pool.has(number)
                if known and len(self._pool.lane(number).jobs) > depth:
                    continue
                job = self._next()
                if job is None:
                    return
                lane = self._pool.lane(number)
                self._attend(lane)
                lane.send(job)
                self._await_room(lane)

    def _next(self) -> Job | None:
        if self._again:
            return self._again.popleft()
        program = next(self._programs, None)
        if program is None:
            return None
        try:
            return Job(program, message_of(program))
        except NotPlainError as error:
            raise UsageError(
                f"a test of program '{program.id}' has arguments that are no plain values: {error}"
            ) from error

    def _attend(self, lane: Lane) -> None:
        if lane not in self._lanes:
            self._lanes.add(lane)
            self._selector.register(lane.output, selectors.EVENT_READ, lane)

    def _await_room(self, lane: Lane) -> None:
        """Watch the worker's input for writability only while there is data to send."""
        waits = lane.input in self._selector.get_map()
        if lane.has_to_send and not waits:
            self._selector.register(lane.input, selectors.EVENT_WRITE, lane)
        elif waits and not lane.has_to_send:
            self._selector.unregister(lane.input)

    def _listen(self) -> None:
        for key, _ in self._selector.select(1.0):
            lane: Lane = key.data
            if lane not in self._lanes:
                continue
            if key.fd == lane.input:
                lane.flush()
                self._await_room(lane)
            else:
                self._receive(lane)

    def _receive(self, lane: Lane) -> None:
        was_up = lane.greeting is not None
        messages, alive = lane.receive()
        if lane.greeting is not None and not was_up:
            self._pool.greeted(lane)
        for message in messages:
            self._report(lane.finished(), message)
        if not alive:
            self._lose(
                lane, Answer(Outcome.EXITED, error="worker lost", message="the worker was lost with it")
            )

    def _report(self, job: Job, message: bytes) -> None:
        report = report_of(message)
        if lost_its_judge(report, job.program):
            self._try_again(
                job,
                Answer(Outcome.EXITED, error="judge lost", message="the check's process was lost with it"),
            )
        else:
            self._done.append(execution_of(report, job.program, self._pool.limits, job.attempts))

    def _watch(self) -> None:
        """Kill workers that are stuck: a worker should have killed its program long before this deadline."""
        now = time.monotonic()
        start = _START.get(self._pool.backend.name, _START["bubblewrap"])
        for lane in list(self._lanes):
            patience = self._pool.limits.wall_seconds + GRACE + (start if lane.greeting is None else 0.0)
            if lane.jobs and now - lane.since > patience:
                limit = self._pool.limits.wall_seconds
                self._lose(
                    lane, Answer(Outcome.TIMEOUT, message=f"more than {limit:g} s, and the worker was stuck")
                )

    def _lose(self, lane: Lane, verdict: Answer) -> None:
        """Remove a lost worker: the program that it was running counts as tried once more, the ones queued behind it do not."""
        self._lanes.discard(lane)
        for descriptor in (lane.input, lane.output):
            if descriptor in self._selector.get_map():
                self._selector.unregister(descriptor)
        jobs = list(lane.jobs)
        blamed = jobs[:1] if lane.greeting is not None else []
        for job in reversed(jobs[len(blamed) :]):
            job.attempts -= 1
            self._again.appendleft(job)
        self._pool.discard(lane)
        for job in blamed:
            self._try_again(job, verdict)

    def _try_again(self, job: Job, verdict: Answer) -> None:
        if job.attempts < ATTEMPTS:
            self._again.appendleft(job)
            return
        answers = () if isinstance(job.program.tests, Check) else (verdict,) * len(job.program.tests)
        self._done.append(
            Execution(
                job.program.id,
                verdict.outcome,
                answers,
                verdict.error,
                verdict.message,
                attempts=job.attempts,
            )
        )
