"""Executors for a job's programs: a pool on this machine, or a Ray cluster."""

from __future__ import annotations

import contextlib
import logging
import os
import platform
import socket
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from itertools import islice
from types import ModuleType, TracebackType
from typing import Any, Final, Self

from merilo.errors import MissingPartError, UsageError, argument
from merilo.sandbox.backends import Backend, NoJail, backend
from merilo.sandbox.job import Executor
from merilo.sandbox.pool import Pool
from merilo.sandbox.program import Execution, Limits, Program
from merilo.settings import ProgramSettings
from merilo.strict_json import Json
from merilo.wording import shown

#: Makes a pool with the given number of workers; it is pickled and called on the machines of the cluster.
MakePool = Callable[[int], Pool]

#: Programs sent in one message: they take a few milliseconds to run, and the message about one to send.
BATCH: Final = 8

#: Batches sent to a worker at a time: one to run and one to run next.
AHEAD: Final = 2

#: How often programs are sent to another worker after theirs was lost.
LOSSES: Final = 8

#: Seconds without any running worker after which the cluster counts as unavailable.
PATIENCE: Final = 120.0


@dataclass(slots=True, eq=False)
class _Worker:
    """A pool of one worker on a machine of the cluster.

    Attributes:
        actor: Ray's handle of the actor; Ray publishes no types.
        greeted: whether the actor is running.
        batches: how many batches it has been sent and has not returned.
    """

    actor: Any
    greeted: bool = False
    batches: int = 0


@dataclass(frozen=True, slots=True)
class _Batch:
    """Programs sent to a worker, and how often they were lost; a batch without programs is the greeting."""

    worker: _Worker
    programs: list[Program] = field(default_factory=list)
    losses: int = 0


class _Queue:
    """The programs to be sent: first those whose worker was lost, then new ones, read when needed."""

    def __init__(self, programs: Iterable[Program]) -> None:
        self._source = iter(programs)
        self._lost: deque[_Batch] = deque()
        self._exhausted = False

    def __bool__(self) -> bool:
        return bool(self._lost) or not self._exhausted

    def take(self, worker: _Worker) -> _Batch:
        """Return the next batch for a worker; it has no programs if none are left."""
        if self._lost:
            lost = self._lost.popleft()
            return _Batch(worker, lost.programs, lost.losses)
        programs = list(islice(self._source, BATCH))
        self._exhausted = len(programs) < BATCH
        return _Batch(worker, programs)

    def give_back(self, batch: _Batch) -> None:
        """Put the programs of a lost worker back into the queue.

        Raises:
            MissingPartError: these programs have been lost too often.
        """
        if batch.losses >= LOSSES:
            raise MissingPartError(
                f"the Ray cluster lost {LOSSES} workers in a row that ran the same programs",
                field=argument("ray"),
            )
        self._lost.append(_Batch(batch.worker, batch.programs, batch.losses + 1))


class Node:
    """The Ray actor: a pool of one jailed worker on a machine of the cluster."""

    def __init__(self, make_pool: MakePool) -> None:
        self._pool = make_pool(1)

    def greet(self) -> None:
        """Return nothing; the call completes when the actor is running."""

    def run(self, programs: list[Program]) -> list[Execution]:
        """Run programs one after another."""
        return list(self._pool.run(programs))


