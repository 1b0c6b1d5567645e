"""The fields by which items differ: domain, class, length and every other field of `meta`, as categories."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import sqrt
from typing import Final

import numpy as np

from merilo.datasets.declaration import Dataset
from merilo.datasets.rendering import render
from merilo.errors import UsageError
from merilo.items import Item, named_field
from merilo.strict_json import Json
from merilo.wording import choices, shortened

#: The class of an item: its gold answer.
ANSWER: Final = "answer"
#: The number of characters of an item's prompt.
LENGTH: Final = "length"
#: The value of an item that lacks the field.
ABSENT: Final = "—"

#: Fields that only number the items.
_NUMBERING: Final = frozenset({"id", "dialog_id", "question_id"})
#: A number with more different values than this is divided at quantiles.
_MOST_NUMBERS: Final = 10
_QUANTILES: Final = 5
#: Gold answers that are not labels form classes if there are at most so many.
_MOST_CLASSES: Final = 20


#: Shares that differ by less are not told.
_LEAST_DIFFERENCE: Final = 0.15
#: So many standard errors of a difference by chance are not told either: few control items differ much by chance.
_BY_CHANCE: Final = 3.0


@dataclass(frozen=True, slots=True)
class KeptField:
    """A field as categories.

    Attributes:
        name: `domain`, `categories.type`, `answer`, `length`.
        values: the categories, in the order in which they are shown.
        codes: for each item, the position of its category in `values`.
    """

    name: str
    values: tuple[str, ...]
    codes: tuple[int, ...]

    def counts(self, places: Sequence[int] | None = None) -> list[int]:
        """Count the items of each category, among all items or those at some places."""
        chosen = self.codes if places is None else [self.codes[place] for place in places]
        numbers = Counter(chosen)
        return [numbers[code] for code in range(len(self.values))]


@dataclass(frozen=True, slots=True)
class ComparedShare:
    """The share of items that have a value of a field: of the dataset and its sample, or of the test and its controls.

    Attributes:
        field: a field such as the domain, `answer`, or `length`.
        value: the value.
        items: items with the value among those of the dataset or the test.
        of: the items of the dataset or the test.
        chosen: items with the value among the sample or the control items.
        of_chosen: the items of the sample, or the control items.
    """

    field: str
    value: str
    items: int
    of: int
    chosen: int
    of_chosen: int

    @property
    def share(self) -> float:
        """The share of the dataset or the test."""
        return self.items / self.of

    @property
    def chosen_share(self) -> float:
        """The share of the sample or the control items."""
        return self.chosen / self.of_chosen

    @property
    def deviation(self) -> float:
        """The difference of the shares in percentage points."""
        return 100 * (self.chosen_share - self.share)

    @property
    def telling(self) -> bool:
        """Whether the shares differ by 15 points or more, and by three standard errors of a difference by chance."""
        whole = (self.items + self.chosen) / (self.of + self.of_chosen)
        error = sqrt(whole * (1 - whole) * (1 / self.of + 1 / self.of_chosen))
        return abs(self.deviation) >= 100 * max(_LEAST_DIFFERENCE, _BY_CHANCE * error)


def fields_of(
    items: Sequence[Item], declared: Dataset, *, size: int, wanted: Sequence[str] = ()
) -> tuple[list[KeptField], dict[str, str]]:
    """List the fields of items as categories.

    Args:
        items: the dataset's items.
        declared: its declaration.
        size: the size of the sample: a field with more than a fifth as many categories cannot be kept.
        wanted: the fields to keep; by default, all fields of `meta` at any depth, the fields of `inputs` that
            the dataset groups by, the gold answer, and the length of the prompt.

    Returns:
        The fields that can be kept, those of the dataset's groups first; and why the other ones cannot, by name.

    Raises:
        UsageError: no item has a wanted field.
        DataError: a prompt names a field that the item does not have.
    """
    grouping = grouping_fields(declared)
    table = [
        {**dict(_values(item, declared, grouping)), LENGTH: len(render(item, declared))} for item in items
    ]
    names = dict.fromkeys(name for row in table for name in row)
    wanted = [named_field(name.removeprefix("meta."), names) or name for name in wanted]
    if missing := [name for name in wanted if name not in names]:
        raise UsageError(f"no item has the field '{missing[0]}'; {choices(missing[0], list(names))}")
    fields, dropped = [], {}
    for name in wanted or _ordered(names, declared):
        field = _field(name, [row.get(name) for row in table], max(size // 5, 2))
        if isinstance(field, KeptField):
            fields.append(field)
        else:
            dropped[name] = field
    return fields, dropped


def _ordered(names: Mapping[str, object], declared: Dataset) -> list[str]:
    """Put the dataset's groups and the class first, the length last."""
    grouping = set(grouping_fields(declared))

    def rank(name: str) -> int:
        if name.rsplit(".", 1)[-1] in grouping:
            return 0
        return 1 if name.partition(".")[0] == ANSWER else 3 if name == LENGTH else 2

    return sorted(names, key=rank)


