"""Order and numeric values of labels, for agreement on ordinal and interval scales."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from merilo.errors import UsageError
from merilo.people.votes import Votes
from merilo.settings import Level


def on_scale(
    votes: Votes, names: Sequence[str], level: Level, order: Sequence[str] = ()
) -> tuple[Votes, NDArray[np.float64] | None]:
    """Return the votes with label codes in the order of the scale, and the numbers behind the labels.

    An ordinal scale uses the dataset's order of labels if that includes every label. Otherwise it uses numeric order if all
    labels are numbers, or alphabetical order.

    Args:
        votes: the answers.
        names: the labels' names, by code.
        level: the level of measurement.
        order: the dataset's labels, lowest first.

    Returns:
        The votes, and the numbers of the labels by new code (`None` unless the level is interval).

    Raises:
        UsageError: the level is interval and a label is not a number.

    Example:
        >>> votes = Votes(*np.array([[0, 0, 0], [0, 1, 2], [0, 1, 2]]), 1, 3, 3)
        >>> ordered, _ = on_scale(votes, ["1", "10", "9"], "ordinal")
        >>> ordered.label.tolist()
        [0, 2, 1]
    """
    if level == "nominal":
        return votes, None
    numbers = [_number(name) for name in names]
    if level == "interval":
        wrong = next((name for name, number in zip(names, numbers, strict=True) if number is None), None)
        if wrong is not None:
            raise UsageError(
                f"agreement on the interval level needs numeric answers, but '{wrong}' is not a number"
            )
        return votes, np.array(numbers, dtype=np.float64)
    place = {name: number for number, name in enumerate(order)}
    if all(name in place for name in names):
        keys = [float(place[name]) for name in names]
    elif None not in numbers:
        keys = [number for number in numbers if number is not None]
    else:
        keys = [float(rank) for rank in np.argsort(np.argsort(np.array(names, dtype=object)))]
    # Names with the same value ("1" and "1.0") share a code.
    _, code = np.unique(np.array(keys), return_inverse=True)
    return replace(votes, label=code.astype(np.int32)[votes.label]), None


def _number(name: str) -> float | None:
    try:
        number = float(name.replace(",", "."))
    except ValueError:
        return None
    return number if np.isfinite(number) else None
