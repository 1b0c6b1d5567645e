"""What sentences tell about a baseline: its record, what its study's plan says, and who answered."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal, NamedTuple, TypeAlias

from merilo.baselines.baseline import Baseline
from merilo.baselines.people_table import PeopleRow
from merilo.datasets.declaration import CATALOGUE
from merilo.estimate import Estimate
from merilo.metrics.registry import is_metric
from merilo.records import count_at, list_at, number_at, text_at, value_at
from merilo.reports.table import one_line
from merilo.strict_json import Json
from merilo.text import LANGUAGES, Given, Language, Text

#: Who answered: people without training, or experts.
Role: TypeAlias = Literal["people", "experts"]

#: A pattern of rules that speak of AI tools, for each language.
_AI: Final = Text(r"chatgpt|gpt|neural|\bai\b|\bllms?\b|language model", context="pattern")

_PLATFORMS: Final = {
    "toloka": "Toloka",
    "abc": "ABC Elementary",
    "label-studio": "Label Studio",
    "mturk": "Amazon Mechanical Turk",
}


class Way(NamedTuple):
    """A way in which items are decided.

    Attributes:
        colour: its style class in charts.
        short: its name in a table.
        phrase: its name in a sentence, after "a consensus was reached".
    """

    colour: str
    short: Text
    phrase: Text


#: The ways by the names of their counts in the record, in the order of telling.
WAYS: Final = {
    "unanimous": Way("way-1", Text("all agree"), Text("unanimously")),
    "majority": Way("way-2", Text("majority"), Text("by a majority")),
    "plurality": Way("way-3", Text("most votes"), Text("by most votes without a majority")),
    "skill": Way("way-4", Text("skill"), Text("by the larger sum of skill after a tie")),
    "top_skill": Way("way-5", Text("the most skilled"), Text("by the three most skilled after a tie")),
    "glad": Way("way-6", Text("GLAD"), Text("by the abilities that GLAD estimates")),
    "pooled": Way(
        "way-5",
        Text("pooled Dawid-Skene"),
        Text("by the Dawid–Skene model with a pooled confusion matrix"),
    ),
    "weighted_median": Way(
        "way-5", Text("weighted median"), Text("by the median weighted by the annotators' accuracies")
    ),
    "dawid_skene": Way("way-5", Text("Dawid-Skene"), Text("by the Dawid–Skene model")),
    "medoid": Way(
        "way-4", Text("closest to the others"), Text("by the answer closest to the others after a tie")
    ),
    "parts": Way("way-5", Text("number by number"), Text("by a majority for each number of the answer")),
    "unresolved": Way("way-0", Text("unresolved"), Text("without a consensus")),
    "each_answer": Way(
        "way-1",
        Text("with every answer counted by itself, without a consensus"),
        Text("every answer counts by itself"),
    ),
}

#: Why an item has no consensus.
#: Why a row of the export does not count.
REASONS: Final = {
    "empty_input": Text("empty input"),
    "empty_answer": Text("empty answer"),
    "rejected": Text("rejected by the requester"),
    "not_submitted": Text("not submitted"),
    "same_row_twice": Text("the same row twice"),
    "repeated": Text("repeated by the same annotator"),
    "contradicted": Text("contradicts an answer of the same annotator"),
    "recoded_to_nothing": Text("recoded to nothing"),
    "missing": Text("missing"),
    "may_be_mine": Text("marked 'may be mine'"),
    "not_shown": Text("not shown to the author of the item"),
    "late": Text("after the time limit"),
    "without_annotator": Text("without an annotator"),
    "excluded_annotator": Text("by an excluded annotator"),
}


def ways(record: Baseline) -> dict[str, int]:
    """Return how many items each way decided; `majority` is without unanimous answers and most votes."""
    resolved = record.resolved_by
    counts: dict[str, int] = {name: getattr(resolved, name) for name in WAYS}
    counts["majority"] -= counts["unanimous"] + counts["plurality"]
    return {name: n for name, n in counts.items() if n > 0}


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

    @property
    def ai_forbidden(self) -> bool:
        """Whether a rule speaks of AI tools."""
        return any(
            re.search(_AI.in_language(language), rule.in_language(language), re.IGNORECASE)
            for rule in self.restrictions
            for language in LANGUAGES
        )


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

    record: Baseline
    role: Role
    title: str | None
    platform: str | None
    conditions: ConditionFacts

    @property
    def overlap(self) -> dict[int, int]:
        """Return how many items have how many answers after exclusion, the most answers first."""
        return _largest_first(self.record.item_counts.overlap)

    @property
    def overlap_asked(self) -> dict[int, int]:
        """Return the same before exclusion; after exclusion if that is not known."""
        return _largest_first(self.record.item_counts.overlap_before_exclusion) or self.overlap

    @property
    def ways(self) -> dict[str, int]:
        """Return how many items each way decided that gives a consensus."""
        return {name: n for name, n in ways(self.record).items() if name not in {"unresolved", "each_answer"}}

    @property
    def groups(self) -> list[tuple[str, Estimate]]:
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
    record: Baseline,
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


def dataset_title(record: Baseline, plan: Mapping[str, Json] | None) -> str | None:
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


def counted_from(one: PeopleRow) -> Text:
    """Name the items or people that a value of the table of people is computed from."""
    if one.people is None:
        return Text("on {n:# item|# items}", n=one.n)
    return Text("of {n:# annotator|# annotators}", n=one.people)
