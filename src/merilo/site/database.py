"""The site's database: SQLite in the study's folder, or PostgreSQL by its address.

Tables, backups, settings, the thread that writes, and the server's time, which does not jump when the computer's
clock is set.

A sync to the disk costs more than everything else in saving an answer, so the writer takes all operations
that wait, runs them in one transaction and acknowledges them after the commit. An operation that fails takes
nobody with it: the group is undone and its operations are run again one by one. If the connection to
PostgreSQL is lost, the group is run once again as a whole; without a database, all of it fails.
"""

from __future__ import annotations

import asyncio
import os
import queue
import secrets
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar, cast

from sqlalchemy import Connection, Engine, create_engine, event, func, insert, inspect, select, update
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, SQLAlchemyError

from merilo.atomic_write import OWNER
from merilo.errors import DataError, InputError, MissingPartError, OutputError, UsageError, argument
from merilo.site.schema import EVENT, METADATA, PERSON, RESPONSE, SCHEMA, SETTING, STUDY

if TYPE_CHECKING:
    from sqlalchemy.engine.interfaces import DBAPIConnection


#: The database's file in a study's folder.
DATABASE_FILE: Final = "site.db"

#: The environment variable with the database's address, for containers, where every command uses the same database.
DATABASE_VARIABLE: Final = "MERILO_SITE_DATABASE"

#: The setting that holds the number of the schema.
_SCHEMA: Final = "schema"

#: Seconds that SQLite waits for another process.
_PATIENCE: Final = 30

#: Seconds that PostgreSQL may take to accept a connection.
_CONNECTING: Final = 5

#: A computer that has gone away without a word is noticed within half a minute.
_ALIVE: Final = {
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 4,
    "tcp_user_timeout": 30_000,
}

#: What a connection asks of PostgreSQL: a commit is on the disk before it returns, also where the server's
#: default is otherwise, and a server process that hangs within a transaction stops others for half a minute at most.
_DEMANDS: Final = """
SELECT set_config('synchronous_commit', CASE current_setting('synchronous_commit')
                  WHEN 'off' THEN 'on' ELSE current_setting('synchronous_commit') END, false),
       set_config('idle_in_transaction_session_timeout', '30s', false)
"""

#: The number of the lock that a transaction that writes holds on PostgreSQL.
_WRITING_LOCK: Final = 7_203_311


def database_url(folder: Path, given: str | None) -> URL:
    """Return the address of the database.

    Args:
        folder: the study's folder, where SQLite's file lies by default.
        given: an address such as `postgresql://user@host/name` or `sqlite:///file.db`. Default: that of the
            environment.

    Raises:
        UsageError: the address is not one of SQLite or PostgreSQL.
    """
    given = given or os.environ.get(DATABASE_VARIABLE)
    if not given:
        return URL.create("sqlite", database=str(folder / DATABASE_FILE))
    try:
        url = make_url(given)
    except ArgumentError:
        url = None
    backend = url.get_backend_name() if url is not None else ""
    if url is None or backend not in {"sqlite", "postgresql", "postgres"}:
        raise UsageError(
            "takes an address such as postgresql://user@host/name or sqlite:///file.db",
            field=argument("database"),
        )
    return url if backend == "sqlite" else url.set(drivername="postgresql+psycopg")


def open_database(url: URL) -> Engine:
    """Open a database; a new one gets its tables.

    Raises:
        DataError: the tables are those of another program or have another schema.
        InputError: the database cannot be reached or is damaged.
        MissingPartError: the extra `postgres` is missing.
    """
    engine = _engine(url)
    try:
        _make_tables(engine)
    except SQLAlchemyError as error:
        engine.dispose()
        raise InputError(f"cannot be opened ({_reason(error)})", file=_named(url)) from error
    except BaseException:
        engine.dispose()
        raise
    return engine


