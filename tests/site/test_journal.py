"""The log: one process writes, others read; nothing acknowledged is lost when a disk is full, or a server stops."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import httpx
import pytest
from command import merilo
from postgres_server import PostgresServer, postgres_server
from site_in_process import form_in, hidden, only_state, opened_site, to_first_task, visiting
from site_process import running_site
from sqlalchemy import Connection, text
from sqlalchemy.exc import SQLAlchemyError

from merilo.errors import DataError, InputError, OutputError, UsageError
from merilo.site.annotation_site import AnnotationSite
from merilo.site.journal import Event, Journal, LogEntry, ServerClock, Writer, database_url
from merilo.site.serving import exclude_from_site, read_site, serve_study
from merilo.site.site_requests import RefusedRequestError
from merilo.site.state import State
from merilo.studies.study_folder import StudyFolder

Frozen = Callable[..., StudyFolder]

EVENTS = [
    Event(5, "came", "p1", facts={"a": 1}),
    Event(6, "given", "p1", 3),
    Event(7, "answered", "p1", 3, {"answer": "1"}),
]


def test_events_are_read_in_their_order_by_study_and_kind(journal: Journal) -> None:
    journal.append([LogEntry("a", EVENTS[:2]), LogEntry("b", EVENTS[2:])])
    journal.append([LogEntry("a", EVENTS[2:])])
    assert [*journal.events("a")] == EVENTS
    assert [*journal.events("a", ["given"])] == EVENTS[1:2]
    assert [*journal.events("b")] == EVENTS[2:]
    assert journal.latest() == 7


def test_a_second_process_reads_and_does_not_write(journal: Journal, database: str) -> None:
    journal.append([LogEntry("a", EVENTS)])
    other = Journal(database_url(Path(), database))
    assert not other.take()
    assert [*other.events("a")] == EVENTS
    with pytest.raises(DataError, match="another process writes"):
        other.append([LogEntry("a", EVENTS)])
    journal.close()
    assert other.take()
    other.append([LogEntry("a", EVENTS)])
    assert len([*other.events("a")]) == 6
    other.close()


def test_two_writers_would_collide_although_both_believed_to_be_the_only_one(
    journal: Journal, database: str
) -> None:
    other = Journal(database_url(Path(), database))
    other._connection = other.engine.connect()
    if not other.is_sqlite:
        other._connection = other._connection.execution_options(isolation_level="AUTOCOMMIT")
    other.append([LogEntry("a", EVENTS[:1])])
    journal.append([LogEntry("a", EVENTS[1:])])
    with pytest.raises(SQLAlchemyError):
        other.append([LogEntry("a", EVENTS[1:])])
    assert [*journal.events("a")] == EVENTS, "the loser wrote nothing"
    other.close()


def test_a_second_server_is_refused_until_the_first_has_ended(
    frozen: Frozen, database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = frozen()
    command = [
        sys.executable,
        "-m",
        "merilo",
        "study",
        "serve",
        str(folder.path),
        "--port",
        "0",
        "--database",
        database,
    ]
    with running_site(folder.path, "--database", database) as (address, _, process):
        with monkeypatch.context() as elsewhere:
            elsewhere.setattr("socket.gethostname", lambda: "elsewhere")
            with pytest.raises(DataError, match="give the command on its computer"):
                exclude_from_site(folder.path, "w1", reason="x", database=database)
        second = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
        assert second.returncode == 1
        assert f"another process writes to this database (a server at {address})" in second.stderr
        process.kill()
        process.wait()
    with running_site(folder.path, "--database", database):
        pass


def test_commands_act_through_the_running_server_or_by_themselves(frozen: Frozen, database: str) -> None:
    folder = frozen()
    options = ("--database", database)

    def come(address: str, name: str) -> None:
        client = httpx.Client(follow_redirects=True, timeout=30)
        page = client.get(f"{address}{paths['people']}?worker_id={name}").text
        client.post(f"{address}{paths['people']}consent", data={"token": hidden(page, "token")})
        client.close()

    with running_site(folder.path, *options) as (address, paths, _):
        come(address, "w1")
        come(address, "w2")
        assert merilo("study", "exclude", folder.path, "w1", "--reason", "test", *options).status == 0
        assert (
            "there is no 'nobody'"
            in merilo("study", "exclude", folder.path, "nobody", "--reason", "x", *options).err
        )
        assert merilo("study", "erase", folder.path, "w2", "--yes", *options).status == 0
        link = merilo("study", "invite", folder.path, *options).out.strip()
        assert httpx.get(link, follow_redirects=True).status_code == 200
        stages = [person.stage for person in read_site(folder.path, database=database).people.values()]
        assert stages == ["excluded", "consent"]
    assert merilo("study", "reinstate", folder.path, "w1", *options).status == 0
    (first, _) = read_site(folder.path, database=database).people.values()
    assert first.stage == "instruction"


def test_a_command_decides_by_what_is_stored_when_nobody_else_writes(
    frozen: Frozen, database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = frozen()
    with opened_site(folder, database=database) as site, visiting(site) as client:
        to_first_task(client, site.studies[0].path, "w1")
    take = Journal.take

    def after_another_command(journal: Journal) -> bool:
        monkeypatch.setattr(Journal, "take", take)
        assert exclude_from_site(folder.path, "w1", reason="first", database=database).changed
        return take(journal)

    monkeypatch.setattr(Journal, "take", after_another_command)
    assert not exclude_from_site(folder.path, "w1", reason="second", database=database).changed
    state = read_site(folder.path, database=database)
    assert [person.stage for person in state.people.values()] == ["excluded"]


def test_the_author_of_a_command_must_know_the_secret(frozen: Frozen) -> None:
    with opened_site(frozen()) as site, visiting(site) as client:
        order = {"do": "invite", "study": site.studies[0].key, "names": [None], "domains": []}
        assert client.post("/author/orders", json=order).status_code == 404
        assert client.post("/author/orders", json=order, headers={"X-Merilo-Secret": "x"}).status_code == 404
        right = {"X-Merilo-Secret": site.author_secret or ""}
        assert client.post("/author/orders", json=order, headers=right).status_code == 200


def test_an_answer_that_cannot_be_written_is_not_taken_and_people_go_on_afterwards(
    frozen: Frozen, monkeypatch: pytest.MonkeyPatch
) -> None:
    with opened_site(frozen()) as site, visiting(site) as client:
        path = site.studies[0].path
        page = to_first_task(client, path, "1")
        sent = form_in(page)
        with monkeypatch.context() as broken:

            def full(_entries: object) -> None:
                raise OSError("no space left on device")

            broken.setattr(site.journal, "append", full)
            refused = client.post(f"{path}task", data=sent)
            assert refused.status_code == 503
            assert "Этот ответ не сохранён" in refused.text
            (person,) = only_state(site).people.values()
            assert [held.state for held in person.tasks.values()] == ["open"], "the state is that of the log"
        saved = client.post(f"{path}task", data=sent)
        assert hidden(saved.text, "task") != sent["task"]
        study = site.studies[0]
        (person,) = State(study, site.journal.events(study.key)).people.values()
        assert [held.answer for held in person.tasks.values() if held.state == "answered"] == ["1"]


def test_a_decision_that_fails_halfway_leaves_what_the_log_has(
    frozen: Frozen, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One invitation is being written and one waits while a third request fails after its first event."""
    begun, goes_on = threading.Event(), threading.Event()
    append = Journal.append

    def slow(journal: Journal, entries: Sequence[LogEntry]) -> None:
        begun.set()
        goes_on.wait(0.2)
        append(journal, entries)

    async def requests(site: AnnotationSite) -> list[object]:
        def invite(name: str) -> None:
            only_state(site).record(1, "invited", actor="author", hash=name)

        async def fail() -> None:
            with pytest.raises(ZeroDivisionError):
                await site.act(lambda: (invite("halfway"), 1 // 0))

        site.writer = Writer(site.journal, site.read_again)
        first = asyncio.create_task(site.act(lambda: invite("first")))
        await asyncio.to_thread(begun.wait, 30)
        second = asyncio.create_task(site.act(lambda: invite("second")))
        await asyncio.sleep(0)
        await fail()
        assert {*only_state(site).invitations} == {"first"}
        told = await asyncio.gather(first, second, return_exceptions=True)
        third = asyncio.create_task(site.act(lambda: invite("third")))
        await asyncio.sleep(0)
        await fail()  # before the third is begun
        await asyncio.gather(third, return_exceptions=True)
        await asyncio.gather(*(site.act(lambda name=name: invite(name)) for name in ("fourth", "fifth")))
        await site.writer.close()
        return told

    monkeypatch.setattr(Journal, "append", slow)
    with opened_site(frozen()) as site:
        told = asyncio.run(requests(site))
        assert told[0] is None
        assert isinstance(told[1], RefusedRequestError)
        state = only_state(site)
        again = State.of(state.study, site.journal)
    assert {*state.invitations} == {*again.invitations}
    assert {"first", "fourth", "fifth"} <= {*state.invitations} <= {"first", "third", "fourth", "fifth"}


def test_what_was_decided_on_an_event_that_was_not_written_fails_with_it() -> None:
    written: list[str] = []
    begun, goes_on = threading.Event(), threading.Event()

    class Disk:
        def append(self, entries: Sequence[LogEntry]) -> None:
            if not begun.is_set():
                begun.set()
                goes_on.wait(30)
                raise OSError("full")
            written.extend(entry.study for entry in entries)

    async def requests() -> list[object]:
        read_again: list[bool] = []
        writer = Writer(Disk(), lambda: read_again.append(True))  # type: ignore[arg-type]
        first = asyncio.create_task(writer.write([LogEntry("first")]))
        await asyncio.to_thread(begun.wait, 30)
        others = [asyncio.create_task(writer.write(entries)) for entries in ([LogEntry("second")], [])]
        await asyncio.sleep(0)
        goes_on.set()
        told = await asyncio.gather(first, *others, return_exceptions=True)
        await asyncio.gather(writer.write([LogEntry("third")]), writer.write([LogEntry("fourth")]))
        await writer.close()
        assert read_again == [True]
        return told

    told = asyncio.run(requests())
    assert [str(error) for error in told] == ["full"] + ["an earlier event could not be written"] * 2
    assert written == ["third", "fourth"]


def test_the_clock_never_starts_before_what_is_stored(journal: Journal) -> None:
    far = ServerClock().now() + 60_000
    journal.append([LogEntry("a", [Event(far, "came", "p1")])])
    clock = ServerClock(journal.latest())
    moments = [clock.now() for _ in range(100)]
    assert moments == sorted(moments)
    assert moments[0] >= far


def test_what_cannot_be_removed_from_the_files_now_is_removed_later(
    journal: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    journal.append([LogEntry("a", EVENTS)])
    execute = Connection.exec_driver_sql

    def full(connection: Connection, statement: str, *rest: object) -> object:
        if statement.startswith(("VACUUM", "PRAGMA wal")):
            raise SQLAlchemyError("full")
        return execute(connection, statement, *rest)  # type: ignore[arg-type]

    with monkeypatch.context() as broken:
        broken.setattr(Connection, "exec_driver_sql", full)
        journal.append([LogEntry("a", EVENTS[:1], forget="p1")])
        journal.append([LogEntry("b", EVENTS)])
        assert journal._erased
    assert len([*journal.events("a")]) == 4
    journal.append([LogEntry("b", EVENTS)])
    assert not journal._erased
    journal.close()
    journal._last = 7
    with monkeypatch.context() as broken:
        broken.setattr(Connection, "exec_driver_sql", full)
        journal._again([LogEntry("b", EVENTS, forget="p2")])
        assert journal._erased
    assert len([*journal.events("b")]) == 6, "they were written before the connection was lost"


def test_an_address_that_is_none_of_a_database_is_refused() -> None:
    for wrong in ("mysql://h/d", "x", "postgresql"):
        with pytest.raises(UsageError, match="takes an address such as"):
            database_url(Path(), wrong)


@pytest.fixture(scope="module")
def own_server() -> Iterator[PostgresServer]:
    """A server that tests may stop."""
    with postgres_server() as server:
        yield server


@pytest.mark.parametrize("mode", ["fast", "immediate"])
def test_people_are_told_while_postgresql_is_away_and_go_on_when_it_is_back(
    mode: str, own_server: PostgresServer, frozen: Frozen
) -> None:
    database = own_server.new_database()
    with opened_site(frozen(), database=database) as site, visiting(site) as client:
        (study,) = site.studies
        page = to_first_task(client, study.path, "1")
        sent = form_in(page)
        page = client.post(f"{study.path}task", data=sent).text
        following = form_in(page, "0")
        own_server.stop(mode)
        try:
            refused = client.post(f"{study.path}task", data=following)
        finally:
            own_server.start()
        assert refused.status_code == 503
        assert "Этот ответ не сохранён" in refused.text
        saved = client.post(f"{study.path}task", data=following)
        assert saved.status_code == 200
        assert hidden(saved.text, "task") != following["task"]
        (person,) = State(study, site.journal.events(study.key)).people.values()
        answers = [(held.answer, held.place) for held in person.tasks.values() if held.state == "answered"]
        assert answers == [("1", 1), ("0", 2)]


def test_a_site_does_not_start_without_its_database_and_says_why(own_server: PostgresServer) -> None:
    address = own_server.new_database()
    own_server.stop()
    try:
        with pytest.raises(InputError, match="cannot be read"):
            Journal(database_url(Path(), address))
    finally:
        own_server.start()


def test_a_commit_waits_for_the_disk_although_the_server_would_not(own_server: PostgresServer) -> None:
    address = own_server.new_database()
    name = database_url(Path(), address).database
    own_server.execute(f"ALTER DATABASE {name} SET synchronous_commit = off")
    journal = Journal(database_url(Path(), address))
    with journal.engine.connect() as connection:
        assert connection.scalar(text("SHOW synchronous_commit")) == "on"
        assert connection.scalar(text("SHOW idle_in_transaction_session_timeout")) == "30s"
    journal.close()


def test_a_log_in_a_folder_that_cannot_be_written_is_read_without_a_trace(
    frozen: Frozen, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = frozen()
    with opened_site(folder) as site, visiting(site) as client:
        path = site.studies[0].path
        client.post(f"{path}task", data=form_in(to_first_task(client, path, "1")))
        rest = folder.path / "site.db-wal"
        monkeypatch.setattr("merilo.site.journal.os.access", lambda *_: False)
        with pytest.raises(InputError, match="its latest answers are in site"):
            read_site(folder.path)
    assert not rest.exists()
    before = {file: file.read_bytes() for file in folder.path.iterdir()}
    assert [person.answers for person in read_site(folder.path).people.values()] == [1]
    with pytest.raises(OutputError, match="cannot be written: you may not write to its folder"):
        serve_study(folder.path, port=0)
    assert {file: file.read_bytes() for file in folder.path.iterdir()} == before
