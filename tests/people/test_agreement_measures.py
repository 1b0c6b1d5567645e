"""Kappa, AC1 and their intervals, by brute force; agreement within groups."""

import itertools
import math
import sys
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from simulated_votes import small_votes

from merilo.errors import UsageError
from merilo.people.agreement import (
    agreement_by,
    bootstrap,
    fleiss_kappa,
    gwet_ac1,
    krippendorff_alpha,
    majority_sizes,
    measure,
)
from merilo.people.agreement.alpha import Level
from merilo.people.agreement.bootstrap import _Profiles
from merilo.people.votes import Votes


def answers_of(votes: Votes) -> list[list[int]]:
    """The labels that each item got, for items that got any."""
    lists = [votes.label[votes.item == item].tolist() for item in range(votes.items)]
    return [labels for labels in lists if labels]


def pairs_and_shares(votes: Votes) -> tuple[float, list[float]]:
    """Agreeing pairs by listing every pair of answers to one item, and the mean share of each label."""
    agreeing = [
        np.mean([a == b for a, b in itertools.permutations(labels, 2)])
        for labels in answers_of(votes)
        if len(labels) > 1
    ]
    shares = [
        np.mean([labels.count(k) / len(labels) for labels in answers_of(votes)] or [0])
        for k in range(votes.labels)
    ]
    return (float(np.mean(agreeing)) if agreeing else math.nan), shares


@given(votes=small_votes())
def test_fleiss_kappa_is_what_listing_every_pair_gives(votes: Votes) -> None:
    observed, shares = pairs_and_shares(votes)
    chance = sum(p * p for p in shares)
    expected = (observed - chance) / (1 - chance) if chance < 1 - 1e-12 else math.nan
    assert fleiss_kappa(votes) == pytest.approx(expected, abs=1e-12, nan_ok=True)


@given(votes=small_votes())
def test_gwets_ac1_is_what_listing_every_pair_gives(votes: Votes) -> None:
    if votes.labels < 2:
        assert math.isnan(gwet_ac1(votes))
        return
    observed, shares = pairs_and_shares(votes)
    chance = sum(p * (1 - p) for p in shares) / (votes.labels - 1)
    assert gwet_ac1(votes) == pytest.approx((observed - chance) / (1 - chance), abs=1e-12, nan_ok=True)


def test_fleiss_own_example() -> None:
    """Ten items, fourteen raters, five labels: kappa 0.210 (the table that textbooks repeat)."""
    table = [
        [0, 0, 0, 0, 14], [0, 2, 6, 4, 2], [0, 0, 3, 5, 6], [0, 3, 9, 2, 0], [2, 2, 8, 1, 1],
        [7, 7, 0, 0, 0], [3, 2, 6, 3, 0], [2, 5, 3, 2, 2], [6, 5, 2, 1, 0], [0, 2, 2, 3, 7],
    ]  # fmt: skip
    rows = [
        (item, label) for item, counts in enumerate(table) for label, n in enumerate(counts) for _ in range(n)
    ]
    item, label = np.array(rows).T
    votes = Votes(item, np.tile(np.arange(14), 10), label, 10, 14, 5)
    assert fleiss_kappa(votes) == pytest.approx(0.20993, abs=1e-5)


def test_ac1_stays_high_where_nearly_all_say_the_same_and_kappa_does_not() -> None:
    table = np.zeros((100, 2), dtype=int)
    table[0, 0] = table[1, 1] = 1
    item, annotator = np.divmod(np.arange(200), 2)
    votes = Votes(item, annotator, table.reshape(-1), 100, 2, 2)
    assert fleiss_kappa(votes) < 0
    assert gwet_ac1(votes) > 0.95


@given(votes=small_votes(min_labels=2), data=st.data())
def test_a_resample_of_profiles_is_a_resample_of_items(votes: Votes, data: st.DataObject) -> None:
    if not len(votes):
        return
    profiles = _Profiles.of(votes)
    drawn = np.array(
        data.draw(st.lists(st.integers(0, 3), min_size=profiles.items.size, max_size=profiles.items.size))
    )
    if not drawn.any():
        return
    rows = []
    copies = 0
    for profile, times in enumerate(drawn):
        inside = profiles.cell_profile == profile
        for _ in range(times):
            for label, n in zip(profiles.cell_label[inside], profiles.cell_votes[inside], strict=True):
                rows += [(copies, label)] * int(n)
            copies += 1
    item, label = np.array(rows).T
    written_out = Votes(item, np.zeros(item.size, dtype=int), label, copies, 1, votes.labels)
    weights = drawn[None, :].astype(float)
    values = np.arange(votes.labels) ** 2 / 3
    near = {"abs": 1e-9, "nan_ok": True}
    assert profiles.alpha(weights, "nominal", None)[0] == pytest.approx(
        krippendorff_alpha(written_out), **near
    )
    assert profiles.alpha(weights, "ordinal", None)[0] == pytest.approx(
        krippendorff_alpha(written_out, "ordinal"), **near
    )
    assert profiles.alpha(weights, "interval", values)[0] == pytest.approx(
        krippendorff_alpha(written_out, "interval", values=values), **near
    )
    kappa, ac1 = profiles.kappas(weights)
    assert kappa[0] == pytest.approx(fleiss_kappa(written_out), **near)
    assert ac1[0] == pytest.approx(gwet_ac1(written_out), **near)


@given(votes=small_votes(min_labels=2))
def test_every_item_is_in_one_profile(votes: Votes) -> None:
    profiles = _Profiles.of(votes)
    assert profiles.items.sum() == np.unique(votes.item).size
    assert (profiles.items @ profiles.answers) == len(votes)
    counted = {tuple(sorted(labels)) for labels in answers_of(votes)}
    assert profiles.items.size == len(counted)


