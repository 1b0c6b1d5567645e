"""The audit log: what authors and the server did, when, to whom and why."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias

from sqlalchemy import Connection, Row, insert, or_, select, update

from merilo.site.schema import EVENT, PERSON
from merilo.text import Given, Text

#: Who did something: an author on the site by the account's name, "server" by its rules, or "command line".
Actor: TypeAlias = str

_ACTORS: Final[Mapping[str, Text]] = {
    "author": Text("author"),
    "server": Text("server"),
    "command line": Text("command line"),
}

#: Everything that is recorded.
Deed: TypeAlias = Literal[
    "signed_in",
    "sign_in_failed",
    "signed_out",
    "password_set",
    "author_removed",
    "paused",
    "resumed",
    "invited",
    "links_made",
    "revoked",
    "stopped",
    "excluded",
    "reinstated",
    "erased",
    "name_erased",
    "answers_exported",
    "comments_exported",
    "counts_exported",
    "estimate_shown",
]

_DEEDS: Final[Mapping[str, Text]] = {
    "signed_in": Text("Signed in to the author's pages"),
    "sign_in_failed": Text("Wrong password of the author"),
    "signed_out": Text("Signed out"),
    "password_set": Text("New password of the author"),
    "author_removed": Text("Account of an author removed"),
    "paused": Text("Study paused"),
    "resumed": Text("Study resumed"),
    "invited": Text("Expert invited"),
    "links_made": Text("Personal links made"),
    "revoked": Text("Invitation revoked"),
    "stopped": Text("Stopped because of control items"),
    "excluded": Text("Excluded"),
    "reinstated": Text("Reinstated"),
    "erased": Text("Data of one person erased"),
    "name_erased": Text("Name of an invited expert erased"),
    "answers_exported": Text("Answers downloaded"),
    "comments_exported": Text("Comments downloaded"),
    "counts_exported": Text("Counts of people downloaded"),
    "estimate_shown": Text("Estimate shown"),
}

#: The counts of an event in words; those of invitations are names.
_FACTS: Final[Mapping[str, Text]] = {
    "sign_in_failed": Text("attempts within an hour: {times}"),
    "links_made": Text("links: {links}"),
    "stopped": Text("{right} of {controls} right"),
    "excluded": Text("items given to others: {places}"),
    "reinstated": Text(
        "answers that count again: {again}; not counted, because the items were given to others: {over}"
    ),
    "erased": Text("answers: {answers}"),
}

#: Events of one page of the log.
PAGE: Final = 50

_HOUR: Final = 3_600_000


@dataclass(frozen=True, slots=True)
class LoggedEvent:
    """An event of the log.

    Attributes:
        id: its number; later events have larger ones.
        at: when, in milliseconds since 1970.
        actor: who did it.
        what: what was done, a `Deed`.
        pseudonym: to whom; `None` if it concerns nobody, or somebody who was erased.
        reason: why, in the words of who did it; an empty text if no reason was given.
        facts: name -> value, for the sentence of the event: counts, names of experts.
    """

    id: int
    at: int
    actor: str
    what: str
    pseudonym: str | None
    reason: str
    facts: Mapping[str, str | int]

    @property
    def deed(self) -> Text:
        """What was done, in words."""
        return _DEEDS.get(self.what) or Given({"en": self.what})

    @property
    def by(self) -> Text:
        """Who did it, in words."""
        return _ACTORS.get(self.actor) or Given({"en": self.actor})

    @property
    def told(self) -> Text | None:
        """The counts or names in words; `None` if there are none, or they were erased."""
        if name := self.facts.get("name"):
            return Given({"en": str(name)})
        text, values = _FACTS.get(self.what), dict[str, Any](self.facts)
        return Text(text.english, **values) if text is not None and values else None


def record(
    connection: Connection,
    study: int | None,
    now: int,
    actor: Actor,
    what: Deed,
    *,
    person: int | None = None,
    reason: str = "",
    **facts: str | int,
) -> None:
    """Write an event into the log, in the transaction of what it records.

    Args:
        connection: an open transaction that writes.
        study: the number of the study; `None` for the whole server.
        now: the time, in milliseconds since 1970.
        actor: who did it.
        what: what was done.
        person: the number of the person whom it concerns.
        reason: why.
        facts: counts and names for the sentence of the event.
    """
    content = {**facts, **({"reason": reason} if reason else {})}
    connection.execute(
        insert(EVENT).values(
            study=study, at=now, actor=actor, what=what, person=person,
            detail=json.dumps(content, ensure_ascii=False) if content else "",
        )
    )  # fmt: skip


def record_failed_sign_in(connection: Connection, now: int) -> None:
    """Record a wrong password. Wrong passwords of the same hour are one event with their number.

    So that guessing does not fill the log.
    """
    latest = select(EVENT).where(EVENT.c.study.is_(None)).order_by(EVENT.c.id.desc()).limit(1)
    found = connection.execute(latest).first()
    if found is None or found.what != "sign_in_failed" or found.at < now - _HOUR:
        record(connection, None, now, "author", "sign_in_failed", times=1)
        return
    times = int(_content(found.detail).get("times", 1)) + 1
    connection.execute(
        update(EVENT).where(EVENT.c.id == found.id).values(detail=json.dumps({"times": times}))
    )


def events(
    connection: Connection,
    study: int,
    *,
    before: int | None = None,
    person: int | None = None,
    most: int = PAGE,
) -> list[LoggedEvent]:
    """Read events of a study and of the whole server, the newest first.

    Args:
        connection: the database.
        study: the number of the study.
        before: only events with a smaller number.
        person: only events of this person.
        most: at most so many.
    """
    query = (
        select(EVENT, PERSON.c.pseudonym)
        .join(PERSON, PERSON.c.id == EVENT.c.person, isouter=True)
        .where(or_(EVENT.c.study == study, EVENT.c.study.is_(None)))
        .order_by(EVENT.c.id.desc())
        .limit(most)
    )
    if before is not None:
        query = query.where(EVENT.c.id < before)
    if person is not None:
        query = query.where(EVENT.c.person == person)
    return [_logged(row) for row in connection.execute(query)]


def _logged(row: Row[tuple[object, ...]]) -> LoggedEvent:
    facts = _content(row.detail)
    reason = str(facts.pop("reason", ""))
    return LoggedEvent(row.id, row.at, row.actor, row.what, row.pseudonym, reason, facts)


def _content(detail: str) -> dict[str, str | int]:
    """The reason and the facts of an event; a text that is no JSON is a reason."""
    try:
        content = json.loads(detail) if detail else {}
    except json.JSONDecodeError:
        content = None
    return content if isinstance(content, dict) else {"reason": detail}
