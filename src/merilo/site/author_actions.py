"""What an author reads of a study's people and does with them.

Each action runs inside one transaction and records its event there.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import polars as pl
from sqlalchemy import ColumnElement, Connection, Row, and_, delete, or_, select, update

from merilo.atomic_write import guarded
from merilo.errors import UsageError
from merilo.site.answer_export import moment
from merilo.site.assignment import Allocation
from merilo.site.audit_log import Actor, Deed, record
from merilo.site.people_access import new_invitation
from merilo.site.schema import (
    BACKGROUND,
    ERASED,
    EVENT,
    INVITATION,
    OPEN,
    PERSON,
    RESPONSE,
    RETURNED,
    STUDY,
)
from merilo.site.served_study import ServedStudy

#: The most characters of a reason.
LONGEST_REASON: Final = 1000


class Change(NamedTuple):
    """What excluding, reinstating or erasing a person did.

    Attributes:
        changed: whether something changed.
        answers: answers that count again after a reinstatement, or that were erased.
        places: items that are given to others; after a reinstatement, answers that do not count again because
            their items have been given to others.
    """

    changed: bool
    answers: int = 0
    places: int = 0


@dataclass(frozen=True, slots=True)
class AuthorActions:
    """What an author does with a study, inside one transaction.

    Attributes:
        connection: an open transaction that writes.
        study: the study.
        now: the time, in milliseconds since 1970.
        actor: who acts.
    """

    connection: Connection
    study: ServedStudy
    now: int
    actor: Actor

    def set_paused(self, *, paused: bool) -> bool:
        """Pause the study or resume it.

        Returns:
            Whether something changed.
        """
        here = and_(STUDY.c.id == self.study.rules.study, STUDY.c.paused != paused)
        if not self.connection.execute(update(STUDY).where(here).values(paused=paused)).rowcount:
            return False
        self.record("paused" if paused else "resumed")
        return True

    def invite(
        self, names: Sequence[str | None], *, codes: Sequence[str] | None = None, domains: Sequence[str] = ()
    ) -> list[tuple[str, str]]:
        """Make invitations to the study.

        Args:
            names: an expert's name for each invitation; `None` for a link without a name.
            codes: the codes; default: random ones. Invitations whose code is in the database stay as they are.
            domains: the domains whose items the named people get; by default, all.

        Returns:
            The name (or an empty text) and the code of each invitation. The database keeps only the hash of a code.

        Raises:
            UsageError: the group consists of experts and a name or the domains are missing, or there is no such domain.
        """
        made, unnamed = [], 0
        for at, name in enumerate(names):
            code = codes[at] if codes else None
            invitation = new_invitation(self.connection, self.study, name, self.now, code, domains=domains)
            made.append((name or "", invitation.code))
            if invitation.is_new and name is not None:
                self.record("invited", invitation.person, name=name)
            unnamed += invitation.is_new and name is None
        if unnamed:
            self.record("links_made", links=unnamed)
        return made

    def revoke(self, hashed: str) -> bool:
        """Revoke an invitation that nobody has used: its link opens nothing, and the name is forgotten.

        Returns:
            Whether there was such an invitation.
        """
        unused = and_(self._invitations, INVITATION.c.person.is_(None))
        here = and_(unused, INVITATION.c.hash == hashed)
        name = self.connection.scalar(select(INVITATION.c.name).where(here))
        if name is not None:
            here = and_(unused, INVITATION.c.name == name)
            self._erase_from_log(name, None)
        if not self.connection.execute(delete(INVITATION).where(here)).rowcount:
            return False
        self.record("revoked")
        return True

    def exclude(self, pseudonym: str, reason: str) -> Change | None:
        """Exclude a person: they get no more tasks, their answers do not count, and their items are given to others.

        Args:
            pseudonym: the person.
            reason: why; it is shown in the log.

        Returns:
            What was done; `None` if there is no such person.

        Raises:
            UsageError: the reason is missing or too long.
        """
        reason = " ".join(reason.replace("\0", "").split())
        if not 0 < len(reason) <= LONGEST_REASON:
            raise UsageError(f"an exclusion needs a reason of at most {LONGEST_REASON:,} characters")
        person = self._locked(pseudonym)
        if person is None:
            return None
        if person.stage == "excluded":
            return Change(changed=False)
        self._change(person.id, stage="excluded", before=person.stage, reason=reason)
        places = self._allocation.release(person.id)
        self.record("excluded", person.id, reason=reason, places=places)
        return Change(changed=True, places=places)

    def reinstate(self, pseudonym: str) -> Change | None:
        """Reinstate an excluded person.

        They continue from the same task, and their answers count where the items are still free.

        A person whom the server had stopped before is stopped again.

        Args:
            pseudonym: the person.

        Returns:
            What was done; `None` if there is no such person.
        """
        person = self._locked(pseudonym)
        if person is None:
            return None
        if person.stage != "excluded":
            return Change(changed=False)
        stage = person.before or "working"
        stopped = stage == "stopped"
        reason = f"{person.controls_right} of {person.controls} control items right" if stopped else None
        self._change(person.id, stage=stage, before=None, reason=reason)
        # A training item that was open is shown again.
        training = and_(RESPONSE.c.task >= self.study.training.start, RESPONSE.c.state == RETURNED)
        self.connection.execute(update(RESPONSE).where(self._of(person.id), training).values(state=OPEN))
        again, over = (0, 0) if stopped else self._allocation.reinstate(person.id)
        self.record("reinstated", person.id, again=again, over=over)
        return Change(changed=True, answers=again, places=over)

    def erase(self, pseudonym: str) -> Change | None:
        """Erase a person: id or name, links, answers, comments, completion code, and what the log says about them.

        A row remains that has nothing but its number, so that the number is not given again: a cookie of the
        person may still carry it. The places of their answers are given to others. The log says that somebody
        was erased.

        Args:
            pseudonym: the person.

        Returns:
            What was erased; `None` if there is no such person.
        """
        person = self._locked(pseudonym)
        if person is None:
            return None
        places = self._allocation.release(person.id)
        times = self.connection.scalars(select(RESPONSE.c.answered).where(self._of(person.id)))
        answers = sum(answered is not None for answered in times)
        self.connection.execute(delete(RESPONSE).where(self._of(person.id)))
        name = person.external if person.source == "expert" else None
        theirs = INVITATION.c.person == person.id
        if name is not None:
            theirs = or_(theirs, and_(self._invitations, INVITATION.c.name == name))
        self.connection.execute(delete(INVITATION).where(theirs))
        self._erase_from_log(name, person.id)
        self._change(
            person.id,
            pseudonym=f"{ERASED}-{secrets.token_hex(5)}",
            source=ERASED,
            external=None,
            stage=ERASED,
            reason=None,
            before=None,
            language=self.study.languages[0],
            seed=0,
            created=0,
            controls=0,
            controls_right=0,
            trained=0,
            trained_right=0,
            completion=None,
            declared=None,
        )
        self.connection.execute(delete(BACKGROUND).where(BACKGROUND.c.person == person.id))
        self.record("erased", answers=answers)
        return Change(changed=True, answers=answers, places=places)

    @property
    def _allocation(self) -> Allocation:
        return Allocation(self.connection, self.study.rules, self.now)

    @property
    def _invitations(self) -> ColumnElement[bool]:
        return INVITATION.c.study == self.study.rules.study

    def _of(self, person: int) -> ColumnElement[bool]:
        return and_(RESPONSE.c.study == self.study.rules.study, RESPONSE.c.person == person)

    def _change(self, person: int, **values: object) -> None:
        self.connection.execute(update(PERSON).where(PERSON.c.id == person).values(values))

    def record(self, what: Deed, person: int | None = None, **facts: str | int) -> None:
        """Write an event of the study into the log."""
        reason = str(facts.pop("reason", ""))
        record(
            self.connection, self.study.rules.study, self.now, self.actor, what, person=person, reason=reason, **facts
        )  # fmt: skip

    def _locked(self, pseudonym: str) -> Row[Any] | None:
        """Read a person and let their own requests wait; nobody else can give them tasks in the meantime."""
        here = and_(PERSON.c.study == self.study.rules.study, PERSON.c.pseudonym == pseudonym)
        query = select(PERSON).where(here, PERSON.c.stage != ERASED)
        return self.connection.execute(query.with_for_update()).first()

    def _erase_from_log(self, name: str | None, person: int | None) -> None:
        """Take a person's number, name and reasons out of the log."""
        if person is not None:
            hers = update(EVENT).where(EVENT.c.person == person)
            self.connection.execute(hers.values(person=None, detail=""))
        if name is None:
            return
        here = and_(EVENT.c.study == self.study.rules.study, EVENT.c.what == "invited")
        rows = self.connection.execute(select(EVENT.c.id, EVENT.c.detail).where(here)).all()
        with_name = [row.id for row in rows if row.detail and json.loads(row.detail).get("name") == name]
        self.connection.execute(update(EVENT).where(EVENT.c.id.in_(with_name)).values(detail=""))


