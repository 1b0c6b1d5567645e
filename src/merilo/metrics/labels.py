"""Points of closed answers: accuracy and exact match."""

from __future__ import annotations

from collections.abc import Callable

from merilo.items import Item
from merilo.metrics.answers import Answer, Given, alternatives, gold_label


def equal(form: Answer, item: Item, answer: Given) -> float:
    """Return 1 for an answer equal to the gold answer or one of its alternatives, character for character, else 0.

    Answers are not normalised: " A" differs from "A".

    References:
        scikit-learn, `sklearn.metrics.accuracy_score`.

    Example:
        >>> [equal(Answer(kind="text", alternatives=";"), Item(1, "", "", "a; b"), answer) for answer in "bc"]
        [1.0, 0.0]
    """
    gold = gold_label(item)
    if answer == gold or form.alternatives is None:
        return float(answer == gold)
    return float(str(answer) in map(str.strip, alternatives(gold, form.alternatives)))


def matching(key: Callable[[str], str], form: Answer, item: Item, answer: Given) -> float:
    """Return 1 for an answer that equals an alternative of the gold answer in the form of a key, else 0.

    Example:
        >>> matching(folded, Answer(kind="text"), Item(1, "", "", "Neva"), " neva")
        1.0
    """
    return float(key(str(answer)) in map(key, alternatives(gold_label(item), form.alternatives)))


def folded(text: str) -> str:
    """Return a text without case and outer white space."""
    return text.strip().casefold()
