"""Packing and scoring submission archives."""

from __future__ import annotations

from merilo.models.sheets import Matched, Sheet, match, read_sheet
from merilo.submissions.evaluation import GoldItems, SubmissionResult, read_gold, score_submission
from merilo.submissions.writing import pack, sample

__all__ = [
    "GoldItems",
    "Matched",
    "Sheet",
    "SubmissionResult",
    "match",
    "pack",
    "read_gold",
    "read_sheet",
    "sample",
    "score_submission",
]
