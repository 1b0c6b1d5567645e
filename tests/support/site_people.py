"""People of a study without a server: its state, somebody at work in it, and their answers."""

from dataclasses import replace
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


def come_in(state: State, name: str = "worker-77") -> Person:
    """Somebody whom a platform sends, who has agreed and read the instruction."""
    admitted = admit_from_platform(state, "platform", name, "ru", 2, newcomers=_Newcomers(name))
    assert admitted is not None
    consent(state, admitted.person, 2)
    read_instruction(state, admitted.person, 2)
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
