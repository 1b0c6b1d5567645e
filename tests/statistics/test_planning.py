"""Power analysis against simulation, exact enumeration and studies of the planned size."""

from math import comb
from pathlib import Path

import numpy as np
import pytest
from command import merilo
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from merilo.errors import DataError, UsageError
from merilo.people.power import (
    ESTIMATED,
    Estimated,
    agreement_half_widths,
    half_widths,
    size_for_assurance,
)
from merilo.people.uncertainty.two_way import influences, shared_part, two_way
from merilo.people.votes import Votes
from merilo.statistics.crossed_difference import CrossedDifference, crossed_difference
from merilo.statistics.intervals import mean_interval, wilson
from merilo.statistics.paired_tests import mcnemar
from merilo.statistics.planning import (
    StudyPlan,
    consensus_accuracy,
    controls,
    independent_discordance,
    items_for_difference,
    items_for_half_width,
    items_for_margin,
    pass_mark,
    people_for_half_width,
    pivotal,
    precision,
    smallest_difference,
    smallest_margin,
)

shares = st.floats(0.05, 0.95)


@given(shares, st.integers(1, 12))
def test_the_accuracy_of_a_majority_is_the_sum_over_all_divisions_of_votes(
    person: float, overlap: int
) -> None:
    expected = sum(
        comb(overlap, right) * person**right * (1 - person) ** (overlap - right)
        * (1.0 if 2 * right > overlap else 0.5 if 2 * right == overlap else 0.0)
        for right in range(overlap + 1)
    )  # fmt: skip
    assert consensus_accuracy(person, overlap) == pytest.approx(expected, abs=1e-9)


@given(shares, st.integers(1, 12))
def test_a_persons_say_is_the_slope_of_the_majoritys_accuracy(person: float, overlap: int) -> None:
    step = 1e-5
    slope = (consensus_accuracy(person + step, overlap) - consensus_accuracy(person - step, overlap)) / (
        2 * step
    )
    assert overlap * pivotal(person, overlap) == pytest.approx(slope, rel=1e-4, abs=1e-6)


@pytest.mark.parametrize("expected", [0.6, 0.9, 0.99])
def test_without_shared_people_the_items_are_those_of_wilsons_interval(expected: float) -> None:
    items = items_for_half_width(StudyPlan(expected), 0.03).items
    # Student's quantile asks a few items more than the normal one.
    for n, wide in ((round(items * 0.98), True), (round(items * 1.02), False)):
        interval = wilson(round(expected * n), n)
        assert ((interval.high - interval.low) / 2 > 0.03) is wide


@pytest.mark.parametrize(
    ("expected", "overlap", "people", "spread", "items"),
    [(0.9, 5, 24, 0.1, 400), (0.8, 3, 12, 0.08, 200), (0.95, 5, 40, 0.06, 500), (0.85, 4, 15, 0.1, 300)],
)
def test_the_promised_half_width_is_what_simulated_studies_get(
    expected: float, overlap: int, people: int, spread: float, items: int
) -> None:
    crowd = StudyPlan(expected, overlap, people, spread)
    promised = precision(crowd, items)
    rng = np.random.default_rng(4)
    estimates, widths = [], []
    for seed in range(120):
        ability = np.clip(rng.normal(crowd.person, spread, people), 0.01, 0.99)
        chosen = np.argsort(rng.random((items, people)), axis=1)[:, :overlap].ravel()
        item = np.repeat(np.arange(items), overlap)
        right = rng.random(item.shape[0]) < ability[chosen]
        votes = Votes(
            item.astype(np.int32), chosen.astype(np.int32), right.astype(np.int32), items, people, 2
        )
        result = two_way(votes, right.astype(float), resamples=200, seed=seed)
        estimates.append(result.value)
        widths.append((result.interval.high - result.interval.low) / 2)
    deviation = np.sqrt(expected * (1 - expected) / items * promised.design_effect)
    assert np.std(estimates) == pytest.approx(deviation, rel=0.2)
    assert np.median(widths) == pytest.approx(promised.half_width, rel=0.2)


