"""The estimates for the whole dataset, if a study's items are a sample of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from merilo.baselines.consensus_scorer import ConsensusScorer
from merilo.baselines.decision_rule import DecisionRule, vote_weights
from merilo.baselines.population import Population
from merilo.baselines.steps import Decided, Screened
from merilo.errors import DataError
from merilo.metrics.scoring import Part
from merilo.people.aggregation import NO_LABEL, Consensus
from merilo.people.uncertainty.dataset_estimate import (
    DatasetValue,
    consensus_of_dataset,
    person_of_dataset,
)
from merilo.people.uncertainty.two_way import influences
from merilo.people.votes import Votes
from merilo.settings import Settings
from merilo.statistics import FloatArray
from merilo.statistics.post_stratification import StratifiedSample

OF_EXAM: Final = "it is scored by complete variants of the exam, which strata of questions would divide"
NOT_OF_ITEMS: Final = "it is not computed from the texts of answers, item by item"
NO_CONSENSUS: Final = "no item of the sample has a consensus"


@dataclass(frozen=True, slots=True)
class SampledStratum:
    """A stratum of the dataset and its items in the study.

    Attributes:
        name: the values of its fields: "domain=law".
        items: the number of its items in the dataset.
        asked: the number of its items in the study.
        used: how many of these have gold and an answer that counts.
        weight: the number of items of the dataset that each used item represents; `None` if none is used.
    """

    name: str
    items: int
    asked: int
    used: int

    @property
    def weight(self) -> float | None:
        """Return the weight of an item; `None` if the stratum has no used item."""
        return self.items / self.used if self.used else None


@dataclass(frozen=True, slots=True)
class DatasetEstimate:
    """A metric on the whole dataset.

    Attributes:
        crowd: the metric of the consensus.
        single: the metric of single annotators; `None` if it is not defined.
    """

    crowd: DatasetValue
    single: DatasetValue | None


@dataclass(frozen=True, slots=True)
class DatasetEstimates:
    """The metrics on the whole dataset.

    Attributes:
        population: the dataset.
        strata: its strata.
        sample: the used items of the study in the strata that have any.
        metrics: mapping from metric to its estimate.
        missing: mapping from metric to the reason why it is not estimated.
    """

    population: Population
    strata: tuple[SampledStratum, ...]
    sample: StratifiedSample
    metrics: Mapping[str, DatasetEstimate]
    missing: Mapping[str, str]

    @property
    def items(self) -> int:
        """Return the number of items of the strata for which the estimates are."""
        return sum(one.items for one in self.strata if one.used)

    @property
    def empty(self) -> tuple[SampledStratum, ...]:
        """Return the strata without a used item, which the estimates do not include."""
        return tuple(one for one in self.strata if not one.used)


def estimate_dataset(
    scorer: ConsensusScorer, screened: Screened, decided: Decided, settings: Settings, population: Population
) -> DatasetEstimates:
    """Estimate every metric on the whole dataset.

    An item counts if it has gold and an answer that counts; the other items of its stratum take over its weight. The
    metrics are those of the consensus and of single annotators, computed at the weights of the items. Macro F1 and
    correlations are not means: their value is that of the weighted table of answers, and their variance that of the
    items' influences.

    Args:
        scorer: scores a consensus.
        screened: the votes that count, and the annotators.
        decided: the consensus.
        settings: how the consensus is reached.
        population: the dataset in strata.

    Raises:
        DataError: no item with gold has an answer that counts.
    """
    votes = screened.pool.votes
    answered = np.zeros(votes.items, dtype=np.bool_)
    answered[votes.item] = True
    used = [
        row
        for row, (item, code) in enumerate(zip(scorer.items, scorer.codes.tolist(), strict=True))
        if answered[code] and int(item.id) in population.of
    ]
    if not used:
        raise DataError(
            "no item with a gold answer has an answer that counts, so there is no estimate for the dataset"
        )
    of_item = [population.of[int(scorer.items[row].id)] for row in used]
    strata, sample = sampled_strata(population, of_item)
    maker = _Maker(scorer, screened, decided, settings, sample=sample, used=np.array(used, dtype=np.int64))
    metrics, missing = {}, {}
    main, extra = scorer.parts()
    parts = {part.name: part for part in (*main, *extra)}
    for name in scorer.scores(decided.consensus).all():
        found = maker.estimate(parts[name]) if name in parts else NOT_OF_ITEMS
        if isinstance(found, str):
            missing[name] = found
        else:
            metrics[name] = found
    return DatasetEstimates(population, strata, sample, metrics, missing)


def sampled_strata(
    population: Population, of_item: Sequence[str]
) -> tuple[tuple[SampledStratum, ...], StratifiedSample]:
    """Count the used items of every stratum.

    Args:
        population: the dataset in strata.
        of_item: the stratum of each used item, at least one.

    Returns:
        All strata, and the used items as a sample of those strata that have any.
    """
    asked, present = population.asked, Counter(of_item)
    strata = tuple(
        SampledStratum(name, size, asked[name], present[name]) for name, size in population.sizes.items()
    )
    codes = {one.name: code for code, one in enumerate(one for one in strata if one.used)}
    return strata, StratifiedSample(
        np.array([codes[name] for name in of_item], dtype=np.int64),
        np.array([one.items for one in strata if one.used], dtype=np.float64),
    )


def estimate_points(
    points: Mapping[int, float],
    population: Population,
    part: Part,
    *,
    scorer: ConsensusScorer,
    rule: DecisionRule,
    consensus: Consensus,
) -> tuple[DatasetEstimates, DatasetValue]:
    """Estimate the mean of decided items' points on the whole dataset.

    Args:
        points: mapping from item number to the points of the item's consensus, from 0 to 1.
        population: the dataset in strata.
        part: the metric that gives the points.
        scorer: scores a consensus.
        rule: the votes, and how they decide.
        consensus: the consensus.

    Returns:
        The strata and the sample, without metrics; and the estimate.

    Raises:
        DataError: no item with points is in the population.
    """
    used = [item for item in points if item in population.of]
    if not used:
        raise DataError("no item with a gold answer was decided, so there is no estimate for the dataset")
    strata, sample = sampled_strata(population, [population.of[item] for item in used])
    values = np.array([points[item] for item in used])
    place = {item: row for row, item in enumerate(used)}
    of_code = np.full(rule.votes.items, -1, dtype=np.int64)
    of_code[scorer.codes] = [place.get(int(item.id), -1) for item in scorer.items]
    pairs = scorer.pairs(rule.votes, consensus)
    inside = pairs.votes_of(part) & (of_code[rule.votes.item] >= 0)
    worth = scorer.worth(part, pairs, pairs.chosen(consensus) * pairs.inside(part))
    unseen = np.zeros(rule.votes.items)
    unseen[scorer.codes] = worth.unseen
    votes = rule.votes.where(inside)
    influence = influences(
        votes, worth.answer[pairs.pair_of_vote[inside]], min_votes=rule.needed, unseen=unseen
    )
    value = consensus_of_dataset(
        float(sample.share @ values),
        values,
        np.ones_like(values),
        sample,
        votes=votes,
        influence=influence,
        row=of_code[votes.item],
        bounds=part.bounds,
    )
    return DatasetEstimates(population, strata, sample, {}, {}), value


class _Maker:
    """Computes the estimates for the dataset, metric by metric."""

    def __init__(
        self,
        scorer: ConsensusScorer,
        screened: Screened,
        decided: Decided,
        settings: Settings,
        *,
        sample: StratifiedSample,
        used: NDArray[np.int64],
    ) -> None:
        self.scorer, self.sample, self.decided = scorer, sample, decided.consensus
        self.votes = screened.pool.votes
        self.by_majority = (settings.aggregator, settings.resolve) == ("majority", "none")
        self.needed = screened.pool.needed(settings.min_votes) if self.by_majority else 0
        names = screened.pool.everyone.annotators
        self.weight = (
            None if self.by_majority else vote_weights(self.votes, names, screened.annotators, settings)
        )
        self.pairs = scorer.pairs(self.votes, self.decided)
        #: The place of each of the scorer's items, and of each item of the pool, in the sample; -1 if it is not used.
        self.of_row = np.full(len(scorer.items), -1, dtype=np.int64)
        self.of_row[used] = np.arange(used.shape[0])
        self.of_code = np.full(self.votes.items, -1, dtype=np.int64)
        self.of_code[scorer.codes] = self.of_row
        of_pair = self.of_row[self.pairs.place]
        self.pair_weight = np.where(of_pair >= 0, sample.weight[of_pair], 0.0)

    def estimate(self, part: Part) -> DatasetEstimate | str:
        """Estimate one metric, or return the reason why it is not defined."""
        if part.metric.unit:
            return OF_EXAM
        inside = self.pairs.votes_of(part) & (self.of_code[self.votes.item] >= 0)
        votes = self.votes.where(inside)
        chosen = self.pairs.chosen(self.decided) * self.pairs.inside(part)
        counted = np.zeros(self.sample.stratum.shape[0])
        label = self.decided.label[self.scorer.codes]
        rows = np.array([row for row in part.rows if label[row] != NO_LABEL], dtype=np.int64)
        counted[self.of_row[rows][self.of_row[rows] >= 0]] = 1.0
        if not counted.any() or not len(votes):
            return NO_CONSENSUS
        worth = self.scorer.worth(part, self.pairs, chosen * self.pair_weight)
        scores = np.zeros(counted.shape[0])
        picked = np.flatnonzero((chosen > 0) & (self.of_row[self.pairs.place] >= 0))
        scores[self.of_row[self.pairs.place[picked]]] = worth.answer[picked]
        unseen = np.zeros(self.votes.items)
        unseen[self.scorer.codes] = worth.unseen
        try:
            influence = influences(
                votes,
                worth.answer[self.pairs.pair_of_vote[inside]],
                min_votes=self.needed,
                weight=None if self.weight is None else self.weight[inside],
                unseen=unseen,
            )
        except DataError:
            return NO_CONSENSUS
        row = self.of_code[votes.item]
        crowd = consensus_of_dataset(
            worth.value,
            scores,
            counted,
            self.sample,
            votes=votes,
            influence=influence,
            row=row,
            bounds=part.bounds,
        )
        return DatasetEstimate(crowd, self._single(part, votes, inside, self.of_code[votes.item]))

    def _single(
        self, part: Part, votes: Votes, inside: NDArray[np.bool_], row: NDArray[np.int64]
    ) -> DatasetValue:
        pair = self.pairs.pair_of_vote[inside]
        each = self.sample.weight[row] / np.bincount(votes.item, minlength=votes.items)[votes.item]
        drawn: FloatArray = np.bincount(pair, weights=each, minlength=len(self.pairs)).astype(np.float64)
        worth = self.scorer.worth(part, self.pairs, drawn)
        return person_of_dataset(worth.answer[pair], self.sample, votes=votes, row=row, bounds=part.bounds)
