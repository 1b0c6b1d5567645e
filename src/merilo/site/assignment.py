"""Who gets which task: the allocation of the annotation site.

Every method runs inside one transaction that its caller commits, and leaves this true for every task of the test:

    open = needed - number of its responses with `counts`,  open >= 0,  one response per person

`open` falls in the same statement that tests it (`UPDATE ... WHERE open > 0`), so a task is never given to
more people than it needs, however many of them ask at once and however often a request is repeated. A place
comes back when a task is not answered in time, when its person is stopped or excluded, and when a person
leaves whom the baseline would exclude.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from operator import attrgetter
from random import Random
from typing import Any, Final, Literal, TypeAlias

from sqlalchemy import (
    BigInteger,
    ColumnElement,
    Connection,
    Integer,
    Row,
    and_,
    bindparam,
    exists,
    func,
    insert,
    literal_column,
    select,
    update,
)

from merilo.people.quality.controls import ExclusionRule
from merilo.site.schema import ANSWERED, EXPIRED, OPEN, PERSON, RESPONSE, RETURNED, TASK, TEST
from merilo.studies.plan_checks import LEASE_MINUTES

_SCALE: Final = 2**64


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyRules:
    """How one group's tasks are given; everything comes from the frozen plan, except the times.

    Attributes:
        study: the number of the study in the database.
        seed: the seed of the study.
        overlap: how many people answer an item.
        tests: the number of items of the test; their tasks have the numbers from 0.
        controls: the number of control items, whose tasks follow.
        training: the number of training items, whose tasks follow.
        every: one task in so many is a control item; 0 without control items.
        min_accuracy: people with a lower accuracy on control items are stopped.
        min_controls: control items that a person answers before the baseline's rule can exclude them.
        stop_after: control items that a person answers before they can be stopped.
        threshold: the share of right answers to training items that admits a person.
        time_limit: seconds for a task; `None` without a limit.
        grace: seconds after the limit in which an answer is still taken, for the time on the network.
        lease: seconds after which a task that was not answered goes to somebody else.
        dialogues: whether the tasks are turns of dialogues, which one person answers in order.
        on_screen: how many tasks a page has; 1 in dialogues.
    """

    study: int
    seed: int
    overlap: int
    tests: int
    controls: int = 0
    training: int = 0
    every: int = 0
    min_accuracy: float = 0.5
    min_controls: int = 1
    stop_after: int = 5
    threshold: float = 0.8
    time_limit: float | None = None
    grace: float = 3.0
    lease: float = 60.0 * LEASE_MINUTES
    dialogues: bool = False
    on_screen: int = 1

    def control_at(self, seed: int, place: int) -> bool:
        """Return whether a control item comes at a place of a person's order.

        One place is drawn among each `every` places, so that people cannot count.

        Args:
            seed: the person's seed.
            place: the place, from 1.
        """
        if not self.controls or not self.every or self.dialogues:
            return False
        turn, at = divmod(place - 1, self.every)
        return turn < self.controls and at == self._number("control", seed, turn) % self.every

    def next_control(self, seed: int, had: Collection[int]) -> int | None:
        """Return the task of a person's next control item; they come in random order, and none comes twice.

        Args:
            seed: the person's seed.
            had: the tasks that the person has had, or never gets because they are of another domain.
        """
        random = Random(f"controls {self.seed} {seed}")  # noqa: S311 - an order that can be repeated, not a secret
        order = random.sample(range(self.controls), self.controls)
        return next((self.tests + one for one in order if self.tests + one not in had), None)

    def excludes(self, controls: int, right: int) -> bool:
        """Return whether the baseline would exclude a person with these answers to control items."""
        return bool(ExclusionRule(self.min_accuracy, self.min_controls).excluded(right, controls))

    def start_at(self, seed: int, place: int, ranks: int) -> int:
        """Return the rank from which a person's next task is searched: another random one at every place."""
        return self._number("start", seed, place) * ranks // _SCALE

    def _number(self, *words: object) -> int:
        text = " ".join(str(word) for word in (self.seed, *words))
        return int.from_bytes(blake2b(text.encode(), digest_size=8, person=b"merilo site").digest())