def _engine(url: URL) -> Engine:
    try:
        if url.get_backend_name() == "sqlite":
            _hide(url.database)
            engine = create_engine(url, connect_args={"timeout": _PATIENCE, "check_same_thread": False})
            event.listen(engine, "connect", _durable)
            return engine
        engine = create_engine(
            url,
            pool_pre_ping=True,  # connections that a restart of PostgreSQL has cut are replaced before use
            pool_size=8,
            # A statement after the lock of `writing` sees what the last writer has written.
            isolation_level="READ COMMITTED",
            connect_args={"connect_timeout": _CONNECTING, **_ALIVE},
        )
    except ModuleNotFoundError:
        raise MissingPartError(
            "PostgreSQL needs the extra 'postgres': pip install 'merilo[postgres]'"
        ) from None
    event.listen(engine, "connect", _acknowledged)
    return engine


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
    connection.isolation_level = None  # transactions are begun by `writing` and `snapshot`
    for pragma in (
        "journal_mode=WAL",
        "synchronous=FULL",
        "foreign_keys=ON",
        "secure_delete=ON",  # what is erased is overwritten, also in free pages
        "temp_store=MEMORY",
        "cache_size=-4096",
    ):
        connection.execute(f"PRAGMA {pragma}")


def _acknowledged(connection: DBAPIConnection, _record: object) -> None:
    with closing(connection.cursor()) as cursor:
        cursor.execute(_DEMANDS)
    connection.commit()


@contextmanager
def writing(engine: Engine) -> Iterator[Connection]:
    """Open a transaction that writes; it is on the disk when the block ends.

    One transaction writes at a time, on SQLite by `BEGIN IMMEDIATE`, and on PostgreSQL by a lock that all
    server processes ask for first. So two server processes cannot give one person two tasks, overlook a place
    that the other one is about to give back, or wait for each other's rows. Each process has one writer,
    which puts many requests into one transaction; readers wait for nobody.
    """
    with engine.connect() as connection, connection.begin():
        if connection.dialect.name == "postgresql":
            connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({_WRITING_LOCK})")
        else:  # one that first reads could not write after another's commit
            connection.exec_driver_sql("BEGIN IMMEDIATE")
        yield connection


@contextmanager
def snapshot(engine: Engine) -> Iterator[Connection]:
    """Open a transaction that reads one state of the database, whatever others write meanwhile."""
    with engine.connect() as connection:
        if connection.dialect.name == "postgresql":
            connection = connection.execution_options(isolation_level="REPEATABLE READ")  # noqa: PLW2901
        with connection.begin():
            if connection.dialect.name == "sqlite":
                connection.exec_driver_sql("BEGIN")
            yield connection


def _make_tables(engine: Engine) -> None:
    """Make the tables of a new database; refuse those of another schema."""
    with writing(engine) as connection:
        if not {STUDY.name, SETTING.name} <= set(inspect(connection).get_table_names()):
            _refuse_foreign(connection)
            METADATA.create_all(connection)
            keep_setting(connection, _SCHEMA, str(SCHEMA))
        found = connection.scalar(select(SETTING.c.value).where(SETTING.c.name == _SCHEMA))
        if found != str(SCHEMA):
            raise DataError(
                f"was made by another version of Merilo (its tables have the schema {found or 'without a number'}, "
                f"not {SCHEMA}); use that version or give another {argument('database')}",
                file=_named(engine.url),
            )


def _refuse_foreign(connection: Connection) -> None:
    """Refuse a database in which another program keeps its tables.

    PostgreSQL may have other tables beside the site's.
    """
    tables = set(inspect(connection).get_table_names())
    if connection.dialect.name != "sqlite":
        tables &= set(METADATA.tables)
    if tables:
        raise DataError(
            f"belongs to another program (it has the table '{min(tables)}'); give another {argument('database')}",
            file=_named(connection.engine.url),
        )


def back_up(url: URL, out: Path) -> None:
    """Copy a SQLite database while it is in use; the copy is one consistent state.

    Raises:
        UsageError: the database is PostgreSQL, which has `pg_dump` for this.
        InputError: there is no such database.
        OutputError: the copy cannot be written.
    """
    if url.get_backend_name() != "sqlite":
        raise UsageError("backs up SQLite; for PostgreSQL use pg_dump, which also works while people answer")
    source = Path(cast("str", url.database))
    if not source.is_file():
        raise InputError("there is no such database", file=source)
    part = out.with_name(f".{out.name}.part")
    try:
        part.unlink(missing_ok=True)
        os.close(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, OWNER))
        with sqlite3.connect(f"file:{source}?mode=ro", uri=True) as read, sqlite3.connect(part) as written:
            read.backup(written, pages=4096)
        read.close()
        written.close()
        part.replace(out)
    except (sqlite3.Error, OSError) as error:
        part.unlink(missing_ok=True)
        raise OutputError(f"cannot be written ({error})", file=out) from error


