"""Experts beside people without training, on the same questions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from merilo.metrics.distributions import at_least


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two baselines on the items that both decided.

    Attributes:
        n: how many items that is.
        experts: the experts' share of right answers on them, NaN without items.
        people: the same of people without training.
        only_experts: items that only the experts got right.
        only_people: items that only the people got right.
        p: McNemar's exact test, two-sided; NaN without items.
    """

    n: int
    experts: float
    people: float
    only_experts: int
    only_people: int
    p: float


def compare(experts: Mapping[str, bool], people: Mapping[str, bool]) -> Comparison:
    """Set experts beside people.

    Args:
        experts: an item's key -> whether the experts' answer is right.
        people: the same of the people.

    Returns:
        The comparison.

    Example:
        >>> result = compare({"a": True, "b": True, "c": True}, {"a": True, "b": False, "c": False, "d": True})
        >>> result.n, result.experts, round(result.people, 2), round(result.p, 6)
        (3, 1.0, 0.33, 0.5)
    """
    both = sorted(experts.keys() & people.keys())
    n = len(both)
    if not n:
        nan = float("nan")
        return Comparison(0, nan, nan, 0, 0, nan)
    only_experts = sum(experts[key] and not people[key] for key in both)
    only_people = sum(people[key] and not experts[key] for key in both)
    differing = only_experts + only_people
    p = 1.0 if not differing else 2 * at_least(max(only_experts, only_people), differing, 0.5)
    return Comparison(
        n,
        sum(experts[key] for key in both) / n,
        sum(people[key] for key in both) / n,
        only_experts,
        only_people,
        min(1.0, p),
    )