def test_so_few_people_leave_a_width_that_no_number_of_items_removes() -> None:
    with pytest.raises(DataError, match="needs more annotators"):
        items_for_half_width(StudyPlan(0.8, 5, 6, 0.15), 0.02)
    assert people_for_half_width(StudyPlan(0.8, 5, None, 0.15), 3000, 0.02) is not None
    assert people_for_half_width(StudyPlan(0.8, 5, None, 0.15), 100, 0.02) is None


def test_the_fewest_people_are_the_fewest() -> None:
    crowd = StudyPlan(0.85, 5, None, 0.12)
    people = people_for_half_width(crowd, 1500, 0.03)
    assert people is not None
    widths = [precision(StudyPlan(0.85, 5, n, 0.12), 1500).half_width for n in (people - 1, people)]
    assert widths[0] > 0.03 >= widths[1]


@pytest.mark.parametrize(("discordant", "difference"), [(0.2, 0.05), (0.3, 0.1)])
def test_so_many_items_show_the_difference_in_four_of_five_simulated_comparisons(
    discordant: float, difference: float
) -> None:
    items = items_for_difference(StudyPlan(0.9, spread=0), discordant, difference).items_alone
    rng = np.random.default_rng(0)
    parts = [(discordant + difference) / 2, (discordant - difference) / 2, 1 - discordant]
    drawn = rng.multinomial(items, parts, size=1500)
    found = np.mean([mcnemar(int(better), int(worse)) < 0.05 for better, worse, _ in drawn])
    assert 0.74 <= found <= 0.85


def test_independent_errors_disagree_as_two_coins_do() -> None:
    assert independent_discordance(0.9, 0.1) == pytest.approx(0.9 * 0.2 + 0.8 * 0.1)


@settings(deadline=None)
@given(st.floats(0.1, 0.5), st.floats(0.7, 0.95), st.floats(0.5, 0.7), st.sampled_from([0.8, 0.9, 0.95]))
def test_the_fewest_controls_are_found_by_going_through_every_outcome(
    chance: float, skilled: float, threshold: float, wish: float
) -> None:
    def tells(n: int) -> bool:
        def kept(p: float) -> float:
            return sum(comb(n, r) * p**r * (1 - p) ** (n - r) for r in range(n + 1) if r / n >= threshold)

        return 1 - kept(chance) >= wish and kept(skilled) >= wish

    try:
        plan = controls(threshold=threshold, chance=chance, skilled=skilled, exclude=wish, keep=wish)
    except DataError:
        assert not any(tells(n) for n in range(1, 120))
        return
    if plan.controls <= 120:
        assert tells(plan.controls)
        assert not any(tells(n) for n in range(1, plan.controls))
    if plan.always_from <= 120:
        assert all(tells(n) for n in range(plan.always_from, 130))


@given(st.integers(1, 60), st.floats(0.01, 1))
def test_who_stands_exactly_on_the_threshold_is_kept(n: int, threshold: float) -> None:
    mark = pass_mark(n, threshold)
    assert not mark / n < threshold
    assert mark == 0 or (mark - 1) / n < threshold


def test_the_command_plans_items_people_and_controls() -> None:
    found = merilo(
        "power",
        "--expected",
        0.9,
        "--half-width",
        0.03,
        "--people",
        60,
        "--difference",
        0.05,
        "--items",
        400,
        "--json",
        "-",
    ).json
    assert found["interval"]["items"] > found["interval"]["items_if_people_do_not_matter"] == 390
    assert found["interval"]["design_effect"] > 1
    size = items_for_difference(StudyPlan(0.9, people=60), independent_discordance(0.9, 0.05), 0.05)
    assert found["difference"]["items"] == size.items > size.items_alone
    assert found["controls"]["a_person"] == controls().controls
    assert found["precision"]["half_width"] > 0.029
    assert 0.7 < found["assumed"]["single_person"] < 0.9


