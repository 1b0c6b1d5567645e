"""How often the intervals of `merilo baseline` hold the truth with its default settings, in good crowds and in bad ones.

    python benchmarks/bad_crowds.py [--studies 60] [--world NAME]

`benchmarks/coverage.py` prints the same table. Each simulated study is computed by `merilo.baseline`'s own steps: control items,
exclusion, the cascade with its tie-breaks, metrics, agreement. People and items are drawn anew each time. The truth is the mean of
the estimates of all studies of a row: what other people reach on other items by the same procedure.

A model whose true score is that of a single person is compared too: "below" and "above" are the shares of studies in which the
verdict is that the model differs from a single person in this direction (nominal 2.5 % each, at most 3.5 % is asked with 10 people).

Columns: the mean estimate of the consensus; the coverage of the intervals of the consensus, the single person and Krippendorff's
alpha (nominal 95 %; at least 92 % is asked, or a warning that names the cause); the mean width of the first; false verdicts; the
share of studies with each warning that names a cause.

Exit status 1: a coverage is below 92 %, or a false verdict above 3.5 %, by more than two Monte Carlo standard errors, and fewer than
90 % of the studies of this row have a warning that names the cause.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import polars as pl
from appendix import heading, line, percent
from numpy.typing import NDArray

import merilo
from merilo.baselines.evidence import Evidence
from merilo.baselines.pipeline import examine
from merilo.baselines.study_input import StudyInput, find_gold
from merilo.people.uncertainty.annotator_accuracy import answer_difference
from merilo.people.votes import Votes
from merilo.settings import Settings

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests" / "support"))
from simulated_votes import ordered_votes

FloatArray = NDArray[np.float64]

#: The share of wrong answers that are the most attractive wrong label.
ATTRACTED = 0.3
#: The codes of warnings that name what makes an interval too short.
CAUSES = (
    "busy_annotator",
    "many_excluded",
    "suspect_controls",
)

#: Nor does it name warnings of a smaller share of the studies.
LEAST_NAMED = 0.15

DEFAULT = Settings()
#: What makes the consensus a weighted median.
ORDERED = Settings(aggregator="auto", level="ordinal")


@dataclass(frozen=True)
class Crowd:
    """A population of people and items, and the design of a study.

    Attributes:
        name: the name in the table.
        ability: the mean ability in logits; the standard deviation is `spread`, that of items' difficulties 1.
        guessers: the share of people who guess, and the factor by which they do more work than others.
        copies: the share of people who all give the answers of one and the same person.
        missing: the share of answers that are missing at random.
        controls: the number of control items that each person answers, and the share of them with a wrong known answer.
        ordered: the labels are on a scale, and errors, biases of 30 % of the people and guesses are along it; abilities,
            copies, missing answers and controls have no effect.
        settings: the settings of the baseline.
    """

    name: str
    ability: float = 1.5
    spread: float = 0.8
    labels: int = 4
    items: int = 200
    overlap: int = 5
    people: int = 24
    guessers: tuple[float, float] = (0.0, 1.0)
    copies: float = 0.0
    missing: float = 0.0
    controls: tuple[int, float] = (0, 0.0)
    ordered: bool = False
    settings: Settings = DEFAULT


CROWDS = (
    Crowd("good"),
    Crowd("good, 2 labels, 3 answers", labels=2, overlap=3),
    Crowd("good, 6 labels, 3 answers", labels=6, overlap=3),
    Crowd("good, 10 labels, 3 answers", labels=10, overlap=3),
    Crowd("good, 10 people", people=10),
    Crowd("near 1", ability=4.0, spread=1.0),
    Crowd("easy, 4 % guess", ability=6.0, spread=0.5, guessers=(0.04, 1.0)),
    Crowd("easy, 4 % guess, 10", ability=6.0, spread=0.5, people=10, guessers=(0.04, 1.0)),
    Crowd("easy, 4 % guess, 60", ability=6.0, spread=0.5, people=60, items=1000, guessers=(0.04, 1.0)),
    Crowd("4 % guess, 6 x work", guessers=(0.04, 6.0)),
    Crowd("10 % guess, 6 x work", guessers=(0.1, 6.0)),
    Crowd("10 % guess, 6 x, 60", guessers=(0.1, 6.0), people=60),
    Crowd("15 % copy one set", copies=0.15, people=40),
    Crowd("30 % missing", missing=0.3),
    Crowd("30 % guess, controls", guessers=(0.3, 1.0), controls=(10, 0.0)),
    Crowd("wrong controls", controls=(10, 0.2)),
    Crowd("guess, wrong controls", guessers=(0.2, 1.0), controls=(10, 0.2)),
    Crowd("ordered labels", ordered=True, labels=5, guessers=(0.1, 1.0)),
    Crowd("ordered labels, auto", ordered=True, labels=5, guessers=(0.1, 1.0), settings=ORDERED),
    Crowd("ordered, 3 answers", ordered=True, labels=5, overlap=3, guessers=(0.1, 1.0)),
    Crowd(
        "ordered, 3 answers, auto", ordered=True, labels=5, overlap=3, guessers=(0.1, 1.0), settings=ORDERED
    ),
    Crowd("ordered, 60 people", ordered=True, labels=5, people=60, guessers=(0.1, 1.0)),
    Crowd(
        "ordered, 60 people, auto", ordered=True, labels=5, people=60, guessers=(0.1, 1.0), settings=ORDERED
    ),
)


def answers(
    crowd: Crowd,
    ability: FloatArray,
    guesses: NDArray[np.bool_],
    difficulty: FloatArray,
    right_label: NDArray[np.int64],
    rng: np.random.Generator,
) -> NDArray[np.int64]:
    """Labels of answers, each argument one value an answer."""
    right = rng.random(ability.size) < 1 / (1 + np.exp(difficulty - ability))
    off = np.where(
        rng.random(ability.size) < ATTRACTED, 1, rng.integers(1, max(crowd.labels, 2), ability.size)
    )
    label = (right_label + np.where(right, 0, off)) % crowd.labels
    return np.where(guesses, rng.integers(0, crowd.labels, ability.size), label)


def study(crowd: Crowd, rng: np.random.Generator) -> tuple[pl.DataFrame, NDArray[np.int64]]:
    """The rows of one study, and the right labels of its items."""
    people, items = crowd.people, crowd.items
    share, work = crowd.guessers
    if crowd.ordered:
        votes, right_label = ordered_votes(
            rng, labels=crowd.labels, items=items, annotators=people, overlap=crowd.overlap, biased=0.3, guessing=share
        )  # fmt: skip
        return table_of(votes.item, votes.annotator, votes.label), right_label
    guesses = rng.random(people) < share
    ability = crowd.ability + crowd.spread * rng.standard_normal(people)
    busy = 0.7 * rng.standard_normal(people) + np.log(np.where(guesses, work, 1.0))
    # Nobody answers an item twice; who does more work is chosen more often.
    chosen = np.argsort(-(busy + rng.gumbel(size=(items, people))), axis=1)[:, : crowd.overlap]
    item, person = np.repeat(np.arange(items), crowd.overlap), chosen.ravel()
    right_label, difficulty = rng.integers(0, crowd.labels, items), rng.standard_normal(items)
    label = answers(crowd, ability[person], guesses[person], difficulty[item], right_label[item], rng)
    copying = np.flatnonzero(rng.random(people) < crowd.copies)
    if copying.size:
        template = answers(
            crowd,
            np.full(items, ability[copying[0]]),
            np.zeros(items, np.bool_),
            difficulty,
            right_label,
            rng,
        )
        label = np.where(np.isin(person, copying), template[item], label)
    kept = rng.random(item.size) >= crowd.missing
    rows = table_of(item[kept], person[kept], label[kept])
    count, wrong = crowd.controls
    if not count:
        return rows, right_label
    pool = rng.integers(0, crowd.labels, 2 * count)
    known = np.where(
        rng.random(pool.size) < wrong, (pool + rng.integers(1, crowd.labels, pool.size)) % crowd.labels, pool
    )
    asked = np.concatenate([rng.choice(pool.size, count, replace=False) for _ in range(people)])
    who = np.repeat(np.arange(people), count)
    # Control items are easy.
    label = answers(crowd, ability[who] + 1.5, guesses[who], np.zeros(who.size), pool[asked], rng)
    controls = pl.DataFrame(
        {
            "item": [f"c{one}" for one in asked],
            "annotator": [f"p{one}" for one in who],
            "answer": [f"label {one}" for one in label],
            "control": [f"label {one}" for one in known[asked]],
        }
    )
    return pl.concat([rows.with_columns(control=pl.lit(None, pl.String)), controls]), right_label


def table_of(
    item: NDArray[np.integer], person: NDArray[np.integer], label: NDArray[np.integer]
) -> pl.DataFrame:
    """The answers to test items as a table."""
    return pl.DataFrame(
        {
            "item": [f"q{one}" for one in item],
            "annotator": [f"p{one}" for one in person],
            "answer": [f"label {one}" for one in label],
        }
    )


def computed(rows: pl.DataFrame, right_label: NDArray[np.int64], crowd: Crowd) -> Evidence:
    """The baseline of a study by the crowd's settings."""
    responses = merilo.read_responses(rows)
    gold = pl.DataFrame(
        {
            "item": [f"q{one}" for one in range(right_label.size)],
            "gold": [f"label {one}" for one in right_label],
        }
    )
    labels = tuple(f"label {one}" for one in range(crowd.labels))
    settings = replace(crowd.settings, labels=labels) if crowd.settings.level != "nominal" else crowd.settings
    study = StudyInput(responses=responses, gold=find_gold(responses, None, gold, None, None))
    return examine(study, settings)


