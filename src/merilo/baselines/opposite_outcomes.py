"""The items on which people are right and a model is wrong, and the reverse."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from merilo.baselines.baseline_reader import StoredBaseline
from merilo.baselines.model_answers import Samples
from merilo.items import Item
from merilo.metrics.registry import metric_of
from merilo.metrics.scoring import most_points, points
from merilo.statistics import FloatArray

Side: TypeAlias = Literal["people", "model"]

_GROUP_FIELD: Final = re.compile(r"\{([\w.]+)\}")

#: The field of groups, if the dataset has no metric by group.
_USUAL_FIELD: Final = "domain"

#: A field with more values than this identifies items and does not define groups.
_MOST_GROUPS: Final = 60


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
    if len(set(group_of.values())) > _MOST_GROUPS:
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
    form = crowd.declaration.answer
    metric = metric_of(crowd.metric, form.kind)
    if metric.points is None:
        metric = metric_of("acc", form.kind)
    items = [crowd.items[place] for place in places]
    return points(form, metric, items, answers) / most_points(metric, items)


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


def _fields_of(item: Item) -> dict[str, str]:
    """Return the texts of an item's inputs and meta; those of the meta come first."""
    fields = {**(item.inputs if isinstance(item.inputs, Mapping) else {}), **item.meta}
    return {name: str(value) for name, value in fields.items() if value is not None}
