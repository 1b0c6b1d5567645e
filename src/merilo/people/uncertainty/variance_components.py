"""The variance components of answers' scores: annotators, items, clusters of items and the rest."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from merilo.errors import DataError
from merilo.people.votes import Votes
from merilo.statistics.arrays import FloatArray
from merilo.statistics.cluster_variance import ONE_CLUSTER, cluster_count, cluster_design_effect


@dataclass(frozen=True, slots=True)
class Components:
    """The variance components of answers' scores.

    Attributes:
        person: the variance between annotators.
        item: the variance between items; within clusters, if items form clusters.
        rest: the residual variance.
        cluster: the variance between clusters of items; 0 if items are independent.
        cell: the variance between the combinations of an annotator and a cluster.
    """

    person: float
    item: float
    rest: float
    cluster: float = 0.0
    cell: float = 0.0


def components(votes: Votes, score: FloatArray) -> Components:
    """Estimate the variance components of annotators and items from products of pairs of answers.

    There are three kinds of pairs of answers: by one annotator to different items, by different annotators to one item,
    and by different annotators to different items. The mean product of the first or the second kind, minus that of the
    third, estimates the variance between annotators or items. Each pair counts once, so the estimates allow unequal
    numbers of answers.

    If items form clusters, the kinds of pairs are: one annotator or two; to one item, to two items of one cluster, or to
    items of two clusters. Their mean products give the variances between annotators, clusters, items within clusters, and
    combinations of an annotator and a cluster.

    Args:
        votes: the answers.
        score: shape (n,), the score of each answer.

    References:
        S. Searle, G. Casella, C. McCulloch (1992), Variance components, chapter 5 (unbalanced data).
    """
    if votes.cluster is not None:
        return _clustered_components(votes, score)
    n = len(votes)
    centred = score - score.mean()
    answered = np.bincount(votes.annotator, minlength=votes.annotators).astype(np.float64)
    overlap = np.bincount(votes.item, minlength=votes.items).astype(np.float64)
    of_person = np.bincount(votes.annotator, weights=centred, minlength=votes.annotators)
    of_item = np.bincount(votes.item, weights=centred, minlength=votes.items)
    squares = float(centred @ centred)
    by_person, by_item = float(of_person @ of_person), float(of_item @ of_item)
    persons_pairs, items_pairs = float(answered @ answered) - n, float(overlap @ overlap) - n
    others = float(n * n) - persons_pairs - items_pairs - n
    apart = (squares - by_person - by_item) / others if others > 0 else 0.0
    person = max((by_person - squares) / persons_pairs - apart, 0.0) if persons_pairs > 0 else 0.0
    item = max((by_item - squares) / items_pairs - apart, 0.0) if items_pairs > 0 else 0.0
    return Components(person, item, max(squares / n - apart - person - item, 0.0))


def person_effects(votes: Votes, parts: Components) -> FloatArray:
    """Compute the design effect of each annotator's mean score: 1 + (mean cluster size - 1) * correlation in a cluster.

    The mean size of the annotator's clusters is weighted by size.

    References:
        L. Kish (1965), Survey sampling, section 5.4.
    """
    total = parts.item + parts.rest + parts.cluster + parts.cell
    if votes.cluster is None or total <= 0:
        return np.ones(votes.annotators)
    cell = np.unique(votes.annotator * np.int64(votes.items) + votes.unit, return_counts=True)
    of_person, size = cell[0] // max(votes.items, 1), cell[1].astype(np.float64)
    answered = np.maximum(np.bincount(votes.annotator, minlength=votes.annotators), 1)
    mean_size = np.bincount(of_person, weights=size**2, minlength=votes.annotators) / answered
    correlation = (parts.cluster + parts.cell) / total
    return np.asarray(1 + np.maximum(mean_size - 1, 0.0) * correlation)


def _clustered_components(votes: Votes, score: FloatArray) -> Components:
    """Estimate the variance components as `components` describes, if items form clusters."""
    n = float(len(votes))
    centred = score - score.mean()

    def products(codes: NDArray[np.int32]) -> tuple[float, float]:
        """Return the sum of products of pairs with one code, and the number of such pairs."""
        sums, sizes = np.bincount(codes, weights=centred), np.bincount(codes).astype(np.float64)
        return float(sums @ sums), float(sizes @ sizes)

    def mean(total: float, pairs: float) -> float | None:
        return total / pairs if pairs > 0 else None

    (by_person, persons), (by_item, items) = products(votes.annotator), products(votes.item)
    by_cluster, clusters = products(votes.unit)
    sums, sizes = votes.cell_sums(centred)
    by_cell, cells, squares = float(sums @ sums), float(sizes @ sizes), float(centred @ centred)
    apart = mean(by_cell - by_person - by_cluster, n * n - persons - clusters + cells) or 0.0
    one_person = mean(by_person - by_cell, persons - cells)
    within = mean(by_cell - squares, cells - n)
    one_item = mean(by_item - squares, items - n)
    one_cluster = mean(by_cluster - by_item - by_cell + squares, clusters - items - cells + n)
    person = max((apart if one_person is None else one_person) - apart, 0.0)
    cluster = max((apart if one_cluster is None else one_cluster) - apart, 0.0)
    item = max((apart + cluster if one_item is None else one_item) - apart - cluster, 0.0)
    cell = max((0.0 if within is None else within - apart) - person - cluster, 0.0)
    rest = max(squares / n - apart - person - cluster - item - cell, 0.0)
    return Components(person, item, rest, cluster, cell)


def clustered_variance(votes: Votes, each: FloatArray, parts: Components) -> float:
    """Compute the variance of a weighted mean because of clusters and of annotators in clusters; 0 if items are independent.

    Args:
        votes: the answers.
        each: shape (n,), the weights.
        parts: the variance components of the averaged scores.
    """
    if votes.cluster is None:
        return 0.0
    of_cluster, (of_cell, _) = np.bincount(votes.unit, weights=each), votes.cell_sums(each)
    return parts.cluster * float(of_cluster @ of_cluster) + parts.cell * float(of_cell @ of_cell)


def cluster_effect_of(votes: Votes, deviations: FloatArray) -> tuple[int | None, float]:
    """Compute the number of clusters of the items with votes, and the design effect of a mean over these items.

    Args:
        votes: the answers.
        deviations: as for `cluster_design_effect`, of the items with votes.

    Returns:
        The number, `None` if items are independent; and the design effect, then 1.

    Raises:
        DataError: all items belong to one cluster.
    """
    if votes.cluster is None:
        return None, 1.0
    codes = votes.cluster[np.unique(votes.item)]
    clusters = cluster_count(codes)
    if clusters == codes.shape[0]:
        return None, 1.0
    if clusters == 1:
        raise DataError(ONE_CLUSTER)
    return clusters, cluster_design_effect(deviations, codes)
