"""The quality of annotators and controls. This module has what all start from: the annotators' work as arrays.

Every answer stands with its place in time, and whether it was a control.
"""

from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from merilo.people.votes import Votes
from merilo.responses import Responses, answer_seconds
from merilo.statistics import FloatArray

BoolArray = NDArray[np.bool_]

#: More characters a second than anyone can read: a fast reader reaches 25 to 30, skimming 60.
READING_LIMIT = 100.0


def faster_than_reading(responses: Responses) -> pl.DataFrame:
    """Return whether each answer was given faster than anyone can read its item.

    Returns:
        Columns `respondent` and `fast`, a row an answer; `fast` is null where the time is not known.
    """
    length = pl.sum_horizontal(
        pl.col(name).cast(pl.String).str.len_chars().fill_null(0) for name in responses.fields
    )
    return (
        responses.table.select("respondent", "item", seconds=answer_seconds())
        .join(responses.items.select("item", length=length), on="item", how="left", maintain_order="left")
        .select("respondent", fast=pl.col("length") > READING_LIMIT * pl.col("seconds"))
    )


@dataclass(frozen=True, slots=True)
class Work:
    """The answers of a study, controls included, with their order and times.

    Row `i` of every array belongs to the answer in row `i` of `votes`.

    Attributes:
        votes: the answers; of several by one annotator to one item, the first counts.
        control: shape (n,), true if the item is a control.
        order: shape (n,), when the answer was given, in any unit that sorts (answers of one page may tie).
    """

    votes: Votes
    control: BoolArray
    order: FloatArray

    def __len__(self) -> int:
        return len(self.votes)

    def rows_of_items(self) -> NDArray[np.int64]:
        """Select the rows of test items (no controls), with only each annotator's first answer to an item."""
        rows = np.flatnonzero(~self.control)
        rows = rows[np.argsort(self.order[rows], kind="stable")]
        pair = self.votes.annotator[rows].astype(np.int64) * max(1, self.votes.items) + self.votes.item[rows]
        _, first = np.unique(pair, return_index=True)
        return np.sort(rows[first])


def work_of(votes: Votes) -> Work:
    """Build a `Work` from votes on items alone, ordered by row, without times."""
    return Work(votes, np.zeros(len(votes), dtype=np.bool_), np.arange(len(votes), dtype=np.float64))
