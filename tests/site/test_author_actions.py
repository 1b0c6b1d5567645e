"""Pausing, inviting, excluding, reinstating and erasing people, and the audit log of it."""

import csv
import io
import json
from collections.abc import Callable
from dataclasses import replace

import pytest
from site_people import come_in, given, save, served
from study_people import of_dialogue

from merilo.errors import UsageError
from merilo.items import Item
from merilo.site.annotator_steps import (
    next_training,
)
from merilo.site.author_actions import DEEDS, AuthorActions, Change, log_table, open_invitations
from merilo.site.journal import Journal, database_url
from merilo.site.people_access import admit_invited
from merilo.site.served_study import load_study
from merilo.site.serving import erase_from_site, exclude_from_site, read_site, reinstate_on_site
from merilo.site.state import Person, State
from merilo.studies.study_folder import StudyFolder

Frozen = Callable[..., StudyFolder]


def by_author(state: State) -> AuthorActions:
    return AuthorActions(state, 9, "author")


def answer(
    state: State, person: Person, times: int = 1, text: str = "1", comment: str | None = None
) -> list[int]:
    """Answer the next tasks; the numbers of those that belong to the test."""
    tests = []
    for at in range(times):
        shown = given(state, person, 10 + at)
        known = state.study.tasks[shown.number].known
        assert save(state, person, shown.number, known or text, 11 + at, comment=comment) == "saved"
        if state.rules.is_test(shown.number):
            tests.append(shown.number)
    return tests


def logged(state: State, journal: Journal | None = None) -> list[dict[str, str]]:
    """The rows of the log's table: of what the state has not handed over, or of a journal."""
    if journal is not None:
        events = [*journal.events(state.study.key, DEEDS)]
    else:
        events = [event for event in state._fresh if event.kind in DEEDS]
    return list(csv.DictReader(io.StringIO(log_table(state, events))))


def test_an_excluded_person_gets_no_tasks_and_their_items_go_to_others(frozen: Frozen) -> None:
    state = served(frozen())
    person = come_in(state)
    done = answer(state, person, 3)
    shown = given(state, person, 20)
    held = len(done) + (shown.number < state.rules.tests)
    assert by_author(state).exclude(person.pseudonym, " =too\nfast ") == Change(True, places=held)
    assert person.stage == "excluded"
    late = save(state, person, shown.number, "1", 21)
    assert late == "passed_on", "the open task was taken away"
    assert by_author(state).exclude(person.pseudonym, "again") == Change(False)
    (row,) = logged(state)
    assert (row["what"], row["person"], row["reason"]) == ("excluded", person.pseudonym, "'=too fast"), (
        "no formula"
    )
    assert (row["time"], row["actor"]) == ("1970-01-01T00:00:00.009+00:00", "author")
    assert json.loads(row["facts"]) == {"places": held}


def test_a_reinstated_person_counts_where_the_items_are_free_and_goes_on(frozen: Frozen) -> None:
    state = served(frozen(overlap=1))
    first, second = come_in(state, "1"), come_in(state, "2")
    done = answer(state, first, 4)
    by_author(state).exclude(first.pseudonym, "test")
    taken: set[int] = set()
    while not taken & set(done):
        taken |= set(answer(state, second))
    back = by_author(state).reinstate(first.pseudonym)
    assert back is not None
    assert (back.answers, back.places) == (len(done) - 1, 1)
    assert answer(state, first, 2), "they go on"
    assert by_author(state).reinstate(first.pseudonym) == Change(False)
    answered = [
        held for held in first.tasks.values() if held.state == "answered" and state.rules.is_test(held.task)
    ]
    assert sum(not held.counts for held in answered) == 1
    assert [one["what"] for one in logged(state)] == ["excluded", "reinstated"]


@pytest.mark.parametrize("taken", [False, True])
def test_a_reinstated_person_continues_from_the_same_task_if_its_place_is_free(
    frozen: Frozen, *, taken: bool
) -> None:
    state = served(frozen(overlap=1), every=0)
    first, second = come_in(state, "1"), come_in(state, "2")
    shown = given(state, first, 10)
    by_author(state).exclude(first.pseudonym, "test")
    while taken and not state.people[second.id].tasks.get(shown.number):
        answer(state, second)
    by_author(state).reinstate(first.pseudonym)
    assert (given(state, first, 40).number == shown.number) is not taken
    assert save(state, first, shown.number, "1", 41) == ("passed_on" if taken else "saved")


def test_a_copy_stays_as_it_was_while_places_are_taken(frozen: Frozen) -> None:
    state = served(frozen(overlap=1))
    copy, reader = state.copy(), come_in(state)
    free = copy.free_from(reader, 0)
    next(free)
    answer(state, come_in(state, "2"), 10)
    assert sum(1 for _ in free) == state.rules.tests - 1


