"""The quality of annotators and controls. This module has what all start from: the annotators' work as arrays.

Every answer stands with its time, duration, and whether it was a control.
"""

from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from merilo.people.votes import Encoding, Votes, encode
from merilo.responses import Responses, answer_seconds, in_order_of_time
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
        seconds: shape (n,), seconds spent on the answer's page (the same on all of its rows), NaN when unknown.
        characters: shape (n,), length of the item's text in characters, NaN when unknown.
    """

    votes: Votes
    control: BoolArray
    order: FloatArray
    seconds: FloatArray | None = None
    characters: FloatArray | None = None

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


@dataclass(frozen=True, slots=True)
class StudyWork:
    """The work of a study's annotators, and the meaning of the codes in it.

    Attributes:
        work: the answers as arrays, one row per response, in the order of the response table.
        items: shape (items,), the items' numbers.
        annotators: shape (annotators,), the annotators' ids.
        labels: shape (labels,), the labels: answers, and the controls' known answers.
    """

    work: Work
    items: tuple[int, ...]
    annotators: tuple[str, ...]
    labels: tuple[str, ...]


def study_work(responses: Responses, *, encoding: Encoding | None = None) -> StudyWork:
    """Encode a study's responses, including controls.

    Answers are ordered by the time when their page was opened, then by row; if any time is missing, all are ordered
    by row. The length of an item is that of all its input texts.

    Args:
        responses: the responses; each has an item, an annotator and an answer.
        encoding: the votes of all these responses, as a baseline has in `pool.everyone`; by default, they are
            encoded here.

    Returns:
        The work.
    """
    table = responses.table
    votes = encoding or encode(table["item"], table["respondent"], table["answer"])
    coded = votes.with_labels(table["control"].drop_nulls().unique())
    time = pl.coalesce("started", "submitted").dt.epoch("ms").cast(pl.Float64)
    derived = table.select(
        time.alias("time"),
        (pl.col("is_control") & pl.col("control").is_not_null()).alias("control"),
        pl.col("page_seconds").fill_null(float("nan")).alias("seconds"),
    )
    lengths = responses.items.select(
        "item", pl.sum_horizontal(pl.col(name).str.len_chars() for name in responses.fields).alias("length")
    )
    length = table.select("item").join(lengths, on="item", how="left", maintain_order="left")["length"]
    return StudyWork(
        Work(
            votes=coded.votes,
            control=derived["control"].to_numpy(),
            order=in_order_of_time(derived["time"]).astype(np.float64),
            seconds=derived["seconds"].to_numpy(),
            characters=length.cast(pl.Float64).to_numpy(),
        ),
        items=tuple(coded.items.to_list()),
        annotators=tuple(coded.annotators.cast(pl.String).to_list()),
        labels=tuple(coded.labels.cast(pl.String).to_list()),
    )
