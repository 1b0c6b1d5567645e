"""How fast answers come in, and when the study will be complete at this rate."""

from __future__ import annotations

from dataclasses import dataclass
from math import exp, sqrt
from typing import Final

import numpy as np
from numpy.typing import NDArray

from merilo.statistics.distributions import quantile_of

#: The recent time whose answers give the rate, in milliseconds.
WINDOW: Final = 3_600_000
#: The shortest time from the first answer on that gives a rate, in milliseconds.
SHORTEST: Final = 600_000
#: The window is divided into so many parts, from whose differences the uncertainty follows.
PARTS: Final = 12
#: Fewer recent answers give no rate.
FEWEST: Final = 10
#: If the bounds differ by more than this factor, there is no expected end.
VAGUE: Final = 20.0


@dataclass(frozen=True, slots=True)
class AnswerRate:
    """The rate of the recent answers.

    Attributes:
        answers: answers in the window.
        minutes: the length of the window.
        per_hour: answers in an hour.
        low: the lower bound of the 95 % interval of `per_hour`.
        high: the upper bound.
    """

    answers: int
    minutes: float
    per_hour: float
    low: float
    high: float

    def hours_for(self, answers: int) -> tuple[float, float, float] | None:
        """Return the hours until so many answers have come, and the bounds; `None` if the bounds tell nothing."""
        if self.high > VAGUE * self.low:
            return None
        return answers / self.per_hour, answers / self.high, answers / self.low


def answer_rate(times: NDArray[np.int64], now: int) -> AnswerRate | None:
    """Compute the rate of the answers of the last hour, or since the first answer if that is less than an hour ago.

    The window is divided into 12 parts. The variance of the count n is phi n, where phi is the variance of the parts' counts divided by
    their mean, and at least 1 as for a Poisson process. The interval is  rate * exp(± t sqrt(phi / n)),  with Student's quantile t of
    11 degrees of freedom. It holds if people go on as in the window: it cannot know that the night comes.

    Args:
        times: shape (n,), when the answers came, in milliseconds since 1970, in any order.
        now: the time, in milliseconds since 1970.

    Returns:
        The rate; `None` with fewer than 10 answers in the window, or within 10 minutes after the first answer.
    """
    if not times.size:
        return None
    window = min(WINDOW, now - int(times.min()))
    if window < SHORTEST:
        return None
    ago = now - times
    recent = ago[(ago >= 0) & (ago < window)]
    n = int(recent.size)
    if n < FEWEST:
        return None
    counts = np.bincount(recent * PARTS // window, minlength=PARTS)[:PARTS]
    phi = max(1.0, float(counts.var(ddof=1) / counts.mean()))
    rate = n * 3_600_000 / window
    factor = exp(quantile_of(0.975, PARTS - 1) * sqrt(phi / n))
    return AnswerRate(n, window / 60_000, rate, rate / factor, rate * factor)


def progress_points(times: NDArray[np.int64], now: int, points: int = 60) -> list[tuple[float, int]]:
    """Return how the number of answers grew from the first answer until now.

    Args:
        times: shape (n,), when the answers came, in milliseconds since 1970.
        now: the time, in milliseconds since 1970.
        points: how many points to return at most.

    Returns:
        Hours since the first answer, and the answers until then; empty without answers.
    """
    if not times.size:
        return []
    first = int(times.min())
    last = max(now, int(times.max()))
    if last == first:
        return [(0.0, int(times.size))]
    moments = np.linspace(first, last, points)
    counts = np.searchsorted(np.sort(times), moments, side="right")
    return [((moment - first) / 3_600_000, int(n)) for moment, n in zip(moments.tolist(), counts.tolist(), strict=True)]  # fmt: skip
