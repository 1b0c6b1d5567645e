"""Which human a baseline speaks of: one person, a majority, any of several, the best, those who passed a screening.

And how much anybody can reach, if a share of the gold answers is wrong.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from merilo.baselines.consensus_scorer import ConsensusScorer
from merilo.baselines.pipeline import Baseline
from merilo.errors import DataError
from merilo.metrics.worth import NamedPart
from merilo.people.decision import PoolVotes
from merilo.people.quality.controls import ExclusionRule
from merilo.people.uncertainty.annotator_accuracy import individuals
from merilo.people.uncertainty.chosen_people import ChosenPeople, chosen_people
from merilo.people.uncertainty.panel_curve import PanelCurve, panel_curve
from merilo.people.uncertainty.two_way import LEAST_ANNOTATORS
from merilo.people.votes import Votes
from merilo.statistics import FloatArray
from merilo.statistics.intervals import Interval
from merilo.text import Text, joined

#: The metrics that are means of points of single answers, so that groups of people have them too.
PANEL_METRICS: Final = ("acc", "em", "f1")
#: The thresholds on control items beside that of the baseline; 0 keeps everybody.
SCREENINGS: Final = (0.0, 0.5, 0.7, 0.9)


@dataclass(frozen=True, slots=True)
class ScreenedPeople:
    """A single person among those who passed a screening.

    Attributes:
        threshold: the lowest accuracy on control items; 0 if nobody was screened.
        own: whether this is the screening of the baseline.
        annotators: how many people passed who answered items with gold.
        answers: their answers.
        value: the expected score of one of their answers.
        interval: its interval over items and annotators; `None` with fewer than three annotators.
    """

    threshold: float
    own: bool
    annotators: int
    answers: int
    value: float
    interval: Interval | None


@dataclass(frozen=True, slots=True)
class Panel:
    """The people of a baseline as single persons, groups and chosen ones.

    Attributes:
        metric: the metric.
        curve: what one person, a majority of k and any of k reach.
        best: the best person; `None` if too few people answered enough.
        tenth: the best tenth of the people.
        best_name: the id of the best person.
        screenings: single persons by screening, from nobody screened to the strictest; empty without control items.
    """

    metric: str
    curve: PanelCurve
    best: ChosenPeople | None = None
    tenth: ChosenPeople | None = None
    best_name: str = ""
    screenings: tuple[ScreenedPeople, ...] = ()


def panel(baseline: Baseline) -> Panel | Text:
    """Compute the panel of a baseline.

    Args:
        baseline: the baseline.

    Returns:
        The panel, or the reason why there is none.
    """
    found = counted_points(baseline)
    scorer = baseline.scorer
    if isinstance(found, Text) or scorer is None:
        return found if isinstance(found, Text) else Text("no answer that counts is to an item with gold")
    votes, score = found
    metric, main, pool = baseline.declaration.metrics[0], scorer.parts()[0], baseline.pool
    labels = baseline.settings.labels
    try:
        curve = panel_curve(votes, score, options=len(labels) or None)
    except DataError as error:
        return joined([error.message])
    best, tenth = chosen_people(votes, score, guess=1 / len(labels) if labels else None) or (None, None)
    return Panel(
        metric,
        curve,
        best,
        tenth,
        str(pool.everyone.annotators[best.people[0]]) if best else "",
        _screenings(baseline, scorer, main[0]),
    )


def counted_points(baseline: Baseline) -> tuple[Votes, FloatArray] | Text:
    """Return the answers that count to items with gold and their points, or the reason why they have none."""
    scorer = baseline.scorer
    if scorer is None:
        return Text("there are no gold answers, or people's answers are not scored against them")
    metric = baseline.declaration.metrics[0]
    if baseline.programs or baseline.declaration.answer.kind == "criteria" or metric not in PANEL_METRICS:
        return Text(
            "the metric is not a mean of the points of single answers, of which several make a majority"
        )
    main, _ = scorer.parts()
    found = _points(scorer, main[0], baseline.pool, baseline.pool.counted)
    return found if len(found[0]) else Text("no answer that counts is to an item with gold")


def _points(
    scorer: ConsensusScorer, part: NamedPart, pool: PoolVotes, counted: NDArray[np.bool_]
) -> tuple[Votes, FloatArray]:
    """Return the answers to items with gold that count, and their points."""
    votes = pool.everyone.votes.where(counted)
    pairs = scorer.pairs(votes)
    inside = pairs.votes_of(part)
    votes, pair = votes.where(inside), pairs.pair_of_vote[inside]
    worth = scorer.worth(part, pairs, np.ones(len(pairs)))
    return votes, worth.answer[pair]


def _screenings(baseline: Baseline, scorer: ConsensusScorer, part: NamedPart) -> tuple[ScreenedPeople, ...]:
    """Compute a single person among those who passed each threshold on control items."""
    pool, settings = baseline.pool, baseline.settings
    names = pool.everyone.annotators.cast(pl.String).to_frame("annotator")
    table = names.join(baseline.annotators, on="annotator", how="left", maintain_order="left")
    right, answers = (
        table[name].fill_null(0).cast(pl.Int64).to_numpy() for name in ("controls_correct", "controls")
    )
    if not ExclusionRule(0.5, settings.min_controls).judged(answers).any():
        return ()
    found = []
    own = settings.min_control_accuracy
    for threshold in sorted({*SCREENINGS, own}):
        out = ExclusionRule(threshold, settings.min_controls).excluded(right, answers)
        kept = ~out[pool.everyone.votes.annotator] & pool.tests
        votes, score = _points(scorer, part, pool, kept)
        if not len(votes):
            continue
        single = individuals(votes, score)
        interval = single.interval if single.annotators >= LEAST_ANNOTATORS else None
        found.append(
            ScreenedPeople(
                threshold, threshold == own, single.annotators, single.answers, single.mean, interval
            )
        )
    return tuple(found)
