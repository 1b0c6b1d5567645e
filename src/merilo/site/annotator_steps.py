"""What a person does in a study, step by step: consent, instruction, training, items; see `state.Stage`.

Whoever has no further task is finished; if places come back and they open the page again, they go on.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil
from operator import attrgetter
from typing import Final, Literal

from merilo.people.signals import DECLARATIONS
from merilo.site import allocation
from merilo.site.allocation import GivenTask, SentAnswer, Taken, Without
from merilo.site.served_study import ServedStudy
from merilo.site.state import Person, Stage, State

_BEFORE_CONSENT: Final[tuple[Stage, ...]] = ("consent", "declined")


@dataclass(frozen=True, slots=True)
class ShownTask:
    """A task as a person sees it now.

    Attributes:
        number: its number in the study.
        place: its place in the person's order; in the training, its place there; from 1.
        of: how many tasks there are in the training; `None` if the number is not known.
        left: seconds until the time limit; `None` without one.
        earlier: number and answer of the earlier turns of the dialogue.
        beside: the further tasks of the page.
    """

    number: int
    place: int
    of: int | None = None
    left: float | None = None
    earlier: tuple[tuple[int, str], ...] = ()
    beside: tuple[ShownTask, ...] = ()


def set_language(state: State, person: Person, language: str, now: int) -> None:
    """Change the language of a person's pages."""
    if language != person.language:
        state.record(now, "language", person.id, language=language)


def declare(state: State, person: Person, said: str, now: int) -> None:
    """Record what a person declares about help by AI; the first declaration stays."""
    if state.study.folder.plan.assistance.declaration and said in DECLARATIONS and person.declared is None:
        state.record(now, "declared", person.id, said=said)


def consent(state: State, person: Person, now: int) -> None:
    """Record that a person agreed to take part; repeated, it changes nothing."""
    if person.stage in _BEFORE_CONSENT:
        _move(state, person, "questions" if state.study.folder.plan.demographics else "instruction", now)


def decline(state: State, person: Person, now: int) -> None:
    """Record that a person does not agree to take part; they may agree later."""
    if person.stage == "consent":
        _move(state, person, "declined", now)


def tell_background(state: State, person: Person, options: Mapping[str, int], now: int) -> None:
    """Save what a person tells about themselves; repeated, it changes nothing.

    Args:
        state: the study.
        person: the person.
        options: name of a question -> place of the chosen option; other questions were declined.
        now: the time, in milliseconds since 1970.
    """
    if person.stage == "questions":
        answers = {
            question.name: options.get(question.name) for question in state.study.folder.plan.demographics
        }
        state.record(now, "background", person.id, answers=answers)
        _move(state, person, "instruction", now)


def read_instruction(state: State, person: Person, now: int) -> None:
    """Record that a person read the instruction; repeated, it changes nothing."""
    if person.stage == "instruction":
        _move(state, person, "training" if training_of(state.study, person) else "working", now)


def training_of(study: ServedStudy, person: Person) -> list[int]:
    """Return the training items of a person: experts get those of their domains."""
    return [task for task in study.training if task not in person.withheld]


def next_training(state: State, person: Person, now: int) -> ShownTask | None:
    """Return the first training item that a person has not answered; `None` after the last one."""
    training = training_of(state.study, person)
    tasks = person.tasks
    number = next((task for task in training if task not in tasks or tasks[task].state != "answered"), None)
    if number is None:
        return None
    if number not in tasks:
        state.record(now, "given", person.id, number)
    return ShownTask(number, training.index(number) + 1, of=len(training))


def answer_training(state: State, person: Person, sent: SentAnswer, now: int) -> Taken:
    """Save the answer to a training item; after the last one, the person is admitted or refused."""
    taken = allocation.save(state, person, [sent], now)[sent.number]
    plan, items = state.study.folder.plan.training, len(training_of(state.study, person))
    if plan and taken == "saved" and person.stage == "training" and person.trained >= items:
        admitted = person.trained_right >= plan.needed(items)
        _move(state, person, "working" if admitted else "refused", now)
    return taken


def training_answer(state: State, person: Person, number: int) -> tuple[str, bool] | None:
    """Return a person's answer to a training item, and whether it is right; `None` if they have not answered it."""
    assignment = person.tasks.get(number) if number in state.study.training else None
    return (
        None
        if assignment is None or assignment.state != "answered"
        else (assignment.answer or "", bool(assignment.right))
    )


