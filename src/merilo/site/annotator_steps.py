"""What a person does in a study, step by step: consent, instruction, training, items; see `state.Stage`.

Whoever has no further task is finished; if places come back and they open the page again, they go on.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil, inf
from operator import attrgetter
from typing import Final, Literal, TypeAlias

from merilo.people.signals import DECLARATIONS, measured
from merilo.site.served_study import ServedStudy
from merilo.site.state import Assignment, Person, Stage, State

Taken: TypeAlias = Literal["saved", "repeated", "answered_before", "late", "passed_on", "not_given"]

#: What became of the answers of a page: the person is told the worst.
_FROM_WORST: Final[tuple[Taken, ...]] = (
    "not_given", "answered_before", "late", "passed_on", "saved", "repeated"
)  # fmt: skip

Without: TypeAlias = Literal["done", "wait", "most"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SentAnswer:
    """An answer that a form holds.

    Attributes:
        number: the task's number.
        answer: the answer; empty for a skipped item.
        skipped: whether the person skips the item because they may have written it; a skipped control item is
            not judged.
        comment: the person's remark on the item.
        signals: signals of help by AI, as the page sent them.
    """

    number: int
    answer: str
    skipped: bool = False
    comment: str | None = None
    signals: str | None = None


def _give(state: State, person: Person, now: int) -> list[Assignment] | Without:
    """Give a person the tasks of their next page, or again those that they have not answered."""
    for assignment in state.latest(person):
        if assignment.state == "open" and assignment.is_over(now):
            state.record(now, "expired", person.id, assignment.task)
        elif assignment.state == "open" and assignment.given is None:
            # the next turn of a dialogue, whose time starts now
            due, late = state.rules.ends(now, [assignment.task])
            state.record(now, "given", person.id, assignment.task, due=due, late=late)
    if page := _before(state, person, now):
        return page
    most = most_answers(state.study, person)
    place = person.tasks[person.order[-1]].place + 1 if person.order else 1
    chosen: list[int] = []
    reason: Without = "done"
    while len(chosen) < state.rules.on_screen:
        task = _next_task(state, person, place + len(chosen), chosen, most)
        if isinstance(task, str):
            reason = task
            break
        chosen.append(task)
    if not chosen:
        return reason
    due, late = state.rules.ends(now, chosen)
    for at, task in enumerate(chosen):
        state.record(now, "given", person.id, task, place=place + at, due=due, late=late)
    return _before(state, person, now)


def _next_task(
    state: State, person: Person, place: int, chosen: Sequence[int], most: int | None
) -> int | Without:
    """Choose the task of a place in a person's order, besides those that are chosen for the same page."""
    room = inf if most is None else most - person.places_used - len(chosen)
    if room <= 0:
        return "most"
    if state.rules.control_at(person.seed, place):
        had = {*person.tasks, *person.withheld, *chosen}
        if (control := state.rules.next_control(person.seed, had)) is not None:
            return control
    too_long = False
    for task in state.free_from(person, state.rules.start_at(person.seed, place), chosen):
        turns = state.turns_with(task)
        if all(state.open[turn] and not person.never_gets(turn) for turn in turns):
            if len(turns) <= room:
                return turns[0]
            too_long = True
    if too_long:
        return "most"
    return "wait" if _held_by_others(state, person) else "done"


def _held_by_others(state: State, person: Person) -> bool:
    """Whether a task that the person has not had is with somebody else, who may not answer it."""
    return any(
        holder is not person and assignment.counts and not person.never_gets(assignment.task)
        for holder, assignment in state.pending
    )


def _before(state: State, person: Person, now: int) -> list[Assignment]:
    """Return the tasks that a person has before them, in their order; empty if none was given."""
    page = [
        assignment
        for assignment in state.latest(person)
        if assignment.state == "open" and assignment.given is not None and not assignment.is_over(now)
    ]
    return sorted(page, key=attrgetter("place"))


