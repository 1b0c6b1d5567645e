"""The doubtful items of a baseline, and its main metric for other thresholds on control accuracy."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

import numpy as np
import polars as pl

from merilo.baselines.doubtful_items import DoubtfulItems, doubtful_items
from merilo.baselines.people_table import PeopleTable, people_table
from merilo.baselines.pipeline import Baseline
from merilo.metrics.score import Score
from merilo.people.aggregation import NO_LABEL, Consensus
from merilo.people.decision import decide
from merilo.people.quality.controls import ExclusionRule

#: The thresholds on control accuracy for which the main metric is computed.
THRESHOLDS: Final = (0.3, 0.4, 0.5, 0.6, 0.7)

#: With more answers than this, models of annotators are not fitted for other thresholds.
MOST_ANSWERS: Final = 50_000


@dataclass(frozen=True, slots=True)
class SensitivityRow:
    """The main metric for one threshold.

    Attributes:
        threshold: the lowest accuracy on control items with which annotators are kept.
        annotators: how many annotators are kept.
        score: the metric; `None` if no item has a consensus.
    """

    threshold: float
    annotators: int
    score: Score | None


@dataclass(frozen=True, slots=True)
class StudyQuality:
    """What the quality of a study's annotators and gold answers does to its main metric.

    Attributes:
        sensitivity: the main metric for each threshold; empty without gold.
        doubtful: the doubtful items; `None` without gold, or if there are too many answers.
        reached: what one person, the best people and majorities reach.
    """

    sensitivity: tuple[SensitivityRow, ...]
    doubtful: DoubtfulItems | None = None
    reached: PeopleTable | None = None


def study_quality(baseline: Baseline) -> StudyQuality:
    """Find the doubtful items of a baseline, and compute its main metric for other thresholds.

    Args:
        baseline: the baseline.
    """
    settings = baseline.settings
    few = len(baseline.pool.everyone.votes) <= MOST_ANSWERS
    rows = sensitivity(baseline) if few or settings.aggregator == "majority" else ()
    return StudyQuality(rows, doubtful_items(baseline) if few else None, people_table(baseline))


def sensitivity(baseline: Baseline) -> tuple[SensitivityRow, ...]:
    """Compute the main metric of a baseline for each of `THRESHOLDS`, decided by the baseline's own settings.

    Thresholds that keep the same annotators share one computation.

    Args:
        baseline: the baseline.

    Returns:
        One row for each threshold; none without gold, or if answers are verdicts.
    """
    pool, scorer, settings = baseline.pool, baseline.scorer, baseline.settings
    if scorer is None or baseline.programs:
        return ()
    votes, free_text = pool.everyone.votes, baseline.declaration.answer.kind == "text"
    people = (
        pool.everyone.annotators.cast(pl.String)
        .to_frame("annotator")
        .join(baseline.annotators, on="annotator", how="left", maintain_order="left")
    )
    answered = people["controls"].fill_null(0).to_numpy()
    right = people["controls_correct"].fill_null(0).to_numpy()
    own = ~people["excluded"].fill_null(value=False).to_numpy()
    decided: dict[bytes, Consensus] = {own.tobytes(): baseline.decided.consensus}
    # GLAD is fitted to the answers of all annotators to break ties, whoever is excluded.
    fit = baseline.model if settings.aggregator == "majority" else None
    rows = []
    for threshold in THRESHOLDS:
        stays = ~ExclusionRule(threshold, settings.min_controls).excluded(right, answered)
        kept = stays[votes.annotator]
        counted = replace(pool, kept=kept, counted=kept & pool.tests)
        consensus = decided.get(stays.tobytes())
        if consensus is None:
            consensus = decide(counted, settings, free_text=free_text, fit=fit)
            decided[stays.tobytes()] = consensus
        if settings.aggregator == "majority":
            fit = fit or consensus.fit
        asked = np.bincount(votes.item[counted.counted], minlength=votes.items) > 0
        label = np.where(asked, consensus.label, NO_LABEL).astype(np.int32)
        rows.append(
            SensitivityRow(threshold, int(stays.sum()), scorer.headline(replace(consensus, label=label)))
        )
    return tuple(rows)
