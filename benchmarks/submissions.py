"""Measure the scoring of a whole submission: every dataset's full-size test, in one process, with a limit of one second.

The tests are simulated in the sizes of version 1.2 of the benchmark. J is left out (its classifiers take most of its time),
and programs are scored from their results, as in a submission. Exit status 1: the median takes longer.
"""

from __future__ import annotations

import argparse
import os
import random
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests" / "support"))

from gold_sets import TITLES, documents, gold_split, right_answer, write_gold, write_zip, wrong_answer

from merilo.datasets import Dataset, dataset
from merilo.items import Item
from merilo.strict_json import Json

ALLOWED_SECONDS = 1.0
ROUNDS = 5
#: Words per input field: MultiQ and RWSD have whole texts, the others a few sentences.
WORDS = {"multiq": 250, "rwsd": 30, "chegeka": 30}


def build(folder: Path) -> tuple[Path, Path, int]:
    """Return the folder of tests, the submission, and its number of answers; two answers in three are correct."""
    splits = {}
    for title in TITLES:
        declared = dataset(title)
        splits[title] = gold_split(declared, declared.sizes["1.2"], words=WORDS.get(declared.name, 12))
    gold = write_gold(folder / "gold", splits)
    rng = random.Random(1)

    def answer(declared: Dataset, item: Item) -> Json:
        return wrong_answer(declared, item) if rng.random() < 1 / 3 else right_answer(declared, item)

    members = {title: documents(dataset(title), split, answer) for title, split in splits.items()}
    return gold, write_zip(folder / "submission.zip", members), sum(map(len, splits.values()))


def timed(words: list[str], bytecode: str) -> float:
    """Measure one process whose modules are already compiled, as in an installed package."""
    environment = {**os.environ, "PYTHONPYCACHEPREFIX": bytecode}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    start = time.perf_counter()
    subprocess.run(words, check=True, stdout=subprocess.DEVNULL, env=environment)
    return time.perf_counter() - start


def main() -> int:
    argparse.ArgumentParser(description=__doc__.splitlines()[0]).parse_args()
    with tempfile.TemporaryDirectory(prefix="merilo-bench-") as name:
        gold, submission, answered = build(Path(name))
        size = sum(file.stat().st_size for file in gold.iterdir())
        program = [sys.executable, "-m", "merilo"]
        command = [*program, "submission", "score", str(submission), "--gold", str(gold), "--json", "-"]
        bytecode = str(Path(name) / "bytecode")
        timed(command, bytecode)
        bare = min(timed([sys.executable, "-c", "pass"], bytecode) for _ in range(ROUNDS))
        seconds = [timed(command, bytecode) for _ in range(ROUNDS)]
        memory = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    print(f"{answered} answers to {len(TITLES)} datasets; tests of {size / 1e6:.0f} MB; {ROUNDS} rounds")
    print(f"{'':<34}{'seconds':>9}{'of allowed':>12}")
    print(f"{'python -c pass':<34}{bare:>9.2f}{bare / ALLOWED_SECONDS:>12.2f}")
    print(f"{'merilo submission score, best':<34}{min(seconds):>9.2f}{min(seconds) / ALLOWED_SECONDS:>12.2f}")
    middle = sorted(seconds)[len(seconds) // 2]
    print(f"{'merilo submission score, median':<34}{middle:>9.2f}{middle / ALLOWED_SECONDS:>12.2f}")
    print(f"peak memory: {memory:.0f} MB")
    return 0 if middle <= ALLOWED_SECONDS else 1


if __name__ == "__main__":
    sys.exit(main())
