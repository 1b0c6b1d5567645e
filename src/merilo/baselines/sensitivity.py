"""How the figure moves: the baseline again under every threshold on controls and every aggregator."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np

from merilo.metrics.score import Score
from merilo.people.aggregation import NO_LABEL, Consensus
from merilo.people.decision import PoolVotes
from merilo.people.quality.controls import ControlAccuracy
from merilo.people.quality.exclusion import Rule

#: 0, 0.1 .. 0.9: from keeping everybody to keeping those who hardly ever err on a control.
THRESHOLDS = tuple(round(0.1 * step, 1) for step in range(10))

#: What makes a consensus of a pool's votes.
Procedure: TypeAlias = Callable[[PoolVotes], Consensus]

#: What scores it, on the items that have a label; `None` without gold.
Scorer: TypeAlias = Callable[[Consensus], Score | None]


@dataclass(frozen=True, slots=True)
class SensitivityRow:
    """The baseline under one threshold and one aggregator.

    Attributes:
        threshold: the least accuracy on controls.
        aggregator: the aggregator's name.
        annotators: people whose answers count.
        answers: answers that count.
        consensus: items with a consensus.
        score: the metric on those; `None` without gold or without any consensus.
    """

    threshold: float
    aggregator: str
    annotators: int
    answers: int
    consensus: int
    score: Score | None


def sensitivity(
    pool: PoolVotes,
    controls: Sequence[ControlAccuracy],
    procedures: Mapping[str, Procedure],
    score: Scorer,
    *,
    thresholds: Sequence[float] = THRESHOLDS,
    min_controls: int = 1,
) -> tuple[SensitivityRow, ...]:
    """The figure under every threshold and every aggregator.

    Args:
        pool: every answer, whoever gave it; who counts in it is decided here anew.
        controls: each annotator's accuracy on controls, by the codes of `pool.everyone`.
        procedures: name -> what makes a consensus.
        score: what scores it.
        thresholds: accuracies on controls, each 0 to 1.
        min_controls: people with fewer answers to controls are kept whatever the threshold.

    Returns:
        A row for each threshold and procedure, thresholds outermost. Thresholds that keep the same people share one
        computation.
    """
    votes = pool.everyone.votes
    rows: list[SensitivityRow] = []
    seen: dict[tuple[bytes, str], SensitivityRow] = {}
    for threshold in thresholds:
        rule = Rule(threshold, min_controls)
        stays = np.array([not rule.excludes(one) for one in controls], dtype=np.bool_)
        kept = stays[votes.annotator]
        counted = replace(pool, kept=kept, counted=kept & pool.tests)
        people, answers = int(np.unique(votes.annotator[kept]).size), int(counted.counted.sum())
        for name, procedure in procedures.items():
            key = (stays.tobytes(), name)
            if key not in seen:
                seen[key] = _row(procedure(counted), counted, score, name)
            rows.append(replace(seen[key], threshold=threshold, annotators=people, answers=answers))
    return tuple(rows)


def _row(consensus: Consensus, pool: PoolVotes, score: Scorer, name: str) -> SensitivityRow:
    """The row of one consensus, its threshold and people still open; items that are only controls do not count."""
    votes = pool.votes
    asked = np.bincount(votes.item, minlength=votes.items) > 0
    label = np.where(asked, consensus.label, NO_LABEL).astype(np.int32)
    reached = int((label != NO_LABEL).sum())
    found = score(replace(consensus, label=label)) if reached else None
    return SensitivityRow(float("nan"), name, 0, 0, reached, found)
