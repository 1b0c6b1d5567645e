"""Speed compared with the others: annotators who were too fast to have read the text."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from merilo.people.quality.work import Work
from merilo.statistics.arrays import FloatArray

#: More characters a second than anyone can read: a fast reader reaches 25 to 30, skimming 60.
READING_LIMIT = 100.0

#: Scales the median absolute deviation to the standard deviation of normal data.
MAD_TO_SD = 1.4826

#: Lower bound of the spread: differences in pace of a tenth never count as large, even in a very uniform pool.
LEAST_SPREAD = 0.1


@dataclass(frozen=True, slots=True)
class Pace:
    """The speed of one annotator.

    Attributes:
        pages: pages with a known time.
        seconds: median seconds per page, NaN without such pages.
        times_faster: how many times faster than the typical annotator on pages of the same length; below 1, slower.
        z: the same on the logarithmic scale, in robust standard deviations over annotators; below 0, faster.
        fast_pages: share of pages faster than all but one in a thousand pages of an average annotator.
        characters_per_second: median reading speed implied by the times; NaN if lengths are unknown.
        hasty: `z` at or below -3 and at least twice as fast as the typical annotator.
        unreadable: faster than anyone can read.
    """

    pages: int
    seconds: float
    times_faster: float
    z: float
    fast_pages: float
    characters_per_second: float
    hasty: bool
    unreadable: bool

    @property
    def too_fast(self) -> bool:
        """Whether the annotator is flagged for either reason."""
        return self.hasty or self.unreadable


_UNKNOWN = Pace(
    0, float("nan"), float("nan"), float("nan"), float("nan"), float("nan"), hasty=False, unreadable=False
)


def pace(work: Work, *, reading_limit: float = READING_LIMIT) -> list[Pace]:
    """Compute the pace of every annotator compared with the others.

    The logarithm of the seconds per page is regressed on the logarithm of the text length by least absolute
    deviations. An annotator's pace is the median of their residuals; annotators are compared by the median and the
    median absolute deviation of these medians.

    Args:
        work: the answers, with pages and seconds; without them every pace is unknown.
        reading_limit: a reading speed, in characters per second, that is impossible for people.

    Returns:
        One `Pace` per annotator, in the order of their codes.
    """
    people = work.votes.annotators
    if work.seconds is None or len(work) == 0:
        return [_UNKNOWN] * people
    person, seconds, characters = _pages(work, work.seconds)
    if person.size == 0:
        return [_UNKNOWN] * people
    residual = _residuals(np.log(seconds), np.log(np.maximum(1.0, characters)))
    pages = np.bincount(person, minlength=people)
    own = _medians(residual, person, people)
    known = own[~np.isnan(own)]
    centre = float(np.median(known))
    between = max(LEAST_SPREAD, MAD_TO_SD * float(np.median(np.abs(known - centre))))
    within = MAD_TO_SD * float(np.median(np.abs(residual - own[person])))
    # One page in a thousand of an average annotator lies below this.
    floor = centre - 3.09 * math.hypot(between, within)
    median_seconds, reading = (_medians(values, person, people) for values in (seconds, characters / seconds))
    fast = np.bincount(person[residual < floor], minlength=people) / np.maximum(pages, 1)
    result = []
    for code, (count, middle) in enumerate(zip(pages.tolist(), own.tolist(), strict=True)):
        if count == 0:
            result.append(_UNKNOWN)
            continue
        error = 1.2533 * within / math.sqrt(count)
        z = (middle - centre) / math.hypot(between, error)
        speed = float(reading[code])
        result.append(
            Pace(
                count,
                float(median_seconds[code]),
                math.exp(centre - middle),
                z,
                float(fast[code]),
                speed,
                hasty=z <= -3.0 and middle - centre <= -math.log(2.0),
                unreadable=not math.isnan(speed) and speed > reading_limit,
            )
        )
    return result


def _medians(values: FloatArray, group: NDArray[np.int32], groups: int) -> FloatArray:
    """Compute the median of each group's values, shape (groups,); NaN for a group without values, or with an unknown value."""
    ordered = values[np.lexsort((values, group))]
    size = np.bincount(group, minlength=groups)
    start = np.cumsum(size) - size
    last = np.maximum(start + size - 1, 0)
    low, high = start + np.maximum(size - 1, 0) // 2, start + size // 2
    inside = np.minimum(np.stack((low, high, last)), max(ordered.size - 1, 0))
    lower, upper, largest = ordered[inside]
    # Unknown values are sorted to the end.
    known = (size > 0) & ~np.isnan(largest)
    return np.asarray(np.where(known, (lower + upper) / 2, np.nan), dtype=np.float64)


def _pages(work: Work, seconds: FloatArray) -> tuple[NDArray[np.int32], FloatArray, FloatArray]:
    """Compute annotator, seconds and characters of pages with a known time; an answer without a page counts as a page."""
    page = np.arange(len(work)) if work.page is None else work.page
    characters = np.full(len(work), np.nan) if work.characters is None else work.characters
    timed = np.flatnonzero(np.isfinite(seconds) & (seconds > 0))
    _, first, inverse = np.unique(page[timed], return_index=True, return_inverse=True)
    total = np.bincount(inverse, characters[timed], first.size).astype(np.float64)
    rows = timed[first]
    return work.votes.annotator[rows], seconds[rows], total


def _residuals(y: FloatArray, x: FloatArray) -> FloatArray:
    """Residuals of `y` after regression on `x` by least absolute deviations (reweighted least squares)."""
    usable = np.isfinite(x)
    if usable.sum() < 10 or np.ptp(x[usable]) < 1e-9:
        return y - float(np.median(y))
    across, up = x[usable] - x[usable].mean(), y[usable]
    weight: FloatArray = np.ones(across.size)
    line: FloatArray = np.zeros(2)
    for _ in range(30):
        sloped = weight * across
        square = np.array([[weight.sum(), sloped.sum()], [sloped.sum(), sloped @ across]])
        line = np.linalg.solve(square + 1e-9 * np.eye(2), np.array([weight @ up, sloped @ up]))
        weight = 1.0 / np.maximum(1e-3, np.abs(up - line[0] - line[1] * across))
    # The slope is limited to 0 to 1: longer texts take no less time, and at most time in proportion to their length.
    slope = min(1.0, max(0.0, float(line[1])))
    left = y - slope * np.where(usable, x - x[usable].mean(), 0.0)
    return left - float(np.median(left))
