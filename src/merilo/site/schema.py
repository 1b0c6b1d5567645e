"""The tables of the annotation site.

Times are milliseconds since 1970 in UTC. A row of `response` is one task given to one person, from the moment
it is sent; the answer is written into the same row. The primary key holds that nobody gets a task twice, and
the check on `task.open` that nobody gets a task whose overlap is reached:

    task.open = task.needed - number of its responses with `counts`
"""

from __future__ import annotations

from typing import Final

from sqlalchemy import (
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    Float,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    SmallInteger,
    String,
    Table,
    Text,
    UniqueConstraint,
    text,
)

#: The number of the schema: raise it when a table changes. A database with another number is refused.
SCHEMA: Final = 1

METADATA: Final = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_name)s",
        "uq": "uq_%(table_name)s_%(column_0_name)s",
    }
)

#: One group of annotators of one study.
STUDY: Final = Table(
    "study",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("key", String(40), nullable=False, unique=True),  # the id that travels with the answers
    Column("name", Text, nullable=False),
    Column("arm", Text, nullable=False),
    Column("folder", Text, nullable=False),
    Column("content", String(64), nullable=False),  # the hash of the tasks and settings that were frozen
    Column("paused", Boolean, nullable=False, server_default=text("false")),
    Column("created", BigInteger, nullable=False),
)

TEST, CONTROL, TRAINING = 0, 1, 2

TASK: Final = Table(
    "task",
    METADATA,
    Column("study", ForeignKey("study.id"), primary_key=True, autoincrement=False),
    Column("number", Integer, primary_key=True, autoincrement=False),  # its place in the frozen study
    Column("kind", SmallInteger, nullable=False),
    Column("needed", Integer, nullable=False),  # how many people answer it; 0 for control and training items
    Column("open", Integer, nullable=False),  # how many of them have not been given it yet
    Column("rank", Integer, nullable=False),  # a random number: tasks are found from a random place on
    Column("dialogue", Integer, nullable=False, server_default=text("0")),
    Column("turn", Integer, nullable=False, server_default=text("0")),
    CheckConstraint("open >= 0", name="ck_task_open"),
    Index("ix_task_open", "study", "rank", sqlite_where=text("open > 0"), postgresql_where=text("open > 0")),
)

#: The stage of a person of whom only the number is left: numbers are not given again, because cookies carry them.
ERASED: Final = "erased"

PERSON: Final = Table(
    "person",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("study", ForeignKey("study.id"), nullable=False),
    Column("pseudonym", String(24), nullable=False),
    Column(
        "source", String(16), nullable=False
    ),  # how they came in: link, code, expert, or the platform's name
    Column("external", Text),  # their id there; null after they are erased
    Column("stage", String(12), nullable=False),
    Column("reason", Text),  # why they were stopped or excluded
    Column("before", String(12)),  # the stage before they were excluded, to which they return
    Column("language", String(2), nullable=False),
    Column("seed", BigInteger, nullable=False),  # of the person's random order
    Column("created", BigInteger, nullable=False),
    Column("controls", Integer, nullable=False, server_default=text("0")),  # control items answered
    Column("controls_right", Integer, nullable=False, server_default=text("0")),
    Column("trained", Integer, nullable=False, server_default=text("0")),  # training items answered
    Column("trained_right", Integer, nullable=False, server_default=text("0")),
    Column("completion", String(24)),  # the code that a platform pays for
    Column(
        "declared", String(4)
    ),  # whether they used AI, as they declared at the end; null if they did not say
    UniqueConstraint("study", "pseudonym"),
    UniqueConstraint("study", "source", "external", name="uq_person_external"),
)

#: States of a response: sent and not answered; answered; its time ran out; given back; written by the person
#: and never sent.
OPEN, ANSWERED, EXPIRED, RETURNED, OWN = "open", "answered", "expired", "returned", "own"
#: The item belongs to a domain that the person was not invited for, and is never sent.
FOREIGN: Final = "foreign"

RESPONSE: Final = Table(
    "response",
    METADATA,
    Column("study", Integer, primary_key=True, autoincrement=False),
    Column("person", ForeignKey("person.id"), primary_key=True, autoincrement=False),
    Column("task", Integer, primary_key=True, autoincrement=False),
    Column(
        "place", Integer, nullable=False
    ),  # its place in the person's order, from 1; below 0 if it was never sent
    Column("state", String(8), nullable=False),
    Column("counts", Boolean, nullable=False),  # whether it holds one of the task's places
    Column(
        "given", BigInteger
    ),  # when it was sent; null for a later turn of a dialogue that is held for the person
    Column("due", BigInteger),  # when it goes back to others
    Column("late", BigInteger),  # the end of the study's time limit; null without one
    Column("answered", BigInteger),
    Column("seconds", Float),
    Column("answer", Text),
    Column("right", Boolean),  # of a control or training item
    Column("comment", Text),
    Column("signals", Text),  # of help by AI, as JSON; null if the page sent none
    UniqueConstraint("study", "person", "place", name="uq_response_place"),
    # Few tasks are open at a time, however many were answered.
    Index(
        "ix_response_open",
        "study",
        "due",
        sqlite_where=text("state = 'open'"),
        postgresql_where=text("state = 'open'"),
    ),
    Index("ix_response_task", "task", "study"),  # not by study: SQLite would take it for open tasks too
)

#: What people say of themselves before they begin, apart from their answers to tasks.
BACKGROUND: Final = Table(
    "background",
    METADATA,
    Column("person", ForeignKey("person.id"), primary_key=True, autoincrement=False),
    Column("question", String(40), primary_key=True),
    Column("answer", SmallInteger),  # the place of the option in the plan, from 0; null if they declined
)

#: Links and codes that let somebody in: only their hashes are kept.
INVITATION: Final = Table(
    "invitation",
    METADATA,
    Column("hash", String(64), primary_key=True),
    Column("study", ForeignKey("study.id"), nullable=False),
    Column("name", Text),  # the expert whom it is for
    Column("domains", Text),  # the domains whose items they get, as JSON; null for all
    Column("person", ForeignKey("person.id")),  # who came in with it
    Column("created", BigInteger, nullable=False),
    Column("revoked", Boolean, nullable=False, server_default=text("false")),
)

#: What the author and the server did, and why.
EVENT: Final = Table(
    "event",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("study", Integer),
    Column("at", BigInteger, nullable=False),
    Column("actor", Text, nullable=False),
    Column("what", String(32), nullable=False),
    Column("person", Integer),  # whom it concerns
    Column("detail", Text, nullable=False, server_default=text("''")),  # reason and counts as JSON
    Index("ix_event_study", "study", "id"),
    Index("ix_event_person", "person"),
)

#: The server's own secrets and settings: the key of the cookies, the secret of the author's link, the
#: address.
SETTING: Final = Table(
    "setting",
    METADATA,
    Column("name", String(40), primary_key=True),
    Column("value", Text, nullable=False),
)
