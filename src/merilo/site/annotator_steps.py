"""What a person does in a study, step by step: consent, instruction, training, items.

Every function runs inside one transaction.

A person's stage says what comes next:

    consent -> questions -> instruction -> training -> working <-> finished
       |                                      |           |
    declined                               refused     stopped         (and `excluded`, by the author)

Whoever has no further task is finished; if places come back and they open the page again, they go on.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil
from operator import attrgetter
from typing import Final, Literal, TypeAlias

from sqlalchemy import (
    ColumnElement,
    Connection,
    and_,
    bindparam,
    insert,
    literal_column,
    select,
    update,
)

from merilo.people.signals import DECLARATIONS
from merilo.site.assignment import AT_WORK, Allocation, GivenTask, Taken, Without, below_threshold
from merilo.site.audit_log import record
from merilo.site.schema import ANSWERED, BACKGROUND, ERASED, OPEN, PERSON, RESPONSE, STUDY
from merilo.site.served_study import ServedStudy

Stage: TypeAlias = Literal[
    "consent",
    "declined",
    "questions",
    "instruction",
    "training",
    "working",
    "finished",
    "refused",
    "stopped",
    "excluded",
]

_BEFORE_CONSENT: Final[tuple[Stage, ...]] = ("consent", "declined")

#: A task of the training does not go back to others.
_NEVER: Final = 2**62


@dataclass(frozen=True, slots=True)
class Participant:
    """A person in a study.

    Attributes:
        id: the number in the database.
        stage: what comes next.
        language: the language of the pages.
        seed: the seed of the person's order.
        source: how the person came in.
        controls: answered control items.
        controls_right: correctly answered control items.
        declared: what they declared about help by AI; `None` if nothing.
        paused: whether the author paused the study.
    """

    id: int
    stage: Stage
    language: str
    seed: int
    source: str
    controls: int
    controls_right: int
    declared: str | None
    paused: bool

    @property
    def from_platform(self) -> bool:
        """Whether a platform sent the person; others were invited."""
        return self.source not in {"link", "expert"}

    @property
    def answers_tasks(self) -> bool:
        """Whether the person gets tasks, if there are any."""
        return self.stage in AT_WORK


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


@dataclass(frozen=True, slots=True, kw_only=True)
class SentAnswer:
    """An answer to a test or control item that a form holds.

    Attributes:
        number: the task's number.
        answer: the answer.
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


_PERSON: Final = select(
    PERSON.c.id,
    PERSON.c.stage,
    PERSON.c.language,
    PERSON.c.seed,
    PERSON.c.source,
    PERSON.c.controls,
    PERSON.c.controls_right,
    PERSON.c.declared,
    STUDY.c.paused,
).where(
    PERSON.c.id == bindparam("of_person"),
    PERSON.c.study == bindparam("of_study"),
    STUDY.c.id == PERSON.c.study,
    PERSON.c.stage != literal_column(f"'{ERASED}'"),
)


def person_of(connection: Connection, study: ServedStudy, number: int) -> Participant | None:
    """Read a person; `None` if they are not in this study, for example after they were erased."""
    found = connection.execute(_PERSON, {"of_person": number, "of_study": study.rules.study}).first()
    return None if found is None else Participant(**found._mapping)  # SQLite's booleans are 0 and 1


def set_language(connection: Connection, person: Participant, language: str) -> None:
    """Change the language of a person's pages."""
    connection.execute(update(PERSON).where(PERSON.c.id == person.id).values(language=language))


def declare(connection: Connection, study: ServedStudy, person: Participant, said: str) -> None:
    """Record what a person declares about help by AI; the first declaration stays."""
    if study.folder.plan.assistance.declaration and said in DECLARATIONS:
        own = and_(PERSON.c.id == person.id, PERSON.c.declared.is_(None))
        connection.execute(update(PERSON).where(own).values(declared=said))


def consent(connection: Connection, study: ServedStudy, person: Participant) -> None:
    """Record that a person agreed to take part; repeated, it changes nothing."""
    after: Stage = "questions" if study.folder.plan.demographics else "instruction"
    for stage in _BEFORE_CONSENT:
        _advance(connection, person, stage, after)


def decline(connection: Connection, person: Participant) -> None:
    """Record that a person does not agree to take part; they may agree later."""
    _advance(connection, person, "consent", "declined")


def tell_background(
    connection: Connection, study: ServedStudy, person: Participant, given: Mapping[str, int]
) -> None:
    """Save what a person tells about themselves; repeated, it changes nothing.

    Args:
        connection: an open transaction that writes.
        study: the study.
        person: the person.
        given: name of a question -> place of the chosen option; other questions were declined.
    """
    if not _advance(connection, person, "questions", "instruction"):
        return
    rows = [
        {"person": person.id, "question": one.name, "answer": given.get(one.name)}
        for one in study.folder.plan.demographics
    ]
    connection.execute(insert(BACKGROUND), rows)


