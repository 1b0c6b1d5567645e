"""The log of events that is the site: one table in SQLite or PostgreSQL, one process that writes, many that read.

Everything else is the fold of the log, see `merilo.site.state`.
"""

from __future__ import annotations

import asyncio
import fcntl
import json
import os
import sqlite3
import time
from asyncio import wrap_future
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import closing, contextmanager, suppress
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import IO, TYPE_CHECKING, Any, Final, NamedTuple
from urllib.parse import quote

from pydantic_core import from_json, to_json
from sqlalchemy import (
    BigInteger,
    Column,
    Connection,
    Engine,
    Index,
    Integer,
    MetaData,
    String,
    Table,
    Text,
    create_engine,
    event,
    func,
    insert,
    inspect,
    select,
    update,
)
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, SQLAlchemyError

from merilo.atomic_write import OWNER
from merilo.errors import DataError, InputError, OutputError, UsageError, argument, missing_extra

if TYPE_CHECKING:
    from sqlalchemy.engine.interfaces import DBAPIConnection

#: The database's file in a study's folder.
DATABASE_FILE: Final = "site.db"

#: The environment variable with the database's address, for containers, where every command uses the same database.
DATABASE_VARIABLE: Final = "MERILO_SITE_DATABASE"

#: Seconds that SQLite waits for another process.
_PATIENCE: Final = 30

#: A computer that has gone away without a word is noticed within half a minute.
_ALIVE: Final = {
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 4,
    "tcp_user_timeout": 30_000,
}

#: What a connection asks of PostgreSQL: a commit is on the disk before it returns, also where the server's default is
#: otherwise, and a transaction that hangs stops the others for half a minute at most.
_DEMANDS: Final = """
SELECT set_config('synchronous_commit', CASE current_setting('synchronous_commit')
                  WHEN 'off' THEN 'on' ELSE current_setting('synchronous_commit') END, false),
       set_config('idle_in_transaction_session_timeout', '30s', false)
"""

#: The number of the lock of PostgreSQL that the process holds that writes.
_WRITER_LOCK: Final = 7_203_311

#: Rows that are read at once.
_BLOCK: Final = 20_000

_METADATA: Final = MetaData()
EVENT: Final = Table(
    "event",
    _METADATA,
    Column("id", Integer, primary_key=True, autoincrement=False),  # 1, 2, 3 ...: two writers would collide
    Column("at", BigInteger, nullable=False),  # milliseconds since 1970
    Column("study", String(40), nullable=False),  # its key; empty for the server's own settings
    Column("kind", String(16), nullable=False),
    Column("person", String(24), nullable=False),  # their random id; empty if it concerns nobody
    Column("task", Integer),
    Column("data", Text, nullable=False),  # JSON; empty without any
    Index("ix_event_person", "person"),
)

#: The settings with the author's secret, with the address at which the server listens, and with its computer's name.
SECRET, LISTENS, COMPUTER = "author secret", "listens", "computer"

#: The kind of an event whose content was erased.
ERASED: Final = "erased row"


class Event(NamedTuple):
    """Something that happened.

    Attributes:
        at: when, in milliseconds since 1970.
        kind: what; see `State.apply`.
        person: the id of the person whom it concerns.
        task: the number of the task that it concerns.
        facts: more, as values of JSON.
    """

    at: int
    kind: str
    person: str = ""
    task: int | None = None
    facts: Mapping[str, Any] = MappingProxyType({})


class LogEntry(NamedTuple):
    """What is written together: events of one study, and whom the log must forget before.

    Attributes:
        study: the key of the study; empty for the server's own settings.
        events: the events.
        forget: the id of a person whose events are erased; empty for nobody.
        invitations: the hashes of invitations that are erased.
    """

    study: str
    events: Sequence[Event] = ()
    forget: str = ""
    invitations: frozenset[str] = frozenset()

    @property
    def erases(self) -> bool:
        """Return whether the log must forget something."""
        return bool(self.forget or self.invitations)


