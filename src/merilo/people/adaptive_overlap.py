"""Adaptive overlap: few people answer an item first, and more people if they do not agree.

`start` people answer an item. If their answers are equal, the item is complete; otherwise it gets one answer after another, up to
`limit`. On a random share of the items, `limit` people answer in any case.

Items on which people disagree have more answers, so a statistic over all answers is biased towards these items, and the mean score of an
item's answers depends on when the item stopped. Two kinds of answers are free of this: the first `start` answers to an item, which were
asked for before any answer was known, and all answers to an item of the random share. `answers_by_design` selects them; with fixed overlap
the same selection keeps every answer.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Annotated, ClassVar, Final

import numpy as np
from numpy.typing import NDArray
from pydantic import Strict

from merilo.errors import UsageError, argument

_SCALE: Final = 2**64


@dataclass(frozen=True, slots=True)
class AdaptiveOverlap:
    """Fewer people where the first ones agree, more where they do not.

    Attributes:
        start: how many people answer an item at first.
        limit: how many people answer it at most.
        fixed_share: the share of items, drawn at random, that `limit` people answer in any case.
    """

    __pydantic_config__: ClassVar[dict[str, str]] = {"extra": "forbid"}

    start: Annotated[int, Strict()] = 3
    limit: Annotated[int, Strict()] = 5
    fixed_share: Annotated[float, Strict()] = 0.1

    def __post_init__(self) -> None:
        if not 2 <= self.start < self.limit:
            raise ValueError(
                f"start must be 2 or more and below limit, not start {self.start} and limit {self.limit}"
            )
        if not 0 <= self.fixed_share <= 1:
            raise ValueError(f"fixed_share must be a share from 0 to 1, not {self.fixed_share:g}")

    @property
    def decides_early(self) -> bool:
        """Whether `start` equal answers are a majority of `limit`, whatever the other people would answer."""
        return 2 * self.start > self.limit

    def in_fixed_slice(self, seed: int, item: str) -> bool:
        """Return whether an item belongs to the random share with fixed overlap.

        Args:
            seed: the seed of the study.
            item: the item's id.
        """
        digest = blake2b(f"{seed} slice {item}".encode(), digest_size=8, person=b"merilo overlap")
        return int.from_bytes(digest.digest()) < self.fixed_share * _SCALE

    def expected_answers(self, person: float) -> float:
        """Return the expected answers to an item if people are right independently and wrong answers are all the same.

        Args:
            person: the accuracy of one person, in [0, 1].

        Example:
            >>> AdaptiveOverlap(3, 5, 0.0).expected_answers(0.9)
            3.54
        """
        agree = person**self.start + (1 - person) ** self.start
        adaptive = self.limit - (self.limit - self.start) * agree
        return round(self.fixed_share * self.limit + (1 - self.fixed_share) * adaptive, 9)


@dataclass(frozen=True, slots=True)
class AdaptiveDesign:
    """An adaptive overlap with the seed of its random share.

    Attributes:
        overlap: the overlap.
        seed: the seed of the study.
    """

    overlap: AdaptiveOverlap
    seed: int = 0

    def __str__(self) -> str:
        one = self.overlap
        return f"{one.start}:{one.limit}:{one.fixed_share:g}:{self.seed}"

    @staticmethod
    def of(text: str) -> AdaptiveDesign:
        """Read a design from `START:LIMIT`, `START:LIMIT:SHARE` or `START:LIMIT:SHARE:SEED`.

        Without a share, no item has fixed overlap.

        Raises:
            UsageError: the text is not a design.

        Example:
            >>> str(AdaptiveDesign.of("3:5:0.1:42")), str(AdaptiveDesign.of("3:5"))
            ('3:5:0.1:42', '3:5:0:0')
        """
        parts = text.split(":")
        why = ""
        if 2 <= len(parts) <= 4:
            share, seed = (*parts[2:], "0", "0")[:2]
            try:
                return AdaptiveDesign(AdaptiveOverlap(int(parts[0]), int(parts[1]), float(share)), int(seed))
            except ValueError as error:
                why = f" ({error})" if "must be" in str(error) else ""
        raise UsageError(
            f"{argument('adaptive')} takes START:LIMIT[:SHARE[:SEED]], such as 3:5:0.1:42, not '{text}'{why}"
        )

    def fixed(self, items: Sequence[str]) -> NDArray[np.bool_]:
        """Mark the items of the random share with fixed overlap, shape (items,)."""
        return np.array([self.overlap.in_fixed_slice(self.seed, item) for item in items], dtype=np.bool_)


def answers_by_design(
    item: NDArray[np.integer], order: NDArray[np.integer], *, start: int, fixed: NDArray[np.bool_]
) -> NDArray[np.bool_]:
    """Mark the answers that were asked for whatever the others answered.

    Args:
        item: shape (n,), the item of each answer, codes from 0.
        order: shape (n,), ascending in time.
        start: how many people answer an item at first.
        fixed: shape (items,), the items with fixed overlap.

    Returns:
        Shape (n,): the first `start` answers to each item, and all answers to items with fixed overlap.

    Example:
        >>> item, order = np.array([0, 0, 0, 1, 1, 1]), np.array([3, 1, 2, 4, 5, 6])
        >>> answers_by_design(item, order, start=2, fixed=np.array([False, True])).tolist()
        [False, True, True, True, True, True]
    """
    ranked = np.lexsort((order, item))
    sorted_items = item[ranked]
    begins = np.flatnonzero(np.diff(sorted_items, prepend=-1))
    place = np.empty(item.shape[0], dtype=np.int64)
    place[ranked] = np.arange(item.shape[0]) - np.repeat(begins, np.diff(begins, append=item.shape[0]))
    chosen: NDArray[np.bool_] = (place < start) | fixed[item]
    return chosen
