"""Interval estimates of metrics: Wilson's for proportions, the bootstrap for everything else."""

from __future__ import annotations

from math import sqrt
from statistics import NormalDist

from merilo.metrics.score import Interval


def wilson(successes: int, n: int, level: float = 0.95) -> Interval:
    """Wilson's score interval of a proportion of independent items.

    With p = successes / n and z the normal quantile of (1 + level) / 2:

        (p + z^2 / 2n  ±  z * sqrt(p (1 - p) / n + z^2 / 4n^2)) / (1 + z^2 / n)

    Unlike p ± z * s it stays inside [0, 1] and does not shrink to a point at 0 or 1.

    Args:
        successes: how many items were right, 0 .. n.
        n: how many items there are. Of no items nothing is known: the interval is [0, 1].
        level: the nominal coverage, in (0, 1).

    Raises:
        ValueError: when `successes` is outside 0 .. n, or `level` outside (0, 1).

    References:
        E. B. Wilson (1927), Probable inference, the law of succession, and statistical inference. JASA 22, 209-212.

    Example:
        >>> interval = wilson(100, 100)
        >>> round(interval.low, 3), interval.high
        (0.963, 1.0)
    """
    if not 0 <= successes <= n:
        raise ValueError(f"{successes} successes of {n} items cannot be")
    if not 0 < level < 1:
        raise ValueError(f"the level must lie between 0 and 1, not {level}")
    if n == 0:
        return Interval(0.0, 1.0, level, "Wilson score")
    z = NormalDist().inv_cdf((1 + level) / 2)
    p = successes / n
    centre = p + z * z / (2 * n)
    spread = z * sqrt(p * (1 - p) / n + z * z / (4 * n * n))
    scale = 1 + z * z / n
    # At the ends the formula gives exactly 0 and 1; floating point would leave 1e-17 or 0.9999999999999999.
    low = 0.0 if successes == 0 else max(0.0, (centre - spread) / scale)
    high = 1.0 if successes == n else min(1.0, (centre + spread) / scale)
    return Interval(low, high, level, "Wilson score")
