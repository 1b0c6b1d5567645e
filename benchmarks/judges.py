"""Coverage of the scores of `merilo judge`, and how often its test lets a judge pass.

    python benchmarks/judges.py [--studies 200]

Each simulated study has texts of a latent quality, of which people judge a random part; annotators differ in how strict they are. The
judge answers by the same latent quality and its own faults: it is lenient, prefers long texts or the text shown first, or errs
alike on the texts of one cluster. The true score is the mean over new texts and new people.

The first table has the coverage (nominal 95 %, 93 to 98 % is asked) of the corrected score, of people alone, of the judge alone
(a 95 % interval over texts) and of the corrected score with an interval over texts that leaves out how people differ, and the width of the corrected interval divided by that of people alone. The second has the same of the difference of two systems of equal worth. The third has the share of
studies in which the judge passes: judges exactly epsilon worse than a person and judges among people who agree by chance (at most
5 %), and judges as good as a person. The fourth has the share of studies in which the texts that people judged are found to differ from the
others.

Exit status 1: by more than two Monte Carlo standard errors, a corrected score covers in less than 93 % or more than 99 % of studies, or an
unfit judge passes, or a random choice of texts is called otherwise, in more than 5 %.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass, replace

import numpy as np
from appendix import heading, line, percent
from numpy.typing import NDArray

from merilo.people.alternative_annotator import alternative_annotator_test, chance_agreement
from merilo.people.uncertainty.prediction_powered import (
    JudgedTexts,
    corrected_difference,
    corrected_mean,
    judges_weight,
    other_scores,
    other_shares,
)
from merilo.people.votes import Votes

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

#: Kind of answers -> the cuts of the latent scale, and the points of each answer.
KINDS = {
    "good or bad": ((0.0,), (0.0, 1.0)),
    "grades 1 to 5": ((-2.0, -0.7, 0.7, 2.0), (1.0, 2.0, 3.0, 4.0, 5.0)),
    "A, tie, B": ((-0.5, 0.5), (0.0, 0.5, 1.0)),
}
#: Texts and people from which a true score is computed.
MANY = 400_000


@dataclass(frozen=True)
class World:
    """A population of texts, people and a judge, in logits, and the layout of a study.

    Attributes:
        name: what is special.
        kind: the kind of answers.
        texts: all texts.
        judged: how many of them people judge.
        people: annotators.
        overlap: their answers to each text.
        strict: the standard deviation of how strict annotators are.
        base: the mean of the latent scale.
        clear: how much it follows the text's quality.
        guess: the share of annotators who answer anything.
        lenient: the judge's shift.
        length: the judge's preference for long texts; a quarter of the texts is long, and people do not care.
        keen: how much the judge follows the quality, as a share of people's.
        cluster: texts of a cluster, which share half of the quality's variance and an error of the judge.
        busy: the standard deviation of the logarithm of how much annotators do.
        chosen: how much more often people judge long texts.
        by: whether the long and the short texts are strata.
    """

    name: str
    kind: str = "good or bad"
    texts: int = 1000
    judged: int = 100
    people: int = 12
    overlap: int = 3
    strict: float = 0.4
    base: float = 0.5
    clear: float = 1.8
    guess: float = 0.0
    lenient: float = 0.0
    length: float = 0.0
    keen: float = 1.0
    cluster: int = 1
    busy: float = 0.7
    chosen: float = 1.0
    by: bool = False


BIASED = World("lenient judge", lenient=1.2)
PAIRS = replace(BIASED, name="judge prefers the first text", kind="A, tie, B", base=0.2)
GRADES = replace(BIASED, name="lenient judge", kind="grades 1 to 5", base=0.0, clear=1.5)
WORLDS = (
    replace(BIASED, name="slightly lenient judge", lenient=0.5),
    replace(BIASED, name="slightly lenient judge", lenient=0.5, judged=300, texts=3000),
    BIASED,
    replace(BIASED, judged=50),
    replace(BIASED, judged=300, texts=3000),
    replace(BIASED, judged=300, texts=3000, people=40, overlap=5),
    replace(BIASED, name="lenient judge, few people", people=3),
    replace(BIASED, name="lenient judge, few people", people=3, strict=1.0),
    replace(BIASED, name="lenient judge, few people", people=4, judged=50),
    replace(BIASED, name="lenient judge, few people", people=5, judged=300, texts=3000),
    replace(BIASED, name="lenient judge, a fifth of people guesses", guess=0.2, people=20, judged=200),
    replace(BIASED, name="lenient judge, some people do most", busy=1.6, people=15, judged=200),
    replace(BIASED, name="lenient judge, most texts good", base=2.5),
    replace(BIASED, name="lenient judge, nearly all texts good", base=4.5, judged=200, texts=2000),
    replace(BIASED, name="judge prefers long texts", lenient=0.0, length=3.0),
    replace(BIASED, name="lenient judge, clusters of 5", cluster=5, judged=200, texts=2000),
    replace(BIASED, name="lenient judge, clusters of 10", cluster=10, judged=300, texts=3000, people=24),
    replace(
        BIASED, name="people judge long texts more often, strata", length=3.0, chosen=3.0, by=True, judged=200
    ),
    PAIRS,
    replace(PAIRS, judged=300, texts=3000, people=5),
    GRADES,
    replace(GRADES, judged=50, people=4),
    replace(GRADES, judged=300, texts=3000, people=24, cluster=5),
    replace(BIASED, name="lenient judge, clear texts", clear=5.0, strict=0.2, lenient=2.0),
    replace(
        BIASED, name="lenient judge, clear texts", clear=5.0, strict=0.2, lenient=2.0, judged=300, texts=3000
    ),
    replace(BIASED, name="judge as good as people", lenient=0.0),
    replace(BIASED, name="judge as good as people", lenient=0.0, judged=300, texts=3000, people=24),
    replace(BIASED, name="judge at random", lenient=0.0, keen=0.0),
)


@dataclass(frozen=True)
class Study:
    """One study: the texts, people's points, the judge's answers, the numbers of the labels, and which texts are long."""

    texts: JudgedTexts
    points: FloatArray
    judge: IntArray
    numbers: FloatArray
    long: NDArray[np.bool_]


def quality(world: World, texts: int, random: np.random.Generator) -> tuple[FloatArray, IntArray]:
    """The quality of texts, and their clusters."""
    cluster = np.arange(texts) // world.cluster
    own = random.standard_normal(texts)
    if world.cluster == 1:
        return own, cluster
    return np.sqrt(0.5) * (own + random.standard_normal(int(cluster[-1]) + 1)[cluster]), cluster


def answers(world: World, latent: FloatArray, random: np.random.Generator) -> IntArray:
    """The code of the answer that a latent value leads to."""
    return np.searchsorted(np.array(KINDS[world.kind][0]), latent + random.logistic(size=latent.shape))


def study(world: World, random: np.random.Generator) -> Study:
    good, cluster = quality(world, world.texts, random)
    long = random.random(world.texts) < 0.25
    if world.cluster > 1:
        drawn = random.permutation(int(cluster[-1]) + 1)[: world.judged // world.cluster]
        asked = np.flatnonzero(np.isin(cluster, drawn))
    else:
        chance = np.where(long, world.chosen, 1.0)
        asked = random.choice(world.texts, world.judged, replace=False, p=chance / chance.sum())
    work = world.busy * random.standard_normal(world.people) + random.gumbel(size=(asked.size, world.people))
    who = np.argpartition(-work, world.overlap - 1, axis=1)[:, : world.overlap]
    strict = world.strict * random.standard_normal(world.people)
    guesses = random.random(world.people) < world.guess
    labels = answers(world, (world.base + world.clear * good[asked])[:, None] + strict[who], random)
    numbers = np.array(KINDS[world.kind][1])
    labels = np.where(guesses[who], random.integers(0, numbers.size, who.shape), labels)
    alike = (
        np.zeros(world.texts) if world.cluster == 1 else random.standard_normal(int(cluster[-1]) + 1)[cluster]
    )
    seen = world.base + world.lenient + world.keen * world.clear * good + world.length * long + alike
    judge = answers(world, seen, random)
    votes = Votes(
        np.repeat(asked, world.overlap).astype(np.int32),
        who.ravel().astype(np.int32),
        labels.ravel().astype(np.int32),
        world.texts,
        world.people,
        numbers.size,
        None if world.cluster == 1 else cluster.astype(np.int32),
    )
    stratum = long.astype(np.int64) if world.by else np.zeros(world.texts, np.int64)
    texts = JudgedTexts(votes, numbers[judge][:, None], stratum)
    return Study(texts, numbers[votes.label], judge, numbers, long)


def true_score(world: World, random: np.random.Generator) -> float:
    """The mean over new texts, each judged by a new person."""
    cuts, points = (np.array(part) for part in KINDS[world.kind])
    latent = (
        world.base + world.clear * random.standard_normal(MANY) + world.strict * random.standard_normal(MANY)
    )
    above = 1 / (1 + np.exp(cuts[:, None] - latent))
    sincere = points[0] + float((np.diff(points)[:, None] * above).sum(axis=0).mean())
    return (1 - world.guess) * sincere + world.guess * float(points.mean())


def coverage(studies: int, seed: int) -> bool:
    """Print the coverage of the scores; return whether the targets are met."""
    heading(
        "Scores of a judge", f"`merilo judge`, {studies} studies a row", "world", "answers", "texts", "judged by people", "annotators",
        "true score", "judge's mean", "corrected covers, %", "people alone cover, %", "judge alone covers, %", "corrected over texts alone covers, %",
        "width beside people alone",
    )  # fmt: skip
    met, slack = True, 2 * np.sqrt(0.05 * 0.95 / studies)
    for place, world in enumerate(WORLDS):
        random = np.random.default_rng((seed, place))
        true = true_score(world, random)
        rows = np.array([scored(study(world, random), true) for _ in range(studies)])
        raw, corrected, people, alone, texts, width = rows.mean(axis=0)
        bad = corrected < 0.93 - slack or corrected > 0.99 + slack
        met &= not bad
        line(
            world.name, world.kind, world.texts, world.judged, world.people, f"{true:.3f}", f"{raw:.3f}", percent(corrected, marked=bad),
            percent(people), percent(alone), percent(texts), f"{width:.2f}",
        )  # fmt: skip
    return met


def scored(made: Study, true: float) -> tuple[float, ...]:
    """The judge's mean; whether the corrected score, people's, the judge's and that over texts alone cover; the ratio of widths."""
    texts, bounds = made.texts, (float(made.numbers[0]), float(made.numbers[-1]))
    judged = texts.judged[:, 0]
    weight = judges_weight(texts, made.points[:, None])
    found = [corrected_mean(texts, made.points, judged, one, bounds=bounds) for one in (weight, 0.0)]
    both, people = (one.interval for one in found)
    raw = float(judged.mean())
    covers = (
        both.low <= true <= both.high,
        people.low <= true <= people.high,
        abs(raw - true) <= 1.96 * float(judged.std(ddof=1)) / np.sqrt(judged.size),
        abs(found[0].value - true) <= 1.96 * np.sqrt(found[0].item_variance),
    )
    return raw, *covers, (both.high - both.low) / (people.high - people.low)


