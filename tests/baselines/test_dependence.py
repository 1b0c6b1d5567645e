"""Warnings about busy annotators and fields whose items are alike: planted, and absent by chance."""

from pathlib import Path
from statistics import fmean

import numpy as np
import polars as pl
import pytest

import merilo
from merilo.baselines.dependence import (
    effect_of_clusters,
    warning_on_busy_annotators,
    warnings_on_fields,
    worse_busy_annotators,
)
from merilo.people.votes import Votes

ITEMS, PEOPLE, LABELS = 200, 20, 4


def crowd(seed: int, *, busy: int = 0, overlap: int = 8) -> tuple[Votes, np.ndarray]:
    """Votes, with an attractive wrong label on an eighth of the items, and the labels with most votes."""
    rng = np.random.default_rng(seed)
    eager = np.where(np.arange(PEOPLE) < busy, 2.5, 0.0)
    person = np.argsort(-(eager + rng.gumbel(size=(ITEMS, PEOPLE))), axis=1)[:, :overlap].ravel()
    item = np.repeat(np.arange(ITEMS), overlap)
    lure = rng.random(ITEMS) < 0.12
    right = rng.random(item.size) < np.where(lure[item], 0.4, 0.85)
    wrong = np.where(lure[item] & (rng.random(item.size) < 0.8), 1, rng.integers(1, LABELS, item.size))
    label = np.where(right, 0, wrong)
    label = np.where(person < busy, rng.integers(0, LABELS, item.size), label).astype(np.int32)
    votes = Votes(item.astype(np.int32), person.astype(np.int32), label, ITEMS, PEOPLE, LABELS)
    counts = np.bincount(item * LABELS + label, minlength=ITEMS * LABELS).reshape(ITEMS, LABELS)
    return votes, counts.argmax(axis=1).astype(np.int32)


def test_busy_people_who_guess_are_found_and_busy_people_who_do_not_are_not() -> None:
    found = [worse_busy_annotators(*crowd(seed, busy=2)) for seed in range(10)]
    assert all(one is not None and one[2] < 0.6 < one[3] for one in found)
    assert sum(worse_busy_annotators(*crowd(seed)) is not None for seed in range(20)) <= 3


@pytest.mark.parametrize("world", ["4 % guess, 6 x work", "10 % guess, 6 x work", "10 % guess, 6 x, 60"])
def test_studies_with_busy_people_who_guess_are_warned(monkeypatch: pytest.MonkeyPatch, world: str) -> None:
    """The crowds of benchmarks/results/coverage.md that intervals cover in less than 92 % of studies, and that have such people."""
    monkeypatch.syspath_prepend(str(Path(__file__).parents[2] / "benchmarks"))
    bad_crowds = pytest.importorskip("bad_crowds")
    (crowd,) = (one for one in bad_crowds.CROWDS if one.name == world)
    rng = np.random.default_rng(1)
    warned = []
    while len(warned) < 10:
        rows, right_label = bad_crowds.study(crowd, rng)
        label, item = (
            rows[name].str.extract(r"(\d+)").cast(pl.Int32).to_numpy() for name in ("answer", "item")
        )
        people = (
            rows.select("annotator", right=label == right_label[item])
            .group_by("annotator")
            .agg(pl.all().mean(), n=pl.len())
        )
        codes = {one.code for one in bad_crowds.computed(rows, right_label, crowd).warnings}
        if people.filter((pl.col("right") < 0.4) & (pl.col("n") > 3 * len(rows) / crowd.people)).height:
            warned.append("busy_annotator" in codes)
    assert sum(warned) >= 8


