"""What an author does with a study and its people. Every function runs inside one transaction and records its event there."""

from __future__ import annotations

import json
import secrets
from collections.abc import Sequence
from typing import Final, NamedTuple

from sqlalchemy import Connection, Row, and_, delete, or_, select, update

from merilo.errors import UsageError
from merilo.site.assignment import Allocation
from merilo.site.audit_log import Actor, record
from merilo.site.people_access import new_invitation
from merilo.site.schema import ERASED, EVENT, INVITATION, OPEN, PERSON, RESPONSE, RETURNED, STUDY
from merilo.site.served_study import ServedStudy

#: The most characters of a reason.
LONGEST_REASON: Final = 1000


class Exclusion(NamedTuple):
    """What excluding a person did.

    Attributes:
        changed: whether the person was not excluded before.
        places: how many items are given to others.
    """

    changed: bool
    places: int


class Reinstatement(NamedTuple):
    """What reinstating a person did.

    Attributes:
        changed: whether the person was excluded before.
        again: how many of their answers count again.
        over: how many do not, because the items have been given to others.
    """

    changed: bool
    again: int
    over: int


class Erasure(NamedTuple):
    """What was erased.

    Attributes:
        answers: answers of the person.
        places: how many items are given to others.
    """

    answers: int
    places: int


def set_paused(connection: Connection, study: ServedStudy, *, now: int, actor: Actor, paused: bool) -> bool:
    """Pause a study or resume it.

    Returns:
        Whether something changed.
    """
    here = and_(STUDY.c.id == study.rules.study, STUDY.c.paused != paused)
    if not connection.execute(update(STUDY).where(here).values(paused=paused)).rowcount:
        return False
    record(connection, study.rules.study, now, actor, "paused" if paused else "resumed")
    return True


def invite(
    connection: Connection,
    study: ServedStudy,
    names: Sequence[str | None],
    *,
    now: int,
    actor: Actor,
    codes: Sequence[str] | None = None,
    domains: Sequence[str] = (),
) -> list[tuple[str, str]]:
    """Make invitations to a study.

    Args:
        connection: an open transaction that writes.
        study: the study.
        names: an expert's name for each invitation; `None` for a link without a name.
        now: the time, in milliseconds since 1970.
        actor: who invites.
        codes: the codes; default: random ones. Invitations whose code is in the database stay as they are.
        domains: the domains whose items the named people get; by default, all.

    Returns:
        The name (or an empty text) and the code of each invitation. The database keeps only the hash of a code.

    Raises:
        UsageError: the group consists of experts and a name or the domains are missing, or there is no such domain.
    """
    made, unnamed = [], 0
    for at, name in enumerate(names):
        invitation = new_invitation(
            connection, study, name, now, codes[at] if codes else None, domains=domains
        )
        made.append((name or "", invitation.code))
        if invitation.is_new and name is not None:
            record(connection, study.rules.study, now, actor, "invited", person=invitation.person, name=name)
        unnamed += invitation.is_new and name is None
    if unnamed:
        record(connection, study.rules.study, now, actor, "links_made", links=unnamed)
    return made


def revoke(connection: Connection, study: ServedStudy, hashed: str, *, now: int, actor: Actor) -> bool:
    """Revoke an invitation: its link opens nothing any more. Who came in with it stays in.

    Returns:
        Whether something changed.
    """
    here = and_(INVITATION.c.study == study.rules.study, INVITATION.c.hash == hashed, ~INVITATION.c.revoked)
    changed = (
        update(INVITATION).where(here).values(revoked=True).returning(INVITATION.c.name, INVITATION.c.person)
    )
    found = connection.execute(changed).first()
    if found is None:
        return False
    named = {"name": found.name} if found.name else {}
    record(connection, study.rules.study, now, actor, "revoked", person=found.person, **named)
    return True


def erase_name(connection: Connection, study: ServedStudy, hashed: str, *, now: int, actor: Actor) -> bool:
    """Erase the name of an expert who never came in: their invitations, and the name in the log.

    Returns:
        Whether there was such an invitation.
    """
    here = and_(
        INVITATION.c.study == study.rules.study, INVITATION.c.hash == hashed,
        INVITATION.c.person.is_(None), INVITATION.c.name.is_not(None),
    )  # fmt: skip
    name = connection.scalar(select(INVITATION.c.name).where(here))
    if name is None:
        return False
    _overwrite_deleted(connection)
    connection.execute(
        delete(INVITATION).where(
            INVITATION.c.study == study.rules.study, INVITATION.c.name == name, INVITATION.c.person.is_(None)
        )
    )
    _erase_from_log(connection, study, name, None)
    record(connection, study.rules.study, now, actor, "name_erased")
    return True


def exclude(
    connection: Connection, study: ServedStudy, pseudonym: str, reason: str, *, now: int, actor: Actor
) -> Exclusion | None:
    """Exclude a person: they get no more tasks, their answers do not count, and their items are given to others.

    Args:
        connection: an open transaction that writes.
        study: the study.
        pseudonym: the person.
        reason: why; it is shown in the log.
        now: the time, in milliseconds since 1970.
        actor: who excludes.

    Returns:
        What was done; `None` if there is no such person.

    Raises:
        UsageError: the reason is missing or too long.
    """
    reason = " ".join(reason.replace("\0", "").split())
    if not 0 < len(reason) <= LONGEST_REASON:
        raise UsageError(f"an exclusion needs a reason of at most {LONGEST_REASON:,} characters")
    person = _locked(connection, study, pseudonym)
    if person is None:
        return None
    if person.stage == "excluded":
        return Exclusion(changed=False, places=0)
    connection.execute(
        update(PERSON)
        .where(PERSON.c.id == person.id)
        .values(stage="excluded", before=person.stage, reason=reason)
    )
    places = Allocation(connection, study.rules, now).release(person.id)
    record(
        connection, study.rules.study, now, actor, "excluded", person=person.id, reason=reason, places=places
    )
    return Exclusion(changed=True, places=places)


