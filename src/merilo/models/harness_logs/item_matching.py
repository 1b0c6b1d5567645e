"""Find the item of a log's row: by its id, and by its inputs.

Texts are compared without white space, because harnesses strip and join them. A row whose id is an item's but
whose texts are not is looked up by its texts: it may come from another version of the dataset.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from merilo.datasets.declaration import Dataset
from merilo.datasets.rendering import bare_parts, render
from merilo.errors import MeriloError
from merilo.items import Item, id_of
from merilo.models.harness_logs.log_rows import LogRow, texts_of

#: How a row was matched: the name of the field that gave the id, or "inputs".
BY_INPUTS: Final = "inputs"

#: Why a row matches no item.
Mismatch: TypeAlias = Literal["unknown id", "other inputs", "several items", "other dataset"]

#: A text that more items share does not identify any of them.
_MOST_SHARED: Final = 200

#: Longer texts are looked up by pieces of this many characters, because a prompt may hold them anywhere.
_GRAM: Final = 10

_SEPARATORS: Final = r"[-_/:#.|]"
_MARKS: Final = re.compile(r"[:.)»]\s*")
_QUOTED: Final = re.compile(r"«([^«»]+)»|\"([^\"]+)\"|`([^`]+)`|“([^“”]+)”")


@dataclass(frozen=True, slots=True)
class NamedItem:
    """An item and the id under which answers name it.

    Attributes:
        name: the id.
        item: the item.
    """

    name: str
    item: Item


@dataclass(frozen=True, slots=True)
class FoundItem:
    """The item of a row.

    Attributes:
        place: the item's place among the items; `None` if the row matches no item.
        by: the field that gave the id, or `BY_INPUTS`; for a row that matches no item, why.
        sample: the number of the sample, if the id names it.
    """

    place: int | None
    by: str
    sample: int | None = None


class ItemFinder:
    """Finds the items of rows.

    Args:
        declared: the dataset.
        items: its items.
    """

    def __init__(self, declared: Dataset, items: Sequence[NamedItem]) -> None:
        self._place = {named.name: place for place, named in enumerate(items)}
        for place, named in enumerate(items):
            own = id_of(named.item.meta)
            if isinstance(own, str | int) and not isinstance(own, bool):
                self._place.setdefault(str(own), place)
        hidden = {*declared.hidden, *declared.media}
        self._declared = declared
        self._items = items
        self._values = [tuple(map(squeezed, _visible(named.item, hidden))) for named in items]
        self._holders: dict[str, list[int]] = defaultdict(list)
        for place, values in enumerate(self._values):
            for key in {key for value in values for key in _keys(value)}:
                self._holders[key].append(place)
        self._composed = re.compile(
            rf"(?:{re.escape(declared.name)}{_SEPARATORS})?(.+?)(?:{_SEPARATORS}(?:sample{_SEPARATORS}?)?(\d+))?",
            re.IGNORECASE | re.DOTALL,
        )

    def find(self, row: LogRow) -> FoundItem:
        """Find the item of a row."""
        # All texts of the row without white space; empty if it has none.
        shown = "\0".join(map(squeezed, row.texts)) if any(map(str.strip, row.texts)) else ""
        named = False
        for field, value in row.ids:
            if (place := self._place.get(value)) is not None:
                if not shown or self._is_held(place, shown):
                    return FoundItem(place, field)
                named = True
        if shown:
            found = self._by_texts(row, shown)
            if len(found) == 1:
                return FoundItem(found[0], BY_INPUTS)
            reason: Mismatch = "other inputs" if named else "unknown id"
            return FoundItem(None, "several items" if found else reason)
        return self._by_composed_id(row)

    def _is_held(self, place: int, shown: str) -> bool:
        return all(value in shown for value in self._values[place])

    def _by_texts(self, row: LogRow, shown: str) -> list[int]:
        candidates: set[int] = set()
        for key in _keys_in(row.texts, shown):
            holders = self._holders.get(key, ())
            if len(holders) <= _MOST_SHARED:
                candidates.update(holders)
        held = [place for place in sorted(candidates) if self._values[place] and self._is_held(place, shown)]
        if len(held) < 2:
            return held
        # Items with equal inputs differ in their instruction.
        asked = squeezed(row.prompt or "") + shown
        rendered = {place: _rendered(self._items[place].item, self._declared) for place in held}
        return [place for place, text in rendered.items() if text and text in asked] or held

    def _by_composed_id(self, row: LogRow) -> FoundItem:
        """Find the item of an id such as `parus-12` or `parus-12-3`, which also names the dataset or the sample."""
        for field, value in row.ids:
            composed = self._composed.fullmatch(value)
            if composed is None:
                continue
            whole = value[composed.start(1) :]
            if (place := self._place.get(whole)) is not None:
                return FoundItem(place, field)
            if (place := self._place.get(composed[1])) is not None:
                return FoundItem(place, field, int(composed[2]) if composed[2] else None)
            last = re.split(_SEPARATORS, value)[-1]
            if last in self._place and re.match(r"[A-Za-z]", value):
                return FoundItem(None, "other dataset")
        return FoundItem(None, "unknown id")


def _keys_in(texts: Sequence[str], joined: str) -> set[str]:
    """Return the keys (`_keys`) of all texts that a row may hold."""
    pieces = {squeezed(piece) for text in texts for piece in _pieces(text)}
    return {joined[start : start + _GRAM] for start in range(len(joined) - _GRAM + 1)} | pieces


def squeezed(text: str) -> str:
    """Remove all white space from a text.

    Example:
        >>> squeezed(" 2 + 2")
        '2+2'
    """
    return "".join(text.split())


def _visible(item: Item, hidden: set[str]) -> Iterator[str]:
    """Yield the texts of an item that a prompt shows."""
    if isinstance(item.inputs, Mapping):
        for name, value in item.inputs.items():
            if name not in hidden:
                yield from (text for text in texts_of(value) if text.strip())
    elif item.inputs.strip():
        yield item.inputs


def _rendered(item: Item, declared: Dataset) -> str:
    """Return the prompt of an item without white space; empty if the item has no prompt."""
    try:
        return squeezed(render(item, declared))
    except MeriloError:
        return ""


def _keys(value: str) -> Iterator[str]:
    """Yield the keys of a text without white space: the whole text, and for a longer one its begin, middle and end."""
    yield value
    if len(value) > _GRAM:
        for start in (0, (len(value) - _GRAM) // 2, len(value) - _GRAM):
            yield value[start : start + _GRAM]


def _pieces(text: str) -> Iterator[str]:
    """Yield a text, its lines, and what follows a label or stands in quotes in a line."""
    yield text
    for line in text.splitlines():
        yield line
        for mark in _MARKS.finditer(line):
            yield line[mark.end() :]
        for quoted in _QUOTED.finditer(line):
            yield quoted[quoted.lastindex or 0]


def known_prompts(item: Item, declared: Dataset) -> list[str]:
    """Return the prompts of an item without white space: with its instruction, and bare after solved items.

    Empty if it has none.
    """
    full = _rendered(item, declared) if item.instruction != "" else ""
    try:
        bare = squeezed("".join(map(str, bare_parts(item, declared))))
    except MeriloError:
        bare = ""
    return [text for text in (full, bare) if text]
