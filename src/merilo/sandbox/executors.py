"""Executors for a job's programs: a pool on this machine, or the machines of a Ray cluster."""

from __future__ import annotations

import logging
import os
import platform
import socket
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import islice
from types import ModuleType
from typing import Final

from merilo.errors import MissingPartError, UsageError, argument, missing_extra
from merilo.sandbox.backends import Backend, NoJail, backend
from merilo.sandbox.pool import Pool
from merilo.sandbox.program import Execution, Limits, Program
from merilo.settings import ProgramSettings
from merilo.strict_json import Json
from merilo.wording import shown

#: Programs in one task of a cluster: they take a few milliseconds to run, and a task about one to send.
BATCH: Final = 16

#: How often Ray runs a task again whose process or machine was lost.
LOSSES: Final = 8

#: Seconds without any running process after which the cluster counts as unavailable.
PATIENCE: Final = 120.0


@dataclass(frozen=True, slots=True)
class Cluster:
    """The machines of a connected Ray cluster: every batch of programs is a task, which Ray repeats where one is lost.

    Attributes:
        ray: the library.
        jails: how programs are run.
        workers: how many batches run at a time on each machine; by default, one for each processor.
        quiet: run half as many batches at a time.
    """

    ray: ModuleType
    jails: Jails
    workers: int | None = None
    quiet: bool = False

    def run(self, programs: Iterable[Program]) -> Iterator[Execution]:
        """Run programs; each gets exactly one execution, even if machines are lost.

        Args:
            programs: the iterable is consumed only as fast as the machines take batches.

        Yields:
            Executions, in the order in which batches end.

        Raises:
            MissingPartError: no jail works on a machine of the cluster, the cluster is unavailable, or it lost the same
                programs too often.
        """
        task = self.ray.remote(num_cpus=1, max_retries=LOSSES, scheduling_strategy="SPREAD")(_run_batch)
        source, most, tasks, greeted = iter(programs), self._most(), [task.remote(self.jails, [])], False
        while tasks:
            ready, tasks = self.ray.wait(tasks, num_returns=1, timeout=None if greeted else PATIENCE)
            if not ready:
                reason = f"the Ray cluster gave no worker in {PATIENCE:.0f} seconds"
                raise MissingPartError(reason, field=argument("ray"))
            try:
                yield from self.ray.get(ready[0])
            except (self.ray.exceptions.WorkerCrashedError, self.ray.exceptions.ObjectLostError) as error:
                reason = f"the Ray cluster lost {LOSSES} workers in a row that ran the same programs"
                raise MissingPartError(reason, field=argument("ray")) from error
            greeted = True
            while len(tasks) < most and (batch := list(islice(source, BATCH))):
                tasks.append(task.remote(self.jails, batch))

    def _most(self) -> int:
        """Return how many batches run at a time."""
        processors = [int(node["Resources"].get("CPU", 0)) for node in self.ray.nodes() if node["Alive"]]
        counts = [min(count, self.workers or count) for count in processors if count]
        if not counts:
            raise MissingPartError("the Ray cluster has no processors", field=argument("ray"))
        return sum(max(1, count // 2) if self.quiet else count for count in counts)


def _run_batch(jails: Jails, programs: list[Program]) -> list[Execution]:
    """Run programs one after another, in a process of Ray's."""
    return list(_pool_of_one(jails).run(programs))


@lru_cache(maxsize=1)
def _pool_of_one(jails: Jails) -> Pool:
    """Return a pool of one worker, which lives as long as this process."""
    return jails.pool(1)


def _ray() -> ModuleType:
    try:
        import ray  # noqa: PLC0415 - an optional dependency that takes seconds to import
    except ImportError:
        raise missing_extra("spreading work over a cluster", "ray", field=argument("ray")) from None
    return ray


def _connect(ray: ModuleType, address: str) -> None:
    options: dict[str, object] = {"include_dashboard": False} if address == "local" else {}
    try:
        if ":" in address:
            # Ray itself would wait for minutes for a server that does not listen.
            host, _, port = address.removeprefix("ray://").rpartition(":")
            socket.create_connection((host.strip("[]"), int(port)), timeout=10).close()
        ray.init(address=address, logging_level=logging.ERROR, log_to_driver=False, **options)
    except (OSError, ValueError, RuntimeError, OverflowError) as error:
        reason = " ".join(str(error).split())[:200]
        raise UsageError(f"no Ray cluster answers at '{address}' ({reason})", field=argument("ray")) from None


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
    def open(self, workers: int | None = None, *, quiet: bool = False) -> Iterator[Pool | Cluster]:
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
            ray = _ray()
            connected = ray.is_initialized()
            if not connected:
                _connect(ray, self.settings.ray)
            try:
                yield Cluster(ray, self, workers, quiet)
            finally:
                if not connected:
                    ray.shutdown()
