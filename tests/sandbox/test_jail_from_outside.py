"""The jail as the machine sees it: what the kernel says of the processes in it, while a program runs."""

import grp
import os
import pwd
import resource
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from sandbox_arena import asked, is_healthy, jailed

from merilo.sandbox.doctor import descendants
from merilo.sandbox.pool import Pool
from merilo.sandbox.program import Check, Limits, Program

LIMITS = Limits(
    wall_seconds=600, cpu_seconds=77, memory_bytes=2**28, threads=5, open_files=33, file_bytes=2**20
)

#: Seconds within which programs must have been started.
PATIENCE = 60.0

#: Capabilities by their numbers: to mount, to take off root's id, to kill what has another.
CAP_KILL, CAP_SETGID, CAP_SETUID, CAP_SYS_ADMIN = 5, 6, 7, 21


#: Gives itself a name when it has come as far as its own code.
BUSY = (
    "import ctypes\nctypes.CDLL(None).prctl(15, b'busy', 0, 0, 0)\n"
    "def attack():\n    while True:\n        pass"
)


@pytest.fixture(scope="module")
def running() -> Iterator[tuple[Pool, list[int]]]:
    """A pool whose two workers are both at a program, and the processes of these programs."""
    program = Program("busy", BUSY, "attack", Check("def check(candidate):\n    candidate()"))
    with jailed(LIMITS, workers=2) as pool:
        run = pool.run([asked("1"), *[program] * 4])
        next(run)
        end, programs = time.monotonic() + PATIENCE, []
        while len(programs) < 2:
            assert time.monotonic() < end
            programs = [pid for worker in pool.pids for pid in descendants(worker) if is_busy(pid)]
        yield pool, programs
        run.close()


def is_busy(pid: int) -> bool:
    with suppress(FileNotFoundError, ProcessLookupError):
        return Path(f"/proc/{pid}/comm").read_bytes() == b"busy\n"
    return False


def status(pid: int) -> dict[str, str]:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return {name: value.strip() for name, _, value in (line.partition(":") for line in lines)}


def capabilities(pid: int, kind: str) -> set[int]:
    bits = int(status(pid)[kind], 16)
    return {number for number in range(64) if bits >> number & 1}


def test_no_process_of_a_jail_shares_a_namespace_with_the_machine(running) -> None:
    if os.geteuid():
        pytest.skip("only root is told of the namespaces of processes that hide")
    own = {path.name: path.readlink() for path in Path("/proc/self/ns").iterdir()}
    pool, _ = running
    inside = [pid for worker in pool.pids for pid in descendants(worker)]
    assert len(inside) >= 5
    for pid in inside:
        shared = {name for name, link in own.items() if Path(f"/proc/{pid}/ns/{name}").readlink() == link}
        assert shared <= {"time", "time_for_children"}  # bubblewrap makes none, and no clock can be set


def test_a_program_has_no_capability_and_its_worker_few(running) -> None:
    pool, programs = running
    for pid in programs:
        assert capabilities(pid, "CapEff") == capabilities(pid, "CapPrm") == set()
        assert capabilities(pid, "CapInh") == capabilities(pid, "CapAmb") == set()
    for pid in [pid for worker in pool.pids for pid in descendants(worker)]:
        few = {CAP_KILL, CAP_SETGID, CAP_SETUID, CAP_SYS_ADMIN}
        assert capabilities(pid, "CapEff") | capabilities(pid, "CapBnd") <= few


def test_every_process_of_a_jail_is_filtered_and_can_gain_no_privileges(running) -> None:
    pool, _ = running
    for worker in pool.pids:
        keeper, *inside = descendants(worker)
        assert status(keeper)["NoNewPrivs"] == "1"
        assert len(inside) >= 3
        for pid in inside:
            assert (status(pid)["NoNewPrivs"], status(pid)["Seccomp"]) == ("1", "2")


def test_roots_programs_have_a_user_and_a_group_that_nobody_on_the_machine_has(running) -> None:
    if os.geteuid():
        pytest.skip("an ordinary user's programs have that user's id")
    _, programs = running
    users = [status(pid)["Uid"].split() for pid in programs]
    groups = [status(pid)["Gid"].split() for pid in programs]
    assert all(len(set(ids)) == 1 for ids in users + groups)
    assert len({ids[0] for ids in users}) == len(programs) == 2  # what one uses up, the other keeps
    for (user, *_), (group, *_) in zip(users, groups, strict=True):
        with pytest.raises(KeyError):
            pwd.getpwuid(int(user))
        with pytest.raises(KeyError):
            grp.getgrgid(int(group))
        assert int(user) > 2**30
    assert [status(pid)["Groups"] for pid in programs] == ["", ""]


def test_the_kernel_holds_a_program_to_its_limits_for_good(running) -> None:
    expected = {
        resource.RLIMIT_AS: LIMITS.memory_bytes,
        resource.RLIMIT_CPU: LIMITS.cpu_limit,
        resource.RLIMIT_NOFILE: LIMITS.open_files,
        resource.RLIMIT_FSIZE: LIMITS.file_bytes,
        resource.RLIMIT_CORE: 1,
        resource.RLIMIT_SIGPENDING: 1024,
    }
    program = running[1][0]
    for limit, bound in expected.items():
        assert resource.prlimit(program, limit) == (bound, bound)
    soft, hard = resource.prlimit(program, resource.RLIMIT_NPROC)
    # The kernel counts threads with processes, and with an ordinary user's program its worker's few processes.
    assert LIMITS.processes + LIMITS.threads <= soft == hard <= LIMITS.processes + LIMITS.threads + 4


def test_a_closed_pool_leaves_no_descriptor() -> None:
    def held() -> list[str]:
        found = []
        for link in Path("/proc/self/fd").iterdir():
            with suppress(FileNotFoundError):  # the listing's own
                found.append(str(link.readlink()))
        return sorted(found)

    with jailed() as pool:
        is_healthy(pool)
    before = held()
    with jailed(workers=2) as pool:
        is_healthy(pool)
        assert len(held()) > len(before)
    assert held() == before