def save_answers(state: State, person: Person, sent: Sequence[SentAnswer], now: int) -> dict[int, Taken]:
    """Save the answers of a page to items of the test, control items or the training.

    They share equally the time since the page was sent or a part of it was answered. After the last training item, the
    person is admitted or refused. They are stopped if too many of their answers to control items are wrong; the other
    answers of the page are saved before.

    Returns:
        Number of a task -> "saved"; "repeated" if it was answered so before; "answered_before" if it has another
        answer, which stays; "late" after the time limit; "passed_on" if the task went to somebody else in the meantime;
        "not_given" if they never had it.
    """
    asked = [person.tasks.get(answer.number) for answer in sent]
    if any(assignment is None or assignment.given is None for assignment in asked):  # a forged page
        return {answer.number: "not_given" for answer in sent}
    since, controls, trained = _page_since(state, person, sent), person.controls, person.trained
    taken = {answer.number: _why_not(state, person, answer, now) or "saved" for answer in sent}
    fresh = {answer.number: answer for answer in sent if taken[answer.number] == "saved"}
    for number in sorted(fresh):
        _save(state, person, fresh[number], now, since=since, among=len(fresh))
    dialogues = state.rules.dialogues
    if dialogues or (state.rules.on_screen > 1 and state.rules.time_limit is None):
        # Who has answered a part of a page keeps its other tasks for the time of a lease; so with the next turn of a
        # dialogue, until they ask for it.
        rest = [
            assignment.task
            for assignment in state.latest(person)
            if assignment.state == "open" and not assignment.is_over(now)
            and (assignment.given is None) is dialogues
        ]  # fmt: skip
        if rest:
            state.record(now, "renewed", person.id, tasks=rest, due=now + round(1000 * state.rules.lease))
    if person.trained > trained:
        _end_training(state, person, now)
    if person.controls > controls and state.rules.stops(person.controls, person.controls_right):
        _stop(state, person, now)
    return taken


def worst(taken: Mapping[int, Taken]) -> Taken:
    """Return what a person is told of the answers of a page."""
    return next(outcome for outcome in _FROM_WORST if outcome in taken.values())


def _save(
    state: State, person: Person, answer: SentAnswer, now: int, *, since: int | None, among: int
) -> None:
    judged = not state.rules.is_test(answer.number) and not answer.skipped
    given = person.tasks[answer.number].given or 0
    signals = measured(answer.signals, (now - given) / 1000) if answer.signals else None
    state.record(
        now, "answered", person.id, answer.number,
        seconds=(now - (given if since is None else since)) / (1000 * among),
        answer=answer.answer or None, right=state.study.is_right(answer.number, answer.answer) if judged else None,
        skipped=answer.skipped or None, comment=answer.comment, signals=signals,
    )  # fmt: skip


def _why_not(state: State, person: Person, answer: SentAnswer, now: int) -> Taken | None:
    """Tell why an answer is not taken; `None` if it can be: also after its time, while nobody else has the place."""
    assignment = person.tasks[answer.number]
    if assignment.state == "answered":
        same = (assignment.answer, assignment.skipped) == (answer.answer, answer.skipped)
        return "repeated" if same or state.rules.is_training(assignment.task) else "answered_before"
    if assignment.late is not None and now > assignment.late:
        if assignment.state == "open":
            state.record(now, "expired", person.id, assignment.task)
        return "late"
    if assignment.state == "open":
        return None
    if assignment.state != "expired" or state.rules.dialogues or not person.answers_tasks:
        return "passed_on"
    return None if not state.rules.is_test(assignment.task) or state.open[assignment.task] else "passed_on"


def _page_since(state: State, person: Person, sent: Sequence[SentAnswer]) -> int | None:
    """Return when a person last answered tasks of the page of some tasks; `None` before the first ones."""
    if state.rules.on_screen == 1:
        return None
    pages = {person.tasks[answer.number].given for answer in sent}
    page = [assignment for task in person.order if (assignment := person.tasks[task]).given in pages]
    return max((assignment.answered for assignment in page if assignment.answered is not None), default=None)


def tasks_that_count_again(state: State, person: Person) -> tuple[list[int], int]:
    """Return the answered tasks of a person whose places are still free, and how many have gone to others.

    A dialogue counts again as a whole, if the person gave all its answers and all its places are free.
    """
    lost = [task for task in person.order if state.rules.is_test(task)]
    lost = sorted(
        task
        for task in lost
        if (assignment := person.tasks[task]).state == "answered" and not assignment.counts
    )
    free = {task for task in lost if state.open[task]}
    again = [task for task in lost if free.issuperset(state.turns_with(task))]
    return again, len(lost) - len(again)


def return_overdue(state: State, now: int) -> int:
    """Give the places of tasks that were not answered in time back to others; return their number.

    All places of a person go back if the baseline would exclude them and they have done nothing for the time of a
    lease. If they come back, they take the places that are still free.
    """
    places = 0
    overdue = [(task.task, holder.id) for holder, task in state.pending if task.is_over(now)]
    for task, holder in sorted(overdue):
        if task in state.people[holder].open:  # else it has gone with its dialogue
            state.record(now, "expired", holder, task)
            places += 1
    since = now - round(1000 * state.rules.lease)
    for person in [*state.people.values()]:
        away = (
            person.stage == "working"
            and not since <= person.last_seen <= now
            and person.controls_right < person.controls
        )
        if away and state.rules.excludes(person.controls, person.controls_right):
            counted = sum(assignment.counts for assignment in person.tasks.values())
            if counted:
                state.record(now, "released", person.id)
                places += counted
    return places


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