def drop_remnants(engine: Engine) -> None:
    """Clear the log of SQLite, in which erased rows may still be found; later, if somebody reads at the moment.

    PostgreSQL removes erased rows from its files when it vacuums the tables.
    """
    if engine.dialect.name != "sqlite":
        return
    connection = engine.raw_connection()
    try:
        connection.cursor().execute("PRAGMA wal_checkpoint(TRUNCATE)")
    finally:
        connection.close()


def _named(url: URL) -> str:
    """The database's name for messages, without a password."""
    return (
        str(url.database) if url.get_backend_name() == "sqlite" else url.render_as_string(hide_password=True)
    )


def _reason(error: SQLAlchemyError) -> str:
    original = getattr(error, "orig", None)
    return " ".join(str(original or error).split())[:200]


Result = TypeVar("Result")

#: Operations of one transaction at most.
GROUP: Final = 256

#: How often an operation that met another transaction is tried.
ATTEMPTS: Final = 8

#: SQLSTATEs of PostgreSQL for transactions that another one undid: serialization failure and deadlock.
_RETRIED: Final = frozenset({"40001", "40P01"})

#: Beginnings of PostgreSQL's SQLSTATEs for a lost connection, a server that stops or starts, and a connection
#: that hung.
_LOST: Final = ("08", "57P", "25P03")


class Writer:
    """The thread that writes to the site's database.

    Args:
        engine: the database.
        loop: the event loop of the requests, to which results are handed.
    """

    def __init__(self, engine: Engine, loop: asyncio.AbstractEventLoop) -> None:
        self._engine = engine
        self._loop = loop
        self._waiting: queue.SimpleQueue[_Operation | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._run, name="site writer", daemon=True)
        self._thread.start()

    async def run(self, operation: Callable[[Connection], Result]) -> Result:
        """Run an operation in a transaction; it is on the disk when this returns.

        Args:
            operation: what is done; it must be safe to run again if its transaction was undone.

        Raises:
            Exception: what the operation raised, or the database.
        """
        future: asyncio.Future[Any] = self._loop.create_future()
        self._waiting.put(_Operation(operation, future))
        result: Result = await future
        return result

    def close(self) -> None:
        """Finish what waits and end the thread."""
        self._waiting.put(None)
        self._thread.join()

    def _run(self) -> None:
        while (first := self._waiting.get()) is not None:
            group, last = [first], False
            while len(group) < GROUP:
                try:
                    following = self._waiting.get_nowait()
                except queue.Empty:
                    break
                if following is None:
                    last = True
                    break
                group.append(following)
            self._loop_safely(_run_group(self._engine, group))
            if last:
                return

    def _loop_safely(self, outcomes: list[_Outcome]) -> None:
        try:
            self._loop.call_soon_threadsafe(_tell, outcomes)
        except RuntimeError:  # the loop is closed: nobody waits any more
            return


class _Operation:
    """An operation, and who waits for it."""

    __slots__ = ("call", "future")

    def __init__(self, call: Callable[[Connection], Any], future: asyncio.Future[Any]) -> None:
        self.call = call
        self.future = future


_Outcome = tuple[asyncio.Future[Any], Any, BaseException | None]


def _run_group(engine: Engine, group: list[_Operation]) -> list[_Outcome]:
    """Run operations in one transaction; if one of them fails, each in a transaction of its own."""
    for attempt in range(ATTEMPTS):
        try:
            with writing(engine) as connection:
                results = [one.call(connection) for one in group]
        except Exception as error:
            lost = _is_lost(error)
            undone = getattr(getattr(error, "orig", error), "sqlstate", None) in _RETRIED
            if (undone and attempt + 1 < ATTEMPTS) or (lost and attempt == 0):
                continue
            if lost or len(group) == 1:  # without a database, each operation alone would fail too
                return [(one.future, None, error) for one in group]
            return [outcome for one in group for outcome in _run_group(engine, [one])]
        return [(one.future, result, None) for one, result in zip(group, results, strict=True)]
    raise AssertionError  # every attempt returns or continues


