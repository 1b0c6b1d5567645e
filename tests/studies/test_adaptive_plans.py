"""Adaptive overlap in the plan of a study: keys and faults, answers and pay, and what needs a fixed overlap."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from every import every

from merilo.datasets import dataset
from merilo.datasets.ready_items import examples
from merilo.errors import DataError, UsageError
from merilo.items import write_splits
from merilo.settings import AdaptiveOverlap, PlannedAnalysis
from merilo.studies.creation import CreatedStudy, create_studies
from merilo.studies.plan_checks import validate_study
from merilo.studies.plan_figures import ArmFigures, plan_figures, plan_page
from merilo.studies.plan_file import plan_text, read_plan_text
from merilo.studies.plan_types import Arm, ControlsPlan, DrawnSubset, Pay, SourceFile, Study, StudyWishes
from merilo.studies.study_folder import changes_since_freeze, freeze_plan, open_study

Create = Callable[..., CreatedStudy]

PLAN = Study(
    study="s",
    dataset="bps",
    source=SourceFile(file="f", sha256="0"),
    arms={"people": Arm(kind="basic", overlap=5, adaptive=AdaptiveOverlap(3, 5, 0.2), pay=Pay(per_page=0.5))},
    subset=DrawnSubset(size=1000, of=10_000),
    controls=ControlsPlan(),
    instruction={"ru": "ru.md", "en": "en.md"},
    baseline=PlannedAnalysis(metric="acc"),
)
TEXT = plan_text(PLAN, folder="study")


def people_of(plan: Study) -> ArmFigures:
    return plan_figures(plan, dataset("bps"), controls_there=50).arms["people"]


def with_adaptive(adaptive: AdaptiveOverlap | None, overlap: int = 5) -> Study:
    arm = replace(PLAN.arms["people"], adaptive=adaptive, overlap=overlap)
    return replace(PLAN, arms={"people": arm})


@every(
    "text, message",
    [
        ("{start: 1, limit: 5}", "start must be 2 or more and below limit, not start 1 and limit 5"),
        ("{start: 5, limit: 5}", "start must be 2 or more and below limit, not start 5 and limit 5"),
        (
            "{start: 3, limit: 7}",
            "adaptive.limit is 7, but overlap is 5: both say how many people answer an item at most",
        ),
        ("{start: 3, limit: 5, fixed_share: 2}", "fixed_share must be a share from 0 to 1, not 2"),
        ("{start: 3, limit: 5, share: 0.1}", "share: is not a key of the plan; did you mean 'fixed_share'?"),
        ("{start: three, limit: 5}", "arms.people.adaptive.start: must be a whole number"),
        ("3", "arms.people.adaptive: must be"),
    ],
)
def test_a_fault_is_named_with_its_key(tmp_path: Path, text: str, message: str) -> None:
    edited = TEXT.replace("{start: 3, limit: 5, fixed_share: 0.2}", text)
    (tmp_path / "study.yaml").write_text(edited, encoding="utf-8")
    (fault,) = read_plan_text(tmp_path)[1]
    assert message in str(fault)
    assert str(fault).startswith("study.yaml, line ")


def test_experts_need_a_fixed_overlap() -> None:
    with pytest.raises(ValueError, match="experts are compared with each other on the same items"):
        Arm(kind="expert", overlap=5, adaptive=AdaptiveOverlap())
    with pytest.raises(ValueError, match="needs a fixed overlap"):
        Arm(kind="untrained", overlap=5, skip_own=True, adaptive=AdaptiveOverlap())


def test_answers_and_pay_are_given_at_least_as_expected_and_at_most() -> None:
    people = people_of(PLAN)
    assert people.least_answers == 1000 * 3 + 200 * 2
    assert people.most_answers == 5000
    assert people.least_answers < people.answers < people.most_answers
    assert people.least_pay is not None
    assert people.pay is not None
    assert people.most_pay is not None
    assert people.least_pay < people.pay < people.most_pay
    fixed = people_of(with_adaptive(None))
    assert (fixed.least_answers, fixed.answers, fixed.most_answers) == (5000, 5000, 5000)
    assert fixed.least_pay == fixed.pay == fixed.most_pay == people.most_pay


def test_the_plan_s_page_names_the_range() -> None:
    figures = plan_figures(PLAN, dataset("bps"), controls_there=50)
    page = plan_page(PLAN, figures, ())
    assert "| overlap | 3 to 5, adaptive |" in page
    assert f"| answers to items | {figures.arms['people'].answers} (3400 to 5000) |" in page


def test_a_limit_that_can_outvote_the_first_people_is_warned_of() -> None:
    notes = plan_figures(with_adaptive(AdaptiveOverlap(3, 7), 7), dataset("bps"), controls_there=50).notes
    assert any("3 equal answers are not a majority of 7" in note and "at most 5" in note for note in notes)
    assert not any(
        "majority of 5" in note for note in plan_figures(PLAN, dataset("bps"), controls_there=50).notes
    )


def test_a_study_is_created_with_adaptive_overlap_and_is_valid(
    create: Create, lcs_file: Path, tmp_path: Path
) -> None:
    create_studies(lcs_file, tmp_path / "s", StudyWishes(dataset="lcs", adaptive="3:5"))
    plan = open_study(tmp_path / "s").plan
    assert (plan.arms["people"].overlap, plan.arms["people"].adaptive) == (5, AdaptiveOverlap(3, 5, 0.1))
    check = validate_study(tmp_path / "s")
    assert check.valid, check.problems
    assert check.figures is not None
    people = check.figures.arms["people"]
    assert people.least_answers < people.answers < people.most_answers
    freeze_plan(open_study(tmp_path / "s"), day="2026-01-12")
    edited(tmp_path / "s", "start: 3", "start: 4")
    (change,) = changes_since_freeze(tmp_path / "s")
    assert (change.what, change.decision) == ("arms.people.adaptive.start", True)
    create_studies(lcs_file, tmp_path / "t", StudyWishes(dataset="lcs", adaptive="3:7:0.2"))
    assert open_study(tmp_path / "t").plan.arms["people"].overlap == 7


@every("adaptive, overlap", [("3:5:0.1:4", 5), ("3", 5), ("3:7", 6)])
def test_wishes_that_contradict_each_other_are_refused(adaptive: str, overlap: int) -> None:
    with pytest.raises(UsageError):
        StudyWishes(adaptive=adaptive, overlap=overlap)


@every("name, reason", [("rutie", "turns of dialogues"), ("use", "whole variants of the exam")])
def test_datasets_that_a_person_answers_as_a_whole_need_a_fixed_overlap(
    tmp_path: Path, name: str, reason: str
) -> None:
    path = tmp_path / f"{name}.json"
    write_splits(path, list(examples(dataset(name)).values()))
    with pytest.raises(DataError, match=reason):
        create_studies(path, tmp_path / f"{name}-a", StudyWishes(dataset=name, adaptive="3:5"))
    create_studies(path, tmp_path / f"{name}-b", StudyWishes(dataset=name))
    edited(tmp_path / f"{name}-b", "adaptive: null", "adaptive: {start: 3, limit: 5}")
    (problem,) = validate_study(tmp_path / f"{name}-b").problems
    assert "arms.people.adaptive: must be null" in str(problem)
    assert reason in str(problem)


def edited(folder: Path, old: str, new: str) -> None:
    text = (folder / "study.yaml").read_text(encoding="utf-8")
    assert old in text
    (folder / "study.yaml").write_text(text.replace(old, new, 1), encoding="utf-8")


def test_more_votes_than_the_first_people_have_are_a_fault(lcs_file: Path, tmp_path: Path) -> None:
    create_studies(lcs_file, tmp_path / "s", StudyWishes(dataset="lcs", adaptive="3:5"))
    edited(tmp_path / "s", "min_votes: majority", "min_votes: 4")
    (problem,) = validate_study(tmp_path / "s").problems
    assert (
        "baseline.min_votes: is 4, but an item on which the first 3 people agree gets no further answers"
        in str(problem)
    )
