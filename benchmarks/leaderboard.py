"""A leaderboard of 100 models and 23 datasets: its time, its size, and whether ranges of ranks and totals hold.

    python benchmarks/leaderboard.py [--models 100] [--items 300] [--studies 400]

Half of the models are runs, the others are submission archives; two baselines have simulated people. Time is processor time
of the whole process, which does not depend on what else the machine does: from nothing, from stored results, and with one
more run. The simulated boards have ten models; a board is
wrong if any range excludes a true rank, that is if any two models are told apart the wrong way or though they are equal.

Exit status 1: a board from stored results takes 5 s or more, the site has 1 MB or more, more than 5 % of boards are wrong or
less than 95 % of totals are inside their interval, by more than two standard errors and one point.
"""

from __future__ import annotations

import argparse
import csv
import os
import random
import resource
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests" / "support"))

import numpy as np
from appendix import heading, line, percent
from board_runs import asked_run
from gold_sets import documents, gold_split, right_answer, write_gold, write_zip, wrong_answer
from numpy.typing import NDArray

from merilo.datasets import Dataset, dataset, names
from merilo.items import Item, Split, read_split
from merilo.metrics.worth import NamedPart, worth
from merilo.statistics.intervals import mean_interval
from merilo.statistics.rank_ranges import AllPairs, all_pairs, mean_of_pairs, told_apart, total_interval
from merilo.strict_json import Json

FloatArray = NDArray[np.float64]

SECONDS, BYTES = 5.0, 1_000_000
MODELS = 10


def respondent(seed: int, level: float) -> Callable[[Dataset, Item], Json]:
    """What gives right answers with a probability."""
    rng = random.Random(seed)

    def answer(declared: Dataset, item: Item) -> Json:
        return right_answer(declared, item) if rng.random() < level else wrong_answer(declared, item)

    return answer


def written(folder: Path, models: int, items: int) -> tuple[list[object], Callable[[], None]]:
    """Write tests, runs, archives and baselines; return the words of the command, and what adds one more run."""
    splits = {dataset(name).title: gold_split(dataset(name), items) for name in names()}
    gold = write_gold(folder / "gold", splits)
    files = {path.stem.lower(): path for path in gold.iterdir()}
    tests = {name: (files[name], read_split(files[name])) for name in names()}
    asked = [name for name in names() if dataset(name).answer.kind not in {"program", "criteria"}]

    def run(number: int) -> None:
        level = 0.95 - 0.9 * number / models
        right = {
            name: min(max(level + random.Random(f"{number} {name}").gauss(0, 0.05), 0), 1) for name in asked
        }
        asked_run(
            folder / "runs" / f"run-{number}", f"model-{number}", tests, right, seed=number, shots=number % 2
        )

    for number in range(0, models, 2):
        run(number)
    (folder / "sent").mkdir()
    for number in range(1, models, 2):
        answer = respondent(number, 0.95 - 0.9 * number / models)
        members = {title: documents(dataset(title), split, answer) for title, split in splits.items()}
        write_zip(folder / "sent" / f"team-{number}.zip", members)
    for name in ("parus", "rwsd"):
        study(folder / "people" / name, name, *tests[name])
    words = [
        folder / "runs",
        "--baselines",
        folder / "people",
        "--submissions",
        folder / "sent",
        "--gold",
        gold,
    ]
    return words, lambda: run(models)


def study(folder: Path, name: str, gold: Path, split: Split) -> None:
    """A baseline of twenty simulated people, five on each item."""
    folder.mkdir(parents=True)
    rng = random.Random(name)
    declared = dataset(name)
    with (folder / "answers.csv").open("w", encoding="utf-8", newline="") as file:
        table = csv.writer(file)
        table.writerow([*declared.fields, "person", "answer"])
        for item in split:
            assert isinstance(item.inputs, Mapping)
            for person in rng.sample(range(20), 5):
                given = right_answer(declared, item) if rng.random() < 0.9 else wrong_answer(declared, item)
                table.writerow([*(item.inputs[name] for name in declared.fields), f"p{person}", given])
    words = ["baseline", folder / "answers.csv", "--platform", "csv", "--dataset", name, "--gold", gold]
    words += [word for field in declared.fields for word in ("--item", field)]
    words += ["--annotator", "person", "--answer", "answer", "--out", folder / "baseline"]
    subprocess.run([sys.executable, "-m", "merilo", *map(str, words)], check=False, capture_output=True)
    assert (folder / "baseline" / "baseline.json").is_file()


