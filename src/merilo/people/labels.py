"""Unify spellings of labels: `1`, `1.0` and `True` are the same answer.

A number loses a zero fraction; a truth value becomes the label that the other answers or the dataset use for it.
Every change is recorded, and all other answers stay as typed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Final

_EMPTY_FRACTION: Final = re.compile(r"([+-]?\d+)[.,]0+")

_TRUTH: Final = {"true": 1, "false": 0, "yes": 1, "no": 0, "да": 1, "нет": 0}

#: Labels that datasets use for yes and no, in the order (no, yes).
_PAIRS: Final = (("0", "1"), ("Нет", "Да"), ("No", "Yes"), ("false", "true"))


def unify(written: Iterable[str], labels: Sequence[str] | None = None) -> dict[str, str]:
    """Find one spelling for answers that mean the same label.

    Args:
        written: the distinct answers and known answers as they were typed, white space folded.
        labels: the dataset's labels, if it declares them.

    Returns:
        Mapping from answer as typed to label, for every member of `written`.

    Example:
        >>> unify(["1", "1.0", "True", "0"])
        {'1': '1', '1.0': '1', 'True': '1', '0': '0'}
        >>> unify(["true", "false"], ["Да", "Нет"])
        {'true': 'Да', 'false': 'Нет'}
        >>> unify(["a", "B"], ["A", "B"])
        {'a': 'A', 'B': 'B'}
    """
    plain = {
        text: _EMPTY_FRACTION.sub(r"\1", text) if _EMPTY_FRACTION.fullmatch(text) else text
        for text in written
    }
    known = set(labels or ())
    by_case = {label.casefold(): label for label in known}
    pair = _pair_in_use({by_case.get(value.casefold(), value) for value in plain.values()}, known)
    return {
        text: text if text in known else _label(value, known, by_case, pair) for text, value in plain.items()
    }


def _pair_in_use(values: set[str], known: set[str]) -> tuple[str, str] | None:
    """Find the labels for no and yes: the dataset's, or those of the answers if these are only no and yes."""
    declared = next((pair for pair in _PAIRS if known >= set(pair)), None)
    if (
        declared
        or not values
        or any(value.casefold() not in _TRUTH and value not in {"0", "1"} for value in values)
    ):
        return declared
    given = next((pair for pair in _PAIRS if values & set(pair)), None)
    return given or (
        ("false", "true") if {value.casefold() for value in values} & {"true", "false"} else None
    )


def _label(value: str, known: set[str], by_case: dict[str, str], pair: tuple[str, str] | None) -> str:
    if value in known:
        return value
    truth = _TRUTH.get(value.casefold())
    if truth is not None and pair is not None:
        return pair[truth]
    if pair is not None and value in {"0", "1"} and set(pair) <= known:
        return pair[int(value)]
    return by_case.get(value.casefold(), value)
