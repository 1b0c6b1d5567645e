"""Reading values from JSON of unknown completeness: a missing or misplaced value is `None`, never an error."""

from __future__ import annotations

from collections.abc import Mapping
from math import isfinite
from typing import Final

from merilo.strict_json import Json

_NOTHING: Final[Mapping[str, Json]] = {}


def value_at(content: Mapping[str, Json] | None, *keys: str) -> Json:
    """Return the value below keys, or `None`.

    Example:
        >>> value_at({"a": {"b": 1}}, "a", "b"), value_at({"a": 5}, "a", "b"), value_at(None, "a")
        (1, None, None)
    """
    held: Json = dict(content) if content is not None else None
    for key in keys:
        held = held.get(key) if isinstance(held, dict) else None
    return held


def mapping_at(content: Mapping[str, Json] | None, *keys: str) -> Mapping[str, Json]:
    """Return the object below keys; empty if there is none."""
    held = value_at(content, *keys)
    return held if isinstance(held, dict) else _NOTHING


def list_at(content: Mapping[str, Json] | None, *keys: str) -> list[Json]:
    """Return the list below keys; empty if there is none."""
    held = value_at(content, *keys)
    return held if isinstance(held, list) else []


def text_at(content: Mapping[str, Json] | None, *keys: str) -> str | None:
    """Return the text below keys; `None` if it is missing or blank."""
    held = value_at(content, *keys)
    return held.strip() if isinstance(held, str) and held.strip() else None


def number_at(content: Mapping[str, Json] | None, *keys: str) -> float | None:
    """Return the finite number below keys."""
    held = value_at(content, *keys)
    if isinstance(held, bool) or not isinstance(held, int | float) or not isfinite(held):
        return None
    return float(held)


def count_at(content: Mapping[str, Json] | None, *keys: str) -> int | None:
    """Return the whole number below keys."""
    held = value_at(content, *keys)
    return held if isinstance(held, int) and not isinstance(held, bool) else None
