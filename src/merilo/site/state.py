"""Who has which task: the fold of a study's events.

`State.apply` alone changes a state, and it depends on nothing but the event. So the state that a server holds in
memory is the one that anybody reads from the log, and this is true after every event, for every task of the test:

    open = overlap - number of people who hold a place of it,  open >= 0,  one answer of a person
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from random import Random
from typing import Final, Literal, NamedTuple, TypeAlias

from merilo.errors import DataError
from merilo.files import collecting_later
from merilo.site.journal import Event, Journal, LogEntry
from merilo.site.served_study import RANKS, ServedStudy

#: What a person does next.
#:
#:     consent -> questions -> instruction -> training -> working <-> finished
#:        |                                      |           |
#:     declined                               refused     stopped         (and `excluded`, by the author)
Stage: TypeAlias = Literal[
    "consent", "declined", "questions", "instruction", "training", "working", "finished", "refused", "stopped",
    "excluded",
]  # fmt: skip

#: Stages in which a person gets tasks, if there are any.
AT_WORK: Final = frozenset({"working", "finished"})

#: What became of a task: sent and not answered; answered; its time ran out; given back.
TaskState: TypeAlias = Literal["open", "answered", "expired", "returned"]


class Assignment(NamedTuple):
    """A task that a person was given.

    Attributes:
        task: its number in the study.
        place: its place in the person's order, from 1; 0 in the training.
        state: what became of it.
        counts: whether it holds one of the task's places.
        given: when it was sent, in milliseconds since 1970; `None` for a later turn of a dialogue.
        due: when it goes back to others; `None` if it does not.
        late: when the study's time limit ends; `None` without one.
        answered: when it was answered.
        seconds: the time of the answer.
        answer: the answer.
        right: whether the answer to a control or training item is right; `None` if it is not judged.
        skipped: whether the person skipped the item because they may have written it.
        comment: the person's remark.
        signals: signals of help by AI, as JSON.
    """

    task: int
    place: int
    state: TaskState
    counts: bool
    given: int | None = None
    due: int | None = None
    late: int | None = None
    answered: int | None = None
    seconds: float | None = None
    answer: str | None = None
    right: bool | None = None
    skipped: bool = False
    comment: str | None = None
    signals: str | None = None

    @property
    def is_answer(self) -> bool:
        """Return whether it was answered, and not skipped."""
        return self.state == "answered" and not self.skipped

    def is_over(self, now: int) -> bool:
        """Return whether its time ran out; so has one that a wrong clock sent in the future."""
        ends = (end for end in (self.due, self.late) if end is not None)
        return any(now > end for end in ends) or (self.due is not None and (self.given or 0) > now)


@dataclass(slots=True)
class Person:
    """A person in a study.

    Attributes:
        id: a random id, which cookies carry.
        pseudonym: the name under which the answers are published.
        source: how they came in: link, expert, or the platform's name.
        external: their id or name there.
        language: the language of the pages.
        seed: the seed of the person's order.
        created: when they came, in milliseconds since 1970.
        stage: what comes next.
        before: the stage before they were excluded, to which they return.
        reason: why they were stopped or excluded.
        answers: answers to items of the test, without skipped ones.
        seconds: the times of the answers to items of the test and control items, skipped ones too.
        controls: answered control items.
        controls_right: right ones among them.
        trained: answered training items.
        trained_right: right ones among them.
        completion: the code that a platform pays for.
        declared: what they declared about help by AI; `None` if nothing.
        background: question -> place of the chosen option; `None` if it was declined.
        tasks: the tasks that they were given, by number.
        order: the tasks without the training, in the order of their places.
        open: the tasks that were sent and are not answered.
        withheld: own tasks, and those of other domains, which they never get: number -> "own" or "foreign".
        last_seen: when they last came, got or answered a task.
    """

    id: str
    pseudonym: str
    source: str
    external: str
    language: str
    seed: int
    created: int
    stage: Stage = "consent"
    before: Stage | None = None
    reason: str | None = None
    answers: int = 0
    seconds: list[float] = field(default_factory=list)
    controls: int = 0
    controls_right: int = 0
    trained: int = 0
    trained_right: int = 0
    completion: str | None = None
    declared: str | None = None
    background: Mapping[str, int | None] = field(default_factory=dict)
    tasks: dict[int, Assignment] = field(default_factory=dict)
    order: list[int] = field(default_factory=list)
    open: set[int] = field(default_factory=set)
    withheld: Mapping[int, str] = field(default_factory=dict)
    last_seen: int = 0

    @property
    def from_platform(self) -> bool:
        """Return whether a platform sent the person; others were invited."""
        return self.source not in {"link", "expert"}

    @property
    def places_used(self) -> int:
        """Return how many of the person's most tasks are used: by answers, and by tasks that may become one."""
        return self.answers + self.controls + len(self.open)

    @property
    def answers_tasks(self) -> bool:
        """Return whether the person gets tasks, if there are any."""
        return self.stage in AT_WORK

    def never_gets(self, task: int) -> bool:
        """Return whether a task cannot be given to the person."""
        return task in self.tasks or task in self.withheld


