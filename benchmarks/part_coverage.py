"""How often the intervals of groups, sensitivity rows and Dawid-Skene hold the truth, and those of a few people.

    python benchmarks/part_coverage.py [--studies 100]

`benchmarks/coverage.py` prints the same table. A crowd and items are drawn anew for each simulated study, from the populations
of `coverage.py` (normal abilities) and of `mixed_crowds.py` (75 % careful, 17 % sloppy and 8 % guessing people, 12 % of items
with an attractive wrong answer). Some people answer several times as much as others. The estimates are computed by the functions
that `merilo baseline` calls.

The rows: one of three `--by` groups of a study; a row of the
sensitivity table, with the annotators below 0.7 on ten control items excluded; Dawid-Skene deciding; three and five people of a
mixed crowd who answer everything. The truth is the mean estimate of 400 studies of the same design. Columns: coverage over items alone and
over items and annotators, with the Monte Carlo standard error, and the mean widths. `!` marks a coverage below 93 % by more than
two standard errors.

Exit status 1: more than a twentieth of the rows are marked.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass, replace

import mixed_crowds
import numpy as np
import polars as pl
from appendix import heading, line, percent
from merilo.baselines.decision_rule import decision_rule, two_ways
from numpy.typing import NDArray
from populations import POPULATIONS, Population, answered

from merilo.baselines.consensus_scorer import ConsensusScorer
from merilo.datasets.declaration import undeclared
from merilo.items import Item
from merilo.metrics.metric import Score
from merilo.people.aggregation import NO_LABEL
from merilo.people.decision import PoolVotes, decide
from merilo.people.uncertainty.two_way import TwoWay
from merilo.people.votes import Encoding, Votes
from merilo.settings import Settings

FloatArray = NDArray[np.float64]
Crowd = mixed_crowds.World | Population

#: The studies whose mean estimate is the truth.
TRUTH = 400
CONTROLS, THRESHOLD = 10, 0.7


@dataclass(frozen=True)
class Design:
    """A row of the table.

    Attributes:
        name: what the interval is of; empty for the consensus of a whole study.
        items: the number of items of the study.
        overlap: the answers an item.
        people: the number of annotators.
        controls: whether annotators answer control items.
    """

    name: str
    items: int
    overlap: int
    people: int
    controls: bool = True


DESIGNS = (
    Design("--by group (a third)", 300, 5, 25),
    Design("sensitivity row", 300, 5, 25),
    Design("Dawid-Skene", 300, 5, 25),
    Design("3 answer all", 300, 3, 3),
    Design("5 answer all", 300, 5, 5),
)
CROWDS: dict[str, tuple[Crowd, ...]] = {"normal": POPULATIONS, "mixed": mixed_crowds.WORLDS}


@dataclass(frozen=True)
class Study:
    """The answers of a study, the right labels, and the share of control items that each annotator answered correctly."""

    votes: Votes
    right: NDArray[np.int32]
    controls: FloatArray


def drawn(crowd: Crowd, design: Design, rng: np.random.Generator, shift: float = 0.0) -> Study:
    """Draw a study; the right label differs from item to item, `shift` is added to the abilities of a population."""
    busy = 0.7 * rng.standard_normal(design.people) + rng.gumbel(size=(design.items, design.people))
    person = np.argpartition(-busy, design.overlap - 1, axis=1)[:, : design.overlap].ravel()
    item = np.repeat(np.arange(design.items), design.overlap)
    controls = CONTROLS if design.controls else 0
    # The control items are answered by everybody.
    control = np.repeat(np.arange(controls), design.people) + design.items
    every = np.concatenate([item, control])
    who = np.concatenate([person, np.tile(np.arange(design.people), controls)])
    right_label = rng.integers(0, crowd.labels, design.items + controls)
    if isinstance(crowd, Population):
        label = (answered(crowd, every, who, rng, shift) + right_label[every]) % crowd.labels
    else:
        label = mixed_crowds.answers(crowd, every, who, rng, right_label)
    is_right = label == right_label[every]
    rights = np.bincount(who[item.size :], weights=is_right[item.size :], minlength=design.people)
    share = rights / controls if controls else np.full(design.people, np.nan)
    columns = (column.astype(np.int32) for column in (item, person, label[: item.size]))
    votes = Votes(*columns, design.items, design.people, crowd.labels)
    return Study(votes, right_label[: design.items].astype(np.int32), share)


def scorer_of(study: Study, encoding: Encoding, items: range) -> ConsensusScorer:
    """Return the scorer of accuracy on these items."""
    known = {item: Item(item, "", "", str(study.right[item])) for item in items}
    return ConsensusScorer.of(undeclared(), encoding, known)


def of_pool(
    study: Study, settings: Settings, *, intervals: bool, items: range | None = None, least: float = 0.0
) -> tuple[Score | None, TwoWay | None]:
    """Score some items of a study, with annotators below an accuracy on control items excluded."""
    votes = study.votes
    every = np.ones(len(votes), dtype=np.bool_)
    kept = ~(study.controls[votes.annotator] < least)
    labels = pl.Series([str(label) for label in range(votes.labels)])
    encoding = Encoding(votes, pl.Series(range(votes.items)), pl.Series(range(votes.annotators)), labels, 0)
    unknown = np.full(votes.items, NO_LABEL, np.int32)
    skill = study.controls if least else np.full(votes.annotators, np.nan)
    pool = PoolVotes(encoding, every, kept, kept, unknown, skill)
    decided = decide(pool, replace(settings, open_answers=False))
    quality = decided.fit.quality if decided.fit else np.full(votes.annotators, np.nan)
    unfitted = np.full(votes.annotators, np.nan)
    by_glad = settings.aggregator == "majority"
    people = pl.DataFrame(
        {
            "annotator": encoding.annotators.cast(pl.String),
            "skill": skill,
            "control_accuracy": skill,
            "ability": quality if by_glad else unfitted,
            "expected_accuracy": unfitted if by_glad else quality,
        },
        nan_to_null=True,
    )
    scorer = scorer_of(study, encoding, items or range(votes.items))
    scores = scorer.main_scores(decided)
    if not intervals:
        return scores.get("acc"), None
    rule = decision_rule(pool, people, decided, settings)
    return scores.get("acc"), two_ways(rule, scorer, decided, scores).get("acc")


def estimate(design: Design, study: Study, *, intervals: bool = True) -> tuple[Score | None, TwoWay | None]:
    """Estimate the accuracy of a study as the row of the table says."""
    if design.name.startswith("--by"):
        return of_pool(study, Settings(), intervals=intervals, items=range(design.items // 3))
    if design.name.startswith("sensitivity"):
        return of_pool(study, Settings(), intervals=intervals, least=THRESHOLD)
    if design.name == "Dawid-Skene":
        return of_pool(study, Settings(aggregator="dawid-skene", resolve="none"), intervals=intervals)
    return of_pool(study, Settings(), intervals=intervals)


def row(crowd: Crowd, design: Design, studies: int, seed: int) -> tuple[float, FloatArray, FloatArray, int]:
    """Return the truth, the coverages and mean widths of both intervals, and the number of studies with both."""
    rng = np.random.default_rng(
        [seed, design.items, design.people, *crowd.name.encode(), *design.name.encode()]
    )
    values: list[float] = []
    low, high = [], []
    for number in range(max(TRUTH, studies)):
        score, both = estimate(design, drawn(crowd, design, rng), intervals=number < studies)
        if score:
            values.append(score.value)
        if number < studies and score and score.interval and both:
            low.append((score.interval.low, both.interval.low))
            high.append((score.interval.high, both.interval.high))
    true = float(np.mean(values))
    lows, highs = np.array(low), np.array(high)
    return true, ((lows <= true) & (true <= highs)).mean(axis=0), (highs - lows).mean(axis=0), len(low)


def table(studies: int, seed: int, only: str = "") -> bool:
    """Print the table; whether at most a twentieth of the rows miss 93 % by more than chance."""
    heading(
        "Groups, models that decide", f"{studies} studies a cell", "people are", "interval of", "items", "answers", "annotators",
        *(crowd.name for crowd in POPULATIONS),
    )  # fmt: skip
    missed = cells = 0
    for design in DESIGNS:
        for people, crowds in CROWDS.items():
            # `coverage.py` has normal people who answer everything.
            if not design.name.startswith(only) or ("answer all" in design.name and people == "normal"):
                continue
            told = []
            for crowd in crowds:
                _, share, width, counted = row(crowd, design, studies, seed)
                bad = mixed_crowds.missed(share[1], studies) or counted < 0.9 * studies
                missed, cells = missed + bad, cells + 1
                told.append(f"{percent(share[1], marked=bad)} ({percent(share[0])}, {width[1]:.2f})")
            line(people, design.name, design.items, design.overlap, design.people, *told)
    print(f"\n{missed} of {cells} cells below 93 % by more than chance")
    return missed <= cells / 20


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--studies", type=int, default=100, help="simulated studies a row")
    parser.add_argument("--only", default="", help="the beginning of the rows' names, such as 'Dawid'")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    return 0 if table(arguments.studies, arguments.seed, arguments.only) else 1


if __name__ == "__main__":
    sys.exit(main())
