"""Points of closed answers: accuracy and exact match."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from merilo.items import Item
from merilo.metrics.answers import Answer, Given, alternatives, gold_label


def equal(form: Answer, items: Sequence[Item], answers: Sequence[Given]) -> list[float]:
    """Return 1 for each answer equal to the gold answer or one of its alternatives, character for character, else 0.

    Answers are not normalised: " A" differs from "A".

    References:
        scikit-learn, `sklearn.metrics.accuracy_score`.

    Example:
        >>> equal(Answer(kind="text", alternatives=";"), [Item(1, "", "", "a; b")] * 2, ["b", "c"])
        [1.0, 0.0]
    """
    separator = form.alternatives
    if separator is None:
        return [float(answer == gold_label(item)) for item, answer in zip(items, answers, strict=True)]
    return [
        float(answer == gold or str(answer) in map(str.strip, alternatives(gold, separator)))
        for gold, answer in zip(map(gold_label, items), answers, strict=True)
    ]


def matching(
    key: Callable[[str], str], form: Answer, items: Sequence[Item], answers: Sequence[Given]
) -> list[float]:
    """Return 1 for each answer that equals an alternative of the gold answer in the form of a key, else 0.

    Example:
        >>> matching(folded, Answer(kind="text"), [Item(1, "", "", "Neva")], [" neva"])
        [1.0]
    """
    return [
        float(key(str(answer)) in map(key, alternatives(gold_label(item), form.alternatives)))
        for item, answer in zip(items, answers, strict=True)
    ]


def folded(text: str) -> str:
    """Return a text without case and outer white space."""
    return text.strip().casefold()
