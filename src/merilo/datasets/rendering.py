"""Render an item and its template to the prompt that both people and models read.

A template names the fields of `inputs` in braces (`{question}`), media in angle brackets (`<image>`). The template is
filled in one pass, so text from the data is never filled again, even if it looks like a placeholder. Braces that name
no field are text: the templates of BPS contain `{}`, and those of ruTiE have stray braces.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from random import Random
from types import MappingProxyType
from typing import Final, cast

from merilo.datasets.declaration import Dataset
from merilo.errors import DataError
from merilo.items import Item
from merilo.strict_json import Json

#: A field in braces, or a media field in angle brackets.
PLACEHOLDER: Final = re.compile(r"\{([^\W\d]\w*)\}|<([^\W\d]\w*)>")

#: The placeholder for the earlier turns of a dialogue (ruTiE).
CONTEXT: Final = "context"


@dataclass(frozen=True, slots=True)
class Media:
    """A picture, sound or film in a prompt.

    Attributes:
        field: the field's name.
        path: the file's path from `inputs`, below `samples/`.
    """

    field: str
    path: str

    def __str__(self) -> str:
        return f"<{self.field}>"


def render(item: Item, declared: Dataset, *, context: str = "") -> str:
    """Render the prompt of an item, the same for people and models.

    Args:
        item: the item.
        declared: its dataset.
        context: the earlier turns of the dialogue, for templates with a placeholder for them.

    Returns:
        The text; media are shown by name in angle brackets.

    Raises:
        DataError: the template names a field that the item does not have, or there is no prompt with that number.

    Example:
        >>> from merilo.datasets import dataset
        >>> render(Item(1, "Balanced: {inputs} ({} too)?", "( )"), dataset("bps"))
        'Balanced: ( ) ({} too)?'
    """
    return "".join(map(str, parts(item, declared, context=context)))


def parts(item: Item, declared: Dataset, *, context: str = "") -> tuple[str | Media, ...]:
    """Split the prompt of an item into texts and media, in the order in which they are shown.

    Raises:
        DataError: as for `render`.
    """
    return tuple(_parts(template(item, declared), item, declared, context))


def template(item: Item, declared: Dataset) -> str:
    """Return the template of an item: its own, or the dataset's prompt with that number.

    Raises:
        DataError: there is no prompt with that number.
    """
    if isinstance(item.instruction, str):
        return item.instruction
    known = prompts(declared).get(group(item, declared), ())
    if not 0 <= item.instruction < len(known):
        raise DataError(
            f"item {item.id} asks for prompt {item.instruction}, but there are {len(known)}, numbered from 0",
            field="instruction",
        )
    return known[item.instruction]


def prompts(declared: Dataset) -> Mapping[str, tuple[str, ...]]:
    """Return a dataset's prompts by group; a dataset without groups has one group, named by the empty string."""
    return declared.prompts or _bundled(declared.name, "prompts")


def group(item: Item, declared: Dataset) -> str:
    """Return the prompt group of an item.

    Raises:
        DataError: the item does not name its group.
    """
    if declared.prompts_by is None:
        return ""
    value = item.meta.get(declared.prompts_by)
    if not isinstance(value, str):
        raise DataError(f"item {item.id} has no {declared.prompts_by}", field=f"meta.{declared.prompts_by}")
    return value


def spread(items: Sequence[Item], declared: Dataset, *, seed: int) -> list[Item]:
    """Give each item a prompt of its dataset, so that all prompts of a group are used equally often.

    In each group, all prompts are assigned in a random order before any is used again: the counts of two prompts of a
    group differ by at most one. An item that lacks hidden fields gets a prompt that does not name them.

    Args:
        items: the items; their own instructions are replaced.
        declared: their dataset.
        seed: random seed for the order.

    Raises:
        DataError: an item's group has no prompts, or none that the item can fill.
    """
    random = Random(f"prompts {declared.name} {seed}")  # noqa: S311 - reproducible on purpose, not a secret
    decks: dict[tuple[str, tuple[str, ...]], Iterator[str]] = {}
    return [replace(item, instruction=next(_deck(item, declared, decks, random))) for item in items]


def _deck(
    item: Item, declared: Dataset, decks: dict[tuple[str, tuple[str, ...]], Iterator[str]], random: Random
) -> Iterator[str]:
    name = group(item, declared)
    held = item.inputs if isinstance(item.inputs, Mapping) else {}
    lacking = tuple(field for field in declared.hidden if field not in held)
    if (name, lacking) not in decks:
        known = prompts(declared).get(name)
        if not known:
            raise DataError(
                f"{declared.title} has no prompts for '{name}'", field=f"meta.{declared.prompts_by}"
            )
        named = {f"{{{field}}}" for field in lacking}
        full = tuple(text for text in known if not any(field in text for field in named))
        known = full or _bundled(declared.name, "without_hidden").get("", ())
        if not known:
            raise DataError(
                f"every prompt of {declared.title} names {lacking[0]}, which item {item.id} lacks",
                field="inputs",
            )
        decks[name, lacking] = _dealt(known, random)
    return decks[name, lacking]


def _dealt(texts: Sequence[str], random: Random) -> Iterator[str]:
    while True:
        yield from random.sample(texts, len(texts))


def _parts(text: str, item: Item, declared: Dataset, context: str) -> Iterator[str | Media]:
    values = _values(item, declared, context)
    end = 0
    for found in PLACEHOLDER.finditer(text):
        in_braces, in_angles = found.groups()
        if in_braces is not None:
            if in_braces not in values:
                raise DataError(
                    f"the prompt of item {item.id} names {{{in_braces}}}, which the item does not have",
                    field="inputs",
                )
            filling: str | Media = shown_value(values[in_braces])
        elif in_angles in declared.media:
            filling = Media(in_angles, _path(item, in_angles))
        else:
            continue  # angle brackets around anything else are text
        yield text[end : found.start()]
        yield filling
        end = found.end()
    yield text[end:]


def _values(item: Item, declared: Dataset, context: str) -> Mapping[str, Json]:
    """Return the values for placeholders."""
    own = (
        item.inputs
        if isinstance(item.inputs, Mapping)
        else {"inputs": item.inputs, declared.placeholder: item.inputs}
    )
    return {CONTEXT: context, **own} if declared.shots.earlier_turns else own


def _path(item: Item, field: str) -> str:
    path = item.inputs.get(field) if isinstance(item.inputs, Mapping) else None
    if not isinstance(path, str) or not path:
        raise DataError(f"item {item.id} has no file for <{field}>", field=f"inputs.{field}")
    return path


def shown_value(value: Json) -> str:
    """Convert a value to text: texts and numbers as they are, null as an empty string, lists and objects as JSON."""
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


@cache
def _bundled(name: str, key: str) -> Mapping[str, tuple[str, ...]]:
    """Return the prompts bundled with Merilo under a key of the dataset's file."""
    import yaml  # noqa: PLC0415 - not needed if an item has its own template

    file = files("merilo.datasets") / "prompts" / f"{name}.yaml"
    if not file.is_file():
        return MappingProxyType({})
    held = cast("Mapping[str, list[str] | dict[str, list[str]]]", yaml.safe_load(file.read_text("utf-8")))
    texts = held.get(key, {})
    groups = texts if isinstance(texts, dict) else {"": texts}
    return MappingProxyType({name: tuple(group) for name, group in groups.items()})