class Cluster:
    """Jailed workers on all machines of a Ray cluster, within a `with` block.

    Args:
        address: the cluster's address, "auto", or "local" for one that is started on this machine.
        make_pool: makes the pool of a worker.
        workers: how many on each machine; by default, one for each processor.
        quiet: use half as many workers.

    Raises:
        MissingPartError: Ray is not installed.
        UsageError: no cluster answers at the address.
    """

    def __init__(
        self, address: str, make_pool: MakePool, workers: int | None, *, quiet: bool = False
    ) -> None:
        self._address = address
        self._make_pool = make_pool
        self._workers = workers
        self._quiet = quiet
        self._ray = _ray()
        self._made_here = False
        self._pool: list[_Worker] = []

    def __enter__(self) -> Self:
        if not self._ray.is_initialized():
            _connect(self._ray, self._address)
            self._made_here = True
        self._actors = self._ray.remote(num_cpus=1, max_restarts=0)(Node)
        for node in self._ray.nodes():
            count = self._count(node)
            for _ in range(count):
                self._pool.append(self._start(node["NodeID"]))
        if not self._pool:
            self.__exit__(None, None, None)
            raise MissingPartError("the Ray cluster has no processors", field=argument("ray"))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for worker in self._pool:
            with contextlib.suppress(Exception):  # the worker may have ended already
                self._ray.kill(worker.actor)
        self._pool.clear()
        if self._made_here:
            self._ray.shutdown()

    def run(self, programs: Iterable[Program]) -> Iterator[Execution]:
        """Run programs; each gets exactly one execution, even if machines are lost.

        Args:
            programs: the iterable is consumed only as fast as workers take programs.

        Yields:
            Executions, in the order in which batches end.

        Raises:
            MissingPartError: no jail works on a machine of the cluster, the cluster is unavailable, or it lost the same
                programs too often.
        """
        queue = _Queue(programs)
        under_way: dict[Any, _Batch] = {worker.actor.greet.remote(): _Batch(worker) for worker in self._pool}
        while queue or any(batch.programs for batch in under_way.values()):
            self._feed(queue, under_way)
            ready, _ = self._ray.wait(list(under_way), num_returns=1, timeout=PATIENCE)
            if not ready and not any(worker.greeted for worker in self._pool):
                raise MissingPartError(
                    f"the Ray cluster gave no worker in {PATIENCE:.0f} seconds", field=argument("ray")
                )
            for reference in ready:
                batch = under_way.pop(reference)
                executions = self._answer(reference, batch)
                if executions is None:
                    self._lose(batch, queue, under_way)
                else:
                    yield from executions

    def _feed(self, queue: _Queue, under_way: dict[Any, _Batch]) -> None:
        """Send every running worker as many batches as it may have."""
        for worker in self._pool:
            while queue and worker.greeted and worker.batches < AHEAD:
                batch = queue.take(worker)
                if batch.programs:
                    under_way[worker.actor.run.remote(batch.programs)] = batch
                    worker.batches += 1

    def _answer(self, reference: object, batch: _Batch) -> list[Execution] | None:
        """Return a worker's executions, or `None` if the worker was lost; re-raises the errors of its pool."""
        try:
            executions = self._ray.get(reference)
        except (
            self._ray.exceptions.RayActorError,
            self._ray.exceptions.WorkerCrashedError,
            self._ray.exceptions.ObjectLostError,
            self._ray.exceptions.NodeDiedError,
        ):
            return None
        if batch.programs:
            batch.worker.batches -= 1
        batch.worker.greeted = True
        return executions or []

    def _lose(self, batch: _Batch, queue: _Queue, under_way: dict[Any, _Batch]) -> None:
        """Requeue the programs of a lost worker, and start a replacement on any machine."""
        if batch.programs:
            queue.give_back(batch)
        if batch.worker in self._pool:
            self._pool.remove(batch.worker)
            replacement = self._start(None)
            self._pool.append(replacement)
            under_way[replacement.actor.greet.remote()] = _Batch(replacement)

    def _count(self, node: dict[str, Any]) -> int:
        """Return how many workers a machine gets."""
        if not node["Alive"]:
            return 0
        processors = int(node["Resources"].get("CPU", 0))
        count = min(processors, self._workers or processors)
        return max(1, count // 2) if self._quiet and count else count

    def _start(self, node: str | None) -> _Worker:
        """Start a worker on the given machine, or on any machine if none is given."""
        if node is None:
            return _Worker(self._actors.options(scheduling_strategy="SPREAD").remote(self._make_pool))
        from ray.util.scheduling_strategies import (  # noqa: PLC0415 - Ray is an optional dependency
            NodeAffinitySchedulingStrategy,
        )

        strategy = NodeAffinitySchedulingStrategy(node_id=node, soft=True)
        return _Worker(self._actors.options(scheduling_strategy=strategy).remote(self._make_pool))


def _ray() -> ModuleType:
    try:
        import ray  # noqa: PLC0415 - an optional dependency that takes seconds to import
    except ImportError:
        raise MissingPartError(
            "spreading work over a cluster needs Ray: pip install 'merilo[ray]'", field=argument("ray")
        ) from None
    return ray


def _connect(ray: ModuleType, address: str) -> None:
    if ":" in address:
        _knock(address)
    quiet = {"logging_level": logging.ERROR, "log_to_driver": False}
    try:
        if address == "local":
            ray.init(address="local", include_dashboard=False, **quiet)
        else:
            ray.init(address=address, **quiet)
    except (ConnectionError, ValueError, RuntimeError) as error:
        reason = " ".join(str(error).split())[:200]
        raise UsageError(f"no Ray cluster answers at '{address}' ({reason})", field=argument("ray")) from None


def _knock(address: str) -> None:
    """Check that a server listens at the address; Ray itself would wait for minutes."""
    host, _, port = address.removeprefix("ray://").rpartition(":")
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=10).close()
    except (OSError, ValueError, OverflowError) as error:
        raise UsageError(f"no Ray cluster answers at '{address}' ({error})", field=argument("ray")) from None


