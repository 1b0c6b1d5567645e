"""How often the interval of a difference holds the truth, and how often verdicts of equivalence are wrong.

    python benchmarks/difference_coverage.py [--studies 60]

`benchmarks/coverage.py` prints the same tables. Each simulated study draws new people and new items: 75 % careful people, 17 %
sloppy ones and 8 % who guess; 12 % of items have an attractive wrong answer; some people answer several times as much as others.
The model knows an item with a fixed probability, less often on the items with an attractive wrong answer. Its true difference from
people is set exactly, from the true score of 200,000 simulated items in which nobody answers twice.

Columns: coverage of the interval over items alone and over items and annotators (nominal 95 %, 93 to 97 % is asked, more near the
ceiling); false rejections at no true difference, by the test for these annotators and by the test over items and annotators
(nominal 5 %); false "human level" with the true difference exactly at the margin (at most 5 %). A table before it has two groups
from one population, as experts beside people are compared: the mean gain of the experts in points, and how often p is at most 0.05.
The first table has two models of equal true score, with and without clusters, one answer or three to an item: coverage of the interval
and false rejections by the test of `merilo compare RUN RUN` (4 to 6 % is asked on average) and by McNemar's exact test. The second
table has two models on 5 to 50 clusters of equal and of unequal size. Beside the false rejections it has the coverage if the models
differ, 0.85 and 0.95, where one of two is near the ceiling.

Exit status 1: a coverage is below 93 %, or an error rate above 5 %, by more than two Monte Carlo standard errors, in more than a
twentieth of the cells; or two models of equal score differ, on average, in less than 4 % or more than 6 % of studies; or so at 10
clusters and more and a score of 0.5, in a row, by more than two Monte Carlo standard errors.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from dataclasses import dataclass
from itertools import product

import numpy as np
from appendix import heading, line, percent
from numpy.typing import NDArray

from merilo.people.uncertainty.annotator_accuracy import answer_difference
from merilo.people.uncertainty.two_way import group_difference, influences, shared_part
from merilo.people.votes import Votes
from merilo.statistics.crossed_difference import NO_ANNOTATORS, CrossedDifference, crossed_difference
from merilo.statistics.paired_tests import Difference, compare_scores

FloatArray = NDArray[np.float64]

LABELS = 4
#: Kinds of people: share, accuracy on ordinary items, and the accuracy on items with an attractive wrong answer.
CAREFUL, SLOPPY, GUESSING = (0.75, 0.93, 0.62), (0.17, 0.72, 0.40), (0.08, 0.25, 0.25)
#: Near the ceiling, without people who guess, and with few of them.
NEAR_1 = ((0.83, 0.995, 0.95), (0.17, 0.96, 0.85), (0.0, 0.25, 0.25))
RARE = ((0.8, 0.995, 0.95), (0.17, 0.96, 0.85), (0.03, 0.25, 0.25))
#: The standard deviation of abilities within a kind, in logits.
WITHIN = 0.5
ATTRACTIVE = 0.12
MANY = 200_000


@dataclass(frozen=True)
class Case:
    """A population of people and the layout of a study."""

    name: str
    kinds: tuple[tuple[float, float, float], ...]
    items: int
    overlap: int
    people: int


MIXED = (CAREFUL, SLOPPY, GUESSING)
CASES = (
    Case("mixed", MIXED, 100, 5, 24),
    Case("mixed", MIXED, 400, 5, 24),
    Case("mixed", MIXED, 1000, 5, 24),
    Case("mixed", MIXED, 1000, 5, 200),
    Case("3 answer all", MIXED, 300, 3, 3),
    Case("near 1", NEAR_1, 100, 5, 24),
    Case("near 1", NEAR_1, 400, 5, 24),
    Case("near 1", NEAR_1, 1000, 5, 60),
    Case("3 % guess", RARE, 400, 5, 24),
)
#: The margins at the edge of which equivalence is tested, by the number of items.
MARGIN = {100: 0.1, 300: 0.1, 400: 0.05, 1000: 0.04}


def logit(p: FloatArray) -> FloatArray:
    return np.log(p / (1 - p))


def answers(
    case: Case,
    item: NDArray[np.intp],
    person: NDArray[np.intp],
    lure: NDArray[np.bool_],
    rng: np.random.Generator,
) -> NDArray[np.int32]:
    """Labels of answers: 0 is right, 1 is the attractive wrong one."""
    people = int(person.max()) + 1
    share = np.array([kind[0] for kind in case.kinds])
    kind = rng.choice(len(case.kinds), people, p=share / share.sum())
    ability = np.array([logit(np.array(one[1:])) for one in case.kinds])[kind]
    # Who guesses has no ability that could vary.
    varies = WITHIN * rng.standard_normal(people) * (kind < len(case.kinds) - 1)
    of_item = 0.7 * rng.standard_normal(int(item.max()) + 1)
    logits = (
        ability[person, lure[item].astype(int)]
        + varies[person]
        - of_item[item] * (kind[person] < len(case.kinds) - 1)
    )
    right = rng.random(item.size) < 1 / (1 + np.exp(-logits))
    wrong = np.where(lure[item] & (rng.random(item.size) < 0.8), 1, rng.integers(1, LABELS, item.size))
    return np.where(right, 0, wrong).astype(np.int32)


def true_scores(case: Case, rng: np.random.Generator) -> tuple[float, float]:
    """The true score of the consensus and of a single person: nobody answers twice."""
    item = np.repeat(np.arange(MANY), case.overlap)
    lure = rng.random(MANY) < ATTRACTIVE
    label = answers(case, item, np.arange(item.size), lure, rng)
    votes = np.bincount(item * LABELS + label, minlength=MANY * LABELS).reshape(MANY, LABELS)
    leading = votes == votes.max(axis=1, keepdims=True)
    return float((leading[:, 0] / leading.sum(axis=1)).mean()), float((label == 0).mean())


def study(case: Case, score: float, rng: np.random.Generator) -> tuple[Votes, FloatArray, FloatArray]:
    """One study: the votes, whether they are right, and the score of each item of a model with this true score."""
    busy = 0.7 * rng.standard_normal(case.people) + rng.gumbel(size=(case.items, case.people))
    person = np.argpartition(-busy, case.overlap - 1, axis=1)[:, : case.overlap].ravel()
    item = np.repeat(np.arange(case.items), case.overlap)
    lure = rng.random(case.items) < ATTRACTIVE
    label = answers(case, item, person, lure, rng)
    less = min(0.3, (1 - score) / (1 - ATTRACTIVE), score)
    chance = np.where(lure, score - less * (1 - ATTRACTIVE), score + less * ATTRACTIVE)
    model = (rng.random(case.items) < chance).astype(np.float64)
    votes = Votes(item.astype(np.int32), person.astype(np.int32), label, case.items, case.people, LABELS)
    return votes, (label == 0).astype(np.float64), model


def consensus(
    votes: Votes, right: FloatArray, model: FloatArray, rng: np.random.Generator
) -> tuple[Difference, CrossedDifference]:
    """The consensus beside the model, as `merilo compare` compares them; ties are broken at random."""
    counts = np.bincount(votes.item * LABELS + votes.label, minlength=votes.items * LABELS)
    counts = counts.reshape(votes.items, LABELS) + 0.1 * rng.random((votes.items, LABELS))
    people = (counts.argmax(axis=1) == 0).astype(np.float64)
    influence = influences(votes, model[votes.item] - right, unseen=model)
    crossed = crossed_difference(people, model, shared_part(votes, influence))
    return compare_scores(people, model), crossed


def single(votes: Votes, right: FloatArray, model: FloatArray) -> tuple[Difference, CrossedDifference]:
    """A single person beside single answers of the model."""
    people = np.bincount(votes.item, weights=right, minlength=votes.items) / np.bincount(votes.item)
    return compare_scores(people, model), answer_difference(votes, right, model)


def row(case: Case, kind: str, studies: int, seed: int) -> tuple[FloatArray, float, float]:
    """Coverages over items and over both, false rejections by both tests, false "human level"; truth and margin."""
    rng = np.random.default_rng([seed, case.items, case.people, *case.name.encode(), *kind.encode()])
    of_consensus, of_person = true_scores(case, rng)
    true = of_consensus if kind == "consensus" else of_person
    margin = MARGIN[case.items]
    counted = np.zeros(5)
    for number in range(studies):
        # Half of the models at the margin are above people, as far as scores go.
        edge = -margin if number % 2 or true + margin > 0.999 else margin
        for place, apart in enumerate((0.0, edge)):
            votes, right, model = study(case, true + apart, rng)
            found = (
                consensus(votes, right, model, rng) if kind == "consensus" else single(votes, right, model)
            )
            plain, crossed = found
            if place == 0:
                alone, both = plain.interval, crossed.interval()
                counted[:4] += [
                    alone.low <= 0 <= alone.high,
                    both.low <= 0 <= both.high,
                    plain.test.p <= 0.05,
                    crossed.p <= 0.05,
                ]
            else:
                counted[4] += crossed.p_within(margin) <= 0.05
    return counted / studies, true, margin


@dataclass(frozen=True)
class TwoGroups:
    """Two groups from one population: experts (answers per item, people), people, the population, and items."""

    experts: tuple[int, int]
    people: tuple[int, int]
    ability: float
    spread: float
    items: int
    labels: int = LABELS


GROUPS = (
    TwoGroups((5, 6), (5, 20), 1.2, 0.8, 100),
    TwoGroups((5, 6), (5, 6), 1.2, 0.8, 100),
    TwoGroups((4, 5), (5, 30), 1.2, 0.8, 100),
    TwoGroups((3, 3), (5, 40), 1.2, 0.8, 100),
    TwoGroups((9, 10), (5, 40), 1.2, 0.8, 100),
    TwoGroups((3, 4), (3, 15), 0.5, 0.5, 100, 2),
    TwoGroups((5, 10), (5, 40), 2.5, 1.0, 200),
    TwoGroups((5, 6), (5, 60), 2.5, 1.0, 400),
)


def group(
    case: TwoGroups, size: tuple[int, int], difficulty: FloatArray, rng: np.random.Generator
) -> tuple[Votes, FloatArray]:
    """The votes of one group, some of whom answer several times as much as others, and whether they are right."""
    overlap, people = size
    busy = 0.7 * rng.standard_normal(people) + rng.gumbel(size=(case.items, people))
    person = np.argpartition(-busy, overlap - 1, axis=1)[:, :overlap].ravel()
    item = np.repeat(np.arange(case.items), overlap)
    ability = case.ability + case.spread * rng.standard_normal(people)
    right = rng.random(item.size) < 1 / (1 + np.exp(difficulty[item] - ability[person]))
    wrong = np.where(rng.random(item.size) < 0.3, 1, rng.integers(1, case.labels, item.size))
    label = np.where(right, 0, wrong).astype(np.int32)
    votes = Votes(item.astype(np.int32), person.astype(np.int32), label, case.items, people, case.labels)
    return votes, right.astype(np.float64)


def one_population(studies: int, seed: int) -> bool:
    """Print how often experts "differ" from people of the same population; whether at most 7 % do in every row."""
    heading(
        "Experts beside people", f"{studies} studies a row", "experts", "people", "items", "mean gain of the experts, points",
        "over items alone, %", "over both groups' annotators, %",
    )  # fmt: skip
    good = True
    for number, case in enumerate(GROUPS):
        rng = np.random.default_rng([seed, 77, number])
        gains, alone, both = [], 0, 0
        for _ in range(studies):
            difficulty = rng.standard_normal(case.items)
            people, experts = (group(case, size, difficulty, rng) for size in (case.people, case.experts))
            of_people, of_experts, found = group_difference(people, experts)
            gains.append(found.value)
            alone += compare_scores(of_people, of_experts).test.p <= 0.05
            both += found.p <= 0.05
        bad = both / studies > 0.07 + 2 * np.sqrt(0.05 * 0.95 / studies)
        good &= not bad
        line(
            "{} answers of {}".format(*case.experts), "{} of {}".format(*case.people), case.items,
            f"{100 * np.mean(gains):+.1f}", percent(alone / studies), percent(both / studies, marked=bad),
        )  # fmt: skip
    return good


@dataclass(frozen=True)
class TwoModels:
    """Two models of equal true score: items, items of a cluster, answers to an item, and the true score."""

    items: int
    cluster: int
    samples: int
    score: float


PAIRS = tuple(
    TwoModels(items, cluster, samples, score)
    for items in (100, 400, 1000)
    for cluster, samples, score in (
        (1, 1, 0.8),
        (1, 1, 0.95),
        (1, 3, 0.8),
        (4, 1, 0.8),
        (10, 1, 0.8),
        (4, 3, 0.8),
    )
)
#: As many studies of two models for each study with people: they take a thousandth of the time.
PAIR_STUDIES = 30


def two_models(
    case: TwoModels, rng: np.random.Generator
) -> tuple[FloatArray, FloatArray, NDArray[np.int64] | None]:
    """The mean scores of two models on each item, and the clusters.

    Items have a difficulty; both the difficulty and each model's luck are shared within a cluster.
    """
    codes = np.arange(case.items) // case.cluster
    clusters = int(codes.max()) + 1
    shared = rng.standard_normal(clusters)[codes] + rng.standard_normal(case.items)
    sides = []
    for _ in range(2):
        luck = (0.8 * rng.standard_normal(clusters))[codes] if case.cluster > 1 else 0.0
        chance = 1 / (1 + np.exp(-(1.6 * logit(np.array(case.score)) + shared + luck)))
        sides.append(rng.binomial(case.samples, chance) / case.samples)
    return sides[0], sides[1], codes if case.cluster > 1 else None


def pairs(studies: int, seed: int) -> bool:
    """Print how often two models of equal score "differ"; whether 4 to 6 % do on average, and no row is far off."""
    heading(
        "Two models without people", f"{studies} studies a row", "items", "items of a cluster", "answers", "score", "interval covers, %",
        "p at most 0.05, %", "exact p, %",
    )  # fmt: skip
    rates, good = [], True
    for number, case in enumerate(PAIRS):
        rng = np.random.default_rng([seed, 78, number])
        counted = np.zeros(4)
        for _ in range(studies):
            first, second, codes = two_models(case, rng)
            found = crossed_difference(first, second, NO_ANNOTATORS, clusters=codes)
            exact = compare_scores(first, second).test.p if case.cluster == case.samples == 1 else np.nan
            interval = found.interval()
            counted += [interval.low <= 0 <= interval.high, found.p <= 0.05, exact <= 0.05, first.mean()]
        covered, rate, exact_rate, score = counted / studies
        bad = covered < 0.93 - 2 * np.sqrt(0.05 * 0.95 / studies)
        good &= not bad
        rates.append(rate)
        alone = percent(exact_rate) if case.cluster == case.samples == 1 else ""
        line(
            case.items, case.cluster, case.samples, f"{score:.2f}", percent(covered, marked=bad), percent(rate), alone
        )  # fmt: skip
    print(f"\nOn average {np.mean(rates):.1%} of the studies have p at most 0.05.")
    return good and 0.04 <= float(np.mean(rates)) <= 0.06


CLUSTERS: tuple[int, ...] = (5, 10, 15, 25, 50)
#: Sizes of clusters.
SIZES: dict[str, Callable[[int, np.random.Generator], NDArray[np.int64]]] = {
    "4": lambda count, _: np.full(count, 4),
    "10": lambda count, _: np.full(count, 10),
    "unequal": lambda count, rng: np.maximum(1, np.round(rng.lognormal(1.6, 0.8, count))).astype(np.int64),
    "one big": lambda count, _: np.append(np.full(count - 1, 4), 4 + 4 * count // 3),
}
#: True scores of the two models: 0.5 and 0.9 twice each, about, and two that differ near the ceiling.
SCORES = ((0.5, 0.5), (0.9, 0.9), (0.85, 0.95))


def clustered_pairs(studies: int, seed: int) -> bool:
    """Print error rates and coverage of two models on few clusters; whether they are nowhere far off."""
    heading(
        "Two models on few clusters", f"{studies} studies a cell", "clusters", "items of a cluster", "p at most 0.05 at 0.5, %",
        "at 0.9, %", "interval covers 0.85 and 0.95, %",
    )  # fmt: skip
    off, good, rates = 2 * np.sqrt(0.05 * 0.95 / studies), True, []
    for number, (count, size) in enumerate(product(CLUSTERS, SIZES)):
        covered, rejected = np.zeros(len(SCORES)), np.zeros(len(SCORES))
        for place, scores in enumerate(SCORES):
            rng = np.random.default_rng([seed, 79, number, place])
            chances = [1.6 * logit(np.array(score)) for score in scores]
            luck = 0.8 * (number % 2)
            drawn = np.sqrt(2 + luck**2) * rng.standard_normal(MANY)
            true = np.subtract(
                *(float(np.mean(1 / (1 + np.exp(-chance - drawn)))) for chance in chances[::-1])
            )
            for _ in range(studies):
                codes = np.repeat(np.arange(count), SIZES[size](count, rng))
                shared = rng.standard_normal(count)[codes] + rng.standard_normal(codes.size)
                sides = [
                    (rng.random(codes.size) < 1 / (1 + np.exp(-chance - shared - luck * rng.standard_normal(count)[codes])))
                    .astype(np.float64)
                    for chance in chances
                ]  # fmt: skip
                found = crossed_difference(sides[0], sides[1], NO_ANNOTATORS, clusters=codes)
                interval = found.interval()
                covered[place] += interval.low <= true <= interval.high
                rejected[place] += found.p <= 0.05
        covered, rejected = covered / studies, rejected / studies
        bad = bool((covered < 0.93 - off).any() or (rejected[:2] > 0.06 + off).any())
        bad |= count >= 10 and not 0.04 - off <= rejected[0] <= 0.06 + off
        good &= not bad
        rates.append(rejected[:2])
        line(count, size, percent(rejected[0], marked=bad), percent(rejected[1]), percent(covered[2]))
    few = np.array(rates)[len(SIZES) :]
    print(
        f"\nOn average of 10 clusters and more, {few[:, 0].mean():.1%} at 0.5 and {few[:, 1].mean():.1%} at 0.9 have p at most 0.05."
    )
    return good


def table(studies: int, seed: int) -> bool:
    """Print the tables; whether nothing was missed beyond chance in more than a twentieth of the cells."""
    good = pairs(PAIR_STUDIES * studies, seed)
    good &= clustered_pairs(5 * studies, seed)
    good &= one_population(studies, seed)
    heading(
        "The difference from a model", f"{studies} studies a cell", "people", "items", "annotators", "compared", "people's score",
        "interval covers, %", "p at most 0.05, %", 'false "human level", %',
    )  # fmt: skip
    off = 2 * np.sqrt(0.05 * 0.95 / studies)
    missed = cells = 0
    for case in CASES:
        for kind in ("consensus", "single"):
            share, true, margin = row(case, kind, studies, seed)
            bad = [share[1] < 0.93 - off, share[3] > 0.05 + off, share[4] > 0.05 + off]
            missed, cells = missed + sum(bad), cells + len(bad)
            alone, both, p_alone, p_both, equal = share
            line(
                case.name, case.items, case.people, kind, f"{true:.3f}", f"{percent(both, marked=bad[0])} ({percent(alone)})",
                f"{percent(p_both, marked=bad[1])} ({percent(p_alone)})", f"{percent(equal, marked=bad[2])} at ±{margin:g}",
            )  # fmt: skip
    return good and missed <= cells / 20


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--studies", type=int, default=60, help="simulated studies a cell")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    return 0 if table(arguments.studies, arguments.seed) else 1


if __name__ == "__main__":
    sys.exit(main())
