"""How one answer was judged, told step by step: what `merilo score --explain` prints."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Judgement:
    """The points that one answer earned under one rule, and why.

    Attributes:
        metric: the metric that the points go into: "acc", "f1", "grade_norm".
        points: what the answer earned.
        most: what it could have earned.
        steps: the rule's steps on this answer, in order, a sentence each.
    """

    metric: str
    points: float
    most: float
    steps: tuple[str, ...]
