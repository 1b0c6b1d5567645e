"""The experts' part of a report: their raw answers, and their baseline computed from these answers again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from merilo.baselines.baseline import cost_record
from merilo.baselines.evidence import Evidence
from merilo.baselines.expert_baseline import (
    baseline_on_dataset_json,
    basic_summary,
    comparison_json,
    experts_on_dataset_json,
    out_of_bag_summary,
)
from merilo.baselines.expert_scores import LabelScores, score_experts, score_people
from merilo.baselines.experts import Marks, beside_people, outside_labels
from merilo.errors import InputError
from merilo.people.cost import cost
from merilo.people.out_of_bag import OutOfBag, OutOfBagDesign, out_of_bag
from merilo.people.recoding import settle
from merilo.records import list_at, mapping_at, number_at, text_at
from merilo.reports.hb.raw_study import RawStudy, read_raw
from merilo.responses import Responses
from merilo.settings import Decision, Late
from merilo.strict_json import Json

#: The subfolder of `hb/raw` for the experts' answers.
EXPERTS_RAW: Final = "experts"

_LATE: Final[Mapping[str, Late]] = {"drop": "drop", "keep": "keep", "wrong": "wrong"}
_DECISIONS: Final[Mapping[str, Decision]] = {"majority": "majority", "plurality": "plurality"}


@dataclass(frozen=True, slots=True)
class ExpertsComputed:
    """The experts' baseline as it follows from their raw answers.

    Attributes:
        bag: how every question was decided.
        scored: the experts' scores.
        responses: the answers, one per expert and question.
        content: the JSON without provenance: `experts`, `people`, `comparison`, `cost`.
    """

    bag: OutOfBag
    scored: LabelScores
    responses: Responses
    content: dict[str, Json]


def experts_computed(
    raw: RawStudy,
    design: OutOfBagDesign,
    people: Evidence | None,
    domains: Mapping[int, str] | None = None,
) -> ExpertsComputed:
    """Compute the baseline of experts who skip their own questions.

    Args:
        raw: the experts' answers; of the settings, `repeats` and `currency` are used.
        design: the settings of the protocol.
        people: the baseline of people without training; `None` if there is none.
        domains: mapping from item number to domain; by default, all items have one domain.

    Raises:
        DataError: an expert gave two different answers to a question and the settings forbid it, or no answer is left.
        UsageError: the two groups have no question in common.
    """
    declared = raw.dataset
    known = None if raw.gold is None or raw.gold.withheld else raw.gold
    outside = outside_labels(raw.responses, design, Marks(), known, declared)
    responses = settle(raw.responses, raw.settings.repeats)
    bag = out_of_bag(responses, design, domains=domains)
    scored = score_experts(bag, responses, raw.gold, declared, raw.settings.cluster)
    untrained, comparison = None, None
    if people is not None:
        points = score_people(people, declared)
        untrained = {**basic_summary(people, points), **baseline_on_dataset_json(people.whole)}
        if scored.decided_by and points.decided_by:
            comparison = beside_people(scored.decided_by, responses, known, points.decided_by, people)
    content: dict[str, Json] = {
        "experts": {
            **out_of_bag_summary(bag, Marks(), scored, outside),
            **experts_on_dataset_json(scored, raw.population),
        },
        "people": untrained,
        "comparison": None if comparison is None else comparison_json(comparison),
        "cost": cost_record(cost(raw.responses, raw.settings.currency)).to_json(),
    }
    return ExpertsComputed(bag, scored, responses, content)


def experts_again(
    place: Path, published: Mapping[str, Json] | None, people: Evidence
) -> dict[str, Json] | None:
    """Compute the experts' baseline from their raw answers; `None` if there are none.

    Args:
        place: the folder of their raw answers, such as `hb/raw/experts`.
        published: the content of `experts.json`, which states the settings of the protocol.
        people: the recomputed baseline of people without training.

    Raises:
        InputError: a file is missing or damaged.
    """
    if published is None or not place.is_dir():
        return None
    with_people = people if published.get("people") is not None else None
    listed = mapping_at(published, "experts", "design", "domains")
    domains = {
        n: name
        for name, items in listed.items()
        if isinstance(items, list)
        for n in items
        if isinstance(n, int)
    }
    return experts_computed(read_raw(place), _design(published, place), with_people, domains or None).content


def _design(published: Mapping[str, Json], place: Path) -> OutOfBagDesign:
    where = ("experts", "design")
    late, decision = (text_at(published, *where, name) or "" for name in ("late", "decision"))
    least = number_at(published, *where, "min_answers")
    if late not in _LATE or decision not in _DECISIONS or least is None:
        raise InputError("does not state the settings of the experts' baseline", file=place, field="design")
    return OutOfBagDesign(
        tuple(str(one) for one in list_at(mapping_at(mapping_at(published, "experts"), "design"), "mine")),
        number_at(published, *where, "time_limit_seconds"),
        _LATE[late],
        int(least),
        _DECISIONS[decision],
    )
