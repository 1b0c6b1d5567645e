"""People's distribution of labels against that of each model's samples, in a baseline and by groups of its items."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from merilo.baselines.baseline_reader import StoredBaseline
from merilo.baselines.model_answers import Samples
from merilo.errors import DataError, UsageError, argument
from merilo.people.disagreement import LEAST, Disagreement, disagreement
from merilo.wording import choices

#: A field with more values than this identifies single items and does not define groups.
_MOST_GROUPS: Final = 1000

#: Kinds of answers that are labels: of a declared dataset, and of other tables.
_CLOSED: Final = frozenset({"choice", "label"})


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
    found: list[str | None] = []
    known: set[str] = set()
    for item in crowd.items:
        fields = {**(item.inputs if isinstance(item.inputs, Mapping) else {}), **item.meta}
        known |= fields.keys()
        value = fields.get(name)
        found.append(None if value is None else str(value))
    if all(value is None for value in found):
        raise UsageError(f"{argument('by')}: there is no field '{name}' ({choices(name, sorted(known))})")
    if len(set(found)) > _MOST_GROUPS:
        raise UsageError(
            f"{argument('by', name, given=name)}: the field has {len(set(found))} different values, too many for groups (at most {_MOST_GROUPS})"
        )
    return found
