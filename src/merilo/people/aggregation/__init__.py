"""Aggregation of answers into a consensus: majority vote, skill, Dawid-Skene, one-coin, GLAD, and their cascade."""

from __future__ import annotations

from merilo.people.aggregation.consensus import (
    NO_LABEL,
    Consensus,
    Fit,
    Resolution,
    against_the_votes,
    is_open,
    lost_labels,
)
from merilo.people.aggregation.dawid_skene import auto, auto_and_one_coin, dawid_skene, pooled_dawid_skene
from merilo.people.aggregation.glad import cascade, fitted_nearby, glad
from merilo.people.aggregation.majority import (
    MinVotes,
    break_ties_by_medoid,
    majority,
    majority_of_parts,
    plurality,
    resolve_by_skill,
)
from merilo.people.aggregation.one_coin import log_odds, one_coin, wrong_answers

__all__ = [
    "NO_LABEL",
    "Consensus",
    "Fit",
    "MinVotes",
    "Resolution",
    "against_the_votes",
    "auto",
    "auto_and_one_coin",
    "break_ties_by_medoid",
    "cascade",
    "dawid_skene",
    "fitted_nearby",
    "glad",
    "is_open",
    "log_odds",
    "lost_labels",
    "majority",
    "majority_of_parts",
    "one_coin",
    "plurality",
    "pooled_dawid_skene",
    "resolve_by_skill",
    "wrong_answers",
]
