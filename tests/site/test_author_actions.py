"""Pausing, inviting, excluding, reinstating and erasing people, and the audit log of it."""

import csv
import io
import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from random import Random

import pytest
from sqlalchemy import Connection, Engine, func, select

from merilo.errors import UsageError
from merilo.items import Item
from merilo.site.annotator_steps import (
    Participant,
    ShownTask,
    answer_training,
    consent,
    next_task,
    next_training,
    person_of,
    read_instruction,
    save_answer,
)
from merilo.site.audit_log import log_table
from merilo.site.author_actions import AuthorActions, Change, comments_table, open_invitations
from merilo.site.database import database_url, drop_remnants, open_database, writing
from merilo.site.people_access import NewPeople, admit_from_platform, admit_invited
from merilo.site.schema import EVENT, INVITATION, PERSON, RESPONSE, TASK
from merilo.site.served_study import ServedStudy, load_study, register
from merilo.site.serving import collect_site, erase_from_site, exclude_from_site, reinstate_on_site
from merilo.studies.study_folder import StudyFolder

Frozen = Callable[..., StudyFolder]


def by_author(connection: Connection, study: ServedStudy) -> AuthorActions:
    return AuthorActions(connection, study, 9, "author")


class People(NewPeople):
    """People whose orders follow from their names: a random order now and then leaves a person without a task."""

    def __init__(self, name: str) -> None:
        self._random = Random(name)

    def seed(self) -> int:
        return self._random.getrandbits(62)


def served(connection: Connection, folder: StudyFolder, arm: str = "people", **rules: object) -> ServedStudy:
    study = register(connection, load_study(folder, arm), 1)
    return replace(study, rules=replace(study.rules, **rules))  # type: ignore[arg-type]


def come_in(connection: Connection, study: ServedStudy, name: str = "worker-77") -> Participant:
    admitted = admit_from_platform(connection, study, "platform", name, "ru", now=2, newcomers=People(name))
    assert admitted is not None
    person = person_of(connection, study, admitted.person)
    assert person is not None
    consent(connection, study, person)
    read_instruction(connection, study, person)
    return again(connection, study, person)


def again(connection: Connection, study: ServedStudy, person: Participant) -> Participant:
    found = person_of(connection, study, person.id)
    assert found is not None
    return found


def answer(connection: Connection, study: ServedStudy, person: Participant, times: int = 1, text: str = "1", comment: str | None = None) -> list[int]:  # fmt: skip
    """Answer the next tasks; the numbers of those that belong to the test."""
    tests = []
    for at in range(times):
        shown = next_task(connection, study, person, 10 + at)
        assert isinstance(shown, ShownTask)
        known = study.tasks[shown.number].known
        assert (
            save_answer(connection, study, person, shown.number, known or text, now=11 + at, comment=comment)
            == "saved"
        )
        person = again(connection, study, person)
        if shown.number < study.rules.tests:
            tests.append(shown.number)
    return tests


def name(connection: Connection, person: Participant) -> str:
    return str(connection.scalar(select(PERSON.c.pseudonym).where(PERSON.c.id == person.id)))


def logged(connection: Connection, study: ServedStudy) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(log_table(connection, study.rules.study))))


def places_fit(connection: Connection, study: ServedStudy) -> bool:
    """The allocation's invariant: open = needed - responses that count."""
    counted = (
        select(func.count())
        .select_from(RESPONSE)
        .where(RESPONSE.c.study == TASK.c.study, RESPONSE.c.task == TASK.c.number, RESPONSE.c.counts)
        .scalar_subquery()
    )
    query = select(TASK.c.number).where(
        TASK.c.study == study.rules.study, TASK.c.open != TASK.c.needed - counted
    )
    return not connection.scalars(query).all()


def test_an_excluded_person_gets_no_tasks_and_their_items_go_to_others(
    connection: Connection, frozen: Frozen
) -> None:
    study = served(connection, frozen())
    person = come_in(connection, study)
    done = answer(connection, study, person, 3)
    shown = next_task(connection, study, person, 20)
    assert isinstance(shown, ShownTask)
    held = len(done) + (shown.number < study.rules.tests)
    assert by_author(connection, study).exclude(name(connection, person), " too\nfast ") == Change(
        True, places=held
    )
    assert places_fit(connection, study)
    assert again(connection, study, person).stage == "excluded"
    late = save_answer(connection, study, person, shown.number, "1", now=21)
    assert late == "passed_on", "the open task was taken away"
    assert by_author(connection, study).exclude(name(connection, person), "again") == Change(False)
    (row,) = logged(connection, study)
    assert (row["what"], row["person"], row["reason"]) == ("excluded", name(connection, person), "too fast")
    assert json.loads(row["facts"]) == {"places": held}