def timed(words: list[object]) -> float:
    start = _processor_seconds()
    done = subprocess.run(
        [sys.executable, "-m", "merilo", "leaderboard", *map(str, words)],
        check=False,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": ""},
    )
    assert done.returncode == 0, done.stderr
    return _processor_seconds() - start


def _processor_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def measured(models: int, items: int) -> bool:
    with tempfile.TemporaryDirectory(prefix="merilo-board-") as name:
        folder = Path(name)
        words, add = written(folder, models, items)
        words += ["--out", folder / "site"]
        cold = timed(words)
        warm = min(timed(words) for _ in range(3))
        add()
        more = timed(words)
        sizes = {path.name: path.stat().st_size for path in (folder / "site").iterdir()}
    size = sum(sizes.values())
    print(f"{models} models, 23 datasets, {items} items each")
    print(
        f"from nothing: {cold:.1f} s; from stored results: {warm:.2f} s (less than {SECONDS:g}); one more run: {more:.2f} s"
    )
    print(
        f"site: {len(sizes)} files, {size:,} bytes (less than {BYTES:,}); index.html {sizes['index.html']:,}, "
        f"leaderboard.json {sizes['leaderboard.json']:,}\n"
    )
    return warm < SECONDS and size < BYTES


# Simulated boards


def logistic(logits: FloatArray) -> FloatArray:
    return np.asarray(1 / (1 + np.exp(-logits)))


#: Difficulties of the population of items, over which true scores are means.
POPULATION = np.random.default_rng(0).normal(0, 1.0, 20_000)


def answers(
    rng: np.random.Generator, levels: FloatArray, items: int, *, clusters: int = 0
) -> tuple[FloatArray, NDArray[np.int64] | None]:
    """Right or wrong answers to items; with clusters, the items of one share most of their difficulty."""
    if not clusters:
        difficulty, codes = rng.normal(0, 1.0, items), None
    else:
        codes = rng.integers(0, clusters, items)
        difficulty = rng.normal(0, 0.9, clusters)[codes] + rng.normal(0, 0.44, items)
    return (rng.random((levels.size, items)) < logistic(levels[:, None] - difficulty)).astype(float), codes


def wrong(found: AllPairs, truth: FloatArray) -> bool:
    """Whether any two models are told apart the wrong way, or though they are equal."""
    return bool((told_apart(found) & (np.subtract.outer(truth, truth) <= 1e-12)).any())


EQUAL = np.zeros(MODELS)
LADDER = np.repeat(np.linspace(-1.0, 2.0, 5), 2)
NEAR_PERFECT = np.repeat([3.5, 5.0], 5)


def of_accuracy(levels: FloatArray, items: int, clusters: int = 0) -> Callable[[np.random.Generator], bool]:
    truth = logistic(levels[:, None] - POPULATION).mean(axis=1)

    def board(rng: np.random.Generator) -> bool:
        return wrong(all_pairs(*answers(rng, levels, items, clusters=clusters)), truth)

    return board


def of_shares(levels: FloatArray, items: int) -> Callable[[np.random.Generator], bool]:
    """Shares of points such as F1: 0, 1, or between, skewed."""
    truth = logistic(levels[:, None] - POPULATION).mean(axis=1)

    def board(rng: np.random.Generator) -> bool:
        right, _ = answers(rng, levels, items)
        return wrong(all_pairs(right * rng.beta(4, 1, right.shape)), truth * 0.8)

    return board


def of_labels(metric: str, levels: FloatArray, items: int) -> Callable[[np.random.Generator], bool]:
    """Three labels, one of them rare; a wrong answer is another label at random."""
    share = np.array([0.6, 0.3, 0.1])
    declared = dataset("rcb")

    def board(rng: np.random.Generator) -> bool:
        gold = rng.choice(3, items, p=share)
        right, _ = answers(rng, levels, items)
        given = np.where(right == 1, gold, (gold + rng.integers(1, 3, right.shape)) % 3)
        asked = [Item(at, "", "", "123"[label]) for at, label in enumerate(gold)]
        place, one = np.arange(items), np.ones(items)
        part = NamedPart(metric, metric, tuple(range(items)))
        rows = [
            worth(
                declared, part, asked, place=place, answers=["123"[label] for label in row], weight=one
            ).answer
            for row in given
        ]
        return wrong(all_pairs(np.array(rows)), levels)  # the metric rises with the level

    return board