def panel(seed: int, items: int = 120, annotators: int = 5, skill: float = 0.7) -> Votes:
    rng = np.random.default_rng(seed)
    item, annotator = np.divmod(np.arange(items * annotators), annotators)
    truth = rng.integers(0, 3, items)
    label = np.where(rng.random(item.size) < skill, truth[item], rng.integers(0, 3, item.size))
    return Votes(item, annotator, label, items, annotators, 3)


@pytest.mark.parametrize("items", [20, 120])
def test_the_interval_covers_the_coefficient_of_many_items(items: int) -> None:
    many = measure(panel(0, items=200_000), resamples=0)
    covered: Counter[str] = Counter()
    for seed in range(200):
        for name, interval in bootstrap(panel(seed + 1, items), resamples=400, seed=seed).items():
            covered[name] += interval.low <= getattr(many, name) <= interval.high
    assert set(covered) == {"krippendorff_alpha", "fleiss_kappa", "gwet_ac1"}
    assert all(180 <= count <= 199 for count in covered.values()), covered


def test_the_interval_is_that_of_a_bootstrap_written_plainly() -> None:
    votes = panel(3, items=60)
    table = votes.label.reshape(60, 5)
    value = fleiss_kappa(votes)
    rng = np.random.default_rng(5)
    plain = []
    for _ in range(2000):
        drawn = table[rng.integers(0, 60, 60)]
        item, annotator = np.divmod(np.arange(300), 5)
        plain.append(fleiss_kappa(Votes(item, annotator, drawn.reshape(-1), 60, 5, 3)))
    interval = bootstrap(votes, resamples=4000, seed=1)["fleiss_kappa"]
    assert [interval.low, interval.high] == pytest.approx(
        np.quantile(plain - np.mean(plain) + value, [0.025, 0.975]), abs=0.02
    )


def test_the_same_seed_gives_the_same_interval_and_is_recorded() -> None:
    votes = panel(2)
    first, second, other = (bootstrap(votes, seed=seed, resamples=300) for seed in (7, 7, 8))
    assert first == second != other
    assert "300 resamples, seed 7" in first["gwet_ac1"].method


def test_free_answers_are_resampled_without_a_table_of_items_by_labels() -> None:
    rng = np.random.default_rng(0)
    n = 3000
    item = np.repeat(np.arange(n), 3)
    label = np.where(rng.random(3 * n) < 0.8, item, rng.integers(0, n, 3 * n))
    votes = Votes(item, np.tile(np.arange(3), n), label, n, 3, n)
    interval = bootstrap(votes, resamples=200)["krippendorff_alpha"]
    assert interval.low < krippendorff_alpha(votes) < interval.high


def test_samples_on_which_a_coefficient_is_not_defined_are_counted() -> None:
    votes = Votes(*np.array([[0, 0, 1, 1], [0, 1, 0, 1], [0, 0, 1, 1]]), 2, 2, 2)
    interval = bootstrap(votes, resamples=100)["krippendorff_alpha"]
    assert (interval.low, interval.high) == (1.0, 1.0)
    assert "more on which the coefficient is not defined" in interval.method


def test_agreement_is_told_for_each_group() -> None:
    votes = panel(1)
    groups = ["law" if item % 3 == 0 else "medicine" if item % 3 == 1 else None for item in range(120)]
    found = agreement_by(votes, groups, resamples=0)
    assert list(found) == ["law", "medicine"]
    law = votes.where(votes.item % 3 == 0)
    assert found["law"].krippendorff_alpha == krippendorff_alpha(law)
    assert found["law"].items == 40
    assert sum(found["law"].majority_sizes.values()) == 40
    with pytest.raises(UsageError, match="120 items"):
        agreement_by(votes, groups[1:])


def test_items_are_counted_by_the_size_of_their_majority() -> None:
    votes = Votes(*np.array([[0, 0, 0, 1, 1, 1, 3], [0, 1, 2, 0, 1, 2, 0], [1, 1, 1, 0, 1, 1, 0]]), 4, 3, 2)
    assert majority_sizes(votes) == {3: 1, 2: 1, 1: 1}
    assert measure(votes, resamples=0).majority_sizes == {3: 1, 2: 1, 1: 1}


@given(votes=small_votes())
def test_anything_can_be_measured(votes: Votes) -> None:
    found = measure(votes, resamples=20)
    assert found.answers == len(votes)
    assert sum(found.majority_sizes.values()) == found.items
    for name, interval in found.intervals.items():
        assert interval.low - 1e-9 <= getattr(found, name) <= interval.high + 1e-9
        assert interval.high <= 1 + 1e-9
        assert found.items > 1


@pytest.mark.parametrize("level", ["nominal", "ordinal"])
def test_many_cells_are_summed_as_few_are(level: Level, monkeypatch: pytest.MonkeyPatch) -> None:
    module = sys.modules["merilo.people.agreement.bootstrap"]
    rng = np.random.default_rng(1)
    item, label = np.repeat(np.arange(200), 4), rng.integers(0, 30, 800)
    votes = Votes(
        item.astype(np.int32), np.tile(np.arange(4, dtype=np.int32), 200), label.astype(np.int32), 200, 4, 30
    )
    few = bootstrap(votes, level=level, resamples=200)
    monkeypatch.setattr(module, "MANY_CELLS", 1)
    many = bootstrap(votes, level=level, resamples=200)
    assert few
    for name, one in few.items():
        assert (many[name].low, many[name].high) == pytest.approx((one.low, one.high), rel=1e-9)
