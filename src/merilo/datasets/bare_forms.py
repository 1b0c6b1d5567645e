"""The bare form of an item: its fields and a label for the answer, without the instruction.

In a request to a model, every shot but the first and the question after shots have this form. The forms of the built-in
datasets are bundled with their prompts. A custom declaration may give its own (`bare`); by default, the form
lists the fields.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from importlib.resources import files
from types import MappingProxyType
from typing import Final, cast

from merilo.datasets.declaration import Dataset
from merilo.datasets.rendering import Media, group, parts, template
from merilo.errors import DataError
from merilo.items import Item

_CYRILLIC: Final = re.compile("[а-яё]", re.IGNORECASE)


def bare_parts(item: Item, declared: Dataset) -> tuple[str | Media, ...]:
    r"""Split the bare form of an item into texts and media, in the order in which they are shown.

    Raises:
        DataError: the form names a field that the item does not have, or there is no form for the item's group.

    Example:
        >>> from merilo.datasets import dataset
        >>> bare_parts(Item(1, "", "( )"), dataset("bps"))
        ('Скобки: ', '( )', '\nОтвет:')
    """
    return parts(replace(item, instruction=bare_template(item, declared)), declared)


def bare_template(item: Item, declared: Dataset) -> str:
    """Return the template of an item's bare form.

    Raises:
        DataError: there is no form for the item's group.
    """
    known = bare_forms(declared)
    if not known:
        return _listed_fields(item, declared)
    if "" in known:
        return known[""]
    name = group(item, declared)
    if name not in known:
        raise DataError(
            f"{declared.title} has no bare form of a question for '{name}'",
            field=f"meta.{declared.prompts_by}",
        )
    return known[name]


def bare_forms(declared: Dataset) -> Mapping[str, str]:
    """Return a dataset's bare forms by group of prompts; empty if a form is made of the fields."""
    return declared.bare or _bundled_forms(declared.name)


def option_fields(declared: Dataset) -> Mapping[str, str]:
    """Map each label to the field that holds its option, such as "A" to `option_a`; empty if options have no fields.

    Example:
        >>> from merilo.datasets import dataset
        >>> dict(option_fields(dataset("parus"))), dict(option_fields(dataset("bps")))
        ({'1': 'choice1', '2': 'choice2'}, {})
    """
    labels = declared.answer.labels
    for name in declared.fields:
        stem = name.removesuffix(labels[0].lower()) if labels else name
        found = {label: f"{stem}{label.lower()}" for label in labels}
        if stem not in {name, ""} and set(found.values()) <= set(declared.fields):
            return MappingProxyType(found)
    return MappingProxyType({})


def _listed_fields(item: Item, declared: Dataset) -> str:
    """Make a form of a custom dataset: one line per field that prompts must name, options after their labels."""
    labels = {field: label for label, field in option_fields(declared).items()}
    answer = "Ответ:" if _CYRILLIC.search(template(item, declared)) else "Answer:"
    if not declared.fields:
        return f"{{{declared.placeholder}}}\n{answer}"
    lines = []
    for name in declared.fields:
        shown = f"<{name}>" if name in declared.media else f"{{{name}}}"
        if name not in declared.hidden:
            lines.append(f"{labels[name]}. {shown}" if name in labels else shown)
    return "\n".join([*lines, answer])


@cache
def _bundled_forms(name: str) -> Mapping[str, str]:
    """Return the bare forms bundled with Merilo, by group of prompts."""
    import yaml  # noqa: PLC0415 - takes time to import

    file = files("merilo.datasets") / "prompts" / f"{name}.yaml"
    if not file.is_file():
        return MappingProxyType({})
    held = cast("Mapping[str, str | dict[str, str]]", yaml.safe_load(file.read_text("utf-8")))
    forms = held.get("bare", {})
    return MappingProxyType(forms if isinstance(forms, dict) else {"": forms})
