"""Mix control items into the items of a study at regular intervals."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import TypeVar

from merilo.errors import DataError

T = TypeVar("T")


def mix_controls(items: Sequence[T], controls: Sequence[T], *, every: int, seed: int) -> list[T]:
    """Put a control item at one place in `every`, each control item at most once.

    The first place is drawn at random among the first `every`, so that people cannot count. The items keep their order, and
    the control items come in random order.

    Args:
        items: the test items, in the order in which they are shown.
        controls: the control items.
        every: one task in so many is a control item; at least 2.
        seed: the random seed; another one for each person or pass, so that orders differ.

    Returns:
        The tasks.

    Raises:
        DataError: the items need more control items than there are, so that one would come twice.

    Example:
        >>> mix_controls(["a", "b", "c", "d"], ["X", "Y"], every=3, seed=1)
        ['a', 'b', 'Y', 'c', 'd']
    """
    if not controls:
        return list(items)
    random = Random(f"controls {seed}")  # noqa: S311 - an order that can be repeated, not a secret
    first = random.randrange(every)
    order = random.sample(list(controls), len(controls))
    found: list[T] = []
    left = list(reversed(items))
    while left:
        if len(found) % every == first:
            if not order:
                raise DataError(
                    f"{len(items)} items with a control item at one place in {every} need more than {len(controls)} control "
                    "items, because none may come twice to one person"
                )
            found.append(order.pop())
        else:
            found.append(left.pop())
    return found
