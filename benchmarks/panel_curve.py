"""Coverage of the curve of a panel: one person, the majority and any of k people, the best tenth and the best person.

    python benchmarks/panel_curve.py [--studies 60] [--case NAME]

Every simulated study draws people and items anew; a person's probability of a right answer is logistic in ability minus
difficulty, and wrong answers fall on one of three labels, on some items mostly on the same one. The true curve is that of
groups of k other people on other items; the true values of the best tenth and the best person are those of the people that
the study chose, on all items. None of these worlds is the model of an estimator: the interval of the curve assumes none,
and that of the chosen people a beta distribution.

Exit status 1: a coverage, with the points of the curve up to the overlap, below 93 % by more than two standard errors.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass

import numpy as np
from appendix import heading, line, percent
from numpy.typing import NDArray

from merilo.people.uncertainty.chosen_people import chosen_people
from merilo.people.uncertainty.panel_curve import panel_curve
from merilo.people.votes import Votes

FloatArray = NDArray[np.float64]

LABELS = 4
TARGET, MOST = 0.93, 0.98
#: Pairs of an item and a group of people in the true curve.
POPULATION = 60_000


@dataclass(frozen=True)
class World:
    """What a study is drawn from.

    `guess` is the share of people who guess, `lures` that of items whose wrong answers are mostly the same, `uneven` how
    unequally people work, and `ability` and `spread`, `difficulty` are in logits.
    """

    name: str
    people: int
    items: int
    overlap: int = 5
    ability: float = 1.5
    spread: float = 0.7
    difficulty: float = 1.0
    guess: float = 0.0
    lures: float = 0.2
    uneven: float = 0.0
    classes: bool = False


WORLDS = (
    World("usual", 40, 200),
    World("few people, all items", 5, 200),
    World("eight people", 8, 150),
    World("few items", 30, 50),
    World("no two people differ", 30, 200, spread=0.0),
    World("a third guesses", 30, 200, guess=0.33),
    World("mostly guessing", 30, 200, guess=0.7),
    World("near perfect", 30, 200, ability=5.0),
    World("one does most", 30, 200, overlap=3, uneven=1.0),
    World("hard, with lures", 40, 200, ability=0.2, lures=0.6, difficulty=1.5),
    World("two kinds of people", 40, 200, classes=True),
    World("easy or hopeless items", 40, 300, difficulty=3.0),
    World("many people, few answers", 150, 300),
)


def right(logits: FloatArray) -> FloatArray:
    """The probability of a right answer."""
    return np.asarray(1 / (1 + np.exp(-logits)))


def abilities(world: World, n: int, rng: np.random.Generator) -> tuple[FloatArray, NDArray[np.bool_]]:
    """The abilities of people, and who guesses."""
    ability = world.ability + world.spread * rng.standard_normal(n)
    if world.classes:
        ability = world.ability + np.where(rng.random(n) < 0.8, -0.4, 1.6)
    return ability, rng.random(n) < world.guess


def answered(
    world: World, ability: FloatArray, guesses: NDArray[np.bool_], hard: FloatArray, lure: NDArray[np.bool_],
    rng: np.random.Generator,
) -> NDArray[np.int64]:  # fmt: skip
    """Labels of answers, 0 is right; all arrays have the same shape."""
    chance = np.where(guesses, 1 / LABELS, right(ability - hard))
    wrong = rng.integers(1, LABELS, hard.shape)
    wrong = np.where(lure & ~guesses & (rng.random(hard.shape) < 0.85), 1, wrong)
    return np.where(rng.random(hard.shape) < chance, 0, wrong)


def true_curve(world: World, most: int) -> tuple[FloatArray, FloatArray]:
    """What the majority of k people and any of them reach, for k from 1; ties share."""
    rng = np.random.default_rng(7)
    ability, guesses = abilities(world, POPULATION * most, rng)
    hard = np.repeat(world.difficulty * rng.standard_normal(POPULATION), most)
    lure = np.repeat(rng.random(POPULATION) < world.lures, most)
    label = answered(world, ability, guesses, hard, lure, rng).reshape(POPULATION, most)
    majority, best = [], []
    counts = np.zeros((POPULATION, LABELS))
    for k in range(most):
        counts[np.arange(POPULATION), label[:, k]] += 1
        leading = counts == counts.max(axis=1, keepdims=True)
        majority.append((leading[:, 0] / leading.sum(axis=1)).mean())
        best.append((counts[:, 0] > 0).mean())
    return np.array(majority), np.array(best)


def accuracy(world: World, ability: FloatArray, guesses: NDArray[np.bool_]) -> FloatArray:
    """The accuracy of people on all items."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(41)
    able = right(ability[:, None] - world.difficulty * nodes) @ (weights / weights.sum())
    return np.where(guesses, 1 / LABELS, able)