def test_a_person_excluded_in_the_training_goes_on_with_the_same_item(frozen: Frozen) -> None:
    training = [Item(f"t{n}", "{inputs}?", "( )", "1", {"id": f"t{n}"}) for n in range(2)]
    state = served(frozen(training=training))
    person = come_in(state)
    shown = next_training(state, person, 3)
    assert shown is not None
    by_author(state).exclude(person.pseudonym, "test")
    by_author(state).reinstate(person.pseudonym)
    assert person.stage == "training"
    assert next_training(state, person, 4) == shown
    assert save(state, person, shown.number, "1", 5) == "saved"


def test_a_stopped_person_who_was_excluded_is_stopped_again(frozen: Frozen) -> None:
    state = served(frozen(), stop_after=1, min_accuracy=1.0, every=2)
    person = come_in(state)
    while person.stage == "working":
        shown = given(state, person, 10)
        save(state, person, shown.number, "wrong", 11)
    by_author(state).exclude(person.pseudonym, "test")
    assert by_author(state).reinstate(person.pseudonym) == Change(True)
    assert (person.stage, person.reason) == ("stopped", "0 of 1 control items right")
    assert [one["what"] for one in logged(state)] == ["stopped", "excluded", "reinstated"]
    assert json.loads(logged(state)[0]["facts"]) == {"right": 0, "controls": 1}


def test_a_dialogue_counts_again_only_as_a_whole(frozen: Frozen) -> None:
    loaded = load_study(frozen("rutie", overlap=1), "people")
    assert loaded.rules.dialogues
    split = (of_dialogue(task, at // 5, at % 5) for at, task in enumerate(loaded.tasks))
    state = State(replace(loaded, tasks=tuple(split)))
    first, second = come_in(state, "1"), come_in(state, "2")
    length = 5
    answer(state, first, length + 1)
    by_author(state).exclude(first.pseudonym, "test")
    back = by_author(state).reinstate(first.pseudonym)
    assert back is not None
    assert back.places == 1, "the begun dialogue does not count"
    assert back.answers == length
    shown = given(state, second, 50)
    assert state.study.tasks[shown.number].turn == 1, "others get whole dialogues"


def test_erasing_an_expert_removes_the_name_from_invitations_and_the_log(frozen: Frozen) -> None:
    folder = frozen(experts=True)
    journal = Journal(database_url(folder.path, None))
    assert journal.take()
    state = served(folder, "experts")
    by_author(state).invite(["Anna Secret", "Boris"])
    ((_, code),) = by_author(state).invite(["Anna Secret"])
    admitted = admit_invited([state], code, "ru", 3)
    assert admitted is not None
    newer = by_author(state).invite(["Anna Secret"])
    assert newer[0][1] != code
    journal.append(state.unwritten())
    by_author(state).erase(admitted.person.pseudonym)
    journal.append(state.unwritten())

    def everything() -> str:
        return str([*journal.events(state.study.key)])

    assert "Anna Secret" not in everything()
    assert "Boris" in everything()
    for one in (state, State(state.study, journal.events(state.study.key))):
        assert admit_invited([one], code, "ru", 4) is None
        assert admit_invited([one], newer[0][1], "ru", 4) is None
    (waiting,) = open_invitations(state)
    assert by_author(state).revoke(waiting.hash)
    assert not by_author(state).revoke(waiting.hash)
    journal.append(state.unwritten())
    assert "Boris" not in everything()
    journal.close()


def test_a_revoked_link_opens_nothing_and_repeating_changes_nothing(frozen: Frozen) -> None:
    state = served(frozen())
    ((_, code),) = by_author(state).invite([None], codes=["AAAAA-22222"])
    assert by_author(state).invite([None], codes=["AAAAA-22222"]) == [("", code)]
    (listed,) = open_invitations(state)
    assert by_author(state).revoke(listed.hash)
    assert not by_author(state).revoke(listed.hash)
    assert admit_invited([state], code, "ru", 3) is None
    assert [one["what"] for one in logged(state)] == ["invited", "revoked"]


def test_people_are_named_on_the_command_line_by_pseudonym_or_id(frozen: Frozen) -> None:
    folder = frozen(experts=True)
    journal = Journal(database_url(folder.path, None))
    assert journal.take()
    state, experts = served(folder), served(folder, "experts")
    person = come_in(state, "twice")
    answer(state, person, 2)
    pseudonym = person.pseudonym
    ((_, code),) = by_author(experts).invite(["twice"])
    admit_invited([experts], code, "ru", 3)
    journal.append([*state.unwritten(), *experts.unwritten()])
    journal.close()
    with pytest.raises(UsageError, match=f"of 2 people: give one of the pseudonyms .*{pseudonym}"):
        exclude_from_site(folder.path, "twice", reason="x")
    with pytest.raises(UsageError, match="there is no 'nobody'"):
        erase_from_site(folder.path, "nobody")
    assert exclude_from_site(folder.path, pseudonym, reason="x").changed
    assert read_site(folder.path).people[person.id].stage == "excluded"
    assert reinstate_on_site(folder.path, pseudonym).changed
    assert erase_from_site(folder.path, pseudonym).answers == 2
    journal = Journal(database_url(folder.path, None))
    assert [(one["what"], one["actor"]) for one in logged(state, journal)] == [("erased", "command line")]
    journal.close()
