"""Generated questions, and apportionment of items by weights."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeVar

from merilo.strict_json import Json

Key = TypeVar("Key")


@dataclass(frozen=True, slots=True)
class GeneratedQuestion:
    """A generated question.

    Attributes:
        text: the question, used as the item's inputs.
        meta: the item's further metadata.
    """

    text: str
    meta: Mapping[str, Json] = field(default_factory=dict)


def shared_out(size: int, weights: Mapping[Key, float]) -> dict[Key, int]:
    """Apportion whole items in proportion to weights, by largest remainders (earlier keys first on a tie).

    Example:
        >>> shared_out(10, {"a": 0.55, "b": 0.3, "c": 0.15})
        {'a': 6, 'b': 3, 'c': 1}
    """
    total = sum(weights.values())
    exact = {key: size * weight / total for key, weight in weights.items()}
    counts = {key: int(share) for key, share in exact.items()}
    missing = size - sum(counts.values())
    for key in sorted(exact, key=lambda key: counts[key] - exact[key])[:missing]:
        counts[key] += 1
    return counts
