"""Two sides that answered the same items: experts and people without training, or two conditions of one question."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import TypeVar

import numpy as np

from merilo.statistics.comparison import Difference, compare_scores

Key = TypeVar("Key", bound=Hashable)


def compare(first: Mapping[Key, float], second: Mapping[Key, float]) -> Difference | None:
    """Set two sides beside each other on the items that both decided.

    Args:
        first: an item's key -> the points of the first side's answer: whether it is right, or a part from 0 to 1.
        second: the same of the second side.

    Returns:
        The difference, second less first; `None` where no item was decided by both.

    Example:
        >>> found = compare({"a": True, "b": False, "c": False, "d": True}, {"a": True, "b": True, "c": True})
        >>> found.n, found.second, round(found.value, 2), found.test.p
        (3, 1.0, 0.67, 0.5)
    """
    both = [key for key in first if key in second]
    if not both:
        return None
    return compare_scores(
        *(np.array([side[key] for key in both], dtype=np.float64) for side in (first, second))
    )
