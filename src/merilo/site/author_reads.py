"""What the author's pages show of people, invitations and comments, read from the database."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final, NamedTuple

import polars as pl
from sqlalchemy import Connection, and_, func, or_, select

from merilo.atomic_write import guarded
from merilo.site.audit_log import LoggedEvent, events
from merilo.site.people_access import domains_of
from merilo.site.schema import ANSWERED, ERASED, INVITATION, PERSON, RESPONSE
from merilo.site.served_study import ServedStudy

#: Invitations of one page.
INVITATIONS_PAGE: Final = 100


class Remark(NamedTuple):
    """A comment on an item.

    Attributes:
        item: the item's id in the dataset.
        at: when it was sent, in milliseconds since 1970.
        answer: the answer.
        comment: the comment.
    """

    item: str
    at: int
    answer: str
    comment: str


@dataclass(frozen=True, slots=True)
class PersonDetails:
    """Everything that the site knows about a person.

    Attributes:
        pseudonym: the name in tables.
        source: how they came in.
        external: the platform's id, or the expert's name; `None` for personal links.
        stage: what comes next for them.
        reason: why they were stopped or excluded.
        created: when they came in, in milliseconds since 1970.
        latest: when they last answered; `None` if they have not.
        answers: answers to items of the test.
        counting: answers to items of the test that count.
        controls: answered control items.
        controls_right: correctly answered control items.
        trained: answered training items.
        trained_right: correctly answered training items.
        seconds: the median time of an answer; `None` without answers.
        flagged: a suspicion about their speed.
        completion: the code for the platform.
        remarks: their comments, the latest first.
        log: what was done about them, the latest first.
    """

    pseudonym: str
    source: str
    external: str | None
    stage: str
    reason: str | None
    created: int
    latest: int | None
    answers: int
    counting: int
    controls: int
    controls_right: int
    trained: int
    trained_right: int
    seconds: float | None
    flagged: str | None
    completion: str | None
    remarks: Sequence[Remark]
    log: Sequence[LoggedEvent]


class ListedInvitation(NamedTuple):
    """An invitation in the list.

    Attributes:
        hash: the hash of its code, by which it is revoked.
        name: the expert whom it is for.
        domains: the domains that they are invited for; empty for all.
        created: when it was made, in milliseconds since 1970.
        revoked: whether it was revoked.
        pseudonym: who came in with it.
    """

    hash: str
    name: str | None
    domains: tuple[str, ...]
    created: int
    revoked: bool
    pseudonym: str | None


def person_details(connection: Connection, study: ServedStudy, pseudonym: str) -> PersonDetails | None:
    """Read what the site knows about a person; `None` if there is no such person."""
    here = and_(
        PERSON.c.study == study.rules.study, PERSON.c.pseudonym == pseudonym, PERSON.c.stage != ERASED
    )
    person = connection.execute(select(PERSON).where(here)).first()
    if person is None:
        return None
    query = select(
        RESPONSE.c.task, RESPONSE.c.answered, RESPONSE.c.seconds, RESPONSE.c.counts, RESPONSE.c.answer, RESPONSE.c.comment
    ).where(
        RESPONSE.c.study == study.rules.study, RESPONSE.c.person == person.id, RESPONSE.c.state == ANSWERED
    )  # fmt: skip
    rows = connection.execute(query.order_by(RESPONSE.c.answered.desc())).all()
    tests = [row for row in rows if row.task < study.rules.tests]
    times = sorted(row.seconds for row in tests)
    remarks = [
        Remark(str(study.tasks[row.task].item), row.answered, row.answer or "", row.comment)
        for row in rows
        if row.comment
    ]
    return PersonDetails(
        person.pseudonym, person.source, None if person.source == "link" else person.external, person.stage, person.reason,
        person.created, rows[0].answered if rows else None, len(tests), sum(row.counts for row in tests),
        person.controls, person.controls_right, person.trained, person.trained_right,
        times[len(times) // 2] if times else None, person.flagged, person.completion,
        remarks, events(connection, study.rules.study, person=person.id),
    )  # fmt: skip


def find_people(connection: Connection, study: ServedStudy, given: str) -> list[str]:
    """Return the pseudonyms of people by a pseudonym, a platform's id or an expert's name."""
    of_study = and_(PERSON.c.study == study.rules.study, PERSON.c.stage != ERASED)
    named = or_(PERSON.c.pseudonym == given, and_(PERSON.c.external == given, PERSON.c.source != "link"))
    return list(connection.scalars(select(PERSON.c.pseudonym).where(of_study, named)))


def listed_invitations(
    connection: Connection, study: ServedStudy, page: int
) -> tuple[list[ListedInvitation], int]:
    """Read a page of the invitations, the newest first, and the number of pages."""
    of_study = INVITATION.c.study == study.rules.study
    number = connection.scalar(select(func.count()).select_from(INVITATION).where(of_study)) or 0
    query = (
        select(
            INVITATION.c.hash,
            INVITATION.c.name,
            INVITATION.c.domains,
            INVITATION.c.created,
            INVITATION.c.revoked,
            PERSON.c.pseudonym,
        )
        .join(PERSON, PERSON.c.id == INVITATION.c.person, isouter=True)
        .where(of_study)
        .order_by(INVITATION.c.created.desc(), INVITATION.c.name, INVITATION.c.hash)
        .limit(INVITATIONS_PAGE)
        .offset(INVITATIONS_PAGE * (page - 1))
    )
    found = [
        ListedInvitation(hashed, name, domains_of(domains), *rest)
        for hashed, name, domains, *rest in connection.execute(query)
    ]
    return found, max(1, -(-number // INVITATIONS_PAGE))


def comments_table(connection: Connection, study: ServedStudy) -> str:
    """Return all comments as CSV, in the order in which they were sent.

    The columns are `study`, `task`, `item` (its id in the dataset), `kind` (test, control or training), `respondent` (a pseudonym), `submitted`,
    `answer` and `comment`. Text that a spreadsheet would run as a formula is prefixed with an apostrophe.
    """
    query = (
        select(
            RESPONSE.c.task, RESPONSE.c.answered, RESPONSE.c.answer, RESPONSE.c.comment, PERSON.c.pseudonym
        )
        .join(PERSON, PERSON.c.id == RESPONSE.c.person)
        .where(RESPONSE.c.study == study.rules.study, RESPONSE.c.comment.is_not(None))
        .order_by(RESPONSE.c.answered, PERSON.c.pseudonym, RESPONSE.c.task)
    )
    rows = connection.execute(query).all()
    tasks = [study.tasks[row.task] for row in rows]
    table = pl.DataFrame({
        "study": [study.key] * len(rows),
        "task": [task.id for task in tasks],
        "item": [str(task.item) for task in tasks],
        "kind": [task.kind for task in tasks],
        "respondent": [row.pseudonym for row in rows],
        "submitted": [_moment(row.answered) for row in rows],
        "answer": [row.answer for row in rows],
        "comment": [row.comment for row in rows],
    }, schema=dict.fromkeys(("study", "task", "item", "kind", "respondent", "submitted", "answer", "comment"), pl.String))  # fmt: skip
    return guarded(table).write_csv()


def _moment(milliseconds: int) -> str:
    return datetime.fromtimestamp(milliseconds / 1000, UTC).isoformat(timespec="milliseconds")