def task_before(state: State, person: Person, now: int) -> ShownTask | Literal["paused"] | None:
    """Return the task that a person has before them, without changing anything; `None` if `next_task` gives one."""
    if state.paused:
        return "paused"
    page = allocation.before(state, person, now)
    return None if page is None else _shown(state, person, page, now)


def next_task(state: State, person: Person, now: int) -> ShownTask | Without | Literal["paused"]:
    """Give a person their next task, or again the one that they have before them.

    A person whom the baseline would exclude gets back the places that they lost while they were away; if there is
    no further task for them, all their places go to others.
    """
    if state.paused:
        return "paused"
    excluded = state.rules.excludes(person.controls, person.controls_right)
    if excluded and (again := allocation.tasks_that_count_again(state, person)[0]):
        state.record(now, "reinstated", person.id, tasks=again)
    page = allocation.give(state, person, now, most_answers(state.study, person))
    if isinstance(page, GivenTask):
        if person.stage == "finished":
            _move(state, person, "working", now)
        return _shown(state, person, page, now)
    if excluded and page != "wait":
        _stop(state, person, now)
    elif page != "wait" and person.stage == "working":
        _move(state, person, "finished", now)
    return page


def save_answers(state: State, person: Person, sent: Sequence[SentAnswer], now: int) -> dict[int, Taken]:
    """Save the answers of a page to test and control items; number of a task -> what became of its answer.

    The person is stopped if too many of their answers to control items are wrong; the other answers of the page are
    saved before.
    """
    controls = person.controls
    taken = allocation.save(state, person, sorted(sent, key=attrgetter("number")), now)
    if person.controls > controls and state.rules.stops(person.controls, person.controls_right):
        _stop(state, person, now)
    return taken


def most_tasks(study: ServedStudy) -> int:
    """Return the most tasks of a person whom a platform pays for one sitting.

    The plan's items per person, and control items.
    """
    items = study.arm.items_per_person
    return ceil(items * study.rules.every / (study.rules.every - 1)) if study.rules.every else items


def most_answers(study: ServedStudy, person: Person) -> int | None:
    """Return the most tasks of a person; `None` for those who may go on as long as there are items."""
    return None if not person.from_platform or study.rules.dialogues else most_tasks(study)


def most_places(study: ServedStudy, person: Person) -> int:
    """Return the most tasks that a person can get: it tells them how far they are.

    Fewer are left if others answer the items first.
    """
    rules, most = study.rules, most_answers(study, person)
    tests = rules.tests - sum(map(rules.is_test, person.withheld))
    controls = rules.controls - sum(map(rules.is_control, person.withheld))
    has_controls = rules.every and not rules.dialogues
    controls = min(controls, ceil(tests / max(1, rules.every - 1))) if has_controls else 0
    everything = tests + controls
    return everything if most is None else min(everything, most)


def has_answered(state: State, person: Person) -> bool:
    """Return whether a person has answered an item of the test."""
    return any(state.rules.is_test(task) and person.tasks[task].is_answer for task in person.order)


def is_complete(state: State, person: Person) -> bool:
    """Return whether a person has answered as many items of the test as the plan wants of each."""
    answers = sum(state.rules.is_test(task) and person.tasks[task].is_answer for task in person.order)
    return answers >= min(state.study.arm.items_per_person, state.rules.tests)


def _shown(state: State, person: Person, page: GivenTask, now: int) -> ShownTask:
    left = None if page.late is None else max(0.0, (page.late - now) / 1000 - state.rules.grace)
    turns = state.turns_with(page.task)
    earlier = tuple(
        (turn, person.tasks[turn].answer or "")
        for turn in turns[: turns.index(page.task)]
        if person.tasks[turn].state == "answered"
    )
    beside = tuple(_shown(state, person, task, now) for task in page.beside)
    return ShownTask(page.task, page.place, left=left, earlier=earlier, beside=beside)


def _stop(state: State, person: Person, now: int) -> None:
    state.record(
        now, "stopped", person.id, actor="server", right=person.controls_right, controls=person.controls
    )


def _move(state: State, person: Person, stage: Stage, now: int) -> None:
    state.record(now, "moved", person.id, to=stage)
