"""The pool gives exactly one execution per program, whatever happens to workers, programs or readers."""

import contextlib
import os
import select
import signal
import sys
import threading
import time
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from sandbox_arena import (
    asked,
    changed,
    holder,
    is_healthy,
    jail_or_skip,
    jailed,
    only,
    preceded_by,
    unjailed,
    with_settings,
)  # fmt: skip

from merilo.errors import MissingPartError, UsageError
from merilo.sandbox.backends import NoJail, Start
from merilo.sandbox.doctor import descendants
from merilo.sandbox.interpreter import interpreter
from merilo.sandbox.pool import ATTEMPTS, Pool
from merilo.sandbox.program import Check, Execution, Limits, Outcome, Program

#: Seconds within which killed processes must be gone.
PATIENCE = 20.0


def watched(pids: list[int]) -> dict[int, int]:
    return {pid: os.pidfd_open(pid) for pid in pids}


def outlives(descriptors: dict[int, int]) -> list[int]:
    """The processes that do not end in time."""
    left = [pid for pid, one in descriptors.items() if not select.select([one], [], [], PATIENCE)[0]]
    for one in descriptors.values():
        os.close(one)
    return left


def everything_of(pool: Pool) -> list[int]:
    return [pid for worker in pool.pids for pid in (worker, *descendants(worker))]


ANY_CHARACTER = st.text(st.characters(codec=None, exclude_categories=()), max_size=300)
TOKENS = st.lists(
    st.sampled_from([
        "def attack():", "\n", "\n    ", "return", " ", "import os", "lambda", "(", ")", "[", "]", "{", "}", ":", "=", "1", "'x'",
        "while True:", "raise", "yield", "async", "await", "class", "@", "*", "**", "\\", "\x00", "\ufeff", "é", "global", "del",
        "attack", "exit()", "print", "0x", "1e999", "f'{", "'''", "#", "not", "match", "type", "in", "is", ";", "...",
    ]),
    max_size=40,
).map("".join)  # fmt: skip


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    source=st.one_of(
        st.binary(max_size=300).map(lambda raw: raw.decode("utf-8", "surrogateescape")), ANY_CHARACTER, TOKENS
    )
)
@example(source="")
@example(source="\ud800")
@example(source="attack = print")
@example(source="attack = type")
def test_any_text_is_a_program_with_one_outcome_and_a_healthy_pool(source: str, any_pool: Pool) -> None:
    worker = any_pool.pids
    executions = list(any_pool.run([Program("any", source, "attack", ({}, {})), asked("6 * 7", "good")]))
    outcomes = {execution.id: execution for execution in executions}
    assert len(executions) == len(outcomes) == 2
    assert outcomes["any"].outcome in Outcome
    assert len(outcomes["any"].texts) == 2
    assert outcomes["good"].texts == ("42",)
    assert any_pool.pids == worker


@pytest.fixture(scope="module")
def any_pool():
    with jailed(Limits(wall_seconds=2)) as pool:
        yield pool


@pytest.mark.parametrize("workers", [1, 2, 5])
def test_every_program_comes_back_once(workers: int) -> None:
    with jailed(workers=workers) as pool:
        programs = [asked(f"{n} ** 2", str(n)) for n in range(60)]
        executions = list(pool.run(iter(programs)))
    assert Counter(execution.id for execution in executions) == Counter(str(n) for n in range(60))
    assert all(execution.texts == (str(int(execution.id) ** 2),) for execution in executions)


def test_a_run_takes_programs_as_fast_as_workers_do_and_leaves_a_pool_that_works(pool: Pool) -> None:
    taken = []

    def programs():
        for number in range(50):
            taken.append(number)
            yield asked("__import__('time').sleep(9)" if number else "1", str(number))

    run = pool.run(programs())
    assert next(run).id == "0"
    assert len(taken) <= 4
    with pytest.raises(UsageError, match="already"):
        next(pool.run([asked("4")]))
    run.close()
    assert is_healthy(pool)


def test_answers_before_a_failure_are_kept(pool: Pool) -> None:
    source = "def f(x):\n    if x == 2:\n        raise KeyError('two')\n    if x == 4:\n        import os\n        os._exit(7)\n    return x"
    (execution,) = pool.run([Program("some", source, "f", tuple({"x": x} for x in range(6)))])
    assert execution.texts == ("0", "1", None, "3", None, None)
    assert execution.outcome is Outcome.EXCEPTION
    assert (execution.error, execution.message) == ("KeyError", "'two'")


