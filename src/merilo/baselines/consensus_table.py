"""The consensus of a study as a table with one row per item.

And the results of a fitted model of annotators as tables.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import numpy as np
import polars as pl

from merilo.people.aggregation import Consensus, Resolution
from merilo.people.decision import PoolVotes
from merilo.people.gold import Gold

#: The columns of the table; the item's input fields follow `id`.
#:
#: ===========  ==============================================================================
#: item         the item's number in the study
#: id           the dataset's id of the item; its number if the gold answers have no ids
#: answers      every answer with its votes, most votes first
#: votes        how many answers count
#: label        the consensus, or null
#: resolved_by  how the label was reached: the name of an `aggregation.Resolution` in lower case
#: confidence   the model's probability of the label; without a model its share of the votes
#: difficulty   GLAD's difficulty of the item, if GLAD was fitted
#: gold         the gold answer as text, or null
#: correct      whether the label earns all points of the item
#: points       the share of the item's points that the label earns, 0 to 1
#: ===========  ==============================================================================
COLUMNS: Final = (
    "item", "id", "answers", "votes", "label", "resolved_by", "confidence", "difficulty", "gold", "correct", "points",
)  # fmt: skip

#: The columns that only the table of doubtful items has; see `doubtful_items.DoubtfulItems`.
DOUBTS: Final = ("consensus", "gold_wrong", "typing_errors", "reliable", "unreliable")

#: Names reserved for this table and that of doubtful items; an input field with one of them is renamed.
_TAKEN: Final = frozenset({*COLUMNS, *DOUBTS, "code", "has_label"})


def shown_fields(consensus: pl.DataFrame) -> list[str]:
    """Return the input fields of a consensus table that a page shows; a field that repeats the column `id` is left out.

    Example:
        >>> shown_fields(pl.DataFrame({"item": [1], "id": ["a"], "input_id": ["a"], "question": ["?"]}))
        ['question']
    """
    names = [name for name in consensus.columns if name not in COLUMNS]
    own = consensus["id"].cast(pl.String) if "id" in consensus.columns else None
    return [
        name
        for name in names
        if own is None or name != "input_id" or not consensus[name].cast(pl.String).eq_missing(own).all()
    ]


def consensus_table(
    items: pl.DataFrame,
    pool: PoolVotes,
    decided: Consensus,
    gold: Gold | None,
    earned: Mapping[int | str, float],
) -> pl.DataFrame:
    """Build the table of the consensus.

    Args:
        items: `item` and the input fields.
        pool: all votes.
        decided: the consensus.
        gold: the gold answers, if they are known.
        earned: mapping from item number to the share of the item's points that the label earns.

    Returns:
        One row per item: `COLUMNS` with the input fields after `id`. An input field with the name of one of the columns
        gets the prefix `input_`.
    """
    encoding, tally = pool.everyone, pool.votes.tally()
    fit = decided.fit
    difficulty = (
        fit.difficulty if fit and fit.difficulty is not None else np.full(len(encoding.items), np.nan)
    )
    labels = pl.Series(pool.labels, dtype=pl.String)
    answers = (
        pl.DataFrame({"code": tally.item, "label": labels.gather(tally.label), "count": tally.votes})
        .sort(["code", "count", "label"], descending=[False, True, False])
        .group_by("code", maintain_order=True)
        .agg(
            pl.concat_str("label", pl.lit(": "), "count").str.join("; ").alias("answers"),
            pl.col("count").sum().alias("votes"),
        )
    )
    ways = np.array([way.name.lower() for way in Resolution])
    resolved = pl.DataFrame(
        {
            "item": encoding.items.cast(pl.UInt32),
            "code": np.arange(len(encoding.items)),
            "label": labels.gather(pl.Series(np.maximum(decided.label, 0))),
            "has_label": decided.label >= 0,
            "resolved_by": ways[decided.how],
            "confidence": decided.confidence,
            "difficulty": difficulty,
        }
    ).with_columns(
        pl.col("difficulty").fill_nan(None),
        pl.when("has_label").then("label").alias("label"),
        pl.when("has_label").then("confidence").alias("confidence"),
    )
    resolved = resolved.join(answers.with_columns(pl.col("code").cast(pl.Int64)), on="code", how="left")
    known = (
        gold.answers if gold else pl.DataFrame(schema={"item": pl.UInt32, "gold": pl.String, "id": pl.String})
    )
    if gold and not known["id"].drop_nulls().len():
        known = known.with_columns(pl.col("item").cast(pl.String).alias("id"))
    points = pl.DataFrame(
        list(earned.items()), schema={"item": pl.UInt32, "points": pl.Float64}, orient="row"
    )
    fields = [name for name in items.columns if name != "item"]
    shown = {name: name if name not in _TAKEN else f"input_{name}" for name in fields}
    return (
        items.rename(shown)
        .join(resolved, on="item", how="left", maintain_order="left")
        .join(known, on="item", how="left", maintain_order="left")
        .join(points, on="item", how="left", maintain_order="left")
        .with_columns(pl.col("resolved_by").fill_null("unresolved"), pl.col("votes").fill_null(0))
        .with_columns((pl.col("points") >= 1).alias("correct"))
        .select(*COLUMNS[:2], *shown.values(), *COLUMNS[2:])
    )
