"""Inter-annotator agreement: Krippendorff's alpha with its interval, and how many answers lead each item.

The influences of items and answers on alpha have closed forms, so the time grows with the number of answers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

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
    expected = _apart(n, sums.squares.sum(), sums.length)
    if len(np.unique(votes.label)) < 2 or expected <= 0:
        return float("nan")
    return float(1 - (_apart(m, sums.item_squares, sums.item_length) / (m - 1)).sum() * (n - 1) / expected)


def _pairable(
    votes: Votes, level: Level, values: ArrayLike | None
) -> tuple[Votes, NDArray[np.intp], FloatArray, _Sums]:
    """Return the answers to items with two or more, the row of each answer's item, the items' answers, and the sums."""
    votes = votes.where(np.bincount(votes.item, minlength=votes.items)[votes.item] >= 2)
    _, item, overlap = np.unique(votes.item, return_inverse=True, return_counts=True)
    m = overlap.astype(np.float64)
    return votes, item, m, _Sums(votes, item, m, level, values)


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
    n, within = float(len(votes)), _apart(m, sums.item_squares, sums.item_length) / (m - 1)
    apart, squares = float(within.sum()), float(sums.squares.sum())

    def alpha(disagreement: FloatArray, answers: FloatArray, left: FloatArray) -> FloatArray:
        """Return alpha of what is left: 1 if one label is left."""
        return np.asarray(
            1 - np.divide(disagreement * (answers - 1), left, out=np.zeros_like(left), where=left > 1e-9)
        )

    whole = np.array([_apart(n, squares, sums.length)])
    value = float(alpha(np.array([apart]), np.array([n]), whole)[0])
    without = _apart(n - m, squares - sums.item_squares, sums.length - 2 * sums.shared + sums.item_length)
    of_item = alpha(apart - within, n - m, without)
    # The sums of an answer's item, and of all answers, without the answer.
    item_squares, all_squares = sums.item_squares[item] - sums.squares, squares - sums.squares
    item_length = sums.item_length[item] - 2 * sums.in_item + sums.squares
    all_length = sums.length - 2 * sums.in_all + sums.squares
    # Of two answers, the other one is no longer comparable if one is left out.
    pair = m[item] == 2
    fewer: FloatArray = np.maximum(m[item] - 1, 2.0)
    after = np.where(pair, 0.0, _apart(fewer, item_squares, item_length) / (fewer - 1))
    left = n - np.where(pair, 2.0, 1.0)
    of_all = np.where(pair, without[item], _apart(left, all_squares, all_length))
    of_answer = alpha(apart - within[item] + after, left, of_all)
    moved = ((left_out.mean() - left_out) * (1 - 1 / len(left_out)) for left_out in (of_item, of_answer))
    # The same if the answer were one of the labels at random.
    random = sums.random_square
    guessed = _apart(m[item], item_squares + random, item_length + 2 * sums.random_in_item + random)
    chance = _apart(n, all_squares + random, all_length + 2 * sums.random_in_all + random)
    change = apart - within[item] + guessed / (m[item] - 1)
    guess = _GUESSER * (alpha(change, np.full(len(votes), n), chance) - value)
    influence = Influence(next(moved), next(moved), votes.item, votes.annotator, guess)
    if votes.cluster is not None:
        influence = influence.clustered(votes.cluster[items], votes.unit)
    return value, len(items), influence


def _apart(answers: Any, squares: Any, length: Any) -> FloatArray:  # noqa: ANN401 - numbers or arrays
    """Return half the sum of squared distances between answers, by the squared lengths of them and of their sum."""
    return np.asarray(answers * squares - length, dtype=np.float64)


class _Sums:
    """Sums over answers as points in a space in which the distances of labels are those of the level.

    Names are unit vectors at right angles, so that two of them are as far apart as any others; numbers are points on
    a line.

    Attributes:
        squares: shape (n,), the squared length of each answer.
        length: the squared length of the sum of all answers.
        item_squares: shape (items,), the sum of `squares` of each item.
        item_length: shape (items,), the squared length of the sum of each item's answers.
        shared: shape (items,), the product of the sums of each item and of all answers.
        in_item: shape (n,), the product of each answer and the sum of its item.
        in_all: shape (n,), the product of each answer and the sum of all.
        random_square: the mean of the squared lengths of the labels.
        random_in_item: shape (n,), the product of the mean of the labels and the sum of an answer's item without it.
        random_in_all: shape (n,), the product of the mean of the labels and the sum of all answers without it.
    """

    def __init__(
        self, votes: Votes, item: NDArray[np.intp], m: FloatArray, level: Level, values: ArrayLike | None
    ) -> None:
        total = np.bincount(votes.label, minlength=votes.labels).astype(np.float64)
        if level == "nominal":
            labels, tally = max(len(np.unique(votes.label)), 1), votes.tally()
            count, of = tally.votes.astype(np.float64), np.unique(tally.item, return_inverse=True)[1]
            self.squares, self.length = np.ones(len(votes)), float(total @ total)
            self.item_length: FloatArray = np.bincount(of, count**2).astype(np.float64)
            self.shared: FloatArray = np.bincount(of, count * total[tally.label]).astype(np.float64)
            self.in_item, self.in_all = votes.agreeing().astype(np.float64), total[votes.label]
            self.random_square = 1.0
            self.random_in_item = (m[item] - 1) / labels
            self.random_in_all = np.full(len(votes), (len(votes) - 1) / labels)
        else:
            x = _numbers_of_labels(total, level, values)[votes.label]
            own: FloatArray = np.bincount(item, x).astype(np.float64)
            labels_given, whole = np.unique(x), float(x.sum())
            self.squares, self.length = x * x, whole**2
            self.item_length, self.shared = np.square(own), own * whole
            self.in_item, self.in_all = own[item] * x, whole * x
            mean, self.random_square = (
                float(v.mean()) if len(x) else 0.0 for v in (labels_given, labels_given**2)
            )
            self.random_in_item, self.random_in_all = mean * (own[item] - x), mean * (whole - x)
        self.item_squares = np.bincount(item, self.squares).astype(np.float64)


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
