"""Contents of an export, before any answer is excluded or aggregated."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from merilo.people.recoding import NearSpelling, near_spellings
from merilo.responses import Responses


@dataclass(frozen=True, slots=True)
class ControlCounts:
    """The control items of an export.

    Attributes:
        items: how many there are.
        rows: how many responses to control items there are.
        known: how many of these have a known answer in the answer column.
        people: how many annotators responded to a control item with a known answer.
    """

    items: int
    rows: int
    known: int
    people: int


@dataclass(frozen=True, slots=True)
class Inspection:
    """The contents of the exports of one study, read for one answer column.

    Attributes:
        rows_read: the number of rows in the files.
        dropped: mapping from reason to the number of rows that are not responses.
        annotators: the number of annotators.
        items: the number of items, without control items.
        answers: answer -> how often it was given, most frequent first, including answers to control items.
        overlap: number of annotators -> number of items answered by that many annotators, largest first; no
            annotator is excluded.
        controls: the control items.
        equal_repeats: pairs of annotator and item (without control items) with several equal answers.
        different_repeats: such pairs with different answers.
        absent: the data that the platform usually exports and for which these files have no column.
        near: answers that look like misspellings.
        timed: how many responses have a duration.
        paid: how many responses have a reward.
    """

    rows_read: int
    dropped: dict[str, int]
    annotators: int
    items: int
    answers: dict[str, int]
    overlap: dict[int, int]
    controls: ControlCounts
    equal_repeats: int
    different_repeats: int
    absent: tuple[str, ...]
    near: tuple[NearSpelling, ...]
    timed: int
    paid: int


def inspect(responses: Responses, labels: Sequence[str] = ()) -> Inspection:
    """Summarise the exports of one study.

    Args:
        responses: the responses as read, including repeats and before any exclusion.
        labels: the dataset's labels, if they are known.
    """
    table = responses.table
    tests, controls = table.filter(~pl.col("is_control")), table.filter("is_control")
    known = controls.filter(pl.col("control").is_not_null())
    counts = table["answer"].value_counts().sort(["count", "answer"], descending=[True, False])
    answers = dict(counts.iter_rows())
    pairs = tests.group_by("item", "respondent").agg(pl.len().alias("rows"), pl.col("answer").n_unique())
    repeated = pairs.filter(pl.col("rows") > 1)
    people = pairs.group_by("item").agg(pl.len().alias("people"))["people"].value_counts()
    return Inspection(
        rows_read=responses.rows_read,
        dropped=dict(responses.dropped),
        annotators=table["respondent"].n_unique(),
        items=tests["item"].n_unique(),
        answers=answers,
        overlap={int(n): int(items) for n, items in sorted(people.iter_rows(), reverse=True)},
        controls=ControlCounts(
            controls["item"].n_unique(), controls.height, known.height, known["respondent"].n_unique()
        ),
        equal_repeats=repeated.filter(pl.col("answer") == 1).height,
        different_repeats=repeated.filter(pl.col("answer") > 1).height,
        absent=responses.absent,
        near=near_spellings(answers, labels),
        timed=table["page_seconds"].count(),
        paid=table["page_reward"].count(),
    )
