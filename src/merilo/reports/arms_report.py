"""Both arms of an expert study as one JSON object: experts, people without training, and their difference."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import TypeVar

from merilo.baselines.expert_baseline import comparison_json
from merilo.baselines.expert_comparison import compare
from merilo.strict_json import Json

Key = TypeVar("Key", bound=Hashable)


def study_of_arms(
    people: Mapping[str, Json],
    experts: Mapping[str, Json],
    people_points: Mapping[Key, float],
    expert_points: Mapping[Key, float],
) -> dict[str, Json]:
    """Join the baselines of both arms, in the shape of the JSON of `merilo experts baseline`.

    Args:
        people: the JSON of the baseline of people without training.
        experts: the JSON of the experts' baseline.
        people_points: item -> the points of the people's consensus, from 0 to 1; only items with a consensus and a gold answer.
        expert_points: the same of the experts.

    Returns:
        `dataset`, `experts`, `people` and `comparison` (null if no item was decided by both).
    """
    found = compare(people_points, expert_points)
    return {
        "dataset": people.get("dataset"),
        "experts": dict(experts),
        "people": dict(people),
        "comparison": None if found is None else comparison_json(found),
    }
