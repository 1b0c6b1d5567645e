"""Coverage of intervals if items form clusters, with and without the clusters given.

    python benchmarks/cluster_coverage.py [--studies 60]

`benchmarks/coverage.py` prints the same table. Each simulated study draws new people, new texts and new questions about them. The
questions of a text share a part of their difficulty, and a person may be better at some texts than at others. People answer single
questions, or all questions of a text; some answer several times as much as others. The model has its own easy and hard texts, and the
same true score as the consensus. True values are those of 40,000 texts in which no person answers twice.

Columns: coverage with the clusters given and, in brackets, without, of the interval over items and annotators of the consensus, of the
single person, of Krippendorff's alpha, and of the difference between the consensus and the model (nominal 95 %); then the false
rejections of no difference by the test over items and annotators (nominal 5 %).

Exit status 1: a coverage with the clusters given is below 93 %, or false rejections are above 7 %, by more than two Monte Carlo standard
errors, in more than a twentieth of the cells.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass, replace

import numpy as np
from appendix import heading, line, percent
from numpy.typing import NDArray

from merilo.people.agreement import jackknife_interval, krippendorff_alpha
from merilo.people.uncertainty.annotator_accuracy import individuals
from merilo.people.uncertainty.two_way import influences, shared_part, two_way
from merilo.people.votes import Votes
from merilo.statistics.crossed_difference import crossed_difference

FloatArray = NDArray[np.float64]

LABELS, OVERLAP, MANY = 4, 5, 40_000
RESAMPLES = 500
#: Standard deviations of a person's ability, and of a person's luck with a text, in logits.
PEOPLE, LUCK = 0.8, 0.4


@dataclass(frozen=True)
class Case:
    """Texts with questions: the standard deviations of difficulty between texts and between the questions of a text."""

    name: str
    texts: int
    questions: int
    people: int
    between: float = 1.2
    within: float = 0.6
    ability: float = 1.2
    whole: bool = True


CASES = (
    Case("single questions", 60, 5, 24, whole=False),
    Case("whole texts", 60, 5, 24),
    Case("whole texts", 200, 3, 60),
    Case("few long texts", 20, 15, 24),
    Case("easy", 60, 5, 24, ability=2.6),
    Case("near 1", 60, 5, 24, ability=4.0),
    Case("texts do not matter", 60, 5, 24, between=0.0, within=1.3),
)
COLUMNS = ("consensus", "single", "alpha", "difference", "false p")


def answers(
    case: Case,
    text: NDArray[np.intp],
    item: NDArray[np.intp],
    person: NDArray[np.intp],
    difficulty: FloatArray,
    rng: np.random.Generator,
) -> NDArray[np.int32]:
    """Labels of answers: 0 is right."""
    ability = case.ability + PEOPLE * rng.standard_normal(int(person.max()) + 1)
    _, pair = np.unique(person * (int(text.max()) + 1) + text, return_inverse=True)
    luck = (LUCK if case.between else 0.0) * rng.standard_normal(int(pair.max()) + 1)
    right = rng.random(item.size) < 1 / (1 + np.exp(difficulty[item] - ability[person] - luck[pair]))
    return np.where(right, 0, rng.integers(1, LABELS, item.size)).astype(np.int32)


def difficulties(case: Case, texts: int, rng: np.random.Generator) -> FloatArray:
    """The difficulty of each question, text by text."""
    of_text = np.repeat(case.between * rng.standard_normal(texts), case.questions)
    return of_text + case.within * rng.standard_normal(texts * case.questions)


def study(case: Case, rng: np.random.Generator) -> tuple[Votes, FloatArray]:
    """One study with its clusters, and the difficulty of its questions."""
    items = case.texts * case.questions
    difficulty, text_of = (
        difficulties(case, case.texts, rng),
        np.repeat(np.arange(case.texts), case.questions),
    )
    units = case.texts if case.whole else items
    busy = 0.5 * rng.standard_normal(case.people) + rng.gumbel(size=(units, case.people))
    chosen = np.argpartition(-busy, OVERLAP - 1, axis=1)[:, :OVERLAP]
    person = (np.repeat(chosen, case.questions, axis=0) if case.whole else chosen).ravel()
    item = np.repeat(np.arange(items), OVERLAP)
    label = answers(case, text_of[item], item, person, difficulty, rng)
    votes = Votes(
        item.astype(np.int32),
        person.astype(np.int32),
        label,
        items,
        case.people,
        LABELS,
        text_of.astype(np.int32),
    )
    return votes, difficulty


def truths(case: Case, rng: np.random.Generator) -> tuple[float, float, float]:
    """The true score of the consensus and of a single person, and the true alpha."""
    item = np.repeat(np.arange(MANY), OVERLAP)
    difficulty = difficulties(replace(case, questions=1), MANY, rng)
    label = answers(case, item, item, np.arange(item.size), difficulty, rng)
    counts = np.bincount(item * LABELS + label, minlength=MANY * LABELS).reshape(MANY, LABELS)
    leading = counts == counts.max(axis=1, keepdims=True)
    votes = Votes(item.astype(np.int32), np.arange(item.size, dtype=np.int32), label, MANY, item.size, LABELS)
    consensus = float((leading[:, 0] / leading.sum(axis=1)).mean())
    return consensus, float((label == 0).mean()), krippendorff_alpha(votes)


def chance_of(case: Case, score: float, rng: np.random.Generator) -> float:
    """The ability of a model with this true score."""
    deviation = np.sqrt(case.between**2 + case.within**2)
    draws = deviation * rng.standard_normal(MANY)
    low, high = -10.0, 20.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if (1 / (1 + np.exp(draws - middle))).mean() < score else (low, middle)
    return low


def row(case: Case, studies: int, seed: int) -> tuple[FloatArray, tuple[float, float, float]]:
    """Shares of each column, with and without clusters, shape (2, columns); and the true values."""
    rng = np.random.default_rng([seed, case.texts, case.questions, *case.name.encode()])
    consensus, single, alpha = truths(case, rng)
    ability = chance_of(case, consensus, rng)
    counted = np.zeros((2, len(COLUMNS)))
    for _ in range(studies):
        given, difficulty = study(case, rng)
        own = 0.5 * difficulty + np.sqrt(0.75) * difficulties(case, case.texts, rng)
        model = (rng.random(given.items) < 1 / (1 + np.exp(own - ability))).astype(np.float64)
        right = (given.label == 0).astype(np.float64)
        for place, votes in enumerate((given, replace(given, cluster=None))):
            found = two_way(votes, right, resamples=RESAMPLES)
            influence = influences(votes, right)
            apart = influences(votes, model[votes.item] - right, unseen=model)
            people = influence.item + influence.value
            crossed = crossed_difference(people, model, shared_part(votes, apart), clusters=votes.cluster)
            of_alpha = jackknife_interval(votes)
            sure = (found.interval, individuals(votes, right).interval, of_alpha, crossed.interval())
            true = (consensus, single, alpha, 0.0)
            held = [one.low <= at <= one.high for one, at in zip(sure, true, strict=True)]
            counted[place] += [*held, crossed.p <= 0.05]
    return counted / studies, (consensus, single, alpha)


def table(studies: int, seed: int) -> bool:
    """Print the table; whether nothing was missed beyond chance in more than a twentieth of the cells."""
    heading(
        "Items in clusters", f"{studies} studies a row", "people answer", "texts", "questions each", "people", "true consensus", *COLUMNS
    )  # fmt: skip
    off = 2 * np.sqrt(0.05 * 0.95 / studies)
    missed = cells = 0
    for case in CASES:
        share, (consensus, _, _) = row(case, studies, seed)
        bad = [*(share[0, :4] < 0.93 - off), share[0, 4] > 0.07 + off]
        missed, cells = missed + sum(bad), cells + len(bad)
        shown = [
            f"{percent(one, marked=wrong)} ({percent(other)})" for one, other, wrong in zip(*share, bad, strict=True)
        ]  # fmt: skip
        line(case.name, case.texts, case.questions, case.people, f"{consensus:.3f}", *shown)
    return missed <= cells / 20


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--studies", type=int, default=60, help="simulated studies a row")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    return 0 if table(arguments.studies, arguments.seed) else 1


if __name__ == "__main__":
    sys.exit(main())
