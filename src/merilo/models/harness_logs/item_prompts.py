"""Compare the prompts of a log with those of the dataset."""

from __future__ import annotations

from merilo.datasets.bare_forms import bare_parts
from merilo.datasets.declaration import Dataset
from merilo.datasets.rendering import render
from merilo.errors import MeriloError
from merilo.items import Item
from merilo.models.harness_logs.item_matching import squeezed


class ItemPrompts:
    """The prompts of an item: with its instruction, and bare after solved items.

    Args:
        declared: the dataset.
    """

    def __init__(self, declared: Dataset) -> None:
        self._declared = declared

    def known(self, item: Item) -> list[str]:
        """Return the prompts of an item without white space; empty if it has none."""
        return [text for text in (self._full(item), self._bare(item)) if text]

    def _full(self, item: Item) -> str:
        try:
            return squeezed(render(item, self._declared)) if item.instruction != "" else ""
        except MeriloError:
            return ""

    def _bare(self, item: Item) -> str:
        try:
            return squeezed("".join(map(str, bare_parts(item, self._declared))))
        except MeriloError:
            return ""
