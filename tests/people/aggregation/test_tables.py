"""Aggregation and agreement of tables."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from crowdkit import aggregation as crowdkit
from every import every

import merilo

METHODS = ["majority", "auto", "dawid-skene", "glad", "cascade"]


@pytest.fixture(scope="module")
def data() -> pd.DataFrame:
    """Seven workers of different accuracy on 60 tasks of two labels; no ties."""
    draw = np.random.default_rng(3)
    truth = draw.integers(0, 2, 60)
    rows = [
        (f"t{task:02}", f"w{worker}", "ab"[truth[task] ^ int(draw.random() > 0.6 + 0.05 * worker)])
        for task in range(60)
        for worker in range(7)
    ]
    return pd.DataFrame(rows, columns=["task", "worker", "label"])


def test_majorities_and_their_shares_are_those_of_crowd_kit(data: pd.DataFrame) -> None:
    theirs, ours = crowdkit.MajorityVote().fit(data), merilo.aggregate(data).set_index("task")
    assert ours["label"].to_dict() == theirs.labels_.to_dict()
    np.testing.assert_allclose(ours["confidence"], theirs.probas_.max(axis=1).loc[ours.index])


@every("method", METHODS)
def test_polars_in_gives_polars_out_with_the_same_values(method: str, data: pd.DataFrame) -> None:
    one, other = merilo.aggregate(data, method), merilo.aggregate(pl.DataFrame(data.to_dict("list")), method)
    assert isinstance(one, pd.DataFrame)
    assert isinstance(other, pl.DataFrame)
    assert list(one.columns) == other.columns == ["task", "label", "confidence", "resolved_by"]
    assert other["label"].to_list() == one["label"].tolist()


def test_a_tie_has_no_label() -> None:
    tie = pd.DataFrame({"task": [1, 1], "worker": ["a", "b"], "label": [7, 8]})
    assert merilo.aggregate(tie)["label"].isna().tolist() == [True]
    assert merilo.aggregate(pl.DataFrame(tie.to_dict("list")))["resolved_by"].to_list() == ["unresolved"]


def test_ordered_labels_have_a_weighted_median() -> None:
    """24 workers, of whom five guess, answer 200 tasks with an error each."""
    rng, names = np.random.default_rng(0), np.array(["worst", "bad", "fair", "good", "best"])
    truth, task = rng.integers(0, 5, 200), np.repeat(np.arange(200), 5)
    worker = np.concatenate([rng.choice(24, 5, replace=False) for _ in range(200)])
    label = np.clip(np.round(truth[task] + 0.8 * rng.standard_normal(1000)), 0, 4).astype(int)
    label = np.where(worker < 5, rng.integers(0, 5, 1000), label)
    table = pl.DataFrame({"task": task, "worker": worker, "label": names[label]})
    found, by_name = merilo.aggregate(table, "auto", order=names), merilo.aggregate(table, "auto")
    right, right_by_name = ((one["label"].to_numpy() == names[truth]).mean() for one in (found, by_name))
    assert right > right_by_name
    assert set(found["resolved_by"]) == {"weighted_median"}
    with pytest.raises(merilo.UsageError, match="order has no place for label 'best'"):
        merilo.aggregate(table, "auto", order=names[:4])
    with pytest.raises(merilo.UsageError, match="is for the method 'auto', not 'majority'"):
        merilo.aggregate(table, order=names)


def test_wrong_tables_and_methods_are_named(data: pd.DataFrame) -> None:
    with pytest.raises(merilo.UsageError, match="needs the columns task, worker, label; it has task"):
        merilo.aggregate(data[["task"]])
    with pytest.raises(merilo.UsageError, match="there is no method 'mace'"):
        merilo.aggregate(data, "mace")
    with pytest.raises(merilo.UsageError, match="no row"):
        merilo.agreement(data.iloc[:0])


def test_agreement_is_that_of_the_reference(data: pd.DataFrame) -> None:
    import krippendorff

    found = merilo.agreement(data)
    table = (
        data.pivot(index="worker", columns="task", values="label")
        .replace({"a": 0.0, "b": 1.0})
        .to_numpy(float)
    )
    assert found.krippendorff_alpha == pytest.approx(
        krippendorff.alpha(table, level_of_measurement="nominal")
    )
    assert found.ci95 is not None
    assert found.ci95[0] < found.krippendorff_alpha < found.ci95[1]
