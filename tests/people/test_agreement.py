"""Coefficients of agreement and their intervals, against references and brute force; agreement within groups."""

import itertools
import math
import sys
import warnings
from collections.abc import Callable
from dataclasses import replace
from functools import partial
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
    Deletions,
    LeaveOneOut,
    agreement_by,
    alpha_of_numbers,
    fleiss_kappa,
    gwet_ac1,
    interval_from_deletions,
    jackknife_interval,
    jackknife_variance,
    krippendorff_alpha,
    majority_sizes,
    measure,
)
from merilo.people.votes import Votes
from merilo.settings import Level
from merilo.statistics.crossed_difference import skewed_quantile


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


def panel(seed: int, items: int = 120, annotators: int = 5, skill: float = 0.7) -> Votes:
    rng = np.random.default_rng(seed)
    item, annotator = np.divmod(np.arange(items * annotators), annotators)
    truth = rng.integers(0, 3, items)
    label = np.where(rng.random(item.size) < skill, truth[item], rng.integers(0, 3, item.size))
    return Votes(item, annotator, label, items, annotators, 3)


def without_each(votes: Votes, coefficient: Callable[[Votes], float]) -> list[np.ndarray]:
    """The coefficient without each item, each annotator and each answer, by leaving them out one at a time."""
    rows = np.arange(len(votes))
    return [
        np.array([coefficient(votes.where(codes != code)) for code in np.unique(codes)])
        for codes in (votes.item, votes.annotator, rows)
    ]


@given(votes=small_votes(min_labels=2))
def test_deletions_in_closed_form_are_those_of_leaving_out_one_at_a_time(votes: Votes) -> None:
    study = LeaveOneOut.of(votes)
    interval_level = partial(krippendorff_alpha, level="interval")
    cases = [(study.alpha(), krippendorff_alpha)]
    if len(votes):
        cases.append((alpha_of_numbers(votes, "interval", None), interval_level))
    for found, coefficient in cases:
        for mine, plain in zip(
            (found.items, found.annotators, found.answers), without_each(votes, coefficient), strict=True
        ):
            defined = np.isfinite(plain)
            assert mine[defined] == pytest.approx(plain[defined], abs=1e-9)
            # Where one label remains the coefficient is not defined; nothing disagrees, so it counts as 1.
            assert np.all(np.isnan(mine[~defined]) | (mine[~defined] == 1))


def test_the_jackknife_variance_of_a_mean_is_that_of_textbooks() -> None:
    sample = np.random.default_rng(0).normal(size=30)
    deleted = np.array([np.delete(sample, row).mean() for row in range(30)])
    assert jackknife_variance(deleted) == pytest.approx(sample.var(ddof=1) / 30)
    assert math.isnan(jackknife_variance(np.ones(1)))


def deleted(variance: float, n: int) -> np.ndarray:
    """Coefficients after n deletions with this jackknife variance, symmetric around 0.5."""
    return 0.5 + np.resize([1, -1], n) * math.sqrt(variance / (n - 1))


def test_the_lower_bound_allows_for_an_annotator_more_who_guesses() -> None:
    # Worked by hand: 10 annotators with equal shares of the answers and A = 0.5, so that one who guesses changes A by -0.1.
    deletions = Deletions(deleted(0.004, 100), deleted(0.009, 10), deleted(0.003, 500))
    found = interval_from_deletions(0.5, deletions, 100, np.full(10, 0.1))
    variance = 0.004 + 0.009 - 0.003
    assumed = (1 / 11) * (10 / 11) * 10 * 0.1**2
    third = (1 / 11) * (10 / 11) * (1 - 2 / 11) * 10 * -(0.1**3)
    t = skewed_quantile(2.2621571628, -third / (variance + assumed) ** 1.5)
    assert t > 2.4
    assert found.low == pytest.approx(max(0.5 - t * math.sqrt(variance + assumed), 0.0))
    by_people = 2.2621571628 * math.sqrt(0.006)
    lowered = 2.2621571628 * math.sqrt(variance) - 0.25 / 11
    assert lowered > 1.96 * math.sqrt(variance)
    assert found.high == pytest.approx(0.5 + lowered + by_people**2 / 2)
    assert found.method == "jackknife over items and annotators, t with 9 degrees of freedom"


def test_annotators_who_do_most_of_the_work_leave_fewer_degrees_of_freedom() -> None:
    deletions = Deletions(deleted(0.004, 100), deleted(0.009, 10), deleted(0.003, 500))
    shares = np.array([0.28, *[0.08] * 9])
    found = interval_from_deletions(0.5, deletions, 100, shares)
    assert found.method.endswith("t with 6 degrees of freedom")
    assert found.low < interval_from_deletions(0.5, deletions, 100, np.full(10, 0.1)).low


def guessers_do_most_of_the_work(seed: int) -> Votes:
    """Answers of 24 people; each guesses with the probability 0.04 and then does six times the work of others."""
    rng = np.random.default_rng(seed)
    guesses = rng.random(24) < 0.04
    busy = np.log(np.where(guesses, 6.0, 1.0)) + 0.7 * rng.standard_normal(24)
    annotator = np.argsort(-(busy + rng.gumbel(size=(200, 24))), axis=1)[:, :5].ravel()
    item, truth = np.repeat(np.arange(200), 5), rng.integers(0, 4, 200)
    right = ~guesses[annotator] & (rng.random(1000) < 0.85)
    return Votes(item, annotator, np.where(right, truth[item], rng.integers(0, 4, 1000)), 200, 24, 4)


