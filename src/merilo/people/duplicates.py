"""Duplicates: keep one answer per annotator and item."""

from __future__ import annotations

import polars as pl

from merilo.errors import DataError, argument
from merilo.responses import Responses
from merilo.settings import Repeats


def settle(responses: Responses, repeats: Repeats = "refuse") -> Responses:
    """Keep at most one answer per annotator and test item.

    A repeated row (the same page and item) counts once, for control items too; a control item that one annotator
    answered on several pages is not a duplicate, nor is an item that they answered as a control and as a test item.
    The same answer given twice counts once.

    Args:
        responses: the responses.
        repeats: what to do if an annotator gave one item two different answers: refuse, keep the first or the last,
            or drop both.

    Raises:
        DataError: an annotator gave one item two different answers and `repeats` is "refuse".
    """
    one = ["item", "respondent", "sample", "is_control"]
    on_page = ["page", "answer", *one]
    same_row = pl.col("page").is_not_null() & ~pl.struct(on_page).is_first_distinct()
    responses = responses.without(same_row, "same_row_twice")
    tests = responses.table.filter(~pl.col("is_control"))
    if tests.height == tests.select(one).n_unique():
        return responses
    different = (pl.col("answer").n_unique().over(one) > 1) & ~pl.col("is_control")
    two = responses.table.filter(different)
    if two.height and repeats == "refuse":
        first, second = (
            two.filter(pl.struct(one) == pl.struct(one).first())
            .unique("answer", maintain_order=True)
            .head(2)
            .to_dicts()
        )
        raise DataError(
            f"annotator {second['respondent']} gave one item two answers, {second['answer']!r} here and "
            f"{first['answer']!r} in row {first['row']}; choose first, last or drop with {argument('repeats')}",
            file=second["file"],
            row=second["row"],
        )
    if repeats == "drop":
        responses = responses.without(different, "contradicted")
    order = pl.struct(one).is_last_distinct() if repeats == "last" else pl.struct(one).is_first_distinct()
    return responses.without(~order & ~pl.col("is_control"), "repeated")
