"""How often intervals hold the truth: over items alone, by a plain two-way bootstrap, and Merilo's.

    python benchmarks/coverage.py [--studies 60] [--all]

A population of people (abilities normal on the logit scale) and of items (difficulties normal, wrong answers that attract) is
drawn anew for each simulated study; the truth is the figure that crowds drawn in the same way reach on items drawn in the same
way, with the same overlap, from 100,000 simulated items. Nominal is 95 %; 93 to 97 % is asked. `!` marks what lies outside by more
than chance in so many studies explains (two standard errors). The mean ability is moved a little from study to study, because the
coverage of any interval of right-or-wrong items jumps up and down between neighbouring accuracies. The plain bootstrap draws items
and people with replacement, people drawn twice voting twice, and takes percentiles: what one would write first.

Exit status 1: the average lies outside 93 to 97 %, or more than a twentieth of the cells do by more than chance.

60 studies a cell keep `make bench` short; the tables in docs/uncertainty.md are made with `--studies 300 --all`.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from merilo.people.uncertainty.two_way import two_way
from merilo.people.votes import Votes
from merilo.statistics.intervals import wilson

FloatArray = NDArray[np.float64]

ATTRACTED = 0.3
RESAMPLES = 500
PLAIN_RESAMPLES = 200
NEIGHBOURS = 5


@dataclass(frozen=True)
class Population:
    """Whom and what a study draws from."""

    name: str
    ability: float
    spread: float
    labels: int
    difficulty: float = 1.0


POPULATIONS = (
    Population("hard", 0.5, 0.5, 2),
    Population("middling", 1.2, 0.8, 4),
    Population("easy", 2.5, 1.0, 4),
    Population("near 1", 3.3, 1.0, 4),
)


@dataclass(frozen=True)
class Design:
    """How a study is laid out; with as many people as the overlap, everybody answers everything."""

    items: int
    overlap: int
    people: int


#: Few items and many, few people and many, as pools are; then the extremes in which everybody answers everything.
DESIGNS = tuple(
    Design(items, overlap, people)
    for overlap in (3, 5, 10)
    for items, people in ((50, 4 * overlap), (200, 24), (500, 40), (2000, 40), (2000, 200))
)
CROSSED = tuple(Design(items, overlap, overlap) for overlap in (3, 5, 10) for items in (50, 500, 2000))


def answered(
    population: Population,
    item: NDArray[np.intp],
    person: NDArray[np.intp],
    rng: np.random.Generator,
    shift: float,
) -> NDArray[np.int32]:
    """Labels of answers: 0 is right."""
    ability = population.ability + shift + population.spread * rng.standard_normal(int(person.max()) + 1)
    difficulty = population.difficulty * rng.standard_normal(int(item.max()) + 1)
    right = rng.random(item.shape[0]) < 1 / (1 + np.exp(difficulty[item] - ability[person]))
    wrong = rng.integers(1, population.labels, item.shape[0])
    wrong = np.where(rng.random(item.shape[0]) < ATTRACTED, 1, wrong)
    return np.where(right, 0, wrong).astype(np.int32)


def truth(
    population: Population, overlap: int, min_votes: int, rng: np.random.Generator, shift: float
) -> float:
    """The figure of the whole population: everybody answers one item."""
    n = 100_000
    item = np.repeat(np.arange(n), overlap)
    label = answered(population, item, np.arange(n * overlap), rng, shift)
    votes = np.bincount(item * population.labels + label, minlength=n * population.labels).reshape(n, -1)
    most = votes.max(axis=1)
    leaders = (votes == most[:, None]).sum(axis=1)
    if min_votes:
        counted = (leaders == 1) & (most >= min_votes)
        return float((votes[counted, 0] == most[counted]).mean())
    return float(((votes[:, 0] == most) / leaders).mean())


def study(
    design: Design, population: Population, rng: np.random.Generator, shift: float
) -> tuple[Votes, FloatArray]:
    """One study; some people answer several times as much as others."""
    busy = 0.7 * rng.standard_normal(design.people) + rng.gumbel(size=(design.items, design.people))
    person = np.argpartition(-busy, design.overlap - 1, axis=1)[:, : design.overlap].ravel()
    item = np.repeat(np.arange(design.items), design.overlap)
    label = answered(population, item, person, rng, shift)
    votes = Votes(
        item.astype(np.int32), person.astype(np.int32), label, design.items, design.people, population.labels
    )
    return votes, (label == 0).astype(np.float64)


def plain(votes: Votes, rng: np.random.Generator) -> tuple[float, float]:
    """The bootstrap that one would write first: percentiles over items and people drawn again."""
    figures = np.empty(PLAIN_RESAMPLES)
    for row in range(PLAIN_RESAMPLES):
        times = np.bincount(rng.integers(0, votes.annotators, votes.annotators), minlength=votes.annotators)
        cell = votes.item.astype(np.int64) * votes.labels + votes.label
        counts = np.bincount(cell, weights=times[votes.annotator], minlength=votes.items * votes.labels)
        counts = counts.reshape(votes.items, votes.labels)
        most = counts.max(axis=1, keepdims=True)
        leading = counts == most
        scores = np.where(most[:, 0] > 0, leading[:, 0] / leading.sum(axis=1), np.nan)
        figures[row] = np.nanmean(scores[rng.integers(0, votes.items, votes.items)])
    low, high = np.quantile(figures, [0.025, 0.975])
    return float(low), float(high)


def cover(
    design: Design, population: Population, studies: int, min_votes: int, seed: int
) -> tuple[float, FloatArray]:
    """The truth, and how often the three intervals hold it."""
    rng = np.random.default_rng(
        [seed, design.items, design.overlap, design.people, int(10 * population.ability)]
    )
    shifts = np.linspace(-0.2, 0.2, NEIGHBOURS)
    truths = [truth(population, design.overlap, min_votes, rng, float(shift)) for shift in shifts]
    with_plain = design.items <= 200 and not min_votes
    held = np.zeros(3)
    for number in range(studies):
        true = truths[number % NEIGHBOURS]
        votes, worth = study(design, population, rng, float(shifts[number % NEIGHBOURS]))
        both = two_way(votes, worth, min_votes=min_votes, resamples=RESAMPLES, seed=number)
        alone = wilson(round(both.value * both.n), both.n)
        bounds = [
            (alone.low, alone.high),
            plain(votes, rng) if with_plain else (np.nan, np.nan),
            (both.interval.low, both.interval.high),
        ]
        held += [low <= true <= high for low, high in bounds]
    share = held / studies
    return float(np.mean(truths)), share if with_plain else np.array([share[0], np.nan, share[2]])


def table(
    designs: tuple[Design, ...], studies: int, min_votes: int, seed: int
) -> tuple[int, int, list[float]]:
    """Print one table; how many cells lie outside 93 to 97 % by more than chance, of how many, and their coverages."""
    print(
        f"{'items':>6} {'overlap':>7} {'people':>6} {'people are':>10} {'truth':>7} {'items only':>11} {'plain':>7} {'Merilo':>8}"
    )
    outside, coverages = 0, []
    for design in designs:
        for population in POPULATIONS:
            true, share = cover(design, population, studies, min_votes, seed)
            error = 2 * np.sqrt(0.95 * 0.05 / studies)
            bad = not 0.93 - error <= share[2] <= 0.97 + error
            outside += bad
            coverages.append(float(share[2]))
            bare = "" if np.isnan(share[1]) else f"{share[1]:.1%}"
            print(
                f"{design.items:>6} {design.overlap:>7} {design.people:>6} {population.name:>10} {true:>7.3f} "
                f"{share[0]:>11.1%} {bare:>7} {share[2]:>7.1%}{'!' if bad else ' '}",
                flush=True,
            )
    return outside, len(coverages), coverages


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--studies", type=int, default=60, help="simulated studies a cell")
    parser.add_argument(
        "--all", action="store_true", help="also a majority of 3 alone, and everybody answering everything"
    )
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    runs = [("Every item decided, ties shared", DESIGNS if arguments.all else DESIGNS[5:8], 0)]
    if arguments.all:
        runs += [
            ("A majority of 3 votes, other items left out", tuple(d for d in DESIGNS if d.overlap > 3), 3),
            ("Everybody answers everything", CROSSED, 0),
        ]
    held = True
    for title, designs, min_votes in runs:
        print(f"\n{title}; {arguments.studies} studies a cell")
        outside, cells, coverages = table(designs, arguments.studies, min_votes, arguments.seed)
        print(
            f"Merilo: {np.mean(coverages):.1%} on average, {min(coverages):.1%} to {max(coverages):.1%}; "
            f"{outside} of {cells} cells outside 93 to 97 % by more than chance"
        )
        held = held and 0.93 <= np.mean(coverages) <= 0.97 and outside <= cells / 20
    return 0 if held else 1


if __name__ == "__main__":
    sys.exit(main())
