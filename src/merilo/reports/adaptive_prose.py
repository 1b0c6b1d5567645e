"""Adaptive overlap as JSON."""

from __future__ import annotations

from merilo.people.collection_design import CollectedDesign
from merilo.reports.json_numbers import rounded
from merilo.strict_json import Json


def adaptive_json(found: CollectedDesign | None) -> Json:
    """Return the adaptive overlap as JSON; null with fixed overlap."""
    if found is None:
        return None
    overlap = found.design.overlap
    return {
        "start": overlap.start,
        "limit": overlap.limit,
        "fixed_share": overlap.fixed_share,
        "seed": found.design.seed,
        "items": {"fixed": found.fixed, "agreed": found.agreed, "widened": found.widened},
        "answers_per_item": rounded(found.answers_per_item),
        "answers_by_design": found.by_design,
        "fewer_answers": found.fewer,
        "more_answers": found.more,
        "decided_early": overlap.decides_early,
        "check": {"items": found.checked, "changed": found.changed},
    }
