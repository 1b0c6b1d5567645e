"""Packing and scoring submission archives."""

from __future__ import annotations

from merilo.submissions.evaluation import GoldItems, SubmissionResult, read_gold, score_submission
from merilo.submissions.writing import pack, sample

__all__ = ["GoldItems", "SubmissionResult", "pack", "read_gold", "sample", "score_submission"]
