"""Who gets which task next, and which answers are taken: decisions that become events of a state."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from operator import attrgetter
from typing import Literal, TypeAlias

from merilo.site.state import Assignment, Person, State

Taken: TypeAlias = Literal["saved", "repeated", "late", "passed_on", "not_given"]
Without: TypeAlias = Literal["done", "wait", "most"]


@dataclass(frozen=True, slots=True)
class GivenTask:
    """A task that a person has before them.

    Attributes:
        task: its number in the study.
        place: its place in the person's order, from 1.
        late: when the study's time limit ends, in milliseconds since 1970; `None` without one.
        beside: the further tasks of the page.
    """

    task: int
    place: int
    late: int | None
    beside: tuple[GivenTask, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SentAnswer:
    """An answer that a form holds.

    Attributes:
        number: the task's number.
        answer: the answer; empty for a skipped item.
        skipped: whether the person skips the item because they may have written it; a skipped control item is
            not judged.
        comment: the person's remark on the item.
        signals: signals of help by AI, as JSON.
    """

    number: int
    answer: str
    skipped: bool = False
    comment: str | None = None
    signals: str | None = None


def give(state: State, person: Person, now: int, most: int | None = None) -> GivenTask | Without:
    """Give a person the tasks of their next page, or again those that they have not answered.

    Args:
        state: the study.
        person: the person.
        now: the time, in milliseconds since 1970.
        most: the most tasks of the person; those that ran out of time or were skipped are no part of it. `None`
            without a limit.

    Returns:
        The first task of the page, with the others beside it; "done" if the person can get no more, "wait" if
        all tasks left are with others, "most" if they reached the limit of tasks.
    """
    for assignment in state.latest(person):
        if (
            assignment.state == "open" and assignment.given is None
        ):  # the next turn of a dialogue, whose time starts now
            due, late = state.rules.ends(now, [assignment.task])
            state.record(now, "given", person.id, assignment.task, due=due, late=late)
        elif assignment.state == "open" and assignment.is_over(now):
            state.record(now, "expired", person.id, assignment.task)
    if (page := before(state, person, now)) is not None:
        return page
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
    page = before(state, person, now)
    assert page is not None  # noqa: S101 - just given
    return page


def _next_task(
    state: State, person: Person, place: int, chosen: Sequence[int], most: int | None
) -> int | Without:
    """Choose the task of a place in a person's order, besides those that are chosen for the same page."""
    used = sum(person.tasks[task].fills_place for task in person.order) if most is not None else 0
    if most is not None and used + len(chosen) >= most:
        return "most"
    if state.rules.control_at(person.seed, place):
        had = {*person.tasks, *person.withheld, *chosen}
        if (control := state.rules.next_control(person.seed, had)) is not None:
            return control
    for task in state.free_from(person, state.rules.start_at(person.seed, place), chosen):
        turns = state.turns_with(task)
        if all(state.open[turn] and not person.never_gets(turn) for turn in turns):
            return turns[0]
    return "wait" if _held_by_others(state, person) else "done"


def _held_by_others(state: State, person: Person) -> bool:
    """Whether a task that the person has not had is with somebody else, who may not answer it."""
    return any(
        holder != person.id and state.people[holder].tasks[task].counts and not person.never_gets(task)
        for holder, task in state.pending
    )


def before(state: State, person: Person, now: int) -> GivenTask | None:
    """Return the tasks that a person has before them; `None` if `give` has to be asked."""
    page = [
        GivenTask(assignment.task, assignment.place, assignment.late)
        for assignment in state.latest(person)
        if assignment.state == "open" and assignment.given is not None and not assignment.is_over(now)
    ]
    ordered = sorted(page, key=attrgetter("place"))
    return replace(ordered[0], beside=tuple(ordered[1:])) if ordered else None


def save(state: State, person: Person, sent: Sequence[SentAnswer], now: int) -> dict[int, Taken]:
    """Save the answers of a page.

    They share equally the time since the page was sent or a part of it was answered.

    Returns:
        Number of a task -> "saved"; "repeated" if it was answered before (the first answer stays); "late" after the
        time limit; "passed_on" if the task went to somebody else in the meantime; "not_given" if they never had it.
    """
    asked = [person.tasks.get(answer.number) for answer in sent]
    if any(assignment is None or assignment.given is None for assignment in asked):  # a forged page
        return {answer.number: "not_given" for answer in sent}
    since = _page_since(state, person, sent)
    taken = {
        answer.number: _save(state, person, answer, now, since=since, among=len(sent)) for answer in sent
    }
    if state.rules.on_screen > 1 and state.rules.time_limit is None:
        # Who has answered a part of a page keeps its other tasks for the time of a lease.
        rest = [
            assignment.task
            for assignment in state.latest(person)
            if assignment.state == "open" and not assignment.is_over(now)
        ]
        if rest:
            state.record(now, "renewed", person.id, tasks=rest, due=state.rules.ends(now, rest)[0])
    return taken


def _save(
    state: State, person: Person, answer: SentAnswer, now: int, *, since: int | None, among: int
) -> Taken:
    assignment = person.tasks.get(answer.number)
    refused = _why_not(state, person, assignment, now)
    if assignment is None or assignment.given is None or refused is not None:
        return refused or "not_given"
    judged = not state.rules.is_test(answer.number) and not answer.skipped
    state.record(
        now, "answered", person.id, answer.number,
        seconds=(now - (assignment.given if since is None else since)) / (1000 * among),
        answer=answer.answer or None, right=state.study.is_right(answer.number, answer.answer) if judged else None,
        skipped=answer.skipped or None, comment=answer.comment, signals=answer.signals,
    )  # fmt: skip
    return "saved"


def _why_not(state: State, person: Person, assignment: Assignment | None, now: int) -> Taken | None:
    """Tell why an answer is not taken; `None` if it can be: also after its time, while nobody else has the place."""
    if assignment is None or assignment.given is None:
        return "not_given"
    if assignment.state == "answered":
        return "repeated"
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
    """Return when a person sent the last answers of the page of some tasks; `None` before the first ones."""
    if state.rules.on_screen == 1:
        return None
    tasks = {answer.number for answer in sent}
    pages = {assignment.given for task in tasks if (assignment := person.tasks.get(task))}
    times = [
        assignment.answered
        for task in person.order
        if task not in tasks
        and (assignment := person.tasks[task]).given in pages
        and assignment.answered is not None
    ]
    return max(times, default=None)


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
    for holder, task in sorted(state.pending, key=lambda pair: (pair[1], pair[0])):
        assignment = state.people[holder].tasks[task]
        if assignment.state == "open" and assignment.is_over(now):
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
