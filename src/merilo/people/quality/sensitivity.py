"""How the figure moves: the baseline again under every threshold on controls and every aggregator."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from merilo.metrics.score import Score
from merilo.people.aggregation import NO_LABEL, Consensus
from merilo.people.quality.annotators import Rule
from merilo.people.quality.controls import ControlAccuracy
from merilo.people.votes import Votes

#: 0, 0.1 .. 0.9: from keeping everybody to keeping those who hardly ever err on a control.
THRESHOLDS = tuple(round(0.1 * step, 1) for step in range(10))

#: What makes a consensus of votes.
Aggregator: TypeAlias = Callable[[Votes], Consensus]

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
    votes: Votes,
    controls: Sequence[ControlAccuracy],
    aggregators: Mapping[str, Aggregator],
    score: Scorer,
    *,
    thresholds: Sequence[float] = THRESHOLDS,
    min_controls: int = 1,
) -> tuple[SensitivityRow, ...]:
    """The figure under every threshold and every aggregator.

    Args:
        votes: every answer to the study's items, whoever gave it; no controls.
        controls: each annotator's accuracy on controls, by code.
        aggregators: name -> aggregator.
        score: what scores a consensus.
        thresholds: accuracies on controls, each 0 to 1.
        min_controls: people with fewer answers to controls are kept whatever the threshold.

    Returns:
        A row for each threshold and aggregator, thresholds outermost. Thresholds that keep the same people share
        one computation.
    """
    rows: list[SensitivityRow] = []
    seen: dict[tuple[bytes, str], SensitivityRow] = {}
    for threshold in thresholds:
        rule = Rule(threshold, min_controls)
        stays = np.array([not rule.excludes(one) for one in controls], dtype=np.bool_)
        counted = votes.where(stays[votes.annotator])
        people = int(np.unique(counted.annotator).size)
        for name, aggregate in aggregators.items():
            key = (stays.tobytes(), name)
            if key not in seen:
                consensus = aggregate(counted)
                reached = int((consensus.label != NO_LABEL).sum())
                seen[key] = SensitivityRow(
                    threshold, name, people, len(counted), reached, score(consensus) if reached else None
                )
            same = seen[key]
            rows.append(SensitivityRow(threshold, name, people, len(counted), same.consensus, same.score))
    return tuple(rows)
