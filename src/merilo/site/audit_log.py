"""The audit log: what authors and the server did, when, to whom and why."""

from __future__ import annotations

import json
from typing import Literal, TypeAlias

import polars as pl
from sqlalchemy import Connection, insert, select

from merilo.atomic_write import guarded
from merilo.site.answer_export import moment
from merilo.site.schema import EVENT, PERSON

#: Who did something: "author" on the site, "server" by its rules, or "command line".
Actor: TypeAlias = str

#: Everything that is recorded.
Deed: TypeAlias = Literal[
    "paused",
    "resumed",
    "invited",
    "links_made",
    "revoked",
    "stopped",
    "excluded",
    "reinstated",
    "erased",
    "downloaded",
    "estimate_shown",
]


def record(
    connection: Connection,
    study: int,
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
        study: the number of the study.
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


def log_table(connection: Connection, study: int) -> str:
    """Return the log of a study as CSV, in the order of the events.

    The columns are `time`, `actor`, `what`, `person` (a pseudonym; empty if it concerns nobody, or somebody who was
    erased), `reason` and `facts` (counts and names as JSON). Text that a spreadsheet would run as a formula is
    prefixed with an apostrophe.

    Args:
        connection: the database.
        study: the number of the study.
    """
    query = (
        select(EVENT, PERSON.c.pseudonym)
        .join(PERSON, PERSON.c.id == EVENT.c.person, isouter=True)
        .where(EVENT.c.study == study)
        .order_by(EVENT.c.id)
    )
    rows = []
    for row in connection.execute(query):
        facts = json.loads(row.detail) if row.detail else {}
        reason = facts.pop("reason", "")
        told = json.dumps(facts, ensure_ascii=False) if facts else ""
        rows.append((moment(row.at), row.actor, row.what, row.pseudonym or "", reason, told))
    columns = ("time", "actor", "what", "person", "reason", "facts")
    return guarded(pl.DataFrame(rows, schema=dict.fromkeys(columns, pl.String), orient="row")).write_csv()
