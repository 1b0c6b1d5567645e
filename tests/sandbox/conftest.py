"""What the tests of the sandbox share: pools with and without a jail, and an arena for attacks."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from sandbox_arena import Arena, arena_in, jailed, unjailed

from merilo.sandbox.pool import Pool
from merilo.sandbox.program import Limits


@pytest.fixture(scope="module")
def pool() -> Iterator[Pool]:
    """One jailed worker."""
    with jailed() as pool:
        yield pool


@pytest.fixture(scope="module")
def roomy_pool() -> Iterator[Pool]:
    """One jailed worker whose programs may be several processes."""
    with jailed(Limits(wall_seconds=2, processes=8)) as pool:
        yield pool


@pytest.fixture(scope="module")
def open_pool() -> Iterator[Pool]:
    """One worker without a jail, to show that attacks are real; a worker that an attack ends is replaced."""
    with unjailed() as pool:
        yield pool


@pytest.fixture
def arena(tmp_path: Path) -> Iterator[Arena]:
    with arena_in(tmp_path) as arena:
        yield arena
