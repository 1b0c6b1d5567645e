from dataclasses import replace
from math import ceil

import pytest

from merilo.datasets import dataset
from merilo.items import Item
from merilo.settings import PlannedAnalysis
from merilo.statistics.planning import power
from merilo.studies.plan import Arm, ControlsPlan, DrawnSubset, Pay, Plan, SourceFile
from merilo.studies.plan_checks import control_shortfalls, overlap_shortfalls
from merilo.studies.plan_figures import chance_of, plan_figures

PLAN = Plan(
    study="s",
    dataset="bps",
    source=SourceFile(file="f", sha256="0"),
    arms={
        "people": Arm(kind="basic", overlap=5, items_per_page=20, items_per_person=50, pay=Pay(per_page=0.5))
    },
    subset=DrawnSubset(size=1000, of=10_000),
    controls=ControlsPlan(),
    instruction={"ru": "ru.md", "en": "en.md"},
    baseline=PlannedAnalysis(metric="acc"),
)


def test_the_figures_of_a_thousand_items_by_hand() -> None:
    figures = plan_figures(PLAN, dataset("bps"), controls_there=50)
    people = figures.arms["people"]
    assert people.answers == 5000
    assert people.control_answers == ceil(5000 / 19)  # one task in 20
    assert people.pages == ceil((5000 + 264) / 20)
    assert people.people == 100
    assert people.hours == pytest.approx(5264 / 30)
    assert people.pay == pytest.approx(5264 * 0.5 / 20), "a task is a share of a page"
    assert people.hourly_pay == pytest.approx(0.5 / 20 * 30)


def test_pages_of_three_tasks_with_one_control_are_those_of_the_published_pools() -> None:
    controls = ControlsPlan(every=3)
    arms = {"people": replace(PLAN.arms["people"], items_per_page=3)}
    plan = replace(PLAN, subset=DrawnSubset(size=100, of=1000), controls=controls, arms=arms)
    people = plan_figures(plan, dataset("bps"), controls_there=34).arms["people"]
    assert (people.pages, people.control_answers) == (250, 250)  # bps: 750 rows, 250 of them controls


def test_training_takes_time_and_an_undecided_pay_is_said() -> None:
    arms = {"people": replace(PLAN.arms["people"], pay=Pay())}
    figures = plan_figures(replace(PLAN, arms=arms), dataset("bps"), controls_there=50, training_there=10)
    assert figures.arms["people"].hours == pytest.approx((5264 + 10 * 100) / 30)
    assert figures.arms["people"].pay is None
    assert "people: the pay is not decided (arms.people.pay.per_page)" in figures.notes


def test_a_pay_of_nothing_or_of_hundreds_an_hour_is_one_question() -> None:
    def asked(**pay: tuple[float, str]) -> list[str]:
        arms = {
            name: replace(PLAN.arms["people"], pay=Pay(per_page=amount, currency=currency))
            for name, (amount, currency) in pay.items()
        }
        notes = plan_figures(replace(PLAN, arms=arms), dataset("bps"), controls_there=53).notes
        return [note for note in notes if "pay" in note]

    assert asked(people=(20.0, "USD"), others=(200.0, "RUB"), more=(5000.0, "JPY")) == []
    assert asked(people=(0.0, "USD"), others=(200.0, "USD")) == [
        "is the pay of an hour right? people earn nothing, others earn 300.00 USD (pay.per_page, items_per_page, "
        "items_per_hour)"
    ]


def test_both_arms_of_an_expert_test_have_their_own_pay() -> None:
    arms = {
        "people": replace(PLAN.arms["people"], kind="untrained"),
        "experts": Arm(kind="expert", overlap=3, pay=Pay(per_page=10.0, currency="EUR"), skip_own=True),
    }
    figures = plan_figures(replace(PLAN, arms=arms), dataset("rummlu"), controls_there=50)
    assert figures.arms["experts"].answers == 3000
    assert figures.arms["experts"].currency == "EUR"
    assert figures.arms["experts"].pay == pytest.approx(10.0 * (3000 + ceil(3000 / 19)) / 20)


def test_nobody_answers_a_control_item_twice_and_is_paid_for_more_than_there_are() -> None:
    arm = replace(PLAN.arms["people"], pay=Pay(per_page=1.5))
    plan = replace(
        PLAN, arms={"people": arm}, subset=DrawnSubset(size=40, of=40), controls=ControlsPlan(every=5)
    )
    figures = plan_figures(plan, dataset("rummlu"), controls_there=6)
    people = figures.arms["people"]
    assert (people.people, people.tasks_per_person, people.control_answers) == (5, 46, 30)
    assert people.pay == pytest.approx(17.25)
    assert any("there are 6 of 10 control items (20% of the tasks)" in note for note in figures.notes)