def study(world: World, rng: np.random.Generator) -> tuple[Votes, FloatArray, FloatArray]:
    """The answers of a study, their points and the accuracy of its people."""
    ability, guesses = abilities(world, world.people, rng)
    work = np.log(np.arange(1, world.people + 1)) * -world.uneven if world.uneven else np.zeros(world.people)
    order = work + rng.gumbel(size=(world.items, world.people))
    who = np.argsort(-order, axis=1)[:, : world.overlap].ravel()
    item = np.repeat(np.arange(world.items), world.overlap)
    hard = (world.difficulty * rng.standard_normal(world.items))[item]
    lure = (rng.random(world.items) < world.lures)[item]
    label = answered(world, ability[who], guesses[who], hard, lure, rng)
    columns = (column.astype(np.int32) for column in (item, who, label))
    votes = Votes(*columns, world.items, world.people, LABELS)
    return votes, (label == 0).astype(np.float64), accuracy(world, ability, guesses)


def measure(world: World, studies: int, seed: int) -> dict[str, list[float]]:
    """Whether each interval covers, study by study; and the error of the best person's score and of its estimate."""
    most = 2 * world.overlap
    truth = dict(zip(("majority", "any"), true_curve(world, most), strict=True))
    found: dict[str, list[float]] = {}
    for at in range(studies):
        votes, score, able = study(world, np.random.default_rng((seed, at)))
        curve = panel_curve(votes, score, options=LABELS)
        for one in curve.points():
            true = float(truth[one.rule][one.k - 1])
            name = f"{one.rule} beyond" if one.extrapolated else "single" if one.k == 1 else one.rule
            if one.interval and not (one.k == 1 and one.rule == "any"):
                found.setdefault(name, []).append(one.interval.low <= true <= one.interval.high)
        chosen = chosen_people(votes, score)
        if chosen is None:
            continue
        for name, group in zip(("best", "tenth"), chosen, strict=True):
            true = float(able[list(group.people)].mean())
            found.setdefault(name, []).append(group.interval.low <= true <= group.interval.high)
            found.setdefault(f"{name} observed", []).append(group.observed - true)
            found.setdefault(f"{name} estimated", []).append(group.value - true)
    return found


COLUMNS = ("single", "majority", "any", "tenth", "best", "majority beyond", "any beyond")


def table(studies: int, seed: int, worlds: tuple[World, ...] = WORLDS) -> bool:
    """Print the table; return whether all targets are met."""
    heading(
        "The curve of a panel", f"`panel_curve` and `chosen_people`, {studies} studies a row", "world", "people", "items",
        "overlap", "single person", "majority of k", "any of k", "best tenth", "best person",
        "beyond: majority", "beyond: any", "best person's score too high by", "its estimate",
    )  # fmt: skip
    met = True
    for place, world in enumerate(worlds):
        found = measure(world, studies, seed + place)
        cells = []
        for name in COLUMNS:
            covered = float(np.mean(found[name])) if name in found else float("nan")
            # The points of one study's curve depend on each other, so they count as one.
            bad = "beyond" not in name and covered < TARGET - 2 * np.sqrt(TARGET * (1 - TARGET) / studies)
            met &= not bad
            cells.append(percent(covered, marked=bad))
        bias = [f"{np.mean(found[f'best {name}']):+.3f}" for name in ("observed", "estimated")]
        line(world.name, world.people, world.items, world.overlap, *cells, *bias)
    return met


def main() -> int:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--studies", type=int, default=60)
    parser.add_argument("--case", default=None, help="only the world of this name")
    given = parser.parse_args()
    worlds = tuple(one for one in WORLDS if given.case in {None, one.name})
    return int(not table(given.studies, 1, worlds))


if __name__ == "__main__":
    sys.exit(main())
