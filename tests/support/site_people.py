"""People of a study without a server: its state, somebody at work in it, and answers, one by one or of simulated people."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from random import Random

from merilo.site.annotator_steps import (
    SentAnswer,
    ShownTask,
    consent,
    next_task,
    read_instruction,
    save_answers,
)
from merilo.site.people_access import NewPeople, admit_from_platform
from merilo.site.served_study import load_study
from merilo.site.state import Person, State
from merilo.studies.study_folder import StudyFolder

#: The time of the first answer, in milliseconds since 1970.
START = 1_790_000_000_000


class _Newcomers(NewPeople):
    """People whose orders follow from their names: a random order now and then leaves a person without a task."""

    def __init__(self, name: str) -> None:
        self._random = Random(name)

    def seed(self) -> int:
        return self._random.getrandbits(62)


def served(folder: StudyFolder, arm: str = "people", **rules: object) -> State:
    """The state of a study in which nothing has happened, with some rules changed."""
    study = load_study(folder, arm)
    return State(replace(study, rules=replace(study.rules, **rules)))  # type: ignore[arg-type]


def come_in(state: State, name: str = "worker-77", now: int = 2) -> Person:
    """Somebody whom a platform sends, who has agreed and read the instruction."""
    admitted = admit_from_platform(state, "platform", name, "ru", now, newcomers=_Newcomers(name))
    assert admitted is not None
    consent(state, admitted.person, now)
    read_instruction(state, admitted.person, now)
    return admitted.person


def given(state: State, person: Person, now: int = 10) -> ShownTask:
    """The next task of a person, who gets one."""
    shown = next_task(state, person, now)
    assert isinstance(shown, ShownTask)
    return shown


def save(state: State, person: Person, number: int, answer: str, now: int, **more: object) -> str:
    """What becomes of an answer."""
    sent = SentAnswer(number=number, answer=answer, **more)  # type: ignore[arg-type]
    return save_answers(state, person, [sent], now)[number]


@dataclass(frozen=True)
class Given:
    """An answer: who gave it to which task, in how many seconds, and how many milliseconds after the first."""

    person: str
    task: int
    answer: str
    seconds: float = 5.0
    after: int = 0
    counts: bool = True


def come(state: State, name: str, at: int = START) -> Person:
    """Let somebody in whose id and pseudonym are their name on the platform, and who works."""
    state.record(at, "came", name, pseudonym=name, source="platform", external=name, language="ru", seed=1)
    state.record(at, "moved", name, to="working")
    return state.people[name]


def put_answers(state: State, answers: Sequence[Given], stages: Mapping[str, str] | None = None) -> None:
    """Let answers be given as if the site had sent their tasks; people work unless another stage is given."""
    for name in dict.fromkeys(one.person for one in answers):
        if name not in state.people:
            come(state, name)
    for one in answers:
        person, at = state.people[one.person], START + one.after
        place = len(person.order) + 1
        state.record(at - round(1000 * one.seconds), "given", one.person, one.task, place=place, due=at)
        right = None if state.rules.is_test(one.task) else state.study.is_right(one.task, one.answer)
        state.record(
            at, "answered", one.person, one.task, seconds=one.seconds, answer=one.answer, right=right
        )
        if not one.counts:
            state._put(person, person.tasks[one.task]._replace(counts=False))
    for name, stage in (stages or {}).items():
        state.people[name].stage = stage


def simulate(state: State, people: Mapping[str, float], *, most: int = 10_000, skips: float = 0.0) -> None:
    """Let people answer until nothing is left for them, or `most` tasks; some answers are "may be mine".

    People are names with the probability that an answer is the gold or known one; others are drawn from those of other items.
    """
    random, study, now = Random(1), state.study, START
    gold = [str(item.outputs) for item in (*study.folder.items(), *study.folder.controls())]
    labels = list(study.declared.answer.labels) or gold
    for name, skill in people.items():
        person = come_in(state, name, now)
        for _ in range(most):
            shown = next_task(state, person, now)
            if not isinstance(shown, ShownTask):
                break
            right = gold[shown.number]
            skipped, knows = random.random() < skips, random.random() < skill
            answer = right if knows else random.choice([label for label in labels if label != right])
            now += random.randrange(500, 20_000)
            save(state, person, shown.number, "" if skipped else answer, now, skipped=skipped)
            now += 100
