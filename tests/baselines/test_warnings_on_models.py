"""Warnings about models of annotators: a label that is lost, and a metric far from `auto`."""

import numpy as np
import polars as pl
import pytest

import merilo
from merilo.baselines.warnings import warnings_on_auto
from merilo.metrics.score import Score
from merilo.people.aggregation import auto, dawid_skene, lost_labels
from merilo.people.votes import Votes
from merilo.statistics.intervals import Interval


def answers(rows: list[tuple[int, str, str]]) -> pl.DataFrame:
    return pl.DataFrame(rows, schema=["item", "annotator", "answer"], orient="row")


def test_a_label_that_a_model_explains_away_is_named() -> None:
    rng = np.random.default_rng(2)
    truth = rng.integers(0, 2, 200)
    item = np.repeat(np.arange(200, dtype=np.int32), 5)
    person = np.concatenate([rng.choice(12, 5, replace=False) for _ in range(200)]).astype(np.int32)
    label = np.where(rng.random(item.size) < 0.9, truth[item], 1 - truth[item])
    label = np.where(rng.random(item.size) < 0.08, 2, label).astype(np.int32)
    votes = Votes(item, person, label, 200, 12, 3)
    assert lost_labels(auto(votes).fit, votes) == [2]
    table = answers(
        [(int(i), f"p{p}", ("no", "yes", "none")[g]) for i, p, g in zip(item, person, label, strict=True)]
    )
    made = merilo.baseline(table, aggregator="auto")
    (warning,) = [one for one in made.details.warnings if one.code == "lost_label"]
    assert "gives label 'none' to hardly any item although it has 7% of the votes" in warning.en
    assert "«none»" in warning.ru
    assert "lost_label" not in {one.code for one in merilo.baseline(table).details.warnings}


def test_a_rare_label_that_people_agree_on_is_not_lost() -> None:
    item, person = np.divmod(np.arange(600, dtype=np.int32), 3)
    votes = Votes(item, person, (item % 16 == 0).astype(np.int32), 200, 3, 2)
    assert lost_labels(dawid_skene(votes).fit, votes) == []


def test_a_baseline_far_from_the_recommended_model_says_so() -> None:
    rng = np.random.default_rng(3)
    truth = ["b" if item % 4 == 0 else "a" for item in range(300)]
    # A careful third of the people, and others who are wrong more often than right.
    rows = [
        (
            item,
            f"p{person}",
            right if rng.random() >= (0.03 if person < 20 else 0.6) else "ab".replace(right, ""),
        )
        for item, right in enumerate(truth)
        for person in rng.choice(60, 5, replace=False)
    ]
    table, gold = answers(rows), pl.DataFrame({"item": range(300), "gold": truth})
    made = merilo.baseline(table, gold=gold)
    recommended = merilo.baseline(table, gold=gold, aggregator="auto").metrics["acc"].value
    interval = made.metrics["acc"].interval
    assert not interval.low <= recommended <= interval.high
    (warning,) = [one for one in made.details.warnings if one.code == "auto_differs"]
    assert f"have acc {recommended:.3f}, outside the interval" in warning.en
    assert f"acc {recommended:.3f}".replace(".", ",") in warning.ru
    for other in ({"aggregator": "auto"}, {"resolve": "none"}):
        codes = {one.code for one in merilo.baseline(table, gold=gold, **other).details.warnings}
        assert "auto_differs" not in codes


@pytest.mark.parametrize(("value", "warned"), [(0.79, True), (0.8, False), (0.9, False), (0.91, True)])
def test_the_recommended_model_may_lie_anywhere_in_the_interval(value: float, warned: bool) -> None:
    own = Score("acc", 0.85, 100, None)
    found = list(warnings_on_auto(Score("acc", value, 100, None), own, Interval(0.8, 0.9, "wilson")))
    assert [one.code for one in found] == ["auto_differs"] * warned
    assert not list(warnings_on_auto(Score("em", value, 100, None), own, Interval(0.8, 0.9, "wilson")))
