"""Annotators' agreement with the others by brute force."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from merilo.people.controls import judged_annotators
from merilo.people.peers import agreement_by_answer, agreement_with_others, first_answers
from merilo.people.reading import read_responses
from merilo.people.votes import Votes
from merilo.responses import Responses


def votes_of(rows: list[tuple[int, int, int]], labels: int | None = None) -> Votes:
    """Votes from (item, annotator, label)."""
    table = np.array(rows, dtype=np.int32).reshape(-1, 3)
    top = table.max(axis=0, initial=-1) + 1
    return Votes(*table.T.copy(), int(top[0]), int(top[1]), labels or int(top[2]))


tables = st.lists(
    st.tuples(st.integers(0, 5), st.integers(0, 4), st.integers(0, 2)),
    min_size=1,
    max_size=30,
    unique_by=lambda row: row[:2],
)


@given(tables)
def test_agreement_is_the_share_of_the_others_counted_one_by_one(rows: list[tuple[int, int, int]]) -> None:
    votes = votes_of(rows)
    for code, agreement in enumerate(agreement_with_others(votes).tolist()):
        shares = []
        for item, person, label in rows:
            others = [other for i, p, other in rows if i == item and p != person]
            if person == code and others:
                shares.append(sum(other == label for other in others) / len(others))
        assert agreement == pytest.approx(np.mean(shares) if shares else np.nan, nan_ok=True)


@given(tables)
def test_an_answer_agrees_if_no_label_has_more_votes_among_the_others(
    rows: list[tuple[int, int, int]],
) -> None:
    found = agreement_by_answer(*(pl.Series(column) for column in zip(*rows, strict=True)))
    known = {(int(item), person): (own, beside) for item, person, own, beside in found.iter_rows()}
    for item, person, label in rows:
        others = [other for i, p, other in rows if i == item and p != person]
        assert ((item, str(person)) in known) == bool(others)
        if others:
            own, beside = known[item, str(person)]
            assert own == (others.count(label) == max(map(others.count, others)))
            assert beside == pytest.approx(
                np.mean([known[i, str(p)][0] for i, p, _ in rows if i == item and p != person])
            )


def test_a_second_answer_to_the_same_item_does_not_count() -> None:
    twice = votes_of([(0, 0, 1), (0, 1, 1), (0, 2, 0), (0, 0, 0), (0, 0, 0)])
    assert first_answers(twice).tolist() == [True, True, True, False, False]


def study(pools: Path, pool: str) -> Responses:
    return read_responses(sorted((pools / pool).glob("*.tsv")))


def test_the_favourite_answer_is_that_of_controls_and_items(pools: Path) -> None:
    responses = study(pools, "bps")
    for row in judged_annotators(responses, min_control_accuracy=0.5).iter_rows(named=True):
        own = responses.table.filter(pl.col("respondent") == row["annotator"])["answer"].to_list()
        assert row["favourite_share"] == pytest.approx(max(map(own.count, own)) / len(own))
