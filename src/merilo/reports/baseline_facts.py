"""What sentences tell about a baseline: its record, what its study's plan says, and who answered."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from merilo.baselines.record import BaselineRecord, MetricRecord
from merilo.datasets.catalogue import CATALOGUE
from merilo.datasets.declaration import is_metric
from merilo.reports.json_record import count_at, list_at, number_at, text_at, value_at
from merilo.reports.text_escapes import one_line
from merilo.strict_json import Json
from merilo.text import LANGUAGES, Given, Language

#: Who answered: people without training, or experts.
Role: TypeAlias = Literal["people", "experts"]

_PLATFORMS: Final = {
    "toloka": "Toloka",
    "abc": "ABC Elementary",
    "label-studio": "Label Studio",
    "mturk": "Amazon Mechanical Turk",
}

#: How items were decided, in the order of telling.
_WAYS: Final = (
    "unanimous", "majority", "plurality", "skill", "top_skill", "glad", "pooled", "dawid_skene", "one_coin", "medoid",
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class ConditionFacts:
    """Under which conditions people answered, by the plan; empty without a plan.

    Attributes:
        planned: whether there is a plan.
        trained: whether people answered training items first, and with which share of right answers they were admitted.
        restrictions: the rules, without full stops.
        time_limit: seconds for an item.
        skip_own: whether people skipped items that they may have written.
        overlap: the planned number of answers an item.
        items_per_page: tasks on a page.
        subset: the number of drawn items, of how many, and the fields whose distribution was kept; `None` if
            all were asked.
        control_share: the planned share of control items.
        untrained: whether the plan asks people without special training.
    """

    planned: bool = False
    trained: float | None = None
    restrictions: tuple[Given, ...] = ()
    time_limit: float | None = None
    skip_own: bool = False
    overlap: int | None = None
    items_per_page: int | None = None
    subset: tuple[int, int, tuple[str, ...]] | None = None
    control_share: float | None = None
    untrained: bool = False


@dataclass(frozen=True, slots=True)
class BaselineFacts:
    """A baseline of one group.

    Attributes:
        record: the record.
        role: who answered.
        title: the dataset's name as it is published.
        platform: the name of the platform; `None` if it is not known.
        conditions: the conditions, by the plan.
    """

    record: BaselineRecord
    role: Role
    title: str | None
    platform: str | None
    conditions: ConditionFacts

    @property
    def overlap(self) -> dict[int, int]:
        """Return how many items have how many answers after exclusion, the most answers first."""
        return _largest_first(self.record.items.overlap)

    @property
    def overlap_asked(self) -> dict[int, int]:
        """Return the same before exclusion; after exclusion if that is not known."""
        return _largest_first(self.record.items.overlap_before_exclusion) or self.overlap

    @property
    def ways(self) -> dict[str, int]:
        """Return how many items each step decided; `majority` is without unanimous answers and most votes."""
        resolved = self.record.resolved_by
        counts: dict[str, int] = {name: getattr(resolved, name) for name in _WAYS}
        counts["majority"] -= counts["unanimous"] + counts["plurality"]
        return {name: n for name, n in counts.items() if n > 0}

    @property
    def groups(self) -> list[tuple[str, MetricRecord]]:
        """Return the values of the metric by group, each under the group's name."""
        found = []
        for name, one in self.record.metrics.items():
            base, mark, group = name.partition(".")
            if mark and one.value is not None:
                found.append((one_line(group if is_metric(base) else name), one))
        return found

    @property
    def group_metric(self) -> str | None:
        """Return the metric that the groups have: that of their names, or the declared one."""
        grouped = next(
            (name for name, one in self.record.metrics.items() if "." in name and one.value is not None), None
        )
        if grouped is None:
            return None
        base = grouped.partition(".")[0]
        declared = list_at(self.record.declaration, "metrics")
        return base if is_metric(base) or not declared else str(declared[0])


def baseline_facts(
    record: BaselineRecord,
    plan: Mapping[str, Json] | None = None,
    *,
    role: Role = "people",
    platform: str | None = None,
) -> BaselineFacts:
    """Join a record with what the plan says.

    Args:
        record: the record.
        plan: the content of `study.yaml`.
        role: who answered; also the name of their arm in the plan.
        platform: the platform's code, such as `toloka`; by default the one that the baseline's command named.
    """
    code = platform or text_at(record.parameters, "platform")
    name = _PLATFORMS.get(code) if code else None
    return BaselineFacts(record, role, dataset_title(record, plan), name, _conditions(plan, role))


def dataset_title(record: BaselineRecord, plan: Mapping[str, Json] | None) -> str | None:
    """Return the dataset's name as it is published."""
    name = record.dataset or text_at(record.declaration, "name") or text_at(plan, "dataset")
    known = CATALOGUE.get(name.lower()) if name else None
    return known.title if known else (one_line(name) if name else None)


def _largest_first(counts: Mapping[int, int]) -> dict[int, int]:
    return dict(sorted(counts.items(), reverse=True))


def _conditions(plan: Mapping[str, Json] | None, role: Role) -> ConditionFacts:
    if plan is None:
        return ConditionFacts()
    size, of = count_at(plan, "subset", "size"), count_at(plan, "subset", "of")
    drawn = size is not None and of is not None and size < of
    # An even draw keeps the distribution of no field.
    even = text_at(plan, "subset", "method") == "even"
    kept = () if even else list_at(plan, "subset", "fields")
    fields = tuple(one_line(str(field)) for field in kept)
    return ConditionFacts(
        planned=True,
        trained=number_at(plan, "training", "threshold"),
        restrictions=tuple(filter(None, map(_restriction, list_at(plan, "restrictions")))),
        time_limit=number_at(plan, "arms", role, "time_limit"),
        skip_own=value_at(plan, "arms", role, "skip_own") is True,
        overlap=count_at(plan, "arms", role, "overlap"),
        items_per_page=count_at(plan, "arms", role, "items_per_page"),
        subset=(size, of, fields) if drawn and size is not None and of is not None else None,
        control_share=number_at(plan, "controls", "share"),
        untrained=text_at(plan, "arms", role, "kind") in {"basic", "untrained"},
    )


def _restriction(one: Json) -> Given | None:
    """Return a rule of the plan without its full stop; `None` if it has no text."""
    given = one if isinstance(one, dict) else {"ru": one, "en": one}
    texts: dict[Language, str] = {
        language: text.rstrip(".")
        for language in LANGUAGES
        if (text := one_line(text_at(given, language) or ""))
    }
    return Given(texts) if texts else None
