"""Aggregation of answers into a consensus: majority vote, skill, Dawid-Skene, GLAD, and their cascade."""

from __future__ import annotations

from merilo.people.aggregation.candidates import log_odds, wrong_answers
from merilo.people.aggregation.consensus import (
    NO_LABEL,
    Consensus,
    Fit,
    Resolution,
    is_open,
)
from merilo.people.aggregation.dawid_skene import auto, dawid_skene, pooled_dawid_skene
from merilo.people.aggregation.glad import cascade, fitted_nearby, glad
from merilo.people.aggregation.majority import (
    MinVotes,
    break_ties_by_medoid,
    majority,
    majority_of_parts,
    plurality,
    resolve_by_skill,
)

__all__ = [
    "NO_LABEL",
    "Consensus",
    "Fit",
    "MinVotes",
    "Resolution",
    "auto",
    "break_ties_by_medoid",
    "cascade",
    "dawid_skene",
    "fitted_nearby",
    "glad",
    "is_open",
    "log_odds",
    "majority",
    "majority_of_parts",
    "plurality",
    "pooled_dawid_skene",
    "resolve_by_skill",
    "wrong_answers",
]