def database_url(folder: Path, address: str | None) -> URL:
    """Return the address of the database.

    Args:
        folder: the study's folder, where SQLite's file lies by default.
        address: an address such as `postgresql://user@host/name` or `sqlite:///file.db`. Default: that of the
            environment.

    Raises:
        UsageError: the address is not one of SQLite or PostgreSQL.
    """
    address = address or os.environ.get(DATABASE_VARIABLE)
    if not address:
        return URL.create("sqlite", database=str(folder / DATABASE_FILE))
    with suppress(ArgumentError):
        url = make_url(address)
        if (backend := url.get_backend_name()) in {"sqlite", "postgresql", "postgres"}:
            return url if backend == "sqlite" else url.set(drivername="postgresql+psycopg")
    raise UsageError(
        "takes an address such as postgresql://user@host/name or sqlite:///file.db",
        field=argument("database"),
    )


def database_file(folder: Path, address: str | None) -> Path | None:
    """Return the file of the database; `None` for PostgreSQL."""
    url = database_url(folder, address)
    return Path(str(url.database)) if url.get_backend_name() == "sqlite" else None


class Journal:
    """The log in its database; a new database gets the table.

    Args:
        url: the database.

    Raises:
        DataError: the database belongs to another program.
        InputError: it cannot be reached, is damaged, or is in a folder that cannot be written and not complete there.
        MissingPartError: the extra `postgres` is missing.
    """

    def __init__(self, url: URL) -> None:
        self.url = url
        self.engine = _engine(url)
        self._insertion = str(insert(EVENT).compile(dialect=self.engine.dialect))
        self._lock: IO[bytes] | None = None
        self._connection: Connection | None = None
        self._last: int | None = None
        self._erased = False  # and a file may have it still
        try:
            with self._refusing():
                self._make_table()
        except BaseException:
            self.engine.dispose()
            raise

    @property
    def is_sqlite(self) -> bool:
        """Return whether the database is SQLite."""
        return self.engine.dialect.name == "sqlite"

    @property
    def name(self) -> str:
        """Return the database's name for messages, without a password."""
        return str(self.url.database) if self.is_sqlite else self.url.render_as_string(hide_password=True)

    def close(self) -> None:
        """Let another process write, and close the database."""
        if self._connection is not None:
            with suppress(SQLAlchemyError):
                if not self.is_sqlite:  # the server ends the session some time after the connection
                    self._connection.exec_driver_sql("SELECT pg_advisory_unlock_all()")
                self._connection.close()
            self._connection = None
        if self._lock is not None:
            self._lock.close()
            self._lock = None
        self.engine.dispose()

    def take(self) -> bool:
        """Become the process that writes, until `close`; return whether no other process does.

        Raises:
            OutputError: the database can only be read.
        """
        if self._connection is not None:
            return True
        if self.is_sqlite and self.url.database and self._lock is None:
            if _is_read_only(self.url.database):
                raise OutputError("cannot be written: you may not write to its folder", file=self.name)
            lock = os.fdopen(os.open(f"{self.url.database}.lock", os.O_WRONLY | os.O_CREAT, OWNER), "wb")
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                lock.close()
                return False
            self._lock = lock
        connection = self.engine.connect()
        if not self.is_sqlite:
            connection = connection.execution_options(isolation_level="AUTOCOMMIT")
            if not connection.exec_driver_sql(f"SELECT pg_try_advisory_lock({_WRITER_LOCK})").scalar():
                connection.close()
                return False
        self._connection = connection
        return True

    def events(self, study: str, kinds: Iterable[str] | None = None) -> Iterator[Event]:
        """Read the events of a study in their order.

        Args:
            study: the key of the study; empty for the server's own settings.
            kinds: the kinds to read. Default: all.
        """
        columns = (EVENT.c.at, EVENT.c.kind, EVENT.c.person, EVENT.c.task, EVENT.c.data)
        query = select(*columns).where(EVENT.c.study == study).order_by(EVENT.c.id)
        if kinds is not None:
            query = query.where(EVENT.c.kind.in_(list(kinds)))
        with (
            self._refusing(),
            self.engine.connect() as connection,
            closing(connection.execute(query)) as rows,
        ):
            while block := rows.cursor.fetchmany(_BLOCK):  # rows as the driver gives them
                facts = from_json(f"[{','.join([row[4] or '{}' for row in block])}]")
                for (at, kind, person, task, _), stated in zip(block, facts, strict=True):
                    yield Event(at, kind, person, task, stated)

    def settings(self) -> dict[str, str]:
        """Return the server's settings by name: the key of the cookies, the author's secret, addresses."""
        facts = [setting.facts for setting in self.events("", ["setting"])]
        return {fact["name"]: fact["value"] for fact in facts}

    def keep(self, settings: Mapping[str, str], now: int) -> None:
        """Write settings of the server that have changed."""
        stored = self.settings()
        changed = [item for item in settings.items() if stored.get(item[0]) != item[1]]
        if changed:
            events = [Event(now, "setting", facts={"name": name, "value": value}) for name, value in changed]
            self.append([LogEntry("", events)])

    def latest(self) -> int:
        """Return the latest time in the log, in milliseconds since 1970; 0 for an empty one."""
        with self._refusing(), self.engine.connect() as connection:
            return int(connection.scalar(select(func.max(EVENT.c.at))) or 0)

    def append(self, entries: Sequence[LogEntry]) -> None:
        """Write entries in one transaction; they are on the disk when this returns.

        A connection to PostgreSQL that was lost is made again once.

        Raises:
            SQLAlchemyError: the database cannot write; nothing was written.
            DataError: another process writes.
        """
        if self._connection is None and self._last is not None:
            # it was lost, and was not there when asked again
            self._again(entries)
            return
        try:
            self._append(entries)
        except SQLAlchemyError as error:
            if self.is_sqlite or not _is_lost(error):
                raise
            self._again(entries)

    def _append(self, entries: Sequence[LogEntry]) -> None:
        connection = self._writing()
        last = self._latest_id(connection) if self._last is None else self._last
        fresh = [(entry.study, event) for entry in entries for event in entry.events]
        rows = [
            {
                "id": number, "at": event.at, "study": study, "kind": event.kind, "person": event.person,
                "task": event.task, "data": to_json(event.facts).decode() if event.facts else "",
            }
            for number, (study, event) in enumerate(fresh, last + 1)
        ]  # fmt: skip
        connection.exec_driver_sql("BEGIN IMMEDIATE" if self.is_sqlite else "BEGIN")
        try:
            for entry in entries:
                if entry.erases:
                    _forget(connection, entry)
            if rows:
                connection.exec_driver_sql(self._insertion, rows)
            connection.exec_driver_sql("COMMIT")
        except BaseException:
            with suppress(SQLAlchemyError):
                connection.exec_driver_sql("ROLLBACK")
            raise
        finally:
            _rest(connection)
        self._last = last + len(rows)
        self._rewrite(connection, entries)

    def _rewrite(self, connection: Connection, entries: Sequence[LogEntry]) -> None:
        """Remove from the files what was erased; what fails is tried again later, for the entries are written."""
        self._erased |= any(entry.erases for entry in entries)
        with suppress(SQLAlchemyError):
            self._erased = self._erased and not _rewritten(connection)

    def _writing(self) -> Connection:
        """Return the connection of the process that writes."""
        if self._connection is None:
            raise DataError("another process writes to the database", file=self.name)
        return self._connection

    @staticmethod
    def _latest_id(connection: Connection) -> int:
        latest = connection.scalar(select(func.max(EVENT.c.id)))
        _rest(connection)
        return int(latest or 0)

    def _again(self, entries: Sequence[LogEntry]) -> None:
        """Write what a lost connection may have written already: the ids of the events tell."""
        last, count = self._last, sum(len(entry.events) for entry in entries)
        if self._connection is not None:
            self._connection.invalidate()
            self._connection.close()
            self._connection = None
        self.take()
        stored = self._latest_id(self._writing())
        self._last = stored
        if last is not None and count and stored == last + count:
            self._rewrite(self._writing(), entries)
        else:
            self._append(entries)

    @contextmanager
    def _refusing(self) -> Iterator[None]:
        try:
            yield
        except (SQLAlchemyError, sqlite3.Error) as error:
            raise _named(error, self.name) from error

    def _make_table(self) -> None:
        """Make the table of a new database; refuse one in which another program keeps its tables."""
        tables = set(inspect(self.engine).get_table_names())
        if EVENT.name in tables:
            columns = {column["name"] for column in inspect(self.engine).get_columns(EVENT.name)}
            if columns != set(EVENT.c.keys()):
                raise DataError(
                    f"belongs to another program or version (its table 'event' has other columns); give another "
                    f"{argument('database')}",
                    file=self.name,
                )
            with self.engine.connect() as connection:
                last, count = connection.execute(select(func.max(EVENT.c.id), func.count())).one()
            if count != (last or 0):
                raise DataError(
                    f"is damaged ({last - count} events are missing): restore a backup", file=self.name
                )
        elif tables and self.is_sqlite:
            raise DataError(
                f"belongs to another program (it has the table '{min(tables)}'); give another {argument('database')}",
                file=self.name,
            )
        else:
            with self.engine.begin() as connection:
                _METADATA.create_all(connection)


