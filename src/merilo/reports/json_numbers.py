"""Numbers and scores in JSON."""

from __future__ import annotations

from math import isfinite

from merilo.metrics.score import Score
from merilo.strict_json import Json


def rounded(value: float) -> float | None:
    """Round a number to six digits; a number that is not defined becomes null."""
    return round(value, 6) if isfinite(value) else None


def score_json(score: Score) -> dict[str, Json]:
    """Return the value of a score, its 95 % interval and the number of items."""
    interval = score.interval
    return {
        "value": rounded(score.value),
        "ci95": [rounded(interval.low), rounded(interval.high)] if interval else None,
        "n": score.n,
    }