#: Texts of two systems of equal worth, of which one writes long texts.
SYSTEMS = replace(BIASED, name="judge prefers long texts", lenient=0.0, length=3.0, judged=200, by=True)
DIFFERENCES = (
    SYSTEMS,
    replace(SYSTEMS, judged=100, people=4),
    replace(SYSTEMS, judged=100, people=3, strict=1.0),
    replace(SYSTEMS, judged=300, texts=3000, people=30, guess=0.2, busy=1.5, chosen=3.0),
    replace(SYSTEMS, judged=300, texts=3000, cluster=5),
    replace(SYSTEMS, base=3.5),
    replace(SYSTEMS, kind="grades 1 to 5", base=0.0),
    replace(SYSTEMS, clear=5.0, strict=0.2),
)


def differences(studies: int, seed: int) -> bool:
    """Print the coverage of the difference of two systems of equal worth; return whether the target is met."""
    heading(
        "The difference of two systems", f"`merilo judge --by`, {studies} studies a row", "answers", "texts", "judged by people",
        "annotators", "judge's difference", "corrected covers, %", "people alone cover, %", "judge alone covers, %",
    )  # fmt: skip
    met, slack = True, 2 * np.sqrt(0.05 * 0.95 / studies)
    for place, world in enumerate(DIFFERENCES):
        random = np.random.default_rng((seed, 3, place))
        rows = []
        for _ in range(studies):
            made = study(world, random)
            judged, bounds = made.texts.judged[:, 0], (float(made.numbers[0]), float(made.numbers[-1]))
            found = [
                corrected_difference(made.texts, made.points, judged, judge=one, bounds=bounds).interval
                for one in (True, False)
            ]
            long, short = judged[made.long], judged[~made.long]
            reach = 1.96 * np.sqrt(long.var() / long.size + short.var() / short.size)
            apart = float(long.mean() - short.mean())
            rows.append((apart, *(one.low <= 0 <= one.high for one in found), abs(apart) <= reach))
        apart, corrected, people, alone = np.mean(rows, axis=0)
        bad = corrected < 0.93 - slack
        met &= not bad
        line(
            world.kind, world.texts, world.judged, world.people, f"{apart:+.3f}", percent(corrected, marked=bad), percent(people),
            percent(alone),
        )  # fmt: skip
    return met


