"""Whether the audit's probabilities of wrong golds are true, in simulated studies with and without traps.

    python benchmarks/audit_calibration.py [--studies 20]

`benchmarks/coverage.py` prints the same table.

Each study has 300 items, 25 people, 5 answers an item and 4 labels. People's abilities and items' difficulties are normal on the logit
scale; on 10 % of the items a wrong answer is the item's trap with the given probability, and these items are harder by 2.
Printed for each world: the golds planted as wrong, the number that the audit expects, and, of all items with a probability
in a range, the mean probability beside the share whose gold is wrong.

Exit status 1: more than `MOST_EXPECTED` wrong golds are expected in a study without any, the expected number is more than 40 % from
the planted one, or in a range with 30 items or more the mean probability exceeds the share of wrong golds by more than `MOST_ABOVE`
where golds were planted.
"""

from __future__ import annotations

import argparse
import sys
from itertools import pairwise

import numpy as np

from merilo.people.audit.gold_model import fit_gold_model
from merilo.people.votes import Votes

ITEMS, PEOPLE, OVERLAP, LABELS = 300, 25, 5, 4
RANGES = (0.05, 0.2, 0.5, 0.8, 1.0)
MOST_EXPECTED, MOST_ABOVE = 2.5, 0.2


def study(trap: float, wrong_golds: float, rng: np.random.Generator) -> tuple[Votes, np.ndarray, np.ndarray]:
    """The votes, the golds and whether each gold is wrong; the true label is random."""
    item = np.repeat(np.arange(ITEMS), OVERLAP)
    person = np.argpartition(rng.random((ITEMS, PEOPLE)), OVERLAP, axis=1)[:, :OVERLAP].ravel()
    ability, difficulty = 1.8 + 0.8 * rng.standard_normal(PEOPLE), rng.standard_normal(ITEMS)
    hard = rng.random(ITEMS) < 0.1
    difficulty[hard] += 2
    truth, lure = rng.integers(0, LABELS, ITEMS), rng.integers(1, LABELS, ITEMS)
    right = rng.random(item.size) < 1 / (1 + np.exp(difficulty[item] - ability[person]))
    off = rng.integers(1, LABELS, item.size)
    off = np.where(hard[item] & (rng.random(item.size) < trap), lure[item], off)
    label = (truth[item] + np.where(right, 0, off)) % LABELS
    wrong = rng.random(ITEMS) < wrong_golds
    gold = (truth + np.where(wrong, rng.integers(1, LABELS, ITEMS), 0)) % LABELS
    columns = (column.astype(np.int32) for column in (item, person, label))
    return Votes(*columns, ITEMS, PEOPLE, LABELS), gold.astype(np.int32), wrong


def calibration_table(studies: int) -> bool:
    """Print the table; whether every target is met."""
    ranges = list(pairwise(RANGES))
    head = " ".join(f"{f'{low:g} to {high:g}':>18}" for low, high in ranges)
    print("\nWrong golds: mean probability: share wrong (items)")
    print(f"{'trap':>5} {'planted':>8} {'expected':>9} {head}")
    met = True
    for trap in (0.0, 0.5, 0.95):
        for share in (0.0, 0.03):
            rng = np.random.default_rng([round(100 * trap), round(100 * share)])
            doubts, wrongs = [], []
            for _ in range(studies):
                votes, gold, wrong = study(trap, share, rng)
                doubts.append(fit_gold_model(votes, gold, options=LABELS).gold_wrong)
                wrongs.append(wrong)
            doubt, wrong = np.concatenate(doubts), np.concatenate(wrongs)
            expected, planted = doubt.sum() / studies, wrong.sum() / studies
            good = abs(expected - planted) <= 0.4 * planted if share else expected <= MOST_EXPECTED
            cells = []
            for low, high in ranges:
                inside = (doubt > low) & (doubt <= high)
                n = int(inside.sum())
                cells.append(f"{doubt[inside].mean():.2f}: {wrong[inside].mean():.2f} ({n})" if n else "-")
                if share and n >= 30:
                    good &= bool(doubt[inside].mean() <= wrong[inside].mean() + MOST_ABOVE)
            met &= bool(good)
            print(
                f"{trap:>5g} {planted:>8.1f} {expected:>9.1f} "
                + " ".join(f"{cell:>18}" for cell in cells)
                + ("" if good else " !"),
                flush=True,
            )
    return met


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--studies", type=int, default=20, help="simulated studies a world")
    return 0 if calibration_table(parser.parse_args().studies) else 1


if __name__ == "__main__":
    sys.exit(main())
