"""How often the intervals of the figure for the whole dataset hold the truth: a sample of its items, post-stratified.

    python benchmarks/post_stratified_coverage.py [--studies 60]

`benchmarks/coverage.py` prints the same table. Each simulated study draws a dataset in strata of very unequal sizes and
difficulties, a crowd, and a sample with the same number of items of every stratum. Some people answer several times as much as
others. The interval over items is compared with the consensus of the same crowd on all items of the dataset, the interval over items
and annotators with that of new people on the same items, each of whom answers once, and the single person with their single answers.

Columns: the mean of the sample's own figure less the truth (what weighting removes) and of the post-stratified figure less the truth,
in points; the coverage of the three intervals (nominal 95 %, 93 to 98 % is asked, more near the ceiling); the mean width of
the interval over both; the share of studies in which half of it is 1.9 to 2.8 standard errors (asked: 95 %, below 0.98).

Exit status 1: a coverage or the last column is below what is asked by more than two Monte Carlo standard errors in more than a
twentieth of the cells, or the post-stratified figure is off by more than three standard errors in a cell.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass

import numpy as np
from appendix import heading, line, percent
from numpy.typing import NDArray

from merilo.people.uncertainty.dataset_estimate import consensus_of_dataset, person_of_dataset
from merilo.people.uncertainty.two_way import influences
from merilo.people.votes import Votes
from merilo.statistics.post_stratification import StratifiedSample

FloatArray = NDArray[np.float64]

LABELS = 4
#: How many times new people answer the whole dataset for the true value.
REPEATS = 10


@dataclass(frozen=True)
class Case:
    """A dataset, a sample and a crowd: shares of strata, their difficulties in logits, and the mean ability."""

    name: str
    shares: tuple[float, ...]
    difficulty: tuple[float, ...]
    ability: float
    spread: float
    items: int
    drawn: int
    people: int
    overlap: int = 5


FOUR = ((0.6, 0.25, 0.1, 0.05), (-0.8, 0.3, 1.0, 1.6))
TWENTY = (tuple(np.array([30, *[3] * 19]) / 87), tuple(np.linspace(-1.2, 1.2, 20).tolist()))
CASES = (
    Case("4 strata", *FOUR, 1.2, 0.8, 5000, 200, 24),
    Case("4 strata, half sampled", *FOUR, 1.2, 0.8, 1600, 800, 40),
    Case("4 strata, nearly all", *FOUR, 1.2, 0.8, 500, 450, 24),
    Case("20 strata", *TWENTY, 1.2, 0.8, 5000, 200, 24),
    Case("20 strata", *TWENTY, 1.2, 0.8, 5000, 1000, 100),
    Case("4 strata, hard", *FOUR, 0.3, 0.5, 5000, 200, 24),
    Case("4 strata, near 1", *FOUR, 3.6, 1.0, 5000, 200, 40),
    Case("20 strata, near 1", *TWENTY, 3.6, 1.0, 5000, 200, 40),
    Case("an easy stratum", (0.5, 0.3, 0.2), (-5, -0.5, 1.0), 2.5, 0.8, 4000, 300, 60),
    Case("an easy stratum, 80 %", (0.8, 0.2), (-5, 1.0), 2.5, 0.8, 6000, 400, 60),
    Case("an easy stratum, 12 people", (0.7, 0.3), (-5, 1.5), 2.0, 0.6, 6000, 120, 12),
)


def labels(logits: FloatArray, rng: np.random.Generator) -> NDArray[np.int32]:
    """Answers to items; 0 is right, and a third of the wrong answers are 1."""
    right = rng.random(logits.size) < 1 / (1 + np.exp(-logits))
    wrong = np.where(rng.random(logits.size) < 0.3, 1, rng.integers(1, LABELS, logits.size))
    return np.where(right, 0, wrong).astype(np.int32)


def scores(item: NDArray[np.intp], label: NDArray[np.int32], items: int) -> FloatArray:
    """The consensus score of each item by most votes; tied labels share it."""
    votes = np.bincount(item * LABELS + label, minlength=items * LABELS).reshape(items, LABELS)
    leading = votes == votes.max(axis=1, keepdims=True)
    return np.asarray(leading[:, 0] / leading.sum(axis=1))


def sizes_of(case: Case) -> NDArray[np.int64]:
    found = np.round(np.array(case.shares) * case.items).astype(np.int64)
    found[0] += case.items - found.sum()
    return found


def even(sizes: NDArray[np.int64], drawn: int) -> NDArray[np.int64]:
    """As many items of each stratum, as far as it has them."""
    taken = np.zeros_like(sizes)
    for _ in range(drawn):
        open_strata = np.flatnonzero(taken < sizes)
        taken[open_strata[np.argmin(taken[open_strata])]] += 1
    return taken


def study(case: Case, rng: np.random.Generator) -> FloatArray:
    """Covered by the three intervals; the sample's and the post-stratified figure less the truth."""
    sizes = sizes_of(case)
    stratum = np.repeat(np.arange(sizes.size), sizes)
    n, k = case.items, case.overlap
    difficulty = np.array(case.difficulty)[stratum] + rng.standard_normal(n)
    item = np.repeat(np.arange(n), k)
    new = [
        labels(case.ability + case.spread * rng.standard_normal(n * k) - difficulty[item], rng)
        for _ in range(REPEATS)
    ]
    truth = float(np.mean([scores(item, one, n).mean() for one in new]))
    of_person = float(np.mean([(one == 0).mean() for one in new]))
    ability = case.ability + case.spread * rng.standard_normal(case.people)
    busy = 0.7 * rng.standard_normal(case.people) + rng.gumbel(size=(n, case.people))
    person = np.argpartition(-busy, k - 1, axis=1)[:, :k].ravel()
    label = labels(ability[person] - difficulty[item], rng)
    everywhere = float(scores(item, label, n).mean())
    chosen = np.concatenate(
        [
            rng.choice(np.flatnonzero(stratum == h), count, replace=False)
            for h, count in enumerate(even(sizes, case.drawn))
        ]
    )
    place = np.full(n, -1)
    place[chosen] = np.arange(chosen.size)
    inside = place[item] >= 0
    votes = Votes(
        place[item][inside].astype(np.int32), person[inside].astype(np.int32), label[inside], chosen.size, case.people, LABELS
    )  # fmt: skip
    sample = StratifiedSample(stratum[chosen], sizes.astype(np.float64))
    own = scores(votes.item.astype(np.intp), votes.label, chosen.size)
    right = (votes.label == 0).astype(np.float64)
    row = votes.item.astype(np.int64)
    crowd = consensus_of_dataset(
        float(sample.share @ own),
        own,
        np.ones(chosen.size),
        sample,
        votes=votes,
        influence=influences(votes, right),
        row=row,
    )
    one = person_of_dataset(right, sample, votes=votes, row=row)
    assert crowd.interval is not None
    assert crowd.both is not None
    assert one.both is not None
    half = (crowd.both.high - crowd.both.low) / 2
    return np.array(
        [
            crowd.interval.low <= everywhere <= crowd.interval.high,
            crowd.both.low <= truth <= crowd.both.high,
            one.both.low <= of_person <= one.both.high,
            float(own.mean()) - truth,
            crowd.value - truth,
            crowd.both.high - crowd.both.low,
            1.9 <= half / max(np.hypot(crowd.item_error, crowd.annotator_error), 1e-9) <= 2.8,
            crowd.value,
        ],
        dtype=np.float64,
    )