@dataclass(frozen=True)
class Trial:
    """A judge in a test, in a world; `worse`: how much further from people than a person it is, `None` if the world tells."""

    judge: str
    world: World
    epsilon: float
    worse: float | None
    most: float


ALIKE = replace(BIASED, lenient=0.0)
CHANCE = replace(ALIKE, clear=0.0, base=0.0, strict=0.0)
TRIALS = (
    Trial("epsilon worse than a person", replace(ALIKE, judged=100, people=3), 0.1, 0.1, 0.05),
    Trial("epsilon worse than a person", replace(ALIKE, judged=100, people=10), 0.1, 0.1, 0.05),
    Trial("epsilon worse than a person", replace(ALIKE, judged=300, people=10), 0.2, 0.2, 0.05),
    Trial(
        "epsilon worse than a person",
        replace(ALIKE, judged=300, people=10, kind="grades 1 to 5"),
        0.1,
        0.1,
        0.05,
    ),
    Trial("epsilon worse than a person", replace(ALIKE, judged=300, people=10, cluster=5), 0.1, 0.1, 0.05),
    Trial("at random, people by chance", replace(CHANCE, judged=200, people=5), 0.1, None, 0.05),
    Trial(
        "at random, people by chance",
        replace(CHANCE, judged=200, people=5, kind="grades 1 to 5"),
        0.2,
        None,
        0.05,
    ),
    Trial("as a person", replace(ALIKE, judged=100, people=3), 0.1, 0.0, 1.0),
    Trial("as a person", replace(ALIKE, judged=100, people=3), 0.2, 0.0, 1.0),
    Trial("as a person", replace(ALIKE, judged=300, people=3), 0.1, 0.0, 1.0),
    Trial("as a person", replace(ALIKE, judged=300, people=3), 0.2, 0.0, 1.0),
    Trial("as a person", replace(ALIKE, judged=300, people=10), 0.2, 0.0, 1.0),
    Trial("as a person, lenient", replace(BIASED, lenient=0.5, judged=100, people=3), 0.2, None, 1.0),
    Trial("as a person, lenient", replace(BIASED, lenient=0.5, judged=300, people=10), 0.2, None, 1.0),
    Trial("better than a person by 0.1", replace(ALIKE, judged=100, people=3), 0.1, -0.1, 1.0),
    Trial("better than a person by 0.1", replace(ALIKE, judged=300, people=10), 0.1, -0.1, 1.0),
)


