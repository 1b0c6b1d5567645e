"""Inter-annotator agreement: Krippendorff's alpha with its interval, and how many answers lead each item.

The influences of items and answers on alpha have closed forms, so the time grows with the number of answers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

import numpy as np
import polars as pl
from numpy.typing import ArrayLike, NDArray

from merilo.errors import UsageError
from merilo.estimate import Estimate
from merilo.people.frames import Frame, encoded
from merilo.people.spelling import plain_number
from merilo.people.votes import Votes, run_starts
from merilo.records import Ends, Number, Record
from merilo.responses import Responses
from merilo.settings import Level
from merilo.statistics import FloatArray
from merilo.statistics.crossed import Influence, crossed
from merilo.wording import listed


def krippendorff_alpha(votes: Votes, level: Level = "nominal", *, values: ArrayLike | None = None) -> float:
    """Compute Krippendorff's alpha: 1 - observed disagreement / disagreement expected by chance.

    Items may have any number of answers; those with fewer than two are left out. Time and
    memory grow with the number of votes, not with items x labels or labels squared.

    Args:
        votes: the answers.
        level: the distance between two labels: "nominal" (0 or 1), "ordinal" (by the answers between them, in the
            order of the codes), "interval" (by the squared difference of `values`).
        values: shape (labels,), the number behind each label, used for "interval" only; by default the codes
            themselves.

    Returns:
        Alpha: 1 is full agreement, 0 what chance gives, below 0 systematic disagreement. NaN if it is not defined: no
        item has two answers, or all comparable answers have the same label.

    Raises:
        UsageError: `level` is not one of the three, or `values` does not give one finite number per label.

    References:
        K. Krippendorff, Computing Krippendorff's Alpha-Reliability (2011).

    Example:
        >>> votes = Votes(*np.array([[0, 0, 1, 1, 2, 2], [0, 1, 0, 1, 0, 1], [0, 0, 1, 1, 0, 1]]), 3, 2, 2)
        >>> round(krippendorff_alpha(votes), 4)
        0.4444
    """
    votes, _, m, sums = _pairable(votes, level, values)
    n = float(len(votes))
    expected = sums.expected(n)
    if len(np.unique(votes.label)) < 2 or expected <= 0:
        return float("nan")
    return float(1 - sums.disagreement(m, sums.item).sum() * (n - 1) / expected)


def _pairable(
    votes: Votes, level: Level, values: ArrayLike | None
) -> tuple[Votes, NDArray[np.intp], FloatArray, _Nominal | _Numbers]:
    """Return the answers to items with two or more, the row of each answer's item, the items' answers, and the sums."""
    votes = votes.where(np.bincount(votes.item, minlength=votes.items)[votes.item] >= 2)
    _, item, overlap = np.unique(votes.item, return_inverse=True, return_counts=True)
    total = np.bincount(votes.label, minlength=votes.labels).astype(np.float64)
    sums = _Nominal(votes, item, total) if level == "nominal" else _Numbers(votes, item, total, level, values)
    return votes, item, overlap.astype(np.float64), sums


def _numbers_of_labels(totals: FloatArray, level: str, values: ArrayLike | None) -> FloatArray:
    """Return the numbers whose squared differences are the distances of this level, centred on their mean."""
    if level == "ordinal":
        # Krippendorff's ordinal distance is the difference of the labels' middle ranks.
        number = np.cumsum(totals) - totals / 2
    elif level == "interval":
        number = (
            np.arange(totals.size, dtype=np.float64) if values is None else np.array(values, dtype=np.float64)
        )
    else:
        raise UsageError(
            f"there is no level of measurement '{level}' (choose from: nominal, ordinal, interval)"
        )
    if number.shape != totals.shape or not np.isfinite(number).all():
        raise UsageError(f"the interval level needs one finite number for each of the {totals.size} labels")
    centred: FloatArray = number - (totals @ number) / max(totals.sum(), 1)
    return centred


def on_scale(
    votes: Votes, names: Sequence[str], level: Level, order: Sequence[str] = ()
) -> tuple[Votes, NDArray[np.float64] | None]:
    """Return the votes with label codes in the order of the scale, and the numbers behind the labels.

    An ordinal scale uses the declared order of labels if that includes every label, otherwise that of numbers.

    Args:
        votes: the answers.
        names: the labels' names, by code.
        level: the level of measurement.
        order: the dataset's labels, lowest first.

    Returns:
        The votes, and the numbers of the labels by new code (`None` unless the level is interval).

    Raises:
        UsageError: the level is interval and a label is not a number, or it is ordinal and the order is not known.

    Example:
        >>> votes = Votes(*np.array([[0, 0, 0], [0, 1, 2], [0, 1, 2]]), 1, 3, 3)
        >>> ordered, _ = on_scale(votes, ["1", "10", "9"], "ordinal")
        >>> ordered.label.tolist()
        [0, 2, 1]
    """
    if level == "nominal":
        return votes, None
    if level == "interval":
        wrong = next((name for name in names if plain_number(name) is None), None)
        if wrong is not None:
            raise UsageError(
                f"agreement on the interval level needs numeric answers, but '{wrong}' is not a number"
            )
        return votes, places_on_scale(names)
    places = places_on_scale(names, order)
    if places is None:
        strange = next(name for name in names if name not in order and (order or plain_number(name) is None))
        raise UsageError(
            f"the ordinal level needs the order of the labels, and '{strange}' "
            + (f"is not in the order {listed(order)}" if order else "is not a number")
            + ": declare 'order' from low to high in reading.yaml"
        )
    # Names with the same value ("1" and "1.0") share a code.
    _, code = np.unique(places, return_inverse=True)
    return replace(votes, label=code.astype(np.int32)[votes.label]), None


def places_on_scale(names: Sequence[str], order: Sequence[str] = ()) -> NDArray[np.float64] | None:
    """Return the places of labels on a scale, shape (labels,): in the order, or as numbers; `None` if it is unknown.

    Example:
        >>> places_on_scale(["good", "bad"], ["bad", "good"]), places_on_scale(["1", "2,5"]), places_on_scale(["bad"])
        (array([1., 0.]), array([1. , 2.5]), None)
    """
    place = {name: float(number) for number, name in enumerate(order)}
    if not all(name in place for name in names):
        place = {name: float(number) for name in names if (number := plain_number(name)) is not None}
    return np.array([place[name] for name in names]) if len({*names} - {*place}) == 0 else None


#: Agreement allows for one guesser, not half a one: with half a one, alpha of ranks covered 89 %.
_GUESSER: Final = 2**0.5


def alpha_influence(
    votes: Votes, level: Level = "nominal", values: ArrayLike | None = None
) -> tuple[float, int, Influence]:
    """Compute Krippendorff's alpha, and the influence of items and answers on it, from leaving each one out.

    Ranks of the ordinal level stay as they are.

    Args:
        votes: the answers, at most one per annotator and item; alpha must be defined (see `krippendorff_alpha`).
        level: the level of measurement.
        values: as for `krippendorff_alpha`.

    Returns:
        Alpha, the number of items with two answers or more, and the influence.

    References:
        B. Efron, C. Stein (1981), The jackknife estimate of variance. Annals of Statistics 9, 586-596.
        K. L. Gwet (2008), Variance estimation of nominal-scale inter-rater reliability with random selection of raters.
        Psychometrika 73, 407-430 (the variances over items and over raters are added).
    """
    votes, item, m, sums = _pairable(votes, level, values)
    items = np.unique(votes.item)
    n, within = float(len(votes)), sums.disagreement(m, sums.item)
    apart = float(within.sum())

    def alpha(disagreement: FloatArray, answers: FloatArray, left: FloatArray) -> FloatArray:
        """Return alpha of what is left: 1 if one label is left."""
        return np.asarray(
            1 - np.divide(disagreement * (answers - 1), left, out=np.zeros_like(left), where=left > 1e-9)
        )

    value = float(alpha(np.array([apart]), np.array([n]), np.array([sums.expected(n)]))[0])
    of_item = alpha(apart - within, n - m, sums.without_items(n - m))
    # Of two answers, the other one is no longer comparable if one is left out.
    pair = m[item] == 2
    fewer: FloatArray = np.maximum(m[item] - 1, 2.0)
    after = np.where(pair, 0.0, sums.disagreement(fewer, sums.without_own))
    left = n - np.where(pair, 2.0, 1.0)
    of_answer = alpha(
        apart - within[item] + after,
        left,
        np.where(pair, sums.without_items(n - m)[item], sums.without_answers(left)),
    )
    moved = ((left_out.mean() - left_out) * (1 - 1 / len(left_out)) for left_out in (of_item, of_answer))
    guessed, chance = sums.guessed(m[item], len(np.unique(votes.label)))
    guess = _GUESSER * (alpha(apart - within[item] + guessed, np.full(len(votes), n), chance) - value)
    influence = Influence(next(moved), next(moved), votes.item, votes.annotator, guess)
    if votes.cluster is not None:
        influence = influence.clustered(votes.cluster[items], votes.unit)
    return value, len(items), influence


class _Nominal:
    """Sums of votes, from which disagreement of names follows."""

    def __init__(self, votes: Votes, item: NDArray[np.intp], total: FloatArray) -> None:
        tally = votes.tally()
        count, of = tally.votes.astype(np.float64), np.unique(tally.item, return_inverse=True)[1]
        #: Shape (items,), the sum over labels of squared votes; and of votes times those of all items.
        self.item: FloatArray = np.bincount(of, count**2).astype(np.float64)
        self.shared = np.bincount(of, count * total[tally.label])
        own = votes.agreeing().astype(np.float64)
        #: Shape (n,), the sum of squared votes of an answer's item without the answer.
        self.without_own: FloatArray = self.item[item] - 2 * own + 1
        self.own, self.length = total[votes.label], float(total @ total)

    def disagreement(self, m: FloatArray, sums: FloatArray) -> FloatArray:
        """Return the pairs of different labels of items with m answers, divided by m - 1."""
        return np.asarray((m * m - sums) / (m - 1))

    def expected(self, n: float) -> float:
        """Return the pairs of different labels among all n answers."""
        return n * n - self.length

    def without_items(self, left: FloatArray) -> FloatArray:
        """Return the same without each item; `left` answers are left."""
        return np.asarray(left**2 - (self.length - 2 * self.shared + self.item))

    def without_answers(self, left: FloatArray) -> FloatArray:
        """Return the same without each answer."""
        return np.asarray(left**2 - (self.length - 2 * self.own + 1))

    def guessed(self, m: FloatArray, labels: int) -> tuple[FloatArray, FloatArray]:
        """Return the disagreement of each answer's item and of all, if the answer were one of the labels at random."""
        n = float(len(self.own))
        own = self.disagreement(m, self.without_own + 2 * (m - 1) / labels + 1)
        return own, np.asarray(n * n - (self.length - 2 * self.own + 2 * (n - 1) / labels + 2))


