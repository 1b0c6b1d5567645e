"""Answers as integer arrays: what aggregation and agreement compute on."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

IntArray = NDArray[np.int32]


@dataclass(frozen=True, slots=True)
class Votes:
    """Who answered what, encoded once so that everything after is arithmetic on arrays.

    Row `i` says that annotator `annotator[i]` gave label `label[i]` to item `item[i]`.

    Attributes:
        item: shape (n,), codes 0 .. items-1.
        annotator: shape (n,), codes 0 .. annotators-1.
        label: shape (n,), codes 0 .. labels-1, in the order that breaks no tie by accident (sorted by label).
        items: how many items there are; an item may have no votes left.
        annotators: how many annotators there are.
        labels: how many labels there are.
    """

    item: IntArray
    annotator: IntArray
    label: IntArray
    items: int
    annotators: int
    labels: int

    def __len__(self) -> int:
        return int(self.item.shape[0])

    def counts(self) -> NDArray[np.int64]:
        """Votes for each label of each item, shape (items, labels)."""
        cell = self.item.astype(np.int64) * self.labels + self.label
        return np.bincount(cell, minlength=self.items * self.labels).reshape(self.items, self.labels)
