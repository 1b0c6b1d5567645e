"""Compare two respondents on the same items by a metric that is not a mean over items: macro F1, MCC."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import Final

import numpy as np
from numpy.typing import NDArray

from merilo.metrics.classification import label_figures
from merilo.statistics.arrays import FloatArray
from merilo.statistics.intervals import DRAWS_AT_ONCE, RESAMPLES, Interval
from merilo.statistics.paired_tests import PERMUTATIONS, SAME, Difference, PairedTest, detectable_difference

#: Up to this many items with different answers, all swaps are enumerated (at most 2,048).
EXACT_SWAPS: Final = 11


def compare_labels(
    metric: str,
    first: Sequence[str],
    second: Sequence[str],
    gold: Sequence[str],
    *,
    level: float = 0.95,
    seed: int = 0,
) -> Difference:
    """Compare the answers of two respondents by a metric that is not a mean over items.

    The test is a permutation test: under the null hypothesis the two answers to any item are exchangeable. With up to
        11 differing answers all swaps are enumerated, otherwise swaps are sampled. The interval is a paired
        bootstrap: each resample draws the same items for both. Items with equal gold and equal answers are drawn as
        counts, so that the time does not grow with the number of items.

    Args:
        metric: "f1_macro" or "mcc".
        first: shape (n,), n at least 1, the answers of the first respondent.
        second: shape (n,), the answers of the second respondent to the same items.
        gold: shape (n,), the gold answers.
        level: the nominal coverage, in (0, 1).
        seed: random seed for swaps and resamples.

    Raises:
        ValueError: the sequences are empty or differ in length.

    Example:
        >>> compared = compare_labels("mcc", list("AABB") * 9, list("ABBB") * 9, list("AABB") * 9)
        >>> round(compared.value, 3), compared.worse, compared.test.p < 0.05
        (-0.423, 9, True)
    """
    if not gold:
        raise ValueError("at least one item is needed")
    pairs = _Pairs.of(first, second, gold)
    n = len(gold)
    one, other = (
        float(figures[0]) for figures in pairs.figures(metric, pairs.counts[None], pairs.counts[None])
    )
    rng = np.random.default_rng(seed)
    drawn = rng.multinomial(n, pairs.counts / n, size=RESAMPLES)
    firsts, seconds = pairs.figures(metric, drawn, drawn)
    spread = seconds - firsts
    low, high = np.quantile(spread, [(1 - level) / 2, (1 + level) / 2])
    method = f"paired bootstrap over items (percentile, {RESAMPLES} resamples, seed {seed})"
    return Difference(
        one,
        other,
        n,
        other - one,
        Interval(float(low), float(high), level, method),
        _swap_test(metric, pairs, abs(other - one), rng, seed),
        sum(b == g != a for a, b, g in zip(first, second, gold, strict=True)),
        sum(a == g != b for a, b, g in zip(first, second, gold, strict=True)),
        detectable_difference(float(spread.var()) * n, n, level=level),
    )


@dataclass(frozen=True, slots=True)
class _Pairs:
    """The distinct triples (gold, first answer, second answer) and the number of items with each."""

    gold: NDArray[np.int64]
    first: NDArray[np.int64]
    second: NDArray[np.int64]
    counts: NDArray[np.int64]

    @staticmethod
    def of(first: Sequence[str], second: Sequence[str], gold: Sequence[str]) -> _Pairs:
        codes: dict[str, int] = {}
        triples = [
            tuple(codes.setdefault(label, len(codes)) for label in triple)
            for triple in zip(gold, first, second, strict=True)
        ]
        distinct, counts = np.unique(np.array(triples, dtype=np.int64), axis=0, return_counts=True)
        return _Pairs(distinct[:, 0], distinct[:, 1], distinct[:, 2], counts.astype(np.int64))

    def figures(
        self, metric: str, kept: NDArray[np.int64], as_second: NDArray[np.int64]
    ) -> tuple[FloatArray, FloatArray]:
        """Return the metric of both respondents for each table, from the number of items of each triple."""
        return (
            label_figures(metric, self.gold, self.first, kept),
            label_figures(metric, self.gold, self.second, as_second),
        )

    def swapped(self, metric: str, swaps: NDArray[np.int64]) -> FloatArray:
        """Return the difference after swapping the answers of this many items of each triple, shape (tables, triples)."""
        gold = np.concatenate([self.gold, self.gold])
        answers = np.concatenate([self.first, self.second])
        stay = self.counts - swaps
        one = label_figures(metric, gold, answers, np.concatenate([stay, swaps], axis=1))
        other = label_figures(metric, gold, answers, np.concatenate([swaps, stay], axis=1))
        return other - one


def _swap_test(
    metric: str, pairs: _Pairs, observed: float, rng: np.random.Generator, seed: int
) -> PairedTest:
    """Run the permutation test of the difference."""
    apart = pairs.first != pairs.second
    differing = np.where(apart, pairs.counts, 0)
    items = np.repeat(np.flatnonzero(apart), pairs.counts[apart])
    if items.shape[0] <= EXACT_SWAPS:
        choices = np.array(list(product((0, 1), repeat=items.shape[0])), dtype=np.int64)
        swaps = np.zeros((choices.shape[0], pairs.counts.shape[0]), dtype=np.int64)
        for column, triple in enumerate(items.tolist()):
            swaps[:, triple] += choices[:, column]
        extreme = np.abs(pairs.swapped(metric, swaps)) >= observed - SAME
        return PairedTest(float(extreme.mean()), "swap permutation test (exact)")
    count = 0
    step = max(1, DRAWS_AT_ONCE // pairs.counts.shape[0])
    for start in range(0, PERMUTATIONS, step):
        rows = min(step, PERMUTATIONS - start)
        swaps = rng.binomial(differing, 0.5, size=(rows, differing.shape[0]))
        count += int((np.abs(pairs.swapped(metric, swaps)) >= observed - SAME).sum())
    method = f"swap permutation test ({PERMUTATIONS} permutations, seed {seed})"
    return PairedTest((1 + count) / (1 + PERMUTATIONS), method)