@pytest.mark.parametrize("reason", ["", " \n", "x" * 1001])
def test_an_exclusion_needs_a_reason(reason: str, connection: Connection, frozen: Frozen) -> None:
    study = served(connection, frozen())
    person = come_in(connection, study)
    with pytest.raises(UsageError, match="needs a reason"):
        by_author(connection, study).exclude(name(connection, person), reason)
    assert again(connection, study, person).stage == "working"


def test_a_reinstated_person_counts_where_the_items_are_free_and_goes_on(
    connection: Connection, frozen: Frozen
) -> None:
    study = served(connection, frozen(overlap=1))
    first, second = come_in(connection, study, "1"), come_in(connection, study, "2")
    done = answer(connection, study, first, 4)
    by_author(connection, study).exclude(name(connection, first), "test")
    taken: set[int] = set()
    while not taken & set(done):
        taken |= set(answer(connection, study, second))
    back = by_author(connection, study).reinstate(name(connection, first))
    assert back is not None
    assert (back.answers, back.places) == (len(done) - 1, 1)
    assert places_fit(connection, study)
    assert answer(connection, study, again(connection, study, first), 2), "they go on"
    assert by_author(connection, study).reinstate(name(connection, first)) == Change(False)
    of_first = (
        RESPONSE.c.person == first.id,
        RESPONSE.c.state == "answered",
        RESPONSE.c.task < study.rules.tests,
    )
    counts = list(connection.scalars(select(RESPONSE.c.counts).where(*of_first)))
    assert len(counts) == sum(counts) + 1
    assert [one["what"] for one in logged(connection, study)] == ["excluded", "reinstated"]


def test_a_person_excluded_in_the_training_goes_on_with_the_same_item(
    connection: Connection, frozen: Frozen
) -> None:
    training = [Item(f"t{n}", "{inputs}?", "( )", "1", {"id": f"t{n}"}) for n in range(2)]
    study = served(connection, frozen(training=training))
    person = come_in(connection, study)
    shown = next_training(connection, study, person, 3)
    assert shown is not None
    by_author(connection, study).exclude(name(connection, person), "test")
    by_author(connection, study).reinstate(name(connection, person))
    person = again(connection, study, person)
    assert person.stage == "training"
    assert next_training(connection, study, person, 4) == shown
    assert answer_training(connection, study, person, shown.number, "1", now=5) == "saved"


def test_a_stopped_person_who_was_excluded_is_stopped_again(connection: Connection, frozen: Frozen) -> None:
    study = served(connection, frozen(), stop_after=1, min_accuracy=1.0, every=2)
    person = come_in(connection, study)
    while person.stage == "working":
        shown = next_task(connection, study, person, 10)
        assert isinstance(shown, ShownTask)
        save_answer(connection, study, person, shown.number, "wrong", now=11)
        person = again(connection, study, person)
    by_author(connection, study).exclude(name(connection, person), "test")
    assert by_author(connection, study).reinstate(name(connection, person)) == Change(True)
    stage, reason = connection.execute(
        select(PERSON.c.stage, PERSON.c.reason).where(PERSON.c.id == person.id)
    ).one()
    assert (stage, reason) == ("stopped", "0 of 1 control items right")
    assert [one["what"] for one in logged(connection, study)] == ["stopped", "excluded", "reinstated"]
    assert json.loads(logged(connection, study)[0]["facts"]) == {"right": 0, "controls": 1}
    assert places_fit(connection, study)