def read_instruction(connection: Connection, study: ServedStudy, person: Participant) -> None:
    """Record that a person read the instruction; repeated, it changes nothing."""
    _advance(connection, person, "instruction", "training" if study.training else "working")


def next_training(
    connection: Connection, study: ServedStudy, person: Participant, now: int
) -> ShownTask | None:
    """Return the first training item that a person has not answered; `None` after the last one."""
    rows = connection.execute(
        select(RESPONSE.c.task, RESPONSE.c.state).where(
            _own(study, person), RESPONSE.c.task >= study.training.start
        )
    ).all()
    states = {row.task: row.state for row in rows}
    number = next((one for one in study.training if states.get(one) != ANSWERED), None)
    if number is None:
        return None
    if number not in states:
        connection.execute(
            insert(RESPONSE).values(
                study=study.rules.study,
                person=person.id,
                task=number,
                place=-number - 1,
                state=OPEN,
                counts=False,
                given=now,
                due=_NEVER,
            )
        )
    return ShownTask(number, number - study.training.start + 1, of=len(study.training))


def answer_training(
    connection: Connection, study: ServedStudy, person: Participant, number: int, answer: str, *, now: int
) -> Taken:
    """Save the answer to a training item; after the last one, the person is admitted or refused."""
    right = study.is_right(number, answer)
    taken = Allocation(connection, study.rules, now).save(person.id, number, answer, right=right)
    if taken != "saved":
        return taken
    counted = {"trained": PERSON.c.trained + 1, "trained_right": PERSON.c.trained_right + int(right)}
    row = connection.execute(
        update(PERSON)
        .where(PERSON.c.id == person.id)
        .values(counted)
        .returning(PERSON.c.trained, PERSON.c.trained_right)
    ).one()
    if row.trained >= len(study.training):
        admitted = row.trained_right >= study.rules.threshold * row.trained
        _advance(connection, person, "training", "working" if admitted else "refused")
    return taken


def training_answer(
    connection: Connection, study: ServedStudy, person: Participant, number: int
) -> tuple[str, bool] | None:
    """Return a person's answer to a training item, and whether it is right; `None` if they have not answered it."""
    query = select(RESPONSE.c.answer, RESPONSE.c.right).where(
        _own(study, person), RESPONSE.c.task == number, RESPONSE.c.state == ANSWERED
    )
    found = connection.execute(query).first() if number in study.training else None
    return None if found is None else (found.answer or "", bool(found.right))


def task_before(
    connection: Connection, study: ServedStudy, person: Participant, now: int
) -> ShownTask | Literal["paused"] | None:
    """Return the task that a person has before them, without changing anything.

    `None` if `next_task` has to give one.
    """
    if person.paused:
        return "paused"
    given = _allocation(connection, study, person, now).before(person.id)
    return None if given is None else _shown(connection, study, person, given, now)


def next_task(
    connection: Connection, study: ServedStudy, person: Participant, now: int
) -> ShownTask | Without | Literal["paused"]:
    """Give a person their next task, or again the one that they have before them.

    A person whom the baseline would exclude gets back the places that they lost while they were away; if there is
    no further task for them, all their places go to others.
    """
    if person.paused:
        return "paused"
    allocation = _allocation(connection, study, person, now)
    excluded = study.rules.excludes(person.controls, person.controls_right)
    if excluded:
        allocation.reinstate(person.id)
    given = allocation.give(person.id, person.seed)
    if isinstance(given, GivenTask):
        if person.stage == "finished":
            _advance(connection, person, "finished", "working")
        return _shown(connection, study, person, given, now)
    if excluded and given != "wait":
        _stop(connection, study, person, person.controls_right, person.controls, now=now)
    elif given != "wait" and person.stage == "working":
        _advance(connection, person, "working", "finished")
    return given


def save_answer(
    connection: Connection,
    study: ServedStudy,
    person: Participant,
    number: int,
    answer: str,
    *,
    now: int,
    skipped: bool = False,
    comment: str | None = None,
) -> Taken:
    """Save one answer to a test or control item; see `save_answers`."""
    sent = SentAnswer(number=number, answer=answer, skipped=skipped, comment=comment)
    return save_answers(connection, study, person, [sent], now=now)[number]