def with_judge(world: World, share: float, random: np.random.Generator) -> tuple[Study, FloatArray]:
    """A study whose judge answers as a person of mean strictness, a share of answers by chance.

    With a share below 0, as many answers are those of the majority of people.
    """
    made = study(world, random)
    votes = made.texts.votes
    answer = made.judge.astype(np.float64)
    other = random.integers(0, made.numbers.size, answer.size)
    if share < 0:
        counts = votes.counts() + 0.1 * random.random((votes.items, votes.labels))
        other = counts.argmax(axis=1)
    answer = np.where(random.random(answer.size) < abs(share), other, answer)
    return made, answer


def apart(world: World, share: float, seed: int) -> float:
    """How much further from people than a person the judge is, from many texts."""
    many = replace(world, judged=20_000, texts=20_000)
    made, answer = with_judge(many, share, np.random.default_rng(seed))
    numbers = made.numbers if made.numbers.size > 2 else None
    given = answer if numbers is None else numbers[answer.astype(int)]
    found = alternative_annotator_test(made.texts.votes, given, numbers=numbers)
    return float(np.mean([one.person - one.judge for one in found.tested]))


def share_for(world: World, worse: float, seed: int) -> float:
    """The share of answers by chance (of the majority, below 0) with which a judge is this much worse than a person."""
    low, high = -1.0, 1.0
    for _ in range(10):
        middle = (low + high) / 2
        low, high = (middle, high) if apart(world, middle, seed) < worse else (low, middle)
    return (low + high) / 2


