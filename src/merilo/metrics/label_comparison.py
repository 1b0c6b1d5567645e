"""Compare two respondents on the same items by a statistic of all answers: macro F1, MCC, a correlation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import Final

import numpy as np
from numpy.typing import NDArray

from merilo.errors import DataError
from merilo.metrics.metric import Metric, Statistic
from merilo.statistics import FloatArray
from merilo.statistics.intervals import DRAWS_AT_ONCE, ONE_CLUSTER, RESAMPLES, Interval, cluster_count
from merilo.statistics.paired_tests import PERMUTATIONS, SAME, Difference, PairedTest, detectable_difference

#: Up to this many items with different answers, all swaps are enumerated (at most 2,048).
EXACT_SWAPS: Final = 11


def compare_labels(
    metric: Metric,
    first: Sequence[str],
    second: Sequence[str],
    gold: Sequence[str],
    *,
    clusters: NDArray[np.integer] | None = None,
    level: float = 0.95,
    seed: int = 0,
) -> Difference:
    """Compare the answers of two respondents by a metric that is not a mean over items.

    The test is a permutation test: under the null hypothesis the two answers to any item are exchangeable. With up to
    11 differing answers all swaps are enumerated, otherwise swaps are sampled. The interval is a paired bootstrap: each
    resample draws the same items for both. Items with equal gold and equal answers are drawn as counts, so
    that the time does not grow with the number of items. If items form clusters, whole clusters are swapped and drawn.

    Args:
        metric: a statistic of all answers.
        first: shape (n,), n at least 1, the answers of the first respondent.
        second: shape (n,), the answers of the second respondent to the same items.
        gold: shape (n,), the gold answers.
        clusters: shape (n,), codes of the clusters of items; by default, items are independent.
        level: the nominal coverage, in (0, 1).
        seed: random seed for swaps and resamples.

    Raises:
        ValueError: the sequences are empty or differ in length.
        DataError: the metric is no statistic, or all items belong to one cluster.

    Example:
        >>> from merilo.metrics.registry import metric_of
        >>> compared = compare_labels(metric_of("mcc", "label"), list("AABB") * 9, list("ABBB") * 9, list("AABB") * 9)
        >>> round(compared.value, 3), compared.worse, compared.test.p < 0.05
        (-0.423, 9, True)
    """
    if not gold:
        raise ValueError("at least one item is needed")
    if metric.statistic is None:
        raise DataError(f"the metric '{metric.name}' is not a statistic of all answers")
    pairs, table = _Pairs.of(metric.statistic, first, second, gold, clusters)
    n = len(gold)
    one, other = (float(figures[0]) for figures in pairs.figures(pairs.counts[None]))
    rng = np.random.default_rng(seed)
    drawn = _drawn(pairs, table, rng)
    firsts, seconds = pairs.figures(drawn)
    spread = seconds - firsts
    low, high = np.quantile(spread, [(1 - level) / 2, (1 + level) / 2])
    over = "items" if table is None else f"{table.shape[0]} clusters of items"
    method = f"paired bootstrap over {over} (percentile, {RESAMPLES} resamples, seed {seed})"
    return Difference(
        one,
        other,
        n,
        other - one,
        Interval(float(low), float(high), level, method),
        _swap_test(pairs, table, abs(other - one), rng, seed=seed),
        sum(b == g != a for a, b, g in zip(first, second, gold, strict=True)),
        sum(a == g != b for a, b, g in zip(first, second, gold, strict=True)),
        detectable_difference(float(spread.var()) * n, n, level=level),
    )


@dataclass(frozen=True, slots=True)
class _Pairs:
    """The distinct triples (gold, first answer, second answer) and the number of items with each."""

    statistic: Statistic
    gold: list[str]
    first: list[str]
    second: list[str]
    counts: NDArray[np.int64]

    @staticmethod
    def of(
        statistic: Statistic,
        first: Sequence[str],
        second: Sequence[str],
        gold: Sequence[str],
        clusters: NDArray[np.integer] | None,
    ) -> tuple[_Pairs, NDArray[np.int64] | None]:
        """Return the triples; and their numbers in each cluster, shape (clusters, triples), if items form clusters."""
        triples = [*zip(gold, first, second, strict=True)]
        place = {triple: row for row, triple in enumerate(sorted(set(triples)))}
        of_item = np.array([place[triple] for triple in triples], dtype=np.int64)
        counts = np.bincount(of_item)
        sides = [[triple[side] for triple in place] for side in range(3)]
        pairs = _Pairs(statistic, sides[0], sides[1], sides[2], counts)
        units = 0 if clusters is None else cluster_count(clusters)
        if clusters is None or units == len(gold):
            return pairs, None
        if units == 1:
            raise DataError(ONE_CLUSTER)
        table = np.zeros((units, counts.shape[0]), dtype=np.int64)
        np.add.at(table, (np.unique(clusters, return_inverse=True)[1], of_item), 1)
        return pairs, table

    def figures(self, counts: NDArray[np.int64]) -> tuple[FloatArray, FloatArray]:
        """Return the metric of both respondents for each table, from the number of items of each triple."""
        weight = counts.astype(np.float64)
        return (
            self.statistic(self.gold, self.first, weight),
            self.statistic(self.gold, self.second, weight),
        )

    def swapped(self, swaps: NDArray[np.int64]) -> FloatArray:
        """Return the difference after swapping the answers of this many items of each triple.

        Shape (tables, triples).
        """
        gold, answers = self.gold * 2, [*self.first, *self.second]
        stay = self.counts - swaps
        one = self.statistic(gold, answers, np.concatenate([stay, swaps], axis=1).astype(np.float64))
        other = self.statistic(gold, answers, np.concatenate([swaps, stay], axis=1).astype(np.float64))
        return other - one


def _drawn(pairs: _Pairs, table: NDArray[np.int64] | None, rng: np.random.Generator) -> NDArray[np.int64]:
    """Draw how many items of each triple a resample has, shape (resamples, triples)."""
    n = int(pairs.counts.sum())
    if table is None:
        return rng.multinomial(n, pairs.counts / n, size=RESAMPLES)
    units = table.shape[0]
    return np.asarray(rng.multinomial(units, np.full(units, 1 / units), size=RESAMPLES) @ table)


def _swap_test(
    pairs: _Pairs,
    table: NDArray[np.int64] | None,
    observed: float,
    rng: np.random.Generator,
    *,
    seed: int,
) -> PairedTest:
    """Run the permutation test of the difference, in which all answers of a cluster are swapped together."""
    apart = np.array(pairs.first) != np.array(pairs.second)
    if table is None:
        differing = np.where(apart, pairs.counts, 0)
        units, width, by = int(differing.sum()), len(differing), ""
    else:
        differing = np.where(apart, table, 0)
        differing = differing[differing.any(axis=1)]
        units, width, by = len(differing), max(differing.shape), " by cluster"
    if units <= EXACT_SWAPS:
        chosen = np.array(list(product((0, 1), repeat=units)), dtype=np.int64).reshape(2**units, units)
        rows = differing if table is not None else np.eye(width, dtype=np.int64).repeat(differing, axis=0)
        extreme = np.abs(pairs.swapped(chosen @ rows)) >= observed - SAME
        return PairedTest(float(extreme.mean()), f"swap permutation test (exact){by}")
    count = 0
    step = max(1, DRAWS_AT_ONCE // width)
    for start in range(0, PERMUTATIONS, step):
        size = min(step, PERMUTATIONS - start)
        swaps = (
            rng.binomial(differing, 0.5, size=(size, width))
            if table is None
            else rng.integers(0, 2, size=(size, units)) @ differing
        )
        count += int((np.abs(pairs.swapped(swaps)) >= observed - SAME).sum())
    method = f"swap permutation test ({PERMUTATIONS} permutations, seed {seed}){by}"
    return PairedTest((1 + count) / (1 + PERMUTATIONS), method)
