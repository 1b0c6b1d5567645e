"""How often the intervals of `merilo baseline` hold the truth in simulated studies, and how often equal models differ.

    python benchmarks/coverage.py [--studies 60] [--crowd NAME] [--jobs 1]

It prints benchmarks/results/coverage.md, which is computed with 300 studies or more. Every study is drawn by `simulation.py` and
computed end to end with the default settings. The truth is the mean of the estimates of all studies of a row: what other people reach
on other items by the same procedure. A model exactly as good as the consensus, and one as good as a single person, are compared with
the people of each study ("differs": how often p is at most 0.05, nominal 5 %). The last table has two models of equal true score.

Exit status 1: an interval covers less than 91.5 % by more than two standard errors, and fewer than 90 % of the studies of its row have
a finding that names the cause; or equal models differ in more than 6 % of the studies.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from multiprocessing import get_context
from pathlib import Path

import numpy as np
from simulation import Crowd, FloatArray, Study, study

import merilo
from merilo.baselines import pipeline
from merilo.baselines.baseline import Baseline
from merilo.baselines.estimates import influence_of, needed_when_redecided
from merilo.estimate import Estimate
from merilo.people.influence import person_influence
from merilo.statistics.crossed import Influence, apart, crossed, of_mean

#: The findings that name what makes an interval too short, and the share of studies from which a row names them.
CAUSES, NAMED = (
    ("busy_annotator", "few_annotators", "many_excluded", "suspect_controls", "low_agreement"),
    0.15,
)
LEAST = 0.915
AUTO = (("aggregator", "auto"),)
CROWDS = (
    Crowd("good"),
    Crowd("good, 50 items", items=50, people=20),
    Crowd("good, 500 items", items=500, people=40),
    Crowd("good, 10 people", people=10),
    Crowd("good, 5 answer all", overlap=5, people=5),
    Crowd("good, 3 answer all", overlap=3, people=3),
    Crowd("2 labels, 3 answers", labels=2, overlap=3),
    Crowd("10 labels, 3 answers", labels=10, overlap=3),
    Crowd("hard, 2 labels", ability=0.5, spread=0.5, labels=2),
    Crowd("near 1", ability=4.0, spread=1.0),
    Crowd("sloppy and guessing", sloppy=0.17, guessers=(0.08, 1.0)),
    Crowd("easy, 4 % guess", ability=6.0, spread=0.5, guessers=(0.04, 1.0)),
    Crowd("easy, 4 % guess, 10 people", ability=6.0, spread=0.5, people=10, guessers=(0.04, 1.0)),
    Crowd("10 % guess, 6 x work", guessers=(0.1, 6.0), people=60),
    Crowd("30 % guess, controls", guessers=(0.3, 1.0), controls=10),
    Crowd("ordered labels", labels=5, ordered=True, guessers=(0.1, 1.0)),
    Crowd("auto", options=AUTO),
    Crowd(
        "ordered, auto", labels=5, ordered=True, guessers=(0.1, 1.0), options=(*AUTO, ("level", "ordinal"))
    ),
    Crowd("majority alone", options=(("resolve", "none"),)),
    Crowd("macro F1", labels=3, shares=(0.5, 0.35, 0.15), items=300, options=(("metric", "f1_macro"),)),
    Crowd("MCC", labels=2, shares=(0.7, 0.3), items=300, options=(("metric", "mcc"),)),
    Crowd("clusters of 5", items=300, cluster=5, options=(("cluster", "text"),)),
    Crowd("clusters of 5, near 1", items=300, cluster=5, ability=4.0, options=(("cluster", "text"),)),
    Crowd("a sample", strata=((1000, -1.0), (3000, 0.0), (200, 1.0), (800, 2.0))),
    Crowd("half of a dataset", items=400, strata=((400, -1.0), (150, 0.0), (130, 1.0), (120, 2.0))),
)


@dataclass(frozen=True)
class Row:
    """The results of one crowd: shape (studies, 3) for consensus, single person and alpha."""

    value: FloatArray
    low: FloatArray
    high: FloatArray
    differs: FloatArray
    findings: Counter[str]
    named: float

    def coverage(self) -> FloatArray:
        truth = np.nanmean(self.value, axis=0)
        there = np.maximum((~np.isnan(self.low)).sum(axis=0), 1)
        return np.asarray(((self.low <= truth) & (truth <= self.high)).sum(axis=0) / there)


def computed(drawn: Study, crowd: Crowd) -> Baseline:
    """Compute the baseline of a study, without its doubtful items."""
    pipeline.doubtful_items = lambda evidence: None  # type: ignore[assignment]
    options = dict(crowd.options)
    item = ["item", "text"] if crowd.cluster > 1 else ["item"]
    gold = drawn.gold
    if crowd.cluster > 1:
        gold = drawn.rows.select("item", "text").unique(maintain_order=True).join(gold, on="item")
    responses = merilo.read_responses(drawn.rows, item=item)
    if drawn.weights is None:
        return merilo.baseline(responses, gold=gold, **options)
    with tempfile.TemporaryDirectory() as folder:
        weights = Path(folder) / "weights.csv"
        drawn.weights.write_csv(weights)
        return merilo.baseline(responses, gold=gold, population=weights, **options)


def influences(made: Baseline) -> list[tuple[float, Influence]] | None:
    """Return the values and the influences of the consensus and of one person on the accuracy."""
    evidence = made.evidence
    people = evidence.crowd
    if people is None or made.whole_dataset or evidence.clusters or evidence.declaration.metrics[0] != "acc":
        return None
    (part,), _ = people.parts()
    crowd = influence_of(people, part, needed_when_redecided(people, made.settings))
    person = person_influence(*people.by_person(part, people.of_part(part)))
    if crowd is None or len(crowd.items) != len(person[1].items):
        return None
    return [(made.metrics["acc"].value or 0.0, crowd), person]


def row(crowd: Crowd, studies: int, seed: int = 0) -> Row:
    """Compute the studies of one crowd."""
    rng = np.random.default_rng([seed, *crowd.name.encode()])
    value, low, high = np.full((3, studies, 3), np.nan)
    pulls, found, named = [], Counter[str](), 0
    for number in range(studies):
        made = computed(study(crowd, rng), crowd)
        main = next(iter((made.whole_dataset or made.metrics).values()))
        alpha = Estimate(value=made.agreement.krippendorff_alpha, ci95=made.agreement.ci95)
        for place, one in enumerate((main, made.single_person, alpha)):
            if one is not None and one.value is not None and not (made.whole_dataset and place):
                value[number, place] = one.value
                low[number, place], high[number, place] = one.ci95 or (np.nan, np.nan)
        causes = {one.code for one in made.findings} & {*CAUSES}
        found.update(causes)
        named += bool(causes)
        if pull := influences(made):
            pulls.append(pull)
    truth = np.nanmean(value, axis=0)
    differs = np.array([[_differs(*one, truth[at], rng) for at, one in enumerate(pull)] for pull in pulls])
    return Row(value, low, high, differs, found, named / studies)


def _differs(value: float, influence: Influence, true: float, rng: np.random.Generator) -> bool:
    """Compare people with a model whose true score is theirs."""
    model = (rng.random(len(influence.items)) < true).astype(np.float64)
    return crossed(float(model.mean()) - value, apart(influence, of_mean(model)), (-1.0, 1.0)).p() <= 0.05


def equal_models(items: int, size: int, score: float, studies: int, seed: int = 0) -> float:
    """How often two models of equal true score differ, on items in clusters of a size."""
    rng = np.random.default_rng([seed, items, size, int(100 * score)])
    texts, count = np.arange(items) // size, 0
    clusters = -(-items // size)
    for _ in range(studies):
        hard = rng.standard_normal(items) + (rng.standard_normal(clusters)[texts] if size > 1 else 0.0)
        centre = np.log(score / (1 - score)) * 1.25
        sides = []
        for _ in range(2):
            own = rng.standard_normal(clusters)[texts] if size > 1 else 0.0
            sides.append((rng.random(items) < 1 / (1 + np.exp(hard + own - centre))).astype(np.float64))
        influence = apart(of_mean(sides[0]), of_mean(sides[1]))
        if size > 1:
            influence = influence.clustered(texts, influence.unit)
        count += crossed(float(sides[1].mean() - sides[0].mean()), influence, (-1.0, 1.0)).p() <= 0.05
    return count / studies


def percent(share: float, *, marked: bool = False) -> str:
    return "" if share != share else f"{100 * share:.1f}{'!' if marked else ''}"


def line(*cells: object) -> None:
    print(f"| {' | '.join(map(str, cells))} |", flush=True)


def crowd_line(crowd: Crowd, one: Row, studies: int) -> bool:
    """Print the row of a crowd; return whether it reaches its target."""
    cover, width = one.coverage(), np.nanmean(one.high - one.low, axis=0) if one.high.size else np.zeros(3)
    there = (~np.isnan(one.low)).any(axis=0)
    bad = there & (cover < LEAST - 2 * np.sqrt(LEAST * (1 - LEAST) / studies))
    cells = [
        f"{percent(cover[at], marked=bool(bad[at]))} ({width[at]:.3f})" if there[at] else ""
        for at in range(3)
    ]
    differs = one.differs.mean(axis=0) if len(one.differs) else np.full(2, np.nan)
    causes = [
        f"`{name}` {100 * n / studies:.0f}" for name, n in one.findings.most_common() if n >= NAMED * studies
    ]
    line(
        crowd.name, crowd.items, crowd.people, f"{np.nanmean(one.value[:, 0]):.3f}", *cells,
        *map(percent, differs), ", ".join(causes),
    )  # fmt: skip
    return not bad.any() or one.named >= 0.9


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--studies", type=int, default=60, help="simulated studies a row")
    parser.add_argument("--crowd", choices=[one.name for one in CROWDS], help="one crowd alone")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    arguments = parser.parse_args()
    studies, chosen = arguments.studies, [one for one in CROWDS if arguments.crowd in {None, one.name}]
    print(f"{studies} studies a row; in brackets, the mean width.\n")
    line("crowd", "items", "people", "value", "consensus covers, %", "single person, %", "alpha, %",
         "model as good as the consensus differs, %", "as a person, %", "findings, % of studies")  # fmt: skip
    line(*["---"] * 10)
    with ProcessPoolExecutor(arguments.jobs, get_context("spawn")) as pool:
        rows = pool.map(partial(row, studies=studies), chosen)
        lines = [crowd_line(crowd, one, studies) for crowd, one in zip(chosen, rows, strict=True)]
    good = all(lines)
    if arguments.crowd is None:
        pairs = min(10_000, 40 * studies)
        print(f"\nTwo models of equal true score, {pairs} pairs a row.\n")
        line("items", "items of a cluster", "score", "differ, %")
        line(*["---"] * 4)
        for items, size, score in (
            (100, 1, 0.84),
            (100, 1, 0.98),
            (400, 1, 0.84),
            (100, 4, 0.84),
            (400, 10, 0.84),
        ):
            share = equal_models(items, size, score, pairs)
            good &= share <= 0.06 + 2 * np.sqrt(0.06 * 0.94 / pairs)
            line(items, size, score, percent(share))
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
