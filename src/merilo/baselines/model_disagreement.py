"""Where people and a model differ: items on which one side alone is right, and the distributions of their labels."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from merilo.baselines.baseline_reader import StoredBaseline
from merilo.baselines.model_answers import Samples
from merilo.baselines.model_comparison import earned
from merilo.datasets.declaration import undeclared
from merilo.errors import DataError, UsageError, argument
from merilo.items import Item
from merilo.metrics.worth import OF_LABELS, TASK, NamedPart, points
from merilo.people.disagreement import LEAST, Disagreement, disagreement
from merilo.statistics import FloatArray
from merilo.wording import choices

Side: TypeAlias = Literal["people", "model"]

_GROUP_FIELD: Final = re.compile(r"\{(\w+)\}")

#: The field of groups, if the dataset has no metric by group.
_USUAL_FIELD: Final = "domain"

#: A field with more values than these identifies items and does not define groups: shown without being named,
#: and named.
_MOST_SHOWN, _MOST_NAMED = 60, 1000

#: Kinds of answers that are labels: of a declared dataset, and of other tables.
_CLOSED: Final = frozenset({"choice", "label"})


@dataclass(frozen=True, slots=True)
class GroupCounts:
    """How often one side alone is right in a group of items.

    Attributes:
        items: the items of the group that both sides answered.
        only_people: items on which the consensus is right and the model wrong.
        only_model: items on which the model is right and the consensus wrong.
    """

    items: int
    only_people: int
    only_model: int


@dataclass(frozen=True, slots=True)
class OppositeOutcomes:
    """The items on which one side is right and the other wrong.

    Right means all points of the item, and wrong means none. A model with several answers to an item is right
    or wrong if more than half of them are.

    Attributes:
        model: the model's name.
        n: the items that the consensus and the model answered.
        only_people: ids of items on which the consensus is right and the model wrong, in the order of the baseline.
        only_model: the reverse.
        beside: the first model, whose answers take the place of the consensus; empty if there are people.
        group_field: the field of the groups; `None` if the items have none, or more than 60 values of it.
        group_of: mapping from item id to the value of the field; items without a value are left out.
        groups: mapping from the value of the field to the counts, in the order of values.
    """

    model: str
    n: int
    only_people: tuple[str, ...]
    only_model: tuple[str, ...]
    beside: str = ""
    group_field: str | None = None
    group_of: Mapping[str, str] = field(default_factory=dict)
    groups: Mapping[str, GroupCounts] = field(default_factory=dict)

    def sides(self) -> dict[str, Side]:
        """Return a mapping from item id to the side that alone is right."""
        people: dict[str, Side] = dict.fromkeys(self.only_people, "people")
        return people | dict.fromkeys(self.only_model, "model")


def opposite_outcomes(
    crowd: StoredBaseline, model: Samples, first: Samples | None = None, *, by: Sequence[str] = ()
) -> OppositeOutcomes:
    """Find the items on which the consensus is right and a model wrong, and the reverse.

    Args:
        crowd: the annotators of the baseline.
        model: the model's answers.
        first: the answers of the first model, which take the place of the consensus if there are no annotators.
        by: fields of the items; the first defines the groups. By default, the field of the dataset's metric
            by group, or `domain`.
    """
    theirs = (
        first.answers
        if first
        else {
            name: (label,)
            for name, label in zip(crowd.names, crowd.consensus, strict=True)
            if label is not None
        }
    )
    places = [place for place, name in enumerate(crowd.names) if name in model.answers and name in theirs]
    (people, not_people), (right, wrong) = (_decided(crowd, places, one) for one in (theirs, model.answers))
    names = [crowd.names[place] for place in places]
    only_people = tuple(names[at] for at in np.flatnonzero(people & wrong))
    only_model = tuple(names[at] for at in np.flatnonzero(not_people & right))
    group_field = _field(crowd, by)
    group_of = {
        crowd.names[place]: value
        for place in places
        if group_field and (value := _fields_of(crowd.items[place]).get(group_field)) is not None
    }
    if len(set(group_of.values())) > _MOST_SHOWN:
        group_of = {}
    return OppositeOutcomes(
        model.model,
        len(places),
        only_people,
        only_model,
        first.model if first else "",
        group_field if group_of else None,
        group_of,
        _counted(group_of, only_people, only_model),
    )


def _decided(
    crowd: StoredBaseline, places: Sequence[int], answers: Mapping[str, Sequence[str]]
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Return the items on which more than half of the answers are right, and wrong, each of the shape of `places`."""
    given = [answers[crowd.names[place]] for place in places]
    samples = np.array([len(one) for one in given], dtype=np.int64)
    each = item_shares(
        crowd, np.repeat(places, samples).tolist(), [answer for one in given for answer in one]
    )
    at = np.repeat(np.arange(len(places)), samples)
    right, wrong = (
        np.bincount(at, rated, minlength=len(places)) > samples / 2 for rated in (each >= 1, each <= 0)
    )
    return right, wrong


