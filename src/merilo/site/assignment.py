"""Who gets which task: the allocation of the annotation site.

Every method runs inside one transaction that its caller commits, and leaves this true for every task of the test:

    open = needed - number of its responses with `counts`,  open >= 0,  one response per person

With adaptive overlap `needed` begins at `start` and grows by one whenever all places are answered and the answers differ, up to `limit`. So
an item of the test without open places and without unanswered ones has equal answers, or `limit` of them.

`open` falls in the same statement that tests it (`UPDATE ... WHERE open > 0`), so a task is never given to more people than it needs, however
many of them ask at once and however often a request is repeated. A place comes back when a task is not answered in time, and when its
person is stopped or excluded.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, NamedTuple, TypeAlias

from sqlalchemy import (
    Connection,
    Row,
    and_,
    insert,
    select,
    update,
)

from merilo.site.adaptive_allocation import widen
from merilo.site.allocation_statements import (
    ANSWER,
    COUNT_CONTROL,
    EXPIRE,
    FREE,
    GIVE_BACK,
    HELD_BY_OTHERS,
    LATEST,
    NEXT_TURN,
    ONE,
    OVERDUE,
    SEND,
    TAKE,
)
from merilo.site.schema import ANSWERED, EXPIRED, OPEN, RESPONSE, RETURNED, TASK, TEST
from merilo.site.study_rules import StudyRules

Taken: TypeAlias = Literal["saved", "repeated", "late", "passed_on", "not_given"]
Without: TypeAlias = Literal["done", "wait", "most"]

#: The ranks of tasks are drawn from 0 to this number.
RANKS: Final = 2**31 - 1


@dataclass(frozen=True, slots=True)
class GivenTask:
    """A task that a person has before them.

    Attributes:
        task: its number in the study.
        place: its place in the person's order, from 1.
        given: when it was sent, in milliseconds since 1970.
        late: when the study's time limit ends; `None` without one.
    """

    task: int
    place: int
    given: int
    late: int | None


class _Latest(NamedTuple):
    """A row of `LATEST` and `NEXT_TURN`."""

    task: int
    place: int
    state: str
    given: int | None
    due: int | None
    late: int | None


@dataclass(frozen=True, slots=True)
class Allocation:
    """The allocation of one study's tasks, inside one transaction.

    Attributes:
        connection: an open transaction that writes.
        rules: the rules of the study.
        now: the time, in milliseconds since 1970.
    """

    connection: Connection
    rules: StudyRules
    now: int

    def give(self, person: int, seed: int) -> GivenTask | Without:
        """Give a person their next task, or again the one that they have not answered.

        Args:
            person: the person's number.
            seed: the person's seed.

        Returns:
            The task; "done" if the person can get no more, "wait" if all tasks left are with others, "most" if they reached the limit
            of tasks.
        """
        latest = self._latest(person)
        held = self._held(person, latest)
        if held is not None:
            return held
        if self.rules.dialogues:
            latest = self._latest(person)  # a dialogue that ran out of time holds later places too
        place = latest.place + 1 if latest else 1
        if self.rules.most is not None and place > self.rules.most:
            return "most"
        control = self.rules.control_at(seed, place)
        if control is not None:
            return self._send(person, control, place)
        while (found := self._free(person, seed, place)) is not None:
            task, dialogue = found
            if dialogue:
                if self._hold_dialogue(person, dialogue, place):
                    return self._held(person, self._latest(person)) or "wait"
            elif TAKE.run(self.connection, self._task(task)).rowcount:
                return self._send(person, task, place)
        return "wait" if self._held_by_others(person) else "done"

    def before(self, person: int) -> GivenTask | None:
        """Return the task that a person has before them, without changing anything; `None` if `give` has to be asked."""
        latest = self._latest(person)
        if latest is None or latest.state != OPEN or latest.given is None or self._is_over(latest):
            return None
        return GivenTask(latest.task, latest.place, latest.given, latest.late)

    def save(
        self, person: int, task: int, answer: str, *, right: bool | None = None, comment: str | None = None
    ) -> Taken:
        """Save an answer, once.

        Args:
            person: the person's number.
            task: the task's number.
            answer: the answer.
            right: whether the answer to a control item is right; `None` if it is not judged.
            comment: the person's remark on the item.

        Returns:
            "saved"; "repeated" if the task was answered before (the first answer stays); "late" after the time limit; "passed_on" if the
            task went to somebody else in the meantime; "not_given" if the person never had it.
        """
        own = self._one(person, task)
        values = {**own, "at": self.now, "text": answer, "is_right": right, "remark": comment}
        if not ANSWER.run(self.connection, values).rowcount:
            refused = self._why_not(self.connection.execute(select(RESPONSE).where(ONE), own).first())
            if refused is not None:
                return refused
            ANSWER.run(self.connection, values)
        control = self.rules.tests <= task < self.rules.tests + self.rules.controls
        if control and right is not None:
            COUNT_CONTROL.run(self.connection, {"number": person, "points": int(bool(right))})
        else:
            widen(self.connection, self.rules, task)
        return "saved"

    def release(self, person: int) -> int:
        """Give every place of a person back to others, the answered ones too; their answers stay, and count no more.

        Returns:
            The number of places.
        """
        mine = and_(RESPONSE.c.study == self.rules.study, RESPONSE.c.person == person)
        freed = update(RESPONSE).where(mine, RESPONSE.c.counts).values(counts=False)
        held = sorted(self.connection.scalars(freed.returning(RESPONSE.c.task)))
        for task in held:
            GIVE_BACK.run(self.connection, self._task(task))
        self.connection.execute(update(RESPONSE).where(mine, RESPONSE.c.state == OPEN).values(state=RETURNED))
        return len(held)

    def reinstate(self, person: int) -> tuple[int, int]:
        """Let the answers of an excluded person count again where the items have not been given to others.

        A dialogue counts again as a whole, if the person gave all its answers and none of its turns was given to somebody else.

        Returns:
            How many answers count again, and how many are left over.
        """
        given_up = and_(
            RESPONSE.c.study == self.rules.study, RESPONSE.c.person == person, RESPONSE.c.state == ANSWERED, ~RESPONSE.c.counts,
            RESPONSE.c.task < self.rules.tests, RESPONSE.c.place > 0,
        )  # fmt: skip
        tasks = sorted(self.connection.scalars(select(RESPONSE.c.task).where(given_up)))
        if self.rules.dialogues:
            whole = self._whole_dialogues(set(tasks))
            self.connection.execute(
                update(RESPONSE).where(given_up, RESPONSE.c.task.in_(whole)).values(counts=True)
            )
            for task in whole:
                TAKE.run(self.connection, self._task(task))
            return len(whole), len(tasks) - len(whole)
        back = [task for task in tasks if TAKE.run(self.connection, self._task(task)).rowcount]
        for task in back:
            self.connection.execute(update(RESPONSE).where(ONE).values(counts=True), self._one(person, task))
            widen(self.connection, self.rules, task)
        return len(back), len(tasks) - len(back)

    def return_overdue(self) -> int:
        """Give the places of tasks that were not answered in time back to others.

        Returns:
            The number of tasks.
        """
        gone = OVERDUE.run(self.connection, {"of_study": self.rules.study, "at": self.now}).fetchall()
        for person, task in gone:
            self._expire(person, task)
        return len(gone)

    def _own(self, person: int) -> dict[str, int]:
        return {"of_study": self.rules.study, "of_person": person}

    def _task(self, task: int) -> dict[str, int]:
        return {"of_study": self.rules.study, "of_task": task}

    def _one(self, person: int, task: int) -> dict[str, int]:
        return {"of_study": self.rules.study, "of_person": person, "of_task": task}

    def _latest(self, person: int) -> _Latest | None:
        """Return the latest task of a person; in a dialogue, the first turn that is not answered."""
        own = self._own(person)
        if self.rules.dialogues and (turn := NEXT_TURN.run(self.connection, own).fetchone()) is not None:
            return _Latest(*turn)
        found = LATEST.run(self.connection, own).fetchone()
        return None if found is None else _Latest(*found)

    def _held(self, person: int, latest: _Latest | None) -> GivenTask | None:
        """Return the task that a person has before them, or the next turn of their dialogue, whose time starts now."""
        if latest is None or latest.state != OPEN:
            return None
        if latest.given is None or latest.due is None:
            due, late = self._times()
            times = update(RESPONSE).where(ONE).values(given=self.now, due=due, late=late)
            self.connection.execute(times, self._one(person, latest.task))
            return GivenTask(latest.task, latest.place, self.now, late)
        if self._is_over(latest):
            self._expire(person, latest.task)
            return None
        return GivenTask(latest.task, latest.place, latest.given, latest.late)

    def _is_over(self, task: _Latest) -> bool:
        return any(time is not None and self.now > time for time in (task.due, task.late))

    def _free(self, person: int, seed: int, place: int) -> tuple[int, int] | None:
        """Find a task (and its dialogue) that needs people and that the person has not had, from a random rank on."""
        start = self.rules.start_at(seed, place, RANKS)
        for low, high in ((start, RANKS), (0, start)):
            found = FREE.run(self.connection, {**self._own(person), "low": low, "high": high}).fetchone()
            if found is not None:
                return found[0], found[1]
        return None

    def _send(self, person: int, task: int, place: int) -> GivenTask:
        due, late = self._times()
        values = {
            "b_study": self.rules.study, "b_person": person, "b_task": task, "b_place": place, "b_counts": task < self.rules.tests,
            "b_given": self.now, "b_due": due, "b_late": late,
        }  # fmt: skip
        SEND.run(self.connection, values)
        return GivenTask(task, place, self.now, late)

    def _times(self) -> tuple[int, int | None]:
        """Return when a task goes back to others, and when the time limit ends."""
        if self.rules.time_limit is None:
            return self.now + round(1000 * self.rules.lease), None
        late = self.now + round(1000 * (self.rules.time_limit + self.rules.grace))
        return late, late

    def _expire(self, person: int, task: int) -> None:
        """Take a task away that was not answered in time. A dialogue goes as a whole: its next person has to give every answer."""
        if self.rules.dialogues:
            self._drop_dialogue(person, task)
            return
        if EXPIRE.run(self.connection, self._one(person, task)).rowcount and task < self.rules.tests:
            GIVE_BACK.run(self.connection, self._task(task))

    def _why_not(self, found: Row[Any, Any] | None) -> Taken | None:
        """Tell why an answer is not taken; `None` if it can be taken now, after its task was taken again."""
        if found is None or found.given is None:
            return "not_given"
        if found.state == ANSWERED:
            return "repeated"
        if found.late is not None and self.now > found.late:
            self._expire(found.person, found.task)
            return "late"
        test = found.task < self.rules.tests
        if found.state != EXPIRED or self.rules.dialogues:
            return "passed_on"
        if test and not TAKE.run(self.connection, self._task(found.task)).rowcount:
            return "passed_on"
        again = update(RESPONSE).where(ONE).values(state=OPEN, counts=test)
        self.connection.execute(again, self._one(found.person, found.task))
        return None

    def _held_by_others(self, person: int) -> bool:
        """Whether a task that the person has not had is with somebody else, who may not answer it."""
        return HELD_BY_OTHERS.run(self.connection, self._own(person)).fetchone() is not None

    def _hold_dialogue(self, person: int, dialogue: int, place: int) -> bool:
        """Take a place of every turn of a dialogue for one person; whether all of them were free."""
        here = and_(TASK.c.study == self.rules.study, TASK.c.dialogue == dialogue)
        turns = self.connection.execute(
            select(TASK.c.number, TASK.c.open)
            .where(here)
            .order_by(TASK.c.turn, TASK.c.number)
            .with_for_update()
        ).all()
        if not all(turn.open for turn in turns):
            return False
        self.connection.execute(update(TASK).where(here).values(open=TASK.c.open - 1))
        held = {"study": self.rules.study, "person": person, "state": OPEN, "counts": True}
        self.connection.execute(
            insert(RESPONSE),
            [{**held, "task": turn.number, "place": place + at} for at, turn in enumerate(turns)],
        )
        return True

    def _whole_dialogues(self, tasks: set[int]) -> list[int]:
        """Return those of the tasks whose dialogue is complete among them and has no turn without an open place."""
        query = select(TASK.c.number, TASK.c.dialogue, TASK.c.open).where(TASK.c.study == self.rules.study)
        turns = self.connection.execute(query.order_by(TASK.c.number).with_for_update()).all()
        of = {
            turn.number: turn.dialogue or -turn.number for turn in turns
        }  # an item outside dialogues is one of its own
        broken = {of[turn.number] for turn in turns if not turn.open or turn.number not in tasks}
        return [number for number, dialogue in of.items() if dialogue not in broken]

    def _drop_dialogue(self, person: int, task: int) -> None:
        dialogue = (
            select(TASK.c.dialogue)
            .where(TASK.c.study == self.rules.study, TASK.c.number == task)
            .scalar_subquery()
        )
        turns = select(TASK.c.number).where(TASK.c.study == self.rules.study, TASK.c.dialogue == dialogue)
        mine = and_(
            RESPONSE.c.study == self.rules.study, RESPONSE.c.person == person, RESPONSE.c.task.in_(turns)
        )
        held = self.connection.scalars(select(RESPONSE.c.task).where(mine, RESPONSE.c.counts)).all()
        for one in sorted(held):
            GIVE_BACK.run(self.connection, self._task(one))
        self.connection.execute(update(RESPONSE).where(mine, RESPONSE.c.state == OPEN).values(state=EXPIRED))
        self.connection.execute(update(RESPONSE).where(mine).values(counts=False))


def below_threshold(rules: StudyRules, controls: int, right: int) -> bool:
    """Whether a person has answered enough control items, and too many of them wrongly."""
    return controls >= rules.stop_after and right < rules.min_accuracy * controls


def tasks_of_rules(
    rules: StudyRules, ranks: Sequence[int], turns: Sequence[tuple[int, int]]
) -> Iterator[dict[str, int]]:
    """Make the rows of the table of tasks for a study that begins.

    Args:
        rules: the rules of the study.
        ranks: a random rank for every task, from 0 to `RANKS` - 1.
        turns: the dialogue and the turn of every item of the test; (0, 0) without dialogues.
    """
    for number in range(rules.tests + rules.controls + rules.training):
        test = number < rules.tests
        kind = TEST if test else (1 if number < rules.tests + rules.controls else 2)
        needed = rules.needed(number) if test else 0
        dialogue, turn = turns[number] if test else (0, 0)
        yield {
            "study": rules.study, "number": number, "kind": kind, "needed": needed, "open": needed,
            "rank": ranks[number], "dialogue": dialogue, "turn": turn,
        }  # fmt: skip
