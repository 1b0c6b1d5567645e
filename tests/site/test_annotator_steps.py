"""A person's steps through a study: admission, training, items, stopping, dialogues and experts' own items."""

from collections.abc import Callable
from dataclasses import replace

import pytest
from every import every
from sqlalchemy import Connection, func, select

from merilo.errors import DataError, InputError, UsageError
from merilo.items import Item
from merilo.site.annotator_steps import (
    Participant,
    ShownTask,
    answer_training,
    consent,
    most_tasks,
    next_task,
    next_training,
    person_of,
    read_instruction,
    save_answer,
    training_answer,
)
from merilo.site.database import ServerClock, cookie_key, latest_time
from merilo.site.people_access import admit_from_platform, admit_invited, new_invitation, platform_id
from merilo.site.schema import INVITATION, PERSON, RESPONSE
from merilo.site.served_study import ServedStudy, load_study, register
from merilo.studies.study_folder import StudyFolder

Frozen = Callable[..., StudyFolder]


def served(connection: Connection, folder: StudyFolder, arm: str = "people", **rules: object) -> ServedStudy:
    study = register(connection, load_study(folder, arm), 1)
    return replace(study, rules=replace(study.rules, **rules))  # type: ignore[arg-type]


def come_in(connection: Connection, study: ServedStudy, name: str = "a") -> Participant:
    admitted = admit_from_platform(connection, study, "platform", name, "ru", now=2)
    person = person_of(connection, study, admitted.person)
    assert person is not None
    consent(connection, study, person)
    read_instruction(connection, study, person)
    return again(connection, study, person)


def again(connection: Connection, study: ServedStudy, person: Participant) -> Participant:
    found = person_of(connection, study, person.id)
    assert found is not None
    return found


def test_a_study_that_is_not_frozen_or_was_changed_is_refused(frozen: Frozen) -> None:
    folder = frozen()
    load_study(folder, "people")
    (folder.path / "items.jsonl").write_text("", encoding="utf-8")
    with pytest.raises(DataError, match=r"changed after the freeze: items\.jsonl"):
        load_study(folder, "people")
    (folder.path / "frozen.json").unlink()
    with pytest.raises(InputError, match="is not frozen"):
        load_study(folder, "people")


def test_a_database_with_answers_to_another_version_of_the_study_is_refused(
    connection: Connection, frozen: Frozen
) -> None:
    study = load_study(frozen(), "people")
    first = register(connection, study, 1)
    assert register(connection, study, 2).rules.study == first.rules.study
    with pytest.raises(DataError, match="other items, overlap"):
        register(connection, replace(study, rules=replace(study.rules, min_accuracy=0.9)), 3)


def test_tasks_are_numbered_tests_then_controls_then_training(frozen: Frozen) -> None:
    training = [Item("t1", "1 + {inputs} = ?", "1", "1", {"id": "t1"})]
    study = load_study(frozen(training=training), "people")
    kinds = [task.kind for task in study.tasks]
    assert kinds == sorted(kinds, key=["test", "control", "training"].index)
    assert [study.tasks[number].kind for number in study.training] == ["training"]
    assert all(study.tasks[number].known is None for number in range(study.rules.tests))


def test_the_same_id_and_the_same_link_are_the_same_person(connection: Connection, frozen: Frozen) -> None:
    study = served(connection, frozen())
    assert come_in(connection, study, "x").id == come_in(connection, study, "x").id
    code = new_invitation(connection, study, None, 3).code
    studies = {study.rules.study: study}
    first, second = (
        admit_invited(connection, studies, typed, "ru", 4) for typed in (code, code.lower().replace("-", " "))
    )
    assert first is not None
    assert first == second
    assert admit_invited(connection, studies, "AAAAA-AAAAA", "ru", 5) is None
    assert code not in str(connection.execute(select(INVITATION)).all())


def test_the_ids_of_platforms_are_read_from_the_address() -> None:
    assert platform_id({"workerId": "A1", "assignmentId": "3X"}) == ("mturk", "A1")
    assert platform_id({"workerId": "A1", "assignmentId": "ASSIGNMENT_ID_NOT_AVAILABLE"}) is None
    assert platform_id({"worker_id": " 7 "}) == ("platform", "7")
    assert platform_id({"worker_id": " "}) is None


@every("right, stage", [(2, "working"), (0, "refused")])
def test_training_admits_by_its_threshold(
    right: int, stage: str, connection: Connection, frozen: Frozen
) -> None:
    training = [Item(f"t{n}", "{inputs}?", "( )", "1", {"id": f"t{n}", "hint": "Count."}) for n in range(2)]
    study = served(connection, frozen(training=training))
    person = come_in(connection, study, stage)
    for number in range(2):
        assert person.stage == "training"
        shown = next_training(connection, study, person, 3)
        assert shown == next_training(connection, study, person, 4), "two tabs show the same item"
        assert shown is not None
        answer = "1" if number < right else "0"
        assert answer_training(connection, study, person, shown.number, answer, now=5) == "saved"
        assert answer_training(connection, study, person, shown.number, "1", now=6) == "repeated"
        said = training_answer(connection, study, person, shown.number)
        assert said == (answer, number < right)
        person = again(connection, study, person)
    assert person.stage == stage
    assert next_training(connection, study, person, 7) is None


