"""`merilo baseline` as a whole process: on a pool of ordinary size, from 10,000 to 1,000,000 rows, and `merilo --help`.

    python benchmarks/baseline.py [--rows 1000000] [--pool FILE...]

The pool of ordinary size is made here (525 items, 5 people each, a control item on every page, as a published pool has);
`--pool` measures on a real one. Exit status 1: a limit that is printed was exceeded; the report and its tables, and sizes
other than 1,000,000 rows, have none.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from merilo.datasets.generators import generate
from merilo.people.simulation import CAREFUL, GUESSING, HASTY, Panel, Question, toloka_export

HEADER = (
    "INPUT:question\tINPUT:option_a\tINPUT:option_b\tOUTPUT:answer\tGOLDEN:answer\tASSIGNMENT:assignment_id\t"
    "ASSIGNMENT:worker_id\tASSIGNMENT:status\tASSIGNMENT:started\tASSIGNMENT:submitted\tASSIGNMENT:reward\n"
)


def ordinary_pool(path: Path) -> None:
    made = generate("bps", 555, seed=1)
    questions = [Question((str(item.inputs),), str(item.outputs), 0.1) for item in made]
    panel = Panel(people=((CAREFUL, 120), (HASTY, 50), (GUESSING, 20)))
    text = toloka_export(
        questions[30:],
        questions[:30],
        columns=("parentheses",),
        answer="correct",
        labels=("0", "1"),
        panel=panel,
        seed=1,
    )
    path.write_text(text, encoding="utf-8")


def large_pool(path: Path, rows: int) -> None:
    """Rows as a platform exports them: pages of three with one control item, five people an item."""
    with path.open("w", encoding="utf-8") as stream:
        stream.write(HEADER)
        for page in range(rows // 3):
            person, first = (page * 7919) % 2000, (page // 5) * 2
            started = f"2026-01-{page % 27 + 1:02d}T{page % 23:02d}:59:{page % 50:02d}.190"
            submitted = f"2026-01-{page % 27 + 1:02d}T{page % 23 + 1:02d}:00:{page % 50:02d}.420"
            for place in range(3):
                control = place == page % 3
                item = page % 30 if control else first + (place > page % 3) + (place == 2 and page % 3 == 2)
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


def measured(command: list[str]) -> tuple[float, float]:
    """Wall seconds and peak megabytes of one process."""
    start = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    complaints = process.stderr.read() if process.stderr else b""
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    seconds = time.perf_counter() - start
    if process.returncode not in {0, 1}:
        sys.exit(complaints.decode())
    return seconds, usage.ru_maxrss / 1024 if resource else 0.0


def best(command: list[str], times: int) -> tuple[float, float]:
    runs = [measured(command) for _ in range(times)]
    return sorted(runs)[len(runs) // 2][0], max(run[1] for run in runs)


def main() -> int:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--rows", type=int, default=1_000_000)
    options.add_argument("--pool", type=Path, nargs="*")
    chosen = options.parse_args()
    merilo = [sys.executable, "-m", "merilo"]
    nothing, _ = best([sys.executable, "-c", "pass"], 15)
    shown, _ = best([*merilo, "--help"], 15)
    print(f"{'whole process':<44}{'seconds':>9}{'MB':>8}  median")
    print(f"{'python -c pass':<44}{nothing:>9.3f}")
    within = [shown <= 6 * nothing]
    print(f"{'merilo --help':<44}{shown:>9.3f}{'':>8}  {shown / nothing:.1f} x python -c pass (at most 6 x)")
    with tempfile.TemporaryDirectory() as folder:
        pools = chosen.pool or [Path(folder) / "pool.tsv"]
        if not chosen.pool:
            ordinary_pool(pools[0])
        command = [*merilo, "baseline", *map(str, pools), "--json", "-"]
        seconds, memory = best(command, 5)
        within.append(bool(chosen.pool) or seconds <= 1.5)
        rows = sum(sum(1 for _ in pool.open("rb")) - 1 for pool in pools)
        print(
            f"{f'merilo baseline, a pool of {rows} rows':<44}{seconds:>9.2f}{memory:>8.0f}  (at most 1.5 s)"
        )
        report = [*command, "--out", str(Path(folder) / "out"), "--force"]
        seconds, memory = best(report, 5)
        print(f"{'  the same with its report and tables':<44}{seconds:>9.2f}{memory:>8.0f}")
        size = 10_000
        while size <= chosen.rows:
            path = Path(folder) / f"{size}.tsv"
            large_pool(path, size)
            seconds, memory = best([*merilo, "baseline", str(path), "--json", "-"], 1)
            within.append(size != 1_000_000 or (seconds <= 15 and memory <= 2000))
            per_row = f"{seconds / size * 1e6:.1f} us a row"
            print(
                f"{f'merilo baseline, {size:,} rows':<44}{seconds:>9.2f}{memory:>8.0f}  {per_row} (1,000,000: at most 15 s, 2 GB)"
            )
            path.unlink()
            size *= 10
    return 0 if all(within) else 1


if __name__ == "__main__":
    sys.exit(main())
