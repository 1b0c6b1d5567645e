"""Coverage of `merilo merge`: the level of a laboratory, the mean, a new laboratory, and false differences.

    python benchmarks/laboratories.py [--studies 60]

`benchmarks/coverage.py` prints the same table. Each simulated study draws items, laboratories whose mean ability varies by a standard
deviation in logits, and people within them; each item gets three answers in each laboratory. True levels are the expected points of
single people of a laboratory on these items; the mean and the new laboratory are of the same population of laboratories.

Exit status 1: a coverage below 90 % or, without differences, more than 8 % of tests at p <= 0.05, by more than two standard errors.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass

import numpy as np
from appendix import heading, line, percent
from numpy.typing import NDArray

from merilo.statistics.meta_analysis import group_levels, heterogeneity

FloatArray = NDArray[np.float64]

#: Standard deviations of ability between people and of difficulty between items; mean ability; in logits.
PEOPLE, ITEMS, ABILITY, ANSWERS = 0.7, 1.0, 1.2, 3


@dataclass(frozen=True)
class Case:
    laboratories: int
    people: int
    items: int
    between: float


CASES = (
    Case(3, 8, 100, 0.0),
    Case(5, 8, 100, 0.0),
    Case(5, 20, 200, 0.0),
    Case(3, 10, 100, 0.3),
    Case(5, 10, 100, 0.3),
    Case(10, 10, 100, 0.3),
    Case(5, 20, 100, 0.6),
)


def right(logits: FloatArray) -> FloatArray:
    """The probability of a right answer."""
    return np.asarray(1 / (1 + np.exp(-logits)))


def study(case: Case, random: np.random.Generator) -> tuple[list[bool], list[bool], bool, bool]:
    """Whether each level, the mean and a new laboratory are covered, and whether the test finds a difference."""
    difficulty = random.normal(0, ITEMS, case.items)
    effects = random.normal(0, case.between, case.laboratories)
    crowd = random.normal(0, PEOPLE, 2000)

    def level(effect: float) -> float:
        return float(right(ABILITY + effect + crowd[:, None] - difficulty).mean())

    rows = []
    for laboratory, effect in enumerate(effects):
        ability = ABILITY + effect + random.normal(0, PEOPLE, case.people)
        who = np.array([random.choice(case.people, ANSWERS, replace=False) for _ in range(case.items)])
        scores = random.random(who.shape) < right(ability[who] - difficulty[:, None])
        item = np.repeat(np.arange(case.items), ANSWERS)
        person = laboratory * case.people + who.ravel()
        rows.append(np.column_stack([scores.ravel(), item, np.full(item.shape, laboratory), person]))
    table = np.vstack(rows)
    levels = group_levels(table[:, 0].astype(float), *table[:, 1:].T.astype(np.int64))
    found = heterogeneity(levels)
    covered = []
    for place, effect in enumerate(effects):
        interval = levels.interval(place)
        assert interval is not None
        covered.append(interval.low <= level(effect) <= interval.high)
    nodes, weights = np.polynomial.hermite_e.hermegauss(9)
    population = float(weights @ [level(case.between * node) for node in nodes] / weights.sum())
    new = level(random.normal(0, case.between))
    mean, ahead = found.interval, found.prediction
    return covered, [mean.low <= population <= mean.high], ahead.low <= new <= ahead.high, found.p <= 0.05


def table(studies: int, seed: int) -> bool:
    """Print the table; return whether all targets are met."""
    heading(
        "Several laboratories", f"`merilo merge`, {studies} studies a cell", "laboratories", "people each", "items",
        "between (logits)", "level", "mean", "new laboratory", "p ≤ 0.05",
    )  # fmt: skip
    met = True
    for place, case in enumerate(CASES):
        random = np.random.default_rng((seed, place))
        results = [study(case, random) for _ in range(studies)]
        level, mean, new, found = (float(np.mean([one[part] for one in results])) for part in range(4))
        slack = 2 * np.sqrt(0.05 * 0.95 / studies)
        bad = min(level, mean, new) < 0.90 - slack or (not case.between and found > 0.08 + slack)
        met &= not bad
        shares = (*map(percent, (level, mean, new)), percent(found, marked=bad))
        line(case.laboratories, case.people, case.items, case.between, *shares)
    return met


def main() -> int:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--studies", type=int, default=60)
    return int(not table(parser.parse_args().studies, 1))


if __name__ == "__main__":
    sys.exit(main())
