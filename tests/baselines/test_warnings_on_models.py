"""Warnings about models of annotators: a label that is lost."""

import numpy as np
import polars as pl

import merilo
from merilo.people.aggregation import auto, dawid_skene, lost_labels
from merilo.people.votes import Votes


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