def table(studies: int, seed: int) -> bool:
    """Print the table; whether nothing was missed beyond chance in more than a twentieth of the cells."""
    heading(
        "The whole dataset", f"{studies} studies a row", "dataset", "items", "drawn", "annotators", "bias of the sample",
        "bias, post-stratified", "over items covers, %", "over both covers, %", "single person covers, %",
        "mean width over both", "of its standard error, %",
    )  # fmt: skip
    off = 2 * np.sqrt(0.05 * 0.95 / studies)
    missed = cells = 0
    unbiased = True
    for number, case in enumerate(CASES):
        rng = np.random.default_rng([seed, number])
        found = np.array([study(case, rng) for _ in range(studies)])
        mean = found.mean(axis=0)
        error = 3 * float(found[:, 4].std()) / np.sqrt(studies)
        bad = [mean[place] < 0.93 - off for place in range(3)]
        bad.append(mean[6] < 0.95 - off and mean[7] < 0.98)
        missed, cells = missed + sum(bad), cells + len(bad)
        biased = abs(mean[4]) > max(error, 0.005)
        unbiased &= not biased
        covers = [percent(mean[place], marked=bad[place]) for place in range(3)]
        line(
            case.name, case.items, case.drawn, case.people, f"{100 * mean[3]:+.1f}", f"{100 * mean[4]:+.1f}{'!' if biased else ''}",
            *covers, f"{mean[5]:.3f}", f"{100 * mean[6]:.0f}{'!' if bad[3] else ''}",
        )  # fmt: skip
    return unbiased and missed <= cells / 20


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--studies", type=int, default=60, help="simulated studies a row")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    return 0 if table(arguments.studies, arguments.seed) else 1


if __name__ == "__main__":
    sys.exit(main())
