"""How many people came, stayed and left, and what they said of themselves, in counts that identify nobody."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import replace
from typing import Final, NamedTuple

import polars as pl
from sqlalchemy import Connection, and_, case, func, select

from merilo.atomic_write import guarded
from merilo.participation import COUNT_FIELDS, Participation
from merilo.site.schema import ANSWERED, BACKGROUND, ERASED, PERSON, RESPONSE
from merilo.site.served_study import ServedStudy

#: Somebody who has done nothing for so many milliseconds has left.
AWAY: Final = 1_800_000

#: Stage -> what is counted.
_ENDS: Final = {
    "declined": "declined",
    "refused": "failed_training",
    "stopped": "stopped",
    "excluded": "excluded",
    "finished": "finished",
}
_BEFORE_CONSENT: Final = frozenset({"consent", "declined"})


class Presence(NamedTuple):
    """Where one person is.

    Attributes:
        stage: their stage.
        before: their stage before they were excluded; `None` otherwise.
        tasks: answered test and control items.
        last_seen: when they last got or answered a task, or came in, in milliseconds since 1970.
        has_code: whether they got the code for the platform, with which their part may end.
    """

    stage: str
    before: str | None
    tasks: int
    last_seen: int
    has_code: bool


def participation(people: Iterable[Presence], now: int) -> Participation:
    """Count what became of people.

    Whoever is in the middle and has done nothing for 30 minutes has left.

    Args:
        people: the people.
        now: the time, in milliseconds since 1970.
    """
    counts, left, after = Counter[str](), Counter[str](), Counter[int]()
    for one in people:
        counts["came"] += 1
        counts["agreed"] += (one.before or one.stage) not in _BEFORE_CONSENT
        if one.stage in _ENDS:
            counts[_ENDS[one.stage]] += 1
        elif one.has_code:
            counts["finished"] += 1
        elif now - one.last_seen < AWAY:
            counts["under_way"] += 1
        else:
            left[one.stage] += 1
            if one.stage == "working":
                after[one.tasks] += 1
    return Participation(
        **counts, left=dict(sorted(left.items())), left_after=dict(sorted(after.items())), personal=()
    )


def count_people(connection: Connection, study: ServedStudy, now: int) -> Participation:
    """Count the people of a study, and what those who answered a task said of themselves.

    Args:
        connection: a transaction that reads.
        study: the registered study.
        now: the time, in milliseconds since 1970.
    """
    task = and_(RESPONSE.c.state == ANSWERED, RESPONSE.c.task < study.training.start)
    latest = func.max(func.coalesce(RESPONSE.c.answered, RESPONSE.c.given))
    query = (
        select(
            PERSON.c.id, PERSON.c.stage, PERSON.c.before, PERSON.c.created, PERSON.c.completion,
            func.sum(case((task, 1), else_=0)).label("tasks"), latest.label("latest"),
        )
        .join(RESPONSE, and_(RESPONSE.c.person == PERSON.c.id, RESPONSE.c.study == PERSON.c.study), isouter=True)
        .where(PERSON.c.study == study.rules.study, PERSON.c.stage != ERASED)
        .group_by(PERSON.c.id)
    )  # fmt: skip
    people = {
        row.id: Presence(
            row.stage,
            row.before,
            int(row.tasks),
            max(row.created, row.latest or 0),
            row.completion is not None,
        )
        for row in connection.execute(query)
    }
    came = participation(people.values(), now)
    chosen: defaultdict[str, Counter[int]] = defaultdict(Counter)
    declined = Counter[str]()
    for row in connection.execute(select(BACKGROUND).join(PERSON).where(PERSON.c.study == study.rules.study)):
        one = people.get(row.person)
        if one is None or not one.tasks or one.stage == "excluded":
            continue
        if row.answer is None:
            declined[row.question] += 1
        else:
            chosen[row.question][row.answer] += 1
    words = [one.words for one in study.folder.plan.demographics]
    personal = tuple(one.counted(chosen[one.name], declined[one.name]) for one in words)
    return replace(came, personal=personal)


def people_table(study: ServedStudy, came: Participation) -> str:
    """Return the counts as CSV for `merilo study import`, columns as in `COUNT_FIELDS`."""
    table = pl.DataFrame(list(came.rows(study.key)), schema=list(COUNT_FIELDS), orient="row")
    return guarded(table).write_csv()
