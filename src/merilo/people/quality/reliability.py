"""How often an annotator agrees with the majority of the others.

An annotator who answers other items like the others is not the likely cause of a disagreement on one item.
"""

from __future__ import annotations

from typing import Final

import polars as pl

from merilo.people.quality import work_of
from merilo.people.quality.peers import sharing
from merilo.people.votes import encode

#: An annotator is reliable if they agree with the majority of the others at least this share as often as the others
#: do on the same items, of which there must be this many.
SHARE_OF_OTHERS: Final = 0.9
FEWEST_ITEMS: Final = 3


def agreement_by_answer(item: pl.Series, annotator: pl.Series, answer: pl.Series) -> pl.DataFrame:
    """Compare every answer with the majority of the other annotators' answers to the same item.

    Args:
        item: shape (n,), ids of items.
        annotator: shape (n,), ids of annotators; of several answers to an item the first counts.
        answer: shape (n,), the answers.

    Returns:
        One row for each answer to an item that several annotators answered: `item`, `annotator`, `own` (1 if the
        answer is the most frequent one among the others, or one of these, else 0) and `others` (the mean of `own`
        over the other annotators of the item).

    Example:
        >>> item, annotator = pl.Series([1, 1, 1, 1]), pl.Series(["ann", "bob", "cat", "dan"])
        >>> found = agreement_by_answer(item, annotator, pl.Series(["yes", "yes", "yes", "no"]))
        >>> found["own"].to_list(), found["others"].round(2).to_list()
        ([1.0, 1.0, 1.0, 0.0], [0.67, 0.67, 0.67, 1.0])
    """
    encoding = encode(item, annotator, answer)
    votes, beside = encoding.votes, sharing(work_of(encoding.votes))
    compared = pl.DataFrame(
        {
            "item": encoding.items.gather(votes.item[beside.row]),
            "annotator": encoding.annotators.gather(votes.annotator[beside.row]).cast(pl.String),
            "own": beside.with_most.astype(float),
        }
    )
    own, people = pl.col("own"), pl.len().over("item")
    return compared.with_columns(((own.sum().over("item") - own) / (people - 1)).alias("others"))


def is_reliable() -> pl.Expr:
    """Return whether an annotator is reliable by the sums `own` and `others` over `items`; null with too few items."""
    enough = pl.col("items") >= FEWEST_ITEMS
    return pl.when(enough).then(pl.col("own") >= SHARE_OF_OTHERS * pl.col("others") - 1e-9)
