"""Power analysis against exact enumeration, simulated studies and the intervals of `crossed`."""

from math import comb
from typing import Any

import numpy as np
import pytest
from command import merilo
from hypothesis import given
from hypothesis import strategies as st

from merilo.errors import DataError, UsageError
from merilo.statistics.crossed import Crossed, Influence, crossed, of_mean
from merilo.statistics.planning import (
    StudyPlan,
    consensus_accuracy,
    controls,
    half_width,
    pass_mark,
    pivotal,
    power,
    smallest_difference,
    smallest_margin,
    study_size,
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
    above, below = (consensus_accuracy(person + change, overlap) for change in (step, -step))
    assert overlap * pivotal(person, overlap) == pytest.approx(
        (above - below) / (2 * step), rel=1e-4, abs=1e-6
    )


@pytest.mark.parametrize("of", ["consensus", "person"])
def test_the_planned_width_is_that_of_simulated_studies(of: Any) -> None:
    plan, items, rng, widths = StudyPlan(0.9, 5, 40), 400, np.random.default_rng(0), []
    people = np.stack([rng.permutation(40)[:5] for _ in range(items)])
    for _ in range(20):
        ability = plan.person + plan.spread * rng.standard_normal(40)
        right = (rng.random((items, 5)) < ability[people]).astype(float)
        score = right.mean(axis=1) if of == "person" else (right.sum(axis=1) > 2).astype(float)
        say = (
            np.full(right.shape, 1 / 5)
            if of == "person"
            else (np.abs(right.sum(1, keepdims=True) - right - 2) < 1)
        )
        answers = say * (right - right.mean()) / items
        unit = np.repeat(np.arange(items), 5)
        guess = (say * (0.25 - right) / items).ravel()
        found = crossed(
            score.mean(),
            Influence((score - score.mean()) / items, answers.ravel(), unit, people.ravel(), guess),
        )
        low, high = found.interval() or (0.0, 1.0)
        widths.append((high - low) / 2)
    assert half_width(plan, items, of) == pytest.approx(np.mean(widths), rel=0.12)


def test_the_planned_items_are_the_smallest_that_are_enough() -> None:
    for people in (60, None):
        size = power(expected=0.85, half_width=0.03, people=people, spread=0.08)["interval"]
        plan = StudyPlan(0.85, 5, people or size["people_at_least"], 0.08)
        assert half_width(plan, size["items"]) <= 0.03
        fewer = StudyPlan(0.85, 5, size["people_at_least"] - 1, 0.08) if people is None else plan
        assert half_width(fewer, size["items"] - (people is not None)) > 0.03


def test_the_planned_study_detects_the_difference_and_shows_equality_with_the_wanted_power() -> None:
    """People and a model err independently, and no two items share an annotator."""
    rng = np.random.default_rng(1)
    items = power(difference=0.05, spread=0.0)["difference"]["items_if_people_do_not_matter"]
    equal = power(margin=0.05, spread=0.0)["equivalence"]["items_if_people_do_not_matter"]
    found = {"detected": 0, "equal": 0}
    for name, n, model in (("detected", items, 0.85), ("equal", equal, 0.9)):
        for _ in range(400):
            gap = (rng.random(n) < 0.9).astype(float) - (rng.random(n) < model)
            test = crossed(gap.mean(), of_mean(gap), (-1.0, 1.0))
            found[name] += test.p() <= 0.05 if name == "detected" else test.p_within(0.05) <= 0.05
    assert all(0.74 <= n / 400 <= 0.87 for n in found.values()), found


@given(st.integers(30, 3000), st.one_of(st.none(), st.integers(10, 200)))
def test_the_smallest_that_a_study_can_show_is_shown_by_it(items: int, people: int | None) -> None:
    plan = {"expected": 0.9, "people": people, "spread": 0.05}
    study = StudyPlan(0.9, 5, people, 0.05)
    margin, difference = smallest_margin(study, items), smallest_difference(study, items)
    for name, least in (("margin", margin), ("difference", difference)):
        if least is not None and people is not None:
            part = power(**plan, **{name: least})["equivalence" if name == "margin" else name]
            assert part["items"] <= items


def test_a_further_study_has_the_standard_error_that_the_tests_need() -> None:
    now = Crossed(0.012, 24, 1e-4, 1e-4, (0.0, 0.0), 1.0, 23, (-1.0, 1.0))
    equal, different = study_size(now, 1000, 0.05), study_size(now, 1000)
    assert equal is not None
    assert different is not None
    assert different.items > equal.items > 0
    variance = 1e-4 * 1000 / equal.items + 1e-4 * 24 / equal.annotators
    assert (0.05 - 0.012) / variance**0.5 == pytest.approx(1.66 + 1.29, rel=0.05)
    assert study_size(now, 1000, 0.01) is None


def test_control_items_separate_guessing_from_skilled_annotators() -> None:
    plan = controls()
    assert plan.excluded >= 0.95
    assert plan.retained >= 0.95
    assert plan.pass_mark == pass_mark(plan.controls, 0.5)
    for n, threshold in ((1, 0.01), (7, 0.5), (10, 0.7), (200, 1.0)):
        assert (pass_mark(n, threshold) - 1) / n < threshold <= pass_mark(n, threshold) / n
    alone, shared = (
        power(half_width=0.03, cluster_size=size, icc=0.3)["interval"]["items_if_people_do_not_matter"]
        for size in (1.0, 5.0)
    )
    assert shared / alone == pytest.approx(1 + 4 * 0.3, rel=0.02)
    assert plan.always_from >= plan.controls
    with pytest.raises(DataError, match="choose a threshold well between the two"):
        controls(threshold=0.2, chance=0.5, skilled=0.9)


def test_every_part_is_said_in_a_sentence_and_what_cannot_be_had_with_status_1() -> None:
    asked = ("--half-width", 0.04, "--items", 400, "--difference", 0.05, "--margin", 0.05, "--people", 300)
    said = merilo("power", *asked).out
    assert all(
        name in said for name in ("assumed", "interval", "precision", "difference", "equivalence", "controls")
    )
    for words, why in (
        (
            ("--expected", 0.8, "--half-width", 0.02, "--people", 6, "--spread", 0.15),
            "annotators, not items, are the limit",
        ),
        (("--half-width", 1e-9), "a half-width of 1e-09 needs more than 10000000 items"),
    ):
        outcome = merilo("power", *words)
        assert (outcome.status, why in outcome.complaint) == (1, True)


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
        ("--spread", "nan"),
        ("--chance", 0.9, "--skilled", 0.5),
        ("--exclude", 1),
        ("--level", 1),
        ("--power", 0),
        ("--cluster-size", 0.5),
        ("--icc", 1.5),
        ("--margin", "nan"),
        ("--margin", 0.1, "--discordant", 0),
    ],
    ids=str,
)
def test_impossible_wishes_are_wrong_usage(arguments: tuple[object, ...]) -> None:
    outcome = merilo("power", *arguments)
    assert outcome.status == 2
    assert arguments[-2] in outcome.complaint


def test_a_crowd_must_be_possible_and_may_be_large() -> None:
    with pytest.raises(UsageError, match="annotators are too few for"):
        StudyPlan(0.9, 5, 3)
    assert merilo("power", "--overlap", 100_000, "--items", 10**9, "--json", "-").status == 0
    assert consensus_accuracy(0.6, 100_001) == pytest.approx(1)
