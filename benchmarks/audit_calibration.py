"""Whether the audit's probabilities of wrong golds are true, in simulated studies with and without traps.

    python benchmarks/audit_calibration.py [--studies 20]

`benchmarks/coverage.py` prints the same tables.

Each study has 300 items, 25 people, 5 answers an item and 4 labels. People's abilities and items' difficulties are normal on the logit
scale; on 10 % of the items a wrong answer is the item's trap with the given probability, and these items are harder by 2.
Printed for each world: the golds planted as wrong, the number that the audit expects, and, of all items with a probability
in a range, the mean probability beside the share whose gold is wrong.

The second table has the range of the number of wrong golds, in worlds of 100 and 200 items with 3, 5 and 10 answers: all answers are easy
or hard, and with lures 12 % of the items have a wrong answer that gets four fifths of the errors and that most people choose. Printed:
the wrong golds, the mean sum of their probabilities, the mean range, and the shares of studies whose range has the number, begins
above 0, and is not given.

Exit status 1: more than `MOST_EXPECTED` wrong golds are expected in a study without any, the expected number is more than 40 % from
the planted one, in a range of probabilities with 30 items or more the mean probability exceeds the share of wrong golds by more than
`MOST_ABOVE` where golds were planted, or the range of the number has it in less than `LEAST_COVERED` of a world's studies with
a range, by more than two standard errors.
"""

from __future__ import annotations

import argparse
import sys
from itertools import pairwise, product

import numpy as np

from merilo.people.audit.gold_model import fit_gold_model
from merilo.people.audit.gold_range import wrong_gold_range
from merilo.people.votes import Votes

ITEMS, PEOPLE, OVERLAP, LABELS = 300, 25, 5, 4
RANGES = (0.05, 0.2, 0.5, 0.8, 1.0)
MOST_EXPECTED, MOST_ABOVE = 2.5, 0.2
LEAST_COVERED = 0.92
#: In how many studies of a world of the second table the sum of the probabilities is computed, which takes longer than the range.
MODELLED = 10


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


def lured_study(
    items: int,
    overlap: int,
    lures: float,
    wrong_golds: float,
    rng: np.random.Generator,
    *,
    hard: bool,
    labels: int = LABELS,
) -> tuple[Votes, np.ndarray, np.ndarray]:
    """The votes, the golds and whether each gold is wrong, where the lures deceive most people.

    The truth on an item without a lure has a probability from a beta distribution (mean 0.9, or 0.7 if hard), with a lure one from 0.05
    to 0.3; people's log-odds differ from it with standard deviation 0.8.
    """
    item = np.repeat(np.arange(items), overlap)
    person = np.argpartition(rng.random((items, PEOPLE)), overlap, axis=1)[:, :overlap].ravel()
    known = rng.beta(*((4.2, 1.8) if hard else (9, 1)), items).clip(0.01, 0.99)
    lured = rng.random(items) < lures
    known = np.where(lured, rng.uniform(0.05, 0.3, items), known)
    odds = np.log(known / (1 - known))[item] + 0.8 * rng.standard_normal(PEOPLE)[person]
    truth, lure = rng.integers(0, labels, items), rng.integers(1, labels, items)
    off = np.where(
        lured[item] & (rng.random(item.size) < 0.8), lure[item], rng.integers(1, labels, item.size)
    )
    label = (truth[item] + np.where(rng.random(item.size) < 1 / (1 + np.exp(-odds)), 0, off)) % labels
    wrong = rng.random(items) < wrong_golds
    gold = (truth + np.where(wrong, rng.integers(1, labels, items), 0)) % labels
    columns = (column.astype(np.int32) for column in (item, person, label))
    return Votes(*columns, items, PEOPLE, labels), gold.astype(np.int32), wrong


def range_table(studies: int) -> bool:
    """Print the table of ranges; whether every target is met."""
    print("\nRange of the number of wrong golds")
    print(
        f"{'labels':>6} {'items':>5} {'answers':>7} {'world':>12} {'wrong':>6} {'number':>7} {'model':>6} {'range':>13} {'holds':>6} "
        f"{'above 0':>8} {'none':>5}"
    )
    met = True
    for labels, items, overlap, hard, lures, share in product(
        (LABELS, 2), (100, 200), (3, 5, 10), (False, True), (0.0, 0.12), (0.0, 0.02, 0.05)
    ):
        rng = np.random.default_rng([labels, items, overlap, hard, round(100 * lures), round(100 * share)])
        rows = []
        modelled = 0.0
        for place in range(studies):
            votes, gold, wrong = lured_study(items, overlap, lures, share, rng, hard=hard, labels=labels)
            if place < MODELLED:
                modelled += fit_gold_model(votes, gold, options=labels).gold_wrong.sum() / min(
                    studies, MODELLED
                )
            bounds = wrong_gold_range(votes, gold, options=labels)
            rows.append((wrong.sum(), *((bounds.low, bounds.high) if bounds else (np.nan, np.nan))))
        number, low, high = np.array(rows).T
        given = ~np.isnan(low)
        holds = float(np.mean((low <= number)[given] & (number <= high)[given])) if given.any() else 1.0
        error = np.sqrt(LEAST_COVERED * (1 - LEAST_COVERED) / max(1, given.sum()))
        good = bool(holds >= LEAST_COVERED - 2 * error)
        met &= good
        world = f"{'hard' if hard else 'easy'}{', lures' if lures else ''}"
        span = f"{low[given].mean():.1f} to {high[given].mean():.1f}" if given.any() else "-"
        print(
            f"{labels:>6} {items:>5} {overlap:>7} {world:>12} {share:>6g} {number.mean():>7.1f} {modelled:>6.1f} {span:>13} {holds:>6.2f} "
            f"{np.mean(low > 0):>8.2f} {1 - given.mean():>5.2f}{'' if good else ' !'}",
            flush=True,
        )
    return met


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--studies", type=int, default=20, help="simulated studies a world")
    studies = parser.parse_args().studies
    return 0 if calibration_table(studies) & range_table(studies) else 1


if __name__ == "__main__":
    sys.exit(main())
