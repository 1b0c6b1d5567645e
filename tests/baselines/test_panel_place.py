"""A model beside the panel: like one person, or like a majority of how many, and on gold answers that survive."""

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from command import merilo as command

from merilo.baselines.panel_place import panel_place
from merilo.people.uncertainty.panel_curve import panel_curve
from merilo.people.votes import Votes


def crowd(items: int = 400, people: int = 40, overlap: int = 5, seed: int = 1) -> tuple[Votes, np.ndarray]:
    """People of 70 % on items of equal difficulty; label 0 is right."""
    rng = np.random.default_rng(seed)
    person = np.argsort(rng.random((items, people)), axis=1)[:, :overlap].ravel()
    item = np.repeat(np.arange(items), overlap)
    label = np.where(rng.random(item.size) < 0.7, 0, rng.integers(1, 4, item.size))
    columns = (column.astype(np.int32) for column in (item, person, label))
    return Votes(*columns, items, people, 4), (label == 0).astype(float)


def model(accuracy: float, items: int = 400, seed: int = 2) -> np.ndarray:
    return np.random.default_rng(seed).permutation(np.arange(items) < round(accuracy * items)).astype(float)


def test_a_model_as_good_as_a_majority_of_three_is_like_it() -> None:
    votes, score = crowd()
    third = panel_curve(votes, score).majority[2].value
    place = panel_place(votes, score, model(third))
    assert place is not None
    assert place.sizes == (1, 3, 5)
    assert place.nearest == 3
    assert place.differences[1].value == pytest.approx(0.0, abs=0.002)
    assert place.mark().en.startswith("like a majority of 3")


@pytest.mark.parametrize(
    ("accuracy", "mark"),
    [(0.5, "below one person"), (0.99, "above a majority of 5"), (0.7, "like one person")],
)
def test_a_model_beyond_the_curve_is_below_or_above_it(accuracy: float, mark: str) -> None:
    place = panel_place(*crowd(), model(accuracy))
    assert place is not None
    assert place.mark().en == mark
    assert mark in place.sentence("m").en


def test_few_people_tell_several_sizes_apart_less() -> None:
    votes, score = crowd(items=60, people=6)
    place = panel_place(votes, score, model(0.8, 60))
    assert place is not None
    assert len(place.like) >= 2
    assert "majorities of" in place.sentence("m").en
    assert place.mark().en.endswith(")")


def test_two_people_or_single_answers_have_no_panel() -> None:
    assert panel_place(*crowd(people=2, overlap=2), model(0.7)) is None
    assert panel_place(*crowd(overlap=1), model(0.7)) is None


def test_the_true_size_is_in_the_set_in_most_studies() -> None:
    """60 studies: fewer than 51 has a probability of 0.1 % at 95 %."""
    hits = 0
    for seed in range(60):
        votes, score = crowd(items=150, people=15, seed=seed)
        # A majority of three other people answers as the model.
        rng = np.random.default_rng(seed + 1000)
        labels = np.where(rng.random((150, 3)) < 0.7, 0, rng.integers(1, 4, (150, 3)))
        counts = np.stack([(labels == label).sum(axis=1) for label in range(4)], axis=1)
        leads = counts == counts.max(axis=1, keepdims=True)
        place = panel_place(votes, score, leads[:, 0] / leads.sum(axis=1))
        assert place is not None
        hits += 3 in place.like
    assert hits >= 51


def test_compare_shows_the_mark(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    truth = ["ABCD"[item % 4] for item in range(100)]
    rows = [
        (f"q{item}", f"p{person}", truth[item] if rng.random() < 0.9 else "ABCD"[int(rng.integers(4))])
        for item in range(100)
        for person in rng.permutation(15)[:5]
    ]
    pl.DataFrame(rows, schema=["task", "worker", "label"], orient="row").write_csv(tmp_path / "a.csv")
    ids = [f"q{item}" for item in range(100)]
    pl.DataFrame({"id": ids, "task": ids, "gold": truth}).write_csv(tmp_path / "gold.csv")
    pl.DataFrame({"id": ids, "answer": truth}).write_csv(tmp_path / "model.csv")
    done = command("baseline", tmp_path / "a.csv", "--gold", tmp_path / "gold.csv", "--out", tmp_path / "out")
    assert done.status == 0, done.err
    done = command(
        "compare", tmp_path / "out", tmp_path / "model.csv", "--json", tmp_path / "c.json", "--details"
    )
    assert done.status == 0, done.err
    (one,) = json.loads((tmp_path / "c.json").read_text())["models"]
    assert one["panel"]["like"] in one["panel"]["not_rejected"]
    assert [row["k"] for row in one["panel"]["majorities"]] == [1, 3, 5]
    assert one["panel"]["mark"]["en"] in done.out
    page = command("compare", tmp_path / "out", tmp_path / "model.csv", "--format", "html")
    assert one["panel"]["mark"]["ru"] in page.out