def beside_a_single_person(
    rows: pl.DataFrame, right_label: NDArray[np.int64], model: FloatArray
) -> tuple[bool, bool]:
    """Whether the model is "below" and "above" a single person."""
    tests = rows.filter(pl.col("item").str.starts_with("q"))
    item = tests["item"].str.slice(1).cast(pl.Int32).to_numpy()
    label = tests["answer"].str.slice(6).cast(pl.Int32).to_numpy()
    right = label == right_label[item]
    person = tests["annotator"].rank("dense").to_numpy().astype(np.int32) - 1
    votes = Votes(item, person, label, right_label.size, int(person.max()) + 1, int(label.max()) + 1)
    found = answer_difference(votes, right.astype(np.float64), model)
    return found.p_below(0.0) <= 0.025, found.p_above(0.0) <= 0.025


@dataclass(frozen=True)
class Row:
    """The results of one crowd: estimates and bounds of three quantities, false verdicts, and warnings."""

    value: FloatArray
    low: FloatArray
    high: FloatArray
    verdicts: FloatArray
    warnings: Counter[str]
    warned: float

    @property
    def coverage(self) -> FloatArray:
        """How often each interval holds the mean of the estimates; shape (3,)."""
        truth = np.nanmean(self.value, axis=0)
        there = ~np.isnan(self.low)
        return np.asarray(((self.low <= truth) & (truth <= self.high)).sum(axis=0) / there.sum(axis=0))


