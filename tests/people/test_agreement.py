"""Agreement beyond chance, against the reference implementation and by brute force."""

import math
import warnings

import krippendorff
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from merilo.errors import UsageError
from merilo.people.agreement import krippendorff_alpha
from merilo.people.votes import Votes


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
