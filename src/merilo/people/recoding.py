"""Answers that the user replaces, and answers that an annotator gave twice."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import polars as pl

from merilo.errors import DataError, UsageError, argument
from merilo.responses import Responses
from merilo.settings import Repeats
from merilo.wording import listed, shortened

#: The reason under which answers without a replacement are counted.
LEFT_OUT: Final = "recoded_to_nothing"


def recode(responses: Responses, mapping: Mapping[str, str | None]) -> Responses:
    """Replace answers and known answers of control items simultaneously: replacements are not replaced again.

    Args:
        responses: the responses.
        mapping: answer -> replacement; `None` leaves the answer out, counted as `recoded_to_nothing`.

    Returns:
        The responses; `renamed` has the replacements.

    Raises:
        UsageError: an answer does not occur.
    """
    if not mapping:
        return responses
    counts = responses.table["answer"].value_counts().sort(["count", "answer"], descending=[True, False])
    known = {*counts["answer"], *responses.table["control"].drop_nulls().unique()}
    for text in mapping:
        if text not in known:
            there = listed([f"'{shortened(answer, 30)}'" for answer in counts["answer"]], 8)
            raise UsageError(f"no response is '{shortened(text)}' (answers: {there})", field="recode")
    gone = [text for text, new in mapping.items() if new is None]
    responses = responses.without(pl.col("answer").is_in(gone), LEFT_OUT)
    if not responses.table.height:
        raise UsageError("no answers are left: all of them are recoded to an empty text", field="recode")
    return responses.with_spelling({text: new for text, new in mapping.items() if new is not None})


def settle(responses: Responses, repeats: Repeats = "refuse") -> Responses:
    """Keep at most one answer per annotator and test item.

    A repeated row (the same page and item) counts once, for control items too; a control item that one annotator
    answered on several pages is not a duplicate, nor is an item that they answered as a control and as a test item.
    The same answer given twice counts once. First and last go by time where the times are known, else by the order of
    rows.

    Args:
        responses: the responses.
        repeats: what to do if an annotator gave one item two different answers: refuse, keep the first or the last,
            or drop all of them.

    Raises:
        DataError: an annotator gave one item two different answers and `repeats` is "refuse".
    """
    same = ["item", "respondent", "sample", "is_control"]
    on_page = ["page", "answer", *same]
    same_row = pl.col("page").is_not_null() & ~pl.struct(on_page).is_first_distinct()
    responses = responses.without(same_row, "same_row_twice")
    tests = responses.table.filter(~pl.col("is_control"))
    if tests.height == tests.select(same).n_unique():
        return responses
    different = (pl.col("answer").n_unique().over(same) > 1) & ~pl.col("is_control")
    two = responses.table.filter(different)
    if two.height and repeats == "refuse":
        first, second = (
            two.filter(pl.struct(same) == pl.struct(same).first())
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
    table = responses.table.select(*same, pl.coalesce("submitted", "started").alias("time"))
    by_row = pl.col("time").is_null().any().over(same)
    place = pl.when(by_row).then(pl.int_range(1, pl.len() + 1)).otherwise(pl.col("time").rank("ordinal"))
    table = table.with_columns(place.cast(pl.Int64).alias("place"))
    best = pl.col("place").max() if repeats == "last" else pl.col("place").min()
    chosen = table.select(pl.col("place") == best.over(same)).to_series()
    return responses.without(~chosen & ~pl.col("is_control"), "repeated")
