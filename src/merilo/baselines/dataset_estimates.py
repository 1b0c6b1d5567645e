"""The estimates for the whole dataset, if a study's items are a sample of it: weights in the influences."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from merilo.baselines.consensus_scorer import ConsensusScorer, Pairs
from merilo.baselines.estimates import Needed
from merilo.baselines.population import Population
from merilo.estimate import Estimate
from merilo.metrics.scoring import Part
from merilo.people.aggregation import NO_LABEL, Consensus
from merilo.people.influence import by_cluster, consensus_influence
from merilo.people.votes import Votes
from merilo.statistics import FloatArray
from merilo.statistics.crossed import Influence, crossed

OF_EXAM: Final = "it is scored by complete variants of the exam, which strata of questions would divide"
NO_CONSENSUS: Final = "no item of the sample has a consensus"


def estimate_dataset(
    votes: Votes, needed: Needed, scorer: ConsensusScorer, consensus: Consensus, population: Population
) -> dict[str, Estimate]:
    """Estimate every metric of the consensus on the whole dataset.

    Each item with gold and an answer that counts has the weight of the items of its stratum (post-stratification). The
    metric is computed at these weights. The variance over items is that within strata, with a finite-population
    correction; the part that answers cause has none, because other annotators would answer.

    Args:
        votes: the answers that count.
        needed: the votes that a consensus needs.
        scorer: scores a consensus.
        consensus: the consensus.
        population: the dataset in strata.

    References:
        W. Cochran (1977), Sampling techniques, sections 5A.9 (post-stratification) and 2.8 (domains and ratios).
    """
    votes = votes.where(np.isin(votes.item, scorer.codes))
    pairs = scorer.pairs(votes, consensus)
    main, extra = scorer.parts()
    return {
        part.name: _estimate(part, votes, needed, scorer, consensus, population=population, pairs=pairs)
        for part in (*main, *extra)
    }


def _estimate(
    part: Part,
    votes: Votes,
    needed: Needed,
    scorer: ConsensusScorer,
    consensus: Consensus,
    *,
    population: Population,
    pairs: Pairs,
) -> Estimate:
    if part.metric.unit:
        return Estimate(name=part.name, reason=OF_EXAM)
    inside = pairs.votes_of(part)
    votes = votes.where(inside)
    stratum, weight, unsampled = _strata(scorer, votes, population)
    chosen = pairs.chosen(consensus) * pairs.inside(part)
    of_pair = weight[scorer.codes[pairs.place]]
    rows = np.array(part.rows, dtype=np.int64)
    decided = scorer.codes[rows[consensus.label[scorer.codes[rows]] != NO_LABEL]]
    n = int((weight[decided] > 0).sum())
    worth = scorer.worth(part, pairs, chosen * of_pair)
    unseen = np.zeros(votes.items)
    unseen[scorer.codes] = worth.unseen
    earned = worth.answer[pairs.pair_of_vote[inside]]
    redecided = consensus_influence(votes, earned, unseen, min_votes=needed, share=weight)
    if not n or redecided is None:
        return Estimate(name=part.name, reason=NO_CONSENSUS)
    items = np.unique(votes.item)
    influence = of_sample(redecided[1], stratum[items], unsampled[items], weight[items])
    return crossed(worth.value, by_cluster(influence, votes), part.bounds).estimate(part.name, n)


def _strata(
    scorer: ConsensusScorer, votes: Votes, population: Population
) -> tuple[NDArray[np.int64], FloatArray, FloatArray]:
    """Return the stratum, the weight and the share of its stratum that was not sampled of each item of the votes.

    Items that the population does not know, such as control items, have the weight 0.
    """
    items = votes.items
    stratum = np.full(items, -1, dtype=np.int64)
    names = {name: code for code, name in enumerate(population.sizes)}
    answered = np.bincount(votes.item, minlength=items) > 0
    for item, code in zip(scorer.items, scorer.codes.tolist(), strict=True):
        if answered[code] and int(item.id) in population.of:
            stratum[code] = names[population.of[int(item.id)]]
    sizes = np.array([*population.sizes.values()], dtype=np.float64)
    drawn = np.bincount(stratum[stratum >= 0], minlength=len(sizes))
    known = stratum >= 0
    weight = np.where(known, (sizes / np.maximum(drawn, 1))[stratum], 0.0)
    return stratum, weight, np.where(known, np.maximum(1 - drawn / sizes, 0.0)[stratum], 1.0)


def of_sample(
    influence: Influence, stratum: NDArray[np.integer], unsampled: FloatArray, weight: FloatArray
) -> Influence:
    """Return the influence if items are a stratified sample of a finite population.

    Args:
        influence: with the weights of items; its `items` have the codes of `unit` in their order.
        stratum: shape (items,), the stratum of each item.
        unsampled: shape (items,), the share of the item's stratum that was not sampled.
        weight: shape (items,), the weight of each item.
    """
    _, code, sizes = np.unique(stratum, return_inverse=True, return_counts=True)
    mean = np.bincount(code, influence.items) / sizes
    several = sizes[code] > 1
    within = np.where(several, influence.items - mean[code], influence.items)
    within *= np.sqrt(sizes / np.maximum(sizes - 1, 1))[code]
    by_answers = np.bincount(np.unique(influence.unit, return_inverse=True)[1], influence.answers**2)
    square = unsampled * within**2 + (1 - unsampled) * np.minimum(by_answers, within**2)
    return influence._replace(
        items=np.sign(within) * np.sqrt(square), alike=float(weight.sum()) ** 2 / float(weight @ weight)
    )
