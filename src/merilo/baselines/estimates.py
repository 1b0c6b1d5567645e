"""The estimates of a study: each metric of the consensus and of single annotators, with its uncertainty."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from merilo.baselines.consensus_scorer import ConsensusScorer
from merilo.baselines.decision_rule import DecisionRule, by_majority_alone, over_annotators
from merilo.baselines.steps import Decided, Screened
from merilo.metrics.metric import Score
from merilo.metrics.scoring import Part
from merilo.people.aggregation import NO_LABEL
from merilo.people.uncertainty.annotator_accuracy import MIN_ANSWERS, Individuals, drawn_answer, individuals
from merilo.people.uncertainty.two_way import LEAST_ANNOTATORS, TwoWay, interval_of_record
from merilo.people.votes import Votes
from merilo.settings import Settings
from merilo.statistics import FloatArray
from merilo.statistics.intervals import Interval
from merilo.text import Text

NO_WHOLE_VARIANT: Final = "no annotator answered all 30 questions of a variant"


@dataclass(frozen=True, slots=True)
class Bounds:
    """The possible values of a metric if no item were left out.

    Attributes:
        n: the number of all items.
        dropped: how many of these items were left out of the metric.
        dropped_wrong: the metric with the left-out items unanswered, which the scorer counts as wrong.
        plurality: the metric with the left-out items decided by most votes; tied labels share the item equally.
    """

    n: int
    dropped: int
    dropped_wrong: float
    plurality: float


@dataclass(frozen=True, slots=True)
class MetricEstimate:
    """One metric of a study.

    Attributes:
        score: the metric of the consensus, with its interval over items.
        two_way: the same metric with its uncertainty over items and annotators together; `None` if it is not defined.
        published: the metric by the published procedure (majority only, other items left out), if the settings use
            another procedure.
        published_two_way: the uncertainty of `published` over items and annotators.
        bounds: the possible values of the metric if no item were left out; `None` if none was left out.
        single: the metric of single annotators; `None` if it is not defined.
        no_single: why `single` is not defined.
    """

    score: Score
    two_way: TwoWay | None = None
    published: Score | None = None
    published_two_way: TwoWay | None = None
    bounds: Bounds | None = None
    single: Individuals | None = None
    no_single: str | None = None

    @property
    def interval(self) -> Interval | None:
        """Return the interval of record; see `two_way.interval_of_record`."""
        return interval_of_record(self.score, self.two_way)

    @property
    def published_differs(self) -> bool:
        """Whether the published procedure leaves out items that this one decides, so that its value is shown too."""
        return self.published is not None and self.published.n != self.score.n

    @property
    def published_interval(self) -> Interval | None:
        """Return the interval of record of `published`."""
        return interval_of_record(self.published, self.published_two_way) if self.published else None


def why_items_alone(estimate: MetricEstimate) -> Text | None:
    """Say why there is no interval over items and annotators; `None` if there is one, or no interval at all."""
    single = estimate.single
    if estimate.two_way or (single is None and estimate.score.interval is None):
        return None
    if single is None or single.annotators >= LEAST_ANNOTATORS:
        return Text("not defined for this metric")
    return Text(
        "not defined: it takes at least {least} annotators, and {n} answered",
        least=LEAST_ANNOTATORS,
        n=single.annotators,
    )


@dataclass(frozen=True, slots=True)
class Estimates:
    """All metrics of a study.

    Attributes:
        main: the declared metrics, the main one first.
        extra: the metrics by group: "acc.anatomy", "correct.virtue", "grade_norm.task8_0".
        missing: mapping from metric to the reason why it could not be computed.
        names: the annotators' ids, by code.
    """

    main: Mapping[str, MetricEstimate] = field(default_factory=dict)
    extra: Mapping[str, MetricEstimate] = field(default_factory=dict)
    missing: Mapping[str, str] = field(default_factory=dict)
    names: pl.Series = field(default_factory=pl.Series)

    def all(self) -> dict[str, MetricEstimate]:
        """Return the main metrics followed by the extra ones."""
        return {**self.main, **self.extra}

    @property
    def headline(self) -> MetricEstimate | None:
        """Return the dataset's main metric; `None` if no metric could be computed."""
        return next(iter(self.all().values()), None)

    def name(self, code: int) -> str:
        """Return the id of an annotator."""
        return str(self.names[code])


def estimate_metrics(
    scorer: ConsensusScorer, screened: Screened, decided: Decided, rule: DecisionRule, settings: Settings
) -> Estimates:
    """MetricEstimate every metric of a study with gold answers.

    The value of each metric is the result of `merilo.metrics.scoring.score` on the consensus. For its uncertainty over
    annotators the consensus is decided again many times with the rule of the settings: by majority, or by
    most votes with ties broken by skill and then ability, or by votes weighted by a model's accuracies of the
    annotators. The model is not fitted again for each resample.

    Args:
        scorer: scores a consensus.
        screened: the votes, and the annotators with `skill`, `control_accuracy`, `ability`, `expected_accuracy`.
        decided: the consensus by the settings, and by majority alone.
        rule: how the consensus is decided again.
        settings: the settings of the baseline.
    """
    found = scorer.scores(decided.consensus)
    maker = _Maker(scorer, screened, decided, rule, settings)
    other = {} if maker.by_majority else scorer.scores(decided.majority).all()
    main, extra = scorer.parts()
    groups = []
    for named, scores in ((main, found.main), (extra, found.extra)):
        place = {part.name: part for part in named}
        groups.append(
            {
                name: maker.estimate(place[name], score, other.get(name), with_bounds=named is main)
                if name in place
                else MetricEstimate(score)
                for name, score in scores.items()
            }
        )
    return Estimates(groups[0], groups[1], found.missing, screened.pool.everyone.annotators)