def reinstate(
    connection: Connection, study: ServedStudy, pseudonym: str, *, now: int, actor: Actor
) -> Reinstatement | None:
    """Reinstate an excluded person: they go on where they were, and their answers count where the items are still free.

    A person whom the server had stopped before is stopped again.

    Args:
        connection: an open transaction that writes.
        study: the study.
        pseudonym: the person.
        now: the time, in milliseconds since 1970.
        actor: who reinstates.

    Returns:
        What was done; `None` if there is no such person.
    """
    person = _locked(connection, study, pseudonym)
    if person is None:
        return None
    if person.stage != "excluded":
        return Reinstatement(changed=False, again=0, over=0)
    stage = person.before or "working"
    stopped = stage == "stopped"
    connection.execute(
        update(PERSON).where(PERSON.c.id == person.id).values(
            stage=stage, before=None,
            reason=f"{person.controls_right} of {person.controls} control items right" if stopped else None,
        )
    )  # fmt: skip
    # A training item that was open is shown again.
    connection.execute(
        update(RESPONSE)
        .where(RESPONSE.c.study == study.rules.study, RESPONSE.c.person == person.id)
        .where(RESPONSE.c.task >= study.training.start, RESPONSE.c.state == RETURNED)
        .values(state=OPEN)
    )
    again, over = (0, 0) if stopped else Allocation(connection, study.rules, now).reinstate(person.id)
    record(connection, study.rules.study, now, actor, "reinstated", person=person.id, again=again, over=over)
    return Reinstatement(changed=True, again=again, over=over)


def erase(
    connection: Connection, study: ServedStudy, pseudonym: str, *, now: int, actor: Actor
) -> Erasure | None:
    """Erase a person: their id or name, links, answers, comments, completion code, and what the log says about them.

    A row remains that has nothing but its number, so that the number is not given again: a cookie of the person may still carry it.
    The places of their answers are given to others. The log says that somebody was erased.

    Args:
        connection: an open transaction that writes.
        study: the study.
        pseudonym: the person.
        now: the time, in milliseconds since 1970.
        actor: who erases.

    Returns:
        What was erased; `None` if there is no such person.
    """
    person = _locked(connection, study, pseudonym)
    if person is None:
        return None
    _overwrite_deleted(connection)
    places = Allocation(connection, study.rules, now).release(person.id)
    mine = and_(RESPONSE.c.study == study.rules.study, RESPONSE.c.person == person.id)
    answers = sum(
        answered is not None for answered in connection.scalars(select(RESPONSE.c.answered).where(mine))
    )
    connection.execute(delete(RESPONSE).where(mine))
    name = person.external if person.source == "expert" else None
    theirs = INVITATION.c.person == person.id
    if name is not None:
        theirs = or_(theirs, and_(INVITATION.c.study == study.rules.study, INVITATION.c.name == name))
    connection.execute(delete(INVITATION).where(theirs))
    _erase_from_log(connection, study, name, person.id)
    connection.execute(
        update(PERSON).where(PERSON.c.id == person.id).values(
            pseudonym=f"{ERASED}-{secrets.token_hex(5)}", source=ERASED, external=None, stage=ERASED, reason=None, before=None,
            language=study.languages[0], seed=0, created=0, controls=0, controls_right=0, trained=0, trained_right=0, flagged=None,
            completion=None,
        )
    )  # fmt: skip
    record(connection, study.rules.study, now, actor, "erased", answers=answers)
    return Erasure(answers, places)


def _locked(connection: Connection, study: ServedStudy, pseudonym: str) -> Row[tuple[object, ...]] | None:
    """Read a person and let their own requests wait; nobody else can give them tasks in the meantime."""
    query = select(PERSON).where(
        PERSON.c.study == study.rules.study, PERSON.c.pseudonym == pseudonym, PERSON.c.stage != ERASED
    )
    return connection.execute(query.with_for_update()).first()


def _erase_from_log(connection: Connection, study: ServedStudy, name: str | None, person: int | None) -> None:
    """Take a person's number, name and reasons out of the log."""
    if person is not None:
        connection.execute(update(EVENT).where(EVENT.c.person == person).values(person=None, detail=""))
    if name is None:
        return
    here = and_(EVENT.c.study == study.rules.study, EVENT.c.what.in_(["invited", "revoked"]))
    rows = connection.execute(select(EVENT.c.id, EVENT.c.detail).where(here)).all()
    with_name = [row.id for row in rows if row.detail and _name_in(row.detail) == name]
    for number in with_name:
        connection.execute(update(EVENT).where(EVENT.c.id == number).values(detail=""))


def _name_in(detail: str) -> str:
    try:
        content = json.loads(detail)
    except json.JSONDecodeError:
        return detail
    return str(content.get("name", "")) if isinstance(content, dict) else detail


def _overwrite_deleted(connection: Connection) -> None:
    """Let SQLite overwrite what this transaction deletes, instead of only marking it as free."""
    if connection.dialect.name == "sqlite":
        connection.exec_driver_sql("PRAGMA secure_delete=ON")
