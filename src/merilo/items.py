"""Items: one question each, as the benchmark writes them, and the files that hold them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

#: What JSON can say.
Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | None"

#: What identifies an item inside its dataset.
ItemId: TypeAlias = int | str


@dataclass(frozen=True, slots=True)
class Item:
    """One question.

    Attributes:
        id: `meta.id`, unique within the dataset.
        instruction: a template with `{field}` placeholders, or an index into the dataset's prompts.
        inputs: the text to fill in, or one text a field.
        outputs: the gold answer; `None` where the test is closed.
        meta: everything else that is known of the item, `id` among it.
    """

    id: ItemId
    instruction: str | int
    inputs: str | Mapping[str, Json]
    outputs: Json = None
    meta: Mapping[str, Json] = field(default_factory=dict)