class _Maker:
    """Computes the estimates of one study, metric by metric."""

    def __init__(
        self,
        scorer: ConsensusScorer,
        screened: Screened,
        decided: Decided,
        rule: DecisionRule,
        settings: Settings,
    ) -> None:
        self.scorer = scorer
        self.decided, self.majority = decided.consensus, decided.majority
        self.votes = screened.pool.votes
        self.pairs = scorer.pairs(self.votes, self.decided, self.majority)
        self.by_majority = by_majority_alone(settings)
        self.rule = rule
        self.majority_rule = DecisionRule(
            self.votes,
            needed=screened.pool.needed(settings.min_votes),
            exclusion=self.rule.exclusion,
        )

    def estimate(
        self, part: Part, score: Score, published: Score | None = None, *, with_bounds: bool = False
    ) -> MetricEstimate:
        """MetricEstimate one metric with its uncertainty; `score` and `published` come from the scorer."""
        crowd = over_annotators(self.rule, self.scorer, part, self.decided, score.value, pairs=self.pairs)
        other = (
            over_annotators(
                self.majority_rule, self.scorer, part, self.majority, published.value, pairs=self.pairs
            )
            if published is not None and published.n
            else None
        )
        single, reason = self._single(part)
        return MetricEstimate(
            score,
            crowd,
            None if self.by_majority else published,
            other,
            self._bounds(part) if with_bounds else None,
            single,
            reason,
        )

    def _single(self, part: Part) -> tuple[Individuals | None, str | None]:
        inside = self.pairs.votes_of(part)
        if part.metric.unit == "variant" and part.metric.name == part.name:
            inside &= self._whole_variants(part)
            if not inside.any():
                return None, NO_WHOLE_VARIANT
        votes = self.votes.where(inside)
        if not len(votes):
            return None, "there are no answers to items with gold"
        pair = self.pairs.pair_of_vote[inside]
        items = float(np.unique(votes.item).shape[0])
        drawn = np.bincount(pair, weights=drawn_answer(votes) * items, minlength=len(self.pairs)).astype(
            np.float64
        )
        worth = self.scorer.worth(part, self.pairs, drawn)
        own = None if part.is_mean else self._own(part, votes, pair)
        return individuals(votes, worth.answer[pair], own=own, bounds=part.bounds), None

    def _own(self, part: Part, votes: Votes, pair: NDArray[np.int64]) -> FloatArray:
        """Return what each answer adds to its annotator's metric, computed on that annotator's answers only."""
        own = np.zeros(len(votes))
        order = np.argsort(votes.annotator, kind="stable")
        starts = np.flatnonzero(np.diff(votes.annotator[order], prepend=-1))
        for rows in np.split(order, starts[1:]):
            if len(rows) >= MIN_ANSWERS:
                weight = np.bincount(pair[rows], minlength=len(self.pairs)).astype(np.float64)
                own[rows] = self.scorer.worth(part, self.pairs, weight).answer[pair[rows]]
        return own

    def _whole_variants(self, part: Part) -> NDArray[np.bool_]:
        """Mark the answers of annotators to exam variants that they answered completely, shape (n,)."""
        variants = {
            row: str(item.meta.get("variant"))
            for row, item in enumerate(self.scorer.items)
            if row in part.rows
        }
        codes = {name: code for code, name in enumerate(dict.fromkeys(variants.values()))}
        of_item = np.full(self.votes.items, -1, dtype=np.int64)
        for row, name in variants.items():
            of_item[self.scorer.codes[row]] = codes[name]
        variant = of_item[self.votes.item]
        sitting = self.votes.annotator.astype(np.int64) * (len(codes) + 1) + variant
        asked = np.bincount([codes[name] for name in variants.values()], minlength=len(codes))
        _, inverse, answered = np.unique(sitting, return_inverse=True, return_counts=True)
        whole: NDArray[np.bool_] = (variant >= 0) & (answered[inverse] == asked[np.maximum(variant, 0)])
        return whole

    def _bounds(self, part: Part) -> Bounds | None:
        label = self.decided.label[self.scorer.codes]
        rows = np.array(part.rows, dtype=np.int64)
        dropped = rows[label[rows] == NO_LABEL]
        if not dropped.size:
            return None
        blank = self.scorer.with_blanks(part, self.decided)
        weight = self.pairs.chosen(self.decided)
        weight += self.pairs.leading(self.votes, dropped)
        inside = np.isin(self.pairs.place, rows)
        shared = self.scorer.worth(part, self.pairs, np.where(inside, weight, 0.0))
        answered = float(weight[inside].sum())
        plurality = shared.value * answered / rows.size if part.is_mean else shared.value
        return Bounds(int(rows.size), int(dropped.size), blank, plurality)