def _is_lost(error: Exception) -> bool:
    """Whether PostgreSQL cannot be reached, or has cut the connection."""
    original = getattr(error, "orig", error)
    if type(original).__name__ in {"OperationalError", "InterfaceError"} and hasattr(original, "sqlstate"):
        return original.sqlstate is None or original.sqlstate.startswith(_LOST)
    return bool(str(getattr(original, "sqlstate", None) or "").startswith(_LOST))


def _tell(outcomes: list[_Outcome]) -> None:
    for future, result, error in outcomes:
        if future.cancelled():
            continue
        if error is None:
            future.set_result(result)
        else:
            future.set_exception(error)


def cookie_key(connection: Connection) -> str:
    """Return the key of the site's cookies; it is made at the first start."""
    query = select(SETTING.c.value).where(SETTING.c.name == "cookie key")
    found = connection.scalar(query)
    if found is None:
        hold_settings(connection)
        found = connection.scalar(query)
    return new_cookie_key(connection) if found is None else str(found)


def new_cookie_key(connection: Connection) -> str:
    """Change the key of the site's cookies: all earlier ones become invalid."""
    key = secrets.token_urlsafe(32)
    keep_setting(connection, "cookie key", key)
    return key


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


#: Milliseconds by which the clock is set back at most: it then stands still for so long. A greater step back
#: is not followed.
SET_BACK: Final = 5_000


class ServerClock:
    """Milliseconds since 1970 that never run backwards.

    The wall clock is read once; afterwards the monotonic clock counts. If the wall clock is behind the latest
    stored time, the clock starts at the stored time, so that no task seems to be sent before an earlier one.

    Several server processes on one database must agree on the time, because one of them sends a task and
    another one takes the answer. On PostgreSQL they therefore start from the time of the database's server
    and follow it, so that their own computers' clocks do not matter.

    Args:
        latest: the latest time in the database, in milliseconds since 1970.
        wall: the time at which the clock starts if it is later. Default: this computer's time.

    Example:
        >>> clock = ServerClock(latest=4_102_444_800_000)
        >>> clock.now() >= 4_102_444_800_000
        True
    """

    def __init__(self, latest: int = 0, wall: int | None = None) -> None:
        self._start = max(time.time_ns() // 1_000_000 if wall is None else wall, latest)
        self._monotonic = time.monotonic_ns()
        self._shown = 0

    def now(self) -> int:
        """Return the time, in milliseconds since 1970."""
        self._shown = max(self._shown, self._start + (time.monotonic_ns() - self._monotonic) // 1_000_000)
        return self._shown

    def follow(self, read: Callable[[], int]) -> None:
        """Set the clock by another one.

        The other clock is read between two moments of this one, and this one is changed only if the other's
        time lies outside them. So a slow network does not disturb the clock. It is set forward at once, and
        back by standing still, for `SET_BACK` at most.

        Args:
            read: returns the other clock's time, in milliseconds since 1970.
        """
        before = self.now()
        told = read()
        after = self.now()
        if told > after:
            self._start += told - after
        elif before - SET_BACK <= told < before:
            self._start -= before - told


def site_clock(connection: Connection) -> ServerClock:
    """Return a clock that starts at the time of the site.

    The database's server tells it, unless something later is stored.
    """
    return ServerClock(latest_time(connection), _database_time(connection))


def follow_database(clock: ServerClock, connection: Connection) -> None:
    """Set a clock by the clock of PostgreSQL's server; SQLite has none of its own."""
    if connection.dialect.name == "postgresql":
        clock.follow(lambda: _database_time(connection) or 0)


def _database_time(connection: Connection) -> int | None:
    if connection.dialect.name != "postgresql":
        return None
    told = "SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint"
    return int(connection.exec_driver_sql(told).scalar_one())


def latest_time(connection: Connection) -> int:
    """Return the latest time at which something was stored, in milliseconds since 1970; 0 for an empty database."""
    columns = (RESPONSE.c.given, RESPONSE.c.answered, PERSON.c.created, EVENT.c.at)
    return max(connection.scalar(select(func.max(column))) or 0 for column in columns)