def test_a_dialogue_counts_again_only_as_a_whole(connection: Connection, frozen: Frozen) -> None:
    loaded = load_study(frozen("rutie", overlap=1), "people")
    assert loaded.rules.dialogues
    split = (replace(task, dialogue=at // 5 + 1, turn=at % 5 + 1) for at, task in enumerate(loaded.tasks))
    study = register(connection, replace(loaded, tasks=tuple(split)), 1)
    first, second = come_in(connection, study, "1"), come_in(connection, study, "2")
    length = 5
    answer(connection, study, first, length + 1)
    by_author(connection, study).exclude(name(connection, first), "test")
    back = by_author(connection, study).reinstate(name(connection, first))
    assert back is not None
    assert back.places == 1, "the begun dialogue does not count"
    assert back.answers == length
    assert places_fit(connection, study)
    shown = next_task(connection, study, second, 50)
    assert isinstance(shown, ShownTask)
    assert study.tasks[shown.number].turn == 1, "others get whole dialogues"


def test_nothing_of_an_erased_person_is_left(frozen: Frozen) -> None:
    folder = frozen()
    engine = open_database(database_url(folder.path, "sqlite:///" + str(folder.path / "site.db")))
    secrets = ("worker-77-secret", "my private remark", "because of Jane", "sure, this answer")
    with writing(engine) as connection:
        study = served(connection, folder)
        person = come_in(connection, study, secrets[0])
        other = come_in(connection, study, "other")
        done = answer(connection, study, person, 3, secrets[3], secrets[1])
        answer(connection, study, other, 3)
        pseudonym = name(connection, person)
        connection.execute(PERSON.update().where(PERSON.c.id == person.id).values(completion="CODE77CODE"))
        by_author(connection, study).exclude(pseudonym, secrets[2])
        by_author(connection, study).reinstate(pseudonym)
    with writing(engine) as connection:
        erased = by_author(connection, study).erase(pseudonym)
        assert erased is not None
        assert erased.places == len(done)
        assert by_author(connection, study).erase(pseudonym) is None, "a form that is sent twice finds nobody"
        assert places_fit(connection, study)
        assert person_of(connection, study, person.id) is None, "a cookie opens nothing"
        assert come_in(connection, study, "next").id != person.id, "numbers are not given again"
        kept = select(func.count()).select_from(RESPONSE).where(RESPONSE.c.person == other.id)
        assert connection.scalar(kept), "others keep their answers"
        assert [(one["what"], one["person"], one["reason"]) for one in logged(connection, study)] == [
            ("excluded", "", ""), ("reinstated", "", ""), ("erased", "", ""),
        ]  # fmt: skip
    drop_remnants(engine)
    for file in folder.path.glob("site.db*"):
        content = file.read_bytes()
        for secret in (*secrets, pseudonym, "CODE77CODE"):
            assert secret.encode() not in content, f"{secret} in {file.name}"
    engine.dispose()


def test_erasing_an_expert_removes_the_name_from_invitations_and_the_log(
    connection: Connection, frozen: Frozen
) -> None:
    study = served(connection, frozen(experts=True), "experts")
    by_author(connection, study).invite(["Anna Secret", "Boris"])
    ((_, code),) = by_author(connection, study).invite(["Anna Secret"])
    admitted = admit_invited(connection, {study.rules.study: study}, code, "ru", 3)
    assert admitted is not None
    newer = by_author(connection, study).invite(["Anna Secret"])
    assert newer[0][1] != code
    by_author(connection, study).erase(str(connection.scalar(select(PERSON.c.pseudonym))))
    everything = [connection.execute(select(table)).all() for table in (PERSON, INVITATION, EVENT, RESPONSE)]
    assert "Anna Secret" not in str(everything)
    assert "Boris" in str(everything)
    assert admit_invited(connection, {study.rules.study: study}, code, "ru", 4) is None
    assert admit_invited(connection, {study.rules.study: study}, newer[0][1], "ru", 4) is None
    (waiting,) = open_invitations(connection, study)
    assert by_author(connection, study).revoke(waiting.hash)
    assert not by_author(connection, study).revoke(waiting.hash)
    everything = [connection.execute(select(table)).all() for table in (PERSON, INVITATION, EVENT)]
    assert "Boris" not in str(everything)


def test_a_revoked_link_opens_nothing_and_repeating_changes_nothing(
    connection: Connection, frozen: Frozen
) -> None:
    study = served(connection, frozen())
    ((_, code),) = by_author(connection, study).invite([None], codes=["AAAAA-22222"])
    assert by_author(connection, study).invite([None], codes=["AAAAA-22222"]) == [("", code)]
    (listed,) = open_invitations(connection, study)
    assert by_author(connection, study).revoke(listed.hash)
    assert not by_author(connection, study).revoke(listed.hash)
    assert admit_invited(connection, {study.rules.study: study}, code, "ru", 3) is None
    assert [one["what"] for one in logged(connection, study)] == ["links_made", "revoked"]


def test_a_pause_is_recorded_once(connection: Connection, frozen: Frozen) -> None:
    study = served(connection, frozen())
    person = come_in(connection, study)
    assert by_author(connection, study).set_paused(paused=True)
    assert not by_author(connection, study).set_paused(paused=True), (
        "the second of two authors changes nothing"
    )
    assert next_task(connection, study, again(connection, study, person), 20) == "paused"
    assert by_author(connection, study).set_paused(paused=False)
    assert isinstance(next_task(connection, study, again(connection, study, person), 20), ShownTask)
    assert [one["what"] for one in logged(connection, study)] == ["paused", "resumed"]


def test_the_log_is_a_table_of_one_study_that_runs_no_formula(connection: Connection, frozen: Frozen) -> None:
    study = served(connection, frozen(experts=True))
    other = served(connection, frozen(experts=True), "experts")
    by_author(connection, other).set_paused(paused=True)
    person = come_in(connection, study)
    by_author(connection, study).exclude(name(connection, person), '=1+1, "x"')
    (row,) = logged(connection, study)
    assert row == {
        "time": "1970-01-01T00:00:00.009+00:00", "actor": "author", "what": "excluded", "person": name(connection, person),
        "reason": "'=1+1, \"x\"", "facts": '{"places": 0}',
    }  # fmt: skip


def test_comments_are_a_table_that_runs_no_formula(connection: Connection, frozen: Frozen) -> None:
    study = served(connection, frozen())
    assert len(comments_table(connection, study).splitlines()) == 1
    person = come_in(connection, study)
    answer(connection, study, person, 1, "1", '=HYPERLINK("http://evil.example")')
    row = comments_table(connection, study).splitlines()[1]
    assert row.endswith('"\'=HYPERLINK(""http://evil.example"")"')
    assert name(connection, person) in row
    assert "worker-77" not in row


def test_people_are_named_on_the_command_line_by_pseudonym_or_id(frozen: Frozen) -> None:
    folder = frozen(experts=True)
    engine = open_database(database_url(folder.path, None))
    with writing(engine) as connection:
        study, experts = served(connection, folder), served(connection, folder, "experts")
        person = come_in(connection, study, "twice")
        answer(connection, study, person, 2)
        pseudonym = name(connection, person)
        ((_, code),) = by_author(connection, experts).invite(["twice"])
        admit_invited(connection, {experts.rules.study: experts}, code, "ru", 3)
    with pytest.raises(UsageError, match=f"of 2 people: give one of the pseudonyms .*{pseudonym}"):
        exclude_from_site(folder.path, "twice", reason="x")
    with pytest.raises(UsageError, match="there is no 'nobody'"):
        erase_from_site(folder.path, "nobody")
    assert exclude_from_site(folder.path, pseudonym, reason="x").changed
    assert collect_site(folder.path).left_out["excluded"] == 2
    assert reinstate_on_site(folder.path, pseudonym).changed
    assert erase_from_site(folder.path, pseudonym).answers == 2
    with engine.connect() as connection:
        log = logged(connection, study)
    engine.dispose()
    assert [(one["what"], one["actor"]) for one in log] == [
        ("excluded", "command line"), ("reinstated", "command line"), ("erased", "command line"),
    ]  # fmt: skip


def test_places_fit_while_people_work_and_are_excluded_reinstated_and_erased(
    engine: Engine, frozen: Frozen
) -> None:
    with writing(engine) as connection:
        study = served(connection, frozen(overlap=4))
        people = [come_in(connection, study, str(number)) for number in range(6)]
        names = [name(connection, person) for person in people]

    def work(person: Participant) -> None:
        for at in range(30):
            with writing(engine) as connection:
                found = person_of(connection, study, person.id)
                if found is None:
                    return
                if found.stage != "working":
                    continue
                shown = next_task(connection, study, found, 10 + at)
            if not isinstance(shown, ShownTask):
                continue
            with writing(engine) as connection:
                known = study.tasks[shown.number].known
                save_answer(connection, study, person, shown.number, known or "1", now=11 + at)

    def decide() -> None:
        for pseudonym in (*names[:4], *names[:2]):
            with writing(engine) as connection:
                by_author(connection, study).exclude(pseudonym, "test")
            with writing(engine) as connection:
                by_author(connection, study).reinstate(pseudonym)
        for pseudonym in names[:2]:
            with writing(engine) as connection:
                by_author(connection, study).erase(pseudonym)

    with ThreadPoolExecutor(7) as pool:
        started = [pool.submit(work, person) for person in people] + [pool.submit(decide)]
        for one in started:
            one.result()
    with engine.connect() as connection:
        assert places_fit(connection, study)
        erased = select(func.count()).select_from(RESPONSE).where(RESPONSE.c.person == people[0].id)
        assert connection.scalar(erased) == 0
