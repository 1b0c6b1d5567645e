"""The variance of means over items that form clusters: questions about one text, turns of one dialogue."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from merilo.statistics.arrays import FloatArray

#: With so many items of the rarer outcome, the observed and the assumed design effect have equal weights; about z² / 2.
RARE_ITEMS: Final = 2.0

#: The correlation of the items of a cluster if all scores are equal; correlations of questions about one text
#: are smaller.
ASSUMED_CORRELATION: Final = 0.5

#: Why there is no interval over items if all of them are of one cluster.
ONE_CLUSTER: Final = (
    "all items belong to one cluster, so there is no interval over items: at least two clusters are needed"
)


def cluster_count(clusters: NDArray[np.integer]) -> int:
    """Count the distinct clusters of items, from codes of shape (n,)."""
    return int(np.unique(clusters).shape[0])


def assumed_cluster_effect(clusters: NDArray[np.integer]) -> float:
    """Compute the design effect of clusters with the assumed correlation, if the scores do not show any other.

    With the mean size of the clusters, weighted by size:  1 + (mean size - 1) * ASSUMED_CORRELATION.

    Args:
        clusters: shape (n,), codes.

    References:
        L. Kish (1965), Survey sampling, section 5.4.

    Example:
        >>> assumed_cluster_effect(np.array([0, 0, 0, 1]))
        1.75
    """
    sizes = np.unique(clusters, return_counts=True)[1].astype(np.float64)
    return 1 + (float(sizes @ sizes) / float(sizes.sum()) - 1) * ASSUMED_CORRELATION


def cluster_design_effect(deviations: FloatArray, clusters: NDArray[np.integer]) -> float:
    """Compute the factor by which the variance of a mean grows because items of one cluster depend on each other.

    With deviations d of the items from the mean, their sums D over the G clusters and n items:

        observed = (G / (G - 1)) sum(D^2) / ((n / (n - 1)) sum(d^2)),  at least 1

    is the ratio of the cluster-robust variance of the mean (linearised, so that clusters may differ in size)
    to the variance of independent items. If nearly all items have the same score, the few others do not show
    how clusters depend. With s = sum(d^2), which is about the number of the few other items, the result is therefore

        (s^2 observed + RARE_ITEMS^2 assumed) / (s^2 + RARE_ITEMS^2)

    with `assumed_cluster_effect`, which is the result if there are no others.

    Args:
        deviations: shape (n,), item scores of a range of 1, less their mean.
        clusters: shape (n,), codes.

    Returns:
        The design effect, at least 1; exactly 1 if every cluster is one item, and infinite for a single
        cluster of several.

    References:
        L. Kish (1965), Survey sampling, chapters 5 and 6 (design effect; variance of a ratio over clusters).
        J. Rao, A. Scott (1992), A simple method for the analysis of clustered binary data. Biometrics 48, 577-585.

    Example:
        >>> scores, texts = np.repeat([0.0, 1.0], 150), np.repeat(np.arange(60), 5)
        >>> round(cluster_design_effect(scores - 0.5, texts), 2)
        5.07
    """
    n = deviations.shape[0]
    _, codes = np.unique(clusters, return_inverse=True)
    groups = int(codes.max(initial=-1)) + 1
    if groups == n:
        return 1.0
    if groups == 1:
        return float("inf")
    assumed, square = assumed_cluster_effect(codes), float(deviations @ deviations)
    if square <= 0:
        return assumed
    sums = np.bincount(codes, weights=deviations, minlength=groups)
    observed: float = float(sums @ sums) / square * (groups / (groups - 1)) * ((n - 1) / n)
    weight = square**2 / (square**2 + RARE_ITEMS**2)
    return weight * max(observed, 1.0) + (1 - weight) * assumed