def item_shares(crowd: StoredBaseline, places: Sequence[int], answers: Sequence[str]) -> FloatArray:
    """Return the share of an item's points that each answer earns, shape (n,).

    Metrics that are not a mean over items count an answer as right if it equals the gold answer.
    """
    if crowd.metric in OF_LABELS:
        return earned(replace(crowd, declaration=undeclared("acc")), places, answers)
    if crowd.metric == "grade_norm":
        items = [crowd.items[place] for place in places]
        return points(crowd.declaration, NamedPart(TASK, TASK, ()), items, answers)
    return earned(crowd, places, answers)


def _field(crowd: StoredBaseline, by: Sequence[str]) -> str | None:
    if by:
        return by[0].removeprefix("meta.")
    named = _GROUP_FIELD.search(crowd.declaration.extra or "")
    return named[1] if named else _USUAL_FIELD


def _counted(
    group_of: Mapping[str, str], only_people: Sequence[str], only_model: Sequence[str]
) -> dict[str, GroupCounts]:
    people, model = set(only_people), set(only_model)
    found = {}
    for group in sorted(set(group_of.values()), key=in_order):
        names = {name for name, value in group_of.items() if value == group}
        found[group] = GroupCounts(len(names), len(names & people), len(names & model))
    return found


def in_order(value: str) -> tuple[bool, float, str]:
    """Sort whole numbers by value, before texts."""
    return (not value.isdecimal(), float(value) if value.isdecimal() else 0.0, value)


@dataclass(frozen=True, slots=True)
class ModelDisagreement:
    """One model's distribution of labels against people's.

    Attributes:
        model: the model's name.
        found: the measures on all items; `None` if they cannot be computed.
        reason: why they cannot be computed; empty if they can.
        even: the ids of items on which people split evenly, the most even first.
        groups: mapping from field to value to the measures on these items; groups that are too small are left out.
    """

    model: str
    found: Disagreement | None
    reason: str = ""
    even: tuple[str, ...] = ()
    groups: Mapping[str, Mapping[str, Disagreement]] = field(default_factory=dict)


def model_disagreement(
    crowd: StoredBaseline, model: Samples, *, by: Sequence[str] = (), seed: int = 0
) -> ModelDisagreement:
    """Compare people's label distributions with a model's, if the labels are closed and the model has samples enough.

    Args:
        crowd: the people of the baseline.
        model: the model's answers.
        by: fields of the items whose values define groups.
        seed: random seed of the splits for the ceilings.

    Raises:
        UsageError: no item has a field of `by`, or it has more than a thousand values.
    """
    values = {name: _values(crowd, name) for name in by}
    if not crowd.annotators:
        return ModelDisagreement(model.model, None, "there are no people")
    if crowd.declaration.answer.kind not in _CLOSED:
        return ModelDisagreement(model.model, None, "answers are free, not labels of a closed set")
    if max((len(given) for given in model.answers.values()), default=0) < LEAST:
        return ModelDisagreement(
            model.model, None, f"the model gave one answer an item: a distribution needs at least {LEAST}"
        )
    try:
        found = _on(crowd, model, seed)
    except DataError as error:
        return ModelDisagreement(model.model, None, error.message)
    groups: dict[str, dict[str, Disagreement]] = {}
    for name, per_item in values.items():
        groups[name] = {}
        for value in sorted({one for one in per_item if one is not None}):
            chosen = [place for place, one in enumerate(per_item) if one == value]
            try:
                groups[name][value] = _on(crowd.on(chosen), model, seed)
            except DataError:
                continue
    even = tuple(crowd.names[place] for place in found.even)
    return ModelDisagreement(model.model, found, "", even, groups)


def _on(crowd: StoredBaseline, model: Samples, seed: int) -> Disagreement:
    codes = {label: code for code, label in enumerate(crowd.labels)}
    samples = [
        [codes.setdefault(answer, len(codes)) for answer in model.answers.get(name, ())]
        for name in crowd.names
    ]
    return disagreement(crowd.votes, samples, seed=seed)


def _values(crowd: StoredBaseline, name: str) -> list[str | None]:
    """Return each item's value of a field of its meta or inputs."""
    fields = [_fields_of(item) for item in crowd.items]
    found = [one.get(name) for one in fields]
    if all(value is None for value in found):
        known = sorted({key for one in fields for key in one})
        raise UsageError(f"{argument('by')}: there is no field '{name}' ({choices(name, known)})")
    if len(set(found)) > _MOST_NAMED:
        raise UsageError(
            f"{argument('by', name, given=name)}: the field has {len(set(found))} different "
            f"values, too many for groups (at most {_MOST_NAMED})"
        )
    return found


def _fields_of(item: Item) -> dict[str, str]:
    """Return the texts of an item's inputs and meta; those of the meta come first."""
    fields = {**(item.inputs if isinstance(item.inputs, Mapping) else {}), **item.meta}
    return {name: str(value) for name, value in fields.items() if value is not None}
