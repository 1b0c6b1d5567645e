"""Metrics of requests to an assistant: the intent of a request, and its slots with their values."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping

from merilo.items import Item
from merilo.metrics.answers import Answer, Given
from merilo.metrics.labels import folded
from merilo.strict_json import Json


def intent_points(_: Answer, item: Item, answer: Given) -> float:
    """Return 1 for an answer whose intent is the gold's, but for case and outer white space, else 0.

    Example:
        >>> gold = {"intent": "alarm", "slots": {"time": "7:00"}}
        >>> intent_points(Answer(kind="slots"), Item(1, "", "", gold), '{"intent": "Alarm"}')
        1.0
    """
    return float(_read(answer)[0] == _read(item.outputs)[0] != "")


def slot_points(_: Answer, item: Item, answer: Given) -> float:
    """Return the F1 of an answer's slots: a slot is right if its type and its value are the gold's.

        F1 = 2 right / (slots of the answer + slots of the gold)

    Without slots on either side it is 1. Types and values are compared but for case and outer white space.

    Example:
        >>> gold = {"intent": "alarm", "slots": {"time": "7:00", "day": "Monday"}}
        >>> slot_points(Answer(kind="slots"), Item(1, "", "", gold), '{"slots": {"time": "7:00", "day": "Friday"}}')
        0.5
    """
    chosen, true = _read(answer)[1], _read(item.outputs)[1]
    every = chosen.total() + true.total()
    return 2 * (chosen & true).total() / every if every else 1.0


def _read(answer: Json | Given) -> tuple[str, Counter[tuple[str, str]]]:
    """Return intent and slots of an answer, a dictionary or its JSON; of anything else, none."""
    if isinstance(answer, str):
        try:
            answer = json.loads(answer)
        except (ValueError, RecursionError):
            answer = None
    if not isinstance(answer, Mapping):
        return "", Counter()
    slots = answer.get("slots")
    pairs = slots.items() if isinstance(slots, dict) else map(_pair, slots if isinstance(slots, list) else ())
    counts: Counter[tuple[str, str]] = Counter()
    for name, value in pairs:
        for text in value if isinstance(value, list) else [value]:
            counts[_folded(name), _folded(text)] += 1
    return _folded(answer.get("intent", "")), counts


def _pair(slot: Json) -> tuple[Json, Json]:
    """Return type and value of a slot that is written as a pair or as an object."""
    if isinstance(slot, dict):
        return slot.get("type", slot.get("name", slot.get("slot"))), slot.get("value")
    return (slot[0], slot[1]) if isinstance(slot, list) and len(slot) == 2 else (slot, None)


def _folded(value: object) -> str:
    return "" if value is None else folded(str(value))