def test_abilities_that_break_many_ties_are_estimated_again_or_warned_of(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.syspath_prepend(str(Path(__file__).parents[2] / "benchmarks"))
    bad_crowds = pytest.importorskip("bad_crowds")
    crowds = {one.name: one for one in bad_crowds.CROWDS}

    def warned(name: str) -> tuple[int, float]:
        """How many of four studies are warned, and the mean error over annotators."""
        rng = np.random.default_rng(1)
        made = [bad_crowds.computed(*bad_crowds.study(crowds[name], rng), crowds[name]) for _ in range(4)]
        codes = ["many_ties" in {one.code for one in baseline.warnings} for baseline in made]
        return sum(codes), fmean(one.estimates.main["acc"].two_way.annotator_error for one in made)

    again, error = warned("ordered, 3 answers")
    assert again == 0
    monkeypatch.setattr("merilo.baselines.decision_rule.MOST_REFITTED", 0)
    named, without = warned("ordered, 3 answers")
    assert named == 4
    assert error > 1.15 * without
    assert warned("ordered, 3 answers, auto")[0] == 0


def test_one_person_with_half_of_the_answers_is_named() -> None:
    votes, consensus = crowd(0)
    person = np.where(np.arange(len(votes)) % 2 == 0, 0, votes.annotator).astype(np.int32)
    names = [f"p{code}" for code in range(PEOPLE)]
    mine = Votes(votes.item, person, votes.label, ITEMS, PEOPLE, LABELS)
    found = warning_on_busy_annotators(mine, consensus, names)
    assert found is not None
    assert "(p0) gave 5" in found.en
    assert "(p0) дал 5" in found.ru


def test_few_answers_accuse_nobody() -> None:
    none = np.zeros(0, np.int32)
    assert warning_on_busy_annotators(Votes(none, none, none, 0, 0, 0), none, []) is None
    two = Votes(*(np.array(codes, np.int32) for codes in ([0, 0], [0, 1], [0, 0])), 1, 2, 1)
    assert warning_on_busy_annotators(two, np.zeros(1, np.int32), ["a", "b"]) is None


def test_the_effect_of_clusters_is_that_of_an_analysis_of_variance() -> None:
    from scipy import stats

    rng = np.random.default_rng(3)
    cluster = np.repeat(np.arange(30), 6).astype(np.int32)
    values = rng.normal(size=30)[cluster] + rng.normal(size=180)
    effect, p = effect_of_clusters(values, cluster)
    expected = stats.f_oneway(*(values[cluster == code] for code in range(30)))
    assert p == pytest.approx(expected.pvalue)
    assert 2.5 < effect < 5


def test_a_field_whose_items_are_alike_is_named_unless_it_is_declared() -> None:
    rng = np.random.default_rng(1)
    text = np.repeat(np.arange(40), 5)
    points = (rng.random(200) < np.where(rng.random(40) < 0.3, 0.2, 0.95)[text]).astype(float)
    table = pl.DataFrame(
        {"item": range(200), "text": [f"t{one}" for one in text], "other": rng.integers(0, 40, 200)}
    )
    by_item = dict(enumerate(points.tolist()))
    (found,) = warnings_on_fields(by_item, [table], None)
    assert found.code == "undeclared_clusters"
    assert "'text'" in found.en
    assert "«text»" in found.ru
    assert warnings_on_fields(by_item, [table], "text") == ()
    assert warnings_on_fields(by_item, [table.select("item", "other")], None) == ()


def test_a_baseline_warns_of_texts_that_share_their_fate() -> None:
    rng = np.random.default_rng(2)
    hard = rng.random(40) < 0.4
    rows = [
        {
            "item": f"{text}/{n}",
            "text": f"t{text}",
            "annotator": f"p{rng.integers(0, 30)}-{k}",
            "answer": "A" if rng.random() < (0.2 if hard[text] else 0.97) else "B",
        }
        for text in range(40)
        for n in range(5)
        for k in range(3)
    ]
    gold = pl.DataFrame({"item": list(dict.fromkeys(row["item"] for row in rows)), "gold": "A"})
    responses = merilo.read_responses(pl.DataFrame(rows), item=["item", "text"])
    alike = "items with the same 'text' are alike"
    assert any(alike in one for one in merilo.baseline(responses, gold=gold).warnings)
    assert not any(alike in one for one in merilo.baseline(responses, gold=gold, cluster="text").warnings)
