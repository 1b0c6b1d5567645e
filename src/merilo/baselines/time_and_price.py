"""Right answers within a time, and what a right answer costs, of people and of a model on the same items."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import exp, inf, log, sqrt
from pathlib import Path
from typing import Final, Literal

import numpy as np
import polars as pl

from merilo.baselines.baseline_reader import StoredBaseline
from merilo.baselines.model_answers import Samples
from merilo.baselines.model_comparison import PROGRAM_METRIC, earned, people_scores
from merilo.metrics.worth import MEANS
from merilo.models.run_folder import is_run
from merilo.models.run_log import log_path, read_log
from merilo.people.uncertainty.annotator_accuracy import individuals
from merilo.people.uncertainty.two_way import LEAST_ANNOTATORS
from merilo.people.votes import IntArray, Votes
from merilo.responses import answer_seconds
from merilo.statistics import FloatArray
from merilo.statistics.intervals import Interval, mean_interval, student_quantile

#: Times in seconds at which shares are shown.
TIMES: Final = (
    *(0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 20, 30, 45, 60, 90, 120, 180, 300, 600, 1200, 1800, 3600, 7200),
    *(14400, 28800, 86400),
)
#: How many of these at most.
_MOST_TIMES: Final = 8


@dataclass(frozen=True, slots=True)
class TimedAnswers:
    """Answers of people or of a model with their times.

    Attributes:
        votes: the answers; a model has one annotator.
        points: shape (n,), the points of each answer.
        seconds: shape (n,), the time of each.
        people: whether they are of people.
    """

    votes: Votes
    points: FloatArray
    seconds: FloatArray
    people: bool

    def within(self, seconds: float) -> tuple[float, Interval | None]:
        """Return the share of points that single answers earn within a time, with its interval.

        All items have equal weight, divided equally among their answers; a later answer earns nothing. The interval is
        over items and people, or over items for a model. There is none with fewer than three people.
        """
        points = np.where(self.seconds <= seconds, self.points, 0.0)
        votes = self.votes
        if self.people:
            found = individuals(votes, points)
            return found.mean, found.interval if found.annotators >= LEAST_ANNOTATORS else None
        count = np.bincount(votes.item, minlength=votes.items)
        asked = count > 0
        items = np.bincount(votes.item, weights=points, minlength=votes.items)[asked] / count[asked]
        clusters = None if votes.cluster is None else votes.cluster[asked].tolist()
        return float(items.mean()), mean_interval(items, clusters)

    def shares(self, seconds: FloatArray) -> FloatArray:
        """Return the shares of points earned within several times, of the shape of `seconds`."""
        count = np.bincount(self.votes.item, minlength=self.votes.items)
        weight = self.points / count[self.votes.item] / int((count > 0).sum())
        order = np.argsort(self.seconds, kind="stable")
        earned_by = np.concatenate([[0.0], np.cumsum(weight[order])])
        return np.asarray(earned_by[np.searchsorted(self.seconds[order], seconds, side="right")])


@dataclass(frozen=True, slots=True)
class AnswerPrice:
    """What a right answer costs.

    Attributes:
        value: the money spent divided by the points earned.
        low: the lower bound of its 95 % interval.
        high: the upper bound; infinite if no answer may be right.
        currency: the currency.
    """

    value: float
    low: float
    high: float
    currency: str | None


@dataclass(frozen=True, slots=True)
class TimeAndPrice:
    """Time and price of right answers of people and of one model.

    Attributes:
        times: the times in seconds at which shares are shown.
        people: people's answers with times; `None` if they are not known.
        model: the model's.
        people_price: what a right answer of a person costs; `None` if it is not known.
        model_price: the same of the model.
        pay: what people were paid for an answer on average, control items and excluded people included.
        accuracy: the share of points that single answers of people earn, with its interval.
    """

    times: tuple[float, ...]
    people: TimedAnswers | None
    model: TimedAnswers | None
    people_price: AnswerPrice | None
    model_price: AnswerPrice | None
    pay: float | None
    accuracy: tuple[float, Interval] | None

    @property
    def equal_time(self) -> tuple[float, Literal["people", "model"]] | None:
        """Return the time after which the other side has earned more within it, and who had earned more before.

        `None` if one side has earned at least as much at every time, or if times of one are not known.
        """
        every, apart = self._apart()
        changes = np.flatnonzero(np.diff(np.sign(apart)))
        if not changes.size:
            return None
        last = changes[-1] + 1
        return float(every[last]), "people" if apart[last] > 0 else "model"

    @property
    def ahead(self) -> Literal["people", "model"] | None:
        """Return who earned more within every time that a right answer took; `None` if it is not one side."""
        _, apart = self._apart()
        signs = {*np.sign(apart).tolist()}
        return "model" if signs == {1.0} else "people" if signs == {-1.0} else None

    def _apart(self) -> tuple[FloatArray, FloatArray]:
        """Return the times at which the model and people have earned unequal shares, and the differences."""
        if self.people is None or self.model is None:
            return np.empty(0), np.empty(0)
        every = np.unique(np.concatenate([self.people.seconds, self.model.seconds]))
        apart = np.round(self.model.shares(every) - self.people.shares(every), 12)
        return every[apart != 0], apart[apart != 0]

    @property
    def ratio(self) -> tuple[float, float, float] | None:
        """Return the price of people divided by that of the model, and its 95 % interval.

        `None` if a price is not known or 0, or the currencies differ.

        References:
            G. Zou, A. Donner (2008), Construction of confidence limits about effect measures: a general approach.
            Statistics in Medicine 27, 1693-1702.
        """
        people, model = self.people_price, self.model_price
        if (
            people is None
            or model is None
            or people.currency != model.currency
            or min(people.value, model.value) <= 0
        ):
            return None
        return _combined((people.value, people.low, people.high), (model.value, model.low, model.high), -1)

    @property
    def equal_pay(self) -> tuple[float, float, float] | None:
        """Return the pay for an answer at which a right answer of people costs that of the model, and its interval."""
        people, model = self.people_price, self.model_price
        if self.accuracy is None or model is None or (people and people.currency != model.currency):
            return None
        value, interval = self.accuracy
        if value <= 0 or model.value <= 0:
            return None
        return _combined((model.value, model.low, model.high), (value, interval.low, interval.high), 1)


def _combined(
    first: tuple[float, float, float], second: tuple[float, float, float], sign: int
) -> tuple[float, float, float]:
    """Return the product (1) or the quotient (-1) of two positive estimates with their bounds."""
    (a, low_a, high_a), (b, low_b, high_b) = ([_log(end) for end in one] for one in (first, second))
    if sign < 0:
        low_b, high_b, b = -high_b, -low_b, -b
    low, high = sqrt((a - low_a) ** 2 + (b - low_b) ** 2), sqrt((high_a - a) ** 2 + (high_b - b) ** 2)
    return exp(a + b), exp(a + b - low), exp(a + b + high) if high < inf else inf


def _log(value: float) -> float:
    return log(value) if 0 < value < inf else inf if value > 0 else -inf


def time_and_price(crowd: StoredBaseline, model: Samples, key: str) -> TimeAndPrice | None:
    """Return time and price of right answers of people and of a model on the items that the model answered.

    Args:
        crowd: the people, with gold; there may be none.
        model: the model's answers.
        key: the name of the dataset in the model's run.

    Returns:
        `None` if the model has no log of times or costs, or the metric is no mean of points of answers.
    """
    if crowd.metric not in {*MEANS, PROGRAM_METRIC} - {"grade_norm"}:
        return None
    places = [place for place, name in enumerate(crowd.names) if name in model.answers]
    shared = crowd.on(places)
    log_of_model = _logged(shared, model, key)
    if log_of_model is None:
        return None
    timed, price = log_of_model
    people = _timed_people(shared) if len(shared.votes) else None
    pay, accuracy, people_price = None, None, None
    if len(shared.votes) and len(shared.annotators) >= LEAST_ANNOTATORS:
        found = individuals(shared.votes, people_scores(shared))
        accuracy = found.mean, found.interval
        pay = crowd.cost.per_answer or None if crowd.cost else None
        people_price = priced(pay, *accuracy, crowd.cost.currency) if crowd.cost and pay else None
    seconds = [one.seconds for one in (people, timed) if one is not None]
    return TimeAndPrice(_times(seconds), people, timed, people_price, price, pay, accuracy)


def priced(each: float, accuracy: float, interval: Interval, currency: str | None) -> AnswerPrice | None:
    """Return the price of a right answer if every answer costs the same; `None` if none is right.

    Args:
        each: the cost of an answer.
        accuracy: the share of right answers, with its interval.
        interval: the interval of the accuracy.
        currency: the currency.
    """
    if accuracy <= 0:
        return None
    high = each / interval.low if interval.low > 0 else inf
    return AnswerPrice(each / accuracy, each / max(interval.high, 1e-12), high, currency)


def price_of_model(
    cost: FloatArray, points: FloatArray, *, currency: str | None = "USD", clusters: IntArray | None = None
) -> AnswerPrice | None:
    """Return the price of a right answer if answers cost differently: a ratio of sums over items.

    Its interval is Student's on the logarithm, over items or their clusters. If every answer costs the same, it is that
    of the share of right answers.

    Args:
        cost: shape (items,), the mean cost of the answers to each item.
        points: shape (items,), their mean points.
        currency: the currency.
        clusters: shape (items,), codes of the clusters of items; by default, items are independent.

    References:
        W. Cochran (1977), Sampling techniques, section 6.4 (the variance of a ratio).
    """
    earned_sum, spent = float(points.sum()), float(cost.sum())
    if earned_sum <= 0 or points.shape[0] < 2:
        return None
    value = spent / earned_sum
    if np.ptp(cost) <= 1e-12 * max(float(cost.max()), 1e-300):
        interval = mean_interval(points, None if clusters is None else clusters.tolist())
        return None if interval is None else priced(float(cost[0]), float(points.mean()), interval, currency)
    rest = (cost - value * points) / spent if spent > 0 else np.zeros_like(cost)
    codes = np.arange(rest.shape[0]) if clusters is None else np.unique(clusters, return_inverse=True)[1]
    sums = np.bincount(codes, weights=rest)
    n = sums.shape[0]
    # One more failure keeps the interval from shrinking to a point if every answer is right.
    error = sqrt(float(sums @ sums) * n / max(n - 1, 1) + 1 / earned_sum**2)
    reach = student_quantile(0.975, max(n - 1, 1)) * error
    return AnswerPrice(value, value * exp(-reach), value * exp(reach), currency)


def _timed_people(crowd: StoredBaseline) -> TimedAnswers | None:
    """Return the answers of people whose times are known; `None` without any."""
    if crowd.study is None:
        return None
    table = crowd.study.responses
    if not {"page_seconds", "page", "file", "row"} <= set(table.columns):
        return None
    used = table.with_columns(seconds=answer_seconds()).filter(
        pl.col("became") == "used", pl.col("seconds") > 0
    )
    known = {
        (number, who, answer): seconds
        for number, who, answer, seconds in used.select("item", "respondent", "answer", "seconds").iter_rows()
    }
    votes = crowd.votes
    seconds = np.array(
        [
            known.get((crowd.numbers[item], crowd.annotators[who], crowd.labels[label]), np.nan)
            for item, who, label in zip(
                votes.item.tolist(), votes.annotator.tolist(), votes.label.tolist(), strict=True
            )
        ],
        dtype=np.float64,
    )
    kept = np.isfinite(seconds)
    if not kept.any():
        return None
    return TimedAnswers(votes.where(kept), people_scores(crowd)[kept], seconds[kept], people=True)


def _logged(
    crowd: StoredBaseline, model: Samples, key: str
) -> tuple[TimedAnswers | None, AnswerPrice | None] | None:
    """Return a run's answers with their times, and the price of a right one; `None` without a log."""
    file = Path(model.file)
    path = log_path(file if is_run(file) else file.parent, key.lower())
    if not path.is_file():
        return None
    table = read_log(path, ("item", "sample", "seconds", "cost"))
    rows: dict[str, list[tuple[float | None, float | None]]] = {}
    for item, _, seconds, cost in (
        table.sort("item", "sample").select("item", "sample", "seconds", "cost").iter_rows()
    ):
        rows.setdefault(" ".join(str(item).split()), []).append((seconds, cost))
    # A log without every answer does not tell which of them it has.
    places = [
        place for place, name in enumerate(crowd.names) if len(rows.get(name, ())) == len(model.answers[name])
    ]
    if not places:
        return None
    answers = [model.answers[crowd.names[place]] for place in places]
    size = np.array([len(one) for one in answers])
    owner = np.repeat(np.array(places), size)
    points = earned(crowd, owner.tolist(), [answer for one in answers for answer in one])
    logged = [one for place in places for one in rows[crowd.names[place]]]
    seconds = np.array([np.nan if one is None else one for one, _ in logged], dtype=np.float64)
    costs = np.array([np.nan if one is None else one for _, one in logged], dtype=np.float64)
    none = np.zeros(owner.shape[0], dtype=np.int32)
    votes = Votes(owner.astype(np.int32), none, none, len(crowd.names), 1, 1, crowd.votes.cluster)
    timed = None
    # A built-in respondent takes no time.
    if (known := seconds > 0).any():
        timed = TimedAnswers(votes.where(known), points[known], seconds[known], people=False)
    price = None
    if np.isfinite(costs).all() and costs.sum() > 0:
        row = np.repeat(np.arange(len(places)), size)
        means = [np.bincount(row, weights=one) / size for one in (costs, points)]
        clusters = None if crowd.votes.cluster is None else crowd.votes.cluster[places]
        price = price_of_model(means[0], means[1], clusters=clusters)
    return None if timed is None and price is None else (timed, price)


def _times(seconds: Sequence[FloatArray]) -> tuple[float, ...]:
    """Return round times between the quickest and the slowest answers."""
    if not seconds:
        return ()
    low = min(float(np.quantile(one, 0.05)) for one in seconds)
    high = max(float(np.quantile(one, 0.95)) for one in seconds)
    held = [at for at in TIMES if low <= at <= high]
    held += [at for at in TIMES if at > high][:1]
    every = -(-len(held) // _MOST_TIMES)
    return tuple(held[::-1][::every][::-1]) if held else ()