def test_a_program_that_does_not_load_fails_every_call_alike(pool: Pool) -> None:
    for source, outcome in {
        "1 / 0": Outcome.EXCEPTION,
        "kept = bytearray(10 ** 11)": Outcome.MEMORY,
        "def f( nonsense": Outcome.SYNTAX_ERROR,
        "": Outcome.NO_SUCH_FUNCTION,
    }.items():
        (execution,) = pool.run([Program("load", source, "f", ({}, {}, {}))])
        assert (execution.outcome, execution.texts) == (outcome, (None,) * 3)


def test_too_little_memory_even_to_read_the_program_is_called_so() -> None:
    with Pool(1, backend=jail_or_skip(), limits=Limits(memory_bytes=2**20)) as pool:
        for tests in (({},), Check("def check(c):\n    c()")):
            source = f"def attack():\n    return 1\nx = '{'x' * 5_000_000}'"
            assert only(pool, source, tests).outcome is Outcome.MEMORY


@pytest.mark.parametrize("which", [2, 3], ids=["worker", "fork server"])
def test_a_worker_that_is_stuck_is_replaced(which: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The worker ends late programs; the pool ends late workers."""
    monkeypatch.setattr("merilo.sandbox.pool.GRACE", 0.5)
    with jailed(Limits(wall_seconds=0.75)) as pool:
        processes = everything_of(pool)
        os.kill(processes[which], signal.SIGSTOP)
        assert is_healthy(pool)
        assert pool.pids != processes[:1]


def test_a_worker_that_is_long_at_work_is_not_stuck(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each program has its own time, however many came before it without a pause."""
    monkeypatch.setattr("merilo.sandbox.pool.GRACE", 0.75)
    with jailed(Limits(wall_seconds=0.75)) as pool:
        worker = pool.pids
        programs = [asked("__import__('time').sleep(0.25)", str(number)) for number in range(8)]
        assert [execution.attempts for execution in pool.run(programs)] == [1] * 8
        assert pool.pids == worker


def altered(code: str) -> NoJail:
    """Workers that run some code before their own."""
    return changed(NoJail(interpreter()), preceded_by(code))


def test_the_start_of_a_worker_is_not_a_programs_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("merilo.sandbox.pool.GRACE", 0.25)
    with Pool(1, backend=altered("import time; time.sleep(1.5)"), limits=Limits(wall_seconds=0.75)) as pool:
        (execution,) = pool.run([asked("1")])
    assert (execution.texts, execution.attempts) == (("1",), 1)


@pytest.mark.thorough
def test_processor_time_is_bounded_though_there_is_time_on_the_wall() -> None:
    with jailed(Limits(wall_seconds=60, cpu_seconds=1)) as pool:
        for tests in (({},), Check("def check(c):\n    c()")):
            execution = only(pool, "def attack():\n    while True:\n        pass", tests)
            assert execution.outcome is Outcome.TIMEOUT
            assert execution.message == "more than 1 s of processor time"
            assert 0.5 <= execution.cpu_seconds < 10


def test_the_time_of_a_program_is_measured_from_outside(pool: Pool) -> None:
    execution = only(
        pool, "import time\ntime.time = time.monotonic = lambda: 0\ndef attack():\n    time.sleep(0.2)"
    )
    assert execution.seconds >= 0.2


def test_a_killed_worker_loses_nothing() -> None:
    with jailed(workers=2) as pool:
        run = pool.run([asked(f"(__import__('time').sleep(0.02), {n})[1]", str(n)) for n in range(40)])
        executions: list[Execution] = []
        for execution in run:
            executions.append(execution)
            if len(executions) % 8 == 4:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pool.pids[len(executions) % 2], signal.SIGKILL)
        assert sorted(int(execution.id) for execution in executions) == list(range(40))
        assert all(execution.texts == (execution.id,) for execution in executions)


@pytest.mark.parametrize("which", range(4), ids=["bubblewrap", "keeper", "worker", "fork server"])
def test_a_jail_of_which_a_process_is_killed_ends_and_is_replaced(which: int) -> None:
    with jailed() as pool:
        processes = everything_of(pool)
        handles = watched(processes)
        os.kill(processes[which], signal.SIGKILL)
        assert is_healthy(pool)
        assert outlives(handles) == []


def test_closing_a_pool_leaves_nothing_and_may_be_done_twice() -> None:
    with jailed(workers=2) as pool:
        is_healthy(pool)
        processes = watched(everything_of(pool))
    pool.close()
    assert outlives(processes) == []


