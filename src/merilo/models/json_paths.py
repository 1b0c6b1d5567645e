"""Values at paths inside JSON that somebody else wrote: replies of servers, logs of other harnesses."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias, cast

from merilo.strict_json import Json

#: An object.
Row: TypeAlias = "Mapping[str, Json]"


def at(value: Json | Row, *path: str | int) -> Json:
    """Return the value at a path of keys and positions; `None` if there is none.

    Example:
        >>> at({"choices": [{"text": "B"}]}, "choices", 0, "text"), at({"choices": []}, "choices", 0, "text")
        ('B', None)
    """
    found: Any = value
    for step in path:
        if isinstance(step, str):
            found = found.get(step) if isinstance(found, dict) else None
        else:
            found = found[step] if isinstance(found, list) and step < len(found) else None
    return cast("Json", found)


def text_at(value: Json | Row, *path: str | int) -> str:
    """Return the text at a path, or an empty text for anything else."""
    found = at(value, *path)
    return found if isinstance(found, str) else ""


def dict_at(value: Json | Row, *path: str | int) -> dict[str, Json]:
    """Return the object at a path, or an empty one for anything else."""
    found = at(value, *path)
    return found if isinstance(found, dict) else {}


def list_at(value: Json | Row, *path: str | int) -> list[Json]:
    """Return the list at a path, or an empty one for anything else."""
    found = at(value, *path)
    return found if isinstance(found, list) else []


def dicts_at(value: Json | Row, *path: str | int) -> list[dict[str, Json]]:
    """Return the objects of the list at a path; an empty object for anything else in it."""
    return [dict_at(inner) for inner in list_at(value, *path)]
