"""Measure the coverage of intervals: over items alone, by an ordinary two-way bootstrap, and Merilo's.

    python benchmarks/coverage.py [--studies 60] [--all] [--only TABLE] [--jobs 1]

It prints the tables of benchmarks/results/coverage.md as Markdown, those of other files too; these are computed with `--studies 400 --all`, and 60
studies keep `make bench` short. Each table can be computed alone or beside others (`--jobs`), with the same result; standard error
shows the rows as they are computed. `!` marks what misses its target by more than two standard errors.

The first tables are on the consensus. Each simulated study draws annotators (normal abilities on the logit scale) and items (normal
difficulties, some wrong answers more probable than others), and is decided by the default settings: the cascade, in which estimated
abilities break ties. The true value is the mean estimate of the studies. The nominal coverage is 95 %, the target 93 to 97 %, or more with three annotators. The mean
ability varies slightly between studies, because the coverage of any interval of a proportion jumps between neighbouring true values; the
true value is then the quadratic fit of the estimates. The ordinary bootstrap, where it is computed, draws items and annotators with
replacement, counts the votes of annotators drawn twice twice, and takes percentiles; its truth is that of shared ties.

The next table is on macro F1, Matthews correlation, token F1 and the exam's grade, computed by the functions that `merilo baseline` calls.
It has three intervals: over items alone (the true value is the score of the same annotators on new items), over items and annotators, and
of the single person (the true values are those of new annotators on new items). Studies without an interval (all variants of the exam
have the same score) are left out; they may be at most a tenth of the studies.

The other tables: `mixed_crowds.py` (agreement), `bad_crowds.py` (the default settings in good and
bad crowds), `difference_coverage.py` (the
difference between people and a model, and verdicts of equivalence), `post_stratified_coverage.py` (a sample's estimate for the whole
dataset), `cluster_coverage.py` (items that share a text)
(half-widths that `merilo power` plans) and `part_coverage.py` (experts, groups, sensitivity rows, Dawid-Skene, and a few people who
answer everything). `make bench` does not run these files again.

Exit status 1: a table misses its target: of the first ones, the average lies outside 93 to 98 % (in good crowds the allowance for bad
ones costs a point), or more than a twentieth of the cells are marked; of the metrics, a cell is marked; of the others, see their files.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import sys
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from multiprocessing import get_context

import numpy as np
import polars as pl
from appendix import heading, line, percent
from bad_crowds import table as bad_crowds
from cluster_coverage import table as clusters
from difference_coverage import table as differences
from mixed_crowds import agreement_table, judged
from numpy.typing import NDArray
from part_coverage import Design, Study, drawn, of_pool
from part_coverage import table as parts
from populations import ATTRACTED, POPULATIONS, Population
from post_stratified_coverage import table as whole_dataset

from merilo.baselines.consensus_scorer import ConsensusScorer
from merilo.baselines.decision_rule import decision_rule
from merilo.baselines.estimates import MetricEstimate, estimate_metrics
from merilo.baselines.steps import Decided, Screened
from merilo.datasets import Answer, Dataset
from merilo.datasets.declaration import undeclared
from merilo.items import Item
from merilo.metrics.answers import gold_label
from merilo.metrics.registry import metric_of
from merilo.metrics.scoring import most_points, points
from merilo.people.aggregation import NO_LABEL
from merilo.people.decision import PoolVotes, decide
from merilo.people.votes import Encoding, Votes
from merilo.settings import Settings
from merilo.statistics.intervals import Interval

FloatArray = NDArray[np.float64]

PLAIN_RESAMPLES = 200
#: With so few annotators the allowance for people who guess makes intervals too wide, which results/coverage.md says.
FEWEST = 3
NEIGHBOURS = 5

#: Few and many items, few and many annotators, as in pools; then designs in which every annotator answers every item.
DESIGNS = (
    *(
        Design("", items, overlap, people, controls=False)
        for overlap in (3, 5, 10)
        for items, people in ((50, 4 * overlap), (200, 24), (500, 40))
    ),
    Design("", 2000, 5, 40, controls=False),
)
CROSSED = tuple(
    Design("", items, overlap, overlap, controls=False)
    for overlap, most in ((3, 2000), (5, 2000), (10, 500))
    for items in (50, 500, 2000)
    if items <= most
)
MAJORITY = Settings(resolve="none", min_votes=3)


def plain(study: Study, rng: np.random.Generator) -> tuple[float, float, float]:
    """Return the score with shared ties, and the percentile interval of an ordinary bootstrap over items and annotators."""
    votes = study.votes
    figures = np.empty(PLAIN_RESAMPLES)
    cell = votes.item.astype(np.int64) * votes.labels + votes.label

    def scores(times: FloatArray) -> FloatArray:
        counts = np.bincount(cell, weights=times[votes.annotator], minlength=votes.items * votes.labels)
        counts = counts.reshape(votes.items, votes.labels)
        most = counts.max(axis=1, keepdims=True)
        leading = counts == most
        right = leading[np.arange(votes.items), study.right]
        return np.where(most[:, 0] > 0, right / leading.sum(axis=1), np.nan)

    for row in range(PLAIN_RESAMPLES):
        drawn_people = rng.integers(0, votes.annotators, votes.annotators)
        times = np.bincount(drawn_people, minlength=votes.annotators).astype(np.float64)
        figures[row] = np.nanmean(scores(times)[rng.integers(0, votes.items, votes.items)])
    low, high = np.quantile(figures, [0.025, 0.975])
    return float(scores(np.ones(votes.annotators)).mean()), float(low), float(high)


def cover(design: Design, population: Population, studies: int, settings: Settings, seed: int) -> FloatArray:
    """Return the coverage of the three intervals: over items alone, the ordinary bootstrap's (NaN if not computed), and Merilo's."""
    rng = np.random.default_rng(
        [seed, design.items, design.overlap, design.people, int(10 * population.ability)]
    )
    shifts = np.linspace(-0.2, 0.2, NEIGHBOURS)[np.arange(studies) % NEIGHBOURS]
    with_plain = design.overlap == design.people and design.items <= 200
    spans = np.full((studies, 3, 3), np.nan)
    for number, shift in enumerate(shifts):
        study = drawn(population, design, rng, float(shift))
        score, both = of_pool(study, settings, intervals=True)
        if score is not None and score.interval is not None:
            spans[number, 0] = score.value, score.interval.low, score.interval.high
        if both is not None:
            spans[number, 2] = both.value, both.interval.low, both.interval.high
        if with_plain:
            spans[number, 1] = plain(study, rng)
    values, lows, highs = np.moveaxis(spans, 2, 0)
    truth = np.polyval(np.polyfit(shifts, values, 2), shifts[:, None])
    held: FloatArray = ((lows <= truth) & (truth <= highs)).mean(axis=0)
    return held if with_plain else np.array([held[0], np.nan, held[2]])


def consensus_of(overlap: int, settings: Settings, studies: int, seed: int, *, designs: int = 4) -> bool:
    """Print the table of the designs with this overlap; return whether it reaches its target."""
    rule = "a majority of 3 votes, other items left out" if settings is MAJORITY else "every item decided"
    chosen = tuple(design for design in DESIGNS if design.overlap == overlap)[:designs]
    return consensus_table(f"The consensus of {overlap}, {rule}", chosen, settings, studies, seed)


def consensus_table(
    title: str, designs: tuple[Design, ...], settings: Settings, studies: int, seed: int
) -> bool:
    """Print one table; return whether it reaches its target."""
    heading(
        title, f"{studies} studies a cell", "items", "overlap", "annotators", *(one.name for one in POPULATIONS)
    )  # fmt: skip
    error = 2 * np.sqrt(0.95 * 0.05 / studies)
    marked, coverages = 0, []
    for design in designs:
        cells = []
        for population in POPULATIONS:
            alone, ordinary, both = cover(design, population, studies, settings, seed)
            bad = not 0.93 - error <= both <= (1 if design.people == FEWEST else 0.97 + error)
            marked += bad
            coverages.append(both)
            bare = f"{percent(alone)}; {percent(ordinary)}" if ordinary == ordinary else percent(alone)
            cells.append(f"{percent(both, marked=bad)} ({bare})")
        line(design.items, design.overlap, design.people, *cells)
    print(
        f"\n{np.mean(coverages):.1%} on average, {min(coverages):.1%} to {max(coverages):.1%}; "
        f"{marked} of {len(coverages)} cells outside 93 to 97 % by more than chance"
    )
    return bool(0.93 <= np.mean(coverages) <= 0.98) and marked <= len(coverages) / 20


@dataclass(frozen=True)
class World:
    """Items of several kinds, the answers that they get, and the design of a study.

    Attributes:
        name: the name in the table.
        dataset: the metric and the form of answers.
        kinds: one item of each kind, with its gold answer.
        share: shape (kinds,), the frequency of each kind; in the exam, each variant has every kind once.
        texts: the text of each label.
        right: shape (kinds,), the label of the correct answer.
        wrong: shape (kinds, labels), the probability of each label in a wrong answer.
        ability: the mean ability, in logits.
        spread: the standard deviation of abilities.
        units: how many items a study has, or variants of the exam.
        overlap: the number of annotators per unit.
        people: the number of annotators.
        min_votes: the votes of a majority, without which an item is left out; 0 if skill breaks ties.
    """

    name: str
    dataset: Dataset
    kinds: tuple[Item, ...]
    share: FloatArray
    texts: tuple[str, ...]
    right: NDArray[np.intp]
    wrong: FloatArray
    ability: float
    spread: float
    units: int
    overlap: int
    people: int
    min_votes: int = 0

    @property
    def metric(self) -> str:
        return self.dataset.metrics[0]

    @property
    def settings(self) -> Settings:
        if self.min_votes:
            return Settings(resolve="none", min_votes=self.min_votes)
        return Settings(resolve="skill")


def of_labels(
    name: str,
    metric: str,
    shares: tuple[float, ...],
    *,
    ability: float = 1.2,
    spread: float = 0.8,
    units: int = 300,
    overlap: int = 5,
    people: int = 24,
    min_votes: int = 0,
) -> World:
    """Closed answers: a wrong answer is drawn by the frequency of labels, or is the next label."""
    share, k = np.array(shares), len(shares)
    wrong = np.tile(share, (k, 1)) * (1 - np.eye(k))
    wrong = (1 - ATTRACTED) * wrong / wrong.sum(axis=1, keepdims=True) + ATTRACTED * np.roll(np.eye(k), 1, 1)
    texts = tuple(map(str, range(k)))
    dataset = undeclared(metric)
    kinds = tuple(Item(label, "", "", text) for label, text in enumerate(texts))
    return World(
        name,
        dataset,
        kinds,
        share,
        texts,
        np.arange(k),
        wrong,
        ability,
        spread,
        units,
        overlap,
        people,
        min_votes,
    )


def of_texts(name: str, ability: float, *, units: int = 200) -> World:
    """Open answers scored by token F1: half of the wrong answers are a part of the correct answer, the others belong to another item."""
    full = ("red brick house", "old oak door", "brick wall", "garden of stone")
    texts = (*full, *(text.rpartition(" ")[0] for text in full))
    k = len(full)
    other = np.hstack([1 - np.eye(k), 1 - np.eye(k)])
    wrong = 0.5 * np.hstack([np.zeros((k, k)), np.eye(k)]) + 0.5 * other / other.sum(axis=1, keepdims=True)
    kinds = tuple(Item(label, "", "", text) for label, text in enumerate(full))
    dataset = undeclared("f1")
    return World(
        name, dataset, kinds, np.full(k, 1 / k), texts, np.arange(k), wrong, ability, 0.8, units, 5, 24
    )


def of_exam(name: str, ability: float, *, units: int, overlap: int = 5, people: int = 24) -> World:
    """The exam: 28 tasks worth a point, one worth two and one worth four; partial points are possible."""
    texts = ("word", "ward", "sword", "1,2", "1,3", "3,4", "1,2,3,4", "1,2,3,5", "1,2,5,6", "5,6,7,8")
    tasks = [str(task) for task in range(1, 27)] + [f"8_{part}" for part in range(1, 5)]
    by_task = {"16": (3, 2, "multiple_choice_options_within_text"), "26": (6, 4, "matching")}
    rules = [by_task.get(task, (0, 1, "text")) for task in tasks]
    kinds = tuple(
        Item(row, "", "", texts[right], {"id_task": task, "variant": 0, "score": most, "type": kind})
        for row, (task, (right, most, kind)) in enumerate(zip(tasks, rules, strict=True))
    )
    wrong = np.zeros((30, len(texts)))
    for row, (right, _, _) in enumerate(rules):
        wrong[row, right + 1 : {0: 3, 3: 6, 6: 10}[right]] = 1.0
    wrong /= wrong.sum(axis=1, keepdims=True)
    dataset = Dataset(name="", title="", metrics=("grade_norm",), answer=Answer(kind="text"))
    right_labels = np.array([right for right, _, _ in rules])
    share = np.full(30, 1 / 30)
    return World(
        name, dataset, kinds, share, texts, right_labels, wrong, ability, 0.8, units, overlap, people
    )


BALANCED = (1 / 3, 1 / 3, 1 / 3)
RARE = (0.4, 0.3, 0.18, 0.09, 0.03)
WORLDS = (
    of_labels("3 balanced labels", "f1_macro", BALANCED),
    of_labels("3 balanced, majority of 3", "f1_macro", BALANCED, min_votes=3),
    of_labels("3 balanced, 5 people", "f1_macro", BALANCED, people=5),
    of_labels("5 labels, one rare", "f1_macro", RARE),
    of_labels("5 labels, near 1", "f1_macro", RARE, ability=3.0, spread=1.0),
    of_labels("2 labels, 7 : 3", "mcc", (0.7, 0.3)),
    of_labels("2 labels, near 1", "mcc", (0.7, 0.3), ability=3.0, spread=1.0, units=100),
    of_labels("2 labels, 5 people", "mcc", (0.7, 0.3), people=5),
    of_texts("short texts", 0.8),
    of_texts("short texts, near 1", 2.5),
    of_exam("3 variants", 1.2, units=3, people=15),
    of_exam("10 variants", 1.2, units=10),
    of_exam("10 variants, near 1", 2.5, units=10),
)
NEW_UNITS = 10_000
VARIANTS_DIFFER = 0.2


@dataclass(frozen=True)
class Crowd:
    """Annotators: abilities, the platform's skills, and activity; each of shape (people,)."""

    ability: FloatArray
    skill: FloatArray
    busy: FloatArray