def test_without_a_number_of_people_the_fewest_are_named() -> None:
    outcome = merilo("power", "--expected", 0.9, "--half-width", 0.03)
    assert outcome.status == 0
    assert "with at least" in outcome.out
    assert "control answers" in outcome.out


def test_the_plan_names_the_single_person_agreement_and_the_assured_half_widths() -> None:
    found = merilo("power", "--items", 300, "--half-width", 0.05, "--people", 60, "--json", "-").json
    precise, size = found["precision"], found["interval"]["assured"]
    for part in (precise, precise["single_person"], precise["krippendorff_alpha"]):
        assert part["assured_half_width"] > part["half_width"]
    assert found["interval"]["items"] < size["consensus"]["items"]
    said = merilo("power", "--items", 300, "--half-width", 0.05, "--people", 60, "--assurance", 0.9).out
    assert "in 90% of studies" in said
    # Twelve annotators are too few for the single annotator, whatever the number of items.
    few = merilo(
        "power", "--half-width", 0.06, "--people", 15, "--spread", 0.12, "--expected", 0.97, "--json", "-"
    )
    assert few.json["interval"]["assured"]["single_person"]["items"] is None
    assert few.json["interval"]["assured"]["single_person"]["people_at_least"] > 15


@pytest.mark.parametrize("of", ESTIMATED)
def test_the_assured_size_is_the_smallest_one(of: Estimated) -> None:
    plan = StudyPlan(0.9, 5, 60, 0.08)
    items = size_for_assurance(plan, 0.04, of, assurance=0.9).items
    assert items is not None
    widths = [np.quantile(half_widths(plan, n, of), 0.9) for n in (items - 1, items)]
    assert widths[0] > 0.04 >= widths[1]
    free = size_for_assurance(StudyPlan(0.9, 5, None, 0.08), 0.04, of)
    assert free.items is not None
    assert free.people is not None
    crowds = [StudyPlan(0.9, 5, people, 0.08) for people in (free.people - 1, free.people)]
    widths = [np.quantile(half_widths(crowd, free.items, of), 0.8) for crowd in crowds]
    assert widths[0] > 0.04 >= widths[1]