def test_the_interval_covers_alpha_where_people_who_guess_do_most_of_the_work() -> None:
    studies = [guessers_do_most_of_the_work(seed) for seed in range(150)]
    truth = np.mean([krippendorff_alpha(votes) for votes in studies])
    intervals = [jackknife_interval(votes) for votes in studies]
    covered = sum(interval.low <= truth <= interval.high for interval in intervals)
    assert covered >= 138  # 92 %


@pytest.mark.parametrize(("annotators", "low"), [(3, 0.0), (25, 0.79), (200, 0.95)])
def test_unanimous_annotators_leave_room_for_others_who_disagree(annotators: int, low: float) -> None:
    item, annotator = np.divmod(np.arange(100 * annotators), annotators)
    found = jackknife_interval(Votes(item, annotator, item % 2, 100, annotators, 2))
    assert found.low == pytest.approx(low, abs=0.01)
    assert found.high == 1


def test_an_annotator_who_disagrees_with_all_others_widens_the_interval() -> None:
    votes = panel(1, items=400, annotators=8)
    careless = votes.annotator == 0
    guesses = np.random.default_rng(3).integers(0, 3, int(careless.sum()))
    label = votes.label.copy()
    label[careless] = guesses
    mixed = jackknife_interval(replace(votes, label=label))
    alike = jackknife_interval(votes)
    assert mixed.high - mixed.low > 1.5 * (alike.high - alike.low)


def test_two_annotators_have_an_interval_over_items_alone() -> None:
    found = jackknife_interval(panel(2, annotators=2))
    assert found.method == "jackknife over items alone, t with 119 degrees of freedom"


def test_no_interval_from_one_item() -> None:
    assert jackknife_interval(Votes(*np.array([[0, 0, 0], [0, 1, 2], [0, 0, 1]]), 1, 3, 2)) is None


@pytest.mark.parametrize("level", ["ordinal", "interval"])
def test_many_items_are_deleted_in_groups(level: Level, monkeypatch: pytest.MonkeyPatch) -> None:
    votes = panel(5, items=600, annotators=6)
    one_at_a_time = jackknife_variance(alpha_of_numbers(votes, level, None).items)
    monkeypatch.setattr(sys.modules[LeaveOneOut.__module__], "VISITED", 1)
    monkeypatch.setattr(sys.modules[LeaveOneOut.__module__], "FEWEST_GROUPS", 60)
    grouped = alpha_of_numbers(votes, level, None)
    assert grouped.items.size == 60
    assert grouped.annotators.size == 6
    assert jackknife_variance(grouped.items) == pytest.approx(one_at_a_time, rel=0.4)


@pytest.mark.thorough
def test_the_interval_covers_the_coefficient_of_other_annotators_and_items() -> None:
    def drawn(seed: int, items: int, annotators: int, overlap: int) -> Votes:
        """Answers of people of very different skill."""
        rng = np.random.default_rng(seed)
        item = np.repeat(np.arange(items), overlap)
        start = rng.integers(0, annotators, items)
        annotator = ((start[:, None] + np.arange(overlap)) % annotators).ravel()
        skill = rng.beta(4, 2, annotators)
        truth = rng.integers(0, 3, items)
        label = np.where(rng.random(item.size) < skill[annotator], truth[item], rng.integers(0, 3, item.size))
        return Votes(item, annotator, label, items, annotators, 3)

    many = measure(drawn(0, 100_000, 500_000, 5), interval=False)
    intervals = [jackknife_interval(drawn(seed + 1, 100, 15, 5)) for seed in range(200)]
    assert 182 <= sum(one.low <= many.krippendorff_alpha <= one.high for one in intervals) <= 199


def test_free_answers_have_an_interval_without_a_table_of_items_by_labels() -> None:
    rng = np.random.default_rng(0)
    n = 30_000
    item = np.repeat(np.arange(n), 3)
    label = np.where(rng.random(3 * n) < 0.8, item, rng.integers(0, n, 3 * n))
    votes = Votes(item, rng.permutation(3 * n) % 50, label, n, 50, n)
    interval = jackknife_interval(votes)
    assert interval.low < krippendorff_alpha(votes) < interval.high


def test_agreement_is_told_for_each_group() -> None:
    votes = panel(1)
    groups = ["law" if item % 3 == 0 else "medicine" if item % 3 == 1 else None for item in range(120)]
    found = agreement_by(votes, groups, interval=False)
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
    assert measure(votes, interval=False).majority_sizes == {3: 1, 2: 1, 1: 1}


@given(votes=small_votes())
def test_anything_can_be_measured(votes: Votes) -> None:
    found = measure(votes)
    assert found.answers == len(votes)
    assert sum(found.majority_sizes.values()) == found.items
    if found.interval:
        assert found.interval.low - 1e-9 <= found.krippendorff_alpha <= found.interval.high + 1e-9
        assert found.interval.high <= 1 + 1e-9
        assert found.items > 1


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
