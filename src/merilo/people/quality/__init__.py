"""The quality of annotators: control items (`controls`), agreement with others (`peers`), and hasty answers."""

import polars as pl

from merilo.responses import Responses, answer_seconds

#: More characters a second than anyone can read: a fast reader reaches 25 to 30, skimming 60.
READING_LIMIT = 100.0


def faster_than_reading(responses: Responses) -> pl.DataFrame:
    """Return whether each answer was given faster than anyone can read its item.

    Returns:
        Columns `respondent` and `fast`, a row an answer; `fast` is null where the time is not known.
    """
    texts = (pl.col(name).cast(pl.String).str.len_chars().fill_null(0) for name in responses.fields)
    lengths = responses.items.select("item", length=pl.sum_horizontal(texts))
    timed = responses.table.select("respondent", "item", seconds=answer_seconds())
    read = timed.join(lengths, on="item", how="left", maintain_order="left")
    return read.select("respondent", fast=pl.col("length") > READING_LIMIT * pl.col("seconds"))