def test_four_of_five_simulated_studies_stay_below_the_assured_half_width(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.syspath_prepend(str(Path(__file__).parents[2] / "benchmarks"))
    benchmark = pytest.importorskip("planned_widths")
    for world in benchmark.WORLDS:
        planned, observed = benchmark.planned(world), benchmark.observed(world, 60, seed=2)
        for name, widths in planned.items():
            assert widths.mean() == pytest.approx(observed[name].mean(), rel=0.15)
            assert 0.64 <= (observed[name] <= np.quantile(widths, 0.8)).mean() <= 0.93


def test_agreement_of_many_items_is_extrapolated_and_needs_two_answers_to_independent_items() -> None:
    plan = StudyPlan(0.9, 5, 40)
    whole, few = agreement_half_widths(plan, 10**6), agreement_half_widths(plan, 800)
    assert whole is not None
    assert few is not None
    # The annotators' part of the variance stays.
    assert 0.5 * few[1].mean() < whole[1].mean() < few[1].mean()
    assert agreement_half_widths(StudyPlan(0.9, 1, 40), 400) is None
    assert agreement_half_widths(StudyPlan(0.9, 5, 40, cluster_size=5, icc=0.2), 400) is None


@given(st.floats(0.55, 0.95), st.integers(1, 9), st.floats(0.02, 0.2))
def test_with_items_of_unequal_difficulty_the_majority_is_averaged_over_the_items(
    person: float, overlap: int, spread: float
) -> None:
    size = person * (1 - person) / spread**2 - 1
    items = stats.beta(person * size, (1 - person) * size).ppf((np.arange(4000) + 0.5) / 4000)
    average = np.mean([consensus_accuracy(p, overlap) for p in items])
    assert consensus_accuracy(person, overlap, spread) == pytest.approx(average, abs=2e-3)
    swing = np.mean([pivotal(p, overlap) for p in items])
    assert pivotal(person, overlap, spread) == pytest.approx(swing, abs=2e-3)


def test_what_cannot_be_had_is_said_with_status_1() -> None:
    outcome = merilo("power", "--expected", 0.8, "--half-width", 0.02, "--people", 6, "--spread", 0.15)
    assert outcome.status == 1
    assert "needs more annotators" in outcome.complaint
    endless = merilo("power", "--half-width", 1e-9)
    assert endless.status == 1
    assert "a half-width of 1e-09 needs more than 10000000 items" in endless.complaint
    assert merilo("power", "--min-control-accuracy", 0.2, "--chance", 0.5, "--skilled", 0.9).status == 1


@pytest.mark.parametrize(
    "arguments",
    [
        ("--expected", 1.5),
        ("--expected", "nan"),
        ("--half-width", 0),
        ("--difference", 2),
        ("--difference", 0.2, "--discordant", 0.1),
        ("--people", 2),
        ("--overlap", 0),
        ("--items", 0),
        ("--spread", -1),
        ("--spread", "nan"),
        ("--chance", 0.9, "--skilled", 0.5),
        ("--exclude", 1),
        ("--metric", "bleu"),
        ("--level", 1),
        ("--power", 0),
        ("--assurance", 1),
        ("--item-spread", 0.5),
        ("--cluster-size", 0.5),
        ("--icc", 1.5),
        ("--icc", "nan"),
        ("--margin", 1),
        ("--margin", "nan"),
        ("--margin", 0.1, "--discordant", 0),
    ],
    ids=str,
)
def test_impossible_wishes_are_wrong_usage(arguments: tuple[object, ...]) -> None:
    outcome = merilo("power", *arguments)
    assert outcome.status == 2
    assert arguments[-2] in outcome.complaint


def test_a_crowd_must_be_possible() -> None:
    with pytest.raises(UsageError, match="annotators are too few for"):
        StudyPlan(0.9, 5, 3)


def test_a_very_large_overlap_overflows_nothing() -> None:
    assert merilo("power", "--overlap", 100_000, "--items", 10**9, "--json", "-").status == 0
    assert consensus_accuracy(0.6, 100_001) == pytest.approx(1)


def test_clusters_multiply_the_items_by_their_design_effect() -> None:
    alone = items_for_half_width(StudyPlan(0.9), 0.03).items
    shared = items_for_half_width(StudyPlan(0.9, cluster_size=5, icc=0.3), 0.03).items
    assert shared / alone == pytest.approx(1 + 4 * 0.3, rel=0.01)
    difference = items_for_difference(StudyPlan(0.9), 0.2, 0.05).items_alone
    of_clusters = items_for_difference(StudyPlan(0.9, cluster_size=5, icc=0.3), 0.2, 0.05).items_alone
    assert of_clusters / difference == pytest.approx(2.2, rel=0.01)
    assert items_for_half_width(StudyPlan(0.9, cluster_size=5), 0.03).items == pytest.approx(alone, rel=0.03)


def test_the_planned_half_width_is_that_of_simulated_clusters() -> None:
    rng, widths = np.random.default_rng(0), []
    codes = np.repeat(np.arange(60), 5)
    for _ in range(60):
        of_text, own = rng.random(60) < 0.85, rng.random(300) < 0.85
        scores = np.where(rng.random(300) < np.sqrt(0.4), of_text[codes], own)
        found = mean_interval(scores.astype(float), codes.tolist())
        assert found is not None
        widths.append((found.high - found.low) / 2)
    planned = precision(StudyPlan(0.85, cluster_size=5, icc=0.4), 300).half_width
    assert np.mean(widths) == pytest.approx(planned, rel=0.05)


def simulated(plan: StudyPlan, items: int, model: float, rng: np.random.Generator) -> CrossedDifference:
    """A study with this plan, whose wrong answers are all the same, and a model of this accuracy."""
    people = plan.people or items * plan.overlap
    ability = np.clip(plan.person + plan.spread * rng.standard_normal(people), 0.02, 0.98)
    # Every annotator answers as many items as every other one.
    person = np.tile(rng.permutation(people), -(-items * plan.overlap // people))[: items * plan.overlap]
    item = np.repeat(np.arange(items), plan.overlap)
    right = rng.random(item.size) < ability[person]
    votes = Votes(item.astype(np.int32), person.astype(np.int32), right.astype(np.int32), items, people, 2)
    lead = np.bincount(item, weights=right, minlength=items) / plan.overlap
    consensus = (lead > 0.5).astype(np.float64)
    answers = (rng.random(items) < model).astype(np.float64)
    influence = influences(votes, answers[item] - right, unseen=answers)
    return crossed_difference(consensus, answers, shared_part(votes, influence))


@pytest.mark.parametrize("people", [60, 200])
def test_the_test_that_is_printed_first_keeps_the_promised_power(people: int) -> None:
    plan = StudyPlan(0.9, 5, people, 0.08)
    size = items_for_difference(plan, independent_discordance(0.9, 0.08), 0.08)
    assert size.power >= 0.8
    rng = np.random.default_rng(people)
    found = np.mean([simulated(plan, size.items, 0.82, rng).p <= 0.05 for _ in range(200)])
    assert 0.72 <= found <= 0.9


def test_the_planned_margin_is_shown_in_four_of_five_simulated_studies() -> None:
    plan = StudyPlan(0.9, 5, 80, 0.08)
    size = items_for_margin(plan, independent_discordance(0.9, 0), 0.08)
    rng = np.random.default_rng(0)
    found = np.mean([simulated(plan, size.items, 0.9, rng).p_within(0.08) <= 0.05 for _ in range(200)])
    assert 0.72 <= found <= 0.9


def test_with_too_few_annotators_the_message_names_the_limit_and_the_missing_annotators() -> None:
    outcome = merilo("power", "--expected", 0.9, "--difference", 0.05, "--people", 24)
    assert outcome.status == 1
    assert "annotators, not items, are the limit" in outcome.complaint
    plan = StudyPlan(0.9)
    size = items_for_difference(plan, independent_discordance(0.9, 0.05), 0.05)
    assert f"at least {size.people} annotators are needed ({size.people - 24} more)" in outcome.complaint


def test_the_command_plans_for_a_margin() -> None:
    found = merilo("power", "--margin", 0.04, "--discordant", 0.1, "--people", 300, "--json", "-").json
    size = items_for_margin(StudyPlan(0.9, people=300), 0.1, 0.04)
    assert found["equivalence"]["items"] == size.items > size.items_alone
    said = merilo("power", "--margin", 0.04, "--discordant", 0.1, "--people", 300).out
    assert "at human level" in " ".join(said.replace("│", " ").split())


def test_impossible_plans_are_refused() -> None:
    with pytest.raises(UsageError, match="must be at least the difference"):
        items_for_difference(StudyPlan(0.9), 0.01, 0.05)
    with pytest.raises(DataError, match="needs more than"):
        items_for_difference(StudyPlan(0.9), 0.2, 1e-5)


@pytest.mark.parametrize(("items", "people"), [(60, 10), (100, 20), (1000, 100)])
def test_what_a_study_can_show_inverts_the_search_of_its_size(items: int, people: int) -> None:
    plan = StudyPlan(0.9, 5, people)
    margin, difference = smallest_margin(plan, items), smallest_difference(plan, items)
    assert margin is not None
    assert difference is not None
    by_margin, by_difference = independent_discordance(0.9, 0), independent_discordance(0.9, difference)
    assert items_for_margin(plan, by_margin, margin).items <= items
    assert items_for_difference(plan, by_difference, difference).items <= items


def test_a_study_of_two_items_can_show_no_difference() -> None:
    assert smallest_difference(StudyPlan(0.9, 5, 10), 2) is None
