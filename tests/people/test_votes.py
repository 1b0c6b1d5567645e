"""Encoding of answers: names of codes, missing answers, vote counts."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from merilo.errors import UsageError
from merilo.people.votes import encode

NAMES = st.text(min_size=1, max_size=3)
ROWS = st.lists(st.tuples(NAMES, NAMES, st.none() | NAMES), max_size=30)


@given(rows=ROWS)
def test_every_answer_comes_back_from_its_codes(rows: list[tuple[str, str, str | None]]) -> None:
    columns = [pl.Series([row[k] for row in rows], dtype=pl.String) for k in range(3)]
    encoding = encode(*columns)
    votes = encoding.votes
    decoded = list(
        zip(
            encoding.items.gather(votes.item).to_list(),
            encoding.annotators.gather(votes.annotator).to_list(),
            encoding.labels.gather(votes.label).to_list(),
            strict=True,
        )
    )
    assert decoded == [row for row in rows if row[2] is not None]


@given(rows=ROWS)
def test_codes_follow_the_sorted_names_and_not_the_order_of_the_rows(
    rows: list[tuple[str, str, str | None]],
) -> None:
    columns = [pl.Series([row[k] for row in rows], dtype=pl.String) for k in range(3)]
    encoding = encode(*columns)
    for names in (encoding.items, encoding.annotators, encoding.labels):
        assert names.to_list() == sorted(set(names.to_list()))
    backwards = encode(*(column.reverse() for column in columns))
    assert backwards.votes.item.tolist() == encoding.votes.item.tolist()[::-1]


def test_numbers_and_texts_are_encoded_alike() -> None:
    numbers = encode([30, 10, 30], [1, 1, 2], [5, 5, 7])
    texts = encode(["30", "10", "30"], ["1", "1", "2"], ["5", "5", "7"])
    assert numbers.items.to_list() == [10, 30]
    assert numbers.votes.item.tolist() == texts.votes.item.tolist() == [1, 0, 1]


def test_columns_of_different_length_are_refused() -> None:
    with pytest.raises(UsageError, match="differ in length"):
        encode(["q"], ["ann", "bob"], ["A", "B"])


@given(rows=ROWS)
def test_the_tally_is_the_table_of_counts_without_its_zeros(rows: list[tuple[str, str, str | None]]) -> None:
    votes = encode(*(pl.Series([row[k] for row in rows], dtype=pl.String) for k in range(3))).votes
    table = np.zeros((votes.items, votes.labels), dtype=np.int64)
    tally = votes.tally()
    table[tally.item, tally.label] = tally.votes
    assert (table == votes.counts()).all()
    assert (tally.votes > 0).all()


def test_the_tally_stays_small_where_every_answer_is_a_label_of_its_own() -> None:
    n = 100_000
    votes = encode(np.arange(n), np.zeros(n, dtype=int), np.arange(n)).votes
    assert votes.tally().votes.sum() == n