#: The rows of one person in one study; the row of one task among them.
OWN: Final = and_(RESPONSE.c.study == bindparam("of_study"), RESPONSE.c.person == bindparam("of_person"))
ONE: Final = and_(OWN, RESPONSE.c.task == bindparam("of_task"))
_TASK: Final = and_(TASK.c.study == bindparam("of_study"), TASK.c.number == bindparam("of_task"))

#: Written into the text, because a bound parameter would hide the partial index from the database.
_HAS_OPEN: Final = TASK.c.open > literal_column("0")
_IS_OPEN: Final = RESPONSE.c.state == literal_column(f"'{OPEN}'")

_AT: Final = bindparam("at", type_=BigInteger)
_SINCE: Final = bindparam("since", type_=BigInteger)
_HELD: Final = select(
    RESPONSE.c.task, RESPONSE.c.place, RESPONSE.c.state, RESPONSE.c.given, RESPONSE.c.due, RESPONSE.c.late
).where(OWN, RESPONSE.c.place > 0)

#: The tasks that a person has before them are among their latest ones; in a dialogue, the first turn without an answer.
_LATEST: Final = _HELD.order_by(RESPONSE.c.place.desc()).limit(bindparam("most", type_=Integer))
_NEXT_TURN: Final = _HELD.where(_IS_OPEN).order_by(RESPONSE.c.place).limit(1)
_FREE: Final = (
    select(TASK.c.number, TASK.c.dialogue)
    .where(TASK.c.study == bindparam("of_study"), _HAS_OPEN)
    .where(TASK.c.rank >= bindparam("low"), TASK.c.rank < bindparam("high"))
    .where(~exists().where(OWN, RESPONSE.c.task == TASK.c.number))
    .order_by(TASK.c.rank)
    .limit(1)
    .with_for_update(skip_locked=True, of=TASK)
)
_THEIRS: Final = RESPONSE.alias("theirs")
#: A task that a person has not had and that somebody else holds without an answer.
_HELD_BY_OTHERS: Final = (
    select(_THEIRS.c.task)
    .where(_THEIRS.c.study == bindparam("of_study"), _THEIRS.c.state == literal_column(f"'{OPEN}'"))
    .where(_THEIRS.c.counts, _THEIRS.c.person != bindparam("of_person"))
    .where(~exists().where(OWN, RESPONSE.c.task == _THEIRS.c.task))
    .limit(1)
)
_OVERDUE: Final = (
    select(RESPONSE.c.person, RESPONSE.c.task)
    .where(RESPONSE.c.study == bindparam("of_study"), _IS_OPEN, RESPONSE.c.due < _AT)
    .order_by(RESPONSE.c.task)
)
_THEIR_LATEST: Final = (
    select(func.coalesce(RESPONSE.c.answered, RESPONSE.c.given))
    .where(RESPONSE.c.study == PERSON.c.study, RESPONSE.c.person == PERSON.c.id)
    .order_by(RESPONSE.c.place.desc())
    .limit(1)
    .scalar_subquery()
)
#: People with wrong answers to control items who hold places and have neither got nor answered a task lately.
_AWAY: Final = (
    select(PERSON.c.id, PERSON.c.controls, PERSON.c.controls_right)
    .where(PERSON.c.study == bindparam("of_study"), PERSON.c.stage == "working")
    .where(PERSON.c.controls_right < PERSON.c.controls, _THEIR_LATEST < _AT)
    .where(
        exists().where(
            RESPONSE.c.study == PERSON.c.study, RESPONSE.c.person == PERSON.c.id, RESPONSE.c.counts
        )
    )
    .order_by(PERSON.c.id)
)

