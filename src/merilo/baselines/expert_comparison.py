"""Comparison of two groups that answered the same items: experts and non-experts, or two versions of a question."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import TypeVar

import numpy as np

from merilo.statistics.paired_tests import Difference, compare_scores

Key = TypeVar("Key", bound=Hashable)


def compare(
    first: Mapping[Key, float],
    second: Mapping[Key, float],
    *,
    clusters: Mapping[Key, int] | None = None,
) -> Difference | None:
    """Compare two groups on the items that both decided.

    Args:
        first: mapping from an item's key to the points of the first group's answer: whether it is correct, or a number
            from 0 to 1.
        second: the same mapping for the second group.
        clusters: mapping from an item's key to the code of its cluster; by default, items are independent.

    Returns:
        The difference, second minus first; `None` if no item was decided by both.

    Raises:
        DataError: all these items belong to one cluster.

    Example:
        >>> found = compare({"a": True, "b": False, "c": False, "d": True}, {"a": True, "b": True, "c": True})
        >>> found.n, found.second, round(found.value, 2), found.test.p
        (3, 1.0, 0.67, 0.5)
    """
    both = [key for key in first if key in second]
    if not both:
        return None
    codes = None if clusters is None else np.array([clusters[key] for key in both])
    ours, theirs = (np.array([side[key] for key in both], dtype=np.float64) for side in (first, second))
    return compare_scores(ours, theirs, clusters=codes)
