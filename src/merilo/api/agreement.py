"""`merilo.agreement`: coefficients of agreement between annotators."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from merilo.api.aggregation import encoded
from merilo.people.agreement import Agreement, measure, on_scale
from merilo.people.frames import Frame
from merilo.settings import Level


def agreement(
    data: Frame,
    *,
    level: Level = "nominal",
    order: Sequence[str] = (),
    intervals: bool = True,
) -> Agreement:
    """Compute Krippendorff's alpha, Fleiss' kappa and Gwet's AC1 with 95 % confidence intervals.

    Args:
        data: a table of pandas or Polars with the columns `task`, `worker` and `label`.
        level: "nominal", "ordinal" or "interval", for Krippendorff's alpha.
        order: the labels from the lowest to the highest, for the ordinal level; by default, in numeric or alphabetical order.
        intervals: whether to compute intervals over items and annotators.

    Returns:
        The coefficients, and `intervals` by coefficient name.

    Raises:
        UsageError: a column is missing, or a label is not a number on the interval level.

    Example:
        >>> frame = pl.DataFrame({"task": [1, 1, 2, 2], "worker": [*"abab"], "label": [*"xxyy"]})
        >>> agreement(frame).krippendorff_alpha
        1.0
    """
    encoding = encoded(data)
    votes, values = on_scale(encoding.votes, encoding.labels.cast(pl.String).to_list(), level, order)
    return measure(votes, level=level, values=values, intervals=intervals)