def test_metrics_without_a_formula_get_no_interval() -> None:
    plan = replace(PLAN, baseline=PlannedAnalysis(metric="j"))
    figures = plan_figures(plan, dataset("rudetox"), controls_there=50)
    assert figures.arms["people"].half_width is None
    assert "no interval is expected for j: only shares of right answers have a formula" in figures.notes


def test_the_chance_of_a_guess() -> None:
    assert chance_of(dataset("rummlu")) == 0.25
    assert chance_of(dataset("ruethics")) == 0.5
    assert 0 < chance_of(dataset("multiq")) < 0.05


@pytest.mark.parametrize(
    ("people", "size", "sentence", "can_tell"),
    [
        (
            3,
            40,
            "with 3 people no model can be told from people (at least 10 are needed); with 40 items, equality",
            False,
        ),
        (
            12,
            4,
            "with 4 items and 12 people not even a model that guesses can be told from people; equality can",
            False,
        ),
        (
            100,
            1000,
            "with 1000 items and 100 people a model can be told from people from a difference of 0.05 on",
            True,
        ),
    ],
)
def test_the_plan_says_whether_a_model_can_be_told_from_people(
    people: int, size: int, sentence: str, *, can_tell: bool
) -> None:
    arms = {"people": replace(PLAN.arms["people"], overlap=min(people, 5), people=people)}
    figures = plan_figures(
        replace(PLAN, arms=arms, subset=DrawnSubset(size=size, of=10_000)), dataset("bps"), controls_there=50
    )
    assert figures.verdicts[0].startswith(f"people: {sentence}")
    assert figures.without_verdict == (() if can_tell else figures.verdicts)


def test_the_plan_and_power_use_one_computation() -> None:
    precise = plan_figures(PLAN, dataset("bps"), controls_there=50).arms["people"]
    found = power(items=1000, people=100)["precision"]
    assert isinstance(found, dict)
    assert found["half_width"] == pytest.approx(precise.half_width, abs=1e-6)
    assert (found["detectable_difference"], found["equality_within"]) == (
        precise.detectable,
        precise.equality_within,
    )


def experts_plan(arm: Arm) -> Plan:
    return replace(PLAN, arms={"experts": arm}, subset=DrawnSubset(size=4, of=4, method="all"))


def items(*authors: object) -> list[Item]:
    return [
        Item(n, "", "", "1", {"id": n, "authors": one} if one else {"id": n}) for n, one in enumerate(authors)
    ]


EXPERTS = Arm(kind="expert", overlap=3, skip_own=True)


def test_items_whose_own_authors_leave_too_few_experts_are_told() -> None:
    (told,) = overlap_shortfalls(experts_plan(EXPERTS), items("ann", "bob", "eve", "ann"))
    assert told.startswith(
        "experts: the items name 3 authors in 'authors', and an item's own authors skip it, so 4 of 4 items"
    )
    assert "set arms.experts.overlap to 2" in told
    assert not [*overlap_shortfalls(experts_plan(EXPERTS), items("ann", "bob", "eve", "dan"))]
    (told,) = overlap_shortfalls(experts_plan(EXPERTS), items(["ann", "bob"], "bob", "eve", "dan"))
    assert "so 1 of 4 items get fewer answers than the overlap 3 (the fewest: 2)" in told


@pytest.mark.parametrize(("people", "enough"), [(3, False), (4, True), (None, True)])
def test_without_named_authors_the_planned_number_of_experts_counts(
    people: int | None, *, enough: bool
) -> None:
    found = [*overlap_shortfalls(experts_plan(replace(EXPERTS, people=people)), items(None, None))]
    assert (not found) == enough


def test_a_domain_with_too_few_control_items_is_named() -> None:
    def of_domains(**counts: int) -> list[Item]:
        return [
            Item(f"{domain}-{n}", "", "", "1", {"domain": domain})
            for domain, count in counts.items()
            for n in range(count)
        ]

    plan = experts_plan(replace(EXPERTS, domain="domain"))
    test = of_domains(law=100, art=100)
    (told,) = control_shortfalls(plan, test, of_domains(law=5, art=1))
    assert told.startswith(
        "experts: the domain 'art' has 1 of the 5 control items that its 100 items need: add items"
    )
    assert not [*control_shortfalls(experts_plan(EXPERTS), test, of_domains(law=1))]