def crowd_of(world: World, people: int, rng: np.random.Generator) -> Crowd:
    ability = world.ability + world.spread * rng.standard_normal(people)
    return Crowd(ability, ability + 0.5 * rng.standard_normal(people), 0.7 * rng.standard_normal(people))


def answers_of(
    world: World, crowd: Crowd, units: int, rng: np.random.Generator, *, strangers: bool = False
) -> tuple[Votes, NDArray[np.intp]]:
    """Return the answers of annotators to new items, and the kinds of the items; strangers answer one unit each."""
    n = world.overlap
    if strangers:
        chosen = np.arange(units * n).reshape(units, n)
    else:
        busy = crowd.busy + rng.gumbel(size=(units, crowd.busy.size))
        chosen = np.argpartition(-busy, n - 1, axis=1)[:, :n]
    exam = world.metric == "grade_norm"
    kinds = len(world.kinds)
    if exam:
        kind = np.tile(np.arange(kinds), units)
        of_task = np.random.default_rng(0).standard_normal(kinds)
        difficulty = of_task[kind] + np.repeat(VARIANTS_DIFFER * rng.standard_normal(units), kinds)
        difficulty += 0.7 * rng.standard_normal(kind.size)
        chosen = np.repeat(chosen, kinds, axis=0)
    else:
        kind = rng.choice(kinds, units, p=world.share)
        difficulty = rng.standard_normal(units)
    item, person = np.repeat(np.arange(kind.size), n), chosen.ravel()
    right = rng.random(item.size) < 1 / (1 + np.exp(difficulty[item] - crowd.ability[person]))
    below = world.wrong.cumsum(axis=1)[kind[item]]
    wrong = np.minimum((rng.random(item.size)[:, None] > below).sum(axis=1), len(world.texts) - 1)
    label = np.where(right, world.right[kind[item]], wrong)
    columns = (column.astype(np.int32) for column in (item, person, label))
    return Votes(*columns, kind.size, crowd.ability.size, len(world.texts)), kind


