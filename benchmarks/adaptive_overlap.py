"""Measure the bias and the coverage of estimates from answers that were collected with adaptive overlap.

    python benchmarks/adaptive_overlap.py [--studies 60]

Each simulated study draws annotators (normal abilities on the logit scale) and items (normal difficulties). With adaptive overlap 3 to 5, three
people answer an item; if they do not agree, five do; a random tenth of the items has five answers in any case. The true values are those of
fixed overlap at the limit: the score of the consensus, the accuracy of single people, and Krippendorff's alpha.

The first table has the bias (mean difference from the true value) and, in brackets, the root mean square error, in points (hundredths):
- "all": all answers, as if the overlap were fixed;
- "slice": only the items of the random tenth;
- "design": what `merilo baseline` computes: all answers of the random tenth and the first three answers to every other item.
The consensus has one column, because it always uses all answers.

The second table has the coverage of the nominal 95 % intervals: of the consensus over items and annotators (ties shared, and a majority of the
votes with other items left out), and of the single person. `!` marks a coverage below 93 % by more than two standard errors.

Exit status 1: more than a twentieth of the coverages are marked, without those of the consensus where the limit is at least twice the start; or a
consensus with a limit below twice the start, or a value of "design", is biased by more than three standard errors and 0.3 points.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt

import numpy as np
from appendix import heading, line, percent
from numpy.typing import NDArray
from populations import Population, answered

from merilo.people.agreement import krippendorff_alpha
from merilo.people.collection_design import answers_by_design
from merilo.people.decision import adaptive_votes_needed
from merilo.people.uncertainty.annotator_accuracy import drawn_answer, individuals
from merilo.people.uncertainty.two_way import two_way
from merilo.people.votes import Votes
from merilo.settings import AdaptiveOverlap

FloatArray = NDArray[np.float64]

ITEMS, PEOPLE = 300, 30
#: Items of the population on which the true values are computed.
MANY = 60_000
STRANGERS = 4_000

#: Crowds of several shapes: from near perfect to mostly guessing, open answers, two labels, ten labels.
CROWDS = (
    Population("near perfect", 3.3, 1.0, 4),
    Population("middling", 1.2, 0.8, 4),
    Population("mostly guessing", -0.6, 0.7, 4),
    Population("open answers", 1.2, 0.8, 200),
    Population("two labels", 1.2, 0.8, 2),
    Population("ten labels", 0.8, 0.8, 10),
)
#: Fixed overlap, written as an adaptive overlap with all items in the share with fixed overlap.
DESIGNS = (AdaptiveOverlap(3, 5, 1.0), AdaptiveOverlap(3, 5, 0.1), AdaptiveOverlap(3, 7, 0.1))


@dataclass(frozen=True)
class Collected:
    """The answers of a study: all of them, and which the design asked for whatever the others answered."""

    votes: Votes
    right: FloatArray
    by_design: NDArray[np.bool_]
    in_slice: NDArray[np.bool_]


@dataclass(frozen=True)
class Truth:
    """True values of fixed overlap at the limit."""

    consensus: float
    majority: float
    single: float
    alpha: float


def drawn(
    crowd: Population,
    design: AdaptiveOverlap,
    items: int,
    people: int,
    rng: np.random.Generator,
    *,
    whole: bool,
) -> Collected:
    """Draw a study; with `whole`, every item has as many answers as the limit."""
    busy = 0.7 * rng.standard_normal(people) + rng.gumbel(size=(items, people))
    person = np.argpartition(-busy, design.limit - 1, axis=1)[:, : design.limit]
    person = rng.permuted(person, axis=1).ravel()
    item = np.repeat(np.arange(items), design.limit)
    label = answered(crowd, item, person, rng, 0.0)
    place = np.tile(np.arange(design.limit), items)
    first = label.reshape(items, -1)[:, : design.start]
    fixed = rng.random(items) < (1.0 if whole else design.fixed_share)
    asked = (place < design.start) | (fixed | (first != first[:, :1]).any(axis=1))[item]
    gold = rng.integers(0, crowd.labels, items)
    votes = Votes(
        item.astype(np.int32), person.astype(np.int32), ((label + gold[item]) % crowd.labels).astype(np.int32), items, people,
        crowd.labels,
    ).where(asked)  # fmt: skip
    chosen = answers_by_design(votes.item, place[asked], start=design.start, fixed=fixed)
    return Collected(votes, (label == 0)[asked].astype(np.float64), chosen, fixed[votes.item])


def consensus_of(study: Collected, *, needed: int | NDArray[np.int64]) -> float:
    """Score the consensus: ties are shared, or items without enough equal votes are left out."""
    tally = study.votes.tally()
    cell = study.votes.item.astype(np.int64) * study.votes.labels + study.votes.label
    own = tally.item.astype(np.int64) * study.votes.labels + tally.label
    correct = np.zeros(own.size)
    correct[np.searchsorted(own, cell)] = study.right
    most = np.zeros(study.votes.items, dtype=np.int64)
    np.maximum.at(most, tally.item, tally.votes)
    leading = tally.votes == most[tally.item]
    leaders = np.bincount(tally.item, weights=leading, minlength=study.votes.items)
    score = np.bincount(tally.item, weights=leading * correct, minlength=study.votes.items) / leaders
    counted = (leaders == 1) & (most >= needed) if np.any(needed) else np.ones(score.size, dtype=np.bool_)
    return float(score[counted].mean())


def truth_of(crowd: Population, design: AdaptiveOverlap, rng: np.random.Generator) -> Truth:
    """Compute the true values on a large study in which every item has as many answers as the limit."""
    found = []
    for _ in range(MANY // 3_000):
        study = drawn(crowd, design, 3_000, STRANGERS // 10, rng, whole=True)
        found.append((
            consensus_of(study, needed=0), consensus_of(study, needed=design.limit // 2 + 1), float(study.right.mean()),
            krippendorff_alpha(study.votes),
        ))  # fmt: skip
    return Truth(*np.mean(found, axis=0).tolist())


def mean_score(study: Collected, chosen: NDArray[np.bool_]) -> float:
    """Return the mean score of single people over some of the answers, every item with equal weight."""
    votes = study.votes.where(chosen)
    return float(drawn_answer(votes) @ study.right[chosen])


@dataclass
class Row:
    """The estimates of the studies of one design and crowd."""

    truth: Truth
    studies: int
    answers: float
    consensus: FloatArray
    single: FloatArray
    alpha: FloatArray
    held: FloatArray
    widths: FloatArray


def measured(crowd: Population, design: AdaptiveOverlap, studies: int, seed: int) -> Row:
    """Simulate studies of one crowd and design."""
    rng = np.random.default_rng([seed, CROWDS.index(crowd), design.limit, int(10 * design.fixed_share)])
    truth = truth_of(crowd, design, rng)
    answers, held, widths = 0.0, np.zeros(3), np.zeros(3)
    consensus, single, alpha = [], [], []
    for _ in range(studies):
        study = drawn(crowd, design, ITEMS, PEOPLE, rng, whole=False)
        votes = study.votes
        answers += len(votes) / ITEMS / studies
        everything = np.ones(len(votes), dtype=np.bool_)
        selections = (everything, study.in_slice, study.by_design)
        single.append([mean_score(study, chosen) for chosen in selections])
        alpha.append([krippendorff_alpha(votes.where(chosen)) for chosen in selections])
        needed = (
            adaptive_votes_needed(votes, design)
            if design.fixed_share < 1
            else np.full(ITEMS, design.limit // 2 + 1)
        )
        shared = two_way(votes, study.right, resamples=0)
        majority = two_way(votes, study.right, min_votes=needed, resamples=0)
        person = individuals(votes.where(study.by_design), study.right[study.by_design])
        consensus.append(shared.value)
        for place, (interval, true) in enumerate((
            (shared.interval, truth.consensus), (majority.interval, truth.majority), (person.interval, truth.single),
        )):  # fmt: skip
            held[place] += interval.low <= true <= interval.high
            widths[place] += (interval.high - interval.low) / studies
    return Row(
        truth, studies, answers, np.array(consensus) - truth.consensus, np.array(single) - truth.single,
        np.array(alpha) - truth.alpha, held / studies, widths,
    )  # fmt: skip


def told(errors: FloatArray) -> str:
    """Return the bias and the root mean square error, in points."""
    return f"{100 * np.nanmean(errors):+.1f} ({100 * sqrt(np.nanmean(errors**2)):.1f})"


def biased(errors: FloatArray) -> bool:
    """Return whether a mean error is larger than chance and than 0.3 points."""
    return abs(float(np.mean(errors))) > 3 * float(np.std(errors)) / sqrt(errors.shape[0]) + 0.003


def name_of(design: AdaptiveOverlap) -> str:
    return f"fixed {design.limit}" if design.fixed_share == 1 else f"{design.start} to {design.limit}"


def table(studies: int, seed: int, designs: Sequence[AdaptiveOverlap] = DESIGNS) -> bool:
    """Print both tables; return whether every target is reached."""
    rows = {
        (crowd.name, name_of(design)): (design, measured(crowd, design, studies, seed))
        for crowd in CROWDS
        for design in designs
    }
    heading(
        "Adaptive overlap", f"{studies} studies a row", "crowd", "overlap", "answers per item", "consensus", "single: all", "slice",
        "design", "alpha: all", "slice", "design",
    )  # fmt: skip
    held = True
    for (crowd, overlap), (design, row) in rows.items():
        told_each = [told(errors) for errors in (row.consensus, *row.single.T, *row.alpha.T)]
        line(crowd, overlap, f"{row.answers:.2f}", *told_each)
        if design.decides_early:
            held = held and not biased(row.consensus)
        held = held and not biased(row.single[:, 2]) and not biased(row.alpha[:, 2])
    heading(
        "Coverage with adaptive overlap", f"{studies} studies a row", "crowd", "overlap", "consensus", "majority alone", "single person"
    )  # fmt: skip
    error, marked, cells_told = sqrt(0.95 * 0.05 / studies), 0, 0
    for (crowd, overlap), (design, row) in rows.items():
        low = row.held < 0.93 - 2 * error
        cells = [
            f"{percent(share, marked=bad)} ({width:.3f})" for share, width, bad in zip(row.held, row.widths, low, strict=True)
        ]  # fmt: skip
        line(crowd, overlap, *cells)
        judged = low if design.decides_early else low[2:]
        marked, cells_told = marked + int(judged.sum()), cells_told + judged.size
    print(f"\n{marked} of {cells_told} coverages below 93 % by more than chance")
    return held and marked <= cells_told / 20


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--studies", type=int, default=60, help="simulated studies a row")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    return 0 if table(arguments.studies, arguments.seed) else 1


if __name__ == "__main__":
    sys.exit(main())
