"""The settings of a baseline that the plan of a study decides."""

from __future__ import annotations

from typing import Literal, TypedDict

from merilo.people.adaptive_overlap import AdaptiveDesign
from merilo.people.agreement import Level
from merilo.people.decision import Aggregator, Resolve
from merilo.people.duplicates import Repeats
from merilo.studies.plan_types import Arm, Study


class AnalysisSettings(TypedDict):
    """Keyword arguments of `Settings` and `merilo.baseline`; see there."""

    metric: str | None
    min_control_accuracy: float
    min_controls: int
    min_control_score: float
    min_votes: int | Literal["majority"]
    max_low_agreement: float
    aggregator: Aggregator
    resolve: Resolve
    anchor_controls: bool
    normalise: tuple[str, ...]
    by: tuple[str, ...]
    cluster: str | None
    level: Level
    repeats: Repeats
    adaptive: str | None


def analysis_settings(plan: Study, arm: Arm) -> AnalysisSettings:
    """Return the settings for the answers of one group of annotators.

    Args:
        plan: the frozen plan.
        arm: the group.
    """
    decided = plan.baseline
    return AnalysisSettings(
        metric=decided.metric,
        min_control_accuracy=decided.min_control_accuracy,
        min_controls=decided.min_controls,
        min_control_score=decided.min_control_score,
        min_votes=decided.min_votes,
        max_low_agreement=decided.max_low_agreement,
        aggregator=decided.aggregator,
        resolve=decided.resolve,
        anchor_controls=decided.anchor_controls,
        normalise=decided.normalise,
        by=decided.by,
        cluster=decided.cluster,
        level=decided.level,
        repeats=decided.repeats,
        adaptive=None if arm.adaptive is None else str(AdaptiveDesign(arm.adaptive, plan.seed)),
    )
