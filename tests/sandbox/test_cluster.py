"""Sandboxes on two machines give the same executions, also if a machine is lost."""

import contextlib
import os
import signal
import sys
from pathlib import Path

import pytest
from exports import write_items, write_lines
from programming import completion, item, need_a_jail

from merilo.errors import UsageError
from merilo.sandbox.doctor import descendants
from merilo.sandbox.executors import Jails
from merilo.sandbox.job import run_job
from merilo.sandbox.ledger import open_ledger
from merilo.sandbox.problems import count_completions, read_problems
from merilo.sandbox.program import Limits, Outcome, Program
from merilo.settings import ProgramSettings

pytestmark = [
    pytest.mark.thorough,
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::FutureWarning", "ignore::DeprecationWarning"),  # Ray's
]  # fmt: skip

JAILS = Jails(Limits(wall_seconds=5.0), ProgramSettings(ray="already connected"))


@pytest.fixture(scope="module")
def cluster():
    """Two machines of one processor each, as Ray sees it."""
    need_a_jail()
    pytest.importorskip("ray", reason="Ray is not installed: pip install 'merilo[ray]'")
    import ray
    from ray.cluster_utils import Cluster

    patch = pytest.MonkeyPatch()
    patch.setenv("PYTHONPATH", ":".join(path for path in sys.path if path))
    patch.setenv("RAY_health_check_period_ms", "500")
    patch.setenv("RAY_health_check_failure_threshold", "4")
    machines = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
    machines.add_node(num_cpus=1)
    ray.init(address=machines.address, log_to_driver=False, logging_level="ERROR")
    try:
        yield machines
    finally:
        ray.shutdown()
        machines.shutdown()
        patch.undo()


def programs(count: int) -> list[Program]:
    source = "def double(x):\n    import time\n    time.sleep(0.02)\n    return 2 * x\n"
    return [Program(str(number), source, "double", ({"x": number},)) for number in range(count)]


def test_an_address_without_a_cluster_is_a_sentence():
    pytest.importorskip("ray", reason="Ray is not installed: pip install 'merilo[ray]'")
    jails = Jails(Limits(), ProgramSettings(ray="127.0.0.1:1"))
    with pytest.raises(UsageError, match=r"no Ray cluster answers at '127\.0\.0\.1:1'"), jails.open():
        pass


def test_a_job_on_a_cluster_ends_as_it_does_on_one_machine(cluster, tmp_path):
    data = write_items(tmp_path / "problems.json", item(1))
    texts = ["    return 2 * x", "    return y", "    return (", *(f"    return {n} * x" for n in range(20))]
    path = write_lines(tmp_path / "c.jsonl", *[completion(1, text) for text in texts])
    problems = read_problems(data)
    census, verdicts = count_completions(path, problems), []
    for jails in (JAILS, Jails(JAILS.limits)):
        with open_ledger(None, {}) as ledger:
            verdicts.append(run_job(problems, census, ledger, jails))
    assert verdicts[0] == verdicts[1]
    assert sum(verdict.passed for verdict in verdicts[0]) == 2


def workers(cluster) -> list[int]:
    """The processes that run batches, on all machines."""
    found = []
    raylets = [raylet for node in cluster.list_all_nodes() for raylet in node.all_processes["raylet"]]
    for pid in (pid for raylet in raylets for pid in descendants(raylet.process.pid)):
        with contextlib.suppress(OSError):
            if Path(f"/proc/{pid}/cmdline").read_bytes().startswith((b"ray::_run_batch", b"ray::IDLE")):
                found.append(pid)
    return found


@pytest.mark.parametrize(("count", "after"), [(200, 40), (20, 4)], ids=["a machine", "every worker"])
def test_each_program_is_run_exactly_once_though_what_runs_it_is_lost(cluster, count, after):
    seen = []
    with JAILS.open() as executor:
        for execution in executor.run(programs(count)):
            seen.append(execution.id)
            assert execution.outcome is Outcome.COMPLETED
            assert execution.texts == (str(2 * int(execution.id)),)
            if len(seen) == after and count == 200:
                lost = [next(iter(cluster.worker_nodes))]
                cluster.remove_node(lost[0], allow_graceful=False)
            elif len(seen) == after:  # with the last of the programs
                lost = workers(cluster)
                for pid in lost:
                    os.kill(pid, signal.SIGKILL)
    assert lost
    assert sorted(seen, key=int) == [str(number) for number in range(count)]
