"""The earlier turns of a dialogue as the context of a question, with the model's own answers (ruTiE)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, TypeAlias

from merilo.datasets.bare_forms import bare_parts
from merilo.datasets.declaration import Dataset
from merilo.datasets.rendering import CONTEXT, PLACEHOLDER, Media, parts, template
from merilo.items import Item
from merilo.strict_json import Json

#: A turn before the question and the model's answer to it; `None` if it gave none that could be read.
EarlierTurn: TypeAlias = "tuple[Item, Json]"

#: Shown for a turn that has no readable answer.
NO_ANSWER: Final = "(нет ответа)"

#: Texts and media in the order in which they are shown.
Parts: TypeAlias = "tuple[str | Media, ...]"


def names_context(item: Item, declared: Dataset) -> bool:
    """Check whether the item's template says where the earlier turns stand."""
    if not declared.shots.earlier_turns:
        return False
    return any(found[1] == CONTEXT for found in PLACEHOLDER.finditer(template(item, declared)))


def turns(earlier: Sequence[EarlierTurn], declared: Dataset, *, as_people: bool) -> list[tuple[Parts, str]]:
    """Return the question and the answer of each earlier turn.

    Args:
        earlier: the turns, the first one first.
        declared: the dataset.
        as_people: whether a turn is shown with its instruction, as people saw it.

    Raises:
        DataError: a turn lacks a field that its template names.
    """
    return [(_question(item, declared, as_people), _answer(answer)) for item, answer in earlier]


def _question(item: Item, declared: Dataset, as_people: bool) -> Parts:
    if as_people and not names_context(item, declared):
        return parts(item, declared)
    return bare_parts(item, declared)


def _answer(answer: Json) -> str:
    return NO_ANSWER if answer is None else str(answer)
