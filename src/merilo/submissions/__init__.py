"""Packing and scoring submission archives."""

from __future__ import annotations

from merilo.submissions.evaluation import GoldItems, SubmissionResult, read_gold, score_submission

__all__ = ["GoldItems", "SubmissionResult", "read_gold", "score_submission"]
