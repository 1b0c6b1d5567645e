"""Coefficients of agreement and their intervals, against references and brute force; agreement within groups."""

import math
import warnings
from dataclasses import replace
from pathlib import Path

import krippendorff
import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from simulated_votes import small_votes

import merilo
from merilo.errors import UsageError
from merilo.people.agreement import (
    alpha_estimate,
    alpha_influence,
    krippendorff_alpha,
    measure,
)
from merilo.people.votes import Votes
from merilo.settings import Level


@st.composite
def tables(draw: st.DrawFn) -> np.ndarray:
    """Items by annotators; -1 means no answer."""
    items = draw(st.integers(1, 8))
    annotators = draw(st.integers(1, 6))
    labels = draw(st.integers(1, 5))
    cells = draw(
        st.lists(st.integers(-1, labels - 1), min_size=items * annotators, max_size=items * annotators)
    )
    return np.array(cells).reshape(items, annotators)


def votes_of(table: np.ndarray) -> Votes:
    item, annotator = np.nonzero(table >= 0)
    label = table[item, annotator]
    return Votes(
        item.astype(np.int32),
        annotator.astype(np.int32),
        label.astype(np.int32),
        *table.shape,
        int(table.max(initial=0)) + 1,
    )


def reference(table: np.ndarray, level: str) -> float:
    """The `krippendorff` package; NaN if there is nothing to compare."""
    pairable = table[(table >= 0).sum(1) >= 2]
    if len(np.unique(pairable[pairable >= 0])) < 2:
        return math.nan
    data = np.where(table >= 0, table.astype(float), np.nan).T
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return float(
            krippendorff.alpha(
                reliability_data=data, level_of_measurement=level, value_domain=np.arange(table.max() + 1)
            )
        )


@pytest.mark.parametrize("level", ["nominal", "ordinal", "interval"])
@given(table=tables())
def test_alpha_is_the_reference_implementations(level: str, table: np.ndarray) -> None:
    assert krippendorff_alpha(votes_of(table), level) == pytest.approx(
        reference(table, level), abs=1e-10, nan_ok=True
    )


def test_alpha_takes_many_labels_without_a_table_of_items_by_labels() -> None:
    rng = np.random.default_rng(1)
    item = np.repeat(np.arange(30_000, dtype=np.int32), 3)
    label = np.where(rng.random(90_000) < 0.8, item, rng.integers(0, 30_000, 90_000)).astype(np.int32)
    votes = Votes(item, np.tile(np.arange(3, dtype=np.int32), 30_000), label, 30_000, 3, 30_000)
    assert krippendorff_alpha(votes) == pytest.approx(0.64, abs=0.01)


def test_alpha_of_numbers_does_not_lose_small_differences_between_large_values() -> None:
    votes = votes_of(np.array([[0, 0], [1, 1], [0, 1]]))
    shifted = krippendorff_alpha(votes, "interval", values=[1e9, 1e9 + 1])
    assert shifted == pytest.approx(krippendorff_alpha(votes, "interval"), abs=1e-9)


@pytest.mark.parametrize("table", [[[0, -1], [1, -1]], [[1, 1], [1, 1]], [[-1, -1]]])
def test_alpha_is_not_a_number_where_nothing_could_disagree(table: list[list[int]]) -> None:
    assert math.isnan(krippendorff_alpha(votes_of(np.array(table))))


def test_an_unknown_level_and_wrong_values_are_refused() -> None:
    votes = votes_of(np.array([[0, 1], [1, 1]]))
    with pytest.raises(UsageError, match="level of measurement 'ratio'"):
        krippendorff_alpha(votes, "ratio")
    with pytest.raises(UsageError, match="2 labels"):
        krippendorff_alpha(votes, "interval", values=[1, 2, 3])
    with pytest.raises(UsageError, match="finite"):
        krippendorff_alpha(votes, "interval", values=[1, math.nan])


