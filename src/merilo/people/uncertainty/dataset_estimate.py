"""The estimate for the whole dataset from a sample of its items, over items and annotators.

docs/uncertainty.md describes the method and its measured coverage.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from merilo.people.uncertainty.annotator_accuracy import (
    GuessingVariance,
    change_by_guessing,
    components,
    guessing_variance,
    mean_variance,
    widened,
)
from merilo.people.uncertainty.two_way import LEAST_ANNOTATORS, ItemInfluences, shared_part
from merilo.people.votes import Votes
from merilo.statistics import FloatArray, IntArray
from merilo.statistics.intervals import Interval, cluster_count, cluster_design_effect, limited_freedom
from merilo.statistics.post_stratification import (
    SampledVariance,
    StratifiedSample,
    bounded_interval,
    stratified_variance,
)

#: The methods of the intervals.
OVER_ITEMS = "post-stratified, finite-population correction (Wilson's form)"
OVER_BOTH = (
    "post-stratified, over items and annotators, finite-population correction of the items' part "
    "(Wilson's form)"
)

#: The largest effective number of items, in items. Strata that differ much in difficulty tell more than a simple
#: sample of as many items; a larger gain is the chance of a variance estimated too small.
MOST_GAIN = 3.0


@dataclass(frozen=True, slots=True)
class DatasetValue:
    """An estimate for the whole dataset.

    Attributes:
        value: the estimate.
        n: the number of items that it is computed from.
        interval: its interval over items; `None` for single persons, whose answers are not all those of one item.
        both: its interval over items and annotators; `None` for the consensus of fewer than three annotators.
        item_error: the standard error from items, with finite-population correction.
        annotator_error: the additional standard error because items share annotators.
    """

    value: float
    n: int
    interval: Interval | None
    both: Interval | None
    item_error: float
    annotator_error: float


def consensus_of_dataset(
    value: float,
    scores: FloatArray,
    counted: FloatArray,
    sample: StratifiedSample,
    *,
    votes: Votes,
    influence: ItemInfluences,
    row: IntArray,
    bounds: tuple[float, float] = (0.0, 1.0),
    level: float = 0.95,
) -> DatasetValue:
    """Estimate a metric of the consensus on the whole dataset, from the metric and items' contributions in a sample.

    The item part is the variance of the post-stratified mean. Its finite-population correction is complete for the
    interval over items alone: with these annotators' answers, a fully sampled dataset has no uncertainty.
    Other annotators would give other answers to the same items, so the interval over both keeps the part of
    the item variance that answers cause (at most the sum of the squared influences of all answers). The
    annotators' part is that of `two_way`, with every answer's influence multiplied by the weight of its item,
    and the corrections for few annotators are those of `two_way`. If items form clusters, the item part is
    multiplied, and the effective numbers of items are divided, by the design effect of the weighted
    deviations from the strata's means.

    Args:
        value: the metric at the weights of the items.
        scores: shape (n,), the contribution of each item's consensus; `value` is their weighted mean over `counted`.
        counted: shape (n,), 1 for items that the metric is computed on; 0 for undecided items, and for those of other
            groups if the metric is that of a group.
        sample: the strata of all n items.
        votes: the answers to the items of the metric.
        influence: their influences, by `influences`.
        row: shape (answers,), the place of each answer's item among the n items.
        bounds: the smallest and the largest possible value of the metric.
        level: the nominal coverage.

    References:
        W. Cochran (1977), Sampling techniques, sections 5A.9 (post-stratification) and 2.8 (domains and ratios).
        B. Efron, C. Stein (1981), The jackknife estimate of variance. Annals of Statistics 9, 586-596.
    """
    covered = float(sample.share @ counted)
    residual = counted * (scores - value) / covered
    effect, freedom_of_items = _cluster_effect(residual, sample, votes, row)
    items = stratified_variance(residual, sample)
    items = SampledVariance(
        items.corrected * effect, items.uncorrected * effect, min(items.freedom, freedom_of_items)
    )
    kish = _effective(sample, counted, np.ones_like(counted))
    unsampled = kish / _effective(sample, counted, sample.unsampled)
    interval = bounded_interval(
        value,
        items.corrected,
        items.freedom,
        bounds=bounds,
        most=MOST_GAIN * float(counted.sum()) / unsampled / effect if unsampled > 0 else float("inf"),
        alike=_effective(sample, counted, sample.unsampled) / effect,
        method=OVER_ITEMS,
        level=level,
    )
    share = sample.share[row] * influence.scored / influence.item.shape[0] / covered
    pull = influence.answer * share
    by_answers = min(float(pull @ pull), items.uncorrected)
    kept = by_answers / items.uncorrected if items.uncorrected > 0 else 1.0
    of_items = items.corrected + (items.uncorrected - items.corrected) * kept
    n = influence.item.shape[0]
    weighted = replace(influence, answer=pull * n, guess=influence.guess * share * n)
    shared = shared_part(votes, weighted).above_zero()
    total = of_items + shared.variance
    doubt = of_items**2 / items.freedom + shared.doubt
    freedom = total**2 / doubt if doubt > 0 else items.freedom
    both = bounded_interval(
        value,
        total,
        limited_freedom(freedom, shared.annotators),
        bounds=bounds,
        most=MOST_GAIN * float(counted.sum()) / effect,
        alike=kish / effect,
        method=OVER_BOTH,
        level=level,
    )
    both = _for_few_annotators(
        both,
        GuessingVariance(shared.below, shared.above),
        value,
        bounds=bounds,
        variances=(of_items, shared.variance, doubt),
        most=MOST_GAIN * float(counted.sum()) / effect,
        alike=kish / effect,
    )
    return DatasetValue(
        value,
        int(counted.sum()),
        interval,
        both if shared.annotators >= LEAST_ANNOTATORS else None,
        float(np.sqrt(of_items)),
        float(np.sqrt(shared.variance)),
    )


def person_of_dataset(
    score: FloatArray,
    sample: StratifiedSample,
    *,
    votes: Votes,
    row: IntArray,
    bounds: tuple[float, float] = (0.0, 1.0),
    level: float = 0.95,
) -> DatasetValue:
    """Estimate the metric of one answer drawn for every item of the whole dataset.

    The variance is that of `individuals` with the weights of the items: of its parts, only the variance
    between items has a finite-population correction.

    Args:
        score: shape (answers,), the score of each answer.
        sample: the strata of the items.
        votes: the answers.
        row: shape (answers,), the place of each answer's item in the sample.
        bounds: the smallest and the largest possible value of the metric.
        level: the nominal coverage.

    References:
        F. Satterthwaite (1946), An approximate distribution of estimates of variance components. Biometrics 2, 110-114.
    """
    place = row
    each = sample.share[place] / np.bincount(votes.item, minlength=votes.items)[votes.item]
    each = each / each.sum()
    value = float(each @ score)
    strata = sample.stratum[place]
    mean = np.bincount(strata, weights=each * score) / np.bincount(strata, weights=each)
    parts = components(votes, score - mean[strata])
    variance, freedom = mean_variance(votes, each, parts)
    of_item = np.bincount(place, weights=each, minlength=sample.stratum.shape[0])
    items = int((of_item > 0).sum())
    with_all = parts.item * float(of_item @ of_item)
    corrected = parts.item * float((of_item**2) @ sample.unsampled)
    total = variance - with_all + corrected
    doubt = variance**2 / freedom - (with_all**2 - corrected**2) / max(items - 1, 1)
    of_person = np.bincount(votes.annotator, weights=each, minlength=votes.annotators)
    by_person = parts.person * float(of_person @ of_person)
    both = bounded_interval(
        value,
        total,
        total**2 / doubt if doubt > 0 else float(len(votes)),
        bounds=bounds,
        most=MOST_GAIN * items,
        alike=1 / float(of_item @ of_item),
        method=OVER_BOTH,
        level=level,
    )
    alone = max(total - by_person, 0.0)
    both = _for_few_annotators(
        both,
        guessing_variance(votes.annotator, each * change_by_guessing(votes, score, bounds), votes.annotators),
        value,
        bounds=bounds,
        variances=(alone, by_person, max(doubt, 0.0)),
        most=MOST_GAIN * items,
        alike=1 / float(of_item @ of_item),
    )
    return DatasetValue(
        value, items, None, both, float(np.sqrt(max(total - by_person, 0.0))), float(np.sqrt(by_person))
    )


def _for_few_annotators(
    both: Interval,
    guessing: GuessingVariance,
    value: float,
    *,
    bounds: tuple[float, float],
    variances: tuple[float, float, float],
    most: float,
    alike: float,
) -> Interval:
    """Widen the interval by `widened`, as `two_way` does; the standard error from items is at least one item."""
    low, width = bounds[0], bounds[1] - bounds[0]
    p = min(max((value - low) / width, 0.0), 1.0)
    of_items, shared, doubt = variances
    spread = p * (1 - p) * width**2
    effective = min(spread / of_items, most) if spread > 0 and of_items > 0 else alike
    of_items = max(of_items, (width / alike) ** 2)
    bottom, top = widened(
        ((both.low - low) / width, (both.high - low) / width),
        guessing,
        p,
        effective,
        variances=(of_items, shared, max(doubt, of_items**2 / alike)),
        level=both.level,
    )
    return replace(both, low=low + width * bottom, high=low + width * top)


def _cluster_effect(
    residual: FloatArray, sample: StratifiedSample, votes: Votes, row: IntArray
) -> tuple[float, float]:
    """Return the design effect of clusters of items, and the degrees of freedom that clusters leave.

    1 and infinity without.
    """
    if votes.cluster is None:
        return 1.0, float("inf")
    n = residual.shape[0]
    # An item without answers is a cluster of its own.
    clusters = np.arange(n) + int(votes.cluster.max(initial=0)) + 1
    clusters[row] = votes.cluster[votes.item]
    asked = np.unique(row)
    mean = np.bincount(sample.stratum, weights=residual) / sample.drawn
    deviations = (residual - mean[sample.stratum]) * sample.share * n
    effect = cluster_design_effect(deviations[asked], clusters[asked])
    return min(effect, float(asked.shape[0])), float(max(cluster_count(clusters[asked]) - 1, 1))


def _effective(sample: StratifiedSample, counted: FloatArray, correction: FloatArray) -> float:
    """Kish's effective number of the counted items, with a factor for the variance of each; infinite if all are 0."""
    share = sample.share * counted
    square = float((share**2) @ correction)
    return float(share.sum()) ** 2 / square if square > 0 else float("inf")
