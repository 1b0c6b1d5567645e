"""Executors for a job's programs: a pool on this machine, or a Ray cluster."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from merilo.errors import UsageError, argument
from merilo.sandbox.backends import NoJail, backend
from merilo.sandbox.cluster import Cluster
from merilo.sandbox.job import Executor
from merilo.sandbox.launch import Backend
from merilo.sandbox.pool import Pool
from merilo.sandbox.program import Limits
from merilo.strict_json import Json
from merilo.wording import shown


@dataclass(frozen=True, slots=True)
class Jails:
    """Settings for running programs, independent of the number of workers.

    Attributes:
        limits: what one program may use.
        backend: the kind of jail: "bubblewrap", "docker", "auto".
        python: the Python for the programs: a version, a path, or Merilo's own.
        packages: a folder of packages that programs may import.
        unsafe_no_sandbox: run without a jail.
        ray: the address of a Ray cluster, "auto" or "local"; if not given, only this machine runs programs.

    Raises:
        UsageError: two options contradict each other.
    """

    limits: Limits
    backend: str = "auto"
    python: str | None = None
    packages: Path | None = None
    unsafe_no_sandbox: bool = False
    ray: str | None = None

    def __post_init__(self) -> None:
        if self.ray is not None and not self.ray.strip():
            raise UsageError("must be an address, auto or local", field=argument("ray"))
        if self.unsafe_no_sandbox and self.backend != "auto":
            raise UsageError(
                f"'{self.backend}' is a sandbox, but {argument('unsafe_no_sandbox')} asks for none; give one of them",
                field=argument("backend"),
            )

    def described(self) -> dict[str, Json]:
        """Return the settings that may change a verdict.

        The jail and the Python are those found on this machine. The machines of a cluster each find their own, so for a
        cluster they are the requested ones.

        Raises:
            MissingPartError: no jail works on this machine.
            UsageError: two options contradict each other.
        """
        if self.ray is None:
            with closing(self._backend()) as found:
                jail, python = found.name, found.python
        else:
            jail = NoJail.name if self.unsafe_no_sandbox else self.backend
            python = self.python or platform.python_version()
        return {
            "wall_seconds": self.limits.wall_seconds,
            "memory_bytes": self.limits.memory_bytes,
            "jail": jail,
            "python": shown(python),
            "packages": None if self.packages is None else shown(self.packages.resolve()),
        }

    def pool(self, workers: int) -> Pool:
        """Return a pool on this machine."""
        return Pool(workers, backend=self._backend(), limits=self.limits)

    def _backend(self) -> Backend:
        return backend(
            self.backend,
            python=self.python,
            packages=self.packages,
            unsafe_no_sandbox=self.unsafe_no_sandbox,
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
        if self.ray is None:
            count = workers or len(os.sched_getaffinity(0))
            with self.pool(max(1, count // 2) if quiet else count) as pool:
                yield pool
        else:
            with Cluster(self.ray, self.pool, workers, quiet=quiet) as cluster:
                yield cluster
