"""Whether experts who skip their own items are enough for the planned overlap."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from merilo.items import Item
from merilo.studies.plan_types import Arm, Study
from merilo.studies.study_tasks import authors_of

#: The fields of `meta` that usually name the authors of an item.
AUTHOR_FIELDS: Final = ("author", "authors", "created_by", "expert", "annotator")


def author_field(items: Sequence[Item]) -> str | None:
    """Return the first usual field of authors that an item has; `None` if authorship is not known."""
    there = {field for item in items for field in item.meta}
    return next((field for field in AUTHOR_FIELDS if field in there), None)


def overlap_shortfalls(plan: Study, items: Sequence[Item]) -> list[str]:
    """Return a sentence for every arm that skips its own items and cannot reach its overlap.

    An item with k authors gets at most as many answers as there are experts who did not write it. The experts are the authors
    named in `meta`, or as many as the plan says if these are more.

    Args:
        plan: the plan.
        items: the items that people answer.
    """
    return [
        text
        for name, arm in plan.arms.items()
        if arm.skip_own and (text := _shortfall(name, arm, items)) is not None
    ]


def _shortfall(name: str, arm: Arm, items: Sequence[Item]) -> str | None:
    field = author_field(items)
    own = [set(authors_of(item, field)) for item in items]
    authors = len(set().union(*own)) if own else 0
    experts = max(authors, arm.people or 0)
    if not experts:
        return None
    # Without the field every item still has an author, who normally is one of the experts.
    least = experts - max((len(one) for one in own), default=0) if authors else experts - 1
    if least >= arm.overlap:
        return None
    whom = (
        f"the items name {authors} authors in '{field}'"
        if authors >= (arm.people or 0)
        else f"the plan has {experts} experts"
    )
    short = sum(experts - len(one) < arm.overlap for one in own) if authors else len(items)
    return (
        f"{name}: {whom}, and an item's own authors skip it, so {short} of {len(items)} items get fewer answers than the overlap "
        f"{arm.overlap} (the fewest: {max(least, 0)}): set arms.{name}.overlap to {max(least, 1)}, or ask experts who wrote no items"
    )