def _end_training(state: State, person: Person, now: int) -> None:
    """Admit or refuse a person who has answered the last training item."""
    plan, items = state.study.folder.plan.training, len(training_of(state.study, person))
    if plan and person.stage == "training" and person.trained >= items:
        admitted = person.trained_right >= plan.needed(items)
        _move(state, person, "working" if admitted else "refused", now)


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
    page = _before(state, person, now)
    return _shown(state, person, page, now) if page else None


def next_task(state: State, person: Person, now: int) -> ShownTask | Without | Literal["paused"]:
    """Give a person their next task, or again the one that they have before them.

    A person whom the baseline would exclude gets back the places that they lost while they were away; if there is
    no further task for them, all their places go to others.
    """
    if state.paused:
        return "paused"
    excluded = state.rules.excludes(person.controls, person.controls_right)
    if excluded and (again := tasks_that_count_again(state, person)[0]):
        state.record(now, "reinstated", person.id, tasks=again)
    page = _give(state, person, now)
    if isinstance(page, list):
        if person.stage == "finished":
            _move(state, person, "working", now)
        return _shown(state, person, page, now)
    if excluded and page != "wait":
        _stop(state, person, now)
    elif page != "wait" and person.stage == "working":
        _move(state, person, "finished", now)
    return page


def most_tasks(study: ServedStudy) -> int:
    """Return the most tasks of a person whom a platform pays for one sitting.

    The plan's items per person, up to whole dialogues, at most those that there are, and control items.
    """
    turns = study.longest_dialogue
    items = min(turns * ceil(study.arm.items_per_person / turns), study.rules.tests)
    return _with_controls(study, items, study.rules.controls)


def _with_controls(study: ServedStudy, tests: int, controls: int) -> int:
    """Return the number of tasks with so many items of the test, if there are so many control items."""
    rules = study.rules
    if not rules.every or rules.dialogues:
        return tests
    return tests + min(controls, ceil(tests / (rules.every - 1)))


def most_answers(study: ServedStudy, person: Person) -> int | None:
    """Return the most tasks of a person; `None` for those who may go on as long as there are items."""
    return most_tasks(study) if person.from_platform else None


def most_places(study: ServedStudy, person: Person) -> int:
    """Return the most tasks that a person can get: it tells them how far they are.

    Fewer are left if others answer the items first.
    """
    rules, most = study.rules, most_answers(study, person)
    tests = rules.tests - sum(map(rules.is_test, person.withheld))
    controls = rules.controls - sum(map(rules.is_control, person.withheld))
    everything = _with_controls(study, tests, controls)
    return everything if most is None else min(everything, most)


def is_complete(state: State, person: Person) -> bool:
    """Return whether a person has answered as many items as the plan wants of each, or as many tasks as promised.

    Control items come in place of items that were skipped or whose time ran out. A dialogue that is broken off goes to
    others, and its answers make no part complete.
    """
    items, rules = min(state.study.arm.items_per_person, state.rules.tests), state.rules
    whole = not rules.dialogues or all(person.tasks[task].state == "answered" for task in person.order)
    return (whole and person.answers >= items) or person.answers + person.controls >= most_tasks(state.study)


def stage_now(state: State, person: Person) -> Stage:
    """Return a person's stage: they are finished if their part is complete or no item is left, before they ask."""
    if person.stage != "working" or not person.answers:
        return person.stage
    if is_complete(state, person):
        return "finished"
    left = person.open or next(state.free_from(person, 0), None) is not None or _held_by_others(state, person)
    return "working" if left else "finished"


def _shown(state: State, person: Person, page: Sequence[Assignment], now: int) -> ShownTask:
    first, *beside = page
    left = None if first.late is None else max(0.0, (first.late - now) / 1000 - state.rules.grace)
    turns = state.turns_with(first.task)
    earlier = tuple(
        (turn, person.tasks[turn].answer or "")
        for turn in turns[: turns.index(first.task)]
        if person.tasks[turn].state == "answered"
    )
    more = tuple(_shown(state, person, [assignment], now) for assignment in beside)
    return ShownTask(first.task, first.place, left=left, earlier=earlier, beside=more)


def _stop(state: State, person: Person, now: int) -> None:
    state.record(
        now, "stopped", person.id, actor="server", right=person.controls_right, controls=person.controls
    )


def _move(state: State, person: Person, stage: Stage, now: int) -> None:
    state.record(now, "moved", person.id, to=stage)
