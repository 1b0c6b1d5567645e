"""Answers on the annotation site, without browsers: given straight to its state, or by simulated people step by step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from random import Random

from merilo.site.annotator_steps import (
    SentAnswer,
    ShownTask,
    consent,
    next_task,
    read_instruction,
    save_answers,
)
from merilo.site.people_access import admit_from_platform
from merilo.site.state import Person, State

#: The time of the first answer, in milliseconds since 1970.
START = 1_790_000_000_000


@dataclass(frozen=True)
class Given:
    """An answer: who gave it to which task, in how many seconds, and how many milliseconds after the first."""

    person: str
    task: int
    answer: str
    seconds: float = 5.0
    after: int = 0
    counts: bool = True


def come(state: State, name: str, at: int = START, seed: int = 1) -> Person:
    """Let somebody in whose id and pseudonym are their name on the platform, and who works."""
    state.record(at, "came", name, pseudonym=name, source="platform", external=name, language="ru", seed=seed)
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
    random, study = Random(1), state.study
    items = [*study.folder.items(), *study.folder.controls()]
    gold = [str(item.outputs) for item in items]
    labels = list(study.declared.answer.labels) or gold
    now = START
    for name, skill in people.items():
        admitted = admit_from_platform(state, "platform", name, "ru", now)
        assert admitted is not None
        person = admitted.person
        person.seed = random.getrandbits(60)
        consent(state, person, now)
        read_instruction(state, person, now)
        for _ in range(most):
            if person.stage != "working":
                break
            shown = next_task(state, person, now)
            if not isinstance(shown, ShownTask):
                break
            skipped = random.random() < skips
            right = random.random() < skill
            answer = (
                gold[shown.number]
                if right
                else random.choice([one for one in labels if one != gold[shown.number]])
            )
            now += random.randrange(500, 20_000)
            sent = SentAnswer(number=shown.number, answer="" if skipped else answer, skipped=skipped)
            save_answers(state, person, [sent], now)
            now += 100