class _Numbers:
    """Sums of labels' numbers and of their squares, from which squared differences follow; as `_Nominal`."""

    def __init__(
        self, votes: Votes, item: NDArray[np.intp], total: FloatArray, level: Level, values: ArrayLike | None
    ) -> None:
        number = _numbers_of_labels(total, level, values)
        x = self.x = number[votes.label]
        self.first, self.second = np.bincount(item, x), np.bincount(item, x * x)
        self.sums = float(x.sum()), float(x @ x)
        self.item: FloatArray = np.stack([self.first, self.second]).astype(np.float64)
        self.without_own: FloatArray = np.stack([self.first[item] - x, self.second[item] - x * x])

    def disagreement(self, m: FloatArray, sums: FloatArray) -> FloatArray:
        """Return the sum of squared differences of items with m answers, divided by m - 1."""
        return np.asarray(2 * (m * sums[1] - sums[0] ** 2) / (m - 1))

    def expected(self, n: float) -> float:
        """Return the sum of squared differences among all n answers."""
        return 2 * (n * self.sums[1] - self.sums[0] ** 2)

    def without_items(self, left: FloatArray) -> FloatArray:
        """Return the same without each item."""
        return np.asarray(2 * (left * (self.sums[1] - self.second) - (self.sums[0] - self.first) ** 2))

    def without_answers(self, left: FloatArray) -> FloatArray:
        """Return the same without each answer."""
        return np.asarray(2 * (left * (self.sums[1] - self.x**2) - (self.sums[0] - self.x) ** 2))

    def guessed(self, m: FloatArray, labels: int) -> tuple[FloatArray, FloatArray]:
        """Return the same if each answer were one of the labels at random."""
        numbers = np.unique(self.x)
        mean, square, n = float(numbers.mean()), float(numbers @ numbers) / labels, float(len(self.x))

        def apart(m: FloatArray | float, first: FloatArray, second: FloatArray) -> FloatArray:
            return np.asarray(2 * (m * (second + square) - (first**2 + 2 * first * mean + square)))

        first, second = self.without_own
        return apart(m, first, second) / (m - 1), apart(n, self.sums[0] - self.x, self.sums[1] - self.x**2)


