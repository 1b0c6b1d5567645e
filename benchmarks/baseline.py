"""Measure `merilo baseline` as a whole process, on pools of usual size and on 10,000 to 1,000,000 answers, and `merilo --help`.

    python benchmarks/baseline.py [--rows 1000000] [--pool FILE...] [--processor]

The pools are simulated: one like the published pools (525 items, 5 annotators per item, a control item on every page), one with open
answers (630 items, 5 of 165 annotators per item, about 1,500 different answers), and large ones. `--pool` adds real pools. Each row gives
the median wall time, the median processor time (which varies less on a busy machine) and the peak memory.
Exit status 1: the wall time (with `--processor`, the processor time) exceeds a printed limit. Linear means that ten times the rows take at
most 12 times as long.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from datetime import datetime, timedelta
from math import inf
from pathlib import Path
from random import Random
from typing import NamedTuple

from merilo.datasets.generators import generate
from merilo.people.simulation import (
    CAREFUL,
    GUESSING,
    HASTY,
    SimulatedItem,
    simulated_answer,
    simulated_seconds,
)

HEADER = (
    "INPUT:question\tINPUT:option_a\tINPUT:option_b\tOUTPUT:answer\tGOLDEN:answer\tASSIGNMENT:assignment_id\t"
    "ASSIGNMENT:worker_id\tASSIGNMENT:status\tASSIGNMENT:started\tASSIGNMENT:submitted\tASSIGNMENT:reward\n"
)


#: Responses of a page; the first is to a control item.
PAGE = 20


def ordinary_pool(path: Path) -> None:
    """Write a pool like the published ones: 525 items and 30 control items, pages of two items and a control item, 190 annotators."""
    made, random = generate("bps", 555, seed=1), Random(1)
    controls, items = made[:30], made[30:]
    people = [(kind, n) for kind, many in ((CAREFUL, 120), (HASTY, 50), (GUESSING, 20)) for n in range(many)]
    page = 0
    with path.open("w", encoding="utf-8") as stream:
        stream.write(
            HEADER.replace("question", "parentheses").replace("INPUT:option_a\tINPUT:option_b\t", "")
        )
        for first in range(0, len(items), 2):
            for kind, number in random.sample(people, 5):
                page += 1
                started = datetime(2026, 1, 12) + timedelta(minutes=page)
                submitted = started + timedelta(seconds=round(3 * simulated_seconds(kind, random), 3))
                for item in (random.choice(controls), *items[first : first + 2]):
                    gold = str(item.outputs)
                    answer = simulated_answer(SimulatedItem(gold, ("0", "1"), 0.1), kind, random)
                    stream.write(
                        f"{item.inputs}\t{answer}\t{gold if item in controls else ''}\tpage-{page}\tsimulated-{kind.name}-{number}\t"
                        f"APPROVED\t{started.isoformat()}\t{submitted.isoformat()}\t0.0300000000\n"
                    )


def large_pool(path: Path, rows: int) -> None:
    """Write rows in a platform's format: pages of twenty with one control item, five annotators per item, four labels."""
    with path.open("w", encoding="utf-8") as stream:
        stream.write(HEADER)
        for page in range(rows // PAGE):
            person, first = (page * 7919) % 2000, (page // 5) * (PAGE - 1)
            started = f"2026-01-{page % 27 + 1:02d}T{page % 23:02d}:59:{page % 50:02d}.190"
            submitted = f"2026-01-{page % 27 + 1:02d}T{page % 23 + 1:02d}:00:{page % 50:02d}.420"
            for place in range(PAGE):
                control = place == 0
                item = page % 30 if control else first + place
                name = (
                    f"control {item}"
                    if control
                    else f"question number {item}, with a text of ordinary length to read"
                )
                answer = "ABCD"[(item + (person % 5 == 0) * (page % 2)) % 4]
                stream.write(
                    f"{name}\tthe first option of {item}\tthe second option\t{answer}\t{'ABCD'[item % 4] if control else ''}\t"
                    f"page-{page}\tworker-{person:06d}\tAPPROVED\t{started}\t{submitted}\t0.0220000000\n"
                )


def open_pool(path: Path, items: int, people: int, wrong: int) -> None:
    """Write typed numbers of five annotators per item; every fifth annotator errs on half of the items, the others on a tenth."""
    chance = Random(1)
    with path.open("w", encoding="utf-8") as stream:
        stream.write("item,annotator,answer\n")
        for item in range(items):
            for person in chance.sample(range(people), 5):
                errs = chance.random() < (0.5 if person % 5 == 0 else 0.1)
                answer = chance.randrange(10_000, 10_000 + wrong) if errs else item * 37 % 9_973
                stream.write(f"item {item},person {person},{answer}\n")


class Measured(NamedTuple):
    """One process, or the median of several.

    Attributes:
        wall: seconds.
        processor: seconds, of all its threads and children.
        memory: peak, megabytes.
    """

    wall: float
    processor: float
    memory: float


def measured(command: list[str]) -> Measured:
    """One process."""
    start = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    complaints = process.stderr.read() if process.stderr else b""
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    wall = time.perf_counter() - start
    if process.returncode not in {0, 1}:
        sys.exit(complaints.decode())
    return Measured(wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024)


def median(command: list[str], times: int) -> Measured:
    """The medians of several runs, and the highest peak of memory."""
    walls, processors, memories = zip(*(measured(command) for _ in range(times)), strict=True)
    return Measured(statistics.median(walls), statistics.median(processors), max(memories))


class Report:
    """Prints a row a measurement, and knows whether every limit was kept."""

    def __init__(self, by_processor: bool) -> None:
        self.by_processor = by_processor
        self.kept = True
        print(f"{'whole process, medians':<58}{'wall s':>8}{'proc. s':>9}{'MB':>7}")

    def row(
        self, name: str, found: Measured, seconds: float = inf, memory: float = inf, note: str = ""
    ) -> float:
        """Print a measurement beside its limits; returns the time that is judged."""
        judged = found.processor if self.by_processor else found.wall
        kept = judged <= seconds and found.memory <= memory
        self.kept &= kept
        limits = [f"at most {seconds:.2f} s"] if seconds < inf else []
        limits += [f"{memory:.0f} MB"] if memory < inf else []
        told = ", ".join([*limits, *([note] if note else []), *([] if kept else ["EXCEEDED"])])
        print(f"{name:<58}{found.wall:>8.2f}{found.processor:>9.2f}{found.memory:>7.0f}  {told}", flush=True)
        return judged

    def growing(
        self,
        name: str,
        command: Callable[[int], list[str]],
        most: int,
        *,
        seconds: float,
        memory: float = inf,
    ) -> None:
        """From 10,000 rows to as many as are asked for; the limits are for 1,000,000."""
        size, before = 10_000, 0.0
        while size <= most:
            found = median(command(size), 3 if size < 1_000_000 else 1)
            whole = size == 1_000_000
            linear = 12 * before if before else inf
            per_row = (found.processor if self.by_processor else found.wall) / size * 1e6
            before = self.row(
                f"{name}, {size:,} rows",
                found,
                min(linear, seconds) if whole else linear,
                memory if whole else inf,
                f"{per_row:.1f} us a row",
            )
            size *= 10


def main() -> int:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--rows", type=int, default=1_000_000)
    options.add_argument("--pool", type=Path, nargs="*", default=[])
    options.add_argument("--processor", action="store_true", help="judge by processor time")
    chosen = options.parse_args()
    merilo = [sys.executable, "-m", "merilo"]
    report = Report(chosen.processor)
    nothing = report.row("python -c pass", median([sys.executable, "-c", "pass"], 15))
    report.row("merilo --help", median([*merilo, "--help"], 15), 4 * nothing, note="4 x python -c pass")
    with tempfile.TemporaryDirectory() as folder:
        made = Path(folder)

        def command(path: Path, *words: str) -> list[str]:
            return [*merilo, "baseline", str(path), *words, "--json", "-"]

        ordinary_pool(made / "pool.tsv")
        open_pool(made / "open.csv", 630, 165, 1_100)
        for path in (made / "pool.tsv", made / "open.csv", *chosen.pool):
            rows = sum(1 for _ in path.open("rb")) - 1
            report.row(f"{path.name[:30]}, {rows:,} rows", median(command(path), 5), 0.8)
        out = command(made / "pool.tsv", "--out", str(made / "out"), "--force")
        report.row("pool.tsv with its report and tables", median(out, 5))

        def closed_answers(size: int) -> list[str]:
            path = made / f"closed-{size}.tsv"
            large_pool(path, size)
            return command(path)

        def open_answers(size: int) -> list[str]:
            path = made / f"open-{size}.csv"
            open_pool(path, size // 5, max(size // 500, 50), size // 10)
            return command(path)

        report.growing("closed answers", closed_answers, chosen.rows, seconds=7, memory=800)
        report.growing("open answers", open_answers, chosen.rows, seconds=15)
        report.growing(
            "open answers, --resolve none",
            lambda size: [*open_answers(size), "--resolve", "none"],
            chosen.rows,
            seconds=15,
        )
    return 0 if report.kept else 1


if __name__ == "__main__":
    sys.exit(main())