def row(crowd: Crowd, studies: int, seed: int) -> Row:
    rng = np.random.default_rng([seed, *crowd.name.encode()])
    value, low, high = (np.full((studies, 3), np.nan) for _ in range(3))
    kept = []
    found: Counter[str] = Counter()
    warned = 0.0
    for number in range(studies):
        rows, right_label = study(crowd, rng)
        made = computed(rows, right_label, crowd)
        main = made.estimates.main["acc"]
        alpha = made.agreement.interval
        spans = (main.interval, main.single.interval if main.single else None, alpha)
        values = (
            main.score.value,
            main.single.mean if main.single else np.nan,
            made.agreement.krippendorff_alpha,
        )
        for place, (one, span) in enumerate(zip(values, spans, strict=True)):
            if span is not None:
                value[number, place], low[number, place], high[number, place] = one, span.low, span.high
        causes = {one.code for one in made.findings} & {*CAUSES}
        found.update(causes)
        warned += bool(causes) / studies
        if crowd.controls == (0, 0.0):
            kept.append((rows, right_label))
    of_person = float(np.nanmean(value[:, 1]))
    verdicts = [
        beside_a_single_person(
            rows, right_label, (rng.random(right_label.size) < of_person).astype(np.float64)
        )
        for rows, right_label in kept
    ]
    shares = np.array(verdicts, dtype=np.float64).mean(axis=0) if verdicts else np.full(2, np.nan)
    return Row(value, low, high, shares, found, warned)


def table(studies: int, seed: int, world: str | None = None) -> bool:
    """Print the table; whether every row holds what is asked, or has a warning."""
    heading(
        "Bad crowds", f"{studies} studies a row", "crowd", "items", "annotators", "consensus",
        "consensus covers, %", "single person covers, %", "alpha covers, %", "mean width", "below, %", "above, %", "warned, %",
    )  # fmt: skip
    good, missed = True, []
    for crowd in CROWDS:
        if world not in {None, crowd.name}:
            continue
        one = row(crowd, studies, seed)
        low = one.coverage < 0.92 - 2 * np.sqrt(0.05 * 0.95 / studies)
        false = one.verdicts > 0.035 + 2 * np.sqrt(0.025 * 0.975 / studies)
        good &= one.warned >= 0.9 or not (low.any() or false.any())
        if (one.coverage < 0.92).any() or (one.verdicts > 0.035).any():
            missed.append(f"{crowd.name}: a warning names the cause in {one.warned:.0%} of the studies.")
        width = float(np.nanmean(one.high[:, 0] - one.low[:, 0]))
        line(
            crowd.name, crowd.items, crowd.people, f"{np.nanmean(one.value[:, 0]):.3f}",
            *(percent(share, marked=bad) for share, bad in zip(one.coverage, low, strict=True)), f"{width:.3f}",
            *(percent(share, marked=bad) for share, bad in zip(one.verdicts, false, strict=True)),
            ", ".join(
                f"`{name}` {100 * n / studies:.0f}" for name, n in one.warnings.most_common() if n >= LEAST_NAMED * studies
            ),
        )  # fmt: skip
    print("", *missed, sep="\n")
    return good


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--studies", type=int, default=60, help="simulated studies a row")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--world", choices=[one.name for one in CROWDS], help="one crowd alone")
    arguments = parser.parse_args()
    return 0 if table(arguments.studies, arguments.seed, arguments.world) else 1


if __name__ == "__main__":
    sys.exit(main())
