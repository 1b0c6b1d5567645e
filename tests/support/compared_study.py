"""A small study with known gold, and answers of models to its items."""

import csv
from pathlib import Path

import numpy as np
from command import merilo
from made_once import made_once

LABELS = ["A", "B", "C"]
ITEMS = 40


@made_once
def study(folder: Path, *options: object, people: int = 8, overlap: int = 3) -> Path:
    """A study whose items are known by ids q0, q1 ... and whose gold is A, B, C in turn."""
    rng = np.random.default_rng(1)
    with (
        (folder / "answers.csv").open("w", newline="") as file,
        (folder / "items.csv").open("w", newline="") as data,
    ):
        writer, known = csv.writer(file), csv.writer(data)
        writer.writerow(["text", "annotator", "answer"])
        known.writerow(["id", "text", "gold"])
        for item in range(ITEMS):
            gold = LABELS[item % 3]
            known.writerow([f"q{item}", f"question {item}", gold])
            for person in rng.permutation(people)[:overlap]:
                label = gold if rng.random() < 0.6 + 0.04 * person else str(rng.choice(LABELS))
                writer.writerow([f"question {item}", f"p{person}", label])
    outcome = merilo(
        "baseline", folder / "answers.csv", "--platform", "table", "--item", "text", "--annotator", "annotator",
        "--answer", "answer", "--gold", folder / "items.csv", "--gold-column", "gold", "--min-votes", "2",
        "--out", folder / "people", *options,
    )  # fmt: skip
    assert outcome.status in {0, 1}, outcome.complaint
    return folder / "people"


def model(path: Path, answers: dict[str, list[str]], *, sample: bool = True) -> Path:
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["id", "answer", "sample"] if sample else ["id", "answer"])
        for item, given in answers.items():
            for number, answer in enumerate(given, start=1):
                writer.writerow([item, answer, number] if sample else [item, answer])
    return path


def guesses(samples: int = 1) -> dict[str, list[str]]:
    rng = np.random.default_rng(0)
    return {
        f"q{i}": [LABELS[i % 3] if rng.random() < 0.5 else str(rng.choice(LABELS)) for _ in range(samples)]
        for i in range(ITEMS)
    }
