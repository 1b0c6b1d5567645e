"""Scores of a task whose choices are compared by log-likelihood, by Merilo's definitions.

A task's folder holds a copy of this file, which needs Python alone; `merilo` need not be installed where the task runs.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from math import isnan, sqrt
from pathlib import Path


def load(**_: object) -> Mapping[str, object]:
    """Return the data beside this file, as lm-eval takes it."""
    from datasets import Dataset, DatasetDict  # noqa: PLC0415 - lm-eval has it

    lines = Path(__file__).with_suffix(".jsonl").read_text(encoding="utf-8").split("\n")
    held: Mapping[str, object] = DatasetDict(
        test=Dataset.from_list([json.loads(line) for line in lines if line])
    )
    return held


def process_results(doc: Mapping[str, str], results: Sequence[tuple[float, bool]]) -> dict[str, object]:
    """Return the label and the gold label for each metric of an item; equal log-likelihoods give no label."""
    values = [value for value, _ in results]
    best = max(values)
    label = "" if any(map(isnan, values)) or values.count(best) > 1 else doc["choices"][values.index(best)]
    found = {metric: (label, gold) for metric, gold in json.loads(doc["scored"])}
    return {"answered": float(label != ""), **found}


def acc(pairs: Sequence[tuple[str, str]]) -> float:
    """Return the share of labels that equal the gold label."""
    return sum(label == gold for label, gold in pairs) / len(pairs)


def f1_macro(pairs: Sequence[tuple[str, str]]) -> float:
    """Return the mean of F1 over all labels that occur, a missing label counted as one."""
    counts = Counter(label for label, _ in pairs) + Counter(gold for _, gold in pairs)
    right = Counter(label for label, gold in pairs if label == gold)
    return sum(2 * right[label] / count for label, count in counts.items()) / len(counts)


def mcc(pairs: Sequence[tuple[str, str]]) -> float:
    """Return the Matthews correlation of labels and gold labels; 0 if all labels or all gold labels are the same."""
    n, right = len(pairs), sum(label == gold for label, gold in pairs)
    given, true = Counter(label for label, _ in pairs), Counter(gold for _, gold in pairs)
    root = sqrt(
        (n * n - sum(count * count for count in given.values()))
        * (n * n - sum(count * count for count in true.values()))
    )
    return (right * n - sum(given[label] * true[label] for label in true)) / root if root else 0.0


em = acc
