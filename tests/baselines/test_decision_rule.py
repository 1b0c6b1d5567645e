"""The interval over items and annotators of groups is that of their own votes."""

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from command import merilo
from exports import row, toloka, written
from merilo.baselines.decision_rule import exclusion_variance, tie_weights

from merilo.people.decision import PoolVotes
from merilo.people.uncertainty.two_way import TwoWay, two_way
from merilo.people.votes import Encoding, Votes, encode


def crowd(items: int, people: int, seed: int = 0) -> list[tuple[int, str, str]]:
    """(item, annotator, label): five answers an item, label A is right in 60 to 95 % of answers."""
    rng = np.random.default_rng(seed)
    ability = np.linspace(0.6, 0.95, people)
    return [
        (item, f"w{person:02}", "A" if rng.random() < ability[person] else str(rng.choice(["B", "C"])))
        for item in range(items)
        for person in sorted(rng.choice(people, 5, replace=False).tolist())
    ]


def alone(answers: list[tuple[int, str, str]], **rule: int) -> TwoWay:
    """The interval computed from these answers only."""
    votes = encode(*(pl.Series(column) for column in zip(*answers, strict=True))).votes
    right = np.array([label == "A" for _, _, label in answers], dtype=float)
    return two_way(votes, right, resamples=0, **rule)


def pool_of(folder: Path, answers: list[tuple[int, str, str]], domains: int) -> tuple[Path, Path]:
    items = {item for item, _, _ in answers}
    gold = [
        {"inputs": f"q{item}", "outputs": "A", "meta": {"id": item, "domain": f"d{item % domains}"}}
        for item in items
    ]
    return (
        written(folder / "p.tsv", toloka([row(f"q{item}", label, who) for item, who, label in answers])),
        written(folder / "gold.json", json.dumps({"data": {"test": gold}})),
    )


@pytest.fixture
def grouped(tmp_path: Path) -> tuple[list[tuple[int, str, str]], dict]:
    answers = crowd(60, 12)
    pool, gold = pool_of(tmp_path, answers, 2)
    found = merilo(
        "baseline", pool, "--gold", gold, "--by", "domain", "--resolve", "none", "--max-low-agreement", "1",
        "--out", tmp_path / "out", "--json", "-",
    ).json  # fmt: skip
    return answers, found


def test_a_group_has_the_interval_of_its_own_items(grouped: tuple[list, dict]) -> None:
    answers, found = grouped
    for domain in (0, 1):
        inside = [one for one in answers if one[0] % 2 == domain]
        expected = alone(inside, min_votes=3)
        group = found["by"]["domain"][f"d{domain}"]["acc"]
        assert group["value"] == pytest.approx(expected.value, abs=1e-6)
        assert group["ci95_items_and_annotators"] == pytest.approx(
            (expected.interval.low, expected.interval.high), abs=1e-6
        )
        assert group["ci95_items_and_annotators"][0] < group["ci95"][0]


def test_a_model_that_decides_is_fitted_again_without_groups_of_annotators(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A third of the annotators guess, so that the weights of all depend on who takes part.
    rng = np.random.default_rng(5)
    answers = [
        (item, f"w{who:02}", "A" if rng.random() < (0.5 if who % 3 == 0 else 0.7) else "B")
        for item in range(60)
        for who in sorted(rng.choice(12, 5, replace=False).tolist())
    ] + [(60, f"w{who:02}", "B") for who in range(12)]
    pool, gold = pool_of(tmp_path, answers, 2)
    found = merilo("baseline", pool, "--gold", gold, "--aggregator", "auto", "--json", "-").json
    own = found["metrics"]["acc"]
    monkeypatch.setattr("merilo.baselines.decision_rule.MOST_REFITTED", 0)
    kept = merilo("baseline", pool, "--gold", gold, "--aggregator", "auto", "--json", "-").json
    kept_low, kept_high = kept["metrics"]["acc"]["ci95_items_and_annotators"]
    low, high = own["ci95_items_and_annotators"]
    assert high - low > 1.05 * (kept_high - kept_low)


def test_a_group_of_one_item_or_of_two_annotators_has_null_or_a_wide_interval(tmp_path: Path) -> None:
    answers = crowd(12, 12)
    # One item each; the last one was answered by two annotators.
    answers = [one for one in answers if one[0] < 11] + [(11, "w00", "A"), (11, "w01", "A")]
    pool, gold = pool_of(tmp_path, answers, 12)
    found = merilo(
        "baseline", pool, "--gold", gold, "--by", "domain", "--max-low-agreement", "1", "--json", "-"
    ).json["by"]["domain"]
    assert found["d11"]["acc"]["ci95_items_and_annotators"] is None
    for name in set(found) - {"d11"}:
        if interval := found[name].get("acc", {}).get("ci95_items_and_annotators"):
            assert interval[1] - interval[0] > 0.5


def test_unknown_skills_count_as_the_mean_and_ability_decides_after_skill() -> None:
    votes = Votes(np.zeros(3, np.int32), np.arange(3, dtype=np.int32), np.zeros(3, np.int32), 1, 3, 1)
    skill, ability = np.array([0.2, np.nan, 1.0]), np.array([0.0, 1.0, 0.5])
    weight = tie_weights(votes, skill, ability)
    assert weight == pytest.approx(1 + 1e-3 * np.array([0, 0.5, 1]) + 1e-6 * ability)
    assert tie_weights(votes, np.full(3, np.nan), None) == pytest.approx(np.ones(3))


def test_the_number_of_excluded_annotators_is_a_matter_of_chance() -> None:
    """A consensus of fewer answers is worse, and another study excludes another number of annotators."""
    rng = np.random.default_rng(1)
    values, variances = [], []
    for _ in range(300):
        person = np.argsort(rng.random((150, 20)), axis=1)[:, :5].ravel().astype(np.int32)
        item = np.repeat(np.arange(150, dtype=np.int32), 5)
        # Most people are alike, so that only their number makes a difference.
        label = np.where(rng.random(750) < 0.65, 0, rng.integers(1, 4, 750)).astype(np.int32)
        everyone = Votes(item, person, label, 150, 20, 4)
        kept = (rng.random(20) < 0.6)[person]
        names = (pl.Series(range(150)), pl.Series(range(20)), pl.Series(["A", "B", "C", "D"]))
        tests = np.ones(750, np.bool_)
        skill = np.full(20, np.nan)
        pool = PoolVotes(Encoding(everyone, *names, 0), tests, kept, kept, skill)
        worth = (pool.votes.label == 0).astype(float)
        both = two_way(pool.votes, worth, exclusion=exclusion_variance(pool), resamples=0)
        values.append(both.value)
        variances.append(both.item_error**2 + both.annotator_error**2)
    assert 0.85 < np.mean(variances) / np.var(values) < 1.5