def _rest(connection: Connection) -> None:
    """End the transaction that SQLAlchemy begins by itself, so that the next one is ours."""
    if connection.in_transaction():
        connection.rollback()


def _rewritten(connection: Connection) -> bool:
    """Remove from the files what was erased; return whether it is gone: a reader of SQLite's log may keep it there."""
    try:
        if connection.engine.dialect.name == "sqlite":
            return not connection.exec_driver_sql("PRAGMA wal_checkpoint(TRUNCATE)").scalar()
        connection.exec_driver_sql(f"VACUUM FULL {EVENT.name}")
        return True
    finally:
        _rest(connection)


def _named(error: Exception, name: str) -> InputError:
    """Return what a reader of the database is told: whether it is damaged, or cannot be read now."""
    original = getattr(error, "orig", None) or error
    said = " ".join(str(original).split())[:200]
    if isinstance(original, sqlite3.DatabaseError) and not isinstance(original, sqlite3.OperationalError):
        return InputError(f"is damaged ({said}): restore a backup", file=name)
    return InputError(f"cannot be read ({said})", file=name)


def _forget(connection: Connection, entry: LogEntry) -> None:
    """Erase what the log says about a person, and the invitations of a name."""
    gone = {"kind": ERASED, "person": "", "task": None, "data": ""}
    here = EVENT.c.study == entry.study
    if entry.forget:
        connection.execute(update(EVENT).where(here, EVENT.c.person == entry.forget).values(gone))
    if entry.invitations:
        query = select(EVENT.c.id, EVENT.c.data).where(here, EVENT.c.kind == "invited")
        rows = [
            row.id for row in connection.execute(query) if json.loads(row.data)["hash"] in entry.invitations
        ]
        connection.execute(update(EVENT).where(EVENT.c.id.in_(rows)).values(gone))