@pytest.mark.parametrize("unsafe", [False, True], ids=["jailed", "without a jail"])
def test_a_killed_parent_leaves_no_process_and_no_file(unsafe: bool, tmp_path: Path) -> None:
    jail_or_skip()
    with holder(f"unsafe_no_sandbox={unsafe}", 3, TMPDIR=str(tmp_path)) as process:
        processes = watched([int(pid) for pid in process.stdout.readline().split()])
        assert len(processes) >= 4
        end = time.monotonic() + PATIENCE
        while not any(Path(f"/proc/{pid}/comm").read_bytes() == b"stuck\n" for pid in processes):
            assert time.monotonic() < end
    assert outlives(processes) == []
    assert list(tmp_path.iterdir()) == []


#: Workers die at a deadly program.
FRAGILE = """
from merilo.sandbox.inside.worker import Server
import os
run = Server._run_calls
Server._run_calls = lambda self, program, end: os._exit(1) if b"deadly" in program else run(self, program, end)
"""


def test_a_program_that_takes_every_worker_with_it_is_given_up_and_costs_none_that_waits_behind_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    names = ["first", "second", "third", "fourth"]
    programs = [asked("'deadly'", "deadly"), *[asked("1", name) for name in names]]
    with Pool(1, backend=altered(FRAGILE)) as pool:
        found = {each.id: (each.outcome, each.error, each.attempts) for each in pool.run(programs)}
    assert found.pop("deadly") == (Outcome.EXITED, "worker lost", ATTEMPTS)
    assert found == dict.fromkeys(names, (Outcome.COMPLETED, "", 1))
    assert list(tmp_path.iterdir()) == []  # nothing of the dead workers


def hesitant(*stillborn: int, complaint: str = "") -> tuple[NoJail, list[Start]]:
    """Workers of which some never come up, and what was started."""
    started: list[Start] = []
    command = [sys.executable, "-c", f"import sys; sys.exit({complaint!r})"]

    def change(start: Start) -> Start:
        started.append(start)
        return Start(command, {}, (), {}) if len(started) in stillborn else start

    return changed(NoJail(interpreter()), change), started


def test_a_worker_that_never_came_up_is_no_attempt_of_a_programs_and_ends_no_long_job() -> None:
    with Pool(1, backend=hesitant(1, 2)[0]) as pool:
        (execution,) = pool.run([asked("42")])
    assert (execution.texts, execution.attempts) == (("42",), 1)
    jail, started = hesitant(1, 3, 5, 7)
    with Pool(1, backend=jail) as pool:
        for _ in range(4):
            assert is_healthy(pool)
            os.kill(pool.pids[0], signal.SIGKILL)
    assert len(started) == 8


#: Reports come byte by byte.
DRIPPING = """
from merilo.sandbox.inside import messages
import os
def drip(descriptor, *parts):
    for byte in messages.frame(b"".join(parts)):
        os.write(descriptor, bytes([byte]))
        os.sched_yield()
messages.write = drip
"""


def test_reports_are_taken_whole_however_they_arrive() -> None:
    with Pool(1, backend=altered(DRIPPING)) as pool:
        programs = [asked(f"'x' * {number} + '!'", str(number)) for number in range(60)]
        texts = {execution.id: execution.texts for execution in pool.run(programs)}
    assert texts == {str(number): ("x" * number + "!",) for number in range(60)}


def test_a_jail_that_does_not_start_or_hold_is_an_error_that_says_why_and_runs_nothing() -> None:
    leaky = changed(jail_or_skip(), with_settings(seal=["/nowhere"]))
    for jail, why in (
        (hesitant(1, 2, 3, complaint="there is no room in the jail")[0], "no room in the jail"),
        (leaky, r"the sandbox does not work on this machine: .*'/nowhere'"),
    ):
        with Pool(1, backend=jail) as pool, pytest.raises(MissingPartError, match=why):
            list(pool.run([asked("1")]))


def test_a_pool_may_be_used_from_any_thread_even_if_the_one_that_started_it_has_ended() -> None:
    with jailed() as pool:
        results: list[Execution] = []
        for _ in range(2):
            thread = threading.Thread(target=lambda: results.extend(pool.run([asked("42")])))
            thread.start()
            thread.join()
        assert [execution.texts for execution in results] == [("42",), ("42",)]


def test_without_a_jail_too_a_program_leaves_nothing_behind() -> None:
    with unjailed() as pool:
        source = "import os, time\ndef attack():\n    pid = os.fork()\n    if pid == 0:\n        time.sleep(600)\n    return pid"
        pid = int(str(only(pool, source).texts[0]))
        with contextlib.suppress(ProcessLookupError):
            assert outlives(watched([pid])) == []
