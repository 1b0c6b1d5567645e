"""Respondents that are no models but simple rules: lower bounds for tables, and a test of scorers.

- `random`: a label at random, each equally likely; for open answers a plausible text (see `_random_text`).
- `most-frequent`: the most frequent gold answer of the shots (of those with the item's own domain or task, if
shots share it);
  without shots, of the items themselves.
- `longest`: the label of the longest option.
- `gold`: the gold answer. A scorer must give it full marks.

They are backends like any other, but `Abilities.builtin` marks them, and a table must show the mark.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cached_property
from random import Random
from typing import Final, Literal

from merilo.datasets.declaration import Dataset
from merilo.datasets.rendering import offered_labels, option_fields
from merilo.errors import DataError, UsageError
from merilo.items import Item
from merilo.metrics.answers import has_gold
from merilo.models.asking import Abilities, ModelReply, Request
from merilo.models.prompter import shown_gold
from merilo.models.reply_answers import numbers_of

#: The log-likelihood of every choice that a rule does not take.
_UNLIKELY: Final = -100.0
_MEDIA: Final[frozenset[Literal["image", "audio", "video"]]] = frozenset({"image", "audio", "video"})
#: What the name of a built-in respondent ends with in tables.
BUILTIN: Final = " (built-in)"
#: The names of the built-in respondents.
BUILTIN_RESPONDENTS: Final = ("random", "most-frequent", "longest", "gold")
#: A program that returns nothing.
_NO_PROGRAM: Final = "    pass\n"


@dataclass(frozen=True)
class RespondentMaterial:
    """What the rules need to know of a dataset.

    Attributes:
        declared: the dataset.
        items: the items that are asked.
        shots: the solved items.
    """

    declared: Dataset
    items: Sequence[Item]
    shots: Sequence[Item] = ()

    @cached_property
    def by_id(self) -> Mapping[str, Item]:
        """The items by their ids as text."""
        return {str(item.id): item for item in self.items}

    @cached_property
    def golds(self) -> Mapping[str, Counter[str]]:
        """How often each gold answer occurs, for each value of the field that shots share.

        Under the empty text stand the counts over all items.
        """
        solved = [item for item in self.shots if has_gold(item)] or [
            item for item in self.items if has_gold(item)
        ]
        if not solved:
            raise UsageError(
                f"{self.declared.title} has no gold answers, neither of shots nor of items: "
                "'most-frequent' cannot answer it"
            )
        counts: dict[str, Counter[str]] = {}
        for item in solved:
            answer = _gold(item, self.declared)
            for value in {"", self._shared(item)}:
                counts.setdefault(value, Counter())[answer] += 1
        return counts

    def _shared(self, item: Item) -> str:
        field = self.declared.shots.same
        return "" if field is None else str(item.value(field) or "")

    def most_frequent(self, item: Item) -> str:
        """Return the most frequent gold answer for an item, of those that it offers."""
        counts = self.golds.get(self._shared(item), self.golds[""])
        candidates: Sequence[str] = [*counts]
        if self.declared.answer.kind == "choice":
            candidates = offered_labels(item, self.declared)
        # Of equally frequent answers, the first in alphabetical order.
        return min(candidates, key=lambda answer: (-counts[answer], answer))


class BuiltinRespondent:
    """A rule that answers requests, as a backend.

    Args:
        name: "random", "most-frequent", "longest" or "gold".
        materials: the datasets that are asked.
        seed: random seed of `random`.

    Raises:
        UsageError: there is no such rule, or it cannot answer one of the datasets.

    Example:
        >>> import asyncio
        >>> from merilo.datasets import dataset
        >>> item = Item(1, "{inputs}", "( )", "1")
        >>> gold = BuiltinRespondent("gold", [RespondentMaterial(dataset("bps"), [item])])
        >>> asyncio.run(gold.ask([Request("bps", 1, 1, (), "( )")]))[0].text
        '1'
    """

    #: Everything: the rules read items, not prompts.
    abilities = Abilities(frozenset({"generate", "loglikelihood"}), _MEDIA, chat=True, builtin=True)
    batch_size = 256
    concurrency = 1

    def __init__(self, name: str, materials: Sequence[RespondentMaterial], *, seed: int = 0) -> None:
        if name not in BUILTIN_RESPONDENTS:
            near = get_close_matches(name, BUILTIN_RESPONDENTS, n=1)
            hint = f"did you mean {near[0]}?" if near else f"choose from: {', '.join(BUILTIN_RESPONDENTS)}"
            raise UsageError(f"there is no built-in respondent '{name}': {hint}")
        self.name, self.model = name, f"{name}{BUILTIN}"
        self._seed = seed
        self._materials = {material.declared.name: material for material in materials}
        for material in materials:
            if name == "longest" and not option_fields(material.declared):
                title = material.declared.title
                raise UsageError(
                    f"'longest' answers questions whose options are fields, and {title} has none"
                )
            if name == "most-frequent" and material.declared.answer.kind != "program" and material.items:
                material.most_frequent(material.items[0])

    async def ask(self, requests: Sequence[Request]) -> Sequence[ModelReply]:
        """Answer requests by the rule.

        Raises:
            DataError: a request is about an item that the rule was not given, or `gold` has no gold answer.
        """
        return [self._reply(request) for request in requests]

    async def close(self) -> None:
        """Nothing is open."""

    def _reply(self, request: Request) -> ModelReply:
        material = self._materials.get(request.dataset)
        item = None if material is None else material.by_id.get(str(request.item))
        if material is None or item is None:
            asked = f"item {request.item} of {request.dataset}"
            raise DataError(f"{asked} is not among the items that '{self.name}' was given")
        chance = Random(f"{self._seed} {request.dataset} {request.item} {request.sample}")  # noqa: S311
        text = self._answer(material, item, chance)
        if request.mode == "generate":
            return ModelReply(text=text, model=self.model)
        label = _label(text, material.declared)
        offered = offered_labels(item, material.declared)
        values = tuple(0.0 if known == label else _UNLIKELY for known in offered)
        return ModelReply(loglikelihoods=values, model=self.model)

    def _answer(self, material: RespondentMaterial, item: Item, chance: Random) -> str:
        if self.name == "gold":
            return _gold(item, material.declared)
        if material.declared.answer.kind == "program":
            return _NO_PROGRAM
        if self.name == "most-frequent":
            return material.most_frequent(item)
        return _random_text(material, item, chance) if self.name == "random" else _longest(material, item)


def _label(text: str, declared: Dataset) -> str:
    """Return the one label of an answer; of an answer with criteria, the label that most of them have."""
    if not declared.answer.criteria:
        return text
    labels_of = json.loads(text)
    labels = list(labels_of.values()) if isinstance(labels_of, dict) else [str(labels_of)]
    return min(set(labels), key=lambda label: (-labels.count(label), label))


def _gold(item: Item, declared: Dataset) -> str:
    """Return the text of a gold answer: of criteria, a JSON object; of a program, its canonical solution.

    Raises:
        DataError: the item has none.
    """
    kind = declared.answer.kind
    if kind == "criteria" and isinstance(item.outputs, dict) and has_gold(item):
        return json.dumps(item.outputs, ensure_ascii=False, sort_keys=True)
    if kind == "program":
        solution = item.meta.get("canonical_solution")
        if isinstance(solution, str) and solution.strip():
            return solution
    elif kind != "criteria" and has_gold(item):
        return shown_gold(item, declared)
    what = "canonical_solution in its meta" if kind == "program" else "gold answer"
    raise DataError(f"item {item.id} of {declared.title} has no {what}, so 'gold' cannot answer it")


def _random_text(material: RespondentMaterial, item: Item, chance: Random) -> str:
    """Return a label, an integer between those of the shots, options of the exam, or a word of the item."""
    declared = material.declared
    if declared.answer.labels:
        return chance.choice(offered_labels(item, declared))
    if declared.answer.kind == "integer":
        known = [int(shown_gold(shot, declared)) for shot in material.shots if has_gold(shot)] or [0, 9]
        return str(chance.randint(min(known), max(known)))
    if "grade_norm" in declared.metrics and item.meta.get("type") != "text" and (numbers := numbers_of(item)):
        if item.meta.get("type") == "matching":
            return ",".join(chance.choices(numbers, k=4))
        return ",".join(sorted(chance.sample(numbers, chance.randint(1, len(numbers))), key=int))
    inputs = [item.inputs] if isinstance(item.inputs, str) else list(item.inputs.values())
    words = " ".join(text for text in inputs if isinstance(text, str)).split()
    return (chance.choice(words).strip('.,;:!?«»"()') if words else "") or "?"


def _longest(material: RespondentMaterial, item: Item) -> str:
    """Return the label of the longest option, the first of several."""
    fields = option_fields(material.declared)
    inputs = item.inputs if not isinstance(item.inputs, str) else {}
    return max(fields, key=lambda label: len(str(inputs.get(fields[label], ""))))