def pool_of(world: World, votes: Votes, skill: FloatArray) -> PoolVotes:
    every = np.ones(len(votes), dtype=np.bool_)
    encoding = Encoding(
        votes, pl.Series(range(votes.items)), pl.Series(range(votes.annotators)), pl.Series(world.texts), 0
    )
    return PoolVotes(encoding, every, every, every, np.full(votes.items, NO_LABEL, np.int32), skill)


def figure(world: World, kind: NDArray[np.intp], label: NDArray[np.integer]) -> float:
    """Return the metric of one label per item; items without a label are left out."""
    cells = kind[label != NO_LABEL] * len(world.texts) + label[label != NO_LABEL]
    count = np.bincount(cells, minlength=len(world.kinds) * len(world.texts))
    kinds, labels = np.divmod(np.arange(count.size), len(world.texts))
    form, metric = world.dataset.answer, metric_of(world.metric, world.dataset.answer.kind)
    items, answers = [world.kinds[row] for row in kinds], [world.texts[row] for row in labels]
    if metric.statistic:
        gold = [gold_label(item) for item in items]
        return float(metric.statistic(gold, answers, count[None].astype(np.float64))[0])
    return float(points(form, metric, items, answers) @ count) / float(most_points(metric, items) @ count)


def decided_figure(world: World, crowd: Crowd, votes: Votes, kind: NDArray[np.intp]) -> float:
    settings = world.settings
    pool = pool_of(world, votes, crowd.skill)
    consensus = decide(pool, replace(settings, open_answers=False))
    return figure(world, kind, consensus.label)