_SEND: Final = insert(RESPONSE)
_COUNT_CONTROL: Final = (
    update(PERSON)
    .where(PERSON.c.id == bindparam("of_person"))
    .values(controls=PERSON.c.controls + 1, controls_right=PERSON.c.controls_right + bindparam("points"))
)
_TAKE: Final = update(TASK).where(_TASK, _HAS_OPEN).values(open=TASK.c.open - 1)
_GIVE_BACK: Final = update(TASK).where(_TASK).values(open=TASK.c.open + 1)
_EXPIRE: Final = update(RESPONSE).where(ONE, _IS_OPEN).values(state=EXPIRED, counts=False)
_ANSWER: Final = (
    update(RESPONSE)
    .where(ONE, _IS_OPEN, RESPONSE.c.given.is_not(None), func.coalesce(RESPONSE.c.late, _AT) >= _AT)
    .values(
        state=ANSWERED,
        answered=_AT,
        seconds=(_AT - func.coalesce(_SINCE, RESPONSE.c.given))
        / (literal_column("1000.0") * bindparam("among")),
        answer=bindparam("text"),
        right=bindparam("is_right"),
        comment=bindparam("remark"),
        signals=bindparam("traces"),
    )
)


#: Stages in which a person gets tasks, if there are any.
AT_WORK: Final = frozenset({"working", "finished"})

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
        beside: the further tasks of the page.
    """

    task: int
    place: int
    given: int
    late: int | None
    beside: tuple[GivenTask, ...] = ()

    @classmethod
    def page(cls, tasks: Sequence[GivenTask]) -> GivenTask | None:
        """Return the first task of a page with the others beside it; `None` without tasks."""
        ordered = sorted(tasks, key=attrgetter("place"))
        return replace(ordered[0], beside=tuple(ordered[1:])) if ordered else None


@dataclass(frozen=True, slots=True)
class Allocation:
    """The allocation of one study's tasks, inside one transaction.

    Attributes:
        connection: an open transaction that writes.
        rules: the rules of the study.
        now: the time, in milliseconds since 1970.
        most: the most tasks of a person; `None` without a limit.
    """

    connection: Connection
    rules: StudyRules
    now: int
    most: int | None = None

    def give(self, person: int, seed: int) -> GivenTask | Without:
        """Give a person the tasks of their next page, or again those that they have not answered.

        Args:
            person: the person's number.
            seed: the person's seed.

        Returns:
            The first task of the page, with the others beside it; "done" if the person can get no more, "wait" if
            all tasks left are with others, "most" if they reached the limit of tasks.
        """
        latest = self._latest(person)
        held = [task for one in latest if (task := self._held(person, one)) is not None]
        if (page := GivenTask.page(held)) is not None:
            return page
        if self.rules.dialogues:
            latest = self._latest(person)  # a dialogue that ran out of time holds later places too
        given = self._give_one(person, seed, latest[0].place + 1 if latest else 1)
        if not isinstance(given, GivenTask) or self.rules.on_screen == 1:
            return given
        tasks = [given]
        while len(tasks) < self.rules.on_screen:
            following = self._give_one(person, seed, given.place + len(tasks))
            if not isinstance(following, GivenTask):
                break
            tasks.append(following)
        if self.rules.time_limit is not None and len(tasks) > 1:
            times = self._times(len(tasks))
            mine = RESPONSE.c.task.in_([one.task for one in tasks])
            self.connection.execute(update(RESPONSE).where(self._mine(person), mine).values(times))
            tasks = [replace(one, late=times["late"]) for one in tasks]
        return GivenTask.page(tasks) or given

    def _give_one(self, person: int, seed: int, place: int) -> GivenTask | Without:
        """Give a person the task of a place in their order."""
        if self.most is not None and place > self.most:
            return "most"
        if self.rules.control_at(seed, place):
            first = self.rules.tests
            controls = RESPONSE.c.task.between(first, first + self.rules.controls - 1)
            had = set(self.connection.scalars(select(RESPONSE.c.task).where(self._mine(person), controls)))
            if (control := self.rules.next_control(seed, had)) is not None:
                return self._send(person, control, place)
        while (found := self._free(person, seed, place)) is not None:
            task, dialogue = found
            if dialogue:
                if self._hold_dialogue(person, dialogue, place):
                    return self._held(person, self._latest(person)[0]) or "wait"
            elif self.connection.execute(_TAKE, self._task(task)).rowcount:
                return self._send(person, task, place)
        return "wait" if self._held_by_others(person) else "done"

    def before(self, person: int) -> GivenTask | None:
        """Return the tasks that a person has before them, without changing anything.

        `None` if `give` has to be asked.
        """
        return GivenTask.page([
            GivenTask(one.task, one.place, one.given, one.late)
            for one in self._latest(person)
            if one.state == OPEN and one.given is not None and not self._is_over(one)
        ])  # fmt: skip

    def page_since(self, person: int, tasks: Sequence[int]) -> int | None:
        """Return when a person sent the last answers of the page of some tasks; `None` before the first ones."""
        if self.rules.on_screen == 1:
            return None
        of_page = select(RESPONSE.c.given).where(self._mine(person), RESPONSE.c.task.in_(tasks))
        here = and_(self._mine(person), RESPONSE.c.given.in_(of_page), RESPONSE.c.task.not_in(tasks))
        since: int | None = self.connection.scalar(select(func.max(RESPONSE.c.answered)).where(here))
        return since

    def renew(self, person: int) -> None:
        """Let a person who has answered a part of a page keep its other tasks for the time of a lease."""
        if self.rules.on_screen > 1 and self.rules.time_limit is None:
            kept = and_(self._mine(person), _IS_OPEN, RESPONSE.c.due >= self.now)
            due = self.now + round(1000 * self.rules.lease)
            self.connection.execute(update(RESPONSE).where(kept).values(due=due))

    def save(
        self,
        person: int,
        task: int,
        answer: str,
        *,
        right: bool | None = None,
        comment: str | None = None,
        signals: str | None = None,
        since: int | None = None,
        among: int = 1,
    ) -> Taken:
        """Save an answer, once.

        Args:
            person: the person's number.
            task: the task's number.
            answer: the answer.
            right: whether the answer to a control item is right; `None` if it is not judged.
            comment: the person's remark on the item.
            signals: signals of help by AI, as JSON.
            since: when the time of the answer began. Default: when the task was sent.
            among: the number of answers that share this time equally, because they are sent together.

        Returns:
            "saved"; "repeated" if the task was answered before (the first answer stays); "late" after the
            time limit; "passed_on" if the task went to somebody else in the meantime; "not_given" if the
            person never had it.
        """
        own = self._one(person, task)
        values = {
            **own,
            "at": self.now,
            "text": answer,
            "is_right": right,
            "remark": comment,
            "traces": signals,
            "since": since,
            "among": among,
        }
        if not self.connection.execute(_ANSWER, values).rowcount:
            refused = self._why_not(self.connection.execute(select(RESPONSE).where(ONE), own).first())
            if refused is not None:
                return refused
            self.connection.execute(_ANSWER, values)
        control = self.rules.tests <= task < self.rules.tests + self.rules.controls
        if control and right is not None:
            self.connection.execute(_COUNT_CONTROL, {"of_person": person, "points": int(right)})
        return "saved"

    def release(self, person: int) -> int:
        """Give every place of a person back to others, the answered ones too; their answers stay, and count no more.

        Returns:
            The number of places.
        """
        mine = self._mine(person)
        freed = update(RESPONSE).where(mine, RESPONSE.c.counts).values(counts=False)
        held = sorted(self.connection.scalars(freed.returning(RESPONSE.c.task)))
        for task in held:
            self.connection.execute(_GIVE_BACK, self._task(task))
        self.connection.execute(update(RESPONSE).where(mine, RESPONSE.c.state == OPEN).values(state=RETURNED))
        return len(held)

    def reinstate(self, person: int) -> tuple[int, int]:
        """Let the answers of an excluded person count again where the items have not been given to others.

        A dialogue counts again as a whole, if the person gave all its answers and none of its turns was given
        to somebody else.

        Returns:
            How many answers count again, and how many are left over.
        """
        answered = and_(self._mine(person), RESPONSE.c.state == ANSWERED, ~RESPONSE.c.counts)
        given_up = and_(answered, RESPONSE.c.task < self.rules.tests, RESPONSE.c.place > 0)
        tasks = sorted(self.connection.scalars(select(RESPONSE.c.task).where(given_up)))
        if self.rules.dialogues:
            whole = self._whole_dialogues(set(tasks))
            self.connection.execute(
                update(RESPONSE).where(given_up, RESPONSE.c.task.in_(whole)).values(counts=True)
            )
            for task in whole:
                self.connection.execute(_TAKE, self._task(task))
            return len(whole), len(tasks) - len(whole)
        back = [task for task in tasks if self.connection.execute(_TAKE, self._task(task)).rowcount]
        for task in back:
            self.connection.execute(update(RESPONSE).where(ONE).values(counts=True), self._one(person, task))
        return len(back), len(tasks) - len(back)

    def return_overdue(self) -> int:
        """Give the places of tasks that were not answered in time back to others.

        All places of a person go back if the baseline would exclude them and they have done nothing for the
        time of a lease. If they come back, `reinstate` takes the places that are still free.

        Returns:
            The number of tasks.
        """
        here = {"of_study": self.rules.study}
        gone = self.connection.execute(_OVERDUE, {**here, "at": self.now}).all()
        for person, task in gone:
            self._expire(person, task)
        places = 0
        if self.rules.controls:
            since = self.now - round(1000 * self.rules.lease)
            for away in self.connection.execute(_AWAY, {**here, "at": since}).all():
                if self.rules.excludes(away.controls, away.controls_right):
                    places += self.release(away.id)
        return len(gone) + places

    def _mine(self, person: int) -> ColumnElement[bool]:
        return and_(RESPONSE.c.study == self.rules.study, RESPONSE.c.person == person)

    def _row(self, person: int, *, counts: bool) -> dict[str, object]:
        return {"study": self.rules.study, "person": person, "state": OPEN, "counts": counts}

    def _own(self, person: int) -> dict[str, int]:
        return {"of_study": self.rules.study, "of_person": person}

    def _task(self, task: int) -> dict[str, int]:
        return {"of_study": self.rules.study, "of_task": task}

    def _one(self, person: int, task: int) -> dict[str, int]:
        return {"of_study": self.rules.study, "of_person": person, "of_task": task}

    def _latest(self, person: int) -> Sequence[Row[*tuple[Any, ...]]]:
        """Return a person's latest tasks, as many as a page has; in a dialogue, the first turn that is not answered."""
        own = self._own(person)
        if self.rules.dialogues and (turn := self.connection.execute(_NEXT_TURN, own).first()) is not None:
            return [turn]
        return self.connection.execute(_LATEST, {**own, "most": self.rules.on_screen}).all()

    def _held(self, person: int, latest: Row[*tuple[Any, ...]]) -> GivenTask | None:
        """Return a task that a person has before them, or the next turn of their dialogue, whose time starts now."""
        if latest.state != OPEN:
            return None
        if latest.given is None or latest.due is None:
            times = self._times()
            self.connection.execute(update(RESPONSE).where(ONE).values(times), self._one(person, latest.task))
            return GivenTask(latest.task, latest.place, self.now, times["late"])
        if self._is_over(latest):
            self._expire(person, latest.task)
            return None
        return GivenTask(latest.task, latest.place, latest.given, latest.late)

    def _is_over(self, task: Row[*tuple[Any, ...]]) -> bool:
        return any(time is not None and self.now > time for time in (task.due, task.late))

    def _free(self, person: int, seed: int, place: int) -> tuple[int, int] | None:
        """Find a task (and its dialogue) that needs people and that the person has not had, from a random rank on."""
        start = self.rules.start_at(seed, place, RANKS)
        for low, high in ((start, RANKS), (0, start)):
            found = self.connection.execute(_FREE, {**self._own(person), "low": low, "high": high}).first()
            if found is not None:
                return found[0], found[1]
        return None

    def _send(self, person: int, task: int, place: int) -> GivenTask:
        times = self._times()
        sent = {**self._row(person, counts=task < self.rules.tests), "task": task, "place": place}
        self.connection.execute(_SEND, {**sent, **times})
        return GivenTask(task, place, self.now, times["late"])

    def _times(self, tasks: int = 1) -> dict[str, int | None]:
        """Return when the tasks of a page are sent, when they go back to others, and when their time limit ends."""
        limit = self.rules.time_limit
        seconds = self.rules.lease if limit is None else tasks * limit + self.rules.grace
        due = self.now + round(1000 * seconds)
        return {"given": self.now, "due": due, "late": None if limit is None else due}

    def _expire(self, person: int, task: int) -> None:
        """Take a task away that was not answered in time.

        A dialogue goes as a whole: its next person has to give every answer.
        """
        if self.rules.dialogues:
            self._drop_dialogue(person, task)
            return
        if self.connection.execute(_EXPIRE, self._one(person, task)).rowcount and task < self.rules.tests:
            self.connection.execute(_GIVE_BACK, self._task(task))

    def _why_not(self, found: Row[*tuple[Any, ...]] | None) -> Taken | None:
        """Tell why an answer is not taken; `None` if it can be taken now, after its task was taken again."""
        if found is None or found.given is None:
            return "not_given"
        if found.state == ANSWERED:
            return "repeated"
        if found.late is not None and self.now > found.late:
            self._expire(found.person, found.task)
            return "late"
        test = found.task < self.rules.tests
        stage = self.connection.scalar(select(PERSON.c.stage).where(PERSON.c.id == found.person))
        if found.state != EXPIRED or self.rules.dialogues or stage not in AT_WORK:
            return "passed_on"
        if test and not self.connection.execute(_TAKE, self._task(found.task)).rowcount:
            return "passed_on"
        again = update(RESPONSE).where(ONE).values(state=OPEN, counts=test)
        self.connection.execute(again, self._one(found.person, found.task))
        return None

    def _held_by_others(self, person: int) -> bool:
        """Whether a task that the person has not had is with somebody else, who may not answer it."""
        return self.connection.execute(_HELD_BY_OTHERS, self._own(person)).first() is not None

    def _hold_dialogue(self, person: int, dialogue: int, place: int) -> bool:
        """Take a place of every turn of a dialogue for one person; whether all of them were free."""
        here = and_(TASK.c.study == self.rules.study, TASK.c.dialogue == dialogue)
        query = select(TASK.c.number, TASK.c.open).where(here).order_by(TASK.c.turn, TASK.c.number)
        turns = self.connection.execute(query.with_for_update()).all()
        if not all(turn.open for turn in turns):
            return False
        self.connection.execute(update(TASK).where(here).values(open=TASK.c.open - 1))
        held = self._row(person, counts=True)
        rows = [{**held, "task": turn.number, "place": place + at} for at, turn in enumerate(turns)]
        self.connection.execute(_SEND, rows)
        return True

    def _whole_dialogues(self, tasks: set[int]) -> list[int]:
        """Return those of the tasks whose dialogue is complete among them and has no turn without an open place."""
        query = select(TASK.c.number, TASK.c.dialogue, TASK.c.open).where(TASK.c.study == self.rules.study)
        turns = self.connection.execute(query.order_by(TASK.c.number).with_for_update()).all()
        # An item outside dialogues is one of its own.
        of = {turn.number: turn.dialogue or -turn.number for turn in turns}
        broken = {of[turn.number] for turn in turns if not turn.open or turn.number not in tasks}
        return [number for number, dialogue in of.items() if dialogue not in broken]

    def _drop_dialogue(self, person: int, task: int) -> None:
        here = TASK.c.study == self.rules.study
        dialogue = select(TASK.c.dialogue).where(here, TASK.c.number == task).scalar_subquery()
        turns = select(TASK.c.number).where(here, TASK.c.dialogue == dialogue)
        mine = and_(self._mine(person), RESPONSE.c.task.in_(turns))
        held = self.connection.scalars(select(RESPONSE.c.task).where(mine, RESPONSE.c.counts)).all()
        for one in sorted(held):
            self.connection.execute(_GIVE_BACK, self._task(one))
        self.connection.execute(update(RESPONSE).where(mine, RESPONSE.c.state == OPEN).values(state=EXPIRED))
        self.connection.execute(update(RESPONSE).where(mine).values(counts=False))


def below_threshold(rules: StudyRules, controls: int, right: int) -> bool:
    """Whether a person has answered enough control items, and too many of them wrongly."""
    return controls >= rules.stop_after and rules.excludes(controls, right)


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
        needed = rules.overlap if test else 0
        dialogue, turn = turns[number] if test else (0, 0)
        yield {
            "study": rules.study, "number": number, "kind": kind, "needed": needed, "open": needed,
            "rank": ranks[number], "dialogue": dialogue, "turn": turn,
        }  # fmt: skip
