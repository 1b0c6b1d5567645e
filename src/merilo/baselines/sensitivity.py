"""Sensitivity analysis: the baseline recomputed for every threshold on control accuracy and every aggregator."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np

from merilo.metrics.score import Score
from merilo.people.aggregation import NO_LABEL, Consensus
from merilo.people.decision import PoolVotes
from merilo.people.quality.controls import ControlAccuracy, ExclusionRule
from merilo.people.uncertainty.two_way import TwoWay, interval_of_record
from merilo.statistics.intervals import Interval

#: 0, 0.1 .. 0.9: from keeping all annotators to keeping those who almost never fail a control item.
THRESHOLDS = tuple(round(0.1 * step, 1) for step in range(10))

#: Computes a consensus from a pool's votes.
Procedure: TypeAlias = Callable[[PoolVotes], Consensus]

#: Scores a consensus on the items that have a label; returns `None` without gold.
Scorer: TypeAlias = Callable[[Consensus], Score | None]

#: Computes the uncertainty of a score over items and annotators from the procedure's name, the pool, the consensus and the score.
OverAnnotators: TypeAlias = Callable[[str, PoolVotes, Consensus, Score], TwoWay | None]


@dataclass(frozen=True, slots=True)
class SensitivityRow:
    """The baseline for one threshold and one aggregator.

    Attributes:
        threshold: the lowest accuracy on control items with which annotators are kept.
        aggregator: the aggregator's name.
        annotators: how many annotators count.
        answers: how many answers count.
        consensus: how many items have a consensus.
        score: the metric on the items with a consensus; `None` without gold or if there are no such items.
        two_way: its uncertainty over items and annotators; `None` if it is not defined.
    """

    threshold: float
    aggregator: str
    annotators: int
    answers: int
    consensus: int
    score: Score | None
    two_way: TwoWay | None = None

    @property
    def interval(self) -> Interval | None:
        """Return the interval of record; see `two_way.interval_of_record`."""
        return interval_of_record(self.score, self.two_way) if self.score else None


def sensitivity(
    pool: PoolVotes,
    controls: Sequence[ControlAccuracy],
    procedures: Mapping[str, Procedure],
    score: Scorer,
    *,
    thresholds: Sequence[float] = THRESHOLDS,
    min_controls: int = 1,
    over_annotators: OverAnnotators | None = None,
) -> tuple[SensitivityRow, ...]:
    """Compute the metric for every threshold and every aggregator.

    Args:
        pool: all answers of all annotators; this function selects again which of them count.
        controls: each annotator's accuracy on control items, indexed by the codes of `pool.everyone`.
        procedures: mapping from name to the function that computes a consensus.
        score: the function that scores a consensus.
        thresholds: accuracies on control items, each from 0 to 1.
        min_controls: annotators with fewer answers to control items are kept for every threshold.
        over_annotators: the function that computes the uncertainty of a score over items and annotators; by default it is
            left out.

    Returns:
        One row for each threshold and procedure, ordered by threshold first. Thresholds that keep the same annotators
        share one computation.
    """
    votes = pool.everyone.votes
    rows: list[SensitivityRow] = []
    seen: dict[tuple[bytes, str], SensitivityRow] = {}
    for threshold in thresholds:
        rule = ExclusionRule(threshold, min_controls)
        stays = np.array([not rule.excludes(one) for one in controls], dtype=np.bool_)
        kept = stays[votes.annotator]
        counted = replace(pool, kept=kept, counted=kept & pool.tests)
        people, answers = int(np.unique(votes.annotator[kept]).size), int(counted.counted.sum())
        for name, procedure in procedures.items():
            key = (stays.tobytes(), name)
            if key not in seen:
                seen[key] = _row(procedure(counted), counted, score, name, over_annotators)
            rows.append(replace(seen[key], threshold=threshold, annotators=people, answers=answers))
    return tuple(rows)


def _row(
    consensus: Consensus, pool: PoolVotes, score: Scorer, name: str, over_annotators: OverAnnotators | None
) -> SensitivityRow:
    """Build the row of one consensus without threshold and number of annotators; pure control items do not count."""
    votes = pool.votes
    asked = np.bincount(votes.item, minlength=votes.items) > 0
    label = np.where(asked, consensus.label, NO_LABEL).astype(np.int32)
    reached = int((label != NO_LABEL).sum())
    decided = replace(consensus, label=label)
    found = score(decided) if reached else None
    both = over_annotators(name, pool, decided, found) if found and over_annotators else None
    return SensitivityRow(float("nan"), name, 0, 0, reached, found, both)