def test_a_person_below_the_threshold_of_control_items_is_stopped_and_their_items_go_back(
    connection: Connection, frozen: Frozen
) -> None:
    study = served(connection, frozen(), stop_after=2, every=2)
    person, now = come_in(connection, study), 10
    while person.stage == "working":
        now += 1
        shown = next_task(connection, study, person, now)
        assert isinstance(shown, ShownTask)
        known = study.tasks[shown.number].known
        answer = "1" if known != "1" else "0"
        assert save_answer(connection, study, person, shown.number, answer, now=now) == "saved"
        person = again(connection, study, person)
    assert (person.stage, person.controls, person.controls_right) == ("stopped", 2, 0)
    assert connection.scalar(select(func.count()).where(RESPONSE.c.counts)) == 0
    assert connection.scalar(select(PERSON.c.reason)) == "0 of 2 control items right"


def test_a_skipped_control_item_is_not_judged(connection: Connection, frozen: Frozen) -> None:
    study = served(connection, frozen(), every=2)
    person = come_in(connection, study)
    for now in range(10, 12):
        shown = next_task(connection, study, person, now)
        assert isinstance(shown, ShownTask)
        assert save_answer(connection, study, person, shown.number, "skip", now=now, skipped=True) == "saved"
    kinds = [study.tasks[task].kind for task in connection.scalars(select(RESPONSE.c.task))]
    assert sorted(kinds) == ["control", "test"]
    assert again(connection, study, person).controls == 0


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


def test_an_expert_never_gets_an_item_that_they_wrote(connection: Connection, frozen: Frozen) -> None:
    study = served(connection, frozen(experts=True), "experts")
    wrote = tuple(replace(task, authors=("Anna",)) if n < 4 else task for n, task in enumerate(study.tasks))
    study = replace(study, tasks=wrote)
    with pytest.raises(UsageError, match="invited by name"):
        new_invitation(connection, study, None, 2)
    code = new_invitation(connection, study, "Anna", 2).code
    admitted = admit_invited(connection, {study.rules.study: study}, code, "ru", 3)
    assert admitted is not None
    person = person_of(connection, study, admitted.person)
    assert person is not None
    seen, now = set(), 10
    while isinstance(shown := next_task(connection, study, person, now), ShownTask):
        assert shown.left == 60.0
        seen.add(shown.number)
        save_answer(connection, study, person, shown.number, "1", now=now + 100)
        now += 1000
        person = again(connection, study, person)
    assert not seen & set(range(4))
    assert seen >= set(range(4, study.rules.tests)) or person.stage == "stopped"
    newer = new_invitation(connection, study, "Anna", 4).code
    assert admit_invited(connection, {study.rules.study: study}, code, "ru", 5) is None, (
        "the old link is revoked"
    )
    assert admit_invited(connection, {study.rules.study: study}, newer, "ru", 5) == admitted


def test_a_dialogue_shows_the_earlier_turns_with_the_persons_own_answers(
    connection: Connection, frozen: Frozen
) -> None:
    study = served(connection, frozen("rutie"))
    person = come_in(connection, study)
    first = next_task(connection, study, person, 10)
    assert isinstance(first, ShownTask)
    assert first.earlier == ()
    save_answer(connection, study, person, first.number, "2", now=11)
    second = next_task(connection, study, person, 12)
    assert isinstance(second, ShownTask)
    assert second.earlier == ((first.number, "2"),)
    assert study.tasks[second.number].dialogue == study.tasks[first.number].dialogue


def test_people_from_platforms_get_the_plans_items_per_person(connection: Connection, frozen: Frozen) -> None:
    study = served(connection, frozen(), every=5)
    assert most_tasks(study) == 63  # 50 items, and one task in five is a control item


def test_the_clock_never_starts_before_what_is_stored(connection: Connection, frozen: Frozen) -> None:
    far = 4_102_444_800_000
    study = served(connection, frozen())
    admit_from_platform(connection, study, "platform", "late", "ru", now=far)
    assert latest_time(connection) == far
    clock = ServerClock(latest_time(connection))
    moments = [clock.now() for _ in range(100)]
    assert moments == sorted(moments)
    assert moments[0] >= far


def test_the_key_of_the_cookies_is_kept(connection: Connection) -> None:
    assert cookie_key(connection) == cookie_key(connection)
