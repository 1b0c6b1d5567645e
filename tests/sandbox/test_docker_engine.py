"""Docker's containers as jails, by a real engine."""

import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from docker_engine import IMAGE, engine
from sandbox_arena import OUTCOMES, PROGRAMS, asked, holder, is_healthy

from merilo.errors import MissingPartError, UsageError
from merilo.sandbox.backends import Docker, backend
from merilo.sandbox.doctor import examine
from merilo.sandbox.executors import Jails
from merilo.sandbox.pool import Pool
from merilo.sandbox.program import Limits, Program
from merilo.settings import ProgramSettings

pytestmark = pytest.mark.thorough

PATIENCE = 30.0


@pytest.fixture(scope="module", autouse=True)
def address() -> Iterator[str]:
    with engine() as address, pytest.MonkeyPatch.context() as patch:
        patch.setenv("DOCKER_HOST", address)
        yield address


@pytest.fixture(scope="module")
def pool(address: str) -> Iterator[Pool]:
    with Pool(2, backend=Docker(IMAGE), limits=Limits(wall_seconds=3)) as pool:
        yield pool


def containers() -> set[str]:
    """All that there are, ended ones too."""
    done = subprocess.run(["docker", "ps", "--quiet", "--all"], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def are_gone(others: set[str]) -> bool:
    """Whether soon only these containers are left."""
    end = time.monotonic() + PATIENCE
    while containers() - others:
        if time.monotonic() > end:
            return False
        time.sleep(0.1)
    return True


def test_every_promise_holds_in_a_container(pool: Pool) -> None:
    findings = list(examine(pool))
    assert len(findings) > 40
    assert [finding for finding in findings if not finding.held] == []


def test_programs_come_out_of_a_container_as_out_of_any_jail(pool: Pool) -> None:
    assert {execution.id: execution.outcome.value for execution in pool.run(PROGRAMS)} == OUTCOMES
    assert is_healthy(pool)


def test_a_program_in_a_container_sees_python_and_little_else(pool: Pool) -> None:
    listing = (
        "{path: sorted(__import__('os').listdir(path)) for path in ('/etc', '/sys', '/proc', '/dev', '/tmp')}"
    )
    (execution,) = pool.run([asked(listing)])
    seen = eval(execution.texts[0] or "{}")
    assert set(seen.pop("/dev")) == {"null", "full", "random", "urandom", "shm"}
    assert set(seen.pop("/etc")) <= {"ld.so.cache"}
    assert seen == {"/sys": [], "/proc": [], "/tmp": []}


def test_a_folder_of_packages_is_there_for_programs(tmp_path: Path) -> None:
    (tmp_path / "packed.py").write_text("value = 42\n")
    tmp_path.chmod(0o700)
    with pytest.raises(UsageError, match="readable by everybody"):
        Docker(IMAGE, tmp_path)
    tmp_path.chmod(0o755)
    with Pool(1, backend=Docker(IMAGE, tmp_path)) as pool:
        (execution,) = pool.run([asked("__import__('packed').value")])
    assert execution.texts == ("42",)


def test_a_closed_pool_leaves_no_container() -> None:
    others = containers()
    with Pool(2, backend=Docker(IMAGE)) as pool:
        assert is_healthy(pool)
        assert len(containers() - others) == 2
        run = pool.run([Program("long", "def f():\n    while True:\n        pass", "f", ({},)), asked("1")])
        assert next(run).id == "asked"
    assert are_gone(others)


def test_a_killed_parent_leaves_no_container(address: str) -> None:
    others = containers()
    python = IMAGE.partition(":")[2].partition("-")[0]
    with holder(f"'docker', python={python!r}", 2, DOCKER_HOST=address) as process:
        assert process.stdout.readline()
        assert len(containers() - others) == 2
    assert are_gone(others)


def test_an_image_that_is_not_to_be_had_is_named() -> None:
    with (
        pytest.raises(MissingPartError, match=r"3\.13-slim|registry|no such host|lookup"),
        Pool(1, backend=backend("docker", python="3.13" if "3.13" not in IMAGE else "3.12")) as pool,
    ):
        list(pool.run([asked("1")]))


@pytest.mark.thorough
def test_a_result_names_the_python_of_the_image_not_the_machines() -> None:
    asked = ".".join(map(str, sys.version_info[:2]))
    described = Jails(Limits(), ProgramSettings(backend="docker", python=asked)).described()
    assert (described["jail"], f"python:{described['python']}") == ("docker", IMAGE)
    described = Jails(Limits(), ProgramSettings(backend="docker")).described()
    assert described["python"] == "3.12-slim"