def save_answers(
    connection: Connection, study: ServedStudy, person: Participant, sent: Sequence[SentAnswer], *, now: int
) -> dict[int, Taken]:
    """Save the answers of a page to test and control items.

    Stop the person if too many of their answers to control items are wrong; the other answers of the page are saved
    before.

    Args:
        connection: an open transaction that writes.
        study: the study.
        person: the person.
        sent: the answers; they share equally the time since the page was sent or a part of it was answered.
        now: the time, in milliseconds since 1970.

    Returns:
        Number of a task -> what became of its answer; see `Allocation.save`.
    """
    allocation = _allocation(connection, study, person, now)
    since = allocation.page_since(person.id, [one.number for one in sent])
    taken: dict[int, Taken] = {}
    controls, correct = person.controls, person.controls_right
    for one in sorted(
        sent, key=attrgetter("number")
    ):  # so that two processes never wait for each other's items
        control = study.rules.tests <= one.number < study.training.start
        right = study.is_right(one.number, one.answer) if control and not one.skipped else None
        taken[one.number] = allocation.save(
            person.id, one.number, one.answer, right=right, comment=one.comment, signals=one.signals,
            since=since, among=len(sent),
        )  # fmt: skip
        if taken[one.number] == "saved" and right is not None:
            controls, correct = controls + 1, correct + int(right)
    allocation.renew(person.id)
    if controls > person.controls and below_threshold(study.rules, controls, correct):
        _stop(connection, study, person, correct, controls, now=now)
    return taken


def most_tasks(study: ServedStudy) -> int:
    """Return the most tasks of a person whom a platform pays for one sitting.

    The plan's items per person, and control items.
    """
    items = study.arm.items_per_person
    return ceil(items * study.rules.every / (study.rules.every - 1)) if study.rules.every else items


def most_places(study: ServedStudy, person: Participant) -> int:
    """Return the most tasks that a person can get: it tells them how far they are.

    Fewer are left if others answer the items first.
    """
    rules = study.rules
    controls = (
        0
        if rules.dialogues or not rules.every
        else min(rules.controls, ceil(rules.tests / max(1, rules.every - 1)))
    )
    everything = rules.tests + controls
    return everything if _has_no_limit(study, person) else min(everything, most_tasks(study))


def first_answer(connection: Connection, study: ServedStudy, person: Participant, number: int) -> str | None:
    """Return the answer that a person gave to a task; `None` if they have given none."""
    answered = and_(_own(study, person), RESPONSE.c.task == number, RESPONSE.c.state == ANSWERED)
    return connection.scalar(select(RESPONSE.c.answer).where(answered))


def has_answered(connection: Connection, study: ServedStudy, person: Participant) -> bool:
    """Whether a person has answered an item of the test."""
    answered = and_(_own(study, person), RESPONSE.c.task < study.rules.tests, RESPONSE.c.state == ANSWERED)
    return connection.execute(select(RESPONSE.c.task).where(answered).limit(1)).first() is not None


def _has_no_limit(study: ServedStudy, person: Participant) -> bool:
    """Invited people may go on as long as there are items."""
    return not person.from_platform or study.rules.dialogues


def _allocation(connection: Connection, study: ServedStudy, person: Participant, now: int) -> Allocation:
    """The allocation for a person."""
    most = None if _has_no_limit(study, person) else most_tasks(study)
    return Allocation(connection, study.rules, now, most)


def _shown(
    connection: Connection, study: ServedStudy, person: Participant, given: GivenTask, now: int
) -> ShownTask:
    left = None
    if given.late is not None:
        left = max(0.0, (given.late - now) / 1000 - study.rules.grace)
    earlier: Sequence[tuple[int, str]] = ()
    task = study.tasks[given.task]
    if task.dialogue:
        turns = [n for n in range(study.rules.tests) if study.tasks[n].dialogue == task.dialogue]
        before = [n for n in turns if study.tasks[n].turn < task.turn]
        rows = connection.execute(
            select(RESPONSE.c.task, RESPONSE.c.answer).where(
                _own(study, person), RESPONSE.c.task.in_(before), RESPONSE.c.state == ANSWERED
            )
        ).all()
        earlier = sorted(
            ((row.task, row.answer or "") for row in rows), key=lambda one: study.tasks[one[0]].turn
        )
    beside = tuple(_shown(connection, study, person, one, now) for one in given.beside)
    return ShownTask(given.task, given.place, left=left, earlier=tuple(earlier), beside=beside)


def _stop(
    connection: Connection, study: ServedStudy, person: Participant, right: int, controls: int, *, now: int
) -> None:
    reason = f"{right} of {controls} control items right"
    connection.execute(update(PERSON).where(PERSON.c.id == person.id).values(stage="stopped", reason=reason))
    Allocation(connection, study.rules, now).release(person.id)
    record(
        connection,
        study.rules.study,
        now,
        "server",
        "stopped",
        person=person.id,
        right=right,
        controls=controls,
    )


def _advance(connection: Connection, person: Participant, before: Stage, after: Stage) -> bool:
    """Move a person from one stage to another; whether they were at the first one."""
    here = update(PERSON).where(PERSON.c.id == person.id, PERSON.c.stage == before)
    return bool(connection.execute(here.values(stage=after)).rowcount)


def _own(study: ServedStudy, person: Participant) -> ColumnElement[bool]:
    return and_(RESPONSE.c.study == study.rules.study, RESPONSE.c.person == person.id)
