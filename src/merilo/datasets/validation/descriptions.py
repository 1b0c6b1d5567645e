"""Rules for texts in two languages: descriptions of fields, flat or nested like the data, and of metrics."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from merilo.strict_json import Json

#: The text that stands for the entry of a dictionary of terms that datasets share.
SHARED_TERM: Final = "default"

LANGUAGES: Final = ("en", "ru")


def description_faults(value: Json, path: str) -> Iterator[tuple[str, str]]:
    """Yield the JSON path and the fault of each description below a value.

    A description is an object with a text in English and in Russian, or the text "default". Other objects and lists hold the
    descriptions of fields inside a field, to any depth, as in `data_example`.

    Args:
        value: a description, or an object or list that holds descriptions.
        path: its JSON path.

    Example:
        >>> nested = {"inputs": {"image": "default", "question": {"en": "The question"}}}
        >>> list(description_faults(nested, "data_field_descriptions"))
        [('data_field_descriptions.inputs.question.ru', 'must be a text')]
    """
    pending = [(path, value)]
    while pending:
        where, held = pending.pop()
        if is_translation(held):
            yield from _translation_faults(held, where)
        elif isinstance(held, dict) and held:
            pending += [(f"{where}.{name}", inner) for name, inner in held.items()]
        elif isinstance(held, list) and held:
            pending += [(f"{where}[{number}]", inner) for number, inner in enumerate(held)]
        elif held != SHARED_TERM:
            yield where, f"must be an object with texts in en and ru, or '{SHARED_TERM}'"


def described_fields(value: Json) -> set[str]:
    """Return the names of all described fields, at any depth; a name such as `inputs.image` counts as `image`."""
    names: set[str] = set()
    pending = [value]
    while pending:
        held = pending.pop()
        if isinstance(held, dict) and not is_translation(held):
            names |= {name.rsplit(".", 1)[-1] for name in held}
            pending += held.values()
        elif isinstance(held, list):
            pending += held
    return names


def is_translation(value: Json) -> bool:
    """Check whether a value is a text in two languages, complete or not, and not an object of fields."""
    return (
        isinstance(value, Mapping)
        and bool(value.keys() & set(LANGUAGES))
        and not any(isinstance(value.get(language), dict | list) for language in LANGUAGES)
    )


def _translation_faults(value: Json, path: str) -> Iterator[tuple[str, str]]:
    for language in LANGUAGES:
        text = value.get(language) if isinstance(value, dict) else None
        if not isinstance(text, str) or not text.strip():
            yield f"{path}.{language}", "must be a text"
