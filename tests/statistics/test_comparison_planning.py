"""The planned power of comparisons with people against simulated studies and SciPy."""

import numpy as np
import pytest
from command import merilo
from scipy import stats

from merilo.errors import DataError, UsageError
from merilo.people.uncertainty.two_way import influences, shared_part
from merilo.people.votes import Votes
from merilo.statistics.comparison_planning import (
    items_for_difference,
    items_for_margin,
    power_of_difference,
    power_of_equivalence,
)
from merilo.statistics.crossed_difference import CrossedDifference, crossed_difference
from merilo.statistics.power import StudyPlan, independent_discordance


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


def test_without_annotators_the_power_is_the_normal_one() -> None:
    plan, m, d, n = StudyPlan(0.9), 0.22, 0.05, 20_000
    by_hand = stats.norm.sf((stats.norm.ppf(0.995) * np.sqrt(m / n) - 0.01) / np.sqrt((m - 0.01**2) / n))
    assert power_of_difference(plan, n, m, 0.01, level=0.99) == pytest.approx(by_hand, abs=0.01)
    assert power_of_difference(plan, n, m, d) > 0.999
    assert power_of_equivalence(plan, n, m, 0.05) > 0.999
    assert power_of_equivalence(plan, 100, m, 0.05) == 0


def test_with_too_few_annotators_the_message_names_the_limit_and_the_missing_annotators() -> None:
    outcome = merilo("power", "--expected", 0.9, "--difference", 0.05, "--people", 24)
    assert outcome.status == 1
    assert "annotators, not items, are the limit" in outcome.complaint
    plan = StudyPlan(0.9)
    size = items_for_difference(plan, independent_discordance(0.9, 0.05), 0.05)
    assert f"at least {size.people} annotators are needed ({size.people - 24} more)" in outcome.complaint
    enough = StudyPlan(0.9, 5, size.people)
    m = independent_discordance(0.9, 0.05)
    assert power_of_difference(enough, size.items, m, 0.05) >= 0.8
    assert power_of_difference(StudyPlan(0.9, 5, size.people - 1), size.items, m, 0.05) < 0.8


def test_the_command_plans_for_a_margin() -> None:
    found = merilo("power", "--margin", 0.04, "--discordant", 0.1, "--people", 300, "--json", "-").json
    size = items_for_margin(StudyPlan(0.9, people=300), 0.1, 0.04)
    assert found["equivalence"]["items"] == size.items > size.items_alone
    said = merilo("power", "--margin", 0.04, "--discordant", 0.1, "--people", 300).out
    assert "at human level" in " ".join(said.replace("│", " ").split())


@pytest.mark.parametrize("margin", [0, 1, -0.1, 2, "nan"])
def test_a_margin_outside_0_to_1_is_wrong_usage(margin: object) -> None:
    outcome = merilo("power", "--margin", margin)
    assert outcome.status == 2
    assert "--margin takes a difference between 0 and 1" in outcome.complaint


def test_impossible_plans_are_refused() -> None:
    with pytest.raises(UsageError, match="must be at least the difference"):
        items_for_difference(StudyPlan(0.9), 0.01, 0.05)
    with pytest.raises(DataError, match="needs more than"):
        items_for_difference(StudyPlan(0.9), 0.2, 1e-5)
    with pytest.raises(UsageError, match="above 0 and at most 1"):
        items_for_margin(StudyPlan(0.9), 0.0, 0.05)