@pytest.mark.parametrize("level", ["nominal", "ordinal", "interval"])
@given(votes=small_votes(min_labels=2))
def test_influences_are_those_of_leaving_out_one_at_a_time(level: Level, votes: Votes) -> None:
    pairable = votes.where(np.bincount(votes.item, minlength=votes.items)[votes.item] >= 2)
    ranks = np.bincount(pairable.label, minlength=votes.labels)
    # Ranks stay as they are.
    values = np.cumsum(ranks) - ranks / 2 if level == "ordinal" else None
    same = "interval" if level == "ordinal" else level
    value = krippendorff_alpha(votes, same, values=values)
    if not math.isfinite(value):
        assert alpha_estimate(votes, level).value is None
        return
    found, items, influence = alpha_influence(votes, level)
    assert found == pytest.approx(value)
    assert items == len(np.unique(pairable.item))

    def moved(masks: list[np.ndarray]) -> np.ndarray:
        left = [krippendorff_alpha(pairable.where(mask), same, values=values) for mask in masks]
        there = np.array([1.0 if math.isnan(one) else one for one in left])
        return (there.mean() - there) * (1 - 1 / len(there))

    without_items = [pairable.item != item for item in np.unique(pairable.item)]
    without_answers = [np.arange(len(pairable)) != place for place in range(len(pairable))]
    assert influence.items == pytest.approx(moved(without_items), abs=1e-9)
    assert influence.answers == pytest.approx(moved(without_answers), abs=1e-9)


def crowd(rng: np.random.Generator, items: int, people: int, overlap: int) -> Votes:
    """Two labels; people differ in how often they are right."""
    skill = rng.uniform(0.6, 1.0, people)
    person = np.argsort(rng.random((items, people)), axis=1)[:, :overlap].ravel()
    item = np.repeat(np.arange(items), overlap)
    right = rng.random(item.size) < skill[person]
    label = np.where(right, item % 2, 1 - item % 2)
    return Votes(*(column.astype(np.int32) for column in (item, person, label)), items, people, 2)


@pytest.mark.parametrize(("people", "low"), [(3, -0.8), (25, 0.8), (200, 0.94)])
def test_unanimous_annotators_leave_room_for_others_who_guess(people: int, low: float) -> None:
    item, person = np.divmod(np.arange(300), 3)
    columns = (item, (item + person) % people, item % 2)
    votes = Votes(*(column.astype(np.int32) for column in columns), 100, people, 2)
    found = alpha_estimate(votes)
    assert found.value == 1
    assert found.ci95 is not None
    assert found.ci95.high == 1
    assert found.ci95.low > low - 0.1


def test_items_of_one_cluster_count_as_one() -> None:
    votes = crowd(np.random.default_rng(0), 100, 12, 4)
    texts = replace(votes, cluster=np.arange(100, dtype=np.int32) // 10)
    found = alpha_influence(texts)[2]
    assert len(found.items) == 10
    assert found.items.sum() == pytest.approx(alpha_influence(votes)[2].items.sum())


@given(votes=small_votes())
def test_anything_can_be_measured(votes: Votes) -> None:
    found = measure(votes)
    assert found.n == len(votes)
    top = [np.bincount(votes.label[votes.item == item]).max() for item in np.unique(votes.item)]
    assert found.majority_sizes == {size: top.count(size) for size in sorted({*top}, reverse=True)}
    assert (found.ci95 is None) >= (votes.annotators < 3)
    if found.ci95:
        assert -1 <= found.ci95.low - 1e-6 <= found.ci95.high <= 1
        assert found.krippendorff_alpha is not None


def test_responses_have_the_agreement_and_labels_of_their_answers_to_items(tmp_path: Path) -> None:
    export = tmp_path / "export.csv"
    export.write_text(
        "item,annotator,answer,control\n1,a,x,\n1,b,x,\n2,a,x,\n2,b,y,\n3,a,y,\n3,b,y,\nc,a,x,x\nc,b,y,x\n",
        encoding="utf-8",
    )
    responses = merilo.read_responses(export)
    assert responses.table.height == 8
    frame = pl.DataFrame({"task": [1, 1, 2, 2, 3, 3], "worker": [*"ababab"], "label": [*"xxxyyy"]})
    assert merilo.agreement(responses).krippendorff_alpha == merilo.agreement(frame).krippendorff_alpha
    assert merilo.aggregate(responses)["task"].to_list() == ["1", "2", "3"], "ids stay ids"
    assert merilo.aggregate(responses).drop("task").rows() == merilo.aggregate(frame).drop("task").rows()
    with pytest.raises(UsageError, match="LazyFrame: collect it first"):
        merilo.agreement(frame.lazy())
    with pytest.raises(UsageError, match="read_responses, not dict"):
        merilo.agreement({"task": [1]})