def _engine(url: URL) -> Engine:
    try:
        if url.get_backend_name() == "sqlite":
            if _is_read_only(url.database):
                return create_engine(url.set(database=f"file:{quote(str(url.database))}", query=_UNCHANGED))
            _hide(url.database)
            engine = create_engine(
                url, connect_args={"timeout": _PATIENCE, "check_same_thread": False}, paramstyle="named"
            )
            event.listen(engine, "connect", _durable)
            return engine
        engine = create_engine(url, pool_pre_ping=True, connect_args={"connect_timeout": 5, **_ALIVE})
    except ModuleNotFoundError:
        raise missing_extra("PostgreSQL", "postgres") from None
    event.listen(engine, "connect", _acknowledged)
    return engine


#: SQLite reads a file that nobody changes, and makes none beside it.
_UNCHANGED: Final = {"immutable": "1", "uri": "true"}


def _is_read_only(database: str | None) -> bool:
    """Whether a database of SQLite can only be read: this user may not write to its folder.

    Raises:
        InputError: the end of the log lies in a file beside it, which SQLite could read only by writing.
    """
    path = Path(database or "")
    if not path.is_file() or os.access(path.parent, os.W_OK):
        return False
    rest = Path(f"{path}-wal")
    if rest.is_file() and rest.stat().st_size:
        raise InputError(
            f"cannot be read: its latest answers are in {rest.name}, and you may not write to the folder; copy all "
            f"files {path.name}* to another one",
            file=path,
        )
    return True