def find_people(connection: Connection, study: ServedStudy, given: str) -> list[str]:
    """Return the pseudonyms of people by a pseudonym, a platform's id or an expert's name."""
    of_study = and_(PERSON.c.study == study.rules.study, PERSON.c.stage != ERASED)
    named = or_(PERSON.c.pseudonym == given, and_(PERSON.c.external == given, PERSON.c.source != "link"))
    return list(connection.scalars(select(PERSON.c.pseudonym).where(of_study, named)))


def open_invitations(connection: Connection, study: ServedStudy) -> Sequence[Row[Any]]:
    """Read the invitations that nobody has used and that were not revoked, the newest first."""
    waiting = and_(INVITATION.c.person.is_(None), ~INVITATION.c.revoked)
    query = (
        select(INVITATION)
        .where(INVITATION.c.study == study.rules.study, waiting)
        .order_by(INVITATION.c.created.desc(), INVITATION.c.name, INVITATION.c.hash)
    )
    return connection.execute(query).all()


def comments_table(connection: Connection, study: ServedStudy) -> str:
    """Return all comments as CSV, in the order in which they were sent.

    The columns are `study`, `task`, `item` (its id in the dataset), `kind` (test, control or training),
    `respondent` (a pseudonym), `submitted`, `answer` and `comment`. Text that a spreadsheet would run as a
    formula is prefixed with an apostrophe.
    """
    query = (
        select(
            RESPONSE.c.task, RESPONSE.c.answered, RESPONSE.c.answer, RESPONSE.c.comment, PERSON.c.pseudonym
        )
        .join(PERSON, PERSON.c.id == RESPONSE.c.person)
        .where(RESPONSE.c.study == study.rules.study, RESPONSE.c.comment.is_not(None))
        .order_by(RESPONSE.c.answered, PERSON.c.pseudonym, RESPONSE.c.task)
    )
    rows = []
    for row in connection.execute(query):
        task, submitted = study.tasks[row.task], moment(row.answered)
        own = (str(task.item), task.kind, row.pseudonym, submitted, row.answer, row.comment)
        rows.append((study.key, task.id, *own))
    columns = ("study", "task", "item", "kind", "respondent", "submitted", "answer", "comment")
    table = pl.DataFrame(rows, schema=dict.fromkeys(columns, pl.String), orient="row")
    return guarded(table).write_csv()
