"""A pool of jailed workers that run programs from one queue.

The pool is the only place that sees both sides. It gives every worker one program and one more to go on with, takes
reports as they come, replaces workers that are lost, and gives their programs to others.
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

#: How often a program is tried when workers are lost under it; then it is to blame.
ATTEMPTS: Final = 3

#: Seconds that a worker gets beyond a program's wall time: it should have ended the program itself.
GRACE: Final = 10.0

#: Seconds that a worker gets to greet; a container may have to fetch its image first.
_START: Final = {"bubblewrap": 60.0, "docker": 600.0}

#: What helps where an installed backend does not work.
_REMEDIES: Final = {
    "bubblewrap": ": let users make namespaces (the sysctls user.max_user_namespaces, kernel.unprivileged_userns_clone and "
    "kernel.apparmor_restrict_unprivileged_userns), or install Docker and ask for "
    + argument("backend", "docker", given="docker")
}

#: Workers in a row that may be lost before they greet; then the jail does not work here.
_FALSE_STARTS: Final = 3

#: One program to be at and one to go on with: a worker never waits for the pool.
_AHEAD: Final = 2


class Pool:
    """Jailed workers, started when first needed and ended by `close` or at the end of a `with` block.

    One pool runs one job at a time, in the thread that iterates over it. Whatever happens to the process that holds
    the pool, even SIGKILL, its workers and all programs in them end with it.

    Args:
        workers: how many; as many as there are processors for this process when not given.
        backend: how to jail; see `merilo.sandbox.backends.backend`.
        limits: what one program may use.

    Attributes:
        python: the version of the Python that programs run on; empty until a worker has greeted.

    Raises:
        MissingPartError: no jail works here; at the first `run`, if that shows only in trying.
        UsageError: fewer than one worker.

    Example:
        >>> from merilo.sandbox.backends import NoJail
        >>> from merilo.sandbox.interpreter import interpreter
        >>> program = Program("1", "double = lambda x: 2 * x", "double", ({"x": 2}, {"x": "ab"}))
        >>> with Pool(1, backend=NoJail(interpreter())) as pool:  # no jail: only for a program of one's own
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
        """A pool on a backend that is chosen by name; the arguments of `merilo.sandbox.backends.backend`."""
        chosen = backend(name, python=python, packages=packages, unsafe_no_sandbox=unsafe_no_sandbox)
        return cls(workers, backend=chosen, limits=limits)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End every worker; nothing of them is left afterwards."""
        for lane in self._lanes.values():
            lane.kill() if lane.jobs else lane.end()
        self._lanes.clear()
        self.backend.close()

    @property
    def pids(self) -> list[int]:
        """The processes on this machine that hold the jails."""
        return [lane.pid for lane in self._lanes.values()]

    def run(self, programs: Iterable[Program]) -> Iterator[Execution]:
        """Run programs; each gets exactly one execution.

        Args:
            programs: taken from the iterable only as fast as workers take them.

        Yields:
            Executions, as they come.

        Raises:
            MissingPartError: no jail works here.
            UsageError: the pool is running already, or a test's arguments are no plain values.
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
        """Whether the worker of this number is up or starting."""
        return number in self._lanes

    def lane(self, number: int) -> Lane:
        """The worker of this number, started if need be."""
        if number not in self._lanes:
            self._lanes[number] = Lane(self.backend, number, self.limits, self._processor(number))
        return self._lanes[number]

    def _processor(self, number: int) -> int | None:
        """The processor that a worker keeps to, where each is to have one.

        A worker is several processes that take turns; on one processor, they hand over at a fraction of the cost. Where
        there are fewer workers than processors, the kernel finds the idle ones better; Docker's may be another machine's.
        """
        processors = sorted(os.sched_getaffinity(0))
        if self.workers != len(processors) or self.backend.name == "docker":
            return None
        return processors[number]

    def discard(self, lane: Lane) -> None:
        """Kill a worker, or bury one that is dead."""
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
        """A worker is up."""
        self._false_starts = 0
        self.python = str((lane.greeting or {}).get("python", ""))


class _Run:
    """One job of a pool: a queue, the workers at it, and what has come back."""

    def __init__(self, pool: Pool, programs: Iterable[Program]) -> None:
        self._pool = pool
        self._programs = iter(programs)
        self._again: deque[Job] = deque()
        self._lanes: set[Lane] = set()
        self._done: deque[Execution] = deque()
        self._selector = selectors.DefaultSelector()

    def executions(self) -> Iterator[Execution]:
        """Feed workers and take their reports until nothing is left."""
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
        """Give every worker one program, then every worker one to go on with."""
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
        """Listen for the worker's readiness to take more exactly while there is more."""
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
        """Kill workers that are stuck, whatever the reason: the worker itself should have ended its program long ago."""
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
        """A worker is gone: its program is run again, the ones behind it as if nothing had happened."""
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
