"""Metrics of labels by scikit-learn, on the table of gold labels and answers: quick enough for thousands of resamples."""

import functools
import warnings
from collections import Counter
from collections.abc import Iterable

from sklearn.metrics import f1_score, matthews_corrcoef


def by_scikit_learn(metric: str, gold: Iterable[str], answers: Iterable[str]) -> float:
    """Macro F1 or MCC; both depend only on how often each answer meets each gold label."""
    return _of_table(metric, frozenset(Counter(zip(gold, answers, strict=True)).items()))


@functools.cache
def _of_table(metric: str, table: frozenset[tuple[tuple[str, str], int]]) -> float:
    pairs, counts = zip(*sorted(table), strict=True)
    gold, answers = zip(*pairs, strict=True)
    if metric == "mcc":
        with warnings.catch_warnings(action="ignore"):
            return float(matthews_corrcoef(gold, answers, sample_weight=counts))
    return float(f1_score(gold, answers, average="macro", sample_weight=counts, zero_division=0))
