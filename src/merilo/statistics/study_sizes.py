"""The size of a study that would tell what this one could not: items and annotators, from its own variances."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import ceil, floor, log10, sqrt
from typing import Final

from merilo.statistics.crossed_difference import CrossedDifference
from merilo.statistics.distributions import student_quantile

#: A study beyond this size is not suggested.
MOST: Final = 10_000_000
_ROUNDS: Final = 30


@dataclass(frozen=True, slots=True)
class StudySize:
    """The approximate size of a study.

    Attributes:
        items: the number of items, rounded up to two digits if it is more than the study at hand has.
        annotators: the number of annotators, rounded up likewise.
    """

    items: int
    annotators: int


def size_for_margin(found: CrossedDifference, margin: float, *, power: float = 0.8) -> StudySize | None:
    """Estimate the study that shows equivalence within a margin if the true difference is the observed one.

    The standard error must be at most  (margin - |difference|) / (t_0.95 + t_{(1 + power) / 2}).

    Args:
        found: the study at hand; its variances and its numbers of items and annotators are used.
        margin: the margin, in (0, 1).
        power: the probability of showing equivalence.

    Returns:
        The size; `None` if it is above `MOST`, if the difference is outside the margin, or if this study is large enough.

    References:
        S. Julious (2004), Sample sizes for clinical trials with normal data. Statistics in Medicine 23, 1921-1986.
    """
    return _size(found, margin - abs(found.value), lambda freedom: _quantiles(freedom, 0.95, (1 + power) / 2))


def size_for_difference(found: CrossedDifference, *, power: float = 0.8) -> StudySize | None:
    """Estimate the study that detects the observed difference, if it is the true one, by the two-sided test at 5 %.

    The standard error must be at most  |difference| / (t_0.975 + t_power).

    Args:
        found: the study at hand.
        power: the probability of detecting the difference.

    Returns:
        The size; `None` if it is above `MOST`, if the difference is 0, or if this study is large enough.
    """
    return _size(found, abs(found.value), lambda freedom: _quantiles(freedom, 0.975, power))


def _quantiles(freedom: float, test: float, power: float) -> float:
    return student_quantile(test, freedom) + student_quantile(power, freedom)


def _size(found: CrossedDifference, distance: float, quantiles: Callable[[float], float]) -> StudySize | None:
    """Find the sizes with the smallest sum of relative growths; the two variances fall as 1 / items and 1 / annotators."""
    if distance <= 0:
        return None
    items, people = found.item_variance, found.annotator_variance
    freedom, grown = found.freedom, (1.0, 1.0)
    for _ in range(_ROUNDS):
        grown = _growth(items, people, (distance / quantiles(freedom)) ** 2)
        more = max(found.n * grown[0] - 1, 1.0), max(found.annotators * grown[1] - 1, 1.0)
        parts = items / grown[0], people / grown[1]
        freedom = max(sum(parts) ** 2 / (parts[0] ** 2 / more[0] + parts[1] ** 2 / more[1]), 1.0)
    wanted = found.n * grown[0], found.annotators * grown[1]
    if max(wanted) > MOST or max(grown) <= 1:
        return None
    size = [
        _two_digits(number) if more > 1 else round(number) for number, more in zip(wanted, grown, strict=True)
    ]
    return StudySize(*size)


def _growth(items: float, people: float, wanted: float) -> tuple[float, float]:
    """Compute how many times more items and annotators give the wanted variance; neither number becomes smaller."""
    if items + people <= wanted:
        return 1.0, 1.0
    both = sqrt(items) + sqrt(people)
    more_items, more_people = sqrt(items) * both / wanted, sqrt(people) * both / wanted
    if more_items < 1:
        return 1.0, people / (wanted - items)
    if more_people < 1:
        return items / (wanted - people), 1.0
    return more_items, more_people


def _two_digits(number: float) -> int:
    """Round a number up to two digits.

    Example:
        >>> _two_digits(1234.5), _two_digits(97), _two_digits(7.2)
        (1300, 97, 8)
    """
    step: int = 10 ** max(floor(log10(max(number, 1.0))) - 1, 0)
    return ceil(ceil(number - 1e-9) / step) * step