@dataclass(slots=True)
class Invitation:
    """An invitation; the log keeps the hash of its code.

    Attributes:
        hash: the hash of its code.
        name: the expert whom it is for; `None` for a link without a name.
        domains: the domains whose items they get; empty for all.
        created: when it was made, in milliseconds since 1970.
        person: the id of the person who came in with it.
        revoked: whether it opens nothing any more.
    """

    hash: str
    name: str | None
    domains: tuple[str, ...]
    created: int
    person: str | None = None
    revoked: bool = False


class State:
    """A served study and everything that happened in it.

    Args:
        study: the study.
        events: its events, in their order.

    Attributes:
        people: id -> person.
        invitations: hash of the code -> invitation.
        open: shape (items of the test,), how many people an item still needs.
        paused: whether the author paused the study.
        content: the hash of the tasks and settings of the first event; empty before it.
    """

    def __init__(self, study: ServedStudy, events: Iterable[Event] = ()) -> None:
        self.study = study
        self.rules = study.rules
        self.people: dict[str, Person] = {}
        self.invitations: dict[str, Invitation] = {}
        self.open = [self.rules.overlap] * self.rules.tests
        self.paused = False
        self.content = ""
        self._fresh: list[Event] = []  # and whom the log must forget before
        self._forgotten: tuple[str, frozenset[str]] = ("", frozenset())
        self._by_source: dict[tuple[str, str], str] = {}
        chance = Random(f"ranks {study.folder.plan.seed} {study.key}")  # noqa: S311 - an order that can be repeated
        self._rank = [chance.randrange(RANKS) for _ in study.tasks][: self.rules.tests]
        self._free: list[tuple[int, int]] | None = None  # while the log is read
        self._turns: dict[int, list[int]] = {}
        for task, (dialogue, _) in sorted(enumerate(study.turns), key=lambda row: (row[1], row[0])):
            if dialogue:
                self._turns.setdefault(dialogue, []).append(task)
        with collecting_later():
            for event in events:
                self.apply(event)
        self._free = sorted((rank, task) for task, rank in enumerate(self._rank) if self.open[task])

    @classmethod
    def of(cls, study: ServedStudy, journal: Journal) -> State:
        """Read the state of a study from the log.

        Raises:
            DataError: the log is damaged: its events are none of this study, or contradict each other. Or it holds
                the study with other items or rules.
        """
        try:
            state = cls(study, journal.events(study.key))
        except (ArithmeticError, AssertionError, AttributeError, LookupError, TypeError, ValueError) as error:
            what = f"{type(error).__name__}: {error}"[:200]
            raise DataError(
                f"is damaged (an event cannot be: {what}): restore a backup", file=journal.name
            ) from error
        if state.content not in {"", study.content}:
            raise DataError(
                "the database holds this study with other items, overlap, time limit or controls: "
                "use another database, or restore the study",
                file=study.folder.path,
            )
        return state

    def begin(self, now: int) -> None:
        """Record the beginning of a new study, with the hash of its items and rules."""
        if not self.content:
            study = self.study
            self.record(now, "began", content=study.content, title=study.title, arm=study.arm_name)

    def copy(self) -> State:
        """Return a copy that another thread may read while this state goes on."""
        copy = State.__new__(State)
        copy.__dict__.update(self.__dict__)
        copy.people = {
            name: replace(
                person,
                tasks={**person.tasks},
                order=[*person.order],
                open={*person.open},
                seconds=[*person.seconds],
            )
            for name, person in self.people.items()
        }
        copy.invitations = {name: replace(invitation) for name, invitation in self.invitations.items()}
        copy.open = [*self.open]
        copy._free = [*(self._free or ())]
        return copy

    @property
    def pending(self) -> list[tuple[Person, Assignment]]:
        """Return the tasks that were sent and are not answered, and who has them."""
        return [(person, person.tasks[task]) for person in self.people.values() for task in person.open]

    def record(self, at: int, kind: str, person: str = "", task: int | None = None, **facts: object) -> None:
        """Let something happen: change the state, and keep the event for the log."""
        event = Event(
            at, kind, person, task, {name: fact for name, fact in facts.items() if fact is not None}
        )
        self.apply(event)
        self._fresh.append(event)

    def unwritten(self) -> list[LogEntry]:
        """Return what happened and is not in the log yet, once; an empty list if there is nothing."""
        entry = LogEntry(self.study.key, self._fresh, *self._forgotten)
        self._fresh, self._forgotten = [], ("", frozenset())
        return [entry] if entry.events or entry.erases else []

    def apply(self, event: Event) -> None:
        """Change the state by an event: the only place that does."""
        if (change := _CHANGES.get(event.kind)) is not None:
            change(self, event)

    def forget(self, person: str = "", name: str | None = None) -> None:
        """Forget a person, and the invitations that carry their name or led to them; the log will forget them too.

        Args:
            person: the id of the person; empty to forget only the invitations of a name.
            name: the name in invitations.
        """
        if person:
            gone = self.people.pop(person)
            self._release(gone)
            self._by_source.pop((gone.source, gone.external), None)
        hashes = frozenset(
            invitation.hash
            for invitation in self.invitations.values()
            if (person and invitation.person == person) or (name is not None and invitation.name == name)
        )
        self.invitations = {
            key: invitation for key, invitation in self.invitations.items() if key not in hashes
        }
        self._forgotten = (person, hashes)

    def leads(self, link: str, person: str) -> bool:
        """Return whether an invitation, given by the hash of its code, leads to a person and was not replaced."""
        invitation = self.invitations.get(link)
        return invitation is not None and invitation.person == person and not invitation.revoked

    def person_from(self, source: str, external: str) -> Person | None:
        """Return the person who came in in a way and has an id or name there."""
        return self.people.get(self._by_source.get((source, external), ""))

    def turns_with(self, task: int) -> list[int]:
        """Return the turns of the dialogue of a task; the task alone without a dialogue."""
        dialogue = self.study.tasks[task].dialogue if task < self.rules.tests else 0
        return self._turns[dialogue] if dialogue else [task]

    def free_from(self, person: Person, start: int, taken: Iterable[int] = ()) -> Iterator[int]:
        """Yield the tasks that need people and that a person has not had, by their ranks from a random one on."""
        free = self._free or []
        at, besides = bisect_left(free, (start, -1)), set(taken)
        for rows in (range(at, len(free)), range(at)):
            for row in rows:
                task = free[row][1]
                if task not in besides and not person.never_gets(task):
                    yield task

    def latest(self, person: Person) -> list[Assignment]:
        """Return a person's latest tasks, as many as a page has; in a dialogue, the first turn without an answer."""
        if self.rules.dialogues:
            for task in person.order:
                if person.tasks[task].state == "open":
                    return [person.tasks[task]]
        return [person.tasks[task] for task in reversed(person.order[-self.rules.on_screen :])]

    def _take(self, task: int) -> None:
        self.open[task] -= 1
        assert self.open[task] >= 0, f"task {task} has more people than it needs"  # noqa: S101 - an invariant
        if self._free is not None and not self.open[task]:
            del self._free[bisect_left(self._free, (self._rank[task], task))]

    def _give_back(self, task: int) -> None:
        self.open[task] += 1
        if self._free is not None and self.open[task] == 1:
            insort(self._free, (self._rank[task], task))

    def _put(self, person: Person, assignment: Assignment) -> None:
        """Let a person hold a task in another way, and keep the places and the open tasks in step."""
        task = assignment.task
        before = person.tasks.get(task)
        had = before is not None and before.counts
        person.tasks[task] = assignment
        if assignment.counts is not had:
            self._take(task) if assignment.counts else self._give_back(task)
        if assignment.state == "open":
            person.open.add(task)
        else:
            person.open.discard(task)

    def _release(self, person: Person) -> None:
        """Give every place of a person back, those of answers too; the answers stay, and count no more."""
        for assignment in [*person.tasks.values()]:
            if assignment.counts or assignment.state == "open":
                state = "returned" if assignment.state == "open" else assignment.state
                self._put(person, assignment._replace(counts=False, state=state))

    def _withhold(self, person: Person, name: str, domains: tuple[str, ...]) -> None:
        person.withheld = self.study.withheld(name, domains)

    def _on_began(self, event: Event) -> None:
        self.content = event.facts["content"]

    def _on_paused(self, _: Event) -> None:
        self.paused = True

    def _on_resumed(self, _: Event) -> None:
        self.paused = False

    def _on_invited(self, event: Event) -> None:
        facts = event.facts
        name, domains = facts.get("name"), tuple(facts.get("domains", ()))
        invitation = Invitation(facts["hash"], name, domains, event.at)
        if name is not None:
            # The earlier link of the same person opens nothing: two links must not make two people of one.
            for earlier in self.invitations.values():
                earlier.revoked |= earlier.name == name
            if (person := self.person_from("expert", name)) is not None:
                invitation.person = person.id
                self._withhold(person, name, domains)
        self.invitations[invitation.hash] = invitation

    def _on_revoked(self, event: Event) -> None:
        self.invitations.pop(event.facts.get("hash", ""), None)

    def _on_came(self, event: Event) -> None:
        facts = event.facts
        person = Person(
            event.person, facts["pseudonym"], facts["source"], facts["external"], facts["language"], facts["seed"],
            event.at, last_seen=event.at,
        )  # fmt: skip
        self.people[person.id] = person
        self._by_source[person.source, person.external] = person.id
        if (invitation := self.invitations.get(facts.get("hash", ""))) is not None:
            invitation.person = person.id
            if invitation.name is not None:
                self._withhold(person, invitation.name, invitation.domains)

    def _on_moved(self, event: Event) -> None:
        self.people[event.person].stage = event.facts["to"]

    def _on_language(self, event: Event) -> None:
        self.people[event.person].language = event.facts["language"]

    def _on_declared(self, event: Event) -> None:
        self.people[event.person].declared = event.facts["said"]

    def _on_background(self, event: Event) -> None:
        self.people[event.person].background = event.facts["answers"]

    def _on_code(self, event: Event) -> None:
        self.people[event.person].completion = event.facts["code"]

    def _on_given(self, event: Event) -> None:
        """A task was sent; its dialogue's later turns are held for the person."""
        person, task, facts = self.people[event.person], _task(event), event.facts
        due, late = facts.get("due"), facts.get("late")
        person.last_seen = event.at
        place = facts.get("place", 0)
        if (before := person.tasks.get(task)) is not None:
            # a turn of their dialogue, or a page kept for them
            self._put(person, before._replace(given=event.at, due=due, late=late))
            return
        if self.rules.is_training(task):
            self._put(person, Assignment(task, 0, "open", counts=False, given=event.at))
            return
        if not self.rules.dialogues:
            self._put(person, Assignment(task, place, "open", task < self.rules.tests, event.at, due, late))
            person.order.append(task)
            return
        for at, turn in enumerate(self.turns_with(task)):
            assignment = Assignment(turn, place + at, "open", counts=self.rules.is_test(turn))
            if turn == task:
                assignment = assignment._replace(given=event.at, due=due, late=late)
            self._put(person, assignment)
            person.order.append(turn)

    def _on_renewed(self, event: Event) -> None:
        person, due = self.people[event.person], event.facts["due"]
        for task in event.facts["tasks"]:
            self._put(person, person.tasks[task]._replace(due=due))

    def _on_answered(self, event: Event) -> None:
        person, task, facts = self.people[event.person], _task(event), event.facts
        right, before, fact = facts.get("right"), person.tasks[task], facts.get
        person.last_seen = event.at
        if not self.rules.is_training(task):
            person.seconds.append(facts["seconds"])
            person.answers += task < self.rules.tests and not facts.get("skipped")
        # Made in whole, because every answer of the log passes here and `_replace` takes five times as long.
        self._put(person, Assignment(
            task, before.place, "answered", task < self.rules.tests, before.given, before.due, before.late, event.at,
            facts["seconds"], fact("answer", ""), right, fact("skipped", False), fact("comment"), fact("signals"),
        ))  # fmt: skip
        if right is None:
            return
        if self.rules.is_control(task):
            person.controls, person.controls_right = person.controls + 1, person.controls_right + right
        elif self.rules.is_training(task):
            person.trained, person.trained_right = person.trained + 1, person.trained_right + right

    def _on_expired(self, event: Event) -> None:
        """A task was not answered in time; a dialogue goes as a whole, because its next person gives every answer."""
        person = self.people[event.person]
        for turn in self.turns_with(_task(event)):
            assignment = person.tasks[turn]
            state = "expired" if assignment.state == "open" else assignment.state
            self._put(person, assignment._replace(counts=False, state=state))

    def _on_released(self, event: Event) -> None:
        self._release(self.people[event.person])

    def _on_stopped(self, event: Event) -> None:
        person = self.people[event.person]
        person.stage, person.reason = "stopped", _control_items(person)
        self._release(person)

    def _on_excluded(self, event: Event) -> None:
        person = self.people[event.person]
        person.before, person.stage, person.reason = person.stage, "excluded", event.facts["reason"]
        self._release(person)

    def _on_reinstated(self, event: Event) -> None:
        """The author takes an exclusion back, or the server gives places back to somebody who came again."""
        person, facts = self.people[event.person], event.facts
        if person.stage == "excluded":
            person.stage, person.before = person.before or "working", None
            person.reason = _control_items(person) if person.stage == "stopped" else None
        for assignment in [*person.tasks.values()]:
            state = assignment.state
            if assignment.task in facts.get("tasks", ()):
                state, test = "open" if state == "returned" else state, self.rules.is_test(assignment.task)
                self._put(person, assignment._replace(counts=test, state=state))
            elif state == "returned":
                self._put(person, assignment._replace(state="expired"))


def _task(event: Event) -> int:
    assert event.task is not None, f"an event '{event.kind}' without a task"  # noqa: S101 - the log says so
    return event.task


def _control_items(person: Person) -> str:
    return f"{person.controls_right} of {person.controls} control items right"


#: What an event changes, by its kind; other kinds only tell what was done.
_CHANGES: Final[Mapping[str, Callable[[State, Event], None]]] = {
    name.removeprefix("_on_"): change for name, change in vars(State).items() if name.startswith("_on_")
}
