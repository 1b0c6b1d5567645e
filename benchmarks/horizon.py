"""Coverage of `merilo horizon`, beside a fit that takes item times as exact; and of accuracy within a time and the price of a solved item.

    python benchmarks/horizon.py [--studies 60] [--world NAME...]

Each simulated study draws items, people and their times, and a model whose success falls with the true time of an item; the true
horizon is where it is 50 %. A time is that of the item, times the person's factor, times noise. By default: 100 items whose log times
have a standard deviation of 1, 15 people (0.4), three answers an item, noise of 0.8, one answer of the model an item, a slope of 1.5
logits, and a horizon at the 84th percentile of items. Each row changes what its name says. The exact fit is the same curve with the
mean logs of times as the items' log times, and the same interval over items.

The second table is on the share of right answers of people within a time, beside an interval that takes answers as independent; the
third on the price of a right answer of a model whose answers cost differently, beside one that takes their mean cost as known.

Exit status 1: the coverage of a row is outside 93 to 98 %, by more than two standard errors and one point upwards (an interval of a
horizon that the data hardly tell is unbounded, and covers too often; people's has no upper limit, because the interval of single
people allows for annotators who guess); or the exact fit covers as often on average.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass

import numpy as np
from appendix import heading, line, percent
from numpy.typing import NDArray
from scipy.special import digamma

from merilo.baselines.time_and_price import TimedAnswers, price_of_model, priced
from merilo.people.votes import Votes
from merilo.statistics.intervals import mean_interval, wilson
from merilo.statistics.item_times import ItemTimes, Pages, fast_guessers, item_times
from merilo.statistics.success_curve import SuccessCurve, fit_curve

FloatArray = NDArray[np.float64]

#: The median time of an item, in seconds.
MEDIAN = 60.0


@dataclass(frozen=True)
class World:
    """How a study is drawn; `horizon` is in standard deviations of the default above the median item."""

    name: str
    items: int = 100
    people: int = 15
    answers: int = 3
    spread: float = 1.0
    person_spread: float = 0.4
    noise: float = 0.8
    page: int = 1
    limit: float = np.inf
    noises: str = "normal"
    persons: str = "normal"
    times: str = "normal"
    uneven: bool = False
    slope: float = 1.5
    horizon: float = 1.0
    samples: int = 1
    other: float = 0.0
    guessers: float = 0.0
    twice: float = 0.0
    slopes: float = 0.0
    known_noise: bool = False


WORLDS = (
    World("as assumed"),
    World("horizon at the median item", horizon=0.0),
    World("horizon at the 98th percentile", horizon=2.0),
    World("50 items", items=50),
    World("1 answer an item, noise given", answers=1, known_noise=True),
    World("1 answer an item, 30 % have 2", answers=1, twice=0.3),
    World("5 answers an item", answers=5),
    World("4 people who differ much", people=4, person_spread=0.8),
    World("one person does most", people=20, uneven=True),
    World("gamma noise", noises="gamma"),
    World("heavy-tailed noise (t, 4)", noises="t"),
    World("skewed person effects", persons="exponential", person_spread=0.6),
    World("people slow down unequally on long items", slopes=0.25),
    World("uniform log times", times="uniform"),
    World("short and long items", times="two"),
    World("cut off at 120 s", limit=120.0),
    World("three items a page", page=3, items=60, answers=5, noise=0.5),
    World("5 answers of the model", samples=5),
    World("difficulty of other kinds too", other=1.0, samples=5),
    World("a flat slope", slope=0.7, horizon=0.5),
    World("7 % of people guess in 8 s", guessers=0.07),
)


def drawn(world: World, random: np.random.Generator) -> tuple[Pages, FloatArray, float]:
    """Draw the pages of people, the model's share of right answers to each item, and the true log horizon."""
    items, people, middle = world.items, world.people, float(np.log(MEDIAN))
    if world.times == "uniform":
        log_time = middle + world.spread * np.sqrt(12) * (random.random(items) - 0.5)
    elif world.times == "two":
        log_time = middle + world.spread * (
            np.where(random.random(items) < 0.5, -0.9, 0.9) + 0.436 * random.normal(size=items)
        )
    else:
        log_time = middle + world.spread * random.normal(size=items)
    person = world.person_spread * (
        random.exponential(size=people) - 1 if world.persons == "exponential" else random.normal(size=people)
    )
    pace = 1 + world.slopes * random.normal(size=people)
    guesses = random.random(people) < world.guessers
    chance = 1 / (1.0 + np.arange(people)) if world.uneven else np.ones(people)
    chance /= chance.sum()
    pages: list[tuple[NDArray[np.int64], int]] = []
    if world.page > 1:
        order = np.concatenate([random.permutation(items) for _ in range(world.answers)])
        pages = [(held, int(random.choice(people, p=chance))) for held in order.reshape(-1, world.page)]
    else:
        for item in range(items):
            count = min(world.answers + (random.random() < world.twice), people)
            pages += [
                (np.array([item]), int(who)) for who in random.choice(people, count, replace=False, p=chance)
            ]
    shift = 0.0
    seconds = np.empty(len(pages))
    for place, (held, who) in enumerate(pages):
        size = held.shape[0]
        if world.noises == "gamma":
            shape = 1 / world.noise**2
            noise = np.log(random.gamma(shape, 1 / shape, size))
            shift = float(digamma(shape) - np.log(shape))
        elif world.noises == "t":
            noise = world.noise * random.standard_t(4, size=size) / np.sqrt(2)
        else:
            noise = world.noise * random.normal(size=size)
        logs = middle + (log_time[held] - middle) * pace[who] + person[who] + noise
        if guesses[who]:
            logs = np.log(8) + 0.4 * random.normal(size=size)
        seconds[place] = np.exp(logs).sum()
    sizes = [held.shape[0] for held, _ in pages]
    found = Pages(
        np.repeat(np.arange(len(pages)), sizes),
        np.concatenate([held for held, _ in pages]),
        np.array([who for _, who in pages]),
        np.minimum(seconds, world.limit),
        seconds > world.limit,
        items,
        people,
    )
    logit = world.slope * (middle + world.horizon - log_time) + world.other * random.normal(size=items)
    success = random.binomial(world.samples, 1 / (1 + np.exp(-logit))) / world.samples
    # The horizon is the typical time of the items, whose noise may have another mean of logs than 0.
    return found, success, middle + world.horizon + shift