def _hide(database: str | None) -> None:
    """Let nobody but its owner read a database of SQLite: it has the key of the cookies and the ids of people."""
    if not database or database == ":memory:":
        return
    with suppress(OSError):  # SQLite says what is wrong; a file of somebody else stays as it is
        os.close(os.open(database, os.O_RDWR | os.O_CREAT, OWNER))
    for path in (database, f"{database}-wal", f"{database}-shm"):
        with suppress(OSError):
            Path(path).chmod(OWNER)


def _durable(connection: sqlite3.Connection, _record: object) -> None:
    """A commit is on the disk before it returns; readers do not wait for the writer."""
    connection.isolation_level = None  # transactions are begun by the writer
    for pragma in (
        "journal_mode=WAL",
        "synchronous=FULL",
        "secure_delete=ON",  # what is erased is overwritten, also in free pages
        "temp_store=MEMORY",
        "cache_size=-4096",
    ):
        connection.execute(f"PRAGMA {pragma}")


def _acknowledged(connection: DBAPIConnection, _record: object) -> None:
    with closing(connection.cursor()) as cursor:
        cursor.execute(_DEMANDS)
    connection.commit()


def _is_lost(error: SQLAlchemyError) -> bool:
    """Whether PostgreSQL cannot be reached, has cut the connection, or ended the session that hung."""
    original = getattr(error, "orig", None) or error
    state = getattr(original, "sqlstate", None)
    if state is None:
        return type(original).__name__ in {"OperationalError", "InterfaceError"}
    return str(state).startswith(("08", "57P", "25P03"))


def back_up(source: Path | None, out: Path) -> None:
    """Copy a SQLite database while it is in use; the copy is one consistent state, and is checked.

    Raises:
        UsageError: the database is PostgreSQL, which has `pg_dump` for this.
        InputError: there is no such database, or it is damaged.
        OutputError: the copy cannot be written.
    """
    if source is None:
        raise UsageError("backs up SQLite; for PostgreSQL use pg_dump, which also works while people answer")
    if not source.is_file():
        raise InputError("there is no such database", file=source)
    part = out.with_name(f".{out.name}.part")
    try:
        part.unlink(missing_ok=True)
        os.close(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, OWNER))
        with (
            closing(sqlite3.connect(f"file:{source}?mode=ro", uri=True)) as read,
            closing(sqlite3.connect(part)) as copy,
        ):
            read.backup(copy, pages=4096)
            (verdict,) = copy.execute("PRAGMA integrity_check").fetchone()
        if verdict != "ok":
            raise InputError(f"is damaged ({verdict[:200]}): restore a backup", file=source)
        Journal(URL.create("sqlite", database=str(part))).close()
        part.replace(out)
    except (sqlite3.OperationalError, OSError) as error:
        raise OutputError(f"cannot be written ({error})", file=out) from error
    except sqlite3.Error as error:
        raise _named(error, str(source)) from error
    finally:
        part.unlink(missing_ok=True)


#: A log that ends later than this many milliseconds from now was written under a wrong clock.
_WRONG: Final = 3_600_000


