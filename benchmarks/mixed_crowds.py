"""Crowds of careful, sloppy and guessing people: how often intervals of agreement hold the truth.

    python benchmarks/mixed_crowds.py [--studies 100]

Of the people 75 % are careful, 17 % sloppy and 8 % guess; 12 % of the items have an attractive wrong answer; some people answer
several times as much as others. A crowd and items are drawn anew for each simulated study. The truth is the coefficient of
100,000 items that are each answered by people of their own. Nominal is 95 %; at least 93 % is asked (the allowance for people who
guess makes intervals of agreement wider where people are few). Each coverage is printed with its Monte Carlo standard error; `!`
marks what lies below by more than two of them.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass

import numpy as np
from appendix import heading, line, percent
from numpy.typing import NDArray

from merilo.people.agreement import jackknife_interval, krippendorff_alpha
from merilo.people.votes import Votes

FloatArray = NDArray[np.float64]

#: Careful, sloppy and guessing people.
SHARES = (0.75, 0.17, 0.08)
#: Items with an attractive wrong answer, and how often those who err or fall for it choose it.
TRAPS, TRAPPED = 0.12, 0.8


@dataclass(frozen=True)
class World:
    """Mean ability of careful and sloppy people in logits, the spread of both, and the number of labels."""

    name: str
    careful: float
    sloppy: float
    spread: float = 0.6
    difficulty: float = 1.0
    labels: int = 4


WORLDS = (
    World("hard", 1.0, 0.0, labels=2),
    World("middling", 1.8, 0.5),
    World("easy", 3.5, 1.5),
    World("near 1", 5.0, 4.0, labels=3),
)


@dataclass(frozen=True)
class Layout:
    """Items, answers an item, and people."""

    items: int
    overlap: int
    people: int


LAYOUTS = (
    Layout(100, 3, 3),
    Layout(300, 5, 5),
    Layout(100, 5, 15),
    Layout(300, 5, 25),
    Layout(1000, 3, 60),
    Layout(300, 10, 200),
)


def answers(
    world: World,
    item: NDArray[np.intp],
    person: NDArray[np.intp],
    rng: np.random.Generator,
    right_label: NDArray[np.integer] | None = None,
) -> NDArray[np.int32]:
    """Labels of answers; the right label differs from item to item and is drawn if it is not given."""
    people, items = int(person.max()) + 1, int(item.max()) + 1
    kind = rng.choice(3, people, p=SHARES)
    ability = np.choose(kind, [world.careful, world.sloppy, 0.0]) + world.spread * rng.standard_normal(people)
    difficulty = world.difficulty * rng.standard_normal(items)
    trap = rng.random(items) < TRAPS
    difficulty[trap] += 1.5
    if right_label is None:
        right_label = rng.integers(0, world.labels, items)
    right = rng.random(item.size) < 1 / (1 + np.exp(difficulty[item] - ability[person]))
    off = rng.integers(1, world.labels, item.size)
    off = np.where(trap[item] & (rng.random(item.size) < TRAPPED), 1, off)
    label = (right_label[item] + np.where(right, 0, off)) % world.labels
    guess = rng.integers(0, world.labels, item.size)
    return np.where(kind[person] == 2, guess, label).astype(np.int32)


def study(world: World, layout: Layout, rng: np.random.Generator) -> Votes:
    """One study; some people answer several times as much as others."""
    busy = 0.7 * rng.standard_normal(layout.people) + rng.gumbel(size=(layout.items, layout.people))
    person = np.argpartition(-busy, layout.overlap - 1, axis=1)[:, : layout.overlap].ravel()
    item = np.repeat(np.arange(layout.items), layout.overlap)
    label = answers(world, item, person, rng)
    columns = (column.astype(np.int32) for column in (item, person, label))
    return Votes(*columns, layout.items, layout.people, world.labels)


def agreement_row(world: World, layout: Layout, studies: int, seed: int) -> tuple[float, float, float]:
    """The true alpha, and the coverage and the mean width of its interval."""
    rng = np.random.default_rng([seed, layout.items, layout.people, *world.name.encode()])
    many = 100_000
    item = np.repeat(np.arange(many), layout.overlap)
    label = answers(world, item, np.arange(item.size), rng)
    strangers = Votes(
        item.astype(np.int32), np.arange(item.size, dtype=np.int32), label, many, item.size, world.labels
    )
    true = krippendorff_alpha(strangers)
    intervals = [jackknife_interval(study(world, layout, rng)) for _ in range(studies)]
    held = sum(one.low <= true <= one.high for one in intervals if one)
    return true, held / studies, sum(one.high - one.low for one in intervals if one) / studies


def agreement_table(studies: int, seed: int) -> tuple[int, list[float]]:
    """Print the coverage of the interval of alpha; how many miss by more than chance, and all coverages."""
    heading(
        "Agreement", f"{studies} studies a row", "items", "overlap", "annotators", *(world.name for world in WORLDS)
    )  # fmt: skip
    outside, coverages = 0, []
    for layout in LAYOUTS:
        cells = []
        for true, share, width in (agreement_row(world, layout, studies, seed) for world in WORLDS):
            bad = missed(share, studies)
            outside += bad
            coverages.append(share)
            cells.append(f"{percent(share, marked=bad)} ({true:.2f}, {width:.2f})")
        line(layout.items, layout.overlap, layout.people, *cells)
    return outside, coverages


def missed(share: float, studies: int) -> bool:
    """Whether a coverage is below 93 % by more than two standard errors."""
    return bool(share < 0.93 - 2 * np.sqrt(max(share * (1 - share), 0.95 * 0.05) / studies))


def judged(found: tuple[int, list[float]]) -> bool:
    """Whether the average of a table is within 93 to 99 % and at most a twentieth of its cells miss by more than chance."""
    outside, coverages = found
    print(
        f"\n{np.mean(coverages):.1%} on average; {outside} of {len(coverages)} below 93 % by more than chance"
    )
    return bool(0.93 <= np.mean(coverages) <= 0.99) and outside <= len(coverages) / 20


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--studies", type=int, default=100, help="simulated studies a row")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    return 0 if judged(agreement_table(arguments.studies, arguments.seed)) else 1


if __name__ == "__main__":
    sys.exit(main())
