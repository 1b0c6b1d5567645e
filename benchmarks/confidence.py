"""Confidences of the models of annotators on simulated pools of many shapes, before and after calibration.

    python benchmarks/confidence.py [--studies 8]

Printed for each shape: the accuracy of Dawid-Skene, the estimated correlation of errors, and for each model the mean confidence
minus the accuracy and the expected calibration error (ten bins of equal width): of the model's probabilities, then calibrated.
`benchmarks/crowds.py` prints the same on real crowds.

Exit status 1: on some shape the calibrated mean confidence is more than 0.08 from the accuracy, or it is further from the
accuracy than the model's own by more than 0.06, or the mean absolute difference over the shapes is not smaller than the model's own.
The classical Dawid-Skene, which has no prior, is shown for comparison and not judged: it is too sure where people answer little.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from crowds import expected_calibration_error

from merilo.people.aggregation import Consensus, auto, dawid_skene, glad, one_coin
from merilo.people.votes import Votes

MODELS: dict[str, Callable[[Votes], Consensus]] = {
    "auto": auto,
    "one-coin": one_coin,
    "GLAD": glad,
    "Dawid-Skene": dawid_skene,
}
#: Models that are shown and not judged.
FOR_COMPARISON = frozenset({"Dawid-Skene"})


@dataclass(frozen=True)
class Shape:
    """A pool.

    Abilities and difficulties are normal on the logit scale. On a share of the items (`traps`) four in five wrong answers are
    the same one, and these items are harder. `biased` is the spread of an annotator's ability between true labels.
    """

    name: str
    items: int = 300
    people: int = 25
    overlap: int = 5
    labels: int = 4
    ability: float = 1.8
    spread: float = 0.8
    difficulty: float = 1.0
    traps: float = 0.0
    guessing: float = 0.0
    biased: float = 0.0
    common: float | None = None


SHAPES = (
    Shape("independent errors", difficulty=0),
    Shape("independent, 2 labels", difficulty=0, labels=2),
    Shape("independent, 20 answers an item", people=30, overlap=20, difficulty=0, ability=0.5, labels=3),
    Shape("own confusions, 2 labels", people=15, overlap=10, difficulty=0, labels=2, ability=1.2, biased=1.5),
    Shape("own confusions, 4 labels", people=15, overlap=8, difficulty=0, ability=1.0, biased=1.5),
    Shape("hard items", difficulty=1.5),
    Shape("hard items, 2 labels", difficulty=1.5, labels=2),
    Shape("traps", traps=0.12),
    Shape("traps, 2 labels", traps=0.12, labels=2),
    Shape("near perfect", ability=4.5, spread=0.5),
    Shape("60 % guess", guessing=0.6),
    Shape("60 % guess, 2 labels", guessing=0.6, labels=2),
    Shape("three people answer all", people=3, overlap=3),
    Shape("the same, hard, 2 labels", people=3, overlap=3, labels=2, ability=1.0, spread=0.4),
    Shape("3 answers an item", people=60, overlap=3),
    Shape("3 answers, 2 labels", people=60, overlap=3, labels=2),
    Shape("30 people answer 100 items", items=100, people=30, overlap=30, labels=2, difficulty=1.5),
    Shape("15 labels", labels=15, difficulty=1.2),
    Shape("92 % of items have one label", labels=2, common=0.92),
)


def pool(shape: Shape, rng: np.random.Generator) -> tuple[Votes, np.ndarray]:
    """The votes and the true labels of one pool."""
    item = np.repeat(np.arange(shape.items), shape.overlap)
    person = np.argsort(rng.random((shape.items, shape.people)), axis=1)[:, : shape.overlap].ravel()
    ability = shape.ability + shape.spread * rng.standard_normal(shape.people)
    difficulty = shape.difficulty * rng.standard_normal(shape.items)
    trap = rng.random(shape.items) < shape.traps
    difficulty[trap] += 1.5
    truth = rng.integers(0, shape.labels, shape.items)
    if shape.common is not None:
        truth = (rng.random(shape.items) >= shape.common).astype(np.int64)
    bias = shape.biased * rng.standard_normal((shape.people, shape.labels))
    odds = ability[person] - difficulty[item] + bias[person, truth[item]]
    right = rng.random(item.size) < 1 / (1 + np.exp(-odds))
    off, lure = rng.integers(1, shape.labels, item.size), rng.integers(1, shape.labels, shape.items)
    off = np.where(trap[item] & (rng.random(item.size) < 0.8), lure[item], off)
    label = (truth[item] + np.where(right, 0, off)) % shape.labels
    guesses = (rng.random(shape.people) < shape.guessing)[person]
    label = np.where(guesses, rng.integers(0, shape.labels, item.size), label)
    columns = (column.astype(np.int32) for column in (item, person, label))
    return Votes(*columns, shape.items, shape.people, shape.labels), truth


def surplus_and_error(
    found: list[Consensus], truths: list[np.ndarray], *, calibrated: bool
) -> tuple[float, float]:
    """The mean confidence minus the accuracy, and the expected calibration error, over all items of several pools."""
    sure = np.concatenate([
        np.where(one.label < 0, 0.0, np.nan_to_num(one.confidence) if calibrated else one.fit.posterior.max(axis=1))
        for one in found
    ])  # fmt: skip
    right = np.concatenate([one.label == truth for one, truth in zip(found, truths, strict=True)])
    return float(sure.mean() - right.mean()), expected_calibration_error(sure, right)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--studies", type=int, default=8, help="simulated pools a shape")
    studies = parser.parse_args().studies
    print(
        f"{'surplus and ECE: model, calibrated':<34}{'accuracy':>9}{'corr.':>7}"
        + "".join(f"{name:>29}" for name in MODELS)
    )
    missed, gaps = 0, []
    for place, shape in enumerate(SHAPES):
        pools = [pool(shape, np.random.default_rng([place, study])) for study in range(studies)]
        truths = [truth for _, truth in pools]
        cells = ""
        for name, model in MODELS.items():
            found = [model(votes) for votes, _ in pools]
            before = surplus_and_error(found, truths, calibrated=False)
            after = surplus_and_error(found, truths, calibrated=True)
            bad = abs(after[0]) > 0.08 or abs(after[0]) > abs(before[0]) + 0.06
            if name not in FOR_COMPARISON:
                gaps.append((abs(before[0]), abs(after[0])))
                missed += bad
            cells += (
                f"{before[0]:>+9.3f} {before[1]:.3f} {after[0]:>+7.3f} {after[1]:.3f}{'!' if bad else ' '}"
            )
            correlation = float(np.mean([one.fit.error_correlation for one in found]))
            right = float(
                np.mean([(one.label == truth).mean() for one, truth in zip(found, truths, strict=True)])
            )
        print(f"{shape.name:<34}{right:>9.3f}{correlation:>7.2f}{cells}", flush=True)
    before_all, after_all = np.array(gaps).mean(axis=0)
    print(f"mean absolute difference {before_all:.3f}, calibrated {after_all:.3f}; {missed} marked")
    return 1 if missed or after_all >= before_all else 0


if __name__ == "__main__":
    sys.exit(main())