def estimate(world: World, crowd: Crowd, votes: Votes, kind: NDArray[np.intp]) -> MetricEstimate:
    """Return the metric of a study with its intervals, computed as in `merilo baseline`."""
    settings, pool = world.settings, pool_of(world, votes, crowd.skill)
    items = tuple(
        Item(
            row,
            "",
            "",
            world.kinds[one].outputs,
            {**world.kinds[one].meta, "variant": row // 30} if world.metric == "grade_norm" else {},
        )
        for row, one in enumerate(kind.tolist())
    )
    scorer = ConsensusScorer(world.dataset, items, np.arange(votes.items), world.texts)
    annotators = pl.DataFrame(
        {"annotator": map(str, range(votes.annotators)), "skill": crowd.skill, "control_accuracy": None}
    )
    screened = Screened(annotators, pl.DataFrame(), pool)
    consensus, majority = (
        decide(pool, replace(settings, resolve=resolve, open_answers=False))
        for resolve in (settings.resolve, "none")
    )
    rule = decision_rule(pool, annotators, consensus, settings)
    found = estimate_metrics(scorer, screened, Decided(consensus, majority, {}, 0, {}), rule, settings)
    return found.main[world.metric]


def world_row(world: World, studies: int, seed: int) -> list[bool]:
    """Print the coverage of the three intervals in one world; return which of them miss the target."""
    rng = np.random.default_rng([seed, *world.name.encode(), *world.metric.encode()])
    size = 30 if world.metric == "grade_norm" else 1
    many = 100_000 // size
    population = crowd_of(world, many * world.overlap, rng)
    votes, kind = answers_of(world, population, many, rng, strangers=True)
    true = decided_figure(world, population, votes, kind)
    one = figure(world, kind[votes.item], votes.label)
    held, widths, counted = np.zeros(3), np.zeros(3), np.zeros(3)
    for _ in range(studies):
        crowd = crowd_of(world, world.people, rng)
        found = estimate(world, crowd, *answers_of(world, crowd, world.units, rng))
        theirs = decided_figure(world, crowd, *answers_of(world, crowd, NEW_UNITS // size, rng))
        intervals: tuple[Interval | None, ...] = (
            found.score.interval,
            found.two_way.interval if found.two_way else None,
            found.single.interval if found.single else None,
        )
        for place, (interval, target) in enumerate(zip(intervals, (theirs, true, one), strict=True)):
            if interval is not None:
                held[place] += interval.low <= target <= interval.high
                widths[place] += interval.high - interval.low
                counted[place] += 1
    share = held / np.maximum(counted, 1)
    error = np.sqrt(np.maximum(share * (1 - share), 0.95 * 0.05) / studies)
    missed = [
        bool(got < 0.93 - 2 * off or (place > 0 and got > 0.99 + 2 * off) or n < 0.9 * studies)
        for place, (got, off, n) in enumerate(zip(share, error, counted, strict=True))
    ]
    cells = [
        f"{percent(got, marked=bad)} ({width:.3f})"
        for got, width, bad in zip(share, widths / np.maximum(counted, 1), missed, strict=True)
    ]
    line(world.metric, world.name, f"{true:.3f}", f"{one:.3f}", *cells)
    return missed


def worlds(studies: int, seed: int) -> bool:
    """Print the table of metrics; return whether every coverage reaches its target."""
    heading(
        "Other metrics", f"{studies} studies a row", "metric", "answers", "true consensus", "true single person", "items only",
        "items and annotators", "single person",
    )  # fmt: skip
    missed = [world_row(world, studies, seed) for world in WORLDS]
    return not any(map(any, missed))


#: Name of a table, or of tables of one file -> prints them from the number of studies, the seed and whether all designs are wanted.
TABLES: dict[str, Callable[[int, int, bool], bool]] = {
    "consensus of 3": lambda n, seed, every: not every or consensus_of(3, Settings(), n, seed),
    "consensus of 5": lambda n, seed, every: consensus_of(5, Settings(), n, seed, designs=4 if every else 3),
    "consensus of 10": lambda n, seed, every: not every or consensus_of(10, Settings(), n, seed),
    "majority of 5": lambda n, seed, every: not every or consensus_of(5, MAJORITY, n, seed),
    "majority of 10": lambda n, seed, every: not every or consensus_of(10, MAJORITY, n, seed),
    "crossed": lambda n, seed, every: (
        not every or consensus_table("Every annotator answers every item", CROSSED, Settings(), n, seed)
    ),
    "metrics": lambda n, seed, _: worlds(n, seed),
    "bad": lambda n, seed, _: bad_crowds(n, seed),
    "clusters": lambda n, seed, _: clusters(n, seed),
    "parts": lambda n, seed, _: parts(n, seed),
    "differences": lambda n, seed, _: differences(n, seed),
    "dataset": lambda n, seed, _: whole_dataset(n, seed),
    "agreement": lambda n, seed, _: judged(agreement_table(n, seed)),
}


class Progress(io.StringIO):
    """What a table prints; standard error shows it too, because a table takes minutes."""

    def write(self, text: str) -> int:
        sys.stderr.write(text)
        return super().write(text)


def printed(name: str, studies: int, seed: int, every: bool) -> tuple[bool, str]:
    """Compute a table; return whether it reaches its target, and what it prints."""
    with contextlib.redirect_stdout(Progress()) as text:
        held = TABLES[name](studies, seed, every)
    return held, text.getvalue()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--studies", type=int, default=60, help="simulated studies a cell")
    parser.add_argument(
        "--all", action="store_true", help="also a majority of 3 alone, and everybody answering everything"
    )
    parser.add_argument(
        "--only", choices=TABLES, action="append", help="this table alone; may be given several times"
    )
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=1, help="tables computed at the same time")
    arguments = parser.parse_args()
    every = True
    with ProcessPoolExecutor(arguments.jobs, get_context("spawn")) as workers:
        tables = [
            workers.submit(printed, name, arguments.studies, arguments.seed, arguments.all)
            for name in arguments.only or TABLES
        ]
        for table in tables:
            held, text = table.result()
            print(text, end="", flush=True)
            every &= held
    return 0 if every else 1


if __name__ == "__main__":
    sys.exit(main())
