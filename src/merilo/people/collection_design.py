"""Adaptive overlap: few people answer an item first, and more people if they do not agree.

`start` people answer an item. If their answers are equal, the item is complete; otherwise it gets one answer
after another, up to `limit`. On a random share of the items, `limit` people answer in any case.

Items on which people disagree have more answers, so a statistic over all answers is biased towards these
items, and the mean score of an item's answers depends on when the item stopped. Two kinds of answers are free
of this: the first `start` answers to an item, which were asked for before any answer was known, and all
answers to an item of the random share. `answers_by_design` selects them; with fixed overlap the same
selection keeps every answer.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from merilo.errors import UsageError, argument
from merilo.responses import Responses, in_order_of_time
from merilo.settings import AdaptiveDesign


def answers_by_design(
    item: NDArray[np.integer], order: NDArray[np.integer], *, start: int, fixed: NDArray[np.bool_]
) -> NDArray[np.bool_]:
    """Mark the answers that were asked for whatever the others answered.

    Args:
        item: shape (n,), the item of each answer, codes from 0.
        order: shape (n,), ascending in time.
        start: how many people answer an item at first.
        fixed: shape (items,), the items with fixed overlap.

    Returns:
        Shape (n,): the first `start` answers to each item, and all answers to items with fixed overlap.

    Example:
        >>> item, order = np.array([0, 0, 0, 1, 1, 1]), np.array([3, 1, 2, 4, 5, 6])
        >>> answers_by_design(item, order, start=2, fixed=np.array([False, True])).tolist()
        [False, True, True, True, True, True]
    """
    ranked = np.lexsort((order, item))
    sorted_items = item[ranked]
    begins = np.flatnonzero(np.diff(sorted_items, prepend=-1))
    place = np.empty(item.shape[0], dtype=np.int64)
    place[ranked] = np.arange(item.shape[0]) - np.repeat(begins, np.diff(begins, append=item.shape[0]))
    chosen: NDArray[np.bool_] = (place < start) | fixed[item]
    return chosen


#: The field of an item's id in the answers of a study.
ID: Final = "id"


@dataclass(frozen=True, slots=True)
class CollectedDesign:
    """How collected answers follow an adaptive overlap. Test items only.

    Attributes:
        design: the adaptive overlap.
        items: the number of items.
        fixed: items of the random share with fixed overlap.
        agreed: other items whose answers are all equal, at most `start` of them.
        widened: other items.
        answers: answers that count.
        by_design: those of them that were asked for whatever the others answered.
        fewer: items with fewer answers than the design gives them.
        more: items with more answers that count than the design gives them.
        checked: items of the random share on which the first `start` answers that count are equal.
        changed: those of `checked` whose majority over all answers is another answer.
    """

    design: AdaptiveDesign
    items: int
    fixed: int
    agreed: int
    widened: int
    answers: int
    by_design: int
    fewer: int
    more: int
    checked: int
    changed: int

    @property
    def answers_per_item(self) -> float:
        """The mean number of answers to an item that count."""
        return self.answers / self.items


def fixed_items(responses: Responses, design: AdaptiveDesign) -> NDArray[np.bool_]:
    """Mark the items of the random share, shape (largest number of an item + 1,).

    Raises:
        UsageError: the design has a random share, and the responses have no field `id`.
    """
    numbers = responses.items["item"].cast(pl.Int64).to_numpy()
    found = np.zeros(int(numbers.max(initial=0)) + 1, dtype=np.bool_)
    if design.overlap.fixed_share == 0:
        return found
    if ID not in responses.items.columns:
        raise UsageError(
            f"{argument('adaptive', given=str(design))} has a random share of items with fixed "
            "overlap, which is drawn by the items' ids, and the "
            f"answers have no field '{ID}': name it with {argument('item', ID)}, or leave the share out"
        )
    found[numbers] = design.fixed(responses.items[ID].cast(pl.String).fill_null("").to_list())
    return found


def asked_by_design(responses: Responses, design: AdaptiveDesign) -> NDArray[np.bool_]:
    """Mark the answers that were asked for whatever the others answered; all answers to control items are.

    They are chosen among all answers of the item, those of excluded annotators included: otherwise an answer
    would be chosen because the answers before it differ. Answers are ordered by the time when they were
    submitted, then by row; by row alone if a time is missing.

    Args:
        responses: the responses.
        design: the adaptive overlap.

    Returns:
        Shape (responses,).

    Raises:
        UsageError: see `fixed_items`.
    """
    table = responses.table
    tests = ~table["is_control"].to_numpy()
    chosen = np.ones(table.height, dtype=np.bool_)
    chosen[tests] = answers_by_design(
        table["item"].cast(pl.Int64).to_numpy()[tests],
        in_order_of_time(table["submitted"])[tests],
        start=design.overlap.start,
        fixed=fixed_items(responses, design),
    )
    return chosen


def collected_design(
    responses: Responses, design: AdaptiveDesign, excluded: Sequence[str]
) -> CollectedDesign:
    """Compare collected answers with the design.

    A stopped person's place went to somebody else, so the answers of excluded annotators are surplus on some
    items and not on others: an item has too few answers if all of its answers are too few for the answers
    that count, and too many if its answers that count are too many for all of its answers.

    Args:
        responses: all responses.
        design: the adaptive overlap.
        excluded: the annotators whose answers do not count.
    """
    overlap = design.overlap
    chosen = pl.Series("by_design", asked_by_design(responses, design))
    rank = pl.Series("rank", in_order_of_time(responses.table["submitted"]))
    tests = responses.table.with_columns(chosen, rank).filter(~pl.col("is_control"))
    used = tests.filter(~pl.col("respondent").is_in(list(excluded)), pl.col("answer").is_not_null())
    first = pl.col("answer").sort_by("rank").head(overlap.start)
    items = tests.group_by("item").agg(
        pl.col("respondent").n_unique().alias("people"),
        pl.col("answer").drop_nulls().n_unique().alias("spellings"),
    )
    counted = used.group_by("item").agg(
        pl.len().alias("left"),
        pl.col("answer").n_unique().alias("labels"),
        ((first.n_unique() == 1) & (pl.len() >= overlap.start)).alias("unanimous"),
        (pl.col("answer") == first.first()).sum().alias("own"),
        pl.col("answer").filter(pl.col("answer") != first.first()).unique_counts().max().alias("rival"),
    )
    found = items.join(counted, on="item", how="left", maintain_order="left").with_columns(
        pl.col("left", "labels", "own", "rival").fill_null(0), pl.col("unanimous").fill_null(value=False)
    )
    fixed = fixed_items(responses, design)[found["item"].cast(pl.Int64).to_numpy()]
    found = found.with_columns(pl.Series("fixed", fixed))
    to_limit = pl.col("fixed") | (pl.col("labels") > 1)
    agreed = ~pl.col("fixed") & (pl.col("labels") <= 1) & (pl.col("left") <= overlap.start)
    checked = pl.col("fixed") & pl.col("unanimous") & (pl.col("left") > overlap.start)
    fewer = pl.col("people") < pl.when(to_limit).then(overlap.limit).otherwise(overlap.start)
    open_to_limit = pl.col("fixed") | (pl.col("spellings") > 1)
    more = pl.col("left") > pl.when(open_to_limit).then(overlap.limit).otherwise(overlap.start)
    counts = found.select(
        pl.len().alias("items"), pl.col("fixed").sum(), agreed.sum().alias("agreed"),
        (~pl.col("fixed") & ~agreed).sum().alias("widened"), fewer.sum().alias("fewer"), more.sum().alias("more"),
        checked.sum().alias("checked"), (checked & (pl.col("own") <= pl.col("rival"))).sum().alias("changed"),
    ).row(0, named=True)  # fmt: skip
    return CollectedDesign(
        design,
        answers=used.height,
        by_design=int(used["by_design"].sum()),
        **{name: int(n) for name, n in counts.items()},
    )
