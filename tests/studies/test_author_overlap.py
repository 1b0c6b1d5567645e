"""Experts who wrote the items and skip their own: whether they are enough for the overlap."""

from dataclasses import replace

import pytest

from merilo.items import Item
from merilo.settings import PlannedAnalysis
from merilo.studies.plan_checks import overlap_shortfalls
from merilo.studies.plan_types import Arm, DrawnSubset, SourceFile, Study


def plan(arm: Arm) -> Study:
    return Study(
        study="s",
        dataset="bps",
        languages=("ru",),
        instruction={"ru": "instruction.ru.md"},
        seed=0,
        source=SourceFile(file="x.json", sha256="0" * 64, split="test"),
        arms={"experts": arm},
        subset=DrawnSubset(size=4, of=4, all=True, method="all"),
        baseline=PlannedAnalysis(),
    )


def items(*authors: object) -> list[Item]:
    return [
        Item(n, "", "", "1", {"id": n, "authors": one} if one else {"id": n}) for n, one in enumerate(authors)
    ]


EXPERTS = Arm(kind="expert", overlap=3, skip_own=True)


def test_as_many_authors_as_the_overlap_cannot_reach_it() -> None:
    (told,) = overlap_shortfalls(plan(EXPERTS), items("ann", "bob", "eve", "ann"))
    assert told.startswith(
        "experts: the items name 3 authors in 'authors', and an item's own authors skip it, so 4 of 4 items"
    )
    assert "set arms.experts.overlap to 2" in told


def test_one_more_expert_than_the_overlap_is_enough_for_items_of_one_author() -> None:
    assert not overlap_shortfalls(plan(EXPERTS), items("ann", "bob", "eve", "dan"))
    (told,) = overlap_shortfalls(plan(EXPERTS), items(["ann", "bob"], "bob", "eve", "dan"))
    assert "so 1 of 4 items get fewer answers than the overlap 3 (the fewest: 2)" in told


@pytest.mark.parametrize(("people", "enough"), [(3, False), (4, True), (None, True)])
def test_without_named_authors_the_planned_number_of_experts_counts(
    people: int | None, *, enough: bool
) -> None:
    found = overlap_shortfalls(plan(replace(EXPERTS, people=people)), items(None, None))
    assert (not found) == enough


def test_people_who_wrote_no_items_are_never_short() -> None:
    assert not overlap_shortfalls(plan(Arm(kind="basic", overlap=9)), items("ann", "bob"))
