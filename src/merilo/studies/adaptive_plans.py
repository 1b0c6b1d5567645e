"""Adaptive overlap in a plan: what it cannot be used for, and how many answers it takes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from merilo.datasets.declaration import Dataset
from merilo.errors import UsageError
from merilo.items import Item
from merilo.settings import AdaptiveOverlap
from merilo.statistics.power import StudyPlan
from merilo.studies.plan_types import Arm, Assumptions, Study


def needs_fixed_overlap(declared: Dataset, items: Sequence[Item]) -> str | None:
    """Return why a dataset needs a fixed overlap; `None` if the overlap may be adaptive.

    Args:
        declared: the dataset.
        items: the items that people answer.
    """
    if any(isinstance(item.meta.get("dialog_id"), int) for item in items):
        return "the items are turns of dialogues, which one person answers as a whole, so the overlap must be fixed"
    if "grade_norm" in declared.metrics:
        return "a person is scored by whole variants of the exam, so the overlap must be fixed"
    return None


def adaptive_faults(plan: Study, declared: Dataset, items: Sequence[Item]) -> Iterator[tuple[str, str]]:
    """List the faults of the arms with adaptive overlap: a key of the plan, and what is wrong with it.

    Args:
        plan: the plan.
        declared: the dataset.
        items: the items that people answer.
    """
    for name, arm in plan.arms.items():
        if arm.adaptive is None:
            continue
        if reason := needs_fixed_overlap(declared, items):
            yield f"arms.{name}.adaptive", f"must be null: {reason}"
        votes = plan.baseline.min_votes
        if votes != "majority" and votes > arm.adaptive.start:
            yield (
                "baseline.min_votes",
                f"is {votes}, but an item on which the first {arm.adaptive.start} people agree gets no further answers "
                f"(arms.{name}.adaptive.start): it could never have a majority",
            )


def adaptive_notes(plan: Study) -> Iterator[str]:
    """List what the author of a plan with adaptive overlap should know, a sentence each."""
    for name, arm in plan.arms.items():
        adaptive = arm.adaptive
        if adaptive is None:
            continue
        if not adaptive.decides_early:
            yield (
                f"{name}: {adaptive.start} equal answers are not a majority of {adaptive.limit}, so the consensus can differ from that of "
                f"{adaptive.limit} people; with a limit of at most {2 * adaptive.start - 1} it cannot"
            )
        if adaptive.fixed_share == 0:
            yield f"{name}: no item has fixed overlap (adaptive.fixed_share is 0), so the design cannot be checked on a random share of the items"


def answers_range(arm: Arm, assumed: Assumptions, items: int) -> tuple[int, int, int]:
    """Return the answers to test items that an arm takes: at least, as expected, at most.

    The expectation assumes the individual accuracy at which the consensus has the assumed accuracy, independent people, and wrong answers
    that are all the same. Items of different difficulty make people agree more often.

    Args:
        arm: the group.
        assumed: the plan's assumptions.
        items: the number of test items.
    """
    adaptive = arm.adaptive
    if adaptive is None:
        return items * arm.overlap, items * arm.overlap, items * arm.overlap
    least = round(items * _least(adaptive))
    return (
        least,
        max(least, round(items * adaptive.expected_answers(_person(arm, assumed)))),
        items * adaptive.limit,
    )


def _least(adaptive: AdaptiveOverlap) -> float:
    return adaptive.start + adaptive.fixed_share * (adaptive.limit - adaptive.start)


def _person(arm: Arm, assumed: Assumptions) -> float:
    try:
        return StudyPlan(assumed.expected, arm.overlap, None, assumed.spread).person
    except UsageError:
        return assumed.expected