def exact(pages: Pages, success: FloatArray) -> SuccessCurve:
    """Fit the curve to mean logs of times as if they were the items' log times."""
    logs = np.log(pages.seconds / np.bincount(pages.page))[pages.page]
    count = np.bincount(pages.item, minlength=pages.items)
    mean = np.bincount(pages.item, weights=logs, minlength=pages.items) / count
    none = np.full(pages.items, 1e-9)
    times = ItemTimes(
        float(mean.mean()), float(mean.std()), 0.0, 1.0, 0.0, mean, none, np.zeros((pages.items, 1))
    )
    return fit_curve(times, np.arange(pages.items), success)


def horizons(studies: int, seed: int, chosen: list[str]) -> bool:
    """Print the table of horizons; return whether all targets are met."""
    heading(
        "Time horizon", f"`merilo horizon`, {studies} studies a row", "world", "coverage", "bias of the log horizon",
        "unbounded", "coverage, times taken as exact", "bias, times taken as exact",
    )  # fmt: skip
    met, ours, theirs = True, [], []
    for place, world in enumerate(WORLDS):
        if world.name not in chosen:
            continue
        random = np.random.default_rng((seed, place))
        covered, exactly, errors, exact_errors, unbounded = [], [], [], [], []
        for _ in range(studies if world.page == 1 else max(studies // 3, 10)):
            pages, success, truth = drawn(world, random)
            if min(success.sum(), (1 - success).sum()) < 3:
                continue
            noise = world.noise if world.known_noise else None
            times = item_times(pages, noise)
            guessing = fast_guessers(pages, times)
            kept = np.arange(pages.items)
            if guessing.any():
                solving, kept = pages.without(guessing)
                times = item_times(solving, noise)
            curve = fit_curve(times, np.arange(times.measured.shape[0]), success[kept])
            naive = exact(pages, success)
            for one, held, off in ((curve, covered, errors), (naive, exactly, exact_errors)):
                if one.slope <= 0:
                    continue
                low, high = one.interval(0.5)
                held.append(low <= truth <= high)
                off.append(one.horizon(0.5) - truth)
                if one is curve:
                    unbounded.append(not np.isfinite(high - low))
        share = float(np.mean(covered))
        slack = 2 * np.sqrt(0.05 * 0.95 / len(covered))
        bad = share < 0.93 - slack or share > 0.99 + slack
        met &= not bad
        ours.append(share)
        theirs.append(float(np.mean(exactly)))
        line(
            world.name, percent(share, marked=bad), f"{np.median(errors):+.2f}", percent(float(np.mean(unbounded))),
            percent(theirs[-1]), f"{np.median(exact_errors):+.2f}",
        )  # fmt: skip
    line("mean", percent(float(np.mean(ours))), "", "", percent(float(np.mean(theirs))), "")
    return met and np.mean(theirs) < np.mean(ours) - 0.03


@dataclass(frozen=True)
class Crowd:
    """Answers of people with times, and a model's with costs."""

    name: str
    items: int = 100
    people: int = 15
    answers: int = 3
    ability: float = 0.8
    ease: float = 1.0
    pace: float = 0.4
    noise: float = 0.6
    uneven: bool = False
    skewed: bool = False


CROWDS = (
    Crowd("15 people, 3 answers an item"),
    Crowd("5 people, 5 answers", people=5, answers=5),
    Crowd("40 items", items=40),
    Crowd("400 items, 40 people", items=400, people=40),
    Crowd("near-perfect people", ease=3.5),
    Crowd("mostly guessing", ease=-0.5, ability=0.2),
    Crowd("one person does most", people=20, uneven=True),
    Crowd("people of very different pace", pace=1.0),
    Crowd("skewed pace", pace=0.8, skewed=True),
)

#: Times at which shares of right answers are checked, in seconds; and how many draws the true shares are means over.
CHECKED = (30.0, 60.0, 180.0)
DRAWS = 200_000


def crowd_shares(
    crowd: Crowd,
    random: np.random.Generator,
    item: NDArray[np.int64],
    who: NDArray[np.int64],
    people: int,
    items: int,
) -> tuple[FloatArray, FloatArray]:
    """Draw whether each answer is right, and its seconds; harder items take longer."""
    pace = random.exponential(size=people) - 1 if crowd.skewed else random.normal(size=people)
    hard, ability = random.normal(size=items), crowd.ability * random.normal(size=people)
    right = random.random(item.shape[0]) < 1 / (1 + np.exp(-(crowd.ease + ability[who] - hard[item])))
    logs = (
        np.log(MEDIAN)
        + 0.5 * hard[item]
        + crowd.pace * pace[who]
        + crowd.noise * random.normal(size=item.shape[0])
    )
    return right.astype(np.float64), np.exp(logs)


def within_times(studies: int, seed: int) -> bool:
    """Print the table of right answers within a time; return whether all targets are met."""
    heading(
        "Right answers within a time", f"`merilo compare`, people, {studies} studies a row", "crowd",
        *(f"{at:g} s" for at in CHECKED), *(f"{at:g} s, answers independent" for at in CHECKED),
    )  # fmt: skip
    met = True
    for place, crowd in enumerate(CROWDS):
        random = np.random.default_rng((seed, 1, place))
        every = np.arange(DRAWS)
        right, seconds = crowd_shares(crowd, random, every, every, DRAWS, DRAWS)
        truths = [float((right * (seconds <= at)).mean()) for at in CHECKED]
        chance = 1 / (1.0 + np.arange(crowd.people)) if crowd.uneven else np.ones(crowd.people)
        covered = np.zeros((2, len(CHECKED)))
        for _ in range(studies):
            picked = [
                random.choice(crowd.people, crowd.answers, replace=False, p=chance / chance.sum())
                for _ in range(crowd.items)
            ]
            item, who = np.repeat(np.arange(crowd.items), crowd.answers), np.concatenate(picked)
            right, seconds = crowd_shares(crowd, random, item, who, crowd.people, crowd.items)
            votes = Votes(
                item.astype(np.int32),
                who.astype(np.int32),
                (1 - right).astype(np.int32),
                crowd.items,
                crowd.people,
                2,
            )
            answers = TimedAnswers(votes, right, seconds, people=True)
            for column, (at, truth) in enumerate(zip(CHECKED, truths, strict=True)):
                _, interval = answers.within(at)
                assert interval is not None
                covered[0, column] += interval.low <= truth <= interval.high
                plain = wilson(int((right * (seconds <= at)).sum()), right.shape[0])
                covered[1, column] += plain.low <= truth <= plain.high
        shares = covered / studies
        slack = 2 * np.sqrt(0.05 * 0.95 / studies)
        bad = [share < 0.93 - slack for share in shares[0]]
        met &= not any(bad)
        line(
            crowd.name, *(percent(share, marked=miss) for share, miss in zip(shares[0], bad, strict=True)),
            *map(percent, shares[1]),
        )  # fmt: skip
    return met


#: Worlds of a model's costs: items, mean logit of success, by how much hard items cost more, answers an item.
COSTS = (
    ("100 items, costs unrelated to success", 100, 1.0, 0.0, 1),
    ("100 items, hard items cost more", 100, 1.0, 1.0, 1),
    ("30 items, hard items cost more", 30, 1.0, 1.0, 1),
    ("100 items, 5 answers an item", 100, 1.0, 1.0, 5),
    ("nearly all right", 100, 4.5, 0.5, 1),
    ("a fifth right", 100, -1.6, 1.0, 1),
    ("a few answers cost most", 200, 1.0, 2.0, 1),
)


def prices(studies: int, seed: int) -> bool:
    """Print the table of the price of a right answer of a model; return whether all targets are met."""
    heading(
        "Price of a right answer", f"`merilo compare`, a model, {10 * studies} studies a row", "model", "coverage",
        "coverage, the mean cost taken as known",
    )  # fmt: skip
    met = True
    for place, (name, items, ease, more, samples) in enumerate(COSTS):
        random = np.random.default_rng((seed, 2, place))

        def drawn_costs(
            size: int,
            random: np.random.Generator = random,
            ease: float = ease,
            more: float = more,
            samples: int = samples,
        ) -> tuple[FloatArray, FloatArray]:
            hard = random.normal(size=size)
            right = random.binomial(samples, 1 / (1 + np.exp(-(ease - 1.2 * hard)))) / samples
            return 0.01 * np.exp(0.5 * more * hard + 0.4 * random.normal(size=size)), right

        cost, right = drawn_costs(1_000_000)
        truth = float(cost.sum() / right.sum())
        covered = np.zeros(2)
        for _ in range(10 * studies):
            cost, right = drawn_costs(items)
            found = price_of_model(cost, right)
            share = mean_interval(right)
            plain = None if share is None else priced(float(cost.mean()), float(right.mean()), share, "USD")
            covered += [one is not None and one.low <= truth <= one.high for one in (found, plain)]
        shares = covered / (10 * studies)
        slack = 2 * np.sqrt(0.05 * 0.95 / (10 * studies))
        bad = not 0.93 - slack <= shares[0] <= 0.99 + slack
        met &= not bad
        line(name, percent(shares[0], marked=bad), percent(shares[1]))
    return met


def main() -> int:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--studies", type=int, default=60)
    names = [world.name for world in WORLDS]
    parser.add_argument("--world", action="append", choices=names, help="only this row of the first table")
    given = parser.parse_args()
    tables = [horizons(given.studies, 1, given.world or names)]
    if not given.world:
        tables += [within_times(given.studies, 1), prices(given.studies, 1)]
    return int(not all(tables))


if __name__ == "__main__":
    sys.exit(main())