def grouping_fields(declared: Dataset) -> list[str]:
    """Return the fields by which the dataset groups its metrics, prompts and shots.

    Example:
        >>> from merilo.datasets import dataset
        >>> grouping_fields(dataset("ruMMLU"))
        ['domain']
    """
    named = [*re.findall(r"\{([\w.]+)\}", declared.extra or ""), declared.prompts_by, declared.shots.same]
    return list(dict.fromkeys(name for name in named if name and name != "criterion"))


def field_names(items: Sequence[Item], declared: Dataset) -> list[str]:
    """List the fields of items that a sample could keep."""
    grouping = grouping_fields(declared)
    names = dict.fromkeys(name for item in items for name, _ in _values(item, declared, grouping))
    return [*names, LENGTH]


def _values(item: Item, declared: Dataset, grouping: Sequence[str]) -> Iterator[tuple[str, Json]]:
    """Yield the fields of an item with their values, without the length of its prompt."""
    for name, value in item.meta.items():
        if name not in _NUMBERING:
            yield from _flat(name, value)
    for name in grouping:
        if name not in item.meta and isinstance(item.inputs, Mapping) and name in item.inputs:
            yield name, item.inputs[name]
    if isinstance(item.outputs, dict):
        yield from ((f"{ANSWER}.{name}", value) for name, value in item.outputs.items())
    elif item.outputs is not None and declared.answer.kind != "program":
        # As text: labels such as 0 to 9 are classes and are not divided at quantiles.
        yield ANSWER, str(item.outputs)


def _flat(name: str, value: Json) -> Iterator[tuple[str, Json]]:
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _flat(f"{name}.{key}", inner)
    elif isinstance(value, list):
        simple = all(isinstance(part, str | int | float) for part in value)
        yield name, ", ".join(map(str, value)) if simple else json.dumps(value, ensure_ascii=False)
    else:
        yield name, value


def _field(name: str, values: Sequence[Json], most: int) -> KeptField | str:
    """Return a field as categories, or why a sample cannot keep it."""
    numbers = [value for value in values if _is_number(value)]
    if len(set(numbers)) > _MOST_NUMBERS and len(numbers) == sum(value is not None for value in values):
        return _by_quantiles(name, values)
    texts = [_shown(value) for value in values]
    known = sorted(set(texts), key=_natural)
    if len(known) == 1:
        return f"is '{shortened(known[0])}' in every item"
    if name == ANSWER and len(known) > _MOST_CLASSES:
        return f"has {len(known)} different values: the answers are not classes"
    if len(known) > most:
        return f"has {len(known)} different values, too many for a sample"
    place = {text: code for code, text in enumerate(known)}
    return KeptField(name, tuple(known), tuple(place[text] for text in texts))


def _is_number(value: Json) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _shown(value: Json) -> str:
    if value is None or value == "":
        return ABSENT
    return {True: "true", False: "false"}[value] if isinstance(value, bool) else str(value)


def _natural(text: str) -> tuple[bool, list[tuple[bool, float, str]]]:
    """Sort numbers inside texts as numbers, and the absent value last."""
    parts = [part for part in re.split(r"(\d+)", text) if part]
    return text == ABSENT, [
        (not part.isdecimal(), float(part) if part.isdecimal() else 0.0, part) for part in parts
    ]


def _by_quantiles(name: str, values: Sequence[Json]) -> KeptField | str:
    known = np.array([float(value) for value in values if isinstance(value, int | float)])
    edges = np.unique(np.quantile(known, np.linspace(0, 1, _QUANTILES + 1)[1:-1], method="inverted_cdf"))
    edges = edges[edges < known.max()]
    if not edges.size:
        return "has almost the same value in every item"
    codes = [
        int(np.searchsorted(edges, float(value))) if isinstance(value, int | float) else len(edges) + 1
        for value in values
    ]
    whole = bool((known == np.round(known)).all())
    bounds = [known.min(), *edges, known.max()]
    names = [_range(bounds[at], bounds[at + 1], first=at == 0, whole=whole) for at in range(len(edges) + 1)]
    absent = len(edges) + 1 in codes
    return KeptField(name, (*names, *([ABSENT] if absent else [])), tuple(codes))


def _range(low: float, high: float, *, first: bool, whole: bool) -> str:
    if whole:
        start = low if first else low + 1
        return f"{start:.0f}" if start == high else f"{start:.0f} to {high:.0f}"
    return f"{low:.4g} to {high:.4g}" if first else f"above {low:.4g} to {high:.4g}"


def value_of(item: Item, field: str) -> object:
    """Return an item's value of a field; several values as one text. `None` if the item has none."""
    value = item.value(field)
    return ", ".join(map(str, value)) if isinstance(value, list) else value