class ServerClock:
    """Milliseconds since 1970 that never run backwards in one process.

    The wall clock is read once; afterwards a clock counts that nobody sets and that goes on while the computer sleeps.
    If the wall clock is a little behind the latest time in the log, the clock starts there, so that no task seems to be
    sent before an earlier one. A log that ends an hour ahead or more was written under a wrong clock: its times spoil
    no later ones.

    Args:
        latest: the latest time in the log, in milliseconds since 1970.

    Example:
        >>> soon = ServerClock().now() + 60_000
        >>> ServerClock(latest=soon).now() >= soon, ServerClock(latest=4_102_444_800_000).now() < soon
        (True, True)
    """

    def __init__(self, latest: int = 0) -> None:
        wall = time.time_ns() // 1_000_000
        self._start = latest if wall < latest < wall + _WRONG else wall
        self._begun = _ticks()

    def now(self) -> int:
        """Return the time, in milliseconds since 1970."""
        return self._start + (_ticks() - self._begun) // 1_000_000


def _ticks() -> int:
    """Return the nanoseconds since the computer was started."""
    boot = getattr(time, "CLOCK_BOOTTIME", None)
    return time.monotonic_ns() if boot is None else time.clock_gettime_ns(boot)


class _Group(NamedTuple):
    """What one transaction will write, and what those wait for who asked for it."""

    entries: list[LogEntry]
    written: asyncio.Future[None]

    def tell(self, error: BaseException | None) -> None:
        """Say that it is on the disk, or why not."""
        if error is None:
            self.written.set_result(None)
        else:
            self.written.set_exception(error)
            self.written.exception()  # nobody may wait any more


class Writer:
    """Writes a log in a thread of its own: what comes during a transaction is written together by the next one.

    What was decided after an entry that could not be written was decided on events that are not in the log. So all
    that waits then fails together, and the states are read from the log again.

    Args:
        journal: the log; this process is the one that writes it.
        read_again: reads the states from the log, in the loop.
    """

    def __init__(self, journal: Journal, read_again: Callable[[], None]) -> None:
        self._journal = journal
        self._read_again = read_again
        self._loop = asyncio.get_running_loop()
        self._thread = ThreadPoolExecutor(1, "site writer")
        self._writing: Future[None] | None = None  # the transaction of now
        self._next: _Group | None = None

    async def write(self, entries: Sequence[LogEntry]) -> None:
        """Write entries; they, and all before them, are on the disk when this returns.

        Raises:
            Exception: what the database raised; nothing was written.
        """
        if self._writing is None and self._next is None:
            if not entries:
                return
            self._loop.call_soon(self._begin)
        if self._next is None:
            self._next = _Group([], self._loop.create_future())
        self._next.entries.extend(entries)
        await asyncio.shield(self._next.written)  # who leaves does not take the others along

    def start_again(self, error: Exception) -> None:
        """Let all that waits fail, finish what is being written, and read the states from the log."""
        lost, self._next = self._next, None
        if lost is not None:
            lost.tell(error)
        if self._writing is not None:
            wait([self._writing])
        self._read_again()

    async def close(self) -> None:
        """Finish what waits and end the thread."""
        while self._writing is not None or self._next is not None:
            with suppress(Exception):  # those who asked for it are told
                await self.write(())
        self._thread.shutdown()

    def _begin(self) -> None:
        """Write the next group, if there is one and none is being written."""
        if self._writing is not None or self._next is None:
            return
        group, self._next = self._next, None
        if not group.entries:  # they only read, and what they read is on the disk
            group.tell(None)
            return
        self._writing = self._thread.submit(self._journal.append, group.entries)
        wrap_future(self._writing, loop=self._loop).add_done_callback(partial(self._end, group))

    def _end(self, group: _Group, writing: asyncio.Future[None]) -> None:
        """Tell those who wait for a group, and begin the next one."""
        error = writing.exception()
        self._writing = None
        group.tell(error)
        try:
            if error is not None:
                self.start_again(OSError("an earlier event could not be written"))
        finally:
            self._begin()