def test(studies: int, seed: int) -> bool:
    """Print how often judges pass; return whether unfit ones pass in at most 5 %."""
    heading(
        "The test of a judge", f"`merilo judge`, {studies} studies a row", "judge", "answers", "judged by people", "annotators", "epsilon",
        "passes, %", "mean winning rate",
    )  # fmt: skip
    met = True
    for place, trial in enumerate(TRIALS):
        # Annotators alike: the judge is then as far from each of them.
        world = replace(trial.world, strict=0.0, busy=0.0)
        share = 0.0 if trial.worse is None else share_for(world, trial.worse, seed)
        random = np.random.default_rng((seed, 9, place))
        passed, rate = 0, 0.0
        for _ in range(studies):
            made, answer = with_judge(world, share, random)
            numbers = made.numbers if made.numbers.size > 2 else None
            given = answer if numbers is None else numbers[answer.astype(int)]
            votes = made.texts.votes
            found = alternative_annotator_test(votes, given, numbers=numbers, epsilon=trial.epsilon)
            passed += found.passed and chance_agreement(votes, numbers) <= 0.05
            rate += found.winning_rate
        share_passed = passed / studies
        bad = share_passed > trial.most + 2 * np.sqrt(0.05 * 0.95 / studies)
        met &= not bad
        line(
            trial.judge, world.kind, world.judged, world.people, trial.epsilon, percent(share_passed, marked=bad), f"{rate / studies:.2f}",
        )  # fmt: skip
    return met


def sampling(studies: int, seed: int) -> bool:
    """Print how often the texts that people judged are called otherwise; return whether random ones are in at most 5 %."""
    heading(
        "Which texts people judged", f"`merilo judge`, {studies} studies a row", "texts that people judge", "judged by people",
        "refused, %",
    )  # fmt: skip
    met = True
    random_choice = replace(BIASED, length=2.0)
    cases = (
        ("at random", random_choice, 0.05),
        ("at random", replace(random_choice, judged=300), 0.05),
        ("at random, clusters of 5", replace(random_choice, judged=200, cluster=5), 0.05),
        (
            "long ones 3 times as often, by length",
            replace(random_choice, judged=200, chosen=3.0, by=True),
            0.05,
        ),
        ("long ones 2 times as often", replace(random_choice, chosen=2.0), 1.0),
        ("long ones 3 times as often", replace(random_choice, chosen=3.0), 1.0),
        ("long ones 3 times as often", replace(random_choice, judged=300, chosen=3.0), 1.0),
    )
    for place, (name, world, most) in enumerate(cases):
        random = np.random.default_rng((seed, 5, place))
        refused = 0
        for _ in range(studies):
            made = study(world, random)
            field = None if world.by else other_shares(made.texts, np.where(made.long, "long", "short"))
            found = [*other_scores(made.texts), *([] if field is None else [field])]
            refused += min(found) * len(found) <= 0.01
        share = refused / studies
        bad = share > most
        met &= not bad
        line(name, world.judged, percent(share, marked=bad))
    return met


def table(studies: int, seed: int) -> bool:
    """Print the tables; return whether all targets are met."""
    return all(
        [coverage(studies, seed), differences(studies, seed), test(studies, seed), sampling(studies, seed)]
    )


def main() -> int:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--studies", type=int, default=200)
    return int(not table(parser.parse_args().studies, 1))


if __name__ == "__main__":
    sys.exit(main())
