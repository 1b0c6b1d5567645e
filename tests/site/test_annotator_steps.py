"""A person's steps through a study: admission, training, items, stopping, dialogues and experts' own items."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from every import every
from site_people import come_in, given, save, served

from merilo.errors import DataError, UsageError
from merilo.items import Item
from merilo.site.annotator_steps import (
    SentAnswer,
    ShownTask,
    consent,
    most_tasks,
    next_task,
    next_training,
    read_instruction,
    save_answers,
    training_answer,
)
from merilo.site.journal import Journal, database_url
from merilo.site.people_access import admit_invited, new_invitation, platform_id
from merilo.site.served_study import load_study
from merilo.site.state import State
from merilo.studies.study_folder import StudyFolder

Frozen = Callable[..., StudyFolder]


def test_a_study_that_is_not_frozen_or_was_changed_is_refused(frozen: Frozen) -> None:
    folder = frozen()
    load_study(folder, "people")
    (folder.path / "items.jsonl").write_text("", encoding="utf-8")
    with pytest.raises(DataError, match=r"changed after the freeze: items\.jsonl"):
        load_study(folder, "people")
    (folder.path / "frozen.json").unlink()
    with pytest.raises(DataError, match="is not frozen"):
        load_study(folder, "people")


def test_a_log_with_answers_to_another_version_of_the_study_is_refused(
    frozen: Frozen, tmp_path: Path
) -> None:
    state, journal = served(frozen()), Journal(database_url(tmp_path, None))
    state.begin(1)
    journal.take()
    journal.append(state.unwritten())
    assert State.of(state.study, journal).content == state.study.content
    changed = replace(state.study, rules=replace(state.rules, min_accuracy=0.9))
    with pytest.raises(DataError, match="other items, overlap"):
        State.of(changed, journal)
    journal.close()


def test_tasks_are_numbered_tests_then_controls_then_training(frozen: Frozen) -> None:
    training = [Item("t1", "1 + {inputs} = ?", "1", "1", {"id": "t1"})]
    study = load_study(frozen(training=training), "people")
    kinds = [task.kind for task in study.tasks]
    assert kinds == sorted(kinds, key=["test", "control", "training"].index)
    assert [study.tasks[number].kind for number in study.training] == ["training"]
    assert all(study.tasks[number].known is None for number in range(study.rules.tests))


def test_the_same_id_and_the_same_link_are_the_same_person(frozen: Frozen) -> None:
    state = served(frozen())
    assert come_in(state, "x") is come_in(state, "x")
    code, is_new = new_invitation(state, None, 3, actor="author")
    assert is_new
    first, second = (
        admit_invited([state], typed, "ru", 4) for typed in (code, code.lower().replace("-", " "))
    )
    assert first is not None
    assert first == second
    assert admit_invited([state], "AAAAA-AAAAA", "ru", 5) is None
    assert code not in str(state.unwritten()), "the log has only the hash"


def test_the_ids_of_platforms_are_read_from_the_address() -> None:
    assert platform_id({"workerId": "A1", "assignmentId": "3X"}) == ("mturk", "A1")
    assert platform_id({"workerId": "A1", "assignmentId": "ASSIGNMENT_ID_NOT_AVAILABLE"}) is None
    assert platform_id({"worker_id": " 7 "}) == ("platform", "7")
    assert platform_id({"worker_id": " "}) is None


@every("right, stage", [(2, "working"), (0, "refused")])
def test_training_admits_by_its_threshold(right: int, stage: str, frozen: Frozen) -> None:
    training = [Item(f"t{n}", "{inputs}?", "( )", "1", {"id": f"t{n}", "hint": "Count."}) for n in range(2)]
    state = served(frozen(folder=stage, training=training))
    person = come_in(state, stage)
    for number in range(2):
        assert person.stage == "training"
        shown = next_training(state, person, 3)
        assert shown == next_training(state, person, 4), "two tabs show the same item"
        assert shown is not None
        answer = "1" if number < right else "0"
        assert save(state, person, shown.number, answer, 5) == "saved"
        assert save(state, person, shown.number, "1", 6) == "repeated"
        assert training_answer(state, person, shown.number) == (answer, number < right)
    assert person.stage == stage
    assert next_training(state, person, 7) is None


def test_a_person_below_the_threshold_of_control_items_is_stopped_and_their_items_go_back(
    frozen: Frozen,
) -> None:
    state = served(frozen(), stop_after=2, every=2)
    person, now = come_in(state), 10
    while person.stage == "working":
        now += 1
        shown = given(state, person, now)
        answer = "1" if state.study.tasks[shown.number].known != "1" else "0"
        assert save(state, person, shown.number, answer, now) == "saved"
    assert (person.stage, person.controls, person.controls_right) == ("stopped", 2, 0)
    assert not any(held.counts for held in person.tasks.values())
    assert person.reason == "0 of 2 control items right"


def test_a_skipped_control_item_is_not_judged(frozen: Frozen) -> None:
    state = served(frozen(), every=2)
    person = come_in(state)
    for now in range(10, 12):
        shown = given(state, person, now)
        assert save(state, person, shown.number, "", now, skipped=True) == "saved"
    assert sorted(state.study.tasks[task].kind for task in person.tasks) == ["control", "test"]
    assert person.controls == 0


def test_answers_to_control_items_are_compared_as_the_metric_compares_them(frozen: Frozen) -> None:
    study = load_study(frozen("chegeka"), "people")
    number = study.rules.tests
    known = study.tasks[number].known or ""
    assert study.is_right(number, f"  {known.upper()}! ")
    assert not study.is_right(number, "нечто иное")
    with pytest.raises(ValueError, match="no known answer"):
        study.is_right(0, known)


def test_numbers_are_compared_by_value(frozen: Frozen) -> None:
    study = load_study(frozen("simplear"), "people")
    number = study.rules.tests
    assert study.is_right(number, f"00{study.tasks[number].known}")


def test_an_expert_never_gets_an_item_that_they_wrote(frozen: Frozen) -> None:
    study = load_study(frozen(experts=True), "experts")
    wrote = tuple(
        replace(task, item=replace(task.item, meta={"author": "Anna"}), author_field="author")
        if n < 4
        else task
        for n, task in enumerate(study.tasks)
    )
    state = State(replace(study, tasks=wrote))
    with pytest.raises(UsageError, match="invited by name"):
        new_invitation(state, None, 2, actor="author")
    code, _ = new_invitation(state, "Anna", 2, actor="author")
    admitted = admit_invited([state], code, "ru", 3)
    assert admitted is not None
    person = admitted.person
    consent(state, person, 4)
    read_instruction(state, person, 4)
    seen, now = set(), 10
    while isinstance(shown := next_task(state, person, now), ShownTask):
        assert shown.left == 60.0
        seen.add(shown.number)
        save(state, person, shown.number, "1", now + 100)
        now += 1000
    assert not seen & set(range(4))
    assert seen >= set(range(4, state.rules.tests)) or person.stage == "stopped"
    newer, _ = new_invitation(state, "Anna", 4, actor="author")
    assert admit_invited([state], code, "ru", 5) is None, "the old link is revoked"
    assert admit_invited([state], newer, "ru", 5).person is person  # type: ignore[union-attr]


def test_people_from_platforms_get_the_plans_items_per_person(frozen: Frozen) -> None:
    study = served(frozen(), every=5).study
    assert (study.arm.items_per_person, study.rules.tests) == (50, 8)
    assert most_tasks(study) == 10, "the items that there are; one task in five is a control item"


def test_a_task_whose_time_ran_out_is_no_part_of_the_most_tasks(frozen: Frozen) -> None:
    state = served(frozen(), time_limit=10.0, every=0)
    person, now = come_in(state), 10
    for _ in range(3):
        assert isinstance(next_task(state, person, now), ShownTask)
        now += 60_000
    assert [held.state for held in person.tasks.values()] == ["expired", "expired", "open"]
    limit = sum(held.state != "expired" for held in person.tasks.values())
    assert limit == 1, "only the task at hand counts"


def test_answers_that_come_again_take_no_part_of_the_time_of_a_page(frozen: Frozen) -> None:
    state = served(frozen(), on_screen=3, every=0)
    person = come_in(state)
    shown = given(state, person)
    first, *others = [task.number for task in (shown, *shown.beside)]
    save(state, person, first, "1", 60_010)
    page = [SentAnswer(number=number, answer="1") for number in (first, *others)]
    assert [*save_answers(state, person, page, 120_010).values()] == ["repeated", "saved", "saved"]
    assert [person.tasks[number].seconds for number in (first, *others)] == [60.0, 30.0, 30.0]
