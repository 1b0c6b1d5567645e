"""Step-by-step explanation of how one answer was judged, as `merilo score --explain` prints it."""

from __future__ import annotations

from dataclasses import dataclass


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
