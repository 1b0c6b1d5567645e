"""Intervals of shares and of scores over items alone: of models, of control items, of one person."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from math import ceil
from statistics import NormalDist
from typing import Final

import numpy as np
import scipy
from numpy.typing import NDArray

from merilo.statistics.crossed import Influence, crossed, wilson_form

#: Bounds the memory of arrays that are computed at once: 4 million doubles.
DRAWS_AT_ONCE: Final = 4_000_000


@dataclass(frozen=True, slots=True)
class Interval:
    """A confidence interval.

    Attributes:
        low: the lower bound.
        high: the upper bound.
        level: the nominal coverage, 0.95 by default.
        method: the method in words: "Wilson score", "Wilson's form over 120 clusters of items".
    """

    low: float
    high: float
    level: float = 0.95
    method: str = ""


def wilson(successes: int, n: int, level: float = 0.95) -> Interval:
    """Compute Wilson's score interval of a proportion of independent items.

    With p = successes / n and z the normal quantile of (1 + level) / 2:

        (p + z^2 / 2n  ±  z * sqrt(p (1 - p) / n + z^2 / 4n^2)) / (1 + z^2 / n)

    Unlike p ± z * s it stays inside [0, 1] and does not shrink to a point at 0 or 1.

    Args:
        successes: the number of items answered correctly, 0 .. n.
        n: the number of items. With 0 items the interval is [0, 1].
        level: the nominal coverage, in (0, 1).

    Raises:
        ValueError: `successes` is outside 0 .. n, or `level` is outside (0, 1).

    References:
        E. B. Wilson (1927), Probable inference, the law of succession, and statistical inference. JASA 22, 209-212.

    Example:
        >>> interval = wilson(100, 100)
        >>> round(interval.low, 3), interval.high
        (0.963, 1.0)
    """
    if not 0 <= successes <= n:
        raise ValueError(f"{successes} successes of {n} items are impossible")
    if not 0 < level < 1:
        raise ValueError(f"the level must be between 0 and 1, not {level}")
    if n == 0:
        return Interval(0.0, 1.0, level, "Wilson score")
    z = NormalDist().inv_cdf((1 + level) / 2)
    low, high = wilson_form(successes / n, n, z)
    return Interval(low, high, level, "Wilson score")


def exact_interval(successes: float, n: float, level: float = 0.95) -> Interval:
    """Compute Clopper and Pearson's interval of a proportion.

    Its coverage is at least the nominal level for any number of trials.

    Args:
        successes: the number of successes, 0 .. n; divided by a design effect, it need not be whole.
        n: the number of trials.
        level: the nominal coverage, in (0, 1).

    References:
        C. Clopper, E. Pearson (1934), The use of confidence or fiducial limits. Biometrika 26, 404-413.

    Example:
        >>> interval = exact_interval(9, 10)
        >>> round(interval.low, 3), round(interval.high, 4)
        (0.555, 0.9975)
    """
    tail, failures = (1 - level) / 2, n - successes
    low = 0.0 if successes == 0 else float(scipy.special.betaincinv(successes, failures + 1, tail))
    high = 1.0 if failures == 0 else float(scipy.special.betaincinv(successes + 1, failures, 1 - tail))
    return Interval(low, high, level, "Clopper-Pearson")


def at_least(successes: int, n: int, p: float) -> float:
    """Compute the probability of at least `successes` successes in `n` independent trials with success probability `p`.

    Example:
        >>> round(at_least(2, 3, 0.5), 3)
        0.5
    """
    if successes <= 0:
        return 1.0
    if successes > n:
        return 0.0
    return float(scipy.special.betainc(successes, n - successes + 1, p))


def at_most(successes: int, n: int, p: float) -> float:
    """Compute the probability of at most `successes` successes in `n` independent trials with success probability `p`.

    Example:
        >>> round(at_most(0, 3, 0.5), 3)
        0.125
    """
    return at_least(n - successes, n, 1 - p)


def cluster_codes(clusters: Sequence[Hashable]) -> NDArray[np.int64]:
    """Encode clusters as integers 0 .. m-1 in order of first appearance, shape (n,)."""
    codes: dict[Hashable, int] = {}
    return np.fromiter((codes.setdefault(name, len(codes)) for name in clusters), np.int64, len(clusters))


def interval_over_items(
    value: float,
    influence: Influence,
    clusters: Sequence[Hashable] | None = None,
    *,
    bounds: tuple[float, float] = (0.0, 1.0),
    over: str = "items",
) -> Interval | None:
    """Compute the interval of a score over items, as `crossed` does without annotators.

    Args:
        value: the score.
        influence: the influence of each item on it, in the order of the dataset; nobody answers.
        clusters: shape (n,), equal values for items of one cluster; by default, items are independent. Of a single
            cluster (one dialogue), blocks of ceil(n^(1/3)) neighbouring items take the place of clusters.
        bounds: the smallest and the largest possible value.
        over: the unit of the influences, in the plural: "items", "variants".

    Returns:
        The interval; `None` with fewer than two items.

    References:
        H. Künsch (1989), The jackknife and the bootstrap for general stationary observations. Annals of Statistics 17,
        1217-1241 (blocks).
    """
    n = len(influence.items)
    if not n:
        return None
    method = f"Wilson's form over {over}"
    codes = None if clusters is None else cluster_codes(clusters)
    if codes is not None and n > 1 and codes.max() == 0:
        codes = np.arange(n) // min(ceil(n ** (1 / 3)), n // 2)
        method = f"Wilson's form over {int(codes[-1]) + 1} blocks of neighbouring items"
    elif codes is not None and codes.max() < n - 1:
        method = f"Wilson's form over {int(codes.max()) + 1} clusters of items"
    if codes is not None:
        influence = influence.clustered(codes, influence.unit)
    ends = crossed(value, influence, bounds).interval()
    return None if ends is None else Interval(*ends, 0.95, method)