#: Why alpha is not defined.
UNDEFINED = "not defined: no item has two answers, or all comparable answers are the same"


def alpha_estimate(votes: Votes, level: Level = "nominal", values: ArrayLike | None = None) -> Estimate:
    """Return Krippendorff's alpha with its interval over items and annotators; `n` counts items with two answers.

    Args:
        votes: the answers, at most one per annotator and item.
        level: the level of measurement.
        values: shape (labels,), the numbers behind the labels, for the interval level.

    Example:
        >>> item, annotator = np.divmod(np.arange(300, dtype=np.int32), 3)
        >>> alpha = alpha_estimate(Votes(item, annotator, item % 2, 100, 3, 2))
        >>> alpha.value, alpha.n, alpha.people, alpha.ci95.high
        (1.0, 100, 3, 1.0)
    """
    if not np.isfinite(krippendorff_alpha(votes, level, values=values)):
        return Estimate(name="krippendorff_alpha", reason=UNDEFINED)
    value, n, influence = alpha_influence(votes, level, values)
    return crossed(value, influence, (-1.0, 1.0)).estimate("krippendorff_alpha", n)


class Agreement(Record):
    """Agreement of the annotators.

    Attributes:
        krippendorff_alpha: Krippendorff's alpha; `None` if it is not defined.
        ci95: its 95 % interval over items and annotators.
        reason: why there is no alpha or no interval.
        majority_sizes: votes of an item's most frequent label -> items, the largest first.
        n: the number of answers.
    """

    krippendorff_alpha: Number = None
    ci95: Ends = None
    reason: str | None = None
    majority_sizes: dict[int, int] = {}  # noqa: RUF012 - Pydantic copies defaults
    n: int = 0


