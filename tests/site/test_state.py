"""A study on the site as the fold of its events: random steps keep the rules, and the log gives the same state at every point."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from random import Random
from typing import Any

import pytest
from every import every
from pydantic_core import from_json, to_json
from study_people import of_dialogue

from merilo.site import annotator_steps as steps
from merilo.site.annotator_steps import SentAnswer, ShownTask, return_overdue
from merilo.site.author_actions import AuthorActions
from merilo.site.journal import Event
from merilo.site.people_access import admit_from_platform, admit_invited
from merilo.site.served_study import ServedStudy, load_study
from merilo.site.state import Assignment, Person, State
from merilo.studies.study_folder import StudyFolder

#: Steps of one study; the test runs many studies.
STEPS = 3_000


def everything(state: State) -> dict[str, Any]:
    """Everything that a state holds, to compare two of them."""
    return {
        "people": {
            name: {slot: getattr(one, slot) for slot in Person.__slots__}
            for name, one in state.people.items()
        },
        "invitations": {
            name: (one.name, one.person, one.revoked, one.domains) for name, one in state.invitations.items()
        },
        "open": state.open,
        "paused": state.paused,
        "free": state._free,
    }


def check(state: State) -> None:
    """The rules that no step may break."""
    held: dict[int, int] = {}
    for person in state.people.values():
        places = [person.tasks[task].place for task in person.order]
        assert places == sorted(set(places)), "two tasks have one place in a person's order"
        if person.answers_tasks:
            held_now = [person.tasks[task] for task in person.order]
            assert person.places_used == sum(one.is_answer or one.state == "open" for one in held_now)
            held_now = [one for one in held_now if one.state == "open"]
            assert not held_now or any(one.due for one in held_now), "a place is held for ever"
        for task, one in person.tasks.items():
            assert task == one.task
            assert task not in person.withheld or one.state != "open" or one.given is None or not one.counts
            held[task] = held.get(task, 0) + one.counts
    for task, needed in enumerate(state.open):
        assert needed >= 0
        assert needed == state.rules.overlap - held.get(task, 0), "a place is lost or given twice"
    assert {task for _, task in state._free} == {task for task, needed in enumerate(state.open) if needed}


class Drive:
    """Random people and a random author at one study, with its log beside it."""

    def __init__(self, study: ServedStudy, seed: int) -> None:
        self.random = Random(seed)
        self.state = State(study)
        self.log: list[Event] = []
        self.now = 1_790_000_000_000
        self.codes: list[str] = []
        self.answers = 0

    def step(self) -> None:
        self.now += self.random.choice([200, 2_000, 40_000, 400_000, 4_000_000])
        kinds = ["come", *["work"] * 12, "author", "overdue"]
        getattr(self, self.random.choice(kinds))()
        self.written()

    def written(self) -> None:
        """Append to the log as the journal does, an erasure before the events of its step."""
        for entry in self.state.unwritten():
            if entry.forget:
                self.log = [event for event in self.log if event.person != entry.forget]
            if entry.invitations:
                self.log = [
                    event
                    for event in self.log
                    if event.kind != "invited" or event.facts["hash"] not in entry.invitations
                ]
            self.log += [event._replace(facts=from_json(to_json(event.facts))) for event in entry.events]

    def come(self) -> None:
        if self.codes and self.random.random() < 0.5:
            admit_invited([self.state], self.random.choice(self.codes), "ru", self.now)
        elif not self.state.study.by_invitation:
            admit_from_platform(self.state, "platform", f"w{self.random.randrange(14)}", "ru", self.now)

    def work(self) -> None:
        if not self.state.people:
            return
        state, now = self.state, self.now
        person = self.random.choice([*state.people.values()])
        if person.stage in {"consent", "declined"}:
            self.random.choice([steps.consent, steps.consent, steps.decline])(state, person, now)
        elif person.stage == "questions":
            steps.tell_background(state, person, {}, now)
        elif person.stage == "instruction":
            steps.read_instruction(state, person, now)
        elif person.stage == "training":
            shown = steps.next_training(state, person, now)
            if shown:
                steps.save_answers(
                    state, person, [SentAnswer(number=shown.number, answer=self.answer(shown.number))], now
                )
        elif person.answers_tasks:
            shown = steps.next_task(state, person, now)
            if isinstance(shown, ShownTask):
                self.answer_page(person, shown)
            assert shown != "most" or steps.is_complete(state, person), "the most is no complete part"

    def answer_page(self, person: Person, shown: ShownTask) -> None:
        tasks = [one.number for one in (shown, *shown.beside)]
        if self.random.random() < 0.1:  # also somebody else's, and one from before
            tasks = [self.random.randrange(self.state.study.training.start)]
        sent = [
            SentAnswer(number=task, answer=self.answer(task), skipped=self.random.random() < 0.05)
            for task in self.random.sample(tasks, self.random.randint(1, len(tasks)))
        ]
        before = {one.number: person.tasks.get(one.number) for one in sent}
        taken = steps.save_answers(self.state, person, sent, self.now + self.random.choice([100, 5_000_000]))
        for task, result in taken.items():
            had = before[task]
            if result == "saved":
                assert had is not None, "an answer was taken to a task that was never given"
                assert had.state != "answered", "a second answer replaced the first one"
                self.answers += 1
            if isinstance(had, Assignment) and had.state == "answered":
                assert result in {"repeated", "answered_before"}

    def answer(self, task: int) -> str:
        known = self.state.study.tasks[task].known
        return known if known is not None and self.random.random() < 0.8 else self.random.choice("01")

    def author(self) -> None:
        author = AuthorActions(self.state, self.now, "author")
        people = [one.pseudonym for one in self.state.people.values()]
        what = self.random.choice(
            ["invite", "exclude", "exclude", "reinstate", "erase", "erase", "revoke", "pause"]
        )
        if what == "invite":
            name = self.random.choice(["Anna", "Boris"]) if self.state.study.by_invitation else None
            self.codes += [
                code
                for _, code in author.invite([name], domains=[*self.state.study.domains][:1] if name else ())
            ]
        elif what == "pause":
            author.set_paused(paused=self.random.random() < 0.1)
        elif what == "revoke":
            unused = [one.hash for one in self.state.invitations.values() if one.person is None]
            if unused:
                author.revoke(self.random.choice(unused))
        elif people and what == "exclude":
            author.exclude(self.random.choice(people), "careless")
        elif people and (what == "reinstate" or self.random.random() < 0.5):
            getattr(author, what)(self.random.choice(people))

    def overdue(self) -> None:
        return_overdue(self.state, self.now)
        assert not any(one.is_over(self.now) for _, one in self.state.pending), "a place is held too long"


@pytest.fixture
def studies(frozen: Callable[..., StudyFolder]) -> list[ServedStudy]:
    """A study with control items, and the same with a time limit, several tasks a page, dialogues and experts."""
    plain = load_study(frozen("bps"), "people")
    turns = tuple(
        of_dialogue(task, number // 3, number % 3) if number < plain.rules.tests else task
        for number, task in enumerate(plain.tasks)
    )
    rules = replace(plain.rules, overlap=3)
    return [
        replace(plain, rules=rules),
        replace(plain, rules=replace(rules, time_limit=60.0)),
        replace(plain, rules=replace(rules, on_screen=4)),
        replace(plain, rules=replace(rules, on_screen=3, time_limit=30.0)),
        replace(plain, rules=replace(rules, dialogues=True), tasks=turns),
    ]


@every("seed", range(4))
def test_random_steps_keep_the_rules_and_the_log_gives_the_same_state(
    studies: list[ServedStudy], seed: int
) -> None:
    for kind, study in enumerate(studies):
        drive = Drive(study, 100 * seed + kind)
        for number in range(STEPS):
            drive.step()
            check(drive.state)
            if number % 500 == 499:
                assert everything(State(study, drive.log)) == everything(drive.state)
        assert drive.answers > 60


def test_every_beginning_of_a_log_is_a_state(studies: list[ServedStudy]) -> None:
    drive = Drive(studies[2], 7)
    for _ in range(1_000):
        drive.step()
    state = State(studies[2])
    for event in drive.log:
        state.apply(event)
        check(state)
    assert everything(state) == everything(drive.state)
