"""From many answers to one: majority, skill, Dawid and Skene, GLAD, and the cascade that leaves no item out."""

from __future__ import annotations

from merilo.people.aggregation.cascade import cascade
from merilo.people.aggregation.consensus import NO_LABEL, Consensus, Fit, Resolution
from merilo.people.aggregation.dawid_skene import dawid_skene
from merilo.people.aggregation.glad import fit_glad, glad
from merilo.people.aggregation.majority import majority, plurality, resolve_by_skill

__all__ = [
    "NO_LABEL",
    "Consensus",
    "Fit",
    "Resolution",
    "cascade",
    "dawid_skene",
    "fit_glad",
    "glad",
    "majority",
    "plurality",
    "resolve_by_skill",
]