def measure(votes: Votes, level: Level = "nominal", values: ArrayLike | None = None) -> Agreement:
    """Compute the agreement of answers; the arguments are those of `alpha_estimate`."""
    alpha = alpha_estimate(votes, level, values)
    return Agreement(
        krippendorff_alpha=alpha.value,
        ci95=alpha.ci95,
        reason=alpha.reason,
        majority_sizes=majority_sizes(votes),
        n=len(votes),
    )


def majority_sizes(votes: Votes) -> dict[int, int]:
    """Votes of an item's most frequent label -> how many items, the largest first; items without votes are left out."""
    tally = votes.tally()
    if not tally.item.size:
        return {}
    sizes, items = np.unique(np.maximum.reduceat(tally.votes, run_starts(tally.item)), return_counts=True)
    return {int(size): int(n) for size, n in zip(sizes[::-1], items[::-1], strict=True)}


def agreement(data: Frame | Responses, *, level: Level = "nominal", order: Sequence[str] = ()) -> Agreement:
    """Compute Krippendorff's alpha with its 95 % interval over items and annotators.

    Args:
        data: a table of pandas or Polars with the columns `task`, `worker` and `label`, or the result of
            `read_responses`: its answers to items, without those to control items, of all annotators.
        level: "nominal", "ordinal" or "interval".
        order: the labels from the lowest to the highest, for the ordinal level; by default, in numeric or
            alphabetical order.

    Raises:
        UsageError: a column is missing, or a label is not a number on the interval level.

    Example:
        >>> frame = pl.DataFrame({"task": [1, 1, 2, 2], "worker": [*"abab"], "label": [*"xxyy"]})
        >>> agreement(frame).krippendorff_alpha
        1.0
    """
    encoding = encoded(data)
    votes, values = on_scale(encoding.votes, encoding.labels.cast(pl.String).to_list(), level, order)
    return measure(votes, level, values)
