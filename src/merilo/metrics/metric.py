"""What a metric is, the score that it gives, and its judgement of one answer."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

from merilo.items import Item, ItemId
from merilo.metrics.answers import Answer, AnswerKind, Given
from merilo.strict_json import Json
from merilo.text import Text

if TYPE_CHECKING:
    from merilo.metrics.detox import Ratings
    from merilo.statistics import FloatArray
    from merilo.statistics.intervals import Interval

#: The points of an answer, from the form of answers, the item and the answer.
Points: TypeAlias = Callable[[Answer, Item, Given], float]
#: The values of a metric, shape (rows,), from the gold and the answer of each cell, and the weight of each cell in each
#: row, shape (rows, cells). A row whose gold or answers do not vary has the value 0 if the metric is not defined there.
Statistic: TypeAlias = Callable[[Sequence[str], Sequence[str], "FloatArray"], "FloatArray"]

#: A statistic does not count a label, or a variance, below this share: intervals probe it with smaller weights.
NEGLIGIBLE: Final = 1e-7


class Metric(NamedTuple):
    """How answers are scored: by points of each answer, by ratings of each answer, or by a statistic of all of them.

    Attributes:
        name: its name in declarations and results.
        answers: the kinds of answers that it scores.
        points: the points of an answer; the value is the mean over units of the share of points earned.
        ratings: the points of answers from the ratings of the three classifiers of ruDetox.
        statistic: a value of gold and answers together, which is no mean over answers.
        most: the most points of an item; by default 1.
        unit: what the mean is over, by the name of its field in `meta`; by default items.
        whole: whether a unit counts only if all its answers earn all their points.
        counted: the places of the items that count, such as those of complete variants; by default all.
        lacking: why the answers cannot be scored; `None` if they can.
        bounds: the smallest and the largest value.
        exact: whether an answer is right or wrong, without points between.
        key: the form in which two free texts are the same answer; by default, that of SQuAD's rule.
        title: its name in prose, to stand before "of the consensus".
        display: its other names in metadata of the benchmark, the usual one first.
        steps: the steps by which an answer is judged, one sentence each.
    """

    name: str
    answers: frozenset[AnswerKind]
    points: Points | None = None
    ratings: Callable[[Ratings], FloatArray] | None = None
    statistic: Statistic | None = None
    most: Callable[[Item], float] | None = None
    unit: str | None = None
    whole: bool = False
    counted: Callable[[Sequence[Item]], Sequence[int]] | None = None
    lacking: Callable[[Sequence[Item], Sequence[Given]], str | None] | None = None
    bounds: tuple[float, float] = (0.0, 1.0)
    exact: bool = False
    key: Callable[[str], str] | None = None
    title: Text | None = None
    display: tuple[str, ...] = ()
    steps: Callable[[Answer, Item, Given], Sequence[str]] | None = None

    @property
    def is_mean(self) -> bool:
        """Whether every answer has points of its own, whose mean over units is the value."""
        return self.statistic is None and not self.whole

    def unit_of(self, item: Item) -> Hashable:
        """Return the unit that an item belongs to; without the unit's field, the item itself."""
        value = None if self.unit is None else item.value(self.unit)
        return ("item", item.id) if value is None else str(value)


@dataclass(frozen=True, slots=True)
class Score:
    """The result of a metric.

    Attributes:
        name: the metric's name: "acc", "f1_macro", "pass@1".
        value: the metric on these items.
        n: how many items it was computed on.
        interval: the 95 % confidence interval over items, if the metric has one.
        per_item: the points of each item; empty for metrics that are a statistic of all answers.
        clusters: how many clusters these items form; `None` if the items are independent.
        answers: how many answers these items have; `None` if each has one.
    """

    name: str
    value: float
    n: int
    interval: Interval | None = None
    per_item: Mapping[ItemId, float] = field(default_factory=dict)
    clusters: int | None = None
    answers: int | None = None

    def to_dict(self) -> dict[str, Json]:
        """Return the score as JSON: value, count, interval and method."""
        interval = self.interval
        return {
            "value": self.value,
            "n": self.n,
            **({} if self.answers is None else {"answers": self.answers}),
            "ci95": None if interval is None else [interval.low, interval.high],
            "interval": None if interval is None else interval.method,
        }


@dataclass(frozen=True, slots=True)
class Judgement:
    """The points that one answer earned under one rule, and why.

    Attributes:
        metric: the metric: "acc", "f1", "grade_norm".
        points: the points that the answer earned.
        most: the maximum number of points.
        steps: the steps of the rule on this answer, in order, one sentence each.
    """

    metric: str
    points: float
    most: float
    steps: tuple[str, ...]


def total_score(main: Mapping[str, Sequence[float]]) -> float:
    """Compute the mean over datasets of the mean of each dataset's main metrics.

    Args:
        main: the values of the main metrics of every dataset that counts towards the total.

    Returns:
        The total; 0 without datasets.

    Example:
        >>> total_score({"RCB": [0.6, 0.8], "LCS": [0.5]})
        0.6
    """
    means = [sum(values) / len(values) for values in main.values()]
    return sum(means) / len(means) if means else 0.0