def of_totals(levels: FloatArray, sizes: tuple[int, ...]) -> Callable[[np.random.Generator], bool]:
    truth = logistic(levels[:, None] - POPULATION).mean(axis=1)

    def board(rng: np.random.Generator) -> bool:
        return wrong(mean_of_pairs([all_pairs(*answers(rng, levels, n)) for n in sizes]), truth)

    return board


BOARDS = {
    "10 equal models, 50 items": of_accuracy(EQUAL, 50),
    "10 equal models, 500 items": of_accuracy(EQUAL, 500),
    "5 levels, 2 models each, 200 items": of_accuracy(LADDER, 200),
    "near-perfect, 300 items": of_accuracy(NEAR_PERFECT, 300),
    "mostly guessing, 100 items": of_accuracy(EQUAL - 2.5, 100),
    "60 clusters of about 5 items": of_accuracy(EQUAL, 300, 60),
    "15 clusters of about 10 items": of_accuracy(EQUAL, 150, 15),
    "shares of points, 60 items": of_shares(EQUAL, 60),
    "shares of points, near-perfect, 300 items": of_shares(NEAR_PERFECT, 300),
    "macro F1, rare label, 100 items": of_labels("f1_macro", EQUAL + 1, 100),
    "macro F1, rare label, 400 items": of_labels("f1_macro", EQUAL + 1, 400),
    "Matthews correlation, 200 items": of_labels("mcc", EQUAL + 1, 200),
    "total of 3 datasets, 50 to 300 items": of_totals(EQUAL, (50, 100, 300)),
    "total of 15 datasets, 100 items": of_totals(LADDER, (100,) * 15),
    "total of 15 datasets, near-perfect": of_totals(NEAR_PERFECT, (100,) * 15),
}

#: Levels of one model on the datasets of a total, and their sizes.
TOTALS = {
    "3 datasets, 50 to 300 items": ((0.0, 1.0, 2.0), (50, 100, 300)),
    "15 datasets, 100 items": (tuple(np.linspace(-1, 3, 15)), (100,) * 15),
    "15 datasets, near-perfect": ((4.5,) * 15, (100,) * 15),
    "5 datasets, mostly wrong": ((-3.0,) * 5, (100,) * 5),
    "2 small datasets of 20 items": ((1.0, 0.0), (20, 20)),
}


def total_covers(levels: tuple[float, ...], sizes: tuple[int, ...], rng: np.random.Generator) -> bool:
    truth, parts = [], []
    for level, n in zip(levels, sizes, strict=True):
        truth.append(float(logistic(level - POPULATION).mean()))
        right, _ = answers(rng, np.array([level]), n)
        interval = mean_interval(right[0].tolist())
        parts.append((float(right[0].mean()), interval.low, interval.high))
    _, low, high = total_interval(parts)
    return low <= float(np.mean(truth)) <= high


def simulated(studies: int) -> bool:
    good = True
    heading("Ranges of ranks", f"{studies} boards each", "ten models", "boards with a false range, %")
    for seed, (name, board) in enumerate(BOARDS.items()):
        share = sum(board(np.random.default_rng([seed, at])) for at in range(studies)) / studies
        missed = share - 2 * (share * (1 - share) / studies) ** 0.5 - 0.01 > 0.05
        good = good and not missed
        line(name, percent(share) + "!" * missed)
    heading("Totals", f"{5 * studies} models each", "one model", "inside the 95 % interval, %")
    for seed, (name, (levels, sizes)) in enumerate(TOTALS.items()):
        n = 5 * studies
        share = (
            sum(total_covers(levels, sizes, np.random.default_rng([100 + seed, at])) for at in range(n)) / n
        )
        missed = share + 2 * (share * (1 - share) / n) ** 0.5 + 0.01 < 0.95
        good = good and not missed
        line(name, percent(share) + "!" * missed)
    return good


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--models", type=int, default=100)
    parser.add_argument("--items", type=int, default=300)
    parser.add_argument("--studies", type=int, default=400)
    chosen = parser.parse_args()
    fast = measured(chosen.models, chosen.items) if chosen.models else True
    return 0 if simulated(chosen.studies) and fast else 1


if __name__ == "__main__":
    sys.exit(main())