@dataclass(frozen=True, slots=True)
class Jails:
    """How programs are run, independent of the number of workers.

    Attributes:
        limits: what one program may use.
        settings: the kind of jail, its Python and packages, and the cluster.
    """

    limits: Limits
    settings: ProgramSettings = field(default_factory=ProgramSettings)

    def described(self) -> dict[str, Json]:
        """Return the settings that may change a verdict.

        The jail and the Python are those found on this machine. The machines of a cluster each find their own, so for a
        cluster they are the requested ones.

        Raises:
            MissingPartError: no jail works on this machine.
            UsageError: two options contradict each other.
        """
        if self.settings.ray is None:
            with closing(self._backend()) as jail_backend:
                jail, python = jail_backend.name, jail_backend.python
        else:
            jail = NoJail.name if self.settings.unsafe_no_sandbox else self.settings.backend
            python = self.settings.python or platform.python_version()
        return {
            "wall_seconds": self.limits.wall_seconds,
            "memory_bytes": self.limits.memory_bytes,
            "jail": jail,
            "python": shown(python),
            "packages": None if self.settings.packages is None else shown(self.settings.packages.resolve()),
        }

    def pool(self, workers: int) -> Pool:
        """Return a pool on this machine."""
        return Pool(workers, backend=self._backend(), limits=self.limits)

    def _backend(self) -> Backend:
        return backend(
            self.settings.backend,
            python=self.settings.python,
            packages=self.settings.packages,
            unsafe_no_sandbox=self.settings.unsafe_no_sandbox,
        )

    @contextmanager
    def open(self, workers: int | None = None, *, quiet: bool = False) -> Iterator[Executor]:
        """Open an executor for a `with` block.

        Args:
            workers: how many programs run at a time (on a cluster: on each node); by default, one for each processor.
            quiet: use half as many workers, so that programs slow each other down less.

        Raises:
            MissingPartError: no jail works on this machine, or Ray is not installed.
            UsageError: no cluster answers at the address.
        """
        if self.settings.ray is None:
            count = workers or len(os.sched_getaffinity(0))
            with self.pool(max(1, count // 2) if quiet else count) as pool:
                yield pool
        else:
            with Cluster(self.settings.ray, self.pool, workers, quiet=quiet) as cluster:
                yield cluster
