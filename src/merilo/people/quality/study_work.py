"""Convert a study's responses to the arrays from which annotator quality is computed."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import polars as pl

from merilo.people.quality.work import Work
from merilo.people.votes import Encoding, encode
from merilo.responses import Responses


@dataclass(frozen=True, slots=True)
class StudyWork:
    """The work of a study's annotators, and the meaning of the codes in it.

    Attributes:
        work: the answers as arrays, one row per response, in the order of the response table.
        items: shape (items,), the items' numbers.
        annotators: shape (annotators,), the annotators' ids.
        labels: shape (labels,), the labels: answers, the controls' known answers, and the labels given by the caller.
    """

    work: Work
    items: tuple[int, ...]
    annotators: tuple[str, ...]
    labels: tuple[str, ...]


def study_work(
    responses: Responses, labels: Iterable[str] = (), *, encoding: Encoding | None = None
) -> StudyWork:
    """Encode a study's responses, including controls.

    Answers are ordered by the time when their page was opened, then by row; if any time is missing, all are ordered
    by row. The length of an item is that of all its input texts.

    Args:
        responses: the responses; each has an item, an annotator and an answer.
        labels: further labels, such as golds, whether or not anyone gave them.
        encoding: the votes of all these responses, as a baseline has in `pool.everyone`; by default, they are encoded here.

    Returns:
        The work.
    """
    table = responses.table
    known = {*table["control"].drop_nulls().unique(), *labels}
    votes = encoding or encode(table["item"], table["respondent"], table["answer"])
    coded = votes.with_labels(known)
    time = pl.coalesce("started", "submitted").dt.epoch("ms").cast(pl.Float64)
    derived = table.select(
        time.alias("time"),
        pl.struct(pl.coalesce("page", pl.int_range(pl.len()).cast(pl.String)), "respondent")
        .rank("dense")
        .cast(pl.Int64)
        .alias("page"),
        (pl.col("is_control") & pl.col("control").is_not_null()).alias("control"),
        (pl.col("answer") == pl.col("control")).fill_null(value=False).alias("correct"),
        pl.col("page_seconds").fill_null(float("nan")).alias("seconds"),
    )
    lengths = responses.items.select(
        "item", pl.sum_horizontal(pl.col(name).str.len_chars() for name in responses.fields).alias("length")
    )
    length = table.select("item").join(lengths, on="item", how="left", maintain_order="left")["length"]
    rows = np.arange(table.height)
    missing = derived["time"].null_count() > 0
    times = rows if missing else derived["time"].to_numpy()
    order = np.empty(table.height)
    order[np.lexsort((rows, times))] = rows
    return StudyWork(
        Work(
            votes=coded.votes,
            control=derived["control"].to_numpy(),
            correct=derived["correct"].to_numpy(),
            order=order,
            page=derived["page"].to_numpy() - 1,
            seconds=derived["seconds"].to_numpy(),
            characters=length.cast(pl.Float64).to_numpy(),
        ),
        items=tuple(coded.items.to_list()),
        annotators=tuple(coded.annotators.cast(pl.String).to_list()),
        labels=tuple(coded.labels.cast(pl.String).to_list()),
    )
