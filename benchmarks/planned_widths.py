"""Planned half-widths against those of simulated studies: the consensus, the single person, Krippendorff's alpha.

    python benchmarks/planned_widths.py [--studies 300]

Each study draws annotators, the difficulty of items and who answers which item; some annotators answer more than others by chance.
`merilo power` names a mean half-width and one that 80 % of studies do not exceed. The columns are the planned mean, the mean of the
intervals that `merilo baseline` computes, and the share of studies below the assured half-width. The means must agree within 15 %,
and the share must lie between 75 and 85 %; `!` marks a share outside by more than two standard errors, or a mean.

With an even overlap, ties are assumed to be decided. If tied labels share the item, the interval is narrower than planned.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass

import numpy as np
from appendix import heading, line, percent
from numpy.typing import NDArray

from merilo.people.agreement import measure
from merilo.people.power import agreement_half_widths, half_widths
from merilo.people.uncertainty.annotator_accuracy import individuals
from merilo.people.uncertainty.two_way import two_way
from merilo.people.votes import Votes
from merilo.statistics.planning import StudyPlan

FloatArray = NDArray[np.float64]
LABELS = 4
ASSURANCE = 0.8


@dataclass(frozen=True)
class World:
    """The assumptions of a plan, and the number of items."""

    name: str
    plan: StudyPlan
    items: int


WORLDS = (
    World("24 people", StudyPlan(0.9, 5, 24, 0.1), 400),
    World("12 people, 3 answers", StudyPlan(0.8, 3, 12, 0.08), 200),
    World("40 people, near 1", StudyPlan(0.95, 5, 40, 0.06), 500),
    World("30 people, uneven items", StudyPlan(0.85, 3, 30, 0.05, item_spread=0.2), 200),
)


def planned(world: World) -> dict[str, FloatArray]:
    """Return the half-widths that are planned, by estimate."""
    agreement = agreement_half_widths(world.plan, world.items, chance=1 / LABELS)
    if agreement is None:
        raise ValueError(f"no half-width of agreement is planned for {world.name}")
    return {
        "consensus": half_widths(world.plan, world.items, "consensus", chance=1 / LABELS),
        "single person": half_widths(world.plan, world.items, "single_person", chance=1 / LABELS),
        "alpha": agreement[1],
    }


def observed(world: World, studies: int, seed: int) -> dict[str, FloatArray]:
    """Return the half-widths of simulated studies, by estimate."""
    plan, items, rng = world.plan, world.items, np.random.default_rng(seed)
    people = plan.people or items * plan.overlap
    widths = np.empty((studies, 3))
    for study in range(studies):
        ability = plan.spread * rng.standard_normal(people)
        easy = np.full(items, plan.person)
        if plan.item_spread:
            both = plan.person * (1 - plan.person) / plan.item_spread**2 - 1
            easy = rng.beta(plan.person * both, (1 - plan.person) * both, items)
        person = np.argsort(rng.random((items, people)), axis=1)[:, : plan.overlap].ravel()
        item = np.repeat(np.arange(items), plan.overlap)
        right = rng.random(item.size) < easy[item] + ability[person]
        gold = rng.integers(0, LABELS, items)
        wrong = (gold + rng.integers(1, LABELS, items)) % LABELS
        label = np.where(right, gold[item], wrong[item])
        codes = (code.astype(np.int32) for code in (item, person, label))
        votes, score = Votes(*codes, items, people, LABELS), right.astype(np.float64)
        intervals = (
            two_way(votes, score, resamples=0).interval,
            individuals(votes, score).interval,
            measure(votes).interval,
        )
        widths[study] = [(interval.high - interval.low) / 2 for interval in intervals]
    return dict(zip(("consensus", "single person", "alpha"), widths.T, strict=True))


def table(studies: int, seed: int) -> bool:
    """Print the table; return whether no cell is marked."""
    heading(
        "Planned half-widths", f"{studies} studies a cell", "world", "estimate", "planned", "mean", "at most the assured, %"
    )  # fmt: skip
    held = True
    error = 2 * np.sqrt(ASSURANCE * (1 - ASSURANCE) / studies)
    for world in WORLDS:
        found = observed(world, studies, seed)
        for name, widths in planned(world).items():
            share = float((found[name] <= np.quantile(widths, ASSURANCE)).mean())
            good = abs(widths.mean() / found[name].mean() - 1) <= 0.15 and abs(share - 0.8) <= 0.05 + error
            held = held and bool(good)
            line(
                world.name, name, f"{widths.mean():.4f}", f"{found[name].mean():.4f}", percent(share, marked=not good)
            )  # fmt: skip
    return held


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--studies", type=int, default=300, help="simulated studies a cell")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    return 0 if table(arguments.studies, arguments.seed) else 1


if __name__ == "__main__":
    sys.exit(main())
