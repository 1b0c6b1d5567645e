"""Register studies in the site's database, and the settings that the server keeps there."""

from __future__ import annotations

import secrets
from dataclasses import replace
from itertools import islice
from random import Random
from typing import Final

from sqlalchemy import Connection, insert, select, update

from merilo.errors import DataError
from merilo.site.assignment import RANKS, tasks_of_rules
from merilo.site.schema import SETTING, STUDY, TASK
from merilo.site.served_study import ServedStudy

#: Rows of one statement.
_BLOCK: Final = 10_000


def register(connection: Connection, study: ServedStudy, now: int) -> ServedStudy:
    """Write a study and its tasks into the database; a study that is there already stays as it is.

    Args:
        connection: an open transaction that writes.
        study: the study.
        now: the time, in milliseconds since 1970.

    Returns:
        The study with its number in the database.

    Raises:
        DataError: the database holds answers to another version of the study.
    """
    found = connection.execute(select(STUDY.c.id, STUDY.c.content).where(STUDY.c.key == study.key)).first()
    if found is not None:
        if found.content != study.content:
            raise DataError(
                "the database holds this study with other items, overlap, time limit or controls: use another database, or restore the study",
                file=study.folder.path,
            )
        return replace(study, rules=replace(study.rules, study=found.id))
    number = connection.execute(
        insert(STUDY).values(
            key=study.key, name=study.title, arm=study.arm_name, folder=str(study.folder.path), content=study.content, created=now
        )
    ).inserted_primary_key  # fmt: skip
    assert number is not None  # noqa: S101 - SQLAlchemy's type allows it for statements with several rows
    registered = replace(study, rules=replace(study.rules, study=number[0]))
    chance = Random(f"ranks {study.folder.plan.seed} {study.key}")  # noqa: S311 - an order that can be repeated
    ranks = [chance.randrange(RANKS) for _ in study.tasks]
    rows = tasks_of_rules(registered.rules, ranks, study.turns)
    while block := list(islice(rows, _BLOCK)):
        connection.execute(insert(TASK), block)
    return registered


def cookie_key(connection: Connection) -> str:
    """Return the key of the site's cookies; it is made at the first start."""
    query = select(SETTING.c.value).where(SETTING.c.name == "cookie key")
    found = connection.scalar(query)
    if found is None:
        hold_settings(connection)
        found = connection.scalar(query)
    if found is None:
        found = secrets.token_urlsafe(32)
        keep_setting(connection, "cookie key", found)
    return str(found)


def last_address(connection: Connection) -> str | None:
    """Return the address at which the site was served last; `None` if it never was."""
    found = connection.scalar(select(SETTING.c.value).where(SETTING.c.name == "address"))
    return None if found is None else str(found)


def hold_settings(connection: Connection) -> None:
    """Let other server processes wait that would write the same setting."""
    if connection.dialect.name == "postgresql":
        connection.exec_driver_sql("LOCK TABLE setting IN EXCLUSIVE MODE")


def keep_setting(connection: Connection, name: str, value: str) -> None:
    """Write a setting of the server, in place of an earlier value."""
    if not connection.execute(update(SETTING).where(SETTING.c.name == name).values(value=value)).rowcount:
        connection.execute(insert(SETTING).values(name=name, value=value))
