"""How well `merilo baseline --model RUN` finds answers that a model gave in place of people, in simulated crowds.

    python benchmarks/assistance.py [--studies 100] [--world NAME]

Each study has people of different ability and items of different difficulty, most of which have a wrong answer that attracts people
and the model alike. Some people copy the model in 90 % of their answers. The model is right on 70, 85 or 95 % of the items, more
often on easy ones.

Columns: the area under the ROC curve of the people's estimated shares (copying or not); how often a study in which nobody copies,
and one in which people do, has a named annotator; the people named wrongly; the mean estimated and true share of echoed answers; the
coverage of its 95 % interval.

"excess" is the simple rule to compare with: the share of a person's answers that equal the model's on the items where it is wrong.

Exit status 1: a row of the worlds of the first table misses a target: area at least 0.85, at most 5 % of clean
studies with a named annotator, coverage at least 93 %, each by more than two Monte Carlo standard errors.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit
from scipy.stats import rankdata

from merilo.people.quality.model_echo import NAMED, model_echo
from merilo.statistics.paired_tests import holm

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]

#: The share of their answers that people copy if they do.
COPIED = 0.9


@dataclass(frozen=True)
class World:
    """A population of people and items, and the design of a study."""

    name: str
    people: int = 40
    items: int = 200
    overlap: int = 5
    labels: int = 4
    ability: float = 1.5
    lured: tuple[float, float] = (0.5, 0.6)
    copied: float = COPIED
    guessers: float = 0.0
    targets: bool = False


WORLDS = (
    World("shared lures", targets=True),
    World("strong lures", lured=(0.8, 0.9), targets=True),
    World("no lures", lured=(0.0, 0.0), targets=True),
    World("2 labels", labels=2),
    World("10 labels", labels=10),
    World("able people", ability=4.0),
    World("weak people", ability=0.0),
    World("3 answers an item", overlap=3),
    World("10 people, 60 items", people=10, items=60),
    World("10 answers a person", people=200, items=400),
    World("half copied", copied=0.5),
    World("10 % guess", guessers=0.1),
)
ACCURACIES = (0.7, 0.85, 0.95)
SHARES = (0.0, 0.05, 0.1, 0.3)


@dataclass(frozen=True)
class Study:
    """The answers of a simulated study."""

    annotator: NDArray[np.int32]
    item: NDArray[np.int32]
    answer: NDArray[np.int64]
    gold: NDArray[np.int64]
    model: NDArray[np.int64]
    copies: BoolArray
    copied: BoolArray


def simulated(world: World, accuracy: float, share: float, rng: np.random.Generator) -> Study:
    """Simulate a study."""
    items, people, labels = world.items, world.people, world.labels
    difficulty, gold = rng.standard_normal(items), rng.integers(0, labels, items)
    lure = (gold + rng.integers(1, labels, items)) % labels
    model = gold.copy()
    missed = np.argsort(-(0.8 * difficulty + rng.standard_normal(items)))[: round(items * (1 - accuracy))]
    other = (gold[missed] + rng.integers(1, labels, missed.size)) % labels
    model[missed] = np.where(rng.random(missed.size) < world.lured[1], lure[missed], other)
    ability = world.ability + 0.8 * rng.standard_normal(people)
    work = 0.7 * rng.standard_normal(people)
    chosen = np.argsort(-(work + rng.gumbel(size=(items, people))), axis=1)[:, : world.overlap]
    item, person = np.repeat(np.arange(items, dtype=np.int32), world.overlap), chosen.ravel().astype(np.int32)
    right = rng.random(item.size) < expit(ability[person] - difficulty[item])
    wrong = (gold[item] + rng.integers(1, labels, item.size)) % labels
    wrong = np.where(rng.random(item.size) < world.lured[0], lure[item], wrong)
    answer = np.where(right, gold[item], wrong)
    guesses = rng.random(people) < world.guessers
    answer = np.where(guesses[person], rng.integers(0, labels, item.size), answer)
    copies = np.zeros(people, np.bool_)
    copies[
        rng.choice(people, round(share * people) if share == 0 else max(round(share * people), 1), False)
    ] = True
    copied = copies[person] & (rng.random(item.size) < world.copied)
    return Study(person, item, np.where(copied, model[item], answer), gold, model, copies, copied)


def area(score: FloatArray, positive: BoolArray) -> float:
    """The area under the ROC curve; NaN without both groups."""
    n, others = int(positive.sum()), int((~positive).sum())
    if not n or not others:
        return float("nan")
    return float((rankdata(score)[positive].sum() - n * (n + 1) / 2) / (n * others))


def row(world: World, accuracy: float, share: float, studies: int) -> tuple[str, bool]:
    """Simulate the studies of a row; return its text, and whether it meets the targets."""
    areas, simple, named, wrongly, found, true, covered = ([] for _ in range(7))
    for number in range(studies):
        rng = np.random.default_rng([number, int(accuracy * 100), int(share * 100)])
        study = simulated(world, accuracy, share, rng)
        echoes = study.answer == study.model[study.item]
        echo = model_echo(
            study.annotator, study.item, right=study.answer == study.gold[study.item], echoes=echoes,
            model_right=study.model == study.gold, labels=world.labels,
        )  # fmt: skip
        here = np.flatnonzero(~np.isnan(echo.p))
        flagged = np.array(holm(echo.p[here].tolist())) <= NAMED
        copies = study.copies[here]
        missed = (study.model != study.gold)[study.item]
        seen = np.bincount(study.annotator, weights=missed, minlength=world.people)[here]
        hits = np.bincount(study.annotator, weights=missed & echoes, minlength=world.people)[here]
        areas.append(area(echo.people[here], copies))
        simple.append(area((hits + 0.5) / (seen + 1), copies))
        named.append(bool(flagged.any()))
        wrongly.append(float((flagged & ~copies).mean()))
        truth = float(study.copied.mean())
        found.append(echo.share)
        true.append(truth)
        covered.append(echo.interval.low - 1e-9 <= truth <= echo.interval.high)
    slack = 2 / np.sqrt(studies)
    coverage, auc, clean = (
        float(np.mean(covered)),
        float(np.nanmean(areas)) if share else float("nan"),
        float(np.mean(named)),
    )
    fits = coverage >= 0.93 - slack * np.sqrt(0.93 * 0.07)
    fits &= share > 0 or clean <= 0.05 + slack * np.sqrt(0.05 * 0.95)
    fits &= share == 0 or auc >= 0.85
    excess = float(np.nanmean(simple)) if share else float("nan")
    text = (
        f"{world.name:20} {accuracy:5.2f} {share:6.2f} {auc:6.3f} {excess:7.3f} {clean:7.1%} {np.mean(wrongly):8.2%}"
        f" {np.mean(found):7.1%} {np.mean(true):6.1%} {coverage:9.1%}"
    )
    return text, bool(fits) or not world.targets


def main() -> int:
    """Print the table; return 1 if a target is missed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--studies", type=int, default=100, help="simulated studies a row")
    parser.add_argument("--world", help="only this world")
    chosen = parser.parse_args()
    print(f"{'world':20} model  copy    AUC  excess   named  wrongly   share   true  coverage")
    missed = 0
    for world in WORLDS:
        if chosen.world in {None, world.name}:
            for accuracy in ACCURACIES:
                for share in SHARES:
                    text, fits = row(world, accuracy, share, chosen.studies)
                    print(text + ("" if fits else "  <- misses its target"), flush=True)
                    missed += not fits
    return min(missed, 1)


if __name__ == "__main__":
    sys.exit(main())
